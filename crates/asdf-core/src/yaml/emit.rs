//! Writing nodes as text.
//!
//! Styles are kept if possible. A plain scalar becomes a quoted one if some reader would misread it, and a block scalar inside
//! brackets becomes a quoted one. Collections are never wrapped.

use std::collections::HashMap;

use sciformats_core::arith::{add, sub};
use sciformats_core::{Result, bound};

use super::anchors::Anchors;
use super::node::{CollectionStyle, Content, NodeId, ScalarStyle};
use super::tree::Tree;
use super::{YAML_PREFIX, resolve};

/// The longest key that is written on the same line as its value.
const SIMPLE_KEY: usize = 128;

/// Bytes of text that are passed on together.
const MUCH: usize = 256 << 10;

/// Takes the next part of a text.
type Take<'o> = &'o mut dyn FnMut(&str) -> Result<()>;

impl Tree {
    /// Returns the document from `%YAML 1.1` to `...`. Each line ends with `\n`.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let mut tree = Tree::parse("gain: 0x1F   # as it was written\nfilters: [red, blue]\n")?;
    /// tree.set("exposure", &30.0)?;
    /// assert_eq!(tree.to_text()?, "%YAML 1.1\n---\ngain: 0x1F\nfilters: [red, blue]\nexposure: 30.0\n...\n");
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `LimitExceeded` if the nesting exceeds the tree's limits.
    pub fn to_text(&self) -> Result<String> {
        self.emit(None)
    }

    /// As [`to_text`](Self::to_text), but passes the text to `take` part by part.
    ///
    /// # Errors
    /// As [`to_text`](Self::to_text); those of `take`.
    pub(crate) fn write_text(&self, take: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let last = self.emit(Some(take))?;
        take(&last)
    }

    /// The text, or the last part of it, if there is somebody to take the others.
    fn emit(&self, take: Option<Take<'_>>) -> Result<String> {
        let mut emitter = Emitter {
            tree: self,
            anchors: Anchors::of(self),
            tags: HashMap::new(),
            out: String::new(),
            take,
            depth: 0,
        };
        emitter.out.push_str("%YAML 1.1\n");
        for (handle, prefix) in self.handles.iter() {
            emitter.out.push_str(&format!("%TAG {handle} {prefix}\n"));
        }
        emitter.out.push_str("---");
        emitter.block(self.root, Position::Document)?;
        emitter.out.push_str("...\n");
        Ok(emitter.out)
    }

    /// Returns a tag as it is written.
    pub(crate) fn short_tag(&self, tag: &str) -> String {
        if tag == "!" {
            return "!".into();
        }
        let named = self
            .handles
            .iter()
            .filter(|(_, prefix)| tag.len() > prefix.len() && tag.starts_with(prefix.as_str()));
        let best = named
            .max_by_key(|(_, prefix)| prefix.len())
            .map(|(handle, prefix)| (handle.as_str(), prefix.as_str()));
        let is_free = |handle: &str| !self.handles.iter().any(|(known, _)| known == handle);
        let usual = [("!!", YAML_PREFIX), ("!", "!")]
            .into_iter()
            .find(|(handle, prefix)| is_free(handle) && tag.len() > prefix.len() && tag.starts_with(prefix));
        match best.or(usual) {
            Some((handle, prefix)) => {
                let suffix = tag.get(prefix.len()..).unwrap_or_default();
                // Without an escape, a `!` in the suffix would form another handle, as in `!a!b`.
                format!("{handle}{}", percent_encoded(suffix, b"-_.~*'();/?:@&=+$"))
            }
            None => format!("!<{}>", percent_encoded(tag, b"-_.~*'();/?:@&=+$,[]!#")),
        }
    }
}

fn percent_encoded(text: &str, kept: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for b in text.bytes() {
        if b.is_ascii_alphanumeric() || kept.contains(&b) {
            out.push(char::from(b));
        } else {
            out.push_str(&format!("%{b:02X}"));
        }
    }
    out
}

/// What precedes a block node.
#[derive(Clone, Copy, PartialEq)]
enum Position {
    /// `---`
    Document,
    /// `-` in this column, or `?`, or the `:` of a key that was written with it.
    Item(usize),
    /// `key:` in this column.
    Value(usize),
}

