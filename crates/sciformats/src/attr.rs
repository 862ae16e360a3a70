//! Reads attributes as values of the caller's types, with one call.

use sciformats_core::{Conversion, Error};

use crate::array::Array;
use crate::file::File;
use crate::model::{AttributeValue, ObjectId};
use crate::typed::{self, Element};
use crate::{Name, Result};

/// A type that an attribute can be read as: a number, a truth value, text, `[f64; 2]` for a complex number,
/// `Vec<T>` for all elements in C order, and `ndarray::Array<T, D>` with the feature `ndarray`.
pub trait FromAttribute: Sized {
    /// Converts the value of an attribute.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the shape or the type is a different one; [`Error::Misfit`] if the type cannot
    /// hold an element; otherwise the error of reading the attribute.
    fn from_attribute(value: AttributeValue) -> Result<Self>;
}

/// Returns the elements of an attribute and their shape.
fn elements<T: Element>(value: AttributeValue) -> Result<(Vec<T>, Vec<u64>)> {
    let mut elements = Vec::new();
    typed::convert(&value.element, &value.data?, Conversion::Exact, &mut elements)?;
    Ok((elements, value.shape.unwrap_or_else(|| vec![0])))
}

fn only<T: Element>(value: AttributeValue) -> Result<T> {
    let (elements, shape) = elements(value)?;
    let count = elements.len();
    let mut elements = elements.into_iter();
    match (elements.next(), elements.next()) {
        (Some(only), None) => Ok(only),
        _ => {
            let problem = format!(
                "has {count} elements with the shape {shape:?}, not a single one; read it as a list or an array"
            );
            Err(Error::usage("value", problem))
        }
    }
}

macro_rules! scalars {
    ($($name:ty)*) => {$(
        impl FromAttribute for $name {
            fn from_attribute(value: AttributeValue) -> Result<Self> {
                only(value)
            }
        }
    )*};
}
scalars!(i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 bool String [f32; 2] [f64; 2]);

impl<T: Element> FromAttribute for Vec<T> {
    fn from_attribute(value: AttributeValue) -> Result<Self> {
        elements(value).map(|(elements, _)| elements)
    }
}

#[cfg(feature = "ndarray")]
impl<T: Element, D: ndarray::Dimension> FromAttribute for ndarray::Array<T, D> {
    fn from_attribute(value: AttributeValue) -> Result<Self> {
        let (elements, shape) = elements(value)?;
        sciformats_core::nd::array(elements, &shape)
    }
}

impl File {
    /// Reads an attribute of the root as a single value, a `Vec` of all elements, or an array. Returns `None`
    /// if there is no attribute with this name.
    ///
    /// ```
    /// use sciformats::memory::{Memory, array, texts};
    /// use sciformats::{File, Format};
    ///
    /// let mut tree = Memory::new(Format::Hdf5);
    /// tree.attribute(tree.root(), "title", texts(&[], &["a week in May"]));
    /// tree.attribute(tree.root(), "range", array::<f32>(&[2], &[250.0, 320.0]));
    /// let file = File::from(tree);
    /// assert_eq!(file.attr::<String>("title")?.as_deref(), Some("a week in May"));
    /// assert_eq!(file.attr::<Vec<f64>>("range")?, Some(vec![250.0, 320.0]));
    /// assert_eq!(file.attr::<f64>("height")?, None);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the attribute has another shape or type; [`Error::Misfit`] if the type cannot hold
    /// an element; otherwise the error of reading it.
    pub fn attr<T: FromAttribute>(&self, name: &str) -> Result<Option<T>> {
        self.attr_at(self.source().root(), name)
    }

    /// As [`attr`](Self::attr), but returns `default` if there is no attribute with this name.
    ///
    /// # Errors
    ///
    /// As [`attr`](Self::attr).
    pub fn attr_or<T: FromAttribute>(&self, name: &str, default: T) -> Result<T> {
        Ok(self.attr(name)?.unwrap_or(default))
    }

    /// As [`attr`](Self::attr), for the object at a path, which may be a group, an array or a datatype.
    ///
    /// ```
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # tree.attribute(fields, "step", sciformats::memory::array::<i32>(&[1], &[7]));
    /// # let file = sciformats::File::from(tree);
    /// assert_eq!(file.attr_of::<u64>("/fields", "step")?, Some(7));
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`attr`](Self::attr) and [`resolve`](Self::resolve).
    pub fn attr_of<T: FromAttribute>(&self, path: &str, name: &str) -> Result<Option<T>> {
        self.attr_at(self.resolve(path)?, name)
    }

    /// As [`attr`](Self::attr), for an object of the tree.
    ///
    /// ```
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # tree.attribute(fields, "step", sciformats::memory::array::<i32>(&[1], &[7]));
    /// # let file = sciformats::File::from(tree);
    /// assert_eq!(file.attr_at::<u64>(file.resolve("/fields")?, "step")?, Some(7));
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`attr`](Self::attr).
    pub fn attr_at<T: FromAttribute>(&self, id: ObjectId, name: &str) -> Result<Option<T>> {
        let wanted = Name::from(name);
        for attribute in self.source().attributes(id)? {
            let attribute = attribute?;
            if attribute.name == wanted {
                let named = |error| match error {
                    Error::Usage { argument, problem } => {
                        Error::usage("attribute", format!("{name:?}: {argument} {problem}"))
                    }
                    other => other,
                };
                return attribute.value.and_then(T::from_attribute).map(Some).map_err(named);
            }
        }
        Ok(None)
    }
}

impl Array<'_> {
    /// Reads an attribute of the array as a single value, a `Vec` of all elements, or an array. Returns
    /// `None` if there is no attribute with this name.
    ///
    /// ```
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let u = file.array("/fields/u")?;
    /// assert_eq!(u.attr::<String>("unit")?.as_deref(), Some("m/s"));
    /// assert_eq!(u.attr_or("scale_factor", 1.0)?, 1.0);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`File::attr`].
    pub fn attr<T: FromAttribute>(&self, name: &str) -> Result<Option<T>> {
        self.file().attr_at(self.id(), name)
    }

    /// As [`attr`](Self::attr), but returns `default` if there is no attribute with this name.
    ///
    /// # Errors
    ///
    /// As [`attr`](Self::attr).
    pub fn attr_or<T: FromAttribute>(&self, name: &str, default: T) -> Result<T> {
        Ok(self.attr(name)?.unwrap_or(default))
    }
}
