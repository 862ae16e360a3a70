//! Writing `.npy`: one array.

use std::ops::ControlFlow;
use std::path::Path;

use sciformats_core::WriteAt;
use sciformats_core::storage::{Durability, Replacement};

use super::{Elements, Single, Sink, WriteOptions, refuse_options};
use crate::{Format, Result, npy};

pub(super) fn create(path: &Path, options: &WriteOptions) -> Result<Box<dyn Sink>> {
    refuse_options(Format::Npy, options, (false, false))?;
    let path = path.to_owned();
    Ok(Box::new(Single::new(Format::Npy, move |elements: Elements| write(&path, &elements))))
}

fn write(path: &Path, elements: &Elements) -> Result<()> {
    let mut file = Replacement::create(path)?;
    let shape = elements.dimensions()?;
    let mut fixed = npy::Fixed::new(&elements.info.element);
    if !fixed.is_as_is() {
        elements.for_each_piece(&mut |_, bytes| {
            fixed.look(bytes)?;
            Ok(ControlFlow::Continue(()))
        })?;
    }
    let mut at = 0u64;
    let mut put = |bytes: &[u8]| {
        file.write_at(at, bytes)?;
        at = at.saturating_add(bytes.len() as u64);
        Ok::<_, sciformats_core::Error>(())
    };
    put(&npy::header(&fixed.descr()?, shape))?;
    let mut piece = Vec::new();
    elements.for_each_piece(&mut |_, bytes| {
        if fixed.is_as_is() {
            put(bytes)?;
        } else {
            piece.clear();
            fixed.encode(bytes, &mut piece)?;
            put(&piece)?;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    file.finish(Durability::Process)
}
