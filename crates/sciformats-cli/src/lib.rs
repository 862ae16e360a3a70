//! The program `sciformats` as a function, which the program itself and the Python package call.

mod args;
mod commands;
mod failure;
mod figure;
mod gather;
mod interrupt;
mod look;
mod meaning;
#[cfg(all(test, feature = "tables"))]
mod options;
mod output;
mod remote;
mod session;
mod strange;
mod words;

use std::ffi::OsString;
use std::path::Path;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::session::Session;

/// Runs the program with the arguments `argv`, whose first element is the name of the program, and returns
/// its exit status: 0 if the command succeeded and the answer is yes, 1 if the answer is no, 2 if the command
/// line is wrong, 3 if the input cannot be read, 4 if the output cannot be written.
///
/// It writes to stdout and stderr. A wrong command line and a request for help end the process.
pub fn run(argv: impl IntoIterator<Item = OsString>) -> u8 {
    interrupt::report_large_files();
    let (arguments, urls) = remote::without_secrets(argv.into_iter());
    let arguments = words::with_command(arguments, |word| urls.contains_key(Path::new(word)));
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => match words::missing_file(&error) {
            Some(text) => return failure::Failure::Input(text).report(),
            None => error.exit(),
        },
    };
    let far = remote::Far::new(urls, &cli);
    let session = match far.and_then(|far| Session::new(&cli.global, far)) {
        Ok(session) => session,
        Err(failure) => return failure.report(),
    };
    let outcome = commands::run(&cli.command, &session);
    // What was printed may be partly old and partly new.
    let outcome = match &cli.command {
        Command::Manifest(_)
        | Command::Cat(_)
        | Command::Head(_)
        | Command::Tail(_)
        | Command::Find(_)
        | Command::References(_)
        | Command::Combine(_)
        | Command::Diff(_)
        | Command::Verify(_)
        | Command::Stats(_) => outcome.and_then(|answer| session.far().unchanged().map(|()| answer)),
        _ => outcome,
    };
    session.far().tell_costs();
    match outcome {
        Ok(answer) => answer.status(),
        // What fails after a Ctrl-C fails because of it.
        Err(_) if interrupt::is_asked() => failure::Failure::Interrupted.report(),
        Err(failure) => failure.report(),
    }
}
