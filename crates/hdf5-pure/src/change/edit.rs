//! Objects of a file that is being edited, as objects of a [`Tree`].

use std::ops::ControlFlow;

use sciformats_core::arith::add;
use sciformats_core::error::Within;
use sciformats_core::{Error, Result, bound, spelling};

use crate::change::counts::Counts;
use crate::change::emit::fits;
use crate::change::objects::NewParts;
use crate::change::tree::{Kind, Origin, Settings, Tree, last_name};
use crate::dataset;
use crate::file::session::Session;
use crate::group;
use crate::group::links;
use crate::group::members::{Destination, Group};
use crate::group::path::{self, MAX_LINKS};
use crate::object::attributes::{self, AttributeList};
use crate::object::header::{Now, Object as Stored};
use crate::object::id::Id;
use crate::space::output::{Output, Target};
use crate::space::pending::Flush;
use crate::spec::message::datatype::Datatype;
use crate::spec::message::{MessageType, small};
use crate::spec::{Address, Name};

/// Returns the text of a comment.
///
/// # Errors
/// Returns [`Error::Usage`] if the text contains a NUL character or does not fit into an object header.
pub(crate) fn comment(text: &[u8]) -> Result<Name> {
    if text.contains(&0) {
        return Err(Error::usage("comment", "contains a NUL character"));
    }
    fits(MessageType::Comment, bound::sum(text.len(), 1))?;
    Ok(text.into())
}

impl Tree {
    /// Creates the tree of a file that is being edited.
    pub(crate) fn edit(session: Session, settings: Settings) -> Result<Self> {
        let mut output = Output::new(Target::Edited(session.space.clone()), session.context().base);
        output.sizes = session.context().sizes;
        let root = session.opened.root;
        let mut tree = Self::with(output, settings, Some(session));
        tree.import(root)?;
        Ok(tree)
    }

    pub(crate) fn session(&self) -> Result<&Session> {
        self.session
            .as_ref()
            .ok_or_else(|| Error::usage("object", "does not belong to a file that is being edited"))
    }

    /// Adds to an error the file that is being edited, and the path of the object that was asked for.
    pub(crate) fn within<T>(&self, object: Option<&str>, result: Result<T>) -> Result<T> {
        result.within(self.session.as_ref().and_then(|session| session.opened.path.as_deref()), object)
    }

    /// Adds to an error the file that is being edited, and the path that was followed.
    pub(crate) fn along<T>(&self, path: &[u8], result: Result<T>) -> Result<T> {
        self.within(Some(&String::from_utf8_lossy(path)), result)
    }

    /// Returns the object of the file at `address`.
    ///
    /// # Errors
    /// Returns `Malformed` if it cannot be read.
    pub(crate) fn import(&mut self, address: Address) -> Result<Id> {
        if let Some(id) = self.imported.get(&address) {
            return Ok(*id);
        }
        let context = self.session()?.context();
        let object = Stored::read(context, address)?;
        let dataset =
            object.find(MessageType::Layout).is_some() || object.find(MessageType::Dataspace).is_some();
        let datatype = match dataset || group::is_group(&object) {
            true => None,
            false => object.parse(context, MessageType::Datatype, Datatype::parse)?,
        };
        drop(object);
        let id = self.add(
            datatype.map_or(Kind::Stored, Kind::Datatype),
            Some(Box::new(Origin { address, attributes: None })),
        )?;
        self.imported.insert(address, id);
        Ok(id)
    }

    /// Fails unless the object is a group.
    pub(crate) fn check_group(&self, id: Id) -> Result<()> {
        self.check_in_memory(id)?;
        let object = self.object(id)?;
        let is = match (&object.kind, &object.origin) {
            (Kind::Group(_), _) => true,
            (Kind::Stored, Some(origin)) => {
                group::is_group(&Stored::read(self.session()?.context(), origin.address)?)
            }
            _ => false,
        };
        if is { Ok(()) } else { Err(Error::usage("object", "is not a group")) }
    }

    /// Fails if the object has been written already. This cannot be a group, because groups are written last.
    fn check_in_memory(&self, id: Id) -> Result<()> {
        match self.objects.written(id.index()) {
            None => Ok(()),
            Some(_) => Err(Error::usage("object", "is not a group")),
        }
    }

