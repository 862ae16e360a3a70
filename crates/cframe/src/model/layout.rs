//! The positions of everything in a frame, and the order in which it is written.
//!
//! A commit writes new chunks to space that no byte in use occupies. It then writes the offsets and the trailer after all
//! chunks, where they do not touch those in use either, syncs, and writes the header. The header makes the rest part of the
//! frame, and its changed bytes are within one sector, so every reader sees the old frame or the new one:
//!
//! ```text
//! header │ chunks │ old offsets, old trailer │ new chunk │ new offsets, new trailer
//!    └──── points to the old ones until it is written, then to the new ones
//! ```
//!
//! The space of the old offsets and trailer is used by later commits. If the change of a header is in two sectors, the commit
//! goes through a journal instead.

use std::ops::Range;
use std::sync::Arc;

use sciformats_core::arith::{add, increase, present, sub, sum};
use sciformats_core::commit::{self, Decisive, SECTOR, Write};
use sciformats_core::storage::Patch;
use sciformats_core::{Limits, Result, bound};

use super::chunk::PLAIN;
use super::compress::{compress, ordinary};
use super::frame::Frame;
use super::params::{Params, Split};
use crate::spec::chunk_header::{ChunkHeader, Special};
use crate::spec::frame_header::{ChunkSize, FrameHeader, Varying};
use crate::spec::offset::Offset;
use crate::spec::pipeline::Codec;
use crate::spec::trailer::Trailer;

/// The block size of the offsets chunk, which is what a look-up must decode.
const OFFSETS_BLOCK: u32 = 16 << 10;

/// A chunk of a frame that is being edited.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) place: Place,
    /// The size of the decoded chunk.
    pub(crate) nbytes: u32,
}

/// The place of a chunk's bytes.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// In the frame that is being edited, at this entry of its offsets.
    Stored(Offset),
    /// In memory, because they are not written yet.
    New(Arc<Vec<u8>>),
}

/// What an editor knows about the space of a frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct Space {
    /// Ranges below `chunks_end` that no chunk uses.
    pub(crate) free: Vec<Range<u64>>,
    /// The largest end of a chunk.
    pub(crate) chunks_end: u64,
}

/// A commit, and the state after it.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) plan: commit::Plan<'static>,
    pub(crate) space: Space,
}

impl Space {
    /// Returns the space of a frame about which nothing else is known.
    pub(crate) fn of(frame: &Frame) -> Self {
        Self { free: Vec::new(), chunks_end: frame.index_range().start }
    }

    /// Takes `len` bytes from the free ranges.
    fn take(&mut self, len: u64) -> Option<u64> {
        let range = self.free.iter_mut().find(|range| bound::left(range.end, range.start) >= len)?;
        let at = range.start;
        range.start = range.start.checked_add(len)?;
        Some(at)
    }
}

/// Returns the chunk size for a header.
pub(crate) fn chunk_size(sizes: impl IntoIterator<Item = u32>) -> ChunkSize {
    let mut sizes = sizes.into_iter();
    let Some(first) = sizes.next() else { return ChunkSize::Unknown };
    // Only the last chunk may be shorter. A chunk without bytes would make the number of chunks ambiguous.
    let mut shorter = false;
    for size in sizes {
        if shorter || size > first || size == 0 {
            return ChunkSize::Variable;
        }
        shorter = size < first;
    }
    if first == 0 { ChunkSize::Variable } else { ChunkSize::Fixed(first) }
}

/// Completes a header with the properties of its chunks.
pub(crate) fn describe(header: &mut FrameHeader, entries: &[Entry]) -> Result<()> {
    header.nbytes = sum(entries.iter().map(|entry| u64::from(entry.nbytes)))?;
    header.chunksize = match chunk_size(entries.iter().map(|entry| entry.nbytes)) {
        ChunkSize::Unknown => header.chunksize,
        known => known,
    };
    let varying = Varying { chunks: header.chunksize == ChunkSize::Variable, blocks: header.has_vl_blocks() };
    header.general_flags = FrameHeader::general_flags(varying);
    Ok(())
}

