"""Runs h5py's own test suite with `sciformats.h5` in the place of h5py, and compares what fails with a table.

The suite comes with h5py's wheel. The tests of its own internals, of the stack of errors and the plug-ins of the C library, and of the parallel
and remote drivers are left out (`LEFT_OUT`). Each other test must pass, or be in the table with a reason; a test in the table must fail.

    python h5py_suite.py FOLDER TABLE
"""

from __future__ import annotations

import collections
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib

#: Modules that test what belongs to h5py or to the C library alone.
LEFT_OUT = {
    "test_errors.py": "messages of the C library's error stack",
    "test_h5.py": "versions and settings of the C library",
    "test_h5pl.py": "low-level interface: plugins",
    "test_h5z.py": "filters that programs register",
    "test_objects.py": "low-level interface: identifiers",
    "test_ros3.py": "a driver that h5py's wheel does not contain",
    "test_selections.py": "h5py's own classes for selections",
    "test_file_alignment.py": "low-level interface: where the C library places objects",
}

#: Tests whose outcome depends on the machine.
DESELECTED = {
    "suite/tests/test_file.py::TestFileOpen::test_append_permissions": "fails for h5py too if the user is root",
}

LEAST = 0.9

ALIAS = '''
"""`import h5py` is `import sciformats.h5`. What h5py's tests need of its internals to be imported is here."""
import functools, importlib.machinery, os, sys, types
import sciformats.h5 as h5

#: The names of what is only here, and was used by the test that runs.
used = set()

class Absent:
    """A name of the low-level interface that sciformats.h5 does not have."""
    def __init__(self, name): self._name = name
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        used.add(self._name)
        return Absent(f"{self._name}.{name}")
    def __iter__(self):
        used.add(self._name)
        return iter(())
    def __call__(self, *_, **__):
        used.add(self._name)
        raise NotImplementedError(f"{self._name} is not in sciformats.h5")

class Supplied(types.SimpleNamespace):
    """Values that the suite takes from h5py's internals, or sets there."""
    def __getattribute__(self, name):
        if not name.startswith("__"): used.add(name)
        return super().__getattribute__(name)
    def __setattr__(self, name, value):
        used.add(name)
        super().__setattr__(name, value)

def supplied(function):
    """A function that the suite takes from h5py's internals."""
    @functools.wraps(function)
    def call(*arguments):
        used.add(function.__name__)
        return function(*arguments)
    return call

@supplied
def is_empty_dataspace(of): return of.shape is None

class Phil:
    """h5py's lock, for which this package has no counterpart."""
    def __enter__(self): used.add("phil")
    def __exit__(self, *_): pass

def module(name, **members):
    made = types.ModuleType("h5py." + name)
    made.__spec__ = importlib.machinery.ModuleSpec("h5py." + name, None)
    made.__dict__.update(members)
    def absent(member):
        if not member.startswith("__"): used.add(f"h5py.{name}.{member}")
        return Absent(f"h5py.{name}.{member}")
    made.__getattr__ = absent
    sys.modules["h5py." + name] = made
    return made

sys.modules["h5py"] = h5
for name in ("h5", "h5a", "h5d", "h5f", "h5g", "h5i", "h5l", "h5o", "h5p", "h5pl", "h5r", "h5s", "h5t", "h5z", "h5ds", "h5fd", "version"):
    own = getattr(h5, name, None)
    made = module(name, **({} if own is None else {k: v for k, v in vars(own).items() if not k.startswith("__")}))
    setattr(h5, name, made)
import math
# h5py has two ways to read a selection, which its tests compare; this package has one.
def fast_reader(dataset):
    used.add("_fast_reader")
    return types.SimpleNamespace(read=lambda key: dataset[key])
h5.Dataset._fast_reader = property(fast_reader)
h5._hl = types.SimpleNamespace(dataset=Supplied(_LEGACY_GZIP_COMPRESSION_VALS=frozenset(range(10))))
module("_objects", phil=Phil())
module("_hl")
module("_hl.base", Empty=h5.Empty, is_hdf5=h5.is_hdf5, product=supplied(math.prod), HLObject=h5.HLObject, is_empty_dataspace=is_empty_dataspace)
module("_hl.files", _drivers=("sec2", "core", "stdio", "fileobj"), direct_vfd=False, mpi=False, hdf5_version=(2, 0, 0))
module("_hl.compat", filename_encode=supplied(os.fsencode), filename_decode=supplied(os.fsdecode))
module("_hl.selections")
module("_hl.vds", vds_support=True)
module("_hl.selections2")
module("_selector")
module("h5py_warnings", H5pyWarning=UserWarning, H5pyDeprecationWarning=DeprecationWarning)
sys.modules["h5py.h5"].get_config = h5.get_config
h5.h5.get_config = h5.get_config
sys.modules["h5py.version"].hdf5_version_tuple = (2, 0, 0)
'''

