//! What each format can hold.

use sciformats_core::Error;

use super::Elements;
use sciformats::model::{ArrayInfo, ElementType, Name, TextForm};
use sciformats::{Format, Result};

/// How the objects of a file are arranged.
///
/// ```
/// use sciformats::Format;
/// use sciformats_convert::sink::{Layout, rules};
///
/// assert_eq!(rules(Format::Npy)?.layout, Layout::Single);
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Nested groups.
    Tree,
    /// One array, at `/`.
    Single,
    /// Frames: an array is at `/frames/i/name`, and nowhere else.
    Frames,
}

/// How well a type fits a format.
///
/// ```
/// # #[cfg(feature = "hdf5")] {
/// use sciformats_convert::sink::{Fit, rules};
/// use sciformats::{ElementType, Format};
///
/// let hdf5 = rules(Format::Hdf5)?;
/// assert_eq!(hdf5.element(&ElementType::F32), Fit::Whole);
/// assert!(matches!(hdf5.element(&ElementType::Bool), Fit::Alias(ElementType::Enum { .. })));
/// # }
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It fits without changes.
    Whole,
    /// It is stored as the equivalent type of the format, such as its truth values.
    Alias(ElementType),
    /// The values are kept in another type, so something is lost.
    Changed(ElementType),
    /// It does not fit.
    No,
}

/// What a format can hold. [`Sink::add`](super::Sink::add) accepts everything that is `true` here.
///
/// ```
/// use sciformats_convert::sink::{Fit, rules};
/// use sciformats::{ElementType, Format};
///
/// let npy = rules(Format::Npy)?;
/// assert!(!npy.attributes && !npy.soft_links);
/// assert_eq!(npy.element(&ElementType::F32), Fit::Whole);
/// assert_eq!(npy.shape(Some(&[2; 65])), None); // too many dimensions
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Rules {
    /// The format.
    pub format: Format,
    /// How objects are arranged.
    pub layout: Layout,
    /// Whether arrays may have attributes of any type.
    pub attributes: bool,
    /// Whether there are scalars that are not arrays.
    pub values: bool,
    /// Whether there are committed datatypes.
    pub datatypes: bool,
    /// Whether there may be several hard links to one object.
    pub hard_links: bool,
    /// Whether there are links by path, in the same file and into others.
    pub soft_links: bool,
    /// Whether names need not be UTF-8.
    pub any_name: bool,
    /// The largest number of dimensions of an array.
    pub dimensions: usize,
    /// Whether arrays may have a null dataspace.
    pub null: bool,
    /// Whether elements may be arrays themselves. In other formats these become further dimensions.
    pub arrays_as_elements: bool,
    allowed: fn(&ElementType) -> bool,
}

/// Returns what `format` can hold.
///
/// ```
/// use sciformats::Format;
/// use sciformats_convert::sink::rules;
///
/// for format in Format::ALL {
///     if let Ok(rules) = rules(format) {
///         println!("{format}: {:?}, attributes: {}", rules.layout, rules.attributes);
///     }
/// }
/// ```
///
/// # Errors
///
/// [`Error::Unsupported`] for a format that is not built in.
pub fn rules(format: Format) -> Result<Rules> {
    let single = Rules {
        format,
        layout: Layout::Single,
        attributes: false,
        values: false,
        datatypes: false,
        hard_links: false,
        soft_links: false,
        any_name: false,
        dimensions: usize::MAX,
        null: false,
        arrays_as_elements: false,
        allowed: is_numpy,
    };
    Ok(match format {
        #[cfg(feature = "asdf")]
        Format::Asdf => {
            Rules { layout: Layout::Tree, values: true, hard_links: true, allowed: is_asdf, ..single }
        }
        #[cfg(feature = "blosc2")]
        Format::Blosc2 => Rules { dimensions: 16, ..single },
        #[cfg(feature = "gsd")]
        Format::Gsd => Rules { layout: Layout::Frames, allowed: is_gsd, ..single },
        #[cfg(feature = "hdf5")]
        Format::Hdf5 => Rules {
            layout: Layout::Tree,
            attributes: true,
            datatypes: true,
            hard_links: true,
            soft_links: true,
            any_name: true,
            dimensions: 32,
            null: true,
            arrays_as_elements: true,
            allowed: is_hdf5,
            ..single
        },
        Format::Npy => Rules { dimensions: 64, ..single },
        #[cfg(feature = "rawarray")]
        Format::RawArray => Rules { allowed: is_raw, ..single },
        #[allow(unreachable_patterns, reason = "with all formats built in, none is absent")]
        other => return Err(absent(other)),
    })
}

