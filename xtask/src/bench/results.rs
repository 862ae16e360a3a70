//! The results of benches, which are kept in `bench/results/NAME.json`: the machine, and one line per row.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::sh::{About, Result, root};

/// Facts by name, in the order of the names.
pub(crate) type Facts = BTreeMap<String, String>;

/// All rows of a bench.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Results {
    /// The machine and the compiler.
    pub(crate) machine: Facts,
    /// The peers.
    pub(crate) versions: Facts,
    pub(crate) rows: Vec<Row>,
}

/// A case and a peer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) case: String,
    pub(crate) peer: String,
    pub(crate) goal: f64,
    pub(crate) place: Option<Place>,
    /// The numbers of all runs together, or the reason why there are none.
    pub(crate) outcome: std::result::Result<Numbers, String>,
    /// The numbers of each run.
    pub(crate) runs: Vec<Numbers>,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) table: String,
    pub(crate) row: String,
    pub(crate) column: String,
}

/// Our time divided by that of the peer, and the time of both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Numbers {
    pub(crate) ratio: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) ours: Side,
    pub(crate) theirs: Side,
}

/// One side: the median of its times, and its largest memory in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Side {
    pub(crate) seconds: f64,
    pub(crate) peak: Option<u64>,
}

impl Numbers {
    fn parse(line: &Value) -> Option<Self> {
        Some(Self {
            ratio: line["ratio"][0].as_f64()?,
            low: line["ratio"][1].as_f64()?,
            high: line["ratio"][2].as_f64()?,
            ours: Side::parse(&line["ours"])?,
            theirs: Side::parse(&line["theirs"])?,
        })
    }

    fn add_to(&self, line: &mut Value) {
        let Self { ratio, low, high, ours, theirs } = self;
        line["ratio"] = json!([ratio, low, high]);
        line["ours"] = json!([ours.seconds, ours.peak]);
        line["theirs"] = json!([theirs.seconds, theirs.peak]);
    }

    /// Returns the run with the median ratio, with the smallest and the largest ratio of all runs. Of an even number of runs, it is the
    /// slower one in the middle.
    fn median(runs: &[Self]) -> Option<Self> {
        let mut sorted = runs.to_vec();
        sorted.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
        let low = runs.iter().map(|run| run.low).min_by(f64::total_cmp)?;
        let high = runs.iter().map(|run| run.high).max_by(f64::total_cmp)?;
        sorted.get(sorted.len() / 2).map(|run| Self { low, high, ..*run })
    }
}

impl Row {
    /// Adds what a further run has measured of the same case and peer. A run without numbers replaces what there was.
    fn add(&mut self, new: Self) {
        if new.outcome.is_err() || new.goal != self.goal {
            *self = new;
            return;
        }
        self.runs.extend(new.runs);
        self.place = new.place;
        if let Some(median) = Numbers::median(&self.runs) {
            self.outcome = Ok(median);
        }
    }

    pub(crate) fn is_ok(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|numbers| numbers.ratio <= self.goal)
    }

    pub(crate) fn is_missed(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|numbers| numbers.ratio > self.goal)
    }

    fn parse(line: &Value) -> Option<Self> {
        let text = |name| line[name].as_str().map(str::to_owned);
        let outcome = match text("error") {
            Some(reason) => Err(reason),
            None => Ok(Numbers::parse(line)?),
        };
        let runs = match line["runs"].as_array() {
            Some(runs) => runs.iter().map(Numbers::parse).collect::<Option<Vec<_>>>()?,
            None => outcome.iter().copied().collect(),
        };
        let part = |i: usize| line["place"][i].as_str().map(str::to_owned);
        let place = part(0).zip(part(1)).zip(part(2));
        let place = place.map(|((table, row), column)| Place { table, row, column });
        Some(Self {
            case: text("case")?,
            peer: text("peer")?,
            goal: line["goal"].as_f64()?,
            place,
            outcome,
            runs,
        })
    }

    fn line(&self) -> Value {
        let mut line = json!({ "case": self.case, "goal": self.goal, "peer": self.peer });
        if let Some(Place { table, row, column }) = &self.place {
            line["place"] = json!([table, row, column]);
        }
        match &self.outcome {
            Err(reason) => line["error"] = json!(reason),
            Ok(numbers) => numbers.add_to(&mut line),
        }
        if self.runs.len() > 1 {
            let run = |numbers: &Numbers| {
                let mut line = json!({});
                numbers.add_to(&mut line);
                line
            };
            line["runs"] = self.runs.iter().map(run).collect();
        }
        line
    }
}

impl Side {
    fn parse(pair: &Value) -> Option<Self> {
        Some(Self { seconds: pair[0].as_f64()?, peak: pair[1].as_u64() })
    }
}

/// Parses the rows that a bench has written, one per line.
pub(crate) fn rows(lines: &str) -> Result<Vec<Row>> {
    let row = |line| {
        let value: Value = serde_json::from_str(line).ok()?;
        Row::parse(&value)
    };
    lines.lines().map(|line| row(line).ok_or_else(|| format!("not a row: `{line}`").into())).collect()
}

impl Results {
    /// Returns the path where the results of a bench are kept.
    pub(crate) fn path(bench: &str) -> PathBuf {
        root().join("bench").join("results").join(format!("{bench}.json"))
    }

