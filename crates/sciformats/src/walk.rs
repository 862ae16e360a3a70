//! The canonical walk: breadth first from the root, with the members of a group in byte order of their names.
//!
//! The queue contains groups that have subgroups, and not the subgroups themselves, so a group with a million
//! leaves needs no more memory than a group with ten. If a group has many subgroups, its members are listed a
//! second time when its turn comes.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;

use sciformats_core::bound;
use sciformats_core::{Error, Limits};

use crate::model::{Name, Object, ObjectId, Target};
use crate::source::Source;

/// The number of subgroups of one group that the queue remembers by name; if there are more, the group is
/// listed again.
const REMEMBERED: usize = 1024;

/// One step of the walk.
///
/// ```
/// use sciformats::walk::{Entry, Found, breadth_first};
/// use std::ops::ControlFlow;
///
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// let (source, mut paths) = (file.source(), Vec::new());
/// let _ = breadth_first(source, ("/", source.root()), file.limits(), &mut |Entry { path, what }| {
///     if let Found::Object(_, object) = what {
///         paths.push(format!("{path} {}", object.kind()));
///     }
///     ControlFlow::Continue(())
/// });
/// assert_eq!(paths, ["/ group", "/fields group", "/fields/u array"]);
/// ```
#[derive(Debug)]
pub struct Entry {
    /// The path by which the walk reached it: names joined by `/`.
    pub path: String,
    /// What was found there.
    pub what: Found,
}

/// What the walk found at a path.
///
/// ```
/// use sciformats::memory::{Memory, array};
/// use sciformats::walk::{Found, breadth_first};
/// use sciformats::{Format, Limits};
/// use std::ops::ControlFlow;
///
/// let mut tree = Memory::new(Format::Hdf5);
/// let u = tree.array(tree.root(), "u", array::<u8>(&[1], &[7]));
/// tree.hard_link(tree.root(), "v", u);
/// let _ = breadth_first(&tree, ("/", tree.root()), &Limits::default(), &mut |entry| {
///     if entry.path == "/v" {
///         assert!(matches!(entry.what, Found::HardLink(first) if first == "/u"));
///     }
///     ControlFlow::Continue(())
/// });
/// ```
#[derive(Debug)]
pub enum Found {
    /// An object that is found for the first time; the path is its canonical path.
    Object(ObjectId, Object),
    /// An object that was found before, at this path.
    HardLink(String),
    /// A soft link; it is not followed.
    Soft(Name),
    /// A link into another file; it is not followed.
    External {
        /// The file.
        file: Name,
        /// The path in that file.
        target: Name,
    },
    /// A link of a user-defined class.
    User(u64),
    /// A link or an object that cannot be read at all.
    Unreadable(Error),
    /// The group at this path, which was found before, cannot be listed, or cannot be listed completely.
    Unlisted(Error),
}

/// Returns the path of the member `name` of the group at `path`.
///
/// ```
/// use sciformats::walk::join;
///
/// assert_eq!(join("/", &"fields".into()), "/fields");
/// assert_eq!(join("/fields", &"u".into()), "/fields/u");
/// ```
pub fn join(path: &str, name: &Name) -> String {
    let slash = if path.ends_with('/') { "" } else { "/" };
    format!("{path}{slash}{}", name.shown())
}

/// Objects that several links may lead to, with the paths where they were found first.
///
/// ```
/// use sciformats::walk::Seen;
///
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// let (mut seen, u) = (Seen::default(), file.resolve("/fields/u")?);
/// assert_eq!(seen.first(file.source(), u, "/fields/u"), None);
/// assert_eq!(seen.first(file.source(), u, "/also/u"), Some("/fields/u"));
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Seen(HashMap<ObjectId, String>);

impl Seen {
    /// Records that `path` leads to the object. Returns the first path to the object, if there was another
    /// one.
    pub fn first(&mut self, source: &dyn Source, id: ObjectId, path: &str) -> Option<&str> {
        if !source.may_be_shared(id) {
            return None;
        }
        let first = self.0.entry(id).or_insert_with(|| path.into());
        (first != path).then_some(first)
    }
}

/// A group whose subgroups have not been listed yet.
struct Pending {
    path: String,
    id: ObjectId,
    depth: usize,
    /// The subgroups, unless there are too many to remember.
    subgroups: Option<Vec<(Name, ObjectId)>>,
}

struct Walk<'a> {
    source: &'a dyn Source,
    limits: &'a Limits,
    seen: Seen,
    queue: VecDeque<Pending>,
}

/// Called with an entry; returns whether to continue.
type Visit<'v> = &'v mut dyn FnMut(Entry) -> ControlFlow<()>;

