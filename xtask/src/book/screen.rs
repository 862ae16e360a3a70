//! The pictures of terminal screens, and plots: what the program prints and draws for fixtures of the project.
//!
//! A screen is drawn from the program's own output, with its colours. `cargo xtask book --renew` writes all pictures, and
//! `cargo xtask book` fails if one of them differs from what the program shows now.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::sh::{About, Result, cargo, root, run, target_folder};

/// A picture of a terminal.
struct Screen {
    file: &'static str,
    /// What the picture shows, for those who do not see it.
    title: &'static str,
    commands: &'static [&'static str],
}

const SCREENS: &[Screen] = &[
    Screen {
        file: "figures/screen-look.svg",
        title: "A terminal: the program lists a netCDF-4 file, prints a table of a GSD trajectory, and names a fault of a damaged file",
        commands: &[
            "sciformats ls fixtures/hdf5/conventions.h5",
            "sciformats cat fixtures/gsd/hoomd-log.gsd /log",
            "sciformats verify fixtures/rawarray/hostile/ndims-2-to-60.ra",
        ],
    },
    Screen {
        file: "figures/screen-plot.svg",
        title: "A terminal: the program draws the energy of a trajectory as a line",
        commands: &["sciformats plot fixtures/gsd/hoomd-log.gsd /log/energy"],
    },
    Screen {
        file: "figures/screen-info.svg",
        title: "A terminal: the program says what a GSD file is and what is in it",
        commands: &["sciformats info fixtures/gsd/hoomd-log.gsd"],
    },
];

/// Pictures that the program draws into files itself: the file, and the arguments before it.
const PLOTS: &[(&str, &[&str])] = &[
    ("figures/plot-line.svg", &["plot", "fixtures/gsd/hoomd-log.gsd", "/log/energy", "--size", "640x360"]),
    ("figures/plot-image.svg", &["plot", "fixtures/blosc2/grid.b2nd", "--size", "640x360"]),
];

/// Compares all pictures with what the program shows, or with `renew` writes them.
pub(crate) fn check(docs: &Path, renew: bool) -> Result {
    run(cargo().args(["build", "--quiet", "--package", "sciformats-cli"]))?;
    let program = target_folder()?.join("debug").join("sciformats");
    let mut differ = Vec::new();
    let mut compare = |file: &str, new: &[u8]| -> Result {
        let path = docs.join(file);
        if fs::read(&path).ok().as_deref() == Some(new) {
            return Ok(());
        }
        if renew {
            fs::write(&path, new).about(&path)?;
            println!("wrote docs/{file}");
        } else {
            differ.push(format!(
                "docs/{file} is not what the program shows; `cargo xtask book --renew` writes it"
            ));
        }
        Ok(())
    };
    for screen in SCREENS {
        let mut lines = Vec::new();
        for command in screen.commands {
            lines.push(vec![Run {
                text: format!("$ {command}"),
                style: Style { bold: true, ..Style::default() },
            }]);
            lines.extend(styled(&shown(&program, command)?));
        }
        compare(screen.file, picture(screen.title, &lines).as_bytes())?;
    }
    let place = target_folder()?.join("book-plots");
    fs::create_dir_all(&place).about(&place)?;
    for (file, arguments) in PLOTS {
        let output = place.join(file.replace('/', "-"));
        let mut plot = Command::new(&program);
        plot.args(*arguments).arg("-o").arg(&output).arg("--force").arg("--quiet").current_dir(root());
        run(&mut plot)?;
        compare(file, &fs::read(&output).about(&output)?)?;
    }
    if !differ.is_empty() {
        return Err(differ.join("\n").into());
    }
    println!("{} pictures show what the program shows", SCREENS.len() + PLOTS.len());
    Ok(())
}

/// What the program prints on a terminal with colours. Its status does not matter: it is 1 where the answer is no.
fn shown(program: &Path, command: &str) -> Result<String> {
    let mut run = Command::new(program);
    run.args(command.split(' ').skip(1)).args(["--color", "always"]).current_dir(root());
    run.env("COLUMNS", "80").env("LINES", "24").env_remove("NO_COLOR").env_remove("COLORTERM");
    let output =
        run.stdin(Stdio::null()).output().map_err(|error| format!("{}: {error}", program.display()))?;
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).map_err(|_| format!("`{command}` prints text that is not UTF-8").into())
}

/// How text looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Style {
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    /// One of the eight colours of terminals, from 1 for red.
    color: Option<u8>,
}

/// Text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Run {
    text: String,
    style: Style,
}

/// Divides the output of a program into lines, and these into runs.
fn styled(text: &str) -> Vec<Vec<Run>> {
    let mut style = Style::default();
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut runs: Vec<Run> = Vec::new();
        let mut parts = line.split("\u{1b}[");
        let mut push = |text: &str, style: Style| {
            if !text.is_empty() {
                runs.push(Run { text: text.to_owned(), style });
            }
        };
        push(parts.next().unwrap_or(""), style);
        for part in parts {
            let (codes, rest) = part.split_once('m').unwrap_or((part, ""));
            codes.split(';').for_each(|code| apply(&mut style, code));
            push(rest, style);
        }
        lines.push(runs);
    }
    lines
}

fn apply(style: &mut Style, code: &str) {
    match code.parse::<u8>().unwrap_or(0) {
        0 => *style = Style::default(),
        1 => style.bold = true,
        2 => style.dim = true,
        3 => style.italic = true,
        4 => style.underline = true,
        22 => (style.bold, style.dim) = (false, false),
        39 => style.color = None,
        code @ 30..=37 => style.color = Some(code - 30),
        code @ 90..=97 => style.color = Some(code - 90),
        _ => {}
    }
}

