//! zfp (filter 32013, and codecs 33 to 35 of Blosc2): numbers of 4 and 8 bytes in blocks of 4 per dimension.
//!
//! The client data values that are stored:
//!
//! | index | bits | field |
//! |---|---|---|
//! | 0 | 12–15 | version of the codec: 5 |
//! | 0 | others | versions of the library and of the plug-in |
//! | 1– | 32 | magic: `zfp` and the version of the codec |
//! | | 52 | type and dimensions, the fastest first |
//! | | 12 or 64 | mode |
//!
//! A machine of the other byte order stores these values with their bytes swapped, and elements in its own order. A chunk is a bare
//! stream. What a caller gives is not what is stored: mode and parameters as [`Zfp::configure`] describes them.

use bytemuck::Pod;
use sciformats_core::{Fault, FaultKind, bound};
use zfp_rs::{
    ZfpBitStream, ZfpConfig, ZfpDimensionality, ZfpField, ZfpFieldMetadata, ZfpFieldMut, ZfpHeaderMask,
    ZfpScalar, ZfpScalarType, ZfpStreamAlignment,
};

use crate::filter::{rule, truncated, value, within};
use crate::{Chunk, Filter, Kind};

/// The versions that are stored: library 1.0.1, codec 5, plug-in 1.1.1.
const VERSIONS: u32 = 0x1010_5111;

/// The magic number as it is read from a value.
const MAGIC: u32 = 0x0570_667a;

/// The filter.
pub(crate) struct Zfp;

/// What the numbers of an array are, and how they are encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coding {
    pub(crate) scalar: ZfpScalarType,
    /// The lengths of the dimensions, the fastest first; those that do not exist are 0.
    pub(crate) dims: [usize; 4],
    pub(crate) config: ZfpConfig,
}

impl Filter for Zfp {
    fn id(&self) -> u16 {
        32013
    }

    fn name(&self) -> &'static str {
        "zfp"
    }

    fn decode(&self, values: &[u32], input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
        let (coding, swapped) = header(values)?;
        let mut out = vec![0; coding.bytes(max)?];
        coding.decode(input, &mut out)?;
        if swapped {
            out.chunks_exact_mut(coding.size()).for_each(<[u8]>::reverse);
        }
        Ok(out)
    }

    fn writes(&self) -> bool {
        cfg!(feature = "zfp")
    }

    fn encode(&self, values: &[u32], input: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        let (coding, swapped) = header(values)?;
        if swapped {
            return Err(rule("client data values", "have the byte order of another machine"));
        }
        coding.encode(input).map(Some)
    }

    /// The values of a caller: the mode, a reserved value, then the rate (mode 1, two words of a double), the precision (mode 2),
    /// the accuracy (mode 3, a double), or the four parameters of the expert mode (4). Mode 5 is reversible and has no parameter.
    fn configure(&self, asked: &[u32], chunk: &Chunk<'_>) -> Result<Vec<u32>, Fault> {
        let scalar = match (chunk.element.kind, chunk.element.size) {
            (Kind::Float, 4) => ZfpScalarType::F32,
            (Kind::Float, 8) => ZfpScalarType::F64,
            (Kind::Signed | Kind::Unsigned, 4) => ZfpScalarType::I32,
            (Kind::Signed | Kind::Unsigned, 8) => ZfpScalarType::I64,
            _ => return Err(rule("elements", "must be integers or floating-point numbers of 4 or 8 bytes")),
        };
        if chunk.element.big_endian {
            return Err(rule("elements", "must be little-endian"));
        }
        let mut dims = [0; 4];
        let long: Vec<u64> = chunk.long().rev().collect();
        if long.is_empty() || long.len() > dims.len() {
            return Err(rule("chunks", "must have between one and four dimensions that are longer than 1"));
        }
        for (to, &length) in dims.iter_mut().zip(&long) {
            *to = within("length of a dimension", length, usize::MAX)?;
        }
        let config = configuration(asked, scalar, rank(&dims)?)?;
        let metadata = ZfpFieldMetadata { scalar_type: scalar, dims };
        let mut stream = ZfpBitStream::new(32).map_err(|_| rule("header", "does not fit into memory"))?;
        stream
            .write_header(&config, &metadata, ZfpHeaderMask::FULL)
            .map_err(|_| rule("chunks", "have a dimension that is too long for zfp"))?;
        let bits = stream.write_pos();
        stream.flush();
        let words = bits.div_ceil(32);
        let stored = stream.as_bytes().chunks_exact(4).zip(0..words);
        let stored = stored.map(|(word, _)| {
            word.try_into().map(u32::from_le_bytes).map_err(|_| truncated("client data values"))
        });
        std::iter::once(Ok(VERSIONS)).chain(stored).collect()
    }
}

