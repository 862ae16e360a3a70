//! HDF5: what is left of a file, and a view of the file in which everything that was found has a path.

mod assess;
mod base;
mod causes;
mod chunks;
mod clashes;
mod flips;
mod groups;
mod heaps;
mod leads;
mod loose;
mod orphans;
mod pieces;
mod reach;
mod root;
mod strays;
mod streams;

pub(crate) use self::causes::round_length;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hdf5_pure::Address;
use hdf5_pure::structure::{BtreeK, Carved, Carver, Link, Rest, SIGNATURE, Sizes, Superblock};
use sciformats_core::storage::Patch;
use sciformats_core::{Error, ReadAt, Result, bound};

use self::causes::is_text;
use self::clashes::Clashes;
use self::reach::Tree;
use crate::flips::Flip;
use crate::laid::Laid;
use crate::map::{Map, Part};
use crate::report::{Action, Confidence, ObjectReport, Report, State};
use crate::scan::{Scan, scan};

/// The signatures of structures.
const SIGNATURES: [&[u8; 4]; 22] = [
    b"OHDR", b"OCHK", b"TREE", b"SNOD", b"HEAP", b"GCOL", b"FRHP", b"FHDB", b"FHIB", b"BTHD", b"BTIN",
    b"BTLF", b"FAHD", b"FADB", b"EAHD", b"EAIB", b"EASB", b"EADB", b"FSHD", b"FSSE", b"SMTB", b"SMLI",
];
/// The bytes after the structures that are made. Readers look for journals there.
const MARGIN: usize = 64 << 10;
/// The bytes that readers take at once to find a superblock.
const HEAD: u64 = 512;
/// The smallest extent of zeros that the map shows.
const ZEROS: u64 = 4096;

/// A damaged file, and what is known about it so far.
struct Work {
    source: Arc<dyn ReadAt>,
    /// Reads the file with everything that was laid over it.
    carver: Carver,
    base: u64,
    sizes: Sizes,
    btree_k: BtreeK,
    /// The superblock, if it can be read.
    superblock: Option<Superblock>,
    scan: Scan,
    carved: Vec<Carved>,
    tree: Tree,
    root: u64,
    /// The absolute offsets and ends of what belongs to objects that are reached; true for elements.
    reached: BTreeMap<u64, (u64, bool)>,
    patches: Vec<Patch>,
    /// The offsets of bytes in which a flipped bit was corrected.
    corrected: Vec<u64>,
    /// These corrections.
    flips: Vec<Flip>,
    /// The number of structures of which each bit was tried.
    tried: usize,
    /// How often the file was walked through in search of flipped bits.
    searches: usize,
    /// The address at which the next structure is made.
    next: u64,
    actions: Vec<Action>,
    /// Groups that are made from a heap and the symbol table nodes that fit it.
    made: Vec<(u64, Vec<Link>)>,
    /// Datasets of which the index of chunks was made anew.
    reindexed: BTreeSet<u64>,
    /// The first elements of chunks of datasets that were placed by their order in the file.
    placed: BTreeMap<u64, BTreeSet<Vec<u64>>>,
    /// The nodes of version 1 B-trees and the headers of other indexes of chunks that belong to datasets, read or not.
    owned: BTreeSet<u64>,
    /// Datasets of the bytes of chunks whose own dataset is lost, and groups of these.
    pieces: BTreeSet<u64>,
    /// Bytes with two owners.
    clashes: Clashes,
    /// Objects whose headers were made, and why a part of them is lost.
    mended: BTreeMap<u64, Option<String>>,
    /// The paths of objects that are not in the clean file, because their descriptions cannot be read.
    unreadable: BTreeSet<Vec<u8>>,
    /// Whether a superblock has to be made, because there is none or its root group is lost.
    rootless: bool,
    /// Why addresses do not tell where elements are, if they do not.
    adrift: Option<&'static str>,
    /// Whether anything is known to be damaged.
    damaged: bool,
}

