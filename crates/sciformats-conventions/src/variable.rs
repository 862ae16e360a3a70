//! Variables: arrays with named dimensions, coordinates, units and decoded values.

use std::ops::ControlFlow;
use std::sync::Arc;

use sciformats::options::Unfolding;
use sciformats::{ArrayInfo, Decoder, ElementType, Error, Range, Result, Slab};
use sciformats_core::bound;
use sciformats_core::storage::zeroed;

use crate::decoding::{Decoding, Numbers, Order, transposed};
use crate::elsewhere::Elsewhere;
use crate::node::Node;
use crate::time::Calendar;
use crate::values::Values;

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

/// Values with individual meanings: `flag_values`, `flag_masks` and `flag_meanings` of the CF conventions.
///
/// ```
/// use sciformats_conventions::Flags;
///
/// let sky = Flags { values: Some(vec![0, 1]), masks: None, meanings: vec!["clear".into(), "cloudy".into()] };
/// assert_eq!((sky.label(1), sky.label(7)), ("cloudy".into(), "7".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flags {
    /// The values; `None` if each mask is also the value.
    pub values: Option<Vec<i128>>,
    /// The relevant bits for each meaning; `None` if all bits are relevant.
    pub masks: Option<Vec<i128>>,
    /// The meanings.
    pub meanings: Vec<String>,
}

impl Flags {
    /// Returns the meanings of a value, separated by spaces, or its digits if it has none.
    pub fn label(&self, value: i128) -> String {
        let mut held = Vec::new();
        for (at, meaning) in self.meanings.iter().enumerate() {
            let mask = self.masks.as_ref().and_then(|masks| masks.get(at)).copied();
            let expected = self.values.as_ref().and_then(|values| values.get(at)).copied();
            let holds = match (mask, expected) {
                (None, None) => false,
                (None, Some(expected)) => value == expected,
                (Some(mask), None) => value & mask != 0,
                (Some(mask), Some(expected)) => value & mask == expected,
            };
            if holds {
                held.push(meaning.as_str());
            }
        }
        if held.is_empty() { value.to_string() } else { held.join(" ") }
    }
}

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

/// Factors of the values at each place along a dimension, and what is added afterwards.
#[derive(Debug)]
pub(crate) struct Factors {
    pub(crate) axis: usize,
    pub(crate) each: Vec<f64>,
    pub(crate) offset: f64,
}

impl Factors {
    /// Decodes the elements of a selection.
    fn apply(&self, element: &ElementType, bytes: &[u8], slab: &Slab) -> Result<Values> {
        let wrong = || Error::usage("factors", "are not those of the dimension");
        let range = slab.ranges().get(self.axis).ok_or_else(wrong)?;
        let mut each = Vec::new();
        for at in 0..range.count {
            let place = at.checked_mul(range.step).and_then(|far| far.checked_add(range.start));
            let place = place.and_then(|place| usize::try_from(place).ok());
            each.push(*place.and_then(|place| self.each.get(place)).ok_or_else(wrong)?);
        }
        // How many elements follow each other with the same factor.
        let run: u64 = slab.shape().iter().skip(self.axis.saturating_add(1)).product(); // a bound of ranks
        let run = usize::try_from(run).map_err(|_| wrong())?.max(1);
        let mut out = Vec::new();
        let factors = each.iter().flat_map(|factor| std::iter::repeat_n(*factor, run)).cycle();
        for (datum, factor) in Decoder::new(element, bytes).zip(factors) {
            let stored = datum?.to_f64().ok_or_else(wrong)?;
            out.extend((stored * factor + self.offset).to_le_bytes());
        }
        Ok(Values::plain(ElementType::F64, out))
    }
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

    /// Reads all values.
    ///
    /// # Errors
    ///
    /// As [`read_slab`](Self::read_slab).
    pub fn read(&self) -> Result<Values> {
        self.read_slab(&Slab::all(&self.shape())?)
    }

