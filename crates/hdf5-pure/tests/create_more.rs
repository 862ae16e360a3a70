//! Writes and reads rarer contents: references of the standard type, attributes with committed datatypes, edge chunks without
//! filters, user-defined links, Blosc, and rows that are appended one by one.

use hdf5_pure::filters::Filters;
use hdf5_pure::options::{Bound, FileSpace};
use hdf5_pure::references::{RegionReference, StandardReference};
use hdf5_pure::structure::{Dataspace, MessageType, Part, Reference, Regular, Selection, Target};
use hdf5_pure::values::Committed;
use hdf5_pure::{ChunkIndex, CreateOptions, Datatype, Editor, Error, File, ObjectId, Range, Slab, Writer};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

fn writer(bound: Bound) -> Result<Writer> {
    Ok(Writer::in_memory(&CreateOptions::default().with_bound(bound))?)
}

fn read(file: Writer) -> Result<File> {
    Ok(File::from_bytes(file.into_bytes()?)?)
}

#[test]
fn a_whole_file_in_one_call() -> Result {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("file.h5");
    let fails = |file: &mut Writer| {
        file.dataset("half").write(&[1])?;
        file.dataset("half").write(&[1])
    };
    assert!(hdf5_pure::write(&path, fails).is_err() && !path.exists());
    for value in [1, 2] {
        hdf5_pure::write(&path, |file| file.dataset("x").write(&[value]))?;
        assert_eq!(File::open(&path)?.dataset("x")?.read::<i32>()?, [value]);
    }
    assert!(hdf5_pure::write(&path, fails).is_err());
    assert_eq!(File::open(&path)?.dataset("x")?.read::<i32>()?, [2], "the old file stays");
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 1, "nothing else is left");
    Ok(())
}

#[test]
fn the_first_dimension_may_be_unlimited() -> Result {
    for bound in [Bound::Earliest, Bound::V110] {
        let mut file = writer(bound)?;
        file.dataset("before").unlimited().shape([2, 3]).write(&[1u8; 6])?;
        file.dataset("list").unlimited().write(&[1, 2])?;
        file.dataset("rows").rows([3]).write::<u8>(&[])?;
        file.dataset("last")
            .max_shape([None, None])
            .unlimited()
            .shape([0, 3])
            .create::<u8>()?
            .append(&[7; 3])?;
        assert!(matches!(file.dataset("none").shape([]).unlimited().write(&[1]), Err(Error::Usage { .. })));
        assert!(matches!(file.dataset("none").unlimited().write_scalar(1), Err(Error::Usage { .. })));
        let file = read(file)?;
        let maximum = |name: &str| match file.dataset(name)?.dataspace() {
            Dataspace::Simple { maximum, .. } => Ok::<_, Error>(maximum.clone()),
            other => Err(Error::usage("dataset", format!("has {other:?}"))),
        };
        assert_eq!(maximum("before")?, [None, Some(3)]);
        assert_eq!(maximum("list")?, [None]);
        assert_eq!((maximum("rows")?, file.dataset("rows")?.shape()), (vec![None, Some(3)], &[0, 3][..]));
        assert_eq!(maximum("last")?, [None, Some(3)]);
        assert_eq!(file.dataset("last")?.read::<u8>()?, [7; 3]);
    }
    Ok(())
}

