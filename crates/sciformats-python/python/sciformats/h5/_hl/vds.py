"""The public names of h5py's private module ``_hl.vds``."""

from sciformats.h5._virtual import VirtualLayout, VirtualSource

__all__ = ["VirtualLayout", "VirtualSource"]
