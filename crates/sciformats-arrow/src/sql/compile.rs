//! Turns parsed expressions into those that are computed, with columns by their places.

use std::sync::Arc;

use arrow_schema::{DataType as Arrow, SchemaRef};
use sciformats_conventions::sciformats::{Error, Result};
use sciformats_core::spelling;
use sqlparser::ast::{
    self, BinaryOperator, CeilFloorKind, DataType, DateTimeField, Expr, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, InTarget, UnaryOperator,
};

use super::aggregate::{Aggregate, Kind};
use super::cast::To;
use super::exact::Digits;
use super::expr::{Ex, Function, Math, Part};
use super::vector::Value;
use crate::Comparison;

/// The columns that expressions can name.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) columns: Vec<Named>,
    /// The columns by which tables are joined with USING.
    pub(super) merged: Vec<Merged>,
}

/// A column with the name of its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) table: String,
    pub(super) name: String,
    pub(super) kind: Arrow,
    /// Its values are categories that have an order of their own.
    pub(super) ordered: bool,
    /// It is a part of a merged column, which its name means unless its table is named too.
    pub(super) hidden: bool,
}

/// A column that stands for one of each side of a join.
#[derive(Clone, Debug)]
pub(super) struct Merged {
    pub(super) name: String,
    /// Its value: that of the side whose rows all stay.
    pub(super) of: Ex,
    /// The place of the first of the columns.
    pub(super) at: usize,
}

/// The deepest nesting of expressions.
const DEPTH: usize = 200;

/// Refuses chains of operators that are too long to be followed recursively. The parser has already limited nesting by
/// parentheses.
pub(super) fn shallow<'e>(all: impl IntoIterator<Item = &'e Expr>) -> Result<()> {
    let mut waiting: Vec<(&Expr, usize)> = all.into_iter().map(|of| (of, 0)).collect();
    while let Some((of, depth)) = waiting.pop() {
        if depth > DEPTH {
            return Err(Error::usage("sql", format!("nests expressions more than {DEPTH} deep")));
        }
        let deeper = depth.saturating_add(1); // a bound
        parts(of, &mut |part| waiting.push((part, deeper)));
    }
    Ok(())
}

/// Calls `visit` for each expression of which another one directly consists.
pub(super) fn parts<'e>(of: &'e Expr, visit: &mut dyn FnMut(&'e Expr)) {
    match of {
        Expr::Nested(of)
        | Expr::UnaryOp { expr: of, .. }
        | Expr::Cast { expr: of, .. }
        | Expr::Ceil { expr: of, .. }
        | Expr::Floor { expr: of, .. }
        | Expr::Extract { expr: of, .. }
        | Expr::Substring { expr: of, .. }
        | Expr::Trim { expr: of, .. }
        | Expr::Collate { expr: of, .. }
        | Expr::AtTimeZone { timestamp: of, .. }
        | Expr::JsonAccess { value: of, .. }
        | Expr::CompoundFieldAccess { root: of, .. }
        | Expr::IsNull(of)
        | Expr::IsNotNull(of)
        | Expr::IsTrue(of)
        | Expr::IsNotTrue(of)
        | Expr::IsFalse(of)
        | Expr::IsNotFalse(of)
        | Expr::IsUnknown(of)
        | Expr::IsNotUnknown(of) => visit(of),
        Expr::BinaryOp { left: a, right: b, .. }
        | Expr::IsDistinctFrom(a, b)
        | Expr::IsNotDistinctFrom(a, b)
        | Expr::Like { expr: a, pattern: b, .. }
        | Expr::ILike { expr: a, pattern: b, .. } => [a, b].into_iter().for_each(|part| visit(part)),
        Expr::Between { expr, low, high, .. } => [expr, low, high].into_iter().for_each(|part| visit(part)),
        Expr::In { expr, target, .. } => {
            visit(expr);
            if let InTarget::List(list) = target {
                list.iter().for_each(visit);
            }
        }
        Expr::Case { operand, conditions, else_result, .. } => {
            operand.iter().chain(else_result).for_each(|part| visit(part));
            for arm in conditions {
                visit(&arm.condition);
                visit(&arm.result);
            }
        }
        Expr::Function(function) => {
            if let FunctionArguments::List(list) = &function.args {
                for argument in &list.args {
                    if let FunctionArg::Unnamed(FunctionArgExpr::Expr(of)) = argument {
                        visit(of);
                    }
                }
            }
        }
        _ => {}
    }
}

