"""Codecs of numcodecs, with which readers of Zarr 2 decode the chunks of HDF5 and Blosc2 files that no other codec can.

numcodecs finds them by their entry points, so nothing has to be imported. They only decode: what they read was written by another
library.

=====================  =================================================================================================
``sciformats.hdf5``    undoes a whole pipeline of HDF5: szip, LZF, LZ4, bitshuffle, n-bit, scale-offset, zfp, and all others
                       that this package reads, also where some chunks skip filters
``sciformats.blosc2``  decodes a chunk of Blosc2, and arranges its blocks in the order of the elements
=====================  =================================================================================================
"""

from __future__ import annotations

from typing import Any

from numcodecs.abc import Codec
from numcodecs.compat import ensure_bytes, ndarray_copy

from sciformats import _sciformats

__all__ = ["Blosc2", "Hdf5"]


def undo_hdf5(config: dict[str, Any], chunk: bytes) -> bytes:
    """Undo the filters of a chunk."""
    # Chunks whose stored size is that of their elements may skip other filters than those whose size is not.
    mask = config["mask_plain"] if len(chunk) == config["size"] else config["mask"]
    filters = [(int(number), [int(value) for value in values]) for number, values in config["filters"]]
    return _sciformats.undo_hdf5(filters, mask, chunk, config["size"])


def undo_blosc2(config: dict[str, Any], chunk: bytes) -> bytes:
    """Decode a chunk."""
    return _sciformats.undo_blosc2(chunk, (list(config["chunks"]), list(config["blocks"])), config["itemsize"])


class _Reading(Codec):  # type: ignore[misc]
    def encode(self, buf: Any) -> Any:
        """Fail: these codecs only decode."""
        raise NotImplementedError(f"{self.codec_id} only decodes")


class Hdf5(_Reading):
    """A pipeline of filters of HDF5.

    Parameters
    ----------
    filters : list of (int, list of int)
        The number of each filter and its parameters, in the order of encoding.
    size : int
        The number of bytes of the elements of a chunk.
    mask, mask_plain : int
        The filters that chunks skip, one bit each: chunks that are stored in another size than ``size``, and the others.
    """

    codec_id = "sciformats.hdf5"

    def __init__(self, filters: list[Any], size: int, mask: int = 0, mask_plain: int = 0) -> None:
        self.filters = filters
        self.size = size
        self.mask = mask
        self.mask_plain = mask_plain

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Return the elements of a chunk."""
        config = {"filters": self.filters, "size": self.size, "mask": self.mask, "mask_plain": self.mask_plain}
        return ndarray_copy(undo_hdf5(config, ensure_bytes(buf)), out)


class Blosc2(_Reading):
    """A chunk of Blosc2.

    Parameters
    ----------
    chunks, blocks : list of int
        The shapes of chunks and of blocks.
    itemsize : int
        The number of bytes of an element.
    """

    codec_id = "sciformats.blosc2"

    def __init__(self, chunks: list[int], blocks: list[int], itemsize: int) -> None:
        self.chunks = chunks
        self.blocks = blocks
        self.itemsize = itemsize

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Return the elements of a chunk."""
        config = {"chunks": self.chunks, "blocks": self.blocks, "itemsize": self.itemsize}
        return ndarray_copy(undo_blosc2(config, ensure_bytes(buf)), out)
