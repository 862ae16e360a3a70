"""The types of NumPy as types of HDF5, and elements in the form in which the Rust part writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sciformats.h5 import _convert, _names, _types
from sciformats.h5._types import Described


def describe(dtype: np.dtype[Any]) -> Described:
    """Return the description of the type of HDF5 for a NumPy type.

    Raises
    ------
    TypeError
        If HDF5 has no such type.
    """
    members = _types.check_enum_dtype(dtype)
    if members is not None:
        named = [(_names.inner(name), value) for name, value in members.items()]
        return ("enum", describe(np.dtype(dtype.str)), named)
    if _types.check_opaque_dtype(dtype):
        return ("opaque", dtype.itemsize, f"NUMPY:{dtype.descr[0][1]}")
    order = ">" if dtype.str[0] == ">" else "<"
    if dtype.kind in "iu":
        return ("int", dtype.itemsize, dtype.kind == "i", order)
    if dtype.kind == "f":
        return ("float", dtype.itemsize, order)
    if dtype.kind == "c":
        part = ("float", dtype.itemsize // 2, order)
        return ("compound", dtype.itemsize, [("r", 0, part), ("i", dtype.itemsize // 2, part)])
    if dtype.kind == "b":
        return ("enum", ("int", 1, True, "<"), [("FALSE", 0), ("TRUE", 1)])
    if dtype.kind == "S":
        info = _types.check_string_dtype(dtype)
        return ("string", max(dtype.itemsize, 1), info is not None and info.encoding == "utf-8")
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return ("array", describe(base), list(shape))
    if dtype.names is not None and dtype.fields is not None:
        fields = [(name, int(dtype.fields[name][1]), describe(dtype.fields[name][0])) for name in dtype.names]
        return ("compound", dtype.itemsize, fields)
    if dtype.kind == "V":
        return ("opaque", dtype.itemsize, "")
    if dtype.kind == "T":
        return ("text", True)
    if dtype.kind == "O":
        return _of_objects(dtype)
    raise TypeError(f"No conversion path for dtype: {dtype!r}")


def _of_objects(dtype: np.dtype[Any]) -> Described:
    kind = _types.check_ref_dtype(dtype)
    if kind is not None:
        return ("reference", "region" if kind is _types.RegionReference else "object")
    string = _types.check_string_dtype(dtype)
    if string is not None:
        return ("text", string.encoding == "utf-8")
    base = _types.check_vlen_dtype(dtype)
    if base is not None:
        return ("vlen", describe(np.dtype(base)))
    raise TypeError("Object dtype dtype('O') has no native HDF5 equivalent")


def is_sequence(dtype: np.dtype[Any]) -> bool:
    """Return whether the elements are sequences of any length that are no strings."""
    # `np.dtype("f8") == None` is true, so that only identity tells.
    base = _types.check_vlen_dtype(dtype)
    return base is not None and base is not str and base is not bytes


is_direct = _types.is_plain


def elements(array: NDArray[Any], described: Described, of: Any) -> Any:
    """Return the elements of an array of the described type; ``of`` is an object of the file, for references."""
    if is_direct(described):
        return _bytes(array, described)
    if described[0] == "array":
        inner = len(described[2])
        count = array.ndim - inner
        flat = array.reshape((-1, *array.shape[count:]))
        return [element(each, described, of) for each in flat]
    return [element(each, described, of) for each in array.reshape(-1)]


def element(value: Any, described: Described, of: Any) -> Any:
    """Return one element."""
    word, *rest = described
    if word == "text":
        return _text(value, rest[0])
    if word == "reference":
        return _region(value, of) if rest[0] == "region" else _address(value, of)
    if word == "vlen":
        base = rest[0]
        if is_direct(base):
            if isinstance(value, (int, float)) and value == 0:
                return b""
            if base[0] != "array" and isinstance(value, np.ndarray) and value.ndim > 1:
                raise TypeError(f"a sequence has one dimension, and not those of shape {value.shape}")
            return _bytes(value, base)
        items: Any = () if isinstance(value, int) and value == 0 else value
        return [element(each, base, of) for each in items]
    if word == "array" and not is_direct(described):
        items = value if isinstance(value, np.ndarray) else np.asarray(value, object)
        return [element(each, rest[0], of) for each in items.reshape(-1)]
    if word == "compound" and not is_direct(described):
        return tuple(element(value[name], member, of) for name, _, member in rest[1])
    return _bytes(value, described)


def _bytes(value: Any, described: Described) -> bytes:
    """Return the bytes of elements, which are little-endian if the file has a format of numbers that NumPy lacks."""
    dtype = _types.dtype_of(described).base
    array = _convert.converted(value, dtype) if isinstance(value, np.ndarray) else _convert.exactly(value, dtype)
    if not is_direct(described):
        array = array.astype("<f8" if dtype.kind == "f" else dtype.newbyteorder("<"))
    return np.ascontiguousarray(array).tobytes()


def _text(value: Any, utf8: bool = True) -> bytes:
    if isinstance(value, bytes):
        found = value
    elif isinstance(value, str):
        found = value.encode("utf-8", "surrogateescape") if utf8 else value.encode("ascii")
    elif isinstance(value, (int, np.integer)) and value == 0:
        # What NumPy's zeros have in the place of objects.
        return b""
    else:
        raise TypeError(f"Can't implicitly convert non-string objects to strings: {value!r} is of {type(value)}")
    if b"\0" in found:
        raise ValueError("VLEN strings do not support embedded NULLs")
    return found


def _address(value: Any, of: Any) -> int:
    if value is None or (isinstance(value, int) and value == 0) or not value:
        return 0
    value = getattr(value, "ref", value)
    if not isinstance(value, _types.Reference) or isinstance(value, _types.RegionReference):
        raise TypeError(f"Can't convert incompatible object to HDF5 object reference: {type(value)}")
    return int(target(value, of)[0])


def target(value: _types.Reference, of: Any) -> tuple[int, Any]:
    """Return the address of the object to which a reference leads, and the object; ``None`` if it does not exist any more.

    Raises
    ------
    ValueError
        If the object has no path, and is in another file, or if it was removed from the file.
    """
    opened = of._file_of
    if value.home is None or value.home[0] != opened.address:
        if value.path.startswith("?"):
            raise ValueError("a reference to an object without a path only means something in the file that it is from")
        path = value.path.strip("/")
        node = opened.root.object(path) if path else opened.root
        return node.address, node
    address = value.home[1]
    if value.epoch is not None and opened.is_going(address, value.epoch):
        raise ValueError("the object of the reference was removed from the file")
    try:
        return address, opened.root.object_at(address)
    except (KeyError, OSError, ValueError):
        return address, None


def _region(value: Any, of: Any) -> Any:
    if value is None or (isinstance(value, int) and value == 0) or not value:
        return 0
    if not isinstance(value, _types.RegionReference):
        raise TypeError(f"Can't convert incompatible object to HDF5 region reference: {type(value)}")
    from sciformats.h5 import _regions

    address, node = target(value, of)
    # What is not there any more has the dimensions that the reference says.
    shape = _regions.corner(value) if node is None else tuple((node.extent() or ((), ()))[0])
    return (int(address), len(shape), _regions.parts(value, shape))


def guess(data: Any) -> np.dtype[Any] | None:
    """Return the type for a single object that NumPy has no type for; ``None`` for others."""
    if isinstance(data, _types.RegionReference):
        return _types.regionref_dtype
    if isinstance(data, _types.Reference):
        return _types.ref_dtype
    if type(data) is bytes:
        return _types.string_dtype("ascii")
    if type(data) is str:
        return _types.string_dtype()
    return None


def _integers(data: Any) -> np.dtype[Any] | None:
    """Return the type for integers beyond those of 64 bits with a sign, of which NumPy would make floats."""
    if isinstance(data, (list, tuple)) and data and all(type(each) is int for each in data):
        if max(data) > np.iinfo(np.int64).max and min(data) >= 0:
            return np.dtype(np.uint64)
    return None


def _item_type(data: Any) -> Any:
    """Return the type of the items of nested lists, if all have one type."""
    if isinstance(data, np.ndarray):
        if data.dtype.kind != "O" or _types.check_string_dtype(data.dtype) or _types.check_vlen_dtype(data.dtype):
            return None
        kinds = {type(each) for each in data.flat}
    elif type(data) in (list, tuple):
        kinds = {_item_type(each) if isinstance(each, (list, tuple, np.ndarray)) else type(each) for each in data}
    else:
        return type(data)
    return kinds.pop() if len(kinds) == 1 else None


def array_of(data: Any, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return data as an array that has a type of HDF5."""
    if dtype is not None:
        chosen: np.dtype[Any] | None = np.dtype(dtype)
    else:
        data_type = getattr(data, "dtype", None)
        chosen = None
        if data_type is None or not isinstance(data_type, np.dtype):
            found = guess(data)
            if found is None:
                found = _integers(data)
            if found is None:
                kind = _item_type(data)
                if kind is bytes:
                    found = _types.string_dtype("ascii")
                elif kind is str:
                    found = _types.string_dtype()
                elif kind is not None and issubclass(kind, _types.Reference):
                    found = _types.regionref_dtype if kind is _types.RegionReference else _types.ref_dtype
            chosen = found
        elif data_type.kind == "O" and not data_type.metadata:
            kind = _item_type(np.asarray(data))
            if kind is str:
                chosen = _types.string_dtype()
            elif kind is bytes:
                chosen = _types.string_dtype("ascii")
        elif data_type.kind == "T":
            chosen = _types.string_dtype()
        else:
            chosen = data_type
    return as_type(data, chosen)


