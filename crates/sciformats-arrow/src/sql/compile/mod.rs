//! Turns parsed expressions into those that are computed, with columns by their places.

mod compared;
mod literal;
mod parts;
mod scope;

use sciformats_conventions::sciformats::{Error, Result};
use sqlparser::ast::{
    self, BinaryOperator, CeilFloorKind, DataType, DateTimeField, Expr, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, InTarget, UnaryOperator,
};

use super::aggregate::{Aggregate, Kind};
use super::expr::{Ex, Function, Math, Part};
use super::vector::Value;
use crate::Comparison;

use self::literal::{literal, span, to};
use self::parts::DEPTH;
pub(super) use self::parts::{parts, shallow};
pub(super) use self::scope::{Merged, Named, Scope};

pub(super) fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::unsupported(format!("{what} in SQL"))
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

    fn aggregate(&self, function: &ast::Function, kind: Kind) -> Result<Aggregate> {
        if function.over.is_some() {
            return Err(unsupported("a window function"));
        }
        let (arguments, distinct) = arguments(function)?;
        let mut inner = Compiler::new(self.scope, None);
        let of = match (arguments.as_slice(), kind) {
            ([Argument::All], Kind::Count) if distinct => return Err(unsupported("count(DISTINCT *)")),
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
                let moment = crate::dates::moment(&text).filter(|_| is_date);
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
            Expr::IsDistinctFrom(left, right) => self.alike(left, right, true)?,
            Expr::IsNotDistinctFrom(left, right) => self.alike(left, right, false)?,
            Expr::Between { expr, negated, low, high } => {
                let (of, low, high) = (self.expr(expr)?, self.expr(low)?, self.expr(high)?);
                let low = self.compared(Comparison::GreaterOrEqual, &of, &low)?;
                let high = self.compared(Comparison::LessOrEqual, &of, &high)?;
                let both = Ex::And(Box::new(low), Box::new(high));
                if *negated { Ex::Not(Box::new(both)) } else { both }
            }
            Expr::In { expr, target: InTarget::List(list), negated, .. } => {
                self.among(expr, list, *negated)?
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
            None => None,
            Some(of) => match self.expr(of)? {
                Ex::Literal(Value::Text(text)) if text.chars().count() <= 1 => text.chars().next(),
                Ex::Literal(Value::Text(_)) => {
                    return Err(Error::usage("sql", format!("has the ESCAPE {of}, which is not one letter")));
                }
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
        let (arguments, distinct) = arguments(function)?;
        if distinct || function.filter.is_some() {
            return Err(unsupported(format!("DISTINCT or FILTER of {name}, which is no aggregate,")));
        }
        let mut of = Vec::new();
        for argument in arguments {
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
        if let (Some(Function::NullIf), [left, right]) = (known, of.as_mut_slice()) {
            *right = self.beside(left, right.clone());
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
    if !function.within_group.is_empty() || function.null_treatment.is_some() {
        return Err(unsupported(format!("the function {function}")));
    }
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
