//! Writes HDF5 files for `sciformats.h5`.
//!
//! Changes are pending until they are committed; [`Edit::root`] shows the file with them. Python passes
//! elements that NumPy can represent as their bytes, and others as nested [`Item`]s.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use hdf5_pure::filters::{Filters, SzipCoding};
use hdf5_pure::options::{Bound as Release, FileSpace, Flush, Locking};
use hdf5_pure::structure::FilterDescription;
use hdf5_pure::{
    Address, CreateOptions, EditOptions, Editor, Error, Node as Found, ObjectId, Range, Result, Slab, Writer,
};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sciformats_convert::repack::{CopyOptions, copy};

use super::item::{self, Given};
use super::stored::Stored;
use super::text::Text;
use super::types;
use super::{Home, Node};
use crate::error::raise;

/// A selection: the first element, the number of elements and the step of each dimension.
type Ranges = Vec<(u64, u64, u64)>;

/// A part of a virtual dataset: the file, the dataset, its shape and the part of it, and the part of the
/// virtual dataset.
type Mapped = (Text, Text, Vec<u64>, Ranges, Ranges);

/// A filter: its number, its parameters, and whether a chunk that cannot pass through it is stored without it; `None` means as is
/// usual for the filter.
type Asked = (u16, Vec<i64>, Option<bool>);

/// The value of an attribute: its type, its shape (`None` means a null dataspace), its elements, and the path
/// of its type if that is an object of the file.
type Described<'py> = (Bound<'py, PyAny>, Option<Vec<u64>>, Bound<'py, PyAny>, Option<Text>);

/// The properties of a new dataset.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Settings<'py> {
    datatype: Bound<'py, PyAny>,
    /// `None` means a scalar, or a null dataspace if `null`.
    shape: Option<Vec<u64>>,
    null: bool,
    maximum: Option<Vec<Option<u64>>>,
    layout: String,
    chunks: Option<Vec<u64>>,
    filters: Vec<Asked>,
    fill: Option<Bound<'py, PyAny>>,
    undefined: bool,
    /// When fill values are written, in the numbers of the standard.
    fill_time: Option<u8>,
    external: Vec<(Text, u64, Option<u64>)>,
    mappings: Vec<Mapped>,
    committed: Option<Text>,
    /// Whether the order in which attributes are created is kept; `None` means as in the rest of the file.
    tracked: Option<bool>,
    /// The time of creation, in seconds since 1970.
    time: Option<u32>,
}

struct State {
    editor: Editor,
    /// The objects that were used, by their addresses. They are found after their links were removed.
    known: HashMap<u64, ObjectId>,
    /// Whether new objects keep the order of creation unless they are told otherwise.
    tracked: bool,
}

/// A file that is being written.
#[pyclass(frozen, module = "sciformats._sciformats", name = "Hdf5Editor")]
pub(crate) struct Edit {
    state: Mutex<Option<State>>,
    path: Option<String>,
    /// The process that opened the file.
    process: u32,
}

/// A forked process leaves the file as it is: what is pending, and the lock, belong to the process that opened it.
impl Drop for Edit {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.state.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

/// How a file is opened for changes.
#[derive(Clone, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Opening {
    /// Whether the file is created first.
    create: bool,
    /// Whether this may replace a file.
    overwrite: bool,
    /// The number of bytes before the start of the HDF5 file.
    user_block: usize,
    /// Whether new groups keep the order in which members are created.
    tracked: bool,
    /// The time of creation of the root group of a new file, in seconds since 1970.
    time: Option<u32>,
    /// The oldest release of the C library that reads what is written: `"earliest"`, `"v108"` and so on, or `"latest"`;
    /// `None` leaves the choice to the writer, or to the structures of the file.
    bound: Option<String>,
    /// When the file is locked: `"never"`, `"best-effort"` or `"always"`; `None` asks the environment.
    locking: Option<String>,
    /// How space is allocated in a new file: the strategy, whether free space is stored, the smallest part of it that is, and
    /// the size of a page.
    space: Option<(String, bool, u64, u64)>,
}

fn locking_of(name: Option<&str>) -> PyResult<Option<Locking>> {
    Ok(Some(match name {
        None => return Ok(None),
        Some("never") => Locking::Never,
        Some("best-effort") => Locking::BestEffort,
        Some("always") => Locking::Always,
        Some(other) => return Err(PyValueError::new_err(format!("{other} is no way of locking"))),
    }))
}

