//! The state of the browser, and what keys do to it.

use std::sync::Arc;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};
use sciformats::{File, Name, Result};
use sciformats_conventions::Dataset;
use sciformats_core::bound;

use super::details::{Details, details};
use super::draw::key_at;
use super::table::{Cells, Corner, extent};
use super::tree::{Leads, Tree};
use super::work::{Answer, Part, Size, Task, Work};
use crate::commands::plot::on_terminal;
use crate::figure::Figure;
use crate::figure::sample::Statistics;
use crate::figure::screen::Depth;
use crate::gather::{Kind, Subject};
use crate::look;
use crate::meaning::{Thing, View};

/// The side that receives keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Focus {
    Tree,
    Object,
}

/// How an array is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    Details,
    Table,
    Picture,
    Bars,
}

/// A text that is being typed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Prompt {
    pub(super) purpose: Purpose,
    pub(super) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Search,
    Slice,
}

/// A picture that was requested; it is present once it is ready.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) of: (Part, Kind, Size),
    pub(super) made: Option<Result<Figure, String>>,
}

/// Where the parts of the browser are on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) tree: Rect,
    pub(super) object: Rect,
    /// The last row, which shows the keys.
    pub(super) last: u16,
}

/// The rows that one step of the wheel moves.
const WHEEL: isize = 3;

/// The browser.
#[derive(Debug)]
pub(super) struct Browser {
    /// The file as its convention defines it, and which of its values are shown.
    data: Dataset,
    words: View,
    pub(super) file: Arc<File>,
    pub(super) title: String,
    pub(super) depth: Depth,
    pub(super) tree: Tree,
    pub(super) work: Work,
    pub(super) focus: Focus,
    pub(super) show: Show,
    pub(super) prompt: Option<Prompt>,
    pub(super) message: String,
    pub(super) help: bool,
    pub(super) done: bool,
    /// The description of the selected object.
    pub(super) details: Details,
    /// The first line of the description on the screen.
    pub(super) scrolled: usize,
    /// The slice that was typed.
    slice: Option<String>,
    /// The indices of the dimensions before the last two.
    leading: Vec<u64>,
    pub(super) corner: Corner,
    pub(super) statistics: Option<(Part, Option<Result<Statistics, String>>)>,
    pub(super) picture: Option<Picture>,
    hits: (String, Vec<Vec<Name>>, usize),
    /// The lines of the tree, and the rows and columns of the table, that fit on the screen.
    pub(super) page: (usize, (u64, u64)),
    pub(super) places: Places,
    /// The table on the screen, and the number of columns that fit.
    pub(super) shown: Option<(Cells, u64)>,
    /// The text that is to be put on the clipboard of the terminal.
    pub(super) copied: Option<String>,
}

impl Browser {
    /// Creates a browser that starts at an object.
    pub(super) fn new(data: Dataset, raw: bool, (title, depth): (String, Depth)) -> Result<Self> {
        let data = if raw { data.raw() } else { data };
        let file = Arc::clone(data.file());
        let tree = Tree::new(&file)?;
        let (words, numbers) = if raw { (View::Stored, View::Stored) } else { (View::Words, View::Numbers) };
        let details = details((&data, words), &tree.path(0), tree.line(0).map(|line| &line.leads));
        let mut browser = Self {
            work: Work::new(data.clone(), numbers),
            data,
            words,
            file,
            title,
            depth,
            tree,
            focus: Focus::Tree,
            show: Show::Table,
            prompt: None,
            message: String::new(),
            help: false,
            done: false,
            details,
            scrolled: 0,
            slice: None,
            leading: Vec::new(),
            corner: Corner::default(),
            statistics: None,
            picture: None,
            hits: (String::new(), Vec::new(), 0),
            page: (1, (1, 1)),
            places: Places::default(),
            shown: None,
            copied: None,
        };
        browser.select();
        Ok(browser)
    }

    /// Returns the part of the selected array that is shown; `None` if no array is selected.
    pub(super) fn part(&self) -> Option<Part> {
        self.details.shape.as_ref()?;
        let leading = || self.leading.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let slice = self.slice.clone().or_else(|| (!self.leading.is_empty()).then(leading));
        Some(Part { path: self.details.path.clone(), slice })
    }

