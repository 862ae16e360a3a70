//! Tables, and lists of keys and values.
//!
//! | class | properties |
//! |---|---|
//! | `table` | `data`: a cell for each column; `varnames`; `nrows`; `nvars`; `rownames`; `props`: a structure with `DimensionNames`, `VariableUnits`, `VariableDescriptions` |
//! | `timetable` | `any`: a structure with `data`, `varNames`, `numRows`, `numVars`, `rowTimes`, `dimNames`, `varUnits`, `varDescriptions` |
//! | `containers.Map` | `serialization`: a structure with the cell arrays `keys` and `values` |
//! | `dictionary` | `data`: a structure with `Key` and `Value`, each an array, or a cell array |
//!
//! Names that are no words of MATLAB are beside the others: `VariableNamesOriginal` counts if
//! `useVariableNamesOriginal` is true, and those with `2048` in the end likewise. `rowTimes` are dates, lengths of time,
//! or a structure with `origin`, `specifiedAsRate`, `stepSize` and `sampleRate`.

use std::sync::Arc;

use sciformats::{Kind, Result};
use sciformats_core::FaultKind;

use super::times::{self, Step, Steps};
use super::{Budget, Object, class_of, fault, reference, references};
use crate::convention::Meaning;
use crate::conventions::matlab;
use crate::node::Node;
use crate::table::{Column, Table};

/// The largest number of rows of a table with a sparse matrix.
const SPARSE: u64 = 1 << 20;

/// Where the parts of a table are.
struct Parts<'a> {
    structure: &'static str,
    data: &'a Node,
    rows: u64,
    names: Vec<String>,
    units: Vec<String>,
    descriptions: Vec<String>,
}

/// Returns a number of rows or columns.
fn count(structure: &'static str, field: &'static str, node: Option<&Node>, path: &str) -> Result<u64> {
    let missing = || fault(structure, field, FaultKind::Rule("is missing"), path);
    let node = node.ok_or_else(missing)?;
    let number =
        matlab::number(node)?.filter(|number| *number >= 0.0 && *number < 2e15 && number.fract() == 0.0);
    let number =
        number.ok_or_else(|| fault(structure, field, FaultKind::Rule("is not a number of them"), path))?;
    Ok(number as u64)
}

/// Returns the texts of a field, if there are any.
fn texts(group: Option<&Node>, field: &str) -> Result<Vec<String>> {
    match group.map(|group| group.child(field)).transpose()?.flatten() {
        Some(node) => matlab::texts(&node),
        None => Ok(Vec::new()),
    }
}

/// Returns the first of several lists of names that counts: each is beside a truth value that says whether it does.
fn names(group: Option<&Node>, lists: [(&str, &str); 2]) -> Result<Option<Vec<String>>> {
    for (names, truth) in lists {
        let truth = group.map(|group| group.child(truth)).transpose()?.flatten();
        let truth = truth.as_ref().map(matlab::number).transpose()?.flatten();
        if truth.is_some_and(|truth| truth != 0.0) {
            return self::texts(group, names).map(Some);
        }
    }
    Ok(None)
}

fn some(list: &[String], at: usize) -> Option<String> {
    list.get(at).filter(|text| !text.is_empty()).cloned()
}

impl Parts<'_> {
    /// Returns the columns.
    fn columns(&self, count: u64, budget: &mut Budget) -> Result<Vec<Column>> {
        let paths = references(self.data)?;
        for (field, found) in [("number of columns", paths.len()), ("number of names", self.names.len())] {
            if found as u64 != count {
                let kind = FaultKind::Mismatch { expected: count, found: found as u64 };
                return Err(fault(self.structure, field, kind, self.data.path()));
            }
        }
        let mut columns = Vec::new();
        for (at, (path, name)) in paths.iter().zip(&self.names).enumerate() {
            let lost = || fault(self.structure, "column", FaultKind::Rule("is missing"), path);
            let cell = self.data.at(path)?.ok_or_else(lost)?;
            let found = budget
                .deeper(&cell, |budget| columns_of(&cell, (name, self.rows), self.structure, budget))?;
            for column in found {
                let units = column.units.clone().or_else(|| some(&self.units, at));
                let told = some(&self.descriptions, at).or_else(|| column.description.clone());
                columns.push(column.in_units(units).described(told));
            }
        }
        Ok(columns)
    }
}

