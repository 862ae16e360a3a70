//! The file behind the nodes, and what has been found out about it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sciformats::details::Details;
use sciformats::{File, Name, ObjectId};

use crate::conventions::characters::Taken;
use crate::conventions::mcos::Subsystem;

/// A file that conventions examine, and what has been found out about it.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) file: Arc<File>,
    /// The names of objects in groups that have been listed.
    pub(super) names: Mutex<HashMap<ObjectId, Arc<HashMap<ObjectId, Name>>>>,
    /// The members of the group that was listed last, because each convention looks at the same group.
    pub(super) listed: Mutex<Option<Listed>>,
    /// The attributes of the object that was asked last, because each convention asks the same object.
    attributed: Mutex<Option<Attributed>>,
    /// The contents of MATLAB's objects, once they have been read.
    pub(super) mcos: OnceLock<Arc<Subsystem>>,
    /// The dimensions of arrays that are no texts, once they have been looked for.
    pub(super) taken: OnceLock<Arc<Taken>>,
}

/// The members of a group.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) group: ObjectId,
    pub(super) members: Arc<[Known]>,
    /// The number of members that can be reached without following a soft link, or `usize::MAX` if all members are listed.
    pub(super) count: usize,
}

/// A member of a group: its name, and the object if it is known where the link leads.
pub(super) type Known = (Name, Option<ObjectId>);

/// The number of members that are listed at least, because one convention looks at more members than the one before.
pub(super) const LISTED: usize = 1024;

/// The names of the attributes of an object.
#[derive(Debug)]
struct Attributed {
    object: ObjectId,
    /// `None` if there are many, or if one of them cannot be read.
    names: Option<Vec<Name>>,
}

/// The number of attributes up to which an object's names are known after the first question.
const FEW_ATTRIBUTES: usize = 64;

impl Tree {
    pub(crate) fn new(file: Arc<File>) -> Arc<Self> {
        Arc::new(Self {
            file,
            names: Mutex::default(),
            listed: Mutex::default(),
            attributed: Mutex::default(),
            mcos: OnceLock::new(),
            taken: OnceLock::new(),
        })
    }

    /// Returns whether it is known that an object has no attribute with a name.
    pub(super) fn lacks(&self, details: &dyn Details, object: ObjectId, name: &str) -> bool {
        let last = || self.attributed.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = |known: &Attributed| {
            known
                .names
                .as_ref()
                .is_some_and(|names| names.iter().all(|found| found.as_bytes() != name.as_bytes()))
        };
        if let Some(known) = last().as_ref().filter(|known| known.object == object) {
            return missing(known);
        }
        // A damaged name is reported by whoever asks for an attribute that it might be.
        let names = details.few_attribute_names(object, FEW_ATTRIBUTES).ok().flatten();
        let found = Attributed { object, names };
        let is_missing = missing(&found);
        *last() = Some(found);
        is_missing
    }
}