pub(super) fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::unsupported(format!("{what} in SQL"))
}

impl Scope {
    /// Returns the columns of a table whose name is not known.
    pub(super) fn of(schema: &SchemaRef) -> Self {
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
    pub(super) fn find(&self, table: Option<&str>, name: &str) -> Result<Ex> {
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
    fn path(&self, names: &[Ident]) -> Result<Ex> {
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
    fn kind(&self, of: &Ex) -> Option<&Arrow> {
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

/// What the expressions of a query with groups may use.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// The expressions by which rows are grouped.
    pub(super) keys: Vec<Ex>,
    /// The aggregates in the order of their columns, which follow those of the keys.
    pub(super) aggregates: Vec<(Expr, Aggregate)>,
}

/// Compiles expressions.
pub(super) struct Compiler<'s> {
    pub(super) scope: &'s Scope,
    /// With groups, columns are those of the groups.
    pub(super) groups: Option<&'s mut Groups>,
    /// What the query selects, by name.
    outputs: &'s [(String, Expr)],
    depth: usize,
}

impl<'s> Compiler<'s> {
    pub(super) fn new(scope: &'s Scope, groups: Option<&'s mut Groups>) -> Self {
        Self { scope, groups, outputs: &[], depth: 0 }
    }

    /// With the names of what the query selects. With groups they mean what they name, and in conditions on rows they are an error
    /// of their own.
    pub(super) fn with_outputs(self, outputs: &'s [(String, Expr)]) -> Self {
        Self { outputs, ..self }
    }

    /// Returns what the query selects by a name that is that of no column.
    fn output(&self, name: &str) -> Option<&'s Expr> {
        if self.scope.find(None, name).is_ok() {
            return None;
        }
        let same = |exact: bool| {
            let same =
                move |known: &str| if exact { known == name } else { known.eq_ignore_ascii_case(name) };
            self.outputs.iter().find(|(known, _)| same(known)).map(|(_, of)| of)
        };
        same(true).or_else(|| same(false))
    }

    pub(super) fn expr(&mut self, of: &Expr) -> Result<Ex> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Error::usage("sql", format!("nests expressions more than {DEPTH} deep")));
        }
        let found = self.grouped(of);
        self.depth -= 1;
        found
    }

    fn boxed(&mut self, of: &Expr) -> Result<Box<Ex>> {
        self.expr(of).map(Box::new)
    }

    /// With groups, an expression is that of a group, an aggregate, or consists of these.
    fn grouped(&mut self, of: &Expr) -> Result<Ex> {
        if let Expr::Identifier(name) = of
            && let Some(output) = self.output(&name.value)
        {
            if self.groups.is_none() {
                return Err(Error::usage(
                    "sql",
                    format!(
                        "names {name} in a condition on rows, which is no column of a table but a name of the result"
                    ),
                ));
            }
            // A name of the result is not explained by another one.
            let outputs = std::mem::take(&mut self.outputs);
            let found = self.expr(output);
            self.outputs = outputs;
            return found;
        }
        let Some(groups) = self.groups.as_deref_mut() else { return self.plain(of) };
        // Names can be written in several ways, so what they mean is compared.
        if !groups.keys.is_empty()
            && let Ok(plain) = Compiler::new(self.scope, None).expr(of)
            && let Some(at) = groups.keys.iter().position(|key| *key == plain)
        {
            return Ok(Ex::Column(at));
        }
        if let Expr::Function(function) = of
            && let Some(kind) = Kind::named(&name_of(&function.name)?)
        {
            let first = groups.keys.len();
            if let Some(at) = groups.aggregates.iter().position(|(known, _)| known == of) {
                return Ok(Ex::Column(first + at));
            }
            let aggregate = self.aggregate(function, kind)?;
            let Some(groups) = self.groups.as_deref_mut() else { return self.plain(of) };
            groups.aggregates.push((of.clone(), aggregate));
            return Ok(Ex::Column(first + groups.aggregates.len() - 1));
        }
        match of {
            Expr::Identifier(name) => {
                self.scope.find(None, &name.value)?;
                Err(ungrouped(&name.value))
            }
            Expr::CompoundIdentifier(names) => {
                self.scope.path(names)?;
                Err(ungrouped(&names.iter().map(|name| name.value.as_str()).collect::<Vec<_>>().join(".")))
            }
            _ => self.plain(of),
        }
    }

    /// Returns a column of the tables by its place, or that of the groups which is the same.
    pub(super) fn column(&self, of: &Ex, name: &str) -> Result<Ex> {
        match &self.groups {
            None => Ok(of.clone()),
            Some(groups) => {
                let at = groups.keys.iter().position(|key| key == of);
                at.map(Ex::Column).ok_or_else(|| ungrouped(name))
            }
        }
    }

    /// Returns a literal beside an expression: if this is a column of numbers with fewer digits, it is the nearest of them.
    fn beside(&self, of: &Ex, literal: Ex) -> Ex {
        let kind = match (&self.groups, of) {
            (None, of) => self.scope.kind(of),
            (Some(groups), Ex::Column(at)) => {
                let aggregate = || {
                    let (_, of) = groups.aggregates.get(at.checked_sub(groups.keys.len())?)?;
                    let same = matches!(of.kind, Kind::Least | Kind::Greatest | Kind::First);
                    of.of.as_ref().filter(|_| same)
                };
                groups.keys.get(*at).or_else(aggregate).and_then(|of| self.scope.kind(of))
            }
            _ => None,
        };
        match (kind, &literal) {
            (Some(kind), Ex::Literal(Value::Decimal(value, digits))) if kind.is_floating() => {
                let value = super::exact::float(*value, digits.point);
                Ex::Literal(Value::Float(crate::predicate::nearest(kind, value)))
            }
            (Some(kind), Ex::Literal(Value::Float(value))) => {
                Ex::Literal(Value::Float(crate::predicate::nearest(kind, *value)))
            }
            (Some(kind), Ex::Literal(Value::Int(value))) if kind.is_floating() => {
                let near = crate::predicate::nearest(kind, *value as f64);
                if *kind == Arrow::Float64 { literal } else { Ex::Literal(Value::Float(near)) }
            }
            _ => literal,
        }
    }

    /// Fails if an expression is a column of categories with an order, or a group of one.
    fn without_order(&self, of: &Ex, what: &str) -> Result<()> {
        match (&self.groups, of) {
            (None, of) => self.scope.without_order(of, what),
            (Some(groups), Ex::Column(at)) => {
                groups.keys.get(*at).map_or(Ok(()), |of| self.scope.without_order(of, what))
            }
            (Some(_), _) => Ok(()),
        }
    }

    /// Returns a comparison of two expressions, of which one may be a literal.
    fn compared(&self, comparison: Comparison, left: &Ex, right: &Ex) -> Result<Ex> {
        if !matches!(comparison, Comparison::Equal | Comparison::NotEqual) {
            self.without_order(left, "a comparison by order")?;
            self.without_order(right, "a comparison by order")?;
        }
        let (left, right) = (self.beside(right, left.clone()), self.beside(left, right.clone()));
        Ok(Ex::Compare(comparison, Box::new(left), Box::new(right)))
    }

    fn aggregate(&self, function: &ast::Function, kind: Kind) -> Result<Aggregate> {
        if function.over.is_some() {
            return Err(unsupported("a window function"));
        }
        let (arguments, distinct) = arguments(function)?;
        let mut inner = Compiler::new(self.scope, None);
        let of = match (arguments.as_slice(), kind) {
            ([Argument::All], Kind::Count) => None,
            ([Argument::Of(of)], _) => Some(inner.expr(of)?),
            _ => {
                return Err(Error::usage("sql", format!("calls {} without its one argument", function.name)));
            }
        };
        if let (Some(of), Kind::Least | Kind::Greatest) = (&of, kind) {
            self.scope.without_order(of, &function.name.to_string())?;
        }
        let filter = function.filter.as_ref().map(|filter| inner.expr(filter)).transpose()?;
        Ok(Aggregate { kind, of, distinct, filter })
    }

    fn plain(&mut self, of: &Expr) -> Result<Ex> {
        Ok(match of {
            Expr::Identifier(name) => self.scope.find(None, &name.value)?,
            Expr::CompoundIdentifier(names) => self.scope.path(names)?,
            Expr::Nested(of) => self.expr(of)?,
            Expr::Value(value) => Ex::Literal(literal(&value.value)?),
            Expr::TypedString(typed) => {
                let text = match literal(&typed.value.value)? {
                    Value::Text(text) => text,
                    _ => return Err(unsupported(of)),
                };
                if let DataType::Time(..) = typed.data_type {
                    let time = super::exact::time(text.trim()).map(|time| Ex::Literal(Value::Time(time)));
                    return time
                        .ok_or_else(|| Error::usage("sql", format!("has {of}, which is not a time of day")));
                }
                let is_date = matches!(
                    typed.data_type,
                    DataType::Date | DataType::Timestamp(..) | DataType::Datetime(_)
                );
                let moment = crate::predicate::moment(&text).filter(|_| is_date);
                Ex::Literal(Value::Moment(
                    moment.ok_or_else(|| Error::usage("sql", format!("has {of}, which is not a date")))?,
                ))
            }
            Expr::UnaryOp { op, expr } => match op {
                UnaryOperator::Plus => self.expr(expr)?,
                UnaryOperator::Minus => match self.expr(expr)? {
                    Ex::Literal(Value::Int(value)) => {
                        Ex::Literal(Value::Int(value.checked_neg().ok_or_else(super::expr::overflow)?))
                    }
                    Ex::Literal(Value::Float(value)) => Ex::Literal(Value::Float(-value)),
                    // It has at most 38 digits.
                    Ex::Literal(Value::Decimal(value, digits)) => {
                        Ex::Literal(Value::Decimal(value.saturating_neg(), digits))
                    }
                    other => Ex::Negative(Box::new(other)),
                },
                UnaryOperator::Not => Ex::Not(self.boxed(expr)?),
                _ => return Err(unsupported(format!("the operator {op}"))),
            },
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right)?,
            Expr::IsNull(of) => Ex::IsNull(self.boxed(of)?, false),
            Expr::IsNotNull(of) => Ex::IsNull(self.boxed(of)?, true),
            Expr::IsUnknown(of) => Ex::IsNull(self.boxed(of)?, false),
            Expr::IsNotUnknown(of) => Ex::IsNull(self.boxed(of)?, true),
            Expr::Interval(interval) => Ex::Literal(Value::Span(span(interval)?)),
            Expr::IsTrue(of) => Ex::IsTruth(self.boxed(of)?, true, false),
            Expr::IsNotTrue(of) => Ex::IsTruth(self.boxed(of)?, true, true),
            Expr::IsFalse(of) => Ex::IsTruth(self.boxed(of)?, false, false),
            Expr::IsNotFalse(of) => Ex::IsTruth(self.boxed(of)?, false, true),
            Expr::IsDistinctFrom(left, right) => Ex::Same(self.boxed(left)?, self.boxed(right)?, true),
            Expr::IsNotDistinctFrom(left, right) => Ex::Same(self.boxed(left)?, self.boxed(right)?, false),
            Expr::Between { expr, negated, low, high } => {
                let (of, low, high) = (self.expr(expr)?, self.expr(low)?, self.expr(high)?);
                let low = self.compared(Comparison::GreaterOrEqual, &of, &low)?;
                let high = self.compared(Comparison::LessOrEqual, &of, &high)?;
                let both = Ex::And(Box::new(low), Box::new(high));
                if *negated { Ex::Not(Box::new(both)) } else { both }
            }
            Expr::In { expr, target: InTarget::List(list), negated, .. } => {
                let of = self.boxed(expr)?;
                let list = list.iter().map(|item| self.expr(item).map(|item| self.beside(&of, item)));
                let list = list.collect::<Result<_>>()?;
                Ex::In(of, list, *negated)
            }
            Expr::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like((expr, pattern), escape_char.as_deref(), (*negated, false))?
            }
            Expr::ILike { negated, any: false, expr, pattern, escape_char } => {
                self.like((expr, pattern), escape_char.as_deref(), (*negated, true))?
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                let operand = operand.as_ref().map(|of| self.expr(of)).transpose()?;
                let mut when = Vec::new();
                for arm in conditions {
                    let condition = self.expr(&arm.condition)?;
                    let condition = match &operand {
                        Some(of) => self.compared(Comparison::Equal, of, &condition)?,
                        None => condition,
                    };
                    when.push((condition, self.expr(&arm.result)?));
                }
                let otherwise = match else_result {
                    Some(of) => self.expr(of)?,
                    None => Ex::Literal(Value::Null),
                };
                Ex::Case { when, otherwise: Box::new(otherwise) }
            }
            Expr::Cast { kind, expr, data_type, .. } => {
                let lenient = matches!(kind, ast::CastKind::TryCast | ast::CastKind::SafeCast);
                Ex::Cast(self.boxed(expr)?, to(data_type)?, lenient)
            }
            Expr::Extract { field, expr, .. } => {
                let function = match field {
                    DateTimeField::Year => Function::Part(Part::Year),
                    DateTimeField::Month => Function::Part(Part::Month),
                    DateTimeField::Day => Function::Part(Part::Day),
                    DateTimeField::Hour => Function::Part(Part::Hour),
                    DateTimeField::Minute => Function::Part(Part::Minute),
                    DateTimeField::Second => Function::Part(Part::Second),
                    DateTimeField::Epoch => Function::Epoch,
                    _ => return Err(unsupported(of)),
                };
                Ex::Call(function, vec![self.expr(expr)?])
            }
            Expr::Ceil { expr, field } => self.rounded(Function::Ceil, expr, field)?,
            Expr::Floor { expr, field } => self.rounded(Function::Floor, expr, field)?,
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                let mut of = vec![self.expr(expr)?];
                of.push(match substring_from {
                    Some(from) => self.expr(from)?,
                    None => Ex::Literal(Value::Int(1)),
                });
                if let Some(count) = substring_for {
                    of.push(self.expr(count)?);
                }
                Ex::Call(Function::Substring, of)
            }
            Expr::Trim { expr, trim_where: None, trim_what: None, trim_characters: None } => {
                Ex::Call(Function::Trim, vec![self.expr(expr)?])
            }
            Expr::Function(function) => self.call(function)?,
            _ => return Err(unsupported(format!("the expression {of}"))),
        })
    }

    fn rounded(&mut self, function: Function, of: &Expr, field: &CeilFloorKind) -> Result<Ex> {
        match field {
            CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => {
                Ok(Ex::Call(function, vec![self.expr(of)?]))
            }
            _ => Err(unsupported("rounding to a unit")),
        }
    }

    fn like(
        &mut self,
        (of, pattern): (&Expr, &Expr),
        escape: Option<&Expr>,
        (negated, fold): (bool, bool),
    ) -> Result<Ex> {
        let escape = match escape {
            None => Some('\\'),
            Some(of) => match self.expr(of)? {
                Ex::Literal(Value::Text(text)) => text.chars().next(),
                _ => return Err(unsupported("an ESCAPE that is not a text")),
            },
        };
        Ok(Ex::Like { of: self.boxed(of)?, pattern: self.boxed(pattern)?, escape, negated, fold })
    }

    fn binary(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<Ex> {
        let (left, right) = (self.boxed(left)?, self.boxed(right)?);
        Ok(match op {
            BinaryOperator::Plus => Ex::Math(Math::Add, left, right),
            BinaryOperator::Minus => Ex::Math(Math::Subtract, left, right),
            BinaryOperator::Multiply => Ex::Math(Math::Multiply, left, right),
            BinaryOperator::Divide => Ex::Math(Math::Divide, left, right),
            BinaryOperator::Modulo => Ex::Math(Math::Remainder, left, right),
            BinaryOperator::StringConcat => Ex::Join(left, right),
            BinaryOperator::And => Ex::And(left, right),
            BinaryOperator::Or => Ex::Or(left, right),
            _ => match comparison(op) {
                Some(comparison) => self.compared(comparison, &left, &right)?,
                None => return Err(unsupported(format!("the operator {op}"))),
            },
        })
    }

    fn call(&mut self, function: &ast::Function) -> Result<Ex> {
        let name = name_of(&function.name)?;
        if function.over.is_some() {
            return Err(unsupported("a window function"));
        }
        if Kind::named(&name).is_some() {
            return Err(Error::usage(
                "sql",
                format!("uses the aggregate {name} where there are single rows"),
            ));
        }
        let coalesce = matches!(name.as_str(), "coalesce" | "ifnull");
        let Some(known) = Function::named(&name).map(Some).or(coalesce.then_some(None)) else {
            return Err(unsupported(format!("the function {name}")));
        };
        let mut of = Vec::new();
        for argument in arguments(function)?.0 {
            match argument {
                Argument::Of(argument) => of.push(self.expr(argument)?),
                Argument::All => return Err(Error::usage("sql", format!("calls {name} with *"))),
            }
        }
        let (least, most) = known.map_or((1, usize::MAX), Function::arguments);
        if of.len() < least || of.len() > most {
            return Err(Error::usage("sql", format!("calls {name} with {} arguments", of.len())));
        }
        if let Some(Function::Greatest | Function::Least) = known {
            of.iter().try_for_each(|of| self.without_order(of, &name))?;
        }
        Ok(match known {
            Some(known) => Ex::Call(known, of),
            None => Ex::Coalesce(of),
        })
    }
}

