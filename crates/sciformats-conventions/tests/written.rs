//! Files that the crate writes are read as what they mean.

#![cfg(feature = "hdf5")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use sciformats_conventions::sciformats::Error;
use sciformats_conventions::write::{AnnData, NeXus};
use sciformats_conventions::{Dataset, Role, Values};

#[test]
fn nexus_data_have_a_signal_and_axes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scan.nxs");
    let mut file = NeXus::create(&path).unwrap();
    let mut data = file.data("entry", "data").unwrap();
    assert!(data.errors(&[1.0]).is_err(), "there is no signal");
    data.signal("counts", &[2, 3], &[1i32, 2, 3, 4, 5, 6]).unwrap();
    assert!(data.signal("other", &[1], &[1i32]).is_err());
    assert!(data.errors(&[1.0]).is_err(), "too few");
    data.errors(&[1.0f64; 6]).unwrap();
    data.axis(1, "energy", &[1.0, 2.0, 4.0, 8.0]).unwrap();
    assert!(data.axis(1, "again", &[1.0, 2.0, 4.0]).is_err());
    assert!(data.axis(2, "nothing", &[1.0]).is_err());
    assert!(data.axis(0, "short", &[1.0]).is_err());
    data.attribute("energy", "units", "eV").unwrap();
    assert!(data.attribute("lost", "units", "eV").is_err());
    data.finish().unwrap();
    file.finish().unwrap();

    let data = Dataset::open(&path).unwrap();
    assert_eq!(data.identity().unwrap().unwrap().convention, "NeXus");
    let signal = data.variable("/").unwrap();
    assert_eq!((signal.path(), signal.shape()), ("/entry/data/counts", vec![2, 3]));
    assert_eq!(signal.dimensions[1].name.as_deref(), Some("energy"));
    let roles: Vec<Role> = signal.coordinates.iter().map(|known| known.role).collect();
    assert_eq!(roles, [Role::Dimension, Role::Errors]);
    assert_eq!(data.variable("/entry/data/energy").unwrap().units.as_deref(), Some("eV"));
}

#[test]
fn anndata_have_frames_and_matrices() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cells.h5ad");
    let mut file = AnnData::create(&path).unwrap();
    let wrong: [(&[i64], &[i64], &[f32]); 4] = [
        (&[0, 1], &[0], &[1.0]),
        (&[0, 1, 0, 1], &[0], &[1.0]),
        (&[0, 1, 1, 1], &[2], &[1.0]),
        (&[0, 1, 1, 1], &[0], &[1.0, 2.0]),
    ];
    for parts in wrong {
        assert!(file.csr("X", [3, 2], parts).is_err(), "{parts:?}");
    }
    file.csr("X", [3, 2], (&[0, 1, 1, 3], &[1, 0, 1], &[5.0f32, 1.0, 7.0])).unwrap();
    file.csc("layers/turned", [3, 2], (&[0, 1, 3], &[2, 0, 2], &[1i64, 5, 7])).unwrap();
    assert!(file.dense("X", &[1], &[1.0]).is_err(), "it exists");
    let mut cells = file.frame("obs", &["c1", "c2", "c3"]).unwrap();
    cells.categories("kind", &["T", "B"], &[Some(0), None, Some(1)]).unwrap();
    assert!(cells.categories("none", &["T"], &[Some(0), None, Some(1)]).is_err());
    assert!(cells.column("short", &[1.0]).is_err());
    cells.texts("batch", &["a", "b", ""]).unwrap();
    cells.ordered_categories("stage", &["early", "late"], &[Some(1), Some(0), None]).unwrap();
    file.frame("var", &["g1", "g2"]).unwrap();
    file.finish().unwrap();

    let data = Dataset::open(&path).unwrap();
    assert_eq!(data.identity().unwrap().unwrap().convention, "AnnData");
    let cells = data.table("/obs").unwrap();
    let names: Vec<&str> = cells.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!((cells.rows, names), (3, vec!["kind", "batch", "stage"]));
    let kinds = cells.columns[0].read(0, 3).unwrap().cells().unwrap();
    assert_eq!(kinds, [Some("T".to_owned()), None, Some("B".to_owned())]);
    let (codes, names) = cells.read("kind").unwrap().into_categories().unwrap();
    assert_eq!((codes, names.join(" ")), (vec![Some(0), None, Some(1)], "T B".to_owned()));
    let refused = cells.read("batch").unwrap().into_categories().unwrap_err().to_string();
    assert_eq!(refused, "values are string, not categories");
    assert!(matches!(cells.read("stages"), Err(Error::NotFound { .. })));
    assert!(matches!(cells.read("kind").unwrap(), Values::Categories { ordered: false, .. }));
    assert!(matches!(cells.read("stage").unwrap(), Values::Categories { ordered: true, .. }));
    assert_eq!(data.sparse("/X").unwrap().dense(0, 3).unwrap(), [0.0, 5.0, 0.0, 0.0, 1.0, 7.0]);
    assert_eq!(data.sparse("/layers/turned").unwrap().dense(1, 1).unwrap(), [5.0, 0.0, 7.0]);
    for path in ["/X", "/layers/turned"] {
        let counts = data.sparse(path).unwrap();
        // Rows 0 and 2, row 1, and no row; and of a row that is in no group.
        assert_eq!(
            counts.means(&[Some(0), Some(1), Some(0)], 2).unwrap(),
            [[0.5, 6.0], [0.0, 0.0]],
            "{path}"
        );
        let means = counts.means(&[None, None, Some(1)], 2).unwrap();
        assert!(means[0].iter().all(|mean| mean.is_nan()) && means[1] == [1.0, 7.0], "{path}: {means:?}");
        assert!(counts.means(&[None, None], 1).is_err(), "a row has no group");
        assert!(counts.means(&[None, None, Some(1)], 1).is_err(), "there is only one group");
    }

    let mut lacking = AnnData::create(dir.path().join("lacking.h5ad")).unwrap();
    lacking.frame("obs", &["c1"]).unwrap();
    assert!(lacking.finish().is_err(), "there is no var");
}

