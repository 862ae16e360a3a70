//! Our side of the ASDF conformance run.
//!
//! ```text
//! conformance write DIR     write the matrix of files
//! conformance check DIR     read the files that the peer wrote, and compare every value
//! ```
//!
//! The contents are formulas, written down here and in `xtask/python/asdf_peer.py`.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::indexing_slicing)]

use std::error::Error;
use std::path::Path;

use asdf_core::model::layout::IndexState;
use asdf_core::yaml::{CollectionStyle, Content, Integer, Node, ScalarStyle, Value};
use asdf_core::*;

type Outcome = Result<(), Box<dyn Error>>;

const SHAPE: [u64; 3] = [3, 4, 2];
const TYPES: [ScalarType; 16] = [
    ScalarType::Int8,
    ScalarType::Int16,
    ScalarType::Int32,
    ScalarType::Int64,
    ScalarType::UInt8,
    ScalarType::UInt16,
    ScalarType::UInt32,
    ScalarType::UInt64,
    ScalarType::Float16,
    ScalarType::Float32,
    ScalarType::Float64,
    ScalarType::Complex64,
    ScalarType::Complex128,
    ScalarType::Bool8,
    ScalarType::Ascii(5),
    ScalarType::Ucs4(3),
];
const ORDERS: [(&str, ByteOrder); 2] = [("little", ByteOrder::Little), ("big", ByteOrder::Big)];
const LABELS: [(&str, Compression); 6] = [
    ("none", Compression::None),
    ("zlib", Compression::Zlib),
    ("bzp2", Compression::Bzp2),
    ("lz4", Compression::Lz4),
    ("lz4f", Compression::Lz4Frame),
    ("zstd", Compression::Zstd),
];

fn real(i: usize) -> f64 {
    match i {
        0 => f64::INFINITY,
        1 => -0.0,
        2 => f64::NAN,
        _ => (i as f64 * 3.0 - 20.0) / 8.0,
    }
}

fn integer(i: usize, bits: u32, signed: bool) -> i128 {
    let bits = bits.min(if signed { 63 } else { 62 });
    match (i, signed) {
        (0, true) => (1 << (bits - 1)) - 1,
        (1, true) => -(1 << (bits - 1)),
        (0, false) => (1 << bits) - 1,
        (1, false) => 0,
        _ => ((i * i * 7 + i * 31 + 5) % 120) as i128 - if signed { 60 } else { 0 },
    }
}

/// The elements of a type, little-endian.
fn elements(scalar: ScalarType, count: usize) -> Vec<u8> {
    let size = scalar.size().unwrap() as usize;
    let signed = scalar.name().starts_with("int");
    let padded = |text: Vec<u8>| text.into_iter().chain(std::iter::repeat(0)).take(size).collect::<Vec<u8>>();
    let element = |i: usize| match scalar {
        ScalarType::Float16 => half::f16::from_f64(real(i)).to_le_bytes().to_vec(),
        ScalarType::Float32 => (real(i) as f32).to_le_bytes().to_vec(),
        ScalarType::Float64 => real(i).to_le_bytes().to_vec(),
        ScalarType::Complex64 => {
            [real(i), real(i + 3)].iter().flat_map(|part| (*part as f32).to_le_bytes()).collect()
        }
        ScalarType::Complex128 => [real(i), real(i + 3)].iter().flat_map(|part| part.to_le_bytes()).collect(),
        ScalarType::Bool8 => vec![u8::from(i.is_multiple_of(3))],
        ScalarType::Ascii(_) => padded(format!("a{i}").into_bytes()),
        ScalarType::Ucs4(_) => {
            let text = if i == 0 { "\u{1F600}".to_owned() } else { format!("\u{e9}{i}") };
            padded(text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect())
        }
        _ => integer(i, size as u32 * 8, signed).to_le_bytes()[..size].to_vec(),
    };
    (0..count).flat_map(element).collect()
}

fn array(scalar: ScalarType, order: ByteOrder) -> Result<NewArray> {
    NewArray::from_bytes(scalar, ByteOrder::Little, &SHAPE, elements(scalar, 24))?.in_order(order)
}

