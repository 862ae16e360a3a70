//! RawArray: bytes, and rows that come one by one.

use std::path::{Path, PathBuf};

use harness::Growth::{Linear, Little};
use harness::{Outcome, Series};
use rawarray::{Access, Editor, OpenOptions, Reader, StreamWriter, WriteOptions, Writer};

use crate::{BYTES, MOST, expect, once};

pub(crate) fn series() -> Vec<Series> {
    vec![
        Series::new("write bytes", BYTES, Linear, |folder, n, watch| {
            let values = vec![1.5f32; n as usize / 4];
            watch.time(|| write(&folder.join("written.ra"), &values))
        }),
        Series::new("read bytes", BYTES, Linear, |folder, n, watch| {
            let found = watch.time(|| Reader::open(flat(folder, n))?.read::<f32>())?;
            expect(found.len() as u64 == n / 4)
        })
        .prepare(prepare),
        Series::new("map, look at one number", BYTES, Little, |folder, n, watch| {
            let options = mapped();
            watch.time(|| {
                let reader = Reader::open_with(flat(folder, n), &options)?;
                expect(reader.view::<f32>()?.get(n as usize / 8) == Some(&1.5))
            })
        })
        .prepare(prepare),
        Series::new("append one number", BYTES, Little, |folder, n, watch| {
            // Each round adds a number to the same file, which does not change its size by much.
            let path = folder.join(format!("appended-{n}.ra"));
            once(path.clone(), |path| Ok(std::fs::copy(flat(folder, n), path).map(drop)?))?;
            Ok(watch.time(|| Editor::open(&path)?.append(&[7f32]))?)
        })
        .prepare(prepare),
        Series::new("write row by row", (MOST, "rows"), Linear, |folder, n, watch| {
            let path = folder.join("streamed.ra");
            if path.exists() {
                std::fs::remove_file(&path)?;
            }
            watch.time(|| {
                let mut stream = StreamWriter::create::<f32>(&path, &[256], &WriteOptions::default())?;
                (0..n).try_for_each(|_| stream.write(&[1.5f32; 256]))?;
                stream.finish().map(drop).map_err(Into::into)
            })
        }),
    ]
}

/// Files are reached by maps.
#[allow(unsafe_code)]
fn mapped() -> OpenOptions {
    // SAFETY: the files are in a folder of their own; nobody changes them while the series runs.
    OpenOptions::default().with_access(unsafe { Access::mapped() })
}

fn flat(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("bytes-{n}.ra"))
}

fn prepare(folder: &Path, n: u64) -> Outcome {
    once(flat(folder, n), |path| write(path, &vec![1.5; n as usize / 4]))
}

fn write(path: &Path, values: &[f32]) -> Outcome {
    Ok(Writer::new(&[values.len() as u64][..]).write(path, values)?)
}
