"""Small ASDF files of each kind, with their content manifests, and files that are wrong on purpose.

    asdf_fixtures.py OUTDIR
"""

import bz2
import hashlib
import json
import struct
import sys
import tempfile
import warnings
import zlib
from pathlib import Path

import asdf
import lz4.block
import lz4.frame
import numpy as np

from asdf_peer import ORDERS, TYPES, VERSIONS, array, flat, manifest, structured, views

warnings.simplefilter("ignore")

OUT = Path(sys.argv[1])
PYTHON = f"asdf {asdf.__version__}"
HEAD = b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n"
YAML = b"%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"
MAGIC = b"\xd3BLK"


def put(file, data, exercises, generator="struct"):
    path = OUT / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    print(json.dumps({"file": file, "exercises": exercises, "generator": generator}))


def good(name, data, exercises, generator="struct", tree=None):
    """`tree` is the content, where Python itself does not read it or reads it otherwise."""
    file = f"{name}.asdf"
    put(file, data, exercises, generator)
    if tree is None:
        with asdf.open(OUT / file) as af:
            text = manifest(af.tree)
    else:
        text = manifest(tree)
    put(f"expected/{file}.jsonl", text.encode(), f"manifest of {file}", "hashlib")


def python(tree, version="1.6.0", **more):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.asdf"
        asdf.AsdfFile(tree, version=version).write_to(path, **more)
        return path.read_bytes()


def block(data, label=b"\0\0\0\0", stored=None, flags=0, size=48, allocated=None, used=None, data_size=None, sum=None):
    stored = data if stored is None else stored
    used = len(stored) if used is None else used
    allocated = max(used, len(stored)) if allocated is None else allocated
    data_size = len(data) if data_size is None else data_size
    sum = hashlib.md5(stored).digest() if sum is None else sum
    header = MAGIC + struct.pack(">HI4sQQQ", size, flags, label, allocated, used, data_size) + sum
    return header + bytes(max(size - 48, 0)) + stored + bytes(min(max(allocated - len(stored), 0), 1 << 10))


def ndarray(source=0, count=8, datatype="uint8", more=""):
    return f"!core/ndarray-1.1.0 {{source: {source}, datatype: {datatype}, byteorder: little, shape: [{count}]{more}}}"


def tree(**entries):
    return HEAD + YAML + "".join(f"{key}: {value}\n" for key, value in entries.items()).encode() + b"...\n"


def index(data, offsets=None):
    if offsets is None:
        offsets, at = [], data.find(MAGIC)
        while at >= 0:
            offsets.append(at)
            at = data.find(MAGIC, at + 1)
    return b"#ASDF BLOCK INDEX\n%YAML 1.1\n---\n" + b"".join(b"- %d\n" % offset for offset in offsets) + b"...\n"


EIGHT = bytes(range(8))
A = {"a": np.arange(8, dtype="u1")}


def kinds():
    for order in ORDERS:
        types = {name: array(name, order) for name in TYPES}
        good(f"types-{order}", python(types), f"every element type, {order}-endian", PYTHON)
        good(f"structured-{order}", python({"rows": structured(order)}), "nested fields and fields with a shape", PYTHON)
    good("inline", python({name: array(name) for name in TYPES}, all_array_storage="inline"), "arrays in the tree", PYTHON)
    good("inline-structured", python({"rows": flat("little")}, all_array_storage="inline"), "rows in the tree", PYTHON)
    for version in VERSIONS:
        data = python({"a": array("int32"), "list": [1, "x", 2.5]}, version)
        good(f"version-{version}", data, f"standard {version}", PYTHON)
    for label in ["zlib", "bzp2", "lz4", "lz4f", "zstd"]:
        data = python({"a": np.arange(3000, dtype="<u2")}, all_array_compression=label)
        good(f"compression-{label}", data, f"a block of the label {label}", PYTHON)
    shared = {"k": [1, 2]}
    loop = {"name": "loop"}
    loop["self"] = loop
    good("anchors", python({"first": shared, "second": shared, "loop": loop}), "a shared mapping and a cycle", PYTHON)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "main.asdf"
        tree_of_views = views()
        af = asdf.AsdfFile(tree_of_views)
        for key in tree_of_views:
            af.set_array_save_base(af[key], True)
        af.write_to(path)
        good("views", path.read_bytes(), "offsets, strides, negative ones too", PYTHON)
        asdf.AsdfFile({"a": array("int32"), "b": array("float64")}).write_to(path, all_array_storage="external")
        put("main0000.asdf", (Path(folder) / "main0000.asdf").read_bytes(), "the first block of an exploded file", PYTHON)
        put("main0001.asdf", (Path(folder) / "main0001.asdf").read_bytes(), "the second", PYTHON)
        good("main", path.read_bytes(), "an exploded file", PYTHON)


