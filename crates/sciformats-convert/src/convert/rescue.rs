//! Reads an array as far as possible. Lost elements become the fill value, and the loss is reported.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sciformats_core::arith::{add, fit, mul, present};
use sciformats_core::limits::within;
use sciformats_core::{Error, Range, Slab, bound};

use super::{Loss, Lost};
use sciformats::model::canonical::spans;
use sciformats::model::{ArrayInfo, ElementType, ObjectId};
use sciformats::{File, Result};

/// The number of lost parts of one array that are listed one by one.
const TOLD: usize = 1000;
/// The number of failing attempts to separate unreadable elements from readable ones within one piece of an
/// array.
const ATTEMPTS: usize = 4096;

/// The losses so far, and whether reading continues after a loss.
#[derive(Debug, Default)]
pub(super) struct Rescue {
    on: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    losses: Vec<Loss>,
    /// The losses that were reported; a part that is read twice is lost once.
    seen: HashSet<(String, Option<Vec<u64>>, u64)>,
    /// For each array, the number of lost parts, and the first error of those that are not listed one by one.
    counts: HashMap<String, (usize, u64)>,
    /// The end of the last loss of an array without chunks; a loss that follows directly extends it.
    ends: HashMap<String, (usize, u64)>,
    /// Arrays that cannot be read at all, which has been reported already.
    known: HashSet<String>,
    /// The object whose elements could not be read, if that ended the conversion.
    unread: Option<String>,
}

/// An array of a file, and the path that is reported for it.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    pub(super) file: &'a File,
    pub(super) path: &'a str,
    pub(super) id: ObjectId,
    pub(super) info: &'a ArrayInfo,
}

/// A part of a selection: its chunk, its indices in the selection, and the selection in the array.
struct Part {
    chunk: Option<Vec<u64>>,
    within: Vec<Range>,
    of: Vec<Range>,
}

/// Returns whether an error ends the conversion in any case, because the user requested it.
fn is_final(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == ErrorKind::Interrupted)
}

/// Returns whether the error applies to every part of the array.
fn is_of_all(error: &Error) -> bool {
    matches!(error, Error::Unsupported { .. } | Error::Forbidden { .. })
}

impl Rescue {
    /// Creates a rescue that continues after losses from the start.
    pub(super) fn going_on() -> Self {
        Self { on: AtomicBool::new(true), state: Mutex::default() }
    }

