"""Small Blosc2 files of each kind, with their content manifests, and files that are wrong on purpose.

    blosc2_fixtures.py OUTDIR
"""

import hashlib
import json
import pathlib
import struct
import sys
import tempfile

import blosc2
import numpy

from blosc2_format import CODECS, FILTERS, chunks, content, dtype, elements, words as text
from blosc2_peer import schunk

OUT = pathlib.Path(sys.argv[1])
BLOSC2 = f"python-blosc2 {blosc2.__version__}"


def put(file, data, exercises, generator="struct"):
    path = OUT / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    print(json.dumps({"file": file, "exercises": exercises, "generator": generator}))


def manifest(file, kind, shape, data, attributes=()):
    """The content manifest of one array."""
    line = lambda **keys: json.dumps(keys, separators=(",", ":")) + "\n"
    out = line(manifest=1, format="blosc2")
    out += line(path="/", kind="array", type=kind, shape=shape, sha256=hashlib.sha256(data).hexdigest())
    for name, value in sorted(attributes):
        out += line(path="/", kind="attribute", name=name, type="u1", shape=[len(value)], sha256=hashlib.sha256(value).hexdigest())
    put(f"expected/{file}.jsonl", out.encode(), f"manifest of {file}", "hashlib")


def frame(file, whole, exercises, size=None, vlmeta=(), **cparams):
    """A frame of the library's; `whole` are its chunks."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/frame"
        out = schunk(path, size or len(whole[0]), **cparams)
        for chunk in whole:
            out.append_data(chunk)
        for name, value in vlmeta:
            out.vlmeta.set_vlmeta(name, value)
        put(file, pathlib.Path(path).read_bytes(), exercises, BLOSC2)
    type_size = cparams["type_size"]
    data = b"".join(whole)
    item = 1 if len(data) % type_size else type_size
    manifest(file, {"opaque": item}, [len(data) // item], data, [(f"vlmeta:{n}", v) for n, v in vlmeta])


def array(file, text_, shape, chunk, block, kind, exercises, canonical=None):
    """`canonical` makes the bytes of the manifest, where they are not those of the elements."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/array"
        out = blosc2.empty(shape, dtype=dtype(text_), chunks=chunk, blocks=block, urlpath=path, mode="w", cparams=dict(nthreads=1))
        out[...] = elements(text_, shape)
        data = pathlib.Path(path).read_bytes()
        put(file, data, exercises, BLOSC2)
    values = elements(text_, shape)
    manifest(file, kind, shape, canonical(values) if canonical else values.tobytes(), metalayers(data))


def metalayers(data):
    """The metalayers in a frame's header as attributes."""
    (count,) = struct.unpack_from(">H", data, 92)
    at, out = 94, []
    for _ in range(count):
        length = data[at] & 31
        name = data[at + 1:at + 1 + length].decode()
        (place,) = struct.unpack_from(">i", data, at + 2 + length)
        (size,) = struct.unpack_from(">I", data, place + 1)
        out.append((f"meta:{name}", data[place + 5:place + 5 + size]))
        at += 6 + length
    return out


def texts(values):
    """Each text after its length."""
    return b"".join(struct.pack("<Q", len(text)) + text for text in values.ravel().tolist())


