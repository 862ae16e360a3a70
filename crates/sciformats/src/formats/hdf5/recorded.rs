//! Tells what a file records about its objects besides their contents.

use std::collections::HashMap;
use std::sync::OnceLock;

use hdf5_pure::structure::{
    Class, CreationOrder, Dataspace, FileSpaceInfo, Fill, FilterDescription, Layout, Mapping, Regular,
    Selection, VariableLength, checksum,
};
use hdf5_pure::walk::Found;
use hdf5_pure::{Address, Attribute, Dataset, Datatype, File, Name, Node, Slab};
use sciformats_core::bound;

use super::describe::{element, file_space, layout_word, leads_elsewhere};
use super::stored_types::{by, characters, class, hex, shown};
use crate::Result;
use crate::model::{ArrayInfo, Datum, Decoder};
use crate::pieces::Pieces;

/// The number of bytes of elements that are read at once to find null texts.
const AT_ONCE: u64 = 4 << 20;

/// How many null texts are listed one by one.
const TOLD: usize = 16;

/// The size of a page of a file that does not say it.
const PAGE: u64 = 4096;

/// What is recorded about objects.
#[derive(Default)]
pub(super) struct Recorded {
    /// What uses each committed datatype to which no link leads, once an object with such a type was asked for.
    unlinked: OnceLock<HashMap<Address, String>>,
}

impl Recorded {
    /// Returns what the file records about an object besides its contents.
    pub(super) fn storage(&self, file: &File, address: Address) -> Result<Vec<(&'static str, String)>> {
        let properties = file.creation_properties(address)?;
        let info = file.object_info(address)?;
        let said = |pair: Option<(u16, u16)>| {
            pair.map_or_else(
                || "by default".into(),
                |(most, fewest)| format!("at most {most}, at least {fewest}"),
            )
        };
        let times = match (properties.times, properties.modified) {
            (Some([access, modification, change, birth]), _) => format!(
                "accessed {access}, modified {modification}, changed {change}, born {birth} s after 1970"
            ),
            (None, Some(modified)) => format!("modified {modified} s after 1970"),
            (None, None) => "not kept".into(),
        };
        let mut told = vec![
            ("hard links", info.references.to_string()),
            ("comment", info.comment.as_ref().map_or_else(String::new, shown)),
            ("version of the header", properties.header_version.to_string()),
            ("order of attributes", order(properties.attribute_order).into()),
            ("thresholds of attributes", said(properties.attribute_phase_change)),
            ("times", times),
        ];
        if let Some(links) = &properties.links {
            let estimates = links.estimates.map_or_else(
                || "by default".into(),
                |(links, bytes)| format!("{links} links with names of {bytes} bytes"),
            );
            told.push(("order of links", order(links.order).into()));
            told.push(("thresholds of links", said(links.phase_change)));
            told.push(("estimates of links", estimates));
        }
        if file.root()?.address() == address {
            of_file(file, &mut told);
        }
        told.push(("attributes", self.attributes(file, address, properties.attribute_order)?));
        match file.object_at(address)? {
            Node::Group(group) => {
                let mut links: Vec<_> = group.links()?.into_iter().flatten().collect();
                sciformats_core::order::sort_by(&mut links, |a, b| {
                    (a.creation_order, &a.name).cmp(&(b.creation_order, &b.name))
                });
                let links = links
                    .iter()
                    .map(|link| format!("{}{}", shown(&link.name), if link.utf8 { " in UTF-8" } else { "" }));
                told.push(("links", links.collect::<Vec<_>>().join("; ")));
            }
            Node::Dataset(dataset) => self.of_dataset(&dataset, &mut told)?,
            Node::Datatype(committed) => told.push(("datatype", class(&committed.datatype()?))),
        }
        Ok(told)
    }

    fn attributes(&self, file: &File, address: Address, order: CreationOrder) -> Result<String> {
        let mut all = file.attributes_at(address)?;
        // Without an order of their own, they are in that of their names.
        if order != CreationOrder::Unknown {
            sciformats_core::order::sort_by(&mut all, |a, b| a.creation_order().cmp(&b.creation_order()));
        }
        let told: Result<Vec<String>> = all.iter().map(|one| self.attribute(file, one)).collect();
        let mut told = told?;
        if order == CreationOrder::Unknown {
            sciformats_core::order::sort(&mut told);
        }
        Ok(told.join("; "))
    }

