//! Where the chunks of an array are, in few bytes per chunk.

/// Where the bytes of a chunk are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// They are part of the references.
    Bytes(&'a [u8]),
    /// They are a range of a file.
    Range {
        /// The number of the file among those that are referenced, from 0 on.
        file: u64,
        /// The absolute offset of the first byte.
        offset: u64,
        /// The number of bytes, which all lie within the file.
        length: u64,
    },
}

/// The stored chunks of an array in the order of their numbers. The number of a chunk is its place in the grid, counted
/// with the last dimension fastest.
///
/// A chunk takes a few bytes of memory: numbers without gaps, lengths that are all the same, and chunks that follow each other in the
/// file take none, and other values take one to three bytes in most files.
#[derive(Clone, Debug)]
pub struct Chunks {
    grid: Vec<u64>,
    /// The bytes of the only chunk, if they are part of the references.
    bytes: Option<Vec<u8>>,
    numbers: Column,
    files: Column,
    /// The number of bytes between a chunk and the end of the one before, modulo 2⁶⁴.
    gaps: Column,
    lengths: Column,
    /// The end of the last range, modulo 2⁶⁴.
    end: u64,
    /// The number after the last one, and whether numbers came in order.
    next: u64,
    ordered: bool,
}

impl Chunks {
    /// No chunk, in a grid of that many chunks along each dimension.
    pub fn new(grid: Vec<u64>) -> Self {
        Self {
            grid,
            bytes: None,
            numbers: Column::Counting { count: 0 },
            files: Column::Same { value: 0, count: 0 },
            gaps: Column::Same { value: 0, count: 0 },
            lengths: Column::Same { value: 0, count: 0 },
            end: 0,
            next: 0,
            ordered: true,
        }
    }

    /// The bytes of the only chunk of an array of that many dimensions.
    pub fn inlined(dimensions: usize, bytes: Vec<u8>) -> Self {
        Self { bytes: Some(bytes), ..Self::new(vec![1; dimensions]) }
    }

    /// Returns the same chunks of an array with that many dimensions, of which the last ones are not divided.
    pub fn with_dimensions(mut self, dimensions: usize) -> Self {
        self.grid.resize(dimensions, 1);
        self
    }

    /// Returns the same chunks of an array that has one more dimension, of length 1, in front.
    pub(crate) fn within_one_more(mut self) -> Self {
        self.grid.insert(0, 1);
        self
    }

    /// Returns the number of chunks along each dimension, stored or not.
    pub fn grid(&self) -> &[u64] {
        &self.grid
    }

    /// Returns the number of stored chunks.
    pub fn len(&self) -> u64 {
        if self.bytes.is_some() { 1 } else { self.numbers.len() }
    }

    /// Returns whether no chunk is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of a chunk, if it is in the grid.
    pub fn number(&self, index: &[u64]) -> Option<u64> {
        if index.len() != self.grid.len() {
            return None;
        }
        index.iter().zip(&self.grid).try_fold(0u64, |number, (at, count)| {
            if at < count { number.checked_mul(*count)?.checked_add(*at) } else { None }
        })
    }

    /// Appends the index of a chunk along each dimension.
    pub fn index(&self, number: u64, out: &mut Vec<u64>) {
        let (start, mut rest) = (out.len(), number);
        for count in self.grid.iter().rev() {
            let count = (*count).max(1);
            out.push(rest % count);
            rest /= count;
        }
        if let Some(added) = out.get_mut(start..) {
            added.reverse();
        }
    }

    /// Adds a range, in any order.
    pub fn push(&mut self, number: u64, offset: u64, length: u64) {
        self.push_of(0, number, offset, length);
    }

    /// Adds a range of one of several files, in any order.
    pub fn push_of(&mut self, file: u64, number: u64, offset: u64, length: u64) {
        self.ordered &= number >= self.next;
        self.next = number.saturating_add(1); // a bound
        self.numbers.push(number);
        self.files.push(file);
        self.gaps.push(offset.wrapping_sub(self.end));
        self.lengths.push(length);
        self.end = offset.wrapping_add(length);
    }

    /// Puts the chunks into order, and returns whether no number occurs twice.
    ///
    /// Memory holds about a million chunks at a time beside those that are in order already, and the others are read again for each
    /// further million.
    pub fn sort(&mut self) -> bool {
        if self.ordered {
            return true;
        }
        let mut sorted = Self::new(self.grid.clone());
        let mut before = None;
        loop {
            let least = self.least_after(before);
            let Some(last) = least.last() else { break };
            before = Some(*last);
            for ((number, file), (offset, length)) in least {
                sorted.push_of(file, number, offset, length);
            }
        }
        // Chunks that are the same in everything come once.
        let complete = sorted.numbers.len() == self.numbers.len();
        *self = sorted;
        self.ordered && complete
    }

