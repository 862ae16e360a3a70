//! Splits canonical bytes into elements without decoding them.
//!
//! Numbers are stored in their own size, little-endian. A text, a reference or a sequence begins with its
//! length as a `u64`. [`ElementType`] describes the bytes of each type, and [`Decoder`](super::Decoder)
//! decodes them.

use sciformats_core::Error;
use sciformats_core::bound;

use super::ElementType;
use crate::Result;

/// Returns the canonical bytes of each element in `bytes`.
///
/// ```
/// use sciformats::ElementType;
/// use sciformats::memory::texts;
/// use sciformats::model::canonical::spans;
///
/// let names = texts(&[2], &["Vega", "Deneb"]).bytes;
/// let sizes: Vec<usize> = spans(&ElementType::Text, &names)?.iter().map(|name| name.len()).collect();
/// assert_eq!(sizes, [8 + 4, 8 + 5]);
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Usage`] if the last element is incomplete.
pub fn spans<'a>(element: &ElementType, bytes: &'a [u8]) -> Result<Vec<&'a [u8]>> {
    if let Some(size) = element.size().and_then(|size| usize::try_from(size).ok()).filter(|&size| size > 0) {
        return Ok(bytes.chunks_exact(size).collect());
    }
    let mut spans = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let before = rest;
        skip(element, &mut rest)?;
        let used = bound::left(before.len(), rest.len());
        spans.push(before.get(..used).unwrap_or_default());
        if used == 0 {
            break;
        }
    }
    Ok(spans)
}

/// Removes one element from the start of `rest`.
///
/// # Errors
///
/// [`Error::Usage`] if it is incomplete.
pub fn skip(element: &ElementType, rest: &mut &[u8]) -> Result<()> {
    match element {
        ElementType::Text | ElementType::Reference | ElementType::Region => text(rest).map(drop),
        ElementType::Compound(fields) => fields.iter().try_for_each(|(_, field)| skip(field, rest)),
        ElementType::Array { element, shape } => {
            let count = listed(element, sciformats_core::slab::elements(shape), rest)?;
            (0..count).try_for_each(|_| skip(element, rest))
        }
        ElementType::Vlen(element) => {
            let count = length(rest)?;
            let count = listed(element, Some(count), rest)?;
            (0..count).try_for_each(|_| skip(element, rest))
        }
        fixed => take(rest, fixed.size().unwrap_or(u64::MAX)).map(drop), // a bound: more than there is
    }
}

/// Checks that `rest` has room for `count` elements, because any number of elements without bytes could be
/// declared.
pub(super) fn listed(element: &ElementType, count: Option<u64>, rest: &[u8]) -> Result<u64> {
    let count = count.ok_or_else(short)?;
    if count > rest.len() as u64 && (count > 1 << 16 || !element.can_be_empty()) {
        return Err(short());
    }
    Ok(count)
}

/// Removes a text, with its length, from the start of `rest`, and returns its bytes without the length.
///
/// # Errors
///
/// [`Error::Usage`] if it is incomplete.
pub fn text<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = length(rest)?;
    take(rest, length)
}

/// Removes the number at the start of a text or a sequence, which is its length.
///
/// # Errors
///
/// [`Error::Usage`] if it is incomplete.
pub fn length(rest: &mut &[u8]) -> Result<u64> {
    let bytes = take(rest, 8)?;
    bytes.try_into().map(u64::from_le_bytes).map_err(|_| short())
}

/// Removes `count` bytes from the start of `rest`, and returns them.
///
/// # Errors
///
/// [`Error::Usage`] if there are fewer.
pub fn take<'a>(rest: &mut &'a [u8], count: u64) -> Result<&'a [u8]> {
    let split = usize::try_from(count).ok().and_then(|count| rest.split_at_checked(count));
    let (taken, tail) = split.ok_or_else(short)?;
    *rest = tail;
    Ok(taken)
}

/// Returns the error for bytes that end too early.
pub(super) fn short() -> Error {
    Error::usage("canonical bytes", "end inside an element")
}