    fn attribute(&self, file: &File, attribute: &Attribute) -> Result<String> {
        let name = attribute.name().map(shown).unwrap_or_default();
        let (datatype, characters) = (attribute.datatype()?, characters(attribute.character_set()?));
        let committed = self.committed(file, attribute.committed()?)?;
        let mut told = format!("{name:?} in {characters}: {committed}{}", class(datatype));
        if let Dataspace::Simple { dimensions, maximum } = attribute.dataspace()?
            && dimensions.iter().zip(maximum).any(|(&length, most)| *most != Some(length))
        {
            told += &format!(" of at most {}", sides(maximum));
        }
        let mut nulls = Nulls::default();
        nulls.count(file, datatype, attribute.raw()?)?;
        if nulls.found > 0 {
            told += &format!(" with null texts {nulls}");
        }
        Ok(told)
    }

    fn of_dataset(&self, dataset: &Dataset, told: &mut Vec<(&'static str, String)>) -> Result<()> {
        let committed = self.committed(dataset.file(), dataset.committed()?)?;
        told.push(("datatype", format!("{committed}{}", class(dataset.datatype()))));
        if let Dataspace::Simple { maximum, .. } = dataset.dataspace() {
            told.push(("largest shape", sides(maximum)));
        }
        let (external, layout) = (dataset.external_files()?, dataset.layout()?);
        told.push(("layout", layout_word(layout, !external.is_empty()).into()));
        if let Layout::Chunked(chunked) = layout {
            told.push(("chunks", by(&chunked.dimensions)));
            let edges = if chunked.unfiltered_edges { "not filtered" } else { "as others" };
            told.push(("chunks at the edges", edges.into()));
            let filters = dataset.filters()?.filters.iter().map(filter);
            told.push(("filters", filters.collect::<Vec<_>>().join("; ")));
        }
        if !external.is_empty() {
            let files = external.iter().map(|(name, offset, size)| {
                let size = size.map_or_else(|| "to its end".into(), |size| format!("{size} bytes"));
                format!("{:?} from byte {offset}, {size}", shown(name))
            });
            told.push(("files", files.collect::<Vec<_>>().join("; ")));
        }
        let mappings = dataset.mappings()?;
        if !mappings.is_empty() {
            told.push(("sources", mappings.iter().map(mapping).collect::<Vec<_>>().join("; ")));
        }
        told.push(("fill value", fill_value(dataset)?));
        let fill = dataset.fill_value()?;
        // If the file does not say, the default of the library for the layout holds.
        let (allocation, write) = match (fill.allocation_time, layout) {
            (0, Layout::Compact(_)) => (1, 2),
            (0, Layout::Contiguous { .. }) => (2, 2),
            (0, _) => (3, 2),
            (allocation, _) => (allocation, fill.write_time),
        };
        told.push(("allocation", word(["early", "late", "incremental"], allocation.wrapping_sub(1))));
        told.push(("filled", word(["on allocation", "never", "if set"], write)));
        told.extend(null_texts(dataset)?.map(|nulls| ("null texts", nulls.to_string())));
        Ok(())
    }

    /// Returns which committed datatype is used, as a word before the datatype.
    fn committed(&self, file: &File, committed: Option<Address>) -> Result<String> {
        let Some(address) = committed else { return Ok(String::new()) };
        if let Some(path) = file.path_of(address)? {
            return Ok(format!("committed {} ", shown(&Name::from(path))));
        }
        let users = match self.unlinked.get() {
            Some(users) => users,
            None => {
                let found = unlinked(file)?;
                self.unlinked.get_or_init(|| found)
            }
        };
        let user = users.get(&address).map_or("", String::as_str);
        Ok(format!("committed without a link, as of {user} "))
    }
}

/// Returns the first object or attribute that uses each committed datatype to which no link leads.
fn unlinked(file: &File) -> Result<HashMap<Address, String>> {
    let mut users = HashMap::new();
    for entry in file.walk() {
        let Found::Object(address) = entry.what else { continue };
        let path = shown(&Name::from(&entry.path[..]));
        let mut note = |committed: Option<Address>, user: String| {
            if let Some(committed) = committed {
                users.entry(committed).or_insert(user);
            }
        };
        if let Node::Dataset(dataset) = file.object_at(address)? {
            note(dataset.committed()?, path.clone());
        }
        for attribute in file.attributes_at(address)? {
            let name = attribute.name().map(shown).unwrap_or_default();
            note(attribute.committed()?, format!("{path}@{name}"));
        }
    }
    Ok(users)
}

/// Tells what belongs to the file as a whole. A file that does not say how its space is managed has the defaults of the library.
fn of_file(file: &File, told: &mut Vec<(&'static str, String)>) {
    let (superblock, k) = (file.superblock(), file.btree_k());
    told.push(("user block", file.base().to_string()));
    let nodes =
        format!("{} for chunks, {} for groups, {} for their leaves", k.chunk, k.group_internal, k.group_leaf);
    told.push(("nodes of B-trees", nodes));
    let usual =
        FileSpaceInfo { strategy: 0, persist: false, threshold: 1, page_size: None, managers: Vec::new() };
    let space = file.file_space().unwrap_or(&usual);
    told.push(("file space", format!("{}, from {} bytes", file_space(space), space.threshold)));
    told.push(("size of pages", space.page_size.unwrap_or(PAGE).to_string()));
    told.push(("superblock", superblock.version.to_string()));
    let sizes = superblock.sizes;
    told.push(("widths of addresses and lengths", format!("{}, {}", sizes.offsets, sizes.lengths)));
    let shared = file.shared_indexes().iter().map(|index| {
        let (kinds, smallest) = (index.message_types, index.minimum_size);
        format!(
            "{} from {smallest} bytes, a list up to {}, a B-tree from {}",
            messages(kinds),
            index.list_cutoff,
            index.btree_cutoff
        )
    });
    told.push(("shared messages", shared.collect::<Vec<_>>().join("; ")));
}

fn sides(maximum: &[Option<u64>]) -> String {
    let sides = maximum.iter().map(|most| most.map_or_else(|| "unlimited".into(), |most| most.to_string()));
    sides.collect::<Vec<_>>().join(", ")
}

fn mapping(of: &Mapping) -> String {
    let (file, dataset) = (shown(&of.file), shown(&of.dataset));
    let (source, target) = (selection(&of.source), selection(&of.target));
    format!("{source} of {dataset:?} in {file:?} are {target}")
}

fn selection(of: &Selection) -> String {
    let point =
        |point: &Vec<u64>| format!("({})", point.iter().map(u64::to_string).collect::<Vec<_>>().join(", "));
    match of {
        Selection::None => "no elements".into(),
        Selection::All => "all elements".into(),
        Selection::Points(points) => {
            format!("the elements {}", points.iter().map(point).collect::<Vec<_>>().join(", "))
        }
        Selection::Blocks(blocks) => {
            let blocks = blocks.iter().map(|(first, last)| format!("{} to {}", point(first), point(last)));
            format!("the blocks {}", blocks.collect::<Vec<_>>().join(", "))
        }
        Selection::Regular(dimensions) => {
            format!("({})", dimensions.iter().map(regular).collect::<Vec<_>>().join("; "))
        }
    }
}

fn regular(of: &Regular) -> String {
    let number = |of: Option<u64>| of.map_or_else(|| "unlimited".into(), |of| of.to_string());
    let &Regular { start, stride, count, block } = of;
    match (count, block) {
        // One block has no distance to another one, but the file contains it.
        (Some(1), _) if stride == 1 => format!("{} from {start}", number(block)),
        _ => format!("{} × {} from {start}, {stride} apart", number(count), number(block)),
    }
}

/// A filter with all its parameters: `deflate 4 (filter 1, optional)`.
fn filter(of: &FilterDescription) -> String {
    let name = hdf5_pure::filters::known(of.id).unwrap_or("unknown");
    let values: String = of.values.iter().map(|value| format!(" {value}")).collect();
    format!("{name}{values} (filter {}{})", of.id, if of.optional { ", optional" } else { "" })
}

fn order(of: CreationOrder) -> &'static str {
    match of {
        CreationOrder::Unknown => "not kept",
        CreationOrder::Tracked => "kept",
        CreationOrder::Indexed => "kept, with an index",
    }
}

/// The words for the types of messages that an index of shared messages contains.
fn messages(bits: u16) -> String {
    const KNOWN: [(u16, &str); 5] = [
        (1 << 1, "dataspaces"),
        (1 << 3, "datatypes"),
        (1 << 5, "fill values"),
        (1 << 11, "filters"),
        (1 << 12, "attributes"),
    ];
    let known: Vec<&str> = KNOWN.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, word)| *word).collect();
    let rest = KNOWN.iter().fold(bits, |rest, (bit, _)| rest & !bit);
    match (known.is_empty(), rest) {
        (false, 0) => known.join(", "),
        (true, _) => format!("messages of the types {rest:#x}"),
        (false, _) => format!("{}, messages of the types {rest:#x}", known.join(", ")),
    }
}

