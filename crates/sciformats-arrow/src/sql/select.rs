//! SELECT: what a query takes from its tables, how it groups the rows, and what it makes of them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use sciformats_conventions::sciformats::Result;
use sqlparser::ast::{Distinct, Expr, GroupByExpr, Select, SelectItem};

use super::aggregate::{Aggregate, Grouping, Kind};
use super::compile::{Compiler, Groups, Scope, shallow, unsupported};
use super::end::{End, cut, most, of_output, sort_key};
use super::expr::{Ex, overflow};
use super::from::From;
use super::items::{grouped_by, has_aggregate, items, named_output};
use super::query::Context;
use super::rows::{Rows, different, projected, satisfying};
use super::sort::{Key, sorted};
use super::vector::{Value, Vector};
use crate::csv::of_arrow;

impl Context<'_> {
    pub(super) fn select(&self, select: &Select, end: &End<'_>) -> Result<Rows> {
        refuse(select)?;
        all_shallow(select, end)?;
        let mut from = From::new(self, &select.from)?;
        let mut steps = Steps::new(select, end, &from.scope)?;
        steps.conditions = from.filtered(std::mem::take(&mut steps.conditions));
        if let (Some(limit), true) = (end.limit, steps.take_rows_as_they_come()) {
            from.limited(end.skip.saturating_add(limit)); // a bound
        }
        from.pruned(&mut steps.over_rows());
        let rows = from.rows(self)?;
        self.carried_out(steps, rows, end)
    }

    /// Carries out the steps of a query on the rows of its tables.
    fn carried_out(&self, steps: Steps, mut rows: Rows, end: &End<'_>) -> Result<Rows> {
        let Steps { conditions, groups, order, outputs, names, distinct } = steps;
        let limits = self.options.limits;
        if !conditions.is_empty() {
            rows = satisfying(rows, conditions);
        }
        if let Some(Grouped { keys, aggregates, having }) = groups {
            rows = self.grouped(rows, keys, aggregates)?;
            if let Some(having) = having {
                rows = satisfying(rows, having.conditions());
            }
        }
        if !order.is_empty() && !distinct {
            rows = sorted(rows, &order, most(end), &limits)?;
        }
        rows = projected(rows, outputs, names)?;
        if distinct {
            rows = different(rows, limits);
            if !order.is_empty() {
                rows = sorted(rows, &order, most(end), &limits)?;
            }
        }
        Ok(cut(rows, end))
    }

    /// Groups all rows.
    fn grouped(&self, rows: Rows, keys: Vec<Ex>, aggregates: Vec<Aggregate>) -> Result<Rows> {
        let empty = RecordBatch::new_empty(Arc::clone(&rows.schema));
        let mut fields: Vec<Field> = Vec::new();
        let mut kinds = keys.iter().map(|key| narrow(Some(key), &empty)).collect::<Result<Vec<_>>>()?;
        for of in &aggregates {
            let chosen = matches!(of.kind, Kind::Least | Kind::Greatest | Kind::First { .. });
            kinds.push(narrow(of.of.as_ref().filter(|_| chosen), &empty)?);
        }
        let mut grouping = Grouping::new(keys, aggregates, (&empty, self.options.limits))?;
        for batch in rows.from {
            grouping.add(&batch?)?;
        }
        let mut arrays = Vec::new();
        for ((at, column), kind) in grouping.finish()?.into_iter().enumerate().zip(kinds) {
            let array = narrowed(column, kind.as_ref())?;
            fields.push(Field::new(format!("{at}"), array.data_type().clone(), true));
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new(fields));
        let count = arrays.first().map_or(0, arrow_array::Array::len);
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch =
            RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options).map_err(of_arrow)?;
        Ok(Rows { schema, from: Box::new(std::iter::once(Ok(batch))) })
    }
}

/// What a query computes from the rows of its tables, in this order.
struct Steps {
    conditions: Vec<Ex>,
    /// How rows are grouped, if they are.
    groups: Option<Grouped>,
    /// The keys by which rows are sorted. Of different rows only the outputs are left, so with DISTINCT they are over these.
    order: Vec<Key>,
    outputs: Vec<Ex>,
    names: Vec<String>,
    distinct: bool,
}

/// How rows are grouped, and which groups stay.
struct Grouped {
    keys: Vec<Ex>,
    aggregates: Vec<Aggregate>,
    having: Option<Ex>,
}

