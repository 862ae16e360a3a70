//! Which arrays and tables of a file are exported, and what is left out.

use std::ops::ControlFlow;

use sciformats::walk::{Found, breadth_first};
use sciformats::{Error, Object};
use sciformats_conventions::{Dataset, Dimension, Meaning, Variable};
use sciformats_convert::compare::Pattern;
use sciformats_convert::numpy::{self, Fixed};

use crate::commands::convert::args::Convert;
use crate::meaning::Thing;

/// Returns the arrays, tables and sparse matrices that are selected, or all of them. The parts of a table and of a
/// sparse matrix are not listed.
pub(in crate::commands::convert) fn chosen(data: &Dataset, args: &Convert) -> Vec<String> {
    selected(data, args, true).paths
}

/// What is selected of a file.
#[derive(Default)]
pub(super) struct Selected {
    pub(super) paths: Vec<String>,
    /// What cannot be read, so that nobody knows whether it is an array.
    pub(super) unread: Vec<(String, Error)>,
}

/// As [`chosen`]; `apart` says whether the arrays that a table leaves out are listed, because they have other shapes.
pub(super) fn selected(data: &Dataset, args: &Convert, apart: bool) -> Selected {
    let patterns: Vec<Pattern> = args.select.iter().map(|text| Pattern::from(text.as_str())).collect();
    let is_selected = |path: &str| {
        let ends = path.match_indices('/').map(|(at, _)| at).filter(|&at| at > 0).chain([path.len()]);
        let mut places = ends.filter_map(|at| path.get(..at));
        patterns.is_empty() || places.any(|place| patterns.iter().any(|pattern| pattern.matches(place)))
    };
    let mut selected = Selected::default();
    let mut wholes: Vec<String> = Vec::new();
    let mut alone: Vec<String> = Vec::new();
    let file = data.file();
    let _ = breadth_first(file.source(), ("/", file.source().root()), file.limits(), &mut |entry| {
        let within = wholes.iter().any(|whole| entry.path.starts_with(whole.as_str()));
        if within && !alone.contains(&entry.path) {
            return ControlFlow::Continue(());
        }
        let (id, object) = match entry.what {
            Found::Unreadable(error)
            | Found::Unlisted(error)
            | Found::Object(_, Object::Damaged { error, .. })
                if is_selected(&entry.path) =>
            {
                selected.unread.push((entry.path, error));
                return ControlFlow::Continue(());
            }
            Found::Object(id, object) => (id, object),
            _ => return ControlFlow::Continue(()),
        };
        let meaning = match object {
            Object::Group | Object::Array(_) => data.meaning_of(&data.known(&entry.path, id)).ok().flatten(),
            _ => None,
        };
        let taken = match (&object, &meaning) {
            (Object::Group, Some(Meaning::Table(_) | Meaning::Sparse(_))) => {
                let whole = format!("{}/", entry.path.trim_end_matches('/'));
                if let (Some(Meaning::Table(table)), true) = (&meaning, apart) {
                    alone.extend(table.omitted.iter().map(|(name, _)| format!("{whole}{name}")));
                }
                wholes.push(whole);
                true
            }
            (Object::Array(_), Some(Meaning::Variable(variable))) => !variable.is_dimension(),
            (Object::Array(info), _) => info.shape.is_some(),
            _ => false,
        };
        if taken && is_selected(&entry.path) {
            selected.paths.push(entry.path);
        }
        ControlFlow::Continue(())
    });
    selected
}