fn space_of(strategy: &str, persist: bool, size: u64) -> PyResult<FileSpace> {
    Ok(match (strategy, persist) {
        ("page", tracked) => FileSpace::Paged { size, tracked },
        ("fsm", true) => FileSpace::Tracked,
        ("fsm", false) => FileSpace::Untracked,
        ("aggregate", false) => FileSpace::Aggregated,
        ("none", false) => FileSpace::AppendOnly,
        _ => return Err(PyValueError::new_err(format!("the strategy {strategy} stores no free space"))),
    })
}

/// Returns the release that reads what is written, by the name that h5py has for it.
fn bound_of(name: Option<&str>) -> PyResult<Option<Release>> {
    Ok(Some(match name {
        None => return Ok(None),
        Some("earliest") => Release::Earliest,
        Some("v108") => Release::V18,
        Some("v110") => Release::V110,
        // Release 1.14 brought no structures of its own.
        Some("v112" | "v114") => Release::V112,
        Some("v200" | "latest") => Release::V200,
        Some(other) => return Err(PyValueError::new_err(format!("{other} is no release"))),
    }))
}

/// Opens a file for changes.
#[pyfunction]
pub(crate) fn edit_hdf5(py: Python<'_>, path: PathBuf, opening: Opening) -> PyResult<Edit> {
    let Opening { create, overwrite, user_block, tracked, time, bound, locking, space } = opening;
    let (locking, bound) = (locking_of(locking.as_deref())?, bound_of(bound.as_deref())?);
    let space = match space {
        None => None,
        Some((strategy, persist, threshold, size)) => Some((space_of(&strategy, persist, size)?, threshold)),
    };
    let shown = path.to_string_lossy().into_owned();
    let editor = py.detach(move || {
        if create {
            let mut options = CreateOptions::default().with_track_order(tracked).with_time(time);
            if let Some(bound) = bound {
                options = options.with_bound(bound);
            }
            if let Some((space, threshold)) = space {
                options = options.with_file_space(space).with_free_space_threshold(threshold);
            }
            if user_block > 0 {
                options = options.with_user_block(vec![0; user_block]);
            }
            let new = if overwrite {
                Writer::overwrite_with(&path, &options)?
            } else {
                Writer::create_with(&path, &options)?
            };
            new.finish()?;
        }
        let reading = hdf5_pure::OpenOptions::default()
            .with_registry(sciformats::filters::hdf5())
            .with_external(hdf5_pure::options::External::Anywhere)
            .with_missing(hdf5_pure::options::MissingSources::Filled)
            .with_addresses(true);
        let options = EditOptions::default().with_track_order(tracked).with_reading(reading);
        let options = options.with_bound(bound).with_locking(locking);
        Editor::open_with(path, &options)
    });
    let editor = editor.map_err(|error| raise(&error, Some(&shown)))?;
    let state = State { editor, known: HashMap::new(), tracked };
    Ok(Edit { state: Mutex::new(Some(state)), path: Some(shown), process: std::process::id() })
}

#[pymethods]
#[allow(clippy::needless_pass_by_value, reason = "Python passes values")]
impl Edit {
    /// Returns the root group of the file with all pending changes.
    fn root(&self, py: Python<'_>) -> PyResult<Node> {
        let found = self.change(py, |state| state.editor.file()?.root())?;
        Ok(Node::new(Found::Group(found), Arc::new(Home::written(self.path.clone()))))
    }

