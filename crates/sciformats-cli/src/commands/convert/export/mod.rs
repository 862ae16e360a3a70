//! `convert` to CSV, JSON, npz, netCDF-4 and PNG: arrays and tables as the convention of the file defines them.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;

use sciformats::model::write_text;
use sciformats::storage::{Durability, Replacement, WriteAt};
use sciformats::walk::{Found, breadth_first};
use sciformats::{Datum, ElementType, Error, FloatKind, Object, Range, Selection};
use sciformats_conventions::{Dataset, Dimension, Meaning, Variable};
use sciformats_convert::compare::Pattern;
use sciformats_convert::numpy::{self, Fixed};

use super::args::Convert;
use super::zip::Zip;
use super::{netcdf, pictures};
use crate::commands::cat::{Part, Stop, csv, json, npy};
use crate::commands::json::JsonObject;
use crate::failure::{Answer, Failure, Outcome};
use crate::look::{self, Cell, FAINT, PLAIN, TITLE, WELL, WRONG};
use crate::meaning::{Thing, View, along};
use crate::output::{is_stdout, redirected};
use crate::session::Session;

/// A format that contains arrays for other programs, and nothing else of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Target {
    Csv,
    Json,
    Npz,
    /// netCDF-4, from formats that are not HDF5.
    NetCdf,
    /// One picture of an array, or a series of them.
    Png,
}

impl Target {
    pub(super) const ALL: [Self; 5] = [Self::Csv, Self::Json, Self::Npz, Self::NetCdf, Self::Png];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Npz => "npz",
            Self::NetCdf => "netcdf",
            Self::Png => "png",
        }
    }

    /// Returns the target that the ending of a name selects.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        if ending == "nc" || ending == "nc4" {
            return Some(Self::NetCdf);
        }
        Self::ALL.into_iter().find(|target| target.word() == ending)
    }
}

/// The number of elements that are held at once to write lines of CSV.
const AT_ONCE: u64 = 1 << 16;

pub(super) fn run(args: &Convert, target: Target, session: &Session) -> Outcome {
    let (input, output) = (&args.files.input, &args.files.output);
    match target {
        Target::NetCdf => return netcdf::run(args, session),
        Target::Png => return pictures::run(args, session),
        Target::Csv | Target::Json | Target::Npz => {}
    }
    args.storage.unasked(args.check, target.word())?;
    let streamed = is_stdout(output) && !args.dry_run;
    let aside = streamed.then(|| session.aside());
    let session = aside.as_ref().unwrap_or(session);
    if streamed && target == Target::Npz {
        redirected()?;
    }
    if !streamed {
        args.files.prepare(args.dry_run, session)?;
    }
    let place = args.files.place();
    let data = Dataset::new(session.open_whole(input)?);
    super::selected(args, data.file())?;
    let Selected { paths, unread } = selected(&data, args, target != Target::Csv);
    if let (true, Some((path, why))) = (paths.is_empty(), unread.first()) {
        return Err(Failure::Input(format!("{}: {path}: {why}", input.display())));
    }
    let paths =
        if target == Target::Csv { of_one_shape(&data, paths, !args.select.is_empty()) } else { Ok(paths) };
    let paths = paths.map_err(|why| Failure::Refused(format!("{}: {why}", input.display())))?;
    if paths.is_empty() {
        return Err(Failure::Refused(format!("{}: no array or table is selected", input.display())));
    }
    let view = if target == Target::Csv { View::Words } else { View::Values };
    let mut things = Vec::new();
    for path in &paths {
        let thing = Thing::find(&data, path, view).map_err(|error| Failure::of(input, &error))?;
        session.doubt(input, &thing);
        things.push((path.clone(), thing));
    }
    let mut losses: Vec<(String, String)> =
        unread.into_iter().map(|(path, error)| (path, error.to_string())).collect();
    if target == Target::Npz {
        losses.extend(lost(&mut things));
    }
    left_out(&things, &mut losses);
    let mut out = session.text();
    told(&mut out, &losses, session)?;
    let stopped = !losses.is_empty() && !args.lossy;
    if things.is_empty() || stopped || args.dry_run {
        end(&mut out, (output, things.len()), None, session)?;
        return Ok(Answer::of(!stopped && !things.is_empty()));
    }
    let sources: Vec<_> = things.iter().map(|(_, thing)| thing.source()).collect();
    let written = session.watched("converting", &sources, || write(place, target, &data, &things, session));
    let size = written.map_err(|stop| match stop {
        Stop::Read(error) => Failure::of(input, &error),
        Stop::Write(error) if streamed => Failure::Output(error),
        Stop::Write(error) => Failure::Unwritten(output.clone(), error.to_string()),
    })?;
    args.files.publish(session)?;
    end(&mut out, (output, things.len()), Some(size), session)?;
    Ok(Answer::Yes)
}