impl Steps {
    fn new(select: &Select, end: &End<'_>, scope: &Scope) -> Result<Self> {
        let items = items(select, scope)?;
        let plain = items.iter().filter(|item| item.column.is_none());
        let named: Vec<(String, Expr)> = plain.map(|item| (item.name.clone(), item.of.clone())).collect();
        let conditions = match &select.selection {
            Some(condition) => Compiler::new(scope, None).with_outputs(&named).expr(condition)?.conditions(),
            None => Vec::new(),
        };
        let keys = grouped_by(select, &items, scope)?;
        let is_grouped = !keys.is_empty()
            || select.having.is_some()
            || items.iter().any(|item| has_aggregate(&item.of))
            || end.order.iter().any(|of| has_aggregate(&of.expr));
        let mut groups = Groups { keys, aggregates: Vec::new() };
        let mut outputs = Vec::new();
        for item in &items {
            let mut compiler = Compiler::new(scope, is_grouped.then_some(&mut groups));
            outputs.push(match &item.column {
                Some(of) => compiler.column(of, &item.name)?,
                None => compiler.expr(&item.of)?,
            });
        }
        let having = match &select.having {
            Some(of) => Some(Compiler::new(scope, Some(&mut groups)).with_outputs(&named).expr(of)?),
            None => None,
        };
        let distinct = is_distinct(select)?;
        let mut order = Vec::new();
        for of in &end.order {
            let key = match named_output(&of.expr, &items)? {
                Some(at) => outputs.get(at).cloned().unwrap_or(Ex::Literal(Value::Null)),
                None => Compiler::new(scope, is_grouped.then_some(&mut groups)).expr(&of.expr)?,
            };
            scope.sortable(&key, is_grouped.then_some(&groups))?;
            order.push(sort_key(key, &of.options)?);
        }
        if distinct {
            order = order.iter().map(|key| of_output(key, &outputs)).collect::<Result<_>>()?;
        }
        let Groups { keys, aggregates } = groups;
        let aggregates = aggregates.into_iter().map(|(_, aggregate)| aggregate).collect();
        let groups = is_grouped.then_some(Grouped { keys, aggregates, having });
        let names = items.into_iter().map(|item| item.name).collect();
        Ok(Self { conditions, groups, order, outputs, names, distinct })
    }

    /// Returns whether the first rows of the result are made of the first rows of the tables.
    fn take_rows_as_they_come(&self) -> bool {
        self.conditions.is_empty() && self.order.is_empty() && self.groups.is_none() && !self.distinct
    }

    /// Returns the expressions over the rows of the tables, whose columns are read.
    fn over_rows(&mut self) -> Vec<&mut Ex> {
        let mut all: Vec<&mut Ex> = self.conditions.iter_mut().collect();
        match &mut self.groups {
            Some(groups) => {
                all.extend(groups.keys.iter_mut());
                for aggregate in &mut groups.aggregates {
                    all.extend(aggregate.of.as_mut());
                    all.extend(aggregate.filter.as_mut());
                }
            }
            None => {
                all.extend(self.outputs.iter_mut());
                if !self.distinct {
                    all.extend(self.order.iter_mut().map(|key| &mut key.of));
                }
            }
        }
        all
    }
}

/// Returns the type of a column of numbers with few digits, which groups of them keep, so that 0.1 stays what is 0.1 there, or of one of
/// integers beyond those of 64 bits with a sign.
fn narrow(of: Option<&Ex>, empty: &RecordBatch) -> Result<Option<DataType>> {
    let Some(of @ (Ex::Column(_) | Ex::Field(..))) = of else { return Ok(None) };
    let kind = of.array(empty)?.data_type().clone();
    Ok(Some(kind).filter(|kind| matches!(kind, DataType::Float16 | DataType::Float32 | DataType::UInt64)))
}

/// Returns numbers in the type that they had.
fn narrowed(column: Vector, kind: Option<&DataType>) -> Result<ArrayRef> {
    if let (Vector::Int(values), Some(DataType::UInt64)) = (&column, kind) {
        let natural = values.iter().map(|value| value.map(u64::try_from).transpose());
        let natural = natural.collect::<Result<UInt64Array, _>>().map_err(|_| overflow())?;
        return Ok(Arc::new(natural));
    }
    let array = column.into_array()?;
    Ok(match (kind, array.as_primitive_opt::<Float64Type>()) {
        (Some(DataType::Float32), Some(wide)) => {
            Arc::new(wide.unary::<_, Float32Type>(|number| number as f32))
        }
        (Some(DataType::Float16), Some(wide)) => Arc::new(wide.unary::<_, Float16Type>(half::f16::from_f64)),
        _ => array,
    })
}

/// Refuses syntax that the parser accepts and this dialect does not have.
fn refuse(select: &Select) -> Result<()> {
    let others = select.top.is_some()
        || select.into.is_some()
        || select.qualify.is_some()
        || select.prewhere.is_some()
        || select.exclude.is_some()
        || select.value_table_mode.is_some()
        || !select.lateral_views.is_empty()
        || !select.cluster_by.is_empty()
        || !select.distribute_by.is_empty()
        || !select.sort_by.is_empty()
        || !select.connect_by.is_empty()
        || !select.named_window.is_empty();
    if others { Err(unsupported(format!("a part of {select}"))) } else { Ok(()) }
}

/// Refuses expressions that are too deep to be followed recursively.
fn all_shallow(select: &Select, end: &End<'_>) -> Result<()> {
    for item in &select.projection {
        if let SelectItem::UnnamedExpr(of) | SelectItem::ExprWithAlias { expr: of, .. } = item {
            shallow([of])?;
        }
    }
    shallow(select.selection.iter().chain(&select.having))?;
    shallow(end.order.iter().map(|of| &of.expr))?;
    match &select.group_by {
        GroupByExpr::Expressions(of, _) => shallow(of),
        GroupByExpr::All(_) => Ok(()),
    }
}

/// Returns whether only different rows stay.
fn is_distinct(select: &Select) -> Result<bool> {
    match &select.distinct {
        None | Some(Distinct::All) => Ok(false),
        Some(Distinct::Distinct) => Ok(true),
        Some(Distinct::On(_)) => Err(unsupported("DISTINCT ON")),
    }
}
