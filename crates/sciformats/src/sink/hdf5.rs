//! Writing HDF5: numbers and strings slab by slab; elements of other types are held in memory while their array is
//! written.

use std::ops::ControlFlow;
use std::path::Path;

use hdf5_pure::{DatasetBuilder, Datatype, Empty, Encoder, Filters, ObjectId, Store, Writer};
use sciformats_core::Error;

use super::{Elements, Handle, New, Place, Sink, WriteOptions, refused, rules};
use crate::model::{AttributeValue, Datum, Decoder, ElementType, Name};
use crate::{Format, Result};

struct Writing {
    writer: Writer,
    options: WriteOptions,
    /// The path of each object, and its id.
    objects: Vec<(String, ObjectId)>,
}

pub(super) fn create(path: &Path, options: &WriteOptions) -> Result<Box<dyn Sink>> {
    filters(options)?;
    let writer = Writer::create(path)?;
    Ok(Box::new(Writing { writer, options: options.clone(), objects: Vec::new() }))
}

/// The filters that a word and a level name. Bytes of numbers are shuffled before they are compressed.
fn filters(options: &WriteOptions) -> Result<Option<Filters>> {
    let level = |default: u32| options.level.unwrap_or(default);
    let signed = |default: u32| i32::try_from(level(default)).unwrap_or(i32::MAX);
    let new = || Filters::new().shuffle();
    Ok(Some(match options.filter.as_deref() {
        None | Some("none") => return Ok(None),
        Some("zlib" | "gzip" | "deflate") => new().deflate(level(4)),
        Some("lzf") => new().lzf(),
        Some("bzip2") => new().bzip2(level(9)),
        Some("lz4") => new().lz4(),
        Some("zstd") => new().zstd(signed(3)),
        Some("shuffle") => new(),
        Some("fletcher32") => Filters::new().fletcher32(),
        Some(other) => {
            let problem =
                format!("{other} is none of none, zlib, lzf, bzip2, lz4, zstd, shuffle, fletcher32");
            return Err(Error::usage("filter", problem));
        }
    }))
}

impl Writing {
    fn object(&self, Handle(id): Handle) -> Result<&(String, ObjectId)> {
        let object = usize::try_from(id).ok().and_then(|id| self.objects.get(id));
        object.ok_or_else(|| Error::usage("place", "is in no group"))
    }

    fn path(&self, place: Place<'_>) -> Result<String> {
        let Place::In(parent, name) = place else {
            return Err(refused(Format::Hdf5, "anything but a group at the root"));
        };
        let name = text(name)?;
        if name.is_empty() || name == "." || name.contains(['/', '\0']) {
            return Err(refused(Format::Hdf5, format!("an object named {name:?}")));
        }
        let parent = &self.object(parent)?.0;
        Ok(if parent == "/" { format!("/{name}") } else { format!("{parent}/{name}") })
    }

    fn array(&mut self, path: &str, elements: &Elements) -> Result<ObjectId> {
        rules(Format::Hdf5)?.check(elements)?;
        let mut dataset = self.writer.dataset(path);
        let Some(shape) = elements.shape() else {
            return dataset.datatype(datatype(elements.element())?).write_null();
        };
        if shape.is_empty() {
            return scalar(dataset, elements);
        }
        let chunks = self.options.chunks.as_ref().or(elements.info().chunks.as_ref());
        let mut elements = elements.clone();
        if self.options.chunks.is_some() && chunks.is_some_and(|chunks| chunks.len() > shape.len()) {
            return Err(Error::usage(
                "chunks",
                format!("have more dimensions than {path}, which has {}", shape.len()),
            ));
        }
        // Chunks of nothing are none.
        let some = !shape.contains(&0);
        if let Some(chunks) = chunks.filter(|_| some) {
            let whole = std::iter::repeat(&u64::MAX);
            let cut = chunks.iter().chain(whole).zip(shape).map(|(&chunk, &length)| chunk.clamp(1, length));
            let chunks: Vec<u64> = cut.collect();
            dataset = dataset.chunks(chunks.clone());
            elements = elements.in_chunks(chunks);
        }
        let filters = filters(&self.options)?.filter(|_| some);
        if let Some(filters) = filters {
            dataset = dataset.filters(filters);
            if elements.info().chunks.is_none() {
                dataset = dataset.automatic_chunks();
            }
        }
        let shape = elements.dimensions()?.to_vec();
        write(dataset.shape(shape), &elements)
    }
}

