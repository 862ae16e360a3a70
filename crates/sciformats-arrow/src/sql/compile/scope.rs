//! The columns that expressions can name.

use arrow_schema::{DataType as Arrow, SchemaRef};
use sciformats_conventions::sciformats::{Error, Result};
use sciformats_core::spelling;
use sqlparser::ast::Ident;

use super::unsupported;
use crate::sql::expr::Ex;

/// The columns that expressions can name.
#[derive(Clone, Debug, Default)]
pub(in crate::sql) struct Scope {
    pub(in crate::sql) columns: Vec<Named>,
    /// The columns by which tables are joined with USING.
    pub(in crate::sql) merged: Vec<Merged>,
}

/// A column with the name of its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sql) struct Named {
    pub(in crate::sql) table: String,
    pub(in crate::sql) name: String,
    pub(in crate::sql) kind: Arrow,
    /// Its values are categories that have an order of their own.
    pub(in crate::sql) ordered: bool,
    /// It is a part of a merged column, which its name means unless its table is named too.
    pub(in crate::sql) hidden: bool,
}

/// A column that stands for one of each side of a join.
#[derive(Clone, Debug)]
pub(in crate::sql) struct Merged {
    pub(in crate::sql) name: String,
    /// Its value: that of the side whose rows all stay.
    pub(in crate::sql) of: Ex,
    /// The place of the first of the columns.
    pub(in crate::sql) at: usize,
}

impl Scope {
    /// Returns the columns of a table whose name is not known.
    pub(in crate::sql) fn of(schema: &SchemaRef) -> Self {
        let named = schema.fields().iter().map(|field| Named {
            table: String::new(),
            name: field.name().clone(),
            kind: field.data_type().clone(),
            ordered: field.dict_is_ordered() == Some(true),
            hidden: false,
        });
        Self { columns: named.collect(), merged: Vec::new() }
    }

    /// Returns the column of a name. A name in other letters is the same if no other column has it.
    pub(in crate::sql) fn find(&self, table: Option<&str>, name: &str) -> Result<Ex> {
        for exact in [true, false] {
            let same = |one: &str, other: &str| {
                if exact { one == other } else { one.eq_ignore_ascii_case(other) }
            };
            let columns = self.columns.iter().enumerate().filter(|(_, column)| {
                let named = table.map_or(!column.hidden, |table| same(&column.table, table));
                named && same(&column.name, name)
            });
            let merged = self.merged.iter().filter(|merged| table.is_none() && same(&merged.name, name));
            let mut found =
                columns.map(|(at, _)| Ex::Column(at)).chain(merged.map(|merged| merged.of.clone()));
            match (found.next(), found.next()) {
                (Some(found), None) => return Ok(found),
                (Some(_), Some(_)) => {
                    return Err(Error::usage(
                        "sql",
                        format!("names {name}, which several tables have; write TABLE.{name}"),
                    ));
                }
                (None, _) => {}
            }
        }
        if let Some(table) = table
            && !self.columns.iter().any(|column| column.table.eq_ignore_ascii_case(table))
        {
            let mut tables: Vec<&str> = self.columns.iter().map(|column| column.table.as_str()).collect();
            tables.dedup();
            tables.retain(|table| !table.is_empty());
            let near = spelling::nearest(table, tables.iter().copied()).first().copied();
            // Of one table only one can be meant.
            let near = near.or_else(|| if let [only] = *tables { Some(only) } else { None });
            let near = near.map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
            return Err(Error::usage(
                "sql",
                format!("names {table}.{name}, but no table is called {table}{near}"),
            ));
        }
        let known: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        let near = spelling::nearest(name, known.iter().copied()).first().copied();
        let shown = table.map(|table| format!("{table}.")).unwrap_or_default();
        Err(Error::usage(
            "sql",
            match near {
                Some(near) => format!("names no column {shown}{name} (did you mean {near}?)"),
                None => format!("names the column {shown}{name}, which no table has"),
            },
        ))
    }

    /// Returns what several names mean that are joined by dots: a column of a table, or a field of a column with records.
    pub(super) fn path(&self, names: &[Ident]) -> Result<Ex> {
        let mut failed = None;
        for tables in (0..names.len()).rev() {
            let (table, rest) = names.split_at_checked(tables).unwrap_or_default();
            let Some((name, fields)) = rest.split_first() else { continue };
            let table = table.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".");
            let found = self.find(Some(table.as_str()).filter(|_| tables > 0), &name.value);
            let found = found.and_then(|of| fields.iter().try_fold(of, |of, field| self.field(of, field)));
            match found {
                Ok(found) => return Ok(found),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        Err(failed.unwrap_or_else(|| unsupported("an empty name")))
    }

    /// Returns a field of records.
    fn field(&self, of: Ex, name: &Ident) -> Result<Ex> {
        let Some(Arrow::Struct(fields)) = self.kind(&of) else {
            return Err(Error::usage("sql", format!("names the field {name} of a value that has no fields")));
        };
        let exact = fields.iter().position(|field| *field.name() == name.value);
        let at =
            exact.or_else(|| fields.iter().position(|field| field.name().eq_ignore_ascii_case(&name.value)));
        let at = at.ok_or_else(|| {
            let near = spelling::nearest(&name.value, fields.iter().map(|field| field.name().as_str()));
            let near = near.first().map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
            Error::usage("sql", format!("names the field {name}, which the struct does not have{near}"))
        })?;
        Ok(Ex::Field(Box::new(of), at))
    }

    /// Returns the type of a column or of a field.
    pub(super) fn kind(&self, of: &Ex) -> Option<&Arrow> {
        match of {
            Ex::Column(at) => self.columns.get(*at).map(|column| &column.kind),
            Ex::Field(of, at) => match self.kind(of)? {
                Arrow::Struct(fields) => fields.get(*at).map(|field| field.data_type()),
                _ => None,
            },
            _ => None,
        }
    }
}
