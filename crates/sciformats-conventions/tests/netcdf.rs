//! Files of other formats become netCDF-4, and what netCDF does not have is told.

#![cfg(feature = "hdf5")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use sciformats_conventions::Dataset;

/// Metalayers of Blosc2 are what attributes are elsewhere, also in a netCDF-4 file.
#[test]
#[cfg(feature = "blosc2")]
fn metalayers_are_attributes() {
    use sciformats_conventions::sciformats::cframe::{Array, ArrayParams, Value};
    use sciformats_conventions::write::NetCdfCopy;

    let dir = tempfile::tempdir().unwrap();
    let frame = dir.path().join("t.b2nd");
    let mut made = Array::create(&frame, &ArrayParams::of::<i16>(&[0, 3]).unwrap()).unwrap();
    made.append(0, &[1i16, 2, 3, 4, 5, 6]).unwrap();
    let text = |text: &str| Value::Text(text.to_owned());
    let list = |values: &[i128]| Value::List(values.iter().map(|&value| Value::Int(value)).collect());
    for (name, value) in [
        ("units", text("K")),
        ("long_name", text("temperature")),
        ("dims", Value::List(vec![text("lat"), text("lon")])),
        ("valid_range", list(&[-5, 100])),
        ("levels", list(&[1000, 850])),
        ("ratio", Value::Float(0.1)),
    ] {
        made.schunk_mut().set_vlmeta_value(name, &value).unwrap();
    }
    made.commit().unwrap();
    drop(made);
    let data = Dataset::open(&frame).unwrap();
    let variable = data.variable("/").unwrap();
    assert_eq!((variable.units.as_deref(), variable.long_name.as_deref()), (Some("K"), Some("temperature")));
    assert_eq!(variable.dimensions[1].name.as_deref(), Some("lon"));
    let path = dir.path().join("t.nc");
    let copy = NetCdfCopy::new(&data, &|_| true).unwrap();
    assert_eq!(copy.losses(), []);
    copy.create(&path, None).unwrap();
    let copied = Dataset::open(&path).unwrap();
    let variable = copied.variable("/data").unwrap();
    assert_eq!(variable.signature(), "data(lat: 2, lon: 3)");
    assert_eq!((variable.units.as_deref(), variable.long_name.as_deref()), (Some("K"), Some("temperature")));
    let node = variable.node();
    assert_eq!(node.integers("levels").unwrap(), Some(vec![1000, 850]));
    assert_eq!(node.number("ratio").unwrap(), Some(0.1));
    // What has the type of the variable has it in the file too, as netCDF wants it.
    let range = node.attribute("valid_range").unwrap().unwrap();
    assert_eq!(sciformats_conventions::type_name(&range.element), "int16");
    assert!(!node.has("dims").unwrap());
}

/// What netCDF would take for the end of a text is known before anything is written, and so is what is not UTF-8.
#[test]
fn texts_that_netcdf_does_not_have_are_losses() {
    use sciformats_conventions::sciformats::memory::{Memory, texts};
    use sciformats_conventions::sciformats::{File, Format};
    use sciformats_conventions::write::NetCdfCopy;

    let dir = tempfile::tempdir().unwrap();
    let mut tree = Memory::new(Format::Asdf);
    let root = tree.root();
    tree.array(root, "good", texts(&[2], &["ab", "\u{b5}m"]));
    tree.array(root, "ends", texts(&[2], &["ab", "a\0b"]));
    let mut latin = texts(&[1], &["xyz"]);
    latin.bytes.iter_mut().filter(|byte| **byte == b'z').for_each(|byte| *byte = 0xb5);
    tree.array(root, "latin", latin);
    let data = Dataset::new(File::from(tree));
    let copy = NetCdfCopy::new(&data, &|_| true).unwrap();
    let lost: Vec<&str> = copy.losses().iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(lost, ["/ends", "/latin"], "{:?}", copy.losses());
    assert_eq!(copy.variables(), 2);
    let path = dir.path().join("t.nc");
    copy.create(&path, None).unwrap();
    let copied = Dataset::open(&path).unwrap();
    assert!(copied.variable("/good").is_ok() && copied.variable("/ends").is_err());
}

