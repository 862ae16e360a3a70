//! Dataspace message (IV.A.2.b): the shape of a dataset or attribute.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 1 | version: 1 or 2 |
//! | 1 | 1 | dimensionality, n: at most 32 |
//! | 2 | 1 | flags; bit 0: there are maximum sizes |
//! | 3 | 5 | reserved (version 1) |
//! | 3 | 1 | type: 0 scalar, 1 simple, 2 null (version 2) |
//! | 8 or 4 | n·L | dimension sizes, the slowest-varying first |
//! | | n·L | dimension maximum sizes; all bits are set if there is no limit (with bit 0) |

use nom::Parser;
use nom::bytes::complete::take;
use nom::combinator::cond;
use nom::multi::count;
use nom::number::complete::u8 as byte;
use sciformats_core::arith::fit;
use sciformats_core::fault::{FaultKind, Parsed, checked, fail, field};
use sciformats_core::{Error, Result};

use super::super::selection::MAX_RANK;
use super::super::{Sizes, length, put_length, put_limit};

/// The shape of a dataset or attribute.
///
/// ```
/// use hdf5_pure::structure::Dataspace;
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.dataset("energy").max_shape([None]).write(&[0.5, 0.25])?;
/// file.dataset("height").write_scalar(412.5)?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// let grows = Dataspace::Simple { dimensions: vec![2], maximum: vec![None] };
/// assert_eq!(*file.dataset("energy")?.dataspace(), grows);
/// assert_eq!(*file.dataset("height")?.dataspace(), Dataspace::Scalar);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dataspace {
    /// A null dataspace, which has no elements.
    Null,
    /// A scalar, which is one element.
    Scalar,
    /// An array.
    Simple {
        /// The length of each dimension; the slowest-varying dimension is the first.
        dimensions: Vec<u64>,
        /// The length that each dimension may grow to, or `None` if there is no limit.
        maximum: Vec<Option<u64>>,
    },
}

impl Dataspace {
    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (at, version) = field("version", byte)(i)?;
        let (at, rank) = checked("dimensionality", byte, |&rank| {
            (u32::from(rank) > MAX_RANK).then_some(FaultKind::Undefined { found: rank.into() })
        })(at)?;
        let (at, flags) = field("flags", byte)(at)?;
        let (at, kind) = match version {
            1 => field("reserved", take(5usize)).map(|_: &[u8]| u8::from(rank > 0)).parse(at)?,
            2 => field("type", byte)(at)?,
            found => return field("version", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i),
        };
        match (kind, rank) {
            (2, 0) => Ok((at, Self::Null)),
            (0 | 1, 0) => Ok((at, Self::Scalar)),
            (1, _) => simple(at, sizes, rank.into(), flags),
            _ => field("type", |i| fail(i, FaultKind::Undefined { found: kind.into() }))(i),
        }
    }

    /// Returns the length of each dimension. The list is empty for [`Scalar`](Self::Scalar) and for
    /// [`Null`](Self::Null), which [`is_null`](Self::is_null) tells apart.
    ///
    /// ```
    /// use hdf5_pure::structure::Dataspace;
    ///
    /// let frames = Dataspace::Simple { dimensions: vec![100, 3], maximum: vec![None, Some(3)] };
    /// assert_eq!(frames.shape(), [100, 3]);
    /// assert!(Dataspace::Scalar.shape().is_empty() && Dataspace::Null.shape().is_empty());
    /// ```
    pub fn shape(&self) -> &[u64] {
        self.extent().unwrap_or_default()
    }

    /// Returns whether the dataspace has neither a shape nor elements.
    ///
    /// ```
    /// use hdf5_pure::structure::Dataspace;
    ///
    /// assert!(Dataspace::Null.is_null() && !Dataspace::Scalar.is_null());
    /// ```
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The length of each dimension, or `None` for a null dataspace.
    ///
    /// ```
    /// use hdf5_pure::structure::Dataspace;
    ///
    /// assert_eq!((Dataspace::Scalar.extent(), Dataspace::Null.extent()), (Some(&[][..]), None));
    /// ```
    pub fn extent(&self) -> Option<&[u64]> {
        match self {
            Self::Null => None,
            Self::Scalar => Some(&[]),
            Self::Simple { dimensions, .. } => Some(dimensions),
        }
    }

    /// Returns the number of elements, if it fits 64 bits.
    pub(crate) fn elements(&self) -> Option<u64> {
        self.extent().map_or(Some(0), sciformats_core::slab::elements)
    }
}

