//! Frames and series of pandas, in both of its formats.

use sciformats::memory::{Memory, MemoryArray, array, texts};
use sciformats::{ArrayInfo, ElementType, File, Format, ObjectId};

use crate::values::push_text;
use crate::{Column, Dataset, Table};

/// A file with a frame, of which the attributes are texts.
fn frame(kind: &str, said: &[(&str, &str)]) -> (Memory, ObjectId) {
    let mut tree = Memory::new(Format::Hdf5);
    tree.attribute(tree.root(), "PYTABLES_FORMAT_VERSION", texts(&[], &["2.1"]));
    let group = tree.group(tree.root(), "k");
    say(&mut tree, group, &[("pandas_type", kind)]);
    say(&mut tree, group, said);
    (tree, group)
}

fn say(tree: &mut Memory, object: ObjectId, said: &[(&str, &str)]) {
    for (name, text) in said {
        tree.attribute(object, name, texts(&[], &[text]));
    }
}

fn number(tree: &mut Memory, object: ObjectId, name: &str, value: i64) {
    tree.attribute(object, name, array::<i64>(&[], &[value]));
}

/// Records with an index and a field of several texts or numbers.
fn records(field: &str, element: ElementType, rows: &[Vec<u8>]) -> MemoryArray {
    let element = ElementType::Compound(vec![("index".into(), ElementType::Int(8)), (field.into(), element)]);
    let mut bytes = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        bytes.extend((at as u64).to_le_bytes());
        bytes.extend(row);
    }
    MemoryArray { info: ArrayInfo::new(element, [rows.len() as u64]), bytes }
}

fn read(tree: Memory) -> Table {
    Dataset::new(File::from(tree)).table("/k").unwrap()
}

fn names(table: &Table) -> Vec<&str> {
    table.columns.iter().map(|column| column.name.as_str()).collect()
}

fn cells(table: &Table, column: &Column) -> Vec<String> {
    let cells = column.read(0, table.rows).unwrap().cells().unwrap();
    cells.into_iter().map(|cell| cell.unwrap_or_else(|| "-".into())).collect()
}

fn of_texts(list: &[&str]) -> (ElementType, Vec<Vec<u8>>) {
    let one = |text: &&str| {
        let mut bytes = Vec::new();
        push_text(&mut bytes, text);
        bytes
    };
    (
        ElementType::Array { element: Box::new(ElementType::Text), shape: vec![1] },
        list.iter().map(one).collect(),
    )
}

#[test]
fn each_column_of_a_table_has_its_own_text_for_missing_ones() {
    let of = |own: bool, said: &[(&str, &str)]| {
        let (mut tree, group) = frame("frame_table", &[("nan_rep", "N.")]);
        number(&mut tree, group, "data_col_nan_rep", i64::from(own));
        let (element, rows) = of_texts(&["N.", "_nan_", "nan"]);
        let table = tree.array(group, "table", records("values_block_0", element, &rows));
        say(&mut tree, table, &[("values_block_0_kind", "(lp0\nVname\np1\na.")]);
        say(&mut tree, table, said);
        let table = read(tree);
        assert_eq!(names(&table), ["name"]);
        cells(&table, &table.columns[0])
    };
    assert_eq!(of(true, &[("values_block_0_nan_rep", "_nan_")]), ["N.", "-", "nan"]);
    assert_eq!(of(true, &[]), ["N.", "_nan_", "nan"]);
    // Before version 3 one text stands for all columns, and it is "nan" if it is not said.
    assert_eq!(of(false, &[]), ["N.", "_nan_", "-"]);
}

