//! The standard, with one file per structure on disk: its type, and how its bytes are parsed and encoded.
//!
//! Everything here is a pure function of bytes and a small context, [`Sizes`]. A structure contains the addresses of others, but
//! does not know what is there. Section numbers are those of the HDF5 File Format Specification 2.0. Structures that it lacks are
//! marked with the title of their section in version 3.0.
//!
//! In the tables, `O` is the size of an address ("size of offsets"), and `L` is the size of a length; the superblock contains
//! both. The offset is left out if an earlier field varies in size. Numbers are little-endian. An address in which all bits are
//! set means that there is no such structure ("none").

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        clippy::cast_possible_truncation
    )
)]

pub(crate) mod btree_v1;
pub(crate) mod btree_v2;
pub(crate) mod cache_image;
pub(crate) mod driver_info;
pub(crate) mod extensible_array;
pub(crate) mod fixed_array;
pub(crate) mod fractal_heap;
pub(crate) mod free_space;
pub(crate) mod global_heap;
pub(crate) mod local_heap;
pub(crate) mod lookup3;
pub(crate) mod message;
pub(crate) mod object_header;
pub(crate) mod onion;
pub(crate) mod reference;
pub(crate) mod selection;
pub(crate) mod shared_table;
pub(crate) mod superblock;
pub(crate) mod symbol_table;
pub(crate) mod virtual_mapping;

use std::borrow::Cow;
use std::fmt;

use nom::Parser;
use nom::bytes::complete::{tag, take};
use nom::combinator::consumed;
use nom::number::complete::le_u32;
use sciformats_core::arith::{add, fit, present};
use sciformats_core::fault::{FaultKind, ParseError, Parsed, fail, field};
use sciformats_core::name::NameBytes;
use sciformats_core::{Error, Result, bound};

/// A position in the file, relative to its base address.
///
/// ```
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # made.root().attribute("title", "a week in May")?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
/// let address = file.dataset("surface/temperature")?.address();
/// assert_eq!(address.to_string(), format!("{:#x}", address.0));
/// assert_eq!(file.dataset_at(address)?.shape(), [2, 3]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(pub u64);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// The sizes in bytes that the superblock declares for addresses ("Size of Offsets") and for lengths.
///
/// ```
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # made.root().attribute("title", "a week in May")?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
/// let sizes = file.superblock().sizes;
/// assert_eq!((sizes.offsets, sizes.lengths), (8, 8));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The number of bytes of an address.
    pub offsets: u8,
    /// The number of bytes of a length.
    pub lengths: u8,
}

impl Sizes {
    /// Returns the size of this many addresses, lengths, and other bytes.
    #[expect(clippy::arithmetic_side_effects, reason = "the widest are 3 * 2^24 bytes")]
    pub(crate) fn bytes(self, addresses: u16, lengths: u16, others: u16) -> usize {
        let (o, l) = (u32::from(self.offsets), u32::from(self.lengths));
        let bytes = o * u32::from(addresses) + l * u32::from(lengths) + u32::from(others);
        bytes as usize
    }
}

/// A name as it is stored: bytes, usually UTF-8.
///
/// ```
/// use hdf5_pure::Name;
///
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # made.root().attribute("title", "a week in May")?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
/// for link in file.root()?.links()?.into_iter().flatten() {
///     assert_eq!(link.name, Name::from("surface"));
///     assert_eq!(format!("/{}", link.name), "/surface");
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(NameBytes);

impl Name {
    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the text, if the bytes are valid UTF-8.
    ///
    /// ```
    /// use hdf5_pure::Name;
    ///
    /// assert_eq!(Name::from("temperature").as_str(), Some("temperature"));
    /// assert_eq!(Name::from(&b"temp\xe9rature"[..]).as_str(), None); // Latin-1
    /// ```
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(self.as_bytes()).ok()
    }

    /// Returns the text. Bytes that are not valid UTF-8 become replacement characters.
    ///
    /// ```
    /// use hdf5_pure::Name;
    ///
    /// assert_eq!(Name::from("temperature").to_text(), "temperature");
    /// assert_eq!(Name::from(&b"temp\xe9rature"[..]).to_text(), "temp\u{fffd}rature");
    /// ```
    pub fn to_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.as_bytes())
    }
}

/// Returns whether a name is stored as UTF-8: it has other characters than ASCII, and is UTF-8.
pub(crate) fn is_utf8(name: &[u8]) -> bool {
    !name.is_ascii() && std::str::from_utf8(name).is_ok()
}

impl From<&[u8]> for Name {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        text.as_bytes().into()
    }
}

