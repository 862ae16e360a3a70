//! Salvages what salvage has written: undamaged, when everything stays as it is, and damaged again.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::expect_used)]

use std::collections::BTreeMap;
use std::path::Path;

use hdf5_pure::options::Bound;
use hdf5_pure::{CreateOptions, File, Node, Writer};
use sciformats_salvage::{Examination, Loss, State};

use crate::others::{Slabs, damages, document, examined, frame, is_missing, numbers, trajectory};

/// Writes what was found to a new file, and returns its bytes.
fn written(found: &Examination, path: &Path) -> (Vec<u8>, Vec<Loss>) {
    let losses = found.write(path).unwrap();
    (std::fs::read(path).unwrap(), losses)
}

/// Salvages damaged files, and calls `check` with the name of the damage and the path of the clean file. Then it salvages each clean
/// file, of which `content` must stay the same, damages some of the clean files again, and checks what is left.
fn again<T: PartialEq>(
    bytes: &[u8],
    (extension, format, step): (&str, &str, usize),
    content: impl Fn(&Path) -> T,
    check: impl Fn(&str, &Path),
) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(format!("{name}.{extension}"));
    let mut count = 0;
    for (name, damaged) in damages(bytes).into_iter().step_by(step) {
        let Some(found) = examined(&damaged).filter(|found| found.report().format == format) else {
            continue;
        };
        if found.is_empty() {
            continue;
        }
        let (clean, _) = written(&found, &path("clean"));
        check(&name, &path("clean"));
        let lost: Vec<_> =
            found.report().objects.iter().filter(|object| object.state > State::Partial).collect();
        let sound = examined(&clean).unwrap();
        // A description without elements stays one.
        let more = sound.report().objects.iter().find(|object| {
            object.state > State::Unchecked && lost.iter().all(|known| known.path != object.path)
        });
        assert!(sound.report().causes.is_empty() && more.is_none(), "{name}: {:#?}", sound.report());
        let found = sound;
        let (_, losses) = written(&found, &path("same"));
        assert!(losses.is_empty(), "{name}: {losses:?}");
        assert!(content(&path("same")) == content(&path("clean")), "{name}: salvage changes what is sound");
        for (second, damaged) in damages(&clean).into_iter().skip(count % 7).step_by(7 * step) {
            let Some(found) = examined(&damaged).filter(|found| found.report().format == format) else {
                continue;
            };
            if !found.is_empty() {
                written(&found, &path("again"));
                check(&format!("{name}, and then {second}"), &path("again"));
            }
        }
        count += 1;
    }
    assert!(count > 5, "{count} files");
}

/// The paths of all objects, with their elements and their attributes.
type Content = BTreeMap<String, (Vec<u8>, Vec<(String, Vec<u8>)>)>;

fn hdf5_content(path: &Path) -> Content {
    let file = File::open(path).unwrap();
    let mut content = BTreeMap::new();
    for entry in file.walk() {
        let path = String::from_utf8_lossy(&entry.path).into_owned();
        let node = file.object(&path).unwrap();
        let attributes = file.attributes_at(node.address()).unwrap();
        let attributes = attributes
            .iter()
            .map(|one| (one.name().unwrap().to_string(), one.canonical().unwrap()))
            .collect();
        let elements = match node {
            Node::Dataset(dataset) => {
                dataset.read::<i64>().unwrap().iter().flat_map(|n| n.to_le_bytes()).collect()
            }
            _ => Vec::new(),
        };
        content.insert(path, (elements, attributes));
    }
    content
}

/// Whether each change of these would be noticed: others change bytes without a checksum.
fn is_noticed(damage: &str) -> bool {
    !damage.contains("bit") && !damage.contains("zeros")
}

/// Whether what the first salvage has said at the end of the file may be lost.
fn is_cut_twice(damage: &str) -> bool {
    damage.contains("and then cut")
}

fn rows(numbers: &[u64], rank: usize) -> Slabs {
    numbers.chunks(2 * rank).map(|row| (row[..rank].to_vec(), row[rank..].to_vec())).collect()
}

