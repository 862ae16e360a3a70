//! References to HDF5 files of every layout and index, put together by a reader of its own.

use crate::support::{assemble, collect};
use sciformats::hdf5_pure::filters::{Filters, SzipCoding};
use sciformats::hdf5_pure::options::Bound;
use sciformats::hdf5_pure::{CreateOptions, Writer};
use sciformats::{File, Range, Slab};
use sciformats_references::{Place, Treatment, VirtualArray};

fn numbers(count: usize) -> Vec<i32> {
    (0..count as i32).map(|i| i.wrapping_mul(40_503) % 100_003).collect()
}

fn written(make: impl FnOnce(&mut Writer)) -> (File, Vec<u8>) {
    written_in(Bound::V110, make)
}

fn written_in(bound: Bound, make: impl FnOnce(&mut Writer)) -> (File, Vec<u8>) {
    let mut writer = Writer::in_memory(&CreateOptions::default().with_bound(bound)).unwrap();
    make(&mut writer);
    let bytes = writer.into_bytes().unwrap();
    (File::from_bytes(bytes.clone()).unwrap(), bytes)
}

fn one(arrays: &[VirtualArray], path: &str) -> VirtualArray {
    arrays.iter().find(|array| array.path == path).unwrap_or_else(|| panic!("there is no {path}")).clone()
}

fn bytes_of(values: &[i32]) -> Vec<Option<u8>> {
    values.iter().flat_map(|value| value.to_le_bytes()).map(Some).collect()
}

#[test]
fn chunks_of_every_index_are_ranges_with_the_right_bytes() {
    for bound in [Bound::Earliest, Bound::V110, Bound::V200] {
        let (file, bytes) = written_in(bound, |writer| {
            let values = numbers(77);
            let plain = writer.dataset("plain").shape([11, 7]);
            plain.write(&values).unwrap();
            writer.dataset("single").shape([11, 7]).chunks([11, 7]).write(&values).unwrap();
            writer.dataset("fixed").shape([11, 7]).chunks([4, 3]).write(&values).unwrap();
            let one_axis = writer.dataset("extensible").shape([11, 7]).max_shape([None, Some(7)]);
            one_axis.chunks([4, 3]).write(&values).unwrap();
            let both = writer.dataset("tree").shape([11, 7]).max_shape([None, None]);
            both.chunks([4, 3])
                .filters(Filters::new().shuffle().deflate(6).fletcher32())
                .write(&values)
                .unwrap();
        });
        let (found, report) = collect(&file);
        assert!(report.is_complete());
        for path in ["/plain", "/single", "/fixed", "/extensible", "/tree"] {
            let array = one(&found.arrays, path);
            assert!(array.chunks.iter().all(|(_, place)| matches!(place, Place::Range { .. })), "{path}");
            assert_eq!(array.dtype, "<i4");
            assert_eq!(assemble(&array, &bytes).unwrap(), bytes_of(&numbers(77)), "{bound:?} {path}");
        }
    }
}

#[test]
fn what_readers_of_zarr_cannot_decode_is_inlined() {
    // LZF makes these smaller, so that its filter is not skipped.
    let values: Vec<i32> = (0..64).map(|i| i % 4).collect();
    let (file, bytes) = written(|writer| {
        writer.dataset("compact").shape([64]).compact().write(&values).unwrap();
        writer.dataset("lzf").shape([64]).chunks([16]).lzf().write(&values).unwrap();
        let edges = writer.dataset("edges").shape([64]).chunks([48]).deflate(6).unfiltered_edges();
        edges.write(&values).unwrap();
        writer
            .dataset("offset")
            .shape([64])
            .chunks([16])
            .filters(Filters::new().scale_offset())
            .write(&values)
            .unwrap();
    });
    let (found, report) = collect(&file);
    for path in ["/compact", "/lzf", "/edges", "/offset"] {
        let entry = report.entries.iter().find(|entry| entry.path == path).unwrap();
        assert!(matches!(entry.treatment, Treatment::Inlined { .. }), "{path} is {}", entry.treatment);
        assert_eq!(assemble(&one(&found.arrays, path), &bytes).unwrap(), bytes_of(&values), "{path}");
    }
}

