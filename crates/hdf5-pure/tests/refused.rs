//! Passes wrong values, which must be refused with the name of the argument before anything is stored.

use hdf5_pure::filters::{BloscCodec, BloscShuffle, Filters};
use hdf5_pure::values::Committed;
use hdf5_pure::{Conversion, CreateOptions, Datatype, Editor, Error, File, Writer};

type Result<T = ()> = hdf5_pure::Result<T>;

fn writer() -> Result<Writer> {
    Writer::in_memory(&CreateOptions::default())
}

#[test]
fn levels_that_no_compressor_has() {
    let new = Filters::new;
    for (filters, message) in [
        (new().deflate(17), "deflate level is 17, but it must be between 0 and 9"),
        (new().shuffle().deflate(10).lzf(), "deflate level is 10, but it must be between 0 and 9"),
        (new().bzip2(99), "bzip2 level is 99, but it must be between 1 and 9"),
        (new().bzip2(0), "bzip2 level is 0, but it must be between 1 and 9"),
        (new().zstd(99), "zstd level is 99, but it must be between -131072 and 22"),
        (new().bitshuffle_zstd(23), "zstd level is 23, but it must be between -131072 and 22"),
        (
            new().blosc(BloscCodec::Lz4, 10, BloscShuffle::Bytes),
            "blosc level is 10, but it must be between 0 and 9",
        ),
        (
            new().blosc2(BloscCodec::Zstd, 11, BloscShuffle::Bits),
            "blosc2 level is 11, but it must be between 0 and 9",
        ),
    ] {
        let mut file = writer().unwrap();
        let refused = file.dataset("x").chunks([4]).filters(filters).write(&[1, 2, 3, 4]).unwrap_err();
        assert!(matches!(refused, Error::Usage { .. }));
        assert_eq!(refused.to_string(), message);
        assert!(file.dataset("x").write(&[1]).is_ok(), "the name is still free");
    }
    assert!(writer().unwrap().dataset("x").chunks([4]).deflate(17).create::<i32>().is_err());
    assert!(writer().unwrap().dataset("x").chunks([2]).zstd(99).write(&[1, 2]).is_err());
}

#[test]
fn values_that_the_stored_type_cannot_hold() -> Result {
    let refused = |datatype: Datatype, values: &[f64], message: &str| {
        let error = writer().unwrap().dataset("x").datatype(datatype).write(values).unwrap_err();
        assert!(matches!(&error, Error::Misfit(_)), "{error}");
        assert_eq!(error.to_string(), message);
    };
    refused(Datatype::unsigned(1), &[1.0, 300.0], "element 1 is 300, which u8 cannot hold");
    refused(Datatype::unsigned(8), &[-1.0], "element 0 is -1, which u64 cannot hold");
    refused(Datatype::signed(4), &[0.0, 2.0, 1.5], "element 2 is 1.5, which i32 cannot hold");
    refused(Datatype::signed(2).big_endian(), &[f64::NAN], "element 0 is NaN, which i16 cannot hold");
    refused(Datatype::float32(), &[0.5, 0.1], "element 1 is 0.1, which f32 cannot hold");
    let few = Datatype::signed(4).with_precision(20, 3)?;
    refused(few, &[524_287.0, 524_288.0], "element 1 is 524288, which the stored signed integer cannot hold");

    let mut file = writer().unwrap();
    let lossy = file.dataset("x").datatype(Datatype::unsigned(1)).with_conversion(Conversion::Lossy);
    lossy.write(&[300.0, 1.5, -7.0, f64::NAN])?;
    let none = file.dataset("y").datatype(Datatype::unsigned(1)).with_conversion(Conversion::None);
    assert!(matches!(none.write(&[1u16]), Err(Error::Usage { .. })));
    let file = File::from_bytes(file.into_bytes()?)?;
    assert_eq!(file.dataset("x")?.read::<u8>()?, [255, 1, 0, 0]);
    Ok(())
}

