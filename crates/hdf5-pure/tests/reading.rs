//! Reads through the public interface: members, structs, pieces, conventions, and files in which only some parts are damaged.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};

use hdf5_pure::walk::Found;
use hdf5_pure::{CreateOptions, Error, File, OpenOptions, Range, Slab, Writer, conventions};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hdf5").join(name)
}

/// Returns the value of element `k` of a numeric array.
fn value(k: u64) -> f64 {
    ((k * 31 + 7) % 251) as f64
}

hdf5_pure::compound! {
    /// A struct with some of the members, which are converted.
    #[derive(Debug, PartialEq)]
    struct Record {
        b: f32,
        a: i64,
        c: String,
        d: Vec<u16>,
    }
}

#[test]
fn structs_and_fields() {
    for name in ["types-earliest.h5", "types-latest.h5"] {
        let dataset = File::open(fixture(name)).unwrap().dataset("compound").unwrap();
        let rows: Vec<Record> = dataset.read().unwrap();
        assert_eq!(rows.len(), 5);
        let second = Record { a: 38, b: 38.0 / 4.0, c: "bc".into(), d: vec![131, 162, 193, 224] };
        assert_eq!(rows[1], second);
        let a: Vec<i32> = dataset.read_field("a").unwrap();
        assert!(a.iter().zip(0..).all(|(&a, k)| f64::from(a) == value(k)));
        let y: Vec<f32> = dataset.read_field("e.y").unwrap();
        assert_eq!(y[3], 100.0 / 4.0);
        let some = Slab::new(&[5], [Range { start: 1, count: 2, step: 2 }]).unwrap();
        assert_eq!(dataset.read_field_slab::<f64>("b", &some).unwrap(), [38.0 / 4.0, 100.0 / 4.0]);
        assert!(matches!(dataset.read_field::<f64>("none"), Err(Error::NotFound { .. })));
        assert!(matches!(dataset.read_field::<String>("a"), Err(Error::Usage { .. })));
    }
}

#[test]
fn booleans() {
    let file = File::open(fixture("types-latest.h5")).unwrap();
    assert_eq!(file.dataset("bool").unwrap().read::<bool>().unwrap(), [true, false, true]);
    assert!(file.dataset("enum").unwrap().read::<bool>().is_err());
}

#[cfg(feature = "num-complex")]
#[test]
fn complex_numbers() {
    use num_complex::Complex;
    for name in ["types-earliest.h5", "types-latest.h5"] {
        let file = File::open(fixture(name)).unwrap();
        for set in ["n_le_c8", "n_be_c8", "n_le_c16"] {
            let all: Vec<Complex<f64>> = file.dataset(set).unwrap().read().unwrap();
            assert_eq!(all.len(), 15);
            assert!(all.iter().zip(0..).all(|(z, k)| *z == Complex::new(value(k) / 4.0, 0.0)));
        }
    }
}

#[cfg(all(feature = "half", feature = "ndarray"))]
#[test]
fn halves_in_arrays() {
    let file = File::open(fixture("types-latest.h5")).unwrap();
    for name in ["n_le_f2", "n_be_f2"] {
        let array: ndarray::ArrayD<half::f16> = file.dataset(name).unwrap().to_ndarray().unwrap();
        assert_eq!(array.shape(), [4, 6]);
        assert_eq!(array[[1, 2]].to_f64(), value(8) / 4.0);
    }
}

#[test]
fn pieces_and_points() {
    let file = File::open(fixture("indexes-latest.h5")).unwrap();
    for name in ["fixed_gzip", "grows_both", "contiguous"] {
        let dataset = file.dataset(name).unwrap();
        let mut next = 0;
        for piece in dataset.pieces::<f64>(20).unwrap() {
            let (slab, values) = piece.unwrap();
            assert_eq!(slab.len(), values.len() as u64);
            assert!(values.len() <= 20);
            for found in values {
                assert_eq!(found, value(next));
                next += 1;
            }
        }
        assert_eq!(next, 13 * 7);
        let points = [vec![12, 6], vec![0, 0], vec![5, 2]];
        assert_eq!(dataset.read_points::<f64>(&points).unwrap(), [90, 0, 37].map(value));
        assert!(dataset.read_points::<f64>(&[vec![13, 0]]).is_err());
        // The elements are read into buffers of the caller, both as they are stored and converted.
        let slab = Slab::new(&[13, 7], [Range::new(2, 5).by(2), Range::new(1, 3)]).unwrap();
        let wanted: Vec<f64> = (0..5).flat_map(|i| (1..4).map(move |j| value((2 + 2 * i) * 7 + j))).collect();
        let (mut doubles, mut singles) = ([0f64; 15], [0f32; 15]);
        dataset.read_slab_into(&slab, &mut doubles).unwrap();
        dataset.read_slab_into(&slab, &mut singles).unwrap();
        assert_eq!(doubles[..], wanted);
        assert!(singles.iter().zip(&wanted).all(|(single, double)| f64::from(*single) == *double));
        assert!(dataset.read_slab_into(&slab, &mut [0f64; 14]).is_err());
    }
}