    /// Reads what changing the links of a group of the file needs.
    pub(crate) fn load_group(&mut self, id: Id) -> Result<()> {
        let address = self.origin(id)?;
        let group = group::load_to_change(self.session()?.context(), address)?;
        self.object_mut(id)?.kind = Kind::Group(group);
        Ok(())
    }

    fn origin(&self, id: Id) -> Result<Address> {
        let origin = self.object(id)?.origin.as_ref().map(|origin| origin.address);
        origin.ok_or_else(|| Error::usage("object", "is new and not yet stored in the file"))
    }

    /// Returns a group whose links are about to change.
    pub(crate) fn group_to_change(&mut self, id: Id) -> Result<&mut Group> {
        if let Kind::Group(group) = &self.object(id)?.kind
            && let Some(session) = &self.session
            && let Some(whole) = group::gathered(session.context(), group)?
        {
            self.object_mut(id)?.kind = Kind::Group(whole);
        }
        let group = self.group_mut(id)?;
        if let Some(stored) = &mut group.stored {
            stored.changed = true;
        }
        Ok(group)
    }

    /// Returns the target of the link `name` of a group. It is found without reading all links.
    pub(crate) fn member(&self, id: Id, name: &[u8]) -> Result<Option<Destination>> {
        self.check_in_memory(id)?;
        let object = self.object(id)?;
        let in_file = |origin: &Origin| {
            let context = self.session()?.context();
            let object = Stored::read(context, origin.address)?;
            if !group::is_group(&object) {
                return Err(Error::usage("object", "is not a group"));
            }
            Ok(group::find(context, &object, name)?.map(|link| group::destination(link.target)))
        };
        match (&object.kind, &object.origin) {
            (Kind::Group(group), origin) => match (group.get(name), origin) {
                (None, Some(origin)) if group.stored.as_ref().is_some_and(|stored| stored.may_hold(name)) => {
                    in_file(origin)
                }
                (to, _) => Ok(to),
            },
            (Kind::Stored, Some(origin)) => in_file(origin),
            _ => Err(Error::usage("object", "is not a group")),
        }
    }

    /// Removes a link with a known target from a group.
    fn take_link(&mut self, group: Id, name: &[u8], to: &Destination) -> Result<()> {
        let group = self.group_to_change(group)?;
        if group.remove(name) {
            if let Destination::Object(id) = to {
                // Its header says how many links lead to it.
                self.recall(*id)?;
                self.objects.count_link(*id, -1)?;
            }
        } else if let Some(stored) = &mut group.stored {
            stored.remove(name, to);
        }
        Ok(())
    }

    /// Returns the object at `path`, relative to `from`. Soft links are followed.
    ///
    /// # Errors
    /// Returns [`Error::NotFound`], [`Error::Usage`] if the path leads to another file, and any error of reading
    /// groups.
    pub(crate) fn find(&mut self, from: Id, path: &[u8]) -> Result<Id> {
        let found = self.follow(from, path, &mut 0);
        self.along(path, found)
    }