#[test]
fn references_of_the_standard_type() -> Result {
    let write = |file: &mut Writer| -> Result {
        let data = file.dataset("group/data").shape([10, 10]).write(&[3u8; 100])?;
        let group = file.group("group")?.attribute("name", 1)?.id();
        let (data, group) = (file.reference(data)?, file.reference(group)?);
        let block = Slab::new(&[10, 10], [Range::new(2, 3), Range::new(4, 2)])?;
        let steps = Slab::new(&[10, 10], [Range::new(0, 2).by(4), Range::all(10)])?;
        let all = [
            StandardReference::Object(data),
            StandardReference::Region(RegionReference::new(data, block)),
            StandardReference::Attribute(group, "name".into()),
            StandardReference::Object(Default::default()),
            StandardReference::Region(RegionReference::new(data, steps)),
        ];
        file.dataset("references").write(&all)?;
        file.root().attribute("one", all[1].clone())?;
        Ok(())
    };
    for bound in [Bound::V112, Bound::V200] {
        let mut file = writer(bound)?;
        write(&mut file)?;
        let file = read(file)?;
        let (data, group) = (file.dataset("group/data")?.address(), file.group("group")?.address());
        let found = file.dataset("references")?.read::<Option<Reference>>()?;
        let [Some(object), Some(region), Some(attribute), None, Some(steps)] = &found[..] else {
            return Err(format!("{found:?}").into());
        };
        assert_eq!((object.object, &object.part), (data, &Part::Object));
        assert_eq!((attribute.object, &attribute.part), (group, &Part::Attribute("name".into())));
        let block = Selection::Blocks(vec![(vec![2, 4], vec![4, 5])]);
        assert_eq!((region.object, &region.part), (data, &Part::Region(block)));
        let all = |start, stride, count| Regular { start, stride, count: Some(count), block: Some(1) };
        let steps_found = Selection::Regular(vec![all(0, 4, 2), all(0, 1, 10)]);
        assert_eq!((steps.object, &steps.part), (data, &Part::Region(steps_found.clone())));
        // The type that writes them also reads them.
        let back: Vec<StandardReference> = file.dataset("references")?.read()?;
        let StandardReference::Object(to_data) = back[0] else { return Err(format!("{back:?}").into()) };
        assert_eq!(
            (to_data.address(), &back[3]),
            (Some(data), &StandardReference::Object(Default::default()))
        );
        assert!(
            matches!(&back[2], StandardReference::Attribute(to, name) if to.address() == Some(group) && *name == *"name")
        );
        assert_eq!(back[4], StandardReference::Region(RegionReference::of(to_data, steps_found, 2)));
        assert!(
            file.dataset("references")?.read::<RegionReference>().is_err(),
            "only two of them are regions"
        );
        let one: Option<RegionReference> = file.root()?.attr("one")?;
        assert_eq!(one.map(StandardReference::Region).as_ref(), Some(&back[1]));
    }
    assert!(write(&mut writer(Bound::V110)?).is_err(), "1.10 has no such references");
    Ok(())
}

#[test]
fn attributes_of_a_committed_datatype() -> Result {
    for bound in [Bound::Earliest, Bound::V18, Bound::V110] {
        let mut file = writer(bound)?;
        let kind = file.root().commit("kind", &Datatype::unsigned(2).big_endian())?;
        file.comment(kind, "big numbers")?;
        file.root().attribute("one", Committed { datatype: kind, value: 700 })?;
        file.dataset("d")
            .attribute("some", Committed { datatype: kind, value: [1u8, 2, 3] })
            .write(&[0u8])?;
        file.root().attribute("ünïcode", Committed { datatype: kind, value: 5i64 })?;
        let file = read(file)?;
        assert_eq!(file.root()?.attribute("one")?.read::<u32>()?, [700], "{bound:?}");
        assert_eq!(file.root()?.attribute("ünïcode")?.read::<u32>()?, [5]);
        let some = file.dataset("d")?.attribute("some")?;
        assert_eq!((some.read::<u32>()?, some.datatype()?.size), (vec![1, 2, 3], 2));
        let hdf5_pure::Node::Datatype(kind) = file.object("kind")? else { return Err("no datatype".into()) };
        let info = file.object_info(kind.address())?;
        // A link and three attributes use the datatype.
        assert_eq!(info.references, 4);
        assert_eq!(info.comment.map(|text| text.to_string()).as_deref(), Some("big numbers"));
    }
    Ok(())
}

