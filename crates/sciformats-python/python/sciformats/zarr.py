"""Codecs of zarr-python, with which readers of Zarr 3 decode the chunks of HDF5 and Blosc2 files that no other codec can.

zarr-python finds them by their entry points, so nothing has to be imported. They are those of :mod:`sciformats.numcodecs`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from zarr.abc.codec import BytesBytesCodec
from zarr.core.array_spec import ArraySpec
from zarr.core.buffer import Buffer

from sciformats.numcodecs import undo_blosc2, undo_hdf5

if TYPE_CHECKING:
    # Python 3.10 does not have it in `typing`.
    from typing_extensions import Self

__all__ = ["Blosc2", "Hdf5"]


@dataclass(frozen=True)
class _Reading(BytesBytesCodec):
    """A codec that only decodes; its configuration is that of the codec of the same name in numcodecs."""

    config: tuple[tuple[str, Any], ...]

    is_fixed_size = False
    name: ClassVar[str] = ""
    undo: ClassVar[Callable[[dict[str, Any], bytes], bytes]] = staticmethod(undo_hdf5)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make the codec of its configuration."""
        return cls(tuple(sorted(data["configuration"].items())))

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration."""
        return {"name": self.name, "configuration": dict(self.config)}

    async def _decode_single(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> Buffer:
        decoded = await asyncio.to_thread(type(self).undo, dict(self.config), chunk_data.to_bytes())
        return chunk_spec.prototype.buffer.from_bytes(decoded)

    async def _encode_single(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> Buffer | None:
        raise NotImplementedError(f"{self.name} only decodes")

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        """Fail: the size follows from the elements."""
        raise NotImplementedError


@dataclass(frozen=True)
class Hdf5(_Reading):
    """A pipeline of filters of HDF5; see :class:`sciformats.numcodecs.Hdf5`."""

    name: ClassVar[str] = "sciformats.hdf5"
    undo: ClassVar[Callable[[dict[str, Any], bytes], bytes]] = staticmethod(undo_hdf5)


@dataclass(frozen=True)
class Blosc2(_Reading):
    """A chunk of Blosc2; see :class:`sciformats.numcodecs.Blosc2`."""

    name: ClassVar[str] = "sciformats.blosc2"
    undo: ClassVar[Callable[[dict[str, Any], bytes], bytes]] = staticmethod(undo_blosc2)
