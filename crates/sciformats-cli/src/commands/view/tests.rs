//! The browser on a screen in memory.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use sciformats::memory::{Memory, array, texts};
use sciformats::{File, Format};
use sciformats_conventions::Dataset;

use super::browser::Browser;
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
    assert!(screen.contains("0 … 119, mean 59.5 ± 34.64"), "{screen}");
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