    /// Reads the results; `None` if there are none.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>> {
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(path).about(path)?;
        let value: Value = serde_json::from_str(&text).about(path)?;
        let facts = |name: &str| {
            let facts = value[name].as_object().into_iter().flatten();
            facts.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
        };
        let rows = value["rows"].as_array().into_iter().flatten();
        let rows = rows.map(Row::parse).collect::<Option<Vec<Row>>>();
        let rows = rows.ok_or_else(|| format!("{}: a row is incomplete", path.display()))?;
        Ok(Some(Self { machine: facts("machine"), versions: facts("versions"), rows }))
    }

    pub(crate) fn write(&self, path: &Path) -> Result {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).about(folder)?;
        }
        fs::write(path, self.text()).about(path)
    }

    /// Writes one line per row, so that a diff shows which rows have changed.
    fn text(&self) -> String {
        let facts = |facts: &Facts| {
            let facts = facts.iter().map(|(name, value)| (name.clone(), json!(value)));
            Value::Object(facts.collect::<Map<String, Value>>())
        };
        let rows: Vec<String> = self.rows.iter().map(|row| row.line().to_string()).collect();
        format!(
            "{{\n\"machine\": {},\n\"versions\": {},\n\"rows\": [\n{}\n]\n}}\n",
            facts(&self.machine),
            facts(&self.versions),
            rows.join(",\n")
        )
    }

    /// Takes rows that were measured again; new ones are added at the end.
    pub(crate) fn renew(&mut self, rows: Vec<Row>, keep: Keep) {
        for new in rows {
            match self.rows.iter_mut().find(|old| old.case == new.case && old.peer == new.peer) {
                Some(old) if keep == Keep::Runs => old.add(new),
                Some(old) => *old = new,
                None => self.rows.push(new),
            }
        }
    }

    /// Returns the smallest and the largest number of runs of a row; `None` if no row has numbers.
    pub(crate) fn runs(&self) -> Option<(usize, usize)> {
        let counts = || self.rows.iter().filter(|row| row.outcome.is_ok()).map(|row| row.runs.len());
        counts().min().zip(counts().max())
    }
}

/// What becomes of the numbers of a row that is measured again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The new run replaces all runs.
    Newest,
    /// The new run is added to the others.
    Runs,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = r#"{"case":"read","goal":0.9,"peer":"numpy","ratio":[0.5,0.4,0.6],"ours":[1.5,7],"theirs":[3.0,null]}
{"case":"write","goal":1.0,"peer":"numpy","place":["t","r","c"],"error":"no Python"}"#;

    #[test]
    fn what_is_kept_is_read_again() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("new/gsd.json");
        assert_eq!(Results::read(&path).unwrap(), None);
        let facts = Facts::from([("cpu".to_owned(), "a \"good\" one".to_owned())]);
        let results = Results { machine: facts.clone(), versions: facts, rows: rows(LINES).unwrap() };
        results.write(&path).unwrap();
        assert_eq!(Results::read(&path).unwrap(), Some(results));
        assert_eq!(fs::read_to_string(path).unwrap().lines().count(), 8);
    }

    #[test]
    fn rows_are_met_missed_or_neither() {
        let rows = rows(LINES).unwrap();
        assert!(rows[0].is_ok() && !rows[0].is_missed());
        assert!(!rows[1].is_ok() && !rows[1].is_missed());
        let slow = Row { goal: 0.4, ..rows[0].clone() };
        assert!(!slow.is_ok() && slow.is_missed());
        assert!(super::rows("{}").is_err());
        assert!(super::rows("Traceback").is_err());
    }

    #[test]
    fn what_is_measured_again_stays_in_its_place() {
        let old = rows(LINES).unwrap();
        let mut results = Results { rows: old.clone(), ..Results::default() };
        let again = Row { goal: 0.1, ..old[0].clone() };
        let new = Row { peer: "other".to_owned(), ..old[0].clone() };
        results.renew(vec![new.clone(), again.clone()], Keep::Newest);
        assert_eq!(results.rows, [again, old[1].clone(), new]);
    }

    #[test]
    fn further_runs_leave_the_median_and_the_widest_range() {
        let old = rows(LINES).unwrap();
        let mut results = Results { rows: old.clone(), ..Results::default() };
        assert_eq!(results.runs(), Some((1, 1)));
        for (ratio, low, high, seconds) in [(0.7, 0.45, 0.95, 7.0), (0.55, 0.3, 0.65, 5.5)] {
            let line = format!(
                r#"{{"case":"read","goal":0.9,"peer":"numpy","ratio":[{ratio},{low},{high}],"ours":[{seconds},7],"theirs":[10,null]}}"#
            );
            results.renew(rows(&line).unwrap(), Keep::Runs);
        }
        let numbers = results.rows[0].outcome.clone().unwrap();
        assert_eq!((numbers.ratio, numbers.low, numbers.high), (0.55, 0.3, 0.95));
        assert_eq!((numbers.ours.seconds, results.runs()), (5.5, Some((3, 3))));
        // What is kept has all runs, so that more can be added later.
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("runs.json");
        results.write(&path).unwrap();
        assert_eq!(Results::read(&path).unwrap().unwrap(), results);
        // A run that fails, or has another goal, is all that remains.
        results.renew(vec![Row { goal: 0.8, ..old[0].clone() }], Keep::Runs);
        assert_eq!(results.runs(), Some((1, 1)));
        results.renew(
            vec![Row { outcome: Err("no Python".into()), runs: Vec::new(), ..old[0].clone() }],
            Keep::Runs,
        );
        assert!(results.rows[0].outcome.is_err() && results.runs().is_none());
    }
}
