//! Open files, and requests about them.
//!
//! A request is a JSON object with the name of an operation and the number of a file, and the other members
//! that the operation needs. The answer is JSON, and the elements beside it.

use std::collections::HashMap;
use std::sync::Arc;

use sciformats::{Blame, Error, File, Limits, OpenOptions, Result};
use sciformats_conventions::Dataset;
use sciformats_core::storage::{PlanOptions, Planned, Purpose};
use serde_json::{Value, json};

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

/// A file, and what is remembered of it between requests.
pub(crate) struct Opened {
    bytes: Bytes,
    data: Option<Dataset>,
    /// The members of groups that were listed.
    pub(crate) members: HashMap<String, Arc<Members>>,
    /// The path of every object with the letter of its kind.
    pub(crate) paths: Option<Arc<Vec<(String, char)>>>,
}

impl Opened {
    fn new(bytes: Bytes) -> Self {
        Self { bytes, data: None, members: HashMap::new(), paths: None }
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

    fn open(&mut self) -> Result<()> {
        let limits = Limits::default().with_memory(MEMORY);
        let options = OpenOptions::default().with_limits(limits).with_threads(1).with_cut(true);
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

    /// Forgets a file. Its number is not used again.
    pub fn close(&mut self, file: u32) {
        if let Some(place) = self.files.get_mut(file as usize) {
            *place = None;
        }
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
        let number = request.get("file").and_then(Value::as_u64).and_then(|file| usize::try_from(file).ok());
        let Some(file) = number.and_then(|number| self.files.get_mut(number)?.as_mut()) else {
            return failed(&Error::usage("request", "names no open file"));
        };
        let outcome = answered(file, &Request(&request));
        if let Bytes::Elsewhere(planned) = &file.bytes {
            let missing = planned.ranges().take_missing();
            if !missing.is_empty() {
                // What was learnt without these bytes may be wrong.
                file.data = file.data.take().map(|data| Dataset::new(Arc::clone(data.file())));
                let ranges: Vec<[u64; 2]> = missing.iter().map(|range| [range.start, range.end]).collect();
                return (
                    MISSING,
                    Answer { json: json!({ "ranges": ranges }).to_string().into(), data: Vec::new() },
                );
            }
            planned.ranges().forget();
        }
        match outcome {
            Ok(reply) => (DONE, Answer { json: reply.json.into_bytes(), data: reply.data }),
            Err(error) => match file.file() {
                Ok(open) => failed(&open.explained(error)),
                Err(_) => failed(&error),
            },
        }
    }
}

fn failed(error: &Error) -> (u32, Answer) {
    let json = json!({ "error": error.to_string(), "blame": blame(error), "offset": error.offset() });
    (FAILED, Answer { json: json.to_string().into(), data: Vec::new() })
}

/// Returns one word for the cause of an error.
pub(crate) fn blame(error: &Error) -> &'static str {
    match error.blame() {
        Blame::Machine => "machine",
        Blame::File => "file",
        Blame::Library => "program",
        Blame::Limit => "limit",
        Blame::Caller => "caller",
        Blame::Elsewhere => "missing",
    }
}

fn answered(file: &mut Opened, request: &Request<'_>) -> Result<Reply> {
    let operation = request.text("op")?;
    if operation == "open" {
        file.open()?;
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

    pub(crate) fn maybe_number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    pub(crate) fn maybe_float(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(Value::as_f64)
    }

    /// Returns a list of whole numbers, which is empty if there is none.
    pub(crate) fn numbers(&self, name: &str) -> Vec<u64> {
        self.0.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_u64).collect()
    }
}
