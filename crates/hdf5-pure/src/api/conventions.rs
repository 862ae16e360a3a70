//! Conventions that programs share beyond the format: dimension scales, netCDF-4, and the attributes of `PyTables` and
//! MATLAB.
//!
//! Sources: the HDF5 Dimension Scale Specification, and the appendix "File Format Specifications" of the netCDF users'
//! guide.
//!
//! ```no_run
//! use hdf5_pure::{File, conventions};
//!
//! let file = File::open("weather.nc")?;
//! for dimension in conventions::netcdf_dimensions(&file.root()?)? {
//!     let _ = (dimension.name, dimension.len, dimension.unlimited);
//! }
//! let temperature = file.dataset("/temperature")?;
//! for scales in conventions::scales(&temperature)? {
//!     // One list for each dimension; usually of one dataset.
//!     let _ = scales.first().map(|scale| scale.read::<f64>());
//! }
//! # Ok::<(), hdf5_pure::Error>(())
//! ```

use std::collections::BTreeMap;

use sciformats_core::{Error, Result};

use crate::api::attribute::Attribute;
use crate::api::dataset::Dataset;
use crate::api::file::Node;
use crate::api::group::Group;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::link::Target;
use crate::spec::{Address, Name};

/// Turns the error of a missing attribute into `None`.
fn optional(found: Result<Attribute>) -> Result<Option<Attribute>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the first string of an attribute, or `None` if there is no such attribute.
fn text(found: Result<Attribute>) -> Result<Option<String>> {
    Ok(match optional(found)? {
        Some(found) => found.read::<String>()?.into_iter().next(),
        None => None,
    })
}

/// Returns the name of a dimension scale, which may be empty, or `None` if the dataset is not a dimension scale.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer, conventions};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let hours = file.dataset("hours").write(&[0.0, 6.0, 12.0, 18.0])?;
/// file.make_scale(hours, "time of day")?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(conventions::scale_name(&file.dataset("hours")?)?.as_deref(), Some("time of day"));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
///
/// # Errors
/// Returns an error if its attributes cannot be read.
pub fn scale_name(dataset: &Dataset) -> Result<Option<String>> {
    match text(dataset.attribute("CLASS"))?.as_deref() {
        Some("DIMENSION_SCALE") => Ok(Some(text(dataset.attribute("NAME"))?.unwrap_or_default())),
        _ => Ok(None),
    }
}

/// Returns the dimension scales of a dataset: one list per dimension.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer, conventions};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let hours = file.dataset("hours").write(&[0.0, 12.0])?;
/// file.make_scale(hours, "time of day")?;
/// let temperature = file.dataset("temperature").write(&[281.5, 282.0])?;
/// file.attach_scale(temperature, 0, hours)?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// let scales = conventions::scales(&file.dataset("temperature")?)?;
/// assert_eq!(scales[0][0].read::<f64>()?, [0.0, 12.0]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
///
/// # Errors
/// Returns an error if the attributes of the dataset or the scales cannot be read.
pub fn scales(dataset: &Dataset) -> Result<Vec<Vec<Dataset>>> {
    let rank = dataset.shape().len();
    let Some(list) = optional(dataset.attribute("DIMENSION_LIST"))? else {
        return Ok(vec![Vec::new(); rank]);
    };
    let lists: Vec<Vec<Option<Address>>> = list.read()?;
    let open = |address: Address| dataset.file().dataset_at(address);
    let mut scales = lists
        .into_iter()
        .map(|addresses| addresses.into_iter().flatten().map(open).collect())
        .collect::<Result<Vec<Vec<Dataset>>>>()?;
    scales.resize_with(rank, Vec::new);
    Ok(scales)
}

