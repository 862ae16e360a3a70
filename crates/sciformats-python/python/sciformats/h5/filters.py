"""Filters with their parameters, for ``create_dataset(compression=...)``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: The names of the filters that can be undone, and of those that can be applied.
decode = frozenset({"gzip", "lzf", "szip", "shuffle", "fletcher32", "scaleoffset"})
encode = decode


class FilterRefBase(Mapping[str, Any]):
    """A filter with its parameters: ``compression=filter``, or ``**filter`` in older programs.

    A subclass sets ``filter_id``, the number of the filter, and may set ``filter_options``, its parameters.
    """

    filter_id: int | None = None
    filter_options: tuple[int, ...] = ()

    def __getitem__(self, keyword: str) -> Any:
        if keyword == "compression":
            return self.filter_id
        if keyword == "compression_opts":
            return self.filter_options
        raise KeyError(keyword)

    def __iter__(self) -> Iterator[str]:
        yield "compression"
        yield "compression_opts"

    def __len__(self) -> int:
        return 2

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FilterRefBase) and dict(self) == dict(other)

    def __hash__(self) -> int:
        return hash(tuple(self.items()))


class Gzip(FilterRefBase):
    """Deflate, with a level from 0 to 9."""

    filter_id = 1

    def __init__(self, level: int = 4) -> None:
        self.filter_options = (level,)
