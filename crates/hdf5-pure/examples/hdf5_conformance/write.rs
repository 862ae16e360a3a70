//! Writes the files that h5py checks: one for each group of contents below and each bound.
//!
//! Element k of a numeric array is (k * 31 + 7) % 251 as an integer, or a quarter of this number as a float.

use std::path::Path;

use hdf5_pure::filters::{BloscCodec, BloscShuffle, Filters, SzipCoding};
use hdf5_pure::options::{Bound, FileSpace};
use hdf5_pure::references::{RegionReference, StandardReference};
use hdf5_pure::values::{Committed, Empty, FixedString};
use hdf5_pure::{ChunkIndex, CreateOptions, Datatype, Error, Range, Result, Slab, Writer};

const BOUNDS: [(&str, Bound); 5] = [
    ("earliest", Bound::Earliest),
    ("v18", Bound::V18),
    ("v110", Bound::V110),
    ("v112", Bound::V112),
    ("v200", Bound::V200),
];

type Fill = fn(&mut Writer, Bound) -> Result<()>;

/// The number of elements of long datasets. Their indexes have blocks in pages, in files of every kind.
const LONG: u64 = 200_000;

/// Their number in files that differ only by a bound that the indexes do not depend on. The library needs 20 µs for each chunk.
const SHORTER: u64 = 20_000;

const GROUPS: [(&str, Fill); 10] = [
    ("layouts", |file, bound| layouts(file, bound, LONG)),
    ("filters", filters),
    ("types", types),
    ("groups", groups),
    ("attributes", attributes),
    ("sequences", sequences),
    ("appended", appended),
    ("references", references),
    ("virtual", mapped),
    ("external", external),
];

/// Writes all files into `folder`.
pub(crate) fn write(folder: &Path) -> Result<()> {
    let outside: Vec<u8> = integers(40).iter().flat_map(|number| number.to_le_bytes()).collect();
    std::fs::write(folder.join("outside.raw"), outside).map_err(|error| Error::io("write", error))?;
    for (name, bound) in BOUNDS {
        for (group, fill) in GROUPS {
            let mut file = Writer::create_with(
                folder.join(format!("{group}_{name}.h5")),
                &CreateOptions::default().with_bound(bound),
            )?;
            fill(&mut file, bound)?;
            file.finish()?;
        }
        spaces(folder, name, bound)?;
        // These files have creation order, a user block, and dimension scales, for netCDF.
        let options = CreateOptions::default()
            .with_bound(bound)
            .with_track_order(true)
            .with_user_block(vec![b'u'; 1024]);
        let mut file = Writer::create_with(folder.join(format!("tracked_{name}.h5")), &options)?;
        tracked(&mut file)?;
        file.finish()?;
        // The objects of these files store their times.
        let options = CreateOptions::default().with_bound(bound).with_time(1_700_000_000);
        let mut file = Writer::create_with(folder.join(format!("times_{name}.h5")), &options)?;
        timed(&mut file)?;
        file.finish()?;
    }
    Ok(())
}

/// Writes files with each way to manage free space.
fn spaces(folder: &Path, name: &str, bound: Bound) -> Result<()> {
    let ways = [
        ("kept", FileSpace::Tracked),
        ("paged", FileSpace::Paged { size: 4096, tracked: false }),
        ("pages", FileSpace::Paged { size: 512, tracked: true }),
        ("end", FileSpace::AppendOnly),
        ("blocks", FileSpace::Aggregated),
    ];
    for (way, file_space) in ways.into_iter().filter(|_| bound >= Bound::V110) {
        let options = CreateOptions::default().with_bound(bound).with_file_space(file_space);
        let mut file = Writer::create_with(folder.join(format!("space-{way}_{name}.h5")), &options)?;
        layouts(&mut file, bound, if bound == Bound::V110 { LONG } else { SHORTER })?;
        attributes(&mut file, bound)?;
        file.finish()?;
    }
    Ok(())
}

fn number(k: u64) -> u64 {
    (k * 31 + 7) % 251
}

fn integers(n: u64) -> Vec<i32> {
    (0..n).map(|k| number(k) as i32).collect()
}

fn floats(n: u64) -> Vec<f64> {
    (0..n).map(|k| number(k) as f64 / 4.0).collect()
}

