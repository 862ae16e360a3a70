//! Open files, and requests about them.
//!
//! A request is a JSON object with the name of an operation and the number of a file, and the other members
//! that the operation needs. The answer is JSON, and the elements beside it.

use std::collections::HashMap;
use std::sync::Arc;

use sciformats::options::Missing;
use sciformats::{Error, External, File, Limits, OpenOptions, ReadAt, Result};
use sciformats_conventions::Dataset;
use sciformats_core::external::Lent;
use sciformats_core::storage::{PlanOptions, Planned, Purpose};
use serde_json::{Value, json};

use crate::beside::{Beside, Found};
use crate::describe::Members;
use crate::store::Supplied;
use crate::{along, cells, describe, grid, numbers, whole};

/// The number of bytes that decoding one object may take. The memory of WebAssembly ends at 4 GiB, and the
/// page needs the elements once more.
const MEMORY: u64 = 1 << 30;

/// The number of bytes of structures that are kept for one file.
const STRUCTURES: u64 = 96 << 20;

/// The request was answered.
const DONE: u32 = 0;
/// Bytes are missing.
const MISSING: u32 = 1;
/// The request failed.
const FAILED: u32 = 2;

/// An answer: JSON, and elements.
#[derive(Debug, Default)]
pub struct Answer {
    /// The JSON.
    pub json: Vec<u8>,
    /// The elements.
    pub data: Vec<u8>,
}

impl Answer {
    /// Creates an answer without anything.
    pub const fn empty() -> Self {
        Self { json: Vec::new(), data: Vec::new() }
    }
}

/// What an operation returns.
pub(crate) struct Reply {
    pub(crate) json: String,
    pub(crate) data: Vec<u8>,
}

impl Reply {
    /// Returns an answer with elements.
    pub(crate) fn with(json: &Value, data: Vec<u8>) -> Self {
        Self { json: json.to_string(), data }
    }
}

impl From<Value> for Reply {
    fn from(json: Value) -> Self {
        Self::with(&json, Vec::new())
    }
}

/// Where the bytes of a file come from.
enum Bytes {
    Here(Arc<Vec<u8>>),
    Elsewhere(Planned<Supplied>),
}

impl Bytes {
    /// Returns the ranges that were asked for and are missing.
    fn missing(&self) -> Vec<[u64; 2]> {
        match self {
            Self::Here(_) => Vec::new(),
            Self::Elsewhere(planned) => {
                let missing = planned.ranges().take_missing();
                missing.into_iter().map(|range| [range.start, range.end]).collect()
            }
        }
    }

    /// Drops what was supplied for a request.
    fn forget(&self) {
        if let Self::Elsewhere(planned) = self {
            planned.ranges().forget();
        }
    }

    fn storage(&self) -> Arc<dyn ReadAt> {
        match self {
            Self::Here(bytes) => Arc::clone(bytes) as Arc<dyn ReadAt>,
            Self::Elsewhere(planned) => Arc::new(planned.clone()),
        }
    }
}

/// A file, and what is remembered of it between requests.
pub(crate) struct Opened {
    bytes: Bytes,
    data: Option<Dataset>,
    /// The files that this one names, and their numbers.
    beside: Beside,
    lent: Vec<usize>,
    /// The members of groups that were listed.
    pub(crate) members: HashMap<String, Arc<Members>>,
    /// The path of every object with the letter of its kind.
    pub(crate) paths: Option<Arc<Vec<(String, char)>>>,
}

impl Opened {
    fn new(bytes: Bytes) -> Self {
        Self {
            bytes,
            data: None,
            beside: Beside::default(),
            lent: Vec::new(),
            members: HashMap::new(),
            paths: None,
        }
    }

    /// Returns the file as its convention defines it.
    pub(crate) fn data(&self) -> Result<&Dataset> {
        self.data.as_ref().ok_or_else(|| Error::usage("file", "has not been opened"))
    }

    pub(crate) fn file(&self) -> Result<&Arc<File>> {
        self.data().map(Dataset::file)
    }

    /// Returns whether all bytes are here.
    pub(crate) fn is_here(&self) -> bool {
        matches!(self.bytes, Bytes::Here(_))
    }

    /// Opens the file. If `beside` is set, the caller lends the files that it names; otherwise none of them is opened. The `name` of
    /// the file and those `near` it that begin with it are needed if it is one of several parts.
    fn open(&mut self, request: &Request<'_>) -> Result<()> {
        let lends = request.flag("beside");
        self.beside.call(request.maybe_text("name"), request.texts("near"));
        let external = if lends { External::Lent(Lent::new(self.beside.clone())) } else { External::None };
        let limits = Limits::default().with_memory(MEMORY);
        let options = OpenOptions::default().with_limits(limits).with_threads(1).with_cut(true);
        // As the libraries of the formats do, and what was missing is reported with the answer.
        let options = options.with_external(external).with_missing(Missing::Filled);
        let file = match &self.bytes {
            Bytes::Here(bytes) => File::from_storage(Arc::clone(bytes), &options)?,
            Bytes::Elsewhere(planned) => File::from_storage(planned.clone(), &options)?,
        };
        self.data = Some(Dataset::new(file));
        Ok(())
    }
}