fn large_bytes() -> Vec<u8> {
    (0..300_000u32).map(|i| (i % 251) as u8).collect()
}

fn large_floats() -> Vec<f64> {
    (0..300_000u32).map(|i| f64::from(i / 7) * 0.5).collect()
}

type Viewed = (&'static str, Vec<u64>, u64, Vec<i64>, Vec<u16>);

/// Views of a 4 × 6 array of the numbers from 0: name, shape, offset, strides, elements.
fn views() -> Vec<Viewed> {
    vec![
        ("base", vec![4, 6], 0, vec![12, 2], (0..24).collect()),
        (
            "fortran",
            vec![6, 4],
            0,
            vec![2, 12],
            (0..6).flat_map(|i| (0..4).map(move |j| i + 6 * j)).collect(),
        ),
        ("reversed", vec![24], 46, vec![-2], (0..24).rev().collect()),
        ("tail", vec![2, 6], 24, vec![12, 2], (12..24).collect()),
        ("columns", vec![4, 3], 2, vec![12, 4], (0..4).flat_map(|i| [1, 3, 5].map(|j| 6 * i + j)).collect()),
    ]
}

fn structured(order: ByteOrder) -> Result<(Datatype, Vec<u8>, NewArray)> {
    let nested = Datatype::Struct(vec![
        Field::new("d", ScalarType::Ascii(3), ByteOrder::Big),
        Field::new("e", ScalarType::Float32, order),
    ]);
    let datatype = Datatype::Struct(vec![
        Field::new("a", ScalarType::UInt8, ByteOrder::Big),
        Field { shape: vec![2], ..Field::new("b", ScalarType::Int16, order) },
        Field::new("c", nested, ByteOrder::Big),
    ]);
    let mut little = Vec::new();
    for i in 0..5u8 {
        little.push(i);
        little.extend((i16::from(i) * 5).to_le_bytes());
        little.extend((-i16::from(i)).to_le_bytes());
        little.extend([b'x', b'0' + i, 0]);
        little.extend((f32::from(i) / 4.0).to_le_bytes());
    }
    let mut stored = little.clone();
    datatype.swap_to_little(order, &mut stored);
    let array = NewArray::from_bytes(datatype.clone(), ByteOrder::Big, &[5], stored)?;
    Ok((datatype, little, array))
}

/// As [`structured`], of fields without parts.
fn flat(order: ByteOrder) -> Result<(Vec<u8>, NewArray)> {
    let datatype = Datatype::Struct(vec![
        Field::new("a", ScalarType::UInt8, ByteOrder::Big),
        Field::new("b", ScalarType::Int16, order),
        Field::new("d", ScalarType::Ascii(3), ByteOrder::Big),
        Field::new("e", ScalarType::Float32, order),
    ]);
    let mut little = Vec::new();
    for i in 0..5u8 {
        little.push(i);
        little.extend((-i16::from(i)).to_le_bytes());
        little.extend([b'x', b'0' + i, 0]);
        little.extend((f32::from(i) / 4.0).to_le_bytes());
    }
    let mut stored = little.clone();
    datatype.swap_to_little(order, &mut stored);
    Ok((little, NewArray::from_bytes(datatype, ByteOrder::Big, &[5], stored)?))
}

fn scalars() -> serde_json::Value {
    serde_json::json!({
        "int": 42, "negative": -7, "large": 1i64 << 62, "float": 3.5, "tiny": 1e-300, "huge": 1e300, "true": true,
        "false": false, "null": null, "string": "foo", "empty": "", "number like": "1e5", "octal like": "0o17",
        "bool like": "yes", "y": "y", "date like": "2001-12-14", "spaces": " a ", "lines": "a\nb\n\nc\n",
        "quotes": "it's \"x\"", "unicode": "\u{e9}\u{4e2d}\u{1F600}", "control": "\0\u{7}\u{1b}\u{85}\u{2028}",
        "colon": "a: b", "hash": "a #b",
        "nested": {"list": [1, [2, [3, {"x": []}]], {}], "map": {"a": {"b": {"c": "d"}}}},
        "tilde": "~", "merge": "<<", "equals": "=", "dash": "-", "question": "? a", "star": "*a", "anchor": "&a",
        "tag": "!a",
    })
}

fn big() -> Integer {
    Integer::from_digits(true, "10000000000000000000000000000000000000000", 10).unwrap()
}

fn write(dir: &Path) -> Outcome {
    for (name, order) in ORDERS {
        for (place, storage) in [("internal", Storage::Block), ("inline", Storage::Inline)] {
            let mut document = Document::new();
            for scalar in TYPES {
                document.set_array(scalar.name(), array(scalar, order)?.with_storage(storage))?;
            }
            document.save(dir.join(format!("types_{name}_{place}.asdf")))?;
        }
        let inline = flat(order)?.1.with_storage(Storage::Inline);
        for (place, array) in [("", structured(order)?.2), ("_inline", inline)] {
            let mut document = Document::new();
            document.set_array("rows", array)?;
            document.save(dir.join(format!("structured_{name}{place}.asdf")))?;
        }
    }
    for (name, compression) in LABELS {
        let mut document = Document::new();
        let bytes = NewArray::new(&large_bytes(), &[300_000])?;
        let floats = NewArray::new(&large_floats(), &[300_000])?;
        document.set_array("bytes", bytes.with_compression(compression))?;
        document.set_array("floats", floats.with_compression(compression))?;
        document.save(dir.join(format!("compression_{name}.asdf")))?;
    }
    for minor in 0..=6 {
        let mut document = Document::with_standard(Version::new(1, minor, 0));
        document.set_array("a", array(ScalarType::Int32, ByteOrder::Little)?)?;
        document.set("list", &serde_json::json!([1, "x", 2.5]))?;
        document.save(dir.join(format!("version_1.{minor}.0.asdf")))?;
    }
    write_trees(dir)?;
    write_changes(dir)
}

fn write_trees(dir: &Path) -> Outcome {
    let mut document = Document::new();
    let block = document.add_block(elements_u16(24), Compression::None);
    for (name, shape, offset, strides, _) in views() {
        let (datatype, byteorder) = (ScalarType::UInt16.into(), ByteOrder::Little);
        let view = View { block, datatype, byteorder, shape: &shape, offset, strides: Some(&strides) };
        let node = document.add_view(&view)?;
        document.tree_mut().put(name, node)?;
    }
    document.save(dir.join("views.asdf"))?;

    let mut document = Document::new();
    let array = NewArray::new(&[1.0, 2.0, 3.0], &[3])?;
    document.set_array("block", array.clone().with_mask(NewMask::Elements(vec![0, 1, 0])))?;
    document.set_array("value", array.clone().with_mask(NewMask::Value(3.0)))?;
    document.set_array(
        "inline",
        array.with_storage(Storage::Inline).with_mask(NewMask::Elements(vec![0, 1, 0])),
    )?;
    document.save(dir.join("masks.asdf"))?;

    let mut document = Document::new();
    let shared = document.set("first", &serde_json::json!({"k": [1, 2]}))?;
    let tree = document.tree_mut();
    tree.put("second", shared)?;
    let name = tree.add_str("loop");
    let cycle = tree.add_mapping(Vec::new(), CollectionStyle::Block);
    tree.insert(cycle, "name", name)?;
    tree.insert(cycle, "self", cycle)?;
    tree.put("loop", cycle)?;
    document.save(dir.join("anchors.asdf"))?;

    let mut document = Document::new();
    if let serde_json::Value::Object(map) = scalars() {
        for (key, value) in &map {
            document.set(key, value)?;
        }
    }
    document.set("inf", &f64::INFINITY)?;
    document.save(dir.join("scalars.asdf"))?;

    let mut document = Document::new();
    let complex = document.add_complex(1.5, -2.0);
    let integer = document.add_integer(&big(), Storage::Block)?;
    let small = document.add_integer(&Integer::from(7), Storage::Inline)?;
    for (name, node) in [("complex", complex), ("integer", integer), ("small", small)] {
        document.tree_mut().put(name, node)?;
    }
    document.save(dir.join("core.asdf"))?;

    let mut document = Document::new();
    let tree = document.tree_mut();
    tree.add_handle("!x!", "tag:example.com,2020:")?;
    let unknown = tree.set("unknown", &serde_json::json!({"a": 1, "b": [2]}))?;
    tree.set_tag(unknown, "tag:example.com,2020:thing-1.0.0");
    let scalar = tree.add_plain("15");
    tree.set_tag(scalar, "tag:example.com,2020:text");
    tree.put("scalar", scalar)?;
    for (name, text, style) in
        [("literal", "a\n b\n", ScalarStyle::Literal), ("folded", "a b", ScalarStyle::Folded)]
    {
        let node = tree.add(Node::new(Content::Scalar { text: text.into(), style }));
        tree.put(name, node)?;
    }
    let time = tree.add_plain("2001-12-14T21:59:43");
    tree.put("time", time)?;
    document.save(dir.join("text.asdf"))?;
    Ok(())
}

fn elements_u16(count: u16) -> Vec<u8> {
    (0..count).flat_map(u16::to_le_bytes).collect()
}

fn write_changes(dir: &Path) -> Outcome {
    let mut writer = StreamWriter::create(
        dir.join("stream.asdf"),
        Document::new(),
        "rows",
        &ScalarType::Float64.into(),
        &[4],
    )?;
    for i in 0..6 {
        writer.append(&[0.0, 1.0, 2.0, 3.0].map(|x| x + f64::from(i)))?;
    }
    drop(writer);
    let mut bytes = std::fs::read(dir.join("stream.asdf"))?;
    bytes.extend(b"part");
    std::fs::write(dir.join("stream.asdf"), bytes)?;

    let two = || -> Result<Document> {
        let mut document = Document::new();
        document.set_array("a", array(ScalarType::Int32, ByteOrder::Little)?)?;
        document.set_array(
            "b",
            array(ScalarType::Float64, ByteOrder::Big)?.with_compression(Compression::Zlib),
        )?;
        Ok(document)
    };
    for (name, note, padding) in [("updated", "y".repeat(200), 4096), ("updated_anew", "z".repeat(900), 0)] {
        let path = dir.join(format!("{name}.asdf"));
        let mut document = two()?;
        document.options_mut().tree_padding = padding;
        document.save(&path)?;
        let mut document = Document::open(&path)?;
        document.set("note", &note)?;
        document.set_array("c", array(ScalarType::UInt8, ByteOrder::Little)?)?;
        let done = document.update()?;
        if matches!(done, Update::InPlace { .. }) != (padding > 0) {
            return Err(format!("{name} was {done:?}").into());
        }
    }
    let path = dir.join("exploded.asdf");
    two()?.explode(&path)?;
    let mut document = Document::open_with(&path, &OpenOptions::default().with_external(External::Beside))?;
    document.implode()?;
    document.save(dir.join("imploded.asdf"))?;
    Ok(())
}

/// Prints the line of a case.
fn case(name: &str, outcome: Outcome) {
    let line = match outcome {
        Ok(()) => serde_json::json!({"case": name, "ok": true}),
        Err(e) => serde_json::json!({"case": name, "ok": false, "why": e.to_string()}),
    };
    println!("{line}");
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("{what} is {found:?}, expected {expected:?}").into()) }
}

