//! Gives elements with text a fixed size. Each text gets the width, in UCS-4, of the longest text in the same position. If the
//! source stores texts as bytes of a fixed number, and all of them are ASCII, they stay as they are.

use asdf_core::{Datatype, ScalarType};
use sciformats_core::arith::{add, mul, present};
use sciformats_core::bound;

use super::refused;
use crate::parts::{Part, each};
use sciformats::model::{ElementType, TextForm};
use sciformats::{Format, Result};

/// Converts elements in canonical bytes to this form, and returns their type.
pub(super) fn fixed(
    (element, forms): (&ElementType, &[TextForm]),
    bytes: &[u8],
) -> Result<(Datatype, Vec<u8>)> {
    let is_text = |element: &ElementType| *element == ElementType::Text;
    let mut widths: Vec<Width> = forms.iter().copied().map(Width::of).collect();
    each(element, bytes, &is_text, &mut |part, at| {
        if at == widths.len() {
            widths.push(Width::of(TextForm::Variable));
        }
        if let (Part::Text(text), Some(width)) = (part, widths.get_mut(at)) {
            width.see(unicode(text)?);
        }
        Ok(())
    })?;
    let mut out = Vec::new();
    each(element, bytes, &is_text, &mut |part, at| {
        match part {
            Part::Bytes(bytes) => out.extend_from_slice(bytes),
            Part::Text(text) => {
                let start = out.len();
                let width = present(widths.get(at), "the width of a text")?;
                let size = if width.is_ascii() {
                    out.extend_from_slice(text);
                    width.bytes
                } else {
                    out.extend(unicode(text)?.chars().flat_map(|c| u32::from(c).to_le_bytes()));
                    mul(width.characters, 4)?
                };
                out.resize(add(start, size)?, 0);
            }
        }
        Ok(())
    })?;
    let datatype = super::datatype(element, &mut widths.iter().map(Width::scalar))?;
    Ok((datatype, out))
}

/// What the texts in one position need.
struct Width {
    form: TextForm,
    bytes: usize,
    characters: usize,
    ascii: bool,
}

impl Width {
    /// Returns the width of texts that a file stores in this form. No text in memory is longer than the bounds.
    fn of(form: TextForm) -> Self {
        let (bytes, characters) = match form {
            TextForm::Variable => (1, 1),
            TextForm::Bytes(size) => (bound::addressable(size.max(1)), 1),
            TextForm::Characters(count) => (1, bound::addressable(count.max(1))),
        };
        Self { form, bytes, characters, ascii: true }
    }

    fn see(&mut self, text: &str) {
        self.bytes = self.bytes.max(text.len());
        self.characters = self.characters.max(text.chars().count());
        self.ascii &= text.is_ascii();
    }

    fn is_ascii(&self) -> bool {
        self.ascii && matches!(self.form, TextForm::Bytes(_))
    }

    fn scalar(&self) -> ScalarType {
        match self.is_ascii() {
            true => ScalarType::Ascii(self.bytes as u64),
            false => ScalarType::Ucs4(self.characters as u64),
        }
    }
}

/// Returns a text that is still the same without the NULs that fill its place.
pub(super) fn unicode(text: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(text).ok().filter(|text| !text.ends_with('\0'));
    text.ok_or_else(|| refused(Format::Asdf, "text that is not UTF-8 or ends with a NUL"))
}

#[cfg(test)]
mod tests {
    use asdf_core::{ByteOrder, Field, ScalarType};

    use super::*;

    #[test]
    fn every_field_has_its_own_width() {
        let pair = ElementType::Array { element: Box::new(ElementType::Text), shape: vec![2] };
        let fields =
            vec![("a".into(), ElementType::Text), ("n".into(), ElementType::UInt(1)), ("p".into(), pair)];
        let element = ElementType::Compound(fields);
        let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
        let row = |a: &str, n: u8, p: &str, q: &str| [text(a), vec![n], text(p), text(q)].concat();
        let bytes = [row("\u{b5}", 7, "", "xyz"), row("", 8, "q", "")].concat();
        let (datatype, fixed) = fixed((&element, &[]), &bytes).unwrap();
        let field = |name: &str, scalar: ScalarType| Field::new(name, scalar, ByteOrder::Little);
        let pair = Field { shape: vec![2], ..field("p", ScalarType::Ucs4(3)) };
        let expected = [field("a", ScalarType::Ucs4(1)), field("n", ScalarType::UInt8), pair];
        assert_eq!(datatype, Datatype::Struct(expected.into()));
        assert_eq!(fixed.len(), 2 * (4 + 1 + 2 * 12));
        assert_eq!(fixed[..5], [0xb5, 0, 0, 0, 7]);
        assert_eq!(fixed[17..21], [b'x', 0, 0, 0]);
    }

    #[test]
    fn a_text_that_would_not_come_back_is_refused() {
        let element = ElementType::Compound(vec![("a".into(), ElementType::Text)]);
        for text in [&b"\xff"[..], b"a\0"] {
            let bytes = [&(text.len() as u64).to_le_bytes()[..], text].concat();
            let error = fixed((&element, &[]), &bytes).unwrap_err().to_string();
            assert!(error.contains("not UTF-8 or ends with a NUL"), "{error}");
        }
    }
}