#[test]
fn hdf5() {
    for bound in [Bound::Earliest, Bound::LATEST] {
        let bytes = crate::damage::sample(bound);
        again(&bytes, ("h5", "hdf5", 9), hdf5_content, |name, path| {
            let file = File::open(path).unwrap();
            for (path, _) in hdf5_content(path) {
                assert!(!path.contains("lost+found/lost+found"), "{name}: {path}");
                let (Some(wanted), Ok(dataset)) = (crate::damage::expected(&path), file.dataset(&path))
                else {
                    continue;
                };
                let renamed = dataset.attributes().unwrap().iter().any(|one| {
                    let name = one.name().unwrap().to_string();
                    name.contains("before")
                });
                assert!(!renamed || !is_noticed(name), "{name}: what salvage has said is not the user's");
                let missing =
                    dataset.attribute("missing").and_then(|one| one.read::<u64>()).unwrap_or_default();
                let missing = rows(&missing, 1);
                let said =
                    dataset.attribute("damage").and_then(|one| one.read::<String>()).unwrap_or_default();
                let lacks = said.iter().any(|text| text.contains("a part of the header is lost"));
                for (i, (value, wanted)) in dataset.read::<i64>().unwrap().iter().zip(&wanted).enumerate() {
                    let right = value == wanted || is_missing(&missing, &[i as u64]);
                    assert!(right || lacks || !is_noticed(name), "{name}: {path} {i} {said:?}");
                }
            }
        });
    }
}

#[test]
fn gsd() {
    let (bytes, chunks) = trajectory();
    let content = |path: &Path| {
        let reader = gsd_rs::Reader::open(path).unwrap();
        let mut found = BTreeMap::new();
        for chunk in reader.all_chunks() {
            let chunk = chunk.unwrap();
            let bytes = reader.read_bytes(&chunk, 0..chunk.n).unwrap().to_vec();
            found.insert((chunk.frame, chunk.name.to_owned()), bytes);
        }
        found
    };
    again(&bytes, ("gsd", "gsd", 9), content, |name, path| {
        let reader = gsd_rs::Reader::open(path).unwrap();
        for ((frame, chunk), wanted) in &chunks {
            let Ok(Some(found)) = reader.find(*frame, chunk) else { continue };
            let said = reader.find(*frame, "lost+found/damage").unwrap().is_some();
            let right = reader.read::<u32>(&found).is_ok_and(|values| *values == wanted[..]);
            assert!(right || said || !is_noticed(name), "{name}: {frame} {chunk}");
        }
    });
}

#[test]
fn asdf() {
    let (bytes, arrays) = document();
    let content = |path: &Path| {
        let file = asdf_core::Asdf::open(path).unwrap();
        let blocks: Vec<Vec<u8>> = file.blocks().map(|block| block.data().unwrap().into_owned()).collect();
        let text = std::fs::read(path).unwrap();
        let end = text.windows(4).position(|four| four == b"\xd3BLK").unwrap_or(text.len());
        (text[..end].to_vec(), blocks)
    };
    again(&bytes, ("asdf", "asdf", 9), content, |name, path| {
        let file = asdf_core::Asdf::open(path).unwrap();
        let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        for (path, wanted) in &arrays {
            let Ok(values) = file.array(path).and_then(|array| array.read::<u32>()) else { continue };
            let said = text.contains(&format!("    \"/{path}\": "));
            assert!(values == *wanted || said || !is_noticed(name), "{name}: {path}");
        }
    });
}

#[test]
fn blosc2() {
    let (bytes, data) = frame(false);
    let content = |path: &Path| {
        let frame = cframe::Frame::open(path).unwrap();
        let layers: Vec<_> =
            frame.vlmeta_names().map(|name| (name.to_owned(), frame.vlmeta(name).unwrap())).collect();
        let chunks: Vec<_> = (0..frame.chunks()).map(|i| frame.chunk(i).unwrap().decode().unwrap()).collect();
        (layers, chunks)
    };
    again(&bytes, ("b2nd", "blosc2", 9), content, |name, path| {
        let frame = cframe::Frame::open(path).unwrap();
        let missing = frame.vlmeta_value("missing").ok();
        let Ok(array) = cframe::Array::from_frame(frame) else { return };
        if array.shape() != [40, 30] {
            return;
        }
        let missing: Slabs = missing
            .iter()
            .flat_map(|rows| rows.as_list().unwrap())
            .map(|row| {
                let row: Vec<u64> =
                    row.as_list().unwrap().iter().map(|n| n.as_i64().unwrap() as u64).collect();
                (row[..2].to_vec(), row[2..].to_vec())
            })
            .collect();
        for (i, (value, wanted)) in array.read_bytes().unwrap().chunks(4).zip(&data).enumerate() {
            let right =
                value == wanted.to_le_bytes() || is_missing(&missing, &[i as u64 / 30, i as u64 % 30]);
            assert!(right || !is_noticed(name) || is_cut_twice(name), "{name}: element {i} {missing:?}");
        }
    });
}

