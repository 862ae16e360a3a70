//! `ls`: lists the tree of a file, or the scientific files in a folder.

mod cells;
pub(in crate::commands) mod meant;
mod shorten;
mod sizes;
mod tree;

use std::fs;
use std::io::Write;
use std::path::Path;

use sciformats::walk::Seen;
use sciformats::{Error, Format, Object, ObjectId};
use sciformats_conventions::Dataset;

use self::cells::{Style, describe, described, title};
use self::meant::{self as meaning, Meant, meant};
use self::sizes::{Sizes, Totals};
use self::tree::{Position, Walk};
use super::FOLDERS;
use super::json::JsonObject;
use crate::args::{Ls, Object as Inside};
use crate::failure::{Answer, Failure, Outcome, complain};
use crate::look::{self, Align, Cell, FAINT, PLAIN, TYPE, Table, WRONG};
use crate::session::Session;
use crate::strange;

pub(super) fn run(args: &Ls, session: &Session) -> Outcome {
    let object = Inside { file: args.file.clone(), path: args.path.clone() };
    let objects = super::objects(&object, &args.more, session);
    let mut listed = false;
    super::for_each_object(&objects, (false, session), |object| {
        if listed && !session.json {
            let mut out = session.text();
            writeln!(out)?;
            out.flush()?;
        }
        let (file, path) = (object.file.clone(), object.path.clone());
        let answer = one(&Ls { file, path, more: Vec::new(), ..args.clone() }, session)?;
        listed = true;
        Ok(answer)
    })
}

fn one(args: &Ls, session: &Session) -> Outcome {
    let out = session.text();
    let mut list = List {
        args,
        session,
        out,
        files: Table::new(columns(2, args.long)).fitted(),
        table: Table::new(if args.sizes { SIZES.to_vec() } else { columns(1, args.long) }).fitted(),
        blocks: false,
        failed: Vec::new(),
    };
    // Some files are folders, such as sparse Blosc2 frames.
    if args.file.is_dir() && !matches!(Format::of_path(&args.file), Ok(Some(_))) {
        if args.path != "/" {
            return Err(Failure::Usage(format!(
                "{} is a folder and contains no objects",
                args.file.display()
            )));
        }
        if let Some((what, step)) = strange::named(&args.file) {
            return Err(Failure::Input(strange::told(&args.file, &what, &step)));
        }
        list.folder(&args.file, 0)?;
    } else {
        let file = session.open(&args.file)?;
        let id = file.resolve(&args.path).map_err(|error| Failure::within(&args.file, &file, &error))?;
        let data = Dataset::new(file);
        list.file(&args.file, &data, (&args.path, id))?;
        list.flush()?;
        Session::whole(&args.file, data.file())?;
    }
    list.flush()?;
    list.failed.iter().for_each(|failure| complain(&failure.to_string()));
    if list.failed.is_empty() { Ok(Answer::Yes) } else { Err(Failure::Reported) }
}

/// Returns the columns of a list: names and formats, type, shape, stored size, uncompressed size in long
/// lists, and storage.
fn columns(names: usize, long: bool) -> Vec<Align> {
    let mut columns = vec![Align::Left; names + 2];
    columns.extend(vec![Align::Right; if long { 2 } else { 1 }]);
    columns.push(Align::Left);
    columns
}

/// The columns of a list of sizes: names, stored size, uncompressed size, part of the file, and a bar.
const SIZES: [Align; 5] = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Left];

struct List<'a, W> {
    args: &'a Ls,
    session: &'a Session,
    out: W,
    /// One-line files that wait for the widths of their columns.
    files: Table,
    /// Lines of the tree of one file that wait for the widths of their columns.
    table: Table,
    /// Whether a block of several lines was written; the next file is then separated from it.
    blocks: bool,
    /// Why files of a folder cannot be read, or are not whole. The others are listed first.
    failed: Vec<Failure>,
}

