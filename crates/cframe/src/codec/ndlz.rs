//! NDLZ, a codec for two-dimensional blocks of bytes, which are divided into cells.
//!
//! | bytes | field |
//! |---|---|
//! | 1 | number of dimensions: 2 |
//! | 2 × i32 | block shape, little-endian |
//! | | a token with its data for each cell, in C order |
//!
//! Cells have 4 × 4 or 8 × 8 bytes, as the parameter of the codec says. Cells at the edges are clipped and always literal.
//!
//! | token | content of the cell |
//! |---|---|
//! | `00` | literal |
//! | `40`, byte | this byte everywhere |
//! | `c0`, u16 | the cell whose literals begin this many bytes before the token |
//! | other | some rows of an earlier cell at a distance from the token; the others are literal |
//!
//! Cells of which only some rows recur can be read, but are written as literals.

use super::{CORRUPT, Outcome};

/// Decodes into all of `out`.
pub(crate) fn decode(input: &[u8], side: u8, out: &mut [u8]) -> Outcome {
    run(input, usize::from(side), out).ok_or(CORRUPT)
}

/// The largest distance.
const REACH: usize = u16::MAX as usize;
/// The number of cells that the encoder remembers by their hash.
const REMEMBERED: usize = 1 << 12;

/// Encodes a block of `height` times `width` bytes into the front of `out`, if it fits. Returns the number of bytes.
pub(crate) fn encode(input: &[u8], side: u8, (height, width): (u32, u32), out: &mut [u8]) -> Option<usize> {
    let mut writer = Writer { out, len: 0 };
    writer.put(&[2])?;
    writer.put(&height.to_le_bytes())?;
    writer.put(&width.to_le_bytes())?;
    let (height, width) = (usize::try_from(height).ok()?, usize::try_from(width).ok()?);
    let side = usize::from(side);
    if height.checked_mul(width)? != input.len() || (side != 4 && side != 8) {
        return None;
    }
    // The position of the literals of a cell, by its hash. A hash that has not occurred has the position 0, where there are no
    // literals.
    let mut places = vec![0; REMEMBERED];
    let mut buffer = [0; 64];
    for top in (0..height).step_by(side) {
        for left in (0..width).step_by(side) {
            let (rows, columns) = (side.min(height - top), side.min(width - left));
            let cell = buffer.get_mut(..rows * columns)?;
            for (row, bytes) in cell.chunks_exact_mut(columns).enumerate() {
                let start = (top + row) * width + left;
                bytes.copy_from_slice(input.get(start..start + columns)?);
            }
            writer.cell(cell, cell.len() == side * side, &mut places)?;
        }
    }
    Some(writer.len)
}

struct Writer<'a> {
    out: &'a mut [u8],
    len: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        self.out.get_mut(self.len..self.len + bytes.len())?.copy_from_slice(bytes);
        self.len += bytes.len();
        Some(())
    }

    fn cell(&mut self, cell: &[u8], whole: bool, places: &mut [usize]) -> Option<()> {
        if !whole {
            self.put(&[0])?;
            return self.put(cell);
        }
        let first = *cell.first()?;
        if cell.iter().all(|byte| *byte == first) {
            return self.put(&[0x40, first]);
        }
        let place = places.get_mut(hash(cell))?;
        let distance = self.len - *place;
        if *place > 0 && distance <= REACH && self.out.get(*place..*place + cell.len())? == cell {
            let [low, high] = (distance as u16).to_le_bytes();
            return self.put(&[0xc0, low, high]);
        }
        *place = self.len + 1;
        self.put(&[0])?;
        self.put(cell)
    }
}

fn hash(cell: &[u8]) -> usize {
    let words = cell.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    let mixed =
        words.fold(0u64, |all, word| (all.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B1_85EB_CA87));
    (mixed >> 52) as usize & (REMEMBERED - 1)
}

struct Reader<'a> {
    input: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let bytes = self.input.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    /// Returns the bytes at a stored distance before `token`.
    fn earlier(&mut self, token: usize) -> Option<usize> {
        let distance = u16::from_le_bytes(*self.take(2)?.first_chunk()?);
        token.checked_sub(distance.into())
    }

    fn size(&mut self) -> Option<usize> {
        usize::try_from(i32::from_le_bytes(*self.take(4)?.first_chunk()?)).ok()
    }
}

fn run(input: &[u8], side: usize, out: &mut [u8]) -> Option<()> {
    let mut reader = Reader { input, at: 0 };
    let two_dimensional = reader.byte()? == 2 && (side == 4 || side == 8);
    let (height, width) = (reader.size()?, reader.size()?);
    if !two_dimensional || height.checked_mul(width)? != out.len() {
        return None;
    }
    let mut cell = [0u8; 64];
    for top in (0..height).step_by(side) {
        for left in (0..width).step_by(side) {
            let (rows, columns) = (side.min(height - top), side.min(width - left));
            let cell = cell.get_mut(..rows * columns)?;
            read_cell(&mut reader, side, cell)?;
            for (row, bytes) in cell.chunks_exact(columns).enumerate() {
                let start = (top + row) * width + left;
                out.get_mut(start..start + columns)?.copy_from_slice(bytes);
            }
        }
    }
    Some(())
}

