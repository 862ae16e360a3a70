//! ASDF against Python's asdf, NumPy, and the published crate of that name.

use std::fs::File;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;

use asdf_core::{Access, Asdf, ByteOrder, Compression, Document, NewArray, OpenOptions, ScalarType, Update};
use asdf_published::yaml::Document as PublishedTree;
use asdf_published::{Reader as PublishedReader, Writer as PublishedWriter};
use harness::{Bench, Case, Outcome, Watch};
use sciformats_core::storage::{FileStorage, Window};

/// Elements of one GiB of `f4`.
const COUNT: usize = 1 << 28;
/// Mappings of the large tree: each with its keys and values has eleven nodes or so.
const RECORDS: usize = 9_000;
const BLOCKS: usize = 10_000;
const PARTS: [&str; 4] = ["a", "b", "c", "d"];

fn main() -> ExitCode {
    let bench = Bench::new("asdf", "python/asdf_bench.py")
        .case(
            Case::new("map 1 GiB and look at one element", 1.5)
                .prepare(|folder| {
                    save(folder, "large.asdf", &floats(COUNT), Compression::None)?;
                    save(folder, "small.asdf", &floats(1 << 18), Compression::None)
                })
                .ours(|folder, watch| map(folder, "large.asdf", watch))
                .rust("of 1 MiB", |folder, watch| map(folder, "small.asdf", watch)),
        )
        .case(
            Case::new("read 1 GiB into a used buffer", 1.0)
                .prepare(prepare_large)
                .ours(read_into)
                .python("numpy"),
        )
        .case(
            Case::new("write 1 GiB with its MD5", 0.6)
                .fresh()
                .prepare(prepare_large)
                .ours(write)
                .python("asdf"),
        )
        .case(Case::new("parse 100,000 nodes", 0.03).prepare(prepare_tree).ours(parse).python("asdf"))
        .case(
            Case::new("parse 100,000 nodes again", 0.7)
                .prepare(prepare_tree)
                .ours(parse)
                .rust("asdf-core 0.2.6", published_parse),
        )
        .case(Case::new("write 100,000 nodes", 0.03).prepare(prepare_tree).ours(emit).python("asdf"))
        .case(
            Case::new("write 100,000 nodes again", 0.7)
                .prepare(prepare_tree)
                .ours(emit)
                .rust("asdf-core 0.2.6", published_emit),
        )
        .case(
            Case::new("open 10,000 blocks", 0.05)
                .prepare(prepare_blocks)
                .ours(|folder, watch| open_blocks(folder, "blocks.asdf", watch))
                .python("asdf"),
        )
        .case(
            Case::new("open 10,000 blocks without an index", 0.05)
                .prepare(prepare_blocks)
                .ours(|folder, watch| open_blocks(folder, "no-index.asdf", watch))
                .python("asdf"),
        )
        .case(
            Case::new("change one key of 256 MiB", 0.02).prepare(prepare_change).ours(change).python("asdf"),
        );
    LABELS.into_iter().fold(bench, compressed).main()
}