/// Texts of netCDF cannot be missing.
#[test]
fn missing_texts_are_losses() {
    use sciformats_conventions::write::{AnnData, NetCdfCopy};

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.h5ad");
    let mut file = AnnData::create(&path).unwrap();
    let mut frame = file.frame("obs", &["a", "b"]).unwrap();
    frame.categories("kind", &["", "x"], &[None, Some(0)]).unwrap();
    frame.categories("all", &["", "x"], &[Some(1), Some(0)]).unwrap();
    frame.nullable("text", "nullable-string-array", &["", ""], &[true, false]).unwrap();
    frame.nullable("number", "nullable-integer", &[1, 2], &[true, false]).unwrap();
    file.frame("var", &[]).unwrap();
    file.finish().unwrap();
    let copy = NetCdfCopy::new(&Dataset::open(&path).unwrap(), &|_| true).unwrap();
    let mut lost: Vec<&str> = copy.losses().iter().map(|(path, _)| path.as_str()).collect();
    lost.sort_unstable();
    assert_eq!(lost, ["/obs/kind", "/obs/text"], "{:?}", copy.losses());
}

/// Numbers of attributes keep their type. What netCDF lacks, named datatypes and other types of numbers, is a loss.
#[test]
fn numbers_of_attributes_keep_their_types() {
    use sciformats_conventions::sciformats::hdf5_pure::{Datatype, Writer};
    use sciformats_conventions::type_name;
    use sciformats_conventions::write::NetCdfCopy;

    let dir = tempfile::tempdir().unwrap();
    let (path, to) = (dir.path().join("t.h5"), dir.path().join("t.nc"));
    let mut file = Writer::create(&path).unwrap();
    let x = file.dataset("x").write(&[1.5f64, 2.5]).unwrap();
    file.root().commit("kind", &Datatype::of::<i16>()).unwrap();
    macro_rules! both {
        ($($name:literal: $value:expr),*) => {$(
            file.root().attribute($name, $value).unwrap();
            file.attribute(x, $name, $value).unwrap();
        )*};
    }
    both!("int8": -3i8, "uint8": 200u8, "int16": [1i16, 2], "uint16": 7u16, "int32": 7i32, "uint32": 7u32);
    both!("int64": 7i64, "uint64": 7u64, "float32": [0.1f32, f32::NAN], "float64": 0.1f64);
    file.attribute(x, "_FillValue", -1.0f32).unwrap();
    file.finish().unwrap();
    let data = Dataset::open(&path).unwrap();
    let copy = NetCdfCopy::new(&data, &|_| true).unwrap();
    let lost: Vec<&str> = copy.losses().iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(lost, ["/kind"], "{:?}", copy.losses());
    copy.create(&to, None).unwrap();
    let copied = Dataset::open(&to).unwrap();
    for node in ["/", "/x"].map(|path| copied.node(path).unwrap()) {
        for name in
            ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
        {
            let found = node.attribute(name).unwrap().unwrap();
            assert_eq!(type_name(&found.element), name);
        }
        assert_eq!(node.integers("int8").unwrap(), Some(vec![-3]));
        assert_eq!(node.integers("uint8").unwrap(), Some(vec![200]));
    }
    // The value that means a missing element has the type of the elements.
    let fill = copied.node("/x").unwrap().attribute("_FillValue").unwrap().unwrap();
    assert_eq!(type_name(&fill.element), "float64");
}

