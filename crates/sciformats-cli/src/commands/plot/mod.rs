//! `plot`: draws an array on the terminal or into a file.

pub(crate) mod args;
mod json;
pub(super) mod series;

use std::io::Write;
use std::path::{Path, PathBuf};

use sciformats::storage::{Durability, Replacement};
use sciformats::{Object as Found, WriteAt};
use sciformats_conventions::Dataset;
use sciformats_core::bound;

use self::args::{Plot, Target};
use crate::args::Object;
use crate::failure::{Answer, Failure, Outcome, free, remark};
use crate::figure::canvas::Size;
use crate::figure::pdf::Pdf;
use crate::figure::raster::Raster;
use crate::figure::screen::Depth;
use crate::figure::svg::Svg;
use crate::figure::{Figure, paper, terminal};
use crate::gather::{Kind, LINES, Room, Subject};
use crate::look::{self, FAINT, TITLE, WELL};
use crate::meaning::first::{First, first};
use crate::meaning::{Thing, View};
use crate::output::{is_stdout, redirected};
use crate::session::Session;

/// The number of bars of a histogram in a file, unless the user chooses another.
const BARS: usize = 60;
/// The largest height of a picture on a terminal; more rows do not make it clearer.
const ROWS: usize = 40;

pub(crate) fn run(args: &Plot, session: &Session) -> Outcome {
    let target = args.target().map_err(Failure::Usage)?;
    let stdout = target.is_some_and(|(output, _)| is_stdout(output));
    let aside = stdout.then(|| session.aside());
    let session = aside.as_ref().unwrap_or(session);
    if stdout {
        redirected()?;
    }
    let objects = objects(args, session);
    if let (Some(each), Some(target)) = (&args.each, target) {
        let [object] = objects.as_slice() else {
            return Err(Failure::Usage("--each needs a single array".into()));
        };
        return series::run(args, (object, each), target, session);
    }
    if let Some((output, _)) = target.filter(|_| !stdout) {
        free(output, args.force)?;
    }
    let (size, depth) = (screen(), Depth::of_stdout());
    let room = match &target {
        Some(_) => on_paper(args.size, args.scale),
        None => on_terminal(size, depth),
    };
    let part = (args.slice.as_deref(), args.at.as_deref());
    let figure = match objects.as_slice() {
        [object] => Subjected::open(object, args, session)?.figure(part, (args.kind, room), args, session)?,
        several => together(several, (part, room), args, session)?,
    };
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

/// Returns the objects that the words of the command mean: one file and one or more paths in it, or several files and a path
/// in all of them.
fn objects(args: &Plot, session: &Session) -> Vec<Object> {
    if args.more.is_empty() {
        return super::objects(&args.object, &[], session);
    }
    let file = |word: &PathBuf| session.far().is_far(word) || word.exists();
    let mut files = vec![args.object.file.clone()];
    let mut paths: Vec<String> = Vec::new();
    let second = PathBuf::from(&args.object.path);
    for word in std::iter::once(&second).chain(&args.more) {
        let text = word.to_string_lossy().into_owned();
        let inside = Object { file: args.object.file.clone(), path: text.clone() };
        if file(word) && !super::holds(&inside, session) {
            files.push(word.clone());
        } else {
            paths.push(text);
        }
    }
    if paths.is_empty() {
        paths.push("/".into());
    }
    let each = |file: &PathBuf| -> Vec<Object> {
        paths.iter().map(|path| Object { file: file.clone(), path: path.clone() }).collect()
    };
    files.iter().flat_map(each).collect()
}

/// An array that is to be drawn.
struct Subjected {
    file: PathBuf,
    /// Its path in the file.
    path: String,
    thing: Thing,
    fields: Vec<String>,
}

impl Subjected {
    /// Opens what an object means; of a whole file, this is what the file is about.
    fn open(object: &Object, args: &Plot, session: &Session) -> Outcome<Self> {
        let path = &object.file;
        let file = session.open(path)?;
        let fail = |error| Failure::of(path, &error);
        let id = file.resolve(&object.path).map_err(|error| Failure::within(path, &file, &error))?;
        let whole = id == file.source().root() && matches!(file.source().object(id), Ok(Found::Group));
        let view = if args.raw { View::Stored } else { View::Numbers };
        let data = Dataset::new(file);
        let data = if args.raw { data.raw() } else { data };
        let first = if whole { first(&data) } else { None };
        let named = First { path: object.path.clone(), field: None };
        let First { path: inside, field } = first.unwrap_or(named);
        let thing = Thing::find(&data, &inside, view).map_err(fail)?;
        let fields = if args.field.is_empty() { field.into_iter().collect() } else { args.field.clone() };
        session.doubt(path, &thing);
        Ok(Self { file: path.clone(), path: inside, thing, fields })
    }

    /// Returns the picture of a part.
    fn figure(
        &self,
        part: (Option<&str>, Option<&str>),
        (kind, room): (Option<Kind>, Room),
        args: &Plot,
        session: &Session,
    ) -> Outcome<Figure> {
        let fail = |error| Failure::of(&self.file, &error);
        let array = self.thing.array().map_err(fail)?;
        let (mut subject, chosen) = Subject::new((&self.thing, &array), part, kind).map_err(fail)?;
        if !session.quiet {
            chosen.iter().for_each(|chosen| remark(&look::safe(chosen)));
        }
        let mut fields = self.fields.iter().map(String::as_str);
        subject.field = fields.next();
        subject.more = fields.collect();
        let kind = kind.unwrap_or_else(|| subject.kind());
        let picture = session.watched("reading", &[self.thing.source()], || {
            subject.figure(kind, room, args.bins.map(|bins| bins as usize))
        });
        let figure = picture.map_err(fail)?;
        if !args.log {
            return Ok(figure);
        }
        let refused = |why| Failure::Refused(format!("{}: {} has {why}", self.file.display(), self.path));
        figure.logarithmic().map_err(refused)
    }
}

/// Returns the lines of several arrays in one picture.
fn together(
    objects: &[Object],
    (part, room): ((Option<&str>, Option<&str>), Room),
    args: &Plot,
    session: &Session,
) -> Outcome<Figure> {
    if args.kind.is_some_and(|kind| kind != Kind::Line) {
        return Err(Failure::Usage("several arrays can only be drawn as lines".into()));
    }
    let one_file =
        objects.iter().all(|object| objects.first().is_some_and(|first| first.file == object.file));
    let one_path =
        objects.iter().all(|object| objects.first().is_some_and(|first| first.path == object.path));
    let name = |object: &Object| {
        let file = object.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = object.path.trim_start_matches('/');
        look::safe(&match (one_file, one_path) {
            (true, _) => path.to_owned(),
            (false, true) => file,
            (false, false) => format!("{file}:{path}"),
        })
        .into_owned()
    };
    let mut figures = Vec::new();
    for object in objects {
        let opened = Subjected::open(object, args, session)?;
        figures.push((name(object), opened.figure(part, (Some(Kind::Line), room), args, session)?));
    }
    let most = usize::try_from(LINES).unwrap_or(usize::MAX); // a bound
    let mut figure = Figure::together(figures, most).map_err(Failure::Refused)?;
    if let Some(object) = objects.first().filter(|_| figure.title.is_empty()) {
        let file = object.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        figure.title = look::safe(if one_file { &file } else { &object.path }).into_owned();
    }
    Ok(figure)
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

fn on_paper(size: Size, scale: u32) -> Room {
    let (columns, rows) = paper::room(size);
    let scale = scale as usize;
    let (columns, rows) = (bound::product(columns, scale), bound::product(rows, scale));
    Room { line: columns, image: (columns, rows), bars: BARS }
}

/// Returns a picture as the bytes of a file.
fn drawn(figure: &Figure, target: Target, args: &Plot) -> sciformats::Result<Vec<u8>> {
    match target {
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
            let mut raster = Raster::new(args.size, args.scale);
            paper::draw(figure, args.size, &mut raster);
            raster.finish()
        }
    }
}

/// Writes a picture to stdout, or into a file, which appears when it is complete.
fn save(figure: &Figure, (output, target): (&Path, Target), args: &Plot, session: &Session) -> Outcome<()> {
    let bytes = drawn(figure, target, args).map_err(|error| Failure::unwritten(output, &error))?;
    if is_stdout(output) {
        let mut out = session.bytes();
        out.write_all(&bytes)?;
        return Ok(out.flush()?);
    }
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
pub(super) fn replace(output: &Path, bytes: &[u8]) -> Outcome<()> {
    let put = || {
        let mut file = Replacement::create(output)?;
        file.write_at(0, bytes)?;
        file.finish(Durability::Process)
    };
    put().map_err(|error| Failure::unwritten(output, &error))
}
