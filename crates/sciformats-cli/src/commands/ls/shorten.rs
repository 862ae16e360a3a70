//! Leaves out the middle of a long list of numbered members; frames that all differ would fill many screens.

use std::collections::VecDeque;

use sciformats::source::Run;
use sciformats::{Error, Name};
use sciformats_core::bound;

/// The number of ranges of numbered members that are listed before some are left out.
const FIRST: usize = 16;
/// The number of ranges that are listed after the gap.
const LAST: usize = 3;

/// A line of a group, or a gap in the list.
#[derive(Debug)]
pub(super) enum Line {
    Run(Run),
    /// This many members are not listed.
    LeftOut(u64),
}

type Listed = Result<Line, Error>;

/// The lines of a group: all ranges, or the first and the last of many numbered ones.
pub(super) struct Shortened<I> {
    runs: I,
    /// The number of consecutive numbered ranges that were listed; `None` if nothing is left out.
    numbered: Option<usize>,
    /// Lines that come before the next of `runs`.
    waiting: VecDeque<Listed>,
}

impl<I: Iterator<Item = Result<Run, Error>>> Shortened<I> {
    pub(super) fn new(runs: I, all: bool) -> Self {
        Self { runs, numbered: (!all).then_some(0), waiting: VecDeque::new() }
    }

    /// Reads the rest of the numbered ranges, and keeps the last ones and whatever follows them.
    fn skip(&mut self, first: Run) {
        let mut last = VecDeque::from([first]);
        let mut left_out = 0u64;
        let mut after = None;
        for run in self.runs.by_ref() {
            match run {
                Ok(run) if is_number(&run.first.name) => last.push_back(run),
                other => {
                    after = Some(other);
                    break;
                }
            }
            if last.len() > LAST
                && let Some(run) = last.pop_front()
            {
                left_out = bound::sum(left_out, run.count);
            }
        }
        self.numbered = Some(0);
        self.waiting.extend((left_out > 0).then_some(Ok(Line::LeftOut(left_out))));
        self.waiting.extend(last.into_iter().map(|run| Ok(Line::Run(run))));
        self.waiting.extend(after.map(|run| run.map(Line::Run)));
    }
}

impl<I: Iterator<Item = Result<Run, Error>>> Iterator for Shortened<I> {
    type Item = Listed;

    fn next(&mut self) -> Option<Listed> {
        if let Some(waiting) = self.waiting.pop_front() {
            return Some(waiting);
        }
        let run = match self.runs.next()? {
            Ok(run) => run,
            Err(error) => return Some(Err(error)),
        };
        if let Some(numbered) = &mut self.numbered {
            *numbered = if is_number(&run.first.name) { *numbered + 1 } else { 0 };
            if *numbered > FIRST {
                self.skip(run);
                return self.waiting.pop_front();
            }
        }
        Some(Ok(Line::Run(run)))
    }
}

fn is_number(name: &Name) -> bool {
    !name.as_bytes().is_empty() && name.as_bytes().iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use sciformats::source::Member;
    use sciformats::{ObjectId, Target};

    use super::*;

    fn lines(names: impl IntoIterator<Item = String>, all: bool) -> Vec<String> {
        let runs = names.into_iter().map(|name| match name.as_str() {
            "!" => Err(Error::usage("member", "is damaged")),
            name => {
                let first = Member { name: name.into(), target: Target::Object(ObjectId(0)) };
                Ok(Run { first, last: None, count: 2 })
            }
        });
        let shown = |line: Listed| match line {
            Ok(Line::Run(run)) => run.first.name.to_string(),
            Ok(Line::LeftOut(members)) => format!("{members} left out"),
            Err(_) => "!".into(),
        };
        Shortened::new(runs, all).map(shown).collect()
    }

    fn numbers(range: std::ops::Range<u32>) -> Vec<String> {
        range.map(|i| i.to_string()).collect()
    }

    #[test]
    fn the_middle_of_many_numbers_is_left_out() {
        assert_eq!(lines(numbers(0..19), false), numbers(0..19));
        assert_eq!(lines(numbers(0..1000), true), numbers(0..1000));
        let expected = [numbers(0..16), vec!["1962 left out".into()], numbers(997..1000)].concat();
        assert_eq!(lines(numbers(0..1000), false), expected);
    }

    #[test]
    fn names_and_errors_are_never_left_out() {
        let names: Vec<String> = (0..100).map(|i| format!("x{i}")).collect();
        assert_eq!(lines(names.clone(), false), names);
        let mixed = [numbers(0..30), vec!["a".into()], numbers(0..3), vec!["!".into()]].concat();
        let expected = [
            numbers(0..16),
            vec!["22 left out".into()],
            numbers(27..30),
            vec!["a".into()],
            numbers(0..3),
            vec!["!".into()],
        ];
        assert_eq!(lines(mixed, false), expected.concat());
        let broken = [numbers(0..20), vec!["!".into()]].concat();
        let expected =
            [numbers(0..16), vec!["2 left out".into()], numbers(17..20), vec!["!".into()]].concat();
        assert_eq!(lines(broken, false), expected);
    }
}
