//! A column of a table: where its values are, and what is known about them.

use std::sync::Arc;

use sciformats::{ElementType, File, Result};

use super::read::{Mask, TOGETHER};
use super::records::Records;
use crate::decoded::For;
use crate::decoding::Decoding;
use crate::grid::{Grid, Places, Spread};
use crate::node::Node;
use crate::time::Calendar;
use crate::undecoded::Undecoded;
use crate::variable::Variable;

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// The name; for a column with names on several levels, they are joined by a dot.
    pub name: String,
    /// The units of its values.
    pub units: Option<String>,
    /// What it contains, for people.
    pub description: Option<String>,
    pub(super) cells: Cells,
}

/// Where the values of a column are.
#[derive(Clone, Debug)]
pub(super) enum Cells {
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
pub(super) type Texts = Vec<Option<String>>;

/// Computes the texts of some rows: the first one and their number.
pub(super) type OfRows = dyn Fn(&Node, (u64, u64)) -> Result<Texts> + Send + Sync;

#[derive(Clone)]
pub(super) struct Compute(pub(super) Arc<OfRows>);

impl std::fmt::Debug for Compute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Compute")
    }
}

impl Column {
    pub(super) fn new(name: impl Into<String>, cells: Cells) -> Self {
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
            Cells::Field(records, ..) | Cells::Element(records, ..) => Some(records.rows()),
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

    /// Checks what reading the values does not: the checksums of blocks that are stored together. Whoever copies a column calls
    /// this first, because the copy will have checksums of its own. See [`sound`](sciformats::Source::sound).
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`](sciformats::Error::Malformed) if a checksum is another one; `Io`.
    pub fn sound(&self) -> Result<()> {
        let sound = |node: &Node| node.file().source().sound(node.id());
        match &self.cells {
            Cells::Variable(variable) | Cells::Block(variable, ..) => sound(variable.node()),
            Cells::Masked(variable, mask) => {
                sound(variable.node())?;
                match mask {
                    Mask::Stored(marks, _) => sound(marks.node()),
                    Mask::Known(_) => Ok(()),
                }
            }
            Cells::Field(records, ..) | Cells::Element(records, ..) => sound(records.node()),
            Cells::Ragged(values, ends) => {
                values.sound()?;
                sound(ends.node())
            }
            Cells::Spread(of) => sound(of.variable.node()),
            Cells::Texts(..) | Cells::Computed(..) | Cells::Places(_) => Ok(()),
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

    /// Returns whether its dates are stored in UTC but were given in a time zone.
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
