//! The access to HDF5 that `sciformats.h5` needs, with links, types and storage that the common model does
//! not contain.

mod chunks;
mod edit;
mod item;
mod key;
mod open;
mod stored;
mod text;
mod types;

pub(crate) use edit::{Edit, edit_hdf5};
pub(crate) use open::{Home, open_hdf5, open_hdf5_url};
pub(crate) use stored::Stored;

use chunks::{Chunk, beyond, chunk_from, first_of, placed};
use text::Text;

use std::sync::{Arc, PoisonError, RwLock};

use hdf5_pure::structure::{CreationOrder, Fill, Layout, StoredChunk, Target};
use hdf5_pure::{Address, Attribute, Dataset, File, Group, Node as Found, Range, Result, Slab};
use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyType};

use crate::element;
use crate::error::raise;
use crate::process;

/// Elements of fewer bytes are copied into memory of Python.
const COPIED: usize = 16 << 10;

/// A group, a dataset or a committed datatype.
#[pyclass(frozen, module = "sciformats._sciformats", name = "Hdf5Node")]
pub(crate) struct Node {
    first: Arc<Found>,
    home: Arc<Home>,
    /// The object as a forked process has found it again.
    anew: RwLock<Option<(u32, Arc<Found>)>>,
}

/// How a file allocates space: the strategy, whether free space is stored, the smallest part of it that is, and the bytes per page.
type Space = (u8, bool, u64, Option<u64>);

