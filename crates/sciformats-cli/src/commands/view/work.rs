//! Work that may take long and runs in a thread of its own: statistics, pictures, searches. A newer task
//! stops an older one of the same kind.

use std::collections::HashMap;
use std::mem::Discriminant;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use sciformats::walk::{Found, breadth_first};
use sciformats::{File, Name, Target};
use sciformats_conventions::Dataset;

use crate::figure::Figure;
use crate::figure::sample::Statistics;
use crate::gather::{Kind, Room, Subject};
use crate::meaning::{Thing, View};

/// The largest number of objects that a search finds.
const HITS: usize = 1000;

/// What is to be computed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Task {
    Statistics(Part),
    Picture(Part, Kind, Size),
    Search(String),
}

/// The columns and rows that a picture may have.
pub(super) type Size = (usize, usize);

/// A part of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Part {
    pub(super) path: String,
    pub(super) slice: Option<String>,
}

/// The result of a task.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub(super) enum Answer {
    Statistics(Part, Result<Statistics, String>),
    Picture(Part, Kind, Result<Figure, String>),
    /// The searched text, and the names that lead to each object that was found.
    Hits(String, Vec<Vec<Name>>),
}

/// The running threads, and the channel for their results.
#[derive(Debug)]
pub(super) struct Work {
    data: Dataset,
    view: View,
    send: Sender<(u64, Answer)>,
    answers: Receiver<(u64, Answer)>,
    /// The current task of each kind.
    running: HashMap<Discriminant<Task>, Running>,
    /// The number of the next task.
    next: u64,
}

#[derive(Debug)]
struct Running {
    number: u64,
    task: Task,
    /// The task ends when this becomes true.
    stop: Arc<AtomicBool>,
}

impl Work {
    pub(super) fn new(data: Dataset, view: View) -> Self {
        let (send, answers) = channel();
        Self { data, view, send, answers, running: HashMap::new(), next: 0 }
    }

    /// Returns whether a task is running.
    pub(super) fn is_busy(&self) -> bool {
        !self.running.is_empty()
    }

    /// Starts a task; `room` is the size of its picture.
    pub(super) fn begin(&mut self, task: Task, room: Room) {
        let kind = std::mem::discriminant(&task);
        if self.running.get(&kind).is_some_and(|running| running.task == task) {
            return;
        }
        let (number, stop) = (self.next, Arc::new(AtomicBool::new(false)));
        self.next += 1;
        let running = Running { number, task: task.clone(), stop: Arc::clone(&stop) };
        if let Some(before) = self.running.insert(kind, running) {
            before.stop.store(true, Ordering::Relaxed);
        }
        let (data, view, send) = (self.data.clone(), self.view, self.send.clone());
        std::thread::spawn(move || {
            // The browser may have ended, so that nobody receives the result.
            let _ = send.send((number, carry_out((&data, view), &task, room, &stop)));
        });
    }

    /// Returns the next result whose task was not replaced by a newer one.
    pub(super) fn answer(&mut self) -> Option<Answer> {
        while let Ok((number, answer)) = self.answers.try_recv() {
            let before = self.running.len();
            self.running.retain(|_, running| running.number != number);
            if self.running.len() < before {
                return Some(answer);
            }
        }
        None
    }
}

fn carry_out(data: (&Dataset, View), task: &Task, room: Room, stop: &AtomicBool) -> Answer {
    match task {
        Task::Statistics(part) => {
            let found = with(data, part, None, stop, measured);
            Answer::Statistics(part.clone(), found)
        }
        Task::Picture(part, kind, _) => {
            let found = with(data, part, Some(*kind), stop, |subject| subject.figure(*kind, room, None));
            Answer::Picture(part.clone(), *kind, found)
        }
        Task::Search(text) => Answer::Hits(text.clone(), search(data.0.file(), text, stop)),
    }
}

fn measured(subject: &Subject<'_>) -> sciformats::Result<Statistics> {
    subject.statistics()
}

