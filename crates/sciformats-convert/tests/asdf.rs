//! Reads small ASDF files, which are created here, through the common view.

#![cfg(feature = "asdf")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::ops::ControlFlow;

use sciformats::source::Members;
use sciformats::{ElementType, Error, File, Object, Slab, Value};
use sciformats_convert::{manifest, verify};

const HEAD: &str = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n";

fn open(tree: &str) -> File {
    let bytes = format!("{HEAD}--- {tree}\n...\n").into_bytes();
    File::from_bytes(bytes).unwrap()
}

/// The lines of the manifest without the first one.
fn lines(file: &File) -> Vec<String> {
    let mut out = Vec::new();
    manifest::write(file, &mut out).unwrap();
    String::from_utf8(out).unwrap().lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn scalars_and_keys() {
    let file = open(
        "{n: ~, t: yes, i: 0x1F, big: 340282366920938463463374607431768211456, f: 1.5, inf: -.inf, s: '1', \
         d: 2001-12-14, bad: 2001-02-30, own: !x/y 15, bin: !!binary aGk=, a/b~: 1, 7: seven, true: x}",
    );
    assert_eq!(
        lines(&file),
        [
            r#"{"path":"/","kind":"group"}"#,
            r#"{"path":"/7","kind":"value","value":"seven"}"#,
            r#"{"path":"/a~1b~0","kind":"value","value":1}"#,
            r#"{"path":"/bad","kind":"value","error":"malformed scalar at offset 0xc0: text is a day or a time that does not exist"}"#,
            r#"{"path":"/big","kind":"value","value":340282366920938463463374607431768211456}"#,
            r#"{"path":"/bin","kind":"value","value":"aGk="}"#,
            r#"{"path":"/d","kind":"value","value":"2001-12-14"}"#,
            r#"{"path":"/f","kind":"value","value":1.5}"#,
            r#"{"path":"/i","kind":"value","value":31}"#,
            r#"{"path":"/inf","kind":"value","value":"-Infinity"}"#,
            r#"{"path":"/n","kind":"value","value":null}"#,
            r#"{"path":"/own","kind":"value","value":"15"}"#,
            r#"{"path":"/s","kind":"value","value":"1"}"#,
            r#"{"path":"/t","kind":"value","value":true}"#,
            r#"{"path":"/true","kind":"value","value":"x"}"#,
        ]
    );
    assert!(matches!(file.object("/a~1b~0").unwrap(), Object::Value(Value::Integer(_))));
    assert!(file.object("/7").is_ok() && file.object("/8").is_err() && file.object("/7/0").is_err());
}

#[test]
fn the_empty_key_has_a_path_of_its_own() {
    let file = open("{k: {'': {k2: 1}, k2: 2, ~2: 3}, '': 4}");
    let found = lines(&file);
    assert_eq!(
        found,
        [
            r#"{"path":"/","kind":"group"}"#,
            r#"{"path":"/k","kind":"group"}"#,
            r#"{"path":"/~2","kind":"value","value":4}"#,
            r#"{"path":"/k/k2","kind":"value","value":2}"#,
            r#"{"path":"/k/~02","kind":"value","value":3}"#,
            r#"{"path":"/k/~2","kind":"group"}"#,
            r#"{"path":"/k/~2/k2","kind":"value","value":1}"#,
        ]
    );
    for line in &found {
        let path = line.split('"').nth(3).unwrap();
        assert!(file.object(path).is_ok(), "{path}");
    }
}

#[test]
fn keys_without_a_name_of_their_own() {
    for (tree, message) in [
        ("{a: 1, [b]: 2}", "a key that is a mapping or a sequence is not supported"),
        ("{a: 1, 1: 2, '1': 3}", "a mapping with keys that only differ in their types is not supported"),
    ] {
        let lines = lines(&open(tree));
        assert!(lines.iter().any(|line| line.contains(r#""path":"/a""#)));
        assert!(lines.iter().any(|line| line.contains(message)), "{lines:?}");
    }
}

#[test]
fn one_object_at_several_places() {
    let file = open("{a: &a {x: &x 1, self: *a}, b: *a, c: *x, m: {<<: *a}, l: [&s [], *s]}");
    let links: Vec<String> = lines(&file).into_iter().filter(|line| line.contains("hardlink")).collect();
    assert_eq!(
        links,
        [
            r#"{"path":"/b","kind":"hardlink","target":"/a"}"#,
            r#"{"path":"/a/self","kind":"hardlink","target":"/a"}"#,
            r#"{"path":"/l/1","kind":"hardlink","target":"/l/0"}"#,
            r#"{"path":"/m/self","kind":"hardlink","target":"/a"}"#,
        ]
    );
    assert_eq!(file.resolve("/b/self/self/x").unwrap(), file.resolve("/c").unwrap());
}

#[test]
fn sequences_in_two_orders() {
    let file = open("[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]");
    let root = file.source().root();
    let names =
        |members: Members<'_>| -> Vec<String> { members.map(|m| m.unwrap().name.to_string()).collect() };
    let bytes = names(file.source().members(root).unwrap());
    assert_eq!(bytes, ["0", "1", "10", "2", "3", "4", "5", "6", "7", "8", "9"]);
    let people = file.source().listing(root).unwrap().map(|listed| Ok(listed.unwrap().member));
    assert_eq!(names(Box::new(people)).last().map(String::as_str), Some("10"));
}

#[test]
fn arrays_in_the_tree_and_their_masks() {
    let file = open(
        "{a: !core/ndarray-1.1.0 [[1, ~], [3, 4]], t: !core/ndarray-1.1.0 [a, bcd], \
         m: !core/ndarray-1.1.0 {data: [5, 6], datatype: int16, mask: 6}, bad: !core/ndarray-1.1.0 {source: 9, \
         shape: [1], datatype: int8}}",
    );
    let array = file.array("/a").unwrap();
    assert_eq!(array.shape(), [2, 2]);
    assert_eq!(array.read::<i64>().unwrap()[3], 4);
    let mask = |path: &str| {
        let mut attributes = file.source().attributes(file.resolve(path).unwrap()).unwrap();
        let mask = attributes.next()?.unwrap();
        assert!(attributes.next().is_none() && mask.name == "mask".into());
        let value = mask.value.unwrap();
        Some((value.element, value.shape.unwrap(), value.data.unwrap()))
    };
    assert_eq!(mask("/a"), Some((ElementType::Bool, vec![2, 2], vec![0, 1, 0, 0])));
    assert_eq!(mask("/m"), Some((ElementType::Bool, vec![2], vec![0, 1])));
    assert_eq!((mask("/t"), mask("/")), (None, None));
    let mut out = Vec::new();
    file.source().read(file.resolve("/t").unwrap(), &Slab::all(&[2]).unwrap(), &mut out).unwrap();
    assert_eq!(out, b"\x01\0\0\0\0\0\0\0a\x03\0\0\0\0\0\0\0bcd");
    // The members of an array's description are not objects.
    assert!(file.resolve("/m/data").is_err() && file.source().members(array.id()).is_err());
    let summary = verify::verify(&file, &mut |finding| assert_eq!(finding.path.as_deref(), Some("/bad")));
    assert_eq!(summary.findings, 1);
}

#[test]
fn few_bytes_do_not_become_many() {
    let file = open("!core/ndarray-1.1.0 {data: [['']], datatype: [ascii, 0], shape: [1, 1]}");
    assert_eq!(file.array("/").unwrap().info().elements(), Some(1));
    let mut bytes = format!(
        "{HEAD}--- !core/ndarray-1.1.0 {{source: 0, shape: [4611686018427387904], datatype: [ascii, 0]}}\n...\n"
    )
    .into_bytes();
    bytes.extend(b"\xD3BLK\0\x30");
    bytes.extend([0; 48]);
    let file = File::from_bytes(bytes).unwrap();
    assert!(matches!(file.array("/").unwrap_err(), Error::LimitExceeded { .. }));
    let mut names = Vec::new();
    file.source()
        .structures(&mut |structure| {
            names.push(structure.name.into_owned());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(names, ["header", "tree", "block", "block header", "block data"]);
}