impl Sink for Writing {
    fn add(&mut self, place: Place<'_>, object: New<'_>) -> Result<Handle> {
        if let (Place::Root, New::Group, true) = (place, &object, self.objects.is_empty()) {
            let root = self.writer.root().id();
            self.objects.push(("/".into(), root));
            return Ok(Handle(0));
        }
        let path = self.path(place)?;
        let id = match object {
            New::Group => self.writer.group(&path)?.id(),
            New::Array(elements) => self.array(&path, &elements)?,
            New::Datatype(element) => self.writer.root().commit(&path, &datatype(element)?)?,
            New::Hard(target) => {
                let (_, id) = *self.object(target)?;
                self.writer.root().hard_link(&path, id)?;
                id
            }
            New::Soft(target) => self.writer.root().soft_link(&path, text(target)?)?.id(),
            New::External { file, target } => {
                self.writer.root().external_link(&path, text(file)?, text(target)?)?.id()
            }
            New::Value(_) => return Err(refused(Format::Hdf5, "a scalar that is no array")),
        };
        self.objects.push((path, id));
        Ok(Handle(self.objects.len().saturating_sub(1) as u64))
    }

    fn attribute(&mut self, object: Handle, name: &Name, value: &AttributeValue) -> Result<()> {
        let (_, id) = *self.object(object)?;
        let datatype = datatype(&value.element)?;
        let Some(shape) = &value.shape else {
            return self.writer.attribute(id, text(name)?, Empty(datatype));
        };
        let Ok(bytes) = &value.data else {
            return Err(refused(Format::Hdf5, format!("the attribute {name}, which cannot be read,")));
        };
        let packed = Packed { datatype, shape: shape.clone(), element: &value.element, bytes };
        self.writer.attribute(id, text(name)?, packed)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.finish()
    }
}

fn text(name: &Name) -> Result<&str> {
    std::str::from_utf8(name.as_bytes()).map_err(|_| refused(Format::Hdf5, "a name that is not UTF-8"))
}

/// An attribute from canonical bytes.
struct Packed<'a> {
    datatype: Datatype,
    shape: Vec<u64>,
    element: &'a ElementType,
    bytes: &'a [u8],
}

impl hdf5_pure::Value for Packed<'_> {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        match self.element {
            ElementType::Text => {
                for datum in Decoder::new(self.element, self.bytes) {
                    if let Datum::Text(text) = datum? {
                        to.sequence(text.len(), text)?;
                    }
                }
            }
            _ => to.bytes(self.bytes),
        }
        Ok((self.datatype, Some(self.shape)))
    }
}

/// A string, whatever its bytes.
struct Text(Vec<u8>);

impl Store for Text {
    fn datatype() -> Datatype {
        Datatype::string()
    }

    fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()> {
        values.iter().try_for_each(|Self(text)| to.sequence(text.len(), text))
    }
}

fn texts(bytes: &[u8]) -> Result<Vec<Text>> {
    let mut texts = Vec::new();
    for datum in Decoder::new(&ElementType::Text, bytes) {
        if let Datum::Text(text) = datum? {
            texts.push(Text(text.to_vec()));
        }
    }
    Ok(texts)
}

