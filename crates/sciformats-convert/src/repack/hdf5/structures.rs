//! Reports how the structures of a repacked file differ from those of the original, apart from its objects.

use std::sync::Arc;

use hdf5_pure::structure::{Rest, Sizes};

use crate::repack::Input;
use sciformats::{File, Result};

/// Returns the differences as phrases that follow the name of the file. `asked` says whether the version was requested.
pub(in crate::repack) fn changes(
    (old, new): (Input<'_>, Input<'_>),
    of: &File,
    asked: bool,
) -> Result<Vec<String>> {
    let read = hdf5_pure::OpenOptions::default()
        .with_limits(*of.limits())
        .with_external(of.options().external.clone())
        .with_registry(sciformats::filters::hdf5())
        .with_access(of.options().access);
    let open = |input: Input<'_>| match input {
        Input::Path(path) => hdf5_pure::File::open_with(path, &read),
        Input::Storage(storage) => hdf5_pure::File::from_storage(Arc::clone(storage), &read),
    };
    let (old, new) = (open(old)?, open(new)?);
    let mut told = Vec::new();
    let ((from, to), mut differ) = ((old.superblock(), new.superblock()), |text| told.push(text));
    if from.sizes != to.sizes {
        let wide = |sizes: Sizes| (sizes.offsets, sizes.lengths);
        let (from, to) = (wide(from.sizes), wide(to.sizes));
        differ(format!(
            "has addresses of {} and lengths of {} bytes, which become {} and {}",
            from.0, from.1, to.0, to.1
        ));
    }
    if from.version != to.version && !asked {
        differ(format!("has a superblock of version {}, which becomes {}", from.version, to.version));
    }
    if matches!(from.rest, Rest::Old { driver_info: Some(_), .. }) {
        differ("consists of several files, which become one".into());
    }
    if !old.shared_indexes().is_empty() && new.shared_indexes().is_empty() {
        differ("has a table of shared messages, which become part of each object".into());
    }
    Ok(told)
}
