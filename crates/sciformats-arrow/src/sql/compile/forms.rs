//! Expressions that have words of their own in SQL, such as BETWEEN, LIKE and CASE.

use sciformats_conventions::sciformats::{Error, Result};
use sqlparser::ast::{CaseWhen, CeilFloorKind, DateTimeField, Expr, UnaryOperator};

use super::{Compiler, unsupported};
use crate::Comparison;
use crate::sql::expr::{Ex, Function, Part, overflow};
use crate::sql::vector::Value;

impl Compiler<'_> {
    /// A sign or NOT. Literals are negated at once.
    pub(super) fn unary(&mut self, op: &UnaryOperator, of: &Expr) -> Result<Ex> {
        Ok(match op {
            UnaryOperator::Plus => self.expr(of)?,
            UnaryOperator::Minus => match self.expr(of)? {
                Ex::Literal(Value::Int(value)) => {
                    Ex::Literal(Value::Int(value.checked_neg().ok_or_else(overflow)?))
                }
                Ex::Literal(Value::Float(value)) => Ex::Literal(Value::Float(-value)),
                // It has at most 38 digits.
                Ex::Literal(Value::Decimal(value, digits)) => {
                    Ex::Literal(Value::Decimal(value.saturating_neg(), digits))
                }
                other => Ex::Negative(Box::new(other)),
            },
            UnaryOperator::Not => Ex::Not(self.boxed(of)?),
            _ => return Err(unsupported(format!("the operator {op}"))),
        })
    }

    pub(super) fn between(&mut self, of: &Expr, (low, high): (&Expr, &Expr), negated: bool) -> Result<Ex> {
        let (of, low, high) = (self.expr(of)?, self.expr(low)?, self.expr(high)?);
        let low = self.compared(Comparison::GreaterOrEqual, &of, &low)?;
        let high = self.compared(Comparison::LessOrEqual, &of, &high)?;
        let both = Ex::And(Box::new(low), Box::new(high));
        Ok(if negated { Ex::Not(Box::new(both)) } else { both })
    }

    pub(super) fn like(
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

    /// CASE with conditions, or with values that are compared with an operand.
    pub(super) fn case(
        &mut self,
        operand: Option<&Expr>,
        arms: &[CaseWhen],
        otherwise: Option<&Expr>,
    ) -> Result<Ex> {
        let operand = operand.map(|of| self.expr(of)).transpose()?;
        let mut when = Vec::new();
        for arm in arms {
            let condition = self.expr(&arm.condition)?;
            let condition = match &operand {
                Some(of) => self.compared(Comparison::Equal, of, &condition)?,
                None => condition,
            };
            when.push((condition, self.expr(&arm.result)?));
        }
        let otherwise = match otherwise {
            Some(of) => self.expr(of)?,
            None => Ex::Literal(Value::Null),
        };
        Ok(Ex::Case { when, otherwise: Box::new(otherwise) })
    }

    pub(super) fn rounded(&mut self, function: Function, of: &Expr, field: &CeilFloorKind) -> Result<Ex> {
        match field {
            CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => {
                Ok(Ex::Call(function, vec![self.expr(of)?]))
            }
            _ => Err(unsupported("rounding to a unit")),
        }
    }

    pub(super) fn substring(&mut self, of: &Expr, from: Option<&Expr>, count: Option<&Expr>) -> Result<Ex> {
        let mut arguments = vec![self.expr(of)?];
        arguments.push(match from {
            Some(from) => self.expr(from)?,
            None => Ex::Literal(Value::Int(1)),
        });
        if let Some(count) = count {
            arguments.push(self.expr(count)?);
        }
        Ok(Ex::Call(Function::Substring, arguments))
    }
}

/// Returns the function that EXTRACT calls for a part of a date.
pub(super) fn part(field: &DateTimeField) -> Option<Function> {
    Some(match field {
        DateTimeField::Year => Function::Part(Part::Year),
        DateTimeField::Month => Function::Part(Part::Month),
        DateTimeField::Day => Function::Part(Part::Day),
        DateTimeField::Hour => Function::Part(Part::Hour),
        DateTimeField::Minute => Function::Part(Part::Minute),
        DateTimeField::Second => Function::Part(Part::Second),
        DateTimeField::Epoch => Function::Epoch,
        _ => return None,
    })
}