/// Returns the error for a format that cannot be written.
pub(super) fn absent(format: Format) -> Error {
    Error::unsupported(format!("writing {format}"))
}

impl Rules {
    /// Returns how well a type fits.
    ///
    /// ```
    /// use sciformats_convert::sink::{Fit, rules};
    /// use sciformats::{ElementType, Format};
    ///
    /// assert_eq!(rules(Format::Npy)?.element(&ElementType::UInt(2)), Fit::Whole);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn element(&self, element: &ElementType) -> Fit {
        if matches!(element, ElementType::Array { .. }) && !self.arrays_as_elements {
            return Fit::No;
        }
        let mut found = Fit::Whole;
        let Some(fitted) = self.fitted(element, true, &mut found) else { return Fit::No };
        match found {
            Fit::Whole | Fit::No => Fit::Whole,
            Fit::Alias(_) => Fit::Alias(fitted),
            Fit::Changed(_) => Fit::Changed(fitted),
        }
    }

    /// Returns whether a name can be kept.
    ///
    /// ```
    /// use sciformats::Format;
    /// use sciformats_convert::sink::rules;
    ///
    /// assert!(rules(Format::Npy)?.name(&"température".into()));
    /// assert!(!rules(Format::Npy)?.name(&b"temp\xe9rature"[..].into())); // not UTF-8
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn name(&self, name: &Name) -> bool {
        self.any_name || std::str::from_utf8(name.as_bytes()).is_ok()
    }

    /// Returns whether a text can be kept.
    ///
    /// ```
    /// use sciformats::Format;
    /// use sciformats_convert::sink::rules;
    ///
    /// let npy = rules(Format::Npy)?;
    /// assert!(npy.text(b"Vega") && !npy.text(b"Vega\0")); // NumPy takes the zero for padding
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn text(&self, text: &[u8]) -> bool {
        match self.format {
            // Readers take a NUL for the end of the text.
            Format::Hdf5 => !text.contains(&0),
            // Text that is not UTF-8 becomes a string of bytes there.
            Format::Npy | Format::Blosc2 => !text.ends_with(b"\0"),
            // Texts of a fixed width are padded with NULs.
            _ => !text.ends_with(b"\0") && std::str::from_utf8(text).is_ok(),
        }
    }

    /// Returns whether the target can hold a text that it stores as bytes of a fixed number.
    pub(crate) fn bytes(&self, text: &[u8]) -> bool {
        self.format == Format::Hdf5 && !text.ends_with(b"\0")
    }

    /// Returns whether the target can store texts in these forms.
    pub(crate) fn keeps(&self, forms: &[TextForm]) -> bool {
        self.format != Format::Hdf5 || forms.iter().all(|form| !matches!(form, TextForm::Characters(_)))
    }

    /// Returns whether an object may have an attribute of this name and type; `shape` is that of the object,
    /// if it is an array.
    ///
    /// ```
    /// # #[cfg(feature = "hdf5")] {
    /// use sciformats_convert::sink::rules;
    /// use sciformats::{ArrayInfo, ElementType, Format};
    ///
    /// let unit = ArrayInfo::new(ElementType::Text, []);
    /// assert!(rules(Format::Hdf5)?.attribute(&"unit".into(), &unit, None));
    /// assert!(!rules(Format::Npy)?.attribute(&"unit".into(), &unit, None));
    /// # }
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn attribute(&self, name: &Name, attribute: &ArrayInfo, shape: Option<&[u64]>) -> bool {
        let name = name.shown();
        match self.format {
            // This is the mask of an array.
            Format::Asdf => {
                let alike = shape.is_some() && shape == attribute.shape.as_deref();
                alike && name == "mask" && attribute.element == ElementType::Bool
            }
            // Metalayers are bytes.
            Format::Blosc2 => {
                let layer = name.strip_prefix("vlmeta:").or_else(|| name.strip_prefix("meta:"));
                let bytes = attribute.element == ElementType::UInt(1);
                let one = attribute.shape.as_ref().is_some_and(|shape| shape.len() == 1);
                layer.is_some_and(|layer| !layer.is_empty()) && bytes && one
            }
            _ => self.attributes,
        }
    }

    /// Returns the shape that an array of `shape` has in the format; `None` if it cannot be held.
    ///
    /// ```
    /// # #[cfg(feature = "gsd")] {
    /// use sciformats::Format;
    /// use sciformats_convert::sink::rules;
    ///
    /// // GSD has rows and columns.
    /// assert_eq!(rules(Format::Gsd)?.shape(Some(&[10, 3, 3])), Some(Some(vec![10, 9])));
    /// # }
    /// assert_eq!(sciformats_convert::sink::rules(sciformats::Format::Npy)?.shape(None), None); // no null dataspaces
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn shape(&self, shape: Option<&[u64]>) -> Option<Option<Vec<u64>>> {
        let Some(shape) = shape else { return self.null.then_some(None) };
        if shape.len() > self.dimensions {
            return None;
        }
        if self.layout != Layout::Frames {
            return Some(Some(shape.into()));
        }
        // There are only rows and columns; further dimensions are flattened into a row.
        let (rows, rest) = shape.split_first().map_or((1, &[][..]), |(rows, rest)| (*rows, rest));
        let columns = sciformats_core::slab::elements(rest).filter(|&columns| columns > 0)?;
        u32::try_from(columns).ok()?;
        Some(Some(if columns == 1 { vec![rows] } else { vec![rows, columns] }))
    }

    /// Returns the [shape](Self::shape) of an array of these elements. A text of GSD is a chunk of its own.
    pub(crate) fn shape_of(&self, element: &ElementType, shape: Option<&[u64]>) -> Option<Option<Vec<u64>>> {
        if self.layout != Layout::Frames || *element != ElementType::Text {
            return self.shape(shape);
        }
        shape.filter(|shape| shape.iter().all(|&length| length == 1)).map(|_| Some(Vec::new()))
    }

    /// Refuses an array that cannot be held without changes.
    pub(super) fn check(&self, elements: &Elements) -> Result<()> {
        if self.element(&elements.info.element) != Fit::Whole {
            return Err(super::refused(self.format, format!("elements of type {}", elements.info.element)));
        }
        match self.shape_of(&elements.info.element, elements.info.shape.as_deref()) {
            Some(shape) if shape.as_deref() == elements.info.shape.as_deref() => Ok(()),
            _ => Err(super::refused(self.format, "an array of such a shape")),
        }
    }

    /// Returns the nearest permitted type. Canonical bytes keep their form, except that 16-bit floats may
    /// become wider if `alone` is true.
    fn fitted(&self, element: &ElementType, alone: bool, found: &mut Fit) -> Option<ElementType> {
        use ElementType as T;
        if (self.allowed)(element) {
            match element {
                T::Compound(fields) => {
                    let fields = fields.iter().map(|(name, field)| {
                        self.fitted(field, false, found).map(|fitted| (name.clone(), fitted))
                    });
                    return fields.collect::<Option<_>>().map(T::Compound);
                }
                T::Array { element, shape } => {
                    let element = Box::new(self.fitted(element, false, found)?);
                    return Some(T::Array { element, shape: shape.clone() });
                }
                T::Vlen(element) => {
                    return self.fitted(element, false, found).map(|element| T::Vlen(Box::new(element)));
                }
                _ => return Some(element.clone()),
            }
        }
        let alias = match element {
            T::Bool => Some(boolean()),
            other => (*other == boolean()).then_some(T::Bool),
        };
        if let Some(alias) = alias.filter(|alias| (self.allowed)(alias)) {
            if *found == Fit::Whole {
                *found = Fit::Alias(T::Bool);
            }
            return Some(alias);
        }
        *found = Fit::Changed(T::Bool);
        let opaque = || element.size().filter(|&size| size > 0).map(T::Opaque);
        let next = match element {
            T::Enum { base, .. } => Some((**base).clone()),
            T::Bits(size) | T::Time(size) => u16::try_from(*size).ok().map(T::UInt),
            T::FloatOther => Some(T::F64),
            T::F16 | T::BF16 if alone => Some(T::F32),
            T::Complex(4) if alone => Some(T::Complex(8)),
            T::Bool => Some(T::UInt(1)),
            _ => None,
        };
        match next {
            Some(next) => self.fitted(&next, alone, found),
            None => opaque().filter(|opaque| (self.allowed)(opaque)),
        }
    }
}

