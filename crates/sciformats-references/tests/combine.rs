//! Files that are joined along a dimension, and what does not fit.

use crate::support;
use sciformats::File;
use sciformats::hdf5_pure::{CreateOptions, ObjectId, Writer};
use sciformats_references::{
    Along, Files, NamePattern, Options, Part, Place, Report, Treatment, VirtualArray, combine, combine_files,
    extend, kerchunk, virtual_arrays,
};
use serde_json::Value;

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
    refused(Day { chunk: None, rows: 60, ..next }, "/heat", "a filter differs");
    refused(Day { units: "K", chunk: Some(60), rows: 60, ..next }, "/heat", "they have 60 rows in 1.nc");
    // What is stored in another way only is inlined, if it is small.
    let (arrays, report, files) = combined(&[DAY, Day { chunk: None, ..next }]).unwrap();
    assert_eq!(treatment(&report, "/heat").word(), "inlined");
    assert_eq!(assembled(array(&arrays, "/heat"), &files), bytes_of(&[DAY, next]));
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

/// References to the files as JSON. Files before them are six rows long each.
fn json(days: &[Day], first: usize, before: Option<&[u8]>) -> sciformats::Result<(Vec<u8>, Report)> {
    json_after(days, first, before, &|number| Day { start: number as i32 * 6, ..DAY })
}

