//! HDF5 against the C library called from C, h5py, and crates: reading.

use std::hint::black_box;
use std::path::Path;

use harness::{Case, Outcome, Watch};
use hdf5_pure::{File, OpenOptions, Range, Slab};

use crate::{expect, prepare, text};

const OBJECTS: i64 = 100_000;
const AGES: [&str; 2] = ["old", "new"];
const INDEXES: [&str; 4] = ["btree1", "fixed", "extensible", "btree2"];

/// A case that reads files of h5py's.
fn case(name: &'static str, goal: f64, files: &'static str) -> Case {
    Case::new(name, goal).prepare(move |folder| prepare(folder, files))
}

/// The cases, each with the peers whose time the goal is a share of; then those with the crates, where being as fast is
/// the goal.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |case: Case| cases.push(case.python("libhdf5").python("h5py"));
    for (memory, used) in [("fresh memory", false), ("memory in use", true)] {
        let name = text(format_args!("1 GiB contiguous, {memory}"));
        add(case(name, 0.9, "contiguous")
            .ours(move |folder, watch| whole(folder, "contiguous.h5", 0, used, watch)));
    }
    for (threads, goal) in [("1 thread", 0.65), ("2 threads", 0.35)] {
        for (memory, used) in [("fresh memory", false), ("memory in use", true)] {
            let name = text(format_args!("512 MiB gzip and shuffle, {threads}, {memory}"));
            let threads = if threads == "1 thread" { 1 } else { 2 };
            add(case(name, goal, "gzip")
                .ours(move |folder, watch| whole(folder, "gzip.h5", threads, used, watch)));
        }
    }
    add(case("256 MiB in plain chunks", 0.9, "plain")
        .ours(|folder, watch| whole(folder, "plain.h5", 0, false, watch)));
    for index in INDEXES {
        let name = text(format_args!("200,000 chunks, {index}"));
        let file = text(format_args!("small-{index}.h5"));
        add(case(name, 0.15, "small").ours(move |folder, watch| whole(folder, file, 1, false, watch)));
    }
    for age in AGES {
        let file = text(format_args!("objects-{age}.h5"));
        let name = text(format_args!("list 100,000 objects, {age}"));
        add(case(name, 0.6, "objects").ours(move |folder, watch| list(folder, file, watch)));
        let name = text(format_args!("open and read one of 100,000, {age}"));
        add(case(name, 1.0, "objects").ours(move |folder, watch| one(folder, file, watch)));
        let name = text(format_args!("an attribute of each of 100,000, {age}"));
        add(case(name, 0.1, "objects").ours(move |folder, watch| attributes(folder, file, watch)));
    }
    add(case("1,000,000 strings", 0.6, "strings").ours(strings));
    add(case("5,000,000 rows of compounds", 0.7, "compound").ours(rows));
    add(case("a field of 5,000,000 rows", 0.7, "compound").ours(field));
    add(case("1,000 windows of gzip", 0.5, "gzip").ours(windows));
    add(case("a window of 1 GiB", 0.05, "contiguous").ours(window));
    cases
}

pub(crate) fn cases_with_crates() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |case: Case| cases.push(case);
    for (name, files, threads) in [
        ("crates: 1 GiB contiguous", "contiguous", 1),
        ("crates: 512 MiB gzip and shuffle, 1 thread", "gzip", 1),
        ("crates: 512 MiB gzip and shuffle, 2 threads", "gzip", 2),
        ("crates: 256 MiB in plain chunks", "plain", 1),
    ] {
        let file = text(format_args!("{files}.h5"));
        add(crates::<f32>(case(name, 1.0, files), file, threads > 1)
            .ours(move |folder, watch| whole(folder, file, threads, false, watch)));
    }
    for index in INDEXES {
        let name = text(format_args!("crates: 200,000 chunks, {index}"));
        let file = text(format_args!("small-{index}.h5"));
        add(crates::<i32>(case(name, 1.0, "small"), file, false)
            .ours(move |folder, watch| whole(folder, file, 1, false, watch)));
    }
    for age in AGES {
        let file = text(format_args!("objects-{age}.h5"));
        let name = text(format_args!("crates: list 100,000 objects, {age}"));
        add(listing_crates(case(name, 1.0, "objects"), file)
            .ours(move |folder, watch| list(folder, file, watch)));
        let name = text(format_args!("crates: open and read one of 100,000, {age}"));
        add(one_crates(case(name, 1.0, "objects"), file).ours(move |folder, watch| one(folder, file, watch)));
    }
    add(string_crates(case("crates: 1,000,000 strings", 1.0, "strings")).ours(strings));
    add(window_crates(case("crates: 1,000 windows of gzip", 1.0, "gzip")).ours(windows));
    cases
}

