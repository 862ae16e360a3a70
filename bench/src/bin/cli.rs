//! The program against those of the HDF5 library: h5ls, h5repack, h5diff; its manifest against the speed of SHA-256; and what it
//! makes of netCDF files against a limit of time, against the same without decoding, and against xarray.
//!
//! The programs are those of the folder that HDF5_TOOLS names, those on the path, or those of Debian's package, which is
//! fetched and unpacked without being installed. The memory that the table shows is that of the programs.

use std::ffi::OsString;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use harness::{Bench, Case, Outcome, Watch};
use sha2::{Digest, Sha256};

fn main() -> ExitCode {
    let mut bench = Bench::new("cli", "python/hdf5.py");
    for (name, file) in [("ls -r of 100,000 objects, old", OLD), ("ls -r of 100,000 objects, new", NEW)] {
        bench = bench.case(
            Case::new(name, 0.2)
                .prepare(|folder| prepare(folder, "objects"))
                .ours(move |folder, watch| ours(folder, watch, &["ls", "-r", "--all", file]))
                .rust("h5ls", move |folder, watch| tool(folder, watch, "h5ls", &["-r", file])),
        );
    }
    // Of the same filters chunks are taken over as they are; of another level all is packed anew on both sides.
    for (name, filter, level, theirs) in [
        ("repack 512 MiB, the same filters", "zlib", "4", "GZIP=4"),
        ("repack 512 MiB, gzip 4 to gzip 5", "zlib", "5", "GZIP=5"),
        ("repack 512 MiB, gzip to zstd", "zstd", "3", "GZIP=4"),
    ] {
        bench = bench.case(
            Case::new(name, 0.5)
                .prepare(|folder| prepare(folder, "arrays"))
                .ours(move |folder, watch| {
                    let storage = ["--filter", filter, "--level", level, "--threads", "2", "--force"];
                    ours(folder, watch, &[&["repack", GZIP, "repacked.h5"], &storage[..]].concat())
                })
                .rust("h5repack", move |folder, watch| {
                    tool(folder, watch, "h5repack", &["-f", "SHUF", "-f", theirs, GZIP, "h5repacked.h5"])
                }),
        );
    }
    bench = bench.case(
        Case::new("repack 512 MiB, nothing changed", 1.0)
            .prepare(|folder| prepare(folder, "arrays"))
            .ours(|folder, watch| ours(folder, watch, &["repack", NOISE, "repacked.h5", "--force"]))
            // Our copy is on the device before it gets its name. Theirs is brought there too: bytes are all that is copied.
            .rust("h5repack, sync", |folder, watch| {
                tool(folder, watch, "h5repack", &[NOISE, "h5repacked.h5"])?;
                watch.time(|| std::fs::File::open(folder.join("h5repacked.h5"))?.sync_all())?;
                Ok(())
            }),
    );
    for (name, a, b) in [
        ("diff two files of 512 MiB, gzip", GZIP, "gzip-copy.h5"),
        ("diff two files of 512 MiB, contiguous", CONTIGUOUS, "flat-copy.h5"),
    ] {
        bench = bench.case(
            Case::new(name, 0.5)
                .prepare(|folder| prepare(folder, "arrays"))
                .ours(move |folder, watch| ours(folder, watch, &["diff", a, b]))
                .rust("h5diff", move |folder, watch| tool(folder, watch, "h5diff", &[a, b])),
        );
    }
    for (name, command) in [
        ("info of a sparse netCDF file of 10 GB", "info"),
        ("ls of a sparse netCDF file of 10 GB", "ls"),
        ("plot of a sparse netCDF file of 10 GB", "plot"),
    ] {
        bench = bench.case(
            Case::new(name, 1.0)
                .prepare(|folder| prepare(folder, "climate"))
                .ours(move |folder, watch| ours(folder, watch, &[command, SPARSE]))
                .rust("50 ms", |_, watch| {
                    watch.time(|| std::thread::sleep(std::time::Duration::from_millis(50)));
                    Ok(())
                }),
        );
    }
    let decoded = ["cat", PACKED, "/tas", "--format", "npy", "--threads", "2"];
    let stored = [&decoded[..], &["--raw"]].concat();
    bench = bench
        .case(
            Case::new("decode 256 MiB of packed numbers", 1.1)
                .prepare(|folder| prepare(folder, "climate"))
                .ours(move |folder, watch| ours(folder, watch, &decoded))
                .rust("without decoding", move |folder, watch| ours(folder, watch, &stored)),
        )
        .case(
            Case::new("decode 256 MiB of packed numbers, netCDF4", 0.33)
                .prepare(|folder| prepare(folder, "climate"))
                .ours(move |folder, watch| ours(folder, watch, &decoded))
                .python("xarray"),
        );
    bench
        .case(
            // Four fifths of the speed.
            Case::new("manifest of 512 MiB", 1.25)
                .prepare(|folder| prepare(folder, "arrays"))
                .ours(|folder, watch| ours(folder, watch, &["manifest", CONTIGUOUS]))
                .rust("SHA-256", hash),
        )
        .main()
}

