//! The part of one dimension in a selection.

use std::ops;

use crate::error::{Error, Result};
use crate::slab::Range;

/// The part of one dimension in a selection. Numbers below zero count from the end of the dimension.
///
/// ```
/// use sciformats_core::select::{Axis, IntoAxis, by};
///
/// assert_eq!((3..).into_axis(), Axis::Slice { start: Some(3), end: None, step: 1 });
/// assert_eq!(by(.., -1).into_axis(), Axis::Slice { start: None, end: None, step: -1 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// A single index. The dimension is dropped.
    Index(i128),
    /// The indices from `start` (or the first one) up to, but not including, `end` (or the end), in steps of `step`. If `step` is
    /// below zero, the last index comes first.
    Slice {
        /// The first index.
        start: Option<i128>,
        /// The index after the last one.
        end: Option<i128>,
        /// The distance from one index to the next.
        step: i128,
    },
    /// The indices of Python's `start:stop:step`. Bounds may be outside of the dimension. If the step is below zero, the indices
    /// go from `start` down to, but not including, `stop`.
    Python {
        /// The first index.
        start: Option<i128>,
        /// The index before which the selection ends.
        stop: Option<i128>,
        /// The distance from one index to the next.
        step: i128,
    },
    /// All remaining dimensions, which are selected completely.
    Ellipsis,
}

/// All remaining dimensions, which are selected completely, like `...` in Python.
///
/// ```
/// use sciformats_core::select::{Ellipsis, IntoSelection};
///
/// assert_eq!((Ellipsis, 0).into_selection(&[5, 4, 3])?.shape(), [5, 4]);
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ellipsis;

/// Something that selects a part of one dimension: an index, a range of Rust, a [`Range`], steps by [`by`], or an [`Ellipsis`].
pub trait IntoAxis {
    /// Returns the part.
    fn into_axis(self) -> Axis;
}

/// Selects every `step`th index of a range. If `step` is below zero, the last index comes first.
///
/// ```
/// use sciformats_core::select::{IntoSelection, by};
///
/// let backwards = by(.., -1).into_selection(&[3])?;
/// let mut values = [1, 2, 3];
/// backwards.turn(&mut values);
/// assert_eq!(values, [3, 2, 1]);
/// assert_eq!(by(1..8, 2).into_selection(&[10])?.shape(), [4]); // 1, 3, 5, 7
/// # Ok::<(), sciformats_core::Error>(())
/// ```
pub fn by(range: impl IntoAxis, step: i64) -> Axis {
    match range.into_axis() {
        Axis::Slice { start, end, .. } => Axis::Slice { start, end, step: step.into() },
        Axis::Python { start, stop, .. } => Axis::Python { start, stop, step: step.into() },
        other => other,
    }
}

impl Axis {
    /// The whole dimension.
    pub const WHOLE: Self = Self::Slice { start: None, end: None, step: 1 };

    /// Returns the range in dimension `number`, and whether its last index comes first.
    pub(super) fn of(&self, number: usize, length: u64) -> Result<(Range, bool)> {
        let size = i128::from(length);
        let from_end = |given: i128| if given < 0 { given.saturating_add(size) } else { given }; // a bound
        match *self {
            Self::Ellipsis => Ok((Range::all(length), false)),
            Self::Index(given) => {
                let index = u64::try_from(from_end(given)).ok().filter(|&index| index < length);
                let outside = || outside(&format!("index {given}"), number, length);
                Ok((Range::new(index.ok_or_else(outside)?, 1), false))
            }
            Self::Slice { start, end, step } => {
                let first = start.map_or(0, from_end);
                let last = end.map_or(size, from_end);
                let shown = || {
                    let side = |side: Option<i128>| side.map_or_else(String::new, |side| side.to_string());
                    format!("{}..{}", side(start), side(end))
                };
                if first > last {
                    let problem =
                        format!("takes {} of dimension {number}, which ends before it begins", shown());
                    return Err(Error::usage("slice", problem));
                }
                let inside = u64::try_from(first).ok().zip(u64::try_from(last).ok());
                let inside = inside.filter(|&(_, last)| last <= length);
                let (first, last) = inside.ok_or_else(|| outside(&shown(), number, length))?;
                let stride = stride(step, number)?;
                let count = (last - first).div_ceil(stride);
                // Steps are counted from the end, so indices that do not fit the step remain at the beginning.
                let over = if step < 0 && count > 0 { (last - first - 1) % stride } else { 0 };
                Ok((spaced(first + over, count, stride), step < 0))
            }
            Self::Python { start, stop, step } => {
                let stride = stride(step, number)?;
                Ok((python((start, stop), step, size, stride), step < 0))
            }
        }
    }
}

