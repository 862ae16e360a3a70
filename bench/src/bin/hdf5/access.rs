//! HDF5 by positioned reads, which are the default, beside the same reads of a map, which can be asked for. Each row covers
//! what a program sees, from opening the file to closing it.

use std::hint::black_box;
use std::path::Path;

use harness::{Case, Outcome, Watch};
use hdf5_pure::options::Access;
use hdf5_pure::structure::Target;
use hdf5_pure::{File, OpenOptions, Range, Slab};

use crate::{expect, prepare, text};

const MAPPED: &str = "ours, mapped";
/// Positioned reads may take so much of the time.
const GOAL: f64 = 1.1;

/// Most rounds take less time than a virtual machine may be stopped for, so that many of them are needed for a median.
const ROUNDS: usize = 21;

/// Opens a file.
type Open<'a> = &'a dyn Fn() -> Outcome<File>;
type Work = fn(Open<'_>, &mut Watch) -> Outcome;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: &str, files: &'static str, file: &'static str, work: Work| {
        let name = text(format_args!("positioned reads: {name}"));
        let case = Case::new(name, GOAL).rounds(ROUNDS).fresh().prepare(move |folder| prepare(folder, files));
        cases.push(
            case.ours(move |folder, watch| work(&|| positioned(folder, file), watch))
                .rust(MAPPED, move |folder, watch| work(&|| mapped(folder, file), watch)),
        );
    };
    add("1 GiB contiguous", "contiguous", "contiguous.h5", whole);
    add("512 MiB gzip and shuffle", "gzip", "gzip.h5", whole);
    add("256 MiB in plain chunks", "plain", "plain.h5", whole);
    add("a window of 1 GiB", "contiguous", "contiguous.h5", window);
    add("1,000,000 strings", "strings", "strings.h5", strings);
    for (age, file) in [("old", "objects-old.h5"), ("new", "objects-new.h5")] {
        add(text(format_args!("list 100,000 objects, {age}")), "objects", file, list);
        add(text(format_args!("an attribute of each of 100,000, {age}")), "objects", file, attributes);
    }
    for index in ["btree1", "fixed", "extensible", "btree2"] {
        let file = text(format_args!("small-{index}.h5"));
        add(text(format_args!("200,000 chunks, {index}")), "small", file, whole);
    }
    cases
}

fn positioned(folder: &Path, name: &str) -> Outcome<File> {
    Ok(File::open(folder.join(name))?)
}

#[allow(unsafe_code)]
fn mapped(folder: &Path, name: &str) -> Outcome<File> {
    // SAFETY: the file is in a folder of the bench's own; nobody changes it while it is read.
    let access = unsafe { Access::mapped() };
    Ok(File::open_with(folder.join(name), &OpenOptions::default().with_access(access))?)
}

/// Times opening the file, the work, and closing the file. A map is made when the file is opened, and taken apart when it is
/// closed, so that without these only one side of the comparison would be counted.
fn timed<T>(open: Open<'_>, watch: &mut Watch, work: impl FnOnce(&File) -> Outcome<T>) -> Outcome<T> {
    watch.time(|| {
        let file = open()?;
        work(&file)
    })
}

fn whole(open: Open<'_>, watch: &mut Watch) -> Outcome {
    let bytes = timed(open, watch, |file| {
        let dataset = file.dataset("d")?;
        let all = dataset.all()?;
        Ok(dataset.read_raw(&all)?)
    })?;
    expect(!black_box(bytes).is_empty())
}

fn window(open: Open<'_>, watch: &mut Watch) -> Outcome {
    let bytes = timed(open, watch, |file| {
        let dataset = file.dataset("d")?;
        let shape = dataset.shape();
        let ranges: Vec<Range> = shape.iter().map(|&n| Range::new(n / 2, n.min(64))).collect();
        Ok(dataset.read_raw(&Slab::new(shape, ranges)?)?)
    })?;
    expect(!black_box(bytes).is_empty())
}

fn strings(open: Open<'_>, watch: &mut Watch) -> Outcome {
    let strings = timed(open, watch, |file| Ok(file.dataset("d")?.read::<String>()?))?;
    expect(strings.len() == 1_000_000)
}

fn list(open: Open<'_>, watch: &mut Watch) -> Outcome {
    let links = timed(open, watch, |file| Ok(file.root()?.links()?))?;
    expect(links.len() == 100_000 && links.iter().all(Result::is_ok))
}

fn attributes(open: Open<'_>, watch: &mut Watch) -> Outcome {
    let count = timed(open, watch, |file| {
        let mut count = 0;
        for link in file.root()?.links()? {
            if let Target::Hard(address) = link.map_err(|broken| broken.error)?.target {
                count += file.attribute_at(address, "n")?.read::<i64>()?.len();
            }
        }
        Ok(count)
    })?;
    expect(count == 100_000)
}
