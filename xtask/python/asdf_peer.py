"""The other side of the ASDF conformance run: Python's asdf writes files and reads ours.

    asdf_peer.py write DIR     write the matrix of files
    asdf_peer.py check DIR     read the files that the Rust side wrote, and compare every value

The contents are formulas, written down here and in the example `asdf_conformance`.
"""

import datetime
import hashlib
import importlib.metadata
import io
import json
import math
import sys
import warnings
from pathlib import Path

import asdf
import numpy as np
from asdf.tags.core import Constant, IntegerType, Software, Stream

warnings.simplefilter("ignore")

SHAPE = (3, 4, 2)
TYPES = [
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128", "bool8", "ascii", "ucs4",
]
ORDERS = {"little": "<", "big": ">"}
LABELS = ["none", "zlib", "bzp2", "lz4", "lz4f", "zstd", "blsc"]
VERSIONS = ["1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0"]


def real(i):
    return [math.inf, -0.0, math.nan][i] if i < 3 else (i * 3 - 20) / 8


def values(name, count):
    """The elements of a type, as Python values."""
    if name.startswith(("int", "uint")):
        bits = int(name.lstrip("uint"))
        signed = name.startswith("int")
        # Python refuses to write the outermost numbers of 64 bits as text.
        bits = min(bits, 63 if signed else 62)
        top, bottom = (2 ** (bits - 1) - 1, -(2 ** (bits - 1))) if signed else (2**bits - 1, 0)
        return [top, bottom] + [(i * i * 7 + i * 31 + 5) % 120 - (60 if signed else 0) for i in range(2, count)]
    if name.startswith("float"):
        return [real(i) for i in range(count)]
    if name.startswith("complex"):
        return [complex(real(i), real(i + 3)) for i in range(count)]
    if name == "bool8":
        return [i % 3 == 0 for i in range(count)]
    if name == "ascii":
        return [f"a{i}" for i in range(count)]
    return ["\U0001F600"] + [f"\u00e9{i}" for i in range(1, count)]


def dtype(name, order="little"):
    code = {"bool8": "?", "ascii": "S5", "ucs4": "U3"}.get(name, name)
    return np.dtype(code).newbyteorder(ORDERS[order])


def array(name, order="little", shape=SHAPE):
    count = math.prod(shape)
    items = values(name, count)
    if name == "ascii":
        items = [item.encode() for item in items]
    return np.array(items, dtype=dtype(name, order)).reshape(shape)