fn open(folder: &Path, name: &str, threads: usize) -> Outcome<File> {
    Ok(File::open_with(folder.join(name), &OpenOptions::default().with_threads(threads))?)
}

fn whole(folder: &Path, name: &str, threads: usize, used: bool, watch: &mut Watch) -> Outcome {
    let dataset = open(folder, name, threads)?.dataset("d")?;
    let all = dataset.all()?;
    let size = usize::try_from(all.len())? * 4;
    let out = if used {
        let mut out = vec![1u8; size];
        watch.time(|| dataset.read_raw_into(&all, &mut out))?;
        out
    } else {
        watch.time(|| dataset.read_raw(&all))?
    };
    expect(black_box(out)[size - 1] < 255)
}

/// The crates, reading a whole dataset.
fn crates<T>(case: Case, file: &'static str, parallel: bool) -> Case
where
    T: hdf5_published::H5Element + rust_hdf5::H5Type + hdf5_reader::H5Type + Clone,
{
    case.rust("hdf5-pure 0.47", move |folder, watch| {
        let file = hdf5_published::File::open(folder.join(file))?;
        let dataset = file.dataset("d")?;
        expect(!watch.time(|| dataset.read::<T>())?.is_empty())
    })
    .rust("rust-hdf5 0.7.9", move |folder, watch| {
        let file = rust_hdf5::H5File::open(folder.join(file))?;
        let dataset = file.dataset("d")?;
        expect(!watch.time(|| dataset.read_raw::<T>())?.is_empty())
    })
    .rust("hdf5-reader 0.12.1", move |folder, watch| {
        let file = hdf5_reader::Hdf5File::open(folder.join(file))?;
        let dataset = file.dataset("/d")?;
        let read = || if parallel { dataset.read_array_parallel::<T>() } else { dataset.read_array::<T>() };
        expect(!watch.time(read)?.is_empty())
    })
}

fn list(folder: &Path, name: &str, watch: &mut Watch) -> Outcome {
    let links = watch.time(|| File::open(folder.join(name))?.root()?.links())?;
    expect(links.len() as i64 == OBJECTS && links.iter().all(Result::is_ok))
}

fn listing_crates(case: Case, file: &'static str) -> Case {
    case.rust("hdf5-pure 0.47", move |folder, watch| {
        let names = watch.time(|| hdf5_published::File::open(folder.join(file))?.root().datasets())?;
        expect(names.len() as i64 == OBJECTS)
    })
    .rust("rust-hdf5 0.7.9", move |folder, watch| {
        let names = watch.time(|| rust_hdf5::H5File::open(folder.join(file))?.root_group().link_names())?;
        expect(names.len() as i64 == OBJECTS)
    })
    .rust("hdf5-reader 0.12.1", move |folder, watch| {
        let open = || hdf5_reader::Hdf5File::open(folder.join(file))?.root_group()?.members();
        expect(watch.time(open)?.1.len() as i64 == OBJECTS)
    })
}

/// Twenty of the objects, each in a file that is opened anew.
fn twenty() -> impl Iterator<Item = (i32, String)> {
    (0..20).map(|i| i * (OBJECTS as i32 / 20)).map(|i| (i, format!("{i:06}")))
}

fn one(folder: &Path, name: &str, watch: &mut Watch) -> Outcome {
    watch.time(|| {
        twenty().try_for_each(|(i, object)| {
            let found: Vec<i32> = File::open(folder.join(name))?.dataset(&object)?.read()?;
            expect(found == [i])
        })
    })
}

fn one_crates(case: Case, file: &'static str) -> Case {
    case.rust("hdf5-pure 0.47", move |folder, watch| {
        watch.time(|| {
            twenty().try_for_each(|(i, object)| {
                let file = hdf5_published::File::open(folder.join(file))?;
                expect(file.dataset(&object)?.read::<i32>()? == [i])
            })
        })
    })
    .rust("hdf5-reader 0.12.1", move |folder, watch| {
        watch.time(|| {
            twenty().try_for_each(|(i, object)| {
                let file = hdf5_reader::Hdf5File::open(folder.join(file))?;
                let found = file.dataset(&format!("/{object}"))?.read_array::<i32>()?;
                expect(found.iter().eq([&i]))
            })
        })
    })
}

fn attributes(folder: &Path, name: &str, watch: &mut Watch) -> Outcome {
    let file = File::open(folder.join(name))?;
    let sum = watch.time(|| -> Outcome<i64> {
        let mut sum = 0;
        for link in file.root()?.links()? {
            if let hdf5_pure::structure::Target::Hard(address) = link.map_err(|broken| broken.error)?.target {
                sum += file.attribute_at(address, "n")?.read::<i64>()?.iter().sum::<i64>();
            }
        }
        Ok(sum)
    })?;
    expect(sum == OBJECTS * (OBJECTS - 1) / 2)
}

fn strings(folder: &Path, watch: &mut Watch) -> Outcome {
    let dataset = File::open(folder.join("strings.h5"))?.dataset("d")?;
    let all = watch.time(|| dataset.read::<String>())?;
    expect(all.len() == 1_000_000 && all[7] == "string number 7")
}

fn string_crates(case: Case) -> Case {
    case.rust("hdf5-pure 0.47", |folder, watch| {
        let file = hdf5_published::File::open(folder.join("strings.h5"))?;
        let dataset = file.dataset("d")?;
        let options = hdf5_published::VlenStringReadOptions::new();
        expect(watch.time(|| dataset.read_vlen_strings(options))?[7] == "string number 7")
    })
    .rust("rust-hdf5 0.7.9", |folder, watch| {
        let file = rust_hdf5::H5File::open(folder.join("strings.h5"))?;
        let dataset = file.dataset("d")?;
        expect(watch.time(|| dataset.read_vlen_strings())?[7] == "string number 7")
    })
    .rust("hdf5-reader 0.12.1", |folder, watch| {
        let file = hdf5_reader::Hdf5File::open(folder.join("strings.h5"))?;
        let dataset = file.dataset("/d")?;
        expect(watch.time(|| dataset.read_strings())?[7] == "string number 7")
    })
}

fn rows(folder: &Path, watch: &mut Watch) -> Outcome {
    let dataset = File::open(folder.join("compound.h5"))?.dataset("d")?;
    let raw = watch.time(|| dataset.read_raw(&dataset.all()?))?;
    expect(raw.len() == 24 * 5_000_000)
}

fn field(folder: &Path, watch: &mut Watch) -> Outcome {
    let dataset = File::open(folder.join("compound.h5"))?.dataset("d")?;
    let values: Vec<f64> = watch.time(|| dataset.read_field("b"))?;
    expect(values.len() == 5_000_000 && values[7] == 3.5)
}

/// The corners of 1,000 windows; the other sides have the same.
fn corners() -> impl Iterator<Item = [u64; 2]> {
    let mut state = 1u64;
    (0..1000).map(move |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        [(state >> 33) % (8192 - 64), (state >> 13) % (16384 - 64)]
    })
}

