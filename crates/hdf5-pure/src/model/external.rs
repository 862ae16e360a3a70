//! Files beside the file: which of them may be opened, and elements that they hold.

use std::path::{Path, PathBuf};

use sciformats_core::storage::FileStorage;
use sciformats_core::{Error, ReadAt, Result, Slab};

use super::read::{Reader, runs};
use super::symbols::Names;
use crate::spec::message::external_files::ExternalFiles;

/// Which files beside the opened one may be opened: they are named by the file, not by the caller.
///
/// ```
/// use hdf5_pure::{File, OpenOptions, Outside, Writer};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("weather.h5");
/// # let mut made = hdf5_pure::Writer::create(&path)?;
/// # made.root().attribute("title", "a week in May")?;
/// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
/// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
/// # made.finish()?;
/// # let week = folder.path().join("week.h5");
/// let mut file = Writer::create(&week)?;
/// file.root().external_link("monday", "weather.h5", "/surface/temperature")?;
/// file.finish()?;
/// assert!(File::open(&week)?.dataset("monday").is_err()); // other files are not opened
/// let options = OpenOptions::default().with_outside(Outside::SameFolder);
/// assert_eq!(File::open_with(&week, &options)?.dataset("monday")?.shape(), Some(&[2, 3][..]));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outside {
    /// None. What needs one is an error.
    #[default]
    None,
    /// Those in the folder of the file, or in folders inside it.
    SameFolder,
    /// Those in these folders, or in folders inside them; relative names are looked for in each.
    Folders(Vec<PathBuf>),
}

impl Outside {
    /// The path of the file called `name` by a file in `folder`; `None` if there is none.
    pub(crate) fn find(&self, folder: Option<&Path>, name: &[u8]) -> Result<Option<PathBuf>> {
        let folders: Vec<&Path> = match (self, folder) {
            (Self::Folders(folders), _) => folders.iter().map(PathBuf::as_path).collect(),
            (Self::SameFolder, Some(folder)) => vec![folder],
            _ => {
                let name = String::from_utf8_lossy(name);
                return Err(Error::usage("outside", format!("does not allow to open the file {name:?}")));
            }
        };
        let Ok(name) = std::str::from_utf8(name) else { return Ok(None) };
        let name = Path::new(name);
        for folder in folders {
            let absolute = name.is_absolute().then(|| name.to_path_buf());
            let last = name.file_name().map(|last| folder.join(last));
            // A name that leads elsewhere may mean a file that was moved here.
            for candidate in absolute.into_iter().chain([folder.join(name)]).chain(last) {
                let (Ok(found), Ok(allowed)) = (candidate.canonicalize(), folder.canonicalize()) else {
                    continue;
                };
                if found.starts_with(allowed) && found.is_file() {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }
}

/// Reads elements that lie in external files, one part after another; what no file holds reads as the fill value.
pub(crate) fn read(reader: &Reader<'_>, files: &ExternalFiles, slab: &Slab, out: &mut [u8]) -> Result<()> {
    let opened = reader.opened;
    let names = Names::open(&opened.context, files.heap)?;
    let mut parts = Vec::new();
    let mut start = 0u64;
    for slot in &files.slots {
        let path = opened.outside.find(opened.folder(), names.get(slot.name)?)?;
        let storage = path.map(FileStorage::open).transpose()?;
        let size = slot.size.unwrap_or(u64::MAX);
        let end = start.saturating_add(size);
        parts.push((start, end, slot.offset, storage));
        start = end;
    }
    reader.fill(out)?;
    let size = usize::try_from(reader.content.datatype.size).unwrap_or(usize::MAX);
    runs(slab, size, out, |from, out| {
        let to = from.saturating_add(out.len() as u64);
        for (start, end, offset, storage) in &parts {
            let Some(storage) = storage else { continue };
            // What the part, the request and the file have in common.
            let stored = start.saturating_add(storage.len().saturating_sub(*offset));
            let (low, high) = (from.max(*start), to.min(*end).min(stored));
            let range = usize::try_from(low.saturating_sub(from))
                .ok()
                .zip(usize::try_from(high.saturating_sub(from)).ok());
            if low < high
                && let Some(part) = range.and_then(|(low, high)| out.get_mut(low..high))
            {
                storage.read_into(offset.saturating_add(low.saturating_sub(*start)), part)?;
            }
        }
        Ok(())
    })
}
