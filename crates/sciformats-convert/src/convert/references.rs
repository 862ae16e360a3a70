//! References to objects that are missing in the target: they become null references, which is a loss.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use sciformats_core::Slab;
use sciformats_core::arith::{increase, present};

use super::plan::Builder;
use super::table::Body;
use super::{Loss, stored};
use sciformats::ElementType;
use sciformats::Result;
use sciformats::model::canonical::{length, take};

/// The paths that references may lead to.
pub(super) type Places = Arc<HashSet<Vec<u8>>>;

/// Records every array and attribute with references that lead nowhere in the target, and turns these into
/// null references.
pub(super) fn check(builder: &mut Builder) {
    let table = &builder.view.table;
    let refers = |body: &Body| matches!(body, Body::Array(taken) if taken.origin.element.refers());
    if !table.nodes().iter().any(|node| refers(&node.body)) && !table.has_attributes_of(ElementType::refers) {
        return;
    }
    // References name the bytes of a path, and not what is shown for them.
    let paths = (0..table.nodes().len()).map(|node| stored(&builder.view.path(node)));
    let places: Places = Arc::new(paths.collect());
    let mut told: Vec<(String, u64)> = Vec::new();
    for (number, node) in table.nodes().iter().enumerate() {
        if let Body::Array(taken) = &node.body
            && taken.origin.element.refers()
            && let Some(Ok(slab)) = taken.origin.shape.as_deref().map(Slab::all)
        {
            let (id, info) = (taken.id, &taken.origin);
            let mut count = 0u64;
            // Elements that cannot be read are reported when they are written.
            let _ = builder.view.origin.go_through(&builder.unfolding, (id, info), &slab, &mut |_, bytes| {
                increase(&mut count, kept(&info.element, bytes, (Some(&places), None))?.1)?;
                Ok(ControlFlow::Continue(()))
            });
            told.push((builder.view.path(number), count));
        }
    }
    let mut found = Vec::new();
    builder.view.table.change_attributes(ElementType::refers, |node, name, element, bytes| {
        let (bytes, count) = kept(element, bytes, (Some(&places), None)).ok()?;
        found.push((node, name.shown().into_owned(), count));
        Some(bytes)
    });
    told.extend(
        found.into_iter().map(|(node, name, count)| (format!("{}@{name}", builder.view.path(node)), count)),
    );
    told.retain(|(_, count)| *count > 0);
    told.sort();
    for (path, count) in told {
        let Loss { path, what, .. } = Loss::of_references(path, count);
        builder.lose(&path, what);
        builder.view.places = Some(Arc::clone(&places));
    }
}

/// Returns the length of the path in a reference of the newer kind of HDF5, which may name an attribute or a region after it.
pub(crate) type PathIn<'a> = &'a dyn Fn(&[u8]) -> usize;

/// Returns canonical bytes in which references to missing objects, or to objects outside of the given places,
/// are null, and the number of these references. If they are of the newer kind, those into other files are kept.
pub(crate) fn kept(
    element: &ElementType,
    bytes: &[u8],
    (places, newer): (Option<&HashSet<Vec<u8>>>, Option<PathIn<'_>>),
) -> Result<(Vec<u8>, u64)> {
    let mut copy = Copy { rest: bytes, out: Vec::with_capacity(bytes.len()), lost: 0, places, newer };
    while !copy.rest.is_empty() {
        let before = copy.rest.len();
        copy.one(element)?;
        if copy.rest.len() == before {
            // Elements without bytes would never end.
            break;
        }
    }
    Ok((copy.out, copy.lost))
}

/// Returns whether the text is a reference to a missing object, or to a part of one.
fn leads_nowhere(target: &[u8]) -> bool {
    target == b"?" || target.starts_with(b"? ")
}

/// Returns whether the text is a reference into another file, whose path there is not known: the name of the file, `:?`, and the
/// part of the object.
fn leads_out(target: &[u8]) -> bool {
    let ends = |at: usize| target.get(at..).is_some_and(|rest| rest == b":?" || rest.starts_with(b":? "));
    (1..target.len()).any(ends)
}

/// Canonical bytes that are being copied, element by element.
struct Copy<'a> {
    rest: &'a [u8],
    out: Vec<u8>,
    lost: u64,
    places: Option<&'a HashSet<Vec<u8>>>,
    newer: Option<PathIn<'a>>,
}

impl Copy<'_> {
    fn one(&mut self, element: &ElementType) -> Result<()> {
        if let Some(size) = element.size() {
            let bytes = take(&mut self.rest, size)?;
            self.out.extend_from_slice(bytes);
            return Ok(());
        }
        match element {
            ElementType::Compound(fields) => fields.iter().try_for_each(|(_, field)| self.one(field)),
            ElementType::Array { element, shape } => {
                let count = present(sciformats_core::slab::elements(shape), "number of parts of an element")?;
                (0..count).try_for_each(|_| self.one(element))
            }
            ElementType::Vlen(element) => {
                let count = length(&mut self.rest)?;
                self.out.extend(count.to_le_bytes());
                (0..count).try_for_each(|_| self.one(element))
            }
            _ => {
                let mut bytes = sciformats::model::canonical::text(&mut self.rest)?;
                if element.refers() && !bytes.is_empty() && !self.is_there(element, bytes) {
                    self.lost += 1;
                    bytes = &[];
                }
                self.out.extend((bytes.len() as u64).to_le_bytes());
                self.out.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Returns whether a reference leads to an object that the target has.
    fn is_there(&self, element: &ElementType, target: &[u8]) -> bool {
        let Some(places) = self.places else { return !leads_nowhere(target) };
        // In a copy within one file, addresses of objects without a path stay what they are.
        if target.starts_with(b"?") && target.len() > 1 && places.contains(&b"?"[..]) {
            return true;
        }
        let is_place = |end: usize| target.get(..end).is_some_and(|path| places.contains(path));
        match (element, self.newer) {
            // Names may contain spaces, and selections cannot.
            (ElementType::Region, _) => target.iter().rposition(|byte| *byte == b' ').is_some_and(is_place),
            (_, None) => places.contains(target),
            (_, Some(path_in)) => places.contains(target) || is_place(path_in(target)) || leads_out(target),
        }
    }
}
