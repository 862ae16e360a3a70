//! Types of elements as a header spells them, and their bytes as canonical bytes.

use sciformats_core::slab::elements;
use sciformats_core::{Error, Fault, FaultKind};

use super::literal::Literal;
use crate::Result;
use crate::model::{ElementType, Name};

/// How elements are stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stored {
    Scalar(Scalar),
    /// Parts one after another. Those without a name are padding.
    Fields(Vec<(Option<Name>, Stored)>),
    /// Several of one type.
    Array(Box<Stored>, Vec<u64>),
}

/// A type without parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    /// What it means, and the bytes of the numbers it consists of if they are big-endian.
    Number(ElementType, Option<usize>),
    /// That many bytes of text, padded with NUL.
    Bytes(u64),
    /// That many code points, padded with 0; whether they are big-endian.
    Ucs4(u64, bool),
}

impl Stored {
    /// The type that the value of `descr` is; `None` if it is no type.
    pub(super) fn parse(literal: &Literal) -> Result<Option<Self>> {
        match literal {
            Literal::Text(text) => Ok(scalar(text)?.map(Self::Scalar)),
            Literal::List(fields) => {
                let mut parts = Vec::new();
                for field in fields {
                    let Literal::List(parts_of_field) = field else { return Ok(None) };
                    let Some(part) = Self::field(parts_of_field)? else { return Ok(None) };
                    parts.push(part);
                }
                Ok(Some(Self::Fields(parts)))
            }
            _ => Ok(None),
        }
    }

    fn field(parts: &[Literal]) -> Result<Option<(Option<Name>, Self)>> {
        let (name, descr, shape) = match parts {
            [name, descr] => (name, descr, None),
            [name, descr, shape] => (name, descr, Some(shape)),
            _ => return Ok(None),
        };
        let name = match name {
            Literal::Text(name) => name,
            // A title and a name.
            Literal::List(both) => match both.as_slice() {
                [Literal::Text(_), Literal::Text(name)] => name,
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let Some(one) = Self::parse(descr)? else { return Ok(None) };
        let all = match shape {
            None => one,
            Some(Literal::Number(n)) => Self::Array(Box::new(one), vec![*n]),
            Some(shape) => match dimensions(shape) {
                Some(shape) => Self::Array(Box::new(one), shape),
                None => return Ok(None),
            },
        };
        Ok(Some(((!name.is_empty()).then(|| Name::from(name.as_str())), all)))
    }

    /// Bytes of an element in the file; `None` beyond 64 bits.
    pub(crate) fn size(&self) -> Option<u64> {
        match self {
            Self::Scalar(Scalar::Number(element, _)) => element.size(),
            Self::Scalar(Scalar::Bytes(size)) => Some(*size),
            Self::Scalar(Scalar::Ucs4(count, _)) => count.checked_mul(4),
            Self::Fields(fields) => {
                fields.iter().try_fold(0u64, |sum, (_, field)| sum.checked_add(field.size()?))
            }
            Self::Array(one, shape) => one.size()?.checked_mul(elements(shape)?),
        }
    }

    /// What elements mean.
    pub(crate) fn element(&self) -> ElementType {
        match self {
            Self::Scalar(Scalar::Number(element, _)) => element.clone(),
            Self::Scalar(_) => ElementType::Text,
            Self::Fields(fields) => {
                let named = fields.iter().filter_map(|(name, field)| Some((name.clone()?, field.element())));
                ElementType::Compound(named.collect())
            }
            Self::Array(one, shape) => {
                ElementType::Array { element: Box::new(one.element()), shape: shape.clone() }
            }
        }
    }

    /// Whether the bytes in the file are canonical.
    pub(crate) fn is_canonical(&self) -> bool {
        match self {
            Self::Scalar(Scalar::Number(element, swapped)) => {
                swapped.is_none() && *element != ElementType::Bool
            }
            Self::Scalar(_) => false,
            Self::Fields(fields) => fields.iter().all(|(name, field)| name.is_some() && field.is_canonical()),
            Self::Array(one, _) => one.is_canonical(),
        }
    }

    /// Appends the canonical bytes of one element, which is at the start of `bytes`, and moves `bytes` behind it. `at` is
    /// the element's offset, for errors.
    pub(crate) fn append(&self, bytes: &mut &[u8], at: u64, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Scalar(scalar) => {
                let short = || Error::usage("elements", "end inside an element");
                let size = self.size().and_then(|size| usize::try_from(size).ok()).ok_or_else(short)?;
                let (one, rest) = bytes.split_at_checked(size).ok_or_else(short)?;
                *bytes = rest;
                append(scalar, one, at, out)
            }
            Self::Fields(fields) => {
                let mut padding = Vec::new();
                for (name, field) in fields {
                    let to = if name.is_some() { &mut *out } else { &mut padding };
                    field.append(bytes, at, to)?;
                }
                Ok(())
            }
            Self::Array(one, shape) => {
                (0..elements(shape).unwrap_or(0)).try_for_each(|_| one.append(bytes, at, out))
            }
        }
    }
}

fn append(scalar: &Scalar, bytes: &[u8], at: u64, out: &mut Vec<u8>) -> Result<()> {
    match scalar {
        Scalar::Number(ElementType::Bool, _) => out.extend(bytes.iter().map(|&byte| u8::from(byte != 0))),
        Scalar::Number(_, None) => out.extend_from_slice(bytes),
        Scalar::Number(_, Some(width)) => {
            let start = out.len();
            out.extend_from_slice(bytes);
            sciformats_core::endian::swap(out.get_mut(start..).unwrap_or_default(), *width);
        }
        Scalar::Bytes(_) => {
            let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last.saturating_add(1));
            text(bytes.get(..end).unwrap_or_default(), out);
        }
        Scalar::Ucs4(_, big) => {
            let codes = bytes.as_chunks::<4>().0.iter();
            let codes =
                codes.map(|&code| if *big { u32::from_be_bytes(code) } else { u32::from_le_bytes(code) });
            let mut decoded = String::new();
            for code in codes {
                let fault = || Fault::new("element", FaultKind::Encoding).at("array", at);
                decoded.push(char::from_u32(code).ok_or_else(fault)?);
            }
            text(decoded.trim_end_matches('\0').as_bytes(), out);
        }
    }
    Ok(())
}

