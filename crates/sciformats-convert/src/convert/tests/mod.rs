//! Plans conversions, writes them, and reads the results.

mod changed;
mod elements;
#[cfg(feature = "hdf5")]
mod names;

use super::*;
use sciformats::memory::{Memory, MemoryArray, array, texts};
use sciformats::{ArrayInfo, ElementType};

fn file(memory: Memory) -> Arc<File> {
    Arc::new(File::from(memory))
}

fn lines(file: &File) -> Vec<String> {
    let mut out = Vec::new();
    manifest::write(file, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    // In Blosc2, the shape and type of an array are also a metalayer.
    text.lines().skip(1).filter(|line| !line.contains("meta:b2nd")).map(String::from).collect()
}

/// Writes a plan, checks the file against it, and opens the file.
fn written(plan: &Plan, path: &Path) -> Arc<File> {
    plan.write(path, &WriteOptions::default()).unwrap();
    let options = OpenOptions::default();
    assert_eq!(plan.check(path, &options).unwrap(), None, "{}", plan.target());
    Arc::new(File::open_with(path, &options).unwrap())
}

/// Converts to another format and back. Nothing may be lost, and the result must be equal to the original.
fn round_trip(source: &Arc<File>, via: Format, expected: &[String]) {
    let dir = tempfile::tempdir().unwrap();
    let there = Plan::new(source, via, &Options::default()).unwrap();
    assert_eq!(there.losses(), [], "{} → {via}", source.format());
    let between = written(&there, &dir.path().join("there"));
    let back = Plan::new(&between, source.format(), &Options::default()).unwrap();
    assert_eq!(back.losses(), [], "{via} → {}", source.format());
    let end = written(&back, &dir.path().join("back"));
    assert_eq!(lines(&end), expected, "{} → {via} → {}", source.format(), source.format());
}

fn writable(format: Format) -> bool {
    sink::rules(format).is_ok()
}

#[test]
fn an_array_through_each_format() {
    let values: Vec<f64> = (0..60).map(|i| f64::from(i) / 7.0).collect();
    for single in [Format::RawArray, Format::Npy, Format::Blosc2] {
        for shape in [&[60u64][..], &[12, 5]] {
            let source = file(Memory::single(single, array(shape, &values)));
            for via in Format::ALL.into_iter().filter(|&via| writable(via) && writable(single)) {
                round_trip(&source, via, &lines(&source));
            }
        }
        // The array has more dimensions than GSD has, and types that only some formats have.
        let source = file(Memory::single(single, array(&[3, 2, 10], &values)));
        for via in [Format::Asdf, Format::Npy, Format::Blosc2, Format::RawArray] {
            if writable(via) && writable(single) {
                round_trip(&source, via, &lines(&source));
            }
        }
    }
}

#[test]
fn the_only_array_of_a_tree_through_formats_of_one_array() {
    for tree in [Format::Hdf5, Format::Asdf] {
        let mut memory = Memory::new(tree);
        let values: Vec<i16> = (0..5000).collect();
        memory.array(memory.root(), "data", array(&[5, 4, 250], &values));
        let source = file(memory);
        for via in [Format::RawArray, Format::Npy, Format::Blosc2] {
            if writable(tree) && writable(via) {
                round_trip(&source, via, &lines(&source));
            }
        }
    }
}

/// Writes a trajectory of three frames, as a simulation would.
#[cfg(feature = "gsd")]
fn trajectory(path: &Path) -> Arc<File> {
    use gsd_rs::{CreateOptions, Version, Writer};
    let mut writer = Writer::create(path, &CreateOptions::new("test", "hoomd", Version::new(1, 4))).unwrap();
    for step in 0..3u64 {
        writer.write("configuration/step", 1, &[step]).unwrap();
        writer.write("particles/N", 1, &[5u32]).unwrap();
        if step != 1 {
            writer.write("particles/position", 3, &[0.5f32; 15]).unwrap();
        }
        writer.end_frame().unwrap();
    }
    writer.finish().unwrap();
    Arc::new(sciformats::open(path).unwrap())
}

#[cfg(feature = "gsd")]
#[test]
fn trajectories_come_back_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let source = trajectory(&dir.path().join("a.gsd"));
    for via in [Format::Gsd, Format::Asdf, Format::Hdf5] {
        if !writable(via) {
            continue;
        }
        round_trip(&source, via, &lines(&source));
        // The conversion back restores the header.
        let there = Plan::new(&source, via, &Options::default()).unwrap();
        let between = written(&there, &dir.path().join("there"));
        let back = Plan::new(&between, Format::Gsd, &Options::default()).unwrap();
        let end = written(&back, &dir.path().join("back"));
        assert_eq!(end.source().facts()[..3], source.source().facts()[..3]);
    }
}