fn fill_value(dataset: &Dataset) -> Result<String> {
    let (fill, datatype) = (dataset.fill_value()?, dataset.datatype());
    let Fill::Value(stored) = &fill.value else {
        let undefined = fill.value == Fill::Undefined || fill.allocation_time == 0;
        return Ok(if undefined { "undefined" } else { "by default" }.into());
    };
    let mut nulls = Nulls::default();
    nulls.count(dataset.file(), datatype, stored)?;
    let leads = leads_elsewhere(datatype);
    let value = match dataset.fill_canonical() {
        Err(error) if leads => return Err(error),
        // Without a meaning, there are still the bytes.
        value => value.ok().flatten().unwrap_or_default(),
    };
    // Values that look the same, such as those that are not a number, may differ in their bytes. Bytes that lead to other places
    // of the file say nothing themselves.
    let bytes = if leads { &value } else { stored };
    let datum = |of: &hdf5_pure::ElementType| match Decoder::new(&element(of), &value).next()?.ok()? {
        text @ Datum::Text(_) => Some(format!("{:?}", text.to_string())),
        datum => Some(datum.to_string()),
    };
    let value = datatype.element_type().ok().as_ref().and_then(datum).unwrap_or_else(|| "a value".into());
    Ok(format!("{value}, as bytes {}{}", hex(bytes), if nulls.found > 0 { " with null texts" } else { "" }))
}

