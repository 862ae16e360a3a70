//! `completions` and `man`, which are generated from the definition of the command line.

use std::fs;
use std::io::Write;
use std::path::Path;

use clap::CommandFactory;

use crate::args::Cli;
use crate::failure::{Answer, Failure, Outcome};
use crate::session::Session;

pub(super) fn completions(shell: clap_complete::Shell, session: &Session) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "sciformats", &mut script);
    let mut out = session.bytes();
    out.write_all(&script)?;
    out.flush()?;
    Ok(Answer::Yes)
}

pub(super) fn man(dir: &Path) -> Outcome {
    let unwritten = |error: std::io::Error| Failure::Unwritten(dir.into(), error.to_string());
    fs::create_dir_all(dir).map_err(unwritten)?;
    let command = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, dir).map_err(unwritten)?;
    Ok(Answer::Yes)
}
