"""The public names of h5py's private module ``_hl.group``."""

from sciformats.h5._links import ExternalLink, HardLink, SoftLink
from sciformats.h5._group import Group

__all__ = ["ExternalLink", "Group", "HardLink", "SoftLink"]
