//! How the elements of a dataset move from its chunks into chunks of another shape: every stored chunk is decoded once, every new
//! chunk is encoded once, and memory holds a few regions.
//!
//! If regions of whole chunks on both sides fit in memory, elements are copied region by region. Otherwise they pass through a
//! scratch file: first whole stored chunks are read, and divided into blocks that belong to one group of new chunks each; then each
//! group is put together from its blocks.

use sciformats_core::storage::Replacement;
use sciformats_core::{Range, ReadAt, Slab, WriteAt, bound};

use sciformats::{Error, Result};

/// The largest size of a region in bytes. At most four of them are in memory.
const REGION: u64 = 64 << 20;
/// Smaller regions are enlarged, so that the work per region does not matter.
const SMALL: u64 = 4 << 20;

/// How elements move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// In regions of these sides.
    Once(Vec<u64>),
    /// Through a scratch file: read in regions of the first sides, and written in regions of the second ones.
    Scratch(Vec<u64>, Vec<u64>),
}

/// Plans the way from chunks with the sides `stored` to chunks with the sides `wanted`. Elements that are stored one after another
/// have no sides. `size` is that of an element.
pub(super) fn plan(
    shape: &[u64],
    (stored, wanted): (Option<&[u64]>, Option<&[u64]>),
    (size, memory): (u64, u64),
) -> Plan {
    let ones = vec![1; shape.len()];
    let (from, to) = (stored.unwrap_or(&ones), wanted.unwrap_or(&ones));
    let sides = |of: &[u64]| -> Vec<u64> {
        of.iter().zip(shape).map(|(side, n)| (*side).clamp(1, (*n).max(1))).collect()
    };
    let (from, to) = (sides(from), sides(to));
    let common: Vec<u64> =
        from.iter().zip(&to).zip(shape).map(|((a, b), n)| multiple(*a, *b).min(*n).max(1)).collect();
    let most = REGION.min(memory / 4).max(1);
    // A chunk that is too large by itself is in memory anyhow.
    let whole = most.max(bytes(&from, size)).max(bytes(&to, size));
    if bytes(&common, size) <= whole {
        return Plan::Once(grown(common.clone(), &common, shape, (size, SMALL.min(most))));
    }
    // Growing towards the new chunks makes blocks large.
    let mut read = from.clone();
    for ((axis, step), limit) in from.iter().enumerate().zip(&common) {
        let others = bytes(&read, size).checked_div(read.get(axis).copied().unwrap_or(1)).unwrap_or(u64::MAX); // a bound
        let fits = most.checked_div(others.max(1)).unwrap_or(1);
        if let Some(side) = read.get_mut(axis) {
            *side = (fits / step).max(1).saturating_mul(*step).min(*limit).max(*step); // a bound
        }
    }
    Plan::Scratch(read, grown(to.clone(), &to, shape, (size, SMALL.min(most))))
}

/// Enlarges a region by whole multiples of `step`, the fastest dimension first, to about `wanted` bytes.
fn grown(mut region: Vec<u64>, step: &[u64], shape: &[u64], (size, wanted): (u64, u64)) -> Vec<u64> {
    for axis in (0..region.len()).rev() {
        let (Some(step), Some(length)) = (step.get(axis), shape.get(axis)) else { break };
        let others = bytes(&region, size) / region.get(axis).copied().unwrap_or(1).max(1);
        let fits = (wanted / others.max(1) / (*step).max(1)).max(1);
        let side = fits.saturating_mul(*step).min((*length).max(1)); // a bound
        if let Some(old) = region.get_mut(axis) {
            *old = side.max(*old);
        }
        if side < *length {
            break;
        }
    }
    region
}

/// The size of a region; a bound.
fn bytes(sides: &[u64], size: u64) -> u64 {
    sides.iter().fold(size, |all, side| bound::product(all, *side))
}

/// The least common multiple; a bound.
fn multiple(a: u64, b: u64) -> u64 {
    fn divisor(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { divisor(b, a % b) }
    }
    bound::product(a / divisor(a, b).max(1), b)
}

