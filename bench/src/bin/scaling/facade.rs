//! The common view of all formats: what the program's commands do to files of many objects.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gsd_rs::{CreateOptions, Version};
use harness::Growth::Linear;
use harness::{Outcome, Series, Watch};
use hdf5_pure::Writer;
use sciformats::{Format, open, walk};
use sciformats_convert::convert::Plan;
use sciformats_convert::{compare, manifest, repack, verify};

use crate::{MOST, expect, once};

const OBJECTS: (u64, &str) = (MOST, "objects");
const FRAMES: (u64, &str) = (MOST, "frames");

/// The memory that a conversion may take, whatever the number of objects up to the largest.
const CONVERTED: u64 = 100 << 20;

pub(crate) fn series() -> Vec<Series> {
    vec![
        Series::new("ls: objects of HDF5", OBJECTS, Linear, |folder, n, watch| {
            let count = watch.time(|| -> Outcome<u64> {
                let file = open(objects(folder, n))?;
                let (mut count, source) = (0, file.source());
                let _ = walk::breadth_first(source, ("/", source.root()), file.limits(), &mut |_| {
                    count += 1;
                    ControlFlow::Continue(())
                });
                Ok(count)
            })?;
            expect(count == n + 1)
        })
        .prepare(prepare),
        Series::new("manifest: objects of HDF5", OBJECTS, Linear, |folder, n, watch| {
            let mut text = Vec::new();
            watch.time(|| -> Outcome {
                Ok(manifest::write(&open(objects(folder, n))?, &mut text).map(drop)?)
            })?;
            expect(text.len() as u64 > n)
        })
        .prepare(prepare),
        Series::new("verify: objects of HDF5", OBJECTS, Linear, |folder, n, watch| {
            let summary = watch
                .time(|| -> Outcome<_> { Ok(verify::verify(&open(objects(folder, n))?, &mut |_| ())) })?;
            expect(summary.objects == n + 1 && summary.findings == 0)
        })
        .prepare(prepare),
        Series::new("diff: objects of HDF5", OBJECTS, Linear, |folder, n, watch| {
            let path = objects(folder, n);
            let same = watch.time(|| -> Outcome<bool> {
                let (a, b) = (open(&path)?, open(&path)?);
                let options = compare::Options::exact();
                Ok(compare::compare(&a, &b, &options, &mut |_| ControlFlow::Continue(())).is_same())
            })?;
            expect(same)
        })
        .prepare(prepare),
        Series::new("convert: objects of HDF5 to ASDF", OBJECTS, Linear, |folder, n, watch| {
            convert(&objects(folder, n), &folder.join("converted.asdf"), Format::Asdf, watch)
        })
        .within_memory(CONVERTED)
        .prepare(prepare),
        Series::new("convert: objects of HDF5 to HDF5", OBJECTS, Linear, |folder, n, watch| {
            convert(&objects(folder, n), &folder.join("converted.h5"), Format::Hdf5, watch)
        })
        .within_memory(CONVERTED)
        .prepare(prepare),
        Series::new("convert: objects of ASDF to HDF5", OBJECTS, Linear, |folder, n, watch| {
            convert(&back(folder, n), &folder.join("converted.h5"), Format::Hdf5, watch)
        })
        .within_memory(CONVERTED)
        .prepare(prepare_back),
        Series::new("convert: objects of ASDF to ASDF", OBJECTS, Linear, |folder, n, watch| {
            convert(&back(folder, n), &folder.join("converted.asdf"), Format::Asdf, watch)
        })
        .within_memory(CONVERTED)
        .prepare(prepare_back),
        Series::new("convert: frames of GSD to HDF5", FRAMES, Linear, |folder, n, watch| {
            convert(&frames(folder, n), &folder.join("converted.h5"), Format::Hdf5, watch)
        })
        .within_memory(CONVERTED)
        .prepare(prepare_frames),
        Series::new("convert: frames of GSD to ASDF", FRAMES, Linear, |folder, n, watch| {
            convert(&frames(folder, n), &folder.join("converted.asdf"), Format::Asdf, watch)
        })
        .within_memory(CONVERTED)
        .prepare(prepare_frames),
    ]
}

fn prepare_back(folder: &Path, n: u64) -> Outcome {
    prepare(folder, n)?;
    once(back(folder, n), |path| convert(&objects(folder, n), path, Format::Asdf, &mut Watch::default()))
}

fn frames(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("converted-frames-{n}.gsd"))
}

fn prepare_frames(folder: &Path, n: u64) -> Outcome {
    once(frames(folder, n), |path| {
        let mut writer =
            gsd_rs::Writer::overwrite(path, &CreateOptions::new("bench", "bench", Version::new(1, 0)))?;
        for i in 0..n {
            writer.write("v", 1, &[i])?;
            writer.end_frame()?;
        }
        Ok(writer.finish()?)
    })
}

fn objects(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("objects-{n}.h5"))
}

fn back(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("objects-{n}.asdf"))
}

fn prepare(folder: &Path, n: u64) -> Outcome {
    once(objects(folder, n), |path| {
        let mut file = Writer::overwrite(path)?;
        for i in 0..n as i32 {
            file.dataset(&format!("{i:06}")).attribute("n", i).write(&[i, i + 1])?;
        }
        Ok(file.finish()?)
    })
}

fn convert(from: &Path, to: &Path, format: Format, watch: &mut Watch) -> Outcome {
    watch.time(|| {
        let file = Arc::new(open(from)?);
        // Like the program: a file keeps its format if it can keep everything else too.
        if file.format() == format {
            return Ok(repack::rewrite(&file, to, &Default::default(), None)?);
        }
        let plan = Plan::new(&file, format, &Default::default())?;
        Ok(plan.write(to, &Default::default())?)
    })
}