#[test]
fn missing_chunks_have_the_fill_value() {
    let (file, bytes) = written(|writer| {
        let dataset = writer.dataset("part").shape([10]).chunks([4]).fill(7i32);
        let mut dataset = dataset.create::<i32>().unwrap();
        dataset.write_slab(&Slab::new(&[10], [Range::new(4, 4)]).unwrap(), &[1i32, 2, 3, 4]).unwrap();
        writer.dataset("none").shape([3]).fill(5i32).create::<i32>().unwrap();
    });
    // Small ones are inlined, because readers would take the value for a mark of missing values.
    let (found, report) = collect(&file);
    let inlined = |entry: &sciformats_references::Entry| matches!(entry.treatment, Treatment::Inlined { .. });
    assert!(report.entries.iter().all(inlined) && report.notes.is_empty(), "{report:?}");
    let part = one(&found.arrays, "/part");
    assert!(part.fill.is_null());
    assert_eq!(assemble(&part, &bytes).unwrap(), bytes_of(&[7, 7, 7, 7, 1, 2, 3, 4, 7, 7]));
    let mut options = sciformats_references::Options::new("a.h5");
    options.inline = 0;
    let (found, report) = crate::support::collect_with(&file, &options);
    assert_eq!(report.notes.len(), 2, "{report:?}");
    let part = one(&found.arrays, "/part");
    assert_eq!(part.fill, 7);
    let values = assemble(&part, &bytes).unwrap();
    assert_eq!(values.iter().filter(|byte| byte.is_none()).count(), 6 * 4);
    assert_eq!(values[16..32], bytes_of(&[1, 2, 3, 4]));
    let none = one(&found.arrays, "/none");
    assert_eq!((none.fill, none.chunks.len()), (5.into(), 0));
}

#[test]
fn large_contiguous_arrays_are_divided_evenly() {
    let values: Vec<u8> = (0..40u32 << 20).map(|i| (i >> 12) as u8).collect();
    let (file, bytes) = written(|writer| {
        writer.dataset("large").shape([40, 1 << 20]).contiguous().write(&values).unwrap();
    });
    let (found, _) = collect(&file);
    let large = one(&found.arrays, "/large");
    assert!(large.chunks.len() >= 3 && 40 % large.chunk_shape[0] == 0, "{:?}", large.chunk_shape);
    let mut at = 0;
    for (_, place) in large.chunks.iter() {
        let Place::Range { offset, length, .. } = place else { panic!("{place:?}") };
        let (offset, length) = (offset as usize, length as usize);
        assert_eq!(bytes[offset..offset + length], values[at..at + length]);
        at += length;
    }
    assert_eq!(at, values.len());
}

#[test]
fn every_link_is_in_the_report_and_every_group_in_the_store() {
    let (file, _) = written(|writer| {
        let x = writer.dataset("a/x").write(&[1i32, 2]).unwrap();
        writer.group("b").unwrap();
        writer.root().hard_link("b/again", x).unwrap();
        writer.root().soft_link("soft", "/a/x").unwrap();
        writer.root().external_link("elsewhere", "other.h5", "/x").unwrap();
    });
    let (found, report) = collect(&file);
    assert_eq!(found.groups, ["/", "/a", "/b"]);
    let mut words: Vec<(&str, &str)> =
        report.entries.iter().map(|entry| (entry.path.as_str(), entry.treatment.word())).collect();
    words.sort_unstable();
    assert_eq!(
        words,
        [("/a/x", "referenced"), ("/b/again", "referenced"), ("/elsewhere", "link"), ("/soft", "link")]
    );
}

