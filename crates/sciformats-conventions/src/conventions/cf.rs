//! CF conventions 1.11: packed numbers, missing values, times, flags, characters, coordinates.
//!
//! Sources: <https://cfconventions.org/cf-conventions/cf-conventions.html>, sections 2.5.1 (missing data),
//! 3.5 (flags), 4.4 (time), 5 and 7.1 (coordinates and bounds), 8.1 (packed data). The type of unpacked
//! values is the one that xarray uses.

use sciformats::{Datum, Decoder, ElementType, Result};

use super::characters;
use crate::dataset::DecodeOptions;
use crate::decoding::{Bound, Decoding, Numbers};
use crate::node::Node;
use crate::time::{Calendar, TimeUnits};
use crate::variable::{Coordinate, Flags, Role, Variable};

/// Adds to a variable what the conventions say about it: names, coordinates, decoding. Its dimensions must
/// have their names already.
pub(crate) fn variable(node: &Node, mut variable: Variable, options: &DecodeOptions) -> Result<Variable> {
    variable.standard_name = node.text("standard_name")?;
    variable.cell_methods = node.text("cell_methods")?;
    variable.flags = flags(node)?;
    coordinates(node, &mut variable)?;
    let time = time_units(node, &variable)?;
    if variable.units.is_none() {
        variable.units = time.as_ref().map(|(units, _)| units.clone());
    }
    let decoding = decoding(node, &variable, options, time)?;
    Ok(variable.decoded(decoding))
}

/// Returns the names in an attribute that lists names, without the words before colons.
fn listed(node: &Node, name: &str) -> Result<Vec<String>> {
    let text = node.text(name)?.unwrap_or_default();
    Ok(text.split_whitespace().filter(|word| !word.ends_with(':')).map(str::to_owned).collect())
}

/// Returns the object that a name means for a variable: one in its group, in a group above it, or at a path.
pub(crate) fn named(node: &Node, name: &str) -> Result<Option<Node>> {
    if name.starts_with('/') {
        return node.at(name);
    }
    let mut group = node.parent()?;
    while let Some(at) = group {
        if let Some(found) = at.child(name)? {
            return Ok(Some(found));
        }
        group = at.parent()?;
    }
    Ok(None)
}

fn coordinates(node: &Node, variable: &mut Variable) -> Result<()> {
    let mut found = Vec::new();
    for (at, dimension) in variable.dimensions.iter().enumerate() {
        if let Some(path) =
            dimension.path.as_ref().filter(|path| dimension.has_values && *path != node.path())
        {
            found.push(Coordinate { path: path.clone(), role: Role::Dimension, dimension: Some(at) });
        }
    }
    let lists = [
        ("coordinates", Role::Auxiliary),
        ("bounds", Role::Bounds),
        ("climatology", Role::Bounds),
        ("cell_measures", Role::CellMeasure),
        ("grid_mapping", Role::GridMapping),
        ("ancillary_variables", Role::Ancillary),
    ];
    for (attribute, role) in lists {
        for name in listed(node, attribute)? {
            let Some(other) = named(node, &name)? else { continue };
            if found.iter().all(|known| known.path != other.path()) {
                found.push(Coordinate { path: other.path().to_owned(), role, dimension: None });
            }
        }
    }
    variable.coordinates = found;
    Ok(())
}

/// Returns the flags from `flag_values`, `flag_masks` and `flag_meanings`.
fn flags(node: &Node) -> Result<Option<Flags>> {
    let Some(meanings) = node.text("flag_meanings")? else { return Ok(None) };
    let (values, masks) = (node.integers("flag_values")?, node.integers("flag_masks")?);
    if values.is_none() && masks.is_none() {
        return Ok(None);
    }
    // They have the type of the variable, and thus also the sign that `_Unsigned` selects.
    let element = node.info()?.map(|info| signed(node, &info.element)).transpose()?;
    let of_type =
        |numbers: Vec<i128>| numbers.into_iter().map(|number| wrapped(number, element.as_ref())).collect();
    let (values, masks) = (values.map(of_type), masks.map(of_type));
    Ok(Some(Flags { values, masks, meanings: meanings.split_whitespace().map(str::to_owned).collect() }))
}

/// Returns the integer of this type that has the same bits. Larger types than those of CF stay as they are.
fn wrapped(number: i128, element: Option<&ElementType>) -> i128 {
    let changed = match element {
        Some(ElementType::UInt(size)) if number < 0 && *size <= 8 => {
            number.checked_add(1i128 << (8 * u32::from(*size)))
        }
        Some(ElementType::Int(size)) if *size <= 8 && number >= 1i128 << (8 * u32::from(*size)) >> 1 => {
            number.checked_sub(1i128 << (8 * u32::from(*size)))
        }
        _ => None,
    };
    changed.unwrap_or(number)
}