#[test]
fn rows_attributes_and_fill_values_too() -> Result {
    let mut file = writer().unwrap();
    let mut rows = file.dataset("rows").shape([0]).max_shape([None]).create::<u8>()?;
    rows.append(&[1i64, 2])?;
    let error = rows.append(&[3i64, 256]).unwrap_err();
    assert_eq!(error.to_string(), "element 1 is 256, which u8 cannot hold");
    assert_eq!(rows.shape(), [2], "nothing of it was appended");

    let error = file.dataset("filled").datatype(Datatype::unsigned(1)).shape([3]).fill(-1);
    assert!(matches!(error.create::<u8>(), Err(Error::Misfit(_))));
    let byte = file.root().commit("byte", &Datatype::unsigned(1))?;
    let attribute = file.root().attribute("big", Committed { datatype: byte, value: 256 }).map(drop);
    assert!(matches!(attribute, Err(Error::Misfit(_))));

    let file = File::from_bytes(file.into_bytes()?)?;
    assert_eq!(file.dataset("rows")?.read::<u8>()?, [1, 2]);
    Ok(())
}

hdf5_pure::record! {
    #[derive(Debug, PartialEq)]
    struct Raw {
        r#type: i32,
        r#ref: String,
        plain: u8,
    }
}

hdf5_pure::compound! {
    #[derive(Debug)]
    struct Part {
        r#ref: String,
    }
}

