"""Files that h5py makes are edited by our side, read by h5py, edited by h5py, edited by our side again, and read once more.

    hdf5_edit_conform.py PROGRAM DIR   where PROGRAM understands `edit FILE`, `edit-again FILE` and `edit-many FILE SCRIPT`
"""

import json
import os
import shutil
import subprocess
import sys
import time

import h5py
import numpy as np

import hdf5_hostile

LIBVERS = ["earliest", "v108", "v110", "v112", "v114", "latest"]


def opened(path, low, keys):
    """A new file; one with addresses of 4 bytes, that is going to end in an image of the metadata cache, or with shared
    messages, if `keys` say so."""
    if not keys.keys() & {"narrow", "image", "shared"}:
        return h5py.File(path, "w", libver=(low, "latest"), **keys)
    creation, access = h5py.h5p.create(h5py.h5p.FILE_CREATE), h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_EARLIEST if low == "earliest" else h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_LATEST)
    if "narrow" in keys:
        creation.set_sizes(4, 4)
    if "shared" in keys:
        indexes, cutoffs = keys["shared"]
        hdf5_hostile.share(creation, *indexes, **dict(zip(("list_to_tree", "tree_to_list"), cutoffs)))
    if "image" in keys:
        hdf5_hostile.ask_for_image(access)
    return h5py.File(h5py.h5f.create(path.encode(), h5py.h5f.ACC_TRUNC, creation, access))


def create(path, low, keys):
    with opened(path, low, keys) as file:
        file.attrs["title"] = "made by h5py"
        data = file.create_dataset("data", data=np.arange(10.0))
        data.attrs["units"] = "m/s"
        data.attrs["a"] = [1, 2, 3]
        file.create_dataset("chunked", data=np.arange(50_000), chunks=(1000,), maxshape=(None,), compression="gzip")
        file.create_dataset("grid", data=np.arange(600).reshape(20, 30), chunks=(7, 9), shuffle=True, compression="lzf")
        file.create_dataset("vlen", data=["eins", "zwei", "drei"], dtype=h5py.string_dtype())
        file["named"] = np.dtype("<i4")
        file.create_dataset("typed", data=np.arange(5), dtype=file["named"])
        file.create_dataset("typed_too", data=np.arange(5), dtype=file["named"])
        file.create_dataset("refs", data=[data.ref], dtype=h5py.ref_dtype)
        group = file.create_group("group")
        group.create_dataset("x", data=[1, 2])
        group.create_group("y")
        file["soft"] = h5py.SoftLink("/data")
        file["gone"] = h5py.ExternalLink("no.h5", "/x")
        for i in range(150):
            file.create_group(f"big/g{i:03}")
        for i in range(10):
            file.create_group(f"ten/t{i}")
        file.create_group("described").attrs.update({f"a{i:02}": i for i in range(50)})
        file.create_group("plain")
        if "shared" in keys:
            common(file)


def common(file):
    """Objects that have large attributes, and such of a committed datatype, in common."""
    group = file.create_group("common")
    group["type"] = np.dtype("<i4")
    for i in range(6):
        data = group.create_dataset(f"c{i}", data=np.arange(12.0).reshape(6, 2), chunks=(4, 2), maxshape=(None, 2), shuffle=True)
        data.attrs.create("kind", 3, dtype=group["type"])
        data.attrs["large"] = np.arange(900)


def after_common(file):
    group = file["common"]
    assert list(group) == ["c0", "c1", "c3", "c5", "moved", "type"], list(group)
    assert dict(group["c0"].attrs) == {"large": "is short"} and set(group["c1"].attrs) == {"sort", "larger"}
    assert group["c1"].attrs["sort"] == 3 and (group["c1"].attrs["larger"] == np.arange(900)).all()
    assert group["c3"].shape == (9, 2) and (group["c3"][6:] == 0).all() and (group["c3"][:6] == group["c5"][:]).all()
    for name in ("c3", "c5", "moved"):
        assert group[name].attrs["kind"] == 3 and (group[name].attrs["large"] == np.arange(900)).all()


