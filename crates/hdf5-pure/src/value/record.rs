//! Structs as elements of compound datatypes.

use sciformats_core::{Error, Result};

use crate::value::element::{Element, Values};
use crate::value::store::Store;

/// A struct that is stored as a compound, and the columns of a table of such structs. `#[derive(Record)]` implements it,
/// with the feature `derive`.
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use hdf5_pure::{CreateOptions, File, Record, Writer};
///
/// #[derive(Clone, Copy, Debug, PartialEq, Record)]
/// #[repr(u8)]
/// enum Kind {
///     Proton,
///     #[record(rename = "neutron")]
///     Neutron,
/// }
///
/// #[derive(Clone, Copy, Debug, PartialEq, Record)]
/// struct Position {
///     x: f32,
///     y: f32,
/// }
///
/// #[derive(Clone, Debug, PartialEq, Record)]
/// struct Particle {
///     id: u32,
///     kind: Kind,
///     #[record(rename = "pos")]
///     position: Position,
///     #[record(length = 8)]
///     label: String,
///     #[record(fill = -1)]
///     parent: Option<i32>,
///     #[record(skip)]
///     visited: bool,
/// }
///
/// let position = Position { x: 0.5, y: 1.5 };
/// let first = Particle { id: 1, kind: Kind::Neutron, position, label: "n".into(), parent: None, visited: false };
/// let all = vec![first.clone(), Particle { id: 2, parent: Some(1), ..first }];
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.dataset("particles").write(&all)?;
///
/// let file = File::from_bytes(file.into_bytes()?)?;
/// let particles = file.dataset("particles")?;
/// assert_eq!(particles.read::<Particle>()?, all);
/// assert_eq!(particles.read_field::<f64>("pos.y")?, [1.5, 1.5]); // the rest is not converted
/// assert_eq!(particles.read_columns::<Particle>()?.parent, [None, Some(1)]);
/// for particle in particles.rows::<Particle>()? {
///     assert_eq!(particle?.kind, Kind::Neutron);
/// }
/// # }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
pub trait Record: Element + Store {
    /// The columns: a vector for each field.
    type Columns;

    /// Converts elements to columns.
    ///
    /// # Errors
    /// Returns [`Error::NotFound`] if the elements lack a member, and the errors of [`Element::read`].
    fn read_columns(values: &Values<'_>) -> Result<Self::Columns>;

    /// Makes rows of columns.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the columns do not have the same length.
    fn from_columns(columns: Self::Columns) -> Result<Vec<Self>>;

    /// Makes columns of rows.
    fn into_columns(rows: Vec<Self>) -> Self::Columns;
}

impl<T: Element, const N: usize> Element for [T; N] {
    const LIST: bool = true;

    fn of_shape(values: &Values<'_>, shape: &[u64]) -> Result<Self> {
        of_length(Vec::<T>::of_shape(values, shape)?)
    }

    fn read(values: &Values<'_>) -> Result<Vec<Self>> {
        Vec::<T>::read(values)?.into_iter().map(of_length).collect()
    }
}

fn of_length<T, const N: usize>(found: Vec<T>) -> Result<[T; N]> {
    let wrong = |found: Vec<T>| {
        Error::usage(
            "element type",
            format!("is an array of {N} elements, but the stored array has {}", found.len()),
        )
    };
    found.try_into().map_err(wrong)
}

/// Returns the member name of a field. The name of a raw identifier such as `r#type` is the part after `r#`.
#[doc(hidden)]
pub fn field_name(field: &'static str) -> &'static str {
    field.strip_prefix("r#").unwrap_or(field)
}

/// Defines a struct that is stored as a compound. The members have the names of the fields and follow each other
/// without gaps.
///
/// The struct implements [`Element`](crate::Element) for reading, [`Store`](crate::Store) for writing, and
/// [`Value`](crate::Value) for attributes. A field `r#type` is stored as the member `type`.
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
                    $(($crate::field_name(::core::stringify!($field)), <$type as $crate::Store>::datatype())),+
                ])
            }

            fn encode(values: &[Self], to: &mut $crate::values::Encoder<'_>) -> $crate::Result<()> {
                for value in values {
                    $(<$type as $crate::Store>::encode(::core::slice::from_ref(&value.$field), to)?;)+
                }
                ::core::result::Result::Ok(())
            }
        }

        impl $crate::Value for $name {
            fn store(
                self,
                to: &mut $crate::values::Encoder<'_>,
            ) -> $crate::Result<($crate::Datatype, ::core::option::Option<::std::vec::Vec<u64>>)> {
                <Self as $crate::Store>::encode(&[self], to)?;
                let scalar = ::core::option::Option::Some(::std::vec::Vec::new());
                ::core::result::Result::Ok((<Self as $crate::Store>::datatype(), scalar))
            }
        }

        impl $crate::Element for $name {
            fn read(values: &$crate::values::Values<'_>) -> $crate::Result<::std::vec::Vec<Self>> {
                $(let mut $field = values.member::<$type>($crate::field_name(::core::stringify!($field)))?.into_iter();)+
                let mut all = ::std::vec::Vec::new();
                while let ($(::core::option::Option::Some($field)),+ ,) = ($($field.next()),+ ,) {
                    all.push(Self { $($field),+ });
                }
                ::core::result::Result::Ok(all)
            }
        }
    };
}
