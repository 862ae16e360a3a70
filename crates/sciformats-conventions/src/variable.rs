//! Variables: arrays with named dimensions, coordinates, units and decoded values.

use std::ops::ControlFlow;

use sciformats::{ArrayInfo, ElementType, Error, Range, Result, Slab};
use sciformats_core::bound;

use crate::decoding::{Decoding, Order, transposed};
use crate::node::Node;
use crate::time::Calendar;
use crate::values::Values;

/// A dimension of a variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// Its name; `None` if it has none.
    pub name: Option<String>,
    /// Its length.
    pub length: u64,
    /// Whether it may grow without a bound.
    pub unlimited: bool,
    /// The path of the array that stands for it, where there is one.
    pub path: Option<String>,
    /// Whether that array holds values: coordinates along the dimension.
    pub has_values: bool,
    /// Coordinates that are only told by where they begin and how far they are apart.
    pub spacing: Option<Spacing>,
}

/// Coordinates at equal distances.
#[derive(Clone, Debug, PartialEq)]
pub struct Spacing {
    /// The first one.
    pub start: f64,
    /// How far the next one is.
    pub step: f64,
    /// The units of both.
    pub units: Option<String>,
}

impl Dimension {
    /// A dimension without a name.
    pub fn unnamed(length: u64) -> Self {
        Self { name: None, length, unlimited: false, path: None, has_values: false, spacing: None }
    }
}

/// What another array is for a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// The values along one of its dimensions.
    Dimension,
    /// A coordinate that is no dimension: a longitude at each point of a grid.
    Auxiliary,
    /// The edges of the cells around its values.
    Bounds,
    /// Areas or volumes of its cells.
    CellMeasure,
    /// The map projection of its grid.
    GridMapping,
    /// Errors, qualities or counts of its values.
    Ancillary,
    /// The uncertainties of its values.
    Errors,
    /// The colours that its values stand for.
    Palette,
}

/// Another array that says something about a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coordinate {
    /// The path of the array.
    pub path: String,
    /// What it is for the variable.
    pub role: Role,
    /// The dimension of the variable that it stands for, where it is one.
    pub dimension: Option<usize>,
}

/// Values that mean something by themselves: `flag_values`, `flag_masks` and `flag_meanings` of the CF conventions.
///
/// ```
/// use sciformats_conventions::Flags;
///
/// let sky = Flags { values: Some(vec![0, 1]), masks: None, meanings: vec!["clear".into(), "cloudy".into()] };
/// assert_eq!((sky.label(1), sky.label(7)), ("cloudy".into(), "7".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flags {
    /// The values; `None` if each mask is a value of its own.
    pub values: Option<Vec<i128>>,
    /// The bits that count for each meaning; `None` for all of them.
    pub masks: Option<Vec<i128>>,
    /// What they mean.
    pub meanings: Vec<String>,
}

impl Flags {
    /// What a value means: the meanings that hold, with a space between them, or its digits if none does.
    pub fn label(&self, value: i128) -> String {
        let mut held = Vec::new();
        for (at, meaning) in self.meanings.iter().enumerate() {
            let mask = self.masks.as_ref().and_then(|masks| masks.get(at)).copied();
            let expected = self.values.as_ref().and_then(|values| values.get(at)).copied();
            let holds = match (mask, expected) {
                (None, None) => false,
                (None, Some(expected)) => value == expected,
                (Some(mask), None) => value & mask == mask && mask != 0,
                (Some(mask), Some(expected)) => value & mask == expected,
            };
            if holds {
                held.push(meaning.as_str());
            }
        }
        if held.is_empty() { value.to_string() } else { held.join(" ") }
    }
}

/// An array as its convention means it.
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
    /// What other arrays are for it.
    pub coordinates: Vec<Coordinate>,
    /// The units of its values; of moments what their numbers count.
    pub units: Option<String>,
    /// A name for people.
    pub long_name: Option<String>,
    /// A name from a list that its convention keeps.
    pub standard_name: Option<String>,
    /// How its values stand for cells: `time: mean`.
    pub cell_methods: Option<String>,
    /// Values that mean something by themselves.
    pub flags: Option<Flags>,
    /// How stored elements become values.
    pub decoding: Decoding,
    node: Node,
    info: ArrayInfo,
    order: Order,
    empty: bool,
}

