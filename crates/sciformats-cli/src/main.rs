//! The `sciformats` program.

mod args;
mod commands;
mod failure;
mod figure;
mod gather;
mod interrupt;
mod look;
mod session;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;
use crate::session::Session;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let session = match Session::new(&cli.global) {
        Ok(session) => session,
        Err(failure) => return failure.report(),
    };
    match commands::run(&cli.command, &session) {
        Ok(answer) => answer.into(),
        Err(failure) => failure.report(),
    }
}