/// The parts of an array with these sides, in C order; those at the end are shorter.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    /// The box that is divided, as start and end along each dimension.
    within: Vec<(u64, u64)>,
    sides: Vec<u64>,
    shape: Vec<u64>,
    next: Option<Vec<u64>>,
}

impl Parts {
    pub(super) fn of(shape: &[u64], sides: &[u64]) -> Self {
        Self::within(shape, shape.iter().map(|n| (0, *n)).collect(), sides)
    }

    /// The parts of a box of an array.
    pub(super) fn inside(slab: &Slab, sides: &[u64]) -> Self {
        let within = slab.ranges().iter().map(|range| (range.start, bound::sum(range.start, range.count)));
        Self::within(slab.of(), within.collect(), sides)
    }

    fn within(shape: &[u64], within: Vec<(u64, u64)>, sides: &[u64]) -> Self {
        let empty = within.iter().any(|(start, end)| start >= end);
        let next = (!empty).then(|| within.iter().map(|(start, _)| *start).collect());
        Self { within, sides: sides.iter().map(|side| (*side).max(1)).collect(), shape: shape.into(), next }
    }
}

impl Iterator for Parts {
    type Item = Slab;

    fn next(&mut self) -> Option<Slab> {
        let at = self.next.take()?;
        let ends = at
            .iter()
            .zip(&self.sides)
            .zip(&self.within)
            .map(|((at, side), (_, end))| bound::sum(*at, *side).min(*end));
        let ends: Vec<u64> = ends.collect();
        let ranges: Vec<Range> =
            at.iter().zip(&ends).map(|(at, end)| Range::new(*at, bound::left(*end, *at))).collect();
        let mut after = at;
        for axis in (0..after.len()).rev() {
            let (Some(place), Some(end), Some((first, last))) =
                (after.get_mut(axis), ends.get(axis), self.within.get(axis))
            else {
                break;
            };
            if end < last {
                *place = *end;
                self.next = Some(after);
                break;
            }
            *place = *first;
        }
        Slab::new(&self.shape, ranges).ok()
    }
}

/// Elements on their way through a scratch file.
pub(super) struct Scratch {
    file: Replacement,
    end: u64,
    size: usize,
    /// The blocks of each region that is going to be written, by its number.
    blocks: Vec<Vec<Block>>,
    /// The regions that are going to be written.
    regions: Vec<Slab>,
    /// The number of regions along each dimension, and their sides.
    grid: Vec<(u64, u64)>,
}

/// A block in the scratch file.
struct Block {
    at: u64,
    part: Slab,
}

impl Scratch {
    /// Begins beside `output`, in a file that has no name or is removed at the end.
    pub(super) fn beside(
        output: &std::path::Path,
        shape: &[u64],
        sides: &[u64],
        size: usize,
    ) -> Result<Self> {
        let mut name = output.file_name().unwrap_or_default().to_owned();
        name.push(".scratch");
        let regions: Vec<Slab> = Parts::of(shape, sides).collect();
        let grid =
            shape.iter().zip(sides).map(|(n, side)| (n.div_ceil((*side).max(1)), (*side).max(1))).collect();
        Ok(Self {
            file: Replacement::create(output.with_file_name(name))?,
            end: 0,
            size,
            blocks: regions.iter().map(|_| Vec::new()).collect(),
            regions,
            grid,
        })
    }

    /// Takes the elements of a region that was read.
    pub(super) fn put(&mut self, slab: &Slab, elements: &[u8]) -> Result<()> {
        let mut block = Vec::new();
        for number in self.touched(slab) {
            let Some(part) = self.regions.get(number).and_then(|region| common(region, slab)) else {
                continue;
            };
            block.clear();
            gather((&part, slab), self.size, elements, &mut block)?;
            self.file.storage()?.write_at(self.end, &block)?;
            let at = self.end;
            self.end = self.end.checked_add(block.len() as u64).ok_or_else(too_large)?;
            self.blocks.get_mut(number).ok_or_else(too_large)?.push(Block { at, part });
        }
        Ok(())
    }