const OLD: &str = "objects-old.h5";
const NEW: &str = "objects-new.h5";
const GZIP: &str = "gzip.h5";
const CONTIGUOUS: &str = "flat.h5";
const NOISE: &str = "noise.h5";
const SPARSE: &str = "sparse.nc";
const PACKED: &str = "packed.nc";

/// What cannot be had otherwise is told to the caller.
fn expect(right: bool, what: &str) -> Outcome {
    if right { Ok(()) } else { Err(what.into()) }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The program, as it is built for its users.
fn program(folder: &Path) -> PathBuf {
    match std::env::var_os("SCIFORMATS_PROGRAM") {
        Some(program) => program.into(),
        // The files of the benches are in the folder of what is built.
        None => folder.join("../../release/sciformats"),
    }
}

/// Builds the program and has the files of a case written, unless they are there.
fn prepare(folder: &Path, files: &str) -> Outcome {
    if std::env::var_os("SCIFORMATS_PROGRAM").is_none() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(cargo)
            .args(["build", "--release", "--quiet", "-p", "sciformats-cli", "--target-dir"])
            .arg(folder.join("../.."))
            .current_dir(repository())
            .status()?;
        expect(built.success(), "the program cannot be built")?;
    }
    let done = folder.join(format!("{files}.done"));
    if !done.exists() {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
        let mut command = python();
        match files {
            "climate" => command.args(["-c", NETCDF]).arg(folder),
            "objects" => command.arg(scripts.join("hdf5.py")).args(["prepare", files]).arg(folder),
            _ => command.args(["-c", ARRAYS]).arg(folder).env("PYTHONPATH", scripts),
        };
        expect(command.status()?.success(), "h5py cannot write the files")?;
        std::fs::write(done, "")?;
    }
    tools(folder)
}

/// Arrays of 512 MiB, compressed, in one piece and as noise, that programs of release 1.10 can read; and copies to compare with.
const ARRAYS: &str = "
import h5py, numpy, pathlib, shutil, sys
import hdf5
folder = pathlib.Path(sys.argv[1])
packed = dict(chunks=(256, 256), compression='gzip', compression_opts=4, shuffle=True)
for name, how in (('gzip', packed), ('flat', {})):
    with h5py.File(folder / f'{name}.h5', 'w', libver=('earliest', 'v110')) as file:
        data = file.create_dataset('d', (8192, 16384), '<f4', **how)
        rows = hdf5.ramp((1024, 16384), '<f4')
        for i in range(0, 8192, 1024):
            data[i : i + 1024] = rows
    shutil.copy(folder / f'{name}.h5', folder / f'{name}-copy.h5')
# Stored in 512 MiB, packed: numbers in which nothing can be saved.
with h5py.File(folder / 'noise.h5', 'w', libver=('earliest', 'v110')) as file:
    data = file.create_dataset('d', (8192, 16384), '<f4', chunks=(256, 256), compression='gzip', compression_opts=1)
    random = numpy.random.default_rng(1)
    for i in range(0, 8192, 1024):
        data[i : i + 1024] = random.integers(0, 1 << 32, (1024, 16384), 'u4').view('<f4')
";

