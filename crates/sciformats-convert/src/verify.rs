//! Reads everything in a file and reports every fault.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sciformats_core::{Blame, Error, Fault, FaultKind, Slab};

use sciformats::File;
use sciformats::model::{Object, ObjectId};
use sciformats::options::Unfolding;
use sciformats::source::Finding;
use sciformats::walk::{Entry, Found, breadth_first};

/// What was read.
///
/// ```
/// use sciformats_convert::verify::verify;
///
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// let summary = verify(&file, &mut |finding| println!("{:?}: {}", finding.path, finding.error));
/// assert_eq!((summary.objects, summary.attributes, summary.bytes), (3, 1, 48));
/// assert_eq!(summary.findings, 0);
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The number of objects that were found.
    pub objects: u64,
    /// The number of attributes that were read.
    pub attributes: u64,
    /// The number of canonical bytes of elements that were read.
    pub bytes: u64,
    /// The number of faults that were reported.
    pub findings: u64,
    /// The number of other files, or datasets in them, that should hold elements of this file but are
    /// missing, incomplete, or may not be opened. They were reported too, and are not faults of this file.
    pub missing: u64,
    /// The number of links that lead nowhere, in the same file or another one, or into files that may not be opened; these
    /// were reported too.
    pub links: u64,
}

/// Reads every object, attribute and element of `file`, checks the structures that this does not touch, and
/// passes each fault to `visit`. Nothing is written, and a sound file has no faults. Other files that this
/// file names but that are missing or may not be opened are reported too, as [`Error::Missing`] and
/// [`Error::Forbidden`]. The elements of all other sources are read if the file was opened with
/// [`Missing::Filled`](sciformats::options::Missing::Filled).
///
/// ```
/// use sciformats::memory::{Memory, array};
/// use sciformats::{File, Format};
/// use sciformats_convert::verify;
///
/// let file = File::from(Memory::single(Format::RawArray, array::<f32>(&[2], &[1.0, 2.0])));
/// let summary = verify::verify(&file, &mut |finding| panic!("{}", finding.error));
/// assert_eq!((summary.objects, summary.bytes, summary.findings), (1, 8, 0));
/// ```
pub fn verify(file: &File, visit: &mut dyn FnMut(Finding)) -> Summary {
    walked(file, ("/", file.source().root(), true), visit)
}

