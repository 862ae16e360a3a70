//! The dimensions of a variable, and the other arrays that describe it.

/// A dimension of a variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// The name; `None` if it has none.
    pub name: Option<String>,
    /// Its length.
    pub length: u64,
    /// Whether it is unlimited.
    pub unlimited: bool,
    /// The path of the array that stands for it, if there is one.
    pub path: Option<String>,
    /// Whether that array contains values, which are the coordinates along the dimension.
    pub has_values: bool,
    /// Coordinates that are only given by their start and their distance.
    pub spacing: Option<Spacing>,
}

/// Coordinates at equal distances.
#[derive(Clone, Debug, PartialEq)]
pub struct Spacing {
    /// The first coordinate.
    pub start: f64,
    /// The distance to the next coordinate.
    pub step: f64,
    /// The units of both.
    pub units: Option<String>,
}

impl Dimension {
    /// Creates a dimension without a name.
    pub fn unnamed(length: u64) -> Self {
        Self { name: None, length, unlimited: false, path: None, has_values: false, spacing: None }
    }
}

/// The role of another array for a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// The coordinates along one of its dimensions.
    Dimension,
    /// A coordinate that does not belong to a single dimension, such as a longitude at each point of a grid.
    Auxiliary,
    /// The edges of the cells around its values.
    Bounds,
    /// The areas or volumes of its cells.
    CellMeasure,
    /// The map projection of its grid.
    GridMapping,
    /// Errors, quality flags or counts of its values.
    Ancillary,
    /// The uncertainties of its values.
    Errors,
    /// The colours that its values stand for.
    Palette,
}

/// Another array that describes a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coordinate {
    /// The path of the array.
    pub path: String,
    /// Its role for the variable.
    pub role: Role,
    /// The dimension of the variable that it belongs to, if there is one.
    pub dimension: Option<usize>,
}
