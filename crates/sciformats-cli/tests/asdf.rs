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

/// Returns where a message says that the edited text is.
fn kept_text(message: &str) -> String {
    message.split("the edited text is in ").nth(1).unwrap().trim().trim_end_matches(')').to_owned()
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
    // Blocks that are in other files already go with the tree into another folder.
    let elsewhere = tempfile::tempdir().unwrap();
    let far = elsewhere.path().join("b.asdf").display().to_string();
    assert_eq!(
        stdout(0, &here(&["explode", "a_exploded.asdf", &far])),
        format!("{far}: contains the tree, with 1 block beside it\n")
    );
    stdout(0, &here(&["diff", "a.asdf", &far]));
    fs::remove_file(&far).unwrap();
    let output = here(&["explode", "a_exploded.asdf", &far]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("b0000.asdf: the file exists already"));
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
    let output = here(&["explode", "--force", "a_exploded.asdf", &far]);
    stdout(3, &output);
    assert!(String::from_utf8_lossy(&output.stderr).contains("a_exploded.asdf: "), "{output:?}");
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
        fs::remove_file(kept_text(&text)).unwrap();
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
    fs::remove_file(kept_text(&text)).unwrap();
    assert!(fs::read(&path).unwrap() == before);
    fs::write(place.path().join("b.asdf"), &before).unwrap();
    stdout(0, &run(place.path(), &empty, &["edit", "b.asdf", "--drop-blocks"]));
    assert!(stdout(0, &run(place.path(), "", &["attrs", "b.asdf", "/a"])).contains('1'));

    let add = editor("add", "sed -i.old 's/^\\.\\.\\.$/note: added\\n.../' \"$1\"");
    let before = fs::read(place.path().join("a.asdf")).unwrap();
    let text = stdout(0, &run(place.path(), &add, &["edit", "--dry-run", "a.asdf"]));
    let kept = kept_text(&text);
    assert_eq!(
        text,
        format!("the edited tree can be saved; nothing was written (the edited text is in {kept})\n")
    );
    fs::remove_file(kept).unwrap();
    assert!(fs::read(place.path().join("a.asdf")).unwrap() == before);
    let text = stdout(0, &edit(&add));
    assert!(text.starts_with("changed in place: ") || text == "written anew\n", "{text}");
    assert!(stdout(0, &run(place.path(), "", &["attrs", "a.asdf", "/note"])).contains("added"));
    stdout(0, &run(place.path(), "", &["verify", "a.asdf"]));
}

/// A file with comments and one array.
fn commented(path: &Path) {
    let mut document = sciformats::asdf_core::Document::new();
    let array = sciformats::asdf_core::NewArray::new(&[1u16, 2, 3], &[3]).unwrap();
    document.set_array("a", array).unwrap();
    let text = document
        .tree_text()
        .unwrap()
        .replace("a: !", "# about the array\nexposure: 30.0  # in seconds\na: !");
    document.set_tree_text(text).unwrap();
    document.options_mut().tree_padding = Some(64);
    document.save(path).unwrap();
}

fn tree(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap()).split("\n...\n").next().unwrap().to_owned()
}

/// Runs `edit` with a shell script as the editor.
#[cfg(unix)]
fn edited_by(folder: &Path, line: &str, options: &[&str]) -> Output {
    use std::os::unix::fs::PermissionsExt;
    let script = folder.join("editor");
    fs::write(&script, format!("#!/bin/sh\n{line}\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    run(folder, script.to_str().unwrap(), &[&["edit", "a.asdf"], options].concat())
}

#[test]
#[cfg(unix)]
fn comments_stay_in_edits_and_when_repacked() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.asdf");
    commented(&path);
    let before = tree(&path);
    assert!(before.contains("# about the array") && before.contains("30.0  # in seconds"));
    for options in [&["repack", "a.asdf", "b.asdf"][..], &["repack", "--filter", "zlib", "a.asdf", "c.asdf"]]
    {
        let text = stdout(0, &run(place.path(), "", options));
        assert!(!text.contains("note"), "{text}");
        assert_eq!(tree(&place.path().join(options.last().unwrap())), before);
    }
    let text = stdout(0, &edited_by(place.path(), "sed -i.old 's/in seconds/in s/' \"$1\"", &[]));
    assert!(text.starts_with("changed in place"), "{text}");
    assert_eq!(tree(&path), before.replace("in seconds", "in s"));
    let long = "x".repeat(5000);
    fs::hard_link(&path, place.path().join("other.asdf")).unwrap();
    let line = format!("sed -i.old 's/30.0/{long}/' \"$1\"");
    let text = stdout(0, &edited_by(place.path(), &line, &["--json"]));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["update"], "written anew");
    assert_eq!(json["notes"][0], "1 other hard link of the file keeps the old contents");
    assert_eq!(tree(&path), before.replace("in seconds", "in s").replace("30.0", &long));
    let text = stdout(0, &edited_by(place.path(), "echo '# after' >> \"$1\"", &[]));
    assert!(text.contains("note    the comments are left out"), "{text}");
}

#[test]
#[cfg(unix)]
fn a_text_that_cannot_be_saved_is_kept() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.asdf");
    let change =
        "printf '\\115' | dd of=a.asdf bs=1 conv=notrunc seek=$(($(wc -c < a.asdf) - 1)) 2>/dev/null";
    for (line, status, told) in [
        // Bytes that are no text, an editor that fails, and a file that another program changes meanwhile.
        ("printf 'exposure: \\377\\n' > \"$1\"".to_owned(), 3, "is not UTF-8"),
        ("sed -i.old 's/30.0/31.0/' \"$1\"; exit 7".to_owned(), 2, "ended with"),
        (format!("sed -i.old 's/30.0/31.0/' \"$1\"; {change}"), 4, "another program changed it"),
    ] {
        commented(&path);
        let output = edited_by(place.path(), &line, &[]);
        stdout(status, &output);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(told), "{text}");
        let kept = kept_text(&text);
        assert!(fs::read(&kept).unwrap().windows(9).any(|part| part == b"exposure:"), "{line}");
        fs::remove_file(kept).unwrap();
        assert!(tree(&path).contains("30.0"));
    }
}

#[test]
fn a_damaged_block_is_not_laundered() {
    let place = tempfile::tempdir().unwrap();
    let here = |args: &[&str]| run(place.path(), "", args);
    let path = place.path().join("a.asdf");
    commented(&path);
    let mut bytes = fs::read(&path).unwrap();
    let file = sciformats::asdf_core::Asdf::from_bytes(bytes.clone()).unwrap();
    let at = usize::try_from(file.block(0).unwrap().entry().data_offset()).unwrap();
    *bytes.get_mut(at).unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    for args in [
        &["repack", "--filter", "zlib", "a.asdf", "b.asdf"][..],
        &["repack", "--filter", "none", "a.asdf", "b.asdf"],
        &["convert", "a.asdf", "b.h5"],
    ] {
        let output = here(args);
        stdout(3, &output);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("block header at offset") && text.contains("checksum"), "{text}");
        assert!(!place.path().join(args.last().unwrap()).exists());
    }
    let text = stdout(0, &here(&["convert", "--lossy", "--json", "a.asdf", "b.h5"]));
    assert!(text.contains("\"path\":\"/a\"") && text.contains("checksum"), "{text}");
    assert_eq!(
        stdout(0, &here(&["cat", "b.h5", "/a"])).split_whitespace().collect::<Vec<_>>().concat(),
        "[000]"
    );
}
