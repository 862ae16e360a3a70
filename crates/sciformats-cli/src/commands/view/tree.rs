//! The tree of a file, as lines that are opened and closed. A group is listed when it is opened, and an
//! object is examined when its line is shown, because a file may have any number of objects.

use sciformats::walk::join;
use sciformats::{ArrayInfo, ElementType, File, Format, Kind, Name, Object, ObjectId, Result, Target};
use sciformats_conventions::type_name;
use sciformats_core::bound;

use crate::look;

/// What a line stands for.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::commands) enum Leads {
    /// An object.
    To(ObjectId),
    /// A link that is not followed, and its description.
    Away(String),
}

/// What is known about an object after its line was shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Known {
    pub(super) kind: Kind,
    /// Whether its line can be opened: a group, or a table of logged quantities whose columns are arrays too.
    pub(super) opens: bool,
    /// The type and shape of an array, the value of a scalar, or what is wrong.
    pub(super) note: String,
}

/// One line of the tree.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) depth: usize,
    /// The name of the member that leads to the object.
    pub(super) name: sciformats::Name,
    pub(super) leads: Leads,
    pub(super) open: bool,
    known: Option<Known>,
}

/// The visible lines, and the selected one.
#[derive(Debug)]
pub(super) struct Tree {
    lines: Vec<Line>,
    pub(super) selected: usize,
    /// The first line on the screen.
    pub(super) top: usize,
}

impl Tree {
    /// Creates the tree with its root opened.
    pub(super) fn new(file: &File) -> Result<Self> {
        let leads = Leads::To(file.source().root());
        let root = Line { depth: 0, name: "/".into(), leads, open: false, known: None };
        let mut tree = Self { lines: vec![root], selected: 0, top: 0 };
        if tree.known(file, 0).is_some_and(|known| known.kind == Kind::Group) {
            tree.open(file, 0)?;
        }
        Ok(tree)
    }

    pub(super) fn line(&self, index: usize) -> Option<&Line> {
        self.lines.get(index)
    }

    /// Returns what is known about the object of a line; `None` for a link.
    pub(super) fn known(&mut self, file: &File, index: usize) -> Option<&Known> {
        let line = self.lines.get_mut(index)?;
        let Leads::To(id) = line.leads else { return None };
        Some(line.known.get_or_insert_with(|| look_at(file, id)))
    }

    /// Returns the path of a line.
    pub(super) fn path(&self, index: usize) -> String {
        let mut names = Vec::new();
        let mut depth = usize::MAX;
        for line in self.lines.get(..=index).unwrap_or_default().iter().rev() {
            if line.depth < depth {
                depth = line.depth;
                names.push(&line.name);
            }
            if depth == 0 {
                break;
            }
        }
        // The last of these lines is the root.
        names.pop();
        names.iter().rev().fold("/".to_owned(), |path, name| join(&path, name))
    }

    /// Lists the members of the group at a line below that line.
    pub(super) fn open(&mut self, file: &File, index: usize) -> Result<()> {
        let Some(Line { depth, leads: Leads::To(id), open: false, .. }) = self.lines.get(index) else {
            return Ok(());
        };
        let depth = depth + 1;
        let mut members = unlisted(file, *id, depth);
        let group = matches!(file.source().object(*id)?, Object::Group);
        let listing = if group { Some(file.source().listing(*id)?) } else { None };
        for listed in listing.into_iter().flatten() {
            let member = listed?.member;
            let leads = match member.target {
                Target::Object(id) => Leads::To(id),
                Target::Soft(path) => Leads::Away(format!("→ {}", path.shown())),
                Target::External { file, target } => {
                    Leads::Away(format!("→ {} : {}", file.shown(), target.shown()))
                }
                Target::User(class) => Leads::Away(format!("→ class {class}")),
                Target::Damaged(error) => Leads::Away(error.to_string()),
            };
            members.push(Line { depth, name: member.name, leads, open: false, known: None });
        }
        self.lines.splice(index + 1..index + 1, members);
        if let Some(line) = self.lines.get_mut(index) {
            line.open = true;
        }
        Ok(())
    }

    /// Removes the lines below a line.
    pub(super) fn close(&mut self, index: usize) {
        let Some(line) = self.lines.get_mut(index) else { return };
        let depth = line.depth;
        line.open = false;
        let below = self.lines.get(index + 1..).unwrap_or_default();
        let count = below.iter().take_while(|line| line.depth > depth).count();
        self.lines.drain(index + 1..index + 1 + count);
        if self.selected > index {
            self.selected = bound::left(self.selected, count).max(index);
        }
    }

    /// Returns the line of the parent group.
    pub(super) fn parent(&self, index: usize) -> Option<usize> {
        let depth = self.lines.get(index)?.depth.checked_sub(1)?;
        self.lines.get(..index)?.iter().rposition(|line| line.depth == depth)
    }

    /// Moves the selection by a number of lines.
    pub(super) fn step(&mut self, by: isize) {
        self.selected = self.selected.saturating_add_signed(by).min(bound::left(self.lines.len(), 1)); // a bound: the first line and the last
    }

