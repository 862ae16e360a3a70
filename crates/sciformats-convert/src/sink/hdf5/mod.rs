//! Writes HDF5, slab by slab. Elements that refer to objects are written last, when all objects exist.

pub(crate) mod encode;
mod like;

use std::ops::ControlFlow;
use std::path::Path;

use hdf5_pure::filters::Filters;
use hdf5_pure::options::Bound;
use hdf5_pure::values::Empty;
use hdf5_pure::{Address, CreateOptions, DatasetBuilder, Datatype, ObjectId, Writer};
use sciformats_core::Error;
use sciformats_core::arith::sub;

use self::encode::{Packed, References, datatype, datatype_in, encode_in, stored as named};
use self::like::{Known, Like, put};
use super::{Elements, Handle, New, Place, Sink, WriteOptions, moderate, refused, rules};
use crate::repack::Hollow;
use sciformats::model::{AttributeValue, ElementType, Name};
use sciformats::{Format, Result};

struct Writing {
    writer: Writer,
    /// Whether everything is done as if the file were written, apart from the elements.
    hollow: bool,
    options: WriteOptions,
    objects: Vec<Placed>,
    /// Datasets whose elements refer to objects, and their types, if these are stored ones.
    arrays: Vec<(ObjectId, Elements, Option<Datatype>)>,
    /// Attributes whose elements refer to objects.
    attributes: Vec<Later>,
    /// The file that objects come from, if they are stored as there.
    like: Option<Like>,
    /// The object of that file that the next one is.
    next: Option<Address>,
    /// What the last object does not keep of how it was stored.
    unlike: Vec<String>,
}

/// An object of the file. There may be very many, so each has its own name and not its path.
struct Placed {
    id: ObjectId,
    /// The number of its group; the root is in itself.
    group: u32,
    name: hdf5_pure::Name,
    /// The object that it comes from.
    like: Option<Address>,
}

/// An attribute that is written later: its canonical bytes, and their type.
struct Later {
    object: ObjectId,
    name: hdf5_pure::Name,
    element: ElementType,
    shape: Vec<u64>,
    bytes: Vec<u8>,
}

pub(super) fn create(path: Option<&Path>, options: &WriteOptions) -> Result<Box<dyn Sink>> {
    filters(options)?;
    let bound = options.bound.as_deref().map(bound).transpose()?.unwrap_or_default();
    let create = CreateOptions::default().with_bound(bound).with_threads(options.threads);
    let create =
        create.with_registry(sciformats::filters::hdf5()).with_user_block(options.user_block.clone());
    let writer = match path {
        Some(path) => Writer::overwrite_with(path, &create)?,
        None => Writer::in_storage(Box::new(Hollow::new(0)), &create)?,
    };
    Ok(Box::new(Writing {
        writer,
        hollow: path.is_none(),
        options: options.clone(),
        objects: Vec::new(),
        arrays: Vec::new(),
        attributes: Vec::new(),
        like: None,
        next: None,
        unlike: Vec::new(),
    }))
}

/// Returns the bound for a release of the library.
pub(crate) fn bound(word: &str) -> Result<Bound> {
    Ok(match word {
        "earliest" => Bound::Earliest,
        "1.8" => Bound::V18,
        "1.10" => Bound::V110,
        "1.12" => Bound::V112,
        "2.0" => Bound::V200,
        other => {
            let problem = format!("{other} is unknown; choose earliest, 1.8, 1.10, 1.12 or 2.0");
            return Err(Error::usage("bound", problem));
        }
    })
}

/// The end of the name of a filter that is followed by a checksum of each chunk.
pub(crate) const CHECKED: &str = "+fletcher32";