fn text(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// A tuple of dimensions.
pub(super) fn dimensions(literal: &Literal) -> Option<Vec<u64>> {
    let Literal::List(items) = literal else { return None };
    let number = |item: &Literal| match item {
        Literal::Number(number) => Some(*number),
        _ => None,
    };
    items.iter().map(number).collect()
}

/// The type that a text such as `<f4` names.
fn scalar(text: &str) -> Result<Option<Scalar>> {
    let big = text.starts_with('>');
    let rest = text.strip_prefix(['<', '>', '|', '=']).unwrap_or(text);
    let Some((kind, digits)) =
        rest.chars().next().and_then(|kind| Some((kind, rest.get(kind.len_utf8()..)?)))
    else {
        return Ok(None);
    };
    // A unit of time in brackets may follow.
    let digits = digits.split('[').next().unwrap_or_default();
    if kind == 'O' {
        return Err(Error::unsupported("an array of Python objects"));
    }
    let Ok(size) = digits.parse::<u64>() else { return Ok(None) };
    let words = |element: ElementType, width: u64| {
        let width = usize::try_from(width).ok().filter(|&width| big && width > 1);
        Some(Scalar::Number(element, width))
    };
    Ok(match (kind, size) {
        ('b', 1) => words(ElementType::Bool, 1),
        ('i', 1 | 2 | 4 | 8) => u16::try_from(size).ok().and_then(|n| words(ElementType::Int(n), size)),
        ('u', 1 | 2 | 4 | 8) => u16::try_from(size).ok().and_then(|n| words(ElementType::UInt(n), size)),
        ('f', 2) => words(ElementType::F16, 2),
        ('f', 4) => words(ElementType::F32, 4),
        ('f', 8) => words(ElementType::F64, 8),
        ('c', 8) => words(ElementType::Complex(8), 4),
        ('c', 16) => words(ElementType::Complex(16), 8),
        // Moments and spans are counts of a unit.
        ('M' | 'm', 8) => words(ElementType::Int(8), 8),
        ('S' | 'a', size) => Some(Scalar::Bytes(size)),
        ('U', size) => Some(Scalar::Ucs4(size, big)),
        ('V', size) => words(ElementType::Opaque(size), 1),
        // Wider floats differ from machine to machine.
        ('f' | 'c', size) => words(ElementType::Opaque(size), 1),
        _ => None,
    })
}
