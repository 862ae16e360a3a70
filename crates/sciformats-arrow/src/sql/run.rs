//! Runs queries.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use sciformats_conventions::sciformats::{Error, Result};
use sqlparser::ast::{
    self, Distinct, Expr, GroupByExpr, LimitClause, OrderByKind, OrderByOptions, OrderBySort, Query, Select,
    SelectItem, SelectItemQualifiedWildcardKind, SetExpr, SetOperator, SetQuantifier,
    WildcardAdditionalOptions,
};

use super::aggregate::{Grouping, Kind};
use super::compile::{Compiler, Groups, Scope, name_of, same, shallow, unsupported};
use super::expr::Ex;
use super::from::{From, different, filtered, table_name};
use super::sort::{Key, collected, sorted};
use super::vector::{Value, Vector};
use super::{Held, SqlOptions, Tables};
use crate::Scan;
use crate::csv::of_arrow;

/// A stream of batches.
pub(super) struct Rows {
    pub(super) schema: SchemaRef,
    pub(super) from: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
}

/// What a query can name.
#[derive(Clone)]
pub(super) struct Context<'t> {
    pub(super) tables: &'t dyn Tables,
    pub(super) options: &'t SqlOptions,
    /// The results of common table expressions.
    pub(super) known: HashMap<String, Arc<dyn Scan>>,
}

