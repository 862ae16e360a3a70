//! Writes values in NumPy's file format.

use std::io::Write;

use sciformats::npy::Header;
use sciformats_convert::numpy::{self, Fixed};

use super::{Part, Printed};

pub(in crate::commands) fn print(part: &Part<'_>, out: &mut impl Write) -> Printed {
    // NumPy stores elements that are arrays as further dimensions.
    let (element, shape) = numpy::flat(part.array.element(), &part.selection.shape());
    let mut fixed = Fixed::new(element).with_times(part.array.info());
    if fixed.is_as_is() {
        out.write_all(&Header::new(fixed.dtype()?, shape).to_bytes()?)?;
        part.for_each_piece(|bytes| Ok(out.write_all(bytes)?))?;
        return Ok(out.flush()?);
    }
    // NumPy stores strings with one common width. They are therefore read twice: to find the longest, and to
    // write them.
    fixed.dtype()?;
    part.for_each_piece(|bytes| Ok(fixed.look(bytes)?))?;
    out.write_all(&Header::new(fixed.dtype()?, shape).to_bytes()?)?;
    let mut piece = Vec::new();
    part.for_each_piece(|bytes| {
        piece.clear();
        fixed.encode(bytes, &mut piece)?;
        Ok(out.write_all(&piece)?)
    })?;
    Ok(out.flush()?)
}