PACKAGE = '''
import sys
import suite_alias
globals().update({k: v for k, v in vars(sys.modules["h5py"]).items() if not k.startswith("__")})
for name in [name for name in sys.modules if name.startswith("h5py.")]:
    sys.modules["suite." + name[5:]] = sys.modules[name]
import suite.tests
sys.modules["h5py.tests"] = suite.tests
import suite.tests.common
sys.modules["h5py.tests.common"] = suite.tests.common
'''

RECORD = '''
import json, os
import suite_alias
outcomes = {}
def pytest_runtest_logstart(nodeid, location): suite_alias.used.clear()
def pytest_runtest_logreport(report):
    if report.outcome == "failed" or (report.when == "call") or (report.outcome == "skipped"):
        if outcomes.get(report.nodeid, ("",))[0] == "failed": return
        why = ""
        if report.outcome == "failed" and report.longrepr is not None:
            crash = getattr(report.longrepr, "reprcrash", None)
            why = (crash.message if crash else str(report.longrepr)).splitlines()[0][:200]
        outcome = "skipped" if report.outcome == "skipped" else report.outcome
        outcomes[report.nodeid] = (outcome, why, sorted(suite_alias.used))
def pytest_collectreport(report):
    if report.failed: outcomes[report.nodeid] = ("failed", "cannot be imported: " + str(report.longrepr).splitlines()[-1][:200], [])
def pytest_sessionfinish(session):
    with open(os.environ["SUITE_OUTCOMES"], "w") as out: json.dump(outcomes, out)
'''


def run(folder: pathlib.Path) -> dict[str, tuple[str, str, list[str]]]:
    """Copy the suite, run it, and return the outcome of each test, with the internals of h5py that it used from `ALIAS`."""
    spec = importlib.util.find_spec("h5py")
    assert spec is not None and spec.origin is not None, "h5py is not installed"
    shutil.rmtree(folder, ignore_errors=True)
    # A package, from which some modules of the suite import relatively.
    tests = folder / "suite" / "tests"
    shutil.copytree(pathlib.Path(spec.origin).parent / "tests", tests, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "suite_alias.py").write_text(ALIAS)
    (folder / "suite_record.py").write_text(RECORD)
    (folder / "suite" / "__init__.py").write_text(PACKAGE)
    outcomes = folder / "outcomes.json"
    environment = {**os.environ, "SUITE_OUTCOMES": str(outcomes)}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), *filter(None, [environment.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "suite_record", "-p", "no:cacheprovider", "-m", "not mpi", "suite/tests"]
    command += [f"--deselect={name}" for name in DESELECTED]
    command += [f"--ignore=suite/tests/{name}" for name in LEFT_OUT]
    with open(folder / "log.txt", "w") as log:
        subprocess.run(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False)
    found: dict[str, tuple[str, str, list[str]]] = {key: tuple(value) for key, value in json.loads(outcomes.read_text()).items()}
    return found


def main() -> int:
    folder, table = pathlib.Path(sys.argv[1]).absolute(), pathlib.Path(sys.argv[2])
    outcomes = run(folder)
    failed = {name: why for name, (outcome, why, _) in outcomes.items() if outcome == "failed"}
    passed = [name for name, (outcome, _, _) in outcomes.items() if outcome == "passed"]
    skipped = [name for name, (outcome, _, _) in outcomes.items() if outcome == "skipped"]
    share = len(passed) / max(len(passed) + len(failed), 1)
    print(f"h5py's suite: {len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped by the suite: {share:.1%}")
    assisted = collections.Counter(internal for name in passed for internal in outcomes[name][2])
    count = sum(bool(outcomes[name][2]) for name in passed)
    print(f"{count} of those that pass use internals of h5py that this script supplies:", dict(assisted.most_common()))
    groups = tomllib.loads(table.read_text())["reason"] if table.exists() else []
    known: dict[str, str] = {test: group["why"] for group in groups for test in group["tests"]}
    new = sorted(set(failed) - set(known))
    better = sorted(set(known) & set(passed))
    gone = sorted(set(known) - set(outcomes))
    for name in new:
        print(f"fails without a reason in the table: {name}: {failed[name]}")
    for name in better:
        print(f"is in the table, but passes: {name}")
    for name in gone:
        print(f"is in the table, but not in the suite: {name}")
    if share < LEAST:
        print(f"less than {LEAST:.0%} of the tests pass")
    return 1 if new or better or gone or share < LEAST else 0


if __name__ == "__main__":
    sys.exit(main())