impl Position {
    /// Returns the column of a sequence in this position.
    fn sequence(self) -> Result<usize> {
        match self {
            Self::Document => Ok(0),
            Self::Value(column) => Ok(column),
            Self::Item(column) => add(column, 2),
        }
    }

    /// Returns the column of a mapping in this position.
    fn mapping(self) -> Result<usize> {
        match self {
            Self::Document => Ok(0),
            Self::Value(column) | Self::Item(column) => add(column, 2),
        }
    }
}

struct Emitter<'t, 'o> {
    tree: &'t Tree,
    anchors: Anchors,
    /// The written forms of tags. The keys are the full tags.
    tags: HashMap<&'t str, String>,
    out: String,
    /// Takes the text when there is much of it.
    take: Option<Take<'o>>,
    depth: usize,
}

impl<'t> Emitter<'t, '_> {
    /// Writes an alias if the node was written before. Otherwise it writes the properties of the node, each after a blank.
    fn properties(&mut self, id: NodeId) -> bool {
        if let Some((name, first)) = self.anchors.write(id) {
            self.out.push_str(if first { " &" } else { " *" });
            self.out.push_str(name);
            if !first {
                return false;
            }
        }
        let tree: &'t Tree = self.tree;
        if let Some(tag) = &tree.node(id).tag {
            self.out.push(' ');
            self.out.push_str(self.tags.entry(tag).or_insert_with(|| tree.short_tag(tag)));
        }
        true
    }

    fn nested(&mut self, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.depth = add(self.depth, 1)?;
        // Everything that could be read can be written, although scalars count as levels here.
        let limit = bound::sum(bound::product(self.tree.limits.depth as u64, 2), 8);
        sciformats_core::limits::within("levels of the tree", self.depth as u64, limit)?;
        let result = write(self);
        self.depth = sub(self.depth, 1)?;
        result
    }

    /// The text up to here is complete.
    fn pass_on(&mut self) -> Result<()> {
        if let Some(take) = self.take.as_mut().filter(|_| self.out.len() >= MUCH) {
            take(&self.out)?;
            self.out.clear();
        }
        Ok(())
    }

    /// A node that nobody has looked at, in a tree of its own, unless it needs an anchor.
    fn apart(&self, id: NodeId) -> Option<(Tree, NodeId)> {
        if self.anchors.has(id) { None } else { self.tree.apart(id) }
    }

    /// Writes nodes of another tree here.
    fn of_another(
        &mut self,
        tree: &Tree,
        write: impl FnOnce(&mut Emitter<'_, '_>) -> Result<()>,
    ) -> Result<()> {
        let (out, depth) = (std::mem::take(&mut self.out), self.depth);
        let (anchors, tags) = (Anchors::default(), HashMap::new());
        let mut emitter = Emitter { tree, anchors, tags, out, take: None, depth };
        let result = write(&mut emitter);
        self.out = emitter.out;
        result
    }

    fn block(&mut self, id: NodeId, position: Position) -> Result<()> {
        if let (Position::Item(column) | Position::Value(column), false) = (position, self.anchors.has(id))
            && let Some(text) = self.tree.made_value(id)
        {
            for (number, line) in text.split_inclusive('\n').enumerate() {
                self.out.extend(std::iter::repeat_n(' ', if number == 0 { 0 } else { column }));
                self.out.push_str(line);
            }
            return Ok(());
        }
        if let Some((tree, local)) = self.apart(id) {
            return self.of_another(&tree, |emitter| emitter.block(local, position));
        }
        self.nested(|emitter| emitter.block_here(id, position))
    }

    /// Writes what follows `---`, `-` or `key:`, up to the end of the line.
    fn block_here(&mut self, id: NodeId, position: Position) -> Result<()> {
        let bare = self.out.len();
        if !self.properties(id) {
            self.out.push('\n');
            return Ok(());
        }
        let bare = self.out.len() == bare;
        let tree = self.tree;
        let mut compact = bare && matches!(position, Position::Item(_));
        match &tree.node(id).content {
            Content::Sequence { items, style: CollectionStyle::Block } if !items.is_empty() => {
                let column = position.sequence()?;
                self.end_line_unless(compact);
                items.iter().try_for_each(|&item| {
                    self.start_line(column, &mut compact);
                    self.out.push('-');
                    self.block(item, Position::Item(column))?;
                    self.pass_on()
                })
            }
            Content::Mapping { entries, style: CollectionStyle::Block } if !entries.is_empty() => {
                let column = position.mapping()?;
                self.end_line_unless(compact);
                entries.iter().try_for_each(|&(key, value)| {
                    self.start_line(column, &mut compact);
                    self.block_entry(key, value, column)?;
                    self.pass_on()
                })
            }
            Content::Scalar { text, style: style @ (ScalarStyle::Literal | ScalarStyle::Folded) }
                if is_block_text(text) =>
            {
                self.block_scalar(text, *style, position)
            }
            Content::Scalar { text, style: ScalarStyle::Plain }
                if text.is_empty() && tree.node(id).tag.is_none() =>
            {
                self.out.push('\n');
                Ok(())
            }
            _ => {
                self.out.push(' ');
                self.flow_content(id, false)?;
                self.out.push('\n');
                Ok(())
            }
        }
    }

    fn end_line_unless(&mut self, compact: bool) {
        if !compact {
            self.out.push('\n');
        }
    }

    /// Indents a line, unless the collection begins on the line of its parent's `-`.
    fn start_line(&mut self, column: usize, compact: &mut bool) {
        if std::mem::take(compact) {
            self.out.push(' ');
        } else {
            self.out.extend(std::iter::repeat_n(' ', column));
        }
    }

    fn block_entry(&mut self, key: NodeId, value: NodeId, column: usize) -> Result<()> {
        if let Some(text) = self.tree.made_key(key).filter(|_| !self.anchors.has(key)) {
            self.out.push_str(text);
            return self.block(value, Position::Value(column));
        }
        // A key and its value are parsed together, where they stand together.
        let follows = value.0.checked_sub(1) == Some(key.0) && !self.anchors.has(value);
        if let Some((tree, local)) = self.apart(key).filter(|_| follows)
            && let Some(&(key, value)) = tree.entries(tree.root()).and_then(|entries| entries.first())
            && key == local
        {
            return self.of_another(&tree, |emitter| emitter.block_entry(key, value, column));
        }
        if self.is_simple_key(key) {
            self.simple_key(key, false, "")?;
            return self.block(value, Position::Value(column));
        }
        self.out.push('?');
        self.block(key, Position::Item(column))?;
        self.out.extend(std::iter::repeat_n(' ', column));
        self.out.push(':');
        self.block(value, Position::Item(column))
    }

    /// Writes a key and its colon. A blank separates the colon from an alias, whose name would include it otherwise.
    fn simple_key(&mut self, key: NodeId, in_flow: bool, lead: &str) -> Result<()> {
        let is_alias = self.anchors.is_written(key);
        self.flow_node(key, in_flow, lead)?;
        self.out.push_str(if is_alias { " :" } else { ":" });
        Ok(())
    }

    /// Returns whether every reader finds the `:` of the key on its line, which is not the case for long texts and collections.
    fn is_simple_key(&self, key: NodeId) -> bool {
        let node = self.tree.node(key);
        let short = node.tag.as_ref().is_none_or(|tag| tag.len() <= SIMPLE_KEY);
        short
            && match &node.content {
                Content::Scalar { text, .. } => text.len() <= SIMPLE_KEY,
                Content::Sequence { items, .. } => items.is_empty(),
                Content::Mapping { entries, .. } => entries.is_empty(),
            }
    }

    /// Writes a node on one line, after `lead`.
    fn flow_node(&mut self, id: NodeId, in_flow: bool, lead: &str) -> Result<()> {
        if let Some((tree, local)) = self.apart(id) {
            return self.of_another(&tree, |emitter| emitter.flow_node(local, in_flow, lead));
        }
        let start = self.out.len();
        let is_new = self.properties(id);
        if self.out.len() > start {
            // `lead` replaces the blank before the first property.
            self.out.replace_range(start..add(start, 1)?, lead);
            if is_new {
                self.out.push(' ');
            }
        } else {
            self.out.push_str(lead);
        }
        if is_new { self.nested(|emitter| emitter.flow_content(id, in_flow)) } else { Ok(()) }
    }

    fn flow_content(&mut self, id: NodeId, in_flow: bool) -> Result<()> {
        let tree = self.tree;
        match &tree.node(id).content {
            Content::Scalar { text, style } => self.flow_scalar(text, *style, id, in_flow),
            Content::Sequence { items, .. } => {
                self.out.push('[');
                for (i, &item) in items.iter().enumerate() {
                    self.flow_node(item, true, if i == 0 { "" } else { ", " })?;
                }
                self.out.push(']');
            }
            Content::Mapping { entries, .. } => {
                self.out.push('{');
                for (i, &(key, value)) in entries.iter().enumerate() {
                    self.out.push_str(if i == 0 { "" } else { ", " });
                    if self.is_simple_key(key) {
                        self.simple_key(key, true, "")?;
                    } else {
                        self.flow_node(key, true, "? ")?;
                        self.out.push_str(" :");
                    }
                    self.flow_node(value, true, " ")?;
                }
                self.out.push('}');
            }
        }
        Ok(())
    }

    fn flow_scalar(&mut self, text: &str, style: ScalarStyle, id: NodeId, in_flow: bool) {
        let tag = self.tree.node(id).tag.is_some();
        one_line(text, style, tag, in_flow, &mut self.out);
    }

    fn block_scalar(&mut self, text: &str, style: ScalarStyle, position: Position) -> Result<()> {
        let folded =
            style == ScalarStyle::Folded && !text.split('\n').any(|line| line.starts_with([' ', '\t']));
        let body = text.trim_end_matches('\n');
        let breaks = sub(text.len(), body.len())?;
        self.out.push_str(if folded { " >" } else { " |" });
        if body.starts_with([' ', '\n']) || body.is_empty() {
            self.out.push('2');
        }
        self.out.push_str(match breaks {
            0 => "-",
            1 if !body.is_empty() => "",
            _ => "+",
        });
        self.out.push('\n');
        let indent = match position {
            Position::Document => 2,
            Position::Value(column) | Position::Item(column) => add(column, 2)?,
        };
        let mut before_text = false;
        for line in body.split('\n') {
            // A single line break between two lines of text would be folded.
            if folded && before_text && !line.is_empty() {
                self.out.push('\n');
            }
            before_text = before_text && line.is_empty() || !line.is_empty();
            if !line.is_empty() {
                self.out.extend(std::iter::repeat_n(' ', indent));
                self.out.push_str(line);
            }
            self.out.push('\n');
        }
        // The first line break ends the last line of the body.
        self.out.extend(std::iter::repeat_n('\n', bound::left(breaks, 1)));
        Ok(())
    }
}

