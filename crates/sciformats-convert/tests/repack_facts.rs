//! Repacks HDF5 files with names that are not UTF-8, references that lead out of the new file, and rarer creation properties; and
//! checks that a comparison of the storage tells one recorded fact from another.

#![cfg(feature = "hdf5")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use hdf5_pure::filters::Filters;
use hdf5_pure::options::{Bound, FileSpace};
use hdf5_pure::structure::{CreationOrder, CreationProperties, Layout, Mapping, Regular, Selection};
use hdf5_pure::values::{Committed, Encoder};
use hdf5_pure::{CreateOptions, Datatype, Name, ObjectId, Value, Writer};
use sciformats::{Error, hdf5_pure};
use sciformats_convert::compare::{Options, What, compare};
use sciformats_convert::repack::{CopyOptions, copy, rewrite, rewrite_selected};
use sciformats_convert::sink::WriteOptions;

fn repacked(input: &Path, output: &Path, options: &WriteOptions) -> sciformats::Result<()> {
    rewrite(&Arc::new(sciformats::open(input)?), output, options, None)
}

/// Returns the facts that differ between the storage of two files.
fn different(a: &Path, b: &Path) -> Vec<String> {
    let mut told = Vec::new();
    let options = Options::exact().with_storage(true).with_versions(true);
    let summary =
        compare(&sciformats::open(a).unwrap(), &sciformats::open(b).unwrap(), &options, &mut |found| {
            told.push(match found.what {
                What::Storage(fact, ..) => format!("{} {fact}", found.path),
                other => format!("{} {}", found.path, other.word()),
            });
            ControlFlow::Continue(())
        });
    assert_eq!(summary.is_same(), told.is_empty());
    told
}

/// Creates a file from each of two functions, and returns the facts that differ. Nothing differs after both are repacked.
fn told(make: [&dyn Fn(&mut Writer); 2]) -> Vec<String> {
    told_of([&CreateOptions::default(), &CreateOptions::default()], make)
}

fn told_of(options: [&CreateOptions; 2], make: [&dyn Fn(&mut Writer); 2]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.h5", "b.h5"].map(|name| folder.path().join(name));
    for ((path, options), make) in paths.iter().zip(options).zip(make) {
        let mut file = Writer::create_with(path, options).unwrap();
        make(&mut file);
        file.finish().unwrap();
        let new = folder.path().join("new.h5");
        repacked(path, &new, &WriteOptions::default()).unwrap();
        assert_eq!(different(path, &new), [] as [&str; 0]);
    }
    different(&paths[0], &paths[1])
}

fn latin(bytes: &[u8]) -> Name {
    Name::from(bytes)
}

#[test]
fn names_that_are_not_utf8() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("latin.h5"), folder.path().join("new.h5"));
    for bound in [Bound::Earliest, Bound::LATEST] {
        let mut file = Writer::overwrite_with(&from, &CreateOptions::default().with_bound(bound)).unwrap();
        let mut targets = Vec::new();
        for (name, value) in [(&b"Temp \xb0C/\xb5"[..], 1), (b"Temp \xb0C/\xb6", 2)] {
            let made =
                file.dataset(&latin(name)).attribute(&latin(b"gr\xf6\xdfe"), value).write(&[value]).unwrap();
            targets.push(file.reference(made).unwrap());
        }
        file.dataset("targets").write(&targets).unwrap();
        file.root().attribute("best", targets[1]).unwrap();
        file.root().soft_link(&latin(b"\xe4"), &latin(b"Temp \xb0C/\xb6")).unwrap();
        let record = Datatype::compound([("a", Datatype::float64())]);
        let hdf5_pure::structure::Class::Compound(mut members) = record.class.clone() else { panic!() };
        members[0].name = latin(b"\xe9");
        let record = Datatype { class: hdf5_pure::structure::Class::Compound(members), ..record };
        file.dataset("records").datatype(record).shape([1]).write_raw(&1f64.to_le_bytes()).unwrap();
        file.finish().unwrap();

        repacked(&from, &to, &WriteOptions::default()).unwrap();
        assert_eq!(different(&from, &to), [] as [&str; 0]);
        let new = hdf5_pure::File::open(&to).unwrap();
        let second = new.dataset(&latin(b"Temp \xb0C/\xb6")).unwrap();
        assert_eq!(second.attribute(&latin(b"gr\xf6\xdfe")).unwrap().read::<i32>().unwrap(), [2]);
        let links: Vec<Option<hdf5_pure::Address>> = new.dataset("targets").unwrap().read().unwrap();
        assert_eq!(links[1], Some(second.address()));
        assert_eq!(new.dataset(&latin(b"\xe4")).unwrap().address(), second.address());

        // An object is selected by the name that lists show.
        let select = [r"/Temp \xb0C/\xb5".into()];
        let file = Arc::new(sciformats::open(&from).unwrap());
        rewrite_selected(&file, &to, &select, &WriteOptions::default(), None).unwrap();
        let new = hdf5_pure::File::open(&to).unwrap();
        assert_eq!(new.dataset(&latin(b"Temp \xb0C/\xb5")).unwrap().read::<i32>().unwrap(), [1]);
        assert!(new.object("targets").is_err());
    }
}

