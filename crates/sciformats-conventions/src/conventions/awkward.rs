//! Arrays of lists, records and missing values by Awkward Array, which AnnData stores as a group of buffers.
//!
//! Sources: "awkward-array" in the documentation of AnnData's formats; "Awkward Array architecture" and `ak.to_buffers` in
//! the documentation of Awkward Array. The attribute `form` is JSON that describes how the buffers form the array, and
//! `length` is the number of its elements. A buffer is called after the `form_key` of its node: `node1-offsets`.

use sciformats::{Datum, Decoder, Error, Range, Result, Slab};
use serde_json::{Map, Value};

use crate::convention::Meaning;
use crate::node::Node;
use crate::table::{Column, Table};

/// The deepest nesting of a form.
const DEPTH: usize = 32;
/// The number of elements that one call decodes.
const MOST: u64 = 1 << 22;

/// Decodes an array as a table with one column, whose cells are JSON.
pub(crate) fn array(node: &Node) -> Result<Option<Meaning>> {
    let (Some(_), Some(rows)) = (form(node)?, node.number("length")?) else { return Ok(None) };
    let columns = vec![Column::computed(node, cells)];
    Ok(Some(Meaning::Table(Table {
        omitted: Vec::new(),
        path: node.path().to_owned(),
        rows: rows as u64,
        index: Vec::new(),
        columns,
    })))
}

fn form(node: &Node) -> Result<Option<Value>> {
    Ok(node.text("form")?.and_then(|form| serde_json::from_str(&form).ok()))
}

/// Returns some elements as JSON; missing ones are missing, and texts are plain.
fn cells(node: &Node, (first, count): (u64, u64)) -> Result<Vec<Option<String>>> {
    let form = form(node)?.unwrap_or_default();
    let mut left = MOST;
    let values = Buffers { group: node }.elements(&form, (first, count), 0, &mut left)?;
    let shown = |value: Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    Ok(values.into_iter().map(shown).collect())
}

struct Buffers<'a> {
    group: &'a Node,
}

fn wrong(what: &str) -> Error {
    Error::usage("awkward array", what.to_owned())
}

