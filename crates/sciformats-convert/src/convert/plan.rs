//! Makes a plan: collects what the source has, and does what all three layouts of formats have in common.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;

use sciformats_core::{Error, FaultKind, Range, Slab, bound};

use super::rescue::{Origin, Rescue};
use super::table::{Body, Link, Rare, Table, Taken};
use super::view::{View, peeled};
use super::{Counts, Loss, Options, Plan, Remark, frames, references, scalar, single, tree};
use crate::compare::{is_selected, objects_match};
use crate::numpy::{TYPE_FACT, Times, is_text};
use crate::parts::{Part, each};
use crate::sink::{Fit, Layout, Rules, rules};
use sciformats::memory::MemoryArray;
use sciformats::model::{
    ArrayInfo, AttributeValue, Datum, Decoder, ElementType, Name, Object, ObjectId, TextForm, Value,
};
use sciformats::options::Unfolding;
use sciformats::pieces::Pieces;
use sciformats::source::Source;
use sciformats::walk::{Entry, Found, breadth_first};
use sciformats::{File, Format, Result};

pub(super) fn make(file: &Arc<File>, target: Format, options: &Options) -> Result<Plan> {
    let rules = rules(target)?;
    objects_match(file, &options.select)?;
    let rescue = Arc::new(Rescue::default());
    let view = View {
        rescue: Arc::clone(&rescue),
        format: target,
        origin: Arc::clone(file),
        cancel: options.cancel.clone(),
        table: Table::default(),
        rules,
        places: None,
        opened: file.opened().cloned(),
    };
    let mut builder = Builder {
        rules,
        view,
        losses: Vec::new(),
        remarks: BTreeMap::new(),
        facts: Vec::new(),
        metadata: Vec::new(),
        unfolding: file.unfolding(),
        declared: file.writing(),
        limit: None,
        unreached: None,
        recent: VecDeque::new(),
    };
    if let Some(whole) = file.cut_short() {
        let cut = FaultKind::Cut { found: file.size(), whole };
        builder.lose("/", format!("has lost some of its contents: the file {cut}"));
    }
    if let Some(error) = file.damage() {
        builder.lose("/", format!("has lost some of its contents: {error}"));
    }
    if let Some(doubt) = file.source().doubt() {
        builder.lose("/", doubt);
    }
    match rules.layout {
        Layout::Tree => {
            tree::begin(&mut builder);
            let mut is_first = true;
            builder.walk(file, options, &mut |builder, entry| {
                tree::one(builder, entry, std::mem::take(&mut is_first));
            });
        }
        Layout::Single => {
            let entries = builder.entries(file, options);
            single::arrange(&mut builder, entries)?;
        }
        Layout::Frames => {
            let entries = builder.entries(file, options);
            frames::arrange(&mut builder, entries);
        }
    }
    builder.view.table.sort();
    if matches!(rules.layout, Layout::Tree) {
        references::check(&mut builder);
    }
    let Builder { view, losses, remarks, facts, metadata, unreached, .. } = builder;
    let counts = counts(&view);
    let options = file.options().clone();
    let tree = Arc::new(File::from(view).with_options(options).with_size(file.size()));
    let remarks = remarks.into_iter().collect();
    let origin = file.opened().cloned();
    Ok(Plan { target, tree, origin, losses, remarks, counts, facts, metadata, rescue, unreached })
}

fn counts(view: &View) -> Counts {
    let mut counts = Counts::default();
    // The size of texts and sequences is unknown until they are read, so they are not counted.
    let known = |info: &ArrayInfo| info.logical().unwrap_or_default();
    counts.attributes = view.table.attribute_count() as u64;
    counts.links = view.table.other_links() as u64;
    for node in view.table.nodes() {
        match &node.body {
            Body::Group => counts.groups += 1,
            Body::Array(taken) => {
                counts.arrays += 1;
                counts.bytes = bound::sum(counts.bytes, known(&taken.info));
            }
            Body::Made(made) => {
                counts.arrays += 1;
                counts.bytes = bound::sum(counts.bytes, known(&made.info));
            }
            Body::Datatype(_) | Body::Value(_) => counts.values += 1,
        }
    }
    counts
}

/// The reason why some text cannot be held.
const NO_TEXT: &str =
    "is left out: it holds text that is not UTF-8, or text with a NUL that the target would take for its end";

