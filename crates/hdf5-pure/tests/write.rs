//! Writes files with every bound, and reads them.

use hdf5_pure::filters::{Filters, SzipCoding};
use hdf5_pure::options::Bound;
use hdf5_pure::references::StandardReference;
use hdf5_pure::structure::{Mapping, Regular, Selection};
use hdf5_pure::values::{Empty, FixedString};
use hdf5_pure::{Address, ChunkIndex, CreateOptions, Datatype, Error, File, ObjectId, Range, Slab, Writer};

const BOUNDS: [Bound; 5] = [Bound::Earliest, Bound::V18, Bound::V110, Bound::V112, Bound::V200];

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Writes a file with each bound and checks it.
fn each_bound(
    write: impl Fn(&mut Writer) -> hdf5_pure::Result<()>,
    check: impl Fn(&File, Bound) -> Result,
) -> Result {
    for bound in BOUNDS {
        for track_order in [false, true] {
            let options = CreateOptions::default().with_bound(bound).with_track_order(track_order);
            let mut file = Writer::in_memory(&options)?;
            write(&mut file)?;
            let bytes = file.into_bytes()?;
            if let Ok(folder) = std::env::var("HDF5_PURE_KEEP") {
                let name = std::thread::current().name().unwrap_or("main").to_owned();
                std::fs::write(format!("{folder}/{name}_{bound:?}_{track_order}.h5"), &bytes)?;
            }
            let file = File::from_bytes(bytes)?;
            for visited in file.walk() {
                assert!(!matches!(visited.what, hdf5_pure::walk::Found::Broken(_)), "{bound:?}: {visited:?}");
            }
            check(&file, bound)?;
        }
    }
    Ok(())
}

fn values(n: u64) -> Vec<f64> {
    (0..n).map(|i| i as f64 / 4.0).collect()
}

#[test]
fn layouts_and_indexes() -> Result {
    let shape = [33u64, 50];
    let u = values(33 * 50);
    each_bound(
        |file| {
            file.dataset("contiguous").shape(shape).write(&u)?;
            file.dataset("compact").shape(shape).compact().write(&u)?;
            file.dataset("chunked").shape(shape).chunks([8, 7]).write(&u)?;
            file.dataset("single").shape(shape).chunks(shape).lzf().write(&u)?;
            file.dataset("implicit").shape(shape).chunks([8, 7]).index(ChunkIndex::Implicit).write(&u)?;
            file.dataset("fixed").shape(shape).chunks([1, 1]).shuffle().lzf().write(&u)?;
            file.dataset("grows").shape(shape).max_shape([None, Some(60)]).chunks([1, 3]).write(&u)?;
            file.dataset("grows_second")
                .shape(shape)
                .max_shape([Some(40), None])
                .chunks([3, 1])
                .fletcher32()
                .write(&u)?;
            file.dataset("both").shape(shape).max_shape([None, None]).chunks([2, 2]).lzf().write(&u)?;
            file.dataset("automatic")
                .shape(shape)
                .automatic_chunks()
                .shuffle()
                .lzf()
                .fletcher32()
                .write(&u)?;
            Ok(())
        },
        |file, bound| {
            let names: Vec<_> = file.root()?.links()?.into_iter().flatten().map(|link| link.name).collect();
            assert_eq!(names.len(), 10);
            for name in names {
                let dataset = file.dataset(&name.to_text())?;
                assert_eq!(dataset.shape(), shape);
                assert_eq!(dataset.read::<f64>()?, u, "{bound:?} {name}");
            }
            Ok(())
        },
    )
}

