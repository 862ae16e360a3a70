//! The tree of an ASDF file, in which Python looks up what is a mapping, what is a sequence, and which tags there are. The
//! common model does not tell sequences from mappings.

use std::collections::HashSet;
use std::path::PathBuf;

use asdf_core::yaml::Value;
use asdf_core::{Asdf, NodeId, OpenOptions, Tree};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyDict, PyList};

use crate::error::raise;
use crate::file::read_options;
use crate::remote::remote_options;
use crate::storage::Buffer;

/// Returns the number of the root and a list of all nodes that it leads to. Each node is a tuple of its number, a word for its
/// kind, its tag, and its content: the keys with the numbers of values for a mapping, and the numbers of items for a sequence.
/// The numbers are those of the objects in the common model.
#[pyfunction]
#[pyo3(signature = (path, buffer, options, remote))]
pub(crate) fn asdf_tree<'py>(
    py: Python<'py>,
    path: Option<PathBuf>,
    buffer: Option<PyBackedBytes>,
    options: &Bound<'py, PyDict>,
    remote: Option<(String, Bound<'py, PyDict>)>,
) -> PyResult<(u32, Bound<'py, PyList>)> {
    let general = read_options(options)?;
    let read = OpenOptions::default()
        .with_limits(general.limits)
        .with_threads(general.threads())
        .with_access(general.access)
        .with_external(general.external.clone());
    let remote = remote.map(|(url, how)| remote_options(&how).map(|how| (url, how))).transpose()?;
    let shown = path.as_ref().map(|path| path.to_string_lossy().into_owned());
    let shown = shown.or_else(|| remote.as_ref().map(|(url, _)| sciformats_remote::shown(url)));
    let fails = |error: asdf_core::Error| raise(&error, shown.as_deref());
    let file = py.detach(|| match (path, buffer, remote) {
        (Some(path), ..) => Asdf::open_with(path, &read),
        (None, Some(buffer), _) => Asdf::from_storage(Buffer(buffer), &read),
        (None, None, Some((url, how))) => Asdf::from_storage(sciformats_remote::open(&url, &how)?, &read),
        (None, None, None) => Err(asdf_core::Error::usage("file", "has neither a path nor bytes")),
    });
    let file = file.map_err(fails)?;
    let (tree, nodes) = (file.tree(), PyList::empty(py));
    let root = tree.root();
    let (mut seen, mut left) = (HashSet::from([root]), vec![root]);
    while let Some(node) = left.pop() {
        let tag = tree.tag(node);
        let mut add = |children: &[NodeId]| left.extend(children.iter().filter(|child| seen.insert(**child)));
        if file.is_array(node) {
            nodes.append((node.number(), "array", tag, py.None()))?;
        } else if let Some(pairs) = tree.pairs(node).map_err(fails)? {
            let content = PyList::empty(py);
            for (name, value) in &pairs {
                content.append((key(py, tree, *name)?, value.number()))?;
            }
            add(&pairs.iter().map(|(_, value)| *value).collect::<Vec<_>>());
            nodes.append((node.number(), "mapping", tag, content))?;
        } else if let Some(items) = tree.items(node) {
            add(items);
            let numbers: Vec<u32> = items.iter().map(|item| item.number()).collect();
            nodes.append((node.number(), "sequence", tag, numbers))?;
        } else {
            nodes.append((node.number(), "scalar", tag, py.None()))?;
        }
    }
    Ok((root.number(), nodes))
}

/// Returns a key of a mapping. Keys that are not texts, numbers or truth values are their text in the file.
fn key<'py>(py: Python<'py>, tree: &Tree, node: NodeId) -> PyResult<Bound<'py, PyAny>> {
    tree.with(node, |tree, node| match tree.value(node) {
        Ok(Some(Value::Null)) => Ok(py.None().into_bound(py)),
        Ok(Some(Value::Bool(value))) => value.into_bound_py_any(py),
        Ok(Some(Value::Int(value))) => value.into_bound_py_any(py),
        Ok(Some(Value::Float(value))) => value.into_bound_py_any(py),
        Ok(Some(Value::Str(text))) => text.into_bound_py_any(py),
        _ => tree.node(node).text().unwrap_or_default().into_bound_py_any(py),
    })
}
