//! Attribute message (IV.A.2.m): a small named array of an object.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 1 | version: 1 to 3 |
//! | 1 | 1 | flags, from version 2 on; bit 0: the datatype is shared, bit 1: the dataspace is shared |
//! | 2 | 2 | name size, including its NUL |
//! | 4 | 2 | datatype size |
//! | 6 | 2 | dataspace size |
//! | 8 | 1 | name character set encoding: 0 ASCII, 1 UTF-8 (version 3) |
//! | 8 or 9 | name size | name and NUL |
//! | | datatype size | datatype message, or a reference to a [shared](super::shared) one |
//! | | dataspace size | dataspace message, or a reference to a shared one |
//! | | rest | data |
//!
//! In version 1, the name, the datatype and the dataspace are padded with zeros to multiples of 8 bytes.

use nom::bytes::complete::take;
use nom::number::complete::{le_u16, u8 as byte};
use nom::{Offset, Parser};
use sciformats_core::Result;
use sciformats_core::arith::add;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::super::{pad8, put_padding, short, trimmed};

/// An attribute whose parts are not parsed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawAttribute<'a> {
    pub(crate) name: &'a [u8],
    /// Whether the name is declared to be UTF-8.
    pub(crate) utf8: bool,
    pub(crate) datatype: Part<'a>,
    pub(crate) dataspace: Part<'a>,
    pub(crate) data: Part<'a>,
}

/// A part of the message: an embedded message, or a reference to a shared one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    pub(crate) shared: bool,
    /// The offset in the message.
    pub(crate) at: usize,
    pub(crate) bytes: &'a [u8],
}

impl<'a> RawAttribute<'a> {
    pub(crate) fn parse(message: &'a [u8]) -> Parsed<'a, Self> {
        let (i, version) = field("version", byte)(message)?;
        let (i, flags) = field("flags", byte)(i)?;
        let (padded, flags) = match version {
            1 => (true, 0),
            2 | 3 if flags < 4 => (false, flags),
            2 | 3 => {
                return field("flags", |i| fail(i, FaultKind::Undefined { found: flags.into() }))(message);
            }
            found => {
                return field("version", |i| fail(i, FaultKind::Undefined { found: found.into() }))(message);
            }
        };
        let (i, name_size) = field("name size", le_u16)(i)?;
        let (i, datatype_size) = field("datatype size", le_u16)(i)?;
        let (i, dataspace_size) = field("dataspace size", le_u16)(i)?;
        let (i, characters) = match version {
            3 => field("name character set encoding", byte)(i)?,
            _ => (i, 0),
        };
        let part = |name: &'static str, size: u16| {
            let size = usize::from(size);
            field(name, take(if padded { size.next_multiple_of(8) } else { size }))
                .map(move |bytes: &'a [u8]| bytes.get(..size).unwrap_or(bytes))
        };
        let (i, name) = part("name", name_size).parse(i)?;
        let (i, datatype) = part("datatype", datatype_size).parse(i)?;
        let (data, dataspace) = part("dataspace", dataspace_size).parse(i)?;
        let place = |shared, bytes: &'a [u8]| Part { shared, at: message.offset(bytes), bytes };
        let attribute = Self {
            name: trimmed(name),
            utf8: characters == 1,
            datatype: place(flags & 1 != 0, datatype),
            dataspace: place(flags & 2 != 0, dataspace),
            data: place(false, data),
        };
        Ok((&[], attribute))
    }
}

impl RawAttribute<'_> {
    /// Returns the message with another name; `message` is the present one.
    pub(crate) fn renamed(&self, message: &[u8], name: &[u8]) -> Result<Vec<u8>> {
        let new = NewAttribute {
            name,
            utf8: self.utf8 || !name.is_ascii(),
            datatype: self.datatype.bytes,
            shared_datatype: self.datatype.shared,
            dataspace: self.dataspace.bytes,
            shared_dataspace: self.dataspace.shared,
            data: self.data.bytes,
        };
        let old = message.first() == Some(&1) && name.is_ascii();
        let mut out = Vec::new();
        new.encode(&mut out, if old { 1 } else { 3 })?;
        Ok(out)
    }
}

