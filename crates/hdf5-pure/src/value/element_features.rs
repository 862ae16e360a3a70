//! Reads elements as booleans and as types of other crates. Each of those crates has a feature of its name.

use sciformats_core::{Conversion, Result};

use crate::spec::message::datatype::Class;
use crate::value::element::{Element, Values, numbers};

/// Reads the numbers 0 and 1, and booleans as h5py stores them: enumerations with the members `FALSE` = 0 and `TRUE` =
/// 1.
impl Element for bool {
    fn read(values: &Values<'_>) -> Result<Vec<Self>> {
        let Class::Enumeration { members, .. } = &values.datatype().class else {
            return numbers(values);
        };
        let named = |name: &str| members.iter().any(|member| member.name == *name);
        let truth = members.len() == 2 && named("FALSE") && named("TRUE");
        match values.conversion() {
            // `Conversion::None` asks for the stored type, and the format has no type that is closer to `bool`.
            Conversion::None if truth => numbers(&values.with_conversion(Conversion::Exact)),
            _ => numbers(values),
        }
    }
}

#[cfg(feature = "half")]
mod floats {
    use sciformats_core::number::{BFloat16, Float16};

    use super::Element;
    use super::Result;
    use super::Values;
    use super::numbers;

    macro_rules! halves {
        ($($name:ty: $bits:ty;)*) => {$(
            impl Element for $name {
                fn read(values: &Values<'_>) -> Result<Vec<Self>> {
                    Ok(numbers::<$bits>(values)?.into_iter().map(|number| Self::from_bits(number.0)).collect())
                }
            }
        )*};
    }
    halves! { half::f16: Float16; half::bf16: BFloat16; }
}

#[cfg(feature = "num-complex")]
mod complex {
    use num_complex::Complex;

    use super::Class;
    use super::Conversion;
    use super::Element;
    use super::Result;
    use super::Values;

    /// Reads complex numbers: elements of the complex class, compounds of two floating-point numbers named `r` and `i`,
    /// and real numbers.
    impl<T: Element + Default> Element for Complex<T> {
        fn read(values: &Values<'_>) -> Result<Vec<Self>> {
            let [real, imaginary] = match &values.datatype().class {
                Class::Complex { base } => [0, base.size].map(|offset| (offset, &**base)),
                _ => match values.datatype().complex_parts() {
                    Some(parts) => parts,
                    None if values.conversion() == Conversion::None => return Err(values.mismatch("Complex")),
                    None => {
                        let real = T::read(values)?.into_iter();
                        return Ok(real.map(|real| Self::new(real, T::default())).collect());
                    }
                },
            };
            let [real, imaginary] = [values.part::<T>(real)?, values.part::<T>(imaginary)?];
            Ok(real.into_iter().zip(imaginary).map(|(real, imaginary)| Self::new(real, imaginary)).collect())
        }
    }
}

#[cfg(feature = "ndarray")]
mod arrays {
    use ndarray::ArrayD;
    use sciformats_core::nd;

    use super::Element;
    use super::Result;
    use crate::{Dataset, Slab};

    impl Dataset {
        /// Reads all elements as an array of the dataset's shape.
        ///
        /// ```
        /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
        /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
        /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
        /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
        /// # let temperature = file.dataset("surface/temperature")?;
        /// let array = temperature.to_ndarray::<f32>()?;
        /// assert_eq!((array.shape(), array[[1, 2]]), (&[2, 3][..], 281.0));
        /// # Ok::<(), hdf5_pure::Error>(())
        /// ```
        ///
        /// # Errors
        /// Returns the errors of [`read`](Self::read), and [`Error::Usage`](crate::Error::Usage) for a null dataspace.
        pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
            self.read_slab_ndarray(&self.all()?)
        }

        /// Reads the selected elements as an array of the selection's shape.
        ///
        /// ```
        /// use hdf5_pure::{Range, Slab};
        ///
        /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
        /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
        /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
        /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
        /// # let temperature = file.dataset("surface/temperature")?;
        /// let column = Slab::new(&[2, 3], [Range::all(2), Range::new(1, 1)])?;
        /// assert_eq!(temperature.read_slab_ndarray::<f64>(&column)?, ndarray::array![[282.0], [280.5]].into_dyn());
        /// # Ok::<(), hdf5_pure::Error>(())
        /// ```
        ///
        /// # Errors
        /// Returns the errors of [`read`](Self::read).
        pub fn read_slab_ndarray<T: Element>(&self, slab: &Slab) -> Result<ArrayD<T>> {
            nd::array(self.read_slab(slab)?, &slab.shape())
        }
    }
}
