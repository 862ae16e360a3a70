//! Stores of Zarr 3 as the output and the input of `convert`.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use sciformats::{AttributeValue, Datum, Decoder, ElementType, Error, Format, Limits, Name};
use sciformats_convert::sink::{self, Elements, Fit, Handle, New, Place, Rules, Sink};
use sciformats_references::zarr::{self, Node, Store, StoredArray, WriteOptions};
use sciformats_references::{Entry, Report, Treatment};
use serde_json::{Value, json};

use super::convert::args::{Convert, Shape};
use super::convert::unchanged;
use super::json::JsonObject;
use super::references::folder;
use crate::failure::{Answer, Failure, Outcome, free};
use crate::interrupt;
use crate::look::{self, Cell, PLAIN};
use crate::session::Session;

/// The attribute in which files keep the names of dimensions that they cannot hold, as stores of Zarr 2 do.
const DIMENSIONS: &str = "_ARRAY_DIMENSIONS";

/// Converts to or from a store of Zarr, if the names say so: an output that ends in `.zarr`, or a folder with `zarr.json`.
pub(super) fn run(args: &Convert, session: &Session) -> Outcome<Option<Answer>> {
    let (input, output) = (&args.files.input, &args.files.output);
    let store = input.join("zarr.json").is_file();
    let written = args.to.is_none() && output.extension().is_some_and(|end| end == "zarr");
    if args.shards.is_some() && !written {
        return Err(Failure::Usage("--shards is only for output that ends in .zarr".into()));
    }
    if !store && !written {
        return Ok(None);
    }
    if !args.select.is_empty() || args.check || args.storage.bound.is_some() {
        return Err(Failure::Usage(
            "a store of Zarr is converted without --select, --check and --bound".into(),
        ));
    }
    #[cfg(feature = "tables")]
    super::tables::convert::formless(args)?;
    if store && written {
        return Err(Failure::Usage("one of IN and OUT must be a file, and not a store of Zarr".into()));
    }
    if !args.dry_run {
        free(output, args.files.force)?;
    }
    if store { read(args, session).map(Some) } else { write(args, session).map(Some) }
}

fn write(args: &Convert, session: &Session) -> Outcome {
    let (input, output) = (&args.files.input, &args.files.output);
    let shape = |shape: &Option<Shape>| shape.clone().map(|Shape(sides)| sides);
    let options = WriteOptions {
        chunks: shape(&args.storage.chunks),
        shards: shape(&args.shards),
        filter: args.storage.filter.clone(),
        level: args.storage.level,
        cancel: Some(interrupt::asked()),
    };
    let file = session.open_whole(input)?;
    let fill = |new: Option<&Path>| {
        let report = session.watched("converting", &[&file], || match new {
            Some(new) => zarr::write(&file, new, &options),
            None => zarr::rehearse(&file, &options),
        });
        let report = report.map_err(|error| match (&error, new) {
            (Error::Usage { .. }, _) => Failure::Usage(error.to_string()),
            (Error::Io { path: Some(path), .. }, Some(new)) if path.starts_with(new) => {
                Failure::unwritten(output, &error)
            }
            (error, _) => Failure::of(input, error),
        })?;
        let lost = losses(&report);
        if let (Some(first), false) = (lost.first(), args.lossy) {
            let what = format!("what Zarr cannot hold: {first} (--lossy leaves out {})", objects(&lost));
            return Err(Failure::refused(input, &Error::unsupported(what)));
        }
        unchanged(&file).map_err(|error| Failure::of(input, &error))?;
        Ok(report)
    };
    let report = if args.dry_run { fill(None) } else { folder(output, "zarr.json", |new| fill(Some(new))) }?;
    let written = |entry: &&Entry| matches!(entry.treatment, Treatment::Referenced { .. });
    let arrays = report.entries.iter().filter(written).count();
    tell(args, arrays, (&losses(&report), &report.notes), session)?;
    Ok(Answer::of(true))
}

