//! Object headers: reading, writing, and changing them in place.

mod build;
mod edit;
mod read;

pub(crate) use self::build::{CONTINUATION, NewHeader, RESERVED};
pub(crate) use self::edit::{Header, Now};
pub(crate) use self::read::{Message, Object};
