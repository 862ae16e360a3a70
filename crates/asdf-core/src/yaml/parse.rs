//! Documents, properties, and collections that are structured by indentation.
//!
//! The parser works directly on the text. A node is parsed from its first character on, and only a `:` after a node on one line
//! shows that the node was the first key of a mapping. Nothing is therefore parsed twice, and positions are exact.

use std::collections::HashMap;
use std::sync::Arc;

use sciformats_core::arith::{add, sub};
use sciformats_core::{Limits, Result, bound};

use super::arena::{Arena, Lines, PAGE};
use super::cursor::{Cursor, signed};
use super::edits::Edits;
use super::entries::{Entries, Sizes, Standing, bound_of};
use super::keys::Keys;
use super::node::{CollectionStyle, Content, Node, NodeId, ScalarStyle};
use super::simple;
use super::tree::{Handles, Tree, is_handle};

/// The length in characters of the longest key on one line that YAML allows.
const MAX_SIMPLE_KEY: usize = 1024;

/// Levels of the tree in an entry that is kept as text, and some more.
const LEVELS: usize = 6;

/// The size in bytes of the longest prefix for which a handle may stand.
const MAX_PREFIX: usize = 1024;

pub(super) struct Parser<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) tree: Tree,
    pub(super) anchors: HashMap<&'a str, NodeId>,
    /// The full tags. The keys are their written forms, because files repeat a few tags many times.
    pub(super) tags: HashMap<&'a str, Arc<str>>,
    pub(super) tag_bytes: u64,
    depth: usize,
    /// Whether simple text is kept as text.
    keeps_text: bool,
}

/// The position of a node in the block structure.
#[derive(Clone, Copy)]
struct Place {
    /// The column of the innermost collection around it; −1 at the top level.
    indent: isize,
    /// Whether a collection may begin on the line of the cursor.
    inline: bool,
    /// Whether a sequence may be in the column `indent` itself, as is possible below a key.
    sequence: bool,
}

/// A node whose properties have been parsed, and the column where they began.
#[derive(Clone, Copy)]
pub(super) struct Begun {
    pub(super) id: NodeId,
    pub(super) column: usize,
}

enum Key {
    /// The key was parsed; the cursor is at its `:`.
    Done(NodeId),
    /// The cursor is at `?`.
    Explicit,
}

pub(super) fn document(text: &[u8], base: u64, limits: &Limits) -> Result<Tree> {
    read(text, base, limits, true).map(|(tree, _)| tree)
}

/// Returns whether there are comments in the text of a document.
pub(crate) fn has_comments(text: &[u8], limits: &Limits) -> Result<bool> {
    // Most texts have no mark at all. In those that have one, it may also be a part of a scalar.
    if !text.contains(&b'#') {
        return Ok(false);
    }
    read(text, 0, limits, false).map(|(_, is_commented)| is_commented)
}

/// Returns the tree, and whether its text has comments. Those in text that is kept as text are not noticed.
fn read(text: &[u8], base: u64, limits: &Limits, keeps_text: bool) -> Result<(Tree, bool)> {
    let mut parser = Parser::new(Cursor::new(text, base)?, Arc::default(), *limits);
    parser.keeps_text = keeps_text;
    let inline = !parser.directives()?;
    parser.tree.root = parser.block_node(Place { indent: -1, inline, sequence: false })?;
    let cursor = &mut parser.cursor;
    cursor.skip_to_content()?;
    if cursor.is_marker() && cursor.peek() == b'.' {
        cursor.advance(3);
        cursor.skip_to_content()?;
    }
    match () {
        () if cursor.is_end() => {
            parser.tree.nodes.close();
            parser.tree.has_anchors = !parser.anchors.is_empty();
            parser.tree.edits = Edits::none(parser.tree.nodes.len());
            Ok((parser.tree, parser.cursor.is_commented))
        }
        () if cursor.is_marker() => Err(cursor.error("has a second document")),
        () => Err(cursor.error("has text where the document should end")),
    }
}

/// As [`document`], with a node for everything.
#[cfg(test)]
pub(super) fn document_of_nodes(text: &[u8], base: u64) -> Result<Tree> {
    read(text, base, &Limits::default(), false).map(|(tree, _)| tree)
}