/// All open files.
#[derive(Default)]
pub struct Session {
    files: Vec<Option<Opened>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("files", &self.files.len()).finish()
    }
}

impl Session {
    /// Creates a session without files.
    pub const fn new() -> Self {
        Self { files: Vec::new() }
    }

    fn add(&mut self, bytes: Bytes) -> u32 {
        self.files.push(Some(Opened::new(bytes)));
        u32::try_from(self.files.len() - 1).unwrap_or(u32::MAX)
    }

    /// Registers a file of `size` bytes that will be supplied, and returns its number.
    pub fn create(&mut self, size: u64) -> u32 {
        let options = PlanOptions::default().with_memory(STRUCTURES);
        self.add(Bytes::Elsewhere(Planned::with_options(Supplied::new(size), options)))
    }

    /// Registers a file whose bytes are all here, and returns its number.
    pub fn whole(&mut self, bytes: Vec<u8>) -> u32 {
        self.add(Bytes::Here(Arc::new(bytes)))
    }

    fn planned(&self, file: u32) -> Option<&Planned<Supplied>> {
        match self.files.get(file as usize)?.as_ref()?.bytes {
            Bytes::Elsewhere(ref planned) => Some(planned),
            Bytes::Here(_) => None,
        }
    }

    /// Supplies bytes that a request asked for.
    pub fn supply(&self, file: u32, offset: u64, bytes: Vec<u8>) {
        if let Some(planned) = self.planned(file) {
            planned.count(0, bytes.len() as u64);
            planned.ranges().supply(offset, bytes);
        }
    }

    /// Supplies bytes that came with the size. They are taken for structures, which are kept.
    pub fn front(&self, file: u32, offset: u64, bytes: &[u8]) {
        if let Some(planned) = self.planned(file) {
            planned.supply(offset, bytes, Purpose::Structure);
        }
    }

    /// Forgets a file, and the files that were lent to it. Their numbers are not used again.
    pub fn close(&mut self, file: u32) {
        let closed = self.files.get_mut(file as usize).and_then(Option::take);
        for number in closed.into_iter().flat_map(|closed| closed.lent) {
            if let Some(place) = self.files.get_mut(number) {
                *place = None;
            }
        }
    }

    fn file(&self, number: usize) -> Option<&Opened> {
        self.files.get(number)?.as_ref()
    }

    /// Says which file has the name that a file calls another one by, or that there is none, or why it cannot be read.
    fn lend(&mut self, to: usize, request: &Request<'_>) -> Result<Reply> {
        let name = request.text("name")?;
        let mut number = None;
        let found = match (request.maybe_number("other"), request.maybe_text("error")) {
            (_, Some(error)) => Found::Unreadable(error.to_owned()),
            (None, None) => Found::Nothing,
            (Some(other), None) => {
                let other = usize::try_from(other).ok().filter(|other| *other != to);
                let lent = other.and_then(|other| Some((other, self.file(other)?.bytes.storage())));
                let (other, bytes) = lent.ok_or_else(|| Error::usage("request", "lends no open file"))?;
                number = Some(other);
                Found::Bytes(bytes)
            }
        };
        if let Some(file) = self.files.get_mut(to).and_then(Option::as_mut) {
            file.lent.extend(number);
            file.beside.add(name, found);
        }
        Ok(json!({}).into())
    }

    /// Drops what was supplied for a request about a file.
    fn forget(&self, file: usize) {
        let Some(file) = self.file(file) else { return };
        file.bytes.forget();
        file.lent.iter().filter_map(|number| self.file(*number)).for_each(|lent| lent.bytes.forget());
    }

    /// Returns what a request lacks, as JSON: `ranges` of the file itself, `names` of other files, and ranges of
    /// `others` that were lent before, with their numbers.
    fn missing(&self, file: usize) -> Option<Value> {
        let opened = self.file(file)?;
        let ranges = opened.bytes.missing();
        let names = opened.beside.take_wanted();
        let of_other =
            |number: &usize| (*number, self.file(*number).map_or_else(Vec::new, |it| it.bytes.missing()));
        let others: Vec<_> =
            opened.lent.iter().map(of_other).filter(|(_, ranges)| !ranges.is_empty()).collect();
        if ranges.is_empty() && names.is_empty() && others.is_empty() {
            return None;
        }
        Some(json!({ "ranges": ranges, "names": names, "others": others }))
    }

