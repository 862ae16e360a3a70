"""A parser for VirtualiZarr, which reads files of all formats of this package.

>>> from obspec_utils.registry import ObjectStoreRegistry
>>> from obstore.store import LocalStore
>>> from sciformats.virtual import parser
>>> from virtualizarr import open_virtual_dataset
>>> registry = ObjectStoreRegistry({"file://": LocalStore()})
>>> data = open_virtual_dataset("file:///data/climate.nc", registry=registry, parser=parser)  # doctest: +SKIP

Each array is referenced, or inlined in decoded form, or left out with a warning that tells why. Nothing is left out in silence.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote, urlparse

from sciformats import _sciformats

__all__ = ["Parser", "parser"]


class Parser:
    """A parser of VirtualiZarr.

    Parameters
    ----------
    group : str, optional
        The group whose arrays are read; the root by default.
    skip : iterable of str
        The names of arrays that are left out.
    inline : int
        The largest array in bytes that is inlined if its chunks cannot be referenced.
    codecs : bool
        Whether chunks may need the codecs of this package, which readers must have installed then.
    """

    def __init__(
        self,
        *,
        group: str | None = None,
        skip: Iterable[str] = (),
        inline: int = 4 << 20,
        codecs: bool = True,
    ) -> None:
        self.group = group
        self.skip = frozenset(skip)
        self.inline = inline
        self.codecs = codecs

    def __call__(self, url: str, registry: Any) -> Any:
        """Return a ``ManifestStore`` of the file at ``url``.

        Parameters
        ----------
        url : str
            The absolute URL of the file.
        registry : ObjectStoreRegistry
            The stores from which files are read.

        Returns
        -------
        virtualizarr.manifests.ManifestStore
            The arrays of the file.
        """
        from virtualizarr.manifests import ManifestStore
        from virtualizarr.parsers.kerchunk.translator import manifestgroup_from_kerchunk_refs

        refs, entries = self.references(url, registry)
        for path, word, sentence in entries:
            if word == "refused":
                warnings.warn(f"{path} is left out: {sentence}", UserWarning, stacklevel=2)
        group = manifestgroup_from_kerchunk_refs(refs, group=self.group, skip_variables=list(self.skip))
        return ManifestStore(group, registry=registry)

    def references(self, url: str, registry: Any) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
        """Return references to a file in the form of kerchunk, and what became of each of its objects."""
        parts = urlparse(url)
        where: dict[str, Any]
        if parts.scheme in ("", "file"):
            where = {"path": unquote(parts.path)}
        else:
            store, path = registry.resolve(url)
            size = store.head(path)["size"]

            def get(ranges: list[tuple[int, int]]) -> list[bytes]:
                found = store.get_ranges(path, starts=[start for start, _ in ranges], ends=[end for _, end in ranges])
                return [bytes(part) for part in found]

            where = {"store": (size, get)}
        text, entries = _sciformats.references(url, inline=self.inline, codecs=self.codecs, **where)
        refs = json.loads(text)
        # Templates keep the URL out of every reference; the translator does not know them.
        places = refs["refs"]
        names = {"{{" + name + "}}": url for name, url in refs.pop("templates").items()}
        for key, place in places.items():
            if isinstance(place, list):
                place[0] = names.get(place[0], place[0])
            elif key.endswith((".zarray", ".zattrs", ".zgroup")):
                continue
        return refs, entries


parser = Parser()
"""The parser with its usual options."""
