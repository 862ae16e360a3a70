//! Patterns of paths.

use std::ops::ControlFlow;

use sciformats::File;
use sciformats::walk::{Found, breadth_first};
use sciformats_core::{Error, Result};

/// A pattern of paths: `*` stands for any characters, including none and `/`; `?` stands for one character;
/// every other character stands for itself.
///
/// ```
/// use sciformats_convert::compare::Pattern;
///
/// assert!(Pattern::from("/frames/*/log/*").matches("/frames/12/log/energy"));
/// assert!(!Pattern::from("/frames/?").matches("/frames/12"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<char>);

impl From<&str> for Pattern {
    fn from(text: &str) -> Self {
        Self(text.chars().collect())
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|part| write!(f, "{part}"))
    }
}

impl Pattern {
    /// Returns whether the whole of `path` matches the pattern.
    ///
    /// ```
    /// use sciformats_convert::compare::Pattern;
    ///
    /// assert!(Pattern::from("*@unit").matches("/fields/u@unit"));
    /// assert!(!Pattern::from("/fields").matches("/fields/u")); // the whole path must fit
    /// ```
    pub fn matches(&self, path: &str) -> bool {
        let path: Vec<char> = path.chars().collect();
        let (mut p, mut t) = (0, 0);
        // After the last `*`: the position in the pattern after it, and the end of what the star covers.
        let mut star: Option<(usize, usize)> = None;
        loop {
            match (self.0.get(p), path.get(t)) {
                (Some('*'), _) => {
                    star = Some((p + 1, t));
                    p += 1;
                }
                (Some('?'), Some(_)) => (p, t) = (p + 1, t + 1),
                (Some(a), Some(b)) if a == b => (p, t) = (p + 1, t + 1),
                (None, None) => return true,
                _ => {
                    // The star covers one more character, if there is one.
                    let Some((after, reach)) = star.filter(|&(_, reach)| reach < path.len()) else {
                        return false;
                    };
                    star = Some((after, reach + 1));
                    (p, t) = (after, reach + 1);
                }
            }
        }
    }
}

/// Returns whether an object is selected, by itself or because a group that contains it is. Without patterns
/// everything is selected.
pub(crate) fn is_selected(path: &str, patterns: &[Pattern]) -> bool {
    if patterns.is_empty() {
        return true;
    }
    let mut prefix = path;
    loop {
        if patterns.iter().any(|pattern| pattern.matches(prefix)) {
            return true;
        }
        match prefix.rsplit_once('/') {
            Some(("", name)) if !name.is_empty() => prefix = "/",
            Some((parent, _)) if !parent.is_empty() => prefix = parent,
            _ => return false,
        }
    }
}

/// Fails if a pattern matches no object of a file, because a mistyped name would otherwise select nothing in silence.
///
/// ```
/// use sciformats::memory::{Memory, array};
/// use sciformats::{File, Format};
/// use sciformats_convert::compare::{Pattern, objects_match};
///
/// let mut tree = Memory::new(Format::Hdf5);
/// tree.array(tree.root(), "fields", array::<u8>(&[1], &[7]));
/// let file = File::from(tree);
/// assert!(objects_match(&file, &[Pattern::from("/f*")]).is_ok());
/// let error = objects_match(&file, &[Pattern::from("/fieldz")]).unwrap_err();
/// assert_eq!(error.to_string(), r#"no object named "/fieldz" (did you mean "/fields"?)"#);
/// ```
///
/// # Errors
///
/// [`Error::NotFound`] with the first pattern that matches nothing, and the most similar path.
pub fn objects_match(file: &File, patterns: &[Pattern]) -> Result<()> {
    all_match(&[file], patterns, false)
}

/// As [`objects_match`], for patterns that may match in any of several files, and may match attributes, which have the
/// path `PATH@NAME`.
pub(super) fn all_match(files: &[&File], patterns: &[Pattern], attributes: bool) -> Result<()> {
    let mut left: Vec<&Pattern> = patterns.iter().collect();
    for file in files {
        if left.is_empty() {
            break;
        }
        let source = file.source();
        let _ = breadth_first(source, ("/", source.root()), file.limits(), &mut |entry| {
            left.retain(|pattern| !pattern.matches(&entry.path));
            if let (true, false, Found::Object(id, _)) = (attributes, left.is_empty(), &entry.what) {
                for attribute in source.attributes(*id).into_iter().flatten().flatten() {
                    let path = format!("{}@{}", entry.path, attribute.name.shown());
                    left.retain(|pattern| !pattern.matches(&path));
                }
            }
            if left.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }
    let Some(missing) = left.first() else { return Ok(()) };
    let name = missing.to_string();
    let object = name.split('@').next().unwrap_or_default();
    let nearest = files.iter().find_map(|file| file.nearest(object)).filter(|nearest| nearest != object);
    Err(Error::not_found("object", name).with_nearest(nearest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, path, expected) in [
            ("", "", true),
            ("*", "", true),
            ("*", "/a/b", true),
            ("/a", "/a", true),
            ("/a", "/ab", false),
            ("/a*", "/ab/c", true),
            ("*c", "/ab/c", true),
            ("*b*c*", "/ab/c", true),
            ("*b*d*", "/ab/c", false),
            ("/?", "/µ", true),
            ("/?", "/", false),
            ("*aab", "/aaab", true),
        ] {
            assert_eq!(Pattern::from(pattern).matches(path), expected, "{pattern} {path}");
        }
    }
}
