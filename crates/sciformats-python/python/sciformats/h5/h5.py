"""General calls and constants of the low-level interface."""

from __future__ import annotations

from sciformats.h5._config import get_config
from sciformats.h5.version import hdf5_version_tuple

__all__ = ["get_config", "get_libversion"]

#: The order of links or attributes: by name, or by creation.
INDEX_NAME, INDEX_CRT_ORDER = range(2)
#: The direction in which links or attributes are gone through.
ITER_INC, ITER_DEC, ITER_NATIVE = range(3)


def get_libversion() -> tuple[int, int, int]:
    """Return the version of the C library whose behaviour this package has."""
    return hdf5_version_tuple
