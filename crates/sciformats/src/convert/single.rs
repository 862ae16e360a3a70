//! Into a format of one array.

use sciformats_core::Error;

use super::Remark;
use super::plan::Builder;
use super::view::Node;
use crate::memory::MemoryArray;
use crate::model::Object;
use crate::sink::Fit;
use crate::walk::{Entry, Found};
use crate::{Format, Result};

pub(super) fn arrange(builder: &mut Builder, entries: Vec<Entry>) -> Result<()> {
    let format = builder.rules.format;
    let arrays = entries.iter().filter(|entry| matches!(entry.what, Found::Object(_, Object::Array(_))));
    match arrays.count() {
        0 => return Err(Error::usage("file", format!("has no array that {format} could hold"))),
        1 => {}
        n => {
            let problem = format!("holds {n} arrays and {format} only one: select it by its path");
            return Err(Error::usage("file", problem));
        }
    }
    for Entry { path, what } in entries {
        match what {
            Found::Object(id, Object::Array(info)) => {
                let Some(body) = builder.array(&path, id, &info) else {
                    let problem = match builder.rules.element(&info.element) {
                        Fit::No => {
                            format!("holds elements of type {}, which {format} cannot hold", info.element)
                        }
                        _ => builder.last_loss(),
                    };
                    return Err(Error::usage("array", problem));
                };
                if path != "/" {
                    builder.remark(Remark::Moved);
                }
                let mut node = Node::new(body);
                for (name, array) in builder.attributes(&path, id) {
                    if builder.rules.attribute(&name, &array.info, info.shape.as_deref()) {
                        let MemoryArray { info, bytes } = array;
                        node.attributes.insert(name, MemoryArray { info, bytes });
                    } else {
                        builder.lose(&format!("{path}@{}", name.shown()), "is left out: an attribute");
                    }
                }
                builder.add(node);
            }
            Found::Object(id, Object::Group) => {
                for (name, _) in builder.attributes(&path, id) {
                    builder.lose(&format!("{path}@{}", name.shown()), "is left out: an attribute");
                }
            }
            other => builder.leave_out(&path, &other),
        }
    }
    let origin = &builder.view.origin;
    let metadata = origin.source().facts().into_iter().any(|(key, _)| key == "metadata");
    if origin.format() == Format::RawArray && metadata {
        builder.lose("/", "has bytes after its array, which are left out");
    }
    Ok(())
}
