//! Blosc2: one array at `/`. If the frame has the metalayer `b2nd`, the array has its shape and type.
//! Otherwise the items of the frame are opaque bytes of its type size, in one dimension. Metalayers are
//! attributes with the name `meta:NAME`, or `vlmeta:NAME` for those of variable length, and contain their
//! bytes.
//!
//! If the bytes of a frame are not a whole number of items, the items are single bytes, so that none is lost.
//! If the text of an element type is unknown, the elements are opaque.

mod canonical;
mod inspect;

use std::any::Any;
use std::ops::ControlFlow;
use std::path::Path;

use cframe::{Array, ChunkSize, DType, Frame, Places};
use sciformats_core::arith::{add, div, fit, increase, mul, sub};
use sciformats_core::bound;
use sciformats_core::{Error, External, Limits, Slab};

use crate::file::Storage;
use crate::model::{ArrayInfo, Attribute, AttributeValue, ElementType, Name, Object, ObjectId, Target};
use crate::options::{OpenOptions, Unfolding};
use crate::pieces::{copied, grow};
use crate::source::{Attributes, Fact, Finding, Members, Source, Stored, StoredPiece, Structure};
use crate::{Format, Result};

/// The number of bytes that are read at once if items are not adjacent.
const SPAN: u64 = 1 << 20;

struct Adapter {
    content: Content,
    limits: Limits,
    /// What an operation may go through.
    unfolding: Unfolding,
}

enum Content {
    Array {
        array: Box<Array>,
        /// The data type; `None` if elements are opaque.
        dtype: Option<DType>,
    },
    Items {
        frame: Box<Frame>,
        /// The size of an item in bytes.
        size: u64,
    },
}

fn options(options: &OpenOptions) -> cframe::OpenOptions {
    let lent = match &options.external {
        External::Lent(lent) => Some(lent.clone()),
        _ => None,
    };
    cframe::OpenOptions::default()
        .with_limits(options.limits)
        .with_threads(options.threads)
        .with_registry(crate::filters::blosc2())
        .with_access(options.access)
        .with_lent(lent)
}

/// Opens a contiguous frame, or the index of a sparse one whose chunks are lent. With the option for files that were cut short, it also opens the remaining part
/// of one.
pub(in crate::formats) fn open(storage: Storage, with: &OpenOptions) -> Result<Box<dyn Source>> {
    let frame = Frame::from_storage(storage, 0, &options(with).with_rescue(with.cut))?;
    let unfolding = Unfolding::new(with, frame.header().frame_len);
    Ok(Box::new(Adapter::new(frame, with.limits, unfolding)?))
}

/// Opens the folder of a sparse frame, and returns the size of its files too.
pub(in crate::formats) fn open_folder(folder: &Path, with: &OpenOptions) -> Result<(Box<dyn Source>, u64)> {
    let frame = Frame::open_with(folder, &options(with))?;
    let io = |e| Error::io("list", e).in_file(folder, None);
    let mut size = 0u64;
    for entry in std::fs::read_dir(folder).map_err(io)? {
        increase(&mut size, entry.and_then(|entry| entry.metadata()).map_err(io)?.len())?;
    }
    let unfolding = Unfolding::new(with, size);
    Ok((Box::new(Adapter::new(frame, with.limits, unfolding)?), size))
}

/// Returns the frame behind an array, and the array if it has a shape of its own, if the source belongs to this module.
pub fn frame(source: &dyn Source) -> Option<Result<(&Frame, Option<&Array>)>> {
    let adapter: &Adapter = source.as_any()?.downcast_ref()?;
    let array = match &adapter.content {
        Content::Array { array, .. } => Some(&**array),
        Content::Items { .. } => None,
    };
    Some(adapter.frame().map(|frame| (frame, array)))
}

