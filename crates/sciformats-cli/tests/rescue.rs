//! Files that were cut short or damaged: `--lossy` writes what can be read of them, and tells what cannot.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it counted"
)]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::{Program, fixtures};
use sciformats::walk::{Found, breadth_first};
use sciformats::{Error, File, Format, Object, OpenOptions, Slab};
use sciformats_convert::convert::{Loss, Options, Plan};
use sciformats_convert::sink::WriteOptions;

/// Files of each format.
const FILES: usize = 12;
/// Bytes that they have at most.
const LARGEST: u64 = 24 << 10;
/// Cuts of each file, and as often some of its bytes are damaged.
const TIMES: usize = 8;

/// Arrays of a file: path, bytes of an element, elements.
type Arrays = Vec<(String, usize, Vec<u8>)>;

/// The largest fixtures of a format that are small.
fn sources(format: &str) -> Vec<PathBuf> {
    let mut files: Vec<(u64, PathBuf)> = fs::read_dir(fixtures().join(format))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_file() && entry.path().extension().is_some_and(|end| end != "toml"))
        .map(|entry| (entry.metadata().unwrap().len(), entry.path()))
        .filter(|(size, path)| *size <= LARGEST && sciformats::open(path).is_ok())
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|(_, path)| path)
        .filter(|path| !arrays(&sciformats::open(path).unwrap()).is_empty())
        .take(FILES)
        .collect()
}

/// The arrays of a file: paths and elements, of those whose elements have a size and can be read.
fn arrays(file: &File) -> Arrays {
    let mut arrays = Vec::new();
    let _ = breadth_first(file.source(), ("/", file.source().root()), file.limits(), &mut |entry| {
        if let Found::Object(id, Object::Array(info)) = entry.what
            && let Some(size) = info.element.size().filter(|&size| size > 0)
            && let Some(Ok(all)) = info.shape.as_deref().map(Slab::all)
        {
            let mut bytes = Vec::new();
            if file.read(id, &all, &mut bytes).is_ok() && !bytes.is_empty() {
                arrays.push((entry.path, usize::try_from(size).unwrap(), bytes));
            }
        }
        ControlFlow::Continue(())
    });
    arrays
}

/// Writes what is left of a file, and answers with the arrays of that and what was lost; nothing, if it is no file any more.
fn rescued(bytes: Vec<u8>, output: &Path) -> Option<(Arrays, Vec<Loss>)> {
    let file = File::from_storage(bytes, &OpenOptions::default().with_cut(true)).ok()?;
    let plan = Plan::new(&Arc::new(file), Format::Hdf5, &Options::default()).ok()?;
    let mut losses = plan.losses().to_vec();
    losses.extend(plan.rescue(output, &WriteOptions::default()).unwrap());
    let written = sciformats::open(output).unwrap();
    Some((arrays(&written), losses))
}

/// Elements that are told to be lost: part by part, and of very many parts together.
fn told(losses: &[Loss]) -> u64 {
    let further = |what: &str| what.split_once("further parts")?.1.split(' ').rev().nth(1)?.parse().ok();
    let elements = |loss: &Loss| loss.lost.as_ref().map(|lost| lost.elements).or_else(|| further(&loss.what));
    losses.iter().filter_map(elements).sum()
}

/// Elements of arrays that are in both files, and not the same.
fn different(whole: &[(String, usize, Vec<u8>)], left: &[(String, usize, Vec<u8>)]) -> u64 {
    let mut different = 0;
    for (path, size, elements) in whole {
        let Some((_, _, found)) = left.iter().find(|(other, ..)| other == path) else { continue };
        let pairs = elements.chunks_exact(*size).zip(found.chunks_exact(*size));
        different += pairs.filter(|(a, b)| a != b).count() as u64;
    }
    different
}

/// Changes a bit.
fn flip(bytes: &mut [u8], at: usize, bit: usize) {
    let at = at % bytes.len();
    bytes[at] ^= 1 << (bit % 8);
}

