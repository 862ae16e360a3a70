//! What is said of the object that is selected: its kind, how it is stored, its attributes.

use sciformats::{ArrayInfo, File, Object};

use super::tree::Leads;
use crate::commands::attrs;
use crate::gather::is_number;
use crate::look;

/// Attributes that are shown at most.
const ATTRIBUTES: usize = 500;

/// A line: what, its value, and whether it tells that something is wrong.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) wrong: bool,
}

/// An object in words.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Details {
    pub(super) path: String,
    pub(super) lines: Vec<Said>,
    /// The shape, if it is an array that has elements.
    pub(super) shape: Option<Vec<u64>>,
    /// Whether its elements are numbers.
    pub(super) is_number: bool,
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

/// Looks at an object.
pub(super) fn details(file: &File, path: &str, leads: Option<&Leads>) -> Details {
    let mut found = Details { path: path.into(), ..Details::default() };
    let id = match leads {
        Some(Leads::To(id)) => *id,
        Some(Leads::Away(target)) => {
            found.say("link", target, false);
            return found;
        }
        None => return found,
    };
    match file.source().object(id) {
        Ok(Object::Array(info)) => array(&mut found, &info),
        Ok(Object::Value(value)) => found.say("value", value.to_string(), false),
        Ok(Object::Datatype(element)) => found.say("datatype", element.to_string(), false),
        Ok(Object::Damaged { error, .. }) | Err(error) => found.complain("damaged", &error),
        Ok(Object::Group) if path == "/" => {
            found.say("format", file.format().to_string(), false);
            found.say("size", look::size(file.size()), false);
            for (key, value) in file.source().facts() {
                found.say(key, value.to_string(), false);
            }
        }
        Ok(Object::Group) => found.say("kind", "group", false),
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

fn array(found: &mut Details, info: &ArrayInfo) {
    found.is_number = is_number(&info.element);
    found.shape = info.shape.clone();
    found.say("type", info.element.to_string(), false);
    found.say("shape", look::shape(info.shape.as_deref()), false);
    let sizes = (info.logical().map(look::size), info.stored.map(look::size));
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
