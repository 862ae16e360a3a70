//! Builds what a release consists of, into `target/release-files`: programs, wheels, the npm package, the page, lists of
//! components, checksums; and checks the crates as the registry would.
//!
//! `cargo xtask release --dry-run` builds as much as this machine can, and says what it cannot. Nothing is ever uploaded to a
//! registry by this task. The release workflow calls one part per machine.

mod crates;
mod sbom;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::args::Args;
use crate::book;
use crate::fixtures::{files_below, hex};
use crate::python::Python;
use crate::sh::{About, Failure, Result, cargo, metadata, output, quiet, root, run, target_folder};

/// The file with the checksums of all others.
const SUMS: &str = "SHA256SUMS";

/// The task.
pub(crate) fn task(mut args: Args) -> Result {
    let (dry_run, verify) = (args.flag("--dry-run"), args.flag("--verify"));
    let profile = if args.flag("--debug") { "dev" } else { "release" };
    let part = args.word();
    let argument = args.word();
    args.end()?;
    if !dry_run && part.is_none() {
        return Err(Failure::setup(
            "name a part (program, wheel, npm, page, book, crates, sums, upload) or --dry-run",
        ));
    }
    let target = argument.as_deref();
    match part.as_deref() {
        None => everything(profile, verify),
        Some("program") => told(program(target, profile)),
        Some("wheel") => told(wheel(target, profile)),
        Some("npm") => told(npm()),
        Some("page") => told(page()),
        Some("book") => told(book_pages()),
        Some("crates") => crates::check(verify),
        Some("sums") => told(sums()),
        Some("upload") => upload(target),
        Some(other) => Err(Failure::setup(format!("a release has no part `{other}`"))),
    }
}

/// The result of a part.
enum Part {
    /// These files were written.
    Files(Vec<PathBuf>),
    /// This machine or the project lacks something.
    LeftOut(String),
}

/// Names the files of a part that was asked for. If it cannot be built here, this is a failure of the setup.
fn told(part: Result<Part>) -> Result {
    match part? {
        Part::Files(files) => files.iter().for_each(|file| println!("{}", file.display())),
        Part::LeftOut(why) => return Err(Failure::setup(why)),
    }
    Ok(())
}

/// Builds everything that can be built here. A part that fails does not stop the others.
fn everything(profile: &str, verify: bool) -> Result {
    let folder = files()?;
    if folder.exists() {
        fs::remove_dir_all(&folder).about(&folder)?;
    }
    let mut failed = Vec::new();
    let mut lines = Vec::new();
    let mut note = |part: &str, result: Result<Part>| match result {
        Ok(Part::Files(files)) => {
            for file in files {
                let size = fs::metadata(&file).map_or(0, |data| data.len());
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                lines.push(format!("{part:8} {name}  {size} bytes"));
            }
        }
        Ok(Part::LeftOut(why)) => lines.push(format!("{part:8} left out: {why}")),
        Err(failure) => {
            lines.push(format!("{part:8} FAILED: {failure}"));
            failed.push(part.to_owned());
        }
    };
    note("program", program(None, profile));
    note("wheel", wheel(None, profile));
    note("npm", npm());
    note("page", page());
    note("book", book_pages());
    note("crates", crates::check(verify).map(|()| Part::Files(Vec::new())));
    note("sums", sums());
    println!("\n{}", lines.join("\n"));
    println!("programs and wheels of other platforms are built by .github/workflows/release.yml");
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", ")).into()) }
}

/// The folder of what is built.
fn files() -> Result<PathBuf> {
    Ok(target_folder()?.join("release-files"))
}

/// The version of the project.
fn version() -> Result<String> {
    let metadata = metadata("", false)?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let version = packages
        .filter(|package| package["name"] == "sciformats-cli")
        .find_map(|package| package["version"].as_str().map(str::to_owned));
    version.ok_or_else(|| "cargo metadata names no version of sciformats-cli".into())
}

/// The target of this machine.
fn host() -> Result<String> {
    let text = output(Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("-vV"))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc -vV names no host".into())
}

