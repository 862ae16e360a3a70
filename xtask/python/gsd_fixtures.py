"""Small GSD files of each kind, with their content manifests, and files that are wrong on purpose.

    gsd_fixtures.py OUTDIR
"""

import importlib.metadata
import json
import pathlib
import struct
import sys
import tempfile

import gsd.fl
import gsd.hoomd
import numpy

from gsd_format import NUMBERS, build, chunk, content, entry, header, manifest
from gsd_peer import full, write_chunk

OUT = pathlib.Path(sys.argv[1])
GSD = f"gsd {importlib.metadata.version('gsd')}"


def put(file, data, exercises, generator="struct"):
    path = OUT / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    print(json.dumps({"file": file, "exercises": exercises, "generator": generator}))


def good(file, frames, data, exercises, generator="struct"):
    put(file, data, exercises, generator)
    put(f"expected/{file}.jsonl", manifest(frames).encode(), f"manifest of {file}", "hashlib")


def by_library(frames, change=lambda path: None):
    """The same frames, written by the reference library."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/file.gsd"
        with gsd.fl.open(path, "w", application="fixtures", schema="none", schema_version=[1, 2]) as file:
            for i, chunks in enumerate(frames):
                for one in chunks:
                    write_chunk(file, *one)
                file.end_frame()
        change(path)
        return pathlib.Path(path).read_bytes()


def kinds():
    types = [content("types", i) for i in range(3)]
    good("types.gsd", types, by_library(types), "every element type", GSD)
    empty = [content("empty", 0)]
    good("empty-chunks.gsd", empty, by_library(empty), "chunks without rows, of every type", GSD)
    frames = [content("grown", i) for i in range(40)]
    good("grown.gsd", frames, by_library(frames), "an index that was outgrown", GSD)
    good("packed.gsd", frames, build(frames), "the same frames in one block")
    good("layer-1.0.gsd", frames, build(frames, old=True), "names in slots, entries as they were written")
    good("layer-0.3.gsd", frames[:3], bytes(patch(build(frames[:3], old=True), 44, "<I", 3)), "the first layer")

    def upgrade(path):
        pathlib.Path(path).write_bytes(build(frames, old=True))
        with gsd.fl.open(path, "r+") as file:
            file.upgrade()

    good("upgraded.gsd", frames, by_library([], upgrade), "a file of layer 1.0 that was upgraded", GSD)
    few = frames[:4]
    count = sum(len(chunks) for chunks in few)
    good("full-index.gsd", few, build(few, allocated=count), "an index without an entry to spare")
    sparse = [[chunk("only", "f32", 0, 0, 4, 3)], *[[]] * 20, [chunk("only", "f32", 21, 0, 4, 3)]]
    good("frames-beyond-the-entries.gsd", sparse, build(sparse, allocated=3), "a frame number above the entries")
    good("no-frames.gsd", [], build([]), "no frames")
    names = [[chunk(f"a rather long name of the chunk {j}" * 3, "u8", 0, j, 1, 1) for j in range(30)]]
    good("long-names.gsd", names, build(names), "names of more than 63 bytes")
    newer = bytearray(build(few))
    good("layer-2.7.gsd", few, bytes(patch(newer, 44, "<I", 0x20007)), "a minor version of the future")


def patch(data, at, form, *values):
    data = bytearray(data)
    struct.pack_into(form, data, at, *values)
    return data


def trajectory(frames, precision="single"):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/file.gsd"
        with gsd.hoomd.open(path, "w", precision=precision) as file:
            file.extend(frames)
        return pathlib.Path(path).read_bytes()


def hoomd():
    put("hoomd-single.gsd", trajectory([full(5, 1, False), full(5, 2, False), full(7, 3, False)]),
        "every chunk of the HOOMD schema, single precision", GSD)
    put("hoomd-double.gsd", trajectory([full(5, 1, True), full(4, 2, True)], "double"),
        "every chunk of the HOOMD schema, double precision", GSD)
    logs = []
    for i in range(5):
        frame = gsd.hoomd.Frame()
        frame.configuration.step = i
        frame.particles.N = 2
        frame.log["energy"] = numpy.array([i / 4])
        if i == 0:
            frame.log["text"] = "only in frame 0"
        logs.append(frame)
    put("hoomd-log.gsd", trajectory(logs), "logged quantities, text in frame 0 alone", GSD)


FIRST = 256  # where the entries begin in files of `build`


def hostile():
    def bad(file, data, exercises):
        put(f"hostile/{file}.gsd", bytes(data), exercises)

    plain = build([content("grown", i) for i in range(4)])
    size = len(plain)
    (allocated,) = struct.unpack_from("<Q", plain, 16)
    names = FIRST + 32 * allocated
    bad("empty", b"", "no bytes at all")
    bad("header-cut", plain[:100], "the header ends within a field")
    bad("wrong-magic", b"\0" + plain[1:], "another magic number")
    bad("layer-3.0", patch(plain, 44, "<I", 0x30000), "a layer that is not known")
    bad("layer-0.2", patch(plain, 44, "<I", 2), "a layer before the first")
    bad("index-past-the-end", patch(plain, 16, "<Q", 1 + (size - FIRST) // 32), "the index leaves the file")
    bad("index-beyond-the-file", patch(plain, 8, "<Q", size + 1), "the index begins behind the file")
    bad("index-size-wraps-to-0", patch(plain, 16, "<Q", 1 << 59), "32 times the entries is 2^64")
    bad("index-size-wraps-to-32", patch(plain, 16, "<Q", (1 << 59) + 1), "32 times the entries is 2^64 + 32")
    bad("index-2-to-60", patch(plain, 16, "<Q", 1 << 60), "2^60 entries")
    bad("index-end-wraps", patch(plain, 8, "<Q", (1 << 64) - 32), "the end of the index is 2^64 or more")
    bad("names-past-the-end", patch(plain, 32, "<Q", size), "the names leave the file")
    bad("names-size-wraps", patch(plain, 32, "<Q", 1 << 58), "64 times the names is 2^64")
    bad("names-without-end", patch(plain, names + 64 * 16 - 1, "B", 1), "the last byte of the names is not zero")
    old = build([content("grown", i) for i in range(4)], old=True)
    bad("slot-without-end", patch(old, names, "64s", b"x" * 64), "a slot without a zero at its end")
    many = header(FIRST, 1, FIRST + 32, 2049) + bytes(32) + b"n\0" * 65_537 + bytes(62)
    bad("names-65537", many, "one name more than ids")

    def at(i, offset):
        return FIRST + 32 * i + offset

    bad("frames-out-of-order", patch(plain, at(2, 0), "<Q", 9), "a frame before a smaller one")
    bad("ids-out-of-order", patch(plain, at(2, 28), "<H", 7), "in a frame, an id before a smaller one")
    bad("frame-2-to-64", patch(plain, at(18, 0), "<Q", (1 << 64) - 1), "the number of frames is 2^64")
    bad("frame-2-to-63", patch(plain, at(18, 0), "<Q", 1 << 63), "2^63 frames, nearly all empty")
    bad("rows-2-to-62", patch(plain, at(0, 8), "<Q", 1 << 62), "more rows than the file has bytes")
    bad("rows-times-columns-overflow", patch(plain, at(1, 8), "<QqI", 1 << 63, size - 8, 4), "2^65 elements")
    bad("location-negative", patch(plain, at(1, 16), "<q", -4096), "a chunk before the file")
    bad("location-behind-the-file", patch(plain, at(1, 16), "<q", size + 1), "a chunk behind the file")
    bad("location-2-to-63", patch(plain, at(1, 16), "<q", (1 << 63) - 1), "a chunk at the end of all offsets")
    bad("chunk-past-the-end", patch(plain, at(1, 16), "<q", size - 1), "a chunk that leaves the file")
    bad("data-cut", plain[:-1], "the last chunk ends one byte early")
    bad("id-past-the-names", patch(plain, at(1, 28), "<H", 900), "a name that is not there")
    bad("type-0", patch(plain, at(1, 30), "B", 0), "no type")
    bad("type-12", patch(plain, at(1, 30), "B", 12), "an unknown type")
    bad("flags", patch(plain, at(1, 31), "B", 1), "a flag")
    bad("columns-0", patch(plain, at(1, 24), "<I", 0), "rows of no columns")
    bad("name-no-text", patch(plain, names, "B", 0xFF), "a name that is not UTF-8")
    bad("hole-in-the-index", patch(plain, at(8, 16), "<q", 0), "an entry that is not in use between those that are")
    twice = [[chunk("a", "u8", 0, 0, 1, 1), chunk("a", "u8", 0, 1, 1, 1)]]
    bad("same-name-twice-in-a-frame", build(twice), "two chunks of one name")

    def schema(frames):
        return patch(build(frames, schema=b"hoomd"), 40, "<I", 0x10004)

    count = struct.pack("<I", 1 << 30)
    bad("hoomd-2-to-30-particles", schema([[("particles/N", "u32", 1, 1, count)]]), "particles that are only declared")
    two = ("particles/N", "u32", 1, 1, struct.pack("<I", 2))
    bad("hoomd-rows", schema([[two, chunk("particles/mass", "f32", 0, 0, 3, 1)]]), "three masses of two particles")
    bad("hoomd-type", schema([[two, chunk("particles/mass", "u32", 0, 0, 2, 1)]]), "masses that are integers")
    types = ("particles/types", "i8", 1, 2, b"\xff\0")
    bad("hoomd-types-no-text", schema([[two, types]]), "a type name that is not UTF-8")
    groups = [("bonds/N", "u32", 1, 1, struct.pack("<I", 1)), ("bonds/group", "i32", 1, 2, struct.pack("<2i", 0, -1))]
    bad("hoomd-negative-member", schema([groups]), "a bond with particle -1")


kinds()
hoomd()
hostile()
