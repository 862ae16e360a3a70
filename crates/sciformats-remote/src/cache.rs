//! A cache of ranges in a local folder, which later openings of the same version of a file use.
//!
//! The folder contains a folder for each version of a file, and this contains packs: the ranges that one batch fetched.
//!
//! | offset | size | field of a pack |
//! |---|---|---|
//! | 0 | 8 | signature `\x89SFC\r\n\x1a\n` |
//! | 8 | 4 | version of this layout: 1 |
//! | 12 | 4 + n | length of the identity, and the identity: URL, entity tag and size |
//! | | 4 | number of ranges |
//! | | 24 each | offset in the file, length, and checksum of the bytes of each range |
//! | | 8 | checksum of everything before |
//! | | | the bytes of the ranges, one after another |
//!
//! Numbers are little-endian. A pack gets its name when it is complete, so processes never see a part of one. The bytes of a range are
//! checked each time they are read. A pack that is damaged, or that another process has removed, is as if it had never existed. When
//! the packs together need more than the permitted space, those that were not used for the longest time are removed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use nom::multi::{count, length_data};
use nom::number::complete::{le_u32, le_u64};
use sciformats_core::fault::{FaultKind, Parsed, constant, fail, field, locate_all};
use sciformats_core::storage::{Ranges, length};
use sciformats_core::{Error, Result, bound};

use crate::http::Version;
use crate::remote::{Asked, Store};

const SIGNATURE: u64 = u64::from_le_bytes(*b"\x89SFC\r\n\x1a\n");
const VERSION: u32 = 1;

/// The ending of packs.
const PACK: &str = "pack";

/// The longest beginning of a pack that is read, in bytes. A batch has far fewer ranges.
const LONGEST_HEAD: u64 = 16 << 20;

/// A pack without a name that is older than this was left by a process that was killed.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Where ranges are kept, and how much space they may need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    pub(crate) bytes: u64,
}

/// A store whose ranges are kept in a folder.
pub(crate) struct Cached {
    store: Box<dyn Store>,
    place: Place,
    /// The folder of this version of the file.
    folder: PathBuf,
    identity: String,
    state: Mutex<State>,
}

struct State {
    /// The known ranges by their first byte.
    known: BTreeMap<u64, Kept>,
    /// The number of bytes of all packs in the folder when they were last counted, and the number written since.
    counted: u64,
    written: u64,
    /// What was asked for, and what was not kept and had to be requested.
    asked: Asked,
    requested: Asked,
}

/// Where a range is kept.
#[derive(Clone)]
struct Kept {
    pack: Arc<PathBuf>,
    at: u64,
    len: u64,
    checksum: u64,
}

/// The beginning of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Head {
    identity: String,
    /// Offset, length and checksum of each range.
    ranges: Vec<(u64, u64, u64)>,
}

