"""Objects that stand for a filter with its parameters, such as those of ``hdf5plugin``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: The names that ``compression=`` and the keywords of single filters know. Each can be applied and undone.
encode = frozenset(("shuffle", "fletcher32", "scaleoffset", "gzip", "szip", "lzf"))
decode = encode

#: The keywords of ``create_dataset`` that an object provides, and the attributes that hold their values.
_KEYWORDS = {"compression": "filter_id", "compression_opts": "filter_options"}


class FilterRefBase(Mapping[str, Any]):
    """The base class of filters that a program or another package defines.

    The object itself can be the value of ``compression``, or be unpacked into keywords with ``**``.

    Attributes
    ----------
    filter_id : int
        The registered number. Each class derived from this one has its own.
    filter_options : tuple of int
        What is stored in the file as the parameters. By default there are none.
    """

    filter_id: int | None = None
    filter_options: tuple[int, ...] = ()

    def __iter__(self) -> Iterator[str]:
        return iter(_KEYWORDS)

    def __len__(self) -> int:
        return len(_KEYWORDS)

    def __getitem__(self, keyword: str) -> Any:
        return getattr(self, _KEYWORDS[keyword])

    # A mapping compares its items; equal ones have to hash alike.
    def __hash__(self) -> int:
        return hash(frozenset(self.items()))


class Gzip(FilterRefBase):
    """Deflate. ``level`` is 0 (fastest) to 9 (smallest)."""

    filter_id = 1

    def __init__(self, level: int = 4) -> None:
        self.filter_options = (level,)
