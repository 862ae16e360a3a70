//! `ls`: the tree of a file, or the scientific files in a folder.

mod cells;
mod shorten;

use std::fs;
use std::io::Write;
use std::path::Path;

use sciformats::source::{Listed, Run, Runs, Source};
use sciformats::walk::{Seen, join};
use sciformats::{Error, File, Format, Object, ObjectId, Target};

use self::cells::{describe, described, title, wrong};
use self::shorten::{Line, Shortened};
use super::json::JsonObject;
use crate::args::Ls;
use crate::failure::{Answer, Failure, Outcome};
use crate::look::{self, Align, Cell, FAINT, GROUP, LINK, PLAIN, TYPE, Table, WRONG};
use crate::session::Session;

pub(super) fn run(args: &Ls, session: &Session) -> Outcome {
    let out = session.text();
    let mut list = List {
        args,
        session,
        out,
        files: Table::new(columns(2, args.long)),
        table: Table::new(columns(1, args.long)),
        blocks: false,
    };
    // A folder may be one file itself.
    if args.file.is_dir() && !matches!(Format::of_path(&args.file), Ok(Some(_))) {
        if args.path != "/" {
            return Err(Failure::Usage(format!("{} is a folder and holds no objects", args.file.display())));
        }
        list.folder(&args.file, 0)?;
    } else {
        let file = session.open(&args.file)?;
        let fail = |error| Failure::of(&args.file, &error);
        let id = file.resolve(&args.path).map_err(fail)?;
        list.file(&args.file, &file, (&args.path, id))?;
    }
    list.table.flush(&mut list.out)?;
    list.files.flush(&mut list.out)?;
    list.out.flush()?;
    Ok(Answer::Yes)
}

/// The columns of a list: names and formats, type, shape, stored size, logical size in long lists, how it is stored.
fn columns(names: usize, long: bool) -> Vec<Align> {
    let mut columns = vec![Align::Left; names + 2];
    columns.extend(vec![Align::Right; if long { 2 } else { 1 }]);
    columns.push(Align::Left);
    columns
}

/// Folders in folders that are looked into; links may lead in a circle.
const FOLDERS: usize = 32;

struct List<'a, W> {
    args: &'a Ls,
    session: &'a Session,
    out: W,
    /// Files of one line that wait for their widths.
    files: Table,
    /// Lines of the tree of one file that do.
    table: Table,
    /// Whether a block of several lines was written: the next file is set apart from it.
    blocks: bool,
}

/// Where a row stands in the tree of its file.
#[derive(Clone, Copy)]
struct Position<'a> {
    file: &'a Path,
    /// The lines that lead down to it: `│   └── `.
    lead: &'a str,
    path: &'a str,
    name: &'a str,
    /// Whether it stands for several that are alike.
    several: bool,
}

