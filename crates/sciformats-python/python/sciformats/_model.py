"""Files, groups, arrays and attributes: one model for all formats."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sciformats import _dtypes, _html, _index, _open, _sciformats, _tagged
from sciformats.errors import Error, Misfit, NotSupported

#: The number of elements that :meth:`Array.iter_chunks` returns at once if an array has no chunks.
_PIECE = 1 << 20


def _in_threads(read: Callable[[Any], Any], what: Iterable[Any], threads: int | None) -> list[Any]:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        return list(pool.map(read, what))


class Attributes(Mapping[str, Any]):
    """The attributes of an object, by name.

    A text is a ``str``, a single element is a NumPy scalar, and several elements are an array; an attribute without elements is
    ``None``. All attributes are read when the first one is requested. A damaged attribute raises
    :class:`~sciformats.errors.FileDamaged` when it is requested; the others can still be read.
    """

    def __init__(self, file: File, number: int, path: str) -> None:
        self._file = file
        self._number = number
        self._path = path
        self._read: dict[str, tuple[Any, list[int] | None, Any]] | None = None

    def _all(self) -> dict[str, tuple[Any, list[int] | None, Any]]:
        if self._read is None:
            read = self._file._raw.attributes(self._number)
            self._read = {name: (element, shape, data) for name, element, shape, data in read}
        return self._read

    def __getitem__(self, name: str) -> Any:
        try:
            element, shape, data = self._all()[name]
        except KeyError:
            raise KeyError(f"no attribute named {name!r}") from None
        if isinstance(data, Exception):
            raise data
        if shape is None:
            return None
        element = _tagged.of_attribute(self._file, (self._number, self._path), name, element)
        value = _dtypes.shaped(data, element, tuple(shape))
        return value[()] if value.ndim == 0 else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def __repr__(self) -> str:
        return f"<Attributes {list(self)}>"


class Group(Mapping[str, Any]):
    """A group of arrays and groups, which are found by name or path.

    Links are followed. Members are in byte order of their names.
    """

    def __init__(self, file: File, number: int, path: str) -> None:
        self._file = file
        self._number = number
        self.path = path

    @property
    def file(self) -> File:
        """The file that contains the group."""
        return self._file

    @property
    def name(self) -> str:
        """The last part of the group's path."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def attrs(self) -> Attributes:
        """The attributes of the group."""
        return Attributes(self._file, self._number, self.path)

    def __getitem__(self, path: str) -> Any:
        """Return the group, array or value at ``path``, which is relative to this group unless it begins with ``/``.

        Raises
        ------
        KeyError
            If there is no such object.
        """
        if not isinstance(path, str):
            raise TypeError(f"members are named by str, not {type(path).__name__}")
        full = path if path.startswith("/") else f"{self.path.rstrip('/')}/{path}"
        return self._file._object(self._file._raw.resolve(full), "/" + full.strip("/"))

    def _members(self) -> list[tuple[str, str, Any]]:
        return self._file._raw.members(self._number)

    def _listing(self) -> Iterator[tuple[str, Any]]:
        """Return the members for display: an unreadable member is its error, and a link that is not followed is shown."""
        for name, kind, target in self._members():
            path = f"{self.path.rstrip('/')}/{name}"
            if kind == "damaged":
                yield name, target
            elif kind != "hard":
                yield name, f"{kind} link to {target}"
            else:
                try:
                    yield name, self._file._object(target, path)
                except Error as error:
                    yield name, error

    def __iter__(self) -> Iterator[str]:
        return (name for name, _, _ in self._members())

    def __len__(self) -> int:
        return len(self._members())

    def __contains__(self, path: object) -> bool:
        if not isinstance(path, str):
            return False
        full = path if path.startswith("/") else f"{self.path.rstrip('/')}/{path}"
        try:
            self._file._raw.resolve(full)
        except KeyError:
            return False
        return True

    def read_many(self, paths: Iterable[str], threads: int | None = None) -> list[Any]:
        """Read several arrays whole, in several threads; they are in the order of the paths."""
        return _in_threads(lambda path: self[path][...], paths, threads)

    def walk(self) -> Iterator[tuple[str, Any]]:
        """Iterate over all groups and arrays below, each once, with their paths. Soft and external links are not followed."""
        seen = {self._number}
        todo = [self]
        while todo:
            group = todo.pop()
            below = []
            for name, kind, target in group._members():
                if kind != "hard" or target in seen:
                    continue
                seen.add(target)
                path = f"{group.path.rstrip('/')}/{name}"
                member = self._file._object(target, path)
                yield path, member
                if isinstance(member, Group):
                    below.append(member)
            todo.extend(reversed(below))

    def __repr__(self) -> str:
        return f"<Group {self.path!r} of {self._file._shown()}: {len(self)} members>"

    def _repr_html_(self) -> str:
        return _html.page(_html.group(self, f"<b>{escape(self.path)}</b>"))

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Group) and self._file is other._file
        return same and self._number == getattr(other, "_number", None)

    def __hash__(self) -> int:
        return hash((id(self._file), self._number))

    def __reduce__(self) -> tuple[Any, ...]:
        return _open.member_of, (self._file, self.path)