/// Parses entries of a block collection that stand at an offset of a file. The collection is the first node, and the others
/// follow in the order of the text.
pub(super) fn fragment((text, offset): (&str, u64), handles: &Arc<Handles>, are_items: bool) -> Result<Tree> {
    let cursor = Cursor::new(text.as_bytes(), offset)?;
    let mut parser = Parser::new(cursor, Arc::clone(handles), Limits::default());
    parser.cursor.skip_to_content()?;
    let column = parser.cursor.column();
    let id = parser.begin()?;
    parser.tree.root = id;
    if are_items {
        parser.block_sequence(id, column)?;
    } else {
        let key = parser.block_key()?;
        parser.block_mapping(id, column, key)?;
    }
    Ok(parser.tree)
}

impl<'a> Parser<'a> {
    fn new(cursor: Cursor<'a>, handles: Arc<Handles>, limits: Limits) -> Self {
        let tree = Tree {
            nodes: Arena::default(),
            root: NodeId(0),
            handles,
            limits,
            keys: Keys::default(),
            edits: Edits::default(),
            has_anchors: false,
        };
        let (anchors, tags) = (HashMap::new(), HashMap::new());
        Self { cursor, tree, anchors, tags, tag_bytes: 0, depth: 0, keeps_text: false }
    }

    /// Parses directives and `---`. Returns whether there was a `---`.
    fn directives(&mut self) -> Result<bool> {
        let mut any = false;
        loop {
            self.cursor.skip_to_content()?;
            if self.cursor.peek() == b'%' && self.cursor.column() == 0 {
                any = true;
                let start = self.cursor.at;
                self.cursor.skip_line();
                let line = self.cursor.slice(start, self.cursor.at);
                self.cursor.is_commented |= line.contains(" #");
                self.directive(line)?;
            } else if self.cursor.is_marker() && self.cursor.peek() == b'-' {
                self.cursor.advance(3);
                return Ok(true);
            } else if any {
                return Err(self.cursor.error("has no `---` after its directives"));
            } else {
                return Ok(false);
            }
        }
    }