/// Attributes whose text or name netCDF does not have are written as far as it can, and each has a line in the list of losses.
#[test]
fn attributes_that_are_changed_are_losses() {
    use sciformats_conventions::sciformats::hdf5_pure::{Name, Writer};
    use sciformats_conventions::sciformats::memory::{Memory, array, texts};
    use sciformats_conventions::sciformats::{File, Format};
    use sciformats_conventions::write::NetCdfCopy;

    let dir = tempfile::tempdir().unwrap();
    let mut tree = Memory::new(Format::Hdf5);
    let root = tree.root();
    let x = tree.array(root, "x", array(&[2], &[1i16, 2]));
    let latin = || {
        let mut latin = texts(&[1], &["xyz"]);
        latin.bytes.iter_mut().filter(|byte| **byte == b'z').for_each(|byte| *byte = 0xb5);
        latin
    };
    for object in [root, x] {
        tree.attribute(object, "good", texts(&[1], &["\u{b5}m"]));
        tree.attribute(object, "latin", latin());
        tree.attribute(object, "a/b", array(&[1], &[1i32]));
        tree.attribute(object, "c/d", array(&[1], &[1i32]));
        tree.attribute(object, "c_d", array(&[1], &[2i32]));
    }
    let data = Dataset::new(File::from(tree));
    let copy = NetCdfCopy::new(&data, &|_| true).unwrap();
    let mut lost: Vec<&str> = copy.losses().iter().map(|(path, _)| path.as_str()).collect();
    lost.sort_unstable();
    assert_eq!(lost, ["/@a/b", "/@c/d", "/@latin", "/x@a/b", "/x@c/d", "/x@latin"], "{:?}", copy.losses());
    let path = dir.path().join("t.nc");
    copy.create(&path, None).unwrap();
    let copied = Dataset::open(&path).unwrap();
    let node = copied.node("/x").unwrap();
    assert_eq!(node.integers("a_b").unwrap(), Some(vec![1]));
    assert_eq!(node.integers("c_d").unwrap(), Some(vec![2]));
    assert_eq!(node.integers("c_d_2").unwrap(), Some(vec![1]));

    // The same for names that are not UTF-8.
    let path = dir.path().join("names.h5");
    let mut file = Writer::create(&path).unwrap();
    let latin = Name::from(&b"caf\xe9"[..]);
    file.root().attribute(&latin, 1).unwrap();
    file.dataset(&latin).write(&[1]).unwrap();
    file.finish().unwrap();
    let data = Dataset::open(&path).unwrap();
    let copy = NetCdfCopy::new(&data, &|_| true).unwrap();
    let mut lost: Vec<&str> = copy.losses().iter().map(|(path, _)| path.as_str()).collect();
    lost.sort_unstable();
    assert_eq!(lost, [r"/@caf\xe9", r"/caf\xe9"], "{:?}", copy.losses());
    copy.create(dir.path().join("names.nc"), None).unwrap();
}

