//! The metadata of MATLAB's objects: which classes there are, and which properties each object has.
//!
//! Source: the documentation of the package `mat-io` of the class `FileWrapper__`, which MATLAB itself does not
//! document, and files that this package writes. All numbers have four bytes in the order of the machine that
//! wrote the file. Regions follow each other; each begins where the header says.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | version: 2, 3 or 4 |
//! | 4 | 4 | number of names |
//! | 8 | 8 × 4 | offsets of the ends of the names and of the first seven regions |
//! | 40 | – | names of classes and properties, each with a zero at its end |
//! | – | 16 each | region 1, classes: name of the package, name, 0, 0 (numbers of names, from 1) |
//! | – | – | region 2, properties of objects that were saved by their own method |
//! | – | 24 each | region 3, objects: class, 0, 0, number in region 2, number in region 4, number in region 5 |
//! | – | – | region 4, properties of all other objects |
//! | – | – | region 5, properties that were added to objects, which are not read |
//!
//! Entry 0 of each region stands for nothing. An entry of the regions 2 and 4 is padded to eight bytes:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | number of properties |
//! | 4 | 12 each | name; kind: 0 a name, 1 a cell, 2 a number; and what it is |

use sciformats::{Error, Result};
use sciformats_core::{Fault, FaultKind};

/// The name of the structure in errors.
const STRUCTURE: &str = "metadata of MATLAB's objects";

/// The size of the header.
const HEADER: usize = 40;
/// The size of an entry of the classes.
const CLASS: usize = 16;
/// The size of an entry of the objects.
const OBJECT: usize = 24;
/// The size of a property.
const PROPERTY: usize = 12;

/// The number of offsets that the header has.
const OFFSETS: usize = 8;

/// The metadata of MATLAB's objects.
#[derive(Clone, PartialEq)]
pub(crate) struct Metadata {
    bytes: Vec<u8>,
    /// The version of the layout.
    pub(crate) version: u32,
    /// Whether numbers have their highest byte first.
    pub(crate) big: bool,
    names: Vec<String>,
    /// The ends of the names and of the first five regions.
    ends: [usize; 6],
    /// The offsets of the entries of the regions 2 and 4.
    saved: Vec<usize>,
    plain: Vec<usize>,
}

impl std::fmt::Debug for Metadata {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Metadata(version {}, {} names)", self.version, self.names.len())
    }
}

/// What a property contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The name of a member of an enumeration.
    Name(String),
    /// The number of a cell.
    Cell(u32),
    /// A number, or a truth value.
    Number(u32),
}

fn wrong<T>(field: &'static str, kind: FaultKind, offset: usize) -> Result<T> {
    Err(fault(field, kind, offset))
}

fn fault(field: &'static str, kind: FaultKind, offset: usize) -> Error {
    Fault::new(field, kind).at(STRUCTURE, offset as u64)
}

/// Returns the number at an offset.
fn word(bytes: &[u8], big: bool, field: &'static str, offset: usize) -> Result<u32> {
    let four = bytes.get(offset..).and_then(|rest| rest.first_chunk::<4>());
    let four = four.ok_or_else(|| fault(field, FaultKind::Truncated, offset))?;
    Ok(if big { u32::from_be_bytes(*four) } else { u32::from_le_bytes(*four) })
}

/// Returns a number that counts bytes or entries.
fn size(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX) // a bound: it is compared with the length of the bytes
}

impl Metadata {
    /// Parses the metadata.
    ///
    /// # Errors
    ///
    /// An error that names the field and its offset in the metadata if it contradicts the layout.
    pub(crate) fn parse(bytes: Vec<u8>) -> Result<Self> {
        let known = 2..=4;
        let little = word(&bytes, false, "version", 0)?;
        let big = !known.contains(&little) && known.contains(&little.swap_bytes());
        let version = if big { little.swap_bytes() } else { little };
        if !known.contains(&version) {
            return wrong("version", FaultKind::Undefined { found: version.into() }, 0);
        }
        let count = word(&bytes, big, "number of names", 4)?;
        let mut ends = [HEADER; 6];
        let mut before = HEADER;
        for (at, end) in ends.iter_mut().enumerate() {
            let offset = 8 + at * 4;
            *end = size(word(&bytes, big, "end of a region", offset)?);
            if *end > bytes.len() {
                let kind = FaultKind::OutOfBounds { found: *end as u64, end: bytes.len() as u64 };
                return wrong("end of a region", kind, offset);
            }
            if *end < before {
                return wrong("end of a region", FaultKind::Order, offset);
            }
            before = *end;
        }
        // The other offsets belong to regions that are always empty.
        word(&bytes, big, "end of a region", 4 + OFFSETS * 4)?;
        let names = names(&bytes, count, ends[0])?;
        let saved = entries(&bytes, big, (ends[1], ends[2]))?;
        let plain = entries(&bytes, big, (ends[3], ends[4]))?;
        Ok(Self { bytes, version, big, names, ends, saved, plain })
    }

