//! netCDF-4: dimensions that several variables share, stored as HDF5 dimension scales.
//!
//! Sources: the HDF5 Dimension Scale Specification; "File Format Specifications" in the netCDF users' guide.
//! A dimension is a dataset with the attribute `CLASS` = `DIMENSION_SCALE`. If it has no coordinates, its
//! `NAME` says so. A variable refers to its dimensions by `DIMENSION_LIST`, or, if it is a scale of several
//! dimensions, by their numbers in `_Netcdf4Coordinates`.

use sciformats::{Kind, Result, Value};

use super::plain::Plain;
use super::{cf, characters, plain};
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::variable::{Dimension, Role, Variable};

pub(crate) struct NetCdf;

/// The start of the name of a scale that is only a dimension.
const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";

/// The start of the name of a dataset that is called like a dimension without being its coordinates.
pub(crate) const NOT_COORDINATE: &str = "_nc4_non_coord_";

/// The number of members that are examined to see whether a file has dimensions.
const LOOKED_AT: usize = 32;

/// Returns whether a dataset is a scale: `true` if it contains coordinates, `false` if it is only a
/// dimension, `None` if it is not a scale.
pub(crate) fn scale(node: &Node) -> Result<Option<bool>> {
    if node.text("CLASS")?.as_deref() != Some("DIMENSION_SCALE") {
        return Ok(None);
    }
    let name = node.text("NAME")?.unwrap_or_default();
    Ok(Some(!name.starts_with(NO_VARIABLE)))
}

/// Returns whether a dimension of an array is unlimited.
fn unlimited(node: &Node, axis: usize) -> Result<bool> {
    let Some(info) = node.info()? else { return Ok(false) };
    let maximum = info.facts.into_iter().find(|(name, _)| *name == "maximum");
    let Some((_, Value::List(sizes))) = maximum else { return Ok(false) };
    Ok(sizes.get(axis).is_some_and(|size| matches!(size, Value::Text(_))))
}

/// Returns the dimension that a scale stands for.
pub(crate) fn dimension(scale: &Node, has_values: bool) -> Result<Dimension> {
    let shape = scale.info()?.and_then(|info| info.shape).unwrap_or_default();
    Ok(Dimension {
        name: Some(shown_name(scale.name())),
        length: shape.first().copied().unwrap_or_default(),
        unlimited: unlimited(scale, 0)?,
        path: Some(scale.path().to_owned()),
        has_values,
        spacing: None,
    })
}

/// Returns the name of a variable as its writer chose it.
pub(crate) fn shown_name(name: &str) -> String {
    name.strip_prefix(NOT_COORDINATE).unwrap_or(name).to_owned()
}

/// Returns the groups that contain an object, the nearest first.
fn groups(node: &Node) -> Result<Vec<Node>> {
    let mut groups = Vec::new();
    let mut group = node.parent()?;
    while let Some(at) = group {
        group = at.parent()?;
        groups.push(at);
    }
    Ok(groups)
}

/// Finds the scale with the number of a dimension in the groups that contain an object.
fn numbered(groups: &[Node], number: i128) -> Result<Option<Node>> {
    for group in groups {
        for child in group.children()? {
            if child.number("_Netcdf4Dimid")?.is_some_and(|id| id == number as f64)
                && scale(&child)?.is_some()
            {
                return Ok(Some(child));
            }
        }
    }
    Ok(None)
}

