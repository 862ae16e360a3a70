//! Decoded elements.

use std::sync::Arc;

use sciformats::{Datum, Decoder, ElementType, Error, Result};
use sciformats_core::bound;

use crate::time::DateTime;

/// Names of categories, which elements share.
pub type Names = Arc<[String]>;

/// Elements as their convention defines them, in C order.
///
/// ```
/// use sciformats_conventions::Values;
///
/// let names = Values::Text(vec![Some("north".into()), None]);
/// assert_eq!((names.len()?, names.cells()?), (2, vec![Some("north".into()), None]));
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Elements of any type in canonical bytes. Missing numbers are NaN, or are marked if their type has no
    /// NaN.
    Plain {
        /// The type of the elements.
        element: ElementType,
        /// The canonical bytes; see [`ElementType`].
        bytes: Vec<u8>,
        /// For each element whether it is missing; `None` if no element is marked.
        missing: Option<Vec<bool>>,
    },
    /// Texts; `None` means a missing one.
    Text(Vec<Option<String>>),
    /// Dates; `None` means a missing one.
    Times(Vec<Option<DateTime>>),
    /// Names that are stored once, and the index of its name for each element; `None` means a missing one.
    Categories {
        /// Indices into `names`.
        codes: Vec<Option<usize>>,
        /// The names.
        names: Arc<[String]>,
        /// Whether their order has a meaning.
        ordered: bool,
    },
}

/// Appends the canonical bytes of a text.
pub(crate) fn push_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

/// Fails for an integer that no binary64 is equal to.
fn exact(datum: &Datum<'_>) -> Result<()> {
    match (datum, datum.to_i128()) {
        (Datum::Float(..), _) | (_, None) => Ok(()),
        (_, Some(integer)) if integer as f64 as i128 == integer => Ok(()),
        (_, Some(integer)) => Err(Error::unsupported(format!(
            "the integer {integer} beside missing values (no binary64 equals it)"
        ))),
    }
}

/// Replaces the elements for which `missing` is true.
fn with_nan(element: ElementType, mut bytes: Vec<u8>, nan: &[u8], missing: &[bool]) -> Values {
    for (place, missing) in bytes.chunks_exact_mut(nan.len()).zip(missing) {
        if *missing {
            place.copy_from_slice(nan);
        }
    }
    Values::plain(element, bytes)
}

impl Values {
    /// Creates elements from their canonical bytes, without missing ones.
    pub fn plain(element: ElementType, bytes: Vec<u8>) -> Self {
        Self::Plain { element, bytes, missing: None }
    }

    /// Returns the type of values of which some are missing: floats and complex numbers have NaN, other numbers
    /// become floats, and anything else becomes texts.
    pub(crate) fn with_missing(element: ElementType) -> ElementType {
        match element {
            ElementType::F32 | ElementType::F64 | ElementType::Complex(8 | 16) => element,
            other if other.is_real() => ElementType::F64,
            _ => ElementType::Text,
        }
    }

    /// Returns the values without those for which `missing` is true.
    ///
    /// # Errors
    ///
    /// As [`cells`](Self::cells).
    pub(crate) fn without(self, missing: &[bool]) -> Result<Self> {
        let kept = |at: usize| !missing.get(at).copied().unwrap_or(false);
        Ok(match self {
            Self::Plain { element: ElementType::F32, bytes, .. } => {
                with_nan(ElementType::F32, bytes, &f32::NAN.to_le_bytes(), missing)
            }
            Self::Plain { element: ElementType::F64, bytes, .. } => {
                with_nan(ElementType::F64, bytes, &f64::NAN.to_le_bytes(), missing)
            }
            Self::Plain { element: ElementType::Complex(8), bytes, .. } => {
                with_nan(ElementType::Complex(8), bytes, &[f32::NAN.to_le_bytes(); 2].concat(), missing)
            }
            Self::Plain { element: ElementType::Complex(16), bytes, .. } => {
                with_nan(ElementType::Complex(16), bytes, &[f64::NAN.to_le_bytes(); 2].concat(), missing)
            }
            Self::Plain { element, bytes, .. } if element.is_real() => {
                Self::Plain { element, bytes, missing: Some(missing.to_vec()) }
            }
            Self::Times(times) => Self::Times(
                times.into_iter().enumerate().map(|(at, time)| time.filter(|_| kept(at))).collect(),
            ),
            Self::Categories { codes, names, ordered } => {
                let codes = codes.into_iter().enumerate().map(|(at, code)| code.filter(|_| kept(at)));
                Self::Categories { codes: codes.collect(), names, ordered }
            }
            other => {
                let cells = other.cells()?.into_iter().enumerate();
                Self::Text(cells.map(|(at, cell)| cell.filter(|_| kept(at))).collect())
            }
        })
    }