fn word(words: [&str; 3], index: u8) -> String {
    words.get(usize::from(index)).map_or_else(|| index.to_string(), |word| (*word).into())
}

/// Texts whose pointer is null, which the common tree does not distinguish from empty texts.
#[derive(Default)]
struct Nulls {
    /// How many texts were seen.
    seen: u64,
    found: u64,
    /// The numbers of the first null texts among all texts.
    first: Vec<u64>,
    /// A checksum of all their numbers.
    sum: u32,
}

impl std::fmt::Display for Nulls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let first = self.first.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        f.write_str(if first.is_empty() { "none" } else { &first })?;
        match self.found > self.first.len() as u64 {
            true => write!(f, " of {}, checksum {:08x}", self.found, self.sum),
            false => Ok(()),
        }
    }
}

impl Nulls {
    /// Counts those in elements as they are stored.
    fn count(&mut self, file: &File, datatype: &Datatype, raw: &[u8]) -> Result<()> {
        if !has_texts(datatype) {
            return Ok(());
        }
        let size = bound::addressable(datatype.size.into()).max(1);
        raw.chunks_exact(size).try_for_each(|element| self.element(file, datatype, element))
    }

    fn element(&mut self, file: &File, datatype: &Datatype, element: &[u8]) -> Result<()> {
        match &datatype.class {
            Class::VariableLength(VariableLength::String { .. }) => {
                if file.is_null(element)? {
                    self.found = bound::sum(self.found, 1);
                    if self.first.len() < TOLD {
                        self.first.push(self.seen);
                    }
                    self.sum = checksum(&[&self.sum.to_le_bytes()[..], &self.seen.to_le_bytes()].concat());
                }
                self.seen = bound::sum(self.seen, 1);
                Ok(())
            }
            Class::VariableLength(VariableLength::Sequence(base)) => {
                if !has_texts(base) {
                    return Ok(());
                }
                let items = file.sequence_bytes(element, bound::addressable(base.size.into()))?;
                self.count(file, base, &items)
            }
            Class::Compound(members) => members.iter().try_for_each(|member| {
                let start = bound::addressable(member.offset.into());
                let end = bound::sum(start, bound::addressable(member.datatype.size.into()));
                self.count(file, &member.datatype, element.get(start..end).unwrap_or_default())
            }),
            Class::Array { base, .. } => self.count(file, base, element),
            _ => Ok(()),
        }
    }
}

/// Returns whether elements contain texts of variable length.
fn has_texts(datatype: &Datatype) -> bool {
    match &datatype.class {
        Class::VariableLength(VariableLength::String { .. }) => true,
        Class::VariableLength(VariableLength::Sequence(base)) | Class::Array { base, .. } => has_texts(base),
        Class::Compound(members) => members.iter().any(|member| has_texts(&member.datatype)),
        _ => false,
    }
}

/// Returns the null texts of a dataset, if its own elements can have any.
fn null_texts(dataset: &Dataset) -> Result<Option<Nulls>> {
    let (datatype, shape) = (dataset.datatype(), dataset.dataspace().extent());
    let (Some(shape), true) = (shape, has_texts(datatype)) else { return Ok(None) };
    match dataset.layout()? {
        // Virtual elements are reported with their own dataset, and elements that were never written are fill values.
        Layout::Virtual(_) | Layout::Contiguous { address: None } => return Ok(None),
        _ => {}
    }
    let mut nulls = Nulls::default();
    let element = crate::model::ElementType::Opaque(datatype.size.into());
    let info = ArrayInfo::new(element, shape);
    for slab in Pieces::new(&info, &Slab::all(shape)?, AT_ONCE) {
        nulls.count(dataset.file(), datatype, &dataset.read_raw(&slab)?)?;
    }
    Ok(Some(nulls))
}
