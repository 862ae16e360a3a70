//! The keys of most reads: integers, slices that go forwards, and an ellipsis at the end. Python deals with all others.

use hdf5_pure::Range;
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PyInt, PySlice, PyTuple};

/// What a key selects.
pub(super) struct Selected {
    /// One range for each dimension.
    pub(super) ranges: Vec<Range>,
    /// The number of elements along each dimension that no integer removes.
    pub(super) shape: Vec<u64>,
}

/// Returns what a key selects of an array, or `None` if Python has to deal with it: if it has parts of other types, is
/// wrong, or selects nothing.
pub(super) fn selected(key: &Bound<'_, PyAny>, of: &[u64]) -> PyResult<Option<Selected>> {
    let mut found = Selected { ranges: Vec::with_capacity(of.len()), shape: Vec::with_capacity(of.len()) };
    let mut left = of.iter();
    let whole = match key.cast::<PyTuple>() {
        Err(_) => found.add(key, &mut left)?,
        Ok(parts) => {
            let mut all = true;
            for part in parts.iter() {
                all = all && found.add(&part, &mut left)?;
            }
            all
        }
    };
    if !whole {
        return Ok(None);
    }
    for &len in left {
        found.ranges.push(Range::all(len));
        found.shape.push(len);
    }
    // A scalar, and an array without elements, have rules of their own.
    Ok((!of.is_empty() && found.ranges.iter().all(|range| range.count > 0)).then_some(found))
}

impl Selected {
    /// Adds a part of a key. Returns whether it is one of those that are dealt with here.
    fn add(&mut self, part: &Bound<'_, PyAny>, left: &mut std::slice::Iter<'_, u64>) -> PyResult<bool> {
        if part.is_instance_of::<PyEllipsis>() && left.len() > 0 {
            // Nothing can follow it, because no dimension is left then.
            for &len in left {
                self.ranges.push(Range::all(len));
                self.shape.push(len);
            }
            return Ok(true);
        }
        let Some(&len) = left.next() else { return Ok(false) };
        if part.is_exact_instance_of::<PyInt>() {
            let Ok(index) = part.extract::<i64>() else { return Ok(false) };
            let at = match index < 0 {
                true => len.checked_sub(index.unsigned_abs()),
                false => Some(index.unsigned_abs()).filter(|&at| at < len),
            };
            self.ranges.extend(at.map(|at| Range::new(at, 1)));
            return Ok(at.is_some());
        }
        let Ok(slice) = part.cast::<PySlice>() else { return Ok(false) };
        let Ok(length) = isize::try_from(len) else { return Ok(false) };
        // A slice whose parts are no numbers is an error that Python reports in the words of h5py.
        let Ok(parts) = slice.indices(length) else { return Ok(false) };
        let numbers =
            (u64::try_from(parts.start), u64::try_from(parts.step), u64::try_from(parts.slicelength));
        let (Ok(start), Ok(step @ 1..), Ok(count)) = numbers else { return Ok(false) };
        self.ranges.push(Range::new(start, count).by(step));
        self.shape.push(count);
        Ok(true)
    }
}
