//! `plot` as users run it: on the terminal, into files, as JSON.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::fs;

use common::Program;
use serde_json::Value as Json;

fn program() -> Program {
    Program::in_fixtures().with("COLUMNS", "60").with("LINES", "16")
}

#[track_caller]
fn stdout(status: i32, args: &[&str]) -> String {
    program().stdout(status, args)
}

#[track_caller]
fn stderr(status: i32, args: &[&str]) -> String {
    program().stderr(status, args)
}

#[test]
fn pictures_fit_the_terminal() {
    for args in [
        &["plot", "gsd/hoomd-log.gsd", "/log/energy"][..],
        &["plot", "blosc2/grid.b2nd"],
        &["plot", "blosc2/grid.b2nd", "--color", "always"],
        &["plot", "blosc2/grid.b2nd", "-k", "histogram"],
        &["plot", "rawarray/five-dimensions.ra"],
        &["plot", "rawarray/five-dimensions.ra", "-s", "0, 0, 0, 0", "-k", "line"],
        &["plot", "gsd/hoomd-single.gsd", "/frames/0/particles/position", "-k", "line"],
    ] {
        let text = stdout(0, args);
        let text = anstream::adapter::strip_str(&text).to_string();
        assert!(text.lines().count() <= 15, "{args:?}\n{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{args:?}\n{text}");
        // Where the array is all that the file has, the file's name says more than its path.
        let path = args.get(2).filter(|path| path.starts_with('/'));
        let title = path.copied().unwrap_or(args[1].rsplit('/').next().unwrap());
        assert!(text.starts_with(title), "{args:?}\n{text}");
    }
}

#[test]
fn pictures_in_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (svg, png) = (path("a.svg"), path("a.png"));
    for output in [&svg, &png] {
        let text =
            stdout(0, &["plot", "gsd/hoomd-log.gsd", "/log/energy", "-o", output, "--size", "640x480"]);
        assert!(text.contains(": written"), "{text}");
    }
    let text = fs::read_to_string(&svg).unwrap();
    assert!(text.contains("width=\"640\"") && text.contains(">energy</text>"), "{text}");
    let reader =
        png::Decoder::new(fs::File::open(&png).map(std::io::BufReader::new).unwrap()).read_info().unwrap();
    assert_eq!(reader.info().size(), (640, 480));
    // The same picture is the same file.
    let again = path("b.png");
    stdout(0, &["plot", "gsd/hoomd-log.gsd", "/log/energy", "-o", &again, "--size", "640x480", "-q"]);
    assert_eq!(fs::read(&png).unwrap(), fs::read(&again).unwrap());
    assert!(stderr(2, &["plot", "blosc2/grid.b2nd", "-o", &png]).contains("exists already"));
    stdout(0, &["plot", "blosc2/grid.b2nd", "-o", &png, "--force", "-q"]);
    assert!(stderr(2, &["plot", "blosc2/grid.b2nd", "-o", &path("a.jpg")]).contains(".svg, .pdf or .png"));
    stdout(0, &["plot", "blosc2/grid.b2nd", "-o", &path("a.pdf"), "-q"]);
    let pdf = fs::read(path("a.pdf")).unwrap();
    assert!(pdf.starts_with(b"%PDF-1.4") && pdf.ends_with(b"%%EOF\n"));
    // Values on a logarithmic scale; counts have none.
    let log = path("log.svg");
    stdout(0, &["plot", "blosc2/grid.b2nd", "--log", "-o", &log, "-q"]);
    let (log, linear) = (fs::read_to_string(log).unwrap(), path("linear.svg"));
    stdout(0, &["plot", "blosc2/grid.b2nd", "-o", &linear, "-q"]);
    assert!(log != fs::read_to_string(linear).unwrap() && log.contains(">20</text>"), "{log}");
    let refused = stderr(1, &["plot", "blosc2/grid.b2nd", "--log", "-k", "histogram"]);
    assert!(refused.contains("no logarithmic scale"), "{refused}");
    // Errors name the file, and leave nothing behind.
    let error = stderr(4, &["plot", "blosc2/grid.b2nd", "-o", &path("no/where.svg")]);
    assert!(error.contains("no/where.svg: the file cannot be written: No such file"), "{error}");
    fs::create_dir(path("folder.png")).unwrap();
    let error = stderr(4, &["plot", "blosc2/grid.b2nd", "-o", &path("folder.png"), "--force"]);
    assert!(error.contains("folder.png: the file cannot be written: "), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 7);
}

#[test]
fn pictures_as_json() {
    let json = |args: &[&str]| -> Json { serde_json::from_str(&stdout(0, args)).unwrap() };
    let line = json(&["plot", "--json", "gsd/hoomd-log.gsd", "/log/energy"]);
    assert_eq!(line["kind"], "line");
    assert_eq!(line["lines"][0]["first"], serde_json::json!([0.0, 0.25, 0.5, 0.75, 1.0]));
    assert_eq!(line["x"]["high"], 4.0);
    let bars =
        json(&["plot", "--json", "gsd/hoomd-log.gsd", "/log/energy", "-k", "histogram", "--bins", "2"]);
    assert_eq!(bars["counts"], serde_json::json!([2, 3]));
    let image = json(&["plot", "--json", "rawarray/five-dimensions.ra"]);
    assert_eq!(image["kind"], "image");
}

#[test]
fn what_cannot_be_drawn_says_why() {
    for (args, why) in [
        (&["plot", "gsd/hoomd-log.gsd", "/frames"][..], "is a group, not an array"),
        (&["plot", "rawarray/scalar.ra"], "a single value"),
        (&["plot", "rawarray/no-elements.ra"], "no elements"),
        (&["plot", "blosc2/text.b2nd"], "which are not numbers"),
        (&["plot", "gsd/hoomd-log.gsd", "/log"], "choose one of their fields"),
        (&["plot", "rawarray/five-dimensions.ra", "-s", "..."], "an image needs 2"),
    ] {
        let error = stderr(2, args);
        assert!(error.contains(why), "{args:?}: {error}");
    }
    let field = stdout(0, &["plot", "gsd/hoomd-log.gsd", "/log", "--field", "log/energy"]);
    assert!(field.starts_with("/log log/energy"), "{field}");
}