impl Adapter {
    fn new(frame: Frame, limits: Limits, unfolding: Unfolding) -> Result<Self> {
        let typesize = u64::from(frame.typesize());
        let content = if frame.metalayer("b2nd").or_else(|| frame.metalayer("caterva")).is_some() {
            let array = Array::from_frame(frame)?;
            // A frame that is older than element types has none, and a type of another size is ignored.
            let known = array.dtype().and_then(|_| array.element().ok());
            let dtype = known.filter(|dtype| !matches!(dtype, DType::Scalar { kind: cframe::Kind::Raw, .. }));
            Content::Array { array: Box::new(array), dtype }
        } else {
            let whole = frame.nbytes().checked_rem(typesize) == Some(0);
            Content::Items { frame: Box::new(frame), size: if whole { typesize } else { 1 } }
        };
        Ok(Self { content, limits, unfolding })
    }

    fn frame(&self) -> Result<&Frame> {
        match &self.content {
            Content::Array { array, .. } => {
                array.schunk().frame().ok_or_else(|| Error::not_found("frame", "of the array"))
            }
            Content::Items { frame, .. } => Ok(frame),
        }
    }

    fn info(&self) -> Result<ArrayInfo> {
        let frame = self.frame()?;
        let mut info = match &self.content {
            Content::Array { array, dtype } => {
                let opaque = || ElementType::Opaque(array.typesize().into());
                let element = dtype.as_ref().map_or_else(opaque, canonical::element);
                let mut forms = Vec::new();
                if let Some(dtype) = dtype {
                    canonical::texts(dtype, &mut forms);
                }
                let mut info = ArrayInfo::new(element, array.shape()).with_texts(forms);
                info.chunks = Some(array.chunk_shape().to_vec());
                info.facts.extend(array.dtype().map(|text| ("dtype", text.into())));
                info
            }
            Content::Items { frame, size } => {
                let count = div(frame.nbytes(), *size)?;
                let mut info = ArrayInfo::new(ElementType::Opaque(*size), [count]);
                if let ChunkSize::Fixed(bytes) = frame.chunk_size() {
                    let items = u64::from(bytes).checked_div(*size).filter(|&items| items > 0);
                    info.chunks = items.map(|items| vec![items]);
                }
                info
            }
        };
        info.width = Some(frame.typesize().into());
        info.filters = inspect::pipeline(frame);
        info.stored = Some(frame.cbytes());
        Ok(info)
    }

    /// Appends items that may not be adjacent.
    fn items(&self, frame: &Frame, size: u64, slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
        let Some(range) = slab.ranges().first() else {
            return Err(Error::usage("selection", "has no dimension"));
        };
        let too_much = || Error::usage("selection", "has more than 2^64 bytes");
        let bytes = range.count.checked_mul(size).ok_or_else(too_much)?;
        let bytes = self.limits.memory("bytes of the selected elements", bytes)?;
        let start = range.start.checked_mul(size).ok_or_else(too_much)?;
        if range.step == 1 || range.count <= 1 {
            return frame.read_bytes(start, grow(out, bytes)?);
        }
        let stride = range.step.checked_mul(size).ok_or_else(too_much)?;
        let (step, width) = (bound::addressable(stride), fit::<usize, _>(size, "bytes of an item")?);
        let most = div(SPAN, stride)?.max(1);
        let (mut at, mut left) = (start, range.count);
        let mut span = Vec::new();
        while left > 0 {
            let count = left.min(most);
            let len = add(mul(sub(count, 1)?, stride)?, size)?;
            span.resize(self.limits.memory("bytes of the selected elements", len)?, 0);
            frame.read_bytes(at, &mut span)?;
            span.chunks(step)
                .filter_map(|item| item.get(..width))
                .for_each(|item| out.extend_from_slice(item));
            left = sub(left, count)?;
            at = add(at, mul(count, stride)?)?;
        }
        Ok(())
    }
}

