"""References, as the low-level interface names them."""

from __future__ import annotations

from sciformats.h5._types import Reference, RegionReference

__all__ = ["OBJECT", "DATASET_REGION", "Reference", "RegionReference"]

OBJECT = 0
DATASET_REGION = 1
