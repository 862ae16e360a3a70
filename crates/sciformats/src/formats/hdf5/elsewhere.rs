//! Objects behind links into other files. Their ids are larger than any address that a file can have.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hdf5_pure::{Address, File, Node};
use sciformats_core::Error;
use sciformats_core::bound;

use crate::Result;
use crate::model::{Name, ObjectId};

/// The first id of an object in another file. No file has such addresses: the system's offsets are signed, and in a set of files with
/// six kinds of content the last one begins at five sixths of all addresses.
const FIRST: u64 = 0xf << 60;

/// The objects in other files that were found, in the order of their ids.
#[derive(Default)]
pub(super) struct Elsewhere(Mutex<Table>);

#[derive(Default)]
struct Table {
    files: Vec<File>,
    /// The number of the file, and the address in it.
    places: Vec<(usize, u64)>,
    ids: HashMap<(usize, u64), ObjectId>,
    /// Open files, by the number of the file that names them (`None` for the file that was opened) and the
    /// name.
    open: HashMap<(Option<usize>, Name), File>,
}

impl Table {
    fn id(&mut self, file: usize, Address(address): Address) -> ObjectId {
        let next = ObjectId(bound::sum(FIRST, self.places.len() as u64));
        let places = &mut self.places;
        *self.ids.entry((file, address)).or_insert_with(|| {
            places.push((file, address));
            next
        })
    }

    fn place(&self, ObjectId(id): ObjectId) -> Option<(usize, u64)> {
        let number = usize::try_from(id.checked_sub(FIRST)?).ok()?;
        self.places.get(number).copied()
    }
}

impl Elsewhere {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether an id belongs to an object in another file.
    pub(super) fn has(id: ObjectId) -> bool {
        id.0 >= FIRST
    }

    /// Returns the file and the address of such an object; `None` for an object of the file itself.
    pub(super) fn place(&self, id: ObjectId) -> Option<Result<(File, Address)>> {
        if !Self::has(id) {
            return None;
        }
        let table = self.table();
        let found = table
            .place(id)
            .and_then(|(file, address)| Some((table.files.get(file)?.clone(), Address(address))));
        Some(found.ok_or_else(|| Error::usage("object", "is not known as the target of a link")))
    }

    /// Returns the id of the object at an address of the file that contains `group`.
    pub(super) fn beside(&self, group: ObjectId, address: Address) -> ObjectId {
        if !Self::has(group) {
            return ObjectId(address.0);
        }
        let mut table = self.table();
        match table.place(group) {
            Some((file, _)) => table.id(file, address),
            // Neither a group nor its members have such an id.
            None => ObjectId(u64::MAX),
        }
    }

    /// Returns the id of an object in another file.
    pub(super) fn add(&self, node: &Node) -> ObjectId {
        let mut table = self.table();
        let same = |file: &File| file.is_same(node.file());
        let number = table.files.iter().position(same).unwrap_or_else(|| {
            table.files.push(node.file().clone());
            table.files.len() - 1
        });
        table.id(number, node.address())
    }

    /// Opens the file that a group, which is in `from`, calls `name`. Each file is opened once.
    fn open(&self, (group, from): (ObjectId, &File), name: &Name) -> Result<File> {
        let key = (self.table().place(group).map(|(file, _)| file), name.clone());
        if let Some(open) = self.table().open.get(&key) {
            return Ok(open.clone());
        }
        let open = from.open_external(name.as_bytes())?;
        self.table().open.insert(key, open.clone());
        Ok(open)
    }

    /// Follows a link of a group, which is in `from`.
    pub(super) fn follow(
        &self,
        (group, from): (ObjectId, &File),
        file: &Name,
        target: &Name,
    ) -> Result<ObjectId> {
        let other = self.open((group, from), file)?;
        let path = String::from_utf8(target.as_bytes().to_vec());
        let path = path.map_err(|_| Error::unsupported("following a link to a name that is not UTF-8"))?;
        match other.object(&path) {
            Ok(node) => Ok(self.add(&node)),
            Err(Error::NotFound { what: "object", name, .. }) => {
                Err(Error::missing("target of a link", format!("{name} in {file}"), "does not exist"))
            }
            Err(error) => Err(error),
        }
    }
}
