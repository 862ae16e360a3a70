//! Pickled arrays of objects.

use std::sync::Arc;

use sciformats::{Error, Result};

use super::Item;
use super::names::name;
use super::objects::whole;
use super::opcodes::parse;

/// Returns the sides of an array that are stored as a pickled tuple.
pub(crate) fn sides(bytes: &[u8]) -> Option<Vec<u64>> {
    match &*parse(bytes)? {
        Item::List(sides) => sides.iter().map(|side| u64::try_from(whole(side)?).ok()).collect(),
        _ => None,
    }
}

/// Returns the elements of a pickled array of objects: texts, numbers, and what pandas calls missing. They are the longest list in
/// the state of the array. `None` if the pickle is not such an array.
///
/// # Errors
///
/// [`Error::Unsupported`] if an element is any other object, because only running the pickle could tell what it is.
pub(crate) fn elements(bytes: &[u8]) -> Result<Option<Vec<Option<String>>>> {
    each_element(bytes).map(|elements| elements.into_iter().collect()).transpose()
}

/// As [`elements`], with an error for each element that is any other object.
pub(crate) fn each_element(bytes: &[u8]) -> Option<Vec<Result<Option<String>>>> {
    /// The deepest nesting of lists that is searched.
    const DEPTH: usize = 4;
    fn longest(item: &Item, depth: usize) -> Option<&Vec<Arc<Item>>> {
        let (Item::List(list) | Item::Object(_, list)) = item else { return None };
        let inner = if depth == 0 {
            None
        } else {
            list.iter().filter_map(|item| longest(item, depth - 1)).max_by_key(|list| list.len())
        };
        match item {
            Item::List(_) => inner.filter(|inner| inner.len() >= list.len()).or(Some(list)),
            _ => inner,
        }
    }
    let item = parse(bytes)?;
    // The state is the last part of the object: version, shape, type, order, elements.
    let state = match &*item {
        Item::Object(_, parts) => match parts.last().map(|state| &**state) {
            Some(Item::List(state)) => state.last().and_then(|elements| longest(elements, DEPTH)),
            _ => None,
        },
        other => longest(other, DEPTH),
    };
    state.map(|state| state.iter().map(|item| element(item)).collect())
}

/// Returns an element of an array of objects; `None` if it is missing.
pub(super) fn element(item: &Item) -> Result<Option<String>> {
    match item {
        Item::Nothing => Ok(None),
        Item::Number(number) if number.is_nan() => Ok(None),
        // The missing values of pandas, and the missing date.
        Item::Object(class, _)
            if matches!(class.as_str(), "NA" | "NaT" | "NAType" | "_nat_unpickle" | "__nat_unpickle") =>
        {
            Ok(None)
        }
        // What a list contains is no name of it.
        Item::List(_) => Err(Error::unsupported("a list inside a pickle (pickles are never run)")),
        other => name(other).map(Some).ok_or_else(|| {
            let what = match other {
                Item::Object(class, _) => format!("of the class {class}"),
                _ => "of bytes that are no text".to_owned(),
            };
            Error::unsupported(format!("an element {what} inside a pickle (pickles are never run)"))
        }),
    }
}