def as_type(data: Any, dtype: np.dtype[Any] | None) -> NDArray[Any]:
    """Return data as an array of a type, which keeps its metadata."""
    if dtype is None:
        return np.asarray(data, order="C")
    if isinstance(data, _types.Reference):
        array = np.empty((), dtype)
        array[()] = data
        return array
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        found = np.asarray(data, base)
        if found.shape[found.ndim - len(shape) :] != shape:
            raise ValueError(f"Array dtype shape {shape} is incompatible with data shape {found.shape}")
        return found
    if is_sequence(dtype) or _types.check_ref_dtype(dtype):
        return _of_sequences(data, dtype)
    if dtype.kind == "T":
        return np.asarray(data).astype(object)
    if dtype.kind == "O":
        # NumPy would make texts of numbers that are in one list with texts.
        return np.asarray(data, dtype=object).astype(dtype)
    if dtype.kind == "S" and not isinstance(data, bytes):
        found = np.asarray(data)
        if found.dtype.kind in "UTO":
            found = _convert.texts(found, dtype)
        return found.astype(dtype)
    if isinstance(data, (np.ndarray, np.void)):
        array = np.asarray(data)
        old = None if dtype.names is None else np.zeros(array.shape, dtype)
        return np.asarray(_convert.converted(array, dtype, old), dtype, order="C")
    return np.asarray(_convert.exactly(data, dtype), dtype, order="C")


def _of_sequences(data: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    if isinstance(data, np.ndarray) and data.dtype.kind == "O":
        return data.astype(dtype)
    if _types.check_ref_dtype(dtype):
        found = np.empty(np.shape(data) if isinstance(data, (list, tuple)) else (), dtype)
        if found.shape:
            for index in np.ndindex(found.shape):
                item: Any = data
                for one in index:
                    item = item[one]
                found[index] = item
        else:
            found[()] = data
        return found
    items, base = list(data), np.dtype(_types.check_vlen_dtype(dtype))
    if all(isinstance(item, (list, tuple, np.ndarray)) for item in items):
        found = np.empty(len(items), dtype)
        for number, item in enumerate(items):
            found[number] = _convert.sequence(item, base)
        return found
    single = np.empty(1, dtype)
    single[0] = _convert.sequence(items, base)
    return single.reshape(())
