//! Named bytes, as header and trailer of a frame hold them. `MessagePack`, big-endian.
//!
//! | bytes | field |
//! |---|---|
//! | `93` | array of 3 |
//! | `cd` u16 | size of the map |
//! | `de` u16 | number of names |
//! | `a0`+n, n bytes, `d2` i32 | each: a name, and where its value is, counted from the start of the header or trailer |
//! | `dc` u16 | number of values |
//! | `c6` u32, bytes | each: a value |

use nom::bytes::complete::take;
use rmp::Marker;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::msgpack::{
    array16, bin32, fixstr, map16, marker, put_array16, put_bin32, put_int32, put_map16, put_marker,
    put_uint16, size32, uint16,
};

/// The longest name.
pub(crate) const MAX_NAME: usize = 31;

/// A name and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    pub(crate) name: String,
    pub(crate) content: Vec<u8>,
}

/// From which byte the size of the map counts: the header includes the marker of the array, the trailer does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the header.
    Header,
    /// In the trailer.
    Trailer,
}

/// Parses the layers that begin after the first `start` bytes of `whole`, a header or a trailer.
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
        // Values that overlap could multiply the bytes that are there.
        total = total.saturating_add(content.len());
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

/// Appends the layers to `out`, which holds the header or trailer so far.
pub(crate) fn encode(layers: &[Layer], place: Place, out: &mut Vec<u8>) {
    let names: usize =
        layers.iter().map(|layer| layer.name.len().saturating_add(6)).fold(0, usize::saturating_add);
    // Markers and numbers: 1 + 3 before the map, 3 for its head.
    let map_end = names.saturating_add(7);
    let map_size = if place == Place::Header { map_end } else { map_end.saturating_sub(1) };
    let count = u16::try_from(layers.len()).unwrap_or(u16::MAX);
    let mut value = out.len().saturating_add(map_end).saturating_add(3);

    put_marker(out, Marker::FixArray(3));
    put_uint16(out, u16::try_from(map_size).unwrap_or(u16::MAX));
    put_map16(out, count);
    for layer in layers {
        put_marker(out, Marker::FixStr(u8::try_from(layer.name.len()).unwrap_or(31).min(31)));
        out.extend(layer.name.bytes().take(MAX_NAME));
        put_int32(out, i32::try_from(value).unwrap_or(i32::MAX));
        value = value.saturating_add(layer.content.len()).saturating_add(5);
    }
    put_array16(out, count);
    layers.iter().for_each(|layer| put_bin32(out, &layer.content));
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
        encode(&layers, Place::Header, &mut out);
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
            encode(&layers, Place::Trailer, &mut out);
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
