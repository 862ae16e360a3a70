//! Takes arbitrary steps of writing and editing a file, beside a model of its contents.
//!
//! Bytes choose the steps. The first ones say how the file is created, and how many steps its writer takes; an editor takes
//! the others. After every commit, and wherever a step says so, the file is compared with the model, and no byte of it may
//! belong to two structures.

use std::collections::{BTreeMap, BTreeSet};

use hdf5_pure::filters::Filters;
use hdf5_pure::options::{Bound, FileSpace, Flush};
use hdf5_pure::{
    ChunkIndex, CreateOptions, DatasetWriter, EditOptions, Editor, File, Group, GroupWriter, Node, ObjectId,
    OpenOptions, Range, Slab, Writer,
};

use super::array::Array;
use super::recorded::Recorded;

const BOUNDS: [Bound; 5] = [Bound::Earliest, Bound::V18, Bound::V110, Bound::V112, Bound::V200];
/// The largest number of rows and columns of a dataset.
const MOST: u64 = 20;
/// The largest number of steps of a run. More steps would only repeat the earlier ones.
const STEPS: usize = 120;

/// The contents of the file: its objects, of which the first is the root group. Objects to which nothing leads any more stay
/// here.
#[derive(Clone, Debug)]
struct Model(Vec<Object>);

#[derive(Clone, Debug)]
struct Object {
    is: Is,
    attributes: BTreeMap<String, Vec<u16>>,
    /// The identifier that the writer gave the object.
    id: Option<ObjectId>,
}

#[derive(Clone, Debug)]
enum Is {
    Group(BTreeMap<String, Link>),
    /// An array and its maximum shape, or `None` if it cannot grow.
    Array(Array, Option<[u64; 2]>),
    Texts(Vec<String>),
}

#[derive(Clone, Debug)]
enum Link {
    Hard(usize),
    Soft(String),
}

/// A link and its path.
#[derive(Clone, Debug)]
struct Place {
    group: usize,
    name: String,
    path: String,
    to: Link,
}

impl Model {
    fn links(&self, group: usize) -> &BTreeMap<String, Link> {
        match &self.0[group].is {
            Is::Group(links) => links,
            other => panic!("{other:?} is not a group"),
        }
    }

    fn links_mut(&mut self, group: usize) -> &mut BTreeMap<String, Link> {
        match &mut self.0[group].is {
            Is::Group(links) => links,
            other => panic!("{other:?} is not a group"),
        }
    }

    /// Returns all links below the root. Each group has one link, so this ends.
    fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        let mut queue = vec![(0, String::new())];
        while let Some((group, path)) = queue.pop() {
            for (name, to) in self.links(group) {
                let path = format!("{path}/{name}");
                if let Link::Hard(object) = to
                    && matches!(self.0[*object].is, Is::Group(_))
                {
                    queue.push((*object, path.clone()));
                }
                places.push(Place { group, name: name.clone(), path, to: to.clone() });
            }
        }
        places
    }

    /// Returns the paths of objects, including that of the root group.
    fn objects(&self, wanted: impl Fn(&Is) -> bool) -> Vec<(usize, String)> {
        let hard = |place: Place| match place.to {
            Link::Hard(object) => Some((object, place.path)),
            Link::Soft(_) => None,
        };
        let all = std::iter::once((0, "/".to_owned())).chain(self.places().into_iter().filter_map(hard));
        all.filter(|(object, _)| wanted(&self.0[*object].is)).collect()
    }

    /// Fails unless the file has these contents.
    fn check(&self, file: &File, tracked: bool) {
        let mut addresses = BTreeMap::new();
        self.check_group(0, &file.root().unwrap(), &mut addresses, tracked);
        let all: BTreeSet<_> = addresses.values().collect();
        assert_eq!(all.len(), addresses.len(), "an address of two objects");
    }

    fn check_group(
        &self,
        at: usize,
        group: &Group,
        addresses: &mut BTreeMap<usize, hdf5_pure::Address>,
        tracked: bool,
    ) {
        self.check_attributes(at, &group.attributes().unwrap());
        let found: Vec<_> = group.links().unwrap().into_iter().map(Result::unwrap).collect();
        assert!(!tracked || found.iter().all(|link| link.creation_order.is_some()));
        let links = self.links(at);
        let names: BTreeSet<&str> = found.iter().map(|link| link.name.as_str().unwrap()).collect();
        assert_eq!(names, links.keys().map(String::as_str).collect());
        for (name, to) in links {
            let object = match to {
                Link::Hard(object) => *object,
                Link::Soft(target) => {
                    let link = group.link(name).unwrap().unwrap();
                    assert_eq!(link.target, hdf5_pure::structure::Target::Soft(target.as_str().into()));
                    continue;
                }
            };
            let address = match group.object(name).unwrap() {
                Node::Group(group) => {
                    self.check_group(object, &group, addresses, tracked);
                    group.address()
                }
                Node::Dataset(dataset) => {
                    self.check_attributes(object, &dataset.attributes().unwrap());
                    match &self.0[object].is {
                        Is::Array(array, _) => {
                            assert_eq!(dataset.shape(), array.shape, "{name}");
                            assert_eq!(dataset.read::<i32>().unwrap(), array.values, "{name}");
                        }
                        Is::Texts(texts) => assert_eq!(&dataset.read::<String>().unwrap(), texts),
                        Is::Group(_) => panic!("{name} is a dataset"),
                    }
                    dataset.address()
                }
                Node::Datatype(_) => panic!("{name} is a datatype"),
            };
            assert_eq!(*addresses.entry(object).or_insert(address), address, "{name}");
        }
    }

    fn check_attributes(&self, at: usize, found: &[hdf5_pure::Attribute]) {
        let value =
            |a: &hdf5_pure::Attribute| (a.name().unwrap().to_text().into_owned(), a.read::<u16>().unwrap());
        let all: BTreeMap<String, Vec<u16>> = found.iter().map(value).collect();
        assert_eq!(all.len(), found.len());
        assert_eq!(all, self.0[at].attributes);
    }
}