#[test]
fn arrays_of_many_chunks() -> Result {
    let n = 20_000;
    let u = values(n);
    each_bound(
        |file| {
            file.dataset("fixed").chunks([3]).write(&u)?;
            file.dataset("grows").max_shape([None]).chunks([3]).write(&u)?;
            file.dataset("sparse")
                .shape([1 << 40])
                .max_shape([None])
                .chunks([64])
                .create::<i16>()?
                .write_slab(&Slab::new(&[1 << 40], [Range::new(1 << 39, 100)])?, &[7i16; 100])?;
            Ok(())
        },
        |file, _| {
            assert_eq!(file.dataset("fixed")?.read::<f64>()?, u);
            assert_eq!(file.dataset("grows")?.read::<f64>()?, u);
            let part = Slab::new(&[1 << 40], [Range::new((1 << 39) - 1, 102)])?;
            let found: Vec<i16> = file.dataset("sparse")?.read_slab(&part)?;
            assert_eq!((found[0], found[1], found[100], found[101]), (0, 7, 7, 0));
            Ok(())
        },
    )
}

#[test]
fn groups_of_every_size() -> Result {
    each_bound(
        |file| {
            for n in [0, 8, 9, 300, 5000] {
                let mut group = file.group(&format!("of_{n}"))?;
                let mut one = None;
                for i in 0..n {
                    match one {
                        None => one = Some(group.group(&format!("member {i} é"))?.id()),
                        Some(id) => {
                            group.hard_link(&format!("member {i} é"), id)?;
                        }
                    }
                }
            }
            file.group("a/b/c/d")?.soft_link("up", "/a/b")?;
            file.root().external_link("x/elsewhere", "other.h5", "/data")?;
            file.group("a")?.comment("what it is")?;
            Ok(())
        },
        |file, bound| {
            for n in [0usize, 8, 9, 300, 5000] {
                let group = file.group(&format!("of_{n}"))?;
                assert_eq!(group.links()?.len(), n);
                for i in (0..n).step_by(97) {
                    assert!(group.link(&format!("member {i} é"))?.is_some(), "{bound:?} {n} {i}");
                }
                if n > 0 {
                    assert_eq!(file.object_info(group.group("member 0 é")?.address())?.references, n as u32);
                }
            }
            assert_eq!(file.group("a/b/c/d/up/c")?.links()?.len(), 1);
            let a = file.object_info(file.group("a")?.address())?;
            assert_eq!(a.comment.map(|text| text.to_string()).as_deref(), Some("what it is"));
            Ok(())
        },
    )
}

#[test]
fn attributes_of_every_size() -> Result {
    let long: Vec<u8> = (0..100_000u32).map(|i| i as u8).collect();
    each_bound(
        |file| {
            let mut root = file.root();
            root.attribute("units", "K")?.attribute("number", 1.5)?.attribute("ints", [1i32, 2, 3])?;
            root.attribute("texts", ["a", "", "ü"])?.attribute("fixed", FixedString("abc"))?;
            root.attribute("empty", Empty(Datatype::float64()))?.attribute("ö", true)?;
            let mut many = file.group("many")?;
            for i in 0..200u32 {
                many.attribute(&format!("a{i}"), i)?;
            }
            file.group("long")?.attribute("before", 1u8)?.attribute("long", &long[..])?;
            Ok(())
        },
        |file, bound| {
            let root = file.root()?;
            assert_eq!(root.attribute("units")?.read::<String>()?, ["K"]);
            assert_eq!(root.attribute("ints")?.read::<i32>()?, [1, 2, 3]);
            assert_eq!(root.attribute("texts")?.read::<String>()?, ["a", "", "ü"]);
            assert_eq!(root.attribute("fixed")?.read::<String>()?, ["abc"]);
            assert_eq!(root.attribute("ö")?.read::<u8>()?, [1]);
            assert_eq!(root.attributes()?.len(), 7);
            let many = file.group("many")?;
            assert_eq!(many.attributes()?.len(), 200, "{bound:?}");
            assert_eq!(many.attribute("a150")?.read::<u32>()?, [150]);
            assert_eq!(file.group("long")?.attribute("long")?.read::<u8>()?, long);
            Ok(())
        },
    )
}

hdf5_pure::record! {
    #[derive(Clone, Debug, PartialEq)]
    struct Row {
        id: u32,
        name: String,
        position: Vec<f64>,
    }
}

