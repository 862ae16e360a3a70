//! Runs the MPI example, in which ranks write one chunk of a GSD file together. It is a separate workspace,
//! because it needs an MPI library and libclang. The ranks and the reference library read the file that it
//! writes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::args::Args;
use crate::counts::Counts;
use crate::python::Python;
use crate::sh::{About, Failure, Result, cargo, output, root, run, target_folder};

/// The number of ranks, which is larger than the number of processors of many machines.
const RANKS: u64 = 4;

/// The required packages in Debian.
const PACKAGES: &str = "openmpi-bin libopenmpi-dev libclang1";

/// The task. The last line is `N passed, N failed, N skipped`.
pub(crate) fn task(args: Args) -> Result {
    args.end()?;
    let counts = mpi()?;
    println!("{counts}");
    counts.verdict(false)
}

/// For `ci`: if MPI is missing, the run is skipped, and the output says so.
pub(crate) fn if_available() -> Result<Counts> {
    match missing() {
        Some(what) => {
            println!("SKIPPED {what}");
            Ok(Counts { skipped: 1, ..Counts::default() })
        }
        None => mpi(),
    }
}

/// Builds the example, runs it, and checks its file: one check per rank, and one per frame.
fn mpi() -> Result<Counts> {
    if let Some(what) = missing() {
        return Err(Failure::setup(what));
    }
    let target = target_folder()?.join("mpi");
    let folder = root().join("crates").join("gsd-rs").join("mpi");
    let mut build = cargo();
    build.args(["build", "--locked", "--target-dir"]).arg(&target).current_dir(folder);
    if let (None, Some(headers)) = (std::env::var_os("BINDGEN_EXTRA_CLANG_ARGS"), headers()) {
        build.env("BINDGEN_EXTRA_CLANG_ARGS", headers);
    }
    run(&mut build)?;

    let place = target.join("run");
    std::fs::create_dir_all(&place).about(&place)?;
    let file = place.join("ranks.gsd");
    let printed = output(&mut ranks(&target.join("debug").join("gsd-rs-mpi"), &file))?;
    print!("{printed}");
    let passed = printed.lines().filter(|line| line.ends_with(" are right")).count() as u64;
    let mut counts = Counts { passed, failed: RANKS.saturating_sub(passed), skipped: 0 };
    counts += reference(&file)?;
    std::fs::remove_file(&file).about(&file)?;
    Ok(counts)
}

/// Returns `mpirun` with settings that work anywhere: as root, with fewer processors than ranks, in a
/// container, and without a network. MPICH needs none of these variables and ignores them.
fn ranks(program: &Path, file: &Path) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["-n", &RANKS.to_string()]).arg(program).arg(file).current_dir(root());
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("OMPI_MCA_plm", "isolated");
    command.env("OMPI_MCA_btl", "self,vader").env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    command
}

/// Returns what the reference library reads from the file.
fn reference(file: &Path) -> Result<Counts> {
    let skipped = |why: &str| {
        println!("SKIPPED the reference library: {why}");
        Ok(Counts { skipped: 1, ..Counts::default() })
    };
    let python = match Python::prepare() {
        Ok(python) => python,
        Err(failure) => return skipped(&failure.message),
    };
    let format = crate::formats::with_script("mpi", Some("gsd"))?;
    let mut counts = Counts::default();
    for format in format {
        if let Some(lack) = python.lacks(format) {
            return skipped(&lack);
        }
        let printed = output(python.script(&format.script("mpi")).arg(file).arg(RANKS.to_string()))?;
        for line in printed.lines() {
            let value: serde_json::Value = serde_json::from_str(line).about(Path::new(line))?;
            if value["ok"] == true {
                counts.passed += 1;
            } else {
                println!("{line}");
                counts.failed += 1;
            }
        }
    }
    println!("the reference library read {} frames", counts.total());
    Ok(counts)
}

/// Returns what is missing on this machine.
fn missing() -> Option<String> {
    let mut lacks: Vec<&str> = ["mpirun", "mpicc"].into_iter().filter(|name| !is_in_path(name)).collect();
    if std::env::var_os("LIBCLANG_PATH").is_none() && !has_libclang() {
        lacks.push("libclang");
    }
    (!lacks.is_empty()).then(|| format!("MPI needs {}; in Debian, install {PACKAGES}", lacks.join(", ")))
}

fn is_in_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).exists())
}

/// Returns whether a file belongs to libclang; `libclang-cpp`, which other packages contain, is another
/// library.
fn is_libclang(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let versioned =
        name.strip_prefix("libclang-").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    versioned || name.starts_with("libclang.")
}

/// Returns whether libclang is in one of the usual places; for any other place, `LIBCLANG_PATH` names it.
fn has_libclang() -> bool {
    let within = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let mut folders = vec![PathBuf::from("/usr/lib"), "/usr/lib64".into(), "/usr/local/lib".into()];
    folders.extend(within(Path::new("/usr/lib")));
    folders.extend(within(Path::new("/usr/lib")).iter().map(|folder| folder.join("lib")));
    folders.iter().flat_map(|folder| within(folder)).any(|path| path.file_name().is_some_and(is_libclang))
}

/// Returns the folder of the headers of the C compiler, because libclang has none of its own.
fn headers() -> Option<String> {
    let folder = output(Command::new("cc").arg("-print-file-name=include")).ok()?;
    Path::new(folder.trim()).is_absolute().then(|| format!("-idirafter {}", folder.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_looked_for_in_the_path() {
        assert!(is_in_path(if cfg!(windows) { "cmd.exe" } else { "sh" }));
        assert!(!is_in_path("no-such-program-anywhere"));
    }

    #[test]
    fn libclang_is_not_its_interface_for_cpp() {
        let is = |name: &str| is_libclang(OsStr::new(name));
        assert!(
            ["libclang.so", "libclang.so.1", "libclang-14.so.14.0.6", "libclang.dylib"].into_iter().all(is)
        );
        assert!(!["libclang-cpp.so.14", "libclang_rt.asan.so", "libclang"].into_iter().any(is));
    }

    #[test]
    fn what_is_missing_is_named_with_its_packages() {
        let what = missing();
        assert!(what.is_none_or(|what| what.contains("mpi") && what.ends_with(PACKAGES)));
    }
}
