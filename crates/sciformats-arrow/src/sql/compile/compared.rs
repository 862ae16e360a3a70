//! Comparisons, and the literals beside columns of numbers with few digits.

use arrow_schema::DataType as Arrow;
use sciformats_conventions::sciformats::Result;
use sqlparser::ast::Expr;

use super::{Compiler, Groups};
use crate::Comparison;
use crate::sql::aggregate::Kind;
use crate::sql::exact;
use crate::sql::expr::{Ex, Function};
use crate::sql::vector::Value;

impl Groups {
    /// Returns the expression of the tables that has all values of a column of the groups: a key, or the values of which an
    /// aggregate chooses one.
    pub(in crate::sql) fn values_of(&self, at: usize) -> Option<&Ex> {
        let chosen = || {
            let (_, of) = self.aggregates.get(at.checked_sub(self.keys.len())?)?;
            let is_one = matches!(of.kind, Kind::Least | Kind::Greatest | Kind::First { .. });
            of.of.as_ref().filter(|_| is_one)
        };
        self.keys.get(at).or_else(chosen)
    }
}

impl<'s> Compiler<'s> {
    /// Returns the type of the column whose numbers an expression has, apart from their signs.
    fn numbers_of(&self, of: &Ex) -> Option<&'s Arrow> {
        match (&self.groups, of) {
            (_, Ex::Negative(of)) => self.numbers_of(of),
            (_, Ex::Call(Function::Abs | Function::NullIf, of)) => self.numbers_of(of.first()?),
            (None, of) => self.scope.kind(of),
            (Some(groups), Ex::Column(at)) => {
                Compiler::new(self.scope, None).numbers_of(groups.values_of(*at)?)
            }
            _ => None,
        }
    }

    /// Returns a literal beside an expression: if this has the numbers of a column with fewer digits, it is the nearest of them.
    pub(super) fn beside(&self, of: &Ex, literal: Ex) -> Ex {
        match (self.numbers_of(of), &literal) {
            (Some(kind), Ex::Literal(Value::Decimal(value, digits))) if kind.is_floating() => {
                let value = exact::float(*value, digits.point);
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

    /// Returns two expressions, of which one may be a literal beside the other.
    fn both(&self, left: &Ex, right: &Ex) -> (Box<Ex>, Box<Ex>) {
        (Box::new(self.beside(right, left.clone())), Box::new(self.beside(left, right.clone())))
    }

    /// Fails if an expression is a column of categories with an order, or a group or a choice of some.
    pub(super) fn without_order(&self, of: &Ex, what: &str) -> Result<()> {
        let of = match (&self.groups, of) {
            (None, of) => Some(of),
            (Some(groups), Ex::Column(at)) => groups.values_of(*at),
            (Some(_), _) => None,
        };
        of.map_or(Ok(()), |of| self.scope.without_order(of, what))
    }

    /// Returns a comparison of two expressions, of which one may be a literal.
    pub(super) fn compared(&self, comparison: Comparison, left: &Ex, right: &Ex) -> Result<Ex> {
        if !matches!(comparison, Comparison::Equal | Comparison::NotEqual) {
            self.without_order(left, "a comparison by order")?;
            self.without_order(right, "a comparison by order")?;
        }
        let (left, right) = self.both(left, right);
        Ok(Ex::Compare(comparison, left, right))
    }

    /// Returns whether two expressions are the same, where missing values are too; `negated` whether they are not.
    pub(super) fn alike(&mut self, left: &Expr, right: &Expr, negated: bool) -> Result<Ex> {
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        let (left, right) = self.both(&left, &right);
        Ok(Ex::Same(left, right, negated))
    }

    /// Returns whether an expression is one of a list.
    pub(super) fn among(&mut self, of: &Expr, list: &[Expr], negated: bool) -> Result<Ex> {
        let of = self.expr(of)?;
        let list = list.iter().map(|item| self.expr(item)).collect::<Result<Vec<_>>>()?;
        if !matches!(of, Ex::Literal(_)) {
            let list = list.into_iter().map(|item| self.beside(&of, item)).collect();
            return Ok(Ex::In(Box::new(of), list, negated));
        }
        // Beside columns with fewer digits, a literal is another number.
        let mut parts: Vec<(Ex, Vec<Ex>)> = Vec::new();
        for item in list {
            let own = self.beside(&item, of.clone());
            match parts.iter_mut().find(|(known, _)| *known == own) {
                Some((_, items)) => items.push(item),
                None => parts.push((own, vec![item])),
            }
        }
        let any = parts.into_iter().map(|(of, items)| Ex::In(Box::new(of), items, false));
        let any = any.reduce(|one, other| Ex::Or(Box::new(one), Box::new(other)));
        let any = any.unwrap_or_else(|| Ex::In(Box::new(of), Vec::new(), false));
        Ok(if negated { Ex::Not(Box::new(any)) } else { any })
    }
}
