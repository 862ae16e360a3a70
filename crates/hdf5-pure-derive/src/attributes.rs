//! The attributes `#[record(…)]` of types, fields and variants.

use proc_macro2::TokenStream as Tokens;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Error, Expr, Ident, LitStr, Path, Result};

/// What the attributes of a field or of a variant say.
#[derive(Default)]
pub(crate) struct Attributes {
    pub(crate) rename: Option<String>,
    pub(crate) skip: bool,
    pub(crate) default: bool,
    pub(crate) length: Option<Expr>,
    pub(crate) fill: Option<Expr>,
}

/// Returns the path of the library, if the attributes of the type name one.
pub(crate) fn library(attributes: &[Attribute]) -> Result<Option<Tokens>> {
    let mut library = None;
    each(attributes, |meta| {
        if !meta.path.is_ident("crate") {
            return Err(meta.error("a type has only the attribute `crate`"));
        }
        library = Some(meta.value()?.parse::<LitStr>()?.parse::<Path>()?.into_token_stream());
        Ok(())
    })?;
    Ok(library)
}

impl Attributes {
    /// Returns the attributes of a field.
    pub(crate) fn of_field(attributes: &[Attribute]) -> Result<Self> {
        let mut found = Self::default();
        each(attributes, |meta| {
            match meta.path.get_ident().map(ToString::to_string).as_deref() {
                Some("rename") => found.rename = Some(meta.value()?.parse::<LitStr>()?.value()),
                Some("skip") => found.skip = true,
                Some("default") => found.default = true,
                Some("length") => found.length = Some(meta.value()?.parse()?),
                Some("fill") => found.fill = Some(meta.value()?.parse()?),
                _ => {
                    return Err(
                        meta.error("the attributes are `rename`, `skip`, `default`, `length` and `fill`")
                    );
                }
            }
            Ok(())
        })?;
        let alone =
            found.rename.is_none() && !found.default && found.length.is_none() && found.fill.is_none();
        match attributes.first() {
            Some(first) if found.skip && !alone => {
                Err(Error::new_spanned(first, "a field that is skipped has no other attribute"))
            }
            Some(first) if found.length.is_some() && found.fill.is_some() => {
                Err(Error::new_spanned(first, "a field has either a length or a fill value"))
            }
            _ => Ok(found),
        }
    }

    /// Returns the attributes of a variant.
    pub(crate) fn of_variant(attributes: &[Attribute]) -> Result<Self> {
        let mut found = Self::default();
        each(attributes, |meta| {
            if !meta.path.is_ident("rename") {
                return Err(meta.error("a variant has only the attribute `rename`"));
            }
            found.rename = Some(meta.value()?.parse::<LitStr>()?.value());
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns the name of the member that stores `ident`.
    pub(crate) fn name(&self, ident: &Ident) -> String {
        self.rename.clone().unwrap_or_else(|| ident.unraw().to_string())
    }
}

fn each(attributes: &[Attribute], mut take: impl FnMut(ParseNestedMeta<'_>) -> Result<()>) -> Result<()> {
    let ours = attributes.iter().filter(|attribute| attribute.path().is_ident("record"));
    for attribute in ours {
        attribute.parse_nested_meta(&mut take)?;
    }
    Ok(())
}
