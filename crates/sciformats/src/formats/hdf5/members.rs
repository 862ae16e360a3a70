//! Members of groups, which are made of links.

use hdf5_pure::Address;
use hdf5_pure::structure::{self, BrokenLink, Link};
use sciformats_core::name::NameBytes;

use super::Adapter;
use super::elsewhere::Elsewhere;
use crate::Result;
use crate::model::{ObjectId, Target};
use crate::source::Member;

/// Returns the member that a link of `group` makes.
pub(super) fn member(adapter: &Adapter, group: ObjectId, link: Link) -> Member {
    Member { name: NameBytes::from(link.name).into(), target: adapter.target(group, link.target) }
}

/// The members of a group whose links can all be read, in the order of the links.
pub(super) struct Linked<'a> {
    pub(super) adapter: &'a Adapter,
    pub(super) group: ObjectId,
    pub(super) links: std::vec::IntoIter<std::result::Result<Link, BrokenLink>>,
}

impl Iterator for Linked<'_> {
    type Item = Result<Member>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(match self.links.next()? {
            // Nearly all links. The member is made in one step, because a long list mostly waits for copies of what was just written.
            Ok(Link { name, target: structure::Target::Hard(Address(address)), .. })
                if !Elsewhere::has(self.group) =>
            {
                let name = NameBytes::from(name).into();
                Ok(Member { name, target: Target::Object(ObjectId(address)) })
            }
            Ok(link) => Ok(member(self.adapter, self.group, link)),
            Err(broken) => Err(self.adapter.cut(broken.error)),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.links.size_hint()
    }
}
