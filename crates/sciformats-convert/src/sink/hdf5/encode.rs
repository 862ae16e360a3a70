//! Encodes canonical bytes as elements of HDF5. Numbers have the same bytes in both.

use std::collections::HashMap;
use std::slice::Iter;

use hdf5_pure::references::{Reference, RegionReference};
use hdf5_pure::structure::Selection;
use hdf5_pure::values::Encoder;
use hdf5_pure::{Address, Datatype, Store};
use sciformats_core::Error;
use sciformats_core::arith::fit;

use crate::sink::refused;
use sciformats::model::canonical::{length, take};
use sciformats::model::{ElementType, Name, TextForm};
use sciformats::{Format, Result};

/// References by the paths that they lead to. Names are bytes, which need not be UTF-8.
pub(crate) type References = HashMap<Vec<u8>, Reference>;

/// Returns the reference to the object at a path. An object without a path is `?` and its address, if the file was opened so.
pub(crate) fn target(references: &References, path: &[u8]) -> Option<Reference> {
    let address = || std::str::from_utf8(path.strip_prefix(b"?")?).ok()?.parse().ok();
    references.get(path).copied().or_else(|| address().map(|address| Address(address).into()))
}

/// Appends the elements in canonical bytes.
pub(crate) fn encode(
    element: &ElementType,
    bytes: &[u8],
    references: &References,
    to: &mut Encoder<'_>,
) -> Result<()> {
    encode_in((element, &[]), bytes, references, to)
}

/// Works like [`encode`], with the forms of the texts in elements.
pub(super) fn encode_in(
    (element, forms): (&ElementType, &[TextForm]),
    bytes: &[u8],
    references: &References,
    to: &mut Encoder<'_>,
) -> Result<()> {
    if element.size().is_some() {
        to.bytes(bytes);
        return Ok(());
    }
    let mut rest = bytes;
    while !rest.is_empty() {
        let before = rest.len();
        part((element, &mut forms.iter()), &mut rest, references, to)?;
        if rest.len() == before {
            return Err(Error::usage("elements", "without bytes have no end"));
        }
    }
    Ok(())
}

/// Appends one element, and removes its canonical bytes from the input.
pub(crate) fn one(
    element: &ElementType,
    rest: &mut &[u8],
    references: &References,
    to: &mut Encoder<'_>,
) -> Result<()> {
    part((element, &mut [].iter()), rest, references, to)
}

/// Appends a part of an element. `forms` are those of its texts and of the texts after it.
fn part(
    (element, forms): (&ElementType, &mut Iter<'_, TextForm>),
    rest: &mut &[u8],
    references: &References,
    to: &mut Encoder<'_>,
) -> Result<()> {
    use ElementType as T;
    if let Some(size) = element.size() {
        to.bytes(take(rest, size)?);
        return Ok(());
    }
    match element {
        T::Text => {
            let text = sciformats::model::canonical::text(rest)?;
            match forms.next() {
                Some(&TextForm::Bytes(size)) => fixed(text, size, to),
                _ => to.text(text),
            }
        }
        T::Reference => {
            forms.next();
            let path = sciformats::model::canonical::text(rest)?;
            // A missing object becomes a null reference; the plan has reported it.
            let reference = target(references, path).unwrap_or_default();
            Reference::encode(&[reference], to)
        }
        T::Region => {
            forms.next();
            let text = sciformats::model::canonical::text(rest)?;
            // Names may contain spaces; selections cannot.
            let mut parts = text.rsplitn(2, |byte| *byte == b' ');
            let (selection, path) = (parts.next().unwrap_or_default(), parts.next());
            let reference = path.and_then(|path| target(references, path)).unwrap_or_default();
            let selection = String::from_utf8_lossy(if path.is_some() { selection } else { &[] });
            let selection = self::selection(&selection)
                .ok_or_else(|| Error::usage("region", format!("{selection:?} is not a selection")))?;
            let rank = rank(&selection);
            RegionReference::encode(&[RegionReference::of(reference, selection, rank)], to)
        }
        T::Vlen(element) => {
            let count = length(rest)?;
            let items = fit(count, "items of a sequence")?;
            to.sequence_of(items, |to| (0..count).try_for_each(|_| one(element, rest, references, to)))
        }
        T::Compound(fields) => {
            fields.iter().try_for_each(|(_, field)| part((field, &mut *forms), rest, references, to))
        }
        T::Array { element, shape } => {
            let wide = || Error::usage("elements", "have more than 2^64 parts");
            let count = sciformats_core::slab::elements(shape).ok_or_else(wide)?;
            // The texts in one position of each item have one form.
            let mut after = forms.clone();
            for _ in 0..count {
                after = forms.clone();
                part((element, &mut after), rest, references, to)?;
            }
            *forms = after;
            Ok(())
        }
        other => Err(refused(Format::Hdf5, format!("elements of type {other}"))),
    }
}

/// Appends a text of this number of bytes, filled up with NULs.
fn fixed(text: &[u8], size: u64, to: &mut Encoder<'_>) -> Result<()> {
    let padding = usize::try_from(size).ok().and_then(|size| size.checked_sub(text.len()));
    let padding = padding.ok_or_else(|| {
        Error::usage("elements", format!("include a text of {} bytes, which has room for {size}", text.len()))
    })?;
    to.bytes(text);
    to.bytes(&vec![0; padding.max(usize::from(size == 0))]);
    Ok(())
}

/// Returns the number of dimensions that a selection is stored with; 0 for all and for none of the elements,
/// which are stored without it.
pub(crate) fn rank(selection: &Selection) -> usize {
    selection.rank().unwrap_or_default()
}

/// Parses a selection: `all`, `none`, points `(0,1)(2,3)` or blocks `(0,0)-(2,3)`. A null reference has no
/// selection.
pub(crate) fn selection(text: &str) -> Option<Selection> {
    match text {
        "" | "none" => return Some(Selection::None),
        "all" => return Some(Selection::All),
        _ => {}
    }
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    let point = |text: &str| text.split(',').map(|at| at.parse().ok()).collect::<Option<Vec<u64>>>();
    if !inner.contains('-') {
        return inner.split(")(").map(point).collect::<Option<_>>().map(Selection::Points);
    }
    let mut blocks = Vec::new();
    let mut corners = inner.split(['(', ')']).filter(|text| !text.is_empty());
    while let Some(first) = corners.next() {
        let ("-", last) = (corners.next()?, corners.next()?) else { return None };
        blocks.push((point(first)?, point(last)?));
    }
    Some(Selection::Blocks(blocks))
}

/// An attribute as canonical bytes.
pub(super) struct Packed<'a> {
    pub(super) shape: Vec<u64>,
    pub(super) element: &'a ElementType,
    pub(super) bytes: &'a [u8],
    pub(super) references: &'a References,
}

