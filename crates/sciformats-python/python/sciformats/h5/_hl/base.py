"""The public names of h5py's private module ``_hl.base``."""

from sciformats.h5._objects import HLObject
from sciformats.h5._types import Empty

__all__ = ["Empty", "HLObject"]