#[test]
fn times_are_where_the_c_library_looks_for_them() -> Result {
    const TIME: u32 = 1_700_000_000;
    for (bound, tracked) in [(Bound::Earliest, false), (Bound::Earliest, true), (Bound::V18, false)] {
        let options = CreateOptions::default().with_bound(bound).with_track_order(tracked).with_time(TIME);
        let mut file = Writer::in_memory(&options)?;
        file.dataset("inner/d").write(&[1u8])?;
        let file = read(file)?;
        for address in
            [file.root()?.address(), file.group("inner")?.address(), file.dataset("inner/d")?.address()]
        {
            let info = file.object_info(address)?;
            let is_old = info.header_version == 1;
            assert_eq!((is_old, info.modified), (bound == Bound::Earliest && !tracked, Some(TIME)));
            // The prefix of a version 2 header has all four times; in one of version 1, a message has the only one.
            let has_message = info.messages.iter().any(|&(kind, ..)| kind == MessageType::ModificationTime);
            assert_eq!((info.times, has_message), ((!is_old).then_some([TIME; 4]), is_old));
        }
    }
    Ok(())
}

#[test]
fn edges_without_filters() -> Result {
    let shape = [33u64, 50];
    let values: Vec<i32> = (0..33 * 50).map(|k| k % 91).collect();
    let filters = || Filters::new().shuffle().lzf().fletcher32();
    let mut file = writer(Bound::V110)?;
    let dataset = |file: &mut Writer, name: &str, plain: bool, maximum: [Option<u64>; 2]| -> Result {
        let dataset = file.dataset(name).shape(shape).max_shape(maximum).chunks([8, 10]).filters(filters());
        let dataset = if plain { dataset.unfiltered_edges() } else { dataset };
        dataset.write(&values)?;
        Ok(())
    };
    for (kind, maximum) in
        [("fixed", [Some(33), Some(50)]), ("grows", [None, Some(50)]), ("both", [None, None])]
    {
        dataset(&mut file, kind, true, maximum)?;
        dataset(&mut file, &format!("{kind} filtered"), false, maximum)?;
    }
    // Some chunks were edge chunks at first and are not any more.
    let mut rows = file.dataset("rows").shape([0, 50]).max_shape([None, Some(50)]).chunks([8, 20]);
    rows = rows.filters(filters()).unfiltered_edges();
    let mut rows = rows.create::<i32>()?;
    rows.write_slab(&Slab::new(&[0, 50], [Range::new(0, 0), Range::all(50)])?, &[] as &[i32])?;
    rows.resize(&[5, 50])?.write_all(&values[..5 * 50])?;
    for row in 5..33 {
        rows.append(&values[row * 50..(row + 1) * 50])?;
    }
    let mut less = file.dataset("less").shape(shape).max_shape([None, None]).chunks([8, 10]);
    less = less.filters(filters()).unfiltered_edges();
    less.create::<i32>()?.write_all(&values)?.resize(&[20, 33])?;
    let file = read(file)?;
    let rows: Vec<i32> = values.chunks(50).take(20).flat_map(|row| row[..33].to_vec()).collect();
    assert_eq!(file.dataset("less")?.read::<i32>()?, rows);
    let sizes = |name: &str| -> Result<Vec<u64>> {
        let mut chunks = file.dataset(name)?.chunks()?.into_iter().collect::<Result<Vec<_>, _>>()?;
        chunks.sort_by(|a, b| a.scaled.cmp(&b.scaled));
        Ok(chunks.iter().map(|chunk| chunk.size).collect())
    };
    for kind in ["fixed", "grows", "both"] {
        for name in [kind.to_owned(), format!("{kind} filtered")] {
            assert_eq!(file.dataset(&name)?.read::<i32>()?, values, "{name}");
        }
        // Only the last row of chunks extends beyond the dataset.
        let (plain, filtered) = (sizes(kind)?, sizes(&format!("{kind} filtered"))?);
        assert_eq!(plain[20..], [8 * 10 * 4; 5], "{kind}");
        assert_eq!(plain[..20], filtered[..20]);
    }
    assert_eq!(file.dataset("rows")?.read::<i32>()?, values);
    let rows = sizes("rows")?;
    assert!(rows[0] < 640 && rows[2] == 640 && rows[12..] == [640; 3], "{rows:?}");
    Ok(())
}

