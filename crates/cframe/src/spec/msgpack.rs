//! The small part of `MessagePack` that frames use, with exact markers. It is big-endian.

use crate::spec::marker::Marker;
use nom::bytes::complete::take;
use nom::number::complete::{be_i16, be_i32, be_i64, be_u16, be_u32, be_u64, u8};
use sciformats_core::Result;
use sciformats_core::arith::fit;
use sciformats_core::fault::{FaultKind, Parsed, checked, fail, field};

/// Parses a marker, which must be `expected`.
pub(crate) fn marker<'a>(name: &'static str, expected: Marker) -> impl FnMut(&'a [u8]) -> Parsed<'a, ()> {
    let wanted = expected.to_u8();
    move |i| {
        let check = |&found: &u8| {
            (found != wanted).then_some(FaultKind::Mismatch { expected: wanted.into(), found: found.into() })
        };
        checked(name, u8, check)(i).map(|(i, _)| (i, ()))
    }
}

macro_rules! numbers {
    ($($name:ident $put:ident $type:ty, $parser:ident, $marker:ident;)*) => {$(
        #[doc = concat!("Parses a number with the marker `", stringify!($marker), "`.")]
        pub(crate) fn $name<'a>(name: &'static str) -> impl FnMut(&'a [u8]) -> Parsed<'a, $type> {
            move |i| {
                let (i, ()) = marker(name, Marker::$marker)(i)?;
                field(name, $parser)(i)
            }
        }

        #[doc = concat!("Appends a number with the marker `", stringify!($marker), "`.")]
        pub(crate) fn $put(out: &mut Vec<u8>, value: $type) {
            put_marker(out, Marker::$marker);
            out.extend(value.to_be_bytes());
        }
    )*};
}
numbers! {
    int16 put_int16 i16, be_i16, I16;
    int32 put_int32 i32, be_i32, I32;
    int64 put_int64 i64, be_i64, I64;
    uint16 put_uint16 u16, be_u16, U16;
    uint32 put_uint32 u32, be_u32, U32;
    uint64 put_uint64 u64, be_u64, U64;
    array16 put_array16 u16, be_u16, Array16;
    map16 put_map16 u16, be_u16, Map16;
}

/// Appends a marker.
pub(crate) fn put_marker(out: &mut Vec<u8>, marker: Marker) {
    out.push(marker.to_u8());
}

/// Parses an `i32` that must not be negative.
pub(crate) fn size32<'a>(name: &'static str) -> impl FnMut(&'a [u8]) -> Parsed<'a, u32> {
    move |i| {
        let (rest, value) = int32(name)(i)?;
        match u32::try_from(value) {
            Ok(value) => Ok((rest, value)),
            Err(_) => field(name, |i| fail(i, FaultKind::Rule("is negative")))(i),
        }
    }
}

/// Parses an `i64` that must not be negative.
pub(crate) fn size64<'a>(name: &'static str) -> impl FnMut(&'a [u8]) -> Parsed<'a, u64> {
    move |i| {
        let (rest, value) = int64(name)(i)?;
        match u64::try_from(value) {
            Ok(value) => Ok((rest, value)),
            Err(_) => field(name, |i| fail(i, FaultKind::Rule("is negative")))(i),
        }
    }
}

/// Parses a string of at most 31 bytes.
pub(crate) fn fixstr<'a>(name: &'static str) -> impl FnMut(&'a [u8]) -> Parsed<'a, &'a str> {
    move |i| {
        let (rest, marker) = field(name, u8)(i)?;
        let Marker::FixStr(len) = Marker::from_u8(marker) else {
            return field(name, |i| fail(i, FaultKind::Undefined { found: marker.into() }))(i);
        };
        let (after, bytes) = field(name, take(len))(rest)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok((after, text)),
            Err(_) => field(name, |i| fail(i, FaultKind::Encoding))(rest),
        }
    }
}

/// Parses a `bin 32`.
pub(crate) fn bin32<'a>(name: &'static str) -> impl FnMut(&'a [u8]) -> Parsed<'a, &'a [u8]> {
    move |i| {
        let (i, ()) = marker(name, Marker::Bin32)(i)?;
        let (i, len) = field(name, be_u32)(i)?;
        field(name, take(len))(i)
    }
}

/// Appends a `bin 32`.
pub(crate) fn put_bin32(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    put_marker(out, Marker::Bin32);
    out.extend(fit::<u32, _>(bytes.len(), "length of a value")?.to_be_bytes());
    out.extend(bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use sciformats_core::fault::locate;

    use super::*;

    #[test]
    fn markers_are_exact() {
        let mut out = Vec::new();
        put_int32(&mut out, -2);
        put_bin32(&mut out, b"ab").unwrap();
        assert_eq!(out, [0xd2, 0xff, 0xff, 0xff, 0xfe, 0xc6, 0, 0, 0, 2, b'a', b'b']);
        let (rest, value) = int32("a")(&out).unwrap();
        assert_eq!((value, bin32("b")(rest).unwrap().1), (-2, &b"ab"[..]));
        let show = |bytes: &[u8]| locate("header", 0, bytes, uint16("a")).unwrap_err().to_string();
        assert_eq!(show(&[0xce]), "malformed header at offset 0x0: a is 206, expected 205");
        assert_eq!(show(&[0xcd, 1]), "malformed header at offset 0x1: a is truncated");
        let name = |bytes: &[u8]| locate("names", 0, bytes, |i| fixstr("name")(i).map(|(i, s)| (i, s.len())));
        assert_eq!(name(&[0xa2, b'x', b'y']).unwrap(), 2);
        assert_eq!(
            name(&[0xa1, 0xff]).unwrap_err().to_string(),
            "malformed names at offset 0x1: name is not valid text"
        );
        assert!(size32("a")(&out).is_err());
    }
}
