//! The text before the blocks: the tree, mended where it cannot be parsed, and the clean file that is put together with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use asdf_core::structure::{BlockHeader, Label, NdArray, Source};
use asdf_core::{NEWEST, Tree, Version};
use sciformats_convert::convert::Loss;
use sciformats_core::{Limits, ReadAt, Result, bound, slab};

use super::{Left, Slot};
use crate::earlier::{free, listed};
use crate::map::Part;
use crate::others::Notes;
use crate::report::{Confidence, ObjectReport, State};
use crate::spliced::Spliced;

/// The directives of a tree.
const DIRECTIVES: &[u8] = b"%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n";

/// The last version of the standard whose arrays have the tag `core/ndarray-1.0.0`.
const OLD: Version = Version::new(1, 5, 0);
const OLD_ARRAY: &[u8] = b"core/ndarray-1.0.0";

/// The largest tree that is read.
const TREE: u64 = 64 << 20;

/// The bytes of trees that are parsed in all.
const PARSED: usize = 256 << 20;
/// The most lines that are left out of a damaged tree.
const LINES: usize = 64;

/// The text before the blocks.
pub(super) struct Text {
    pub(super) bytes: Vec<u8>,
    /// Where the tree ends in the damaged file.
    pub(super) end: u64,
    /// Whether lines were left out.
    pub(super) mended: bool,
}

/// Returns the blocks that arrays of the tree name, and how many bytes each of them needs at least.
pub(super) fn named(text: &[u8]) -> BTreeMap<usize, u64> {
    let mut needed: BTreeMap<usize, u64> = BTreeMap::new();
    let Some(tree) = parsed(text) else { return needed };
    for node in tree.reachable() {
        if tree.entries(node).is_none() {
            continue;
        }
        let Ok(array) = NdArray::from_node(&tree, node) else { continue };
        let Source::Block(number) = array.source else { continue };
        let shape: Option<Vec<u64>> = array.shape.iter().copied().collect();
        let count = shape.and_then(|shape| slab::elements(&shape));
        let bytes = count
            .zip(array.datatype.size())
            .map(|(count, size)| bound::sum(bound::product(count, size), array.offset));
        if let (Ok(number), Some(bytes)) = (usize::try_from(number), bytes) {
            let most = needed.entry(number).or_insert(0);
            *most = bytes.max(*most);
        }
    }
    needed
}

/// Adds the blocks that arrays of the tree name and that are behind the end of the file.
pub(super) fn absent(
    source: &dyn ReadAt,
    needed: &BTreeMap<usize, u64>,
    slots: &mut Vec<Slot>,
    notes: &mut Notes,
) {
    let Some((&last, _)) = needed.last_key_value().filter(|(last, _)| **last < needed.len() + slots.len())
    else {
        return;
    };
    let limit = bound::product(source.size(), 1032);
    while slots.len() <= last {
        let size = needed.get(&slots.len()).copied().filter(|&size| size <= limit).unwrap_or(0);
        let header = BlockHeader {
            header_size: 48,
            flags: 0,
            compression: Label::NONE,
            allocated_size: size,
            used_size: size,
            data_size: size,
            checksum: [0; 16],
        };
        let end = source.size();
        notes.cause("cut off", "arrays name blocks that are not in the file");
        slots.push(Slot {
            offset: end,
            header,
            data: end,
            there: 0,
            placed: false,
            doubt: Some("it is not in the file"),
        });
    }
}

