//! Every element type, number of dimensions, byte order and encoding is written and read.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail like tests")]

#[cfg(all(feature = "half", feature = "num-complex"))]
use num_complex::Complex;
use proptest::prelude::*;
use rawarray::{
    Access, ByteOrder, Element, ElementType, Encoding, OpenOptions, Range, RawArray, Reader, Slab,
    WriteOptions, Writer,
};

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
struct Particle {
    position: [f32; 3],
    id: u32,
}
rawarray::user_element!(Particle);

/// The encodings that can hold elements of any type.
const ANY: &[Encoding] =
    if cfg!(feature = "lz4") { &[Encoding::Raw, Encoding::Lz4] } else { &[Encoding::Raw] };

const DIMS: [&[u64]; 8] = [&[], &[7], &[2, 3], &[3, 1, 2], &[2, 1, 2, 2], &[1, 2, 3, 1, 2], &[0], &[4, 0, 3]];

fn each_shape<T: Element + PartialEq + std::fmt::Debug>(value: impl Fn(u64) -> T) {
    for dims in DIMS {
        let data: Vec<T> = (0..dims.iter().product()).map(&value).collect();
        let array = RawArray::new(dims, data).unwrap().with_metadata(*b"tail");
        for order in [ByteOrder::Little, ByteOrder::Big] {
            for &encoding in ANY {
                let options = WriteOptions::default().with_byte_order(order).with_encoding(encoding);
                let reader = Reader::from_bytes(array.encode(&options).unwrap()).unwrap();
                assert_eq!(reader.element(), T::TYPE);
                assert_eq!(reader.byte_order(), order);
                assert_eq!(reader.dims(), dims);
                assert_eq!(RawArray::from_reader(&reader).unwrap(), array, "{dims:?} {order:?} {encoding:?}");
                assert_eq!(*reader.view::<T>().unwrap(), *array.data());
                let all = Slab::all(reader.shape()).unwrap();
                assert_eq!(reader.read_slab::<T>(&all).unwrap(), array.data());
                // The bytes do not depend on the byte order of the file.
                let little = Writer::new(dims).encode(array.data()).unwrap();
                let bytes = reader.read_bytes().unwrap();
                assert_eq!(bytes, little[48 + 8 * dims.len()..]);
                let again = Writer::new(dims).with_metadata(b"tail").with_options(options);
                assert_eq!(
                    again.encode_bytes(reader.element(), &bytes).unwrap(),
                    array.encode(&options).unwrap()
                );
            }
        }
    }
}

#[test]
fn signed_integers() {
    each_shape(|i| (i as i8).wrapping_mul(-37));
    each_shape(|i| (i as i16).wrapping_mul(-9_937));
    each_shape(|i| (i as i32).wrapping_mul(-999_937));
    each_shape(|i| (i as i64).wrapping_mul(-99_999_999_937));
    each_shape(|i| (i as i128).wrapping_mul(-99_999_999_999_999_999_937));
}

#[test]
fn unsigned_integers() {
    each_shape(|i| (i as u8).wrapping_mul(37));
    each_shape(|i| (i as u16).wrapping_mul(9_937));
    each_shape(|i| (i as u32).wrapping_mul(999_937));
    each_shape(|i| i.wrapping_mul(99_999_999_937));
    each_shape(|i| u128::from(i).wrapping_mul(99_999_999_999_999_999_937));
}

#[test]
fn floats() {
    each_shape(|i| i as f32 / 3.0 - 1.0);
    each_shape(|i| i as f64 / 3.0 - 1.0);
}

#[cfg(all(feature = "half", feature = "num-complex"))]
#[test]
fn half_floats_and_complex_numbers() {
    each_shape(|i| half::f16::from_f32(i as f32 - 2.5));
    each_shape(|i| half::bf16::from_f32(i as f32 - 2.5));
    each_shape(|i| Complex::new(half::f16::from_f32(i as f32), half::f16::NEG_ONE));
    each_shape(|i| Complex::new(i as f32 / 3.0, -1.0));
    each_shape(|i| Complex::new(i as f64 / 3.0, f64::NEG_INFINITY));
}

#[test]
fn truth_values_and_structures() {
    each_shape(|i| i % 3 == 0);
    each_shape(|i| Particle { position: [i as f32, 0.5, -1.0], id: i as u32 });
    each_shape(|i| [i as u8, 1, 2]);
    each_shape(|_| [0u8; 0]);
}