/// Names the dimensions of a variable after their scales or `DIMENSION_LABELS`, and returns whether there are
/// any scales.
pub(crate) fn name_dimensions(node: &Node, variable: &mut Variable) -> Result<bool> {
    let own = scale(node)?;
    let rank = variable.dimensions.len();
    let groups = groups(node)?;
    for (axis, dimension) in variable.dimensions.iter_mut().enumerate() {
        dimension.unlimited = unlimited(node, axis)?;
    }
    let mut scales: Vec<Option<Node>> = vec![None; rank];
    let numbers = node.integers("_Netcdf4Coordinates")?.filter(|numbers| numbers.len() == rank);
    match (own, numbers) {
        (Some(_), _) if rank == 1 => scales = vec![Some(node.clone())],
        (Some(_), Some(numbers)) => {
            for (place, number) in scales.iter_mut().zip(numbers) {
                *place = numbered(&groups, number)?;
            }
        }
        (Some(_), None) => {
            if let Some(first) = scales.first_mut() {
                *first = Some(node.clone());
            }
        }
        (None, _) => {
            let lists = node.references("DIMENSION_LIST")?;
            for (place, ids) in scales.iter_mut().zip(&lists) {
                let Some(id) = ids.first() else { continue };
                for group in &groups {
                    if let Some(found) = group.named(*id)? {
                        *place = Some(found);
                        break;
                    }
                }
            }
            // Other writers than netCDF-4 keep scales in any group.
            let elsewhere = scales.iter().zip(&lists).any(|(scale, ids)| scale.is_none() && !ids.is_empty());
            if elsewhere {
                for (place, found) in scales.iter_mut().zip(node.referenced("DIMENSION_LIST")?) {
                    *place = place.take().or_else(|| found.into_iter().next());
                }
            }
        }
    }
    let mut any = false;
    for (place, scale) in variable.dimensions.iter_mut().zip(&scales) {
        let Some(scale) = scale else { continue };
        let values = self::scale(scale)?.unwrap_or(false);
        let found = dimension(scale, values)?;
        // Until the file is closed, a variable may be shorter or longer than an unlimited dimension.
        *place = Dimension { length: place.length, ..found };
        any = true;
    }
    let labels = node.texts("DIMENSION_LABELS")?.unwrap_or_default();
    for (place, label) in variable.dimensions.iter_mut().zip(labels) {
        if place.name.is_none() && !label.is_empty() {
            place.name = Some(label);
        }
    }
    Ok(any || own.is_some())
}

/// Returns a value of `_NCProperties` or a similar attribute, which is a list of `name=value` with commas or
/// bars.
fn property(properties: &str, name: &str) -> Option<String> {
    let parts = properties.split([',', '|']);
    parts
        .filter_map(|part| part.split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.to_owned())
}

/// Returns the program that wrote a file, according to `_NCProperties`.
fn writer(properties: &str) -> Option<String> {
    let netcdf = property(properties, "netcdf").or_else(|| property(properties, "netcdflibversion"));
    let netcdf = netcdf.map(|version| format!("netCDF {version}"));
    let other = property(properties, "h5netcdf").map(|version| format!("h5netcdf {version}"));
    let hdf5 = property(properties, "hdf5").or_else(|| property(properties, "hdf5libversion"));
    let named = other.or(netcdf)?;
    Some(hdf5.map_or_else(|| named.clone(), |version| format!("{named}, HDF5 {version}")))
}

impl Convention for NetCdf {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let conventions =
            super::plain::first_text(root, &["Conventions", "conventions"])?.unwrap_or_default();
        let version =
            conventions.split([' ', ',']).find_map(|word| word.strip_prefix("CF-")).map(str::to_owned);
        let name = if version.is_some() { "CF" } else { "netCDF-4" };
        let mut evidence = Vec::new();
        let properties = root.text("_NCProperties")?;
        if properties.is_some() {
            evidence.push("_NCProperties".to_owned());
        }
        if version.is_some() {
            evidence.push(format!("Conventions = {conventions}"));
        }
        if evidence.is_empty() {
            let look = |child: &Node| {
                let _ = child.has("_Netcdf4Dimid");
                let _ = child.text("NAME");
            };
            for child in root.few_ahead(LOOKED_AT, look)? {
                if child.has("_Netcdf4Dimid")?
                    || child.text("NAME")?.is_some_and(|name| name.starts_with(NO_VARIABLE))
                {
                    evidence.push(format!("{} is a dimension of netCDF-4", child.path()));
                    break;
                }
            }
        }
        let Some(first) = evidence.first().cloned() else { return Ok(None) };
        let identity = Identity { evidence, ..Identity::new(name, first) };
        Ok(Some(identity.with_version(version).with_writer(properties.as_deref().and_then(writer))))
    }

    fn meaning(&self, node: &Node, options: &DecodeOptions) -> Result<Option<Meaning>> {
        let Some(mut variable) = plain::variable(node)? else { return Ok(None) };
        variable.name = shown_name(&variable.name);
        name_dimensions(node, &mut variable)?;
        cf::variable(node, variable, options).map(|variable| Some(variable.into()))
    }

    fn concerns(&self, node: &Node, options: &DecodeOptions) -> Result<bool> {
        let Some(info) = node.info()? else { return Ok(false) };
        // Whether characters form texts depends on all arrays of the file.
        if characters::are_in(node, &info)? {
            return Ok(true);
        }
        Ok(match (self.meaning(node, options)?, Plain.meaning(node, options)?) {
            (Some(Meaning::Variable(with)), Some(Meaning::Variable(without))) => !with.is_like(&without),
            (with, without) => with.is_some() || without.is_some(),
        })
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let mut outline = Outline { title: root.text("title")?, ..Outline::default() };
        let mut groups = vec![root.clone()];
        // These are the variables that are not coordinates of others: those in the root or, if there are
        // none, in the first groups that have some.
        while let Some(group) = groups.pop() {
            let (mut variables, mut scales) = (Vec::new(), Vec::new());
            for child in group.children()? {
                match child.kind()? {
                    Kind::Group => groups.insert(0, child),
                    Kind::Array => {
                        let found = self.meaning(&child, &DecodeOptions::default())?;
                        let Some(Meaning::Variable(found)) = found else { continue };
                        let of = if scale(&child)?.is_some() { &mut scales } else { &mut variables };
                        of.push(*found);
                    }
                    _ => {}
                }
            }
            // A file is not about the bounds of its dimensions either.
            let named = |variable: &Variable| {
                variables.iter().chain(&scales).any(|other: &Variable| {
                    let mut others = other.coordinates.iter().filter(|known| known.role != Role::Ancillary);
                    others.any(|known| known.path == variable.path())
                })
            };
            let mut main: Vec<&Variable> = variables.iter().filter(|variable| !named(variable)).collect();
            sciformats_core::order::sort_by_key(&mut main, |variable| {
                std::cmp::Reverse(variable.dimensions.len())
            });
            for variable in main {
                let what = variable.long_name.clone().or_else(|| variable.standard_name.clone());
                outline = outline.with(variable.path(), what.unwrap_or_default());
            }
            if !outline.highlights.is_empty() {
                break;
            }
        }
        Ok(outline)
    }
}

