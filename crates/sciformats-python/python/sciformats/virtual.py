"""A parser for VirtualiZarr, which reads files of all formats of this package.

With VirtualiZarr and obstore, it is used like this::

    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from sciformats.virtual import parser
    from virtualizarr import open_virtual_dataset

    registry = ObjectStoreRegistry({"file://": LocalStore()})
    data = open_virtual_dataset("file:///data/climate.nc", registry=registry, parser=parser)

Each array is referenced, or inlined in decoded form, or left out with a warning that tells why. No array is left out in silence; scalars of
a tree, which are no arrays, are not part of what the parser returns.
"""

# Checkers of annotations run without VirtualiZarr, which needs other versions of Python than this package.
# pyright: reportMissingImports=false

from __future__ import annotations

import base64
import json
import warnings
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote, urlparse

import numpy

from sciformats import _sciformats

__all__ = ["Parser", "parser"]


class Parser:
    """A parser of VirtualiZarr.

    Parameters
    ----------
    group : str, optional
        The group whose arrays are read; the root by default.
    skip : str or iterable of str
        The name or the names of arrays that are left out.
    inline : int
        The largest array in bytes that is inlined if its chunks cannot be referenced.
    codecs : bool
        Whether chunks may need the codecs of this package, which readers must have installed then.
    """

    def __init__(
        self,
        *,
        group: str | None = None,
        skip: str | Iterable[str] = (),
        inline: int = 4 << 20,
        codecs: bool = True,
    ) -> None:
        self.group = group
        self.skip = frozenset([skip] if isinstance(skip, str) else skip)
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

        refs, entries = self.references(url, registry)
        for path, word, sentence in entries:
            if word == "refused":
                warnings.warn(f"{path} is left out: {sentence}", UserWarning, stacklevel=2)
        return ManifestStore(self._group(refs["refs"], self.group or ""), registry=registry)

    def _group(self, refs: dict[str, Any], path: str) -> Any:
        """Return a group with everything in it."""
        from virtualizarr.manifests import ManifestGroup
        start = f"{path.strip('/')}/" if path.strip("/") else ""
        inside = {key[len(start) :]: value for key, value in refs.items() if key.startswith(start)}
        if ".zgroup" not in inside:
            raise KeyError(f"there is no group {path}")
        members = {key.split("/")[0]: key for key in inside if key.count("/") == 1 and key.endswith(("/.zarray", "/.zgroup"))}
        arrays = [name for name, key in members.items() if key.endswith(".zarray") and name not in self.skip]
        groups = [name for name, key in members.items() if key.endswith(".zgroup")]
        attributes = json.loads(inside.get(".zattrs", "{}"))
        found = {}
        for name in arrays:
            try:
                found[name] = _array(inside, name)
            except (TypeError, ValueError) as error:
                # Zarr 3 has fewer types than NumPy.
                warnings.warn(f"/{start}{name} is left out: {error}", UserWarning, stacklevel=2)
        return ManifestGroup(
            arrays=found,
            groups={name: self._group(refs, f"{start}{name}") for name in groups},
            attributes=attributes,
        )

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
        for place in places.values():
            if isinstance(place, list):
                place[0] = names.get(place[0], place[0])
        return refs, entries


def _array(refs: dict[str, Any], name: str) -> Any:
    """Return the array of that name."""
    from virtualizarr.manifests import ChunkManifest, ManifestArray

    zarray = json.loads(refs[f"{name}/.zarray"])
    zattrs = json.loads(refs.get(f"{name}/.zattrs", "{}"))
    grid = tuple(-(-length // side) for length, side in zip(zarray["shape"], zarray["chunks"], strict=True))
    paths = numpy.full(grid, "", dtype=numpy.dtypes.StringDType())
    offsets = numpy.zeros(grid, "uint64")
    lengths = numpy.zeros(grid, "uint64")
    inlined: dict[tuple[int, ...], bytes] = {}
    start = f"{name}/"
    for key, place in refs.items():
        if not key.startswith(start) or key[len(start)] == "." or "/" in key[len(start) :]:
            continue
        index = tuple(int(part) for part in key[len(start) :].split(".")) if grid else ()
        if isinstance(place, str):
            data = base64.b64decode(place.removeprefix("base64:"))
            inlined[index] = data
            paths[index], lengths[index] = "__inlined__", len(data)
        else:
            paths[index], offsets[index], lengths[index] = place
    manifest = ChunkManifest.from_arrays(
        paths=paths, offsets=offsets, lengths=lengths, validate_paths=False, inlined=inlined
    )
    return ManifestArray(metadata=_metadata(zarray, zattrs), chunkmanifest=manifest)


def _metadata(zarray: dict[str, Any], zattrs: dict[str, Any]) -> Any:
    """Return the metadata of Zarr 3 for those of Zarr 2."""
    from virtualizarr.parsers.kerchunk.translator import from_kerchunk_refs
    from zarr.core.metadata import ArrayV3Metadata

    names = zattrs.pop("_ARRAY_DIMENSIONS")
    _mark(zattrs, zarray["dtype"])
    if zarray["dtype"] != "|O":
        metadata = from_kerchunk_refs({**zarray, "dimension_names": names}, zattrs)
        if zarray["order"] == "F" and len(zarray["shape"]) > 1:
            # In Zarr 3 a codec says that the first dimension varies fastest.
            described = metadata.to_dict()
            order = list(range(len(zarray["shape"])))[::-1]
            transpose: Any = {"name": "transpose", "configuration": {"order": order}}
            metadata = ArrayV3Metadata.from_dict({**described, "codecs": [transpose, *described["codecs"]]})
        return metadata
    return ArrayV3Metadata.from_dict(
        {
            "zarr_format": 3,
            "node_type": "array",
            "shape": zarray["shape"],
            "data_type": "string",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": zarray["chunks"]}},
            "chunk_key_encoding": {"name": "default"},
            "codecs": [{"name": "vlen-utf8"}],
            "fill_value": "",
            "attributes": zattrs,
            "dimension_names": names,
        }
    )


def _mark(attributes: dict[str, Any], dtype: Any) -> None:
    """Give ``_FillValue`` the form in which xarray reads it from Zarr 3; another mark becomes ``missing_value``."""
    if "_FillValue" not in attributes:
        return
    mark = attributes.pop("_FillValue")
    kind = dtype[1] if isinstance(dtype, str) else "V"

    def coded(number: Any) -> str:
        return base64.b64encode(numpy.array(number, "<f8").tobytes()).decode()

    if kind in "iub" and isinstance(mark, (int, float)):
        attributes["_FillValue"] = mark
    elif kind == "f" and isinstance(mark, (int, float)):
        attributes["_FillValue"] = coded(mark)
    elif kind == "c" and isinstance(mark, list) and len(mark) == 2:
        attributes["_FillValue"] = [coded(part) for part in mark]
    else:
        attributes["_FillValue_" if "missing_value" in attributes else "missing_value"] = mark


parser = Parser()
"""The parser with its usual options."""
