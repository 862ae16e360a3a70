//! Attributes, and the elements of small arrays, in the forms that conventions need.

use sciformats::{AttributeValue, Datum, Decoder, ElementType, Name, Object, Result, Slab};

use super::Node;
#[cfg(feature = "blosc2")]
use crate::metalayer;

/// The number of elements of a small array that are read to examine a file: names of columns, a version, a
/// header.
const SMALL: u64 = 1 << 20;

/// Returns the texts among the elements of an attribute or array; `None` if an element is something else.
fn texts(element: &ElementType, bytes: &[u8]) -> Result<Option<Vec<String>>> {
    let mut texts = Vec::new();
    for datum in Decoder::new(element, bytes) {
        match datum? {
            Datum::Text(text) => texts.push(String::from_utf8_lossy(text).into_owned()),
            Datum::List(list) => {
                for part in list {
                    let Datum::Text(text) = part else { return Ok(None) };
                    texts.push(String::from_utf8_lossy(text).into_owned());
                }
            }
            Datum::Bytes(bytes) => {
                texts.push(String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned());
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(texts))
}

impl Node {
    /// Returns an attribute; `None` if there is no attribute with this name.
    ///
    /// # Errors
    ///
    /// An error if the attributes cannot be searched, or if the value cannot be read.
    pub fn attribute(&self, name: &str) -> Result<Option<AttributeValue>> {
        let source = self.file().source();
        let details = source.details();
        if details.is_some_and(|details| self.tree.lacks(details, self.id, name)) {
            return Ok(None);
        }
        let name = Name::from(name);
        let found = match details {
            Some(details) => details.attribute(self.id, &name)?,
            None => {
                source.attributes(self.id)?.filter_map(Result::ok).find(|attribute| attribute.name == name)
            }
        };
        #[cfg(feature = "blosc2")]
        if found.is_none() && source.format() == sciformats::Format::Blosc2 {
            return self.metalayer(&name);
        }
        found.map(|attribute| attribute.value).transpose()
    }

    /// Returns the attribute that a metalayer of Blosc2 contains: `units` is stored as `vlmeta:units`.
    #[cfg(feature = "blosc2")]
    pub(super) fn metalayer(&self, name: &Name) -> Result<Option<AttributeValue>> {
        let stored = Name::from(format!("{}{}", metalayer::PREFIX, name.shown()).as_str());
        let mut attributes = self.file().source().attributes(self.id)?.filter_map(Result::ok);
        match attributes.find(|attribute| attribute.name == stored) {
            Some(attribute) => Ok(metalayer::attribute(&attribute.value?.data?)),
            None => Ok(None),
        }
    }

    /// Returns whether there is an attribute with this name.
    ///
    /// # Errors
    ///
    /// As [`attribute`](Self::attribute).
    pub fn has(&self, name: &str) -> Result<bool> {
        Ok(self.attribute(name)?.is_some())
    }

    /// Returns the names of the attributes, in the order of creation if it is recorded.
    ///
    /// # Errors
    ///
    /// An error if they cannot be listed.
    pub fn attribute_names(&self) -> Result<Vec<String>> {
        let source = self.file().source();
        let names = match source.details() {
            Some(details) => details.attribute_names(self.id)?,
            None => source
                .attributes(self.id)?
                .map(|found| found.map(|found| found.name))
                .collect::<Result<_>>()?,
        };
        Ok(names.iter().map(|name| name.shown().into_owned()).collect())
    }

    /// Returns the texts of an attribute; `None` if there is no such attribute, or if it contains something
    /// else.
    ///
    /// # Errors
    ///
    /// As [`attribute`](Self::attribute).
    pub fn texts(&self, name: &str) -> Result<Option<Vec<String>>> {
        let Some(value) = self.attribute(name)? else { return Ok(None) };
        if value.shape.is_none() {
            return Ok(None);
        }
        texts(&value.element, &value.data?)
    }

    /// Returns the text of an attribute; `None` if there is no such attribute, or if it contains something
    /// else or several texts.
    ///
    /// # Errors
    ///
    /// As [`attribute`](Self::attribute).
    pub fn text(&self, name: &str) -> Result<Option<String>> {
        let texts = self.texts(name)?.unwrap_or_default();
        Ok(<[String; 1]>::try_from(texts).ok().map(|[text]| text))
    }

    /// Returns the numbers of an attribute; `None` if there is no such attribute, or if it contains something
    /// else.
    ///
    /// # Errors
    ///
    /// As [`attribute`](Self::attribute).
    pub fn numbers(&self, name: &str) -> Result<Option<Vec<f64>>> {
        let Some(value) = self.attribute(name)? else { return Ok(None) };
        let bytes = value.data?;
        let numbers = Decoder::new(&value.element, &bytes).map(|datum| datum.map(|datum| datum.to_f64()));
        numbers.collect()
    }

    /// Returns the integers of an attribute; `None` if there is no such attribute, or if it contains
    /// something else.
    ///
    /// # Errors
    ///
    /// As [`attribute`](Self::attribute).
    pub fn integers(&self, name: &str) -> Result<Option<Vec<i128>>> {
        let Some(value) = self.attribute(name)? else { return Ok(None) };
        let bytes = value.data?;
        let numbers = Decoder::new(&value.element, &bytes).map(|datum| datum.map(|datum| datum.to_i128()));
        numbers.collect()
    }

    /// Returns the number of an attribute, if it contains a single number.
    ///
    /// # Errors
    ///
    /// As [`attribute`](Self::attribute).
    pub fn number(&self, name: &str) -> Result<Option<f64>> {
        Ok(self.numbers(name)?.and_then(|numbers| numbers.first().copied()))
    }

    /// Returns the texts of a small array; `None` if it does not contain texts.
    ///
    /// # Errors
    ///
    /// An error if its elements cannot be read.
    pub fn element_texts(&self) -> Result<Option<Vec<String>>> {
        match self.small()? {
            Some((element, bytes)) => texts(&element, &bytes),
            None => match self.object()? {
                Object::Value(sciformats::Value::Text(text)) => Ok(Some(vec![text])),
                _ => Ok(None),
            },
        }
    }

    /// Returns the numbers of a small array; `None` if it does not contain numbers.
    ///
    /// # Errors
    ///
    /// An error if its elements cannot be read.
    pub fn element_numbers(&self) -> Result<Option<Vec<f64>>> {
        let Some((element, bytes)) = self.small()? else { return Ok(None) };
        Decoder::new(&element, &bytes).map(|datum| datum.map(|datum| datum.to_f64())).collect()
    }

    /// Returns the elements of an array that is small enough to be read immediately.
    fn small(&self) -> Result<Option<(ElementType, Vec<u8>)>> {
        let Some(info) = self.info()? else { return Ok(None) };
        let Some(shape) = info.shape.as_ref().filter(|_| info.elements().is_some_and(|count| count <= SMALL))
        else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        self.file().read(self.id, &Slab::all(shape)?, &mut bytes)?;
        Ok(Some((info.element, bytes)))
    }
}
