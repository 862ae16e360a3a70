"""Views of a dataset, which read its elements as another type, as ``str``, or only some fields of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sciformats.h5 import _convert

if TYPE_CHECKING:
    from sciformats.h5._dataset import Dataset


class View:
    """What all views have."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __len__(self) -> int:
        return len(self._dataset)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of the dataset."""
        return self._dataset.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions of the dataset."""
        return self._dataset.ndim

    @property
    def size(self) -> int | None:
        """The number of elements of the dataset."""
        return self._dataset.size

    def __getitem__(self, key: Any) -> Any:
        raise NotImplementedError

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = True) -> NDArray[Any]:
        if copy is False:
            raise ValueError("elements of a file are always copied: memory allocation cannot be avoided")
        array = np.asarray(self[()])
        return array if dtype is None else array.astype(dtype, copy=False)


class AstypeView(View):
    """The view ``dataset.astype(t)[…]``."""

    def __init__(self, dataset: Dataset, dtype: np.dtype[Any]) -> None:
        super().__init__(dataset)
        self._dtype = dtype

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type as which elements are read."""
        return self._dtype

    def __getitem__(self, key: Any) -> Any:
        found = self._dataset[key]
        if self._dataset.shape is None:
            return found
        if self._dtype.kind == "T":
            texts = np.vectorize(lambda item: item.decode(), otypes=[object])(np.asarray(found, object))
            return texts.astype(self._dtype)[()]
        array = _convert.read_as(found, self._dtype)
        return array if isinstance(found, np.ndarray) else array[()]


class AsStrView(View):
    """The view ``dataset.asstr()[…]``."""

    def __init__(self, dataset: Dataset, encoding: str, errors: str) -> None:
        super().__init__(dataset)
        self._encoding, self._errors = encoding, errors

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of objects, because the elements are ``str``."""
        return np.dtype("O")

    def __getitem__(self, key: Any) -> Any:
        found = self._dataset[key]
        if self._dataset.shape is None:
            return found
        if isinstance(found, bytes):
            return found.decode(self._encoding, self._errors)
        array = np.empty(found.shape, object)
        for index in np.ndindex(found.shape):
            array[index] = found[index].decode(self._encoding, self._errors)
        return array


class FieldsView(View):
    """The view ``dataset.fields(names)[…]``."""

    def __init__(self, dataset: Dataset, names: str | list[str]) -> None:
        super().__init__(dataset)
        self._names = names

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the field, or of the record of fields."""
        if isinstance(self._names, str):
            return self._dataset.dtype[self._names]
        return np.dtype([(name, self._dataset.dtype[name]) for name in self._names])

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        names = (self._names,) if isinstance(self._names, str) else tuple(self._names)
        chosen = tuple(part for part in parts if isinstance(part, str))
        for name in chosen:
            if name not in names:
                raise ValueError(f"Field {name} does not appear in this type.")
        if chosen or isinstance(self._names, str) or len(names) > 1 or self._dataset.shape is None:
            return self._dataset[parts if chosen else (*names, *parts)]
        # A list of one name asks for a compound.
        found = np.asarray(self._dataset[(*names, *parts)])
        record = np.zeros(found.shape[: found.ndim - self.dtype[0].ndim], self.dtype)
        record[self._names[0]] = found
        return record if record.shape else record[()]