    /// Calls `work` with the part of the array that is shown.
    pub(super) fn with_part<T>(&self, work: impl FnOnce(&Subject<'_>) -> Result<T>) -> Option<Result<T>> {
        let part = self.part()?;
        let found = || {
            let thing = Thing::find(&self.data, &part.path, self.words)?;
            let array = thing.array()?;
            // Dimensions that the slice does not name are shown whole.
            let all = Some(part.slice.as_deref().unwrap_or("..."));
            work(&Subject::new((&thing, &array), (all, None), None)?.0)
        };
        Some(found())
    }

    /// Takes over the results that are ready.
    pub(super) fn take_up(&mut self) {
        while let Some(answer) = self.work.answer() {
            match answer {
                Answer::Statistics(part, found) => self.statistics = Some((part, Some(found))),
                Answer::Picture(part, kind, made) => {
                    if let Some(picture) = &mut self.picture
                        && picture.of.0 == part
                        && picture.of.1 == kind
                    {
                        picture.made = Some(made);
                    }
                }
                Answer::Hits(text, hits) => {
                    self.hits = (text, hits, 0);
                    self.hit(0);
                }
            }
        }
    }

    /// Requests statistics and a picture of the shown part, unless they exist. `size` is the room for the
    /// picture.
    pub(super) fn order(&mut self, size: Size) {
        let Some(part) = self.part().filter(|_| self.details.is_number) else { return };
        let room = on_terminal(size, self.depth);
        if self.statistics.as_ref().is_none_or(|(of, _)| *of != part) {
            self.statistics = Some((part.clone(), None));
            self.work.begin(Task::Statistics(part.clone()), room);
        }
        let kind = match self.show {
            Show::Details | Show::Table => return,
            Show::Bars => Kind::Histogram,
            Show::Picture => match self.with_part(|subject| Ok(subject.kind())) {
                Some(Ok(kind)) => kind,
                _ => Kind::Line,
            },
        };
        let of = (part, kind, size);
        if self.picture.as_ref().is_none_or(|picture| picture.of != of) {
            self.work.begin(Task::Picture(of.0.clone(), of.1, of.2), room);
            self.picture = Some(Picture { of, made: None });
        }
    }

    /// Updates the description for the line that is now selected.
    fn select(&mut self) {
        let path = self.tree.path(self.tree.selected);
        let leads = self.tree.line(self.tree.selected).map(|line| &line.leads);
        self.details = details((&self.data, self.words), &path, leads);
        let dimensions = self.details.shape.as_ref().map_or(0, Vec::len);
        self.leading = vec![0; bound::left(dimensions, 2)];
        self.slice = None;
        self.corner = Corner::default();
        self.scrolled = 0;
        self.statistics = None;
        self.picture = None;
        self.shown = None;
    }

    /// Carries out what a key means.
    pub(super) fn key(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && matches!(key.code, KeyCode::Char('c' | 'q')) {
            self.done = true;
            return;
        }
        if std::mem::take(&mut self.help) {
            return;
        }
        self.message.clear();
        if self.prompt.is_some() {
            return self.typed(key.code);
        }
        match key.code {
            KeyCode::Char('q') => self.done = true,
            KeyCode::Char('?') => self.help = true,
            KeyCode::Char('/') => self.ask(Purpose::Search, String::new()),
            KeyCode::Char('n') => self.hit(1),
            KeyCode::Char('N') => self.hit(-1),
            KeyCode::Char('s') if self.details.shape.is_some() => {
                let text = self.part().and_then(|part| part.slice).unwrap_or_default();
                self.ask(Purpose::Slice, text);
            }
            KeyCode::Char('a') => self.show = Show::Details,
            KeyCode::Char('t') => self.show = Show::Table,
            KeyCode::Char('p') => self.show = Show::Picture,
            KeyCode::Char('b') => self.show = Show::Bars,
            KeyCode::Char('c') => {
                self.message = format!("copied {}", self.details.path);
                self.copied = Some(self.details.path.clone());
            }
            KeyCode::Char('y') => self.copy_values(),
            KeyCode::Char('[') => self.lead(false),
            KeyCode::Char(']') => self.lead(true),
            KeyCode::Tab => {
                self.focus = if self.focus == Focus::Tree { Focus::Object } else { Focus::Tree };
            }
            KeyCode::Esc => self.focus = Focus::Tree,
            other if self.focus == Focus::Tree => self.walk(other),
            other => self.page(other),
        }
    }

    /// Carries out what the mouse does.
    pub(super) fn mouse(&mut self, event: MouseEvent) {
        let at = Position::new(event.column, event.row);
        let step = match event.kind {
            MouseEventKind::Down(MouseButton::Left) => return self.click(at),
            MouseEventKind::ScrollUp => -WHEEL,
            MouseEventKind::ScrollDown => WHEEL,
            _ => return,
        };
        if self.places.tree.contains(at) {
            let before = self.tree.selected;
            self.tree.step(step);
            if self.tree.selected != before {
                self.select();
            }
        } else if self.places.object.contains(at) {
            let code = if step < 0 { KeyCode::Up } else { KeyCode::Down };
            for _ in 0..step.unsigned_abs() {
                self.page(code);
            }
        }
    }

    /// Chooses what is at a place of the screen. What is chosen already is opened, or closed.
    fn click(&mut self, at: Position) {
        if std::mem::take(&mut self.help) || self.prompt.is_some() {
            return;
        }
        self.message.clear();
        if at.y == self.places.last {
            if let Some(key) = key_at(at.x) {
                self.key(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE));
            }
        } else if self.places.tree.contains(at) {
            let line = self.tree.top + usize::from(bound::left(at.y, self.places.tree.y));
            if self.tree.line(line).is_none() {
                return;
            }
            let again = line == self.tree.selected && self.focus == Focus::Tree;
            self.focus = Focus::Tree;
            if again {
                return self.enter(true);
            }
            self.tree.selected = line;
            self.select();
        } else if self.places.object.contains(at) {
            self.focus = Focus::Object;
        }
    }