/// The writer or the editor of the file.
enum Side {
    New(Writer),
    Edited(Editor),
    /// Neither: the file is closed for a moment.
    Closed,
}

impl Side {
    fn root(&mut self) -> GroupWriter<'_> {
        match self {
            Self::New(writer) => writer.root(),
            Self::Edited(editor) => editor.root(),
            Self::Closed => panic!("the file is closed"),
        }
    }

    fn open(&mut self, path: &str, id: Option<ObjectId>) -> DatasetWriter<'_> {
        match self {
            Self::New(writer) => writer.open_id(id.unwrap()).unwrap(),
            Self::Edited(editor) => editor.open_dataset(path).unwrap(),
            Self::Closed => panic!("the file is closed"),
        }
    }
}

/// The bytes that choose the steps. When they are used up, the first option is always chosen.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn below(&mut self, n: usize) -> usize {
        match self.0.split_first() {
            Some((&first, rest)) => {
                self.0 = rest;
                usize::from(first) % n.max(1)
            }
            None => 0,
        }
    }

    fn below_u64(&mut self, n: u64) -> u64 {
        self.below(n as usize) as u64
    }

    fn pick<T>(&mut self, mut all: Vec<T>) -> Option<T> {
        if all.is_empty() { None } else { Some(all.swap_remove(self.below(all.len()))) }
    }

    fn values(&mut self, n: u64) -> Vec<i32> {
        let first = self.below(256) as i32;
        (0..n as i32).map(|k| (first + k * 31) % 251).collect()
    }

    fn slab(&mut self, shape: &[u64]) -> Slab {
        let ranges: Vec<Range> = shape
            .iter()
            .map(|&n| {
                let (start, step) = (self.below_u64(n), 1 + self.below_u64(3));
                Range::new(start, 1 + self.below_u64((n - start).div_ceil(step))).by(step)
            })
            .collect();
        Slab::new(shape, ranges).unwrap()
    }
}

struct Run<'a> {
    choices: Choices<'a>,
    side: Side,
    disk: Recorded,
    options: EditOptions,
    now: Model,
    /// The state of the last commit.
    committed: Model,
    /// The number of names that were used.
    named: usize,
    /// Whether elements of variable length are written, whose space is not freed.
    texts: bool,
    /// The number of bytes that belonged to no structure when the editor was opened.
    lost: u64,
}

