"""Elements of existing files: we edit what h5py wrote, h5py edits it again, and each follows the other's writer.

    hdf5_data_conform.py PROGRAM DIR   PROGRAM is our side, the example `hdf5_conformance` of hdf5-pure; DIR is for files

A check is a line of JSON, as everywhere in the conformance run. What kills do to files of h5py is printed for comparison
on stderr, and fails nothing.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time

import h5py
import numpy as np

import hdf5_hostile

# A machine may be slow; nothing here takes as long.
PATIENCE = 120
KILLS = 200


def checked(case, way, check):
    """Runs a check and prints how it ended, and which way the file went."""
    line = {"case": case, "way": way, "ok": True}
    try:
        check()
    except Exception as error:  # whatever it is, it is the reason
        line.update(ok=False, why=f"{type(error).__name__}: {error}"[:300])
    print(json.dumps(line), flush=True)


def same(found, expected, what=""):
    if found.shape != expected.shape or not np.array_equal(found, expected):
        raise ValueError(f"{what}: {found.tolist()} is not {expected.tolist()}"[:280])


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode != 0:
        raise RuntimeError(f"{command[1]} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


# --- edits ---------------------------------------------------------------------------------------

START = np.arange(120, dtype="<i4").reshape(12, 10)

LAYOUTS = {
    "contiguous": {},
    "compact": {"compact": True},
    "chunked": {"chunks": (5, 4)},
    "grows": {"chunks": (5, 4), "maxshape": (None, 10)},
    "grows_fixed": {"chunks": (5, 4), "maxshape": (40, 10)},
    "grows_twice": {"chunks": (5, 4), "maxshape": (None, None)},
    "filled": {"chunks": (5, 4), "maxshape": (None, 10), "fillvalue": -7},
    "gzip": {"chunks": (5, 4), "maxshape": (None, 10), "compression": "gzip", "shuffle": True},
    "gzip_fixed": {"chunks": (5, 4), "maxshape": (30, 10), "compression": "gzip", "fletcher32": True},
    "gzip_twice": {"chunks": (5, 4), "maxshape": (None, None), "compression": "gzip"},
    "lzf": {"chunks": (12, 10), "compression": "lzf"},
    "single": {"chunks": (12, 10)},
    "many": {"chunks": (1, 1), "maxshape": (None, 10)},
    "big_endian": {"chunks": (5, 4), "maxshape": (None, 10), "dtype": ">i4"},
    "wide": {"chunks": (5, 4), "maxshape": (None, 10), "dtype": "<i8"},
    "float": {"chunks": (5, 4), "maxshape": (None, 10), "dtype": "<f8"},
}


def opened(path, libver):
    """A new file; one with shared messages if `libver` says up to how many an index has as a list."""
    if not isinstance(libver, int):
        return h5py.File(path, "w", libver=libver)
    creation, access = h5py.h5p.create(h5py.h5p.FILE_CREATE), h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_LATEST)
    hdf5_hostile.share(creation, (0x1000, 1), (0x082A, 1), list_to_tree=libver, tree_to_list=libver)
    return h5py.File(h5py.h5f.create(path.encode(), h5py.h5f.ACC_TRUNC, creation, access))


def create(path, libver):
    with opened(path, libver) as file:
        group = file.create_group("data")
        for name, options in LAYOUTS.items():
            options = dict(options)
            dtype = options.pop("dtype", "<i4")
            if options.pop("compact", False):
                plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                plist.set_layout(h5py.h5d.COMPACT)
                space = h5py.h5s.create_simple(START.shape)
                made = h5py.h5d.create(group.id, name.encode(), h5py.h5t.py_create(np.dtype(dtype)), space, plist)
                h5py.Dataset(made)[...] = START
            else:
                group.create_dataset(name, data=START.astype(dtype), **options)
            group[name].attrs["unit"] = "m"


def edited(name, values):
    """What the program's edits make of the values."""
    values = values.copy()
    values[2:11:3, 1:9:2] = np.arange(1000, 1012).reshape(3, 4)
    values[0, 0], values[11, 9] = -1, -2
    if "maxshape" in LAYOUTS[name]:
        fill = LAYOUTS[name].get("fillvalue", 0)
        grown = np.full((14, 10), fill, values.dtype)
        rows = np.concatenate([values, np.arange(2000, 2030).reshape(3, 10).astype(values.dtype)])
        grown[:13, :8] = rows[:13, :8]
        values = grown
    return values