/// Returns the columns that an array stands for: several if it is a table itself.
fn columns_of(
    cell: &Node,
    (name, rows): (&str, u64),
    structure: &'static str,
    budget: &mut Budget,
) -> Result<Vec<Column>> {
    let check = |found: u64| {
        let kind = FaultKind::Mismatch { expected: rows, found };
        if found == rows { Ok(()) } else { Err(fault(structure, "number of rows", kind, cell.path())) }
    };
    match matlab::meaning_at(cell, budget)? {
        Some(Meaning::Variable(variable)) => {
            budget.column(cell)?;
            let variable = variable.into_column();
            check(variable.shape().first().copied().unwrap_or(1))?;
            let told = variable.long_name.clone();
            Ok(vec![Column::variable(variable).renamed(name).described(told)])
        }
        Some(Meaning::Table(table)) => {
            check(table.rows)?;
            let mut columns = Vec::new();
            let single = table.index.is_empty() && table.columns.len() == 1 && cell.kind()? == Kind::Array;
            for column in table.index.into_iter().chain(table.columns) {
                budget.column(cell)?;
                let inner = format!("{name}.{}", column.name);
                // The cells of a cell array have no name of their own.
                let own = single && column.name == cell.name();
                columns.push(column.renamed(if own { name } else { inner.as_str() }));
            }
            Ok(columns)
        }
        Some(Meaning::Sparse(matrix)) => {
            budget.column(cell)?;
            let [height, width] = matrix.shape;
            check(height)?;
            // The number of rows of such a matrix is only a number in the file.
            if height > SPARSE {
                return Err(sciformats::Error::unsupported(format!(
                    "the sparse matrix {} with more than {SPARSE} rows in a table of MATLAB",
                    cell.path()
                )));
            }
            let text = format!("sparse {height} × {width}");
            let texts = move |_: &Node, (_, count): (u64, u64)| -> Result<Vec<Option<String>>> {
                Ok((0..count).map(|_| Some(text.clone())).collect())
            };
            Ok(vec![Column::computed(cell, texts).renamed(name)])
        }
        None => {
            let kind = FaultKind::Rule("is of a class that no table contains");
            Err(fault(structure, "column", kind, cell.path()))
        }
    }
}

/// Decodes a table. Its index are the names of its rows.
pub(super) fn table(of: &Object<'_>, budget: &mut Budget) -> Result<Option<Table>> {
    let structure = "table of MATLAB";
    let path = of.node.path();
    let rows = count(structure, "nrows", of.node("nrows"), path)?;
    let count = count(structure, "nvars", of.node("nvars"), path)?;
    let props = of.node("props");
    let lists = [
        ("VariableNames2048", "useVariableNames2048"),
        ("VariableNamesOriginal", "useVariableNamesOriginal"),
    ];
    let names = match names(props, lists)? {
        Some(names) => names,
        None => of.node("varnames").map(matlab::texts).transpose()?.unwrap_or_default(),
    };
    let parts = Parts {
        structure,
        data: of.needed(structure, "data")?,
        rows,
        names,
        units: texts(props, "VariableUnits")?,
        descriptions: texts(props, "VariableDescriptions")?,
    };
    let columns = parts.columns(count, budget)?;
    let mut index = Vec::new();
    if let Some(names) = of.node("rownames") {
        let found = references(names)?.len() as u64;
        if found > 0 {
            if found != rows {
                let kind = FaultKind::Mismatch { expected: rows, found };
                return Err(fault(structure, "number of names of rows", kind, names.path()));
            }
            let dimension = dimension(props, "DimensionNames")?.unwrap_or_else(|| "Row".into());
            index.push(Column::computed(names, matlab::of_cells).renamed(dimension));
        }
    }
    // Without a column, the number of rows is only a number in the file.
    let rows = if index.is_empty() && columns.is_empty() { 0 } else { rows };
    Ok(Some(Table { path: path.to_owned(), rows, index, columns, omitted: Vec::new() }))
}

/// Returns the name of the first dimension.
fn dimension(group: Option<&Node>, field: &str) -> Result<Option<String>> {
    let (original, truth) = (format!("{field}Original"), format!("use{field}Original"));
    let (long, long_truth) = (format!("{field}2048"), format!("use{field}2048"));
    let names = match names(group, [(&long, &long_truth), (&original, &truth)])? {
        Some(names) => names,
        None => texts(group, field)?,
    };
    Ok(names.into_iter().next().filter(|name| !name.is_empty()))
}

/// Decodes a table whose index are times.
pub(super) fn timetable(of: &Object<'_>, budget: &mut Budget) -> Result<Option<Table>> {
    let structure = "timetable of MATLAB";
    let group = of.needed(structure, "any")?;
    let child = |name: &'static str| -> Result<Node> {
        let missing = || fault(structure, name, FaultKind::Rule("is missing"), group.path());
        group.child(name)?.ok_or_else(missing)
    };
    let rows = count(structure, "numRows", group.child("numRows")?.as_ref(), group.path())?;
    let count = count(structure, "numVars", group.child("numVars")?.as_ref(), group.path())?;
    let lists = [("varNames2048", "useVarNames2048"), ("varNamesOrig", "useVarNamesOrig")];
    let names = match names(Some(group), lists)? {
        Some(names) => names,
        None => texts(Some(group), "varNames")?,
    };
    let data = child("data")?;
    let parts = Parts {
        structure,
        data: &data,
        rows,
        names,
        units: texts(Some(group), "varUnits")?,
        descriptions: texts(Some(group), "varDescriptions")?,
    };
    let columns = parts.columns(count, budget)?;
    let names = match self::names(
        Some(group),
        [("dimNames2048", "useDimNames2048"), ("dimNamesOrig", "useDimNamesOrig")],
    )? {
        Some(names) => names,
        None => texts(Some(group), "dimNames")?,
    };
    let name = some(&names, 0).unwrap_or_else(|| "Time".into());
    let times = child("rowTimes")?;
    let index = if times.kind()? == Kind::Group {
        let found = steps(&times, of, rows)?;
        let told = found.long_name.clone();
        vec![Column::variable(found.into_column()).renamed(&*name).described(told)]
    } else {
        budget.deeper(&times, |budget| columns_of(&times, (&name, rows), structure, budget))?
    };
    Ok(Some(Table { path: of.node.path().to_owned(), rows, index, columns, omitted: Vec::new() }))
}

