"""Contents and cases that both sides of the Blosc2 conformance run know from the same formula."""

import numpy

CODECS = ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]
FILTERS = {
    "none": [],
    "shuffle": [1],
    "bitshuffle": [2],
    "delta": [3],
    "delta-shuffle": [3, 1],
    "shuffle-bytedelta": [1, 35],
}
TYPE_SIZES = [1, 2, 3, 4, 7, 8, 16, 255]
KINDS = ["smooth", "random", "constant", "zeros", "sparse", "ramp", "nan"]
SPLITS = [1, 2, 3, 4]


def content(kind, seed, length):
    """`length` bytes of a kind."""
    i = numpy.arange(length, dtype=numpy.uint64)
    if kind == "smooth":
        out = i // 50 + seed
    elif kind == "random":
        v = (i * 2654435761 + seed * 40503) & 0xFFFFFFFF
        v ^= v >> 15
        v = (v * 2246822519) & 0xFFFFFFFF
        out = v >> 24
    elif kind == "constant":
        out = i * 0 + 7 + seed
    elif kind == "zeros":
        out = i * 0
    elif kind == "sparse":
        out = numpy.where(i % 16 < 3, i // 16 + seed, 0)
    elif kind == "ramp":
        out = (i // 8 + seed) >> (8 * (i % 8))
    elif kind == "nan":
        out = numpy.where(i % 8 == 7, 0x7F, numpy.where(i % 8 == 6, 0xF8, 0))
    else:
        raise ValueError(kind)
    return (out & 0xFF).astype(numpy.uint8).tobytes()


def chunk_size(type_size):
    """Bytes of a chunk of the matrix: several blocks of 2048 or less."""
    return 5000 // type_size * type_size


def chunks(type_size):
    """The chunks of a file of the matrix: one of each kind, and a shorter one."""
    size = chunk_size(type_size)
    whole = [content(kind, seed, size) for seed, kind in enumerate(KINDS)]
    return [*whole, content("smooth", 9, 40 * type_size)]


def cases():
    """(file, type size, codec, filters, split) of the matrix."""
    for codec in CODECS:
        for filters in FILTERS:
            for type_size in TYPE_SIZES:
                if filters == "shuffle-bytedelta" and type_size > 127:
                    continue  # python-blosc2 cannot open these: it takes the type size for a signed byte
                for split in SPLITS:
                    yield f"chunks-{codec}-{filters}-{type_size}-{split}.b2frame", type_size, codec, filters, split


ARRAYS = [
    # shape, chunks, blocks
    ([], [], []),
    ([17], [5], [3]),
    ([10, 11], [4, 5], [3, 2]),
    ([40, 30], [40, 30], [40, 30]),
    ([5, 6, 7], [5, 4, 3], [2, 4, 2]),
    ([3, 4, 3, 4], [2, 2, 2, 3], [1, 2, 2, 2]),
    ([2, 3, 2, 3, 2], [2, 2, 1, 2, 2], [1, 2, 1, 2, 1]),
    ([2, 2, 2, 2, 2, 3], [1, 2, 1, 2, 1, 2], [1, 1, 1, 2, 1, 2]),
    ([2, 2, 2, 2, 2, 2, 3], [2, 2, 1, 2, 1, 2, 2], [1, 2, 1, 1, 1, 2, 2]),
    ([2, 2, 2, 2, 2, 2, 2, 3], [1, 2, 1, 2, 1, 2, 2, 2], [1, 1, 1, 2, 1, 1, 2, 2]),
    ([4, 0, 3], [4, 1, 3], [2, 1, 3]),
]
DTYPES = [
    "|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16", ">i4", ">f8",
    "|S7", "<U3", "<M8[ns]", "|V5",
    "[('a', '<i4'), ('b', '<f8')]", "[('x', '|u1'), ('y', '<i2', (3,)), ('z', [('p', '<f4'), ('q', '|S2')])]",
]


def dtype(text):
    return numpy.dtype(eval(text)) if text.startswith("[") else numpy.dtype(text)


def elements(text, shape):
    """An array whose bytes are those of a formula; booleans are 0 or 1."""
    kind = dtype(text)
    count = int(numpy.prod(shape, dtype=numpy.int64))
    data = content("ramp", 3, count * kind.itemsize)
    if text == "|b1":
        data = (numpy.frombuffer(data, numpy.uint8) & 1).tobytes()
    if text == "<U3":
        data = (numpy.frombuffer(data, numpy.uint32) & 0xFF).astype("<u4").tobytes()
    return numpy.frombuffer(data, kind).reshape(shape)


def vlmeta(count):
    return {f"name {i}": content("sparse", i, i * 97 + 1) for i in range(count)}


LENGTHS = [0, 1, 13, 1001, 4099]


def lengths():
    """(file, codec, filters, type size, data) of single chunks whose length may be no whole number of items."""
    for codec in CODECS:
        for filters in FILTERS:
            for type_size in (1, 4, 8):
                for length in LENGTHS:
                    if filters == "shuffle-bytedelta" or ("delta" in filters and length % type_size):
                        # A single chunk does not say the type size of its frame, by which the library undoes byte delta;
                        # and it does not write the bytes behind the last item.
                        continue
                    name = f"length-{codec}-{filters}-{type_size}-{length}.chunk"
                    yield name, codec, filters, type_size, content("smooth", length % 7, length)


def words(length):
    """Words that recur, for levels and dictionaries."""
    out = b"".join(b"record %d of many, " % (i * i % 97) for i in range(length // 14))
    return out[:length]


VALUES = {
    "map": {"a": [1, 2.5, None, True, "text", b"bytes", -3], "b": {}},
    "large": 2**64 - 1,
    "small": -(2**63),
    "long": "x" * 300,
    "list": list(range(40)),
}


def grown():
    """What arrays of the name grown hold: created, cut, made wider, written to, and longer by two rows.

    They are cut between chunks: the library gives elements that were cut off inside one back when the array grows."""
    out = numpy.zeros((13, 10), "<i4")
    out[:10] = elements("<i4", [10, 11])[:, :10]
    out[11:13, 2:10] = 7
    wide = numpy.zeros((15, 14), "<i4")
    wide[:13, :10] = out
    wide[13:15] = elements("<i4", [2, 14])
    return wide


def more_edits(array):
    """The same array after the other side's edits."""
    out = numpy.zeros((6, 20), "<i4")
    out[:, :14] = array[:6]
    out[1:3, 12:20] = -5
    return out
