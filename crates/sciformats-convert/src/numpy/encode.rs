//! Converts types and texts to those of NumPy.

use npy::{DType, Field, Kind};
use sciformats_core::Error;

use sciformats::Result;
use sciformats::model::{Datum, Decoder, ElementType};

/// Returns the NumPy type of elements whose canonical bytes are those of NumPy. Types that NumPy lacks become
/// bytes (`V`).
///
/// ```
/// use sciformats::ElementType;
/// use sciformats_convert::numpy::dtype;
///
/// let star = ElementType::Compound(vec![("id".into(), ElementType::UInt(4)), ("flux".into(), ElementType::F64)]);
/// assert_eq!(dtype(&star)?.to_string(), "[('id', '<u4'), ('flux', '<f8')]");
/// assert!(dtype(&ElementType::Text).is_err());
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Usage`] for a type whose elements differ in size. For text, see [`ucs4`].
pub fn dtype(element: &ElementType) -> Result<DType> {
    with_texts(element, &mut std::iter::empty())
}

/// Does the same as [`dtype`]; `texts` gives the types of the texts in an element, in order.
pub(super) fn with_texts(element: &ElementType, texts: &mut dyn Iterator<Item = DType>) -> Result<DType> {
    use ElementType as T;
    let scalar = |kind, size: u64| Ok(DType::scalar(kind, size));
    match element {
        T::Int(size @ (1 | 2 | 4 | 8)) => scalar(Kind::Int, (*size).into()),
        T::UInt(size @ (1 | 2 | 4 | 8)) => scalar(Kind::UInt, (*size).into()),
        T::F16 => scalar(Kind::Float, 2),
        T::F32 => scalar(Kind::Float, 4),
        T::F64 | T::FloatOther => scalar(Kind::Float, 8),
        T::Complex(size @ (8 | 16)) => scalar(Kind::Complex, (*size).into()),
        T::Bool => scalar(Kind::Bool, 1),
        T::Bits(size @ (1 | 2 | 4 | 8)) | T::Time(size @ (1 | 2 | 4 | 8)) => scalar(Kind::UInt, *size),
        T::Enum { base, .. } => with_texts(base, texts),
        T::Compound(fields) => {
            let fields =
                fields.iter().map(|(name, field)| Ok(Field::new(name.to_utf8(), with_texts(field, texts)?)));
            fields.collect::<Result<_>>().map(DType::Record)
        }
        T::Array { .. } => {
            let (item, shape) = flat(element, &[]);
            Ok(DType::Array { item: Box::new(with_texts(item, texts)?), shape })
        }
        // Types that NumPy lacks become bytes.
        other => match other.size() {
            Some(size) => scalar(Kind::Void, size),
            None => {
                let text = if is_text(other) { texts.next() } else { None };
                text.ok_or_else(|| {
                    Error::usage("format", format!("npy cannot hold elements of type {other}"))
                })
            }
        },
    }
}

/// Returns whether elements are text of any length.
pub(crate) fn is_text(element: &ElementType) -> bool {
    matches!(element, ElementType::Text | ElementType::Reference | ElementType::Region)
}

/// Returns the type and the shape without elements that are arrays themselves, whose dimensions become
/// further dimensions of the array.
///
/// ```
/// use sciformats::ElementType;
/// use sciformats_convert::numpy;
///
/// let vector = ElementType::Array { element: Box::new(ElementType::F32), shape: vec![3] };
/// assert_eq!(numpy::flat(&vector, &[10]), (&ElementType::F32, vec![10, 3]));
/// ```
pub fn flat<'a>(mut element: &'a ElementType, shape: &[u64]) -> (&'a ElementType, Vec<u64>) {
    let mut shape = shape.to_vec();
    while let ElementType::Array { element: inner, shape: further } = element {
        shape.extend(further);
        element = inner;
    }
    (element, shape)
}

