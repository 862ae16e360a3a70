//! The members of a group.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use sciformats::{Name, ObjectId, Result, Target, walk};

use super::Node;
use super::tree::{Known, LISTED, Listed};

impl Node {
    /// Returns the members of a group that can be reached, in the order of creation if it is recorded.
    ///
    /// # Errors
    ///
    /// An error if they cannot be listed.
    pub fn children(&self) -> Result<Vec<Self>> {
        self.few(usize::MAX)
    }

    /// Returns the first members of a group that can be reached, because a group may have any number of them.
    pub(crate) fn few(&self, count: usize) -> Result<Vec<Self>> {
        let mut children = Vec::new();
        let members = self.members(count)?;
        self.file().ahead(|| {
            for (name, _) in members.iter().take(count).filter(|(_, id)| id.is_none()) {
                let _ = self.reached(name);
            }
        })?;
        for (name, id) in members.iter() {
            if children.len() >= count {
                break;
            }
            children.extend(match id {
                Some(id) => Some(self.member(name, *id)),
                None => self.reached(name)?,
            });
        }
        Ok(children)
    }

    /// Returns the first members of a group that can be reached. What `look` reads of each of them is fetched in one
    /// batch if the file is remote.
    pub(crate) fn few_ahead(&self, count: usize, look: impl Fn(&Self)) -> Result<Vec<Self>> {
        let children = self.few(count)?;
        self.file().ahead(|| children.iter().for_each(&look))?;
        Ok(children)
    }

    /// Returns members: in the order of creation if it is recorded, and otherwise at least the first `count`, besides
    /// those that cannot be reached.
    fn members(&self, count: usize) -> Result<Arc<[Known]>> {
        let listed = || self.tree.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = listed().as_ref().filter(|known| known.group == self.id && known.count >= count)
        {
            return Ok(Arc::clone(&known.members));
        }
        let (members, count) = self.list(count.max(LISTED))?;
        let members: Arc<[Known]> = members.into();
        *listed() = Some(Listed { group: self.id, members: Arc::clone(&members), count });
        Ok(members)
    }

    /// Lists members, and returns how many of them can be reached without following a soft link, or `usize::MAX` if these
    /// are all members.
    fn list(&self, count: usize) -> Result<(Vec<Known>, usize)> {
        let source = self.file().source();
        let created = match source.details() {
            Some(details) => details.created(self.id)?,
            None => None,
        };
        if let Some(names) = created {
            return Ok((names.into_iter().map(|name| (name, None)).collect(), usize::MAX));
        }
        let mut members = Vec::new();
        let mut reached = 0;
        for member in source.members(self.id)? {
            let member = member?;
            let id = match member.target {
                Target::Object(id) => Some(id),
                _ => None,
            };
            reached += usize::from(id.is_some());
            members.push((member.name, id));
            if reached >= count {
                return Ok((members, reached));
            }
        }
        Ok((members, usize::MAX))
    }

    fn member(&self, name: &Name, id: ObjectId) -> Self {
        Self { tree: Arc::clone(&self.tree), path: walk::join(&self.path, name), id }
    }

    /// Returns the member with a name, if it can be reached.
    fn reached(&self, name: &Name) -> Result<Option<Self>> {
        let path = walk::join(&self.path, name);
        let id = match self.file().source().member(self.id, name)? {
            Some(Target::Object(id)) => id,
            // A link that leads nowhere, for any reason, is not a member that can be reached.
            Some(Target::Soft(_) | Target::External { .. }) => match self.at(&path) {
                Ok(Some(node)) => node.id,
                Ok(None) | Err(_) => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some(Self { tree: Arc::clone(&self.tree), path, id }))
    }

    /// Returns the member of this group that is a given object, through a hard link.
    pub(crate) fn named(&self, id: ObjectId) -> Result<Option<Self>> {
        let known = self.tree.names.lock().unwrap_or_else(PoisonError::into_inner).get(&self.id).cloned();
        let names = match known {
            Some(names) => names,
            None => {
                let mut names = HashMap::new();
                for member in self.file().source().members(self.id)? {
                    let member = member?;
                    if let Target::Object(id) = member.target {
                        names.insert(id, member.name);
                    }
                }
                let names = Arc::new(names);
                self.tree
                    .names
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(self.id, Arc::clone(&names));
                names
            }
        };
        let path = names.get(&id).map(|name| walk::join(&self.path, name));
        Ok(path.map(|path| Self { tree: Arc::clone(&self.tree), path, id }))
    }
}
