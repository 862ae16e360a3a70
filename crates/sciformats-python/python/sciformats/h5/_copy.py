"""Copies of objects."""

from __future__ import annotations

from typing import Any, NamedTuple

from sciformats.h5._links import ExternalLink, HardLink, SoftLink


class Options(NamedTuple):
    """What a copy contains."""

    shallow: bool
    expand_soft: bool
    expand_external: bool
    expand_refs: bool
    without_attrs: bool


def copy(source: Any, group: Any, name: str, options: Options) -> None:
    """Copy an object into a group."""
    from sciformats.h5._dataset import Dataset
    from sciformats.h5._objects import Group

    if options.expand_refs:
        raise NotImplementedError("copies of what references lead to are not supported")
    if isinstance(source, Group):
        members = [(each, source.get(each, getlink=True)) for each in source]
        made = group if name in ("", "/") else group.create_group(name)
        for each, link in members:
            _member(source, each, link, made, options)
    elif isinstance(source, Dataset):
        made = _dataset(source, group, name)
    else:
        group[name] = source.dtype
        made = group[name]
    if not options.without_attrs:
        for key in source.attrs:
            made.attrs._copy(source.attrs, key)


def _member(source: Any, each: str, link: Any, made: Any, options: Options) -> None:
    from sciformats.h5._objects import Group

    if isinstance(link, SoftLink) and not (options.expand_soft and each in source):
        made[each] = SoftLink(link.path)
    elif isinstance(link, ExternalLink) and not options.expand_external:
        made[each] = ExternalLink(link.filename, link.path)
    else:
        member = source[each]
        if options.shallow and isinstance(member, Group) and isinstance(link, HardLink):
            made.create_group(each)
        else:
            copy(member, made, each, options)


def _dataset(source: Any, group: Any, name: str) -> Any:
    if source.shape is None:
        from sciformats.h5._types import Empty

        return group.create_dataset(name, data=Empty(source.dtype))
    filters = [(number, values) for number, values in source._pipeline.items()]
    made = group.create_dataset(
        name,
        source.shape,
        source.dtype,
        chunks=source.chunks,
        maxshape=source.maxshape if source.chunks else None,
        fillvalue=source.fillvalue if source._node.fill() is not None else None,
        **_filters(filters, source),
    )
    if source.chunks is None or not source.size:
        if source.size:
            made[()] = source[()]
        return made
    for part in source.iter_chunks():
        made[part] = source[part]
    return made


def _filters(filters: list[tuple[int, list[int]]], source: Any) -> dict[str, Any]:
    options: dict[str, Any] = {"shuffle": source.shuffle, "fletcher32": source.fletcher32}
    for number, values in filters:
        if number == 1:
            options.update(compression="gzip", compression_opts=source.compression_opts)
        elif number == 4:
            options.update(compression="szip", compression_opts=source.compression_opts)
        elif number == 32000:
            options.update(compression="lzf")
        elif number == 6:
            options["scaleoffset"] = source.scaleoffset
        elif number not in (2, 3):
            options.update(compression=number, compression_opts=tuple(values))
    return options
