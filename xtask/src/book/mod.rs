//! Builds the book from `docs/`, and checks what is in it: its table of contents, figures, pictures, links and examples.
//!
//! The pages stay where they are read on a forge, so a copy of `docs/` is built in which links that leave the folder lead to
//! the repository. The book itself needs mdBook, which is taken from the path, or installed into `target/tools`. Everything
//! but the built pages is checked without it too.

mod figures;
mod html;
mod screen;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::args::Args;
use crate::fixtures::files_below;
use crate::sh::{About, Failure, Result, cargo, quiet, root, run, target_folder};

/// The version of mdBook that is installed if the path has none.
const MDBOOK: &str = "0.5.4";

/// Where files of the project that are not part of the book are shown.
const REPOSITORY: &str = "https://github.com/sciformats/sciformats";

const SUMMARY: &str = "SUMMARY.md";

/// The task.
pub(crate) fn task(mut args: Args) -> Result {
    let (renew, without_examples) = (args.flag("--renew"), args.flag("--without-examples"));
    args.end()?;
    check(renew)?;
    screen::check(&root().join("docs"), renew)?;
    if !without_examples {
        examples(renew)?;
    }
    let pages = build()?;
    println!("{}", pages.join("index.html").display());
    Ok(())
}

/// Checks what can be checked without building anything: the table of contents, and the figures that are quoted from other
/// documents. With `renew`, figures are written anew, and pages that are not in the table of contents get a line there.
pub(crate) fn check(renew: bool) -> Result {
    let docs = root().join("docs");
    let mut summary = read(&docs.join(SUMMARY))?;
    let files = files_below(&docs)?;
    let pages: Vec<&str> = files.iter().map(String::as_str).filter(|file| file.ends_with(".md")).collect();
    if renew {
        for page in lacking(&summary, &pages) {
            let text = read(&docs.join(page))?;
            let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(page).to_owned();
            summary = listed_too(&summary, &title, page);
            println!("docs/{SUMMARY} has a line for {page} now; move it to its place");
        }
        fs::write(docs.join(SUMMARY), &summary).about(&docs.join(SUMMARY))?;
    }
    let wrong = contents(&summary, &pages);
    if !wrong.is_empty() {
        return Err(wrong.join("\n").into());
    }
    println!("{} pages are in the table of contents", pages.len() - 1);
    let mut sources = String::new();
    for file in files_below(&root().join("crates"))?.iter().filter(|file| file.ends_with("/src/lib.rs")) {
        sources.push_str(&read(&root().join("crates").join(file))?);
    }
    for page in pages {
        if has_rust(&read(&docs.join(page))?) && !sources.contains(&format!("docs/{page}\")")) {
            return Err(format!(
                "docs/{page}: no library runs its examples: add it to the module `book` of one"
            )
            .into());
        }
    }
    figures::check(&docs, renew)
}

/// The pages that the table of contents names.
fn listed(summary: &str) -> impl Iterator<Item = &str> {
    summary.lines().filter_map(|line| line.rsplit_once("](").and_then(|(_, rest)| rest.strip_suffix(')')))
}

/// The pages that the table of contents lacks.
fn lacking<'a>(summary: &str, pages: &[&'a str]) -> Vec<&'a str> {
    let is_listed = |page: &str| page == SUMMARY || listed(summary).any(|name| name == page);
    pages.iter().copied().filter(|page| !is_listed(page)).collect()
}

/// The table of contents with one more page, at the end of the reference.
fn listed_too(summary: &str, title: &str, page: &str) -> String {
    let at = summary.find("\n# How it works").unwrap_or(summary.len());
    let (before, after) = summary.split_at(at);
    format!("{}\n- [{title}]({page})\n{after}", before.trim_end())
}

/// What is wrong with the table of contents: pages that it lacks or names twice, and names without a page.
fn contents(summary: &str, pages: &[&str]) -> Vec<String> {
    let listed: Vec<&str> = listed(summary).collect();
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for page in &listed {
        if !pages.contains(page) {
            wrong.push(format!("docs/{SUMMARY}: there is no page `{page}`"));
        }
        if !seen.insert(page) {
            wrong.push(format!("docs/{SUMMARY}: `{page}` is there twice"));
        }
    }
    let lacking = lacking(summary, pages).into_iter();
    wrong.extend(
        lacking.map(|page| {
            format!("docs/{SUMMARY}: the page `{page}` is not in it; add a line, or use --renew")
        }),
    );
    wrong
}

