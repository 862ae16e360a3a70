//! How two objects are stored.

use std::ops::ControlFlow;

use super::Walk;
use crate::compare::{Verdict, What};
use crate::model::ObjectId;

impl Walk<'_> {
    /// Compares what is kept of two objects beside their contents, if that is asked for.
    pub(super) fn storage(&mut self, path: &str, ids: (ObjectId, ObjectId)) -> ControlFlow<(), Verdict> {
        if !self.options.storage {
            return ControlFlow::Continue(Verdict::Same);
        }
        let (a, b) = match (self.files.0.source().storage(ids.0), self.files.1.source().storage(ids.1)) {
            (Ok(a), Ok(b)) => (a, b),
            // The contents tell what cannot be read.
            _ => return ControlFlow::Continue(Verdict::Same),
        };
        let mut verdict = Verdict::Same;
        let find = |all: &[(&'static str, String)], name| {
            let found = all.iter().find(|(other, _)| *other == name);
            found.map_or_else(|| "not told".to_owned(), |(_, text)| text.clone())
        };
        let added = b.iter().filter(|(name, _)| a.iter().all(|(other, _)| other != name));
        for (name, _) in a.iter().chain(added) {
            let (a, b) = (find(&a, *name), find(&b, *name));
            if a != b {
                self.tell(path, What::Storage(name, a, b))?;
                verdict = Verdict::Different;
            }
        }
        ControlFlow::Continue(verdict)
    }

    /// Whether both arrays are stored alike, piece by piece: then there is nothing to decode. What cannot be read says nothing.
    pub(super) fn is_stored_alike(&self, (a, b): (ObjectId, ObjectId)) -> bool {
        let stored = (self.files.0.source().stored(a), self.files.1.source().stored(b));
        let (Ok(Some(a)), Ok(Some(mut b))) = stored else { return false };
        if a.how != b.how {
            return false;
        }
        for piece in a.pieces {
            match (piece, b.pieces.next()) {
                (Ok(a), Some(Ok(b))) if a == b => self.files.0.count(a.2.len() as u64),
                _ => return false,
            }
        }
        b.pieces.next().is_none()
    }
}
