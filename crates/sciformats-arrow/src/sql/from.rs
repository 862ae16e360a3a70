//! The tables of a query: which of their columns are read, and how they are joined.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Schema, SchemaRef};
use sciformats_conventions::sciformats::{Limits, Result};
use sqlparser::ast::{JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, TableFactor, TableWithJoins};

use super::Held;
use super::compile::{Compiler, Merged, Named, Scope, shallow, unsupported};
use super::expr::Ex;
use super::keys::{Common, as_common, compatible};
use super::query::Context;
use super::rows::Rows;
use super::sort::{collected, joined, taken};
use super::vector::Value;
use crate::csv::of_arrow;
use crate::{Comparison, Options, Predicate, Scalar, Scan};

/// The tables of a query, joined from left to right.
pub(super) struct From {
    pub(super) scope: Scope,
    tables: Vec<Table>,
    joins: Vec<Join>,
}

struct Table {
    scan: Arc<dyn Scan>,
    /// The places of its columns in the scope.
    first: usize,
    columns: usize,
    /// The columns that are read, if not all.
    used: Vec<usize>,
    filter: Vec<Predicate>,
    limit: Option<u64>,
    /// Whether its rows may be left out before the join, because rows that lack a partner stay away anyway.
    early: bool,
}

/// The sides of a join whose rows stay with missing values if they have no partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outer {
    Neither,
    Left,
    Right,
    Both,
}

impl Outer {
    fn left(self) -> bool {
        matches!(self, Self::Left | Self::Both)
    }

    fn right(self) -> bool {
        matches!(self, Self::Right | Self::Both)
    }
}

/// How a table is joined with those before it.
struct Join {
    outer: Outer,
    keys: Vec<(Ex, Ex)>,
    rest: Vec<Ex>,
}

/// Returns whether rows of the right side of a join stay without a partner.
fn keeps_right(join: &JoinOperator) -> bool {
    matches!(join, JoinOperator::Right(_) | JoinOperator::RightOuter(_) | JoinOperator::FullOuter(_))
}

/// Returns the name of a table as it stands in the query.
pub(super) fn table_name(name: &ObjectName) -> Result<String> {
    let parts = name.0.iter().map(|part| match part {
        ObjectNamePart::Identifier(part) => Ok(part.value.as_str()),
        ObjectNamePart::Function(_) => Err(unsupported(format!("the table {name}"))),
    });
    Ok(parts.collect::<Result<Vec<_>>>()?.join("."))
}

/// Returns names that all differ: a name that was there before gets a number.
pub(super) fn different(names: Vec<String>) -> Vec<String> {
    let mut known = HashSet::new();
    let mut all = Vec::with_capacity(names.len());
    for name in names {
        let mut own = name.clone();
        let mut number = 1u64;
        while known.contains(&own) {
            own = format!("{name}_{number}");
            number = number.saturating_add(1); // a bound: there are fewer names
        }
        known.insert(own.clone());
        all.push(own);
    }
    all
}

impl From {
    pub(super) fn new(context: &Context<'_>, from: &[TableWithJoins]) -> Result<Self> {
        let mut all = Self { scope: Scope::default(), tables: Vec::new(), joins: Vec::new() };
        for (at, tables) in from.iter().enumerate() {
            if at > 0 && tables.joins.iter().any(|join| keeps_right(&join.join_operator)) {
                all.add_joined(context, tables)?;
                continue;
            }
            all.add(context, &tables.relation)?;
            if at > 0 {
                all.joins.push(Join { outer: Outer::Neither, keys: Vec::new(), rest: Vec::new() });
            }
            for join in &tables.joins {
                let first = all.scope.columns.len();
                all.add(context, &join.relation)?;
                let (outer, constraint) = match &join.join_operator {
                    JoinOperator::Join(on) | JoinOperator::Inner(on) | JoinOperator::CrossJoin(on) => {
                        (Outer::Neither, on)
                    }
                    JoinOperator::Left(on) | JoinOperator::LeftOuter(on) => (Outer::Left, on),
                    JoinOperator::Right(on) | JoinOperator::RightOuter(on) => (Outer::Right, on),
                    JoinOperator::FullOuter(on) => (Outer::Both, on),
                    _ => return Err(unsupported(format!("the join {join}"))),
                };
                let joined = all.constrained(first, outer, constraint)?;
                all.joins.push(joined);
                let last = all.tables.len().saturating_sub(1);
                for (at, table) in all.tables.iter_mut().enumerate() {
                    let kept = if at == last { outer.left() } else { outer.right() };
                    table.early &= !kept;
                }
            }
        }
        Ok(all)
    }