/// A new chunk as it is stored. Nothing is stored if its kind and its size say everything.
pub(crate) enum Stored {
    Nothing(Offset),
    Bytes(Arc<Vec<u8>>),
}

/// Returns how a new chunk of elements of `typesize` bytes is stored. If sizes vary, or a chunk ends within an element, other readers
/// refuse chunks that store nothing but their kind, so these become ordinary chunks.
pub(crate) fn stored(
    bytes: &Arc<Vec<u8>>,
    (chunksize, typesize): (ChunkSize, u32),
    limits: &Limits,
) -> Result<Stored> {
    let header = ChunkHeader::parse(bytes).ok().map(|(_, header)| header);
    let special = header.as_ref().and_then(ChunkHeader::special);
    let partial = header.is_some_and(|header| !header.nbytes.is_multiple_of(typesize.max(1)));
    match (special, chunksize) {
        (Some(_), _) if partial => Ok(Stored::Bytes(Arc::new(ordinary(bytes, limits)?))),
        (Some(kind @ (Special::Zeros | Special::Nan | Special::Uninit)), ChunkSize::Fixed(_)) => {
            Ok(Stored::Nothing(Offset::Special(kind)))
        }
        (Some(_), ChunkSize::Variable) => Ok(Stored::Bytes(Arc::new(ordinary(bytes, limits)?))),
        _ => Ok(Stored::Bytes(bytes.clone())),
    }
}

/// Returns the offsets chunk, which is empty for a frame without decoded bytes.
pub(crate) fn encode_offsets(offsets: &[Offset], nbytes: u64) -> Result<Vec<u8>> {
    if nbytes == 0 {
        return Ok(Vec::new());
    }
    let mut bytes = Vec::new();
    offsets.iter().for_each(|offset| offset.encode(&mut bytes));
    let params = Params::new(Offset::SIZE)
        .with_codec(Codec::BloscLz)
        .with_split(Split::Never)
        .with_blocksize(OFFSETS_BLOCK);
    compress(&bytes, &params, &PLAIN)
}

/// Plans the commit of `entries` to the file that contains `frame`. `header` and `trailer` are the new ones; the header must be
/// as long as the old one.
pub(crate) fn plan(
    frame: &Frame,
    space: &Space,
    entries: &[Entry],
    mut header: FrameHeader,
    trailer: &Trailer,
) -> Result<Plan> {
    let header_len = u64::from(frame.header().header_len);
    let old_index = frame.index_range();
    let mut space = space.clone();
    let mut cursor = frame.frame_len();
    describe(&mut header, entries)?;
    let (offsets, mut writes) = place(entries, &header, frame, |len| {
        let at = match space.take(len) {
            Some(at) => at,
            None => advance(&mut cursor, len)?,
        };
        space.chunks_end = space.chunks_end.max(add(at, len)?);
        Ok(at)
    })?;
    let mut index = encode_offsets(&offsets, header.nbytes)?;
    index.extend(trailer.encode()?);
    let len = index.len() as u64;
    if header.nbytes == 0 {
        // Without an offsets chunk, the trailer follows the header, where bytes in use are.
        return rewritten(frame, header, index);
    }
    // The index is written after all chunks: before the index in use if there is space, otherwise after everything.
    let below = add(space.chunks_end, len)? <= old_index.start;
    let index_at = if below { space.chunks_end } else { cursor.max(old_index.end) };
    header.cbytes = sub(index_at, header_len)?;
    header.frame_len = add(index_at, len)?;
    space.free.retain(|range| !range.is_empty());
    let freed = old_index.start.max(header_len)..old_index.end.min(space.chunks_end);
    if freed.start < freed.end {
        space.free.push(freed);
    }
    let new_header = header.encode()?;
    match changed(&frame.header().encode()?, &new_header) {
        Some(range) if in_one_sector(&range) => {
            writes.push(Write::new(index_at, index));
            let decisive = Decisive::OneSector(Write::new(range.start as u64, part(&new_header, &range)?));
            let old_len = frame.storage_len();
            let ends = writes.iter().map(|write| present(write.end(), "end of a write"));
            let end = ends.collect::<Result<Vec<_>>>()?.into_iter().fold(frame.frame_len(), u64::max);
            // What an earlier commit left after the frame stays, unless the next commit would not recognise it.
            let new_len = if frame.may_leave(end)? { old_len } else { end };
            Ok(Plan { plan: commit::Plan { fresh: writes, decisive, old_len, new_len }, space })
        }
        _ => journalled(frame, header, entries, trailer),
    }
}

