//! The links of a group, in all forms in which they are stored.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use sciformats_core::fault::locate;
use sciformats_core::{Error, Result};

use crate::btree::Tree;
use crate::group::symbols;
use crate::heap::fractal::Heap;
use crate::object::header::Object;
use crate::space::context::Context;
use crate::spec::btree_v2::record::LinkName;
use crate::spec::message::MessageType;
use crate::spec::message::dense::LinkInfo;
use crate::spec::message::link::Link;
use crate::spec::message::small::SymbolTable;
use crate::spec::{Address, Name, lookup3};

/// A link that cannot be read. Its name may still be known.
///
/// ```no_run
/// let file = hdf5_pure::File::open("damaged.h5")?;
/// for broken in file.root()?.links()?.into_iter().filter_map(Result::err) {
///     println!("{:?}: {}", broken.name, broken.error);
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Debug)]
pub struct BrokenLink {
    /// The name of the link, if it can be read.
    pub name: Option<Name>,
    /// The reason why the link cannot be read.
    pub error: Error,
}

impl From<Error> for BrokenLink {
    fn from(error: Error) -> Self {
        Self { name: None, error }
    }
}

/// How the links of a group are stored.
enum Storage {
    Symbols(SymbolTable),
    Compact,
    Dense { heap: Address, by_name: Address },
}

fn storage(context: &Context, object: &Object<'_>) -> Result<Storage> {
    let sizes = context.sizes;
    if let Some(table) = object.parse(context, MessageType::SymbolTable, |i| SymbolTable::parse(i, sizes))? {
        return Ok(Storage::Symbols(table));
    }
    let info = object.parse(context, MessageType::LinkInfo, |i| LinkInfo::parse(i, sizes))?;
    match info.map(|info| (info.heap, info.by_name)) {
        Some((Some(heap), Some(by_name))) => Ok(Storage::Dense { heap, by_name }),
        Some((Some(_), None)) => Err(object.fault(
            MessageType::LinkInfo,
            "name index address",
            "is undefined although the group has a fractal heap",
        )),
        _ => Ok(Storage::Compact),
    }
}

/// Returns all links of the group `object`. A link that cannot be read is an error among them.
pub(crate) fn all(context: &Context, object: &Object<'_>) -> Result<Vec<Result<Link, BrokenLink>>> {
    let mut links = Vec::new();
    each(context, object, &mut |link| {
        links.push(link);
        ControlFlow::Continue(())
    })?;
    Ok(links)
}

/// Passes the links of the group `object` to a function in the order in which they are stored.
pub(crate) fn each(
    context: &Context,
    object: &Object<'_>,
    visit: &mut dyn FnMut(Result<Link, BrokenLink>) -> ControlFlow<()>,
) -> Result<()> {
    match storage(context, object)? {
        Storage::Symbols(table) => symbols::visit(context, table, visit)?,
        Storage::Compact => {
            let messages = object.messages().iter().filter(|message| message.kind == MessageType::Link);
            for message in messages {
                if visit(parse(context, message.offset, object.body(message))).is_break() {
                    break;
                }
            }
        }
        Storage::Dense { heap, by_name } => {
            let mut heap = Heap::open(context, heap)?;
            Tree::open(context, by_name, &[5])?.visit(&mut |record| {
                let link =
                    record.map_err(BrokenLink::from).and_then(|record| dense(context, &mut heap, record));
                Ok(visit(link))
            })?;
        }
    }
    Ok(())
}

/// Sorts links by the bytes of their names. Links that cannot be read come last.
pub(crate) fn sorted(mut links: Vec<Result<Link, BrokenLink>>) -> Vec<Result<Link, BrokenLink>> {
    // Old-style groups are stored in this order, so nothing has to be done for them.
    let known = |link: &Result<Link, BrokenLink>| link.is_ok();
    if links.iter().all(known) && links.is_sorted_by_key(|link| link.as_ref().ok().map(|link| &link.name)) {
        return links;
    }
    // The first bytes of the names decide most comparisons, and sorting them is cheaper than moving whole links.
    let head = |link: &Result<Link, BrokenLink>| {
        let mut first = [0u8; 8];
        let name = link.as_ref().map_or(&[][..], |link| link.name.as_bytes());
        first.iter_mut().zip(name).for_each(|(to, &from)| *to = from);
        (link.is_err(), first)
    };
    let mut order: Vec<_> = links.iter().enumerate().map(|(i, link)| (head(link), i)).collect();
    let name = |i: usize| links.get(i).and_then(|link| link.as_ref().ok()).map(|link| &link.name);
    order.sort_unstable_by(|(a, i), (b, j)| a.cmp(b).then_with(|| name(*i).cmp(&name(*j))));
    let mut order: Vec<usize> = order.into_iter().map(|(_, i)| i).collect();
    arrange(&mut links, &mut order);
    links
}