def edits(folder, program):
    versions = {
        "default": None,
        "earliest": ("earliest", "v108"),
        "v108": ("v108", "v108"),
        "v110": ("v110", "v110"),
        "v112": ("v112", "v112"),
        "latest": "latest",
        "a list of shared messages": 200,
        "a tree of shared messages": 4,
    }
    for version, libver in versions.items():
        path = os.path.join(folder, f"edit_{version}.h5")

        def ours():
            create(path, libver)
            run(program, "data-edit", path)
            with h5py.File(path) as file:
                for name in LAYOUTS:
                    same(file["data"][name][...], edited(name, START.astype(file["data"][name].dtype)), name)
                    if file["data"][name].attrs["unit"] != "m":
                        raise ValueError(f"{name}: the attribute is lost")

        def theirs():
            expected = {}
            with h5py.File(path, "r+") as file:
                for name in LAYOUTS:
                    dataset = file["data"][name]
                    values = dataset[...]
                    dataset[3:5, 2:7] = 77
                    values[3:5, 2:7] = 77
                    if "maxshape" in LAYOUTS[name]:
                        dataset.resize((12, 10))
                        values = values[:12]
                    expected[name] = values
            run(program, "data-edit", path)
            with h5py.File(path) as file:
                for name in LAYOUTS:
                    same(file["data"][name][...], edited(name, expected[name]), name)

        checked(f"elements: {version}", "edited here", ours)
        checked(f"elements: {version}, then here again", "edited there", theirs)


# --- single writer, multiple readers -------------------------------------------------------------

SERIES = {
    "extensible_array": {"chunks": (8, 3), "maxshape": (None, 5)},
    "extensible_array_gzip": {"chunks": (8, 3), "maxshape": (None, 5), "compression": "gzip"},
    "fixed_array": {"chunks": (8, 3), "maxshape": (2000, 5)},
    "fixed_array_gzip": {"chunks": (8, 3), "maxshape": (2000, 5), "compression": "gzip"},
    "btree": {"chunks": (8, 3), "maxshape": (None, None)},
    "btree_gzip": {"chunks": (8, 3), "maxshape": (None, None), "compression": "gzip"},
    "many_chunks": {"chunks": (1, 1), "maxshape": (None, 5)},
}


def rows(first, last):
    return np.arange(first, last).reshape(-1, 1) * 7 + np.arange(5)


def series(path, options):
    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("series", (0, 5), "<i8", **options)


def look(dataset, at_least):
    """Refreshes until there are so many rows, and compares all that are there."""
    deadline = time.monotonic() + PATIENCE
    while True:
        dataset.refresh()
        count = dataset.shape[0]
        same(dataset[...], rows(0, count))
        if count >= at_least:
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"{count} rows of {at_least}")
        time.sleep(0.001)