/// The netCDF library lists variables of halves, but cannot read them.
#[test]
fn variables_have_types_that_netcdf_has() {
    use sciformats_conventions::sciformats::hdf5_pure::values::Encoder;
    use sciformats_conventions::sciformats::hdf5_pure::{Datatype, Store};
    use sciformats_conventions::write::NetCdf;

    #[derive(Clone, Copy)]
    struct Half;
    impl Store for Half {
        fn datatype() -> Datatype {
            Datatype::float16()
        }

        fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<(), Error> {
            values.iter().for_each(|_| to.bytes(&[0, 0x3c]));
            Ok(())
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let mut file = NetCdf::create(dir.path().join("half.nc")).unwrap();
    let x = file.dimension("x", 2).unwrap();
    let error = file.variable("thin", &[x], &[Half, Half], None).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }) && error.to_string().contains("thin"), "{error}");
    assert!(file.define::<Half>("thin", &[x], None).is_err());
    file.variable("thin", &[x], &[1.0f32, 2.0], None).unwrap();
    file.finish().unwrap();
}

/// As in netCDF4, a valid range that the type does not have is not used, so that it can neither leave its ends nor become them.
#[test]
fn bounds_that_the_type_does_not_have_are_not_used() {
    use sciformats_conventions::write::NetCdf;

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("valid.nc");
    let mut file = NetCdf::create(&path).unwrap();
    file.global("Conventions", "CF-1.11").unwrap();
    let x = file.dimension("x", 4).unwrap();
    for (name, bound, value) in [
        ("above", "valid_min", vec![300.0]),
        ("below", "valid_max", vec![-1.0]),
        ("pair", "valid_range", vec![1.0, 256.0]),
        ("between", "valid_min", vec![0.5]),
        ("inside", "valid_range", vec![1.0, 255.0]),
    ] {
        let id = file.variable(name, &[x], &[0u8, 1, 254, 255], None).unwrap();
        file.attribute(id, bound, value).unwrap();
    }
    file.finish().unwrap();
    let data = Dataset::open(&path).unwrap();
    for (name, valid) in [("above", 4), ("below", 4), ("pair", 4), ("between", 4), ("inside", 3)] {
        let cells = data.variable(&format!("/{name}")).unwrap().read().unwrap().cells().unwrap();
        assert_eq!(cells.iter().flatten().count(), valid, "{name}");
    }
}

/// Bounds beyond 2^53 are the integers that they are, and not the nearest floating-point numbers.
#[test]
fn bounds_of_eight_bytes_are_exact() {
    use sciformats_conventions::write::NetCdf;

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("wide.nc");
    let mut file = NetCdf::create(&path).unwrap();
    file.global("Conventions", "CF-1.11").unwrap();
    let x = file.dimension("x", 4).unwrap();
    let stored = [0, (1u64 << 63) - 1, 1 << 63, u64::MAX];
    for (name, bound) in [("u", "valid_max"), ("v", "valid_min")] {
        let id = file.variable(name, &[x], &stored, None).unwrap();
        file.attribute(id, bound, (1u64 << 63) - if name == "u" { 1 } else { 0 }).unwrap();
    }
    let days = file.variable("days", &[x], &[0, 1i64 << 53, (1 << 53) + 1, (1 << 53) + 2], None).unwrap();
    file.attribute(days, "valid_max", (1i64 << 53) + 1).unwrap();
    file.attribute(days, "units", "nanoseconds since 1970-01-01").unwrap();
    // A number of the other sign has no place in the type.
    let signed = file.variable("signed", &[x], &[i64::MIN, -1, 0, i64::MAX], None).unwrap();
    file.attribute(signed, "valid_max", 1u64 << 63).unwrap();
    let bits = file.variable("bits", &[x], &[0i64, i64::MAX, i64::MIN, -1], None).unwrap();
    file.attribute(bits, "_Unsigned", "true").unwrap();
    file.attribute(bits, "valid_max", i64::MIN).unwrap();
    file.finish().unwrap();
    let data = Dataset::open(&path).unwrap();
    for (name, valid) in [("u", 2), ("v", 2), ("days", 3), ("signed", 4), ("bits", 3)] {
        let cells = data.variable(&format!("/{name}")).unwrap().read().unwrap().cells().unwrap();
        assert_eq!(cells.iter().flatten().count(), valid, "{name}");
    }
}
