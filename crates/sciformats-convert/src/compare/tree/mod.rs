//! Compares two trees side by side.

mod stored;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::iter::Peekable;
use std::ops::ControlFlow;

use sciformats_core::{Error, Slab};

use super::elements::{Comparison, Gap, comparable};
use super::{Difference, Elements, Options, Side, Summary, Verdict, What};
use crate::numpy::Times;
use crate::sink::Rounding;
use sciformats::File;
use sciformats::model::{
    ArrayInfo, Attribute, AttributeValue, Datum, FloatKind, Name, Object, ObjectId, Target, Value,
};
use sciformats::options::Unfolding;
use sciformats::source::{Attributes, Member};
use sciformats::walk::{Found, Seen, breadth_first, join};
use sciformats::{Format, Result};

type Visit<'a> = &'a mut dyn FnMut(Difference) -> ControlFlow<()>;

struct Walk<'a> {
    files: (&'a File, &'a File),
    options: &'a Options,
    visit: Visit<'a>,
    summary: Summary,
    seen: (Seen, Seen),
    /// Where objects are compared whose first paths are not wanted, by these.
    elsewhere: (HashMap<String, String>, HashMap<String, String>),
    /// Whether an object is compared at such a path, with everything below it.
    apart: bool,
    unfolding: Unfolding,
}

pub(super) fn compare(files: (&File, &File), options: &Options, visit: Visit<'_>) -> Summary {
    let roots = (files.0.source().root(), files.1.source().root());
    compare_objects(files, ("/", roots), options, visit)
}

/// Compares two objects, whose differences begin with `path`.
pub(super) fn compare_objects(
    files: (&File, &File),
    (path, ids): (&str, (ObjectId, ObjectId)),
    options: &Options,
    visit: Visit<'_>,
) -> Summary {
    let seen = (Seen::default(), Seen::default());
    let mut walk = Walk {
        files,
        options,
        visit,
        summary: Summary::default(),
        seen,
        elsewhere: Default::default(),
        apart: false,
        unfolding: files.0.unfolding(),
    };
    let _ = walk.objects(path, ids, 0);
    walk.summary
}

/// An entry of one of two sorted lists, or of both.
enum Pair<T> {
    A(T),
    B(T),
    Both(T, T),
    Broken(Side, Error),
}

/// Merges two sorted lists. If one list ends with an error, both end, because the remaining entries are
/// unknown.
struct Join<I: Iterator<Item = Result<T>>, T> {
    lists: Option<(Peekable<I>, Peekable<I>)>,
    name: fn(&T) -> &Name,
}

impl<I: Iterator<Item = Result<T>>, T> Join<I, T> {
    fn new(a: I, b: I, name: fn(&T) -> &Name) -> Self {
        Self { lists: Some((a.peekable(), b.peekable())), name }
    }
}

impl<I: Iterator<Item = Result<T>>, T> Iterator for Join<I, T> {
    type Item = Pair<T>;

    fn next(&mut self) -> Option<Pair<T>> {
        let (a, b) = self.lists.as_mut()?;
        let order = match (a.peek(), b.peek()) {
            (Some(Err(_)), _) | (Some(Ok(_)), None) => Ordering::Less,
            (_, Some(Err(_))) | (None, Some(Ok(_))) => Ordering::Greater,
            (None, None) => return None,
            (Some(Ok(a)), Some(Ok(b))) => (self.name)(a).cmp((self.name)(b)),
        };
        let broken = match order {
            Ordering::Less => match a.next()? {
                Ok(a) => return Some(Pair::A(a)),
                Err(error) => Pair::Broken(Side::A, error),
            },
            Ordering::Greater => match b.next()? {
                Ok(b) => return Some(Pair::B(b)),
                Err(error) => Pair::Broken(Side::B, error),
            },
            Ordering::Equal => match (a.next()?, b.next()?) {
                (Ok(a), Ok(b)) => return Some(Pair::Both(a, b)),
                (Err(error), _) => Pair::Broken(Side::A, error),
                (_, Err(error)) => Pair::Broken(Side::B, error),
            },
        };
        self.lists = None;
        Some(broken)
    }
}