impl Cached {
    /// Returns the store with a cache. A file without an entity tag that tells its versions apart has none.
    ///
    /// # Errors
    /// `Io` if the folder cannot be created.
    pub(crate) fn wrap(store: Box<dyn Store>, url: &str, place: &Place) -> Result<Box<dyn Store>> {
        let version = store.version();
        let Some(etag) = version.strong() else { return Ok(store) };
        // The query of a URL can be a secret, so only its checksum is written.
        let query = checksum(url.as_bytes());
        let identity = format!("{}\n{query:016x}\n{etag}\n{}", store.name(), store.size());
        let name = format!(
            "{:016x}{:016x}",
            checksum(identity.as_bytes()),
            checksum(identity.to_uppercase().as_bytes())
        );
        let folder = place.folder.join(name);
        fs::create_dir_all(&folder).map_err(|error| Error::io("create", error).in_file(&folder, None))?;
        let known = known(&folder, &identity);
        let (asked, requested) = Default::default();
        let state = State { known, counted: occupied(&place.folder), written: 0, asked, requested };
        Ok(Box::new(Self { store, place: place.clone(), folder, identity, state: Mutex::new(state) }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Divides a range into parts that are kept, and parts that are added to `missing`.
    fn look_up(&self, range: &Range<u64>, missing: &mut Vec<Range<u64>>) -> Vec<Part> {
        let (mut parts, mut at) = (Vec::new(), range.start);
        while at < range.end {
            let (found, next) = {
                let state = self.lock();
                let before = state.known.range(..=at).next_back();
                let found = before.map(|(&start, kept)| (start, kept.clone()));
                let next = state.known.range(bound::sum(at, 1)..).next().map(|(&start, _)| start);
                (found.filter(|(start, kept)| bound::sum(*start, kept.len) > at), next)
            };
            let Some((start, kept)) = found else {
                let end = next.map_or(range.end, |next| next.min(range.end));
                match (parts.last(), missing.last_mut()) {
                    // What was kept here turned out to be damaged.
                    (Some(Part::Missing(_)), Some(last)) if last.end == at => last.end = end,
                    _ => {
                        parts.push(Part::Missing(missing.len()));
                        missing.push(at..end);
                    }
                }
                at = end;
                continue;
            };
            let end = bound::sum(start, kept.len).min(range.end);
            let part = kept.read().and_then(|bytes| {
                let within = |at: u64| usize::try_from(at.checked_sub(start)?).ok();
                Some(bytes.get(within(at)?..within(end)?)?.to_vec())
            });
            match part {
                Some(part) => {
                    parts.push(Part::Kept(part));
                    at = end;
                }
                None => drop(self.lock().known.remove(&start)),
            }
        }
        parts
    }

    /// Keeps ranges for later. If that is impossible, they are fetched again later.
    fn keep(&self, ranges: &[Range<u64>], pieces: &[Vec<u8>]) {
        let total: u64 = ranges.iter().map(length).sum();
        if total > self.place.bytes / 4 || ranges.is_empty() || ranges.len() != pieces.len() {
            return;
        }
        let Some(pack) = self.write(ranges, pieces) else { return };
        let full = {
            let mut state = self.lock();
            for (start, kept) in pack {
                state.known.insert(start, kept);
            }
            state.written = bound::sum(state.written, total);
            // Others write too, so the space is counted again from time to time.
            bound::sum(state.counted, state.written) > self.place.bytes
                || state.written > self.place.bytes / 8
        };
        if full {
            let left = tidy(&self.place);
            let mut state = self.lock();
            (state.counted, state.written) = (left, 0);
        }
    }

    fn write(&self, ranges: &[Range<u64>], pieces: &[Vec<u8>]) -> Option<Vec<(u64, Kept)>> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let sums =
            ranges.iter().zip(pieces).map(|(range, piece)| (range.start, length(range), checksum(piece)));
        let head = Head { identity: self.identity.clone(), ranges: sums.collect() };
        let bytes = head.encode();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?.as_nanos();
        let name = format!("{now:x}-{:x}-{number:x}", std::process::id());
        let (unnamed, named) =
            (self.folder.join(format!(".{name}")), self.folder.join(format!("{name}.{PACK}")));
        let write = || -> std::io::Result<()> {
            let mut file = File::create_new(&unnamed)?;
            file.write_all(&bytes)?;
            pieces.iter().try_for_each(|piece| file.write_all(piece))?;
            drop(file);
            fs::rename(&unnamed, &named)
        };
        if write().is_err() {
            let _ = fs::remove_file(&unnamed);
            return None;
        }
        Some(head.kept(&named, bytes.len() as u64))
    }
}

impl Store for Cached {
    fn version(&self) -> Version {
        self.store.version()
    }

    fn name(&self) -> String {
        self.store.name()
    }

    fn repeated(&self) -> u64 {
        self.store.repeated()
    }

    fn saved(&self) -> (Asked, Asked) {
        let state = self.lock();
        (state.asked, state.requested)
    }
}

impl Ranges for Cached {
    fn size(&self) -> u64 {
        self.store.size()
    }

    fn get(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        let mut missing = Vec::new();
        let plans: Vec<Vec<Part>> = ranges.iter().map(|range| self.look_up(range, &mut missing)).collect();
        {
            let mut state = self.lock();
            state.asked.add(ranges);
            state.requested.add(&missing);
        }
        let pieces = if missing.is_empty() { Vec::new() } else { self.store.get(&missing)? };
        self.keep(&missing, &pieces);
        let joined = |parts: Vec<Part>| -> Vec<u8> {
            let part = |part| match part {
                Part::Kept(bytes) => bytes,
                Part::Missing(number) => pieces.get(number).cloned().unwrap_or_default(),
            };
            parts.into_iter().map(part).reduce(|all, part| [all, part].concat()).unwrap_or_default()
        };
        Ok(plans.into_iter().map(joined).collect())
    }
}

/// A part of a range.
enum Part {
    Kept(Vec<u8>),
    /// The number of the missing range.
    Missing(usize),
}

impl Kept {
    /// Reads the range, if it is still there and undamaged.
    fn read(&self) -> Option<Vec<u8>> {
        let mut file = File::open(&*self.pack).ok()?;
        file.seek(SeekFrom::Start(self.at)).ok()?;
        let mut bytes = Vec::new();
        let room = file.metadata().ok()?.len().checked_sub(self.at)?;
        if room < self.len {
            return None;
        }
        (&file).take(self.len).read_to_end(&mut bytes).ok()?;
        if bytes.len() as u64 != self.len || checksum(&bytes) != self.checksum {
            let _ = fs::remove_file(&*self.pack);
            return None;
        }
        // What was used stays longer.
        let _ = file.set_modified(SystemTime::now());
        Some(bytes)
    }
}

impl Head {
    fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (i, _) = constant("signature", le_u64, SIGNATURE)(i)?;
        let (i, _) = constant("version", le_u32, VERSION)(i)?;
        let (i, identity) = field("identity", length_data(le_u32))(i)?;
        let (i, number) = field("number of ranges", le_u32)(i)?;
        if (i.len() as u64) / 24 < u64::from(number) {
            return fail(i, FaultKind::Truncated);
        }
        let (i, ranges) = field("ranges", count((le_u64, le_u64, le_u64), number as usize))(i)?;
        Ok((i, Self { identity: String::from_utf8_lossy(identity).into_owned(), ranges }))
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(SIGNATURE.to_le_bytes());
        out.extend(VERSION.to_le_bytes());
        // URLs and batches are far shorter than the numbers can say; if one was not, the pack would not be read.
        out.extend(u32::try_from(self.identity.len()).unwrap_or(u32::MAX).to_le_bytes()); // a bound
        out.extend(self.identity.as_bytes());
        out.extend(u32::try_from(self.ranges.len()).unwrap_or(u32::MAX).to_le_bytes()); // a bound
        for (start, len, sum) in &self.ranges {
            out.extend([*start, *len, *sum].into_iter().flat_map(u64::to_le_bytes));
        }
        let sum = checksum(&out);
        out.extend(sum.to_le_bytes());
        out
    }

    /// Reads the beginning of a pack, and returns it with its length.
    fn read(path: &Path) -> Option<(Self, u64)> {
        let mut file = File::open(path).ok()?;
        let mut bytes = vec![0; 16];
        file.read_exact(&mut bytes).ok()?;
        let number = |bytes: &[u8], at: usize| {
            let four = bytes.get(at..at.checked_add(4)?)?;
            Some(u64::from(u32::from_le_bytes(four.try_into().ok()?)))
        };
        let most = file.metadata().ok()?.len().min(LONGEST_HEAD);
        let identity = number(&bytes, 12)?;
        let ranges_at = identity.checked_add(16)?;
        let more = |bytes: &mut Vec<u8>, end: u64| -> Option<()> {
            let len = end.checked_sub(bytes.len() as u64)?;
            (end <= most).then_some(())?;
            let came = (&file).take(len).read_to_end(bytes).ok()?;
            (came as u64 == len).then_some(())
        };
        more(&mut bytes, ranges_at.checked_add(4)?)?;
        let ranges = number(&bytes, usize::try_from(ranges_at).ok()?)?;
        let end = ranges.checked_mul(24)?.checked_add(ranges_at)?.checked_add(12)?;
        more(&mut bytes, end)?;
        let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(8)?)?;
        if sum != checksum(body).to_le_bytes() {
            return None;
        }
        Some((locate_all("pack", 0, body, Self::parse).ok()?, end))
    }