/// What was found in an HDF5 file, and the view in which it can be read.
pub(crate) struct Found {
    pub(crate) report: Report,
    /// The file with everything that was laid over it; `None` if there is nothing that could be read.
    pub(crate) view: Option<Arc<dyn ReadAt>>,
    /// The single bits that were corrected, in the order in which they were found.
    pub(crate) flips: Vec<Flip>,
}

/// Looks for everything that is left of an HDF5 file.
///
/// # Errors
/// Returns `Io` if the file cannot be read.
pub(crate) fn examine(source: &Arc<dyn ReadAt>, threads: usize) -> Result<Found> {
    let mut work = Work::start(source, threads)?;
    let mut causes = work.causes()?;
    work.correct_objects();
    work.find_root()?;
    work.note_reached();
    work.rebuild_groups();
    let damaged = !causes.is_empty()
        || work.rootless
        || !work.corrected.is_empty()
        || !work.tree.lost.is_empty()
        || work.tree.nodes.values().any(|node| node.broken.is_some() || !node.header.lost.is_empty());
    work.damaged = damaged;
    let orphans = if damaged { work.orphans() } else { Vec::new() };
    // Objects to which nothing leads may have lost parts as well.
    work.repair_headers()?;
    work.rewrite_groups(&orphans)?;
    if work.rootless {
        let end = work.next;
        let patch = work.carver.superblock(Address(work.root), end)?;
        work.lay([patch]);
    }
    let mut file = work.open_anyhow()?;
    while work.correct_indexes(&file) {
        work.damaged = true;
        file = work.open()?;
    }
    if work.rebuild_indexes(&file)? {
        work.damaged = true;
        file = work.open()?;
    }
    if work.damaged && work.rescue_chunks(&file, &orphans)? {
        file = work.open()?;
    }
    work.find_clashes();
    if work.damaged && work.hide_zeros_in_heaps() {
        file = work.open()?;
    }
    work.note_unreadable(&file);
    let mut objects = work.assess(&file);
    if !work.damaged && objects.iter().any(|object| object.state > State::Unchecked) {
        // With damage at one place, sectors of zeros at other places become suspicious.
        work.damaged = true;
        if work.hide_zeros_in_heaps() {
            file = work.open()?;
        }
        objects = work.assess(&file);
    }
    work.late_causes(&mut causes);
    let map = work.map();
    let mut structures = BTreeMap::new();
    for carved in &work.carved {
        *structures.entry(carved.structure).or_insert(0) += 1;
    }
    let report = Report {
        format: "hdf5",
        size: source.size(),
        causes,
        actions: std::mem::take(&mut work.actions),
        objects,
        structures,
        map,
    };
    Ok(Found { report, view: Some(work.readable()), flips: work.flips })
}