    /// Passes the regions with their elements, and ends.
    pub(super) fn each(self, mut visit: impl FnMut(&Slab, &[u8]) -> Result<()>) -> Result<()> {
        let stored = self.file.written()?;
        let (mut elements, mut block) = (Vec::new(), Vec::new());
        for (region, blocks) in self.regions.iter().zip(&self.blocks) {
            elements.clear();
            let bytes = usize::try_from(region.len()).ok().and_then(|n| n.checked_mul(self.size));
            elements.resize(bytes.ok_or_else(too_large)?, 0);
            for Block { at, part } in blocks {
                let bytes = usize::try_from(part.len()).ok().and_then(|n| n.checked_mul(self.size));
                block.resize(bytes.ok_or_else(too_large)?, 0);
                stored.read_into(*at, &mut block)?;
                scatter((part, region), self.size, &block, &mut elements)?;
            }
            visit(region, &elements)?;
        }
        Ok(())
    }

    /// The numbers of the regions that a box touches.
    fn touched(&self, slab: &Slab) -> Vec<usize> {
        let mut numbers = vec![0u64];
        for (range, (count, side)) in slab.ranges().iter().zip(&self.grid) {
            let (first, last) =
                (range.start / side, bound::left(bound::sum(range.start, range.count), 1) / side);
            let with =
                |number: u64| (first..=last).map(move |at| bound::sum(bound::product(number, *count), at));
            numbers = numbers.into_iter().flat_map(with).collect();
        }
        numbers.into_iter().filter_map(|number| usize::try_from(number).ok()).collect()
    }
}

fn too_large() -> Error {
    Error::usage("selection", "has more bytes than memory can hold")
}

/// The part that two boxes of an array have in common.
pub(super) fn common(a: &Slab, b: &Slab) -> Option<Slab> {
    let ranges = a.ranges().iter().zip(b.ranges()).map(|(a, b)| {
        let start = a.start.max(b.start);
        let end = bound::sum(a.start, a.count).min(bound::sum(b.start, b.count));
        (start < end).then(|| Range::new(start, bound::left(end, start)))
    });
    Slab::new(a.of(), ranges.collect::<Option<Vec<_>>>()?).ok()
}

/// The place of a box inside a region that contains it.
fn inside(part: &Slab, region: &Slab) -> Result<Slab> {
    let ranges = part.ranges().iter().zip(region.ranges());
    let ranges = ranges.map(|(part, region)| Range::new(bound::left(part.start, region.start), part.count));
    Slab::new(&region.shape(), ranges.collect::<Vec<_>>())
}

/// Appends the elements of a box of a region.
pub(super) fn gather(
    (part, region): (&Slab, &Slab),
    size: usize,
    from: &[u8],
    out: &mut Vec<u8>,
) -> Result<()> {
    each_run(&inside(part, region)?, size, |there, _| {
        out.extend_from_slice(from.get(there).ok_or_else(too_large)?);
        Ok(())
    })
}

/// Puts elements into a box of a region.
fn scatter((part, region): (&Slab, &Slab), size: usize, from: &[u8], out: &mut [u8]) -> Result<()> {
    each_run(&inside(part, region)?, size, |there, here| {
        let target = out.get_mut(there).ok_or_else(too_large)?;
        let source = from.get(here).filter(|source| source.len() == target.len()).ok_or_else(too_large)?;
        target.copy_from_slice(source);
        Ok(())
    })
}