    /// Opens the groups on the way to the object that the names lead to, and selects the object.
    pub(super) fn reveal(&mut self, file: &File, names: &[sciformats::Name]) -> Result<bool> {
        let mut at = 0;
        for name in names {
            self.open(file, at)?;
            let depth = self.lines.get(at).map_or(0, |line| line.depth) + 1;
            let below = self.lines.get(at + 1..).unwrap_or_default();
            let inside = below.iter().take_while(|line| line.depth >= depth);
            let found = inside.enumerate().find(|(_, line)| line.depth == depth && line.name == *name);
            let Some((offset, _)) = found else { return Ok(false) };
            at += 1 + offset;
        }
        self.selected = at;
        Ok(true)
    }

    /// Scrolls so that the selected line is among the `height` visible lines.
    pub(super) fn scroll(&mut self, height: usize) {
        let lowest = bound::left(self.selected + 1, height);
        self.top = self.top.clamp(lowest, self.selected.max(lowest));
        self.top = self.top.min(bound::left(self.lines.len(), height).max(lowest));
    }
}

/// The quantities that HOOMD logs, which files of GSD do not list among their members.
const LOG: &str = "log";

/// Returns the columns of the table of logged quantities, each with its name below the table.
fn columns<'a>(file: &'a File, info: &'a ArrayInfo) -> impl Iterator<Item = (Name, ObjectId)> + 'a {
    let fields: &[(Name, ElementType)] = match &info.element {
        ElementType::Compound(fields) if file.format() == Format::Gsd => fields.as_slice(),
        _ => &[],
    };
    let source = file.source();
    fields.iter().filter_map(move |(name, _)| match source.member(source.root(), name) {
        Ok(Some(Target::Object(id))) => Some((Name::from(name.shown().strip_prefix("log/")?), id)),
        _ => None,
    })
}

/// Returns the lines of members that a group does not list.
fn unlisted(file: &File, id: ObjectId, depth: usize) -> Vec<Line> {
    let source = file.source();
    let line = |(name, id)| Line { depth, name, leads: Leads::To(id), open: false, known: None };
    if file.format() == Format::Gsd && id == source.root() {
        return match source.member(id, &Name::from(LOG)) {
            Ok(Some(Target::Object(log))) => vec![line((LOG.into(), log))],
            _ => Vec::new(),
        };
    }
    match source.object(id) {
        Ok(Object::Array(info)) => columns(file, &info).map(line).collect(),
        _ => Vec::new(),
    }
}

fn look_at(file: &File, id: ObjectId) -> Known {
    let object = match file.source().object(id) {
        Ok(object) => object,
        Err(error) => return Known { kind: Kind::Unknown, opens: false, note: error.to_string() },
    };
    let note = match &object {
        Object::Group => String::new(),
        Object::Array(info) => {
            let element = look::clipped(&type_name(&info.element), 24);
            format!("{element}  {}", look::shape(info.shape.as_deref()))
        }
        Object::Datatype(element) => look::clipped(&format!("type {}", type_name(element)), 40),
        Object::Value(value) => look::clipped(&value.to_string(), 40),
        Object::Damaged { error, .. } => error.to_string(),
    };
    let opens = match &object {
        Object::Group => true,
        Object::Array(info) => columns(file, info).next().is_some(),
        _ => false,
    };
    Known { kind: object.kind(), opens, note: look::safe(&note).into_owned() }
}

#[cfg(test)]
mod tests {
    use sciformats::Format;
    use sciformats::memory::{Memory, array};

    use super::*;

    fn sample() -> File {
        let mut memory = Memory::new(Format::Hdf5);
        let root = memory.root();
        let a = memory.group(root, "a");
        let b = memory.group(a, "b");
        memory.array(b, "x", array::<f32>(&[2], &[0.0, 1.0]));
        memory.group(a, "c");
        memory.soft_link(root, "s", "/a/b/x");
        File::from(memory)
    }

    fn shown(tree: &Tree) -> String {
        let name = |line: &Line| format!("{}{}", " ".repeat(line.depth), line.name);
        tree.lines.iter().map(name).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn lines_are_opened_and_closed() {
        let file = sample();
        let mut tree = Tree::new(&file).unwrap();
        assert_eq!(shown(&tree), "/| a| s");
        tree.open(&file, 1).unwrap();
        tree.open(&file, 2).unwrap();
        assert_eq!(shown(&tree), "/| a|  b|   x|  c| s");
        assert_eq!(tree.path(3), "/a/b/x");
        assert_eq!((tree.path(0), tree.path(5)), ("/".into(), "/s".into()));
        assert_eq!((tree.parent(3), tree.parent(4), tree.parent(0)), (Some(2), Some(1), None));
        assert_eq!(tree.known(&file, 3).unwrap().note, "float32  2");
        assert!(tree.known(&file, 5).is_none());
        tree.selected = 3;
        tree.close(1);
        assert_eq!((shown(&tree).as_str(), tree.selected), ("/| a| s", 1));
        tree.step(-5);
        assert_eq!(tree.selected, 0);
        tree.step(50);
        assert_eq!(tree.selected, 2);
    }

    #[test]
    fn what_is_searched_for_is_opened() {
        let file = sample();
        let mut tree = Tree::new(&file).unwrap();
        assert!(tree.reveal(&file, &["a".into(), "b".into(), "x".into()]).unwrap());
        assert_eq!(tree.path(tree.selected), "/a/b/x");
        assert!(!tree.reveal(&file, &["a".into(), "x".into()]).unwrap());
        tree.scroll(2);
        assert!(tree.top <= tree.selected && tree.selected < tree.top + 2);
    }
}
