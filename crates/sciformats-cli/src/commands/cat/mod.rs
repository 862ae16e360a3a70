//! `cat`: prints the values of an array.

mod brackets;
pub(super) mod csv;
pub(super) mod json;
pub(super) mod npy;
mod text;

use std::io::{self, Write};
use std::ops::ControlFlow;

pub(super) use text::rounded;

use sciformats::{Array, Datum, Error, Object, Selection, Value};

use crate::args::{Cat, CatFormat};
use crate::failure::{Answer, Failure, Outcome, remark};
use crate::look;
use crate::meaning::{Thing, View, selection};
use crate::session::Session;

/// The part of an array that is to be printed.
pub(super) struct Part<'a> {
    array: &'a Array<'a>,
    selection: Selection,
    /// Whether texts are quoted when they stand next to each other; dates are not.
    quoted: bool,
}

pub(super) fn run(args: &Cat, session: &Session) -> Outcome {
    let objects = super::objects(&args.object, &args.more, session);
    let format = args.format().unwrap_or(if session.json { CatFormat::Json } else { CatFormat::Text });
    if objects.len() > 1 && format == CatFormat::Npy {
        return Err(Failure::Usage("the format npy contains one array; print one file at a time".into()));
    }
    super::for_each_object(&objects, (format == CatFormat::Text, session), |object| {
        one(&args.of(object.clone()), session)
    })
}

fn one(args: &Cat, session: &Session) -> Outcome {
    let path = &args.object.file;
    let file = session.open(path)?;
    let fail = |error| Failure::of(path, &error);
    let id = file.resolve(&args.object.path).map_err(|error| Failure::within(path, &file, &error))?;
    if let Ok(Object::Value(value)) = file.source().object(id) {
        return scalar(&value, args, session);
    }
    let format = args.format().unwrap_or(if session.json { CatFormat::Json } else { CatFormat::Text });
    let view = match format {
        // The format `raw` always prints the stored bytes.
        CatFormat::Raw => View::Stored,
        _ if args.raw => View::Stored,
        CatFormat::Text | CatFormat::Csv => View::Words,
        CatFormat::Json | CatFormat::Npy => View::Values,
    };
    let named = args.at.is_some() || args.slice.as_deref().is_some_and(|slice| slice.contains('='));
    let thing = match view {
        // Only names need the conventions, and finding them costs requests if the file is remote.
        View::Stored if !named => Thing::stored(file, &args.object.path),
        view => Thing::open(file, &args.object.path, view).map_err(fail)?,
    };
    let array = thing.array().map_err(fail)?;
    let rows = args.rows.zip(array.info().shape.as_deref()).and_then(|(rows, shape)| rows.slice(shape));
    let slice = args.slice.as_deref().or(rows.as_deref());
    let (selection, chosen) = selection(&thing, slice, args.at.as_deref()).map_err(fail)?;
    if !session.quiet {
        chosen.iter().for_each(|chosen| remark(&look::safe(chosen)));
    }
    let part = Part { array: &array, selection, quoted: !thing.is_time() };
    let element = array.element().size();
    let bytes = element.and_then(|size| size.checked_mul(part.selection.slab().len()));
    let printed = session.watched_over("reading", &[thing.source()], bytes, || match format {
        CatFormat::Text => text::print(&part, &mut session.text(), args.all),
        CatFormat::Csv => csv::print(&part, &mut session.data()),
        CatFormat::Json => json::print(&part, &mut session.data()),
        CatFormat::Npy => npy::print(&part, &mut session.bytes()),
        CatFormat::Raw => part.raw(&mut session.bytes()),
    });
    printed.map_err(|stop| stop.into_failure(path))?;
    session.doubt(path, &thing);
    Ok(Answer::Yes)
}

/// Prints a scalar of a tree, which is not an array, as text or as JSON.
fn scalar(value: &Value, args: &Cat, session: &Session) -> Outcome {
    let json = match args.format() {
        None => session.json,
        Some(CatFormat::Json) => true,
        Some(CatFormat::Text) => false,
        Some(_) => {
            let problem = format!(
                "{} is a single value, not an array; it can be printed as text or as json",
                args.object.path
            );
            return Err(Failure::Usage(problem));
        }
    };
    let mut out = session.text();
    let text = match json {
        true => look::safe_json(&value.to_json()).into_owned(),
        false => look::safe(&value.to_string()).into_owned(),
    };
    writeln!(out, "{text}")?;
    out.flush()?;
    Ok(Answer::Yes)
}

/// The reason why printing stopped: the array cannot be read, or the output cannot be written.
pub(super) enum Stop {
    Read(Error),
    Write(io::Error),
}

impl Stop {
    pub(super) fn into_failure(self, path: &std::path::Path) -> Failure {
        match self {
            // The selection has been accepted, so it is the contents that do not permit this.
            Self::Read(error @ Error::Usage { .. }) => Failure::refused(path, &error),
            Self::Read(error) => Failure::of(path, &error),
            Self::Write(error) => Failure::Output(error),
        }
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Read(error)
    }
}

type Printed = Result<(), Stop>;

impl<'a> Part<'a> {
    pub(super) fn new(array: &'a Array<'a>, selection: Selection, quoted: bool) -> Self {
        Self { array, selection, quoted }
    }
}

impl Part<'_> {
    /// Calls `visit` for each element until it fails.
    fn for_each(&self, visit: impl FnMut(Datum<'_>) -> io::Result<()>) -> Printed {
        for_each(self.array, &self.selection, visit)
    }

    /// Calls `visit` for pieces of the canonical bytes until it fails.
    fn for_each_piece(&self, mut visit: impl FnMut(&[u8]) -> Printed) -> Printed {
        let mut stop = None;
        self.array.for_each_piece(&self.selection, &mut |bytes| Ok(go_on(visit(bytes), &mut stop)))?;
        stop.map_or(Ok(()), Err)
    }

    fn raw(&self, out: &mut impl Write) -> Printed {
        self.for_each_piece(|bytes| Ok(out.write_all(bytes)?))?;
        Ok(out.flush()?)
    }
}

/// Calls `visit` for each element of a selection until it fails.
fn for_each(
    array: &Array<'_>,
    selection: &Selection,
    mut visit: impl FnMut(Datum<'_>) -> io::Result<()>,
) -> Printed {
    let mut stop = None;
    array.for_each(selection, &mut |datum| Ok(go_on(visit(datum), &mut stop)))?;
    stop.map_or(Ok(()), |error| Err(Stop::Write(error)))
}

fn go_on<E>(written: Result<(), E>, stop: &mut Option<E>) -> ControlFlow<()> {
    match written {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            *stop = Some(error);
            ControlFlow::Break(())
        }
    }
}
