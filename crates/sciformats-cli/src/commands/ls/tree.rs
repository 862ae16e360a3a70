//! Lists the members of a group, and the members of its subgroups.

use std::io::Write;
use std::path::Path;

use sciformats::source::{Listed, Run, Runs, Source};
use sciformats::walk::{Seen, join};
use sciformats::{Error, Object, ObjectId, Target};
use sciformats_conventions::{Dataset, Table};

use super::List;
use super::cells::{self, Style, describe, described, wrong};
use super::meant::{self, Meant, mark, meant, refused};
use super::shorten::{Line, Shortened};
use super::sizes::{Sizes, Totals};
use crate::commands::attrs;
use crate::commands::json::JsonObject;
use crate::failure::Outcome;
use crate::look::{self, Cell, FAINT, GROUP, LINK, PLAIN, SHAPE, TYPE};

/// Groups that MATLAB names by itself, and what is in them.
const INTERNAL: [(&str, &str); 2] =
    [("#refs#", "contents of cells and objects"), ("#subsystem#", "list of objects")];

/// The number of columns of a table that are listed.
const COLUMNS: usize = 40;

/// The position of a line in the tree of its file.
#[derive(Clone, Copy)]
pub(super) struct Position<'a> {
    pub(super) file: &'a Path,
    /// The lines of the tree before the name: `│   └── `.
    pub(super) lead: &'a str,
    pub(super) path: &'a str,
    pub(super) name: &'a str,
    /// Whether the line stands for several objects that are alike.
    pub(super) several: bool,
}

/// The members of a group, one line at a time.
type Members<'a> = Box<dyn Iterator<Item = Result<Run, Error>> + 'a>;

/// A depth-first walk through one file.
pub(super) struct Walk<'a> {
    pub(super) path: &'a Path,
    pub(super) data: &'a Dataset,
    pub(super) seen: Seen,
    /// Whether the current group stands for several groups that are alike.
    pub(super) several: bool,
    /// The bytes of its groups, if they are shown.
    pub(super) totals: Option<Totals>,
}

/// What is found out about an object for its line.
struct Known {
    /// Whether it is examined.
    glance: bool,
    /// Its bytes, if they are shown.
    sizes: Option<Sizes>,
    /// Why its size is not known.
    unmeasured: Option<Error>,
    meant: Option<Meant>,
    /// The table that an array stands for, and what it is.
    table: Option<(String, Table)>,
}

impl Known {
    fn new(walk: &Walk<'_>, (path, id): (&str, ObjectId), object: &Object, glance: bool) -> Self {
        let data = walk.data;
        let sizes = walk.totals.as_ref().and_then(|totals| match object {
            Object::Group => Some(totals.of(id)),
            Object::Array(info) => Some(Sizes::of(info)),
            _ => None,
        });
        let Object::Array(info) = object else {
            return Self { glance, sizes, unmeasured: None, meant: None, table: None };
        };
        let unmeasured = data.file().source().sized(id).err();
        let meant = if unmeasured.is_none() { meant(data, (path, id), glance) } else { None };
        let is_plain = meant.is_none() && unmeasured.is_none() && glance && sizes.is_none();
        let table = if is_plain { meant::table(data, (path, id), info) } else { None };
        Self { glance, sizes, unmeasured, meant, table }
    }

    /// Describes the object for programs.
    fn describe(&self, line: &mut JsonObject, object: &Object) {
        describe(line, object, (self.meant.as_ref(), self.unmeasured.as_ref()));
        if let Some((_, table)) = &self.table {
            meant::json_table(line, table);
        }
        if let (Some(sizes), Object::Group) = (self.sizes, object) {
            line.value("arrays", sizes.arrays).value("stored", sizes.stored).value("logical", sizes.logical);
        }
    }
}