/// The order and the limits of a query.
#[derive(Default)]
struct End<'q> {
    order: Vec<&'q ast::OrderByExpr>,
    skip: u64,
    limit: Option<u64>,
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
            return Err(unsupported("FETCH, FOR and pipes"));
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
                Ok(if all { rows } else { self.different(rows) })
            }
            _ => Err(unsupported(format!("the query {body}"))),
        }
    }

    fn select(&self, select: &Select, end: &End<'_>) -> Result<Rows> {
        refuse(select)?;
        for item in &select.projection {
            if let SelectItem::UnnamedExpr(of) | SelectItem::ExprWithAlias { expr: of, .. } = item {
                shallow([of])?;
            }
        }
        shallow(select.selection.iter().chain(&select.having))?;
        shallow(end.order.iter().map(|of| &of.expr))?;
        if let GroupByExpr::Expressions(of, _) = &select.group_by {
            shallow(of)?;
        }
        let mut from = From::new(self, &select.from)?;
        let scope = from.scope.clone();
        let items = items(select, &scope)?;
        let named: Vec<(String, Expr)> = items
            .iter()
            .filter(|item| item.column.is_none())
            .map(|item| (item.name.clone(), item.of.clone()))
            .collect();
        let conditions = match &select.selection {
            Some(condition) => Compiler::new(&scope, None).with_outputs(&named).expr(condition)?.conditions(),
            None => Vec::new(),
        };
        let keys = grouped_by(select, &items, &scope)?;
        let aggregates = |of: &Expr| has_aggregate(of, 0);
        let is_grouped = !keys.is_empty()
            || select.having.is_some()
            || items.iter().any(|item| aggregates(&item.of))
            || end.order.iter().any(|of| aggregates(&of.expr));
        let mut key_exs = keys.clone();
        let mut groups = Groups { keys, aggregates: Vec::new() };
        let mut outputs = Vec::new();
        for item in &items {
            let mut compiler = Compiler::new(&scope, is_grouped.then_some(&mut groups));
            outputs.push(match &item.column {
                Some(of) => compiler.column(of, &item.name)?,
                None => compiler.expr(&item.of)?,
            });
        }
        let having = match &select.having {
            Some(of) => Some(Compiler::new(&scope, Some(&mut groups)).with_outputs(&named).expr(of)?),
            None => None,
        };
        let distinct = match &select.distinct {
            None | Some(Distinct::All) => false,
            Some(Distinct::Distinct) => true,
            Some(Distinct::On(_)) => return Err(unsupported("DISTINCT ON")),
        };
        let mut order = Vec::new();
        for of in &end.order {
            let key = match named_output(&of.expr, &items)? {
                Some(at) => outputs.get(at).cloned().unwrap_or(Ex::Literal(Value::Null)),
                None => Compiler::new(&scope, is_grouped.then_some(&mut groups)).expr(&of.expr)?,
            };
            order.push(sort_key(key, &of.options)?);
        }
        // Of different rows, only the outputs are left.
        let of_outputs = match distinct {
            true => order.iter().map(|key| of_output(key, &outputs)).collect::<Result<Vec<_>>>()?,
            false => Vec::new(),
        };
        let mut rest = from.filtered(conditions);
        if let (Some(limit), true, true, false, false) =
            (end.limit, rest.is_empty(), order.is_empty(), is_grouped, distinct)
        {
            from.limited(end.skip.saturating_add(limit)); // a bound
        }
        let mut aggregated: Vec<_> = groups.aggregates.into_iter().map(|(_, aggregate)| aggregate).collect();
        {
            let mut all: Vec<&mut Ex> = rest.iter_mut().collect();
            if is_grouped {
                all.extend(key_exs.iter_mut());
                for aggregate in &mut aggregated {
                    all.extend(aggregate.of.as_mut());
                    all.extend(aggregate.filter.as_mut());
                }
            } else {
                all.extend(outputs.iter_mut());
                all.extend(order.iter_mut().map(|key| &mut key.of));
            }
            from.pruned(&mut all);
        }
        let mut rows = from.rows(self)?;
        if !rest.is_empty() {
            rows = satisfying(rows, rest);
        }
        if is_grouped {
            rows = self.grouped(rows, key_exs, aggregated)?;
            if let Some(having) = having {
                rows = satisfying(rows, having.conditions());
            }
        }
        if !order.is_empty() && !distinct {
            rows = sorted(rows, &order, most(end), &self.options.limits)?;
        }
        let names: Vec<String> = items.into_iter().map(|item| item.name).collect();
        let mut rows = projected(rows, outputs, names)?;
        if distinct {
            rows = self.different(rows);
            if !of_outputs.is_empty() {
                rows = sorted(rows, &of_outputs, most(end), &self.options.limits)?;
            }
        }
        Ok(cut(rows, end))
    }

    /// Groups all rows.
    fn grouped(
        &self,
        rows: Rows,
        keys: Vec<Ex>,
        aggregates: Vec<super::aggregate::Aggregate>,
    ) -> Result<Rows> {
        let empty = RecordBatch::new_empty(Arc::clone(&rows.schema));
        let mut fields: Vec<Field> = Vec::new();
        let mut grouping = Grouping::new(keys, aggregates, (&empty, self.options.limits))?;
        for batch in rows.from {
            grouping.add(&batch?)?;
        }
        let mut arrays = Vec::new();
        for (at, column) in grouping.finish()?.into_iter().enumerate() {
            let array = column.into_array()?;
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

    /// Leaves out rows that were there before.
    fn different(&self, rows: Rows) -> Rows {
        let schema = Arc::clone(&rows.schema);
        let limits = self.options.limits;
        let (mut seen, mut held) = (HashSet::new(), 0u64);
        let batches = rows.from.map(move |batch| {
            let batch = batch?;
            let columns =
                batch.columns().iter().map(super::vector::Vector::of).collect::<Result<Vec<_>>>()?;
            let mut mask = Vec::with_capacity(batch.num_rows());
            for row in 0..batch.num_rows() {
                let mut key = Vec::new();
                columns.iter().try_for_each(|of| of.key(row, &mut key))?;
                let size = key.len() as u64 + 64;
                let new = seen.insert(key);
                if new {
                    held = held.saturating_add(size); // a bound
                    limits.memory("bytes of the different rows of a query", held)?;
                }
                mask.push(new);
            }
            filtered(&batch, &mask)
        });
        Rows { schema, from: Box::new(batches) }
    }
}

/// Refuses what the dialect of the parser has and this one does not.
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

/// Gives a table other names for its columns.
#[allow(clippy::needless_pass_by_value, reason = "the caller has no further use for it")]
fn renamed(held: &Arc<dyn Scan>, names: Vec<String>) -> Result<Arc<dyn Scan>> {
    let reader = held.scan(&crate::Options::default())?;
    let schema = held.schema();
    if schema.fields().len() < names.len() {
        return Err(Error::usage("sql", "has more names than columns"));
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

fn end(query: &Query) -> Result<End<'_>> {
    let mut end = End::default();
    if let Some(order) = &query.order_by {
        match &order.kind {
            OrderByKind::Expressions(of) => end.order = of.iter().collect(),
            OrderByKind::All(_) => return Err(unsupported("ORDER BY ALL")),
        }
    }
    let (limit, skip) = match &query.limit_clause {
        None => (None, None),
        Some(LimitClause::LimitOffset { limit, offset, limit_by }) if limit_by.is_empty() => {
            (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
        }
        Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
        Some(_) => return Err(unsupported("LIMIT BY")),
    };
    let count = |of: &Expr| match of {
        Expr::Value(value) => match &value.value {
            ast::Value::Number(digits, _) => {
                digits.parse().map_err(|_| Error::usage("sql", format!("has the limit {of}")))
            }
            _ => Err(Error::usage("sql", format!("has the limit {of}"))),
        },
        _ => Err(unsupported("a limit that is not a number")),
    };
    end.limit = limit.map(count).transpose()?;
    end.skip = skip.map(count).transpose()?.unwrap_or(0);
    Ok(end)
}

fn most(end: &End<'_>) -> Option<u64> {
    end.limit.map(|limit| limit.saturating_add(end.skip)) // a bound
}

fn sort_key(of: Ex, options: &OrderByOptions) -> Result<Key> {
    let descending = match &options.sort {
        None | Some(OrderBySort::Asc) => false,
        Some(OrderBySort::Desc) => true,
        Some(OrderBySort::Using(_)) => return Err(unsupported("ORDER BY USING")),
    };
    Ok(Key { of, descending, nulls_first: options.nulls_first.unwrap_or(false) })
}

/// Returns the output that a number stands for, if the expression is one.
fn ordinal(of: &Expr, outputs: usize) -> Result<Option<usize>> {
    let Expr::Value(value) = of else { return Ok(None) };
    let ast::Value::Number(digits, _) = &value.value else { return Ok(None) };
    let at = digits.parse::<usize>().ok().and_then(|at| at.checked_sub(1)).filter(|at| *at < outputs);
    at.map(Some)
        .ok_or_else(|| Error::usage("sql", format!("orders by the output {digits}, which is not there")))
}

/// Returns the output that an expression of ORDER BY or GROUP BY means.
fn named_output(of: &Expr, items: &[Item]) -> Result<Option<usize>> {
    if let Expr::Identifier(name) = of {
        let exact = items.iter().position(|item| item.name == name.value);
        let other = || items.iter().position(|item| item.name.eq_ignore_ascii_case(&name.value));
        if let Some(at) = exact.or_else(other) {
            return Ok(Some(at));
        }
    }
    if let Some(at) = items.iter().position(|item| item.column.is_none() && same(&item.of, of)) {
        return Ok(Some(at));
    }
    ordinal(of, items.len())
}

/// Returns a key of ORDER BY as one over the outputs.
fn of_output(key: &Key, outputs: &[Ex]) -> Result<Key> {
    let mut of = key.of.clone();
    if of.replace(outputs) {
        return Ok(Key { of, ..*key });
    }
    Err(Error::usage("sql", "orders different rows by what is not among their outputs"))
}

/// Something that a query selects.
struct Item {
    of: Expr,
    /// The column, if `*` means it.
    column: Option<Ex>,
    name: String,
}

/// Returns what a query selects.
fn items(select: &Select, scope: &Scope) -> Result<Vec<Item>> {
    let all = |table: Option<&str>| -> Vec<Item> {
        let exact = scope.columns.iter().any(|column| Some(column.table.as_str()) == table);
        let mut all = Vec::new();
        for (at, column) in scope.columns.iter().enumerate() {
            let (of, name) = match (table, scope.merged.iter().find(|merged| merged.at == at)) {
                (Some(table), _) if column.table == table => (Ex::Column(at), &column.name),
                (Some(table), _) if !exact && column.table.eq_ignore_ascii_case(table) => {
                    (Ex::Column(at), &column.name)
                }
                (Some(_), _) => continue,
                (None, Some(merged)) => (merged.of.clone(), &merged.name),
                (None, None) if column.hidden => continue,
                (None, None) => (Ex::Column(at), &column.name),
            };
            let (of, name) = (Some(of), name.clone());
            all.push(Item { of: Expr::Identifier(ast::Ident::with_quote('"', &name)), column: of, name });
        }
        all
    };
    let mut named = Vec::new();
    for item in &select.projection {
        match item {
            SelectItem::UnnamedExpr(of) => {
                let name = match of {
                    Expr::Identifier(name) => name.value.clone(),
                    Expr::CompoundIdentifier(names) => {
                        names.last().map(|name| name.value.clone()).unwrap_or_default()
                    }
                    other => other.to_string(),
                };
                named.push(Item { of: of.clone(), column: None, name });
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                named.push(Item { of: expr.clone(), column: None, name: alias.value.clone() });
            }
            SelectItem::Wildcard(options) => {
                without_options(options)?;
                named.append(&mut all(None));
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                without_options(options)?;
                let name = table_name(name)?;
                let mut of = all(Some(&name));
                if of.is_empty() {
                    return Err(Error::usage("sql", format!("names no table {name}")));
                }
                named.append(&mut of);
            }
            other => return Err(unsupported(format!("{other} as a column"))),
        }
    }
    Ok(named)
}

/// Fails if `*` has options such as `EXCLUDE`, which would change what it means.
fn without_options(options: &WildcardAdditionalOptions) -> Result<()> {
    match options.to_string().trim() {
        "" => Ok(()),
        told => Err(unsupported(format!("the option {told} of *"))),
    }
}

/// Returns the expressions by which rows are grouped.
fn grouped_by(select: &Select, items: &[Item], scope: &Scope) -> Result<Vec<Ex>> {
    let plain = |of: &Expr| Compiler::new(scope, None).expr(of);
    let output = |item: &Item| item.column.clone().map_or_else(|| plain(&item.of), Ok);
    match &select.group_by {
        GroupByExpr::Expressions(of, modifiers) if modifiers.is_empty() => {
            let mut keys = Vec::new();
            for of in of {
                // A name means a column of a table before it means an output.
                let is_column = match of {
                    Expr::Identifier(name) => scope.find(None, &name.value).is_ok(),
                    _ => false,
                };
                let key = match if is_column { None } else { named_output(of, items)? } {
                    Some(at) => items.get(at).map_or_else(|| plain(of), output)?,
                    None => plain(of)?,
                };
                keys.push(key);
            }
            Ok(keys)
        }
        GroupByExpr::All(modifiers) if modifiers.is_empty() => {
            items.iter().filter(|item| !has_aggregate(&item.of, 0)).map(output).collect()
        }
        _ => Err(unsupported("this GROUP BY")),
    }
}

/// Returns the rows of two queries, whose columns get types that hold the values of both.
fn united(left: Rows, right: Rows) -> Result<Rows> {
    let fields = (left.schema.fields(), right.schema.fields());
    if fields.0.len() != fields.1.len() {
        let (one, other) = (fields.0.len(), fields.1.len());
        return Err(Error::usage("sql", format!("unites tables with {one} and {other} columns")));
    }
    let both = fields.0.iter().zip(fields.1.iter()).map(|(one, other)| {
        let kind = common(one.data_type(), other.data_type()).ok_or_else(|| {
            let (name, one, other) = (one.name(), one.data_type(), other.data_type());
            Error::usage("sql", format!("unites {one} and {other} in the column {name}"))
        })?;
        // Two lists of categories have no common order.
        Ok(one.as_ref().clone().with_data_type(kind).with_nullable(true).with_dict_is_ordered(false))
    });
    let schema = Arc::new(Schema::new(both.collect::<Result<Vec<_>>>()?));
    let out = Arc::clone(&schema);
    let batches = left.from.chain(right.from).map(move |batch| {
        let batch = batch?;
        let columns = batch.columns().iter().zip(out.fields());
        let columns = columns.map(|(column, field)| converted(column, field.data_type()));
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        RecordBatch::try_new_with_options(Arc::clone(&out), columns, &options).map_err(of_arrow)
    });
    Ok(Rows { schema, from: Box::new(batches) })
}

/// Returns a type that has the values of two; `None` if there is none.
fn common(one: &DataType, other: &DataType) -> Option<DataType> {
    if one == other {
        return Some(one.clone());
    }
    let kind = |of: &DataType| Vector::of(&arrow_array::new_empty_array(of)).ok();
    Some(match (kind(one)?, kind(other)?) {
        (Vector::Null(_), _) => other.clone(),
        (_, Vector::Null(_)) => one.clone(),
        (Vector::Int(_), Vector::Int(_)) => DataType::Int64,
        (Vector::Int(_) | Vector::Float(_), Vector::Int(_) | Vector::Float(_)) => DataType::Float64,
        (Vector::Text(_), Vector::Text(_)) => DataType::LargeUtf8,
        (Vector::Moment(_), Vector::Moment(_)) => DataType::Timestamp(TimeUnit::Nanosecond, None),
        _ => return None,
    })
}

/// Returns values in a type that [`common`] gave them.
fn converted(column: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    if column.data_type() == kind {
        return Ok(Arc::clone(column));
    }
    Ok(match (Vector::of(column)?, kind) {
        (Vector::Null(rows), kind) => arrow_array::new_null_array(kind, rows),
        (Vector::Int(values), DataType::Float64) => {
            Vector::Float(values.into_iter().map(|value| value.map(|value| value as f64)).collect())
                .into_array()?
        }
        (values, _) => values.into_array()?,
    })
}

/// Gives the columns of a result names that all differ.
pub(super) fn named_differently(rows: Rows) -> Rows {
    let names = rows.schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    let own = different(names.clone());
    if own == names {
        return rows;
    }
    let fields =
        rows.schema.fields().iter().zip(own).map(|(field, name)| field.as_ref().clone().with_name(name));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let out = Arc::clone(&schema);
    let batches = rows.from.map(move |batch| {
        let batch = batch?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().to_vec();
        RecordBatch::try_new_with_options(Arc::clone(&out), columns, &options).map_err(of_arrow)
    });
    Rows { schema, from: Box::new(batches) }
}

/// Returns whether an expression contains an aggregate.
fn has_aggregate(of: &Expr, depth: usize) -> bool {
    if depth > 200 {
        return false;
    }
    let inner = |of: &Expr| has_aggregate(of, depth + 1);
    match of {
        Expr::Function(function) => {
            let is = name_of(&function.name).ok().and_then(|name| Kind::named(&name)).is_some();
            let arguments = match &function.args {
                ast::FunctionArguments::List(list) => list.args.iter().any(|argument| match argument {
                    ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(of)) => inner(of),
                    _ => false,
                }),
                _ => false,
            };
            is || arguments
        }
        Expr::Nested(of)
        | Expr::IsNull(of)
        | Expr::IsNotNull(of)
        | Expr::IsTrue(of)
        | Expr::IsNotTrue(of)
        | Expr::IsFalse(of)
        | Expr::IsNotFalse(of)
        | Expr::UnaryOp { expr: of, .. }
        | Expr::Cast { expr: of, .. }
        | Expr::Ceil { expr: of, .. }
        | Expr::Floor { expr: of, .. }
        | Expr::Extract { expr: of, .. }
        | Expr::Substring { expr: of, .. }
        | Expr::Trim { expr: of, .. }
        | Expr::In { expr: of, .. } => inner(of),
        Expr::BinaryOp { left, right, .. }
        | Expr::IsDistinctFrom(left, right)
        | Expr::IsNotDistinctFrom(left, right) => inner(left) || inner(right),
        Expr::Between { expr, low, high, .. } => inner(expr) || inner(low) || inner(high),
        Expr::Like { expr, pattern, .. } | Expr::ILike { expr, pattern, .. } => inner(expr) || inner(pattern),
        Expr::Case { operand, conditions, else_result, .. } => {
            operand.as_deref().is_some_and(inner)
                || conditions.iter().any(|arm| inner(&arm.condition) || inner(&arm.result))
                || else_result.as_deref().is_some_and(inner)
        }
        _ => false,
    }
}

/// Keeps the rows that satisfy all conditions.
fn satisfying(rows: Rows, conditions: Vec<Ex>) -> Rows {
    let batches = rows.from.map(move |batch| {
        let mut batch = batch?;
        for condition in &conditions {
            let mask = condition.mask(&batch)?;
            batch = filtered(&batch, &mask)?;
        }
        Ok(batch)
    });
    Rows { schema: rows.schema, from: Box::new(batches) }
}

/// Computes the outputs.
fn projected(rows: Rows, outputs: Vec<Ex>, names: Vec<String>) -> Result<Rows> {
    let empty = RecordBatch::new_empty(Arc::clone(&rows.schema));
    let mut fields = Vec::new();
    for (of, name) in outputs.iter().zip(names) {
        let kind = of.array(&empty)?.data_type().clone();
        let mut field = Field::new(name, kind, true);
        if let Ex::Column(at) = of
            && let Some(from) = rows.schema.fields().get(*at)
        {
            field = field.with_metadata(from.metadata().clone());
            field = field.with_dict_is_ordered(from.dict_is_ordered().unwrap_or_default());
        }
        fields.push(field);
    }
    let schema = Arc::new(Schema::new(fields));
    let out = Arc::clone(&schema);
    let batches = rows.from.map(move |batch| {
        let batch = batch?;
        let arrays = outputs.iter().map(|of| of.array(&batch)).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&out), arrays, &options).map_err(of_arrow)
    });
    Ok(Rows { schema, from: Box::new(batches) })
}