def large(name):
    i = np.arange(300_000)
    return (i % 251).astype("u1") if name == "bytes" else (i // 7 * 0.5).astype("<f8")


def base():
    return np.arange(24, dtype="<u2").reshape(4, 6)


def views():
    b = base()
    return {"base": b, "fortran": b.T, "reversed": b.reshape(24)[::-1], "tail": b[2:], "columns": b[:, 1:6:2]}


def structured(order):
    o = ORDERS[order]
    kind = np.dtype([("a", "u1"), ("b", o + "i2", (2,)), ("c", [("d", "S3"), ("e", o + "f4")])])
    rows = [(i, (i * 5, -i), (f"x{i}".encode(), i / 4)) for i in range(5)]
    return np.array(rows, dtype=kind)


def flat(order):
    """Python reads structured elements from the tree only if no field has parts of its own."""
    o = ORDERS[order]
    kind = np.dtype([("a", "u1"), ("b", o + "i2"), ("d", "S3"), ("e", o + "f4")])
    return np.array([(i, -i, f"x{i}".encode(), i / 4) for i in range(5)], dtype=kind)


SCALARS = {
    "int": 42, "negative": -7, "large": 2**62, "float": 3.5, "tiny": 1e-300, "huge": 1e300, "inf": math.inf,
    "true": True, "false": False, "null": None, "string": "foo", "empty": "", "number like": "1e5", "octal like": "0o17",
    "bool like": "yes", "y": "y", "date like": "2001-12-14", "spaces": " a ", "lines": "a\nb\n\nc\n", "quotes": "it's \"x\"",
    "unicode": "\u00e9\u4e2d\U0001F600", "control": "\x00\x07\x1b\x85\u2028", "colon": "a: b", "hash": "a #b",
    "nested": {"list": [1, [2, [3, {"x": []}]], {}], "map": {"a": {"b": {"c": "d"}}}},
    "tilde": "~", "merge": "<<", "equals": "=", "dash": "-", "question": "? a", "star": "*a", "anchor": "&a", "tag": "!a",
}


def compress(af, label):
    return {} if label == "none" else {"all_array_compression": label}


def save(tree, path, version="1.6.0", storage=None, **more):
    # A file without history keeps the manifests of both sides to what was asked for.
    af = asdf.AsdfFile(tree, version=version)
    if storage:
        more["all_array_storage"] = storage
    af.write_to(path, **more)


def write(folder):
    for order in ORDERS:
        for storage in ["internal", "inline"]:
            save({name: array(name, order) for name in TYPES}, folder / f"types_{order}_{storage}.asdf", storage=storage)
        save({"rows": structured(order)}, folder / f"structured_{order}.asdf")
        save({"rows": flat(order)}, folder / f"structured_{order}_inline.asdf", storage="inline")
    for label in LABELS:
        more = compress(None, label)
        save({name: large(name) for name in ["bytes", "floats"]}, folder / f"compression_{label}.asdf", **more)
    for version in VERSIONS:
        save({"a": array("int32"), "list": [1, "x", 2.5]}, folder / f"version_{version}.asdf", version=version)
    af = asdf.AsdfFile(views())
    for value in af.tree.values():
        if isinstance(value, np.ndarray):
            af.set_array_save_base(value, True)
    af.write_to(folder / "views.asdf")
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    save({"block": masked}, folder / "masks.asdf")
    shared = {"k": [1, 2]}
    loop = {"name": "loop"}
    loop["self"] = loop
    save({"first": shared, "second": shared, "loop": loop}, folder / "anchors.asdf")
    save(SCALARS, folder / "scalars.asdf")
    af = asdf.AsdfFile({"a": array("int32")})
    af.add_history_entry("made", Software(name="maker", version="1.5"))
    af.write_to(folder / "history.asdf")
    numbers = {"complex": 1.5 - 2j, "integer": IntegerType(-(10**40)), "small": IntegerType(7), "constant": Constant([5])}
    save(numbers, folder / "core.asdf")
    stream = asdf.AsdfFile({"rows": Stream([4], np.float64)})
    with open(folder / "stream.asdf", "wb") as fd:
        stream.write_to(fd)
        for i in range(6):
            fd.write((np.arange(4, dtype="<f8") + i).tobytes())
        fd.write(b"part")
    save({"a": array("int32"), "b": array("float64"), "note": "x"}, folder / "updated.asdf", pad_blocks=True)
    with asdf.open(folder / "updated.asdf", mode="rw") as af:
        af["note"] = "longer " * 40
        af["c"] = array("uint8")
        af.update()
    af = asdf.AsdfFile({"a": array("int32"), "b": array("float64")})
    af.write_to(folder / "exploded.asdf", all_array_storage="external")
    # Trees as text: what a tag or a style means must not depend on how Python would have written it.
    text = (
        "#ASDF 1.0.0\r\n#ASDF_STANDARD 1.6.0\r\n%YAML 1.1\r\n%TAG ! tag:stsci.edu:asdf/\r\n%TAG !x! tag:example.com,2020:\r\n"
        "--- !core/asdf-1.1.0\r\nunknown: !x!thing-1.0.0 {a: 1, b: [2]}\r\nscalar: !<tag:example.com,2020:text> 15\r\n"
        "literal: |\r\n  a\r\n   b\r\nfolded: >-\r\n  a\r\n  b\r\n...\r\n"
    )
    (folder / "text.asdf").write_bytes(text.encode())
    for path in sorted(folder.glob("*.asdf")):
        if path.stem.startswith(("types", "structured", "compression", "version", "views", "anchors", "stream", "exploded")):
            with asdf.open(path) as af:
                path.with_suffix(".asdf.jsonl").write_text(manifest(af.tree))


def manifest(tree):
    """The content manifest of a tree of mappings, sequences, arrays and plain scalars."""
    lines = [{"manifest": 1, "format": "asdf"}]
    seen, queue = {}, [("/", tree)]
    while queue:
        path, node = queue.pop(0)
        array_like = hasattr(node, "dtype") and not isinstance(node, np.generic)
        if array_like or isinstance(node, (dict, list)):
            if id(node) in seen:
                lines.append({"path": path, "kind": "hardlink", "target": seen[id(node)][0]})
                continue
            seen[id(node)] = (path, node)
        if array_like:
            data = np.ma.getdata(np.asarray(node))
            lines.append({"path": path, "kind": "array", "type": kind(data.dtype), "shape": list(data.shape), "sha256": digest(data)})
            continue
        if isinstance(node, (dict, list)):
            lines.append({"path": path, "kind": "group"})
            pairs = node.items() if isinstance(node, dict) else ((str(i), item) for i, item in enumerate(node))
            names = ((str(key).replace("~", "~0").replace("/", "~1") or "~2", value) for key, value in pairs)
            for name, value in sorted(names, key=lambda pair: pair[0].encode()):
                queue.append((path.rstrip("/") + "/" + name, value))
            continue
        lines.append({"path": path, "kind": "value", "value": node})
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)