/// Takes `len` bytes at the cursor.
fn advance(cursor: &mut u64, len: u64) -> Result<u64> {
    let at = *cursor;
    increase(cursor, len)?;
    Ok(at)
}

/// Returns the places of all chunks, and the writes of the new ones; `allocate` returns the position for a number of bytes.
fn place(
    entries: &[Entry],
    header: &FrameHeader,
    frame: &Frame,
    mut allocate: impl FnMut(u64) -> Result<u64>,
) -> Result<(Vec<Offset>, Vec<Write<'static>>)> {
    let header_len = u64::from(frame.header().header_len);
    let mut offsets = Vec::with_capacity(entries.len());
    let mut writes = Vec::new();
    for entry in entries {
        let stored = match &entry.place {
            Place::Stored(offset) => Stored::Nothing(*offset),
            Place::New(bytes) => stored(bytes, (header.chunksize, header.typesize), frame.limits())?,
        };
        match stored {
            Stored::Nothing(offset) => offsets.push(offset),
            Stored::Bytes(bytes) => {
                let at = allocate(bytes.len() as u64)?;
                offsets.push(Offset::At(sub(at, header_len)?));
                writes.push(Write::new(at, bytes.as_slice().to_vec()));
            }
        }
    }
    Ok((offsets, writes))
}

/// Returns a commit whose header changes in several sectors. Everything new is written after the old frame, and the header goes
/// through the journal.
fn journalled(frame: &Frame, mut header: FrameHeader, entries: &[Entry], trailer: &Trailer) -> Result<Plan> {
    let header_len = u64::from(frame.header().header_len);
    let old_len = frame.storage_len();
    let mut cursor = old_len;
    let (offsets, mut fresh) = place(entries, &header, frame, |len| advance(&mut cursor, len))?;
    let mut index = encode_offsets(&offsets, header.nbytes)?;
    index.extend(trailer.encode()?);
    let space = Space { free: Vec::new(), chunks_end: cursor };
    header.cbytes = sub(cursor, header_len)?;
    header.frame_len = add(cursor, index.len() as u64)?;
    let new_len = header.frame_len;
    fresh.push(Write::new(cursor, index));
    let new_header = header.encode()?;
    let patches: Vec<Patch> = changed(&frame.header().encode()?, &new_header)
        .map(|range| Ok(Patch { offset: range.start as u64, bytes: part(&new_header, &range)? }))
        .into_iter()
        .collect::<Result<_>>()?;
    let decisive = Decisive::Journal(patches);
    Ok(Plan { plan: commit::Plan { fresh, decisive, old_len, new_len }, space })
}

/// Returns a commit of a frame without chunks, which goes through the journal completely.
fn rewritten(frame: &Frame, mut header: FrameHeader, index: Vec<u8>) -> Result<Plan> {
    let header_len = u64::from(frame.header().header_len);
    let old_len = frame.storage_len();
    header.cbytes = 0;
    header.frame_len = add(header_len, index.len() as u64)?;
    let new_len = old_len.max(header.frame_len);
    let mut bytes = header.encode()?;
    bytes.extend(index);
    let inside = bound::addressable(old_len).min(bytes.len());
    let beyond = bytes.split_off(inside);
    let fresh = if beyond.is_empty() { Vec::new() } else { vec![Write::new(old_len, beyond)] };
    let decisive = Decisive::Journal(vec![Patch { offset: 0, bytes }]);
    Ok(Plan {
        plan: commit::Plan { fresh, decisive, old_len, new_len },
        space: Space { free: Vec::new(), chunks_end: header_len },
    })
}

