//! Repacks HDF5 files, and checks that everything that the common tree does not describe stays too.

#![cfg(feature = "hdf5")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hdf5_pure::references::Reference;
use hdf5_pure::structure::Fill;
use hdf5_pure::walk::Found;
use hdf5_pure::{Datatype, Node, Slab, Writer};
use sciformats::{Error, File, Format, hdf5_pure};
use sciformats_convert::convert::{self, Plan};
use sciformats_convert::manifest;
use sciformats_convert::repack::{ChunkSupplier, PutChunk, WantedChunks, changes, rewrite, rewrite_supplied};
use sciformats_convert::sink::{Rule, WriteOptions};

fn lines(path: &Path) -> String {
    let mut out = Vec::new();
    manifest::write(&sciformats::open(path).unwrap(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn repacked(input: &Path, output: &Path, options: &WriteOptions) -> sciformats::Result<()> {
    rewrite(&Arc::new(sciformats::open(input)?), output, options, None)
}

/// Returns how each dataset is stored: its path, type, shape and maximum shape, fill value, chunks and filters.
fn stored(path: &Path) -> Vec<String> {
    let file = hdf5_pure::File::open(path).unwrap();
    let mut found = Vec::new();
    for visited in file.walk() {
        let Found::Object(address) = visited.what else { continue };
        let Node::Dataset(dataset) = file.object_at(address).unwrap() else { continue };
        let chunks = match dataset.layout().unwrap() {
            hdf5_pure::structure::Layout::Chunked(chunked) => chunked.dimensions.clone(),
            _ => Vec::new(),
        };
        // The versions of messages depend on the bound, and the names of filters are only for people.
        let datatype = dataset.datatype();
        let class = if holds_sequences(datatype) { String::new() } else { format!("{:?}", datatype.class) };
        let filters = dataset.filters().unwrap().filters.iter().map(|filter| (filter.id, &filter.values));
        found.push(format!(
            "{} {class} {:?} {:?} {chunks:?} {:?}",
            String::from_utf8_lossy(&visited.path),
            dataset.dataspace(),
            dataset.fill_value().unwrap().value,
            filters.collect::<Vec<_>>(),
        ));
    }
    found.sort();
    found
}

/// Returns whether a type contains other types, which have versions of their own.
fn holds_sequences(datatype: &Datatype) -> bool {
    use hdf5_pure::structure::Class;
    matches!(
        datatype.class,
        Class::VariableLength(_) | Class::Compound(_) | Class::Array { .. } | Class::Enumeration { .. }
    )
}

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hdf5");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "h5"));
    files.sort();
    files
}

#[test]
fn fixtures_stay_what_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let (out, mut written) = (dir.path().join("out.h5"), 0);
    for path in fixtures() {
        match repacked(&path, &out, &WriteOptions::default()) {
            Ok(()) => {}
            // Some contents cannot be written, such as names that are not UTF-8.
            Err(Error::Unsupported { .. }) => continue,
            Err(error) => panic!("{}: {error}", path.display()),
        }
        assert_eq!(lines(&path), lines(&out), "{}", path.display());
        let (before, after) = (stored(&path), stored(&out));
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before, after, "{name}");
        }
        assert_eq!(before.len(), after.len(), "{name}");
        written += 1;
    }
    assert!(written >= 6, "{written}");
}

/// Creates a file with properties that the common tree does not describe.
fn sample(path: &Path) {
    let mut writer = Writer::create(path).unwrap();
    writer.root().attribute("title", "a run").unwrap();
    writer.root().user_link("mine", 100, b"data").unwrap();
    let mut grows = writer
        .dataset("g/grows")
        .shape([4, 4])
        .max_shape([None, Some(4)])
        .chunks([2, 2])
        .shuffle()
        .fill(7i32)
        .create::<i32>()
        .unwrap();
    let corner = Slab::new(&[4, 4], [(2..4).into(), (0..2).into()]).unwrap();
    grows.write_slab(&corner, &[1i32, 2, 3, 4]).unwrap();
    let grows = grows.id();
    let text = Datatype::compound([
        ("name", Datatype::fixed_string(5)),
        ("note", Datatype::string()),
        ("at", Datatype::of::<Reference>()),
        ("n", Datatype::signed(2).big_endian()),
    ]);
    let target = writer.reference(grows).unwrap();
    let mut rows = writer.dataset("rows").datatype(text).shape([2]).create_encoded().unwrap();
    rows.write_encoded(&Slab::all(&[2]).unwrap(), |to| {
        for (name, note, n) in [(b"one\0\0", "first", [0, 1]), (b"three", "", [1, 0])] {
            to.bytes(name);
            to.sequence(note.len(), note.as_bytes())?;
            hdf5_pure::Store::encode(&[target], to)?;
            to.bytes(&n);
        }
        Ok(())
    })
    .unwrap();
    let soft = writer.root().soft_link("soft", "/g/grows").unwrap().id();
    writer.comment(soft, "a comment").unwrap();
    writer.finish().unwrap();
}

