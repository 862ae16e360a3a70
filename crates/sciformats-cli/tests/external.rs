//! Files that other files name: followed below the file's folder, refused elsewhere, and never turned into values unasked.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use crate::common::Program;
use sciformats::Slab;
use sciformats::hdf5_pure::Writer;
use serde_json::Value as Json;

const VALUES: [i32; 6] = [1, 2, 3, 4, 5, 6];

/// A file that others are sources of.
fn source(path: &Path) {
    let mut file = Writer::create(path).unwrap();
    file.dataset("d").write(&VALUES).unwrap();
    file.dataset("g/x").write(&[0.5, 1.5]).unwrap();
    file.root().soft_link("g/soft", "/d").unwrap();
    file.root().external_link("g/up", "../../other/s.h5", "/d").unwrap();
    file.root().external_link("jump", "deep/s.h5", "/d").unwrap();
    file.finish().unwrap();
}

/// `main/m.h5`, and what it names: beside it, elsewhere, and nowhere.
fn made(place: &Path) {
    for folder in ["main/sub/deep", "other"] {
        fs::create_dir_all(place.join(folder)).unwrap();
    }
    for path in ["other/s.h5", "main/sub/s.h5", "main/sub/deep/s.h5"] {
        source(&place.join(path));
    }
    fs::write(place.join("main/raw.bin"), VALUES.map(i32::to_le_bytes).concat()).unwrap();
    fs::write(place.join("main/short.bin"), [1i32, 2, 3].map(i32::to_le_bytes).concat()).unwrap();
    fs::write(place.join("other/raw.bin"), VALUES.map(i32::to_le_bytes).concat()).unwrap();
    let mut file = Writer::create(place.join("main/m.h5")).unwrap();
    let up = place.join("other/raw.bin").display().to_string();
    for (name, raw) in [("raw", "raw.bin"), ("short", "short.bin"), ("gone", "gone.bin"), ("raw_up", &up)] {
        let parts = [(raw, 0, Some(24))];
        file.dataset(name).shape([6]).fill(7).external(parts).create::<i32>().unwrap();
    }
    let all = Slab::all(&[6]).unwrap();
    let absolute = place.join("other/s.h5").display().to_string();
    for (name, from, dataset) in [
        ("v_in", "sub/s.h5", "/d"),
        ("v_jump", "sub/s.h5", "/jump"),
        ("v_up", "../other/s.h5", "/d"),
        ("v_abs", &absolute, "/d"),
        ("v_gone", "gone.h5", "/d"),
        ("v_none", "sub/s.h5", "/none"),
    ] {
        file.dataset(name).shape([6]).fill(-1).map(from, dataset, &all, &all).create::<i32>().unwrap();
    }
    for (name, other, path) in [
        ("e_in", "sub/s.h5", "/g"),
        ("e_up", "../other/s.h5", "/d"),
        ("e_gone", "gone.h5", "/d"),
        ("e_none", "sub/s.h5", "/none"),
    ] {
        file.root().external_link(name, other, path).unwrap();
    }
    file.finish().unwrap();
}

const NUMBERS: &str = "[1 2 3 4 5 6]\n";

#[test]
fn what_lies_below_the_folder_is_followed() {
    let place = tempfile::tempdir().unwrap();
    made(place.path());
    let program = Program::at(place.path());
    for path in ["/raw", "/v_in", "/v_jump", "/e_in/soft"] {
        let output = program.run(&["cat", "main/m.h5", path]);
        assert_eq!(String::from_utf8(output.stdout).unwrap(), NUMBERS, "{path}");
        assert!(output.stderr.is_empty(), "{path}");
    }
    assert_eq!(program.stdout(0, &["cat", "main/m.h5", "/e_in/x", "-s", "1"]), "1.5\n");
    assert!(program.stdout(0, &["ls", "main/m.h5", "/e_in"]).contains("soft → /d"));
    // The policy is that of the file that was opened, wherever the way leads.
    assert!(program.stderr(3, &["cat", "main/m.h5", "/e_in/up"]).contains("which may not be opened"));
    for path in ["/raw", "/v_in", "/e_in/x"] {
        let error = program.stderr(3, &["cat", "main/m.h5", path, "--external", "none"]);
        assert!(error.contains("which may not be opened (`--external`"), "{error}");
    }
}