    fn add(&mut self, context: &Context<'_>, factor: &TableFactor) -> Result<()> {
        let (scan, alias, default) = match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                with_hints,
                version: None,
                sample: None,
                with_ordinality: false,
                partitions,
                json_path: None,
                ..
            } if with_hints.is_empty() && partitions.is_empty() => {
                let name = table_name(name)?;
                (context.table(&name)?, alias, name)
            }
            TableFactor::Derived { lateral: false, subquery, alias, sample: None } => {
                (context.held(subquery)?, alias, String::new())
            }
            other => return Err(unsupported(format!("{other} as a table"))),
        };
        let table = alias.as_ref().map_or(default, |alias| alias.name.value.clone());
        let first = self.scope.columns.len();
        let schema = scan.schema();
        let mut names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        if let Some(alias) = alias {
            for (name, named) in names.iter_mut().zip(&alias.columns) {
                name.clone_from(&named.name.value);
            }
        }
        for (name, field) in different(names).into_iter().zip(schema.fields()) {
            let (table, kind) = (table.clone(), field.data_type().clone());
            let ordered = field.dict_is_ordered() == Some(true);
            self.scope.columns.push(Named { table, name, kind, ordered, hidden: false });
        }
        let columns = schema.fields().len();
        let (used, filter) = (Vec::new(), Vec::new());
        self.tables.push(Table { scan, first, columns, used, filter, limit: None, early: true });
        Ok(())
    }

    /// Adds tables that are joined with each other before they are joined with those before them, because rows of theirs stay
    /// without a partner among themselves only.
    fn add_joined(&mut self, context: &Context<'_>, tables: &TableWithJoins) -> Result<()> {
        let mut inner = Self::new(context, std::slice::from_ref(tables))?;
        let (first, scope) = (self.scope.columns.len(), inner.scope.clone());
        let mut every: Vec<Ex> = (0..scope.columns.len()).map(Ex::Column).collect();
        inner.pruned(&mut every.iter_mut().collect::<Vec<_>>());
        let rows = inner.rows(context)?;
        let schema = Arc::clone(&rows.schema);
        let batches = collected(rows, &context.options.limits)?;
        let columns = scope.columns.len();
        self.scope.columns.extend(scope.columns);
        self.scope.merged.extend(scope.merged.into_iter().map(|mut merged| {
            merged.at = merged.at.saturating_add(first); // a bound: there are fewer columns
            merged.of.columns(&mut |at| *at = at.saturating_add(first));
            merged
        }));
        let scan: Arc<dyn Scan> = Arc::new(Held { schema, batches });
        let (used, filter) = (Vec::new(), Vec::new());
        self.tables.push(Table { scan, first, columns, used, filter, limit: None, early: true });
        self.joins.push(Join { outer: Outer::Neither, keys: Vec::new(), rest: Vec::new() });
        Ok(())
    }

    /// Returns the join of the last table, whose columns begin at `first`.
    fn constrained(&mut self, first: usize, outer: Outer, on: &JoinConstraint) -> Result<Join> {
        let mut join = Join { outer, keys: Vec::new(), rest: Vec::new() };
        match on {
            JoinConstraint::None => {}
            JoinConstraint::On(on) => {
                shallow([on])?;
                let on = Compiler::new(&self.scope, None).expr(on)?;
                for condition in on.conditions() {
                    match equality(condition, first) {
                        Ok(pair) => join.keys.push(pair),
                        Err(condition) => join.rest.push(condition),
                    }
                }
            }
            JoinConstraint::Using(names) => {
                for name in names {
                    let name = table_name(name)?;
                    let right = self.scope.columns.iter().skip(first).cloned().collect();
                    let right = Scope { columns: right, merged: Vec::new() }.find(None, &name)?;
                    let left = self.scope.columns.iter().take(first).cloned().collect();
                    let left =
                        Scope { columns: left, merged: self.scope.merged.clone() }.find(None, &name)?;
                    let Ex::Column(place) = right else { continue };
                    self.merge(name, (left, first + place), (outer, &mut join));
                }
            }
            _ => return Err(unsupported("this kind of join")),
        }
        Ok(join)
    }

    /// Makes one column of two: what was found on the left side, and the column at a place of the right side.
    fn merge(&mut self, name: String, (left, right): (Ex, usize), (outer, join): (Outer, &mut Join)) {
        join.keys.push((left.clone(), Ex::Column(right)));
        // It may be that of an earlier join.
        let before = self.scope.merged.iter().position(|merged| merged.of == left);
        let at = match (before, &left) {
            (Some(before), _) => self.scope.merged.remove(before).at,
            (None, Ex::Column(at)) => *at,
            (None, _) => right,
        };
        for at in [at, right] {
            if let Some(column) = self.scope.columns.get_mut(at) {
                column.hidden = true;
            }
        }
        let of = match outer {
            Outer::Both => Ex::Coalesce(vec![left, Ex::Column(right)]),
            Outer::Right => Ex::Column(right),
            Outer::Left | Outer::Neither => left,
        };
        self.scope.merged.push(Merged { name, of, at });
    }

    /// Takes the conditions that single tables can check while they are read, and returns the others.
    pub(super) fn filtered(&mut self, conditions: Vec<Ex>) -> Vec<Ex> {
        let mut rest = Vec::new();
        for condition in conditions {
            match self.pushed(&condition) {
                Some((at, predicate)) => {
                    if let Some(table) = self.tables.get_mut(at) {
                        table.filter.push(predicate);
                    }
                }
                None => rest.push(condition),
            }
        }
        rest
    }

    fn pushed(&self, condition: &Ex) -> Option<(usize, Predicate)> {
        let Ex::Compare(comparison, left, right) = condition else { return None };
        let (comparison, at, value) = match (&**left, &**right) {
            (Ex::Column(at), Ex::Literal(value)) => (*comparison, *at, value),
            (Ex::Literal(value), Ex::Column(at)) => (turned(*comparison), *at, value),
            _ => return None,
        };
        let place =
            self.tables.iter().position(|table| (table.first..table.first + table.columns).contains(&at))?;
        let table = self.tables.get(place).filter(|table| table.early)?;
        let schema = table.scan.schema();
        let field = schema.fields().get(at - table.first)?;
        // A name of several columns means the first one.
        let unique = schema.fields().iter().filter(|other| other.name() == field.name()).count() == 1;
        let kind = match field.data_type() {
            DataType::Dictionary(key, values) if **key == DataType::Int32 => values,
            other => other,
        };
        // Here the order of categories is that of texts, which files do not compare by.
        let by_text =
            kind != field.data_type() && !matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        let text = matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        let moment = matches!(kind, DataType::Timestamp(..) | DataType::Date32 | DataType::Date64);
        let float = kind.is_floating();
        // What is not a number differs from numbers, but a missing value does not.
        if !unique || by_text || (float && comparison == Comparison::NotEqual) {
            return None;
        }
        let value = match value {
            Value::Int(value) if kind.is_integer() || float => Scalar::Int(*value),
            Value::Float(value) if kind.is_integer() || float => Scalar::Float(*value),
            Value::Decimal(value, digits) if kind.is_integer() || float => {
                Scalar::Float(super::exact::float(*value, digits.point))
            }
            Value::Text(value) if text => Scalar::Text(value.as_ref().into()),
            Value::Text(value) if moment => Scalar::Moment(crate::dates::moment(value)?),
            Value::Moment(value) if moment => Scalar::Moment(*value),
            Value::Bool(value) if *kind == DataType::Boolean => Scalar::Bool(*value),
            _ => return None,
        };
        Some((place, Predicate::new(field.name(), comparison, value)))
    }

    /// Sets the number of rows after which the only table ends.
    pub(super) fn limited(&mut self, rows: u64) {
        if let [table] = self.tables.as_mut_slice() {
            table.limit = Some(rows);
        }
    }

    /// Leaves out the columns that no expression uses, and gives the others their new places.
    pub(super) fn pruned(&mut self, expressions: &mut [&mut Ex]) {
        let mut used = std::collections::BTreeSet::new();
        for of in expressions.iter_mut() {
            of.columns(&mut |at| {
                let _ = used.insert(*at);
            });
        }
        for join in &mut self.joins {
            for of in join.keys.iter_mut().flat_map(|(left, right)| [left, right]).chain(&mut join.rest) {
                of.columns(&mut |at| {
                    let _ = used.insert(*at);
                });
            }
        }
        let places: HashMap<usize, usize> = used.iter().enumerate().map(|(new, &old)| (old, new)).collect();
        let mut moved = |of: &mut Ex| of.columns(&mut |at| *at = places.get(at).copied().unwrap_or(*at));
        expressions.iter_mut().for_each(|of| moved(of));
        for join in &mut self.joins {
            join.keys
                .iter_mut()
                .flat_map(|(left, right)| [left, right])
                .chain(&mut join.rest)
                .for_each(&mut moved);
        }
        for table in &mut self.tables {
            let range = table.first..table.first + table.columns;
            table.used = used.range(range).map(|at| at - table.first).collect();
        }
    }

    /// Reads the tables and joins them.
    pub(super) fn rows(self, context: &Context<'_>) -> Result<Rows> {
        let mut tables = self.tables.into_iter();
        let Some(first) = tables.next() else {
            // Without tables there is one row without columns.
            let schema = Arc::new(Schema::empty());
            let options = RecordBatchOptions::new().with_row_count(Some(1));
            let row = RecordBatch::try_new_with_options(Arc::clone(&schema), Vec::new(), &options);
            return Ok(Rows { schema, from: Box::new(std::iter::once(row.map_err(of_arrow))) });
        };
        let mut rows = first.rows(context)?;
        for (table, join) in tables.zip(self.joins) {
            rows = join.rows(rows, table.rows(context)?, &context.options.limits)?;
        }
        Ok(rows)
    }
}

