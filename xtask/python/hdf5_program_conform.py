"""The program beside h5py: files that it edits, and files whose elements and links are in other files.

    hdf5_program_conform.py EXAMPLE DIR

The program `sciformats` is beside the example. Each change is made on files of every bound of the library; h5py then looks at the
whole file, changes it itself, and looks again.
"""

import json
import os
import sys
from pathlib import Path

import h5py
import numpy as np

from checks import check, program_in

FOLDER = Path(sys.argv[2])
PROGRAM = Path(sys.argv[1]).parent / "sciformats"
program = program_in(PROGRAM, FOLDER)
BOUNDS = ["earliest", "v108", "v110", "v112", "latest"]


def made(path, bound, track):
    with h5py.File(path, "w", libver=(bound, "latest"), track_order=track) as file:
        for name in ["a", "b"]:
            group = file.create_group(f"fields/{name}")
            group.create_dataset("u", data=np.arange(6.0), chunks=(3,), maxshape=(None,), compression="gzip")
            group["u"].attrs["units"] = "m/s"
        file["plain"] = np.arange(4, dtype="<i4")
        file.attrs["big"] = np.array([1, 2], dtype=">i2")
        file.attrs["fixed"] = np.bytes_(b"N7")
        for number in range(12 if bound != "earliest" else 3):
            file["plain"].attrs[f"n{number:02}"] = number
    return path


def whole(path):
    """Everything that is in a file: values and attributes by path."""
    found = {}

    def visit(name, item):
        found[name] = item[()].tolist() if isinstance(item, h5py.Dataset) else None
        for key in item.attrs:
            value = item.attrs[key]
            found[f"{name}@{key}"] = value.tolist() if hasattr(value, "tolist") else value
        assert len(item.attrs) == len(list(item.attrs)), f"{name} counts {len(item.attrs)} attributes"

    with h5py.File(path) as file:
        visit("/", file)
        file.visititems(visit)
    return found


# The change, and what it does to what is in the file.
CHANGES = {
    "set text": (["set", "/plain", "title", "a week in May"], {"plain@title": "a week in May"}),
    "set numbers": (["set", "/fields/a/u", "range", "[[0, 1], [2, 3.5]]"], {"fields/a/u@range": [[0, 1], [2, 3.5]]}),
    "set float32": (["set", "/", "f", "0.5", "--type", "float32"], {"/@f": 0.5}),
    "set truth": (["set", "/fields", "ok", "[true, false]"], {"fields@ok": [True, False]}),
    "set texts": (["set", "/", "names", '["north", "süd"]'], {"/@names": ["north", "süd"]}),
    "set fixed text": (["set", "/", "fixed", "x"], {"/@fixed": b"x"}),
    "set longer fixed text": (["set", "/", "fixed", "longer", "--type", "fixed"], {"/@fixed": b"longer"}),
    "keep a type": (["set", "/", "big", "[3, -4]"], {"/@big": [3, -4]}),
    "replace": (["set", "/plain", "n01", "[1, 2, 3]"], {"plain@n01": [1, 2, 3]}),
    "unset": (["unset", "/plain", "n01"], {"plain@n01": ...}),
    "rename": (["rename", "/plain", "n01", "m"], {"plain@n01": ..., "plain@m": 1}),
    "delete": (["delete", "/plain"], None),
    "delete a tree": (["delete", "-r", "/fields/a"], None),
    "move": (["move", "/plain", "/deep/er/v"], None),
    "hard link": (["link", "/again", "/plain"], None),
    "soft link": (["link", "--soft", "/soft", "/plain"], None),
    "link into a file": (["link", "/out", "/plain", "--in", "other.h5"], None),
}


def links(name, path):
    with h5py.File(path) as file:
        if name == "delete":
            assert "plain" not in file and "fields/a/u" in file
        elif name == "delete a tree":
            assert list(file["fields"]) == ["b"] and file["fields/b/u"][2] == 2
        elif name == "move":
            assert "plain" not in file and file["deep/er/v"][()].tolist() == [0, 1, 2, 3]
        elif name == "hard link":
            assert file["again"] == file["plain"]
        elif name == "soft link":
            assert file.get("soft", getlink=True).path == "/plain" and file["soft"][3] == 3
        else:
            link = file.get("out", getlink=True)
            assert (link.filename, link.path) == ("other.h5", "/plain")


