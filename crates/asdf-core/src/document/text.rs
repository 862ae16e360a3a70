//! The text of the tree as it is written. If only values of single entries have changed since a text was read, the rest of the
//! text stays as it is, with its comments.

use std::borrow::Cow;

use sciformats_core::Result;
use sciformats_core::arith::{add, fit, sub};

use super::Document;
use crate::spec::yaml_frame;
use crate::update::room;
use crate::yaml::edits::ReadText;
use crate::yaml::{Tree, parse};

/// A text that the caller has given for the tree.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// The reading that produced the tree; `None` if the text cannot be written to a file as it is.
    read: Option<ReadText>,
    text: String,
    /// The offset at which the first node of the text counts.
    base: u64,
}

impl Document {
    /// Returns the text of the tree as it will be written. This is the text that was read or [given](Self::set_tree_text), with its
    /// comments, as long as only values of single entries have changed since; otherwise it is composed anew, without comments.
    ///
    /// ```
    /// use asdf_core::Document;
    ///
    /// let mut document = Document::new();
    /// document.set_tree_text("%YAML 1.1\n---\nexposure: 30.0  # in seconds\n...\n")?;
    /// document.set("exposure", &12.5)?;
    /// assert_eq!(document.tree_text()?, "%YAML 1.1\n---\nexposure: 12.5  # in seconds\n...\n");
    /// document.set("target", "M31")?; // a new entry
    /// assert_eq!(document.tree_text()?, "%YAML 1.1\n---\nexposure: 12.5\ntarget: M31\n...\n");
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the tree cannot be written; `Io`.
    pub fn tree_text(&self) -> Result<String> {
        match self.kept_text()? {
            Some(text) => Ok(text),
            None => self.tree.to_text(),
        }
    }

    /// Replaces the tree by the one that a text describes. The text is written as it is, with its comments; only a missing first
    /// or last line is added. A text that has comments before its first line `%YAML`, or after the line that ends the document,
    /// cannot be in a file, and is composed anew.
    ///
    /// # Errors
    /// `Malformed` in the `tree` at the offset in `text`; `LimitExceeded`. The tree is then unchanged.
    pub fn set_tree_text(&mut self, text: impl Into<String>) -> Result<()> {
        let (mut text, limits) = (text.into(), *self.tree.limits());
        let mut tree = Tree::parse_at(text.as_bytes(), 0, &limits)?;
        let framed = framed(&text);
        let is_framed = framed.is_some();
        if let Some(framed) = framed.filter(|framed| *framed != text) {
            tree = Tree::parse_at(framed.as_bytes(), 0, &limits)?;
            text = framed;
        }
        let read = tree.read_text().cloned().filter(|_| is_framed);
        self.given = Some(Given { read, text, base: 0 });
        (self.tree, self.counts_back) = (tree, true);
        Ok(())
    }

    /// Returns whether the text that was read or [given](Self::set_tree_text) has comments that will not be written, because more
    /// than values of single entries has changed.
    ///
    /// ```
    /// use asdf_core::Document;
    ///
    /// let mut document = Document::new();
    /// document.set_tree_text("%YAML 1.1\n---\nexposure: 30.0  # in seconds\n...\n")?;
    /// assert!(!document.drops_comments()?);
    /// document.set("target", "M31")?;
    /// assert!(document.drops_comments()?);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`; `Malformed` if the file has changed since it was opened.
    pub fn drops_comments(&self) -> Result<bool> {
        if self.kept_text()?.is_some() {
            return Ok(false);
        }
        let text = match &self.given {
            Some(given) => Cow::Borrowed(given.text.as_bytes()),
            None => match self.stored_text()? {
                Some((text, _)) => text,
                None => return Ok(false),
            },
        };
        parse::has_comments(&text, self.tree.limits())
    }

    /// Returns the text that is in the file from which the document was opened, and its offset.
    fn stored_text(&self) -> Result<Option<(Cow<'_, [u8]>, u64)>> {
        let Some(origin) = &self.origin else { return Ok(None) };
        let start = origin.located.tree().map_or(0, |range| range.start);
        Ok(origin.tree_text()?.map(|text| (text, start)))
    }

