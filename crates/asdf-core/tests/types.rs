//! The types of nodes: those of data models are kept, and errors say what is found instead of what is expected.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use asdf_core::{Asdf, ByteOrder, Compression, Document, Error, NewArray, ScalarType, Storage, Tree};

const MODEL: &str = "#ASDF 1.0.0
#ASDF_STANDARD 1.5.0
%YAML 1.1
%TAG ! tag:stsci.edu:asdf/
---
roman: !<asdf://stsci.edu/datamodels/roman/tags/wfi_image-1.0.0>
  meta: !<asdf://stsci.edu/datamodels/roman/tags/common-1.0.0>
    telescope: !<asdf://stsci.edu/datamodels/roman/tags/telescope-1.0.0> ROMAN
    exposure: {type: WFI_IMAGE, time: 30.0}
    count: !!int 3
  steps:
  - !core/software-1.0.0 {name: flat, version: '1'}
  - !core/software-1.0.0 {name: dark, version: '2'}
  data: !core/ndarray-1.0.0 [1, 2, 3]
  z: !core/complex-1.0.0 1+2j
...
";

fn tag(tree: &Tree, path: &str) -> Option<String> {
    tree.tag(tree.get(path).unwrap()).map(|tag| tag.rsplit('/').next().unwrap().to_owned())
}

fn changed(change: impl FnOnce(&mut Document)) -> Asdf {
    let mut document = Document::from_file(Asdf::from_bytes(MODEL).unwrap());
    change(&mut document);
    Asdf::from_bytes(document.to_bytes().unwrap()).unwrap()
}

#[test]
fn a_data_model_keeps_its_types() {
    #[derive(serde::Serialize)]
    struct Meta {
        telescope: String,
        count: u32,
        exposure: BTreeMap<String, f64>,
    }
    let exposure = BTreeMap::from([("time".to_owned(), 60.0)]);
    let meta = Meta { telescope: "ROMAN-2".into(), count: 4, exposure };
    let file = changed(|document| {
        document.set("roman", &BTreeMap::from([("meta", &meta)])).unwrap();
    });
    assert_eq!(tag(file.tree(), "roman").as_deref(), Some("wfi_image-1.0.0"));
    assert_eq!(tag(file.tree(), "roman/meta").as_deref(), Some("common-1.0.0"));
    assert_eq!(tag(file.tree(), "roman/meta/telescope").as_deref(), Some("telescope-1.0.0"));
    assert_eq!(tag(file.tree(), "roman/meta/count"), None); // a type of YAML
    assert_eq!(file.tree().get_as::<u32>("roman/meta/count").unwrap(), 4);
    assert_eq!(tag(file.tree(), "roman/meta/exposure"), None);
    assert_eq!(file.tree().get_as::<f64>("roman/meta/exposure/time").unwrap(), 60.0);
}

#[test]
fn items_of_one_type_keep_it_however_many_they_are() {
    let step = |name: &str| BTreeMap::from([("name", name.to_owned()), ("version", "3".to_owned())]);
    let steps = ["flat", "dark", "jump"].map(step);
    let file = changed(|document| {
        document.set("roman/steps", &steps).unwrap();
    });
    for step in ["roman/steps/0", "roman/steps/1", "roman/steps/2"] {
        assert_eq!(tag(file.tree(), step).as_deref(), Some("software-1.0.0"));
    }
}

#[test]
fn a_tag_goes_where_it_would_be_wrong_and_where_the_caller_sets_one() {
    let file = changed(|document| {
        document.set("roman/data", &BTreeMap::from([("mean", 2.0)])).unwrap();
        document.set("roman/z", "none").unwrap();
        let meta = document.set("roman/meta", &BTreeMap::from([("a", 1)])).unwrap();
        document.tree_mut().set_tag(meta, "asdf://example.org/tags/mine-1.0.0");
    });
    assert_eq!(tag(file.tree(), "roman/data"), None);
    assert_eq!(tag(file.tree(), "roman/z"), None);
    assert_eq!(tag(file.tree(), "roman/meta").as_deref(), Some("mine-1.0.0"));
    let file = changed(|document| {
        document.set("roman/data", &[4, 5]).unwrap();
        document.set("roman/z", &1.5).unwrap();
        document.set("roman/meta/telescope", &[1]).unwrap(); // of another kind
    });
    assert_eq!(file.array("roman/data").unwrap().read::<i64>().unwrap(), [4, 5]);
    assert_eq!(tag(file.tree(), "roman/z").as_deref(), Some("complex-1.0.0"));
    assert_eq!(tag(file.tree(), "roman/meta/telescope"), None);
}

