//! Types of other crates as elements to write, each behind the feature with the crate's name.

#[cfg(feature = "half")]
mod floats {
    use crate::writer::{Encoder, Store};
    use crate::{Datatype, Result};

    macro_rules! halves {
        ($($name:ty, $datatype:expr;)*) => {$(
            impl Store for $name {
                fn datatype() -> Datatype {
                    $datatype
                }

                fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()> {
                    values.iter().for_each(|value| to.bytes(&value.to_le_bytes()));
                    Ok(())
                }
            }
        )*};
    }
    halves! {
        half::f16, Datatype::float16();
        half::bf16, Datatype::bfloat16();
    }
}

#[cfg(feature = "num-complex")]
mod complex {
    use num_complex::Complex;

    use crate::writer::{Encoder, Store};
    use crate::{Datatype, Result};

    /// Stored as h5py stores complex numbers: records of `r` and `i`.
    impl<T: Store + Copy> Store for Complex<T> {
        fn datatype() -> Datatype {
            Datatype::complex(&T::datatype())
        }

        fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()> {
            values.iter().try_for_each(|value| T::encode(&[value.re, value.im], to))
        }
    }
}

#[cfg(feature = "ndarray")]
mod arrays {
    use ndarray::{ArrayBase, Data, Dimension};

    use crate::writer::{DatasetBuilder, ObjectId, Store};
    use crate::{Error, Result};

    impl DatasetBuilder<'_> {
        /// Makes the dataset with the shape and the elements of an array.
        ///
        /// ```
        /// use hdf5_pure::{CreateOptions, File, Writer};
        ///
        /// let temperature = ndarray::array![[281.5, 282.0, 282.5], [280.0, 280.5, 281.0]];
        /// let mut file = Writer::in_memory(&CreateOptions::default())?;
        /// file.dataset("temperature").attribute("units", "K").write_array(&temperature)?;
        /// let file = File::from_bytes(file.into_bytes()?)?;
        /// assert_eq!(file.dataset("temperature")?.read_array::<f64>()?, temperature.into_dyn());
        /// # Ok::<(), hdf5_pure::Error>(())
        /// ```
        ///
        /// # Errors
        /// As [`write`](Self::write).
        pub fn write_array<S, D>(self, array: &ArrayBase<S, D>) -> Result<ObjectId>
        where
            S: Data,
            S::Elem: Store + Clone,
            D: Dimension,
        {
            let shape: Vec<u64> = array.shape().iter().map(|&n| n as u64).collect();
            let rows = array.as_standard_layout();
            let values = rows.as_slice().ok_or_else(|| Error::usage("array", "is not one in memory"))?;
            self.shape(shape).write(values)
        }
    }
}