#[test]
fn a_cache_changes_nothing() {
    for chunk_cache in [0, 1000, 1 << 20] {
        let options = OpenOptions::default().with_chunk_cache(chunk_cache);
        let file = File::open_with(fixture("indexes-latest.h5"), &options).unwrap();
        let dataset = file.dataset("grows_both_gzip").unwrap();
        for _ in 0..3 {
            for row in 0..12 {
                let slab = Slab::new(&[13, 7], [Range::new(row, 2), Range::new(2, 4)]).unwrap();
                let found: Vec<f64> = dataset.read_slab(&slab).unwrap();
                let wanted = (row..row + 2).flat_map(|i| (2..6).map(move |j| value(i * 7 + j)));
                assert!(found.into_iter().eq(wanted));
            }
        }
    }
}

#[test]
fn scales_and_marks() {
    let file = File::open(fixture("conventions.h5")).unwrap();
    let dimensions = conventions::netcdf_dimensions(&file.root().unwrap()).unwrap();
    let shown: Vec<_> =
        dimensions.iter().map(|d| (d.name.as_str(), d.len, d.unlimited, d.without_variable)).collect();
    assert_eq!(shown, [("y", 2, true, true), ("x", 3, false, false)]);
    let dataset = file.dataset("t").unwrap();
    let scales = conventions::scales(&dataset).unwrap();
    assert_eq!(scales.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(scales[1][0].read::<f64>().unwrap(), [0, 1, 2].map(|k| value(k) / 4.0));
    assert_eq!(conventions::labels(&dataset).unwrap(), ["time", ""]);
    assert_eq!(conventions::netcdf_dimensions_of(&dataset).unwrap(), ["y", "x"]);
    assert_eq!(conventions::netcdf_dimensions_of(&file.dataset("x").unwrap()).unwrap(), ["x"]);
    assert_eq!(conventions::scale_name(&dataset).unwrap(), None);
    assert_eq!(conventions::scale_name(&file.dataset("x").unwrap()).unwrap().as_deref(), Some("width"));
    let mark = conventions::matlab_class(&file, dataset.address()).unwrap();
    assert_eq!(mark.as_deref(), Some("single"));
    assert_eq!(conventions::pytables_class(&file, dataset.address()).unwrap(), None);
}

#[test]
fn dimensions_of_scales_without_values_and_of_several_dimensions() {
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    // As netCDF-C writes it, such a scale does not grow together with its variables.
    let record = file.dataset("record").shape([0]).max_shape([None]).create::<f32>().unwrap().id();
    file.make_scale(record, "This is a netCDF dimension but not a netCDF variable.         0").unwrap();
    for (path, len) in [("a", 5), ("b", 3)] {
        let grows = file.dataset(path).shape([2, len]).max_shape([None, None]);
        let variable = grows.write(&vec![1i32; 2 * usize::try_from(len).unwrap()]).unwrap();
        file.attach_scale(variable, 1, record).unwrap();
    }
    let width = file.dataset("width").attribute("_Netcdf4Dimid", 7).write(&[0.5, 1.5, 2.5]).unwrap();
    file.make_scale(width, "width").unwrap();
    let place = file.dataset("inner/place").shape([2, 3]);
    let place = place.attribute("_Netcdf4Dimid", 8).attribute("_Netcdf4Coordinates", [8, 7]);
    let place = place.write(&[1.5; 6]).unwrap();
    file.make_scale(place, "place").unwrap();
    let file = File::from_bytes(file.into_bytes().unwrap()).unwrap();
    let dimensions = conventions::netcdf_dimensions(&file.root().unwrap()).unwrap();
    let shown: Vec<_> = dimensions.iter().map(|d| (d.name.as_str(), d.len, d.unlimited)).collect();
    assert_eq!(shown, [("width", 3, false), ("record", 5, true)]);
    let place = file.dataset("inner/place").unwrap();
    assert_eq!(conventions::netcdf_dimensions_of(&place).unwrap(), ["place", "width"]);
}

/// Returns the number of links of a file that can be read, and the number of those that cannot.
fn met(name: &str) -> (usize, usize) {
    let walk = File::open(fixture(name)).unwrap().walk();
    walk.fold((0, 0), |(whole, broken), visited| match visited.what {
        Found::Broken(_) => (whole, broken + 1),
        _ => (whole + 1, broken),
    })
}

#[test]
fn a_broken_link_hides_no_other() {
    let (all, none) = met("links-earliest.h5");
    assert_eq!(none, 0);
    // Only the entry whose name cannot be read is lost.
    assert_eq!(met("hostile/name-outside.h5"), (all - 1, 1));
    assert_eq!(met("hostile/member-outside.h5"), (all, 0));
}