def table(path):
    """Of each index of shared messages, the number of messages."""
    with open(path, "rb") as file:
        data = file.read()
    place, found = data.index(b"SMTB") + 4, []
    while data[place + 2 : place + 4] != b"\0\0" and data[place] == 0 and data[place + 1] < 2 and len(found) < 5:
        found.append(int.from_bytes(data[place + 12 : place + 14], "little"))
        place += 30
    return found


def emptied_there(program, path, indexes):
    """The library takes everything out: it finds a record for each use of a shared message, and leaves none."""
    with h5py.File(path, "r+") as file:
        group = file["common"]
        for name in [name for name in group if name != "type"]:
            del group[name]
        # Each attribute that was one of its own counted, and those that were shared as one.
        assert h5py.h5o.get_info(group["type"].id).rc == 1, "links to the committed datatype of attributes"
        for name in list(file.attrs):
            del file.attrs[name]
        for name in list(file):
            del file[name]
    assert table(path)[:indexes] == [0] * indexes, table(path)
    with h5py.File(path, "r+") as file:
        for name in ("x", "y"):
            file.create_dataset(name, data=[1.0, 2.0]).attrs["a"] = [1, 2]
    with h5py.File(path) as file:
        assert list(file["y"][:]) == [1.0, 2.0] and list(file["y"].attrs["a"]) == [1, 2]


def emptied_here(program, path, indexes):
    """We take everything out that was left of a file that both have edited."""
    ours(program, "edit-empty", path)
    assert table(path)[:indexes] == [0] * indexes, table(path)
    with h5py.File(path, "r+") as file:
        assert not list(file) and not list(file.attrs)
        file.create_dataset("x", data=[1.0, 2.0]).attrs["a"] = [1, 2]
    with h5py.File(path) as file:
        assert list(file["x"][:]) == [1.0, 2.0] and list(file["x"].attrs["a"]) == [1, 2]


def texts(values):
    return [value.decode() if isinstance(value, bytes) else value for value in values]


def first(file):
    """What every state holds after the first edits."""
    assert file.attrs["title"] == "edited" and list(file.attrs["numbers"]) == [1.5, -2.0] and file.attrs["größe"] == 3
    assert len(file.attrs) == 3, dict(file.attrs)
    data = file["data"]
    assert (data[:] == np.arange(10.0)).all() and list(data.attrs["b"]) == [1, 2, 3]
    assert (file["grid"][:] == np.arange(600).reshape(20, 30)).all()
    assert texts(file["vlen"][:]) == ["eins", "zwei", "drei"]
    assert (file["typed_too"][:] == np.arange(5)).all() and file["named"].dtype == np.dtype("<i4")
    assert "typed" not in file and "chunked" not in file and "soft" not in file
    assert h5py.h5o.get_info(file["named"].id).rc == 2, "links to the committed datatype"
    assert file[file["refs"][0]] == data
    assert list(file["group"]) == ["y"] and list(file["moved/deep/x"]) == [1, 2]
    assert file.get("still soft", getlink=True).path == "/data"
    assert file.get("outside", getlink=True).filename == "other.h5" and file.get("gone", getlink=True).path == "/x"
    assert sorted(file["ten"]) == ["t7", "t8", "t9"]
    assert dict(file["described"].attrs) == {"a48": 48, "a49": 49}
    assert file[file["new"].attrs["to"]] == data
    new = file["new/chunked"]
    # The library has no dimension without a maximum where lengths have 4 bytes.
    most = None if file.id.get_create_plist().get_sizes() == (8, 8) else 2**32 - 1
    assert (new[:] == np.arange(2400).reshape(60, 40)).all() and new.maxshape == (most, 40)
    assert texts(file["new/strings"][:]) == ["eins", "", "drei"]
    big = file["big"]
    assert all(f"g{i:03}" in big for i in range(50, 150)) and "g049" not in big
    assert all(big.get(f"s{i}", getlink=True).path == "/data" for i in range(200))
    file.visititems(lambda name, item: (dict(item.attrs), item[()] if isinstance(item, h5py.Dataset) else None) and None)


