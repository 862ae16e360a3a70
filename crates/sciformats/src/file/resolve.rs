//! Finds objects by their paths.

use sciformats_core::error::Within;
use sciformats_core::{Error, bound};

use super::File;
use crate::array::Array;
use crate::model::{Name, Object, ObjectId, Target};
use crate::{Result, walk};

/// The number of consecutive soft links that are followed before they are taken for a loop. The HDF5 library
/// follows 16.
const LINKS: usize = 16;

impl File {
    /// Returns the object at `path`. Soft links are followed; links into other files are followed as
    /// [`OpenOptions::external`](crate::OpenOptions::external) permits.
    ///
    /// ```
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let id = file.resolve("/fields/u")?;
    /// assert_eq!(file.resolve("fields/u")?, id);
    /// assert!(file.resolve("/fields/v").is_err());
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] with the name that does not exist; the error that makes a group on the way
    /// unreadable; [`Error::LimitExceeded`] for soft links that lead back to themselves; [`Error::Missing`] and
    /// [`Error::Forbidden`] for a link into another file.
    pub fn resolve(&self, path: &str) -> Result<ObjectId> {
        let mut links = LINKS;
        self.follow(path, &mut links)?.ok_or_else(|| Error::not_found("object", path))
    }

    /// Returns the first soft link on a path that leads to nothing, and the path that it contains; `None` if there
    /// is no such link. A link that leads back to itself is one of them.
    ///
    /// ```
    /// use sciformats::memory::Memory;
    /// use sciformats::{File, Format};
    ///
    /// let mut memory = Memory::new(Format::Hdf5);
    /// memory.soft_link(memory.root(), "latest", "/runs/7");
    /// let file = File::from(memory);
    /// assert!(file.resolve("/latest/u").is_err());
    /// assert_eq!(file.broken_link("/latest/u"), Some(("/latest".into(), "/runs/7".into())));
    /// assert_eq!(file.broken_link("/runs"), None);
    /// ```
    pub fn broken_link(&self, path: &str) -> Option<(String, Name)> {
        let (mut group, mut at) = (self.source.root(), "/".to_owned());
        for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
            let name = Name::from_shown(part);
            let target = self.source.member(group, &name).ok()??;
            at = walk::join(&at, &name);
            group = match target {
                Target::Object(id) => id,
                Target::Soft(to) => match self.resolve(&at) {
                    Ok(id) => id,
                    Err(Error::NotFound { .. } | Error::LimitExceeded { .. }) => return Some((at, to)),
                    Err(_) => return None,
                },
                _ => return None,
            };
        }
        None
    }

    fn follow(&self, path: &str, links: &mut usize) -> Result<Option<ObjectId>> {
        self.descend(self.source.root(), "/", path.strip_prefix('/').unwrap_or(path), links)
    }

    /// Follows the rest of a path from the group at `base`.
    fn descend(
        &self,
        group: ObjectId,
        base: &str,
        rest: &str,
        links: &mut usize,
    ) -> Result<Option<ObjectId>> {
        let slashes = self.source.slashes_in_names();
        let ends = ends(rest);
        if ends.is_empty() && (rest.is_empty() || !slashes) {
            return Ok(Some(group));
        }
        match self.source.object(group)? {
            Object::Group => {}
            _ if ends.is_empty() => return Ok(Some(group)),
            // It is unknown whether the group has such a member.
            Object::Damaged { error, .. } => return Err(error),
            Object::Array(_) | Object::Datatype(_) | Object::Value(_) => return Ok(None),
        }
        // A name may begin or end with a slash, or have several in a row.
        if slashes
            && let name = Name::from_shown(rest)
            && let Some(target) = self.source.member(group, &name)?
            && let Some(object) = self.target(group, target, (base, links))?
        {
            return Ok(Some(object));
        }
        let longest = if slashes { ends.len() } else { 1 };
        let mut first = String::new();
        for (part, after) in ends.iter().take(longest) {
            if !first.is_empty() {
                first.push('/');
            }
            first.push_str(part);
            let name = Name::from_shown(&first);
            let Some(target) = self.source.member(group, &name)? else { continue };
            let at = walk::join(base, &name);
            let Some(object) = self.target(group, target, (base, links))? else { continue };
            if let Some(found) = self.descend(object, &at, after, links)? {
                return Ok(Some(found));
            }
        }
        Ok(if ends.is_empty() { Some(group) } else { None })
    }

    /// Returns the object that a link in the group at `base` leads to.
    fn target(
        &self,
        group: ObjectId,
        target: Target,
        (base, links): (&str, &mut usize),
    ) -> Result<Option<ObjectId>> {
        match target {
            Target::Object(id) => Ok(Some(id)),
            Target::Soft(path) => {
                let (limit, declared) = (LINKS as u64, bound::sum(LINKS as u64, 1));
                let many = || Error::limit_exceeded("soft links in a row", declared, limit);
                *links = links.checked_sub(1).ok_or_else(many)?;
                let path = path.shown();
                let absolute =
                    if path.starts_with('/') { path.into_owned() } else { format!("{base}/{path}") };
                self.follow(&absolute, links)
            }
            Target::External { file, target } => self.source.follow(group, &file, &target).map(Some),
            Target::User(class) => {
                Err(Error::unsupported(format!("a link of the user-defined class {class}")))
            }
            Target::Damaged(error) => Err(error),
        }
    }

    /// Returns the object at `path`.
    ///
    /// ```
    /// use sciformats::{Kind, Object};
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// assert_eq!(file.object("/fields")?.kind(), Kind::Group);
    /// if let Object::Array(info) = file.object("/fields/u")? {
    ///     assert_eq!(info.elements(), Some(6));
    /// }
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`resolve`](Self::resolve), and if the object cannot be read at all.
    pub fn object(&self, path: &str) -> Result<Object> {
        self.source.object(self.resolve(path)?).within(self.path(), Some(path))
    }

    /// Returns the array at `path`.
    ///
    /// ```
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// assert_eq!(file.array("/fields/u")?.shape(), [2, 3]);
    /// assert_eq!(file.array("/fields").unwrap_err().to_string(), "path /fields is a group, not an array");
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`object`](Self::object); [`Error::Usage`] if the object is not an array.
    pub fn array(&self, path: &str) -> Result<Array<'_>> {
        let id = self.resolve(path)?;
        match self.source.object(id).within(self.path(), Some(path))? {
            Object::Array(info) => Ok(Array::new(self, id, (path.to_owned(), *info))),
            Object::Damaged { error, .. } => Err(error.within(self.path(), Some(path))),
            other => Err(Error::usage("path", format!("{path} is a {}, not an array", other.kind()))),
        }
    }
}