fn layouts(file: &mut Writer, bound: Bound, long: u64) -> Result<()> {
    let shape = [33u64, 50];
    let all = floats(33 * 50);
    file.dataset("contiguous").shape(shape).write(&all)?;
    file.dataset("early").shape(shape).allocate_early().write(&all)?;
    file.dataset("compact").shape(shape).compact().write(&all)?;
    file.dataset("chunked").shape(shape).chunks([8, 7]).write(&all)?;
    file.dataset("single").shape(shape).chunks(shape).write(&all)?;
    file.dataset("single_filtered").shape(shape).chunks(shape).deflate(4).write(&all)?;
    file.dataset("implicit").shape(shape).chunks([8, 7]).index(ChunkIndex::Implicit).write(&all)?;
    file.dataset("fixed").shape(shape).chunks([1, 1]).write(&all)?;
    file.dataset("fixed_filtered").shape(shape).chunks([1, 2]).shuffle().deflate(1).write(&all)?;
    file.dataset("grows").shape(shape).max_shape([None, Some(60)]).chunks([1, 1]).write(&all)?;
    file.dataset("grows_second")
        .shape(shape)
        .max_shape([Some(40), None])
        .chunks([3, 1])
        .deflate(1)
        .write(&all)?;
    file.dataset("grows_both").shape(shape).max_shape([None, None]).chunks([1, 2]).write(&all)?;
    file.dataset("tree_filtered")
        .shape(shape)
        .max_shape([None, None])
        .chunks([2, 2])
        .deflate(1)
        .write(&all)?;
    file.dataset("tree").shape(shape).chunks([8, 8]).index(ChunkIndex::BtreeV2).write(&all)?;
    file.dataset("automatic")
        .shape([300, 200])
        .automatic_chunks()
        .shuffle()
        .deflate(1)
        .write(&floats(60_000))?;
    let long = floats(long);
    file.dataset("pages").chunks([3]).write(&long)?;
    file.dataset("pages_grow").max_shape([None]).chunks([1]).write(&long)?;
    if bound >= Bound::V110 {
        let edges = |file: &mut Writer, name: &str, maximum: [Option<u64>; 2]| {
            let edges = file.dataset(name).shape(shape).max_shape(maximum).chunks([8, 7]);
            edges.shuffle().deflate(1).unfiltered_edges().write(&all)
        };
        edges(file, "edges", [Some(33), Some(50)])?;
        edges(file, "edges_grow", [None, Some(50)])?;
        edges(file, "edges_grow_both", [None, None])?;
    }
    file.dataset("nothing").shape([4, 5]).fill(7i32).create::<i32>()?;
    file.dataset("nothing_chunked").shape([4, 5]).chunks([2, 2]).fill(7i32).create::<i32>()?;
    let part = Slab::new(&[4, 5], [Range::new(1, 2), Range::new(0, 3).by(2)])?;
    file.dataset("part").shape([4, 5]).fill(7i32).create::<i32>()?.write_slab(&part, &[1; 6])?;
    file.dataset("part_chunked")
        .shape([4, 5])
        .chunks([2, 2])
        .fill(7i32)
        .create::<i32>()?
        .write_slab(&part, &[1; 6])?;
    file.dataset("empty").shape([0, 3]).write(&[0u8; 0])?;
    Ok(())
}

