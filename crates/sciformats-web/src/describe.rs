//! What a file and its objects are.

use std::sync::Arc;

use sciformats::model::write_text;
use sciformats::walk::{Found, join};
use sciformats::{
    ArrayInfo, Attribute, AttributeValue, Decoder, ElementType, Error, File, Kind, Name, Object, ObjectId,
    Result, Target,
};
use sciformats_conventions::{Meaning, Role, Variable, type_name};
use serde_json::{Map, Value, json};

use crate::session::{Opened, Reply, Request};

/// The number of characters that are shown of the value of an attribute.
const SHOWN: usize = 4096;

/// The number of characters that are shown of a type.
const TYPE: usize = 80;

/// The number of bytes of a value or a type that is handed to programs.
const LONG: usize = 1 << 16;

/// The number of objects that a search looks at.
const SEARCHED: usize = 2_000_000;

/// The number of things to look at first that are described.
const HIGHLIGHTS: usize = 12;

/// The members of a group, in the order of the file.
#[derive(Debug)]
pub(crate) struct Members(Vec<(Name, Link)>);

/// What a member leads to.
#[derive(Debug)]
enum Link {
    Object(ObjectId),
    Soft(Name),
    External { file: Name, target: Name },
    User(u64),
    Damaged(String),
}

/// Returns a text of at most `most` characters.
pub(crate) fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The largest integer up to which all are numbers of JavaScript, which are binary64.
const SAFE: u64 = (1 << 53) - 1;

/// Lets integers that no number of JavaScript is be texts, as other numbers are that JSON lacks.
fn exact(value: Value) -> Value {
    match value {
        Value::Number(number) => {
            let size = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            if size.is_some_and(|size| size > SAFE) { number.to_string().into() } else { number.into() }
        }
        Value::Array(values) => values.into_iter().map(exact).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, exact(value))).collect(),
        other => other,
    }
}

/// Parses JSON. Of integers with more than 64 bits, the parser would make other numbers.
fn parsed(json: &str) -> Option<Value> {
    let digits = json.strip_prefix('-').unwrap_or(json);
    let is_integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_integer && json.parse::<i64>().is_err() {
        return Some(json.into());
    }
    serde_json::from_str(json).ok().map(exact)
}

fn value(value: &sciformats::Value) -> Value {
    match value {
        sciformats::Value::List(values) => values.iter().map(self::value).collect(),
        sciformats::Value::Record(fields) => {
            fields.iter().map(|(name, field)| (name.shown().into_owned(), self::value(field))).collect()
        }
        other => parsed(&other.to_json()).unwrap_or_else(|| other.to_string().into()),
    }
}