#[test]
fn raw_array() {
    let data = numbers(3, 60 * 7 * 4);
    let bytes =
        rawarray::RawArray::new([7, 4, 60], data.clone()).unwrap().encode(&Default::default()).unwrap();
    let content = |path: &Path| std::fs::read(path).unwrap();
    again(&bytes, ("ra", "rawarray", 9), content, |name, path| {
        let reader = rawarray::Reader::open(path).unwrap();
        if reader.shape() != [60, 4, 7] || reader.element() != rawarray::ElementType::UInt(4) {
            return;
        }
        let metadata = reader.metadata().unwrap();
        let missing = raw_missing(&metadata);
        for (i, (value, wanted)) in reader.read::<u32>().unwrap().iter().zip(&data).enumerate() {
            let i = i as u64;
            let right = value == wanted || is_missing(&missing, &[i / 28, i / 7 % 4, i % 7]);
            assert!(right || !is_noticed(name) || is_cut_twice(name), "{name}: element {i}");
        }
    });
}

/// Reads the parts that metadata of `RawArray` list.
fn raw_missing(metadata: &[u8]) -> Slabs {
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(metadata) else { return Vec::new() };
    let numbers =
        |value: &serde_json::Value| value.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    let slabs = value["missing"].as_array().unwrap().iter();
    slabs.map(|slab| (numbers(&slab["start"]), numbers(&slab["count"]))).collect()
}

/// Overwrites the header of an object with zeros.
fn without_header(bytes: &[u8], path: &str) -> Vec<u8> {
    let file = File::from_bytes(bytes.to_vec()).unwrap();
    let at = file.object(path).unwrap().address().0 as usize;
    let mut damaged = bytes.to_vec();
    damaged[at..at + 32].fill(0);
    damaged
}

#[test]
fn what_an_earlier_salvage_has_found_stays_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clean.h5");
    for bound in [Bound::Earliest, Bound::LATEST] {
        let mut bytes = crate::damage::sample(bound);
        for group in ["a", "b"] {
            let found = examined(&without_header(&bytes, group)).unwrap();
            bytes = written(&found, &path).0;
        }
        let content = hdf5_content(&path);
        let right = content.iter().filter(|(path, (elements, _))| {
            assert_eq!(path.matches("lost+found").count(), usize::from(path.as_str() != "/"), "{path}");
            let elements: Vec<i64> =
                elements.chunks(8).map(|eight| i64::from_le_bytes(eight.try_into().unwrap())).collect();
            ["plain", "chunked", "zipped"]
                .iter()
                .any(|name| crate::damage::expected(name) == Some(elements.clone()))
        });
        assert_eq!(right.count(), 6, "{:?}", content.keys());
        // What the user has named so is no such group.
        let mut file = Writer::in_memory(&CreateOptions::default().with_bound(bound)).unwrap();
        file.dataset("lost+found").write(&[7i64]).unwrap();
        file.dataset("a/plain").write(&[8i64]).unwrap();
        let found = examined(&without_header(&file.into_bytes().unwrap(), "a")).unwrap();
        written(&found, &path);
        let content = hdf5_content(&path);
        assert_eq!(content["/lost+found"].0, 7i64.to_le_bytes());
        assert!(content.keys().any(|path| path.starts_with("/lost+found_2/")), "{:?}", content.keys());
    }
}