def edited(name, bound, track):
    args, differs = CHANGES[name]
    path = made(FOLDER / "edited.h5", bound, track)
    before = whole(path)
    program("edit", path, *args, "--dry-run")
    assert whole(path) == before, "a dry run changes the file"
    program("edit", path, *args)
    if differs is None:
        links(name, path)
    else:
        after = whole(path)
        wanted = {key: value for key, value in {**before, **differs}.items() if value is not ...}
        unlike = [key for key in {**after, **wanted} if after.get(key, ...) != wanted.get(key, ...)]
        assert not unlike, {key: (after.get(key), wanted.get(key)) for key in unlike}
    program("verify", path)
    # The library goes on with the file, over the border between compact and dense attributes and back.
    with h5py.File(path, "a") as file:
        file.create_dataset("later", data=np.arange(10))
        for number in range(20):
            file["later"].attrs[f"x{number}"] = number
            file.attrs[f"x{number}"] = number
        for number in range(20):
            del file.attrs[f"x{number}"]
        file["fields/b/u"].resize((9,))
    with h5py.File(path) as file:
        assert file["later"].attrs["x19"] == 19 and file["fields/b/u"][:6].tolist() == list(range(6))
        assert len(file.attrs) == len(list(file.attrs))


def refused():
    path = made(FOLDER / "refused.h5", "latest", False)
    before = path.read_bytes()
    for args, status in [
        (["set", "/none", "a", "1"], 3),
        (["unset", "/", "none"], 3),
        (["delete", "/fields"], 2),
        (["move", "/plain", "/fields"], 1),
        (["set", "/", "big", "40000"], 2),
        (["link", "/x", "/none"], 3),
    ]:
        program("edit", path, *args, status=status)
        assert path.read_bytes() == before, f"{args} changed the file"


# Files in other files.

def outside():
    for folder in ["main/sub", "other"]:
        os.makedirs(FOLDER / folder, exist_ok=True)
    for path in ["main/sub/s.h5", "other/s.h5"]:
        with h5py.File(FOLDER / path, "w") as file:
            file["d"] = np.arange(1, 7, dtype="<i4")
            file["g/x"] = np.arange(3.0)
            file["g/soft"] = h5py.SoftLink("/d")
    np.arange(1, 7, dtype="<i4").tofile(FOLDER / "main/raw.bin")
    np.arange(1, 4, dtype="<i4").tofile(FOLDER / "main/short.bin")
    absolute = FOLDER / "other/s.h5"
    with h5py.File(FOLDER / "main/m.h5", "w") as file:
        for name in ["raw", "short", "gone"]:
            file.create_dataset(name, (6,), "<i4", external=[(f"{name}.bin", 0, 24)], fillvalue=7)
        for name, source in [("in", "sub/s.h5"), ("up", "../other/s.h5"), ("abs", str(absolute)), ("none", "none.h5")]:
            layout = h5py.VirtualLayout((6,), "<i4")
            layout[:] = h5py.VirtualSource(source, "d", (6,))
            file.create_virtual_dataset(f"v_{name}", layout, fillvalue=-1)
            file[f"e_{name}"] = h5py.ExternalLink(source, "/d")


def theirs(name):
    """What h5py reads from the folder of the file, where names of external files begin."""
    before = os.getcwd()
    os.chdir(FOLDER / "main")
    try:
        with h5py.File("m.h5") as file:
            return file[name][()].tolist()
    except (OSError, KeyError):
        return None
    finally:
        os.chdir(before)


def same_as_theirs(name):
    wanted = theirs(name)
    args = ["cat", "main/m.h5", f"/{name}", "--json", "--external", FOLDER]
    if wanted is None:
        return program(*args, status=3)
    done = program(*args)
    assert json.loads(done.stdout) == wanted, f"{done.stdout} is not {wanted}"
    missing = name in ("short", "v_none")
    assert missing == ("are shown as fill values" in done.stderr), done.stderr


def never_values(name):
    """Whatever the policy forbids, or is missing, is an error of what writes."""
    for args in [["cat", "main/m.h5", f"/{name}"], ["convert", "main/m.h5", "o.npy", "--select", f"/{name}"]]:
        missing = name in ("short", "v_none") and args[0] == "cat"
        done = program(*args, status=0 if missing else 3)
        forbidden = name.endswith(("up", "abs"))
        assert not forbidden or f"--external {(FOLDER / 'other').resolve()}" in done.stderr, done.stderr
    assert not (FOLDER / "o.npy").exists()


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for bound in BOUNDS:
        for track in [False, True]:
            for name in CHANGES:
                order = ", ordered" if track else ""
                check(f"program: {name}, {bound}{order}", lambda: edited(name, bound, track))
    check("program: what is refused changes nothing", refused)
    outside()
    for name in ["raw", "short", "gone", "v_in", "v_up", "v_abs", "v_none", "e_in", "e_up", "e_abs", "e_none"]:
        check(f"elsewhere: {name} is as h5py reads it", lambda: same_as_theirs(name))
    for name in ["short", "gone", "v_up", "v_abs", "v_none"]:
        check(f"elsewhere: {name} never becomes values unasked", lambda: never_values(name))


main()
