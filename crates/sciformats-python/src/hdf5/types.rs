//! Describes HDF5's datatypes as nested tuples, which `sciformats.h5._types` converts to NumPy types.

use hdf5_pure::structure::{
    ByteOrder, CharacterSet, Class, EnumMember, FloatOrder, FloatingPoint, Member, Normalization, Padding,
    ReferenceKind, VariableLength,
};
use hdf5_pure::{Datatype, ElementType};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::text::Text;

/// Describes a type as a tuple: its class, and then what NumPy needs to know about it.
///
/// # Errors
///
/// `NotSupported` and `FileDamaged` for a type that has no meaning.
pub(crate) fn describe<'py>(
    py: Python<'py>,
    of: &Datatype,
    raise: &dyn Fn(&hdf5_pure::Error) -> PyErr,
) -> PyResult<Bound<'py, PyAny>> {
    let size = of.size;
    let order = |order: ByteOrder| if order == ByteOrder::Big { ">" } else { "<" };
    match &of.class {
        // NumPy has no such numbers, so that the bits that count are named too.
        Class::FixedPoint(fixed) if !is_direct(of) => {
            let place = (fixed.precision, fixed.bit_offset);
            ("int", size, fixed.signed, order(fixed.order), place).into_bound_py_any(py)
        }
        Class::BitField(field) if !is_direct(of) => {
            ("bits", size, order(field.order), (field.precision, field.bit_offset)).into_bound_py_any(py)
        }
        Class::FloatingPoint(float) if !is_direct(of) => {
            let order = match float.order {
                FloatOrder::Little => "<",
                FloatOrder::Big => ">",
                FloatOrder::Vax => "vax",
            };
            ("float", size, order, layout_of(float)).into_bound_py_any(py)
        }
        Class::FixedPoint(fixed) => ("int", size, fixed.signed, order(fixed.order)).into_bound_py_any(py),
        Class::FloatingPoint(float) => {
            let big = float.order == FloatOrder::Big;
            ("float", size, if big { ">" } else { "<" }).into_bound_py_any(py)
        }
        Class::Time { .. } => ("time", size).into_bound_py_any(py),
        Class::String { padding, charset } => {
            let word = match padding {
                Padding::NullTerminated => "terminated",
                Padding::NullPadded => "string",
                Padding::SpacePadded => "spaced",
            };
            (word, size, utf8(*charset)).into_bound_py_any(py)
        }
        Class::BitField(field) => ("bits", size, order(field.order)).into_bound_py_any(py),
        Class::Opaque { tag } => ("opaque", size, Text::from(tag)).into_bound_py_any(py),
        Class::Reference(kind) => {
            let word = if *kind == ReferenceKind::Region { "region" } else { "object" };
            ("reference", word).into_bound_py_any(py)
        }
        Class::VariableLength(VariableLength::String { charset, .. }) => {
            ("text", utf8(*charset)).into_bound_py_any(py)
        }
        Class::VariableLength(VariableLength::Sequence(base)) => {
            ("vlen", describe(py, base, raise)?).into_bound_py_any(py)
        }
        Class::Array { dimensions, base } => {
            ("array", describe(py, base, raise)?, dimensions.clone()).into_bound_py_any(py)
        }
        Class::Complex { base } => ("complex", describe(py, base, raise)?).into_bound_py_any(py),
        Class::Enumeration { base, .. } => {
            let members = match of.element_type().map_err(|error| raise(&error))? {
                ElementType::Enumeration { members, .. } => members,
                _ => Vec::new(),
            };
            let members: Vec<_> = members.iter().map(|(name, value)| (Text::from(name), *value)).collect();
            ("enum", describe(py, base, raise)?, members).into_bound_py_any(py)
        }
        Class::Compound(members) => {
            let members = members.iter().map(|member| {
                let inner = describe(py, &member.datatype, raise)?;
                Ok((Text::from(&member.name), member.offset, inner))
            });
            ("compound", size, members.collect::<PyResult<Vec<_>>>()?).into_bound_py_any(py)
        }
    }
}

fn utf8(charset: CharacterSet) -> bool {
    charset == CharacterSet::Utf8
}