fn json_after(
    days: &[Day],
    first: usize,
    before: Option<&[u8]>,
    earlier: &(dyn Fn(usize) -> Day + Sync),
) -> sciformats::Result<(Vec<u8>, Report)> {
    let files: Vec<File> = days.iter().map(|day| File::from_bytes(written(*day)).unwrap()).collect();
    let names: Vec<String> = (0..files.len()).map(|number| format!("{}.nc", first + number)).collect();
    let parts: Vec<Part<'_>> = files.iter().zip(&names).map(|(file, name)| Part { file, name }).collect();
    let existing = before.map(|json| kerchunk::read(json).unwrap());
    let later = |number: usize| Ok(File::from_bytes(written(days[number])).unwrap());
    let later = Files { names: &names, open: &later, at_once: 3 };
    let mut urls = existing.as_ref().map(|existing| existing.urls.clone()).unwrap_or_default();
    urls.extend(names.iter().map(|name| format!("s3://bucket/{name}")));
    let mut out = Vec::new();
    let mut writer = kerchunk::Writer::new(&mut out, &urls)?;
    let mut options = Options::new("");
    options.inline = 256;
    // The files before are those of the days before, each with its number in the URL.
    let open = |url: &str| {
        let number: usize = url.trim_start_matches("s3://bucket/").trim_end_matches(".nc").parse().unwrap();
        Ok(File::from_bytes(written(earlier(number))).unwrap())
    };
    let report = match &existing {
        Some(existing) => extend(existing, &open, &later, ("time", &options), &mut writer)?,
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

/// A file of an enumeration along time.
fn coloured(start: i32, names: [(&str, i64); 2]) -> Vec<u8> {
    use sciformats::hdf5_pure::{Datatype, Slab};

    let mut writer = Writer::in_memory(&CreateOptions::default()).unwrap();
    let time = writer.dataset("time").write(&[start, start + 1]).unwrap();
    let datatype = Datatype::enumeration(&Datatype::signed(1), names).unwrap();
    let mut made = writer.dataset("colour").datatype(datatype).shape([2]).create_encoded().unwrap();
    let id = made.id();
    let encode = |to: &mut sciformats::hdf5_pure::values::Encoder<'_>| {
        to.bytes(&[0, 1]);
        Ok(())
    };
    made.write_encoded(&Slab::all(&[2]).unwrap(), encode).unwrap();
    drop(made);
    writer.make_scale(time, "time").unwrap();
    writer.attach_scale(id, 0, time).unwrap();
    writer.into_bytes().unwrap()
}

#[test]
fn files_that_come_later_have_the_same_names_of_values() {
    let names = [("RED", 0), ("BLUE", 1)];
    let combined = |files: &[Vec<u8>], before: Option<&[u8]>| -> sciformats::Result<Vec<u8>> {
        let shown: Vec<String> = (0..files.len()).map(|number| format!("{number}.h5")).collect();
        let opened: Vec<File> = files.iter().map(|file| File::from_bytes(file.clone()).unwrap()).collect();
        let parts: Vec<Part<'_>> =
            opened.iter().zip(&shown).map(|(file, name)| Part { file, name }).collect();
        let existing = before.map(|json| kerchunk::read(json).unwrap());
        let open = |_: &str| Ok(File::from_bytes(coloured(0, names)).unwrap());
        let later = |number: usize| Ok(File::from_bytes(files[number].clone()).unwrap());
        let later = Files { names: &shown, open: &later, at_once: 1 };
        let mut urls = existing.as_ref().map(|existing| existing.urls.clone()).unwrap_or_default();
        urls.extend(shown.iter().cloned());
        let mut out = Vec::new();
        let mut writer = kerchunk::Writer::new(&mut out, &urls)?;
        let options = Options::new("");
        match &existing {
            Some(existing) => extend(existing, &open, &later, ("time", &options), &mut writer)?,
            None => combine(&parts, "time", &options, &mut writer)?,
        };
        writer.finish()?;
        Ok(out)
    };
    let before = combined(&[coloured(0, names)], None).unwrap();
    let json: Value = serde_json::from_slice(&before).unwrap();
    let attributes = json["refs"]["colour/.zattrs"].as_str().unwrap();
    let attributes: Value = serde_json::from_str(attributes).unwrap();
    assert_eq!(attributes["enumeration"], serde_json::json!({"RED": 0, "BLUE": 1}));
    combined(&[coloured(2, names)], Some(&before)).unwrap();
    let error = combined(&[coloured(2, [("RED", 1), ("BLUE", 0)])], Some(&before)).unwrap_err().to_string();
    assert!(error.contains("the names of its values differ in 0.h5"), "{error}");
    // References of older versions do not tell the names.
    let text = String::from_utf8(before).unwrap().replace("enumeration", "note");
    combined(&[coloured(2, [("RED", 1), ("BLUE", 0)])], Some(text.as_bytes())).unwrap();
}

#[test]
fn files_whose_last_chunk_is_not_full_are_added() {
    // 240 and 144 bytes of elements, of which 256 may be inlined: first they are, and with more files the chunks are divided.
    for (chunk, rows) in [(Some(3), [5, 7, 4]), (None, [5, 10, 30]), (None, [30, 10, 25])] {
        let mut start = 0;
        let days = rows.map(|rows| {
            let day = Day { start, rows, chunk, ..DAY };
            start += rows as i32;
            day
        });
        let earlier = |number: usize| days[number];
        let mut grown = json_after(&days[..1], 0, None, &earlier).unwrap().0;
        for number in 1..3 {
            let (all, told) = json_after(&days[..=number], 0, None, &earlier).unwrap();
            grown = json_after(&days[number..=number], number, Some(&grown), &earlier).unwrap().0;
            let parsed = |json: &[u8]| serde_json::from_slice::<Value>(json).unwrap();
            assert!(told.is_complete());
            assert_eq!(parsed(&grown), parsed(&all), "{chunk:?} {rows:?}");
        }
    }
    // What no chunks of Zarr can express is told, and the references stay as they are.
    let days = [Day { rows: 50, ..DAY }, Day { start: 50, ..DAY }];
    let earlier = |number: usize| days[number];
    let (before, _) = json_after(&days[..1], 0, None, &earlier).unwrap();
    let error = json_after(&days[1..], 1, Some(&before), &earlier).unwrap_err().to_string();
    assert!(error.contains("/heat would be lost") && error.contains("has 2 of 3 rows"), "{error}");
}

fn named(
    files: &[Vec<u8>],
    names: &[&str],
    along: Along<'_>,
) -> sciformats::Result<(Vec<VirtualArray>, Report)> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let open = |number: usize| File::from_bytes(files[number].clone());
    let files = Files { names: &names, open: &open, at_once: 2 };
    let mut found = support::Collected::default();
    let report = combine_files(&files, along, &Options::new(""), &mut found)?;
    Ok((found.arrays, report))
}

