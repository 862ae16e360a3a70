//! Enums without fields as enumerations.

use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::{DataEnum, DeriveInput, Error, Fields, Ident, Result};

use crate::attributes::Attributes;

/// The integers that can be stored.
const INTEGERS: [&str; 8] = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];

pub(crate) fn derived(input: &DeriveInput, data: &DataEnum, library: &Tokens) -> Result<Tokens> {
    let name = &input.ident;
    let integer = integer(input)?;
    let mut names = Vec::new();
    let mut variants = Vec::new();
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new_spanned(variant, "a variant of a record has no fields"));
        }
        names.push(Attributes::of_variant(&variant.attrs)?.name(&variant.ident));
        variants.push(&variant.ident);
    }
    if variants.is_empty() {
        return Err(Error::new_spanned(name, "an enum without variants has no values to store"));
    }
    let wanted = format!("the enum {name}");
    let value = crate::value(name, library);
    Ok(quote! {
        #[automatically_derived]
        impl #library::Store for #name {
            fn datatype() -> #library::Datatype {
                #library::derived::enumeration::<#integer>(&[
                    #((#names, <#integer>::to_le_bytes(Self::#variants as #integer).to_vec())),*
                ])
            }

            fn encode(values: &[Self], to: &mut #library::values::Encoder<'_>) -> #library::Result<()> {
                for value in values {
                    let number = match value {
                        #(Self::#variants => Self::#variants as #integer),*
                    };
                    <#integer as #library::Store>::encode(&[number], to)?;
                }
                ::core::result::Result::Ok(())
            }
        }

        #value

        #[automatically_derived]
        impl #library::Element for #name {
            fn read(values: &#library::values::Values<'_>) -> #library::Result<::std::vec::Vec<Self>> {
                let variants = [#((#names, Self::#variants as #integer as i128)),*];
                let places = #library::derived::variants(values, &variants, #wanted)?;
                let mut all = ::std::vec::Vec::with_capacity(places.len());
                for place in places {
                    let mut at = 0usize;
                    #(
                        if place == at {
                            all.push(Self::#variants);
                        }
                        at += 1;
                    )*
                    let _ = at;
                }
                ::core::result::Result::Ok(all)
            }
        }
    })
}

/// Returns the integer type of `#[repr(…)]`.
fn integer(input: &DeriveInput) -> Result<Ident> {
    let mut found = None;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            let ident = meta.path.get_ident();
            if let Some(ident) = ident.filter(|ident| INTEGERS.iter().any(|integer| ident == integer)) {
                found = Some(ident.clone());
            }
            Ok(())
        })?;
    }
    found.ok_or_else(|| {
        Error::new_spanned(
            &input.ident,
            "add `#[repr(u8)]` or another integer of at most 64 bits, which is stored",
        )
    })
}