pub(super) struct Builder {
    pub(super) rules: Rules,
    pub(super) view: View,
    losses: Vec<Loss>,
    remarks: BTreeMap<Remark, u64>,
    pub(super) facts: Vec<(String, Value)>,
    /// The bytes to write after the elements of RawArray.
    pub(super) metadata: Vec<u8>,
    /// The number of bytes to be written, which has a limit.
    declared: Unfolding,
    /// The first error of that limit.
    pub(super) limit: Option<Error>,
    /// The first array whose elements are in other files that are missing or may not be opened, and the error.
    unreached: Option<(String, Error)>,
    /// The number of bytes of the source's elements that planning reads, which has a limit.
    pub(super) unfolding: Unfolding,
    /// The descriptions of the previous arrays that differ.
    recent: VecDeque<Arc<ArrayInfo>>,
}

impl Builder {
    /// Passes everything that is selected and can be read to `take`, in canonical order. Everything else
    /// becomes a loss, which is listed before the losses that `take` finds.
    fn walk(&mut self, file: &File, options: &Options, take: &mut dyn FnMut(&mut Self, Entry)) {
        let (before, mut unread) = (self.losses.len(), Vec::new());
        let (source, mut found_at) = (file.source(), HashMap::new());
        let _ = breadth_first(source, ("/", source.root()), file.limits(), &mut |entry| {
            if is_selected(&entry.path, &options.select) {
                let entry = placed((file, options), entry, &mut found_at);
                let what = match entry.what {
                    Found::Unlisted(error) => format!("cannot be listed completely: {error}"),
                    Found::Unreadable(error) | Found::Object(_, Object::Damaged { error, .. }) => {
                        format!("cannot be read: {error}")
                    }
                    _ => {
                        take(self, entry);
                        return ControlFlow::Continue(());
                    }
                };
                unread.push(Loss { path: entry.path, what, lost: None });
            }
            ControlFlow::Continue(())
        });
        self.losses.splice(before..before, unread);
    }

    /// Returns everything that is selected and can be read.
    fn entries(&mut self, file: &File, options: &Options) -> Vec<Entry> {
        let mut entries = Vec::new();
        self.walk(file, options, &mut |_, entry| entries.push(entry));
        entries
    }

    /// Returns a shared description of an array: if it is equal to one of the previous ones, both use the
    /// same memory.
    pub(super) fn shared(&mut self, info: ArrayInfo) -> Arc<ArrayInfo> {
        const MOST: usize = 16;
        if let Some(known) = self.recent.iter().find(|known| ***known == info) {
            return Arc::clone(known);
        }
        self.recent.truncate(MOST - 1);
        let info = Arc::new(info);
        self.recent.push_front(Arc::clone(&info));
        info
    }

    /// Gives an object an attribute.
    pub(super) fn attach(&mut self, node: usize, name: Name, array: MemoryArray) {
        let MemoryArray { info, bytes } = array;
        let info = self.shared(info);
        self.view.table.attach(node, name, info, &bytes);
    }

    pub(super) fn lose(&mut self, path: &str, what: impl Into<String>) {
        self.losses.push(Loss { path: path.into(), what: what.into(), lost: None });
    }

    /// Returns the text of the last loss.
    pub(super) fn last_loss(&self) -> String {
        self.losses.last().map(|loss| format!("{} {}", loss.path, loss.what)).unwrap_or_default()
    }

    /// Records the loss of objects that the target has no equivalent for: links, scalars, committed
    /// datatypes.
    pub(super) fn leave_out(&mut self, path: &str, found: &Found) {
        let what = match found {
            Found::Object(_, Object::Value(value)) => format!("it is the scalar {value}"),
            Found::Object(_, Object::Datatype(_)) => "it is a committed datatype".into(),
            Found::Object(_, object) => format!("a {}", object.kind()),
            Found::HardLink(first) => format!("it is another link to {first}"),
            Found::Soft(target) => format!("it is a link to {target}"),
            Found::External { file, target } => format!("it is a link to {target} in {file}"),
            Found::User(class) => format!("it is a link of the user-defined class {class}"),
            // These have been recorded as losses already.
            Found::Unreadable(_) | Found::Unlisted(_) => return,
        };
        self.lose(path, format!("is left out: {what}"));
    }

    pub(super) fn remark(&mut self, remark: Remark) {
        *self.remarks.entry(remark).or_default() += 1;
    }