#[test]
fn references_to_objects_that_are_left_out_are_losses() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("a.h5"), folder.path().join("new.h5"));
    let mut file = Writer::create(&from).unwrap();
    let parts = ["kept", "gone"].map(|name| {
        let made = file.dataset(name).write(&[1]).unwrap();
        file.reference(made).unwrap()
    });
    file.dataset("both").write(&parts).unwrap();
    file.root().attribute("one", parts[1]).unwrap();
    file.finish().unwrap();
    let open = sciformats::open(&from).unwrap();
    let lost =
        sciformats_convert::repack::join(&open, &to, (&[], &["/gone"]), &WriteOptions::default(), None);
    let lost: Vec<String> =
        lost.unwrap().into_iter().map(|loss| format!("{} {}", loss.path, loss.what)).collect();
    let what = "has a reference to missing objects, which become null in the target";
    assert_eq!(lost, [format!("/both {what}"), format!("/@one {what}")]);
    let new = hdf5_pure::File::open(&to).unwrap();
    let links: Vec<Option<hdf5_pure::Address>> = new.dataset("both").unwrap().read().unwrap();
    assert_eq!(links, [Some(new.dataset("kept").unwrap().address()), None]);
}

#[test]
fn an_object_that_is_left_out_is_not_a_part_of_another_one() {
    use hdf5_pure::options::Bound;
    use hdf5_pure::references::{RegionReference, StandardReference};
    use hdf5_pure::{CreateOptions, Slab};
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("a.h5"), folder.path().join("new.h5"));
    let mut file = Writer::overwrite_with(&from, &CreateOptions::default().with_bound(Bound::V112)).unwrap();
    let [kept, gone] = ["a", "a b"].map(|name| {
        let made = file.dataset(name).write(&[1, 2]).unwrap();
        file.attribute(made, "b c", 7).unwrap();
        file.reference(made).unwrap()
    });
    let part = |of| RegionReference::new(of, Slab::new(&[2], [(1..2).into()]).unwrap());
    file.dataset("old").write(&[kept, gone]).unwrap();
    file.dataset("parts").write(&[part(kept), part(gone)]).unwrap();
    let newer = [
        StandardReference::Object(kept),
        StandardReference::Attribute(kept, "b c".into()),
        StandardReference::Region(part(kept)),
        StandardReference::Object(gone),
        StandardReference::Attribute(gone, "b c".into()),
        StandardReference::Region(part(gone)),
    ];
    file.dataset("newer").write(&newer).unwrap();
    file.finish().unwrap();
    let open = sciformats::open(&from).unwrap();
    let without: [&[&str]; 2] = [&[], &["/a b"]];
    let [all, some] = without.map(|without| {
        let lost =
            sciformats_convert::repack::join(&open, &to, (&[], without), &WriteOptions::default(), None);
        let lost: Vec<String> =
            lost.unwrap().into_iter().map(|loss| format!("{} {}", loss.path, loss.what)).collect();
        let new = sciformats::open(&to).unwrap();
        let read = |path: &str| new.array(path).unwrap().read::<String>().unwrap();
        (lost, ["/old", "/parts", "/newer"].map(read))
    });
    let newer = ["/a", "/a b c", "/a (1)-(1)", "/a b", "/a b b c", "/a b (1)-(1)"];
    let told = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
    let region = ["/a (1)-(1)", "/a b (1)-(1)"];
    assert_eq!(all, (vec![], [told(&["/a", "/a b"]), told(&region), told(&newer)]));
    let null = ["/a", "/a b c", "/a (1)-(1)", "", "", ""];
    let what = |path: &str, count: &str| {
        format!("{path} has {count} to missing objects, which become null in the target")
    };
    let mut lost = some.0;
    lost.sort();
    let expected =
        [what("/newer", "3 references"), what("/old", "a reference"), what("/parts", "a reference")];
    assert_eq!(lost, expected);
    assert_eq!(some.1, [told(&["/a", ""]), told(&["/a (1)-(1)", ""]), told(&null)]);
}

