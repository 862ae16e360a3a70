//! Describes the contents of a file as text. Files with equal descriptions have the same contents.

use std::collections::BTreeMap;

use hdf5_pure::walk::Found;
use hdf5_pure::{File, Node};

/// The descriptions of all objects and links by path.
pub(crate) type Description = BTreeMap<String, String>;

/// Describes links, objects, attributes and elements. A link that leads to nothing readable is a panic; elements that this
/// build cannot decode are described by the error.
pub(crate) fn describe(file: &File) -> Description {
    let mut found = Description::new();
    let root = file.root().unwrap();
    found.insert("/".into(), attributes(&root.attributes().unwrap()));
    for visited in file.walk() {
        let path = String::from_utf8_lossy(&visited.path).into_owned();
        let text = match visited.what {
            Found::Object(address) => match file.object_at(address).unwrap() {
                Node::Group(group) => {
                    let count = file.object_info(address).unwrap().references;
                    format!("group {count} {}", attributes(&group.attributes().unwrap()))
                }
                Node::Dataset(dataset) => {
                    let count = file.object_info(address).unwrap().references;
                    format!(
                        "dataset {count} {:?} {:?} {}",
                        dataset.shape(),
                        dataset
                            .all()
                            .and_then(|slab| dataset.read_canonical(&slab))
                            .map_err(|error| error.to_string()),
                        attributes(&dataset.attributes().unwrap())
                    )
                }
                Node::Datatype(datatype) => {
                    let count = file.object_info(address).unwrap().references;
                    format!("datatype {count} {:?}", datatype.datatype().unwrap())
                }
            },
            Found::HardLink(first) => format!("same as {}", String::from_utf8_lossy(&first)),
            Found::SoftLink(text) => format!("soft {text}"),
            Found::ExternalLink { file, path } => format!("external {file} {path}"),
            Found::UserLink(class) => format!("user {class}"),
            Found::Broken(error) => panic!("{path}: {error}"),
        };
        found.insert(path, text);
    }
    found
}

fn attributes(all: &[hdf5_pure::Attribute]) -> String {
    let one = |attribute: &hdf5_pure::Attribute| {
        let name = attribute.name().unwrap();
        format!("{name}={:?}", attribute.canonical().map_err(|error| error.to_string()))
    };
    all.iter().map(one).collect::<Vec<_>>().join(" ")
}
