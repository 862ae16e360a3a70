//! Where and how the elements of a new dataset are stored.

use sciformats_core::{Error, Slab};

use super::DatasetBuilder;
use crate::api::named::AsName;
use crate::api::writer::layout::ChunkIndex;
use crate::spec::Name;
use crate::spec::selection::Selection;
use crate::spec::virtual_mapping::Mapping;

/// How the elements are stored.
pub(in crate::api::writer) enum Place {
    Chosen,
    Contiguous,
    Compact,
    Chunked(Option<Vec<u64>>),
    External(Vec<(Name, u64, Option<u64>)>),
    Virtual(Vec<Mapping>),
}

/// Returns a name in the form of a mapping, where a percent sign announces the number of a source and is doubled to stand for itself.
fn escaped(name: &[u8]) -> Name {
    let doubled = name.iter().flat_map(|&byte| std::iter::repeat_n(byte, if byte == b'%' { 2 } else { 1 }));
    doubled.collect::<Vec<u8>>()[..].into()
}

impl<'w> DatasetBuilder<'w> {
    /// Stores the elements in chunks of this shape.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("frames").shape([10, 64, 64]).chunks([1, 64, 64]).write(&vec![0u8; 10 * 64 * 64])?;
    /// let frames = File::from_bytes(file.into_bytes()?)?.dataset("frames")?;
    /// assert_eq!(frames.chunks()?.len(), 10); // a frame each
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn chunks(mut self, shape: impl Into<Vec<u64>>) -> Self {
        self.place = Place::Chunked(Some(shape.into()));
        self
    }