#[test]
fn elements_of_variable_length() -> Result {
    let texts: Vec<String> = (0..5000).map(|i| "x".repeat(i % 50)).collect();
    let rows: Vec<Row> = (0..10u32)
        .map(|id| Row { id, name: format!("row {id}"), position: vec![0.5; id as usize] })
        .collect();
    let nested = vec![vec![vec![1i32, 2], vec![]], vec![], vec![vec![3]]];
    each_bound(
        |file| {
            file.dataset("texts").chunks([100]).lzf().write(&texts)?;
            file.dataset("rows").write(&rows)?;
            file.dataset("nested").write(&nested)?;
            file.dataset("fixed").datatype(Datatype::fixed_string(50)).write(&texts)?;
            file.dataset("big_endian").datatype(Datatype::signed(2).big_endian()).write(&[1u8, 200, 3])?;
            file.dataset("one").attribute("units", "m").write_scalar(2.5f32)?;
            file.dataset("none").datatype(Datatype::unsigned(4)).write_null()?;
            Ok(())
        },
        |file, _| {
            assert_eq!(file.dataset("texts")?.read::<String>()?, texts);
            assert_eq!(file.dataset("rows")?.read::<Row>()?, rows);
            assert_eq!(file.dataset("nested")?.read::<Vec<Vec<i32>>>()?, nested);
            assert_eq!(file.dataset("fixed")?.read::<String>()?, texts);
            assert_eq!(file.dataset("big_endian")?.read::<i32>()?, [1, 200, 3]);
            assert_eq!(file.dataset("one")?.read::<f32>()?, [2.5]);
            let none = file.dataset("none")?;
            assert!(none.is_null() && none.shape().is_empty() && !file.dataset("one")?.is_null());
            assert!(
                none.all().is_err() && none.read_slab::<i32>(&Slab::all(&[])?).is_err(),
                "it has no elements"
            );
            assert_eq!(none.read::<i32>()?, [0; 0]);
            let sliced = [none.read_slice::<i32>(..).err(), none.read_slice_into::<i32>((), &mut []).err()];
            for error in sliced {
                let error = error.map(|error| error.to_string()).unwrap_or_default();
                assert!(error.contains("has a null dataspace, which holds no elements"), "{error}");
            }
            Ok(())
        },
    )
}

hdf5_pure::record! { struct Pair { id: String, note: String } }

#[test]
fn an_empty_text_is_no_null_pointer() -> Result {
    each_bound(
        |file| {
            file.dataset("texts").write(&["", "x"])?;
            file.dataset("rows").write(&[Row { id: 0, name: String::new(), position: vec![] }])?;
            // Texts that go through a datatype of another form.
            let pair = Datatype::compound([("id", Datatype::fixed_string(8)), ("note", Datatype::string())]);
            file.dataset("pairs").datatype(pair).write(&[Pair { id: "a".into(), note: String::new() }])?;
            let mut none = file.dataset("none").datatype(Datatype::string()).shape([2]).create_encoded()?;
            none.write_encoded(&Slab::all(&[2])?, |to| {
                to.sequence(0, &[])?;
                to.text(b"")
            })?;
            Ok(())
        },
        |file, _| {
            let null = |name: &str, range: std::ops::Range<usize>| -> Result<bool> {
                let dataset = file.dataset(name)?;
                Ok(file.is_null(&dataset.read_raw(&dataset.all()?)?[range])?)
            };
            assert!(!null("texts", 0..16)? && !null("texts", 16..32)? && !null("pairs", 8..24)?);
            assert!(!null("rows", 4..20)? && null("rows", 20..36)?);
            assert!(null("none", 0..16)? && !null("none", 16..32)?);
            assert_eq!(file.dataset("none")?.read::<String>()?, ["", ""]);
            Ok(())
        },
    )
}

