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

/// Opens a file with one array, and returns the JSON and the elements of an answer about it.
fn answered(numbers: &[f64], shape: &[u64], mut request: Value) -> (Value, Vec<u8>) {
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    file.dataset("u").shape(shape).write(numbers).unwrap();
    let mut session = Session::new();
    let number = session.whole(file.into_bytes().unwrap());
    session.call(json!({ "op": "open", "file": number }).to_string().as_bytes());
    request["file"] = number.into();
    request["path"] = "/u".into();
    let (_, answer) = session.call(request.to_string().as_bytes());
    (serde_json::from_slice(&answer.json).unwrap(), answer.data)
}

fn counts(data: &[u8]) -> Vec<u32> {
    data.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect()
}

#[test]
fn a_histogram_reaches_from_the_lowest_to_the_highest_number() {
    let most = f64::MAX;
    let (found, data) =
        answered(&[-most, -most / 4.0, most / 4.0, most], &[4], json!({ "op": "statistics", "bins": 4 }));
    assert_eq!(counts(&data), [1, 1, 1, 1], "{found}");
    assert_eq!((&found["low"], &found["high"]), (&json!(-most), &json!(most)));
    // All numbers are the same, and the range of the caller has no width either.
    let (_, data) =
        answered(&[7.0; 3], &[3], json!({ "op": "statistics", "bins": 2, "low": 7.0, "high": 7.0 }));
    assert_eq!(counts(&data), [3, 0]);
    let (_, data) = answered(&[0.0, 5e-324], &[2], json!({ "op": "statistics", "bins": 2 }));
    assert_eq!(counts(&data), [1, 1]);
}

#[test]
fn statistics_of_large_numbers_are_right_or_absent() {
    let large = 1e308;
    let (found, _) = answered(&[large; 4], &[4], json!({ "op": "statistics" }));
    assert_eq!(
        (&found["sum"], &found["mean"], &found["squares"]),
        (&Value::Null, &json!(large), &json!(0.0))
    );
    let (found, _) = answered(&[-large, large], &[2], json!({ "op": "statistics" }));
    assert_eq!((&found["sum"], &found["mean"], &found["squares"]), (&json!(0.0), &json!(0.0), &Value::Null));
}

#[test]
fn infinite_numbers_are_not_missing() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let numbers = [1.0, inf, -inf, nan, 5.0, inf];
    let (found, _) = answered(&numbers, &[2, 3], json!({ "op": "statistics" }));
    let part = |found: &Value| (found["low"].clone(), found["high"].clone(), found["infinite"].clone());
    assert_eq!(part(&found), (json!(1.0), json!(5.0), json!(3)));
    assert_eq!((&found["count"], &found["all"]), (&json!(2), &json!(6)));
    let (found, data) = answered(&numbers, &[2, 3], json!({ "op": "grid", "y": 0, "x": 1 }));
    assert_eq!(part(&found), (json!(1.0), json!(5.0), json!(3)));
    assert_eq!((&found["missing"], &found["shape"]), (&json!(1), &json!([2, 3])));
    let pixels: Vec<f64> = data.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
    assert_eq!(pixels[..3], [1.0, inf, -inf]);
    assert!(pixels[3].is_nan() && pixels[4..] == [5.0, inf]);
    // A pixel of several elements is the mean of the finite ones, also of the largest.
    let (_, data) = answered(
        &[f64::MAX, f64::MAX, inf, 3.0],
        &[2, 2],
        json!({ "op": "grid", "y": 0, "x": 1, "rows": 2, "columns": 1 }),
    );
    let pixels: Vec<f64> = data.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
    assert_eq!(pixels, [f64::MAX, 3.0]);
}

#[test]
fn a_part_without_elements_has_none() {
    let numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    for (from, to) in [(2, 2), (3, 1), (6, 6), (9, 12)] {
        let (found, data) = answered(&numbers, &[6], json!({ "op": "line", "x": 0, "from": from, "to": to }));
        assert_eq!(
            (&found["all"], &found["along"]["count"], data.len()),
            (&json!(0), &json!(0), 0),
            "{found}"
        );
    }
    let request = json!({ "op": "grid", "y": 0, "x": 1, "x0": 1, "x1": 1 });
    let (found, _) = answered(&numbers, &[2, 3], request);
    assert_eq!(
        (&found["all"], &found["low"], &found["across"]["count"]),
        (&json!(0), &Value::Null, &json!(0))
    );
}