#[test]
fn every_element_of_a_block_is_a_column() {
    let floats = |rows: &[[f64; 2]]| -> (ElementType, Vec<Vec<u8>>) {
        let element = ElementType::Array { element: Box::new(ElementType::F64), shape: vec![2] };
        (element, rows.iter().map(|row| row.iter().flat_map(|x| x.to_le_bytes()).collect()).collect())
    };
    let of = |kind: &str, order: &str| {
        let (mut tree, group) = frame("frame_table", &[("non_index_axes", order)]);
        let (element, rows) = floats(&[[0.5, 1.5], [2.5, 3.5]]);
        let table = tree.array(group, "table", records("values_block_0", element, &rows));
        say(&mut tree, table, &[("values_block_0_kind", kind)]);
        let table = read(tree);
        let columns: Vec<String> = table
            .columns
            .iter()
            .map(|column| format!("{}={}", column.name, cells(&table, column).join(",")))
            .collect();
        assert_eq!(table.index[0].name, if kind.contains("index") { "level_0" } else { "index" });
        columns
    };
    // Names on several levels, in the order of the frame.
    let tuples = "(l(Vsnout\nVx\nta(Vsnout\nVy\nta.";
    let turned = "(l(I1\n(l(Vsnout\nVy\nta(Vsnout\nVx\ntata.";
    assert_eq!(of(tuples, turned), ["snout.y=1.5,3.5", "snout.x=0.5,2.5"]);
    // A name that cannot be known, a repeated one, and that of an index without a name.
    assert_eq!(of("(lVa\naccopy\nx\n(tRa.", "N."), ["a=0.5,2.5", "values_block_0[1]=1.5,3.5"]);
    assert_eq!(of("(lVa\naVa\na.", "N."), ["a=0.5,2.5", "a.1=1.5,3.5"]);
    assert_eq!(of("(lVindex\naVa\na.", "N."), ["index=0.5,2.5", "a=1.5,3.5"]);
}

