//! Describes the structures of an ASDF file for people.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use asdf_core::Asdf;
use asdf_core::structure::{BlockEntry, IndexState};

use crate::model::Value;
use crate::source::{Fact, Structure};
use sciformats_core::bound;

/// The number of comment lines that are shown.
const COMMENTS: usize = 16;

/// Returns the text of a child of a mapping.
fn text<'a>(file: &'a Asdf, path: &str) -> Option<&'a str> {
    file.get(path).and_then(|node| file.tree().node(node).text())
}

fn index(file: &Asdf) -> Value {
    match &file.layout().index {
        IndexState::Absent => "none".into(),
        IndexState::Valid(_) => "present".into(),
        IndexState::Rejected { reason, .. } => format!("ignored: it {reason}").into(),
    }
}

fn label(block: &BlockEntry) -> String {
    if block.header.compression.is_none() { "none".into() } else { block.header.compression.to_string() }
}

pub(super) fn facts(file: &Asdf) -> Vec<Fact> {
    let layout = file.layout();
    let mut facts: Vec<Fact> = vec![("version", layout.header.format.to_string().into())];
    facts.extend(layout.header.standard.map(|standard| ("standard", standard.to_string().into())));
    if let Some(name) = text(file, "asdf_library/name") {
        let version = text(file, "asdf_library/version").unwrap_or_default();
        facts.push(("library", format!("{name} {version}").trim().into()));
    }
    if !file.has_tree() {
        facts.push(("tree", "none".into()));
    }
    facts.push(("blocks", layout.blocks.len().into()));
    if !layout.blocks.is_empty() {
        let mut labels = BTreeMap::new();
        for block in &layout.blocks {
            *labels.entry(label(block)).or_insert(0u64) += 1;
        }
        let labels = labels.into_iter().map(|(label, count)| match count {
            _ if count == layout.blocks.len() as u64 => label.into(),
            _ => format!("{label} ({count})").into(),
        });
        facts.push(("compression", Value::List(labels.collect())));
        let sums = layout.blocks.iter().filter(|block| block.header.checksum != [0; 16]).count();
        facts.push(("checksums", format!("{sums} of {}", layout.blocks.len()).into()));
        facts.push(("block index", index(file)));
    }
    if layout.blocks.last().is_some_and(|block| block.header.is_streamed()) {
        facts.push(("last block", "streamed".into()));
    }
    facts.extend(
        layout.unexplained.map(|offset| ("bytes without a meaning", format!("from {offset:#x} on").into())),
    );
    let comments = layout.header.comments.iter().filter(|comment| !comment.starts_with("ASDF_STANDARD"));
    let comments: Vec<Value> = comments.take(COMMENTS).map(|comment| comment.trim().into()).collect();
    if !comments.is_empty() {
        facts.push(("comments", Value::List(comments)));
    }
    facts
}

pub(super) fn measures(file: &Asdf) -> Vec<Fact> {
    let layout = file.layout();
    let sum = |size: fn(&BlockEntry) -> u64| {
        layout.blocks.iter().fold(0u64, |sum, block| bound::sum(sum, size(block)))
    };
    let tree = layout.tree.as_ref().map_or(0, |tree| bound::left(tree.end, tree.start));
    vec![
        ("tree bytes", tree.into()),
        ("tree nodes", if file.has_tree() { file.tree().count() } else { 0 }.into()),
        ("block bytes", sum(|block| block.stored).into()),
        ("decoded bytes", sum(BlockEntry::data_size).into()),
        (
            "reserved bytes",
            sum(|block| bound::left(bound::left(block.end(), block.data_offset()), block.stored)).into(),
        ),
    ]
}

/// Creates a structure with its fields.
fn structure(
    name: &'static str,
    (offset, end): (u64, u64),
    depth: usize,
    fields: Vec<(&'static str, Value)>,
) -> Structure {
    let fields = fields.into_iter().map(|(key, value)| (key.into(), value)).collect();
    Structure { name: name.into(), offset, size: bound::left(end, offset), depth, fields }
}

pub(super) fn structures(
    file: &Asdf,
    visit: &mut dyn FnMut(Structure) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let layout = file.layout();
    let comments = layout.header.comments.iter().map(|comment| comment.trim().into()).collect();
    let fields =
        vec![("version", layout.header.format.to_string().into()), ("comments", Value::List(comments))];
    visit(structure("header", (0, layout.header_end), 0, fields))?;
    let mut end = layout.header_end;
    if let Some(tree) = &layout.tree {
        let handles =
            file.tree().handles().iter().map(|(handle, prefix)| format!("{handle} {prefix}").into());
        let fields =
            vec![("tag handles", Value::List(handles.collect())), ("nodes", file.tree().count().into())];
        visit(structure("tree", (tree.start, tree.end), 0, fields))?;
        end = tree.end;
    }
    for entry in &layout.blocks {
        if end < entry.offset {
            visit(structure("padding", (end, entry.offset), 0, Vec::new()))?;
        }
        block(entry, visit)?;
        end = entry.end();
    }
    let after = |offset: u64, end: u64, state: Value| {
        structure("block index", (offset, end), 0, vec![("state", state)])
    };
    match &layout.index {
        IndexState::Absent => {}
        IndexState::Valid(range) => visit(after(range.start, range.end, "present".into()))?,
        IndexState::Rejected { offset, .. } => visit(after(*offset, layout.len, index(file)))?,
    }
    if let Some(offset) = layout.unexplained {
        visit(structure("bytes without a meaning", (offset, layout.len), 0, Vec::new()))?;
    }
    ControlFlow::Continue(())
}

fn block(entry: &BlockEntry, visit: &mut dyn FnMut(Structure) -> ControlFlow<()>) -> ControlFlow<()> {
    let header = &entry.header;
    let checksum: String = header.checksum.iter().map(|byte| format!("{byte:02x}")).collect();
    let fields = vec![
        ("header_size", header.header_size.into()),
        ("flags", header.flags.into()),
        ("compression", label(entry).into()),
        ("allocated_size", header.allocated_size.into()),
        ("used_size", header.used_size.into()),
        ("data_size", header.data_size.into()),
        ("checksum", checksum.into()),
    ];
    let data = entry.data_offset();
    let stored = bound::sum(data, entry.stored);
    visit(structure("block", (entry.offset, entry.end()), 0, Vec::new()))?;
    visit(structure("block header", (entry.offset, data), 1, fields))?;
    visit(structure("block data", (data, stored), 1, Vec::new()))?;
    if stored < entry.end() {
        visit(structure("reserved", (stored, entry.end()), 1, Vec::new()))?;
    }
    ControlFlow::Continue(())
}
