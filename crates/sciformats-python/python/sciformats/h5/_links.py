"""The kinds of links in a group."""

from __future__ import annotations

import os
from typing import Any

from sciformats.errors import NotSupported
from sciformats.h5 import _names


class HardLink:
    """A link to an object of the file."""


class SoftLink:
    """A path in the file, which is resolved when the link is followed."""

    def __init__(self, path: Any) -> None:
        self._path = str(_names.inner(path))

    @property
    def path(self) -> Any:
        """The path: ``str``, or ``bytes`` if it is not UTF-8."""
        return _names.outer(self._path)

    def __repr__(self) -> str:
        return f'<SoftLink to "{self.path}">'


class ExternalLink:
    """A path in another file."""

    def __init__(self, filename: Any, path: Any) -> None:
        self._filename = os.fsdecode(filename)
        self._path = str(_names.inner(path))

    @property
    def path(self) -> Any:
        """The path in that file: ``str``, or ``bytes`` if it is not UTF-8."""
        return _names.outer(self._path)

    @property
    def filename(self) -> str:
        """The file."""
        return self._filename

    def __repr__(self) -> str:
        return f'<ExternalLink to "{self.path}" in file "{self.filename}"'


def check(lapl: Any) -> None:
    """Refuse a property list by which links would be followed in another way.

    Raises
    ------
    NotSupported
        If it names a folder, flags or a property list for the files to which external links lead.
    """
    if lapl is not None and lapl.is_special:
        text = "a folder, flags or a property list for the files of external links are not supported: they are found beside their file"
        raise NotSupported(text)
