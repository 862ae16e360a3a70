//! How far particles have moved in a trajectory of HOOMD: `hoomd [FILE]`, which is made if it is not there.
//!
//! Prints the mean squared displacement of each frame from the first one.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::env;
use std::path::{Path, PathBuf};

use gsd_rs::Result;
use gsd_rs::hoomd::{Frame, Trajectory, TrajectoryWriter};

fn main() -> Result<()> {
    let path = PathBuf::from(env::args_os().nth(1).unwrap_or_else(|| "trajectory.gsd".into()));
    if !path.exists() {
        make(&path)?;
    }
    for (step, displacement) in displacements(&path)? {
        println!("step {step}: {displacement:.3}");
    }
    Ok(())
}

/// Returns the step of each frame, and the mean squared displacement of its particles.
pub(crate) fn displacements(path: &Path) -> Result<Vec<(u64, f64)>> {
    let trajectory = Trajectory::open(path)?;
    let position = trajectory.property::<f64>("particles/position", ..)?;
    let first = position.frames().next().unwrap_or_default();
    let squares = |frame: &[f64]| frame.iter().zip(first).map(|(x, old)| (x - old).powi(2)).sum::<f64>();
    // A particle has three coordinates.
    let means = position.frames().map(|frame| 3.0 * squares(frame) / frame.len() as f64);
    Ok(trajectory.steps()?.into_iter().zip(means).collect())
}

/// Writes ten frames of a hundred particles, each of which moves at a speed of its own.
pub(crate) fn make(path: &Path) -> Result<()> {
    let mut trajectory = TrajectoryWriter::create(path, "hoomd example")?;
    let mut frame = Frame::new(100).with_box([100.0f32, 100.0, 100.0, 0.0, 0.0, 0.0]);
    frame.particles.types = vec!["A".into(), "B".into()];
    frame.particles.typeid = (0..100).map(|i| i % 2).collect();
    for step in 0..10u16 {
        frame.configuration.step = u64::from(step) * 1000;
        let along = |i: u16| [f32::from(i) - 50.0, f32::from(i * step) / 100.0, 0.0];
        frame.particles.position = (0..100).flat_map(along).collect();
        trajectory.append(&frame)?;
    }
    trajectory.finish()
}