fn turned(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    }
}

/// Returns the two sides of an equality between the tables before and after a place, or the condition itself.
fn equality(condition: Ex, first: usize) -> std::result::Result<(Ex, Ex), Ex> {
    let Ex::Compare(Comparison::Equal, mut left, mut right) = condition else { return Err(condition) };
    let side = |of: &mut Ex| {
        let (mut before, mut after) = (false, false);
        of.columns(&mut |at| if *at < first { before = true } else { after = true });
        (before, after)
    };
    match (side(&mut left), side(&mut right)) {
        ((true, false), (false, true)) => Ok((*left, *right)),
        ((false, true), (true, false)) => Ok((*right, *left)),
        _ => Err(Ex::Compare(Comparison::Equal, left, right)),
    }
}

impl Table {
    fn rows(self, context: &Context<'_>) -> Result<Rows> {
        let schema = self.scan.schema();
        let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
        let mut different = names.clone();
        different.sort_unstable();
        different.dedup();
        let unique = different.len() == names.len();
        let mut options = Options { filter: self.filter, limit: self.limit, ..Options::default() };
        options.threads = context.options.threads;
        options.indexes = context.options.indexes;
        if let Some(sorted) = context.options.sorted.as_ref().filter(|sorted| names.contains(sorted)) {
            options.sorted = Some(sorted.clone());
        }
        if unique {
            options.columns =
                Some(self.used.iter().filter_map(|&at| names.get(at).map(|name| (*name).clone())).collect());
        }
        let reader = self.scan.scan(&options)?;
        let schema = Arc::new(schema.project(&self.used).map_err(of_arrow)?);
        let used = self.used;
        let batches = reader.map(move |batch| {
            let batch = batch.map_err(of_arrow)?;
            if unique { Ok(batch) } else { batch.project(&used).map_err(of_arrow) }
        });
        Ok(Rows { schema, from: Box::new(batches) })
    }
}