def h5py_follows(path, program, options):
    series(path, options)
    for mode, total, step in [("swmr-write", 150, 5), ("swmr-free", 1500, 3)]:
        child = subprocess.Popen(
            [program, mode, path, str(total), str(step)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            if child.stdout.readline().strip() != "open":
                raise RuntimeError("the writer does not start")
            with h5py.File(path, "r", libver="latest", swmr=True) as file:
                dataset = file["series"]
                if mode == "swmr-write":
                    for expected in range(step, total + 1, step):
                        child.stdin.write("\n")
                        child.stdin.flush()
                        if int(child.stdout.readline()) != expected:
                            raise RuntimeError("the writer stopped")
                        look(dataset, expected)
                look(dataset, total)
            child.stdin.close()
            if child.wait(PATIENCE) != 0:
                raise RuntimeError(f"the writer ended with {child.returncode}")
        finally:
            child.kill()
            child.wait()
    # Afterwards it is a plain file, to which the other library writes.
    with h5py.File(path, "r+") as file:
        same(file["series"][...], rows(0, 1500))
        file["series"].resize((1510, 5))
        file["series"][1500:] = rows(1500, 1510)
    with h5py.File(path) as file:
        same(file["series"][...], rows(0, 1510))


WRITER = """
import sys, time
import h5py, numpy as np
path, total, options = sys.argv[1], int(sys.argv[2]), eval(sys.argv[3])
with h5py.File(path, "w", libver="latest") as file:
    series = file.create_dataset("series", (0, 5), "<i8", **options)
    file.swmr_mode = True
    at = 0
    while at < total:
        end = min(total, at + 3)
        series.resize((end, 5))
        series[at:end] = np.arange(at, end).reshape(-1, 1) * 7 + np.arange(5)
        series.flush()
        at = end
"""


def follows_h5py(path, program, options):
    total = 1200
    tail = subprocess.Popen([program, "swmr-tail", path, str(total)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        run(sys.executable, "-c", WRITER, path, str(total), repr(options))
        out, errors = tail.communicate(timeout=PATIENCE)
        if tail.returncode != 0 or not out.startswith(f"{total} rows"):
            raise RuntimeError(f"{out.strip()} {errors.strip()}")
        print(f"tail of h5py's writer, {os.path.basename(path)}: {out.strip()}", file=sys.stderr)
    finally:
        tail.kill()
        tail.wait()


def swmr(folder, program):
    for name, options in SERIES.items():
        ours, theirs = (os.path.join(folder, f"{side}_{name}.h5") for side in ("followed", "tail"))
        checked(f"swmr: h5py follows us, {name}", "they read ours", lambda: h5py_follows(ours, program, options))
        checked(f"swmr: we follow h5py, {name}", "we read theirs", lambda: follows_h5py(theirs, program, options))


# --- kills, for comparison -----------------------------------------------------------------------


def append_without_end(path, libver, out):
    with h5py.File(path, "r+", libver=libver) as file:
        dataset, flat = file["rows"], file["flat"]
        row = dataset.shape[0]
        while True:
            dataset.resize((row + 1, 4))
            dataset[row] = np.arange(4) + row * 7
            flat[...] = row + 1
            file.flush()
            row += 1
            os.write(out, f"{row}\n".encode())


def kill_h5py(folder, name, libver):
    """Kills an appending h5py again and again: how often the file does not open, lacks rows, or holds others."""
    path = os.path.join(folder, f"kill_{name}.h5")
    closed, lost, torn, committed = 0, 0, 0, 0
    chance = random.Random(1)
    for _ in range(KILLS):
        with h5py.File(path, "w", libver=libver) as file:
            file.create_dataset("rows", (0, 4), "<u8", chunks=(8, 3), maxshape=(None, 4))
            file.create_dataset("flat", data=np.zeros(600, "<u8"))
        receive, send = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                append_without_end(path, libver, send)
            finally:
                os._exit(1)
        os.close(send)
        with os.fdopen(receive, "rb") as lines:
            first = lines.readline()
            time.sleep(chance.random() / 100)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            said = [int(line) for line in (first + lines.read()).splitlines() if line]
        rows_said = max(said, default=0)
        committed += rows_said
        try:
            with h5py.File(path, "r") as file:
                found = file["rows"][...]
                if found.shape[0] < rows_said:
                    lost += 1
                elif not np.array_equal(found, np.arange(found.shape[0]).reshape(-1, 1) * 7 + np.arange(4)):
                    torn += 1
                elif len(set(file["flat"][...]) | {found.shape[0]}) > 1:
                    torn += 1
        except Exception:
            closed += 1
    print(
        f"h5py {h5py.__version__}, libver {libver}: {KILLS} kills, {committed} rows flushed; afterwards {closed} files "
        f"do not open, {lost} lack flushed rows, {torn} hold what was never flushed together",
        file=sys.stderr,
    )


def main():
    program, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    edits(folder, program)
    swmr(folder, program)
    if hasattr(os, "fork"):
        for name, libver in [("earliest", "earliest"), ("latest", "latest")]:
            kill_h5py(folder, name, libver)


if __name__ == "__main__":
    main()
