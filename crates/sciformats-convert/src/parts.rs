//! Splits elements in canonical bytes into parts: bytes of a fixed size, and texts.

use sciformats_core::Error;
use sciformats_core::arith::increase;

use sciformats::model::canonical::{take, text};
use sciformats::{ElementType, Result};

/// A part of an element.
pub(crate) enum Part<'a> {
    Bytes(&'a [u8]),
    Text(&'a [u8]),
}

/// Called for each part, with the number of the next text in its element.
type Visit<'a> = &'a mut dyn FnMut(Part<'_>, usize) -> Result<()>;

/// Calls `visit` for the parts of all elements. `is_text` decides which types are stored as text.
pub(crate) fn each(
    element: &ElementType,
    bytes: &[u8],
    is_text: &dyn Fn(&ElementType) -> bool,
    visit: Visit<'_>,
) -> Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let before = rest.len();
        Parts { is_text, at: 0 }.one(element, &mut rest, visit)?;
        if rest.len() == before {
            return Err(Error::usage("elements", "without bytes have no end"));
        }
    }
    Ok(())
}

/// One element that is being split.
struct Parts<'a> {
    is_text: &'a dyn Fn(&ElementType) -> bool,
    /// The number of the next text.
    at: usize,
}

impl Parts<'_> {
    fn one(&mut self, element: &ElementType, rest: &mut &[u8], visit: Visit<'_>) -> Result<()> {
        if let Some(size) = element.size() {
            return visit(Part::Bytes(take(rest, size)?), self.at);
        }
        match element {
            ElementType::Compound(fields) => {
                fields.iter().try_for_each(|(_, field)| self.one(field, rest, visit))
            }
            // The texts in one position have one width.
            ElementType::Array { element, shape } => {
                let first = self.at;
                let wide = || Error::usage("elements", "have more than 2^64 parts");
                for _ in 0..sciformats_core::slab::elements(shape).ok_or_else(wide)? {
                    self.at = first;
                    self.one(element, rest, visit)?;
                }
                Ok(())
            }
            other if (self.is_text)(other) => {
                visit(Part::Text(text(rest)?), self.at)?;
                increase(&mut self.at, 1)
            }
            other => Err(Error::usage("format", format!("the target cannot hold elements of type {other}"))),
        }
    }
}
