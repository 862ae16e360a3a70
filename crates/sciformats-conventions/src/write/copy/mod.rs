//! Files of other formats as netCDF-4 files: variables with dimensions and units, as far as the source has them.
//!
//! | source | becomes |
//! |---|---|
//! | an array, a quantity of ASDF | a variable; `/a/b` is called `a_b` |
//! | a list of records, a table | a variable for each column |
//! | complex numbers | two variables, with `_real` and `_imag` after the name |
//! | numbers of 16 bits with a point | float32, which is listed as a loss |
//! | other numbers with a point than those of IEEE 754 | float64, which is listed as a loss |
//! | dates | microseconds since 1970 in their calendar, or nanoseconds if some dates are that fine; those of a time zone are in UTC |
//! | truth values | bytes with the attribute `dtype` = `bool`, as xarray writes them |
//! | enumerations | integers with `flag_values` and `flag_meanings` |
//! | what a GSD file stores in each frame | a variable along the dimension `frame`; rows that a frame lacks are missing |
//! | single values of a tree | attributes of the file |
//! | numbers of attributes | numbers of the same type; of types that netCDF lacks, the next larger one, which is listed as a loss |
//! | attributes of several dimensions, enumerations and truth values in attributes | lists and integers, which is listed as a loss |
//! | other attributes and values of a tree than numbers and texts | texts in JSON, which is listed as a loss |
//!
//! A dimension has the name that the source gives it. Others are called `dim_N` after their length.

mod attributes;
mod elements;
mod frames;
mod kind;
mod names;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use sciformats::hdf5_pure::ObjectId;
use sciformats::walk::{Found, breadth_first};
use sciformats::{ElementType, Format, Name, Object, Result, Value};

use self::attributes::{Said, are_words, attributes, attributes_of, describe, is_other, told};
use self::frames::Frames;
use self::kind::{Kind, half};
use self::names::{Found as Named, Names, Side};
use super::{DimensionId, NetCdf};
use crate::convention::Meaning;
use crate::dataset::Dataset;
use crate::decoding::Decoding;
use crate::table::{Column, Table};
use crate::time::Calendar;
use crate::variable::Variable;

/// The nanoseconds of a microsecond.
const MICRO: i128 = 1_000;

/// Why a text is left out.
const NUL: &str = "is left out: it holds a text with a NUL, which netCDF takes for its end";

/// What becomes of missing texts.
const MISSING: &str = "holds missing texts, which become empty";

/// What becomes of texts and of names that are not UTF-8.
const ESCAPED: &str = "holds text that is not UTF-8, whose bytes become escapes such as `\\xb5`";
const ESCAPED_NAME: &str = "has a name that is not UTF-8, whose bytes become escapes such as `\\xb5`";

/// The plan of a netCDF-4 file with the contents of another file.
///
/// ```no_run
/// use sciformats_conventions::Dataset;
/// use sciformats_conventions::write::NetCdfCopy;
///
/// let data = Dataset::open("run.gsd")?;
/// let copy = NetCdfCopy::new(&data, &|_| true)?;
/// for (path, why) in copy.losses() {
///     println!("{path} is left out: {why}");
/// }
/// copy.create("run.nc", None)?;
/// # Ok::<(), sciformats_conventions::sciformats::Error>(())
/// ```
#[derive(Debug)]
pub struct NetCdfCopy {
    variables: Vec<Planned>,
    globals: Vec<(String, Told)>,
    /// Values of a tree that become attributes of the file, under the names that they ask for.
    values: Vec<Named<Told>>,
    losses: Vec<(String, String)>,
}

/// A variable that is going to be written.
#[derive(Debug)]
struct Planned {
    name: String,
    dimensions: Vec<Side>,
    kind: Kind,
    /// Whether some elements may be missing.
    missing: bool,
    /// The integer that means a missing element, if it is not the usual one.
    fill: Option<i128>,
    attributes: Vec<(String, Told)>,
    origin: Origin,
}