fn simple(i: &[u8], sizes: Sizes, rank: usize, flags: u8) -> Parsed<'_, Dataspace> {
    let at = i;
    let (i, dimensions) = field("dimension size", count(length(sizes), rank)).parse(i)?;
    let (i, maximum) =
        cond(flags & 1 != 0, field("dimension maximum size", count(length(sizes), rank))).parse(i)?;
    let unlimited = most(sizes);
    let maximum: Vec<Option<u64>> = match maximum {
        Some(maximum) => maximum.into_iter().map(|max| (max != unlimited).then_some(max)).collect(),
        None => dimensions.iter().copied().map(Some).collect(),
    };
    if dimensions.iter().zip(&maximum).any(|(size, max)| max.is_some_and(|max| max < *size)) {
        return field("dimension maximum size", |i| {
            fail(i, FaultKind::Rule("is below the dimension's size"))
        })(at);
    }
    if sciformats_core::slab::elements(&dimensions).is_none() {
        return field("dimension size", |i| fail(i, FaultKind::Overflow))(at);
    }
    Ok((i, Dataspace::Simple { dimensions, maximum }))
}

/// Returns the largest number that a length of the file can be. As a maximum it says that there is no limit.
pub(crate) fn most(sizes: Sizes) -> u64 {
    match sizes.lengths {
        2 => u64::from(u16::MAX),
        4 => u64::from(u32::MAX),
        _ => u64::MAX,
    }
}

/// Fails if the lengths of the file cannot express these dimensions.
///
/// # Errors
/// [`Error::Usage`] with the dimension.
pub(crate) fn check_lengths(dimensions: &[u64], sizes: Sizes) -> Result<()> {
    let long = dimensions.iter().find(|&&size| size > most(sizes));
    long.map_or(Ok(()), |size| Err(too_long("shape", *size, sizes)))
}

fn too_long(what: &'static str, size: u64, sizes: Sizes) -> Error {
    let problem = format!(
        "has a dimension of {size}, but the file stores lengths in {} bytes, and the largest number stands for a dimension without a limit",
        sizes.lengths
    );
    Error::usage(what, problem)
}

impl Dataspace {
    /// Fails if the lengths of the file cannot express the dimensions and their maxima.
    ///
    /// # Errors
    /// [`Error::Usage`] with the dimension.
    pub(crate) fn check(&self, sizes: Sizes) -> Result<()> {
        let Self::Simple { dimensions, maximum } = self else { return Ok(()) };
        check_lengths(dimensions, sizes)?;
        let long = maximum.iter().flatten().find(|&&max| max >= most(sizes));
        long.map_or(Ok(()), |max| Err(too_long("maximum shape", *max, sizes)))
    }

    /// Appends a message of `version` 1 or 2, without maximum sizes if they are the sizes. A null dataspace always has version 2.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes, version: u8) -> Result<()> {
        self.put(out, sizes, version, false)
    }

    /// Works like [`encode`](Self::encode), but always appends the maximum sizes. The C library takes a dataset without them for one
    /// that may have any shape: when it shrinks the dataset, its maximum shape shrinks too, from which the chunks are numbered.
    pub(crate) fn encode_with_maximum(&self, out: &mut Vec<u8>, sizes: Sizes, version: u8) -> Result<()> {
        self.put(out, sizes, version, true)
    }

    fn put(&self, out: &mut Vec<u8>, sizes: Sizes, version: u8, always: bool) -> Result<()> {
        let (kind, dimensions, maximum) = match self {
            Self::Null => (2, &[][..], &[][..]),
            Self::Scalar => (0, &[][..], &[][..]),
            // The C library takes a simple dataspace without dimensions for one whose dimensions were never set.
            Self::Simple { dimensions, .. } if dimensions.is_empty() => (0, &[][..], &[][..]),
            Self::Simple { dimensions, maximum } => (1, &dimensions[..], &maximum[..]),
        };
        let grows = dimensions.iter().zip(maximum).any(|(&size, &max)| max != Some(size));
        let limited = grows || always && !dimensions.is_empty();
        let rank = fit::<u8, _>(dimensions.len(), "dimensionality")?;
        match (version, kind) {
            (1, 0 | 1) => out.extend([1, rank, u8::from(limited), 0, 0, 0, 0, 0]),
            _ => out.extend([2, rank, u8::from(limited), kind]),
        }
        dimensions.iter().try_for_each(|&size| put_length(out, size, sizes))?;
        if limited {
            maximum.iter().try_for_each(|&max| put_limit(out, max, sizes))?;
        }
        Ok(())
    }
}

