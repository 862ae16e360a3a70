//! What stays as it was in a clean file, and what the report says of the rest.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::expect_used)]

use std::sync::Arc;

use hdf5_pure::options::Bound;
use hdf5_pure::{CreateOptions, File, Writer};
use sciformats_core::ReadAt;
use sciformats_salvage::{Options, State, examine_storage};

use crate::damage::{ROWS, check, examined, numbers, sample};

#[test]
fn a_shape_that_the_file_cannot_fill_is_left_out_and_told() {
    let mut file =
        hdf5_pure::Writer::in_memory(&CreateOptions::default().with_bound(Bound::Earliest)).unwrap();
    file.group("b").unwrap();
    file.dataset("a").write(&numbers(1, 10)).unwrap();
    file.dataset("wide").shape([1 << 40]).chunks([1 << 20]).create::<i64>().unwrap();
    let bytes = file.into_bytes().unwrap();
    // The name of the heap of a group is lost, so that structures are laid over the file, far behind its end.
    let mut damaged = bytes;
    let tree = damaged.windows(6).position(|six| six == b"TREE\x00\x00").unwrap();
    damaged[tree..tree + 24].fill(0);
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("clean.h5");
    let losses = examined(damaged).write(&output).unwrap();
    assert!(
        losses.iter().any(|loss| loss.path.ends_with("wide") && loss.what.contains("limit")),
        "{losses:?}"
    );
    assert!(std::fs::metadata(&output).unwrap().len() < 1 << 20);
}