/// Where the elements of a variable come from.
#[derive(Debug)]
enum Origin {
    Variable(Box<Variable>, As),
    Column(Box<Column>, As),
    Frames(Frames),
}

/// Which part of the elements is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum As {
    Same,
    Real,
    Imaginary,
    /// Steps of so many nanoseconds since 1970.
    Time(Calendar, i128),
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
enum Told {
    Text(String),
    Texts(Vec<String>),
    /// Integers, and their type.
    Whole(Vec<i64>, Kind),
    /// Numbers with a point, and their type.
    Numbers(Vec<f64>, Kind),
    /// Integers beyond those of 64 bits with a sign.
    Natural(Vec<u64>),
    /// Integers of the type of the variable.
    Own(Vec<i128>),
}

impl NetCdfCopy {
    /// Plans a file with the objects for whose path `selected` is true.
    ///
    /// # Errors
    ///
    /// An error if the file cannot be listed.
    pub fn new(data: &Dataset, selected: &dyn Fn(&str) -> bool) -> Result<Self> {
        let mut copy =
            Self { variables: Vec::new(), globals: Vec::new(), values: Vec::new(), losses: Vec::new() };
        let mut names = Names::default();
        let file = data.file();
        let source = file.source();
        let frames = file.format() == Format::Gsd;
        let mut wholes: Vec<String> = Vec::new();
        let mut failed = None;
        let _ = breadth_first(source, ("/", source.root()), file.limits(), &mut |entry| {
            let path = entry.path.as_str();
            let inside = |whole: &String| path.starts_with(whole.as_str());
            if wholes.iter().any(inside) || (frames && (path == "/frames" || path.starts_with("/frames/"))) {
                return ControlFlow::Continue(());
            }
            let object = match &entry.what {
                Found::Object(_, object) => object,
                Found::Unreadable(error) | Found::Unlisted(error) if selected(path) => {
                    copy.lose(path, error.to_string());
                    return ControlFlow::Continue(());
                }
                _ => return ControlFlow::Continue(()),
            };
            let Found::Object(id, _) = &entry.what else { return ControlFlow::Continue(()) };
            let meaning = match object {
                Object::Group | Object::Array(_) => data.meaning_of(&data.known(path, *id)),
                Object::Value(value) => {
                    if selected(path) {
                        copy.global(path, value);
                    }
                    return ControlFlow::Continue(());
                }
                Object::Datatype(_) => {
                    if selected(path) {
                        copy.lose(path, "is a named datatype, without which variables have their types");
                    }
                    return ControlFlow::Continue(());
                }
                Object::Damaged { error, .. } => {
                    copy.lose(path, error.to_string());
                    return ControlFlow::Continue(());
                }
            };
            if matches!((object, &meaning), (Object::Group, Ok(Some(_)))) {
                wholes.push(format!("{}/", path.trim_end_matches('/')));
            }
            if !selected(path) {
                return ControlFlow::Continue(());
            }
            match meaning {
                Ok(Some(Meaning::Variable(variable))) if variable.is_dimension() => {}
                Ok(Some(Meaning::Variable(variable))) => copy.variable(path, *variable, &mut names),
                Ok(Some(Meaning::Table(table))) => copy.table(path, &table, &mut names),
                Ok(Some(Meaning::Sparse(_))) => {
                    copy.lose(path, "is a sparse matrix, which netCDF does not have");
                }
                Ok(None) if matches!(object, Object::Array(_)) => copy.lose(path, "has no elements"),
                Ok(None) => {}
                Err(error) => copy.lose(path, error.to_string()),
            }
            ControlFlow::Continue(())
        });
        if frames
            && selected("/frames")
            && let Err(error) = frames::plan(data, &mut copy, &mut names)
        {
            failed = Some(error);
        }
        if let Some(error) = failed {
            return Err(error);
        }
        copy.losses.extend(names.changes());
        copy.root(data)?;
        copy.without_ends();
        Ok(copy)
    }