    /// Returns where the ranges of a pack are kept, whose bytes begin at `at`.
    fn kept(&self, path: &Path, mut at: u64) -> Vec<(u64, Kept)> {
        let pack = Arc::new(path.to_path_buf());
        let mut all = Vec::new();
        for &(start, len, checksum) in &self.ranges {
            all.push((start, Kept { pack: pack.clone(), at, len, checksum }));
            at = bound::sum(at, len);
        }
        all
    }
}

/// Returns the ranges that the packs of a folder contain. Other files and damaged packs are passed over.
fn known(folder: &Path, identity: &str) -> BTreeMap<u64, Kept> {
    let mut all: BTreeMap<u64, Kept> = BTreeMap::new();
    for path in packs(folder) {
        let Some((head, len)) = Head::read(&path).filter(|(head, _)| head.identity == identity) else {
            continue;
        };
        for (start, kept) in head.kept(&path, len) {
            if all.get(&start).is_none_or(|other| other.len < kept.len) {
                all.insert(start, kept);
            }
        }
    }
    all
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn packs(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.extension().is_some_and(|ending| ending == PACK)).collect()
}

/// Returns the number of bytes of all packs of a cache.
fn occupied(folder: &Path) -> u64 {
    let size = |path: PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
    entries(folder).into_iter().flat_map(|version| packs(&version)).map(size).fold(0, bound::sum)
}

