//! What a misspelt path may have meant.

use std::ops::ControlFlow;

use crate::File;
use crate::walk::{Found, breadth_first};

/// Objects that are looked at, from the root on.
const LOOKED_AT: usize = 20_000;

impl File {
    /// The path of an object or link that somebody may have meant who wrote `path`: one of the same name elsewhere, or of a
    /// similar spelling. None if nothing is alike.
    ///
    /// ```
    /// use sciformats::memory::{Memory, array};
    /// use sciformats::{File, Format};
    ///
    /// let mut memory = Memory::new(Format::Hdf5);
    /// let fields = memory.group(memory.root(), "fields");
    /// memory.array(fields, "temperature", array::<f32>(&[1], &[273.5]));
    /// let file = File::from(memory);
    /// assert_eq!(file.nearest("/feilds/temperature").as_deref(), Some("/fields/temperature"));
    /// assert_eq!(file.nearest("Temperature").as_deref(), Some("/fields/temperature"));
    /// assert_eq!(file.nearest("/pressure"), None);
    /// ```
    pub fn nearest(&self, path: &str) -> Option<String> {
        let wanted = format!("/{}", path.trim_matches('/'));
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_lowercase();
        let (letters, name) = (wanted.to_lowercase().chars().collect::<Vec<char>>(), last(&wanted));
        // A third of the letters may be wrong; more would be another word.
        let mut best = (letters.len() / 3 + 1, None);
        let mut left = LOOKED_AT;
        let source = self.source();
        let _ = breadth_first(source, ("/", source.root()), self.limits(), &mut |entry| {
            let there = !matches!(entry.what, Found::Unreadable(_) | Found::Unlisted(_));
            if there && entry.path != "/" {
                let moved = if last(&entry.path) == name { 1 } else { usize::MAX };
                let distance = moved.min(distance(&letters, &entry.path.to_lowercase()));
                if distance < best.0 {
                    best = (distance, Some(entry.path));
                }
            }
            left = left.saturating_sub(1);
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        best.1
    }
}

/// How many letters have to be changed, added, taken away or swapped with the next one.
fn distance(a: &[char], b: &str) -> usize {
    let (mut before, mut above) = (Vec::new(), (0..=a.len()).collect::<Vec<usize>>());
    let mut previous = None;
    for (i, letter) in b.chars().enumerate() {
        let mut row = vec![i + 1];
        for (j, &other) in a.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX - 1);
            let mut least = at(&above, j) + usize::from(other != letter);
            least = least.min(at(&above, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = j > 0 && previous == Some(other) && a.get(j - 1) == Some(&letter);
            if swapped && i > 0 {
                least = least.min(at(&before, j - 1) + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
        previous = Some(letter);
    }
    above.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_are_wrong() {
        for (a, b, expected) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("abc", "ab", 1),
            ("ab", "xaby", 2),
            ("ab", "cd", 2),
        ] {
            assert_eq!(distance(&a.chars().collect::<Vec<_>>(), b), expected, "{a} {b}");
        }
    }
}