fn ungrouped(name: &str) -> Error {
    Error::usage("sql", format!("selects {name}, which is neither in GROUP BY nor in an aggregate"))
}

/// Returns whether two expressions are the same, whatever parentheses they have.
pub(super) fn same(one: &Expr, other: &Expr) -> bool {
    match (one, other) {
        (Expr::Nested(one), other) => same(one, other),
        (one, Expr::Nested(other)) => same(one, other),
        (Expr::Identifier(one), Expr::Identifier(other)) => one.value == other.value,
        (one, other) => one == other,
    }
}

/// Returns the comparison of an operator.
pub(super) fn comparison(op: &BinaryOperator) -> Option<Comparison> {
    Some(match op {
        BinaryOperator::Eq => Comparison::Equal,
        BinaryOperator::NotEq => Comparison::NotEqual,
        BinaryOperator::Lt => Comparison::Less,
        BinaryOperator::LtEq => Comparison::LessOrEqual,
        BinaryOperator::Gt => Comparison::Greater,
        BinaryOperator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

/// An argument of a function.
pub(super) enum Argument<'e> {
    All,
    Of(&'e Expr),
}

/// Returns the arguments of a function, and whether only different ones count.
fn arguments(function: &ast::Function) -> Result<(Vec<Argument<'_>>, bool)> {
    let list = match &function.args {
        FunctionArguments::None => return Ok((Vec::new(), false)),
        FunctionArguments::List(list) if list.clauses.is_empty() => list,
        _ => return Err(unsupported(format!("the function {function}"))),
    };
    let distinct = list.duplicate_treatment == Some(ast::DuplicateTreatment::Distinct);
    let of = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(of)) => Ok(Argument::Of(of)),
        FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => Ok(Argument::All),
        _ => Err(unsupported(format!("the argument {argument}"))),
    });
    Ok((of.collect::<Result<_>>()?, distinct))
}

