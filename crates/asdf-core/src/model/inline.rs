//! Arrays whose elements are nested sequences in the tree.

use sciformats_core::arith::{add, fit};
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::number::Float16;
use sciformats_core::{Error, Result};

use super::datatype::{Datatype, Field, ScalarType};
use crate::yaml::{NodeId, Tree, Value};

/// The elements of an inline array.
pub(super) struct Inline {
    pub(super) datatype: Datatype,
    pub(super) shape: Vec<u64>,
    /// The elements as little-endian bytes in C order.
    pub(super) bytes: Vec<u8>,
    /// One byte per element, which is 1 if the element is `null`; `None` if no element is.
    pub(super) mask: Option<Vec<u8>>,
}

fn fault(tree: &Tree, id: NodeId, rule: &'static str) -> Error {
    Fault::new("data", FaultKind::Rule(rule)).at("ndarray", tree.node(id).offset)
}

/// Reads nested sequences. The type is inferred if `datatype` is `None`.
pub(super) fn read(tree: &Tree, id: NodeId, datatype: Option<Datatype>) -> Result<Inline> {
    let rank = rank(tree, id, datatype.as_ref())?;
    let mut shape = Vec::with_capacity(rank);
    let mut at = Some(id);
    for _ in 0..rank {
        let items = at.and_then(|at| tree.items(at)).unwrap_or_default();
        shape.push(items.len() as u64);
        at = items.first().copied();
    }
    let mut elements = Vec::new();
    collect(tree, id, &shape, &mut elements)?;
    let datatype = match datatype {
        Some(datatype) => datatype,
        None => infer(tree, &elements)?,
    };
    let size = datatype.size().ok_or_else(|| fault(tree, id, "has elements of more than 2^64 bytes"))?;
    let total =
        size.checked_mul(elements.len() as u64).ok_or_else(|| fault(tree, id, "has more than 2^64 bytes"))?;
    let mut bytes = Vec::with_capacity(tree.limits().memory("bytes of inline data", total)?);
    let mut mask = vec![0; elements.len()];
    for (&element, missing) in elements.iter().zip(&mut mask) {
        if matches!(tree.value(element), Ok(Some(Value::Null))) {
            *missing = 1;
            bytes.resize(add(bytes.len(), fit(size, "size of an element")?)?, 0);
        } else {
            encode(tree, element, &datatype, &mut bytes)?;
        }
    }
    let mask = mask.contains(&1).then_some(mask);
    Ok(Inline { datatype, shape, bytes, mask })
}

/// Returns how many levels of sequences are dimensions. The innermost sequences of structured arrays are the elements.
fn rank(tree: &Tree, id: NodeId, datatype: Option<&Datatype>) -> Result<usize> {
    let mut rank: usize = 0;
    let mut at = id;
    while let Some(items) = tree.items(at) {
        if let Some(datatype @ Datatype::Struct(_)) = datatype
            && fits(tree, at, datatype)
        {
            break;
        }
        rank = add(rank, 1)?;
        tree.limits().depth("levels of inline data", rank)?;
        match items.first() {
            Some(&first) => at = first,
            None => break,
        }
    }
    Ok(rank)
}

/// Returns whether the form of a node permits it to be an element of a type.
fn fits(tree: &Tree, id: NodeId, datatype: &Datatype) -> bool {
    let field_fits = |(item, field): (&NodeId, &Field)| {
        let mut at = *item;
        for &dimension in &field.shape {
            match tree.items(at) {
                Some(items) if items.len() as u64 == dimension && dimension > 0 => {
                    at = items.first().copied().unwrap_or(at);
                }
                _ => return false,
            }
        }
        fits(tree, at, &field.datatype)
    };
    match (datatype, tree.items(id)) {
        (Datatype::Scalar(_), items) => items.is_none(),
        (Datatype::Struct(fields), Some(items)) => {
            items.len() == fields.len() && items.iter().zip(fields).all(field_fits)
        }
        (Datatype::Struct(_), None) => false,
    }
}

/// Collects the elements in C order. All sequences of a level must be as long as the first one.
fn collect(tree: &Tree, id: NodeId, shape: &[u64], out: &mut Vec<NodeId>) -> Result<()> {
    let Some((&dimension, inner)) = shape.split_first() else {
        out.push(id);
        let limit = tree.unfolding_limit();
        return sciformats_core::limits::within("elements of inline data", out.len() as u64, limit).map(drop);
    };
    let items = tree.items(id).filter(|items| items.len() as u64 == dimension);
    let items = items.ok_or_else(|| fault(tree, id, "is ragged: its sequences differ in length or depth"))?;
    items.iter().try_for_each(|&item| collect(tree, item, inner, out))
}

