//! Values as NumPy's file format.

use std::io::Write;

use sciformats::{ElementType, npy};

use super::{Part, Printed};

pub(super) fn print(part: &Part<'_>, out: &mut impl Write) -> Printed {
    let element = part.array.element();
    let shape = part.selection.shape();
    if let ElementType::Text | ElementType::Reference | ElementType::Region = element {
        return texts(part, &shape, out);
    }
    out.write_all(&npy::header(&npy::descr(element)?, &shape))?;
    part.for_each_piece(|bytes| Ok(out.write_all(bytes)?))?;
    Ok(out.flush()?)
}

/// Strings become UCS-4 of one width, so they are read twice: for the longest one, and to be written.
fn texts(part: &Part<'_>, shape: &[u64], out: &mut impl Write) -> Printed {
    let mut longest = 0;
    part.for_each_piece(|bytes| {
        longest = longest.max(npy::longest(bytes)?);
        Ok(())
    })?;
    out.write_all(&npy::header(&format!("'<U{longest}'"), shape))?;
    part.for_each_piece(|bytes| Ok(out.write_all(&npy::ucs4(bytes, longest)?)?))?;
    Ok(out.flush()?)
}