#[test]
fn types_extents_fill_values_and_holes_stay() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.h5"), dir.path().join("b.h5"));
    sample(&a);
    repacked(&a, &b, &WriteOptions::default()).unwrap();
    assert_eq!(lines(&a), lines(&b));
    let file = hdf5_pure::File::open(&b).unwrap();
    let grows = file.dataset("/g/grows").unwrap();
    assert_eq!(grows.fill_value().unwrap().value, Fill::Value(7i32.to_le_bytes().to_vec()));
    assert_eq!(grows.chunks().unwrap().len(), 1, "chunks that were not there are not made");
    assert_eq!(stored(&a), stored(&b));
    let rows = |path: &Path| {
        let dataset = hdf5_pure::File::open(path).unwrap().dataset("/rows").unwrap();
        let raw = dataset.read_raw(&dataset.all().unwrap()).unwrap();
        (
            format!("{:?}", dataset.datatype().class),
            raw.chunks(dataset.datatype().size as usize).map(<[u8]>::len).sum::<usize>(),
        )
    };
    assert_eq!(rows(&a), rows(&b));
}

#[test]
fn null_texts_empty_texts_and_sequences_of_references_stay() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.h5"), dir.path().join("b.h5"));
    let options = hdf5_pure::CreateOptions::default().with_bound(hdf5_pure::options::Bound::V112);
    let mut writer = Writer::create_with(&a, &options).unwrap();
    let texts = writer.dataset("texts").datatype(Datatype::string()).shape([3]).create_encoded();
    let add = |to: &mut hdf5_pure::values::Encoder<'_>| {
        to.text(b"")?;
        to.sequence(0, &[])?;
        to.text(b"x")
    };
    texts.unwrap().write_encoded(&Slab::all(&[3]).unwrap(), add).unwrap();
    // The C library declares 64 bytes for each reference, and stores as many.
    let group = writer.group("g").unwrap().id();
    let group = writer.reference(group).unwrap().address().unwrap();
    let mut base = Datatype::of::<hdf5_pure::references::StandardReference>();
    base.size = 64;
    let element = [&[2, 0, 8][..], &group.0.to_le_bytes(), &[0; 7]].concat();
    let items = [&element[..], &element, &[179; 128 - 36]].concat();
    let lists = writer.dataset("lists").datatype(Datatype::sequence(&base)).shape([1]).create_encoded();
    lists.unwrap().write_encoded(&Slab::all(&[1]).unwrap(), |to| to.sequence(2, &items)).unwrap();
    writer.finish().unwrap();
    repacked(&a, &b, &WriteOptions::default()).unwrap();
    assert_eq!(lines(&a), lines(&b));
    let file = hdf5_pure::File::open(&b).unwrap();
    let raw = |name: &str| {
        file.dataset(name).unwrap().read_raw(&file.dataset(name).unwrap().all().unwrap()).unwrap()
    };
    let nulls: Vec<bool> = raw("texts").chunks(16).map(|raw| file.is_null(raw).unwrap()).collect();
    assert_eq!(nulls, [false, true, false]);
    assert_eq!(file.sequence_bytes(&raw("lists"), 64).unwrap().len(), 128);
}

