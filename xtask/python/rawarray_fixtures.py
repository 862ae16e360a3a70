"""Small RawArray files of each kind, with their content manifests, and files that are wrong on purpose.

    rawarray_fixtures.py OUTDIR
"""

import importlib.metadata
import json
import pathlib
import struct
import sys

from rawarray_format import (
    BIG, BITS, ENCODED, TYPES, bits, content, encode, header, leb128, little, manifest, small_content, tail,
)

OUT = pathlib.Path(sys.argv[1])
LZ4 = f"struct, lz4 {importlib.metadata.version('lz4')}"


def put(file, data, exercises, generator="struct"):
    path = OUT / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    print(json.dumps({"file": file, "exercises": exercises, "generator": generator}))


def good(file, name, dims, elements, data, exercises, generator="struct"):
    put(file, data, exercises, generator)
    put(f"expected/{file}.jsonl", manifest(name, dims, elements).encode(), f"manifest of {file}", "hashlib")


def journal(old, new_len, fresh, patches, committed, damage=False):
    """A file in the middle of an edit: the journal of the crate `sciformats-core` at its end."""
    def fnv(data):
        value = 0xCBF29CE484222325
        for byte in data:
            value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
        return value

    body = b"".join(struct.pack("<QQ", at, len(data)) + data for at, data in patches)
    at = max(len(old), new_len)
    sector = -(-(at + len(body)) // 512) * 512
    state = 2 if committed else 1
    record = b"\x89SFJRNL\n" + struct.pack("<6Q", state, len(old), new_len, at, len(body), fnv(body))
    record = record.ljust(504, b"\0")
    data = bytearray(old + fresh).ljust(at, b"\0") + body
    if damage:
        data[-1] ^= 1
    return bytes(data).ljust(sector, b"\0") + record + struct.pack("<Q", fnv(record))


def kinds():
    for name in TYPES:
        dims = [3, 2]
        elements = content(name, 6)
        good(f"{name}.ra", name, dims, elements, encode(name, dims, elements), f"elements of type {name}")
    for name in ("i2", "u16", "f4", "c16", "bf2"):
        elements = content(name, 6)
        data = encode(name, [3, 2], elements, big=True)
        good(f"{name}-big-endian.ra", name, [3, 2], elements, data, f"big-endian elements of type {name}")
    for file, dims in (("scalar", []), ("five-dimensions", [2, 1, 3, 2, 2]), ("no-elements", [4, 0, 3]),
                       ("no-elements-of-a-product-above-64-bits", [0, 1 << 40, 1 << 40])):
        n = 0 if 0 in dims else 1
        for dim in dims:
            n *= dim
        elements = content("f8", n)
        good(f"{file}.ra", "f8", dims, elements, encode("f8", dims, elements), f"dimensions {dims}")
    elements = content("u4", 6)
    data = encode("u4", [3, 2], elements, metadata=b"units: volts\n")
    good("metadata.ra", "u4", [3, 2], elements, data, "metadata after the data")
    data = encode("u4", [3, 2], elements, metadata=tail(512 - 88))
    good("metadata-to-a-whole-sector.ra", "u4", [3, 2], elements, data, "where a journal might end, metadata do")
    data = header(0, 77, 3, 6, [2]) + b"abcdef"
    good("unknown-element-code.ra", "o3", [2], [[b"abc"], [b"def"]], data, "an element code of the future")
    inner = b"".join(encode("u2", [4], content("u2", 4 * i + 4)[-4:]) for i in range(3))
    elements = [[inner[i : i + 64]] for i in range(0, 192, 64)]
    good("nested.ra", "o64", [3], elements, header(0, 0, 64, 192, [3]) + inner, "files as elements of a file")


def encodings():
    for big in (False, True):
        end = "-big-endian" if big else ""
        elements = content("f4", 600, 40)
        data = encode("f4", [20, 30], elements, big, "lz4", tail(9))
        good(f"lz4{end}.ra", "f4", [20, 30], elements, data, "payload as one LZ4 block, metadata behind it", LZ4)
        elements = content("bool", 130)
        data = encode("bool", [13, 10], elements, big, "bits", tail(9))
        good(f"bits{end}.ra", "bool", [13, 10], elements, data, "single bits in words of 64")
    for name in ("i1", "i4", "u2", "u8", "i16"):
        elements = small_content(name, 12)
        data = encode(name, [4, 3], elements, encoding="leb128")
        good(f"leb128-{name}.ra", name, [4, 3], elements, data, f"integers of type {name} in base 128")
    elements = content("bool", 200)
    words = bits(elements, False)
    data = header(ENCODED | BITS, 5, 8, len(words), [20, 10], len(words) // 8) + words
    good("julia-bits.ra", "bool", [20, 10], elements, data, "a BitArray: ndims is the number of words")
    elements = content("f8", 6)
    data = header(ENCODED, 3, 8, 48, [3, 2]) + little(elements)
    good("julia-floats.ra", "f8", [3, 2], elements, data, "raw floats with the flag for encoded integers")


def interrupted():
    old, new = content("u2", 4), content("u2", 6)
    before, after = encode("u2", [2, 2], old, metadata=tail(3)), encode("u2", [2, 3], new, metadata=tail(3))
    patches = [(32, after[32:40]), (56, after[56:64]), (72, after[72 : len(before)])]
    fresh = after[len(before) :]
    data = journal(before, len(after), fresh, patches, False)
    good("interrupted-append-pending.ra", "u2", [2, 2], old, data, "an append that was cut before it counted")
    data = journal(before, len(after), fresh, patches, True)
    good("interrupted-append-committed.ra", "u2", [2, 3], new, data, "an append that was cut after it counted")
    put("hostile/journal-damaged.ra", journal(before, len(after), fresh, patches, True, True),
        "an interrupted append whose journal does not have its checksum")


def hostile():
    def bad(file, data, exercises, generator="struct"):
        put(f"hostile/{file}.ra", data, exercises, generator)

    plain = encode("u4", [3, 2], content("u4", 6))
    bad("empty", b"", "no bytes at all")
    bad("wrong-magic", b"rawarraz" + plain[8:], "another magic number")
    bad("header-cut-in-the-flags", plain[:12], "the header ends within a word")
    bad("header-cut-in-the-dims", plain[:59], "the header ends within the dimensions")
    bad("ndims-2-to-60", plain[:40] + struct.pack("<Q", 1 << 60) + plain[48:], "2^60 dimensions")
    bad("dims-overflow", header(0, 2, 1, 0, [1 << 32, 1 << 32]), "2^64 elements")
    bad("bytes-overflow", header(0, 2, 8, 0, [1 << 31, 1 << 30]), "2^64 bytes")
    bad("size-below-dims", header(0, 2, 4, 20, [3, 2]) + bytes(20), "size is less than the dimensions say")
    bad("size-above-dims", header(0, 2, 4, 28, [3, 2]) + bytes(28), "size is more than the dimensions say")
    bad("data-cut", plain[:-1], "the data end one byte early")
    bad("data-of-an-exabyte", header(0, 2, 4, 1 << 60, [1 << 58]), "2^60 bytes in a file of 56")
    bad("complex-of-odd-size", header(0, 4, 7, 7, [1]) + bytes(7), "a complex number of seven bytes")
    bad("integer-of-no-size", header(0, 1, 0, 0, [1 << 40]), "2^40 integers of no bytes")
    bad("undefined-flag-3", header(8, 2, 1, 1, [1]) + b"x", "an undefined flag")
    bad("undefined-flag-63", header(1 << 63, 2, 1, 1, [1]) + b"x", "an undefined flag")
    bad("unfinished-stream", header(0, 2, 4, (1 << 64) - 1, [3, 0]) + bytes(30), "a stream without its end")
    bad("bool-of-2", header(0, 5, 1, 3, [3]) + bytes([0, 1, 2]), "a truth value that is neither")

    packed = encode("u1", [3000], content("u1", 3000, 3000), encoding="lz4")
    block = packed[56:]
    def lz4(size, dims, payload):
        return header(ENCODED, 2, 1, size, dims) + payload
    bad("lz4-bomb", lz4(len(block), [1 << 40], block), "a block of a few bytes for 2^40", LZ4)
    bad("lz4-too-much", lz4(len(block), [2900], block), "a block that holds more than the array", LZ4)
    bad("lz4-too-little", lz4(len(block), [3100], block), "a block that holds less than the array", LZ4)
    bad("lz4-cut", lz4(len(block), [3000], block[:-1]), "a block that the file cuts", LZ4)
    bad("lz4-nonsense", lz4(6, [100], bytes([0xF0, 0xFF, 0xFF, 0, 1, 2])), "bytes that are no block")
    bad("lz4-offset-before-the-start", lz4(4, [100], bytes([0x10, 7, 9, 0])), "a match before the first byte")

    small = leb128(small_content("u2", 4), False)
    def leb(payload, width=2, count=4):
        return header(ENCODED, 2, width, width * count, [count]) + payload
    bad("leb128-cut", leb(small[:-1]), "the last integer ends early")
    bad("leb128-short-payload", leb(small[:3]), "fewer bytes than integers")
    bad("leb128-left-over", leb(small + b"\0"), "bytes after the last integer")
    bad("leb128-too-wide", leb(b"\0\0\0\xff\xff\xff\x01"), "an integer that two bytes do not hold")
    bad("leb128-endless", leb(b"\0\0\0" + b"\x80" * 100), "an integer that goes on and on")
    bad("leb128-of-17-bytes", leb(b"\0" * 4, 17), "integers of 17 bytes")

    bad("bits-of-4-bytes", header(BITS, 5, 4, 8, [3]) + bytes(8), "words of bits of four bytes")
    bad("bits-of-integers", header(BITS, 1, 8, 8, [3]) + bytes(8), "the flag for bits, but integers")
    bad("bits-of-another-size", header(BITS, 5, 8, 8, [65]) + bytes(8), "one word for 65 bits")
    bad("bits-cut", header(BITS | BIG, 5, 8, 16, [65]) + bytes(15), "the words end early")

    inside = header(0, 2, 1, 9, [9]) + bytes(9)
    bad("nested-cut", header(0, 0, 60, 60, [1]) + inside[:60], "a file in a file that ends early")


kinds()
encodings()
interrupted()
hostile()