/// Attributes of netCDF are single values and lists of numbers or texts. What becomes one of them is told.
#[test]
fn attributes_that_become_others_are_losses() {
    use sciformats_conventions::sciformats::memory::{Memory, MemoryArray, array, texts};
    use sciformats_conventions::sciformats::{ArrayInfo, ElementType, File, Format, Name, Value};
    use sciformats_conventions::write::NetCdfCopy;

    let dir = tempfile::tempdir().unwrap();
    let mut tree = Memory::new(Format::Hdf5);
    let root = tree.root();
    let x = tree.array(root, "x", array(&[2], &[1i16, 2]));
    let of = |element, shape: &[u64], bytes: &[u8]| {
        let info = ArrayInfo::new(element, shape);
        MemoryArray { info, bytes: bytes.to_vec() }
    };
    let colours = [("red", 0), ("blue", 1)].map(|(name, number)| (Name::from(name), number)).to_vec();
    let colour = ElementType::Enum { base: Box::new(ElementType::Int(1)), members: colours };
    let pair =
        ElementType::Compound(vec![("a".into(), ElementType::Int(1)), ("b".into(), ElementType::Int(1))]);
    tree.attribute(x, "list", array(&[3], &[1i32, 2, 3]));
    tree.attribute(x, "matrix", array(&[2, 1], &[1i32, 2]));
    tree.attribute(x, "words", texts(&[1, 2], &["a", "b"]));
    tree.attribute(x, "colour", of(colour.clone(), &[], &[1]));
    tree.attribute(x, "colours", of(colour, &[1, 2], &[1, 0]));
    tree.attribute(x, "pair", of(pair, &[], &[3, 4]));
    tree.attribute(x, "truth", of(ElementType::Bool, &[], &[1]));
    let copy = NetCdfCopy::new(&Dataset::new(File::from(tree)), &|_| true).unwrap();
    let mut lost: Vec<(&str, &str)> =
        copy.losses().iter().map(|(path, why)| (path.as_str(), why.split(' ').nth(2).unwrap())).collect();
    lost.sort_unstable();
    let expected = [
        ("/x@colour", "an"),
        ("/x@colours", "an"),
        ("/x@colours", "dimensions,"),
        ("/x@matrix", "dimensions,"),
        ("/x@pair", "type"),
        ("/x@truth", "values,"),
        ("/x@words", "dimensions,"),
    ];
    assert_eq!(lost, expected, "{:?}", copy.losses());
    let path = dir.path().join("t.nc");
    copy.create(&path, None).unwrap();
    let x = Dataset::open(&path).unwrap().node("/x").unwrap();
    assert_eq!(x.integers("matrix").unwrap(), Some(vec![1, 2]));
    assert_eq!(x.integers("colours").unwrap(), Some(vec![1, 0]));
    assert_eq!(x.integers("truth").unwrap(), Some(vec![1]));
    assert_eq!(x.text("pair").unwrap().as_deref(), Some("{\"a\":3,\"b\":4}"));

    // The same for values of a tree, of which none is rounded or flattened.
    let mut tree = Memory::new(Format::Asdf);
    let root = tree.root();
    tree.array(root, "x", array(&[1], &[1i16]));
    let large = || Value::from((1i64 << 53) + 1);
    let one = || Value::List(vec![Value::from(1)]);
    for (name, value) in [
        ("float", Value::Float(0.5)),
        ("large", large()),
        ("floats", Value::List(vec![Value::from(1), Value::Float(0.5)])),
        ("mixed", Value::List(vec![large(), Value::Float(0.5)])),
        ("nested", Value::List(vec![one(), one()])),
        ("none", Value::Null),
        ("truth", Value::Bool(true)),
    ] {
        tree.value(root, name, value);
    }
    let copy = NetCdfCopy::new(&Dataset::new(File::from(tree)), &|_| true).unwrap();
    let mut lost: Vec<&str> = copy.losses().iter().map(|(path, _)| path.as_str()).collect();
    lost.sort_unstable();
    assert_eq!(lost, ["/mixed", "/nested", "/none", "/truth"], "{:?}", copy.losses());
    let path = dir.path().join("values.nc");
    copy.create(&path, None).unwrap();
    let root = Dataset::open(&path).unwrap().node("/").unwrap();
    assert_eq!(root.text("mixed").unwrap().as_deref(), Some("[9007199254740993,0.5]"));
    assert_eq!(root.text("nested").unwrap().as_deref(), Some("[[1],[1]]"));
    assert_eq!(root.integers("large").unwrap(), Some(vec![(1 << 53) + 1]));
}

