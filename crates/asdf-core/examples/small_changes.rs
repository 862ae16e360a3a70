//! Measures small changes and small reads in large files: `cargo run --release --example small_changes [COUNT]`.
//!
//! Prints milliseconds, the best of nine runs: changing one key in a tree of many keys, and reading one block of many.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use asdf_core::{Asdf, Compression, Document, Result};

/// Returns the milliseconds that `work` takes, the best of nine runs. The time of `before` does not count.
fn best(mut before: impl FnMut() -> Result<()>, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..9 {
        before()?;
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(best)
}

fn main() -> Result<()> {
    let count: usize = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(100_000);
    let folder = tempfile::tempdir().map_err(|e| asdf_core::Error::io("make a folder", e))?;
    let (keys, blocks) = (folder.path().join("keys.asdf"), folder.path().join("blocks.asdf"));

    let mut document = Document::new();
    for key in 0..count {
        document.set(&format!("map/key {key}"), &(key + 1_000_000))?;
    }
    let made = document.to_bytes()?;
    let mut value = 2_000_000;
    let whole = best(
        || std::fs::write(&keys, &made).map_err(|e| asdf_core::Error::io("write", e)),
        || {
            value += 1;
            let mut document = Document::open(&keys)?;
            document.set("map/key 1", &value)?;
            document.update().map(drop)
        },
    )?;
    assert_eq!(Asdf::open(&keys)?.tree().get_as::<i32>("map/key 1")?, value);
    println!("open, change one of {count} keys, update: {whole:.2} ms");

    let mut document = Document::open(&keys)?;
    let again = best(
        || Ok(()),
        || {
            value += 1;
            document.set("map/key 1", &value)?;
            document.update().map(drop)
        },
    )?;
    println!("change it again, update: {again:.2} ms");
    let open = best(|| Ok(()), || Asdf::open(&keys).map(drop))?;
    println!("open it: {open:.2} ms");

    let mut document = Document::new();
    for block in 0..count {
        document.add_block(block.to_le_bytes().repeat(8), Compression::None);
    }
    document.save(&blocks)?;
    let one = best(
        || Ok(()),
        || {
            let data = Asdf::open(&blocks)?.block(count / 2)?.data()?.into_owned();
            assert_eq!(data, (count / 2).to_le_bytes().repeat(8));
            Ok(())
        },
    )?;
    println!("open, read one of {count} blocks: {one:.2} ms");
    Ok(())
}
