//! Characters: which dimensions consist of characters that form texts.
//!
//! netCDF-4 stores texts as characters along a dimension of their own, such as `strlen`. But characters may also lie along
//! a dimension like any other: the flags of an Argo float are one character for each level of a profile. A dimension
//! forms texts if it has no coordinates, and if every array along it consists of characters and has it last. This is
//! the rule of xarray, for all groups of the file.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sciformats::walk::{Found, breadth_first};
use sciformats::{ArrayInfo, ElementType, Object, ObjectId, Result};

use super::netcdf;
use crate::node::Node;
use crate::variable::Dimension;

/// The dimensions that more lies along than the characters of texts.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// Their scales.
    scales: HashSet<ObjectId>,
    /// Their numbers in netCDF-4, for those of coordinates of several dimensions.
    numbers: HashSet<i128>,
    /// The groups and lengths of those without a scale. netCDF-4 takes such dimensions of a group for one if they have the
    /// same length.
    unnamed: HashSet<(String, u64)>,
}

/// Returns whether the elements of an array are single characters.
pub(crate) fn are_in(node: &Node, info: &ArrayInfo) -> Result<bool> {
    let rank = info.shape.as_ref().map_or(0, Vec::len);
    Ok(rank > 0 && info.element == ElementType::Text && node.text_width(None)? == Some(1))
}

/// Returns whether the elements of an array of characters are padded with spaces, so that one without characters is a space.
pub(crate) fn are_spaced(node: &Node) -> bool {
    #[cfg(feature = "hdf5")]
    {
        use sciformats::hdf5_pure::structure::{Class, Padding};
        let dataset = sciformats::formats::hdf5::dataset(node.file().source(), node.id());
        dataset.and_then(Result::ok).is_some_and(|dataset| {
            matches!(dataset.datatype().class, Class::String { padding: Padding::SpacePadded, .. })
        })
    }
    #[cfg(not(feature = "hdf5"))]
    {
        let _ = node;
        false
    }
}

/// Returns whether the last dimension of an array of characters forms texts.
pub(crate) fn form_texts(node: &Node, last: &Dimension) -> Result<bool> {
    if last.has_values {
        return Ok(false);
    }
    let taken = node.taken();
    let Some(path) = &last.path else {
        return Ok(!taken.unnamed.contains(&(group(node.path()), last.length)));
    };
    let Some(scale) = node.at(path)? else { return Ok(true) };
    let number = scale.integers("_Netcdf4Dimid")?.and_then(|numbers| numbers.first().copied());
    let numbered = number.is_some_and(|number| taken.numbers.contains(&number));
    Ok(!numbered && !taken.scales.contains(&scale.id()))
}

/// Returns the path of the group of an object.
fn group(path: &str) -> String {
    path.rsplit_once('/').map_or("", |(group, _)| group).to_owned()
}

impl Taken {
    /// Looks at all arrays of a file.
    pub(crate) fn of(root: &Node) -> Self {
        let (mut taken, file) = (Self::default(), root.file());
        let _ = breadth_first(file.source(), ("/", root.id()), file.limits(), &mut |entry| {
            if let Found::Object(id, Object::Array(info)) = &entry.what {
                // What is wrong with an array is reported when that array is read.
                let _ = taken.add(&root.beside(&entry.path, *id), info);
            }
            ControlFlow::Continue(())
        });
        taken
    }

    /// Adds the dimensions of an array, without the last one if it consists of characters.
    fn add(&mut self, node: &Node, info: &ArrayInfo) -> Result<()> {
        let sides = info.shape.as_deref().unwrap_or_default();
        let count = sides.len().saturating_sub(usize::from(are_in(node, info)?)); // a bound: without dimensions none
        if netcdf::scale(node)?.is_some() {
            // A scale of one dimension is that dimension, and no array along it.
            let numbers = node.integers("_Netcdf4Coordinates")?.filter(|_| sides.len() > 1);
            self.numbers.extend(numbers.unwrap_or_default().into_iter().take(count));
            return Ok(());
        }
        let mut scales = node.references("DIMENSION_LIST")?.into_iter();
        for &side in sides.iter().take(count) {
            match scales.next().unwrap_or_default().first() {
                Some(scale) => self.scales.insert(*scale),
                None => self.unnamed.insert((group(node.path()), side)),
            };
        }
        Ok(())
    }
}

