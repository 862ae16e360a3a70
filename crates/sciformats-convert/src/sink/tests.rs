//! Files of every format, written and read back.

use super::*;
use crate::manifest;
#[cfg(feature = "rawarray")]
use sciformats::Slab;
#[cfg(feature = "rawarray")]
use sciformats::memory::array;
use sciformats::memory::{Memory, MemoryArray, texts};
use sciformats::{ArrayInfo, File};

fn lines(file: &File) -> Vec<String> {
    let mut out = Vec::new();
    manifest::write(file, &mut out).unwrap();
    String::from_utf8(out).unwrap().lines().skip(1).map(String::from).collect()
}

/// Writes an array at the root, and reads it back.
fn single(format: Format, array: MemoryArray, options: &WriteOptions) -> (Vec<String>, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    let mut sink = overwrite(&path, format, options).unwrap();
    sink.add(Place::Root, New::Array(array.clone().into())).unwrap();
    assert!(!path.exists());
    sink.finish().unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    let expected = lines(&File::from(Memory::single(format, array)));
    (lines(&sciformats::open(&path).unwrap()), expected)
}

fn numbers(element: ElementType, shape: &[u64]) -> MemoryArray {
    let size = element.size().unwrap() * shape.iter().product::<u64>();
    let bytes = (0..size).map(|i| if element == ElementType::Bool { i as u8 & 1 } else { i as u8 }).collect();
    MemoryArray { info: ArrayInfo::new(element, shape), bytes }
}

#[test]
fn single_arrays_of_every_type_and_shape() {
    use ElementType as T;
    let pair = T::Compound(vec![
        ("a".into(), T::Int(2)),
        ("v".into(), T::Array { element: Box::new(T::F32), shape: vec![2] }),
    ]);
    for format in [Format::RawArray, Format::Npy] {
        let Ok(rules) = rules(format) else { continue };
        let types = [
            T::Int(1),
            T::UInt(8),
            T::F16,
            T::BF16,
            T::F64,
            T::Complex(8),
            T::Bool,
            T::Opaque(3),
            pair.clone(),
        ];
        for element in types {
            for shape in [&[][..], &[5], &[0], &[2, 3], &[3, 0], &[2, 1, 4, 1]] {
                if rules.element(&element) != Fit::Whole {
                    continue;
                }
                let (found, expected) =
                    single(format, numbers(element.clone(), shape), &WriteOptions::default());
                assert_eq!(found, expected, "{format} {element} {shape:?}");
            }
        }
    }
}

#[test]
fn text_for_numpy() {
    let (found, expected) = single(Format::Npy, texts(&[3], &["", "aµ😀", "b"]), &WriteOptions::default());
    assert_eq!(found, expected);
}

#[cfg(feature = "rawarray")]
#[test]
fn encodings_and_options() {
    let values: Vec<u64> = (0..10_000).collect();
    for (filter, element) in [("lz4", 0), ("leb128", 0), ("bits", 1), ("none", 0)] {
        let options = WriteOptions { filter: Some(filter.into()), ..WriteOptions::default() };
        let data = if element == 0 { array(&[100, 100], &values) } else { numbers(ElementType::Bool, &[99]) };
        let (found, expected) = single(Format::RawArray, data, &options);
        assert_eq!(found, expected, "{filter}");
    }
    let chunks = WriteOptions { chunks: Some(vec![1]), ..WriteOptions::default() };
    let unknown = WriteOptions { filter: Some("zip".into()), ..WriteOptions::default() };
    for options in [chunks, unknown] {
        assert!(matches!(overwrite("x", Format::RawArray, &options), Err(Error::Usage { .. })));
    }
}

#[cfg(feature = "rawarray")]
#[test]
fn a_file_that_fails_leaves_the_old_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.ra");
    std::fs::write(&path, b"old").unwrap();
    let info = ArrayInfo::new(ElementType::UInt(8), [1 << 20, 2]);
    let broken = Elements::new(info, |slab: &Slab, out: &mut Vec<u8>| {
        if slab.ranges()[0].start > 0 {
            return Err(Error::usage("elements", "broke off"));
        }
        out.resize(out.len() + slab.len() as usize * 8, 7);
        Ok(())
    });
    let mut sink = overwrite(&path, Format::RawArray, &WriteOptions::default()).unwrap();
    sink.add(Place::Root, New::Array(broken)).unwrap();
    assert_eq!(sink.finish().unwrap_err().to_string(), "elements broke off");
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn what_the_rules_rule_out_is_refused() {
    for format in Format::ALL {
        let Ok(rules) = rules(format) else { continue };
        let dir = tempfile::tempdir().unwrap();
        let mut sink = overwrite(dir.path().join("x"), format, &WriteOptions::default()).unwrap();
        if rules.layout == Layout::Single {
            assert!(sink.add(Place::Root, New::Group).is_err(), "{format}");
            assert!(sink.finish().is_err());
        } else {
            let root = sink.add(Place::Root, New::Group).unwrap();
            assert!(sink.add(Place::Root, New::Group).is_err());
            assert!(sink.add(Place::In(Handle(999), &"a".into()), New::Group).is_err());
            let target = &"a".into();
            assert_eq!(sink.add(Place::In(root, &"s".into()), New::Soft(target)).is_ok(), rules.soft_links);
        }
    }
}

#[test]
fn options_without_an_effect_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |format, options: &WriteOptions| {
        overwrite(dir.path().join("x"), format, options)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    let said = refused(Format::Npy, &WriteOptions::default().with_inline(true));
    assert!(said.contains("inline has no meaning"), "{said}");
    #[cfg(feature = "hdf5")]
    for options in [
        WriteOptions::default().with_level(3),
        WriteOptions::default().with_level(3).with_filter("none"),
        WriteOptions::default().with_level(3).with_filter("none+fletcher32"),
    ] {
        let said = refused(Format::Hdf5, &options);
        assert!(said.contains("level is given without a filter"), "{said}");
    }
    #[cfg(feature = "hdf5")]
    {
        let (old, new) = (dir.path().join("old.h5"), dir.path().join("new.h5"));
        let mut made = hdf5_pure::Writer::create(&old).unwrap();
        made.dataset("u").shape([1000]).chunks([10]).deflate(6).write(&[1.0f32; 1000]).unwrap();
        made.finish().unwrap();
        let file = std::sync::Arc::new(sciformats::open(&old).unwrap());
        let options = WriteOptions::default().with_level(3);
        let said = crate::repack::rewrite(&file, &new, &options, None).unwrap_err().to_string();
        assert!(said.contains("level is given without a filter") && !new.exists(), "{said}");
    }
}