fn read_cell(reader: &mut Reader<'_>, side: usize, cell: &mut [u8]) -> Option<()> {
    let position = reader.at;
    let token = reader.byte()?;
    let whole = cell.len() == side * side;
    match token {
        0 => cell.copy_from_slice(reader.take(cell.len())?),
        0x40 => cell.fill(reader.byte()?),
        0xc0 if whole => {
            let from = reader.earlier(position)?;
            cell.copy_from_slice(reader.input.get(from..from + cell.len())?);
        }
        _ if whole => {
            let mut known = [false; 8];
            let pairs = copied_rows(token, side)?;
            for rows in pairs.iter().filter(|rows| !rows.is_empty()) {
                let from = reader.earlier(position)?;
                for (k, &row) in rows.iter().enumerate() {
                    let source = from + k * side;
                    let bytes = reader.input.get(source..source + side)?;
                    cell.get_mut(row * side..(row + 1) * side)?.copy_from_slice(bytes);
                    *known.get_mut(row)? = true;
                }
            }
            for (row, known) in cell.chunks_exact_mut(side).zip(known) {
                if !known {
                    row.copy_from_slice(reader.take(side)?);
                }
            }
        }
        _ => return None,
    }
    Some(())
}

/// Returns which rows a token copies from the first earlier place, and which from the second.
fn copied_rows(token: u8, side: usize) -> Option<[Vec<usize>; 2]> {
    let t = usize::from(token);
    if side == 8 {
        let first = t & 7;
        return match token >> 3 {
            21 => Some([(first..first + 3).collect(), Vec::new()]),
            17 => Some([(first..first + 2).collect(), Vec::new()]),
            _ => None,
        };
    }
    match token {
        40..=63 => {
            let second = (t - 32) >> 3;
            let others = (1..4).filter(|&row| row != second).collect();
            Some([vec![0, second], others])
        }
        128 => Some([vec![2, 3], Vec::new()]),
        129..=191 => {
            let first = (t - 128) >> 5;
            let second = ((t - 128) >> 3).checked_sub(4 * first)?;
            (second != first && second < 4).then(|| [vec![first, second], Vec::new()])
        }
        224..=255 => {
            let rows = match token >> 3 {
                28 => vec![1, 2, 3],
                29 => vec![0, 1, 2],
                30 => vec![0, 1, 3],
                _ => vec![0, 2, 3],
            };
            Some([rows, Vec::new()])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn literal_constant_and_repeated_cells() {
        let mut bytes = vec![2]; // two dimensions
        bytes.extend(4i32.to_le_bytes()); // height
        bytes.extend(13i32.to_le_bytes()); // width: three cells and a clipped one
        bytes.push(0); // literal
        bytes.extend(0..16);
        bytes.extend([0x40, 9]); // constant
        bytes.extend([0xc0, 18, 0]); // the first cell again
        bytes.extend([0, 1, 2, 3, 4]); // clipped
        let mut out = [0; 52];
        decode(&bytes, 4, &mut out).unwrap();
        assert_eq!(out[..13], [0, 1, 2, 3, 9, 9, 9, 9, 0, 1, 2, 3, 1]);
        assert_eq!(out[39..], [12, 13, 14, 15, 9, 9, 9, 9, 12, 13, 14, 15, 4]);
        assert!(decode(&bytes, 8, &mut out).is_err());
        assert!(decode(&bytes, 4, &mut out[1..]).is_err());
    }

    #[test]
    fn what_is_encoded_decodes() {
        for (side, height, width) in
            [(4, 4, 4), (4, 50, 33), (8, 64, 64), (8, 7, 100), (4, 1, 1), (8, 300, 300)]
        {
            let cell = usize::from(side);
            let input: Vec<u8> = (0..height * width)
                .map(|i| match (i / width / cell + i % width / cell) % 3 {
                    0 => 9,
                    1 => (i % width % cell + i / width % cell * 7) as u8,
                    _ => (i as u64 * i as u64 / 7) as u8,
                })
                .collect();
            let mut made = vec![0; 2 * input.len() + 100];
            let shape = (height as u32, width as u32);
            let len = encode(&input, side, shape, &mut made).unwrap();
            let mut again = vec![0; input.len()];
            decode(&made[..len], side, &mut again).unwrap();
            assert!(again == input, "{side} {height} {width}");
            assert!(height < 60 || len < input.len() * 2 / 3, "{len}");
            assert_eq!(encode(&input, side, shape, &mut made[..len - 1]), None);
            assert_eq!(encode(&input[1..], side, shape, &mut made), None);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, eight: bool) {
            let mut framed = vec![2, 9, 0, 0, 0, 17, 0, 0, 0];
            framed.extend(bytes);
            let _ = decode(&framed, if eight { 8 } else { 4 }, &mut [0; 9 * 17]);
        }
    }
}