/// Each variable, dimension and attribute that netCDF has under another name is told, and none takes the name of another one.
#[test]
fn names_that_change_are_losses() {
    use sciformats_conventions::sciformats::hdf5_pure::Writer;
    use sciformats_conventions::write::NetCdfCopy;

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("names.h5");
    let mut file = Writer::create(&path).unwrap();
    for (group, length) in [("", 3u64), ("a/", 4)] {
        let values: Vec<f64> = (0..length).map(|at| at as f64).collect();
        let x = file.dataset(&format!("{group}x")).write(&values).unwrap();
        file.make_scale(x, "x").unwrap();
        let y = file.dataset(&format!("{group}y")).write(&values).unwrap();
        file.attach_scale(y, 0, x).unwrap();
    }
    for name in ["a_y", "-w", "t ", "t", "c\u{1}", "good"] {
        file.dataset(name).attribute("b ", 1).attribute("b", 2).write(&[1i16]).unwrap();
    }
    file.root().attribute("source_format", "mine").unwrap();
    let byte = file.dataset("byte").attribute("valid_range", [0i32, 300]).write(&[1i8]).unwrap();
    file.attribute(byte, "valid_max", 100i32).unwrap();
    file.finish().unwrap();

    let copy = NetCdfCopy::new(&Dataset::open(&path).unwrap(), &|_| true).unwrap();
    let mut lost: Vec<String> = copy
        .losses()
        .iter()
        .map(|(path, what)| format!("{path} {}", what.split(", ").next().unwrap()))
        .collect();
    lost.retain(|line| !line.contains("@b "));
    lost.sort();
    let expected = [
        "/-w is called _-w",
        "/@source_format is called source_format_2",
        "/a/x has the dimension \"x\"",
        "/a/y is called a_y_2",
        "/c\u{1} is called c_",
        "/t  is called t_2",
    ];
    assert_eq!(lost, expected, "{:?}", copy.losses());
    let new = dir.path().join("names.nc");
    copy.create(&new, None).unwrap();
    let copied = Dataset::open(&new).unwrap();
    let node = copied.node("/byte").unwrap();
    assert_eq!(node.integers("valid_range").unwrap(), Some(vec![0, 300]));
    assert_eq!(
        sciformats_conventions::type_name(&node.attribute("valid_max").unwrap().unwrap().element),
        "int8"
    );
    let node = copied.node("/t_2").unwrap();
    assert_eq!((node.integers("b").unwrap(), node.integers("b_2").unwrap()), (Some(vec![2]), Some(vec![1])));
    assert_eq!(copied.variable("/y").unwrap().dimensions[0].name.as_deref(), Some("x"));
}

/// A frame of another size than frame 0 has the defaults of the schema, and not the values of other particles.
#[test]
#[cfg(feature = "gsd")]
fn frames_of_another_size_inherit_nothing() {
    use sciformats_conventions::sciformats::gsd_rs::hoomd::{Frame, TrajectoryWriter};
    use sciformats_conventions::write::NetCdfCopy;

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.gsd");
    let mut writer = TrajectoryWriter::create(&path, "a test").unwrap();
    for (step, n) in [2u32, 3, 2].into_iter().enumerate() {
        let mut frame = Frame::new(n);
        frame.particles.types = vec!["A".into(), "gr\u{f6}\u{df}e".into()];
        frame.particles.position = (0..n * 3).map(|at| at as f32).collect();
        if n == 2 {
            frame.particles.charge = [0.5f32, -0.5].into();
            frame.particles.mass = [4.0f32, 8.0].into();
            frame.particles.orientation = [0.0f32, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0].into();
        }
        if step == 2 {
            frame.particles.body = [7, 8].into();
        }
        writer.append(&frame).unwrap();
    }
    writer.finish().unwrap();
    let data = Dataset::open(&path).unwrap();
    let names = data.variable("/frames/0/particles/types").unwrap().read().unwrap().cells().unwrap();
    assert_eq!(names, [Some("A".to_owned()), Some("gr\u{f6}\u{df}e".to_owned())]);

    let copy = NetCdfCopy::new(&data, &|_| true).unwrap();
    let target = dir.path().join("run.nc");
    copy.create(&target, None).unwrap();
    let copied = Dataset::open(&target).unwrap();
    let shown = |name: &str| {
        let variable = copied.variable(&format!("/particles_{name}")).unwrap();
        let cells = variable.read().unwrap().cells().unwrap();
        let cells: Vec<String> = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "-".into())).collect();
        cells.join(" ")
    };
    assert_eq!(shown("N"), "2 3 2");
    assert_eq!(shown("charge"), "0.5 -0.5 - 0.0 0.0 0.0 0.5 -0.5 -");
    assert_eq!(shown("mass"), "4.0 8.0 - 1.0 1.0 1.0 4.0 8.0 -");
    assert_eq!(shown("body"), "-1.0 -1.0 - -1.0 -1.0 -1.0 7.0 8.0 -");
    let rows = "0.0 1.0 0.0 0.0 0.0 0.0 1.0 0.0 - - - -";
    let default = "1.0 0.0 0.0 0.0 1.0 0.0 0.0 0.0 1.0 0.0 0.0 0.0";
    assert_eq!(shown("orientation"), format!("{rows} {default} {rows}"));
    assert_eq!(shown("types"), "A gr\u{f6}\u{df}e");
}

