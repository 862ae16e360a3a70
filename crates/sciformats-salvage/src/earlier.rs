//! What an earlier salvage has said of an object, and names for what only has the name of that.

use crate::report::State;

/// A part of an array: the index of the first element, and the lengths.
pub(crate) type Slab = (Vec<u64>, Vec<u64>);

/// The most bytes of what earlier salvages have said.
const MOST: usize = 16_000;

/// Returns whether a text is one by which salvage says why an object is damaged.
pub(crate) fn is_damage(text: &str) -> bool {
    let states = [State::Partial, State::Metadata];
    let rest = states.iter().find_map(|state| text.strip_prefix(state.word()));
    rest.is_some_and(|rest| rest.starts_with(": ") || rest.starts_with(", the rest unchecked: "))
}

/// Returns what is said now, and what was said before, unless that is part of it.
pub(crate) fn joined(new: &str, old: &str) -> String {
    if old.is_empty() || new.contains(old) {
        return new.to_owned();
    }
    if old.contains(new) {
        return old.to_owned();
    }
    let mut text = format!("{new}; before: {old}");
    let end = (0..=MOST.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    text.truncate(end.unwrap_or(0)); // a position
    text
}

/// Returns the parts that are missing now, and those that were missing before.
pub(crate) fn merged(new: &[Slab], old: Vec<Slab>) -> Vec<Slab> {
    let known: std::collections::BTreeSet<&Slab> = new.iter().collect();
    let more: Vec<Slab> = old.into_iter().filter(|slab| !known.contains(slab)).collect();
    new.iter().cloned().chain(more).collect()
}

/// Returns at most `most` parts, of which the last one covers all parts that are not among the others.
pub(crate) fn listed(parts: &[Slab], most: usize) -> Vec<Slab> {
    let rest = if parts.len() > most { parts.get(most.saturating_sub(1)..) } else { None }; // a position
    let Some([(first, _), ..]) = rest else { return parts.to_vec() };
    let (low, high) =
        rest.into_iter().flatten().fold((first.clone(), first.clone()), |(low, high), (start, count)| {
            let ends = start.iter().zip(count).map(|(start, count)| start + count);
            (
                low.iter().zip(start).map(|(a, b)| *a.min(b)).collect(),
                high.iter().zip(ends).map(|(a, b)| (*a).max(b)).collect(),
            )
        });
    let count = low.iter().zip(&high).map(|(low, high)| high - low).collect();
    let others = parts.iter().take(most.saturating_sub(1)).cloned(); // a position
    others.chain([(low, count)]).collect()
}

/// Returns the parts that rows of numbers list, if each is a part of an array of this shape.
pub(crate) fn slabs(numbers: &[u64], shape: &[u64]) -> Option<Vec<Slab>> {
    let rank = shape.len();
    if rank == 0 || !numbers.len().is_multiple_of(rank.checked_mul(2)?) {
        return None;
    }
    let rows = numbers.chunks_exact(rank.checked_mul(2)?).map(|row| {
        let (start, count) = row.split_at_checked(rank)?;
        let mut ends = start.iter().zip(count).zip(shape);
        let fits =
            ends.all(|((start, count), size)| start.checked_add(*count).is_some_and(|end| end <= *size));
        fits.then(|| (start.to_vec(), count.to_vec()))
    });
    rows.collect()
}

/// Returns a name that is not taken: this one, or with a number behind it.
pub(crate) fn free(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2u64..).map(|number| format!("{name}_{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
}

/// Returns the name that something of the user gets which has the name of a mark.
pub(crate) fn before(name: &str, taken: impl Fn(&str) -> bool) -> String {
    free(&format!("{name}_before"), taken)
}

/// What is said of something of the user that got another name.
pub(crate) fn renamed(name: &str) -> String {
    format!("has the name {name} in the new file, because salvage says under its own what is damaged")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_salvage_says_is_told_from_other_texts() {
        assert!(is_damage("partial: a") && is_damage("metadata, the rest unchecked: b"));
        assert!(!is_damage("partially: a") && !is_damage("water") && !is_damage("partial"));
        assert_eq!(joined("partial: b", "partial: a"), "partial: b; before: partial: a");
        assert_eq!(
            joined("partial: a", &joined("partial: b", "partial: a")),
            "partial: b; before: partial: a"
        );
        assert!(joined("partial: é", &"é".repeat(MOST)).len() <= MOST);
    }

    #[test]
    fn lists_of_parts_must_fit_the_array() {
        assert_eq!(slabs(&[1, 2, 3, 4], &[4, 6]), Some(vec![(vec![1, 2], vec![3, 4])]));
        assert_eq!(slabs(&[1, 2, 3, 4], &[4, 5]), None);
        assert_eq!(slabs(&[1, 2, 3], &[9]), None);
        assert_eq!(merged(&[(vec![1], vec![2])], vec![(vec![1], vec![2]), (vec![5], vec![1])]).len(), 2);
    }

    #[test]
    fn the_last_part_that_is_listed_covers_the_others() {
        let parts = [(0, 1), (5, 2), (3, 1), (9, 1)].map(|(start, count)| (vec![start, 0], vec![count, 4]));
        assert_eq!(listed(&parts, 4), parts);
        assert_eq!(listed(&parts, 2), [parts[0].clone(), (vec![3, 0], vec![7, 4])]);
        assert_eq!(listed(&parts, 1), [(vec![0, 0], vec![10, 4])]);
        assert_eq!(listed(&[], 1), []);
    }

    #[test]
    fn free_names_are_numbered() {
        assert_eq!(before("missing", |_| false), "missing_before");
        assert_eq!(before("missing", |name| name == "missing_before"), "missing_before_2");
    }
}
