//! Writes `docs/benchmarks.md` from results and notes.

use std::fmt::Write as _;

use super::notes::Notes;
use super::results::{Facts, Numbers, Results, Row, Side};

/// A bench with its notes.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) notes: Notes,
    pub(crate) results: Results,
}

const HEAD: &str = "# Benchmarks

Every implementation runs in a process of its own. Ours and its peer take turns: ours, the peer, ours, the peer. The first round
is a warm-up, and the next five rounds count, or three if five would take longer than five seconds. **Each number is our time
divided by the peer's time**, as the median of these pairs, followed by the smallest and the largest ratio. If a bench was run several
times, the number is the median of its runs, and the range is that of all runs. `0.50 of 3.0 ms (0.48–0.53)` means that we take half of
three milliseconds. A goal is the largest ratio that is good enough. A bold number misses its goal, and the reason is given below the
table. Memory is the peak of each side beyond that of an idle process, ours first. It includes the pages of mapped files, although the
system can reclaim those at any time.

These commands measure and write this document:

```sh
cargo xtask bench --all             # runs all benches; takes an hour on an idle machine
cargo xtask bench --all --resume    # continues a run that was interrupted
cargo xtask bench gsd --record      # runs one bench
cargo xtask bench gsd open --record # runs only its cases with this word in their names
cargo xtask bench gsd --again       # runs one bench, and adds the run to those that are recorded
cargo xtask bench --render          # only writes this document, from `bench/results/`
```

The command installs Python and the peers in the versions below. The C library of HDF5 is the one that `pkg-config hdf5` finds, or
otherwise that of Debian's package. The reasons for missed goals are in `bench/notes.toml`.
";

/// Returns the whole document.
pub(crate) fn document(sections: &[Section]) -> String {
    let mut text = HEAD.to_owned();
    let mut machines: Vec<&Facts> = Vec::new();
    for section in sections {
        if !machines.contains(&&section.results.machine) {
            machines.push(&section.results.machine);
        }
    }
    if let [machine] = machines.as_slice() {
        let _ = write!(text, "\nThe machine: {}.\n", facts(machine));
    }
    text.push_str("\n| | comparisons | goal met | missed | not run |\n|---|---|---|---|---|\n");
    for Section { notes, results } in sections {
        let count = |what: fn(&Row) -> bool| results.rows.iter().filter(|row| what(row)).count();
        let (ok, missed) = (count(Row::is_ok), count(Row::is_missed));
        let all = results.rows.len();
        let _ = writeln!(text, "| {} | {all} | {ok} | {missed} | {} |", notes.title, all - ok - missed);
    }
    for section in sections {
        text.push_str(&section.render(machines.len() > 1));
    }
    text
}

