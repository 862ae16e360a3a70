//! The nodes of a tree in pages. Text that is known to be simple is kept as text until one of its nodes is asked for, so
//! that opening a file does not make nodes that nobody looks at, and a tree of many arrays takes little more memory than
//! its text.
//!
//! A page has [`PAGE`] numbers. Where it holds fewer nodes, the numbers that are left belong to no node.

use std::sync::{Arc, OnceLock};

use sciformats_core::bound;

use super::entries::Entries;
use super::node::{Content, Node, ScalarStyle};
use super::tree::Handles;

/// The number of nodes of a page.
pub(super) const PAGE: usize = 128;
/// The number of lines of a page. Each line has a key and a value.
pub(super) const LINES: usize = PAGE / 2;

/// Nodes by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Arena {
    pages: Vec<Page>,
    /// The page that takes the next node.
    open: Option<usize>,
}

#[derive(Clone, Debug)]
enum Page {
    /// Nodes that were added one by one.
    Nodes(Vec<Node>),
    Lines(Lines),
    Entries(Box<Entries>),
    /// Nodes that were text before.
    Opened(Vec<Node>),
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

impl Page {
    fn len(&self) -> usize {
        match self {
            Self::Nodes(nodes) | Self::Opened(nodes) => nodes.len(),
            Self::Lines(_) => PAGE,
            Self::Entries(entries) => entries.len(),
        }
    }
}

/// The number of the first node of a page.
fn first(page: usize) -> usize {
    bound::product(page, PAGE) // a bound: memory ends before
}

impl Arena {
    /// One more than the largest number of a node.
    pub(super) fn len(&self) -> usize {
        let before = bound::left(self.pages.len(), 1);
        self.pages.last().map_or(0, |page| bound::sum(first(before), page.len()))
    }

    /// The number of nodes.
    pub(super) fn count(&self) -> usize {
        self.pages.iter().map(Page::len).fold(0, bound::sum) // a bound: memory ends before
    }

    /// A number that is larger than those of all nodes that were added one by one, and not larger than those of the nodes
    /// that will be.
    pub(super) fn next(&self) -> usize {
        match self.open.and_then(|page| Some((page, self.pages.get(page)?))) {
            Some((page, Page::Nodes(nodes))) if nodes.len() < PAGE => bound::sum(first(page), nodes.len()),
            _ => first(self.pages.len()),
        }
    }

    pub(super) fn get(&self, number: usize) -> Option<&Node> {
        let place = number % PAGE;
        match self.pages.get(number / PAGE)? {
            Page::Nodes(nodes) | Page::Opened(nodes) => nodes.get(place),
            Page::Lines(lines) => lines.nodes().get(place),
            Page::Entries(entries) => entries.nodes(number.checked_sub(place)?).get(place),
        }
    }

    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut Node> {
        let place = number % PAGE;
        let page = self.pages.get_mut(number / PAGE)?;
        match page {
            Page::Nodes(_) | Page::Opened(_) => {}
            Page::Lines(lines) => {
                lines.nodes();
                *page = Page::Opened(lines.nodes.take().unwrap_or_default());
            }
            Page::Entries(entries) => *page = Page::Opened(entries.take(number.checked_sub(place)?)),
        }
        match page {
            Page::Nodes(nodes) | Page::Opened(nodes) => nodes.get_mut(place),
            Page::Lines(_) | Page::Entries(_) => None,
        }
    }

    /// Adds a node, and returns its number.
    pub(super) fn push(&mut self, node: Node) -> usize {
        let number = self.next();
        let page = number / PAGE;
        if page == self.pages.len() {
            self.open = Some(page);
            self.pages.push(Page::Nodes(Vec::new()));
        }
        if let Some(Page::Nodes(nodes)) = self.pages.get_mut(page) {
            nodes.push(node);
        }
        number
    }

    /// Adds the nodes of a page of lines; returns the number of the first.
    pub(super) fn push_lines(&mut self, lines: Lines) -> usize {
        self.pages.push(Page::Lines(lines));
        first(bound::left(self.pages.len(), 1))
    }

    /// Adds the nodes of a page of entries; returns the number of the first.
    pub(super) fn push_entries(&mut self, entries: Entries) -> usize {
        self.pages.push(Page::Entries(Box::new(entries)));
        first(bound::left(self.pages.len(), 1))
    }

    /// Adds an entry as its text, which has so many nodes; returns the number of the first.
    pub(super) fn push_entry(
        &mut self,
        (text, nodes): (&str, usize),
        is_item: bool,
        handles: &Arc<Handles>,
    ) -> usize {
        let page = bound::left(self.pages.len(), 1);
        if let Some(Page::Entries(entries)) = self.pages.last_mut() {
            if let Some(place) = entries.append((text, nodes), is_item, handles) {
                return bound::sum(first(page), place);
            }
            entries.shrink();
        }
        self.push_entries(Entries::made((text, nodes), is_item, handles))
    }

    /// All nodes, if they were added one by one.
    pub(super) fn into_nodes(self) -> Vec<Node> {
        let mut all = Vec::new();
        for page in self.pages {
            if let Page::Nodes(nodes) = page {
                all.extend(nodes);
            }
        }
        all
    }

    /// Nodes of text that was made are nowhere in a file.
    pub(super) fn forget_offsets(&mut self) {
        for page in &mut self.pages {
            if let Page::Nodes(nodes) = page {
                nodes.iter_mut().for_each(|node| node.offset = 0);
            }
        }
    }

    /// From here on, new nodes have larger numbers than all that there are.
    pub(super) fn close(&mut self) {
        if self.pages.iter().any(|page| !matches!(page, Page::Nodes(_))) {
            self.open = None;
            if let Some(Page::Entries(entries)) = self.pages.last_mut() {
                entries.close();
            }
        }
    }

    /// Whether the node was added by itself.
    pub(super) fn is_single(&self, number: usize) -> bool {
        matches!(self.pages.get(number / PAGE), Some(Page::Nodes(_)))
    }

    /// Returns whether the node is in text that has not been parsed. Such a node has no anchor and is no merge key.
    pub(super) fn is_unread(&self, number: usize) -> bool {
        match self.pages.get(number / PAGE) {
            Some(Page::Lines(lines)) => lines.nodes.get().is_none(),
            Some(Page::Entries(entries)) => entries.is_unread(),
            _ => false,
        }
    }

    /// Returns the entries that a node is in, if they have not been parsed, and the node's place among their nodes.
    pub(super) fn unread_entries(&self, number: usize) -> Option<(&Entries, usize)> {
        match self.pages.get(number / PAGE)? {
            Page::Entries(entries) if entries.is_unread() => Some((entries, number % PAGE)),
            _ => None,
        }
    }

    /// Returns whether the node is in text that has not been parsed and that does not contain this key.
    pub(super) fn is_unread_without(&self, number: usize, key: &str) -> bool {
        match self.pages.get(number / PAGE) {
            // In such lines a key ends with the first `:` of its line.
            Some(Page::Lines(lines)) => {
                lines.nodes.get().is_none()
                    && !lines.text.match_indices(key).any(|(at, _)| {
                        let end = bound::sum(at, key.len());
                        lines.text.as_bytes().get(end) == Some(&b':')
                    })
            }
            Some(Page::Entries(entries)) => entries.is_unread() && !entries.may_have(key),
            _ => false,
        }
    }
}
