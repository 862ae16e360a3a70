//! `manifest`: describes what a file means, as JSON Lines.

use std::io::Write;

use sciformats::Error;
use sciformats_convert::manifest;

use crate::args::Files;
use crate::failure::{Answer, Failure, Outcome};
use crate::session::Session;

pub(super) fn run(args: &Files, session: &Session) -> Outcome {
    let mut out = session.bytes();
    let answer = super::for_each_file(&args.files, session, |path, file| {
        let written = session.watched("hashing", &[file], || manifest::write(file, &mut out));
        match written {
            Ok(summary) => Ok(Answer::of(summary.errors == 0)),
            Err(Error::Io { action: manifest::WRITE, source, .. }) => {
                Err(Failure::Output(std::io::Error::new(source.kind(), source)))
            }
            Err(error) => Err(Failure::of(path, &error)),
        }
    });
    out.flush()?;
    answer
}