def after_first(file):
    first(file)
    assert (file["data"].attrs["long"] == np.arange(25_000)).all() and set(file["data"].attrs) == {"b", "long"}
    assert file["alias"] == file["data"] and h5py.h5o.get_info(file["data"].id).rc == 2
    assert dict(file["plain"].attrs) == {f"n{i}": i for i in range(60)}
    assert list(file["new/plain"]) == [7, 8, 9] and file["new/plain"].attrs["units"] == "K"
    assert len(file["big"]) == 300


def theirs(file):
    """What h5py does to the file."""
    del file["alias"]
    del file["new/plain"]
    file.create_dataset("after", data=np.array([4, 5, 6], "i4")).attrs["x"] = "by h5py"
    file["plain"].attrs["p"] = 1
    for i in range(30):
        file.create_group(f"big/p{i}")
    file["new/chunked"].resize((70, 40))
    file["new/chunked"][60:] = 5
    file["new/chunked"].resize((60, 40))


def after_again(file):
    first(file)
    assert "after" not in file and "alias" not in file and h5py.h5o.get_info(file["data"].id).rc == 1
    assert set(file["data"].attrs) == {"b"}
    assert dict(file["plain"].attrs) == {"n58": 58, "n59": 59, "p": 1}
    assert len(file["big"]) == 300 and all(f"p{i}" in file["new"] for i in range(30))
    assert (file["last"][:] == 1).all() and file["last"].shape == (5000,)


def ours(program, verb, path):
    done = subprocess.run([program, verb, path], capture_output=True, text=True)
    assert done.returncode == 0, f"{verb}: {done.stderr.strip()}"


def edited_here(program, path, low, keys):
    create(path, low, keys)
    ours(program, "edit", path)
    with h5py.File(path) as file:
        after_first(file)
        if "shared" in keys:
            after_common(file)


def edited_there(program, path, low):
    with h5py.File(path, "r+", libver=(low, "latest")) as file:
        after_first(file)
        theirs(file)
    ours(program, "edit-again", path)
    with h5py.File(path) as file:
        after_again(file)
    with h5py.File(path, "r+", libver=(low, "latest")) as file:
        # The library reads everything that it needs for writing too.
        file.create_dataset("more", data=np.zeros(10_000))
        del file["more"]
        after_again(file)
    with h5py.File(path) as file:
        after_again(file)


def locking(program, path):
    """Who has the file open keeps the other out."""
    create(path, "latest", {})
    with h5py.File(path):
        done = subprocess.run([program, "edit", path], capture_output=True, text=True)
        assert done.returncode != 0 and "has it locked" in done.stderr, done.stderr
        unlocked = subprocess.run(
            [program, "edit", path], capture_output=True, text=True, env={**os.environ, "HDF5_USE_FILE_LOCKING": "FALSE"}
        )
        assert unlocked.returncode == 0, unlocked.stderr