fn outside(what: &str, number: usize, length: u64) -> Error {
    Error::usage("slice", format!("takes {what} of dimension {number}, which has length {length}"))
}

fn stride(step: i128, number: usize) -> Result<u64> {
    match step.unsigned_abs() {
        0 => Err(Error::usage("slice", format!("has step 0 in dimension {number}"))),
        // No dimension is so long, so a larger step leads out of it too.
        stride => Ok(u64::try_from(stride).unwrap_or(u64::MAX)), // a bound
    }
}

/// Returns a range. If it has a single index, its step is 1.
fn spaced(start: u64, count: u64, stride: u64) -> Range {
    Range { start, count, step: if count > 1 { stride } else { 1 } }
}

/// Does the same as Python's `slice.indices`: negative bounds count from the end, and bounds are clipped to the dimension.
fn python((start, stop): (Option<i128>, Option<i128>), step: i128, size: i128, stride: u64) -> Range {
    let (low, high) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let side = |given: Option<i128>, default: i128| match given {
        None => default,
        Some(given) if given < 0 => given.saturating_add(size).clamp(low, high), // a bound
        Some(given) => given.clamp(low, high),
    };
    let (first, end) = if step > 0 { (low, high) } else { (high, low) };
    let (start, stop) = (side(start, first), side(stop, end));
    let distance = if step > 0 { stop - start } else { start - stop };
    // All numbers are inside of the dimension now.
    let narrow = |value: i128| u64::try_from(value).unwrap_or(0); // a position
    let count = narrow(distance.max(0)).div_ceil(stride);
    match count {
        0 => Range::new(0, 0),
        _ if step > 0 => spaced(narrow(start), count, stride),
        _ => spaced(narrow(start) - (count - 1) * stride, count, stride),
    }
}

impl IntoAxis for Axis {
    fn into_axis(self) -> Axis {
        self
    }
}

impl IntoAxis for Ellipsis {
    fn into_axis(self) -> Axis {
        Axis::Ellipsis
    }
}

impl IntoAxis for ops::RangeFull {
    fn into_axis(self) -> Axis {
        Axis::WHOLE
    }
}

/// Selects the same indices; the range must be inside of the dimension.
impl IntoAxis for Range {
    fn into_axis(self) -> Axis {
        let start = i128::from(self.start);
        // No dimension is so long that a larger end would be in it.
        let span = i128::from(self.count.max(1) - 1).saturating_mul(self.step.into()); // a bound
        let end = if self.count == 0 { start } else { span.saturating_add(start).saturating_add(1) }; // a bound
        Axis::Slice { start: Some(start), end: Some(end), step: self.step.into() }
    }
}

macro_rules! integers {
    ($($name:ty)*) => {$(
        impl IntoAxis for $name {
            fn into_axis(self) -> Axis {
                Axis::Index(self as i128)
            }
        }

        impl IntoAxis for ops::Range<$name> {
            fn into_axis(self) -> Axis {
                Axis::Slice { start: Some(self.start as i128), end: Some(self.end as i128), step: 1 }
            }
        }

        impl IntoAxis for ops::RangeInclusive<$name> {
            fn into_axis(self) -> Axis {
                // The index after -1, which is the last one, is the end.
                let end = Some(*self.end() as i128 + 1).filter(|&end| end != 0);
                Axis::Slice { start: Some(*self.start() as i128), end, step: 1 }
            }
        }

        impl IntoAxis for ops::RangeFrom<$name> {
            fn into_axis(self) -> Axis {
                Axis::Slice { start: Some(self.start as i128), end: None, step: 1 }
            }
        }

        impl IntoAxis for ops::RangeTo<$name> {
            fn into_axis(self) -> Axis {
                Axis::Slice { start: None, end: Some(self.end as i128), step: 1 }
            }
        }

        impl IntoAxis for ops::RangeToInclusive<$name> {
            fn into_axis(self) -> Axis {
                let Axis::Slice { end, .. } = (self.end..=self.end).into_axis() else { return Axis::WHOLE };
                Axis::Slice { start: None, end, step: 1 }
            }
        }
    )*};
}
integers!(i32 i64 isize u8 u16 u32 u64 usize);
