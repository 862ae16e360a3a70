//! Corrects single bits that were flipped in structures with a checksum, before anything else is made of what is left.

use std::collections::BTreeSet;
use std::sync::Arc;

use hdf5_pure::structure::{Carver, Layout, SIGNATURE};
use hdf5_pure::{Address, File};
use sciformats_core::storage::Patch;
use sciformats_core::{Error, ReadAt, bound};

use super::Work;
use super::reach::Tree;
use crate::flips::{Flip, flipped, wrong_checksum};
use crate::laid::Laid;
use crate::report::Confidence;

/// The most corrections, each of which may reveal the next one, and the most structures of which each bit is tried.
const MOST: usize = 1000;
const TRIED: usize = 4000;
/// How often the file is walked through in search of them.
const ROUNDS: usize = 64;
/// The most headers that cannot be read of which the first bits are tried.
const PREFIXES: usize = 64;
/// The first bytes of a header, which say how long it is. After a change of its length, nothing tells where its checksum is.
const PREFIX: u64 = 40;
/// The first bytes of a superblock: the signature, the version, the sizes of fields and flags.
const FIXED: usize = 12;

impl Work {
    /// Corrects the superblock of a file, if a bit of it was flipped.
    pub(super) fn correct_superblock(source: &Arc<dyn ReadAt>) -> Option<Flip> {
        let error = Carver::find_superblock(&**source).err()?;
        if let Some(wrong) = wrong_checksum(&error) {
            return flipped(&**source, wrong);
        }
        let head = source.read_at(0, FIXED).ok()?.into_owned();
        let bits = |(old, new): (&u8, &u8)| (old ^ new).count_ones();
        let wrong = head.iter().zip(&SIGNATURE).map(bits).sum::<u32>();
        if wrong == 1 {
            let mut pairs = (0..).zip(head.iter().zip(&SIGNATURE));
            return pairs.find(|(_, (old, new))| old != new).map(|(offset, (&old, &new))| Flip {
                offset,
                old,
                new,
            });
        }
        if wrong > 1 {
            return None;
        }
        // The version and the sizes of fields determine where the checksum is, so they are tried first.
        let mut found = Vec::new();
        for (at, &old) in head.iter().enumerate().skip(SIGNATURE.len()) {
            for bit in 0..8 {
                let new = old ^ 1 << bit;
                let laid = Laid::new(source.clone(), vec![Patch { offset: at as u64, bytes: vec![new] }]);
                // Older versions have no checksum that would be evidence.
                if Carver::find_superblock(&laid).is_ok_and(|(at, found)| at == 0 && found.version >= 2) {
                    found.push(Flip { offset: at as u64, old, new });
                }
            }
        }
        match found.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// Corrects headers and indexes of links. What the last walk found is kept if nothing in it was damaged.
    pub(super) fn correct_objects(&mut self) {
        self.correct_strays();
        let Some(root) = self.superblock.as_ref().and_then(hdf5_pure::structure::Superblock::root) else {
            return;
        };
        while self.may_search() {
            let mut tree = Tree::default();
            tree.walk(&self.carver, root.0, "/");
            if tree.faults.is_empty() {
                self.tree = tree;
                return;
            }
            let lost: Vec<u64> = tree.lost.iter().map(|(_, at, _)| *at).take(PREFIXES).collect();
            if !self.correct(&tree.faults) && !lost.into_iter().any(|at| self.correct_prefix(at)) {
                return;
            }
        }
    }

    /// Counts the searches. Returns whether there may be another one.
    fn may_search(&mut self) -> bool {
        self.searches = bound::sum(self.searches, 1);
        self.searches <= ROUNDS && self.corrected.len() < MOST
    }

    /// Corrects headers that were found by their signature.
    fn correct_strays(&mut self) {
        let known: BTreeSet<u64> = self.addresses("object header").collect();
        let mut faults = Vec::new();
        for &offset in &self.scan.candidates {
            let is_header = |bytes: &[u8]| bytes == b"OHDR";
            if offset < self.base
                || known.contains(&self.carver.address(offset).0)
                || !self.source.read_at(offset, 4).is_ok_and(|bytes| is_header(&bytes))
            {
                continue;
            }
            faults.extend(self.carver.header(self.carver.address(offset)).err());
            if faults.len() >= MOST {
                break;
            }
        }
        if !self.correct(&faults) {
            return;
        }
        let corrected: Vec<_> = self
            .scan
            .candidates
            .iter()
            .map(|&offset| self.carver.address(offset))
            .filter(|address| !known.contains(&address.0))
            .filter_map(|address| self.carver.recognise(address))
            .filter(|carved| carved.structure == "object header" && carved.checked)
            .collect();
        self.carved.extend(corrected);
        self.carved.sort_by_key(|carved| carved.address.0);
    }

    /// Corrects indexes of chunks and of attributes. Returns whether anything was corrected.
    pub(super) fn correct_indexes(&mut self, file: &File) -> bool {
        if !self.may_search() {
            return false;
        }
        let mut faults: Vec<Error> = Vec::new();
        for (&at, node) in &self.tree.nodes {
            let address = Address(at);
            match file.attributes_at(address) {
                Ok(found) => faults.extend(found.iter().filter_map(|one| one.datatype().err())),
                Err(error) => faults.push(error),
            }
            if !node.is_dataset() {
                continue;
            }
            let Ok(dataset) = file.dataset_at(address) else { continue };
            if !matches!(dataset.layout(), Ok(Layout::Chunked(_))) {
                continue;
            }
            match dataset.chunks() {
                Ok(chunks) => faults.extend(chunks.into_iter().filter_map(Result::err)),
                Err(error) => faults.push(error),
            }
        }
        self.correct(&faults)
    }

    /// Corrects the structures of which errors say that their checksum is wrong. Returns whether there was one.
    fn correct(&mut self, faults: &[Error]) -> bool {
        let view = self.view();
        let wrong: Vec<_> =
            faults.iter().filter_map(wrong_checksum).take(bound::left(TRIED, self.tried)).collect();
        self.tried = bound::sum(self.tried, wrong.len());
        let mut flips: Vec<Flip> = wrong.into_iter().filter_map(|wrong| flipped(&*view, wrong)).collect();
        flips.sort_unstable_by_key(|flip| flip.offset);
        flips.dedup();
        self.lay_flips(&flips);
        !flips.is_empty()
    }

    /// Corrects a bit among the first bytes of the header at `at`, including its signature. Returns whether there was one.
    fn correct_prefix(&mut self, at: u64) -> bool {
        let (view, start) = (self.view(), self.carver.offset(Address(at)));
        let len =
            start.checked_add(PREFIX).map_or(0, |end| end.min(self.source.size()).saturating_sub(start)); // a bound
        let Ok(bytes) = view.read_at(start, usize::try_from(len).unwrap_or(0)) else { return false };
        let mut found = Vec::new();
        for (offset, &old) in (start..).zip(bytes.iter()) {
            for bit in 0..8 {
                let new = old ^ 1 << bit;
                let laid = Laid::new(view.clone(), vec![Patch { offset, bytes: vec![new] }]);
                let carver = Carver::new(Arc::new(laid), self.base, self.sizes, self.btree_k);
                if carver.recognise(Address(at)).is_some_and(|carved| carved.checked) {
                    found.push(Flip { offset, old, new });
                }
            }
        }
        match found.as_slice() {
            only @ [_] => {
                self.lay_flips(only);
                true
            }
            _ => false,
        }
    }

    pub(super) fn lay_flips(&mut self, flips: &[Flip]) {
        self.lay(flips.iter().map(|flip| Patch { offset: flip.offset, bytes: vec![flip.new] }));
        for flip in flips {
            self.corrected.push(flip.offset);
            self.flips.push(*flip);
            let why = match flip.offset < SIGNATURE.len() as u64 {
                true => "the other bits of the signature are right",
                false => "of all single bits of the structure, only this one makes its checksum right",
            };
            let reason = format!("{:#04x} becomes {:#04x}: {why}", flip.old, flip.new);
            let address = self.carver.address(flip.offset);
            self.act("correct a flipped bit", address.0, reason, Confidence::High);
        }
    }
}
