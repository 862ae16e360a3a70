//! Measures the background of an image of the Roman telescope, and notes it in the metadata of the file: `roman [FILE]`,
//! which is made if it is not there.
//!
//! The types of the data model, which ASDF keeps as tags, stay as they are, and so do the pixels: only the tree is
//! written again.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::env;

use asdf_core::{Asdf, Compression, Document, Error, HistoryEntry, NewArray, Result};
use serde_json::json;

fn main() -> Result<()> {
    let path = env::args_os().nth(1).unwrap_or_else(|| "image.asdf".into());
    let file = Asdf::open_or_create(path, make)?;
    let detector: String = file.tree().get_as("roman/meta/instrument/detector")?;
    println!("the background of {detector} is {}", note_background(file)?);
    Ok(())
}

/// Puts the median of the pixels that are not flagged into the metadata.
pub(crate) fn note_background(file: Asdf) -> Result<f64> {
    let mut flags = file.array("roman/dq")?.read::<u32>()?.into_iter();
    let mut good: Vec<f64> = file.array("roman/data")?.read()?;
    good.retain(|_| flags.next() == Some(0));
    good.sort_by(f64::total_cmp);
    let level = *good.get(good.len() / 2).ok_or_else(|| Error::usage("image", "has no good pixel"))?;

    let mut image = Document::from_file(file);
    image
        .set("roman/meta/background", &json!({ "level": level, "method": "median", "subtracted": false }))?;
    image.add_history(&HistoryEntry::now("the background was measured"))?;
    image.update()?;
    Ok(level)
}

/// Fills a new file with an image of 100 × 200 pixels, some of which are flagged.
pub(crate) fn make(image: &mut Document) -> Result<()> {
    image.set("roman/meta/instrument", &json!({ "name": "WFI", "detector": "WFI01" }))?;
    image.set("roman/meta/exposure/exposure_time", &139.8)?;
    let pixel = |[y, x]: [u64; 2]| if x % 100 == 0 { 1e6 } else { ((200 * y + x) % 7) as f32 };
    let pixels = NewArray::from_fn([100, 200], pixel)?.with_compression(Compression::Lz4);
    image.set_array("roman/data", pixels)?;
    image.set_array("roman/dq", NewArray::from_fn([100, 200], |[_, x]| u32::from(x % 100 == 0))?)?;
    image.set_tag("roman", "asdf://stsci.edu/datamodels/roman/tags/wfi_image-1.2.0")?;
    image.set_tag("roman/meta/instrument", "asdf://stsci.edu/datamodels/roman/tags/wfi_mode-1.1.0")
}
