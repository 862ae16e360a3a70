//! Flips single bits of small files of each format, and applies the plan of repair: what could be read before can be read after it, and
//! nothing that differs from the undamaged file is called sound.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hdf5_pure::options::Bound;
use hdf5_pure::{CreateOptions, Writer};
use sciformats::model::Object;
use sciformats::options::OpenOptions;
use sciformats::walk::{Found, breadth_first};
use sciformats_core::{ReadAt, Slab};
use sciformats_salvage::{Options, RepairPlan, State, examine_storage};

/// Everything that can be read, by path.
type Contents = BTreeMap<String, Vec<u8>>;

fn storage(bytes: &[u8]) -> Arc<dyn ReadAt> {
    Arc::new(bytes.to_vec())
}

fn contents(bytes: &[u8]) -> Contents {
    let mut all = Contents::new();
    let Ok(file) = sciformats::File::from_storage(storage(bytes), &OpenOptions::default()) else {
        return all;
    };
    let unfolding = file.unfolding();
    let source = file.source();
    let _ = breadth_first(source, ("/", source.root()), file.limits(), &mut |entry| {
        let (id, object) = match entry.what {
            Found::Object(id, object) => (id, object),
            Found::Unreadable(_) | Found::Unlisted(_) => return ControlFlow::Continue(()),
            other => {
                let link = match other {
                    Found::HardLink(to) => format!("hard link to {to}"),
                    other => format!("{other:?}"),
                };
                all.insert(entry.path, link.into_bytes());
                return ControlFlow::Continue(());
            }
        };
        let mut value = object.kind().to_string().into_bytes();
        let mut whole = !matches!(object, Object::Damaged { .. });
        if let Object::Array(info) = &object {
            value.extend(format!("{:?} {:?}", info.element, info.shape).into_bytes());
            if let Some(Ok(slab)) = info.shape.as_deref().map(Slab::all) {
                let read = file.go_through(&unfolding, (id, info), &slab, &mut |_, bytes| {
                    value.extend_from_slice(bytes);
                    Ok(ControlFlow::Continue(()))
                });
                whole &= read.is_ok();
            }
        }
        if whole {
            all.insert(entry.path.clone(), value);
        }
        for attribute in source.attributes(id).into_iter().flatten().flatten() {
            let Ok(value) = attribute.value else { continue };
            let Ok(data) = value.data else { continue };
            let mut bytes = format!("{:?} {:?}", value.element, value.shape).into_bytes();
            bytes.extend(data);
            all.insert(format!("{}@{}", entry.path, attribute.name), bytes);
        }
        ControlFlow::Continue(())
    });
    all
}

