//! Which objects are tables, and those with a row for each point of a grid.

use std::ops::Range;

use sciformats_conventions::sciformats::{ElementType, Error, Kind, Result};
use sciformats_conventions::{Dataset, Meaning, Role, Table, Variable};
use sciformats_core::{Fault, FaultKind};

use crate::batches::{Options, column, error_of};
use crate::decode;

/// Returns the table at a path. An array is a table with one column, after those of its coordinates if it has one
/// dimension; and so is a group of arrays of one length with a column for each. An array with several dimensions, one of
/// which has coordinates, is a table with a row for each element: the coordinates, and then the value. Several such
/// arrays over one grid are one table, if the path is that of their group, or if it is a list like `/tas,pr`. Coordinates that are
/// the edges of cells are two columns, such as `energy_low` and `energy_high`.
///
/// # Errors
///
/// As [`Dataset::meaning`]; [`Error::Usage`] if the object is not a table.
pub fn table(data: &Dataset, path: &str) -> Result<Table> {
    let meaning = match data.meaning(path) {
        Err(Error::NotFound { .. }) if path.contains(',') => return listed(data, path),
        meaning => meaning?,
    };
    let found = match meaning {
        Some(Meaning::Table(table)) => {
            complete(data, path, &table)?;
            return Ok(table);
        }
        Some(Meaning::Variable(variable))
            if matches!(variable.stored().element, ElementType::Compound(_)) =>
        {
            match Table::of_records(variable.node())? {
                Some(table) if variable.is_stored() => return Ok(table),
                _ => vec![*variable],
            }
        }
        Some(Meaning::Variable(variable)) if is_grid(&variable) || has_edges(data, &variable)? => {
            return over_grid(data, path, vec![*variable]);
        }
        Some(Meaning::Variable(variable)) if !variable.shape().is_empty() => {
            with_coordinates(data, *variable)?
        }
        None if data.node(path)?.kind()? == Kind::Group => {
            let variables = data.variables(path)?;
            let mut values = of_grids(&variables);
            if values.is_empty() {
                for variable in &variables {
                    values.extend(has_edges(data, variable)?.then(|| variable.clone()));
                }
            }
            if !values.is_empty() && !are_rows(&variables, &values) {
                return over_grid(data, path, values);
            }
            return of_group(data, path, &variables);
        }
        _ => Vec::new(),
    };
    Table::of_variables(path, found).ok_or_else(|| none_at(path))
}

fn none_at(path: &str) -> Error {
    Error::usage("path", format!("{path} is neither a table nor a group of arrays of one length"))
}

/// Returns the table of the arrays of a group. The columns of lists of records among them have the names of both:
/// `events.time`.
fn of_group(data: &Dataset, path: &str, variables: &[Variable]) -> Result<Table> {
    let mut table = Table::of_variables(path, variables.to_vec()).ok_or_else(|| none_at(path))?;
    let mut columns = std::mem::take(&mut table.columns).into_iter();
    let mut variables = variables.iter().map(Variable::path).peekable();
    for child in data.node(path)?.children()? {
        if variables.next_if(|known| *known == child.path()).is_some() {
            table.columns.extend(columns.next());
            continue;
        }
        if child.kind()? != Kind::Array {
            continue;
        }
        let Some(Meaning::Table(inner)) = data.meaning(child.path())? else { continue };
        if inner.rows != table.rows {
            let (name, found, rows) = (child.name(), inner.rows, table.rows);
            let what = format!(
                "{path} is no table, because its list of records {name} has {found} rows, and its arrays have {rows}"
            );
            return Err(Error::usage("path", what));
        }
        complete(data, child.path(), &inner)?;
        for mut column in inner.index.into_iter().chain(inner.columns) {
            column.name = format!("{}.{}", child.name(), column.name);
            table.columns.push(column);
        }
    }
    table.columns.extend(columns);
    Ok(table)
}

/// Checks that a frame has the columns that it lists, and that none is left out that can be read nowhere else.
fn complete(data: &Dataset, path: &str, table: &Table) -> Result<()> {
    for name in data.node(path)?.texts("column-order")?.unwrap_or_default() {
        if !table.all_columns().any(|column| column.name == name) {
            let kind = FaultKind::Mismatch { expected: 1, found: 0 };
            let fault = Fault { field: Some("number of columns of this name"), kind };
            return Err(fault.at("frame", 0).within(None, Some(&format!("{path}/{name}"))));
        }
    }
    let alone = |name: &str| data.node(&format!("{path}/{name}")).is_ok();
    match table.omitted.iter().find(|(name, _)| !alone(name)) {
        Some((name, why)) => {
            Err(Error::unsupported(format!("the table {path} without its column `{name}` ({why})")))
        }
        None => Ok(()),
    }
}

