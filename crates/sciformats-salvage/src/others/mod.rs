//! The formats other than HDF5, which have few structures: each is read leniently, and a clean file of the same format is made of
//! what is left.

pub(crate) mod asdf;
pub(crate) mod blosc2;
pub(crate) mod gsd;
pub(crate) mod rawarray;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use sciformats_convert::convert::Loss;
use sciformats_core::{ReadAt, Result, bound};

use crate::map::{Map, Part};
use crate::report::{Action, Cause, Confidence, ObjectReport, Report, State};
use crate::scan::Scan;
use crate::spliced::Spliced;

/// Why elements count as missing that can be read.
pub(crate) const ZEROS: &str =
    "elements are in sectors of zeros, and nothing tells whether they were written so";
/// The smallest extent of zeros that the map shows.
const SHOWN_ZEROS: u64 = 4096;

/// What cannot be done with a file of which nothing is left.
pub(crate) const NOTHING: &str = "writing a clean file when nothing is left that it could hold";

/// How a clean file is written.
pub(crate) enum Output {
    /// The parts of the file, and what it does not say.
    Parts(Box<Spliced>, Vec<Loss>),
    Gsd(gsd::Saved),
    Blosc2(Box<blosc2::Saved>),
    /// Nothing is left that a file could hold.
    Nothing,
}

impl Output {
    pub(crate) fn write(&self, path: &Path, written: u64) -> Result<Vec<Loss>> {
        match self {
            Self::Parts(parts, losses) => parts.write(path).map(|()| losses.clone()),
            Self::Gsd(saved) => saved.write(path, written),
            Self::Blosc2(saved) => saved.write(path, written),
            Self::Nothing => Err(sciformats_core::Error::unsupported(NOTHING)),
        }
    }
}

/// What was found in a file.
pub(crate) struct Found {
    pub(crate) report: Report,
    pub(crate) output: Output,
}

/// What is known about a file while it is examined.
pub(crate) struct Notes {
    source: Arc<dyn ReadAt>,
    pub(crate) causes: Vec<Cause>,
    pub(crate) actions: Vec<Action>,
    pub(crate) objects: Vec<ObjectReport>,
    pub(crate) structures: BTreeMap<&'static str, u64>,
    /// Parts of the map.
    pub(crate) parts: Vec<(u64, u64, Part)>,
    /// The length that the file should have.
    pub(crate) declared: u64,
    pub(crate) zeros: Vec<(u64, u64)>,
}

impl Notes {
    pub(crate) fn new(source: &Arc<dyn ReadAt>, scan: Scan) -> Self {
        Self {
            source: source.clone(),
            causes: Vec::new(),
            actions: Vec::new(),
            objects: Vec::new(),
            structures: BTreeMap::new(),
            parts: Vec::new(),
            declared: source.size(),
            zeros: scan.zeros,
        }
    }

    pub(crate) fn cause(&mut self, kind: &'static str, evidence: impl Into<String>) {
        if self.causes.iter().all(|cause| cause.kind != kind) {
            self.causes.push(Cause { kind, evidence: evidence.into() });
        }
    }

    /// Notes that the file ends before `declared`.
    pub(crate) fn cut_off(&mut self, declared: u64) {
        let size = self.source.size();
        self.declared = self.declared.max(declared);
        if declared > size {
            let note = crate::hdf5::round_length(size);
            self.cause("cut off", format!("the file has {size} bytes, and should have {declared}{note}"));
        }
    }

    pub(crate) fn act(
        &mut self,
        kind: &'static str,
        offset: u64,
        reason: impl Into<String>,
        confidence: Confidence,
    ) {
        self.actions.push(Action { kind, offset, reason: reason.into(), confidence });
    }

    pub(crate) fn structure(&mut self, name: &'static str, (start, end): (u64, u64), part: Part) {
        *self.structures.entry(name).or_insert(0) += 1;
        self.parts.push((start, end, part));
    }

    /// Calls `each` with the ranges of a part that are in sectors of zeros, counted from its first byte.
    pub(crate) fn zeros_in(&self, offset: u64, len: u64, each: &mut dyn FnMut(u64, u64)) {
        let end = bound::sum(offset, len);
        let first = self.zeros.partition_point(|(_, stop)| *stop <= offset);
        for &(from, to) in self.zeros.iter().skip(first).take_while(|(from, _)| *from < end) {
            each(bound::left(from.max(offset), offset), bound::left(to.min(end), offset));
        }
    }

    pub(crate) fn found(mut self, format: &'static str, output: Output) -> Found {
        let zeros = self.zeros.iter().filter(|(start, end)| end - start >= SHOWN_ZEROS);
        self.parts.extend(zeros.map(|&(start, end)| (start, end, Part::Zero)));
        self.objects.sort_by(|a, b| a.path.cmp(&b.path));
        let size = self.source.size();
        let report = Report {
            format,
            size,
            causes: self.causes,
            actions: self.actions,
            objects: self.objects,
            structures: self.structures,
            map: Map::new(size, self.declared, self.parts),
        };
        Found { report, output }
    }
}

/// Returns the report of an object of which nothing is known to be missing, and which no checksum covers.
pub(crate) fn object(path: impl Into<String>, address: u64, kind: &'static str) -> ObjectReport {
    ObjectReport {
        path: path.into(),
        address,
        kind,
        state: State::Unchecked,
        unchecked: true,
        chunks: None,
        missing: Vec::new(),
        reasons: Vec::new(),
    }
}

/// Lowers the state of an object to at most `state`, and adds the reason.
pub(crate) fn spoil(report: &mut ObjectReport, state: State, why: impl Into<String>) {
    let why = why.into();
    report.state = report.state.max(state);
    if report.reasons.len() < 16 && !report.reasons.contains(&why) {
        report.reasons.push(why);
    }
}
