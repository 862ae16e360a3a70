//! The attributes that netCDF can have, from attributes and values of the source.

use sciformats::{Attribute, AttributeValue, Datum, Decoder, ElementType, Name, Result, Value};

use super::kind::{Kind, text};
use super::names::{self, Found};
use super::{ESCAPED, ESCAPED_NAME, Told};
use crate::dataset::Dataset;
use crate::decoding::Decoding;
use crate::variable::Variable;

/// The attribute with the value that means a missing element, which has the type of the elements.
pub(super) const FILL: &str = "_FillValue";

/// Attributes that belong to the way in which netCDF stores its files.
const OWN: [&str; 8] = [
    "CLASS",
    "NAME",
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "DIMENSION_LABELS",
    "_NCProperties",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
];

/// What becomes of values that are neither numbers nor texts.
const AS_JSON: &str = "attributes of netCDF do not have: it becomes a text in JSON";

/// What an attribute becomes.
pub(super) struct Said {
    pub(super) told: Told,
    /// What is changed or left out.
    pub(super) changes: Vec<String>,
}

/// Adds the attributes that say what integers stand for. The names of an enumeration are words there, which are divided by
/// spaces: [`are_words`] tells whether they remain as they are.
pub(super) fn describe(element: &ElementType, attributes: &mut Vec<(String, Told)>) {
    match element {
        ElementType::Bool => attributes.push(("dtype".into(), Told::Text("bool".into()))),
        ElementType::Enum { members, .. } => {
            let words = members.iter().map(|(name, _)| name.shown().replace([' ', '\t', '\n'], "_"));
            attributes
                .push(("flag_values".into(), Told::Own(members.iter().map(|(_, value)| *value).collect())));
            attributes.push(("flag_meanings".into(), Told::Text(words.collect::<Vec<_>>().join(" "))));
        }
        _ => {}
    }
}

/// Returns whether the names of an enumeration are words in UTF-8.
pub(super) fn are_words(element: &ElementType) -> bool {
    let ElementType::Enum { members, .. } = element else { return true };
    members
        .iter()
        .all(|(name, _)| !is_other(name) && !name.as_bytes().iter().any(|byte| b" \t\n".contains(byte)))
}