fn facts(facts: &Facts) -> String {
    facts.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

impl Section {
    fn render(&self, with_machine: bool) -> String {
        let Self { notes, results } = self;
        let mut text = format!("\n## {}\n\n{}\n", notes.title, notes.about);
        if with_machine {
            let _ = write!(text, "\nThe machine: {}.\n", facts(&results.machine));
        }
        if !results.versions.is_empty() {
            let _ = write!(text, "\nPeers: {}.\n", facts(&results.versions));
        }
        match results.runs() {
            Some((least, most)) if least != most => {
                let _ = write!(text, "\nRuns: {least} to {most}.\n");
            }
            Some((runs, _)) => {
                let _ = write!(text, "\nRuns: {runs}.\n");
            }
            None => {}
        }
        let mut tables: Vec<Option<&str>> = Vec::new();
        for row in &results.rows {
            let table = row.place.as_ref().map(|place| place.table.as_str());
            if !tables.contains(&table) {
                tables.push(table);
            }
        }
        for table in tables {
            let rows = results.rows.iter();
            let rows =
                rows.filter(|row| row.place.as_ref().map(|place| place.table.as_str()) == table).collect();
            match table {
                None => self.lines(rows, &mut text),
                Some(name) => self.grid(name, &rows, &mut text),
            }
        }
        self.reasons(&mut text);
        text
    }

    /// Writes one line per row.
    fn lines(&self, rows: Vec<&Row>, text: &mut String) {
        text.push_str(
            "\n| case | peer | goal | share of the peer's time | memory |\n|---|---|---|---|---|\n",
        );
        let mut before = "";
        for row in rows {
            // The name of a case with several peers is written once.
            let case = if row.case == before { "" } else { &row.case };
            before = &row.case;
            let (cell, memory) = (self.cell(row), memory(&[row]));
            let _ = writeln!(text, "| {case} | {} | {} | {cell} | {memory} |", row.peer, goal(row.goal));
        }
    }

    /// Writes one line per row of the table, and one cell per column and peer.
    fn grid(&self, name: &str, rows: &[&Row], text: &mut String) {
        fn place(row: &Row) -> (&str, &str) {
            row.place.as_ref().map_or(("", ""), |place| (&place.row, &place.column))
        }
        let mut lines: Vec<&str> = Vec::new();
        let mut columns: Vec<(&str, &str)> = Vec::new();
        for row in rows {
            let (line, column) = place(row);
            if !lines.contains(&line) {
                lines.push(line);
            }
            if !columns.contains(&(column, &row.peer)) {
                columns.push((column, &row.peer));
            }
        }
        let first = columns.first().map_or("", |(_, peer)| peer);
        let _ = write!(text, "\n### {name}\n\n| | goal |");
        for (column, peer) in &columns {
            let _ = match (*column, *peer) {
                ("", peer) => write!(text, " {peer} |"),
                (column, peer) if peer == first => write!(text, " {column} |"),
                (column, peer) => write!(text, " {column}, {peer} |"),
            };
        }
        let _ = write!(text, " memory |\n|---|---|{}---|\n", "---|".repeat(columns.len()));
        for line in lines {
            let rows: Vec<&Row> = rows.iter().copied().filter(|row| place(row).0 == line).collect();
            let _ = write!(text, "| {line} | {} |", rows.first().map_or(String::new(), |row| goal(row.goal)));
            for (column, peer) in &columns {
                let row = rows.iter().find(|row| place(row).1 == *column && row.peer == *peer);
                let _ = write!(text, " {} |", row.map_or(String::new(), |row| self.cell(row)));
            }
            let _ = writeln!(text, " {} |", memory(&rows));
        }
    }

    /// `0.50 of 3.0 ms (0.48–0.53)`
    fn cell(&self, row: &Row) -> String {
        match &row.outcome {
            Err(_) => format!("not run{}", self.notes.reason(row).map(raised).unwrap_or_default()),
            Ok(Numbers { ratio, low, high, theirs, .. }) => {
                let digits =
                    if row.is_missed() && hundredths(*ratio) <= hundredths(row.goal) { 3 } else { 2 };
                let share = format!("{ratio:.digits$}");
                let share = match (row.is_missed(), self.notes.reason(row)) {
                    (false, _) => share,
                    (true, Some(number)) => format!("**{share}**{}", raised(number)),
                    (true, None) => format!("**{share}**"),
                };
                format!("{share} of {} ({low:.2}–{high:.2})", time(theirs.seconds))
            }
        }
    }

    /// Writes why rows miss their goals, and why some were not run.
    fn reasons(&self, text: &mut String) {
        let rows = &self.results.rows;
        let of = |number| rows.iter().any(|row| !row.is_ok() && self.notes.reason(row) == Some(number));
        let reasons = (1..).zip(&self.notes.reasons).filter(|(number, _)| of(*number));
        let mut lines: Vec<String> =
            reasons.map(|(number, reason)| format!("{} {}", raised(number), reason.why)).collect();
        for row in rows {
            if let (Err(reason), None) = (&row.outcome, self.notes.reason(row)) {
                lines.push(format!("{}, {} was not run: {reason}.", row.case, row.peer));
            }
        }
        for line in lines {
            let _ = write!(text, "\n{line}\n");
        }
    }
}

/// Returns the hundredths of a number, rounded as two digits show them.
fn hundredths(number: f64) -> f64 {
    (number * 100.0).round()
}

fn goal(goal: f64) -> String {
    format!("≤ {goal:.2}")
}

/// Returns a number in superscript.
fn raised(number: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digits = number.to_string().into_bytes();
    digits.into_iter().filter_map(|digit| DIGITS.get(usize::from(digit - b'0'))).collect()
}

pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1e-2 => format!("{:.1} ms", s * 1e3),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// Returns the largest memory of either side, in MiB.
fn memory(rows: &[&Row]) -> String {
    let most = |side: fn(&Numbers) -> Side| {
        let peaks = rows.iter().filter_map(|row| side(row.outcome.as_ref().ok()?).peak);
        peaks
            .max()
            .map_or_else(|| "?".to_owned(), |bytes| format!("{:.1}", bytes as f64 / f64::from(1 << 20)))
    };
    let (ours, theirs) = (most(|numbers| numbers.ours), most(|numbers| numbers.theirs));
    format!("{ours} : {theirs} MiB")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::results::rows;

    const LINES: &str = r#"{"case":"read","goal":0.9,"peer":"numpy","ratio":[0.5,0.4,0.6],"ours":[1.5,1048576],"theirs":[0.003,null]}
{"case":"read","goal":0.9,"peer":"crate 1.2","ratio":[0.9012,0.4,1.6],"ours":[1.5,7],"theirs":[3.0,2097152]}
{"case":"write","goal":1.0,"peer":"numpy","error":"no Python"}
{"case":"a 1","goal":1.0,"peer":"C","place":["Codecs","a","level 1"],"ratio":[2.0,1.0,3.0],"ours":[1,1],"theirs":[1,1]}
{"case":"a 1","goal":1.0,"peer":"other","place":["Codecs","a","level 1"],"ratio":[0.5,0.5,0.5],"ours":[1,1],"theirs":[2e-5,1]}
{"case":"a 2","goal":1.0,"peer":"C","place":["Codecs","a","level 2"],"ratio":[0.25,0.2,0.3],"ours":[1,1],"theirs":[1,3145728]}
{"case":"b 2","goal":1.0,"peer":"C","place":["Codecs","b","level 2"],"ratio":[0.25,0.2,0.3],"ours":[1,1],"theirs":[4e-7,1]}
"#;

    fn section() -> Section {
        let notes = "[x]\ntitle = 'X'\nabout = 'What.'\n[[x.missed]]\ncases = ['none']\nwhy = 'Idle.'\n[[x.missed]]\ncases = ['a *']\nwhy = 'Hard.'\n";
        let facts = |name: &str| Facts::from([(name.to_owned(), "1.0".to_owned())]);
        let results =
            Results { machine: facts("cores"), versions: facts("numpy"), rows: rows(LINES).unwrap() };
        Section { notes: Notes::parse(notes, "x").unwrap(), results }
    }

    #[test]
    fn the_document_has_a_line_for_each_case_and_peer_and_grids() {
        let text = document(&[section()]);
        for line in [
            "The machine: cores 1.0.",
            "| X | 7 | 4 | 2 | 1 |",
            "Peers: numpy 1.0.",
            "Runs: 1.",
            "| read | numpy | ≤ 0.90 | 0.50 of 3.0 ms (0.40–0.60) | 1.0 : ? MiB |",
            "|  | crate 1.2 | ≤ 0.90 | **0.901** of 3.00 s (0.40–1.60) | 0.0 : 2.0 MiB |",
            "| write | numpy | ≤ 1.00 | not run | ? : ? MiB |",
            "### Codecs",
            "| | goal | level 1 | level 1, other | level 2 | memory |",
            "| a | ≤ 1.00 | **2.00**² of 1.00 s (1.00–3.00) | 0.50 of 20 µs (0.50–0.50) | 0.25 of 1.00 s (0.20–0.30) | 0.0 : 3.0 MiB |",
            "| b | ≤ 1.00 |  |  | 0.25 of 400 ns (0.20–0.30) | 0.0 : 0.0 MiB |",
            "² Hard.",
            "write, numpy was not run: no Python.",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\nin\n{text}");
        }
        assert!(!text.contains("Idle."));
    }

    #[test]
    fn machines_that_differ_are_told_beside_their_numbers() {
        let mut other = section();
        other.results.machine.insert("cores".to_owned(), "2".to_owned());
        let text = document(&[section(), other]);
        assert!(text.find("The machine: cores 1.0.").unwrap() > text.find("## X").unwrap());
        assert!(text.contains("The machine: cores 2."));
    }

    #[test]
    fn numbers_above_the_line_have_all_their_digits() {
        assert_eq!(raised(120), "¹²⁰");
    }
}