#[test]
fn sequences_of_references_as_the_c_library_stores_them() -> Result {
    // Their datatype has the size in memory. The items lie at the front of as many bytes, and the rest is meaningless.
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::V112))?;
    let group = file.group("g")?.id();
    let group = file.reference(group)?.address().ok_or("has no place")?;
    let mut base = Datatype::of::<StandardReference>();
    base.size = 64;
    let element: Vec<u8> = [2, 0, 8].into_iter().chain(group.0.to_le_bytes()).chain([0; 7]).collect();
    let stored = [&element[..], &element, &[0; 18], &[179; 192 - 54]].concat();
    let mut lists = file.dataset("lists").datatype(Datatype::sequence(&base)).shape([1]).create_encoded()?;
    lists.write_encoded(&Slab::all(&[1])?, |to| to.sequence(3, &stored))?;
    let file = File::from_bytes(file.into_bytes()?)?;
    let lists = file.dataset("lists")?;
    let found = lists.read::<Vec<Option<Address>>>()?;
    assert_eq!(found, [[Some(group), Some(group), None]]);
    let canonical = lists.read_canonical(&lists.all()?)?;
    assert_eq!(
        canonical,
        [&[3, 0, 0, 0, 0, 0, 0, 0, 2][..], &[0; 7], b"/g\x02", &[0; 7], b"/g", &[0; 8]].concat()
    );
    Ok(())
}

#[test]
fn a_virtual_dataset_has_at_least_what_is_mapped_to_fixed_places() -> Result {
    let rows = |start, count: Option<u64>| {
        Selection::Regular(vec![Regular { start, stride: 1, count, block: Some(1) }])
    };
    let mapping =
        |dataset: &str, source, target| Mapping { file: ".".into(), dataset: dataset.into(), source, target };
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::V110))?;
    file.dataset("done").write(&[1i32, 2, 3, 4, 5])?;
    file.dataset("live").shape([0]).max_shape([None]).chunks([4]).create::<i32>()?;
    for (name, source) in [("waits", "live"), ("lacks", "gone")] {
        file.dataset(name)
            .shape([5])
            .max_shape([None])
            .map_selection(mapping("done", Selection::All, rows(0, Some(5))))
            .map_selection(mapping(source, rows(0, None), rows(5, None)))
            .create::<i32>()?;
    }
    let file = File::from_bytes(file.into_bytes()?)?;
    for name in ["waits", "lacks"] {
        assert_eq!(file.dataset(name)?.read::<i32>()?, [1, 2, 3, 4, 5], "{name}");
    }
    Ok(())
}

#[test]
fn a_virtual_dataset_of_unknown_length_is_not_empty() -> Result {
    let rows = || Selection::Regular(vec![Regular { start: 0, stride: 1, count: None, block: Some(1) }]);
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::V110))?;
    let mapping = Mapping { file: "other.h5".into(), dataset: "live".into(), source: rows(), target: rows() };
    file.dataset("shown").shape([0]).max_shape([None]).map_selection(mapping).create::<i32>()?;
    file.dataset("empty").shape([0]).max_shape([None]).chunks([4]).create::<i32>()?;
    // A file in memory has no folder in which the source may be.
    let file = File::from_bytes(file.into_bytes()?)?;
    assert!(file.dataset("empty")?.read::<i32>()?.is_empty());
    let shown = file.dataset("shown")?;
    let forbidden = |found: hdf5_pure::Result<()>| matches!(found, Err(Error::Forbidden { .. }));
    assert!(forbidden(shown.read::<i32>().map(drop)) && forbidden(shown.read::<f64>().map(drop)));
    assert!(forbidden(shown.read_canonical(&shown.all()?).map(drop)));
    Ok(())
}

#[test]
fn appended_rows() -> Result {
    each_bound(
        |file| {
            let id: ObjectId = file
                .dataset("rows")
                .shape([0, 5])
                .max_shape([None, Some(5)])
                .chunks([16, 2])
                .fill(-1i32)
                .shuffle()
                .lzf()
                .create::<i32>()?
                .id();
            let other = file.dataset("other").shape([0]).max_shape([None]).chunks([10]).create::<u8>()?.id();
            for row in 0..100i32 {
                let values: Vec<i32> = (0..5).map(|i| row * 5 + i).collect();
                file.open_id(id)?.append(&values)?;
                file.open_id(other)?.append(&[row as u8; 3])?;
            }
            file.open_id(id)?.resize(&[110, 5])?;
            let mut both =
                file.dataset("both").shape([4, 4]).max_shape([None, None]).chunks([3, 3]).create::<u8>()?;
            both.resize(&[7, 9])?.write_slab(
                &Slab::new(&[7, 9], [Range::new(0, 3).by(3), Range::new(1, 4).by(2)])?,
                &[9u8; 12],
            )?;
            Ok(())
        },
        |file, bound| {
            let mut expected: Vec<i32> = (0..500).collect();
            expected.extend([-1; 50]);
            assert_eq!(file.dataset("rows")?.read::<i32>()?, expected, "{bound:?}");
            assert_eq!(file.dataset("other")?.read::<u8>()?.len(), 300);
            let both = file.dataset("both")?.read::<u8>()?;
            let expected: Vec<u8> =
                (0..63).map(|k| if (k / 9) % 3 == 0 && (k % 9) % 2 == 1 { 9 } else { 0 }).collect();
            assert_eq!(both, expected);
            Ok(())
        },
    )
}