#[test]
fn links_of_the_users() -> Result {
    for bound in [Bound::Earliest, Bound::V110] {
        let mut file = writer(bound)?;
        file.root().user_link("mine", 70, b"what it means")?.group("beside")?;
        assert!(file.root().user_link("other", 64, b"").is_err());
        let file = read(file)?;
        let link = file.root()?.link("mine")?.ok_or("no link")?;
        assert_eq!(link.target, Target::User { class: 70, data: b"what it means".to_vec() });
        assert_eq!(file.root()?.links()?.len(), 2);
    }
    Ok(())
}

#[test]
fn rows_one_by_one() -> Result {
    let mut file = writer(Bound::V110)?;
    let rows = file.dataset("rows").shape([0, 3]).max_shape([Some(1000), Some(3)]).chunks([16, 2]).lzf();
    let rows = rows.create::<i32>()?.id();
    let other = file.dataset("other").shape([0]).max_shape([None]).chunks([10]).create::<u8>()?.id();
    for i in 0..250 {
        file.open_id(rows)?.append(&[i; 3])?.append(&[-i, i, -i])?;
        file.open_id(other)?.append(&vec![i as u8; i as usize % 25])?;
        if i == 100 {
            // Rows that are still collected in memory are written before other accesses.
            let one = Slab::new(&[202, 3], [Range::new(201, 1), Range::all(3)])?;
            file.open_id(rows)?.write_slab(&one, &[7, 7, 7])?.resize(&[203, 3])?;
        }
    }
    let full = file.open_id(rows)?.append(&vec![0; 3 * 500]).map(drop);
    assert!(matches!(full, Err(Error::Usage { .. })), "it passes the maximum");
    assert!(file.open_id(rows)?.append(&[1, 2]).is_err(), "not a whole row");
    let file = read(file)?;
    let found = file.dataset("rows")?.read::<i32>()?;
    assert_eq!(found.len(), 501 * 3);
    assert_eq!(
        found[100 * 6..102 * 6 + 3],
        [100, 100, 100, 7, 7, 7, 0, 0, 0, 101, 101, 101, -101, 101, -101]
    );
    let expected: Vec<u8> = (0..250).flat_map(|i| vec![i as u8; i as usize % 25]).collect();
    assert_eq!(file.dataset("other")?.read::<u8>()?, expected);
    Ok(())
}

#[test]
fn ways_to_manage_free_space() -> Result {
    let fill = |file: &mut Writer| -> Result {
        for i in 0..30u64 {
            let values = vec![i; 40 * i as usize];
            file.dataset(&format!("g{}/d{i}", i % 4)).attribute("i", i).write(&values)?;
            file.dataset(&format!("c{i}")).max_shape([None]).chunks([33]).lzf().write(&values)?;
        }
        file.dataset("texts").write(&["a", "b", "c"])?;
        Ok(())
    };
    let ways = [
        (FileSpace::Tracked, 0, 4096),
        (FileSpace::AppendOnly, 3, 4096),
        (FileSpace::Paged { size: 512, tracked: false }, 1, 512),
        (FileSpace::Paged { size: 4096, tracked: true }, 1, 4096),
    ];
    for (file_space, strategy, page) in ways {
        let options = CreateOptions::default().with_file_space(file_space);
        let mut file = Writer::in_memory(&options)?;
        fill(&mut file)?;
        let bytes = file.into_bytes()?;
        assert!(strategy != 1 || bytes.len() % page == 0, "pages are whole");
        let file = File::from_bytes(bytes)?;
        let info = file.file_space().ok_or("nothing is said")?;
        assert_eq!((info.strategy, info.page_size), (strategy, Some(page as u64)));
        assert_eq!(file.free_space()?, []);
        for i in 0..30u64 {
            assert_eq!(file.dataset(&format!("g{}/d{i}", i % 4))?.read::<u64>()?, vec![i; 40 * i as usize]);
            let chunked = file.dataset(&format!("c{i}"))?;
            assert_eq!(chunked.read::<u64>()?, vec![i; 40 * i as usize]);
            // Chunks share pages only with other elements, so no header is in a page with a chunk.
            if strategy == 1 {
                let header = chunked.address().0 / page as u64;
                for chunk in chunked.chunks()? {
                    assert_ne!(chunk?.address.0 / page as u64, header);
                }
            }
        }
    }
    let wrong = |options: CreateOptions| Writer::in_memory(&options).is_err();
    let paged = |size| FileSpace::Paged { size, tracked: false };
    assert!(wrong(CreateOptions::default().with_file_space(paged(100))));
    // This agrees with the library, which then writes the newer superblock together with old objects.
    for (bound, superblock) in [(Bound::Earliest, 2), (Bound::V18, 2), (Bound::V110, 3)] {
        let options = CreateOptions::default().with_file_space(paged(4096)).with_bound(bound);
        let file = File::from_bytes(Writer::in_memory(&options)?.into_bytes()?)?;
        assert_eq!(file.superblock().version, superblock);
        assert_eq!(file.file_space().and_then(|info| info.page_size), Some(4096));
    }
    let user_block = vec![0; 512];
    assert!(wrong(CreateOptions::default().with_file_space(paged(4096)).with_user_block(user_block)));
    Ok(())
}

