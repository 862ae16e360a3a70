//! Which elements of sources virtual datasets show, if sources are missing or have another shape than their mappings say. The
//! expected values are those of the C library, except where it reads beyond the end of a source.

use hdf5_pure::options::External;
use hdf5_pure::structure::{Mapping, Regular, Selection};
use hdf5_pure::{CreateOptions, Datatype, File, OpenOptions, Slab, Writer};

type Result<T = ()> = hdf5_pure::Result<T>;

fn side(start: u64, stride: u64, count: Option<u64>, block: Option<u64>) -> Regular {
    Regular { start, stride, count, block }
}

fn mapping(dataset: &str, source: Selection, target: Vec<Regular>) -> Mapping {
    Mapping { file: ".".into(), dataset: dataset.into(), source, target: Selection::Regular(target) }
}

/// Returns the shape of a virtual dataset whose second dimension grows, and its elements.
fn shown(sources: &[(&str, [u64; 2], &[i32])], mappings: Vec<Mapping>) -> Result<(Vec<u64>, Vec<i32>)> {
    let mut file = Writer::in_memory(&CreateOptions::default())?;
    for (name, shape, values) in sources {
        file.dataset(*name).shape(*shape).write(values)?;
    }
    let made = file.dataset("v").shape([4, 0]).max_shape([Some(4), None]).fill(-1);
    mappings
        .into_iter()
        .fold(made.virtual_layout(), hdf5_pure::DatasetBuilder::map_selection)
        .create::<i32>()?;
    let file = File::from_bytes(file.into_bytes()?)?;
    let dataset = file.dataset("v")?;
    Ok((dataset.shape().to_vec(), dataset.read()?))
}

#[test]
fn a_source_that_is_shorter_than_others_stays_in_its_place() -> Result {
    let rows = |start| vec![side(start, 2, Some(1), Some(2)), side(0, 1, Some(1), None)];
    let source = || Selection::Regular(rows(0));
    let (shape, values) = shown(
        &[("a", [2, 1], &[1, 2]), ("b", [2, 3], &[10, 11, 12, 13, 14, 15])],
        vec![mapping("a", source(), rows(0)), mapping("b", source(), rows(2))],
    )?;
    assert_eq!(shape, [4, 3]);
    assert_eq!(values, [1, -1, -1, 2, -1, -1, 10, 11, 12, 13, 14, 15]);
    Ok(())
}

#[test]
fn numbered_sources_end_at_the_first_that_is_missing() -> Result {
    let rows = |start| vec![side(start, 2, Some(1), Some(2)), side(0, 1, None, Some(1))];
    let (shape, values) = shown(
        &[
            ("a0", [2, 1], &[1, 2]),
            ("a2", [2, 1], &[5, 6]),
            ("b0", [2, 1], &[10, 11]),
            ("b1", [2, 1], &[12, 13]),
            ("b2", [2, 1], &[14, 15]),
        ],
        vec![mapping("a%b", Selection::All, rows(0)), mapping("b%b", Selection::All, rows(2))],
    )?;
    assert_eq!(shape, [4, 3]);
    assert_eq!(values, [1, -1, -1, 2, -1, -1, 10, 12, 14, 11, 13, 15]);
    Ok(())
}

