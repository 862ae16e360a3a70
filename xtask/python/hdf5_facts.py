"""Everything that the C library tells about a file beside its values, through h5py: `facts(path)`.

Counts, creation properties, storage, orders, links, types and who shares them. Not among them: addresses, sizes of metadata,
versions that the library chooses by itself, and where chunks lie.
"""

import ctypes
import glob
import os

import h5py
import numpy as np
from h5py import h5a, h5d, h5g, h5l, h5o, h5p, h5s, h5t


CALLS = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(h5py.__file__), "..", "h5py.libs", "libhdf5-*"))[0])
"""The C library itself, for what h5py has no call for."""


def nodes(creation):
    """Half the entries of nodes of version 1 B-trees: leaves and others of groups, and those of chunks."""
    leaf, other, chunks = (ctypes.c_uint() for _ in range(3))
    assert CALLS.H5Pget_sym_k(ctypes.c_int64(creation.id), ctypes.byref(other), ctypes.byref(leaf)) >= 0
    assert CALLS.H5Pget_istore_k(ctypes.c_int64(creation.id), ctypes.byref(chunks)) >= 0
    return leaf.value, other.value, chunks.value


def selected(dataspace):
    """What is selected of a source or a virtual dataset; not the extent, which follows the sources."""
    kind = dataspace.get_select_type()
    if kind == h5s.SEL_HYPERSLABS and dataspace.is_regular_hyperslab():
        return kind, dataspace.get_regular_hyperslab()
    return kind, 0 if kind == h5s.SEL_ALL else dataspace.get_select_npoints()


def datatype(kind):
    """What a type is; not the version of the format in which it is told."""
    told = [kind.get_class(), kind.get_size()]
    for name in ["get_order", "get_sign", "get_precision", "get_offset", "get_pad", "get_fields", "get_ebias", "get_norm",
                 "get_inpad", "get_cset", "get_strpad", "get_tag", "get_array_dims"]:
        if hasattr(kind, name) and not (name == "get_strpad" and kind.is_variable_str()):
            told.append(getattr(kind, name)())
    if hasattr(kind, "get_nmembers"):
        for number in range(kind.get_nmembers()):
            told.append(kind.get_member_name(number))
            if kind.get_class() == h5t.ENUM:
                told.append(kind.get_member_value(number))
            else:
                told += [kind.get_member_offset(number), datatype(kind.get_member_type(number))]
    if kind.get_class() in (h5t.ENUM, h5t.VLEN, h5t.ARRAY):
        told.append(datatype(kind.get_super()))
    return tuple(told)


def space(dataspace):
    kind = dataspace.get_simple_extent_type()
    if kind != h5s.SIMPLE:
        return kind
    return kind, dataspace.get_simple_extent_dims(), dataspace.get_simple_extent_dims(True)


def fill(properties, kind):
    state = properties.fill_value_defined()
    if state != h5d.FILL_VALUE_USER_DEFINED:
        return state
    try:
        if kind.get_class() in (h5t.STRING, h5t.VLEN, h5t.REFERENCE, h5t.COMPOUND, h5t.ARRAY, h5t.OPAQUE, h5t.TIME):
            return state
        value = np.zeros((), dtype=kind.dtype)
        properties.get_fill_value(value)
        return state, value.tobytes()
    except (TypeError, NotImplementedError, ValueError, OSError):
        return state


def dataset(found, properties):
    kind = found.get_type()
    told = {
        "type": datatype(kind),
        "space": space(found.get_space()),
        "layout": properties.get_layout(),
        "allocation": properties.get_alloc_time(),
        "fill time": properties.get_fill_time(),
        "fill": fill(properties, kind),
        "filters": [properties.get_filter(n)[:3] for n in range(properties.get_nfilters())],
    }
    if told["layout"] == h5d.CHUNKED:
        told["chunk"] = properties.get_chunk()
        told["chunks"] = found.get_num_chunks() if found.get_space().get_simple_extent_type() == h5s.SIMPLE else 0
    if told["layout"] == h5d.VIRTUAL:
        told["virtual"] = [
            (properties.get_virtual_filename(n), properties.get_virtual_dsetname(n),
             selected(properties.get_virtual_vspace(n)), selected(properties.get_virtual_srcspace(n)))
            for n in range(properties.get_virtual_count())
        ]
    told["external"] = [properties.get_external(n) for n in range(properties.get_external_count())]
    return told