/// The name, encoded datatype and dataspace of an attribute, and its elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewAttribute<'a> {
    pub(crate) name: &'a [u8],
    /// Whether the name is declared to be UTF-8.
    pub(crate) utf8: bool,
    pub(crate) datatype: &'a [u8],
    pub(crate) shared_datatype: bool,
    pub(crate) dataspace: &'a [u8],
    pub(crate) shared_dataspace: bool,
    pub(crate) data: &'a [u8],
}

impl NewAttribute<'_> {
    /// Appends a message of `version` 1 to 3. Version 1 can hold neither shared datatypes nor UTF-8 names, and version 2 cannot
    /// hold UTF-8 names.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, version: u8) -> Result<()> {
        let shared = u8::from(self.shared_datatype) | u8::from(self.shared_dataspace) << 1;
        out.extend([version, if version > 1 { shared } else { 0 }]);
        for len in [add(self.name.len(), 1)?, self.datatype.len(), self.dataspace.len()] {
            out.extend(short(len, "length of a part of an attribute")?.to_le_bytes());
        }
        if version == 3 {
            out.push(self.utf8.into());
        }
        let name = [self.name, &[0]].concat();
        for part in [&name[..], self.datatype, self.dataspace] {
            let start = out.len();
            out.extend(part);
            if version == 1 {
                put_padding(out, start, pad8(part.len())?)?;
            }
        }
        out.extend(self.data);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::test::near;
    use super::*;

    const VERSION_3: [u8; 26] = [
        3, // version
        0, // flags
        2, 0, // name size
        8, 0, // datatype size
        4, 0, // dataspace size
        0, // name character set encoding: ASCII
        b'u', 0, // name
        0x13, 0, 0, 0, // datatype: a string
        3, 0, 0, 0, // of three bytes
        2, 0, 0, 0, // dataspace: scalar
        b'a', b'b', b'c', // data
    ];

    const VERSION_1: [u8; 41] = [
        1, // version
        0, // reserved
        2, 0, // name size
        0x0c, 0, // datatype size
        8, 0, // dataspace size
        b'a', 0, // name
        0, 0, 0, 0, 0, 0, // padding
        0x10, 0, 0, 0, // datatype: an unsigned integer
        1, 0, 0, 0, // of one byte
        0, 0, 8, 0, // bit offset and precision
        0, 0, 0, 0, // padding
        1, 0, 0, 0, 0, 0, 0, 0, // dataspace: scalar
        7, // data
    ];

    #[test]
    fn a_string_of_version_3() {
        let (_, attribute) = RawAttribute::parse(&VERSION_3).unwrap();
        let part = |at: usize, end: usize| Part { shared: false, at, bytes: &VERSION_3[at..end] };
        let (datatype, dataspace, data) = (part(11, 19), part(19, 23), part(23, 26));
        assert_eq!(attribute, RawAttribute { name: b"u", utf8: false, datatype, dataspace, data });
        assert_eq!(attribute.renamed(&VERSION_3, b"u").unwrap(), VERSION_3);
        let renamed = attribute.renamed(&VERSION_3, "µ".as_bytes()).unwrap();
        let (_, renamed) = RawAttribute::parse(&renamed).unwrap();
        assert!(renamed.utf8 && renamed.name == "µ".as_bytes() && renamed.data.bytes == b"abc");
    }

    #[test]
    fn parts_of_version_1_are_padded() {
        let (_, attribute) = RawAttribute::parse(&VERSION_1).unwrap();
        assert_eq!((attribute.datatype.bytes.len(), attribute.data.bytes), (12, &[7][..]));
        assert_eq!(attribute.renamed(&VERSION_1, b"a").unwrap(), VERSION_1);
        assert!(RawAttribute::parse(&VERSION_1[..20]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(new in near(&VERSION_3), old in near(&VERSION_1)) {
            for bytes in [new, old] {
                if let Ok((_, attribute)) = RawAttribute::parse(&bytes) {
                    let _ = attribute.renamed(&bytes, b"name");
                }
            }
        }
    }
}