/// The contents of an open frame, for code that writes it anew.
pub struct Parts<'a> {
    /// The frame.
    pub frame: &'a Frame,
    /// The array in it, if it holds one.
    pub array: Option<&'a Array>,
    /// The size of an item in bytes, if there is no array.
    pub size: u64,
}

/// Returns the frame of a source, if the source belongs to this module.
pub fn parts(source: &dyn Source) -> Option<Parts<'_>> {
    let adapter: &Adapter = source.as_any()?.downcast_ref()?;
    let frame = adapter.frame().ok()?;
    Some(match &adapter.content {
        Content::Array { array, .. } => Parts { frame, array: Some(array), size: frame.typesize().into() },
        Content::Items { size, .. } => Parts { frame, array: None, size: *size },
    })
}

/// Creates an attribute of bytes.
fn bytes(name: String, data: Result<Vec<u8>>) -> Attribute {
    let value = data.map(|data| AttributeValue {
        element: ElementType::UInt(1),
        shape: Some(vec![data.len() as u64]),
        data: Ok(data),
    });
    Attribute { name: name.into(), value }
}

impl Source for Adapter {
    fn format(&self) -> Format {
        Format::Blosc2
    }

    fn facts(&self) -> Vec<Fact> {
        let array = if let Content::Array { array, .. } = &self.content { Some(&**array) } else { None };
        self.frame().map(|frame| inspect::facts(frame, array)).unwrap_or_default()
    }

    fn headline(&self) -> String {
        self.frame().map(inspect::headline).unwrap_or_default()
    }

    fn measures(&self) -> Result<Vec<Fact>> {
        inspect::measures(self.frame()?)
    }

    fn root(&self) -> ObjectId {
        ObjectId(0)
    }

    fn object(&self, _id: ObjectId) -> Result<Object> {
        Ok(Object::Array(Box::new(self.info()?)))
    }

