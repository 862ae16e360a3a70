//! An open file that is being edited, below the level of paths.

use std::path::Path;
use std::sync::Arc;

use sciformats_core::arith::{add, fit, present, sum};
use sciformats_core::commit::{apply, journal};
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Error, ReadAt, Result, bound};

use crate::file::cache_image;
use crate::file::open::{self, Opened};
use crate::file::options::OpenOptions;
use crate::file::set::FamilyPath;
use crate::object::header::{Header, Object};
use crate::space::context::Context;
use crate::space::extents::{Extent, Extents, found};
use crate::space::free::sections;
use crate::space::output::{Output, Storage};
use crate::space::pending::{Flush, Space, Use};
use crate::spec::free_space::{self, FreeSpace, Section};
use crate::spec::message::{MessageType, file_space_info, small};
use crate::spec::superblock::{Rest, Superblock};
use crate::spec::symbol_table::Cache;
use crate::spec::{Address, Sizes};

/// The file. Reading through [`context`](Self::context) shows the pending state.
pub(crate) struct Session {
    pub(crate) space: Arc<Space>,
    pub(crate) opened: Opened,
    pub(crate) superblock: Superblock,
    /// Whether the file still stores free-space managers. The first commit removes them.
    managed: bool,
}

impl Session {
    /// Opens the file in `storage` for editing. An interrupted commit is completed or undone first.
    ///
    /// # Errors
    /// Returns `Malformed` if the file is damaged or truncated, [`Error::Usage`] if it is marked as open for writing,
    /// and `Unsupported` for files that cannot be edited.
    pub(crate) fn open(
        mut storage: Box<dyn Storage>,
        path: Option<&Path>,
        options: &OpenOptions,
    ) -> Result<Self> {
        recover(&mut *storage)?;
        let (position, superblock) = open::superblock(&*storage)?;
        let end = bound::left(superblock.end_of_file, superblock.base);
        let short = bound::left(storage.size(), position) < end;
        if is_part(&superblock, path, short) {
            return Err(Error::unsupported("editing a file of several parts"));
        }
        if short {
            let kind = FaultKind::OutOfBounds { found: bound::sum(position, end), end: storage.size() };
            return Err(Fault::new("end of file address", kind).at("superblock", position));
        }
        if superblock.is_written() {
            return Err(Error::usage(
                "file",
                "is marked as open for writing: another program is writing it, or its writer did not close it",
            ));
        }
        let Sizes { offsets, lengths } = superblock.sizes;
        if ![offsets, lengths].iter().all(|width| matches!(width, 4 | 8)) {
            return Err(Error::unsupported(
                "editing a file whose addresses or lengths do not have 4 or 8 bytes",
            ));
        }
        let space = Arc::new(Space::new(storage, position, end, most(superblock.sizes)));
        let mut bytes = Vec::new();
        superblock.encode(&mut bytes)?;
        space.watch_superblock(bytes.len() as u64)?;
        let mut opened = Opened::plain(space.clone(), path, options)?;
        if cache_image::unload(&opened, &space)? {
            opened = Opened::plain(space.clone(), path, options)?;
        }
        let managed = opened.file_space.iter().flat_map(|info| &info.managers).flatten().next().is_some();
        let session = Self { space, superblock: opened.superblock.clone(), opened, managed };
        session.check()?;
        session.take_free_space()?;
        Ok(session)
    }

    pub(crate) fn context(&self) -> &Context {
        &self.opened.context
    }

    pub(crate) fn extension(&self) -> Option<Address> {
        match self.superblock.rest {
            Rest::New { extension, .. } => extension,
            Rest::Old { .. } => None,
        }
    }

    /// Returns the address of the table of shared messages.
    ///
    /// # Errors
    /// Returns `Malformed` if the superblock extension is damaged.
    pub(crate) fn shared_table(&self) -> Result<Option<Address>> {
        shared_table(self.context(), self.extension())
    }

    /// Returns whether the file stores what its free-space managers manage.
    pub(crate) fn is_managed(&self) -> bool {
        self.managed
    }