/// As [`verify`], for one object and everything below it. What belongs to no object there is not checked, but the checksums of blocks
/// that elements are stored in are.
///
/// ```
/// use sciformats::memory::{Memory, array};
/// use sciformats::{File, Format};
/// use sciformats_convert::verify;
///
/// let mut tree = Memory::new(Format::Hdf5);
/// tree.array(tree.root(), "u", array::<f32>(&[2], &[1.0, 2.0]));
/// tree.damage(tree.root(), "bad");
/// let summary = verify::verify_object(&File::from(tree), "/u", &mut |finding| panic!("{}", finding.error))?;
/// assert_eq!((summary.objects, summary.bytes, summary.findings), (1, 8, 0));
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::NotFound`] if there is no such object; those of finding it.
pub fn verify_object(file: &File, path: &str, visit: &mut dyn FnMut(Finding)) -> sciformats::Result<Summary> {
    let id = file.resolve(path)?;
    let path = match path.trim_end_matches('/') {
        "" => "/",
        path => path,
    };
    Ok(walked(file, (path, id, false), visit))
}

/// Verifies an object and everything below it, and the rest of the file if `whole` is true.
fn walked(
    file: &File,
    (start, id, whole): (&str, ObjectId, bool),
    visit: &mut dyn FnMut(Finding),
) -> Summary {
    let source = file.source();
    let mut summary = Summary::default();
    // What was missing earlier was not found by this call.
    drop(source.take_missing());
    let (mut seen, mut findings, mut missing) = (HashSet::new(), 0u64, 0u64);
    // The structures that were cut off, and what was told of each object: several reads may meet the same fault.
    let (mut cut, mut told) = (HashSet::new(), HashSet::new());
    let mut tell = |path: &str, error: Error| {
        if !told.insert((path.to_owned(), error.to_string())) {
            return;
        }
        if let (true, Some(offset)) = (is_cut(&error), error.offset()) {
            cut.insert(offset);
        }
        if error.blame() == Blame::Elsewhere || matches!(error, Error::Forbidden { .. }) {
            missing += 1;
        } else {
            seen.insert(error.to_string());
            findings += 1;
        }
        visit(Finding { path: Some(path.into()), error });
    };
    let unfolding = file.unfolding();
    let mut links = Vec::new();
    let _ = breadth_first(source, (start, id), file.limits(), &mut |entry| {
        if let Found::External { .. } | Found::Soft(_) = &entry.what {
            links.extend(broken(file, &entry).map(|error| (entry.path, error)));
            return ControlFlow::Continue(());
        }
        if let (false, Found::Object(id, Object::Array(_))) = (whole, &entry.what)
            && let Err(error) = source.sound(*id)
        {
            tell(&entry.path, error);
        }
        one((file, &unfolding), entry, &mut summary, &mut tell);
        ControlFlow::Continue(())
    });
    if let Some(whole) = file.cut_short().filter(|_| whole) {
        let found = file.size();
        let error = Fault::from(FaultKind::Cut { found, whole }).at("file", found);
        // The part that was cut off may be one that is never read.
        if cut.is_empty() && seen.insert(error.to_string()) {
            findings += 1;
            visit(Finding { path: None, error });
        }
    }
    if let Some(error) = file.damage().filter(|_| whole)
        && seen.insert(error.to_string())
    {
        findings += 1;
        visit(Finding { path: None, error });
    }
    summary.links = links.len() as u64;
    for (path, error) in links {
        visit(Finding { path: Some(path), error });
    }
    if !whole {
        return Summary { findings, missing, ..summary };
    }
    source.check(&mut |finding| {
        // A fault that was found by reading is not reported twice, and what was cut off is not damaged besides.
        let known = finding.error.offset().is_some_and(|offset| cut.contains(&offset))
            || (finding.path.is_none() && is_cut(&finding.error) && !cut.is_empty());
        if !known && !seen.contains(&finding.error.to_string()) {
            findings += 1;
            visit(finding);
        }
    });
    Summary { findings, missing, ..summary }
}

/// Returns what is wrong with a link, if it leads nowhere.
fn broken(file: &File, link: &Entry) -> Option<Error> {
    let error = file.resolve(&link.path).err()?;
    let Found::Soft(to) = &link.what else { return Some(error) };
    let problem = match &error {
        Error::NotFound { .. } => format!("leads to {}, which does not exist", to.shown()),
        Error::LimitExceeded { .. } => {
            format!("leads to {}, and from there back or through too many links", to.shown())
        }
        // Damage on the way is reported where it is.
        Error::Malformed { .. } => return None,
        _ => return Some(error),
    };
    Some(Error::missing("link", link.path.as_str(), problem))
}

/// Returns whether an error says that the end of the file is missing.
fn is_cut(error: &Error) -> bool {
    matches!(error, Error::Malformed { fault: Fault { kind: FaultKind::Cut { .. }, .. }, .. })
}

fn one(
    (file, unfolding): (&File, &Unfolding),
    entry: Entry,
    summary: &mut Summary,
    tell: &mut dyn FnMut(&str, Error),
) {
    let path = entry.path;
    let (id, object) = match entry.what {
        Found::Object(id, object) => (id, object),
        Found::Unreadable(error) | Found::Unlisted(error) => return tell(&path, error),
        _ => return,
    };
    summary.objects += 1;
    match object {
        Object::Array(info) => {
            let read = match info.shape.as_deref().map(Slab::all) {
                None => Ok(()),
                Some(Err(error)) => Err(error),
                Some(Ok(all)) => file.go_through(unfolding, (id, &info), &all, &mut |_, bytes| {
                    summary.bytes += bytes.len() as u64;
                    Ok(ControlFlow::Continue(()))
                }),
            };
            if let Err(error) = read {
                tell(&path, error);
            }
            file.source().take_missing().into_iter().for_each(|error| tell(&path, error));
        }
        Object::Damaged { error, .. } => tell(&path, error),
        _ => {}
    }
    let attributes = match file.source().attributes(id) {
        Ok(attributes) => attributes,
        Err(error) => return tell(&path, error),
    };
    for attribute in attributes {
        let attribute = match attribute {
            Ok(attribute) => attribute,
            Err(error) => return tell(&path, error),
        };
        summary.attributes += 1;
        if let Err(error) = attribute.value.and_then(|value| value.data.map(drop)) {
            tell(&format!("{path}@{}", attribute.name), error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sciformats::Format;
    use sciformats::memory::{Memory, array, texts};

    #[test]
    fn every_fault_is_told_and_the_rest_is_read() {
        let mut memory = Memory::new(Format::Hdf5);
        let root = memory.root();
        memory.damage(root, "bad");
        memory.array(root, "short", array::<f64>(&[3], &[1.0]));
        let good = memory.array(root, "good", array::<f64>(&[1], &[1.0]));
        memory.attribute(good, "units", texts(&[], &["m"]));
        memory.soft_link(root, "dead", "/nowhere");
        memory.soft_link(root, "loop", "loop");
        memory.soft_link(root, "sound", "good");
        let mut told = Vec::new();
        let summary = verify(&File::from(memory), &mut |finding| {
            told.push(format!("{}: {}", finding.path.unwrap(), finding.error));
        });
        assert_eq!(
            told,
            [
                "/bad: malformed object at offset 0x40: it is truncated",
                "/short: malformed array in memory at offset 0x0: elements is truncated",
                "/dead: link \"/dead\" leads to /nowhere, which does not exist",
                "/loop: link \"/loop\" leads to loop, and from there back or through too many links"
            ]
        );
        assert_eq!(
            summary,
            Summary { objects: 4, attributes: 1, bytes: 8, findings: 2, links: 2, ..Summary::default() }
        );
    }
}