fn filters(file: &mut Writer, _: Bound) -> Result<()> {
    let all: [(&str, Filters); 21] = [
        ("blosc_blosclz", Filters::new().blosc(BloscCodec::BloscLz, 5, BloscShuffle::Bytes)),
        ("blosc_lz4", Filters::new().blosc(BloscCodec::Lz4, 9, BloscShuffle::None)),
        ("blosc_zlib", Filters::new().blosc(BloscCodec::Zlib, 5, BloscShuffle::Bytes)),
        ("blosc_zstd", Filters::new().blosc(BloscCodec::Zstd, 3, BloscShuffle::Bits)),
        ("blosc2_lz4hc", Filters::new().blosc2(BloscCodec::Lz4Hc, 5, BloscShuffle::Bytes)),
        ("blosc2_zstd", Filters::new().blosc2(BloscCodec::Zstd, 5, BloscShuffle::Bits)),
        ("deflate", Filters::new().deflate(6)),
        ("stored", Filters::new().deflate(0)),
        ("shuffle_deflate", Filters::new().shuffle().deflate(9)),
        ("fletcher32", Filters::new().fletcher32()),
        ("everything", Filters::new().shuffle().deflate(4).fletcher32()),
        ("lzf", Filters::new().shuffle().lzf()),
        ("bzip2", Filters::new().bzip2(9)),
        ("lz4", Filters::new().lz4()),
        ("zstd", Filters::new().zstd(3)),
        ("bitshuffle", Filters::new().bitshuffle()),
        ("bitshuffle_lz4", Filters::new().bitshuffle_lz4()),
        ("bitshuffle_zstd", Filters::new().bitshuffle_zstd(3)),
        ("szip", Filters::new().szip(SzipCoding::Differences, 16)),
        ("szip_plain", Filters::new().szip(SzipCoding::Elements, 8)),
        ("n_bit", Filters::new().n_bit()),
    ];
    let (shape, n) = ([70u64, 50], 3500);
    let narrow: Vec<u8> = (0..n).map(|k| number(k) as u8).collect();
    for (name, filters) in all {
        let mut group = file.group(name)?;
        let mut put = |name: &str, chunks: [u64; 2]| {
            let dataset = group.dataset(name).shape(shape).chunks(chunks).filters(filters.clone());
            match name {
                "bytes" => dataset.write(&narrow),
                "floats" => dataset.write(&floats(n)),
                "zeros" => dataset.write(&vec![0u16; 3500]),
                _ => dataset.write(&integers(n)),
            }
        };
        put("integers", [32, 20])?;
        put("bytes", [32, 20])?;
        put("floats", [33, 17])?;
        put("zeros", [64, 50])?;
    }
    let mut group = file.group("scale_offset")?;
    let offset = Filters::new().scale_offset();
    group.dataset("integers").shape(shape).chunks([32, 20]).filters(offset.clone()).write(&integers(n))?;
    group.dataset("bytes").shape(shape).chunks([32, 20]).filters(offset.clone()).write(&narrow)?;
    let big = Datatype::signed(4).big_endian();
    group.dataset("big").shape(shape).chunks([32, 20]).datatype(big).filters(offset).write(&integers(n))?;
    let decimals = Filters::new().scale_offset_decimals(2);
    group.dataset("floats").shape(shape).chunks([32, 20]).filters(decimals).write(&floats(n))?;
    let few = Datatype::signed(4).with_precision(20, 3)?;
    let bits = Filters::new().n_bit();
    file.dataset("n_bit/few")
        .shape(shape)
        .chunks([32, 20])
        .datatype(few)
        .filters(bits)
        .write(&integers(n))?;
    Ok(())
}

hdf5_pure::record! {
    struct Row {
        id: u32,
        mass: f64,
        name: String,
        position: [f32; 3],
        on: bool,
    }
}

