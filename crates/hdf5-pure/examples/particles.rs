//! Stores structs as rows of a table, and reads rows and single columns: `particles [FILE]`.
#![allow(clippy::print_stdout, reason = "printing is the purpose of the example")]

use std::env;
use std::path::{Path, PathBuf};

use hdf5_pure::{File, Record, Result};

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Record)]
pub(crate) struct Particle {
    pub(crate) id: u64,
    pub(crate) r#type: String,
    pub(crate) mass: f64,
    pub(crate) position: [f32; 3],
    pub(crate) charged: bool,
}

fn main() -> Result<()> {
    let path = PathBuf::from(env::args_os().nth(1).unwrap_or_else(|| "particles.h5".into()));
    println!("the mass is {}", run(&path)?);
    Ok(())
}

/// Writes some particles and reads them again. Returns the sum of their masses.
pub(crate) fn run(path: &Path) -> Result<f64> {
    let row = |id: u64| {
        let (kind, charged) = if id.is_multiple_of(2) { ("proton", true) } else { ("neutron", false) };
        Particle { id, r#type: kind.into(), mass: 1.5, position: [id as f32, 0.0, 0.5], charged }
    };
    let all: Vec<Particle> = (0..10).map(row).collect();
    hdf5_pure::write(path, |file| file.dataset("particles").unlimited().write(&all))?;

    let particles = File::open(path)?.dataset("particles")?;
    assert_eq!(particles.read_slice::<Particle>(2..4)?, all[2..4]);
    assert_eq!(particles.read_field::<String>("type")?[..2], ["proton", "neutron"]);
    Ok(particles.read_field::<f64>("mass")?.iter().sum())
}
