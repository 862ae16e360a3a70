//! A walk over all links of a file, breadth first.

use std::collections::{HashMap, VecDeque};

use sciformats_core::Error;

use crate::file::open::Opened;
use crate::group::links;
use crate::object::header::Object;
use crate::object::kind::NodeKind;
use crate::space::context::Context;
use crate::spec::message::link::Target;
use crate::spec::{Address, Name};

/// One step of a [`Walk`](crate::walk::Walk).
///
/// ```
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # made.root().attribute("title", "a week in May")?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
/// let paths: Vec<Vec<u8>> = file.walk().map(|visited| visited.path).collect();
/// assert_eq!(paths, [&b"/"[..], b"/surface", b"/surface/temperature"]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Debug)]
pub struct Entry {
    /// The path: the names joined by slashes.
    pub path: Vec<u8>,
    /// What the link leads to.
    pub what: Found,
}

/// What a [`Walk`](crate::walk::Walk) finds at a path.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
/// use hdf5_pure::walk::Found;
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.root().soft_link("latest", "/runs/7")?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// for visited in file.walk() {
///     if let Found::SoftLink(target) = visited.what {
///         assert_eq!(target.to_text(), "/runs/7");
///     }
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Debug)]
pub enum Found {
    /// An object that was not reported before.
    Object(Address),
    /// An object that was reported before, with this path.
    HardLink(Vec<u8>),
    /// A soft link with this target. It is not followed.
    SoftLink(Name),
    /// An external link. It is not followed.
    ExternalLink {
        /// The name of the file.
        file: Name,
        /// The path in that file.
        path: Name,
    },
    /// A user-defined link of this class.
    UserLink(u8),
    /// A link that cannot be read, or a group whose members cannot be listed.
    Broken(Error),
}

/// The progress of a walk.
#[derive(Debug)]
pub(crate) struct Walker {
    /// The path by which each object is first reached.
    seen: HashMap<Address, Box<[u8]>>,
    /// The groups whose members still have to be listed.
    queue: VecDeque<(Address, Vec<u8>)>,
    ready: VecDeque<Entry>,
}

impl Walker {
    /// Starts a walk at the root group.
    pub(crate) fn new(root: Address) -> Self {
        let first = Entry { path: b"/".to_vec(), what: Found::Object(root) };
        Self {
            seen: HashMap::from([(root, Box::from(&b"/"[..]))]),
            queue: VecDeque::from([(root, b"/".to_vec())]),
            ready: VecDeque::from([first]),
        }
    }

    /// Returns the next step. `opened` must be the same file at every call.
    pub(crate) fn next(&mut self, opened: &Opened) -> Option<Entry> {
        while self.ready.is_empty() {
            let (address, path) = self.queue.pop_front()?;
            self.list(&opened.context, address, &path);
        }
        self.ready.pop_front()
    }

    fn list(&mut self, context: &Context, address: Address, path: &[u8]) {
        // An object that is not a group has no members. If the object cannot be read, opening it will report the error.
        let members = match Object::read(context, address) {
            Ok(object) if NodeKind::of(&object) == Some(NodeKind::Group) => links::all(context, &object),
            _ => return,
        };
        let mut links = Vec::new();
        for member in members.unwrap_or_else(|error| vec![Err(error.into())]) {
            match member {
                Ok(link) => links.push(link),
                Err(broken) => {
                    let name = broken.name.as_ref().map_or(&b"?"[..], Name::as_bytes);
                    self.ready.push_back(Entry { path: join(path, name), what: Found::Broken(broken.error) });
                }
            }
        }
        sciformats_core::order::sort_by(&mut links, |a, b| a.name.cmp(&b.name));
        for link in links {
            let path = join(path, link.name.as_bytes());
            let what = match link.target {
                Target::Soft(text) => Found::SoftLink(text),
                Target::External { file, path } => Found::ExternalLink { file, path },
                Target::User { class, .. } => Found::UserLink(class),
                Target::Hard(address) => match self.seen.get(&address) {
                    Some(first) => Found::HardLink(first.to_vec()),
                    None => {
                        self.seen.insert(address, path.clone().into());
                        self.queue.push_back((address, path.clone()));
                        Found::Object(address)
                    }
                },
            };
            self.ready.push_back(Entry { path, what });
        }
    }
}

fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    let slash: &[u8] = if path.ends_with(b"/") { b"" } else { b"/" };
    [path, slash, name].concat()
}

/// Returns the path by which a walk first reaches the object at `address`, if a link leads to it.
pub(crate) fn path_of(opened: &Opened, address: Address) -> Option<&[u8]> {
    let paths = opened.paths.get_or_init(|| {
        let mut walker = Walker::new(opened.root);
        while walker.next(opened).is_some() {}
        walker.seen
    });
    paths.get(&address).map(|path| &path[..])
}