    /// Stores the elements in chunks whose shape is chosen automatically. A chunk has at most a 256th of the dataset's
    /// bytes, but the limit is never below 64 KiB and never above 1 MiB. The sides of a chunk are of similar length and
    /// divide the dataset evenly. A dimension without a maximum counts as at least 1024 elements.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").shape([1000, 1000]).automatic_chunks().write(&vec![281.5f32; 1_000_000])?;
    /// let temperature = File::from_bytes(file.into_bytes()?)?.dataset("temperature")?;
    /// assert!(temperature.chunks()?.into_iter().flatten().all(|chunk| chunk.size <= 64 << 10));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn automatic_chunks(mut self) -> Self {
        self.place = Place::Chunked(None);
        self
    }

    /// Stores the elements contiguously, one after another.
    ///
    /// ```
    /// use hdf5_pure::structure::Layout;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").contiguous().write(&[281.5f32, 282.0])?;
    /// let temperature = File::from_bytes(file.into_bytes()?)?.dataset("temperature")?;
    /// assert!(matches!(temperature.layout()?, Layout::Contiguous { .. }));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn contiguous(mut self) -> Self {
        self.place = Place::Contiguous;
        self
    }

    /// Stores the elements in the object header. They must have less than 64 KiB.
    ///
    /// ```
    /// use hdf5_pure::structure::Layout;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("offsets").compact().write(&[1u8, 2, 3])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(*file.dataset("offsets")?.layout()?, Layout::Compact(vec![1, 2, 3]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn compact(mut self) -> Self {
        self.place = Place::Compact;
        self
    }

    /// Stores the elements in external files. Each item has the name of a file, the offset of the first element in it,
    /// and the number of bytes that it holds; `None` means all remaining bytes and is allowed for the last file.
    /// [`create`](Self::create) creates the dataset. The external files themselves are not touched.
    ///
    /// ```
    /// use hdf5_pure::{File, OpenOptions, Writer};
    /// use hdf5_pure::options::External;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("weather.h5");
    /// # std::fs::write(folder.path().join("camera.raw"), [10, 20, 30, 40]).unwrap();
    /// let mut file = Writer::create(&path)?;
    /// file.dataset("image").shape([2, 2]).external([("camera.raw", 0, None)]).create::<u8>()?;
    /// file.finish()?;
    /// let options = OpenOptions::default().with_external(External::SameFolder);
    /// assert_eq!(File::open_with(&path, &options)?.dataset("image")?.read::<u8>()?, [10, 20, 30, 40]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn external<'f, N: AsName + ?Sized + 'f>(
        mut self,
        files: impl IntoIterator<Item = (&'f N, u64, Option<u64>)>,
    ) -> Self {
        let files = files.into_iter().map(|(name, offset, size)| (name.name_bytes().into(), offset, size));
        self.place = Place::External(files.collect());
        self
    }

    /// Maps the elements in `target` to those in `source` of another dataset, which makes this a virtual dataset. The
    /// source is in the file named `file`, or in this file if the name is `.`. Several calls add several mappings.
    /// [`create`](Self::create) creates the dataset. Virtual datasets need [`Bound::V110`](crate::options::Bound::V110).
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Range, Slab, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("monday").write(&[281.5f32, 282.0])?;
    /// file.dataset("tuesday").write(&[280.0f32, 280.5])?;
    /// let (day, first) = (Slab::all(&[2])?, Slab::new(&[2, 2], [Range::new(0, 1), Range::all(2)])?);
    /// let second = Slab::new(&[2, 2], [Range::new(1, 1), Range::all(2)])?;
    /// let week = file.dataset("week").shape([2, 2]);
    /// week.map(".", "/monday", &day, &first).map(".", "/tuesday", &day, &second).create::<f32>()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("week")?.read::<f32>()?, [281.5, 282.0, 280.0, 280.5]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn map(
        mut self,
        file: &(impl AsName + ?Sized),
        dataset: &(impl AsName + ?Sized),
        source: &Slab,
        target: &Slab,
    ) -> Self {
        let (file, dataset) = (file.name_bytes(), dataset.name_bytes());
        if source.len() != target.len() || file.is_empty() || dataset.is_empty() {
            self.fail(Error::usage(
                "mapping",
                "needs a file name, a dataset name, and a source and a target with the same number of elements",
            ));
        }
        let mapping = Mapping {
            file: escaped(file),
            dataset: escaped(dataset),
            source: Selection::of(source),
            target: Selection::of(target),
        };
        match &mut self.place {
            Place::Virtual(mappings) => mappings.push(mapping),
            place => *place = Place::Virtual(vec![mapping]),
        }
        self
    }

    /// Makes this a virtual dataset even if nothing is [mapped](Self::map), and whatever the bound of the file. Only
    /// version 1.10 or later of the C library can read it.
    ///
    /// ```
    /// use hdf5_pure::structure::Layout;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::options::Bound;
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::Earliest))?;
    /// file.dataset("later").shape([24]).virtual_layout().create::<f32>()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert!(matches!(file.dataset("later")?.layout()?, Layout::Virtual(_)));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn virtual_layout(mut self) -> Self {
        self.any_bound = true;
        if !matches!(self.place, Place::Virtual(_)) {
            self.place = Place::Virtual(Vec::new());
        }
        self
    }

    /// Works like [`map`](Self::map), with selections of any kind, and with names as a mapping stores them: `%%` is a percent sign,
    /// and `%b` the number of a source if only the target is unlimited.
    ///
    /// # Errors
    /// The call that creates the dataset fails if a name is empty.
    pub fn map_selection(mut self, mapping: Mapping) -> Self {
        if mapping.file.as_bytes().is_empty() || mapping.dataset.as_bytes().is_empty() {
            self.fail(Error::usage("mapping", "needs a file name and a dataset name"));
        }
        match &mut self.place {
            Place::Virtual(mappings) => mappings.push(mapping),
            place => *place = Place::Virtual(vec![mapping]),
        }
        self
    }

    /// Sets the kind of chunk index. With a bound before [`Bound::V110`](crate::options::Bound::V110) the index is a version 1
    /// B-tree in any case.
    ///
    /// ```
    /// use hdf5_pure::structure::{IndexKind, Layout};
    /// use hdf5_pure::{ChunkIndex, CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([100]).index(ChunkIndex::Implicit).write(&[7u8; 1000])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// assert!(matches!(counts.layout()?, Layout::Chunked(chunked) if chunked.index == IndexKind::Implicit));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn index(mut self, index: ChunkIndex) -> Self {
        self.index = Some(index);
        self
    }

    /// Stores chunks at the edges of the dataset without filters if they are only partly inside. This needs
    /// [`Bound::V110`](crate::options::Bound::V110).
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([100]).lzf().unfiltered_edges().write(&[7u8; 150])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// let sizes: Vec<u64> = counts.chunks()?.into_iter().flatten().map(|chunk| chunk.size).collect();
    /// assert!(sizes[0] < 100 && sizes[1] == 100);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn unfiltered_edges(mut self) -> Self {
        self.unfiltered_edges = true;
        self
    }

    /// Works like [`unfiltered_edges`](Self::unfiltered_edges), whatever the bound of the file. Only version 1.10 or later of the
    /// C library can read this dataset; the others in the file stay readable.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::options::Bound;
    /// use hdf5_pure::structure::{IndexKind, Layout};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::Earliest))?;
    /// file.dataset("new").chunks([100]).lzf().unfiltered_edges_at_any_bound().write(&[7u8; 150])?;
    /// file.dataset("old").chunks([100]).lzf().write(&[7u8; 150])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("new")?.read::<u8>()?, [7; 150]);
    /// assert!(matches!(file.dataset("new")?.layout()?, Layout::Chunked(chunked) if chunked.unfiltered_edges));
    /// assert!(matches!(file.dataset("old")?.layout()?, Layout::Chunked(chunked) if chunked.index == IndexKind::BtreeV1));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn unfiltered_edges_at_any_bound(mut self) -> Self {
        self.any_bound = true;
        self.unfiltered_edges()
    }
}