/// What is not in the store.
fn losses(report: &Report) -> Vec<String> {
    let objects =
        report.entries.iter().filter(|entry| !matches!(entry.treatment, Treatment::Referenced { .. }));
    let objects = objects.map(|entry| format!("{}: {}", entry.path, entry.treatment));
    let attributes = report.attributes.iter();
    objects
        .chain(attributes.map(|(path, name, reason)| format!("{path}: the attribute {name}: {reason}")))
        .collect()
}

/// Says how many objects are lost.
fn objects(lost: &[String]) -> String {
    look::count(lost.len() as u64, "object")
}

/// Tells what was written, what is lost, and what readers see in another way.
fn tell(
    args: &Convert,
    written: usize,
    (lost, notes): (&[String], &[(String, String)]),
    session: &Session,
) -> Outcome<()> {
    let (input, output) = (args.files.input.display().to_string(), args.files.output.display().to_string());
    let mut out = session.text();
    if session.json {
        let mut line = JsonObject::new();
        line.value("file", output.as_str()).value("arrays", written as u64).value("written", !args.dry_run);
        let list = |texts: Vec<Value>| Value::Array(texts).to_string();
        line.raw("losses", &list(lost.iter().map(|loss| loss.as_str().into()).collect()));
        let notes = notes.iter().map(|(path, note)| json!({"path": path, "note": note}));
        line.raw("notes", &list(notes.collect()));
        writeln!(out, "{}", line.finish())?;
    } else if !session.quiet {
        for line in lost {
            look::told(&mut out, (PLAIN, "lost"), Cell::new(PLAIN, look::safe(line)))?;
        }
        for (path, note) in notes {
            let note = look::safe(&format!("{path}: {note}")).into_owned();
            look::told(&mut out, (PLAIN, "note"), Cell::new(PLAIN, note))?;
        }
        let end = if args.dry_run { ", not written, because of --dry-run" } else { "" };
        let arrays = look::count(written as u64, "array");
        writeln!(out, "{} → {}: {arrays}{end}", look::safe(&input), look::safe(&output))?;
    }
    out.flush()?;
    Ok(())
}

fn read(args: &Convert, session: &Session) -> Outcome {
    let (input, output) = (&args.files.input, &args.files.output);
    let store = Store::open(input).map_err(|error| Failure::of(input, &error))?;
    let format = match args.to {
        None => Format::expected_of(output),
        Some(super::convert::args::Target::Format(format)) => Some(format),
        Some(_) => None,
    };
    let Some(format) = format else {
        return Err(Failure::Usage(format!(
            "{}: a store of Zarr becomes one of our formats; choose one with --to",
            output.display()
        )));
    };
    let failed = |error: Error| match error {
        Error::Malformed { .. } | Error::LimitExceeded { .. } => Failure::of(input, &error),
        Error::Io { path: Some(ref path), .. } if path.starts_with(input) => Failure::of(input, &error),
        Error::Usage { .. } => Failure::Usage(error.to_string()),
        Error::Unsupported { .. } => Failure::refused(input, &error),
        error => Failure::unwritten(output, &error),
    };
    let limits = session.options().limits;
    let options = args.storage.options().with_threads(session.options().threads).with_limits(limits);
    let rules = sink::rules(format).map_err(failed)?;
    let sink = if args.dry_run {
        sink::rehearsal(format, &options)
    } else {
        sink::overwrite(output, format, &options)
    };
    let mut copy =
        Copy { sink: sink.map_err(failed)?, rules, limits, added: HashMap::new(), lost: Vec::new() };
    for node in &store.nodes {
        copy.object(node).map_err(failed)?;
    }
    let Copy { sink, added, lost, .. } = copy;
    if let (Some(first), false) = (lost.first(), args.lossy) {
        let what = format!("what {format} does not get: {first} (--lossy leaves out {})", objects(&lost));
        return Err(Failure::refused(input, &Error::unsupported(what)));
    }
    session.watched("converting", &[], || sink.finish()).map_err(failed)?;
    let written = |node: &&Node| matches!(node.array, Some(Ok(_))) && added.contains_key(node.path.as_str());
    let arrays = store.nodes.iter().filter(written).count();
    if !session.json && !session.quiet {
        super::convert::packages(&mut session.text(), format, args.storage.filter.as_deref())?;
    }
    tell(args, arrays, (&lost, &[]), session)?;
    Ok(Answer::of(true))
}

