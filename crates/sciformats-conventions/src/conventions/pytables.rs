//! `PyTables`: tables with one attribute per column, arrays, and lists of rows of any length.
//!
//! Source: "`PyTables` file format" of its users' guide. Every object has `CLASS` and `VERSION`; truth values are bit fields.

use std::sync::Arc;

use sciformats::{ElementType, Kind, Name, Result};
use sciformats_core::bound;

use super::plain;
use crate::convention::{Convention, Meaning};
use crate::dataset::DecodeOptions;
use crate::decoding::{Decoding, Numbers};
use crate::identity::{Identity, Outline};
use crate::node::Node;
use crate::table::{Column, Records, Table};
use crate::time::{Calendar, TimeUnits};
use crate::variable::Variable;

pub(crate) struct PyTables;

/// Returns how elements are decoded. Times count seconds since 1970; those of eight bytes have microseconds in
/// their lower half.
fn atom(element: &ElementType) -> Decoding {
    match element {
        ElementType::Time(8) => Decoding::SecondsAndMicroseconds,
        ElementType::Time(4) => {
            match TimeUnits::parse("seconds since 1970-01-01", Calendar::ProlepticGregorian) {
                Some(units) => Decoding::Time { numbers: Numbers::new(ElementType::Int(4)), units },
                None => Decoding::Stored,
            }
        }
        element => plain::natural(element),
    }
}

/// Returns the type of elements in which truth values are bits, at any depth; their canonical bytes are the same.
fn with_truths(element: &ElementType) -> ElementType {
    match element {
        ElementType::Bits(1) => ElementType::Bool,
        ElementType::Array { element, shape } => {
            ElementType::Array { element: Box::new(with_truths(element)), shape: shape.clone() }
        }
        ElementType::Vlen(element) => ElementType::Vlen(Box::new(with_truths(element))),
        ElementType::Compound(fields) => ElementType::Compound(
            fields.iter().map(|(name, field)| (name.clone(), with_truths(field))).collect(),
        ),
        other => other.clone(),
    }
}

/// The largest number of elements of one field that become columns.
const WIDEST: u64 = 1 << 12;

/// Decodes a field of a table. Each moment of several in one row becomes a column: `when[0]`.
fn columns(
    records: &Arc<Records>,
    (at, (name, element)): (usize, &(Name, ElementType)),
    into: &mut Vec<Column>,
) {
    if let ElementType::Array { element: inner, shape } = element
        && matches!(**inner, ElementType::Time(4 | 8))
    {
        let all = shape.iter().fold(1u64, |all, &side| bound::product(all, side));
        if all <= WIDEST {
            let decoding = atom(inner);
            into.extend((0..all).map(|place| {
                let mut rest = place;
                let mut places = Vec::new();
                for &side in shape.iter().rev() {
                    places.insert(0, (rest % side.max(1)).to_string());
                    rest /= side.max(1);
                }
                let name = format!("{}[{}]", name.shown(), places.join(", "));
                Column::element(&name, records, (at, place), decoding.clone())
            }));
            return;
        }
    }
    into.push(Column::field(records, at, nested(element)));
}

/// As [`atom`], for elements that may contain others.
fn nested(element: &ElementType) -> Decoding {
    let inside =
        matches!(element, ElementType::Array { .. } | ElementType::Compound(_) | ElementType::Vlen(_));
    let known = atom(element);
    let truths = with_truths(element);
    if inside && known == Decoding::Stored && truths != *element { Decoding::As(truths) } else { known }
}

/// Decodes any array of `PyTables`, in which truth values are bits. Texts of any length are lists of codes.
fn array(node: &Node) -> Result<Option<Variable>> {
    let codes = matches!(node.text("PSEUDOATOM")?.as_deref(), Some("vlstring" | "vlunicode"));
    Ok(plain::variable(node)?.map(|variable| {
        let decoding = if codes { Decoding::Codes } else { nested(&variable.stored().element) };
        variable.decoded(decoding)
    }))
}

