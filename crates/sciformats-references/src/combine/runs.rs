//! Files that do not fit together, as several groups of files that do.

use serde_json::Map;

use super::files::Scanned;
use super::{Along, Joining, join};
use crate::model::{Options, Report, Sink, VirtualArray};

/// Divides the files where one does not fit to the one before, and joins each run by itself, in a group of its own if there are several.
///
/// # Errors
/// Those of joining.
pub(super) fn all(
    files: Vec<Scanned<'_>>,
    along: Along<'_>,
    options: &Options,
    sink: &mut dyn Sink,
) -> sciformats::Result<Report> {
    let mut runs: Vec<Vec<Scanned<'_>>> = Vec::new();
    for file in files {
        match runs.last_mut() {
            Some(run) => {
                let before = run.pop();
                let pair = Joining::new(before.into_iter().chain([file]).collect(), None);
                let fits = fit(&pair, along.name, options);
                let mut pair = pair.files;
                let last = pair.pop();
                run.extend(pair);
                match last {
                    Some(last) if fits => run.push(last),
                    last => runs.push(last.into_iter().collect()),
                }
            }
            None => runs.push(vec![file]),
        }
    }
    if runs.len() < 2 {
        let files = runs.pop().unwrap_or_default();
        return super::all(&Joining::new(files, None), along, options, sink);
    }
    sink.group("/", &Map::new())?;
    let mut report = Report::default();
    for (number, files) in runs.into_iter().enumerate() {
        let prefix = format!("/run{}", number + 1);
        let told =
            super::all(&Joining::new(files, None), along, options, &mut Below { sink, prefix: &prefix })?;
        report.entries.extend(told.entries.into_iter().map(|mut entry| {
            entry.path = format!("{prefix}{}", entry.path);
            entry
        }));
        report.notes.extend(told.notes.into_iter().map(|(path, note)| (format!("{prefix}{path}"), note)));
        report.attributes.extend(
            told.attributes.into_iter().map(|(path, name, reason)| (format!("{prefix}{path}"), name, reason)),
        );
    }
    Ok(report)
}

/// Whether all arrays of two files are joined.
fn fit(pair: &Joining<'_>, along: &str, options: &Options) -> bool {
    let paths = pair.files.iter().flat_map(|file| file.found.arrays.iter().map(|array| array.path.as_str()));
    let paths: std::collections::BTreeSet<&str> = paths.collect();
    super::order::in_order(&pair.files, along).is_ok()
        && paths.into_iter().all(|path| join::join(pair, path, along, options).is_ok())
}

/// Passes everything on as members of a group.
struct Below<'a> {
    sink: &'a mut dyn Sink,
    prefix: &'a str,
}

impl Sink for Below<'_> {
    fn group(&mut self, path: &str, attributes: &Map<String, serde_json::Value>) -> sciformats::Result<()> {
        self.sink.group(&format!("{}{}", self.prefix, path.trim_end_matches('/')), attributes)
    }

    fn array(&mut self, array: &VirtualArray) -> sciformats::Result<()> {
        self.sink.array(&VirtualArray { path: format!("{}{}", self.prefix, array.path), ..array.clone() })
    }
}
