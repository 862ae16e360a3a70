//! What was found out about a damaged file.

use std::collections::{BTreeMap, BTreeSet};

use sciformats_convert::convert::Loss;
use serde_json::{Value, json};

use crate::map::Map;

/// What is said of an object that is not in the new file.
pub(crate) const LEFT_OUT: &str = "is not in the new file";

/// How much of an object is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// Everything is there, and checksums say that the description, the index and the elements are as they were written.
    Whole,
    /// Nothing is known to be missing. Some of it has no checksum, so that changed bytes would not be noticed.
    Unchecked,
    /// A part is missing or damaged.
    Partial,
    /// The description is there, but no element.
    Metadata,
    /// A name or an address is left, and nothing else.
    Lost,
}

impl State {
    /// Returns the state in one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Unchecked => "unchecked",
            Self::Partial => "partial",
            Self::Metadata => "metadata",
            Self::Lost => "lost",
        }
    }
}

/// What is left of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectReport {
    /// The path in the damaged file, or below `/lost+found`.
    pub path: String,
    /// The address of its header.
    pub address: u64,
    /// What it is: `group`, `dataset`, `datatype`, `chunks`, which are the bytes of chunks whose dataset is lost, or `object`, if that
    /// is unknown.
    pub kind: &'static str,
    /// How much is left.
    pub state: State,
    /// Whether no checksum covers some of what is left, so that changed bytes in it would not be noticed.
    pub unchecked: bool,
    /// The numbers of chunks that were found and that should be there, if elements are in chunks.
    pub chunks: Option<(u64, u64)>,
    /// The parts that were not found, as the index of the first element and the lengths along each dimension.
    pub missing: Vec<(Vec<u64>, Vec<u64>)>,
    /// Why something is missing, and anything else that casts doubt on the object.
    pub reasons: Vec<String>,
}

/// How certain an action is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Confidence {
    /// Checksums or several independent facts agree.
    High,
    /// One fact speaks for it, and none against it.
    Medium,
    /// It is the best guess.
    Speculative,
}

impl Confidence {
    /// Returns the confidence in one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Speculative => "speculative",
        }
    }
}

/// One action of the plan by which a file is recovered. Actions change a view of the file and never the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// What is done.
    pub kind: &'static str,
    /// The absolute offset of the structure that it concerns.
    pub offset: u64,
    /// Why it is right.
    pub reason: String,
    /// How certain it is.
    pub confidence: Confidence,
}

/// A kind of damage and the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The kind in a few words.
    pub kind: &'static str,
    /// What speaks for it.
    pub evidence: String,
}

/// Everything that was found out about a damaged file.
#[derive(Clone, Debug)]
pub struct Report {
    /// The format.
    pub format: &'static str,
    /// The number of bytes of the file.
    pub size: u64,
    /// The kinds of damage.
    pub causes: Vec<Cause>,
    /// The actions of the plan.
    pub actions: Vec<Action>,
    /// The objects, in the order of their paths.
    pub objects: Vec<ObjectReport>,
    /// The numbers of structures that were recognised by what they look like.
    pub structures: BTreeMap<&'static str, u64>,
    /// What the bytes of the file are.
    pub map: Map,
}

impl Report {
    /// Returns how many objects are in a state.
    pub fn count(&self, state: State) -> usize {
        self.objects.iter().filter(|object| object.state == state).count()
    }

    /// Returns whether nothing is damaged and nothing is unreachable.
    pub fn is_sound(&self) -> bool {
        self.causes.is_empty()
            && self.actions.is_empty()
            && self.objects.iter().all(|object| object.state <= State::Unchecked)
    }

    /// Adds the losses that [`Examination::write`](crate::Examination::write) returns: an object that lost something while it was
    /// written is no longer whole.
    #[must_use]
    pub fn with_losses(mut self, losses: &[Loss]) -> Self {
        let mut parents = BTreeSet::new();
        let paths: BTreeSet<String> = self.objects.iter().map(|object| object.path.clone()).collect();
        let mut of_objects: BTreeMap<&str, Vec<&Loss>> = BTreeMap::new();
        for loss in losses {
            of_objects.entry(owner(&loss.path, &paths)).or_default().push(loss);
        }
        for object in &mut self.objects {
            for loss in of_objects.get(object.path.as_str()).into_iter().flatten() {
                let why = match loss.path.strip_prefix(&object.path).and_then(|rest| rest.strip_prefix('@')) {
                    Some(attribute) => format!("the attribute {attribute} {}", loss.what),
                    None if loss.path == object.path => loss.what.clone(),
                    None => format!("{} {}", loss.path, loss.what),
                };
                if loss.is_of_storage() {
                    object.reasons.push(why);
                    continue;
                }
                let absent = loss.what == LEFT_OUT && loss.path == object.path;
                object.state = object.state.max(if absent { State::Lost } else { State::Partial });
                if !object.reasons.contains(&why) {
                    object.reasons.push(why);
                }
                if absent && let Some((parent, _)) = object.path.rsplit_once('/') {
                    parents.insert(if parent.is_empty() { "/".to_owned() } else { parent.to_owned() });
                }
            }
        }
        for object in self.objects.iter_mut().filter(|object| parents.contains(&object.path)) {
            object.state = object.state.max(State::Partial);
            object.reasons.push("a member is not in the new file".into());
        }
        self
    }

    /// Returns the report as JSON.
    pub fn json(&self) -> Value {
        let objects = self.objects.iter().map(|object| {
            let missing = object.missing.iter().map(|(start, count)| json!({"start": start, "count": count}));
            json!({
                "path": object.path,
                "address": object.address,
                "kind": object.kind,
                "state": object.state.word(),
                "unchecked": object.unchecked,
                "chunks": object.chunks.map(|(found, expected)| json!({"found": found, "expected": expected})),
                "missing": missing.collect::<Vec<_>>(),
                "reasons": object.reasons,
            })
        });
        let actions = self.actions.iter().map(|action| {
            json!({
                "action": action.kind,
                "offset": action.offset,
                "reason": action.reason,
                "confidence": action.confidence.word(),
            })
        });
        let causes = self.causes.iter().map(|cause| json!({"cause": cause.kind, "evidence": cause.evidence}));
        json!({
            "format": self.format,
            "size": self.size,
            "causes": causes.collect::<Vec<_>>(),
            "actions": actions.collect::<Vec<_>>(),
            "objects": objects.collect::<Vec<_>>(),
            "structures": self.structures,
            "map": self.map.json(),
        })
    }
}

/// Returns the path of the object of a loss, which may be one of an attribute: the longest known path before an `@`. What is lost of
/// something that is no object, such as a soft link, is lost of its group.
fn owner<'a>(path: &'a str, paths: &BTreeSet<String>) -> &'a str {
    let known = |start: &&str| paths.contains(*start);
    let ends = path.rmatch_indices('@').map(|(at, _)| at);
    let before = ends.filter_map(|at| path.get(..at)).filter(known);
    let groups = path.rmatch_indices('/').filter_map(|(at, _)| path.get(..at.max(1)));
    std::iter::once(path).filter(known).chain(before).chain(groups.filter(known)).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_belong_to_objects_or_their_groups() {
        let paths: BTreeSet<String> = ["/", "/a", "/a/b", "/a@b"].map(str::to_owned).into();
        for (path, expected) in [
            ("/a/b", "/a/b"),
            ("/a@b", "/a@b"),
            ("/a@c", "/a"),
            ("/a/link", "/a"),
            ("/link", "/"),
            ("x", "x"),
        ] {
            assert_eq!(owner(path, &paths), expected);
        }
    }
}