#[test]
fn attributes_of_the_user_are_kept_under_other_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clean.h5");
    for bound in [Bound::Earliest, Bound::LATEST] {
        let mut file = Writer::in_memory(&CreateOptions::default().with_bound(bound)).unwrap();
        let dataset = file.dataset("a").attribute("missing", [0.5, 0.25]).attribute("missing_before", 1);
        let dataset = dataset.attribute("damage", "by water").shape([4000]).chunks([1000]);
        let filters = hdf5_pure::filters::Filters::default().fletcher32();
        dataset.filters(filters).write(&(1..=4000).collect::<Vec<i64>>()).unwrap();
        let mut bytes = file.into_bytes().unwrap();
        // A changed element in another chunk each time.
        for (round, value) in [500i64, 2500].into_iter().enumerate() {
            let at = bytes.windows(8).position(|eight| eight == value.to_le_bytes()).unwrap();
            bytes[at + 7] ^= 1;
            let found = examined(&bytes).unwrap();
            let (clean, losses) = written(&found, &path);
            let renamed = ["/a@missing", "/a@damage"].map(|path| losses.iter().any(|loss| loss.path == path));
            assert_eq!(renamed, [round == 0; 2], "{losses:?}");
            bytes = clean;
        }
        let saved = File::open(&path).unwrap().dataset("a").unwrap();
        assert_eq!(saved.attribute("missing_before_2").unwrap().read::<f64>().unwrap(), [0.5, 0.25]);
        assert_eq!(saved.attribute("missing_before").unwrap().read::<i32>().unwrap(), [1]);
        assert_eq!(saved.attribute("damage_before").unwrap().read::<String>().unwrap(), ["by water"]);
        let mut missing = rows(&saved.attribute("missing").unwrap().read::<u64>().unwrap(), 1);
        missing.sort();
        assert_eq!(missing, [(vec![0], vec![1000]), (vec![2000], vec![1000])]);
        let damage = saved.attribute("damage").unwrap().read::<String>().unwrap();
        assert_eq!(damage[0].matches("partial").count(), 2, "{damage:?}");
    }
}

#[test]
fn many_missing_parts_fit_an_attribute() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clean.h5");
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::Earliest)).unwrap();
    let dataset = file.dataset("a").shape([3000, 1, 1, 1]).chunks([1, 1, 1, 1]);
    let filters = hdf5_pure::filters::Filters::default().fletcher32();
    dataset.filters(filters).write(&(1..=3000).collect::<Vec<i64>>()).unwrap();
    let mut bytes = file.into_bytes().unwrap();
    for value in (1..=3000i64).step_by(2) {
        let at =
            bytes.windows(12).position(|chunk| chunk[..8] == value.to_le_bytes() && chunk[8..] != [0; 4]);
        bytes[at.unwrap() + 7] ^= 1;
    }
    let found = examined(&bytes).unwrap();
    let report = found.report();
    let lost = &report.objects.iter().find(|object| object.path == "/a").unwrap().missing;
    assert!(lost.len() > 1400, "{}", lost.len());
    written(&found, &path);
    let missing = File::open(&path).unwrap().dataset("a").unwrap().attribute("missing").unwrap();
    let missing = rows(&missing.read::<u64>().unwrap(), 4);
    assert!(lost.iter().all(|(at, _)| is_missing(&missing, at)));
}

/// Overwrites the magic number, which makes zeros suspicious, and the first whole sector behind these bytes.
fn with_lost_sector(bytes: &[u8], element: &[u8]) -> Vec<u8> {
    let at = bytes.windows(element.len()).position(|window| window == element).unwrap();
    let mut damaged = bytes.to_vec();
    damaged[..8].fill(0xA5);
    let start = at.next_multiple_of(512);
    damaged[start..start + 512].fill(0);
    damaged
}