#[test]
fn percent_signs_in_the_names_of_sources() -> Result {
    let mut file = Writer::in_memory(&CreateOptions::default())?;
    for (name, value) in [("a%b", 1), ("a%%b", 2), ("50%", 3), ("100%%", 4)] {
        file.dataset(name).write(&[value; 2])?;
    }
    let whole = Slab::all(&[2])?;
    // A caller names the source itself.
    file.dataset("numbered").shape([2]).map(".", "a%b", &whole, &whole).create::<i32>()?;
    file.dataset("twice").shape([2]).map(".", "a%%b", &whole, &whole).create::<i32>()?;
    file.dataset("last").shape([2]).map(".", "50%", &whole, &whole).create::<i32>()?;
    // A mapping has its name in the form of the format, as the C library reads it.
    let all = || vec![side(0, 2, Some(1), Some(2))];
    let as_stored = |name| mapping(name, Selection::All, all());
    file.dataset("stored").shape([2]).map_selection(as_stored("a%%b")).create::<i32>()?;
    file.dataset("ends").shape([2]).map_selection(as_stored("100%%%%")).create::<i32>()?;
    let rows = side(0, 1, Some(1), None);
    let grows = Mapping {
        target: Selection::Regular(vec![rows]),
        ..mapping("a%%b", Selection::Regular(vec![rows]), vec![])
    };
    file.dataset("grows").shape([0]).max_shape([None]).map_selection(grows).create::<i32>()?;
    // Without a number in its name there is only one source, however long the dataset may become.
    let block = side(0, 2, None, Some(2));
    let endless = mapping("a%%b", Selection::Regular(all()), vec![block]);
    file.dataset("endless").shape([0]).max_shape([None]).map_selection(endless).create::<i32>()?;
    let file = File::from_bytes(file.into_bytes()?)?;
    assert_eq!(file.dataset("numbered")?.mappings()?[0].dataset.to_text(), "a%%b");
    let read = |name: &str| file.dataset(name)?.read::<i32>();
    assert_eq!((read("numbered")?, read("twice")?, read("last")?), (vec![1; 2], vec![2; 2], vec![3; 2]));
    assert_eq!((read("stored")?, read("ends")?), (vec![1; 2], vec![4; 2]));
    assert_eq!((read("grows")?, read("endless")?), (vec![1; 2], vec![1; 2]));
    Ok(())
}

#[test]
fn elements_of_a_smaller_source_keep_their_places() -> Result {
    let whole =
        |rows, columns| vec![side(0, rows, Some(1), Some(rows)), side(0, columns, Some(1), Some(columns))];
    let mut file = Writer::in_memory(&CreateOptions::default())?;
    file.dataset("narrow").shape([3, 2]).write(&[0, 1, 10, 11, 20, 21])?;
    let made = file.dataset("v").shape([3, 4]).fill(-1).virtual_layout();
    made.map_selection(mapping("narrow", Selection::Regular(whole(3, 4)), whole(3, 4))).create::<i32>()?;
    let made = file.dataset("all").shape([3, 4]).fill(-1).virtual_layout();
    made.map_selection(mapping("narrow", Selection::All, whole(3, 4))).create::<i32>()?;
    let file = File::from_bytes(file.into_bytes()?)?;
    let values: Vec<i32> = file.dataset("v")?.read()?;
    assert_eq!(values, [0, 1, -1, -1, 10, 11, -1, -1, 20, 21, -1, -1]);
    let corner = Slab::new(&[3, 4], [hdf5_pure::Range::new(1, 2), hdf5_pure::Range::new(1, 2)])?;
    assert_eq!(file.dataset("v")?.read_slab::<i32>(&corner)?, [11, -1, 21, -1]);
    // It is not known which elements a whole source had.
    let refused = file.dataset("all")?.read::<i32>().unwrap_err();
    assert!(refused.to_string().contains("has another number of elements than the source"), "{refused}");
    Ok(())
}

#[test]
fn a_source_that_grows_in_one_dimension_and_shrank_in_the_other_keeps_its_places() -> Result {
    // The mapping says that the source has two columns, of which it has lost the second.
    let source = Selection::Regular(vec![side(0, 1, None, Some(1)), side(0, 2, Some(1), Some(2))]);
    let target = vec![side(0, 2, Some(1), Some(2)), side(0, 1, None, Some(1))];
    let (shape, values) = shown(&[("a", [2, 1], &[1, 2])], vec![mapping("a", source, target)])?;
    assert_eq!(shape, [4, 2]);
    assert_eq!(values, [1, -1, 2, -1, -1, -1, -1, -1]);
    Ok(())
}