#[test]
fn axes_of_frames_have_levels_categories_and_missing_texts() {
    let (mut tree, group) = frame("frame", &[("axis1_variety", "regular")]);
    number(&mut tree, group, "nblocks", 1);
    for axis in ["axis0", "block0_items"] {
        say(&mut tree, group, &[(&format!("{axis}_variety"), "multi")]);
        number(&mut tree, group, &format!("{axis}_nlevels"), 2);
        for (level, labels) in [["snout", "tail"], ["x", "y"]].iter().enumerate() {
            let at = tree.array(group, &format!("{axis}_level{level}"), texts(&[2], labels));
            say(&mut tree, at, &[("kind", "string"), ("name", "N.")]);
        }
        tree.array(group, &format!("{axis}_label0"), array::<i8>(&[2], &[0, 1]));
        tree.array(group, &format!("{axis}_label1"), array::<i8>(&[2], &[1, 0]));
    }
    let codes = tree.array(group, "axis1", array::<i8>(&[3], &[1, -1, 0]));
    say(&mut tree, codes, &[("kind", "category"), ("name", "N.")]);
    number(&mut tree, codes, "ordered", 1);
    let known = tree.array(group, "axis1_categories", texts(&[2], &["nan", "b"]));
    say(&mut tree, known, &[("kind", "string"), ("nan_rep", "")]);
    tree.array(group, "block0_values", array::<f64>(&[3, 2], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
    let table = read(tree);
    assert_eq!(names(&table), ["snout.y", "tail.x"]);
    assert_eq!(cells(&table, &table.columns[1]), ["1.0", "3.0", "5.0"]);
    assert_eq!(cells(&table, &table.index[0]), ["b", "-", "nan"]);
}

#[test]
fn levels_without_a_name_and_frames_without_rows() {
    let (mut tree, group) = frame("series", &[("index_variety", "multi")]);
    number(&mut tree, group, "index_nlevels", 2);
    for level in 0..2 {
        let at = tree.array(group, &format!("index_level{level}"), texts(&[1], &["a"]));
        say(&mut tree, at, &[("kind", "string"), ("name", "N.")]);
        tree.array(group, &format!("index_label{level}"), array::<i8>(&[2], &[0, 0]));
    }
    tree.array(group, "values", array::<f64>(&[2], &[0.5, 1.5]));
    let table = read(tree);
    assert_eq!(
        table.index.iter().map(|level| level.name.as_str()).collect::<Vec<_>>(),
        ["level_0", "level_1"]
    );

    let (mut tree, group) = frame("series", &[("index_variety", "regular")]);
    for (name, kind) in [("index", "int64"), ("values", "float64")] {
        let at = tree.array(group, name, array::<f64>(&[1], &[0.0]));
        say(&mut tree, at, &[("shape", "(I0\ntp0\n."), ("value_type", kind), ("kind", "integer")]);
    }
    let table = read(tree);
    assert_eq!((table.rows, table.index[0].type_name().as_str()), (0, "int64"));
    assert_eq!(table.columns[0].read(0, 0).unwrap().len().unwrap(), 0);
}

#[test]
fn days_spans_and_periods_are_named() {
    let of = |kind: &str, values: &[i64]| {
        let (mut tree, group) = frame("series", &[]);
        let at = tree.array(group, "values", array::<i64>(&[values.len() as u64], values));
        say(&mut tree, at, &[("value_type", kind)]);
        let found = Dataset::new(File::from(tree)).table("/k");
        found.map(|table| cells(&table, &table.columns[0]))
    };
    assert_eq!(of("timedelta64[ns]", &[60_000_000_000, i64::MIN]).unwrap(), ["60.0", "-"]);
    assert_eq!(of("period[M]", &[600]).unwrap(), ["2020-01"]);
    assert_eq!(of("period[W-SUN]", &[1]).unwrap(), ["1969-12-29/1970-01-04"]);
    let unknown = of("period[C]", &[1]).unwrap_err().to_string();
    assert!(unknown.contains("period[C]"), "{unknown}");
    let (mut tree, group) = frame("series", &[("index_variety", "regular")]);
    tree.array(group, "values", array::<f64>(&[1], &[0.5]));
    let days = tree.array(group, "index", array::<i32>(&[1], &[737_425]));
    say(&mut tree, days, &[("kind", "date")]);
    number(&mut tree, days, "name", 7);
    let table = read(tree);
    assert_eq!(
        (table.index[0].name.as_str(), cells(&table, &table.index[0])),
        ("7", vec!["2020-01-01T00:00:00".into()])
    );
}

#[test]
fn texts_of_another_encoding() {
    let of = |encoding: &str| {
        let (mut tree, group) = frame("frame_table", &[("encoding", encoding)]);
        let bytes = [&5u64.to_le_bytes()[..], b"gr\xf6\xdfe"].concat();
        tree.array(group, "table", records("name", ElementType::Text, &[bytes]));
        read(tree)
    };
    let table = of("latin-1");
    assert_eq!(cells(&table, &table.columns[0]), ["größe"]);
    // What cannot be decoded is named.
    let table = of("cp1252");
    assert_eq!((table.columns.len(), table.omitted[0].0.as_str()), (0, "name"));
}

#[test]
fn a_block_of_other_rows_is_left_out() {
    let (mut tree, group) = frame("frame", &[]);
    number(&mut tree, group, "nblocks", 2);
    let index = tree.array(group, "axis1", array::<i64>(&[2], &[7, 8]));
    say(&mut tree, index, &[("kind", "integer")]);
    for (block, rows) in [(0, 2), (1, 3)] {
        let name = format!("c{block}");
        let items = tree.array(group, &format!("block{block}_items"), texts(&[1], &[&name]));
        say(&mut tree, items, &[("kind", "string")]);
        tree.array(
            group,
            &format!("block{block}_values"),
            array::<f64>(&[rows, 1], &vec![0.5; rows as usize]),
        );
    }
    let table = read(tree);
    assert_eq!((table.rows, names(&table)), (2, vec!["c0"]));
    assert_eq!(table.omitted, [("c1".to_owned(), "it has 3 rows, and the frame has 2".to_owned())]);
}