_Holder = TypeVar("_Holder", bound="Holder")


class Holder:
    """What reads from an open file, which it closes at the end of a ``with`` block."""

    _file: File

    def close(self) -> None:
        """Close the file. Values that were read remain valid."""
        self._file.close()

    def __enter__(self: _Holder) -> _Holder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class File(Group):
    """An open file of any format; it is its root group.

    :func:`sciformats.open` creates it. Several threads may call its methods at the same time.
    """

    def __init__(self, raw: _sciformats.File, address: _open.Address) -> None:
        self._raw = raw
        self._address = address
        self._hdf5: Any = None
        super().__init__(self, raw.resolve("/"), "/")

    @property
    def format(self) -> str:
        """``"hdf5"``, ``"asdf"``, ``"blosc2"``, ``"gsd"``, ``"rawarray"`` or ``"npy"``."""
        return self._raw.format

    @property
    def filename(self) -> str | None:
        """The path of the file, or its URL without secrets; ``None`` if it was opened from bytes."""
        return self._address.shown

    @property
    def facts(self) -> dict[str, Any]:
        """Facts about the file as a whole: version, writer, unusual features."""
        return self._raw.facts()

    @property
    def statistics(self) -> dict[str, int] | None:
        """What a remote file has cost so far: the numbers of ``batches`` that were waited for, of ``requests``, and of fetched ``bytes``.

        It is ``None`` for a file that is not remote.
        """
        found = self._raw.statistics
        return None if found is None else dict(zip(("batches", "requests", "bytes"), found))

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._raw.closed

    @property
    def root(self) -> Any:
        """The root object: a group, or the array of a file that consists of a single array."""
        return self._object(self._number, "/")

    def close(self) -> None:
        """Close the file. From now on, reading from its arrays raises ``ValueError``; values that were read remain valid."""
        self._raw.close()
        self._hdf5 = None
        _open.forget(self)

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _object(self, number: int, path: str) -> Any:
        kind, content = self._raw.object(number)
        if kind == "group":
            return self if number == self._number else Group(self, number, path)
        if kind == "array":
            return Array(self, number, path, content)
        if kind == "datatype":
            return _dtypes.dtype_of(content)
        if kind == "value":
            return content
        raise NotSupported(f"{path} is an object of unknown kind", self.filename)

    def _members(self) -> list[tuple[str, str, Any]]:
        if self._raw.object(self._number)[0] != "group":
            return []
        return super()._members()

    def _shown(self) -> str:
        return repr(self.filename) if self.filename else f"{self.format} in memory"

    def __repr__(self) -> str:
        if self.closed:
            return "<File (closed)>"
        root = self.root
        inner = f"{len(self)} members" if root is self else repr(root)
        return f"<File {self._shown()}: {self.format}, {inner}>"

    def _repr_html_(self) -> str:
        if self.closed:
            return _html.page("File (closed)")
        title = f'<b>{escape(self._shown())}</b> <span class="dim">{self.format}</span>'
        root = self.root
        inner = _html.group(self, title) if root is self else title + _html.array(root, "/")
        return _html.page(inner)

    def __reduce__(self) -> tuple[Any, ...]:
        return _open.again, (self._address,)