    fn members(&self, _group: ObjectId) -> Result<Members<'_>> {
        Ok(Box::new(std::iter::empty()))
    }

    fn member(&self, _group: ObjectId, _name: &Name) -> Result<Option<Target>> {
        Ok(None)
    }

    fn attributes(&self, _id: ObjectId) -> Result<Attributes<'_>> {
        let frame = self.frame()?;
        let mut fixed: Vec<(&str, &[u8])> = frame.metalayers().collect();
        let mut variable: Vec<&str> = frame.vlmeta_names().collect();
        sciformats_core::order::sort_by_key(&mut fixed, |(name, _)| *name);
        sciformats_core::order::sort(&mut variable);
        let fixed = fixed.into_iter().map(|(name, data)| bytes(format!("meta:{name}"), Ok(data.to_vec())));
        let variable = variable.into_iter().map(|name| bytes(format!("vlmeta:{name}"), frame.vlmeta(name)));
        Ok(Box::new(fixed.chain(variable).map(Ok)))
    }

    fn attribute_json(&self, _id: ObjectId, attribute: &Attribute) -> Option<String> {
        let name = std::str::from_utf8(attribute.name.as_bytes()).ok()?;
        if let (Content::Array { array, .. }, "meta:b2nd" | "meta:caterva") = (&self.content, name) {
            return Some(inspect::shapes(array));
        }
        let data = attribute.value.as_ref().ok()?.data.as_ref().ok()?;
        cframe::Value::from_msgpack(data).ok().map(|value| value.to_string())
    }

    fn read(&self, _array: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
        let (array, dtype) = match &self.content {
            Content::Array { array, dtype } => (array, dtype),
            Content::Items { frame, size } => return self.items(frame, *size, slab, out),
        };
        let total = |one: Option<u64>| one.and_then(|one| one.checked_mul(slab.len())).unwrap_or(u64::MAX); // a bound
        let stored = total(Some(array.typesize().into()));
        let stored = self.limits.memory("bytes of the selected elements", stored)?;
        match dtype.as_ref().filter(|dtype| !canonical::is_packed(dtype)) {
            None => array.read_slab_bytes_into(slab, grow(out, stored)?),
            Some(dtype) => {
                self.limits.memory("bytes of the selected elements", total(canonical::most(dtype)))?;
                canonical::append(dtype, &array.read_slab_bytes(slab)?, out)
            }
        }
    }

    fn read_into(&self, id: ObjectId, slab: &Slab, out: &mut [u8]) -> Result<()> {
        if let Content::Array { array, dtype } = &self.content
            && dtype.as_ref().is_none_or(canonical::is_packed)
        {
            return array.read_slab_bytes_into(slab, out);
        }
        let mut bytes = Vec::new();
        self.read(id, slab, &mut bytes)?;
        copied(&bytes, out)
    }

    fn reach(&self, _array: ObjectId) -> Result<()> {
        self.frame()?.has_elements()
    }

    fn storage(&self, _id: ObjectId) -> Result<Vec<(&'static str, String)>> {
        let frame = self.frame()?;
        let array = if let Content::Array { array, .. } = &self.content { Some(&**array) } else { None };
        let mut facts = inspect::facts(frame, array);
        facts.retain(|(name, _)| *name != inspect::BEHIND);
        facts.push(("codec parameter", frame.header().codec_meta.into()));
        Ok(facts.into_iter().map(|(name, value)| (name, value.to_string())).collect())
    }

    fn stored(&self, _array: ObjectId) -> Result<Option<Stored<'_>>> {
        let frame = self.frame()?;
        let shape = frame.metalayer("b2nd").or_else(|| frame.metalayer("caterva"));
        let how = format!("{} {} {:?} {shape:?}", frame.typesize(), frame.nbytes(), frame.chunk_size());
        let piece = |index: u64, out: &mut Vec<u8>| -> Result<StoredPiece> {
            let (special, bytes) = match frame.stored_bytes(index)? {
                Some(bytes) => (0, bytes),
                None => (1, frame.special(index)?.map_or("", inspect::special).as_bytes().into()),
            };
            out.extend_from_slice(&bytes);
            Ok((vec![index], special, bytes.len()))
        };
        let read = move |range: std::ops::Range<usize>, out: &mut Vec<u8>| {
            range.map(|index| piece(index as u64, out)).collect()
        };
        let pieces = usize::try_from(frame.chunks())
            .map_err(|_| Error::unsupported("a frame with more chunks than this machine can count"))?;
        let largest = match frame.chunk_size() {
            ChunkSize::Fixed(size) => u64::from(size) + cframe::MAX_OVERHEAD as u64,
            // The pieces are read one by one.
            _ => u64::MAX,
        };
        Ok(Some(Stored { how, pieces, largest, read: Box::new(read) }))
    }

    fn doubt(&self) -> Option<&'static str> {
        Some(match self.frame().ok()?.rescued()?.places {
            Places::Indexed | Places::Counted => {
                "has lost its end, which contained the metalayers of variable length, if it had any"
            }
            Places::Unknown => {
                "has lost its index, and metalayers of variable length, if it had any; it is not known which of its chunks \
                 were not stored, so none of them can be read"
            }
            _ => {
                "has lost its index, and metalayers of variable length, if it had any; the chunks that were found are taken \
                 for the first ones, and are at wrong positions if there were chunks of zeros between them"
            }
        })
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn may_be_shared(&self, _id: ObjectId) -> bool {
        false
    }

    fn check(&self, visit: &mut dyn FnMut(Finding)) {
        // What reading the elements leaves out: blocks of nothing but padding. Reading tells if it is too much for anybody to wait.
        if let (Content::Array { .. }, Ok(frame)) = (&self.content, self.frame())
            && self.unfolding.allows(frame.nbytes())
        {
            frame.check(&mut |error| visit(Finding { path: None, error }));
        }
    }

    fn structures(&self, visit: &mut dyn FnMut(Structure) -> ControlFlow<()>) -> Result<()> {
        inspect::structures(self.frame()?, &self.limits, visit)
    }
}