# Each edit: what our side is told to do, and how h5py does it.
EDITS = {
    "nothing": ("", lambda file: None),
    "few elements": ("write flat 3 2", lambda file: file["flat"].__setitem__(slice(3, 5), 17)),
    "all elements": ("write flat 0 100", lambda file: file["flat"].__setitem__(slice(0, 100), 17)),
    "elements in the header": ("write small 3 1", lambda file: file["small"].__setitem__(3, 17)),
    "elements of a chunk": ("write rows 3 1", lambda file: file["rows"].__setitem__(3, 17)),
    "the only chunk": ("write packed 0 9", lambda file: file["packed"].__setitem__(slice(0, 9), 17)),
    "the first chunk": ("write late 3 1", lambda file: file["late"].__setitem__(3, 17)),
    "the first elements": ("write empty 3 1", lambda file: file["empty"].__setitem__(3, 17)),
    "more rows": ("resize rows 30", lambda file: file["rows"].resize((30,))),
    "fewer rows": ("resize rows 13", lambda file: file["rows"].resize((13,))),
    "as many rows": ("resize rows 20", lambda file: file["rows"].resize((20,))),
    "a new attribute": ("attribute flat b 3", lambda file: file["flat"].attrs.create("b", [17] * 3)),
    "another attribute": ("attribute flat a 3", lambda file: file["flat"].attrs.create("a", [17] * 3)),
    "an attribute's name": ("rename flat a c", lambda file: h5py.h5a.rename(file["flat"].id, b"a", b"c")),
    "no attribute": ("remove flat a", lambda file: file["flat"].attrs.__delitem__("a")),
    "one of many attributes": ("attribute many a07 3", lambda file: file["many"].attrs.create("a07", [17] * 3)),
    "many attributes less one": ("remove many a07", lambda file: file["many"].attrs.__delitem__("a07")),
    "an attribute of a group": ("attribute group a 1", lambda file: file["group"].attrs.create("a", [17])),
    "an attribute of a type": ("attribute type a 1", lambda file: file["type"].attrs.create("a", [17])),
    "a comment": ("comment flat new", lambda file: h5py.h5o.set_comment(file["flat"].id, b"new")),
    "a soft link": ("soft group/soft /flat", lambda file: file.__setitem__("group/soft", h5py.SoftLink("/flat"))),
    "a hard link": ("hard group/hard flat", lambda file: file.__setitem__("group/hard", file["flat"])),
    "a group in a group": ("group group/made", lambda file: file.create_group("group/made")),
    "one of many links": ("soft large/soft /flat", lambda file: file.__setitem__("large/soft", h5py.SoftLink("/flat"))),
    "a link of another name": ("move group/third group/last", lambda file: file.move("group/third", "group/last")),
    "two links are left": ("unlink group/third", lambda file: file.__delitem__("group/third")),
    "one link is left": ("unlink other/second", lambda file: file.__delitem__("other/second")),
}


def timed(path, low):
    """A file whose objects all store times, as far as the library can store them."""
    creation, access = h5py.h5p.create(h5py.h5p.FILE_CREATE), h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    creation.set_obj_track_times(True)
    bounds = {"earliest": h5py.h5f.LIBVER_EARLIEST, "v108": h5py.h5f.LIBVER_V18, "latest": h5py.h5f.LIBVER_LATEST}
    access.set_libver_bounds(bounds[low], h5py.h5f.LIBVER_LATEST)
    with h5py.File(h5py.h5f.create(path.encode(), h5py.h5f.ACC_TRUNC, creation, access)) as file:
        keys = {"dtype": "i4", "track_times": True}
        file.create_dataset("flat", data=np.ones(100), **keys).attrs["a"] = [1, 2, 3]
        file.create_dataset("rows", data=np.ones(20), chunks=(10,), maxshape=(None,), **keys)
        file.create_dataset("packed", data=np.arange(9), chunks=(9,), compression="gzip", **keys)
        file.create_dataset("late", (20,), chunks=(10,), **keys)
        file.create_dataset("empty", (20,), **keys)
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        compact.set_obj_track_times(True)
        extent = h5py.h5s.create_simple((4,))
        h5py.h5d.create(file.id, b"small", h5py.h5t.NATIVE_INT32, extent, compact)
        file.create_dataset("many", data=[1], **keys).attrs.update({f"a{i:02}": [i] * 3 for i in range(40)})
        for name in ("group", "other", "large"):
            file.create_group(name, track_times=True)
        file["group/second"] = file["group/third"] = file.create_dataset("group/first", data=[1], **keys)
        file["other/second"] = file.create_dataset("other/first", data=[1], **keys)
        for i in range(40):
            file["large"][f"n{i}"] = h5py.SoftLink("/flat")
        file["type"] = np.dtype("i4")


def times(path):
    """The times of each object: of access, of modification, of change, and of birth."""
    with h5py.File(path) as file:
        names = ["/"]
        file.visit(lambda name: names.append(name))
        infos = {name: h5py.h5o.get_info(file[name].id) for name in names}
        return {name: (info.atime, info.mtime, info.ctime, info.btime) for name, info in infos.items()}