#[test]
fn other_chunks_filters_and_releases() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.h5"), dir.path().join("b.h5"));
    sample(&a);
    let options = WriteOptions::default().with_bound("earliest").with_chunks([4]);
    repacked(&a, &b, &options).unwrap();
    assert_eq!(lines(&a), lines(&b));
    let file = hdf5_pure::File::open(&b).unwrap();
    assert_eq!(file.superblock().version, 0);
    let filters = file.dataset("/g/grows").unwrap().filters().unwrap().filters.clone();
    assert_eq!(filters.iter().map(|filter| filter.id).collect::<Vec<_>>(), [2]);
    for wrong in ["1.9", "new"] {
        let options = options.clone().with_bound(wrong);
        assert!(matches!(repacked(&a, &b, &options), Err(Error::Usage { argument: "bound", .. })));
    }
    // The contents are unchanged.
    assert_eq!(lines(&a), lines(&b));
}

#[test]
fn cancelled_or_damaged_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.h5"), dir.path().join("b.h5"));
    sample(&a);
    let file = Arc::new(File::open(&a).unwrap());
    let cancelled = Some(Arc::new(AtomicBool::new(true)));
    let Err(Error::Io { source, .. }) = rewrite(&file, &b, &WriteOptions::default(), cancelled) else {
        panic!("it was not cancelled")
    };
    assert_eq!(source.kind(), std::io::ErrorKind::Interrupted);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn what_a_few_bytes_declare_is_not_written_out() {
    let hostile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hdf5/hostile/external-2-eib.h5");
    let folder = tempfile::tempdir().unwrap();
    let refused = |result| {
        assert!(
            matches!(result, Err(Error::LimitExceeded { declared: 0x2000_0000_0000_0000.., .. })),
            "{result:?}"
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    };
    refused(repacked(&hostile, &folder.path().join("a.h5"), &WriteOptions::default().with_inline(true)));
    let file = Arc::new(sciformats::open(&hostile).unwrap());
    for target in [Format::Hdf5, Format::Asdf] {
        let plan = Plan::new(&file, target, &convert::Options::default()).unwrap();
        // The plan reports the dataset and leaves it out.
        assert!(
            plan.losses().iter().any(|loss| loss.what.contains("exceed the limit")),
            "{:?}",
            plan.losses()
        );
    }
}

/// The strategy, whether free space is tracked, the threshold, and the size of pages.
type Management = (u8, bool, u64, Option<u64>);

/// Returns the version of the superblock, and how the file manages its free space.
fn managed(path: &Path) -> (u8, Option<Management>) {
    let file = hdf5_pure::File::open(path).unwrap();
    let space = file.file_space().map(|info| (info.strategy, info.persist, info.threshold, info.page_size));
    (file.superblock().version, space)
}

#[test]
fn the_superblock_and_the_management_of_space_stay() {
    use hdf5_pure::CreateOptions;
    use hdf5_pure::options::{Bound, FileSpace};
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("in.h5"), dir.path().join("out.h5"));
    let ways = [FileSpace::Untracked, FileSpace::Tracked, FileSpace::Aggregated, FileSpace::AppendOnly];
    for bound in [Bound::Earliest, Bound::V18, Bound::V110, Bound::V112] {
        for file_space in ways.into_iter().chain([FileSpace::Paged { size: 512, tracked: true }]) {
            for (threshold, superblock) in [(1, None), (64, None), (1, Some(0)), (1, Some(1)), (1, Some(2))] {
                let mut options = CreateOptions::default()
                    .with_bound(bound)
                    .with_file_space(file_space)
                    .with_free_space_threshold(threshold);
                options.superblock = superblock;
                let mut file = Writer::overwrite_with(&input, &options).unwrap();
                file.dataset("d").shape([4]).chunks([2]).write(&[1, 2, 3, 4]).unwrap();
                file.finish().unwrap();
                repacked(&input, &output, &WriteOptions::default()).unwrap();
                let found = managed(&output);
                assert_eq!(managed(&input), found, "{bound:?} {file_space:?} {threshold} {superblock:?}");
                let said = found.1.map(|(_, _, threshold, _)| threshold);
                assert_eq!(said.unwrap_or(1), threshold);
                assert!(
                    superblock
                        .is_none_or(|version| found.0 == version.max(if said.is_some() { 2 } else { 0 }))
                );
                assert_eq!(lines(&input), lines(&output));
            }
        }
    }
}