/// Returns the arrays, tables and sparse matrices that are selected, or all of them. The parts of a table and of a
/// sparse matrix are not listed.
pub(super) fn chosen(data: &Dataset, args: &Convert) -> Vec<String> {
    selected(data, args, true).paths
}

/// What is selected of a file.
#[derive(Default)]
struct Selected {
    paths: Vec<String>,
    /// What cannot be read, so that nobody knows whether it is an array.
    unread: Vec<(String, Error)>,
}

/// As [`chosen`]; `apart` says whether the arrays that a table leaves out are listed, because they have other shapes.
fn selected(data: &Dataset, args: &Convert, apart: bool) -> Selected {
    let patterns: Vec<Pattern> = args.select.iter().map(|text| Pattern::from(text.as_str())).collect();
    let is_selected = |path: &str| {
        let ends = path.match_indices('/').map(|(at, _)| at).filter(|&at| at > 0).chain([path.len()]);
        let mut places = ends.filter_map(|at| path.get(..at));
        patterns.is_empty() || places.any(|place| patterns.iter().any(|pattern| pattern.matches(place)))
    };
    let mut selected = Selected::default();
    let mut wholes: Vec<String> = Vec::new();
    let mut alone: Vec<String> = Vec::new();
    let file = data.file();
    let _ = breadth_first(file.source(), ("/", file.source().root()), file.limits(), &mut |entry| {
        let within = wholes.iter().any(|whole| entry.path.starts_with(whole.as_str()));
        if within && !alone.contains(&entry.path) {
            return ControlFlow::Continue(());
        }
        let (id, object) = match entry.what {
            Found::Unreadable(error)
            | Found::Unlisted(error)
            | Found::Object(_, Object::Damaged { error, .. })
                if is_selected(&entry.path) =>
            {
                selected.unread.push((entry.path, error));
                return ControlFlow::Continue(());
            }
            Found::Object(id, object) => (id, object),
            _ => return ControlFlow::Continue(()),
        };
        let meaning = match object {
            Object::Group | Object::Array(_) => data.meaning_of(&data.known(&entry.path, id)).ok().flatten(),
            _ => None,
        };
        let taken = match (&object, &meaning) {
            (Object::Group, Some(Meaning::Table(_) | Meaning::Sparse(_))) => {
                let whole = format!("{}/", entry.path.trim_end_matches('/'));
                if let (Some(Meaning::Table(table)), true) = (&meaning, apart) {
                    alone.extend(table.omitted.iter().map(|(name, _)| format!("{whole}{name}")));
                }
                wholes.push(whole);
                true
            }
            (Object::Array(_), Some(Meaning::Variable(variable))) => !variable.is_dimension(),
            (Object::Array(info), _) => info.shape.is_some(),
            _ => false,
        };
        if taken && is_selected(&entry.path) {
            selected.paths.push(entry.path);
        }
        ControlFlow::Continue(())
    });
    selected
}