impl Walk<'_> {
    fn tell(&mut self, path: &str, what: What) -> ControlFlow<()> {
        let verdict = what.verdict();
        let flow = (self.visit)(Difference { path: path.into(), what });
        // The summary is right even if `visit` stops the comparison.
        if flow.is_break() {
            self.summary.count(verdict);
        }
        flow
    }

    /// Reports one difference that is the whole result for its object.
    fn settle(&mut self, path: &str, what: What) -> ControlFlow<()> {
        let verdict = what.verdict();
        self.tell(path, what)?;
        self.summary.count(verdict);
        ControlFlow::Continue(())
    }

    /// Compares the targets of two hard links with the same path.
    fn objects(&mut self, path: &str, ids: (ObjectId, ObjectId), depth: usize) -> ControlFlow<()> {
        let (a, b) = (self.files.0.source(), self.files.1.source());
        let first = (
            self.seen.0.first(a, ids.0, path).map(String::from),
            self.seen.1.first(b, ids.1, path).map(String::from),
        );
        if first.0.is_some() || first.1.is_some() {
            return self.again(path, ids, (first, depth));
        }
        self.object(path, ids, Some(depth))
    }

    /// Compares two objects of which at least one has been met at another path. If these paths are not wanted, nothing has been
    /// compared there, and this path is the first one that counts.
    fn again(
        &mut self,
        path: &str,
        ids: (ObjectId, ObjectId),
        (first, depth): ((Option<String>, Option<String>), usize),
    ) -> ControlFlow<()> {
        let compared = |first: &Option<String>, elsewhere: &HashMap<String, String>| {
            let first = first.as_ref()?;
            if self.options.wants(first) { Some(first.clone()) } else { elsewhere.get(first).cloned() }
        };
        let known = (compared(&first.0, &self.elsewhere.0), compared(&first.1, &self.elsewhere.1));
        if known.0.is_some() || known.1.is_some() || !self.options.wants(path) {
            return self.hard_links(path, known);
        }
        self.elsewhere.0.extend(first.0.map(|first| (first, path.to_owned())));
        self.elsewhere.1.extend(first.1.map(|first| (first, path.to_owned())));
        if self.apart {
            // Groups may contain each other, so members are only compared once more.
            return self.object(path, ids, None);
        }
        let seen = std::mem::take(&mut self.seen);
        self.apart = true;
        let flow = self.objects(path, ids, depth);
        (self.seen, self.apart) = (seen, false);
        flow
    }

    /// Compares two objects; their members too, if the depth is given.
    fn object(&mut self, path: &str, ids: (ObjectId, ObjectId), depth: Option<usize>) -> ControlFlow<()> {
        let (a, b) = (self.files.0.source(), self.files.1.source());
        let objects = match (a.object(ids.0), b.object(ids.1)) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(error), _) => return self.settle_wanted(path, What::Unreadable(Side::A, error)),
            (_, Err(error)) => return self.settle_wanted(path, What::Unreadable(Side::B, error)),
        };
        let depth = depth.filter(|_| matches!(objects, (Object::Group, Object::Group)));
        if self.options.wants(path) {
            let stored = self.storage(path, ids)?;
            let verdict = self.contents(path, ids, objects)?;
            self.summary.count(verdict.max(stored));
        }
        self.attributes(path, ids)?;
        depth.map_or(ControlFlow::Continue(()), |depth| self.members(path, ids, depth))
    }

    fn settle_wanted(&mut self, path: &str, what: What) -> ControlFlow<()> {
        if self.options.wants(path) { self.settle(path, what) } else { ControlFlow::Continue(()) }
    }

    fn hard_links(&mut self, path: &str, first: (Option<String>, Option<String>)) -> ControlFlow<()> {
        if !self.options.wants(path) {
            return ControlFlow::Continue(());
        }
        match first {
            (a, b) if a == b => {
                self.summary.count(Verdict::Same);
                ControlFlow::Continue(())
            }
            (Some(a), Some(b)) => self.settle(path, What::Target(a, b)),
            (Some(_), None) => self.settle(path, What::Kind("hardlink", "object")),
            _ => self.settle(path, What::Kind("object", "hardlink")),
        }
    }

    /// Compares two objects without their attributes and members.
    fn contents(
        &mut self,
        path: &str,
        ids: (ObjectId, ObjectId),
        objects: (Object, Object),
    ) -> ControlFlow<(), Verdict> {
        let what = match objects {
            (Object::Damaged { error, .. }, _) => What::Unreadable(Side::A, error),
            (_, Object::Damaged { error, .. }) => What::Unreadable(Side::B, error),
            (Object::Group, Object::Group) => return ControlFlow::Continue(Verdict::Same),
            (Object::Array(a), Object::Array(b)) => return self.arrays(path, ids, (&a, &b)),
            (Object::Datatype(a), Object::Datatype(b)) if a == b => {
                return ControlFlow::Continue(Verdict::Same);
            }
            (Object::Datatype(a), Object::Datatype(b)) => What::Type(a, b),
            (Object::Value(a), Object::Value(b)) if same_value(&a, &b, self.options) => {
                return ControlFlow::Continue(Verdict::Same);
            }
            (Object::Value(a), Object::Value(b)) => What::Value(a.to_string(), b.to_string()),
            (a, b) => What::Kind(a.kind().word(), b.kind().word()),
        };
        let verdict = what.verdict();
        self.tell(path, what)?;
        ControlFlow::Continue(verdict)
    }

    /// Compares types and shapes. Returns the verdict so far, and whether the elements can be compared.
    fn kinds(
        &mut self,
        path: &str,
        a: &AttributeKind<'_>,
        b: &AttributeKind<'_>,
    ) -> ControlFlow<(), (Verdict, bool)> {
        let mut verdict = Verdict::Same;
        let mut go_on = true;
        if !comparable(a.0, b.0) {
            self.tell(path, What::Incomparable(a.0.clone(), b.0.clone()))?;
            (verdict, go_on) = (Verdict::Incomparable, false);
        } else if a.0 != b.0 {
            self.tell(path, What::Type(a.0.clone(), b.0.clone()))?;
            verdict = Verdict::Different;
        }
        if a.1 != b.1 {
            self.tell(path, What::Shape(a.1.map(<[u64]>::to_vec), b.1.map(<[u64]>::to_vec)))?;
            (verdict, go_on) = (Verdict::Different, false);
        }
        ControlFlow::Continue((verdict, go_on))
    }

    fn arrays(
        &mut self,
        path: &str,
        ids: (ObjectId, ObjectId),
        infos: (&ArrayInfo, &ArrayInfo),
    ) -> ControlFlow<(), Verdict> {
        let (a, b) = infos;
        let kinds = ((&a.element, a.shape.as_deref()), (&b.element, b.shape.as_deref()));
        let (mut verdict, go_on) = self.kinds(path, &kinds.0, &kinds.1)?;
        let times = (Times::of(a), Times::of(b));
        if times.0 != times.1 {
            let shown = |times: Option<Times>, info: &ArrayInfo| {
                times.map_or_else(|| info.element.to_string(), |times| times.to_string())
            };
            self.tell(path, What::Times(shown(times.0, a), shown(times.1, b)))?;
            verdict = Verdict::Different;
        }
        let (true, Some(shape)) = (go_on, a.shape.as_deref()) else { return ControlFlow::Continue(verdict) };
        match self.array_elements(ids, infos, shape) {
            Ok(found) => self.found(path, found, verdict),
            Err((side, error)) => {
                self.tell(path, What::Unreadable(side, error))?;
                ControlFlow::Continue(verdict.max(Verdict::Incomparable))
            }
        }
    }

    /// Reads both arrays piece by piece.
    fn array_elements(
        &self,
        ids: (ObjectId, ObjectId),
        (a, b): (&ArrayInfo, &ArrayInfo),
        shape: &[u64],
    ) -> Result<Elements, (Side, Error)> {
        let types = (&a.element, &b.element);
        let rounded = self.rounded(ids.1);
        let options = rounded.as_ref().unwrap_or(self.options);
        let mut comparison = Comparison { types, options, found: Elements::default() };
        let all = Slab::all(shape).map_err(|error| (Side::A, error))?;
        if self.options.stored && a.element == b.element && self.is_stored_alike(ids) {
            comparison.found.compared = all.len();
            return Ok(comparison.found);
        }
        let mut other = Vec::new();
        // The error of the second file is kept separately, because the reader of the first file would report
        // it as its own.
        let mut failure = None;
        let read = self.files.0.go_through(&self.unfolding, (ids.0, a), &all, &mut |piece, bytes| {
            other.clear();
            let read = self.files.1.read(ids.1, piece, &mut other);
            Ok(match read.and_then(|()| comparison.piece(piece, (bytes, &other))) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            })
        });
        read.map_err(|error| (Side::A, error))?;
        failure.map_or(Ok(comparison.found), |error| Err((Side::B, error)))
    }

    /// Returns the options for an array of the second file that tells of a rounding, if that is asked for.
    fn rounded(&self, id: ObjectId) -> Option<Options> {
        if !self.options.rounded {
            return None;
        }
        let mut rtol: Option<f64> = None;
        for name in Rounding::ATTRIBUTES {
            let told = self.files.1.attr_at::<i32>(id, name).ok().flatten();
            if let Some(rounding) = told.and_then(|value| Rounding::told(name, value)) {
                rtol = Some(rtol.unwrap_or(0.0).max(rounding.relative_error()));
            }
        }
        rtol.map(|rtol| Options { rtol, ..self.options.clone() })
    }

    fn found(&mut self, path: &str, found: Elements, verdict: Verdict) -> ControlFlow<(), Verdict> {
        if found.different == 0 {
            return ControlFlow::Continue(verdict);
        }
        self.tell(path, What::Elements(found))?;
        ControlFlow::Continue(Verdict::Different)
    }

    fn attributes(&mut self, path: &str, ids: (ObjectId, ObjectId)) -> ControlFlow<()> {
        let (a, b) = (self.files.0.source(), self.files.1.source());
        let formats = (a.format(), b.format());
        let (a, b) = match (a.attributes(ids.0), b.attributes(ids.1)) {
            (Ok(a), Ok(b)) => (meaning(formats.0, a), meaning(formats.1, b)),
            (Err(error), _) => return self.settle_wanted(path, What::Unreadable(Side::A, error)),
            (_, Err(error)) => return self.settle_wanted(path, What::Unreadable(Side::B, error)),
        };
        for pair in Join::new(a, b, |attribute: &Attribute| &attribute.name) {
            let name = match &pair {
                Pair::A(one) | Pair::B(one) | Pair::Both(one, _) => one.name.shown().into_owned(),
                Pair::Broken(..) => String::new(),
            };
            let at = format!("{path}@{name}");
            if self.options.ignores(&at) || !self.options.wants(&at) {
                continue;
            }
            match pair {
                Pair::A(_) => self.settle(&at, What::Only(Side::A, "attribute"))?,
                Pair::B(_) => self.settle(&at, What::Only(Side::B, "attribute"))?,
                Pair::Broken(side, error) => self.settle(&at, What::Unreadable(side, error))?,
                Pair::Both(a, b) => match (a.value, b.value) {
                    (Ok(a), Ok(b)) => {
                        let verdict = self.attribute(&at, a, b)?;
                        self.summary.count(verdict);
                    }
                    (Err(error), _) => self.settle(&at, What::Unreadable(Side::A, error))?,
                    (_, Err(error)) => self.settle(&at, What::Unreadable(Side::B, error))?,
                },
            }
        }
        ControlFlow::Continue(())
    }

    fn attribute(&mut self, at: &str, a: AttributeValue, b: AttributeValue) -> ControlFlow<(), Verdict> {
        let kinds = ((&a.element, a.shape.as_deref()), (&b.element, b.shape.as_deref()));
        let (verdict, go_on) = self.kinds(at, &kinds.0, &kinds.1)?;
        let (true, Some(shape)) = (go_on, a.shape.as_deref()) else { return ControlFlow::Continue(verdict) };
        let data = match (a.data, b.data) {
            (Ok(a), Ok(b)) => Ok((a, b)),
            (Err(error), _) => Err((Side::A, error)),
            (_, Err(error)) => Err((Side::B, error)),
        };
        let types = (&a.element, &b.element);
        let mut comparison = Comparison { types, options: self.options, found: Elements::default() };
        let compared = data.and_then(|(a, b)| {
            let all = Slab::all(shape).and_then(|all| comparison.piece(&all, (&a, &b)));
            all.map_err(|error| (Side::A, error))
        });
        match compared {
            Ok(()) => self.found(at, comparison.found, verdict),
            Err((side, error)) => {
                self.tell(at, What::Unreadable(side, error))?;
                ControlFlow::Continue(verdict.max(Verdict::Incomparable))
            }
        }
    }

    fn members(&mut self, path: &str, ids: (ObjectId, ObjectId), depth: usize) -> ControlFlow<()> {
        let (a, b) = (self.files.0.source(), self.files.1.source());
        let deep = self.files.0.limits().depth("levels of groups", depth);
        let (a, b) = match (deep.and_then(|()| a.members(ids.0)), b.members(ids.1)) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(error), _) => return self.settle_wanted(path, What::Unreadable(Side::A, error)),
            (_, Err(error)) => return self.settle_wanted(path, What::Unreadable(Side::B, error)),
        };
        for pair in Join::new(a, b, |member: &Member| &member.name) {
            let at = match &pair {
                Pair::A(one) | Pair::B(one) | Pair::Both(one, _) => join(path, &one.name),
                Pair::Broken(..) => path.into(),
            };
            if self.options.ignores(&at) {
                continue;
            }
            match pair {
                Pair::A(one) => self.only(Side::A, &at, &one.target)?,
                Pair::B(one) => self.only(Side::B, &at, &one.target)?,
                Pair::Broken(side, error) => self.settle_wanted(&at, What::Unreadable(side, error))?,
                Pair::Both(a, b) => match (a.target, b.target) {
                    (Target::Object(a), Target::Object(b)) => self.objects(&at, (a, b), depth + 1)?,
                    (a, b) if self.options.wants(&at) => self.links(&at, a, b)?,
                    _ => {}
                },
            }
        }
        ControlFlow::Continue(())
    }

    fn links(&mut self, at: &str, a: Target, b: Target) -> ControlFlow<()> {
        let what = match (a, b) {
            (Target::Damaged(error), _) => What::Unreadable(Side::A, error),
            (_, Target::Damaged(error)) => What::Unreadable(Side::B, error),
            (a, b) => match (kind_of_link(&a), kind_of_link(&b), leads(&a), leads(&b)) {
                (_, _, a, b) if a == b && a.is_some() => {
                    self.summary.count(Verdict::Same);
                    return ControlFlow::Continue(());
                }
                (kind, other, Some(a), Some(b)) if kind == other => What::Target(a, b),
                (kind, other, ..) => What::Kind(kind, other),
            },
        };
        self.settle(at, what)
    }

    /// Reports an object that only one file has. If only parts of a group are selected, the group is
    /// searched.
    fn only(&mut self, side: Side, at: &str, target: &Target) -> ControlFlow<()> {
        let file = match side {
            Side::A => self.files.0,
            Side::B => self.files.1,
        };
        let &Target::Object(id) = target else {
            return self.settle_wanted(at, What::Only(side, kind_of_link(target)));
        };
        let kind = file.source().object(id).map_or("object", |object| object.kind().word());
        if self.options.only.is_empty() || kind != "group" {
            return self.settle_wanted(at, What::Only(side, kind));
        }
        breadth_first(file.source(), (at, id), file.limits(), &mut |entry| {
            if self.options.ignores(&entry.path) {
                return ControlFlow::Continue(());
            }
            let kind = match &entry.what {
                Found::Object(_, object) => object.kind().word(),
                _ => "link",
            };
            self.settle_wanted(&entry.path, What::Only(side, kind))
        })
    }
}

