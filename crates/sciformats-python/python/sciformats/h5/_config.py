"""The settings of this module."""

from __future__ import annotations


class Config:
    """What ``get_config`` returns.

    Attributes
    ----------
    track_order : bool
        Whether new files keep the order in which members and attributes were created, unless they are told otherwise.
    complex_names, bool_names : tuple
        The names that complex numbers and truth values have in files.
    """

    def __init__(self) -> None:
        self.track_order = False
        self.complex_names = ("r", "i")
        self.bool_names = (b"FALSE", b"TRUE")
        self.default_file_mode = "r"
        self.mpi = False
        self.ros3 = False
        self.direct_vfd = False
        self.has_native_complex = False


_CONFIG = Config()


def get_config() -> Config:
    """Return the settings, which can be changed."""
    return _CONFIG
