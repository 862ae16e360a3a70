//! Names of variables, dimensions and attributes that are valid in netCDF and belong to one thing each. Each name that changes is told.

use std::collections::{HashMap, HashSet};

/// A dimension of a variable that is going to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) name: String,
    pub(super) length: u64,
    pub(super) unlimited: bool,
}

/// The names that are in use.
#[derive(Debug, Default)]
pub(super) struct Names {
    dimensions: HashMap<String, (u64, bool)>,
    variables: HashSet<String>,
    /// The new names of dimensions that were told.
    told: HashSet<String>,
    /// What was changed: the path of the variable, and how.
    changes: Vec<(String, String)>,
}

impl Names {
    /// Returns what was changed since the last call.
    pub(super) fn changes(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.changes)
    }

    /// Returns a dimension of this length for the variable at `path`. If it has no name, or if its name belongs to a dimension of
    /// another length, it is called after its length.
    pub(super) fn side(&mut self, path: &str, name: Option<&str>, length: u64, unlimited: bool) -> Side {
        let side = self.unnamed(name, length, unlimited);
        if let Some(name) = name
            && side.name != name
            && self.told.insert(side.name.clone())
        {
            let why = why(name, &side.name);
            let what = format!("has the dimension {name:?}, which is called {}, {why}", side.name);
            self.changes.push((path.to_owned(), what));
        }
        side
    }

    /// As [`side`](Self::side), for a dimension that the source does not name.
    fn unnamed(&mut self, name: Option<&str>, length: u64, unlimited: bool) -> Side {
        let called = name.map_or_else(|| format!("dim_{length}"), valid);
        let numbers = std::iter::once(called.clone());
        let mut candidates = numbers
            .chain(std::iter::once(format!("{called}_{length}")))
            .chain((2u64..).map(|number| format!("{called}_{length}_{number}")));
        let fits = |name: &String| match self.dimensions.get(name) {
            // A variable of this name has its coordinates.
            Some(known) => *known == (length, unlimited),
            None => !self.variables.contains(name),
        };
        let name = candidates.find(fits).unwrap_or(called); // one of the candidates is free
        self.dimensions.insert(name.clone(), (length, unlimited));
        Side { name, length, unlimited }
    }

    /// Returns the dimension of the rows of a table.
    pub(super) fn rows(&mut self, path: &str, length: u64) -> Side {
        let name = valid(path.trim_start_matches('/'));
        let name = if path == "/" { "row".to_owned() } else { format!("{name}_row") };
        self.unnamed(Some(&name), length, false)
    }

    /// Returns a name for the variable at a path, which ends with `end`. A dimension only shares its name with the coordinates along
    /// it.
    pub(super) fn variable(&mut self, path: &str, end: &str, sides: &[Side]) -> String {
        // Slashes are expected: they say where in the tree an array is.
        let asked = match path.trim_start_matches('/') {
            "" => format!("data{end}"),
            inner => format!("{}{end}", inner.replace('/', "_")),
        };
        let own = |name: &String| matches!(sides, [one] if one.name == *name);
        let free = |name: &String| {
            !self.variables.contains(name) && (own(name) || !self.dimensions.contains_key(name))
        };
        let name = numbered(&valid(&asked), &free);
        if name != asked {
            self.changes.push((path.to_owned(), format!("is called {name}, {}", why(&asked, &name))));
        }
        self.variables.insert(name.clone());
        name
    }
}

/// An attribute: where it is in the source, its name, and its value.
pub(super) type Found<T> = (String, String, T);

/// Gives attributes names that are valid, and that neither `taken` nor another one of them has. Names that are valid stay.
pub(super) fn attributes<T>(
    found: Vec<Found<T>>,
    taken: &[&str],
    losses: &mut Vec<(String, String)>,
) -> Vec<(String, T)> {
    let stays = |name: &String| valid(name) == *name && !taken.contains(&name.as_str());
    let mut known: HashSet<String> = taken.iter().map(|name| (*name).to_owned()).collect();
    known.extend(found.iter().map(|(_, name, _)| name).filter(|name| stays(name)).cloned());
    let mut all = Vec::new();
    // Of two attributes of one name, which may come from different places, the first keeps it.
    let mut first = HashSet::new();
    for (at, name, told) in found {
        if stays(&name) && first.insert(name.clone()) {
            all.push((name, told));
            continue;
        }
        let new = numbered(&valid(&name), &|name| !known.contains(name));
        losses.push((at, format!("is called {new}, {}", why(&name, &new))));
        known.insert(new.clone());
        all.push((new, told));
    }
    all
}

/// Returns a name, with a number after it if it is not free.
fn numbered(name: &str, free: &dyn Fn(&String) -> bool) -> String {
    let numbers = (2u64..).map(|number| format!("{}_{number}", cut(name, MOST - 20)));
    std::iter::once(name.to_owned()).chain(numbers).find(free).unwrap_or_else(|| name.to_owned())
}

