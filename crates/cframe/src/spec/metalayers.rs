//! Named bytes in the header and in the trailer of a frame. They are `MessagePack`, big-endian.
//!
//! | bytes | field |
//! |---|---|
//! | `93` | array of 3 |
//! | `cd` u16 | size of the map |
//! | `de` u16 | number of names |
//! | `a0`+n, n bytes, `d2` i32 | for each: name, and position of the value, counted from the start of the header or trailer |
//! | `dc` u16 | number of values |
//! | `c6` u32, bytes | for each: value |

use crate::spec::marker::Marker;
use nom::bytes::complete::take;
use sciformats_core::arith::{add, fit, sub, sum};
use sciformats_core::fault::{FaultKind, Parsed, fail, field};
use sciformats_core::{Error, Result, bound};

use super::msgpack::{
    array16, bin32, fixstr, map16, marker, put_array16, put_bin32, put_int32, put_map16, put_marker,
    put_uint16, size32, uint16,
};

/// The size of the longest name in bytes.
pub(crate) const MAX_NAME: usize = 31;

/// A name and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    pub(crate) name: String,
    pub(crate) content: Vec<u8>,
}

/// The byte from which the size of the map is counted. In the header it includes the marker of the array, and in the trailer it
/// does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the header.
    Header,
    /// In the trailer.
    Trailer,
}

/// Parses the layers that begin after the first `start` bytes of `whole`, which is a header or a trailer.
pub(crate) fn parse(whole: &[u8], start: usize) -> Parsed<'_, Vec<Layer>> {
    let (i, _) = field("metalayers", take(start))(whole)?;
    let (i, ()) = marker("metalayers", Marker::FixArray(3))(i)?;
    let (i, _map_size) = uint16("size of the map of metalayers")(i)?;
    let (mut i, count) = map16("number of metalayers")(i)?;
    let mut layers = Vec::new();
    let mut end = i;
    let mut total = 0usize;
    for _ in 0..count {
        let (rest, name) = fixstr("name of a metalayer")(i)?;
        let (rest, offset) = size32("offset of a metalayer")(rest)?;
        let Some(value) = usize::try_from(offset).ok().and_then(|offset| whole.get(offset..)) else {
            let bounds = FaultKind::OutOfBounds { found: offset.into(), end: whole.len() as u64 };
            return field("offset of a metalayer", |i| fail(i, bounds))(rest);
        };
        let (after, content) = bin32("metalayer")(value)?;
        // Values that overlap could multiply the bytes that are stored.
        total = bound::sum(total, content.len());
        if total > whole.len() {
            return field("offset of a metalayer", |i| fail(i, FaultKind::Rule("overlaps another")))(rest);
        }
        end = if after.len() < end.len() { after } else { end };
        layers.push(Layer { name: name.to_owned(), content: content.to_vec() });
        i = rest;
    }
    let (i, _) = array16("number of metalayer values")(i)?;
    Ok((if end.len() < i.len() { end } else { i }, layers))
}

/// Returns the value of the field "size of the map", which is the size of the names and positions of layers with the markers
/// around them.
pub(crate) fn map_size<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<usize> {
    // Markers and numbers are 1 + 3 bytes before the map, 3 bytes at its start, and 6 bytes for each name.
    names.into_iter().try_fold(7, |size, name| add(size, add(name.len(), 6)?))
}

/// The largest size of the map.
pub(crate) const MAX_MAP: usize = 65_535;

/// Appends the layers to `out`, which contains the header or trailer so far.
pub(crate) fn encode(layers: &[Layer], place: Place, out: &mut Vec<u8>) -> Result<()> {
    let map_end = map_size(layers.iter().map(|layer| &layer.name[..]))?;
    let map_size = if place == Place::Header { map_end } else { sub(map_end, 1)? };
    let count = fit(layers.len(), "number of metalayers")?;
    let mut value = sum([out.len(), map_end, 3])?;

    put_marker(out, Marker::FixArray(3));
    put_uint16(out, fit(map_size, "size of the map of metalayers")?);
    put_map16(out, count);
    for layer in layers {
        if layer.name.len() > MAX_NAME {
            return Err(Error::internal("the name of a metalayer is too long"));
        }
        put_marker(out, Marker::FixStr(fit(layer.name.len(), "length of the name of a metalayer")?));
        out.extend(layer.name.bytes());
        put_int32(out, fit(value, "offset of a metalayer")?);
        value = sum([value, layer.content.len(), 5])?;
    }
    put_array16(out, count);
    layers.iter().try_for_each(|layer| put_bin32(out, &layer.content))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sciformats_core::fault::locate;

    use super::*;

    #[test]
    fn one_layer() {
        let bytes = [
            0xff, // what stands before
            0x93, // array of 3
            0xcd, 0, 15, // size of the map, up to the array of values
            0xde, 0, 1, // one name
            0xa2, b'm', b'0', // the name
            0xd2, 0, 0, 0, 19, // where its value is
            0xdc, 0, 1, // one value
            0xc6, 0, 0, 0, 2, 7, 8, // the value
        ];
        let layers = locate("metalayers", 0, &bytes, |i| parse(i, 1)).unwrap();
        assert_eq!(layers, [Layer { name: "m0".into(), content: vec![7, 8] }]);
        let mut out = vec![0xff];
        encode(&layers, Place::Header, &mut out).unwrap();
        assert_eq!(out, bytes);
        let mut bad = bytes;
        bad[14] = 99;
        assert_eq!(
            locate("metalayers", 0, &bad, |i| parse(i, 1)).unwrap_err().to_string(),
            "malformed metalayers at offset 0x10: offset of a metalayer is 25363, out of bounds (end 26)"
        );
    }

    proptest! {
        #[test]
        fn round_trip(layers: Vec<(u8, Vec<u8>)>, before in 0usize..9) {
            let layers: Vec<_> = layers
                .into_iter()
                .map(|(n, content)| Layer { name: "n".repeat(usize::from(n % 32)), content })
                .collect();
            let mut out = vec![0; before];
            encode(&layers, Place::Trailer, &mut out).unwrap();
            let (rest, again) = parse(&out, before).unwrap();
            prop_assert!(rest.is_empty());
            prop_assert_eq!(again, layers);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let mut framed = vec![0x93, 0xcd, 0, 0, 0xde, 0, 2];
            framed.extend(bytes);
            let _ = parse(&framed, 0);
        }
    }
}
