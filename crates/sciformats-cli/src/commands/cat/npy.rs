//! Values as NumPy's file format.

use std::io::Write;

use sciformats::npy::{self, Fixed};

use super::{Part, Printed};

pub(super) fn print(part: &Part<'_>, out: &mut impl Write) -> Printed {
    // Elements that are arrays themselves are further dimensions, as NumPy has them.
    let (element, shape) = npy::flat(part.array.element(), &part.selection.shape());
    let mut fixed = Fixed::new(element);
    if fixed.is_as_is() {
        out.write_all(&npy::header(&npy::descr(element)?, &shape))?;
        part.for_each_piece(|bytes| Ok(out.write_all(bytes)?))?;
        return Ok(out.flush()?);
    }
    // Strings get one width, so they are read twice: for the longest one, and to be written.
    fixed.descr()?;
    part.for_each_piece(|bytes| Ok(fixed.look(bytes)?))?;
    out.write_all(&npy::header(&fixed.descr()?, &shape))?;
    let mut piece = Vec::new();
    part.for_each_piece(|bytes| {
        piece.clear();
        fixed.encode(bytes, &mut piece)?;
        Ok(out.write_all(&piece)?)
    })?;
    Ok(out.flush()?)
}
