//! Calls of functions and of aggregates.

use sciformats_conventions::sciformats::{Error, Result};
use sqlparser::ast::{self, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident};

use super::{Compiler, unsupported};
use crate::sql::aggregate::{Aggregate, Kind};
use crate::sql::expr::{Ex, Function};

impl Compiler<'_> {
    pub(super) fn aggregate(&self, function: &ast::Function, kind: Kind) -> Result<Aggregate> {
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

    pub(super) fn call(&mut self, function: &ast::Function) -> Result<Ex> {
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

/// An argument of a function.
enum Argument<'e> {
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
pub(in crate::sql) fn name_of(name: &ast::ObjectName) -> Result<String> {
    match name.0.as_slice() {
        [ast::ObjectNamePart::Identifier(Ident { value, .. })] => Ok(value.to_ascii_lowercase()),
        _ => Err(unsupported(format!("the function {name}"))),
    }
}