#[test]
fn what_lies_elsewhere_is_an_error_that_names_the_option() {
    let place = tempfile::tempdir().unwrap();
    made(place.path());
    let program = Program::at(place.path().join("main"));
    let other = place.path().canonicalize().unwrap().join("other");
    for path in ["/v_up", "/v_abs", "/e_up", "/e_in/up", "/raw_up"] {
        let error = program.stderr(3, &["cat", "m.h5", path]);
        assert!(error.contains(&format!("(`--external {}` allows it)", other.display())), "{path}: {error}");
        for allowed in ["../other", "..", "/", other.to_str().unwrap()] {
            assert_eq!(program.stdout(0, &["cat", "m.h5", path, "--external", allowed]), NUMBERS, "{path}");
        }
        for command in ["plot", "attrs"] {
            let args = [command, "m.h5", path];
            if command == "plot" || path.starts_with("/e") {
                program.stderr(3, &args);
            }
        }
    }
    assert!(program.stderr(2, &["cat", "m.h5", "--external", "no/such"]).contains("an existing folder"));
    program.stderr(2, &["cat", "m.h5", "/raw", "--external", "none", "--external", ".."]);
    assert_eq!(
        program.stdout(0, &["cat", "m.h5", "/v_in", "--external", "beside", "--external", ".."]),
        NUMBERS
    );
}

