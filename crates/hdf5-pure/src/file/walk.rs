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
    ///
    /// ```
    /// use hdf5_pure::Met;
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// for visited in file.walk() {
    ///     let path = String::from_utf8_lossy(&visited.path).into_owned();
    ///     match visited.what {
    ///         Met::Object(address) => println!("{path}: {:?}", file.kind_at(address)?),
    ///         Met::Broken(error) => println!("{path}: {error}"),
    ///         other => println!("{path}: {other:?}"),
    ///     }
    /// }
    /// assert_eq!(file.walk().filter(|visited| matches!(visited.what, Met::Object(_))).count(), 3);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
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
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// let address = file.dataset("surface/temperature")?.address();
    /// assert_eq!(file.path_of(address)?, Some(&b"/surface/temperature"[..]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
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
pub struct Visited {
    /// The path, names joined by slashes.
    pub path: Vec<u8>,
    /// What is there.
    pub what: Met,
}

/// What a [`Walk`] meets.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Met, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.root().soft_link("latest", "/runs/7")?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// for visited in file.walk() {
///     if let Met::SoftLink(target) = visited.what {
///         assert_eq!(target.to_text(), "/runs/7");
///     }
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
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
///
/// ```
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # made.root().attribute("title", "a week in May")?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
/// let mut walk = file.walk();
/// assert_eq!(walk.next().map(|visited| visited.path), Some(b"/".to_vec()));
/// assert_eq!(walk.count(), 2);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
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