/// Returns the range of bytes that differ, from the first to the last.
fn changed(old: &[u8], new: &[u8]) -> Option<Range<usize>> {
    let first = old.iter().zip(new).position(|(a, b)| a != b)?;
    let last = old.iter().zip(new).rposition(|(a, b)| a != b)?;
    Some(first..last.checked_add(1)?)
}

fn in_one_sector(range: &Range<usize>) -> bool {
    let sector = |at: usize| at as u64 / SECTOR;
    sector(range.start) == sector(bound::left(range.end, 1))
}

fn part(bytes: &[u8], range: &Range<usize>) -> Result<Vec<u8>> {
    present(bytes.get(range.clone()), "change of a header").map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    use sciformats_core::commit::{apply, replay};
    use sciformats_core::storage::Window;

    use super::super::chunk::Chunk;
    use super::super::compress::special;
    use super::super::options::OpenOptions;
    use super::super::schunk::SChunk;

    type Content = (Vec<u8>, Vec<(String, Vec<u8>)>);

    fn content(file: &[u8]) -> Content {
        let frame = Frame::from_storage(file.to_vec(), 0, &OpenOptions::default()).unwrap();
        let mut bytes = vec![0; frame.nbytes() as usize];
        frame.read_bytes(0, &mut bytes).unwrap();
        let vlmeta =
            frame.vlmeta_names().map(|name| (name.to_owned(), frame.vlmeta(name).unwrap())).collect();
        (bytes, vlmeta)
    }

    #[test]
    fn chunks_that_end_within_an_element_have_bytes() {
        let limits = &OpenOptions::default().limits;
        for (nbytes, typesize) in [(12, 4), (10, 4), (1, 2), (3, 3), (301, 300)] {
            let chunk = special(Special::Zeros, &[], (typesize, 0), nbytes).unwrap();
            match stored(&Arc::new(chunk), (ChunkSize::Fixed(nbytes), typesize), limits).unwrap() {
                Stored::Nothing(_) => assert_eq!(nbytes % typesize, 0),
                Stored::Bytes(bytes) => {
                    let chunk = Chunk::new(&bytes).unwrap();
                    assert!(nbytes % typesize != 0 && chunk.special().is_none(), "{nbytes} {typesize}");
                    assert_eq!(chunk.decode().unwrap(), vec![0; nbytes as usize]);
                }
            }
        }
    }

    /// Applies one edit to a file, and interrupts it wherever a crash could.
    fn edited(
        file: &[u8],
        space: &mut Option<Space>,
        edit: impl FnOnce(&mut SChunk),
    ) -> (Vec<u8>, replay::Cuts, usize) {
        let mut schunk = SChunk::from_bytes(file.to_vec()).unwrap();
        edit(&mut schunk);
        let frame = Frame::from_storage(file.to_vec(), 0, &OpenOptions::default()).unwrap();
        let known = space.clone().unwrap_or_else(|| Space::of(&frame));
        let (entries, header, trailer) = schunk.parts().unwrap();
        let plan = plan(&frame, &known, &entries, header, &trailer).unwrap();
        let mut done = file.to_vec();
        let steps = plan.plan.steps(file.len() as u64).unwrap().into_list();
        apply(&steps, &mut done).unwrap();
        let (old, new) = (content(file), content(&done));
        assert_ne!(old, new);
        let cuts = replay::every_cut(file, &steps, |cut, file| {
            let seen = content(file);
            assert!(seen == old || seen == new, "{cut:?}: neither the old frame nor the new one");
        });
        let disks = replay::every_full_disk(file, &steps, |left| assert_eq!(content(left), old));
        *space = Some(plan.space);
        (done, cuts, disks)
    }

    #[test]
    fn every_cut_leaves_the_old_frame_or_the_new_one() {
        let noise = |seed: u64, len: usize| -> Vec<u8> {
            let mut state = seed;
            (0..len)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 56) as u8
                })
                .collect()
        };
        let mut schunk = SChunk::new(Params::new(4));
        (0..3).for_each(|i| schunk.append(&noise(i, 800)).unwrap());
        let mut file = schunk.to_bytes().unwrap();
        let mut space = None;
        let (mut cuts, mut disks) = (replay::Cuts::default(), 0);
        let mut step = |file: &mut Vec<u8>, edit: &dyn Fn(&mut SChunk)| {
            let (done, tried, full) = edited(file, &mut space, edit);
            *file = done;
            cuts += tried;
            disks += full;
        };
        step(&mut file, &|s| s.append(&noise(9, 800)).unwrap());
        step(&mut file, &|s| s.append(&noise(10, 400)).unwrap());
        step(&mut file, &|s| s.remove(4).unwrap());
        step(&mut file, &|s| s.update(1, &noise(11, 800)).unwrap());
        step(&mut file, &|s| s.set_vlmeta("a", &noise(12, 900)).unwrap());
        step(&mut file, &|s| s.insert(0, &noise(13, 300)).unwrap());
        step(&mut file, &|s| s.update(2, &[0; 800]).unwrap());
        step(&mut file, &|s| s.write_bytes(700, &noise(16, 900)).unwrap());
        step(&mut file, &|s| s.append_special(Special::Zeros, &[], 800).unwrap());
        step(&mut file, &|s| s.append_special(Special::Value, &noise(17, 4), 800).unwrap());
        step(&mut file, &|s| s.set_vlmeta("a", &noise(18, 30)).unwrap());
        step(&mut file, &|s| s.remove_vlmeta("a").unwrap());
        step(&mut file, &|s| {
            while s.chunks() > 0 {
                s.remove(0).unwrap();
            }
        });
        step(&mut file, &|s| s.set_vlmeta("b", &noise(14, 2000)).unwrap());
        step(&mut file, &|s| s.append(&noise(15, 900)).unwrap());
        println!("crash matrix: blosc2: commits to files: {cuts}, {disks} full disks");
        assert!(
            cuts.prefixes > 50 && cuts.torn > 20 && cuts.reordered > 10 && disks > 20,
            "{cuts:?}, {disks}"
        );
    }

    /// Commits chunks of an array that grows, shrinks and is written to.
    #[test]
    fn every_cut_of_a_commit_of_an_array_leaves_the_old_one_or_the_new_one() {
        use crate::{Array, ArrayParams, Slab};

        let spec = ArrayParams::new(&[6, 5], "<i4").unwrap().with_chunks(&[2, 5]).with_blocks(&[1, 5]);
        let mut array = Array::new(&spec).unwrap();
        let all: Vec<u8> = (0..30i32).flat_map(|i| (i * 77_777).to_le_bytes()).collect();
        array.write_slab_bytes(&Slab::all(&[6, 5]).unwrap(), &all).unwrap();
        let mut file = array.schunk().to_bytes().unwrap();
        let seen = |file: &[u8]| {
            let frame = Frame::from_storage(file.to_vec(), 0, &OpenOptions::default()).unwrap();
            let array = Array::from_frame(frame).unwrap();
            (array.shape().to_vec(), array.read_bytes().unwrap())
        };
        let mut cuts = replay::Cuts::default();
        let edits: [&dyn Fn(&mut Array); 4] = [
            &|a| a.append_bytes(0, &all[..40]).unwrap(),
            &|a| a.write_slab_bytes(&Slab::all(&[8, 5]).unwrap(), &[3; 160]).unwrap(),
            &|a| a.resize(&[3, 5]).unwrap(),
            &|a| a.append_bytes(1, &all[..12]).unwrap(),
        ];
        for edit in edits {
            let mut array = Array::from_schunk(SChunk::from_bytes(file.clone()).unwrap()).unwrap();
            edit(&mut array);
            let frame = Frame::from_storage(file.clone(), 0, &OpenOptions::default()).unwrap();
            let (entries, header, trailer) = array.schunk().parts().unwrap();
            let plan = plan(&frame, &Space::of(&frame), &entries, header, &trailer).unwrap();
            let mut done = file.clone();
            let steps = plan.plan.steps(file.len() as u64).unwrap().into_list();
            apply(&steps, &mut done).unwrap();
            let (old, new) = (seen(&file), seen(&done));
            assert_ne!(old, new);
            cuts += replay::every_cut(&file, &steps, |cut, file| {
                let found = seen(file);
                assert!(found == old || found == new, "{cut:?}: neither the old array nor the new one");
            });
            file = done;
        }
        println!("crash matrix: blosc2: commits of arrays: {cuts}");
        assert!(cuts.total() > 40, "{cuts:?}");
    }

    #[test]
    fn a_header_that_changes_in_two_sectors_goes_through_the_journal() {
        let mut schunk = SChunk::new(Params::new(1));
        schunk.set_metalayer("long", &[1; 2000]).unwrap();
        schunk.append(&[5; 100]).unwrap();
        let file = schunk.to_bytes().unwrap();
        let (done, cuts, _) = edited(&file, &mut None, |s| {
            s.set_metalayer("long", &[2; 2000]).unwrap();
            s.append(&[6; 100]).unwrap();
        });
        assert!(cuts.total() > 10);
        let frame = Frame::from_bytes(done).unwrap();
        assert_eq!(frame.metalayer("long").unwrap(), [2; 2000]);
    }

    #[test]
    fn appending_reuses_what_old_offsets_leave() {
        let mut schunk = SChunk::new(Params::new(1).with_level(0));
        schunk.append(&[1; 100]).unwrap();
        let mut file = schunk.to_bytes().unwrap();
        let mut space = None;
        for i in 0..40u8 {
            let frame = Frame::from_bytes(file.clone()).unwrap();
            let mut schunk = SChunk::from_bytes(file.clone()).unwrap();
            schunk.append(&[i; 100]).unwrap();
            let (entries, header, trailer) = schunk.parts().unwrap();
            let known = space.clone().unwrap_or_else(|| Space::of(&frame));
            let plan = plan(&frame, &known, &entries, header, &trailer).unwrap();
            let steps = plan.plan.steps(file.len() as u64).unwrap().into_list();
            apply(&steps, &mut file).unwrap();
            space = Some(plan.space);
        }
        let compact = SChunk::from_bytes(file.clone()).unwrap().to_bytes().unwrap();
        assert_eq!(content(&file), content(&compact));
        assert!(file.len() < 2 * compact.len(), "{} {}", file.len(), compact.len());
        let shifted = [vec![0; 77], file].concat();
        let frame = Frame::from_storage(shifted.clone(), 77, &OpenOptions::default()).unwrap();
        assert_eq!(frame.chunks(), 41);
        assert!(Window::new(shifted, 77, 10).is_ok());
    }

    #[test]
    fn sizes_of_chunks() {
        assert_eq!(chunk_size([]), ChunkSize::Unknown);
        assert_eq!(chunk_size([5]), ChunkSize::Fixed(5));
        assert_eq!(chunk_size([5, 5, 3]), ChunkSize::Fixed(5));
        assert_eq!(chunk_size([5, 3, 5]), ChunkSize::Variable);
        assert_eq!(chunk_size([5, 6]), ChunkSize::Variable);
        assert_eq!(chunk_size([5, 0]), ChunkSize::Variable);
        assert_eq!(chunk_size([0]), ChunkSize::Variable);
    }

    #[test]
    fn changes_and_sectors() {
        assert_eq!(changed(b"abcd", b"axyd"), Some(1..3));
        assert_eq!(changed(b"abcd", b"abcd"), None);
        assert!(in_one_sector(&(0..512)) && !in_one_sector(&(511..513)) && in_one_sector(&(512..600)));
    }
}
