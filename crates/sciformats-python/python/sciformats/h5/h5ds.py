"""The low-level calls for scales of dimensions."""

from __future__ import annotations

from typing import Any

from sciformats.h5 import _dims, _names


def _of(identifier: Any) -> Any:
    return identifier._object


def set_scale(dset: Any, dimname: bytes = b"") -> None:
    """Make a dataset a scale."""
    _dims.make_scale(_of(dset), dimname)


def is_scale(dset: Any) -> bool:
    """Return whether a dataset is a scale."""
    return _dims.is_scale(_of(dset).attrs)


def get_scale_name(dset: Any) -> bytes:
    """Return the name of a scale."""
    name = _of(dset).attrs["NAME"]
    return name if isinstance(name, bytes) else _names.encoded(str(name))


def attach_scale(dset: Any, dscale: Any, idx: int) -> None:
    """Attach a scale to a dimension."""
    _of(dset).dims[idx].attach_scale(_of(dscale))


def detach_scale(dset: Any, dscale: Any, idx: int) -> None:
    """Detach a scale from a dimension."""
    _of(dset).dims[idx].detach_scale(_of(dscale))


def is_attached(dset: Any, dscale: Any, idx: int) -> bool:
    """Return whether a scale is attached to a dimension."""
    return any(_of(dscale) == scale for scale in _of(dset).dims[idx].values())


def get_num_scales(dset: Any, dim: int) -> int:
    """Return the number of scales of a dimension."""
    return len(_of(dset).dims[dim])


def set_label(dset: Any, idx: int, label: bytes) -> None:
    """Set the label of a dimension."""
    _of(dset).dims[idx].label = label


def get_label(dset: Any, idx: int) -> bytes:
    """Return the label of a dimension."""
    return _names.encoded(_names.inner(_of(dset).dims[idx].label))


def iterate(dset: Any, dim: int, func: Any, startidx: int = 0) -> Any:
    """Call a function with the identifier of each scale of a dimension, until it returns something other than ``None``."""
    for scale in _of(dset).dims[dim].values()[startidx:]:
        answer = func(scale.id)
        if answer is not None:
            return answer
    return None
