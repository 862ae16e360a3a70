//! Files like those of MATLAB, in memory.

use sciformats::memory::{Memory, array, texts};
use sciformats::{File, Format, ObjectId};

use super::cells::SHOWN;
use super::*;
use crate::{Column, Dataset, Table};

fn of_class(tree: &mut Memory, node: ObjectId, class: &str) {
    tree.attribute(node, "MATLAB_class", texts(&[], &[class]));
}

fn codes(tree: &mut Memory, group: ObjectId, name: &str, text: &str) {
    let codes: Vec<u16> = text.encode_utf16().collect();
    let node = tree.array(group, name, array::<u16>(&[codes.len() as u64, 1], &codes));
    of_class(tree, node, "char");
}

fn doubles(tree: &mut Memory, group: ObjectId, name: &str, values: &[f64]) {
    let node = tree.array(group, name, array::<f64>(&[values.len() as u64, 1], values));
    of_class(tree, node, "double");
}

fn references(tree: &mut Memory, (group, name): (ObjectId, &str), shape: &[u64], paths: &[&str]) -> ObjectId {
    let mut found = texts(shape, paths);
    found.info.element = ElementType::Reference;
    tree.array(group, name, found)
}

/// A cell array of two columns, a structure, and an array of structures.
fn file() -> Dataset {
    let mut tree = Memory::new(Format::Hdf5);
    let root = tree.root();
    let cells = tree.group(root, "#refs#");
    codes(&mut tree, cells, "a", "größer");
    doubles(&mut tree, cells, "b", &[1.5, 2.0]);
    doubles(&mut tree, cells, "big", &[0.0; SHOWN as usize + 1]);
    let none = tree.array(cells, "none", array::<u64>(&[2], &[0, 0]));
    of_class(&mut tree, none, "double");
    tree.attribute(none, "MATLAB_empty", array::<u8>(&[], &[1]));
    let inner = tree.group(cells, "inner");
    of_class(&mut tree, inner, "struct");
    let paths = ["/#refs#/a", "/#refs#/b", "/#refs#/big", "/#refs#/none", "/#refs#/inner", "/#refs#/lost"];
    let mixed = references(&mut tree, (root, "mixed"), &[2, 3], &paths);
    of_class(&mut tree, mixed, "cell");
    let log = tree.group(root, "log");
    of_class(&mut tree, log, "struct");
    codes(&mut tree, log, "name", "abc");
    doubles(&mut tree, log, "level", &[1.5]);
    let rows = tree.group(root, "rows");
    of_class(&mut tree, rows, "struct");
    references(&mut tree, (rows, "a"), &[2, 1], &["/#refs#/b", "/#refs#/a"]);
    references(&mut tree, (rows, "b"), &[2, 1], &["/#refs#/none", "/#refs#/b"]);
    let list = tree.group(root, "list");
    of_class(&mut tree, list, "struct");
    for (name, values) in [("x", [1.0, 2.0]), ("y", [3.0, 4.0])] {
        let node = tree.array(list, name, array::<f64>(&[1, 2], &values));
        of_class(&mut tree, node, "double");
    }
    Dataset::new(File::from(tree))
}

/// The columns of a table: names, and the cells of some rows.
fn columns(table: &Table, first: u64, count: u64) -> Vec<(String, Vec<Option<String>>)> {
    let cells = |column: &Column| column.read(first, count).unwrap().cells().unwrap();
    table.columns.iter().map(|column| (column.name.clone(), cells(column))).collect()
}

fn some(texts: &[&str]) -> Vec<Option<String>> {
    texts.iter().map(|text| Some((*text).to_owned()).filter(|text| !text.is_empty())).collect()
}

#[test]
fn sparse_matrices_have_the_type_of_their_class() {
    let mut tree = Memory::new(Format::Hdf5);
    let root = tree.root();
    let mut sparse = |name: &str, class: &str, starts: &[u64]| {
        let group = tree.group(root, name);
        of_class(&mut tree, group, class);
        tree.attribute(group, "MATLAB_sparse", array::<u64>(&[], &[3]));
        tree.array(group, "jc", array::<u64>(&[starts.len() as u64], starts));
        group
    };
    sparse("zero", "double", &[0, 0, 0]);
    let mask = sparse("mask", "logical", &[0, 1, 2]);
    tree.array(mask, "ir", array::<u64>(&[2], &[2, 0]));
    tree.array(mask, "data", array::<u8>(&[2], &[1, 1]));
    let data = Dataset::new(File::from(tree));
    let zero = data.sparse("/zero").unwrap();
    assert_eq!((zero.shape, zero.stored().unwrap(), zero.element().unwrap()), ([3, 2], 0, ElementType::F64));
    assert_eq!(zero.dense(0, 2).unwrap(), [0.0; 6]);
    let mask = data.sparse("/mask").unwrap();
    assert_eq!(mask.element().unwrap(), ElementType::Bool);
    let cells = mask.read(0, 2).unwrap().values.cells().unwrap();
    assert_eq!(cells, [Some("true".to_owned()), Some("true".to_owned())]);
}