/// Rearranges `items`. `order` has the index of the item that belongs to each position, and each index occurs once.
fn arrange<T>(items: &mut [T], order: &mut [usize]) {
    for start in 0..items.len() {
        // Follows one cycle of the permutation. Each finished position refers to itself, so that no cycle is followed
        // twice.
        let mut at = start;
        while let Some(from) = order.get_mut(at).map(|from| std::mem::replace(from, at)) {
            if from == start {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
}

fn dense(context: &Context, heap: &mut Heap<'_>, record: &[u8]) -> Result<Link, BrokenLink> {
    let record = locate("link name record", 0, record, LinkName::parse)?;
    let (offset, bytes) = heap.get(record.id)?;
    parse(context, offset, &bytes)
}

fn parse(context: &Context, offset: u64, bytes: &[u8]) -> Result<Link, BrokenLink> {
    locate(MessageType::Link.name(), offset, bytes, |i| Link::parse(i, context.sizes))
        .map_err(|error| BrokenLink { name: Link::name_of(bytes), error })
}

/// Returns the link `name`. It is found without reading all links.
pub(crate) fn find(context: &Context, object: &Object<'_>, name: &[u8]) -> Result<Option<Link>> {
    match storage(context, object)? {
        Storage::Symbols(table) => symbols::find(context, table, name),
        Storage::Compact => {
            let mut error = None;
            for message in object.messages().iter().filter(|message| message.kind == MessageType::Link) {
                match parse(context, message.offset, object.body(message)) {
                    Ok(link) if link.name.as_bytes() == name => return Ok(Some(link)),
                    Ok(_) => {}
                    Err(broken) if broken.name.as_ref().is_some_and(|found| found.as_bytes() != name) => {}
                    Err(broken) => error = Some(broken.error),
                }
            }
            // The link that cannot be read may be the one that is wanted, so its error is reported instead of "not
            // found".
            error.map_or(Ok(None), Err)
        }
        Storage::Dense { heap, by_name } => {
            let mut heap = Heap::open(context, heap)?;
            let hash = lookup3::hash(name, 0);
            let mut found = None;
            // Names with equal hashes have adjacent records.
            Tree::open(context, by_name, &[5])?.search(
                |record| Ok(locate("link name record", 0, record, LinkName::parse)?.hash.cmp(&hash)),
                |record| {
                    let link = match dense(context, &mut heap, record) {
                        Err(BrokenLink { name: Some(other), .. }) if other.as_bytes() != name => {
                            return Ok(ControlFlow::Continue(()));
                        }
                        link => link.map_err(|broken| broken.error)?,
                    };
                    if link.name.as_bytes().cmp(name) != Ordering::Equal {
                        return Ok(ControlFlow::Continue(()));
                    }
                    found = Some(link);
                    Ok(ControlFlow::Break(()))
                },
            )?;
            Ok(found)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy, prop_assert_eq};

    use super::*;
    use crate::spec::message::link::Target;

    proptest::proptest! {
        #[test]
        fn items_are_put_into_any_order(mut order in Just((0..20).collect::<Vec<usize>>()).prop_shuffle()) {
            let mut items: Vec<usize> = (100..120).collect();
            let expected: Vec<usize> = order.iter().map(|&i| items[i]).collect();
            arrange(&mut items, &mut order);
            prop_assert_eq!(items, expected);
        }
    }

    #[test]
    fn links_in_the_order_of_their_names() {
        let names = ["b", "", "member 2", "member 10", "member 1", "a\0", "a", "member", "é"];
        let link = |name: &str| Link {
            name: name.into(),
            creation_order: None,
            utf8: false,
            target: Target::Soft("x".into()),
        };
        let broken = Err(BrokenLink { name: None, error: Error::usage("a", "b") });
        let mut links: Vec<_> =
            std::iter::once(broken).chain(names.iter().map(|name| Ok(link(name)))).collect();
        links = sorted(links);
        assert!(links.pop().unwrap().is_err());
        let found: Vec<Name> = links.into_iter().map(|link| link.unwrap().name).collect();
        let mut expected: Vec<Name> = names.iter().map(|&name| name.into()).collect();
        expected.sort();
        assert_eq!(found, expected);
    }
}
