//! GSD against the reference library, as Python programs use it.

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;

use gsd_rs::hoomd::{Frame, Trajectory, TrajectoryWriter};
use gsd_rs::{CreateOptions, Reader, Version, Writer};
use harness::{Bench, Case, Outcome, Watch};

/// The file of many particles: chunks of 1,000 × 3 numbers.
const FRAMES: u64 = 10_000;
const FIELDS: [&str; 6] = ["position", "velocity", "acceleration", "force", "torque", "angmom"];
const NUMBERS: usize = 3000;
/// The file of a million entries: chunks of one number.
const MANY: u64 = 100_000;
const NAMES: [&str; 10] = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"];
/// Frames that are read out of order, and what leads from one to the next.
const RANDOM: u64 = 1000;
const STRIDE: u64 = 7919;
/// Frames that are appended one by one.
const APPENDED: usize = 30;
/// Values in a frame of the cases that move data, and how many frames they have.
const LARGE: usize = 300_000;
const LARGE_FRAMES: u64 = 200;

fn main() -> ExitCode {
    let case = |name, goal| Case::new(name, goal);
    Bench::new("gsd", "python/gsd.py")
        .case(
            case("write 10,000 frames × 6 chunks of 1,000 particles", 0.8).fresh().ours(write).python("gsd"),
        )
        .case(case("open a file of 1 M entries", 1.0).prepare(many).ours(open).python("gsd"))
        .case(case("read 1,000 random frames of 10,000 × 6", 0.3).prepare(frames).ours(random).python("gsd"))
        .case(
            case("read 1,000 random frames of 1 M entries", 0.3)
                .prepare(many)
                .ours(random_of_many)
                .python("gsd"),
        )
        .case(case("read 10,000 × 6 chunks in turn", 0.3).prepare(frames).ours(scan).python("gsd"))
        .case(
            case("append a frame to 1 M entries, 30 times", 0.5)
                .prepare(two_of_many)
                .ours(append)
                .python("gsd"),
        )
        .case(case("find 100,000 of a million chunks", 0.5).prepare(many).ours(find).python("gsd"))
        .case(case("read 100,000 small chunks", 0.5).prepare(many).ours(read_small).python("gsd"))
        .case(case("sum 200 frames of 1.2 MB", 0.9).prepare(large).ours(read_large).python("gsd"))
        .case(case("read 100 rows of 200 frames", 0.1).prepare(large).ours(read_rows).python("gsd"))
        .case(case("write 200 frames of 1.2 MB", 1.0).ours(write_large).python("gsd"))
        .case(case("write 100,000 small frames", 0.5).ours(write_small).python("gsd"))
        .case(case("write 200 frames, each flushed", 1.1).ours(write_flushed).python("gsd"))
        .case(case("read 200 HOOMD frames", 0.9).prepare(trajectory).ours(read_frames).python("gsd"))
        .case(case("read the log of 2000 HOOMD frames", 0.5).prepare(log).ours(read_log).python("gsd"))
        .main()
}

fn create(folder: &Path, name: &str) -> Outcome<Writer> {
    Ok(Writer::overwrite(folder.join(name), &CreateOptions::new("bench", "bench", Version::new(1, 0)))?)
}

/// The value of all numbers in a chunk.
fn value(frame: u64, field: usize) -> f32 {
    (frame % 100) as f32 + field as f32 / 8.0
}

fn write_frames(folder: &Path, name: &str) -> Outcome {
    let mut values = vec![0f32; NUMBERS];
    let mut writer = create(folder, name)?;
    for frame in 0..FRAMES {
        for (field, name) in FIELDS.iter().enumerate() {
            values.fill(value(frame, field));
            writer.write(name, 3, &values)?;
        }
        writer.end_frame()?;
    }
    Ok(writer.finish()?)
}

/// Files that several cases read are written once.
fn once(folder: &Path, name: &str, write: impl FnOnce() -> Outcome) -> Outcome {
    if folder.join(name).exists() { Ok(()) } else { write() }
}

fn frames(folder: &Path) -> Outcome {
    once(folder, "frames.gsd", || write_frames(folder, "frames.gsd"))
}

