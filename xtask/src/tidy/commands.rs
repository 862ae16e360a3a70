//! Checks that commands in documents exist: tasks, packages, examples, and subcommands of the program.

use std::collections::BTreeSet;

use super::Finding;
use super::rust::{Kind, Source, closing};
use super::tree::Tree;
use crate::TASKS;

/// The folder of the program's sources.
const PROGRAM: &str = "crates/sciformats-cli/src/";

/// Checks all documents.
pub(crate) fn rule(tree: &Tree) -> Vec<Finding> {
    let subcommands = subcommands(tree);
    let mut findings = Vec::new();
    for (path, text) in tree.documents() {
        for (line, command) in commands(text) {
            let words: Vec<&str> = command.split_whitespace().collect();
            let complaint = match words.as_slice() {
                ["cargo", "xtask", verb, ..] => task(verb),
                ["cargo", ..] => cargo(tree, &words),
                ["sciformats", word, ..] => subcommand(&subcommands, word),
                _ => None,
            };
            findings.extend(complaint.map(|message| Finding::new(path, line, message)));
        }
    }
    findings
}

/// The languages of fenced blocks that contain commands.
const SHELLS: &[&str] = &["", "sh", "bash", "console"];

/// Returns the lines of fenced blocks, without a leading `$ `, and inline code, with their line numbers.
fn commands(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fence = None;
    for (index, line) in text.lines().enumerate() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            fence = if fence.is_none() { Some(language.trim()) } else { None };
            continue;
        }
        match fence {
            Some(language) if SHELLS.contains(&language) => {
                let command = line.trim().trim_start_matches("$ ");
                let command = command.split(" # ").next().unwrap_or(command);
                found.push((index + 1, command.to_owned()));
            }
            Some(_) => {}
            None => found.extend(line.split('`').skip(1).step_by(2).map(|code| (index + 1, code.to_owned()))),
        }
    }
    found
}

fn is_placeholder(word: &str) -> bool {
    word.starts_with(['<', '[', '-', '…']) || word.chars().all(|c| c.is_uppercase() || c == '_')
}

fn task(verb: &str) -> Option<String> {
    let known = is_placeholder(verb) || TASKS.iter().any(|task| task.name == verb);
    (!known).then(|| format!("there is no task `{verb}`"))
}

/// Checks the packages and examples that a cargo command names.
fn cargo(tree: &Tree, words: &[&str]) -> Option<String> {
    let after = |names: [&str; 2]| {
        let at = words.iter().position(|word| names.contains(word))?;
        words.get(at + 1).copied().filter(|word| !is_placeholder(word))
    };
    let package = after(["-p", "--package"])?;
    let named = |manifest: &toml::Table| {
        manifest.get("package").and_then(|table| table.get("name")).and_then(toml::Value::as_str)
            == Some(package)
    };
    let Some((folder, _)) = tree.packages().find(|(_, manifest)| named(manifest)) else {
        return Some(format!("there is no package `{package}`"));
    };
    let example = after(["--example", "--example"])?;
    let there = [format!("{folder}/examples/{example}.rs"), format!("{folder}/examples/{example}/main.rs")];
    (!there.iter().any(|path| tree.has(path))).then(|| format!("`{package}` has no example `{example}`"))
}

fn subcommand(known: &BTreeSet<String>, word: &str) -> Option<String> {
    // A file without a command is listed.
    let is_file = word.contains(['.', '/']);
    let fine = is_file || is_placeholder(word) || word == "help" || known.contains(word);
    (!fine).then(|| format!("the program has no subcommand `{word}`"))
}

/// Returns the variants of the enum that derives `Subcommand`, as clap spells them.
fn subcommands(tree: &Tree) -> BTreeSet<String> {
    let sources = tree.sources().filter(|(path, _)| path.starts_with(PROGRAM));
    sources.flat_map(|(_, source)| variants(&source)).collect()
}

fn variants(source: &Source<'_>) -> Vec<String> {
    let tokens = &source.tokens;
    let mut names = Vec::new();
    let derives = tokens.iter().enumerate().filter(|(_, token)| token.is("Subcommand"));
    for (at, _) in derives {
        let rest = || tokens.iter().enumerate().skip(at);
        // This is only the derived enum, `derive(…, Subcommand)] … enum Name {`, and not an import of the
        // trait.
        let Some((word, _)) = rest().find(|(_, token)| token.is("enum") || token.is(";")) else { continue };
        let Some((open, _)) = rest().skip(word - at).find(|(_, token)| token.is("{") || token.is(";")) else {
            continue;
        };
        if !tokens[word].is("enum") || !tokens[open].is("{") {
            continue;
        }
        let end = closing(tokens, open) - 1;
        let mut at = open + 1;
        while at < end {
            let token = &tokens[at];
            match token.text {
                "#" => at = closing(tokens, at + 1),
                _ if token.kind == Kind::Word => {
                    names.push(kebab(token.text));
                    while at < end && !tokens[at].is(",") {
                        at = if tokens[at].is("(") || tokens[at].is("{") {
                            closing(tokens, at)
                        } else {
                            at + 1
                        };
                    }
                }
                _ => at += 1,
            }
        }
    }
    names
}

/// Converts a name: `ListAll` becomes `list-all`.
fn kebab(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.extend(c.to_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(document: &str) -> Vec<String> {
        let program = "use clap::Subcommand;\n#[derive(Debug, Subcommand)]\nenum Command {\n /// Lists.\n #[command(visible_alias = \"l\")]\n \
                       Ls(Ls),\n Manifest { file: PathBuf, #[arg(long)] all: bool },\n CheckAll,\n}";
        let tree = Tree::of(&[
            ("README.md", document),
            ("crates/gsd-rs/Cargo.toml", "[package]\nname = \"gsd-rs\"\n"),
            ("crates/gsd-rs/examples/append.rs", ""),
            ("crates/sciformats-cli/src/main.rs", program),
        ]);
        rule(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn real_commands_pass() {
        let document = "`cargo xtask test`, `cargo xtask VERB`, `cargo run -p gsd-rs --example append`\n```sh\n\
                        $ sciformats ls a.gsd # lists\nsciformats a.gsd\nsciformats check-all a\nsciformats --help\ncargo add gsd-rs\n```\n\
                        cargo xtask in prose, `sciformats manifest FILE`\n```text\nsciformats detect\n```\n";
        assert_eq!(findings(document), Vec::<String>::new());
    }

    #[test]
    fn made_up_commands_do_not() {
        let document = "`cargo xtask dance`\n`cargo run -p gsd --example append`\n`cargo run -p gsd-rs --example dance`\n\
                        ```\nsciformats dance\n```\n";
        assert_eq!(
            findings(document),
            [
                "README.md:1: there is no task `dance`",
                "README.md:2: there is no package `gsd`",
                "README.md:3: `gsd-rs` has no example `dance`",
                "README.md:5: the program has no subcommand `dance`",
            ]
        );
    }
}
