//! Counts the requests that reading a remote file takes, in batches that wait for each other.
//!
//! The numbers may become smaller. If one becomes larger, a loop has started to request one range at a time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

use hdf5_pure::options::Bound;
use hdf5_pure::{Address, CreateOptions, Dataset, Editor, File, OpenOptions, Slab, Writer};
use sciformats_core::storage::{PlanOptions, Planned, Purpose, Statistics, Stored, together};
use sciformats_core::{Range, ReadAt, Result};

/// A remote file, of which nothing is in memory.
struct Far {
    storage: Planned<Stored<Vec<u8>>>,
    file: File,
}

impl Far {
    /// Opens the file with windows of one page, so that no bytes are loaded by chance.
    fn open(bytes: &[u8]) -> Self {
        let storage = Planned::with_options(Stored(bytes.to_vec()), PlanOptions::default().with_window(0));
        let file = File::from_storage(storage.clone(), &OpenOptions::default().with_chunk_cache(0)).unwrap();
        Self { storage, file }
    }

    /// Returns the number of batches that `work` takes, and its result.
    fn cost<T>(&self, work: impl FnOnce(&File) -> Result<T>) -> (u64, T) {
        let before = self.storage.statistics();
        let answer = work(&self.file).unwrap();
        (self.storage.statistics().batches - before.batches, answer)
    }

    fn statistics(&self) -> Statistics {
        self.storage.statistics()
    }
}

/// Returns elements that do not compress, so that structures are far apart.
fn noise(count: usize, seed: u64) -> Vec<u64> {
    let mut state = seed.wrapping_add(1);
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state
    };
    (0..count).map(next).collect()
}

/// Returns a file with datasets of many chunks, old-style and new-style groups, strings and references.
fn made(latest: bool) -> Vec<u8> {
    let options = CreateOptions::default();
    let options = options.with_bound(if latest { Bound::V110 } else { Bound::Earliest });
    let mut file = Writer::in_memory(&options).unwrap();
    let mut references = Vec::new();
    for number in 0..12u64 {
        let values = noise(40_000, number);
        let name = format!("group {}/data {number}", number % 4);
        let made = file.dataset(&name).shape([400, 100]).chunks([10, 10]).shuffle().deflate(1);
        let id = made.attribute("units", "K").write(&values).unwrap();
        references.push(file.reference(id).unwrap());
    }
    let texts: Vec<String> = (0..3000).map(|i| format!("{i:0>99}")).collect();
    file.dataset("texts").write(&texts).unwrap();
    file.dataset("contiguous").shape([500, 1000]).write(&noise(500_000, 99)).unwrap();
    file.dataset("references").write(&references).unwrap();
    file.into_bytes().unwrap()
}

fn column(dataset: &Dataset) -> Slab {
    let shape = dataset.shape().to_vec();
    Slab::new(&shape, [Range::all(shape[0]), Range::new(7, 1)]).unwrap()
}

#[test]
fn reads_take_few_batches() {
    for latest in [false, true] {
        let bytes = made(latest);
        let near = File::from_bytes(bytes.clone()).unwrap();

        let far = Far::open(&bytes);
        assert!(far.statistics().batches <= 2, "to open: {:?}", far.statistics());
        // The batches load the groups on the path, the header, the levels of the index, and the chunks.
        let (batches, found) = far.cost(|file| file.dataset("group 1/data 5")?.read::<u64>());
        assert_eq!(found, near.dataset("group 1/data 5").unwrap().read::<u64>().unwrap());
        assert!(batches <= 9, "to read a dataset: {batches}");

        let far = Far::open(&bytes);
        let (_, dataset) = far.cost(|file| file.dataset("group 2/data 6"));
        let slab = column(&dataset);
        let before = far.statistics();
        let (batches, found) = far.cost(|_| dataset.read_slab::<u64>(&slab));
        assert_eq!(found, near.dataset("group 2/data 6").unwrap().read_slab::<u64>(&slab).unwrap());
        assert!(batches <= 4, "to read a column through 40 chunks: {batches}");
        let chunks = dataset.chunks().unwrap().into_iter().flatten().filter(|chunk| chunk.scaled[1] == 0);
        let wanted: u64 = chunks.map(|chunk| chunk.size).sum();
        let came = far.statistics().bytes - before.bytes;
        assert!(came < wanted * 11 / 10 + (256 << 10), "{came} bytes for {wanted}");

        let (_, dataset) = far.cost(|file| file.dataset("contiguous"));
        let slab = column(&dataset);
        let (batches, found) = far.cost(|_| dataset.read_slab::<u64>(&slab));
        assert_eq!(found, near.dataset("contiguous").unwrap().read_slab::<u64>(&slab).unwrap());
        assert!(batches <= 1, "to read a column of a contiguous dataset: {batches}");

        // The batches load the elements, the headers of their collections, and the rest of the collections.
        let (_, dataset) = far.cost(|file| file.dataset("texts"));
        let (batches, found) = far.cost(|_| dataset.read::<String>());
        assert_eq!(found, near.dataset("texts").unwrap().read::<String>().unwrap());
        assert!(batches <= 4, "to read 3000 texts: {batches}");
        let (_, dataset) = far.cost(|file| file.dataset("references"));
        let (batches, found) = far.cost(|_| dataset.read::<Option<Address>>());
        assert!(found.iter().all(Option::is_some) && batches <= 1, "to read references: {batches}");
    }
}