/// Finds the header and the tree, and mends a tree that cannot be parsed.
pub(super) fn text(source: &dyn ReadAt, end: Option<u64>, notes: &mut Notes) -> Result<Option<Text>> {
    let end = end.unwrap_or(source.size()).min(TREE);
    let bytes = source.read_at(0, bound::addressable(end))?;
    let find = |needle: &[u8]| bytes.windows(needle.len()).position(|window| window == needle);
    let headed = bytes.starts_with(b"#ASDF ");
    let start = match find(b"%YAML").or_else(|| find(b"\n---").map(|at| at + 1)) {
        Some(start) => start,
        None if headed && end == source.size() && !bytes.contains(&0) => {
            // A file may have no tree.
            notes.structure("header", (0, end), Part::Reached);
            return Ok(Some(Text { bytes: bytes.into_owned(), end, mended: false }));
        }
        None => {
            notes.cause("lost tree", "no YAML is before the first block");
            notes.act("make a tree", 0, "the blocks are all that is left", Confidence::High);
            return Ok(None);
        }
    };
    let tree = bytes.get(start..).unwrap_or_default();
    let (body, ended) = match [&b"\n...\n"[..], b"\n...\r\n"]
        .iter()
        .find_map(|mark| tree.windows(mark.len()).position(|window| window == *mark).map(|at| at + 1))
    {
        Some(at) => (tree.get(..at).unwrap_or_default(), true),
        None => (tree, false),
    };
    let body_len = body.len();
    let mut body = body.to_vec();
    if !body.starts_with(b"%YAML") {
        // Without these lines, short tags would have no meaning.
        notes.act("write the directives of the tree", start as u64, "they are lost", Confidence::Medium);
        body.splice(..0, DIRECTIVES.iter().copied());
    }
    while !ended && body.last().is_some_and(|byte| *byte == 0) {
        body.pop();
    }
    let limits = Limits::default();
    let mut mended = false;
    if !ended {
        let cut = end == source.size();
        notes.cause(if cut { "cut off" } else { "changed bytes" }, "the tree has no end mark");
        // The last line may be cut.
        let whole = body.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        mended |= whole < body.len() || cut;
        body.truncate(whole);
    }
    // A large tree is parsed fewer times.
    let most = LINES.min(PARSED.checked_div(body.len()).unwrap_or(LINES).max(1));
    for attempt in 0..=most {
        let Err(error) = Tree::parse_at(&body, 0, &limits) else { break };
        let at = error.offset().map(bound::addressable);
        let Some(at) = at.filter(|_| attempt < most && !body.is_empty()) else {
            notes.cause("lost tree", error.to_string());
            notes.act("make a tree", start as u64, "the tree cannot be parsed", Confidence::High);
            return Ok(None);
        };
        if !mended {
            notes.cause("changed bytes", format!("the tree: {error}"));
        }
        // An error at the end of the text is that of an earlier line.
        let at = at.min(body.len() - 1);
        let from = body
            .get(..at)
            .and_then(|before| before.iter().rposition(|&byte| byte == b'\n'))
            .map_or(0, |at| at + 1);
        let to = body
            .get(at..)
            .and_then(|rest| rest.iter().position(|&byte| byte == b'\n'))
            .map_or(body.len(), |more| at + more + 1);
        let line = String::from_utf8_lossy(body.get(from..to).unwrap_or_default())
            .trim_end()
            .chars()
            .take(60)
            .collect::<String>();
        notes.act(
            "leave out a line of the tree",
            bound::sum(start as u64, from as u64),
            line,
            Confidence::Speculative,
        );
        body.drain(from..to);
        mended = true;
    }
    let mut out = match bytes.get(..start) {
        Some(head) if headed && head.is_ascii() && !head.contains(&0) => head.to_vec(),
        _ => {
            notes.cause("overwritten head", "the first line is not that of ASDF");
            notes.act("write the first line", 0, "a tree follows", Confidence::High);
            // The tags of arrays tell the version of the standard.
            let is_old = body.windows(OLD_ARRAY.len()).any(|window| window == OLD_ARRAY);
            let standard = if is_old { OLD } else { NEWEST };
            format!("#ASDF 1.0.0\n#ASDF_STANDARD {standard}\n").into_bytes()
        }
    };
    out.extend_from_slice(&body);
    out.extend_from_slice(b"...\n");
    notes.structure("tree", (0, (start + body_len) as u64), Part::Reached);
    Ok(Some(Text { bytes: out, end: (start + body_len) as u64, mended }))
}