impl Join {
    /// Joins the rows of the left side with all of the right side, which is held.
    fn rows(self, left: Rows, right: Rows, limits: &Limits) -> Result<Rows> {
        let right_schema = Arc::clone(&right.schema);
        let first = left.schema.fields().len();
        let mut held = joined(&right_schema, &collected(right, limits)?)?;
        let fields = left.schema.fields().iter().chain(right_schema.fields());
        let fields: Vec<_> =
            fields.map(|field| Arc::new(field.as_ref().clone().with_nullable(true))).collect();
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let mut keys = self.keys;
        // Columns of the right side have their places after those of the left side.
        for (_, right) in &mut keys {
            right.columns(&mut |at| *at = at.saturating_sub(first)); // a bound: they are all after it
        }
        let common = compatible(&mut keys, &left.schema, &right_schema)?;
        let mut places: HashMap<Vec<u8>, Vec<u64>> = HashMap::new();
        if !keys.is_empty() {
            let values = keys.iter().map(|(_, right)| right.eval(&held)).collect::<Result<Vec<_>>>()?;
            let values: Vec<_> =
                values.into_iter().zip(&common).map(|(of, common)| as_common(of, *common)).collect();
            let mut key = Vec::new();
            let mut size = 0u64;
            for row in 0..held.num_rows() {
                if values.iter().any(|of| of.is_null(row)) {
                    continue;
                }
                key.clear();
                values.iter().try_for_each(|of| of.key(row, &mut key))?;
                size = size.saturating_add(key.len() as u64 + 64); // a bound
                limits.memory("bytes of a join", size)?;
                places.entry(key.clone()).or_default().push(row as u64);
            }
        }
        let mut matched = vec![false; held.num_rows()];
        let (outer, rest) = (self.outer, self.rest);
        let empty_left = RecordBatch::new_empty(Arc::clone(&left.schema));
        let mut from = left.from;
        let mut over = false;
        let out = Arc::clone(&schema);
        let limits = *limits;
        let batches = std::iter::from_fn(move || -> Option<Result<RecordBatch>> {
            if over {
                return None;
            }
            match from.next() {
                Some(Err(error)) => Some(Err(error)),
                Some(Ok(batch)) => Some((|| -> Result<RecordBatch> {
                    let pairs = pairs(&batch, (&keys, &common), &places, held.num_rows(), &limits)?;
                    let mut found = paired(&out, (&batch, &held), &pairs)?;
                    let mut kept = pairs;
                    for condition in &rest {
                        let mask = condition.mask(&found)?;
                        found = filtered(&found, &mask)?;
                        let mut mask = mask.into_iter();
                        kept.retain(|_| mask.next() == Some(true));
                    }
                    for (_, right) in &kept {
                        let right = right.and_then(|right| usize::try_from(right).ok());
                        if let Some(matched) = right.and_then(|right| matched.get_mut(right)) {
                            *matched = true;
                        }
                    }
                    if outer.left() {
                        let mut alone = vec![true; batch.num_rows()];
                        for (left, _) in &kept {
                            let left = left.and_then(|left| usize::try_from(left).ok());
                            if let Some(alone) = left.and_then(|left| alone.get_mut(left)) {
                                *alone = false;
                            }
                        }
                        let alone = alone.into_iter().enumerate().filter(|(_, alone)| *alone);
                        let alone: Vec<_> = alone.map(|(row, _)| (Some(row as u64), None)).collect();
                        let more = paired(&out, (&batch, &held), &alone)?;
                        found = joined(&out, &[found, more])?;
                    }
                    Ok(found)
                })()),
                None => {
                    over = true;
                    if !outer.right() {
                        return None;
                    }
                    let alone = matched.iter().enumerate().filter(|(_, matched)| !**matched);
                    let alone: Vec<_> = alone.map(|(row, _)| (None, Some(row as u64))).collect();
                    let last = paired(&out, (&empty_left, &held), &alone);
                    held = RecordBatch::new_empty(held.schema());
                    Some(last)
                }
            }
        });
        Ok(Rows { schema, from: Box::new(batches) })
    }
}

