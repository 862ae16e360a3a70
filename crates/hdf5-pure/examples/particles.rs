//! Stores structs as rows of a table, and reads rows and single columns: `particles [FILE]`.
#![allow(clippy::print_stdout, reason = "printing is the purpose of the example")]

use std::env;
use std::path::{Path, PathBuf};

use hdf5_pure::{File, Result, Writer};

hdf5_pure::record! {
    /// A row of the table.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Particle {
        pub(crate) id: u64,
        pub(crate) r#type: String,
        pub(crate) mass: f64,
        pub(crate) position: [f32; 3],
        pub(crate) charged: bool,
    }
}

fn main() -> Result<()> {
    let path = PathBuf::from(env::args_os().nth(1).unwrap_or_else(|| "particles.h5".into()));
    println!("the mass is {}", run(&path)?);
    Ok(())
}

/// Writes some particles and reads them again. Returns the sum of their masses.
pub(crate) fn run(path: &Path) -> Result<f64> {
    let charged = |id: u64| id.is_multiple_of(2);
    let row = |id: u64| Particle {
        id,
        r#type: if charged(id) { "proton" } else { "neutron" }.into(),
        mass: 1.5,
        position: [id as f32, 0.0, 0.5],
        charged: charged(id),
    };
    let all: Vec<Particle> = (0..10).map(row).collect();
    let mut file = Writer::create(path)?;
    file.dataset("particles").max_shape([None]).write(&all)?;
    file.finish()?;

    let particles = File::open(path)?.dataset("particles")?;
    assert_eq!(particles.read_slice::<Particle>(2..4)?, all[2..4]);
    let kinds: Vec<String> = particles.read_field("type")?;
    assert_eq!(kinds[..2], ["proton", "neutron"]);
    let masses: Vec<f64> = particles.read_field("mass")?;
    Ok(masses.iter().sum())
}
