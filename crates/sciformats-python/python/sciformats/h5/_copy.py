"""Copies of objects."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, NamedTuple

from sciformats.h5._opened import commit_all
from sciformats.h5._writing import refusing


class Options(NamedTuple):
    """What a copy contains."""

    shallow: bool
    expand_soft: bool
    expand_external: bool
    expand_refs: bool
    without_attrs: bool


def copy(source: Any, group: Any, name: str, options: Options) -> None:
    """Copy an object into a group: everything stays as it is stored. If that is not possible, nothing of the copy stays.

    Raises
    ------
    RuntimeError
        If the name exists, its path leads nowhere, or the file was opened for reading.
    NotSupported
        If the copy would not show the same elements, because they are in other files.
    """
    if options.expand_refs:
        raise NotImplementedError("copies of what references lead to are not supported")
    path = group._target(name, "copy")
    origin, target = source._file_of, group._file_of
    if options.expand_external:
        # Links are followed in the files as they are stored.
        commit_all()
    with ExitStack() as locks:
        # Always in the same order, so that two copies never wait for each other.
        for lock in sorted((origin._lock, target._lock), key=id):
            locks.enter_context(lock)
        origin.check_open()
        node = origin.at(source._address) if source._found is None else source._found
        within = origin.editor is not None and origin.editor is target.editor
        with refusing("copy"):
            target.change("copy", path, node, within, (options.shallow, options.expand_soft, options.expand_external, options.without_attrs))
