//! HDF5: objects in a group, attributes of an object, chunks of a dataset, bytes.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use harness::Growth::{Linear, Little, Way};
use harness::{Outcome, Series, Watch};
use hdf5_pure::options::Bound;
use hdf5_pure::{CreateOptions, Editor, File, OpenOptions, Range, Slab, Writer};

use crate::{BYTES, MOST, expect, numbers, once};

const OBJECTS: (u64, &str) = (MOST, "objects");
const CHUNKS: (u64, &str) = (MOST, "chunks");
/// Files that one thing of is changed, and what that may take.
const LARGE: (u64, &str) = (1_000_000, "objects");
const LARGE_CHUNKS: (u64, &str) = (1_000_000, "chunks");
const ONE: (f64, u64) = (0.002, 8 << 20);
/// What writing may take, however many objects there are.
const HELD: u64 = 64 << 20;

pub(crate) fn objects() -> Vec<Series> {
    vec![
        Series::new("write objects", LARGE, Linear, |folder, n, watch| {
            watch.time(|| write_objects(&folder.join("written.h5"), n, Bound::V110))
        })
        .within_memory(HELD),
        Series::new("write objects, old groups", LARGE, Linear, |folder, n, watch| {
            watch.time(|| write_objects(&folder.join("written.h5"), n, Bound::Earliest))
        })
        .within_memory(HELD),
        Series::new("list objects", OBJECTS, Linear, |folder, n, watch| list(&new(folder, n), n, watch))
            .prepare(prepare_new),
        Series::new("list objects, old groups", OBJECTS, Linear, |folder, n, watch| {
            list(&old(folder, n), n, watch)
        })
        .prepare(prepare_old),
        Series::new("open, read one object", OBJECTS, Little, |folder, n, watch| {
            one(&new(folder, n), n, watch)
        })
        .prepare(prepare_new),
        Series::new("open, read one object, old groups", OBJECTS, Little, |folder, n, watch| {
            one(&old(folder, n), n, watch)
        })
        .prepare(prepare_old),
        Series::new("add objects to a file in place", OBJECTS, Linear, add),
        Series::new("commits of one object in one session", (10_000, "commits"), Linear, commits),
        edit("add one object to a file in place", LARGE, new, |file, _, k| {
            Ok(file.dataset(&format!("added {k}")).write_scalar(7).map(drop)?)
        })
        .prepare(prepare_new),
        edit("add one object to a file in place, old groups", LARGE, old, |file, _, k| {
            Ok(file.dataset(&format!("added {k}")).write_scalar(7).map(drop)?)
        })
        .prepare(prepare_old),
        edit("remove one object in place", LARGE, new, |file, n, k| {
            Ok(file.unlink(&format!("{:06}", (n / 2 + k) % n))?)
        })
        .prepare(prepare_new),
        edit("put one attribute to one object in place", LARGE, new, |file, n, k| {
            Ok(file.object(&format!("{:06}", n / 2))?.attribute("changed", k).map(drop)?)
        })
        .prepare(prepare_new),
        Series::new(
            "write attributes of one object",
            (MOST / 2, "attributes"),
            Linear,
            |folder, n, watch| watch.time(|| write_attributes(&folder.join("written.h5"), n)),
        ),
        Series::new("read attributes of one object", (MOST / 2, "attributes"), Linear, attributes)
            .prepare(|folder, n| once(named(folder, n), |path| write_attributes(path, n))),
        Series::new("nest groups", (10_000, "levels"), Linear, nest),
    ]
}

fn new(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("new-{n}.h5"))
}

fn old(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("old-{n}.h5"))
}

fn named(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("attributes-{n}.h5"))
}

fn prepare_new(folder: &Path, n: u64) -> Outcome {
    once(new(folder, n), |path| write_objects(path, n, Bound::V110))
}

fn prepare_old(folder: &Path, n: u64) -> Outcome {
    once(old(folder, n), |path| write_objects(path, n, Bound::Earliest))
}

fn write_objects(path: &Path, n: u64, bound: Bound) -> Outcome {
    let mut file = Writer::overwrite_with(path, &CreateOptions::default().with_bound(bound))?;
    for i in 0..n as i32 {
        file.dataset(&format!("{i:06}")).write_scalar(i)?;
    }
    Ok(file.finish()?)
}