    fn word(&self, field: &'static str, offset: usize) -> Result<u32> {
        word(&self.bytes, self.big, field, offset)
    }

    /// Returns a name by its number, from 1.
    pub(crate) fn name(&self, number: u32, offset: usize) -> Result<&str> {
        let found = size(number).checked_sub(1).and_then(|at| self.names.get(at));
        let kind = FaultKind::OutOfBounds { found: number.into(), end: self.names.len() as u64 + 1 };
        found.map(String::as_str).ok_or_else(|| fault("number of a name", kind, offset))
    }

    /// Returns the offset of an entry in a region of entries of one size.
    fn entry(
        &self,
        what: &'static str,
        number: u32,
        (from, to, size_of): (usize, usize, usize),
    ) -> Result<usize> {
        let count = to.saturating_sub(from) / size_of; // a bound: the ends are in order
        let at = size(number);
        if at == 0 || at >= count {
            return wrong(what, FaultKind::OutOfBounds { found: number.into(), end: count as u64 }, from);
        }
        Ok(from + at * size_of)
    }

    /// Returns the name of a class, with its package.
    pub(crate) fn class(&self, number: u32) -> Result<String> {
        let at = self.entry("number of a class", number, (self.ends[0], self.ends[1], CLASS))?;
        let package = self.word("package of a class", at)?;
        let name = self.name(self.word("name of a class", at + 4)?, at + 4)?;
        Ok(match package {
            0 => name.to_owned(),
            package => format!("{}.{name}", self.name(package, at)?),
        })
    }

    /// Returns the class of an object, and its properties in the order in which they are stored.
    pub(crate) fn object(&self, number: u32) -> Result<(u32, Vec<(String, Slot)>)> {
        let at = self.entry("number of an object", number, (self.ends[2], self.ends[3], OBJECT))?;
        let class = self.word("class of an object", at)?;
        let saved = self.word("properties of an object", at + 12)?;
        let plain = self.word("properties of an object", at + 16)?;
        let (entries, entry, from) = match saved {
            0 => (&self.plain, plain, at + 16),
            saved => (&self.saved, saved, at + 12),
        };
        if entry == 0 {
            return Ok((class, Vec::new()));
        }
        let kind = FaultKind::OutOfBounds { found: entry.into(), end: entries.len() as u64 };
        let Some(&at) = entries.get(size(entry)) else { return wrong("properties of an object", kind, from) };
        // The number was compared with the length of the region.
        let count = size(self.word("number of properties", at)?);
        let mut properties = Vec::new();
        for of in 0..count {
            let at = at + 4 + of * PROPERTY;
            let name = self.name(self.word("name of a property", at)?, at)?.to_owned();
            let (kind, value) = (self.word("kind of a property", at + 4)?, self.word("property", at + 8)?);
            let slot = match kind {
                0 => Slot::Name(self.name(value, at + 8)?.to_owned()),
                1 => Slot::Cell(value),
                2 => Slot::Number(value),
                other => {
                    return wrong("kind of a property", FaultKind::Undefined { found: other.into() }, at + 4);
                }
            };
            properties.push((name, slot));
        }
        Ok((class, properties))
    }
}

/// Returns the names, which end before `end`.
fn names(bytes: &[u8], count: u32, end: usize) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut at = HEADER;
    let region = bytes.get(..end).unwrap_or_default();
    for _ in 0..count {
        let rest = region.get(at..).unwrap_or_default();
        let Some(length) = rest.iter().position(|&byte| byte == 0) else {
            return wrong("name", FaultKind::Truncated, at);
        };
        if length == 0 {
            return wrong("name", FaultKind::Rule("is empty"), at);
        }
        names.push(String::from_utf8_lossy(rest.get(..length).unwrap_or_default()).into_owned());
        at += length + 1;
    }
    Ok(names)
}