/// Returns the name of a function in lower case.
pub(super) fn name_of(name: &ast::ObjectName) -> Result<String> {
    match name.0.as_slice() {
        [ast::ObjectNamePart::Identifier(Ident { value, .. })] => Ok(value.to_ascii_lowercase()),
        _ => Err(unsupported(format!("the function {name}"))),
    }
}

fn literal(value: &ast::Value) -> Result<Value> {
    Ok(match value {
        ast::Value::Number(digits, _) => match digits.parse::<i128>() {
            Ok(value) => Value::Int(value),
            // A floating-point number would be a neighbour of it.
            Err(_) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
                return Err(Error::usage(
                    "sql",
                    format!("has the number {digits}, which is beyond 2^127 - 1"),
                ));
            }
            Err(_) if super::exact::literal(digits).is_some() => {
                super::exact::literal(digits).unwrap_or(Value::Null)
            }
            Err(_) => Value::Float(
                digits
                    .parse()
                    .map_err(|_| Error::usage("sql", format!("has {digits}, which is not a number")))?,
            ),
        },
        ast::Value::SingleQuotedString(text) => Value::Text(Arc::from(text.as_str())),
        ast::Value::Boolean(truth) => Value::Bool(*truth),
        ast::Value::Null => Value::Null,
        other => return Err(unsupported(format!("the literal {other}"))),
    })
}

