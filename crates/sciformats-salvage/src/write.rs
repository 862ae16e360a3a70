//! Writes what was found to a clean file, and marks what is damaged.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hdf5_pure::structure::Dataspace;
use hdf5_pure::values::{Empty, Encoder};
use hdf5_pure::{Address, Datatype, Editor, Name, Node, Value};
use sciformats::{File, Format, OpenOptions};
use sciformats_convert::convert::{Loss, Options, Plan};
use sciformats_convert::sink::WriteOptions;
use sciformats_core::storage::{Durability, Scratch};
use sciformats_core::{ReadAt, Result};

use crate::earlier::{self, Slab};
use crate::report::{LEFT_OUT, ObjectReport, Report, State};

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
    let mut marks = Marks::of(report, scratch.path())?;
    let mut editor = Editor::open(scratch.path())?;
    for object in report.objects.iter().filter(|object| object.state < State::Lost) {
        // A path that is no text cannot be looked for.
        if !object.path.contains('\u{fffd}') && editor.id(&object.path).is_err() {
            losses.push(Loss { path: object.path.clone(), what: LEFT_OUT.into(), lost: None });
        }
    }
    keep_empty(report, &original, &mut editor)?;
    let said = report.clone().with_losses(&losses);
    for object in said.objects.iter().filter(|object| object.state > State::Unchecked) {
        marks.set(object, &mut editor, &mut losses)?;
    }
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

/// The attributes of the new file that have the names of those by which salvage says what is damaged.
struct Marks(BTreeMap<String, Taken>);

/// Those of one object.
#[derive(Default)]
struct Taken {
    /// The names of all attributes.
    names: Vec<Name>,
    /// What an earlier salvage has said of it.
    damage: Option<String>,
    missing: Option<Vec<Slab>>,
}

impl Marks {
    fn of(report: &Report, path: &Path) -> Result<Self> {
        let file = hdf5_pure::File::open(path)?;
        let mut marks = BTreeMap::new();
        for object in &report.objects {
            if let Ok(node) = file.object(&object.path)
                && let Ok(attributes) = file.attributes_at(node.address())
            {
                let taken = Taken::of(&node, &attributes);
                if taken.has(MISSING) || taken.has(DAMAGE) {
                    marks.insert(object.path.clone(), taken);
                }
            }
        }
        Ok(Self(marks))
    }

    /// Gives an object that is damaged its attributes. What an earlier salvage has said stays true, and attributes of the user that
    /// have these names get others.
    fn set(&mut self, object: &ObjectReport, editor: &mut Editor, losses: &mut Vec<Loss>) -> Result<()> {
        // What has no path in the new file is in the report only.
        let Ok(id) = editor.id(&object.path) else { return Ok(()) };
        let taken = self.0.remove(&object.path).unwrap_or_default();
        for (name, is_mark) in [(MISSING, taken.missing.is_some()), (DAMAGE, taken.damage.is_some())] {
            if taken.has(name) && !is_mark {
                let other = earlier::before(name, |name| taken.has(name));
                editor.object(&object.path)?.rename_attribute(name, &other)?;
                let what = earlier::renamed(&other);
                losses.push(Loss { path: format!("{}@{name}", object.path), what, lost: None });
            }
        }
        let missing = earlier::merged(&object.missing, taken.missing.unwrap_or_default());
        if !missing.is_empty() {
            editor.attribute(id, MISSING, Slabs(&missing))?;
        }
        let rest = if object.unchecked { ", the rest unchecked" } else { "" };
        let text = format!("{}{rest}: {}", object.state.word(), object.reasons.join("; "));
        let text: String = text.chars().filter(|c| *c != '\0').take(2000).collect();
        let text = earlier::joined(&text, taken.damage.as_deref().unwrap_or_default());
        editor.attribute(id, DAMAGE, text.as_str())
    }
}

impl Taken {
    fn of(node: &Node, attributes: &[hdf5_pure::Attribute]) -> Self {
        let named = |wanted: &str| {
            attributes
                .iter()
                .find(|found| found.name().is_some_and(|name| name.as_bytes() == wanted.as_bytes()))
        };
        let texts = named(DAMAGE).and_then(|found| found.read::<String>().ok());
        let damage = texts.and_then(|texts| match texts.as_slice() {
            [text] if earlier::is_damage(text) => Some(text.clone()),
            _ => None,
        });
        let missing = match (node, named(MISSING)) {
            (Node::Dataset(dataset), Some(found)) if damage.is_some() => {
                found.read::<u64>().ok().and_then(|numbers| earlier::slabs(&numbers, dataset.shape()))
            }
            _ => None,
        };
        let names = attributes.iter().filter_map(|attribute| attribute.name().cloned()).collect();
        Self { names, damage, missing }
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|found| found.as_bytes() == name.as_bytes())
    }
}

/// Parts of an array as the value of an attribute.
struct Slabs<'a>(&'a [Slab]);

/// The most rows of the attribute and the most bytes of its numbers: attributes are small.
const ROWS: usize = 2000;
const BYTES: usize = 60_000;

impl Value for Slabs<'_> {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        let rank = self.0.first().map_or(0, |(start, _)| start.len());
        let most = BYTES.checked_div(rank * 16).map_or(ROWS, |most| most.clamp(1, ROWS));
        let rows = earlier::listed(self.0, most);
        let numbers: Vec<u64> =
            rows.iter().flat_map(|(start, count)| start.iter().chain(count)).copied().collect();
        let (datatype, _) = numbers.store(to)?;
        Ok((datatype, Some(vec![rows.len() as u64, 2 * rank as u64])))
    }
}
