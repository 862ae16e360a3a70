//! Columns of a table as elements that are not decoded yet, for libraries that decode them into memory of their
//! own.

#[cfg(feature = "hdf5")]
mod hdf5;
mod layout;

use std::sync::Arc;

use sciformats::{ElementType, Error, Result};

pub(crate) use self::layout::Layout;

use crate::decoding::Decoding;
use crate::table::Records;
use crate::values::Values;

/// The elements of a column in some rows, before they are decoded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Undecoded {
    /// Elements in canonical bytes, and how they become values.
    Stored {
        /// The type of the elements.
        element: ElementType,
        /// The canonical bytes of all elements.
        bytes: Vec<u8>,
        /// How they become values.
        decoding: Decoding,
        /// For each element whether it is missing; `None` if no element is marked.
        missing: Option<Vec<bool>>,
    },
    /// Texts with the same number of bytes each, which are padded.
    Padded {
        /// The number of bytes of each text.
        size: usize,
        /// How texts are padded.
        padding: TextPadding,
        /// The bytes of all texts.
        bytes: Vec<u8>,
        /// How they become values.
        decoding: Decoding,
    },
    /// Values that are decoded already.
    Decoded(Values),
    /// Values of which each can be that of any number of rows.
    Spread {
        /// The values.
        of: Box<Undecoded>,
        /// For each row the place of its value.
        places: Vec<usize>,
    },
}

impl Undecoded {
    /// Returns the decoded values.
    pub(crate) fn values(self) -> Result<Values> {
        match self {
            Self::Stored { element, bytes, decoding, missing } => {
                let values = decoding.decode(&element, bytes)?;
                missing.map_or(Ok(values.clone()), |missing| values.without(&missing))
            }
            Self::Padded { size, padding, bytes, decoding } => {
                let mut texts = Vec::new();
                for text in bytes.chunks_exact(size.max(1)) {
                    // The bytes need not be UTF-8.
                    let text = padding.without(text);
                    texts.extend((text.len() as u64).to_le_bytes());
                    texts.extend(text);
                }
                decoding.decode(&ElementType::Text, texts)
            }
            Self::Decoded(values) => Ok(values),
            Self::Spread { of, places } => of.values()?.at(&places),
        }
    }

    /// Appends the elements of the same column in the rows that follow.
    pub(crate) fn followed_by(self, next: Self) -> Result<Self> {
        Ok(match (self, next) {
            (
                Self::Stored { element, mut bytes, decoding, missing: None },
                Self::Stored { bytes: more, missing: None, .. },
            ) => {
                bytes.extend(more);
                Self::Stored { element, bytes, decoding, missing: None }
            }
            (Self::Decoded(values), Self::Decoded(more)) => Self::Decoded(values.followed_by(more)?),
            _ => return Err(Error::internal("parts of a column in different forms")),
        })
    }
}

/// What stands after a text that is shorter than its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextPadding {
    /// The text ends before the first zero.
    Terminated,
    /// Zeros at the end.
    Zeros,
    /// Spaces at the end.
    Spaces,
}

impl TextPadding {
    /// Returns a text without its padding.
    ///
    /// ```
    /// use sciformats_conventions::TextPadding;
    ///
    /// assert_eq!(TextPadding::Terminated.without(b"ab\0c"), b"ab");
    /// assert_eq!(TextPadding::Zeros.without(b"a\0b\0\0"), b"a\0b");
    /// assert_eq!(TextPadding::Spaces.without(b"a b  "), b"a b");
    /// ```
    pub fn without(self, bytes: &[u8]) -> &[u8] {
        let end = match self {
            Self::Terminated => bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()),
            Self::Zeros => bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1),
            Self::Spaces => bytes.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1),
        };
        bytes.get(..end).unwrap_or_default()
    }
}

/// Reads what several columns need of the same records: for each of them, its records, its field, one element of
/// it, and its decoding.
#[allow(clippy::type_complexity, reason = "the parts are named where they are used")]
pub(crate) fn of_records(
    wanted: &[Option<(&Arc<Records>, usize, Option<u64>, &Decoding)>],
    rows: (u64, u64),
) -> Result<Vec<Option<Undecoded>>> {
    let mut found: Vec<Option<Undecoded>> = wanted.iter().map(|_| None).collect();
    for at in 0..wanted.len() {
        let Some(Some((records, ..))) = wanted.get(at) else { continue };
        if found.get(at).is_some_and(Option::is_some) {
            continue;
        }
        let Some(layout) = records.layout() else { continue };
        // All columns of these records are read together, and only once.
        let first = wanted.iter().position(|of| of.is_some_and(|(of, ..)| Arc::ptr_eq(of, records)));
        if first != Some(at) {
            continue;
        }
        let mut places = Vec::new();
        let mut columns = Vec::new();
        for (column, of) in wanted.iter().enumerate() {
            let Some((of, field, inner, decoding)) = of.filter(|(of, ..)| Arc::ptr_eq(of, records)) else {
                continue;
            };
            debug_assert!(Arc::ptr_eq(of, records));
            if let Some(place) = layout.place(field, inner) {
                places.push(place);
                columns.push((column, decoding));
            }
        }
        if places.is_empty() {
            continue;
        }
        let read = layout.read(records, &places, rows)?;
        for ((bytes, place), (column, decoding)) in read.into_iter().zip(&places).zip(columns) {
            if let Some(slot) = found.get_mut(column) {
                let found = place.undecoded(bytes, decoding.clone());
                // Whoever takes bytes of texts takes them for UTF-8.
                let latin = matches!(decoding, Decoding::Latin1Text { .. });
                *slot = Some(if latin { Undecoded::Decoded(found.values()?) } else { found });
            }
        }
    }
    Ok(found)
}
