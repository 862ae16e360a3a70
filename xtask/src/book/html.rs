//! Checks the links of the built pages: each leads to a file of the book, and to an element that has the name. Nothing is
//! fetched; addresses elsewhere are only counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;

use crate::fixtures::files_below;
use crate::sh::{About, Result};

/// What was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    pages: usize,
    links: usize,
    anchors: usize,
    elsewhere: usize,
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pages, links, anchors, elsewhere } = self;
        write!(
            f,
            "{pages} pages: {links} links within the book, {anchors} of them to an anchor, all lead somewhere; "
        )?;
        write!(f, "{elsewhere} links elsewhere were not followed")
    }
}

/// Checks all pages of a folder.
pub(crate) fn check(folder: &Path) -> Result<Checked> {
    let files = files_below(folder)?;
    let mut pages = BTreeMap::new();
    for file in files.iter().filter(|file| file.ends_with(".html")) {
        let path = folder.join(file);
        pages.insert(file.as_str(), fs::read_to_string(&path).about(&path)?);
    }
    let files: BTreeSet<&str> = files.iter().map(String::as_str).collect();
    let (checked, wrong) = links(&pages, &files);
    if wrong.is_empty() { Ok(checked) } else { Err(wrong.join("\n").into()) }
}

fn links(pages: &BTreeMap<&str, String>, files: &BTreeSet<&str>) -> (Checked, Vec<String>) {
    let names: BTreeMap<&str, BTreeSet<String>> =
        pages.iter().map(|(page, text)| (*page, values(text, &["id", "name"]).collect())).collect();
    let mut checked = Checked { pages: pages.len(), ..Checked::default() };
    let mut wrong = Vec::new();
    for (page, text) in pages {
        for target in values(text, &["href", "src"]) {
            let other = target.split(['/', '#']).next().is_some_and(|first| first.contains(':'));
            if other || target.starts_with("//") {
                checked.elsewhere += 1;
                continue;
            }
            checked.links += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = path.split('?').next().unwrap_or(path);
            let file = if path.is_empty() { Some((*page).to_owned()) } else { resolve(page, path) };
            let Some(file) = file.filter(|file| files.contains(file.as_str())) else {
                wrong.push(format!("{page}: `{target}` leads to no file"));
                continue;
            };
            if !anchor.is_empty() {
                checked.anchors += 1;
                if !names.get(file.as_str()).is_some_and(|names| names.contains(anchor)) {
                    wrong.push(format!("{page}: `{target}`: the page has no such place"));
                }
            }
        }
    }
    wrong.dedup();
    (checked, wrong)
}

/// The values of attributes in the tags of a page. Comments and scripts are left out.
fn values(page: &str, attributes: &[&str]) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let end = tag_end(rest);
        let tag = &rest[..end];
        for attribute in attributes {
            found.extend(value(tag, attribute));
        }
        rest = &rest[end..];
        if tag.starts_with("<script") {
            rest = rest.find("</script").map_or("", |at| &rest[at..]);
        }
    }
    found.into_iter()
}

/// The length of a tag; `>` may be inside of quotes.
fn tag_end(text: &str) -> usize {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == '>' => return at + 1,
            None => {}
        }
    }
    text.len()
}

/// The value of an attribute of a tag.
fn value(tag: &str, attribute: &str) -> Option<String> {
    let begin = format!(" {attribute}=");
    let tag = tag.replace('\n', " ");
    let rest = &tag[tag.find(&begin)? + begin.len()..];
    let quote = rest.chars().next().filter(|c| *c == '"' || *c == '\'')?;
    let value = rest[1..].split(quote).next()?;
    Some(value.replace("&amp;", "&").replace("&#x27;", "'").replace("&quot;", "\""))
}

/// A path relative to a page. A percent sign begins an encoded byte.
fn resolve(page: &str, target: &str) -> Option<String> {
    let mut parts: Vec<String> = page.split('/').map(str::to_owned).collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name.replace("%20", " ")),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(pages: &[(&str, &str)], others: &[&str]) -> (Checked, Vec<String>) {
        let pages: BTreeMap<&str, String> =
            pages.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
        let files = pages.keys().copied().chain(others.iter().copied()).collect();
        links(&pages, &files)
    }

    #[test]
    fn links_and_anchors_must_be_there() {
        let (checked, wrong) = outcome(
            &[
                (
                    "index.html",
                    "<a href=\"x/a.html#one\">1</a><a href='x/a.html#two'>2</a><img src=\"p.svg\"><a href=\"q.svg\">",
                ),
                (
                    "x/a.html",
                    "<h2 id=\"one\">x</h2><a href=\"../index.html\"></a><a href=\"#none\"></a><a href=\"https://e.example/\">",
                ),
            ],
            &["p.svg"],
        );
        assert_eq!(checked, Checked { pages: 2, links: 6, anchors: 3, elsewhere: 1 });
        assert_eq!(
            wrong,
            [
                "index.html: `x/a.html#two`: the page has no such place",
                "index.html: `q.svg` leads to no file",
                "x/a.html: `#none`: the page has no such place",
            ]
        );
    }

    #[test]
    fn comments_scripts_and_text_are_no_links() {
        let page = "<!-- <a href=\"no.html\"> --><script>x = '<a href=\"no.html\">'</script>href=\"no.html\"<p title=\"a > b\" id=\"p\">";
        let (checked, wrong) = outcome(&[("index.html", page)], &[]);
        assert_eq!((checked.links, wrong.len()), (0, 0));
        assert_eq!(values(page, &["id"]).collect::<Vec<_>>(), ["p"]);
    }
}