/// A type and a shape.
type AttributeKind<'a> = (&'a sciformats::model::ElementType, Option<&'a [u64]>);

fn kind_of_link(target: &Target) -> &'static str {
    match target {
        Target::Object(_) => "object",
        Target::Soft(_) => "softlink",
        Target::External { .. } => "extlink",
        Target::User(_) => "userlink",
        Target::Damaged(_) => "damaged link",
    }
}

/// Returns the target of a link that is not a hard link.
fn leads(target: &Target) -> Option<String> {
    match target {
        Target::Soft(path) => Some(path.to_string()),
        Target::External { file, target } => Some(format!("{file}:{target}")),
        Target::User(class) => Some(format!("class {class}")),
        Target::Object(_) | Target::Damaged(_) => None,
    }
}

fn same_value(a: &Value, b: &Value, options: &Options) -> bool {
    fn number(value: &Value) -> Option<Datum<'static>> {
        match value {
            Value::Integer(digits) => {
                let large = || digits.parse().ok().map(|value| Datum::Float(value, FloatKind::F64));
                digits.parse().ok().map(Datum::Int).or_else(large)
            }
            Value::Float(value) => Some(Datum::Float(*value, FloatKind::F64)),
            _ => None,
        }
    }
    match (a, b) {
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b, options))
        }
        // Integers of more than 128 bits are compared by their digits first.
        (Value::Integer(a), Value::Integer(b)) if a == b => true,
        _ => match (number(a), number(b)) {
            (Some(a), Some(b)) => Gap::default().same(&a, &b, options),
            _ => a == b,
        },
    }
}

/// Returns the attributes, without those that only say how an array is stored.
fn meaning(format: Format, attributes: Attributes<'_>) -> Attributes<'_> {
    let storage = move |one: &Result<Attribute>| one.as_ref().is_ok_and(|one| format.is_storage(&one.name));
    Box::new(attributes.filter(move |one| !storage(one)))
}

#[cfg(test)]
mod tests;
