//! Writing `.npy`: one array.

use std::ops::ControlFlow;
use std::path::Path;

use sciformats_core::WriteAt;
use sciformats_core::storage::{Durability, Replacement};

use super::{Elements, Single, Sink, WriteOptions, refuse_options};
use crate::model::ElementType;
use crate::{Format, Result, npy};

pub(super) fn create(path: &Path, options: &WriteOptions) -> Result<Box<dyn Sink>> {
    refuse_options(Format::Npy, options, (false, false))?;
    let path = path.to_owned();
    Ok(Box::new(Single::new(Format::Npy, move |elements: Elements| write(&path, &elements))))
}

fn write(path: &Path, elements: &Elements) -> Result<()> {
    let mut file = Replacement::create(path)?;
    let shape = elements.dimensions()?;
    let text = elements.info.element == ElementType::Text;
    let mut width = 0;
    if text {
        elements.for_each_piece(&mut |_, bytes| {
            width = width.max(npy::longest(bytes)?);
            Ok(ControlFlow::Continue(()))
        })?;
    }
    let descr = if text { format!("'<U{width}'") } else { npy::descr(&elements.info.element)? };
    let mut at = 0u64;
    let mut put = |bytes: &[u8]| {
        file.write_at(at, bytes)?;
        at = at.saturating_add(bytes.len() as u64);
        Ok::<_, sciformats_core::Error>(())
    };
    put(&npy::header(&descr, shape))?;
    elements.for_each_piece(&mut |_, bytes| {
        if text {
            put(&npy::ucs4(bytes, width)?)?;
        } else {
            put(bytes)?;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    file.finish(Durability::Process)
}
