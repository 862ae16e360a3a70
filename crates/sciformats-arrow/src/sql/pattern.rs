//! Patterns of texts: those of `LIKE`, and those of the names of files.

/// A pattern, in which some letters stand for others.
///
/// ```
/// use sciformats_arrow::sql::Pattern;
///
/// assert!(Pattern::like("T_cell%", None, false).matches("T cells"));
/// assert!(Pattern::glob("run-??.h5").matches("run-07.h5"));
/// ```
#[derive(Clone, Debug)]
pub struct Pattern {
    parts: Vec<Letter>,
    fold: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Letter {
    Any,
    One,
    Is(char),
}

impl Pattern {
    /// Creates a pattern of `LIKE`: `%` stands for any text and `_` for one letter, and a letter after `escape` for itself. With
    /// `fold`, upper and lower case are the same.
    pub fn like(text: &str, escape: Option<char>, fold: bool) -> Self {
        let mut parts = Vec::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            parts.push(match letter {
                letter if Some(letter) == escape => match letters.next() {
                    Some(letter) => Letter::Is(letter),
                    None => Letter::Is(letter),
                },
                '%' => Letter::Any,
                '_' => Letter::One,
                letter => Letter::Is(letter),
            });
        }
        Self { parts, fold }
    }

    /// Creates a pattern of a file name: `*` stands for any text, and `?` for one letter.
    pub fn glob(text: &str) -> Self {
        let part = |letter| match letter {
            '*' => Letter::Any,
            '?' => Letter::One,
            letter => Letter::Is(letter),
        };
        Self { parts: text.chars().map(part).collect(), fold: false }
    }

    /// Returns whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let same = |one: char, other: char| {
            one == other || (self.fold && one.to_lowercase().eq(other.to_lowercase()))
        };
        // After a mismatch only the last part for any text can take another letter.
        let (mut at, mut place, mut star) = (0, 0, None);
        while at < text.len() {
            let letter = text.get(at).copied().unwrap_or_default();
            match self.parts.get(place) {
                Some(Letter::Any) => {
                    star = Some((place, at));
                    place += 1;
                }
                Some(Letter::One) => {
                    at += 1;
                    place += 1;
                }
                Some(Letter::Is(wanted)) if same(*wanted, letter) => {
                    at += 1;
                    place += 1;
                }
                _ => match star {
                    Some((of, taken)) => {
                        star = Some((of, taken + 1));
                        at = taken + 1;
                        place = of + 1;
                    }
                    None => return false,
                },
            }
        }
        self.parts.iter().skip(place).all(|part| *part == Letter::Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let like = |text: &str, pattern: &str| Pattern::like(pattern, Some('\\'), false).matches(text);
        assert!(like("T cell", "T%") && like("T cell", "%cell") && like("T cell", "_ c%l"));
        assert!(like("", "%") && like("a%b", "a\\%b") && like("aXbXc", "a%X_"));
        assert!(!like("T cell", "B%") && !like("axb", "a\\%b") && !like("ab", "a_b") && !like("a", ""));
        assert!(Pattern::like("ü%", None, true).matches("Üb"));
        let glob = |text: &str, pattern: &str| Pattern::glob(pattern).matches(text);
        assert!(glob("run.h5", "*.h5") && glob("run.h5", "r?n*") && glob("", "*") && glob("a%", "a%"));
        assert!(!glob("run.h5x", "*.h5") && !glob("", "?") && !glob("ab", "a%"));
    }
}
