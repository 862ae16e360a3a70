//! `watch` as users run it: files that grow while the program looks at them.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::{Program, climate};
use sciformats::hdf5_pure::Writer;
use sciformats::hdf5_pure::swmr::SwmrWriter;
use sciformats::{gsd_rs, rawarray};

/// Longer than any machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program at work, and what it has printed.
struct Watching {
    child: Child,
    printed: Arc<Mutex<String>>,
}

impl Watching {
    fn start(folder: &Path, args: &[&str]) -> Self {
        let mut command = Program::at(folder).command();
        command.arg("watch").args(args).args(["--interval", "0.05"]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let printed = Arc::new(Mutex::new(String::new()));
        let (mut out, into) = (child.stdout.take().unwrap(), Arc::clone(&printed));
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut part) {
                into.lock().unwrap().push_str(std::str::from_utf8(&part[..count]).unwrap());
            }
        });
        Self { child, printed }
    }

    /// Waits until something has been printed, and returns everything.
    #[track_caller]
    fn until(&self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            let printed = self.printed.lock().unwrap().clone();
            if printed.contains(text) {
                return printed;
            }
            assert!(begun.elapsed() < PATIENCE, "no {text:?} in\n{printed}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Presses Ctrl-C, and returns everything that was printed.
    #[track_caller]
    fn end(mut self, last: &str) -> String {
        Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        let status = self.child.wait().unwrap();
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert_eq!((status.code(), errors.as_str()), (Some(0), ""));
        self.until(last)
    }
}

#[test]
fn rows_of_a_swmr_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.h5");
    let mut file = Writer::create(&path).unwrap();
    file.dataset("u").shape([2]).max_shape([None]).chunks([4]).write(&[0.5f64, 1.5]).unwrap();
    file.finish().unwrap();
    let mut run = SwmrWriter::open(&path).unwrap();
    let watching = Watching::start(dir.path(), &["run.h5:/u"]);
    let first = watching.until("waiting for more");
    assert!(first.contains("row    u\n") && first.contains("\n  1  1.5\n"), "{first}");
    run.dataset("u").unwrap().append(&[2.5f64, 3.5, 4.5]).unwrap();
    run.flush().unwrap();
    let more = watching.until("5 rows, 3 more");
    assert!(more.contains("\n  4  4.5\n"), "{more}");
    run.dataset("u").unwrap().append(&[5.5f64]).unwrap();
    run.close().unwrap();
    watching.until("6 rows, 1 more");
    let all = watching.end("watched for");
    assert!(all.trim_end().lines().last().unwrap().contains("6 rows, 4 more"), "{all}");
}

#[test]
fn frames_of_a_trajectory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.gsd");
    let options = gsd_rs::CreateOptions::new("tests", "hoomd", gsd_rs::Version::new(1, 4));
    let mut file = gsd_rs::Writer::create(&path, &options).unwrap();
    let frame = |file: &mut gsd_rs::Writer, step: u64| {
        file.write("configuration/step", 1, &[step]).unwrap();
        file.write("log/energy", 1, &[step as f64 / 8.0]).unwrap();
        file.end_frame().unwrap();
        file.flush().unwrap();
    };
    (0..3).for_each(|step| frame(&mut file, step * 10));
    let log = Watching::start(dir.path(), &["run.gsd", "/log", "--csv"]);
    log.until("\n2,20,2.5\n");
    let tree = Watching::start(dir.path(), &["run.gsd"]);
    let first = tree.until("3 members");
    assert!(first.contains("/frames"), "{first}");
    (3..5).for_each(|step| frame(&mut file, step * 10));
    let rows = log.until("\n4,40,5.0\n");
    assert!(rows.starts_with("frame,configuration/step,log/energy\n0,0,0.0\n"), "{rows}");
    assert_eq!(rows.matches("frame,").count(), 1, "{rows}");
    let changes = tree.until("→ 5 members");
    assert!(changes.contains("members/s"), "{changes}");
    // Nothing but the rows is printed for programs.
    assert_eq!(log.end("\n4,40,5.0\n").lines().count(), 6);
    tree.end("watched for");
}

#[test]
fn a_stream_and_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("stream.ra");
    let options = rawarray::WriteOptions::default();
    let mut stream = rawarray::StreamWriter::create::<f32>(&path, &[2], &options).unwrap();
    stream.write(&[0.5f32, 1.0, 1.5, 2.0]).unwrap();
    stream.sync().unwrap();
    let watching = Watching::start(dir.path(), &["stream.ra", "--json", "--idle", "0.8"]);
    watching.until("{\"row\":1,\"value\":[1.5,2.0]}\n");
    // Half of a row is not shown.
    stream.write(&[2.5f32, 3.0, 3.5]).unwrap();
    stream.sync().unwrap();
    watching.until("{\"row\":2,\"value\":[2.5,3.0]}\n");
    stream.write(&[4.0f32]).unwrap();
    stream.finish().unwrap();
    let all = watching.until("{\"row\":3,\"value\":[3.5,4.0]}\n");
    assert_eq!(all.lines().count(), 4, "{all}");
    // When nothing changes any more, the program ends by itself.
    let Watching { mut child, .. } = watching;
    assert!(child.wait().unwrap().success());
}