/// Removes packs until the others need at most seven eighths of the permitted space, and returns how much they need.
fn tidy(place: &Place) -> u64 {
    let mut all = Vec::new();
    for version in entries(&place.folder) {
        for path in entries(&version) {
            let Ok(metadata) = path.metadata() else { continue };
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if path.extension().is_some_and(|ending| ending == PACK) {
                all.push((used, metadata.len(), path));
            } else if is_unnamed(&path) && used.elapsed().is_ok_and(|age| age > ABANDONED) {
                let _ = fs::remove_file(&path);
            }
        }
    }
    all.sort_unstable();
    let mut total = all.iter().map(|(_, len, _)| *len).fold(0, bound::sum);
    for (_, len, path) in all {
        if total <= place.bytes - place.bytes / 8 {
            break;
        }
        if fs::remove_file(&path).is_ok() {
            total = bound::left(total, len);
        }
        // The folder of a version without packs is empty, and can be removed; otherwise nothing happens.
        let _ = path.parent().map(fs::remove_dir);
    }
    total
}

/// Returns whether a file has the name of a pack that is being written.
fn is_unnamed(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let hexadecimal = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.strip_prefix('.')
        .is_some_and(|rest| rest.split('-').count() == 3 && rest.split('-').all(hexadecimal))
}

