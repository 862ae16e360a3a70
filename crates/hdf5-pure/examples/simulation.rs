//! A simulation that keeps its rows even if it is interrupted, and continues where it stopped: `simulation FILE STEPS`.
#![allow(clippy::print_stdout, reason = "printing is the purpose of the example")]

use std::path::Path;

use hdf5_pure::{Editor, Error, Result};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, steps] = &arguments[..] else {
        return Err(Error::usage("arguments", "must be FILE and STEPS"));
    };
    let steps = steps.parse().map_err(|_| Error::usage("STEPS", "is not a number"))?;
    println!("{} steps are in {path}", run(path.as_ref(), steps)?);
    Ok(())
}

/// Adds steps to the file. Returns the number of steps that the file has afterwards.
pub(crate) fn run(path: &Path, steps: u64) -> Result<u64> {
    let mut file = Editor::open_or_create(path, |new| {
        new.root().attribute("software", "simulation 1.0")?;
        new.dataset("position").rows([3]).chunks([1024, 3]).attribute("units", "nm").write::<f32>(&[])
    })?;
    let done = file.open_dataset("position")?.shape().first().copied().unwrap_or(0);
    for step in done..done + steps {
        let time = step as f32 / 8.0;
        file.open_dataset("position")?.append(&[time, time * time, 1.0])?;
        if step % 100 == 0 {
            file.commit()?; // from now on, the rows so far are kept even if the process is killed
        }
    }
    file.commit()?;
    Ok(done + steps)
}
