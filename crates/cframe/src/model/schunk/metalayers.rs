//! The metalayers of a super-chunk, of fixed and of variable length.

use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, Result};

use super::SChunk;
use crate::model::chunk::PLAIN;
use crate::model::compress::compress;
use crate::model::frame::{decode_layer, shape_of};
use crate::model::params::Params;
use crate::spec::b2nd::B2nd;
use crate::spec::frame_header::FrameHeader;
use crate::spec::metalayers::{Layer, MAX_MAP, MAX_NAME, map_size};
use crate::spec::value::Value;

/// The largest number of metalayers that other readers accept.
const MAX_METALAYERS: usize = 16;
/// The largest number of metalayers of variable length that the format allows.
const MAX_VLMETA: usize = 8192;

impl SChunk {
    /// Returns the names and bytes of the metalayers, in the order in which they are stored.
    pub fn metalayers(&self) -> impl ExactSizeIterator<Item = (&str, &[u8])> {
        self.header.layers.iter().map(|layer| (layer.name.as_str(), layer.content.as_slice()))
    }

    /// Returns the bytes of a metalayer.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams};
    ///
    /// let mut temperature = Array::new(&ArrayParams::of::<f32>(&[24])?)?;
    /// temperature.schunk_mut().set_metalayer("units", b"K")?;
    /// assert_eq!(temperature.schunk().metalayer("units"), Some(&b"K"[..]));
    /// let names: Vec<&str> = temperature.schunk().metalayers().map(|(name, _)| name).collect();
    /// assert_eq!(names, ["b2nd", "units"]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    pub fn metalayer(&self, name: &str) -> Option<&[u8]> {
        self.metalayers().find(|(layer, _)| *layer == name).map(|(_, content)| content)
    }

    /// Sets a metalayer. If it is new, or if its size changes, the next commit writes the whole frame again.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.set_metalayer("units", b"K")?;
    /// schunk.set_metalayer("units", b"C")?;
    /// assert_eq!(schunk.metalayer("units"), Some(&b"C"[..]));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the name is longer than 31 bytes, or if there are already 16 metalayers.
    pub fn set_metalayer(&mut self, name: &str, content: &[u8]) -> Result<()> {
        set_layer(&mut self.header.layers, name, content.to_vec(), MAX_METALAYERS)?;
        if let Ok(Some(b2nd)) = shape_of(&self.header.layers) {
            self.context.block_shape = b2nd.blocks;
        }
        self.changed = true;
        Ok(())
    }

    /// Sets the shape in each metalayer that contains one: in `b2nd`, and in `caterva`, which is the only one that the first readers
    /// of arrays know.
    ///
    /// # Errors
    /// `Malformed` if a metalayer has other shapes of chunks and blocks than the array.
    pub(crate) fn set_shape(&mut self, array: &B2nd) -> Result<()> {
        for name in ["b2nd", "caterva"] {
            let Some(content) = self.metalayer(name) else { continue };
            let old = locate("metalayer b2nd", 0, content, B2nd::parse)?;
            if (&old.chunks, &old.blocks) != (&array.chunks, &array.blocks) {
                let rule = FaultKind::Rule("have other shapes in b2nd than in caterva");
                return Err(Fault::new("chunks and blocks", rule).at("metalayer b2nd", 0));
            }
            self.set_metalayer(name, &B2nd { shape: array.shape.clone(), ..old }.encode()?)?;
        }
        Ok(())
    }

    /// Removes a metalayer. The next commit writes the whole frame again.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.set_metalayer("units", b"K")?;
    /// schunk.remove_metalayer("units")?;
    /// assert_eq!(schunk.metalayer("units"), None);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotFound`; `Usage` if it is the metalayer that contains the shape of an array.
    pub fn remove_metalayer(&mut self, name: &str) -> Result<()> {
        if matches!(name, "b2nd" | "caterva") {
            return Err(Error::usage(
                "metalayer",
                format!("{name} contains the shape of the array, and cannot be removed"),
            ));
        }
        let at = self.header.layers.iter().position(|layer| layer.name == name);
        self.header.layers.remove(at.ok_or_else(|| Error::not_found("metalayer", name))?);
        self.changed = true;
        Ok(())
    }

    /// Returns the value of a metalayer that is encoded as `MessagePack`.
    ///
    /// ```
    /// use cframe::{Array, ArrayParams, Value};
    ///
    /// let temperature = Array::new(&ArrayParams::of::<f32>(&[24, 365])?)?;
    /// let b2nd = temperature.schunk().metalayer_value("b2nd")?; // version, dimensions, shape, and so on
    /// assert_eq!(b2nd.as_list().and_then(|list| list[1].as_i64()), Some(2));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotFound`; `Malformed` if its bytes are not such a value.
    pub fn metalayer_value(&self, name: &str) -> Result<Value> {
        Value::from_msgpack(self.metalayer(name).ok_or_else(|| Error::not_found("metalayer", name))?)
    }

    /// Sets a metalayer to a value, encoded as `MessagePack`.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.set_metalayer_value("scale", &0.25.into())?;
    /// assert_eq!(schunk.metalayer_value("scale")?.as_f64(), Some(0.25));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`set_metalayer`](Self::set_metalayer) and [`Value::to_msgpack`].
    pub fn set_metalayer_value(&mut self, name: &str, value: &Value) -> Result<()> {
        self.set_metalayer(name, &value.to_msgpack()?)
    }

    /// Returns the names of the metalayers of variable length, in the order in which they are stored.
    pub fn vlmeta_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.trailer.names()
    }

    /// Returns the decompressed bytes of a metalayer of variable length.
    ///
    /// ```
    /// use cframe::{Error, Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.set_vlmeta("history", b"made in May")?;
    /// assert_eq!(schunk.vlmeta("history")?, b"made in May");
    /// assert!(matches!(schunk.vlmeta("station"), Err(Error::NotFound { .. })));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotFound`; those of [`Chunk::decode`](crate::Chunk::decode).
    pub fn vlmeta(&self, name: &str) -> Result<Vec<u8>> {
        decode_layer(self.trailer.layer(name)?, &self.context)
    }

    /// Sets a metalayer of variable length.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.set_vlmeta("history", b"made in May")?;
    /// schunk.set_vlmeta("history", b"made in May, mended in June")?;
    /// assert_eq!(schunk.vlmeta_names().collect::<Vec<_>>(), ["history"]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the name is longer than 31 bytes, or if there are already 8192 of them.
    pub fn set_vlmeta(&mut self, name: &str, content: &[u8]) -> Result<()> {
        let params = Params::new(1).with_codec(crate::Codec::BloscLz);
        let chunk = compress(content, &params, &PLAIN)?;
        set_layer(&mut self.trailer.layers, name, chunk, MAX_VLMETA)?;
        self.changed = true;
        Ok(())
    }

    /// Returns the value of a metalayer of variable length that is encoded as `MessagePack`, as Python programs do it.
    ///
    /// ```
    /// use cframe::{Params, SChunk, Value};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.set_vlmeta_value("stations", &vec![Value::from("north"), Value::from("south")].into())?;
    /// let stations = schunk.vlmeta_value("stations")?;
    /// assert_eq!(stations.as_list().map(<[Value]>::len), Some(2));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`vlmeta`](Self::vlmeta); `Malformed` if its bytes are not such a value.
    pub fn vlmeta_value(&self, name: &str) -> Result<Value> {
        Value::from_msgpack(&self.vlmeta(name)?)
    }

    /// Sets a metalayer of variable length to a value, encoded as `MessagePack`.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.set_vlmeta_value("units", &"K".into())?;
    /// schunk.set_vlmeta_value("offset", &273.15.into())?;
    /// assert_eq!(schunk.vlmeta_value("offset")?.as_f64(), Some(273.15));
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`set_vlmeta`](Self::set_vlmeta) and [`Value::to_msgpack`].
    pub fn set_vlmeta_value(&mut self, name: &str, value: &Value) -> Result<()> {
        self.set_vlmeta(name, &value.to_msgpack()?)
    }

    /// Returns the metalayers of variable length as a dictionary, in the order in which they are stored. Values that are not
    /// `MessagePack` are returned as bytes.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.set_vlmeta_value("units", &"K".into())?;
    /// schunk.set_vlmeta_value("height", &2.into())?;
    /// assert_eq!(schunk.vlmeta_values()?, [("units".to_owned(), "K".into()), ("height".to_owned(), 2.into())]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`vlmeta`](Self::vlmeta).
    pub fn vlmeta_values(&self) -> Result<Vec<(String, Value)>> {
        self.vlmeta_names()
            .map(|name| {
                let bytes = self.vlmeta(name)?;
                Ok((name.to_owned(), Value::from_msgpack(&bytes).unwrap_or(Value::Bytes(bytes))))
            })
            .collect()
    }

    /// Removes a metalayer of variable length.
    ///
    /// ```
    /// use cframe::{Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.set_vlmeta("history", b"made in May")?;
    /// schunk.remove_vlmeta("history")?;
    /// assert_eq!(schunk.vlmeta_names().len(), 0);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotFound`.
    pub fn remove_vlmeta(&mut self, name: &str) -> Result<()> {
        let at = self.trailer.layers.iter().position(|layer| layer.name == name);
        self.trailer.layers.remove(at.ok_or_else(|| Error::not_found("vlmetalayer", name))?);
        self.changed = true;
        Ok(())
    }
}

