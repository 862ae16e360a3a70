//! Typed reads: which elements are converted because no value changes, and which are not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use rawarray::{ByteOrder, Conversion, Element, Error, Range, RawArray, Reader, Slab, WriteOptions};

fn reader<T: Element>(values: &[T], order: ByteOrder) -> Reader {
    let options = WriteOptions::default().with_byte_order(order);
    Reader::from_bytes(RawArray::from(values.to_vec()).encode(&options).unwrap()).unwrap()
}

#[track_caller]
fn misfit<T: std::fmt::Debug>(read: Result<T, Error>, shown: &str) {
    assert!(matches!(read, Err(Error::Misfit(_))), "{read:?}");
    assert_eq!(read.unwrap_err().to_string(), shown);
}

#[test]
fn loss_is_an_error_with_index_and_value() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let counts = reader(&[0i32, 1, 300, -1], order);
        misfit(counts.read::<u8>(), "element 2 is 300, which u8 cannot hold");
        misfit(counts.read_into(&mut [0u32; 4]), "element 3 is -1, which u32 cannot hold");
        misfit(counts.view::<u8>(), "element 2 is 300, which u8 cannot hold");
        let end = Slab::new(&[4], [Range::new(2, 2)]).unwrap();
        misfit(counts.read_slab::<u8>(&end), "element 0 is 300, which u8 cannot hold");
        misfit(counts.read_slab_into(&end, &mut [0u16; 2]), "element 1 is -1, which u16 cannot hold");
        assert_eq!(*counts.view::<f32>().unwrap(), [0.0, 1.0, 300.0, -1.0]);
        assert_eq!(counts.read_slab::<i128>(&end).unwrap(), [300, -1]);
        let reals = reader(&[0.5, 0.1, f64::NAN], order);
        misfit(reals.read::<f32>(), "element 1 is 0.1, which f32 cannot hold");
        misfit(reals.read::<i64>(), "element 0 is 0.5, which i64 cannot hold");
        let last = Slab::new(&[3], [Range::new(2, 1)]).unwrap();
        misfit(reals.read_slab::<i64>(&last), "element 0 is NaN, which i64 cannot hold");
        assert!(reals.read_slab::<f32>(&last).unwrap()[0].is_nan());
    }
    assert_eq!(reader(&[0u8, 1], ByteOrder::Little).read::<bool>().unwrap(), [false, true]);
    assert_eq!(reader(&[true, false], ByteOrder::Little).read::<f64>().unwrap(), [1.0, 0.0]);
    misfit(reader(&[0u8, 2], ByteOrder::Little).read::<bool>(), "element 1 is 2, which bool cannot hold");
    misfit(
        RawArray::<u8>::from_reader(&reader(&[256], ByteOrder::Little)),
        "element 0 is 256, which u8 cannot hold",
    );
}

#[test]
fn other_conversions_are_asked_for() {
    let lossy = reader(&[0.1, -3.5, 300.0, f64::NAN], ByteOrder::Big).with_conversion(Conversion::Lossy);
    assert_eq!(lossy.read::<u8>().unwrap(), [0, 0, 255, 0]);
    assert_eq!(lossy.read::<f32>().unwrap()[..2], [0.1, -3.5]);
    let stored = reader(&[0.1, -3.5], ByteOrder::Big).with_conversion(Conversion::None);
    assert_eq!(stored.read::<f64>().unwrap(), [0.1, -3.5]);
    let opaque = reader(&[[1u8; 3]], ByteOrder::Little);
    for refused in [stored.read::<f32>().err(), opaque.read::<u8>().err(), opaque.read::<[u8; 2]>().err()] {
        assert!(matches!(refused, Some(Error::Usage { argument: "element type", .. })), "{refused:?}");
    }
}

#[cfg(all(feature = "half", feature = "num-complex"))]
#[test]
fn halves_and_complex_numbers() {
    use half::{bf16, f16};
    use num_complex::Complex;

    let reals = reader(&[0.5, 65504.0], ByteOrder::Big);
    assert_eq!(reals.read::<f16>().unwrap(), [f16::from_f32(0.5), f16::MAX]);
    misfit(reals.read::<bf16>(), "element 1 is 65504, which bf16 cannot hold");
    assert_eq!(reals.read::<Complex<f16>>().unwrap()[0], Complex::new(f16::from_f32(0.5), f16::ZERO));
    let pairs = reader(&[Complex::new(0.5, 0.25), Complex::new(1.0, 0.1)], ByteOrder::Big);
    misfit(pairs.read::<Complex<f32>>(), "element 1 is 0.1, which f32 cannot hold");
    assert_eq!(
        reader(&[Complex::new(0.5f32, 0.25)], ByteOrder::Big).read::<Complex<f64>>().unwrap(),
        [Complex::new(0.5, 0.25)]
    );
    assert!(matches!(pairs.read::<f64>(), Err(Error::Usage { .. })));
}
