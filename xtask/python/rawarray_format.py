"""RawArray files by the letter of the format, with struct and lz4: what the peer and the fixtures are made with.

Elements are lists of components (two for a complex number, one otherwise), each as its little-endian bytes.
"""

import hashlib
import json
import struct

import lz4.block

BIG, ENCODED, BITS = 1, 2, 4

# name: (eltype, components, bytes of a component, kind of the component)
TYPES = {
    "i1": (1, 1, 1, "int"),
    "i2": (1, 1, 2, "int"),
    "i4": (1, 1, 4, "int"),
    "i8": (1, 1, 8, "int"),
    "i16": (1, 1, 16, "int"),
    "u1": (2, 1, 1, "int"),
    "u2": (2, 1, 2, "int"),
    "u4": (2, 1, 4, "int"),
    "u8": (2, 1, 8, "int"),
    "u16": (2, 1, 16, "int"),
    "f2": (3, 1, 2, "float"),
    "f4": (3, 1, 4, "float"),
    "f8": (3, 1, 8, "float"),
    "c4": (4, 2, 2, "float"),
    "c8": (4, 2, 4, "float"),
    "c16": (4, 2, 8, "float"),
    "bf2": (5, 1, 2, "brain"),
    "bool": (5, 1, 1, "bool"),
    "o3": (0, 1, 3, "opaque"),
    "o80": (0, 1, 80, "opaque"),
}


def size_of(name):
    _, components, width, _ = TYPES[name]
    return components * width


def manifest_type(name):
    return {"opaque": int(name[1:])} if name.startswith("o") else name


# --- contents ---------------------------------------------------------------------------------------------------------

MASK = (1 << 64) - 1


def word(i, k):
    """A 64-bit number for component `k` of element `i`."""
    x = (i * 0x9E3779B97F4A7C15 + (k + 1) * 0xC2B2AE3D27D4EB4F) & MASK
    x ^= x >> 29
    return (x * 0xBF58476D1CE4E5B9) & MASK


def component(kind, width, i, k):
    x = word(i, k)
    if kind == "int":
        return ((x << 64) | (x ^ MASK)).to_bytes(16, "little")[16 - width :]
    if kind == "float":
        value = (x % 2001 - 1000) / 8
        return struct.pack({2: "<e", 4: "<f", 8: "<d"}[width], value)
    if kind == "brain":
        return struct.pack("<f", float(x % 255) - 127)[2:]
    if kind == "bool":
        return bytes([x >> 40 & 1])
    return bytes((x >> (8 * (j % 8)) & 0xFF) ^ j for j in range(width))