/// The largest number of bytes of a name in netCDF.
const MOST: usize = 256;

/// Returns the beginning of a text, with at most so many bytes.
fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// Returns a text as a name of netCDF: without slashes and control characters, not too long, and beginning with a letter, a digit, `_` or
/// a character beyond ASCII.
fn valid(text: &str) -> String {
    let mut name: String =
        text.chars().map(|c| if c == '/' || c.is_ascii_control() { '_' } else { c }).collect();
    name.truncate(name.trim_end_matches(' ').len());
    if !begins(&name) {
        name.insert(0, '_');
    }
    name.truncate(cut(&name, MOST).trim_end_matches(' ').len());
    name
}

fn begins(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_' || !first.is_ascii())
}

/// Says why a name became another one.
fn why(name: &str, new: &str) -> &'static str {
    if new != valid(name) {
        return "because something else has its name in netCDF";
    }
    match name {
        _ if name.contains('/') => "because names of netCDF have no slashes",
        _ if name.contains(|c: char| c.is_ascii_control()) => {
            "because names of netCDF have no control characters"
        }
        _ if name.ends_with(' ') => "because names of netCDF have no spaces at the end",
        _ if !begins(name) => "because names of netCDF begin with a letter, a digit or _",
        _ => "because names of netCDF have at most 256 bytes",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_belong_to_one_thing() {
        let mut names = Names::default();
        let x = names.side("/u", Some("x"), 3, false);
        assert_eq!(names.side("/v", Some("x"), 3, false), x);
        assert_eq!(names.variable("/x", "", std::slice::from_ref(&x)), "x");
        assert_eq!(names.side("/w", Some("x"), 3, false), x); // which has coordinates now
        assert_eq!(names.changes(), []);
        assert_eq!(names.side("/t", Some("x"), 4, false).name, "x_4");
        assert_eq!(names.side("/t", Some(" a/b"), 4, false).name, "_ a_b");
        names.side("/s", Some("x"), 4, false);
        let told = |path: &str, what: &str| (path.to_owned(), what.to_owned());
        let expected = [
            told(
                "/t",
                "has the dimension \"x\", which is called x_4, because something else has its name in netCDF",
            ),
            told(
                "/t",
                "has the dimension \" a/b\", which is called _ a_b, because names of netCDF have no slashes",
            ),
        ];
        assert_eq!(names.changes(), expected);
        let unnamed = [false, true].map(|unlimited| names.side("/u", None, 3, unlimited).name);
        assert_eq!(unnamed, ["dim_3", "dim_3_3"]);
        assert_eq!((names.rows("/t", 5).name, names.rows("/", 5).name), ("t_row".into(), "row".into()));
        assert_eq!(
            (names.variable("/a/b c", "", &[]), names.variable("/", "", &[])),
            ("a_b c".into(), "data".into())
        );
        assert_eq!(names.variable("/\u{b0}C", "_real", &[]), "\u{b0}C_real");
        assert_eq!(names.changes(), []);
        // Only coordinates may have the name of a dimension.
        let dim = "because something else has its name in netCDF";
        let start = "because names of netCDF begin with a letter, a digit or _";
        for (path, new, why) in [
            ("/dim_3", "dim_3_2", dim),
            ("/a_b c", "a_b c_2", dim),
            ("/-u", "_-u", start),
            ("/a\n", "a_", "because names of netCDF have no control characters"),
            ("/a ", "a", "because names of netCDF have no spaces at the end"),
            ("/a  ", "a_2", dim),
        ] {
            assert_eq!(names.variable(path, "", &[x.clone(), x.clone()]), new);
            assert_eq!(names.changes(), [told(path, &format!("is called {new}, {why}"))]);
        }
        let long = names.variable(&format!("/{}", "\u{e9}".repeat(200)), "", &[]);
        assert_eq!(long, "\u{e9}".repeat(128));
    }

    #[test]
    fn attributes_keep_valid_names() {
        let found =
            ["a/b", "a_b", "dtype", "t ", "t", "t"].map(|name| (format!("/x@{name}"), name.to_owned(), ()));
        let mut losses = Vec::new();
        let names = attributes(found.to_vec(), &["dtype"], &mut losses);
        let names: Vec<&str> = names.iter().map(|(name, ())| name.as_str()).collect();
        assert_eq!(names, ["a_b_2", "a_b", "dtype_2", "t_2", "t", "t_3"]);
        let told: Vec<&str> = losses.iter().map(|(at, _)| at.as_str()).collect();
        assert_eq!(told, ["/x@a/b", "/x@dtype", "/x@t ", "/x@t"]);
    }
}
