//! The browser on a screen in memory.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use sciformats::memory::{Memory, array, texts};
use sciformats::{File, Format};
use sciformats_conventions::Dataset;

use super::browser::{Browser, Show};
use super::draw;
use crate::figure::screen::Depth;

struct Test {
    browser: Browser,
    terminal: Terminal<TestBackend>,
}

impl Test {
    fn new(memory: Memory, (width, height): (u16, u16)) -> Self {
        let browser =
            Browser::new(Dataset::new(File::from(memory)), false, ("run.h5".into(), Depth::None)).unwrap();
        Self { browser, terminal: Terminal::new(TestBackend::new(width, height)).unwrap() }
    }

    /// Types keys: a character each, and some names.
    fn keys(&mut self, keys: &str) -> String {
        for key in keys.split(' ') {
            let codes: Vec<KeyCode> = match key {
                "up" => vec![KeyCode::Up],
                "down" => vec![KeyCode::Down],
                "left" => vec![KeyCode::Left],
                "right" => vec![KeyCode::Right],
                "enter" => vec![KeyCode::Enter],
                "tab" => vec![KeyCode::Tab],
                "esc" => vec![KeyCode::Esc],
                "end" => vec![KeyCode::End],
                "home" => vec![KeyCode::Home],
                "pagedown" => vec![KeyCode::PageDown],
                text => text.chars().map(KeyCode::Char).collect(),
            };
            for code in codes {
                self.browser.key(KeyEvent::new(code, KeyModifiers::NONE));
                self.screen();
            }
        }
        self.settled()
    }

    /// The screen once nothing is under way.
    fn settled(&mut self) -> String {
        loop {
            let screen = self.screen();
            if !self.browser.work.is_busy() {
                return screen;
            }
            std::thread::yield_now();
        }
    }

    fn screen(&mut self) -> String {
        self.browser.take_up();
        self.terminal.draw(|frame| draw::draw(&mut self.browser, frame)).unwrap();
        let buffer = self.terminal.backend().buffer();
        let rows = buffer.content().chunks(usize::from(buffer.area.width));
        let rows = rows.map(|row| row.iter().map(Cell::symbol).collect::<String>());
        rows.map(|row| row.trim_end().to_owned() + "\n").collect()
    }
}

fn sample() -> Memory {
    let mut memory = Memory::new(Format::Hdf5);
    let root = memory.root();
    memory.attribute(root, "title", texts(&[], &["a run"]));
    let fields = memory.group(root, "fields");
    let values: Vec<f32> = (0..240u16).map(f32::from).collect();
    let u = memory.array(fields, "u", array(&[2, 3, 40], &values));
    memory.attribute(u, "units", texts(&[], &["m/s"]));
    memory.array(fields, "names", texts(&[2], &["one", "two\x1b"]));
    memory.soft_link(root, "link", "/fields/u");
    memory.damage(root, "torn");
    memory
}

#[test]
fn a_file_at_a_glance() {
    let mut test = Test::new(sample(), (80, 12));
    let screen = test.settled();
    assert!(screen.starts_with("run.h5"), "{screen}");
    assert!(screen.contains("▾ /") && screen.contains("▸ fields"), "{screen}");
    assert!(screen.contains("link  → /fields/u"), "{screen}");
    assert!(screen.contains("@title  a run"), "{screen}");
    assert!(screen.lines().last().unwrap().contains("q quit"), "{screen}");
    let help = test.keys("?");
    assert!(help.contains("search names"), "{help}");
    assert!(!test.keys("x").contains("search names"));
}

#[test]
fn an_array_as_table_picture_and_bars() {
    let mut test = Test::new(sample(), (100, 24));
    let screen = test.keys("down enter down down");
    assert!(screen.contains("/fields/u") && screen.contains("2 × 3 × 40"), "{screen}");
    assert!(screen.contains("@units  m/s"), "{screen}");
    // Statistics of what is shown: the first of two planes.
    assert!(screen.contains("0 … 119 m/s, mean 59.5 ± 34.64"), "{screen}");
    // Units and statistics stand above how the array is stored.
    let place = |text: &str| screen.find(text).unwrap_or_else(|| panic!("no {text}: {screen}"));
    assert!(
        place("units") < place("range")
            && place("range") < place("type ")
            && place("type ") < place("@units"),
        "{screen}"
    );
    assert!(screen.contains("[0]") && screen.contains("40.0  41.0"), "{screen}");
    let screen = test.keys("]");
    assert!(screen.contains("[1]") && screen.contains("120 … 239"), "{screen}");
    let screen = test.keys("enter down right right");
    assert!(screen.contains("162.0") && !screen.contains("161.0"), "{screen}");
    let screen = test.keys("p");
    assert!(screen.contains('█') && screen.contains("/fields/u[1]"), "{screen}");
    let screen = test.keys("b");
    assert!(screen.contains("count") || screen.contains('▁') || screen.contains('█'), "{screen}");
    let screen = test.keys("a");
    assert!(screen.contains("@units"), "{screen}");
}

