//! Checks what the compiler does not: layers, sizes, documents, fixtures, workflows.
//!
//! Each rule is a function of a [`Tree`], which holds the files of the project in memory, so its tests can
//! use invented trees.

mod commands;
mod fixtures;
mod fuzz;
mod headers;
mod layers;
mod links;
mod readmes;
mod rust;
mod sizes;
mod states;
mod structures;
mod tree;
mod versions;
mod vocabulary;
mod words;
mod workflows;

use std::fmt;

use crate::args::Args;
use crate::sh::{Result, root};
use tree::Tree;

/// Something that has to be corrected.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    /// The line, from 1; 0 means the whole file.
    line: usize,
    /// What is wrong, and what to do.
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[(&str, Rule)] = &[
    ("spec/ and codec/ use nothing above them, and model/ parses no bytes", layers::inside),
    ("rooms of a crate use nothing above them, and parse no bytes", layers::rooms),
    ("format crates are independent of each other", layers::between),
    ("the core knows no format", layers::core),
    ("libraries do not print", layers::printing),
    ("unsafe code is rare, and nothing depends on the machine's byte order", layers::machine),
    ("modules have documentation", headers::module_docs),
    ("spec/, model/ and rooms enable lints for unchecked arithmetic", headers::lints),
    ("numbers that go into a file are exact", states::rule),
    ("structures have a layout, annotated bytes and no panics", structures::rule),
    ("crates have a README", headers::readmes),
    ("READMEs of libraries answer the first questions and list the features", readmes::rule),
    ("fixtures agree with their manifest", fixtures::rule),
    ("fuzz targets are built", fuzz::rule),
    ("there are no paths of a particular machine", words::places),
    ("the text is only about the project", words::project_only),
    ("commands in documents exist", commands::rule),
    ("links in documents have targets", links::rule),
    ("workflows only call tasks", workflows::rule),
    ("each version is stated in one place", versions::rule),
    ("the same things have the same names and types in all libraries", vocabulary::rule),
];

/// Rules whose findings are only printed, because following them in all cases would make code worse.
const ADVICE: &[(&str, Rule)] = &[("files, functions and signatures are short", sizes::rule)];

/// The task.
pub(crate) fn task(args: Args) -> Result {
    args.end()?;
    tidy()
}

/// Applies all rules and prints the findings of each.
pub(crate) fn tidy() -> Result {
    let tree = Tree::read(&root())?;
    let total = apply(&tree, RULES, "BROKEN");
    apply(&tree, ADVICE, "ADVICE");
    match total {
        0 => Ok(()),
        1 => Err("1 finding has to be corrected".into()),
        _ => Err(format!("{total} findings have to be corrected").into()),
    }
}

/// Prints the findings of some rules, with `verdict` before the name of the rule, and returns their number.
fn apply(tree: &Tree, rules: &[(&str, Rule)], verdict: &str) -> usize {
    let mut total = 0;
    for (name, rule) in rules {
        let mut findings = rule(tree);
        findings.sort();
        println!("{} {name}", if findings.is_empty() { "ok    " } else { verdict });
        for finding in &findings {
            println!("         {finding}");
        }
        total += findings.len();
    }
    total
}
