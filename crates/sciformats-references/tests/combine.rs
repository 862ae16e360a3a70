//! Files that are joined along a dimension, and what does not fit.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::expect_used)]

use sciformats::File;
use sciformats::hdf5_pure::{CreateOptions, Writer};
use sciformats_references::{Options, Part, Place, Report, Treatment, VirtualArray, combine, kerchunk};
use serde_json::Value;

#[allow(dead_code, reason = "another test needs the rest of it")]
mod support;

/// How a file is made.
#[derive(Clone, Copy)]
struct Day {
    start: i32,
    rows: u64,
    chunk: Option<u64>,
    units: &'static str,
    shift: i32,
}

const DAY: Day = Day { start: 0, rows: 6, chunk: Some(3), units: "K", shift: 0 };

fn values(day: Day) -> Vec<i32> {
    (0..day.rows as i32 * 4).map(|i| day.start * 4 + i).collect()
}

fn written(day: Day) -> Vec<u8> {
    let mut writer = Writer::in_memory(&CreateOptions::default()).unwrap();
    let times: Vec<i32> = (0..day.rows as i32).map(|i| day.start + i).collect();
    let time = writer.dataset("time").attribute("units", "hours since 2026-01-01").write(&times).unwrap();
    let places: Vec<i32> = (0..4).map(|i| i * 10 + day.shift).collect();
    let place = writer.dataset("place").write(&places).unwrap();
    let heat = writer.dataset("heat").shape([day.rows, 4]).attribute("units", day.units);
    let heat = match day.chunk {
        Some(side) => heat.chunks([side, 4]).deflate(6),
        None => heat.contiguous(),
    };
    let heat = heat.write(&values(day)).unwrap();
    writer.make_scale(time, "time").unwrap();
    writer.make_scale(place, "place").unwrap();
    writer.attach_scale(heat, 0, time).unwrap();
    writer.attach_scale(heat, 1, place).unwrap();
    writer.into_bytes().unwrap()
}

fn combined(days: &[Day]) -> sciformats::Result<(Vec<VirtualArray>, Report, Vec<Vec<u8>>)> {
    let bytes: Vec<Vec<u8>> = days.iter().map(|day| written(*day)).collect();
    let files: Vec<File> = bytes.iter().map(|bytes| File::from_bytes(bytes.clone()).unwrap()).collect();
    let names: Vec<String> = (0..files.len()).map(|number| format!("{number}.nc")).collect();
    let parts: Vec<Part<'_>> = files.iter().zip(&names).map(|(file, name)| Part { file, name }).collect();
    let mut found = support::Collected::default();
    let mut options = Options::new("");
    options.inline = 256;
    let report = combine(&parts, "time", &options, &mut found)?;
    Ok((found.arrays, report, bytes))
}

/// The chunks of all files in one piece, with offsets that count from the first file on.
fn assembled(array: &VirtualArray, files: &[Vec<u8>]) -> Vec<u8> {
    let mut moved = array.clone();
    if array.chunks.iter().any(|(_, place)| matches!(place, Place::Range { .. })) {
        moved.chunks = sciformats_references::Chunks::new(array.chunks.grid().to_vec());
    }
    for (number, place) in array.chunks.iter() {
        if let Place::Range { file, offset, length } = place {
            let before: usize = files[..file as usize].iter().map(Vec::len).sum();
            moved.chunks.push(number, before as u64 + offset, length);
        }
    }
    support::assemble(&moved, &files.concat()).unwrap().into_iter().map(Option::unwrap).collect()
}

fn treatment<'a>(report: &'a Report, path: &str) -> &'a Treatment {
    &report.entries.iter().find(|entry| entry.path == path).unwrap().treatment
}

fn array<'a>(arrays: &'a [VirtualArray], path: &str) -> &'a VirtualArray {
    arrays.iter().find(|array| array.path == path).unwrap()
}

