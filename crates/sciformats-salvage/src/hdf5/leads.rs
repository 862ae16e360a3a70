//! Whether what elements lead to is there: texts, sequences, and the objects that references name.

use hdf5_pure::{Address, Dataset, Datatype, File, Range, Slab};
use sciformats::formats::hdf5::element;
use sciformats::model::ElementType;
use sciformats::model::canonical::{self, spans};
use sciformats_core::{Error, Result, bound, slab};

use super::Work;
use super::assess::spoil;
use crate::boxes::boxes;
use crate::report::{ObjectReport, State};

/// Why elements count as missing that refer to objects.
pub(super) const REFERS: &str = "references lead to objects that are lost";
/// How often a part of a dataset is halved in search of elements that lead to something lost. What writes the clean file gives up
/// later than this, so that it leaves nothing out that is not listed.
pub(super) const ATTEMPTS: usize = 1024;
/// The elements that are read at a time to see whether what they lead to is there.
const PIECE: u64 = 1 << 16;

impl Work {
    /// Notes which objects have a path and cannot be read, so that what refers to them refers to nothing in the clean file.
    pub(super) fn note_unreadable(&mut self, file: &File) {
        let datasets =
            self.tree.nodes.iter().filter(|(_, node)| ["dataset", "object"].contains(&node.kind()));
        let unreadable = datasets.filter(|(at, _)| file.dataset_at(Address(**at)).is_err());
        self.unreadable = unreadable.map(|(_, node)| node.path.clone().into_bytes()).collect();
    }

    /// Reads elements to see whether what they lead to is there.
    pub(super) fn pieces(
        &self,
        dataset: &Dataset,
        range: std::ops::Range<u64>,
        elsewhere: bool,
        report: &mut ObjectReport,
    ) {
        if !elsewhere {
            return;
        }
        let mut attempts = ATTEMPTS;
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min(bound::sum(at, PIECE));
            for part in boxes(dataset.shape(), at, end) {
                self.leads(dataset, part, &mut attempts, report);
            }
            at = end;
        }
    }

    /// Lists the elements of a part as missing that lead to something lost. A part of which something cannot be read is halved
    /// until single elements are left, unless this fails too often.
    pub(super) fn leads(
        &self,
        dataset: &Dataset,
        (start, count): (Vec<u64>, Vec<u64>),
        attempts: &mut usize,
        report: &mut ObjectReport,
    ) {
        let lost = read(dataset, &start, &count).and_then(|bytes| match self.damaged {
            true => self.lost_references(dataset.datatype(), &bytes),
            false => Ok(Vec::new()),
        });
        let error = match lost {
            Ok(lost) => {
                for (from, to) in lost {
                    let parts = boxes(&count, from, to).into_iter();
                    report.missing.extend(parts.map(|(at, count)| {
                        (start.iter().zip(at).map(|(start, at)| bound::sum(*start, at)).collect(), count)
                    }));
                    spoil(report, State::Partial, format!("elements: {REFERS}"));
                }
                return;
            }
            Err(error) => error,
        };
        spoil(report, State::Partial, error.to_string());
        let axis = count.iter().position(|&n| n > 1);
        let (Some(axis), Some(left)) = (axis, attempts.checked_sub(1)) else {
            join(&mut report.missing, (start, count));
            return;
        };
        *attempts = left;
        let (mut second, mut first_count, mut second_count) = (start.clone(), count.clone(), count);
        if let (Some(at), Some(first), Some(rest)) =
            (second.get_mut(axis), first_count.get_mut(axis), second_count.get_mut(axis))
        {
            *first = *rest / 2;
            *rest -= *first;
            *at = bound::sum(*at, *first);
        }
        self.leads(dataset, (start, first_count), attempts, report);
        self.leads(dataset, (second, second_count), attempts, report);
    }

    /// Returns whether any of these elements refers to an object that is lost, or whether that cannot be told.
    pub(super) fn refers_to_lost(&self, datatype: &Datatype, bytes: &[u8]) -> bool {
        self.lost_references(datatype, bytes).map_or(true, |lost| !lost.is_empty())
    }

    /// Returns the numbers of the elements that refer to an object that is lost, as the first one and the one after the last of each run.
    fn lost_references(&self, datatype: &Datatype, bytes: &[u8]) -> Result<Vec<(u64, u64)>> {
        let element = element(&datatype.element_type()?);
        let mut lost: Vec<(u64, u64)> = Vec::new();
        if !element.refers() {
            return Ok(lost);
        }
        for (number, mut one) in (0u64..).zip(spans(&element, bytes)?) {
            if !self.is_lost(&element, &mut one)? {
                continue;
            }
            match lost.last_mut() {
                Some((_, end)) if *end == number => *end = bound::sum(number, 1),
                _ => lost.push((number, bound::sum(number, 1))),
            }
        }
        Ok(lost)
    }

    /// Removes an element from the start of its canonical bytes, and returns whether a reference in it leads to no object that has a path.
    fn is_lost(&self, element: &ElementType, rest: &mut &[u8]) -> Result<bool> {
        if !element.refers() {
            return canonical::skip(element, rest).map(|()| false);
        }
        let each = |element, count, rest: &mut &[u8]| {
            (0..count).try_fold(false, |lost, _: u64| Ok(self.is_lost(element, rest)? || lost))
        };
        match element {
            ElementType::Compound(fields) => {
                fields.iter().try_fold(false, |lost, (_, field)| Ok(each(field, 1, rest)? || lost))
            }
            ElementType::Array { element, shape } => {
                let overflow = || Error::internal("an array with more elements than bytes");
                each(element, slab::elements(shape).ok_or_else(overflow)?, rest)
            }
            ElementType::Vlen(element) => {
                let count = canonical::length(rest)?;
                each(element, count, rest)
            }
            _ => canonical::text(rest).map(|target| self.is_gone(target)),
        }
    }

    /// Returns whether the text that stands for a reference names an object without a path, or one that cannot be read. A selection may
    /// follow the path.
    fn is_gone(&self, target: &[u8]) -> bool {
        let spaces = target.iter().enumerate().filter(|(_, byte)| **byte == b' ');
        let mut paths = spaces.filter_map(|(at, _)| target.get(..at)).chain([target]);
        paths.any(|path| path == b"?" || self.unreadable.contains(path))
    }
}

/// Reads the canonical bytes of a part of a dataset.
pub(super) fn read(dataset: &Dataset, start: &[u64], count: &[u64]) -> Result<Vec<u8>> {
    let ranges: Vec<Range> =
        start.iter().zip(count).map(|(&start, &count)| Range::new(start, count)).collect();
    dataset.read_canonical(&Slab::new(dataset.shape(), ranges)?)
}

/// Adds a part to a list, or to its last part, if both together are one part again.
fn join(parts: &mut Vec<(Vec<u64>, Vec<u64>)>, (start, count): (Vec<u64>, Vec<u64>)) {
    if let Some((first, len)) = parts.last_mut() {
        let differ: Vec<usize> = (0..start.len()).filter(|&i| first.get(i) != start.get(i)).collect();
        if let [axis] = differ.as_slice()
            && let (Some(from), Some(to), Some(more)) = (first.get(*axis), start.get(*axis), count.get(*axis))
            && (0..count.len()).all(|i| i == *axis || len.get(i) == count.get(i))
            && let Some(len) = len.get_mut(*axis)
            && bound::sum(*from, *len) == *to
        {
            *len = bound::sum(*len, *more);
            return;
        }
    }
    parts.push((start, count));
}
