//! Remote files: structures are fetched in batches, level by level, and files are opened by their URLs.

use std::collections::HashSet;

use sciformats_core::storage::together;

use crate::model::{ObjectId, Target};
use crate::{File, Format, Object, Result};

/// The largest number of objects whose structures are gathered; those of the others are fetched when they are
/// read.
const MOST: usize = 200_000;

impl File {
    /// Fetches the structures of all objects below the one at `path`, at most `levels` levels of groups deep.
    /// There is one batch for each step that depends on a previous one: the members of all groups of a level,
    /// their headers, their attributes. Listing these objects then needs no further request. Nothing is read
    /// if the file is local, or if opening its format already reads all structures.
    ///
    /// ```
    /// use sciformats::{File, OpenOptions};
    ///
    /// let bytes = sciformats::npy::to_bytes(&[2], &[1.5f32, 2.5])?;
    /// let file = File::from_storage(bytes, &OpenOptions::default())?;
    /// file.gather("/", usize::MAX)?;
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Io`, and as [`resolve`](Self::resolve). Damaged structures are not reported here but when they are
    /// used.
    pub fn gather(&self, path: &str, levels: usize) -> Result<()> {
        if !self.is_far() || self.format() != Format::Hdf5 {
            return Ok(());
        }
        let mut level = vec![self.resolve(path)?];
        let mut seen: HashSet<ObjectId> = level.iter().copied().collect();
        for _ in 0..levels {
            let mut members = Vec::new();
            together(|| {
                members.clear();
                level.iter().for_each(|&group| self.members_of(group, &mut members));
            })?;
            members.retain(|&id| seen.len() < MOST && seen.insert(id));
            let mut groups = Vec::new();
            together(|| {
                groups.clear();
                groups.extend(members.iter().copied().filter(|&id| self.describe(id)));
            })?;
            if groups.is_empty() {
                break;
            }
            level = groups;
        }
        Ok(())
    }

    /// Fetches in one batch what the independent parts of `work` read, before the work is really done. `work` is
    /// called several times if the file is remote, and not at all if it is local; it must continue after an error
    /// with what does not depend on it, and must not keep results of failed reads.
    ///
    /// ```
    /// use sciformats::{File, OpenOptions};
    ///
    /// let bytes = sciformats::npy::to_bytes(&[2], &[1.5f32, 2.5])?;
    /// let file = File::from_storage(bytes, &OpenOptions::default())?;
    /// file.ahead(|| {
    ///     let _ = file.resolve("/");
    /// })?;
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Io` if the batch cannot be fetched. Errors of `work` itself are not reported here.
    pub fn ahead(&self, work: impl FnMut()) -> Result<()> {
        if self.is_far() { together(work) } else { Ok(()) }
    }

    fn members_of(&self, group: ObjectId, found: &mut Vec<ObjectId>) {
        let members = self.source().members(group).into_iter().flatten().flatten();
        found.extend(members.filter_map(|member| match member.target {
            Target::Object(id) => Some(id),
            _ => None,
        }));
    }

    /// Reads the description of an object, and returns whether it is a group.
    fn describe(&self, id: ObjectId) -> bool {
        let object = self.source().object(id);
        for attribute in self.source().attributes(id).into_iter().flatten().flatten() {
            let _ = attribute.value.map(|value| value.data);
        }
        let _ = self.source().storage(id);
        matches!(object, Ok(Object::Group))
    }
}

#[cfg(feature = "remote")]
impl File {
    /// Opens the file at a URL; see [`crate::open_url`].
    ///
    /// # Errors
    ///
    /// As [`crate::open_url`].
    pub fn open_url(
        url: &str,
        options: &crate::OpenOptions,
        remote: &sciformats_remote::RemoteOptions,
    ) -> Result<Self> {
        Self::of_remote(sciformats_remote::open(url, remote)?, options)
    }

    /// Opens a remote file that has been connected already, for example with an index.
    ///
    /// # Errors
    ///
    /// As [`crate::open_with`].
    pub fn of_remote(remote: sciformats_remote::Remote, options: &crate::OpenOptions) -> Result<Self> {
        let mut file = Self::from_storage(remote.clone(), options)?;
        file.remote = Some(remote);
        Ok(file)
    }

    /// Returns the remote file, whose statistics show the cost of reading; `None` for a local file.
    pub fn remote(&self) -> Option<&sciformats_remote::Remote> {
        self.remote.as_ref()
    }
}

#[cfg(all(test, feature = "hdf5"))]
mod tests {
    use sciformats_core::storage::{PlanOptions, Planned, Stored};

    use super::*;
    use crate::OpenOptions;
    use crate::walk::{Entry, breadth_first};

    #[test]
    fn a_tree_comes_level_by_level() {
        let mut writer = hdf5_pure::Writer::in_memory(&Default::default()).unwrap();
        for number in 0..60u64 {
            let name = format!("run {}/part {}/data {number}", number % 5, number % 3);
            let made = writer.dataset(&name).shape([30_000]).attribute("units", "K");
            made.write(&vec![number as f64; 30_000]).unwrap();
        }
        let bytes = writer.into_bytes().unwrap();
        let storage = Planned::with_options(Stored(bytes), PlanOptions::default().with_window(0));
        let file = File::from_storage(storage.clone(), &OpenOptions::default()).unwrap();
        file.gather("/", usize::MAX).unwrap();
        let gathered = storage.statistics();
        assert!(gathered.batches <= 8, "{gathered:?}");
        let mut objects = 0;
        let _ = breadth_first(file.source(), ("/", file.source().root()), file.limits(), &mut |entry| {
            let Entry { what: crate::walk::Found::Object(id, object), path } = entry else { panic!() };
            assert!(!matches!(object, Object::Damaged { .. }), "{path}");
            for attribute in file.source().attributes(id).unwrap() {
                attribute.unwrap().value.unwrap();
            }
            objects += 1;
            std::ops::ControlFlow::Continue(())
        });
        assert_eq!(objects, 1 + 5 + 15 + 60);
        assert_eq!(storage.statistics().batches, gathered.batches);
        assert_eq!(file.array("/run 4/part 2/data 59").unwrap().read::<f64>().unwrap(), vec![59.0; 30_000]);
    }
}