fn many(folder: &Path) -> Outcome {
    once(folder, "many.gsd", || {
        let mut writer = create(folder, "many.gsd")?;
        for frame in 0..MANY {
            for name in NAMES {
                writer.write(name, 1, &[frame])?;
            }
            writer.end_frame()?;
        }
        Ok(writer.finish()?)
    })
}

/// The same file for each side, to append to.
fn two_of_many(folder: &Path) -> Outcome {
    many(folder)?;
    for copy in ["ours-many.gsd", "theirs-many.gsd"] {
        std::fs::copy(folder.join("many.gsd"), folder.join(copy))?;
    }
    Ok(())
}

fn large(folder: &Path) -> Outcome {
    let mut writer = create(folder, "large.gsd")?;
    let values = vec![1.5f32; LARGE];
    for _ in 0..LARGE_FRAMES {
        writer.write("position", 3, &values)?;
        writer.end_frame()?;
    }
    Ok(writer.finish()?)
}

fn expect(right: bool) -> Outcome {
    if right { Ok(()) } else { Err("other values".into()) }
}

/// Writes the file until all of it is durable, on either side.
fn write(folder: &Path, watch: &mut Watch) -> Outcome {
    watch.time(|| write_frames(folder, "ours-frames.gsd"))?;
    Ok(std::fs::remove_file(folder.join("ours-frames.gsd"))?)
}

fn open(folder: &Path, watch: &mut Watch) -> Outcome {
    let path = folder.join("many.gsd");
    let reader = watch.time(|| Reader::open(&path))?;
    expect(reader.frames() == MANY && reader.entries() == 10 * MANY)
}

/// The chunks of a frame; every number is looked at once.
fn look_at(reader: &Reader, frame: u64) -> Outcome {
    for (field, name) in FIELDS.iter().enumerate() {
        let chunk = reader.find(frame, name)?.ok_or("not there")?;
        expect(sum(&reader.read::<f32>(&chunk)?) == value(frame, field) * NUMBERS as f32)?;
    }
    Ok(())
}

fn random(folder: &Path, watch: &mut Watch) -> Outcome {
    let reader = Reader::open(folder.join("frames.gsd"))?;
    watch.time(|| (0..RANDOM).try_for_each(|i| look_at(&reader, i * STRIDE % FRAMES)))
}

fn scan(folder: &Path, watch: &mut Watch) -> Outcome {
    let reader = Reader::open(folder.join("frames.gsd"))?;
    watch.time(|| (0..FRAMES).try_for_each(|frame| look_at(&reader, frame)))
}

fn random_of_many(folder: &Path, watch: &mut Watch) -> Outcome {
    let reader = Reader::open(folder.join("many.gsd"))?;
    watch.time(|| {
        for frame in (0..RANDOM).map(|i| i * STRIDE % MANY) {
            for name in NAMES {
                let chunk = reader.find(frame, name)?.ok_or("not there")?;
                expect(*reader.read::<u64>(&chunk)? == [frame])?;
            }
        }
        Ok(())
    })
}

/// Opens, writes, commits and closes, so often: the time of one alone is the device's whim.
fn append(folder: &Path, watch: &mut Watch) -> Outcome {
    let path = folder.join("ours-many.gsd");
    watch.time(|| {
        for _ in 0..APPENDED {
            let mut writer = Writer::append_to(&path)?;
            for name in NAMES {
                writer.write(name, 1, &[7u64])?;
            }
            writer.end_frame()?;
            writer.finish()?;
        }
        Ok(())
    })
}

fn find(folder: &Path, watch: &mut Watch) -> Outcome {
    let reader = Reader::open(folder.join("many.gsd"))?;
    let found = watch.time(|| -> Outcome<usize> {
        let mut found = 0;
        for frame in 0..MANY {
            found += usize::from(reader.find(frame, NAMES[(frame % 10) as usize])?.is_some());
        }
        Ok(found)
    })?;
    expect(found as u64 == MANY)
}

fn read_small(folder: &Path, watch: &mut Watch) -> Outcome {
    let reader = Reader::open(folder.join("many.gsd"))?;
    let sum = watch.time(|| -> Outcome<u64> {
        let mut sum = 0;
        for frame in 0..MANY {
            let chunk = reader.find(frame, NAMES[(frame % 10) as usize])?.ok_or("not there")?;
            sum += reader.read::<u64>(&chunk)?[0];
        }
        Ok(sum)
    })?;
    expect(sum == MANY * (MANY - 1) / 2)
}