    /// Returns those attributes of an object that can be read.
    pub(super) fn attributes(&mut self, path: &str, id: ObjectId) -> Vec<(Name, MemoryArray)> {
        let origin = Arc::clone(&self.view.origin);
        let mut found = Vec::new();
        let attributes = match origin.source().attributes(id) {
            Ok(attributes) => attributes,
            Err(error) => {
                self.lose(path, format!("has attributes that cannot be read: {error}"));
                return found;
            }
        };
        for attribute in attributes {
            if attribute.as_ref().is_ok_and(|one| origin.format().is_storage(&one.name)) {
                continue;
            }
            let attribute = match attribute {
                Ok(attribute) => attribute,
                Err(error) => {
                    self.lose(path, format!("has an attribute that cannot be read: {error}"));
                    continue;
                }
            };
            let read = attribute.value.and_then(|AttributeValue { element, shape, data }| {
                let info = ArrayInfo { shape, ..ArrayInfo::new(element, []) };
                Ok(MemoryArray { info, bytes: data? })
            });
            match read {
                Ok(read) => found.push((attribute.name, read)),
                Err(error) => {
                    let path = format!("{path}@{}", attribute.name.shown());
                    self.lose(&path, format!("cannot be read: {error}"));
                }
            }
        }
        found
    }

