"""Runs the test suites of programs that are written for h5py, with `sciformats.h5` in its place, and compares what fails with a table.

    python h5py_users.py NAME FOLDER TABLE

NAME is `h5netcdf` or `anndata`. The suites come with the source distributions, which pip downloads. Each test must pass, or be in the
table with a reason; a test in the table must fail. With h5py itself in its place, `python h5py_users.py NAME FOLDER h5py` shows which
tests fail for reasons of their own.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tomllib

#: For each program, the modules of its suite that use HDF5, and what else pytest needs.
SUITES: dict[str, tuple[list[str], list[str]]] = {
    "h5netcdf": (["h5netcdf/tests/test_h5netcdf.py"], []),
    "anndata": (
        [
            "tests/test_backed_dense.py",
            "tests/test_backed_hdf5.py",
            "tests/test_backed_sparse.py",
            "tests/test_concatenate_disk.py",
            "tests/test_io_backwards_compat.py",
            "tests/test_io_conversion.py",
            "tests/test_io_dispatched.py",
            "tests/test_io_elementwise.py",
            "tests/test_io_partial.py",
            "tests/test_io_utils.py",
            "tests/test_io_warnings.py",
            "tests/test_readwrite.py",
        ],
        # Stores of Zarr need no HDF5. The others run in as many processes as there are processors.
        ["--numprocesses=auto", "-k", "not zarr", "-ptesting.anndata._pytest", "-o", "addopts=--import-mode=importlib", "-o", "strict=false"],
    ),
}

#: Tests whose outcome depends on the machine, and not on the module.
LEFT_OUT = {
    "test_h5netcdf.py::test_is_classic": "runs ncdump, which is not part of any Python package",
    "tests/test_io_backwards_compat.py::test_no_diff[v0.11.4]": "runs h5diff, which is not part of any Python package",
    "tests/test_readwrite.py::test_read_excel": "reads a file of Excel, for which it needs openpyxl, and no HDF5",
}

#: Makes `import h5py` be `import sciformats.h5`. h5netcdf tells modules apart by the names of their classes.
ALIAS = '''
import importlib.machinery, os, sys, types

def module(name, **members):
    made = types.ModuleType(name)
    made.__spec__ = importlib.machinery.ModuleSpec(name, None)
    made.__dict__.update(members)
    sys.modules[name] = made
    return made

if os.environ["SUITE_H5PY"] == "sciformats":
    import sciformats.h5 as h5
    from sciformats.h5 import _dataset

    h5.__name__ = "h5py"
    h5.__spec__ = importlib.machinery.ModuleSpec("h5py", None)
    sys.modules["h5py"] = h5
    for made in (h5.Dataset, h5.Datatype, h5.File, h5.Group):
        made.__module__ = "h5py." + made.__module__.rpartition(".")[2]
    for name in ("h5a", "h5d", "h5ds", "h5f", "h5p", "h5r", "h5s", "h5t", "h5z", "version"):
        sys.modules["h5py." + name] = getattr(h5, name)
    h5._hl = module("h5py._hl")
    # h5py calls the second class `AstypeView` since version 3.9.
    h5._hl.dataset = module(
        "h5py._hl.dataset", AsStrView=_dataset.AsStrView, AstypeView=_dataset.AstypeView, AsTypeView=_dataset.AstypeView
    )
'''

RECORD = '''
import json, os
import suite_alias
outcomes = {}
def pytest_runtest_logreport(report):
    if report.outcome == "failed" or report.when == "call" or report.outcome == "skipped":
        if outcomes.get(report.nodeid, ("",))[0] == "failed": return
        why = ""
        if report.outcome == "failed" and report.longrepr is not None:
            crash = getattr(report.longrepr, "reprcrash", None)
            why = (crash.message if crash else str(report.longrepr)).splitlines()[0][:200]
        outcomes[report.nodeid] = ("xfailed" if hasattr(report, "wasxfail") else report.outcome, why)
def pytest_collectreport(report):
    if report.failed: outcomes[report.nodeid] = ("failed", "cannot be imported: " + str(report.longrepr).splitlines()[-1][:200])
def pytest_sessionfinish(session):
    # The processes that run tests report to the one that writes the outcomes.
    if hasattr(session.config, "workerinput"): return
    with open(os.environ["SUITE_OUTCOMES"], "w") as out: json.dump(outcomes, out)
'''


def source(name: str, folder: pathlib.Path) -> pathlib.Path:
    """Download and unpack the source distribution of the installed version, unless it is there."""
    version = importlib.metadata.version(name)
    unpacked = folder / f"{name}-{version}"
    if not unpacked.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*command, "--no-binary", name, "--dest", str(folder), f"{name}=={version}"], check=True)
        with tarfile.open(folder / f"{name}-{version}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return unpacked


def run(name: str, folder: pathlib.Path, module: str) -> dict[str, tuple[str, str]]:
    """Run a suite in a copy and return the outcome of each test."""
    modules, options = SUITES[name]
    copy = folder / "suite"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(source(name, folder), copy)
    # The installed package is tested, and not the sources beside the tests.
    shutil.rmtree(copy / "src", ignore_errors=True)
    (folder / "suite_alias.py").write_text(ALIAS)
    (folder / "suite_record.py").write_text(RECORD)
    # Each process imports this first, also those that pytest starts: plugins of the suite import h5py before any test.
    (folder / "sitecustomize.py").write_text("import suite_alias\n")
    outcomes = folder / "outcomes.json"
    outcomes.unlink(missing_ok=True)
    environment = {**os.environ, "SUITE_OUTCOMES": str(outcomes), "SUITE_H5PY": module, "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), *filter(None, [environment.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "suite_record", "-p", "no:cacheprovider"]
    with open(folder / "log.txt", "w") as log:
        subprocess.run(
            [*command, *options, *modules], cwd=copy, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False
        )
    if not outcomes.is_file():
        raise SystemExit(f"the suite of {name} did not run; its output is in {folder / 'log.txt'}")
    found = json.loads(outcomes.read_text())
    return {test: tuple(outcome) for test, outcome in found.items() if test not in LEFT_OUT}


def main() -> int:
    name, folder, table = sys.argv[1], pathlib.Path(sys.argv[2]).absolute(), pathlib.Path(sys.argv[3])
    of_h5py = table.name == "h5py"
    outcomes = run(name, folder, "h5py" if of_h5py else "sciformats")
    tests = {kind: sorted(test for test, (outcome, _) in outcomes.items() if outcome == kind) for kind in ("passed", "failed", "skipped")}
    passed, failed = tests["passed"], tests["failed"]
    share = len(passed) / max(len(passed) + len(failed), 1)
    print(
        f"the suite of {name} {importlib.metadata.version(name)}: {len(passed)} passed, {len(failed)} failed,"
        f" {len(tests['skipped'])} skipped by the suite: {share:.1%}"
    )
    if of_h5py:
        for test in failed:
            print(f"fails with h5py: {test}: {outcomes[test][1]}")
        return 0
    groups = tomllib.loads(table.read_text()).get("reason", []) if table.exists() else []
    known: dict[str, str] = {test: group["why"] for group in groups for test in group["tests"]}
    new = sorted(set(failed) - set(known))
    better = sorted(set(known) & set(passed))
    gone = sorted(set(known) - set(outcomes))
    for test in new:
        print(f"fails without a reason in the table: {test}: {outcomes[test][1]}")
    for test in better:
        print(f"is in the table, but passes: {test}")
    for test in gone:
        print(f"is in the table, but not in the suite: {test}")
    return 1 if new or better or gone or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