/// A compression: its label, how many elements it is tried on, and the names of its cases.
type Label =
    (&'static str, Compression, usize, [(&'static str, usize, f64); 2], [(&'static str, usize, f64); 2]);

/// bzip2 is slow: a part says as much as the whole.
const LABELS: [Label; 3] = [
    (
        "zlib",
        Compression::Zlib,
        1 << 26,
        [("read 256 MiB of zlib, two threads", 2, 0.6), ("read 256 MiB of zlib, one thread", 1, 1.0)],
        [("write 256 MiB of zlib, two threads", 2, 0.6), ("write 256 MiB of zlib, one thread", 1, 1.0)],
    ),
    (
        "bzp2",
        Compression::Bzp2,
        1 << 23,
        [("read 32 MiB of bzp2, two threads", 2, 0.6), ("read 32 MiB of bzp2, one thread", 1, 1.0)],
        [("write 32 MiB of bzp2, two threads", 2, 0.6), ("write 32 MiB of bzp2, one thread", 1, 1.0)],
    ),
    (
        "lz4",
        Compression::Lz4,
        1 << 26,
        [("read 256 MiB of lz4, two threads", 2, 0.6), ("read 256 MiB of lz4, one thread", 1, 1.0)],
        [("write 256 MiB of lz4, two threads", 2, 0.6), ("write 256 MiB of lz4, one thread", 1, 1.0)],
    ),
];

fn compressed(bench: Bench, (label, compression, count, read, write): Label) -> Bench {
    let name = format!("{label}.asdf");
    let bench = read.into_iter().fold(bench, |bench, (case, threads, goal)| {
        let (made, read) = (name.clone(), name.clone());
        bench.case(
            Case::new(case, goal)
                .prepare(move |folder| save(folder, &made, &numbers(count), compression))
                .ours(move |folder, watch| {
                    let options = OpenOptions::default().with_threads(threads);
                    let elements = watch
                        .time(|| Asdf::open_with(folder.join(&read), &options)?.array("a")?.read::<f32>())?;
                    expect(elements.len() == count && elements[12_345] == number(12_345))
                })
                .python("asdf"),
        )
    });
    write.into_iter().fold(bench, |bench, (case, threads, goal)| {
        bench.case(
            Case::new(case, goal)
                .ours(move |folder, watch| {
                    let mut document = document(&numbers(count), compression)?;
                    document.options_mut().threads = threads;
                    watch.time(|| document.save(folder.join("ours.asdf")))?;
                    Ok(std::fs::remove_file(folder.join("ours.asdf"))?)
                })
                .python("asdf"),
        )
    })
}

fn expect(right: bool) -> Outcome {
    if right { Ok(()) } else { Err("other values".into()) }
}

fn floats(count: usize) -> Vec<f32> {
    (0..count).map(|i| i as f32).collect()
}

/// Counts with noise, as detectors give them: they shrink to a third or so.
fn number(i: usize) -> f32 {
    (1000 + (i / 1000 % 50) + ((i as u64).wrapping_mul(2_654_435_761) >> 7 & 15) as usize) as f32
}

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(number).collect()
}

fn document(elements: &[f32], compression: Compression) -> Outcome<Document> {
    let mut document = Document::new();
    let array = NewArray::new(elements, &[elements.len() as u64])?;
    document.set_array("a", array.with_compression(compression))?;
    Ok(document)
}

fn save(folder: &Path, name: &str, elements: &[f32], compression: Compression) -> Outcome {
    Ok(document(elements, compression)?.save(folder.join(name))?)
}

fn prepare_large(folder: &Path) -> Outcome {
    let elements = floats(COUNT);
    save(folder, "large.asdf", &elements, Compression::None)?;
    let bytes: Vec<u8> = elements.iter().flat_map(|element| element.to_le_bytes()).collect();
    Ok(std::fs::write(folder.join("large.raw"), bytes)?)
}

/// Files are reached by maps.
#[allow(unsafe_code)]
fn mapped() -> OpenOptions {
    // SAFETY: files of a bench are in a folder of its own; nobody changes them while it runs.
    OpenOptions::default().with_access(unsafe { Access::mapped() })
}

fn map(folder: &Path, name: &str, watch: &mut Watch) -> Outcome {
    let options = mapped();
    // Often enough that the clock is no matter.
    watch.time(|| {
        for _ in 0..200 {
            let file = Asdf::open_with(folder.join(name), &options)?;
            let array = file.array("a")?;
            let elements = array.as_slice::<f32>().ok_or("is not there as it is")?;
            expect(black_box(elements[12_345]) == 12_345.0)?;
        }
        Ok(())
    })
}

fn read_into(folder: &Path, watch: &mut Watch) -> Outcome {
    static KEPT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    let mut kept = KEPT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if kept.is_empty() {
        *kept = vec![1; 4 * COUNT];
    }
    watch.time(|| -> Outcome {
        let file = Asdf::open(folder.join("large.asdf"))?;
        let array = file.array("a")?;
        Ok(array.read_slab_bytes_into(&asdf_core::Slab::all(array.shape())?, &mut kept)?)
    })?;
    expect(kept[4 * 12_345..][..4] == 12_345f32.to_le_bytes())
}

/// Four arrays from a file: neither side holds more of it than a piece.
fn write(folder: &Path, watch: &mut Watch) -> Outcome {
    let mut document = Document::new();
    for (i, name) in PARTS.iter().enumerate() {
        let raw = FileStorage::open(folder.join("large.raw"))?;
        let part = Window::new(raw, (i * COUNT) as u64, COUNT as u64)?;
        let count = [COUNT as u64 / 4];
        document
            .set_array(name, NewArray::from_bytes(ScalarType::Float32, ByteOrder::Little, &count, part)?)?;
    }
    watch.time(|| document.save(folder.join("ours.asdf")))?;
    Ok(std::fs::remove_file(folder.join("ours.asdf"))?)
}

/// A list of records, as text.
fn tree() -> String {
    let mut text = String::from(
        "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\nrecords:\n",
    );
    for i in 0..RECORDS {
        text.push_str(&format!(
            "- flag: {}\n  id: {i}\n  name: record number {i}\n  position: [{}.5, -{i}.25]\n  word: w{i}\n",
            i % 3 == 0,
            i * 7,
        ));
    }
    text.push_str("...\n");
    text
}

fn prepare_tree(folder: &Path) -> Outcome {
    Ok(std::fs::write(folder.join("tree.asdf"), tree())?)
}

fn parse(folder: &Path, watch: &mut Watch) -> Outcome {
    let file = watch.time(|| Asdf::open(folder.join("tree.asdf")))?;
    let items = file.get("records").and_then(|records| file.tree().items(records));
    expect(items.is_some_and(|items| items.len() == RECORDS))
}

fn published_tree(folder: &Path) -> Outcome<PublishedTree> {
    Ok(PublishedReader::open(folder.join("tree.asdf"))?.tree()?.ok_or("no tree")?)
}

fn published_parse(folder: &Path, watch: &mut Watch) -> Outcome {
    let tree = watch.time(|| published_tree(folder))?;
    expect(tree.node_count() > 10 * RECORDS)
}

fn emit(folder: &Path, watch: &mut Watch) -> Outcome {
    let document = Document::open(folder.join("tree.asdf"))?;
    Ok(watch.time(|| document.save(folder.join("ours.asdf")))?)
}

fn published_emit(folder: &Path, watch: &mut Watch) -> Outcome {
    let writer = PublishedWriter::from_document(published_tree(folder)?);
    Ok(watch.time(|| writer.write_to_path(folder.join("theirs.asdf")))?)
}

fn prepare_blocks(folder: &Path) -> Outcome {
    for (name, index) in [("blocks.asdf", true), ("no-index.asdf", false)] {
        let mut document = Document::new();
        document.options_mut().index = index;
        let nodes = (0..BLOCKS).map(|i| document.add_array(NewArray::new(&[i as u32; 64], &[64])?));
        let nodes = nodes.collect::<asdf_core::Result<Vec<_>>>()?;
        let list = document.tree_mut().add_sequence(nodes, asdf_core::yaml::CollectionStyle::Block);
        document.tree_mut().put("arrays", list)?;
        document.save(folder.join(name))?;
    }
    Ok(())
}

fn open_blocks(folder: &Path, name: &str, watch: &mut Watch) -> Outcome {
    let last = watch.time(|| Asdf::open(folder.join(name))?.array("arrays/9999")?.read::<u32>())?;
    expect(last == [9999; 64])
}

/// Each side changes a file that it has written itself.
fn prepare_change(folder: &Path) -> Outcome {
    let mut document = document(&floats(COUNT / 4), Compression::None)?;
    document.set("key", "before")?;
    document.save(folder.join("change.asdf"))?;
    let (mut from, mut to) =
        (File::open(folder.join("change.asdf"))?, File::create(folder.join("theirs.asdf"))?);
    Ok(std::io::copy(&mut from, &mut to).map(drop)?)
}

fn change(folder: &Path, watch: &mut Watch) -> Outcome {
    let path = folder.join("change.asdf");
    let value = Asdf::open(&path)?.tree().get_as::<String>("key")?;
    let value = if value.len() > 100 { "short".to_owned() } else { format!("{value} and longer") };
    let update = watch.time(|| -> Outcome<Update> {
        let mut document = Document::open(&path)?;
        document.set("key", &value)?;
        Ok(document.update()?)
    })?;
    expect(matches!(update, Update::InPlace { .. }))
}