fn infer(tree: &Tree, elements: &[NodeId]) -> Result<Datatype> {
    let (mut bools, mut ints, mut large, mut floats, mut complexes, mut longest) =
        (false, false, false, false, false, None);
    for &element in elements {
        if is_complex(tree, element) {
            complexes = true;
            continue;
        }
        match tree.value(element)? {
            Some(Value::Null) => {}
            Some(Value::Bool(_)) => bools = true,
            Some(Value::Int(value)) => {
                ints = true;
                large |= value > i128::from(i64::MAX);
            }
            Some(Value::Float(_)) => floats = true,
            Some(Value::Str(text)) => longest = longest.max(Some(text.chars().count() as u64)),
            _ => return Err(fault(tree, element, "has an element of a type that arrays do not have")),
        }
    }
    let numbers = bools || ints || floats || complexes;
    match longest {
        Some(_) if numbers => {
            return Err(fault(
                tree,
                elements.first().copied().unwrap_or(tree.root()),
                "mixes texts and numbers",
            ));
        }
        Some(longest) => return Ok(ScalarType::Ucs4(longest.max(1)).into()),
        None => {}
    }
    Ok(Datatype::Scalar(match () {
        () if complexes => ScalarType::Complex128,
        () if floats || !numbers => ScalarType::Float64,
        () if ints && large => ScalarType::UInt64,
        () if ints => ScalarType::Int64,
        () => ScalarType::Bool8,
    }))
}

fn is_complex(tree: &Tree, id: NodeId) -> bool {
    tree.asdf_tag(id).is_some_and(|tag| tag.starts_with("core/complex-"))
}

fn encode(tree: &Tree, id: NodeId, datatype: &Datatype, out: &mut Vec<u8>) -> Result<()> {
    match datatype {
        Datatype::Scalar(scalar) => encode_scalar(tree, id, *scalar, out),
        Datatype::Struct(fields) => {
            let items = tree.items(id).filter(|items| items.len() == fields.len());
            let items =
                items.ok_or_else(|| fault(tree, id, "has an element that does not consist of its fields"))?;
            items.iter().zip(fields).try_for_each(|(&item, field)| {
                let mut parts = Vec::new();
                collect(tree, item, &field.shape, &mut parts)?;
                parts.into_iter().try_for_each(|part| encode(tree, part, &field.datatype, out))
            })
        }
    }
}

fn encode_scalar(tree: &Tree, id: NodeId, scalar: ScalarType, out: &mut Vec<u8>) -> Result<()> {
    let wrong = || fault(tree, id, "has an element that its datatype cannot hold");
    if let ScalarType::Complex64 | ScalarType::Complex128 = scalar
        && is_complex(tree, id)
    {
        let (re, im) = super::complex::parse(tree.node(id).text().unwrap_or_default()).ok_or_else(wrong)?;
        float(scalar, re, out);
        float(scalar, im, out);
        return Ok(());
    }
    let value = tree.value(id)?.ok_or_else(wrong)?;
    let int = |value: &Value<'_>| match value {
        Value::Bool(value) => Some(i128::from(*value)),
        other => other.as_int::<i128>(),
    };
    macro_rules! put {
        ($type:ty) => {{
            let value = <$type>::try_from(int(&value).ok_or_else(wrong)?).map_err(|_| wrong())?;
            out.extend_from_slice(&value.to_le_bytes());
        }};
    }
    match scalar {
        ScalarType::Int8 => put!(i8),
        ScalarType::Int16 => put!(i16),
        ScalarType::Int32 => put!(i32),
        ScalarType::Int64 => put!(i64),
        ScalarType::UInt8 => put!(u8),
        ScalarType::UInt16 => put!(u16),
        ScalarType::UInt32 => put!(u32),
        ScalarType::UInt64 => put!(u64),
        ScalarType::Bool8 => out.push(u8::from(int(&value).ok_or_else(wrong)? != 0)),
        ScalarType::Float16
        | ScalarType::Float32
        | ScalarType::Float64
        | ScalarType::Complex64
        | ScalarType::Complex128 => {
            let number = match value {
                Value::Bool(value) => f64::from(u8::from(value)),
                other => other.as_f64().ok_or_else(wrong)?,
            };
            float(scalar, number, out);
            if let ScalarType::Complex64 | ScalarType::Complex128 = scalar {
                float(scalar, 0.0, out);
            }
        }
        ScalarType::Ascii(_) | ScalarType::Ucs4(_) => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            encode_text(&text, scalar, out).ok_or_else(wrong)?;
        }
    }
    Ok(())
}

/// Returns a text padded with zeros; `None` if it does not fit.
fn encode_text(text: &str, scalar: ScalarType, out: &mut Vec<u8>) -> Option<()> {
    let size = usize::try_from(scalar.size()?).ok()?;
    let start = out.len();
    match scalar {
        ScalarType::Ascii(_) if !text.is_ascii() => return None,
        ScalarType::Ascii(_) => out.extend_from_slice(text.as_bytes()),
        _ => text.chars().for_each(|c| out.extend_from_slice(&u32::from(c).to_le_bytes())),
    }
    let end = start.checked_add(size)?;
    (out.len() <= end).then(|| out.resize(end, 0))
}

/// Returns one part of a floating-point type.
#[allow(clippy::cast_possible_truncation)] // Rounding to the nearest is what the narrower types are for.
fn float(scalar: ScalarType, value: f64, out: &mut Vec<u8>) {
    match scalar {
        ScalarType::Float16 => out.extend_from_slice(&Float16::nearest(value).0.to_le_bytes()),
        ScalarType::Float32 | ScalarType::Complex64 => out.extend_from_slice(&(value as f32).to_le_bytes()),
        _ => out.extend_from_slice(&value.to_le_bytes()),
    }
}