fn list(path: &Path, n: u64, watch: &mut Watch) -> Outcome {
    let links = watch.time(|| File::open(path)?.root()?.links())?;
    expect(links.len() as u64 == n && links.iter().all(Result::is_ok))
}

fn one(path: &Path, n: u64, watch: &mut Watch) -> Outcome {
    let name = format!("{:06}", n / 2);
    let found: Vec<i32> = watch.time(|| File::open(path)?.dataset(&name)?.read())?;
    expect(found == [n as i32 / 2])
}

fn add(folder: &Path, n: u64, watch: &mut Watch) -> Outcome {
    let path = folder.join("edited.h5");
    write_objects(&path, 1, Bound::V110)?;
    watch.time(|| {
        let mut file = Editor::open(&path)?;
        for i in 0..n as i32 {
            file.dataset(&format!("added {i}")).write_scalar(i)?;
        }
        Ok(file.close()?)
    })
}

/// How often this process has changed the file.
static EDITS: AtomicU64 = AtomicU64::new(0);

/// Opens a file of `n` objects, changes one thing, and closes it: one commit. The file goes on as it is then, for a while.
fn edit(
    name: &'static str,
    most: (u64, &'static str),
    place: fn(&Path, u64) -> PathBuf,
    change: fn(&mut Editor, u64, u64) -> Outcome,
) -> Series {
    let work = move |folder: &Path, n: u64, watch: &mut Watch| {
        let path = folder.join("edited.h5");
        let before = EDITS.fetch_add(1, Ordering::Relaxed) % (n / 2).clamp(1, 1000);
        if before == 0 {
            std::fs::copy(place(folder, n), &path)?;
        }
        watch.time(|| {
            let mut file = Editor::open(&path)?;
            change(&mut file, n, before)?;
            Ok(file.close()?)
        })
    };
    Series::new(name, most, Way, work).from(10).within(ONE.0, ONE.1)
}

/// Objects that come one by one, each with a commit of its own.
fn commits(folder: &Path, n: u64, watch: &mut Watch) -> Outcome {
    let path = folder.join("edited.h5");
    write_objects(&path, 1, Bound::V110)?;
    watch.time(|| {
        let mut file = Editor::open(&path)?;
        for i in 0..n as i32 {
            file.dataset(&format!("added {i}")).write_scalar(i)?;
            file.commit()?;
        }
        Ok(file.close()?)
    })
}

fn write_attributes(path: &Path, n: u64) -> Outcome {
    let mut file = Writer::overwrite(path)?;
    for i in 0..n as i32 {
        file.root().attribute(&format!("{i}"), i)?;
    }
    Ok(file.finish()?)
}

fn attributes(folder: &Path, n: u64, watch: &mut Watch) -> Outcome {
    let found = watch.time(|| File::open(named(folder, n))?.root()?.attributes())?;
    expect(found.len() as u64 == n)
}

/// A group in a group in a group.
fn nest(folder: &Path, n: u64, watch: &mut Watch) -> Outcome {
    let path = folder.join("written.h5");
    watch.time(|| {
        let mut file = Writer::overwrite(&path)?;
        let deepest = vec!["g"; n as usize].join("/");
        file.group(&deepest)?;
        file.finish()?;
        File::open(&path)?.group(&deepest).map(drop).map_err(Into::into)
    })
}

pub(crate) fn chunks() -> Vec<Series> {
    vec![
        Series::new("append chunks", CHUNKS, Linear, |folder, n, watch| {
            watch.time(|| write_chunks(&folder.join("written.h5"), n))
        }),
        Series::new("read all chunks", CHUNKS, Linear, |folder, n, watch| {
            let found: Vec<i32> = watch.time(|| File::open(chunked(folder, n))?.dataset("d")?.read())?;
            expect(found.len() as u64 == 16 * n)
        })
        .prepare(prepare_chunks),
        Series::new("open, read one chunk", CHUNKS, Little, |folder, n, watch| {
            let found: Vec<i32> = watch.time(|| -> Outcome<_> {
                let dataset = File::open(chunked(folder, n))?.dataset("d")?;
                let slab = Slab::new(dataset.shape(), [Range::new(8 * n, 16)])?;
                Ok(dataset.read_slab(&slab)?)
            })?;
            expect(found.len() == 16)
        })
        .prepare(prepare_chunks),
        edit("append one chunk to a file in place", LARGE_CHUNKS, chunked, |file, _, _| {
            Ok(file.open_dataset("d")?.append(&[7i32; 16]).map(drop)?)
        })
        .prepare(prepare_chunks),
        Series::new("write, read strings", (1_000_000, "strings"), Linear, |folder, n, watch| {
            let texts: Vec<String> = (0..n).map(|i| format!("string number {i}")).collect();
            let path = folder.join("written.h5");
            let found: Vec<String> = watch.time(|| -> Outcome<_> {
                let mut file = Writer::overwrite(&path)?;
                file.dataset("d").write(&texts)?;
                file.finish()?;
                Ok(File::open(&path)?.dataset("d")?.read()?)
            })?;
            expect(found == texts)
        }),
    ]
}

fn chunked(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("chunks-{n}.h5"))
}