/// Leaves out the first rows and those after the limit.
fn cut(rows: Rows, end: &End<'_>) -> Rows {
    let (mut skip, mut left) = (end.skip, end.limit);
    let mut from = rows.from;
    let batches = std::iter::from_fn(move || {
        loop {
            if left == Some(0) {
                return None;
            }
            let batch = match from.next()? {
                Ok(batch) => batch,
                Err(error) => return Some(Err(error)),
            };
            let rows = batch.num_rows() as u64;
            let start = skip.min(rows);
            skip -= start;
            let kept = (rows - start).min(left.unwrap_or(u64::MAX));
            left = left.map(|left| left - kept);
            if kept > 0 {
                let (start, kept) = (usize::try_from(start), usize::try_from(kept));
                return Some(Ok(batch.slice(start.unwrap_or_default(), kept.unwrap_or_default())));
            }
        }
    });
    Rows { schema: rows.schema, from: Box::new(batches) }
}

/// The result of a query.
pub(super) struct Output {
    rows: Rows,
    over: bool,
}

impl Output {
    pub(super) fn new(rows: Rows) -> Self {
        Self { rows, over: false }
    }
}

impl Iterator for Output {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let batch = self.rows.from.next();
        self.over = !matches!(batch, Some(Ok(_)));
        batch.map(|batch| batch.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for Output {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.rows.schema)
    }
}