    /// Returns the least chunks after one, in order: as many as memory should hold, or all that there are.
    fn least_after(&self, before: Option<Sortable>) -> Vec<Sortable> {
        let mut found: Vec<Sortable> = Vec::new();
        let mut most = None;
        for chunk in self.ranges() {
            if before.is_some_and(|before| chunk <= before) || most.is_some_and(|most| chunk > most) {
                continue;
            }
            found.push(chunk);
            if found.len() == SORTED + SORTED / 2 {
                let (_, last, _) = found.select_nth_unstable(SORTED - 1);
                most = Some(*last);
                found.truncate(SORTED);
            }
        }
        found.sort_unstable();
        found.truncate(SORTED);
        found
    }

    /// Returns the number and the place of each stored chunk.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Place<'_>)> {
        let inlined = self.bytes.iter().map(|bytes| (0, Place::Bytes(bytes)));
        let ranges = self
            .ranges()
            .map(|((number, file), (offset, length))| (number, Place::Range { file, offset, length }));
        inlined.chain(ranges)
    }

    /// Returns the number and the file, the offset and the length of each range.
    fn ranges(&self) -> impl Iterator<Item = Sortable> {
        let mut end = 0u64;
        let places = self.gaps.iter().zip(self.lengths.iter()).map(move |(gap, length)| {
            let offset = end.wrapping_add(gap);
            end = offset.wrapping_add(length);
            (offset, length)
        });
        self.numbers.iter().zip(self.files.iter()).zip(places)
    }
}

/// The number and the file, the offset and the length of a range.
type Sortable = ((u64, u64), (u64, u64));

/// The number of chunks that are sorted at a time.
const SORTED: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };

/// The bytes of a piece of a column.
const PIECE: usize = 1 << 16;

/// The most bytes that a value of a column takes.
const WIDEST: usize = 10;

/// Numbers, which take no memory while they follow a rule, and else as many bytes as the difference to the number before needs. Longer
/// columns are divided into pieces, so that they grow without a copy.
#[derive(Clone, Debug)]
enum Column {
    /// Each number is its own position.
    Counting { count: u64 },
    /// All numbers are the same.
    Same { value: u64, count: u64 },
    /// The differences, with the sign in the lowest bit, of seven bits to a byte, the lowest first.
    Steps { pieces: Vec<Vec<u8>>, count: u64, last: u64 },
}

impl Column {
    fn len(&self) -> u64 {
        match self {
            Self::Counting { count } | Self::Same { count, .. } | Self::Steps { count, .. } => *count,
        }
    }

    fn push(&mut self, number: u64) {
        match self {
            Self::Counting { count } if *count == number => *count += 1,
            Self::Counting { count: 0 } | Self::Same { count: 0, .. } => {
                *self = Self::Same { value: number, count: 1 }
            }
            Self::Same { value, count } if *value == number => *count += 1,
            Self::Steps { pieces, count, last } => {
                append(pieces, number.wrapping_sub(*last));
                *count += 1;
                *last = number;
            }
            Self::Counting { .. } | Self::Same { .. } => {
                let mut steps = Self::Steps { pieces: Vec::new(), count: 0, last: 0 };
                self.iter().chain([number]).for_each(|number| steps.push(number));
                *self = steps;
            }
        }
    }

    fn iter(&self) -> Values<'_> {
        Values { column: self, position: 0, last: 0, piece: 0, rest: &[] }
    }
}

/// Appends a difference, which is a number modulo 2⁶⁴.
fn append(pieces: &mut Vec<Vec<u8>>, step: u64) {
    if pieces.last().is_none_or(|piece| piece.len() + WIDEST > PIECE) {
        // Of most columns there is only a short piece.
        pieces.push(if pieces.is_empty() { Vec::new() } else { Vec::with_capacity(PIECE) });
    }
    let Some(piece) = pieces.last_mut() else { return };
    let sign = if step >> 63 == 1 { u64::MAX } else { 0 };
    let mut rest = step << 1 ^ sign;
    while rest > 0x7f {
        piece.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    piece.push(rest as u8);
}

/// The numbers of a column.
struct Values<'a> {
    column: &'a Column,
    position: u64,
    last: u64,
    piece: usize,
    rest: &'a [u8],
}

