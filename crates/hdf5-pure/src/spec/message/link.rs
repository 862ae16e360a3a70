//! Link message (IV.A.2.g): one member of a group.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 1 | version: 1 |
//! | 1 | 1 | flags; bits 0–1: width of length of link name (1, 2, 4 or 8), 2: creation order, 3: link type, 4: character set |
//! | 2 | 1 | link type: 0 hard, 1 soft, 64 external, 65 and more user-defined (with bit 3; otherwise hard) |
//! | | 8 | creation order (with bit 2) |
//! | | 1 | link name character set: 0 ASCII, 1 UTF-8 (with bit 4; otherwise ASCII) |
//! | | 1 to 8 | length of link name, n: not 0 |
//! | | n | link name |
//! | | O | address of the object header (hard link) |
//! | | 2, m | length of link value, link value (all others) |
//!
//! | offset | size | field of the value of an external link |
//! |---|---|---|
//! | 0 | 1 | version and flags: 0 |
//! | 1 | | external file name and NUL |
//! | | | path of the object and NUL |

use nom::Parser;
use nom::bytes::complete::take;
use nom::combinator::cond;
use nom::number::complete::{le_i64, le_u16, u8 as byte};
use sciformats_core::fault::{FaultKind, Parsed, checked, fail, field};
use sciformats_core::{Result, bound};

use super::super::{
    Address, Name, Sizes, bit, defined, put_address, put_uint, short, trimmed, uint, until_nul, version,
};

/// A link of a group: a name and a target.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default().with_track_order(true))?;
/// file.dataset("temperature").write(&[281.5])?;
/// file.dataset("pressure").write(&[1013.0])?;
/// let mut links: Vec<_> = File::from_bytes(file.into_bytes()?)?.root()?.links()?.into_iter().flatten().collect();
/// links.sort_by_key(|link| link.creation_order);
/// assert_eq!(links[0].name.to_text(), "temperature");
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The name of the link.
    pub name: Name,
    /// The position in the order in which the group's links were created, if it is tracked.
    pub creation_order: Option<i64>,
    /// Whether the name is declared to be UTF-8. Otherwise it is declared to be ASCII.
    pub utf8: bool,
    /// The target of the link.
    pub target: Target,
}

/// The target of a link.
///
/// ```
/// use hdf5_pure::structure::Target;
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.root().soft_link("latest", "/runs/7")?;
/// let link = File::from_bytes(file.into_bytes()?)?.root()?.link("latest")?;
/// assert_eq!(link.map(|link| link.target), Some(Target::Soft("/runs/7".into())));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An object of this file.
    Hard(Address),
    /// A path in this file.
    Soft(Name),
    /// A path in another file.
    External {
        /// The name of the file.
        file: Name,
        /// The path in that file.
        path: Name,
    },
    /// A user-defined link, whose data only its creator understands.
    User {
        /// The link type, from 65 to 255.
        class: u8,
        /// The data of the link.
        data: Vec<u8>,
    },
}

/// The fields before the value of a link.
struct Head<'a> {
    kind: u8,
    creation_order: Option<i64>,
    utf8: bool,
    name: &'a [u8],
}

impl<'a> Head<'a> {
    fn parse(i: &'a [u8]) -> Parsed<'a, Self> {
        let (i, _) = version(1)(i)?;
        let (i, flags) = checked("flags", byte, |&flags| {
            (flags > 0x1f).then_some(FaultKind::Undefined { found: flags.into() })
        })(i)?;
        let set = |n| bit(flags.into(), n);
        let (i, kind) = cond(set(3), field("link type", byte)).parse(i)?;
        let (i, creation_order) = cond(set(2), field("creation order", le_i64)).parse(i)?;
        let (i, characters) = cond(set(4), field("link name character set", byte)).parse(i)?;
        let width = 1usize.unbounded_shl(u32::from(flags & 3));
        let (at, len) = field("length of link name", uint(width))(i)?;
        let len = bound::addressable(len);
        if len == 0 {
            return field("length of link name", |i| fail(i, FaultKind::Undefined { found: 0 }))(i);
        }
        let (i, name) = field("link name", take(len)).parse(at)?;
        Ok((i, Self { kind: kind.unwrap_or(HARD), creation_order, utf8: characters == Some(1), name }))
    }
}

impl Link {
    /// Returns the name of a link, even if its value is invalid.
    pub(crate) fn name_of(i: &[u8]) -> Option<Name> {
        Head::parse(i).ok().map(|(_, head)| head.name.into())
    }

    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (i, Head { kind, creation_order, utf8, name }) = Head::parse(i)?;
        let (i, target) = match kind {
            0 => field("address of the object header", defined(sizes)).map(Target::Hard).parse(i)?,
            1 => value(i).map(|(i, path)| (i, Target::Soft(path.into())))?,
            64 => {
                let (rest, data) = value(i)?;
                let (_, target) = external(data)?;
                (rest, target)
            }
            class @ 65.. => value(i).map(|(i, data)| (i, Target::User { class, data: data.to_vec() }))?,
            found => return field("link type", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i),
        };
        Ok((i, Self { name: name.into(), creation_order, utf8, target }))
    }
}

fn value(i: &[u8]) -> Parsed<'_, &[u8]> {
    let (i, len) = field("length of link value", le_u16)(i)?;
    field("link value", take(len)).parse(i)
}

