//! `completions` and `man`, which are generated from the definition of the command line, and the paths in a file
//! that shells complete.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap_complete::Shell;
use sciformats::walk::join;
use sciformats::{Object, Target};

use crate::args::Cli;
use crate::failure::{Answer, Failure, Outcome};
use crate::session::Session;
use crate::words::separated;

pub(super) fn completions(shell: Shell, session: &Session) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "sciformats", &mut script);
    let mut out = session.bytes();
    out.write_all(&script)?;
    let more = match shell {
        Shell::Bash => include_str!("inside.bash"),
        Shell::Zsh => include_str!("inside.zsh"),
        Shell::Fish => include_str!("inside.fish"),
        _ => "",
    };
    out.write_all(more.as_bytes())?;
    out.flush()?;
    Ok(Answer::Yes)
}

/// The largest number of paths that are proposed.
const PROPOSED: usize = 1000;
/// The table of what a trajectory logs.
const LOG: &str = "/log";

/// The options whose value is the path of an object, or begins with one.
const PATH_OPTIONS: [&str; 5] = ["select", "only", "ignore", "chunk", "filter_of"];
/// The commands whose arguments include paths of objects.
const WITH_PATHS: [&str; 8] = ["ls", "cat", "head", "tail", "plot", "stats", "attrs", "watch"];
/// The changes of `edit`, and how many paths each begins with.
const CHANGES: [(&str, usize); 6] =
    [("set", 1), ("unset", 1), ("rename", 1), ("move", 2), ("delete", 1), ("link", 2)];

/// Prints the paths that may stand in place of the last word of a command line. The answer is no if there are none, which
/// includes words that stand for something else, such as the value of an option.
pub(super) fn paths(words: &[String], session: &Session) -> Outcome {
    let Some(asked) = asked(words) else { return Ok(Answer::No) };
    beginning(&asked, session)
}

/// The paths that are asked for.
#[derive(Debug, PartialEq)]
struct Asked {
    file: PathBuf,
    /// The beginning of the paths.
    start: String,
    /// What is before the path in the same word: `FILE:` of `FILE:/PATH`.
    before: String,
}

/// Returns the file and the path of `FILE:/PATH`, which may end at the colon.
fn in_one_word(word: &str) -> Option<Asked> {
    let is_file = |word: &OsStr| Path::new(word).is_file();
    let [file, path] = match word.strip_suffix(':').filter(|file| is_file(OsStr::new(file))) {
        Some(file) => [file.into(), OsString::new()],
        None => separated(OsStr::new(word), &is_file)?,
    };
    let (file, start) = (file.to_str()?.to_owned(), path.to_str()?.to_owned());
    Some(Asked { before: format!("{file}:"), file: file.into(), start })
}

/// Returns what is asked for.
fn asked(words: &[String]) -> Option<Asked> {
    let (last, before) = words.split_last()?;
    let program = Cli::command();
    let mut command = &program;
    let mut file = None;
    // After a change of `edit`: how many of its words are there already.
    let mut given: Option<usize> = None;
    // The option whose value comes next.
    let mut waiting: Option<&clap::Arg> = None;
    for word in before {
        if waiting.take().is_some() {
            continue;
        }
        if let Some(option) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            waiting = option_of(&program, command, option);
        } else if let Some(inner) = command.find_subcommand(word) {
            given = CHANGES.iter().any(|(change, _)| change == word).then_some(0);
            command = inner;
        } else if let Some(given) = &mut given {
            *given += 1;
        } else if file.is_none() && Path::new(word).is_file() {
            file = Some(PathBuf::from(word));
        } else if file.is_none()
            && let Some(found) = in_one_word(word)
        {
            file = Some(found.file);
        }
    }
    if waiting.is_none()
        && !last.starts_with('-')
        && let Some(asked) = in_one_word(last)
    {
        return Some(asked);
    }
    let file = file?;
    let path = |start: &str| Asked { file, start: start.to_owned(), before: String::new() };
    if let Some(option) = waiting {
        return PATH_OPTIONS.contains(&option.get_id().as_str()).then(|| path(last));
    }
    if let Some((option, value)) = last.split_once('=').filter(|(option, _)| option.starts_with("--")) {
        let named = PATH_OPTIONS
            .iter()
            .any(|known| option.strip_prefix("--") == Some(known.replace('_', "-").as_str()));
        return named.then(|| path(value));
    }
    let takes = match given {
        Some(given) => CHANGES.iter().any(|(change, paths)| *change == command.get_name() && given < *paths),
        None => WITH_PATHS.contains(&command.get_name()),
    };
    (takes && !last.starts_with('-')).then(|| path(last))
}

/// Returns an option that takes its value from the next word, by what follows the first `-` of a word.
fn option_of<'a>(
    program: &'a clap::Command,
    command: &'a clap::Command,
    word: &str,
) -> Option<&'a clap::Arg> {
    let mut options = command.get_arguments().chain(program.get_arguments());
    let takes = |option: &&clap::Arg| option.get_action().takes_values();
    match word.strip_prefix('-') {
        Some(long) => options.find(|option| option.get_long() == Some(long)).filter(takes),
        // Of several letters, only the last one may take a value.
        None => {
            let letter = word.chars().last()?;
            options.find(|option| option.get_short() == Some(letter)).filter(takes)
        }
    }
}