/// Returns the filters for a name and a level. The bytes of numbers are shuffled before they are compressed.
pub(crate) fn filters(options: &WriteOptions) -> Result<Option<Filters>> {
    if let Some(word) = options.filter.as_deref().and_then(|word| word.strip_suffix(CHECKED)) {
        let unchecked = WriteOptions { filter: Some(word.into()), ..options.clone() };
        // A checksum alone may follow nothing.
        let before = if matches!(word, "fletcher32" | "none") && options.level.is_none() {
            None
        } else {
            filters(&unchecked)?
        };
        return Ok(Some(before.unwrap_or_default().fletcher32()));
    }
    let level = |default: u32| options.level.unwrap_or(default);
    let wide = |_| Error::usage("level", "is not a level of zstd");
    let signed = |default: u32| i32::try_from(level(default)).map_err(wide);
    let new = || Filters::new().shuffle();
    if options.level.is_some() && matches!(options.filter.as_deref(), None | Some("none")) {
        return Err(Error::usage(
            "level",
            "is given without a filter that it applies to, such as zlib or zstd",
        ));
    }
    let levelled = ["zlib", "gzip", "deflate", "bzip2", "zstd", "bitshuffle"];
    if let (Some(filter), Some(_)) = (options.filter.as_deref(), options.level)
        && !levelled.contains(&filter)
    {
        return Err(Error::usage("level", format!("has no meaning for the filter {filter}")));
    }
    Ok(Some(match options.filter.as_deref() {
        None | Some("none") => return Ok(None),
        Some("zlib" | "gzip" | "deflate") => new().deflate(level(4)),
        Some("lzf") => new().lzf(),
        Some("bzip2") => new().bzip2(level(9)),
        Some("lz4") => new().lz4(),
        Some("zstd") => new().zstd(signed(3)?),
        Some("bitshuffle") => Filters::new().bitshuffle_zstd(signed(3)?),
        Some("shuffle") => new(),
        Some("fletcher32") => Filters::new().fletcher32(),
        // Values as the original plug-ins take them. Elements that zfp, VBZ and FCIDECOMP cannot have are stored without them.
        Some("snappy") => new().custom(32003, Vec::new()),
        Some("zfp") => Filters::new().suitable(32013, vec![5]),
        Some("vbz") => Filters::new().suitable(32020, Vec::new()),
        Some("lzo") => new().custom(305, Vec::new()),
        Some("fcidecomp") => Filters::new().suitable(32018, Vec::new()),
        Some(other) => {
            let problem = format!(
                "{other} is unknown; choose none, zlib, lzf, bzip2, lz4, zstd, bitshuffle, snappy, zfp, vbz, lzo, fcidecomp, shuffle or fletcher32, or one of them with `+fletcher32`"
            );
            return Err(Error::usage("filter", problem));
        }
    }))
}

impl Writing {
    fn object(&self, Handle(id): Handle) -> Result<&Placed> {
        let object = usize::try_from(id).ok().and_then(|id| self.objects.get(id));
        object.ok_or_else(|| Error::usage("place", "is in no group"))
    }

    /// Returns the number of the group of a new object, and the object's name.
    fn placed(&self, place: Place<'_>) -> Result<(u32, hdf5_pure::Name)> {
        let Place::In(Handle(group), name) = place else {
            return Err(refused(Format::Hdf5, "anything but a group at the root"));
        };
        let bytes = name.as_bytes();
        if matches!(bytes, b"" | b".") || bytes.iter().any(|byte| matches!(byte, b'/' | 0)) {
            return Err(refused(Format::Hdf5, format!("an object named {name:?}")));
        }
        self.object(Handle(group))?;
        let group = u32::try_from(group).map_err(|_| refused(Format::Hdf5, "more than 2^32 objects"))?;
        Ok((group, named(name)))
    }

    /// Returns the path of the object with this name in a group.
    fn path(&self, group: u32, name: &hdf5_pure::Name) -> Result<hdf5_pure::Name> {
        let (mut names, mut group) = (vec![name.as_bytes()], group);
        while group != 0 {
            let placed = self.object(Handle(group.into()))?;
            names.push(placed.name.as_bytes());
            group = placed.group;
        }
        names.push(b"");
        names.reverse();
        Ok(names.join(&b'/')[..].into())
    }

