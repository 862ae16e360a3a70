//! The walk through a file, in which each array is referenced, inlined or refused.

use std::collections::HashMap;
use std::ops::ControlFlow;

use sciformats::walk::{self, Found};
use sciformats::{ArrayInfo, File, Kind, Object, ObjectId, Result};

use crate::attributes;
use crate::extent;
use crate::inline;
use crate::model::{Entry, Options, Report, Sink, Treatment, VirtualArray};
#[cfg(feature = "hdf5")]
use crate::unlimited::{self, Lengths};

/// Passes the groups and the arrays of a file to `sink`, and returns what became of each object.
///
/// # Errors
/// The first error of `sink`. What cannot be read of the file is an entry of the report.
pub fn scan(file: &File, options: &Options, sink: &mut dyn Sink) -> Result<Report> {
    walked(file, options, sink, (None, true))
}

/// As [`scan`], for a file that is joined with others: arrays keep their shapes, and what they store.
///
/// # Errors
/// As [`scan`].
pub(crate) fn parts(file: &File, options: &Options, sink: &mut dyn Sink) -> Result<Report> {
    walked(file, options, sink, (None, false))
}

/// As [`scan`], with arrays that `make` describes. Their attributes stay as they are.
///
/// # Errors
/// As [`scan`].
#[cfg(feature = "zarr")]
pub(crate) fn describe(
    file: &File,
    options: &Options,
    sink: &mut dyn Sink,
    make: Make<'_>,
) -> Result<Report> {
    walked(file, options, sink, (Some(make), false))
}

/// Describes an array, or says why it is refused.
type Make<'a> = &'a dyn Fn(ObjectId, &ArrayInfo) -> std::result::Result<(VirtualArray, Treatment), String>;