/// Prints the paths in a file that begin with some text, one level at a time: those of groups end with `/`.
fn beginning(asked: &Asked, session: &Session) -> Outcome {
    let Asked { file: path, start, before } = asked;
    let file = session.open(path)?;
    let start = if start.starts_with('/') { start.to_owned() } else { format!("/{start}") };
    // Names may contain `/`, as those of GSD do, so the group may be further up.
    let mut group = start.as_str();
    let id = loop {
        group = group.rsplit_once('/').map_or("", |(group, _)| group);
        match file.resolve(if group.is_empty() { "/" } else { group }) {
            Ok(id) => break id,
            Err(error) if group.is_empty() => return Err(Failure::of(path, &error)),
            Err(_) => {}
        }
    };
    let group = if group.is_empty() { "/" } else { group };
    let source = file.source();
    let mut out = session.bytes();
    // The log of a trajectory is a view that no group lists.
    let (mut count, mut view) = (0, LOG.starts_with(&start) && file.resolve(LOG).is_ok());
    for member in source.members(id).map_err(|error| Failure::of(path, &error))?.flatten() {
        let inside = join(group, &member.name);
        // A shell would take a line feed for the end of the path.
        if !inside.starts_with(&start) || inside.chars().any(char::is_control) {
            continue;
        }
        view &= inside != LOG;
        let is_group = match member.target {
            Target::Object(id) => matches!(source.object(id), Ok(Object::Group)),
            _ => false,
        };
        writeln!(out, "{before}{inside}{}", if is_group { "/" } else { "" })?;
        count += 1;
        if count == PROPOSED {
            break;
        }
    }
    if view {
        writeln!(out, "{before}{LOG}")?;
    }
    out.flush()?;
    Ok(Answer::of(count > 0 || view))
}

pub(super) fn man(dir: &Path) -> Outcome {
    let unwritten = |error: std::io::Error| Failure::Unwritten(dir.into(), error.to_string());
    fs::create_dir_all(dir).map_err(unwritten)?;
    let command = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, dir).map_err(unwritten)?;
    Ok(Answer::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What follows the name of the file, and the beginning of the paths that are asked for.
    fn of(before: &[&str], after: &[&str]) -> Option<String> {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let words =
            before.iter().chain(std::slice::from_ref(&file)).chain(after).map(|word| (*word).to_owned());
        asked(&words.collect::<Vec<_>>()).map(|asked| {
            assert_eq!((asked.file.as_path(), asked.before.as_str()), (Path::new(file), ""));
            asked.start
        })
    }

    #[test]
    fn a_file_and_a_path_may_be_one_word() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let asked = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| word.replace("FILE", file)).collect();
            asked(&words).map(|asked| {
                assert_eq!(asked.file, Path::new(file));
                (asked.before.replace(file, "FILE"), asked.start)
            })
        };
        let one = |path: &str| Some(("FILE:".to_owned(), path.to_owned()));
        assert_eq!(asked(&["cat", "FILE:/f"]), one("/f"));
        assert_eq!(asked(&["info", "FILE:"]), one(""));
        assert_eq!(asked(&["diff", "FILE:/a", "FILE:/a:b"]), one("/a:b"));
        assert_eq!(asked(&["--threads", "2", "edit", "FILE:/"]), one("/"));
        assert_eq!(asked(&["cat", "FILE:/a", "/b"]), Some((String::new(), "/b".into())));
        assert_eq!(asked(&["cat", "--format", "FILE:/a"]), None);
        assert_eq!(asked(&["cat", "none.h5:/a"]), None);
    }

    #[test]
    fn paths_stand_where_the_command_line_takes_them() {
        for (before, after, start) in [
            (&["cat"][..], &[""][..], Some("")),
            (&["cat", "--raw"], &["-a", "/u"], Some("/u")),
            (&["--threads", "2", "plot", "--slice", "0"], &["/u"], Some("/u")),
            (&["cat"], &["--format", ""], None),
            (&["cat"], &["-f", ""], None),
            (&["plot"], &["--kind", "l"], None),
            (&["plot"], &["--ki"], None),
            (&["convert"], &["new.h5", "--select", "/f"], Some("/f")),
            (&["convert"], &["new.h5", "--select=/f"], Some("/f")),
            (&["convert"], &["new.h5", "--to=h"], None),
            (&["convert"], &["new"], None),
            (&["diff", "--only", "/u"], &["b.h5", "--ignore", "/v"], Some("/v")),
            (&["edit"], &["set", "/f"], Some("/f")),
            (&["edit"], &["set", "/f", "un"], None),
            (&["edit"], &["set", "/f", "units", "K", "--type", "t"], None),
            (&["edit"], &["move", "/u", "/f"], Some("/f")),
            (&["edit"], &["s"], None),
            (&["watch"], &["/f"], Some("/f")),
            (&["info"], &["/f"], None),
        ] {
            assert_eq!(of(before, after).as_deref(), start, "{before:?} {after:?}");
        }
        assert_eq!(asked(&["cat".into(), "none.h5".into(), "/".into()]), None);
    }
}