/// The objects and links of a file in canonical order: [`File::walk`](crate::File::walk).
pub struct Entries<'a> {
    walk: Walk<'a>,
    /// Entries that are ready to be returned.
    ready: VecDeque<Entry>,
}

impl<'a> Entries<'a> {
    pub(crate) fn new(source: &'a dyn Source, limits: &'a Limits) -> Self {
        let mut entries = Self { walk: Walk::new(source, limits), ready: VecDeque::new() };
        let Self { walk, ready } = &mut entries;
        let _ = walk.start("/", source.root(), &mut |entry| keep(ready, entry));
        entries
    }
}

fn keep(ready: &mut VecDeque<Entry>, entry: Entry) -> ControlFlow<()> {
    ready.push_back(entry);
    ControlFlow::Continue(())
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let Self { walk, ready } = self;
        while ready.is_empty() {
            let group = walk.queue.pop_front()?;
            let _ = walk.descend(&group, &mut |entry| keep(ready, entry));
        }
        ready.pop_front()
    }
}

impl std::fmt::Debug for Entries<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entries").field("ready", &self.ready).finish_non_exhaustive()
    }
}

/// Visits the objects and links at and below `start` in canonical order; `path` is the start of the paths of
/// the entries. The walk ends when `visit` breaks, and returns the last result of `visit`.
///
/// ```
/// use sciformats::walk::breadth_first;
/// use std::ops::ControlFlow;
///
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// let mut paths = Vec::new();
/// let _ = breadth_first(file.source(), ("/", file.source().root()), file.limits(), &mut |entry| {
///     paths.push(entry.path);
///     ControlFlow::Continue(()) // or `Break`, when enough is seen
/// });
/// assert_eq!(paths, ["/", "/fields", "/fields/u"]);
/// # Ok::<(), sciformats::Error>(())
/// ```
pub fn breadth_first(
    source: &dyn Source,
    (path, start): (&str, ObjectId),
    limits: &Limits,
    visit: &mut dyn FnMut(Entry) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut walk = Walk::new(source, limits);
    walk.start(path, start, visit)?;
    while let Some(group) = walk.queue.pop_front() {
        walk.descend(&group, visit)?;
    }
    ControlFlow::Continue(())
}

fn emit(visit: Visit<'_>, path: impl Into<String>, what: Found) -> ControlFlow<()> {
    visit(Entry { path: path.into(), what })
}

impl<'a> Walk<'a> {
    fn new(source: &'a dyn Source, limits: &'a Limits) -> Self {
        Self { source, limits, seen: Seen::default(), queue: VecDeque::new() }
    }

    /// Visits the first object and, if it is a group, its members.
    fn start(&mut self, path: &str, id: ObjectId, visit: Visit<'_>) -> ControlFlow<()> {
        match self.object(path.into(), id, visit)? {
            true => self.expand((path, id), 0, visit),
            false => ControlFlow::Continue(()),
        }
    }

    /// Visits an object that a hard link leads to, and returns whether it is a group to expand.
    fn object(&mut self, path: String, id: ObjectId, visit: Visit<'_>) -> ControlFlow<(), bool> {
        if let Some(first) = self.seen.first(self.source, id, &path) {
            let first = first.to_owned();
            emit(visit, path, Found::HardLink(first))?;
            return ControlFlow::Continue(false);
        }
        match self.source.object(id) {
            Ok(object) => {
                let group = matches!(object, Object::Group);
                emit(visit, path, Found::Object(id, object))?;
                ControlFlow::Continue(group)
            }
            Err(error) => {
                emit(visit, path, Found::Unreadable(error))?;
                ControlFlow::Continue(false)
            }
        }
    }

    /// Visits the members of a group, and queues the group if it has subgroups.
    fn expand(&mut self, (path, id): (&str, ObjectId), depth: usize, visit: Visit<'_>) -> ControlFlow<()> {
        let mut subgroups = Some(Vec::new());
        let listed = self.limits.depth("levels of groups", depth).and_then(|()| self.source.members(id));
        let members = match listed {
            Ok(members) => members,
            Err(error) => return emit(visit, path, Found::Unlisted(error)),
        };
        for member in members {
            let member = match member {
                Ok(member) => member,
                Err(error) => {
                    emit(visit, path, Found::Unlisted(error))?;
                    break;
                }
            };
            let at = join(path, &member.name);
            match member.target {
                Target::Object(child) => {
                    if self.object(at, child, visit)? {
                        remember(&mut subgroups, member.name, child);
                    }
                }
                Target::Soft(target) => emit(visit, at, Found::Soft(target))?,
                Target::External { file, target } => emit(visit, at, Found::External { file, target })?,
                Target::User(class) => emit(visit, at, Found::User(class))?,
                Target::Damaged(error) => emit(visit, at, Found::Unreadable(error))?,
            }
        }
        if subgroups.as_ref().is_none_or(|subgroups| !subgroups.is_empty()) {
            self.queue.push_back(Pending { path: path.into(), id, depth, subgroups });
        }
        ControlFlow::Continue(())
    }

