//! Walks over everything that links lead to.

use std::collections::{HashMap, VecDeque};

use sciformats_core::{Error, Result};

use super::{File, NodeKind, kind};
use crate::model::links;
use crate::model::object::Object;
use crate::spec::message::link::Target;
use crate::spec::{Address, Name};

impl File {
    /// A walk over all links, breadth first, members in byte order of their names. Each object comes once, by the path on
    /// which it is first met; further hard links to it are named as such.
    pub fn walk(&self) -> Walk {
        let root = self.0.opened.root;
        let mut seen = HashMap::new();
        seen.insert(root, Box::from(&b"/"[..]));
        let first = Visited { path: b"/".to_vec(), what: Met::Object(root) };
        Walk {
            file: self.clone(),
            seen,
            queue: VecDeque::from([(root, b"/".to_vec())]),
            ready: VecDeque::from([first]),
        }
    }

    /// The path by which the object at `address` is first reached in a [`walk`](Self::walk), if any leads to it.
    ///
    /// # Errors
    /// None at present: what cannot be read leads nowhere.
    pub fn path_of(&self, address: Address) -> Result<Option<&[u8]>> {
        let paths = self.0.paths.get_or_init(|| {
            let mut walk = self.walk();
            walk.by_ref().for_each(drop);
            walk.seen
        });
        Ok(paths.get(&address).map(|path| &path[..]))
    }
}

/// A step of a [`Walk`].
#[derive(Debug)]
pub struct Visited {
    /// The path, names joined by slashes.
    pub path: Vec<u8>,
    /// What is there.
    pub what: Met,
}

/// What a [`Walk`] meets.
#[derive(Debug)]
pub enum Met {
    /// An object that was not met before.
    Object(Address),
    /// An object that was met before, by this path.
    HardLink(Vec<u8>),
    /// A soft link, which is not followed: its text.
    SoftLink(Name),
    /// An external link, which is not followed.
    ExternalLink {
        /// The file.
        file: Name,
        /// The path in it.
        path: Name,
    },
    /// A user-defined link of this class.
    UserLink(u8),
    /// A link that cannot be read, or the members of a group that cannot be listed.
    Broken(Error),
}

/// The iterator of [`File::walk`].
#[derive(Debug)]
pub struct Walk {
    file: File,
    seen: HashMap<Address, Box<[u8]>>,
    /// Groups whose members are still to be listed.
    queue: VecDeque<(Address, Vec<u8>)>,
    ready: VecDeque<Visited>,
}

impl Iterator for Walk {
    type Item = Visited;

    fn next(&mut self) -> Option<Visited> {
        while self.ready.is_empty() {
            let (address, path) = self.queue.pop_front()?;
            self.list(address, &path);
        }
        self.ready.pop_front()
    }
}

impl Walk {
    fn list(&mut self, address: Address, path: &[u8]) {
        let file = self.file.clone();
        let context = &file.opened().context;
        // What is not a group has no members; why an object cannot be read is said when it is opened.
        let members = match Object::read(context, address) {
            Ok(object) if kind(&object) == Some(NodeKind::Group) => links::all(context, &object),
            _ => return,
        };
        let mut links = Vec::new();
        for member in members.unwrap_or_else(|error| vec![Err(error.into())]) {
            match member {
                Ok(link) => links.push(link),
                Err(broken) => {
                    let name = broken.name.as_ref().map_or(&b"?"[..], Name::as_bytes);
                    self.ready.push_back(Visited { path: join(path, name), what: Met::Broken(broken.error) });
                }
            }
        }
        links.sort_by(|a, b| a.name.cmp(&b.name));
        for link in links {
            let path = join(path, link.name.as_bytes());
            let what = match link.target {
                Target::Soft(text) => Met::SoftLink(text),
                Target::External { file, path } => Met::ExternalLink { file, path },
                Target::User { class, .. } => Met::UserLink(class),
                Target::Hard(address) => match self.seen.get(&address) {
                    Some(first) => Met::HardLink(first.to_vec()),
                    None => {
                        self.seen.insert(address, path.clone().into());
                        self.queue.push_back((address, path.clone()));
                        Met::Object(address)
                    }
                },
            };
            self.ready.push_back(Visited { path, what });
        }
    }
}

fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    let slash: &[u8] = if path.ends_with(b"/") { b"" } else { b"/" };
    [path, slash, name].concat()
}