    /// Fails for files that cannot be edited.
    fn check(&self) -> Result<()> {
        let no = |what: &'static str| Err(Error::unsupported(format!("editing a file with {what}")));
        let Some(extension) = self.extension() else { return Ok(()) };
        let object = Object::read(self.context(), extension)?;
        let found = |kind| object.find(kind).is_some();
        match () {
            () if found(MessageType::DriverInfo) => no("several parts"),
            () => Ok(()),
        }
    }

    /// Takes over the free space that the file's free-space managers manage.
    fn take_free_space(&self) -> Result<()> {
        let Some(info) = &self.opened.file_space else { return Ok(()) };
        if info.strategy == PAGED {
            self.space.set_page(info.page_size);
        }
        for (number, manager) in info.managers.iter().enumerate() {
            let Some(at) = *manager else { continue };
            let usage = if DATA_MANAGERS.contains(&number) { Use::Data } else { Use::Metadata };
            for section in sections(self.context(), at)? {
                self.space.add_free(Address(section.offset), section.size, usage)?;
            }
        }
        Ok(())
    }

    /// Returns the header of the object at `address`, which can be changed and [written back](Header::write).
    ///
    /// # Errors
    /// Returns the errors of [`Header::read`].
    pub(crate) fn header(&self, address: Address) -> Result<Header> {
        Header::read(self.context(), address)
    }

