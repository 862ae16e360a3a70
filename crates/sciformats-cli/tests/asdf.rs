//! The commands for ASDF files alone: explode, implode, edit.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn fixtures() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/asdf"))
}

fn run(folder: &Path, editor: &str, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sciformats"));
    command.current_dir(folder).args(args).env_remove("VISUAL").env("EDITOR", editor).output().unwrap()
}

#[track_caller]
fn stdout(status: i32, output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{out}\n{err}");
    out.into_owned()
}

#[test]
fn exploded_and_imploded_it_is_the_same() {
    let place = tempfile::tempdir().unwrap();
    let here = |args: &[&str]| run(place.path(), "", args);
    fs::copy(fixtures().join("views.asdf"), place.path().join("a.asdf")).unwrap();
    assert_eq!(
        stdout(0, &here(&["explode", "a.asdf"])),
        "a_exploded.asdf: contains the tree, with 1 block beside it\n"
    );
    assert!(place.path().join("a_exploded0000.asdf").exists());
    assert_eq!(
        stdout(0, &here(&["implode", "a_exploded.asdf"])),
        "a_exploded_all.asdf: contains the tree and 1 block\n"
    );
    stdout(0, &here(&["diff", "a.asdf", "a_exploded.asdf"]));
    stdout(0, &here(&["diff", "a.asdf", "a_exploded_all.asdf"]));
    // What is there stays there, the tree and its blocks, unless the user says otherwise.
    let refused = |args: &[&str], named: &str| {
        let listing = || {
            let files = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().path());
            let mut files: Vec<_> = files.map(|path| (fs::read(&path).unwrap(), path)).collect();
            files.sort_by(|a, b| a.1.cmp(&b.1));
            files
        };
        let before = listing();
        let output = here(args);
        stdout(2, &output);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(&format!("{named}: the file exists already (--force")), "{text}");
        assert!(listing() == before, "{args:?}");
    };
    refused(&["explode", "a.asdf"], "a_exploded.asdf");
    refused(&["implode", "a_exploded.asdf"], "a_exploded_all.asdf");
    refused(&["implode", "a_exploded.asdf", "a.asdf"], "a.asdf");
    fs::remove_file(place.path().join("a_exploded.asdf")).unwrap();
    refused(&["explode", "a.asdf"], "a_exploded0000.asdf");
    stdout(0, &here(&["explode", "--force", "a.asdf"]));
    stdout(0, &here(&["implode", "--force", "a_exploded.asdf"]));
    let json = stdout(0, &here(&["--json", "implode", "a_exploded.asdf", "b.asdf"]));
    assert_eq!(json, "{\"file\":\"b.asdf\",\"blocks\":1}\n");
    stdout(0, &here(&["verify", "b.asdf"]));

    fs::remove_file(place.path().join("a_exploded0000.asdf")).unwrap();
    stdout(3, &here(&["implode", "a_exploded.asdf", "c.asdf"]));
    assert!(!place.path().join("c.asdf").exists());
    stdout(3, &here(&["explode", "missing.asdf"]));
    let output = here(&["explode", "a.asdf", "no/such/folder.asdf"]);
    stdout(4, &output);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("no/such/folder.asdf: the file cannot be written: No such file"), "{text}");
}

#[cfg(unix)]
#[test]
fn edited_in_place_if_it_is_right() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.asdf");
    fs::copy(fixtures().join("views.asdf"), &path).unwrap();
    let before = fs::read(&path).unwrap();
    let editor = |name: &str, line: &str| {
        let script = place.path().join(name);
        fs::write(&script, format!("#!/bin/sh\n{line}\n")).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        script.display().to_string()
    };
    let edit = |editor: &str| run(place.path(), editor, &["edit", "a.asdf"]);

    assert_eq!(stdout(0, &edit("true")), "unchanged\n");
    stdout(2, &edit("false"));
    stdout(2, &edit("/no/such/editor"));
    for (name, line) in [
        ("syntax", "echo 'a: [' > \"$1\""),
        ("shape", "sed -i.old 's/shape: \\[.*\\]/shape: [1000000]/' \"$1\""),
        ("block", "sed -i.old 's/source: 0/source: 7/' \"$1\""),
    ] {
        let output = edit(&editor(name, line));
        stdout(3, &output);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("line ") && text.contains("the edited text is in "), "{name}: {text}");
        let kept =
            text.split("the edited text is in ").nth(1).unwrap().trim().trim_end_matches(')').to_owned();
        fs::remove_file(kept).unwrap();
        assert!(fs::read(&path).unwrap() == before, "{name}");
    }

    // A tree without its arrays is not saved, unless the user says so.
    let empty = editor(
        "empty",
        "printf '#ASDF 1.0.0\\n#ASDF_STANDARD 1.6.0\\n%%YAML 1.1\\n--- {a: 1}\\n...\\n' > \"$1\"",
    );
    let output = edit(&empty);
    stdout(3, &output);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("no longer names 1 of 1 block") && text.contains("--drop-blocks"), "{text}");
    let kept = text.split("the edited text is in ").nth(1).unwrap().trim().trim_end_matches(')').to_owned();
    fs::remove_file(kept).unwrap();
    assert!(fs::read(&path).unwrap() == before);
    fs::write(place.path().join("b.asdf"), &before).unwrap();
    stdout(0, &run(place.path(), &empty, &["edit", "b.asdf", "--drop-blocks"]));
    assert!(stdout(0, &run(place.path(), "", &["attrs", "b.asdf", "/a"])).contains('1'));

    let add = editor("add", "sed -i.old 's/^\\.\\.\\.$/note: added\\n.../' \"$1\"");
    let before = fs::read(place.path().join("a.asdf")).unwrap();
    let text = stdout(0, &run(place.path(), &add, &["edit", "--dry-run", "a.asdf"]));
    assert_eq!(text, "the edited tree can be saved; nothing was written\n");
    assert!(fs::read(place.path().join("a.asdf")).unwrap() == before);
    let text = stdout(0, &edit(&add));
    assert!(text.starts_with("changed in place: ") || text == "written anew\n", "{text}");
    assert!(stdout(0, &run(place.path(), "", &["attrs", "a.asdf", "/note"])).contains("added"));
    stdout(0, &run(place.path(), "", &["verify", "a.asdf"]));
}
