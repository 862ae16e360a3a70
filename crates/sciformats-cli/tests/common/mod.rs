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

/// A netCDF-4 file: four days of packed temperatures on a grid of 3 by 4 places, one of them missing.
pub(crate) fn climate(path: &Path) {
    use sciformats_conventions::write::NetCdf;
    let mut file = NetCdf::create(path).unwrap();
    file.global("Conventions", "CF-1.11").unwrap();
    file.global("title", "four days in July").unwrap();
    let time = file.unlimited("time", 4).unwrap();
    let lat = file.dimension("lat", 3).unwrap();
    let lon = file.dimension("lon", 4).unwrap();
    file.dimension("bnds", 2).unwrap();
    let days = file.variable("time", &[time], &[0.0f64, 1.0, 2.0, 3.0], None).unwrap();
    file.attribute(days, "units", "days since 2001-07-01").unwrap();
    let degrees = file.variable("lat", &[lat], &[50.0f32, 52.5, 55.0], None).unwrap();
    file.attribute(degrees, "units", "degrees_north").unwrap();
    let degrees = file.variable("lon", &[lon], &[0.0f32, 2.5, 5.0, 7.5], None).unwrap();
    file.attribute(degrees, "units", "degrees_east").unwrap();
    let value = |i: u32| if i == 5 { f64::NAN } else { 280.0 + f64::from(i) / 4.0 };
    let values: Vec<f64> = (0..48).map(value).collect();
    let tas = file.packed("tas", &[time, lat, lon], (&values, 0.25, 280.0)).unwrap();
    file.attribute(tas, "units", "K").unwrap();
    file.attribute(tas, "long_name", "near-surface air temperature").unwrap();
    let sky = file.variable("sky", &[lat], &[0i8, 2, 1], None).unwrap();
    file.attribute(sky, "flag_values", [0i8, 1, 2]).unwrap();
    file.attribute(sky, "flag_meanings", "clear cloudy rain").unwrap();
    let height = file.variable("height", &[], &[2.0f64], None).unwrap();
    file.attribute(height, "units", "m").unwrap();
    file.finish().unwrap();
}

/// An `AnnData` file: a table of cells with categories and missing numbers, and a sparse matrix of counts.
pub(crate) fn cells(path: &Path) {
    use sciformats::hdf5_pure::Writer;
    let mut file = Writer::create(path).unwrap();
    let mut root = file.root();
    root.attribute("encoding-type", "anndata").unwrap().attribute("encoding-version", "0.1.0").unwrap();
    let mut obs = root.group("obs").unwrap();
    obs.attribute("encoding-type", "dataframe").unwrap().attribute("_index", "cell").unwrap();
    obs.attribute("column-order", ["kind", "count", "few"]).unwrap();
    let mut kind = obs.group("kind").unwrap();
    kind.attribute("encoding-type", "categorical").unwrap();
    let mut few = obs.group("few").unwrap();
    few.attribute("encoding-type", "nullable-integer").unwrap();
    let mut x = root.group("X").unwrap();
    x.attribute("encoding-type", "csr_matrix").unwrap().attribute("shape", [4i64, 3]).unwrap();
    file.dataset("obs/cell").write(&["AAC", "AAG", "ACT", "CGA"]).unwrap();
    file.dataset("obs/count").write(&[0.5f32, 1.5, f32::NAN, 3.5]).unwrap();
    file.dataset("obs/kind/codes").write(&[0i8, 1, -1, 0]).unwrap();
    file.dataset("obs/kind/categories").write(&["T cell", "B cell"]).unwrap();
    file.dataset("obs/few/values").write(&[7i64, 0, 9, 1]).unwrap();
    file.dataset("obs/few/mask").write(&[false, true, false, false]).unwrap();
    file.dataset("X/data").write(&[1.0f32, 2.0, 5.0]).unwrap();
    file.dataset("X/indices").write(&[2i32, 0, 1]).unwrap();
    file.dataset("X/indptr").write(&[0i32, 1, 2, 2, 3]).unwrap();
    file.finish().unwrap();
}

/// A table of points on a spiral.
pub(crate) fn spiral(path: &Path) {
    use sciformats::hdf5_pure::{Datatype, Writer};
    let element = Datatype::compound([
        ("x", Datatype::float64()),
        ("y", Datatype::float64()),
        ("t", Datatype::float64()),
    ]);
    let mut bytes = Vec::new();
    for step in 0..200 {
        let t = f64::from(step) / 10.0;
        for number in [t * t.cos(), t * t.sin(), t] {
            bytes.extend(number.to_le_bytes());
        }
    }
    let mut file = Writer::create(path).unwrap();
    file.dataset("spiral").shape([200]).datatype(element).write_raw(&bytes).unwrap();
    file.finish().unwrap();
}

/// A photo of 12 by 20 places in red, green and blue.
pub(crate) fn photo(path: &Path) {
    use sciformats::hdf5_pure::Writer;
    let mut colours = Vec::new();
    for row in 0..12u8 {
        for column in 0..20u8 {
            colours.extend([row * 20, column * 12, 128]);
        }
    }
    let mut file = Writer::create(path).unwrap();
    let image = file
        .dataset("photo")
        .shape([12, 20, 3])
        .attribute("CLASS", "IMAGE")
        .attribute("IMAGE_SUBCLASS", "IMAGE_TRUECOLOR");
    image.attribute("INTERLACE_MODE", "INTERLACE_PIXEL").write(&colours).unwrap();
    file.finish().unwrap();
}