    /// Leaves out attributes whose texts contain a NUL, which readers take for the end of a text.
    fn without_ends(&mut self) {
        let Self { variables, globals, losses, .. } = self;
        let mut keep = |of: &str, name: &str, told: &Told| {
            let ends = match told {
                Told::Text(text) => text.contains('\0'),
                Told::Texts(texts) => texts.iter().any(|text| text.contains('\0')),
                _ => false,
            };
            if ends {
                losses.push((format!("/{of}@{name}"), NUL.into()));
            }
            !ends
        };
        globals.retain(|(name, told)| keep("", name, told));
        for Planned { name: of, attributes, .. } in variables {
            attributes.retain(|(name, told)| keep(of, name, told));
        }
    }

    /// Returns what is left out or changed, with the reasons.
    pub fn losses(&self) -> &[(String, String)] {
        &self.losses
    }

    /// Returns the number of variables.
    pub fn variables(&self) -> usize {
        self.variables.len()
    }

    fn lose(&mut self, path: &str, why: impl Into<String>) {
        self.losses.push((path.to_owned(), why.into()));
    }

    /// Plans the attributes of the file.
    fn root(&mut self, data: &Dataset) -> Result<()> {
        let source = data.file().source();
        let said = format!("{} {}", data.file().format(), source.headline());
        let format = ("source_format", Told::Text(said.trim().to_owned()));
        let mut all = std::mem::take(&mut self.values);
        let root = data.node("/")?;
        // The attributes of a single array are those of its variable.
        if matches!(root.object()?, Object::Group) {
            all.extend(attributes(data, "/", &mut self.losses)?);
        }
        let others = names::attributes(all, &[format.0], &mut self.losses);
        self.globals = std::iter::once((format.0.to_owned(), format.1)).chain(others).collect();
        Ok(())
    }

    /// Plans an attribute of the file for a value of a tree: `/meta/name` is called `meta.name`.
    fn global(&mut self, path: &str, value: &Value) {
        let name = path.trim_start_matches('/').replace('/', ".");
        match told(value) {
            Some(Said { told, changes }) if !name.is_empty() => {
                changes.into_iter().for_each(|why| self.lose(path, why));
                self.values.push((path.to_owned(), name, told));
            }
            _ => self.lose(path, "is a value that an attribute of netCDF cannot be"),
        }
    }

    #[allow(clippy::needless_pass_by_value, reason = "the caller has no further use for it")]
    fn variable(&mut self, path: &str, variable: Variable, names: &mut Names) {
        let mut sides: Vec<Side> = Vec::new();
        for dimension in &variable.dimensions {
            sides.push(names.side(path, dimension.name.as_deref(), dimension.length, dimension.unlimited));
        }
        let time = match &variable.decoding {
            Decoding::Time { units, .. } => Some(units.calendar()),
            Decoding::SecondsAndMicroseconds => Some(Calendar::ProlepticGregorian),
            _ => None,
        };
        let mut attributes = Vec::new();
        let text = |name: &str, text: &Option<String>| {
            text.as_ref().map(|text| (name.to_owned(), Told::Text(text.clone())))
        };
        attributes.extend(text("long_name", &variable.long_name));
        attributes.extend(text("standard_name", &variable.standard_name));
        attributes.extend(text("units", &variable.units).filter(|_| time.is_none()));
        match attributes_of(&variable, &mut self.losses) {
            Ok(others) => attributes.extend(others),
            Err(error) => self.lose(path, format!("has attributes that cannot be read: {error}")),
        }
        let mut element = variable.element();
        while let ElementType::Array { element: inner, shape } = element {
            sides.extend(shape.iter().map(|&length| names.side(path, None, length, false)));
            element = *inner;
        }
        let of = Of { path, sides, attributes, time };
        let origin = |part| Origin::Variable(Box::new(variable.clone()), part);
        self.add(of, &element, (&origin, names));
    }

