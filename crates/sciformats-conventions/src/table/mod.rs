//! Tables: columns with names, an index, and values by rows.

mod canonical;
mod column;
mod read;
mod records;

use std::sync::Arc;

use sciformats::{Error, File, Result, spelling};

use crate::decoding::Decoding;
use crate::grid::{Grid, Places, Spread};
use crate::node::Node;
use crate::undecoded::{self, Undecoded};
use crate::values::Values;
use crate::variable::Variable;

use self::column::Cells;
pub use self::column::Column;
pub(crate) use self::records::Records;

/// A table with rows and columns.
///
/// ```no_run
/// use sciformats_conventions::Dataset;
///
/// let cells = Dataset::open("cells.h5ad")?.table("/obs")?;
/// println!("{} cells", cells.rows);
/// for column in &cells.columns {
///     println!("{}: {:?}", column.name, column.read(0, 5)?.cells()?);
/// }
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Table {
    /// The path of the object that contains it.
    pub path: String,
    /// The number of rows.
    pub rows: u64,
    /// The columns that name the rows.
    pub index: Vec<Column>,
    /// The other columns.
    pub columns: Vec<Column>,
    /// The columns that are in the file but not in the table: their names, and why.
    pub omitted: Vec<(String, String)>,
}

impl Table {
    /// Returns the columns of the index, followed by the others.
    pub fn all_columns(&self) -> impl Iterator<Item = &Column> {
        self.index.iter().chain(&self.columns)
    }

    /// Returns the column with this name.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there is none, with the names that are nearest to it.
    pub fn column(&self, name: &str) -> Result<&Column> {
        self.all_columns().find(|column| column.name == name).ok_or_else(|| {
            let names = self.all_columns().map(|column| column.name.as_str());
            Error::not_found("column", name).with_nearest(spelling::nearest(name, names))
        })
    }

    /// Reads all values of the column with this name.
    ///
    /// ```no_run
    /// use sciformats_conventions::Dataset;
    ///
    /// let cells = Dataset::open("cells.h5ad")?.table("/obs")?;
    /// let (codes, names) = cells.read("cell_type")?.into_categories()?;
    /// let depth: Vec<f64> = cells.read("depth")?.numbers()?;
    /// # let _ = (codes, names, depth);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`column`](Self::column) and [`Column::read`].
    pub fn read(&self, name: &str) -> Result<Values> {
        self.column(name)?.read(0, self.rows)
    }

    /// Creates a table whose columns are the fields of records, as they are stored; `None` if the object is no list of
    /// records.
    ///
    /// # Errors
    ///
    /// An error if the object cannot be read.
    pub fn of_records(node: &Node) -> Result<Option<Self>> {
        crate::conventions::plain::records(node)
    }

    /// Creates a table whose columns are arrays; `None` if there are none, or if they have different lengths.
    pub fn of_variables(path: impl Into<String>, variables: Vec<Variable>) -> Option<Self> {
        let rows = variables.first()?.shape().first().copied()?;
        let same = variables.iter().all(|variable| variable.shape().first() == Some(&rows));
        let columns = variables.into_iter().map(Column::variable).collect();
        same.then(|| Self { path: path.into(), rows, index: Vec::new(), columns, omitted: Vec::new() })
    }