#[test]
fn numbered_sources_have_the_shape_of_the_first() -> Result {
    let target = vec![side(0, 3, Some(1), Some(3)), side(0, 2, None, Some(2))];
    let (shape, values) = shown(
        &[
            ("a0", [3, 2], &[0, 1, 2, 3, 4, 5]),
            ("a1", [2, 3], &[10, 11, 12, 13, 14, 15]),
            ("a2", [3, 1], &[20, 21, 22]),
            ("a3", [3, 3], &[30, 31, 32, 33, 34, 35, 36, 37, 38]),
        ],
        vec![mapping("a%b", Selection::All, target)],
    )?;
    assert_eq!(shape, [4, 8]);
    assert_eq!(values[..8], [0, 1, 10, 11, 20, -1, 30, 31]);
    assert_eq!(values[8..16], [2, 3, 13, 14, 21, -1, 33, 34]);
    assert_eq!(values[16..24], [4, 5, -1, -1, 22, -1, 36, 37]);
    Ok(())
}

#[test]
fn only_the_source_itself_may_be_missing() -> Result {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut source = Writer::create(path("source.h5"))?;
    source.dataset("g/d").write(&[1, 2])?;
    source.dataset("null").datatype(Datatype::signed(4)).write_null()?;
    source.dataset("scalar").write_scalar(3)?;
    source.root().soft_link("g/absent", "/nowhere")?.soft_link("g/astray", "/no/where")?;
    source.finish()?;
    std::fs::write(path("text.h5"), "no HDF5 at all").unwrap();

    let options = OpenOptions::default().with_external(External::SameFolder);
    let read = |file: &str, dataset: &str| -> Result<Vec<i32>> {
        let whole = Slab::all(&[2])?;
        let _ = std::fs::remove_file(path("made.h5"));
        let mut made = Writer::create(path("made.h5"))?;
        made.dataset("v").shape([2]).fill(-1).map(file, dataset, &whole, &whole).create::<i32>()?;
        made.finish()?;
        File::open_with(path("made.h5"), &options)?.dataset("v")?.read()
    };
    // The last folder of an absolute name may be another one now, and those of a relative name exist.
    for file in ["source.h5", "./source.h5", "/no/such/folder/source.h5"] {
        assert_eq!(read(file, "g/d")?, [1, 2], "{file}");
    }
    for (file, dataset) in [
        ("source.h5", "absent"),
        ("source.h5", "g/x"),
        ("source.h5", "g/absent"),
        ("absent.h5", "a/b"),
        ("folder/source.h5", "g/d"),
        ("folder/text.h5", "g/d"),
    ] {
        assert_eq!(read(file, dataset)?, [-1, -1], "{file} {dataset}");
    }
    for dataset in ["a/b", "/a/b/c", "g/x/y", "g/astray", "g/absent/x", "g/d/x"] {
        let error = read("source.h5", dataset).unwrap_err();
        assert!(error.to_string().contains("does not exist or is no group"), "{dataset}: {error}");
    }
    for (file, dataset) in [
        ("source.h5", "g"),
        ("source.h5", "/"),
        ("source.h5", "null"),
        ("source.h5", "scalar"),
        ("text.h5", "d"),
    ] {
        assert!(read(file, dataset).is_err(), "{file} {dataset}");
    }
    Ok(())
}

#[test]
fn elements_are_not_taken_from_another_file_of_the_same_name() -> Result {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.h5");
    std::fs::write(folder.path().join("a.raw"), [1, 2]).unwrap();
    let options = OpenOptions::default().with_external(External::SameFolder);
    for (name, found) in [("a.raw", true), ("folder/a.raw", false), ("/no/such/folder/a.raw", false)] {
        let _ = std::fs::remove_file(&path);
        let mut made = Writer::create(&path)?;
        made.dataset("d").shape([2]).external([(name, 0, Some(2))]).create::<u8>()?;
        made.finish()?;
        let read = File::open_with(&path, &options)?.dataset("d")?.read::<u8>();
        assert_eq!(read.ok(), found.then(|| vec![1, 2]), "{name}");
    }
    Ok(())
}
