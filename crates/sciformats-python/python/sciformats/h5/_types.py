"""NumPy types for the types of HDF5, with the same metadata as in h5py."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sciformats._dtypes import check_shape
from sciformats.h5 import _names

Described = tuple[Any, ...]


class Reference:
    """A reference to an object of the file. It is false if it is null."""

    #: The file and the address of the object there, if the object has no path, or the file is written, so that its path can change.
    home: tuple[Any, int] | None = None

    #: How many objects had been removed from that file when the reference was made, if it was not read from it.
    epoch: int | None = None

    def __init__(self, path: str = "") -> None:
        #: The path of the object; ``?`` and its address if it has none.
        self.path = path

    def __bool__(self) -> bool:
        return bool(self.path)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.path == self.path

    def __hash__(self) -> int:
        return hash((type(self), self.path))

    def __repr__(self) -> str:
        return f"<HDF5 object reference{'' if self else ' (null)'}>"


class RegionReference(Reference):
    """A reference to elements of a dataset of the file. It is false if it is null."""

    def __init__(self, path: str = "", selection: str = "none") -> None:
        super().__init__(path)
        #: The elements: ``"all"``, ``"none"``, or points and corners of blocks such as ``(0,0)-(1,2)``.
        self.selection = selection

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self.selection == getattr(other, "selection", None)

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.selection))

    def __repr__(self) -> str:
        return f"<HDF5 region reference{'' if self else ' (null)'}>"


class Empty:
    """A null dataspace, which has a type, but neither a shape nor elements."""

    shape = None
    size = None

    def __init__(self, dtype: DTypeLike) -> None:
        self._dtype = np.dtype(dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type that the elements would have."""
        return self._dtype

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Empty) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"Empty(dtype={self.dtype!r})"


class string_info(NamedTuple):
    """The result of :func:`check_string_dtype`: the encoding, and the length in bytes (``None`` if it varies)."""

    encoding: str
    length: int | None


def string_dtype(encoding: str = "utf-8", length: int | None = None) -> np.dtype[Any]:
    """Return a type of strings of variable length, or of this many bytes."""
    names = {"utf8": "utf-8", "utf-8": "utf-8", "ascii": "ascii"}
    if encoding not in names:
        raise ValueError(f"Invalid encoding ({encoding!r}); 'utf-8' or 'ascii' allowed")
    encoding = names[encoding]
    if isinstance(length, int):
        return np.dtype(f"S{length}", metadata={"h5py_encoding": encoding})
    if length is None:
        return np.dtype("O", metadata={"vlen": str if encoding == "utf-8" else bytes})
    raise TypeError("length must be integer or None (got %r)" % length)


def vlen_dtype(basetype: DTypeLike) -> np.dtype[Any]:
    """Return a type of sequences of variable length."""
    return np.dtype("O", metadata={"vlen": basetype})


def enum_dtype(values_dict: dict[str, int], basetype: DTypeLike = np.uint8) -> np.dtype[Any]:
    """Return a type of integers with names."""
    base = np.dtype(basetype)
    if base.kind not in "iu":
        raise TypeError("Only integers can be used as enums")
    return np.dtype(base, metadata={"enum": dict(values_dict)})


def opaque_dtype(np_dtype: DTypeLike) -> np.dtype[Any]:
    """Return a NumPy type that HDF5 does not have, which is stored as bytes with a tag."""
    dtype = np.dtype(np_dtype)
    if dtype.hasobject or dtype.names or dtype.subdtype:
        raise TypeError("Cannot store numpy dtype %s as opaque" % dtype)
    return np.dtype(dtype, metadata={"h5py_opaque": True})


ref_dtype = np.dtype("O", metadata={"ref": Reference})
regionref_dtype = np.dtype("O", metadata={"ref": RegionReference})


def _marked(dtype: Any, key: str) -> Any:
    return (getattr(dtype, "metadata", None) or {}).get(key)


def check_string_dtype(dt: Any) -> string_info | None:
    """Return the encoding and the length of a type of strings; ``None`` for others."""
    vlen = _marked(dt, "vlen")
    if vlen is str:
        return string_info("utf-8", None)
    if vlen is bytes:
        return string_info("ascii", None)
    if getattr(dt, "kind", None) == "S":
        return string_info(_marked(dt, "h5py_encoding") or "ascii", dt.itemsize)
    return None


def check_vlen_dtype(dt: Any) -> Any:
    """Return the type of the elements of sequences; ``None`` for other types."""
    return _marked(dt, "vlen")


def check_enum_dtype(dt: Any) -> dict[str, int] | None:
    """Return the names and values of a type of integers with names; ``None`` for others."""
    found: dict[str, int] | None = _marked(dt, "enum")
    return found