/// Parses the value of an external link: version and flags (1), the file name and the path, each followed by a NUL.
fn external(i: &[u8]) -> Parsed<'_, Target> {
    let (i, _) = checked("external link version and flags", byte, |&found| {
        (found != 0).then_some(FaultKind::Undefined { found: found.into() })
    })(i)?;
    let (i, file) = field("external file name", until_nul)(i)?;
    Ok((&[], Target::External { file: file.into(), path: trimmed(i).into() }))
}

/// The type of a hard link, which is not stored.
const HARD: u8 = 0;

impl Link {
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        let name = self.name.as_bytes();
        let (kind, value): (u8, Vec<u8>) = match &self.target {
            Target::Hard(_) => (HARD, Vec::new()),
            Target::Soft(path) => (1, path.as_bytes().to_vec()),
            Target::External { file, path } => {
                (64, [&[0], file.as_bytes(), &[0], path.as_bytes(), &[0]].concat())
            }
            Target::User { class, data } => (*class, data.clone()),
        };
        let width = match name.len() {
            0..=0xff => 0,
            0x100..=0xffff => 1,
            _ => 2,
        };
        let bits = [(self.creation_order.is_some(), 4), (kind != HARD, 8), (self.utf8, 16)];
        out.push(1);
        out.push(bits.iter().fold(width, |flags, &(set, bit)| if set { flags | bit } else { flags }));
        if kind != HARD {
            out.push(kind);
        }
        out.extend(self.creation_order.into_iter().flat_map(i64::to_le_bytes));
        if self.utf8 {
            out.push(1);
        }
        put_uint(out, name.len() as u64, 1usize.unbounded_shl(width.into()))?;
        out.extend(name);
        if let Target::Hard(address) = &self.target {
            put_address(out, Some(*address), sizes)?;
        } else {
            out.extend(short(value.len(), "length of a link's value")?.to_le_bytes());
            out.extend(value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::test::{SIZES, any_sizes, both_ways, hex, near};
    use super::*;

    const HARD_LINK: [u8; 12] = [
        1,    // version
        0,    // flags
        1,    // length of link name
        b'a', // link name
        0x20, 3, 0, 0, 0, 0, 0, 0, // address of the object header
    ];

    const SOFT_LINK: [u8; 19] = [
        1,    // version
        0x1c, // flags: creation order, link type, character set
        1,    // link type: soft
        5, 0, 0, 0, 0, 0, 0, 0, // creation order
        1, // link name character set: UTF-8
        2, // length of link name
        b'a', b'b', // link name
        2, 0, // length of link value
        b'/', b'a', // link value
    ];

    const EXTERNAL_LINK: [u8; 12] = [
        1,    // version
        8,    // flags: link type
        0x40, // link type: external
        1,    // length of link name
        b'e', // link name
        5, 0, // length of link value
        0, // version and flags
        b'f', 0, // external file name
        b'p', 0, // path
    ];

    const USER_LINK: [u8; 8] = [
        1,    // version
        8,    // flags: link type
        0xbb, // link type: user-defined
        1,    // length of link name
        b'e', // link name
        1, 0, // length of link value
        7, // link value
    ];

    #[test]
    fn all_kinds() {
        let link = |name: &str, target| Link { name: name.into(), creation_order: None, utf8: false, target };
        let soft = Link { creation_order: Some(5), utf8: true, ..link("ab", Target::Soft("/a".into())) };
        let all = [
            (&HARD_LINK[..], link("a", Target::Hard(Address(0x320)))),
            (&SOFT_LINK, soft),
            (&EXTERNAL_LINK, link("e", Target::External { file: "f".into(), path: "p".into() })),
            (&USER_LINK, link("e", Target::User { class: 187, data: vec![7] })),
        ];
        for (bytes, link) in all {
            both_ways(bytes, &link, |i| Link::parse(i, SIZES), |link, out| link.encode(out, SIZES));
        }
        let broken = hex("01 08 05 01 65 0000");
        assert!(Link::parse(&broken, SIZES).is_err());
        assert_eq!(Link::name_of(&broken), Some("e".into()));
        assert!(Link::parse(&hex("01 00 00"), SIZES).is_err());
    }

    #[test]
    fn encoded_and_parsed() {
        let targets = [
            Target::Hard(Address(0x1234)),
            Target::Soft("/a/b".into()),
            Target::External { file: "f.h5".into(), path: "/x".into() },
            Target::User { class: 70, data: vec![1, 2, 3] },
        ];
        let names = ["a".to_owned(), "é".to_owned(), "x".repeat(300), "y".repeat(70_000)];
        for (target, name) in targets.iter().flat_map(|target| names.iter().map(move |name| (target, name))) {
            for creation_order in [None, Some(7)] {
                let utf8 = !name.is_ascii();
                let link = Link { name: name.as_str().into(), creation_order, utf8, target: target.clone() };
                let mut bytes = Vec::new();
                link.encode(&mut bytes, SIZES).unwrap();
                assert_eq!(Link::parse(&bytes, SIZES).unwrap(), (&[][..], link));
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            hard in near(&HARD_LINK),
            soft in near(&SOFT_LINK),
            external in near(&EXTERNAL_LINK),
            user in near(&USER_LINK),
            sizes in any_sizes(),
        ) {
            for bytes in [hard, soft, external, user] {
                let _ = Link::parse(&bytes, sizes);
                let _ = Link::name_of(&bytes);
            }
        }
    }
}