def renewed(before, after):
    """Which times of which objects have changed."""
    there = before.keys() & after.keys()
    changed = {name: [a != b for a, b in zip(before[name], after[name])] for name in there}
    return {name: which for name, which in changed.items() if any(which)}


def times_alike(program, folder, low, check):
    """Objects get new times here if they get new ones there."""
    made = os.path.join(folder, f"times_{low}.h5")
    timed(made, low)
    before = times(made)
    while int(time.time()) <= max(most for each in before.values() for most in each):
        time.sleep(0.05)
    here, there, script = (os.path.join(folder, f"times_{low}_{way}") for way in ("here.h5", "there.h5", "script"))

    def run(words, edit):
        shutil.copy(made, here)
        shutil.copy(made, there)
        with open(script, "w") as file:
            file.write("\t".join(words.split(" ")) + "\n" if words else "")
        done = subprocess.run([program, "edit-many", here, script], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr.strip()
        with h5py.File(there, "r+") as file:
            edit(file)
        ours, theirs = (renewed(before, times(path)) for path in (here, there))
        assert ours == theirs, f"renewed here: {ours}, there: {theirs}"

    for what, (words, edit) in EDITS.items():
        check(f"times, libver {low}: {what}", "edited here", lambda: run(words, edit))


def cases():
    for low in LIBVERS:
        yield f"libver {low}", low, {}
        yield f"libver {low}, order kept", low, {"track_order": True}
    for strategy, persist in [("fsm", True), ("page", True), ("page", False), ("aggregate", False), ("none", False)]:
        keys = {"fs_strategy": strategy, "fs_persist": persist, "fs_page_size": 4096}
        yield f"space {strategy}{', kept' if persist else ''}", "v110", keys
    yield "user block", "latest", {"userblock_size": 1024}
    for low in ("earliest", "v110"):
        yield f"addresses of 4 bytes, libver {low}", low, {"narrow": True}
    yield "an image of the metadata cache", "v110", {"image": True}
    every, attributes, others = 0x182A, 0x1000, 0x082A
    for low in ("earliest", "v110", "latest"):
        yield f"a list of shared messages, libver {low}", low, {"shared": ([(every, 1)], (1000, 900))}
        yield f"lists that become trees and back, libver {low}", low, {"shared": ([(attributes, 1), (others, 1)], (30, 20))}
        yield f"a tree of shared messages, libver {low}", low, {"shared": ([(every, 1)], (0, 0))}
        yield f"large messages are shared, libver {low}", low, {"shared": ([(every, 30)], (8, 5))}
    kinds = [(1 << kind, 1) for kind in (1, 3, 5, 11, 12)]
    yield "an index of shared messages for each kind", "v110", {"shared": (kinds, (6, 4))}


def main():
    program, folder = os.path.abspath(sys.argv[1]), sys.argv[2]

    def check(case, way, run):
        line = {"case": f"edit: {case}", "way": way, "ok": True}
        try:
            run()
        except Exception as error:  # a failed case is a line, whatever failed
            line.update(ok=False, why=f"{type(error).__name__}: {error}")
        print(json.dumps(line), flush=True)

    for number, (case, low, keys) in enumerate(cases()):
        path = os.path.join(folder, f"{number:02}.h5")
        check(case, "edited here", lambda: edited_here(program, path, low, keys))
        if "shared" in keys:
            whole, indexes = os.path.join(folder, f"{number:02}_emptied.h5"), len(keys["shared"][0])
            shutil.copy(path, whole)
            check(f"{case}, emptied", "edited there", lambda: emptied_there(program, whole, indexes))
        check(f"{case}, then here again", "edited there", lambda: edited_there(program, path, low))
        if "shared" in keys:
            check(f"{case}, then emptied", "edited here", lambda: emptied_here(program, path, indexes))
    for low in ("earliest", "v108", "latest"):
        times_alike(program, folder, low, check)
    check("file locking", "edited here", lambda: locking(program, os.path.join(folder, "locking.h5")))


if __name__ == "__main__":
    main()