impl<W: Write> List<'_, W> {
    /// Lists the members of a group, and the members of its subgroups.
    pub(super) fn group(
        &mut self,
        walk: &mut Walk<'_>,
        (at, id): (&str, ObjectId),
        lead: &str,
        depth: usize,
    ) -> Outcome<()> {
        let file = walk.data.file();
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

    /// Returns the members of a group. Members that are alike share one line, except in the output for
    /// programs.
    fn runs<'s>(&self, source: &'s dyn Source, group: ObjectId) -> Result<Members<'s>, Error> {
        if !self.session.json {
            return Ok(Box::new(Runs::new(source, group)?));
        }
        let alone = |listed: Listed| Run { first: listed.member, last: None, count: 1 };
        Ok(Box::new(source.listing(group)?.map(move |listed| listed.map(alone))))
    }

    /// Lists one member, or several that are alike. `lead` stands before its name, and `below` before the
    /// names of its members.
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
                    &[("target_file", &file.shown()), ("target", &target.shown())],
                );
            }
            Target::User(class) => return self.link(&position, "userlink", &[("class", &class.to_string())]),
            Target::Damaged(error) => return self.damaged(&position, &error),
        };
        let source = walk.data.file().source();
        if at == "/" && !self.args.all && !self.session.json && self.args.descends(depth) {
            // Where MATLAB keeps what other variables refer to.
            if let Some(what) = INTERNAL.iter().find(|(own, _)| *own == name).map(|(_, what)| *what) {
                let name = Cell::new(FAINT, lead).and(GROUP, look::safe(&name)).and(FAINT, "/");
                let what = Cell::new(FAINT, format!("{what}; --all lists it"));
                return Ok(self.table.row(&mut self.out, vec![name, what])?);
            }
        }
        if let Some(first) = walk.seen.first(source, id, &path) {
            let first = first.to_owned();
            return self.link(&position, "hardlink", &[("target", &first)]);
        }
        let object = match source.measured(id) {
            Ok(object) => object,
            Err(error) => return self.damaged(&position, &error),
        };
        self.object(&position, (walk, id), &object, below)?;
        self.attributes(source, &Position { lead: below, ..position }, id)?;
        if matches!(object, Object::Group) && self.args.descends(depth) {
            let outside = std::mem::replace(&mut walk.several, several);
            self.group(walk, (&path, id), below, depth + 1)?;
            walk.several = outside;
        }
        Ok(())
    }

    fn object(
        &mut self,
        at: &Position<'_>,
        (walk, id): (&Walk<'_>, ObjectId),
        object: &Object,
        below: &str,
    ) -> Outcome<()> {
        // Groups that stand for several, and remote ones, are not examined.
        let glance = !at.several && !self.session.far().is_far(at.file);
        let known = Known::new(walk, (at.path, id), object, glance);
        if self.session.json {
            return self.json(at.file, at.path, |line| known.describe(line, object));
        }
        if let (Object::Array(info), Some((what, table))) = (object, &known.table) {
            let mut row = vec![Cell::new(FAINT, at.lead).and_cell(cells::name(at.name, None))];
            row.extend(cells::of_table(info, what, table));
            self.table.row(&mut self.out, row)?;
            let named = meant::has_columns(table) && self.args.descends(0);
            return if named { self.columns(table, below) } else { Ok(()) };
        }
        let row = self.row(at, (walk.data, id), object, &known);
        Ok(self.table.row(&mut self.out, row)?)
    }

    /// Returns the line of an object that is no table.
    fn row(
        &self,
        at: &Position<'_>,
        (data, id): (&Dataset, ObjectId),
        object: &Object,
        known: &Known,
    ) -> Vec<Cell> {
        let lead = Cell::new(FAINT, at.lead);
        let name = look::safe(at.name);
        match (object, known.sizes) {
            (Object::Group, Some(sizes)) => {
                let mut row = vec![lead.and(GROUP, name).and(FAINT, "/")];
                row.extend(sizes.cells(data.file().size()));
                row
            }
            (Object::Group, None) => {
                let mut row = vec![lead.and(GROUP, name).and(FAINT, "/")];
                row.extend(mark(data, (at.path, id)).map(|mark| Cell::new(FAINT, look::safe(&mark))));
                row
            }
            (Object::Array(info), sizes) => {
                let meant = known.meant.as_ref();
                let mut row = vec![lead.and_cell(cells::name(at.name, meant))];
                let unmeasured = known.unmeasured.is_some();
                let style = Style { long: self.args.long, several: at.several, unmeasured };
                row.extend(match sizes {
                    Some(_) if unmeasured => vec![cells::unknown()],
                    Some(sizes) => sizes.cells(data.file().size()),
                    None => cells::array(info, meant, style),
                });
                if meant.is_none() && !unmeasured && known.glance && sizes.is_none() {
                    let why = refused(data, (at.path, id));
                    let last = why.as_ref().and_then(|_| row.pop());
                    row.extend(
                        last.zip(why).map(|(last, why)| last.and(FAINT, format!(" {}", look::safe(&why)))),
                    );
                }
                row
            }
            (other, _) => vec![lead.and(PLAIN, name), described(other)],
        }
    }

    /// Lists the columns of a table below its line.
    pub(super) fn columns(&mut self, table: &Table, lead: &str) -> Outcome<()> {
        let count = table.all_columns().count();
        let most = if self.args.all { usize::MAX } else { COLUMNS };
        let left = sciformats_core::bound::left(count, most);
        for (at, column) in table.all_columns().take(most).enumerate() {
            let branch = if at + 1 == count { "└── " } else { "├── " };
            let name = Cell::new(FAINT, format!("{lead}{branch}")).and(PLAIN, look::safe(&column.name));
            let values = Cell::new(TYPE, look::safe(&look::clipped(&meant::values_of(column), 40)));
            let index = if at < table.index.len() { "index" } else { "" };
            let told = column.description.as_deref().unwrap_or_default();
            let told = Cell::new(PLAIN, look::safe(&look::clipped(told, 60)));
            self.table
                .row(&mut self.out, vec![name, values, Cell::new(SHAPE, index), Cell::default(), told])?;
        }
        if left > 0 {
            let more = format!("{lead}└── … {} more; --all lists them", look::count(left as u64, "column"));
            self.table.row(&mut self.out, vec![Cell::new(FAINT, more)])?;
        }
        Ok(())
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

    /// Reports a group that cannot be listed, or cannot be listed completely.
    fn broken(&mut self, file: &Path, (path, lead): (&str, &str), error: &Error) -> Outcome<()> {
        if self.session.json {
            return self.json(file, path, |line| {
                line.value("kind", "group").value("error", error.to_string());
            });
        }
        Ok(self.table.row(&mut self.out, vec![Cell::new(FAINT, lead).and(FAINT, "…"), wrong(error)])?)
    }

    pub(super) fn attributes(&mut self, source: &dyn Source, at: &Position<'_>, id: ObjectId) -> Outcome<()> {
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
                        attrs::describe(line, &attribute, meaning.as_deref());
                    })?;
                }
                Ok(attribute) => {
                    let lead = format!("{}@", at.lead);
                    let meaning = source.attribute_json(id, &attribute);
                    let cell = attrs::short(&attribute, &lead, meaning.as_deref());
                    self.table.row(&mut self.out, vec![cell])?;
                }
                Err(error) => self.damaged(&Position { name: "@", ..*at }, &error)?,
            }
        }
        Ok(())
    }
}
