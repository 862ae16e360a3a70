//! Structs as compounds, and their columns.

use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::{
    Attribute, DataStruct, DeriveInput, Error, Expr, Fields, GenericArgument, Ident, PathArguments, Result,
    Type, Visibility,
};

use crate::attributes::Attributes;

/// A field that is stored.
struct Field<'a> {
    ident: &'a Ident,
    visibility: &'a Visibility,
    docs: Vec<&'a Attribute>,
    kind: &'a Type,
    /// The name of the member.
    name: String,
    form: Form<'a>,
    default: bool,
}

/// How a field is stored.
enum Form<'a> {
    /// As its type says.
    Plain,
    /// As text of a fixed length.
    Text(Expr),
    /// As a value of the type inside of the option, where one value stands for none.
    Filled(&'a Type, Expr),
}

pub(crate) fn derived(input: &DeriveInput, data: &DataStruct, library: &Tokens) -> Result<Tokens> {
    let name = &input.ident;
    let (fields, skipped) = fields(data, name)?;
    let columns = format_ident!("{name}Columns");
    let value = crate::value(name, library);
    let (store, element) = (store(name, &fields, library), element(name, library));
    let (declared, record) =
        (declared(input, &columns, &fields), record(name, &columns, (&fields, &skipped), library));
    Ok(quote! { #declared #store #value #element #record })
}

/// Returns the fields that are stored, and those that are not.
fn fields<'a>(data: &'a DataStruct, name: &Ident) -> Result<(Vec<Field<'a>>, Vec<&'a Ident>)> {
    let Fields::Named(named) = &data.fields else {
        return Err(Error::new_spanned(
            name,
            "the fields of a record have names, which are those of the members",
        ));
    };
    let (mut fields, mut skipped) = (Vec::new(), Vec::new());
    for field in &named.named {
        let Some(ident) = &field.ident else { continue };
        let attributes = Attributes::of_field(&field.attrs)?;
        if attributes.skip {
            skipped.push(ident);
            continue;
        }
        let name = attributes.name(ident);
        let form = match (attributes.length, attributes.fill) {
            (Some(length), _) => Form::Text(length),
            (None, Some(fill)) => Form::Filled(inside_option(&field.ty)?, fill),
            (None, None) => Form::Plain,
        };
        if fields.iter().any(|other: &Field<'_>| other.name == name) {
            return Err(Error::new_spanned(field, "two fields are stored as members of the same name"));
        }
        fields.push(Field {
            ident,
            visibility: &field.vis,
            docs: field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).collect(),
            kind: &field.ty,
            name,
            form,
            default: attributes.default,
        });
    }
    if fields.is_empty() {
        return Err(Error::new_spanned(name, "a record needs at least one field that is stored"));
    }
    Ok((fields, skipped))
}

/// Returns `T` of `Option<T>`.
fn inside_option(kind: &Type) -> Result<&Type> {
    if let Type::Path(path) = kind
        && let Some(last) = path.path.segments.last()
        && last.ident == "Option"
        && let PathArguments::AngleBracketed(arguments) = &last.arguments
        && let Some(GenericArgument::Type(inside)) = arguments.args.first()
    {
        return Ok(inside);
    }
    Err(Error::new_spanned(kind, "only an `Option` has a fill value"))
}