fn prepare_chunks(folder: &Path, n: u64) -> Outcome {
    once(chunked(folder, n), |path| write_chunks(path, n))
}

fn write_chunks(path: &Path, n: u64) -> Outcome {
    let mut file = Writer::overwrite(path)?;
    let mut dataset = file.dataset("d").shape([0]).max_shape([None]).chunks([16]).create::<i32>()?;
    for i in 0..n as i32 {
        dataset.append(&[i; 16])?;
    }
    Ok(file.finish()?)
}

pub(crate) fn bytes() -> Vec<Series> {
    vec![
        Series::new("write bytes", BYTES, Linear, |folder, n, watch| {
            let values = vec![1.5f32; n as usize / 4];
            watch.time(|| write_bytes(&folder.join("written.h5"), &values, false))
        }),
        Series::new("read bytes", BYTES, Linear, |folder, n, watch| {
            let found: Vec<f32> = watch.time(|| File::open(flat(folder, n))?.dataset("d")?.read())?;
            expect(found.len() as u64 == n / 4)
        })
        .prepare(prepare_flat),
        Series::new("open, read one number", BYTES, Little, |folder, n, watch| {
            let found: Vec<f32> = watch.time(|| -> Outcome<_> {
                let dataset = File::open(flat(folder, n))?.dataset("d")?;
                let slab = Slab::new(dataset.shape(), [Range::new(n / 8, 1)])?;
                Ok(dataset.read_slab(&slab)?)
            })?;
            expect(found == [1.5])
        })
        .prepare(prepare_flat),
        Series::threads("read 64 MiB of gzip and shuffle", |folder, threads, watch| {
            let options = OpenOptions::default().with_threads(threads as usize);
            let path = folder.join("gzip.h5");
            let found: Vec<f32> = watch.time(|| File::open_with(&path, &options)?.dataset("d")?.read())?;
            expect(found.len() == 1 << 24)
        })
        .prepare(|folder, _| once(folder.join("gzip.h5"), |path| write_bytes(path, &numbers(1 << 24), true))),
        Series::threads("write 64 MiB of gzip and shuffle", |folder, threads, watch| {
            let values = numbers(1 << 24);
            let options = CreateOptions::default().with_threads(threads as usize);
            watch.time(|| {
                let mut file = Writer::overwrite_with(folder.join("written.h5"), &options)?;
                file.dataset("d").chunks([1 << 16]).shuffle().deflate(4).write(&values)?;
                Ok(file.finish()?)
            })
        }),
    ]
}

fn flat(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("bytes-{n}.h5"))
}

fn prepare_flat(folder: &Path, n: u64) -> Outcome {
    once(flat(folder, n), |path| write_bytes(path, &vec![1.5; n as usize / 4], false))
}

fn write_bytes(path: &Path, values: &[f32], packed: bool) -> Outcome {
    let mut file = Writer::overwrite(path)?;
    let dataset = file.dataset("d");
    if packed {
        dataset.chunks([1 << 16]).shuffle().deflate(4).write(values)?;
    } else {
        dataset.write(values)?;
    }
    Ok(file.finish()?)
}
