//! The bytes of chunks whose dataset is lost, as datasets below `/lost+found`. Nothing says of which type the elements were, so that
//! each place of the grid of chunks has the bytes of one chunk.

use hdf5_pure::structure::{FoundMessage, LooseBytes, StoredChunk};
use hdf5_pure::{Address, File};
use sciformats_core::inflate::Inflater;
use sciformats_core::storage::Patch;
use sciformats_core::{Error, Result, bound};

use super::Work;
use super::loose::{CHUNKS, Index, Unit};
use super::streams::inflated;
use crate::report::Confidence;

/// The attributes that say what is known of the chunks: the address of their index, the shape of a chunk, the size of an element in
/// bytes, the index of the first element of the chunk in the first place, and how many elements lie between the first ones of chunks
/// in neighbouring places. Indexes that count chunks say which of them is in the first place instead.
const INDEX: &str = "index";
const CHUNK: &str = "chunk_shape";
const ELEMENT: &str = "element_size";
const FIRST: &str = "first_element";
const STEP: &str = "chunk_step";
const FIRST_CHUNK: &str = "first_chunk";

/// The bytes that may be decoded for each byte of the chunks, and how many more, to see whether they are streams of deflate.
const PER_BYTE: u64 = 64;
const BUDGET: u64 = 1 << 30;
/// A grid may have so many places for each chunk that is there, and so many more.
const PER_CHUNK: u64 = 4;
const PLACES: u64 = 64;
/// The most dimensions of a grid, which has one for the bytes of a chunk as well.
const RANK: usize = 31;
/// The most objects that are made.
const OBJECTS: usize = 1 << 16;
/// The bytes of the first part of a header.
const HEADER: u64 = 64;

/// How chunks are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stored {
    /// As streams of deflate, each of which decodes to so many bytes.
    Deflated(u64),
    /// In so many bytes each.
    Equal(u64),
    /// In different numbers of bytes.
    Different,
}

/// Chunks in the places of a grid.
struct Grid {
    /// The numbers of places.
    shape: Vec<u64>,
    first: Vec<u64>,
    step: Vec<u64>,
}

/// The structures that are made, and the objects among them: the address, the path and why something is missing.
struct Made {
    next: u64,
    patches: Vec<Patch>,
    objects: Vec<(u64, String, String)>,
    /// Those of them in which places are empty.
    partial: Vec<u64>,
}

impl Work {
    /// Makes datasets of the chunks whose index no dataset that can be read has. Returns whether there are any.
    pub(super) fn rescue_chunks(&mut self, file: &File, orphans: &[(u64, String)]) -> Result<bool> {
        // Without a base, addresses do not tell where chunks are.
        let (indexes, left_out) =
            if self.adrift.is_some() { (Vec::new(), Vec::new()) } else { self.loose_indexes(file) };
        for at in left_out {
            let reason = format!("the indexes of lost datasets have more than {CHUNKS} chunks together");
            self.act("leave out the chunks of an index", at, reason, Confidence::High);
        }
        let stored = indexes.iter().flat_map(|index| &index.chunks).map(|chunk| chunk.size);
        let mut budget = bound::sum(BUDGET, bound::product(PER_BYTE, stored.fold(0, bound::sum)));
        let mut places = self.places("chunks_", orphans);
        let mut made =
            Made { next: self.next, patches: Vec::new(), objects: Vec::new(), partial: Vec::new() };
        let mut links = orphans.to_vec();
        for mut index in indexes {
            let stored = match index.chunks.first() {
                Some(first) if !index.sized => Stored::Equal(first.size),
                _ => self.stored(&index.chunks, &mut budget),
            };
            if index.width(stored).is_none() {
                // The sizes of the chunks contradict the key.
                index.sides = None;
            }
            let index = &index;
            let grid = index.grid().filter(|_| stored != Stored::Different);
            let path = places(index.at);
            let before = made.objects.len();
            let objects = if grid.is_some() { 1 } else { bound::sum(index.chunks.len(), 1) };
            let result = match &grid {
                _ if bound::sum(before, objects) > OBJECTS => Err(Error::unsupported(format!(
                    "more than {OBJECTS} objects for chunks of lost datasets"
                ))),
                Some(grid) => self.grid_of(index, (stored, grid), &path, &mut made),
                None => self.one_by_one(index, stored, &path, &mut made),
            };
            let (kind, reason, confidence) = match result {
                Ok(at) => {
                    links.push((at, path));
                    let reason = format!(
                        "no dataset that can be read has them: {}",
                        index.known(stored, grid.as_ref())
                    );
                    ("link the chunks of an index below /lost+found", reason, Confidence::Medium)
                }
                Err(error) => {
                    made.objects.truncate(before);
                    ("leave out the chunks of an index", error.to_string(), Confidence::High)
                }
            };
            self.act(kind, index.at, reason, confidence);
        }
        let Made { patches, objects, partial, .. } = made;
        if objects.is_empty() {
            return Ok(false);
        }
        self.lay(patches);
        for (at, path, why) in objects {
            self.tree.walk(&self.carver, at, &path);
            self.mended.insert(at, Some(why));
            self.pieces.insert(at);
        }
        self.reindexed.extend(partial);
        self.rewrite_groups(&links)?;
        Ok(true)
    }