    /// From now on, unreadable elements are reported, and reading continues.
    pub(super) fn go_on(&self) {
        self.on.store(true, Ordering::Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a loss.
    pub(super) fn lose(&self, loss: Loss) {
        self.state().losses.push(loss);
    }

    /// Notes that an array cannot be read at all, which is reported elsewhere.
    pub(super) fn know(&self, path: &str) {
        self.state().known.insert(path.into());
    }

    /// Returns the object whose elements ended the conversion.
    pub(super) fn unread(&self) -> Option<String> {
        self.state().unread.clone()
    }

    /// Forgets all losses, because everything is read again.
    #[cfg(feature = "hdf5")]
    pub(super) fn forget(&self) {
        let mut state = self.state();
        let known = std::mem::take(&mut state.known);
        *state = State { known, ..State::default() };
    }

    /// Returns the losses since the last call.
    pub(super) fn take(&self) -> Vec<Loss> {
        let mut state = self.state();
        let State { losses, counts, .. } = &mut *state;
        let mut more: Vec<_> = counts.iter().filter(|(_, (parts, _))| *parts > TOLD).collect();
        more.sort();
        for (path, (parts, elements)) in more {
            let parts = parts - TOLD;
            let what = format!("has {parts} more parts that cannot be read, with {elements} elements");
            losses.push(Loss { path: path.clone(), what, lost: None });
        }
        state.counts.clear();
        state.ends.clear();
        std::mem::take(&mut state.losses)
    }

    /// Returns the canonical bytes of the selected elements.
    pub(super) fn read(&self, from: Origin<'_>, slab: &Slab) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // The new file has checksums of its own, which would agree with damaged elements.
        let sound = from.file.source().sound(from.id);
        let is_sound = sound.is_ok();
        let Err(error) = sound.and_then(|()| from.file.read(from.id, slab, &mut bytes)) else {
            return Ok(bytes);
        };
        if is_final(&error) || !self.on.load(Ordering::Relaxed) {
            self.state().unread.get_or_insert_with(|| from.path.into());
            return Err(error);
        }
        let saving = Saving::new(self, from, slab)?;
        if is_sound { saving.all(error) } else { saving.nothing(&error) }
    }

    fn lost(&self, from: Origin<'_>, part: &Part, (first, elements): (u64, u64), error: &Error) {
        let mut state = self.state();
        let state = &mut *state;
        if state.known.contains(from.path)
            || !state.seen.insert((from.path.into(), part.chunk.clone(), first))
        {
            return;
        }
        let size = from.info.element.size();
        let end = first + elements; // in the array
        if part.chunk.is_none()
            && let Some((loss, last)) = state.ends.get_mut(from.path).filter(|(_, last)| *last == first)
            && let Some(Loss { what, lost: Some(lost), .. }) = state.losses.get_mut(*loss)
        {
            *last = end;
            lost.elements += elements;
            lost.bytes = size.and_then(|size| size.checked_mul(lost.elements));
            *what = lost.to_string();
            return;
        }
        let (parts, further) = state.counts.entry(from.path.into()).or_default();
        *parts += 1;
        if *parts > TOLD {
            *further += elements;
            return;
        }
        let lost = Lost {
            chunk: part.chunk.clone(),
            first: part.of.iter().map(|range| range.start).collect(),
            elements,
            bytes: size.and_then(|size| size.checked_mul(elements)),
            reason: error.to_string(),
        };
        if part.chunk.is_none() {
            state.ends.insert(from.path.into(), (state.losses.len(), end));
        }
        let what = lost.to_string();
        state.losses.push(Loss { path: from.path.into(), what, lost: Some(lost) });
    }
}

/// A selection that could not be read as a whole.
struct Saving<'a> {
    rescue: &'a Rescue,
    from: Origin<'a>,
    slab: &'a Slab,
    /// The shape of the selection.
    shape: Vec<u64>,
    fill: Vec<u8>,
    /// All elements in sequence, if they have a fixed size.
    bytes: Vec<u8>,
    /// The elements one by one, if they have no fixed size.
    apart: Vec<Vec<u8>>,
    attempts: usize,
}

impl<'a> Saving<'a> {
    fn new(rescue: &'a Rescue, from: Origin<'a>, slab: &'a Slab) -> Result<Self> {
        let element = &from.info.element;
        let mut fill = from.file.source().fill(from.id).unwrap_or_default();
        if fill.is_empty() || element.size().is_none_or(|size| size != fill.len() as u64) {
            fill.clear();
            zero(element, &mut fill)?;
        }
        let size = slab.len().checked_mul(element.size().unwrap_or(1));
        let size = size.unwrap_or(u64::MAX); // a bound: more than any limit
        from.file.limits().memory("bytes of the selected elements", size)?;
        let count = within("selected elements", slab.len(), u64::MAX)?;
        let (mut bytes, mut apart) = (Vec::new(), Vec::new());
        if element.size().is_some() {
            bytes = fill.repeat(count);
        } else {
            apart = vec![fill.clone(); count];
        }
        Ok(Self { rescue, from, slab, shape: slab.shape(), fill, bytes, apart, attempts: 0 })
    }

    fn all(mut self, error: Error) -> Result<Vec<u8>> {
        let parts = self.parts();
        if let ([part], true) = (parts.as_slice(), parts.len() == 1) {
            self.broken(part, error)?;
        } else {
            for part in parts {
                self.part(&part)?;
            }
        }
        Ok(if self.from.info.element.size().is_some() { self.bytes } else { self.apart.concat() })
    }

    /// Gives up all elements, of which none can be told from damaged ones.
    fn nothing(mut self, error: &Error) -> Result<Vec<u8>> {
        for part in self.parts() {
            self.give_up(&part, error)?;
        }
        Ok(if self.from.info.element.size().is_some() { self.bytes } else { self.apart.concat() })
    }

