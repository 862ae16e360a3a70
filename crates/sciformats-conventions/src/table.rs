//! Tables: columns with names, an index, and values by rows.

use std::sync::{Arc, OnceLock};

use sciformats::{ElementType, Error, File, Range, Result, Slab};
use sciformats_core::{arith, bound};

use crate::decoded::For;
use crate::decoding::Decoding;
use crate::fields;
use crate::grid::{Grid, Places, Spread};
use crate::node::Node;
use crate::time::Calendar;
use crate::undecoded::{self, Layout, Undecoded};
use crate::values::Values;
use crate::variable::Variable;

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

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// The name; for a column with names on several levels, they are joined by a dot.
    pub name: String,
    /// The units of its values.
    pub units: Option<String>,
    /// What it contains, for people.
    pub description: Option<String>,
    cells: Cells,
}

/// Where the values of a column are.
#[derive(Clone, Debug)]
enum Cells {
    /// In a separate array, whose other dimensions may contain more than one value per row.
    Variable(Box<Variable>),
    /// In an array of which some values are missing.
    Masked(Box<Variable>, Mask),
    /// In one column of a matrix that contains several columns; `true` if a row of the table is a column of
    /// the matrix.
    Block(Box<Variable>, u64, bool),
    /// In a field of records.
    Field(Arc<Records>, usize, Decoding),
    /// In one element of a field of records that has several elements.
    Element(Arc<Records>, usize, (u64, Decoding)),
    /// In an array that contains the lists of all rows one after another, with an array of where they end: the column of
    /// what the lists contain.
    Ragged(Box<Column>, Box<Variable>),
    /// Texts that have been read already, and the file of which they were.
    Texts(Arc<[Option<String>]>, Option<Arc<File>>),
    /// Texts that are computed from an object when they are requested.
    Computed(Box<Node>, Compute),
    /// In an array along some dimensions of a grid, whose points are the rows.
    Spread(Spread),
    /// The place along a dimension of such a grid.
    Places(Places),
}

/// Texts, of which some may be missing.
type Texts = Vec<Option<String>>;

/// Computes the texts of some rows: the first one and their number.
type OfRows = dyn Fn(&Node, (u64, u64)) -> Result<Texts> + Send + Sync;

#[derive(Clone)]
struct Compute(Arc<OfRows>);

impl std::fmt::Debug for Compute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Compute")
    }
}

/// Records whose fields are columns.
#[derive(Debug)]
pub(crate) struct Records {
    node: Node,
    fields: ElementType,
    rows: u64,
    layout: OnceLock<Option<Layout>>,
}

impl Records {
    /// Returns a list of records; `None` if the array is not one.
    pub(crate) fn of(node: &Node) -> Result<Option<Arc<Self>>> {
        let Some(info) = node.info()? else { return Ok(None) };
        match (&info.element, info.shape.as_deref()) {
            (ElementType::Compound(_), Some(&[rows])) => {
                let layout = OnceLock::new();
                Ok(Some(Arc::new(Self { node: node.clone(), fields: info.element, rows, layout })))
            }
            _ => Ok(None),
        }
    }