fn to(kind: &DataType) -> Result<To> {
    Ok(match kind {
        DataType::Bool | DataType::Boolean => To::Bool,
        DataType::Int(_)
        | DataType::Integer(_)
        | DataType::BigInt(_)
        | DataType::SmallInt(_)
        | DataType::TinyInt(_)
        | DataType::Int64 => To::Int,
        DataType::Float(_)
        | DataType::Double(_)
        | DataType::DoublePrecision
        | DataType::Real
        | DataType::Float64 => To::Float,
        DataType::Text | DataType::Varchar(_) | DataType::String(_) | DataType::Char(_) => To::Text,
        DataType::Timestamp(..) | DataType::Datetime(_) => To::Moment,
        DataType::Date => To::Day,
        DataType::Time(_, ast::TimezoneInfo::None | ast::TimezoneInfo::WithoutTimeZone) => To::Time,
        DataType::Interval { .. } => To::Span,
        DataType::Decimal(digits) | DataType::Numeric(digits) | DataType::Dec(digits) => {
            To::Decimal(decimal_digits(*digits, kind)?)
        }
        other => return Err(unsupported(format!("the type {other}"))),
    })
}

/// Returns the digits that the name of a type tells; without any there are 18, of which three follow the point.
fn decimal_digits(told: ast::ExactNumberInfo, kind: &DataType) -> Result<Digits> {
    let (all, point) = match told {
        ast::ExactNumberInfo::None => (18, 3),
        ast::ExactNumberInfo::Precision(all) => (all, 0),
        ast::ExactNumberInfo::PrecisionAndScale(all, point) => (all, point),
    };
    match (u8::try_from(all), u8::try_from(point)) {
        (Ok(all @ 1..=Digits::MOST), Ok(point)) if point <= all => Ok(Digits { all, point }),
        _ => Err(Error::usage("sql", format!("names the type {kind}, whose digits are not 1 to 38"))),
    }
}

/// Returns the span of an INTERVAL, such as `INTERVAL '1 hour'` or `INTERVAL 90 SECOND`.
fn span(of: &ast::Interval) -> Result<i128> {
    let refused = || unsupported(format!("the span {of} (a span is a number of weeks, days, hours or less)"));
    if of.last_field.is_some() {
        return Err(refused());
    }
    let (text, sign) = match &*of.value {
        Expr::Value(value) => (&value.value, 1),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match &**expr {
            Expr::Value(value) => (&value.value, -1),
            _ => return Err(refused()),
        },
        _ => return Err(refused()),
    };
    let text = match text {
        ast::Value::Number(digits, _) => digits,
        ast::Value::SingleQuotedString(text) => text,
        _ => return Err(refused()),
    };
    let found = match &of.leading_field {
        Some(field) => {
            let unit = super::exact::unit(&field.to_string());
            unit.and_then(|unit| super::exact::times(text.trim(), unit))
        }
        None => super::exact::span(text),
    };
    found.map(|span| sign * span).ok_or_else(refused)
}