/// Interprets the values of a caller.
fn configuration(asked: &[u32], scalar: ZfpScalarType, rank: ZfpDimensionality) -> Result<ZfpConfig, Fault> {
    let double = || -> Result<f64, Fault> {
        let (low, high) = (value(asked, 2)?, value(asked, 3)?);
        Ok(f64::from_bits(u64::from(high) << 32 | u64::from(low)))
    };
    let config = match value(asked, 0)? {
        1 => {
            let rate = double()?;
            if !(rate > 0.0 && rate.is_finite()) {
                return Err(rule("rate", "must be a positive number of bits"));
            }
            return ZfpConfig::fixed_rate(rate, scalar, rank, ZfpStreamAlignment::Unaligned)
                .map_err(|_| rule("rate", "is not one that zfp has"));
        }
        2 => ZfpConfig::fixed_precision(value(asked, 2)?),
        3 => {
            let accuracy = double()?;
            if !(accuracy >= 0.0 && accuracy.is_finite()) {
                return Err(rule("accuracy", "must be a finite number of at least 0"));
            }
            ZfpConfig::fixed_accuracy(accuracy)
        }
        4 => {
            let [low, high, precision] = [value(asked, 2)?, value(asked, 3)?, value(asked, 4)?];
            ZfpConfig::expert(low, high, precision, value(asked, 5)?.cast_signed())
                .map_err(|_| rule("parameters", "are not valid for the expert mode"))?
        }
        5 => ZfpConfig::reversible(),
        found => return Err(Fault::new("mode", FaultKind::Undefined { found: found.into() })),
    };
    Ok(config)
}

/// Parses the stored values. The second result is whether their bytes are swapped.
fn header(values: &[u32]) -> Result<(Coding, bool), Fault> {
    let swapped = value(values, 1)? != MAGIC;
    let words = values.iter().skip(1).map(|word| if swapped { word.swap_bytes() } else { *word });
    let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    let mut stream = stream(&bytes)?;
    let wrong = |_| rule("client data values", "are not a header of zfp");
    let header = stream.read_header(ZfpHeaderMask::FULL).map_err(wrong)?;
    if header.bits_read > bytes.len() * 8 {
        return Err(truncated("client data values"));
    }
    match (header.metadata, header.config) {
        (Some(ZfpFieldMetadata { scalar_type: scalar, dims }), Some(config)) => {
            Ok((Coding { scalar, dims, config }, swapped))
        }
        _ => Err(truncated("client data values")),
    }
}

fn rank(dims: &[usize; 4]) -> Result<ZfpDimensionality, Fault> {
    Ok(match dims {
        [0, ..] => return Err(rule("dimensions", "have no elements")),
        [_, 0, ..] => ZfpDimensionality::D1,
        [_, _, 0, _] => ZfpDimensionality::D2,
        [_, _, _, 0] => ZfpDimensionality::D3,
        _ => ZfpDimensionality::D4,
    })
}

/// Copies bytes into whole words; the last one is filled with zeros.
fn stream(input: &[u8]) -> Result<ZfpBitStream, Fault> {
    let words = input.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(word)
    });
    Ok(ZfpBitStream::from_words(words.collect()))
}

impl Coding {
    fn size(&self) -> usize {
        if matches!(self.scalar, ZfpScalarType::I32 | ZfpScalarType::F32) { 4 } else { 8 }
    }

    /// Returns the number of bytes of all elements, which must be at most `max`.
    fn bytes(&self, max: usize) -> Result<usize, Fault> {
        let lengths = self.dims.iter().filter(|&&length| length > 0);
        let bytes = lengths.fold(self.size() as u64, |bytes, &length| bound::product(bytes, length as u64));
        within("size of the array", bytes, max)
    }