/// Returns the number of characters of the longest text in canonical bytes.
///
/// ```
/// use sciformats::memory::texts;
/// use sciformats_convert::numpy::longest;
///
/// assert_eq!(longest(&texts(&[2], &["Vega", "Altair"]).bytes)?, 6);
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Usage`] for bytes that end inside a text; [`Error::Unsupported`] for a text that NumPy cannot
/// hold as code points, which is one that is not UTF-8, or that ends with a NUL, which NumPy takes for
/// padding.
pub fn longest(bytes: &[u8]) -> Result<usize> {
    let mut longest = 0;
    for datum in Decoder::new(&ElementType::Text, bytes) {
        longest = longest.max(characters(&datum?)?.chars().count());
    }
    Ok(longest)
}

/// Converts texts in canonical bytes to code points, with `width` code points per text.
///
/// ```
/// use sciformats::memory::texts;
/// use sciformats_convert::numpy;
///
/// let names = texts(&[2], &["Vega", "Altair"]).bytes;
/// let width = numpy::longest(&names)?;
/// let mut file = npy::Header::new(npy::DType::parse(&format!("'<U{width}'"))?, [2]).to_bytes()?;
/// file.extend(numpy::ucs4(&names, width)?);
/// assert_eq!(file.len(), 128 + 2 * 6 * 4);
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
///
/// Those of [`longest`]; [`Error::Usage`] for a text that is longer.
pub fn ucs4(bytes: &[u8], width: usize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for datum in Decoder::new(&ElementType::Text, bytes) {
        let datum = datum?;
        let text = characters(&datum)?;
        if text.chars().count() > width {
            return Err(longer());
        }
        let codes = text.chars().map(u32::from).chain(std::iter::repeat(0));
        out.extend(codes.take(width).flat_map(u32::to_le_bytes));
    }
    Ok(out)
}

/// The error for a text that has no room, because it was not examined before.
pub(super) fn longer() -> Error {
    Error::usage("text", "is longer than the place for it")
}

fn characters<'a>(datum: &'a Datum<'_>) -> Result<&'a str> {
    let Datum::Text(bytes) = datum else { return Err(Error::usage("element", "not a text")) };
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.ends_with('\0') => Ok(text),
        Ok(_) => Err(Error::unsupported("a text that ends with NUL, in an array of NumPy")),
        Err(_) => Err(Error::unsupported("a text that is not UTF-8, in an array of NumPy")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_would_not_come_back_is_refused() {
        let canonical = |text: &[u8]| [&(text.len() as u64).to_le_bytes()[..], text].concat();
        assert_eq!(longest(&canonical("aµ".as_bytes())).unwrap(), 2);
        assert_eq!(ucs4(&canonical("µ".as_bytes()), 2).unwrap(), [0xb5, 0, 0, 0, 0, 0, 0, 0]);
        for text in [&b"\xff"[..], b"a\0"] {
            assert!(matches!(longest(&canonical(text)), Err(Error::Unsupported { .. })));
            assert!(matches!(ucs4(&canonical(text), 4), Err(Error::Unsupported { .. })));
        }
    }

    #[test]
    fn types_of_numpy() {
        let field = |name: &str, element: ElementType| (name.into(), element);
        let array = ElementType::Array { element: Box::new(ElementType::F32), shape: vec![3] };
        let compound =
            ElementType::Compound(vec![field("a'b", ElementType::Int(8)), field("v", array.clone())]);
        assert_eq!(dtype(&compound).unwrap().to_string(), r"[('a\'b', '<i8'), ('v', '<f4', (3,))]");
        assert_eq!(dtype(&array).unwrap().to_string(), "[('f0', '<f4', (3,))]");
        assert_eq!(dtype(&ElementType::Int(16)).unwrap().to_string(), "'|V16'");
        assert_eq!(dtype(&ElementType::BF16).unwrap().to_string(), "'|V2'");
        assert_eq!(dtype(&ElementType::Bits(1)).unwrap().to_string(), "'|u1'");
        assert!(dtype(&ElementType::Vlen(Box::new(ElementType::F32))).is_err());
    }

    #[test]
    fn texts_of_one_width() {
        let bytes = sciformats::memory::texts(&[2], &["aµ", ""]).bytes;
        assert_eq!(longest(&bytes).unwrap(), 2);
        assert_eq!(ucs4(&bytes, 2).unwrap(), b"a\0\0\0\xb5\0\0\0\0\0\0\0\0\0\0\0");
        assert!(matches!(ucs4(&bytes, 1), Err(Error::Usage { .. })));
    }
}