/// Colours of the terminal on its own dark ground, which is a part of the picture, so that it can be read on any page.
const COLORS: [&str; 8] =
    ["#8b949e", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#f0f6fc"];

/// Width of a character and height of a line.
const CELL: (usize, usize) = (8, 18);
/// The space around the text.
const MARGIN: usize = 16;

/// The largest number of characters of a line; the rest goes to the next line, as on a terminal.
const COLUMNS: usize = 96;

/// Divides lines that are too long.
fn wrapped(lines: &[Vec<Run>]) -> Vec<Vec<Run>> {
    let mut wrapped = Vec::new();
    for line in lines {
        let (mut runs, mut room) = (Vec::new(), COLUMNS);
        for run in line {
            let mut rest = run.text.as_str();
            while rest.chars().count() > room {
                let end = rest.char_indices().nth(room).map_or(rest.len(), |(at, _)| at);
                runs.push(Run { text: rest[..end].to_owned(), style: run.style });
                wrapped.push(std::mem::take(&mut runs));
                (rest, room) = (&rest[end..], COLUMNS);
            }
            room -= rest.chars().count();
            runs.push(Run { text: rest.to_owned(), style: run.style });
        }
        wrapped.push(runs);
    }
    wrapped
}

/// The parts of a text between which there is more than one blank, and the column of each. Blanks in a row would be drawn as one.
fn words(text: &str) -> Vec<(usize, String)> {
    let mut words: Vec<(usize, String)> = Vec::new();
    let mut blanks = 2;
    for (column, c) in text.chars().enumerate() {
        if c == ' ' {
            blanks += 1;
            continue;
        }
        match words.last_mut() {
            Some((_, word)) if blanks < 2 => {
                word.extend(std::iter::repeat_n(' ', blanks));
                word.push(c);
            }
            _ => words.push((column, c.to_string())),
        }
        blanks = 0;
    }
    words
}

/// Draws a screen.
fn picture(title: &str, lines: &[Vec<Run>]) -> String {
    let lines = wrapped(lines);
    let columns = lines.iter().map(|line| line.iter().map(|run| run.text.chars().count()).sum()).max();
    let width = columns.unwrap_or(0).max(80) * CELL.0 + 2 * MARGIN;
    let height = lines.len() * CELL.1 + 2 * MARGIN + 18;
    let title = escaped(title);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\">\n<title>{title}</title>\n<rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#161b22\" \
         stroke=\"#57606a\"/>\n<circle cx=\"18\" cy=\"16\" r=\"5\" fill=\"#ff7b72\"/><circle cx=\"34\" cy=\"16\" r=\"5\" \
         fill=\"#e3b341\"/><circle cx=\"50\" cy=\"16\" r=\"5\" fill=\"#7ee787\"/>\n<g font-family=\"ui-monospace, \
         SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"13\" fill=\"#c9d1d9\">\n"
    );
    for (row, line) in lines.iter().enumerate() {
        let y = MARGIN + 18 + row * CELL.1 + 13;
        let mut column = 0;
        for run in line {
            for (at, text) in words(&run.text) {
                let (x, cells) = (MARGIN + (column + at) * CELL.0, text.chars().count() * CELL.0);
                // Writing to a String cannot fail.
                let _ = writeln!(
                    svg,
                    "<text x=\"{x}\" y=\"{y}\" textLength=\"{cells}\"{}>{}</text>",
                    attributes(run.style),
                    escaped(&text)
                );
            }
            column += run.text.chars().count();
        }
    }
    svg + "</g>\n</svg>\n"
}

fn attributes(style: Style) -> String {
    let mut text = String::new();
    for (is, attribute) in [
        (style.bold, " font-weight=\"bold\""),
        (style.italic, " font-style=\"italic\""),
        (style.underline, " text-decoration=\"underline\""),
        (style.dim, " fill-opacity=\"0.65\""),
    ] {
        if is {
            text.push_str(attribute);
        }
    }
    if let Some(color) = style.color.and_then(|color| COLORS.get(usize::from(color))) {
        text.push_str(&format!(" fill=\"{color}\""));
    }
    text
}

/// Text as XML has it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_become_runs() {
        let lines = styled("a \u{1b}[1m\u{1b}[34mblue\u{1b}[0m end\n\nplain");
        let blue = Style { bold: true, color: Some(4), ..Style::default() };
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0][1], Run { text: "blue".to_owned(), style: blue });
        assert_eq!(lines[0][2], Run { text: " end".to_owned(), style: Style::default() });
        assert!(lines[1].is_empty());
    }

    #[test]
    fn blanks_in_a_row_divide_words_and_long_lines_are_divided() {
        assert_eq!(words("  a b   c"), [(2, "a b".to_owned()), (8, "c".to_owned())]);
        let lines = wrapped(&styled(&"x".repeat(COLUMNS + 3)));
        assert_eq!(lines.iter().map(|line| line[0].text.len()).collect::<Vec<_>>(), [COLUMNS, 3]);
    }

    #[test]
    fn a_picture_has_every_word_at_its_place() {
        let svg = picture("a < b", &styled("  one\n\u{1b}[31mtwo & three\u{1b}[0m"));
        assert!(svg.contains("<title>a &lt; b</title>"));
        assert!(svg.contains("<text x=\"32\" y=\"47\" textLength=\"24\">one</text>"), "{svg}");
        assert!(svg.contains("textLength=\"88\" fill=\"#ff7b72\">two &amp; three</text>"), "{svg}");
    }
}