fn set_layer(layers: &mut Vec<Layer>, name: &str, content: Vec<u8>, most: usize) -> Result<()> {
    if name.len() > MAX_NAME {
        return Err(Error::usage(
            "name",
            format!("has {} bytes, but can have at most {MAX_NAME}", name.len()),
        ));
    }
    if let Some(layer) = layers.iter_mut().find(|layer| layer.name == name) {
        layer.content = content;
        return Ok(());
    }
    if layers.len() >= most {
        return Err(Error::usage(
            "metalayers",
            format!("are already {most} in number, and a frame cannot contain more"),
        ));
    }
    if map_size(layers.iter().map(|layer| &layer.name[..]).chain([name]))? > MAX_MAP {
        return Err(Error::usage("metalayers", "have names of 64 KiB in total, which is too much"));
    }
    layers.push(Layer { name: name.to_owned(), content });
    Ok(())
}

/// Returns the size of the blocks of an array in bytes, which its metalayer determines; `None` if the frame does not contain an array.
pub(super) fn block_bytes(header: &FrameHeader) -> Option<u32> {
    let b2nd = shape_of(&header.layers).ok()??;
    b2nd.blocks
        .iter()
        .try_fold(header.typesize, |bytes, &side| bytes.checked_mul(side))
        .filter(|&bytes| bytes > 0)
}
