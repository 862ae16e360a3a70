//! The entries of the SELECT list, and what GROUP BY and ORDER BY mean by their names.

use sciformats_conventions::sciformats::{Error, Result};
use sqlparser::ast::{
    self, Expr, GroupByExpr, Select, SelectFlavor, SelectItem, SelectItemQualifiedWildcardKind,
    WildcardAdditionalOptions,
};

use super::aggregate::Kind;
use super::compile::{Compiler, Scope, name_of, parts, same, unsupported};
use super::end::ordinal;
use super::expr::Ex;
use super::from::table_name;

/// One entry of the SELECT list.
pub(super) struct Item {
    pub(super) of: Expr,
    /// The column, if `*` means it.
    pub(super) column: Option<Ex>,
    pub(super) name: String,
}

/// Returns what a query selects.
pub(super) fn items(select: &Select, scope: &Scope) -> Result<Vec<Item>> {
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
pub(super) fn grouped_by(select: &Select, items: &[Item], scope: &Scope) -> Result<Vec<Ex>> {
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
pub(super) fn named_output(of: &Expr, items: &[Item]) -> Result<Option<usize>> {
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
pub(super) fn has_aggregate(of: &Expr) -> bool {
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