/// Calls the function for each run, with its byte range in the region and in the box.
fn each_run(
    slab: &Slab,
    size: usize,
    mut visit: impl FnMut(std::ops::Range<usize>, std::ops::Range<usize>) -> Result<()>,
) -> Result<()> {
    let bytes = |elements: u64| {
        usize::try_from(elements).ok().and_then(|n| n.checked_mul(size)).ok_or_else(too_large)
    };
    for run in slab.runs() {
        // A run along a slower dimension has a step, and is made of single elements.
        let (times, len) = if run.step == 1 { (1, run.len) } else { (run.len, 1) };
        for i in 0..times {
            let there =
                run.step.checked_mul(i).and_then(|gap| run.from.checked_add(gap)).ok_or_else(too_large)?;
            let here = run.to.checked_add(i).ok_or_else(too_large)?;
            let (from, to, len) = (bytes(there)?, bytes(here)?, bytes(len)?);
            let end = |start: usize| start.checked_add(len).ok_or_else(too_large);
            visit(from..end(from)?, to..end(to)?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every region consists of whole chunks, up to the end of the array.
    fn whole(regions: impl Iterator<Item = Slab>, shape: &[u64], chunks: &[u64]) -> u64 {
        regions
            .map(|region| {
                for ((range, n), side) in region.ranges().iter().zip(shape).zip(chunks) {
                    assert_eq!(range.start % side, 0, "{region:?} of chunks {chunks:?}");
                    let end = range.start + range.count;
                    assert!(end == *n || end % side == 0, "{region:?} of chunks {chunks:?}");
                }
                region.len()
            })
            .sum()
    }

    #[test]
    fn chunks_that_suit_each_other_need_no_scratch_file() {
        let shape = [1000, 500, 500];
        let direct = plan(&shape, (Some(&[1, 500, 500]), Some(&[50, 50, 500])), (4, 1 << 30));
        assert_eq!(direct, Plan::Once(vec![50, 500, 500]));
        // Time steps into columns of all times: no region of both fits.
        let turned =
            plan(&[100_000, 1000, 1000], (Some(&[1, 1000, 1000]), Some(&[100_000, 10, 10])), (4, 1 << 30));
        let Plan::Scratch(read, write) = turned else { panic!("{turned:?}") };
        assert_eq!((read, write), (vec![16, 1000, 1000], vec![100_000, 10, 10]));
        // The same large chunks, with other filters, are copied one by one.
        let large = Some(&[1 << 14, 1 << 13][..]);
        assert_eq!(
            plan(&[1 << 16, 1 << 13], (large, large), (8, 1 << 30)),
            Plan::Once(vec![1 << 14, 1 << 13])
        );
        // What has no chunks is read in long rows.
        assert_eq!(plan(&[4000, 4000], (None, Some(&[100, 100])), (8, 1 << 30)), Plan::Once(vec![100, 4000]));
    }

    proptest! {
        #[test]
        fn each_chunk_is_in_one_region(
            dims in proptest::collection::vec((1u64..40, 1u64..40, 1u64..40), 1..4),
            memory in 16u64..40_000,
        ) {
            let shape: Vec<u64> = dims.iter().map(|(n, ..)| *n).collect();
            let stored: Vec<u64> = dims.iter().map(|(_, side, _)| *side).collect();
            let wanted: Vec<u64> = dims.iter().map(|(.., side)| *side).collect();
            let all: u64 = shape.iter().product();
            match plan(&shape, (Some(&stored), Some(&wanted)), (4, memory)) {
                Plan::Once(sides) => {
                    prop_assert_eq!(whole(Parts::of(&shape, &sides), &shape, &stored), all);
                    whole(Parts::of(&shape, &sides), &shape, &wanted);
                }
                Plan::Scratch(read, write) => {
                    prop_assert_eq!(whole(Parts::of(&shape, &read), &shape, &stored), all);
                    prop_assert_eq!(whole(Parts::of(&shape, &write), &shape, &wanted), all);
                    // The elements come out as they went in.
                    let elements: Vec<u8> = (0..all).flat_map(|i| (i as u32).to_le_bytes()).collect();
                    let dir = tempfile::tempdir().unwrap();
                    let mut scratch = Scratch::beside(&dir.path().join("new.h5"), &shape, &write, 4).unwrap();
                    let everything = Slab::all(&shape).unwrap();
                    for region in Parts::of(&shape, &read) {
                        let mut part = Vec::new();
                        gather((&region, &everything), 4, &elements, &mut part).unwrap();
                        scratch.put(&region, &part).unwrap();
                    }
                    let mut out = vec![0; elements.len()];
                    scratch.each(|region, part| scatter((region, &everything), 4, part, &mut out)).unwrap();
                    prop_assert_eq!(out, elements);
                }
            }
        }
    }
}