    /// Answers a request. The status is 0 if it was answered, 1 if bytes are missing, and 2 if it failed.
    ///
    /// ```
    /// use sciformats_web::session::Session;
    ///
    /// let mut session = Session::new();
    /// let file = session.whole(sciformats::npy::to_bytes(&[2], &[1.5f32, 2.5])?);
    /// let (status, _) = session.call(format!(r#"{{"op":"open","file":{file}}}"#).as_bytes());
    /// assert_eq!(status, 0);
    /// let request = format!(r#"{{"op":"json","file":{file},"path":"/"}}"#);
    /// let (_, answer) = session.call(request.as_bytes());
    /// assert_eq!(answer.data, b"[1.5,2.5]");
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn call(&mut self, request: &[u8]) -> (u32, Answer) {
        let request: Value = match serde_json::from_slice(request) {
            Ok(request) => request,
            Err(problem) => return failed(&Error::usage("request", format!("is not JSON: {problem}"))),
        };
        let request = Request(&request);
        let number = request.maybe_number("file").and_then(|file| usize::try_from(file).ok());
        let Some(number) = number.filter(|number| self.file(*number).is_some()) else {
            return failed(&Error::usage("request", "names no open file"));
        };
        // Nothing that was supplied is dropped, because the request that needs the file runs again.
        if request.maybe_text("op") == Some("lend") {
            return self.lend(number, &request).map_or_else(|error| failed(&error), done);
        }
        let Some(file) = self.files.get_mut(number).and_then(Option::as_mut) else {
            return failed(&Error::usage("request", "names no open file"));
        };
        let outcome = answered(file, &request);
        let missing = self.missing(number);
        let Some(file) = self.files.get_mut(number).and_then(Option::as_mut) else {
            return failed(&Error::usage("request", "names no open file"));
        };
        // What was missing in a run without all bytes is found missing once more in the next one.
        let absent = file.file().map_or_else(|_| Vec::new(), |file| file.source().take_missing());
        if let Some(missing) = missing {
            // What was learnt without these bytes may be wrong.
            file.data = file.data.take().map(|data| Dataset::new(Arc::clone(data.file())));
            return (MISSING, Answer { json: missing.to_string().into(), data: Vec::new() });
        }
        let answer = match outcome {
            Ok(reply) => done(Reply { json: with_absent(reply.json, &absent), ..reply }),
            Err(error) => match file.file() {
                Ok(open) => failed(&open.explained(error)),
                Err(_) => failed(&error),
            },
        };
        self.forget(number);
        answer
    }
}

/// Adds `absent` to an answer, which is an object: why elements are fill values, because other files do not have them.
fn with_absent(json: String, absent: &[Error]) -> String {
    let Some(rest) = json.strip_prefix('{').filter(|_| !absent.is_empty()) else { return json };
    let texts: Value = absent.iter().map(|error| Value::from(error.to_string())).collect();
    let comma = if rest.starts_with('}') { "" } else { "," };
    format!("{{\"absent\":{texts}{comma}{rest}")
}

fn done(reply: Reply) -> (u32, Answer) {
    (DONE, Answer { json: reply.json.into_bytes(), data: reply.data })
}

fn failed(error: &Error) -> (u32, Answer) {
    let json = json!({ "error": error.to_string(), "blame": error.blame().word(), "offset": error.offset() });
    (FAILED, Answer { json: json.to_string().into(), data: Vec::new() })
}

fn answered(file: &mut Opened, request: &Request<'_>) -> Result<Reply> {
    let operation = request.text("op")?;
    if operation == "open" {
        file.open(request)?;
        return describe::about(file);
    }
    match operation {
        "about" => describe::about(file),
        "members" => describe::members(file, request),
        "describe" => describe::object(file, request),
        "attributes" => describe::attributes(file, request),
        "attribute" => describe::attribute(file, request),
        "search" => describe::search(file, request),
        "along" => along::along(file, request),
        "cells" => cells::cells(file, request),
        "json" => cells::json(file, request),
        "csv" => cells::csv(file, request),
        "npy" => cells::npy(file, request),
        "read" => numbers::read(file, request),
        "statistics" => numbers::statistics(file, request),
        "grid" => grid::grid(file, request),
        "line" => grid::line(file, request),
        "structures" => whole::structures(file, request),
        "verify" => whole::verify(file),
        other => Err(Error::usage("operation", format!("{other:?} is unknown"))),
    }
}

/// The members of a request.
pub(crate) struct Request<'a>(&'a Value);

impl<'a> Request<'a> {
    fn wrong(name: &str, what: &str) -> Error {
        Error::usage("request", format!("has no {name}, which is {what}"))
    }

    pub(crate) fn text(&self, name: &str) -> Result<&'a str> {
        self.maybe_text(name).ok_or_else(|| Self::wrong(name, "a text"))
    }

    pub(crate) fn maybe_text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub(crate) fn number(&self, name: &str) -> Result<u64> {
        self.maybe_number(name).ok_or_else(|| Self::wrong(name, "a whole number"))
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(crate) fn maybe_number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    pub(crate) fn maybe_float(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(Value::as_f64)
    }

    /// Returns a list of texts, which is empty if there is none.
    fn texts(&self, name: &str) -> Vec<String> {
        let texts = self.0.get(name).and_then(Value::as_array).into_iter().flatten();
        texts.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Returns a list of whole numbers, which is empty if there is none.
    pub(crate) fn numbers(&self, name: &str) -> Vec<u64> {
        self.0.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_u64).collect()
    }
}
