//! NeXus: groups with a class in `NX_class`. An `NXdata` says which of its fields is the signal and which are
//! its axes.
//!
//! Source: <https://manual.nexusformat.org/classes/base_classes/NXdata.html>, in the form of 2014 (`signal`
//! and `axes` of the group) and in the two older forms (attributes of the fields).

use sciformats::{Kind, Result};

use super::plain;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::variable::{Coordinate, Role, Variable};

pub(crate) struct NeXus;

/// The largest number of groups in a chain of `default`.
const CHAIN: usize = 16;

fn class(node: &Node) -> Result<Option<String>> {
    node.text("NX_class")
}

/// The number of members of a group whose classes are examined, because other files may have any number of
/// members.
const LOOKED_AT: usize = 1024;

/// The number of members that are examined together at first. Each further batch has eight times as many, because
/// the class that is looked for is mostly that of one of the first members.
const TOGETHER: usize = 8;

/// Returns the first member with a class.
fn of_class(group: &Node, wanted: &str) -> Result<Option<Node>> {
    let children = group.few(LOOKED_AT)?;
    let (mut rest, mut count) = (children.as_slice(), TOGETHER);
    while !rest.is_empty() {
        let (now, later) = rest.split_at(count.min(rest.len()));
        group.file().ahead(|| {
            for child in now {
                let _ = child.kind();
                let _ = class(child);
            }
        })?;
        for child in now {
            if child.kind()? == Kind::Group && class(child)?.as_deref() == Some(wanted) {
                return Ok(Some(child.clone()));
            }
        }
        (rest, count) = (later, count.saturating_mul(8)); // a bound of what is looked at together
    }
    Ok(None)
}

/// Returns whether an array is in a file that says by its root that it is of NeXus, or below a group with a class.
fn is_inside(node: &Node) -> Result<bool> {
    if node.root().text("NeXus_version")?.is_some() {
        return Ok(true);
    }
    let mut group = node.parent()?;
    while let Some(at) = group {
        if class(&at)?.is_some() {
            return Ok(true);
        }
        group = at.parent()?;
    }
    Ok(false)
}

/// Returns the `NXdata` that a group proposes to look at: the one in `default`, or the first one.
fn chosen(group: &Node) -> Result<Option<Node>> {
    let mut at = group.clone();
    for _ in 0..CHAIN {
        if class(&at)?.as_deref() == Some("NXdata") {
            return Ok(Some(at));
        }
        let named = match at.text("default")? {
            Some(name) => at.child(&name)?,
            None => None,
        };
        let next = match named {
            Some(next) => Some(next),
            None => match of_class(&at, "NXdata")? {
                Some(data) => Some(data),
                None => of_class(&at, "NXentry")?,
            },
        };
        match next {
            Some(next) => at = next,
            None => return Ok(None),
        }
    }
    Ok(None)
}

/// Returns the field that a group is about.
fn signal(data: &Node) -> Result<Option<Node>> {
    if let Some(name) = data.text("signal")? {
        return data.child(&name);
    }
    for child in data.children()? {
        let marked = match child.text("signal")? {
            Some(text) => text == "1",
            None => child.number("signal")? == Some(1.0),
        };
        if marked && child.kind()? == Kind::Array {
            return Ok(Some(child));
        }
    }
    Ok(None)
}

/// Returns the names of the axes, one per dimension of the signal, as far as they are known; an empty name
/// means that there is none.
fn axes(data: &Node, signal: &Node, rank: usize) -> Result<Vec<String>> {
    if let Some(names) = data.texts("axes")? {
        // Before 2014, one text with all names was permitted.
        let split = |text: &String| {
            text.split([':', ',', ' ']).map(|name| name.trim_matches(['[', ']']).to_owned()).collect()
        };
        return Ok(match names.as_slice() {
            [one] if rank > 1 => split(one),
            _ => names,
        });
    }
    if let Some(text) = signal.text("axes")? {
        let names = text.trim_matches(['[', ']']).split([':', ',']).map(|name| name.trim().to_owned());
        return Ok(names.collect());
    }
    let mut names = vec![String::new(); rank];
    for child in data.children()? {
        if child.path() == signal.path() {
            continue;
        }
        let number = match child.text("axis")? {
            Some(text) => text.parse().ok(),
            None => child.number("axis")?,
        };
        let place = number.and_then(|number| names.get_mut((number as usize).wrapping_sub(1)));
        if let Some(place) = place.filter(|place| place.is_empty()) {
            *place = child.name().to_owned();
        }
    }
    Ok(names)
}