/// Writes and edits a file as `data` chooses.
pub(crate) fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let bound = BOUNDS[choices.below(5)];
    let spaces = [
        FileSpace::Untracked,
        FileSpace::Tracked,
        FileSpace::Paged { size: 512, tracked: true },
        FileSpace::AppendOnly,
    ];
    let create = CreateOptions::default()
        .with_bound(bound)
        .with_track_order(choices.below(2) == 1)
        .with_user_block(vec![b'u'; choices.below(2) * 512])
        .with_file_space(spaces[if bound < Bound::V110 { 0 } else { choices.below(4) }])
        .with_threads(1)
        .with_held([usize::MAX, 0, 4000][choices.below(3)]);
    let options = EditOptions::default()
        .with_bound(Some(bound))
        .with_track_order(create.track_order)
        .with_reading(OpenOptions::default().with_threads(1));
    let new = choices.below(32);
    let model = Model(vec![Object { is: Is::Group(BTreeMap::new()), attributes: BTreeMap::new(), id: None }]);
    let mut run = Run {
        choices,
        side: Side::New(Writer::in_memory(&create).unwrap()),
        disk: Recorded::unrecorded(Vec::new()),
        options,
        committed: model.clone(),
        now: model,
        named: 0,
        texts: false,
        lost: 0,
    };
    run.texts = run.choices.below(2) == 1;
    for _ in 0..new {
        run.step();
    }
    run.finish();
    for _ in 0..STEPS {
        if run.choices.0.is_empty() {
            break;
        }
        match run.choices.below(16) {
            0 | 1 => run.commit(),
            2 => run.check_pending(),
            3 => run.reopen(),
            _ => run.step(),
        }
    }
    run.commit();
    run.clear();
}