    /// Tells how chunks are stored: as streams of deflate, if most of those outside of sectors of zeros are ones that decode to the same
    /// number of bytes, and none is one that decodes to another. A chunk that is none may be damaged, or so small that the filter was
    /// left out, which its mask says.
    fn stored(&self, chunks: &[StoredChunk], budget: &mut u64) -> Stored {
        let mut inflater = Inflater::new();
        let mut out = Vec::new();
        let (mut size, mut count, mut others, mut one_size) = (None, 0usize, 0usize, true);
        let mut is_complete = true;
        for chunk in chunks {
            let start = self.carver.offset(chunk.address);
            let bytes = self.source.read_at(start, bound::addressable(chunk.size));
            let (Some(left), Ok(bytes)) = (budget.checked_sub(chunk.size), bytes) else {
                is_complete = false;
                break;
            };
            *budget = left;
            if inflated(&mut inflater, &bytes, &mut out, budget).is_none() {
                // What is in sectors of zeros may have been a stream.
                others = bound::sum(others, usize::from(!self.in_zeros(start, chunk.size)));
                continue;
            }
            count = bound::sum(count, 1);
            one_size &= size.is_none_or(|size| size == out.len());
            size = Some(out.len());
        }
        let is_most = is_complete && count >= others;
        if let Some(size) = size.filter(|&size| one_size && is_most && size > 0) {
            return Stored::Deflated(size as u64);
        }
        match chunks.first() {
            Some(first) if chunks.iter().all(|chunk| chunk.size == first.size) => Stored::Equal(first.size),
            _ => Stored::Different,
        }
    }

    /// Makes one dataset with the bytes of each chunk in its place of the grid.
    fn grid_of(
        &self,
        index: &Index,
        (stored, grid): (Stored, &Grid),
        path: &str,
        made: &mut Made,
    ) -> Result<u64> {
        let placed = index.chunks.iter().map(|chunk| {
            let places = chunk.scaled.iter().zip(&grid.first).zip(&grid.step);
            let places = places.map(|((at, first), step)| bound::left(*at, *first) / (*step).max(1));
            (places.collect(), chunk)
        });
        let placed: Vec<(Vec<u64>, &StoredChunk)> = placed.collect();
        let mut attributes = index.attributes(&self.carver, stored)?;
        if index.unit == Unit::Elements {
            attributes.push(self.carver.numbers_message(FIRST, &grid.first)?);
            attributes.push(self.carver.numbers_message(STEP, &grid.step)?);
        } else {
            attributes.push(self.carver.numbers_message(FIRST_CHUNK, &grid.first)?);
        }
        let at = self.dataset_of(&placed, (stored, &grid.shape), &attributes, made)?;
        let why = format!(
            "the header of the dataset is lost, and so is the type of its elements; {}",
            index.known(stored, Some(grid))
        );
        made.objects.push((at, path.to_owned(), why));
        if grid.places() > index.chunks.len() as u64 {
            made.partial.push(at);
        }
        Ok(at)
    }

    /// Makes a group with a dataset for each chunk, whose name is its position.
    fn one_by_one(&self, index: &Index, stored: Stored, path: &str, made: &mut Made) -> Result<u64> {
        let mut links = Vec::new();
        for chunk in &index.chunks {
            let at = self.dataset_of(&[(Vec::new(), chunk)], (stored, &[]), &[], made)?;
            let numbers: Vec<String> = chunk.scaled.iter().map(ToString::to_string).collect();
            let name = numbers.join("_");
            let why = "the header of the dataset is lost, and so is the type of its elements".to_owned();
            made.objects.push((at, super::reach::join(path, &name), why));
            links.push(super::orphans::link(&name, at));
        }
        let mut messages = self.carver.group_messages(&links)?;
        messages.extend(index.attributes(&self.carver, stored)?);
        let at = made.object(&self.carver, &messages)?;
        let why = format!("the header of the dataset is lost; {}", index.known(stored, None));
        made.objects.push((at, path.to_owned(), why));
        Ok(at)
    }