    /// Writes all pending changes to the file.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, |state| state.editor.commit())
    }

    /// Writes all pending changes to the file, and closes it.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.process != std::process::id() {
            return Ok(());
        }
        let state = py.detach(|| self.state.lock().unwrap_or_else(PoisonError::into_inner).take());
        let Some(state) = state else { return Ok(()) };
        let closed = py.detach(|| state.editor.close_with(Flush::Ordered));
        closed.map_err(|error| raise(&error, self.path.as_deref()))
    }

    /// Returns whether there is a link at a path, or `None` if this cannot be found out without reading other files or
    /// objects that are not groups.
    fn has_link(&self, py: Python<'_>, path: Text) -> PyResult<Option<bool>> {
        self.change(py, |state| Ok(state.editor.has_link(&path).ok()))
    }

    /// Creates a group and returns its address. Missing groups are created. `tracked` says whether it keeps the order in which
    /// members and attributes are created; `None` means as in the rest of the file. `time` is that of its creation, if it stores it.
    fn group(&self, py: Python<'_>, path: Text, tracked: Option<bool>, time: Option<u32>) -> PyResult<u64> {
        self.change(py, |state| {
            state.making(&path, tracked, time, |state| state.editor.group(&path).map(drop))?;
            let id = state.editor.id(&path)?;
            state.address(id)
        })
    }

    /// Commits a datatype, and returns its address.
    fn datatype(&self, py: Python<'_>, path: Text, described: &Bound<'_, PyAny>) -> PyResult<u64> {
        let datatype = types::parse(described)?;
        self.change(py, |state| {
            let id = state.editor.root().commit(&path, &datatype)?;
            state.address(id)
        })
    }

    /// Creates a dataset and returns its address.
    fn dataset(&self, py: Python<'_>, path: Text, settings: Settings<'_>) -> PyResult<u64> {
        let datatype = types::parse(&settings.datatype)?;
        let fill = settings.fill.as_ref().map(item::of).transpose()?;
        let filters = filters(&settings.filters, &datatype)?;
        let fill_time = settings.fill_time;
        let Settings {
            shape, null, maximum, layout, chunks, undefined, external, mappings, committed, ..
        } = settings;
        let (tracked, time) = (settings.tracked, settings.time);
        let place = path.clone();
        let make = move |state: &mut State| {
            let committed = committed.map(|path| state.editor.id(&path)).transpose()?;
            let mut new = state.editor.dataset(&place).filters(filters);
            new = match committed {
                Some(id) => new.committed(id),
                None => new.datatype(datatype.clone()),
            };
            if let Some(fill) = fill {
                new = new.fill_encoded(|to| item::put(&datatype, &fill, to));
            }
            if let Some(time) = fill_time {
                new = new.fill_time(time);
            }
            if undefined {
                new = new.fill_undefined();
            }
            new = match (layout.as_str(), chunks) {
                ("compact", _) => new.compact(),
                ("contiguous", _) => new.contiguous(),
                ("external", _) => {
                    let files = external.iter().map(|(name, at, size)| (name, *at, *size));
                    new.external(files.collect::<Vec<_>>())
                }
                ("virtual", _) => {
                    let mut new = new.virtual_layout();
                    for (file, dataset, of, source, target) in mappings {
                        let target = slab(shape.as_deref().unwrap_or_default(), target)?;
                        new = new.map(
                            &source_name(&file),
                            &source_name(&dataset),
                            &slab(&of, source)?,
                            &target,
                        );
                    }
                    new
                }
                ("chunked", Some(chunks)) => new.chunks(chunks),
                ("chunked", None) => new.automatic_chunks(),
                _ => new,
            };
            if let Some(shape) = shape {
                new = new.shape(shape);
            }
            if let Some(maximum) = maximum {
                new = new.max_shape(maximum);
            }
            if null { new.write_null() } else { Ok(new.create_encoded()?.id()) }
        };
        self.change(py, move |state| {
            let id = state.making(&path, tracked, time, make)?;
            state.address(id)
        })
    }

    /// Writes elements of a dataset: their bytes, or a list of [`Item`]s. The type is that of the dataset, or its description.
    fn write(
        &self,
        py: Python<'_>,
        object: (u64, Text),
        ranges: Ranges,
        datatype: &Bound<'_, PyAny>,
        elements: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let datatype = match datatype.cast::<Stored>() {
            Ok(stored) => stored.get().0.clone(),
            Err(_) => types::parse(datatype)?,
        };
        let elements = item::of(elements)?;
        self.change(py, |state| {
            let id = state.id(object)?;
            let mut dataset = state.editor.open_id(id)?;
            let slab = slab(dataset.shape(), ranges)?;
            dataset.write_encoded(&slab, |to| item::put_all(&datatype, &elements, to))?;
            Ok(())
        })
    }

    /// Reads elements of a dataset whose elements are bytes, with all pending changes and without writing them. Returns
    /// `None` if they are better read from [`root`](Self::root): if they are many or outside of the file, or if the
    /// object is not at the path any more.
    fn read<'py>(
        &self,
        py: Python<'py>,
        object: (u64, Text),
        ranges: Ranges,
    ) -> PyResult<Option<Bound<'py, PyArray1<u8>>>> {
        /// The largest number of elements that are read without threads.
        const FEW: u64 = 1 << 16;
        let read = |state: &mut State| -> Result<Option<Vec<u8>>> {
            let Ok(id) = state.id(object) else { return Ok(None) };
            let Ok(mut dataset) = state.editor.open_id(id) else { return Ok(None) };
            let slab = slab(dataset.shape(), ranges)?;
            if slab.len() > FEW {
                return Ok(None);
            }
            match dataset.read_raw(&slab) {
                Err(Error::Unsupported { .. }) => Ok(None),
                read => read.map(Some),
            }
        };
        Ok(self.change(py, read)?.map(|bytes| bytes.into_pyarray(py)))
    }

    /// Stores a chunk that has passed through the filters already.
    fn write_chunk(
        &self,
        py: Python<'_>,
        object: (u64, Text),
        chunk: (Vec<u64>, u32),
        bytes: &[u8],
    ) -> PyResult<()> {
        let (scaled, mask) = chunk;
        self.change(py, |state| {
            let id = state.id(object)?;
            state.editor.open_id(id)?.write_chunk(&scaled, mask, bytes)?;
            Ok(())
        })
    }

    /// Changes the shape of a dataset.
    fn resize(&self, py: Python<'_>, object: (u64, Text), shape: Vec<u64>) -> PyResult<()> {
        let shape = shape.into_boxed_slice();
        self.change(py, |state| {
            let id = state.id(object)?;
            state.editor.open_id(id)?.resize(&shape)?;
            Ok(())
        })
    }

    /// Sets an attribute. If `shape` is `None`, it has a null dataspace.
    fn attribute(
        &self,
        py: Python<'_>,
        object: (u64, Text),
        name: Text,
        value: Described<'_>,
    ) -> PyResult<()> {
        let (described, shape, elements, committed) = value;
        let (datatype, elements) = (types::parse(&described)?, item::of(&elements)?);
        self.change(py, |state| {
            let id = state.id(object)?;
            let committed = committed.map(|path| state.editor.id(&path)).transpose()?;
            state.editor.attribute(id, &name, Given { datatype, shape, elements, committed })
        })
    }

    /// Copies an object, which is in this file if `within`, with everything below. `flags` say whether the copy is shallow, follows
    /// soft links, follows external links, and has no attributes.
    fn copy(
        &self,
        py: Python<'_>,
        path: Text,
        object: &Node,
        within: bool,
        flags: (bool, bool, bool, bool),
    ) -> PyResult<()> {
        let (shallow, expand_soft, expand_external, without_attributes) = flags;
        let options = CopyOptions { within, shallow, expand_soft, expand_external, without_attributes };
        let object = object.found()?;
        self.change(py, |state| copy(&object, (&mut state.editor, &path), options))
    }

    /// Removes an attribute.
    fn remove_attribute(&self, py: Python<'_>, path: Text, name: Text) -> PyResult<()> {
        self.change(py, |state| state.editor.object(&path)?.remove_attribute(&name).map(drop))
    }

    /// Renames an attribute.
    fn rename_attribute(&self, py: Python<'_>, path: Text, name: Text, to: Text) -> PyResult<()> {
        self.change(py, |state| state.editor.object(&path)?.rename_attribute(&name, &to).map(drop))
    }

    /// Removes a link.
    fn unlink(&self, py: Python<'_>, path: Text) -> PyResult<()> {
        self.change(py, |state| state.editor.unlink(&path))
    }

    /// Moves a link.
    fn move_link(&self, py: Python<'_>, path: Text, to: Text) -> PyResult<()> {
        self.change(py, |state| state.editor.move_link(&path, &to))
    }

    /// Adds a hard link to an object.
    fn hard_link(&self, py: Python<'_>, path: Text, object: (u64, Text)) -> PyResult<()> {
        self.change(py, |state| {
            let id = state.id(object)?;
            state.editor.root().hard_link(&path, id).map(drop)
        })
    }

    /// Adds a soft link.
    fn soft_link(&self, py: Python<'_>, path: Text, target: Text) -> PyResult<()> {
        self.change(py, |state| state.editor.root().soft_link(&path, &target).map(drop))
    }

    /// Adds an external link.
    fn external_link(&self, py: Python<'_>, path: Text, file: Text, target: Text) -> PyResult<()> {
        self.change(py, |state| state.editor.root().external_link(&path, &file, &target).map(drop))
    }
}