def of_library(file, make, kind, shape, data, exercises):
    """A file that `make` writes to the path it gets."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "frame"
        make(str(path))
        if path.is_dir():
            for part in sorted(path.iterdir()):
                put(f"{file}/{part.name}", part.read_bytes(), f"{exercises}: {part.name}", BLOSC2)
            index = (path / "chunks.b2frame").read_bytes()
        else:
            index = path.read_bytes()
            put(file, index, exercises, BLOSC2)
        opened = blosc2.open(str(path), mode="r")
        vlmeta = getattr(opened, "schunk", opened).vlmeta
        layers = metalayers(index) + [(f"vlmeta:{name}", bytes(vlmeta.get_vlmeta(name))) for name in vlmeta]
    manifest(file, kind, shape, data, layers)


def sparse(path):
    out = schunk(path, 1200, contiguous=False, type_size=4)
    for kind in ("smooth", "random", "zeros"):
        out.append_data(content(kind, 1, 1200))
    out.delete_chunk(0)
    out.append_data(content("ramp", 2, 400))
    out.vlmeta.set_vlmeta("note", b"in a folder")


def specials(path):
    out = schunk(path, 800, type_size=8)
    out.fill_special(250, blosc2.SpecialValue.VALUE, value=content("random", 1, 8))


def objects(path):
    out = blosc2.ObjectArray(urlpath=path, mode="w")
    for text_ in ("one", "two", "three"):
        out.append(text_ * 20)


def batches(path):
    out = blosc2.BatchArray(urlpath=path, mode="w", items_per_block=2)
    out.append(["a" * 90, "b" * 50, "c" * 70])
    out.append(["d" * 40])


def edited(path):
    out = schunk(path, 1000, type_size=2)
    for i in range(4):
        out.append_data(content("random", i, 1000))
    out.delete_chunk(1)
    out.insert_data(0, content("ramp", 4, 1000), copy=True)


def others():
    of_library("sparse.b2frame", sparse, {"opaque": 4}, [700], content("random", 1, 1200) + bytes(1200) + content("ramp", 2, 400), "a sparse frame")
    of_library("special.b2frame", specials, {"opaque": 8}, [250], content("random", 1, 8) * 250, "chunks of one value")
    packed = [b"\xd9" + bytes([len(text_)]) + text_ if len(text_) > 31 else bytes([0xA0 + len(text_)]) + text_ for text_ in (b"one" * 20, b"two" * 20, b"three" * 20)]
    of_library("objects.b2frame", objects, {"opaque": 1}, [sum(map(len, packed))], b"".join(packed), "chunks of variable length")
    item = lambda letter, count: b"\xd9" + bytes([count]) + letter * count
    batch = b"\x92" + item(b"a", 90) + item(b"b", 50) + b"\x91" + item(b"c", 70) + b"\x91" + item(b"d", 40)
    of_library("batches.b2b", batches, {"opaque": 1}, [len(batch)], batch, "blocks of variable length")
    chunks_ = [content("ramp", 4, 1000)] + [content("random", i, 1000) for i in (0, 2, 3)]
    of_library("edited.b2frame", edited, {"opaque": 2}, [2000], b"".join(chunks_), "chunks out of order, and a hole")
    frame("odd.b2frame", [content("ramp", 1, 1003)], "bytes that are no whole number of items", type_size=4)
    record = {"compound": [["a", "i4"], ["b", "f8"]]}
    array("record.b2nd", "[('a', '<i4'), ('b', '<f8')]", [10, 11], [4, 5], [3, 2], record, "records")
    array("big-endian.b2nd", ">i4", [10, 11], [4, 5], [3, 2], "i4", "big-endian elements", lambda values: values.astype("<i4").tobytes())
    array("text.b2nd", "|S7", [10, 11], [4, 5], [3, 2], "str", "texts of seven bytes", texts)
    array("truth.b2nd", "|b1", [17], [5], [3], "bool", "truth values")
    array("scalar.b2nd", "<f8", [], [], [], "f8", "no dimensions")
    array("rank-8.b2nd", "<u2", [2, 2, 2, 2, 2, 2, 2, 3], [1, 2, 1, 2, 1, 2, 2, 2], [1, 1, 1, 2, 1, 1, 2, 2], "u2", "eight dimensions")


def good():
    for codec in CODECS:
        frame(f"{codec}.b2frame", chunks(4), f"codec {codec}", type_size=4, codec=codec, blocksize=2048)
    for filters in FILTERS:
        frame(f"filter-{filters}.b2frame", chunks(8), f"filters {filters}", type_size=8, codec="zlib", filters=filters, blocksize=2048)
    frame("unsplit.b2frame", chunks(2), "blocks that are not split", type_size=2, split=2, blocksize=2048)
    frame("wide.b2frame", [content("ramp", i, 900) for i in range(3)], "a type of 300 bytes", type_size=300)
    frame("dictionary.b2frame", [text(60_000)], "a dictionary", type_size=1, codec="zstd", filters="none", blocksize=4000, use_dict=True)
    frame("vlmeta.b2frame", [content("smooth", 0, 1000)], "metalayers of variable length", type_size=1, vlmeta=[("a", b"one"), ("b", content("random", 3, 300))])
    array("grid.b2nd", "<i4", [10, 11], [4, 5], [3, 2], "i4", "padding at every edge")
    array("rank-5.b2nd", "<f8", [2, 3, 2, 3, 2], [2, 2, 1, 2, 2], [1, 2, 1, 2, 1], "f8", "five dimensions")


# --- wrong on purpose ---

def header(nbytes, blocksize, cbytes, flags=0x15, filters=(0,) * 6, flags3=0, flags2=0, codec=0, type_size=1):
    return struct.pack("<BBBBiii", 5, 1, flags, type_size, nbytes, blocksize, cbytes) + bytes(filters) + bytes([codec, 0]) + bytes(6) + bytes([flags2, flags3])


def whole_frame(chunk, offsets, nbytes=None, cbytes=None, chunksize=None, patch=None):
    """A frame of one chunk, field by field."""
    nbytes = 1000 if nbytes is None else nbytes
    trailer = b"\x94\x01\x93\xcd\x00\x06\xde\x00\x00\xdc\x00\x00\xce" + struct.pack(">I", 35) + b"\xd8\x00" + bytes(16)
    size = 97 + len(chunk) + len(offsets) + len(trailer)
    out = b"\x9e\xa8b2frame\0\xd2" + struct.pack(">i", 97) + b"\xcf" + struct.pack(">Q", size)
    out += b"\xa4\x12\x00\x51\x02\xd3" + struct.pack(">q", nbytes) + b"\xd3" + struct.pack(">q", len(chunk) if cbytes is None else cbytes)
    out += b"\xd2" + struct.pack(">i", 1) + b"\xd2" + struct.pack(">i", 0) + b"\xd2" + struct.pack(">i", 1000 if chunksize is None else chunksize)
    out += b"\xd1\0\1\xd1\0\1\xc2\xd8\x06" + bytes(6) + b"\0\0" + bytes(6) + b"\0\0" + b"\x93\xcd\0\x07\xde\0\0\xdc\0\0"
    out += chunk + offsets + trailer
    return patch(out) if patch else out


def raw(data, type_size=8):
    return header(len(data), max(len(data), 1), 32 + len(data), flags=0x17, type_size=type_size) + data


def hostile():
    chunk = raw(content("smooth", 0, 1000), 1)
    at = lambda position: raw(struct.pack("<q", position))
    good_frame = whole_frame(chunk, at(0))
    put("raw.b2frame", good_frame, "a chunk and offsets that are stored raw")
    manifest("raw.b2frame", {"opaque": 1}, [1000], content("smooth", 0, 1000))

    def wrong(name, data, exercises):
        put(f"hostile/{name}.b2frame", data, exercises)

    def patched(position, form, value):
        out = bytearray(good_frame)
        struct.pack_into(form, out, position, value)
        return bytes(out)

    wrong("frame-length", patched(16, ">Q", 1 << 62), "a frame length of 2^62")
    wrong("uncompressed-size", patched(30, ">q", 1 << 62), "an uncompressed size of 2^62")
    wrong("compressed-size", patched(39, ">q", 1 << 62), "a compressed size of 2^62")
    wrong("header-length", patched(11, ">i", 1 << 30), "a header longer than the file")
    wrong("magic", patched(2, "B", 0), "another magic number")
    wrong("version", patched(25, "B", 0x1f), "a version of the future")
    wrong("trailer-length", patched(len(good_frame) - 22, ">I", 1 << 31), "a trailer longer than the file")
    wrong("no-chunk-size", patched(58, ">i", -2), "a negative chunk size")
    wrong("offset-beyond", whole_frame(chunk, at(1 << 40)), "a chunk beyond the frame")
    wrong("offset-into-chunk", whole_frame(chunk, at(500)), "a chunk that begins inside another")
    bomb = header(1 << 30, 1 << 30, 32, flags3=0x10)
    wrong("bomb", whole_frame(bomb, at(0), nbytes=1 << 30, chunksize=1 << 30), "32 bytes that claim to be a gigabyte")
    many = header(1 << 30, 1 << 30, 40, flags3=0x30, type_size=8) + struct.pack("<Q", 0x81 << 56)
    wrong("many-chunks", whole_frame(b"", many, nbytes=1000 << 27), "offsets that claim 2^27 chunks in 40 bytes")
    starts = struct.pack("<ii", 40, 40)
    stream = struct.pack("<i", 0)
    wrong("starts-overlap", whole_frame(header(1000, 500, 40 + 3) + starts + stream[:3], at(0)), "blocks at one place, cut short")
    wrong("starts-outside", whole_frame(header(1000, 500, 44) + struct.pack("<ii", 0, 40) + stream, at(0)), "a block start in the header")
    wrong("too-many-blocks", whole_frame(header(1000, 1, 44) + starts + stream, at(0)), "more blocks than starts have room")
    wrong("token", whole_frame(header(1000, 1000, 41) + struct.pack("<ii", 36, -7) + b"\2"[:1], at(0)), "an unknown token")
    wrong("short-payload", whole_frame(header(1000, 1000, 42) + struct.pack("<ii", 36, 900) + b"ab", at(0)), "a payload that is cut short")
    blosclz = b"\x20a\xe0\xff\xff\xff\x10\x00\x00b"
    wrong("long-match", whole_frame(header(1000, 1000, 40 + len(blosclz)) + struct.pack("<ii", 36, len(blosclz)) + blosclz, at(0)), "a match that leaves the block")
    wrong("unknown-filter", whole_frame(header(1000, 1000, 40, filters=(0, 0, 0, 0, 0, 99)) + struct.pack("<ii", 36, 0), at(0)), "a filter that nobody knows")
    wrong("unknown-codec", whole_frame(header(1000, 1000, 42, flags=0xd5, codec=77) + struct.pack("<ii", 36, 2) + b"ab", at(0)), "a codec that nobody knows")
    wrong("no-block-size", whole_frame(header(1000, 0, 40) + struct.pack("<ii", 36, 0), at(0)), "a block size of 0")


if __name__ == "__main__":
    good()
    others()
    hostile()
