"""Attributes of objects, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sciformats.h5 import _types

if TYPE_CHECKING:
    from sciformats.h5._objects import HLObject


class AttributeManager(Mapping[str, Any]):
    """The attributes of an object: ``attrs`` of files, groups, datasets and types."""

    def __init__(self, parent: HLObject) -> None:
        self._parent = parent

    def _all(self) -> dict[str, tuple[Any, ...]]:
        return self._parent._attributes()

    def __getitem__(self, name: str) -> Any:
        if isinstance(name, bytes):
            name = name.decode()
        try:
            described, shape, _, data, _ = self._all()[name]
        except KeyError:
            raise KeyError(
                f"Unable to synchronously open attribute (can't locate attribute: '{name}')"
            ) from None
        if isinstance(data, Exception):
            raise data
        if shape is None:
            return _types.Empty(_types.dtype_of(described))
        value = _types.shaped(data, described, tuple(shape))
        string = _types.check_string_dtype(_types.dtype_of(described))
        if string is not None and string.length is None:
            # As in h5py, texts of attributes are str, and texts of datasets are bytes.
            for index in np.ndindex(value.shape):
                text: Any = value[index]
                value[index] = text.decode("utf-8", "surrogateescape")
        if value.ndim == 0:
            return value[()]
        return value

    def get_id(self, name: str) -> AttributeID:
        """Return the type and the shape of an attribute."""
        if name not in self:
            raise KeyError(f"Unable to synchronously open attribute (can't locate attribute: '{name}')")
        described, shape, *_ = self._all()[name]
        return AttributeID(name, _types.dtype_of(described), None if shape is None else tuple(shape))

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._all()))

    def __len__(self) -> int:
        return len(self._all())

    def __contains__(self, name: object) -> bool:
        if isinstance(name, bytes):
            name = name.decode()
        return name in self._all()

    def __repr__(self) -> str:
        return f"<Attributes of HDF5 object at {id(self._parent)}>"


class AttributeID:
    """The type and shape of an attribute."""

    def __init__(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...] | None) -> None:
        self.name = name.encode()
        self.dtype = dtype
        self.shape = shape
