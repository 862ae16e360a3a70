"""The public names of h5py's private module ``_hl.files``."""

from sciformats.h5._file import File

__all__ = ["File"]