    /// Copies the table on the screen, with tabs between its columns.
    fn copy_values(&mut self) {
        let Some((cells, columns)) = self.shown.as_ref().filter(|_| self.show == Show::Table) else {
            self.message = "only a table can be copied; press t to see it".into();
            return;
        };
        let columns = bound::addressable(*columns);
        let line = |texts: &[String]| texts.iter().take(columns).cloned().collect::<Vec<_>>().join("\t");
        // Without names of fields, the numbers above the columns are no values.
        let named = cells.heads.iter().any(|head| head.parse::<i128>().is_err() && !head.is_empty());
        let heads = named.then(|| line(&cells.heads));
        let lines: Vec<String> =
            heads.into_iter().chain(cells.rows.iter().map(|(_, texts)| line(texts))).collect();
        self.message = format!("copied {}", look::count(cells.rows.len() as u64, "row"));
        self.copied = Some(lines.join("\n") + "\n");
    }

    fn ask(&mut self, purpose: Purpose, text: String) {
        self.prompt = Some(Prompt { purpose, text });
    }

    fn typed(&mut self, code: KeyCode) {
        let Some(prompt) = &mut self.prompt else { return };
        match code {
            KeyCode::Char(character) => prompt.text.push(character),
            KeyCode::Backspace => {
                prompt.text.pop();
            }
            KeyCode::Esc => self.prompt = None,
            KeyCode::Enter => {
                let Some(Prompt { purpose, text }) = self.prompt.take() else { return };
                match purpose {
                    Purpose::Search if text.is_empty() => {}
                    Purpose::Search => {
                        self.message = format!("searching {text} …");
                        self.work.begin(Task::Search(text), on_terminal((1, 1), self.depth));
                    }
                    Purpose::Slice => self.cut(text),
                }
            }
            _ => {}
        }
    }

    /// Shows another part of the array, if the slice is valid.
    fn cut(&mut self, text: String) {
        let before = self.slice.take();
        self.slice = (!text.trim().is_empty()).then_some(text);
        match self.with_part(|subject| Ok(subject.selection.shape().len())) {
            Some(Err(error)) => {
                self.message = error.to_string();
                self.slice = before;
            }
            _ => self.corner = Corner::default(),
        }
    }

    /// Steps along the last of the dimensions before the last two; at its end, the dimension before it is
    /// stepped.
    fn lead(&mut self, forth: bool) {
        if self.slice.is_some() {
            self.message = "a slice is shown; press s and Enter to remove it".into();
            return;
        }
        let shape = self.details.shape.clone().unwrap_or_default();
        for (index, length) in self.leading.iter_mut().zip(shape).rev() {
            if forth {
                *index = if *index + 1 < length { *index + 1 } else { 0 };
            } else {
                *index = index.checked_sub(1).unwrap_or(bound::left(length, 1));
            }
            let carried = if forth { *index == 0 } else { *index + 1 == length };
            if !carried {
                break;
            }
        }
    }