#[test]
fn what_is_left_of_files_that_were_cut_or_damaged_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.h5");
    let mut chance = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = move || {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        usize::try_from(chance >> 32).unwrap()
    };
    for format in ["hdf5", "asdf", "blosc2", "gsd", "rawarray"] {
        let (mut written, mut lost, mut says_so) = (0, 0, 0);
        let mut files = sources(format);
        if format == "rawarray" {
            // Its fixtures are little more than headers.
            let values: Vec<f64> = (0..1000).map(f64::from).collect();
            files.push(dir.path().join("made.ra"));
            crate::common::raw_array(&dir.path().join("made.ra"), &[50, 20], &values);
        }
        for path in files {
            let bytes = fs::read(&path).unwrap();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let Some((whole, _)) = rescued(bytes.clone(), &output) else { continue };
            for time in 1..=TIMES {
                let cut = bytes.len() * time / (TIMES + 1);
                // What is left may be a file of its own: the first line of an ASDF file is one.
                if File::from_bytes(&bytes[..cut]).is_ok_and(|file| file.cut_short().is_none()) {
                    continue;
                }
                let Some((left, losses)) = rescued(bytes[..cut].to_vec(), &output) else { continue };
                written += 1;
                lost += told(&losses);
                let mut reasons = losses.iter().filter_map(|loss| loss.lost.as_ref());
                says_so +=
                    usize::from(told(&losses) > 0 && reasons.all(|lost| lost.reason.contains("cut short: ")));
                assert!(!losses.is_empty(), "{name}, {cut} bytes of {}: nothing is told", bytes.len());
                if losses.iter().any(|loss| loss.what.contains("wrong positions")) {
                    continue;
                }
                let different = different(&whole, &left);
                assert!(
                    different <= told(&losses),
                    "{name}, {cut} bytes: {different} differ, of {}",
                    told(&losses)
                );
            }
            for _ in 0..TIMES {
                let mut damaged = bytes.clone();
                (0..3).for_each(|_| flip(&mut damaged, next(), next()));
                if rescued(damaged, &output).is_some() {
                    written += 1;
                }
            }
        }
        assert!(written > 0 && lost > 0, "{format}: {written} were written, {lost} elements told to be lost");
        assert!(says_so > 0, "{format}: no loss names the cut");
        println!("crash matrix: {format}: rescue: {written} rescues");
    }
}

/// Four chunks of numbers that nothing makes small.
fn frame(chunks: u32) -> Vec<u8> {
    let mut frame = cframe::SChunk::new(cframe::Params::new(4).with_level(0));
    for chunk in 0..chunks {
        let numbers = (0..500).flat_map(|number| (chunk * 500 + number).to_le_bytes());
        frame.append(&numbers.collect::<Vec<u8>>()).unwrap();
    }
    frame.set_vlmeta("history", b"made in May").unwrap();
    frame.to_bytes().unwrap()
}

#[test]
fn the_chunks_of_a_cut_frame_are_found_without_its_index() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let bytes = frame(4);
    let left = bytes.len() * 3 / 4;
    fs::write(dir.join("f.b2frame"), &bytes[..left]).unwrap();
    let program = Program::at(dir);
    let grouped = |number: usize| format!("{},{:03}", number / 1000, number % 1000);
    let cut = format!("cut short: {} of {} bytes", grouped(left), grouped(bytes.len()));
    for command in [["convert", "f.b2frame", "g.npy"], ["convert", "f.b2frame", "g.b2frame"]] {
        let refused = program.stdout(1, &command);
        assert!(refused.contains(&cut) && refused.contains("not written"), "{refused}");
    }
    assert!(program.stdout(1, &["verify", "f.b2frame"]).contains(&cut));
    assert!(program.stderr(3, &["cat", "f.b2frame"]).contains(&cut));
    assert!(program.stderr(3, &["repack", "f.b2frame", "g.b2frame"]).contains(&cut));
    for command in [
        ["convert", "f.b2frame", "g.npy", "--lossy", "--json"],
        ["repack", "f.b2frame", "g.b2frame", "--lossy", "--json"],
    ] {
        let told = program.stdout(0, &command);
        let lines: Vec<serde_json::Value> =
            told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let lost: Vec<_> = lines.iter().filter(|line| line["reason"].is_string()).collect();
        assert_eq!(lost.len(), 1, "{told}");
        assert_eq!((&lost[0]["chunk"], &lost[0]["bytes"]), (&serde_json::json!([3]), &2000.into()));
        assert!(lost[0]["reason"].as_str().unwrap().contains(&cut), "{told}");
        assert!(told.contains("metalayers of variable length"), "{told}");
        assert_eq!(lines.last().unwrap()["written"], true);
        let kept = sciformats::open(dir.join(command[2])).unwrap();
        let array = kept.array("/").unwrap();
        let mut elements = Vec::new();
        kept.read(array.id(), &array.all().unwrap(), &mut elements).unwrap();
        let expected: Vec<u8> = (0..1500u32).flat_map(u32::to_le_bytes).chain([0; 2000]).collect();
        assert_eq!(elements, expected);
        fs::remove_file(dir.join(command[2])).unwrap();
    }
}