#[cfg(all(test, feature = "hdf5"))]
mod tests {
    use sciformats::hdf5_pure::structure::{CharacterSet, Class, Padding};
    use sciformats::hdf5_pure::{CreateOptions, Datatype, Writer};

    use crate::Dataset;

    #[test]
    fn only_dimensions_of_characters_form_texts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("float.nc");
        let mut file = Writer::create_with(&path, &CreateOptions::default()).unwrap();
        file.root().attribute("Conventions", "CF-1.11").unwrap();
        let scale = |file: &mut Writer, name: &str, length: usize| {
            let scale = file.dataset(name).write(&vec![0f32; length]).unwrap();
            file.make_scale(scale, "This is a netCDF dimension but not a netCDF variable.").unwrap();
            scale
        };
        let (profile, level) = (scale(&mut file, "profile", 2), scale(&mut file, "level", 4));
        let (alone, letters) = (scale(&mut file, "alone", 2), scale(&mut file, "letters", 3));
        let class = Class::String { padding: Padding::NullTerminated, charset: CharacterSet::Ascii };
        let one = Datatype { version: 1, size: 1, class };
        let mut characters = |name: &str, sides: &[(u64, _)], bytes: &[u8]| {
            let shape: Vec<u64> = sides.iter().map(|(length, _)| *length).collect();
            let array = file.dataset(name).datatype(one.clone()).shape(shape).write_raw(bytes).unwrap();
            for (axis, (_, scale)) in sides.iter().enumerate() {
                file.attach_scale(array, axis, *scale).unwrap();
            }
        };
        characters("flag", &[(2, profile), (4, level)], b"11\x004 \x0019");
        characters("mode", &[(2, profile)], b"RD");
        characters("code", &[(2, alone)], b"OK");
        characters("name", &[(2, profile), (3, letters)], b"a\0bcd\0");
        // Fortran pads with spaces.
        let class = Class::String { padding: Padding::SpacePadded, charset: CharacterSet::Ascii };
        let spaced = Datatype { version: 1, size: 1, class };
        let city = file.dataset("city").datatype(spaced).shape([2, 3]).write_raw(b"a bcd ").unwrap();
        file.attach_scale(city, 1, letters).unwrap();
        // What lies along a dimension need not be in the same group.
        let heat = file.dataset("data/heat").shape([2, 4]).write(&[0.5f32; 8]).unwrap();
        file.attach_scale(heat, 0, profile).unwrap();
        file.attach_scale(heat, 1, level).unwrap();
        file.finish().unwrap();

        let data = Dataset::open(&path).unwrap();
        let cells = |path: &str| {
            let variable = data.variable(path).unwrap();
            let cells = variable.read().unwrap().cells().unwrap().into_iter().flatten().collect::<Vec<_>>();
            (variable.signature(), cells)
        };
        let (signature, flags) = cells("/flag");
        assert_eq!(signature, "flag(profile: 2, level: 4)");
        assert_eq!(flags, ["1", "1", "", "4", " ", "", "1", "9"]);
        assert_eq!(cells("/mode"), ("mode(profile: 2)".into(), vec!["R".into(), "D".into()]));
        assert_eq!(cells("/code"), ("code".into(), vec!["OK".into()]));
        // A zero in the middle is a character; those at the end are none.
        assert_eq!(cells("/name"), ("name(profile: 2)".into(), vec!["a\0b".into(), "cd".into()]));
        assert_eq!(cells("/city").1, ["a b", "cd"]);
    }
}
