//! What `#[derive(Record)]` calls. None of it is for people.

use sciformats_core::{Error, Misfit, Result};

use crate::spec::message::datatype::{Class, Datatype, EnumMember, Padding};
use crate::value::convert;
use crate::value::element::{Element, Values};
use crate::value::store::{Encoder, Store};
use sciformats_core::number::Number;

/// Returns the enumeration of these members, which are stored as integers of the type `T`.
pub fn enumeration<T: Store>(members: &[(&str, Vec<u8>)]) -> Datatype {
    let base = T::datatype();
    let member = |(name, value): &(&str, Vec<u8>)| EnumMember { name: (*name).into(), value: value.clone() };
    let members = members.iter().map(member).collect();
    Datatype { version: 1, size: base.size, class: Class::Enumeration { base: Box::new(base), members } }
}

/// Returns which of the variants each element is: by name in an enumeration, and otherwise by number.
///
/// # Errors
/// Returns [`Error::Misfit`] with the first element that is none of the variants.
pub fn variants(
    values: &Values<'_>,
    variants: &[(&'static str, i128)],
    wanted: &'static str,
) -> Result<Vec<usize>> {
    let mut known: Vec<(i128, usize)> = Vec::new();
    match &values.datatype().class {
        Class::Enumeration { base, members } => {
            for member in members {
                let place = variants.iter().position(|(name, _)| member.name == **name);
                let number = convert::number(base, &member.value).and_then(Result::ok).and_then(i128::exact);
                known.extend(number.zip(place));
            }
        }
        _ => known.extend(variants.iter().enumerate().map(|(place, (_, number))| (*number, place))),
    }
    let numbers = <i128 as Element>::read(values)?;
    let place = |(index, number): (usize, &i128)| {
        let place = known.iter().find(|(known, _)| known == number).map(|(_, place)| *place);
        place.ok_or_else(|| Error::Misfit(Misfit::new(index as u64, number, wanted)))
    };
    numbers.iter().enumerate().map(place).collect()
}

/// Appends a text in `length` bytes.
///
/// # Errors
/// Returns [`Error::Usage`] if it is longer.
pub fn text<T: Store>(value: &T, length: u32, to: &mut Encoder<'_>) -> Result<()> {
    to.bytes(&crate::value::store::fixed_strings(std::slice::from_ref(value), length, Padding::NullPadded)?);
    Ok(())
}

/// Returns the values, and `None` for those that are `fill`. All NaN are the same.
pub fn without<T: PartialEq>(values: Vec<T>, fill: &T) -> Vec<Option<T>> {
    #[allow(clippy::eq_op, reason = "a NaN is not equal to itself")]
    let is_nan = |value: &T| value != value;
    let is_fill = |value: &T| value == fill || is_nan(value) && is_nan(fill);
    values.into_iter().map(|value| (!is_fill(&value)).then_some(value)).collect()
}

/// Returns whether the elements have this member.
pub fn has(values: &Values<'_>, name: &str) -> bool {
    values.datatype().member(name).is_ok()
}

/// Checks that a column has as many values as the first one.
///
/// # Errors
/// Returns [`Error::Usage`] if it has not.
pub fn same_length(first: usize, column: usize) -> Result<()> {
    match first == column {
        true => Ok(()),
        false => Err(Error::usage("columns", format!("have {first} and {column} values"))),
    }
}