    fn table(&mut self, path: &str, table: &Table, names: &mut Names) {
        for (name, why) in &table.omitted {
            self.lose(&format!("{}/{name}", path.trim_end_matches('/')), why.as_str());
        }
        let rows = names.rows(path, table.rows);
        for column in table.all_columns() {
            let name = if column.name.is_empty() { "index" } else { column.name.as_str() };
            let inside = format!("{}/{name}", path.trim_end_matches('/'));
            let mut sides = vec![rows.clone()];
            let row = column.row_shape().into_iter();
            sides.extend(row.map(|length| names.side(&inside, None, length, false)));
            let mut element = column.element_for(crate::decoded::For::Programs);
            while let ElementType::Array { element: inner, shape } = element {
                // The dimensions of a column of arrays are known already.
                if sides.len() == 1 {
                    sides.extend(shape.iter().map(|&length| names.side(&inside, None, length, false)));
                }
                element = *inner;
            }
            let units = column.units.clone().map(|units| ("units".to_owned(), Told::Text(units)));
            let time = column.calendar();
            let attributes = units.into_iter().filter(|_| time.is_none()).collect();
            let of = Of { path: &inside, sides, attributes, time };
            let origin = |part| Origin::Column(Box::new(column.clone()), part);
            self.add(of, &element, (&origin, names));
        }
    }

    /// Adds one variable, or two for complex numbers.
    fn add(
        &mut self,
        of: Of<'_>,
        element: &ElementType,
        (origin, names): (&dyn Fn(As) -> Origin, &mut Names),
    ) {
        let Of { path, sides: dimensions, mut attributes, time } = of;
        if is_other(&Name::from_shown(path)) {
            self.lose(path, ESCAPED_NAME);
        }
        if let Some(calendar) = time {
            let (kind, origin) = (Kind::I64, origin(As::Time(calendar, MICRO)));
            let name = names.variable(path, "", &dimensions);
            let planned = Planned { name, dimensions, kind, missing: true, fill: None, attributes, origin };
            return self.dates(path, planned, calendar);
        }
        if let Some((part, _)) = half(element, &[], false) {
            let Some(kind) = Kind::of(&part) else { return };
            self.widened(path, &part);
            for (end, part) in [("_real", As::Real), ("_imag", As::Imaginary)] {
                self.variables.push(Planned {
                    name: names.variable(path, end, &dimensions),
                    dimensions: dimensions.clone(),
                    kind,
                    missing: false,
                    fill: None,
                    attributes: attributes.clone(),
                    origin: origin(part),
                });
            }
            return;
        }
        let Some(kind) = Kind::of(element) else {
            return self.lose(path, format!("has elements of type {element}, which netCDF does not have"));
        };
        self.widened(path, element);
        describe(element, &mut attributes);
        if !are_words(element) {
            self.lose(path, "has values whose names are not words in UTF-8, as `flag_meanings` needs them");
        }
        let origin = origin(As::Same);
        let name = String::new();
        let mut planned = Planned { name, dimensions, kind, missing: false, fill: None, attributes, origin };
        let texts = planned.texts();
        if texts.nul {
            return self.lose(path, NUL);
        }
        if texts.other {
            self.lose(path, ESCAPED);
        }
        if texts.missing {
            self.lose(path, MISSING);
        }
        planned.name = names.variable(path, "", &planned.dimensions);
        self.variables.push(planned);
    }

    /// Tells that elements get another type, because netCDF lacks theirs.
    fn widened(&mut self, path: &str, element: &ElementType) {
        if matches!(element, ElementType::F16 | ElementType::BF16) {
            self.lose(path, format!("has elements of type {element}, which become float32"));
        }
        if *element == ElementType::FloatOther {
            self.lose(path, "has floating-point numbers in a form of their own, which become float64");
        }
    }

