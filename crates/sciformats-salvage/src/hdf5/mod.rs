//! HDF5: what is left of a file, and a view of the file in which everything that was found has a path.

mod assess;
mod base;
mod causes;
mod chunks;
mod clashes;
mod flips;
mod groups;
mod reach;
mod strays;

pub(crate) use self::causes::round_length;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hdf5_pure::structure::{
    BtreeK, Carved, Carver, FoundMessage, Link, MessageType, Rest, SIGNATURE, Sizes, Superblock, Target,
};
use hdf5_pure::{Address, Name};
use sciformats_core::storage::Patch;
use sciformats_core::{Error, ReadAt, Result, bound};

use self::causes::is_text;
use self::clashes::Clashes;
use self::reach::{Tree, is_group};
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
    /// Bytes with two owners.
    clashes: Clashes,
    /// Objects whose headers were made, and why a part of them is lost.
    mended: BTreeMap<u64, Option<String>>,
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
    work.find_clashes();
    let mut objects = work.assess(&file);
    if !work.damaged && objects.iter().any(|object| object.state > State::Unchecked) {
        // With damage at one place, sectors of zeros at other places become suspicious.
        work.damaged = true;
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
    Ok(Found { report, view: Some(work.readable()) })
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
            tried: 0,
            searches: 0,
            next,
            actions: Vec::new(),
            made: Vec::new(),
            reindexed: BTreeSet::new(),
            placed: BTreeMap::new(),
            clashes: Clashes::default(),
            mended: BTreeMap::new(),
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
        match base::likely(&**source, &carved) {
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

    /// Finds the root group, and everything to which its links lead.
    fn find_root(&mut self) -> Result<()> {
        self.rootless = self.superblock.is_none();
        let told = self.superblock.as_ref().and_then(Superblock::root);
        if let Some(root) = told {
            self.root = root.0;
            self.drop_lost_parts(root.0)?;
            let walked = self.tree.walk(&self.carver, root.0, "/");
            if walked && self.is_root(root.0) {
                return self.repair_headers();
            }
            // A changed address leads to another object, or to bytes that look like one.
            self.tree = Tree::default();
        }
        if let Some(Superblock { rest: Rest::Old { root: entry, .. }, .. }) = &self.superblock
            && let hdf5_pure::structure::Cache::Group { btree: Some(btree), heap: Some(heap) } = entry.cache
        {
            return self.root_of(btree, heap);
        }
        if let Some((root, reason, confidence)) = self.guess_root() {
            self.root = root;
            self.act("lay a superblock over the file", 0, reason, confidence);
            self.rootless = true;
            self.tree.walk(&self.carver, root, "/");
            return self.repair_headers();
        }
        self.root = self.next;
        let messages = self.carver.group_messages(&[])?;
        let start = Address(bound::sum(self.next, 64));
        let patches = self.carver.object(Address(self.next), &messages, start)?;
        self.lay(patches);
        self.rootless = true;
        let reason = "no header of a root group is left".to_owned();
        self.mended.insert(self.root, Some(reason.clone()));
        self.act("make a superblock and an empty root group", 0, reason, Confidence::Speculative);
        self.tree.walk(&self.carver, self.root, "/");
        Ok(())
    }

    /// Returns whether an object that was reached is a group, and not another one than that whose B-tree and heap the superblock names.
    fn is_root(&self, at: u64) -> bool {
        let Some(node) = self.tree.nodes.get(&at).filter(|node| node.is_group()) else { return false };
        let Some(Superblock { rest: Rest::Old { root: entry, .. }, .. }) = &self.superblock else {
            return true;
        };
        let hdf5_pure::structure::Cache::Group { btree: Some(btree), heap: Some(heap) } = entry.cache else {
            return true;
        };
        let mut tables = node.header.messages.iter().filter_map(|message| self.carver.symbol_table(message));
        tables.next().is_none_or(|table| table == (btree, heap) || self.header_of(btree, heap).is_none())
    }

    /// Returns the address of the header that names this B-tree and this heap.
    fn header_of(&self, btree: Address, heap: Address) -> Option<u64> {
        self.addresses("object header").find(|at| {
            let header = self.carver.header(Address(*at)).ok();
            let messages = header.map(|header| header.messages).unwrap_or_default();
            messages.iter().find_map(|message| self.carver.symbol_table(message)) == Some((btree, heap))
        })
    }

    /// Takes the group as the root whose B-tree and heap the superblock names: the one whose header says so too, or a new one.
    fn root_of(&mut self, btree: Address, heap: Address) -> Result<()> {
        self.rootless = true;
        let reason = "the superblock names the B-tree and the heap of the root group".to_owned();
        match self.header_of(btree, heap) {
            Some(root) => {
                self.root = root;
                self.act("lay a superblock over the file", root, reason, Confidence::High);
            }
            None => {
                self.root = self.next;
                let message = self.carver.symbol_table_message(btree, heap)?;
                let end = Address(bound::sum(self.next, 64));
                let patches = self.carver.object(Address(self.next), &[message], end)?;
                self.lay(patches);
                let why = "attributes of the root group may be lost with its header".to_owned();
                self.mended.insert(self.root, Some(why));
                self.act("make the header of the root group", 0, reason, Confidence::High);
            }
        }
        self.tree.walk(&self.carver, self.root, "/");
        self.repair_headers()
    }

    /// Returns the group that is most likely the root of a file without a superblock.
    fn guess_root(&self) -> Option<(u64, String, Confidence)> {
        let mut groups = Vec::new();
        let mut children = BTreeSet::new();
        for at in self.addresses("object header") {
            let Ok(header) = self.carver.header(Address(at)) else { continue };
            if !is_group(&header) {
                continue;
            }
            let mut tree = Tree::default();
            tree.walk(&self.carver, at, "/");
            children.extend(tree.nodes.keys().copied().filter(|&child| child != at));
            groups.push((at, tree.nodes.len(), header.version));
        }
        groups.retain(|(at, ..)| !children.contains(at));
        let most = groups.iter().map(|&(_, objects, _)| objects).max()?;
        let mut best = groups.iter().filter(|&&(_, objects, _)| objects == most);
        let (&(root, ..), other) = (best.next()?, best.next());
        // Several groups that are alike, or a group without a member, are no evidence.
        if other.is_some() || most < 2 && groups.len() > 1 {
            return None;
        }
        let alone = groups.len() == 1;
        let confidence = if alone { Confidence::Medium } else { Confidence::Speculative };
        let reason = format!(
            "the group at {root} is in no other group, and {most} objects are reached from it, which is the largest number"
        );
        Some((root, reason, confidence))
    }

    /// Leaves the parts of a header out that cannot be read, so that the other parts can.
    fn drop_lost_parts(&mut self, at: u64) -> Result<()> {
        let Ok(header) = self.carver.header(Address(at)) else { return Ok(()) };
        if header.lost.is_empty() || header.messages.is_empty() {
            return Ok(());
        }
        let reason = header.lost.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let patches = self.carver.object(Address(at), &header.messages, Address(self.next))?;
        self.lay(patches);
        self.mended.insert(at, Some(format!("a part of the header is lost: {reason}")));
        self.act("leave out the lost part of an object header", at, reason, Confidence::High);
        Ok(())
    }

    /// Does the same for all objects that are known, and follows the links that this brings.
    fn repair_headers(&mut self) -> Result<()> {
        let broken: Vec<u64> = self
            .tree
            .nodes
            .iter()
            .filter(|(_, node)| !node.header.lost.is_empty())
            .map(|(&at, _)| at)
            .collect();
        for at in broken {
            self.drop_lost_parts(at)?;
            let is_group = self.tree.nodes.get(&at).is_some_and(reach::Node::is_group);
            if !is_group {
                continue;
            }
            let Ok(all) = self.carver.links(Address(at)) else { continue };
            let links: Vec<Link> = all.into_iter().flatten().collect();
            self.tree.adopt(&self.carver, at, links);
            if let Some(node) = self.tree.nodes.get_mut(&at) {
                node.broken = Some("a part of the header is lost".into());
            }
        }
        Ok(())
    }

    /// Notes which bytes belong to the objects that are known.
    fn note_reached(&mut self) {
        for (&at, node) in &self.tree.nodes {
            let (parts, _) = self.carver.extents_of(Address(at));
            let blocks = node.header.blocks.iter().map(|&(start, len)| (start, len, false));
            for (start, len, elements) in parts.into_iter().chain(blocks) {
                self.reached.insert(start, (bound::sum(start, len), elements));
            }
        }
        if let Some(superblock) = &self.superblock {
            let len = if superblock.version < 2 { 96 } else { 48 };
            self.reached.insert(self.base, (bound::sum(self.base, len), false));
        }
    }

    /// Returns whether an address lies in something that belongs to a known object.
    fn is_reached(&self, address: u64) -> bool {
        let offset = self.carver.offset(Address(address));
        self.reached.range(..=offset).next_back().is_some_and(|(_, (end, _))| offset < *end)
    }

    /// Returns objects to which nothing leads, and which no other such object leads to.
    fn orphans(&mut self) -> Vec<(u64, String)> {
        let mut found = Vec::new();
        let candidates: Vec<u64> = self
            .addresses("object header")
            .filter(|at| !self.tree.nodes.contains_key(at) && !self.is_reached(*at))
            .collect();
        let mut trees = BTreeMap::new();
        let mut children = BTreeSet::new();
        for &at in &candidates {
            let Ok(header) = self.carver.header(Address(at)) else { continue };
            let is_object = is_group(&header)
                || header.has(MessageType::Layout) && header.has(MessageType::Datatype)
                || header.has(MessageType::Datatype) && header.messages.len() <= 3;
            if !is_object {
                continue;
            }
            let mut tree = Tree::default();
            tree.walk(&self.carver, at, "/");
            children.extend(tree.nodes.keys().copied().filter(|&child| child != at));
            trees.insert(at, tree);
        }
        let made = std::mem::take(&mut self.made);
        children.extend(made.iter().flat_map(|(_, links)| links).filter_map(|link| match link.target {
            Target::Hard(target) => Some(target.0),
            _ => None,
        }));
        for (heap, links) in made {
            if let Err(error) = self.make_group(heap, &links, &mut found) {
                self.act("leave out a group", heap, error.to_string(), Confidence::High);
            }
        }
        let roots: Vec<u64> = trees.keys().copied().filter(|at| !children.contains(at)).collect();
        // Groups that contain each other have no root; the first of them is as good as any.
        for at in roots.into_iter().chain(trees.into_keys()) {
            if self.tree.nodes.contains_key(&at) {
                continue;
            }
            let path = format!("/lost+found/{at:#x}");
            if self.tree.walk(&self.carver, at, &path) {
                let reason = "nothing leads to this object".to_owned();
                let checked = self.carved.iter().any(|carved| carved.address.0 == at && carved.checked);
                let confidence = if checked { Confidence::High } else { Confidence::Medium };
                self.act("link an object below /lost+found", at, reason, confidence);
                found.push((at, path));
            }
        }
        found
    }

    /// Makes a group of the links that were found with their names and without their group.
    fn make_group(&mut self, heap: u64, links: &[Link], found: &mut Vec<(u64, String)>) -> Result<()> {
        let at = self.next;
        let messages = self.carver.group_messages(links)?;
        let patches = self.carver.object(Address(at), &messages, Address(bound::sum(at, 64)))?;
        self.lay(patches);
        let path = format!("/lost+found/{heap:#x}");
        let reason = format!(
            "{} names of symbol table nodes that nothing leads to are in the heap at {heap}, whose group is lost",
            links.len()
        );
        self.mended.insert(at, None);
        self.act("make a group", heap, reason, Confidence::Medium);
        self.tree.walk(&self.carver, at, &path);
        found.push((at, path));
        Ok(())
    }

    /// Writes the links of groups anew that lead to nothing, or to more than before.
    fn rewrite_groups(&mut self, orphans: &[(u64, String)]) -> Result<()> {
        let dead: BTreeSet<u64> = self.tree.lost.iter().map(|&(_, at, _)| at).collect();
        let mut extra = None;
        if !orphans.is_empty() {
            let links: Vec<Link> = orphans
                .iter()
                .map(|(at, path)| link(path.rsplit('/').next().unwrap_or_default(), *at))
                .collect();
            let at = self.next;
            let messages = self.carver.group_messages(&links)?;
            let patches = self.carver.object(Address(at), &messages, Address(bound::sum(at, 64)))?;
            self.lay(patches);
            extra = Some(link("lost+found", at));
        }
        let groups: Vec<u64> = self
            .tree
            .nodes
            .iter()
            .filter(|(_, node)| node.is_group() && (node.broken.is_some() || node.has_dead))
            .map(|(&at, _)| at)
            .chain(extra.is_some().then_some(self.root))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        for at in groups {
            let Some(node) = self.tree.nodes.get(&at) else { continue };
            let mut links = node.links.clone();
            links.retain(|link| !matches!(link.target, Target::Hard(target) if dead.contains(&target.0)));
            if at == self.root {
                links.retain(|known| extra.as_ref().is_none_or(|extra| known.name != extra.name));
                links.extend(extra.clone());
            }
            let of_links =
                [MessageType::SymbolTable, MessageType::LinkInfo, MessageType::Link, MessageType::GroupInfo];
            let mut messages: Vec<FoundMessage> = self.carver.group_messages(&links)?;
            messages.extend(node.header.messages.iter().filter(|m| !of_links.contains(&m.kind)).cloned());
            let patches = self.carver.object(Address(at), &messages, Address(self.next))?;
            self.lay(patches);
        }
        Ok(())
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

fn link(name: &str, at: u64) -> Link {
    Link { name: Name::from(name), creation_order: None, utf8: true, target: Target::Hard(Address(at)) }
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