/// Dates of a time zone are dates in UTC, and nanoseconds stay, or are told.
#[test]
fn dates_stay_as_fine_as_they_are() {
    use sciformats_conventions::sciformats::memory::{Memory, array, texts};
    use sciformats_conventions::sciformats::{File, Format};
    use sciformats_conventions::write::NetCdfCopy;

    let dir = tempfile::tempdir().unwrap();
    let mut tree = Memory::new(Format::Hdf5);
    let root = tree.root();
    tree.attribute(root, "PYTABLES_FORMAT_VERSION", texts(&[], &["2.1"]));
    tree.attribute(root, "Conventions", texts(&[], &["CF-1.11"]));
    let second = 1_000_000_000_000_000_000i64;
    for (name, zone, counts) in
        [("zoned", "Europe/Berlin", [second, i64::MIN]), ("fine", "", [second + 1, -1])]
    {
        let group = tree.group(root, name);
        tree.attribute(group, "pandas_type", texts(&[], &["series"]));
        tree.array(group, "index", array::<i64>(&[2], &[0, 1]));
        let values = tree.array(group, "values", array::<i64>(&[2], &counts));
        tree.attribute(values, "value_type", texts(&[], &["datetime64[ns]"]));
        tree.attribute(values, "tz", texts(&[], &[zone]));
    }
    let far = tree.array(root, "far", array::<i64>(&[1], &[1]));
    tree.attribute(far, "units", texts(&[], &["nanoseconds since 0001-01-01"]));
    let copy = NetCdfCopy::new(&Dataset::new(File::from(tree)), &|_| true).unwrap();
    let lost: Vec<&str> = copy.losses().iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(lost, ["/far"], "{:?}", copy.losses());
    let target = dir.path().join("dates.nc");
    copy.create(&target, None).unwrap();
    let copied = Dataset::open(&target).unwrap();
    let shown = |name: &str| {
        let variable = copied.variable(name).unwrap();
        let cells = variable.read().unwrap().cells().unwrap();
        let cells: Vec<String> = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "-".into())).collect();
        (variable.units.unwrap_or_default(), cells.join(" "))
    };
    let told = |unit: &str, dates: &str| (format!("{unit} since 1970-01-01"), dates.to_owned());
    assert_eq!(shown("/zoned_values"), told("microseconds", "2001-09-09T01:46:40 -"));
    let fine = "2001-09-09T01:46:40.000000001 1969-12-31T23:59:59.999999999";
    assert_eq!(shown("/fine_values"), told("nanoseconds", fine));
    assert_eq!(shown("/far"), told("microseconds", "0001-01-01T00:00:00"));
}

/// What means a missing element is no element.
#[test]
fn fill_values_are_no_elements() {
    use sciformats_conventions::sciformats::memory::{Memory, array};
    use sciformats_conventions::sciformats::{File, Format};
    use sciformats_conventions::write::NetCdfCopy;

    let dir = tempfile::tempdir().unwrap();
    let mut tree = Memory::new(Format::Gsd);
    let frames = tree.group(tree.root(), "frames");
    let all: Vec<u8> = (0..=255).collect();
    for (at, mask, full) in [("0", &[255u8, 0][..], &all[..]), ("1", &[7], &[1])] {
        let frame = tree.group(frames, at);
        tree.array(frame, "mask", array::<u8>(&[mask.len() as u64], mask));
        tree.array(frame, "full", array::<u8>(&[full.len() as u64], full));
    }
    let copy = NetCdfCopy::new(&Dataset::new(File::from(tree)), &|_| true).unwrap();
    let lost: Vec<&str> = copy.losses().iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(lost, ["/frames/*/full"], "{:?}", copy.losses());
    let target = dir.path().join("masks.nc");
    copy.create(&target, None).unwrap();
    let mask = Dataset::open(&target).unwrap().variable("/mask").unwrap();
    let cells = mask.read().unwrap().cells().unwrap();
    assert_eq!(cells.iter().flatten().collect::<Vec<_>>(), ["255.0", "0.0", "7.0"]);
}

