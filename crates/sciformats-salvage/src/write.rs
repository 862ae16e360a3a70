//! Writes what was found to a clean file, and marks what is damaged.

use std::path::Path;
use std::sync::Arc;

use hdf5_pure::structure::Dataspace;
use hdf5_pure::values::{Empty, Encoder};
use hdf5_pure::{Address, Datatype, Editor, Value};
use sciformats::{File, Format, OpenOptions};
use sciformats_convert::convert::{Loss, Options, Plan};
use sciformats_convert::sink::WriteOptions;
use sciformats_core::storage::{Durability, Scratch};
use sciformats_core::{ReadAt, Result};

use crate::report::{LEFT_OUT, Report, State};

/// The attribute that lists the parts that were not found: in each row the index of the first element, and then the lengths.
pub const MISSING: &str = "missing";
/// The attribute that says in words why an object is damaged.
pub const DAMAGE: &str = "damage";

/// Writes an HDF5 file from the view of a damaged one. Returns what could not be written.
pub(crate) fn hdf5(
    report: &Report,
    (view, written): (Arc<dyn ReadAt>, Option<u64>),
    output: &Path,
) -> Result<Vec<Loss>> {
    let mut options = OpenOptions::default().with_cut(true);
    // What is laid over the file is far behind its end, and does not count as bytes of the file.
    options.stored = Some(report.size);
    options.written = written.unwrap_or(options.written);
    let original = hdf5_pure::File::from_storage(view.clone(), &hdf5_pure::OpenOptions::default())?;
    let user_block = user_block(&*view, original.base(), &options);
    let file = Arc::new(File::from_storage(view, &options)?);
    let plan = Plan::new(&file, Format::Hdf5, &Options::default())?;
    let scratch = Scratch::beside(output)?;
    let mut losses = plan.losses().to_vec();
    let mut write = WriteOptions::default();
    match user_block {
        Ok(bytes) => write.user_block = bytes,
        Err(error) => losses.push(Loss {
            path: "/".into(),
            what: format!("the user block is not kept: {error}"),
            lost: None,
        }),
    }
    losses.extend(plan.rescue(scratch.path(), &write)?);
    let mut editor = Editor::open(scratch.path())?;
    for object in report.objects.iter().filter(|object| object.state < State::Lost) {
        // A path that is no text cannot be looked for.
        if !object.path.contains('\u{fffd}') && editor.id(&object.path).is_err() {
            losses.push(Loss { path: object.path.clone(), what: LEFT_OUT.into(), lost: None });
        }
    }
    keep_empty(report, &original, &mut editor)?;
    mark(&report.clone().with_losses(&losses), &mut editor)?;
    editor.close()?;
    scratch.finish(Durability::Power)?;
    Ok(losses)
}

/// Returns the bytes in front of the superblock, which other programs put there.
fn user_block(view: &dyn ReadAt, base: u64, options: &OpenOptions) -> Result<Vec<u8>> {
    let size = options.limits.memory("bytes of the user block", base)?;
    Ok(view.read_at(0, size)?.into_owned())
}

/// Gives attributes without elements the types that they had. Other programs tell them by nothing else.
fn keep_empty(report: &Report, original: &hdf5_pure::File, editor: &mut Editor) -> Result<()> {
    for object in &report.objects {
        let Ok(attributes) = original.attributes_at(Address(object.address)) else { continue };
        for attribute in attributes {
            let (Some(name), Ok(Dataspace::Null), Ok(datatype)) =
                (attribute.name(), attribute.dataspace(), attribute.datatype())
            else {
                continue;
            };
            if let Ok(id) = editor.id(&object.path) {
                editor.attribute(id, &name.to_text(), Empty(datatype.clone()))?;
            }
        }
    }
    Ok(())
}

/// Gives each object that is damaged its attributes.
fn mark(report: &Report, editor: &mut Editor) -> Result<()> {
    for object in &report.objects {
        if object.state <= State::Unchecked {
            continue;
        }
        // What has no path in the new file is in the report only.
        let Ok(id) = editor.id(&object.path) else { continue };
        if !object.missing.is_empty() {
            editor.attribute(id, MISSING, Slabs(&object.missing))?;
        }
        let rest = if object.unchecked { ", the rest unchecked" } else { "" };
        let text = format!("{}{rest}: {}", object.state.word(), object.reasons.join("; "));
        let text: String = text.chars().filter(|c| *c != '\0').take(2000).collect();
        editor.attribute(id, DAMAGE, text.as_str())?;
    }
    Ok(())
}

/// Parts of an array as the value of an attribute.
struct Slabs<'a>(&'a [(Vec<u64>, Vec<u64>)]);

/// The most rows of the attribute: attributes are small.
const ROWS: usize = 2000;

impl Value for Slabs<'_> {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        let rank = self.0.first().map_or(0, |(start, _)| start.len());
        let rows = self.0.len().min(ROWS);
        let mut numbers: Vec<u64> = Vec::new();
        for (i, (start, count)) in self.0.iter().take(rows).enumerate() {
            if i + 1 == rows && self.0.len() > rows {
                // The last row covers everything that is not listed.
                let rest = self.0.iter().skip(i);
                let (low, high) = rest.fold((start.clone(), start.clone()), |(low, high), (start, count)| {
                    let ends = start.iter().zip(count).map(|(start, count)| start + count);
                    (
                        low.iter().zip(start).map(|(a, b)| *a.min(b)).collect(),
                        high.iter().zip(ends).map(|(a, b)| (*a).max(b)).collect(),
                    )
                });
                numbers.extend(&low);
                numbers.extend(low.iter().zip(&high).map(|(low, high)| high - low));
            } else {
                numbers.extend(start);
                numbers.extend(count);
            }
        }
        let (datatype, _) = numbers.store(to)?;
        Ok((datatype, Some(vec![rows as u64, 2 * rank as u64])))
    }
}