#[test]
fn attributes_without_elements_keep_their_types() {
    use hdf5_pure::values::Empty;
    let types = [hdf5_pure::Datatype::fixed_string(1), hdf5_pure::Datatype::signed(2).big_endian()];
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    for (i, datatype) in types.iter().enumerate() {
        file.root().attribute(&format!("a{i}"), Empty(datatype.clone())).unwrap();
    }
    let found = examined(file.into_bytes().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved.h5");
    found.write(&path).unwrap();
    let root = File::open(&path).unwrap().root().unwrap();
    for (i, datatype) in types.iter().enumerate() {
        let attribute = root.attribute(&format!("a{i}")).unwrap();
        assert_eq!(attribute.datatype().unwrap(), datatype);
        assert_eq!(*attribute.dataspace().unwrap(), hdf5_pure::structure::Dataspace::Null);
    }
}

#[test]
fn the_user_block_is_kept() {
    let block: Vec<u8> = (0..1024u32).map(|number| (number * 7) as u8).collect();
    let mut file = Writer::in_memory(&CreateOptions::default().with_user_block(block.clone())).unwrap();
    file.dataset("g/x").write(&[1i64, 2, 3]).unwrap();
    file.dataset("g/y").write(&vec![1.5f64; 4000]).unwrap();
    let sound = file.into_bytes().unwrap();
    let cut = sound[..sound.len() - 8000].to_vec();
    let mut flipped = sound.clone();
    flipped[1024 + 8] ^= 0xff;
    let folder = tempfile::tempdir().unwrap();
    for (number, bytes) in [sound, cut, flipped].into_iter().enumerate() {
        let storage: Arc<dyn ReadAt> = Arc::new(bytes);
        let found = examine_storage(&storage, &Options::default()).unwrap();
        let path = folder.path().join(format!("saved {number}.h5"));
        found.write(&path).unwrap();
        assert!(std::fs::read(&path).unwrap().starts_with(&block), "{number}");
        let saved = hdf5_pure::File::open(&path).unwrap();
        assert_eq!(saved.base(), 1024, "{number}");
        // The names were at the end.
        if number != 1 {
            assert_eq!(saved.dataset("g/x").unwrap().read::<i64>().unwrap(), [1, 2, 3], "{number}");
        }
    }
}

#[test]
fn what_could_not_be_written_is_not_whole() {
    let found = examined(sample(Bound::LATEST));
    let report = found.report().clone();
    assert!(report.clone().with_losses(&[]).is_sound());
    let folder = tempfile::tempdir().unwrap();
    let storage: Arc<dyn ReadAt> = Arc::new({
        let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
        file.dataset("g/sparse").shape([1 << 30]).chunks([1 << 10]).create::<i64>().unwrap();
        file.into_bytes().unwrap()
    });
    let found = examine_storage(&storage, &Options::default()).unwrap();
    let losses = found.write(folder.path().join("saved.h5")).unwrap();
    let report = found.report().clone().with_losses(&losses);
    let state = |path: &str| report.objects.iter().find(|object| object.path == path).unwrap().state;
    assert_eq!((state("/g/sparse"), state("/g")), (State::Lost, State::Partial), "{losses:?}");
    assert!(!report.is_sound());
}

#[test]
fn saved_objects_are_stored_as_they_were() {
    use hdf5_pure::structure::{CreationOrder, Layout};
    for bound in [Bound::Earliest, Bound::LATEST] {
        let mut file = Writer::in_memory(&CreateOptions::default().with_bound(bound)).unwrap();
        let group = file.group("g").unwrap().id();
        let mut properties = hdf5_pure::structure::CreationProperties::default();
        properties.header_version = 2;
        let mut links = hdf5_pure::structure::LinkProperties::default();
        links.order = CreationOrder::Indexed;
        properties.links = Some(links);
        if bound != Bound::Earliest {
            file.creation_properties(group, &properties).unwrap();
        }
        let big = hdf5_pure::Datatype::signed(4).big_endian();
        let kept = file.root().commit("kept", &big).unwrap();
        for name in ["z", "a"] {
            file.dataset(&format!("g/{name}")).committed(kept).shape([3]).create_encoded().unwrap();
        }
        let filters = hdf5_pure::filters::Filters::new().shuffle().deflate(7).fletcher32();
        let zipped = file.dataset("zipped").datatype(big.clone()).shape([10, 6]).max_shape([None, Some(8)]);
        let zipped = zipped.chunks([4, 6]).filters(filters).fill_raw(&[0, 0, 0, 7]).fill_time(1);
        zipped.create_encoded().unwrap().write_all(&(0..60).collect::<Vec<i32>>()).unwrap();
        let mut bytes = file.into_bytes().unwrap();
        let opened = File::from_bytes(bytes.clone()).unwrap();
        let old = opened.dataset("zipped").unwrap();
        let chunk = old.chunks().unwrap().into_iter().nth(1).unwrap().unwrap();
        let at = usize::try_from(chunk.address.0).unwrap() + 8;
        bytes[at] ^= 0xff;
        let found = examined(bytes);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("saved.h5");
        let losses = found.write(&path).unwrap();
        assert!(losses.iter().all(|loss| loss.path == "/zipped" && loss.lost.is_some()), "{losses:?}");
        let saved = File::open(&path).unwrap();
        let new = saved.dataset("zipped").unwrap();
        assert_eq!((new.datatype(), new.dataspace()), (old.datatype(), old.dataspace()));
        assert_eq!(new.filters().unwrap().filters, old.filters().unwrap().filters);
        assert_eq!(new.fill_value().unwrap(), old.fill_value().unwrap());
        let sides = |layout: &Layout| match layout {
            Layout::Chunked(chunked) => Some(chunked.dimensions.clone()),
            _ => None,
        };
        assert_eq!(sides(new.layout().unwrap()), Some(vec![4, 6]));
        let expected: Vec<i32> = (0..60).map(|i| if (24..48).contains(&i) { 7 } else { i }).collect();
        assert_eq!(new.read::<i32>().unwrap(), expected);
        let of = |name: &str| saved.dataset(name).unwrap().committed().unwrap();
        let committed = match saved.object("kept").unwrap() {
            hdf5_pure::Node::Datatype(datatype) => datatype.address(),
            other => panic!("{other:?}"),
        };
        assert_eq!((of("g/z"), of("g/a")), (Some(committed), Some(committed)));
        if bound != Bound::Earliest {
            let links = saved.group("g").unwrap().links().unwrap();
            let mut links: Vec<_> = links.into_iter().map(|link| link.unwrap()).collect();
            links.sort_by_key(|link| link.creation_order.unwrap());
            let names: Vec<_> = links.iter().map(|link| link.name.to_string()).collect();
            assert_eq!(names, ["z", "a"]);
        }
    }
}

#[test]
fn missing_members_of_a_family_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = sample(Bound::Earliest);
    // The driver information block, to which the superblock of version 0 leads.
    let at = bytes.len() as u64;
    let size = (at + 24).next_multiple_of(4096);
    bytes.extend([0, 0, 0, 0, 8, 0, 0, 0]); // version, reserved, size
    bytes.extend(b"NCSAfami");
    bytes.extend(size.to_le_bytes()); // of a member
    bytes[48..56].copy_from_slice(&at.to_le_bytes());
    bytes[40..48].copy_from_slice(&(3 * size).to_le_bytes()); // the end of the file
    bytes.resize(3 * usize::try_from(size).unwrap(), 0);
    let names: Vec<_> = (0..3).map(|number| folder.path().join(format!("run_{number:03}.h5"))).collect();
    for (name, member) in names.iter().zip(bytes.chunks(usize::try_from(size).unwrap())) {
        std::fs::write(name, member).unwrap();
    }
    let examine = || sciformats_salvage::examine(&names[0], &Options::default()).unwrap();
    assert_eq!(examine().report().causes, []);
    for (member, name) in [(2, "run_002.h5"), (1, "run_001.h5")] {
        let held = std::fs::read(&names[member]).unwrap();
        std::fs::remove_file(&names[member]).unwrap();
        let found = examine();
        let cause = &found.report().causes[0];
        assert_eq!(cause.kind, "missing members");
        assert!(cause.evidence.contains(name) && !cause.evidence.contains("run_000"), "{}", cause.evidence);
        assert!(found.report().causes.iter().all(|cause| cause.kind != "cut off"));
        std::fs::write(&names[member], held).unwrap();
    }
}

#[test]
fn links_of_groups_that_are_written_anew_keep_their_order() {
    use hdf5_pure::structure::{CreationOrder, CreationProperties, LinkProperties};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved.h5");
    for order in [CreationOrder::Tracked, CreationOrder::Indexed] {
        let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::LATEST)).unwrap();
        let mut properties = CreationProperties::default();
        properties.header_version = 2;
        let mut links = LinkProperties::default();
        links.order = order;
        properties.links = Some(links);
        let root = file.root().id();
        file.creation_properties(root, &properties).unwrap();
        for name in ["z", "gone/plain", "a"] {
            file.dataset(name).write(&numbers(1, ROWS)).unwrap();
        }
        let bytes = file.into_bytes().unwrap();
        let at = File::from_bytes(bytes.clone()).unwrap().group("gone").unwrap().address().0 as usize;
        let mut damaged = bytes;
        damaged[at..at + 16].fill(0);
        let found = examined(damaged);
        assert_eq!(check(&found).1, 3 * ROWS);
        found.write(&path).unwrap();
        let links = File::open(&path).unwrap().root().unwrap().links().unwrap();
        let mut links: Vec<_> = links.into_iter().map(|link| link.unwrap()).collect();
        links.sort_by_key(|link| link.creation_order.expect("the root has an order"));
        let names: Vec<_> = links.iter().map(|link| link.name.to_string()).collect();
        assert_eq!(names, ["z", "a", "lost+found"]);
    }
}