impl From<Name> for NameBytes {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_text())
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

/// Parses an unsigned little-endian number of `width` bytes. The value must fit 64 bits even if the field is wider.
pub(crate) fn uint<'a>(width: usize) -> impl FnMut(&'a [u8]) -> Parsed<'a, u64> {
    move |i| {
        // The context determines the width, which can be up to 32 bytes. The parsers of nom have fixed widths.
        let (rest, bytes) = take(width)(i)?;
        let (low, high) = bytes.split_at(bytes.len().min(8));
        if high.iter().any(|&byte| byte != 0) {
            return fail(i, FaultKind::Overflow);
        }
        let mut word = [0; 8];
        word.iter_mut().zip(low).for_each(|(to, &from)| *to = from);
        Ok((rest, u64::from_le_bytes(word)))
    }
}

/// Parses an address. All bits are set if there is none.
pub(crate) fn address<'a>(sizes: Sizes) -> impl FnMut(&'a [u8]) -> Parsed<'a, Option<Address>> {
    move |i| {
        let width = usize::from(sizes.offsets);
        match i.get(..width) {
            Some(bytes) if bytes.iter().all(|&byte| byte == 0xff) => {
                take(width).map(|_: &[u8]| None).parse(i)
            }
            _ => uint(width).map(|value| Some(Address(value))).parse(i),
        }
    }
}

/// Parses an address that must be present.
pub(crate) fn defined<'a>(sizes: Sizes) -> impl FnMut(&'a [u8]) -> Parsed<'a, Address> {
    move |i| match address(sizes)(i)? {
        (rest, Some(address)) => Ok((rest, address)),
        (_, None) => fail(i, FaultKind::Rule("is the undefined address")),
    }
}

/// Parses a length.
pub(crate) fn length<'a>(sizes: Sizes) -> impl FnMut(&'a [u8]) -> Parsed<'a, u64> {
    uint(usize::from(sizes.lengths))
}

/// Parses the four bytes at the start of a structure.
pub(crate) fn signature<'a>(bytes: &'static [u8; 4]) -> impl FnMut(&'a [u8]) -> Parsed<'a, ()> {
    field("signature", tag(&bytes[..]).map(|_: &[u8]| ()))
}

/// Parses a version number that must have one particular value.
pub(crate) fn version<'a>(known: u8) -> impl FnMut(&'a [u8]) -> Parsed<'a, u8> {
    field("version", move |i: &'a [u8]| match nom::number::complete::u8(i)? {
        (rest, found) if found == known => Ok((rest, found)),
        (_, found) => fail(i, FaultKind::Undefined { found: found.into() }),
    })
}

/// Runs `parser`, and then checks the checksum of all bytes that it consumed.
pub(crate) fn sealed<'a, P>(mut parser: P) -> impl FnMut(&'a [u8]) -> Parsed<'a, P::Output>
where
    P: Parser<&'a [u8], Error = ParseError>,
{
    move |i| {
        let (rest, (used, value)) = consumed(|i| parser.parse(i)).parse(i)?;
        let computed = lookup3::hash(used, 0);
        let (after, stored) = field("checksum", le_u32)(rest)?;
        if stored != computed {
            let kind = FaultKind::Checksum { stored: stored.into(), computed: computed.into() };
            return field("checksum", |_| fail(rest, kind))(rest);
        }
        Ok((after, value))
    }
}

/// Returns the bytes before a NUL, and consumes the NUL.
pub(crate) fn until_nul(i: &[u8]) -> Parsed<'_, &[u8]> {
    let mut parts = i.splitn(2, |&byte| byte == 0);
    match (parts.next(), parts.next()) {
        (Some(name), Some(rest)) => Ok((rest, name)),
        _ => fail(&[], FaultKind::Truncated),
    }
}

/// Returns the bytes before a NUL, and consumes the NUL and padding up to a multiple of 8 bytes.
pub(crate) fn padded_name(i: &[u8]) -> Parsed<'_, &[u8]> {
    let (rest, name) = until_nul(i)?;
    let used = i.len().checked_sub(rest.len());
    let Some(padding) = used.and_then(|used| used.checked_next_multiple_of(8)?.checked_sub(used)) else {
        return fail(rest, FaultKind::Overflow);
    };
    let (rest, _) = take(padding)(rest)?;
    Ok((rest, name))
}