    /// Returns the names and types of the fields.
    pub(crate) fn fields(&self) -> &[(sciformats::Name, ElementType)] {
        match &self.fields {
            ElementType::Compound(fields) => fields,
            _ => &[],
        }
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the type of the records.
    pub(crate) fn element(&self) -> &ElementType {
        &self.fields
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// Returns where the fields are, if they can be read one by one.
    pub(crate) fn layout(&self) -> Option<&Layout> {
        self.layout.get_or_init(|| Layout::of(self)).as_ref()
    }
}

impl Column {
    fn new(name: impl Into<String>, cells: Cells) -> Self {
        Self { name: name.into(), units: None, description: None, cells }
    }

    /// Creates a column that is a separate array.
    pub(crate) fn variable(variable: Variable) -> Self {
        let units = variable.units.clone();
        Self { units, ..Self::new(variable.name.clone(), Cells::Variable(Box::new(variable))) }
    }

    /// Creates a column with a `mask` of missing values.
    pub(crate) fn masked(values: Variable, mask: Variable) -> Self {
        Self::new(
            values.name.clone(),
            Cells::Masked(Box::new(values), Mask::Stored(Box::new(mask), Arc::default())),
        )
    }

    /// Creates a column whose missing values are known already.
    pub(crate) fn marked(values: Variable, missing: impl Iterator<Item = bool>) -> Self {
        let mut column =
            Self::new(values.name.clone(), Cells::Masked(Box::new(values), Mask::Known(missing.collect())));
        if let Cells::Masked(values, _) = &column.cells {
            column.units.clone_from(&values.units);
        }
        column
    }

    /// Creates a column from a column of a matrix.
    pub(crate) fn block(name: impl Into<String>, matrix: &Variable, at: u64, turned: bool) -> Self {
        Self::new(name, Cells::Block(Box::new(matrix.clone()), at, turned))
    }

    /// Creates a column from a field of records.
    pub(crate) fn field(records: &Arc<Records>, at: usize, decoding: Decoding) -> Self {
        let name = records.fields().get(at).map(|(name, _)| name.shown().into_owned()).unwrap_or_default();
        Self::new(name, Cells::Field(Arc::clone(records), at, decoding))
    }

    /// Creates a column from one element of a field of records.
    pub(crate) fn element(name: &str, records: &Arc<Records>, at: (usize, u64), decoding: Decoding) -> Self {
        Self::new(name, Cells::Element(Arc::clone(records), at.0, (at.1, decoding)))
    }

    /// Creates a column of lists, of which `ends` contains the ends.
    pub(crate) fn ragged(name: &str, values: Self, ends: Variable) -> Self {
        let units = values.units.clone();
        Self::new(name, Cells::Ragged(Box::new(values), Box::new(ends))).in_units(units)
    }

    /// Creates a column of texts that are computed when they are requested.
    pub(crate) fn computed(
        node: &Node,
        compute: impl Fn(&Node, (u64, u64)) -> Result<Vec<Option<String>>> + Send + Sync + 'static,
    ) -> Self {
        Self::new(node.name(), Cells::Computed(Box::new(node.clone()), Compute(Arc::new(compute))))
    }

    /// Creates a column of texts that have been read already.
    pub(crate) fn texts(name: &str, texts: Vec<Option<String>>) -> Self {
        Self::new(name, Cells::Texts(texts.into(), None))
    }

    /// As [`texts`](Self::texts), for texts of an object.
    pub(crate) fn texts_of(node: &Node, name: &str, texts: Vec<Option<String>>) -> Self {
        Self::new(name, Cells::Texts(texts.into(), Some(Arc::clone(node.file()))))
    }

    /// Returns the number of rows, if it is known.
    pub fn rows(&self) -> Option<u64> {
        match &self.cells {
            Cells::Variable(variable) | Cells::Masked(variable, _) => variable.shape().first().copied(),
            Cells::Block(matrix, _, turned) => matrix.shape().get(usize::from(*turned)).copied(),
            Cells::Field(records, ..) | Cells::Element(records, ..) => Some(records.rows),
            Cells::Texts(texts, _) => Some(texts.len() as u64),
            Cells::Ragged(_, ends) => ends.shape().first().copied(),
            _ => None,
        }
    }

    /// Sets the units.
    #[must_use]
    pub(crate) fn in_units(self, units: Option<String>) -> Self {
        Self { units, ..self }
    }

    /// Sets what it contains, for people.
    #[must_use]
    pub(crate) fn described(self, description: Option<String>) -> Self {
        Self { description, ..self }
    }

    /// Sets the name.
    #[must_use]
    pub(crate) fn renamed(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Reads the values of `count` rows, starting at `first`. If the column has several values per row, all
    /// of them are returned in C order.
    ///
    /// # Errors
    ///
    /// An error if there are not so many rows, or if their elements cannot be read.
    pub fn read(&self, first: u64, count: u64) -> Result<Values> {
        self.read_beside(&mut None, (first, count))
    }

    /// As [`read`](Self::read), for rows of which other columns are read too; `records` contains those of the
    /// previous column.
    fn read_beside(&self, records: &mut Beside, (first, count): (u64, u64)) -> Result<Values> {
        match &self.cells {
            Cells::Variable(variable) => variable.read_slab(&rows(variable, (first, count))?),
            Cells::Masked(values, mask) => {
                let missing = mask.read(first, count)?;
                match values.read_slab(&rows(values, (first, count))?)? {
                    Values::Plain { element, bytes, .. } if element != ElementType::Text => {
                        Ok(Values::Plain { element, bytes, missing: Some(missing) })
                    }
                    other => other.without(&missing),
                }
            }
            Cells::Block(matrix, at, turned) => {
                let mut ranges = vec![Range::new(first, count), Range::new(*at, 1)];
                if *turned {
                    ranges.reverse();
                }
                matrix.read_slab(&Slab::new(&matrix.shape(), ranges)?)
            }
            Cells::Field(of, at, decoding) => {
                let (element, bytes) = of.read(*at, (first, count), records)?;
                decoding.decode(&element, bytes)
            }
            Cells::Element(of, at, (inner, decoding)) => {
                let (element, bytes) = of.read(*at, (first, count), records)?;
                let (element, bytes) = fields::item(&element, *inner, &bytes)?;
                decoding.decode(&element, bytes)
            }
            Cells::Ragged(values, ends) => lists(values, ends, (first, count)),
            Cells::Texts(texts, _) => Ok(Values::Text(part(texts, first, count)?.to_vec())),
            Cells::Computed(node, compute) => Ok(Values::Text((compute.0)(node, (first, count))?)),
            Cells::Spread(of) => of.values((first, count)),
            Cells::Places(of) => of.rows((first, count)),
        }
    }

    /// As [`read`](Self::read), without decoding what can be decoded later.
    fn undecoded(&self, records: &mut Beside, rows: (u64, u64)) -> Result<Undecoded> {
        let stored = |(element, bytes), decoding: &Decoding, missing| {
            let decoding = decoding.clone();
            Ok(Undecoded::Stored { element, bytes, decoding, missing })
        };
        match &self.cells {
            Cells::Variable(variable) => match variable.read_stored(&self::rows(variable, rows)?)? {
                Some(read) => stored(read, &variable.decoding, None),
                None => self.read_beside(records, rows).map(Undecoded::Decoded),
            },
            Cells::Masked(variable, mask) => match variable.read_stored(&self::rows(variable, rows)?)? {
                Some(read) => stored(read, &variable.decoding, Some(mask.read(rows.0, rows.1)?)),
                None => self.read_beside(records, rows).map(Undecoded::Decoded),
            },
            Cells::Block(matrix, at, turned) => {
                let mut ranges = vec![Range::new(rows.0, rows.1), Range::new(*at, 1)];
                if *turned {
                    ranges.reverse();
                }
                match matrix.read_stored(&Slab::new(&matrix.shape(), ranges)?)? {
                    Some(read) => stored(read, &matrix.decoding, None),
                    None => self.read_beside(records, rows).map(Undecoded::Decoded),
                }
            }
            Cells::Field(of, at, decoding) => stored(of.read(*at, rows, records)?, decoding, None),
            Cells::Element(of, at, (inner, decoding)) => {
                let (element, bytes) = of.read(*at, rows, records)?;
                stored(fields::item(&element, *inner, &bytes)?, decoding, None)
            }
            Cells::Spread(of) => of.rows(rows),
            Cells::Ragged(..) | Cells::Texts(..) | Cells::Computed(..) | Cells::Places(_) => {
                self.read_beside(records, rows).map(Undecoded::Decoded)
            }
        }
    }

    /// Returns the dimension of a grid that alone determines the values of this column, and the values of all places along
    /// it; `None` if there is no such dimension, or if it is so long that its values are not read together.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn along(&self) -> Result<Option<(usize, Undecoded)>> {
        let short =
            |grid: &Grid, axis: usize| grid.lengths().nth(axis).is_some_and(|length| length <= TOGETHER);
        Ok(match &self.cells {
            Cells::Spread(of) => match of.only().filter(|&axis| short(&of.grid, axis)) {
                Some(axis) => Some((axis, of.along()?)),
                None => None,
            },
            Cells::Places(of) if short(&of.grid, of.axis) => Some((of.axis, Undecoded::Decoded(of.along()))),
            _ => None,
        })
    }

    /// Returns the array of records that the column is a field of, and the name of the field.
    pub(crate) fn record_field(&self) -> Option<(&Node, String)> {
        match &self.cells {
            Cells::Field(records, at, _) => {
                let (name, _) = records.fields().get(*at)?;
                Some((records.node(), name.shown().into_owned()))
            }
            _ => None,
        }
    }

    /// Returns a text that an attribute says about the column: that of its array, or, for a field of records, the one that
    /// begins with the name of the field and a dot, such as `time.units`. `None` if there is no such attribute.
    ///
    /// # Errors
    ///
    /// An error if the attribute cannot be read.
    pub fn attribute(&self, name: &str) -> Result<Option<String>> {
        match &self.cells {
            Cells::Variable(variable) | Cells::Masked(variable, _) => variable.node().text(name),
            Cells::Field(..) => match self.record_field() {
                Some((records, field)) => records.text(&format!("{field}.{name}")),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// Returns how many values each row has in each further dimension; a plain column has no such dimension.
    pub fn row_shape(&self) -> Vec<u64> {
        match &self.cells {
            Cells::Variable(variable) | Cells::Masked(variable, _) => {
                variable.shape().into_iter().skip(1).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the calendar of its dates; `None` if its values are not dates.
    pub fn calendar(&self) -> Option<Calendar> {
        let decoding = match &self.cells {
            Cells::Variable(variable) | Cells::Masked(variable, _) | Cells::Block(variable, ..) => {
                &variable.decoding
            }
            Cells::Spread(of) => &of.variable.decoding,
            Cells::Field(_, _, decoding) | Cells::Element(_, _, (_, decoding)) => decoding,
            Cells::Ragged(..) | Cells::Texts(..) | Cells::Computed(..) | Cells::Places(_) => return None,
        };
        match decoding {
            Decoding::Time { units, .. } => Some(units.calendar()),
            _ => None,
        }
    }

    /// Returns whether its dates are moments in UTC, which stand for moments in a time zone.
    pub fn is_in_utc(&self) -> bool {
        match &self.cells {
            Cells::Variable(variable) | Cells::Masked(variable, _) => {
                matches!(&variable.decoding, Decoding::Time { units, .. } if units.is_in_utc())
            }
            _ => false,
        }
    }

    /// Returns whether its values are those of an object that leads to other arrays, such as an object of MATLAB.
    pub fn is_object(&self) -> bool {
        matches!(&self.cells, Cells::Variable(variable) if variable.elsewhere().is_some())
    }

    /// Returns the type of its values for people.
    pub fn type_name(&self) -> String {
        let decoded = |decoding: &Decoding, element: &ElementType| match decoding {
            Decoding::Time { .. } | Decoding::SecondsAndMicroseconds => "time".to_owned(),
            Decoding::Categories { names, .. } => format!("category of {}", names.len()),
            _ => crate::variable::type_name(&decoding.element(element)),
        };
        match &self.cells {
            Cells::Variable(variable) | Cells::Masked(variable, _) | Cells::Block(variable, ..) => {
                match variable.elsewhere() {
                    Some(_) => variable.kind_name(),
                    None => decoded(&variable.decoding, &variable.stored().element),
                }
            }
            Cells::Field(records, at, decoding) => {
                records.fields().get(*at).map(|(_, element)| decoded(decoding, element)).unwrap_or_default()
            }
            Cells::Element(records, at, (_, decoding)) => match records.fields().get(*at) {
                Some((_, ElementType::Array { element, .. })) => decoded(decoding, element),
                _ => String::new(),
            },
            Cells::Spread(of) => decoded(&of.variable.decoding, &of.variable.stored().element),
            Cells::Places(of) if of.spacing.is_some() => "float64".into(),
            Cells::Places(_) => "int64".into(),
            Cells::Ragged(..) => crate::variable::type_name(&self.element_for(For::Programs)),
            Cells::Texts(..) | Cells::Computed(..) => "string".into(),
        }
    }
}

/// Which values of a column are missing.
#[derive(Clone, Debug)]
enum Mask {
    /// Those for which an array in the file is true, and whether it is true for any, once this is known.
    Stored(Box<Variable>, Arc<OnceLock<bool>>),
    /// Those for which this list is true.
    Known(Arc<[bool]>),
}

impl Mask {
    /// Returns whether it marks any of so many rows. A mask that cannot be read now fails when the rows are read.
    fn marks(&self, rows: Option<u64>) -> bool {
        match self {
            Self::Known(list) => list.contains(&true),
            Self::Stored(_, known) => *known.get_or_init(|| match rows.filter(|&rows| rows <= TOGETHER) {
                Some(rows) => self.read(0, rows).map_or(true, |missing| missing.contains(&true)),
                None => true,
            }),
        }
    }

    fn read(&self, first: u64, count: u64) -> Result<Vec<bool>> {
        match self {
            Self::Stored(mask, _) => {
                let truths = mask.read_slab(&rows(mask, (first, count))?)?.numbers()?;
                Ok(truths.into_iter().map(|truth| truth != 0.0).collect())
            }
            Self::Known(list) => part(list, first, count).map(<[bool]>::to_vec),
        }
    }
}

/// Returns some rows of a list that is in memory.
fn part<T>(list: &[T], first: u64, count: u64) -> Result<&[T]> {
    let end = first.checked_add(count).and_then(|end| usize::try_from(end).ok());
    let range = usize::try_from(first).ok().zip(end).and_then(|(from, to)| list.get(from..to));
    range.ok_or_else(|| Error::usage("rows", "are not all in the table"))
}

/// Reads the lists of some rows: each of them is canonical bytes of a list, whose elements are in one array.
fn lists(values: &Column, ends: &Variable, (first, count): (u64, u64)) -> Result<Values> {
    let before = u64::from(first > 0);
    let known = ends.read_slab(&rows(ends, (first - before, count.saturating_add(before)))?)?; // a bound: checked by the slab
    let Values::Plain { element, bytes, .. } = known else {
        return Err(Error::unsupported("ends of lists that are no integers"));
    };
    let mut places = Vec::new();
    if before == 0 {
        places.push(0u64);
    }
    let past = values.rows();
    for datum in sciformats::Decoder::new(&element, &bytes) {
        let end = datum?.to_i128().and_then(|end| u64::try_from(end).ok());
        let sound =
            |end: &u64| places.last().is_none_or(|last| last <= end) && past.is_none_or(|past| *end <= past);
        places.push(end.filter(sound).ok_or_else(|| {
            Error::usage("ends of lists", format!("of {} do not ascend within its values", ends.path()))
        })?);
    }
    let (start, count) = match (places.first(), places.last()) {
        (Some(&first), Some(&last)) => (first, arith::sub(last, first)?),
        _ => (0, 0),
    };
    let (element, bytes) = values.read(start, count)?.into_canonical()?;
    let sides: Vec<u64> = values.row_shape().into_iter().filter(|&side| side != 1).collect();
    let element = match sides.is_empty() {
        true => element,
        false => ElementType::Array { element: Box::new(element), shape: sides },
    };
    let parts = fields::split(&element, &bytes)?;
    let mut parts = parts.into_iter();
    let mut out = Vec::new();
    for (from, to) in places.iter().zip(places.iter().skip(1)) {
        out.extend((to - from).to_le_bytes());
        for part in parts.by_ref().take(bound::addressable(to - from)) {
            out.extend_from_slice(part);
        }
    }
    Ok(Values::plain(ElementType::Vlen(Box::new(element)), out))
}

/// Records that were read for a column, and that the next column may need too.
type Beside = Option<(Arc<Records>, (u64, u64), Vec<u8>)>;

impl Records {
    /// Reads a field of some rows: its type, and its canonical bytes.
    fn read(
        self: &Arc<Self>,
        field: usize,
        (first, count): (u64, u64),
        beside: &mut Beside,
    ) -> Result<(ElementType, Vec<u8>)> {
        let known =
            beside.as_ref().is_some_and(|(of, rows, _)| Arc::ptr_eq(of, self) && *rows == (first, count));
        if !known {
            let slab = Slab::new(&[self.rows], [Range::new(first, count)])?;
            let mut bytes = Vec::new();
            self.node.file().read(self.node.id(), &slab, &mut bytes)?;
            *beside = Some((Arc::clone(self), (first, count), bytes));
        }
        let bytes = beside.as_ref().map(|(_, _, bytes)| bytes.as_slice()).unwrap_or_default();
        fields::field(&self.fields, field, bytes)
    }
}

/// The number of coordinates along a dimension that are read together.
const TOGETHER: u64 = 1 << 24;

/// Rows with at least this distance are read one by one.
const APART: u64 = 64;

impl Table {
    /// Returns the columns of the index, followed by the others.
    pub fn all_columns(&self) -> impl Iterator<Item = &Column> {
        self.index.iter().chain(&self.columns)
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
    /// become places, which are numbers from 0 on. `None` if the variables differ in their dimensions, or if the grid has
    /// too many points to be counted.
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
        let spread = |variable: Variable, axes: Vec<usize>| {
            let (name, units) = (variable.name.clone(), variable.units.clone());
            let of = Spread { variable: Box::new(variable), grid: Arc::clone(&grid), axes: axes.into() };
            Column::new(name, Cells::Spread(of)).in_units(units)
        };
        let mut index = Vec::new();
        let mut others = Vec::new();
        for (variable, axes) in coordinates {
            // The shape of a coordinate is a part of that of the grid.
            let own: Vec<u64> = axes.iter().filter_map(|&axis| shape.get(axis).copied()).collect();
            if axes.is_empty() || !axes.is_sorted_by(|one, next| one < next) || variable.shape() != own {
                return None;
            }
            if axes.len() == 1 { index.push((axes, variable)) } else { others.push((axes, variable)) }
        }
        let mut columns = Vec::new();
        for (axis, dimension) in dimensions.iter().enumerate() {
            let mut found = false;
            while let Some(at) = index.iter().position(|(axes, _)| axes.first() == Some(&axis)) {
                let (axes, variable) = index.remove(at);
                columns.push(spread(variable, axes));
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
            Cells::Field(records, ..) | Cells::Element(records, ..) => {
                let chunks = records.node.info().ok().flatten()?.chunks?;
                chunks.first().copied()
            }
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
            Cells::Field(records, ..) | Cells::Element(records, ..) => Some(Arc::clone(records.node.file())),
            Cells::Computed(node, _) => Some(Arc::clone(node.file())),
            Cells::Spread(of) => Some(Arc::clone(of.variable.node().file())),
            Cells::Ragged(_, ends) => Some(Arc::clone(ends.node().file())),
            Cells::Texts(_, file) => file.clone(),
            Cells::Places(_) => None,
        })
    }

    /// Returns some rows as the canonical bytes of records.
    pub(crate) fn records(&self, slab: &Slab, whom: For) -> Result<Vec<u8>> {
        let &[Range { start, count, step }] = slab.ranges() else {
            return Err(Error::usage("selection", "has another shape than the table"));
        };
        let mut out = Vec::new();
        if step <= 1 {
            self.append((start, count), (1, whom), &mut out)?;
        } else if step <= APART && count > 0 {
            let across = (count - 1).checked_mul(step).and_then(|across| across.checked_add(1));
            let across = across.ok_or_else(|| Error::usage("selection", "extends beyond the table"))?;
            self.append((start, across), (step, whom), &mut out)?;
        } else {
            for row in (0..count).filter_map(|at| at.checked_mul(step)?.checked_add(start)) {
                self.append((row, 1), (1, whom), &mut out)?;
            }
        }
        Ok(out)
    }

    /// Appends the rows whose distance from the first is a multiple of `step`.
    fn append(&self, rows: (u64, u64), (step, whom): (u64, For), out: &mut Vec<u8>) -> Result<()> {
        let mut columns = Vec::new();
        let mut beside = None;
        for column in self.all_columns() {
            let element = column.element_for(whom);
            columns.push((column.canonical(&element, rows, &mut beside)?, element));
        }
        let mut split = Vec::new();
        for ((bytes, element), column) in columns.iter().zip(self.all_columns()) {
            let parts = fields::split(element, bytes)?;
            if parts.len() as u64 != rows.1 {
                return Err(Error::usage("column", format!("{} has {} rows", column.name, parts.len())));
            }
            split.push(parts);
        }
        let step = usize::try_from(step).unwrap_or(usize::MAX); // a bound: no machine has more rows
        let count =
            usize::try_from(rows.1).map_err(|_| Error::usage("rows", "are too many for this machine"))?;
        for row in (0..count).step_by(step.max(1)) {
            split.iter().filter_map(|parts| parts.get(row)).for_each(|part| out.extend_from_slice(part));
        }
        Ok(())
    }
}

impl Column {
    /// Returns the type of the values for `whom`.
    pub(crate) fn element_for(&self, whom: For) -> ElementType {
        match &self.cells {
            Cells::Variable(variable) => {
                let inner: Vec<u64> =
                    variable.shape().into_iter().skip(1).filter(|&side| side != 1).collect();
                let element = variable.element();
                if inner.is_empty() {
                    return element;
                }
                ElementType::Array { element: Box::new(element), shape: inner }
            }
            Cells::Masked(variable, mask) => match variable.element() {
                ElementType::F32 | ElementType::F64 => ElementType::F64,
                // Only integers of 64 bits can be no binary64.
                element
                    if whom == For::Programs
                        && matches!(element, ElementType::Int(8) | ElementType::UInt(8))
                        && !mask.marks(self.rows()) =>
                {
                    element
                }
                element if element.is_real() && whom == For::Programs => ElementType::F64,
                _ => ElementType::Text,
            },
            Cells::Block(variable, ..) => variable.element(),
            Cells::Field(records, at, decoding) => match records.fields().get(*at) {
                Some((_, element)) => decoding.element(element),
                None => ElementType::Text,
            },
            Cells::Element(records, at, (_, decoding)) => match records.fields().get(*at) {
                Some((_, ElementType::Array { element, .. })) => decoding.element(element),
                Some((_, element)) => decoding.element(element),
                None => ElementType::Text,
            },
            Cells::Spread(of) => of.variable.element(),
            Cells::Places(of) if of.spacing.is_some() => ElementType::F64,
            Cells::Places(_) => ElementType::Int(8),
            Cells::Ragged(values, _) => ElementType::Vlen(Box::new(values.element_for(whom))),
            Cells::Texts(..) | Cells::Computed(..) => ElementType::Text,
        }
    }

    /// Returns the canonical bytes of some rows, as elements of a type from
    /// [`element_for`](Self::element_for).
    fn canonical(&self, element: &ElementType, rows: (u64, u64), beside: &mut Beside) -> Result<Vec<u8>> {
        let values = self.read_beside(beside, rows)?;
        match (&values, element) {
            (Values::Plain { missing: Some(_), .. }, ElementType::Text) => {
                let mut bytes = Vec::new();
                for cell in values.cells()? {
                    crate::values::push_text(&mut bytes, cell.as_deref().unwrap_or_default());
                }
                Ok(bytes)
            }
            (Values::Plain { element: stored, bytes, missing: Some(missing) }, element)
                if stored == element && !missing.contains(&true) =>
            {
                Ok(bytes.clone())
            }
            _ => Ok(values.into_canonical()?.1),
        }
    }
}

/// Returns the selection of some rows of an array.
fn rows(variable: &Variable, (first, count): (u64, u64)) -> Result<Slab> {
    let shape = variable.shape();
    let mut ranges: Vec<Range> = shape.iter().map(|&length| Range::all(length)).collect();
    if let Some(range) = ranges.first_mut() {
        *range = Range::new(first, count);
    }
    Slab::new(&shape, ranges)
}