    /// Returns the parts of the selection, cut at the borders of chunks.
    fn parts(&self) -> Vec<Part> {
        let whole = || Part {
            chunk: None,
            within: self.shape.iter().map(|&count| Range::all(count)).collect(),
            of: self.slab.ranges().to_vec(),
        };
        let chunks =
            self.from.info.chunks.as_ref().filter(|chunks| {
                chunks.len() == self.shape.len() && !chunks.is_empty() && !chunks.contains(&0)
            });
        let Some(chunks) = chunks else { return vec![whole()] };
        let mut parts = vec![Part { chunk: Some(Vec::new()), within: Vec::new(), of: Vec::new() }];
        for (range, &chunk) in self.slab.ranges().iter().zip(chunks) {
            let cut = cut(*range, chunk);
            parts = parts
                .iter()
                .flat_map(|part| {
                    cut.iter().map(|(index, within, of)| Part {
                        chunk: part.chunk.clone().map(|chunk| [chunk, vec![*index]].concat()),
                        within: [&part.within[..], &[*within]].concat(),
                        of: [&part.of[..], &[*of]].concat(),
                    })
                })
                .collect();
        }
        parts
    }

    /// Reads a part, or as much of it as possible.
    fn part(&mut self, part: &Part) -> Result<()> {
        match self.fetch(part) {
            Ok(bytes) => self.put(part, &bytes),
            Err(error) => self.broken(part, error),
        }
    }

    /// Handles a part that cannot be read as a whole.
    fn broken(&mut self, part: &Part, error: Error) -> Result<()> {
        if is_final(&error) {
            return Err(error);
        }
        self.attempts += 1;
        let has_size = self.from.info.element.size().is_some();
        let one = part.of.iter().all(|range| range.count <= 1);
        let whole = one || is_of_all(&error) || self.attempts > ATTEMPTS;
        if whole || (has_size && (part.chunk.is_some() || self.ends_are_lost(part))) {
            return self.give_up(part, &error);
        }
        let Some(axis) = part.of.iter().position(|range| range.count > 1) else { return Ok(()) };
        for later in [false, true] {
            let half = |range: &Range| {
                let first = range.count / 2;
                let (start, count) = if later { (first, range.count - first) } else { (0, first) };
                Range { start: range.start + start * range.step, count, ..*range }
            };
            let halved = |ranges: &[Range]| -> Vec<Range> {
                let ranges = ranges.iter().enumerate();
                ranges.map(|(i, range)| if i == axis { half(range) } else { *range }).collect()
            };
            let half = Part { chunk: part.chunk.clone(), within: halved(&part.within), of: halved(&part.of) };
            self.part(&half)?;
        }
        Ok(())
    }

    /// Returns whether neither the first nor the last element of a part can be read. In a truncated array, no
    /// element between them can be read either.
    fn ends_are_lost(&self, part: &Part) -> bool {
        let end = |last: bool| {
            let one = part.of.iter().map(|range| {
                let way = if last && range.count > 1 { (range.count - 1) * range.step } else { 0 };
                Range::new(range.start + way, 1)
            });
            Part { chunk: None, within: part.within.clone(), of: one.collect() }
        };
        self.fetch(&end(false)).is_err() && self.fetch(&end(true)).is_err()
    }

    /// Reports the loss of a part. Without chunks, consecutive runs are joined into one.
    fn give_up(&mut self, part: &Part, error: &Error) -> Result<()> {
        let slab = Slab::new(self.slab.of(), part.of.clone())?;
        let first = slab.runs().next().map_or(0, |run| run.from);
        self.rescue.lost(self.from, part, (first, slab.len()), error);
        Ok(())
    }

    fn fetch(&self, part: &Part) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.from.file.read(self.from.id, &Slab::new(self.slab.of(), part.of.clone())?, &mut bytes)?;
        Ok(bytes)
    }

