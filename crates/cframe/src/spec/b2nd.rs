//! The metalayer `b2nd` (`caterva` in the first files), which contains the shape of an array. It is `MessagePack`, big-endian.
//!
//! | bytes | field |
//! |---|---|
//! | `97` (`95` without dtype) | array of 7 |
//! | `00` | version |
//! | 1 | number of dimensions, at most 16 |
//! | `90`+n, n × `d3` i64 | shape |
//! | `90`+n, n × `d2` i32 | chunk shape |
//! | `90`+n, n × `d2` i32 | block shape |
//! | 1 | format of the dtype: 0 NumPy |
//! | `db` u32, bytes | dtype |
//!
//! With 16 dimensions, the marker of the arrays overflows to `a0`, so it is not checked.

use crate::spec::marker::Marker;
use nom::Parser;
use nom::bytes::complete::take;
use nom::multi::count;
use nom::number::complete::{be_u32, u8};
use sciformats_core::arith::fit;
use sciformats_core::fault::{FaultKind, Parsed, checked, fail, field};
use sciformats_core::{Error, Result, bound};

use super::msgpack::{marker, put_int32, put_int64, put_marker, size32, size64};

/// The largest number of dimensions.
pub(crate) const MAX_DIMENSIONS: u8 = 16;

/// The type of the elements as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredType {
    pub(crate) format: u8,
    pub(crate) text: String,
}

/// The metalayer `b2nd`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct B2nd {
    pub(crate) shape: Vec<u64>,
    pub(crate) chunks: Vec<u32>,
    pub(crate) blocks: Vec<u32>,
    pub(crate) dtype: Option<StoredType>,
}

impl B2nd {
    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (i, fields) = field("b2nd", u8)(i)?;
        let (i, _) =
            checked("version", u8, |&v| (v != 0).then_some(FaultKind::Undefined { found: v.into() }))(i)?;
        let (i, dimensions) = checked("number of dimensions", u8, |&n| {
            (n > MAX_DIMENSIONS).then_some(FaultKind::OutOfBounds {
                found: n.into(),
                end: bound::sum(MAX_DIMENSIONS.into(), 1),
            })
        })(i)?;
        let n = usize::from(dimensions);
        let (i, _) = field("shape", u8)(i)?;
        let (i, shape) = count(size64("shape"), n).parse(i)?;
        let (i, _) = field("chunk shape", u8)(i)?;
        let (i, chunks) = count(size32("chunk shape"), n).parse(i)?;
        let (i, _) = field("block shape", u8)(i)?;
        let (i, blocks) = count(size32("block shape"), n).parse(i)?;
        if i.is_empty() || fields == Marker::FixArray(5).to_u8() {
            return Ok((i, Self { shape, chunks, blocks, dtype: None }));
        }
        let (i, format) = field("dtype format", u8)(i)?;
        let (i, ()) = marker("dtype", Marker::Str32)(i)?;
        let (rest, len) = field("dtype", be_u32)(i)?;
        let (rest, text) = field("dtype", take(len))(rest)?;
        match std::str::from_utf8(text) {
            Ok(text) => {
                let dtype = Some(StoredType { format, text: text.to_owned() });
                Ok((rest, Self { shape, chunks, blocks, dtype }))
            }
            Err(_) => field("dtype", |i| fail(i, FaultKind::Encoding))(i),
        }
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let fields = if self.dtype.is_some() { 7 } else { 5 };
        let dimensions = fit(self.shape.len(), "number of dimensions")?;
        if dimensions > MAX_DIMENSIONS {
            return Err(Error::internal("number of dimensions is out of range"));
        }
        let array = 0x90u8 | dimensions;
        out.extend([Marker::FixArray(fields).to_u8(), 0, dimensions, array]);
        for &size in &self.shape {
            put_int64(&mut out, fit(size, "shape")?);
        }
        for sizes in [&self.chunks, &self.blocks] {
            out.push(array);
            for &size in sizes {
                put_int32(&mut out, fit(size, "shape of chunks or blocks")?);
            }
        }
        if let Some(StoredType { format, text }) = &self.dtype {
            out.push(*format);
            put_marker(&mut out, Marker::Str32);
            out.extend(fit::<u32, _>(text.len(), "length of the dtype")?.to_be_bytes());
            out.extend(text.bytes());
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sciformats_core::fault::locate_all;

    use super::*;

    #[test]
    fn field_by_field() {
        let bytes = [
            &[0x97, 0, 1][..],                     // version, one dimension
            &[0x91, 0xd3, 0, 0, 0, 0, 0, 0, 1, 0], // shape
            &[0x91, 0xd2, 0, 0, 0, 9],             // chunk shape
            &[0x91, 0xd2, 0, 0, 0, 3],             // block shape
            &[0, 0xdb, 0, 0, 0, 3],                // dtype: NumPy
            b"<f4",
        ]
        .concat();
        let b2nd = locate_all("b2nd", 0, &bytes, B2nd::parse).unwrap();
        assert_eq!((&b2nd.shape[..], &b2nd.chunks[..], &b2nd.blocks[..]), (&[256][..], &[9][..], &[3][..]));
        assert_eq!(b2nd.dtype.as_ref().unwrap().text, "<f4");
        assert_eq!(b2nd.encode().unwrap(), bytes);
        let mut old = bytes[..25].to_vec();
        old[0] = 0x95;
        assert_eq!(locate_all("b2nd", 0, &old, B2nd::parse).unwrap().dtype, None);
        old[2] = 17;
        assert_eq!(
            locate_all("b2nd", 0, &old, B2nd::parse).unwrap_err().to_string(),
            "malformed b2nd at offset 0x2: number of dimensions is 17, out of bounds (end 17)"
        );
    }

    proptest! {
        #[test]
        fn round_trip(dims in proptest::collection::vec((0u64..1 << 40, 0u32..1 << 31, 0u32..1 << 31), 0..17), text: Option<String>) {
            let b2nd = B2nd {
                shape: dims.iter().map(|d| d.0).collect(),
                chunks: dims.iter().map(|d| d.1).collect(),
                blocks: dims.iter().map(|d| d.2).collect(),
                dtype: text.map(|text| StoredType { format: 0, text }),
            };
            prop_assert_eq!(B2nd::parse.parse(&b2nd.encode().unwrap()).unwrap().1, b2nd);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let mut framed = vec![0x97, 0, 2];
            framed.extend(bytes);
            let _ = B2nd::parse(&framed);
        }
    }
}
