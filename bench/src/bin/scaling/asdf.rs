//! ASDF: blocks, nodes of the tree, bytes.

use std::path::{Path, PathBuf};

use asdf_core::yaml::CollectionStyle;
use asdf_core::{Access, Asdf, Compression, Document, NewArray, OpenOptions};
use harness::Growth::{Linear, Little};
use harness::{Outcome, Series};

use crate::{BYTES, MOST, expect, numbers, once};

const BLOCKS: (u64, &str) = (MOST, "blocks");
const KEYS: (u64, &str) = (MOST, "keys");

pub(crate) fn series() -> impl Iterator<Item = Series> {
    nodes().into_iter().chain(bytes_and_threads())
}

fn nodes() -> Vec<Series> {
    vec![
        Series::new("write blocks", BLOCKS, Linear, |folder, n, watch| {
            watch.time(|| write_blocks(&folder.join("written.asdf"), n))
        }),
        Series::new("open, read one block", BLOCKS, Linear, |folder, n, watch| {
            let path = format!("arrays/{}", n / 2);
            let found = watch.time(|| Asdf::open(blocks(folder, n))?.array(&path)?.read::<u32>())?;
            expect(found == [n as u32 / 2; 16])
        })
        .prepare(|folder, n| once(blocks(folder, n), |path| write_blocks(path, n))),
        Series::new("open, read one block by its number", BLOCKS, Linear, |folder, n, watch| {
            let found = watch.time(|| -> Outcome<Vec<u8>> {
                let file = Asdf::open(bare(folder, n))?;
                Ok(file.block(n as usize / 2)?.data()?.into_owned())
            })?;
            expect(found == [n as u8 / 2; 64])
        })
        // 5 ms, and as much for the index of 100,000 blocks, which is a text of a megabyte.
        .within(0.010, 8 << 20)
        .prepare(|folder, n| once(bare(folder, n), |path| write_bare(path, n))),
        Series::new("put keys into one mapping, write", KEYS, Linear, |folder, n, watch| {
            watch.time(|| write_keys(&folder.join("written.asdf"), n))
        }),
        Series::new("open, get every key of one mapping", KEYS, Linear, |folder, n, watch| {
            let sum = watch.time(|| -> Outcome<u64> {
                let file = Asdf::open(keys(folder, n))?;
                (0..n).map(|i| Ok(file.tree().get_as::<u64>(&format!("map/key {i}"))?)).sum()
            })?;
            expect(sum == n * (n - 1) / 2)
        })
        .prepare(prepare_keys),
        Series::new("change one key in place", KEYS, Linear, |folder, n, watch| {
            let path = folder.join("changed.asdf");
            std::fs::copy(keys(folder, n), &path)?;
            watch.time(|| {
                let mut document = Document::open(&path)?;
                document.set("map/key 1", &2)?;
                document.update()?;
                Ok(())
            })
        })
        .within(0.0166, 16 << 20)
        .prepare(prepare_keys),
    ]
}

/// Files are reached by maps.
#[allow(unsafe_code)]
fn mapped() -> OpenOptions {
    // SAFETY: the files are in a folder of their own; nobody changes them while the series runs.
    OpenOptions::default().with_access(unsafe { Access::mapped() })
}

fn bytes_and_threads() -> Vec<Series> {
    vec![
        Series::new("write bytes", BYTES, Linear, |folder, n, watch| {
            let document = document(&vec![1.5; n as usize / 4], Compression::None)?;
            Ok(watch.time(|| document.save(folder.join("written.asdf")))?)
        }),
        Series::new("read bytes", BYTES, Linear, |folder, n, watch| {
            let found = watch.time(|| Asdf::open(flat(folder, n))?.array("a")?.read::<f32>())?;
            expect(found.len() as u64 == n / 4)
        })
        .prepare(prepare_flat),
        Series::new("map, look at one number", BYTES, Little, |folder, n, watch| {
            let options = mapped();
            watch.time(|| {
                let file = Asdf::open_with(flat(folder, n), &options)?;
                let array = file.array("a")?;
                expect(array.as_slice::<f32>().and_then(|all| all.get(n as usize / 8)) == Some(&1.5))
            })
        })
        .prepare(prepare_flat),
        Series::threads("read 64 MiB of zlib", |folder, threads, watch| {
            let options = OpenOptions::default().with_threads(threads as usize);
            let path = folder.join("zlib.asdf");
            let found = watch.time(|| Asdf::open_with(path, &options)?.array("a")?.read::<f32>())?;
            expect(found.len() == 1 << 24)
        })
        .prepare(|folder, _| {
            once(folder.join("zlib.asdf"), |path| {
                Ok(document(&numbers(1 << 24), Compression::Zlib)?.save(path)?)
            })
        }),
        Series::threads("write 64 MiB of zlib", |folder, threads, watch| {
            let mut document = document(&numbers(1 << 24), Compression::Zlib)?;
            document.options_mut().threads = threads as usize;
            Ok(watch.time(|| document.save(folder.join("written.asdf")))?)
        }),
    ]
}

fn bare(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("bare-{n}.asdf"))
}

fn blocks(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("blocks-{n}.asdf"))
}

fn keys(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("keys-{n}.asdf"))
}

fn flat(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("bytes-{n}.asdf"))
}

fn prepare_keys(folder: &Path, n: u64) -> Outcome {
    once(keys(folder, n), |path| write_keys(path, n))
}

fn prepare_flat(folder: &Path, n: u64) -> Outcome {
    once(flat(folder, n), |path| Ok(document(&vec![1.5; n as usize / 4], Compression::None)?.save(path)?))
}

fn write_blocks(path: &Path, n: u64) -> Outcome {
    let mut document = Document::new();
    let nodes = (0..n as u32).map(|i| document.add_array(NewArray::new(&[i; 16], &[16])?));
    let nodes = nodes.collect::<asdf_core::Result<Vec<_>>>()?;
    let list = document.tree_mut().add_sequence(nodes, CollectionStyle::Block);
    document.tree_mut().put("arrays", list)?;
    Ok(document.save(path)?)
}

/// Blocks that the tree does not name.
fn write_bare(path: &Path, n: u64) -> Outcome {
    let mut document = Document::new();
    for _ in 0..n {
        document.add_block(vec![n as u8 / 2; 64], Compression::None);
    }
    Ok(document.save(path)?)
}

fn write_keys(path: &Path, n: u64) -> Outcome {
    let mut document = Document::new();
    for i in 0..n {
        document.set(&format!("map/key {i}"), &i)?;
    }
    Ok(document.save(path)?)
}

fn document(elements: &[f32], compression: Compression) -> Outcome<Document> {
    let mut document = Document::new();
    let array = NewArray::new(elements, &[elements.len() as u64])?;
    document.set_array("a", array.with_compression(compression))?;
    Ok(document)
}
