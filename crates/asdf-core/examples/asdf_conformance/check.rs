//! Reads the files of the other side.

use std::path::Path;

use asdf_core::structure::IndexState;
use asdf_core::yaml::{Integer, Value};
use asdf_core::*;

use crate::Outcome;
use crate::values::*;

/// Prints the line of a case.
fn case(name: &str, outcome: Outcome) {
    edited(name, "we read theirs", outcome);
}

/// Prints the line of a case; `way` says which side wrote, changed and read the file.
fn edited(name: &str, way: &str, outcome: Outcome) {
    let line = match outcome {
        Ok(()) => serde_json::json!({"case": name, "way": way, "ok": true}),
        Err(e) => serde_json::json!({"case": name, "way": way, "ok": false, "why": e.to_string()}),
    };
    println!("{line}");
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("{what} is {found:?}, expected {expected:?}").into()) }
}

fn open(dir: &Path, name: &str) -> Result<Asdf> {
    let options = OpenOptions::default().with_external(External::SameFolder);
    let file = Asdf::open_with(dir.join(name), &options)?;
    for block in file.blocks() {
        block.check()?;
    }
    Ok(file)
}

/// Compares an array with the elements of a type. All not-a-numbers count as equal.
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

pub(crate) fn check(dir: &Path) {
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
    edited("updates: by Python", "edited there", check_updated(dir));
    edited("updates: by Python, then here", "edited here", check_changed_after(dir));
    case("exploded form: exploded", check_exploded(dir));
    edited("exploded form: imploded here", "edited here", check_imploded(dir));
    case("history: entries, extensions, software", check_history(dir));
    case("text: tags, styles, newlines", check_text(dir));
    edited("trees: written again", "edited here", check_rewritten(dir));
}

fn check_type(dir: &Path, order: &str, place: &str, scalar: ScalarType) -> Outcome {
    let file = open(dir, &format!("types_{order}_{place}.asdf"))?;
    // Python makes the text type as long as its longest text.
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
    // The text type in the tree is as long as the longest text.
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

fn check_imploded(dir: &Path) -> Outcome {
    let options = OpenOptions::default().with_external(External::SameFolder);
    let mut document = Document::open_with(dir.join("exploded.asdf"), &options)?;
    expect("blocks taken in", &document.implode()?, &2)?;
    let file = Asdf::from_bytes(document.to_bytes()?)?;
    same(&file, "a", ScalarType::Int32, &SHAPE)?;
    same(&file, "b", ScalarType::Float64, &SHAPE)
}

/// Changes a file of Python's library in place here. Its blocks stay where they are.
fn check_changed_after(dir: &Path) -> Outcome {
    let path = dir.join("changed_here.asdf");
    std::fs::copy(dir.join("updated.asdf"), &path)?;
    let mut document = Document::open(&path)?;
    document.set("note", "short")?;
    let update = document.update()?;
    let file = Asdf::open(&path)?;
    std::fs::remove_file(&path)?;
    expect("in place", &matches!(update, Update::InPlace { .. }), &true)?;
    expect("note", &file.tree().get_as::<String>("note")?, &"short".to_owned())?;
    same(&file, "c", ScalarType::UInt8, &SHAPE)
}

fn check_history(dir: &Path) -> Outcome {
    let file = open(dir, "history.asdf")?;
    let entries = file.history()?;
    let entry = entries.first().ok_or("no entry")?;
    expect("description", &entry.description.as_str(), &"made")?;
    expect("software", &entry.software, &vec![Software::new("maker", "1.5")])?;
    expect("a time", &entry.time.is_some(), &true)?;
    expect("library", &file.library()?.map(|library| library.name), &Some("asdf".to_owned()))?;
    expect("extensions", &file.extensions()?.is_empty(), &false)
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

/// Checks that every tree of the other side is the same after it was written and read here.
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