    /// Expands the subgroups of a group whose members were visited before.
    fn descend(&mut self, group: &Pending, visit: Visit<'_>) -> ControlFlow<()> {
        let depth = bound::sum(group.depth, 1);
        if let Some(subgroups) = &group.subgroups {
            return subgroups
                .iter()
                .try_for_each(|(name, child)| self.expand((&join(&group.path, name), *child), depth, visit));
        }
        // The errors of this listing were reported when the group was first listed.
        let members = self.source.members(group.id).into_iter().flatten().map_while(Result::ok);
        for member in members {
            let Target::Object(child) = member.target else { continue };
            let at = join(&group.path, &member.name);
            let first = self.seen.first(self.source, child, &at).is_none();
            if first && matches!(self.source.object(child), Ok(Object::Group)) {
                self.expand((&at, child), depth, visit)?;
            }
        }
        ControlFlow::Continue(())
    }
}

fn remember(subgroups: &mut Option<Vec<(Name, ObjectId)>>, name: Name, id: ObjectId) {
    match subgroups {
        Some(list) if list.len() < REMEMBERED => list.push((name, id)),
        _ => *subgroups = None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Memory, array};

    fn paths(memory: &Memory) -> Vec<String> {
        let mut paths = Vec::new();
        let all =
            breadth_first(memory, ("/", memory.root()), &Limits::default().with_depth(8), &mut |entry| {
                let kind = match entry.what {
                    Found::Object(_, Object::Damaged { error, .. }) => format!(" !{error}"),
                    Found::Object(..) => String::new(),
                    Found::HardLink(target) => format!(" = {target}"),
                    Found::Soft(target) => format!(" -> {target}"),
                    Found::External { file, target } => format!(" -> {file}:{target}"),
                    Found::User(class) => format!(" user {class}"),
                    Found::Unreadable(error) | Found::Unlisted(error) => format!(" !{error}"),
                };
                paths.push(format!("{}{kind}", entry.path));
                ControlFlow::Continue(())
            });
        assert!(all.is_continue());
        paths
    }

    #[test]
    fn level_by_level_in_byte_order() {
        let mut memory = Memory::new(crate::Format::Hdf5);
        let root = memory.root();
        let b = memory.group(root, "b");
        let a = memory.group(root, "a");
        let deep = memory.group(b, "deep");
        let x = memory.array(a, "x", array::<i32>(&[2], &[1, 2]));
        memory.hard_link(deep, "x again", x);
        memory.hard_link(deep, "up", root);
        memory.soft_link(root, "Z", "/a/x");
        memory.external_link(a, "ext", "f.h5", "/q");
        memory.user_link(a, "user", 187);
        memory.damage(root, "bad");
        let bad = "!malformed object at offset 0x40: it is truncated";
        assert_eq!(
            paths(&memory),
            [
                "/",
                "/Z -> /a/x",
                "/a",
                "/b",
                &format!("/bad {bad}"),
                "/a/ext -> f.h5:/q",
                "/a/user user 187",
                "/a/x",
                "/b/deep",
                "/b/deep/up = /",
                "/b/deep/x again = /a/x",
            ]
        );
    }

    #[test]
    fn many_subgroups_are_listed_again_in_the_same_order() {
        let mut memory = Memory::new(crate::Format::Gsd);
        let root = memory.root();
        let n = REMEMBERED + 10;
        for i in 0..n {
            let group = memory.group(root, &format!("{i:05}"));
            memory.array(group, "v", array::<u8>(&[1], &[7]));
        }
        let paths = paths(&memory);
        assert_eq!(paths.len(), 1 + 2 * n);
        assert_eq!(paths[n], format!("/{:05}", n - 1));
        assert_eq!(paths[n + 1], "/00000/v");
        assert_eq!(paths[2 * n], format!("/{:05}/v", n - 1));
    }

    #[test]
    fn depth_is_bounded() {
        let mut memory = Memory::new(crate::Format::Hdf5);
        let mut group = memory.root();
        for _ in 0..12 {
            group = memory.group(group, "g");
        }
        let paths = paths(&memory);
        assert_eq!(paths.last().unwrap(), "/g/g/g/g/g/g/g/g/g !9 levels of groups exceed the limit of 8");
    }
}