/// Returns the table, or the variables along the same dimensions, that become the columns of one file of CSV.
/// Without a choice they are what the file is about; of a choice, nothing is left out but the coordinates, which are columns
/// already.
fn of_one_shape(data: &Dataset, paths: Vec<String>, explicit: bool) -> Result<Vec<String>, String> {
    if paths.len() < 2 {
        return Ok(paths);
    }
    let variable = |path: &String| match data.meaning(path) {
        Ok(Some(Meaning::Variable(variable))) => Some(*variable),
        _ => None,
    };
    let variables: Vec<(String, Variable)> =
        paths.iter().filter_map(|path| Some((path.clone(), variable(path)?))).collect();
    // Coordinates are columns beside the variables that they belong to.
    let is_coordinate = |path: &str| {
        let named = |other: &Variable| !explicit && other.coordinates.iter().any(|known| known.path == *path);
        let along = |other: &Variable| {
            (0..other.dimensions.len()).any(|axis| other.coordinates_path(axis) == Some(path))
        };
        let own = |other: &(String, Variable)| other.0 == path && along(&other.1);
        variables.iter().any(|other| named(&other.1) || own(other) || (explicit && along(&other.1)))
    };
    let main: Vec<&(String, Variable)> = variables.iter().filter(|(path, _)| !is_coordinate(path)).collect();
    // A choice of coordinates alone is a choice of what they contain.
    let main = if main.is_empty() && explicit { variables.iter().collect() } else { main };
    let rank = main.iter().map(|(_, variable)| variable.dimensions.len()).max().unwrap_or(0); // a bound of ranks
    let of_rank = |variable: &Variable| variable.dimensions.len() == rank;
    let main: Vec<_> = main.into_iter().filter(|(_, variable)| explicit || of_rank(variable)).collect();
    if explicit
        && variables.len() == paths.len()
        && let Some((_, lead)) = main.iter().find(|(_, variable)| of_rank(variable))
        && main.iter().all(|(_, variable)| axes(variable, lead).is_some())
    {
        return Ok(main.into_iter().map(|(path, _)| path.clone()).collect());
    }
    let alike = |one: &Variable, other: &Variable| {
        let names = |variable: &Variable| -> Vec<_> {
            variable.dimensions.iter().map(|dimension| dimension.name.clone()).collect()
        };
        one.shape() == other.shape() && names(one) == names(other)
    };
    match main.split_first() {
        Some((first, rest))
            if variables.len() == paths.len() && rest.iter().all(|other| alike(&first.1, &other.1)) =>
        {
            Ok(main.into_iter().map(|(path, _)| path.clone()).collect())
        }
        _ => {
            let named: Vec<&str> = paths.iter().take(6).map(String::as_str).collect();
            let more = if paths.len() > named.len() { ", …" } else { "" };
            Err(format!(
                "CSV contains one table, or arrays of one shape; choose some of {}{more} with --select",
                named.join(", ")
            ))
        }
    }
}

/// Returns the dimensions of `lead` that a variable has, in their order; `None` if it has others.
fn axes(variable: &Variable, lead: &Variable) -> Option<Vec<usize>> {
    if variable.shape() == lead.shape() {
        let same = |(one, other): (&Dimension, &Dimension)| one.name == other.name;
        let alike = variable.dimensions.iter().zip(&lead.dimensions).all(same);
        return alike.then(|| (0..lead.dimensions.len()).collect());
    }
    let mut axes: Vec<usize> = Vec::new();
    for own in &variable.dimensions {
        let name = own.name.as_ref()?;
        let fits = |of: &Dimension| of.name.as_ref() == Some(name) && of.length == own.length;
        axes.push(lead.dimensions.iter().position(fits)?);
    }
    axes.is_sorted_by(|one, next| one < next).then_some(axes)
}

/// Adds the columns that tables leave out, unless they are written beside the tables.
fn left_out(things: &[(String, Thing)], losses: &mut Vec<(String, String)>) {
    for (path, thing) in things {
        if thing.variable().is_some() || !thing.is_meant() {
            continue;
        }
        let Ok(table) = thing.data().table(path) else { continue };
        for (name, why) in table.omitted {
            let column = format!("{}/{name}", path.trim_end_matches('/'));
            if things.iter().all(|(other, _)| *other != column) {
                losses.push((column, why));
            }
        }
    }
}

/// Removes what NumPy cannot store, and returns it with the reason.
fn lost(things: &mut Vec<(String, Thing)>) -> Vec<(String, String)> {
    let mut losses = Vec::new();
    things.retain(|(path, thing)| {
        let known = thing.array().and_then(|array| {
            let (element, _) = numpy::flat(array.element(), array.shape());
            let fixed = Fixed::new(element);
            if fixed.is_as_is() { numpy::dtype(element).map(drop) } else { fixed.dtype().map(drop) }
        });
        known.map_err(|error| losses.push((path.clone(), error.to_string()))).is_ok()
    });
    losses
}

