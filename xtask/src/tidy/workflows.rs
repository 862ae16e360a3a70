//! Checks that workflows call `cargo xtask`, so that everything that runs there also runs on any machine.

use super::Finding;
use super::tree::Tree;

/// The beginnings that a `run:` may have: a task, or a command that installs a toolchain, linkers or
/// emulators.
const COMMANDS: &[&str] = &["cargo xtask ", "rustup ", "cargo install ", "sudo apt-get "];

/// Steps of others, which get the sources, and keep what was built or hand it to another machine.
const STEPS: &[&str] =
    &["actions/checkout@", "actions/cache@", "actions/upload-artifact@", "actions/download-artifact@"];

/// Checks all workflows.
pub(crate) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.starts_with(".github/workflows/")) {
        for (index, line) in text.lines().enumerate() {
            let line = line.trim().trim_start_matches("- ");
            let wrong = match line.split_once(':').map(|(key, value)| (key, value.trim())) {
                Some(("run", command)) => {
                    !COMMANDS.iter().any(|known| command.starts_with(known)) || has_more(command)
                }
                Some(("uses", step)) => !STEPS.iter().any(|known| step.starts_with(known)),
                _ => false,
            };
            if wrong {
                findings.push(Finding::new(
                    path,
                    index + 1,
                    format!("`{line}`: turn this into a task and call `cargo xtask`"),
                ));
            }
        }
    }
    findings
}

/// Returns whether the shell would do more than run one program.
fn has_more(command: &str) -> bool {
    ["&&", "||", ";", "|", ">"].iter().any(|mark| command.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<usize> {
        rule(&Tree::of(&[(".github/workflows/ci.yml", text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn tasks_and_toolchains_pass() {
        let text = "steps:\n  - uses: actions/checkout@v5\n  - run: rustup target add wasm32-unknown-unknown\n  - run: cargo xtask test\n";
        assert_eq!(findings(text), Vec::<usize>::new());
    }

    #[test]
    fn everything_else_does_not() {
        let text =
            "- run: cargo test\n- run: |\n- run: cargo xtask test && rm -r x\n- uses: someone/else@v1\n";
        assert_eq!(findings(text), [1, 2, 3, 4]);
    }
}