/// The struct of the columns.
fn declared(input: &DeriveInput, columns: &Ident, fields: &[Field<'_>]) -> Tokens {
    let (name, visibility) = (&input.ident, &input.vis);
    let docs = format!("The columns of [`{name}`]: the values of each field in all rows.");
    let each = fields.iter().map(|Field { ident, visibility, docs, kind, .. }| {
        quote! { #(#docs)* #visibility #ident: ::std::vec::Vec<#kind>, }
    });
    quote! {
        #[doc = #docs]
        #[allow(missing_docs, clippy::missing_docs_in_private_items)]
        #visibility struct #columns { #(#each)* }
    }
}

fn store(name: &Ident, fields: &[Field<'_>], library: &Tokens) -> Tokens {
    let members = fields.iter().map(|Field { name, kind, form, .. }| match form {
        Form::Plain => quote! { (#name, <#kind as #library::Store>::datatype()) },
        Form::Text(length) => quote! { (#name, #library::Datatype::fixed_string(#length)) },
        Form::Filled(inside, _) => quote! { (#name, <#inside as #library::Store>::datatype()) },
    });
    let encoded = fields.iter().map(|Field { ident, kind, form, .. }| match form {
        Form::Plain => quote! {
            <#kind as #library::Store>::encode(::core::slice::from_ref(&value.#ident), to)?;
        },
        Form::Text(length) => quote! { #library::derived::text(&value.#ident, #length, to)?; },
        Form::Filled(inside, fill) => quote! {
            match &value.#ident {
                ::core::option::Option::Some(value) => {
                    <#inside as #library::Store>::encode(::core::slice::from_ref(value), to)?;
                }
                ::core::option::Option::None => {
                    let fill: #inside = #fill;
                    <#inside as #library::Store>::encode(::core::slice::from_ref(&fill), to)?;
                }
            }
        },
    });
    quote! {
        #[automatically_derived]
        impl #library::Store for #name {
            fn datatype() -> #library::Datatype {
                #library::Datatype::compound([#(#members),*])
            }

            fn encode(values: &[Self], to: &mut #library::values::Encoder<'_>) -> #library::Result<()> {
                for value in values {
                    #(#encoded)*
                }
                ::core::result::Result::Ok(())
            }
        }
    }
}

fn element(name: &Ident, library: &Tokens) -> Tokens {
    quote! {
        #[automatically_derived]
        impl #library::Element for #name {
            fn read(values: &#library::values::Values<'_>) -> #library::Result<::std::vec::Vec<Self>> {
                <Self as #library::Record>::from_columns(<Self as #library::Record>::read_columns(values)?)
            }
        }
    }
}

fn record(
    name: &Ident,
    columns: &Ident,
    (fields, skipped): (&[Field<'_>], &[&Ident]),
    library: &Tokens,
) -> Tokens {
    let idents: Vec<_> = fields.iter().map(|field| field.ident).collect();
    let first = &idents[..1];
    let locals: Vec<_> = (0..fields.len()).map(|at| format_ident!("column_{at}")).collect();
    let read = fields.iter().map(|field| read(field, library));
    quote! {
        #[automatically_derived]
        impl #library::Record for #name {
            type Columns = #columns;

            fn read_columns(values: &#library::values::Values<'_>) -> #library::Result<#columns> {
                ::core::result::Result::Ok(#columns { #(#idents: #read),* })
            }

            fn from_columns(columns: #columns) -> #library::Result<::std::vec::Vec<Self>> {
                let count = #(columns.#first.len())*;
                #(#library::derived::same_length(count, columns.#idents.len())?;)*
                #(let mut #locals = columns.#idents.into_iter();)*
                let mut rows = ::std::vec::Vec::with_capacity(count);
                while let (#(::core::option::Option::Some(#locals),)*) = (#(#locals.next(),)*) {
                    rows.push(Self {
                        #(#idents: #locals,)*
                        #(#skipped: ::core::default::Default::default(),)*
                    });
                }
                ::core::result::Result::Ok(rows)
            }

            fn into_columns(rows: ::std::vec::Vec<Self>) -> #columns {
                let mut columns = #columns {
                    #(#idents: ::std::vec::Vec::with_capacity(rows.len()),)*
                };
                for row in rows {
                    #(columns.#idents.push(row.#idents);)*
                }
                columns
            }
        }
    }
}

/// The values of a field in all rows.
fn read(Field { kind, name, form, default, .. }: &Field<'_>, library: &Tokens) -> Tokens {
    let read = match form {
        Form::Plain | Form::Text(_) => quote! { values.member::<#kind>(#name)? },
        Form::Filled(inside, fill) => quote! {{
            let fill: #inside = #fill;
            #library::derived::without(values.member::<#inside>(#name)?, &fill)
        }},
    };
    match default {
        false => read,
        true => quote! {
            if #library::derived::has(values, #name) { #read } else {
                values.elements().map(|_| ::core::default::Default::default()).collect()
            }
        },
    }
}