/// Whether a page has examples in Rust that are compiled.
fn has_rust(page: &str) -> bool {
    page.lines().any(|line| line.starts_with("```rust") && !line.contains("ignore"))
}

/// Runs the examples: Rust as tests of documentation, sessions of the program with what they print (with `renew`, what they
/// print is written), and Python with the wheel, if `cargo xtask wheel` has installed it.
fn examples(renew: bool) -> Result {
    let mut sessions = cargo();
    sessions.args(["test", "--package", "sciformats-cli", "--test", "all", "readme::"]);
    if renew {
        sessions.env("SCIFORMATS_RENEW", "1");
    }
    run(&mut sessions)?;
    for package in ["sciformats", "sciformats-convert"] {
        let filter = if package == "sciformats" { "README" } else { "docs" };
        run(cargo().args(["test", "--package", package, "--doc", "--all-features", "--", filter]))?;
    }
    let python = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    let python = root().join("target").join("venv-wheel").join(python);
    let there = |python: &Path| {
        let mut command = Command::new(python);
        command.args(["-c", "import sciformats"]).stdin(Stdio::null());
        quiet(&mut command).is_ok()
    };
    if !there(&python) {
        println!("skipped: the examples in Python need the wheel; `cargo xtask wheel` installs it");
        return Ok(());
    }
    let mut command = Command::new(python);
    command.arg(root().join("xtask").join("python").join("book_examples.py")).arg(root());
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUTF8", "1");
    run(&mut command)
}

/// Builds the book, checks its links, and returns the folder of its pages.
pub(crate) fn build() -> Result<PathBuf> {
    let place = target_folder()?.join("book");
    if place.exists() {
        fs::remove_dir_all(&place).about(&place)?;
    }
    let (source, pages) = (place.join("docs"), place.join("html"));
    stage(&root(), &source)?;
    let mdbook = mdbook()?;
    let mut command = Command::new(&mdbook);
    run(command.arg("build").arg(&source).arg("--dest-dir").arg(&pages))?;
    let checked = html::check(&pages)?;
    println!("{checked}");
    Ok(pages)
}

/// Copies `docs/`. Links to other parts of the project become links to the repository.
fn stage(project: &Path, target: &Path) -> Result {
    let docs = project.join("docs");
    for file in files_below(&docs)? {
        let (from, to) = (docs.join(&file), target.join(&file));
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).about(folder)?;
        }
        // mdBook itself gives the first pages of folders their names in the table of contents.
        if file.ends_with(".md") && file != SUMMARY {
            let text = outward(&read(&from)?, &file, |path| project.join(path).is_dir());
            fs::write(&to, text).about(&to)?;
        } else {
            fs::copy(&from, &to).about(&from)?;
        }
    }
    Ok(())
}

/// Replaces the links of a page that leave `docs/`. `page` is its path in `docs/`.
fn outward(text: &str, page: &str, is_folder: impl Fn(&str) -> bool) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("](") {
        let (before, after) = rest.split_at(at + 2);
        let target = after.split([')', ' ']).next().unwrap_or_default();
        result.push_str(before);
        match leaves(page, target) {
            Some(path) => {
                let (path, heading) = path.split_once('#').map_or((path.as_str(), ""), |(path, _)| {
                    (path, target.find('#').map_or("", |at| &target[at..]))
                });
                let kind = if is_folder(path) { "tree" } else { "blob" };
                result.push_str(&format!("{REPOSITORY}/{kind}/main/{path}{heading}"));
            }
            // The first page of a folder is built as its index.
            None => result.push_str(&first_page(target)),
        }
        rest = &after[target.len()..];
    }
    result + rest
}

/// A link to the first page of a folder, by the name that it has in the book.
fn first_page(target: &str) -> String {
    let (path, heading) = target.find('#').map_or((target, ""), |at| target.split_at(at));
    match path.strip_suffix("README.md").filter(|_| !target.contains("://")) {
        Some(folder) => format!("{folder}index.md{heading}"),
        None => target.to_owned(),
    }
}

