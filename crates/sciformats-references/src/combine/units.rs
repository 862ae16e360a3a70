//! Numbers of one file in the units of another.

use sciformats_conventions::time::{Calendar, TimeUnits};
use serde_json::{Map, Value};

use crate::bare;
use crate::model::VirtualArray;

/// Returns the calendar that attributes name, which is the standard one if they name none; `None` if it is unknown.
pub(super) fn calendar(attributes: &Map<String, Value>) -> Option<Calendar> {
    Calendar::parse(attributes.get("calendar").and_then(Value::as_str).unwrap_or("standard"))
}

/// Returns the units of time that attributes name.
pub(super) fn time(attributes: &Map<String, Value>) -> Option<TimeUnits> {
    TimeUnits::parse(attributes.get("units")?.as_str()?, calendar(attributes)?)
}

/// The attributes of numbers that are not stored as they are.
const PACKED: [&str; 3] = ["scale_factor", "add_offset", "_Unsigned"];

/// Returns how numbers of `from` become numbers in the units of `to`, if both count time in one calendar and are not packed.
pub(super) fn conversion(
    to: &Map<String, Value>,
    from: &Map<String, Value>,
) -> Option<impl Fn(f64) -> f64 + use<>> {
    if PACKED.iter().any(|name| to.contains_key(*name) || from.contains_key(*name)) {
        return None;
    }
    let (new, old) = (time(to)?, time(from)?);
    (new.calendar() == old.calendar()).then_some({
        move |value: f64| {
            if new == old { value } else { old.moment(value).map_or(f64::NAN, |moment| new.value(&moment)) }
        }
    })
}

/// The numbers of an array that are missing values in any units.
pub(super) struct Marks {
    all: Vec<f64>,
    /// Whether the numbers have 32 bits, of which attributes have fewer digits.
    narrow: bool,
}

impl Marks {
    pub(super) fn of(array: &VirtualArray) -> Self {
        let named = ["_FillValue", "missing_value"].map(|name| array.attributes.get(name));
        let fill = array.marked.then_some(&array.fill);
        let all = named.into_iter().flatten().chain(fill).flat_map(|value| match value {
            Value::Array(all) => all.as_slice(),
            one => std::slice::from_ref(one),
        });
        let narrow = array.dtype.as_str().is_some_and(|dtype| dtype.ends_with("f4"));
        Self { all: all.filter_map(bare::number).collect(), narrow }
    }

    /// Converts numbers, except missing values.
    ///
    /// # Errors
    /// The first number that is no time.
    pub(super) fn converted(
        &self,
        mut numbers: Vec<f64>,
        convert: impl Fn(f64) -> f64,
    ) -> Result<Vec<f64>, String> {
        for number in &mut numbers {
            let same = |mark: &f64| *mark == *number || self.narrow && *mark as f32 == *number as f32;
            if number.is_nan() || self.all.iter().any(same) {
                continue;
            }
            let converted = convert(*number);
            if converted.is_nan() {
                return Err(format!("its number {number} is not a time in the units of the first file"));
            }
            *number = converted;
        }
        Ok(numbers)
    }
}

/// Appends a number in a type of NumPy, whose byte order is the little-endian one, if the type has it.
///
/// # Errors
/// The reason why it has not.
pub(super) fn encode(dtype: &str, number: f64, out: &mut Vec<u8>) -> Result<(), String> {
    let misfit = || format!("its type cannot hold {number} in the units of the first file");
    if dtype == "f8" {
        out.extend(number.to_le_bytes());
        return Ok(());
    }
    if dtype == "f4" {
        // The cast rounds to the nearest.
        let narrow = number as f32;
        if (f64::from(narrow) - number).abs() > number.abs() * 1e-6 {
            return Err(misfit());
        }
        out.extend(narrow.to_le_bytes());
        return Ok(());
    }
    if number.fract() != 0.0 || number.abs() > 9e15 {
        return Err(misfit());
    }
    // A cast of a whole number in this range is exact.
    let whole = number as i64;
    match dtype {
        "i8" => out.extend(whole.to_le_bytes()),
        "i4" => out.extend(i32::try_from(whole).map_err(|_| misfit())?.to_le_bytes()),
        "i2" => out.extend(i16::try_from(whole).map_err(|_| misfit())?.to_le_bytes()),
        "u8" => out.extend(u64::try_from(whole).map_err(|_| misfit())?.to_le_bytes()),
        "u4" => out.extend(u32::try_from(whole).map_err(|_| misfit())?.to_le_bytes()),
        _ => return Err("its type is not one that units are converted in".into()),
    }
    Ok(())
}
