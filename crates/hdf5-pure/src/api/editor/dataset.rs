//! Writes to datasets that the file already has.

use sciformats_core::Result;

use crate::api::editor::Editor;
use crate::api::named::{AsName, shown};
use crate::api::writer::DatasetWriter;
use crate::object::id::{Id, ObjectId};

impl Editor {
    /// Opens the dataset at `path` for writing. Its elements change in the file with the next [`commit`](Self::commit),
    /// all at once.
    ///
    /// How a write changes the existing elements depends on how they are stored:
    ///
    /// | storage | effect of a write |
    /// |---|---|
    /// | chunked | The chunks are stored in new places. The commit changes the nodes of the chunk index that lead to them, which takes some KiB per chunk, however many chunks there are. |
    /// | contiguous | Up to 32 MiB of new elements are kept in memory for the journal. If there are more, or more than half of all elements change, the whole array is stored in a new place. |
    /// | compact | The object header is written. |
    /// | external files | The elements wait in memory for the commit, which writes and syncs the external files first. After a crash these files may therefore hold some of the new elements. |
    ///
    /// Elements of variable length and region references are stored in new collections of the global heap. The old ones
    /// stay in the file.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File, Slab, Writer};
    ///
    /// # fn main() -> hdf5_pure::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("run.h5");
    /// let mut file = Writer::create(&path)?;
    /// file.dataset("u").shape([2, 3]).max_shape([None, Some(3)]).write(&[1, 2, 3, 4, 5, 6])?;
    /// file.finish()?;
    ///
    /// let mut editor = Editor::open(&path)?;
    /// let mut u = editor.open_dataset("u")?;
    /// u.append(&[7, 8, 9])?;
    /// u.write_slab(&Slab::new(&[3, 3], [(0..2).into(), (1..2).into()])?, &[20, 50])?;
    /// u.write_points(&[vec![2, 2]], &[90])?;
    /// editor.commit()?;
    /// assert_eq!(File::open(&path)?.dataset("u")?.read::<i32>()?, [1, 20, 3, 4, 50, 6, 7, 8, 90]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::NotFound`](crate::Error::NotFound) if there is no such object,
    /// [`Error::Usage`](crate::Error::Usage) if the object is not a dataset, `Unsupported` for a virtual dataset, and
    /// any error of reading the messages of the dataset. External files must be allowed by
    /// [`OpenOptions::external`](crate::OpenOptions::external).
    pub fn open_dataset(&mut self, path: &(impl AsName + ?Sized)) -> Result<DatasetWriter<'_>> {
        let id = self.tree.find(Id::ROOT, path.name_bytes())?;
        let loaded = self.tree.load_dataset(id);
        self.tree.along(path.name_bytes(), loaded)?;
        Ok(DatasetWriter::new(&mut self.tree, id)?.named(shown(path)))
    }

    /// Works like [`open_dataset`](Self::open_dataset), for a dataset that [`id`](Self::id) has found before.
    ///
    /// ```
    /// use hdf5_pure::{Editor, File};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
    /// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
    /// # made.finish()?;
    /// let mut file = Editor::open(&path)?;
    /// let temperature = file.id("surface/temperature")?;
    /// for day in 0..3 {
    ///     file.open_id(temperature)?.append(&[279.0 + f64::from(day); 3])?;
    ///     file.commit()?;
    /// }
    /// assert_eq!(File::open(&path)?.dataset("surface/temperature")?.shape(), [5, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`open_dataset`](Self::open_dataset).
    pub fn open_id(&mut self, dataset: ObjectId) -> Result<DatasetWriter<'_>> {
        let dataset = self.tree.owner.find(dataset)?;
        let loaded = self.tree.load_dataset(dataset);
        self.tree.within(None, loaded)?;
        DatasetWriter::new(&mut self.tree, dataset)
    }
}
