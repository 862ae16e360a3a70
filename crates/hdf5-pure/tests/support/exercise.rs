//! Calls every method that reads something from a file.

use hdf5_pure::options::Limits;
use hdf5_pure::structure::Class;
use hdf5_pure::walk::Found;
use hdf5_pure::{Address, File, Node, OpenOptions, Slab, conventions};

/// Returns options with limits for files that are not trusted.
pub(crate) fn options() -> OpenOptions {
    let limits = Limits::default().with_memory(1 << 20).with_items(10_000);
    OpenOptions::default().with_limits(limits).with_threads(1)
}

/// The largest number of objects of a file that are read, because a small file can have many links.
const OBJECTS: usize = 2000;

/// Walks over the file and reads what it finds. Returns the number of elements that were read without an error.
pub(crate) fn exercise(file: &File) -> u64 {
    let mut read = 0;
    let _ = file.free_space();
    for index in file.shared_indexes() {
        let _ = file.shared_records(index);
    }
    for visited in file.walk().take(OBJECTS) {
        if let Found::Object(address) = visited.what {
            read += object(file, address);
            if let Ok(path) = std::str::from_utf8(&visited.path) {
                let _ = file.object(path);
            }
        }
    }
    read
}

fn object(file: &File, address: Address) -> u64 {
    let mut read = 0;
    let _ = file.object_info(address);
    let _ = file.structures_of(address);
    let _ = conventions::pytables_class(file, address);
    match file.object_at(address) {
        Ok(Node::Group(group)) => {
            let _ = group.link("000");
        }
        Ok(Node::Datatype(datatype)) => {
            let _ = datatype.datatype().map(|datatype| datatype.element_type());
        }
        Ok(Node::Dataset(dataset)) => read += elements(&dataset),
        Err(_) => {}
    }
    for attribute in file.attributes_at(address).unwrap_or_default() {
        let _ = attribute.canonical();
        let _ = attribute.read::<f64>();
        let _ = attribute.read::<String>();
        if let Some(name) = attribute.name().and_then(|name| name.as_str()) {
            let _ = file.attribute_at(address, name);
        }
    }
    read
}

fn elements(dataset: &hdf5_pure::Dataset) -> u64 {
    let mut read = 0;
    let _ = dataset.mappings();
    let _ = conventions::netcdf_dimensions_of(dataset);
    let _ = conventions::labels(dataset);
    let chunks = dataset.chunks().unwrap_or_default();
    for chunk in chunks.iter().flatten().take(20) {
        let _ = dataset.chunk_raw(chunk);
        let _ = dataset.chunk_decoded(chunk);
    }
    let Ok(all) = dataset.all() else { return 0 };
    let size = u64::from(dataset.datatype().size).max(1);
    for piece in all.pieces((1 << 16) / size).take(4) {
        if dataset.read_canonical(&piece).is_ok() {
            read += piece.len();
        }
        let _ = dataset.read_slab::<i16>(&piece);
        let _ = dataset.read_slab::<f64>(&piece);
        let _ = dataset.read_slab::<String>(&piece);
        let _ = dataset.read_slab::<Vec<i32>>(&piece);
        let _ = dataset.read_slab::<bool>(&piece);
        if let Class::Compound(members) = &dataset.datatype().class {
            for member in members.iter().filter_map(|member| member.name.as_str()).take(4) {
                let _ = dataset.read_field_slab::<f64>(member, &piece);
            }
        }
    }
    let shape = dataset.shape();
    let every_second: Vec<_> = shape
        .iter()
        .map(|&n| hdf5_pure::Range {
            start: n.min(1),
            count: n.saturating_sub(1).div_ceil(2).min(50),
            step: 2,
        })
        .collect();
    if let Ok(slab) = Slab::new(shape, every_second) {
        let _ = dataset.read_raw(&slab);
    }
    read
}
