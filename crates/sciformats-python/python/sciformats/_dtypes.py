"""NumPy's types for the element types of files, and arrays of canonical bytes."""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Iterator
import ast
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sciformats.errors import LimitExceeded

Element = tuple[Any, ...]


def described(text: str) -> Any:
    """Return NumPy's description of a type, which npy files store as a literal of Python, and Blosc2 also as a bare text."""
    try:
        found = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
    if isinstance(found, dict):
        return list(zip(found["names"], found["formats"]))
    return found


def with_times(element: Element, descr: Any) -> Element:
    """Return an element type in which the integers are dates and time spans that NumPy's own description says are stored.

    ``descr`` is a text such as ``<M8[s]``, or a list of fields.
    """
    word, *rest = element
    if isinstance(descr, list):
        if word != "compound":
            return element
        # Fields without a name are padding, which is not among the fields.
        named = [field for field in descr if (field[0][1] if isinstance(field[0], tuple) else field[0])]
        fields = [(name, _with_times(of, field)) for (name, of), field in zip(rest[0], named)]
        return ("compound", fields)
    if isinstance(descr, tuple):
        return ("array", with_times(rest[0], descr[0]), *rest[1:]) if word == "array" else element
    if word == "int" and np.dtype(descr).kind in "mM":
        return ("time64", np.dtype(descr).newbyteorder("<").str)
    return element


def _with_times(element: Element, field: tuple[Any, ...]) -> Element:
    _, descr, *shape = field
    return with_times(element, (descr, shape[0]) if shape else descr)


def dtype_of(element: Element) -> np.dtype[Any]:
    """Return NumPy's type for an element type, as the Rust part describes it.

    Elements of different sizes (texts, sequences and references) are objects, also as fields of a record. The metadata of the type
    say which, for example ``{"vlen": str}`` for texts, as in h5py and xarray.
    """
    word, *rest = element
    if word == "text":
        return np.dtype("O", metadata={"vlen": str})
    if word in ("reference", "region"):
        return np.dtype("O", metadata={"ref": word})
    if word == "vlen":
        return np.dtype("O", metadata={"vlen": dtype_of(rest[0])})
    if not is_fixed(element):
        if word == "array":
            return np.dtype((dtype_of(rest[0]), tuple(rest[1])))
        return _record(rest[0]) if word == "compound" and _is_named(rest[0]) else np.dtype("O")
    return _fixed(word, rest)


def _fixed(word: str, rest: list[Any]) -> np.dtype[Any]:
    if word in ("int", "uint", "bits", "time") and rest[0] in (1, 2, 4, 8):
        return np.dtype(f"<{'i' if word == 'int' else 'u'}{rest[0]}")
    if word == "time64":
        time: np.dtype[Any] = np.dtype(rest[0])
        return time
    if word == "float":
        return np.dtype(f"<f{rest[0]}")
    if word == "bfloat16":
        return np.dtype("V2")
    if word == "complex":
        if rest[0] in (8, 16):
            return np.dtype(f"<c{rest[0]}")
        return np.dtype([("r", "<f2"), ("i", "<f2")])
    if word == "bool":
        return np.dtype("?")
    if word == "enum":
        base, members = dtype_of(rest[0]), dict(rest[1])
        return np.dtype(base, metadata={"enum": members})
    if word == "array":
        return np.dtype((dtype_of(rest[0]), tuple(rest[1])))
    if word == "compound":
        if _is_named(rest[0]):
            return _record(rest[0])
        # NumPy has no records with fields of equal names.
        return np.dtype((np.void, sum(dtype_of(field).itemsize for _, field in rest[0])))
    return np.dtype((np.void, rest[0]))


def _is_named(fields: list[tuple[str, Element]]) -> bool:
    """Return whether NumPy can have a record of these fields."""
    names = [name for name, _ in fields]
    return "" not in names and len(set(names)) == len(names)


def _record(fields: list[tuple[str, Element]]) -> np.dtype[Any]:
    return np.dtype([(name, dtype_of(field)) for name, field in fields])


def is_fixed(element: Element) -> bool:
    """Return whether all elements have the same number of bytes."""
    word, *rest = element
    if word in ("text", "reference", "region", "vlen"):
        return False
    if word == "array":
        return is_fixed(rest[0])
    if word == "compound":
        return all(is_fixed(field) for _, field in rest[0])
    return True


def shaped(data: Any, element: Element, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the array of elements; ``data`` is an array of their bytes, or a list of objects.

    Bytes are not copied.
    """
    dtype = dtype_of(element)
    check_shape(shape, dtype)
    if isinstance(data, list):
        array = np.empty(len(data), dtype=dtype)
        # The items are assigned one by one, because NumPy would convert lists of equal lengths to one array.
        for i, item in enumerate(data):
            array[i] = _item(item, element)
        return array.reshape(shape + array.shape[1:])
    if dtype.subdtype is not None:
        base, inner = dtype.subdtype
        found: NDArray[Any] = data.view(base).reshape(shape + inner)
        return found
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype)
    found = data.view(dtype).reshape(shape)
    return found


def check_shape(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse a shape that NumPy cannot have, because it multiplies all sizes but those that are 0.

    Raises
    ------
    LimitExceeded
        If the product has more bytes than this machine can address.
    """
    if math.prod(size for size in shape if size) * max(1, dtype.itemsize) > sys.maxsize:
        raise LimitExceeded(f"an array of shape {shape} and type {dtype} is larger than NumPy's can be")


def _item(item: Any, element: Element) -> Any:
    """Return an element as NumPy takes it: a sequence as an array, and the parts of a record in the form of their fields."""
    word, *rest = element
    if word == "compound" and _is_named(rest[0]):
        return tuple(_item(part, field) for part, (_, field) in zip(item, rest[0]))
    if word == "array":
        dtype = dtype_of(element)
        parts = np.empty(math.prod(dtype.shape), dtype.base)
        for i, part in enumerate(_parts(item, len(rest[1]))):
            parts[i] = _item(part, rest[0])
        return parts.reshape(dtype.shape)
    if word == "complex" and rest[0] not in (8, 16):
        return item.real, item.imag
    if word == "bfloat16":
        return struct.pack("<f", item)[2:]
    if isinstance(item, int) and dtype_of(element).kind == "V":
        return item.to_bytes(rest[0], "little", signed=word == "int")
    if word == "time64" and isinstance(item, bytes):
        return np.frombuffer(item, cast(Any, rest[0]))[0]
    if word == "vlen" and isinstance(item, list):
        inner = dtype_of(element[1])
        try:
            return np.array(item, dtype=inner)
        except (TypeError, ValueError):
            return item
    return item


def _parts(items: Any, depth: int) -> Iterator[Any]:
    """Return the parts of nested lists, the last one varying fastest."""
    for item in items:
        if depth > 1 and isinstance(item, list):
            yield from _parts(item, depth - 1)
        else:
            yield item