    /// Decodes a stream into all of `out`.
    pub(crate) fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), Fault> {
        if self.bytes(out.len())? != out.len() {
            return Err(rule("size of the array", "is smaller than that of the chunk"));
        }
        let mut stream = stream(input)?;
        match self.scalar {
            ZfpScalarType::I32 => self.decode_as::<i32>(&mut stream, out),
            ZfpScalarType::I64 => self.decode_as::<i64>(&mut stream, out),
            ZfpScalarType::F32 => self.decode_as::<f32>(&mut stream, out),
            ZfpScalarType::F64 => self.decode_as::<f64>(&mut stream, out),
        }
    }

    fn decode_as<T: ZfpScalar + Pod>(&self, stream: &mut ZfpBitStream, out: &mut [u8]) -> Result<(), Fault> {
        if let Ok(elements) = bytemuck::try_cast_slice_mut::<u8, T>(out) {
            return self.decode_into(stream, elements);
        }
        let mut elements = vec![T::zeroed(); out.len() / size_of::<T>()];
        self.decode_into(stream, &mut elements)?;
        out.copy_from_slice(bytemuck::cast_slice(&elements));
        Ok(())
    }

    fn decode_into<T: ZfpScalar>(&self, stream: &mut ZfpBitStream, out: &mut [T]) -> Result<(), Fault> {
        let [x, y, z, w] = self.dims;
        let mut field = match rank(&self.dims)? {
            ZfpDimensionality::D1 => ZfpFieldMut::new(out, [x]),
            ZfpDimensionality::D2 => ZfpFieldMut::new(out, [x, y]),
            ZfpDimensionality::D3 => ZfpFieldMut::new(out, [x, y, z]),
            ZfpDimensionality::D4 => ZfpFieldMut::new(out, [x, y, z, w]),
        }
        .map_err(|_| rule("dimensions", "do not fit the array"))?;
        stream.decompress(&self.config, &mut field).map_err(|_| truncated("zfp stream"))?;
        Ok(())
    }

    /// Encodes elements as a stream.
    pub(crate) fn encode(&self, input: &[u8]) -> Result<Vec<u8>, Fault> {
        if !cfg!(feature = "zfp") {
            return Err(rule("zfp", "can only be decoded without the cargo feature `zfp`"));
        }
        if self.bytes(input.len())? != input.len() {
            return Err(rule("size of the array", "is smaller than that of the chunk"));
        }
        match self.scalar {
            ZfpScalarType::I32 => self.encode_as::<i32>(input),
            ZfpScalarType::I64 => self.encode_as::<i64>(input),
            ZfpScalarType::F32 => self.encode_as::<f32>(input),
            ZfpScalarType::F64 => self.encode_as::<f64>(input),
        }
    }

    fn encode_as<T: ZfpScalar + Pod>(&self, input: &[u8]) -> Result<Vec<u8>, Fault> {
        let copied: Vec<T>;
        let elements = match bytemuck::try_cast_slice::<u8, T>(input) {
            Ok(elements) => elements,
            Err(_) => {
                copied = input.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect();
                &copied
            }
        };
        let [x, y, z, w] = self.dims;
        let field = match rank(&self.dims)? {
            ZfpDimensionality::D1 => ZfpField::new(elements, [x]),
            ZfpDimensionality::D2 => ZfpField::new(elements, [x, y]),
            ZfpDimensionality::D3 => ZfpField::new(elements, [x, y, z]),
            ZfpDimensionality::D4 => ZfpField::new(elements, [x, y, z, w]),
        }
        .map_err(|_| rule("dimensions", "do not fit the array"))?;
        let large = || rule("chunk", "is too large for zfp");
        let capacity = self.config.maximum_size(self.scalar, self.dims).ok_or_else(large)?;
        let mut stream = ZfpBitStream::new(capacity).map_err(|_| large())?;
        let size = stream.compress(&self.config, &field).map_err(|_| large())?;
        let mut bytes = stream.into_bytes().map_err(|_| large())?;
        bytes.truncate(size);
        Ok(bytes)
    }
}