def common(found, properties):
    info = h5o.get_info(found)
    told = {"links": info.rc, "attributes": h5a.get_num_attrs(found), "counted": info.num_attrs}
    told["attribute order"] = properties.get_attr_creation_order()
    told["attribute phase"] = properties.get_attr_phase_change()
    told["times"] = properties.get_obj_track_times()
    told["stored times"] = [moment > 0 for moment in (info.atime, info.mtime, info.ctime, info.btime)]
    told["modified"] = info.mtime
    told["header"] = info.hdr.version, bool(info.hdr.flags & 0x20)
    return told


def attributes(found):
    told = {}
    order = []
    for number in range(h5a.get_num_attrs(found)):
        one = h5a.open(found, index=number)
        order.append(one.name)
        info = h5a.get_info(found, index=number)
        told[one.name] = (datatype(one.get_type()), one.get_type().committed(), space(one.get_space()), info.cset)
    return told, order


def facts(path):
    """Facts by path."""
    told = {}
    seen = {}
    with h5py.File(path, "r") as file:
        creation = file.id.get_create_plist()
        told["file"] = {
            "user block": creation.get_userblock(),
            "version": creation.get_version()[0],
            "nodes": nodes(creation),
            "strategy": creation.get_file_space_strategy(),
            "page": creation.get_file_space_page_size(),
        }

        def visit(name, found):
            address = h5o.get_info(found).addr
            if address in seen:
                told[name] = seen[address]
                return
            seen[address] = name
            if isinstance(found, h5g.GroupID):
                properties = found.get_create_plist()
                told[name] = common(found, properties)
                told[name]["order"] = properties.get_link_creation_order()
            elif isinstance(found, h5d.DatasetID):
                properties = found.get_create_plist()
                told[name] = common(found, properties) | dataset(found, properties)
                told[name]["committed"] = found.get_type().committed()
            else:
                told[name] = common(found, h5p.create(h5p.DATASET_CREATE))
                told[name]["type"] = datatype(found)
            told[name]["attribute"], order = attributes(found)
            if told[name]["attribute order"]:
                told[name]["attribute names"] = order
            if isinstance(found, h5g.GroupID):
                links(name, found)

        def links(path, group):
            ordered = group.get_create_plist().get_link_creation_order()
            names = []
            index = h5py.h5.INDEX_CRT_ORDER if ordered else h5py.h5.INDEX_NAME
            group.links.iterate(names.append, idx_type=index)
            told[path]["names"] = names
            for link in names:
                info = group.links.get_info(link)
                here = f"{path}/{link.decode('utf-8', 'replace')}"
                told[f"{here} (link)"] = (info.type, info.cset, bool(info.corder_valid))
                if info.type == h5l.TYPE_HARD:
                    visit(here, h5o.open(group, link))
                elif info.type in (h5l.TYPE_SOFT, h5l.TYPE_EXTERNAL):
                    told[here] = group.links.get_val(link)

        visit("", h5o.open(file.id, b"/"))
    return told


def differences(one, other):
    """What two lists of facts do not have in common, as text."""
    for path in sorted(one.keys() | other.keys()):
        a, b = one.get(path), other.get(path)
        if isinstance(a, dict) and isinstance(b, dict):
            for name in sorted(a.keys() | b.keys()):
                if a.get(name) != b.get(name):
                    yield f"{path} {name}: {a.get(name)} became {b.get(name)}"
        elif a != b:
            yield f"{path}: {a} became {b}"