fn windows(folder: &Path, watch: &mut Watch) -> Outcome {
    let dataset = open(folder, "gzip.h5", 1)?.dataset("d")?;
    let shape = dataset.shape();
    watch.time(|| {
        corners().try_for_each(|at| {
            let values: Vec<f32> =
                dataset.read_slab(&Slab::new(shape, at.map(|start| Range::new(start, 64)))?)?;
            expect(black_box(values).len() == 64 * 64)
        })
    })
}

fn window_crates(case: Case) -> Case {
    case.rust("rust-hdf5 0.7.9", |folder, watch| {
        let file = rust_hdf5::H5File::open(folder.join("gzip.h5"))?;
        let dataset = file.dataset("d")?;
        watch.time(|| {
            corners().try_for_each(|at| {
                let values = dataset.read_slice::<f32>(&at.map(|start| start as usize), &[64, 64])?;
                expect(black_box(values).len() == 64 * 64)
            })
        })
    })
    .rust("hdf5-reader 0.12.1", |folder, watch| {
        use hdf5_reader::{SliceInfo, SliceInfoElem};
        let file = hdf5_reader::Hdf5File::open(folder.join("gzip.h5"))?;
        let dataset = file.dataset("/d")?;
        watch.time(|| {
            corners().try_for_each(|at| {
                let slice = |start: u64| SliceInfoElem::Slice { start, end: start + 64, step: 1 };
                let values = dataset.read_slice::<f32>(&SliceInfo { selections: at.map(slice).to_vec() })?;
                expect(black_box(values).len() == 64 * 64)
            })
        })
    })
}

fn window(folder: &Path, watch: &mut Watch) -> Outcome {
    let values: Vec<f32> = watch.time(|| -> Outcome<_> {
        let dataset = open(folder, "contiguous.h5", 1)?.dataset("d")?;
        let slab = Slab::new(dataset.shape(), [Range::new(5000, 64), Range::new(700, 64)])?;
        Ok(dataset.read_slab(&slab)?)
    })?;
    expect(values.len() == 64 * 64)
}
