//! Queries: their common tables, what their parts unite, and the order of the whole.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use sciformats_conventions::sciformats::{Error, Result};
use sqlparser::ast::{Query, SetExpr, SetOperator, SetQuantifier};

use super::compile::{Compiler, Scope, unsupported};
use super::end::{End, cut, end, most, ordinal, sort_key};
use super::expr::Ex;
use super::rows::{Rows, different};
use super::sort::{collected, sorted};
use super::union::united;
use super::{Held, SqlOptions, Tables};
use crate::Scan;
use crate::csv::of_arrow;

/// What a query can name.
#[derive(Clone)]
pub(super) struct Context<'t> {
    pub(super) tables: &'t dyn Tables,
    pub(super) options: &'t SqlOptions,
    /// The results of common table expressions.
    pub(super) known: HashMap<String, Arc<dyn Scan>>,
}

impl Context<'_> {
    /// Returns a table by its name.
    pub(super) fn table(&self, name: &str) -> Result<Arc<dyn Scan>> {
        let other =
            || self.known.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, of)| of);
        match self.known.get(name).or_else(other) {
            Some(known) => Ok(Arc::clone(known)),
            None => self.tables.table(name),
        }
    }

    /// Returns the result of a subquery as a table.
    pub(super) fn held(&self, query: &Query) -> Result<Arc<dyn Scan>> {
        let rows = self.query(query)?;
        let schema = Arc::clone(&rows.schema);
        let batches = collected(rows, &self.options.limits)?;
        Ok(Arc::new(Held { schema, batches }))
    }

    pub(super) fn query(&self, query: &Query) -> Result<Rows> {
        if query.fetch.is_some() || !query.locks.is_empty() || !query.pipe_operators.is_empty() {
            return Err(unsupported("FETCH, FOR or a pipe"));
        }
        if query.for_clause.is_some() || query.settings.is_some() || query.format_clause.is_some() {
            return Err(unsupported("FOR, SETTINGS or FORMAT"));
        }
        let (mut unions, mut first) = (0, &*query.body);
        while let SetExpr::SetOperation { left, .. } = first {
            unions += 1;
            first = left;
        }
        if unions > 100 {
            return Err(Error::usage("sql", "unites more than 100 queries"));
        }
        let mut context = self.clone();
        if let Some(with) = &query.with {
            if with.recursive {
                return Err(unsupported("WITH RECURSIVE"));
            }
            for table in &with.cte_tables {
                let mut held = context.held(&table.query)?;
                if !table.alias.columns.is_empty() {
                    let names = table.alias.columns.iter().map(|column| column.name.value.clone()).collect();
                    held = renamed(&held, names)?;
                }
                context.known.insert(table.alias.name.value.clone(), held);
            }
        }
        let end = end(query)?;
        match &*query.body {
            SetExpr::Select(select) => context.select(select, &end),
            other => {
                let rows = context.body(other)?;
                let scope = Scope::of(&rows.schema);
                let mut keys = Vec::new();
                for of in &end.order {
                    let key = match ordinal(&of.expr, scope.columns.len())? {
                        Some(at) => Ex::Column(at),
                        None => Compiler::new(&scope, None).expr(&of.expr)?,
                    };
                    keys.push(sort_key(key, &of.options)?);
                }
                let rows = match keys.as_slice() {
                    [] => rows,
                    keys => sorted(rows, keys, most(&end), &context.options.limits)?,
                };
                Ok(cut(rows, &end))
            }
        }
    }

    fn body(&self, body: &SetExpr) -> Result<Rows> {
        match body {
            SetExpr::Select(select) => self.select(select, &End::default()),
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { left, op: SetOperator::Union, set_quantifier, right } => {
                let all = match set_quantifier {
                    SetQuantifier::All => true,
                    SetQuantifier::None | SetQuantifier::Distinct => false,
                    _ => return Err(unsupported("UNION BY NAME")),
                };
                let rows = united(self.body(left)?, self.body(right)?)?;
                Ok(if all { rows } else { different(rows, self.options.limits) })
            }
            _ => Err(unsupported(format!("the query {body}"))),
        }
    }
}

/// Gives a table other names for its columns.
#[allow(clippy::needless_pass_by_value, reason = "the caller has no further use for it")]
fn renamed(held: &Arc<dyn Scan>, names: Vec<String>) -> Result<Arc<dyn Scan>> {
    let reader = held.scan(&crate::Options::default())?;
    let schema = held.schema();
    if schema.fields().len() < names.len() {
        return Err(Error::usage("sql", "gives a WITH query more names than it has columns"));
    }
    let fields = schema.fields().iter().enumerate().map(|(at, field)| {
        let name = names.get(at).unwrap_or(field.name());
        field.as_ref().clone().with_name(name)
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let batches = reader.map(|batch| {
        RecordBatch::try_new(Arc::clone(&schema), batch.map_err(of_arrow)?.columns().to_vec())
            .map_err(of_arrow)
    });
    let batches = batches.collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Held { schema, batches }))
}
