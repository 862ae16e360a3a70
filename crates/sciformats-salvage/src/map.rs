//! What the bytes of a damaged file are, as a list of parts and as a picture.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// What a part of a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// Links lead to it from the root.
    Reached,
    /// Nothing leads to it, but it was recognised.
    Carved,
    /// Nothing is known about it.
    Unknown,
    /// Nothing leads to it, and it consists of zeros.
    Zero,
    /// The file should have it, and ends before.
    Missing,
}

impl Part {
    /// Returns the kind in one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reached => "reached",
            Self::Carved => "carved",
            Self::Unknown => "unknown",
            Self::Zero => "zero",
            Self::Missing => "missing",
        }
    }

    /// Returns the red, green and blue with which it is drawn.
    pub fn colour(self) -> [u8; 3] {
        match self {
            Self::Reached => [0x2f, 0x85, 0x5a],
            Self::Carved => [0x2b, 0x6c, 0xb0],
            Self::Unknown => [0xa0, 0xae, 0xc0],
            Self::Zero => [0xed, 0xf2, 0xf7],
            Self::Missing => [0xc5, 0x30, 0x30],
        }
    }

    fn color(self) -> String {
        let [red, green, blue] = self.colour();
        format!("#{red:02x}{green:02x}{blue:02x}")
    }
}

/// The parts of a file in their order. They do not overlap, and leave nothing out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    parts: Vec<(u64, u64, Part)>,
}

impl Map {
    /// Makes the map of a file of `size` bytes that should have `declared`. Of what overlaps, the first of `known` that begins
    /// earlier counts.
    pub(crate) fn new(size: u64, declared: u64, mut known: Vec<(u64, u64, Part)>) -> Self {
        known.sort_by_key(|&(start, end, part)| (start, part, end));
        let mut map = Self::default();
        let mut at = 0;
        for (start, end, part) in known {
            let (start, end) = (start.clamp(at, size), end.min(size));
            if end <= start {
                continue;
            }
            map.push(at, start, Part::Unknown);
            map.push(start, end, part);
            at = end;
        }
        map.push(at, size, Part::Unknown);
        map.push(size, declared, Part::Missing);
        map
    }

    fn push(&mut self, start: u64, end: u64, part: Part) {
        if start >= end {
            return;
        }
        match self.parts.last_mut() {
            Some((_, last, same)) if *same == part && *last == start => *last = end,
            _ => self.parts.push((start, end, part)),
        }
    }

    /// Returns the parts: the first byte, the byte after the last, and what is between.
    pub fn parts(&self) -> &[(u64, u64, Part)] {
        &self.parts
    }

    /// Returns the number of bytes of a kind.
    pub fn bytes(&self, part: Part) -> u64 {
        self.parts.iter().filter(|(.., kind)| *kind == part).map(|(start, end, _)| end - start).sum()
    }

    /// Returns the kind that has most of the bytes in each of `count` columns of equal length.
    ///
    /// ```
    /// use sciformats_salvage::Map;
    ///
    /// assert!(Map::default().columns(100).is_empty());
    /// ```
    pub fn columns(&self, count: usize) -> Vec<Part> {
        let size = u128::from(self.parts.last().map_or(0, |&(_, end, _)| end));
        if size == 0 {
            return Vec::new();
        }
        let border =
            |column: usize| u64::try_from(column as u128 * size / count.max(1) as u128).unwrap_or(u64::MAX);
        (0..count)
            .map(|column| {
                // A column of a short file may be less than a byte.
                let (from, to) = (border(column), border(column + 1).max(border(column) + 1));
                let first = self.parts.partition_point(|&(_, end, _)| end <= from);
                let mut bytes: Vec<(Part, u64)> = Vec::new();
                for &(start, end, part) in self.parts.iter().skip(first).take_while(|(start, ..)| *start < to)
                {
                    let len = end.min(to) - start.max(from).min(end.min(to));
                    match bytes.iter_mut().find(|(known, _)| *known == part) {
                        Some((_, sum)) => *sum += len,
                        None => bytes.push((part, len)),
                    }
                }
                bytes.into_iter().max_by_key(|(_, len)| *len).map_or(Part::Unknown, |(part, _)| part)
            })
            .collect()
    }

    pub(crate) fn json(&self) -> Value {
        let parts = self.parts.iter();
        Value::Array(
            parts.map(|(start, end, part)| json!({"start": start, "end": end, "is": part.word()})).collect(),
        )
    }

    /// Draws the map as a strip: an SVG of a thousand columns, each with the kind that has most of its bytes.
    pub fn svg(&self) -> String {
        const WIDTH: u64 = 1000;
        let size = self.parts.last().map_or(0, |&(_, end, _)| end).max(1);
        let mut out = String::from(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1000 60\" font-family=\"sans-serif\" font-size=\"12\">\n",
        );
        let column =
            |at: u64| u64::try_from(u128::from(at) * u128::from(WIDTH) / u128::from(size)).unwrap_or(WIDTH);
        let (mut from, mut shown) = (0, 0);
        for &(start, end, part) in &self.parts {
            let (left, right) = (column(start).max(from), column(end));
            // A part that is narrower than a column is drawn if nothing else is in the column.
            if right > left && shown < WIDTH {
                let color = part.color();
                let width = right - left;
                let _ = writeln!(
                    out,
                    "<rect x=\"{left}\" y=\"0\" width=\"{width}\" height=\"32\" fill=\"{color}\"><title>{start} to {end}: {}</title></rect>",
                    part.word()
                );
                from = right;
                shown += 1;
            }
        }
        for (i, part) in
            [Part::Reached, Part::Carved, Part::Unknown, Part::Zero, Part::Missing].into_iter().enumerate()
        {
            let x = i * 190;
            let (color, word, bytes) = (part.color(), part.word(), self.bytes(part));
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"42\" width=\"12\" height=\"12\" fill=\"{color}\" stroke=\"#718096\"/><text x=\"{}\" y=\"53\">{word}: {bytes} bytes</text>",
                x + 18
            );
        }
        out.push_str("</svg>\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_everything_once() {
        let known = vec![(10, 20, Part::Reached), (15, 30, Part::Carved), (40, 70, Part::Zero)];
        let map = Map::new(50, 60, known);
        assert_eq!(
            map.parts(),
            [
                (0, 10, Part::Unknown),
                (10, 20, Part::Reached),
                (20, 30, Part::Carved),
                (30, 40, Part::Unknown),
                (40, 50, Part::Zero),
                (50, 60, Part::Missing)
            ]
        );
        assert_eq!(map.bytes(Part::Unknown), 20);
        let all = [Part::Unknown, Part::Reached, Part::Carved, Part::Unknown, Part::Zero, Part::Missing];
        assert_eq!(map.columns(6), all);
        assert_eq!(map.columns(600).len(), 600);
        let svg = map.svg();
        assert!(svg.contains("reached: 10 bytes") && svg.ends_with("</svg>\n"), "{svg}");
    }
}
