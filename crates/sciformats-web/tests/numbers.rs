//! Numbers that JavaScript lacks.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hdf5_pure::{CreateOptions, Writer};
use sciformats_web::session::Session;
use serde_json::{Value, json};

/// Opens a file, and returns the JSON of an answer about it.
fn asked(bytes: Vec<u8>, mut request: Value) -> Value {
    let mut session = Session::new();
    let file = session.whole(bytes);
    session.call(json!({ "op": "open", "file": file }).to_string().as_bytes());
    request["file"] = file.into();
    let (_, answer) = session.call(request.to_string().as_bytes());
    serde_json::from_slice(&answer.json).unwrap()
}

#[test]
fn integers_of_attributes_are_texts_if_they_are_no_safe_numbers() {
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    let last = (1i64 << 53) - 1;
    file.root().attribute("a", [last, -last, last + 2, i64::MIN]).unwrap();
    file.root().attribute("b", u64::MAX).unwrap();
    file.root().attribute("c", [0.5, 1e300]).unwrap();
    let found =
        asked(file.into_bytes().unwrap(), json!({ "op": "attributes", "path": "/", "for": "programs" }));
    let values: Vec<&Value> =
        found["attributes"].as_array().unwrap().iter().map(|each| &each["values"]).collect();
    assert_eq!(*values[0], json!([last, -last, "9007199254740993", "-9223372036854775808"]));
    assert_eq!(*values[1], json!(["18446744073709551615"]));
    assert_eq!(*values[2], json!([0.5, 1e300]));
}

#[test]
fn so_are_those_of_a_tree() {
    let tree = "#ASDF 1.0.0\n#ASDF_STANDARD 1.5.0\n%YAML 1.1\n--- !<tag:stsci.edu:asdf/core/asdf-1.1.0>\n\
                small: -7\nlarge: 9007199254740993\nhuge: -123456789012345678901234567890\n...\n";
    for (path, value) in [
        ("/small", json!(-7)),
        ("/large", json!("9007199254740993")),
        ("/huge", json!("-123456789012345678901234567890")),
    ] {
        let found = asked(tree.into(), json!({ "op": "describe", "path": path }));
        assert_eq!(found["value"], value, "{path}: {found}");
    }
}
