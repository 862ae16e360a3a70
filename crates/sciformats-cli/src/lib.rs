//! The program `sciformats` as a function, for whatever brings it along: the program itself and the Python package.

mod args;
mod commands;
mod failure;
mod figure;
mod gather;
mod interrupt;
mod look;
mod meaning;
mod remote;
mod session;
mod strange;

use std::ffi::OsString;
use std::path::Path;

use clap::Parser;

use crate::args::Cli;
use crate::session::Session;

/// Runs the program with the arguments `argv`, the first of which is its own name, and gives its exit status: 0 for yes and
/// done, 1 for no, 2 for a wrong command line, 3 for input that cannot be read, 4 for output that cannot be written.
///
/// It writes to stdout and stderr. A wrong command line, and a call for help, end the process.
pub fn run(argv: impl IntoIterator<Item = OsString>) -> u8 {
    let (arguments, urls) = remote::without_secrets(argv.into_iter());
    let arguments = args::with_command(arguments, |word| urls.contains_key(Path::new(word)));
    let cli = Cli::parse_from(arguments);
    let session = match Session::new(&cli.global, remote::Far::new(urls, &cli)) {
        Ok(session) => session,
        Err(failure) => return failure.report(),
    };
    let outcome = commands::run(&cli.command, &session);
    session.far().tell_costs();
    match outcome {
        Ok(answer) => answer.status(),
        Err(failure) => failure.report(),
    }
}
