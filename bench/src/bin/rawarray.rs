//! RawArray against NumPy, which reads and writes the same bytes behind headers of its own, and against the published
//! crate of that name.

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;

use harness::{Bench, Case, Outcome, Watch};
use rawarray::{
    Access, ByteOrder, Durability, OpenOptions, Range, Reader, Slab, StreamWriter, WriteOptions, Writer,
};

/// One GiB of `f4`.
const DIMS: [u64; 2] = [16_384, 16_384];
const COUNT: usize = 1 << 28;

fn main() -> ExitCode {
    Bench::new("rawarray", "python/rawarray.py")
        .case(
            Case::new("read 1 GiB into a used buffer", 1.0)
                .prepare(|folder| prepare(folder, ByteOrder::Little))
                .ours(read_into)
                .python("numpy"),
        )
        .case(
            Case::new("read 1 GiB", 0.95)
                .fresh()
                .prepare(|folder| prepare(folder, ByteOrder::Little))
                .ours(read)
                .python("numpy.fromfile")
                .python("numpy.load")
                .rust("rawarray 0.1.4", published_read),
        )
        .case(
            Case::new("read 1 GiB big-endian", 0.95)
                .fresh()
                .prepare(|folder| prepare(folder, ByteOrder::Big))
                .ours(read)
                .python("numpy"),
        )
        .case(
            Case::new("read 1 % of 1 GiB", 0.03)
                .prepare(|folder| prepare(folder, ByteOrder::Little))
                .ours(read_part)
                .rust("the whole", read),
        )
        .case(
            Case::new("map and look at one element", 1.5)
                .prepare(|folder| {
                    prepare(folder, ByteOrder::Little)?;
                    Ok(Writer::new(&[1 << 18][..]).write(folder.join("small.ra"), &vec![1f32; 1 << 18])?)
                })
                .ours(|folder, watch| map(folder, "array.ra", watch))
                .rust("of 1 MiB", |folder, watch| map(folder, "small.ra", watch)),
        )
        .case(
            Case::new("write 1 GiB", 0.9)
                .fresh()
                .ours(write)
                .python("numpy")
                .rust("rawarray 0.1.4", published_write),
        )
        .case(Case::new("write 1 GiB row by row", 1.0).fresh().ours(stream).python("numpy"))
        .case(Case::new("append 1 MiB to 1 GiB", 0.1).prepare(prepare_rows).ours(append).python("numpy"))
        .main()
}

fn values() -> Vec<f32> {
    (0..COUNT).map(|i| i as f32).collect()
}

/// A value kept between the rounds, as programs that read many arrays keep their buffers.
fn kept<R>(make: fn() -> Vec<f32>, work: impl FnOnce(&mut Vec<f32>) -> R) -> R {
    static KEPT: Mutex<Vec<f32>> = Mutex::new(Vec::new());
    let mut kept = KEPT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if kept.is_empty() {
        *kept = make();
    }
    work(&mut kept)
}

fn prepare(folder: &Path, order: ByteOrder) -> Outcome {
    let values = values();
    let options = WriteOptions::default().with_byte_order(order);
    Writer::new(&DIMS[..]).with_options(options).write(folder.join("array.ra"), &values)?;
    // What NumPy reads: the elements alone.
    let bytes = Reader::open(folder.join("array.ra"))?;
    let start = 48 + 8 * DIMS.len();
    let mut file = std::fs::read(folder.join("array.ra"))?;
    assert_eq!(bytes.stored_size() as usize + start, file.len());
    std::fs::write(folder.join("array.raw"), &file[start..])?;
    file.splice(..start, npy_header(order));
    Ok(std::fs::write(folder.join("array.npy"), &file)?)
}

/// The header of the array as an .npy file, padded to 128 bytes.
fn npy_header(order: ByteOrder) -> Vec<u8> {
    let order = if order == ByteOrder::Big { '>' } else { '<' };
    let description = format!("{{'descr': '{order}f4', 'fortran_order': False, 'shape': ({COUNT},), }}");
    [b"\x93NUMPY\x01\x00\x76\x00", format!("{description:<117}\n").as_bytes()].concat()
}