/// Computes a checksum that a change of any eight adjacent bytes changes: FNV-1a over words.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    for (place, byte) in last.iter_mut().zip(rest) {
        *place = *byte;
    }
    let mix = |hash: u64, word: u64| ((hash ^ word).wrapping_mul(0x0100_0000_01b3)).rotate_left(29);
    let hash = words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    mix(mix(hash, u64::from_le_bytes(last)), bytes.len() as u64)
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "one range is meant")]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Counting {
        etag: &'static str,
        asked: Arc<Mutex<Vec<Range<u64>>>>,
    }

    const SIZE: u64 = 100_000;

    fn byte(at: u64, etag: &str) -> u8 {
        (at as u8) ^ ((at >> 8) as u8) ^ etag.len() as u8
    }

    impl Ranges for Counting {
        fn size(&self) -> u64 {
            SIZE
        }

        fn get(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
            self.asked.lock().unwrap().extend_from_slice(ranges);
            Ok(ranges.iter().map(|range| range.clone().map(|at| byte(at, self.etag)).collect()).collect())
        }
    }

    impl Store for Counting {
        fn version(&self) -> Version {
            Version { etag: Some(self.etag.into()), modified: None }
        }

        fn name(&self) -> String {
            "https://a.example/f.h5".into()
        }

        fn repeated(&self) -> u64 {
            0
        }
    }

    /// A cache, and what it asks the server for.
    #[allow(clippy::type_complexity, reason = "the parts are named where they are used")]
    fn cached(
        folder: &Path,
        bytes: u64,
        etag: &'static str,
    ) -> (Box<dyn Store>, Arc<Mutex<Vec<Range<u64>>>>) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let store = Box::new(Counting { etag, asked: asked.clone() });
        let place = Place { folder: folder.to_path_buf(), bytes };
        (Cached::wrap(store, "https://a.example/f.h5?key=secret", &place).unwrap(), asked)
    }

    fn check(store: &dyn Store, etag: &str, ranges: &[Range<u64>]) {
        for (range, found) in ranges.iter().zip(store.get(ranges).unwrap()) {
            assert_eq!(found, range.clone().map(|at| byte(at, etag)).collect::<Vec<u8>>(), "{range:?}");
        }
    }

    fn taken(asked: &Mutex<Vec<Range<u64>>>) -> Vec<Range<u64>> {
        std::mem::take(&mut *asked.lock().unwrap())
    }

    #[test]
    fn what_was_fetched_once_is_not_fetched_again() {
        let folder = tempfile::tempdir().unwrap();
        let (store, asked) = cached(folder.path(), 1 << 20, "\"1\"");
        check(&*store, "\"1\"", &[0..100, 500..900]);
        check(&*store, "\"1\"", &[50..60, 0..100, 500..900]);
        assert_eq!(taken(&asked), [0..100, 500..900]);
        // Only what is missing is fetched.
        check(&*store, "\"1\"", &[50..700, 800..1000]);
        assert_eq!(taken(&asked), [100..500, 900..1000]);
        let (again, asked) = cached(folder.path(), 1 << 20, "\"1\"");
        check(&*again, "\"1\"", &[0..1000, 20..30]);
        assert_eq!(taken(&asked), []);
        // Another version has its own ranges, and no pack contains a secret.
        let (other, asked) = cached(folder.path(), 1 << 20, "\"22\"");
        check(&*other, "\"22\"", &[0..100]);
        assert_eq!(taken(&asked), [0..100]);
        let (weak, asked) = cached(folder.path(), 1 << 20, "W/\"1\"");
        check(&*weak, "W/\"1\"", &[0..100]);
        check(&*weak, "W/\"1\"", &[0..100]);
        assert_eq!(taken(&asked).len(), 2);
        for path in entries(folder.path()).into_iter().flat_map(|version| packs(&version)) {
            let bytes = fs::read(path).unwrap();
            assert!(!bytes.windows(6).any(|window| window == b"secret"));
        }
    }

    #[test]
    fn damage_anywhere_is_found_and_repaired() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = cached(folder.path(), 1 << 20, "\"1\"");
        check(&*store, "\"1\"", &[0..40, 100..160]);
        let path = entries(folder.path()).into_iter().flat_map(|version| packs(&version)).next().unwrap();
        let bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            fs::write(&path, &damaged).unwrap();
            // A process that has opened the file before, and one that opens it now.
            check(&*store, "\"1\"", &[0..40, 100..160]);
            fs::write(&path, &damaged[..at]).unwrap();
            let (again, _) = cached(folder.path(), 1 << 20, "\"1\"");
            check(&*again, "\"1\"", &[0..160]);
            for other in entries(folder.path()).into_iter().flat_map(|version| packs(&version)) {
                if other != path {
                    fs::remove_file(other).unwrap();
                }
            }
        }
    }

    #[test]
    fn space_is_bounded_and_what_was_used_stays() {
        let folder = tempfile::tempdir().unwrap();
        let limit = 40_000;
        let (store, asked) = cached(folder.path(), limit, "\"1\"");
        for round in 0..90 {
            check(&*store, "\"1\"", &[round * 1000..round * 1000 + 1000]);
            check(&*store, "\"1\"", &[0..1000]);
            // Clocks of file systems are coarse.
            std::thread::sleep(Duration::from_millis(5));
            assert!(occupied(folder.path()) <= limit + limit / 8, "round {round}");
        }
        assert_eq!(taken(&asked).iter().filter(|range| range.start == 0).count(), 1);
        check(&*store, "\"1\"", &[0..80_000]); // too long to be kept
        assert!(occupied(folder.path()) <= limit + limit / 8);
        let abandoned = entries(folder.path()).into_iter().next().unwrap().join(".1-2-3");
        fs::write(&abandoned, b"x").unwrap();
        File::options().write(true).open(&abandoned).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        tidy(&Place { folder: folder.path().to_path_buf(), bytes: 0 });
        assert_eq!((occupied(folder.path()), abandoned.exists()), (0, false));
    }

    #[test]
    fn many_users_of_one_folder_do_not_disturb_each_other() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for user in 0..6u64 {
                let folder = folder.path();
                scope.spawn(move || {
                    for round in 0..25 {
                        let (store, _) = cached(folder, 30_000, "\"1\"");
                        let start = (user * 7 + round) * 500 % 90_000;
                        check(&*store, "\"1\"", &[start..start + 900, 95_000..95_500]);
                    }
                });
            }
        });
    }
}
