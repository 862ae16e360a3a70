//! Finds names that are similar to a misspelt one.

/// The largest number of names that are returned.
const MOST: usize = 3;

/// Returns those existing names that `wanted` may have meant, the most likely first, and at most three. A
/// third of the letters may be wrong. The case of letters is ignored. A path with the right last part is
/// similar, whatever its other parts are.
///
/// ```
/// use sciformats_core::spelling::nearest;
///
/// assert_eq!(nearest("feilds/u", ["fields/u", "fields/v", "time"]), ["fields/u"]);
/// assert_eq!(nearest("Temperature", ["surface/temperature", "pressure"]), ["surface/temperature"]);
/// assert!(nearest("salinity", ["temperature", "pressure"]).is_empty());
/// ```
pub fn nearest<'a>(wanted: &str, there: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_lowercase();
    let (letters, name) = (wanted.to_lowercase().chars().collect::<Vec<char>>(), last(wanted));
    let mut near: Vec<(usize, &str)> = there
        .into_iter()
        .filter_map(|found| {
            let far = distance(&letters, &found.to_lowercase());
            match last(found) == name {
                true => Some((far.min(1), found)),
                false => (far <= letters.len() / 3).then_some((far, found)),
            }
        })
        .collect();
    crate::order::sort_by_key(&mut near, |(far, _)| *far);
    // Only the most similar names are returned, because others would distract from them.
    let best = near.first().map(|(far, _)| *far);
    near.into_iter().take(MOST).filter(|(far, _)| Some(*far) == best).map(|(_, found)| found).collect()
}

/// Returns how many letters have to be changed, added, removed, or swapped with the next one.
///
/// ```
/// let letters: Vec<char> = "feilds".chars().collect();
/// assert_eq!(sciformats_core::spelling::distance(&letters, "fields"), 1);
/// ```
pub fn distance(a: &[char], b: &str) -> usize {
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
    above.last().copied().unwrap_or(usize::MAX) // a bound: there is always a last one
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

    #[test]
    fn the_nearest_and_their_equals() {
        assert_eq!(nearest("flux", ["flux1", "flux2", "flax", "x"]), ["flux1", "flux2", "flax"]);
        assert_eq!(nearest("flux1", ["flux1x", "FLUX1", "flux2"]), ["FLUX1"]);
        assert!(nearest("u", ["v"]).is_empty());
        assert!(nearest("", ["v"]).is_empty());
    }
}