fn check(elements: &[f32]) -> Outcome {
    let right = elements.len() == COUNT && elements[12_345] == 12_345.0;
    if right { Ok(()) } else { Err("other elements".into()) }
}

fn read_into(folder: &Path, watch: &mut Watch) -> Outcome {
    let zeros = || vec![0.0; COUNT];
    kept(zeros, |buffer| {
        watch.time(|| Reader::open(folder.join("array.ra"))?.read_into(buffer))?;
        check(buffer)
    })
}

fn read(folder: &Path, watch: &mut Watch) -> Outcome {
    let elements = watch.time(|| Reader::open(folder.join("array.ra"))?.read::<f32>())?;
    check(&elements)
}

fn published_read(folder: &Path, watch: &mut Watch) -> Outcome {
    let array = watch.time(|| rawarray_published::RawArray::<f32>::read(folder.join("array.ra")))?;
    check(array.data_as_ref())
}

/// A tenth of each dimension.
fn read_part(folder: &Path, watch: &mut Watch) -> Outcome {
    let elements = watch.time(|| {
        let reader = Reader::open(folder.join("array.ra"))?;
        let slab = Slab::new(reader.shape(), [Range::new(7000, 1638), Range::new(3000, 1638)])?;
        reader.read_slab::<f32>(&slab)
    })?;
    let right = elements[1638] == (7001 * 16_384 + 3000) as f32;
    if right { Ok(()) } else { Err("other elements".into()) }
}

/// Files are reached by maps.
#[allow(unsafe_code)]
fn mapped() -> OpenOptions {
    // SAFETY: files of a bench are in a folder of its own; nobody changes them while it runs.
    OpenOptions::default().with_access(unsafe { Access::mapped() })
}

fn map(folder: &Path, name: &str, watch: &mut Watch) -> Outcome {
    let options = mapped();
    // Often enough that the clock is no matter.
    watch.time(|| {
        (0..1000).try_for_each(|_| {
            let reader = Reader::open_with(folder.join(name), &options)?;
            let view = reader.view::<f32>()?;
            black_box(view.last().copied());
            Ok(())
        })
    })
}

fn write(folder: &Path, watch: &mut Watch) -> Outcome {
    let path = folder.join("written.ra");
    kept(values, |values| watch.time(|| Writer::new(&DIMS[..]).write(&path, values)))?;
    Ok(std::fs::remove_file(path)?)
}

fn published_write(folder: &Path, watch: &mut Watch) -> Outcome {
    let array: rawarray_published::RawArray<f32> = values().into();
    let path = folder.join("written.ra");
    watch.time(|| array.write(&path))?;
    Ok(std::fs::remove_file(path)?)
}

/// Rows of 64 KiB, as they come from an instrument.
fn stream(folder: &Path, watch: &mut Watch) -> Outcome {
    let path = folder.join("streamed.ra");
    let row = vec![1f32; DIMS[0] as usize];
    watch.time(|| {
        let mut stream = StreamWriter::create::<f32>(&path, &DIMS[..1], &WriteOptions::default())?;
        (0..DIMS[1]).try_for_each(|_| stream.write(&row))?;
        stream.finish().map(drop)
    })?;
    Ok(std::fs::remove_file(path)?)
}

fn prepare_rows(folder: &Path) -> Outcome {
    prepare(folder, ByteOrder::Little)?;
    let durable = WriteOptions::default().with_durability(Durability::Power);
    Ok(Writer::new(&DIMS[..]).with_options(durable).write(folder.join("rows.ra"), &values())?)
}

/// What NumPy has for it is writing everything anew.
fn append(folder: &Path, watch: &mut Watch) -> Outcome {
    let rows = vec![2f32; 1 << 18];
    Ok(watch.time(|| rawarray::Editor::open(folder.join("rows.ra"))?.append(&rows))?)
}