#[test]
fn pipelines_without_a_codec_of_zarr_are_undone_by_one_of_ours() {
    use sciformats::hdf5_pure::filters::Registry;
    use sciformats::hdf5_pure::structure::{FilterDescription, Pipeline};
    use sciformats_references::{Options, scan};

    let values = numbers(70);
    let (file, bytes) = written(|writer| {
        let mut add = |name: &str, filters: Filters| {
            writer.dataset(name).shape([7, 10]).chunks([4, 4]).filters(filters).write(&values).unwrap();
        };
        add("lzf", Filters::new().lzf());
        add("lz4", Filters::new().shuffle().lz4());
        add("szip", Filters::new().szip(SzipCoding::Differences, 16));
        add("scaled", Filters::new().scale_offset());
        writer
            .dataset("edges")
            .shape([7, 10])
            .chunks([4, 4])
            .unfiltered_edges()
            .deflate(6)
            .write(&values)
            .unwrap();
        let mut mixed =
            writer.dataset("mixed").shape([16]).chunks([8]).shuffle().deflate(6).create::<i32>().unwrap();
        mixed.write_chunk_values(&[0], &[7i32; 8]).unwrap();
        // The second chunk skips both filters.
        let plain: Vec<u8> = values[..8].iter().flat_map(|value| value.to_le_bytes()).collect();
        mixed.write_chunk(&[1], 3, &plain).unwrap();
    });
    let mut found = crate::support::Collected::default();
    let mut options = Options::new("file:///a.h5").with_codecs(true);
    options.inline = 0;
    let report = scan(&file, &options, &mut found).unwrap();
    for name in ["lzf", "lz4", "szip", "scaled", "edges", "mixed"] {
        let array = one(&found.arrays, &format!("/{name}"));
        assert_eq!(array.filters[0]["id"], "sciformats.hdf5", "{name}: {report:?}");
        let config = &array.filters[0];
        let number = |value: &serde_json::Value| value.as_u64().unwrap();
        let filters = config["filters"].as_array().unwrap().iter().map(|filter| FilterDescription {
            id: number(&filter[0]) as u16,
            name: None,
            optional: false,
            values: filter[1].as_array().unwrap().iter().map(|value| number(value) as u32).collect(),
        });
        let pipeline = Pipeline { filters: filters.collect() };
        let (mut plain, mut chunks) =
            (array.clone(), sciformats_references::Chunks::new(array.chunks.grid().to_vec()));
        let mut decoded = Vec::new();
        for (at, place) in array.chunks.iter() {
            let Place::Range { offset, length, .. } = place else { panic!("{name} is inlined") };
            let stored = &bytes[offset as usize..(offset + length) as usize];
            let mask =
                if length == number(&config["size"]) { &config["mask_plain"] } else { &config["mask"] };
            let chunk = Registry::default()
                .undo(&pipeline, number(mask) as u32, stored, number(&config["size"]) as usize)
                .unwrap();
            chunks.push(at, decoded.len() as u64, chunk.len() as u64);
            decoded.extend(chunk);
        }
        (plain.filters, plain.chunks) = (Vec::new(), chunks);
        let wanted = if name == "mixed" { [&[7i32; 8][..], &values[..8]].concat() } else { values.clone() };
        assert_eq!(assemble(&plain, &decoded).unwrap(), bytes_of(&wanted), "{name}");
    }
    // Without the codecs they are refused, as before.
    options.codecs = false;
    let report = scan(&file, &options, &mut crate::support::Collected::default()).unwrap();
    assert!(report.entries.iter().all(|entry| entry.treatment.word() == "refused"), "{report:?}");
}

/// The metadata of an array as readers get it.
fn metadata(file: &File, path: &str) -> serde_json::Value {
    let mut json = Vec::new();
    let options = sciformats_references::Options::new("file:///a.h5");
    sciformats_references::kerchunk::write(file, &options, &mut json).unwrap();
    let all: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let text = all["refs"][format!("{path}/.zarray")].as_str().unwrap_or("null");
    serde_json::from_str(text).unwrap()
}