/// Everything that salvage finds and says to be complete.
fn salvaged(bytes: &[u8]) -> Contents {
    let Ok(found) = examine_storage(&storage(bytes), &Options::default().with_threads(1)) else {
        return Contents::new();
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved");
    if found.is_empty() || found.write(&path).is_err() {
        return Contents::new();
    }
    let objects = &found.report().objects;
    let complete: Vec<&str> =
        objects.iter().filter(|one| one.state <= State::Unchecked).map(|one| one.path.as_str()).collect();
    let mut all = contents(&std::fs::read(&path).unwrap());
    all.retain(|path, _| complete.contains(&path.split('@').next().unwrap()) && !path.contains("lost+found"));
    all
}

/// The bytes of a file after its repair.
fn repaired(bytes: &[u8], plan: &RepairPlan) -> Vec<u8> {
    let mut new = bytes.to_vec();
    for repair in &plan.repairs {
        let at = repair.offset as usize;
        new.resize(new.len().max(at + repair.new.len()), 0);
        new[at..at + repair.new.len()].copy_from_slice(&repair.new);
    }
    new.resize(plan.lengths.1 as usize, 0);
    new
}

/// What became of the flips of a file.
#[derive(Debug, Default)]
struct Tally {
    flips: usize,
    noticed: usize,
    planned: usize,
    original: usize,
    sound: usize,
    /// The flips after whose repair something is worse than before.
    wrong: Vec<String>,
}

/// Flips each `stride`th bit.
fn sweep(name: &str, bytes: &[u8], stride: usize) -> Tally {
    let mut tally = Tally::default();
    let original = contents(bytes);
    for bit in (0..bytes.len() * 8).step_by(stride) {
        let mut damaged = bytes.to_vec();
        damaged[bit / 8] ^= 1 << (bit % 8);
        tally.flips += 1;
        let Ok(plan) = RepairPlan::of_storage(&storage(&damaged)) else { continue };
        tally.noticed += usize::from(plan.before > 0);
        if plan.repairs.is_empty() {
            continue;
        }
        tally.planned += 1;
        let new = repaired(&damaged, &plan);
        if new == bytes {
            tally.original += 1;
            continue;
        }
        let mut faults = Vec::new();
        let after = contents(&new);
        if plan.after == 0 {
            tally.sound += 1;
            if after != original {
                faults.push("is called sound, and is not what it was");
            }
        }
        let kept = |before: &Contents, after: &Contents| before.iter().all(|(k, v)| after.get(k) == Some(v));
        if !kept(&contents(&damaged), &after) {
            faults.push("lost what could be read");
        }
        if !kept(&salvaged(&damaged), &salvaged(&new)) {
            faults.push("lost what could be salvaged");
        }
        if !faults.is_empty() {
            let repairs: Vec<_> = plan.repairs.iter().map(|one| (one.kind, one.offset)).collect();
            tally.wrong.push(format!("{name} at {:#x}.{}: {faults:?} by {repairs:x?}", bit / 8, bit % 8));
        }
    }
    tally
}

fn fixture(name: &str) -> (String, Vec<u8>) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
    (name.to_owned(), std::fs::read(path).unwrap())
}

/// A file with structures of each kind: links and attributes in heaps, and each index of chunks.
fn written(bound: Bound) -> Vec<u8> {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(bound)).unwrap();
    let numbers: Vec<i16> = (1..13).collect();
    file.dataset("x").attribute("unit", "K").write(&numbers).unwrap();
    file.dataset("a/fixed").shape([12]).chunks([4]).write(&numbers).unwrap();
    file.dataset("a/text").write(&["one", "two"]).unwrap();
    for i in 0..10 {
        file.dataset(&format!("many/{i}")).write(&[i]).unwrap();
        file.root().attribute(&format!("attribute {i}"), i).unwrap();
    }
    file.into_bytes().unwrap()
}

fn files() -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = [
        "hdf5/attributes.h5",
        "hdf5/user-block.h5",
        "hdf5/conventions.h5",
        "hdf5/links-latest.h5",
        "asdf/main0000.asdf",
        "asdf/views.asdf",
        "asdf/index-flow.asdf",
        "blosc2/vlmeta.b2frame",
        "gsd/frames-beyond-the-entries.gsd",
        "rawarray/metadata.ra",
        "rawarray/five-dimensions.ra",
        "rawarray/i4.ra",
    ]
    .map(fixture)
    .into();
    files.push(("earliest".to_owned(), written(Bound::Earliest)));
    files.push(("latest".to_owned(), written(Bound::LATEST)));
    files
}

/// The number of flips of each file, unless all are wanted.
const FLIPS: usize = 150;

#[test]
fn a_repair_destroys_nothing() {
    // With this variable, each bit of the files whose names have its value is flipped, and the numbers are shown.
    let wanted = std::env::var("SWEEP_ALL").ok();
    let all = wanted.is_some();
    let mut wrong = Vec::new();
    for (name, bytes) in
        files().into_iter().filter(|(name, _)| name.contains(wanted.as_deref().unwrap_or("")))
    {
        // An odd stride meets all bits of bytes.
        let stride = if all { 1 } else { (bytes.len() * 8 / FLIPS) | 1 };
        let tally = sweep(&name, &bytes, stride);
        if all {
            let Tally { flips, noticed, planned, original, sound, wrong } = &tally;
            let wrong = wrong.len();
            println!(
                "{name}: {flips} flips, {noticed} noticed, {planned} planned, {original} undone, {sound} otherwise sound, {wrong} wrong"
            );
        }
        wrong.extend(tally.wrong);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
