//! What becomes otherwise of the structures of a file that is written anew: nothing that its objects have.

use std::path::Path;

use hdf5_pure::structure::{Rest, Sizes};

use sciformats::{File, Result};

/// The changes, in words that follow the name of the file. What `asked` is true for was asked for: the version.
pub(in crate::repack) fn changes((old, new): (&Path, &Path), of: &File, asked: bool) -> Result<Vec<String>> {
    let read = hdf5_pure::OpenOptions::default()
        .with_limits(*of.limits())
        .with_external(of.options().external.clone())
        .with_access(of.options().access);
    let old = hdf5_pure::File::open_with(old, &read)?;
    let new = hdf5_pure::File::open_with(new, &read)?;
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
        differ("lies in several files, which become one".into());
    }
    if !old.shared_indexes().is_empty() && new.shared_indexes().is_empty() {
        differ("shares messages through a table, which become part of each object".into());
    }
    Ok(told)
}
