//! The nodes of a tree in pages. Lines of the simple form `key: value` are kept as text until one of their nodes is needed, so
//! that opening a file does not create nodes that are not used.

use std::sync::OnceLock;

use sciformats_core::bound;

use super::tree::{Content, Node, ScalarStyle};

/// The number of nodes of a page.
pub(super) const PAGE: usize = 128;
/// The number of lines of a page. Each line has a key and a value.
pub(super) const LINES: usize = PAGE / 2;

/// Nodes by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Arena {
    pages: Vec<Page>,
    len: usize,
}

#[derive(Clone, Debug)]
enum Page {
    Nodes(Vec<Node>),
    Lines(Lines),
}

/// [`LINES`] lines that [`simple`](super::simple) recognized as a simple key and value each.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// The text from the first key to the last line break.
    text: Box<str>,
    /// The offset of the text in the file.
    offset: u64,
    nodes: OnceLock<Vec<Node>>,
}

impl Lines {
    pub(super) fn new(text: &str, offset: u64) -> Self {
        Self { text: text.into(), offset, nodes: OnceLock::new() }
    }

    fn nodes(&self) -> &Vec<Node> {
        self.nodes.get_or_init(|| {
            let mut nodes = Vec::with_capacity(PAGE);
            let mut offset = self.offset;
            for line in self.text.split_inclusive('\n') {
                let Some((before, after)) = line.split_once(':') else { continue };
                for (part, from) in [(before, 0), (after, bound::sum(before.len(), 1))] {
                    // The sum is a position in the file, whose length fits 64 bits.
                    let blanks = bound::left(part.len(), part.trim_ascii_start().len());
                    let offset = bound::sum(offset, bound::sum(from, blanks) as u64);
                    nodes.push(Node { offset, ..Node::new(scalar(part.trim_ascii())) });
                }
                offset = bound::sum(offset, line.len() as u64);
            }
            nodes
        })
    }
}

/// Returns the scalar for a text as it is written, which contains no quotes inside.
fn scalar(text: &str) -> Content {
    match text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        Some(text) => Content::Scalar { text: text.into(), style: ScalarStyle::Single },
        None => Content::Scalar { text: text.into(), style: ScalarStyle::Plain },
    }
}

impl Arena {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, number: usize) -> Option<&Node> {
        match self.pages.get(number / PAGE)? {
            Page::Nodes(nodes) => nodes.get(number % PAGE),
            Page::Lines(lines) => lines.nodes().get(number % PAGE),
        }
    }

    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut Node> {
        let page = self.pages.get_mut(number / PAGE)?;
        if let Page::Lines(lines) = page {
            lines.nodes();
            *page = Page::Nodes(lines.nodes.take().unwrap_or_default());
        }
        match page {
            Page::Nodes(nodes) => nodes.get_mut(number % PAGE),
            Page::Lines(_) => None,
        }
    }

    /// Adds a node, and returns its number.
    pub(super) fn push(&mut self, node: Node) -> usize {
        let number = self.len;
        if self.is_at_page() {
            self.pages.push(Page::Nodes(Vec::new()));
        }
        if let Some(Page::Nodes(nodes)) = self.pages.last_mut() {
            nodes.push(node);
            self.len = bound::sum(self.len, 1); // a bound, which no memory reaches
        }
        number
    }

    /// Returns whether the next node starts a page.
    fn is_at_page(&self) -> bool {
        self.len.is_multiple_of(PAGE)
    }

    /// Adds the nodes of a page of lines, and returns the number of the first. The next node must start a page.
    pub(super) fn push_lines(&mut self, lines: Lines) -> usize {
        let number = self.len;
        self.pages.push(Page::Lines(lines));
        self.len = bound::sum(self.len, PAGE); // a bound, which no memory reaches
        number
    }

    /// Returns whether the node is in a page of lines whose nodes do not exist yet. It is then a scalar without properties, and
    /// not a merge key.
    pub(super) fn is_line(&self, number: usize) -> bool {
        matches!(self.pages.get(number / PAGE), Some(Page::Lines(lines)) if lines.nodes.get().is_none())
    }

    /// Returns whether the node is in a page of lines, none of which has this key.
    pub(super) fn is_line_without(&self, number: usize, key: &str) -> bool {
        let Some(Page::Lines(lines)) = self.pages.get(number / PAGE) else { return false };
        // In such lines, a key ends with the first `:` of its line.
        lines.nodes.get().is_none()
            && !lines.text.match_indices(key).any(|(at, _)| {
                let end = bound::sum(at, key.len());
                lines.text.as_bytes().get(end) == Some(&b':')
            })
    }
}
