"""Damages files of ASDF, Blosc2, GSD and RawArray in many ways, salvages them, and compares what was saved with the undamaged files.

As a program, `LABEL FILE NAMES.json ARRAYS.npz` reads the named arrays of a file with its library and stores them.
"""

import json
import os
import random
import shutil
import subprocess
import sys

import numpy as np

from salvage_shared import KINDS, SEED, Tally, damage, is_kept, overlaps, salvage, values


def numbers_at(seed, count):
    return values(seed, (count,), "u4")


def make_asdf(path):
    import asdf

    arrays = {f"a{i}": numbers_at(i, 3000).reshape(100, 30) for i in range(6)}
    tree = {"title": "sample", "group": dict(arrays)}
    with asdf.AsdfFile(tree) as f:
        for i, name in enumerate(arrays):
            f.set_array_compression(f["group"][name], ["", "zlib", "lz4"][i % 3])
        f.write_to(path)
    return {f"group/{name}": data for name, data in arrays.items()}


def make_blosc2(path):
    import blosc2

    data = numbers_at(5, 120 * 60).reshape(120, 60)
    if os.path.exists(path):
        os.remove(path)
    blosc2.asarray(data, chunks=(10, 60), blocks=(5, 30), urlpath=path, mode="w")
    return {"": data}


GSD_NAMES = ("step", "particles/position", "log/energy")


def make_gsd(path):
    import gsd.fl

    chunks = {}
    with gsd.fl.open(path, "w", application="lab", schema="walk", schema_version=(1, 0)) as f:
        for frame in range(100):
            for i, name in enumerate(GSD_NAMES):
                data = numbers_at(frame * 10 + i, (1, 90, 8)[i])
                # The library returns one column as one dimension.
                data = data.reshape(-1, 3) if i == 1 else data
                f.write_chunk(name, data)
                chunks[f"{frame}/{name}"] = data
            f.end_frame()
            if frame % 10 == 9:
                f.flush()
    return chunks


def make_rawarray(path):
    data = numbers_at(3, 90 * 8 * 10).reshape(90, 8, 10)
    head = [0, 2, 4, data.nbytes, 3, *reversed(data.shape)]
    with open(path, "wb") as f:
        f.write(b"rawarray" + np.array(head, "<u8").tobytes() + data.tobytes())
    return {"": data}


def read_asdf(path, chunks):
    import asdf

    found = {}
    with asdf.open(path, memmap=False) as f:
        for name in chunks:
            try:
                found[name] = np.array(f["group"][name.split("/")[1]])
            except (KeyError, IndexError, TypeError, ValueError):
                # Its description is damaged. Its block may be there nevertheless.
                block = f.tree.get("lost+found", {}).get(f"block{name[-1]}")
                if block is not None and np.size(block) == chunks[name].nbytes:
                    found[name] = np.array(block).view("u4").reshape(chunks[name].shape)
    return found


def read_blosc2(path, chunks):
    import blosc2

    array = blosc2.open(path)
    if hasattr(array, "shape"):
        return {"": array[...]}
    # The shape is lost. The chunks are there as they were stored, one block after another.
    chunks = [array.decompress_chunk(i) for i in range(array.nchunks)]
    found = {unblocked(chunk) for chunk in chunks if len(chunk) == 10 * 60 * 4}
    wanted = make_blosc2(f"{path}.wanted")[""]
    return {"": np.array([part.tobytes() in found for part in np.split(wanted, 12)])}


def unblocked(chunk):
    """The elements of a chunk of 10 by 60 in blocks of 5 by 30, in C order."""
    blocks = np.frombuffer(chunk, "<u4").reshape(2, 2, 5, 30)
    return blocks.transpose(0, 2, 1, 3).tobytes()


def read_gsd(path, chunks):
    import gsd.fl

    found = {}
    with gsd.fl.open(path, "r") as f:
        for chunk in chunks:
            at, name = chunk.split("/", 1)
            # If the list of names is lost, chunks are found by the number of their name.
            for stored in (name, f"lost+found/name{GSD_NAMES.index(name)}"):
                if f.chunk_exists(int(at), stored):
                    found[chunk] = f.read_chunk(int(at), stored)
                    break
    return found