    /// Reads the values of a selection of [`shape`](Self::shape).
    ///
    /// # Errors
    ///
    /// An error if the selection has another shape, if the elements cannot be read, or if they exceed the
    /// memory limit.
    pub fn read_slab(&self, slab: &Slab) -> Result<Values> {
        if let Some(bytes) = &self.held {
            return self.decoding.decode(&self.info.element, bytes.to_vec());
        }
        if let Some(elsewhere) = &self.elsewhere {
            if slab.of() != self.shape() {
                return Err(other_shape());
            }
            return elsewhere.read(slab, &self.decoding);
        }
        let stored = self.stored_slab(slab)?;
        let size = self.info.element.size().unwrap_or(1).max(self.element().size().unwrap_or(1));
        self.node
            .file()
            .limits()
            .memory("bytes of the elements to read", bound::product(stored.len(), size))?;
        if let Some(numbers) = self.computed()
            && bound::product(stored.len(), size) >= PIECEWISE
        {
            // Each piece is decoded as soon as it is there, while the next one is read.
            let one = numbers.element().size().unwrap_or(size);
            let mut out = zeroed(bound::addressable(bound::product(stored.len(), one)))?;
            let mut rest = out.as_mut_slice();
            let file = self.node.file();
            // How much one call reads is limited by the memory that it takes.
            let unfolding = Unfolding::new(&file.options().clone().with_unfolded(u64::MAX), file.size());
            file.go_through(&unfolding, (self.node.id(), &self.info), &stored, &mut |_, bytes| {
                let (place, after) = std::mem::take(&mut rest)
                    .split_at_mut_checked(numbers.decoded_size(bytes.len()))
                    .ok_or_else(|| Error::internal("there are more elements than were selected"))?;
                rest = after;
                numbers.decode_to(bytes, place)?;
                Ok(ControlFlow::Continue(()))
            })?;
            return Ok(Values::plain(numbers.element().clone(), out));
        }
        let mut bytes = Vec::new();
        self.node.file().read(self.node.id(), &stored, &mut bytes)?;
        if let Some(factors) = &self.factors {
            return factors.apply(&self.info.element, &bytes, &stored);
        }
        let values = self.decode(&stored, bytes)?;
        match &self.missing {
            Some(missing) => values.without(&marks(missing, &stored)?),
            None => Ok(values),
        }
    }

    /// Reads the stored elements of a selection of [`shape`](Self::shape); `None` if they only become values
    /// together.
    pub(crate) fn read_stored(&self, slab: &Slab) -> Result<Option<(ElementType, Vec<u8>)>> {
        let whole = self.is_whole();
        if whole || self.order == Order::Reversed || self.decoding.joins_characters() {
            return Ok(None);
        }
        let stored = self.stored_slab(slab)?;
        let size = bound::product(stored.len(), self.info.element.size().unwrap_or(1));
        self.node.file().limits().memory("bytes of the elements to read", size)?;
        let mut bytes = Vec::new();
        self.node.file().read(self.node.id(), &stored, &mut bytes)?;
        Ok(Some((self.info.element.clone(), bytes)))
    }

    /// Reads the values of a selection piece by piece, so that not all of them need to fit in memory. If the
    /// dimensions are stored in the order of the variable, the pieces are in C order, and the next piece is
    /// read while `visit` works on the current one.
    ///
    /// # Errors
    ///
    /// As [`read_slab`](Self::read_slab); an error of `visit` ends the reading.
    pub fn for_each_piece(
        &self,
        slab: &Slab,
        visit: &mut dyn FnMut(Values) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let whole = self.is_whole();
        if whole || self.order == Order::Reversed || self.decoding.joins_characters() {
            return visit(self.read_slab(slab)?).map(drop);
        }
        let stored = self.stored_slab(slab)?;
        self.node.file().for_each_piece((self.node.id(), &self.info), &stored, &mut |_, bytes| {
            if let Some(numbers) = self.computed() {
                return visit(Values::plain(numbers.element().clone(), numbers.decode(bytes)?));
            }
            visit(self.decoding.decode(&self.info.element, bytes.to_vec())?)
        })
    }

    /// Returns the stored elements of a selection.
    fn stored_slab(&self, slab: &Slab) -> Result<Slab> {
        if slab.of() != self.shape() {
            return Err(other_shape());
        }
        let shape = self.order.turned(self.info.shape.as_deref().unwrap_or_default());
        let mut ranges = slab.ranges().to_vec();
        // The dimensions that the decoding uses, and a dimension of length 1 that was dropped.
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
        if self.decoding.joins_characters() {
            let length = self.order.turned(&shape).last().copied().unwrap_or(1);
            return self.decoding.decode_texts(&self.info.element, &bytes, length);
        }
        self.decoding.decode(&self.info.element, bytes)
    }
}

/// From this number of bytes on, elements are decoded while others are still read.
const PIECEWISE: u64 = 8 << 20;

fn other_shape() -> Error {
    Error::usage("selection", "has another shape than the variable")
}

/// Returns the truth values of a selection of elements.
fn marks(missing: &[bool], slab: &Slab) -> Result<Vec<bool>> {
    let mut marks = Vec::new();
    for run in slab.runs() {
        for at in 0..run.len {
            let place = at.checked_mul(run.step).and_then(|far| far.checked_add(run.from));
            let mark = place.and_then(|place| missing.get(usize::try_from(place).ok()?));
            marks.push(*mark.ok_or_else(|| Error::usage("mask", "has another shape than its array"))?);
        }
    }
    Ok(marks)
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
