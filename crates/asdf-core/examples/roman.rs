//! Measures the background of an image of the Roman telescope, and notes it in the metadata of the file: `roman [FILE]`,
//! which is made if it is not there.
//!
//! The types of the data model, which ASDF keeps as tags, stay as they are, and so do the pixels: only the tree is
//! written again.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::env;
use std::path::{Path, PathBuf};

use asdf_core::{Asdf, Compression, Document, Error, HistoryEntry, NewArray, Result};
use serde_json::json;

fn main() -> Result<()> {
    let path = PathBuf::from(env::args_os().nth(1).unwrap_or_else(|| "image.asdf".into()));
    if !path.exists() {
        make(&path)?;
    }
    let detector: String = Asdf::open(&path)?.tree().get_as("roman/meta/instrument/detector")?;
    println!("the background of {detector} is {}", note_background(&path)?);
    Ok(())
}

/// Puts the median of the pixels that are not flagged into the metadata.
pub(crate) fn note_background(path: &Path) -> Result<f64> {
    let file = Asdf::open(path)?;
    let mut flags = file.array("roman/dq")?.read::<u32>()?.into_iter();
    let mut good: Vec<f64> = file.array("roman/data")?.read()?;
    good.retain(|_| flags.next() == Some(0));
    good.sort_by(f64::total_cmp);
    let level = *good.get(good.len() / 2).ok_or_else(|| Error::usage("image", "has no good pixel"))?;

    let mut document = Document::open(path)?;
    let background = json!({ "level": level, "method": "median", "subtracted": false });
    document.set("roman/meta/background", &background)?;
    document.add_history(&HistoryEntry::now("the background was measured"))?;
    document.update()?;
    Ok(level)
}

/// Writes an image of 100 × 200 pixels, some of which are flagged.
pub(crate) fn make(path: &Path) -> Result<()> {
    let pixel = |i: u16| if i.is_multiple_of(100) { 1e6 } else { f32::from(i % 7) };
    let data: Vec<f32> = (0..20_000).map(pixel).collect();
    let flags: Vec<u32> = (0..20_000).map(|i| u32::from(i % 100 == 0)).collect();
    let mut document = Document::new();
    document.set("roman/meta/instrument", &json!({ "name": "WFI", "detector": "WFI01" }))?;
    document.set("roman/meta/exposure/exposure_time", &139.8)?;
    document
        .set_array("roman/data", NewArray::new(&data, &[100, 200])?.with_compression(Compression::Lz4))?;
    document.set_array("roman/dq", NewArray::new(&flags, &[100, 200])?)?;
    document.set_tag("roman", "asdf://stsci.edu/datamodels/roman/tags/wfi_image-1.2.0")?;
    document.set_tag("roman/meta/instrument", "asdf://stsci.edu/datamodels/roman/tags/wfi_mode-1.1.0")?;
    document.save(path)
}