fn facts(facts: Vec<(&'static str, sciformats::Value)>) -> Value {
    facts.into_iter().map(|(key, fact)| json!([key, clipped(&fact.to_string(), SHOWN)])).collect()
}

/// Answers what the file is.
pub(crate) fn about(opened: &Opened) -> Result<Reply> {
    let data = opened.data()?;
    let file = data.file();
    let source = file.source();
    let identities = data.identities()?;
    let format = file.format().to_string();
    let conventions: Vec<String> =
        identities.iter().filter(|identity| identity.convention != format).map(ToString::to_string).collect();
    let writer = identities.iter().find_map(|identity| identity.writer.clone());
    let outline = data.outline()?;
    let mut highlights = Vec::new();
    file.ahead(|| {
        for highlight in outline.highlights.iter().take(HIGHLIGHTS) {
            let _ = data.meaning(&highlight.path);
        }
    })?;
    for highlight in outline.highlights.iter().take(HIGHLIGHTS) {
        let signature = match data.meaning(&highlight.path) {
            Ok(Some(Meaning::Variable(variable))) => Some(variable.to_string()),
            Ok(Some(Meaning::Table(table))) => {
                Some(format!("table, {} rows, {} columns", table.rows, table.all_columns().count()))
            }
            Ok(Some(Meaning::Sparse(matrix))) => {
                Some(format!("sparse matrix, {} × {}", matrix.shape[0], matrix.shape[1]))
            }
            _ => None,
        };
        highlights.push(json!({ "path": highlight.path, "what": highlight.what, "signature": signature }));
    }
    Ok(json!({
        "format": format,
        "word": file.format().word(),
        "headline": source.headline(),
        "size": file.size(),
        "facts": facts(source.facts()),
        "conventions": conventions,
        "writer": writer,
        "title": outline.title.filter(|title| !title.is_empty()),
        "highlights": highlights,
        "cut": file.cut_short(),
        "damage": file.damage().map(|damage| damage.to_string()),
        "doubt": source.doubt(),
        "root": kind(file, source.root()),
    })
    .into())
}

/// Returns the letter of a kind.
fn letter(kind: Kind) -> char {
    match kind {
        Kind::Group => 'g',
        Kind::Array => 'a',
        Kind::Datatype => 'd',
        Kind::Value => 'v',
        Kind::Unknown => 'u',
    }
}

fn kind(file: &File, id: ObjectId) -> String {
    file.source().object(id).map_or('u', |object| letter(object.kind())).to_string()
}

fn listed(file: &File, id: ObjectId) -> Result<Members> {
    let mut members = Vec::new();
    for member in file.source().members(id)? {
        let member = member?;
        let link = match member.target {
            Target::Object(id) => Link::Object(id),
            Target::Soft(path) => Link::Soft(path),
            Target::External { file, target } => Link::External { file, target },
            Target::User(class) => Link::User(class),
            Target::Damaged(error) => Link::Damaged(error.to_string()),
        };
        members.push((member.name, link));
    }
    Ok(Members(members))
}

/// Answers what the members of a group are, from the `first` one on, `count` of them.
pub(crate) fn members(opened: &mut Opened, request: &Request<'_>) -> Result<Reply> {
    let path = request.text("path")?;
    let file = Arc::clone(opened.file()?);
    let all = match opened.members.get(path) {
        Some(known) => Arc::clone(known),
        None => {
            let all = Arc::new(listed(&file, file.resolve(path)?)?);
            opened.members.insert(path.to_owned(), Arc::clone(&all));
            all
        }
    };
    let first = usize::try_from(request.maybe_number("first").unwrap_or(0)).unwrap_or(usize::MAX);
    let count = usize::try_from(request.maybe_number("count").unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let part = || all.0.iter().skip(first).take(count);
    // The headers of all of them are fetched together.
    file.ahead(|| {
        for (_, link) in part() {
            if let Link::Object(id) = link {
                let _ = file.source().object(*id);
            }
        }
    })?;
    // Lists may be long, so their JSON is written without a tree of values.
    let mut json = format!(r#"{{"total":{},"members":["#, all.0.len());
    for (at, (name, link)) in part().enumerate() {
        json.push_str(if at == 0 { "{" } else { ",{" });
        member(&file, path, (name, link), &mut json);
        json.push('}');
    }
    json.push_str("]}");
    Ok(Reply { json, data: Vec::new() })
}

/// Writes a member with a text as its value.
fn text(out: &mut String, key: &str, value: &str) {
    out.push_str(key);
    write_text(out, value);
}

/// Describes a member: its name and path, the letter of its kind, and what the tree shows of it.
fn member(file: &File, parent: &str, (name, link): (&Name, &Link), out: &mut String) {
    let path = join(parent, name);
    text(out, r#""n":"#, &name.shown());
    text(out, r#","p":"#, &path);
    let id = match link {
        Link::Object(id) => Ok(*id),
        Link::Soft(target) => {
            text(out, r#","to":"#, &target.shown());
            file.resolve(&path)
        }
        Link::External { file: other, target } => {
            text(out, r#","to":"#, &format!("{other}: {target}"));
            file.resolve(&path)
        }
        Link::User(class) => Err(Error::unsupported(format!("a link of the user-defined class {class}"))),
        Link::Damaged(error) => {
            text(out, r#","k":"u","e":"#, error);
            return;
        }
    };
    match id.and_then(|id| file.source().object(id)) {
        Ok(object) => brief(&object, out),
        Err(error) => text(out, r#","k":"u","e":"#, &error.to_string()),
    }
}

fn brief(object: &Object, out: &mut String) {
    out.push_str(r#","k":""#);
    out.push(letter(object.kind()));
    out.push('"');
    match object {
        Object::Array(info) => {
            text(out, r#","t":"#, &clipped(&type_name(&info.element), TYPE));
            out.push_str(r#","s":"#);
            match &info.shape {
                Some(shape) => {
                    out.push('[');
                    for (at, length) in shape.iter().enumerate() {
                        out.push_str(if at == 0 { "" } else { "," });
                        out.push_str(&length.to_string());
                    }
                    out.push(']');
                }
                None => out.push_str("null"),
            }
        }
        Object::Datatype(element) => text(out, r#","t":"#, &clipped(&type_name(element), TYPE)),
        Object::Value(value) => text(out, r#","v":"#, &clipped(&value.to_string(), TYPE)),
        Object::Damaged { error, .. } => text(out, r#","e":"#, &error.to_string()),
        Object::Group => {}
    }
}

/// The word for what the elements are, which decides how they can be shown.
pub(crate) fn sort(element: &ElementType) -> &'static str {
    match element {
        ElementType::Complex(_) => "complex",
        ElementType::Compound(_) => "compound",
        ElementType::Text => "text",
        ElementType::Reference | ElementType::Region => "reference",
        ElementType::Bool => "bool",
        ElementType::Enum { .. } => "enum",
        ElementType::Vlen(_) | ElementType::Array { .. } => "list",
        real if real.is_real() => "number",
        _ => "opaque",
    }
}

fn fields(element: &ElementType) -> Value {
    match element {
        ElementType::Compound(fields) => fields
            .iter()
            .map(|(name, field)| json!({ "name": name.shown(), "type": clipped(&type_name(field), TYPE), "sort": sort(field) }))
            .collect(),
        _ => Value::Null,
    }
}

/// Returns a type as the manifest spells it, for programs; `null` if that is very long.
fn dtype(element: &ElementType) -> Value {
    let text = element.to_json();
    if text.len() > LONG { Value::Null } else { serde_json::from_str(&text).unwrap_or(Value::Null) }
}

fn array(info: &ArrayInfo) -> Value {
    json!({
        "type": clipped(&type_name(&info.element), SHOWN),
        "sort": sort(&info.element),
        "fields": fields(&info.element),
        "dtype": dtype(&info.element),
        "size": info.element.size(),
        "shape": info.shape,
        "chunks": info.chunks,
        "filters": info.filters,
        "stored": info.stored,
        "logical": info.logical(),
        "facts": facts(info.facts.clone()),
    })
}

/// Answers what an object is and what it means.
pub(crate) fn object(opened: &Opened, request: &Request<'_>) -> Result<Reply> {
    let data = opened.data()?;
    let file = data.file();
    let path = request.text("path")?;
    let id = file.resolve(path)?;
    let found = file.source().measured(id)?;
    let mut line = Map::new();
    line.insert("path".into(), path.into());
    line.insert("kind".into(), found.kind().word().into());
    match &found {
        Object::Array(info) => {
            line.insert("array".into(), array(info));
            let storage: Vec<Value> = match file.source().storage(id) {
                Ok(storage) => storage.into_iter().map(|(key, text)| json!([key, text])).collect(),
                Err(error) => vec![json!(["storage", error.to_string()])],
            };
            line.insert("storage".into(), storage.into());
        }
        Object::Datatype(element) => {
            line.insert("type".into(), clipped(&type_name(element), SHOWN).into());
            line.insert("dtype".into(), dtype(element));
        }
        Object::Value(scalar) => {
            line.insert("value".into(), value(scalar));
            line.insert("text".into(), scalar.to_string().into());
        }
        Object::Damaged { error, .. } => {
            line.insert("error".into(), error.to_string().into());
        }
        Object::Group => {}
    }
    match data.meaning(path) {
        Ok(Some(meaning)) => {
            line.insert("meaning".into(), meant(&meaning));
        }
        Ok(None) => {}
        Err(doubt) => {
            line.insert("doubt".into(), doubt.to_string().into());
        }
    }
    Ok(Value::from(line).into())
}

fn meant(meaning: &Meaning) -> Value {
    match meaning {
        Meaning::Variable(variable) => of_variable(variable),
        Meaning::Table(table) => json!({
            "kind": "table",
            "rows": table.rows,
            "shape": [table.rows],
            "sort": "compound",
            "decoded": true,
            "fields": table
                .all_columns()
                .map(|column| json!({ "name": if column.name.is_empty() { "index" } else { &column.name }, "type": column.type_name(), "units": column.units }))
                .collect::<Vec<_>>(),
        }),
        Meaning::Sparse(matrix) => json!({
            "kind": "sparse",
            "shape": matrix.shape,
            "sort": "number",
            "decoded": true,
        }),
        _ => Value::Null,
    }
}

fn of_variable(variable: &Variable) -> Value {
    let dimensions: Vec<Value> = variable
        .dimensions
        .iter()
        .map(|dimension| {
            json!({
                "name": dimension.name,
                "length": dimension.length,
                "unlimited": dimension.unlimited,
                "path": dimension.path,
                "coordinates": dimension.has_values || dimension.spacing.is_some(),
            })
        })
        .collect();
    let coordinates: Vec<Value> = variable
        .coordinates
        .iter()
        .map(|other| json!({ "path": other.path, "role": role(other.role), "dimension": other.dimension }))
        .collect();
    json!({
        "kind": "variable",
        "path": variable.path(),
        "signature": variable.signature(),
        "values": variable.values_name(),
        "type": clipped(&type_name(&variable.element()), TYPE),
        "sort": sort(&variable.element()),
        "fields": fields(&variable.element()),
        "shape": variable.shape(),
        "dimensions": dimensions,
        "coordinates": coordinates,
        "units": variable.units,
        "long_name": variable.long_name,
        "standard_name": variable.standard_name,
        "cell_methods": variable.cell_methods,
        "flags": variable.flags.as_ref().map(|flags| &flags.meanings),
        "decoded": !variable.is_stored(),
    })
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Dimension => "coordinates",
        Role::Auxiliary => "auxiliary coordinate",
        Role::Bounds => "bounds",
        Role::CellMeasure => "cell measure",
        Role::GridMapping => "grid mapping",
        Role::Ancillary => "ancillary",
        Role::Errors => "errors",
        Role::Palette => "palette",
        _ => "other",
    }
}

/// Answers what attributes an object has.
pub(crate) fn attributes(opened: &Opened, request: &Request<'_>) -> Result<Reply> {
    let file = opened.file()?;
    let id = file.resolve(request.text("path")?)?;
    let for_programs = request.maybe_text("for") == Some("programs");
    let mut found = Vec::new();
    for attribute in file.source().attributes(id)? {
        let attribute = attribute?;
        let meaning = file.source().attribute_json(id, &attribute);
        let mut line = of_attribute(&attribute, meaning.as_deref(), SHOWN);
        if let (Some(line), Ok(value)) = (line.as_object_mut().filter(|_| for_programs), &attribute.value) {
            line.insert("dtype".into(), dtype(&value.element));
            line.insert("values".into(), values(value));
        }
        found.push(line);
    }
    Ok(json!({ "attributes": found }).into())
}

/// Returns the elements of an attribute as a list, for programs; `null` if they are too many or damaged.
fn values(value: &AttributeValue) -> Value {
    let Some(bytes) = value.data.as_ref().ok().filter(|bytes| bytes.len() <= LONG) else {
        return Value::Null;
    };
    let element = |datum: Result<sciformats::Datum<'_>>| {
        let mut text = String::new();
        datum.ok()?.write_json(&mut text);
        parsed(&text)
    };
    Decoder::new(&value.element, bytes)
        .map(element)
        .collect::<Option<Vec<Value>>>()
        .map_or(Value::Null, Value::from)
}

/// Answers what the whole value of one attribute is.
pub(crate) fn attribute(opened: &Opened, request: &Request<'_>) -> Result<Reply> {
    let file = opened.file()?;
    let id = file.resolve(request.text("path")?)?;
    let name = request.text("name")?;
    for attribute in file.source().attributes(id)? {
        let attribute = attribute?;
        if attribute.name.shown() == name {
            let meaning = file.source().attribute_json(id, &attribute);
            return Ok(of_attribute(&attribute, meaning.as_deref(), usize::MAX).into());
        }
    }
    Err(Error::not_found("attribute", name))
}

fn of_attribute(attribute: &Attribute, meaning: Option<&str>, most: usize) -> Value {
    let mut line = Map::new();
    line.insert("name".into(), attribute.name.shown().into());
    let value = match &attribute.value {
        Ok(value) => value,
        Err(error) => {
            line.insert("error".into(), error.to_string().into());
            return line.into();
        }
    };
    line.insert("type".into(), clipped(&type_name(&value.element), TYPE).into());
    line.insert("sort".into(), sort(&value.element).into());
    line.insert("shape".into(), json!(value.shape));
    match (shown(value, meaning, most), paths(value)) {
        (Ok(text), links) => {
            line.insert("text".into(), clipped(&text, most).into());
            if !links.is_empty() {
                line.insert("links".into(), links.into());
            }
        }
        (Err(error), _) => {
            line.insert("error".into(), error.into());
        }
    }
    line.into()
}

fn shown(value: &AttributeValue, meaning: Option<&str>, most: usize) -> Result<String, String> {
    let bytes = value.data.as_ref().map_err(ToString::to_string)?;
    if let Some(meaning) = meaning {
        return Ok(meaning.to_owned());
    }
    let mut text = String::new();
    for element in Decoder::new(&value.element, bytes) {
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&element.map_err(|error| error.to_string())?.to_string());
        if text.len() > most {
            break;
        }
    }
    Ok(text)
}

/// Returns the paths that references lead to.
fn paths(value: &AttributeValue) -> Vec<String> {
    let refers = matches!(value.element, ElementType::Reference);
    let Some(bytes) = value.data.as_ref().ok().filter(|_| refers) else { return Vec::new() };
    let texts = Decoder::new(&value.element, bytes).take(64);
    texts
        .filter_map(|datum| datum.ok().map(|datum| datum.to_string()))
        .filter(|path| path.starts_with('/'))
        .collect()
}

/// Answers which paths contain a text, without regard to case: at most `count` of them, and how many there
/// are.
pub(crate) fn search(opened: &mut Opened, request: &Request<'_>) -> Result<Reply> {
    let all = match &opened.paths {
        Some(known) => Arc::clone(known),
        None => {
            let file = Arc::clone(opened.file()?);
            file.gather("/", usize::MAX)?;
            let mut paths = Vec::new();
            for entry in file.walk().take(SEARCHED) {
                let letter = match &entry.what {
                    Found::Object(_, object) => letter(object.kind()),
                    Found::HardLink(_) | Found::Soft(_) | Found::External { .. } | Found::User(_) => 'l',
                    Found::Unreadable(_) => 'u',
                    Found::Unlisted(_) => continue,
                };
                paths.push((entry.path, letter));
            }
            let paths = Arc::new(paths);
            opened.paths = Some(Arc::clone(&paths));
            paths
        }
    };
    let wanted = request.maybe_text("text").unwrap_or_default().to_lowercase();
    let count = usize::try_from(request.maybe_number("count").unwrap_or(1000)).unwrap_or(1000);
    let parts: Vec<&str> = wanted.split_whitespace().collect();
    let mut found = Vec::new();
    let mut total = 0u64;
    for (path, letter) in all.iter() {
        let holds = wanted.is_empty() || {
            let low = path.to_lowercase();
            parts.iter().all(|part| low.contains(part))
        };
        if holds {
            total += 1;
            if found.len() < count {
                found.push(json!([path, letter.to_string()]));
            }
        }
    }
    Ok(json!({ "objects": all.len(), "total": total, "found": found }).into())
}
