//! Tags, anchors and aliases.

use std::sync::Arc;

use sciformats_core::Result;
use sciformats_core::arith::add;

use super::YAML_PREFIX;
use super::node::NodeId;
use super::parse::{Begun, Parser};
use super::tree::is_handle;

impl<'a> Parser<'a> {
    pub(super) fn alias(&mut self, id: Option<NodeId>) -> Result<NodeId> {
        if id.is_some() {
            return Err(self.cursor.error("has an alias with properties"));
        }
        let at = self.cursor;
        self.cursor.advance(1);
        let name = self.name()?;
        self.anchors
            .get(name)
            .copied()
            .ok_or_else(|| at.error("has an alias of an anchor that does not exist"))
    }

    /// Parses the properties at the cursor, in either order. The node to which they belong is begun.
    pub(super) fn properties(&mut self) -> Result<Option<Begun>> {
        let column = self.cursor.column();
        Ok(self.node_properties()?.map(|id| Begun { id, column }))
    }

    pub(super) fn node_properties(&mut self) -> Result<Option<NodeId>> {
        let mut id = None;
        let (mut has_tag, mut has_anchor) = (false, false);
        loop {
            let after = match self.cursor.peek() {
                b'!' if !has_tag => {
                    has_tag = true;
                    let node = id.map_or_else(|| self.begin(), Ok)?;
                    id = Some(node);
                    let tag = self.tag()?;
                    self.tree.set_tag(node, tag);
                    self.cursor.at
                }
                b'&' if !has_anchor => {
                    has_anchor = true;
                    let node = id.map_or_else(|| self.begin(), Ok)?;
                    id = Some(node);
                    self.cursor.advance(1);
                    let name = self.name()?;
                    self.anchors.insert(name, node);
                    if let Some(node) = self.tree.node_mut(node) {
                        node.anchor = Some(name.into());
                    }
                    self.cursor.at
                }
                b'!' | b'&' => return Err(self.cursor.error("has properties twice")),
                _ => return Ok(id),
            };
            if !self.cursor.is_blank_or_end(after) && !matches!(self.cursor.peek(), b',' | b']' | b'}') {
                return Err(self.cursor.error("has no blank after a tag or an anchor"));
            }
            self.cursor.skip_blanks();
            if self.cursor.at > after && self.cursor.peek() == b'#' {
                // Go back to the blank, so that the comment is recognized.
                self.cursor.at = after;
                return Ok(id);
            }
        }
    }

    /// Parses the name of an anchor or an alias.
    fn name(&mut self) -> Result<&'a str> {
        let start = self.cursor.at;
        while matches!(self.cursor.peek(), b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'_') {
            self.cursor.advance(1);
        }
        match self.cursor.slice(start, self.cursor.at) {
            "" => Err(self
                .cursor
                .error("has an anchor or an alias without a name of letters, digits, `-` and `_`")),
            name => Ok(name),
        }
    }

    fn tag(&mut self) -> Result<Arc<str>> {
        let start = self.cursor.at;
        let verbatim = self.cursor.peek_at(1) == b'<';
        while !self.cursor.is_blank_or_end(self.cursor.at) {
            match self.cursor.peek() {
                b'>' if verbatim => {
                    self.cursor.advance(1);
                    break;
                }
                b',' | b'[' | b']' | b'{' | b'}' if !verbatim => break,
                _ => self.cursor.advance(1),
            }
        }
        self.known_tag(self.cursor.slice(start, self.cursor.at))
    }

    /// The tag that is written so, in full.
    pub(super) fn known_tag(&mut self, written: &'a str) -> Result<Arc<str>> {
        if let Some(tag) = self.tags.get(written) {
            return Ok(tag.clone());
        }
        let tag: Arc<str> = self.full_tag(written)?.into();
        // A long prefix with a short handle could expand to very much text.
        self.tag_bytes = add(self.tag_bytes, tag.len() as u64)?;
        self.tree.limits.memory("bytes of tags", self.tag_bytes)?;
        self.tags.insert(written, tag.clone());
        Ok(tag)
    }

    fn full_tag(&self, written: &str) -> Result<String> {
        let decoded = |text: &str| {
            percent_decoded(text).ok_or_else(|| self.cursor.error("has a tag with an invalid escape"))
        };
        if let Some(uri) = written.strip_prefix("!<") {
            return match uri.strip_suffix('>') {
                Some(uri) if !uri.is_empty() => decoded(uri),
                _ => Err(self.cursor.error("has a tag without `>`")),
            };
        }
        if written == "!" {
            return Ok("!".into());
        }
        let tail = written.get(1..).unwrap_or_default();
        let split = tail
            .find('!')
            .and_then(|i| i.checked_add(2))
            .filter(|&end| written.get(..end).is_some_and(is_handle));
        let (handle, suffix) = written.split_at_checked(split.unwrap_or(1)).unwrap_or((written, ""));
        let declared =
            self.tree.handles.iter().find(|(known, _)| known == handle).map(|(_, prefix)| prefix.as_str());
        let prefix = match (declared, handle) {
            (Some(prefix), _) => prefix,
            (None, "!") => "!",
            (None, "!!") => YAML_PREFIX,
            _ => return Err(self.cursor.error("has a tag whose handle no `%TAG` declares")),
        };
        if suffix.is_empty() {
            return Err(self.cursor.error("has a tag that is only a handle"));
        }
        Ok(format!("{prefix}{}", decoded(suffix)?))
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.into());
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        if b == b'%' {
            let digit = |b: Option<u8>| char::from(b?).to_digit(16);
            let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
            out.push(u8::try_from(high.checked_mul(16)?.checked_add(low)?).ok()?);
        } else {
            out.push(b);
        }
    }
    String::from_utf8(out).ok()
}