    /// Returns the extents of the structures that `collect` finds.
    ///
    /// # Errors
    /// Returns `Malformed` if one of the structures is damaged.
    pub(crate) fn extents(
        &self,
        collect: impl FnOnce(&mut Extents<'_>) -> Result<()>,
    ) -> Result<Vec<Extent>> {
        found(self.context(), collect)
    }

    /// Removes the cached copy of the root group's symbol table from the superblock if the group at `address` is the
    /// root group.
    pub(crate) fn forget_table(&mut self, address: Address) {
        if let Rest::Old { root, .. } = &mut self.superblock.rest
            && root.header == Some(address)
        {
            root.cache = Cache::None;
        }
    }

    /// Stores in the file that no free space is managed, and frees the managers. From now on, space that they list as
    /// free may be in use.
    fn forget_managers(&mut self, output: &mut Output) -> Result<()> {
        let (Some(info), Some(extension), true) = (&self.opened.file_space, self.extension(), self.managed)
        else {
            return Ok(());
        };
        let managers: Vec<Address> = info.managers.iter().copied().flatten().collect();
        let extents = self.extents(|extents| managers.iter().try_for_each(|at| extents.free_space(*at)))?;
        self.name_manager(output, extension, None)?;
        output.release(&extents)?;
        self.managed = false;
        Ok(())
    }

    fn name_manager(
        &self,
        output: &mut Output,
        extension: Address,
        manager: Option<(Address, u64)>,
    ) -> Result<()> {
        let mut header = self.header(extension)?;
        let message = header.find(MessageType::FileSpaceInfo);
        let body = message
            .map(|message| file_space_info::with_manager(&message.body, manager, self.context().sizes));
        let body = present(body, "file space info message")??;
        header.set(MessageType::FileSpaceInfo, 0, |out| {
            out.extend(body);
            Ok(())
        })?;
        // If the continuation of this header has to move to fresh space, it moves now. When the list of free space has
        // been written, a move would make the list wrong.
        header.touch();
        header.write(output)
    }

    /// Writes the list of free space to the end of the file, if the file tracks it, and commits that.
    ///
    /// # Errors
    /// Returns the errors of [`commit`](Self::commit).
    pub(crate) fn keep_free_space(&mut self, output: &mut Output, flush: Flush) -> Result<()> {
        let (Some(info), Some(extension)) = (&self.opened.file_space, self.extension()) else {
            return Ok(());
        };
        // In a file with pages, each kind of content has managers of its own, and one manager cannot stand for all of
        // them.
        if !info.persist || info.strategy == PAGED || self.managed {
            return Ok(());
        }
        let threshold = info.threshold.max(1);
        // The message gets its space before the free space is listed, because the list would be wrong afterwards.
        self.name_manager(output, extension, None)?;
        let parts = self.space.free_after();
        let sections: Vec<Section> = parts
            .iter()
            .map(|&(start, end, _)| Section { offset: start, size: bound::left(end, start), class: 0 })
            .filter(|section| section.size >= threshold)
            .collect();
        if sections.is_empty() {
            return Ok(());
        }
        let sizes = self.context().sizes;
        let mut manager = FreeSpace {
            client: 1,
            total: sum(sections.iter().map(|section| section.size))?,
            sections: sections.len() as u64,
            serialized: sections.len() as u64,
            address_bits: fit(add(most(sizes).ilog2(), 1)?, "bits of an address")?,
            max_section: most(sizes),
            list: None,
            list_size: 0,
            list_allocated: 0,
        };
        let at = self.space.append(FreeSpace::size(sizes) as u64)?;
        let (mut header, mut list) = (Vec::new(), Vec::new());
        free_space::encode_sections(&mut list, &manager, at, &sections, sizes)?;
        let (len, place) = (list.len() as u64, self.space.append(list.len() as u64)?);
        (manager.list, manager.list_size, manager.list_allocated) = (Some(place), len, len);
        manager.encode(&mut header, sizes)?;
        output.write(at, &header)?;
        output.write(place, &list)?;
        self.name_manager(output, extension, Some((at, at.0)))?;
        self.commit(output, flush)?;
        self.managed = true;
        Ok(())
    }

    /// Writes everything that is pending to the file.
    ///
    /// # Errors
    /// Returns the errors of [`Space::commit`].
    pub(crate) fn commit(&mut self, output: &mut Output, flush: Flush) -> Result<()> {
        output.flush()?;
        let base = self.context().base;
        let end = |space: &Space| add(base, space.trimmed_end());
        if !self.space.is_changed() && end(&self.space)? == self.superblock.end_of_file {
            return Ok(());
        }
        self.forget_managers(output)?;
        let end_of_file = end(&self.space)?;
        self.superblock.end_of_file = end_of_file;
        self.superblock.base = base;
        self.superblock.consistency_flags = 0;
        let mut bytes = Vec::new();
        self.superblock.encode(&mut bytes)?;
        self.space.write(Address(0), &bytes)?;
        self.space.commit(flush)
    }
}

/// Returns the length of the longest file that addresses and lengths of these sizes can express.
fn most(sizes: Sizes) -> u64 {
    let bits = u32::from(sizes.offsets.min(sizes.lengths)) * 8;
    1u64.unbounded_shl(bits).wrapping_sub(1).min(i64::MAX.cast_unsigned())
}

/// The strategy that allocates space in pages.
const PAGED: u8 = 1;
/// The managers of raw data and of global heaps, by their position in the message.
const DATA_MANAGERS: [usize; 4] = [2, 3, 8, 9];

/// Completes or undoes an interrupted commit.
pub(crate) fn recover(storage: &mut dyn Storage) -> Result<()> {
    if open::journal_of(&*storage)?.is_some() {
        let steps = journal::recover(&*storage)?;
        apply(&steps, storage)?;
    }
    Ok(())
}

/// Returns the address of the table of shared messages, which the superblock extension stores.
///
/// # Errors
/// Returns `Malformed` if the superblock extension is damaged.
pub(crate) fn shared_table(context: &Context, extension: Option<Address>) -> Result<Option<Address>> {
    let Some(extension) = extension else { return Ok(None) };
    let object = Object::read(context, extension)?;
    let table = object.parse(context, MessageType::SharedTable, |i| small::shared_table(i, context.sizes))?;
    Ok(table.map(|(at, _)| at))
}

/// Returns whether a superblock belongs to a file of several parts. The first member of a family is shorter than its superblock says.
fn is_part(superblock: &Superblock, path: Option<&Path>, short: bool) -> bool {
    match superblock.rest {
        Rest::Old { driver_info: Some(_), .. } => true,
        Rest::New { extension: Some(Address(at)), .. } if at > open::MOST_BYTES => true,
        _ => short && path.and_then(FamilyPath::of).is_some_and(|family| family.member(1).exists()),
    }
}