def check_opaque_dtype(dt: Any) -> bool:
    """Return whether the type is stored as bytes with a tag."""
    return bool(_marked(dt, "h5py_opaque"))


def check_ref_dtype(dt: Any) -> type | None:
    """Return ``Reference`` or ``RegionReference``; ``None`` for other types."""
    found: type | None = _marked(dt, "ref")
    return found


def complex_compat_dtype(np_dtype: DTypeLike) -> np.dtype[Any]:
    """Return the compound of two floats as which complex numbers of a type are stored."""
    dtype = np.dtype(np_dtype)
    if dtype.kind != "c":
        raise TypeError(f"{dtype} is not complex")
    part = np.dtype(f"{dtype.str[0]}f{dtype.itemsize // 2}")
    return np.dtype([("r", part), ("i", part)])


def check_complex_dtype(dt: Any) -> np.dtype[Any] | None:
    """Return the complex type that is stored as this compound; ``None`` for other types."""
    dtype: np.dtype[Any] = np.dtype(dt)
    if dtype.kind == "c":
        return dtype
    if dtype.names != ("r", "i") or dtype["r"] != dtype["i"] or dtype["r"].kind != "f":
        return None
    return np.dtype(f"{dtype['r'].str[0]}c{2 * dtype['r'].itemsize}")


def special_dtype(**kinds: Any) -> np.dtype[Any]:
    """Create a type in the older way, by one of ``vlen=``, ``enum=`` and ``ref=``."""
    if len(kinds) != 1:
        raise TypeError("Exactly one keyword may be provided")
    ((name, value),) = kinds.items()
    if name == "vlen":
        return np.dtype("O", metadata={"vlen": value})
    if name == "enum":
        base, members = value
        return enum_dtype(members, base)
    if name == "ref":
        if value not in (Reference, RegionReference):
            raise ValueError("Ref class must be Reference or RegionReference")
        return ref_dtype if value is Reference else regionref_dtype
    raise TypeError(f'Unknown special type "{name}"')


def check_dtype(**kinds: Any) -> Any:
    """Examine a type in the older way, by one of ``vlen=``, ``enum=`` and ``ref=``."""
    if len(kinds) != 1:
        raise TypeError("Exactly one keyword may be provided")
    ((name, dt),) = kinds.items()
    if name not in ("vlen", "enum", "ref"):
        raise TypeError(f'Unknown special type "{name}"')
    return _marked(dt, name)


def dtype_of(described: Described) -> np.dtype[Any]:
    """Return NumPy's type for a type of HDF5, as the Rust part describes it."""
    try:
        return _known(described)
    except TypeError:  # Descriptions with lists cannot be looked up.
        return _dtype_of(described)


@functools.lru_cache(maxsize=256)
def _known(described: Described) -> np.dtype[Any]:
    return _dtype_of(described)


def _dtype_of(described: Described) -> np.dtype[Any]:
    word, *rest = described
    if word == "int":
        size, signed, order = rest[:3]
        return _integer("i" if signed else "u", size, order)
    if word == "float":
        size, order = rest[:2]
        if len(rest) > 2:
            return _float(order, rest[2])
        return np.dtype(f"{order}f{size}") if size in (2, 4, 8) else np.dtype("<f8")
    if word == "bits":
        size, order = rest[:2]
        return _integer("u", size, order)
    if word in ("string", "terminated", "spaced"):
        return string_dtype("utf-8" if rest[1] else "ascii", rest[0])
    if word == "text":
        return string_dtype("utf-8" if rest[0] else "ascii")
    if word == "reference":
        return regionref_dtype if rest[0] == "region" else ref_dtype
    if word == "vlen":
        return vlen_dtype(dtype_of(rest[0]))
    if word == "complex":
        base = dtype_of(rest[0])
        return np.dtype(f"{base.byteorder.replace('=', '<')}c{2 * base.itemsize}")
    if word == "array":
        return np.dtype((dtype_of(rest[0]), tuple(rest[1])))
    if word == "enum":
        # As in h5py, a name that is not UTF-8 is bytes.
        base, members = dtype_of(rest[0]), {_names.outer(name): value for name, value in rest[1]}
        if base.itemsize == 1 and members == {"FALSE": 0, "TRUE": 1}:
            return np.dtype("?")
        return np.dtype(base, metadata={"enum": members})
    if word == "opaque":
        return _opaque(*rest)
    if word == "compound":
        return _compound(*rest)
    return np.dtype((np.void, rest[0]))


def _integer(kind: str, size: int, order: str) -> np.dtype[Any]:
    """Return the smallest type of integers with at least this many bytes."""
    wide = next((n for n in (1, 2, 4, 8) if n >= size), None)
    return np.dtype((np.void, size)) if wide is None else np.dtype(f"{order}{kind}{wide}")


