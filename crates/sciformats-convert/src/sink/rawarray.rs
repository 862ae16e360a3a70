//! Writes RawArray: one array. Its dimensions are stored in reverse order, the fastest varying first.

use std::ops::ControlFlow;
use std::path::Path;

use rawarray::{Encoding, StreamWriter, Writer};
use sciformats_core::arith::{add, increase, mul};
use sciformats_core::storage::{Durability, Replacement};
use sciformats_core::{Error, WriteAt};

use super::{Elements, Filters, Single, Sink, WriteOptions, refuse_options, refused};
use sciformats::model::ElementType;
use sciformats::{Format, Result};

pub(super) fn create(path: Option<&Path>, options: &WriteOptions) -> Result<Box<dyn Sink>> {
    refuse_options(Format::RawArray, options, Filters::Possible)?;
    let encoding = encoding(options)?;
    let (path, metadata) = (path.map(Path::to_owned), options.metadata.clone());
    Ok(Box::new(Single::new(Format::RawArray, move |elements: Elements| match path {
        Some(path) => write(&path, (encoding, &metadata), &elements),
        None => check((encoding, &metadata), &elements),
    })))
}

/// Returns the encoding that the options request.
pub(crate) fn encoding(options: &WriteOptions) -> Result<Encoding> {
    Ok(match options.filter.as_deref() {
        None | Some("none") => Encoding::Raw,
        Some("lz4") => Encoding::Lz4,
        Some("leb128") => Encoding::Leb128,
        Some("bits") => Encoding::Bits,
        Some(other) => {
            return Err(Error::usage(
                "filter",
                format!("{other} is unknown; choose none, lz4, leb128 or bits"),
            ));
        }
    })
}

/// Fails if the encoding is none for elements of this type.
fn check((encoding, metadata): (Encoding, &[u8]), elements: &Elements) -> Result<()> {
    let options = rawarray::WriteOptions::default().with_encoding(encoding);
    // Whether the encoding is possible does not depend on the values, nor on their number.
    let writer = Writer::new([0].as_slice()).with_options(options).with_metadata(metadata);
    writer.encode_bytes(stored(&elements.info.element)?, &[]).map(drop)
}

fn write(path: &Path, (encoding, metadata): (Encoding, &[u8]), elements: &Elements) -> Result<()> {
    let element = stored(&elements.info.element)?;
    let dims: Vec<u64> = elements.dimensions()?.iter().rev().copied().collect();
    let options = rawarray::WriteOptions::default().with_encoding(encoding);
    let row = dims.split_last().filter(|(_, row)| !row.contains(&0));
    let Some((_, row)) = row.filter(|_| encoding == Encoding::Raw && element.size() > 0) else {
        // There is a single element, or none, or the encoding needs all elements at once.
        let writer = Writer::new(dims).with_options(options).with_metadata(metadata);
        return writer.write_bytes(path, element, &elements.to_bytes()?);
    };
    let mut end = add(48, mul(dims.len() as u64, 8)?)?;
    let mut stream = StreamWriter::in_storage(Replacement::create(path)?, element, row, &options)?;
    elements.for_each_piece(&mut |_, bytes| {
        stream.write_bytes(bytes)?;
        increase(&mut end, bytes.len() as u64)?;
        Ok(ControlFlow::Continue(()))
    })?;
    let mut file = stream.finish()?;
    if !metadata.is_empty() {
        file.write_at(end, metadata)?;
    }
    file.finish(Durability::Process)
}

fn stored(element: &ElementType) -> Result<rawarray::ElementType> {
    use rawarray::ElementType as Stored;
    Ok(match element {
        ElementType::Int(size) => Stored::Int((*size).into()),
        ElementType::UInt(size) => Stored::UInt((*size).into()),
        ElementType::F16 => Stored::Float(2),
        ElementType::F32 => Stored::Float(4),
        ElementType::F64 => Stored::Float(8),
        ElementType::BF16 => Stored::BFloat16,
        ElementType::Complex(size) => Stored::Complex((*size).into()),
        ElementType::Bool => Stored::Bool,
        ElementType::Opaque(size) => Stored::Opaque(*size),
        other => return Err(refused(Format::RawArray, format!("elements of type {other}"))),
    })
}