pub(super) fn told<W: std::fmt::Display>(
    out: &mut impl Write,
    losses: &[(String, W)],
    session: &Session,
) -> Outcome<()> {
    for (path, error) in losses {
        if session.json {
            let mut line = JsonObject::new();
            line.value("path", path.as_str()).value("loss", error.to_string());
            writeln!(out, "{}", line.finish())?;
        } else {
            let what = format!("{}: {}", look::safe(path), look::safe(&error.to_string()));
            look::told(out, (WRONG, "loses"), Cell::new(PLAIN, what))?;
        }
    }
    Ok(())
}

/// Reports what was written; `None` if nothing was.
pub(super) fn end(
    out: &mut impl Write,
    (output, count): (&Path, usize),
    size: Option<u64>,
    session: &Session,
) -> Outcome<()> {
    let path = output.display().to_string();
    if session.json {
        let mut line = JsonObject::new();
        line.value("output", path).value("arrays", count as u64).value("written", size.is_some());
        writeln!(out, "{}", line.finish())?;
    } else if !session.quiet {
        let arrays = look::count(count as u64, "array");
        let path = look::safe(&path);
        match size {
            Some(size) => writeln!(
                out,
                "{TITLE}{path}{TITLE:#}: {WELL}written{WELL:#}  {FAINT}{arrays}, {}{FAINT:#}",
                look::size(size)
            )?,
            None => writeln!(out, "{TITLE}{path}{TITLE:#}: not written  {FAINT}{arrays}{FAINT:#}")?,
        }
    }
    Ok(out.flush()?)
}

