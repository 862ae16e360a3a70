//! Groups that are written.

use std::collections::HashMap;

use super::links;
use super::tree::ObjectId;
use crate::spec::message::link::{Link, Target};
use crate::spec::message::link_info::LinkInfo;
use crate::spec::message::small::SymbolTable;
use crate::spec::{Address, Name};

/// The links of a group.
#[derive(Default)]
pub(crate) struct Group {
    pub(super) links: Vec<(Name, Destination)>,
    pub(super) names: HashMap<Box<[u8]>, usize>,
}

/// Where a link leads to.
#[derive(Clone, Debug)]
pub(crate) enum Destination {
    Object(ObjectId),
    Soft(Name),
    External { file: Name, path: Name },
}

/// Where the links of a group are.
pub(super) enum LinkStorage {
    Compact,
    Dense(LinkInfo),
    Table(SymbolTable),
}

impl Group {
    pub(super) fn resolved(&self, resolve: &dyn Fn(ObjectId) -> Address, tracked: bool) -> Vec<Link> {
        let target = |to: &Destination| match to {
            Destination::Object(id) => Target::Hard(resolve(*id)),
            Destination::Soft(path) => Target::Soft(path.clone()),
            Destination::External { file, path } => {
                Target::External { file: file.clone(), path: path.clone() }
            }
        };
        (0i64..)
            .zip(&self.links)
            .map(|(order, (name, to))| Link {
                name: name.clone(),
                creation_order: tracked.then_some(order),
                target: target(to),
            })
            .collect()
    }

    pub(super) fn storage(&self, old: bool, tracked: bool) -> LinkStorage {
        let external = self.links.iter().any(|(_, to)| matches!(to, Destination::External { .. }));
        // A table has no place for external links.
        if old && !external {
            return LinkStorage::Table(SymbolTable { btree: Address(0), heap: Address(0) });
        }
        if links::is_compact(&self.resolved(&|_| Address(0), false)) {
            return LinkStorage::Compact;
        }
        // As long as the message that it stands for.
        LinkStorage::Dense(LinkInfo {
            max_creation_index: tracked.then_some(0),
            heap: None,
            by_name: None,
            by_creation_order: tracked.then_some(None),
        })
    }
}