def _float(order: str, layout: tuple[int, ...]) -> np.dtype[Any]:
    """Return the smallest type that holds all numbers of an unusual format."""
    _, _, _, _, exponent, _, mantissa, bias, _ = layout
    for size in (2, 4):
        info = np.finfo(f"f{size}")
        if mantissa <= info.nmant and (1 << exponent) - bias - 1 <= info.maxexp and 1 - bias >= info.minexp:
            return np.dtype(f"{'>' if order == '>' else '<'}f{size}")
    return np.dtype(f"{'>' if order == '>' else '<'}f8")


def is_plain(described: Described) -> bool:
    """Return whether elements are bytes that NumPy understands, apart from the padding of texts."""
    word, *rest = described
    if word in ("text", "vlen", "reference"):
        return False
    if word in ("array", "enum", "complex"):
        return is_plain(rest[0])
    if word == "compound":
        return all(is_plain(member) for _, _, member in rest[1])
    # What follows these words says which bits of unusual numbers count.
    return len(rest) <= {"int": 3, "float": 2, "bits": 2}.get(word, len(rest))


def _opaque(size: int, tag: str) -> np.dtype[Any]:
    if tag.startswith("NUMPY:"):
        return np.dtype(np.dtype(tag[6:]), metadata={"h5py_opaque": True})
    return np.dtype((np.void, size))


def _compound(size: int, members: list[tuple[str, int, Described]]) -> np.dtype[Any]:
    names = [name for name, _, _ in members]
    types = [dtype_of(member) for _, _, member in members]
    plain = all(is_plain(member) for _, _, member in members)
    floats = plain and all(dtype.kind == "f" for dtype in types)
    if names == ["r", "i"] and floats and types[0] == types[1] and types[0].itemsize in (4, 8):
        if size == 2 * types[0].itemsize and members[0][1] == 0:
            return np.dtype(f"{types[0].byteorder.replace('=', '<')}c{size}")
    if not plain:
        # Objects are pointers in memory, and unusual numbers are larger there than in the file.
        return np.dtype(list(zip(names, types)))
    offsets = [offset for _, offset, _ in members]
    return np.dtype({"names": names, "formats": types, "offsets": offsets, "itemsize": size})


def shaped(data: Any, described: Described, shape: tuple[int, ...], file: Any) -> NDArray[Any]:
    """Return the array of elements from their bytes, which are not copied, or from a list of objects. ``file`` is the address of the
    file that contains them.
    """
    dtype = dtype_of(described)
    check_shape(shape, dtype)
    if isinstance(data, list):
        if dtype.subdtype is not None:
            base, inner = dtype.subdtype
            flat = np.array([_item(item, described, file) for item in data], dtype=base)
            return flat.reshape(shape + inner)
        array = np.empty(len(data), dtype=dtype)
        for i, item in enumerate(data):
            array[i] = _item(item, described, file)
        return array.reshape(shape)
    if dtype.subdtype is not None:
        base, inner = dtype.subdtype
        found: NDArray[Any] = data.view(base).reshape(shape + inner)
        return found
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype)
    found = data.view(dtype).reshape(shape)
    return found


def _item(item: Any, described: Described, file: Any) -> Any:
    """Return an element as in h5py: sequences as arrays, references as objects."""
    word, *rest = described
    if word == "vlen":
        inner = rest[0]
        items = [_item(each, inner, file) for each in item]
        dtype = dtype_of(inner)
        if not dtype.hasobject:
            return np.array(items, dtype=dtype)
        array = np.empty(len(items), dtype=dtype)
        array[:] = items
        return array
    if word == "reference":
        path = item.decode("utf-8", "surrogateescape")
        selection = ""
        if rest[0] == "region":
            # The path is followed by what is selected, in which there are no spaces.
            path, _, selection = path.rpartition(" ")
        found = RegionReference(path, selection or "none") if rest[0] == "region" else Reference(path)
        if path[:1] == "?" and path[1:].isdecimal():
            found.home = (file, int(path[1:]))
        return found
    if word == "compound" and isinstance(item, tuple):
        return tuple(_item(each, member, file) for each, (_, _, member) in zip(item, rest[1]))
    if word == "array":
        parts = [_item(each, rest[0], file) for each in item]
        if len(rest[1]) == 1:
            return parts
        # The parts of several dimensions are one after another.
        array = np.empty(len(parts), dtype=dtype_of(rest[0]))
        for i, part in enumerate(parts):
            array[i] = part
        return array.reshape(rest[1])
    if word == "bits" and isinstance(item, bytes):
        return int.from_bytes(item, "little")
    if word == "opaque" and isinstance(item, bytes):
        # Of bytes, NumPy would make a date or a time span by reading them as text.
        return np.frombuffer(item, dtype_of(described))[0]
    return item