def read_rawarray(path, chunks):
    data = open(path, "rb").read()
    count = int(np.frombuffer(data[40:48], "<u8")[0])
    shape = np.frombuffer(data[48:48 + 8 * count], "<u8")[::-1].astype(int)
    at = 48 + 8 * count
    kind, width = (int(word) for word in np.frombuffer(data[16:32], "<u8"))
    # An array of bytes stands for one whose type is lost.
    dtype = "<u4" if (kind, width) == (2, 4) else f"V{width}"
    return {"": np.frombuffer(data[at:at + width * int(np.prod(shape))], dtype).reshape(shape)}


OTHERS = {
    "ASDF": (make_asdf, read_asdf, "asdf"), "Blosc2": (make_blosc2, read_blosc2, "b2nd"), "GSD": (make_gsd, read_gsd, "gsd"),
    "RawArray": (make_rawarray, read_rawarray, "ra"),
}


def read_apart(label, path, chunks):
    """The arrays of a file, read in a process of its own, because a library of C may crash."""
    names, arrays = f"{path}.names.json", f"{path}.npz"
    if os.path.exists(arrays):
        os.remove(arrays)
    json.dump(list(chunks), open(names, "w"))
    if label == "ASDF":
        return OTHERS[label][1](path, chunks)
    subprocess.run([sys.executable, __file__, label, path, names, arrays], capture_output=True, timeout=60)
    if not os.path.exists(arrays):
        return {}
    with np.load(arrays) as found:
        return {name: found[str(i)] for i, name in enumerate(chunks) if str(i) in found}


def read_other(label, path, names, arrays):
    names = json.load(open(names))
    found = OTHERS[label][1](path, dict.fromkeys(names))
    np.savez(arrays, **{str(i): found[name] for i, name in enumerate(names) if name in found})


def rows_of(name, data, chunks, label):
    """The parts of an array that are counted: whole ones if they are compressed or small, and otherwise rows."""
    if label == "RawArray":
        return [((i,), data[i:i + 1]) for i in range(len(data))]
    if label == "Blosc2":
        return [((i,), data[i:i + 10]) for i in range(0, len(data), 10)]
    return [((), data)]


def stored_in(label, original, name, data):
    """The bytes with which a part is stored, if they can be known without the program."""
    if label == "ASDF":
        number = int(name[-1])
        at = -1
        for _ in range(number + 1):
            at = original.index(b"\xd3BLK", at + 1)
        used = int.from_bytes(original[at + 22:at + 30], "big")
        return original[at + 54:at + 54 + used]
    return data.tobytes()


def blosc2_chunks(path):
    import blosc2

    # The super-chunk does not keep its array alive.
    array = blosc2.open(path)
    return [bytes(array.schunk.get_chunk(i)) for i in range(array.schunk.nchunks)]


def description_of(label, before, chunks, stored):
    """The ranges that say what the arrays are, and for each part the ranges of which one has to be there to lead to it; `None` if
    nothing but the description leads to them."""
    if label == "RawArray":
        return [(0, 48 + 8 * int.from_bytes(before[40:48], "little"))], None
    if label == "ASDF":
        blocks = [at for at in range(len(before)) if before.startswith(b"\xd3BLK", at)]
        # The header of a block leads to it.
        return [(0, blocks[0])], {key: [(blocks[int(key[0][-1])], 54)] for key in stored}
    if label == "Blosc2":
        header, size = int.from_bytes(before[11:15], "big"), int.from_bytes(before[39:47], "big")
        index = header + size
        return [(0, header)], {key: [(index, int.from_bytes(before[index + 12:index + 16], "little"))] for key in stored}
    # GSD: the header, the names, each of which fills at most 64 bytes, and the entries of the index.
    index, entries, names = (int.from_bytes(before[at:at + 8], "little") for at in (8, 16, 24))
    leads = {}
    for at in range(index, index + 32 * entries, 32):
        frame, number = int.from_bytes(before[at:at + 8], "little"), int.from_bytes(before[at + 28:at + 30], "little")
        if number < len(GSD_NAMES):
            leads[f"{frame}/{GSD_NAMES[number]}", ()] = [(at, 32)]
    return [(0, 256), (names, 64 * len(GSD_NAMES))], leads