    fn directive(&mut self, line: &str) -> Result<()> {
        let line = line.split(" #").next().unwrap_or(line);
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["%YAML", version] if version.starts_with("1.") => Ok(()),
            ["%YAML", ..] => Err(self.cursor.error("has a `%YAML` directive of another major version")),
            ["%TAG", handle, prefix] if is_handle(handle) => {
                if self.tree.handles.iter().any(|(known, _)| known == handle) {
                    return Err(self.cursor.error("has two `%TAG` directives for one handle"));
                }
                if prefix.len() > MAX_PREFIX {
                    return Err(self.cursor.error("has a `%TAG` prefix of more than 1024 bytes"));
                }
                Arc::make_mut(&mut self.tree.handles).push(((*handle).into(), (*prefix).into()));
                Ok(())
            }
            ["%TAG", ..] => Err(self.cursor.error("has a `%TAG` directive without a handle and a prefix")),
            // The standard reserves other directives, and tells readers to ignore them.
            _ => Ok(()),
        }
    }

    fn enter(&mut self) -> Result<()> {
        self.depth = add(self.depth, 1)?;
        self.tree.limits.depth("levels of the tree", self.depth)
    }

    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.enter()?;
        let result = parse(self);
        self.depth = sub(self.depth, 1)?;
        result
    }

    /// Adds a node without content at the cursor.
    pub(super) fn begin(&mut self) -> Result<NodeId> {
        let content = Content::Scalar { text: String::new(), style: ScalarStyle::Plain };
        self.tree.limits.items("nodes of the tree", self.tree.nodes.len() as u64)?;
        let offset = self.cursor.offset();
        Ok(self.tree.add(Node { offset, ..Node::new(content) }))
    }

    pub(super) fn fill(&mut self, id: NodeId, content: Content) {
        if let Some(node) = self.tree.node_mut(id) {
            node.content = content;
        }
    }

    fn is_inside(&self, place: Place) -> bool {
        let column = signed(self.cursor.column());
        let inside = column > place.indent
            || place.sequence && column == place.indent && self.cursor.is_indicator(b'-');
        inside && !self.cursor.is_end() && !self.cursor.is_marker()
    }

    fn block_node(&mut self, place: Place) -> Result<NodeId> {
        self.nested(|parser| parser.block_node_here(place))
    }

    fn block_node_here(&mut self, mut place: Place) -> Result<NodeId> {
        place.inline |= self.cursor.skip_to_content()?;
        if !self.is_inside(place) {
            return self.begin();
        }
        // Properties on a line of their own belong to the node; properties on the line of a key belong to the key.
        let mut here = self.properties()?;
        let mut outer = None;
        if let Some(first) = here
            && self.cursor.skip_to_content()?
        {
            if !self.is_inside(place) {
                return Ok(first.id);
            }
            place.inline = true;
            outer = Some(first.id);
            here = self.properties()?;
            if let Some(second) = here
                && self.cursor.skip_to_content()?
            {
                let merged = self.merged(first.id, second.id)?;
                if !self.is_inside(place) {
                    return Ok(merged);
                }
                (outer, here) = (Some(merged), None);
            }
        }
        self.block_content(place, outer, here)
    }

    /// Parses the content of a node; `outer` has properties on an earlier line, and `here` on this line.
    fn block_content(&mut self, place: Place, outer: Option<NodeId>, here: Option<Begun>) -> Result<NodeId> {
        let column = here.map_or(self.cursor.column(), |begun| begun.column);
        for (indicator, is_sequence) in [(b'-', true), (b'?', false)] {
            if self.cursor.is_indicator(indicator) {
                if here.is_some() || !place.inline {
                    return Err(self.cursor.error("has a block collection where none may begin"));
                }
                let id = outer.map_or_else(|| self.begin(), Ok)?;
                return match is_sequence {
                    true => self.block_sequence(id, column),
                    false => self.block_mapping(id, column, Key::Explicit),
                };
            }
        }
        if matches!(self.cursor.peek(), b'|' | b'>') {
            let id = self.only(outer, here.map(|begun| begun.id))?;
            let content = self.block_scalar(place.indent)?;
            self.fill(id, content);
            return Ok(id);
        }
        // A mapping gets the properties `outer`, and its first key gets `here`. Other nodes can only have one of them.
        let line = self.cursor.line_start;
        let start = self.cursor.at;
        let is_alias = self.cursor.peek() == b'*';
        let atom = self.block_atom(here.map(|begun| begun.id), place.indent)?;
        if !self.ends_as_key(line, start)? {
            return match (outer, here) {
                (None, _) => Ok(atom),
                (Some(_), _) if is_alias => Err(self.cursor.error("has an alias with properties")),
                (Some(outer), here) => {
                    let id = here.map_or(Ok(outer), |here| self.merged(outer, here.id))?;
                    let content = self.tree.node(atom).content.clone();
                    self.fill(id, content);
                    Ok(id)
                }
            };
        }
        if !place.inline {
            return Err(self.cursor.error("has a mapping where none may begin"));
        }
        let id = outer.map_or_else(|| self.begin(), Ok)?;
        self.block_mapping(id, column, Key::Done(atom))
    }

    fn only(&mut self, outer: Option<NodeId>, here: Option<NodeId>) -> Result<NodeId> {
        match (outer, here) {
            (Some(outer), Some(here)) => self.merged(outer, here),
            (Some(id), None) | (None, Some(id)) => Ok(id),
            (None, None) => self.begin(),
        }
    }

    /// Returns one node for properties on two lines. It is the node to which aliases may already refer.
    fn merged(&mut self, outer: NodeId, here: NodeId) -> Result<NodeId> {
        let (first, second) = (self.tree.node(outer), self.tree.node(here));
        if first.tag.is_some() && second.tag.is_some() || first.anchor.is_some() && second.anchor.is_some() {
            return Err(self.cursor.error("has properties twice"));
        }
        let (kept, other) = if second.anchor.is_some() { (here, outer) } else { (outer, here) };
        if let Some(tag) = self.tree.node(other).tag.clone() {
            self.tree.set_tag(kept, tag);
        }
        Ok(kept)
    }

    /// Returns whether a `:` follows the node that has just been parsed on one line, which began at `start` on line `line`.
    fn ends_as_key(&mut self, line: usize, start: usize) -> Result<bool> {
        let at = self.cursor.at;
        self.cursor.skip_blanks();
        if !self.cursor.is_indicator(b':') {
            self.cursor.at = at;
            return Ok(false);
        }
        if self.cursor.line_start != line {
            return Err(self.cursor.error("has a key of more than one line"));
        }
        if self.cursor.slice(start, at).chars().nth(MAX_SIMPLE_KEY).is_some() {
            return Err(self.cursor.error("has a key of more than 1024 characters"));
        }
        Ok(true)
    }

    fn block_sequence(&mut self, id: NodeId, column: usize) -> Result<NodeId> {
        let indent = signed(column);
        let mut items = Vec::new();
        loop {
            if self.entries(Standing { column, is_item: true }, &mut |first| items.push(first))?
                && !self.is_at_item(column)
            {
                break;
            }
            self.cursor.advance(1);
            items.push(self.block_node(Place { indent, inline: true, sequence: false })?);
            self.cursor.skip_to_content()?;
            if !self.is_at_item(column) {
                break;
            }
        }
        self.fill(id, Content::Sequence { items, style: CollectionStyle::Block });
        Ok(id)
    }

    fn is_at_item(&self, column: usize) -> bool {
        let cursor = &self.cursor;
        cursor.column() == column && cursor.is_indicator(b'-') && !cursor.is_marker()
    }

    fn block_mapping(&mut self, id: NodeId, column: usize, first: Key) -> Result<NodeId> {
        let indent = signed(column);
        let place = Place { indent, inline: true, sequence: true };
        let mut entries = Vec::new();
        if let Key::Done(key) = first {
            // It is only known that there is a mapping after its first key has been parsed.
            let start = self.tree.node(key).offset;
            if let Some(mapping) = self.tree.node_mut(id) {
                mapping.offset = mapping.offset.min(start);
            }
        }
        let mut next = first;
        loop {
            let pair = match next {
                Key::Done(key) => {
                    self.cursor.advance(1);
                    (key, self.block_node(Place { inline: false, ..place })?)
                }
                Key::Explicit => {
                    self.cursor.advance(1);
                    let key = self.block_node(place)?;
                    self.cursor.skip_to_content()?;
                    if self.cursor.column() == column && self.cursor.is_indicator(b':') {
                        self.cursor.advance(1);
                        (key, self.block_node(place)?)
                    } else {
                        (key, self.begin()?)
                    }
                }
            };
            entries.push(pair);
            self.cursor.skip_to_content()?;
            if self.cursor.is_end() || self.cursor.is_marker() || self.cursor.column() < column {
                break;
            }
            if self.cursor.column() > column {
                return Err(self.cursor.error("has text that belongs to no entry of the mapping"));
            }
            if self.lines(column, &mut entries)? {
                break;
            }
            let mut take = |key: NodeId| entries.push((key, NodeId(bound::sum(key.0, 1))));
            if self.entries(Standing { column, is_item: false }, &mut take)?
                && (self.cursor.is_end() || self.cursor.is_marker() || self.cursor.column() < column)
            {
                break;
            }
            next = if self.cursor.is_indicator(b'?') { Key::Explicit } else { self.block_key()? };
        }
        self.fill(id, Content::Mapping { entries, style: CollectionStyle::Block });
        Ok(id)
    }

    /// Parses pages of lines with a simple key and value each, without creating their nodes. Returns whether the mapping ends
    /// with them. The cursor is at a key.
    fn lines(&mut self, column: usize, entries: &mut Vec<(NodeId, NodeId)>) -> Result<bool> {
        loop {
            let cursor = &self.cursor;
            let blanks = cursor.slice(cursor.line_start, cursor.at);
            if !self.keeps_text || blanks.bytes().any(|b| b != b' ') {
                return Ok(false);
            }
            let Some(end) = simple::lines(cursor.text.as_bytes(), cursor.at, column) else {
                return Ok(false);
            };
            self.tree.limits.items("nodes of the tree", bound::sum(self.tree.nodes.len(), PAGE) as u64)?;
            self.nested(|_| Ok(()))?;
            let lines = Lines::new(self.cursor.slice(self.cursor.at, end), self.cursor.offset());
            let first = self.tree.nodes.push_lines(lines);
            let ids =
                (first..self.tree.nodes.len()).filter_map(|number| u32::try_from(number).ok()).map(NodeId);
            let (keys, values) = (ids.clone().step_by(2), ids.skip(1).step_by(2));
            entries.extend(keys.zip(values));
            self.cursor.advance(sub(end, self.cursor.at)?);
            self.cursor.line_start = self.cursor.at;
            self.cursor.skip_to_content()?;
            if self.cursor.is_end() || self.cursor.is_marker() || self.cursor.column() < column {
                return Ok(true);
            }
        }
    }

    /// Reads pages of simple entries without creating their nodes, and passes the number of each entry's first node to `take`.
    /// Returns whether there were any. The cursor is at a key or a `-`, and afterwards behind the entries.
    fn entries(&mut self, standing: Standing, take: &mut dyn FnMut(NodeId)) -> Result<bool> {
        let cursor = &self.cursor;
        let blanks = cursor.slice(cursor.line_start, cursor.at);
        if !self.keeps_text
            || blanks.len() != standing.column
            || self.tree.limits.depth("levels of the tree", bound::sum(self.depth, LEVELS)).is_err()
        {
            return Ok(false);
        }
        let (mut any, mut tail) = (false, simple::Tail::default());
        loop {
            let start = self.cursor.line_start;
            let text = self.cursor.text;
            let (mut end, mut sizes) = (start, Sizes::default());
            let mut tags: Option<(&str, Arc<str>, bool)> = None;
            let mut ends = Vec::new();
            loop {
                let at = bound::sum(end, standing.column);
                let Some(entry) = simple::entry(text.as_bytes(), at, standing, tail) else { break };
                let Some(more) = sizes.and(entry.nodes) else { break };
                tail = entry.tail;
                // A tag that is wrong is found, and reported, where it is read.
                let Ok(written) = std::str::from_utf8(entry.tag) else { break };
                match &mut tags {
                    Some((first, ..)) if *first == written => {}
                    Some((_, _, is_one)) if self.known_tag(written).is_ok() => *is_one = false,
                    None if let Ok(tag) = self.known_tag(written) => tags = Some((written, tag, true)),
                    _ => break,
                }
                (end, sizes) = (entry.end, more);
                ends.push(bound_of(sub(end, start)?));
            }
            // A short page is not worth its overhead, and the number of nodes must stay within the limit.
            let count = bound::sum(self.tree.nodes.len(), bound::product(PAGE, 2));
            if sizes.nodes() < PAGE / 2 || self.tree.limits.items("nodes of the tree", count as u64).is_err()
            {
                return Ok(any);
            }
            let offset = self.cursor.offset_of(start);
            let text = self.cursor.slice(start, end);
            let tag = tags.filter(|(.., is_one)| *is_one).map(|(_, tag, _)| tag);
            let page =
                Entries::new((text, offset), standing, (sizes, ends), &self.tree.handles).with_tag(tag);
            let first = self.tree.nodes.push_entries(page);
            for place in sizes.firsts() {
                take(NodeId(u32::try_from(bound::sum(first, place)).unwrap_or(u32::MAX))); // a bound of all ids
            }
            any = true;
            self.cursor.advance(sub(end, self.cursor.at)?);
            self.cursor.line_start = self.cursor.at;
            self.cursor.skip_to_content()?;
            if self.cursor.column() != standing.column || self.cursor.is_end() {
                return Ok(true);
            }
        }
    }

    fn block_key(&mut self) -> Result<Key> {
        let (line, start) = (self.cursor.line_start, self.cursor.at);
        let begun = self.properties()?;
        self.cursor.skip_blanks();
        if self.cursor.is_indicator(b'-') {
            return Err(self.cursor.error("has a sequence among the keys of a mapping"));
        }
        let key = self.block_atom(begun.map(|begun| begun.id), isize::MAX)?;
        if self.ends_as_key(line, start)? {
            return Ok(Key::Done(key));
        }
        Err(self.cursor.error("has a key without `:`"))
    }

    /// Parses a node that can be a key: an alias, a flow collection, a quoted or plain scalar, or nothing before a `:`.
    fn block_atom(&mut self, id: Option<NodeId>, indent: isize) -> Result<NodeId> {
        if self.cursor.is_indicator(b':') {
            return id.map_or_else(|| self.begin(), Ok);
        }
        match self.cursor.peek() {
            b'*' => self.alias(id),
            b'[' | b'{' => self.nested(|parser| parser.flow_collection(id)),
            _ => {
                let id = id.map_or_else(|| self.begin(), Ok)?;
                let content = match self.cursor.peek() {
                    b'"' => self.double_quoted()?,
                    b'\'' => self.single_quoted()?,
                    _ => self.plain(Some(indent))?,
                };
                self.fill(id, content);
                Ok(id)
            }
        }
    }
}
