//! The text beside the numbers, from `bench/notes.toml`, with the reasons why rows miss their goals or cannot
//! be run.

use crate::sh::{Failure, Result};

use super::results::{Results, Row};

/// The text about a bench.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    pub(crate) title: String,
    /// A description of what is measured.
    pub(crate) about: String,
    pub(crate) reasons: Vec<Reason>,
}

/// A reason why some rows miss their goals or cannot be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason {
    /// Patterns for names of cases, in which `*` stands for anything; one of them must match.
    cases: Vec<String>,
    /// A pattern for the name of the peer.
    peer: String,
    pub(crate) why: String,
}

impl Reason {
    pub(crate) fn fits(&self, row: &Row) -> bool {
        self.cases.iter().any(|pattern| matches(pattern, &row.case)) && matches(&self.peer, &row.peer)
    }
}

impl Notes {
    /// Returns the notes of one bench, in the order of the file.
    pub(crate) fn parse(text: &str, bench: &str) -> Result<Self> {
        let table: toml::Table =
            text.parse().map_err(|error| Failure::from(format!("bench/notes.toml: {error}")))?;
        let Some(notes) = table.get(bench) else {
            return Ok(Self { title: bench.to_owned(), ..Self::default() });
        };
        let text = |value: &toml::Value, name: &str| {
            let text = value.get(name).and_then(toml::Value::as_str).map(|text| text.trim().to_owned());
            text.ok_or_else(|| {
                Failure::from(format!("bench/notes.toml: {bench}: `{name}` is missing in {value}"))
            })
        };
        let reasons =
            notes.get("missed").and_then(toml::Value::as_array).into_iter().flatten().map(|reason| {
                let cases = reason.get("cases").and_then(toml::Value::as_array).into_iter().flatten();
                let cases = cases.filter_map(toml::Value::as_str).map(str::to_owned).collect();
                let peer = text(reason, "peer").unwrap_or_else(|_| "*".to_owned());
                Ok(Reason { cases, peer, why: text(reason, "why")? })
            });
        Ok(Self {
            title: text(notes, "title")?,
            about: text(notes, "about")?,
            reasons: reasons.collect::<Result<_>>()?,
        })
    }

    /// Returns the number of the first reason that matches, counted from 1.
    pub(crate) fn reason(&self, row: &Row) -> Option<usize> {
        self.reasons.iter().position(|reason| reason.fits(row)).map(|at| at + 1)
    }

    /// Returns two lists: rows that miss their goals or were not run without a reason, which are faults; and
    /// reasons that no row needs, which are not.
    pub(crate) fn disagreements(&self, results: &Results) -> (Vec<String>, Vec<String>) {
        let named = |row: &Row| format!("{}: {} against {}", self.title, row.case, row.peer);
        let mut faults = Vec::new();
        for row in &results.rows {
            match &row.outcome {
                Err(_) if self.reason(row).is_some() => {}
                Err(reason) => faults.push(format!("{} was not run: {reason}", named(row))),
                Ok(numbers) if row.is_missed() && self.reason(row).is_none() => {
                    faults.push(format!(
                        "{}: {} is more than {}, and no reason is given",
                        named(row),
                        numbers.ratio,
                        row.goal
                    ));
                }
                Ok(_) => {}
            }
        }
        let lacks = |row: &&Row| row.is_missed() || row.outcome.is_err();
        let needed = |number| results.rows.iter().filter(lacks).any(|row| self.reason(row) == Some(number));
        let idle = (1..).zip(&self.reasons).filter(|(number, _)| !needed(*number));
        (
            faults,
            idle.map(|(_, reason)| format!("{}: no row needs the reason: {}", self.title, reason.why))
                .collect(),
        )
    }
}

/// Returns whether a text matches a pattern, in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((begin, rest)) => text.strip_prefix(begin).is_some_and(|text| {
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.into_iter().any(|at| text.get(at..).is_some_and(|text| matches(rest, text)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::results::rows;

    const NOTES: &str = "[gsd]\ntitle = 'GSD'\nabout = 'Frames.'\n\
        [[gsd.missed]]\ncases = ['read *', 'x']\npeer = 'gsd'\nwhy = 'The device.'\n\
        [[gsd.missed]]\ncases = ['write']\nwhy = 'Syncs.'\n";

    fn results(ratio: f64) -> Results {
        let lines = format!(
            r#"{{"case":"read it","goal":0.9,"peer":"gsd","ratio":[{ratio},0.4,0.6],"ours":[1.5,7],"theirs":[3,null]}}"#
        );
        Results { rows: rows(&lines).unwrap(), ..Results::default() }
    }

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text) in [("*", ""), ("a*c", "abc"), ("a*c", "ac"), ("*b*", "abc"), ("a*b*b", "a b bb")]
        {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("", "a"), ("a*c", "abd"), ("a*b", "b"), ("*é", "e")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn a_missed_row_needs_a_reason_and_a_reason_needs_a_missed_row() {
        let notes = Notes::parse(NOTES, "gsd").unwrap();
        assert_eq!((notes.title.as_str(), notes.about.as_str()), ("GSD", "Frames."));
        assert_eq!(notes.reason(&results(1.0).rows[0]), Some(1));
        let (faults, idle) = notes.disagreements(&results(1.0));
        assert_eq!((faults.len(), idle.len()), (0, 1));
        assert!(idle[0].contains("Syncs."));
        assert_eq!(notes.disagreements(&results(0.5)).1.len(), 2);
        let (faults, _) = Notes::parse(NOTES, "other").unwrap().disagreements(&results(1.0));
        assert_eq!(faults, ["other: read it against gsd: 1 is more than 0.9, and no reason is given"]);
    }

    #[test]
    fn a_reason_says_something() {
        assert!(Notes::parse("[a]\ntitle = ''\nabout = ''\n[[a.missed]]\ncases = ['*']\n", "a").is_err());
        assert!(Notes::parse("[a]\ntitle = ''\n", "a").is_err());
    }

    #[test]
    fn the_projects_notes_are_whole() {
        let text = include_str!("../../../bench/notes.toml");
        for bench in ["hdf5", "asdf", "blosc2", "gsd", "rawarray", "cli"] {
            let notes = Notes::parse(text, bench).unwrap();
            assert!(!notes.about.is_empty(), "{bench}");
            assert!(notes.reasons.iter().all(|reason| !reason.cases.is_empty()), "{bench}");
        }
    }
}