#[test]
fn frames_of_gsd_that_are_damaged_twice_say_so_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clean.gsd");
    let (first, second) = (numbers(1, 1000), numbers(2, 1000));
    for has_own in [false, true] {
        let options = gsd_rs::CreateOptions::new("test", "walk", gsd_rs::Version::new(1, 0));
        let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options).unwrap();
        if has_own {
            writer.write("lost+found/damage", 1, &[0.5f64]).unwrap();
        }
        writer.write("first", 1, &first).unwrap();
        writer.write("second", 1, &second).unwrap();
        writer.end_frame().unwrap();
        let mut bytes = writer.into_bytes().unwrap();
        for (round, numbers) in [&first, &second].into_iter().enumerate() {
            let element: Vec<u8> = numbers[..3].iter().flat_map(|n| n.to_le_bytes()).collect();
            let found = examined(&with_lost_sector(&bytes, &element)).unwrap();
            let (clean, losses) = written(&found, &path);
            assert_eq!(losses.len(), usize::from(has_own && round == 0), "{losses:?}");
            bytes = clean;
        }
        let reader = gsd_rs::Reader::open(&path).unwrap();
        let text = reader.text(&reader.find(0, "lost+found/damage").unwrap().unwrap()).unwrap().into_owned();
        assert_eq!((text.matches("first: ").count(), text.matches("second: ").count()), (1, 1), "{text}");
        if has_own {
            let own = reader.find(0, "lost+found/damage_before").unwrap().unwrap();
            assert_eq!(*reader.read::<f64>(&own).unwrap(), [0.5]);
        }
    }
}

#[test]
fn names_of_gsd_that_are_lost_do_not_become_names_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clean.gsd");
    let options = gsd_rs::CreateOptions::new("test", "walk", gsd_rs::Version::new(1, 0));
    let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options).unwrap();
    for (i, name) in ["lost+found/name1", "second"].into_iter().enumerate() {
        writer.write(name, 1, &numbers(i as u64, 10)).unwrap();
    }
    writer.end_frame().unwrap();
    let mut bytes = writer.into_bytes().unwrap();
    let at = bytes.windows(6).position(|window| window == b"second").unwrap();
    bytes[at] = 1;
    let (_, losses) = written(&examined(&bytes).unwrap(), &path);
    let reader = gsd_rs::Reader::open(&path).unwrap();
    for (i, name) in ["lost+found/name1", "lost+found/name1_2"].into_iter().enumerate() {
        let chunk = reader.find(0, name).unwrap().unwrap();
        assert_eq!(*reader.read::<u32>(&chunk).unwrap(), numbers(i as u64, 10)[..], "{losses:?}");
    }
}

#[test]
fn metalayers_of_the_user_are_kept_under_other_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clean.b2nd");
    let frame = cframe::Frame::from_bytes(frame(false).0).unwrap();
    let mut schunk = cframe::SChunk::from_frame(frame);
    schunk.set_vlmeta("missing", b"\xa4none").unwrap();
    schunk.set_vlmeta("damage", b"not even MessagePack").unwrap();
    let mut bytes = schunk.to_bytes().unwrap();
    for (round, number) in [0, 5].into_iter().enumerate() {
        let frame = cframe::Frame::from_bytes(bytes.clone()).unwrap();
        let Ok(cframe::ChunkPlace::At(at)) = frame.chunk_place(number) else { panic!("it is stored") };
        bytes[at as usize..at as usize + 32].fill(0xA5);
        let (clean, losses) = written(&examined(&bytes).unwrap(), &path);
        assert_eq!(losses.len(), if round == 0 { 2 } else { 0 }, "{losses:?}");
        bytes = clean;
    }
    let frame = cframe::Frame::open(&path).unwrap();
    assert_eq!(frame.vlmeta("missing_before").unwrap(), b"\xa4none");
    assert_eq!(frame.vlmeta("damage_before").unwrap(), b"not even MessagePack");
    assert_eq!(frame.vlmeta_value("missing").unwrap().as_list().map(<[_]>::len), Some(2));
    assert_eq!(frame.vlmeta_value("damage").unwrap().as_str().unwrap().matches("partial").count(), 2);
}

#[test]
fn keys_of_the_user_are_kept_in_trees() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clean.asdf");
    let mut document = asdf_core::Document::new();
    document.set("lost+found", "an umbrella").unwrap();
    let data = numbers(1, 400);
    document.set_array("a", asdf_core::NewArray::new(&data, &[400]).unwrap()).unwrap();
    document.options_mut().checksums = true;
    let mut bytes = document.to_bytes().unwrap();
    let at = bytes.windows(4).position(|four| four == data[200].to_le_bytes()).unwrap();
    bytes[at] ^= 1;
    let (_, losses) = written(&examined(&bytes).unwrap(), &path);
    assert!(losses.is_empty(), "{losses:?}");
    let file = asdf_core::Asdf::open(&path).unwrap();
    assert!(file.tree().get("lost+found").is_some());
    let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
    assert!(text.contains("an umbrella"), "{text}");
    assert!(text.contains("\nlost+found_2:\n  damage:\n"), "{text}");
    // A tree on one line has no place for a key.
    let line = bytes.windows(5).position(|five| five == b"\n--- ").unwrap();
    let end = bytes.windows(5).position(|five| five == b"\n...\n").unwrap();
    let mut flow = bytes.clone();
    flow.splice(
        line..end,
        *b"\n--- {a: !core/ndarray-1.1.0 {source: 0, datatype: uint32, byteorder: little, shape: [400]}}",
    );
    let (_, losses) = written(&examined(&flow).unwrap(), &path);
    assert_eq!(losses.len(), 1, "{losses:?}");
}