#[cfg(test)]
mod tests {
    use sciformats::memory::{Memory, array, texts};
    use sciformats::{File, Format, Value};

    use crate::Dataset;

    #[test]
    fn a_dimension_without_coordinates() {
        let mut tree = Memory::new(Format::Hdf5);
        let mut record = array::<f32>(&[0], &[]);
        record.info.facts.push(("maximum", Value::List(vec!["unlimited".into()])));
        let record = tree.array(tree.root(), "record", record);
        tree.attribute(record, "CLASS", texts(&[], &["DIMENSION_SCALE"]));
        let name = "This is a netCDF dimension but not a netCDF variable.         0";
        tree.attribute(record, "NAME", texts(&[], &[name]));
        let variable = Dataset::new(File::from(tree)).variable("/record").unwrap();
        assert!(variable.is_dimension());
        // Its length follows from the variables along it.
        assert_eq!(variable.signature(), "record(record: unlimited)");
    }

    #[cfg(feature = "hdf5")]
    #[test]
    fn a_scale_may_be_in_any_group() {
        use sciformats::hdf5_pure::{CreateOptions, Writer};

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("scales.h5");
        let mut file = Writer::create_with(&path, &CreateOptions::default()).unwrap();
        let energy = file.dataset("axes/energy").write(&[1.5f64, 2.5]).unwrap();
        file.make_scale(energy, "energy").unwrap();
        let counts = file.dataset("data/counts").write(&[7i32, 8]).unwrap();
        file.attach_scale(counts, 0, energy).unwrap();
        file.finish().unwrap();
        let counts = Dataset::open(&path).unwrap().variable("/data/counts").unwrap();
        assert_eq!(counts.signature(), "counts(energy: 2)");
        assert_eq!(counts.dimensions[0].path.as_deref(), Some("/axes/energy"));
        assert_eq!(counts.coordinates[0].path, "/axes/energy");
    }

    #[test]
    fn a_file_is_about_what_is_no_coordinate_and_no_bounds() {
        let mut tree = Memory::new(Format::Hdf5);
        let root = tree.root();
        tree.attribute(root, "Conventions", texts(&[], &["CF-1.11"]));
        let time = tree.array(root, "time", array::<f64>(&[2], &[0.5, 1.5]));
        for (name, text) in [
            ("CLASS", "DIMENSION_SCALE"),
            ("NAME", "time"),
            ("bounds", "time_bnds"),
            ("units", "days since 2000-01-01"),
        ] {
            tree.attribute(time, name, texts(&[], &[text]));
        }
        tree.array(root, "time_bnds", array::<f64>(&[2, 2], &[0.0, 1.0, 1.0, 2.0]));
        let tas = tree.array(root, "tas", array::<f32>(&[2], &[1.0, 2.0]));
        tree.attribute(tas, "coordinates", texts(&[], &["height"]));
        tree.array(root, "height", array::<f32>(&[], &[2.0]));
        let outline = Dataset::new(File::from(tree)).outline().unwrap();
        let paths: Vec<&str> = outline.highlights.iter().map(|highlight| highlight.path.as_str()).collect();
        assert_eq!(paths, ["/tas"]);
    }
}