#[pymethods]
#[allow(clippy::needless_pass_by_value, reason = "Python passes values")]
impl Node {
    #[getter]
    fn kind(&self) -> &'static str {
        match &*self.first {
            Found::Group(_) => "group",
            Found::Dataset(_) => "dataset",
            Found::Datatype(_) => "datatype",
        }
    }

    #[getter]
    fn address(&self) -> u64 {
        self.place().0
    }

    /// Returns facts about the file: the version of the superblock, and the size of the user block.
    fn file_facts(&self) -> PyResult<(u8, u64)> {
        let file = self.file()?;
        Ok((file.superblock().version, file.base()))
    }

    /// Returns the object at `path`, relative to this group.
    fn object(&self, py: Python<'_>, path: Text) -> PyResult<Self> {
        let group = self.group()?;
        self.node(py.detach(|| group.object(&path)))
    }

    /// Returns the dataset as it is in the file now, to which another program may have written. It stays as it is if the file is in
    /// memory or behind a URL.
    fn refreshed(&self, py: Python<'_>) -> PyResult<Self> {
        let mut dataset = self.dataset()?;
        if self.home.has_path() {
            self.ok(py.detach(|| dataset.refresh()))?;
        }
        let found = Self::new(Found::Dataset(dataset), Arc::clone(&self.home));
        let process = process::current();
        if self.home.process != process {
            *found.anew.write().unwrap_or_else(PoisonError::into_inner) =
                Some((process, Arc::clone(&found.first)));
        }
        Ok(found)
    }

    /// Returns the object at an address of the file.
    fn object_at(&self, py: Python<'_>, address: u64) -> PyResult<Self> {
        let file = self.file()?;
        self.node(py.detach(|| file.object_at(Address(address))))
    }

    /// Returns whether the object is in the file of another object, and not in one to which an external link leads.
    fn is_with(&self, other: &Self) -> PyResult<bool> {
        Ok(self.file()?.is_same(&other.file()?))
    }

    /// Returns a path of hard links to an address.
    fn path_of(&self, py: Python<'_>, address: u64) -> PyResult<Option<Text>> {
        let file = self.file()?;
        let found = py.detach(|| file.path_of(Address(address)).map(|path| path.map(<[u8]>::to_vec)));
        Ok(self.ok(found)?.map(|path| Text::from(&path[..])))
    }

    /// Returns the links of a group: the name, kind, target and creation order of each.
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let group = self.group()?;
        let list = PyList::empty(py);
        for link in self.ok(py.detach(|| group.links()))? {
            match link {
                Ok(link) => {
                    list.append((Text::from(&link.name), target(py, link.target)?, link.creation_order))?;
                }
                Err(broken) => {
                    let name = broken.name.as_ref().map(Text::from);
                    let error = raise(&broken.error, self.home.shown.as_deref()).into_value(py);
                    list.append((name.unwrap_or_default(), ("damaged", error), py.None()))?;
                }
            }
        }
        Ok(list)
    }

    /// Returns one link of a group.
    fn link<'py>(&self, py: Python<'py>, name: Text) -> PyResult<Option<Bound<'py, PyAny>>> {
        let group = self.group()?;
        let link = self.ok(py.detach(|| group.link(&name)))?;
        link.map(|link| target(py, link.target)).transpose()
    }

    /// Returns the attributes: the name, type, shape, whether the elements are bytes of that type, and the
    /// elements of each. If an attribute cannot be read, there is an exception in place of its elements.
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let (file, address) = (self.file()?, self.place());
        let list = PyList::empty(py);
        let attributes = self.ok(py.detach(|| file.attributes_at(address)))?;
        // Dense storage numbers all attributes, but the numbers only count if the object tracks the order.
        let numbered = attributes.iter().any(|attribute| attribute.creation_order().is_some());
        let tracked = numbered && {
            let properties = self.ok(py.detach(|| file.creation_properties(address)))?;
            properties.attribute_order != CreationOrder::Unknown
        };
        for attribute in attributes {
            let name = attribute.name().map(Text::from).unwrap_or_default();
            let order = attribute.creation_order().filter(|_| tracked);
            match self.attribute(py, &attribute) {
                Ok((datatype, shape, direct, data)) => {
                    list.append((name, datatype, shape, direct, data, order))?;
                }
                Err(error) => {
                    list.append((name, py.None(), py.None(), false, error.into_value(py), order))?;
                }
            }
        }
        Ok(list)
    }

    /// Returns the type, the shape, whether the elements are bytes of that type, and the elements of one attribute. The result
    /// is `None` if there is no such attribute.
    fn attribute_named<'py>(&self, py: Python<'py>, name: Text) -> PyResult<Option<Parts<'py>>> {
        let (file, address) = (self.file()?, self.place());
        let attributes = self.ok(py.detach(|| file.attributes_at(address)))?;
        let named = |of: &&Attribute| of.name().is_some_and(|found| found.as_bytes() == name.as_bytes());
        attributes.iter().find(named).map(|attribute| self.attribute(py, attribute)).transpose()
    }

    /// Returns whether there is an attribute of this name, which may be damaged.
    fn has_attribute(&self, py: Python<'_>, name: Text) -> PyResult<bool> {
        let (file, address) = (self.file()?, self.place());
        let attributes = self.ok(py.detach(|| file.attributes_at(address)))?;
        Ok(attributes.iter().any(|of| of.name().is_some_and(|found| found.as_bytes() == name.as_bytes())))
    }

    /// Returns the number of hard links, and the comment.
    fn info(&self, py: Python<'_>) -> PyResult<(u32, Option<Text>)> {
        let (file, address) = (self.file()?, self.place());
        let info = self.ok(py.detach(|| file.object_info(address)))?;
        Ok((info.references, info.comment.as_ref().map(Text::from)))
    }

    /// Returns when the object was modified, in seconds since 1970, if this is stored.
    fn modified(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        let (file, address) = (self.file()?, self.place());
        Ok(self.ok(py.detach(|| file.object_info(address)))?.modified)
    }

    /// Returns how the file allocates space: the strategy, whether free space is stored, the smallest part of it that is, and the
    /// number of bytes per page. The result is `None` if the file says nothing about it.
    fn file_space(&self) -> PyResult<Option<Space>> {
        let file = self.file()?;
        Ok(file.file_space().map(|info| (info.strategy, info.persist, info.threshold, info.page_size)))
    }

    /// Returns whether the object keeps the order in which its attributes, and its links, were created: 0 if not, 1 if it does,
    /// and 3 if it has an index by it.
    fn orders(&self, py: Python<'_>) -> PyResult<(u8, u8)> {
        let (file, address) = (self.file()?, self.place());
        let properties = self.ok(py.detach(|| file.creation_properties(address)))?;
        let number = |order: CreationOrder| match order {
            CreationOrder::Unknown => 0,
            CreationOrder::Tracked => 1,
            CreationOrder::Indexed => 3,
        };
        let links = properties.links.map_or(CreationOrder::Unknown, |links| links.order);
        Ok((number(properties.attribute_order), number(links)))
    }

    /// Returns the type of a dataset's elements, or a committed datatype.
    fn datatype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let raise = |error: &hdf5_pure::Error| raise(error, self.home.shown.as_deref());
        match &*self.found()? {
            Found::Datatype(committed) => types::describe(py, &self.ok(committed.datatype())?, &raise),
            _ => types::describe(py, self.dataset()?.datatype(), &raise),
        }
    }

    /// Returns the type of a dataset's elements for those who write them.
    fn stored_type(&self) -> PyResult<Stored> {
        Ok(Stored(self.dataset()?.datatype().clone()))
    }

    /// Returns whether [`read`](Self::read) returns the stored bytes of elements.
    #[getter]
    fn direct(&self) -> PyResult<bool> {
        Ok(is_plain(self.dataset()?.datatype()))
    }

    /// Returns the shape and the maximum shape (`None` means unlimited); the result is `None` for a null
    /// dataspace.
    fn extent(&self) -> PyResult<Option<Extent>> {
        use hdf5_pure::structure::Dataspace;
        Ok(match self.dataset()?.dataspace() {
            Dataspace::Simple { dimensions, maximum } => Some((dimensions.clone(), maximum.clone())),
            Dataspace::Scalar => Some((Vec::new(), Vec::new())),
            Dataspace::Null => None,
        })
    }

    /// Returns whether the type of a dataset's elements is an object of the file.
    #[getter]
    fn is_committed(&self) -> PyResult<bool> {
        Ok(self.ok(self.dataset()?.committed())?.is_some())
    }

    /// Returns the address of the type of an attribute if it is an object of the file.
    fn attribute_committed(&self, py: Python<'_>, name: Text) -> PyResult<Option<u64>> {
        let (file, address) = (self.file()?, self.place());
        let found = py.detach(|| {
            let attributes = file.attributes_at(address)?;
            let named = |of: &&Attribute| of.name().is_some_and(|found| found.as_bytes() == name.as_bytes());
            attributes.iter().find(named).map(Attribute::committed).transpose()
        });
        Ok(self.ok(found)?.flatten().map(|address| address.0))
    }

    /// Returns the file and the dataset of each part of a virtual dataset.
    fn mappings(&self) -> PyResult<Vec<(Text, Text)>> {
        let mappings = self.ok(self.dataset()?.mappings())?;
        let both = mappings.iter().map(|mapping| (Text::from(&mapping.file), Text::from(&mapping.dataset)));
        Ok(both.collect())
    }

    /// Returns when space is allocated, and when fill values are written, in the numbers of the standard.
    fn times(&self) -> PyResult<(u8, u8)> {
        let dataset = self.dataset()?;
        let fill = self.ok(dataset.fill_value())?;
        Ok((fill.allocation_time, fill.write_time))
    }

    /// Returns how the elements are stored: a word, and the shape of a chunk or the offset of the first byte
    /// in the file.
    fn layout<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let dataset = self.dataset()?;
        let place = |address: Address| placed(dataset.file().base(), address);
        match self.ok(dataset.layout())? {
            Layout::Compact(data) => ("compact", data.len()).into_bound_py_any(py),
            Layout::Contiguous { address } => {
                ("contiguous", address.map(place).transpose()?).into_bound_py_any(py)
            }
            Layout::Chunked(chunked) => ("chunked", chunked.dimensions.clone()).into_bound_py_any(py),
            Layout::Virtual(_) => ("virtual", py.None()).into_bound_py_any(py),
        }
    }

    /// Returns the files that contain the elements: the name, the offset, and the number of bytes (`None`
    /// means unlimited) of each.
    fn external(&self) -> PyResult<Vec<(Text, u64, Option<u64>)>> {
        let files = self.ok(self.dataset()?.external_files())?;
        Ok(files.into_iter().map(|(name, at, size)| (Text::from(&name), at, size)).collect())
    }

    /// Returns the filters in the order of writing: the number, the name, whether it is optional, and the
    /// parameters of each.
    fn filters(&self) -> PyResult<Vec<Filter>> {
        let dataset = self.dataset()?;
        let filters = &self.ok(dataset.filters())?.filters;
        let one = |filter: &hdf5_pure::structure::FilterDescription| {
            (filter.id, filter.name.as_ref().map(Text::from), filter.optional, filter.values.clone())
        };
        Ok(filters.iter().map(one).collect())
    }

    /// Returns the fill value in the form of [`read`](Self::read); `None` if it is zero.
    fn fill<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let dataset = self.dataset()?;
        let Fill::Value(bytes) = &self.ok(dataset.fill_value())?.value else { return Ok(None) };
        if types::is_direct(dataset.datatype()) {
            let mut bytes = bytes.clone();
            stored::unpad(dataset.datatype(), &mut bytes);
            return Ok(Some(bytes.into_pyarray(py).into_any()));
        }
        let canonical = self.ok(dataset.fill_canonical())?;
        canonical.map(|bytes| self.objects(py, dataset.datatype(), &bytes)).transpose()
    }

    /// Returns the stored chunks: the indices of the first element, the filters that were skipped, the offset
    /// in the file, and the number of bytes of each.
    fn chunks(&self, py: Python<'_>) -> PyResult<Vec<Chunk>> {
        let dataset = self.dataset()?;
        let Layout::Chunked(chunked) = self.ok(dataset.layout())? else { return Ok(Vec::new()) };
        let chunks =
            py.detach(|| dataset.chunks().and_then(|chunks| chunks.into_iter().collect::<Result<Vec<_>>>()));
        let base = dataset.file().base();
        let one = |chunk: StoredChunk| {
            let corner = first_of(&chunk, &chunked.dimensions).ok_or_else(beyond)?;
            Ok((corner, chunk.filter_mask, placed(base, chunk.address)?, chunk.size))
        };
        self.ok(chunks)?.into_iter().map(one).collect()
    }

    /// Returns the stored bytes of the chunk that begins at the element `corner`, and the filters that were
    /// skipped.
    fn chunk<'py>(&self, py: Python<'py>, corner: Vec<u64>) -> PyResult<Option<(u32, Bound<'py, PyBytes>)>> {
        let dataset = self.dataset()?;
        let found = py.detach(|| {
            let Some(chunk) = chunk_from(&dataset, &corner)? else { return Ok(None) };
            let bytes = dataset.chunk_raw(&chunk)?.into_owned();
            Ok(Some((chunk.filter_mask, bytes)))
        });
        Ok(self.ok(found)?.map(|(mask, bytes)| (mask, PyBytes::new(py, &bytes))))
    }

    /// Returns the chunk that begins at the element `corner`, in the form of [`chunks`](Self::chunks).
    fn chunk_info(&self, py: Python<'_>, corner: Vec<u64>) -> PyResult<Option<Chunk>> {
        let dataset = self.dataset()?;
        let found = self.ok(py.detach(|| chunk_from(&dataset, &corner)))?;
        let base = dataset.file().base();
        let one =
            |chunk: StoredChunk| Ok((corner, chunk.filter_mask, placed(base, chunk.address)?, chunk.size));
        found.map(one).transpose()
    }

    /// Reads the selected elements: their bytes if [`direct`](Self::direct), and otherwise a list of objects,
    /// in which texts are `bytes` and references are paths.
    fn read<'py>(&self, py: Python<'py>, ranges: Vec<(u64, u64, u64)>) -> PyResult<Bound<'py, PyAny>> {
        let dataset = self.dataset()?;
        let slab = self.ok(selected(&dataset, ranges))?;
        if types::is_direct(dataset.datatype()) {
            let mut bytes = self.ok(py.detach(|| dataset.read_raw(&slab)))?;
            stored::unpad(dataset.datatype(), &mut bytes);
            return Ok(bytes.into_pyarray(py).into_any());
        }
        let bytes = self.ok(py.detach(|| dataset.read_canonical(&slab)))?;
        self.objects(py, dataset.datatype(), &bytes)
    }

    /// Reads the elements that integers, slices and an ellipsis select, as an array of the type `dtype`, or as a scalar if
    /// integers select a single one. Returns `None` if the elements are not bytes of that type, or the key is one for which
    /// Python has to find out more.
    fn take<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        dtype: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.found()?;
        let Found::Dataset(dataset) = &*found else { return Ok(None) };
        if !is_plain(dataset.datatype()) {
            return Ok(None);
        }
        let Some(key::Selected { ranges, shape }) = key::selected(key, dataset.shape())? else {
            return Ok(None);
        };
        let slab = self.ok(Slab::new(dataset.shape(), ranges))?;
        let bytes = self.ok(py.detach(|| dataset.read_raw(&slab)))?;
        if bytes.len() < COPIED {
            // To copy a few elements takes less time than to make an array of bytes and two others of it.
            static ARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            let single = shape.is_empty();
            let shape = pyo3::types::PyTuple::new(py, if single { vec![1] } else { shape })?;
            let array = ARRAY.import(py, "numpy", "ndarray")?;
            let elements = array.call1((shape, dtype, PyByteArray::new(py, &bytes)))?;
            return if single { elements.get_item(0).map(Some) } else { Ok(Some(elements)) };
        }
        let elements = bytes.into_pyarray(py).call_method1(pyo3::intern!(py, "view"), (dtype,))?;
        if shape.is_empty() {
            return elements.get_item(0).map(Some);
        }
        if shape.len() == 1 {
            return Ok(Some(elements));
        }
        let shape = pyo3::types::PyTuple::new(py, shape)?;
        elements.call_method1(pyo3::intern!(py, "reshape"), (shape,)).map(Some)
    }

    /// Does the same as `read`, but reads into the bytes of an existing array. This is only possible if elements are bytes.
    fn read_into(
        &self,
        py: Python<'_>,
        ranges: Vec<(u64, u64, u64)>,
        out: &Bound<'_, PyArray1<u8>>,
    ) -> PyResult<()> {
        let dataset = self.dataset()?;
        let slab = self.ok(selected(&dataset, ranges))?;
        let mut out = out
            .try_readwrite()
            .map_err(|_| PyValueError::new_err("out is read-only, or in use by another thread"))?;
        let out = out.as_slice_mut()?;
        self.ok(py.detach(|| dataset.read_raw_into(&slab, out)))
    }
}

