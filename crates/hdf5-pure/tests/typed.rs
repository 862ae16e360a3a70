//! Reads elements as other types. A value that would change is an error.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use hdf5_pure::structure::{Regular, Selection};
use hdf5_pure::{
    Attribute, Conversion, CreateOptions, Dataset, Datatype, Element, Error, File, Range, Slab, Writer,
};
use proptest::prelude::*;

/// Returns a one-dimensional dataset with these bytes.
fn raw(datatype: &Datatype, bytes: &[u8]) -> Dataset {
    let count = (bytes.len() / datatype.size as usize) as u64;
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    file.dataset("x").datatype(datatype.clone()).shape([count]).write_raw(bytes).unwrap();
    File::from_bytes(file.into_bytes().unwrap()).unwrap().dataset("x").unwrap()
}

fn doubles(values: &[f64]) -> Dataset {
    raw(&Datatype::float64(), &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
}

#[track_caller]
fn misfit<T>(read: Result<T, Error>, index: u64, shown: &str) {
    match read {
        Err(Error::Misfit(misfit)) => {
            assert_eq!((misfit.index, misfit.to_string().as_str()), (index, shown));
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("was read"),
    }
}

#[test]
fn loss_is_an_error_with_index_and_value() {
    let set = doubles(&[0.0, 1.5, 300.0, 0.1, f64::NAN, f64::INFINITY]);
    misfit(set.read::<i32>(), 1, "element 1 is 1.5, which i32 cannot hold");
    misfit(set.read::<f32>(), 3, "element 3 is 0.1, which f32 cannot hold");
    misfit(set.read::<bool>(), 1, "element 1 is 1.5, which bool cannot hold");
    misfit(doubles(&[f64::NAN]).read::<u64>(), 0, "element 0 is NaN, which u64 cannot hold");
    misfit(doubles(&[f64::INFINITY]).read::<i128>(), 0, "element 0 is inf, which i128 cannot hold");
    misfit(doubles(&[-1.0]).read::<u8>(), 0, "element 0 is -1, which u8 cannot hold");
    let wide = raw(&Datatype::signed(8).big_endian(), &((1i64 << 24) + 1).to_be_bytes());
    misfit(wide.read::<f32>(), 0, "element 0 is 16777217, which f32 cannot hold");
    assert_eq!(wide.read::<f64>().unwrap(), [16777217.0]);
    assert_eq!(doubles(&[300.0, -0.0]).read::<i16>().unwrap(), [300, 0]);
    assert!(doubles(&[f64::NAN]).read::<f32>().unwrap()[0].is_nan());
    assert_eq!(doubles(&[0.0, 1.0]).read::<bool>().unwrap(), [false, true]);
}

#[test]
fn every_way_to_read_keeps_the_rule() {
    let values: Vec<f64> = (0..24).map(|i| if i == 17 { 0.5 } else { f64::from(i) }).collect();
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    file.dataset("plain").shape([4, 6]).attribute("all", &values[..]).write(&values).unwrap();
    file.dataset("chunks").shape([4, 6]).chunks([2, 2]).deflate(1).write(&values).unwrap();
    let file = File::from_bytes(file.into_bytes().unwrap()).unwrap();
    for name in ["plain", "chunks"] {
        let set = file.dataset(name).unwrap();
        let shown = |index| format!("element {index} is 0.5, which u8 cannot hold");
        let row = Slab::new(&[4, 6], [Range::new(2, 1), Range::all(6)]).unwrap();
        misfit(set.read::<u8>(), 17, &shown(17));
        misfit(set.read_slab::<u8>(&row), 5, &shown(5));
        misfit(set.read_slab_into(&row, &mut [0u8; 6]), 5, &shown(5));
        misfit(set.read_points::<u8>(&[vec![0, 1], vec![2, 5]]), 1, &shown(1));
        let rows = Regular { start: 2, stride: 1, count: Some(1), block: Some(2) };
        let columns = Regular { start: 1, stride: 4, count: Some(2), block: Some(1) };
        misfit(set.read_selection::<u8>(&Selection::Regular(vec![rows, columns])), 1, &shown(1));
        misfit(set.pieces::<u8>(6).unwrap().nth(2).unwrap(), 5, &shown(5));
        #[cfg(feature = "ndarray")]
        misfit(set.to_ndarray::<u8>(), 17, &shown(17));
        let lossy = set.clone().with_conversion(Conversion::Lossy);
        assert_eq!(lossy.read_slab::<u8>(&row).unwrap(), [12, 13, 14, 15, 16, 0]);
        assert_eq!(lossy.read_points::<u8>(&[vec![2, 5]]).unwrap(), [0]);
        let stored = set.with_conversion(Conversion::None);
        assert_eq!(stored.read::<f64>().unwrap(), values);
        assert!(matches!(stored.read::<f32>(), Err(Error::Usage { argument: "element type", .. })));
    }
    let all: Attribute = file.dataset("plain").unwrap().attribute("all").unwrap();
    misfit(all.read::<u8>(), 17, "element 17 is 0.5, which u8 cannot hold");
    assert_eq!(
        all.with_conversion(Conversion::Lossy).read::<u8>().unwrap()[16..],
        [16, 0, 18, 19, 20, 21, 22, 23]
    );
}

/// Elements are converted a few megabytes at a time, but errors count elements from the start of the read.
#[test]
fn the_index_counts_across_parts() {
    let mut values = vec![1i64; 1_200_000];
    values[1_000_007] = -1;
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    file.dataset("x").write(&values).unwrap();
    let set = File::from_bytes(file.into_bytes().unwrap()).unwrap().dataset("x").unwrap();
    misfit(set.read::<u16>(), 1_000_007, "element 1000007 is -1, which u16 cannot hold");
}

hdf5_pure::record! {
    #[derive(Debug)]
    struct Star { flux: f64, counts: [i32; 3] }
}

#[test]
fn parts_of_elements_are_found_too() {
    hdf5_pure::compound! {
        #[derive(Debug)]
        struct Narrow { flux: f32, counts: Vec<u8> }
    }
    let stars = [Star { flux: 0.5, counts: [1, 2, 3] }, Star { flux: 0.25, counts: [4, 500, 6] }];
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    file.dataset("stars").write(&stars).unwrap();
    let set = File::from_bytes(file.into_bytes().unwrap()).unwrap().dataset("stars").unwrap();
    misfit(set.read_field::<i32>("flux"), 0, "element 0 is 0.5, which i32 cannot hold");
    assert_eq!(set.read_field::<f32>("flux").unwrap(), [0.5, 0.25]);
    misfit(set.read_field::<Vec<u8>>("counts"), 1, "element 1 is 500 in its part 1, which u8 cannot hold");
    misfit(set.read::<Narrow>(), 1, "element 1 is 500 in its part 1, which u8 cannot hold");
    let lossy = set.with_conversion(Conversion::Lossy).read::<Narrow>().unwrap();
    assert_eq!((lossy[1].flux, &lossy[1].counts[..]), (0.25, &[4, 255, 6][..]));
}

#[test]
fn text_that_is_not_utf8_is_an_error_and_bytes_are_bytes() {
    let fixed = raw(&Datatype::fixed_string(5), b"Vega\0caf\xe9\0");
    misfit(fixed.read::<String>(), 1, r#"element 1 is "caf\xe9", which is not UTF-8 from its byte 3 on"#);
    assert_eq!(fixed.read::<Vec<u8>>().unwrap(), [&b"Vega"[..], b"caf\xe9"]);
    let lossy = fixed.with_conversion(Conversion::Lossy);
    assert_eq!(lossy.read::<String>().unwrap(), ["Vega", "caf\u{fffd}"]);

    // The bytes of a string of variable length in the heap are changed to others.
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    file.dataset("names").write(&["Vega", "cafXX"]).unwrap();
    let mut bytes = file.into_bytes().unwrap();
    let at = bytes.windows(5).position(|window| window == b"cafXX").unwrap();
    bytes[at + 4] = 0xe9;
    let names = File::from_bytes(bytes).unwrap().dataset("names").unwrap();
    misfit(names.read::<String>(), 1, r#"element 1 is "cafX\xe9", which is not UTF-8 from its byte 4 on"#);
    assert_eq!(names.read::<Vec<u8>>().unwrap()[1], b"cafX\xe9");

    let marks = raw(&Datatype::opaque(2, "marks"), b"ok\0\x01");
    assert_eq!(marks.read::<Vec<u8>>().unwrap(), [&b"ok"[..], &[0, 1]]);
    for other in [marks.read::<Vec<u16>>().err(), marks.read::<String>().err()] {
        assert!(matches!(other, Some(Error::Usage { argument: "element type", .. })), "{other:?}");
    }
}

#[test]
fn enumerations_bits_and_odd_layouts_are_their_numbers() {
    let states = Datatype::enumeration(&Datatype::signed(2), [("OFF", 0), ("HOT", 300)]).unwrap();
    let states = raw(&states, &[0, 0, 44, 1]);
    assert_eq!(states.read::<i64>().unwrap(), [0, 300]);
    misfit(states.read::<u8>(), 1, "element 1 is 300, which u8 cannot hold");
    misfit(states.read::<bool>(), 1, "element 1 is 300, which bool cannot hold");

    let bits = raw(&Datatype::bits(16), &[0xff; 16]);
    assert_eq!(bits.read::<u128>().unwrap(), [u128::MAX]);
    misfit(bits.read::<i128>(), 0, &format!("element 0 is {}, which i128 cannot hold", u128::MAX));

    let twelve = Datatype::signed(2).big_endian().with_precision(12, 4).unwrap();
    let twelve = raw(&twelve, &[0xff, 0xe0, 0x7f, 0xf0]);
    assert_eq!(twelve.read::<i16>().unwrap(), [-2, 2047]);
    misfit(twelve.read::<u16>(), 0, "element 0 is -2, which u16 cannot hold");
    misfit(twelve.read::<i8>(), 1, "element 1 is 2047, which i8 cannot hold");
    let stored = twelve.with_conversion(Conversion::None);
    assert!(matches!(stored.read::<i16>(), Err(Error::Usage { .. })));

    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    file.dataset("good").write(&[true, false]).unwrap();
    let good = File::from_bytes(file.into_bytes().unwrap()).unwrap().dataset("good").unwrap();
    assert_eq!(good.clone().with_conversion(Conversion::None).read::<bool>().unwrap(), [true, false]);
    assert_eq!(good.read::<f32>().unwrap(), [1.0, 0.0]);
}

#[cfg(feature = "half")]
#[test]
fn halves_hold_what_they_hold() {
    use half::{bf16, f16};

    let set = doubles(&[0.5, 65504.0]);
    assert_eq!(set.read::<f16>().unwrap(), [f16::from_f32(0.5), f16::MAX]);
    misfit(set.read::<bf16>(), 1, "element 1 is 65504, which bf16 cannot hold");
    misfit(doubles(&[0.1]).read::<f16>(), 0, "element 0 is 0.1, which f16 cannot hold");
    assert_eq!(
        doubles(&[0.1]).with_conversion(Conversion::Lossy).read::<f16>().unwrap(),
        [f16::from_f64(0.1)]
    );
}

#[cfg(feature = "num-complex")]
#[test]
fn complex_numbers_and_real_ones() {
    use num_complex::Complex;

    let numbers =
        raw(&Datatype::complex(&Datatype::float64()), &[0.5, 0.25, 1.0, 0.1].map(f64::to_le_bytes).concat());
    misfit(numbers.read::<Complex<f32>>(), 1, "element 1 is 0.1, which f32 cannot hold");
    assert_eq!(numbers.read::<Complex<f64>>().unwrap()[1], Complex::new(1.0, 0.1));
    assert_eq!(doubles(&[0.5]).read::<Complex<f32>>().unwrap(), [Complex::new(0.5, 0.0)]);
    let stored = doubles(&[0.5]).with_conversion(Conversion::None);
    assert!(matches!(stored.read::<Complex<f64>>(), Err(Error::Usage { .. })));
}

/// The 80-bit format of x87 has more digits than binary64. An integer in this format can still be read if it fits.
#[test]
fn wide_floating_point_numbers_are_exact_or_refused() {
    // Class 1 of version 1: little-endian, the highest bit stored, sign at 79; 16 bytes, 80 bits of which 15 are the
    // exponent at 64 and 64 the mantissa at 0, bias 16383.
    let mut message = vec![0x11, 0, 79, 0, 16, 0, 0, 0, 0, 0, 80, 0, 64, 15, 0, 64];
    message.extend(16383u32.to_le_bytes());
    let x87 = Datatype::from_bytes(&message).unwrap();
    let number = |mantissa: u64, exponent: u16| {
        let mut bytes = mantissa.to_le_bytes().to_vec();
        bytes.extend((16383 + exponent).to_le_bytes());
        bytes.extend([0; 6]);
        raw(&x87, &bytes)
    };
    let odd = number(u64::MAX, 63);
    assert_eq!(odd.read::<u64>().unwrap(), [u64::MAX]);
    misfit(odd.read::<f64>(), 0, "element 0 is 18446744073709551615, which f64 cannot hold");
    misfit(odd.read::<i64>(), 0, "element 0 is 18446744073709551615, which i64 cannot hold");
    assert_eq!(odd.with_conversion(Conversion::Lossy).read::<f64>().unwrap(), [18446744073709551616.0]);
    assert_eq!(number(3 << 62, 0).read::<f32>().unwrap(), [1.5]);
    misfit(number(u64::MAX, 0).read::<f64>(), 0, "element 0 is about 2, which f64 cannot hold");
}

/// Returns whether a rational number, given as a numerator over a power of two, is in a range and is a multiple of a power of
/// two with at most this many digits.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Integer { low: i128, high: i128 },
    Float { digits: u32, least: i32 },
}

impl Kind {
    fn holds(self, numerator: i128, halvings: u32) -> bool {
        let divides = |power: u32| numerator & ((1i128 << power) - 1) == 0;
        match self {
            Self::Integer { low, high } => {
                divides(halvings) && (low..=high).contains(&(numerator >> halvings))
            }
            Self::Float { digits, least } => {
                let bits = 128 - numerator.unsigned_abs().leading_zeros();
                let zeros = numerator.trailing_zeros();
                numerator == 0 || bits - zeros <= digits && zeros as i32 - halvings as i32 >= least
            }
        }
    }
}

fn agrees<T: Element + Copy>(set: &Dataset, kind: Kind, value: (i128, u32), back: impl Fn(T) -> f64) {
    let fits = kind.holds(value.0, value.1);
    match set.read::<T>() {
        Ok(read) => {
            assert!(fits, "{value:?} {kind:?}");
            // What is compared as binary64 here has at most 53 digits, or both sides round alike.
            assert_eq!(back(read[0]), value.0 as f64 / 2f64.powi(value.1 as i32), "{value:?} {kind:?}");
        }
        Err(Error::Misfit(_)) => assert!(!fits, "{value:?} {kind:?}"),
        Err(error) => panic!("{error}"),
    }
}

fn agree(set: &Dataset, value: (i128, u32)) {
    macro_rules! integers {
        ($($type:ty)*) => {$(
            let kind = Kind::Integer { low: <$type>::MIN.into(), high: <$type>::MAX.into() };
            agrees::<$type>(set, kind, value, |read| read as f64);
        )*};
    }
    integers!(i8 i16 i32 i64 u8 u16 u32 u64);
    agrees::<f32>(set, Kind::Float { digits: 24, least: -149 }, value, f64::from);
    agrees::<f64>(set, Kind::Float { digits: 53, least: -1074 }, value, |read| read);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn numbers_are_read_if_and_only_if_they_fit(
        bits in prop_oneof![any::<i64>(), -400i64..400, (0u32..64, -2i64..3).prop_map(|(n, d)| (1i64 << n).wrapping_add(d))],
        big in any::<bool>(),
        halvings in 0u32..60,
    ) {
        for (signed, size) in [(true, 1), (true, 2), (true, 4), (true, 8), (false, 1), (false, 2), (false, 4), (false, 8)] {
            let mut bytes = bits.to_le_bytes()[..size].to_vec();
            let low = i128::from(bits) & ((1i128 << (8 * size)) - 1);
            let negative = signed && low >> (8 * size - 1) == 1;
            let value = if negative { low - (1i128 << (8 * size)) } else { low };
            let integer = if signed { Datatype::signed } else { Datatype::unsigned };
            let mut datatype = integer(size as u32);
            if big {
                bytes.reverse();
                datatype = datatype.big_endian();
            }
            agree(&raw(&datatype, &bytes), (value, 0));
        }
        let number = (bits >> 11) as f64 / 2f64.powi(halvings as i32);
        let (mut double, mut single) = (number.to_le_bytes().to_vec(), (bits as i16 as f32).to_le_bytes().to_vec());
        let (mut wide, mut narrow) = (Datatype::float64(), Datatype::float32());
        if big {
            double.reverse();
            single.reverse();
            (wide, narrow) = (wide.big_endian(), narrow.big_endian());
        }
        agree(&raw(&wide, &double), ((bits >> 11).into(), halvings));
        agree(&raw(&narrow, &single), ((bits as i16).into(), 0));
    }
}
