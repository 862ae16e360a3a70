//! Follows paths from group to group and through soft links, to an object of this file or out of the file.

use sciformats_core::{Error, Result, bound};

use crate::file::open::Opened;
use crate::group::links;
use crate::object::header::Object;
use crate::object::kind::NodeKind;
use crate::spec::Address;
use crate::spec::message::link::Target;

/// The number of links that are looked at for names that resemble one that is missing. A wrong name must not cost the reading
/// of a large group.
pub(crate) const LOOKED_AT: usize = 1000;

/// The largest number of soft links that are followed for one path.
pub(crate) const MAX_LINKS: usize = 16;

/// The result of following a path.
pub(crate) enum Found {
    /// An object of this file.
    Here(Address),
    /// An external link on the way; `rest` is the part of the path after it.
    Elsewhere { file: Vec<u8>, path: Vec<u8>, rest: Vec<u8> },
}

/// What is met on the way along a path.
#[derive(Default)]
pub(crate) struct Met {
    /// The number of soft links that were followed.
    links: usize,
    /// Whether the link that is missing is not the last one of the path, or is one of an object that is no group.
    pub(crate) gap: bool,
}

/// Follows `path` from the group `from`, or from the root group if it starts with a slash.
pub(crate) fn resolve(opened: &Opened, from: Address, path: &[u8], met: &mut Met) -> Result<Option<Found>> {
    let context = &opened.context;
    let mut at = if path.first() == Some(&b'/') { opened.root } else { from };
    let mut names = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty() && *name != b".");
    while let Some(name) = names.next() {
        let object = Object::read(context, at)?;
        let Some(link) = links::find(context, &object, name)? else {
            let is_group = matches!(NodeKind::of(&object), Some(NodeKind::Group) | None);
            met.gap = names.next().is_some() || !is_group;
            return Ok(None);
        };
        match link.target {
            Target::Hard(address) => at = address,
            Target::Soft(target) => {
                met.links = bound::sum(met.links, 1);
                if met.links > MAX_LINKS {
                    let (declared, limit) = (met.links as u64, MAX_LINKS as u64);
                    return Err(Error::limit_exceeded("soft links in a row", declared, limit));
                }
                match resolve(opened, at, target.as_bytes(), met)? {
                    Some(Found::Here(address)) => at = address,
                    Some(Found::Elsewhere { file, path, mut rest }) => {
                        rest.extend(names.flat_map(|name| [b"/", name].concat()));
                        return Ok(Some(Found::Elsewhere { file, path, rest }));
                    }
                    None => {
                        met.gap |= names.next().is_some();
                        return Ok(None);
                    }
                }
            }
            Target::External { file, path } => {
                let rest = names.flat_map(|name| [b"/", name].concat()).collect();
                let (file, path) = (file.as_bytes().to_vec(), path.as_bytes().to_vec());
                return Ok(Some(Found::Elsewhere { file, path, rest }));
            }
            Target::User { class, .. } => {
                return Err(Error::unsupported(format!("a user-defined link of class {class}")));
            }
        }
    }
    Ok(Some(Found::Here(at)))
}