/// The path in the project of a target outside of `docs/`; `None` if the target is inside, or somewhere in the web.
fn leaves(page: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with(['#', '/']) {
        return None;
    }
    let mut folders: Vec<&str> = page.split('/').collect();
    folders.pop();
    let mut outside = false;
    for part in target.split('/') {
        match part {
            ".." => {
                if folders.pop().is_none() {
                    outside = true;
                }
            }
            "." | "" => {}
            name => folders.push(name),
        }
    }
    outside.then(|| folders.join("/"))
}

/// Returns the program mdBook: of the path, or of `target/tools`, where it is installed if it is missing.
fn mdbook() -> Result<PathBuf> {
    let runs = |program: &Path| quiet(Command::new(program).arg("--version")).is_ok();
    let tools = root().join("target").join("tools");
    let own = tools.join("bin").join(format!("mdbook{}", std::env::consts::EXE_SUFFIX));
    for program in [PathBuf::from("mdbook"), own.clone()] {
        if runs(&program) {
            return Ok(program);
        }
    }
    let mut install = cargo();
    install.args(["install", "mdbook", "--version", MDBOOK, "--locked", "--no-default-features"]);
    install.args(["--features", "search", "--root"]).arg(&tools);
    if let Err(failure) = run(&mut install) {
        return Err(Failure::setup(format!(
            "mdBook is not in the path and cannot be installed, so the pages were checked, but not built: {failure}"
        )));
    }
    Ok(own)
}

/// Reads a text.
fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).about(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_contents_has_each_page_once() {
        let summary = "# S\n[A](README.md)\n- [B](b.md)\n  - [C](x/c.md)\n- [C](x/c.md)\n- [D](d.md)\n";
        let wrong = contents(summary, &["SUMMARY.md", "README.md", "b.md", "x/c.md", "e.md"]);
        assert_eq!(
            wrong,
            [
                "docs/SUMMARY.md: `x/c.md` is there twice",
                "docs/SUMMARY.md: there is no page `d.md`",
                "docs/SUMMARY.md: the page `e.md` is not in it; add a line, or use --renew",
            ]
        );
        assert!(contents("[A](README.md)", &["SUMMARY.md", "README.md"]).is_empty());
        let more = listed_too("# R\n\n- [B](b.md)\n\n# How it works\n\n- [C](c.md)\n", "E", "e.md");
        assert_eq!(more, "# R\n\n- [B](b.md)\n- [E](e.md)\n\n# How it works\n\n- [C](c.md)\n");
    }

    #[test]
    fn links_that_leave_the_book_lead_to_the_repository() {
        let text = "[a](../../README.md#x-y), [b](../b.md), [c](https://x.example/(y), [d](#here) and [e](../../crates)";
        let shown = outward(text, "formats/gsd.md", |path| path == "crates");
        assert_eq!(first_page("x/README.md#y"), "x/index.md#y");
        assert_eq!(first_page("https://x.example/README.md"), "https://x.example/README.md");
        assert_eq!(
            shown,
            format!(
                "[a]({REPOSITORY}/blob/main/README.md#x-y), [b](../b.md), [c](https://x.example/(y), [d](#here) and \
                 [e]({REPOSITORY}/tree/main/crates)"
            )
        );
    }

    #[test]
    fn a_copy_has_its_links_changed_but_not_its_table_of_contents() {
        let place = tempfile::tempdir().unwrap();
        let docs = place.path().join("docs");
        fs::create_dir_all(docs.join("x")).unwrap();
        for (file, text) in [
            (SUMMARY, "[A](README.md)\n"),
            ("README.md", "a"),
            ("x/b.md", "[a](../README.md) [t](../../T)\n"),
        ] {
            fs::write(docs.join(file), text).unwrap();
        }
        let copy = place.path().join("copy");
        stage(place.path(), &copy).unwrap();
        assert_eq!(read(&copy.join(SUMMARY)).unwrap(), "[A](README.md)\n");
        let link = format!("[a](../index.md) [t]({REPOSITORY}/blob/main/T)\n");
        assert_eq!(read(&copy.join("x").join("b.md")).unwrap(), link);
    }

    #[test]
    fn the_book_of_the_project_is_in_order() {
        let docs = root().join("docs");
        let files = files_below(&docs).unwrap();
        let pages: Vec<&str> =
            files.iter().map(String::as_str).filter(|file| file.ends_with(".md")).collect();
        assert_eq!(contents(&read(&docs.join(SUMMARY)).unwrap(), &pages), Vec::<String>::new());
    }
}