fn encoded<T: Element>(dims: &[u64], data: &[T], encoding: Encoding, order: ByteOrder) -> Reader {
    let options = WriteOptions::default().with_encoding(encoding).with_byte_order(order);
    let reader = Reader::from_bytes(Writer::new(dims).with_options(options).encode(data).unwrap()).unwrap();
    assert_eq!(reader.encoding(), encoding);
    reader
}

#[test]
fn leb128_of_every_width() {
    fn both<T: Element + PartialEq + std::fmt::Debug>(values: &[T]) {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let reader = encoded(&[values.len() as u64], values, Encoding::Leb128, order);
            assert_eq!(reader.read::<T>().unwrap(), values);
            let slab = Slab::new(reader.shape(), [Range::new(1, 2).by(2)]).unwrap();
            assert_eq!(reader.read_slab::<T>(&slab).unwrap(), [values[1], values[3]]);
        }
    }
    both(&[0i8, -1, i8::MIN, i8::MAX]);
    both(&[0i16, -1, i16::MIN, i16::MAX]);
    both(&[0i32, -1, i32::MIN, i32::MAX]);
    both(&[0i64, -1, i64::MIN, i64::MAX]);
    both(&[0i128, -1, i128::MIN, i128::MAX]);
    both(&[0u8, 127, 128, u8::MAX]);
    both(&[0u16, 127, 128, u16::MAX]);
    both(&[0u32, 127, 128, u32::MAX]);
    both(&[0u64, 127, 128, u64::MAX]);
    both(&[0u128, 127, 128, u128::MAX]);
}

#[test]
fn encodings_that_do_not_fit_the_elements_are_refused() {
    let refuses = |encoding, metadata: &[u8]| {
        let options = WriteOptions::default().with_encoding(encoding);
        Writer::new(&[1][..])
            .with_metadata(metadata)
            .with_options(options)
            .encode(&[1.0f32])
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refuses(Encoding::Leb128, b""),
        "encoding is only possible for integers of at most 16 bytes, but the elements are f4"
    );
    assert_eq!(
        refuses(Encoding::Bits, b""),
        "encoding is only possible for truth values, but the elements are f4"
    );
    assert_eq!(
        refuses(Encoding::Leb128, b"x"),
        "metadata cannot follow a LEB128 payload, which extends to the end of the file"
    );
}

#[cfg(not(feature = "lz4"))]
#[test]
fn without_the_feature_lz4_is_unsupported() {
    let expected = "LZ4 compression is not supported without the cargo feature `lz4`";
    let options = WriteOptions::default().with_encoding(Encoding::Lz4);
    let error = Writer::new(&[1][..]).with_options(options).encode(&[0u8]).unwrap_err();
    assert_eq!(error.to_string(), expected);
    let mut file = Writer::new(&[9][..]).encode(&[0u8; 9]).unwrap();
    (file[8], file[32]) = (2, 8);
    assert_eq!(Reader::from_bytes(file).unwrap().read::<u8>().unwrap_err().to_string(), expected);
}