/// Returns the times of rows at equal distances.
fn steps(group: &Node, of: &Object<'_>, rows: u64) -> Result<crate::variable::Variable> {
    let structure = "times of the rows of a timetable";
    let child = |name: &'static str| -> Result<Node> {
        let missing = || fault(structure, name, FaultKind::Rule("is missing"), group.path());
        group.child(name)?.ok_or_else(missing)
    };
    let root = group.root();
    let all = group.mcos()?;
    let single = |name: &'static str| -> Result<(Node, String, super::Properties)> {
        let node = child(name)?;
        let object = match reference(&node)?.objects[..] {
            [object] => object,
            ref others => {
                let kind = FaultKind::Mismatch { expected: 1, found: others.len() as u64 };
                return Err(fault(structure, name, kind, group.path()));
            }
        };
        let class = class_of(&node)?;
        let properties = all.properties(&root, object)?;
        Ok((node, class, properties))
    };
    let (node, class, properties) = single("origin")?;
    let origin = Object { node: &node, properties, big: of.big };
    let (start, dates, zone) = times::origin(&origin, &class)?;
    let rate = matlab::number(&child("specifiedAsRate")?)?.is_some_and(|truth| truth != 0.0);
    let (by, units) = if rate {
        let rate = matlab::number(&child("sampleRate")?)?.unwrap_or(f64::NAN);
        (Step::Rate(rate), ("s", 1000.0))
    } else {
        let (node, class, properties) = single("stepSize")?;
        times::step(&Object { node: &node, properties, big: of.big }, &class)?
    };
    let steps = Arc::new(Steps { origin: start, dates, by });
    let found = steps.variable(group, rows, (zone, units))?;
    found.ok_or_else(|| fault(structure, "rowTimes", FaultKind::Rule("is missing"), group.path()))
}

/// Decodes a map as a table of keys and values.
pub(super) fn map(of: &Object<'_>, budget: &mut Budget) -> Result<Option<Table>> {
    let Some(group) = of.node("serialization") else { return Ok(None) };
    let list = |name: &str| -> Result<Vec<String>> {
        group.child(name)?.map_or(Ok(Vec::new()), |node| references(&node))
    };
    let (keys, values) = (list("keys")?, list("values")?);
    if keys.len() != values.len() {
        let kind = FaultKind::Mismatch { expected: keys.len() as u64, found: values.len() as u64 };
        return Err(fault("object of the class containers.Map", "number of values", kind, group.path()));
    }
    let mut columns = Vec::new();
    for name in ["keys", "values"] {
        if let Some(node) = group.child(name)? {
            budget.column(&node)?;
            let shown = name.trim_end_matches('s');
            columns.push(Column::computed(&node, matlab::of_cells).renamed(shown));
        }
    }
    let rows = keys.len() as u64;
    if rows == 0 {
        columns = vec![Column::texts("key", Vec::new()), Column::texts("value", Vec::new())];
    }
    Ok(Some(Table { path: of.node.path().to_owned(), rows, index: Vec::new(), columns, omitted: Vec::new() }))
}

/// Decodes a dictionary as a table of keys and values.
pub(super) fn dictionary(of: &Object<'_>, budget: &mut Budget) -> Result<Option<Table>> {
    let structure = "object of the class dictionary";
    let Some(group) = of.node("data").filter(|node| matches!(node.kind(), Ok(Kind::Group))) else {
        return Ok(None);
    };
    let (Some(keys), Some(values)) = (group.child("Key")?, group.child("Value")?) else {
        // A dictionary without entries has no types either.
        let columns = vec![Column::texts("key", Vec::new()), Column::texts("value", Vec::new())];
        return Ok(Some(Table {
            path: of.node.path().to_owned(),
            rows: 0,
            index: Vec::new(),
            columns,
            omitted: Vec::new(),
        }));
    };
    let rows = match budget.deeper(&keys, |budget| matlab::meaning_at(&keys, budget))? {
        Some(Meaning::Variable(variable)) => variable.into_column().shape().first().copied().unwrap_or(1),
        Some(Meaning::Table(table)) => table.rows,
        _ => {
            let kind = FaultKind::Rule("are of a class that no dictionary contains");
            return Err(fault(structure, "keys", kind, keys.path()));
        }
    };
    let mut columns = Vec::new();
    for (node, name) in [(keys, "key"), (values, "value")] {
        columns.extend(budget.deeper(&node, |budget| columns_of(&node, (name, rows), structure, budget))?);
    }
    Ok(Some(Table { path: of.node.path().to_owned(), rows, index: Vec::new(), columns, omitted: Vec::new() }))
}
