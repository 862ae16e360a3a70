//! The examples do what they say.
#![cfg(feature = "hdf5")]

#[allow(dead_code, reason = "its `main`")]
#[path = "../examples/anndata.rs"]
mod anndata;

#[test]
fn means_of_each_type_of_cell() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cells.h5ad");
    anndata::make(&path).unwrap();
    let expected = [
        ("T cell".to_owned(), vec![18.0 / 3.0, 0.0, 0.0, 1.0 / 3.0]),
        ("B cell".to_owned(), vec![0.0, 2.0 / 3.0, 11.0 / 3.0, 0.0]),
    ];
    assert_eq!(anndata::means(&path).unwrap(), expected);
}
