"""What changes the elements of datasets."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sciformats import _index
from sciformats.h5 import _convert, _dims, _encode, _regions, _selection, _types


def _taken(value: Any) -> Any:
    """Return what is written, without anything that has yet to be read or computed.

    This may be the work of other threads, which may wait for the file, so that it is done before the file is locked.
    """
    if isinstance(value, (list, tuple)):
        return [_taken(each) for each in value] if any(map(_is_lazy, value)) else value
    return np.asarray(value) if _is_lazy(value) else value


def _is_lazy(value: Any) -> bool:
    return hasattr(value, "__array__") and not isinstance(value, (np.ndarray, np.generic))


class DatasetWriting:
    """The methods of a dataset that change the file."""

    _file_of: Any

    #: Whether the elements are in external files, once this is known.
    _outside: bool | None = None

    if TYPE_CHECKING:

        @property
        def _node(self) -> Any: ...
        @property
        def _place(self) -> tuple[int, str]: ...

        @property
        def dtype(self) -> np.dtype[Any]: ...
        @property
        def shape(self) -> tuple[int, ...] | None: ...
        @property
        def maxshape(self) -> tuple[int | None, ...] | None: ...
        @property
        def chunks(self) -> tuple[int, ...] | None: ...
        @property
        def attrs(self) -> Any: ...
        def _fact(self, method: str) -> Any: ...
        def _is_mask(self, part: Any) -> bool: ...
        def _ranges(self, ranges: list[_index.Range]) -> NDArray[Any]: ...

    def _write_first(self, wanted: Any, described: Any) -> None:
        """Write the elements of a new dataset. Nothing is read if numbers are stored in the way in which NumPy has them."""
        own = wanted.dtype.kind in "iuf" and described == _encode.describe(wanted.dtype)
        if wanted.committed is not None or not own or described[0] not in ("int", "float"):
            self._write_all(wanted.data)
            return
        array = self._converted(wanted.data, wanted.dtype)
        self._write_ranges([(0, n, 1) for n in wanted.shape], array, described)

    def _write_ranges(self, ranges: list[_index.Range], array: NDArray[Any], described: Any = None) -> None:
        # The file may have a type of which its description lacks something.
        stored = self._fact("stored_type") if described is None else described
        items = _encode.elements(array, self._fact("datatype") if described is None else described, self)
        with self._file_of._lock:
            self._file_of.change("write", self._place, ranges, stored, items)
        if self._outside is None:
            self._outside = bool(self._node.external())
        if self._outside:
            # As with the C library, other programs that read the external files see the elements at once.
            self._file_of.commit()

    def _write_all(self, array: NDArray[Any]) -> None:
        self._write_ranges([(0, n, 1) for n in self.shape or ()], self._converted(array))

    def _converted(self, array: NDArray[Any], dtype: np.dtype[Any] | None = None) -> NDArray[Any]:
        """Return elements as the type of the dataset."""
        return _convert.converted(array, self.dtype if dtype is None else dtype)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._file_of.check_open()
        if isinstance(key, _types.RegionReference):
            _regions.write(self, key, value)
            return
        names, parts = _selection.split(key)
        shape = self.shape
        if shape is None:
            raise TypeError("Empty datasets cannot be written")
        if len(parts) == 1 and self._is_mask(parts[0]):
            self._write_masked(np.asarray(parts[0]), value, names)
            return
        chosen = _selection.choose(parts, shape)
        self._put(chosen, names, value)

    def _put(self, chosen: _selection.Chosen, names: tuple[str, ...], value: Any) -> None:
        """Set the selected elements, or only some of their fields."""
        if not self._keeps(names, value):
            self._scatter(chosen, self._shaped(value, chosen.shape, lambda: self._gathered(chosen)))
            return
        value = _taken(value)
        with self._file_of._lock:
            # The other fields are written too, so that nobody may change them meanwhile.
            if names:
                whole = np.array(self._gathered(chosen))
                self._set_fields(whole, names, value)
            else:
                whole = self._shaped(value, chosen.shape, lambda: self._gathered(chosen))
            self._scatter(chosen, whole)

    def _keeps(self, names: tuple[str, ...], value: Any) -> bool:
        """Return whether fields of the elements that are set stay as they are."""
        own = getattr(value, "dtype", None)
        return bool(names) or (isinstance(own, np.dtype) and _convert.lacks(own, self.dtype))

    def _gathered(self, chosen: _selection.Chosen) -> NDArray[Any]:
        found: NDArray[Any] = self._read(chosen)  # type: ignore[attr-defined]
        return found

    def _set_fields(self, whole: NDArray[Any], names: tuple[str, ...], value: Any) -> None:
        for name in names:
            if self.dtype.names is None or name not in self.dtype.names:
                raise ValueError(f"No such field for indexing: {name}")
        if len(names) == 1:
            field, own = self.dtype[names[0]], getattr(value, "dtype", None)
            found = value
            if own is not None and own.names is not None and names[0] in own.names and field.names is None:
                found = value[names[0]]
            elif own is None and field.names is not None:
                found = np.asarray(value, field)
            whole[names[0]] = _convert.converted(self._given(found, field), field, whole[names[0]])
            return
        found = np.asarray(value)
        if found.dtype.names is None or not set(names) <= set(found.dtype.names):
            found = np.asarray(value, [(name, self.dtype[name]) for name in names])
        for name in names:
            whole[name] = _convert.converted(found[name], self.dtype[name], whole[name])

    def _given(self, value: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return a value as an array, which still has to be converted if it was one. Single numbers must fit the type."""
        if dtype.kind == "S" and isinstance(value, np.ndarray) and value.dtype.kind == "U":
            raise TypeError(f"No conversion path for dtype: {value.dtype!r}")
        if isinstance(value, (np.ndarray, np.void)) or dtype.kind == "O":
            return np.asarray(value)
        if dtype.kind == "S" or isinstance(value, (str, bytes)):
            return _encode.as_type(value, dtype.base)
        if hasattr(value, "__array__") and not isinstance(value, np.generic):
            return np.asarray(value)
        return _convert.exactly(value, dtype)

    def _shaped(self, value: Any, shape: tuple[int, ...], old: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return a value as elements of the dataset with the shape of a selection, which are ``old`` before."""
        dtype = self.dtype
        inner = dtype.shape
        vlen = _types.check_vlen_dtype(dtype)
        if _encode.is_sequence(dtype):
            array = self._sequences(value, shape, np.dtype(vlen))
        elif hasattr(value, "_node") and not hasattr(value, "ref"):
            array = np.asarray(value)
        elif dtype.kind == "O":
            array = _encode.as_type(value, dtype)
        elif dtype.names is not None and getattr(value, "dtype", None) is None:
            array = np.asarray(value, dtype)
        else:
            array = self._given(value, dtype)
            if _convert.lacks(array.dtype, dtype):
                # The other fields stay as they are.
                return _convert.converted(self._broadcast(array, shape), dtype, old())
            array = self._converted(array)
        if _encode.is_sequence(dtype) and array.shape == shape:
            return array
        return self._broadcast(array, (*shape, *inner))

    def _broadcast(self, array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        own = array.shape
        while len(own) > len(shape) and own[0] == 1:
            own = own[1:]
        array = array.reshape(own)
        if self.dtype.subdtype is not None and own == ():
            raise TypeError("an element is an array, and cannot be set to a number")
        try:
            return np.broadcast_to(array, shape)
        except ValueError:
            raise TypeError(f"Can't broadcast {own} -> {shape}") from None

    def _sequences(self, value: Any, shape: tuple[int, ...], base: np.dtype[Any]) -> NDArray[Any]:
        count = int(np.prod(shape, dtype=int))
        found = np.empty(count, object)
        for index, item in enumerate(self._each(value, shape, count, base)):
            found[index] = item
        return found.reshape(shape)

    def _each(self, value: Any, shape: tuple[int, ...], count: int, base: np.dtype[Any]) -> list[Any]:
        """Return a sequence for each element of a selection. As in h5py, a single one is for all of them.

        Raises
        ------
        TypeError
            If there are more or fewer sequences than elements, or what is given is no sequence.
        """
        if isinstance(value, np.ndarray) and value.dtype.kind == "O" and value.shape == shape:
            each = list(value.reshape(-1))
            # As in h5py, objects that are numbers are one sequence.
            if base.kind == "O" or not any(isinstance(item, (int, float, complex, np.number)) for item in each):
                return each
        if base.kind != "O" and (isinstance(value, (str, bytes)) or getattr(value, "dtype", base).kind in "SU"):
            raise TypeError(f"No conversion path for dtype: a text cannot be stored as a sequence of {base}")
        items = np.asarray(value) if hasattr(value, "__array__") else list(value)
        nested = len(items) > 0 and all(isinstance(item, (list, tuple, np.ndarray)) for item in items)
        if base.kind == "O" or base.subdtype is not None:
            if nested and len(items) == count and not (count == 1 and base.subdtype is not None):
                return list(items) if base.kind == "O" and count == 1 else [np.asarray(item) for item in items]
            return [items if base.kind == "O" and count == 1 else np.asarray(items)] * count
        if not nested:
            return [_convert.sequence(items, base)] * count
        found = np.empty(len(items), object)
        found[:] = [_convert.sequence(item, base) for item in items]
        if any(each.ndim != 1 for each in found):
            # The last dimension is that of the sequences, and those before are the dimensions of the selection.
            whole = _convert.sequence(value, base)
            found = np.empty(whole.shape[:-1], object)
            for index in np.ndindex(found.shape):
                found[index] = whole[index]
        return list(self._broadcast(found, shape).reshape(-1))

    def _scatter(self, chosen: _selection.Chosen, array: NDArray[Any]) -> None:
        """Write an array with the shape of a selection."""
        inner = self.dtype.shape
        counts = [sum(count for _, count, _ in ranges) for ranges in chosen.options]
        full = array.reshape([*counts, *inner])
        if not full.size:
            return
        places = []
        for ranges in chosen.options:
            ends = itertools.accumulate(count for _, count, _ in ranges)
            places.append([slice(end - r[1], end) for end, r in zip(ends, ranges)])
        for some, to in zip(itertools.product(*chosen.options), itertools.product(*places)):
            self._write_ranges(list(some), full[to] if to else full)

    def _write_masked(self, mask: NDArray[np.bool_], value: Any, names: tuple[str, ...]) -> None:
        count = int(mask.sum())
        if not count:
            return
        ranges, box = _index.box_of(mask)
        keeps = self._keeps(names, value)
        # What is given is taken before the lock, because it may be the work of other threads.
        given = None if keeps else self._shaped(value, (count,), lambda: self._ranges(ranges)[mask[box]])
        value = _taken(value) if keeps else value
        with self._file_of._lock:
            # The other elements of the box are written too, so that nobody may change them meanwhile.
            whole = np.array(self._ranges(ranges))
            if names:
                given = whole[mask[box]]
                self._set_fields(given, names, value)
            elif given is None:
                given = self._shaped(value, (count,), lambda: whole[mask[box]])
            whole[mask[box]] = given
            self._write_ranges(ranges, whole)

    def write_direct(self, source: NDArray[Any], source_sel: Any = None, dest_sel: Any = None) -> None:
        """Write the elements of an array."""
        if self.shape is None:
            raise TypeError("Empty datasets cannot be written")
        if not source.flags.c_contiguous:
            raise TypeError("Array must be C-contiguous")
        part = source if source_sel is None else source[source_sel]
        self[() if dest_sel is None else dest_sel] = part

    def resize(self, size: Any, axis: int | None = None) -> None:
        """Change the shape, or the length of one dimension."""
        self._file_of.check_open()
        if self.chunks is None or self.shape is None:
            raise TypeError("Only chunked datasets can be resized")
        if axis is not None:
            if not -len(self.shape) <= axis < len(self.shape):
                raise ValueError(f"Invalid axis (0 to {len(self.shape) - 1} allowed)")
            shape = list(self.shape)
            try:
                shape[axis] = operator.index(size)
            except TypeError:
                raise TypeError("Argument must be a single int if axis is specified") from None
        else:
            shape = [int(n) for n in (size if isinstance(size, (tuple, list)) else (size,))]
        most = self.maxshape or ()
        if len(shape) != len(most):
            raise TypeError(f"New shape length ({len(shape)}) must match dataset rank ({len(most)})")
        if any(m is not None and n > m for n, m in zip(shape, most)):
            raise ValueError("Unable to synchronously change a dataset dimension (dimension cannot exceed the existing maximal size)")
        with self._file_of._lock:
            self._file_of.change("resize", self._place, shape)

    def flush(self) -> None:
        """Write all changes to the file."""
        self._file_of.flush()

    def make_scale(self, name: str = "") -> None:
        """Make the dataset a scale of dimensions."""
        _dims.make_scale(self, name)