fn walked(
    file: &File,
    options: &Options,
    sink: &mut dyn Sink,
    (make, alone): (Option<Make<'_>>, bool),
) -> Result<Report> {
    let source = file.source();
    let mut scan = Scan {
        file,
        options,
        sink,
        make,
        alone,
        #[cfg(feature = "hdf5")]
        unlimited: None,
        moved: moved(file).err(),
        report: Report::default(),
        rooted: false,
        lengths: HashMap::new(),
    };
    let mut failure = Ok(());
    let _ = walk::breadth_first(source, ("/", source.root()), file.limits(), &mut |entry| {
        let is_group = matches!(entry.what, Found::Object(_, Object::Group));
        if !options.includes(&entry.path, is_group) {
            return ControlFlow::Continue(());
        }
        failure = scan.entry(&entry.path, entry.what);
        if failure.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    failure.map(|()| scan.report)
}

/// Returns whether the bytes of the file are where its structures say.
///
/// # Errors
/// The reason why they are not.
fn moved(file: &File) -> std::result::Result<(), String> {
    let Some(path) = file.path() else { return Ok(()) };
    let said = |error: sciformats::Error| error.to_string();
    if std::fs::metadata(path).map(|data| (data.is_file(), data.len())).ok() != Some((true, file.size())) {
        return Err("the file consists of several parts".into());
    }
    let storage = sciformats_core::storage::FileStorage::open(path).map_err(said)?;
    if sciformats_core::commit::journal::is_interrupted(&storage).map_err(said)? {
        return Err("a commit of the file was interrupted, which the next edit of the file completes".into());
    }
    Ok(())
}

struct Scan<'a> {
    file: &'a File,
    options: &'a Options,
    sink: &'a mut dyn Sink,
    /// How arrays are described, if not as references.
    make: Option<Make<'a>>,
    /// Whether readers see the file by itself.
    alone: bool,
    /// The lengths of unlimited dimensions, once an array has one.
    #[cfg(feature = "hdf5")]
    unlimited: Option<Lengths>,
    /// Why ranges of the file would not have the bytes that its structures lead to.
    moved: Option<String>,
    report: Report,
    /// Whether the group at the root is written.
    rooted: bool,
    /// The lengths of the named dimensions of each group.
    lengths: HashMap<(String, String), u64>,
}

impl Scan<'_> {
    fn entry(&mut self, path: &str, what: Found) -> Result<()> {
        let refusal = match what {
            Found::Object(id, Object::Array(info)) => return self.array(path, id, &info),
            Found::Object(id, Object::Group) => match nameable(path) {
                Err(reason) => reason,
                Ok(()) => {
                    self.rooted |= path == "/";
                    let attributes = attributes::of(self.file, id, path, &mut self.report);
                    return self.sink.group(path, &attributes);
                }
            },
            Found::Object(_, Object::Datatype(_)) => return Ok(()),
            Found::Object(_, Object::Value(_)) => {
                let treatment = Treatment::Scalar { reason: "a scalar of the tree is not an array".into() };
                self.report.entries.push(Entry { path: path.into(), treatment });
                return self.root(path);
            }
            Found::Object(_, Object::Damaged { error, .. })
            | Found::Unreadable(error)
            | Found::Unlisted(error) => error.to_string(),
            Found::HardLink(first) => return self.again(path, &first),
            Found::Soft(target) => return self.link(path, format!("it is a soft link to {target}")),
            Found::External { file, target } => {
                return self.link(path, format!("it is a link to {target} in {file}"));
            }
            Found::User(class) => {
                return self.link(path, format!("it is a link of the user-defined class {class}"));
            }
        };
        self.refuse(path, refusal);
        self.root(path)
    }

    fn link(&mut self, path: &str, reason: String) -> Result<()> {
        self.report.entries.push(Entry { path: path.into(), treatment: Treatment::Link { reason } });
        Ok(())
    }

    /// A store has a group at its root, whatever the file has there.
    fn root(&mut self, path: &str) -> Result<()> {
        if path == "/" && !std::mem::replace(&mut self.rooted, true) {
            self.sink.group("/", &serde_json::Map::new())?;
        }
        Ok(())
    }

    fn refuse(&mut self, path: &str, reason: String) {
        self.report.entries.push(Entry { path: path.into(), treatment: Treatment::Refused { reason } });
    }

    /// A second hard link: an array is referenced again, and a group is not walked again.
    fn again(&mut self, path: &str, first: &str) -> Result<()> {
        let found = self.file.resolve(first).and_then(|id| Ok((id, self.file.source().object(id)?)));
        match found {
            Ok((id, Object::Array(info))) => self.array(path, id, &info),
            Ok((_, object)) if object.kind() == Kind::Datatype => Ok(()),
            Ok(_) => self.link(path, format!("it is a second link to {first}, whose members are there")),
            Err(error) => {
                self.refuse(path, error.to_string());
                Ok(())
            }
        }
    }

    fn array(&mut self, path: &str, id: ObjectId, info: &ArrayInfo) -> Result<()> {
        if is_only_a_dimension(self.file, id) {
            self.note(
                path,
                "it is a netCDF dimension without a variable, of which the arrays keep the name".into(),
            );
            return Ok(());
        }
        // An array at the root becomes the member `data` of the store.
        let name = if path == "/" { "/data" } else { path };
        let made = nameable(name).and_then(|()| self.virtual_array(id, info));
        let made = made.and_then(|(mut array, treatment)| {
            countable(&array.shape)?;
            if self.make.is_none() {
                array.dtype = crate::element::flat(&array.dtype)?;
            }
            Ok((array, treatment))
        });
        let (mut array, mut treatment) = match made {
            Ok(made) => made,
            Err(reason) => {
                self.refuse(path, reason);
                return self.root(path);
            }
        };
        self.root(path)?;
        let shape = self.continued(path, (id, info), (&mut array, &mut treatment));
        array.path = name.into();
        array.attributes = attributes::of(self.file, id, path, &mut self.report);
        if self.make.is_none() {
            if let Some(names) = crate::element::names(&info.element) {
                array.attributes.entry(crate::element::NAMES).or_insert(names);
            }
            attributes::mark_missing(&mut array);
            self.without_marks((id, info), &shape, (&mut array, &mut treatment));
            self.tell(path, info, (&array, &treatment));
        }
        array.dimensions = self.dimensions((path, name), id, &array.shape);
        self.report.entries.push(Entry { path: path.into(), treatment });
        self.sink.array(&array)
    }

    /// Gives an array that is shorter than an unlimited dimension the length of the dimension, as netCDF shows it, and returns the
    /// shape without dimensions that the type adds. Without a way to do so, the dimension gets another name.
    #[cfg(feature = "hdf5")]
    fn continued(
        &mut self,
        path: &str,
        (id, info): (ObjectId, &ArrayInfo),
        (array, treatment): (&mut VirtualArray, &mut Treatment),
    ) -> Vec<u64> {
        let own = info.shape.clone().unwrap_or_default();
        let dataset =
            sciformats::formats::hdf5::dataset(self.file.source(), id).and_then(std::result::Result::ok);
        let Some(dataset) = dataset.filter(|dataset| self.alone && unlimited::grows(dataset)) else {
            return own;
        };
        let file = self.file;
        let lengths = self.unlimited.get_or_insert_with(|| Lengths::of(file));
        let Some(shape) = lengths.shape(&dataset) else { return own };
        let fill = crate::hdf5::fill(&dataset, info).ok();
        let made = match (&*treatment, fill) {
            (Treatment::Referenced { .. }, Some(fill)) => unlimited::longer(array, &shape, fill),
            _ => None,
        };
        let note = "it is shorter than an unlimited dimension, and has fill values from its end on";
        if let Some(made) = made {
            *array = made;
            self.note(path, note.into());
            return shape;
        }
        let made = unlimited::inlined(self.file, id, info, (&shape, self.options.inline));
        let made = made.and_then(|(made, bytes)| {
            Ok((VirtualArray { dtype: crate::element::flat(&made.dtype)?, ..made }, bytes))
        });
        match made {
            Ok((made, bytes)) => {
                let reason = match &*treatment {
                    Treatment::Inlined { reason, .. } => reason.clone(),
                    _ => "its last chunk ends beyond it".into(),
                };
                (*array, *treatment) = (made, Treatment::Inlined { bytes, reason });
                self.note(path, note.into());
                shape
            }
            Err(_) => own,
        }
    }

    #[cfg(not(feature = "hdf5"))]
    fn continued(
        &mut self,
        _: &str,
        (_, info): (ObjectId, &ArrayInfo),
        _: (&mut VirtualArray, &mut Treatment),
    ) -> Vec<u64> {
        info.shape.clone().unwrap_or_default()
    }

    /// Inlines an array if its missing chunks have a value that is no mark of missing values, and that readers would take for one.
    fn without_marks(
        &self,
        (id, info): (ObjectId, &ArrayInfo),
        shape: &[u64],
        (array, treatment): (&mut VirtualArray, &mut Treatment),
    ) {
        if !(self.alone && array.is_taken_for_a_mark() && matches!(treatment, Treatment::Referenced { .. })) {
            return;
        }
        #[cfg(feature = "hdf5")]
        if let Ok((mut made, bytes)) = unlimited::inlined(self.file, id, info, (shape, self.options.inline)) {
            let reason = format!(
                "readers would take the value {} of its missing chunks for a mark of missing values",
                array.fill
            );
            made.path = std::mem::take(&mut array.path);
            made.attributes = std::mem::take(&mut array.attributes);
            attributes::mark_missing(&mut made);
            (*array, *treatment) = (made, Treatment::Inlined { bytes, reason });
        }
        let _ = (id, info, shape);
    }

    fn note(&mut self, path: &str, what: String) {
        self.report.notes.push((path.into(), what));
    }

    /// Tells which values readers see in another way.
    fn tell(&mut self, path: &str, info: &ArrayInfo, (array, treatment): (&VirtualArray, &Treatment)) {
        if matches!(treatment, Treatment::Inlined { .. }) && crate::element::narrows(&info.element) {
            self.note(path, "its floating-point numbers of another form are numbers of 8 bytes here".into());
        }
        if matches!(treatment, Treatment::Referenced { .. }) && lacks_texts(array) {
            self.note(path, "zarr-python 3.1 shows the texts of its missing records as the digit 0".into());
        }
        if crate::element::is_nested(&info.element) {
            let what = "its records contain records, which zarr-python 3.1 does not read; their fields stand beside the others here, as inner.x";
            self.note(path, what.into());
        }
        if matches!(treatment, Treatment::Inlined { .. }) && crate::element::has_text_field(&info.element) {
            self.note(path, "the texts in its records are bytes of one width here".into());
        }
        if array.is_taken_for_a_mark() {
            let what = format!(
                "its missing chunks have the value {}, which readers of Zarr 2, such as xarray, take for a mark of missing values",
                array.fill
            );
            self.note(path, what);
        }
    }

    /// Returns the references to an array, or its elements.
    fn virtual_array(&self, id: ObjectId, info: &ArrayInfo) -> Result<(VirtualArray, Treatment), String> {
        if let Some(make) = self.make {
            return make(id, info);
        }
        let reason = match self.ranges(id, info) {
            Ok(array) => {
                if lacks_texts(&array)
                    && let Ok((array, bytes)) = inline::array(self.file, id, info, self.options.inline)
                {
                    let reason = "zarr-python 3.1 shows the texts of missing records as a digit".to_owned();
                    return Ok((array, Treatment::Inlined { bytes, reason }));
                }
                let chunks = array.chunks.len();
                return Ok((array, Treatment::Referenced { chunks }));
            }
            Err(reason) => reason,
        };
        match inline::array(self.file, id, info, self.options.inline) {
            Ok((array, bytes)) => Ok((array, Treatment::Inlined { bytes, reason })),
            Err(other) if other == reason => Err(reason),
            Err(other) => Err(format!("{reason}, and {other}")),
        }
    }

    fn ranges(&self, id: ObjectId, info: &ArrayInfo) -> Result<VirtualArray, String> {
        if let Some(reason) = &self.moved {
            return Err(reason.clone());
        }
        #[cfg(feature = "hdf5")]
        if let Some(dataset) = sciformats::formats::hdf5::dataset(self.file.source(), id) {
            let dataset = dataset.map_err(|error| error.to_string())?;
            return crate::hdf5::array(&dataset, info, (self.file, self.options.codecs));
        }
        #[cfg(feature = "blosc2")]
        if self.options.codecs
            && let Some(frame) = sciformats::formats::blosc2::frame(self.file.source())
        {
            let (frame, array) = frame.map_err(|error| error.to_string())?;
            return crate::blosc2::array(frame, array, info, self.file.size());
        }
        match self.file.source().extent(id).map_err(|error| error.to_string())? {
            Some(extent) => extent::array(&extent, info, self.file.size()),
            None => Err("its elements are not stored in one piece that readers of Zarr can decode".into()),
        }
    }

    /// Returns the names of the dimensions. Within a group a name has one length, and dimensions without a name are
    /// named after their length.
    fn dimensions(&mut self, (own, path): (&str, &str), id: ObjectId, shape: &[u64]) -> Vec<String> {
        let named = named_dimensions(self.file, id);
        let group = path.rsplit_once('/').map_or("", |(group, _)| group);
        let mut names: Vec<String> = Vec::new();
        for (axis, &length) in shape.iter().enumerate() {
            let wanted = named.get(axis).filter(|name| !name.is_empty() && !names.contains(name)).cloned();
            let numbers = (0u64..).map(|n| match n {
                0 => format!("dim_{length}"),
                n => format!("dim_{length}_{n}"),
            });
            let name = wanted.into_iter().chain(numbers).find(|name| {
                let free = !names.contains(name);
                let known = self.lengths.entry((group.into(), name.clone()));
                #[cfg(feature = "hdf5")]
                let lengths = self.unlimited.as_ref();
                #[cfg(not(feature = "hdf5"))]
                let lengths = None;
                free && *known.or_insert_with(|| scale((self.file, lengths), group, name).unwrap_or(length))
                    == length
            });
            if let (Some(wanted), Some(name)) = (named.get(axis).filter(|name| !name.is_empty()), &name)
                && wanted != name
            {
                let what = format!(
                    "its dimension {axis} is called {name}, because {wanted} has another length or is already used"
                );
                self.note(own, what);
            }
            names.extend(name);
        }
        names
    }
}

/// Returns whether chunks of records with texts are missing.
fn lacks_texts(array: &VirtualArray) -> bool {
    fn has_text(dtype: &serde_json::Value) -> bool {
        match dtype {
            serde_json::Value::Array(fields) => fields.iter().any(|field| field.get(1).is_some_and(has_text)),
            other => other.as_str().is_some_and(|dtype| dtype.starts_with("|S")),
        }
    }
    let count = extent::count(array.chunks.grid());
    array.dtype.is_array() && has_text(&array.dtype) && count.is_ok_and(|count| count > array.chunks.len())
}

/// Returns whether a dataset only declares a dimension of netCDF-4.
pub(crate) fn is_only_a_dimension(file: &File, id: ObjectId) -> bool {
    #[cfg(feature = "hdf5")]
    if let Some(Ok(dataset)) = sciformats::formats::hdf5::dataset(file.source(), id) {
        const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";
        let text = |name: &str| dataset.attr::<String>(name).ok().flatten().unwrap_or_default();
        return text("CLASS") == "DIMENSION_SCALE" && text("NAME").starts_with(NO_VARIABLE);
    }
    let _ = (file, id);
    false
}

#[cfg(not(feature = "hdf5"))]
type Lengths = ();

/// Returns the length of the dimension that an array of a group has the name of.
fn scale((file, lengths): (&File, Option<&Lengths>), group: &str, name: &str) -> Option<u64> {
    let id = file.resolve(&format!("{group}/{name}")).ok()?;
    #[cfg(feature = "hdf5")]
    if let Some(length) = lengths.and_then(|lengths| lengths.of_scale(file, id)) {
        return Some(length);
    }
    let _ = lengths;
    match file.source().object(id).ok()? {
        Object::Array(info) => match info.shape.as_deref() {
            Some([length]) => Some(*length),
            _ => None,
        },
        _ => None,
    }
}

/// The path of an array in its file, whose root may be the array.
pub(crate) fn nested_path<'p>(file: &File, path: &'p str) -> &'p str {
    if path == "/data" && file.resolve(path).is_err() { "/" } else { path }
}