    fn follow(&mut self, from: Id, path: &[u8], followed: &mut usize) -> Result<Id> {
        let mut at = if path.first() == Some(&b'/') { Id::ROOT } else { from };
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".") {
            at = match self.member(at, name)? {
                Some(Destination::Object(id)) => id,
                Some(Destination::Stored(address)) => self.import(address)?,
                Some(Destination::Soft(target)) => {
                    *followed = bound::sum(*followed, 1);
                    if *followed > MAX_LINKS {
                        let (declared, limit) = (*followed as u64, MAX_LINKS as u64);
                        return Err(Error::limit_exceeded("soft links in a row", declared, limit));
                    }
                    self.follow(at, target.as_bytes(), followed)?
                }
                Some(_) => {
                    return Err(Error::usage(
                        "path",
                        "leads through an external or user-defined link, which is not followed",
                    ));
                }
                None => return Err(self.absent(at, path, name)),
            };
        }
        Ok(at)
    }

    /// Returns an [`Error::NotFound`] for a path that ends at the group `at`, which has no link `name`. It lists similar
    /// names of that group.
    fn absent(&self, at: Id, path: &[u8], name: &[u8]) -> Error {
        let names = self.names(at);
        let (path, name) = (String::from_utf8_lossy(path), String::from_utf8_lossy(name));
        let near = spelling::nearest(&name, names.iter().map(String::as_str));
        // The groups before the name that is missing.
        let before = path.rfind(&*name).and_then(|end| path.get(..end)).unwrap_or_default();
        let near: Vec<String> = near.into_iter().map(|name| format!("{before}{name}")).collect();
        Error::not_found("object", path.clone()).with_nearest(near)
    }

    /// Returns the names of the links of a group, up to a limit.
    fn names(&self, group: Id) -> Vec<String> {
        let mut names = Vec::new();
        let Ok(object) = self.object(group) else { return names };
        if let Kind::Group(links) = &object.kind {
            let new = links.members().take(path::LOOKED_AT);
            names.extend(new.map(|link| String::from_utf8_lossy(link.name).into_owned()));
        }
        // These names only improve an error message, so an error here is not reported.
        if let (Some(origin), Ok(session)) = (&object.origin, self.session())
            && let Ok(stored) = Stored::read(session.context(), origin.address)
        {
            let _ = links::each(session.context(), &stored, &mut |link| {
                names.extend(link.ok().map(|link| link.name.to_text().into_owned()));
                if names.len() < path::LOOKED_AT { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
        }
        names
    }

    /// Returns the group that holds the last component of `path`, and that component. The group must exist.
    pub(crate) fn holder<'p>(&mut self, from: Id, path: &'p [u8]) -> Result<(Id, &'p [u8])> {
        let (groups, name) = match last_name(path) {
            (None, name) => (&b""[..], name),
            (Some([]), name) => (&b"/"[..], name),
            (Some(groups), name) => (groups, name),
        };
        Ok((self.find(from, groups)?, name))
    }

    /// Removes the link at `path`. If no other hard link leads to the object, the object is removed too.
    ///
    /// # Errors
    /// Returns [`Error::NotFound`], and the errors of [`find`](Self::find).
    pub(crate) fn unlink(&mut self, from: Id, path: &[u8]) -> Result<()> {
        let done = self.unlink_at(from, path);
        self.along(path, done)
    }

    fn unlink_at(&mut self, from: Id, path: &[u8]) -> Result<()> {
        let (group, name) = self.holder(from, path)?;
        let to = self.member(group, name)?.ok_or_else(|| no_link(path))?;
        self.take_link(group, name, &to)
    }

    /// Moves the link at `path` to another path. Missing groups of the new path are created.
    ///
    /// # Errors
    /// Returns [`Error::NotFound`], and [`Error::Usage`] if the new name exists already, is not a valid name, or lies
    /// inside the object that is moved.
    pub(crate) fn move_link(&mut self, from: Id, path: &[u8], to: &[u8]) -> Result<()> {
        let done = self.move_link_at(from, path, to);
        self.along(path, done)
    }

    fn move_link_at(&mut self, from: Id, path: &[u8], to: &[u8]) -> Result<()> {
        let (group, name) = self.holder(from, path)?;
        let Some(destination) = self.member(group, name)? else { return Err(no_link(path)) };
        self.check_outside(&destination, from, to)?;
        let (new_group, new_name) = self.parent(from, to)?;
        self.link(new_group, new_name, destination.clone())?;
        self.take_link(group, name, &destination)
    }

    /// Fails if the path `to` leads through the object that is moved, because nothing else would lead to the object any
    /// more.
    fn check_outside(&mut self, moved: &Destination, from: Id, to: &[u8]) -> Result<()> {
        let moved = match moved {
            Destination::Object(id) => *id,
            Destination::Stored(address) => self.import(*address)?,
            _ => return Ok(()),
        };
        self.outside(moved, from, to, &mut 0).map(drop)
    }

    /// Follows a path, also through soft links, and fails if an object on the way is `moved`. Returns the object at its end, or `None`
    /// if there is none in this file.
    fn outside(&mut self, moved: Id, from: Id, path: &[u8], followed: &mut usize) -> Result<Option<Id>> {
        let mut at = if path.starts_with(b"/") { Id::ROOT } else { from };
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".") {
            if at == moved {
                return Err(Error::usage(
                    "path",
                    "leads into the object that is moved, which cannot be inside itself",
                ));
            }
            let next = match self.member(at, name)? {
                Some(Destination::Object(id)) => Some(id),
                Some(Destination::Stored(address)) => Some(self.import(address)?),
                Some(Destination::Soft(target)) => {
                    *followed = bound::sum(*followed, 1);
                    // A path with more soft links in a row is refused when the groups on it are looked for.
                    match *followed <= MAX_LINKS {
                        true => self.outside(moved, at, target.as_bytes(), followed)?,
                        false => None,
                    }
                }
                _ => None,
            };
            let Some(next) = next else { return Ok(None) };
            at = next;
        }
        Ok(Some(at))
    }

    /// Sets the comment of an object. An empty text removes it.
    ///
    /// # Errors
    /// Returns the errors of [`comment`].
    pub(crate) fn comment(&mut self, id: Id, text: &[u8]) -> Result<()> {
        self.object_mut(id)?.comment = Some(comment(text)?);
        Ok(())
    }

    /// Reads what is needed to write to a dataset of the file.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the object is not a dataset, and any error of reading it.
    pub(crate) fn load_dataset(&mut self, id: Id) -> Result<()> {
        if !matches!(self.object(id)?.kind, Kind::Stored) {
            return self.dataset(id).map(drop);
        }
        let address = self.origin(id)?;
        let session = self.session()?;
        if Stored::read(session.context(), address)?.find(MessageType::Layout).is_none() {
            return Err(Error::usage("object", "is not a dataset"));
        }
        let dataset = dataset::edit::load(session, address)?;
        self.object_mut(id)?.kind = Kind::Dataset(Box::new(dataset));
        Ok(())
    }

    /// Writes everything in memory to the pending state of the file.
    ///
    /// # Errors
    /// Returns the errors of the objects and of the output. After an error the pending state is incomplete and must not
    /// be committed.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let counts = Counts::of_edited(&self.objects, self.session()?)?;
        self.heap.settle(&mut self.output)?;
        let parts = self.write_new(self.linked(&counts))?;
        let left = self.write_changed(&counts)?;
        for (address, more) in counts.changes() {
            let mut header = self.session()?.header(address)?;
            let before = header.references();
            // An object that stays has at least one link, even if the count in its header was wrong.
            let count = add(i64::from(before), more)?.max(1);
            header.set_references(u32::try_from(count).map_err(|_| too_many_links())?);
            // Where the count is a message, the C library removes it when one link is left, which is a change of the object.
            if before > 1 && count == 1 && !header.is_old() {
                header.renew_times(&|| self.settings.now())?;
            }
            header.write(&mut self.output)?;
        }
        for address in counts.deleted.iter().filter(|address| !left.contains(address)) {
            let extents = self.session()?.extents(|extents| extents.object(*address))?;
            self.output.release(&extents)?;
        }
        if let Some(session) = &mut self.session
            && let Some(table) = session.shared_table()?
        {
            session.opened.context.shared =
                counts.shares.store(session.context(), table, &mut self.output)?;
        }
        for (index, object) in self.objects.iter() {
            if object.origin.is_none() && parts.get(index).is_none() {
                object.abandon(&mut self.output)?;
            }
        }
        self.forget(&counts, &parts);
        self.output.flush()
    }

    /// Writes what has changed of the objects that are there. Returns the removed datasets of which an edit failed half way. Nobody misses
    /// what it has left, but it is not known which of their space is free already.
    fn write_changed(&mut self, counts: &Counts) -> Result<Vec<Address>> {
        let mut left = Vec::new();
        let open = self.objects.open();
        let (objects, places) = self.objects.split();
        let resolve = |id: Id| places.of(id);
        let now: Now<'_> = &|| self.settings.now();
        let Some(session) = &mut self.session else { return Ok(left) };
        for index in open {
            let Some(object) = objects.get_mut(index).and_then(Option::as_mut) else { continue };
            if let (Kind::Dataset(dataset), Some(origin)) = (&mut object.kind, &object.origin) {
                // The space of a dataset that is removed is freed together with everything its header leads to.
                let is_deleted = counts.deleted.contains(&origin.address);
                if is_deleted && let Some(edited) = &mut dataset.edited {
                    edited.outer = None;
                }
                if is_deleted && dataset.sound().is_err() {
                    left.push(origin.address);
                    continue;
                }
                let place = (origin.address, &mut **dataset);
                dataset::edit::settle(session, &mut self.output, &self.settings.registry, place, now)?;
            }
            let Some(origin) =
                object.origin.as_ref().filter(|origin| !counts.deleted.contains(&origin.address))
            else {
                continue;
            };
            let group = match &object.kind {
                Kind::Group(group) => group.stored.as_ref().filter(|stored| stored.changed).map(|_| group),
                _ => None,
            };
            let stored = origin.attributes.as_ref().filter(|stored| stored.changed);
            if group.is_none() && stored.is_none() && object.comment.is_none() {
                continue;
            }
            let mut header = session.header(origin.address)?;
            if let Some(group) = group {
                group::store(session, &mut self.output, &mut header, group, &resolve)?;
            }
            // The links of a symbol table are no part of the object to which it belongs.
            let is_table = || header.find(MessageType::SymbolTable).is_some();
            if stored.is_some() || object.comment.is_some() || !is_table() {
                header.renew_times(now)?;
            }
            if let Some(stored) = stored {
                let changed = attributes::Changed {
                    attributes: &object.attributes,
                    removed: stored.removed.as_ref(),
                    next: stored.next,
                };
                attributes::store(session.context(), &mut self.output, &mut header, changed)?;
            }
            match &object.comment {
                Some(none) if none.as_bytes().is_empty() => drop(header.take(MessageType::Comment)),
                Some(comment) => {
                    header.set(MessageType::Comment, 0, |out| small::encode_comment(out, comment))?;
                }
                None => {}
            }
            header.write(&mut self.output)?;
        }
        Ok(left)
    }

    /// Turns all objects into stored objects of the file. Their content is read again when it is needed.
    fn forget(&mut self, counts: &Counts, parts: &NewParts) {
        let imported = &mut self.imported;
        // An object is removed with its last link, even if the caller did nothing else to it.
        for id in counts.deleted.iter().filter_map(|address| imported.get(address)) {
            self.objects.get_mut(id.index());
        }
        self.objects.settle(|index, object| {
            let address = object.origin.as_ref().map(|origin| origin.address);
            let address = address.or_else(|| parts.get(index).and_then(|part| part.address().ok()));
            object.attributes = AttributeList::default();
            object.comment = None;
            let Some(stays) = address.filter(|address| !counts.deleted.contains(address)) else {
                object.kind = Kind::Gone;
                object.origin = None;
                address.and_then(|address| imported.remove(&address));
                return None;
            };
            // A dataset of the file stays in memory with its chunk index, because programs usually go on writing to it.
            let kept = matches!(object.kind, Kind::Dataset(_)) && object.origin.is_some();
            if !kept && !matches!(object.kind, Kind::Datatype(_)) {
                object.kind = Kind::Stored;
            }
            object.origin = Some(Box::new(Origin { address: stays, attributes: None }));
            if let Ok(index) = u32::try_from(index) {
                imported.insert(stays, Id::of(index));
            }
            Some(stays)
        });
    }

    /// Commits what was [settled](Self::settle).
    ///
    /// # Errors
    /// Returns the errors of [`Session::commit`].
    pub(crate) fn commit(&mut self, flush: Flush) -> Result<()> {
        let done = match &mut self.session {
            Some(session) => session.commit(&mut self.output, flush),
            None => Ok(()),
        };
        self.within(None, done)
    }

    /// Writes the list of free space to the file if the file tracks it.
    ///
    /// # Errors
    /// Returns the errors of [`Session::commit`].
    pub(crate) fn keep_free_space(&mut self, flush: Flush) -> Result<()> {
        let done = match &mut self.session {
            Some(session) => session.keep_free_space(&mut self.output, flush),
            None => Ok(()),
        };
        self.within(None, done)
    }
}

fn no_link(path: &[u8]) -> Error {
    Error::not_found("link", String::from_utf8_lossy(path))
}

fn too_many_links() -> Error {
    Error::usage("object", "would have more hard links than its header can count")
}