#[test]
fn text_without_a_fill_message_is_not_refused() {
    use hdf5_pure::CreateOptions;
    use hdf5_pure::options::Bound;
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("in.h5"), dir.path().join("out.h5"));
    let options = CreateOptions::default().with_bound(Bound::Earliest);
    let mut file = Writer::overwrite_with(&input, &options).unwrap();
    file.dataset("texts").write(&["a", "bb", ""]).unwrap();
    file.finish().unwrap();
    // Files of the oldest releases have no fill value message (type 5). It is replaced by a NIL message (type 0), which is
    // possible because these headers have no checksum.
    let mut bytes = fs::read(&input).unwrap();
    let at = bytes.windows(5).position(|window| window == [5, 0, 8, 0, 1]).unwrap();
    bytes[at] = 0;
    fs::write(&input, bytes).unwrap();
    let fill = |path: &Path| {
        let dataset = hdf5_pure::File::open(path).unwrap().dataset("texts").unwrap();
        dataset.fill_value().unwrap().write_time
    };
    repacked(&input, &output, &WriteOptions::default()).unwrap();
    assert_eq!((fill(&output), lines(&input)), (2, lines(&output)));
    let options = sciformats_convert::compare::Options::exact().with_storage(true);
    let open = |path: &Path| sciformats::open(path).unwrap();
    let summary =
        sciformats_convert::compare::compare(&open(&input), &open(&output), &options, &mut |difference| {
            panic!("{difference:?}")
        });
    assert!(summary.is_same());
}

#[test]
fn what_becomes_otherwise_of_structures_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.h5");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hdf5");
    for (name, told) in [
        ("types-earliest.h5", vec![]),
        ("types-latest.h5", vec![]),
        ("user-block.h5", vec![]),
        ("narrow-earliest.h5", vec!["has addresses of "]),
        ("narrow-latest.h5", vec!["has addresses of "]),
        ("shared-list.h5", vec!["has a table of shared messages"]),
        ("shared-tree.h5", vec!["has a table of shared messages"]),
    ] {
        let input = folder.join(name);
        repacked(&input, &output, &WriteOptions::default()).unwrap();
        let open = |path: &Path| sciformats::open(path).unwrap();
        let found = changes(&open(&input), &open(&output), &WriteOptions::default()).unwrap();
        let same =
            found.len() == told.len() && found.iter().zip(&told).all(|(found, told)| found.starts_with(told));
        assert!(same, "{name}: {found:?}");
    }
}

#[test]
fn rules_for_datasets_that_are_not_there_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old.h5"), dir.path().join("new.h5"));
    sample(&old);
    let rule = |path: &str| Rule { chunks: Some(vec![2, 2]), ..Rule::of(path) };
    let options = WriteOptions::default().with_rule(rule("/no/*")).with_rule(rule("*"));
    let error = repacked(&old, &new, &options).unwrap_err();
    assert!(
        error.to_string().contains("are given for /no/*, which is no dataset of the new file"),
        "{error}"
    );
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    repacked(&old, &new, &WriteOptions::default().with_rule(rule("*"))).unwrap();
}

/// Supplies chunks of `u`, each a list of its own index, and leaves other datasets alone.
struct Supplied(Vec<Vec<u64>>);

impl ChunkSupplier for Supplied {
    fn supply(&self, wanted: &WantedChunks<'_>, put: &mut PutChunk<'_>) -> sciformats::Result<bool> {
        if wanted.path != "/u" {
            return Ok(false);
        }
        assert_eq!(
            (wanted.shape, wanted.chunks, &wanted.fill[..]),
            (&[100u64, 6][..], &[30u64, 6][..], &[7u8][..])
        );
        for place in &self.0 {
            let elements = vec![u8::try_from(place[0]).unwrap(); 180];
            let (bytes, mask) = sciformats::filters::hdf5().apply(wanted.filters, elements)?;
            put(place, mask, &bytes)?;
        }
        Ok(true)
    }
}

