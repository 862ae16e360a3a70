"""What the C library's own programs say of the HDF5 files that the other side wrote: h5dump, h5ls and h5stat.

They are those of the folder that HDF5_TOOLS names, those on the path, or those of Debian's package hdf5-tools.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import h5py
import numpy as np

import debian
from debian import Missing


# The largest file that is printed as text.
TEXT = 1 << 20


class Tools:
    """The programs and the environment that they run in."""

    def __init__(self):
        self.environment = dict(os.environ)
        self.folder = None
        named = os.environ.get("HDF5_TOOLS")
        if named:
            self.folder = pathlib.Path(named)
        elif not shutil.which("h5dump"):
            root = debian.unpacked("hdf5-tools")
            self.folder = root / "usr" / "bin"
            self.environment["LD_LIBRARY_PATH"] = os.pathsep.join(debian.libraries(root))
        try:
            import hdf5plugin

            self.environment["HDF5_PLUGIN_PATH"] = hdf5plugin.PLUGIN_PATH
        except ImportError:
            pass
        self.version = re.search(r"\d+\.\d+\.\d+", self.run("h5dump", "--version")).group()

    def run(self, program, *arguments):
        """What a program prints; it must end well and without complaints."""
        path = str(self.folder / program) if self.folder else program
        try:
            done = subprocess.run([path, *arguments], env=self.environment, capture_output=True, check=False)
        except OSError as error:
            raise Missing(f"{program}: {error}") from error
        complaint = done.stderr.decode(errors="replace").strip()
        assert done.returncode == 0 and not complaint, f"{program} ended with {done.returncode}: {complaint[:300]}"
        return done.stdout.decode(errors="replace")


def paths(file):
    """All links of a file, each object's once."""
    found = {"/"}
    file.visit_links(lambda name: found.add("/" + name))
    return found


def listed(tools, path):
    """h5ls and h5stat go through all objects."""
    with h5py.File(path) as file:
        expected = paths(file)
    lines = tools.run("h5ls", "-r", path).splitlines()
    found = {re.split(r"(?<!\\)\s", line, maxsplit=1)[0].replace("\\ ", " ") for line in lines}
    escaped = {name if name.isascii() else ascii_only(name) for name in expected}
    assert {ascii_only(name) for name in found} == escaped, f"h5ls lists {len(found)} links, h5py {len(expected)}"
    tools.run("h5stat", path)


def ascii_only(name):
    """Programs escape other letters, each in its way."""
    return re.sub(r"(\\[0-7]{3}|[^\x00-\x7f])+", "?", name)


def dumped(tools, path):
    """h5dump prints all, and gives the bytes of numeric datasets that h5py gives."""
    with h5py.File(path) as file, tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "bytes")
        numeric, unknown = [], []

        def visit(name, item):
            if not isinstance(item, h5py.Dataset):
                return
            if item.compression == "lzf":
                unknown.append(item)
            elif item.shape and item.size and item.dtype.kind in "iuf":
                numeric.append(item)

        file.visititems(visit)
        # h5py alone has LZF: no plugin is there for others. Millions of numbers as text take seconds and are not compared; the bytes
        # of the same numbers are.
        heads = unknown or os.path.getsize(path) > TEXT
        tools.run("h5dump", *(["-H"] if heads else []), path)
        for item in numeric:
            # Of half precision release 1.10 makes another type.
            if not item.name.isascii() or h5py.check_enum_dtype(item.dtype) or item.dtype == np.float16:
                continue
            tools.run("h5dump", "-d", item.name, "-b", "LE", "-o", out, path)
            expected = item[()].astype(item.dtype.newbyteorder("<"))
            with open(out, "rb") as file_of_bytes:
                assert file_of_bytes.read() == expected.tobytes(), f"h5dump gives other bytes of {item.name}"
        return len(numeric)


def check(folder, newer, say):
    """Checks all files; `newer` names those that releases before 2.0 cannot read whole."""
    try:
        tools = Tools()
    except Missing as missing:
        print(json.dumps({"case": "tools: all", "skipped": f"{missing}; HDF5_TOOLS names the folder of the programs"}))
        return
    print(json.dumps({"peer": "h5dump, h5ls and h5stat", "varies": tools.version}))
    # Where files beside a file are looked for.
    here = os.getcwd()
    os.chdir(folder)
    try:
        each(tools, newer, say)
    finally:
        os.chdir(here)


def each(tools, newer, say):
    for path in sorted(pathlib.Path.cwd().glob("*.h5")):
        if path.stem in newer:
            continue
        say(f"tools: {path.stem} with h5ls and h5stat", lambda: listed(tools, str(path)))
        say(f"tools: {path.stem} with h5dump", lambda: dumped(tools, str(path)))