/// Returns the table, or the variables along the same dimensions, that become the columns of one file of CSV.
/// Without a choice they are what the file is about; of a choice, nothing is left out but the coordinates, which are columns
/// already.
pub(super) fn of_one_shape(
    data: &Dataset,
    paths: Vec<String>,
    explicit: bool,
) -> Result<Vec<String>, String> {
    if paths.len() < 2 {
        return Ok(paths);
    }
    let variable = |path: &String| match data.meaning(path) {
        Ok(Some(Meaning::Variable(variable))) => Some(*variable),
        _ => None,
    };
    let variables: Vec<(String, Variable)> =
        paths.iter().filter_map(|path| Some((path.clone(), variable(path)?))).collect();
    // Coordinates are columns beside the variables that they belong to.
    let is_coordinate = |path: &str| {
        let named = |other: &Variable| !explicit && other.coordinates.iter().any(|known| known.path == *path);
        let along = |other: &Variable| {
            (0..other.dimensions.len()).any(|axis| other.coordinates_path(axis) == Some(path))
        };
        let own = |other: &(String, Variable)| other.0 == path && along(&other.1);
        variables.iter().any(|other| named(&other.1) || own(other) || (explicit && along(&other.1)))
    };
    let main: Vec<&(String, Variable)> = variables.iter().filter(|(path, _)| !is_coordinate(path)).collect();
    // A choice of coordinates alone is a choice of what they contain.
    let main = if main.is_empty() && explicit { variables.iter().collect() } else { main };
    let rank = main.iter().map(|(_, variable)| variable.dimensions.len()).max().unwrap_or(0); // a bound of ranks
    let of_rank = |variable: &Variable| variable.dimensions.len() == rank;
    let main: Vec<_> = main.into_iter().filter(|(_, variable)| explicit || of_rank(variable)).collect();
    if explicit
        && variables.len() == paths.len()
        && let Some((_, lead)) = main.iter().find(|(_, variable)| of_rank(variable))
        && main.iter().all(|(_, variable)| axes(variable, lead).is_some())
    {
        return Ok(main.into_iter().map(|(path, _)| path.clone()).collect());
    }
    let alike = |one: &Variable, other: &Variable| {
        let names = |variable: &Variable| -> Vec<_> {
            variable.dimensions.iter().map(|dimension| dimension.name.clone()).collect()
        };
        one.shape() == other.shape() && names(one) == names(other)
    };
    match main.split_first() {
        Some((first, rest))
            if variables.len() == paths.len() && rest.iter().all(|other| alike(&first.1, &other.1)) =>
        {
            Ok(main.into_iter().map(|(path, _)| path.clone()).collect())
        }
        _ => {
            let named: Vec<&str> = paths.iter().take(6).map(String::as_str).collect();
            let more = if paths.len() > named.len() { ", …" } else { "" };
            Err(format!(
                "CSV contains one table, or arrays of one shape; choose some of {}{more} with --select",
                named.join(", ")
            ))
        }
    }
}

/// Returns the dimensions of `lead` that a variable has, in their order; `None` if it has others.
pub(super) fn axes(variable: &Variable, lead: &Variable) -> Option<Vec<usize>> {
    if variable.shape() == lead.shape() {
        let same = |(one, other): (&Dimension, &Dimension)| one.name == other.name;
        let alike = variable.dimensions.iter().zip(&lead.dimensions).all(same);
        return alike.then(|| (0..lead.dimensions.len()).collect());
    }
    let mut axes: Vec<usize> = Vec::new();
    for own in &variable.dimensions {
        let name = own.name.as_ref()?;
        let fits = |of: &Dimension| of.name.as_ref() == Some(name) && of.length == own.length;
        axes.push(lead.dimensions.iter().position(fits)?);
    }
    axes.is_sorted_by(|one, next| one < next).then_some(axes)
}

/// Adds the columns that tables leave out, unless they are written beside the tables.
pub(super) fn left_out(things: &[(String, Thing)], losses: &mut Vec<(String, String)>) {
    for (path, thing) in things {
        if thing.variable().is_some() || !thing.is_meant() {
            continue;
        }
        let Ok(table) = thing.data().table(path) else { continue };
        for (name, why) in table.omitted {
            let column = format!("{}/{name}", path.trim_end_matches('/'));
            if things.iter().all(|(other, _)| *other != column) {
                losses.push((column, why));
            }
        }
    }
}

/// Removes what NumPy cannot store, and returns it with the reason.
pub(super) fn lost(things: &mut Vec<(String, Thing)>) -> Vec<(String, String)> {
    let mut losses = Vec::new();
    things.retain(|(path, thing)| {
        let known = thing.array().and_then(|array| {
            let (element, _) = numpy::flat(array.element(), array.shape());
            let fixed = Fixed::new(element);
            if fixed.is_as_is() { numpy::dtype(element).map(drop) } else { fixed.dtype().map(drop) }
        });
        known.map_err(|error| losses.push((path.clone(), error.to_string()))).is_ok()
    });
    losses
}