impl Work {
    fn start(source: &Arc<dyn ReadAt>, threads: usize) -> Result<Self> {
        let flip = Self::correct_superblock(source);
        let patch = flip.map(|flip| Patch { offset: flip.offset, bytes: vec![flip.new] });
        let corrected = Laid::new(source.clone(), patch.into_iter().collect());
        let found = match Carver::find_superblock(&corrected) {
            Ok(found) => Some(found),
            Err(Error::Malformed { .. } | Error::NotThisFormat { .. } | Error::Unsupported { .. }) => None,
            Err(error) => return Err(error),
        };
        let mut first = [false; 256];
        for byte in SIGNATURES.iter().map(|signature| signature[0]).chain([1, SIGNATURE[0]]) {
            if let Some(known) = first.get_mut(usize::from(byte)) {
                *known = true;
            }
        }
        let scan = scan(source, threads, &first, |bytes, _| begins(bytes))?;
        let (base, superblock, adrift) = match found {
            Some((position, superblock)) => (position, Some(superblock), None),
            None => Self::moved(source, &scan.candidates),
        };
        let sizes = superblock.as_ref().map_or(Sizes { offsets: 8, lengths: 8 }, |found| found.sizes);
        let btree_k = match superblock.as_ref().map(|found| &found.rest) {
            Some(&Rest::Old { chunk_k, group_internal_k, group_leaf_k, .. }) => {
                BtreeK { chunk: chunk_k, group_internal: group_internal_k, group_leaf: group_leaf_k }
            }
            _ => BtreeK::default(),
        };
        let carver = Carver::new(source.clone(), base, sizes, btree_k);
        let carved = scan
            .candidates
            .iter()
            .filter(|&&offset| offset >= base)
            .filter_map(|&offset| carver.recognise(carver.address(offset)))
            .collect();
        // New structures stand far behind everything that the file may name.
        let next = if sizes.offsets >= 8 { 1 << 50 } else { bound::sum(source.size(), 1 << 30) };
        let mut work = Self {
            source: source.clone(),
            carver,
            base,
            sizes,
            btree_k,
            superblock,
            scan,
            carved,
            tree: Tree::default(),
            root: 0,
            reached: BTreeMap::new(),
            patches: Vec::new(),
            corrected: Vec::new(),
            flips: Vec::new(),
            tried: 0,
            searches: 0,
            next,
            actions: Vec::new(),
            made: Vec::new(),
            reindexed: BTreeSet::new(),
            placed: BTreeMap::new(),
            owned: BTreeSet::new(),
            pieces: BTreeSet::new(),
            clashes: Clashes::default(),
            mended: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            rootless: false,
            adrift,
            damaged: false,
        };
        work.lay_flips(flip.as_slice());
        Ok(work)
    }

    /// Returns from where addresses count in a file without a superblock at a usual place, the superblock at an unusual one, and why
    /// addresses tell nothing, if they do not.
    fn moved(
        source: &Arc<dyn ReadAt>,
        candidates: &[u64],
    ) -> (u64, Option<Superblock>, Option<&'static str>) {
        let carver = Carver::new(source.clone(), 0, Sizes { offsets: 8, lengths: 8 }, BtreeK::default());
        let carved: Vec<Carved> =
            candidates.iter().filter_map(|&offset| carver.recognise(Address(offset))).collect();
        if let Some((base, superblock)) = base::moved_superblock(source, candidates, &carved) {
            return (base, Some(superblock), None);
        }
        if is_text(&**source) {
            return (0, None, Some("the transfer as text has moved elements to unknown places"));
        }
        match base::likely(&**source, &carved).or_else(|| base::of_streams(source, &carved)) {
            Some(base) => (base, None, None),
            None => (0, None, Some("the superblock is lost, and nothing tells from where addresses count")),
        }
    }

    fn addresses(&self, structure: &'static str) -> impl Iterator<Item = u64> {
        self.carved.iter().filter(move |carved| carved.structure == structure).map(|carved| carved.address.0)
    }

    fn act(&mut self, kind: &'static str, address: u64, reason: String, confidence: Confidence) {
        let offset = self.carver.offset(Address(address));
        self.actions.push(Action { kind, offset, reason, confidence });
    }

    /// Lays patches over the file, and reads it with them from now on.
    fn lay(&mut self, patches: impl IntoIterator<Item = Patch>) {
        for patch in patches {
            let end = bound::left(bound::sum(patch.offset, patch.bytes.len() as u64), self.base);
            self.next = self.next.max(end.next_multiple_of(8));
            self.patches.push(patch);
        }
        self.carver = Carver::new(self.view(), self.base, self.sizes, self.btree_k);
    }

    /// Lays patches over parts of structures that stay where they are.
    fn lay_within(&mut self, patches: impl IntoIterator<Item = Patch>) {
        self.patches.extend(patches);
        self.carver = Carver::new(self.view(), self.base, self.sizes, self.btree_k);
    }