#[test]
fn chunks_of_a_supplier_are_complete_or_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old.h5"), dir.path().join("new.h5"));
    let mut made = Writer::create(&old).unwrap();
    let mut u =
        made.dataset("u").shape([100, 6]).chunks([10, 6]).fill(7u8).deflate(4).create::<u8>().unwrap();
    // The last chunk of the new grid has no element of a stored one.
    u.write_slab(
        &Slab::new(&[100, 6], [hdf5_pure::Range::new(0, 85), hdf5_pure::Range::all(6)]).unwrap(),
        &[1; 510],
    )
    .unwrap();
    made.dataset("v").shape([100]).chunks([10]).write(&(0..100).collect::<Vec<i32>>()).unwrap();
    made.finish().unwrap();
    let file = Arc::new(sciformats::open(&old).unwrap());
    let options = WriteOptions::default().with_rule(Rule { chunks: Some(vec![30, 6]), ..Rule::of("*") });
    let attempt = |places: &[&[u64]]| {
        let places = places.iter().map(|place| place.to_vec()).collect();
        rewrite_supplied(&file, &new, &options, &Supplied(places), None)
    };
    for (places, problem) in [
        (&[&[0u64, 0][..], &[1, 0]][..], "lack the one at [2, 0] of /u"),
        (&[&[0, 0], &[1, 0], &[1, 0], &[2, 0]], "was put twice"),
        (&[&[0, 0], &[1, 0], &[2, 0], &[4, 0]], "is not in a grid of [4, 1]"),
        (&[&[0, 0, 0]], "is not in a grid of [4, 1]"),
    ] {
        let error = attempt(places).unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
        assert!(!new.exists());
    }
    assert_eq!(attempt(&[&[2, 0], &[0, 0], &[1, 0]]).unwrap(), []);
    let written = sciformats::open(&new).unwrap();
    let expected: Vec<u8> = [[0; 180], [1; 180], [2; 180]].concat().into_iter().chain([7; 60]).collect();
    assert_eq!(written.array("/u").unwrap().read::<u8>().unwrap(), expected);
    assert_eq!(written.array("/v").unwrap().read::<i32>().unwrap(), (0..100).collect::<Vec<i32>>());
}

#[test]
fn a_file_without_a_path_is_repacked_as_one_with_a_path() {
    let dir = tempfile::tempdir().unwrap();
    let (input, near, far) =
        (dir.path().join("in.h5"), dir.path().join("near.h5"), dir.path().join("far.h5"));
    sample(&input);
    let mut files = fixtures();
    files.push(input.clone());
    let zlib = WriteOptions::default().with_filter("zlib");
    let mut written = 0;
    for path in files {
        // What is beside the file cannot be found from elsewhere.
        let file = Arc::new(File::from_bytes(fs::read(&path).unwrap()).unwrap());
        for options in [&WriteOptions::default(), &zlib] {
            let result = rewrite(&file, &far, options, None);
            if repacked(&path, &near, options).is_err() {
                assert!(result.is_err(), "{}", path.display());
                continue;
            }
            match result {
                Ok(()) => {}
                Err(Error::Unsupported { .. }) => continue,
                Err(error) => panic!("{}: {error}", path.display()),
            }
            assert_eq!(stored(&near), stored(&far), "{}", path.display());
            assert_eq!(fs::metadata(&near).unwrap().len(), fs::metadata(&far).unwrap().len());
            let new = sciformats::open(&far).unwrap();
            assert_eq!(
                changes(&file, &new, options).unwrap(),
                changes(&sciformats::open(&path).unwrap(), &new, options).unwrap()
            );
            written += 1;
        }
    }
    assert!(written >= 12, "{written}");
    let rule = Rule { chunks: Some(vec![4, 4]), ..Rule::of("/g/grows") };
    let file = Arc::new(File::from_bytes(fs::read(&input).unwrap()).unwrap());
    let mut options = WriteOptions::default();
    options.rules.push(rule);
    rewrite(&file, &far, &options, None).unwrap();
    let grows = hdf5_pure::File::open(&far).unwrap().dataset("g/grows").unwrap();
    assert_eq!(grows.dataspace().extent(), Some(&[4, 4][..]));
    assert!(stored(&far).iter().any(|line| line.contains("grows") && line.contains("[4, 4] [")));
}