impl Node {
    pub(crate) fn new(found: Found, home: Arc<Home>) -> Self {
        Self { first: Arc::new(found), home, anew: RwLock::new(None) }
    }

    /// Returns the object. A forked process finds it again in a file of its own.
    pub(super) fn found(&self) -> PyResult<Arc<Found>> {
        let process = process::current();
        if self.home.process == process {
            return Ok(Arc::clone(&self.first));
        }
        if let Some((of, found)) = &*self.anew.read().unwrap_or_else(PoisonError::into_inner)
            && *of == process
        {
            return Ok(Arc::clone(found));
        }
        let Some(file) = self.home.again()? else { return Ok(Arc::clone(&self.first)) };
        let found = Arc::new(self.ok(file.object_at(self.place()))?);
        *self.anew.write().unwrap_or_else(PoisonError::into_inner) = Some((process, Arc::clone(&found)));
        Ok(found)
    }

    fn place(&self) -> Address {
        match &*self.first {
            Found::Group(group) => group.address(),
            Found::Dataset(dataset) => dataset.address(),
            Found::Datatype(committed) => committed.address(),
        }
    }

    fn file(&self) -> PyResult<File> {
        Ok(match &*self.found()? {
            Found::Group(group) => group.file().clone(),
            Found::Dataset(dataset) => dataset.file().clone(),
            Found::Datatype(committed) => committed.file().clone(),
        })
    }