#[test]
fn no_value_is_taken_for_a_mark_of_missing_values() {
    let (file, _) = written(|writer| {
        let mut part = |name: &str, fill: Option<i32>, mark: Option<i32>| {
            let dataset = writer.dataset(name).shape([6]).chunks([2]);
            let dataset = fill.into_iter().fold(dataset, sciformats::hdf5_pure::DatasetBuilder::fill);
            let mut dataset = dataset.create::<i32>().unwrap();
            dataset.write_slab(&Slab::new(&[6], [Range::new(0, 4)]).unwrap(), &[0i32, 1, 0, 3]).unwrap();
            if let Some(mark) = mark {
                dataset.attribute("_FillValue", mark).unwrap();
            }
        };
        part("zero", None, None);
        part("other", None, Some(-9));
        part("marked", Some(-9), Some(-9));
        part("five", Some(5), None);
        writer.dataset("text").write(&["a", "", "b"]).unwrap();
    });
    let fill = |path: &str| metadata(&file, path)["fill_value"].clone();
    assert!(fill("zero").is_null() && fill("text").is_null());
    // Missing chunks are zeros, although another value marks what is missing.
    assert!(fill("other").is_null());
    assert_eq!(fill("marked"), -9);
    assert!(fill("five").is_null());
    let mut options = sciformats_references::Options::new("a.h5");
    options.inline = 8;
    let (found, report) = crate::support::collect_with(&file, &options);
    assert_eq!(one(&found.arrays, "/other").attributes["_FillValue"], -9);
    assert_eq!(report.notes.len(), 1);
    assert!(report.notes[0].0 == "/five" && report.notes[0].1.contains("the value 5"), "{:?}", report.notes);
}

#[test]
fn truth_values_and_texts_in_records_have_the_types_of_numpy() {
    use sciformats::hdf5_pure::Datatype;

    let (file, _) = written(|writer| {
        let byte = Datatype::signed(1);
        let boolean = Datatype::enumeration(&byte, [("FALSE", 0), ("TRUE", 1)]).unwrap();
        let colour = Datatype::enumeration(&byte, [("RED", 0), ("BLUE", 1)]).unwrap();
        let text = Datatype::fixed_string(2);
        let record = Datatype::compound([("n", Datatype::signed(4)), ("s", text), ("b", boolean.clone())]);
        let raw = |writer: &mut Writer, name: &str, datatype: Datatype, bytes: &[u8]| {
            let made = writer.dataset(name).datatype(datatype).shape([2]);
            let mut made = made.create_encoded().unwrap();
            let encode = |to: &mut sciformats::hdf5_pure::values::Encoder<'_>| {
                to.bytes(bytes);
                Ok(())
            };
            made.write_encoded(&Slab::all(&[2]).unwrap(), encode).unwrap();
        };
        raw(writer, "truth", boolean, &[0, 1]);
        raw(writer, "colour", colour, &[0, 1]);
        raw(writer, "record", record, &[1, 0, 0, 0, b'a', b'b', 1, 2, 0, 0, 0, b'c', 0, 0]);
    });
    let (found, report) = collect(&file);
    assert!(report.is_complete(), "{report:?}");
    let dtype = |path: &str| one(&found.arrays, path).dtype;
    assert_eq!((dtype("/truth"), dtype("/colour")), ("|b1".into(), "|i1".into()));
    assert_eq!(dtype("/record"), serde_json::json!([["n", "<i4"], ["s", "|S2"], ["b", "|b1"]]));
}

#[test]
fn fields_of_inner_records_stand_beside_the_others() {
    use sciformats::hdf5_pure::Datatype;

    let inner = || Datatype::compound([("x", Datatype::signed(2)), ("y", Datatype::unsigned(1))]);
    let (file, bytes) = written(|writer| {
        let made = |writer: &mut Writer, name: &str, datatype: Datatype, chunk: Option<u64>| {
            let data = writer.dataset(name).datatype(datatype).shape([2]);
            let data = if let Some(side) = chunk { data.max_shape([None]).chunks([side]) } else { data };
            let encode = |to: &mut sciformats::hdf5_pure::values::Encoder<'_>| {
                to.bytes(&[1, 2, 3, 4, 5, 6, 7, 8]);
                Ok(())
            };
            data.create_encoded().unwrap().write_encoded(&Slab::all(&[2]).unwrap(), encode).unwrap();
        };
        let outer = Datatype::compound([("a", Datatype::signed(1)), ("in", inner())]);
        made(writer, "plain", outer.clone(), None);
        made(writer, "chunked", outer, Some(1));
        let twice = Datatype::compound([("in.y", Datatype::signed(1)), ("in", inner())]);
        made(writer, "twice", twice, None);
    });
    let (found, report) = collect(&file);
    for path in ["/plain", "/chunked"] {
        let array = one(&found.arrays, path);
        assert_eq!(array.dtype, serde_json::json!([["a", "|i1"], ["in.x", "<i2"], ["in.y", "|u1"]]));
        let stored: Vec<Option<u8>> = (1..=8).map(Some).collect();
        assert_eq!(assemble(&array, &bytes).unwrap(), stored);
        let told = report.notes.iter().any(|(of, note)| of == path && note.contains("inner.x"));
        assert!(told, "{report:?}");
    }
    let twice = report.entries.iter().find(|entry| entry.path == "/twice").unwrap();
    let said = twice.treatment.to_string();
    assert!(said.starts_with("refused") && said.contains("called in.y"), "{said}");
}