    /// Returns the elements at some places, in the order of the places.
    pub(crate) fn at(&self, places: &[usize]) -> Result<Self> {
        fn of<T: Clone>(all: &[T], places: &[usize]) -> Result<Vec<T>> {
            let beyond = || Error::internal("a place beyond the values");
            places.iter().map(|&place| all.get(place).cloned().ok_or_else(beyond)).collect()
        }
        Ok(match self {
            Self::Plain { element, bytes, missing } => {
                let parts = crate::fields::split(element, bytes)?;
                let bytes = of(&parts, places)?.concat();
                let missing = missing.as_ref().map(|missing| of(missing, places)).transpose()?;
                Self::Plain { element: element.clone(), bytes, missing }
            }
            Self::Text(texts) => Self::Text(of(texts, places)?),
            Self::Times(times) => Self::Times(of(times, places)?),
            Self::Categories { codes, names, ordered } => {
                Self::Categories { codes: of(codes, places)?, names: Arc::clone(names), ordered: *ordered }
            }
        })
    }

    /// Appends values of the same kind.
    pub(crate) fn followed_by(self, next: Self) -> Result<Self> {
        Ok(match (self, next) {
            (
                Self::Plain { element, mut bytes, missing },
                Self::Plain { bytes: more, missing: other, .. },
            ) => {
                bytes.extend(more);
                let missing = match (missing, other) {
                    (None, None) => None,
                    (Some(mut missing), Some(other)) => {
                        missing.extend(other);
                        Some(missing)
                    }
                    _ => {
                        return Err(Error::internal(
                            "parts of a column of which only some have missing values",
                        ));
                    }
                };
                Self::Plain { element, bytes, missing }
            }
            (Self::Text(mut texts), Self::Text(more)) => {
                texts.extend(more);
                Self::Text(texts)
            }
            (Self::Times(mut times), Self::Times(more)) => {
                times.extend(more);
                Self::Times(times)
            }
            (Self::Categories { mut codes, names, ordered }, Self::Categories { codes: more, .. }) => {
                codes.extend(more);
                Self::Categories { codes, names, ordered }
            }
            _ => return Err(Error::internal("parts of a column in different forms")),
        })
    }

    /// Returns the number of elements.
    ///
    /// # Errors
    ///
    /// An error if canonical bytes end inside an element.
    pub fn len(&self) -> Result<usize> {
        match self {
            Self::Plain { element, bytes, .. } => {
                match element.size().and_then(|size| usize::try_from(size).ok()) {
                    Some(size) if size > 0 => Ok(bytes.len() / size),
                    _ => Decoder::new(element, bytes)
                        .try_fold(0usize, |count, datum| datum.map(|_| bound::sum(count, 1))),
                }
            }
            Self::Text(texts) => Ok(texts.len()),
            Self::Times(times) => Ok(times.len()),
            Self::Categories { codes, .. } => Ok(codes.len()),
        }
    }