fn open(dir: &Path, name: &str) -> Result<Asdf> {
    let options = OpenOptions::default().with_external(External::Beside);
    let file = Asdf::open_with(dir.join(name), &options)?;
    for block in file.blocks() {
        block.check()?;
    }
    Ok(file)
}

/// Compares an array with elements of a type; every not-a-number is like another.
fn same(file: &Asdf, path: &str, scalar: ScalarType, shape: &[u64]) -> Outcome {
    let array = file.array(path)?;
    expect("type", array.datatype(), &scalar.into())?;
    expect("shape", &array.shape(), &shape)?;
    let (found, expected) = (array.read_bytes()?, elements(scalar, array.len() as usize));
    let float = scalar.name().starts_with("float") || scalar.name().starts_with("complex");
    if !float || found == expected {
        return expect(path, &found, &expected);
    }
    for (found, expected) in found.chunks(scalar.word()).zip(expected.chunks(scalar.word())) {
        let number = |bytes: &[u8]| match scalar.word() {
            2 => half::f16::from_le_bytes(bytes.try_into().unwrap()).to_f64(),
            4 => f32::from_le_bytes(bytes.try_into().unwrap()).into(),
            _ => f64::from_le_bytes(bytes.try_into().unwrap()),
        };
        if found != expected && !(number(found).is_nan() && number(expected).is_nan()) {
            return expect(path, &number(found), &number(expected));
        }
    }
    Ok(())
}