/// Returns units that count time from a date, and the name of their calendar. They are those of the variable,
/// or those of the coordinate whose bounds it contains, because bounds need not repeat them.
fn time_units(node: &Node, variable: &Variable) -> Result<Option<(String, Option<String>)>> {
    if let Some(units) = &variable.units {
        let time = TimeUnits::looks_like(units);
        return Ok(if time { Some((units.clone(), node.text("calendar")?)) } else { None });
    }
    for dimension in &variable.dimensions {
        let Some(path) = dimension.path.as_ref().filter(|path| *path != node.path()) else { continue };
        let Some(coordinate) = node.at(path)? else { continue };
        let bounds = [coordinate.text("bounds")?, coordinate.text("climatology")?];
        if bounds.iter().flatten().any(|bounds| bounds == node.name()) {
            let units = coordinate.text("units")?.filter(|units| TimeUnits::looks_like(units));
            return Ok(match units {
                Some(units) => Some((units, coordinate.text("calendar")?)),
                None => None,
            });
        }
    }
    Ok(None)
}

/// The packing of numbers, as the attributes of an array describe it.
struct Packing {
    numbers: Numbers,
    scale: Option<ElementType>,
    offset: Option<ElementType>,
}

/// Returns a number in an attribute, with its type.
fn typed(node: &Node, name: &str) -> Result<Option<(f64, ElementType)>> {
    let Some(value) = node.attribute(name)? else { return Ok(None) };
    Ok(node.number(name)?.map(|number| (number, value.element)))
}

/// Returns the type with the sign that `_Unsigned` selects.
fn signed(node: &Node, element: &ElementType) -> Result<ElementType> {
    let unsigned = node.text("_Unsigned")?;
    Ok(match (element, unsigned.as_deref()) {
        (ElementType::Int(size), Some("true")) => ElementType::UInt(*size),
        (ElementType::UInt(size), Some("false")) => ElementType::Int(*size),
        (element, _) => element.clone(),
    })
}

/// Returns the number with the same bits in the type of the other sign, if the stored type is that one.
fn same_bits(number: f64, stored: &ElementType, from: &ElementType) -> f64 {
    match (stored, from) {
        (ElementType::Int(size), ElementType::UInt(_)) if number < 0.0 => {
            number + 2f64.powi(i32::from(*size) * 8)
        }
        (ElementType::UInt(size), ElementType::Int(_)) if number >= 2f64.powi(i32::from(*size) * 8 - 1) => {
            number - 2f64.powi(i32::from(*size) * 8)
        }
        _ => number,
    }
}

/// Returns the smallest or largest valid number that an attribute contains; `None` if the type does not have it. Floating-point numbers
/// are rounded.
fn bound(datum: &Datum<'_>, stored: &ElementType, from: &ElementType) -> Option<Bound> {
    let bound = match datum.to_i128() {
        Some(number) => Bound::Whole(number),
        None => Bound::Point(datum.to_f64()?),
    };
    let (least, most): (i128, i128) = match from {
        ElementType::Int(size @ 1..=8) => (-1 << (size * 8 - 1), (1 << (size * 8 - 1)) - 1),
        ElementType::UInt(size @ 1..=8) => (0, (1 << (size * 8)) - 1),
        _ => return Some(bound),
    };
    let whole = bound.integer(true)?;
    // An attribute of the type of the other sign has the same bits.
    let whole = match (stored, from) {
        (ElementType::Int(size @ 1..=8), ElementType::UInt(_)) if whole < 0 => {
            whole.checked_add(1 << (size * 8))?
        }
        (ElementType::UInt(size @ 1..=8), ElementType::Int(_)) if whole > most => {
            whole.checked_sub(1 << (size * 8))?
        }
        _ => whole,
    };
    let is_whole = bound.integer(true) == bound.integer(false);
    (is_whole && (least..=most).contains(&whole)).then_some(Bound::Whole(whole))
}

/// Returns the smallest and largest valid numbers that an attribute contains; nothing if there is none, or if the type does not have
/// all of them: as in netCDF4, they are not used then.
fn bounds(node: &Node, name: &str, (stored, from): (&ElementType, &ElementType)) -> Result<Vec<Bound>> {
    let Some(value) = node.attribute(name)? else { return Ok(Vec::new()) };
    let bytes = value.data?;
    let bounds = Decoder::new(&value.element, &bytes).map(|datum| Ok(bound(&datum?, stored, from)));
    Ok(bounds.collect::<Result<Option<Vec<Bound>>>>()?.unwrap_or_default())
}