#[test]
fn a_damaged_end_of_a_frame_does_not_cost_its_chunks() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut bytes = frame(2);
    let end = bytes.len();
    bytes[end - 30..].fill(0xFF);
    assert!(matches!(File::from_bytes(bytes.clone()), Err(Error::Malformed { .. })));
    fs::write(dir.join("f.b2frame"), &bytes).unwrap();
    let program = Program::at(dir);
    assert!(program.stdout(1, &["verify", "f.b2frame"]).contains("frame trailer"));
    assert!(program.stdout(1, &["convert", "f.b2frame", "g.npy"]).contains("frame trailer"));
    let told = program.stdout(0, &["repack", "f.b2frame", "g.b2frame", "--lossy"]);
    assert!(told.contains("frame trailer") && told.contains("metalayers of variable length"), "{told}");
    let kept = cframe::Frame::open(dir.join("g.b2frame")).unwrap();
    let mut elements = vec![0; 4000];
    kept.read_bytes(0, &mut elements).unwrap();
    assert_eq!(elements, (0..1000u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
}

#[test]
fn what_is_said_of_a_cut_file_says_that_it_is_cut() {
    use sciformats::{gsd_rs, hdf5_pure};
    let dir = tempfile::tempdir().unwrap();
    let program = Program::at(dir.path());
    let values: Vec<f64> = (0..60_000).map(f64::from).collect();
    crate::common::raw_array(&dir.path().join("whole.ra"), &[60_000], &values);
    let mut file = hdf5_pure::Writer::create(dir.path().join("whole.h5")).unwrap();
    file.dataset("a").shape([60_000]).chunks([1000]).write(&values).unwrap();
    file.finish().unwrap();
    let options = gsd_rs::CreateOptions::new("tests", "numbers", gsd_rs::Version::new(1, 0));
    let mut file = gsd_rs::Writer::create(dir.path().join("whole.gsd"), &options).unwrap();
    for part in values.chunks(1000) {
        file.write("a", 1, part).unwrap();
        file.end_frame().unwrap();
    }
    file.finish().unwrap();
    for to in ["whole.asdf", "whole.b2nd", "whole.npy"] {
        program.stdout(0, &["convert", "whole.ra", to]);
    }
    for ending in ["h5", "gsd", "ra", "asdf", "npy", "b2nd"] {
        let bytes = fs::read(dir.path().join(format!("whole.{ending}"))).unwrap();
        let (cut, new) = (format!("cut.{ending}"), format!("new.{ending}"));
        let left = bytes.len() / 2;
        fs::write(dir.path().join(&cut), &bytes[..left]).unwrap();
        for args in [
            &["verify", &cut][..],
            &["repack", &cut, &new],
            &["repack", &cut, &new, "--dry-run"],
            &["convert", &cut, &new],
            &["convert", &cut, &new, "--dry-run"],
            &["convert", &cut, "other.h5"],
            &["convert", &cut, "other.h5", "--dry-run"],
        ] {
            let output = program.run(args);
            assert!(!output.status.success(), "{args:?}");
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8(said).unwrap();
            assert!(said.contains("cut short: ") && said.contains(" of "), "{args:?}: {said}");
        }
        assert!(!dir.path().join(&new).exists() && !dir.path().join("other.h5").exists());
    }
}

#[test]
fn salvage_reports_when_nothing_is_left_and_writes_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lost.gsd");
    fs::write(&path, [0xA5; 5000]).unwrap();
    let output = Program::at(dir.path()).run(&["salvage", "lost.gsd", "clean.gsd"]);
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(1), "{out}\n{err}");
    assert!(out.contains("overwritten head: the magic number is not that of GSD"), "{out}");
    assert!(err.contains("clean.gsd is not written, because nothing is left for it"), "{err}");
    assert!(!dir.path().join("clean.gsd").exists());
    assert_eq!(fs::read(&path).unwrap(), [0xA5; 5000]);
}