    /// Returns the type of the elements, and the dimensions that they add to those of the array if the target
    /// has no elements that are arrays themselves.
    fn flat<'a>(&self, element: &'a ElementType) -> (&'a ElementType, Vec<u64>) {
        if self.rules.arrays_as_elements { (element, Vec::new()) } else { peeled(element) }
    }

    /// Returns the type and shape that an array has in the target. If the target cannot hold it, this returns
    /// `None` and records a loss.
    pub(super) fn fit(&mut self, path: &str, info: &ArrayInfo) -> Option<ArrayInfo> {
        let (inner, dimensions) = self.flat(&info.element);
        let extended = |of: &Option<Vec<u64>>| of.as_deref().map(|of| [of, &dimensions[..]].concat());
        let mut wide;
        let mut info = info;
        if *inner != info.element {
            self.remark(Remark::ArrayAsDimensions);
            wide = info.clone();
            (wide.element, wide.shape, wide.chunks) =
                (inner.clone(), extended(&info.shape), extended(&info.chunks));
            info = &wide;
        }
        let element = match self.rules.element(&info.element) {
            Fit::Whole => info.element.clone(),
            Fit::Alias(element) => {
                self.remark(Remark::TruthValues);
                element
            }
            Fit::Changed(element) => {
                self.lose(path, format!("has elements of type {}, which become {element}", info.element));
                element
            }
            Fit::No => {
                self.lose(path, format!("is left out: its elements are of type {}", info.element));
                return None;
            }
        };
        self.fields(path, &element);
        let Some(shape) = self.rules.shape_of(&element, info.shape.as_deref()) else {
            self.lose(path, format!("is left out: its shape is {}", shown(info.shape.as_deref())));
            return None;
        };
        if shape != info.shape {
            let (from, to) = (shown(info.shape.as_deref()), shown(shape.as_deref()));
            self.lose(path, format!("is of shape {from}, which becomes {to}"));
        }
        let mut fitted = ArrayInfo { shape, ..ArrayInfo::new(element, []) };
        fitted.width = info.width.filter(|_| fitted.element.size().is_none());
        // The texts in an element of another type are at other positions.
        fitted.texts = info.texts.clone().filter(|_| fitted.element == info.element);
        if fitted.texts.as_deref().is_some_and(|forms| !self.rules.keeps(forms)) {
            self.remark(Remark::TextsOfAnyLength);
        }
        fitted.chunks = info.chunks.clone().filter(|_| fitted.shape == info.shape);
        fitted.facts = info.facts.iter().filter(|(key, _)| *key == "holds").cloned().collect();
        if self.rules.layout != Layout::Frames && fitted.facts.contains(&("holds", "text".into())) {
            self.lose(
                path,
                format!("has characters in columns, which become elements of type {}", fitted.element),
            );
        }
        if let Some(times) = Times::of(info) {
            if Times::fit(self.rules.format) {
                fitted.facts.extend(info.facts.iter().filter(|(key, _)| *key == TYPE_FACT).cloned());
            } else {
                self.lose(path, format!("has elements of type {times}, which become {}", fitted.element));
            }
        }
        if info.facts.iter().any(|(key, _)| *key == "numbers") {
            self.remark(Remark::NumbersAsBytes);
        }
        Some(fitted)
    }

    /// Records fields whose names the target cannot hold as they are.
    fn fields(&mut self, path: &str, element: &ElementType) {
        match element {
            ElementType::Compound(fields) => {
                for (name, field) in fields {
                    if !self.rules.name(name) {
                        self.lose(path, tree::escaped("field whose name", name));
                    }
                    self.fields(path, field);
                }
            }
            ElementType::Array { element, .. } => self.fields(path, element),
            _ => {}
        }
    }

    /// Returns whether the target stores texts as characters that the source stores as bytes: the bytes of ASDF are ASCII.
    fn is_widened(&self, info: &ArrayInfo, bytes: &[u8]) -> bool {
        let forms = info.texts.as_deref().unwrap_or_default();
        let of_bytes = |at: usize| matches!(forms.get(at), Some(TextForm::Bytes(_)));
        if self.rules.format != Format::Asdf || !(0..forms.len()).any(of_bytes) {
            return false;
        }
        let mut found = false;
        // Elements with sequences have no positions of texts.
        let looked = each(&info.element, bytes, &is_text, &mut |part, at| {
            found |= matches!(part, Part::Text(text) if of_bytes(at) && !text.is_ascii());
            Ok(())
        });
        looked.is_ok() && found
    }

    /// Returns whether the target can hold the texts in canonical bytes.
    fn texts_fit(&self, info: &ArrayInfo, bytes: &[u8]) -> bool {
        fn fit(rule: &dyn Fn(&[u8]) -> bool, datum: &Datum<'_>) -> bool {
            match datum {
                Datum::Text(text) => rule(text),
                Datum::List(items) => items.iter().all(|item| fit(rule, item)),
                Datum::Record(fields) => fields.iter().all(|(_, field)| fit(rule, field)),
                _ => true,
            }
        }
        let of_bytes = |forms: &[TextForm]| forms.iter().all(|form| matches!(form, TextForm::Bytes(_)));
        let of_bytes = info.texts.as_deref().is_some_and(of_bytes);
        let rule = |text: &[u8]| self.rules.text(text) || of_bytes && self.rules.bytes(text);
        let fits = |datum: Result<Datum<'_>>| datum.is_ok_and(|datum| fit(&rule, &datum));
        // Elements with a fixed size contain no text.
        info.element.size().is_some() || Decoder::new(&info.element, bytes).all(fits)
    }

    /// Returns whether the target can hold the texts of an attribute. If not, it is lost. Those of HDF5 are stored there as they were.
    pub(super) fn attribute_fits(&mut self, path: &str, array: &MemoryArray) -> bool {
        let fits =
            self.view.origin.format() == self.rules.format || self.texts_fit(&array.info, &array.bytes);
        if !fits {
            self.lose(path, NO_TEXT);
        }
        fits
    }

    /// Returns whether the target can hold all texts of an array of the source. Texts that cannot be read are
    /// lost.
    fn all_texts_fit(&mut self, path: &str, id: ObjectId, info: &ArrayInfo) -> bool {
        let Some(Ok(slab)) = info.shape.as_deref().map(Slab::all) else { return true };
        if info.element.size().is_some() {
            return true;
        }
        let origin = Arc::clone(&self.view.origin);
        if let Err(error) = self.unfolding.add(slab.len(), info) {
            self.lose(path, format!("is not checked for texts that the target cannot hold: {error}"));
            return true;
        }
        let rescue = Rescue::going_on();
        let from = Origin { file: &origin, path, id, info };
        let (mut fit, mut widened) = (true, false);
        let pieces = Pieces::new(info, &slab, origin.limits().memory);
        let looked = pieces.into_iter().try_for_each(|piece| {
            if fit {
                let bytes = rescue.read(from, &piece)?;
                fit = self.texts_fit(info, &bytes);
                widened = widened || self.is_widened(info, &bytes);
            }
            Ok::<_, Error>(())
        });
        if fit && widened {
            self.remark(Remark::BytesAsCharacters);
        }
        if let Err(error) = looked {
            self.lose(path, format!("cannot be read: {error}"));
        }
        let losses = rescue.take();
        if !losses.is_empty() {
            self.view.rescue.know(path);
            self.losses.extend(losses);
        }
        fit
    }

    /// Finds out whether an array cannot be read at all, for example because of a filter, by reading its
    /// first element.
    fn probe(&mut self, path: &str, id: ObjectId, info: &ArrayInfo) {
        let Some(shape) = info.shape.as_deref().filter(|shape| !shape.contains(&0)) else { return };
        if info.filters.is_empty() {
            return;
        }
        let Ok(first) = Slab::new(shape, vec![Range::new(0, 1); shape.len()]) else { return };
        let read = self.view.origin.read(id, &first, &mut Vec::new());
        if let Err(error @ (Error::Unsupported { .. } | Error::LimitExceeded { .. })) = read {
            self.lose(path, format!("cannot be read: {error}"));
            self.view.rescue.know(path);
        }
    }

    /// Returns an array of the source as the target has it.
    pub(super) fn array(&mut self, path: &str, id: ObjectId, info: &ArrayInfo) -> Option<Body> {
        let fitted = self.fit(path, info)?;
        let elements = fitted.elements().unwrap_or(u64::MAX); // a bound: more than any limit
        if let Err(error) = self.declared.add(elements, &fitted) {
            self.lose(path, format!("is left out: {error}"));
            self.limit.get_or_insert(error);
            return None;
        }
        if self.unreached.is_none()
            && let Err(error @ (Error::Missing { .. } | Error::Forbidden { .. })) =
                self.view.origin.source().reach(id)
        {
            self.unreached = Some((path.into(), error));
        }
        self.probe(path, id, info);
        if !self.all_texts_fit(path, id, info) {
            self.lose(path, NO_TEXT);
            return None;
        }
        let inner = self.flat(&info.element).1;
        let (origin, info) = (self.shared(lasting(info.clone())), self.shared(lasting(fitted)));
        let rare = (!inner.is_empty()).then(|| Box::new(Rare { path: None, inner }));
        Some(Body::Array(Taken { id, origin, info, rare }))
    }

    /// Returns an attribute or a scalar as an array, or as a scalar if the target has scalars.
    pub(super) fn made(&mut self, path: &str, array: MemoryArray) -> Option<Body> {
        let fitted = self.fit(path, &array.info)?;
        // Truth values have the same bytes in both representations; no other small value is changed.
        if widens(self.flat(&array.info.element).0, &fitted.element) {
            self.lose(path, format!("is left out: its elements are of type {}", array.info.element));
            return None;
        }
        if !self.texts_fit(&array.info, &array.bytes) {
            self.lose(path, NO_TEXT);
            return None;
        }
        let made = MemoryArray { info: fitted, bytes: array.bytes };
        if let Some(value) = scalar::from_array(&made).filter(|_| self.rules.values) {
            return Some(Body::Value(Box::new(value)));
        }
        let info = self.shared(made.info);
        Some(Body::Made(self.view.table.made(info, &made.bytes)))
    }

    /// Adds an object that is at the path `from` in the source to the group at the node `parent`. Returns its
    /// node; `None` if the name was taken.
    pub(super) fn put(&mut self, parent: usize, (from, name): (&str, &Name), body: Body) -> Option<usize> {
        let table = &mut self.view.table;
        let node = table.add(body);
        if !table.link(parent, name, Link::Hard(node)) {
            table.remove_last();
            return None;
        }
        if matches!(table.node(node).map(|node| &node.body), Some(Body::Array(_)))
            && self.view.path(node) != from
        {
            self.remember(node, from);
        }
        Some(node)
    }

    /// Records the path in the source of an array that has another path in the target.
    pub(super) fn remember(&mut self, node: usize, from: &str) {
        if let Some(Body::Array(taken)) = self.view.table.node_mut(node).map(|node| &mut node.body) {
            taken.rare.get_or_insert_default().path = Some(from.into());
        }
    }
}