fn types(file: &mut Writer, bound: Bound) -> Result<()> {
    let (shape, n) = ([4u64, 6], 24);
    for (name, signed, size) in
        [("i", true, 1), ("u", false, 1), ("i", true, 2), ("u", false, 4), ("i", true, 8)]
    {
        let datatype = if signed { Datatype::signed(size) } else { Datatype::unsigned(size) };
        let values: Vec<i32> =
            integers(n).iter().map(|&v| if signed && size == 1 { v - 125 } else { v }).collect();
        file.dataset(&format!("{name}{size}")).shape(shape).datatype(datatype.clone()).write(&values)?;
        file.dataset(&format!("{name}{size}_big"))
            .shape(shape)
            .datatype(datatype.big_endian())
            .write(&values)?;
    }
    for (name, datatype) in [("f4", Datatype::float32()), ("f8", Datatype::float64())] {
        file.dataset(name).shape(shape).datatype(datatype.clone()).write(&floats(n))?;
        file.dataset(&format!("{name}_big"))
            .shape(shape)
            .datatype(datatype.big_endian())
            .write(&floats(n))?;
    }
    let half: Vec<u8> = [0x3c00u16, 0xc000, 0x3800].iter().flat_map(|bits| bits.to_le_bytes()).collect();
    file.dataset("f2").shape([3]).datatype(Datatype::float16()).write_raw(&half)?;
    let texts = ["alpha", "", "gamma rays"];
    file.dataset("fixed").datatype(Datatype::fixed_string(12)).write(&texts)?;
    file.dataset("strings").write(&["één", "", "三"])?;
    file.dataset("booleans").write(&[true, false, true])?;
    let rows: Vec<Row> = (0..5u32)
        .map(|id| Row {
            id,
            mass: number(id.into()) as f64 / 4.0,
            name: "n".repeat(id as usize),
            position: [id as f32; 3],
            on: id % 2 == 0,
        })
        .collect();
    file.dataset("rows").write(&rows)?;
    let colours = Datatype::enumeration(&Datatype::signed(2), [("RED", 0), ("GREEN", 1), ("BLUE", 42)])?;
    file.dataset("colours").shape([3]).datatype(colours).write_raw(&[0, 0, 42, 0, 1, 0])?;
    file.dataset("arrays").write(&[[1i16, 2, 3], [4, 5, 6]])?;
    file.dataset("opaque").shape([2]).datatype(Datatype::opaque(3, "three bytes")).write_raw(b"abcdef")?;
    file.dataset("bits").shape([3]).datatype(Datatype::bits(1)).write_raw(&[1, 2, 255])?;
    let complex: Vec<u8> = [1.0f64, -2.0, 0.5, 4.0].iter().flat_map(|part| part.to_le_bytes()).collect();
    file.dataset("complex")
        .shape([2])
        .datatype(Datatype::complex(&Datatype::float64()))
        .write_raw(&complex)?;
    if bound >= Bound::V200 {
        let native = Datatype::native_complex(&Datatype::float64());
        file.dataset("native_complex").shape([2]).datatype(native).write_raw(&complex)?;
    }
    file.dataset("scalar").write_scalar(2.5f32)?;
    file.dataset("null").datatype(Datatype::float64()).write_null()?;
    committed(file)
}

/// Writes a committed datatype, and a dataset and attributes that use it.
fn committed(file: &mut Writer) -> Result<()> {
    let committed = file.root().commit("kind", &Datatype::unsigned(2))?;
    file.dataset("committed").committed(committed).write(&[1u16, 2, 3])?;
    file.attribute(committed, "of itself", Committed { datatype: committed, value: 9 })?;
    file.root().attribute("of_kind", Committed { datatype: committed, value: [500i32, 2] })?;
    file.comment(committed, "a kind of number")?;
    Ok(())
}

fn groups(file: &mut Writer, _: Bound) -> Result<()> {
    for n in [0u32, 1, 8, 9, 100, 3000] {
        let mut group = file.group(&format!("of_{n}"))?;
        let mut one = None;
        for i in 0..n {
            match one {
                None => one = Some(group.group(&format!("m{i}"))?.id()),
                Some(id) => {
                    group.hard_link(&format!("m{i}"), id)?;
                }
            }
        }
    }
    file.group("a/b/c")?.attribute("depth", 3)?;
    let mut root = file.root();
    root.soft_link("soft", "/a/b")?.soft_link("dangling", "nowhere")?;
    root.external_link("outside", "layouts_v18.h5", "/contiguous")?;
    root.user_link("mine", 70, b"what it means")?;
    root.group("ünïcode")?.comment("a comment")?;
    let above = root.id();
    root.group("a")?.hard_link("up", above)?;
    Ok(())
}

fn timed(file: &mut Writer) -> Result<()> {
    file.root().attribute("a", 1)?;
    file.group("group/below")?.soft_link("link", "/flat")?;
    file.dataset("flat").attribute("a", 1).write(&[1i32, 2, 3])?;
    file.dataset("rows").shape([3]).chunks([2]).max_shape([None]).write(&[1.5, 2.5, 3.5])?;
    Ok(())
}