/// Returns the names that a file gives the dimensions of an array; those without a name are empty.
pub(crate) fn named_dimensions(file: &File, id: ObjectId) -> Vec<String> {
    #[cfg(feature = "hdf5")]
    if let Some(Ok(dataset)) = sciformats::formats::hdf5::dataset(file.source(), id) {
        return sciformats::hdf5_pure::conventions::netcdf_dimensions_of(&dataset).unwrap_or_default();
    }
    let _ = (file, id);
    Vec::new()
}

/// Returns whether NumPy can count the bytes of an array, for which sides of length 0 do not count.
///
/// # Errors
/// The reason why it cannot.
fn countable(shape: &[u64]) -> Result<(), String> {
    // Elements of the types that NumPy has here, texts of a fixed width among them, are seldom wider.
    const WIDEST: u64 = 16;
    let sides = shape.iter().filter(|side| **side > 0);
    let bytes = sides.copied().try_fold(WIDEST, u64::checked_mul);
    match bytes.and_then(|bytes| i64::try_from(bytes).ok()) {
        Some(_) => Ok(()),
        None => Err("NumPy cannot count the bytes of an array of that shape".into()),
    }
}

/// Returns whether a store of Zarr can have an object at a path.
///
/// # Errors
/// The reason why it cannot.
fn nameable(path: &str) -> Result<(), String> {
    let wrong = |name: &str| {
        name.is_empty() || name == "." || name == ".." || name.starts_with(".z") || name == "zarr.json"
    };
    if path != "/" && path.trim_start_matches('/').split('/').any(wrong) {
        return Err("Zarr cannot hold an object of that name".into());
    }
    if path.contains("{{") || path.contains('\\') {
        return Err("readers of references would change that name".into());
    }
    Ok(())
}