    fn view(&self) -> Arc<dyn ReadAt> {
        if self.patches.is_empty() {
            return self.source.clone();
        }
        let margin = Patch { offset: self.carver.offset(Address(self.next)), bytes: vec![0; MARGIN] };
        let patches = self.patches.iter().cloned().chain([margin]).collect();
        // Readers ask for as many bytes as the largest superblock has. A file that is that short has no object.
        let size = self.source.size();
        if size < HEAD
            && let Ok(bytes) = usize::try_from(size)
                .map_or(Ok(Vec::new()), |len| self.source.read_at(0, len).map(std::borrow::Cow::into_owned))
        {
            let padded: Vec<u8> = bytes.into_iter().chain(std::iter::repeat(0)).take(HEAD as usize).collect();
            return Arc::new(Laid::new(Arc::new(padded), patches));
        }
        Arc::new(Laid::new(self.source.clone(), patches))
    }

    /// Returns the file with everything that was laid over it, as readers need it: with the superblock at a usual place.
    fn readable(&self) -> Arc<dyn ReadAt> {
        if base::is_usual(self.base) { self.view() } else { base::from_base(self.view(), self.base) }
    }

    fn open(&self) -> Result<hdf5_pure::File> {
        let options = hdf5_pure::OpenOptions::default();
        hdf5_pure::File::from_storage(self.readable(), &options)
    }

    /// Opens the file. If parts of the superblock prevent this that are not needed, another one is laid over it.
    fn open_anyhow(&mut self) -> Result<hdf5_pure::File> {
        let error = match self.open() {
            Err(error @ Error::Malformed { .. }) if !self.rootless => error,
            other => return other,
        };
        let patch = self.carver.superblock(Address(self.root), self.next)?;
        self.lay([patch]);
        self.damaged = true;
        let reason = format!("the root group is known, and the file cannot be opened otherwise: {error}");
        self.act("lay a superblock over the file", 0, reason, Confidence::High);
        self.open()
    }

    fn map(&mut self) -> Map {
        self.note_reached();
        let size = self.source.size();
        let mut known: Vec<(u64, u64, Part)> =
            self.reached.iter().map(|(&start, &(end, _))| (start, end, Part::Reached)).collect();
        for carved in &self.carved {
            let start = self.carver.offset(carved.address);
            if !self.is_reached(carved.address.0) {
                known.push((start, bound::sum(start, carved.len), Part::Carved));
            }
        }
        let zeros = self.scan.zeros.iter().filter(|(start, end)| end - start >= ZEROS);
        known.extend(zeros.map(|&(start, end)| (start, end, Part::Zero)));
        let declared = self
            .superblock
            .as_ref()
            .map_or(size, |found| bound::sum(bound::left(found.end_of_file, found.base), self.base));
        Map::new(size, declared, known)
    }

    /// Returns the objects that are nothing but a name.
    fn lost(&self) -> impl Iterator<Item = ObjectReport> {
        self.tree.lost.iter().map(|(path, address, why)| ObjectReport {
            path: path.clone(),
            address: *address,
            kind: "object",
            state: State::Lost,
            unchecked: true,
            chunks: None,
            missing: Vec::new(),
            reasons: vec![why.clone()],
        })
    }
}

/// Returns whether a structure may begin with these bytes.
fn begins(bytes: &[u8]) -> bool {
    let Some(four) = bytes.get(..4) else { return false };
    if bytes.starts_with(&SIGNATURE) {
        return true;
    }
    if four.first() == Some(&1) {
        // A header of version 1: its references and its size are small numbers, and its padding is zero.
        let small = |at: usize| bytes.get(at + 2..at + 4) == Some(&[0, 0]);
        // It need not be aligned, because chunks of any size may be before it.
        return bytes.get(1) == Some(&0)
            && small(4)
            && bytes.get(12..16) == Some(&[0, 0, 0, 0])
            && bytes.get(11) == Some(&0);
    }
    SIGNATURES.iter().any(|signature| four == &signature[..])
}