/// Where the parts of an unusual floating-point number are: its precision and offset, the sign, the exponent and its size, the mantissa
/// and its size, the bias, and what is known about the highest bit of the mantissa.
type FloatLayout = (u16, u16, u8, u8, u8, u8, u8, u32, u8);

fn layout_of(float: &FloatingPoint) -> FloatLayout {
    let normalization = match float.normalization {
        Normalization::None => 0,
        Normalization::AlwaysSet => 1,
        Normalization::Implied => 2,
    };
    (
        float.precision,
        float.bit_offset,
        float.sign_location,
        float.exponent_location,
        float.exponent_size,
        float.mantissa_location,
        float.mantissa_size,
        float.bias,
        normalization,
    )
}

fn unusual(size: u32, order: &str, layout: FloatLayout) -> PyResult<Datatype> {
    let order = match order {
        "<" => FloatOrder::Little,
        ">" => FloatOrder::Big,
        _ => return Err(PyTypeError::new_err("floats in the order of bytes of a VAX are not created")),
    };
    let (precision, bit_offset, sign_location, exponent_location, exponent_size, ..) = layout;
    let (.., mantissa_location, mantissa_size, bias, normalization) = layout;
    let normalization = match normalization {
        0 => Normalization::None,
        1 => Normalization::AlwaysSet,
        _ => Normalization::Implied,
    };
    let float = FloatingPoint {
        order,
        padding: [false; 3],
        normalization,
        sign_location,
        bit_offset,
        precision,
        exponent_location,
        exponent_size,
        mantissa_location,
        mantissa_size,
        bias,
    };
    Ok(Datatype { version: 1, size, class: Class::FloatingPoint(float) })
}

/// Returns integers or bit fields of which only some bits count, if the description says which.
fn placed(datatype: Datatype, of: &Bound<'_, PyTuple>, at: usize) -> PyResult<Datatype> {
    let Ok(place) = of.get_item(at) else { return Ok(datatype) };
    let (precision, offset) = place.extract()?;
    datatype.with_precision(precision, offset).map_err(|error| PyTypeError::new_err(error.to_string()))
}

/// Returns whether NumPy can use the stored bytes directly, in either byte order.
pub(crate) fn is_direct(of: &Datatype) -> bool {
    match &of.class {
        Class::FixedPoint(fixed) => {
            let whole = u64::from(fixed.precision) == u64::from(of.size) * 8 && fixed.bit_offset == 0;
            whole && matches!(of.size, 1 | 2 | 4 | 8)
        }
        Class::FloatingPoint(float) => {
            float.order != FloatOrder::Vax && matches!(of.element_type(), Ok(ElementType::Float(_)))
        }
        Class::BitField(field) => {
            let whole = u64::from(field.precision) == u64::from(of.size) * 8 && field.bit_offset == 0;
            whole && matches!(of.size, 1 | 2 | 4 | 8)
        }
        Class::String { .. } | Class::Opaque { .. } => true,
        Class::Enumeration { base, .. } | Class::Array { base, .. } | Class::Complex { base } => {
            is_direct(base)
        }
        Class::Compound(members) => members.iter().all(|member| is_direct(&member.datatype)),
        Class::Time { .. } | Class::Reference(_) | Class::VariableLength(_) => false,
    }
}

/// Returns whether the members of a compound have room where they are.
fn are_apart(members: &[Member], size: u32) -> bool {
    if members.iter().all(|member| is_direct(&member.datatype)) {
        return true;
    }
    let end = |member: &Member| u64::from(member.offset) + u64::from(member.datatype.size);
    let mut sorted: Vec<&Member> = members.iter().collect();
    sorted.sort_by_key(|member| member.offset);
    let next = sorted.iter().skip(1).map(|member| u64::from(member.offset)).chain([size.into()]);
    sorted.iter().zip(next).all(|(member, next)| end(member) <= next)
}

