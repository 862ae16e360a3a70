//! Chooses what to draw of a file if the user names nothing: what the file says it is about, or the first
//! array that makes a picture.

use std::ops::ControlFlow;

use sciformats::walk::{Found, breadth_first};
use sciformats::{ElementType, Object};
use sciformats_conventions::{Dataset, Meaning, Variable};

use crate::gather::is_number;

/// The number of arrays that are examined.
const MOST: usize = 1000;

/// Fields that only count the rows of a table.
const COUNTS: [&str; 2] = ["frame", "configuration/step"];

/// An array, or one field of its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct First {
    pub(crate) path: String,
    pub(crate) field: Option<String>,
}

/// Returns what is drawn of a file.
pub(crate) fn first(data: &Dataset) -> Option<First> {
    let outline = data.outline().unwrap_or_default();
    for highlight in &outline.highlights {
        if let Ok(Some(meaning)) = data.meaning(&highlight.path)
            && let Some(found) = drawn(&highlight.path, &meaning)
        {
            return Some(found);
        }
    }
    let source = data.file().source();
    let mut best: Option<(usize, First)> = None;
    let mut looked_at = 0;
    let _ = breadth_first(source, ("/", source.root()), data.file().limits(), &mut |entry| {
        if let Found::Object(id, Object::Array(_)) = entry.what {
            looked_at += 1;
            if let Ok(Some(meaning)) = data.meaning_of(&data.known(&entry.path, id))
                && let Some(found) = drawn(&entry.path, &meaning)
            {
                let rank = rank(&meaning);
                if best.as_ref().is_none_or(|(before, _)| rank > *before) {
                    best = Some((rank, found));
                }
            }
        }
        if looked_at >= MOST { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    best.map(|(_, found)| found)
}

/// Ranks an object by how good a picture it makes: two dimensions are better than one, and coordinates are
/// worse than what they belong to.
fn rank(meaning: &Meaning) -> usize {
    let Meaning::Variable(variable) = meaning else { return 0 };
    if is_coordinate(variable) { 1 } else { variable.dimensions.len().min(2) * 2 }
}

fn is_coordinate(variable: &Variable) -> bool {
    let own = |path: Option<&str>| path == Some(variable.path());
    variable.dimensions.iter().any(|dimension| own(dimension.path.as_deref()))
}

/// Returns the array to draw for an object, if it makes a picture.
fn drawn(path: &str, meaning: &Meaning) -> Option<First> {
    let Meaning::Variable(variable) = meaning else {
        return matches!(meaning, Meaning::Sparse(_)).then(|| First { path: path.to_owned(), field: None });
    };
    let several = variable.dimensions.iter().any(|dimension| dimension.length > 1);
    let none = variable.dimensions.iter().any(|dimension| dimension.length == 0);
    if !several || none || variable.is_dimension() {
        return None;
    }
    let field = match variable.element() {
        ElementType::Compound(fields) => {
            let telling = |name: &str| !COUNTS.contains(&name);
            let mut numbers =
                fields.iter().filter(|(name, element)| is_number(element) && telling(&name.shown()));
            Some(numbers.next()?.0.shown().into_owned())
        }
        element if is_number(&element) => None,
        _ => return None,
    };
    Some(First { path: path.to_owned(), field })
}

#[cfg(test)]
mod tests {
    use sciformats::memory::{Memory, array, texts};
    use sciformats::{File, Format};

    use super::*;

    #[test]
    fn the_first_array_that_makes_a_picture() {
        let mut memory = Memory::new(Format::Hdf5);
        let root = memory.root();
        memory.array(root, "a name", texts(&[2], &["x", "y"]));
        memory.array(root, "b", array::<f32>(&[1], &[1.0]));
        memory.array(root, "c", array::<f32>(&[3], &[1.0, 2.0, 3.0]));
        let group = memory.group(root, "d");
        memory.array(group, "image", array::<f32>(&[2, 2], &[1.0; 4]));
        let path = |memory: Memory| first(&Dataset::new(File::from(memory))).map(|found| found.path);
        assert_eq!(path(memory).as_deref(), Some("/d/image"));
        let mut memory = Memory::new(Format::Hdf5);
        memory.array(memory.root(), "none", array::<f32>(&[0], &[]));
        assert_eq!(path(memory), None);
    }
}
