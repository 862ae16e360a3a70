//! The derive macro of `hdf5-pure`, which exports it as `hdf5_pure::Record` with the feature `derive`.
//!
//! | module | what it contains |
//! |---|---|
//! | `attributes` | the attributes `#[record(…)]` of types and fields |
//! | `structs` | structs as compounds, and their columns |
//! | `enums` | enums without fields as enumerations |

mod attributes;
mod enums;
mod structs;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::{Data, DeriveInput, Error, Result, parse_macro_input};

/// Stores a struct as a compound, or an enum without fields as an enumeration.
///
/// A struct implements `Element` for reading, `Store` for writing, `Value` for attributes, and `Record` for its
/// columns: for a struct `Particle`, the struct `ParticleColumns` has a vector for each field. Members of the stored
/// compound without a field are ignored, and their order does not matter.
///
/// | attribute of a field | what it means |
/// |---|---|
/// | `rename = "name"` | the member has this name; by default it is that of the field |
/// | `skip` | the field is not stored; reading gives its `Default` |
/// | `default` | if the stored compound has no such member, reading gives the `Default` |
/// | `length = 16` | a `String` is stored in this number of bytes, and not with variable length |
/// | `fill = -1` | of an `Option`: `None` is stored as this value, and this value is read as `None` |
///
/// An enum must have `#[repr(u8)]` or another integer type, which is the type that is stored. Its variants can have
/// `rename`. A stored enumeration is read by the names of its members, and a stored integer by its value.
///
/// The attribute `#[record(crate = "…")]` of the type is the path of `hdf5_pure`, where it has another one.
#[proc_macro_derive(Record, attributes(record))]
pub fn record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derived(&input, &quote!(::hdf5_pure)).unwrap_or_else(Error::into_compile_error).into()
}

/// The same for users of `sciformats`, who need not depend on `hdf5-pure`.
#[doc(hidden)]
#[proc_macro_derive(FacadeRecord, attributes(record))]
pub fn facade_record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derived(&input, &quote!(::sciformats::hdf5_pure)).unwrap_or_else(Error::into_compile_error).into()
}

fn derived(input: &DeriveInput, default: &Tokens) -> Result<Tokens> {
    if !input.generics.params.is_empty() {
        let problem = "a record cannot have generic parameters, because its datatype must be known";
        return Err(Error::new_spanned(&input.generics, problem));
    }
    let library = attributes::library(&input.attrs)?.unwrap_or_else(|| default.clone());
    match &input.data {
        Data::Struct(data) => structs::derived(input, data, &library),
        Data::Enum(data) => enums::derived(input, data, &library),
        Data::Union(_) => Err(Error::new_spanned(&input.ident, "a union cannot be a record")),
    }
}

/// Stores one value of the type as an attribute.
fn value(name: &syn::Ident, library: &Tokens) -> Tokens {
    quote! {
        #[automatically_derived]
        impl #library::Value for #name {
            fn store(
                self,
                to: &mut #library::values::Encoder<'_>,
            ) -> #library::Result<(#library::Datatype, ::core::option::Option<::std::vec::Vec<u64>>)> {
                <Self as #library::Store>::encode(&[self], to)?;
                let scalar = ::core::option::Option::Some(::std::vec::Vec::new());
                ::core::result::Result::Ok((<Self as #library::Store>::datatype(), scalar))
            }
        }
    }
}
