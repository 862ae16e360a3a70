//! `plot`: draws an array on the terminal or into a file.

pub(crate) mod args;
mod json;

use std::io::Write;
use std::path::Path;

use sciformats::storage::{Durability, Replacement};
use sciformats::{Object, WriteAt};
use sciformats_conventions::Dataset;
use sciformats_core::bound;

use self::args::{Plot, Target};
use crate::failure::{Answer, Failure, Outcome, free, remark};
use crate::figure::canvas::Size;
use crate::figure::pdf::Pdf;
use crate::figure::raster::Raster;
use crate::figure::screen::Depth;
use crate::figure::svg::Svg;
use crate::figure::{Figure, paper, terminal};
use crate::gather::{Room, Subject};
use crate::look::{self, FAINT, TITLE, WELL};
use crate::meaning::first::{First, first};
use crate::meaning::{Thing, View};
use crate::session::Session;

/// The number of bars of a histogram in a file, unless the user chooses another.
const BARS: usize = 60;
/// The largest height of a picture on a terminal; more rows do not make it clearer.
const ROWS: usize = 40;

pub(crate) fn run(args: &Plot, session: &Session) -> Outcome {
    let path = &args.object.file;
    let target = args.target().map_err(Failure::Usage)?;
    if let Some((output, _)) = &target {
        free(output, args.force)?;
    }
    let file = session.open(path)?;
    let fail = |error| Failure::of(path, &error);
    let id = file.resolve(&args.object.path).map_err(|error| Failure::within(path, &file, &error))?;
    let whole = id == file.source().root() && matches!(file.source().object(id), Ok(Object::Group));
    let view = if args.raw { View::Stored } else { View::Numbers };
    let data = Dataset::new(file);
    let data = if args.raw { data.raw() } else { data };
    let first = if whole { first(&data) } else { None };
    let named = First { path: args.object.path.clone(), field: None };
    let First { path: object, field } = first.unwrap_or(named);
    let thing = Thing::find(&data, &object, view).map_err(fail)?;
    let array = thing.array().map_err(fail)?;
    let part = (args.slice.as_deref(), args.at.as_deref());
    let (mut subject, chosen) = Subject::new((&thing, &array), part, args.kind).map_err(fail)?;
    if !session.quiet {
        chosen.iter().for_each(|chosen| remark(&look::safe(chosen)));
    }
    subject.field = args.field.as_deref().or(field.as_deref());
    let kind = args.kind.unwrap_or_else(|| subject.kind());
    let (size, depth) = (screen(), Depth::of_stdout());
    let room = match &target {
        Some(_) => on_paper(args.size),
        None => on_terminal(size, depth),
    };
    let picture = session.watched("reading", &[thing.source()], || {
        subject.figure(kind, room, args.bins.map(|bins| bins as usize))
    });
    let mut figure = picture.map_err(fail)?;
    if args.log {
        let refused = |why| Failure::Refused(format!("{}: {object} has {why}", path.display()));
        figure = figure.logarithmic().map_err(refused)?;
    }
    session.doubt(path, &thing);
    if session.json {
        let mut out = session.text();
        writeln!(out, "{}", json::figure(&figure))?;
        out.flush()?;
    }
    match target {
        Some((output, target)) => save(&figure, (output, target), args, session)?,
        None if session.json => {}
        None => {
            let mut out = session.text();
            terminal::draw(&figure, size, depth).write(&mut out, depth)?;
            out.flush()?;
        }
    }
    Ok(Answer::Yes)
}

/// Returns the columns and rows of a picture on the terminal. One row is left for the prompt.
fn screen() -> (usize, usize) {
    let (width, height) = look::screen();
    (width, bound::left(height, 1).clamp(8, ROWS))
}

/// Returns the room that a terminal of this size gives.
pub(super) fn on_terminal((width, height): (usize, usize), depth: Depth) -> Room {
    let (columns, rows) = terminal::room(width, height);
    // A shade is two columns wide, because characters are higher than wide. Half blocks give two rows per
    // character.
    let image = if depth == Depth::None { (columns / 2, rows) } else { (columns, rows * 2) };
    Room { line: columns * 2, image, bars: columns }
}

fn on_paper(size: Size) -> Room {
    let (columns, rows) = paper::room(size);
    Room { line: columns, image: (columns, rows), bars: BARS }
}

/// Writes a picture into a file, which appears when it is complete.
fn save(figure: &Figure, (output, target): (&Path, Target), args: &Plot, session: &Session) -> Outcome<()> {
    let drawn = match target {
        Target::Svg => {
            let mut svg = Svg::new(args.size);
            paper::draw(figure, args.size, &mut svg);
            svg.finish()
        }
        Target::Pdf => {
            let mut pdf = Pdf::new(args.size);
            paper::draw(figure, args.size, &mut pdf);
            Ok(pdf.finish())
        }
        Target::Png => {
            let mut raster = Raster::new(args.size);
            paper::draw(figure, args.size, &mut raster);
            raster.finish()
        }
    };
    let bytes = drawn.map_err(|error| Failure::unwritten(output, &error))?;
    replace(output, &bytes)?;
    if !session.quiet && !session.json {
        let (path, size) = (output.display().to_string(), look::size(bytes.len() as u64));
        let mut out = session.text();
        writeln!(
            out,
            "{TITLE}{}{TITLE:#}: {WELL}written{WELL:#}  {FAINT}{size}{FAINT:#}",
            look::safe(&path)
        )?;
        out.flush()?;
    }
    Ok(())
}

/// Replaces a file by a new one. If that fails, nothing is left beside it.
fn replace(output: &Path, bytes: &[u8]) -> Outcome<()> {
    let put = || {
        let mut file = Replacement::create(output)?;
        file.write_at(0, bytes)?;
        file.finish(Durability::Process)
    };
    put().map_err(|error| Failure::unwritten(output, &error))
}
