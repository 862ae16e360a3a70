//! Typed reads: which elements are converted because no value changes, and which are not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use cframe::{Array, ArrayParams, Conversion, Element, Error, Range, Slab};

fn array(dtype: &str, bytes: &[u8]) -> Array {
    let size = ArrayParams::new(&[1], dtype).and_then(|params| Array::new(&params)).unwrap().typesize();
    let shape = [(bytes.len() / size as usize) as u64];
    let mut array = Array::new(&ArrayParams::new(&shape, dtype).unwrap()).unwrap();
    array.write_slab_bytes(&Slab::all(&shape).unwrap(), bytes).unwrap();
    array
}

#[track_caller]
fn misfit<T: Element + std::fmt::Debug>(array: &Array, shown: &str) {
    let read = array.read::<T>();
    assert!(matches!(read, Err(Error::Misfit(_))), "{read:?}");
    assert_eq!(read.unwrap_err().to_string(), shown);
}

#[test]
fn loss_is_an_error_with_index_and_value() {
    let counts = array(">i4", &[0, 1, 300, -1].map(i32::to_be_bytes).concat());
    misfit::<u8>(&counts, "element 2 is 300, which u8 cannot hold");
    misfit::<u32>(&counts, "element 3 is -1, which u32 cannot hold");
    assert_eq!(counts.read::<f32>().unwrap(), [0.0, 1.0, 300.0, -1.0]);
    assert_eq!(counts.read::<i128>().unwrap(), [0, 1, 300, -1]);
    let first = Slab::new(&[4], [Range::new(0, 2)]).unwrap();
    assert_eq!(counts.read_slab::<bool>(&first).unwrap(), [false, true]);
    let reals = array("<f8", &[0.5, 0.1, f64::NAN].map(f64::to_le_bytes).concat());
    misfit::<f32>(&reals, "element 1 is 0.1, which f32 cannot hold");
    misfit::<i64>(&reals, "element 0 is 0.5, which i64 cannot hold");
    let last = Slab::new(&[3], [Range::new(2, 1)]).unwrap();
    assert!(reals.read_slab::<f32>(&last).unwrap()[0].is_nan());
    assert!(matches!(reals.read_slab::<i64>(&last), Err(Error::Misfit(_))));
    assert_eq!(array("|b1", &[1, 0]).read::<bool>().unwrap(), [true, false]);
    assert_eq!(array("<f2", &[0, 0x3e, 0, 0x7c]).read::<f32>().unwrap(), [1.5, f32::INFINITY]);
}

#[test]
fn other_conversions_are_asked_for() {
    let numbers = || array("<f8", &[0.1, -3.5, 300.0, f64::NAN].map(f64::to_le_bytes).concat());
    let lossy = numbers().with_conversion(Conversion::Lossy);
    assert_eq!(lossy.read::<u8>().unwrap(), [0, 0, 255, 0]);
    assert_eq!(lossy.read::<f32>().unwrap()[..2], [0.1, -3.5]);
    let stored = numbers().with_conversion(Conversion::None);
    assert_eq!(stored.read::<f64>().unwrap()[..3], [0.1, -3.5, 300.0]);
    let truth = array("|b1", &[1, 0]).with_conversion(Conversion::None);
    assert_eq!(truth.read::<bool>().unwrap(), [true, false]);
    for refused in
        [stored.read::<f32>().err(), truth.read::<u8>().err(), array("<c8", &[0; 8]).read::<f32>().err()]
    {
        assert!(matches!(refused, Some(Error::Usage { argument: "element type", .. })), "{refused:?}");
    }
}

#[cfg(feature = "num-complex")]
#[test]
fn complex_numbers_keep_both_parts() {
    use cframe::Store;
    use num_complex::Complex;

    let values = [Complex::new(1.5f32, -2.0), Complex::new(0.0, 1e-3)];
    let little = array("<c8", &values.map(|z| [z.re.to_le_bytes(), z.im.to_le_bytes()].concat()).concat());
    let big = array(">c8", &values.map(|z| [z.re.to_be_bytes(), z.im.to_be_bytes()].concat()).concat());
    for stored in [&little, &big] {
        assert_eq!(stored.read::<Complex<f32>>().unwrap(), values);
        let wide = stored.read::<Complex<f64>>().unwrap();
        assert_eq!(wide, values.map(|z| Complex::new(f64::from(z.re), f64::from(z.im))));
        assert!(stored.read::<f64>().is_err(), "the imaginary part would be lost");
    }
    let mut written = Array::new(&ArrayParams::new(&[0], ">c16").unwrap()).unwrap();
    written.append(0, &[Complex::new(0.1f64, 2.0), Complex::new(3.0, 4.0)]).unwrap();
    let raw = [0.1f64, 2.0, 3.0, 4.0].map(f64::to_be_bytes).concat();
    assert_eq!(written.read_slab_bytes(&Slab::all(&[2]).unwrap()).unwrap(), raw);
    misfit::<Complex<f32>>(&written, "element 0 is 0.1, which f32 cannot hold");
    assert_eq!(array("<i4", &[7, 0, 0, 0]).read::<Complex<f64>>().unwrap(), [Complex::new(7.0, 0.0)]);
    assert_eq!(Complex::<f64>::DTYPE, if cfg!(target_endian = "big") { ">c16" } else { "<c16" });
}

#[test]
fn elements_that_are_not_in_the_frame_are_not_zeros() {
    use cframe::Frame;

    for mark in ["b2o", "LazyArray", "proxy-source"] {
        let mut array = array("<f8", &[0; 24]);
        array.schunk_mut().set_metalayer(mark, b"\x80").unwrap();
        let elsewhere = |error: Error| match error {
            Error::Missing { name, .. } => assert_eq!(&*name, mark),
            other => panic!("{other}"),
        };
        elsewhere(array.read::<f64>().unwrap_err());
        elsewhere(array.write_slab(&Slab::all(&[3]).unwrap(), &[1.0f64; 3]).unwrap_err());
        elsewhere(array.schunk().read_bytes(0, &mut [0; 8]).unwrap_err());
        let frame = Frame::from_bytes(array.schunk().to_bytes().unwrap()).unwrap();
        elsewhere(frame.read_bytes(0, &mut [0; 8]).unwrap_err());
        elsewhere(frame.has_elements().unwrap_err());
    }
}
