//! HDF5 against the C library called from C, h5py, and crates.

mod access;
mod facade;
mod read;
mod write;

use std::path::Path;
use std::process::{Command, ExitCode};

use harness::{Bench, Outcome};

fn main() -> ExitCode {
    let groups = [
        ("reading", read::cases()),
        ("reading, beside crates", read::cases_with_crates()),
        ("reading, through the facade", facade::cases()),
        ("reading, positioned beside mapped", access::cases()),
        ("writing", write::cases()),
        ("writing, beside crates", write::cases_with_crates()),
    ];
    let all =
        groups.into_iter().flat_map(|(table, cases)| cases.into_iter().map(move |case| case.table(table)));
    all.fold(Bench::new("hdf5", "python/hdf5.py"), Bench::case).main()
}

/// Names live as long as the program: there are a few dozens.
fn text(parts: std::fmt::Arguments<'_>) -> &'static str {
    Box::leak(parts.to_string().into_boxed_str())
}

/// Has h5py write the files of a case, unless they are there.
fn prepare(folder: &Path, files: &str) -> Outcome {
    let done = folder.join(format!("{files}.done"));
    if done.exists() {
        return Ok(());
    }
    let python = std::env::var_os("SCIFORMATS_PYTHON").unwrap_or_else(|| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/hdf5.py");
    let status = Command::new(python).arg(script).args(["prepare", files]).arg(folder).status()?;
    expect(status.success())?;
    Ok(std::fs::write(done, "")?)
}

fn expect(right: bool) -> Outcome {
    if right { Ok(()) } else { Err("other values".into()) }
}