fn with<T>(
    (data, view): (&Dataset, View),
    part: &Part,
    kind: Option<Kind>,
    stop: &AtomicBool,
    work: impl FnOnce(&Subject<'_>) -> sciformats::Result<T>,
) -> Result<T, String> {
    let found = || {
        let thing = Thing::find(data, &part.path, view)?;
        let array = thing.array()?;
        let (subject, _) = Subject::new((&thing, &array), (part.slice.as_deref(), None), kind)?;
        work(&subject.until(stop))
    };
    found().map_err(|error: sciformats::Error| error.to_string())
}

/// Finds the objects whose names contain the text, ignoring the case of letters.
fn search(file: &File, text: &str, stop: &AtomicBool) -> Vec<Vec<Name>> {
    let wanted = text.to_lowercase();
    let source = file.source();
    let mut hits = Vec::new();
    let _ = breadth_first(source, ("/", source.root()), file.limits(), &mut |entry| {
        if stop.load(Ordering::Relaxed) || hits.len() >= HITS {
            return ControlFlow::Break(());
        }
        let last = entry.path.rsplit('/').next().unwrap_or_default();
        let whole = source.slashes_in_names();
        let held = if whole { &entry.path } else { last };
        if held.to_lowercase().contains(&wanted) && !matches!(entry.what, Found::Unlisted(_)) {
            hits.extend(names(file, &entry.path));
        }
        ControlFlow::Continue(())
    });
    hits
}

/// Returns the names that lead to a path; a name may contain slashes.
fn names(file: &File, path: &str) -> Option<Vec<Name>> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let mut names = Vec::new();
    let mut group = file.source().root();
    let mut rest = parts.as_slice();
    while !rest.is_empty() {
        let longest = if file.source().slashes_in_names() { rest.len() } else { 1 };
        let found = (1..=longest).find_map(|count| {
            let name = Name::from_shown(&rest.get(..count)?.join("/"));
            let target = file.source().member(group, &name).ok()??;
            Some((count, name, target))
        });
        let (count, name, target) = found?;
        names.push(name);
        rest = rest.get(count..).unwrap_or_default();
        match target {
            Target::Object(id) => group = id,
            // A link that is not followed can only be the last name.
            _ if rest.is_empty() => {}
            _ => return None,
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use sciformats::Format;
    use sciformats::memory::{Memory, array};

    use super::*;

    fn names_of(names: &[&str]) -> Vec<Name> {
        names.iter().map(|name| Name::from(*name)).collect()
    }

    #[test]
    fn names_with_and_without_slashes_are_found() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/gsd/hoomd-single.gsd");
        let file = sciformats::open(path).unwrap();
        let stop = AtomicBool::new(false);
        let hits = search(&file, "POSITION", &stop);
        assert_eq!((hits.len(), &hits[0]), (3, &names_of(&["frames", "0", "particles/position"])));
        assert_eq!(search(&file, "frames/1", &stop)[0], names_of(&["frames", "1"]));
        assert!(search(&file, "nothing", &stop).is_empty());
        stop.store(true, Ordering::Relaxed);
        assert!(search(&file, "position", &stop).is_empty());
    }

    #[test]
    fn the_newest_task_is_answered() {
        let mut memory = Memory::new(Format::Hdf5);
        let root = memory.root();
        memory.array(root, "x", array::<f32>(&[2], &[1.0, 3.0]));
        let mut work = Work::new(Dataset::new(File::from(memory)), View::Numbers);
        let room = Room { line: 8, image: (8, 8), bars: 8 };
        let part = |path: &str| Part { path: path.into(), slice: None };
        work.begin(Task::Statistics(part("/none")), room);
        work.begin(Task::Statistics(part("/x")), room);
        work.begin(Task::Picture(part("/x"), Kind::Line, (8, 8)), room);
        let mut answers = Vec::new();
        while work.is_busy() {
            match work.answer() {
                Some(Answer::Statistics(part, found)) => answers.push((part.path, found.unwrap().mean())),
                Some(Answer::Picture(part, _, found)) => answers.push((part.path, found.unwrap().y.high)),
                Some(Answer::Hits(..)) | None => std::thread::yield_now(),
            }
        }
        answers.sort_by(|a, b| a.1.total_cmp(&b.1));
        assert_eq!(answers, [("/x".to_owned(), 2.0), ("/x".to_owned(), 3.0)]);
    }
}
