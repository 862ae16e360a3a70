//! Structs as elements of compound types.

use sciformats_core::{Error, Result};

use crate::element::{Element, Values};

impl<T: Element, const N: usize> Element for [T; N] {
    fn read(values: &Values<'_>) -> Result<Vec<Self>> {
        let wrong = |found: Vec<T>| {
            Error::usage("element type", format!("an array of {} elements is not one of {N}", found.len()))
        };
        Vec::<T>::read(values)?.into_iter().map(|elements| elements.try_into().map_err(wrong)).collect()
    }
}

/// Defines a struct and stores it as a compound type: its members have the fields' names and follow each other.
///
/// The struct then is an [`Element`](crate::Element) to read and a [`Store`](crate::Store) to write.
///
/// ```
/// hdf5_pure::record! {
///     /// A particle.
///     #[derive(Clone, Debug, PartialEq)]
///     pub struct Particle {
///         /// Number.
///         pub id: u32,
///         /// Mass in kilograms.
///         pub mass: f64,
///         /// Kind.
///         pub kind: String,
///     }
/// }
///
/// # fn main() -> hdf5_pure::Result<()> {
/// let all = vec![Particle { id: 1, mass: 0.5, kind: "proton".into() }];
/// let mut file = hdf5_pure::Writer::in_memory(&hdf5_pure::CreateOptions::default())?;
/// file.dataset("particles").write(&all)?;
/// let file = hdf5_pure::File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(file.dataset("particles")?.read::<Particle>()?, all);
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! record {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_visibility:vis $field:ident: $type:ty),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        $visibility struct $name {
            $($(#[$field_meta])* $field_visibility $field: $type),+
        }

        impl $crate::Store for $name {
            fn datatype() -> $crate::Datatype {
                $crate::Datatype::compound([
                    $((::core::stringify!($field), <$type as $crate::Store>::datatype())),+
                ])
            }

            fn encode(values: &[Self], to: &mut $crate::Encoder<'_>) -> $crate::Result<()> {
                for value in values {
                    $(<$type as $crate::Store>::encode(::core::slice::from_ref(&value.$field), to)?;)+
                }
                ::core::result::Result::Ok(())
            }
        }

        impl $crate::Element for $name {
            fn read(values: &$crate::Values<'_>) -> $crate::Result<::std::vec::Vec<Self>> {
                $(let mut $field = values.member::<$type>(::core::stringify!($field))?.into_iter();)+
                let mut all = ::std::vec::Vec::new();
                while let ($(::core::option::Option::Some($field)),+ ,) = ($($field.next()),+ ,) {
                    all.push(Self { $($field),+ });
                }
                ::core::result::Result::Ok(all)
            }
        }
    };
}