/// A row of the left and a row of the right side.
type Pair = (Option<u64>, Option<u64>);

/// Returns the pairs of rows with equal keys, or all pairs if there are no keys.
fn pairs(
    batch: &RecordBatch,
    (keys, common): (&[(Ex, Ex)], &[Common]),
    places: &HashMap<Vec<u8>, Vec<u64>>,
    right: usize,
    limits: &Limits,
) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    let check = |pairs: &Vec<Pair>| limits.memory("bytes of a join", pairs.len() as u64 * 32).map(drop);
    if keys.is_empty() {
        for left in 0..batch.num_rows() as u64 {
            pairs.extend((0..right as u64).map(|right| (Some(left), Some(right))));
            check(&pairs)?;
        }
        return Ok(pairs);
    }
    let values = keys.iter().map(|(left, _)| left.eval(batch)).collect::<Result<Vec<_>>>()?;
    let values: Vec<_> = values.into_iter().zip(common).map(|(of, common)| as_common(of, *common)).collect();
    let mut key = Vec::new();
    for row in 0..batch.num_rows() {
        if values.iter().any(|of| of.is_null(row)) {
            continue;
        }
        key.clear();
        values.iter().try_for_each(|of| of.key(row, &mut key))?;
        if let Some(found) = places.get(&key) {
            pairs.extend(found.iter().map(|&right| (Some(row as u64), Some(right))));
            check(&pairs)?;
        }
    }
    Ok(pairs)
}

/// Returns the rows of pairs side by side.
fn paired(
    schema: &SchemaRef,
    (left, right): (&RecordBatch, &RecordBatch),
    pairs: &[Pair],
) -> Result<RecordBatch> {
    let mut columns = taken(left, &pairs.iter().map(|(left, _)| *left).collect::<Vec<_>>())?;
    columns.extend(taken(right, &pairs.iter().map(|(_, right)| *right).collect::<Vec<_>>())?);
    let options = RecordBatchOptions::new().with_row_count(Some(pairs.len()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(of_arrow)
}

/// Returns the rows for which the mask is true.
pub(super) fn filtered(batch: &RecordBatch, mask: &[bool]) -> Result<RecordBatch> {
    let mask = arrow_array::BooleanArray::from(mask.to_vec());
    arrow_select::filter::filter_record_batch(batch, &mask).map_err(of_arrow)
}
