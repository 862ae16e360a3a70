//! Chunks that are encoded elsewhere, for example by the workers of a cluster, and written here.

use hdf5_pure::structure::{Dataspace, Fill, Layout, Pipeline};
use hdf5_pure::{Dataset, DatasetWriter};
use sciformats_core::arith::{fit, present};
use sciformats_core::bound;

use super::Job;
use super::regions::Parts;
use super::storage::Sparse;
use sciformats::{Error, Result};

/// Encodes the chunks of datasets that get other chunks or filters.
pub trait ChunkSupplier: Sync {
    /// Calls `put` with every new chunk that has elements of a stored chunk, in any order. Returns `false`, before any chunk, if the
    /// chunks are to be encoded here instead.
    ///
    /// # Errors
    /// Those of reading and of encoding, and those of `put`.
    fn supply(&self, wanted: &WantedChunks<'_>, put: &mut PutChunk<'_>) -> Result<bool>;
}

/// Writes a chunk: its indices in the grid of chunks, the mask of the filters that were skipped, and its bytes.
pub type PutChunk<'a> = dyn FnMut(&[u64], u32, &[u8]) -> Result<()> + 'a;

/// The chunks that a [`ChunkSupplier`] is asked for.
#[derive(Debug)]
#[non_exhaustive]
pub struct WantedChunks<'a> {
    /// The path of the dataset, in the old file and in the new one.
    pub path: &'a str,
    /// The number of elements along each dimension.
    pub shape: &'a [u64],
    /// The shape of the new chunks. Chunks at the edges have the full size; beyond the dataset they have the fill value.
    pub chunks: &'a [u64],
    /// The filters of the new dataset.
    pub filters: &'a Pipeline,
    /// The fill value as it is stored, with as many bytes as an element.
    pub fill: Vec<u8>,
}

/// Lets the supplier encode a dataset. Returns `false` if it does not.
pub(super) fn supplied(
    supplier: &dyn ChunkSupplier,
    (job, dataset): (&Job<'_>, &Dataset),
    sparse: &Sparse,
    writer: &mut DatasetWriter<'_>,
) -> Result<bool> {
    let unfiltered = matches!(dataset.layout()?, Layout::Chunked(chunked) if chunked.unfiltered_edges);
    let (Dataspace::Simple { dimensions: shape, .. }, false) = (dataset.dataspace(), unfiltered) else {
        return Ok(false);
    };
    let Some(sides) = writer.chunk_shape()?.map(<[u64]>::to_vec) else { return Ok(false) };
    let path = job.source.path_of(dataset.address())?.and_then(|path| String::from_utf8(path.to_vec()).ok());
    let Some(path) = path else { return Ok(false) };
    let size = u64::from(dataset.datatype().size);
    let fill = match &dataset.fill_value()?.value {
        // Encoding here says what is wrong with such a value.
        Fill::Value(bytes) if bytes.len() as u64 != size => return Ok(false),
        Fill::Value(bytes) => bytes.clone(),
        _ => vec![0; fit(size, "size of an element")?],
    };
    let filters = writer.filters()?.clone();
    let mut seen = Grid::new(shape, &sides, job)?;
    let bytes = sides.iter().fold(size, |all, side| bound::product(all, *side));
    let mut put = |place: &[u64], mask: u32, chunk: &[u8]| {
        job.interrupted()?;
        seen.add(place)?;
        writer.write_chunk(place, mask, chunk)?;
        job.file.count_read(bytes);
        Ok(())
    };
    let wanted = WantedChunks { path: &path, shape, chunks: &sides, filters: &filters, fill };
    if !supplier.supply(&wanted, &mut put)? {
        return if seen.is_empty() {
            Ok(false)
        } else {
            Err(Error::usage("chunks", "of the supplier are only a part"))
        };
    }
    for chunk in Parts::of(shape, &sides).filter(|chunk| sparse.touches(chunk)) {
        let place = chunk.ranges().iter().zip(&sides).map(|(range, side)| range.start / (*side).max(1));
        let place: Vec<u64> = place.collect();
        if !seen.has(&place)? {
            return Err(Error::usage(
                "chunks",
                format!("of the supplier lack the one at {place:?} of {path}"),
            ));
        }
    }
    Ok(true)
}

/// The chunks that were put, one bit each.
struct Grid {
    counts: Vec<u64>,
    bits: Vec<u64>,
}

impl Grid {
    fn new(shape: &[u64], sides: &[u64], job: &Job<'_>) -> Result<Self> {
        let counts: Vec<u64> =
            shape.iter().zip(sides).map(|(length, side)| length.div_ceil((*side).max(1))).collect();
        let all = counts.iter().fold(1, |all, count| bound::product(all, *count));
        let bytes = bound::product(all.div_ceil(64), 8);
        let bytes = job.file.limits().memory("bits of the chunks of a dataset", bytes)?;
        Ok(Self { counts, bits: vec![0; bytes / 8] })
    }

    fn is_empty(&self) -> bool {
        self.bits.iter().all(|bits| *bits == 0)
    }

    /// Returns the word and the bit of a chunk.
    fn index(&self, place: &[u64]) -> Result<(usize, u64)> {
        let inside =
            place.len() == self.counts.len() && place.iter().zip(&self.counts).all(|(at, count)| at < count);
        if !inside {
            return Err(Error::usage("chunk", format!("at {place:?} is not in a grid of {:?}", self.counts)));
        }
        let number = place
            .iter()
            .zip(&self.counts)
            .fold(0, |all, (at, count)| bound::sum(bound::product(all, *count), *at));
        Ok((fit(number / 64, "number of a chunk")?, 1 << (number % 64)))
    }

    fn has(&self, place: &[u64]) -> Result<bool> {
        let (word, bit) = self.index(place)?;
        Ok(self.bits.get(word).is_some_and(|bits| bits & bit != 0))
    }

    fn add(&mut self, place: &[u64]) -> Result<()> {
        let (word, bit) = self.index(place)?;
        let bits = present(self.bits.get_mut(word), "bits of the chunks of a dataset")?;
        if *bits & bit != 0 {
            return Err(Error::usage("chunk", format!("at {place:?} was put twice")));
        }
        *bits |= bit;
        Ok(())
    }
}
