"""Files, groups and arrays as HTML for notebooks: a tree that can be folded."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sciformats._model import Array, Group

#: The number of members of a group that are shown, and the number of levels below the displayed object.
MEMBERS = 200
LEVELS = 3

_STYLE = (
    "<style>.sciformats{font-family:monospace;font-size:90%;line-height:1.5}"
    ".sciformats details{margin-left:1.2em}.sciformats div.leaf{margin-left:2.3em}"
    ".sciformats summary{cursor:pointer}.sciformats .dim{opacity:.65}</style>"
)


def page(inner: str) -> str:
    """Return the HTML of an object for a notebook."""
    return f'{_STYLE}<div class="sciformats">{inner}</div>'


def group(of: Group, title: str, level: int = 0) -> str:
    """Return the HTML of a group and its members."""
    parts = [attributes(of)]
    for number, (name, member) in enumerate(of._listing()):
        if number == MEMBERS:
            parts.append(f'<div class="leaf dim">… and {len(of) - MEMBERS} more</div>')
            break
        parts.append(_member(name, member, level))
    is_open = " open" if level == 0 else ""
    return f"<details{is_open}><summary>{title}</summary>{''.join(parts)}</details>"


def _member(name: str, member: Any, level: int) -> str:
    from sciformats._model import Array, Group

    label = f"<b>{escape(name)}</b>"
    if isinstance(member, Array):
        return array(member, label)
    if isinstance(member, Group):
        if level + 1 >= LEVELS:
            return f'<div class="leaf">{label} <span class="dim">group of {len(member)}</span></div>'
        return group(member, f'{label} <span class="dim">group of {len(member)}</span>', level + 1)
    return f'<div class="leaf">{label} <span class="dim">{escape(repr(member)[:200])}</span></div>'


def array(of: Array, label: str) -> str:
    """Return the HTML of an array and its attributes."""
    facts = [str(of.dtype), " × ".join(map(str, of.shape)) or "scalar"]
    if of.chunks:
        facts.append("chunks " + " × ".join(map(str, of.chunks)))
    facts.extend(of.filters)
    summary = f'{label} <span class="dim">{escape(", ".join(facts))}</span>'
    inner = attributes(of)
    if not inner:
        return f'<div class="leaf">{summary}</div>'
    return f"<details><summary>{summary}</summary>{inner}</details>"


def attributes(of: Any) -> str:
    """Return the HTML of the attributes of an object, one per line."""
    lines = []
    for name in of.attrs:
        try:
            value = repr(of.attrs[name])
        except Exception as error:  # Damaged attributes are shown beside the others.
            value = f"cannot be read: {error}"
        if len(value) > 120:
            value = value[:119] + "…"
        lines.append(f'<div class="leaf"><span class="dim">{escape(name)}:</span> {escape(value)}</div>')
    return "".join(lines)