impl Edit {
    /// Does something with the editor. Other Python threads can run meanwhile.
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        how: impl FnOnce(&mut State) -> Result<T> + Send,
    ) -> PyResult<T> {
        if self.process != std::process::id() {
            let problem = "is written by the process that opened it, and not by one that was forked";
            return Err(raise(&Error::usage("file", problem), self.path.as_deref()));
        }
        let done = py.detach(|| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.as_mut().map(how)
        });
        let done = done.ok_or_else(|| PyValueError::new_err("the file is closed"))?;
        done.map_err(|error| raise(&error, self.path.as_deref()))
    }
}

impl State {
    /// Makes an object at a path, which keeps the order of creation and has a time as the caller wishes.
    fn making<T>(
        &mut self,
        path: &Text,
        tracked: Option<bool>,
        time: Option<u32>,
        make: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if tracked.is_none() && time.is_none() {
            return make(self);
        }
        // The wishes do not concern groups on the way.
        let end = path.as_bytes().iter().rposition(|byte| *byte == b'/').filter(|end| *end > 0);
        if let Some(before) = end.and_then(|end| path.as_bytes().get(..end)) {
            self.editor.group(&Text::from(before))?;
        }
        self.editor.set_track_order(tracked.unwrap_or(self.tracked));
        self.editor.set_time(time);
        let made = make(self);
        self.editor.set_track_order(self.tracked);
        self.editor.set_time(None);
        made
    }