def content(name, count, repeat=1):
    """The elements of a case: each `repeat` times, which LZ4 can shorten."""
    _, components, width, kind = TYPES[name]
    return [[component(kind, width, i // repeat, k) for k in range(components)] for i in range(count)]


def small_content(name, count):
    """Integers that LEB128 makes shorter, and at the end the smallest and the largest."""
    width = size_of(name)
    signed = name.startswith("i")
    least, most = (-(1 << (8 * width - 1)), (1 << (8 * width - 1)) - 1) if signed else (0, (1 << (8 * width)) - 1)
    values = [(i * 5) % 100 - (50 if signed else 0) for i in range(count)]
    values[-2:] = [least, most]
    return [[value.to_bytes(width, "little", signed=signed)] for value in values]


def tail(size):
    return bytes((7 * i + 3) & 0xFF for i in range(size))


def little(elements):
    return b"".join(b"".join(element) for element in elements)


def in_order(elements, kind, big):
    if not big or kind in ("opaque", "bool"):
        return little(elements)
    return b"".join(b"".join(part[::-1] for part in element) for element in elements)


# --- codecs -----------------------------------------------------------------------------------------------------------


def leb128(elements, signed):
    out = bytearray()
    for (part,) in elements:
        value = int.from_bytes(part, "little", signed=signed)
        if signed:
            value = 2 * value if value >= 0 else -2 * value - 1
        while value > 127:
            out.append(value & 127 | 128)
            value >>= 7
        out.append(value)
    return bytes(out)


def unleb128(payload, width, signed):
    elements, value, shift = [], 0, 0
    for byte in payload:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            if signed:
                value = value // 2 if value % 2 == 0 else -(value + 1) // 2
            elements.append([value.to_bytes(width, "little", signed=signed)])
            value, shift = 0, 0
    assert shift == 0, "the payload ends within an integer"
    return elements


def bits(elements, big):
    flags = [part[0] for (part,) in elements]
    flags += [0] * (-len(flags) % 64)
    words = [sum(flag << j for j, flag in enumerate(flags[i : i + 64])) for i in range(0, len(flags), 64)]
    return b"".join(struct.pack(">Q" if big else "<Q", word) for word in words)


def unbits(payload, count, big):
    words = struct.unpack((">" if big else "<") + f"{len(payload) // 8}Q", payload)
    return [[bytes([words[i // 64] >> (i % 64) & 1])] for i in range(count)]


# --- files ------------------------------------------------------------------------------------------------------------


def header(flags, eltype, elbyte, size, dims, ndims=None):
    ndims = len(dims) if ndims is None else ndims
    return b"rawarray" + struct.pack(f"<5Q{len(dims)}Q", flags, eltype, elbyte, size, ndims, *dims)


def encode(name, dims, elements, big=False, encoding="raw", metadata=b""):
    """The bytes of a file."""
    eltype, _, _, kind = TYPES[name]
    elbyte, flags = size_of(name), BIG if big else 0
    payload = in_order(elements, kind, big)
    size = len(payload)
    if encoding == "lz4":
        payload = lz4.block.compress(payload, store_size=False)
        assert len(payload) < size, "nothing for LZ4 to do"
        size = len(payload)
        flags |= ENCODED
    elif encoding == "leb128":
        payload = leb128(elements, eltype == 1)
        flags = ENCODED
    elif encoding == "bits":
        payload = bits(elements, big)
        size, elbyte, flags = len(payload), 8, flags | BITS
    return header(flags, eltype, elbyte, size, dims) + payload + metadata


def decode(data):
    """A file's type, dimensions, byte order, encoding, elements and metadata."""
    assert data[:8] == b"rawarray", "not a RawArray file"
    flags, eltype, elbyte, size, ndims = struct.unpack_from("<5Q", data, 8)
    dims = list(struct.unpack_from(f"<{ndims}Q", data, 48))
    at = 48 + 8 * ndims
    assert flags < 8, f"undefined flags {flags:#x}"
    big = bool(flags & BIG)
    count = 1
    for dim in dims:
        count *= dim
    if flags & BITS:
        assert (eltype, elbyte, size) == (5, 8, 8 * -(-count // 64))
        return "bool", dims, big, "bits", unbits(data[at : at + size], count, big), data[at + size :]
    found = [name for name, (code, *_) in TYPES.items() if code == eltype and size_of(name) == elbyte]
    assert len(found) == 1, f"element type {eltype} of {elbyte} bytes"
    name = found[0]
    _, components, width, kind = TYPES[name]
    if flags & ENCODED and size == count * elbyte and eltype in (1, 2) and count > 0:
        return name, dims, big, "leb128", unleb128(data[at:], width, eltype == 1), b""
    encoding, payload = "raw", data[at : at + size]
    if flags & ENCODED and size != count * elbyte:
        encoding, payload = "lz4", lz4.block.decompress(payload, uncompressed_size=count * elbyte)
    assert len(payload) == count * elbyte, f"{len(payload)} bytes of data, not {count * elbyte}"
    turn = -1 if big and kind not in ("opaque", "bool") else 1
    elements = []
    for i in range(count):
        start = i * elbyte
        parts = range(start, start + elbyte, width) if width else []
        elements.append([payload[p : p + width][::turn] for p in parts])
    return name, dims, big, encoding, elements, data[at + size :]


def manifest(name, dims, elements):
    """The content manifest of an array: the type, the dimensions in C order, the hash of the little-endian elements."""
    array = {
        "path": "/",
        "kind": "array",
        "type": manifest_type(name),
        "shape": dims[::-1],
        "sha256": hashlib.sha256(little(elements)).hexdigest(),
    }
    lines = [{"manifest": 1, "format": "rawarray"}, array]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
