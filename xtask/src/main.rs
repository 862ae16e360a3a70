//! The tasks of the project. `cargo xtask` prints the list; [`TASKS`] is the table.

// A task runner prints to the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod bench;
mod book;
mod ci;
mod cluster;
mod conform;
mod counts;
mod cross;
mod datafusion;
mod dependencies;
mod fixtures;
mod formats;
mod fuzz;
mod icechunk;
mod lint;
mod memory;
mod mpi;
mod msrv;
mod mutate;
mod python;
mod release;
mod reliability;
mod remote;
mod salvage;
mod scaling;
mod sh;
mod test;
mod tidy;
mod web;
mod weight;
mod wheel;

use std::process::ExitCode;

use args::Args;
use sh::{Failure, Result};

/// A task: its name, its function, and its line in the table.
struct Task {
    name: &'static str,
    usage: &'static str,
    run: fn(Args) -> Result,
    help: &'static str,
}

const TASKS: &[Task] = &[
    Task {
        name: "test",
        usage: "[--without-features]",
        run: test::task,
        help: "run unit, integration and doc tests with all features, the examples, and the tests that differ without features (or all tests)",
    },
    Task {
        name: "lint",
        usage: "",
        run: lint::task,
        help: "check formatting, clippy and rustdoc; warnings are errors",
    },
    Task {
        name: "tidy",
        usage: "",
        run: tidy::task,
        help: "check what the compiler does not: layers, sizes, documents",
    },
    Task {
        name: "fixtures",
        usage: "[FORMAT] [--check]",
        run: fixtures::task,
        help: "write fixtures/ and its manifest anew, or check that nothing would change",
    },
    Task {
        name: "conform",
        usage: "[FORMAT | conventions | examples] [--check] [--allow-skip]",
        run: conform::task,
        help: "exchange files with independent implementations, compare every value, write docs/conformance.md",
    },
    Task {
        name: "book",
        usage: "[--renew] [--without-examples]",
        run: book::task,
        help: "check the pages of docs/, their figures, pictures and examples, and build them as a book; needs mdBook or installs it",
    },
    Task {
        name: "release",
        usage: "--dry-run [--verify] [--debug] | PART [TARGET]",
        run: release::task,
        help: "build what a release consists of (program, wheel, npm, page, book, crates, sums), as far as this machine can",
    },
    Task {
        name: "bench",
        usage: "[FORMAT [CASES]] [--record | --again | --all | --render] [--resume]",
        run: bench::task,
        help: "compare speed and memory with the peers; write docs/benchmarks.md",
    },
    Task {
        name: "scaling",
        usage: "[SUBJECT | --render]",
        run: scaling::task,
        help: "measure how time and memory grow with sizes and threads; write docs/scaling.md",
    },
    Task {
        name: "cluster",
        usage: "[--quick | --publish] [--program FILE] [--installed]",
        run: cluster::task,
        help: "read references of all formats on worker processes, also while one is killed, and measure their cost; write a section of docs/scaling.md",
    },
    Task {
        name: "fuzz",
        usage: "TARGET…|--all [--seconds N] [--jobs N] [--publish]",
        run: fuzz::task,
        help: "run some fuzz targets or all, for 60 seconds each by default, and minimise the corpus",
    },
    Task {
        name: "mutate",
        usage: "[FORMAT] [--count N] [--seed N] [--publish]",
        run: mutate::task,
        help: "damage fixtures at random and let the program read them in bounded time and memory",
    },
    Task {
        name: "memory",
        usage: "[FORMAT]",
        run: memory::task,
        help: "measure the memory of the program for files of several gigabytes; write docs/reliability.md",
    },
    Task {
        name: "cross",
        usage: "TARGET [--if-available]",
        run: cross::task,
        help: "build the libraries for another target, and test them if there is an emulator",
    },
    Task {
        name: "reliability",
        usage: "[--count N]",
        run: reliability::task,
        help: "run the crash tests and 20,000 damaged fixtures per format; write docs/reliability.md",
    },
    Task {
        name: "remote",
        usage: "[--delay MS] [--rate MB] [--program FILE] [--only REGEX] [--publish]",
        run: remote::task,
        help: "measure requests, bytes and time of remote reads beside h5py over fsspec, on a loopback server, and read from nginx and moto; write docs/remote.md",
    },
    Task {
        name: "salvage",
        usage: "[--count N] [--kills N] [--minutes N] [--publish]",
        run: salvage::task,
        help: "damage files in many ways, salvage them, and compare what was saved with the undamaged files; write docs/salvage.md",
    },
    Task {
        name: "web",
        usage: "[--test [--only PARTS] [--mutants N] [--pictures FOLDER]] [--if-available]",
        run: web::task,
        help: "build the WebAssembly, the npm package and the page of the viewer, and test them in node, Chromium and Firefox",
    },
    Task {
        name: "msrv",
        usage: "",
        run: msrv::task,
        help: "check that the stated Rust version is the oldest possible one, and that the code does not need a newer one",
    },
    Task {
        name: "deny",
        usage: "",
        run: dependencies::deny,
        help: "check licences, sources and advisories of all dependencies against deny.toml; needs cargo-deny",
    },
    Task {
        name: "semver",
        usage: "REVISION",
        run: dependencies::semver,
        help: "check that the public interfaces are compatible with those of a revision; needs cargo-semver-checks",
    },
    Task {
        name: "icechunk",
        usage: "[--if-available]",
        run: icechunk::task,
        help: "build the program that makes Icechunk repositories, and let Python's Icechunk read them; needs Rust 1.91.1 and Python 3.12",
    },
    Task {
        name: "datafusion",
        usage: "[--tests]",
        run: datafusion::task,
        help: "build the tables of DataFusion, and compare what two workers and Python's datafusion answer over 1,000 files with pandas; needs Rust 1.94",
    },
    Task {
        name: "mpi",
        usage: "",
        run: mpi::task,
        help: "let MPI ranks write one GSD chunk together; needs an MPI library and libclang",
    },
    Task {
        name: "ci",
        usage: "",
        run: ci::task,
        help: "run tidy, weight --check, lint without the benches, msrv, fixtures --check, the checks of book that build nothing, conform, mutate, mpi, test and wheel --quick",
    },
    Task {
        name: "python",
        usage: "",
        run: python::task,
        help: "create the virtual environment of the Python peers and print its interpreter",
    },
    Task {
        name: "weight",
        usage: "[--check] [--times [LIBRARY]]",
        run: weight::task,
        help: "count the crates that each library brings with it, and with --times measure how long they build; write docs/weight.md",
    },
    Task {
        name: "wheel",
        usage: "[--quick | --release | --installed] [SUITE]",
        run: wheel::task,
        help: "build the Python package, install it in an environment of its own, run its test suites and check its types",
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
        None => Err(Failure::setup(format!("there is no task `{verb}`\n\n{}", table()))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("cargo xtask {verb}: {failure}");
            ExitCode::from(failure.status)
        }
    }
}

/// Returns what `cargo xtask` prints.
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