#[test]
fn checksums_stay_with_another_compressor() {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("in.h5"), dir.path().join("out.h5"));
    let mut writer = Writer::create(&input).unwrap();
    writer.dataset("checked").shape([64]).chunks([16]).deflate(1).fletcher32().write(&[1i32; 64]).unwrap();
    writer.dataset("plain").shape([64]).chunks([16]).write(&[1i32; 64]).unwrap();
    writer.finish().unwrap();
    let ids = |path: &str| -> Vec<u16> {
        let file = hdf5_pure::File::open(&output).unwrap();
        let dataset = file.dataset(path).unwrap();
        dataset.filters().unwrap().filters.iter().map(|filter| filter.id).collect()
    };
    for (word, checked, plain) in
        [("zlib", &[2, 1, 3][..], &[2, 1][..]), ("fletcher32", &[3], &[3]), ("none", &[], &[])]
    {
        let options = WriteOptions::default().with_filter(word);
        repacked(&input, &output, &options).unwrap();
        assert_eq!((ids("checked").as_slice(), ids("plain").as_slice()), (checked, plain), "{word}");
        assert_eq!(
            sciformats::open(&output).unwrap().array("/checked").unwrap().read::<i32>().unwrap(),
            [1; 64]
        );
    }
}

#[test]
fn texts_of_files_with_short_addresses_keep_their_padding_and_characters() {
    use hdf5_pure::structure::{CharacterSet, Class, Padding, VariableLength};
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.h5"), dir.path().join("b.h5"));
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hdf5/narrow-earliest.h5");
    let mut bytes = fs::read(fixture).unwrap();
    // Class 9 of version 1, a string that is null-terminated and UTF-8, of 12 bytes; it becomes one that is space-padded and ASCII.
    let string = [0x19, 1, 1, 0, 12, 0, 0, 0];
    let at = bytes.windows(8).position(|found| found == string).unwrap();
    bytes[at + 1..at + 3].copy_from_slice(&[0x21, 0]);
    fs::write(&a, bytes).unwrap();
    repacked(&a, &b, &WriteOptions::default()).unwrap();
    assert_eq!(lines(&a), lines(&b));
    let texts = |path: &Path| {
        let file = hdf5_pure::File::open(path).unwrap();
        let objects = file.walk().filter_map(|visited| match visited.what {
            Found::Object(address) => Some(address),
            _ => None,
        });
        let mut classes = Vec::new();
        for address in objects.collect::<Vec<_>>() {
            if let Node::Dataset(dataset) = file.object_at(address).unwrap() {
                classes.push(dataset.datatype().class.clone());
            }
            for attribute in file.attributes_at(address).unwrap() {
                classes.push(attribute.datatype().unwrap().class.clone());
            }
        }
        classes.retain(|class| matches!(class, Class::VariableLength(VariableLength::String { .. })));
        classes
    };
    let changed = VariableLength::String { padding: Padding::SpacePadded, charset: CharacterSet::Ascii };
    assert!(texts(&a).contains(&Class::VariableLength(changed)));
    assert_eq!(texts(&a), texts(&b));
}

/// An attribute that could grow, as far as the file says.
struct Growing;

impl hdf5_pure::Value for Growing {
    fn store(
        self,
        to: &mut hdf5_pure::values::Encoder<'_>,
    ) -> sciformats::Result<(Datatype, Option<Vec<u64>>)> {
        to.bytes(&[1, 2]);
        Ok((Datatype::unsigned(1), Some(vec![2])))
    }

    fn max_shape(&self) -> Option<Vec<Option<u64>>> {
        Some(vec![None])
    }
}

