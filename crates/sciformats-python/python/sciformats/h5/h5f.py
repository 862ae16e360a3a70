"""The low-level constants of files."""

from __future__ import annotations

from sciformats.h5._create import UNLIMITED

__all__ = ["UNLIMITED"]
