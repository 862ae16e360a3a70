"""The low-level interface of links."""

from __future__ import annotations

from sciformats.h5._identifiers import LinkInfo, LinkProxy

__all__ = ["LinkInfo", "LinkProxy", "TYPE_EXTERNAL", "TYPE_HARD", "TYPE_SOFT"]

TYPE_HARD = 0
TYPE_SOFT = 1
TYPE_EXTERNAL = 64