    /// Notes what an object does not keep of how it was stored, unless the machine is the reason.
    fn noted<T>(&mut self, what: &str, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(done) => Ok(Some(done)),
            // What the system does not let one read of the old file is no reason to leave out the object.
            Err(error @ (Error::Io { .. } | Error::Conflict { .. })) if !is_of_reading(&error) => Err(error),
            Err(error) => {
                self.unlike.push(format!("{what} ({error})"));
                Ok(None)
            }
        }
    }

    /// Returns the new id of a committed datatype that comes from another file.
    fn committed(&mut self, of: Option<Address>) -> Result<Option<ObjectId>> {
        let (Some(like), Some(address)) = (&mut self.like, of) else { return Ok(None) };
        let done = like.committed(&mut self.writer, address);
        self.noted("its committed type", done)
    }

    /// Gives a new object the properties of the one that it comes from.
    fn properties(&mut self, id: ObjectId, of: Option<Address>) -> Result<()> {
        let (Some(like), Some(address)) = (&self.like, of) else { return Ok(()) };
        let done = like.properties(&mut self.writer, id, address);
        self.noted("its creation properties", done).map(drop)
    }

    /// Creates a dataset that is stored as the one that it comes from, and returns the type of its elements if it is the stored one;
    /// `None` if it is not known, or cannot be stored so.
    fn created(
        &mut self,
        path: &hdf5_pure::Name,
        elements: &mut Elements,
        of: Option<Address>,
    ) -> Result<Option<(ObjectId, Option<Datatype>)>> {
        let (Some(like), Some(address)) = (&mut self.like, of) else { return Ok(None) };
        let known = like.known(&mut self.writer, address, (elements, &self.options));
        let Some(Some(known)) = self.noted("how it was stored", known)? else { return Ok(None) };
        let Known { datatype, lost, .. } = &known;
        let forms = elements.info.texts.clone().unwrap_or_default();
        let own = match datatype {
            Some(stored) => stored.clone(),
            None => datatype_in(&elements.info.element, &mut forms.iter())?,
        };
        let mut parts = elements.clone();
        let builder = self.writer.dataset(path).datatype(own);
        let made = known.applied(builder, &self.options, &mut parts).and_then(|builder| {
            match elements.info.shape.is_some() {
                true => Ok(builder.create_encoded()?.id()),
                false => builder.write_null(),
            }
        });
        let (datatype, lost) = (datatype.clone(), lost.clone());
        let Some(id) = self.noted("how it was stored", made)? else { return Ok(None) };
        self.unlike.extend(lost);
        *elements = parts;
        Ok(Some((id, datatype)))
    }

    fn array(
        &mut self,
        path: &hdf5_pure::Name,
        elements: &Elements,
        of: Option<Address>,
    ) -> Result<ObjectId> {
        rules(Format::Hdf5)?.check(elements)?;
        let mut parts = elements.clone();
        if let Some((id, datatype)) = self.created(path, &mut parts, of)? {
            self.properties(id, of)?;
            if elements.info.element.refers() {
                self.arrays.push((id, parts, datatype));
                return Ok(id);
            }
            self.elements(id, &parts, datatype.as_ref(), &References::new())?;
            return Ok(id);
        }
        let forms = elements.info.texts.clone().unwrap_or_default();
        let datatype = datatype_in(&elements.info.element, &mut forms.iter())?;
        let dataset = self.writer.dataset(path).datatype(datatype);
        let Some(shape) = elements.info.shape.as_deref() else { return dataset.write_null() };
        let mut elements = elements.clone();
        let dataset = match shape {
            [] => dataset,
            shape => stored(dataset.shape(shape), &self.options, (path, &mut elements))?,
        };
        let id = dataset.create_encoded()?.id();
        if elements.info.element.refers() {
            self.arrays.push((id, elements, None));
            return Ok(id);
        }
        self.elements(id, &elements, None, &References::new())?;
        Ok(id)
    }

    /// Writes the elements of a dataset, whose type may be a stored one.
    fn elements(
        &mut self,
        id: ObjectId,
        elements: &Elements,
        datatype: Option<&Datatype>,
        references: &References,
    ) -> Result<()> {
        if self.hollow {
            return Ok(());
        }
        let mut dataset = self.writer.open_id(id)?;
        let forms = elements.info.texts.clone().unwrap_or_default();
        let element = &elements.info.element;
        elements.for_each_piece(&mut |slab, bytes| {
            dataset.write_encoded(slab, |to| match datatype {
                Some(stored) => put((stored, element), bytes, references, to),
                None => encode_in((element, &forms), bytes, references, to),
            })?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Writes the elements that refer to objects, now that all objects exist.
    fn refer(&mut self) -> Result<()> {
        if self.arrays.is_empty() && self.attributes.is_empty() {
            return Ok(());
        }
        let mut references = References::new();
        for place in 0..self.objects.len() {
            let Placed { id, group, name, .. } = self.object(Handle(place as u64))?;
            let path = if place == 0 { "/".into() } else { self.path(*group, name)? };
            let id = *id;
            references.insert(path.as_bytes().to_vec(), self.writer.reference(id)?);
        }
        for (id, elements, datatype) in std::mem::take(&mut self.arrays) {
            self.elements(id, &elements, datatype.as_ref(), &references)?;
        }
        for Later { object, name, element, shape, bytes } in std::mem::take(&mut self.attributes) {
            let packed = Packed { shape, element: &element, bytes: &bytes, references: &references };
            self.writer.attribute(object, &name, packed)?;
        }
        Ok(())
    }
}

/// Returns whether the system refused to read.
fn is_of_reading(error: &Error) -> bool {
    matches!(error, Error::Io { action: "read" | "open" | "map", .. })
}

/// Returns the chunks and filters of a dataset, and its elements in parts that match the chunks.
fn stored<'w>(
    mut dataset: DatasetBuilder<'w>,
    options: &WriteOptions,
    (path, elements): (&hdf5_pure::Name, &mut Elements),
) -> Result<DatasetBuilder<'w>> {
    let shape = elements.dimensions()?.to_vec();
    let chunks = options.chunks.clone().or_else(|| moderate(&elements.info));
    if options.chunks.as_ref().is_some_and(|chunks| chunks.len() > shape.len()) {
        let problem = format!("have more dimensions than {path}, which has {}", shape.len());
        return Err(Error::usage("chunks", problem));
    }
    // A dataset without elements has no chunks.
    if shape.contains(&0) {
        return Ok(dataset);
    }
    if let Some(chunks) = chunks {
        let whole = std::iter::repeat(&u64::MAX);
        let cut = chunks.iter().chain(whole).zip(&shape).map(|(&chunk, &length)| chunk.clamp(1, length));
        let chunks: Vec<u64> = cut.collect();
        dataset = dataset.chunks(chunks.clone());
        *elements = elements.clone().in_chunks(chunks);
    }
    if let Some(filters) = filters(options)? {
        dataset = dataset.filters(filters);
        if elements.info.chunks.is_none() {
            dataset = dataset.automatic_chunks();
        }
    }
    Ok(dataset)
}