/// The attribute that says which elements are missing stays beside elements that are copied as they are.
#[test]
fn missing_elements_stay_missing() {
    use sciformats_conventions::sciformats::memory::{Memory, array};
    use sciformats_conventions::sciformats::{File, Format};
    use sciformats_conventions::write::NetCdfCopy;

    let dir = tempfile::tempdir().unwrap();
    let mut tree = Memory::new(Format::Hdf5);
    let root = tree.root();
    let x = tree.array(root, "x", array(&[2], &[1i16, -999]));
    tree.attribute(x, "_FillValue", array::<i16>(&[1], &[-999]));
    let y = tree.array(root, "y", array(&[2], &[0.5f32, -99.9]));
    tree.attribute(y, "_FillValue", array::<f32>(&[], &[-99.9]));
    let z = tree.array(root, "z", array(&[2], &[1u8, 2]));
    tree.attribute(z, "_FillValue", array::<i16>(&[1], &[-1]));
    let data = Dataset::new(File::from(tree));
    assert!(data.variable("/x").unwrap().is_stored());
    let copy = NetCdfCopy::new(&data, &|_| true).unwrap();
    let lost: Vec<&str> = copy.losses().iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(lost, ["/z@_FillValue"], "{:?}", copy.losses());
    let target = dir.path().join("fills.nc");
    copy.create(&target, None).unwrap();
    let copied = Dataset::open(&target).unwrap();
    for (name, first, kind) in [("/x", "1.0", "int16"), ("/y", "0.5", "float32")] {
        let variable = copied.variable(name).unwrap();
        assert_eq!(variable.read().unwrap().cells().unwrap(), [Some(first.to_owned()), None], "{name}");
        let fill = variable.node().attribute("_FillValue").unwrap().unwrap();
        assert_eq!(sciformats_conventions::type_name(&fill.element), kind);
    }
}

#[test]
fn widened_elements_are_told_and_large_integers_keep_their_digits() {
    use sciformats_conventions::sciformats::memory::{Memory, MemoryArray, array};
    use sciformats_conventions::sciformats::{ArrayInfo, ElementType, File, Format};
    use sciformats_conventions::write::NetCdfCopy;

    let dir = tempfile::tempdir().unwrap();
    let mut tree = Memory::new(Format::Asdf);
    let root = tree.root();
    let bytes = vec![0, 0x3c, 0, 0xc0];
    tree.array(root, "half", MemoryArray { info: ArrayInfo::new(ElementType::F16, [2]), bytes });
    let x = tree.array(root, "x", array(&[1], &[7u64]));
    tree.attribute(x, "id", array::<u64>(&[2], &[u64::MAX, 1]));
    tree.attribute(x, "_FillValue", array::<u64>(&[], &[u64::MAX - 1]));
    let copy = NetCdfCopy::new(&Dataset::new(File::from(tree)), &|_| true).unwrap();
    assert_eq!(
        copy.losses(),
        [("/half".to_owned(), "has elements of type float16, which become float32".to_owned())]
    );
    let target = dir.path().join("wide.nc");
    copy.create(&target, None).unwrap();
    let copied = Dataset::open(&target).unwrap();
    assert_eq!(copied.variable("/half").unwrap().read().unwrap().numbers().unwrap(), [1.0, -2.0]);
    let x = copied.variable("/x").unwrap();
    for (name, numbers) in [("id", &[u64::MAX, 1][..]), ("_FillValue", &[u64::MAX - 1])] {
        let found = x.node().attribute(name).unwrap().unwrap();
        assert_eq!(found.element, ElementType::UInt(8), "{name}");
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        assert_eq!(found.data.unwrap(), bytes, "{name}");
    }
}