def check_other(program, label, original, damaged, saved, chunks, stored):
    """As `check`, for a file of another format."""
    if os.path.exists(saved):
        os.remove(saved)
    after = open(damaged, "rb").read()
    run = salvage(program, damaged, saved)
    assert open(damaged, "rb").read() == after, "the damaged file was changed"
    # If nothing is left to write, the report says why.
    report = json.loads(run.stdout) if run.returncode in (0, 1, 3) and run.stdout.strip() else None
    objects = {obj["path"]: obj for obj in (report or {}).get("objects", [])}
    found = {}
    if os.path.exists(saved):
        found = read_apart(label, saved, chunks)
    tally = Tally()
    wrong = []
    before = open(original, "rb").read()
    headers, leads = description_of(label, before, chunks, stored)
    is_described = is_kept(before, after, headers)
    for name, data in chunks.items():
        path = {"ASDF": f"/{name}", "GSD": f"/frames/{name}"}.get(label, "/")
        obj = objects.get(path)
        for at, part in rows_of(name, data, chunks, label):
            intact = stored[name, at] in after
            is_led = any(is_kept(before, after, [place]) for place in leads.get((name, at), [])) if leads is not None else True
            have = found.get(name)
            if have is not None and have.dtype == bool:
                # Only which parts were found is known.
                tally.add(intact, is_described, is_led, bool(have[at[0] // 10] and intact))
                continue
            if have is not None and have.dtype.kind in "VS":
                # The type is lost, and perhaps the shape. The bytes may be there.
                place = have.tobytes().find(stored[name, at]) if have.ndim == 1 else at[0]
                rows = slice(place, place + (part.nbytes if have.ndim == 1 else len(part)))
                is_bare = intact and place >= 0 and have[rows].tobytes() == stored[name, at] and not overlaps((rows,), have.shape, obj["missing"])
                tally.add(intact, is_described, is_led, False, False, is_bare)
                continue
            equal = have is not None and have.shape == data.shape and np.array_equal(have[at[0]:at[0] + len(part)] if at else have, part)
            listed = obj is not None and overlaps((slice(at[0], at[0] + len(part)),) if at else (slice(0, len(data)),), (*data.shape, 1), obj["missing"])
            right = bool(equal and intact)
            tally.add(intact, is_described, is_led, right and not listed, right and listed)
            if have is not None and obj is not None and not equal and not listed and obj["state"] in ("whole", "unchecked", "partial"):
                state = "partial, unchecked" if obj["state"] == "partial" and obj["unchecked"] else obj["state"]
                wrong.append((state, name, str(at)))
    # Nothing left to write is no failure.
    return tally, wrong, report is None and "no structure" not in run.stderr and "not all there" not in run.stderr


def others(program, folder, count):
    """Damages files of the other formats. Their peers have no way to save anything, so that only the program is measured."""
    for label, (make_one, _, extension) in OTHERS.items():
        original = f"{folder}/other.{extension}"
        try:
            chunks = make_one(original)
        except ImportError:
            print("skipped", label, file=sys.stderr)
            continue
        before = open(original, "rb").read()
        parts = [(name, at, part) for name, data in chunks.items() for at, part in rows_of(name, data, chunks, label)]
        if label == "Blosc2":
            stored = {(name, at): chunk for (name, at, _), chunk in zip(parts, blosc2_chunks(original))}
        else:
            stored = {(name, at): stored_in(label, before, name, part) for name, at, part in parts}
        for kind in KINDS[1:]:
            row = dict(writer=label, damage=kind, files=0, h5py=None, h5clear=None, h5dump=None, failed=0, wrong=[])
            for i in range(count):
                rng = random.Random(f"{SEED} {label} {kind} {i}")
                damaged = f"{folder}/damaged-other.{extension}"
                open(damaged, "wb").write(damage(kind, before, rng))
                saved = f"{folder}/saved-other.{extension}"
                tally, wrong, failed = check_other(program, label, original, damaged, saved, chunks, stored)
                row["files"] += 1
                tally.into(row)
                row["failed"] += failed
                row["wrong"] += wrong
                if failed or tally.good < 0.8 * tally.there or any(claim[0] in ("whole", "partial") for claim in wrong):
                    tag = "failed" if failed else "wrong" if wrong else "low"
                    keep = f"{folder}/{tag}-{label}-{kind.replace(' ', '_')}-{i}.{extension}"
                    shutil.copy(damaged, keep)
                    print(tag, keep, tally.there, tally.good, wrong[:3], file=sys.stderr)
            yield row


if __name__ == "__main__":
    read_other(*sys.argv[1:])