#[test]
fn threads_do_not_change_the_bytes() -> Result {
    let values: Vec<f32> = (0..200_000).map(|k| (k / 7) as f32).collect();
    let bytes = |threads| -> Result<Vec<u8>> {
        let mut file = Writer::in_memory(&CreateOptions::default().with_threads(threads))?;
        file.dataset("d").shape([400, 500]).chunks([33, 70]).shuffle().lzf().write(&values)?;
        Ok(file.into_bytes()?)
    };
    assert!(bytes(1)? == bytes(0)? && bytes(1)? == bytes(3)?);
    Ok(())
}

#[cfg(feature = "blosc2")]
#[test]
fn blosc() -> Result {
    use hdf5_pure::filters::{BloscCodec, BloscShuffle};

    let values: Vec<i32> = (0..3500).map(|k| k * 31 % 251).collect();
    let codecs =
        [BloscCodec::BloscLz, BloscCodec::Lz4, BloscCodec::Lz4Hc, BloscCodec::Zlib, BloscCodec::Zstd];
    let mut file = writer(Bound::V110)?;
    let mut names = Vec::new();
    for codec in codecs {
        // Zstandard has a feature of its own.
        if codec == BloscCodec::Zstd && !cfg!(feature = "zstd") {
            continue;
        }
        for shuffle in [BloscShuffle::None, BloscShuffle::Bytes, BloscShuffle::Bits] {
            for (version, filters) in
                [(1, Filters::new().blosc(codec, 5, shuffle)), (2, Filters::new().blosc2(codec, 5, shuffle))]
            {
                let name = format!("{version} {codec:?} {shuffle:?}");
                file.dataset(&name).shape([70, 50]).chunks([32, 20]).filters(filters).write(&values)?;
                names.push(name);
            }
        }
    }
    let file = read(file)?;
    for name in names {
        assert_eq!(file.dataset(&name)?.read::<i32>()?, values, "{name}");
    }
    Ok(())
}

#[cfg(not(feature = "blosc2"))]
#[test]
fn blosc_needs_its_feature() -> Result {
    let mut file = writer(Bound::V110)?;
    let filters = Filters::new().blosc2(Default::default(), 5, Default::default());
    let written = file.dataset("d").chunks([10]).filters(filters).write(&[1u8; 100]);
    assert!(matches!(written, Err(Error::Unsupported { feature: Some("blosc2"), .. })), "{written:?}");
    Ok(())
}

#[test]
fn region_references_are_read_by_the_type_that_writes_them() -> Result {
    for bound in [Bound::Earliest, Bound::V110] {
        let mut file = writer(bound)?;
        let data = file.dataset("data").shape([4, 5]).write(&[0u8; 20])?;
        let data = file.reference(data)?;
        let part = RegionReference::new(data, Slab::new(&[4, 5], [Range::new(1, 2), Range::all(5)])?);
        let points = RegionReference::of(data, Selection::Points(vec![vec![3, 4], vec![0, 0]]), 2);
        let whole = RegionReference::of(data, Selection::All, 2);
        let nowhere = RegionReference::of(hdf5_pure::references::Reference::default(), Selection::None, 0);
        let all = [part, points, whole, nowhere];
        file.dataset("regions").write(&all)?;
        let file = read(file)?;
        let back: Vec<RegionReference> = file.dataset("regions")?.read()?;
        assert_eq!(back, all);
        assert_eq!(back[0].dataset().address(), Some(file.dataset("data")?.address()));
        assert_eq!((back[2].rank(), back[3].dataset().address()), (2, None));
    }
    Ok(())
}