/// A new file that appears when it is complete.
struct Out {
    file: Replacement,
    at: u64,
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_at(self.at, bytes).map_err(unwritten)?;
        self.at = self.at.saturating_add(bytes.len() as u64); // a bound: no file is that long
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn unwritten(error: Error) -> io::Error {
    match error {
        Error::Io { source, .. } => io::Error::new(source.kind(), source.to_string()),
        other => io::Error::other(other.to_string()),
    }
}

/// Writes the output, and returns its size, or `None` for stdout.
fn write(
    output: &Path,
    target: Target,
    data: &Dataset,
    things: &[(String, Thing)],
    session: &Session,
) -> Result<u64, Stop> {
    if is_stdout(output) {
        let mut out = session.data();
        contents(&mut out, target, data, things)?;
        out.flush()?;
        return Ok(0);
    }
    let file = Replacement::create(output).map_err(unwritten)?;
    let mut out = io::BufWriter::with_capacity(1 << 18, Out { file, at: 0 });
    contents(&mut out, target, data, things)?;
    let out = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    let size = out.at;
    out.file.finish(Durability::Process).map_err(unwritten)?;
    Ok(size)
}

fn contents(
    out: &mut impl Write,
    target: Target,
    data: &Dataset,
    things: &[(String, Thing)],
) -> Result<(), Stop> {
    match target {
        Target::Csv => lines(data, things, out)?,
        Target::Json => objects(data, things, out)?,
        Target::Npz => {
            let mut zip = Zip::new(out);
            for (path, thing) in things {
                let name = path.trim_start_matches('/');
                let name = if name.is_empty() { "data" } else { name };
                let array = thing.array()?;
                let part = Part::whole(&array, false)?;
                zip.member(&format!("{name}.npy"), |mut out| npy::print(&part, &mut out))?;
            }
            zip.finish()?;
        }
        // They have been written by others.
        Target::NetCdf | Target::Png => {}
    }
    Ok(super::unchanged(data.file())?)
}

/// Writes one JSON object with the arrays by their paths: dimensions, units and values.
fn objects(data: &Dataset, things: &[(String, Thing)], out: &mut impl Write) -> Result<(), Stop> {
    let mut head = JsonObject::new();
    // What is wrong with it has been told with the arrays, of which the stored values are written.
    if let Ok(Some(identity)) = data.identity() {
        head.value("convention", identity.to_string());
    }
    let head = head.finish();
    let head = head.trim_end_matches('}');
    write!(out, "{head}{}\"arrays\":{{", if head.len() > 1 { "," } else { "" })?;
    for (at, (path, thing)) in things.iter().enumerate() {
        let array = thing.array()?;
        let mut object = JsonObject::new();
        if let Some(variable) = thing.variable() {
            if variable.has_names() {
                let names = variable.dimensions.iter().map(|dimension| {
                    dimension.name.as_deref().map_or(sciformats::Value::Null, sciformats::Value::from)
                });
                object.value("dimensions", sciformats::Value::List(names.collect()));
            }
            for (key, text) in [("units", &variable.units), ("long_name", &variable.long_name)] {
                if let Some(text) = text {
                    object.value(key, text.as_str());
                }
            }
        }
        object.raw("type", &array.element().to_json()).list("shape", Some(array.shape()));
        let object = object.finish();
        let mut key = String::new();
        write_text(&mut key, path);
        let comma = if at > 0 { "," } else { "" };
        write!(out, "{comma}\n{}:{},\"values\":", look::safe_json(&key), object.trim_end_matches('}'))?;
        json::print(&Part::whole(&array, false)?, out)?;
        write!(out, "}}")?;
    }
    Ok(writeln!(out, "}}}}")?)
}

/// Writes a table, or one line per element with its coordinates.
fn lines(data: &Dataset, things: &[(String, Thing)], out: &mut impl Write) -> Result<(), Stop> {
    let rank = |thing: &Thing| thing.variable().map_or(usize::MAX, |variable| variable.dimensions.len());
    // The others have some of its dimensions, and their values are repeated.
    let Some(first) = things.iter().map(|(_, thing)| thing).rev().max_by_key(|thing| rank(thing)) else {
        return Ok(());
    };
    let array = first.array()?;
    if matches!(array.element(), ElementType::Compound(_)) && things.len() == 1 {
        return csv::print(&Part::whole(&array, false)?, out);
    }
    let shape = array.shape().to_vec();
    let mut heads = Vec::new();
    let mut places = Vec::new();
    for (axis, &length) in shape.iter().enumerate() {
        let (name, coordinates) = coordinates(data, (first, axis), length)?;
        heads.push(csv::quoted(&name).into_owned());
        places.push(coordinates);
    }
    for (path, thing) in things {
        let name = path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("value");
        let units =
            thing.variable().filter(|_| !thing.is_time()).and_then(|variable| variable.units.as_ref());
        let units = units.map(|units| format!(" ({units})")).unwrap_or_default();
        heads.push(csv::quoted(&format!("{name}{units}")).into_owned());
    }
    writeln!(out, "{}", heads.join(","))?;
    let arrays = things.iter().map(|(_, thing)| thing.array()).collect::<Result<Vec<_>, _>>()?;
    let mut at = vec![0u64; shape.len()];
    let mut repeated = Vec::new();
    for ((_, thing), array) in things.iter().zip(&arrays) {
        repeated.push(if array.shape() == shape { None } else { Some(Repeated::new(thing, first, array)?) });
    }
    for slab in array.all()?.pieces(AT_ONCE / (arrays.len() as u64).max(1)) {
        let mut columns = Vec::new();
        for (array, repeated) in arrays.iter().zip(&repeated) {
            if repeated.is_some() {
                columns.push(Vec::new().into_iter());
                continue;
            }
            let bytes = array.bytes(&slab)?;
            let mut cells = Vec::new();
            for datum in sciformats::Decoder::new(array.element(), &bytes) {
                cells.push(csv::value(&datum?));
            }
            columns.push(cells.into_iter());
        }
        at.clone_from_slice(&slab.ranges().iter().map(|range| range.start).collect::<Vec<_>>());
        for _ in 0..slab.len() {
            let mut cells: Vec<String> = Vec::new();
            for (places, &index) in places.iter().zip(&at) {
                cells.push(place(places, index));
            }
            for (column, repeated) in columns.iter_mut().zip(&repeated) {
                cells.extend(match repeated {
                    Some(repeated) => repeated.at(&at),
                    None => column.next(),
                });
            }
            writeln!(out, "{}", cells.join(","))?;
            for (index, range) in at.iter_mut().zip(slab.ranges()).rev() {
                *index += 1;
                if *index - range.start < range.count {
                    break;
                }
                *index = range.start;
            }
        }
    }
    Ok(())
}

/// The cells of an array that only has some of the dimensions of another one.
struct Repeated {
    cells: Vec<String>,
    /// For each dimension of the array, that of the other one, and its length.
    axes: Vec<(usize, u64)>,
}

impl Repeated {
    fn new(thing: &Thing, lead: &Thing, array: &sciformats::Array<'_>) -> Result<Self, Error> {
        let axes = thing.variable().zip(lead.variable()).and_then(|(variable, lead)| axes(variable, lead));
        let axes = axes.ok_or_else(|| Error::usage("selection", "has arrays of several shapes"))?;
        let bytes = array.bytes(&array.all()?)?;
        let mut cells = Vec::new();
        for datum in sciformats::Decoder::new(array.element(), &bytes) {
            cells.push(csv::value(&datum?));
        }
        Ok(Self { cells, axes: axes.into_iter().zip(array.shape().iter().copied()).collect() })
    }

