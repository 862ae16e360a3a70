"""Gives datasets of HDF5 files other chunks and filters on a cluster of Dask.

The workers read and encode; each stored chunk is read by one task. The caller's process alone writes the new file, which takes its
place when it is complete. Everything else of the file is kept, as by the command ``sciformats repack``.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sciformats import _sciformats, h5

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["repack"]

#: A filter of HDF5: its number, whether it is optional, and its parameters.
_Filter = tuple[int, bool, list[int]]
#: A new chunk: its indices, the mask of the filters that were skipped, and its bytes.
_Chunk = tuple[list[int], int, bytes]


def repack(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    chunks: Sequence[int] | Mapping[str, Sequence[int]] | None = None,
    filter: str | None = None,
    level: int | None = None,
    client: Client | None = None,
    block_bytes: int = 1 << 26,
    overwrite: bool = False,
) -> list[tuple[str, str]]:
    """Write an HDF5 file anew, with other chunks or another filter.

    Parameters
    ----------
    source, target : str or path
        The old and the new file. The workers need to see ``source`` under the same path.
    chunks : sequence of int, or dict, optional
        The shape of the new chunks of all datasets, or for each path, in which ``*`` stands for any characters, that of its datasets.
        What is not named keeps its chunks; a path without a dataset is an error.
    filter : str, optional
        The filter of these datasets, as for ``sciformats repack --filter``; by default they keep theirs.
    level : int, optional
        The level of the filter.
    client : distributed.Client, optional
        The cluster; by default the current one. Without a cluster, the caller's process encodes the chunks.
    block_bytes : int, optional
        The size of the blocks that a task reads or encodes, in bytes of elements. Datasets that are not larger are encoded in the
        caller's process.
    overwrite : bool, optional
        Whether ``target`` may exist. It is replaced when the new file is complete.

    Returns
    -------
    list of (str, str)
        What could not be kept: a path, and what became of it.

    Raises
    ------
    FileExistsError
        If ``target`` exists, unless ``overwrite`` is given.
    ValueError
        If there is a filter or a level, and ``chunks`` is an empty dict, so that they are for no dataset.
    sciformats.errors.Error
        If the file cannot be read or written; ``target`` is then what it was.

    Examples
    --------
    >>> import sciformats.dask, sciformats.h5 as h5
    >>> with h5.File("rows.h5", "w") as file:
    ...     _ = file.create_dataset("u", data=np.arange(12.0).reshape(4, 3), chunks=(1, 3))
    >>> sciformats.dask.repack("rows.h5", "columns.h5", chunks={"/u": (4, 1)})
    []
    >>> h5.File("columns.h5")["u"].chunks
    (4, 1)
    """
    source, target = os.path.abspath(source), os.path.abspath(target)
    if not overwrite and os.path.lexists(target):
        raise FileExistsError(17, "the file exists already; overwrite=True replaces it", target)
    if isinstance(chunks, Mapping) and not chunks and (filter is not None or level is not None):
        raise ValueError("chunks= names no datasets, so there are none for filter= and level=")
    rules: Mapping[Any, Sequence[int] | None] = chunks if isinstance(chunks, Mapping) else {None: chunks}
    changes = [(path, None if sides is None else list(sides), filter, level) for path, sides in rules.items()]
    cluster = client or _current_client()

    def supply(path: str, shape: list[int], sides: list[int], filters: list[_Filter], fill: bytes) -> Any:
        if cluster is None or math.prod(shape) * len(fill) <= block_bytes:
            return None
        return _Recoding(h5.File(source)[path], sides, filters, fill, block_bytes).chunks(cluster)

    return _sciformats.repack_hdf5(source, target, changes, supply)


def _current_client() -> Client | None:
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


class _Elements:
    """The stored bytes of the elements of a dataset, as an array that Dask divides and that travels to workers by its path."""

    def __init__(self, dataset: h5.Dataset, size: int) -> None:
        self.dataset = dataset
        self.shape: tuple[int, ...] = dataset.shape or ()
        self.ndim = len(self.shape)
        self.dtype = np.dtype((np.void, size))

    def __getitem__(self, key: tuple[slice, ...]) -> np.ndarray[Any, Any]:
        bounds = [part.indices(length)[:2] for part, length in zip(key, self.shape)]
        found: np.ndarray[Any, Any] = self.dataset._node.read([(start, stop - start, 1) for start, stop in bounds])
        return found.view(self.dtype).reshape([stop - start for start, stop in bounds])


class _Recoding:
    """A dataset whose elements move into other chunks."""

    def __init__(
        self, dataset: h5.Dataset, sides: list[int], filters: list[_Filter], fill: bytes, block_bytes: int
    ) -> None:
        self.elements = _Elements(dataset, len(fill))
        self.shape = self.elements.shape
        self.sides, self.filters, self.fill = sides, filters, fill
        most = max(1, block_bytes // len(fill))
        # Elements that are stored one after another are read in rows.
        self.stored_sides = list(dataset.chunks or [1] * (len(self.shape) - 1) + [self.shape[-1]])
        self.read = _grown(self.stored_sides, sides, self.shape, most)
        self.written = _grown(sides, self.stored_sides, self.shape, most)
        self.stored = self._stored(dataset)

    def _stored(self, dataset: h5.Dataset) -> np.ndarray[Any, Any] | None:
        """Return which chunks are stored, if there are chunks: what is missing stays out of the new file."""
        if dataset.chunks is None:
            return None
        stored = np.zeros([-(-length // side) for length, side in zip(self.shape, self.stored_sides)], bool)
        for corner, *_ in dataset._node.chunks():
            stored[tuple(at // side for at, side in zip(corner, self.stored_sides))] = True
        return stored

    def _touches(self, start: Sequence[int], stop: Sequence[int]) -> bool:
        """Return whether a box has elements of a stored chunk."""
        if self.stored is None:
            return True
        return bool(self.stored[tuple(slice(a // s, -(-b // s)) for a, b, s in zip(start, stop, self.stored_sides))].any())

    def _places(self, start: Sequence[int], stop: Sequence[int]) -> list[list[int]]:
        """Return the indices of the new chunks of a box that have elements of a stored chunk."""
        ranges = [range(a // side, -(-b // side)) for a, b, side in zip(start, stop, self.sides)]
        found = []
        for place in itertools.product(*ranges):
            first = [at * side for at, side in zip(place, self.sides)]
            last = [min(at + side, length) for at, side, length in zip(first, self.sides, self.shape)]
            if self._touches(first, last):
                found.append(list(place))
        return found

    def chunks(self, client: Client) -> Iterator[_Chunk]:
        """Return the new chunks as the cluster encodes them."""
        import dask.array
        from dask.delayed import delayed
        from distributed import as_completed

        cluster: Any = client
        meta = np.empty((0,) * len(self.shape), self.elements.dtype)
        options: Any = {"chunks": tuple(self.read), "meta": meta, "asarray": False}
        old = dask.array.from_array(self.elements, **options)  # type: ignore[no-untyped-call]
        new = old.rechunk(tuple(self.written), method="tasks")
        encode: Any = delayed(_encode, pure=True)
        tasks = []
        for index, block in np.ndenumerate(new.to_delayed()):
            start = [at * side for at, side in zip(index, self.written)]
            stop = [min(at + side, length) for at, side, length in zip(start, self.written, self.shape)]
            places = self._places(start, stop)
            if places:
                tasks.append(encode(block, start, places, self.sides, self.filters, self.fill))
        futures = cluster.compute(tasks)
        try:
            # One result at a time is fetched, so that the others wait where they were made.
            for future in as_completed(list(futures)):  # type: ignore[no-untyped-call]
                yield from future.result()
                future.release()
        finally:
            cluster.cancel(futures)


def _grown(sides: Sequence[int], toward: Sequence[int], shape: Sequence[int], most: int) -> list[int]:
    """Return the sides of blocks of whole chunks with at most so many elements, if a chunk does not have more.

    They grow toward the chunks on the other side first, so that few blocks have to be divided, and then to longer rows.
    """
    grown = list(sides)
    for goals in (toward, shape):
        for axis in reversed(range(len(shape))):
            others = math.prod(grown) // grown[axis]
            possible = most // others // sides[axis]
            wanted = -(-min(goals[axis], shape[axis]) // sides[axis])
            grown[axis] = max(grown[axis], sides[axis] * min(possible, wanted))
    return grown


def _encode(
    block: np.ndarray[Any, Any],
    start: Sequence[int],
    places: list[list[int]],
    sides: Sequence[int],
    filters: list[_Filter],
    fill: bytes,
) -> list[_Chunk]:
    """Encode the chunks at some places of a block that begins at ``start``. Beyond the dataset they have the fill value."""
    encoded = []
    for place in places:
        part = block[tuple(slice(at * side - a, at * side - a + side) for at, side, a in zip(place, sides, start))]
        if part.shape != tuple(sides):
            whole = np.empty(sides, block.dtype)
            whole[...] = np.frombuffer(fill, block.dtype)[0]
            whole[tuple(slice(0, n) for n in part.shape)] = part
            part = whole
        mask, stored = _sciformats.apply_hdf5(filters, np.ascontiguousarray(part).tobytes())
        encoded.append((place, mask, stored))
    return encoded
