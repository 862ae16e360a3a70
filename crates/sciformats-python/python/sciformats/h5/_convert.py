"""Elements as another type, by the rules of HDF5 and not by those of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciformats.errors import NotSupported
from sciformats.h5 import _types


def converted(
    array: NDArray[Any], dtype: np.dtype[Any], old: NDArray[Any] | None = None, whole: bool = True
) -> NDArray[Any]:
    """Return an array as another type: numbers that an integer cannot hold become the nearest that it can.

    Fields of compounds have the same name in both types. Those that the array lacks are taken from ``old``. Fields that only the array
    has are an error if ``whole`` is true, and are left out otherwise.

    Raises
    ------
    TypeError
        If elements of the one type never are elements of the other.
    """
    dtype, array = dtype.base, np.asarray(array)
    own = array.dtype
    if own == dtype or dtype.kind == "O":
        return array
    if dtype.names is not None:
        return _records(array, dtype, old, whole)
    if own.names is not None or not _has_path(own, dtype):
        raise TypeError(f"No conversion path for dtype: elements of type {own} cannot be stored as {dtype}")
    if dtype.kind == "S" and own.kind in "OUT":
        array = texts(array, dtype)
    elif dtype.kind in "iu" and own.kind in "iu":
        array = _nearest(array, dtype)
    elif dtype.kind in "iu" and own.kind == "f":
        array = _truncated(array, dtype)
    # Floats beyond the range of a smaller type become infinite, as in HDF5.
    with np.errstate(over="ignore", invalid="ignore"):
        # An operation on an array without dimensions may have made a scalar of it, whose bytes never are in the other order.
        return np.asarray(array).astype(dtype)


def exactly(value: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a number or nested lists of numbers as an array of a type, which must be able to hold them; fractions are cut off.

    Raises
    ------
    OverflowError
        If a number is beyond the integers of the type.
    TypeError
        If a complex number would lose a part.
    ValueError
        If an integer would be NaN.
    """
    dtype = dtype.base
    found = np.asarray(value)
    if found.dtype.kind == "c" and dtype.kind in "biuf":
        raise TypeError(f"a complex number cannot be stored as {dtype}")
    if dtype.kind in "iu" and found.dtype.kind in "iuf" and found.size:
        least, most = found.min(), found.max()
        if np.isnan(most):
            raise ValueError(f"NaN cannot be stored as {dtype}")
        info = np.iinfo(dtype)
        if found.dtype.kind == "f" and not hasattr(value, "__array__") and max(most, -least) >= 2**53:
            # NumPy makes rounded floats of lists with integers beyond 63 bits, or with integers and floats.
            whole = np.asarray(value, object).reshape(-1)
            least, most = min(whole), max(whole)
        if np.isinf(least) or np.isinf(most) or int(least) < info.min or int(most) > info.max:
            raise OverflowError(f"numbers from {least} to {most} cannot be stored as {dtype}")
    return np.asarray(value, dtype)