/// A store that is being copied into a file.
struct Copy<'s> {
    sink: Box<dyn Sink>,
    rules: Rules,
    limits: Limits,
    /// The objects that are in the file, by their paths.
    added: HashMap<&'s str, Handle>,
    /// What is not in the file.
    lost: Vec<String>,
}

impl<'s> Copy<'s> {
    /// Adds an object with its attributes, or tells why it is lost.
    fn object(&mut self, node: &'s Node) -> Result<(), Error> {
        let Some(new) = self.becomes(node)? else { return Ok(()) };
        let handle = match node.path.rsplit_once('/') {
            _ if node.path == "/" => self.sink.add(Place::Root, new)?,
            Some((parent, name)) => {
                let parent = if parent.is_empty() { "/" } else { parent };
                let Some(parent) = self.added.get(parent) else {
                    self.lost.push(format!("{}: its group is missing", node.path));
                    return Ok(());
                };
                self.sink.add(Place::In(*parent, &Name::from(name)), new)?
            }
            None => return Ok(()),
        };
        self.added.insert(&node.path, handle);
        self.attributes(node, handle)
    }

    /// Returns what a node becomes; `None` if the format has nothing for it, or if it cannot be read.
    fn becomes(&mut self, node: &Node) -> Result<Option<New<'static>>, Error> {
        let array = match &node.array {
            None => return Ok(Some(New::Group)),
            Some(Ok(array)) => array.clone(),
            Some(Err(reason)) => {
                self.lost.push(format!("{}: {reason}", node.path));
                return Ok(None);
            }
        };
        let (mut info, limits) = (array.info(), self.limits);
        let Some(element) = alike(&self.rules, &info.element) else {
            self.lost.push(format!("{}: elements of type {}", node.path, info.element));
            return Ok(None);
        };
        info.element = element;
        if let Some(text) = array.unfit_text(&limits, |text| self.rules.text(text))? {
            self.lost.push(format!("{}: the text {:?}", node.path, String::from_utf8_lossy(&text)));
            return Ok(None);
        }
        Ok(Some(New::Array(Elements::new(info, move |slab, out| array.read(slab, &limits, out)))))
    }

    fn attributes(&mut self, node: &Node, handle: Handle) -> Result<(), Error> {
        for (name, value) in attributes(node) {
            let mut lose =
                |reason: String| self.lost.push(format!("{}: the attribute {name}: {reason}", node.path));
            match value.and_then(|value| fitted(&self.rules, value)) {
                Ok(value) => match self.sink.attribute(handle, &Name::from(name), &value) {
                    Err(Error::Unsupported { what, .. }) => lose(what.into_owned()),
                    done => done?,
                },
                Err(reason) => lose(reason),
            }
        }
        Ok(())
    }
}

/// Returns the type under which a format has the same bytes, such as the truth values of HDF5; `None` if it has none.
fn alike(rules: &Rules, element: &ElementType) -> Option<ElementType> {
    match rules.element(element) {
        Fit::Whole => Some(element.clone()),
        Fit::Alias(element) => Some(element),
        Fit::Changed(_) | Fit::No => None,
    }
}