def layouts():
    plain = tree(a=ndarray()) + block(EIGHT)
    good("no-index", plain, "a file without block index", tree=A)
    good("index-block", plain + index(plain), "a block index as Python writes it", tree=A)
    at = plain.find(MAGIC)
    good("index-flow", plain + b"#ASDF BLOCK INDEX\n%%YAML 1.1\n--- [%d]\n...\n" % at, "an index in brackets", tree=A)
    good("index-zeros", plain + index(plain) + bytes(100), "zeros after the index", tree=A)
    good("dos", plain[:at].replace(b"\n", b"\r\n") + plain[at:], "lines that end as on DOS", tree=A)
    good("padding-spaces", plain[:at] + b" " * 500 + plain[at:], "room for the tree, blank", tree=A)
    good("padding-zeros", plain[:at] + bytes(500) + plain[at:], "room for the tree, zeros", tree=A)
    good("padding-magic", plain[:at] + bytes(9) + MAGIC + bytes(300) + plain[at:], "room that looks like a block", tree=A)
    good("block-padding", tree(a=ndarray()) + block(EIGHT, allocated=100), "a block with room to grow", tree=A)
    good("header-100", tree(a=ndarray()) + block(EIGHT, size=100), "a block header of more than 48 bytes", tree=A)
    good("no-checksum", tree(a=ndarray()) + block(EIGHT, sum=bytes(16)), "a block without checksum", tree=A)
    good("flags-unknown", tree(a=ndarray()) + block(EIGHT, flags=0xF0), "flags that have no meaning yet", tree=A)
    stored = zlib.compress(EIGHT)
    old = block(EIGHT, b"zlib", stored, sum=hashlib.md5(EIGHT).digest())
    good("old-checksum", tree(a=ndarray()) + old, "the checksum of the decoded bytes, as asdf 5.2 wrote it", tree=A)
    chunks = b"".join(chunk(EIGHT[i : i + 3]) for i in range(0, 8, 3))
    good("lz4-chunks", tree(a=ndarray()) + block(EIGHT, b"lz4\0", chunks), "small chunks of LZ4", "lz4 4.4.5", A)
    frame = lz4.frame.compress(EIGHT)
    good("lz4-frame", tree(a=ndarray()) + block(EIGHT, b"lz4\0", frame), "an LZ4 frame under the label of chunks", "lz4 4.4.5", A)
    last = tree(a=ndarray(-1), b=ndarray(-2)) + block(EIGHT[::-1]) + block(EIGHT)
    good("source-negative", last, "blocks counted from the last", tree={**A, "b": np.arange(8, dtype="u1")[::-1]})
    rows = tree(rows=ndarray(-1, "'*', 2"))
    stream = block(EIGHT + b"9", flags=1, allocated=0, used=0, data_size=0, sum=bytes(16))
    good("stream", rows + stream, "a streamed block with a part of a row", tree={"rows": A["a"].reshape(4, 2)})
    good("stream-empty", rows + stream[:-9], "a streamed block without rows", tree={"rows": A["a"][:0].reshape(0, 2)})
    good("only-header", b"#ASDF 1.0.0", "the first line alone", tree={})
    good("only-block", HEAD + block(EIGHT), "a block without tree", tree={})
    good("only-tree", tree(a="1"), "a tree without blocks", tree={"a": 1})
    good("empty-array", tree(a=ndarray(count=0)) + block(b""), "an array without elements", tree={"a": A["a"][:0]})


