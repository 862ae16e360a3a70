//! The names of the files in the folder of a sparse frame.

use std::ffi::OsStr;

/// The file in the folder of a sparse frame that contains everything but the chunks.
pub(crate) const SPARSE_INDEX: &str = "chunks.b2frame";

/// The lock file in that folder.
pub(crate) const LOCK_FILE: &str = ".b2lock";

/// Returns the name of the file of a chunk in a sparse frame.
pub(crate) fn chunk_file(number: u64) -> String {
    format!("{number:08X}.chunk")
}

/// Returns the number of the chunk whose file has this name. Names that are written differently, such as `1f.chunk`, are not those of
/// chunks.
pub(crate) fn chunk_number(name: &str) -> Option<u64> {
    let number = u64::from_str_radix(name.strip_suffix(".chunk")?, 16).ok()?;
    (chunk_file(number) == name).then_some(number)
}

/// Returns whether a file of this name in the folder of a sparse frame is part of the frame. Whoever replaces such a folder by
/// another frame must not remove anything else with it. The lock file that C-Blosc2 makes there belongs to the frame, too.
///
/// ```
/// let is_part = |name: &str| cframe::is_part_of_folder(name.as_ref());
/// assert!(is_part("chunks.b2frame") && is_part("0000001F.chunk") && is_part(".b2lock"));
/// assert!(!is_part("notes.txt") && !is_part("bed.chunk"));
/// ```
pub fn is_part_of_folder(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| matches!(name, SPARSE_INDEX | LOCK_FILE) || chunk_number(name).is_some())
}
