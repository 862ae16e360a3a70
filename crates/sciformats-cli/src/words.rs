//! What words of the command line mean before they are parsed: `FILE:/PATH` is a file and a path in it, and a
//! file alone is to be listed.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use sciformats_core::bound;

use crate::args::Cli;

/// Options that may stand before the command and take a value.
const WITH_VALUES: [&str; 6] =
    ["--threads", "--limit-memory", "--limit-unfolded", "--external", "--index", "--color"];

/// The commands whose arguments are a file and a path in it. `ls`, `cat` and `stats`, which take several files, separate such words
/// themselves, because each of them may have its own path.
const WITH_PATHS: [&str; 5] = ["head", "tail", "plot", "attrs", "watch"];

/// The changes of `edit`, which begin with a path.
const CHANGES: [&str; 6] = ["set", "unset", "rename", "move", "delete", "link"];

/// Inserts the command `ls` if the first word is not a command but an existing file or a URL, and separates
/// the first `FILE:/PATH` into two words; in `edit` the path is that of the change.
pub(crate) fn with_command(arguments: Vec<OsString>, far: impl Fn(&OsStr) -> bool) -> Vec<OsString> {
    let is_file = |word: &OsStr| word == "-" || far(word) || Path::new(word).exists();
    let mut arguments = arguments;
    let mut at = 1;
    while let Some(word) = arguments.get(at) {
        let text = word.to_str().unwrap_or_default();
        if WITH_VALUES.contains(&text) {
            at += 2;
        } else if text.starts_with('-') && text != "-" {
            at += 1;
        } else {
            let known = |command: &clap::Command| command.get_name() == text || text == "help";
            let command = Cli::command().get_subcommands().any(known);
            if !command && (is_file(word) || separated(word, &is_file).is_some()) {
                arguments.insert(at, "ls".into());
            }
            break;
        }
    }
    let command = arguments.get(at).and_then(|word| word.to_str()).unwrap_or_default();
    if command == "edit" {
        return with_path_of_change(arguments, bound::sum(at, 1), &is_file);
    }
    if !WITH_PATHS.contains(&command) {
        return arguments;
    }
    // A word after an option may be the value of the option, but then it names no file with a path in it.
    let found = (bound::sum(at, 1)..arguments.len()).find_map(|at| {
        let word = arguments.get(at).filter(|word| !is_file(word))?;
        Some((at, separated(word, &is_file)?))
    });
    if let Some((at, parts)) = found {
        arguments.splice(at..=at, parts);
    }
    arguments
}

/// Moves the path of `edit FILE:/PATH CHANGE …` to its place after the change. Without a change the words stay as they are.
fn with_path_of_change(
    arguments: Vec<OsString>,
    from: usize,
    is_file: &impl Fn(&OsStr) -> bool,
) -> Vec<OsString> {
    let mut arguments = arguments;
    let is_change = |word: &OsString| CHANGES.iter().any(|change| word == change);
    let Some(change) = arguments.iter().skip(from).position(is_change).map(|at| bound::sum(from, at)) else {
        return arguments;
    };
    let found = (from..change).find_map(|at| {
        let word = arguments.get(at).filter(|word| !is_file(word))?;
        Some((at, separated(word, is_file)?))
    });
    if let Some((at, [file, path])) = found {
        arguments.insert(bound::sum(change, 1), path);
        arguments.splice(at..=at, [file]);
    }
    arguments
}

/// Returns what to say if the first word is no command, but looks like the name of a file: there is none of that name.
pub(crate) fn missing_file(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let named = word.contains(['/', '.']) && error.kind() == ErrorKind::InvalidSubcommand;
    named.then(|| format!("cannot open {word}: no such file, and no command has this name"))
}

/// Returns the parts of `FILE:/PATH` if there is such a file.
pub(crate) fn separated(word: &OsStr, is_file: &impl Fn(&OsStr) -> bool) -> Option<[OsString; 2]> {
    let text = word.to_str()?;
    let ends = text.match_indices(":/").map(|(at, _)| text.split_at(at));
    let mut files = ends.filter(|(file, _)| !file.is_empty() && is_file(OsStr::new(file)));
    files.next().map(|(file, path)| [file.into(), path.trim_start_matches(':').into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(words: &[&str]) -> Vec<String> {
        let words = ["sciformats"].iter().chain(words).map(OsString::from).collect();
        let all = with_command(words, |word| word == "https://a.example/x.h5");
        all.iter().skip(1).map(|word| word.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_file_alone_is_listed() {
        let folder = env!("CARGO_MANIFEST_DIR");
        assert_eq!(with(&[folder]), ["ls", folder]);
        assert_eq!(with(&["-"]), ["ls", "-"]);
        assert_eq!(
            with(&["--json", "--threads", "2", folder, "-r"]),
            ["--json", "--threads", "2", "ls", folder, "-r"]
        );
        assert_eq!(with(&["https://a.example/x.h5"]), ["ls", "https://a.example/x.h5"]);
        assert_eq!(with(&["info", folder]), ["info", folder]);
        assert_eq!(with(&["nothing of that name"]), ["nothing of that name"]);
        assert_eq!(with(&["--help"]), ["--help"]);
    }

    #[test]
    fn a_file_and_a_path_in_it_may_be_one_word() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let one = format!("{file}:/a:/b");
        assert_eq!(with(&["head", &one, "--raw"]), ["head", file, "/a:/b", "--raw"]);
        assert_eq!(with(&[&one]), ["ls", one.as_str()]);
        assert_eq!(with(&["plot", "https://a.example/x.h5:/u"]), ["plot", "https://a.example/x.h5", "/u"]);
        assert_eq!(with(&["head", "none.h5:/a"]), ["head", "none.h5:/a"]);
        assert_eq!(with(&["verify", &one]), ["verify", one.as_str()]);
        assert_eq!(
            with(&["edit", "--dry-run", &one, "set", "units", "K"]),
            ["edit", "--dry-run", file, "set", "/a:/b", "units", "K"]
        );
        assert_eq!(
            with(&["edit", file, "set", "/u", "link", &one]),
            ["edit", file, "set", "/u", "link", &one]
        );
        assert_eq!(with(&["edit", &one]), ["edit", one.as_str()]);
    }
}
