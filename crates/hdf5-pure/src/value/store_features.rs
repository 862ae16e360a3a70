//! Stores types of other crates as elements. Each of those crates has a feature of its name.

#[cfg(feature = "half")]
mod floats {
    use crate::value::store::Encoder;
    use crate::value::store::Store;
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

    use crate::value::store::Encoder;
    use crate::value::store::Store;
    use crate::{Datatype, Result};

    /// Stores complex numbers as h5py does: compounds of `r` and `i`.
    impl<T: Store + Copy> Store for Complex<T> {
        fn datatype() -> Datatype {
            Datatype::complex(&T::datatype())
        }

        fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()> {
            values.iter().try_for_each(|value| T::encode(&[value.re, value.im], to))
        }
    }
}