def sequence(value: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a sequence of variable length as an array. Lists of numbers must fit the type of its items, which arrays need not.

    Raises
    ------
    OverflowError, TypeError, ValueError
        Those of :func:`exactly`.
    """
    found = np.asarray(value)
    is_list = not hasattr(value, "__array__") and dtype.kind in "biufc" and found.dtype.kind in "biufcO"
    return exactly(value, dtype) if is_list else found


def seen_as(array: NDArray[Any], mtype: Any) -> NDArray[Any]:
    """Return an array whose bytes are elements of a type of :mod:`sciformats.h5.h5t`, which a low-level call names, as such elements.

    It has one dimension if they have another size than those of the array.

    Raises
    ------
    TypeError
        If the bytes of the array do not follow each other.
    NotSupported
        If only one of both types is that of objects.
    """
    if mtype is None:
        return array
    dtype = np.dtype(mtype.dtype)
    if array.dtype in (dtype, dtype.base) or (array.dtype.kind == "O" and dtype.kind == "O"):
        return array
    if array.dtype.hasobject or dtype.hasobject or not dtype.itemsize:
        raise NotSupported(f"mtype= is elements of type {dtype}, and not the {array.dtype} of the array")
    if array.dtype.itemsize == dtype.itemsize and dtype.subdtype is None:
        return array.view(dtype)
    if not array.flags.c_contiguous:
        raise TypeError("Array must be C-contiguous")
    flat = array.reshape(-1).view(np.uint8)
    return flat[: array.nbytes // dtype.itemsize * dtype.itemsize].view(dtype.base)


def read_as(array: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return elements that were read as another type.

    Raises
    ------
    OSError
        If texts would become numbers, or numbers texts.
    """
    array = np.asarray(array)
    numbers = dtype.base.kind in "biufc" and array.dtype.kind in "biufc"
    is_text = array.dtype.kind in "SU" or _types.check_string_dtype(array.dtype) is not None
    if (is_text and dtype.base.kind in "biufc") or (array.dtype.kind in "biufc" and dtype.base.kind in "SU"):
        raise OSError(f"Can't synchronously read data (no appropriate function for conversion path from {array.dtype} to {dtype})")
    if numbers or (dtype.names is not None and array.dtype.names is not None):
        return converted(array, dtype, np.zeros(array.shape, dtype.base), whole=False)
    found: NDArray[Any] = array.astype(dtype, copy=False)
    return found


def lacks(own: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """Return whether compounds of the first type have not all fields of the second."""
    if own.names is None or dtype.names is None:
        return False
    return any(name not in own.names or lacks(own[name].base, dtype[name].base) for name in dtype.names)


def texts(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return texts as bytes in the encoding of a type of texts of fixed length.

    Raises
    ------
    TypeError
        If an element is no text.
    UnicodeEncodeError
        If the encoding lacks a character.
    """
    known = _types.check_string_dtype(dtype)
    encoding = "ascii" if known is None else known.encoding

    def text(item: Any) -> bytes:
        if isinstance(item, str):
            return item.encode(encoding, "surrogateescape")
        if isinstance(item, bytes):
            return item
        raise TypeError(f"Can't implicitly convert non-string objects to strings: {item!r} is of {type(item)}")

    return np.array([text(item) for item in array.astype(object).reshape(-1)], dtype=bytes).reshape(array.shape)


def _has_path(own: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """Return whether nothing but digits and range is lost."""
    named = _types.check_enum_dtype(dtype) is not None
    if dtype.kind in "iu":
        return own.kind in "Obiu" or (own.kind == "f" and not named)
    if dtype.kind == "f":
        return own.kind in "Obiuf"
    if dtype.kind == "b":
        return own.kind in "Obiu"
    if dtype.kind == "c":
        return own.kind in "Obiufc"
    if dtype.kind == "S":
        return own.kind in "OSUT"
    return True


def _nearest(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    info, own = np.iinfo(dtype), np.iinfo(array.dtype)
    if info.min <= own.min and own.max <= info.max:
        return array
    found: NDArray[Any] = np.clip(array, max(info.min, own.min), min(info.max, own.max))
    return found


def _truncated(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    info = np.iinfo(dtype)
    # The limits of 64 bits are rounded up to floats that are beyond them, and floats of 16 bits do not reach most limits.
    wide = array if array.dtype.itemsize >= 8 else array.astype(np.float64)
    low, high = float(info.min), float(info.max)
    with np.errstate(invalid="ignore"):
        found = np.array(wide).astype(dtype)
    found[wide >= high] = info.max
    found[wide <= low] = info.min
    found[np.isnan(wide)] = 0
    return found


def _records(array: NDArray[Any], dtype: np.dtype[Any], old: NDArray[Any] | None, whole: bool) -> NDArray[Any]:
    names, given = dtype.names or (), array.dtype.names
    # As in h5py, a number becomes that of all fields.
    parts = {name: array for name in names} if given is None else {name: array[name] for name in given}
    unknown = [name for name in parts if name not in names]
    if (unknown and whole) or len(unknown) == len(parts):
        raise TypeError(f"the fields of the elements are {', '.join(parts)}, but those of the dataset are {', '.join(names)}")
    missing = [name for name in names if name not in parts]
    if missing and old is None:
        raise TypeError(f"the field {missing[0]} is missing")
    found = np.empty(array.shape, dtype) if old is None else np.array(old, dtype)
    for name in names:
        if name in parts:
            part = found[name] if old is not None else None
            found[name] = converted(parts[name], dtype[name], part, whole)
    return found
