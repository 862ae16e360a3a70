//! How many bytes the arrays in a group occupy together.

use std::collections::{HashMap, HashSet};

use sciformats::source::{Runs, Source};
use sciformats::{ArrayInfo, File, Object, ObjectId, Target};
use sciformats_core::bound;

use crate::look::{self, Cell, FAINT, PLAIN};

/// The width of a bar, in columns.
const BAR: u64 = 10;

/// The bytes of arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Those in the file.
    pub(super) stored: u64,
    /// Those of all elements without compression.
    pub(super) logical: u64,
    /// The number of arrays.
    pub(super) arrays: u64,
}

impl Sizes {
    /// Returns the bytes of an array.
    pub(super) fn of(info: &ArrayInfo) -> Self {
        let logical = info.logical();
        let stored = info.stored.or(logical).unwrap_or(0); // a bound: how much is unknown takes no room in the list
        Self { stored, logical: logical.unwrap_or(stored), arrays: 1 }
    }

    fn add(&mut self, other: Self, times: u64) {
        let sum = |one: &mut u64, other: u64| *one = bound::sum(*one, bound::product(other, times));
        sum(&mut self.stored, other.stored);
        sum(&mut self.logical, other.logical);
        sum(&mut self.arrays, other.arrays);
    }

    /// Returns the cells that show the bytes, and their part of the file.
    pub(super) fn cells(self, file: u64) -> Vec<Cell> {
        let part = self.stored as f64 / file.max(1) as f64;
        vec![
            Cell::new(PLAIN, look::size(self.stored)).unbroken(),
            Cell::new(FAINT, format!("of {}", look::size(self.logical))).unbroken(),
            Cell::new(PLAIN, percent(part)).unbroken(),
            Cell::new(FAINT, bar(part)),
        ]
    }
}

/// Formats a part of a whole for people.
fn percent(part: f64) -> String {
    match part * 100.0 {
        0.0 => "0 %".into(),
        few if few < 1.0 => "< 1 %".into(),
        many => format!("{many:.0} %"),
    }
}

/// Returns a bar of up to [`BAR`] columns.
fn bar(part: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (part.clamp(0.0, 1.0) * (BAR * 8) as f64).ceil() as usize;
    let last = EIGHTHS.get(eighths % 8).copied().unwrap_or_default();
    format!("{}{last}", "█".repeat(eighths / 8))
}

/// The bytes of the groups of a file.
#[derive(Debug, Default)]
pub(super) struct Totals {
    groups: HashMap<ObjectId, Sizes>,
    /// Objects to which several links may lead, which count once.
    seen: HashSet<ObjectId>,
}

impl Totals {
    /// Adds up the arrays in a group and in everything below it. What cannot be listed is left out.
    pub(super) fn new(file: &File, group: ObjectId) -> Self {
        let mut totals = Self::default();
        totals.seen.insert(group);
        totals.group(file, group, 0);
        totals
    }

    /// Returns the bytes of a group. Of several groups that are alike, it is the first that is known.
    pub(super) fn of(&self, group: ObjectId) -> Sizes {
        self.groups.get(&group).copied().unwrap_or_default()
    }

    fn group(&mut self, file: &File, group: ObjectId, depth: usize) -> Sizes {
        let source = file.source();
        let mut sum = Sizes::default();
        if file.limits().depth("levels of groups", depth).is_err() {
            return sum;
        }
        let Ok(runs) = Runs::new(source, group) else { return sum };
        for run in runs.map_while(Result::ok) {
            let Target::Object(id) = run.first.target else { continue };
            if self.is_known(source, id) {
                continue;
            }
            let one = match source.measured(id) {
                Ok(Object::Array(info)) => Sizes::of(&info),
                Ok(Object::Group) => self.group(file, id, depth + 1),
                _ => continue,
            };
            sum.add(one, run.count);
        }
        self.groups.insert(group, sum);
        sum
    }

    /// Returns whether a link has led to the object before.
    fn is_known(&mut self, source: &dyn Source, id: ObjectId) -> bool {
        source.may_be_shared(id) && !self.seen.insert(id)
    }
}

#[cfg(test)]
mod tests {
    use sciformats::Format;
    use sciformats::memory::{Memory, array};

    use super::*;

    #[test]
    fn every_array_counts_once_and_those_that_are_alike_all_count() {
        let mut memory = Memory::new(Format::Hdf5);
        let root = memory.root();
        let outer = memory.group(root, "outer");
        let inner = memory.group(outer, "inner");
        let u = memory.array(inner, "u", array::<f64>(&[4], &[0.0; 4]));
        memory.array(outer, "v", array::<u8>(&[2], &[0; 2]));
        memory.hard_link(root, "the array again", u);
        // A circle of groups.
        memory.hard_link(inner, "up", outer);
        let frames = memory.group(root, "frames");
        for i in 0..5 {
            let frame = memory.group(frames, &i.to_string());
            memory.array(frame, "x", array::<f32>(&[3], &[0.0; 3]));
        }
        let file = File::from(memory);
        let totals = Totals::new(&file, root);
        let bytes = |path: &str| {
            let Sizes { logical, arrays, .. } = totals.of(file.resolve(path).unwrap());
            (logical, arrays)
        };
        assert_eq!(bytes("/outer/inner"), (32, 1));
        assert_eq!(bytes("/outer"), (34, 2));
        assert_eq!(bytes("/frames/0"), (12, 1));
        assert_eq!(bytes("/frames"), (60, 5));
        let whole = totals.of(root);
        // The array that is reached a second time is not a part of the sum again.
        assert_eq!((whole.logical, whole.arrays), (94, 7));
    }

    #[test]
    fn parts_for_people() {
        assert_eq!(
            (percent(0.0), percent(0.001), percent(0.256)),
            ("0 %".into(), "< 1 %".into(), "26 %".into())
        );
        assert_eq!(
            (bar(0.0), bar(0.5), bar(1.0), bar(7.0)),
            (String::new(), "█████".into(), "█".repeat(10), "█".repeat(10))
        );
        assert_eq!((bar(0.0001), bar(0.06)), ("▏".into(), "▋".into()));
    }
}
