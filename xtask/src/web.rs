//! Builds the WebAssembly of `sciformats-web`, the npm package, and the page of the viewer, and tests them in a
//! browser.
//!
//! | what | where it is |
//! |---|---|
//! | the module | `crates/sciformats-web/npm/sciformats.wasm`, which the program takes the page from too |
//! | the package | `target/web/npm/` |
//! | the page | `target/web/page/`, which any web server can serve |

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::args::Args;
use crate::cross::{has_standard_library, starts};
use crate::sh::{About, Failure, Result, cargo, output, root, run, target_folder};

const TARGET: &str = "wasm32-unknown-unknown";

/// The most bytes that the module may have, as it is and compressed, as it is sent.
const MOST: u64 = 2_500_000;
const MOST_COMPRESSED: u64 = 900_000;

/// Where Debian's packages `chromium` and `firefox-esr` put them. Variables of the same names may name others.
const CHROMIUM: &str = "/usr/bin/chromium";
const FIREFOX: &str = "/usr/bin/firefox-esr";

/// The task. With `--test`, the last line is `N passed, N failed, N skipped`.
pub(crate) fn task(mut args: Args) -> Result {
    let if_available = args.flag("--if-available");
    let test = args.flag("--test");
    let tests = Tests {
        mutants: args.number("--mutants")?.unwrap_or(2000),
        only: args.value("--only")?,
        pictures: args.value("--pictures")?.map(PathBuf::from),
    };
    args.end()?;
    match build().and_then(|built| if test { check(&built, &tests) } else { Ok(()) }) {
        Err(failure) if if_available && failure.status == 2 => {
            println!("SKIPPED {failure}");
            Ok(())
        }
        outcome => outcome,
    }
}

/// What is tested.
struct Tests {
    /// The number of damaged files.
    mutants: u64,
    /// The names of the parts that are run, with commas between them; without it, all are run.
    only: Option<String>,
    /// The folder into which pictures of the views are written.
    pictures: Option<PathBuf>,
}

/// The folders that were built.
struct Built {
    page: PathBuf,
    package: PathBuf,
    data: PathBuf,
}