fn coordinate(data: &Node, name: &str, role: Role, dimension: Option<usize>) -> Result<Option<Coordinate>> {
    let found = data.child(name)?;
    Ok(found.map(|node| Coordinate { path: node.path().to_owned(), role, dimension }))
}

/// Decodes the signal of an `NXdata` with its axes and errors.
fn variable(data: &Node) -> Result<Option<Variable>> {
    let Some(signal) = signal(data)? else { return Ok(None) };
    let Some(mut variable) = plain::variable(&signal)? else { return Ok(None) };
    let names = axes(data, &signal, variable.dimensions.len())?;
    for (at, name) in names.iter().enumerate() {
        if name.is_empty() || name == "." {
            continue;
        }
        // An axis may belong to another dimension than its position suggests, or to several.
        let indices = data.integers(&format!("{name}_indices"))?.unwrap_or_else(|| vec![at as i128]);
        let first = indices.first().and_then(|&index| usize::try_from(index).ok());
        let role = if indices.len() == 1 { Role::Dimension } else { Role::Auxiliary };
        let found = coordinate(data, name, role, first.filter(|_| indices.len() == 1))?;
        if let Some(dimension) = first.and_then(|at| variable.dimensions.get_mut(at))
            && dimension.name.is_none()
        {
            dimension.name = Some(name.clone());
            dimension.path = found.as_ref().map(|found| found.path.clone());
            dimension.has_values = found.is_some();
        }
        variable.coordinates.extend(found);
    }
    let errors =
        [signal.text("uncertainties")?, Some(format!("{}_errors", signal.name())), Some("errors".into())];
    for name in errors.into_iter().flatten() {
        if let Some(found) = coordinate(data, &name, Role::Errors, None)? {
            variable.coordinates.push(found);
            break;
        }
    }
    for name in data.texts("auxiliary_signals")?.unwrap_or_default() {
        variable.coordinates.extend(coordinate(data, &name, Role::Ancillary, None)?);
    }
    if variable.long_name.is_none() {
        variable.long_name = data.text("title")?;
    }
    Ok(Some(variable))
}

impl Convention for NeXus {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let version = root.text("NeXus_version")?;
        let entry = of_class(root, "NXentry")?;
        let evidence = match (class(root)?.as_deref(), &version, &entry) {
            (Some("NXroot"), ..) => "NX_class = NXroot".to_owned(),
            (_, Some(_), _) => "NeXus_version".to_owned(),
            (_, _, Some(entry)) => format!("NX_class of {} is NXentry", entry.path()),
            _ => return Ok(None),
        };
        let mut identity = Identity::new("NeXus", evidence).with_version(version);
        if let Some(entry) = &entry
            && let Some(definition) = entry.child("definition")?
        {
            let name = definition.element_texts()?.unwrap_or_default().join(" ");
            identity.evidence.push(format!("the definition {name}"));
        }
        Ok(Some(identity.with_writer(root.text("creator")?)))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        match node.kind()? {
            Kind::Group => match class(node)?.as_deref().or(Some("NXroot").filter(|_| node.path() == "/")) {
                Some("NXdata") => Ok(variable(node)?.map(Meaning::from)),
                Some("NXentry" | "NXroot") => match chosen(node)? {
                    Some(data) => Ok(variable(&data)?.map(Meaning::from)),
                    None => Ok(None),
                },
                _ => Ok(None),
            },
            Kind::Array => {
                let Some(data) = node.parent()? else { return Ok(None) };
                let inside = class(&data)?.as_deref() == Some("NXdata");
                let found = if inside { variable(&data)? } else { None };
                match found.filter(|found| found.node().id() == node.id()) {
                    Some(found) => Ok(Some(found.into())),
                    None if is_inside(node)? => Ok(plain::variable(node)?.map(Meaning::from)),
                    None => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let mut outline = Outline::default();
        let Some(data) = chosen(root)? else { return Ok(outline) };
        if let Some(title) = data.parent()?.map(|entry| entry.child("title")).transpose()?.flatten() {
            outline.title = title.element_texts()?.and_then(|texts| texts.into_iter().next());
        }
        outline = outline.with(data.path(), "the data to look at first");
        let Some(variable) = variable(&data)? else { return Ok(outline) };
        outline = outline.with(variable.path(), "signal");
        let axes = variable.coordinates.iter().filter(|found| found.role == Role::Dimension);
        Ok(axes.fold(outline, |outline, axis| outline.with(&axis.path, "axis")))
    }
}