/// Returns a tree with something of everything.
fn tree(format: Format) -> Memory {
    let mut memory = Memory::new(format);
    let root = memory.root();
    memory.attribute(root, "title", texts(&[], &["a run"]));
    let g = memory.group(root, "g");
    let u = memory.array(g, "u", array::<f32>(&[2, 3], &[1., 2., 3., f32::NAN, 5., 6.]));
    memory.attribute(u, "units", texts(&[], &["m/s"]));
    memory.attribute(u, "scale", array::<f64>(&[], &[2.5]));
    memory.attribute(u, "count", array::<i64>(&[], &[-7]));
    memory.attribute(u, "small", array::<i16>(&[2], &[1, 2]));
    memory.attribute(g, "a/b", texts(&[2], &["x", "y"]));
    memory.array(g, "names", texts(&[3], &["a", "", "µ"]));
    memory.array(root, "t~il~1de", array::<u8>(&[1], &[1]));
    let numbered = memory.group(root, "list");
    for i in 0..12u8 {
        memory.array(numbered, &i.to_string(), array(&[], &[i]));
    }
    memory.group(root, "empty");
    memory.hard_link(root, "again", u);
    memory
}

#[cfg(feature = "asdf")]
#[test]
fn trees_with_attributes_through_asdf() {
    let source = file(tree(Format::Hdf5));
    if writable(Format::Hdf5) {
        round_trip(&source, Format::Asdf, &lines(&source));
    }
    let dir = tempfile::tempdir().unwrap();
    let plan = Plan::new(&source, Format::Asdf, &Options::default()).unwrap();
    assert_eq!(plan.losses(), []);
    assert_eq!(plan.remarks(), [(Remark::AttributeAsMember, 6), (Remark::Escaped, 1)]);
    let asdf = written(&plan, &dir.path().join("x.asdf"));
    let found = lines(&asdf);
    assert!(
        found.contains(&r#"{"path":"/again@units","kind":"value","value":"m/s"}"#.to_string()),
        "{found:#?}"
    );
    assert!(found.contains(&r#"{"path":"/@title","kind":"value","value":"a run"}"#.to_string()));
    assert!(found.contains(&r#"{"path":"/g/u","kind":"hardlink","target":"/again"}"#.to_string()));
    // Members with numbers as names become a sequence. The next name is 12, and names are compared as numbers.
    let text = std::fs::read(dir.path().join("x.asdf")).unwrap();
    assert!(String::from_utf8_lossy(&text).contains("list:\n- !core/ndarray"));
    // A conversion from ASDF to ASDF changes nothing.
    round_trip(&asdf, Format::Asdf, &lines(&asdf));
}

#[cfg(feature = "asdf")]
#[test]
fn what_cannot_be_held_is_told_before() {
    let mut memory = tree(Format::Hdf5);
    let root = memory.root();
    memory.soft_link(root, "s", "/g");
    memory.external_link(root, "e", "f.h5", "/x");
    memory.user_link(root, "user", 65);
    memory.datatype(root, "type", ElementType::Opaque(3));
    memory.damage(root, "bad");
    memory.array(
        root,
        "half",
        MemoryArray { info: ArrayInfo::new(ElementType::BF16, [2]), bytes: vec![0x80, 0x3F, 0, 0x40] },
    );
    memory.array(
        root,
        "opaque",
        MemoryArray { info: ArrayInfo::new(ElementType::Opaque(2), [1]), bytes: vec![1, 2] },
    );
    let g = memory.group(root, "loop");
    memory.hard_link(g, "up", g);
    let source = file(memory);
    let plan = Plan::new(&source, Format::Asdf, &Options::default()).unwrap();
    let losses: Vec<String> =
        plan.losses().iter().map(|loss| format!("{} {}", loss.path, loss.what)).collect();
    assert_eq!(
        losses,
        [
            "/bad cannot be read: malformed object at offset 0x40: it is truncated",
            "/e is left out: it is a link to /x in f.h5",
            "/half has elements of type bfloat16, which become float32",
            "/opaque is left out: its elements are of type opaque(2)",
            "/s is left out: it is a link to /g",
            "/type is left out: it is a committed datatype",
            "/user is left out: it is a link of the user-defined class 65",
            "/loop/up is left out: it is another link to /loop",
        ]
    );
    let dir = tempfile::tempdir().unwrap();
    let asdf = written(&plan, &dir.path().join("x.asdf"));
    assert_eq!(asdf.array("/half").unwrap().read::<f32>().unwrap(), [1.0, 2.0]);
}

#[cfg(feature = "gsd")]
#[test]
fn shapes_that_gsd_flattens() {
    let mut memory = Memory::new(Format::Hdf5);
    let root = memory.root();
    let values: Vec<u16> = (0..24).collect();
    memory.array(root, "cube", array(&[2, 3, 4], &values));
    memory.array(root, "one", array::<u16>(&[], &[9]));
    let deep = memory.group(root, "frames");
    let frame = memory.group(deep, "2");
    memory.array(frame, "x", array(&[24], &values));
    memory.group(frame, "empty");
    let plan = Plan::new(&file(memory), Format::Gsd, &Options::default()).unwrap();
    let losses: Vec<String> =
        plan.losses().iter().map(|loss| format!("{} {}", loss.path, loss.what)).collect();
    assert_eq!(
        losses,
        [
            "/cube is of shape 2 × 3 × 4, which becomes 2 × 12",
            "/one is of shape scalar, which becomes 1",
            "/frames/2/empty is left out: it is a group without arrays",
        ]
    );
    let dir = tempfile::tempdir().unwrap();
    let gsd = written(&plan, &dir.path().join("x.gsd"));
    assert_eq!(gsd.array("/frames/0/cube").unwrap().read::<u16>().unwrap(), values);
    assert_eq!(gsd.array("/frames/2/x").unwrap().shape(), [24]);
}

#[test]
fn one_array_of_many_is_selected() {
    let source = file(tree(Format::Hdf5));
    let error = Plan::new(&source, Format::Npy, &Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "file holds 15 arrays, but npy holds only one; select one by its path");
    let mut options = Options { select: vec!["/g/names".into()], ..Options::default() };
    let plan = Plan::new(&source, Format::Npy, &options).unwrap();
    assert_eq!((plan.losses(), plan.remarks()), (&[][..], &[(Remark::Moved, 1)][..]));
    assert_eq!(plan.counts(), Counts { arrays: 1, ..Counts::default() });
    options.select = vec!["/again".into()];
    let plan = Plan::new(&source, Format::Npy, &options).unwrap();
    assert_eq!(plan.losses().len(), 4);
    options.select = vec!["/empty".into()];
    let error = Plan::new(&source, Format::Npy, &options).unwrap_err();
    assert_eq!(error.to_string(), "file has no array that npy can hold");
}

#[test]
fn cancelled_nothing_is_left() {
    let source = file(Memory::single(Format::Npy, array::<f64>(&[3], &[1., 2., 3.])));
    let cancel = Arc::new(AtomicBool::new(true));
    let options = Options { cancel: Some(cancel), ..Options::default() };
    let dir = tempfile::tempdir().unwrap();
    for format in Format::ALL.into_iter().filter(|&format| writable(format)) {
        let plan = Plan::new(&source, format, &options).unwrap();
        let error = plan.write(dir.path().join("x"), &WriteOptions::default()).unwrap_err();
        assert!(
            matches!(&error, sciformats::Error::Io { source, .. } if source.kind() == std::io::ErrorKind::Interrupted)
        );
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

#[cfg(feature = "rawarray")]
#[test]
fn bytes_after_an_array_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    for metadata in [&b"volts"[..], b"\xff\0\x01"] {
        let path = dir.path().join("a.ra");
        rawarray::Writer::new(&[3, 2]).with_metadata(metadata).write(&path, &[1.0f32; 6]).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let source = Arc::new(sciformats::open(&path).unwrap());
        for via in [Format::RawArray, Format::Hdf5, Format::Asdf] {
            if !writable(via) {
                continue;
            }
            let plan = Plan::new(&source, via, &Options::default()).unwrap();
            if via == Format::Asdf && metadata.contains(&0) {
                assert_eq!(plan.losses().len(), 1);
                continue;
            }
            assert_eq!(plan.losses(), []);
            let between = written(&plan, &dir.path().join("between"));
            let back = Plan::new(&between, Format::RawArray, &Options::default()).unwrap();
            assert_eq!(back.losses(), []);
            back.write(dir.path().join("back.ra"), &WriteOptions::default()).unwrap();
            assert_eq!(std::fs::read(dir.path().join("back.ra")).unwrap(), bytes, "{via}");
        }
        for via in [Format::Npy, Format::Gsd, Format::Blosc2].into_iter().filter(|&via| writable(via)) {
            let plan = Plan::new(&source, via, &Options::default()).unwrap();
            assert_eq!(plan.losses()[0].what, "has bytes after its array, which are left out");
            plan.write(dir.path().join("x"), &WriteOptions::default()).unwrap();
        }
    }
}

#[test]
fn a_rescue_goes_on_past_what_cannot_be_read() {
    let mut memory = Memory::new(Format::Hdf5);
    let root = memory.root();
    for i in 0..3u8 {
        memory.array(root, &format!("good{i}"), array::<u8>(&[2], &[i, i]));
    }
    memory.array(root, "bad", array::<u16>(&[4], &[1, 2, 3]));
    memory.damage(root, "worse");
    let short =
        MemoryArray { info: ArrayInfo::new(ElementType::Text, [2]), bytes: vec![1, 0, 0, 0, 0, 0, 0, 0, 65] };
    memory.array(root, "texts", short);
    let source = file(memory);
    let dir = tempfile::tempdir().unwrap();
    for format in [Format::Hdf5, Format::Asdf, Format::Gsd].into_iter().filter(|&format| writable(format)) {
        let path = dir.path().join(format.word());
        let plan = Plan::new(&source, format, &Options::default()).unwrap();
        assert!(plan.write(&path, &WriteOptions::default()).is_err());
        // ASDF writes texts first.
        let first = if format == Format::Asdf { "/texts" } else { "/bad" };
        assert_eq!(plan.unread().as_deref(), Some(first));
        assert!(!path.exists());
        // Texts are examined while planning, so their losses are in the plan.
        if format != Format::Gsd {
            let planned: Vec<&str> = plan.losses().iter().map(|loss| loss.path.as_str()).collect();
            assert_eq!(planned, ["/worse", "/texts"]);
        }
        let losses = plan.rescue(&path, &WriteOptions::default()).unwrap();
        let told: Vec<String> = losses.iter().map(|loss| format!("{} {}", loss.path, loss.what)).collect();
        let reason = "malformed array in memory at offset 0x0: elements is truncated";
        assert_eq!(told, [format!("/bad 2 bytes starting at element (3) cannot be read: {reason}")]);
        assert_eq!(plan.check(&path, &OpenOptions::default()).unwrap(), None);
        let written = sciformats::open(&path).unwrap();
        let under = if format == Format::Gsd { "/frames/0" } else { "" };
        assert_eq!(written.array(&format!("{under}/bad")).unwrap().read::<u16>().unwrap(), [1, 2, 3, 0]);
        assert_eq!(written.array(&format!("{under}/good2")).unwrap().read::<u8>().unwrap(), [2, 2]);
        if format != Format::Gsd {
            assert_eq!(written.array("/texts").unwrap().read::<String>().unwrap(), ["A", ""]);
        }
    }
}

#[cfg(feature = "rawarray")]
#[test]
fn a_file_that_is_overwritten_while_it_is_read_is_not_converted() {
    let dir = tempfile::tempdir().unwrap();
    let (path, new) = (dir.path().join("u.npy"), dir.path().join("u.ra"));
    std::fs::write(&path, sciformats::npy::to_bytes(&[2], &[1.5f32, 2.5]).unwrap()).unwrap();
    let old = std::fs::File::options().write(true).open(&path).unwrap();
    old.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let file = Arc::new(sciformats::open(&path).unwrap());
    let plan = Plan::new(&file, Format::RawArray, &Options::default()).unwrap();
    std::fs::write(&path, sciformats::npy::to_bytes(&[2], &[7.5f32, 8.5]).unwrap()).unwrap();
    let error = plan.write(&new, &WriteOptions::default()).unwrap_err();
    assert!(error.to_string().contains("another program changed it"), "{error}");
    assert!(!new.exists());
}

#[test]
fn an_object_is_found_by_any_of_its_paths() {
    let mut memory = Memory::new(Format::Hdf5);
    let root = memory.root();
    let d = memory.array(root, "d", array::<f32>(&[2], &[0.5, 1.5]));
    for name in ["h", "i"] {
        memory.hard_link(root, name, d);
    }
    let source = file(memory);
    let dir = tempfile::tempdir().unwrap();
    for target in Format::ALL.into_iter().filter(|&target| writable(target)) {
        let plan = Plan::new(&source, target, &Options::default().with_select(["/h"])).unwrap();
        assert_eq!((plan.losses(), plan.counts().arrays), (&[][..], 1), "{target}");
        written(&plan, &dir.path().join(target.word()));
    }
    // Of two selected links, the second one leads to the first.
    if writable(Format::Asdf) {
        let plan = Plan::new(&source, Format::Asdf, &Options::default().with_select(["/h", "/i"])).unwrap();
        assert_eq!((plan.losses(), plan.counts().arrays), (&[][..], 1));
        let new = written(&plan, &dir.path().join("both.asdf"));
        assert!(lines(&new).contains(&r#"{"path":"/i","kind":"hardlink","target":"/h"}"#.into()));
    }
}

#[cfg(all(feature = "asdf", feature = "hdf5"))]
#[test]
fn no_member_that_becomes_an_attribute_vanishes() {
    let mut memory = Memory::new(Format::Asdf);
    let root = memory.root();
    let flags =
        |flags: [u8; 2]| MemoryArray { info: ArrayInfo::new(ElementType::Bool, [2]), bytes: flags.to_vec() };
    let x = memory.array(root, "x", array::<f32>(&[2], &[0.5, 1.5]));
    memory.attribute(x, "mask", flags([1, 0]));
    memory.array(root, "x@mask", flags([0, 1]));
    let y = memory.array(root, "x@y", array::<f32>(&[2], &[2.5, 3.5]));
    memory.attribute(y, "mask", flags([0, 0]));
    memory.value(root, "x@note", "a\0b");
    memory.value(root, "x@unit", "m");
    let plan = Plan::new(&file(memory), Format::Hdf5, &Options::default()).unwrap();
    let losses: Vec<&str> = plan.losses().iter().map(|loss| loss.path.as_str()).collect();
    assert_eq!(losses, ["/x@note"], "HDF5 takes a NUL for the end");
    let dir = tempfile::tempdir().unwrap();
    let new = written(&plan, &dir.path().join("x.h5"));
    assert_eq!(new.attr_of::<Vec<u8>>("/x", "mask").unwrap(), Some(vec![1, 0]));
    assert_eq!(new.array("/x@mask").unwrap().read::<u8>().unwrap(), [0, 1]);
    assert_eq!(new.attr_of::<Vec<u8>>("/x@y", "mask").unwrap(), Some(vec![0, 0]));
    assert_eq!(new.attr_of::<String>("/x", "unit").unwrap().as_deref(), Some("m"));
    assert_eq!(new.attr_of::<String>("/x", "note").unwrap(), None);
}