impl<W: Write> List<'_, W> {
    fn flush(&mut self) -> Outcome<()> {
        self.table.flush(&mut self.out)?;
        self.files.flush(&mut self.out)?;
        Ok(self.out.flush()?)
    }

    /// Lists the scientific files in a folder by name, and then those in its subfolders.
    fn folder(&mut self, folder: &Path, depth: usize) -> Outcome<()> {
        let read = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = match read {
            Ok(entries) => entries,
            Err(error) if depth == 0 => {
                let error = Error::io("list", error).in_file(folder, None);
                return Err(Failure::of(folder, &error));
            }
            Err(error) => {
                self.unreadable(folder, None, &error.to_string())?;
                let error = Error::io("list", error).in_file(folder, None);
                self.failed.push(Failure::of(folder, &error));
                return Ok(());
            }
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut folders = Vec::new();
        for entry in entries {
            let path = entry.path();
            if path.is_dir() && !matches!(Format::of_path(&path), Ok(Some(_))) {
                match strange::named(&path) {
                    Some(strange) => self.unreadable(&path, None, &strange::said(&strange))?,
                    None => folders.push(path),
                }
            } else {
                self.candidate(&path)?;
            }
        }
        if self.args.descends(depth) && depth < FOLDERS {
            folders.iter().try_for_each(|folder| self.folder(folder, depth + 1))?;
        }
        Ok(())
    }

    /// Lists a file of a folder if it is a scientific file or has the name of one. If it has only the name, or is data
    /// of another format, the line says what it is and what to do with it.
    fn candidate(&mut self, path: &Path) -> Outcome<()> {
        match self.session.try_open(path) {
            Ok(file) => {
                let (root, data) = (file.source().root(), Dataset::new(file));
                match self.file(path, &data, ("/", root)).and_then(|()| Session::whole(path, data.file())) {
                    Err(failure @ (Failure::Input(_) | Failure::Usage(_) | Failure::Refused(_))) => {
                        self.failed.push(failure);
                        Ok(())
                    }
                    listed => listed,
                }
            }
            Err(error) => {
                let format = Format::of_path(path).ok().flatten();
                let strange = if format.is_none() { strange::named(path) } else { None };
                match (format.or_else(|| Format::expected_of(path)), strange) {
                    (Some(_), Some(strange)) => self.unreadable(path, None, &strange::said(&strange)),
                    (Some(format), None) => {
                        self.unreadable(path, Some(format), &error.to_string())?;
                        self.failed.push(Failure::of(path, &error));
                        Ok(())
                    }
                    (None, Some(strange)) if strange::is_data(&strange) => {
                        self.unreadable(path, None, &strange::said(&strange))
                    }
                    (None, _) => Ok(()),
                }
            }
        }
    }

    fn unreadable(&mut self, path: &Path, format: Option<Format>, error: &str) -> Outcome<()> {
        if self.session.json {
            let mut object = JsonObject::new();
            object.value("file", path.display().to_string());
            if let Some(format) = format {
                object.value("format", format.word());
            }
            object.value("error", error);
            writeln!(self.out, "{}", object.finish())?;
            return Ok(());
        }
        self.set_apart(false)?;
        let format = Cell::new(FAINT, format.map(|format| format.to_string()).unwrap_or_default());
        self.files.row(&mut self.out, vec![title(path), format, Cell::new(WRONG, look::safe(error))])?;
        Ok(())
    }

    /// Separates files with trees from each other; one-line files are not separated.
    fn set_apart(&mut self, block: bool) -> Outcome<()> {
        if block {
            self.files.flush(&mut self.out)?;
        }
        if self.blocks {
            writeln!(self.out)?;
        }
        self.blocks = block;
        Ok(())
    }

    /// Lists a file, starting at one of its objects.
    fn file(&mut self, path: &Path, data: &Dataset, (at, id): (&str, ObjectId)) -> Outcome<()> {
        let file = data.file();
        let source = file.source();
        let object = source.measured(id).map_err(|error| Failure::of(path, &error))?;
        let group = matches!(object, Object::Group);
        // In a list of files, the contents of each are listed only with `-r`.
        let tree = group && (self.args.recursive || !self.args.file.is_dir());
        let glance = !self.session.far().is_far(path);
        let unknown = source.sized(id).err().filter(|_| matches!(object, Object::Array(_)));
        let meant = if group || unknown.is_some() { None } else { meant(data, (at, id), glance) };
        if self.session.json {
            self.json(path, at, |line| {
                line.value("format", file.format().word());
                if file.cut_short().is_some() {
                    line.value("truncated", true);
                }
                describe(line, &object, (meant.as_ref(), unknown.as_ref()));
            })?;
        } else {
            self.set_apart(tree)?;
            self.heading((path, data), (at, &object), meant.as_ref(), tree)?;
        }
        // The columns of a table are below the array that stands for it.
        if let (Object::Array(info), None, true) = (&object, &meant, glance && !self.session.json)
            && let Some((_, table)) = meaning::table(data, (at, id), info)
            && meaning::has_columns(&table)
        {
            self.files.flush(&mut self.out)?;
            self.columns(&table, "")?;
        }
        let lead = if tree { "│   " } else { "    " };
        self.attributes(source, &Position { file: path, lead, path: at, name: "", several: false }, id)?;
        if tree {
            let totals =
                self.args.sizes.then(|| self.session.watched("listing", &[file], || Totals::new(file, id)));
            let sum = totals.as_ref().map(|totals| totals.of(id));
            let mut walk = Walk { path, data, seen: Seen::default(), several: false, totals };
            let _ = walk.seen.first(source, id, at);
            self.group(&mut walk, (at, id), "", 0)?;
            self.table.flush(&mut self.out)?;
            if let Some(sum) = sum.filter(|_| !self.session.json) {
                self.summary(sum, (at == "/").then(|| file.size()))?;
            }
        }
        Ok(())
    }

    /// Writes the line of the file itself, which describes the array if the file is a single one.
    fn heading(
        &mut self,
        (path, data): (&Path, &Dataset),
        (at, object): (&str, &Object),
        meant: Option<&Meant>,
        alone: bool,
    ) -> Outcome<()> {
        let file = data.file();
        let inside = if at == "/" { String::new() } else { format!(" {}", look::safe(at)) };
        let name = title(path).and(PLAIN, inside);
        let format = file.format().to_string();
        let cut = if file.cut_short().is_some() { ", cut short" } else { "" };
        let Object::Array(info) = object else {
            let headline = file.source().headline();
            let space = if headline.is_empty() { "" } else { " " };
            let kind = Cell::new(TYPE, format).and(PLAIN, format!("{space}{}", look::safe(&headline)));
            let near = alone && !self.session.far().is_far(path);
            let kind = if near { kind.and(PLAIN, look::safe(&conventions(data))) } else { kind };
            let kind = kind.and(WRONG, cut);
            let size = Cell::new(FAINT, look::size(file.size()));
            let what = match object {
                Object::Group => Cell::default(),
                other => described(other),
            };
            let row = vec![name, kind.and(FAINT, "  ").and_cell(size), what];
            if !alone {
                return Ok(self.files.row(&mut self.out, row)?);
            }
            self.table.row(&mut self.out, row)?;
            return Ok(self.table.flush(&mut self.out)?);
        };
        let mut row = vec![name, Cell::new(FAINT, format).and(WRONG, cut)];
        let id = file.resolve(at).map_err(|error| Failure::within(path, file, &error))?;
        let unmeasured = file.source().sized(id).is_err();
        let table = match meant {
            None if !unmeasured && !self.session.far().is_far(path) => meaning::table(data, (at, id), info),
            _ => None,
        };
        row.extend(match &table {
            Some((what, table)) => cells::of_table(info, what, table),
            None => cells::array(info, meant, Style { long: self.args.long, several: false, unmeasured }),
        });
        Ok(self.files.row(&mut self.out, row)?)
    }

    /// Writes what all arrays occupy together, and what else is in a file of this size.
    fn summary(&mut self, sum: Sizes, file: Option<u64>) -> Outcome<()> {
        let Sizes { stored, logical, arrays } = sum;
        let arrays = look::count(arrays, "array");
        let sum = format!("{arrays}: {} of {}", look::size(stored), look::size(logical));
        let rest = file.and_then(|file| file.checked_sub(stored));
        let rest = rest.map(|rest| format!("; everything else in the file: {}", look::size(rest)));
        writeln!(self.out, "{FAINT}{sum}{}{FAINT:#}", rest.unwrap_or_default())?;
        Ok(())
    }

    fn json(&mut self, file: &Path, path: &str, fill: impl FnOnce(&mut JsonObject)) -> Outcome<()> {
        let mut line = JsonObject::new();
        line.value("file", file.display().to_string()).value("path", path);
        fill(&mut line);
        writeln!(self.out, "{}", line.finish())?;
        Ok(())
    }
}

/// Returns the conventions that a file follows: `, CF 1.11`.
fn conventions(data: &Dataset) -> String {
    let file = data.file();
    let headline = format!("{} {}", file.format(), file.source().headline()).to_lowercase();
    let found = data.identities().unwrap_or_default().into_iter();
    // A format that defines its own convention has named it already.
    let found = found.filter(|identity| !headline.contains(&identity.convention.to_lowercase()));
    found.map(|identity| format!(", {identity}")).collect()
}

#[cfg(test)]
mod tests;