    /// Returns the text of which the tree is a reading, apart from changed values, and the offset at which the text counts.
    fn own_text(&self) -> Result<Option<(Cow<'_, [u8]>, u64)>> {
        match (self.tree.read_text(), &self.given) {
            (None, _) => Ok(None),
            (read, Some(given)) if read == given.read.as_ref() => {
                Ok(Some((given.text.as_bytes().into(), given.base)))
            }
            (read, _) if read == self.text.as_ref() => self.stored_text(),
            _ => Ok(None),
        }
    }

    /// Returns the same text for a document with a copy of this tree and another origin.
    pub(crate) fn text_to_give(&self) -> Result<Option<Given>> {
        let read = self.tree.read_text().cloned();
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
        let own = self.own_text()?;
        Ok(own.and_then(|(bytes, base)| Some(Given { read, text: text(&bytes)?, base })))
    }

    /// Returns the text that was read or given with the values that are new since; `None` if it cannot be kept.
    pub(crate) fn kept_text(&self) -> Result<Option<String>> {
        let Some((bytes, base)) = self.own_text()? else { return Ok(None) };
        let (Ok(text), Some(mut scalars)) = (std::str::from_utf8(&bytes), self.tree.new_scalars()) else {
            return Ok(None);
        };
        if scalars.is_empty() && text.ends_with('\n') {
            // A long text is not in memory twice.
            return Ok(String::from_utf8(bytes.into_owned()).ok());
        }
        scalars.sort_by_key(|scalar| scalar.offset);
        let (mut kept, mut rest, mut done) = (String::with_capacity(text.len()), text, 0);
        for scalar in &scalars {
            let at: usize = fit(sub(scalar.offset, base)?, "offset in the text of the tree")?;
            let Some((before, from)) = sub(at, done).ok().and_then(|at| rest.split_at_checked(at)) else {
                return Ok(None);
            };
            let Some(after) = from.strip_prefix(&*scalar.old).filter(|_| {
                // What follows shows that the old text is the whole of the scalar.
                room(from.as_bytes(), scalar.old.as_bytes()).is_some()
            }) else {
                return Ok(None);
            };
            kept.push_str(before);
            kept.push_str(&scalar.new);
            done = add(at, scalar.old.len())?;
            rest = after;
        }
        kept.push_str(rest);
        if !kept.ends_with('\n') {
            kept.push('\n');
        }
        Ok(Some(kept))
    }
}

/// Returns the text with the first and the last line that a tree has in a file; `None` if more would have to change.
fn framed(text: &str) -> Option<String> {
    let content = |line: &&str| !line.trim_start().is_empty() && !line.trim_start().starts_with('#');
    let directives = text.lines().filter(content).take_while(|line| line.starts_with('%'));
    let first = match text.lines().find(content) {
        _ if text.as_bytes().starts_with(yaml_frame::TOKEN) => "",
        _ if directives.into_iter().any(|line| line.as_bytes().starts_with(yaml_frame::TOKEN)) => {
            return None;
        }
        Some(line) if line.starts_with('%') || line.starts_with("---") => "%YAML 1.1\n",
        _ => "%YAML 1.1\n---\n",
    };
    let mut framed = format!("{first}{text}");
    if !framed.ends_with('\n') {
        framed.push('\n');
    }
    match yaml_frame::size(framed.as_bytes(), 0) {
        Some(size) => (size == framed.len()).then_some(framed),
        None => Some(framed + "...\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_gets_the_lines_that_it_lacks() {
        for (text, expected) in [
            ("%YAML 1.1\n---\na: 1\n...\n", Some("%YAML 1.1\n---\na: 1\n...\n")),
            ("a: 1 # one", Some("%YAML 1.1\n---\na: 1 # one\n...\n")),
            ("# one\n--- !x\na: 1\n...", Some("%YAML 1.1\n# one\n--- !x\na: 1\n...\n")),
            ("%TAG ! x\n---\na: 1\n", Some("%YAML 1.1\n%TAG ! x\n---\na: 1\n...\n")),
            ("# one\n%YAML 1.1\n---\na: 1\n...\n", None),
            ("%YAML 1.1\n---\na: 1\n...\n# one\n", None),
            ("", Some("%YAML 1.1\n---\n...\n")),
        ] {
            assert_eq!(framed(text).as_deref(), expected, "{text:?}");
        }
    }
}
