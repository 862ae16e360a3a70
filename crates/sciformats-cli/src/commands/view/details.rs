//! The description of the selected object: its kind, how it is stored, its attributes.

use sciformats::{ArrayInfo, Object};
use sciformats_conventions::{Dataset, type_name};

use super::tree::Leads;
use crate::commands::attrs;
use crate::commands::ls::meant::{Glance, is_time, look_at};
use crate::gather::is_number;
use crate::look;
use crate::meaning::{Thing, View};

/// The largest number of attributes that are shown.
const ATTRIBUTES: usize = 500;

/// A line with a key, a value, and whether it reports something wrong.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::commands) struct Said {
    pub(in crate::commands) key: String,
    pub(in crate::commands) value: String,
    pub(in crate::commands) wrong: bool,
}

/// The description of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::commands) struct Details {
    pub(super) path: String,
    pub(in crate::commands) lines: Vec<Said>,
    /// The shape, if the object is an array with elements.
    pub(super) shape: Option<Vec<u64>>,
    /// Whether the elements are numbers.
    pub(super) is_number: bool,
    /// The units of the elements.
    pub(super) units: Option<String>,
    /// The number of lines about the meaning, after which statistics stand.
    pub(super) first: usize,
    /// Whether one of these lines tells the first and the last of many dates.
    pub(super) has_ends: bool,
}

impl Details {
    fn say(&mut self, key: &str, value: impl AsRef<str>, wrong: bool) {
        let (key, value) = (look::safe(key).into_owned(), look::safe(value.as_ref()).into_owned());
        self.lines.push(Said { key, value, wrong });
    }

    fn complain(&mut self, key: &str, error: &sciformats::Error) {
        self.say(key, error.to_string(), true);
    }
}

/// Describes an object.
pub(in crate::commands) fn details(
    (data, view): (&Dataset, View),
    path: &str,
    leads: Option<&Leads>,
) -> Details {
    let file = data.file();
    let mut found = Details { path: path.into(), ..Details::default() };
    let id = match leads {
        Some(Leads::To(id)) => *id,
        Some(Leads::Away(target)) => {
            found.say("link", target, false);
            return found;
        }
        None => return found,
    };
    match file.source().measured(id) {
        Ok(Object::Array(info)) => {
            meant(&mut found, (data, view), &info);
            found.first = found.lines.len();
            array(&mut found, &info, file.source().sized(id).err().as_ref());
        }
        Ok(Object::Value(value)) => found.say("value", value.to_string(), false),
        Ok(Object::Datatype(element)) => found.say("datatype", type_name(&element), false),
        Ok(Object::Damaged { error, .. }) | Err(error) => found.complain("damaged", &error),
        Ok(Object::Group) if path == "/" => {
            found.say("format", file.format().to_string(), false);
            found.say("size", look::size(file.size()), false);
            convention(&mut found, data);
            for (key, value) in file.source().facts() {
                found.say(key, value.to_string(), false);
            }
        }
        Ok(Object::Group) => {
            group(&mut found, (data, view));
            found.first = found.lines.len();
        }
    }
    match file.source().attributes(id) {
        Ok(attributes) => {
            for attribute in attributes.take(ATTRIBUTES) {
                match attribute {
                    Ok(attribute) => {
                        let meaning = file.source().attribute_json(id, &attribute);
                        let value = attrs::brief_value(&attribute, meaning.as_deref());
                        let wrong = value.is_err();
                        found.say(
                            &format!("@{}", attribute.name),
                            value.unwrap_or_else(|error| error),
                            wrong,
                        );
                    }
                    Err(error) => found.complain("@", &error),
                }
            }
        }
        Err(error) => found.complain("attributes", &error),
    }
    found
}

/// Adds the convention of the file.
fn convention(found: &mut Details, data: &Dataset) {
    for identity in data.identities().unwrap_or_default() {
        found.say("convention", identity.to_string(), false);
        if let Some(writer) = &identity.writer {
            found.say("written by", writer, false);
        }
    }
}

/// Adds the description of a group that represents a table or a matrix.
fn group(found: &mut Details, (data, view): (&Dataset, View)) {
    found.say("kind", "group", false);
    if view == View::Stored {
        return;
    }
    let path = found.path.clone();
    let Ok(thing) = Thing::find(data, &path, view) else { return };
    let Ok(array) = thing.array() else { return };
    found.shape = array.info().shape.as_deref().map(<[u64]>::to_vec);
    found.is_number = is_number(array.element());
    match thing.variable() {
        Some(variable) => {
            found.say("shows", variable.signature(), false);
            found.say("values", variable.values_name(), false);
        }
        None => {
            found.say("values", look::clipped(&type_name(array.element()), 200), false);
            found.say("shape", look::shape(array.info().shape.as_deref()), false);
        }
    }
}

/// Adds the meaning of an array: its values, dimensions and names.
fn meant(found: &mut Details, (data, view): (&Dataset, View), info: &ArrayInfo) {
    let (shape, number) = (info.shape.clone(), is_number(&info.element));
    (found.shape, found.is_number) = (shape, number);
    let path = found.path.clone();
    let Ok(thing) = Thing::find(data, &path, view) else { return };
    if let Ok(array) = thing.array() {
        found.shape = array.info().shape.as_deref().map(<[u64]>::to_vec);
        // Flags are numbers with names, and dates are numbers too.
        found.is_number = is_number(array.element()) || thing.is_time() && number;
    }
    let Some(variable) = thing.variable() else { return };
    if thing.is_meant() {
        found.say("values", variable.values_name(), false);
    } else if let Some(units) = &variable.units {
        found.say("units", units, false);
    }
    found.units.clone_from(&variable.units);
    if is_time(variable) {
        found.units = None;
        if let Some(Glance::Ends(first, last)) = look_at(variable) {
            found.say("dates", format!("{first} … {last}"), false);
            found.has_ends = true;
        }
    }
    if let Some(name) = &variable.long_name {
        found.say("name", name, false);
    }
    if variable.has_names() {
        found.say("dimensions", variable.signature(), false);
    }
}

/// Adds how an array is stored, and why its length is unknown if it is.
fn array(found: &mut Details, info: &ArrayInfo, unknown: Option<&sciformats::Error>) {
    found.say("type", type_name(&info.element), false);
    match unknown {
        None => found.say("shape", look::shape(info.shape.as_deref()), false),
        Some(error) => found.complain("of unknown length", error),
    }
    let known = info.logical().filter(|_| unknown.is_none());
    let sizes = (known.map(look::size), info.stored.map(look::size));
    match sizes {
        (Some(logical), Some(stored)) if logical != stored => {
            found.say("size", format!("{logical}, stored in {stored}"), false);
        }
        (Some(size), _) | (None, Some(size)) => found.say("size", size, false),
        (None, None) => {}
    }
    if let Some(chunks) = &info.chunks {
        found.say("chunks", look::shape(Some(chunks)), false);
    }
    if !info.filters.is_empty() {
        found.say("filters", info.filters.join(", "), false);
    }
    for (key, value) in &info.facts {
        found.say(key, value.to_string(), false);
    }
}
