//! Elements of datasets that are there.

use sciformats_core::Result;

use crate::api::editor::Editor;
use crate::api::writer::DatasetWriter;
use crate::object::id::ObjectId;

impl Editor {
    /// The dataset at `path`, to write to. Its elements change with the next [`commit`](Self::commit), all at once.
    ///
    /// What becomes of the elements that are there depends on how they are stored:
    ///
    /// | storage | a write |
    /// |---|---|
    /// | in chunks | stores the chunks anew; the commit changes what leads to them in their index, some KiB for a chunk of any number |
    /// | in one piece | keeps up to 32 MiB in memory for the journal; more, or more than half of them, are stored anew with the rest |
    /// | in the header | writes the header |
    /// | in other files | waits in memory for the commit, which writes and syncs these files first: a crash then leaves some of the new elements |
    ///
    /// Elements of variable length and region references go to new collections of the global heap; the old ones stay there.
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
    /// [`Error::NotFound`](crate::Error::NotFound); [`Error::Usage`](crate::Error::Usage) if something else is there; what reading
    /// the dataset's messages meets. Other files are opened as
    /// [`OpenOptions::external`](crate::OpenOptions::external) allows, or the dataset is not. Writing to a virtual dataset is `Unsupported`.
    pub fn open_dataset(&mut self, path: &str) -> Result<DatasetWriter<'_>> {
        let id = self.id(path)?;
        self.open_id(id)
    }

    /// As [`open_dataset`](Self::open_dataset), for one that [`id`](Self::id) found before.
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
    /// assert_eq!(File::open(&path)?.dataset("surface/temperature")?.shape(), Some(&[5, 3][..]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`open_dataset`](Self::open_dataset).
    pub fn open_id(&mut self, dataset: ObjectId) -> Result<DatasetWriter<'_>> {
        self.tree.load_dataset(dataset)?;
        Ok(DatasetWriter::new(&mut self.tree, dataset))
    }
}
