//! JSON objects, which keep the order of their keys and integers of any size.

use std::borrow::Cow;

use sciformats::model::write_text;
use sciformats::{ArrayInfo, Value};

use crate::look;

/// A JSON object that is being built.
#[derive(Debug)]
pub(super) struct JsonObject(String);

impl JsonObject {
    pub(super) fn new() -> Self {
        Self("{".into())
    }

    /// Adds a key with a value that is already JSON.
    pub(super) fn raw(&mut self, key: &str, json: &str) -> &mut Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        write_text(&mut self.0, key);
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    pub(super) fn value(&mut self, key: &str, value: impl Into<Value>) -> &mut Self {
        self.raw(key, &value.into().to_json())
    }

    pub(super) fn list(&mut self, key: &str, numbers: Option<&[u64]>) -> &mut Self {
        let list =
            numbers.map_or(Value::Null, |numbers| Value::List(numbers.iter().map(|&n| n.into()).collect()));
        self.value(key, list)
    }

    /// Adds the type, shape, chunks, filters and sizes of an array, as far as they are known.
    pub(super) fn array(&mut self, info: &ArrayInfo) -> &mut Self {
        self.raw("type", &info.element.to_json());
        self.list("shape", info.shape.as_deref());
        if info.chunks.is_some() {
            self.list("chunks", info.chunks.as_deref());
        }
        if !info.filters.is_empty() {
            self.value(
                "filters",
                Value::List(info.filters.iter().map(|filter| filter.as_str().into()).collect()),
            );
        }
        if let Some(stored) = info.stored {
            self.value("stored", stored);
        }
        if let Some(logical) = info.logical() {
            self.value("logical", logical);
        }
        self
    }

    pub(super) fn finish(&mut self) -> String {
        self.0.push('}');
        match look::safe_json(&self.0) {
            Cow::Borrowed(_) => std::mem::take(&mut self.0),
            Cow::Owned(escaped) => escaped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_in_order() {
        let mut object = JsonObject::new();
        object.value("b", 1u8).value("a", "x\"y").raw("c", "[]").list("d", Some(&[1, 2])).list("e", None);
        assert_eq!(object.finish(), r#"{"b":1,"a":"x\"y","c":[],"d":[1,2],"e":null}"#);
    }
}
