//! The elements of an array of texts.

use sciformats_core::arith::{fit, sub};
use sciformats_core::{Error, Misfit, Result, bound};

use super::Array;
use crate::model::datatype::ScalarType;

impl Array<'_> {
    /// Reads the elements of an array of texts, without the zeros at their ends.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, NewArray};
    ///
    /// let mut document = Document::new();
    /// document.set_array("stars", NewArray::from_strings(&["Vega", "Deneb", "Altair"], &[3])?)?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.array("stars")?.read_strings()?, ["Vega", "Deneb", "Altair"]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the array has another type; `Misfit` with the index of the element, and the byte in it, if bytes are not text;
    /// and those of [`read_bytes`](Self::read_bytes).
    pub fn read_strings(&self) -> Result<Vec<String>> {
        let scalar = self.description.datatype.scalar();
        let Some(scalar @ (ScalarType::Ascii(_) | ScalarType::Ucs4(_))) = scalar else {
            return Err(Error::usage("element type", "must be ascii or ucs4 to read texts"));
        };
        let size: usize = fit(self.element_size()?, "bytes of a text")?;
        if size == 0 {
            let count = self.file.options.limits.items("texts", self.len())?;
            return Ok(vec![String::new(); count]);
        }
        let bytes = self.read_bytes()?;
        let elements = (0..).zip(bytes.chunks_exact(size));
        elements.map(|(index, element)| text(scalar, index, element)).collect()
    }
}

/// Returns the text of element `index`, without the zeros at its end.
///
/// # Errors
/// `Misfit` if it is not text, with the first byte that is not UTF-8, or the code that is not a character.
pub(crate) fn text(scalar: ScalarType, index: u64, element: &[u8]) -> Result<String> {
    let ScalarType::Ucs4(_) = scalar else {
        let zeros = element.iter().rev().take_while(|&&b| b == 0).count();
        let text = element.get(..sub(element.len(), zeros)?).unwrap_or(element);
        let text = std::str::from_utf8(text).map_err(|_| Error::Misfit(Misfit::text(index, text)))?;
        return Ok(text.to_owned());
    };
    let codes = element.as_chunks::<4>().0;
    let zeros = codes.iter().rev().take_while(|&&code| code == [0; 4]).count();
    let characters = (0u64..).zip(codes).take(sub(codes.len(), zeros)?).map(|(place, code)| {
        let code = u32::from_le_bytes(*code);
        char::from_u32(code).ok_or_else(|| {
            let byte = bound::product(place, 4); // a position in a message
            let value = format!("text with the code {code:#x} at its byte {byte}");
            Error::Misfit(Misfit::new(index, &value, "String"))
        })
    });
    characters.collect()
}
