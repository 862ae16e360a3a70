//! What the tests of the program share.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program, started in a folder: no terminal, no colours, no width that the environment names.
pub(crate) struct Program {
    folder: PathBuf,
    environment: Vec<(&'static str, String)>,
}

impl Program {
    pub(crate) fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), environment: Vec::new() }
    }

    pub(crate) fn in_fixtures() -> Self {
        Self::at(fixtures())
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sciformats"));
        for name in ["NO_COLOR", "COLUMNS", "LINES", "VISUAL"] {
            command.env_remove(name);
        }
        command.current_dir(&self.folder).envs(self.environment.iter().cloned());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command().args(args).output().unwrap()
    }

    /// Stdout of a run that must end with `status`.
    #[track_caller]
    pub(crate) fn stdout(&self, status: i32, args: &[&str]) -> String {
        let output = self.run(args);
        let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(status), "{args:?}\n{out}\n{err}");
        out
    }

    /// Stderr of a run that must end with `status`.
    #[track_caller]
    pub(crate) fn stderr(&self, status: i32, args: &[&str]) -> String {
        let output = self.run(args);
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{args:?}\n{err}");
        err
    }
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// A RawArray file of 64-bit floats, byte by byte as the format states it; the first of `dims` varies fastest.
pub(crate) fn raw_array(path: &Path, dims: &[u64], values: &[f64]) {
    let mut bytes = b"rawarray".to_vec(); // magic
    for word in [0, 3, 8, 8 * values.len() as u64, dims.len() as u64] {
        bytes.extend(word.to_le_bytes()); // flags, eltype, elbyte, size, ndims
    }
    dims.iter().for_each(|dim| bytes.extend(dim.to_le_bytes()));
    values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
    fs::write(path, bytes).unwrap();
}