    fn group(&self) -> PyResult<Group> {
        match &*self.found()? {
            Found::Group(group) => Ok(group.clone()),
            _ => Err(PyValueError::new_err("the object is not a group")),
        }
    }

    fn dataset(&self) -> PyResult<Dataset> {
        match &*self.found()? {
            Found::Dataset(dataset) => Ok(dataset.clone()),
            _ => Err(PyValueError::new_err("the object is not a dataset")),
        }
    }

    fn ok<T>(&self, result: Result<T>) -> PyResult<T> {
        result.map_err(|error| raise(&error, self.home.shown.as_deref()))
    }

    fn node(&self, found: Result<Found>) -> PyResult<Self> {
        Ok(Self::new(self.ok(found)?, Arc::clone(&self.home)))
    }

    fn attribute<'py>(&self, py: Python<'py>, of: &Attribute) -> PyResult<Parts<'py>> {
        let datatype = self.ok(of.datatype())?;
        let shape = self.ok(of.dataspace())?.extent().map(<[u64]>::to_vec);
        let raise = |error: &hdf5_pure::Error| raise(error, self.home.shown.as_deref());
        let described = types::describe(py, datatype, &raise)?;
        let direct = types::is_direct(datatype);
        let data = if shape.is_none() {
            py.None().into_bound(py)
        } else if direct {
            let mut bytes = self.ok(of.raw())?.to_vec();
            stored::unpad(datatype, &mut bytes);
            bytes.into_pyarray(py).into_any()
        } else {
            self.objects(py, datatype, &self.ok(of.canonical())?)?
        };
        Ok((described, shape, direct, data))
    }

    fn objects<'py>(
        &self,
        py: Python<'py>,
        datatype: &hdf5_pure::Datatype,
        bytes: &[u8],
    ) -> PyResult<Bound<'py, PyAny>> {
        let of = sciformats::formats::hdf5::element(&self.ok(datatype.element_type())?);
        let raise = |error: &hdf5_pure::Error| raise(error, self.home.shown.as_deref());
        Ok(element::objects(py, &of, bytes, element::Text::Bytes, &raise)?.into_any())
    }
}