#[test]
fn characters_and_texts_of_a_fixed_width_are_bytes() {
    use sciformats::hdf5_pure::Datatype;
    use sciformats::hdf5_pure::structure::{Class, Padding};

    let (file, bytes) = written(|writer| {
        for (name, size, stored) in [("letters", 1, &b"a\0c"[..]), ("words", 3, b"a\0xbc\0def")] {
            let mut datatype = Datatype::fixed_string(size);
            if let Class::String { padding, .. } = &mut datatype.class {
                *padding = Padding::NullTerminated;
            }
            let mut made = writer.dataset(name).datatype(datatype).shape([3]).create_encoded().unwrap();
            let encode = |to: &mut sciformats::hdf5_pure::values::Encoder<'_>| {
                to.bytes(stored);
                Ok(())
            };
            made.write_encoded(&Slab::all(&[3]).unwrap(), encode).unwrap();
        }
        let pair = Datatype::compound([("n", Datatype::signed(4)), ("s", Datatype::fixed_string(2))]);
        writer.dataset("pairs").datatype(pair).shape([3]).chunks([1]).create_encoded().unwrap();
    });
    let (found, report) = collect(&file);
    let treatment =
        |path: &str| report.entries.iter().find(|entry| entry.path == path).unwrap().treatment.word();
    // Readers see what the stored byte of a netCDF character says.
    let letters = one(&found.arrays, "/letters");
    assert_eq!((letters.dtype.as_str(), treatment("/letters")), (Some("|S1"), "referenced"));
    assert_eq!(crate::support::assemble(&letters, &bytes).unwrap(), [Some(b'a'), Some(0), Some(b'c')]);
    // Readers would see what is beyond the end of a text.
    let words = one(&found.arrays, "/words");
    assert_eq!((words.dtype.as_str(), treatment("/words")), (Some("|S3"), "inlined"));
    let place = words.chunks.iter().next();
    assert_eq!(place, Some((0, sciformats_references::Place::Bytes(b"a\0\0bc\0def"))));
    // Some readers would not see the empty text of a missing record.
    let pairs = one(&found.arrays, "/pairs");
    assert_eq!((pairs.chunks.len(), treatment("/pairs")), (1, "inlined"));
}

#[test]
fn marks_of_missing_values_stay_attributes_if_that_is_asked_for() {
    let (file, _) = written(|writer| {
        writer.dataset("heat").attribute("_FillValue", f32::NAN).write(&[1.0f32, 2.0]).unwrap();
    });
    let url = ["file:///a.h5".to_owned()];
    for (asked, attributes) in [
        (false, "{\"_ARRAY_DIMENSIONS\":[\"dim_2\"]}"),
        (true, "{\"_FillValue\":NaN,\"_ARRAY_DIMENSIONS\":[\"dim_2\"]}"),
    ] {
        let mut json = Vec::new();
        let writer = sciformats_references::kerchunk::Writer::new(&mut json, &url).unwrap();
        let mut writer = if asked { writer.with_marks() } else { writer };
        let options = sciformats_references::Options::new(url[0].as_str());
        sciformats_references::scan(&file, &options, &mut writer).unwrap();
        writer.finish().unwrap();
        let all: serde_json::Value = serde_json::from_slice(&json).unwrap();
        let told = all["refs"]["heat/.zattrs"].as_str().unwrap();
        // The attributes may have another order.
        assert!(told.len() == attributes.len() && told.contains("NaN") == asked, "{told}");
        assert!(all["refs"]["heat/.zarray"].as_str().unwrap().contains("\"fill_value\":\"NaN\""));
    }
}