/// Returns whether a variable is a table with a row for each element: one of its dimensions is an object of its own.
fn is_grid(variable: &Variable) -> bool {
    let dimensions = &variable.dimensions;
    dimensions.len() > 1 && dimensions.iter().any(|of| of.path.is_some() || of.spacing.is_some())
}

/// Returns whether a variable has one dimension, and its coordinates are the edges of cells.
fn has_edges(data: &Dataset, variable: &Variable) -> Result<bool> {
    let [_] = variable.dimensions.as_slice() else { return Ok(false) };
    for (path, axis) in described(variable) {
        if let (Some(Meaning::Variable(of)), Some(axis)) = (data.meaning(path)?, axis)
            && are_edges(variable, &of, axis)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether a coordinate has the edges of the cells along a dimension. Until all variables along an unlimited dimension have
/// been written, some are shorter than its coordinates.
fn are_edges(variable: &Variable, coordinate: &Variable, axis: usize) -> bool {
    let &[edges] = coordinate.shape().as_slice() else { return false };
    let of = variable.dimensions.get(axis).filter(|dimension| !dimension.unlimited);
    of.is_some_and(|dimension| dimension.length.checked_add(1) == Some(edges))
}

/// Returns whether a variable describes another one.
fn describes(one: &Variable, of: &Variable) -> bool {
    let dimension = of.dimensions.iter().any(|dimension| dimension.path.as_deref() == Some(one.path()));
    let coordinate = of.coordinates.iter().any(|coordinate| coordinate.path == one.path());
    of.path() != one.path() && (dimension || coordinate)
}

/// Returns the variables of a group that have grids, without those that describe others.
fn of_grids(variables: &[Variable]) -> Vec<Variable> {
    let values =
        variables.iter().filter(|one| is_grid(one) && !variables.iter().any(|of| describes(one, of)));
    values.cloned().collect()
}

/// Returns whether the variables of a group are columns of one length, although some of them have grids.
fn are_rows(variables: &[Variable], values: &[Variable]) -> bool {
    let first = |of: &Variable| of.shape().first().copied();
    let same =
        variables.iter().all(|of| first(of).is_some() && first(of) == variables.first().and_then(first));
    let alone = |one: &Variable| !is_grid(one) && !values.iter().any(|of| describes(one, of));
    same && variables.iter().any(alone)
}

/// Returns the table of variables whose names stand in a list; those after the first are in the same group, unless
/// they begin with `/`.
fn listed(data: &Dataset, path: &str) -> Result<Table> {
    let mut variables = Vec::new();
    let mut group = String::new();
    for name in path.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let of = if name.starts_with('/') { name.to_owned() } else { format!("{group}/{name}") };
        group = of.rsplit_once('/').map(|(group, _)| group.to_owned()).unwrap_or_default();
        variables.push(data.variable(&of)?);
    }
    over_grid(data, path, variables)
}

/// Returns the table of variables over one grid.
fn over_grid(data: &Dataset, path: &str, variables: Vec<Variable>) -> Result<Table> {
    let Some(first) = variables.first() else {
        return Err(Error::usage("path", format!("{path} names no variable")));
    };
    let names = |of: &Variable| -> Vec<_> {
        of.dimensions.iter().map(|dimension| (dimension.name.clone(), dimension.length)).collect()
    };
    if let Some(other) = variables.iter().find(|other| names(other) != names(first)) {
        let what = format!(
            "{path} has variables over several grids, {} and {}, which are not one table",
            first.signature(),
            other.signature()
        );
        return Err(Error::usage("path", what));
    }
    let mut coordinates: Vec<(Variable, Vec<usize>)> = Vec::new();
    for variable in &variables {
        for (path, axis) in described(variable) {
            if variables.iter().any(|value| value.path() == path)
                || coordinates.iter().any(|(known, _)| known.path() == path)
            {
                continue;
            }
            let Some(Meaning::Variable(of)) = data.meaning(path)? else { continue };
            if let Some(axes) = axes(variable, &of, axis) {
                coordinates.push((*of, axes));
            }
        }
    }
    Table::of_grid(path, variables, coordinates)
        .ok_or_else(|| Error::unsupported(format!("the table {path} with more than 2^64 rows")))
}

/// Returns the paths of the coordinates of a variable, with the dimension that they belong to if there is one.
fn described(variable: &Variable) -> Vec<(&str, Option<usize>)> {
    let own = variable.dimensions.iter().enumerate().filter(|(_, dimension)| dimension.has_values);
    let own = own.filter_map(|(axis, dimension)| Some((dimension.path.as_deref()?, Some(axis))));
    let others = variable.coordinates.iter();
    let others = others.filter(|of| matches!(of.role, Role::Dimension | Role::Auxiliary));
    own.chain(others.map(|of| (of.path.as_str(), of.dimension))).collect()
}

/// Returns the dimensions of a variable that one of its coordinates has, in ascending order; `None` if they are not a
/// part of its dimensions in this order.
fn axes(variable: &Variable, coordinate: &Variable, axis: Option<usize>) -> Option<Vec<usize>> {
    let length = |axis: usize| variable.dimensions.get(axis).map(|dimension| dimension.length);
    if let (Some(axis), [own]) = (axis, coordinate.shape().as_slice()) {
        let fits = length(axis) == Some(*own) || are_edges(variable, coordinate, axis);
        return fits.then(|| vec![axis]);
    }
    let mut axes: Vec<usize> = Vec::new();
    for of in &coordinate.dimensions {
        let name = of.name.as_ref()?;
        let axis = variable.dimensions.iter().position(|dimension| dimension.name.as_ref() == Some(name))?;
        if length(axis) != Some(of.length) || axes.last().is_some_and(|last| *last >= axis) {
            return None;
        }
        axes.push(axis);
    }
    (!axes.is_empty()).then_some(axes)
}

/// Returns a variable along one dimension after its coordinates.
fn with_coordinates(data: &Dataset, variable: Variable) -> Result<Vec<Variable>> {
    let mut found: Vec<Variable> = Vec::new();
    if let ([length], [dimension]) = (variable.shape().as_slice(), variable.dimensions.as_slice()) {
        let own = dimension.path.iter().filter(|_| dimension.has_values);
        for path in own.chain(variable.coordinates.iter().map(|coordinate| &coordinate.path)) {
            if path == variable.path() || found.iter().any(|known| known.path() == path) {
                continue;
            }
            if let Some(Meaning::Variable(of)) = data.meaning(path)?
                && of.shape() == [*length]
            {
                found.push(*of);
            }
        }
    }
    found.push(variable);
    Ok(found)
}

/// Returns the part of a table over a grid that can satisfy the conditions on its coordinates; `None` if this is no such
/// table, if there is no such condition, or if rows are selected by their numbers.
pub(crate) fn part(table: &Table, options: &Options) -> Result<Option<Table>> {
    let Some(grid) = table.grid().filter(|_| options.rows.is_none() && !options.filter.is_empty()) else {
        return Ok(None);
    };
    let mut kept: Vec<Range<u64>> = grid.lengths().map(|length| 0..length).collect();
    let mut known = false;
    for condition in &options.filter {
        let of = column(table, &condition.column)?;
        let Some((axis, values)) = of.along()? else { continue };
        let kind = decode::data_type(of, &values).map_err(|error| error_of(of, error))?;
        let length = kept.get(axis).map_or(0, |_| grid.lengths().nth(axis).unwrap_or_default());
        let height =
            usize::try_from(length).map_err(|_| Error::usage("rows", "are too many for this machine"))?;
        let ordered = decode::is_ordered(&values);
        let mask = condition.mask(decode::array(of, (&kind, height), values)?.as_ref(), ordered)?;
        let mut places = mask.set_indices();
        let first = places.next();
        let last = places.last().or(first);
        let found =
            first.zip(last).map_or(0..0, |(first, last)| first as u64..(last as u64).saturating_add(1)); // a bound
        if let Some(kept) = kept.get_mut(axis) {
            *kept = kept.start.max(found.start)..kept.end.min(found.end);
            known = true;
        }
    }
    Ok(if known { table.part(&kept) } else { None })
}