#[test]
fn what_is_no_array_is_said_and_the_file_is_not_blamed() {
    let file = Asdf::from_bytes(MODEL).unwrap();
    for (path, found) in [
        ("roman/meta/exposure", "a mapping with 2 keys"),
        ("roman/meta/exposure/type", "a text"),
        ("roman/meta/exposure/time", "a number"),
        ("roman/steps", "a sequence of 2 items"),
        (
            "roman/meta",
            "a mapping with 3 keys and the tag asdf://stsci.edu/datamodels/roman/tags/common-1.0.0",
        ),
    ] {
        let error = file.array(path).unwrap_err();
        assert_eq!(error.to_string(), format!("{path:?} is {found}, not an array"));
        assert!(matches!(error, Error::WrongType { expected: "an array", .. }), "{error:?}");
    }
    // A node that has the tag of an array but does not describe one is a fault of the file.
    let bad = MODEL.replace("[1, 2, 3]", "{datatype: int8, shape: [3]}");
    let error = Asdf::from_bytes(bad).unwrap().array("roman/data").unwrap_err();
    assert!(matches!(error, Error::Malformed { structure: "ndarray", .. }), "{error}");
}

#[test]
fn a_path_that_is_not_there_names_those_that_are_near() {
    let file = Asdf::from_bytes(MODEL).unwrap();
    let error = file.array("roman/dta").unwrap_err();
    assert_eq!(error.to_string(), r#"no node named "roman/dta" (did you mean "roman/data"?)"#);
    let error = file.tree().get_as::<f64>("exposure/time").unwrap_err();
    assert!(error.to_string().ends_with(r#"(did you mean "roman/meta/exposure/time"?)"#), "{error}");
    let Err(Error::NotFound { name, nearest, .. }) = file.array("spectrum") else {
        panic!("there is no spectrum")
    };
    assert_eq!((&*name, nearest.len()), ("spectrum", 0));
}

#[test]
fn levels_that_do_not_exist_are_refused_when_they_are_set() {
    let mut document = Document::new();
    for (compression, level) in [
        (Compression::Zlib, 10),
        (Compression::Bzp2, 99),
        (Compression::Zstd, 99),
        (Compression::Blosc2, 10),
        (Compression::Lz4, 3),
        (Compression::None, 3),
    ] {
        let array =
            NewArray::new(&[0.5; 100], &[100]).unwrap().with_compression(compression).with_level(level);
        let refused = document.set_array("a", array).unwrap_err();
        assert!(
            matches!(refused, Error::Usage { argument: "level", .. }),
            "{compression:?} {level}: {refused}"
        );
        assert!(document.recompress(compression, Some(level)).is_err(), "{compression:?} {level}");
    }
    assert_eq!((document.block_count(), document.tree().get("a")), (0, None));
}

#[test]
fn a_number_masks_exactly_the_integers_that_equal_it_and_the_floats_nearest_to_it() {
    let tree = |datatype: &str, mask: &str, data: &str| {
        let array = format!("a: !core/ndarray-1.0.0 {{datatype: {datatype}, mask: {mask}, data: {data}}}");
        let file = Asdf::from_bytes(MODEL.split("roman").next().unwrap().to_owned() + &array + "\n...\n");
        file.unwrap().array("a").unwrap().read_mask().unwrap().unwrap()
    };
    let large = "[9007199254740992, 9007199254740993, 9007199254740994]";
    for datatype in ["int64", "uint64"] {
        assert_eq!(tree(datatype, "9007199254740993", large), [0, 1, 0]);
        assert_eq!(tree(datatype, "9007199254740992", large), [1, 0, 0]);
        assert_eq!(tree(datatype, "9007199254740992.0", large), [1, 0, 0]);
        assert_eq!(tree(datatype, ".nan", large), [0, 0, 0]);
        assert_eq!(tree(datatype, ".inf", large), [0, 0, 0]);
    }
    let largest = "[18446744073709551615, 18446744073709551614, 0]";
    assert_eq!(tree("uint64", "18446744073709551615", largest), [1, 0, 0]);
    assert_eq!(tree("uint64", "18446744073709551616", largest), [0, 0, 0]);
    assert_eq!(tree("int32", "1.5", "[1, 2]"), [0, 0]);
    // A number of the tree is compared with floats in their type, as the library for Python does.
    assert_eq!(tree("float32", "0.1", "[0.1, 0.25]"), [1, 0]);
    assert_eq!(tree("float16", "-0.1", "[-0.1, .nan]"), [1, 0]);
    assert_eq!(tree("float32", "1.0e+300", "[.inf, 1.0]"), [0, 0]);
    assert_eq!(tree("float32", ".inf", "[.inf, 1.0]"), [1, 0]);
    assert_eq!(tree("float64", "9007199254740993", "[9007199254740992.0, 1.0]"), [1, 0]);
}

#[test]
fn text_that_is_not_ascii_is_not_written_as_such_into_the_tree() {
    let bytes = "Vega\0\0Bételg".as_bytes().to_vec();
    let made = |storage| {
        let array = NewArray::from_bytes(ScalarType::Ascii(6), ByteOrder::Little, &[2], bytes[..12].to_vec());
        let mut document = Document::new();
        document.set_array("stars", array.unwrap().with_storage(storage)).map(|_| document)
    };
    let error = made(Storage::Inline).unwrap_err();
    assert_eq!(error.to_string(), "element 1 is \"Bétel\", which ascii cannot hold");
    // In a block it stays as it is.
    let file = Asdf::from_bytes(made(Storage::Block).unwrap().to_bytes().unwrap()).unwrap();
    assert_eq!(file.array("stars").unwrap().read_strings().unwrap(), ["Vega", "Bétel"]);
}