/// Returns HDF5's conventional type of truth values: an enumeration of one byte.
fn boolean() -> ElementType {
    let members = vec![("FALSE".into(), 0), ("TRUE".into(), 1)];
    ElementType::Enum { base: Box::new(ElementType::Int(1)), members }
}

/// Returns whether a type is one of NumPy. Fields of a compound, and elements of an array in it, are examined
/// one by one.
fn is_numpy(element: &ElementType) -> bool {
    use ElementType as T;
    match element {
        T::Int(size) | T::UInt(size) => matches!(size, 1 | 2 | 4 | 8),
        T::F16 | T::F32 | T::F64 | T::Complex(8 | 16) | T::Bool | T::Text => true,
        T::Opaque(size) => *size > 0 && i32::try_from(*size).is_ok(),
        T::Compound(fields) => {
            // Text gets a fixed width in a file, also as a part of an element.
            let part = |(_, field): &(Name, T)| field.size().map_or_else(|| is_numpy(field), |size| size > 0);
            !fields.is_empty() && fields.iter().all(part)
        }
        // This is permitted only as a part of a compound.
        T::Array { element, shape } => {
            !shape.contains(&0) && (element.size().is_some_and(|size| size > 0) || is_numpy(element))
        }
        _ => false,
    }
}

#[cfg(feature = "asdf")]
fn is_asdf(element: &ElementType) -> bool {
    use ElementType as T;
    // Text gets a fixed width in a file, also as a part of an element.
    let part = |element: &T| element.size().map_or_else(|| is_asdf(element), |size| size > 0);
    match element {
        T::Opaque(_) => false,
        T::Compound(fields) => !fields.is_empty() && fields.iter().all(|(_, field)| part(field)),
        T::Array { element, shape } => part(element) && !shape.contains(&0),
        plain => is_numpy(plain),
    }
}

