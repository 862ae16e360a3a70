//! Gives elements with text a fixed size: each text gets the width of the longest text in the same position.

use npy::{DType, Kind};
use sciformats_core::arith::{add, mul};
use sciformats_core::{Error, bound};

use super::Times;
use super::encode::{is_text, longer, with_texts};
use crate::parts::{Part, each};
use sciformats::Result;
use sciformats::model::{ArrayInfo, ElementType, TextForm};

/// Converts elements with text to NumPy's form, in which every element has the same size. All elements are
/// examined once to find the widths of their texts, and then converted piece by piece.
///
/// A text has the type `U`. A text in a compound has the type `S` if all texts in its position are ASCII. If
/// a text is not UTF-8, all texts in its position have the type `S`.
///
/// ```
/// use sciformats::memory::texts;
/// use sciformats_convert::numpy::Fixed;
/// use sciformats::{ElementType, File};
///
/// let names = texts(&[2], &["Vega", "Altair"]).bytes;
/// let mut fixed = Fixed::new(&ElementType::Text);
/// fixed.look(&names)?;
/// let mut file = npy::Header::new(fixed.dtype()?, [2]).to_bytes()?;
/// fixed.encode(&names, &mut file)?;
/// assert_eq!(fixed.dtype()?.to_string(), "'<U6'");
/// assert_eq!(File::from_bytes(file)?.array("/")?.read::<String>()?, ["Vega", "Altair"]);
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fixed {
    element: ElementType,
    places: Vec<Width>,
    times: Option<Times>,
}

/// What the texts in one position need.
#[derive(Clone, Copy, Debug)]
struct Width {
    bytes: usize,
    characters: usize,
    ascii: bool,
    utf8: bool,
    /// How the source stores the texts.
    form: TextForm,
}

impl Default for Width {
    fn default() -> Self {
        Self { bytes: 0, characters: 0, ascii: true, utf8: true, form: TextForm::Variable }
    }
}

impl Width {
    /// Returns the width of texts that a file stores in this form. No text in memory is longer than the bounds.
    fn of(form: TextForm) -> Self {
        let width = Self { form, ..Self::default() };
        match form {
            TextForm::Variable => width,
            TextForm::Bytes(size) => Self { bytes: bound::addressable(size), ..width },
            TextForm::Characters(count) => Self { characters: bound::addressable(count), ..width },
        }
    }

    fn see(&mut self, text: &[u8]) {
        self.bytes = self.bytes.max(text.len());
        self.ascii &= text.is_ascii();
        match std::str::from_utf8(text) {
            Ok(text) => self.characters = self.characters.max(text.chars().count()),
            Err(_) => self.utf8 = false,
        }
    }

    /// Returns whether the texts are stored as bytes.
    fn in_bytes(&self, alone: bool) -> bool {
        match self.form {
            TextForm::Variable => !self.utf8 || self.ascii && !alone,
            TextForm::Bytes(_) => true,
            TextForm::Characters(_) => !self.utf8,
        }
    }
}

impl Fixed {
    /// Prepares the conversion of elements of this type.
    pub fn new(element: &ElementType) -> Self {
        Self { element: element.clone(), places: Vec::new(), times: None }
    }

    /// Gives the texts at least the widths that they have in their source. Texts that the source stores as bytes have the type
    /// `S`, whatever the bytes mean, and texts that it stores as characters have the type `U`.
    #[must_use]
    pub fn with_texts(self, forms: &[TextForm]) -> Self {
        Self { places: forms.iter().copied().map(Width::of).collect(), ..self }
    }

    /// Makes those integers dates and time spans that are so in the source.
    ///
    /// ```
    /// use sciformats::{ArrayInfo, ElementType};
    /// use sciformats_convert::numpy::Fixed;
    ///
    /// let mut info = ArrayInfo::new(ElementType::Int(8), [2]);
    /// info.facts.push(("dtype", "<M8[ns]".into()));
    /// assert_eq!(Fixed::new(&info.element).with_times(&info).dtype()?.to_string(), "'<M8[ns]'");
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    #[must_use]
    pub fn with_times(self, source: &ArrayInfo) -> Self {
        Self { times: Times::of(source), ..self }
    }

    /// Returns whether the elements contain no text and therefore need no conversion.
    pub fn is_as_is(&self) -> bool {
        self.element.size().is_some()
    }

    /// Examines the widths of the texts in these elements.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for bytes that end inside an element, and for elements with sequences of any length;
    /// [`Error::Unsupported`] for a text that ends with NUL, which NumPy takes for padding.
    pub fn look(&mut self, bytes: &[u8]) -> Result<()> {
        let Self { element, places, .. } = self;
        each(element, bytes, &is_text, &mut |part, at| {
            if at >= places.len() {
                places.resize(add(at, 1)?, Width::default());
            }
            if let (Part::Text(text), Some(width)) = (part, places.get_mut(at)) {
                if text.ends_with(b"\0") {
                    return Err(Error::unsupported("a text that ends with NUL, in an array of NumPy"));
                }
                width.see(text);
            }
            Ok(())
        })
    }