    /// Copies the elements that were read into their places.
    fn put(&mut self, part: &Part, bytes: &[u8]) -> Result<()> {
        let element = &self.from.info.element;
        let size = element.size().map(|_| self.fill.len());
        let each = if size.is_none() { spans(element, bytes)? } else { Vec::new() };
        let index = |at: u64| fit::<usize, _>(at, "index of an element that was read");
        let missing = "place of elements that were read";
        let place = Slab::new(&self.shape, part.within.clone())?;
        for run in place.runs() {
            // A run along a slower dimension has a step, and is made of single elements.
            let (times, len) = if run.step == 1 { (1, run.len) } else { (run.len, 1) };
            for i in 0..times {
                let (there, here) = (add(run.from, mul(i, run.step)?)?, add(run.to, i)?);
                match size {
                    Some(size) => {
                        let at = |element: u64| -> Result<_> {
                            let start = mul(index(element)?, size)?;
                            Ok(start..add(start, mul(index(len)?, size)?)?)
                        };
                        let to = present(self.bytes.get_mut(at(there)?), missing)?;
                        to.copy_from_slice(present(bytes.get(at(here)?), missing)?);
                    }
                    None => {
                        let at =
                            |element: u64| -> Result<_> { Ok(index(element)?..index(add(element, len)?)?) };
                        let to = present(self.apart.get_mut(at(there)?), missing)?;
                        let from = present(each.get(at(here)?), missing)?;
                        to.iter_mut().zip(from).for_each(|(to, from)| *to = from.to_vec());
                    }
                }
            }
        }
        Ok(())
    }
}

/// Splits a range at the borders of chunks. For each chunk it returns the chunk, the indices in the range,
/// and the indices in the array.
fn cut(range: Range, chunk: u64) -> Vec<(u64, Range, Range)> {
    let (mut parts, mut done) = (Vec::new(), 0u64);
    let step = range.step.max(1);
    while done < range.count {
        let start = if done > 0 { range.start + done * step } else { range.start };
        let index = start / chunk;
        let left = bound::product(index + 1, chunk) - start;
        let count = left.div_ceil(step).clamp(1, range.count - done);
        parts.push((index, Range::new(done, count), Range { start, count, step: range.step }));
        done += count;
    }
    parts
}