/// Returns the attributes of the array of a variable, except those that its description contains or that its decoding has used.
pub(super) fn attributes_of(
    variable: &Variable,
    losses: &mut Vec<(String, String)>,
) -> Result<Vec<(String, Told)>> {
    /// How stored numbers become values.
    const USED: [&str; 8] = [
        "scale_factor",
        "add_offset",
        FILL,
        "missing_value",
        "valid_min",
        "valid_max",
        "valid_range",
        "_Unsigned",
    ];
    /// What has the type of the variable.
    const OWN_TYPE: [&str; 6] =
        ["missing_value", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks"];
    let time = matches!(variable.decoding, Decoding::Time { .. } | Decoding::SecondsAndMicroseconds);
    let element = variable.element();
    let named = variable.has_names();
    let said = |name: &str| match name {
        "units" | "unit" | "Units" | "Unit" => variable.units.is_some() || time,
        "long_name" => variable.long_name.is_some(),
        "standard_name" => variable.standard_name.is_some(),
        "calendar" => time,
        _ if dimension_list(name) => named,
        name => USED.contains(&name) && !variable.is_stored(),
    };
    let data = Dataset::new(std::sync::Arc::clone(variable.node().file()));
    let mut all = attributes(&data, variable.path(), losses)?;
    all.retain(|(_, name, _)| !said(name));
    all.retain_mut(|(at, name, told)| match (name.as_str(), &*told) {
        (FILL, _) => match fill(inner(&element), told) {
            Some(own) => {
                *told = own;
                true
            }
            None => {
                losses.push((at.clone(), "is no value of the array, as netCDF needs it".into()));
                false
            }
        },
        (name, Told::Whole(numbers, _))
            if numbers.iter().all(|&number| has(&element, number)) && OWN_TYPE.contains(&name) =>
        {
            *told = Told::Own(numbers.iter().map(|&number| number.into()).collect());
            true
        }
        _ => true,
    });
    // These are the attributes that say what the elements stand for.
    let mut own = Vec::new();
    describe(inner(&element), &mut own);
    let taken: Vec<&str> = own.iter().map(|(name, _)| name.as_str()).collect();
    Ok(names::attributes(all, &taken, losses))
}

/// Returns a value that means a missing element as one of the type of the elements; `None` if it is none.
fn fill(element: &ElementType, told: &Told) -> Option<Told> {
    use ElementType::{BF16, F16, F32, F64};
    match (element, told) {
        (F16 | BF16 | F32 | F64, Told::Numbers(numbers, _)) if numbers.len() == 1 => {
            Some(Told::Numbers(numbers.clone(), Kind::of(element)?))
        }
        (F16 | BF16 | F32 | F64, Told::Whole(numbers, _)) => match numbers.as_slice() {
            &[number] => Some(Told::Numbers(vec![number as f64], Kind::of(element)?)),
            _ => None,
        },
        (_, Told::Whole(numbers, _)) => match numbers.as_slice() {
            &[number] if has(element, number) => Some(Told::Own(vec![number.into()])),
            _ => None,
        },
        (ElementType::UInt(8), Told::Natural(numbers)) => match numbers.as_slice() {
            &[number] => Some(Told::Own(vec![number.into()])),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the type of single elements.
fn inner(element: &ElementType) -> &ElementType {
    match element {
        ElementType::Array { element, .. } => inner(element),
        other => other,
    }
}

/// Returns whether a type of integers has a number.
fn has(element: &ElementType, number: i64) -> bool {
    let unused = |size: u16| 64 - 8 * u32::from(size);
    match *element {
        ElementType::Int(size @ 1..=8) => {
            (i64::MIN >> unused(size)..=i64::MAX >> unused(size)).contains(&number)
        }
        ElementType::UInt(size @ 1..=8) => {
            u64::try_from(number).is_ok_and(|number| number <= u64::MAX >> unused(size))
        }
        _ => false,
    }
}

/// Returns whether an attribute contains the names of dimensions, which the variable has then.
fn dimension_list(name: &str) -> bool {
    #[cfg(feature = "blosc2")]
    if crate::metalayer::DIMENSIONS.contains(&name) {
        return true;
    }
    let _ = name;
    false
}

/// Returns the attributes of an object as far as netCDF can have them, under the names that they have. What they lose is added to the
/// losses.
pub(super) fn attributes(
    data: &Dataset,
    path: &str,
    losses: &mut Vec<(String, String)>,
) -> Result<Vec<Found<Told>>> {
    let node = data.node(path)?;
    let found = data.file().source().attributes(node.id())?.collect::<Result<Vec<Attribute>>>()?;
    let mut all = Vec::new();
    for attribute in found {
        let name = attribute.name.shown().into_owned();
        // How Blosc2 divides an array into blocks is of no use to others.
        if OWN.contains(&name.as_str()) || name.starts_with("meta:") {
            continue;
        }
        let at = format!("{path}@{name}");
        let value = attribute.value.as_ref().ok();
        let wider = value.and_then(|value| wider(&value.element));
        let mut add = |name: &str, Said { told, changes }: Said, escaped: bool| {
            if escaped {
                losses.push((at.clone(), ESCAPED.into()));
            }
            if is_other(&attribute.name) {
                losses.push((at.clone(), ESCAPED_NAME.into()));
            }
            losses.extend(wider.iter().chain(&changes).map(|why| (at.clone(), why.clone())));
            all.push((at.clone(), name.to_owned(), told));
        };
        #[cfg(feature = "blosc2")]
        if let Some(inner) = name.strip_prefix(crate::metalayer::PREFIX) {
            let bytes = value.and_then(|value| value.data.as_ref().ok());
            let value = bytes.and_then(|bytes| crate::metalayer::attribute(bytes));
            let told = value.as_ref().and_then(said);
            // What is neither a number nor a text is told as JSON.
            let json = || {
                let told = Told::Text(data.file().source().attribute_json(node.id(), &attribute)?);
                Some(Said { told, changes: vec![format!("has values that {AS_JSON}")] })
            };
            if let Some(told) = told.or_else(json) {
                add(inner, told, value.as_ref().is_some_and(is_escaped));
                continue;
            }
        }
        match value.and_then(said) {
            Some(said) => add(&name, said, value.is_some_and(is_escaped)),
            None => losses.push((at, "is a value that an attribute of netCDF cannot be".into())),
        }
    }
    Ok(all)
}

/// Says which type numbers get because netCDF lacks theirs.
fn wider(element: &ElementType) -> Option<String> {
    use ElementType::{BF16, F16, FloatOther, Int, UInt};
    let kind = match element {
        F16 | BF16 | FloatOther => Kind::of(element)?,
        Int(3 | 5..=7) | UInt(3 | 5..=7) => Kind::I64,
        _ => return None,
    };
    Some(format!("has numbers of type {element}, which become {}", kind.word()))
}

/// Returns whether a name is not UTF-8.
pub(super) fn is_other(name: &Name) -> bool {
    std::str::from_utf8(name.as_bytes()).is_err()
}

/// Returns whether texts of a value are not UTF-8, so that [`said`] escapes them.
fn is_escaped(value: &AttributeValue) -> bool {
    fn escaped(datum: &Datum<'_>) -> bool {
        match datum {
            Datum::Text(text) => std::str::from_utf8(text).is_err(),
            Datum::Member(_, name) => name.is_some_and(is_other),
            Datum::List(all) => all.iter().any(escaped),
            Datum::Record(all) => all.iter().any(|(name, datum)| is_other(name) || escaped(datum)),
            _ => false,
        }
    }
    let Ok(bytes) = &value.data else { return false };
    Decoder::new(&value.element, bytes).any(|datum| datum.is_ok_and(|datum| escaped(&datum)))
}

/// Returns the value of an attribute, which is numbers, texts, or anything else as JSON, and what changes in it.
pub(super) fn said(value: &AttributeValue) -> Option<Said> {
    let shape = value.shape.as_ref()?;
    let bytes = value.data.as_ref().ok()?;
    let (mut numbers, mut whole, mut natural) = (Vec::new(), Vec::new(), Vec::new());
    let mut texts = Vec::new();
    let mut others = Vec::new();
    for datum in Decoder::new(&value.element, bytes) {
        let datum = datum.ok()?;
        whole.extend(datum.to_i128().and_then(|value| i64::try_from(value).ok()));
        natural.extend(datum.to_i128().and_then(|value| u64::try_from(value).ok()));
        numbers.extend(datum.to_f64());
        if value.element == ElementType::Text {
            texts.push(text(&datum));
        } else {
            let mut text = String::new();
            datum.write_json(&mut text);
            others.push(text);
        }
    }
    let count = others.len().max(texts.len());
    // As floating-point numbers, large integers would lose digits.
    let rounds =
        value.element.is_real() && !matches!(value.element, ElementType::Int(_) | ElementType::UInt(_));
    let kind = Kind::of(&value.element).unwrap_or(Kind::I64); // of integers that netCDF does not have
    let told = match () {
        () if count == 0 => return None,
        () if whole.len() == count => Told::Whole(whole, kind),
        () if natural.len() == count => Told::Natural(natural),
        () if numbers.len() == count && rounds => Told::Numbers(numbers, kind),
        () if texts.len() == count && shape.is_empty() => Told::Text(texts.pop()?),
        () if texts.len() == count => Told::Texts(texts),
        () => {
            let json = if count == 1 { others.pop()? } else { format!("[{}]", others.join(", ")) };
            let why = format!("is of type {}, which {AS_JSON}", value.element);
            return Some(Said { told: Told::Text(json), changes: vec![why] });
        }
    };
    let mut changes = Vec::new();
    if matches!(value.element, ElementType::Enum { .. }) {
        changes.push(format!("is of an enumeration, whose names are left out: it becomes {}", kind.word()));
    }
    if value.element == ElementType::Bool {
        changes.push(format!("has truth values, which become {}", kind.word()));
    }
    if shape.len() > 1 {
        changes.push(format!("has {} dimensions, of which a list of {count} values is left", shape.len()));
    }
    Some(Said { told, changes })
}

/// Returns a value of a tree as the value of an attribute, and what changes in it; `None` for what has no meaning there.
pub(super) fn told(value: &Value) -> Option<Said> {
    let told = match value {
        Value::Text(text) => Told::Text(text.clone()),
        Value::Integer(_) | Value::Float(_) => match numbers(std::slice::from_ref(value)) {
            Some(told) => told,
            None => return Some(json(value, "is an integer of more than 64 bits")),
        },
        Value::List(values) => match numbers(values).or_else(|| texts(values)) {
            Some(told) => told,
            None if values.contains(&Value::Null) => return None,
            None => return Some(json(value, "is a list of other values than numbers or texts")),
        },
        Value::Bool(_) => return Some(json(value, "is a truth value")),
        Value::Record(_) => return Some(json(value, "is a record")),
        Value::Complex(..) => return Some(json(value, "is a complex number")),
        Value::Null | Value::Bytes(_) => return None,
    };
    Some(Said { told, changes: Vec::new() })
}

/// Returns a value as a text, and why it becomes one.
fn json(value: &Value, what: &str) -> Said {
    Said { told: Told::Text(value.to_json()), changes: vec![format!("{what}, which {AS_JSON}")] }
}

/// Returns numbers of one type, which have all of them without a change; `None` if there are none or other values, or if there is no
/// such type.
fn numbers(values: &[Value]) -> Option<Told> {
    let all = |parse: fn(&Value) -> bool| !values.is_empty() && values.iter().all(parse);
    if all(|value| matches!(value, Value::Integer(_))) {
        let digits =
            || values.iter().map(|value| if let Value::Integer(digits) = value { &**digits } else { "" });
        let whole = digits().map(|digits| digits.parse().ok()).collect::<Option<Vec<i64>>>();
        let natural = || digits().map(|digits| digits.parse().ok()).collect::<Option<Vec<u64>>>();
        return whole.map(|whole| Told::Whole(whole, Kind::I64)).or_else(|| natural().map(Told::Natural));
    }
    let number = |value: &Value| match value {
        Value::Float(number) => Some(*number),
        Value::Integer(digits) => {
            let whole: i64 = digits.parse().ok()?;
            Some(whole as f64).filter(|&number| number as i128 == i128::from(whole))
        }
        _ => None,
    };
    let numbers = values.iter().map(number).collect::<Option<Vec<f64>>>()?;
    (!numbers.is_empty()).then_some(Told::Numbers(numbers, Kind::F64))
}

/// Returns texts; `None` if there are none or other values.
fn texts(values: &[Value]) -> Option<Told> {
    let text = |value: &Value| if let Value::Text(text) = value { Some(text.clone()) } else { None };
    let texts = values.iter().map(text).collect::<Option<Vec<String>>>()?;
    (!texts.is_empty()).then_some(Told::Texts(texts))
}
