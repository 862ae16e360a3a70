//! What the compiler does not check: layers, sizes, documents, fixtures, workflows.
//!
//! Each rule is a function of a [`Tree`], the project's files in memory, so its tests run on made-up trees.

mod commands;
mod fixtures;
mod fuzz;
mod headers;
mod layers;
mod links;
mod rust;
mod sizes;
mod states;
mod structures;
mod tree;
mod versions;
mod words;
mod workflows;

use std::fmt;

use crate::args::Args;
use crate::sh::{Result, root};
use tree::Tree;

/// Something to be put right.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    /// 1 for the first; 0 for the whole file.
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
    ("spec/ and codec/ know nothing above them, model/ no bytes", layers::inside),
    ("rooms of a crate know nothing above them, and no bytes", layers::rooms),
    ("format crates stand alone", layers::between),
    ("the core knows no format", layers::core),
    ("libraries do not print", layers::printing),
    ("little is unsafe, nothing in the machine's byte order", layers::machine),
    ("modules say what they are", headers::module_docs),
    ("spec/, model/ and rooms warn of unchecked arithmetic", headers::lints),
    ("what goes into a file is exact", states::rule),
    ("structures have a layout, annotated bytes and no panics", structures::rule),
    ("crates have a README", headers::readmes),
    ("fixtures are as listed", fixtures::rule),
    ("fuzz targets are built", fuzz::rule),
    ("no path of one machine", words::places),
    ("the text speaks of the project alone", words::project_only),
    ("commands in documents exist", commands::rule),
    ("links in documents lead somewhere", links::rule),
    ("workflows call tasks and nothing else", workflows::rule),
    ("versions stand in one place", versions::rule),
];

/// Rules whose findings are told and stop nothing: to follow them at any price makes code worse.
const ADVICE: &[(&str, Rule)] = &[("files, functions and signatures are short", sizes::rule)];

/// The verb.
pub(crate) fn task(args: Args) -> Result {
    args.end()?;
    tidy()
}

/// Applies all rules and prints each one's findings.
pub(crate) fn tidy() -> Result {
    let tree = Tree::read(&root())?;
    let total = apply(&tree, RULES, "BROKEN");
    apply(&tree, ADVICE, "ADVICE");
    match total {
        0 => Ok(()),
        1 => Err("1 thing to put right".into()),
        _ => Err(format!("{total} things to put right").into()),
    }
}

/// Prints the findings of some rules under what `verdict` calls them, and gives their number.
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
