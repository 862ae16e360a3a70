//! Variables: arrays with named dimensions, coordinates, units and decoded values.

mod dimension;
mod flags;
mod read;

use std::sync::Arc;

use sciformats::{ArrayInfo, ElementType, Result};

pub use self::dimension::{Coordinate, Dimension, Role, Spacing};
pub use self::flags::Flags;
pub(crate) use self::read::Factors;
use crate::decoding::{Decoding, Numbers, Order};
use crate::elsewhere::Elsewhere;
use crate::node::Node;
use crate::time::Calendar;
use crate::values::Values;

/// An array as its convention defines it.
///
/// ```no_run
/// use sciformats_conventions::Dataset;
///
/// let data = Dataset::open("weather.nc")?;
/// let temperature = data.variable("/tas")?;
/// println!("{temperature}"); // tas(time: unlimited 730, lat: 72, lon: 144) float32 ← int16, K
/// let kelvin: Vec<f64> = temperature.read()?.numbers()?;
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its dimensions, slowest first.
    pub dimensions: Vec<Dimension>,
    /// The other arrays that describe it.
    pub coordinates: Vec<Coordinate>,
    /// The units of its values; for dates, what their numbers count.
    pub units: Option<String>,
    /// A name for people.
    pub long_name: Option<String>,
    /// A name from a list that the convention maintains.
    pub standard_name: Option<String>,
    /// How its values represent cells: `time: mean`.
    pub cell_methods: Option<String>,
    /// Values with individual meanings.
    pub flags: Option<Flags>,
    /// How stored elements become values.
    pub decoding: Decoding,
    node: Node,
    info: ArrayInfo,
    order: Order,
    held: Option<Arc<[u8]>>,
    missing: Option<Arc<[bool]>>,
    elsewhere: Option<Arc<Elsewhere>>,
    factors: Option<Arc<Factors>>,
}

impl Variable {
    /// Creates a variable from an array as it is stored, with unnamed dimensions; `None` for a null
    /// dataspace.
    pub(crate) fn plain(node: &Node, info: ArrayInfo) -> Option<Self> {
        let dimensions = info.shape.as_ref()?.iter().map(|&length| Dimension::unnamed(length)).collect();
        Some(Self {
            name: node.name().to_owned(),
            dimensions,
            coordinates: Vec::new(),
            units: None,
            long_name: None,
            standard_name: None,
            cell_methods: None,
            flags: None,
            decoding: Decoding::Stored,
            node: node.clone(),
            info,
            order: Order::Same,
            held: None,
            missing: None,
            elsewhere: None,
            factors: None,
        })
    }

    /// Creates a variable without dimensions whose value is no array of the file.
    pub(crate) fn scalar(node: &Node, element: ElementType, bytes: Vec<u8>) -> Option<Self> {
        let variable = Self::plain(node, ArrayInfo::new(element, []))?;
        Some(Self { held: Some(bytes.into()), ..variable })
    }

    /// Creates a variable whose values are not the elements of the array that stands for it. If there is only one
    /// value, it has no dimensions.
    pub(crate) fn of_elsewhere(
        node: &Node,
        elsewhere: Elsewhere,
        decoding: Decoding,
    ) -> Result<Option<Self>> {
        // A group has no elements.
        let info = node.info()?.unwrap_or_else(|| ArrayInfo::new(elsewhere.element.clone(), []));
        let Some(variable) = Self::plain(node, info) else { return Ok(None) };
        let sides = elsewhere.shape.iter().map(|&length| Dimension::unnamed(length));
        let dimensions =
            if elsewhere.shape.iter().all(|&side| side == 1) { Vec::new() } else { sides.collect() };
        Ok(Some(Self { dimensions, decoding, elsewhere: Some(Arc::new(elsewhere)), ..variable }))
    }

    /// Returns where its values are, if they are not the elements of its array.
    pub(crate) fn elsewhere(&self) -> Option<&Elsewhere> {
        self.elsewhere.as_deref()
    }

    /// Returns the variable as a column of a table: further dimensions of length 1 are left out, and a single value
    /// is a row.
    #[must_use]
    pub(crate) fn into_column(mut self) -> Self {
        if self.dimensions.is_empty() {
            self.dimensions.push(Dimension::unnamed(1));
        }
        while self.dimensions.len() > 1 && self.dimensions.last().is_some_and(|last| last.length == 1) {
            self.dimensions.pop();
        }
        self
    }

