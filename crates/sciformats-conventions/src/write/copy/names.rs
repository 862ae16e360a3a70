//! Names of variables and dimensions that are valid in netCDF and belong to one thing each.

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
}

impl Names {
    /// Returns a dimension of this length. If it has no name, or if its name belongs to a dimension of another length, it is
    /// called after its length.
    pub(super) fn side(&mut self, name: Option<&str>, length: u64, unlimited: bool) -> Side {
        let called = name.map_or_else(|| format!("dim_{length}"), valid);
        let numbers = std::iter::once(called.clone());
        let mut candidates = numbers
            .chain(std::iter::once(format!("{called}_{length}")))
            .chain((2u64..).map(|number| format!("{called}_{length}_{number}")));
        let fits = |known: Option<&(u64, bool)>| known.is_none_or(|known| *known == (length, unlimited));
        let name = candidates.find(|name| fits(self.dimensions.get(name)) && !self.variables.contains(name));
        let name = name.unwrap_or(called); // one of the candidates is free
        self.dimensions.insert(name.clone(), (length, unlimited));
        Side { name, length, unlimited }
    }

    /// Returns the dimension of the rows of a table.
    pub(super) fn rows(&mut self, path: &str, length: u64) -> Side {
        let name = valid(path.trim_start_matches('/'));
        let name = if path == "/" { "row".to_owned() } else { format!("{name}_row") };
        self.side(Some(&name), length, false)
    }

    /// Returns a name for the variable at a path. A dimension only shares its name with the coordinates along it.
    pub(super) fn variable(&mut self, path: &str, sides: &[Side]) -> String {
        let name = valid(path.trim_start_matches('/'));
        let name = if path == "/" { "data".to_owned() } else { name };
        let own = |name: &String| matches!(sides, [one] if one.name == *name);
        let free = |name: &String| {
            !self.variables.contains(name) && (own(name) || !self.dimensions.contains_key(name))
        };
        let mut candidates =
            std::iter::once(name.clone()).chain((2u64..).map(|number| format!("{name}_{number}")));
        let name = candidates.find(free).unwrap_or(name); // one of the candidates is free
        self.variables.insert(name.clone());
        name
    }
}

/// Returns a text as a name of netCDF: without slashes and control characters, and beginning with a letter, a digit or `_`.
fn valid(text: &str) -> String {
    let mut name: String = text.chars().map(|c| if c == '/' || c.is_control() { '_' } else { c }).collect();
    name.truncate(name.trim_end().len());
    let starts = name.chars().next().is_some_and(|first| first.is_alphanumeric() || first == '_');
    if starts { name } else { format!("_{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_belong_to_one_thing() {
        let mut names = Names::default();
        let x = names.side(Some("x"), 3, false);
        assert_eq!(names.side(Some("x"), 3, false), x);
        assert_eq!(names.side(Some("x"), 4, false).name, "x_4");
        assert_eq!(
            (names.side(None, 3, false).name, names.side(None, 3, true).name),
            ("dim_3".into(), "dim_3_3".into())
        );
        assert_eq!(names.variable("/x", std::slice::from_ref(&x)), "x");
        // Only coordinates may have the name of a dimension.
        assert_eq!(names.variable("/dim_3", &[x.clone(), x.clone()]), "dim_3_2");
        assert_eq!(names.variable("/a/b c", &[]), "a_b c");
        assert_eq!(names.variable("/a_b c", &[]), "a_b c_2");
        assert_eq!((names.variable("/", &[]), names.variable("/-u\n ", &[])), ("data".into(), "_-u_".into()));
        assert_eq!((names.rows("/t", 5).name, names.rows("/", 5).name), ("t_row".into(), "row".into()));
    }
}