/// Returns the offsets of the entries of a region, each of which says how long it is.
fn entries(bytes: &[u8], big: bool, (from, to): (usize, usize)) -> Result<Vec<usize>> {
    let mut entries = Vec::new();
    let mut at = from;
    while at < to {
        entries.push(at);
        let count = size(word(bytes, big, "number of properties", at)?);
        let length = count.checked_mul(PROPERTY).and_then(|length| length.checked_add(4 + 7));
        let next = length.and_then(|length| at.checked_add(length & !7)).filter(|&next| next <= to);
        let kind = FaultKind::OutOfBounds { found: count as u64, end: ((to - at) / PROPERTY) as u64 };
        at = next.ok_or_else(|| fault("number of properties", kind, at))?;
    }
    Ok(entries)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The metadata of an object of the class `p.C` with three properties, and of an object of the class `string`.
    #[rustfmt::skip]
    pub(crate) const BYTES: &[u8] = &[
        4, 0, 0, 0,                                     // version
        6, 0, 0, 0,                                     // number of names
        64, 0, 0, 0,                                    // end of the names
        112, 0, 0, 0,                                   // end of region 1
        136, 0, 0, 0,                                   // end of region 2
        208, 0, 0, 0,                                   // end of region 3
        0, 1, 0, 0,                                     // end of region 4
        8, 1, 0, 0,                                     // end of region 5
        8, 1, 0, 0, 16, 1, 0, 0,                        // ends of empty regions
        b'p', 0, b'C', 0, b'a', 0, b'b', 0,             // names 1 to 4
        b'a', b'n', b'y', 0,                            // name 5
        b's', b't', b'r', b'i', b'n', b'g', 0,          // name 6
        0, 0, 0, 0, 0,                                  // padding
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // class 0
        1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // class 1: p.C
        0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // class 2: string
        0, 0, 0, 0, 0, 0, 0, 0,                         // entry 0 of region 2
        1, 0, 0, 0,                                     // entry 1: one property
        5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,             // any: cell 0
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,             // object 0
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,             // object 1: class 1
        0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,             // entry 1 of region 4
        2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,             // object 2: class 2
        1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0,             // entry 1 of region 2
        0, 0, 0, 0, 0, 0, 0, 0,                         // entry 0 of region 4
        3, 0, 0, 0,                                     // entry 1: three properties
        3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,             // a: cell 1
        4, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0,             // b: the number 7
        2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,             // C: the name p
        0, 0, 0, 0, 0, 0, 0, 0,                         // region 5
        0, 0, 0, 0, 0, 0, 0, 0,                         // region 7
    ];

    #[test]
    fn classes_and_objects() {
        let metadata = Metadata::parse(BYTES.to_vec()).unwrap();
        assert_eq!((metadata.version, metadata.names.len()), (4, 6));
        assert_eq!(metadata.class(1).unwrap(), "p.C");
        assert_eq!(metadata.class(2).unwrap(), "string");
        let properties = [
            ("a".to_owned(), Slot::Cell(1)),
            ("b".to_owned(), Slot::Number(7)),
            ("C".into(), Slot::Name("p".into())),
        ];
        assert_eq!(metadata.object(1).unwrap(), (1, properties.to_vec()));
        assert_eq!(metadata.object(2).unwrap(), (2, vec![("any".to_owned(), Slot::Cell(0))]));
        for number in [0, 3, u32::MAX] {
            assert!(metadata.object(number).is_err() && metadata.class(number).is_err());
        }
    }

    #[test]
    fn the_other_order_of_bytes() {
        let turned =
            |part: &[u8]| part.chunks(4).flat_map(|four| four.iter().rev().copied()).collect::<Vec<u8>>();
        let bytes = [turned(&BYTES[..40]), BYTES[40..64].to_vec(), turned(&BYTES[64..])].concat();
        let metadata = Metadata::parse(bytes).unwrap();
        assert!(metadata.big);
        assert_eq!(metadata.class(1).unwrap(), "p.C");
        assert_eq!(metadata.object(2).unwrap().1, [("any".to_owned(), Slot::Cell(0))]);
    }

    #[test]
    fn errors_say_where() {
        let wrong = |at: usize, byte: u8| {
            let mut bytes = BYTES.to_vec();
            bytes[at] = byte;
            let read = Metadata::parse(bytes).and_then(|found| found.class(1).and_then(|_| found.object(1)));
            read.unwrap_err().to_string()
        };
        let told = "malformed metadata of MATLAB's objects at offset";
        assert_eq!(wrong(0, 9), format!("{told} 0x0: version is 9 (0x9), which is not defined"));
        assert_eq!(wrong(4, 200), format!("{told} 0x3b: name is empty"));
        assert_eq!(wrong(12, 50), format!("{told} 0xc: end of a region is out of order"));
        assert_eq!(wrong(29, 9), format!("{told} 0x1c: end of a region is 2312, out of bounds (end 272)"));
        assert_eq!(wrong(84, 99), format!("{told} 0x54: number of a name is 99, out of bounds (end 7)"));
        assert_eq!(
            wrong(176, 9),
            format!("{told} 0xb0: properties of an object is 9, out of bounds (end 2)")
        );
        assert_eq!(wrong(216, 9), format!("{told} 0xd8: number of properties is 9, out of bounds (end 3)"));
        assert_eq!(
            wrong(224, 9),
            format!("{told} 0xe0: kind of a property is 9 (0x9), which is not defined")
        );
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, at in 0usize..272, byte: u8, cut in 0usize..272) {
            let mut near = BYTES.to_vec();
            near[at] = byte;
            for bytes in [bytes, BYTES[..cut].to_vec(), near] {
                let Ok(metadata) = Metadata::parse(bytes) else { continue };
                for number in 0..4 {
                    let _ = (metadata.class(number), metadata.object(number));
                }
            }
        }
    }
}
