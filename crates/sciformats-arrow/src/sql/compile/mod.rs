//! Turns parsed expressions into those that are computed, with columns by their places.

mod calls;
mod compared;
mod forms;
mod literal;
mod parts;
mod scope;

use sciformats_conventions::sciformats::{Error, Result};
use sqlparser::ast::{self, BinaryOperator, Expr, InTarget};

use super::aggregate::{Aggregate, Kind};
use super::expr::{Ex, Function, Math};
use super::vector::Value;
use crate::Comparison;

pub(super) use self::calls::name_of;
use self::forms::part;
use self::literal::{literal, span, to, typed};
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

    /// Compiles an expression from its parts.
    fn plain(&mut self, of: &Expr) -> Result<Ex> {
        Ok(match of {
            Expr::Identifier(name) => self.scope.find(None, &name.value)?,
            Expr::CompoundIdentifier(names) => self.scope.path(names)?,
            Expr::Nested(of) => self.expr(of)?,
            Expr::Value(value) => Ex::Literal(literal(&value.value)?),
            Expr::TypedString(text) => Ex::Literal(typed(text)?),
            Expr::Interval(interval) => Ex::Literal(Value::Span(span(interval)?)),
            Expr::UnaryOp { op, expr } => self.unary(op, expr)?,
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right)?,
            Expr::IsNull(of) | Expr::IsUnknown(of) => Ex::IsNull(self.boxed(of)?, false),
            Expr::IsNotNull(of) | Expr::IsNotUnknown(of) => Ex::IsNull(self.boxed(of)?, true),
            Expr::IsTrue(of) => Ex::IsTruth(self.boxed(of)?, true, false),
            Expr::IsNotTrue(of) => Ex::IsTruth(self.boxed(of)?, true, true),
            Expr::IsFalse(of) => Ex::IsTruth(self.boxed(of)?, false, false),
            Expr::IsNotFalse(of) => Ex::IsTruth(self.boxed(of)?, false, true),
            Expr::IsDistinctFrom(left, right) => self.alike(left, right, true)?,
            Expr::IsNotDistinctFrom(left, right) => self.alike(left, right, false)?,
            Expr::Between { expr, negated, low, high } => self.between(expr, (low, high), *negated)?,
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
                self.case(operand.as_deref(), conditions, else_result.as_deref())?
            }
            Expr::Cast { kind, expr, data_type, .. } => {
                let lenient = matches!(kind, ast::CastKind::TryCast | ast::CastKind::SafeCast);
                Ex::Cast(self.boxed(expr)?, to(data_type)?, lenient)
            }
            Expr::Extract { field, expr, .. } => {
                let function = part(field).ok_or_else(|| unsupported(of))?;
                Ex::Call(function, vec![self.expr(expr)?])
            }
            Expr::Ceil { expr, field } => self.rounded(Function::Ceil, expr, field)?,
            Expr::Floor { expr, field } => self.rounded(Function::Floor, expr, field)?,
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                self.substring(expr, substring_from.as_deref(), substring_for.as_deref())?
            }
            Expr::Trim { expr, trim_where: None, trim_what: None, trim_characters: None } => {
                Ex::Call(Function::Trim, vec![self.expr(expr)?])
            }
            Expr::Function(function) => self.call(function)?,
            _ => return Err(unsupported(format!("the expression {of}"))),
        })
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