fn bytes_of(days: &[Day]) -> Vec<u8> {
    days.iter().flat_map(|day| values(*day)).flat_map(i32::to_le_bytes).collect()
}

#[test]
fn chunks_that_fill_the_files_are_referenced_one_after_another() {
    let days = [DAY, Day { start: 6, ..DAY }, Day { start: 12, rows: 5, ..DAY }];
    let (arrays, report, files) = combined(&days).unwrap();
    assert!(report.is_complete());
    let heat = array(&arrays, "/heat");
    assert_eq!((heat.shape.as_slice(), heat.chunk_shape.as_slice()), (&[17, 4][..], &[3, 4][..]));
    assert_eq!(assembled(heat, &files), bytes_of(&days));
    let time = array(&arrays, "/time");
    let wanted: Vec<u8> = (0..17i32).flat_map(i32::to_le_bytes).collect();
    assert_eq!(assembled(time, &files), wanted);
    assert_eq!(array(&arrays, "/place").shape, [4]);
}

#[test]
fn chunks_without_filters_are_divided_and_small_arrays_inlined() {
    let plain = Day { chunk: None, ..DAY };
    let days = [30, 20, 15].map(|rows| Day { rows, start: 0, ..plain });
    let days = [days[0], Day { start: 30, ..days[1] }, Day { start: 50, ..days[2] }];
    let (arrays, report, files) = combined(&days).unwrap();
    let heat = array(&arrays, "/heat");
    assert_eq!(treatment(&report, "/heat").word(), "referenced");
    assert_eq!(assembled(heat, &files), bytes_of(&days));
    // The first file does not end with a chunk, and chunks with filters cannot be divided.
    let days = [Day { rows: 5, ..DAY }, Day { start: 5, ..DAY }];
    let (arrays, report, files) = combined(&days).unwrap();
    assert_eq!(treatment(&report, "/heat").word(), "inlined");
    assert_eq!(assembled(array(&arrays, "/heat"), &files), bytes_of(&days));
    let days = [Day { rows: 50, ..DAY }, Day { start: 50, ..DAY }];
    assert_eq!(treatment(&combined(&days).unwrap().1, "/heat").word(), "refused");
}

#[test]
fn what_differs_is_told() {
    let next = Day { start: 6, ..DAY };
    let refused = |day: Day, path: &str, why: &str| {
        let (arrays, report, _) = combined(&[DAY, day]).unwrap();
        let said = treatment(&report, path).to_string();
        assert!(said.contains(why) && said.contains("1.nc"), "{said}");
        assert!(arrays.iter().all(|array| array.path != path));
    };
    refused(Day { units: "degC", ..next }, "/heat", "the unit differs");
    refused(Day { shift: 1, ..next }, "/place", "its elements differ");
    refused(Day { chunk: None, ..next }, "/heat", "a filter differs");
    let error = combined(&[next, DAY, Day { start: 12, ..DAY }]).unwrap_err();
    assert!(error.to_string().contains("are not in order"), "{error}");
    assert!(combined(&[]).is_err());
}

#[test]
fn each_file_has_a_template() {
    let bytes = [written(DAY), written(Day { start: 6, ..DAY })];
    let files = bytes.map(|bytes| File::from_bytes(bytes).unwrap());
    let parts = [Part { file: &files[0], name: "a" }, Part { file: &files[1], name: "b" }];
    let mut out = Vec::new();
    let mut writer = kerchunk::Writer::new(&mut out, &["s3://a".into(), "s3://b".into()]).unwrap();
    combine(&parts, "time", &Options::new(""), &mut writer).unwrap();
    writer.finish().unwrap();
    let json: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!((&json["templates"]["u0"], &json["templates"]["u1"]), (&"s3://a".into(), &"s3://b".into()));
    assert_eq!(json["refs"]["heat/0.0"][0], "{{u0}}");
    assert_eq!(json["refs"]["heat/3.0"][0], "{{u1}}");
}