/// Replaces the dimensions in an encoded message. Returns `None` if the message does not have as many dimensions.
pub(crate) fn put_dimensions(message: &mut [u8], dimensions: &[u64], sizes: Sizes) -> Option<()> {
    let start = match *message {
        [1, rank, ..] if usize::from(rank) == dimensions.len() => 8,
        [2, rank, _, 1, ..] if usize::from(rank) == dimensions.len() => 4,
        _ => return None,
    };
    let mut bytes = Vec::new();
    dimensions.iter().try_for_each(|&size| put_length(&mut bytes, size, sizes)).ok()?;
    let end = bytes.len().checked_add(start)?;
    message.get_mut(start..end)?.copy_from_slice(&bytes);
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::test::{SIZES, any_sizes, both_ways, hex, near};
    use super::*;

    const GROWING: [u8; 36] = [
        2, // version
        2, // dimensionality
        1, // flags: maximum sizes
        1, // type: simple
        3, 0, 0, 0, 0, 0, 0, 0, // size of dimension 0
        4, 0, 0, 0, 0, 0, 0, 0, // size of dimension 1
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // maximum size of dimension 0: without limit
        9, 0, 0, 0, 0, 0, 0, 0, // maximum size of dimension 1
    ];

    const FIXED: [u8; 16] = [
        1, // version
        1, // dimensionality
        0, // flags
        0, 0, 0, 0, 0, // reserved
        0x28, 0, 0, 0, 0, 0, 0, 0, // size of dimension 0
    ];

    #[test]
    fn byte_by_byte() {
        let growing = Dataspace::Simple { dimensions: vec![3, 4], maximum: vec![None, Some(9)] };
        let fixed = Dataspace::Simple { dimensions: vec![40], maximum: vec![Some(40)] };
        for (bytes, dataspace, version) in [(&GROWING[..], growing, 2), (&FIXED, fixed, 1)] {
            both_ways(
                bytes,
                &dataspace,
                |i| Dataspace::parse(i, SIZES),
                |dataspace, out| dataspace.encode(out, SIZES, version),
            );
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(new in near(&GROWING), old in near(&FIXED), sizes in any_sizes()) {
            for mut bytes in [new, old] {
                if let Ok((_, dataspace)) = Dataspace::parse(&bytes, sizes) {
                    let _ = dataspace.elements();
                }
                let _ = put_dimensions(&mut bytes, &[1, 2], sizes);
            }
        }
    }

    #[test]
    fn all_kinds() {
        let parse = |text| Dataspace::parse(&hex(text), SIZES).map(|(rest, space)| (rest.len(), space)).ok();
        assert_eq!(parse("02000000"), Some((0, Dataspace::Scalar)));
        assert_eq!(parse("02000002"), Some((0, Dataspace::Null)));
        assert_eq!(parse("01000000 00000000"), Some((0, Dataspace::Scalar)));
        let unlimited = Dataspace::Simple { dimensions: vec![40], maximum: vec![None] };
        assert_eq!(parse("02010101 2800000000000000 ffffffffffffffff"), Some((0, unlimited)));
        let fixed = Dataspace::Simple { dimensions: vec![3, 4], maximum: vec![Some(3), Some(4)] };
        assert_eq!(parse("01020000 00000000 0300000000000000 0400000000000000"), Some((0, fixed)));
        assert_eq!(parse("02010101 2800000000000000 0100000000000000"), None, "maximum below size");
        assert_eq!(parse("02210000"), None, "too many dimensions");
    }

    #[test]
    fn without_dimensions_it_is_written_as_a_scalar() {
        let none = Dataspace::Simple { dimensions: Vec::new(), maximum: Vec::new() };
        for (version, expected) in [(1, "01000000 00000000"), (2, "02000000")] {
            let mut bytes = Vec::new();
            none.encode(&mut bytes, SIZES, version).unwrap();
            assert_eq!(bytes, hex(expected));
        }
    }

    #[test]
    fn encoded_and_parsed() {
        let simple = |dimensions: &[u64], maximum: &[Option<u64>]| Dataspace::Simple {
            dimensions: dimensions.to_vec(),
            maximum: maximum.to_vec(),
        };
        let all = [
            Dataspace::Null,
            Dataspace::Scalar,
            simple(&[3, 4], &[Some(3), Some(4)]),
            simple(&[0, 4], &[None, Some(9)]),
        ];
        for (dataspace, version) in all.iter().flat_map(|space| [(space, 1), (space, 2)]) {
            let mut bytes = Vec::new();
            dataspace.encode(&mut bytes, SIZES, version).unwrap();
            assert_eq!(Dataspace::parse(&bytes, SIZES).unwrap(), (&[][..], dataspace.clone()));
        }
    }

    #[test]
    fn dimensions_are_replaced() {
        for version in [1, 2] {
            let of = |dimensions: &[u64]| {
                let maximum = vec![None, Some(9)];
                let mut bytes = Vec::new();
                Dataspace::Simple { dimensions: dimensions.to_vec(), maximum }
                    .encode(&mut bytes, SIZES, version)
                    .unwrap();
                bytes
            };
            let mut message = of(&[3, 4]);
            put_dimensions(&mut message, &[70_000, 9], SIZES).unwrap();
            assert_eq!(message, of(&[70_000, 9]));
            assert_eq!(put_dimensions(&mut message, &[1], SIZES), None);
            assert_eq!(put_dimensions(&mut message[..19], &[1, 2], SIZES), None);
        }
    }
}