/// Builds the program, and writes an archive of it with its manual pages, completions and licences, and the list of its
/// components.
fn program(target: Option<&str>, profile: &str) -> Result<Part> {
    let host = host()?;
    let target_name = target.unwrap_or(&host);
    let mut build = cargo();
    build.args([
        "build",
        "--locked",
        "--package",
        "sciformats-cli",
        "--bin",
        "sciformats",
        "--profile",
        profile,
    ]);
    if let Some(target) = target {
        build.args(["--target", target]);
    }
    run(&mut build)?;
    let built = if profile == "dev" { "debug" } else { profile };
    let folder = target_folder()?;
    let folder = target.map_or_else(|| folder.clone(), |target| folder.join(target));
    let suffix = if target_name.contains("windows") { ".exe" } else { "" };
    let binary = folder.join(built).join(format!("sciformats{suffix}"));

    let name = format!("sciformats-{}-{target_name}", version()?);
    let files = files()?;
    let place = files.join(&name);
    fs::create_dir_all(&place).about(&place)?;
    fs::copy(&binary, place.join(format!("sciformats{suffix}"))).about(&binary)?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(root().join(file), place.join(file)).about(&root().join(file))?;
    }
    // Only a program of this machine can be asked for its manual.
    if target_name == host || quiet(Command::new(&binary).arg("--version")).is_ok() {
        let manual = place.join("man");
        fs::create_dir_all(&manual).about(&manual)?;
        run(Command::new(&binary).arg("man").arg(&manual))?;
        let completions = place.join("completions");
        fs::create_dir_all(&completions).about(&completions)?;
        for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
            let script = output(Command::new(&binary).args(["completions", shell]))?;
            let path = completions.join(format!("sciformats.{shell}"));
            fs::write(&path, script).about(&path)?;
        }
    }
    let archive = files.join(format!("{name}.tar.gz"));
    run(Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(&files).arg(&name))?;
    fs::remove_dir_all(&place).about(&place)?;
    let components = files.join(format!("{name}.cdx.json"));
    fs::write(&components, sbom::of("sciformats-cli", target_name)?).about(&components)?;
    Ok(Part::Files(vec![archive, components]))
}

/// Builds a wheel. Those for other machines or other C libraries are linked by zig, which comes as a Python package.
fn wheel(target: Option<&str>, profile: &str) -> Result<Part> {
    let python = Python::prepare_in("venv-release", "requirements-release.txt")?;
    if let Some((pin, reason)) = python.missing().next() {
        return Ok(Part::LeftOut(format!("{pin} cannot be installed: {reason}")));
    }
    let folder = files()?.join("wheels");
    let mut command = Command::new(python.interpreter());
    command.args(["-m", "maturin", "build", "--locked", "--profile", profile, "--interpreter"]);
    command.arg(python.interpreter()).arg("--out").arg(&folder);
    command.current_dir(root().join("crates").join("sciformats-python"));
    if let Some(target) = target {
        command.args(["--target", target]);
        if let Some(policy) = compatibility(target) {
            command.args(["--compatibility", policy, "--zig"]);
        }
    }
    run(&mut command)?;
    let files = files()?;
    let mut written = Vec::new();
    for wheel in files_below(&folder)?.iter().filter(|file| file.ends_with(".whl")) {
        fs::rename(folder.join(wheel), files.join(wheel)).about(&folder)?;
        written.push(files.join(wheel));
    }
    fs::remove_dir_all(&folder).about(&folder)?;
    if written.is_empty() {
        return Err("maturin wrote no wheel".into());
    }
    let host = host()?;
    let target = target.unwrap_or(&host);
    let components = files.join(format!("sciformats-python-{}-{target}.cdx.json", version()?));
    fs::write(&components, sbom::of("sciformats-python", target)?).about(&components)?;
    written.push(components);
    Ok(Part::Files(written))
}

/// The oldest systems on which a wheel for Linux runs.
fn compatibility(target: &str) -> Option<&'static str> {
    match target {
        _ if target.ends_with("-linux-gnu") => Some("manylinux_2_17"),
        _ if target.ends_with("-linux-musl") => Some("musllinux_1_2"),
        _ => None,
    }
}

/// Packs the package for browsers and Node.js.
fn npm() -> Result<Part> {
    let Some(folder) = web() else { return Ok(Part::LeftOut(NO_MODULE.to_owned())) };
    let program = if cfg!(windows) { "npm.cmd" } else { "npm" };
    if quiet(Command::new(program).arg("--version")).is_err() {
        return Ok(Part::LeftOut("npm is not in the path".to_owned()));
    }
    let files = files()?;
    fs::create_dir_all(&files).about(&files)?;
    let before = files_below(&files)?;
    let mut pack = Command::new(program);
    run(pack.args(["pack", "--pack-destination"]).arg(&files).current_dir(folder.join("npm")))?;
    let new =
        files_below(&files)?.into_iter().filter(|file| !before.contains(file) && file.ends_with(".tgz"));
    Ok(Part::Files(new.map(|file| files.join(file)).collect()))
}