    /// Makes a dataset of chunks with their places, which has one more dimension than these.
    fn dataset_of(
        &self,
        placed: &[(Vec<u64>, &StoredChunk)],
        (stored, grid): (Stored, &[u64]),
        attributes: &[FoundMessage],
        made: &mut Made,
    ) -> Result<u64> {
        let deflated = matches!(stored, Stored::Deflated(_));
        let size = match stored {
            Stored::Deflated(size) | Stored::Equal(size) => size,
            Stored::Different => placed.first().map_or(0, |(_, chunk)| chunk.size),
        };
        let shape = [grid, &[size]].concat();
        let chunk: Vec<u64> = grid.iter().map(|_| 1).chain([size]).collect();
        let chunks: Vec<StoredChunk> = placed
            .iter()
            .map(|(place, chunk)| StoredChunk {
                scaled: [place.as_slice(), &[0]].concat(),
                address: chunk.address,
                size: chunk.size,
                // A chunk for which a filter was left out, and which has all its bytes, is no stream.
                filter_mask: u32::from(deflated && chunk.filter_mask != 0 && chunk.size == size),
            })
            .collect();
        let (bytes, tree) = self.carver.chunk_tree(&chunks, &chunk, Address(made.next))?;
        made.lay(&self.carver, bytes);
        let bytes = LooseBytes { shape: &shape, chunk: &chunk, deflated, tree };
        let mut messages = self.carver.bytes_messages(&bytes)?;
        messages.extend_from_slice(attributes);
        made.object(&self.carver, &messages)
    }
}

impl Grid {
    fn places(&self) -> u64 {
        self.shape.iter().fold(1, |all, &n| bound::product(all, n))
    }
}

impl Made {
    /// Lays bytes behind what was made so far.
    fn lay(&mut self, carver: &hdf5_pure::structure::Carver, bytes: Vec<u8>) {
        let end = bound::sum(self.next, bytes.len() as u64);
        self.patches.push(Patch { offset: carver.offset(Address(self.next)), bytes });
        self.next = end.next_multiple_of(8);
    }

    /// Lays a header with these messages, and returns its address.
    fn object(&mut self, carver: &hdf5_pure::structure::Carver, messages: &[FoundMessage]) -> Result<u64> {
        let at = self.next;
        let rest = bound::sum(at, HEADER);
        let [first, second] = carver.object(Address(at), messages, Address(rest))?;
        self.next = bound::sum(rest, second.bytes.len() as u64).next_multiple_of(8);
        self.patches.extend([first, second]);
        Ok(at)
    }
}

impl Index {
    /// Returns the grid of the chunks, unless it is so sparse that most of its places would be empty.
    fn grid(&self) -> Option<Grid> {
        let axes = 0..self.rank;
        let along = |axis: usize| self.chunks.iter().filter_map(move |chunk| chunk.scaled.get(axis).copied());
        let first: Vec<u64> = axes.clone().map(|axis| along(axis).min().unwrap_or(0)).collect();
        let step: Vec<u64> = match &self.sides {
            Some(sides) => sides.clone(),
            None if self.unit != Unit::Elements => vec![1; self.rank],
            None => axes.map(|axis| along(axis).fold(0, divisor).max(1)).collect(),
        };
        let last = (0..self.rank).map(|axis| along(axis).max().unwrap_or(0));
        let places = last.zip(&first).zip(&step);
        let shape: Vec<u64> = places
            .map(|((last, first), step)| bound::sum(bound::left(last, *first) / (*step).max(1), 1))
            .collect();
        let grid = Grid { shape, first, step };
        let most = bound::sum(PLACES, bound::product(PER_CHUNK, self.chunks.len() as u64));
        (self.rank <= RANK && grid.places() <= most).then_some(grid)
    }

    /// Returns the size of an element, if the key that tells the shape of a chunk has it, or else that which makes chunks as large as
    /// they are.
    fn width(&self, stored: Stored) -> Option<u64> {
        let elements = self.sides.as_ref()?.iter().fold(1, |all, &n| bound::product(all, n));
        let (Stored::Deflated(size) | Stored::Equal(size)) = stored else { return self.element_size };
        let fits = size.is_multiple_of(elements.max(1)) && size >= elements;
        self.element_size.or(fits.then_some(size / elements.max(1)))
    }

    /// Returns what is known of the chunks as attributes.
    fn attributes(&self, carver: &hdf5_pure::structure::Carver, stored: Stored) -> Result<Vec<FoundMessage>> {
        let mut attributes = vec![carver.numbers_message(INDEX, &[self.at])?];
        if let (Some(sides), Some(width)) = (&self.sides, self.width(stored)) {
            attributes.push(carver.numbers_message(CHUNK, sides)?);
            attributes.push(carver.numbers_message(ELEMENT, &[width])?);
        }
        Ok(attributes)
    }