/// Returns the labels of a dataset's dimensions. A dimension without a label gets an empty string.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer, conventions};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let temperature = file.dataset("temperature").shape([2, 3]).attribute("DIMENSION_LABELS", ["time", ""]);
/// temperature.write(&[281.5; 6])?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(conventions::labels(&file.dataset("temperature")?)?, ["time", ""]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
///
/// # Errors
/// Returns an error if its attributes cannot be read.
pub fn labels(dataset: &Dataset) -> Result<Vec<String>> {
    let rank = dataset.shape().len();
    let mut labels = match optional(dataset.attribute("DIMENSION_LABELS"))? {
        Some(found) => found.read::<String>()?,
        None => Vec::new(),
    };
    labels.resize(rank, String::new());
    Ok(labels)
}

/// A dimension of a netCDF-4 group.
///
/// ```no_run
/// use hdf5_pure::{File, conventions};
///
/// let file = File::open("weather.nc")?;
/// for dimension in conventions::netcdf_dimensions(&file.root()?)? {
///     let more = if dimension.unlimited { ", and may grow" } else { "" };
///     println!("{}: {}{more}", dimension.name, dimension.len);
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetcdfDimension {
    /// The name of the dimension.
    pub name: String,
    /// The length of the dimension. One that can grow is as long as the longest of the variables that use it.
    pub len: u64,
    /// Whether the dimension can grow.
    pub unlimited: bool,
    /// Whether the dataset stands for the dimension alone and holds no values of a variable.
    pub without_variable: bool,
    /// The number of the dimension in the file, if it is stored.
    pub id: Option<i32>,
}

/// The text at the beginning of a scale's name if the scale is not a netCDF variable.
const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";

/// Returns the dimensions that a netCDF-4 group declares, in the order of their numbers.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer, conventions};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let time = file.dataset("time").max_shape([None]).write(&[0.0, 6.0, 12.0])?;
/// file.make_scale(time, "time")?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// let found = conventions::netcdf_dimensions(&file.root()?)?;
/// assert_eq!((found[0].name.as_str(), found[0].len, found[0].unlimited), ("time", 3, true));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
///
/// # Errors
/// Returns an error if the group or its scales cannot be read.
pub fn netcdf_dimensions(group: &Group) -> Result<Vec<NetcdfDimension>> {
    let mut found = Vec::new();
    for link in group.links()? {
        let link = link.map_err(|broken| broken.error)?;
        let Target::Hard(address) = link.target else { continue };
        let Node::Dataset(dataset) = group.file().object_at(address)? else { continue };
        let Some(scale) = scale_name(&dataset)? else { continue };
        let Dataspace::Simple { dimensions, maximum } = dataset.dataspace() else { continue };
        let id = match optional(dataset.attribute("_Netcdf4Dimid"))? {
            Some(id) => id.read::<i32>()?.into_iter().next(),
            None => None,
        };
        let unlimited = maximum.first().is_some_and(Option::is_none);
        let longest = if unlimited { longest_use(&dataset)? } else { 0 };
        found.push(NetcdfDimension {
            name: link.name.to_text().into_owned(),
            len: dimensions.first().copied().unwrap_or_default().max(longest),
            unlimited,
            without_variable: scale.starts_with(NO_VARIABLE),
            id,
        });
    }
    sciformats_core::order::sort_by_key(&mut found, |dimension| dimension.id.unwrap_or(i32::MAX)); // a bound: they come last
    Ok(found)
}

crate::compound! {
    /// A dataset that uses a scale, and the dimension for which it does.
    struct Use {
        dataset: Option<Address>,
        dimension: i64,
    }
}

/// Returns the largest length of the dimensions of other datasets that use a scale.
fn longest_use(scale: &Dataset) -> Result<u64> {
    let Some(uses) = optional(scale.attribute("REFERENCE_LIST"))? else { return Ok(0) };
    let mut longest = 0;
    for Use { dataset, dimension } in uses.read::<Use>()? {
        // A dataset that was removed may still be in the list.
        let user = dataset.and_then(|address| scale.file().dataset_at(address).ok());
        let shape = user.as_ref().map_or(&[][..], Dataset::shape);
        let used = usize::try_from(dimension).ok().and_then(|axis| shape.get(axis));
        longest = longest.max(used.copied().unwrap_or_default());
    }
    Ok(longest)
}