    /// Returns the type for the header.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for elements with sequences of any length.
    pub fn dtype(&self) -> Result<DType> {
        let alone = is_text(&self.element);
        let least = usize::from(!alone);
        let mut at = 0usize;
        let mut texts = std::iter::from_fn(|| {
            let width = self.places.get(at).copied().unwrap_or_default();
            at = bound::sum(at, 1); // there are as many as texts in an element
            Some(match width.in_bytes(alone) {
                true => DType::scalar(Kind::Bytes, width.bytes.max(least) as u64),
                // No text in memory is as long as the bound.
                false => DType::scalar(Kind::Text, bound::product(width.characters.max(least) as u64, 4)),
            })
        });
        let mut dtype = with_texts(&self.element, &mut texts)?;
        if let Some(times) = &self.times {
            times.give(&mut dtype);
        }
        Ok(dtype)
    }

    /// Appends the elements in the form that [`dtype`](Self::dtype) names. Their texts must have been
    /// [examined](Self::look) before.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for bytes that end inside an element, for elements with sequences of any length, and for a text that is
    /// longer than those that were examined.
    pub fn encode(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let alone = is_text(&self.element);
        let least = usize::from(!alone);
        each(&self.element, bytes, &is_text, &mut |part, at| {
            match part {
                Part::Bytes(bytes) => out.extend_from_slice(bytes),
                Part::Text(text) => {
                    let width = self.places.get(at).copied().unwrap_or_default();
                    let start = out.len();
                    let size = if width.in_bytes(alone) {
                        out.extend_from_slice(text);
                        width.bytes.max(least)
                    } else {
                        let text = String::from_utf8_lossy(text);
                        out.extend(text.chars().flat_map(|c| u32::from(c).to_le_bytes()));
                        mul(width.characters.max(least), 4)?
                    };
                    let end = add(start, size)?;
                    if out.len() > end {
                        return Err(longer());
                    }
                    out.resize(end, 0);
                }
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sciformats::File;

    #[test]
    fn every_place_has_its_own_width() {
        use ElementType as T;
        let pair = T::Array { element: Box::new(T::Text), shape: vec![2] };
        let inner = T::Compound(vec![("p".into(), pair), ("q".into(), T::Text)]);
        let fields = vec![("a".into(), T::Text), ("n".into(), T::UInt(1)), ("i".into(), inner)];
        let element = T::Compound(fields);
        let text = |text: &[u8]| [&(text.len() as u64).to_le_bytes()[..], text].concat();
        let row = |a: &str, n: u8, p: &[u8], q: &str| {
            [text(a.as_bytes()), vec![n], text(p), text(b""), text(q.as_bytes())].concat()
        };
        let bytes = [row("\u{b5}", 7, b"xyz", ""), row("", 8, b"\xff", "")].concat();
        let mut fixed = Fixed::new(&element);
        fixed.look(&bytes).unwrap();
        let dtype = fixed.dtype().unwrap();
        assert_eq!(
            dtype.to_string(),
            "[('a', '<U1'), ('n', '|u1'), ('i', [('p', '|S3', (2,)), ('q', '|S1')])]"
        );
        let mut file = npy::Header::new(dtype, [2]).to_bytes().unwrap();
        let before = file.len();
        fixed.encode(&bytes, &mut file).unwrap();
        assert_eq!(file.len() - before, 2 * (4 + 1 + 2 * 3 + 1));
        let array = File::from_bytes(file).unwrap();
        let array = array.array("/").unwrap();
        assert_eq!(*array.element(), element);
        assert_eq!(array.bytes(&array.all().unwrap()).unwrap(), bytes);
    }

    #[test]
    fn bytes_stay_bytes() {
        let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
        let bytes = [text("\u{b5}m"), text("K")].concat();
        for (form, dtype) in [(TextForm::Bytes(16), "'|S16'"), (TextForm::Characters(16), "'<U16'")] {
            let mut fixed = Fixed::new(&ElementType::Text).with_texts(&[form]);
            fixed.look(&bytes).unwrap();
            assert_eq!(fixed.dtype().unwrap().to_string(), dtype);
            let mut file = npy::Header::new(fixed.dtype().unwrap(), [2]).to_bytes().unwrap();
            fixed.encode(&bytes, &mut file).unwrap();
            let array = File::from_bytes(file).unwrap();
            let array = array.array("/").unwrap();
            assert_eq!(array.info().texts.as_deref(), Some(&[form][..]));
            assert_eq!(array.bytes(&array.all().unwrap()).unwrap(), bytes);
        }
    }

    #[test]
    fn a_text_that_would_not_come_back_is_refused() {
        let text = |text: &[u8]| [&(text.len() as u64).to_le_bytes()[..], text].concat();
        let mut fixed = Fixed::new(&ElementType::Text);
        assert!(matches!(fixed.look(&text(b"a\0")), Err(Error::Unsupported { .. })));
        fixed.look(&text(b"\xff\xfe")).unwrap();
        assert!(matches!(fixed.encode(&text(b"abc"), &mut Vec::new()), Err(Error::Usage { .. })));
        assert_eq!(fixed.dtype().unwrap().to_string(), "'|S2'");
        assert!(Fixed::new(&ElementType::Vlen(Box::new(ElementType::F32))).dtype().is_err());
    }
}