#[test]
fn a_damaged_file_is_never_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lost.ra");
    crate::common::raw_array(&path, &[20, 30], &vec![1.5; 600]);
    let mut bytes = fs::read(&path).unwrap();
    bytes[32] ^= 4; // the size of the elements, which can be mended
    fs::write(&path, &bytes).unwrap();
    fs::write(dir.path().join("precious.svg"), "precious").unwrap();
    let status = |args: &[&str]| Program::at(dir.path()).run(args).status.code();
    for args in [
        &["salvage", "-f", "lost.ra", "lost.ra"][..],
        &["salvage", "-f", "lost.ra", "./lost.ra"],
        &["salvage", "-f", "lost.ra", "--map", "lost.ra"],
        &["salvage", "lost.ra", "--map", "precious.svg"],
        &["salvage", "lost.ra", "new.ra", "--map", "new.ra"],
        &["verify", "--repair-plan", "lost.ra", "--repair-to", "lost.ra", "-f"],
    ] {
        assert_eq!(status(args), Some(2), "{args:?}");
    }
    assert_eq!(fs::read(&path).unwrap(), bytes);
    assert_eq!(fs::read(dir.path().join("precious.svg")).unwrap(), b"precious");
    assert!(!dir.path().join("new.ra").exists());
    assert_eq!(status(&["salvage", "-f", "lost.ra", "--map", "precious.svg"]), Some(1));
    assert!(fs::read(dir.path().join("precious.svg")).unwrap().starts_with(b"<svg"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("lost.ra", dir.path().join("link.ra")).unwrap();
        assert_eq!(status(&["salvage", "-f", "lost.ra", "--map", "link.ra"]), Some(2));
    }
}

#[test]
fn a_missing_chunk_file_of_a_folder_costs_its_chunk_only() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut frame = cframe::SChunk::create_sparse(dir.join("f.b2frame"), cframe::Params::new(4)).unwrap();
    for chunk in 0..4u32 {
        let numbers = (0..500).flat_map(|number| (chunk * 500 + number).to_le_bytes());
        frame.append(&numbers.collect::<Vec<u8>>()).unwrap();
    }
    frame.commit().unwrap();
    drop(frame);
    fs::remove_file(dir.join("f.b2frame/00000002.chunk")).unwrap();
    let program = Program::at(dir);
    let missing = "names a file that is missing in the folder";
    assert!(program.stderr(3, &["convert", "f.b2frame", "g.npy"]).contains(missing));
    assert!(program.stdout(1, &["verify", "f.b2frame"]).contains(missing));
    for args in [
        ["convert", "f.b2frame", "g.npy", "--lossy"],
        ["convert", "f.b2frame", "g.b2frame", "--lossy"],
        ["repack", "f.b2frame", "h.b2frame", "--lossy"],
    ] {
        let told = program.stdout(0, &args);
        assert!(told.contains("chunk (2), 2000 bytes") && told.contains(missing), "{told}");
        let kept = sciformats::open(dir.join(args[2])).unwrap();
        let array = kept.array("/").unwrap();
        let mut elements = Vec::new();
        kept.read(array.id(), &array.all().unwrap(), &mut elements).unwrap();
        let expected = (0..2000u32).map(|number| if number / 500 == 2 { 0 } else { number });
        assert_eq!(elements, expected.flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    }
}
