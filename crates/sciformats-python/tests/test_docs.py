"""The examples in the documentation of the package are run, in a folder that contains the files that they name."""

from __future__ import annotations

import doctest
import importlib
import pathlib
import pkgutil
import struct

import numpy as np
import pytest

import sciformats


def write_files(folder: pathlib.Path) -> None:
    import asdf
    import blosc2
    import gsd.hoomd
    import h5py

    with h5py.File(folder / "run.h5", "w") as file:
        file["fields/u"] = np.arange(12.0).reshape(3, 4)
    with h5py.File(folder / "log.h5", "w") as file:
        file["run"] = np.array([(0.0, 1.0), (0.5, -2.0), (1.0, 3.0), (1.5, -4.0)], [("time", "f8"), ("energy", "f8")])
    asdf.AsdfFile({"meta": {"exposure": 30}, "data": np.arange(20)}).write_to(folder / "image.asdf")
    blosc2.asarray(np.arange(24).reshape(6, 4), chunks=(3, 4), blocks=(2, 2), urlpath=str(folder / "array.b2nd"))
    with gsd.hoomd.open(str(folder / "run.gsd"), "w") as trajectory:
        for step in range(3):
            frame = gsd.hoomd.Frame()
            frame.particles.N = 2
            frame.particles.position = np.full((2, 3), step, "f4")
            frame.log["md/energy"] = np.array([step * 1.5])
            trajectory.append(frame)
    # A header of the type, the width, the size and the shape (fastest dimension first), and six signed integers.
    header = struct.pack("<8s7Q", b"rawarray", 0, 1, 4, 24, 2, 3, 2)
    (folder / "image.ra").write_bytes(header + np.arange(1, 7, dtype="<i4").tobytes())


def test_the_tour_of_the_guide(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, fixtures: pathlib.Path) -> None:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    text = (fixtures.parent / "docs" / "python.md").read_text()
    example = doctest.DocTestParser().get_doctest(text.replace("```", ""), {}, "python.md", None, 0)
    runner, report = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), []
    runner.run(example, out=report.append)
    assert not runner.failures, "".join(report)
    assert runner.tries >= 20


def test_examples(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    names = [module.name for module in pkgutil.walk_packages(sciformats.__path__, "sciformats.")]
    modules = [sciformats, *(importlib.import_module(name) for name in names if not name.endswith("._sciformats"))]
    runner, report = doctest.DocTestRunner(), []
    for module in modules:
        for example in doctest.DocTestFinder(exclude_empty=True).find(module):
            runner.run(example, out=report.append)
    assert not runner.failures, "".join(report)
    assert runner.tries >= 20
    assert not any("+SKIP" in (pathlib.Path(module.__file__ or "").read_text()) for module in modules)