#[test]
fn statistics_do_not_count_what_is_missing() {
    let place = tempfile::tempdir().unwrap();
    made(place.path());
    let program = Program::at(place.path().join("main"));
    let error = program.stderr(3, &["stats", "m.h5", "/v_gone"]);
    assert!(error.contains("does not exist"), "{error}");
    let output = program.run(&["stats", "m.h5", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let lines = String::from_utf8(output.stdout).unwrap();
    let line = |path: &str| lines.lines().find(|line| line.contains(path)).unwrap_or_default().to_owned();
    assert!(line("\"/v_gone\"").contains("error") && line("\"/v_in\"").contains("mean"), "{lines}");
}

#[test]
fn a_length_that_nobody_knows_is_not_zero() {
    use sciformats::hdf5_pure::structure::{Mapping, Regular, Selection};
    let place = tempfile::tempdir().unwrap();
    let mut file = Writer::create(place.path().join("m.h5")).unwrap();
    let unlimited = Regular { start: 0, stride: 1, count: None, block: Some(1) };
    let mapping = Mapping {
        file: "gone.h5".into(),
        dataset: "/d".into(),
        source: Selection::Regular(vec![unlimited]),
        target: Selection::Regular(vec![unlimited]),
    };
    let made = file.dataset("v").shape([0]).max_shape([None]);
    made.map_selection(mapping.clone()).create::<i32>().unwrap();
    // The file says how long it was when it was written.
    let made = file.dataset("was").shape([4]).max_shape([None]);
    made.map_selection(mapping).create::<i32>().unwrap();
    file.finish().unwrap();
    let program = Program::at(place.path());
    assert!(program.stderr(3, &["stats", "m.h5", "/v"]).contains("gone.h5"));
    let output = program.run(&["stats", "m.h5"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(1) && text.contains("gone.h5"), "{text}");
    for options in [&["ls", "m.h5"][..], &["ls", "-l", "m.h5"], &["ls", "m.h5:/v"], &["ls", "m.h5:/was"]] {
        let text = program.stdout(0, options);
        assert!(text.contains("unknown length") && !text.contains(" 0 B"), "{options:?}: {text}");
    }
    let sizes = program.stdout(0, &["ls", "--sizes", "m.h5"]);
    assert_eq!(sizes.matches("unknown length").count(), 2, "{sizes}");
    for line in program.stdout(0, &["ls", "--json", "m.h5"]).lines().skip(1) {
        let json: Json = serde_json::from_str(line).unwrap();
        assert!(json["unknown"].to_string().contains("gone.h5") && json.get("shape").is_none(), "{json}");
    }
    for word in ["m.h5", "m.h5:/v", "m.h5:/was"] {
        let text = program.stdout(0, &["info", word]);
        assert!(text.contains("of unknown length") && text.contains("gone.h5"), "{text}");
        assert!(!text.contains(" 0 B") && !text.contains(" 16 B"), "{text}");
        let json: Json = serde_json::from_str(&program.stdout(0, &["info", "--json", word])).unwrap();
        assert!(json["unknown"].to_string().contains("gone.h5") && json.get("shape").is_none(), "{json}");
    }
}

#[test]
fn what_is_missing_never_becomes_values_unasked() {
    let place = tempfile::tempdir().unwrap();
    made(place.path());
    let program = Program::at(place.path().join("main"));
    let lacking = [
        ("/v_gone", "[-1 -1 -1 -1 -1 -1]\n", "source of a virtual dataset \"/d in gone.h5\" does not exist"),
        (
            "/v_none",
            "[-1 -1 -1 -1 -1 -1]\n",
            "source of a virtual dataset \"/none in sub/s.h5\" does not exist",
        ),
        ("/short", "[1 2 3 0 0 0]\n", "external file \"short.bin\" is cut short: it has 12 bytes"),
    ];
    for (path, shown, why) in lacking {
        let output = program.run(&["cat", "m.h5", path]);
        assert_eq!(
            (output.status.code(), String::from_utf8(output.stdout).unwrap().as_str()),
            (Some(0), shown)
        );
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(why) && error.contains("shown as fill values or zeros"), "{error}");
        // Only what is wanted has to be there.
        let part = program.run(&["cat", "m.h5", path, "-s", ":0"]);
        assert!(part.status.success() && part.stderr.is_empty(), "{path}");
        let error = program.stderr(3, &["convert", "m.h5", "o.asdf", "--select", path]);
        assert!(error.contains(why), "{error}");
        assert_eq!(program.stderr(3, &["convert", "m.h5", "o.asdf", "--select", path, "--dry-run"]), error);
        let told =
            program.stdout(0, &["convert", "m.h5", "o.asdf", "--select", path, "--dry-run", "--lossy"]);
        assert!(told.contains(why), "{told}");
    }
    let error = program.stderr(3, &["cat", "m.h5", "/gone"]);
    assert!(error.contains("external file \"gone.bin\" does not exist"), "{error}");
    program.stderr(3, &["convert", "m.h5", "o.asdf", "--select", "/gone"]);
    let error = program.stderr(3, &["cat", "m.h5", "/e_gone"]);
    assert!(error.contains("file of an external link \"gone.h5\" does not exist"), "{error}");
    let error = program.stderr(3, &["cat", "m.h5", "/e_none"]);
    assert!(error.contains("target of a link \"/none in sub/s.h5\" does not exist"), "{error}");
    assert!(!place.path().join("main/o.asdf").exists());
    program.stdout(0, &["convert", "m.h5", "o.asdf", "--select", "/v_in", "--select", "/raw"]);
    assert_eq!(program.stdout(0, &["cat", "o.asdf", "/v_in"]), NUMBERS);
}

#[test]
fn verify_tells_what_is_missing_from_damage() {
    let place = tempfile::tempdir().unwrap();
    made(place.path());
    let program = Program::at(place.path().join("main"));
    let text = program.stdout(1, &["verify", "m.h5"]);
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("m.h5: sound, but 7 sources elsewhere not read"), "{text}");
    assert!(last.ends_with("3 links lead nowhere"), "{text}");
    for path in ["short", "gone", "raw_up", "v_up", "v_abs", "v_gone", "v_none", "e_up", "e_gone", "e_none"] {
        assert!(text.lines().any(|line| line.starts_with(&format!("m.h5 /{path}: "))), "{path}: {text}");
    }
    let json = program.stdout(1, &["verify", "--json", "m.h5"]);
    let lines: Vec<Json> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, told) = lines.split_last().unwrap();
    assert_eq!(last["findings"], 0);
    assert_eq!(
        (last["missing"].as_u64(), last["links"].as_u64(), last["ok"].as_bool()),
        (Some(7), Some(3), Some(false))
    );
    let blame = |path: &str| told.iter().find(|line| line["path"] == path).unwrap()["blame"].clone();
    assert_eq!(
        (blame("/gone"), blame("/v_gone"), blame("/v_up")),
        ("missing".into(), "missing".into(), "limit".into())
    );

    // Links alone are no reason to say no: they are in place, wherever they lead.
    let mut file = Writer::create(place.path().join("links.h5")).unwrap();
    file.root().external_link("e", "gone.h5", "/d").unwrap();
    file.finish().unwrap();
    let text = program.stdout(0, &["verify", "../links.h5"]);
    assert!(text.contains("sound") && text.contains("1 link leads nowhere"), "{text}");
}

