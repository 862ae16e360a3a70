"""The filters, of which all that the package knows are built in."""

from __future__ import annotations

FILTER_ERROR = -1
FILTER_NONE = 0
FILTER_ALL = 0
FILTER_DEFLATE = 1
FILTER_SHUFFLE = 2
FILTER_FLETCHER32 = 3
FILTER_SZIP = 4
FILTER_NBIT = 5
FILTER_SCALEOFFSET = 6
FILTER_RESERVED = 256
FILTER_LZF = 32000
FILTER_MAX = 65535
#: Data of a filter can be written, or read.
FILTER_CONFIG_ENCODE_ENABLED, FILTER_CONFIG_DECODE_ENABLED = 1, 2
FLAG_MANDATORY, FLAG_OPTIONAL, FLAG_DEFMASK, FLAG_REVERSE, FLAG_SKIP_EDC, FLAG_INVMASK = 0, 1, 0xFF, 0x100, 0x200, 0xFF00
ERROR_EDC, DISABLE_EDC, ENABLE_EDC, NO_EDC = range(-1, 3)
SO_FLOAT_DSCALE, SO_FLOAT_ESCALE, SO_INT, SO_INT_MINBITS_DEFAULT = 0, 1, 2, 0
SZIP_ALLOW_K13_OPTION_MASK, SZIP_CHIP_OPTION_MASK, SZIP_EC_OPTION_MASK, SZIP_NN_OPTION_MASK = 1, 2, 4, 32
SZIP_MAX_PIXELS_PER_BLOCK = 32

_BUILT_IN = frozenset({1, 2, 3, 4, 5, 6, 307, 32000, 32001, 32004, 32008, 32015, 32026})


def filter_avail(filter_code: int) -> bool:
    """Return whether data of a filter can be read and written."""
    return filter_code in _BUILT_IN


def get_filter_info(filter_code: int) -> int:
    """Return whether data of a filter can be written and read: the sum of ``FILTER_CONFIG_ENCODE_ENABLED`` and
    ``FILTER_CONFIG_DECODE_ENABLED``.

    Raises
    ------
    RuntimeError
        If the filter is not known.
    """
    if not filter_avail(filter_code):
        raise RuntimeError(f"Filter info not retrieved (required filter {filter_code} is not registered)")
    return FILTER_CONFIG_ENCODE_ENABLED | FILTER_CONFIG_DECODE_ENABLED