/// Returns the names in a path, and what follows each of them and the slash after it.
fn ends(path: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let (part, after) = rest.split_once('/').unwrap_or((rest, ""));
        if !part.is_empty() && part != "." {
            found.push((part, after));
        }
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::memory::{Memory, array};

    #[test]
    fn paths_names_with_slashes_and_links() {
        let mut memory = Memory::new(Format::Gsd);
        let root = memory.root();
        let a = memory.group(root, "a");
        let x = memory.array(a, "x", array::<u8>(&[1], &[1]));
        memory.soft_link(root, "abs", "/a/x");
        memory.soft_link(a, "rel", "./x");
        memory.soft_link(root, "group", "a");
        memory.soft_link(root, "loop", "/loop");
        memory.soft_link(root, "dangling", "nowhere");
        memory.external_link(root, "ext", "f.h5", "/q");
        let file = File::from(memory);
        for path in ["/a/x", "a/x", "//a/./x/", "/abs", "/a/rel", "/group/x", "/group/rel"] {
            assert_eq!(file.resolve(path).unwrap(), x, "{path}");
        }
        assert_eq!(file.resolve("/").unwrap(), root);
        for (path, message) in [
            ("/b", "no object named \"/b\""),
            ("/a/x/y", "no object named \"/a/x/y\""),
            ("/dangling", "no object named \"/dangling\""),
            ("/loop", "17 soft links in a row exceed the limit of 16"),
            ("/ext", "following a link into another file (open f.h5 and look for /q there) is not supported"),
        ] {
            assert_eq!(file.resolve(path).unwrap_err().to_string(), message);
        }
        assert_eq!(file.array("/a").unwrap_err().to_string(), "path /a is a group, not an array");
    }

    #[test]
    fn what_leads_through_damage_is_not_absent() {
        let mut memory = Memory::new(Format::Hdf5);
        let root = memory.root();
        memory.damage(root, "bad");
        memory.soft_link(root, "link", "/bad/x");
        let file = File::from(memory);
        assert!(file.resolve("/bad").is_ok());
        for path in ["/bad/x", "/bad/x/y", "/link"] {
            let error = file.resolve(path).unwrap_err();
            assert!(matches!(error, Error::Malformed { .. }), "{path}: {error}");
        }
        assert!(matches!(file.resolve("/good/x"), Err(Error::NotFound { .. })));
    }

    #[test]
    fn links_to_nothing() {
        let mut memory = Memory::new(Format::Hdf5);
        let root = memory.root();
        let a = memory.group(root, "a");
        memory.array(a, "x", array::<u8>(&[1], &[1]));
        memory.soft_link(a, "good", "/a/x");
        memory.soft_link(a, "dead", "nowhere");
        memory.soft_link(root, "next", "/a/dead");
        memory.soft_link(root, "loop", "/loop");
        let file = File::from(memory);
        let found = |path: &str| file.broken_link(path).map(|(at, to)| format!("{at} > {to}"));
        assert_eq!(found("/a/good").or(found("/a/none")).or(found("/none/x")), None);
        assert_eq!(found("a/dead/x").as_deref(), Some("/a/dead > nowhere"));
        assert_eq!(found("/next").as_deref(), Some("/next > /a/dead"));
        assert_eq!(found("/loop").as_deref(), Some("/loop > /loop"));
    }
}
