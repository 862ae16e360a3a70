"""The public names of h5py's private module ``_hl.datatype``."""

from sciformats.h5._objects import Datatype

__all__ = ["Datatype"]