#[cfg(feature = "lz4")]
#[test]
fn what_lz4_cannot_shorten_is_stored_raw() {
    let noise: Vec<u8> = (0..200u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let options = WriteOptions::default().with_encoding(Encoding::Lz4);
    let reader =
        Reader::from_bytes(Writer::new(&[200][..]).with_options(options).encode(&noise).unwrap()).unwrap();
    assert_eq!(reader.encoding(), Encoding::Raw);
    assert_eq!(reader.read::<u8>().unwrap(), noise);
    let reader = encoded(&[200], &[7u16; 200], Encoding::Lz4, ByteOrder::Big);
    assert!(reader.stored_size() < 20);
}

#[test]
fn elements_and_dimensions_must_agree() {
    let error = Writer::new(&[2, 2][..]).encode(&[1u16; 3]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "elements have 6 bytes, but an array of u2 with the dimensions [2, 2] has 8"
    );
    assert!(RawArray::new([2, 2], vec![1u16; 3]).is_err());
    assert!(RawArray::from(vec![1u16; 6]).reshape([4, 2]).is_err());
    let array = RawArray::from(vec![1u16, 2, 3, 4, 5, 6]).reshape([3, 2]).unwrap();
    assert_eq!((array.dims(), array.shape()), (&[3, 2][..], &[2, 3][..]));
    assert_eq!((array.get(&[1, 1]), array.get(&[0, 2]), array.get(&[0])), (Some(&5), None, None));
    assert!(Writer::new(&[1 << 40, 1 << 40][..]).encode(&[0u8]).is_err());
}

#[cfg(feature = "ndarray")]
#[test]
fn ndarray_both_ways() {
    let c = ndarray::Array3::from_shape_fn((2, 3, 4), |(i, j, k)| 100 * i + 10 * j + k).mapv(|v| v as u32);
    let array = RawArray::from(c.clone());
    assert_eq!(array.dims(), [4, 3, 2]);
    assert_eq!(array.get(&[3, 1, 0]), Some(&13));
    assert_eq!(array.ndarray().unwrap(), c.view().into_dyn());
    assert_eq!(array.clone().into_ndarray().unwrap(), c.clone().into_dyn());
    let fortran = array.into_fortran_ndarray().unwrap();
    assert_eq!(fortran, c.t().into_dyn());
    // Whatever the strides are, the same indices lead to the same elements.
    assert_eq!(RawArray::from(fortran.clone()).into_ndarray().unwrap(), fortran);
    let part = c.slice_move(ndarray::s![1.., .., ..]);
    assert_eq!(RawArray::from(part.clone()).into_ndarray().unwrap(), part.into_dyn());
    let scalar = RawArray::new([], vec![5u8]).unwrap().into_ndarray().unwrap();
    assert_eq!((scalar.ndim(), scalar.sum()), (0, 5));
}

fn slab_of(dims: Vec<u64>) -> impl Strategy<Value = (Vec<u64>, Slab)> {
    let shape: Vec<u64> = dims.iter().rev().copied().collect();
    let ranges: Vec<_> = shape
        .iter()
        .map(|&length| {
            (0..length.max(1), 1u64..4).prop_flat_map(move |(start, step)| {
                (0..=length.saturating_sub(start).div_ceil(step)).prop_map(move |count| Range {
                    start,
                    count,
                    step,
                })
            })
        })
        .collect();
    ranges.prop_map(move |ranges| (dims.clone(), Slab::new(&shape, ranges).unwrap()))
}

fn selected<T: Copy>(data: &[T], slab: &Slab) -> Vec<T> {
    slab.runs().flat_map(|run| (0..run.len).map(move |i| data[(run.from + i * run.step) as usize])).collect()
}

proptest! {
    #[test]
    fn slabs_of_every_encoding(
        (dims, slab) in prop::collection::vec(0u64..12, 0..4).prop_flat_map(slab_of),
        big in any::<bool>(),
        seed in any::<u32>(),
    ) {
        let n = dims.iter().product::<u64>();
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        let value = |i: u64| (i as u32).wrapping_mul(seed | 1) >> 20;
        let numbers: Vec<u32> = (0..n).map(value).collect();
        let bools: Vec<bool> = (0..n).map(|i| value(i) & 1 == 1).collect();
        let dir = tempfile::tempdir().unwrap();
        for &encoding in ANY.iter().chain(&[Encoding::Leb128]) {
            let options = WriteOptions::default().with_encoding(encoding).with_byte_order(order);
            let writer = Writer::new(&dims[..]).with_options(options);
            let path = dir.path().join(format!("{encoding:?}"));
            writer.write(&path, &numbers).unwrap();
            for reader in [Reader::open(&path).unwrap(), Reader::open_with(&path, &OpenOptions::default().with_access(Access::direct())).unwrap()] {
                prop_assert_eq!(&reader.read::<u32>().unwrap(), &numbers);
                prop_assert_eq!(reader.read_slab::<u32>(&slab).unwrap(), selected(&numbers, &slab));
                let mut bytes = vec![0; slab.len() as usize * 4];
                reader.read_slab_bytes_into(&slab, &mut bytes).unwrap();
                let expected: Vec<u8> = selected(&numbers, &slab).iter().flat_map(|v| v.to_le_bytes()).collect();
                prop_assert_eq!(bytes, expected);
            }
        }
        let options = WriteOptions::default().with_encoding(Encoding::Bits).with_byte_order(order);
        let file = Writer::new(&dims[..]).with_options(options).encode(&bools).unwrap();
        let reader = Reader::from_bytes(file).unwrap();
        prop_assert_eq!(reader.element(), ElementType::Bool);
        prop_assert_eq!(&reader.read::<bool>().unwrap(), &bools);
        prop_assert_eq!(reader.read_slab::<bool>(&slab).unwrap(), selected(&bools, &slab));
    }
}
