"""The filters, of which all that the package knows are built in."""

from __future__ import annotations

FILTER_DEFLATE = 1
FILTER_SHUFFLE = 2
FILTER_FLETCHER32 = 3
FILTER_SZIP = 4
FILTER_NBIT = 5
FILTER_SCALEOFFSET = 6
FILTER_LZF = 32000

_BUILT_IN = frozenset({1, 2, 3, 4, 5, 6, 307, 32000, 32001, 32004, 32008, 32015, 32026})


def filter_avail(filter_code: int) -> bool:
    """Return whether data of a filter can be read and written."""
    return filter_code in _BUILT_IN