fn check(dir: &Path) {
    for (order, _) in ORDERS {
        for place in ["internal", "inline"] {
            for scalar in TYPES {
                let name = format!("{place} arrays: {} {order}", scalar.name());
                case(&name, check_type(dir, order, place, scalar));
            }
        }
        case(&format!("structured arrays: {order}"), check_structured(dir, order));
    }
    for (label, compression) in LABELS {
        case(&format!("compression: {label}"), check_compression(dir, label, compression));
    }
    for minor in 0..=6 {
        case(&format!("standard versions: 1.{minor}.0"), check_version(dir, minor));
    }
    case("views: offsets and strides", check_views(dir));
    case("masks: array, value, inline", check_masks(dir));
    case("anchors: shared and cyclic", check_anchors(dir));
    case("scalars: values and quotes", check_scalars(dir));
    case("core types: complex, integer", check_core(dir));
    case("streams: rows and a partial one", check_stream(dir));
    case("updates: by Python", check_updated(dir));
    case("exploded form: exploded", check_exploded(dir));
    case("text: tags, styles, newlines", check_text(dir));
    case("trees: written again", check_rewritten(dir));
}

fn check_type(dir: &Path, order: &str, place: &str, scalar: ScalarType) -> Outcome {
    let file = open(dir, &format!("types_{order}_{place}.asdf"))?;
    // Python writes texts as long as its longest.
    let scalar = match (place, scalar) {
        ("inline", ScalarType::Ascii(_)) => file.array("ascii")?.datatype().scalar().unwrap_or(scalar),
        _ => scalar,
    };
    same(&file, scalar.name(), scalar, &SHAPE)
}