#[test]
fn parts_of_datasets_and_their_fill_value() -> Result {
    let part = Slab::new(&[4, 5], [Range::new(1, 2), Range::new(0, 3).by(2)])?;
    let expected: Vec<i32> =
        (0..20).map(|k| if (5..15).contains(&k) && (k % 5) % 2 == 0 { 1 } else { 7 }).collect();
    each_bound(
        |file| {
            file.dataset("a").shape([4, 5]).fill(7i32).create::<i32>()?.write_slab(&part, &[1; 6])?;
            file.dataset("b")
                .shape([4, 5])
                .chunks([3, 3])
                .fill(7i32)
                .create::<i32>()?
                .write_slab(&part, &[1; 6])?;
            file.dataset("c")
                .shape([4, 5])
                .compact()
                .fill(7i32)
                .create::<i32>()?
                .write_slab(&part, &[1; 6])?;
            Ok(())
        },
        |file, _| {
            for name in ["a", "b", "c"] {
                assert_eq!(file.dataset(name)?.read::<i32>()?, expected);
            }
            Ok(())
        },
    )
}

#[test]
fn references_lead_to_objects() -> Result {
    each_bound(
        |file| {
            let kind = file.root().commit("kind", &Datatype::unsigned(2))?;
            let first = file.dataset("group/first").committed(kind).write(&[1u16, 2, 3])?;
            let group = file.group("group")?.id();
            let references = [file.reference(first)?, file.reference(group)?, file.reference(kind)?];
            file.dataset("references").write(&references)?;
            file.attribute(first, "group", references[1])?;
            // These attributes do not fit the space that was reserved for the header.
            for i in 0..7 {
                file.attribute(first, &format!("long {i}"), vec![i; 100])?;
            }
            let region = hdf5_pure::references::RegionReference::new(
                references[0],
                Slab::new(&[3], [Range::new(1, 2)])?,
            );
            file.dataset("regions").write(&[region])?;
            Ok(())
        },
        |file, _| {
            let found: Vec<Option<hdf5_pure::Address>> = file.dataset("references")?.read()?;
            let expected = [file.dataset("group/first")?.address(), file.group("group")?.address()].map(Some);
            assert_eq!(found[..2], expected);
            let attribute: Vec<Option<hdf5_pure::Address>> =
                file.dataset("group/first")?.attribute("group")?.read()?;
            assert_eq!(attribute, expected[1..]);
            assert_eq!(file.dataset("group/first")?.read::<u16>()?, [1, 2, 3]);
            let long = file.dataset("group/first")?.attribute("long 6")?.read::<i32>()?;
            assert_eq!(long, [6; 100]);
            assert_eq!(file.dataset("group/first")?.attributes()?.len(), 8);
            let regions: Vec<Option<hdf5_pure::structure::Reference>> = file.dataset("regions")?.read()?;
            assert!(matches!(regions[0].as_ref().unwrap().part, hdf5_pure::structure::Part::Region(_)));
            Ok(())
        },
    )
}

