"""The kinds of links in a group."""

from __future__ import annotations

import os
from typing import Any


class HardLink:
    """A link to an object of the file."""


class SoftLink:
    """A path in the file, which is resolved when the link is followed."""

    def __init__(self, path: str) -> None:
        self._path = str(path)

    @property
    def path(self) -> str:
        """The path."""
        return self._path

    def __repr__(self) -> str:
        return f'<SoftLink to "{self.path}">'


class ExternalLink:
    """A path in another file."""

    def __init__(self, filename: Any, path: str) -> None:
        self._filename = os.fsdecode(filename)
        self._path = str(path)

    @property
    def path(self) -> str:
        """The path in that file."""
        return self._path

    @property
    def filename(self) -> str:
        """The file."""
        return self._filename

    def __repr__(self) -> str:
        return f'<ExternalLink to "{self.path}" in file "{self.filename}"'