#[test]
fn chunks_at_unfiltered_edges_are_copied_as_they_are_stored() -> Result {
    let values: Vec<i32> = (0..13 * 10).collect();
    let made = |file: &mut Writer| -> Result<ObjectId> {
        let made = file.dataset("u").shape([13, 10]).max_shape([None, Some(10)]).chunks([5, 10]).lzf();
        Ok(made.unfiltered_edges().create::<i32>()?.id())
    };
    let mut file = writer(Bound::V110)?;
    let id = made(&mut file)?;
    file.open_id(id)?.write_all(&values)?;
    let old = read(file)?.dataset("u")?;
    let mut file = writer(Bound::V110)?;
    let id = made(&mut file)?;
    for chunk in old.chunks()? {
        let chunk = chunk?;
        file.open_id(id)?.write_chunk(&chunk.scaled, chunk.filter_mask, &old.chunk_raw(&chunk)?)?;
    }
    // With more rows, what was an edge gets filters.
    file.open_id(id)?.resize(&[16, 10])?;
    let new = read(file)?.dataset("u")?;
    assert_eq!(new.read::<i32>()?[..130], values);
    assert!(new.chunks()?.into_iter().flatten().any(|chunk| chunk.scaled[0] == 2 && chunk.size != 200));
    let mut file = writer(Bound::V110)?;
    let id = made(&mut file)?;
    let refused = file.open_id(id)?.write_chunk(&[2, 0], 0, &[0; 7]).map(drop).unwrap_err();
    assert!(refused.to_string().contains("does not have the number of bytes of its elements"), "{refused}");
    Ok(())
}

#[test]
fn a_dataset_whose_attributes_are_refused_is_not_made() -> Result {
    let mut file = writer(Bound::V110)?;
    let refused = file.dataset("x").index(ChunkIndex::Implicit).shape([4]).attribute("", 1).write(&[1u8; 4]);
    assert!(matches!(refused, Err(Error::Usage { argument: "attribute", .. })));
    assert!(file.dataset("y").shape([2]).attribute("a\0b", 1).create::<u8>().is_err());
    file.dataset("x").write(&[2u8])?;
    let file = read(file)?;
    assert_eq!(file.dataset("x")?.read::<u8>()?, [2]);
    assert!(file.dataset("y").is_err());
    Ok(())
}

#[test]
fn a_link_whose_name_and_target_are_long_goes_to_a_heap() -> Result {
    let (name, target) = ("n".repeat(1000), "t".repeat(64_990));
    for bound in [Bound::V18, Bound::V110] {
        let mut file = writer(bound)?;
        file.root().soft_link(&name, &target)?.external_link("far", &target[..30_000], &target[..34_000])?;
        let file = read(file)?;
        let links = file.root()?.links()?;
        assert!(links.len() == 2 && links.iter().all(std::result::Result::is_ok));
        let link = file.root()?.link(&name)?.map(|link| link.target);
        assert_eq!(link, Some(Target::Soft(target.as_str().into())));
    }
    Ok(())
}