impl Variable {
    /// An array that means what is stored; dimensions have no names. `None` if it has no elements, not even none.
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
            empty: false,
        })
    }

    /// The same with another way from stored elements to values. Characters take the last dimension.
    #[must_use]
    pub(crate) fn decoded(mut self, decoding: Decoding) -> Self {
        if decoding == Decoding::Characters {
            self.dimensions.pop();
        }
        self.decoding = decoding;
        self
    }

    /// The same with its dimensions stored the other way round.
    #[must_use]
    pub(crate) fn reversed(mut self) -> Self {
        self.order = Order::Reversed;
        self.dimensions.reverse();
        self
    }

    /// The same with the only dimension dropped, which has length 1.
    #[must_use]
    pub(crate) fn single(mut self) -> Self {
        self.dimensions.clear();
        self
    }

    /// A variable that holds nothing, whatever is stored for it.
    #[must_use]
    pub(crate) fn without_elements(mut self, shape: &[u64]) -> Self {
        self.dimensions = shape.iter().map(|&length| Dimension::unnamed(length)).collect();
        self.empty = true;
        self
    }

    /// The same with the values that are stored. Dimensions keep their names where they are those that are stored.
    pub(crate) fn undecoded(self) -> Self {
        let Some(plain) = Self::plain(&self.node, self.info.clone()) else { return self };
        let same = self.order == Order::Same && self.dimensions.len() == plain.dimensions.len();
        let dimensions = if same { self.dimensions } else { plain.dimensions };
        Self { dimensions, decoding: Decoding::Stored, order: Order::Same, empty: false, ..self }
    }

    /// The path of the array.
    pub fn path(&self) -> &str {
        self.node.path()
    }

    /// The object in the file.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// What is stored.
    pub fn stored(&self) -> &ArrayInfo {
        &self.info
    }

    /// The lengths of its dimensions.
    pub fn shape(&self) -> Vec<u64> {
        self.dimensions.iter().map(|dimension| dimension.length).collect()
    }

    /// The type that its values have as canonical bytes.
    pub fn element(&self) -> ElementType {
        self.decoding.element(&self.info.element)
    }

    /// Whether its values are the elements that are stored, in the order in which they are.
    pub fn is_stored(&self) -> bool {
        self.decoding == Decoding::Stored && self.order == Order::Same && !self.empty
    }

    /// Whether its dimensions are stored as they are told, and no others.
    pub(crate) fn is_in_order(&self) -> bool {
        let rank = self.info.shape.as_ref().map_or(0, Vec::len);
        self.order == Order::Same && !self.empty && self.dimensions.len() == rank
    }

    /// Whether it stands for a dimension alone and holds nothing: a dimension of netCDF without coordinates.
    pub fn is_dimension(&self) -> bool {
        let own = |dimension: &Dimension| dimension.path.as_deref() == Some(self.path());
        matches!(self.dimensions.as_slice(), [one] if own(one) && !one.has_values)
    }

    /// Whether any of its dimensions has a name.
    pub fn has_names(&self) -> bool {
        self.dimensions.iter().any(|dimension| dimension.name.is_some())
    }

    /// Its name and dimensions: `tas(time: unlimited 730, lat: 72, lon: 144)`, `u[3, 4]` where they have no names.
    pub fn signature(&self) -> String {
        let named = self.dimensions.iter().any(|dimension| dimension.name.is_some() || dimension.unlimited);
        let shown = self.dimensions.iter().map(|dimension| {
            let name = dimension.name.as_deref().map(|name| format!("{name}: ")).unwrap_or_default();
            match (dimension.unlimited, dimension.length) {
                // How long it is stands in the variables along it.
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

    /// What its values are: `float32 ← int16, K`.
    pub fn values_name(&self) -> String {
        match &self.units {
            Some(units) => format!("{}, {units}", self.kind_name()),
            None => self.kind_name(),
        }
    }

    /// The type of its values, and what is stored for them: `float32 ← int16`, `time ← float64`.
    pub fn kind_name(&self) -> String {
        let stored = type_name(&self.info.element);
        let values = match self.decoding {
            Decoding::Time { ref units, .. } if units.calendar() == Calendar::Standard => "time".to_owned(),
            Decoding::Time { ref units, .. } => format!("{} time", units.calendar().name()),
            Decoding::Categories { ref names, .. } => format!("category of {}", names.len()),
            _ => type_name(&self.element()),
        };
        if values == stored { values } else { format!("{values} ← {stored}") }
    }

    /// All values.
    ///
    /// # Errors
    /// As [`read_slab`](Self::read_slab).
    pub fn read(&self) -> Result<Values> {
        self.read_slab(&Slab::all(&self.shape())?)
    }

    /// The values of a selection of [`shape`](Self::shape).
    ///
    /// # Errors
    /// If the selection is one of another shape, the elements cannot be read, or they pass the limit of memory.
    pub fn read_slab(&self, slab: &Slab) -> Result<Values> {
        if self.empty {
            return Ok(Values::plain(self.info.element.clone(), Vec::new()));
        }
        let stored = self.stored_slab(slab)?;
        let size = self.info.element.size().unwrap_or(1).max(self.element().size().unwrap_or(1));
        self.node
            .file()
            .limits()
            .memory("bytes of the elements to read", bound::product(stored.len(), size))?;
        let mut bytes = Vec::new();
        self.node.file().read(self.node.id(), &stored, &mut bytes)?;
        self.decode(&stored, bytes)
    }

    /// Values of a selection piece after piece, so that not all of them need to fit in memory. Where dimensions are stored as they
    /// are told, pieces follow each other in C order, and one is read while `visit` has the one before.
    ///
    /// # Errors
    /// As [`read_slab`](Self::read_slab); an error of `visit` ends the reading.
    pub fn for_each_piece(
        &self,
        slab: &Slab,
        visit: &mut dyn FnMut(Values) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        if self.empty || self.order == Order::Reversed || self.decoding == Decoding::Characters {
            return visit(self.read_slab(slab)?).map(drop);
        }
        let stored = self.stored_slab(slab)?;
        self.node.file().for_each_piece((self.node.id(), &self.info), &stored, &mut |_, bytes| {
            visit(self.decoding.decode(&self.info.element, bytes.to_vec())?)
        })
    }

    /// The stored elements of a selection.
    fn stored_slab(&self, slab: &Slab) -> Result<Slab> {
        if slab.of() != self.shape() {
            return Err(Error::usage("selection", "is one of another shape than the variable's"));
        }
        let shape = self.order.turned(self.info.shape.as_deref().unwrap_or_default());
        let mut ranges = slab.ranges().to_vec();
        // What the decoding takes, and a dimension of one that was dropped.
        for &length in shape.iter().skip(ranges.len()) {
            ranges.push(Range::all(length));
        }
        self.order.slab(&shape, &ranges)
    }

    fn decode(&self, stored: &Slab, bytes: Vec<u8>) -> Result<Values> {
        let shape = stored.shape();
        let bytes = match self.order {
            Order::Same => bytes,
            Order::Reversed => transposed(&self.info.element, bytes, &shape)?,
        };
        match self.decoding {
            Decoding::Characters => {
                let length = self.order.turned(&shape).last().copied().unwrap_or(1);
                self.decoding.decode_texts(&self.info.element, &bytes, length)
            }
            _ => self.decoding.decode(&self.info.element, bytes),
        }
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
    match element {
        ElementType::Int(bytes) => format!("int{}", u32::from(*bytes) * 8),
        ElementType::UInt(bytes) => format!("uint{}", u32::from(*bytes) * 8),
        ElementType::F16 => "float16".into(),
        ElementType::F32 => "float32".into(),
        ElementType::F64 => "float64".into(),
        ElementType::BF16 => "bfloat16".into(),
        ElementType::FloatOther => "float64*".into(),
        ElementType::Complex(bytes) => format!("complex{}", u16::from(*bytes) * 8),
        ElementType::Text => "string".into(),
        ElementType::Reference => "reference".into(),
        ElementType::Region => "region reference".into(),
        ElementType::Enum { base, .. } => format!("enum({})", type_name(base)),
        ElementType::Compound(fields) => {
            let fields = fields.iter().map(|(name, field)| format!("{name}: {}", type_name(field)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        ElementType::Array { element, shape } => {
            let sides: Vec<String> = shape.iter().map(u64::to_string).collect();
            format!("{}[{}]", type_name(element), sides.join(","))
        }
        ElementType::Vlen(element) => format!("sequence({})", type_name(element)),
        other => other.to_string(),
    }
}

/// `tas(time: unlimited 730, lat: 72, lon: 144) float32 ← int16, K`
impl std::fmt::Display for Variable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.signature(), self.values_name())
    }
}