/// Appends the canonical bytes of an element that is zero or empty.
fn zero(element: &ElementType, out: &mut Vec<u8>) -> Result<()> {
    match (element, element.size()) {
        (_, Some(size)) => {
            let end = add(out.len(), within("bytes of an element", size, u64::MAX)?)?;
            out.resize(end, 0);
        }
        (ElementType::Compound(fields), None) => {
            fields.iter().try_for_each(|(_, field)| zero(field, out))?;
        }
        (ElementType::Array { element, shape }, None) => {
            let count = present(sciformats_core::slab::elements(shape), "number of parts of an element")?;
            (0..count).try_for_each(|_| zero(element, out))?;
        }
        // The length of a text, a path or a sequence.
        _ => out.extend(0u64.to_le_bytes()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use sciformats::Format;
    use sciformats::model::{Name, Object, Target};
    use sciformats::source::{Fact, Members, Source, Structure};

    /// An array of bytes that counts up, in which some elements cannot be read.
    struct Holes {
        info: ArrayInfo,
        bad: fn(u64) -> bool,
        text: bool,
    }

    impl Source for Holes {
        fn format(&self) -> Format {
            Format::Hdf5
        }
        fn facts(&self) -> Vec<Fact> {
            Vec::new()
        }
        fn root(&self) -> ObjectId {
            ObjectId(0)
        }
        fn object(&self, _: ObjectId) -> Result<Object> {
            Ok(Object::Array(Box::new(self.info.clone())))
        }
        fn members(&self, _: ObjectId) -> Result<Members<'_>> {
            Ok(Box::new(std::iter::empty()))
        }
        fn member(&self, _: ObjectId, _: &Name) -> Result<Option<Target>> {
            Ok(None)
        }
        fn fill(&self, _: ObjectId) -> Option<Vec<u8>> {
            Some(vec![255])
        }
        fn read(&self, _: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
            for run in slab.runs() {
                for i in 0..run.len {
                    let at = run.from + i * run.step;
                    if (self.bad)(at) {
                        return Err(Error::usage("element", "is broken"));
                    }
                    if self.text {
                        out.extend(1u64.to_le_bytes());
                    }
                    out.push(at as u8);
                }
            }
            Ok(())
        }
        fn structures(&self, _: &mut dyn FnMut(Structure) -> ControlFlow<()>) -> Result<()> {
            Ok(())
        }
    }

    fn saved(
        element: &ElementType,
        chunks: Option<Vec<u64>>,
        bad: fn(u64) -> bool,
    ) -> (Vec<u8>, Vec<String>) {
        let mut info = ArrayInfo::new(element.clone(), [4, 6]);
        info.chunks = chunks;
        let file = File::from(Holes { info: info.clone(), bad, text: *element == ElementType::Text });
        let from = Origin { file: &file, path: "/u", id: ObjectId(0), info: &info };
        let slab = Slab::all(&[4, 6]).unwrap();
        assert!(Rescue::default().read(from, &slab).is_err());
        let rescue = Rescue::going_on();
        let bytes = rescue.read(from, &slab).unwrap();
        assert_eq!(rescue.read(from, &slab).unwrap(), bytes);
        (bytes, rescue.take().into_iter().map(|loss| loss.what).collect())
    }

    #[test]
    fn elements_of_more_parts_than_can_be_are_errors() {
        let wide = ElementType::Array { element: Box::new(ElementType::Text), shape: vec![1 << 40, 1 << 40] };
        let error = zero(&wide, &mut Vec::new()).unwrap_err();
        assert!(matches!(error, Error::Internal { .. }), "{error}");
        let error = crate::convert::references::kept(&wide, &[0; 16], (None, None)).unwrap_err();
        assert!(matches!(error, Error::Internal { .. }), "{error}");
    }

    #[test]
    fn a_chunk_is_lost_and_the_others_are_not() {
        let (bytes, losses) = saved(&ElementType::UInt(1), Some(vec![2, 4]), |at| at == 5);
        let expected: Vec<u8> = (0..24).map(|i| if matches!(i, 4 | 5 | 10 | 11) { 255 } else { i }).collect();
        assert_eq!(bytes, expected);
        assert_eq!(
            losses,
            ["chunk (0, 1), 4 bytes starting at element (0, 4), cannot be read: element is broken"]
        );
    }

    #[test]
    fn chunks_of_one_column_are_put_in_their_places() {
        // The last chunks of each row have one column, so that their elements are apart from each other.
        let expected: Vec<u8> = (0..24).map(|i| if i < 11 && i != 5 { 255 } else { i }).collect();
        let (bytes, losses) = saved(&ElementType::UInt(1), Some(vec![2, 5]), |at| at == 0);
        assert_eq!((bytes, losses.len()), (expected, 1));
        let (bytes, _) = saved(&ElementType::Text, Some(vec![2, 5]), |at| at == 7);
        let texts: Vec<u8> = spans(&ElementType::Text, &bytes)
            .unwrap()
            .iter()
            .map(|one| one.get(8).copied().unwrap_or(255))
            .collect();
        assert_eq!(texts, (0..24).map(|at| if at == 7 { 255 } else { at }).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_cut_off_is_one_loss() {
        let (bytes, losses) = saved(&ElementType::UInt(1), None, |at| at >= 9);
        let expected: Vec<u8> = (0..24).map(|i| if i >= 9 { 255 } else { i }).collect();
        assert_eq!(bytes, expected);
        assert_eq!(losses, ["15 bytes starting at element (1, 3) cannot be read: element is broken"]);
    }

    #[test]
    fn texts_are_lost_one_by_one() {
        let (bytes, losses) = saved(&ElementType::Text, Some(vec![4, 6]), |at| at == 7);
        let texts: Vec<usize> =
            spans(&ElementType::Text, &bytes).unwrap().iter().map(|one| one.len()).collect();
        assert_eq!(texts, (0..24).map(|at| if at == 7 { 8 } else { 9 }).collect::<Vec<_>>());
        assert_eq!(
            losses,
            ["chunk (0, 0), 1 element starting at element (1, 1), cannot be read: element is broken"]
        );
    }
}
