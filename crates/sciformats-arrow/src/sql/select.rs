//! SELECT: what a query takes from its tables, how it groups the rows, and what it makes of them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use sciformats_conventions::sciformats::{Error, Result};
use sqlparser::ast::{
    self, Distinct, Expr, GroupByExpr, Select, SelectFlavor, SelectItem, SelectItemQualifiedWildcardKind,
    WildcardAdditionalOptions,
};

use super::aggregate::{Grouping, Kind};
use super::compile::{Compiler, Groups, Scope, name_of, parts, same, shallow, unsupported};
use super::end::{End, cut, most, of_output, ordinal, sort_key};
use super::expr::{Ex, overflow};
use super::from::{From, table_name};
use super::query::Context;
use super::rows::{Rows, different, projected, satisfying};
use super::sort::sorted;
use super::vector::{Value, Vector};
use crate::csv::of_arrow;

impl Context<'_> {
    pub(super) fn select(&self, select: &Select, end: &End<'_>) -> Result<Rows> {
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
        let aggregates = has_aggregate;
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
            scope.sortable(&key, is_grouped.then_some(&groups))?;
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
            rows = different(rows, self.options.limits);
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

/// One entry of the SELECT list.
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
    if select.projection.is_empty() {
        // `FROM t` alone means all columns.
        return match select.flavor {
            SelectFlavor::FromFirstNoSelect => Ok(all(None)),
            _ => Err(Error::usage("sql", "selects no columns")),
        };
    }
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
            items.iter().filter(|item| !has_aggregate(&item.of)).map(output).collect()
        }
        _ => Err(unsupported("this GROUP BY")),
    }
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

/// Returns whether an expression contains an aggregate.
fn has_aggregate(of: &Expr) -> bool {
    let mut waiting = vec![of];
    while let Some(of) = waiting.pop() {
        if let Expr::Function(function) = of
            && name_of(&function.name).is_ok_and(|name| Kind::named(&name).is_some())
        {
            return true;
        }
        parts(of, &mut |part| waiting.push(part));
    }
    false
}