impl Buffers<'_> {
    /// Returns the elements of a buffer as numbers.
    fn read(&self, form: &Value, part: &str, (first, count): (u64, u64)) -> Result<Vec<Value>> {
        let key = form.get("form_key").and_then(Value::as_str).unwrap_or_default();
        let name = format!("{key}-{part}");
        let missing = || wrong(&format!("has no buffer {name}"));
        let node = self.group.child(&name)?.ok_or_else(missing)?;
        let info = node.info()?.ok_or_else(missing)?;
        let &[length] = info.shape.as_deref().unwrap_or_default() else { return Err(missing()) };
        if first.checked_add(count).is_none_or(|end| end > length) {
            return Err(wrong(&format!("refers to more elements than {name} has")));
        }
        let mut bytes = Vec::new();
        node.file().read(node.id(), &Slab::new(&[length], [Range::new(first, count)])?, &mut bytes)?;
        let mut values = Vec::new();
        for datum in Decoder::new(&info.element, &bytes) {
            values.push(match datum? {
                Datum::Bool(truth) => Value::Bool(truth),
                Datum::Float(number, _) => serde_json::Number::from_f64(number)
                    .map_or_else(|| Value::String(number.to_string()), Value::Number),
                other => match other.to_i128() {
                    Some(number) => match i64::try_from(number) {
                        Ok(number) => Value::from(number),
                        Err(_) => u64::try_from(number).map_or(Value::Null, Value::from),
                    },
                    None => Value::String(other.to_string()),
                },
            });
        }
        Ok(values)
    }

    fn whole(&self, form: &Value, part: &str, range: (u64, u64)) -> Result<Vec<i64>> {
        let values = self.read(form, part, range)?;
        values
            .iter()
            .map(|value| value.as_i64().ok_or_else(|| wrong("has an index that is no integer")))
            .collect()
    }

    /// Returns the elements of a node of the form.
    fn elements(
        &self,
        form: &Value,
        (first, count): (u64, u64),
        depth: usize,
        left: &mut u64,
    ) -> Result<Vec<Value>> {
        if depth >= DEPTH {
            return Err(Error::unsupported(format!(
                "an awkward array that is nested more than {DEPTH} times"
            )));
        }
        *left = left
            .checked_sub(count)
            .ok_or_else(|| Error::unsupported("reading so many elements of an awkward array at once"))?;
        let content = form.get("content").unwrap_or(&Value::Null);
        let class = form.get("class").and_then(Value::as_str).unwrap_or_default();
        let class = class.trim_end_matches("_64").trim_end_matches("_32").trim_end_matches("_8");
        let class = class.split("Array").next().unwrap_or_default();
        match class {
            "Empty" => Ok(Vec::new()),
            "Unmasked" => self.elements(content, (first, count), depth + 1, left),
            "Numpy" => {
                let inner = form.get("inner_shape").and_then(Value::as_array).map_or(0, Vec::len);
                if inner > 0 {
                    return Err(Error::unsupported(
                        "an awkward array of NumPy arrays with several dimensions",
                    ));
                }
                self.read(form, "data", (first, count))
            }
            "ListOffset" => {
                let offsets = self.whole(form, "offsets", (first, count.saturating_add(1)))?; // a bound: the range is checked when it is read
                let pairs = offsets.iter().copied().zip(offsets.iter().copied().skip(1));
                let starts: Vec<(i64, i64)> = pairs.collect();
                self.lists((form, content), &starts, depth, left)
            }
            "List" => {
                let starts = self.whole(form, "starts", (first, count))?;
                let stops = self.whole(form, "stops", (first, count))?;
                self.lists((form, content), &starts.into_iter().zip(stops).collect::<Vec<_>>(), depth, left)
            }
            "Regular" => {
                let size = form.get("size").and_then(Value::as_i64).unwrap_or_default();
                let start = i64::try_from(first).map_err(|_| wrong("is too long"))?;
                let ends = (0..).map(|at: i64| start.checked_add(at)?.checked_mul(size));
                let each = ends.take(usize::try_from(count).unwrap_or(usize::MAX)); // a bound: the count is limited above
                let starts =
                    each.map(|start| start.and_then(|start| Some((start, start.checked_add(size)?))));
                let starts = starts.collect::<Option<Vec<_>>>().ok_or_else(|| wrong("is too long"))?;
                self.lists((form, content), &starts, depth, left)
            }
            "Record" => self.records(form, (first, count), depth, left),
            "Indexed" | "IndexedOption" => {
                let index = self.whole(form, "index", (first, count))?;
                self.gathered(content, &index, depth, left)
            }
            "ByteMasked" => {
                let mask = self.whole(form, "mask", (first, count))?;
                let valid = form.get("valid_when").and_then(Value::as_bool).unwrap_or(true);
                let values = self.elements(content, (first, count), depth + 1, left)?;
                let held =
                    |(value, mask): (Value, i64)| if (mask != 0) == valid { value } else { Value::Null };
                Ok(values.into_iter().zip(mask).map(held).collect())
            }
            "BitMasked" => {
                let valid = form.get("valid_when").and_then(Value::as_bool).unwrap_or(true);
                let low_first = form.get("lsb_order").and_then(Value::as_bool).unwrap_or(true);
                let (byte, last) = (first / 8, first.saturating_add(count).div_ceil(8)); // a bound: the range is checked when it is read
                let mask = self.whole(form, "mask", (byte, last.saturating_sub(byte)))?; // a bound: the range is checked when it is read
                let values = self.elements(content, (first, count), depth + 1, left)?;
                let bit = |at: u64| {
                    let place = usize::try_from(at / 8 - byte).ok().and_then(|place| mask.get(place));
                    let shift = if low_first { at % 8 } else { 7 - at % 8 };
                    place.is_some_and(|bits| bits >> shift & 1 == 1)
                };
                let held = |(at, value): (u64, Value)| if bit(at) == valid { value } else { Value::Null };
                Ok((first..).zip(values).map(held).collect())
            }
            "Union" => {
                let tags = self.whole(form, "tags", (first, count))?;
                let index = self.whole(form, "index", (first, count))?;
                let mut values = Vec::new();
                for (tag, at) in tags.into_iter().zip(index) {
                    let of = usize::try_from(tag).ok().and_then(|tag| form.get("contents")?.get(tag));
                    let of = of.ok_or_else(|| wrong("has a tag without contents"))?;
                    values.append(&mut self.gathered(of, &[at], depth, left)?);
                }
                Ok(values)
            }
            other => Err(Error::unsupported(format!("the class {other:?} of awkward arrays"))),
        }
    }

    /// Returns lists that lie between two ends of the content each; those of characters are texts.
    fn lists(
        &self,
        (form, content): (&Value, &Value),
        ends: &[(i64, i64)],
        depth: usize,
        left: &mut u64,
    ) -> Result<Vec<Value>> {
        let kind =
            form.get("parameters").and_then(|parameters| parameters.get("__array__")).and_then(Value::as_str);
        let mut lists = Vec::new();
        // Most lists lie one behind the other, and are read together.
        let whole = (ends.first(), ends.last());
        let adjacent = ends.iter().zip(ends.iter().skip(1)).all(|(one, next)| one.1 == next.0);
        let place = |end: i64| u64::try_from(end).map_err(|_| wrong("has a negative offset"));
        let span = |(start, stop): (i64, i64)| -> Result<(u64, u64)> {
            let (start, stop) = (place(start)?, place(stop)?);
            let count = stop.checked_sub(start).ok_or_else(|| wrong("has offsets that fall"))?;
            Ok((start, count))
        };
        let mut together = match whole {
            (Some(first), Some(last)) if adjacent => {
                Some(self.elements(content, span((first.0, last.1))?, depth + 1, left)?.into_iter())
            }
            _ => None,
        };
        for &end in ends {
            let (start, count) = span(end)?;
            let list: Vec<Value> = match &mut together {
                Some(all) => all.take(usize::try_from(count).unwrap_or(usize::MAX)).collect(), // a bound
                None => self.elements(content, (start, count), depth + 1, left)?,
            };
            lists.push(match kind {
                Some("string" | "bytestring") => {
                    let bytes =
                        list.iter().filter_map(|byte| u8::try_from(byte.as_u64()?).ok()).collect::<Vec<u8>>();
                    Value::String(String::from_utf8_lossy(&bytes).into_owned())
                }
                _ => Value::Array(list),
            });
        }
        Ok(lists)
    }

    fn records(&self, form: &Value, range: (u64, u64), depth: usize, left: &mut u64) -> Result<Vec<Value>> {
        let contents = form.get("contents").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let names = form.get("fields").and_then(Value::as_array);
        let mut columns = Vec::new();
        for content in contents {
            columns.push(self.elements(content, range, depth + 1, left)?.into_iter());
        }
        let mut records = Vec::new();
        for _ in 0..range.1 {
            let mut next = |at: usize| columns.get_mut(at).and_then(Iterator::next).unwrap_or(Value::Null);
            records.push(match names {
                Some(names) => {
                    let mut record = Map::new();
                    for (at, name) in names.iter().enumerate() {
                        record.insert(name.as_str().unwrap_or_default().to_owned(), next(at));
                    }
                    Value::Object(record)
                }
                // A tuple has no names.
                None => Value::Array((0..contents.len()).map(next).collect()),
            });
        }
        Ok(records)
    }

    /// Returns the elements at some places; a negative one is missing.
    fn gathered(&self, content: &Value, index: &[i64], depth: usize, left: &mut u64) -> Result<Vec<Value>> {
        let held = index.iter().copied().filter(|at| *at >= 0);
        let (Some(least), Some(most)) = (held.clone().min(), held.max()) else {
            return Ok(vec![Value::Null; index.len()]);
        };
        let start = u64::try_from(least).unwrap_or_default();
        let count = u64::try_from(most).unwrap_or_default().saturating_sub(start).saturating_add(1); // a bound: the range is checked when it is read
        let all = self.elements(content, (start, count), depth + 1, left)?;
        let one = |at: &i64| {
            let place = at.checked_sub(least).and_then(|place| usize::try_from(place).ok());
            place.filter(|_| *at >= 0).and_then(|place| all.get(place)).cloned().unwrap_or(Value::Null)
        };
        Ok(index.iter().map(one).collect())
    }
}