/// An attribute as a format can hold it.
fn fitted(rules: &Rules, mut value: AttributeValue) -> Result<AttributeValue, String> {
    let no = || format!("elements of type {}", value.element);
    let element = alike(rules, &value.element).ok_or_else(no)?;
    if let (ElementType::Text, Ok(data)) = (&element, &value.data) {
        for text in Decoder::new(&element, data) {
            if let Datum::Text(text) = text.map_err(|error| error.to_string())?
                && !rules.text(text)
            {
                return Err(format!("the text {:?}", String::from_utf8_lossy(text)));
            }
        }
    }
    value.element = element;
    Ok(value)
}

/// The attributes of an object, and the names of its dimensions; for each its value, or the reason why there is none.
fn attributes(node: &Node) -> Vec<(&str, Result<AttributeValue, String>)> {
    let array = node.array.as_ref().and_then(|array| array.as_ref().ok());
    let mut all: Vec<_> = node
        .attributes
        .iter()
        .map(|(name, value)| {
            let marked = array.filter(|_| name == "_FillValue").and_then(|array| mark(array, value));
            (name.as_str(), marked.map_or_else(|| attribute(value), Ok))
        })
        .collect();
    let dimensions = array.and_then(StoredArray::dimensions).filter(|names| !names.is_empty());
    if let (Some(names), false) = (dimensions, node.attributes.contains_key(DIMENSIONS)) {
        all.push((DIMENSIONS, Ok(texts(names, Some(names.len() as u64)))));
    }
    all
}

/// The mark of missing values, which netCDF has in the type of the array.
fn mark(array: &StoredArray, value: &Value) -> Option<AttributeValue> {
    let data = array.mark(value)?;
    Some(AttributeValue { element: array.info().element, shape: Some(Vec::new()), data: Ok(data) })
}

/// A value of JSON: a text, a number, a boolean, or a list of values of one kind.
fn attribute(value: &Value) -> Result<AttributeValue, String> {
    let one = |element: ElementType, data: Vec<u8>, count: Option<u64>| AttributeValue {
        element,
        shape: Some(count.into_iter().collect()),
        data: Ok(data),
    };
    let (all, count) = match value {
        Value::Array(all) => (all.as_slice(), Some(all.len() as u64)),
        other => (std::slice::from_ref(other), None),
    };
    if let Some(found) = all.iter().map(|value| value.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    {
        return Ok(texts(&found, count));
    }
    if let Some(found) = all.iter().map(Value::as_i64).collect::<Option<Vec<_>>>() {
        return Ok(one(ElementType::Int(8), found.iter().flat_map(|n| n.to_le_bytes()).collect(), count));
    }
    if let Some(found) = all.iter().map(Value::as_u64).collect::<Option<Vec<_>>>() {
        return Ok(one(ElementType::UInt(8), found.iter().flat_map(|n| n.to_le_bytes()).collect(), count));
    }
    // A cast of a whole number may round it.
    let exact = |value: &Value| {
        let number = sciformats_references::number(value)?;
        let same = value.as_i64().is_none_or(|whole| number as i128 == i128::from(whole))
            && value.as_u64().is_none_or(|whole| number as i128 == i128::from(whole));
        same.then_some(number)
    };
    let found = all.iter().map(exact).collect::<Option<Vec<_>>>();
    if let Some(found) = found.filter(|_| !all.iter().all(|value| value.is_i64() || value.is_u64())) {
        return Ok(one(ElementType::F64, found.iter().flat_map(|n| n.to_le_bytes()).collect(), count));
    }
    if let Some(found) = all.iter().map(Value::as_bool).collect::<Option<Vec<_>>>() {
        return Ok(one(ElementType::Bool, found.iter().map(|flag| u8::from(*flag)).collect(), count));
    }
    Err("its value is neither a text nor numbers of one type".into())
}

fn texts(all: &[String], count: Option<u64>) -> AttributeValue {
    let mut data = Vec::new();
    for text in all {
        data.extend((text.len() as u64).to_le_bytes());
        data.extend(text.as_bytes());
    }
    AttributeValue { element: ElementType::Text, shape: Some(count.into_iter().collect()), data: Ok(data) }
}
