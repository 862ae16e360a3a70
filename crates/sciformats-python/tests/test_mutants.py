"""Damaged files are read through the Python API. A read must return elements or raise one of the documented exceptions."""

from __future__ import annotations

import os
import pathlib
import random

import pytest

import sciformats
from sciformats import errors, h5

#: How many files each interface reads.
COUNT = int(os.environ.get("SCIFORMATS_MUTANTS", "5000"))

#: Exceptions that a damaged file may cause: those of this package, those for paths that do not exist, those of the system, and
#: `ValueError` for a call that an object does not support after damage has changed its kind.
NAMED = (errors.Error, KeyError, OSError, ValueError)


def sources(fixtures: pathlib.Path) -> list[pathlib.Path]:
    kinds = {".asdf", ".b2nd", ".b2frame", ".gsd", ".h5", ".hdf5", ".nc", ".ra", ".npy"}
    found = [path for path in sorted(fixtures.rglob("*")) if path.suffix in kinds and path.is_file()]
    return [path for path in found if path.stat().st_size < 1 << 20]


def damaged(contents: bytes, chance: random.Random) -> bytes:
    bytes_ = bytearray(contents)
    for _ in range(chance.choice([1, 1, 2, 8])):
        if not bytes_:
            break
        at = chance.randrange(len(bytes_))
        kind = chance.randrange(4)
        if kind == 0:
            bytes_[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            bytes_[at : at + 8] = chance.choice([b"\0", b"\xff", b"\x7f"]) * len(bytes_[at : at + 8])
        elif kind == 2:
            del bytes_[at:]
        else:
            bytes_[at] = chance.randrange(256)
    return bytes(bytes_)


def read_common(contents: bytes) -> None:
    file = sciformats.open(contents, memory=1 << 26, threads=1)
    dict(file.attrs)
    file._repr_html_()
    root = file.root
    for member in [root] if isinstance(root, sciformats.Array) else (member for _, member in file.walk()):
        if isinstance(member, sciformats.Array) and member.size < 1 << 16:
            member[...]


def read_hdf5(contents: bytes) -> None:
    def visit(_: str, member: h5.HLObject) -> None:
        for name in member.attrs:
            member.attrs[name]
        if isinstance(member, h5.Dataset) and (member.size or 0) < 1 << 16:
            member[()]
            member.id.get_num_chunks()

    h5.File(contents, threads=1).visititems(visit)


@pytest.mark.parametrize("read", [read_common, read_hdf5])
def test_mutants_raise_named_exceptions(fixtures: pathlib.Path, read: object) -> None:
    files = sources(fixtures)
    if read is read_hdf5:
        files = [path for path in files if path.suffix in {".h5", ".hdf5", ".nc"}]
    assert len(files) > 10
    chance = random.Random(17)
    raised = 0
    for number in range(COUNT):
        path = files[number % len(files)]
        contents = damaged(path.read_bytes(), chance)
        try:
            read(contents)  # type: ignore[operator]
        except NAMED:
            raised += 1
        except BaseException as error:
            pytest.fail(f"mutant {number} of {path.name} raised {type(error).__name__}: {error}")
    assert raised > COUNT // 10, "damage is noticed"