    /// Returns an object by its address, or by its path if it was not used before.
    fn id(&mut self, (address, path): (u64, Text)) -> Result<ObjectId> {
        if let Some(&id) = self.known.get(&address) {
            let now = self.editor.reference(id).ok().and_then(|reference| reference.address());
            if now == Some(Address(address)) {
                return Ok(id);
            }
            // Another object may have the place of one that is gone.
            self.known.remove(&address);
        }
        let id = self.editor.id(&path)?;
        if self.address(id)? != address {
            return Err(Error::usage(
                "object",
                format!("is not at {} any more", hdf5_pure::Name::from(path).to_text()),
            ));
        }
        Ok(id)
    }

    fn address(&mut self, id: ObjectId) -> Result<u64> {
        let Some(Address(address)) = self.editor.reference(id)?.address() else {
            return Err(Error::usage("object", "has no address"));
        };
        self.known.insert(address, id);
        Ok(address)
    }
}

fn slab(shape: &[u64], ranges: Ranges) -> Result<Slab> {
    let ranges: Vec<Range> =
        ranges.into_iter().map(|(start, count, step)| Range::new(start, count).by(step)).collect();
    Slab::new(shape, ranges)
}

/// Returns the name of a source, in which callers double a percent sign as the format does.
fn source_name(given: &Text) -> Text {
    let mut bytes = given.as_bytes().iter().peekable();
    let mut name = Vec::new();
    while let Some(&byte) = bytes.next() {
        name.push(byte);
        if byte == b'%' {
            bytes.next_if_eq(&&b'%');
        }
    }
    Text::from(&name[..])
}

/// Returns the filters for their numbers and parameters, in the order of writing.
fn filters(of: &[Asked], datatype: &hdf5_pure::Datatype) -> PyResult<Filters> {
    let mut filters = Filters::new();
    for (id, values, optional) in of {
        let value = |index: usize| values.get(index).copied().unwrap_or_default();
        let unsigned = |value: i64| {
            u32::try_from(value)
                .map_err(|_| PyValueError::new_err(format!("{value} is no parameter of filter {id}")))
        };
        filters = match *id {
            1 => filters.deflate(unsigned(value(0))?),
            2 => filters.shuffle(),
            3 => filters.fletcher32(),
            4 => {
                let is_coded = value(0) & 32 != 0;
                let coding = if is_coded { SzipCoding::Differences } else { SzipCoding::Elements };
                filters.szip(coding, unsigned(value(1))?)
            }
            5 => filters.n_bit(),
            6 if matches!(datatype.class, hdf5_pure::structure::Class::FloatingPoint(_)) => {
                let decimals = i32::try_from(value(0))
                    .map_err(|_| PyValueError::new_err("the number of decimals is too large"))?;
                filters.scale_offset_decimals(decimals)
            }
            6 => filters.scale_offset_bits(unsigned(value(0))?),
            32000 => filters.lzf(),
            // The plug-in of bitshuffle puts its version and the size of an element before what the caller says.
            32008 if values.len() <= 3 => {
                let asked = values.iter().map(|&value| unsigned(value)).collect::<PyResult<Vec<_>>>()?;
                filters.custom(*id, [vec![0, 4, datatype.size], asked].concat())
            }
            _ => filters.custom(*id, values.iter().map(|&value| unsigned(value)).collect::<PyResult<_>>()?),
        };
        if let Some(optional) = *optional {
            let kept = FilterDescription { id: *id, name: None, optional, values: Vec::new() };
            filters = filters.described_as(&kept);
        }
    }
    Ok(filters)
}
