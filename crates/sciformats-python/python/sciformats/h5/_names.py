"""Names of links, attributes and members, which are bytes in HDF5 and need not be UTF-8.

Within the package a name is a text in which a lone surrogate stands for each byte that is not UTF-8. Callers see ``bytes`` instead, as
in h5py, and may pass them wherever a name is expected.
"""

from __future__ import annotations

from typing import Any


def inner(name: Any) -> Any:
    """Return a name as it is used within the package; what is neither ``bytes`` nor ``str`` stays as it is."""
    return name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else name


def outer(name: str) -> Any:
    """Return a name as callers see it: ``bytes`` if it is not UTF-8, and otherwise ``str``."""
    if name.isascii():
        return name
    stored = encoded(name)
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return stored


def encoded(name: str | bytes) -> bytes:
    """Return a name as it is stored."""
    return name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")


def last(path: str | None) -> Any:
    """Return the last name on a path as callers see it."""
    return outer((path or "").rsplit("/", 1)[-1])


def shown(name: str) -> str:
    """Return a name as a text for programs that only know texts, as the program ``sciformats`` prints it: a byte that is not UTF-8 is
    ``\\xNN``. In a name that needs this, or that itself contains a backslash followed by ``x``, every backslash is doubled.
    """
    escaped = "".join(f"\\x{ord(each) - 0xDC00:02x}" if "\udc80" <= each <= "\udcff" else each for each in name.replace("\\", "\\\\"))
    return escaped if "\\x" in name or escaped != name.replace("\\", "\\\\") else name