fn check_structured(dir: &Path, order: &str) -> Outcome {
    let (_, little, _) = structured(ByteOrder::Little)?;
    let file = open(dir, &format!("structured_{order}.asdf"))?;
    expect("elements", &file.array("rows")?.read_bytes()?, &little)?;
    // The text in the tree is as long as the longest.
    let file = open(dir, &format!("structured_{order}_inline.asdf"))?;
    expect("inline elements", &file.array("rows")?.read_bytes()?, &flat(ByteOrder::Little)?.0)
}

fn check_compression(dir: &Path, label: &str, compression: Compression) -> Outcome {
    let file = open(dir, &format!("compression_{label}.asdf"))?;
    expect("compression", &file.block(0)?.compression(), &compression)?;
    let index = matches!(file.layout().index, IndexState::Valid(_));
    expect("a valid index", &index, &true)?;
    expect("equal bytes", &(file.array("bytes")?.read::<u8>()? == large_bytes()), &true)?;
    expect("equal floats", &(file.array("floats")?.read::<f64>()? == large_floats()), &true)
}

fn check_version(dir: &Path, minor: u32) -> Outcome {
    let file = open(dir, &format!("version_1.{minor}.0.asdf"))?;
    expect("standard", &file.standard(), &Some(Version::new(1, minor, 0)))?;
    expect("list", &file.tree().get_as::<serde_json::Value>("list")?, &serde_json::json!([1, "x", 2.5]))?;
    same(&file, "a", ScalarType::Int32, &SHAPE)
}

fn check_views(dir: &Path) -> Outcome {
    let file = open(dir, "views.asdf")?;
    expect("blocks", &file.blocks().len(), &1)?;
    for (name, shape, _, _, elements) in views() {
        let array = file.array(name)?;
        expect("shape", &array.shape(), &shape.as_slice())?;
        expect(name, &array.read::<u16>()?, &elements)?;
    }
    Ok(())
}