/// Returns an object whose first path is not selected as one of this path, with which further links to it are links to this path. Groups
/// remain links, because their members are listed at the first path.
fn placed((file, options): (&File, &Options), entry: Entry, found_at: &mut HashMap<String, String>) -> Entry {
    let Entry { path, what } = entry;
    let first = match what {
        Found::HardLink(first) if !is_selected(&first, &options.select) => first,
        what => return Entry { path, what },
    };
    if let Some(here) = found_at.get(&first) {
        return Entry { path, what: Found::HardLink(here.clone()) };
    }
    let object = file.resolve(&first).and_then(|id| Ok((id, file.source().object(id)?)));
    let what = match object {
        Ok((id, object)) if !matches!(object, Object::Group) => {
            found_at.insert(first, path.clone());
            Found::Object(id, object)
        }
        _ => Found::HardLink(first),
    };
    Entry { path, what }
}

/// Reduces a description to what is needed for writing: without the position and the filters.
fn lasting(info: ArrayInfo) -> ArrayInfo {
    let facts = info.facts.into_iter().filter(|(key, _)| *key == "holds" || *key == TYPE_FACT).collect();
    ArrayInfo { filters: Vec::new(), stored: None, facts, ..info }
}

fn widens(from: &ElementType, to: &ElementType) -> bool {
    from.size() != to.size()
}

fn shown(shape: Option<&[u64]>) -> String {
    match shape {
        None => "null".into(),
        Some([]) => "scalar".into(),
        Some(shape) => shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" × "),
    }
}

/// Returns whether the attributes were turned into members before, because the format of the source has no
/// attributes.
pub(super) fn had_members_for_attributes(source: &dyn Source) -> bool {
    matches!(source.format(), Format::Asdf | Format::Gsd)
}