/// The type and the shape of an attribute, whether its elements are bytes of that type, and the elements.
type Parts<'py> = (Bound<'py, PyAny>, Option<Vec<u64>>, bool, Bound<'py, PyAny>);

/// A shape and the maximum shape; `None` means unlimited.
type Extent = (Vec<u64>, Vec<Option<u64>>);

/// The number and the name of a filter, whether it is optional, and its parameters.
type Filter = (u16, Option<Text>, bool, Vec<u32>);

/// Returns whether the stored bytes of elements are those that NumPy has.
fn is_plain(datatype: &hdf5_pure::Datatype) -> bool {
    types::is_direct(datatype) && !stored::is_padded(datatype)
}

fn selected(dataset: &Dataset, ranges: Vec<(u64, u64, u64)>) -> Result<Slab> {
    let ranges: Vec<Range> =
        ranges.into_iter().map(|(start, count, step)| Range::new(start, count).by(step)).collect();
    Slab::new(dataset.shape(), ranges)
}

/// Returns the target of a link.
fn target(py: Python<'_>, of: Target) -> PyResult<Bound<'_, PyAny>> {
    match of {
        Target::Hard(address) => ("hard", address.0).into_bound_py_any(py),
        Target::Soft(path) => ("soft", Text::from(&path)).into_bound_py_any(py),
        Target::External { file, path } => {
            ("external", (Text::from(&file), Text::from(&path))).into_bound_py_any(py)
        }
        Target::User { class, .. } => ("user", class).into_bound_py_any(py),
    }
}
