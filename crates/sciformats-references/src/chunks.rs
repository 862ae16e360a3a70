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
/// A chunk takes 8 to 24 bytes of memory: numbers without gaps and lengths that are all the same take none.
#[derive(Clone, Debug)]
pub struct Chunks {
    grid: Vec<u64>,
    /// The bytes of the only chunk, if they are part of the references.
    bytes: Option<Vec<u8>>,
    numbers: Column,
    files: Column,
    offsets: Column,
    lengths: Column,
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
            offsets: Column::Counting { count: 0 },
            lengths: Column::Counting { count: 0 },
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
        self.offsets.push(offset);
        self.lengths.push(length);
    }

    /// Puts the chunks into order, and returns whether no number occurs twice.
    pub fn sort(&mut self) -> bool {
        if self.ordered {
            return true;
        }
        let (files, offsets, lengths) = (self.files.iter(), self.offsets.iter(), self.lengths.iter());
        let ranges = self.numbers.iter().zip(files).zip(offsets.zip(lengths));
        let mut all: Vec<((u64, u64), (u64, u64))> = ranges.collect();
        all.sort_unstable();
        let mut sorted = Self::new(std::mem::take(&mut self.grid));
        all.into_iter()
            .for_each(|((number, file), (offset, length))| sorted.push_of(file, number, offset, length));
        *self = sorted;
        self.ordered
    }

    /// Returns the number and the place of each stored chunk.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Place<'_>)> {
        let inlined = self.bytes.iter().map(|bytes| (0, Place::Bytes(bytes)));
        let (files, offsets, lengths) = (self.files.iter(), self.offsets.iter(), self.lengths.iter());
        let ranges = self.numbers.iter().zip(files).zip(offsets.zip(lengths));
        let range = |file, offset, length| Place::Range { file, offset, length };
        inlined.chain(
            ranges.map(move |((number, file), (offset, length))| (number, range(file, offset, length))),
        )
    }
}

/// The values of a piece of a column.
const PIECE: usize = 1 << 16;

/// Numbers, which take no memory while they follow a rule. Longer columns are divided into pieces, so that they grow without a copy.
#[derive(Clone, Debug)]
enum Column {
    /// Each number is its own position.
    Counting {
        count: u64,
    },
    /// All numbers are the same.
    Same {
        value: u64,
        count: u64,
    },
    /// Numbers below 2³².
    Narrow(Vec<Vec<u32>>),
    Wide(Vec<Vec<u64>>),
}

impl Column {
    fn len(&self) -> u64 {
        let length = |pieces: usize, last: Option<usize>| match last {
            Some(last) => (pieces.saturating_sub(1) * PIECE + last) as u64, // a bound: memory holds them
            None => 0,
        };
        match self {
            Self::Counting { count } | Self::Same { count, .. } => *count,
            Self::Narrow(pieces) => length(pieces.len(), pieces.last().map(Vec::len)),
            Self::Wide(pieces) => length(pieces.len(), pieces.last().map(Vec::len)),
        }
    }

    fn push(&mut self, number: u64) {
        match self {
            Self::Counting { count } if *count == number => *count += 1,
            Self::Counting { count: 0 } | Self::Same { count: 0, .. } => {
                *self = Self::Same { value: number, count: 1 }
            }
            Self::Same { value, count } if *value == number => *count += 1,
            Self::Narrow(pieces) if u32::try_from(number).is_ok() => {
                let number = u32::try_from(number).unwrap_or_default();
                append(pieces, number);
            }
            Self::Wide(pieces) => append(pieces, number),
            _ => {
                let mut wider = match self {
                    Self::Narrow(_) => Self::Wide(Vec::new()),
                    _ => Self::Narrow(Vec::new()),
                };
                self.iter().chain([number]).for_each(|number| wider.push(number));
                *self = wider;
            }
        }
    }

    fn iter(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        match self {
            Self::Counting { count } => Box::new(0..*count),
            Self::Same { value, count } => Box::new((0..*count).map(|_| *value)),
            Self::Narrow(pieces) => Box::new(pieces.iter().flatten().map(|number| u64::from(*number))),
            Self::Wide(pieces) => Box::new(pieces.iter().flatten().copied()),
        }
    }
}

fn append<T>(pieces: &mut Vec<Vec<T>>, value: T) {
    match pieces.last_mut().filter(|piece| piece.len() < PIECE) {
        Some(piece) => piece.push(value),
        None => {
            // Of most columns there is only a short piece.
            let mut piece = if pieces.is_empty() { Vec::new() } else { Vec::with_capacity(PIECE) };
            piece.push(value);
            pieces.push(piece);
        }
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