    /// Creates a table with a row for each point of the grid of some variables: the coordinates of the point, of which
    /// each belongs to some of the dimensions, in ascending order, and then the values. Dimensions without coordinates
    /// become places, which are numbers from 0 on. A coordinate that is longer by one than its only dimension has the edges of the
    /// cells: it becomes two columns, whose names end with `_low` and `_high`. `None` if the variables differ in their
    /// dimensions, or if the grid has too many points to be counted.
    pub fn of_grid(
        path: impl Into<String>,
        variables: Vec<Variable>,
        coordinates: Vec<(Variable, Vec<usize>)>,
    ) -> Option<Self> {
        let dimensions = variables.first()?.dimensions.clone();
        let shape: Vec<u64> = dimensions.iter().map(|dimension| dimension.length).collect();
        if shape.is_empty() || variables.iter().any(|variable| variable.shape() != shape) {
            return None;
        }
        let grid = Arc::new(Grid::of(&shape)?);
        let shifted = |variable: Variable, axes: Vec<usize>, (after, ending): (u64, &str)| {
            let (name, units) = (format!("{}{ending}", variable.name), variable.units.clone());
            let (grid, axes) = (Arc::clone(&grid), axes.into());
            let of = Spread { variable: Box::new(variable), grid, axes, after };
            Column::new(name, Cells::Spread(of)).in_units(units)
        };
        let spread = |variable: Variable, axes: Vec<usize>| shifted(variable, axes, (0, ""));
        let mut index = Vec::new();
        let mut others = Vec::new();
        for (variable, axes) in coordinates {
            // The shape of a coordinate is a part of that of the grid.
            let own: Vec<u64> = axes.iter().filter_map(|&axis| shape.get(axis).copied()).collect();
            let edges = is_longer(&variable, &own);
            let fits = edges || variable.shape() == own;
            if axes.is_empty() || !axes.is_sorted_by(|one, next| one < next) || !fits {
                return None;
            }
            if axes.len() == 1 { index.push((axes, variable, edges)) } else { others.push((axes, variable)) }
        }
        let mut columns = Vec::new();
        for (axis, dimension) in dimensions.iter().enumerate() {
            let mut found = false;
            while let Some(at) = index.iter().position(|(axes, ..)| axes.first() == Some(&axis)) {
                let (axes, variable, edges) = index.remove(at);
                if edges {
                    columns.push(shifted(variable.clone(), axes.clone(), (0, "_low")));
                    columns.push(shifted(variable, axes, (1, "_high")));
                } else {
                    columns.push(spread(variable, axes));
                }
                found = true;
            }
            if !found {
                let name = dimension.name.clone().unwrap_or_else(|| format!("dim_{axis}"));
                let spacing = dimension.spacing.as_ref();
                let units = spacing.and_then(|spacing| spacing.units.clone());
                let spacing = spacing.map(|spacing| (spacing.start, spacing.step));
                let of = Places { grid: Arc::clone(&grid), axis, spacing };
                columns.push(Column::new(name, Cells::Places(of)).in_units(units));
            }
        }
        columns.extend(others.into_iter().map(|(axes, variable)| spread(variable, axes)));
        let all: Vec<usize> = (0..shape.len()).collect();
        let values = variables.into_iter().map(|variable| spread(variable, all.clone())).collect();
        Some(Self {
            path: path.into(),
            rows: grid.rows(),
            index: columns,
            columns: values,
            omitted: Vec::new(),
        })
    }

    /// Returns the table with names that differ from each other: those that repeat one are followed by a dot and a number, and
    /// an index that only has the name of every index gives way to the columns.
    #[must_use]
    pub(crate) fn with_distinct_names(mut self) -> Self {
        let mut known: std::collections::HashSet<String> = std::collections::HashSet::new();
        let taken = |name: &str| self.columns.iter().any(|column| column.name == name);
        if let [only] = self.index.as_slice()
            && matches!(only.name.as_str(), "index" | "")
            && taken("index")
        {
            let mut others = (0..).map(|level: u64| format!("level_{level}"));
            let free = others.find(|name| !taken(name)).unwrap_or_default();
            self.index.iter_mut().for_each(|index| index.name.clone_from(&free));
        }
        let nameless = matches!(self.index.as_slice(), [only] if only.name.is_empty());
        if nameless {
            // It is shown as `index`, which leaves the empty name to the columns.
            known.insert("index".to_owned());
        }
        let index = self.index.iter_mut().filter(|_| !nameless);
        for column in index.chain(&mut self.columns) {
            let mut at = 1u64;
            let mut name = column.name.clone();
            while known.contains(&name) {
                name = format!("{}.{at}", column.name);
                at = at.saturating_add(1); // a bound: there are not so many columns
            }
            known.insert(name.clone());
            column.name = name;
        }
        self
    }

    /// Returns the grid whose points are the rows, if the table has one.
    pub fn grid(&self) -> Option<&Grid> {
        self.all_columns().find_map(|column| match &column.cells {
            Cells::Spread(of) => Some(&*of.grid),
            Cells::Places(of) => Some(&*of.grid),
            _ => None,
        })
    }

    /// Returns the rows of a part of the grid: for each dimension, the places that are kept. `None` if the table has no
    /// grid, or another number of dimensions.
    pub fn part(&self, kept: &[std::ops::Range<u64>]) -> Option<Self> {
        let grid = self.grid().filter(|grid| grid.lengths().len() == kept.len())?;
        let grid = Arc::new(grid.part(kept)?);
        let of = |column: &Column| {
            let mut column = column.clone();
            match &mut column.cells {
                Cells::Spread(of) => of.grid = Arc::clone(&grid),
                Cells::Places(of) => of.grid = Arc::clone(&grid),
                _ => {}
            }
            column
        };
        let index = self.index.iter().map(of).collect();
        let columns = self.columns.iter().map(of).collect();
        Some(Self {
            path: self.path.clone(),
            rows: grid.rows(),
            index,
            columns,
            omitted: self.omitted.clone(),
        })
    }