/// What a program does with a frame: looks at every value once. Here the map lends them.
fn read_large(folder: &Path, watch: &mut Watch) -> Outcome {
    let reader = Reader::open(folder.join("large.gsd"))?;
    watch.time(|| {
        for frame in 0..LARGE_FRAMES {
            let chunk = reader.find(frame, "position")?.ok_or("not there")?;
            expect(sum(&reader.read::<f32>(&chunk)?) == 1.5 * LARGE as f32)?;
        }
        Ok(())
    })
}

/// Eight sums at a time, as the other side does.
fn sum(values: &[f32]) -> f32 {
    let (eights, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for eight in eights {
        sums.iter_mut().zip(eight).for_each(|(sum, value)| *sum += value);
    }
    sums.iter().chain(rest).sum()
}

fn read_rows(folder: &Path, watch: &mut Watch) -> Outcome {
    let reader = Reader::open(folder.join("large.gsd"))?;
    watch.time(|| {
        for frame in 0..LARGE_FRAMES {
            let chunk = reader.find(frame, "position")?.ok_or("not there")?;
            let values = reader.read_rows::<f32>(&chunk, 50_000..50_100)?;
            expect(black_box(values.into_owned()).len() == 300)?;
        }
        Ok(())
    })
}

fn write_large(folder: &Path, watch: &mut Watch) -> Outcome {
    let values = vec![1.5f32; LARGE];
    watch.time(|| {
        let mut writer = create(folder, "ours-large.gsd")?;
        for _ in 0..LARGE_FRAMES {
            writer.write("position", 3, &values)?;
            writer.end_frame()?;
        }
        Ok(writer.finish()?)
    })
}

fn write_small(folder: &Path, watch: &mut Watch) -> Outcome {
    watch.time(|| {
        let mut writer = create(folder, "ours-small.gsd")?;
        for frame in 0..MANY {
            writer.write("step", 1, &[frame])?;
            writer.write("energy", 1, &[0.5f64])?;
            writer.end_frame()?;
        }
        Ok(writer.finish()?)
    })
}

fn write_flushed(folder: &Path, watch: &mut Watch) -> Outcome {
    watch.time(|| {
        let mut writer = create(folder, "ours-flushed.gsd")?;
        for frame in 0..200u64 {
            writer.write("step", 1, &[frame])?;
            writer.write("position", 3, &[0.5f32; 3000])?;
            writer.end_frame()?;
            writer.flush()?;
        }
        Ok(writer.finish()?)
    })
}

fn frame(step: u64, n: u32) -> Frame {
    let mut frame = Frame::new(n);
    frame.configuration.step = step;
    frame.particles.position = vec![step as f32; 3 * n as usize].into();
    frame.particles.velocity = vec![step as f32 + 1.0; 3 * n as usize].into();
    frame.log.insert("energy".into(), (step as f64).into());
    frame
}

fn trajectory(folder: &Path) -> Outcome {
    let mut writer = TrajectoryWriter::overwrite(folder.join("trajectory.gsd"), "bench")?;
    (0..200).try_for_each(|step| writer.append(&frame(step, 20_000)))?;
    Ok(writer.finish()?)
}

fn log(folder: &Path) -> Outcome {
    let mut writer = TrajectoryWriter::overwrite(folder.join("log.gsd"), "bench")?;
    (0..2000).try_for_each(|step| writer.append(&frame(step, 10)))?;
    Ok(writer.finish()?)
}

fn read_frames(folder: &Path, watch: &mut Watch) -> Outcome {
    let trajectory = Trajectory::open(folder.join("trajectory.gsd"))?;
    watch.time(|| {
        for i in 0..trajectory.len() {
            let frame = trajectory.frame(i)?;
            expect(black_box(frame).particles.position.get(0) == Some(i as f64))?;
        }
        Ok(())
    })
}

fn read_log(folder: &Path, watch: &mut Watch) -> Outcome {
    let columns = watch.time(|| Trajectory::open(folder.join("log.gsd"))?.read_log())?;
    expect(columns["energy"].to_f64().is_some_and(|values| values.len() == 2000 && values[7] == 7.0))
}