/// A netCDF file of 10 GB with a time axis, of which only the last step is stored; and 256 MiB of packed temperatures in chunks.
const NETCDF: &str = "
import netCDF4, numpy, pathlib, sys
folder = pathlib.Path(sys.argv[1])
def axes(file, sizes):
    for name, size, units, values in (
        ('time', sizes[0], 'hours since 2001-01-01', lambda n: numpy.arange(n) * 6.0),
        ('lat', sizes[1], 'degrees_north', lambda n: numpy.linspace(-89.5, 89.5, n)),
        ('lon', sizes[2], 'degrees_east', lambda n: numpy.linspace(0, 359, n)),
    ):
        file.createDimension(name, size)
        axis = file.createVariable(name, 'f8', (name,))
        axis.units = units
        axis[:] = values(size)
    file.Conventions = 'CF-1.11'
with netCDF4.Dataset(folder / 'sparse.nc', 'w') as file:
    axes(file, (40000, 180, 360))
    tas = file.createVariable('tas', 'f4', ('time', 'lat', 'lon'), contiguous=True, fill_value=False)
    tas.units = 'K'
    tas.long_name = 'near-surface air temperature'
    tas[-1] = 280 + numpy.random.default_rng(1).random((180, 360), 'f4')
assert (folder / 'sparse.nc').stat().st_size > 10**10
with netCDF4.Dataset(folder / 'packed.nc', 'w') as file:
    axes(file, (1024, 256, 512))
    tas = file.createVariable('tas', 'i2', ('time', 'lat', 'lon'), zlib=True, complevel=4, shuffle=True,
                              chunksizes=(16, 256, 512), fill_value=numpy.int16(-32767))
    tas.units, tas.scale_factor, tas.add_offset = 'K', numpy.float32(0.01), numpy.float32(273.15)
    tas.set_auto_maskandscale(False)
    random = numpy.random.default_rng(1)
    field = numpy.cumsum(random.integers(-3, 4, (256, 512)), 1)
    for step in range(0, 1024, 16):
        tas[step : step + 16] = field + random.integers(-9, 10, (16, 256, 512))
";

fn python() -> Command {
    Command::new(std::env::var_os("SCIFORMATS_PYTHON").unwrap_or_else(|| "python3".into()))
}

/// Finds the programs of the HDF5 library, and notes the folder that they are in and that of their libraries.
fn tools(folder: &Path) -> Outcome {
    let place = folder.join("hdf5-tools");
    if place.exists() {
        return Ok(());
    }
    let find = "import hdf5_tools\n\
                tools = hdf5_tools.Tools()\n\
                print(tools.folder or '')\n\
                print(tools.environment.get('LD_LIBRARY_PATH', ''))\n";
    let scripts = repository().join("xtask/python");
    let found = python().args(["-c", find]).env("PYTHONPATH", scripts).stderr(Stdio::inherit()).output()?;
    expect(found.status.success(), "there are no programs of the HDF5 library")?;
    Ok(std::fs::write(place, found.stdout)?)
}

/// Runs a program in the folder of the files; what it prints is not kept.
fn timed(mut command: Command, folder: &Path, watch: &mut Watch) -> Outcome {
    command.current_dir(folder).stdout(Stdio::null()).stdin(Stdio::null());
    let status = watch.program(&mut command)?;
    expect(status.success(), "the program does not end well")
}

/// Bytes that each command of ours may take, whatever the file.
const MEMORY: u64 = 256 << 20;

fn ours(folder: &Path, watch: &mut Watch, arguments: &[&str]) -> Outcome {
    let mut command = Command::new(program(folder));
    command.args(arguments);
    timed(command, folder, watch)?;
    expect(
        watch.program_memory().is_none_or(|bytes| bytes <= MEMORY),
        "the program takes more memory than it may",
    )
}

fn tool(folder: &Path, watch: &mut Watch, name: &str, arguments: &[&str]) -> Outcome {
    let found = std::fs::read_to_string(folder.join("hdf5-tools"))?;
    let mut lines = found.lines();
    let path: OsString = match lines.next() {
        Some("") | None => name.into(),
        Some(place) => Path::new(place).join(name).into(),
    };
    let mut command = Command::new(path);
    command.args(arguments);
    if let Some(libraries) = lines.next().filter(|libraries| !libraries.is_empty()) {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    timed(command, folder, watch)
}

/// What the machine can do: bytes in memory, one thread.
fn hash(_: &Path, watch: &mut Watch) -> Outcome {
    let bytes = vec![7u8; 512 << 20];
    let digest = watch.time(|| Sha256::digest(&bytes));
    expect(black_box(digest).len() == 32, "no digest")
}