/// A number that HDF5 stores as it is.
trait Number: Store + Copy {
    /// The numbers that canonical bytes are.
    fn all(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! number {
    ($($type:ty)*) => {$(
        impl Number for $type {
            fn all(bytes: &[u8]) -> Vec<Self> {
                bytes.as_chunks().0.iter().map(|&bytes| Self::from_le_bytes(bytes)).collect()
            }
        }
    )*};
}
number!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

/// Writes an array that has dimensions.
fn write(dataset: DatasetBuilder<'_>, elements: &Elements) -> Result<ObjectId> {
    use ElementType as T;
    match elements.element() {
        T::Int(1) => numbers::<i8>(dataset, elements),
        T::Int(2) => numbers::<i16>(dataset, elements),
        T::Int(4) => numbers::<i32>(dataset, elements),
        T::Int(8) => numbers::<i64>(dataset, elements),
        T::UInt(1) => numbers::<u8>(dataset, elements),
        T::UInt(2) => numbers::<u16>(dataset, elements),
        T::UInt(4) => numbers::<u32>(dataset, elements),
        T::UInt(8) => numbers::<u64>(dataset, elements),
        T::F32 => numbers::<f32>(dataset, elements),
        T::F64 => numbers::<f64>(dataset, elements),
        T::Text => {
            let mut dataset = dataset.create::<Text>()?;
            elements.for_each_piece(&mut |slab, bytes| {
                dataset.write_slab(slab, &texts(bytes)?)?;
                Ok(ControlFlow::Continue(()))
            })?;
            Ok(dataset.id())
        }
        other => dataset.datatype(datatype(other)?).write_raw(&elements.to_bytes()?),
    }
}

fn numbers<T: Number>(dataset: DatasetBuilder<'_>, elements: &Elements) -> Result<ObjectId> {
    let mut dataset = dataset.create::<T>()?;
    elements.for_each_piece(&mut |slab, bytes| {
        dataset.write_slab(slab, &T::all(bytes))?;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(dataset.id())
}

/// Writes an array without dimensions.
fn scalar(dataset: DatasetBuilder<'_>, elements: &Elements) -> Result<ObjectId> {
    use ElementType as T;
    fn one<N: Number>(dataset: DatasetBuilder<'_>, bytes: &[u8]) -> Result<ObjectId> {
        let number = N::all(bytes).first().copied();
        dataset.write_scalar(number.ok_or_else(|| Error::usage("array", "has no element"))?)
    }
    let bytes = elements.to_bytes()?;
    match elements.element() {
        T::Int(1) => one::<i8>(dataset, &bytes),
        T::Int(2) => one::<i16>(dataset, &bytes),
        T::Int(4) => one::<i32>(dataset, &bytes),
        T::Int(8) => one::<i64>(dataset, &bytes),
        T::UInt(1) => one::<u8>(dataset, &bytes),
        T::UInt(2) => one::<u16>(dataset, &bytes),
        T::UInt(4) => one::<u32>(dataset, &bytes),
        T::UInt(8) => one::<u64>(dataset, &bytes),
        T::F32 => one::<f32>(dataset, &bytes),
        T::F64 => one::<f64>(dataset, &bytes),
        T::Text => {
            let text = texts(&bytes)?.pop();
            dataset.write_scalar(text.ok_or_else(|| Error::usage("array", "has no element"))?)
        }
        other => dataset.datatype(datatype(other)?).shape([]).write_raw(&bytes),
    }
}

fn datatype(element: &ElementType) -> Result<Datatype> {
    use ElementType as T;
    let wide = || refused(Format::Hdf5, format!("elements of type {element}"));
    let bytes = |size: u64| u32::try_from(size).map_err(|_| wide());
    Ok(match element {
        T::Int(size) => Datatype::integer(true, (*size).into()),
        T::UInt(size) => Datatype::integer(false, (*size).into()),
        T::F16 => Datatype::float16(),
        T::BF16 => Datatype::bfloat16(),
        T::F32 => Datatype::float32(),
        T::F64 => Datatype::float64(),
        T::Complex(4) => Datatype::complex(&Datatype::float16()),
        T::Complex(8) => Datatype::complex(&Datatype::float32()),
        T::Complex(16) => Datatype::complex(&Datatype::float64()),
        T::Text => Datatype::string(),
        T::Opaque(size) => Datatype::opaque(bytes(*size)?, ""),
        T::Bits(size) => Datatype::bits(bytes(*size)?),
        T::Time(size) => Datatype::time(bytes(*size)?),
        T::Enum { base, members } => {
            let mut named = Vec::new();
            for (name, value) in members {
                named.push((text(name)?, i64::try_from(*value).map_err(|_| wide())?));
            }
            Datatype::enumeration(&datatype(base)?, named)?
        }
        T::Compound(fields) => {
            let mut members = Vec::new();
            for (name, field) in fields {
                members.push((text(name)?, datatype(field)?));
            }
            Datatype::compound(members)
        }
        T::Array { element, shape } => {
            let shape: Result<Vec<u32>> = shape.iter().map(|&length| bytes(length)).collect();
            Datatype::array(&shape?, &datatype(element)?)
        }
        _ => return Err(wide()),
    })
}
