//! The project's tasks. `cargo xtask` prints what there is; [`TASKS`] is the table.

// A task runner talks to the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod bench;
mod ci;
mod conform;
mod counts;
mod cross;
mod fixtures;
mod formats;
mod fuzz;
mod lint;
mod mpi;
mod msrv;
mod mutate;
mod python;
mod sh;
mod test;
mod tidy;

use std::process::ExitCode;

use args::Args;
use sh::{Failure, Result};

/// A verb: its name, the function behind it, and the line that the table shows.
struct Task {
    name: &'static str,
    usage: &'static str,
    run: fn(Args) -> Result,
    help: &'static str,
}

const TASKS: &[Task] = &[
    Task {
        name: "test",
        usage: "",
        run: test::task,
        help: "unit, integration and doc tests with all features and with none; examples",
    },
    Task {
        name: "lint",
        usage: "",
        run: lint::task,
        help: "formatting, clippy and rustdoc, warnings being errors",
    },
    Task {
        name: "tidy",
        usage: "",
        run: tidy::task,
        help: "layers, sizes, documents: what the compiler does not check",
    },
    Task {
        name: "fixtures",
        usage: "[FORMAT] [--check]",
        run: fixtures::task,
        help: "write fixtures/ and its manifest anew, or check that nothing would differ",
    },
    Task {
        name: "conform",
        usage: "[FORMAT] [--allow-skip]",
        run: conform::task,
        help: "exchange files with independent implementations, both ways, and compare every value",
    },
    Task {
        name: "bench",
        usage: "[FORMAT]",
        run: bench::task,
        help: "compare speed and memory with the peers; fails where a goal is missed",
    },
    Task {
        name: "fuzz",
        usage: "[TARGET] [--seconds N]",
        run: fuzz::task,
        help: "run the fuzz targets, each 60 seconds unless told otherwise",
    },
    Task {
        name: "mutate",
        usage: "[FORMAT] [--count N] [--seed N]",
        run: mutate::task,
        help: "damage fixtures at random and have the program read them, in bounded time and memory",
    },
    Task {
        name: "cross",
        usage: "TARGET [--if-available]",
        run: cross::task,
        help: "compile the libraries for another target",
    },
    Task {
        name: "msrv",
        usage: "",
        run: msrv::task,
        help: "the stated Rust version is the oldest that will do, and the code keeps to it",
    },
    Task {
        name: "mpi",
        usage: "",
        run: mpi::task,
        help: "ranks of MPI write one GSD chunk together; needs an MPI library and libclang",
    },
    Task {
        name: "ci",
        usage: "",
        run: ci::task,
        help: "tidy, lint, msrv, fixtures --check, conform, mutate, mpi and test",
    },
    Task {
        name: "python",
        usage: "",
        run: python::task,
        help: "make the virtual environment of the Python peers and print its interpreter",
    },
];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(verb) = words.next() else {
        print!("{}", table());
        return ExitCode::SUCCESS;
    };
    let outcome = match TASKS.iter().find(|task| task.name == verb) {
        Some(task) => (task.run)(Args::new(words)),
        None => Err(Failure::setup(format!("no task `{verb}`\n\n{}", table()))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("cargo xtask {verb}: {failure}");
            ExitCode::from(failure.status)
        }
    }
}

/// What `cargo xtask` prints.
fn table() -> String {
    let head = |task: &Task| format!("cargo xtask {} {}", task.name, task.usage).trim_end().to_owned();
    let width = TASKS.iter().map(|task| head(task).len()).max().unwrap_or(0);
    TASKS.iter().map(|task| format!("{:width$}  {}\n", head(task), task.help)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_line_for_each_task_and_names_are_unique() {
        assert_eq!(table().lines().count(), TASKS.len());
        for (i, task) in TASKS.iter().enumerate() {
            assert!(TASKS.iter().skip(i + 1).all(|other| other.name != task.name), "{} twice", task.name);
        }
    }
}
