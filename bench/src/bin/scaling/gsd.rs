//! GSD: frames, names, bytes.

use std::path::{Path, PathBuf};

use gsd_rs::hoomd::{Frame, Trajectory, TrajectoryWriter};
use gsd_rs::{CreateOptions, Reader, Version, Writer};
use harness::Growth::{Linear, Little};
use harness::{Outcome, Series};

use crate::{BYTES, MOST, expect, once};

const FRAMES: (u64, &str) = (MOST, "frames");
const NAMES: (u64, &str) = (60_000, "names");

pub(crate) fn series() -> impl Iterator<Item = Series> {
    frames().into_iter().chain(names_and_bytes())
}

fn frames() -> Vec<Series> {
    vec![
        Series::new("write frames", FRAMES, Linear, |folder, n, watch| {
            watch.time(|| write_frames(&folder.join("written.gsd"), n))
        }),
        Series::new("open, read one frame", FRAMES, Little, |folder, n, watch| {
            let found = watch.time(|| -> Outcome<u64> {
                let reader = Reader::open(framed(folder, n))?;
                let chunk = reader.find(n / 2, "step")?.ok_or("not there")?;
                Ok(reader.read::<u64>(&chunk)?[0])
            })?;
            expect(found == n / 2)
        })
        .prepare(prepare_frames),
        Series::new("read all frames", FRAMES, Linear, |folder, n, watch| {
            let sum = watch.time(|| -> Outcome<u64> {
                let reader = Reader::open(framed(folder, n))?;
                let chunk = |i| -> Outcome<u64> {
                    Ok(reader.read::<u64>(&reader.find(i, "step")?.ok_or("not there")?)?[0])
                };
                (0..n).map(chunk).sum()
            })?;
            expect(sum == n * (n - 1) / 2)
        })
        .prepare(prepare_frames),
        Series::new("append one frame", FRAMES, Little, |folder, n, watch| {
            // Each round adds a frame to the same file, which does not change its size by much.
            let path = folder.join(format!("appended-{n}.gsd"));
            once(path.clone(), |path| Ok(std::fs::copy(framed(folder, n), path).map(drop)?))?;
            watch.time(|| {
                let mut writer = Writer::append_to(&path)?;
                writer.write("step", 1, &[7u64])?;
                writer.end_frame()?;
                Ok(writer.finish()?)
            })
        })
        .prepare(prepare_frames),
    ]
}

fn names_and_bytes() -> Vec<Series> {
    vec![
        Series::new("write names", NAMES, Linear, |folder, n, watch| {
            watch.time(|| write_names(&folder.join("written.gsd"), n))
        }),
        Series::new("open, find every name", NAMES, Linear, |folder, n, watch| {
            watch.time(|| {
                let reader = Reader::open(named(folder, n))?;
                (0..n).try_for_each(|i| expect(reader.find(0, &format!("name {i}"))?.is_some()))
            })
        })
        .prepare(|folder, n| once(named(folder, n), |path| write_names(path, n))),
        Series::new("write HOOMD frames, read the log", (10_000, "frames"), Linear, |folder, n, watch| {
            let path = folder.join("written.gsd");
            watch.time(|| {
                let mut writer = TrajectoryWriter::overwrite(&path, "bench")?;
                for step in 0..n {
                    let mut frame = Frame::new(10);
                    frame.configuration.step = step;
                    frame.particles.position = vec![step as f32; 30].into();
                    frame.log.insert("energy".into(), (step as f64).into());
                    writer.append(&frame)?;
                }
                writer.finish()?;
                expect(Trajectory::open(&path)?.read_log()?.contains_key("energy"))
            })
        }),
        Series::new("write bytes", BYTES, Linear, |folder, n, watch| {
            let values = vec![1.5f32; n as usize / 4];
            watch.time(|| write_bytes(&folder.join("written.gsd"), &values))
        }),
        Series::new("read bytes", BYTES, Linear, |folder, n, watch| {
            let sum = watch.time(|| -> Outcome<f32> {
                let reader = Reader::open(flat(folder, n))?;
                let chunk = reader.find(0, "position")?.ok_or("not there")?;
                Ok(reader.read::<f32>(&chunk)?.iter().sum())
            })?;
            expect(sum > 0.0)
        })
        .prepare(|folder, n| once(flat(folder, n), |path| write_bytes(path, &vec![1.5; n as usize / 4]))),
    ]
}

fn framed(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("frames-{n}.gsd"))
}

fn named(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("names-{n}.gsd"))
}

fn flat(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("bytes-{n}.gsd"))
}

fn prepare_frames(folder: &Path, n: u64) -> Outcome {
    once(framed(folder, n), |path| write_frames(path, n))
}

fn create(path: &Path) -> Outcome<Writer> {
    Ok(Writer::overwrite(path, &CreateOptions::new("bench", "bench", Version::new(1, 0)))?)
}

fn write_frames(path: &Path, n: u64) -> Outcome {
    let mut writer = create(path)?;
    for step in 0..n {
        writer.write("step", 1, &[step])?;
        writer.write("energy", 1, &[0.5f64])?;
        writer.end_frame()?;
    }
    Ok(writer.finish()?)
}

fn write_names(path: &Path, n: u64) -> Outcome {
    let mut writer = create(path)?;
    for i in 0..n {
        writer.write(&format!("name {i}"), 1, &[i])?;
    }
    writer.end_frame()?;
    Ok(writer.finish()?)
}

fn write_bytes(path: &Path, values: &[f32]) -> Outcome {
    let mut writer = create(path)?;
    writer.write("position", 1, values)?;
    writer.end_frame()?;
    Ok(writer.finish()?)
}