    /// Handles keys that move through the tree.
    fn walk(&mut self, code: KeyCode) {
        let before = self.tree.selected;
        let page = isize::try_from(self.page.0).unwrap_or(1).max(1);
        match code {
            KeyCode::Up | KeyCode::Char('k') => self.tree.step(-1),
            KeyCode::Down | KeyCode::Char('j') => self.tree.step(1),
            KeyCode::PageUp => self.tree.step(-page),
            KeyCode::PageDown => self.tree.step(page),
            KeyCode::Home | KeyCode::Char('g') => self.tree.step(isize::MIN),
            KeyCode::End | KeyCode::Char('G') => self.tree.step(isize::MAX),
            KeyCode::Right | KeyCode::Char('l') | KeyCode::Enter => self.enter(code == KeyCode::Enter),
            KeyCode::Left | KeyCode::Char('h') => {
                let open = self.tree.line(before).is_some_and(|line| line.open);
                match self.tree.parent(before) {
                    _ if open => self.tree.close(before),
                    Some(parent) => self.tree.selected = parent,
                    None => {}
                }
            }
            _ => {}
        }
        if self.tree.selected != before {
            self.select();
        }
    }

    /// Opens the selected group, or goes to the selected array.
    fn enter(&mut self, toggle: bool) {
        let at = self.tree.selected;
        let open = self.tree.line(at).is_some_and(|line| line.open);
        let file = Arc::clone(&self.file);
        let opens = self.tree.known(&file, at).is_some_and(|known| known.opens);
        // A group that stands for an array is looked at; a table of logged quantities is opened, because the keys of the table
        // are reached with Tab as well.
        let table =
            opens && self.tree.known(&file, at).is_some_and(|known| known.kind == sciformats::Kind::Array);
        if self.details.shape.is_some() && (open || !table) {
            self.focus = Focus::Object;
        } else if open && toggle {
            self.tree.close(at);
        } else if let Err(error) = self.open(at) {
            self.message = error.to_string();
        }
    }

    fn open(&mut self, at: usize) -> Result<()> {
        let file = Arc::clone(&self.file);
        let group = self.tree.known(&file, at).is_some_and(|known| known.opens);
        match self.tree.line(at).map(|line| line.leads.clone()) {
            Some(Leads::To(_)) if group => self.tree.open(&file, at),
            _ => Ok(()),
        }
    }

    /// Handles keys that move through the description or the table.
    fn page(&mut self, code: KeyCode) {
        let (rows, columns) = self.page.1;
        if self.show == Show::Details || self.details.shape.is_none() {
            let by = if matches!(code, KeyCode::PageUp | KeyCode::PageDown) { rows.max(1) } else { 1 };
            let by = usize::try_from(by).unwrap_or(1);
            match code {
                KeyCode::Up | KeyCode::PageUp | KeyCode::Char('k') => {
                    self.scrolled = bound::left(self.scrolled, by);
                }
                KeyCode::Down | KeyCode::PageDown | KeyCode::Char('j') => {
                    self.scrolled = (self.scrolled + by).min(bound::left(self.details.lines.len(), 1));
                }
                _ => {}
            }
            return;
        }
        let Some(Ok((height, width))) = self.with_part(|subject| Ok(extent(subject))) else { return };
        let (lowest, rightmost) = (bound::left(height, rows), bound::left(width, columns));
        let Corner { row, column } = self.corner;
        let (row, column) = match code {
            KeyCode::Up | KeyCode::Char('k') => (bound::left(row, 1), column),
            KeyCode::Down | KeyCode::Char('j') => (row + 1, column),
            KeyCode::PageUp => (bound::left(row, rows.max(1)), column),
            KeyCode::PageDown => (bound::sum(row, rows.max(1)), column),
            KeyCode::Home | KeyCode::Char('g') => (0, 0),
            KeyCode::End | KeyCode::Char('G') => (lowest, column),
            KeyCode::Left | KeyCode::Char('h') => (row, bound::left(column, 1)),
            KeyCode::Right | KeyCode::Char('l') => (row, column + 1),
            _ => (row, column),
        };
        self.corner = Corner { row: row.min(lowest), column: column.min(rightmost) };
    }

    /// Goes to another search result.
    fn hit(&mut self, by: isize) {
        let (text, hits, at) = &mut self.hits;
        if hits.is_empty() {
            self.message =
                if text.is_empty() { "press / to search".into() } else { format!("{text} was not found") };
            return;
        }
        let count = isize::try_from(hits.len()).unwrap_or(isize::MAX); // a bound that no list reaches
        let from = isize::try_from(*at).unwrap_or(0); // a position in the list
        *at = bound::sum(from, by).rem_euclid(count).unsigned_abs();
        let names = hits.get(*at).cloned().unwrap_or_default();
        let place = format!("{text}: {} of {}", *at + 1, hits.len());
        let file = Arc::clone(&self.file);
        self.message = match self.tree.reveal(&file, &names) {
            Ok(true) => place,
            Ok(false) => format!("{place} no longer exists"),
            Err(error) => error.to_string(),
        };
        self.focus = Focus::Tree;
        self.select();
    }
}
