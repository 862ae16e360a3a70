//! Attributes of pandas, which are texts, numbers or pickles, and pickled arrays.

use std::sync::Arc;

use sciformats::{Datum, Decoder, Result, Slab};

use crate::node::Node;
use crate::pickle::{self, Item};

/// Returns the contents of an attribute that is a pickle; `None` if there is no such attribute.
pub(super) fn pickled(node: &Node, name: &str) -> Result<Option<Arc<Item>>> {
    Ok(bytes(node, name)?.filter(|bytes| bytes.ends_with(b".")).and_then(|bytes| pickle::parse(&bytes)))
}

/// Returns the bytes of a text attribute, of which pickles need not be UTF-8.
pub(super) fn bytes(node: &Node, name: &str) -> Result<Option<Vec<u8>>> {
    let Some(value) = node.attribute(name)? else { return Ok(None) };
    if value.shape.is_none() {
        return Ok(None);
    }
    let data = value.data?;
    Ok(match Decoder::new(&value.element, &data).next().transpose()? {
        Some(Datum::Text(text) | Datum::Bytes(text)) => {
            let end = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            text.get(..end).map(<[u8]>::to_vec)
        }
        _ => None,
    })
}

/// Returns a name, which is pickled or a number if it is no text; `None` if there is none.
pub(super) fn word(node: &Node, name: &str) -> Result<Option<String>> {
    if let Some(item) = pickled(node, name)? {
        return Ok(pickle::name(&item));
    }
    if let Some(text) = node.text(name)? {
        return Ok(Some(text));
    }
    if let Some([whole]) = node.integers(name)?.as_deref() {
        return Ok(Some(whole.to_string()));
    }
    Ok(match node.numbers(name)?.as_deref() {
        Some([number]) => Some(number.to_string()),
        _ => None,
    })
}

/// Returns the text that means a missing text in an attribute, where an empty one means that nothing is missing; without the
/// attribute it is `nan`, as pandas wrote it before version 3.
pub(super) fn missing_text(node: &Node, name: &str) -> Result<Option<String>> {
    Ok(match node.has(name)? {
        true => node.text(name)?.filter(|text| !text.is_empty()),
        false => Some("nan".to_owned()),
    })
}

/// Returns the texts of a pickled array of objects, which is stored as bytes of variable length; `None` for
/// any other array.
pub(super) fn objects(node: &Node) -> Result<Option<Vec<Option<String>>>> {
    let Some(pickled) = pickle_of(node)? else { return Ok(None) };
    pickle::elements(&pickled).map_err(|error| error.within(None, Some(node.path())))
}

/// Returns the pickle that such an array is.
pub(super) fn pickle_of(node: &Node) -> Result<Option<Vec<u8>>> {
    if node.text("CLASS")?.as_deref() != Some("VLARRAY")
        || node.text("PSEUDOATOM")?.as_deref() != Some("object")
    {
        return Ok(None);
    }
    let Some(info) = node.info()? else { return Ok(None) };
    let Some(&[rows]) = info.shape.as_deref() else { return Ok(None) };
    let mut bytes = Vec::new();
    node.file().read(node.id(), &Slab::all(&[rows])?, &mut bytes)?;
    let Some(Datum::List(list)) = Decoder::new(&info.element, &bytes).next().transpose()? else {
        return Ok(None);
    };
    Ok(Some(list.iter().filter_map(|byte| u8::try_from(byte.to_i128()?).ok()).collect()))
}