#[test]
fn equal_calls_give_equal_bytes() -> Result {
    let make = || -> hdf5_pure::Result<Vec<u8>> {
        let options = CreateOptions::default().with_user_block(vec![7; 512]);
        let mut file = Writer::in_memory(&options)?;
        for i in 0..20 {
            file.dataset(&format!("d{i}")).chunks([10]).lzf().attribute("i", i).write(&values(95))?;
        }
        file.into_bytes()
    };
    let bytes = make()?;
    assert_eq!(bytes, make()?);
    assert_eq!(bytes[..512], [7; 512]);
    let file = File::from_bytes(bytes)?;
    assert_eq!(file.base(), 512);
    assert_eq!(file.dataset("d7")?.read::<f64>()?, values(95));
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused() -> Result {
    let mut file = Writer::in_memory(&CreateOptions::default())?;
    let refused = |result: hdf5_pure::Result<ObjectId>, part: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(file.dataset("a").shape([2, 2]).write(&[1, 2, 3]), "12 bytes");
    file.dataset("b").write(&[1])?;
    refused(file.dataset("b").write(&[1]), "exists already in the group");
    refused(file.dataset("b/c").write(&[1]), "not a group");
    refused(file.dataset("d").chunks([0]).write(&[1]), "each at least 1");
    refused(file.dataset("d").chunks([2]).write(&[1]), "larger than the maximum shape");
    refused(file.dataset("d").contiguous().lzf().write(&[1]), "in chunks");
    refused(file.dataset("d").compact().write(&vec![0u8; 70_000]), "compact");
    refused(file.dataset("").write(&[1]), "name");
    refused(file.dataset("d").write(&["a\0b"]), "NUL");
    refused(file.dataset("d").datatype(Datatype::fixed_string(1)).write(&["ab"]), "2 bytes");
    refused(file.dataset("d").lzf().write_scalar(1), "without dimensions");
    // A name whose dataset was refused is still free.
    file.dataset("a").write(&[1])?;
    assert!(Writer::in_memory(&CreateOptions::default().with_user_block(vec![0; 100])).is_err());
    let file = File::from_bytes(file.into_bytes()?)?;
    assert_eq!(file.dataset("a")?.read::<i32>()?, [1]);
    Ok(())
}

fn every_filter() -> Vec<(&'static str, Filters)> {
    vec![
        #[cfg(feature = "deflate")]
        ("deflate", Filters::new().deflate(6)),
        #[cfg(feature = "deflate")]
        ("shuffle_deflate_fletcher32", Filters::new().shuffle().deflate(6).fletcher32()),
        ("lzf", Filters::new().shuffle().lzf()),
        #[cfg(feature = "bzip2")]
        ("bzip2", Filters::new().bzip2(9)),
        #[cfg(feature = "lz4")]
        ("lz4", Filters::new().lz4()),
        #[cfg(feature = "zstd")]
        ("zstd", Filters::new().zstd(3)),
        ("bitshuffle", Filters::new().bitshuffle()),
        #[cfg(feature = "lz4")]
        ("bitshuffle_lz4", Filters::new().bitshuffle_lz4()),
        #[cfg(feature = "zstd")]
        ("bitshuffle_zstd", Filters::new().bitshuffle_zstd(3)),
        ("szip", Filters::new().szip(SzipCoding::Differences, 16)),
        ("szip_plain", Filters::new().szip(SzipCoding::Elements, 8)),
        ("n_bit", Filters::new().n_bit()),
        ("scale_offset", Filters::new().scale_offset()),
    ]
}

const SHAPE: [u64; 2] = [70, 50];

/// Elements of several kinds.
struct Samples {
    ints: Vec<i32>,
    bytes: Vec<u8>,
    shorts: Vec<u16>,
    floats: Vec<f64>,
    zeros: Vec<u8>,
    noise: Vec<u64>,
}

impl Samples {
    fn new() -> Self {
        let n = 3500u64;
        Self {
            ints: (0..n).map(|i| (i * 31 % 251) as i32 - 100).collect(),
            bytes: (0..n).map(|i| (i / 100 * 3) as u8).collect(),
            shorts: (0..n).map(|i| (i * i % 4001) as u16).collect(),
            floats: (0..n).map(|i| (i * 7 % 1000) as f64 / 4.0).collect(),
            zeros: vec![0; 3500],
            noise: (0..n).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17)).collect(),
        }
    }

    fn write(&self, file: &mut Writer, name: &str, filters: &Filters) -> hdf5_pure::Result<()> {
        let mut group = file.group(name)?;
        group.dataset("ints").shape(SHAPE).chunks([32, 20]).filters(filters.clone()).write(&self.ints)?;
        group.dataset("bytes").shape(SHAPE).chunks([32, 20]).filters(filters.clone()).write(&self.bytes)?;
        group.dataset("shorts").shape(SHAPE).chunks([33, 17]).filters(filters.clone()).write(&self.shorts)?;
        group.dataset("zeros").shape(SHAPE).chunks([64, 50]).filters(filters.clone()).write(&self.zeros)?;
        group.dataset("noise").shape(SHAPE).chunks([32, 20]).filters(filters.clone()).write(&self.noise)?;
        if name != "scale_offset" {
            group
                .dataset("floats")
                .shape(SHAPE)
                .chunks([32, 20])
                .filters(filters.clone())
                .write(&self.floats)?;
        }
        Ok(())
    }

    fn check(&self, file: &File, name: &str) -> Result {
        let group = file.group(name)?;
        assert_eq!(group.dataset("ints")?.read::<i32>()?, self.ints, "{name}");
        assert_eq!(group.dataset("bytes")?.read::<u8>()?, self.bytes, "{name}");
        assert_eq!(group.dataset("shorts")?.read::<u16>()?, self.shorts, "{name}");
        assert_eq!(group.dataset("zeros")?.read::<u8>()?, self.zeros, "{name}");
        assert_eq!(group.dataset("noise")?.read::<u64>()?, self.noise, "{name}");
        if name != "scale_offset" {
            assert_eq!(group.dataset("floats")?.read::<f64>()?, self.floats, "{name}");
        }
        Ok(())
    }
}