#[test]
fn slices_that_are_there_and_not() {
    let mut test = Test::new(sample(), (100, 24));
    test.keys("down enter down down s");
    // The index that is shown is there to be changed.
    let screen = test.keys(":,2,::-1 enter");
    assert!(screen.contains("shown   [0:,2,::-1]") && screen.contains("239.0  238.0"), "{screen}");
    let screen = test.keys("]");
    assert!(screen.contains("press s and Enter to remove it"), "{screen}");
    test.keys("s");
    let screen = test.keys(",9 enter");
    assert!(
        screen.contains("names 4 dimensions, but the array has 3") && screen.contains("[0:,2,::-1]"),
        "{screen}"
    );
}

#[test]
fn names_are_searched_for() {
    let mut test = Test::new(sample(), (80, 12));
    let screen = test.keys("/ NAMES enter");
    assert!(screen.contains("NAMES: 1 of 1") && screen.contains("two\\u{1b}"), "{screen}");
    let screen = test.keys("/ nowhere enter");
    assert!(screen.contains("nowhere was not found"), "{screen}");
    // What is damaged says so.
    let screen = test.keys("/ torn enter");
    assert!(screen.contains("damaged  malformed object"), "{screen}");
}

#[test]
fn many_objects_and_small_screens() {
    let mut memory = Memory::new(Format::Hdf5);
    let root = memory.root();
    for i in 0..100_000u32 {
        memory.array(root, &format!("x{i}"), array(&[1], &[i]));
    }
    let mut test = Test::new(memory, (100, 30));
    let screen = test.keys("end");
    // In byte order the last of them.
    assert!(screen.contains("/x99999") && screen.contains("99999"), "{screen}");
    assert!(test.keys("home").contains("▾ /"));
    for size in [(10, 3), (20, 6), (40, 10), (59, 12)] {
        let mut test = Test::new(sample(), size);
        for keys in ["down enter down down", "tab", "p", "b", "a", "t down right end", "s x enter", "? q"] {
            test.keys(keys);
        }
    }
}

#[test]
fn the_mouse_chooses_opens_and_scrolls() {
    let mut test = Test::new(sample(), (100, 24));
    let press = MouseEventKind::Down(MouseButton::Left);
    let mouse = |test: &mut Test, kind, column, row| {
        test.browser.mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE });
        test.settled()
    };
    test.settled();
    // The tree begins in the second row with the root.
    let screen = mouse(&mut test, press, 4, 2);
    assert!(screen.contains("▸ fields"), "{screen}");
    let screen = mouse(&mut test, press, 4, 2);
    assert!(screen.contains("▾ fields"), "{screen}");
    let screen = mouse(&mut test, press, 6, 4);
    assert!(screen.contains("/fields/u") && screen.contains("0 … 119 m/s"), "{screen}");
    let screen = mouse(&mut test, MouseEventKind::ScrollDown, 60, 20);
    assert!(screen.contains("0.0") || screen.contains("[0]"), "{screen}");
    // The words of the last line are keys.
    let column = |screen: &str, word: &str| {
        let last = screen.lines().last().unwrap();
        u16::try_from(last.find(word).unwrap()).unwrap()
    };
    let at = column(&screen, "b bars");
    let screen = mouse(&mut test, press, at, 23);
    assert!(test.browser.show == Show::Bars, "{screen}");
    let at = column(&screen, "copy");
    mouse(&mut test, press, at, 23);
    assert_eq!(test.browser.copied.take().as_deref(), Some("/fields/u"));
    // Nothing is behind the last line of the tree.
    mouse(&mut test, press, 4, 20);
    assert_eq!(test.browser.details.path, "/fields/u");
}

#[test]
fn values_and_paths_are_copied() {
    let mut test = Test::new(sample(), (100, 24));
    test.keys("down enter down down s");
    test.keys(":,:2,:3 enter");
    test.keys("s");
    for _ in 0..20 {
        test.browser.key(KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE));
    }
    test.keys("0,:2,:3 enter y");
    assert_eq!(test.browser.copied.take().as_deref(), Some("0.0\t1.0\t2.0\n40.0\t41.0\t42.0\n"));
    test.keys("p y");
    assert!(
        test.browser.copied.is_none() && test.browser.message.contains("press t"),
        "{}",
        test.browser.message
    );
    assert_eq!(super::clipboard("m/s"), "\x1b]52;c;bS9z\x07");
    assert_eq!([super::base64(b"a"), super::base64(b"ab"), super::base64(b"")], ["YQ==", "YWI=", ""]);
}

#[test]
fn logged_quantities_are_in_the_tree() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/gsd/hoomd-log.gsd");
    let file = sciformats::open(path).unwrap();
    let browser = Browser::new(Dataset::new(file), false, ("run.gsd".into(), Depth::None)).unwrap();
    let mut test = Test { browser, terminal: Terminal::new(TestBackend::new(110, 24)).unwrap() };
    let screen = test.settled();
    assert!(screen.contains("▸ log"), "{screen}");
    let screen = test.keys("down right");
    assert!(screen.contains("▾ log") && screen.contains("energy"), "{screen}");
    assert_eq!(test.browser.details.path, "/log");
    let screen = test.keys("/ energy enter");
    assert!(screen.contains("energy"), "{screen}");
    // One quantity over all frames has statistics and a picture of its own.
    let at = (0..)
        .find(|&at| test.browser.tree.line(at).is_none_or(|line| line.name.shown() == "energy"))
        .unwrap();
    test.browser.tree.selected = at;
    let screen = test.keys("down up p");
    assert_eq!(test.browser.details.path, "/log/energy", "{screen}");
    assert!(screen.contains("range"), "{screen}");
}
