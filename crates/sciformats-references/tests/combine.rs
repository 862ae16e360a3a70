//! Files that are joined along a dimension, and what does not fit.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::expect_used)]

use sciformats::File;
use sciformats::hdf5_pure::{CreateOptions, Writer};
use sciformats_references::{
    Options, Part, Place, Report, Treatment, VirtualArray, combine, extend, kerchunk, virtual_arrays,
};
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
    since: &'static str,
    shift: i32,
}

const DAY: Day =
    Day { start: 0, rows: 6, chunk: Some(3), units: "K", since: "hours since 2026-01-01", shift: 0 };

fn values(day: Day) -> Vec<i32> {
    (0..day.rows as i32 * 4).map(|i| day.start * 4 + i).collect()
}

fn written(day: Day) -> Vec<u8> {
    let mut writer = Writer::in_memory(&CreateOptions::default()).unwrap();
    let times: Vec<i32> = (0..day.rows as i32).map(|i| day.start + i).collect();
    let time = writer.dataset("time").attribute("units", day.since).write(&times).unwrap();
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

/// References to the files as JSON.
fn json(days: &[Day], first: usize, before: Option<&[u8]>) -> sciformats::Result<(Vec<u8>, Report)> {
    let files: Vec<File> = days.iter().map(|day| File::from_bytes(written(*day)).unwrap()).collect();
    let names: Vec<String> = (0..files.len()).map(|number| format!("{}.nc", first + number)).collect();
    let parts: Vec<Part<'_>> = files.iter().zip(&names).map(|(file, name)| Part { file, name }).collect();
    let existing = before.map(|json| kerchunk::read(json).unwrap());
    let mut urls = existing.as_ref().map(|existing| existing.urls.clone()).unwrap_or_default();
    urls.extend(names.iter().map(|name| format!("s3://bucket/{name}")));
    let mut out = Vec::new();
    let mut writer = kerchunk::Writer::new(&mut out, &urls)?;
    let mut options = Options::new("");
    options.inline = 256;
    // The files before are those of the days before, each with its number in the URL.
    let open = |url: &str| {
        let number: i32 = url.trim_start_matches("s3://bucket/").trim_end_matches(".nc").parse().unwrap();
        Ok(File::from_bytes(written(Day { start: number * 6, ..DAY })).unwrap())
    };
    let report = match &existing {
        Some(existing) => extend(existing, &open, &parts, ("time", &options), &mut writer)?,
        None => combine(&parts, "time", &options, &mut writer)?,
    };
    writer.finish()?;
    Ok((out, report))
}

#[test]
fn files_that_come_later_are_added() {
    let days: Vec<Day> = (0..13).map(|number| Day { start: number * 6, ..DAY }).collect();
    let (all, _) = json(&days, 0, None).unwrap();
    let (before, _) = json(&days[..11], 0, None).unwrap();
    let (added, report) = json(&days[11..], 11, Some(&before)).unwrap();
    assert!(report.is_complete());
    let parsed = |json: &[u8]| serde_json::from_slice::<Value>(json).unwrap();
    assert_eq!(parsed(&added), parsed(&all));
    // What does not follow the files before is refused as a whole.
    let error = json(&[days[5]], 11, Some(&before)).unwrap_err();
    assert!(error.to_string().contains("are not in order"), "{error}");
    for wrong in
        ["{", "{}", r#"{"version":1,"refs":{"a/0":["x",1,2]}}"#, r#"{"version":1,"gen":[],"refs":{}}"#]
    {
        assert!(kerchunk::read(wrong.as_bytes()).is_err(), "{wrong}");
    }
}

#[test]
fn time_in_other_units_is_converted() {
    let days = [DAY, Day { start: 0, since: "hours since 2026-01-01 06:00", ..DAY }];
    let (arrays, report, _) = combined(&days).unwrap();
    let Treatment::Inlined { reason, .. } = treatment(&report, "/time") else { panic!("{report:?}") };
    assert!(reason.contains("different units"));
    let (_, place) = array(&arrays, "/time").chunks.iter().next().unwrap();
    let wanted: Vec<u8> = (0..12i32).flat_map(i32::to_le_bytes).collect();
    assert_eq!(place, Place::Bytes(&wanted));
    // Half an hour is no whole number of hours.
    let days = [DAY, Day { start: 0, since: "hours since 2026-01-01 06:30", ..DAY }];
    assert_eq!(treatment(&combined(&days).unwrap().1, "/time").word(), "refused");
    // Another calendar has no common units.
    let days = [DAY, Day { start: 6, since: "K", ..DAY }];
    assert_eq!(treatment(&combined(&days).unwrap().1, "/time").word(), "refused");
}

#[test]
fn virtual_datasets_need_no_common_chunks() {
    let days = [
        DAY,
        Day { start: 6, rows: 5, chunk: None, ..DAY },
        Day { start: 0, since: "hours since 2026-01-01 11:00", ..DAY },
    ];
    let files: Vec<File> = days.iter().map(|day| File::from_bytes(written(*day)).unwrap()).collect();
    let parts: Vec<Part<'_>> = files.iter().map(|file| Part { file, name: "day" }).collect();
    let (arrays, report) = virtual_arrays(&parts, "time").unwrap();
    assert!(report.is_complete(), "{report:?}");
    let found = |path: &str| arrays.iter().find(|array| array.path == path).unwrap();
    assert_eq!(found("/heat").along, Some((0, vec![6, 5, 6])));
    assert_eq!((&found("/place").along, &found("/heat").values), (&None, &None));
    assert_eq!(found("/time").values.clone().unwrap(), (0..17).map(f64::from).collect::<Vec<_>>());
}
