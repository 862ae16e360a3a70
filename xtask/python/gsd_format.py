"""GSD files with nothing but `struct`: the contents of the conformance cases, a writer, and content manifests."""

import hashlib
import json
import struct

MAGIC = 0x65DF65DF65DF65DF
NUMBERS = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64"]
CODES = {name: code for code, name in enumerate([*NUMBERS, "character"], 1)}
SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f32": 4, "f64": 8,
         "character": 1}
# Of the manifest.
NAMES = {"u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8",
         "f32": "f4", "f64": "f8", "character": "u1"}


def word(i, j, k):
    x = (i * 1_000_003 + j * 10_007 + k * 101 + 12_345) * 0x9E3779B97F4A7C15 & (1 << 64) - 1
    return x ^ x >> 29


def value(element, x):
    real = (x % 2001 - 1000) / 8
    if element == "f32":
        return struct.pack("<f", real)
    if element == "f64":
        return struct.pack("<d", real)
    if element == "character":
        return bytes([ord("a") + x % 26])
    return struct.pack("<Q", x)[: SIZES[element]]


def chunk(name, element, i, j, rows, columns):
    """(name, type, rows, columns, bytes)"""
    data = b"".join(value(element, word(i, j, k)) for k in range(rows * columns))
    return name, element, rows, columns, data


def frames(case):
    return {"types": 3, "empty": 1, "names": 1, "frames": 100_000, "sparse": 202}.get(case, 60)


def content(case, i):
    """The chunks of frame `i` of a case."""
    if case == "types":
        chunks = [chunk(name, name, i, t, 2 + i, 1 + t % 4) for t, name in enumerate(NUMBERS)]
        return [*chunks, chunk("text", "character", i, 10, 5 + i, 1)]
    if case == "empty":
        return [chunk(name, name, i, t, 0, 1 + t % 4) for t, name in enumerate(NUMBERS)]
    if case == "names":
        return [chunk(f"name/{j}", "u32", i, j, 1, 1) for j in range(1000)]
    if case == "frames":
        return [chunk("step", "u64", i, 0, 1, 1)]
    if case == "sparse":
        return [chunk("only", "f32", i, 0, 4, 3)] if i % 201 == 0 else []
    chunks = []
    for j in range(1 + i * 7 % 9):
        number = (j * 5 + i) % 9
        name = "n" * 63 if number == 8 else f"chunk/{number}"
        chunks.append(chunk(name, NUMBERS[(i + j) % 10], i, j, (i + j) % 5, 1 + j % 3))
    return chunks


def header(index, entries, names, units, version=0x20001, application=b"struct", schema=b"none",
           schema_version=0x10002):
    return struct.pack("<5Q2I64s64s80x", MAGIC, index, entries, names, units, schema_version, version,
                       application, schema)


def entry(frame, n, location, m, id, type, flags=0):
    return struct.pack("<QQqIHBB", frame, n, location, m, id, type, flags)


def build(frames, old=False, allocated=None, schema=b"none"):
    """A file with these frames, a list of chunks each: of layer 2.1, or 1.0."""
    names, entries, data = [], [], b""
    count = sum(len(frame) for frame in frames)
    allocated = allocated or max(128, count + 1)
    for frame in frames:
        for name, *_ in frame:
            if name not in names:
                names.append(name)
    if old:
        packed = b"".join(name.encode().ljust(64, b"\0") for name in names)
        units = max(128, len(names))
    else:
        packed = b"".join(name.encode() + b"\0" for name in names)
        units = max(16, len(packed) // 64 + 1)
    start = 256 + 32 * allocated + 64 * units
    for i, frame in enumerate(frames):
        these = []
        for name, element, rows, columns, stored in frame:
            these.append((i, rows, start + len(data), columns, names.index(name), CODES[element]))
            data += stored
        entries += these if old else sorted(these, key=lambda e: e[4])
    index = b"".join(entry(*e) for e in entries).ljust(32 * allocated, b"\0")
    version = 0x10000 if old else 0x20001
    head = header(256, allocated, 256 + 32 * allocated, units, version, schema=schema)
    return head + index + packed.ljust(64 * units, b"\0") + data


def manifest(frames):
    """The content manifest of frames, a list of chunks each."""
    lines = [{"manifest": 1, "format": "gsd"}, {"path": "/", "kind": "group"}, {"path": "/frames", "kind": "group"}]
    order = sorted(range(len(frames)), key=str)
    lines += [{"path": f"/frames/{i}", "kind": "group"} for i in order]
    for i in order:
        for name, element, rows, columns, data in sorted(frames[i], key=lambda c: c[0].encode()):
            shape = [rows] if columns == 1 else [rows, columns]
            kind = NAMES[element]
            if element == "character" and columns == 1:
                # One text, whose length is before its bytes.
                kind, shape, data = "str", [], struct.pack("<Q", len(data)) + data
            lines.append({"path": f"/frames/{i}/{name}", "kind": "array", "type": kind, "shape": shape,
                          "sha256": hashlib.sha256(data).hexdigest()})
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