#[test]
fn attributes_keep_their_order_beside_references() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("a.h5"), folder.path().join("new.h5"));
    let mut file = Writer::create(&from).unwrap();
    let made = file.dataset("d").write(&[1]).unwrap();
    let mut properties = CreationProperties::default();
    properties.header_version = 2;
    properties.attribute_order = CreationOrder::Indexed;
    file.creation_properties(made, &properties).unwrap();
    let root = file.root().id();
    let place = file.reference(root).unwrap();
    file.attribute(made, "first", 1).unwrap();
    file.attribute(made, "refers", place).unwrap();
    file.attribute(made, "b", 2).unwrap();
    file.attribute(made, "a", 3).unwrap();
    file.finish().unwrap();
    repacked(&from, &to, &WriteOptions::default()).unwrap();
    assert_eq!(different(&from, &to), [] as [&str; 0]);
    let order = |name: &str| {
        let mut attributes = hdf5_pure::File::open(&to).unwrap().dataset(name).unwrap().attributes().unwrap();
        attributes.sort_by_key(hdf5_pure::Attribute::creation_order);
        attributes.iter().map(|attribute| attribute.name().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(order("d"), ["first", "refers", "b", "a"]);

    // An object that is copied into another file keeps it, too.
    let mut editor = hdf5_pure::Editor::open(&to).unwrap();
    let source = hdf5_pure::File::open(&from).unwrap();
    copy(&source.object("d").unwrap(), (&mut editor, "/e"), CopyOptions::default()).unwrap();
    editor.commit().unwrap();
    assert_eq!(order("e"), ["first", "refers", "b", "a"]);
}

/// An attribute whose dataspace may grow.
struct Growing;

impl Value for Growing {
    fn store(self, to: &mut Encoder<'_>) -> sciformats::Result<(Datatype, Option<Vec<u64>>)> {
        to.bytes(&[1, 2]);
        Ok((Datatype::unsigned(1), Some(vec![2])))
    }

    fn max_shape(&self) -> Option<Vec<Option<u64>>> {
        Some(vec![None])
    }
}

/// Creates a dataset of texts, of which the second is null or empty.
fn texts(file: &mut Writer, null: bool) {
    let made = file.dataset("t").datatype(Datatype::string()).shape([2]);
    let mut made = made.create_encoded().unwrap();
    let all = hdf5_pure::Slab::all(&[2]).unwrap();
    let written = made.write_encoded(&all, |to| {
        to.text(b"x")?;
        if null { to.sequence(0, &[]) } else { to.text(b"") }
    });
    written.unwrap();
}

#[test]
fn each_fact_is_told() {
    let one = |file: &mut Writer, edges: bool| {
        let made = file.dataset("u").shape([5]).chunks([2]).lzf();
        let made = if edges { made.unfiltered_edges() } else { made };
        made.write(&[7u8; 5]).unwrap();
    };
    assert_eq!(told([&|file| one(file, false), &|file| one(file, true)]), ["/u chunks at the edges"]);
    let plain = |file: &mut Writer| {
        file.root().attribute("a", [1u8, 2]).unwrap();
    };
    let growing = |file: &mut Writer| {
        file.root().attribute("a", Growing).unwrap();
    };
    assert_eq!(told([&plain, &growing]), ["/ attributes"]);
    assert_eq!(told([&|file| texts(file, false), &|file| texts(file, true)]), ["/t null texts"]);
    let tagged = |file: &mut Writer, tag: &str| {
        file.dataset("o").datatype(Datatype::opaque(2, tag)).shape([1]).write_raw(b"??").unwrap();
    };
    assert_eq!(told([&|file| tagged(file, "a"), &|file| tagged(file, "b")]), ["/o datatype"]);
    let commits = |file: &mut Writer, order: [usize; 4], linked: bool| {
        let types: Vec<ObjectId> =
            (0..2).map(|_| file.commit_unlinked(&Datatype::float32()).unwrap()).collect();
        if linked {
            file.root().hard_link("t1", types[0]).unwrap().hard_link("t2", types[1]).unwrap();
        }
        for (number, kind) in order.into_iter().enumerate() {
            let committed = Committed { datatype: types[kind], value: 1.0f32 };
            file.dataset(&format!("d{number}"))
                .committed(types[kind])
                .attribute("a", committed)
                .write(&[0.5f32])
                .unwrap();
        }
    };
    for linked in [true, false] {
        let shared =
            told([&|file| commits(file, [0, 0, 1, 1], linked), &|file| commits(file, [0, 1, 0, 1], linked)]);
        assert!(shared.contains(&"/d1 datatype".to_owned()) && shared.contains(&"/d1 attributes".to_owned()));
    }
    let options = CreateOptions::default().with_file_space(FileSpace::Aggregated);
    let paged = options.clone().with_stated_page_size(8192);
    assert_eq!(told_of([&options, &paged], [&|_| {}, &|_| {}]), ["/ size of pages"]);
    let kept = CreateOptions::default().with_free_space_threshold(9);
    assert_eq!(told_of([&CreateOptions::default(), &kept], [&|_| {}, &|_| {}]), ["/ file space"]);
}

#[test]
fn chunks_at_unfiltered_edges_are_copied() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("a.h5"), folder.path().join("new.h5"));
    let mut file = Writer::create(&from).unwrap();
    // A filter that is not known is never decoded, so that its chunks can only be copied.
    let made = file.dataset("u").shape([5]).chunks([2]).filters(Filters::new().lzf()).unfiltered_edges();
    made.write(&[7u8, 8, 9, 10, 11]).unwrap();
    file.finish().unwrap();
    let bytes = |path: &Path| -> Vec<Vec<u8>> {
        let dataset = hdf5_pure::File::open(path).unwrap().dataset("u").unwrap();
        let chunks = dataset.chunks().unwrap().into_iter().flatten();
        chunks.map(|chunk| dataset.chunk_raw(&chunk).unwrap().into_owned()).collect()
    };
    let mut damaged = std::fs::read(&from).unwrap();
    let first = bytes(&from)[0].clone();
    let at = damaged.windows(first.len()).position(|part| part == first).unwrap();
    damaged[at] ^= 0xff;
    std::fs::write(&from, damaged).unwrap();
    repacked(&from, &to, &WriteOptions::default()).unwrap();
    assert_eq!(bytes(&from), bytes(&to));
}

