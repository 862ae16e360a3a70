"""What the parser of VirtualiZarr tells readers of Zarr 3."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pytest

from sciformats import h5
from sciformats.virtual import Parser, _mark


def test_marks_of_missing_values_are_attributes(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5.File(path, "w") as file:
        for name, dtype, mark in (("heat", "f4", -9999), ("flags", "i2", -1), ("none", "f8", numpy.nan)):
            data = file.create_dataset(name, data=numpy.ones(3, dtype))
            data.attrs["_FillValue"] = numpy.array(mark, dtype)
    refs, _ = Parser().references(f"file://{path}", None)
    told: dict[str, Any] = {}
    for name in ("heat", "flags", "none"):
        told[name] = json.loads(refs["refs"][f"{name}/.zattrs"])
        _mark(told[name], json.loads(refs["refs"][f"{name}/.zarray"])["dtype"])
    marks = {name: attributes["_FillValue"] for name, attributes in told.items()}
    assert marks == {"heat": "AAAAAICHw8A=", "flags": -1, "none": "AAAAAAAA+H8="}


@pytest.mark.parametrize("dtype", ["|O", "|S4", "<f4"])
def test_other_marks_have_another_name(dtype: str) -> None:
    attributes = {"_FillValue": "none"}
    _mark(attributes, dtype)
    assert attributes == {"missing_value": "none"}
    attributes["_FillValue"] = "?"
    _mark(attributes, dtype)
    assert attributes == {"missing_value": "none", "_FillValue_": "?"}


def test_one_name_to_skip_is_a_name() -> None:
    assert Parser(skip="heat").skip == {"heat"} and Parser(skip=["heat", "flags"]).skip == {"heat", "flags"}