impl<W: Write> List<'_, W> {
    /// Lists the scientific files in a folder by name, then those in the folders in it.
    fn folder(&mut self, folder: &Path, depth: usize) -> Outcome<()> {
        let read = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = match read {
            Ok(entries) => entries,
            Err(error) if depth == 0 => {
                let error = Error::io("list", error).in_file(folder, None);
                return Err(Failure::of(folder, &error));
            }
            Err(error) => return self.unreadable(folder, None, &error.to_string()),
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut folders = Vec::new();
        for entry in entries {
            let path = entry.path();
            if path.is_dir() && !matches!(Format::of_path(&path), Ok(Some(_))) {
                folders.push(path);
            } else {
                self.candidate(&path)?;
            }
        }
        if self.args.recursive && depth < FOLDERS {
            folders.iter().try_for_each(|folder| self.folder(folder, depth + 1))?;
        }
        Ok(())
    }

    /// Lists a file of a folder, if it is a scientific one or goes by such a name.
    fn candidate(&mut self, path: &Path) -> Outcome<()> {
        match self.session.try_open(path) {
            Ok(file) => {
                let root = file.source().root();
                self.file(path, &file, ("/", root))
            }
            Err(error) => match Format::of_path(path).ok().flatten().or_else(|| Format::expected_of(path)) {
                Some(format) => self.unreadable(path, Some(format), &error.to_string()),
                None => Ok(()),
            },
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

    /// Sets files with trees apart from each other; those of one line stand together.
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

    /// Lists a file from one of its objects on.
    fn file(&mut self, path: &Path, file: &File, (at, id): (&str, ObjectId)) -> Outcome<()> {
        let source = file.source();
        let object = source.object(id).map_err(|error| Failure::of(path, &error))?;
        let group = matches!(object, Object::Group);
        // In a list of files, only `-r` looks into them.
        let tree = group && (self.args.recursive || !self.args.file.is_dir());
        if self.session.json {
            self.json(path, at, |line| {
                line.value("format", file.format().word());
                describe(line, &object);
            })?;
        } else {
            self.set_apart(tree)?;
            self.heading(path, file, (at, &object), tree)?;
        }
        let lead = if tree { "│   " } else { "    " };
        self.attributes(source, &Position { file: path, lead, path: at, name: "", several: false }, id)?;
        if tree {
            let mut walk = Walk { path, file, seen: Seen::default(), several: false };
            let _ = walk.seen.first(source, id, at);
            self.group(&mut walk, (at, id), "", 0)?;
            self.table.flush(&mut self.out)?;
        }
        Ok(())
    }

    /// The line of the file itself: with all about the array, if it is one.
    fn heading(
        &mut self,
        path: &Path,
        file: &File,
        (at, object): (&str, &Object),
        alone: bool,
    ) -> Outcome<()> {
        let inside = if at == "/" { String::new() } else { format!(" {}", look::safe(at)) };
        let name = title(path).and(PLAIN, inside);
        let format = file.format().to_string();
        let Object::Array(info) = object else {
            let headline = file.source().headline();
            let space = if headline.is_empty() { "" } else { " " };
            let kind = Cell::new(TYPE, format).and(PLAIN, format!("{space}{}", look::safe(&headline)));
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
        let mut row = vec![name, Cell::new(FAINT, format)];
        row.extend(cells::array(info, self.args.long, false));
        Ok(self.files.row(&mut self.out, row)?)
    }

    fn json(&mut self, file: &Path, path: &str, fill: impl FnOnce(&mut JsonObject)) -> Outcome<()> {
        let mut line = JsonObject::new();
        line.value("file", file.display().to_string()).value("path", path);
        fill(&mut line);
        writeln!(self.out, "{}", line.finish())?;
        Ok(())
    }
}

/// Members of a group, line by line.
type Members<'a> = Box<dyn Iterator<Item = Result<Run, Error>> + 'a>;

/// A walk through one file, depth first.
struct Walk<'a> {
    path: &'a Path,
    file: &'a File,
    seen: Seen,
    /// Whether what is listed at present stands for several groups that are alike.
    several: bool,
}

impl<W: Write> List<'_, W> {
    /// Lists the members of a group, and of the groups in it.
    fn group(
        &mut self,
        walk: &mut Walk<'_>,
        (at, id): (&str, ObjectId),
        lead: &str,
        depth: usize,
    ) -> Outcome<()> {
        let file = walk.file;
        let deep = file.limits().depth("levels of groups", depth);
        let members = match deep.and_then(|()| self.runs(file.source(), id)) {
            Ok(members) => members,
            Err(error) => return self.broken(walk.path, (at, lead), &error),
        };
        let all = self.args.all || self.session.json;
        let mut members = Shortened::new(members, all).peekable();
        while let Some(member) = members.next() {
            let last = members.peek().is_none();
            let (branch, below) = if last { ("└── ", "    ") } else { ("├── ", "│   ") };
            let branch = format!("{lead}{branch}");
            match member {
                Ok(Line::Run(run)) => {
                    self.member(walk, (at, &branch, &format!("{lead}{below}")), run, depth)?;
                }
                Ok(Line::LeftOut(members)) => {
                    let left_out = format!("… {} more; --all lists them", look::grouped(members));
                    self.table.row(&mut self.out, vec![Cell::new(FAINT, branch + &left_out)])?;
                }
                Err(error) => self.broken(walk.path, (at, &branch), &error)?,
            }
        }
        Ok(())
    }

    /// The members of a group. Those that are alike are one line for people, and one each for programs.
    fn runs<'s>(&self, source: &'s dyn Source, group: ObjectId) -> Result<Members<'s>, Error> {
        if !self.session.json {
            return Ok(Box::new(Runs::new(source, group)?));
        }
        let alone = |listed: Listed| Run { first: listed.member, last: None, count: 1 };
        Ok(Box::new(source.listing(group)?.map(move |listed| listed.map(alone))))
    }

    /// Lists one member, or several that are alike; `lead` stands before its name and `below` before those of its
    /// members.
    fn member(
        &mut self,
        walk: &mut Walk<'_>,
        (at, lead, below): (&str, &str, &str),
        Run { first, last, .. }: Run,
        depth: usize,
    ) -> Outcome<()> {
        let path = join(at, &first.name);
        let several = walk.several || last.is_some();
        let name = match &last {
            Some(last) => format!("{}…{}", first.name.shown(), last.shown()).into(),
            None => first.name.shown(),
        };
        let position = Position { file: walk.path, lead, path: &path, name: &name, several };
        let id = match first.target {
            Target::Object(id) => id,
            Target::Soft(target) => return self.link(&position, "softlink", &[("target", &target.shown())]),
            Target::External { file, target } => {
                return self.link(
                    &position,
                    "extlink",
                    &[("file", &file.shown()), ("target", &target.shown())],
                );
            }
            Target::User(class) => return self.link(&position, "userlink", &[("class", &class.to_string())]),
            Target::Damaged(error) => return self.damaged(&position, &error),
        };
        let source = walk.file.source();
        if let Some(first) = walk.seen.first(source, id, &path) {
            let first = first.to_owned();
            return self.link(&position, "hardlink", &[("target", &first)]);
        }
        let object = match source.object(id) {
            Ok(object) => object,
            Err(error) => return self.damaged(&position, &error),
        };
        self.object(&position, &object)?;
        self.attributes(source, &Position { lead: below, ..position }, id)?;
        if matches!(object, Object::Group) && self.args.recursive {
            let outside = std::mem::replace(&mut walk.several, several);
            self.group(walk, (&path, id), below, depth + 1)?;
            walk.several = outside;
        }
        Ok(())
    }

    fn object(&mut self, at: &Position<'_>, object: &Object) -> Outcome<()> {
        if self.session.json {
            return self.json(at.file, at.path, |line| describe(line, object));
        }
        let lead = Cell::new(FAINT, at.lead);
        let name = look::safe(at.name);
        let row = match object {
            Object::Group => vec![lead.and(GROUP, name).and(FAINT, "/")],
            Object::Array(info) => {
                let mut row = vec![lead.and(PLAIN, name)];
                row.extend(cells::array(info, self.args.long, at.several));
                row
            }
            other => vec![lead.and(PLAIN, name), described(other)],
        };
        Ok(self.table.row(&mut self.out, row)?)
    }

    fn link(&mut self, at: &Position<'_>, kind: &str, parts: &[(&str, &str)]) -> Outcome<()> {
        if self.session.json {
            return self.json(at.file, at.path, |line| {
                line.value("kind", kind);
                for (key, value) in parts {
                    line.value(key, *value);
                }
            });
        }
        let arrow = match kind {
            "hardlink" => " = ",
            "userlink" => " → class ",
            _ => " → ",
        };
        let target = parts.iter().map(|(_, value)| *value).collect::<Vec<_>>().join(" : ");
        let name = Cell::new(FAINT, at.lead).and(LINK, look::safe(at.name)).and(FAINT, arrow);
        Ok(self.table.row(&mut self.out, vec![name.and(PLAIN, look::safe(&target))])?)
    }

    fn damaged(&mut self, at: &Position<'_>, error: &Error) -> Outcome<()> {
        if self.session.json {
            return self.json(at.file, at.path, |line| {
                line.value("kind", "unknown").value("error", error.to_string());
            });
        }
        let name = Cell::new(FAINT, at.lead).and(PLAIN, look::safe(at.name));
        Ok(self.table.row(&mut self.out, vec![name, wrong(error)])?)
    }

    /// A group that cannot be listed, or not to its end.
    fn broken(&mut self, file: &Path, (path, lead): (&str, &str), error: &Error) -> Outcome<()> {
        if self.session.json {
            return self.json(file, path, |line| {
                line.value("kind", "group").value("error", error.to_string());
            });
        }
        Ok(self.table.row(&mut self.out, vec![Cell::new(FAINT, lead).and(FAINT, "…"), wrong(error)])?)
    }

    fn attributes(&mut self, source: &dyn Source, at: &Position<'_>, id: ObjectId) -> Outcome<()> {
        if !self.args.attrs {
            return Ok(());
        }
        let attributes = match source.attributes(id) {
            Ok(attributes) => attributes,
            Err(error) => return self.damaged(&Position { name: "@", ..*at }, &error),
        };
        for attribute in attributes {
            match attribute {
                Ok(attribute) if self.session.json => {
                    let meaning = source.attribute_json(id, &attribute);
                    self.json(at.file, at.path, |line| {
                        super::attrs::describe(line, &attribute, meaning.as_deref());
                    })?;
                }
                Ok(attribute) => {
                    let lead = format!("{}@", at.lead);
                    let meaning = source.attribute_json(id, &attribute);
                    let mut row = super::attrs::row(&attribute, &lead, meaning.as_deref());
                    if let Some(value) = row.pop() {
                        row.extend(vec![Cell::default(); if self.args.long { 2 } else { 1 }]);
                        row.push(value);
                    }
                    self.table.row(&mut self.out, row)?;
                }
                Err(error) => self.damaged(&Position { name: "@", ..*at }, &error)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sciformats::Value;
    use sciformats::memory::{Memory, array, texts};

    use super::*;
    use crate::args::{Color, Global};

    fn sample() -> Memory {
        let mut memory = Memory::new(Format::Hdf5);
        let root = memory.root();
        memory.fact("version", "1.10");
        memory.attribute(root, "title", texts(&[], &["a run\x1b[0m"]));
        let fields = memory.group(root, "fields");
        let mut u = array::<f64>(&[2, 3], &[0.0; 6]);
        u.info.chunks = Some(vec![1, 3]);
        u.info.filters = vec!["shuffle".into(), "zlib 6".into()];
        u.info.stored = Some(20);
        let u = memory.array(fields, "u", u);
        memory.attribute(u, "units", texts(&[], &["m/s"]));
        memory.attribute(u, "range", array::<i32>(&[2], &[-1, 1]));
        memory.group(fields, "empty");
        memory.hard_link(root, "same", u);
        memory.soft_link(root, "soft", "/fields/u");
        memory.external_link(root, "other", "b.h5", "/x");
        memory.user_link(root, "user", 187);
        memory.value(root, "answer", Value::from(42u8));
        memory.damage(root, "torn");
        memory
    }

    fn listed(flags: [bool; 3], json: bool) -> String {
        listed_of(sample(), flags, json)
    }

    fn listed_of(memory: Memory, flags: [bool; 3], json: bool) -> String {
        let [recursive, long, attrs] = flags;
        let args = Ls { file: "run.h5".into(), path: "/".into(), recursive, long, attrs, all: false };
        let global = Global { json, threads: 1, limit_memory: None, quiet: true, color: Color::Auto };
        let session = Session::new(&global).unwrap();
        let (files, table) = (Table::new(columns(2, long)), Table::new(columns(1, long)));
        let mut list = List { args: &args, session: &session, out: Vec::new(), files, table, blocks: false };
        let file = File::from(memory);
        let root = file.source().root();
        list.file(Path::new("data/run.h5"), &file, ("/", root)).unwrap();
        anstream::adapter::strip_str(&String::from_utf8(list.out).unwrap()).to_string()
    }

    #[test]
    fn the_members_of_a_group() {
        assert_eq!(
            listed([false; 3], false),
            "\
data/run.h5  HDF5 1.10  0 B
├── answer  42
├── fields/
├── other → b.h5 : /x
├── same    f8  2 × 3  20 B  shuffle, zlib 6
├── soft → /fields/u
├── torn    malformed object at offset 0x40: it is truncated
└── user → class 187
"
        );
    }

    #[test]
    fn the_whole_tree_with_everything() {
        assert_eq!(
            listed([true; 3], false),
            "\
data/run.h5  HDF5 1.10  0 B
│   @title      str  scalar                 a run\\u{1b}[0m
├── answer      42
├── fields/
│   ├── empty/
│   └── u       f8   2 × 3   20 B  of 48 B  chunks 1 × 3, shuffle, zlib 6
│       @range  i4   2                      [-1, 1]
│       @units  str  scalar                 m/s
├── other → b.h5 : /x
├── same = /fields/u
├── soft → /fields/u
├── torn        malformed object at offset 0x40: it is truncated
└── user → class 187
"
        );
    }

    fn frames() -> Memory {
        let mut memory = Memory::new(Format::Gsd);
        let frames = memory.group(memory.root(), "frames");
        for i in 0..12u8 {
            let frame = memory.group(frames, &i.to_string());
            let mut x = array::<f32>(&[2], &[f32::from(i), 0.0]);
            x.info.facts = vec![("offset", Value::from(8 * i)), ("byte order", "little-endian".into())];
            if i == 0 {
                memory.array(frame, "n", array::<u32>(&[1], &[2]));
                x.info.facts.clear();
            }
            memory.array(frame, "x", x);
        }
        memory
    }

    #[test]
    fn members_that_are_alike_are_one_line() {
        assert_eq!(
            listed_of(frames(), [true, true, false], false),
            "\
data/run.h5  GSD  0 B
└── frames/
    ├── 0/
    │   ├── n  u4  1    of 4 B
    │   └── x  f4  2    of 8 B
    └── 1…11/
        └── x  f4  2    of 8 B  little-endian
"
        );
        // Programs get them all, in the same order.
        let text = listed_of(frames(), [true, false, false], true);
        let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let groups: Vec<String> = lines
            .filter(|line| line["kind"] == "group")
            .map(|line| line["path"].as_str().unwrap().replace("/frames/", ""))
            .collect();
        assert_eq!(groups[2..], ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]);
        assert_eq!(text.lines().count(), 2 + 12 + 13);
    }

    #[test]
    fn lines_for_programs() {
        let text = listed([true, false, true], true);
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 13);
        assert_eq!(lines[0]["format"], "hdf5");
        let u = lines.iter().find(|line| line["path"] == "/fields/u").unwrap();
        assert_eq!(
            u.to_string(),
            r#"{"file":"data/run.h5","path":"/fields/u","kind":"array","type":"f8","shape":[2,3],"chunks":[1,3],"filters":["shuffle","zlib 6"],"stored":20,"logical":48}"#
        );
        assert!(lines.iter().any(|line| line["kind"] == "attribute" && line["value"] == "m/s"));
    }
}