class Array:
    """An array of a file. Its elements are only read when it is indexed.

    Indexing is NumPy's basic indexing: integers, slices with steps of either sign, ``...`` and ``None``; :meth:`oindex` takes
    lists and masks, each along its own dimension, but no ``None``.

    Examples
    --------
    >>> import sciformats
    >>> array = sciformats.open("run.h5")["fields/u"]
    >>> array.shape, array[1, ::-1]
    ((3, 4), array([7., 6., 5., 4.]))
    >>> array.oindex(([2, 0], slice(1, 3)))
    array([[ 9., 10.],
           [ 1.,  2.]])
    """

    def __init__(self, file: File, number: int, path: str, raw: _sciformats.Array) -> None:
        self._file = file
        self._number = number
        self._raw = raw
        self._element = _tagged.of_array(file, (number, path), raw.element)
        if file.format in ("npy", "blosc2") and "dtype" in (facts := raw.facts()):
            # Dates and time spans are integers in the files of other formats.
            self._element = _dtypes.with_times(raw.element, _dtypes.described(facts["dtype"]))
        self.path = path
        #: NumPy's type of an element, which is ``object`` for texts and sequences.
        self.dtype: np.dtype[Any] = _dtypes.dtype_of(self._element)
        shape = raw.shape
        #: Whether the dataspace is null, so that the array has a type, but neither a shape nor elements.
        self.is_null = shape is None
        self.shape: tuple[int, ...] = tuple(shape or ())

    @property
    def file(self) -> File:
        """The file that contains the array."""
        return self._file

    @property
    def name(self) -> str:
        """The last part of the array's path."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def attrs(self) -> Attributes:
        """The attributes of the array."""
        return Attributes(self._file, self._number, self.path)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return 0 if self.is_null else math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The number of bytes of the elements in memory."""
        return self.size * self.dtype.itemsize

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """The shape of a chunk, in elements; ``None`` if the array is not stored in chunks."""
        chunks = self._raw.chunks
        return None if chunks is None else tuple(chunks)

    @property
    def filters(self) -> list[str]:
        """The filters of its chunks, in the order of writing."""
        return self._raw.filters

    @property
    def facts(self) -> dict[str, Any]:
        """How it is stored, in the terms of the format."""
        return self._raw.facts()

    @property
    def fill_value(self) -> Any:
        """The value of elements that were never written, if the file contains one."""
        fill = self._raw.fill()
        return None if fill is None else _dtypes.shaped(fill, self._element, ())[()]

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        if not _index.is_basic(key):
            raise IndexError(
                "arrays of files take integers, slices, ... and None in brackets; for lists and masks use oindex()"
            )
        selection = _index.basic(key, self.shape)
        array = self._read(selection.ranges)[selection.after]
        # A single element of objects, such as a text, is no array.
        return array[()] if isinstance(array, np.ndarray) else array

    def _read(self, ranges: list[_index.Range]) -> NDArray[Any]:
        if self.is_null:
            return np.empty((0,), self.dtype)
        counts = tuple(count for _, count, _ in ranges)
        return _dtypes.shaped(self._raw.read(ranges), self._element, counts)

    def read(self, key: Any = ..., out: NDArray[Any] | None = None) -> Any:
        """Read the selected elements.

        Parameters
        ----------
        key
            The selection, as in brackets.
        out : ndarray, optional
            An array with the shape of the selection, which receives the elements. If it is contiguous and has the type of this
            array, the elements are read directly into it.

        Returns
        -------
        ndarray or scalar
            The elements; this is ``out`` if it was given.

        Raises
        ------
        Misfit
            If ``out`` has a type of integers that cannot hold them.
        """
        if out is None:
            return self[key]
        selection = _index.basic(key, self.shape)
        plain = all(part == slice(None) or part == 0 for part in selection.after)
        if self._raw.fixed and plain and out.dtype == self.dtype and out.flags.c_contiguous:
            wanted = tuple(n for n, part in zip(selection.counts, selection.after) if part != 0)
            if out.shape != wanted:
                raise ValueError(f"out has shape {out.shape}, but the selection has shape {wanted}")
            if out.nbytes:
                self._raw.read_into(selection.ranges, out.reshape(-1).view(np.uint8))
            return out
        found = np.asarray(self[key])
        if out.shape != found.shape:
            raise ValueError(f"out has shape {out.shape}, but the selection has shape {found.shape}")
        if found.size and found.dtype.kind in "iu" and out.dtype.kind in "iu" and not np.can_cast(found.dtype, out.dtype):
            # NumPy would wrap them.
            least, most, info = int(found.min()), int(found.max()), np.iinfo(out.dtype)
            if least < info.min or most > info.max:
                raise Misfit(f"the elements are between {least} and {most}, which {out.dtype} cannot hold", self._file.filename)
        np.copyto(out, found, casting="same_kind")
        return out

    def read_many(self, keys: Iterable[Any], threads: int | None = None) -> list[Any]:
        """Read several selections in several threads.

        Parameters
        ----------
        keys
            The selections, each as in brackets.
        threads : int, optional
            The number of threads; by default one per processor.

        Returns
        -------
        list
            The elements of each selection, in the order of the keys.
        """
        return _in_threads(self.__getitem__, keys, threads)

    async def aread(self, key: Any = ..., out: NDArray[Any] | None = None) -> Any:
        """Do the same as :meth:`read` in another thread, so that other tasks of asyncio can run meanwhile."""
        import asyncio

        return await asyncio.to_thread(self.read, key, out)

    async def aread_many(self, keys: Iterable[Any], threads: int | None = None) -> list[Any]:
        """Do the same as :meth:`read_many` in other threads, so that other tasks of asyncio can run meanwhile."""
        import asyncio

        return await asyncio.to_thread(self.read_many, list(keys), threads)

    def oindex(self, key: Any) -> Any:
        """Read the selected elements; lists of indices and masks each select along their own dimension.

        Parameters
        ----------
        key
            The selection, as in brackets, which may also contain one-dimensional arrays of integers or truth values. ``None`` is not
            among its parts.

        Raises
        ------
        IndexError
            If a part is ``None`` or something else that selects nothing along a dimension, or an index is out of range.
        """
        parts = _index.expand(key, self.ndim)
        if any(part is None for part in parts):
            raise IndexError("oindex() takes integers, slices, ..., lists and masks, and not None, which selects along no dimension")
        lists = {
            axis: _index.positions(part, self.shape[axis], axis)
            for axis, part in enumerate(parts)
            if not _index.is_basic((part,))
        }
        plain = tuple(slice(None) if axis in lists else part for axis, part in enumerate(parts))
        selection = _index.basic(plain, self.shape)
        options: list[list[_index.Range]] = [[r] for r in selection.ranges]
        inverse: dict[int, NDArray[np.intp]] = {}
        for axis, indices in lists.items():
            unique, back = np.unique(indices, return_inverse=True)
            options[axis] = _index.runs(unique) or [(0, 0, 1)]
            inverse[axis] = back
        array = self._joined(options)
        for axis, back in inverse.items():
            array = np.take(array, back, axis=axis)
        return array[selection.after]

    def _joined(self, options: list[list[_index.Range]]) -> NDArray[Any]:
        """Return the array of every combination of the ranges of each dimension."""
        if all(len(ranges) == 1 for ranges in options):
            return self._read([ranges[0] for ranges in options])
        shape = [sum(count for _, count, _ in ranges) for ranges in options]
        inner = self.dtype.shape
        out = np.empty([*shape, *inner], self.dtype.base)
        places = []
        for ranges in options:
            ends = list(itertools.accumulate(count for _, count, _ in ranges))
            places.append([slice(end - r[1], end) for end, r in zip(ends, ranges)])
        for some, to in zip(itertools.product(*options), itertools.product(*places)):
            out[to] = self._read(list(some))
        return out

    def iter_chunks(self) -> Iterator[tuple[slice, ...]]:
        """Iterate over slices of whole chunks that cover the array, so that it can be read in bounded memory.

        An array that is not stored in chunks is divided into pieces of about a million elements.
        """
        if self.size == 0:
            return
        chunks = self.chunks or self._piece()
        steps = [range(0, n, max(1, c)) for n, c in zip(self.shape, chunks)]
        for start in itertools.product(*steps):
            yield tuple(slice(s, min(s + c, n)) for s, c, n in zip(start, chunks, self.shape))

    def _piece(self) -> tuple[int, ...]:
        piece, left = [], _PIECE
        for size in reversed(self.shape):
            piece.append(max(1, min(size, left)))
            left //= max(1, piece[-1])
        return tuple(reversed(piece))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("the elements of a file must be read, so copy=False is not possible")
        array = np.asarray(self[...])
        return array if dtype is None else array.astype(dtype, copy=False)

    def __buffer__(self, flags: int) -> memoryview:
        """Return the elements, which are read for this, as a buffer. Python calls this from version 3.12 on."""
        if self.dtype.hasobject:
            raise BufferError(f"elements of the type {self.dtype} are objects, which have no bytes")
        return np.asarray(self).data

    def __dlpack__(self, **options: Any) -> Any:
        """Return the elements, which are read for this, for libraries that exchange arrays by DLPack."""
        return np.asarray(self).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the device of the elements, which is the main memory."""
        return (1, 0)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        shape = "null" if self.is_null else self.shape
        return f"<Array {self.path!r}: {shape} {self.dtype}>"

    def _repr_html_(self) -> str:
        return _html.page(_html.array(self, f"<b>{escape(self.path)}</b>"))

    def __reduce__(self) -> tuple[Any, ...]:
        return _open.member_of, (self._file, self.path)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return ("sciformats.Array", *self._file._address.token(), self.path)


__all__ = ["Array", "Attributes", "File", "Group"]