    /// Says in words what is known of the chunks.
    fn known(&self, stored: Stored, grid: Option<&Grid>) -> String {
        let lacks = bound::left(self.named, self.chunks.len());
        let left_out = match lacks {
            0 => String::new(),
            _ => format!(", and {lacks} more whose bytes are lost or belong to something else"),
        };
        let form = match (grid, self.unit) {
            (Some(_), _) => "each place of the grid has the bytes of one chunk",
            (None, Unit::Elements) => {
                "each member has the bytes of one chunk, and the index of its first element as its name"
            }
            (None, Unit::Chunks) => {
                "each member has the bytes of one chunk, and its position, counted in chunks, as its name"
            }
            (None, Unit::Numbers) => "each member has the bytes of one chunk, and its number as its name",
        };
        let filters = match stored {
            _ if !self.sized => {
                "chunks have no filters, and the index does not tell how many bytes they have: here are as many as \
                 the next thing in the file leaves to each of them"
            }
            Stored::Deflated(_) => "deflate is undone, and the bytes may be shuffled",
            Stored::Equal(size) if self.bytes() == Some(size) => {
                "the bytes are as they were stored, and may be shuffled"
            }
            _ => "the bytes are as they were stored, and nothing tells by which filters",
        };
        let (count, shape) = (self.chunks.len(), self.known_shape(stored, grid));
        format!("the index at {:#x} leads to {count} chunks{left_out}; {form}; {shape}; {filters}", self.at)
    }

    /// Says in words what is known of the shape of a chunk.
    fn known_shape(&self, stored: Stored, grid: Option<&Grid>) -> String {
        let by = |numbers: &[u64]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" by ");
        match (self.unit, &self.sides, self.width(stored), grid) {
            (Unit::Chunks, ..) => {
                "positions are counted in chunks, and nothing tells the shape of a chunk".to_owned()
            }
            (Unit::Numbers, ..) => "chunks are numbered as their array numbers them, and nothing tells the \
                                    shape of a chunk and the dimensions of the dataset"
                .to_owned(),
            (_, Some(sides), Some(width), _) => format!(
                "the last key and the sizes say that a chunk has {} elements of {width} bytes",
                by(sides)
            ),
            (_, _, _, Some(grid)) => format!(
                "the offsets of chunks are multiples of {}, and nothing else tells the shape of a chunk",
                by(&grid.step)
            ),
            _ => "nothing but the offsets of chunks tells the shape of a chunk".to_owned(),
        }
    }

    /// Returns the bytes of a chunk without filters, if a key tells them.
    fn bytes(&self) -> Option<u64> {
        let sides = self.sides.as_ref()?;
        Some(sides.iter().fold(self.element_size?, |all, &n| bound::product(all, n)))
    }
}

/// Returns the greatest common divisor; that of zero and a number is this number.
fn divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(firsts: &[[u64; 2]], sides: Option<Vec<u64>>, element_size: Option<u64>) -> Index {
        let chunk = |first: &[u64; 2]| StoredChunk {
            scaled: first.to_vec(),
            address: Address(4096),
            size: 80,
            filter_mask: 0,
        };
        let chunks: Vec<StoredChunk> = firsts.iter().map(chunk).collect();
        Index {
            at: 800,
            rank: 2,
            named: chunks.len(),
            chunks,
            sides,
            element_size,
            unit: Unit::Elements,
            sized: true,
        }
    }

    #[test]
    fn offsets_make_a_grid() {
        let firsts = [[0, 0], [0, 6], [20, 0], [60, 6]];
        let grid = index(&firsts, None, None).grid().unwrap();
        assert_eq!((grid.shape, grid.step), (vec![4, 2], vec![20, 6]));
        let grid = index(&firsts, Some(vec![10, 6]), None).grid().unwrap();
        assert_eq!((grid.shape, grid.step), (vec![7, 2], vec![10, 6]));
        // The first chunks are lost, and another grid is almost empty.
        let grid = index(&[[1000, 0], [1010, 0]], None, None).grid().unwrap();
        assert_eq!((grid.shape, grid.first, grid.step), (vec![2, 1], vec![1000, 0], vec![10, 1]));
        assert!(index(&[[0, 0], [7, 0], [u64::MAX, 11]], None, None).grid().is_none());
    }

    #[test]
    fn the_size_of_an_element_follows_from_that_of_a_chunk() {
        let firsts = [[0, 0], [0, 2]];
        let width = |sides: Option<Vec<u64>>, size, stored| index(&firsts, sides, size).width(stored);
        assert_eq!(width(Some(vec![5, 2]), None, Stored::Equal(80)), Some(8));
        assert_eq!(width(Some(vec![7, 2]), None, Stored::Equal(80)), None);
        assert_eq!(width(Some(vec![7, 2]), Some(4), Stored::Different), Some(4));
        assert_eq!(width(None, None, Stored::Deflated(80)), None);
    }
}
