"""The public names of h5py's private module ``_hl.attrs``."""

from sciformats.h5._attributes import AttributeManager

__all__ = ["AttributeManager"]
