//! Patterns of `LIKE`.

/// A pattern of LIKE.
pub(super) struct Pattern {
    parts: Vec<Letter>,
    fold: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Letter {
    Any,
    One,
    Is(char),
}

impl Pattern {
    pub(super) fn new(text: &str, escape: Option<char>, fold: bool) -> Self {
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

    pub(super) fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let same = |one: char, other: char| {
            one == other || (self.fold && one.to_lowercase().eq(other.to_lowercase()))
        };
        // After a mismatch only the last `%` can take another letter.
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
        let like = |text: &str, pattern: &str| Pattern::new(pattern, Some('\\'), false).matches(text);
        assert!(like("T cell", "T%") && like("T cell", "%cell") && like("T cell", "_ c%l"));
        assert!(like("", "%") && like("a%b", "a\\%b") && like("aXbXc", "a%X_"));
        assert!(!like("T cell", "B%") && !like("axb", "a\\%b") && !like("ab", "a_b") && !like("a", ""));
        assert!(Pattern::new("ü%", None, true).matches("Üb"));
    }
}
