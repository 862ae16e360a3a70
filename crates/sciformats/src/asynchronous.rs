//! Files that are opened and read without blocking the caller.

use std::sync::Arc;

use sciformats_core::IntoSelection;
use sciformats_core::storage::{AsyncRanges, Awaited, PlanOptions, Planned, Work, Workers};

use crate::{Element, File, OpenOptions, Result, Slab};

/// The number of reads that are made at the same time. The others wait for their turn.
const READS: usize = 256;

/// An open file whose reads are awaited. Clones share the file, its connections and its threads, and any number of tasks may read
/// at the same time.
///
/// Reads are done by threads of the file, which wait for its bytes and decode them, while the threads of the caller's runtime go
/// on. It therefore works under any runtime. A thread is only started when a read needs it. A read whose future is dropped before
/// its turn is not made.
///
/// ```
/// use sciformats::{AsyncFile, OpenOptions};
///
/// async fn sum(file: &AsyncFile) -> sciformats::Result<f32> {
///     let rows = file.read_slice::<f32>("/", (1..3, ..));
///     let whole = file.run(|file| file.array("/")?.read::<f32>());
///     Ok(rows.await?.iter().sum::<f32>() + whole.await?.iter().sum::<f32>())
/// }
///
/// let bytes = sciformats::npy::to_bytes(&[3, 2], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let file = AsyncFile::from(sciformats::File::from_bytes(bytes)?);
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// let sum = runtime.block_on(sum(&file))?; // of `tokio`, for example
/// assert_eq!(sum, 18.0 + 21.0);
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AsyncFile {
    file: Arc<File>,
    workers: Arc<Workers>,
}

impl From<File> for AsyncFile {
    fn from(file: File) -> Self {
        Self { file: Arc::new(file), workers: Arc::new(Workers::new(READS)) }
    }
}

impl AsyncFile {
    /// Opens the file at a path or, with the feature `remote`, at a URL.
    ///
    /// # Errors
    /// As [`crate::open`] and [`crate::open_url`].
    pub async fn open(place: &str) -> Result<Self> {
        let (place, workers) = (place.to_owned(), Arc::new(Workers::new(READS)));
        let file = workers.run(move || {
            #[cfg(feature = "remote")]
            if sciformats_remote::is_url(&place) {
                return crate::open_url(&place);
            }
            crate::open(&place)
        });
        Ok(Self { file: Arc::new(file.await?), workers })
    }

    /// Opens the file at a URL with these options.
    ///
    /// # Errors
    /// As [`crate::open_url`].
    #[cfg(feature = "remote")]
    pub async fn open_url(
        url: &str,
        options: &OpenOptions,
        remote: &sciformats_remote::RemoteOptions,
    ) -> Result<Self> {
        let (url, options, remote) = (url.to_owned(), options.clone(), remote.clone());
        let workers = Arc::new(Workers::new(READS));
        let file = workers.run(move || File::open_url(&url, &options, &remote)).await?;
        Ok(Self { file: Arc::new(file), workers })
    }

    /// Opens a file in a store of the caller whose ranges are awaited.
    ///
    /// ```
    /// use sciformats_core::storage::{AsyncRanges, Fetching, PlanOptions};
    /// use sciformats::{AsyncFile, OpenOptions};
    ///
    /// struct Memory(Vec<u8>);
    ///
    /// impl AsyncRanges for Memory {
    ///     fn size(&self) -> u64 {
    ///         self.0.len() as u64
    ///     }
    ///     fn get(&self, ranges: Vec<std::ops::Range<u64>>) -> Fetching<'_> {
    ///         let part = |range: std::ops::Range<u64>| self.0[range.start as usize..range.end as usize].to_vec();
    ///         Box::pin(async move { Ok(ranges.into_iter().map(part).collect()) })
    ///     }
    /// }
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let store = Memory(sciformats::npy::to_bytes(&[2], &[7u8, 8])?);
    /// let file = AsyncFile::open_ranges(store, &OpenOptions::default(), PlanOptions::default()).await?;
    /// assert_eq!(file.read::<u8>("/").await?, [7, 8]);
    /// # Ok::<(), sciformats::Error>(())
    /// # })?;
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`crate::open_with`], and those of the store.
    pub async fn open_ranges(
        ranges: impl AsyncRanges + 'static,
        options: &OpenOptions,
        plan: PlanOptions,
    ) -> Result<Self> {
        let (options, workers) = (options.clone(), Arc::new(Workers::new(READS)));
        let open = move || File::from_storage(Planned::with_options(Awaited(ranges), plan), &options);
        Ok(Self { file: Arc::new(workers.run(open).await?), workers })
    }

    /// Returns the file. Its own methods block.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Lets a thread of the file do `work`, for example read several arrays or list a tree. The future does not borrow the file.
    ///
    /// # Errors
    /// Those of the work; `Io` if no thread can be started.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce(&File) -> Result<T> + Send + 'static) -> Work<T> {
        let file = self.file.clone();
        self.workers.run(move || work(&file))
    }

    /// Reads all elements of an array; see [`Array::read`](crate::Array::read).
    ///
    /// # Errors
    /// As [`File::array`] and [`Array::read`](crate::Array::read).
    pub fn read<T: Element + Send + 'static>(&self, path: &str) -> Work<Vec<T>> {
        let path = path.to_owned();
        self.run(move |file| file.array(&path)?.read())
    }

    /// Reads a part of an array; see [`Array::read_slab`](crate::Array::read_slab).
    ///
    /// # Errors
    /// As [`File::array`] and [`Array::read_slab`](crate::Array::read_slab).
    pub fn read_slab<T: Element + Send + 'static>(&self, path: &str, slab: &Slab) -> Work<Vec<T>> {
        let (path, slab) = (path.to_owned(), slab.clone());
        self.run(move |file| file.array(&path)?.read_slab(&slab))
    }

    /// Reads a part of an array; see [`Array::read_slice`](crate::Array::read_slice).
    ///
    /// # Errors
    /// As [`File::array`] and [`Array::read_slice`](crate::Array::read_slice).
    pub fn read_slice<T: Element + Send + 'static>(
        &self,
        path: &str,
        part: impl IntoSelection + Send + 'static,
    ) -> Work<Vec<T>> {
        let path = path.to_owned();
        self.run(move |file| file.array(&path)?.read_slice(part))
    }
}

/// Opens the file at a path or, with the feature `remote`, at a URL. Opening and reading are awaited, under any runtime; see
/// [`AsyncFile`].
///
/// ```no_run
/// # async fn example() -> sciformats::Result<()> {
/// let file = sciformats::open_async("https://data.example/run.h5").await?;
/// let u: Vec<f64> = file.read_slice("/fields/u", (0..10, ..)).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`crate::open`] and [`crate::open_url`].
pub async fn open_async(place: &str) -> Result<AsyncFile> {
    AsyncFile::open(place).await
}
