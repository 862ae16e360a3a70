//! `completions` and `man`, which are generated from the definition of the command line, and the paths in a file
//! that shells complete.

use std::fs;
use std::io::Write;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use sciformats::walk::join;
use sciformats::{Error, Object, Target};

use crate::args::Cli;
use crate::failure::{Answer, Failure, Outcome};
use crate::session::Session;

pub(super) fn completions(shell: Shell, session: &Session) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "sciformats", &mut script);
    let mut out = session.bytes();
    out.write_all(&script)?;
    let more = match shell {
        Shell::Bash => include_str!("shell/inside.bash"),
        Shell::Zsh => include_str!("shell/inside.zsh"),
        Shell::Fish => include_str!("shell/inside.fish"),
        _ => "",
    };
    out.write_all(more.as_bytes())?;
    out.flush()?;
    Ok(Answer::Yes)
}

/// The largest number of paths that are proposed.
const PROPOSED: usize = 1000;

/// Prints the paths in a file that begin with some text, one level at a time: those of groups end with `/`.
pub(super) fn paths(path: &Path, start: &str, session: &Session) -> Outcome {
    let file = session.open(path)?;
    let (group, _) = start.rsplit_once('/').unwrap_or_default();
    let group = if group.is_empty() { "/" } else { group };
    let fail = |error: &Error| Failure::of(path, error);
    let id = file.resolve(group).map_err(|error| fail(&error))?;
    let source = file.source();
    let mut out = session.bytes();
    let mut count = 0;
    for member in source.members(id).map_err(|error| fail(&error))? {
        let Ok(member) = member else { continue };
        let inside = join(group, &member.name);
        let start = if start.starts_with('/') { start.to_owned() } else { format!("/{start}") };
        // A shell would take a line feed for the end of the path.
        if !inside.starts_with(&start) || inside.chars().any(char::is_control) {
            continue;
        }
        let is_group = match member.target {
            Target::Object(id) => matches!(source.object(id), Ok(Object::Group)),
            _ => false,
        };
        writeln!(out, "{inside}{}", if is_group { "/" } else { "" })?;
        count += 1;
        if count == PROPOSED {
            break;
        }
    }
    out.flush()?;
    Ok(Answer::of(count > 0))
}

pub(super) fn man(dir: &Path) -> Outcome {
    let unwritten = |error: std::io::Error| Failure::Unwritten(dir.into(), error.to_string());
    fs::create_dir_all(dir).map_err(unwritten)?;
    let command = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, dir).map_err(unwritten)?;
    Ok(Answer::Yes)
}
