//! Values that a type cannot hold.

use std::fmt;

use crate::error::Place;
use crate::{Error, bound};

/// An element that the requested type cannot hold without changing its value.
///
/// ```
/// use sciformats_core::{Blame, Error, Misfit};
///
/// let error = Error::Misfit(Misfit::new(2, &0.5, "u8"));
/// assert_eq!(error.to_string(), "element 2 is 0.5, which u8 cannot hold");
/// assert_eq!(error.blame(), Blame::Caller); // who can ask for another type
/// let error = Error::Misfit(Misfit::text(0, b"caf\xe9"));
/// assert_eq!(error.to_string(), r#"element 0 is "caf\xe9", which is not UTF-8 from its byte 3 on"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Misfit {
    /// The number of the element among the requested elements, in the order in which they would have been returned.
    pub index: u64,
    /// The value of the element. For long text, only the bytes around the fault.
    pub value: Box<str>,
    /// The name of the requested type.
    pub wanted: &'static str,
    /// The position in the element of the first byte that is not valid, for text that is not UTF-8.
    pub byte: Option<u64>,
    /// The file and the object, if they are known.
    pub place: Place,
}

impl Misfit {
    /// Creates the misfit of a number.
    pub fn new(index: u64, value: &dyn fmt::Display, wanted: &'static str) -> Self {
        Self { index, value: value.to_string().into(), wanted, byte: None, place: Place::default() }
    }

    /// Creates the misfit of text that is not UTF-8.
    pub fn text(index: u64, bytes: &[u8]) -> Self {
        /// The number of bytes before and after the fault that are shown.
        const AROUND: usize = 24;
        let at = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), |_| bytes.len());
        let (start, end) = (bound::left(at, AROUND), bound::sum(at, AROUND).min(bytes.len()));
        let [before, after] = [start > 0, end < bytes.len()].map(|cut| if cut { "…" } else { "" });
        let shown = bytes.get(start..end).unwrap_or_default();
        let value = format!("\"{before}{}{after}\"", shown.escape_ascii()).into();
        Self { index, value, wanted: "String", byte: Some(at as u64), place: Place::default() }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "element {} is {}, ", self.index, self.value)?;
        match self.byte {
            Some(byte) => write!(f, "which is not UTF-8 from its byte {byte} on"),
            None => write!(f, "which {} cannot hold", self.wanted),
        }
    }
}

impl Error {
    /// Adds `before` to the index of an [`Error::Misfit`], because as many elements precede those among which it was found. Other
    /// errors are unchanged.
    ///
    /// ```
    /// use sciformats_core::{Error, Misfit};
    ///
    /// let error = Error::Misfit(Misfit::new(2, &300, "u8")).after(1000);
    /// assert_eq!(error.to_string(), "element 1002 is 300, which u8 cannot hold");
    /// ```
    #[must_use]
    pub fn after(mut self, before: u64) -> Self {
        if let Self::Misfit(misfit) = &mut self {
            misfit.index = bound::sum(misfit.index, before); // a position in a message
        }
        self
    }

    /// Changes an [`Error::Misfit`] that was found among the parts of one element (an array, a sequence or a record) to one of
    /// this element. Other errors are unchanged.
    ///
    /// ```
    /// use sciformats_core::{Error, Misfit};
    ///
    /// let error = Error::Misfit(Misfit::new(2, &300, "u8")).part_of(7);
    /// assert_eq!(error.to_string(), "element 7 is 300 in its part 2, which u8 cannot hold");
    /// ```
    #[must_use]
    pub fn part_of(mut self, index: u64) -> Self {
        if let Self::Misfit(misfit) = &mut self {
            misfit.value = format!("{} in its part {}", misfit.value, misfit.index).into();
            misfit.index = index;
        }
        self
    }

    /// Does the same as [`after`](Self::after), for an [`Error::Misfit`] that was found among the halves of elements that are
    /// pairs.
    #[doc(hidden)]
    #[must_use]
    pub fn of_pair(mut self) -> Self {
        if let Self::Misfit(misfit) = &mut self {
            misfit.index /= 2;
        }
        self
    }
}
