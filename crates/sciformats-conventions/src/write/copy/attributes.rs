//! The attributes that netCDF can have, from attributes and values of the source.

use sciformats::{AttributeValue, Decoder, ElementType, Result, Value};

use super::Told;
use super::kind::text;
use crate::dataset::Dataset;
use crate::decoding::Decoding;
use crate::variable::Variable;

/// Attributes that belong to the way in which netCDF stores its files.
const OWN: [&str; 9] = [
    "CLASS",
    "NAME",
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "DIMENSION_LABELS",
    "_FillValue",
    "_NCProperties",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
];

/// Adds the attributes that say what integers stand for.
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

/// Returns the attributes of the array of a variable, except those that its description contains or that its decoding has used.
pub(super) fn attributes_of(
    variable: &Variable,
    losses: &mut Vec<(String, String)>,
) -> Result<Vec<(String, Told)>> {
    /// How stored numbers become values.
    const USED: [&str; 7] =
        ["scale_factor", "add_offset", "missing_value", "valid_min", "valid_max", "valid_range", "_Unsigned"];
    /// What has the type of the variable.
    const OWN_TYPE: [&str; 6] =
        ["missing_value", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks"];
    let time = matches!(variable.decoding, Decoding::Time { .. } | Decoding::SecondsAndMicroseconds);
    let whole = matches!(variable.element(), ElementType::Int(_) | ElementType::UInt(_));
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
    all.retain(|(name, _)| !said(name));
    for (name, told) in &mut all {
        if let Told::Whole(numbers) = told
            && whole
            && OWN_TYPE.contains(&name.as_str())
        {
            *told = Told::Own(numbers.iter().map(|&number| number.into()).collect());
        }
    }
    Ok(all)
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

/// Returns the attributes of an object as far as netCDF can have them.
pub(super) fn attributes(
    data: &Dataset,
    path: &str,
    losses: &mut Vec<(String, String)>,
) -> Result<Vec<(String, Told)>> {
    let node = data.node(path)?;
    let mut all = Vec::new();
    for attribute in data.file().source().attributes(node.id())? {
        let attribute = attribute?;
        let name = attribute.name.shown().into_owned();
        // How Blosc2 divides an array into blocks is of no use to others.
        if OWN.contains(&name.as_str()) || name.starts_with("meta:") {
            continue;
        }
        #[cfg(feature = "blosc2")]
        if let Some(inner) = name.strip_prefix(crate::metalayer::PREFIX) {
            let value = attribute.value.as_ref().ok().and_then(|value| value.data.as_ref().ok());
            let told = value.and_then(|bytes| crate::metalayer::attribute(bytes)).as_ref().and_then(said);
            // What is neither a number nor a text is told as JSON.
            let json = || data.file().source().attribute_json(node.id(), &attribute).map(Told::Text);
            if let Some(told) = told.or_else(json) {
                all.push((inner.replace('/', "_"), told));
                continue;
            }
        }
        match attribute.value.ok().as_ref().and_then(said) {
            Some(told) => all.push((name.replace('/', "_"), told)),
            None => losses
                .push((format!("{path}@{name}"), "is a value that an attribute of netCDF cannot be".into())),
        }
    }
    Ok(all)
}

/// Returns the value of an attribute: numbers, texts, or anything else as JSON.
pub(super) fn said(value: &AttributeValue) -> Option<Told> {
    let shape = value.shape.as_ref()?;
    let bytes = value.data.as_ref().ok()?;
    let (mut numbers, mut whole, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    let mut others = Vec::new();
    for datum in Decoder::new(&value.element, bytes) {
        let datum = datum.ok()?;
        whole.extend(datum.to_i128().and_then(|value| i64::try_from(value).ok()));
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
    match () {
        () if count == 0 => None,
        () if whole.len() == count && value.element != ElementType::Bool => Some(Told::Whole(whole)),
        () if numbers.len() == count && value.element.is_real() => Some(Told::Numbers(numbers)),
        () if texts.len() == count && shape.is_empty() => texts.pop().map(Told::Text),
        () if texts.len() == count => Some(Told::Texts(texts)),
        () if count == 1 => others.pop().map(Told::Text),
        () => Some(Told::Text(format!("[{}]", others.join(", ")))),
    }
}

/// Returns a value of a tree as the value of an attribute; `None` for what has no meaning there.
pub(super) fn told(value: &Value) -> Option<Told> {
    Some(match value {
        Value::Text(text) => Told::Text(text.clone()),
        Value::Bool(truth) => Told::Text(truth.to_string()),
        Value::Integer(digits) => match digits.parse() {
            Ok(number) => Told::Whole(vec![number]),
            Err(_) => Told::Text(digits.to_string()),
        },
        Value::Float(number) => Told::Numbers(vec![*number]),
        Value::List(values) if !values.is_empty() => {
            let each: Option<Vec<Told>> = values.iter().map(told).collect();
            let mut whole = Vec::new();
            let (mut numbers, mut texts) = (Vec::new(), Vec::new());
            for one in each? {
                match one {
                    Told::Whole(one) => {
                        numbers.extend(one.iter().map(|&number| number as f64));
                        whole.extend(one);
                    }
                    Told::Numbers(one) => numbers.extend(one),
                    Told::Text(one) => texts.push(one),
                    _ => return Some(Told::Text(value.to_json())),
                }
            }
            match values.len() {
                count if whole.len() == count => Told::Whole(whole),
                count if numbers.len() == count => Told::Numbers(numbers),
                count if texts.len() == count => Told::Texts(texts),
                _ => Told::Text(value.to_json()),
            }
        }
        Value::Null | Value::Bytes(_) => return None,
        Value::List(_) | Value::Record(_) | Value::Complex(..) => Told::Text(value.to_json()),
    })
}