impl Run<'_> {
    /// Completes the new file, and starts to edit it.
    fn finish(&mut self) {
        let Side::New(writer) = std::mem::replace(&mut self.side, Side::Closed) else { return };
        self.disk = Recorded::unrecorded(writer.into_bytes().unwrap());
        self.committed = self.now.clone();
        self.edit();
        self.check_stored();
    }

    fn edit(&mut self) {
        // The previous editor must release the file first.
        self.side = Side::Edited(Editor::in_storage(Box::new(self.disk.clone()), &self.options).unwrap());
        self.lost = self.editor().unaccounted().unwrap();
    }

    fn editor(&mut self) -> &mut Editor {
        match &mut self.side {
            Side::Edited(editor) => editor,
            Side::New(_) | Side::Closed => panic!("the file is not finished"),
        }
    }

    fn check_stored(&mut self) {
        let file = File::from_storage(self.disk.bytes(), &self.options.reading).unwrap();
        self.committed.check(&file, self.options.track_order);
        self.check_space();
    }

    /// Fails if two structures share a byte, or the editor has lost some bytes.
    fn check_space(&mut self) {
        let lost = self.editor().unaccounted().unwrap();
        assert!(self.texts || lost <= self.lost, "{lost} bytes belong to nothing, {} did before", self.lost);
    }

    fn commit(&mut self) {
        let flush = [Flush::None, Flush::Ordered][self.choices.below(2)];
        self.editor().commit_with(flush).unwrap();
        self.committed = self.now.clone();
        self.check_stored();
    }

    fn check_pending(&mut self) {
        let file = self.editor().file().unwrap();
        self.now.check(&file, self.options.track_order);
        self.check_space();
    }

    /// Closes the editor, with or without a commit of the pending changes.
    fn reopen(&mut self) {
        let kept = self.choices.below(2) == 1;
        if let (Side::Edited(editor), true) = (std::mem::replace(&mut self.side, Side::Closed), kept) {
            editor.close().unwrap();
            self.committed = self.now.clone();
        }
        self.now = self.committed.clone();
        self.edit();
        self.check_stored();
    }

    /// Removes everything. No bytes may be lost.
    fn clear(&mut self) {
        let Model(objects) = &mut self.now;
        let links = match &mut objects[0].is {
            Is::Group(links) => std::mem::take(links),
            other => panic!("{other:?} is not a group"),
        };
        for name in links.keys() {
            self.editor().unlink(name).unwrap();
        }
        self.commit();
    }

    /// Returns the path of a group, and a new name in it.
    fn new_name(&mut self) -> (usize, String, String) {
        let groups = self.now.objects(|is| matches!(is, Is::Group(_)));
        let (group, path) = self.choices.pick(groups).unwrap();
        self.named += 1;
        // Long names make the heaps of names grow, and move links out of headers.
        let name = format!("{}{}", "n".repeat([1, 1, 1, 40, 300][self.choices.below(5)]), self.named);
        let path = format!("{}/{name}", path.trim_end_matches('/'));
        (group, name, path)
    }

    fn add(&mut self, (group, name): (usize, String), is: Is, id: ObjectId) {
        let object = self.now.0.len();
        self.now.0.push(Object { is, attributes: BTreeMap::new(), id: Some(id) });
        self.now.links_mut(group).insert(name, Link::Hard(object));
    }

    fn step(&mut self) {
        match self.choices.below(16) {
            0 => {
                let (group, name, path) = self.new_name();
                let id = self.side.root().group(&path).unwrap().id();
                self.add((group, name), Is::Group(BTreeMap::new()), id);
            }
            1..=3 => self.make_array(),
            4 if self.texts => self.make_texts(),
            5 => self.soft_links(),
            6 => self.hard_link(),
            7 | 8 => self.put_attributes(),
            9 => self.remove_attributes(),
            10 => self.unlink(),
            11 => self.move_link(),
            12 => self.append_texts(),
            _ => self.change_array(),
        }
    }

    fn make_array(&mut self) {
        let (group, name, path) = self.new_name();
        let shape = [self.choices.below_u64(16), self.choices.below_u64(16)];
        let array = Array {
            shape: shape.to_vec(),
            values: self.choices.values(shape[0] * shape[1]),
            fill: self.choices.below(2) as i32 * 7,
        };
        let (kind, sides) =
            (self.choices.below(8), [1 + self.choices.below_u64(6), 1 + self.choices.below_u64(6)]);
        let filters = [
            Filters::new(),
            Filters::new().shuffle().lzf().fletcher32(),
            Filters::new().lzf(),
            Filters::new().scale_offset(),
        ][self.choices.below(4)]
        .clone();
        let mut root = self.side.root();
        let made = root.dataset(&path).shape(shape).fill(array.fill);
        let chunked = |most: [Option<u64>; 2]| [most[0].unwrap_or(MOST), most[1].unwrap_or(MOST)];
        let (made, most) = match kind {
            0 => (made.contiguous(), None),
            1 => (made.compact(), None),
            2 => (made.chunks(shape.map(|n| n.max(1))).index(ChunkIndex::Single), None),
            3 => {
                let most = [Some(MOST), Some(MOST)];
                (made.max_shape(most).chunks(sides).index(ChunkIndex::Implicit), Some(chunked(most)))
            }
            kind => {
                let all = [[Some(MOST), Some(MOST)], [None, Some(MOST)], [Some(MOST), None], [None, None]];
                let most = all[kind - 4];
                (made.max_shape(most).chunks(sides).filters(filters), Some(chunked(most)))
            }
        };
        // Not every bound permits every index and every shape.
        if let Ok(id) = made.write(&array.values) {
            self.add((group, name), Is::Array(array, most), id);
        }
    }

    fn make_texts(&mut self) {
        let (group, name, path) = self.new_name();
        let (n, step) = (self.choices.below(40), self.choices.below(256));
        let texts: Vec<String> = (0..n).map(|i| "x".repeat(i * step % 300)).collect();
        let mut root = self.side.root();
        let made = root.dataset(&path).shape([n as u64]).max_shape([None]).chunks([7]).write(&texts);
        self.add((group, name), Is::Texts(texts), made.unwrap());
    }

    fn append_texts(&mut self) {
        let all = self.now.objects(|is| matches!(is, Is::Texts(_)));
        let Some((object, path)) = self.choices.pick(all) else { return };
        let new: Vec<String> = (0..self.choices.below(9)).map(|i| format!("{path} {i}")).collect();
        let id = self.now.0[object].id;
        self.side.open(&path, id).append(&new).unwrap();
        if let Is::Texts(texts) = &mut self.now.0[object].is {
            texts.extend(new);
        }
    }

    fn soft_links(&mut self) {
        for _ in 0..self.choices.below(12) {
            let (group, name, path) = self.new_name();
            let target = "/somewhere".repeat(1 + self.choices.below(3));
            self.side.root().soft_link(&path, &target).unwrap();
            self.now.links_mut(group).insert(name, Link::Soft(target));
        }
    }

    fn hard_link(&mut self) {
        let all = self.now.objects(|is| !matches!(is, Is::Group(_)));
        let Some((object, at)) = self.choices.pick(all) else { return };
        let (group, name, path) = self.new_name();
        let id = match &mut self.side {
            Side::Edited(editor) => editor.id(&at).unwrap(),
            _ => self.now.0[object].id.unwrap(),
        };
        self.side.root().hard_link(&path, id).unwrap();
        self.now.links_mut(group).insert(name, Link::Hard(object));
    }

    fn put_attributes(&mut self) {
        let (object, path) = self.choices.pick(self.now.objects(|_| true)).unwrap();
        for _ in 0..self.choices.below(12) {
            let name = format!("a{}", self.choices.below(24));
            // The last one has more than the 64 KiB of a message.
            let len = [0, 1, 5, 30, 200, 33_000][self.choices.below(6)];
            let value = vec![self.choices.below(256) as u16; len];
            match &mut self.side {
                Side::Edited(editor) => drop(editor.object(&path).unwrap().attribute(&name, &value).unwrap()),
                Side::New(writer) => {
                    let id = self.now.0[object].id.unwrap_or(writer.root().id());
                    writer.attribute(id, &name, &value).unwrap();
                }
                Side::Closed => panic!("the file is closed"),
            }
            self.now.0[object].attributes.insert(name, value);
        }
    }

    fn remove_attributes(&mut self) {
        let Side::Edited(editor) = &mut self.side else { return };
        let (object, path) = self.choices.pick(self.now.objects(|_| true)).unwrap();
        let attributes = &mut self.now.0[object].attributes;
        for _ in 0..self.choices.below(12) {
            let Some(name) = self.choices.pick(attributes.keys().cloned().collect()) else { return };
            let value = attributes.remove(&name).unwrap();
            let mut object = editor.object(&path).unwrap();
            if self.choices.below(3) > 0 {
                object.remove_attribute(&name).unwrap();
                continue;
            }
            let new = format!("r{}", self.choices.below(24));
            match object.rename_attribute(&name, &new) {
                Ok(_) => attributes.insert(new, value),
                // The name is in use.
                Err(_) => attributes.insert(name, value),
            };
        }
    }

    fn unlink(&mut self) {
        let Some(place) = self.choices.pick(self.now.places()) else { return };
        self.side.root().unlink(&place.path).unwrap();
        self.now.links_mut(place.group).remove(&place.name);
    }

    fn move_link(&mut self) {
        let Some(place) = self.choices.pick(self.now.places()) else { return };
        let (group, name, path) = self.new_name();
        if path.starts_with(&format!("{}/", place.path)) {
            assert!(self.side.root().move_link(&place.path, &path).is_err(), "a group inside of itself");
            return;
        }
        self.side.root().move_link(&place.path, &path).unwrap();
        self.now.links_mut(place.group).remove(&place.name);
        self.now.links_mut(group).insert(name, place.to);
    }

    fn change_array(&mut self) {
        let all = self.now.objects(|is| matches!(is, Is::Array(..)));
        let Some((object, path)) = self.choices.pick(all) else { return };
        let Object { is: Is::Array(array, most), id, .. } = &mut self.now.0[object] else { return };
        let edited = matches!(self.side, Side::Edited(_));
        let mut dataset = self.side.open(&path, *id);
        match (self.choices.below(5), most) {
            (0, Some([most, _])) if array.shape[1] > 0 => {
                let rows = self.choices.below_u64(most.saturating_sub(array.shape[0]) + 1);
                let shape = [array.shape[0] + rows, array.shape[1]];
                let new = self.choices.values(rows * shape[1]);
                dataset.append(&new).unwrap();
                let before = array.values.len();
                array.resize(&shape);
                array.values[before..].copy_from_slice(&new);
            }
            (1, Some(most)) if edited => {
                let shape = most.map(|most| self.choices.below_u64(most + 1));
                dataset.resize(&shape).unwrap();
                array.resize(&shape);
            }
            (2, _) if !array.shape.contains(&0) => {
                let points: Vec<Vec<u64>> = (0..3)
                    .map(|_| array.shape.iter().map(|&n| self.choices.below_u64(n)).collect())
                    .collect();
                let values = self.choices.values(3);
                dataset.write_points(&points, &values).unwrap();
                for (point, value) in points.iter().zip(values) {
                    let ranges: Vec<Range> = point.iter().map(|&at| Range::new(at, 1)).collect();
                    array.write(&Slab::new(&array.shape, ranges).unwrap(), &[value]);
                }
            }
            (3, _) => {
                let values = self.choices.values(array.values.len() as u64);
                dataset.write_all(&values).unwrap();
                array.values = values;
            }
            (_, _) if !array.shape.contains(&0) => {
                let slab = self.choices.slab(&array.shape);
                let values = self.choices.values(slab.len());
                dataset.write_slab(&slab, &values).unwrap();
                array.write(&slab, &values);
            }
            _ => {}
        }
    }
}