#[cfg(test)]
mod tests {
    use sciformats::memory::{Memory, array, texts};
    use sciformats::{File, Format};

    use crate::Dataset;

    fn data(form: &str, length: i64, buffers: impl FnOnce(&mut Memory, sciformats::ObjectId)) -> Dataset {
        let mut tree = Memory::new(Format::Hdf5);
        tree.attribute(tree.root(), "encoding-type", texts(&[], &["anndata"]));
        let group = tree.group(tree.root(), "a");
        tree.attribute(group, "encoding-type", texts(&[], &["awkward-array"]));
        tree.attribute(group, "form", texts(&[], &[form]));
        tree.attribute(group, "length", array::<i64>(&[], &[length]));
        buffers(&mut tree, group);
        Dataset::new(File::from(tree))
    }

    fn cells(data: &Dataset, first: u64, count: u64) -> Vec<Option<String>> {
        let table = data.table("/a").unwrap();
        table.columns[0].read(first, count).unwrap().cells().unwrap()
    }

    #[test]
    fn lists_of_records_with_missing_ones() {
        let form = r#"{"class": "ListOffsetArray", "offsets": "i64", "form_key": "node0", "content":
            {"class": "RecordArray", "fields": ["x", "name"], "form_key": "node1", "contents": [
                {"class": "IndexedOptionArray", "index": "i64", "form_key": "node2", "content":
                    {"class": "NumpyArray", "primitive": "float64", "form_key": "node3"}},
                {"class": "ListOffsetArray", "parameters": {"__array__": "string"}, "form_key": "node4", "content":
                    {"class": "NumpyArray", "primitive": "uint8", "parameters": {"__array__": "char"}, "form_key": "node5"}}]}}"#;
        let data = data(form, 3, |tree, group| {
            tree.array(group, "node0-offsets", array::<i64>(&[4], &[0, 2, 2, 3]));
            tree.array(group, "node2-index", array::<i64>(&[3], &[1, -1, 0]));
            tree.array(group, "node3-data", array::<f64>(&[2], &[0.5, 1.5]));
            tree.array(group, "node4-offsets", array::<i64>(&[4], &[0, 1, 1, 4]));
            tree.array(group, "node5-data", array::<u8>(&[4], b"abcd"));
        });
        let all = [r#"[{"x":1.5,"name":"a"},{"x":null,"name":""}]"#, "[]", r#"[{"x":0.5,"name":"bcd"}]"#];
        assert_eq!(cells(&data, 0, 3), all.map(|text| Some(text.to_owned())));
        assert_eq!(cells(&data, 2, 1), [Some(all[2].to_owned())]);
    }