#[cfg(feature = "gsd")]
fn is_gsd(element: &ElementType) -> bool {
    use ElementType as T;
    matches!(element, T::Int(1 | 2 | 4 | 8) | T::UInt(1 | 2 | 4 | 8) | T::F32 | T::F64 | T::Text)
}

#[cfg(feature = "hdf5")]
fn is_hdf5(element: &ElementType) -> bool {
    use ElementType as T;
    match element {
        T::Int(size) | T::UInt(size) => matches!(size, 1 | 2 | 4 | 8),
        T::F16 | T::BF16 | T::F32 | T::F64 | T::Complex(4 | 8 | 16) | T::Text => true,
        T::Opaque(size) | T::Bits(size) | T::Time(size) => *size > 0 && u16::try_from(*size).is_ok(),
        T::Enum { base, members } => {
            matches!(**base, T::Int(1 | 2 | 4 | 8) | T::UInt(1 | 2 | 4 | 8))
                && members.iter().all(|(name, value)| is_named(name) && i64::try_from(*value).is_ok())
        }
        T::Reference | T::Region => true,
        T::Vlen(element) => has_bytes(element),
        // A type without an equivalent may have a nearest one, which is determined part by part.
        T::Compound(fields) => {
            let part = |(name, field): &(Name, T)| is_named(name) && has_bytes(field);
            !fields.is_empty() && fields.iter().all(part) && is_small(element)
        }
        T::Array { element: one, shape } => {
            has_bytes(one) && !shape.is_empty() && !shape.contains(&0) && is_small(element)
        }
        _ => false,
    }
}

