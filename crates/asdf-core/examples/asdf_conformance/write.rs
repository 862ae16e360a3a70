//! Writes the matrix of files.

use std::path::Path;

use asdf_core::yaml::{CollectionStyle, Content, Integer, Node, ScalarStyle};
use asdf_core::*;

use crate::Outcome;
use crate::values::*;

pub(crate) fn write(dir: &Path) -> Outcome {
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

    write_core(dir)?;
    write_text(dir)
}

fn write_core(dir: &Path) -> Outcome {
    let mut document = Document::new();
    let complex = document.add_complex(1.5, -2.0);
    let integer = document.add_integer(&big(), Storage::Block)?;
    let small = document.add_integer(&Integer::from(7), Storage::Inline)?;
    for (name, node) in [("complex", complex), ("integer", integer), ("small", small)] {
        document.tree_mut().put(name, node)?;
    }
    document.save(dir.join("core.asdf"))?;

    let mut document = Document::new();
    document.set_array("a", array(ScalarType::Int32, ByteOrder::Little)?)?;
    let software = vec![Software::new("maker", "1.5")];
    document.add_history(&HistoryEntry { software, ..HistoryEntry::now("made") })?;
    document.save(dir.join("history.asdf"))?;

    for minor in [5, 6] {
        let mut document = Document::with_standard(Version::new(1, minor, 0));
        let mut columns = Vec::new();
        for (name, scalar) in [("a", ScalarType::Int32), ("b", ScalarType::Float64)] {
            let data = document.add_array(array(scalar, ByteOrder::Little)?)?;
            columns.push(Column { name: name.into(), data, unit: None, description: None, meta: None });
        }
        let table = document.add_table(&Table { columns, meta: None });
        document.tree_mut().put("table", table)?;
        document.save(dir.join(format!("table_1.{minor}.0.asdf")))?;
    }
    Ok(())
}

fn write_text(dir: &Path) -> Outcome {
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
        document.options_mut().tree_padding = Some(padding);
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
    let mut document =
        Document::open_with(&path, &OpenOptions::default().with_external(External::SameFolder))?;
    document.implode()?;
    document.save(dir.join("imploded.asdf"))?;
    Ok(())
}
