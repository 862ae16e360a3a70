//! Collections that are written with brackets, braces and commas.

use sciformats_core::Result;

use super::node::{CollectionStyle, Content, NodeId};
use super::parse::Parser;

impl Parser<'_> {
    /// Parses the collection that begins with the cursor's `[` or `{`.
    pub(super) fn flow_collection(&mut self, id: Option<NodeId>) -> Result<NodeId> {
        let id = id.map_or_else(|| self.begin(), Ok)?;
        let is_mapping = self.cursor.peek() == b'{';
        let close = if is_mapping { b'}' } else { b']' };
        let (mut items, mut entries) = (Vec::new(), Vec::new());
        self.cursor.advance(1);
        loop {
            self.flow_space()?;
            if self.cursor.peek() == close {
                break;
            }
            let (key, value) = self.flow_entry()?;
            match value {
                value if is_mapping => entries.push((key, value.map_or_else(|| self.begin(), Ok)?)),
                None => items.push(key),
                // `[a: b]` is a sequence that contains a mapping with one pair.
                Some(value) => {
                    let pair = self.begin()?;
                    self.fill(
                        pair,
                        Content::Mapping { entries: vec![(key, value)], style: CollectionStyle::Flow },
                    );
                    items.push(pair);
                }
            }
            self.flow_space()?;
            match self.cursor.peek() {
                b',' => self.cursor.advance(1),
                b if b == close => {}
                _ => {
                    return Err(self.cursor.error("lacks a `,` or the end of a collection in brackets"));
                }
            }
        }
        self.cursor.advance(1);
        let style = CollectionStyle::Flow;
        let content =
            if is_mapping { Content::Mapping { entries, style } } else { Content::Sequence { items, style } };
        self.fill(id, content);
        Ok(id)
    }

    /// Parses one entry, which is a node, or a key and a value.
    fn flow_entry(&mut self) -> Result<(NodeId, Option<NodeId>)> {
        let explicit = self.cursor.peek() == b'?';
        if explicit {
            self.cursor.advance(1);
            self.flow_space()?;
        } else if self.cursor.peek() == b',' {
            return Err(self.cursor.error("has a `,` with nothing before it"));
        }
        let key = self.flow_node()?;
        self.flow_space()?;
        if self.cursor.peek() == b':' {
            self.cursor.advance(1);
            self.flow_space()?;
            return Ok((key, Some(self.flow_node()?)));
        }
        Ok((key, if explicit { Some(self.begin()?) } else { None }))
    }

    fn flow_node(&mut self) -> Result<NodeId> {
        let id = self.node_properties()?;
        self.flow_space()?;
        match self.cursor.peek() {
            b'*' => return self.alias(id),
            b'[' | b'{' => return self.nested(|parser| parser.flow_collection(id)),
            _ => {}
        }
        let id = id.map_or_else(|| self.begin(), Ok)?;
        let content = match self.cursor.peek() {
            b',' | b']' | b'}' => return Ok(id),
            b':' if self.cursor.is_indicator(b':')
                || matches!(self.cursor.peek_at(1), b',' | b']' | b'}') =>
            {
                return Ok(id);
            }
            b'"' => self.double_quoted()?,
            b'\'' => self.single_quoted()?,
            _ => self.plain(None)?,
        };
        self.fill(id, content);
        Ok(id)
    }

    fn flow_space(&mut self) -> Result<()> {
        self.cursor.skip_to_content_in_flow()?;
        if self.cursor.is_end() || self.cursor.is_marker() {
            return Err(self.cursor.error("ends inside a collection in brackets"));
        }
        Ok(())
    }
}