    fn at(&self, at: &[u64]) -> Option<String> {
        let place = self.axes.iter().try_fold(0u64, |place, &(axis, length)| {
            place.checked_mul(length)?.checked_add(*at.get(axis)?)
        })?;
        self.cells.get(usize::try_from(place).ok()?).cloned()
    }
}

/// The coordinates along a dimension; `None` if its elements are counted.
type Places = Option<Vec<String>>;

fn place(places: &Places, index: u64) -> String {
    let known = places.as_ref().and_then(|places| places.get(usize::try_from(index).ok()?));
    known.cloned().unwrap_or_else(|| index.to_string())
}

/// Returns the name of a dimension, and its coordinates.
fn coordinates(
    data: &Dataset,
    (thing, axis): (&Thing, usize),
    length: u64,
) -> Result<(String, Places), Error> {
    let Some(variable) = thing.variable() else { return Ok((format!("index {axis}"), None)) };
    let dimension = variable.dimensions.get(axis);
    let name = dimension.and_then(|dimension| dimension.name.clone());
    let unnamed = || format!("index {axis}");
    let in_units = |units: Option<&String>| units.map(|units| format!(" ({units})")).unwrap_or_default();
    if let Some(spacing) = dimension.and_then(|dimension| dimension.spacing.as_ref()) {
        let places = along::spaced(spacing, Range::all(length)).into_iter();
        let cells = places.map(|place| Datum::Float(place, FloatKind::F64).to_string());
        let units = in_units(spacing.units.as_ref());
        return Ok((format!("{}{units}", name.unwrap_or_else(unnamed)), Some(cells.collect())));
    }
    let Some(found) = along::coordinates(data, (variable, axis), Range::all(length))? else {
        // Coordinates that do not belong to each index must not seem to be the indices.
        let name = match (name, variable.coordinates_path(axis)) {
            (Some(name), Some(_)) => format!("{name} (index)"),
            (name, _) => name.unwrap_or_else(unnamed),
        };
        return Ok((name, None));
    };
    let cells = found.values.cells()?.into_iter();
    let cells = cells.map(|cell| csv::quoted(&cell.unwrap_or_default()).into_owned()).collect();
    let time = matches!(found.of.decoding, sciformats_conventions::decoding::Decoding::Time { .. });
    let units = in_units(found.of.units.as_ref().filter(|_| !time));
    let middle = found.edges.map(|_| format!(" {}", along::MIDDLES)).unwrap_or_default();
    Ok((format!("{}{middle}{units}", name.unwrap_or_else(|| found.of.name.clone())), Some(cells)))
}

impl<'a> Part<'a> {
    /// All elements of an array.
    fn whole(array: &'a sciformats::Array<'a>, quoted: bool) -> Result<Self, Error> {
        Ok(Self::new(array, Selection::all(array.shape())?, quoted))
    }
}