#[cfg(feature = "hdf5")]
fn has_bytes(element: &ElementType) -> bool {
    element.size().map_or_else(|| is_hdf5(element), |size| size > 0)
}

#[cfg(feature = "hdf5")]
fn is_small(element: &ElementType) -> bool {
    element.size().is_none_or(|size| size <= 1 << 31)
}

#[cfg(feature = "hdf5")]
fn is_named(name: &Name) -> bool {
    !name.as_bytes().contains(&0)
}

#[cfg(feature = "rawarray")]
fn is_raw(element: &ElementType) -> bool {
    use ElementType as T;
    match element {
        T::F16 | T::F32 | T::F64 | T::BF16 | T::Complex(_) | T::Bool => true,
        T::Int(_) | T::UInt(_) | T::Opaque(_) => element.size().is_some_and(|size| size > 0),
        _ => false,
    }
}

#[cfg(all(test, feature = "asdf", feature = "gsd", feature = "rawarray"))]
mod tests {
    use super::*;
    use ElementType as T;

    #[test]
    fn the_nearest_type() {
        let odd = T::Enum { base: Box::new(T::UInt(2)), members: vec![("a".into(), 1)] };
        let pair = |a: T, b: T| T::Compound(vec![("a".into(), a), ("b".into(), b)]);
        let table = [
            (Format::RawArray, T::BF16, Fit::Whole),
            (Format::RawArray, odd.clone(), Fit::Changed(T::UInt(2))),
            (Format::RawArray, pair(T::F32, T::F64), Fit::Changed(T::Opaque(12))),
            (Format::RawArray, T::Text, Fit::No),
            (Format::RawArray, T::Int(0), Fit::No),
            (Format::Npy, T::BF16, Fit::Changed(T::F32)),
            (Format::Npy, T::Int(16), Fit::Changed(T::Opaque(16))),
            (Format::Npy, boolean(), Fit::Alias(T::Bool)),
            (Format::Npy, pair(boolean(), T::F64), Fit::Alias(pair(T::Bool, T::F64))),
            (Format::Npy, pair(odd, boolean()), Fit::Changed(pair(T::UInt(2), T::Bool))),
            (Format::Npy, pair(T::BF16, T::F64), Fit::Changed(pair(T::Opaque(2), T::F64))),
            (Format::Npy, T::Vlen(Box::new(T::F32)), Fit::No),
            (Format::Asdf, T::Text, Fit::Whole),
            (Format::Asdf, T::Opaque(3), Fit::No),
            (Format::Asdf, pair(T::Text, T::F32), Fit::Whole),
            (Format::Npy, pair(T::Text, T::F32), Fit::Whole),
            (Format::Npy, pair(T::Vlen(Box::new(T::F32)), T::F32), Fit::No),
            (Format::Asdf, T::Complex(4), Fit::Changed(T::Complex(8))),
            (Format::Gsd, T::Bool, Fit::Changed(T::UInt(1))),
            (Format::Gsd, T::Complex(8), Fit::No),
        ];
        for (format, element, expected) in table {
            assert_eq!(rules(format).unwrap().element(&element), expected, "{format} {element}");
        }
    }

    #[test]
    fn shapes_of_chunks() {
        let rules = rules(Format::Gsd).unwrap();
        let shape = |shape: &[u64]| rules.shape(Some(shape)).flatten();
        assert_eq!(shape(&[]), Some(vec![1]));
        assert_eq!(shape(&[5]), Some(vec![5]));
        assert_eq!(shape(&[5, 1]), Some(vec![5]));
        assert_eq!(shape(&[0, 3]), Some(vec![0, 3]));
        assert_eq!(shape(&[5, 2, 3]), Some(vec![5, 6]));
        assert_eq!(shape(&[5, 0]), None);
        assert_eq!(shape(&[1, 1 << 32]), None);
        assert_eq!(rules.shape(None), None);
    }
}