#[test]
fn metadata_of_raw_arrays_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clean.ra");
    let data = numbers(3, 2000);
    let array = rawarray::RawArray::new([2000], data.clone()).unwrap();
    let element = |at: usize| data[at..at + 3].iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    let own = array.clone().with_metadata(*b"{\"by\": \"hand\"}").encode(&Default::default()).unwrap();
    let (_, losses) = written(&examined(&with_lost_sector(&own, &element(0))).unwrap(), &path);
    assert_eq!(losses.len(), 1, "{losses:?}");
    assert_eq!(*rawarray::Reader::open(&path).unwrap().metadata().unwrap(), *b"{\"by\": \"hand\"}");

    let bytes = array.encode(&Default::default()).unwrap();
    let (clean, _) = written(&examined(&with_lost_sector(&bytes, &element(0))).unwrap(), &path);
    let (_, losses) = written(&examined(&with_lost_sector(&clean, &element(1000))).unwrap(), &path);
    assert!(losses.is_empty(), "{losses:?}");
    let reader = rawarray::Reader::open(&path).unwrap();
    let missing = raw_missing(&reader.metadata().unwrap());
    let values = reader.read::<u32>().unwrap();
    assert_eq!(values.iter().zip(&data).filter(|(a, b)| a != b).count(), 256);
    for (i, (value, wanted)) in values.iter().zip(&data).enumerate() {
        assert!(value == wanted || is_missing(&missing, &[i as u64]), "element {i}: {missing:?}");
    }
}

#[test]
fn the_last_frame_of_a_part_of_an_index_may_lack_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clean.gsd");
    let mut bytes = trajectory().0;
    let entry = bytes[256..288].to_vec();
    let copies: Vec<usize> = (257..bytes.len() - 32).filter(|&at| bytes[at..].starts_with(&entry)).collect();
    assert!(!copies.is_empty());
    for (i, at) in copies.into_iter().enumerate() {
        bytes[at..at + (32 << (8 + i))].fill(0xEE);
    }
    bytes[256 + 100 * 32..256 + 101 * 32].fill(0xEE);
    bytes[8..40].fill(0xFF);
    written(&examined(&bytes).unwrap(), &path);
    let reader = gsd_rs::Reader::open(&path).unwrap();
    let last = reader.frames() - 1;
    assert_eq!(last, 33);
    assert!(reader.find(last, "log/energy").unwrap().is_none());
    assert!(reader.find(last, "lost+found/damage").unwrap().is_some());
    // A file that was cut off within the entries of a frame.
    let (bytes, _) = written(&examined(&trajectory().0).unwrap(), &path);
    let index = gsd_rs::structure::header(&bytes).unwrap().index.location as usize;
    written(&examined(&bytes[..index + 32 * 580]).unwrap(), &path);
    let reader = gsd_rs::Reader::open(&path).unwrap();
    assert!(reader.find(193, "log/energy").unwrap().is_none());
    assert!(reader.find(193, "lost+found/damage").unwrap().is_some());
}

#[test]
fn chunks_of_gsd_that_cannot_be_written_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = trajectory().0;
    let header = gsd_rs::structure::header(&bytes).unwrap();
    let index = header.index.location as usize;
    // The number of columns of the second chunk.
    bytes[index + 32 + 24..index + 32 + 28].fill(0);
    let (_, losses) = written(&examined(&bytes).unwrap(), &folder.path().join("clean.gsd"));
    assert!(losses.len() == 1 && losses[0].path == "/frames/0/particles/position", "{losses:?}");
}