#[test]
fn what_a_dataset_and_an_attribute_say_of_later_stays() {
    use hdf5_pure::structure::{Dataspace, Layout};
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.h5"), dir.path().join("b.h5"));
    let mut writer = Writer::create(&a).unwrap();
    writer.dataset("plain").chunks([4]).unfiltered_edges().storage_times(3, 1).write(&[1u8; 10]).unwrap();
    writer.dataset("contiguous").storage_times(2, 0).write(&[1u8; 10]).unwrap();
    writer.root().attribute("grows", Growing).unwrap();
    writer.finish().unwrap();
    for filter in [None, Some("zlib".to_owned())] {
        let mut options = WriteOptions::default();
        options.filter = filter;
        repacked(&a, &b, &options).unwrap();
        assert_eq!(lines(&a), lines(&b));
        let file = hdf5_pure::File::open(&b).unwrap();
        let root = file.root().unwrap();
        let grows = root.attribute("grows").unwrap();
        assert!(
            matches!(grows.dataspace().unwrap(), Dataspace::Simple { maximum, .. } if maximum == &[None])
        );
        let plain = root.dataset("plain").unwrap();
        assert!(matches!(plain.layout().unwrap(), Layout::Chunked(chunked) if chunked.unfiltered_edges));
        let fill = |name: &str| root.dataset(name).unwrap().fill_value().unwrap().clone();
        assert_eq!((fill("plain").allocation_time, fill("plain").write_time), (3, 1));
        assert_eq!(fill("contiguous").write_time, 0);
    }
}

#[test]
fn one_newer_object_leaves_the_others_readable_for_older_programs() {
    use hdf5_pure::options::Bound;
    use hdf5_pure::references::StandardReference;
    use hdf5_pure::structure::{IndexKind, Layout};
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.h5"), dir.path().join("b.h5"));
    for references in [false, true] {
        let bound = if references { Bound::V112 } else { Bound::Earliest };
        let mut options =
            hdf5_pure::CreateOptions::default().with_bound(bound).with_index_bound(Bound::Earliest);
        options.superblock = Some(0);
        let mut writer = Writer::overwrite_with(&a, &options).unwrap();
        let old = writer.dataset("old").chunks([4]).shuffle().write(&[1u16; 10]).unwrap();
        writer
            .dataset("new")
            .chunks([4])
            .shuffle()
            .unfiltered_edges_at_any_bound()
            .write(&[2u16; 10])
            .unwrap();
        if references {
            let reference = StandardReference::Object(writer.reference(old).unwrap());
            writer.dataset("links").write(&[reference]).unwrap();
        }
        writer.finish().unwrap();
        repacked(&a, &b, &WriteOptions::default()).unwrap();
        assert_eq!(lines(&a), lines(&b));
        let file = hdf5_pure::File::open(&b).unwrap();
        let layout = |name: &str| match file.dataset(name).unwrap().layout().unwrap() {
            Layout::Chunked(chunked) => (chunked.index, chunked.unfiltered_edges),
            _ => panic!("it has chunks"),
        };
        assert_eq!(layout("old"), (IndexKind::BtreeV1, false));
        assert!(layout("new").1 && layout("new").0 != IndexKind::BtreeV1);
        assert_eq!(file.superblock().version, 0);
    }
    // Without the flag, release 1.8 reads the same values.
    let mut writer = Writer::overwrite(&a).unwrap();
    writer.dataset("new").chunks([4]).shuffle().unfiltered_edges().write(&[2u16; 10]).unwrap();
    writer.finish().unwrap();
    let mut options = WriteOptions::default();
    options.bound = Some("1.8".into());
    repacked(&a, &b, &options).unwrap();
    assert_eq!(lines(&a), lines(&b));
    // What a release lacks is told with the object that needs it.
    let mut writer = Writer::overwrite(&a).unwrap();
    writer.dataset("day").write(&[1u8; 2]).unwrap();
    let all = Slab::all(&[2]).unwrap();
    writer.dataset("deep/week").shape([2]).map(".", "/day", &all, &all).create::<u8>().unwrap();
    writer.finish().unwrap();
    let error = repacked(&a, &b, &options).unwrap_err().to_string();
    assert!(error.contains("1.8 does not allow virtual datasets") && error.contains("/deep/week"), "{error}");
}

#[test]
fn what_is_not_there_is_told() {
    use sciformats_convert::repack::rewrite_selected;
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.h5"), dir.path().join("b.h5"));
    sample(&a);
    let file = Arc::new(sciformats::open(&a).unwrap());
    let selected = |path: &str| rewrite_selected(&file, &b, &[path.into()], &WriteOptions::default(), None);
    assert!(selected("/g/grows").is_ok() && selected("/g").is_ok() && selected("/g/*").is_ok());
    assert!(matches!(selected("/nope"), Err(Error::NotFound { name, .. }) if &*name == "/nope"));
}