/// Puts a file together: the text, the blocks and the index. With what is known about the blocks, those that cannot be read become
/// zeros, and checksums that are not right are left out.
pub(super) fn splice(
    source: &Arc<dyn ReadAt>,
    text: &[u8],
    slots: &[Slot],
    left: Option<&[Left]>,
) -> Result<Spliced> {
    let mut file = Spliced::new(source.clone());
    let ended =
        text.windows(5).any(|window| window == b"\n...\n") || !text.windows(3).any(|window| window == b"---");
    file.bytes(if ended { text.to_vec() } else { [text, b"{}\n...\n"].concat() });
    let mut offsets = Vec::new();
    for (number, slot) in slots.iter().enumerate() {
        offsets.push(file.len());
        let used = slot.header.used_size;
        let mut header = BlockHeader { header_size: 48, allocated_size: used, ..slot.header };
        let known = left.and_then(|left| left.get(number));
        if known.is_some_and(|left| !left.sound) {
            header.checksum = [0; 16];
        }
        let mut bytes = Vec::new();
        if known.is_some_and(|left| left.unreadable) {
            // Nobody wants more zeros than the damaged file could have held.
            let size =
                if header.data_size <= bound::product(source.size(), 1032) { header.data_size } else { 0 };
            header = BlockHeader {
                compression: Label::NONE,
                allocated_size: size,
                used_size: size,
                data_size: size,
                ..header
            };
            header.encode(&mut bytes);
            file.bytes(bytes);
            file.zeros(size);
        } else {
            header.encode(&mut bytes);
            file.bytes(bytes);
            file.range(slot.data, used);
        }
    }
    if !offsets.is_empty() {
        let lines: String = offsets.iter().map(|offset| format!("- {offset}\n")).collect();
        file.bytes(format!("#ASDF BLOCK INDEX\n%YAML 1.1\n---\n{lines}...\n").into_bytes());
    }
    Ok(file)
}

/// The most parts that are listed of an array.
const ROWS: usize = 2000;

/// The key of the tree below which is what salvage says.
const KEY: &str = "lost+found";

/// Adds to the tree what is missing, and the blocks that no array uses. What an earlier salvage has said, or what else has its key, stays
/// as it was.
pub(super) fn marked(
    (text, standard): (&[u8], Option<Version>),
    (slots, left): (&[Slot], &[Left]),
    orphans: &[usize],
    (notes, losses): (&Notes, &mut Vec<Loss>),
) -> Vec<u8> {
    let tag = array_tag(standard);
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let known = parsed(text);
    let key = free(KEY, |key| known.as_ref().is_some_and(|tree| tree.get(key).is_some()));
    let mut lines = format!("{key}:\n");
    let before = lines.len();
    let damaged: Vec<&ObjectReport> =
        notes.objects.iter().filter(|object| object.state > State::Unchecked).collect();
    if !damaged.is_empty() {
        lines.push_str("  damage:\n");
        for object in &damaged {
            let text: String = object.reasons.join("; ").chars().take(500).collect();
            let text = format!("{}: {text}", object.state.word());
            lines.push_str(&format!("    {}: {}\n", quoted(&object.path), quoted(&text)));
        }
        let missing: BTreeMap<&str, _> = damaged
            .iter()
            .filter(|object| !object.missing.is_empty())
            .map(|object| (object.path.as_str(), &object.missing))
            .collect();
        if !missing.is_empty() {
            lines.push_str("  missing:\n");
        }
        for (path, slabs) in missing {
            let rows: Vec<Vec<u64>> =
                listed(slabs, ROWS).iter().map(|(start, count)| [start.as_slice(), count].concat()).collect();
            lines.push_str(&format!("    {}: {rows:?}\n", quoted(path)));
        }
    }
    for &number in orphans {
        let (Some(slot), Some(left)) = (slots.get(number), left.get(number)) else { continue };
        let size = if slot.header.compression.is_none() || left.unreadable {
            slot.header.used_size
        } else {
            slot.header.data_size
        };
        lines.push_str(&format!(
            "  block{number}: !<{tag}> {{source: {number}, datatype: uint8, byteorder: little, shape: [{size}]}}\n"
        ));
    }
    if lines.len() == before {
        return text.to_vec();
    }
    let body = text.strip_suffix(b"...\n").unwrap_or(text);
    let tried = [body, lines.as_bytes(), b"...\n"].concat();
    if parsed(&tried).is_some_and(|tree| tree.get(&key).is_some()) {
        return tried;
    }
    let what = format!("the key {key} with what is damaged cannot be added to the tree");
    losses.push(Loss { path: "/".into(), what, lost: None });
    text.to_vec()
}

/// Reads the tree of a text.
fn parsed(text: &[u8]) -> Option<Tree> {
    let from = text.windows(5).position(|window| window == b"%YAML").unwrap_or(0);
    Tree::parse_at(text.get(from..).unwrap_or_default(), 0, &Limits::default()).ok()
}

/// Returns the tag of arrays in a version of the standard. Python's `asdf` reads no array that has the tag of another version.
fn array_tag(standard: Option<Version>) -> &'static str {
    match standard {
        Some(standard) if standard > OLD => "tag:stsci.edu:asdf/core/ndarray-1.1.0",
        _ => "tag:stsci.edu:asdf/core/ndarray-1.0.0",
    }
}