/// Archives the page of the viewer: its own files, and those of the package in the folder where it looks for them.
fn page() -> Result<Part> {
    let Some(folder) = web() else { return Ok(Part::LeftOut(NO_MODULE.to_owned())) };
    let files = files()?;
    let place = files.join("page");
    for (from, to) in [("page", place.clone()), ("npm", place.join("sciformats"))] {
        let from = folder.join(from);
        for file in files_below(&from)? {
            let target = to.join(&file);
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent).about(parent)?;
            }
            fs::copy(from.join(&file), &target).about(&target)?;
        }
    }
    let archive = files.join(format!("sciformats-{}-page.tar.gz", version()?));
    run(Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(&files).arg("page"))?;
    fs::remove_dir_all(&place).about(&place)?;
    Ok(Part::Files(vec![archive]))
}

/// Why there is no package and no page.
const NO_MODULE: &str = "crates/sciformats-web/npm has no sciformats.wasm; its own task builds it";

/// The folder of the package for browsers and of the viewer, if the module has been built.
fn web() -> Option<PathBuf> {
    let folder = root().join("crates").join("sciformats-web");
    folder.join("npm").join("sciformats.wasm").exists().then_some(folder)
}

/// Archives the book.
fn book_pages() -> Result<Part> {
    let pages = match book::build() {
        Ok(pages) => pages,
        Err(failure) if failure.status == 2 => return Ok(Part::LeftOut(failure.message)),
        Err(failure) => return Err(failure),
    };
    let files = files()?;
    fs::create_dir_all(&files).about(&files)?;
    let archive = files.join(format!("sciformats-{}-book.tar.gz", version()?));
    run(Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(&pages).arg("."))?;
    Ok(Part::Files(vec![archive]))
}

/// Writes the checksums of all files, in the form that `sha256sum --check` reads.
fn sums() -> Result<Part> {
    let folder = files()?;
    fs::create_dir_all(&folder).about(&folder)?;
    let text = checksums(&folder)?;
    let path = folder.join(SUMS);
    fs::write(&path, text).about(&path)?;
    Ok(Part::Files(vec![path]))
}

fn checksums(folder: &Path) -> Result<String> {
    let mut text = String::new();
    for file in files_below(folder)?.iter().filter(|file| *file != SUMS) {
        let path = folder.join(file);
        let bytes = fs::read(&path).about(&path)?;
        text.push_str(&format!("{}  {file}\n", hex(&Sha256::digest(bytes))));
    }
    Ok(text)
}

/// Makes a draft of a release on the forge, with all files. A person publishes it.
fn upload(tag: Option<&str>) -> Result {
    let tag = tag.ok_or_else(|| Failure::setup("name the tag of the release"))?;
    let expected = format!("v{}", version()?);
    if tag != expected {
        return Err(format!("the tag is {tag}, and the version of the project is {expected}").into());
    }
    let folder = files()?;
    let mut command = Command::new("gh");
    command.args(["release", "create", tag, "--draft", "--verify-tag", "--title", tag, "--notes-file"]);
    command.arg(root().join("CHANGELOG.md")).current_dir(root());
    for file in files_below(&folder)? {
        command.arg(folder.join(file));
    }
    run(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_sorted_and_leave_out_their_own_file() {
        let place = tempfile::tempdir().unwrap();
        for (name, text) in [("b", ""), ("a", "x"), (SUMS, "old")] {
            fs::write(place.path().join(name), text).unwrap();
        }
        let lines = checksums(place.path()).unwrap();
        assert_eq!(
            lines.lines().collect::<Vec<_>>(),
            [
                "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881  a",
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b",
            ]
        );
    }

    #[test]
    fn wheels_for_linux_name_the_oldest_system() {
        assert_eq!(compatibility("x86_64-unknown-linux-gnu"), Some("manylinux_2_17"));
        assert_eq!(compatibility("aarch64-unknown-linux-musl"), Some("musllinux_1_2"));
        assert_eq!(compatibility("aarch64-apple-darwin"), None);
    }

    #[test]
    fn a_part_is_named() {
        let task = |words: &[&str]| task(Args::new(words.iter().map(|word| (*word).to_owned())));
        assert_eq!(task(&[]).unwrap_err().status, 2);
        assert_eq!(task(&["everything"]).unwrap_err().status, 2);
        assert_eq!(task(&["upload"]).unwrap_err().status, 2);
    }
}
