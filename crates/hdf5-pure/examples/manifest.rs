//! Prints what an HDF5 file means, as one JSON object a line: `cargo run --example manifest FILE`.

use std::io::Write;
use std::process::ExitCode;

use hdf5_pure::{
    Address, Attribute, Dataset, ElementType, Error, File, Met, Node, NodeKind, Options, Outside,
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// Bytes of elements that are read at once.
const PIECE: u64 = 16 << 20;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else { return ExitCode::from(2) };
    let options = Options { outside: Outside::SameFolder, ..Options::default() };
    let mut out = std::io::stdout().lock();
    match File::open_with(&path, &options) {
        Ok(file) => match print(&file, &mut out) {
            Ok(true) => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        },
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{path}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print(file: &File, out: &mut impl Write) -> std::io::Result<bool> {
    let mut sound = true;
    writeln!(out, "{}", json!({"manifest": 1, "format": "hdf5"}))?;
    for visited in file.walk() {
        let path = String::from_utf8_lossy(&visited.path).into_owned();
        let line = match visited.what {
            Met::Object(address) => {
                sound &= object(file, &path, address, out)?;
                continue;
            }
            Met::HardLink(target) => {
                json!({"path": path, "kind": "hardlink", "target": String::from_utf8_lossy(&target)})
            }
            Met::SoftLink(target) => json!({"path": path, "kind": "softlink", "target": target.to_text()}),
            Met::ExternalLink { file, path: target } => {
                json!({"path": path, "kind": "extlink", "file": file.to_text(), "target": target.to_text()})
            }
            Met::UserLink(class) => json!({"path": path, "kind": "userlink", "class": class}),
            Met::Broken(error) => {
                sound = false;
                json!({"path": path, "kind": "group", "error": error.to_string()})
            }
        };
        writeln!(out, "{line}")?;
    }
    Ok(sound)
}

fn object(file: &File, path: &str, address: Address, out: &mut impl Write) -> std::io::Result<bool> {
    let mut line = Map::new();
    line.insert("path".into(), path.into());
    let kind = match file.kind_at(address) {
        Ok(NodeKind::Group) => "group",
        Ok(NodeKind::Dataset) | Err(_) => "array",
        Ok(NodeKind::Datatype) => "datatype",
    };
    line.insert("kind".into(), kind.into());
    let described = match file.object_at(address) {
        Ok(Node::Group(_)) => Ok(()),
        Ok(Node::Datatype(datatype)) => datatype.datatype().and_then(|datatype| {
            line.insert("type".into(), type_of(&datatype.element_type()?));
            Ok(())
        }),
        Ok(Node::Dataset(dataset)) => array(&dataset, &mut line),
        Err(error) => Err(error),
    };
    let mut sound = finish(line, &described, out)?;
    match file.attributes_at(address) {
        Ok(attributes) => {
            for attribute in attributes {
                let mut line = Map::new();
                line.insert("path".into(), path.into());
                line.insert("kind".into(), "attribute".into());
                let name = attribute.name().map(|name| name.to_text().into_owned());
                line.insert("name".into(), name.into());
                let described = attribute_line(&attribute, &mut line);
                sound &= finish(line, &described, out)?;
            }
        }
        Err(_) => sound = false,
    }
    Ok(sound)
}

fn finish(
    mut line: Map<String, Value>,
    described: &Result<(), Error>,
    out: &mut impl Write,
) -> std::io::Result<bool> {
    if let Err(error) = described {
        line.insert("error".into(), error.to_string().into());
    }
    writeln!(out, "{}", Value::Object(line))?;
    Ok(described.is_ok())
}

fn array(dataset: &Dataset, line: &mut Map<String, Value>) -> Result<(), Error> {
    line.insert("type".into(), type_of(&dataset.datatype().element_type()?));
    line.insert("shape".into(), json!(dataset.shape()));
    let mut hash = Sha256::new();
    if dataset.shape().is_some() {
        let size = u64::from(dataset.datatype().size).max(1);
        for piece in dataset.all()?.pieces((PIECE / size).max(1)) {
            hash.update(dataset.read_canonical(&piece)?);
        }
    }
    line.insert("sha256".into(), hex(hash).into());
    Ok(())
}

fn attribute_line(attribute: &Attribute, line: &mut Map<String, Value>) -> Result<(), Error> {
    line.insert("type".into(), type_of(&attribute.datatype()?.element_type()?));
    line.insert("shape".into(), json!(attribute.dataspace()?.shape()));
    let mut hash = Sha256::new();
    hash.update(attribute.canonical()?);
    line.insert("sha256".into(), hex(hash).into());
    Ok(())
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn type_of(element: &ElementType) -> Value {
    match element {
        ElementType::Integer { signed, size } => format!("{}{size}", if *signed { 'i' } else { 'u' }).into(),
        ElementType::Float(size) => format!("f{size}").into(),
        ElementType::BFloat16 => "bf2".into(),
        ElementType::OtherFloat => "f8*".into(),
        ElementType::Complex(size) => format!("c{size}").into(),
        ElementType::String => "str".into(),
        ElementType::Opaque(size) => json!({"opaque": size}),
        ElementType::Bits(size) => json!({"bits": size}),
        ElementType::Time(size) => json!({"time": size}),
        ElementType::Enumeration { base, members } => {
            let number =
                |value: i128| i64::try_from(value).map_or_else(|_| json!(value as u64), |value| json!(value));
            let members: Vec<Value> =
                members.iter().map(|(name, value)| json!([name.to_text(), number(*value)])).collect();
            json!({"enum": type_of(base), "members": members})
        }
        ElementType::Compound(members) => {
            let members: Vec<Value> =
                members.iter().map(|(name, member)| json!([name.to_text(), type_of(member)])).collect();
            json!({"compound": members})
        }
        ElementType::Array { base, shape } => json!({"array": type_of(base), "shape": shape}),
        ElementType::Sequence(base) => json!({"vlen": type_of(base)}),
        ElementType::Reference => "ref".into(),
        ElementType::RegionReference => "regref".into(),
        other => format!("{other:?}").into(),
    }
}