/// Returns the name in `bytes`, which ends at its first NUL, or at the end.
pub(crate) fn trimmed(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// Returns `n` rounded up to a multiple of 8.
#[track_caller]
pub(crate) fn pad8(n: usize) -> Result<usize> {
    present(n.checked_next_multiple_of(8), "length of a padded field")
}

/// Returns the width in bytes of a field for values up to `n`: `floor(log2 n) / 8 + 1`.
pub(crate) fn width_for(n: u64) -> usize {
    n.to_be_bytes().into_iter().skip_while(|&byte| byte == 0).count().max(1)
}

/// Returns whether bit `bit` is set.
pub(crate) fn bit(flags: u32, bit: u32) -> bool {
    flags.unbounded_shr(bit) & 1 == 1
}

/// Returns `count` bits from bit `first` on; only the lowest eight of them.
pub(crate) fn bits(flags: u32, first: u32, count: u32) -> u8 {
    let mask = 1u32.unbounded_shl(count).wrapping_sub(1);
    let [low, ..] = (flags.unbounded_shr(first) & mask).to_le_bytes();
    low
}

/// Appends `value` in `width` bytes. If the field is wider than 64 bits, the rest is filled with zeros.
///
/// # Errors
/// `Internal` if the value does not fit the field.
#[inline]
#[track_caller]
pub(crate) fn put_uint(out: &mut Vec<u8>, value: u64, width: usize) -> Result<()> {
    let bytes = value.to_le_bytes();
    let (low, high) = bytes.split_at(width.min(bytes.len()));
    if high.iter().any(|&byte| byte != 0) {
        return Err(wider(value, width));
    }
    out.extend_from_slice(low);
    out.extend(std::iter::repeat_n(0, bound::left(width, bytes.len())));
    Ok(())
}

#[cold]
#[track_caller]
fn wider(value: u64, width: usize) -> Error {
    Error::internal(format!("{value:#x} does not fit a field of {width} bytes"))
}

/// Appends an address, or set bits if there is none.
///
/// # Errors
/// `Internal` if the address is wider than the addresses of the file, or has all bits set.
#[inline]
#[track_caller]
pub(crate) fn put_address(out: &mut Vec<u8>, address: Option<Address>, sizes: Sizes) -> Result<()> {
    let width = usize::from(sizes.offsets);
    match address {
        Some(Address(value)) if value.trailing_ones() >= u32::from(sizes.offsets) * 8 => {
            Err(Error::internal("an address has the value of the undefined address"))
        }
        Some(Address(value)) => put_uint(out, value, width),
        None => {
            out.extend(std::iter::repeat_n(0xff, width));
            Ok(())
        }
    }
}

/// Appends a length.
///
/// # Errors
/// The same as those of [`put_uint`].
#[inline]
#[track_caller]
pub(crate) fn put_length(out: &mut Vec<u8>, value: u64, sizes: Sizes) -> Result<()> {
    put_uint(out, value, usize::from(sizes.lengths))
}

/// Appends a length. All bits are set if there is no limit.
///
/// # Errors
/// The same as those of [`put_address`].
#[track_caller]
pub(crate) fn put_limit(out: &mut Vec<u8>, value: Option<u64>, sizes: Sizes) -> Result<()> {
    put_address(out, value.map(Address), Sizes { offsets: sizes.lengths, ..sizes })
}

/// Appends the checksum of the bytes of `out` from `start` on.
///
/// # Errors
/// `Internal` if `out` is shorter than `start`.
#[track_caller]
pub(crate) fn put_checksum(out: &mut Vec<u8>, start: usize) -> Result<()> {
    let checksum = lookup3::hash(present(out.get(start..), "what a checksum is of")?, 0);
    out.extend(checksum.to_le_bytes());
    Ok(())
}

/// Appends a name and a NUL, and then zeros up to a multiple of 8 bytes.
///
/// # Errors
/// `Internal` if the padded name is larger than the memory.
#[track_caller]
pub(crate) fn put_padded_name(out: &mut Vec<u8>, name: &[u8]) -> Result<()> {
    let start = out.len();
    out.extend(name);
    put_padding(out, start, pad8(add(name.len(), 1)?)?)
}

/// Appends zeros until there are `len` bytes from `start` on.
///
/// # Errors
/// `Internal` if there are already more bytes.
#[track_caller]
pub(crate) fn put_padding(out: &mut Vec<u8>, start: usize, len: usize) -> Result<()> {
    let end = add(start, len)?;
    if out.len() > end {
        return Err(Error::internal(format!("content is longer than the {len} bytes of its structure")));
    }
    out.resize(end, 0);
    Ok(())
}

/// Returns a count or length in 16 bits; `what` names it.
///
/// # Errors
/// `Internal` if it does not fit.
#[track_caller]
pub(crate) fn short(n: usize, what: &'static str) -> Result<u16> {
    fit(n, what)
}

#[cfg(test)]
pub(crate) mod test {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;

    pub(crate) const SIZES: Sizes = Sizes { offsets: 8, lengths: 8 };

    /// Checks that `bytes` are parsed completely as `value`, and that `value` is encoded as `bytes`.
    #[track_caller]
    pub(crate) fn both_ways<'a, T: PartialEq + fmt::Debug>(
        bytes: &'a [u8],
        value: &T,
        parse: impl FnOnce(&'a [u8]) -> Parsed<'a, T>,
        encode: impl FnOnce(&T, &mut Vec<u8>) -> Result<()>,
    ) {
        let (rest, parsed) = parse(bytes).unwrap();
        assert_eq!((rest, &parsed), (&[][..], value));
        let mut out = Vec::new();
        encode(value, &mut out).unwrap();
        assert_eq!(out, bytes);
    }

    /// Returns bytes that are similar to `example`: a few bytes are changed, the end is cut off, or more bytes follow. They get
    /// further in a parser than random bytes, which are returned now and then.
    pub(crate) fn near(example: &[u8]) -> impl Strategy<Value = Vec<u8>> + use<> {
        let example = example.to_vec();
        let value = prop_oneof![Just(0), Just(1), Just(0xff), any::<u8>()];
        let changes = prop::collection::vec((any::<Index>(), value), 0..4);
        let end = prop_oneof![
            Just((None, Vec::new())),
            any::<Index>().prop_map(|cut| (Some(cut), Vec::new())),
            prop::collection::vec(any::<u8>(), 0..40).prop_map(|more| (None, more)),
        ];
        let near = (changes, end).prop_map(move |(changes, (cut, more))| {
            let mut bytes = example.clone();
            for (at, value) in changes.into_iter().filter(|_| !example.is_empty()) {
                bytes[at.index(example.len())] = value;
            }
            bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len() + 1)));
            bytes.extend(more);
            bytes
        });
        prop_oneof![4 => near, 1 => prop::collection::vec(any::<u8>(), 0..100)]
    }

    /// Returns bytes that are similar to `example`, followed by their checksum.
    pub(crate) fn near_sealed(example: &[u8]) -> impl Strategy<Value = Vec<u8>> + use<> {
        near(example).prop_map(seal)
    }

    /// Returns sizes that a superblock may declare: mostly the usual ones, and now and then others.
    pub(crate) fn any_sizes() -> impl Strategy<Value = Sizes> {
        let width = || prop::sample::select(vec![2u8, 4, 8, 16, 32]);
        let any = (width(), width()).prop_map(|(offsets, lengths)| Sizes { offsets, lengths });
        prop_oneof![3 => Just(SIZES), 1 => any]
    }

    /// Returns bytes from hexadecimal text; spaces are ignored.
    pub(crate) fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
        digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
    }

    /// Appends the checksum at the end of a structure.
    pub(crate) fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
        let sum = lookup3::hash(&bytes, 0);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    #[test]
    fn numbers_of_any_width() {
        assert_eq!(uint(3)(&[1, 2, 3, 4]).unwrap(), (&[4][..], 0x03_02_01));
        assert!(uint(4)(&[1, 2, 3]).is_err());
        let mut wide = [0; 16];
        wide[0] = 7;
        assert_eq!(uint(16)(&wide).unwrap().1, 7);
        wide[9] = 1;
        assert!(uint(16)(&wide).is_err());
    }

    #[test]
    fn addresses_with_all_bits_set_are_none() {
        let sizes = Sizes { offsets: 4, lengths: 4 };
        assert_eq!(address(sizes)(&[0xff; 4]).unwrap().1, None);
        assert_eq!(address(sizes)(&[0xff, 0xff, 0xff, 0]).unwrap().1, Some(Address(0xff_ffff)));
        assert!(defined(sizes)(&[0xff; 4]).is_err());
    }

    #[test]
    fn reserved_widths() {
        let widths = [0, 1, 255, 256, 65_535, 65_536, u64::MAX].map(width_for);
        assert_eq!(widths, [1, 1, 1, 2, 2, 3, 8]);
    }

    #[test]
    fn seals_are_checked() {
        let good = seal(b"FAHD".to_vec());
        assert!(sealed(signature(b"FAHD"))(&good).is_ok());
        let mut bad = good;
        bad[5] ^= 1;
        assert!(sealed(signature(b"FAHD"))(&bad).is_err());
    }
}