/// Takes a type from a tuple in the form of [`describe`].
///
/// # Errors
///
/// `TypeError` if HDF5 has no such type.
pub(crate) fn parse(of: &Bound<'_, PyAny>) -> PyResult<Datatype> {
    let of = of.cast::<PyTuple>()?;
    let word: String = of.get_item(0)?.extract()?;
    let inner = |index: usize| parse(&of.get_item(index)?);
    let size = || of.get_item(1)?.extract::<u32>();
    let set = |utf8: bool| if utf8 { CharacterSet::Utf8 } else { CharacterSet::Ascii };
    let ordered = |datatype: Datatype, order: &str| match order {
        ">" => datatype.big_endian(),
        _ => datatype,
    };
    Ok(match word.as_str() {
        "int" => {
            let (signed, order): (bool, String) = (of.get_item(2)?.extract()?, of.get_item(3)?.extract()?);
            let integer = if signed { Datatype::signed } else { Datatype::unsigned };
            placed(ordered(integer(size()?), &order), of, 4)?
        }
        "float" => {
            let order: String = of.get_item(2)?.extract()?;
            if let Ok(layout) = of.get_item(3) {
                return unusual(size()?, &order, layout.extract()?);
            }
            let datatype = match size()? {
                2 => Datatype::float16(),
                4 => Datatype::float32(),
                8 => Datatype::float64(),
                other => {
                    return Err(PyTypeError::new_err(format!("floats of {other} bytes cannot be stored")));
                }
            };
            ordered(datatype, &order)
        }
        "string" | "terminated" | "spaced" => {
            let charset = set(of.get_item(2)?.extract()?);
            let padding = match word.as_str() {
                "terminated" => Padding::NullTerminated,
                "spaced" => Padding::SpacePadded,
                _ => Padding::NullPadded,
            };
            Datatype { version: 1, size: size()?, class: Class::String { padding, charset } }
        }
        "text" => {
            let mut datatype = Datatype::string();
            if let Class::VariableLength(VariableLength::String { charset, .. }) = &mut datatype.class {
                *charset = set(of.get_item(1)?.extract()?);
            }
            datatype
        }
        "bits" => placed(ordered(Datatype::bits(size()?), &of.get_item(2)?.extract::<String>()?), of, 3)?,
        "opaque" => {
            let tag: Text = of.get_item(2)?.extract()?;
            Datatype { version: 1, size: size()?, class: Class::Opaque { tag: tag.into() } }
        }
        "reference" => {
            let kind: String = of.get_item(1)?.extract()?;
            let (size, kind) = match kind.as_str() {
                "region" => (12, ReferenceKind::Region),
                _ => (8, ReferenceKind::Object),
            };
            Datatype { version: 1, size, class: Class::Reference(kind) }
        }
        "vlen" => Datatype::sequence(&inner(1)?),
        "array" => Datatype::array(&of.get_item(2)?.extract::<Vec<u32>>()?, &inner(1)?),
        "complex" => Datatype::native_complex(&inner(1)?),
        "enum" => {
            let base = inner(1)?;
            let members: Vec<(Text, i128)> = of.get_item(2)?.extract()?;
            let width = usize::try_from(base.size).unwrap_or_default();
            let big = matches!(&base.class, Class::FixedPoint(fixed) if fixed.order == ByteOrder::Big);
            let member = |(name, value): (Text, i128)| {
                let mut value: Vec<u8> = value.to_le_bytes().into_iter().take(width).collect();
                if big {
                    value.reverse();
                }
                EnumMember { name: name.into(), value }
            };
            let members = members.into_iter().map(member).collect();
            let size = base.size;
            Datatype { version: 1, size, class: Class::Enumeration { base: Box::new(base), members } }
        }
        "compound" => {
            let members: Vec<(Text, u32, Bound<'_, PyAny>)> = of.get_item(2)?.extract()?;
            let member = |(name, offset, inner): (Text, u32, Bound<'_, PyAny>)| {
                Ok(Member { name: name.into(), offset, datatype: parse(&inner)? })
            };
            let mut members = members.into_iter().map(member).collect::<PyResult<Vec<_>>>()?;
            if are_apart(&members, size()?) {
                return Ok(Datatype { version: 1, size: size()?, class: Class::Compound(members) });
            }
            // Fields that are objects in Python have other sizes in the file, so that NumPy's offsets mean nothing.
            let mut end = 0_u32;
            for member in &mut members {
                member.offset = end;
                end = end
                    .checked_add(member.datatype.size)
                    .ok_or_else(|| PyTypeError::new_err("the compound is larger than 4 GiB"))?;
            }
            Datatype { version: 1, size: end, class: Class::Compound(members) }
        }
        other => return Err(PyTypeError::new_err(format!("{other} is no type of HDF5"))),
    })
}
