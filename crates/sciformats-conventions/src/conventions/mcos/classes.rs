//! Texts, categories and members of enumerations.
//!
//! | class | properties |
//! |---|---|
//! | `string` | `any`: [texts](super::strings) |
//! | `categorical` | `categoryNames`; `codes`: places in this list, from 1, where 0 is a missing value; `isOrdinal` |
//! | enumeration | `ClassName`; `ValueNames`: numbers of names; `ValueIndices`: places in this list, from 0 |

use std::sync::Arc;

use sciformats::{Datum, Decoder, ElementType, Range, Result, Slab};
use sciformats_core::FaultKind;

use super::{Object, PLACE, elements, fault, strings, times};
use crate::convention::Meaning;
use crate::conventions::matlab;
use crate::decoding::Decoding;
use crate::elsewhere::{Elsewhere, How};
use crate::node::Node;
use crate::table::Table;
use crate::values::Values;
use crate::variable::Variable;

fn words(node: &Node) -> Result<Vec<u64>> {
    let bytes = elements(node, &ElementType::UInt(8))?.unwrap_or_default();
    Ok(bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

/// Returns the first numbers of a row.
fn first_words(node: &Node) -> Result<Vec<u64>> {
    let Some(info) = node.info()?.filter(|info| info.element == ElementType::UInt(8)) else {
        return Ok(Vec::new());
    };
    let shape = info.shape.as_deref().unwrap_or_default();
    let most = strings::DIMENSIONS + 2;
    let slab = Slab::new(shape, shape.iter().map(|&side| Range::new(0, side.min(most))).collect::<Vec<_>>())?;
    if slab.len() > most {
        return Ok(Vec::new());
    }
    let mut bytes = Vec::new();
    node.file().read(node.id(), &slab, &mut bytes)?;
    Ok(bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

/// Decodes a list of texts.
pub(super) fn string(of: &Object<'_>) -> Result<Option<Variable>> {
    let node = of.needed("object of the class string", "any")?.clone();
    let within = |error: sciformats::Error| error.within(None, Some(node.path()));
    // Without texts there may be no numbers at all.
    let shape = match first_words(&node)? {
        words if words.is_empty() || node.number("MATLAB_empty")?.is_some_and(|mark| mark != 0.0) => {
            vec![0, 0]
        }
        words => strings::shape(&words).map_err(within)?,
    };
    let big = of.big;
    let none = shape.contains(&0);
    let read = move || -> Result<Values> {
        if none {
            return Ok(Values::Text(Vec::new()));
        }
        let texts = strings::parse(&words(&node)?, big);
        texts.map(Values::Text).map_err(|error| error.within(None, Some(node.path())))
    };
    let elsewhere =
        Elsewhere { shape, element: ElementType::Text, kind: "string".into(), how: How::all(read) };
    Variable::of_elsewhere(of.node, elsewhere, Decoding::Stored)
}

/// Decodes categories.
pub(super) fn categorical(of: &Object<'_>) -> Result<Option<Variable>> {
    let structure = "object of the class categorical";
    let names: Arc<[String]> = matlab::texts(of.needed(structure, "categoryNames")?)?.into();
    let ordered = match of.node("isOrdinal") {
        Some(node) => matlab::number(node)?.is_some_and(|truth| truth != 0.0),
        None => false,
    };
    let codes = matlab::numbers(of.needed(structure, "codes")?)?;
    let path = codes.path().to_owned();
    categories(
        of.node,
        codes,
        (names, ordered),
        move |code| match code {
            0 => Ok(None),
            code => Ok(Some(code - 1)),
        },
        (structure, path),
    )
}

/// Returns a variable whose numbers are places in a list of names, after `place` has been applied to them.
fn categories(
    node: &Node,
    codes: Variable,
    (names, ordered): (Arc<[String]>, bool),
    place: impl Fn(u64) -> Result<Option<u64>> + Send + Sync + 'static,
    (structure, path): (&'static str, String),
) -> Result<Option<Variable>> {
    let shape = codes.shape();
    let kind = format!("category of {}", names.len());
    let then = move |values: Values| -> Result<Values> {
        let Values::Plain { element, bytes, .. } = &values else { return Ok(values) };
        let mut codes = Vec::new();
        for datum in Decoder::new(element, bytes) {
            let datum = datum?;
            let whole = |number: f64| (number >= 0.0 && number.fract() == 0.0).then_some(number as u64);
            let code = match datum {
                Datum::Float(number, _) => whole(number),
                other => other.to_i128().and_then(|code| u64::try_from(code).ok()),
            };
            let negative =
                || fault(structure, "code", FaultKind::Rule("is no place in the list of names"), &path);
            let at = place(code.ok_or_else(negative)?)?;
            let kind = FaultKind::OutOfBounds { found: at.unwrap_or_default(), end: names.len() as u64 };
            codes.push(match at {
                None => None,
                Some(at) => {
                    let found = usize::try_from(at).ok().filter(|&at| at < names.len());
                    Some(found.ok_or_else(|| fault(structure, "code", kind, &path))?)
                }
            });
        }
        Ok(Values::Categories { codes, names: Arc::clone(&names), ordered })
    };
    let elsewhere = Elsewhere { shape, element: ElementType::Text, kind, how: How::array(codes, then) };
    Variable::of_elsewhere(node, elsewhere, Decoding::Stored)
}

/// Decodes the members of an enumeration, which are the fields of a structure.
pub(super) fn enumeration(group: &Node) -> Result<Option<Meaning>> {
    let structure = "members of an enumeration";
    let child = |name: &'static str| -> Result<Node> {
        let missing = || fault(structure, name, FaultKind::Rule("is missing"), group.path());
        group.child(name)?.ok_or_else(missing)
    };
    let all = group.mcos()?;
    let numbers = elements(&child("ValueNames")?, &ElementType::UInt(4))?.unwrap_or_default();
    let mut names = Vec::new();
    for (at, number) in numbers.as_chunks::<4>().0.iter().enumerate() {
        let name = all.metadata.name(u32::from_le_bytes(*number), at * 4);
        names.push(name.map_err(|error| error.within(None, Some(PLACE)))?.to_owned());
    }
    let codes = matlab::numbers(&child("ValueIndices")?)?;
    let path = codes.path().to_owned();
    let found = categories(group, codes, (names.into(), false), |code| Ok(Some(code)), (structure, path))?;
    Ok(found.map(Meaning::from))
}

/// Returns the meaning of an array of objects without elements.
pub(super) fn nothing(node: &Node, class: &str, shape: Vec<u64>) -> Result<Option<Meaning>> {
    if matches!(class, "table" | "timetable" | "containers.Map" | "dictionary") {
        let path = node.path().to_owned();
        return Ok(Some(Meaning::Table(Table {
            path,
            rows: 0,
            index: Vec::new(),
            columns: Vec::new(),
            omitted: Vec::new(),
        })));
    }
    let (kind, values, decoding) = match class {
        "datetime" => ("time".to_owned(), Values::Times(Vec::new()), times::decoding(false)),
        "duration" => ("duration".to_owned(), Values::plain(ElementType::F64, Vec::new()), Decoding::Stored),
        class => (class.to_owned(), Values::Text(Vec::new()), Decoding::Stored),
    };
    let element = if matches!(values, Values::Text(_)) { ElementType::Text } else { ElementType::F64 };
    let elsewhere = Elsewhere { shape, element, kind, how: How::all(move || Ok(values.clone())) };
    Ok(Variable::of_elsewhere(node, elsewhere, decoding)?.map(Meaning::from))
}