    /// Sets which of its values are missing, as one truth value per stored element.
    #[must_use]
    pub(crate) fn marked(self, missing: impl Iterator<Item = bool>) -> Self {
        Self { missing: Some(missing.collect()), ..self }
    }

    /// Sets factors of its values, which are stored real numbers; `None` if there are not as many as the dimension is long.
    pub(crate) fn multiplied(self, factors: Factors) -> Option<Self> {
        let length = self.dimensions.get(factors.axis)?.length;
        let fits = factors.each.len() as u64 == length && self.is_stored() && self.info.element.is_real();
        fits.then(|| Self { factors: Some(Arc::new(factors)), ..self })
    }

    /// Sets how stored elements become values. Characters use the last dimension.
    #[must_use]
    pub(crate) fn decoded(mut self, decoding: Decoding) -> Self {
        if decoding.joins_characters() {
            self.dimensions.pop();
        }
        self.decoding = decoding;
        self
    }

    /// Returns the variable with its dimensions stored in reverse.
    #[must_use]
    pub(crate) fn reversed(mut self) -> Self {
        self.order = Order::Reversed;
        self.dimensions.reverse();
        self
    }

    /// Returns the variable without its only dimension, which has length 1.
    #[must_use]
    pub(crate) fn single(mut self) -> Self {
        self.dimensions.clear();
        self
    }

    /// Returns a variable without elements, whatever is stored for it.
    #[must_use]
    pub(crate) fn without_elements(mut self, shape: &[u64]) -> Self {
        self.dimensions = shape.iter().map(|&length| Dimension::unnamed(length)).collect();
        // Without dimensions there is one element, which is an empty text.
        self.held = Some(if shape.is_empty() { [0; 8].into() } else { [].into() });
        self
    }