    /// Adds a variable of dates, which count microseconds, or nanoseconds if some dates are that fine.
    fn dates(&mut self, path: &str, mut planned: Planned, calendar: Calendar) {
        let found = planned.fineness(calendar);
        let is_fine = found.is_fine && !found.is_far;
        if found.is_fine && found.is_far {
            self.lose(path, "has dates that are too far apart to count nanoseconds, which are left out");
        }
        if let (true, Origin::Variable(_, part) | Origin::Column(_, part)) = (is_fine, &mut planned.origin) {
            *part = As::Time(calendar, 1);
        }
        let unit = if is_fine { "nanoseconds" } else { "microseconds" };
        planned.attributes.push(("units".into(), Told::Text(format!("{unit} since 1970-01-01"))));
        planned.attributes.push(("calendar".into(), Told::Text(calendar.name().to_owned())));
        self.variables.push(planned);
    }

    /// Writes the file at `path`, where there must not be one yet. With `level`, elements are compressed with deflate.
    ///
    /// # Errors
    ///
    /// An error if elements cannot be read, or if the file cannot be written; `Io` if there is a file already.
    pub fn create(&self, path: impl AsRef<Path>, level: Option<u32>) -> Result<()> {
        self.write(NetCdf::create(path)?, level)
    }

    /// As [`create`](Self::create), but replaces an existing file when the new one is complete.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create).
    pub fn overwrite(&self, path: impl AsRef<Path>, level: Option<u32>) -> Result<()> {
        self.write(NetCdf::overwrite(path)?, level)
    }

    fn write(&self, mut file: NetCdf, level: Option<u32>) -> Result<()> {
        if let Some(level) = level {
            file.deflate(level);
        }
        let mut known: HashMap<&str, DimensionId> = HashMap::new();
        for side in self.variables.iter().flat_map(|variable| &variable.dimensions) {
            if !known.contains_key(side.name.as_str()) {
                let id = match side.unlimited {
                    true => file.unlimited(&side.name, side.length)?,
                    false => file.dimension(&side.name, side.length)?,
                };
                known.insert(&side.name, id);
            }
        }
        for (name, told) in &self.globals {
            told.write(&mut file, (None, name), Kind::I64)?;
        }
        for variable in &self.variables {
            let sides = variable.dimensions.iter();
            let dimensions: Vec<DimensionId> =
                sides.filter_map(|side| known.get(side.name.as_str()).copied()).collect();
            let fill = (variable.missing, variable.fill);
            let id = variable.kind.define(&mut file, (&variable.name, &dimensions), fill)?;
            for (name, told) in &variable.attributes {
                told.write(&mut file, (Some(id), name), variable.kind)?;
            }
            variable.fill(&mut file, id)?;
        }
        file.finish()
    }
}

impl Told {
    /// Adds the value to a variable, whose elements have the type `own`, or to the file.
    fn write(&self, file: &mut NetCdf, to: (Option<ObjectId>, &str), own: Kind) -> Result<()> {
        match self {
            Self::Text(text) => kind::add(file, to, text.as_str()),
            Self::Texts(texts) => kind::add(file, to, texts.iter().map(String::as_str).collect::<Vec<_>>()),
            Self::Whole(numbers, kind) => {
                let wide: Vec<i128> = numbers.iter().map(|&number| number.into()).collect();
                match kind.attribute(file, to, &wide)? {
                    true => Ok(()),
                    false => kind::add(file, to, numbers.clone()),
                }
            }
            Self::Numbers(numbers, Kind::F32) => {
                // They have been of this type.
                kind::add(file, to, numbers.iter().map(|&number| number as f32).collect::<Vec<f32>>())
            }
            Self::Numbers(numbers, _) => kind::add(file, to, numbers.clone()),
            Self::Natural(numbers) => kind::add(file, to, numbers.clone()),
            Self::Own(numbers) => own.attribute(file, to, numbers).map(drop),
        }
    }
}

/// What several variables of one object have in common.
struct Of<'a> {
    path: &'a str,
    sides: Vec<Side>,
    attributes: Vec<(String, Told)>,
    time: Option<Calendar>,
}