#[test]
fn dimensions_of_netcdf_without_a_variable_are_no_arrays() {
    let (file, _) = written(|writer| {
        let bare = writer.dataset("bnds").shape([2]).create::<f32>().unwrap().id();
        let name = "This is a netCDF dimension but not a netCDF variable         2";
        writer.make_scale(bare, name).unwrap();
        let time = writer.dataset("time").shape([3]).max_shape([None]).write(&[0.0, 1.0, 2.0]).unwrap();
        writer.make_scale(time, "time").unwrap();
        // It is shorter than its dimension, and comes first.
        let short = writer.dataset("a").shape([2, 2]).write(&[1i32; 4]).unwrap();
        writer.attach_scale(short, 0, time).unwrap();
        writer.attach_scale(short, 1, bare).unwrap();
    });
    let (found, report) = collect(&file);
    assert!(report.is_complete() && !found.arrays.iter().any(|array| array.path == "/bnds"));
    assert_eq!(one(&found.arrays, "/a").dimensions, ["dim_2", "bnds"]);
    assert_eq!(one(&found.arrays, "/time").dimensions, ["time"]);
    let told: Vec<&str> = report.notes.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(told, ["/a", "/bnds"], "{:?}", report.notes);
}

#[test]
fn arrays_are_as_long_as_an_unlimited_dimension() {
    let (file, bytes) = written(|writer| {
        let time = writer.dataset("time").shape([5]).max_shape([None]).chunks([2]);
        let time = time.write(&[0i32, 1, 2, 3, 4]).unwrap();
        writer.make_scale(time, "time").unwrap();
        let mut short = |name: &str, chunk: u64, rows: u64| {
            let made = writer.dataset(name).shape([rows, 2]).max_shape([None, Some(2)]).chunks([chunk, 2]);
            let values: Vec<i32> = (1..=2 * rows as i32).collect();
            let made = made.fill(-9i32).attribute("_FillValue", -9i32).write(&values).unwrap();
            writer.attach_scale(made, 0, time).unwrap();
        };
        short("aligned", 1, 3);
        short("inside", 2, 3);
        short("none", 2, 0);
        short("whole", 2, 5);
    });
    let (found, report) = collect(&file);
    for (path, rows) in [("/aligned", 3), ("/inside", 3), ("/none", 0), ("/whole", 5)] {
        let array = one(&found.arrays, path);
        assert_eq!((&array.shape[..], &array.dimensions[0][..]), (&[5, 2][..], "time"), "{path}");
        assert_eq!((&array.fill, array.marked), (&(-9).into(), true), "{path}");
        let expected = (0..10).map(|i| if i < 2 * rows { i + 1 } else { -9 });
        let expected = bytes_of(&expected.collect::<Vec<i32>>());
        let values = assemble(&array, &bytes).unwrap();
        let filled = values.iter().zip(&expected).map(|(byte, filled)| byte.or(*filled));
        assert_eq!(filled.collect::<Vec<_>>(), expected, "{path}");
    }
    let referenced = |path: &str| {
        let entry = report.entries.iter().find(|entry| entry.path == path).unwrap();
        matches!(entry.treatment, Treatment::Referenced { .. })
    };
    assert!(referenced("/aligned") && !referenced("/inside") && referenced("/whole"));
    let told: Vec<&str> = report.notes.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(told, ["/aligned", "/inside", "/none"], "{:?}", report.notes);
    // What is too large for that keeps its own length, and says so.
    let mut options = sciformats_references::Options::new("a.h5");
    options.inline = 0;
    let (found, report) = crate::support::collect_with(&file, &options);
    assert_eq!(one(&found.arrays, "/inside").dimensions[0], "dim_3");
    assert!(report.notes.iter().any(|(path, what)| path == "/inside" && what.contains("dim_3")));
}

#[test]
fn urls_with_braces_are_no_templates() {
    let (file, _) = written(|writer| {
        writer.dataset("x").write(&[1i32, 2]).unwrap();
    });
    let mut json = Vec::new();
    let url = "file:///x{{u}}.h5";
    sciformats_references::kerchunk::write(&file, &sciformats_references::Options::new(url), &mut json)
        .unwrap();
    let all: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!((&all["templates"], &all["refs"]["x/0"][0]), (&serde_json::json!({}), &url.into()));
    assert_eq!(sciformats_references::kerchunk::read(&json).unwrap().urls, [url]);
}