#[test]
fn filters_stay_optional_with_other_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("a.h5"), folder.path().join("new.h5"));
    let mut file = Writer::create(&from).unwrap();
    let filters = Filters::new().custom(32004, Vec::new());
    file.dataset("mandatory").chunks([10]).filters(filters).write(&[7u8; 40]).unwrap();
    file.dataset("optional").chunks([10]).filters(Filters::new().shuffle().lz4()).write(&[7u8; 40]).unwrap();
    file.finish().unwrap();
    repacked(&from, &to, &WriteOptions::default().with_chunks([20])).unwrap();
    let new = hdf5_pure::File::open(&to).unwrap();
    let optional = |name: &str| -> Vec<bool> {
        let dataset = new.dataset(name).unwrap();
        dataset.filters().unwrap().filters.iter().map(|filter| filter.optional).collect()
    };
    assert_eq!((optional("mandatory"), optional("optional")), (vec![false], vec![true, true]));
}

#[test]
fn a_virtual_dataset_without_mappings_stays_virtual() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("a.h5"), folder.path().join("new.h5"));
    let mut file = Writer::create(&from).unwrap();
    file.dataset("v").shape([3]).virtual_layout().create::<i32>().unwrap();
    file.finish().unwrap();
    for bound in [None, Some("1.10"), Some("2.0")] {
        let options =
            bound.map_or_else(WriteOptions::default, |bound| WriteOptions::default().with_bound(bound));
        repacked(&from, &to, &options).unwrap();
        let new = hdf5_pure::File::open(&to).unwrap().dataset("v").unwrap();
        assert!(matches!(new.layout().unwrap(), Layout::Virtual(_)), "{bound:?}");
    }
    let refused = repacked(&from, &to, &WriteOptions::default().with_bound("1.8")).unwrap_err();
    assert!(matches!(&refused, Error::Usage { argument: "bound", .. }), "{refused}");
    assert!(refused.to_string().contains("/v needs it"), "{refused}");
}

#[test]
fn a_virtual_dataset_keeps_the_shape_that_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("a.h5"), folder.path().join("new.h5"));
    let all = Selection::Regular(vec![Regular { start: 0, stride: 1, count: Some(1), block: None }]);
    let mut file = Writer::create(&from).unwrap();
    file.dataset("grown").write(&[1, 2, 3]).unwrap();
    for (name, source, of) in [("here", ".", "grown"), ("missing", "gone.h5", "x")] {
        let mapping =
            Mapping { file: source.into(), dataset: of.into(), source: all.clone(), target: all.clone() };
        file.dataset(name).shape([2]).max_shape([None]).map_selection(mapping).create::<i32>().unwrap();
    }
    file.finish().unwrap();
    repacked(&from, &to, &WriteOptions::default()).unwrap();
    let new = hdf5_pure::File::open(&to).unwrap();
    for name in ["here", "missing"] {
        assert_eq!(new.dataset(name).unwrap().stored_shape(), [2], "{name}");
    }
    assert_eq!(new.dataset("here").unwrap().read::<i32>().unwrap(), [1, 2, 3]);
    // Elements that are brought into the new file must be there.
    assert!(repacked(&from, &to, &WriteOptions::default().with_inline(true)).is_err());
}