    /// Reads some columns of `count` rows, starting at `first`. Records that several of these columns belong
    /// to are read once.
    ///
    /// # Errors
    ///
    /// As [`Column::read`].
    pub fn read_columns(columns: &[&Column], (first, count): (u64, u64)) -> Result<Vec<Values>> {
        let mut beside = None;
        columns.iter().map(|column| column.read_beside(&mut beside, (first, count))).collect()
    }

    /// Reads some columns of `count` rows, starting at `first`, without decoding them if that can be done later.
    /// Of records, only the bytes of these columns are kept.
    ///
    /// # Errors
    ///
    /// As [`Column::read`].
    pub fn read_undecoded(columns: &[&Column], (first, count): (u64, u64)) -> Result<Vec<Undecoded>> {
        let wanted: Vec<_> = columns
            .iter()
            .map(|column| match &column.cells {
                Cells::Field(records, at, decoding) => Some((records, *at, None, decoding)),
                Cells::Element(records, at, (inner, decoding)) => {
                    Some((records, *at, Some(*inner), decoding))
                }
                _ => None,
            })
            .collect();
        let mut read = Vec::new();
        let mut beside = None;
        for (column, found) in columns.iter().zip(undecoded::of_records(&wanted, (first, count))?) {
            read.push(match found {
                Some(found) => found,
                None => column.undecoded(&mut beside, (first, count))?,
            });
        }
        Ok(read)
    }

    /// Returns the number of rows that are stored together, if the table is one list of records in chunks or if all
    /// of its columns have chunks of one height.
    pub fn chunk_rows(columns: &[&Column]) -> Option<u64> {
        let mut heights = columns.iter().map(|column| match &column.cells {
            Cells::Field(records, ..) | Cells::Element(records, ..) => records.chunk(),
            Cells::Variable(variable) | Cells::Masked(variable, _) | Cells::Block(variable, _, false) => {
                variable.stored().chunks.as_ref()?.first().copied()
            }
            _ => None,
        });
        if let Some(of) = columns.iter().find_map(|column| match &column.cells {
            Cells::Spread(of) if of.is_whole() => Some(of),
            _ => None,
        }) {
            return of.rows_together();
        }
        let first = heights.next()??;
        heights.all(|height| height == Some(first)).then_some(first)
    }

    /// Returns whether the table is a list of records in which nothing is decoded.
    pub(crate) fn is_stored(&self) -> bool {
        let stored = |column: &Column| matches!(&column.cells, Cells::Field(_, _, Decoding::Stored));
        self.index.is_empty() && self.columns.iter().all(stored)
    }

    /// Returns the limit of what is read of the table, which depends on the size of its file: see
    /// [`OpenOptions::unfolded`](sciformats::OpenOptions::unfolded). `None` if nothing is read of a file.
    pub fn unfolding(&self) -> Option<sciformats::options::Unfolding> {
        let file = self.file()?;
        Some(sciformats::options::Unfolding::new(file.options(), file.size()))
    }

    /// Returns the file that contains its columns.
    pub(crate) fn file(&self) -> Option<Arc<File>> {
        self.all_columns().find_map(|column| match &column.cells {
            Cells::Variable(variable) | Cells::Masked(variable, _) | Cells::Block(variable, ..) => {
                Some(Arc::clone(variable.node().file()))
            }
            Cells::Field(records, ..) | Cells::Element(records, ..) => {
                Some(Arc::clone(records.node().file()))
            }
            Cells::Computed(node, _) => Some(Arc::clone(node.file())),
            Cells::Spread(of) => Some(Arc::clone(of.variable.node().file())),
            Cells::Ragged(_, ends) => Some(Arc::clone(ends.node().file())),
            Cells::Texts(_, file) => file.clone(),
            Cells::Places(_) => None,
        })
    }
}

/// Returns whether a coordinate is longer by one than the only dimension that it belongs to.
fn is_longer(coordinate: &Variable, own: &[u64]) -> bool {
    match (coordinate.shape().as_slice(), own) {
        ([edges], [length]) => length.checked_add(1) == Some(*edges),
        _ => false,
    }
}