#[cfg(feature = "hdf5")]
#[test]
fn sparse_matrices_may_be_complex() {
    use sciformats::hdf5_pure::{Datatype, Writer};

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("z.mat");
    let mut file = Writer::create(&path).unwrap();
    let mut root = file.root();
    let mut group = root.group("z").unwrap();
    group.attribute("MATLAB_class", "double").unwrap().attribute("MATLAB_sparse", 2u64).unwrap();
    let complex = Datatype::compound([("real", Datatype::float64()), ("imag", Datatype::float64())]);
    let bytes = [1.5f64, -2.0].map(f64::to_le_bytes).concat();
    file.dataset("z/data").shape([1]).datatype(complex).write_raw(&bytes).unwrap();
    file.dataset("z/ir").write(&[1u64]).unwrap();
    file.dataset("z/jc").write(&[0u64, 1]).unwrap();
    file.finish().unwrap();
    let z = Dataset::open(&path).unwrap().sparse("/z").unwrap();
    assert_eq!((z.shape, z.element().unwrap()), ([2, 1], ElementType::Complex(16)));
    assert_eq!(z.read(0, 1).unwrap().values.cells().unwrap(), [Some("1.5-2.0j".to_owned())]);
}

#[test]
fn a_cell_array_has_one_row_per_cell() {
    let table = file().table("/mixed").unwrap();
    assert_eq!(table.rows, 6);
    let all = some(&["größer", "1.5 2.0", "double 1 × 4097", "", "struct", ""]);
    assert_eq!(columns(&table, 0, 6), [("mixed".to_owned(), all.clone())]);
    assert_eq!(columns(&table, 1, 2), [("mixed".to_owned(), all[1..3].to_vec())]);
    assert_eq!(columns(&table, 6, 0), [("mixed".to_owned(), Vec::new())]);
}

#[test]
fn objects_need_their_contents() {
    let mut tree = Memory::new(Format::Hdf5);
    let t = tree.array(tree.root(), "t", array::<u32>(&[6, 1], &[0xdd00_0000, 2, 1, 1, 1, 1]));
    of_class(&mut tree, t, "table");
    tree.attribute(t, "MATLAB_object_decode", array::<i32>(&[], &[3]));
    let n = tree.array(tree.root(), "n", array::<u32>(&[1, 1], &[7]));
    of_class(&mut tree, n, "uint32");
    let data = Dataset::new(File::from(tree));
    let error = data.meaning("/t").unwrap_err();
    assert_eq!(error.to_string(), "malformed objects of MATLAB at offset 0x0: cell array is missing");
    assert_eq!(error.object(), Some("/#subsystem#/MCOS"));
    assert!(data.variable("/n").is_ok());
    // The file itself is known, and what it contains is named.
    let outline = data.outline().unwrap();
    assert!(outline.highlights.iter().any(|highlight| highlight.path == "/t" && highlight.what == "table"));
}

#[test]
fn structures_have_a_column_per_field() {
    let data = file();
    let log = data.table("/log").unwrap();
    assert_eq!(log.rows, 1);
    let mut fields = columns(&log, 0, 1);
    fields.sort();
    assert_eq!(fields, [("level".to_owned(), some(&["1.5"])), ("name".to_owned(), some(&["abc"]))]);
    let rows = data.table("/rows").unwrap();
    assert_eq!(rows.rows, 2);
    let fields = columns(&rows, 0, 2);
    assert_eq!(fields[0], ("a".to_owned(), some(&["1.5 2.0", "größer"])));
    assert_eq!(fields[1], ("b".to_owned(), some(&["", "1.5 2.0"])));
    // Fields that are lists of equal length keep their numbers.
    let list = data.table("/list").unwrap();
    assert_eq!((list.rows, list.columns[1].read(0, 2).unwrap().numbers().unwrap()), (2, vec![3.0, 4.0]));
}