    #[test]
    fn masks_unions_and_lists_of_one_size() {
        let form = r#"{"class": "BitMaskedArray", "mask": "u8", "valid_when": true, "lsb_order": true, "form_key": "node0",
            "content": {"class": "RegularArray", "size": 2, "form_key": "node1", "content":
                {"class": "UnionArray", "tags": "i8", "index": "i64", "form_key": "node2", "contents": [
                    {"class": "NumpyArray", "primitive": "int64", "form_key": "node3"},
                    {"class": "NumpyArray", "primitive": "bool", "form_key": "node4"}]}}}"#;
        let data = data(form, 2, |tree, group| {
            tree.array(group, "node0-mask", array::<u8>(&[1], &[0b10]));
            tree.array(group, "node2-tags", array::<i8>(&[4], &[0, 0, 1, 0]));
            tree.array(group, "node2-index", array::<i64>(&[4], &[0, 1, 0, 2]));
            tree.array(group, "node3-data", array::<i64>(&[3], &[7, 8, 9]));
            tree.array(group, "node4-data", array::<u8>(&[1], &[1]));
        });
        assert_eq!(cells(&data, 0, 2), [None, Some("[1,9]".into())]);
    }

    #[test]
    fn what_is_wrong_is_an_error() {
        let list = |content: &str| {
            format!(r#"{{"class": "ListOffsetArray", "form_key": "n", "content": {content}}}"#)
        };
        let numbers = r#"{"class": "NumpyArray", "primitive": "int64", "form_key": "m"}"#;
        for (form, offsets, problem) in [
            (list(numbers), [0, 9], "more elements than m-data has"),
            (list(numbers), [2, 1], "offsets that fall"),
            (list(numbers), [-1, 1], "negative offset"),
            (list(r#"{"class": "OtherArray"}"#), [0, 1], "the class \"Other\""),
            (list(r#"{"class": "NumpyArray", "form_key": "z"}"#), [0, 1], "no buffer z-data"),
            (list("{}").clone(), [0, 1], "the class"),
        ] {
            let data = data(&form, 1, |tree, group| {
                tree.array(group, "n-offsets", array::<i64>(&[2], &offsets));
                tree.array(group, "m-data", array::<i64>(&[2], &[1, 2]));
            });
            let table = data.table("/a").unwrap();
            let error = table.columns[0].read(0, 1).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