    /// Returns whether there are no elements.
    ///
    /// # Errors
    ///
    /// As [`len`](Self::len).
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Returns the elements as numbers; missing ones are NaN.
    ///
    /// ```
    /// use sciformats::ElementType;
    /// use sciformats_conventions::Values;
    ///
    /// let values = Values::plain(ElementType::Int(1), vec![3, 255]);
    /// assert_eq!(values.numbers()?, [3.0, -1.0]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if they are not real numbers.
    pub fn numbers(&self) -> Result<Vec<f64>> {
        let wrong = |what: &str| Error::usage("values", format!("are {what}, not numbers"));
        match self {
            Self::Plain { element, bytes, missing } => {
                let mut numbers = Vec::new();
                for datum in Decoder::new(element, bytes) {
                    numbers.push(datum?.to_f64().ok_or_else(|| wrong(&element.to_string()))?);
                }
                for (number, _) in
                    numbers.iter_mut().zip(missing.iter().flatten()).filter(|(_, missing)| **missing)
                {
                    *number = f64::NAN;
                }
                Ok(numbers)
            }
            Self::Text(_) => Err(wrong("texts")),
            Self::Times(_) => Err(wrong("moments")),
            Self::Categories { .. } => Err(wrong("categories")),
        }
    }

    /// Returns the index of its name for each element, where `None` means a missing one, and the names.
    ///
    /// ```
    /// use sciformats_conventions::Values;
    ///
    /// let kinds = Values::Categories { codes: vec![Some(0), None], names: ["T cell".into()].into(), ordered: false };
    /// let (codes, names) = kinds.into_categories()?;
    /// assert_eq!((codes, &names[..]), (vec![Some(0), None], &["T cell".to_owned()][..]));
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if they are not categories.
    pub fn into_categories(self) -> Result<(Vec<Option<usize>>, Names)> {
        let kind = match self {
            Self::Categories { codes, names, .. } => return Ok((codes, names)),
            Self::Plain { element, .. } => element.to_string(),
            Self::Text(_) => "texts".to_owned(),
            Self::Times(_) => "moments".to_owned(),
        };
        Err(Error::usage("values", format!("are {kind}, not categories")))
    }

    /// Formats each element for people; `None` means a missing one.
    ///
    /// # Errors
    ///
    /// An error if canonical bytes end inside an element.
    pub fn cells(&self) -> Result<Vec<Option<String>>> {
        Ok(match self {
            Self::Plain { element, bytes, missing } => {
                let mut cells = Vec::new();
                for (at, datum) in Decoder::new(element, bytes).enumerate() {
                    let datum = datum?;
                    let marked =
                        missing.as_ref().and_then(|missing| missing.get(at)).is_some_and(|&missing| missing);
                    let nan = matches!(datum, Datum::Float(value, _) if value.is_nan());
                    cells.push((!marked && !nan).then(|| datum.to_string()));
                }
                cells
            }
            Self::Text(texts) => texts.clone(),
            Self::Times(times) => times.iter().map(|time| time.map(|time| time.to_string())).collect(),
            Self::Categories { codes, names, .. } => {
                let name = |code: &Option<usize>| code.and_then(|code| names.get(code).cloned());
                codes.iter().map(name).collect()
            }
        })
    }

    /// Returns an element type and canonical bytes. Dates and categories become texts, and missing texts are
    /// empty. If some numbers are marked as missing, all of them become binary64, with NaN for the missing
    /// ones.
    ///
    /// # Errors
    ///
    /// As [`cells`](Self::cells); `Unsupported` if some numbers are marked as missing, and another one is an integer that is
    /// no binary64.
    pub fn into_canonical(self) -> Result<(ElementType, Vec<u8>)> {
        match self {
            Self::Plain { element, bytes, missing: None } => Ok((element, bytes)),
            Self::Plain { ref element, ref bytes, .. } if element.is_real() => {
                for datum in Decoder::new(element, bytes) {
                    exact(&datum?)?;
                }
                Ok((ElementType::F64, self.numbers()?.into_iter().flat_map(f64::to_le_bytes).collect()))
            }
            other => {
                let mut bytes = Vec::new();
                for cell in other.cells()? {
                    push_text(&mut bytes, cell.as_deref().unwrap_or_default());
                }
                Ok((ElementType::Text, bytes))
            }
        }
    }
}