#[test]
fn objects_are_opened_together() {
    for latest in [false, true] {
        let bytes = made(latest);
        let far = Far::open(&bytes);
        let names: Vec<String> =
            (0..12).map(|number| format!("group {}/data {number}", number % 4)).collect();
        let (batches, ()) = far.cost(|file| {
            together(|| {
                for name in &names {
                    let _ = file.dataset(name).and_then(|dataset| dataset.attributes());
                }
            })
        });
        let (further, ()) =
            far.cost(|file| names.iter().try_for_each(|name| file.dataset(name)?.attributes().map(drop)));
        assert_eq!(further, 0);
        assert!(batches <= 7, "{batches} batches");
    }
}

/// Returns a file with 200 datasets in old-style groups that grew with it, so that names, nodes and headers are everywhere.
fn grown(name: impl Fn(u64) -> String, count: usize) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grown.h5");
    let options = CreateOptions::default().with_bound(Bound::Earliest);
    Writer::create_with(&path, &options).unwrap().finish().unwrap();
    for part in 0..25 {
        let mut editor = Editor::open(&path).unwrap();
        for number in part * 8..(part + 1) * 8 {
            editor.dataset(&name(number)).attribute("units", "K").write(&noise(count, number)).unwrap();
        }
        editor.commit().unwrap();
    }
    std::fs::read(&path).unwrap()
}

#[test]
fn one_dataset_of_200_takes_four_requests_whatever_the_depth_of_its_group() {
    let names: [fn(u64) -> String; 4] = [
        |i| format!("data {i}"),
        |i| format!("group {}/data {i}", i / 10),
        |i| format!("part {}/group {}/data {i}", i / 100, i / 10),
        |i| format!("part {}/group {}/data {i}", i % 5, i % 20),
    ];
    for name in names {
        let bytes = grown(name, 9000);
        for number in (3..200).step_by(17) {
            let storage = Planned::new(Stored(bytes.clone()));
            // What opening a remote file brings: the front and the end, at the same time.
            let end = bytes.len() - (64 << 10);
            storage.supply(0, &bytes[..1 << 20], Purpose::Structure);
            storage.supply_kept(end as u64, bytes[end..].to_vec());
            storage.count(2, (1 << 20) + (64 << 10));
            let file = File::from_storage(storage.clone(), &OpenOptions::default()).unwrap();
            let path = name(number);
            assert_eq!(file.dataset(&path).unwrap().read::<u64>().unwrap(), noise(9000, number), "{path}");
            let statistics = storage.statistics();
            assert!(statistics.requests <= 4 && statistics.batches <= 3, "{path}: {statistics:?}");
        }
    }
}

#[test]
fn names_and_nodes_of_an_old_group_are_fetched_together() {
    let far = Far::open(&grown(|i| format!("group {}/data {i}", i % 10), 20_000));
    let (batches, found) = far.cost(|file| file.dataset("group 7/data 147")?.read::<u64>());
    assert_eq!(found, noise(20_000, 147));
    assert!(batches <= 7, "to find a name in two groups, and read: {batches}");
    // A list needs the heap's header, the names with the nodes, and what the nodes say beyond their first bytes.
    let far = Far::open(&grown(|i| format!("data {i}"), 20_000));
    let (batches, links) = far.cost(|file| file.root()?.links());
    assert!(links.len() == 200 && links.iter().all(Result::is_ok));
    assert!(batches <= 4, "to list 200 names: {batches}");
}

#[test]
fn damage_is_told_as_it_is_nearby() {
    let bytes = made(true);
    for damaged in 0..40usize {
        let mut bytes = bytes.clone();
        let at = damaged * bytes.len() / 40;
        for byte in bytes.iter_mut().skip(at).take(64) {
            *byte ^= 0x5a;
        }
        let read = |file: &File| -> Vec<String> {
            let all = (0..12).map(|number| format!("group {}/data {number}", number % 4));
            let all = all.chain(["texts".into()]);
            all.map(|name| match file.dataset(&name) {
                Ok(dataset) if name == "texts" => {
                    format!("{:?}", dataset.read::<String>().map_err(|e| e.to_string()))
                }
                Ok(dataset) => format!("{:?}", dataset.read::<u64>().map_err(|e| e.to_string())),
                Err(error) => error.to_string(),
            })
            .collect()
        };
        let storage = Planned::new(Stored(bytes.clone()));
        match (File::from_bytes(bytes), File::from_storage(storage.clone(), &OpenOptions::default())) {
            (Ok(near), Ok(far)) => assert!(read(&near) == read(&far), "damage at {at}"),
            (Err(near), Err(far)) => assert_eq!(near.to_string(), far.to_string()),
            (near, far) => panic!("{near:?} {far:?}"),
        }
        assert!(storage.read_ahead() > 0);
    }
}
