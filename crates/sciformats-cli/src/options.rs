//! The document of every option, which is written from the command line itself, with the commands that features bring.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, ArgAction, Command as Clap, CommandFactory};

use crate::args::Cli;

const HEAD: &str = "# Every option

Each command of the program with its arguments and options, as `--help` describes them. [The program](cli.md) says what they are
for, with examples.
";

/// With `SCIFORMATS_RENEW` in the environment, a document that says something else is written anew.
#[test]
fn the_document_has_every_option() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/options.md");
    let written = document();
    if std::env::var_os("SCIFORMATS_RENEW").is_some() {
        std::fs::write(&path, &written).unwrap();
    }
    let shown = std::fs::read_to_string(&path).unwrap_or_default();
    let mut lines = shown.lines().zip(written.lines()).enumerate();
    let differs = lines.find(|(_, (old, new))| old != new);
    assert!(
        shown == written,
        "docs/options.md differs from the command line ({differs:?}); renew it with SCIFORMATS_RENEW=1"
    );
    // The options that other documents explain at length are in it.
    for option in ["`--select <PATTERN>`", "`--chunks <", "`--external <none\\|beside\\|PATH>`"] {
        assert!(written.contains(option), "{option}");
    }
}

fn document() -> String {
    let mut cli = Cli::command();
    cli.build();
    let mut text = HEAD.to_owned();
    let mut commands = Vec::new();
    all(&cli, "sciformats", &mut commands);
    section(&mut text, "Options of every command", &cli, Arg::is_global_set);
    for (name, [parent, command]) in commands {
        let inherits = |arg: &Arg| parent.get_arguments().any(|known| known.get_id() == arg.get_id());
        section(&mut text, &name, command, |arg| !(arg.is_global_set() && inherits(arg)));
    }
    text
}

/// Collects the commands that do something, with their names and the commands that they belong to.
fn all<'a>(command: &'a Clap, name: &str, found: &mut Vec<(String, [&'a Clap; 2])>) {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        let name = format!("{name} {}", sub.get_name());
        if !sub.is_subcommand_required_set() {
            found.push((format!("`{name}`"), [command, sub]));
        }
        all(sub, &name, found);
    }
}

/// Appends a heading, what the command does, and a table of those arguments that are wanted.
fn section(text: &mut String, title: &str, command: &Clap, wanted: impl Fn(&Arg) -> bool) {
    let _ = write!(text, "\n## {title}\n");
    if title.starts_with('`') {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = write!(text, "\n{}.\n", cell(&about));
    }
    let of_it = |arg: &&Arg| {
        wanted(arg) && !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str())
    };
    let args: Vec<&Arg> = command.get_arguments().filter(of_it).collect();
    if args.is_empty() {
        return;
    }
    text.push_str("\n| argument | what it does |\n|---|---|\n");
    for arg in args {
        let _ = writeln!(text, "| `{}` | {} |", cell(&spelled(arg)), cell(&told(arg)));
    }
}

/// Spells an argument as it is written: `-o, --output <FILE>`.
fn spelled(arg: &Arg) -> String {
    let names =
        [arg.get_short().map(|short| format!("-{short}")), arg.get_long().map(|long| format!("--{long}"))];
    let names: Vec<String> = names.into_iter().flatten().collect();
    let values: Vec<String> =
        arg.get_value_names().unwrap_or_default().iter().map(|value| format!("<{value}>")).collect();
    let takes_values = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let is_many = arg.get_num_args().is_some_and(|count| count.max_values() > values.len().max(1));
    let values = if takes_values { values.join(" ") } else { String::new() };
    let values = if names.is_empty() && !arg.is_required_set() { format!("[{values}]") } else { values };
    let separator = if names.is_empty() || values.is_empty() { "" } else { " " };
    format!("{}{separator}{values}{}", names.join(", "), if is_many { "…" } else { "" })
}

/// Returns the help of an argument, with the values that it may have and the one that it has by default.
fn told(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = help.trim_end_matches('.').to_owned();
    let takes_values = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| takes_values && !value.is_hide_set())
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({help})", value.get_name()),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    if !values.is_empty() {
        let _ = write!(text, ": {}", values.join(", "));
    }
    let default: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if takes_values && !arg.is_hide_default_value_set() && !default.is_empty() {
        let _ = write!(text, " [default: {}]", default.join(" "));
    }
    text
}

/// Writes text so that it stays in one cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