def kind(dt):
    if dt.fields:
        return {"compound": [[name, kind(dt.fields[name][0])] for name in dt.names]}
    if dt.subdtype:
        return {"array": kind(dt.subdtype[0]), "shape": list(dt.subdtype[1])}
    return {"b": "bool", "S": "str", "U": "str"}.get(dt.kind) or f"{dt.kind}{dt.itemsize}"


def digest(data):
    out = io.BytesIO()

    def element(value, dt):
        if dt.fields:
            for name in dt.names:
                element(value[name], dt.fields[name][0])
        elif dt.subdtype:
            for item in np.asarray(value).reshape(-1):
                element(item, dt.subdtype[0])
        elif dt.kind in "SU":
            text = value if isinstance(value, bytes) else str(value).encode()
            out.write(len(text).to_bytes(8, "little") + text)
        else:
            out.write(np.asarray(value, dtype=dt.newbyteorder("<")).tobytes())

    if data.dtype.kind in "biufc":
        out.write(np.ascontiguousarray(data, dtype=data.dtype.newbyteorder("<")).tobytes())
    else:
        for item in data.reshape(-1):
            element(item, data.dtype)
    return hashlib.sha256(out.getvalue()).hexdigest()


def report(case, way=None, problem=None):
    line = {"case": case, "ok": problem is None}
    if way is not None:
        line["way"] = way
    if problem is not None:
        line["why"] = str(problem)[:400]
    print(json.dumps(line), flush=True)