impl hdf5_pure::Value for Packed<'_> {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        encode(self.element, self.bytes, self.references, to)?;
        Ok((datatype(self.element)?, Some(self.shape)))
    }
}

/// Returns a name as it is stored. It need not be UTF-8.
pub(super) fn stored(name: &Name) -> hdf5_pure::Name {
    hdf5_pure::Name::from(name.as_bytes())
}

/// Returns the type of elements in a file, packed and little-endian.
pub(crate) fn datatype(element: &ElementType) -> Result<Datatype> {
    datatype_in(element, &mut [].iter())
}

/// Works like [`datatype`], with the forms of the texts in elements.
pub(super) fn datatype_in(element: &ElementType, forms: &mut Iter<'_, TextForm>) -> Result<Datatype> {
    use ElementType as T;
    let wide = || refused(Format::Hdf5, format!("elements of type {element}"));
    let bytes = |size: u64| u32::try_from(size).map_err(|_| wide());
    Ok(match element {
        T::Int(size) => Datatype::signed((*size).into()),
        T::UInt(size) => Datatype::unsigned((*size).into()),
        T::F16 => Datatype::float16(),
        T::BF16 => Datatype::bfloat16(),
        T::F32 => Datatype::float32(),
        T::F64 => Datatype::float64(),
        T::Complex(4) => Datatype::complex(&Datatype::float16()),
        T::Complex(8) => Datatype::complex(&Datatype::float32()),
        T::Complex(16) => Datatype::complex(&Datatype::float64()),
        T::Text => match forms.next() {
            // HDF5 has no text without bytes.
            Some(&TextForm::Bytes(size)) => Datatype::fixed_string(bytes(size)?.max(1)),
            _ => Datatype::string(),
        },
        T::Vlen(element) => Datatype::sequence(&datatype(element)?),
        T::Reference => {
            forms.next();
            Reference::datatype()
        }
        T::Region => {
            forms.next();
            RegionReference::datatype()
        }
        T::Opaque(size) => Datatype::opaque(bytes(*size)?, ""),
        T::Bits(size) => Datatype::bits(bytes(*size)?),
        T::Time(size) => Datatype::time(bytes(*size)?),
        T::Enum { base, members } => {
            let mut named = Vec::new();
            for (name, value) in members {
                named.push((stored(name), i64::try_from(*value).map_err(|_| wide())?));
            }
            Datatype::enumeration(&datatype(base)?, named)?
        }
        T::Compound(fields) => {
            let mut members = Vec::new();
            for (name, field) in fields {
                members.push((stored(name), datatype_in(field, forms)?));
            }
            Datatype::compound(members)
        }
        T::Array { element, shape } => {
            let shape: Result<Vec<u32>> = shape.iter().map(|&length| bytes(length)).collect();
            Datatype::array(&shape?, &datatype_in(element, forms)?)
        }
        _ => return Err(wide()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_from_text() {
        assert_eq!(selection("none"), Some(Selection::None));
        assert_eq!(selection("all"), Some(Selection::All));
        assert_eq!(selection("(0,1)(2,3)"), Some(Selection::Points(vec![vec![0, 1], vec![2, 3]])));
        let blocks = vec![(vec![0, 0], vec![2, 3]), (vec![5, 5], vec![5, 6])];
        assert_eq!(selection("(0,0)-(2,3)(5,5)-(5,6)"), Some(Selection::Blocks(blocks)));
        assert_eq!(selection("(7)-(9)"), Some(Selection::Blocks(vec![(vec![7], vec![9])])));
        for wrong in ["(", "()", "(1,)", "(1)-", "(1)-(2)(3)", "(1)(2)-(3)", "1,2", "some"] {
            assert_eq!(selection(wrong), None, "{wrong}");
        }
    }
}
