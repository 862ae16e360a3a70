//! Compares how two objects are stored.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sciformats_core::bound;

use super::Walk;
use crate::compare::{Verdict, What};
use sciformats::model::ObjectId;

/// The number of stored bytes that a thread compares at once, unless a piece is larger.
const AT_ONCE: u64 = 512 << 10;

/// What belongs to the versions and widths of structures.
const VERSIONS: [&str; 3] = ["superblock", "widths of addresses and lengths", "shared messages"];

/// How the space of a file is allocated.
const PAGES: [&str; 2] = ["file space", "size of pages"];

impl Walk<'_> {
    /// Compares what the format records about two objects beside their contents, if that is requested.
    pub(super) fn storage(&mut self, path: &str, ids: (ObjectId, ObjectId)) -> ControlFlow<(), Verdict> {
        if !self.options.storage {
            return ControlFlow::Continue(Verdict::Same);
        }
        let (a, b) = match (self.files.0.source().storage(ids.0), self.files.1.source().storage(ids.1)) {
            (Ok(a), Ok(b)) => (a, b),
            // An object that cannot be read is reported when the contents are compared.
            _ => return ControlFlow::Continue(Verdict::Same),
        };
        let mut verdict = Verdict::Same;
        let find = |all: &[(&'static str, String)], name| {
            let found = all.iter().find(|(other, _)| *other == name);
            found.map_or_else(|| "not recorded".to_owned(), |(_, text)| text.clone())
        };
        let added = b.iter().filter(|(name, _)| a.iter().all(|(other, _)| other != name));
        for (name, _) in a.iter().chain(added) {
            // Of the links to an object, some may be among what is not compared.
            if *name == "hard links" && !self.options.only.is_empty() {
                continue;
            }
            if VERSIONS.contains(name) && !self.options.versions {
                continue;
            }
            if PAGES.contains(name) && self.options.repaged {
                continue;
            }
            let (a, b) = (find(&a, *name), find(&b, *name));
            if a != b {
                self.tell(path, What::Storage(name, a, b))?;
                verdict = Verdict::Different;
            }
        }
        ControlFlow::Continue(verdict)
    }

    /// Returns whether both arrays are stored in the same way, piece by piece, so that nothing has to be
    /// decoded. If something cannot be read, the answer is no.
    pub(super) fn is_stored_alike(&self, (a, b): (ObjectId, ObjectId)) -> bool {
        let stored = (self.files.0.source().stored(a), self.files.1.source().stored(b));
        let (Ok(Some(a)), Ok(Some(b))) = stored else { return false };
        if a.how != b.how || a.pieces != b.pieces {
            return false;
        }
        let fit = bound::addressable(AT_ONCE / a.largest.max(b.largest).max(1)).max(1);
        let (next, alike) = (AtomicUsize::new(0), AtomicBool::new(true));
        let compare = || {
            let (mut left, mut right) = (Vec::new(), Vec::new());
            while alike.load(Ordering::Relaxed) {
                let start = next.fetch_add(fit, Ordering::Relaxed);
                if start >= a.pieces {
                    break;
                }
                let range = start..bound::sum(start, fit).min(a.pieces);
                left.clear();
                right.clear();
                let told = ((a.read)(range.clone(), &mut left), (b.read)(range, &mut right));
                let same = matches!(told, (Ok(a), Ok(b)) if a == b) && left == right;
                self.files.0.count_read(left.len() as u64);
                if !same {
                    alike.store(false, Ordering::Relaxed);
                }
            }
        };
        let threads = self.files.0.options().threads().min(a.pieces.div_ceil(fit));
        if threads <= 1 {
            compare();
        } else {
            std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(compare))));
        }
        alike.into_inner()
    }
}
