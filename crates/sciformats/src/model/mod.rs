//! Describes what a scientific file means, in terms that all five formats share.
//!
//! | type | what it is |
//! |---|---|
//! | [`ElementType`] | the type of an array's elements, without byte order, padding or character set |
//! | [`Name`] | the name of a member or attribute: bytes, mostly UTF-8 |
//! | [`Object`], [`Target`] | a group, array, datatype or value, and what a member of a group leads to |
//! | [`Value`] | a scalar of a tree: `null`, a truth value, a number, text |
//! | [`Datum`] | one element, decoded from its canonical bytes |

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]

pub mod canonical;
mod datum;
mod element_type;
mod name;
mod object;
mod type_json;
mod value;

pub use datum::{Datum, Decoder, FloatKind};
pub use element_type::{ElementType, TextForm};
pub use name::Name;
pub use object::{ArrayInfo, Attribute, AttributeValue, Kind, Object, ObjectId, Target};
pub use value::{Value, write_float, write_text};