#[test]
fn the_names_of_files_tell_the_coordinate() {
    let names = ["heat_20260131.h5", "heat_20260201.h5"];
    let steps = NamePattern::parse("heat_%Y%m%d.h5").unwrap().steps(names).unwrap();
    let along = Along { name: "time", steps: Some(&steps), runs: false };
    let day = |first: i32| {
        let mut writer = Writer::in_memory(&CreateOptions::default()).unwrap();
        let place = writer.dataset("place").write(&[1i32, 2, 3]).unwrap();
        let heat: Vec<i32> = (0..6).map(|i| first + i).collect();
        let heat = writer.dataset("heat").shape([2, 3]).chunks([2, 3]).deflate(1).write(&heat).unwrap();
        writer.make_scale(place, "place").unwrap();
        writer.attach_scale(heat, 1, place).unwrap();
        writer.into_bytes().unwrap()
    };
    let files = [day(0), day(6)];
    let (arrays, report) = named(&files, &names, along).unwrap();
    assert!(report.is_complete(), "{report:?}");
    let heat = array(&arrays, "/heat");
    assert_eq!((heat.shape.as_slice(), heat.chunk_shape.as_slice()), (&[2, 2, 3][..], &[1, 2, 3][..]));
    assert_eq!((heat.dimensions[0].as_str(), heat.dimensions[2].as_str()), ("time", "place"));
    let wanted: Vec<u8> = (0..12i32).flat_map(i32::to_le_bytes).collect();
    assert_eq!(assembled(heat, &files), wanted);
    assert_eq!(array(&arrays, "/place").shape, [3], "a coordinate is the same in all files");
    let time = array(&arrays, "/time");
    let days: Vec<u8> = [20484.0f64, 20485.0].iter().flat_map(|day| day.to_le_bytes()).collect();
    assert_eq!(time.chunks.iter().next(), Some((0, Place::Bytes(&days))));
    assert_eq!(time.attributes["units"], "days since 1970-01-01");
    // The order of the names is checked, and a file with several elements has no single name for them.
    let twice = NamePattern::parse("heat_%Y%m%d.h5").unwrap().steps([names[1], names[1]]).unwrap();
    let along = Along { steps: Some(&twice), ..along };
    assert!(named(&files, &names, along).unwrap_err().to_string().contains("are not in order"));
    let long = [written(DAY), written(Day { start: 6, ..DAY })];
    let error = named(&long, &names, Along { steps: Some(&steps), ..along }).unwrap_err().to_string();
    assert!(error.contains("has 6 elements along `time` in heat_20260131.h5"), "{error}");
}