fn attributes(file: &mut Writer, _: Bound) -> Result<()> {
    let mut root = file.root();
    root.attribute("integer", 7i16)?.attribute("float", 1.5)?.attribute("array", [1i32, 2, 3])?;
    root.attribute("text", "héllo")?
        .attribute("texts", ["a", "", "c"])?
        .attribute("fixed", FixedString("abc"))?;
    root.attribute("flag", true)?
        .attribute("empty", Empty(Datatype::float64()))?
        .attribute("ünïcode", 1u8)?;
    let mut many = file.group("many")?;
    for i in 0..300u32 {
        many.attribute(&format!("a{i}"), i)?;
    }
    let long: Vec<i32> = integers(50_000);
    file.group("long")?.attribute("short", 1)?.attribute("long", &long)?;
    file.dataset("dataset").attribute("units", "m").write(&[1, 2, 3])?;
    Ok(())
}

fn sequences(file: &mut Writer, _: Bound) -> Result<()> {
    let texts: Vec<String> = (0..3000usize).map(|i| format!("{i}").repeat(i % 40)).collect();
    file.dataset("texts").write(&texts)?;
    file.dataset("texts_chunked").chunks([100]).deflate(4).write(&texts)?;
    let ragged: Vec<Vec<i32>> = (0..100).map(|n| integers(n % 7)).collect();
    file.dataset("ragged").write(&ragged)?;
    file.dataset("long").write(&["x".repeat(300_000)])?;
    Ok(())
}

fn appended(file: &mut Writer, _: Bound) -> Result<()> {
    let rows = file.dataset("rows").shape([0, 5]).max_shape([None, Some(5)]).chunks([16, 2]).deflate(1);
    let rows = rows.create::<i32>()?.id();
    let other = file.dataset("other").shape([0]).max_shape([None]).chunks([10]).create::<i32>()?.id();
    let (all, line) = (integers(1000), integers(600));
    for (row, part) in all.chunks(5).zip(line.chunks(3)) {
        file.open_id(rows)?.append(row)?;
        file.open_id(other)?.append(part)?;
    }
    Ok(())
}

fn references(file: &mut Writer, bound: Bound) -> Result<()> {
    let data = file.dataset("group/data").shape([10, 10]).write(&integers(100))?;
    let group = file.group("group")?.id();
    let both = [file.reference(data)?, file.reference(group)?];
    file.dataset("objects").write(&both)?;
    file.attribute(group, "data", both[0])?;
    let region = Slab::new(&[10, 10], [Range::new(2, 3), Range::new(4, 2)])?;
    let region = RegionReference::new(both[0], region);
    file.dataset("regions").write(std::slice::from_ref(&region))?;
    if bound >= Bound::V112 {
        let all = [
            StandardReference::Object(both[0]),
            StandardReference::Region(region),
            StandardReference::Attribute(both[1], "data".into()),
        ];
        file.dataset("standard").write(&all)?;
    }
    Ok(())
}

fn mapped(file: &mut Writer, bound: Bound) -> Result<()> {
    for i in 0..3u8 {
        file.dataset(&format!("part{i}")).write(&[i; 10])?;
    }
    if bound < Bound::V110 {
        return Ok(());
    }
    let mut whole = file.dataset("whole").shape([3, 10]).fill(9u8);
    for i in [0u64, 2] {
        let target = Slab::new(&[3, 10], [Range::new(i, 1), Range::all(10)])?;
        whole = whole.map(".", &format!("/part{i}"), &Slab::all(&[10])?, &target);
    }
    whole.create::<u8>()?;
    Ok(())
}

/// Writes a dataset whose elements are in another file, in two parts, the second part first.
fn external(file: &mut Writer, _: Bound) -> Result<()> {
    let parts = [("outside.raw", 80, Some(80)), ("outside.raw", 0, None)];
    file.dataset("outside").shape([2, 20]).external(parts).create::<i32>()?;
    Ok(())
}

fn tracked(file: &mut Writer) -> Result<()> {
    let x = file.dataset("x").write(&floats(6))?;
    let y = file.dataset("y").write(&floats(4))?;
    let field =
        file.dataset("field").shape([4, 6]).attribute("units", FixedString("m")).write(&floats(24))?;
    file.make_scale(x, "x")?;
    file.make_scale(y, "y")?;
    file.attach_scale(field, 0, y)?;
    file.attach_scale(field, 1, x)?;
    let mut group = file.group("many")?;
    for i in (0..20).rev() {
        group.attribute(&format!("a{i}"), i)?;
        group.group(&format!("m{i}"))?;
    }
    Ok(())
}