#[test]
fn raw_identifiers_are_the_words_that_they_spell() -> Result {
    let rows = [Raw { r#type: 7, r#ref: "a".into(), plain: 1 }];
    let mut file = writer().unwrap();
    file.dataset("rows").write(&rows)?;
    let dataset = File::from_bytes(file.into_bytes()?)?.dataset("rows")?;
    assert_eq!(dataset.datatype().element_type()?.to_string(), "compound (type i32, ref text, plain u8)");
    assert_eq!(dataset.read::<Raw>()?, rows);
    assert_eq!(dataset.read_field::<i64>("type")?, [7]);
    assert_eq!(dataset.read::<Part>()?[0].r#ref, "a");
    Ok(())
}

#[test]
fn what_a_path_leads_to_is_told() -> Result {
    let mut file = writer()?;
    file.dataset("g/x").write(&[1])?;
    file.root().commit("kelvin", &Datatype::float32())?;
    let file = File::from_bytes(file.into_bytes()?)?;
    let told = |error: Error| error.to_string();
    assert_eq!(file.dataset("g").map_err(told).unwrap_err(), r#""g" is a group, not a dataset"#);
    assert_eq!(file.group("/g/x").map_err(told).unwrap_err(), r#""/g/x" is a dataset, not a group"#);
    let group = file.group("g")?;
    assert_eq!(group.group("x").map_err(told).unwrap_err(), r#""x" is a dataset, not a group"#);
    assert_eq!(
        file.group("kelvin").map_err(told).unwrap_err(),
        r#""kelvin" is a committed datatype, not a group"#
    );
    Ok(())
}

#[test]
fn names_that_may_have_been_meant() -> Result {
    let mut file = writer()?;
    file.dataset("surface/temperature").write(&[Raw { r#type: 1, r#ref: String::new(), plain: 1 }])?;
    file.root().soft_link("latest", "nowhere")?;
    let file = File::from_bytes(file.into_bytes()?)?;
    let near = |path: &str| match file.dataset(path) {
        Err(Error::NotFound { nearest, .. }) => nearest.iter().map(ToString::to_string).collect::<Vec<_>>(),
        other => vec![format!("{other:?}")],
    };
    assert_eq!(near("surface/temprature"), ["surface/temperature"]);
    assert_eq!(near("/surface/Temperature"), ["/surface/temperature"]);
    assert_eq!(near("/surfaces/temperature"), ["/surface/temperature"]);
    assert_eq!(near("surfaces/pressure"), ["surface"]);
    assert!(
        near("pressure").is_empty() && near("latest").is_empty() && near("surface/temperature/x").is_empty()
    );
    let error = file.dataset("surface/temprature").unwrap_err();
    let message = "no object named \"surface/temprature\" (did you mean \"surface/temperature\"?)";
    assert_eq!(error.to_string(), message);
    let error = file.dataset("surface/temperature")?.read_field::<i32>("tpye").unwrap_err();
    assert_eq!(error.to_string(), "no member named \"tpye\" (did you mean \"type\"?)");
    Ok(())
}

#[test]
fn an_editor_tells_where_it_met_damage() -> Result {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.h5");
    let mut file = Writer::create(&path)?;
    file.dataset("fields/pressure").chunks([2]).deflate(1).write(&[1i32, 2, 3, 4])?;
    file.finish()?;
    let address = File::open(&path)?.dataset("fields/pressure")?.chunks()?.remove(0)?.address.0;
    let mut bytes = std::fs::read(&path).unwrap();
    let at = usize::try_from(address).unwrap();
    bytes[at..at + 4].fill(0xff);
    std::fs::write(&path, &bytes).unwrap();

    // A part of a chunk can only be written after the rest of the chunk has been read.
    let mut editor = Editor::open(&path)?;
    let damaged = editor.open_dataset("fields/pressure")?.write_slice(1.., &[7, 8, 9]).map(drop).unwrap_err();
    assert!(matches!(&damaged, Error::Malformed { .. }), "{damaged}");
    assert_eq!((damaged.path(), damaged.object()), (Some(&*path), Some("fields/pressure")));

    let absent = editor.open_dataset("fields/presure").map(drop).unwrap_err();
    let Error::NotFound { nearest, .. } = &absent else { panic!("{absent}") };
    assert_eq!(**nearest, [Box::from("fields/pressure")]);
    editor.dataset("fields/velocity").write(&[1])?;
    let absent = editor.unlink("fields/velocty/x").unwrap_err();
    assert_eq!(absent.to_string(), r#"no object named "fields/velocty" (did you mean "fields/velocity"?)"#);

    bytes.truncate(bytes.len() - 1);
    std::fs::write(&path, &bytes).unwrap();
    drop(editor);
    let cut = Editor::open(&path).unwrap_err();
    assert_eq!((cut.path(), cut.offset().is_some()), (Some(&*path), true));
    Ok(())
}

hdf5_pure::record! {
    #[derive(Clone, Debug, PartialEq)]
    struct Station { name: String, code: String, visits: Vec<u16>, height: f64 }
}

hdf5_pure::record! {
    #[derive(Clone, Debug, PartialEq)]
    struct Named { code: String, text: [String; 2] }
}

#[test]
fn texts_of_a_record_take_the_form_that_the_dataset_stores() -> Result {
    let fixed = |length: u32| Datatype::fixed_string(length);
    let stored = Datatype::compound([
        ("height", Datatype::float32()),
        ("code", fixed(4)),
        ("visits", Datatype::sequence(&Datatype::unsigned(2))),
        ("name", Datatype::string()),
    ]);
    let station = |name: &str, code: &str, visits: &[u16]| Station {
        name: name.into(),
        code: code.into(),
        visits: visits.into(),
        height: 2.5,
    };
    let rows = [station("north", "N", &[1, 500]), station("", "SSSW", &[]), station("süd", "", &[7])];
    let mut file = writer()?;
    file.dataset("stations").datatype(stored.clone()).write(&rows)?;
    let long = file.dataset("x").datatype(stored).write(&[station("a", "too long", &[])]).unwrap_err();
    assert_eq!(long.to_string(), "values include a string of 8 bytes, but the datatype has room for 4");
    let named = [Named { code: "ab".into(), text: ["c".into(), "defg".into()] }];
    let stored =
        Datatype::compound([("code", Datatype::string()), ("text", Datatype::array(&[2], &fixed(5)))]);
    file.dataset("named").datatype(stored).write(&named)?;
    let file = File::from_bytes(file.into_bytes()?)?;
    assert_eq!(file.dataset("stations")?.read::<Station>()?, rows);
    assert_eq!(file.dataset("named")?.read::<Named>()?, named);
    assert_eq!(file.dataset("stations")?.datatype().size, 4 + 4 + 16 + 16);
    Ok(())
}

#[test]
fn parts_that_do_not_say_where_the_others_are() -> Result {
    let mut bytes = Writer::in_memory(&CreateOptions::default())?.into_bytes()?;
    // The multi driver keeps object headers in the last sixth of all addresses.
    let at = 20..28;
    bytes[at].copy_from_slice(&0xd555_5555_5555_5552u64.to_le_bytes());
    let sum = hdf5_pure::structure::checksum(&bytes[..44]);
    bytes[44..48].copy_from_slice(&sum.to_le_bytes());
    let refused = File::from_bytes(bytes).unwrap_err();
    assert!(matches!(&refused, Error::Unsupported { .. }), "{refused}");
    assert!(refused.to_string().contains("a file of several parts by kind of content"), "{refused}");
    Ok(())
}

#[test]
fn objects_of_another_file_are_refused() -> Result {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h5");
    let made = |file: &mut Writer| -> Result<[hdf5_pure::ObjectId; 4]> {
        let group = file.group("g")?.id();
        let kelvin = file.root().commit("kelvin", &Datatype::float32())?;
        Ok([file.root().id(), group, kelvin, file.dataset("x").write(&[1, 2, 3])?])
    };
    let mut other = writer()?;
    let foreign = made(&mut other)?;
    let refused = |result: Result| {
        assert_eq!(result.unwrap_err().to_string(), "object does not belong to this file");
    };
    let mut file = Writer::create(&path)?;
    let [_, _, _, dataset] = made(&mut file)?;
    for id in foreign {
        refused(file.attribute(id, "a", 1));
        refused(file.comment(id, "a"));
        refused(file.root().hard_link("b", id).map(drop));
        refused(file.reference(id).map(drop));
        refused(file.open_id(id).map(drop));
        refused(file.make_scale(id, "a"));
        refused(file.attach_scale(id, 0, dataset));
        refused(file.creation_properties(id, &Default::default()));
        refused(file.dataset("y").committed(id).write(&[1.0f32]).map(drop));
        refused(file.dataset("y").committed(id).shape([1]).create_encoded().map(drop));
        refused(file.attribute(dataset, "a", Committed { datatype: id, value: 1.0f32 }));
    }
    file.finish()?;

    let mut file = Editor::open(&path)?;
    let own = file.id("x")?;
    for id in foreign.into_iter().chain([dataset]) {
        assert_ne!(id, own);
        refused(file.attribute(id, "a", 1));
        refused(file.comment(id, "a"));
        refused(file.root().hard_link("b", id).map(drop));
        refused(file.reference(id).map(drop));
        refused(file.open_id(id).map(drop));
        refused(file.creation_properties(id, &Default::default()));
    }
    file.open_id(own)?.write_all(&[4, 5, 6])?;
    file.commit()?;
    file.attribute(own, "a", 1)?;
    file.close()?;
    let file = File::open(&path)?;
    assert_eq!((file.root()?.links()?.len(), file.dataset("x")?.read::<i32>()?), (3, vec![4, 5, 6]));
    assert_eq!(file.dataset("x")?.attributes()?.len(), 1);
    Ok(())
}

#[test]
fn parts_are_not_edited_alone() -> Result {
    let folder = tempfile::tempdir().unwrap();
    let mut file = Writer::in_memory(&CreateOptions::default())?;
    file.dataset("a").write(&(0..1000u32).collect::<Vec<_>>())?;
    let mut bytes = file.into_bytes()?;
    // The first member of a family, with the next one beside it.
    let (first, next) = bytes.split_at(2048);
    std::fs::write(folder.path().join("run-0.h5"), first).unwrap();
    std::fs::write(folder.path().join("run-1.h5"), next).unwrap();
    // The part with the superblock, which leads to another part.
    bytes[20..28].copy_from_slice(&0xd555_5555_5555_5552u64.to_le_bytes());
    let sum = hdf5_pure::structure::checksum(&bytes[..44]);
    bytes[44..48].copy_from_slice(&sum.to_le_bytes());
    std::fs::write(folder.path().join("run-s.h5"), bytes).unwrap();
    for name in ["run-0.h5", "run-s.h5"] {
        let refused = Editor::open(folder.path().join(name)).unwrap_err();
        assert!(refused.to_string().contains("editing a file of several parts"), "{name}: {refused}");
    }
    Ok(())
}