def check(folder):
    for name in ("asdf", "asdf-compression", "lz4", "zstandard", "blosc"):
        print(json.dumps({"peer": f"{name} {importlib.metadata.version(name)}"}))

    def case(name, test, way=None):
        try:
            problem = test()
        except Exception as e:  # a file that cannot be read is a result, not the end of the run
            problem = f"{type(e).__name__}: {e}"
        report(name, way, problem)

    def opened(name, **more):
        return asdf.open(folder / name, memmap=False, lazy_load=False, validate_checksums=True, **more)

    def same(found, expected, what=""):
        found = np.asarray(found)
        if found.shape != expected.shape:
            return f"{what}: shape {found.shape}, expected {expected.shape}"
        if found.dtype.newbyteorder("=") != expected.dtype.newbyteorder("="):
            return f"{what}: dtype {found.dtype}, expected {expected.dtype}"
        if expected.dtype.kind in "fc":
            equal = np.array_equal(found, expected, equal_nan=True)
        else:
            equal = bool(np.all(found == expected))
        return None if equal else f"{what}: {found!r}, expected {expected!r}"

    def arrays(file, expected):
        with opened(file) as af:
            for key, value in expected.items():
                problem = same(af[key], value, key)
                if problem:
                    return problem

    for order in ORDERS:
        for storage in ["internal", "inline"]:
            for name in TYPES:
                def one(name=name):
                    with opened(f"types_{order}_{storage}.asdf") as af:
                        found = af[name]
                        return same(found, array(name, order))
                case(f"{storage} arrays: {name} {order}", one)
        case(f"structured arrays: {order}", lambda: arrays(f"structured_{order}.asdf", {"rows": structured(order)}))
        case(f"structured arrays: {order} inline", lambda: arrays(f"structured_{order}_inline.asdf", {"rows": flat(order)}))
    for label in LABELS:
        expected = {name: large(name) for name in ["bytes", "floats"]}
        case(f"compression: {label}", lambda: arrays(f"compression_{label}.asdf", expected))
    for version in VERSIONS:
        def versioned():
            with opened(f"version_{version}.asdf") as af:
                if str(af.version) != version:
                    return f"version {af.version}"
                if list(af["list"]) != [1, "x", 2.5]:
                    return af["list"]
                return same(af["a"], array("int32"))
        case(f"standard versions: {version}", versioned)
    case("views: offsets and strides", lambda: arrays("views.asdf", views()))

    def masks():
        with opened("masks.asdf") as af:
            for key, mask in {"block": [0, 1, 0], "value": [0, 0, 1], "inline": [0, 1, 0]}.items():
                found = np.ma.getmaskarray(af[key]._make_array() if hasattr(af[key], "_make_array") else af[key])
                if list(found.astype(int)) != mask:
                    return f"{key}: {found}"
    case("masks: array, value, inline", masks)

    def anchors():
        with opened("anchors.asdf") as af:
            if af["first"] is not af["second"] or af["first"] != {"k": [1, 2]}:
                return "the shared mapping is not shared"
            return None if af["loop"]["self"] is af["loop"] else "the loop is cut"
    case("anchors: shared and cyclic", anchors)

    def scalars():
        with opened("scalars.asdf") as af:
            for key, value in SCALARS.items():
                if af[key] != value or type(af[key]) is not type(value) and not isinstance(value, (dict, list)):
                    return f"{key}: {af[key]!r}, expected {value!r}"
    case("scalars: values and quotes", scalars)

    def core():
        with opened("core.asdf") as af:
            found = (complex(af["complex"]), int(af["integer"]), int(af["small"]))
            return None if found == (1.5 - 2j, -(10**40), 7) else found
    case("core types: complex, integer", core)

    def history():
        with opened("history.asdf") as af:
            entry = af.get_history_entries()[0]
            found = (entry["description"], entry["software"]["name"], entry["time"].year > 2000)
            return None if found == ("made", "maker", True) else found
    case("history: entries and software", history)

    def tables():
        for version in ["1.5.0", "1.6.0"]:
            with opened(f"table_{version}.asdf") as af:
                # asdf-astropy makes a table of astropy of it.
                table = af["table"]
                if table.colnames != ["a", "b"]:
                    return table.colnames
                problem = same(np.asarray(table["a"]), array("int32")) or same(np.asarray(table["b"]), array("float64"))
                if problem:
                    return problem
    case("core types: table", tables)

    def stream():
        with opened("stream.asdf") as af:
            return same(af["rows"], np.arange(4, dtype="<f8") + np.arange(6, dtype="<f8")[:, None])
    case("streams: rows and a partial one", stream)
    for name, note in [("updated", "y" * 200), ("updated_anew", "z" * 900)]:
        def updated():
            with opened(f"{name}.asdf") as af:
                if af["note"] != note:
                    return af["note"]
                return same(af["a"], array("int32")) or same(af["b"], array("float64")) or same(af["c"], array("uint8"))
        case(f"updates: {name}", updated, "edited here")
    expected = {"a": array("int32"), "b": array("float64")}
    case("exploded form: exploded", lambda: arrays("exploded.asdf", expected))
    case("exploded form: imploded", lambda: arrays("imploded.asdf", expected), "edited here")

    def changed_after():
        # What this library changes of a file that was written with room for its tree.
        path = folder / "changed_by_python.asdf"
        path.write_bytes((folder / "updated.asdf").read_bytes())
        with asdf.open(path, mode="rw") as af:
            af["note"] = "changed by Python"
            af.update()
        problem = arrays(path.name, {**expected, "c": array("uint8")})
        with opened(path.name) as af:
            return problem or (None if af["note"] == "changed by Python" else af["note"])
    case("updates: here, then by Python", changed_after, "edited there")

    def text():
        with opened("text.asdf") as af:
            assert af["unknown"]._tag == "tag:example.com,2020:thing-1.0.0", af["unknown"]._tag
            assert dict(af["unknown"]) == {"a": 1, "b": [2]}
            assert str(af["scalar"]) == "15" and af["scalar"]._tag == "tag:example.com,2020:text", af["scalar"]
            assert af["literal"] == "a\n b\n" and af["folded"] == "a b"
            assert af["time"] == datetime.datetime(2001, 12, 14, 21, 59, 43)
    case("text: tags, styles, newlines", text)
    # Every compressed block's checksum, and what the reader says of the index.
    case("block index: offsets", lambda: index(folder))


def index(folder):
    for path in sorted(folder.glob("*.asdf")):
        data = path.read_bytes()
        at = data.rfind(b"#ASDF BLOCK INDEX")
        if at < 0:
            continue
        listed = [int(line[2:]) for line in data[at:].decode().splitlines() if line.startswith("- ")]
        if any(data[offset : offset + 4] != b"\xd3BLK" for offset in listed):
            return f"{path.name}: {listed}"


if __name__ == "__main__":
    action, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    {"write": write, "check": check}[action](folder)