#[test]
fn files_that_do_not_fit_become_several_groups() {
    let days = [
        Day { rows: 300, ..DAY },
        Day { start: 300, rows: 300, ..DAY },
        Day { start: 600, rows: 300, units: "degC", ..DAY },
        Day { start: 900, rows: 300, units: "degC", shift: 1, ..DAY },
    ];
    let files = days.map(written);
    let names = ["0.nc", "1.nc", "2.nc", "3.nc"];
    let along = Along { runs: true, ..Along::from("time") };
    let (arrays, report) = named(&files, &names, along).unwrap();
    assert!(report.is_complete(), "{report:?}");
    let found: Vec<_> = arrays.iter().filter(|array| array.path.ends_with("heat")).collect();
    let paths: Vec<_> = found.iter().map(|array| (array.path.as_str(), array.shape[0])).collect();
    assert_eq!(paths, [("/run1/heat", 600), ("/run2/heat", 300), ("/run3/heat", 300)]);
    for (array, days) in found.iter().zip([&days[..2], &days[2..3], &days[3..]]) {
        assert_eq!(assembled(array, &files), bytes_of(days));
    }
    // Files that fit have no groups.
    let (arrays, _) = named(&files[..2], &names[..2], along).unwrap();
    assert!(arrays.iter().any(|array| array.path == "/heat"));
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

/// A file that counts time from a date, with the bounds of its steps, and with another array that `more` writes.
fn bounded(since: &str, more: &dyn Fn(&mut Writer, ObjectId)) -> Vec<u8> {
    let mut writer = Writer::in_memory(&CreateOptions::default()).unwrap();
    let time = writer.dataset("time").attribute("units", since).attribute("bounds", "time_bnds");
    let time = time.write(&[0.5f64, 1.5]).unwrap();
    let bounds = writer.dataset("time_bnds").shape([2, 2]).attribute("_FillValue", -9.0);
    let bounds = bounds.write(&[0.0f64, 1.0, 1.0, -9.0]).unwrap();
    writer.make_scale(time, "time").unwrap();
    writer.attach_scale(bounds, 0, time).unwrap();
    more(&mut writer, time);
    writer.into_bytes().unwrap()
}

/// What becomes of two files in references, and in a virtual file.
fn both(files: [Vec<u8>; 2]) -> (Vec<VirtualArray>, Report, Vec<sciformats_references::Virtual>, Report) {
    let files = files.map(|bytes| File::from_bytes(bytes).unwrap());
    let parts = [Part { file: &files[0], name: "0.nc" }, Part { file: &files[1], name: "1.nc" }];
    let mut found = support::Collected::default();
    let report = combine(&parts, "time", &Options::new(""), &mut found).unwrap();
    let (shown, told) = virtual_arrays(&parts, "time").unwrap();
    (found.arrays, report, shown, told)
}

#[test]
fn bounds_count_what_their_coordinate_counts() {
    let file = |day: i32| {
        let since = format!("days since 2026-01-0{day}");
        bounded(&since, &|writer, _| {
            let start = writer.dataset("start").attribute("units", since.as_str());
            start.write(&[0.0f64]).unwrap();
        })
    };
    let (arrays, report, shown, told) = both([file(1), file(3)]);
    // A missing value is none of another day.
    let wanted = [0.0, 1.0, 1.0, -9.0, 2.0, 3.0, 3.0, -9.0];
    let bytes: Vec<u8> = wanted.iter().flat_map(|number: &f64| number.to_le_bytes()).collect();
    assert_eq!(array(&arrays, "/time_bnds").chunks.iter().next(), Some((0, Place::Bytes(&bytes))));
    let bounds = shown.iter().find(|array| array.path == "/time_bnds").unwrap();
    assert_eq!(bounds.values.as_deref(), Some(&wanted[..]));
    // The same number is another date.
    for report in [report, told] {
        let said = treatment(&report, "/start").to_string();
        assert!(said.contains("the unit differs in 1.nc"), "{said}");
    }
}

#[test]
fn what_readers_make_of_the_numbers_is_compared() {
    let since = |day: u32| format!("days since 2026-01-0{day}");
    let file = |day: u32, attributes: &[(&str, f64)]| {
        bounded(&since(day), &|writer, time| {
            let mut heat = writer.dataset("heat").shape([2]);
            for (name, value) in attributes {
                heat = heat.attribute(name, *value);
            }
            let heat = heat.write(&[7.0f64, 8.0]).unwrap();
            writer.attach_scale(heat, 0, time).unwrap();
        })
    };
    for (name, what) in [
        ("_FillValue", "the mark of missing values"),
        ("missing_value", "the mark of missing values"),
        ("_Unsigned", "the packing"),
        ("scale_factor", "the packing"),
        ("valid_min", "the valid range"),
    ] {
        for files in [[file(1, &[(name, 7.0)]), file(3, &[])], [file(1, &[]), file(3, &[(name, 7.0)])]] {
            let (_, report, _, told) = both(files);
            for report in [report, told] {
                let said = treatment(&report, "/heat").to_string();
                assert!(said.contains(&format!("{what} differs in 1.nc")), "{name}: {said}");
            }
        }
    }
    let (_, report, _, told) = both([file(1, &[("_FillValue", 7.0)]), file(3, &[("_FillValue", 7.0)])]);
    assert!(report.is_complete() && told.is_complete(), "{report:?}");
    // Months have no fixed length.
    let months = |month: u32| bounded(&format!("months since 2026-0{month}-01"), &|_, _| ());
    let (_, report, _, told) = both([months(1), months(3)]);
    for report in [report, told] {
        assert!(treatment(&report, "/time").to_string().contains("the unit differs in 1.nc"), "{report:?}");
    }
}

#[test]
fn variables_that_are_shorter_than_an_unlimited_dimension_keep_their_times() {
    let day = |rows: u64, start: i32| {
        let mut writer = Writer::in_memory(&CreateOptions::default()).unwrap();
        let times: Vec<i32> = (start..start + 4).collect();
        let time = writer.dataset("time").max_shape([None]).write(&times).unwrap();
        let heat = writer.dataset("heat").max_shape([None]);
        let heat = heat.write(&times[..rows as usize]).unwrap();
        writer.make_scale(time, "time").unwrap();
        writer.attach_scale(heat, 0, time).unwrap();
        writer.into_bytes().unwrap()
    };
    for rows in [[2, 2], [4, 2], [2, 4]] {
        let (_, report, shown, told) = both([day(rows[0], 0), day(rows[1], 4)]);
        let said = treatment(&report, "/heat").to_string();
        assert!(said.contains("it has only 2 of the 4 elements of time"), "{said}");
        assert!(told.is_complete(), "{told:?}");
        let heat = shown.iter().find(|array| array.path == "/heat").unwrap();
        assert_eq!((&heat.along, heat.rows.as_slice()), (&Some((0, vec![4, 4])), &rows[..]));
        let [(path, note)] = told.notes.as_slice() else { panic!("{told:?}") };
        let more = if rows == [2, 2] { ", and in 1 more" } else { "; those" };
        assert!(path == "/heat" && note.contains("has 2 of the 4 elements") && note.contains(more), "{note}");
    }
    let (_, report, shown, told) = both([day(4, 0), day(4, 4)]);
    assert!(report.is_complete() && shown.iter().all(|array| array.rows.is_empty()), "{report:?}");
    assert!(told.notes.is_empty(), "{told:?}");
}
