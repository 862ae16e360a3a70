//! Finds the committed datatypes that an object uses.

use sciformats_core::Result;
use sciformats_core::fault::locate;

use crate::object::attributes;
use crate::object::header::Object;
use crate::space::context::Context;
use crate::spec::Address;
use crate::spec::message::MessageType;
use crate::spec::message::shared::Shared;

/// Returns the committed datatypes that a dataset and the attributes of an object use.
pub(crate) fn datatypes(context: &Context, address: Address, stored: &Object<'_>) -> Result<Vec<Address>> {
    let mut found = of_stored_attributes(context, address)?;
    found.extend(datatype_of(context, stored)?);
    Ok(found)
}

fn of_stored_attributes(context: &Context, address: Address) -> Result<Vec<Address>> {
    attributes::datatypes(context, &attributes::load(context, address)?.0)
}

/// Returns the committed datatype that a dataset uses, if it uses one.
///
/// # Errors
/// Returns `Malformed` if the datatype message in the header cannot be read.
pub(crate) fn datatype_of(context: &Context, stored: &Object<'_>) -> Result<Option<Address>> {
    let Some(message) = stored.find(MessageType::Datatype).filter(|message| message.is_shared()) else {
        return Ok(None);
    };
    let parse = |i| Shared::parse(i, context.sizes);
    match locate("shared message", message.offset, stored.body(message), parse)? {
        Shared::Committed(datatype) => Ok(Some(datatype)),
        Shared::Heap(_) => Ok(None),
    }
}