#[test]
fn filters() -> Result {
    let (all, samples) = (every_filter(), Samples::new());
    each_bound(
        |file| {
            all.iter().try_for_each(|(name, filters)| samples.write(file, name, filters))?;
            let narrow = Datatype::signed(4).with_precision(20, 3)?;
            let packed = file.dataset("narrow").shape(SHAPE).datatype(narrow).chunks([30, 30]);
            packed.filters(Filters::new().n_bit()).write(&samples.ints)?;
            let rounded = file.dataset("decimals").shape(SHAPE).chunks([30, 30]);
            rounded.filters(Filters::new().scale_offset_decimals(2)).write(&samples.floats)?;
            Ok(())
        },
        |file, _| {
            all.iter().try_for_each(|(name, _)| samples.check(file, name))?;
            assert_eq!(file.dataset("narrow")?.read::<i32>()?, samples.ints);
            let decimals = file.dataset("decimals")?.read::<f64>()?;
            assert!(decimals.iter().zip(&samples.floats).all(|(a, b)| (a - b).abs() < 1e-9));
            Ok(())
        },
    )
}

#[test]
fn elements_elsewhere() -> Result {
    let mut file = Writer::in_memory(&CreateOptions::default())?;
    for i in 0..3u8 {
        file.dataset(&format!("part{i}")).write(&[i; 10])?;
    }
    let mut whole = file.dataset("whole").shape([3, 10]).fill(9u8);
    for i in [0u64, 2] {
        let target = Slab::new(&[3, 10], [Range::new(i, 1), Range::all(10)])?;
        whole = whole.map(".", &format!("/part{i}"), &Slab::all(&[10])?, &target);
    }
    whole.create::<u8>()?;
    file.dataset("outside")
        .shape([20])
        .external([("a.raw", 4, Some(8)), ("b.raw", 0, None)])
        .create::<u8>()?;
    let file = File::from_bytes(file.into_bytes()?)?;
    let expected: Vec<u8> = [0u8, 9, 2].iter().flat_map(|&i| [i; 10]).collect();
    assert_eq!(file.dataset("whole")?.read::<u8>()?, expected);
    assert_eq!(file.dataset("whole")?.mappings()?.len(), 2);
    assert_eq!(file.dataset("outside")?.shape(), [20]);
    Ok(())
}

