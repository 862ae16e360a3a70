//! The end of a query: the order of its rows, and which of them are left.

use sciformats_conventions::sciformats::{Error, Result};
use sqlparser::ast::{self, Expr, LimitClause, OrderByKind, OrderByOptions, OrderBySort, Query};

use super::compile::unsupported;
use super::expr::Ex;
use super::rows::Rows;
use super::sort::Key;

/// The order and the limits of a query.
#[derive(Default)]
pub(super) struct End<'q> {
    pub(super) order: Vec<&'q ast::OrderByExpr>,
    pub(super) skip: u64,
    pub(super) limit: Option<u64>,
}

pub(super) fn end(query: &Query) -> Result<End<'_>> {
    let mut end = End::default();
    if let Some(order) = &query.order_by {
        if order.interpolate.is_some() {
            return Err(unsupported("INTERPOLATE"));
        }
        match &order.kind {
            OrderByKind::Expressions(of) => end.order = of.iter().collect(),
            OrderByKind::All(_) => return Err(unsupported("ORDER BY ALL")),
        }
    }
    if end.order.iter().any(|of| of.with_fill.is_some()) {
        return Err(unsupported("WITH FILL"));
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

pub(super) fn most(end: &End<'_>) -> Option<u64> {
    end.limit.map(|limit| limit.saturating_add(end.skip)) // a bound
}

pub(super) fn sort_key(of: Ex, options: &OrderByOptions) -> Result<Key> {
    let descending = match &options.sort {
        None | Some(OrderBySort::Asc) => false,
        Some(OrderBySort::Desc) => true,
        Some(OrderBySort::Using(_)) => return Err(unsupported("ORDER BY USING")),
    };
    Ok(Key { of, descending, nulls_first: options.nulls_first.unwrap_or(false) })
}

/// Returns the output that a number stands for, if the expression is one.
pub(super) fn ordinal(of: &Expr, outputs: usize) -> Result<Option<usize>> {
    let Expr::Value(value) = of else { return Ok(None) };
    let ast::Value::Number(digits, _) = &value.value else { return Ok(None) };
    let at = digits.parse::<usize>().ok().and_then(|at| at.checked_sub(1)).filter(|at| *at < outputs);
    at.map(Some).ok_or_else(|| {
        Error::usage("sql", format!("orders by the output {digits}, which the query does not have"))
    })
}

/// Returns a key of ORDER BY as one over the outputs.
pub(super) fn of_output(key: &Key, outputs: &[Ex]) -> Result<Key> {
    let mut of = key.of.clone();
    if of.replace(outputs) {
        return Ok(Key { of, ..*key });
    }
    Err(Error::usage("sql", "uses DISTINCT and orders by an expression that is not selected; select it, too"))
}

/// Leaves out the first rows and those after the limit.
pub(super) fn cut(rows: Rows, end: &End<'_>) -> Rows {
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
