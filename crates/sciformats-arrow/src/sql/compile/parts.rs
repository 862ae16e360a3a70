//! The parts of parsed expressions, and how deep they are.

use sciformats_conventions::sciformats::{Error, Result};
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, InTarget};

/// The deepest nesting of expressions.
pub(super) const DEPTH: usize = 200;

/// Refuses chains of operators that are too long to be followed recursively. The parser has already limited nesting by
/// parentheses.
pub(in crate::sql) fn shallow<'e>(all: impl IntoIterator<Item = &'e Expr>) -> Result<()> {
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
pub(in crate::sql) fn parts<'e>(of: &'e Expr, visit: &mut dyn FnMut(&'e Expr)) {
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