fn check_masks(dir: &Path) -> Outcome {
    let file = open(dir, "masks.asdf")?;
    expect("mask", &file.array("block")?.read_mask()?, &Some(vec![0, 1, 0]))
}

fn check_anchors(dir: &Path) -> Outcome {
    let file = open(dir, "anchors.asdf")?;
    expect("second", &file.get("second"), &file.get("first"))?;
    expect("loop", &file.get("loop/self/self"), &file.get("loop"))
}

fn check_scalars(dir: &Path) -> Outcome {
    let file = open(dir, "scalars.asdf")?;
    let serde_json::Value::Object(expected) = scalars() else { return Ok(()) };
    for (key, value) in &expected {
        expect(key, &file.tree().get_as::<serde_json::Value>(key)?, value)?;
    }
    expect("inf", &file.tree().get_as::<f64>("inf")?, &f64::INFINITY)
}

fn check_core(dir: &Path) -> Outcome {
    let file = open(dir, "core.asdf")?;
    let node = |name: &str| file.get(name).ok_or("missing");
    expect("complex", &file.complex_at(node("complex")?)?, &(1.5, -2.0))?;
    expect("integer", &file.integer_at(node("integer")?)?, &big())?;
    expect("small", &file.integer_at(node("small")?)?, &Integer::from(7))?;
    expect("constant", &file.tree().asdf_tag(node("constant")?), &Some("core/constant-1.0.0"))
}

fn check_stream(dir: &Path) -> Outcome {
    let file = open(dir, "stream.asdf")?;
    let rows: Vec<f64> = (0..6).flat_map(|i| (0..4).map(move |j| f64::from(i + j))).collect();
    expect("shape", &file.array("rows")?.shape(), &&[6, 4][..])?;
    expect("rows", &file.array("rows")?.read::<f64>()?, &rows)
}

fn check_updated(dir: &Path) -> Outcome {
    let file = open(dir, "updated.asdf")?;
    expect("note", &file.tree().get_as::<String>("note")?, &"longer ".repeat(40))?;
    same(&file, "a", ScalarType::Int32, &SHAPE)?;
    same(&file, "b", ScalarType::Float64, &SHAPE)?;
    same(&file, "c", ScalarType::UInt8, &SHAPE)
}

fn check_exploded(dir: &Path) -> Outcome {
    let file = open(dir, "exploded.asdf")?;
    expect("blocks", &file.blocks().len(), &0)?;
    same(&file, "a", ScalarType::Int32, &SHAPE)?;
    same(&file, "b", ScalarType::Float64, &SHAPE)
}

fn check_text(dir: &Path) -> Outcome {
    let file = open(dir, "text.asdf")?;
    let tree = file.tree();
    let node = |name: &str| file.get(name).ok_or("missing");
    expect("tag", &tree.tag(node("unknown")?), &Some("tag:example.com,2020:thing-1.0.0"))?;
    expect("scalar", &tree.value(node("scalar")?)?, &Some(Value::Str("15".into())))?;
    expect("literal", &tree.get_as::<String>("literal")?, &"a\n b\n".to_owned())?;
    expect("folded", &tree.get_as::<String>("folded")?, &"a b".to_owned())
}

/// Every tree of the other side is the same after it has been written and read here.
fn check_rewritten(dir: &Path) -> Outcome {
    let mut count = 0;
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "asdf") {
            let file = Asdf::open(&path)?;
            let again = Tree::parse(file.tree().to_text()?)?;
            expect(&path.display().to_string(), &file.tree().is_same(&again), &true)?;
            count += 1;
        }
    }
    expect("some files", &(count > 20), &true)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["write", dir] => {
            std::fs::create_dir_all(dir)?;
            write(Path::new(dir))
        }
        ["check", dir] => {
            check(Path::new(dir));
            Ok(())
        }
        _ => Err("usage: conformance write DIR | check DIR".into()),
    }
}
