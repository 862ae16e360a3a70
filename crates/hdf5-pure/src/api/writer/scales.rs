//! Dimension scales: datasets that give the indices of other datasets a meaning, as the H5DS specification defines
//! them.

use std::collections::BTreeMap;

use sciformats_core::arith::{fit, present};
use sciformats_core::{Error, Result};

use crate::api::writer::Writer;
use crate::api::writer::value::{Raw, Value};
use crate::object::id::ObjectId;
use crate::spec::message::datatype::{CharacterSet, Class, Datatype, Padding};
use crate::value::references::Reference;
use crate::value::store::{Encoder, Store};

/// The dimension scales of a file that is being written.
#[derive(Debug, Default)]
pub(super) struct Scales {
    /// The scales and their names.
    names: BTreeMap<ObjectId, String>,
    /// The dataset, the dimension and the scale of each attachment, in the order of the calls.
    attached: Vec<(ObjectId, usize, ObjectId)>,
}

/// A dataset and a dimension that use a scale.
struct Use {
    dataset: Reference,
    dimension: i32,
}

impl Store for Use {
    fn datatype() -> Datatype {
        Datatype::compound([("dataset", Reference::datatype()), ("dimension", i32::datatype())])
    }

    fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()> {
        values.iter().try_for_each(|value| {
            Reference::encode(&[value.dataset], to)?;
            i32::encode(&[value.dimension], to)
        })
    }
}

/// Returns a string with its terminating NUL, as the C library stores the attributes of scales.
fn terminated(text: &str) -> Result<impl Value> {
    struct Terminated(Vec<u8>, u32);
    impl Value for Terminated {
        fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
            let charset = if self.0.is_ascii() { CharacterSet::Ascii } else { CharacterSet::Utf8 };
            let class = Class::String { padding: Padding::NullTerminated, charset };
            let datatype = Datatype { version: 1, size: self.1, class };
            Raw { datatype, shape: Vec::new(), bytes: &self.0 }.store(to)
        }
    }
    let bytes = [text.as_bytes(), &[0]].concat();
    let size = u32::try_from(bytes.len())
        .map_err(|_| Error::usage("name", "is too long: it must have less than 2^32 bytes"))?;
    Ok(Terminated(bytes, size))
}

impl Writer {
    /// Makes a dataset a dimension scale of this name.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer, conventions};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let hours = file.dataset("hours").attribute("units", "h").write(&[0.0, 6.0, 12.0, 18.0])?;
    /// file.make_scale(hours, "time of day")?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(conventions::scale_name(&file.dataset("hours")?)?.as_deref(), Some("time of day"));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the object is not a dataset of this file.
    pub fn make_scale(&mut self, dataset: ObjectId, name: &str) -> Result<()> {
        self.tree.recalled(self.tree.owner.find(dataset)?)?;
        self.scales.names.insert(dataset, name.to_owned());
        Ok(())
    }

    /// Attaches `scale` to one dimension of `dataset`. A dimension can have several scales.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer, conventions};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let hours = file.dataset("hours").write(&[0.0, 12.0])?;
    /// file.make_scale(hours, "")?;
    /// let temperature = file.dataset("temperature").shape([2, 3]).write(&[281.5; 6])?;
    /// file.attach_scale(temperature, 0, hours)?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// let scales = conventions::scales(&file.dataset("temperature")?)?;
    /// assert_eq!((scales[0].len(), scales[1].len()), (1, 0));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the dataset has no such dimension or is a scale itself, or if `scale` is not a
    /// dimension scale.
    pub fn attach_scale(&mut self, dataset: ObjectId, dimension: usize, scale: ObjectId) -> Result<()> {
        if dimension >= self.tree.recalled(self.tree.owner.find(dataset)?)?.shape().len() {
            return Err(Error::usage("dimension", "is not a dimension of the dataset"));
        }
        if !self.scales.names.contains_key(&scale) || self.scales.names.contains_key(&dataset) {
            return Err(Error::usage(
                "scale",
                "is not a dimension scale, or the dataset that it is attached to is one itself",
            ));
        }
        self.scales.attached.push((dataset, dimension, scale));
        Ok(())
    }

    /// Writes the attributes of the scales and of the datasets that they are attached to.
    pub(super) fn write_scales(&mut self) -> Result<()> {
        let Scales { names, attached } = std::mem::take(&mut self.scales);
        let mut lists: BTreeMap<ObjectId, Vec<Vec<Reference>>> = BTreeMap::new();
        let mut uses: BTreeMap<ObjectId, Vec<Use>> = BTreeMap::new();
        for (dataset, dimension, scale) in attached {
            let place =
                Use { dataset: self.reference(dataset)?, dimension: fit(dimension, "dimension of a scale")? };
            uses.entry(scale).or_default().push(place);
            let rank = self.tree.recalled(self.tree.owner.find(dataset)?)?.shape().len();
            let reference = self.reference(scale)?;
            let list = lists.entry(dataset).or_insert_with(|| vec![Vec::new(); rank]);
            present(list.get_mut(dimension), "dimension of a scale")?.push(reference);
        }
        for (scale, name) in names {
            self.attribute(scale, "CLASS", terminated("DIMENSION_SCALE")?)?;
            self.attribute(scale, "NAME", terminated(&name)?)?;
            if let Some(uses) = uses.remove(&scale) {
                self.attribute(scale, "REFERENCE_LIST", uses)?;
            }
        }
        lists.into_iter().try_for_each(|(dataset, list)| self.attribute(dataset, "DIMENSION_LIST", list))
    }
}