    /// Returns whether another variable is the same array with the same description and decoding. Variables whose
    /// values are not simply the decoded elements of their array are never alike.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let simple = |variable: &Self| {
            variable.held.is_none()
                && variable.missing.is_none()
                && variable.elsewhere.is_none()
                && variable.factors.is_none()
        };
        let described = |variable: &Self| {
            let Self { name, units, long_name, standard_name, cell_methods, flags, .. } = variable.clone();
            (name, units, long_name, standard_name, cell_methods, flags)
        };
        simple(self)
            && simple(other)
            && self.node.id() == other.node.id()
            && self.node.path() == other.node.path()
            && self.order == other.order
            && self.dimensions == other.dimensions
            && self.coordinates == other.coordinates
            && self.decoding == other.decoding
            && described(self) == described(other)
    }

    /// Returns the variable with its stored values. Dimensions keep their names if they are the stored ones.
    pub(crate) fn undecoded(self) -> Self {
        let Some(plain) = Self::plain(&self.node, self.info.clone()) else { return self };
        let stored = self.order == Order::Same && self.elsewhere.is_none();
        let same = stored && self.dimensions.len() == plain.dimensions.len();
        let dimensions = if same { self.dimensions } else { plain.dimensions };
        // A value that is no array is always the same.
        let held = self.held.filter(|_| self.info.shape.as_ref().is_some_and(Vec::is_empty));
        Self {
            dimensions,
            decoding: Decoding::Stored,
            order: Order::Same,
            held,
            missing: None,
            elsewhere: None,
            factors: None,
            ..self
        }
    }

    /// Returns the path of the array.
    pub fn path(&self) -> &str {
        self.node.path()
    }

    /// Returns the object in the file.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Returns the description of the stored array.
    pub fn stored(&self) -> &ArrayInfo {
        &self.info
    }

    /// Returns the lengths of its dimensions.
    pub fn shape(&self) -> Vec<u64> {
        self.dimensions.iter().map(|dimension| dimension.length).collect()
    }

    /// Returns the type of its values in canonical bytes.
    pub fn element(&self) -> ElementType {
        if let Some(elsewhere) = &self.elsewhere {
            return self.decoding.element(&elsewhere.element);
        }
        if self.factors.is_some() {
            return ElementType::F64;
        }
        let element = self.decoding.element(&self.info.element);
        if self.missing.is_some() { Values::with_missing(element) } else { element }
    }

    /// Returns whether its values are the stored elements in the stored order.
    pub fn is_stored(&self) -> bool {
        let changed = self.is_whole();
        self.decoding == Decoding::Stored && self.order == Order::Same && !changed
    }

    /// Returns whether its dimensions are exactly the stored ones.
    pub(crate) fn is_in_order(&self) -> bool {
        let rank = self.info.shape.as_ref().map_or(0, Vec::len);
        let stored = self.held.is_none() && self.elsewhere.is_none();
        self.order == Order::Same && stored && self.dimensions.len() == rank
    }

    /// Returns whether its values are not the elements of its array alone.
    fn is_whole(&self) -> bool {
        self.held.is_some() || self.missing.is_some() || self.elsewhere.is_some() || self.factors.is_some()
    }

    /// Returns how each of its values is computed from the stored element at the same place, if this is all that decoding does.
    pub(crate) fn computed(&self) -> Option<&Numbers> {
        match &self.decoding {
            Decoding::Numbers(numbers) => Some(numbers)
                .filter(|numbers| numbers.to.is_some() && self.is_in_order() && self.missing.is_none()),
            _ => None,
        }
    }

    /// Returns whether it only stands for a dimension and contains nothing: a netCDF dimension without
    /// coordinates.
    pub fn is_dimension(&self) -> bool {
        let own = |dimension: &Dimension| dimension.path.as_deref() == Some(self.path());
        matches!(self.dimensions.as_slice(), [one] if own(one) && !one.has_values)
    }

    /// Returns whether any of its dimensions has a name.
    pub fn has_names(&self) -> bool {
        self.dimensions.iter().any(|dimension| dimension.name.is_some())
    }

    /// Returns the path of the array that holds the coordinates along a dimension.
    pub fn coordinates_path(&self, dimension: usize) -> Option<&str> {
        let along = self.dimensions.get(dimension)?;
        let own = along.path.as_deref().filter(|path| along.has_values && *path == self.path());
        let mut coordinates = self.coordinates.iter();
        let other =
            coordinates.find(|other| other.role == Role::Dimension && other.dimension == Some(dimension));
        own.or(other.map(|other| other.path.as_str()))
    }

    /// Returns its name and dimensions: `tas(time: unlimited 730, lat: 72, lon: 144)`, or `u[3, 4]` if they
    /// have no names.
    pub fn signature(&self) -> String {
        let named = self.dimensions.iter().any(|dimension| dimension.name.is_some() || dimension.unlimited);
        let shown = self.dimensions.iter().map(|dimension| {
            let name = dimension.name.as_deref().map(|name| format!("{name}: ")).unwrap_or_default();
            match (dimension.unlimited, dimension.length) {
                // The length is known from the variables along the dimension.
                (true, 0) if self.is_dimension() => format!("{name}unlimited"),
                (true, length) => format!("{name}unlimited {length}"),
                (false, length) => format!("{name}{length}"),
            }
        });
        let shown = shown.collect::<Vec<_>>().join(", ");
        match (self.dimensions.is_empty(), named) {
            (true, _) => self.name.clone(),
            (_, true) => format!("{}({shown})", self.name),
            _ => format!("{}[{shown}]", self.name),
        }
    }

    /// Describes its values: `float32 ← int16, K`.
    pub fn values_name(&self) -> String {
        match &self.units {
            Some(units) => format!("{}, {units}", self.kind_name()),
            None => self.kind_name(),
        }
    }

    /// Describes the type of its values and the stored type: `float32 ← int16`, `time ← float64`.
    pub fn kind_name(&self) -> String {
        if let Some(elsewhere) = &self.elsewhere {
            return elsewhere.kind.clone();
        }
        let stored = type_name(&self.info.element);
        let values = match self.decoding {
            Decoding::SecondsAndMicroseconds => "time".to_owned(),
            // The calendars only differ before 1582.
            Decoding::Time { ref units, .. }
                if matches!(units.calendar(), Calendar::Standard | Calendar::ProlepticGregorian) =>
            {
                "time".to_owned()
            }
            Decoding::Time { ref units, .. } => format!("{} time", units.calendar().name()),
            Decoding::Categories { ref names, .. } => format!("category of {}", names.len()),
            _ => type_name(&self.element()),
        };
        if values == stored { values } else { format!("{values} ← {stored}") }
    }
}

/// The name of an element type in the way of the field: `float32`, `int16`, `complex64`, `string`.
///
/// ```
/// use sciformats::ElementType;
/// use sciformats_conventions::type_name;
///
/// let record = ElementType::Compound(vec![("id".into(), ElementType::UInt(1)), ("name".into(), ElementType::Text)]);
/// assert_eq!(type_name(&record), "{id: uint8, name: string}");
/// ```
pub fn type_name(element: &ElementType) -> String {
    element.to_string()
}

/// `tas(time: unlimited 730, lat: 72, lon: 144) float32 ← int16, K`
impl std::fmt::Display for Variable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.signature(), self.values_name())
    }
}