def chunk(data):
    packed = lz4.block.compress(data, store_size=True)
    return struct.pack(">I", len(packed)) + packed


def hostile():
    def bad(name, data, exercises):
        put(f"hostile/{name}.asdf", data, exercises)

    plain = tree(a=ndarray()) + block(EIGHT)
    at = plain.find(MAGIC)
    bad("index-wrong", plain + index(plain, [at + 1]), "an index to nowhere: it is ignored")
    bad("index-too-long", plain + index(plain, [at, at + 1]), "an index of more blocks than there are")
    bad("index-not-numbers", plain + b"#ASDF BLOCK INDEX\n---\n- x\n...\n", "an index of no numbers")
    bad("empty", b"", "no bytes at all")
    bad("version", b"#ASDF 2.0.0\n", "a version that there is not")
    bad("after-header", HEAD + b"\n" + plain[len(HEAD) :], "a blank line after the header")
    bad("no-end", HEAD + YAML + b"a: 1\n", "a tree without end")
    bad("bom", b"\xef\xbb\xbf" + plain, "a byte order mark")
    bad("not-text", HEAD + YAML + b"a: \xff\n...\n", "bytes that are no text")
    bad("control", HEAD + YAML + b"a: \x01\n...\n", "a control character")
    bad("deep", HEAD + YAML + b"a: " + b"[" * 10_000 + b"\n...\n", "10,000 levels")
    bad("deep-block", HEAD + YAML + b"- " * 10_000 + b"\n...\n", "10,000 levels of blocks")
    bomb = b"a0: &a0 [1]\n" + b"".join(b"a%d: &a%d [*a%d, *a%d]\n" % (i, i, i - 1, i - 1) for i in range(1, 60))
    bad("bomb-inline", HEAD + YAML + bomb + b"x: !core/ndarray-1.1.0 *a59\n...\n", "a tag on an alias")
    data = b"x: !core/ndarray-1.1.0\n  data: *a59\n...\n"
    bad("bomb", HEAD + YAML + bomb + data, "aliases that unfold to 2^59 elements")
    merge = b"a0: &a0 {x: 1}\n" + b"".join(b"a%d: &a%d\n  <<: [*a%d, *a%d]\n" % (i, i, i - 1, i - 1) for i in range(1, 60))
    bad("bomb-merge", HEAD + YAML + merge + b"x: !core/ndarray-1.1.0 {<<: *a59}\n...\n", "merge keys that unfold to 2^59 pairs")
    fields = b"t0: &t0 [uint8, uint8]\n" + b"".join(b"t%d: &t%d [*t%d, *t%d]\n" % (i, i, i - 1, i - 1) for i in range(1, 60))
    bad("bomb-datatype", HEAD + YAML + fields + b"x: !core/ndarray-1.1.0 {source: 0, shape: [1], datatype: *t59}\n...\n" + block(EIGHT), "a datatype of 2^60 fields")
    bad("digits", HEAD + YAML + b"a: !core/ndarray-1.1.0 [" + b"9" * 10_000 + b"]\n...\n", "a number of 10,000 digits")
    bad("prefix", HEAD + b"%YAML 1.1\n%TAG ! " + b"x" * 5000 + b"\n--- !a\nb: !b c\n...\n", "a tag prefix of 5000 bytes")
    bad("header-size", tree(a=ndarray()) + plain[plain.find(MAGIC) :].replace(b"BLK\0\x30", b"BLK\0\x2f"), "a header of 47 bytes")
    bad("header-cut", plain[: plain.find(MAGIC) + 30], "a header that the file ends in")
    bad("used-above-allocated", tree(a=ndarray()) + block(EIGHT, allocated=7), "more used than allocated")
    bad("data-size", tree(a=ndarray()) + block(EIGHT, data_size=9), "another size of data than stored, without compression")
    bad("allocated-2-to-63", tree(a=ndarray()) + block(EIGHT, allocated=1 << 63), "2^63 bytes")
    bad("allocated-2-to-64", tree(a=ndarray()) + block(EIGHT, allocated=(1 << 64) - 1), "2^64 - 1 bytes")
    bad("data-cut", plain[:-1], "a block that the file ends in")
    huge = 1 << 62
    bad("zip-bomb-declared", tree(a=ndarray(count=huge)) + block(EIGHT, b"zlib", zlib.compress(EIGHT), data_size=huge), "a few bytes that claim to be 2^62")
    bad("lz4-frame-declared", tree(a=ndarray()) + block(EIGHT, b"lz4f", lz4.frame.compress(EIGHT), data_size=0xFF000030), "a few bytes that claim to be 4 GiB")
    many = zlib.compress(bytes(1 << 22))
    bad("zip-bomb-short", tree(a=ndarray()) + block(EIGHT, b"zlib", many), "8 bytes that are 4 MiB")
    bad("zlib-short", tree(a=ndarray(count=9)) + block(EIGHT, b"zlib", zlib.compress(EIGHT), data_size=9), "9 bytes that are 8")
    bad("zlib-cut", tree(a=ndarray()) + block(EIGHT, b"zlib", zlib.compress(EIGHT)[:-3]), "a stream without its sum")
    bad("bzp2-damaged", tree(a=ndarray()) + block(EIGHT, b"bzp2", bz2.compress(EIGHT)[:20] + bytes(9)), "zeros in a stream")
    bad("lz4-lengths", tree(a=ndarray()) + block(EIGHT, b"lz4\0", b"\xff\xff\xff\xff\0\0\0\0"), "a chunk of 4 GiB")
    bad("unknown-label", tree(a=ndarray()) + block(EIGHT, b"what"), "a compression that is not known")
    bad("checksum", tree(a=ndarray()) + block(EIGHT, sum=b"x" * 16), "a wrong checksum")
    bad("source", tree(a=ndarray(1)) + block(EIGHT), "a block that is not there")
    bad("source-before", tree(a=ndarray(-2)) + block(EIGHT), "a block before the first")
    bad("external", tree(a=ndarray("../../etc/passwd")), "another file")
    bad("shape", tree(a=ndarray(count=9)) + block(EIGHT), "more elements than bytes")
    bad("shape-2-to-128", tree(a=ndarray(count="9223372036854775807, 9223372036854775807")) + block(EIGHT), "2^126 elements")
    bad("shape-negative", tree(a=ndarray(count=-1)) + block(EIGHT), "a negative dimension")
    bad("shape-star", tree(a=ndarray(count="2, '*'")) + block(EIGHT), "a star that is not first")
    bad("offset", tree(a=ndarray(more=", offset: 1")) + block(EIGHT), "an offset that pushes the last element out")
    bad("offset-negative", tree(a=ndarray(more=", offset: -4")) + block(EIGHT), "an offset before the block")
    bad("strides-before", tree(a=ndarray(more=", strides: [-1]")) + block(EIGHT), "strides that lead before the block")
    bad("strides-overflow", tree(a=ndarray(more=", strides: [9223372036854775807]")) + block(EIGHT), "strides of 2^63 - 1")
    bad("broadcast", tree(a=ndarray(count=1 << 50, more=", strides: [0]")) + block(EIGHT), "one byte 2^50 times")
    bad("text-long", tree(a=ndarray(datatype="[ucs4, 4611686018427387905]")) + block(EIGHT), "texts of 2^64 + 4 bytes")
    bad("ragged", tree(a="!core/ndarray-1.1.0 [[1, 2], [3]]"), "rows of different length")
    bad("mask-loop", tree(a="&a !core/ndarray-1.1.0 {data: [1], mask: *a}"), "an array that is its own mask")


kinds()
layouts()
hostile()