impl Iterator for Values<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.position >= self.column.len() {
            return None;
        }
        let number = match self.column {
            Column::Counting { .. } => self.position,
            Column::Same { value, .. } => *value,
            Column::Steps { pieces, .. } => {
                if self.rest.is_empty() {
                    self.rest = pieces.get(self.piece)?;
                    self.piece += 1;
                }
                let (mut value, mut shift) = (0u64, 0u32);
                loop {
                    let (byte, rest) = self.rest.split_first()?;
                    self.rest = rest;
                    value |= u64::from(byte & 0x7f) << shift;
                    if *byte < 0x80 {
                        break;
                    }
                    shift += 7;
                }
                let sign = if value & 1 == 1 { u64::MAX } else { 0 };
                self.last = self.last.wrapping_add(value >> 1 ^ sign);
                self.last
            }
        };
        self.position += 1;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_keep_their_numbers_whatever_they_are() {
        let long: Vec<u64> = (0..200_000).map(|i| i * 3 % 70_001).collect();
        let cases: [&[u64]; 8] = [
            &[],
            &[0, 1, 2],
            &[0, 1, 3],
            &[5, 5, 5],
            &[5, 5, 6],
            &[0, 0, 1],
            &[1, u64::MAX, 2, 1 << 32],
            &long,
        ];
        for case in cases {
            let mut column = Column::Counting { count: 0 };
            case.iter().for_each(|number| column.push(*number));
            assert_eq!(column.iter().collect::<Vec<_>>(), case);
            assert_eq!(column.len(), case.len() as u64);
        }
    }

    #[test]
    fn many_chunks_are_sorted_in_bands_and_take_few_bytes() {
        let count = 5000u64;
        let mut chunks = Chunks::new(vec![count]);
        for i in 0..count {
            // A permutation: 7 and 5000 have no common divisor.
            let number = i * 7 % count;
            chunks.push_of(number % 3, number, (1 << 40) + number * 1000, 100 + number % 50);
        }
        let wanted: Vec<_> = (0..count)
            .map(|n| (n, Place::Range { file: n % 3, offset: (1 << 40) + n * 1000, length: 100 + n % 50 }))
            .collect();
        assert!(chunks.sort());
        assert_eq!(chunks.iter().collect::<Vec<_>>(), wanted);
        let bytes = |column: &Column| match column {
            Column::Steps { pieces, .. } => pieces.iter().map(Vec::len).sum::<usize>(),
            _ => 0,
        };
        let all =
            bytes(&chunks.gaps) + bytes(&chunks.lengths) + bytes(&chunks.files) + bytes(&chunks.numbers);
        assert!(all < 4 * count as usize, "{all}");
        // A chunk that is the same in everything is a second one too.
        let again = 4999;
        chunks.push_of(again % 3, again, (1 << 40) + again * 1000, 100 + again % 50);
        assert!(!chunks.sort());
    }

    #[test]
    fn chunks_one_after_another_take_no_memory() {
        let mut chunks = Chunks::new(vec![1000]);
        (0..1000).for_each(|n| chunks.push(n, 4096 + n * 64, 64));
        assert!(matches!(chunks.numbers, Column::Counting { count: 1000 }));
        assert!(matches!(chunks.lengths, Column::Same { value: 64, count: 1000 }));
        assert_eq!(
            chunks.iter().last(),
            Some((999, Place::Range { file: 0, offset: 4096 + 999 * 64, length: 64 }))
        );
    }

    #[test]
    fn chunks_are_sorted_and_told_apart() {
        let mut chunks = Chunks::new(vec![2, 3]);
        for index in [[1, 2], [0, 1], [1, 0]] {
            let number = chunks.number(&index).unwrap();
            chunks.push(number, index[0] * 100, 1 + index[1]);
        }
        assert!(chunks.sort());
        let found: Vec<_> = chunks.iter().collect();
        let range = |offset, length| Place::Range { file: 0, offset, length };
        assert_eq!(found, [(1, range(0, 2)), (3, range(100, 1)), (5, range(100, 3))]);
        let mut index = Vec::new();
        chunks.index(5, &mut index);
        assert_eq!(index, [1, 2]);
        chunks.push(3, 7, 7);
        assert!(!chunks.sort());
        assert_eq!(chunks.number(&[0, 3]), None);
    }
}