fn build() -> Result<Built> {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = output(Command::new(compiler).args(["--print", "sysroot"]).current_dir(root()))?;
    if !has_standard_library(Path::new(sysroot.trim()), TARGET) {
        return Err(Failure::setup(format!(
            "Rust's standard library for {TARGET} is missing; run `rustup target add {TARGET}`"
        )));
    }
    let mut command = cargo();
    command.args(["rustc", "--profile", "web", "--package", "sciformats-web", "--lib", "--target", TARGET]);
    // The package is also a library for its tests. Cargo optimizes across crates only if that is not made at the same time, which
    // saves an eighth of the module.
    command.args(["--crate-type", "cdylib"]);
    // All browsers of the last years know these instructions. The paths of sources are in the messages of panics, of which the
    // module has hundreds.
    let mut flags = vec!["-C".to_owned(), "target-feature=+simd128".to_owned()];
    flags.extend(registries().into_iter().map(|folder| format!("--remap-path-prefix={}=", folder.display())));
    run(command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f")))?;
    let target = target_folder()?;
    let module = target.join(TARGET).join("web").join("sciformats_web.wasm");
    let web = root().join("crates").join("sciformats-web");
    let tools = install()?;
    let small = web.join("npm").join("sciformats.wasm");
    optimise(&tools, &module, &small)?;
    let built = Built {
        page: target.join("web").join("page"),
        package: target.join("web").join("npm"),
        data: target.join("web").join("data"),
    };
    for folder in [&built.page, &built.package] {
        if folder.exists() {
            fs::remove_dir_all(folder).about(folder)?;
        }
    }
    copy_all(&web.join("npm"), &built.package, &["js", "ts", "json", "md", "wasm"])?;
    copy_all(&web.join("page"), &built.page, &["html", "js", "css", "svg", "webmanifest"])?;
    copy_all(&web.join("page").join("views"), &built.page.join("views"), &["js"])?;
    copy_all(&web.join("npm"), &built.page.join("sciformats"), &["js", "wasm"])?;
    weigh(&small)?;
    println!("the page is in {}, and the package in {}", built.page.display(), built.package.display());
    Ok(built)
}

/// Installs what the build and the tests use of the npm registry, and returns the folder of it.
fn install() -> Result<PathBuf> {
    for program in ["node", "npm"] {
        if !starts(program) {
            return Err(Failure::setup(format!("the viewer needs {program} to be built, which is missing")));
        }
    }
    let tests = root().join("crates").join("sciformats-web").join("tests");
    let modules = tests.join("node_modules");
    if ["binaryen", "playwright-core", "h5wasm", "esbuild"].iter().any(|name| !modules.join(name).exists()) {
        let mut command = Command::new("npm");
        command.args(["install", "--no-audit", "--no-fund", "--no-package-lock"]).current_dir(&tests);
        run(&mut command).map_err(|failure| Failure::setup(failure.message))?;
    }
    Ok(modules)
}

/// The folders into which cargo unpacks the crates of registries.
fn registries() -> Vec<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let entries = home.and_then(|home| fs::read_dir(home.join("registry").join("src")).ok());
    entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Makes the module smaller with the tool of Binaryen. The steps that count only the size make it one part in sixty smaller, and are
/// left out because the size permits it. How they change the time to decode gzip is less than what runs differ by: 0.71 to 0.84 of
/// the time of h5wasm with them, and 0.66 to 0.80 without.
fn optimise(tools: &Path, module: &Path, small: &Path) -> Result {
    let mut command = Command::new("node");
    command.arg(tools.join("binaryen").join("bin").join("wasm-opt")).args(["-O2", "-s", "1"]);
    let features = [
        "simd",
        "bulk-memory",
        "nontrapping-float-to-int",
        "sign-ext",
        "mutable-globals",
        "reference-types",
        "multivalue",
    ];
    command.args(features.map(|feature| format!("--enable-{feature}")));
    run(command.args(["--strip-debug", "--strip-producers"]).arg(module).arg("-o").arg(small))
}

/// Prints the size of the module, and fails if it is too large.
fn weigh(module: &Path) -> Result {
    let size = fs::metadata(module).about(module)?.len();
    let script = "const { brotliCompressSync } = require('zlib'); \
                  console.log(brotliCompressSync(require('fs').readFileSync(process.argv[1])).length)";
    let printed = output(Command::new("node").args(["-e", script]).arg(module))?;
    let compressed = printed.trim().parse::<u64>().map_err(|_| format!("node printed {printed}"))?;
    println!("the module has {size} bytes, and {compressed} as servers compress it (Brotli)");
    if size > MOST || compressed > MOST_COMPRESSED {
        return Err(format!("the module may have {MOST} bytes, and {MOST_COMPRESSED} compressed").into());
    }
    Ok(())
}

/// Runs the tests of the package in node, and those of the page in Chromium, and in Firefox if it is there.
fn check(built: &Built, what: &Tests) -> Result {
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| CHROMIUM.into());
    if !Path::new(&chromium).exists() {
        return Err(Failure::setup(format!("the tests need {chromium}; in Debian, install chromium")));
    }
    let tests = root().join("crates").join("sciformats-web").join("tests");
    run(cargo().args(["build", "--package", "sciformats-cli", "--bin", "sciformats"]))?;
    let name = format!("sciformats{}", std::env::consts::EXE_SUFFIX);
    let program = target_folder()?.join("debug").join(name);
    let mut command = Command::new("node");
    command.arg(tests.join("run.mjs")).current_dir(&tests).env("CHROMIUM", chromium);
    command.arg("--site").arg(&built.page).arg("--package").arg(&built.package);
    command.arg("--program").arg(program).arg("--data").arg(&built.data);
    command.arg("--folder").arg(root().join("fixtures")).args(["--mutants", &what.mutants.to_string()]);
    if let Some(only) = &what.only {
        command.args(["--only", only]);
    }
    if let Some(pictures) = &what.pictures {
        command.arg("--pictures").arg(std::path::absolute(pictures).about(pictures)?);
    }
    let firefox = std::env::var("FIREFOX").unwrap_or_else(|_| FIREFOX.into());
    if Path::new(&firefox).exists() {
        command.env("FIREFOX", firefox);
    } else {
        command.env_remove("FIREFOX");
    }
    run(&mut command)
}

fn copy(from: &Path, to: &Path) -> Result {
    fs::copy(from, to).about(from).map(drop)
}

/// Copies the files of a folder with these endings.
fn copy_all(from: &Path, to: &Path, ends: &[&str]) -> Result {
    fs::create_dir_all(to).about(to)?;
    for entry in fs::read_dir(from).about(from)? {
        let path = entry.about(from)?.path();
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
        if let Some(name) = path.file_name().filter(|_| ends.contains(&end)) {
            copy(&path, &to.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_these_kinds_are_copied() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("deep")).unwrap();
        for name in ["a.js", "b.wasm", "c.txt", "deep/d.js"] {
            fs::write(from.join(name), name).unwrap();
        }
        copy_all(&from, &to, &["js", "wasm"]).unwrap();
        let mut names: Vec<_> = fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["a.js", "b.wasm"]);
    }

    #[test]
    fn unknown_words_are_mistakes() {
        let run = |words: &str| task(Args::new(words.split(' ').map(str::to_owned)));
        assert_eq!(run("--fast").unwrap_err().status, 2);
    }
}
