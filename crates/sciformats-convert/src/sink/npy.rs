//! Writes `.npy`: one array.

use std::ops::ControlFlow;
use std::path::Path;

use npy::Writer;
use sciformats::{Format, Result};

use super::{Elements, Filters, Single, Sink, WriteOptions, refuse_options};
use crate::numpy::Fixed;

pub(super) fn create(path: Option<&Path>, options: &WriteOptions) -> Result<Box<dyn Sink>> {
    refuse_options(Format::Npy, options, Filters::Meaningless)?;
    let path = path.map(Path::to_owned);
    Ok(Box::new(Single::new(Format::Npy, move |elements: Elements| {
        path.map_or(Ok(()), |path| write(&path, &elements))
    })))
}

fn write(path: &Path, elements: &Elements) -> Result<()> {
    let forms = elements.info.texts.as_deref().unwrap_or_default();
    let mut fixed = Fixed::new(&elements.info.element).with_texts(forms).with_times(&elements.info);
    if !fixed.is_as_is() {
        elements.for_each_piece(&mut |_, bytes| {
            fixed.look(bytes)?;
            Ok(ControlFlow::Continue(()))
        })?;
    }
    let mut writer = Writer::overwrite(path, fixed.dtype()?, elements.dimensions()?)?;
    let mut piece = Vec::new();
    elements.for_each_piece(&mut |_, bytes| {
        if fixed.is_as_is() {
            writer.write_bytes(bytes)?;
        } else {
            piece.clear();
            fixed.encode(bytes, &mut piece)?;
            writer.write_bytes(&piece)?;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    writer.finish()
}