/// Returns a scalar without a tag on one line, in a form that is possible wherever a value can be.
pub(super) fn on_one_line(text: &str, style: ScalarStyle) -> String {
    let mut out = String::new();
    one_line(text, style, false, true, &mut out);
    out
}

fn one_line(text: &str, style: ScalarStyle, tag: bool, in_flow: bool, out: &mut String) {
    match style {
        ScalarStyle::Plain if text.is_empty() => out.push_str(if tag { "\"\"" } else { "null" }),
        ScalarStyle::Plain
            if resolve::is_plain_text(text, in_flow)
                && (tag || !resolve::misleads(text) || !resolve::is_string(text) || text == "<<") =>
        {
            out.push_str(text);
        }
        ScalarStyle::Plain | ScalarStyle::Single if resolve::is_one_line(text) => {
            out.push('\'');
            out.push_str(&text.replace('\'', "''"));
            out.push('\'');
        }
        _ => double_quoted(text, out),
    }
}

/// Returns whether `text` can be written as a block scalar.
fn is_block_text(text: &str) -> bool {
    !text.is_empty()
        && text.split('\n').all(|line| resolve::is_one_line(line) && !line.starts_with('\t'))
        && text
            .trim_end_matches('\n')
            .split('\n')
            .all(|line| line.is_empty() || !line.trim_matches(' ').is_empty())
}

fn double_quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            c if resolve::is_one_line(c.encode_utf8(&mut [0; 4])) => out.push(c),
            c if u32::from(c) <= 0xFF => out.push_str(&format!("\\x{:02X}", u32::from(c))),
            c if u32::from(c) <= 0xFFFF => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push_str(&format!("\\U{:08X}", u32::from(c))),
        }
    }
    out.push('"');
}