impl Sink for Writing {
    fn like(&mut self, file: &hdf5_pure::File, address: Address) {
        self.like.get_or_insert_with(|| Like::new(file.clone()));
        self.next = Some(address);
    }

    fn unlike(&mut self) -> Vec<String> {
        std::mem::take(&mut self.unlike)
    }

    fn add(&mut self, place: Place<'_>, object: New<'_>) -> Result<Handle> {
        let like = self.next.take();
        if let (Place::Root, New::Group, true) = (place, &object, self.objects.is_empty()) {
            let id = self.writer.root().id();
            self.properties(id, like)?;
            self.objects.push(Placed { id, group: 0, name: hdf5_pure::Name::default(), like });
            return Ok(Handle(0));
        }
        let (group, name) = self.placed(place)?;
        let path = self.path(group, &name)?;
        let id = match object {
            New::Group => {
                let id = self.writer.group(&path)?.id();
                self.properties(id, like)?;
                id
            }
            New::Array(elements) => self.array(&path, &elements, like)?,
            New::Datatype(element) => match self.committed(like)? {
                Some(id) => {
                    self.writer.root().hard_link(&path, id)?;
                    id
                }
                None => self.writer.root().commit(&path, &datatype(element)?)?,
            },
            New::Hard(target) => {
                let id = self.object(target)?.id;
                self.writer.root().hard_link(&path, id)?;
                id
            }
            New::Soft(target) => self.writer.root().soft_link(&path, &named(target))?.id(),
            New::External { file, target } => {
                self.writer.root().external_link(&path, &named(file), &named(target))?.id()
            }
            New::Value(_) => return Err(refused(Format::Hdf5, "a scalar that is not an array")),
        };
        self.objects.push(Placed { id, group, name, like });
        Ok(Handle(sub(self.objects.len(), 1)? as u64))
    }

    fn attribute(&mut self, object: Handle, name: &Name, value: &AttributeValue) -> Result<()> {
        let &Placed { id, like, .. } = self.object(object)?;
        if let (Some(all), Some(address), Ok(_)) = (&mut self.like, like, &value.data)
            && let Ok(true) = all.attribute(&mut self.writer, (id, address), name)
        {
            return Ok(());
        }
        let shown = name.shown();
        let name = named(name);
        let Some(shape) = value.shape.clone() else {
            // PyTables, which writes empty titles so, ends at text of variable length that has no element.
            let datatype = match &value.element {
                ElementType::Text => Datatype::fixed_string(1),
                element => datatype(element)?,
            };
            return self.writer.attribute(id, &name, Empty(datatype));
        };
        let Ok(bytes) = &value.data else {
            return Err(refused(Format::Hdf5, format!("the attribute {shown}, which cannot be read,")));
        };
        if value.element.refers() {
            let (element, bytes) = (value.element.clone(), bytes.clone());
            self.attributes.push(Later { object: id, name, element, shape, bytes });
            return Ok(());
        }
        let references = &References::new();
        self.writer.attribute(id, &name, Packed { shape, element: &value.element, bytes, references })
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.refer()?;
        self.writer.finish()
    }
}