/// The mode of a codec of Blosc2: 33 has an accuracy of a power of ten, 34 a precision, 35 a rate in percent.
#[cfg(feature = "blosc2")]
pub(crate) fn of_blosc2(codec: u8, meta: u8, size: usize, shape: &[u32]) -> Result<Coding, Fault> {
    let scalar = match size {
        4 => ZfpScalarType::F32,
        8 => ZfpScalarType::F64,
        _ => return Err(rule("elements", "must be floating-point numbers of 4 or 8 bytes")),
    };
    let mut dims = [0; 4];
    if shape.is_empty() || shape.len() > dims.len() {
        return Err(rule("blocks", "must have between one and four dimensions"));
    }
    for (to, &length) in dims.iter_mut().zip(shape.iter().rev()) {
        *to = within("length of a dimension", length.into(), usize::MAX)?;
    }
    let config = match codec {
        33 => ZfpConfig::fixed_accuracy(10f64.powi(meta.cast_signed().into())),
        34 => {
            // The plug-in adds the bits that the transform needs: 5, 7, 9 or 11.
            let more = [5, 7, 9, 11].into_iter().nth(bound::left(shape.len(), 1)).unwrap_or_default();
            ZfpConfig::fixed_precision(u32::from(meta) + more)
        }
        _ => {
            let bits = if size == 4 { 32.0 } else { 64.0 };
            let rate = f64::from(meta) / 100.0 * bits;
            ZfpConfig::fixed_rate(rate, scalar, rank(&dims)?, ZfpStreamAlignment::Unaligned)
                .map_err(|_| rule("rate", "is not one that zfp has"))?
        }
    };
    Ok(Coding { scalar, dims, config })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Element;

    /// What the plug-in 1.1.1 stores for 32 × 64 floats of an accuracy of 0.01.
    const VALUES: [u32; 4] = [
        0x1010_5111, // versions
        0x0570_667a, // magic
        0xf000_03f6, // type: float; 64 × 32
        0xcac0_0001, // mode: accuracy
    ];

    const CHUNK: Chunk<'static> = Chunk { element: Element::float(4), shape: &[32, 1, 64] };

    fn double(mode: u32, number: f64) -> [u32; 4] {
        [mode, 0, number.to_bits() as u32, (number.to_bits() >> 32) as u32]
    }

    #[test]
    fn values_are_those_of_the_plug_in() {
        assert_eq!(Zfp.configure(&double(3, 0.01), &CHUNK).unwrap(), VALUES);
        let [versions, magic, field, _] = VALUES;
        let stored = |asked: &[u32]| Zfp.configure(asked, &CHUNK).unwrap();
        assert_eq!(stored(&[5]), [versions, magic, field, 0x8800_0001]);
        assert_eq!(stored(&double(1, 8.0)), [versions, magic, field, 0x07f0_0001]);
        assert_eq!(stored(&double(1, 8.3)), [versions, magic, field, 0x0840_0001]);
        assert_eq!(stored(&[2, 0, 16]), [versions, magic, field, 0x80f0_0001]);
        let expert = [4, 0, 100, 200, 20, (-10i32).cast_unsigned()];
        assert_eq!(stored(&expert), [versions, magic, field, 0xfff0_0001, 0xc063_8063, 0x0008_0ca4]);
    }

    #[test]
    fn wrong_requests() {
        for asked in
            [&[][..], &[0], &[6], &[1, 0, 0], &double(1, -1.0), &double(3, f64::NAN), &[4, 0, 9, 3, 2, 0]]
        {
            assert!(Zfp.configure(asked, &CHUNK).is_err(), "{asked:?}");
        }
        let of = |element, shape| Chunk { element, shape };
        let big = Element { big_endian: true, ..Element::float(4) };
        for chunk in [of(big, &[4][..]), of(Element::float(2), &[4]), of(Element::float(4), &[1, 1])] {
            assert!(Zfp.configure(&[5], &chunk).is_err());
        }
        assert!(Zfp.configure(&[5], &of(Element::float(4), &[2, 2, 2, 2, 2])).is_err());
        assert!(Zfp.configure(&[5], &of(Element::float(4), &[2, 1 << 40])).is_err());
    }

    #[test]
    fn swapped_values_swap_the_elements() {
        let numbers: Vec<u8> = (0..64 * 32).flat_map(|i: i16| f32::from(i).to_le_bytes()).collect();
        let values = Zfp.configure(&[5], &CHUNK).unwrap();
        let stream = Zfp.encode(&values, &numbers).unwrap().unwrap();
        let swapped: Vec<u32> = values.iter().map(|word| word.swap_bytes()).collect();
        let decoded = Zfp.decode(&swapped, &stream, numbers.len()).unwrap();
        let again: Vec<u8> = decoded.chunks(4).flat_map(|four| four.iter().rev().copied()).collect();
        assert_eq!(again, numbers);
    }

    #[test]
    fn hostile_sizes() {
        let numbers = vec![0x11; 64 * 32 * 4];
        let stream = Zfp.encode(&VALUES, &numbers).unwrap().unwrap();
        assert!(Zfp.decode(&VALUES, &stream, numbers.len()).is_ok());
        assert!(Zfp.decode(&VALUES, &stream, numbers.len() - 1).is_err());
        assert!(Zfp.decode(&VALUES, &stream[..stream.len() - 8], numbers.len()).is_err());
        assert!(Zfp.decode(&VALUES[..3], &stream, numbers.len()).is_err());
        assert!(Zfp.encode(&VALUES, &numbers[4..]).is_err());
    }

    proptest! {
        #[test]
        fn reversible_is_exact(numbers in prop::collection::vec(any::<i64>(), 1..300)) {
            let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
            for element in [Element::signed(8), Element::float(8), Element::signed(4), Element::float(4)] {
                let shape = [2, bytes.len() as u64 / u64::from(element.size) / 2];
                let chunk = &bytes[..(shape[1] * 2) as usize * element.size as usize];
                if shape[1] == 0 { continue }
                let values = Zfp.configure(&[5], &Chunk { element, shape: &shape }).unwrap();
                let stream = Zfp.encode(&values, chunk).unwrap().unwrap();
                prop_assert_eq!(&Zfp.decode(&values, &stream, chunk.len()).unwrap()[..], chunk);
            }
        }

        #[test]
        fn no_bytes_panic(mode in 0u32..3, values in prop::collection::vec(any::<u32>(), 2..5), input: Vec<u8>) {
            let mut stored = VALUES.to_vec();
            stored.splice([2, 1, 3][mode as usize].., values);
            let _ = Zfp.decode(&stored, &input, 1 << 16);
        }
    }
}