/// Returns the names of the dimensions with these numbers in the groups that contain a dataset, the nearest first. A number that no
/// dimension has gives an empty name.
fn numbered(dataset: &Dataset, numbers: &[i32]) -> Result<Vec<String>> {
    let file = dataset.file();
    let mut names = BTreeMap::new();
    let mut path = file.path_of(dataset.address())?.unwrap_or_default();
    while let Some(end) = path.iter().rposition(|&byte| byte == b'/') {
        path = path.get(..end).unwrap_or_default();
        let group = if path.is_empty() { file.root()? } else { file.group(&Name::from(path))? };
        for dimension in netcdf_dimensions(&group)? {
            if let Some(id) = dimension.id {
                names.entry(id).or_insert(dimension.name);
            }
        }
    }
    Ok(numbers.iter().map(|number| names.get(number).cloned().unwrap_or_default()).collect())
}

/// Returns the names of a netCDF-4 variable's dimensions: those of its scales. A scale itself has its own name as that of its first
/// dimension; the numbers of all of them are in `_Netcdf4Coordinates` if there are several.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer, conventions};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let time = file.dataset("time").write(&[0.0, 6.0])?;
/// file.make_scale(time, "time")?;
/// let temperature = file.dataset("temperature").write(&[281.5, 282.0])?;
/// file.attach_scale(temperature, 0, time)?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(conventions::netcdf_dimensions_of(&file.dataset("temperature")?)?, ["time"]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
///
/// # Errors
/// Returns an error if its attributes cannot be read.
pub fn netcdf_dimensions_of(dataset: &Dataset) -> Result<Vec<String>> {
    let name = |scale: &Dataset| -> Result<String> {
        let path = dataset.file().path_of(scale.address())?.unwrap_or_default();
        let last = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        Ok(String::from_utf8_lossy(last).into_owned())
    };
    let scales = scales(dataset)?;
    if scales.iter().all(Vec::is_empty) && scale_name(dataset)?.is_some() {
        let rank = dataset.shape().len();
        let numbers = match optional(dataset.attribute("_Netcdf4Coordinates"))? {
            Some(found) => found.read::<i32>()?,
            None => Vec::new(),
        };
        if rank > 1 && numbers.len() == rank {
            return numbered(dataset, &numbers);
        }
        let mut names = vec![name(dataset)?];
        names.resize(rank.max(1), String::new());
        return Ok(names);
    }
    scales.iter().map(|scales| scales.first().map_or_else(|| Ok(String::new()), &name)).collect()
}

/// Returns the class that `PyTables` gives an object: `GROUP`, `TABLE`, `ARRAY`, `CARRAY`, `EARRAY`, `VLARRAY`, …
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer, conventions};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let marked = file.dataset("temperature").attribute("CLASS", "ARRAY").attribute("VERSION", "2.4");
/// marked.write(&[281.5, 282.0])?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// let address = file.dataset("temperature")?.address();
/// assert_eq!(conventions::pytables_class(&file, address)?.as_deref(), Some("ARRAY"));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
///
/// # Errors
/// Returns an error if the attributes of the object cannot be read.
pub fn pytables_class(file: &crate::File, object: Address) -> Result<Option<String>> {
    let version = optional(file.attribute_at(object, "VERSION"))?.is_some();
    let class = text(file.attribute_at(object, "CLASS"))?;
    Ok(class.filter(|class| version && class != "DIMENSION_SCALE"))
}

/// Returns the MATLAB class of a variable in a file of version 7.3: `double`, `char`, `cell`, `struct`, …
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer, conventions};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.dataset("temperature").attribute("MATLAB_class", "double").write(&[281.5, 282.0])?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// let address = file.dataset("temperature")?.address();
/// assert_eq!(conventions::matlab_class(&file, address)?.as_deref(), Some("double"));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
///
/// # Errors
/// Returns an error if the attributes of the object cannot be read.
pub fn matlab_class(file: &crate::File, object: Address) -> Result<Option<String>> {
    text(file.attribute_at(object, "MATLAB_class"))
}