#[test]
fn rows_before_one_that_cannot_be_read_are_printed_once() {
    let dir = tempfile::tempdir().unwrap();
    let replace = |rows: usize, damaged: bool| {
        let new = dir.path().join("new.h5");
        let mut file = Writer::create(&new).unwrap();
        let u = file.dataset("u").shape([rows as u64]).max_shape([None]).chunks([1]).fletcher32();
        u.write(&[0.5f64, 1.5, 2.5, 3.5, 4.5][..rows]).unwrap();
        file.finish().unwrap();
        if damaged {
            let mut bytes = std::fs::read(&new).unwrap();
            let at = bytes.windows(8).position(|bytes| *bytes == 3.5f64.to_le_bytes()).unwrap();
            bytes[at] ^= 1;
            std::fs::write(&new, bytes).unwrap();
        }
        std::fs::rename(new, dir.path().join("run.h5")).unwrap();
    };
    replace(2, false);
    let watching = Watching::start(dir.path(), &["run.h5:/u", "--json", "-q"]);
    watching.until("{\"row\":1,\"value\":1.5}\n");
    replace(5, true);
    watching.until("{\"row\":2,\"value\":2.5}\n");
    // It looks again and again.
    std::thread::sleep(Duration::from_millis(500));
    replace(5, false);
    watching.until("{\"row\":4,\"value\":4.5}\n");
    let all = watching.end("{\"row\":4,\"value\":4.5}\n");
    assert_eq!(all.lines().count(), 5, "{all}");
}

#[test]
fn meaning_and_statistics_of_wide_rows() {
    let dir = tempfile::tempdir().unwrap();
    climate(&dir.path().join("climate.nc"));
    let program = Program::at(dir.path());
    let tas = program
        .stdout(0, &["watch", "climate.nc", "/tas", "-n", "2", "--idle", "0.05", "--interval", "0.05"]);
    let lines: Vec<&str> = tas.lines().collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["row", "time", "lowest", "mean", "highest"]);
    assert_eq!(
        lines[2].split_whitespace().collect::<Vec<_>>(),
        ["3", "2001-07-04", "289", "290.4", "291.8"],
        "{tas}"
    );
    assert!(lines[3].contains("4 rows; waiting"), "{tas}");
    // Programs get every row, unless they ask for fewer.
    let many: Vec<f64> = (0..25).map(f64::from).collect();
    crate::common::raw_array(&dir.path().join("many.ra"), &[25], &many);
    for (args, rows) in [(&["--csv"][..], 25), (&["--json"], 25), (&["--csv", "-n", "3"], 3)] {
        let args = [&["watch", "many.ra", "--idle", "0.05", "--interval", "0.05"], args].concat();
        let printed = program.stdout(0, &args);
        assert_eq!(printed.lines().count(), rows, "{args:?}");
        assert!(printed.contains("24.0"), "{printed}");
    }
    let height = program.stdout(0, &["watch", "climate.nc", "/height", "--idle", "0.05", "-q"]);
    assert_eq!(height, "2.0\n");
    let tree = program.stdout(0, &["watch", "climate.nc", "--idle", "0.05", "-q"]);
    assert!(tree.contains("/tas") && tree.contains("4 × 3 × 4"), "{tree}");
    assert!(!tree.contains("/lat"), "what cannot grow is not listed\n{tree}");
}

#[test]
fn what_cannot_be_watched() {
    let program = Program::in_fixtures();
    for (args, status, why) in [
        (&["watch", "-"][..], 2, "only files of this machine"),
        (&["watch", "none.h5"], 3, "none.h5"),
        (&["watch", "gsd/hoomd-log.gsd", "/none"], 3, "no object"),
        (&["watch", "gsd/hoomd-log.gsd", "--csv"], 2, "needs an array"),
        (&["watch", "gsd/hoomd-log.gsd", "--interval", "0"], 2, "seconds"),
    ] {
        let error = program.stderr(status, args);
        assert!(error.contains(why), "{args:?}: {error}");
    }
}

#[test]
fn middles_of_edges_are_called_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = Writer::create(dir.path().join("h.h5")).unwrap();
    file.dataset("entry/h/n").write(&[3i32, 4]).unwrap();
    file.dataset("entry/h/e").write(&[0.0, 1.0, 4.0]).unwrap();
    let mut root = file.root();
    let mut entry = root.group("entry").unwrap();
    entry.attribute("NX_class", "NXentry").unwrap();
    let mut group = entry.group("h").unwrap();
    group.attribute("NX_class", "NXdata").unwrap();
    group.attribute("signal", "n").unwrap();
    group.attribute("axes", ["e"]).unwrap();
    file.finish().unwrap();
    let program = Program::at(dir.path());
    let args = ["watch", "h.h5", "/entry/h/n", "--idle", "0.05", "--interval", "0.05"];
    let text = program.stdout(0, &args);
    assert!(text.contains("e middle") && text.contains("2.5"), "{text}");
    let lines = program.stdout(0, &[&args[..], &["--json"]].concat());
    assert!(lines.contains(r#"{"row":1,"middle":"2.5","value":4}"#), "{lines}");
}