/// A filter that inverts every bit.
struct Turn;

impl hdf5_pure::filters::Filter for Turn {
    fn decode(
        &self,
        _: &[u32],
        input: &[u8],
        _: usize,
    ) -> std::result::Result<Vec<u8>, hdf5_pure::error::Fault> {
        Ok(input.iter().map(|byte| !byte).collect())
    }

    fn encode(
        &self,
        values: &[u32],
        input: &[u8],
    ) -> std::result::Result<Option<Vec<u8>>, hdf5_pure::error::Fault> {
        self.decode(values, input, input.len()).map(Some)
    }
}

#[test]
fn a_filter_of_the_callers() -> Result {
    let registry = hdf5_pure::filters::Registry::default().with(300, std::sync::Arc::new(Turn));
    let options = CreateOptions::default().with_registry(registry.clone());
    let mut file = Writer::in_memory(&options)?;
    file.dataset("turned").chunks([4]).filters(Filters::new().custom(300, vec![1])).write(&[1u8, 2, 3, 4])?;
    let bytes = file.into_bytes()?;
    let unknown = File::from_bytes(bytes.clone())?.dataset("turned")?.read::<u8>();
    assert!(matches!(unknown, Err(hdf5_pure::Error::Unsupported { .. })));
    let options = hdf5_pure::OpenOptions::default().with_registry(registry);
    assert_eq!(File::from_storage(bytes, &options)?.dataset("turned")?.read::<u8>()?, [1, 2, 3, 4]);
    Ok(())
}

#[cfg(all(feature = "half", feature = "num-complex", feature = "ndarray"))]
#[test]
fn types_of_other_crates() -> Result {
    use num_complex::Complex;
    let halves = [half::f16::from_f32(0.5), half::f16::from_f32(-2.0)];
    let complex = [Complex::new(1.0f64, 2.0), Complex::new(0.5, -1.0)];
    let array = ndarray::Array2::from_shape_fn((3, 4), |(i, j)| (i * 10 + j) as i32);
    let mut file = Writer::in_memory(&CreateOptions::default())?;
    file.dataset("halves").write(&halves)?;
    file.dataset("complex").write(&complex)?;
    file.dataset("turned").write_ndarray(&array.t())?;
    let file = File::from_bytes(file.into_bytes()?)?;
    assert_eq!(file.dataset("halves")?.read::<half::f16>()?, halves);
    assert_eq!(file.dataset("complex")?.read::<Complex<f64>>()?, complex);
    assert_eq!(file.dataset("turned")?.shape(), [4, 3]);
    assert_eq!(file.dataset("turned")?.read::<i32>()?[..4], [0, 10, 20, 1]);
    Ok(())
}

#[test]
fn elements_of_any_length_are_filled_with_their_space() -> Result<()> {
    let mut file = Writer::in_memory(&CreateOptions::default())?;
    file.dataset("texts").shape([4]).chunks([2]).create::<String>()?;
    file.dataset("numbers").shape([4]).chunks([2]).create::<i32>()?;
    let file = File::from_bytes(file.into_bytes()?)?;
    // This agrees with the C library: 0 on allocation, 2 if a value was set.
    assert_eq!(file.dataset("texts")?.fill_value()?.write_time, 0);
    assert_eq!(file.dataset("numbers")?.fill_value()?.write_time, 2);
    Ok(())
}

#[test]
#[cfg(feature = "deflate")]
fn no_chunk_is_passed_over_by_gzip() -> Result<()> {
    let mut file = Writer::in_memory(&CreateOptions::default())?;
    file.dataset("few").chunks([4]).deflate(6).write(&[1i32, -7, 1 << 30, 99])?;
    let file = File::from_bytes(file.into_bytes()?)?;
    let chunks = file.dataset("few")?.chunks()?.into_iter().collect::<hdf5_pure::Result<Vec<_>>>()?;
    let told: Vec<_> = chunks.iter().map(|chunk| (chunk.size > 16, chunk.filter_mask)).collect();
    assert_eq!(told, [(true, 0)]);
    Ok(())
}
