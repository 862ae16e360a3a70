//! What the common view tells of HDF5 files beside their contents.

#![cfg(feature = "hdf5")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::borrow::Cow;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sciformats::hdf5_pure::{CreateOptions, Writer};
use sciformats::source::Fact;
use sciformats::{File, Format, Name, Object, OpenOptions, ReadAt, Target, Value};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hdf5").join(name)
}

fn fact<'a>(facts: &'a [Fact], key: &str) -> Option<&'a Value> {
    facts.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// The names of all structures, and how many bytes of chunks and data there are.
fn structures(file: &File) -> (Vec<String>, u64) {
    let (mut names, mut data) = (Vec::new(), 0);
    let mut visit = |structure: sciformats::source::Structure| {
        let end = structure.offset.checked_add(structure.size).unwrap();
        assert!(structure.size > 0 || structure.depth == 1, "{structure:?}");
        assert!(end <= file.size(), "{structure:?}");
        if matches!(&*structure.name, "chunk" | "contiguous data") {
            data += structure.size;
        }
        names.push(structure.name.into_owned());
        ControlFlow::Continue(())
    };
    file.source().structures(&mut visit).unwrap();
    (names, data)
}

#[test]
fn a_user_block_moves_every_offset() {
    let file = sciformats::open(fixture("user-block.h5")).unwrap();
    assert_eq!(file.format(), Format::Hdf5);
    let facts = file.source().facts();
    let Some(Value::Integer(digits)) = fact(&facts, "user block") else { panic!("{facts:?}") };
    let base: usize = digits.parse().unwrap();
    assert!(fs::read(fixture("user-block.h5")).unwrap()[base..].starts_with(b"\x89HDF"));
    assert_eq!(structures(&file).0.first().map(String::as_str), Some("superblock"));
}

#[test]
fn a_null_dataspace_has_no_elements() {
    let mut file = hdf5_pure::Writer::in_memory(&Default::default()).unwrap();
    file.dataset("none").datatype(hdf5_pure::Datatype::float64()).write_null().unwrap();
    file.dataset("one").write_scalar(2.5).unwrap();
    let file = File::from_bytes(file.into_bytes().unwrap()).unwrap();
    let (none, one) = (file.array("/none").unwrap(), file.array("/one").unwrap());
    assert_eq!((none.shape(), none.is_null()), (&[][..], true));
    assert_eq!((one.shape(), one.is_null()), (&[][..], false));
    let all = sciformats::Slab::all(none.shape()).unwrap();
    assert!(none.all().is_err() && none.read_slab::<f64>(&all).is_err() && none.bytes(&all).is_err());
    assert_eq!(one.read_slab::<f64>(&all).unwrap(), [2.5]);
}

/// A file in memory that counts the bytes that are read.
struct Counted(Vec<u8>, Arc<AtomicU64>);

impl ReadAt for Counted {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read_at(&self, offset: u64, len: usize) -> sciformats::Result<Cow<'_, [u8]>> {
        self.1.fetch_add(len as u64, Ordering::Relaxed);
        self.0.read_at(offset, len)
    }
}

#[test]
fn describing_an_array_costs_the_same_however_many_chunks_it_has() {
    let read = |chunks: u64| {
        let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
        let values = vec![1u8; usize::try_from(chunks).unwrap()];
        file.dataset("u").shape([chunks]).max_shape([None]).chunks([1]).write(&values).unwrap();
        let count = Arc::new(AtomicU64::new(0));
        let storage = Counted(file.into_bytes().unwrap(), Arc::clone(&count));
        let file = File::from_storage(storage, &OpenOptions::default()).unwrap();
        let u = file.resolve("/u").unwrap();
        let before = count.load(Ordering::Relaxed);
        let Object::Array(info) = file.source().object(u).unwrap() else { panic!("it is an array") };
        let cost = count.load(Ordering::Relaxed) - before;
        assert_eq!((info.shape, info.stored), (Some(vec![chunks]), None));
        // Who asks for it learns how much is stored.
        let Object::Array(info) = file.source().measured(u).unwrap() else { panic!("it is an array") };
        assert_eq!((info.stored, fact(&info.facts, "chunks stored")), (Some(chunks), Some(&chunks.into())));
        cost
    };
    assert_eq!(read(10), read(20_000));
}

#[test]
fn stored_bytes_are_those_of_the_chunks() {
    for name in ["filters.h5", "indexes-earliest.h5", "indexes-latest.h5"] {
        let file = sciformats::open(fixture(name)).unwrap();
        let source = file.source();
        let (mut stored, mut filters) = (0, Vec::new());
        let mut groups = vec![source.root()];
        while let Some(group) = groups.pop() {
            for member in source.members(group).unwrap() {
                let Target::Object(id) = member.unwrap().target else { continue };
                match source.measured(id).unwrap() {
                    Object::Group => groups.push(id),
                    Object::Array(info) => {
                        let compact = info.facts.contains(&("layout", "compact".into()));
                        stored += if compact { 0 } else { info.stored.unwrap() };
                        filters.extend(info.filters.clone());
                        assert_eq!(info.chunks.is_some(), info.facts.iter().any(|(key, _)| *key == "index"));
                    }
                    _ => {}
                }
            }
        }
        let (names, data) = structures(&file);
        assert_eq!(stored, data, "{name}");
        assert!(names.iter().any(|name| name == "object header"));
        assert!(filters.iter().any(|filter| filter.starts_with("deflate ")), "{name}: {filters:?}");
    }
}

#[test]
fn names_find_what_is_listed() {
    for name in ["links-earliest.h5", "links-latest.h5"] {
        let file = sciformats::open(fixture(name)).unwrap();
        let source = file.source();
        let mut kinds = Vec::new();
        for member in source.members(source.root()).unwrap() {
            let member = member.unwrap();
            let found = source.member(source.root(), &member.name).unwrap().unwrap();
            assert_eq!(format!("{found:?}"), format!("{:?}", member.target));
            kinds.push(std::mem::discriminant(&found));
        }
        kinds.dedup();
        assert!(kinds.len() > 1, "{name}");
        assert!(source.member(source.root(), &"no such member".into()).unwrap().is_none());
        assert!(source.member(source.root(), &Name::from(&b"\xff"[..])).unwrap().is_none());
    }
}