#[test]
fn what_does_not_fit_into_a_header_is_refused_at_once() -> Result {
    fn refused<T>(made: &hdf5_pure::Result<T>) -> bool {
        matches!(made, Err(Error::Usage { .. }))
    }
    for bound in [Bound::Earliest, Bound::V110] {
        let mut file = writer(bound)?;
        let names: Vec<String> = (0..4000).map(|i| format!("number {i}")).collect();
        let wide = Datatype::compound(names.iter().map(|name| (name.as_str(), Datatype::float64())));
        assert!(refused(&file.root().commit("kind", &wide)));
        assert!(refused(&file.dataset("a").datatype(wide).write_null()));
        let large = file.dataset("b").datatype(Datatype::opaque(70_000, "")).fill_raw(&[1; 70_000]);
        assert!(refused(&large.shape([1]).create_encoded()));
        let filtered = file.dataset("c").filters(Filters::new().custom(40_000, vec![7; 20_000]));
        assert!(refused(&filtered.shape([1]).create::<u8>()));
        let parts = names.iter().map(|name| (name.as_str(), 0, Some(1)));
        assert!(refused(&file.dataset("d").external(parts).shape([4000]).create::<u8>()));
        let parts = [("a.raw", 0, None), ("b.raw", 0, Some(8))];
        assert!(
            refused(&file.dataset("d").external(parts).shape([4]).create::<u8>()),
            "a file behind one without an end"
        );
        let comment = "x".repeat(65_528);
        assert!(refused(&file.dataset("e").comment(&comment).shape([1]).create::<u8>()));
        assert!(refused(&file.root().comment(&comment).map(drop)));
        file.root().comment(&comment[1..])?;
        file.dataset("f").write(&[2u8])?;
        let file = read(file)?;
        assert_eq!(file.root()?.links()?.len(), 1);
        assert_eq!(file.dataset("f")?.read::<u8>()?, [2]);
    }
    Ok(())
}

#[test]
fn a_maximum_shape_is_stored_even_if_it_is_the_shape() -> Result {
    // Otherwise the C library shrinks it together with the shape, and finds chunks by other numbers from then on.
    const N: u64 = 1_234_567;
    let stored =
        |bytes: &[u8]| bytes.windows(16).filter(|part| **part == [N.to_le_bytes(); 2].concat()).count();
    for bound in [Bound::Earliest, Bound::LATEST] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weather.h5");
        let mut file = Writer::create_with(&path, &CreateOptions::default().with_bound(bound))?;
        file.dataset("whole").shape([N]).chunks([1000]).create::<u8>()?;
        file.dataset("grows").shape([9]).max_shape([Some(N)]).chunks([1000]).create::<u8>()?;
        file.dataset("flat").shape([N]).create::<u8>()?;
        file.finish()?;
        assert_eq!(stored(&std::fs::read(&path).unwrap()), 1);
        let mut file = Editor::open(&path)?;
        file.open_dataset("grows")?.resize(&[N])?;
        file.commit()?;
        assert_eq!(stored(&std::fs::read(&path).unwrap()), 2);
        file.open_dataset("grows")?.resize(&[N - 1])?;
        file.commit()?;
        file.open_dataset("grows")?.resize(&[N])?;
        file.commit()?;
        assert_eq!(stored(&std::fs::read(&path).unwrap()), 2);
        assert_eq!(File::open(&path)?.dataset("grows")?.shape(), [N]);
    }
    Ok(())
}

#[test]
fn filters_of_plug_ins_have_names() -> Result {
    // When the C library copies an object, it adds the names of its plug-ins to filters without a name, for which there is no space.
    for bound in [Bound::Earliest, Bound::LATEST] {
        let mut file = writer(bound)?;
        file.dataset("lzf").shape([9]).filters(Filters::new().shuffle().lzf()).write(&[1u16; 9])?;
        let file = read(file)?;
        let dataset = file.dataset("lzf")?;
        let pipeline = dataset.filters()?;
        let name = |k: usize| pipeline.filters[k].name.as_ref().map(|name| name.to_text().into_owned());
        assert_eq!(name(1).as_deref(), Some("lzf"));
        // Those of the library itself have one where the library writes it.
        assert_eq!(name(0).is_some(), bound == Bound::Earliest);

        let mut nameless = pipeline.filters[1].clone();
        nameless.name = None;
        let mut file = writer(bound)?;
        file.dataset("again")
            .shape([9])
            .filters(Filters::new().lzf().described_as(&nameless))
            .write(&[1u16; 9])?;
        let again = read(file)?.dataset("again")?;
        assert_eq!(again.filters()?.filters[0], pipeline.filters[1]);
    }
    Ok(())
}