#[test]
fn a_dry_run_tells_what_may_not_be_opened() {
    let place = tempfile::tempdir().unwrap();
    made(place.path());
    let program = Program::at(place.path().join("main"));
    for path in ["/v_up", "/v_abs", "/raw_up", "/gone", "/v_gone", "/short"] {
        for output in ["o.asdf", "o.npy", "o.b2nd", "o.gsd"] {
            let args = ["convert", "m.h5", output, "--select", path];
            let error = program.stderr(3, &args);
            assert_eq!(program.stderr(3, &[&args[..], &["--dry-run"]].concat()), error);
            assert!(error.contains(&format!("m.h5: {path}: ")), "{error}");
            assert!(path.ends_with("gone") || path == "/short" || error.contains("`--external "), "{error}");
        }
    }
}

#[test]
fn what_is_named_from_the_old_folder_is_refused_in_another() {
    let place = tempfile::tempdir().unwrap();
    made(place.path());
    let program = Program::at(place.path());
    for command in ["repack", "convert"] {
        for more in [&[][..], &["--dry-run"]] {
            let error = program.stderr(1, &[&[command, "main/m.h5", "other/o.h5"], more].concat());
            assert!(error.contains("into another folder while elements of /"), "{error}");
            assert!(error.contains("`repack --inline`"), "{error}");
        }
    }
    assert!(!place.path().join("other/o.h5").exists());

    let mut image = sciformats::asdf_core::Document::new();
    let array = sciformats::asdf_core::NewArray::new(&[1u16, 2], &[2]).unwrap();
    image.set_array("image", array).unwrap();
    image.explode(place.path().join("main/image.asdf")).unwrap();
    let error = program.stderr(1, &["repack", "main/image.asdf", "other/o.asdf"]);
    assert!(error.contains("arrays are in image0000.asdf beside it (`sciformats implode`"), "{error}");
    program.stdout(0, &["repack", "main/image.asdf", "main/o.asdf"]);
    assert_eq!(program.stdout(0, &["cat", "main/o.asdf", "/image"]), "[1 2]\n");
}

#[test]
fn a_rescue_with_inline_takes_what_lies_elsewhere_into_the_new_file() {
    let place = tempfile::tempdir().unwrap();
    made(place.path());
    // All of this file can be read, but not all of the other one.
    let mut file = Writer::create(place.path().join("main/whole.h5")).unwrap();
    file.dataset("raw").shape([6]).external([("raw.bin", 0, Some(24))]).create::<i32>().unwrap();
    let all = Slab::all(&[6]).unwrap();
    file.dataset("v_in").shape([6]).map("sub/s.h5", "/d", &all, &all).create::<i32>().unwrap();
    file.finish().unwrap();
    let program = Program::at(place.path());
    for name in ["whole", "m"] {
        let (from, to) = (format!("main/{name}.h5"), format!("other/{name}.h5"));
        program.stdout(0, &["repack", &from, &to, "--lossy", "--inline"]);
    }
    fs::remove_dir_all(place.path().join("main")).unwrap();
    for name in ["whole", "m"] {
        for path in ["/raw", "/v_in"] {
            let values = program.stdout(0, &["cat", &format!("other/{name}.h5"), path]);
            assert_eq!(values, NUMBERS, "{name}: {path}");
        }
    }
}