impl Packing {
    fn of(node: &Node, element: &ElementType, options: &DecodeOptions) -> Result<Self> {
        let from = signed(node, element)?;
        let mut numbers = Numbers::new(from.clone());
        let integer = matches!(from, ElementType::Int(_) | ElementType::UInt(_));
        for name in ["_FillValue", "missing_value"] {
            let values = node.numbers(name)?.unwrap_or_default().into_iter();
            let values = values.filter(|value| !value.is_nan());
            numbers.fill.extend(values.map(|value| same_bits(value, element, &from)));
        }
        numbers.fill.dedup();
        if options.valid {
            let bounds = |name: &str| bounds(node, name, (element, &from));
            numbers.valid = match bounds("valid_range")?.as_slice() {
                &[least, most] => (Some(least), Some(most)),
                _ => (bounds("valid_min")?.first().copied(), bounds("valid_max")?.first().copied()),
            };
        }
        let (scale, offset) = (typed(node, "scale_factor")?, typed(node, "add_offset")?);
        (numbers.scale, numbers.offset) =
            (scale.as_ref().map(|(number, _)| *number), offset.as_ref().map(|(number, _)| *number));
        let packing = Self {
            numbers,
            scale: scale.map(|(_, element)| element),
            offset: offset.map(|(_, element)| element),
        };
        let masked = !packing.numbers.fill.is_empty() || packing.numbers.valid != (None, None);
        let scaled = packing.scale.is_some() || packing.offset.is_some();
        let to = match (scaled, masked) {
            (true, _) => Some(packing.unpacked()),
            (false, true) if integer => Some(promoted(&from)),
            (false, true) if from == ElementType::F16 => Some(ElementType::F32),
            (false, true) => Some(from),
            (false, false) => None,
        };
        Ok(Self { numbers: Numbers { to, ..packing.numbers }, ..packing })
    }

    /// Returns the type of unpacked values. It is that of the factor and the offset if both have the same
    /// type, unless it would round integers of four bytes. It is binary64 if there is an offset of another
    /// type.
    fn unpacked(&self) -> ElementType {
        let float = |element: &ElementType| match element {
            ElementType::F32 => ElementType::F32,
            _ => ElementType::F64,
        };
        match (&self.scale, &self.offset) {
            (Some(scale), Some(offset)) if scale == offset => match self.numbers.from {
                ElementType::Int(4) | ElementType::UInt(4) => ElementType::F64,
                _ => float(scale),
            },
            (Some(scale), None) => float(scale),
            _ => ElementType::F64,
        }
    }
}

/// Returns the float type that can hold integers of a type, or nearly all of them, and NaN.
fn promoted(integer: &ElementType) -> ElementType {
    match integer {
        ElementType::Int(1 | 2) | ElementType::UInt(1 | 2) => ElementType::F32,
        _ => ElementType::F64,
    }
}

/// Returns how characters become texts by `_Encoding`, which is UTF-8 if there is none; `None` for encodings that are not
/// known.
fn encoding(node: &Node) -> Result<Option<Decoding>> {
    let encoding = node.text("_Encoding")?.unwrap_or_else(|| "utf-8".into());
    let encoding = encoding.trim().to_ascii_lowercase().replace('_', "-");
    Ok(match encoding.as_str() {
        "" | "utf-8" | "utf8" | "ascii" | "us-ascii" | "646" => Some(Decoding::Characters),
        "latin-1" | "latin1" | "latin" | "l1" | "iso-8859-1" | "iso8859-1" | "8859" | "cp819" => {
            Some(Decoding::Latin1)
        }
        _ => None,
    })
}

fn decoding(
    node: &Node,
    variable: &Variable,
    options: &DecodeOptions,
    time: Option<(String, Option<String>)>,
) -> Result<Decoding> {
    let element = &variable.stored().element;
    if *element == ElementType::Text {
        let missing = [node.text("_FillValue")?, node.text("missing_value")?].into_iter().flatten().next();
        let texts = missing.clone().map_or(Decoding::Stored, |missing| Decoding::Text { missing });
        if !characters::are_in(node, variable.stored())? {
            return Ok(texts);
        }
        let encoding = encoding(node)?;
        let joined = match variable.dimensions.last() {
            Some(last) => characters::form_texts(node, last)?,
            None => false,
        };
        return Ok(match encoding {
            // In Latin-1, what is padded with spaces stays apart.
            Some(Decoding::Characters) if joined && characters::are_spaced(node) => Decoding::Spaced,
            Some(encoding) if joined && !characters::are_spaced(node) => encoding,
            Some(Decoding::Latin1) => Decoding::Latin1Text { missing },
            Some(_) => texts,
            None => Decoding::Stored,
        });
    }
    let number = matches!(
        element,
        ElementType::Int(1 | 2 | 4 | 8)
            | ElementType::UInt(1 | 2 | 4 | 8)
            | ElementType::F16
            | ElementType::F32
            | ElementType::F64
    );
    if !number {
        return Ok(variable.decoding.clone());
    }
    let mut numbers = Packing::of(node, element, options)?.numbers;
    if let Some((units, calendar)) = time {
        let calendar = calendar.as_deref().map_or(Some(Calendar::Standard), Calendar::parse);
        if let Some(units) = calendar.and_then(|calendar| TimeUnits::parse(&units, calendar)) {
            // NumPy's `NaT` is this number, which xarray writes without a fill value.
            if *element == ElementType::Int(8) {
                numbers.fill.push(i64::MIN as f64);
            }
            return Ok(Decoding::Time { numbers, units });
        }
    }
    // These are truth values that xarray wrote.
    if numbers.to.is_none()
        && numbers.from == ElementType::Int(1)
        && node.text("dtype")?.as_deref() == Some("bool")
    {
        return Ok(Decoding::Truth);
    }
    let same = numbers.to.is_none() && numbers.from == *element;
    Ok(if same { Decoding::Stored } else { Decoding::Numbers(numbers) })
}