impl Convention for PyTables {
    fn identify(&self, root: &Node) -> Result<Option<Identity>> {
        let version = root.text("PYTABLES_FORMAT_VERSION")?;
        Ok(version
            .map(|version| Identity::new("PyTables", "PYTABLES_FORMAT_VERSION").with_version(Some(version))))
    }

    fn meaning(&self, node: &Node, _options: &DecodeOptions) -> Result<Option<Meaning>> {
        match node.text("CLASS")?.as_deref() {
            Some("TABLE") => {
                let Some(records) = Records::of(node)? else { return Ok(None) };
                let mut columns = Vec::new();
                records
                    .fields()
                    .iter()
                    .enumerate()
                    .for_each(|field| self::columns(&records, field, &mut columns));
                let table = Table {
                    path: node.path().to_owned(),
                    rows: records.rows(),
                    index: Vec::new(),
                    columns,
                    omitted: Vec::new(),
                };
                Ok(Some(Meaning::Table(table)))
            }
            Some("ARRAY" | "CARRAY" | "EARRAY" | "VLARRAY") => Ok(array(node)?.map(Meaning::from)),
            _ => Ok(None),
        }
    }

    fn outline(&self, root: &Node) -> Result<Outline> {
        let mut outline = Outline { title: plain::first_text(root, &["TITLE"])?, ..Outline::default() };
        let mut groups = vec![root.clone()];
        while let Some(group) = groups.pop() {
            for child in group.children()? {
                match child.kind()? {
                    // Indexes of columns are stored in groups of their own.
                    Kind::Group if !child.name().starts_with("_i_") => groups.insert(0, child),
                    Kind::Array => {
                        let title = plain::first_text(&child, &["TITLE", "CLASS"])?.unwrap_or_default();
                        outline = outline.with(child.path(), title);
                    }
                    _ => {}
                }
            }
            if !outline.highlights.is_empty() {
                break;
            }
        }
        Ok(outline)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use sciformats::memory::{Memory, MemoryArray, texts};
    use sciformats::{ArrayInfo, ElementType, File, Format};

    use crate::Dataset;

    #[test]
    fn fields_with_several_moments_or_truth_values() {
        let pair = |element| ElementType::Array { element: Box::new(element), shape: vec![2] };
        let element = ElementType::Compound(vec![
            ("mt".into(), pair(ElementType::Time(8))),
            ("ok".into(), pair(ElementType::Bits(1))),
        ]);
        let mut bytes = Vec::new();
        // Half a second before and after 1970: microseconds, and seconds.
        for (micros, seconds) in [(-500_000i32, 0i32), (500_000, 0)] {
            bytes.extend(micros.to_le_bytes());
            bytes.extend(seconds.to_le_bytes());
        }
        bytes.extend([1, 0]);
        let mut tree = Memory::new(Format::Hdf5);
        tree.attribute(tree.root(), "PYTABLES_FORMAT_VERSION", texts(&[], &["2.1"]));
        let table = tree.array(tree.root(), "t", MemoryArray { info: ArrayInfo::new(element, [1]), bytes });
        tree.attribute(table, "CLASS", texts(&[], &["TABLE"]));
        let table = Dataset::new(File::from(tree)).table("/t").unwrap();
        let of = |at: usize| {
            let column = &table.columns[at];
            (column.name.clone(), column.read(0, 1).unwrap().cells().unwrap().remove(0).unwrap())
        };
        assert_eq!(of(0), ("mt[0]".to_owned(), "1969-12-31T23:59:59.500000".to_owned()));
        assert_eq!(of(1), ("mt[1]".to_owned(), "1970-01-01T00:00:00.500000".to_owned()));
        assert_eq!(of(2), ("ok".to_owned(), "[true, false]".to_owned()));
    }
}
