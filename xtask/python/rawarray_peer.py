"""The independent side of the RawArray conformance run.

    rawarray_peer.py write DIR    writes every case into DIR, with its content manifest
    rawarray_peer.py check DIR    reads the files that the other side wrote

Both sides list the same cases and know their contents from the same formula.
"""

import json
import pathlib
import sys

import lz4
import numpy

from rawarray_format import (
    BITS, ENCODED, TYPES, bits, content, decode, encode, header, little, manifest, small_content, tail,
)

DIMS = [[], [7], [3, 5], [2, 3, 4], [2, 3, 2, 2], [2, 1, 3, 2, 2]]
LARGER = {1: [300], 3: [10, 6, 5]}
NUMPY = {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"}


def count(dims):
    product = 1
    for dim in dims:
        product *= dim
    return product


def cases():
    """(file, group, detail, type, dims, big, encoding, elements, metadata)"""
    def case(group, name, dims, big, encoding, elements, metadata=b""):
        detail = f"{name} {len(dims)}d {'big' if big else 'little'}"
        file = f"{group}-{name}-{len(dims)}d-{'be' if big else 'le'}-{len(metadata)}.ra"
        if metadata:
            detail += f" {len(metadata)} bytes"
        return file, group, detail, name, dims, big, encoding, elements, metadata

    for name in TYPES:
        for dims in DIMS:
            for big in (False, True):
                yield case("types", name, dims, big, "raw", content(name, count(dims)))
        yield case("empty", name, [4, 0, 3], False, "raw", [])
    for name in TYPES:
        for dims in LARGER.values():
            for big in (False, True):
                yield case("lz4", name, dims, big, "lz4", content(name, count(dims), 30), tail(5))
    for name in TYPES:
        if name[0] in "iu":
            for dims in DIMS[1:4]:
                yield case("leb128", name, dims, False, "leb128", small_content(name, count(dims)))
    for dims in [*DIMS, [64], [65], [5, 13, 2]]:
        for big in (False, True):
            file, *rest = case("bits", "bool", dims, big, "bits", content("bool", count(dims)), tail(3))
            yield f"{count(dims)}-{file}", *rest
    for size in (1, 100, 512, 5000):
        yield case("metadata", "f4", [3, 5], False, "raw", content("f4", 15), tail(size))


def only_ours():
    """Files that are made by changing others: appended to, overwritten, streamed."""
    def case(file, detail, name, dims, big, elements, metadata=b""):
        return file, "edits", detail, name, dims, big, "raw", elements, metadata

    for big in (False, True):
        end = "be" if big else "le"
        yield case(f"append-{end}.ra", f"append {end}", "i4", [3, 9], big, content("i4", 27), tail(9))
        over = content("f8", 40)
        for i in range(1, 8, 3):
            for j in range(0, 5, 2):
                over[5 * i + j] = content("f8", 100 + 5 * i + j + 1)[-1]
        yield case(f"overwrite-{end}.ra", f"overwrite {end}", "f8", [5, 8], big, over, tail(4))
        yield case(f"stream-{end}.ra", f"stream {end}", "c8", [4, 3, 6], big, content("c8", 72))
    yield case("metadata-changed.ra", "metadata", "u2", [10], False, content("u2", 10), tail(700))
    inner = b"".join(encode("u2", [4], content("u2", 4 * i + 4)[-4:]) for i in range(3))
    nested = [[inner[i : i + 64]] for i in range(0, 192, 64)]
    yield "nested.ra", "nested", "files in a file", None, [3], False, "raw", nested, b""


def say(group, detail, why=None):
    way = "edited here" if group == "edits" else "they read ours"
    line = {"case": f"{group}: {detail}", "way": way, "ok": why is None}
    if why is not None:
        line["why"] = why
    print(json.dumps(line))


def differs(path, name, dims, big, encoding, elements, metadata):
    data = path.read_bytes()
    if name is None:
        want = header(0, 0, 64, 192, dims) + little(elements)
        return None if data == want else "other bytes"
    found = decode(data)
    for what, want, got in zip(("type", "dims", "big", "encoding", "elements", "metadata"),
                               (name, dims, big, encoding, elements, metadata), found):
        if want != got:
            return f"{what}: expected {str(want)[:80]}, found {str(got)[:80]}"
    if encoding == "raw" and name in NUMPY:
        kind = {"i": "i", "u": "u", "f": "f", "c": "c"}[name[0]] + name[1:]
        start = 48 + 8 * len(dims)
        theirs = numpy.frombuffer(data, (">" if big else "<") + kind, count(dims), start).reshape(dims[::-1])
        ours = numpy.frombuffer(little(elements), "<" + kind).reshape(dims[::-1])
        if not numpy.array_equal(theirs, ours):
            return "numpy reads other values"
    return None


def check(folder):
    for peer in ("rawarray_format.py, by the letter of the format", f"numpy {numpy.__version__}", f"lz4 {lz4.__version__}"):
        print(json.dumps({"peer": peer}))
    for file, group, detail, *rest in [*cases(), *only_ours()]:
        try:
            why = differs(folder / file, *rest)
        except Exception as error:  # whatever it is, it is the file's fault, and the run goes on
            why = f"{type(error).__name__}: {error}"
        say(group, detail, why)


def write(folder):
    for file, _, _, name, dims, big, encoding, elements, metadata in cases():
        (folder / file).write_bytes(encode(name, dims, elements, big, encoding, metadata))
        (folder / f"{file}.jsonl").write_text(manifest(name, dims, elements))
    # What only the Julia package writes: a BitArray with the number of words as the number of dimensions, and floats with
    # the flag for encoded integers.
    for dims in ([3, 5], [20, 10, 2]):
        elements = content("bool", count(dims))
        words = bits(elements, False)
        file = f"julia-bits-{len(dims)}d.ra"
        head = header(ENCODED | BITS, 5, 8, len(words), dims, len(words) // 8)
        (folder / file).write_bytes(head + words)
        (folder / f"{file}.jsonl").write_text(manifest("bool", dims, elements))
    floats = little(content("f4", 15))
    (folder / "julia-floats.ra").write_bytes(header(ENCODED, 3, 4, 60, [3, 5]) + floats)
    (folder / "julia-floats.ra.jsonl").write_text(manifest("f4", [3, 5], content("f4", 15)))


if __name__ == "__main__":
    verb, folder = sys.argv[1:]
    {"write": write, "check": check}[verb](pathlib.Path(folder))
