"""Damages HDF5 files in many ways, salvages them, and compares what was saved with the undamaged files.

`run PROGRAM DIR OUT.json` makes the files, damages them, and writes one line per kind of damage. `peer DAMAGED ORIGINAL` counts what
h5py reads, in a process of its own, because the C library may crash on such files. `writer KIND FILE` writes until it is killed.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import zlib

import h5py
import numpy as np

import debian
import salvage_formats
from salvage_shared import KINDS, PRIME, SEED, Tally, damage, is_kept, overlaps, salvage, values


def numbers_of(data):
    """The numbers of datasets whose elements begin like `data`, of which one element may be a fill value."""
    flat = np.ravel(data)
    for at in (0, len(flat) // 2, len(flat) - 1):
        first = int(flat[at]) - 1 - at * 2654435761
        yield first * pow(40503, -1, PRIME) % PRIME


def make(path, libver, seed, big):
    rng = random.Random(seed)
    with h5py.File(path, "w", libver=libver, track_order=False) as f:
        f.attrs["title"] = f"sample {seed}"
        for g in range(2 + seed % 3):
            group = f.create_group(f"group{g}")
            group.attrs["number"] = np.arange(5) + g
            for d in range(3 + seed % 4):
                n = rng.choice([40, 300, 1500]) * (4 if big else 1)
                data = values(seed * 100 + g * 10 + d, (n, 7))
                kind = (g + d + seed) % 5
                if kind == 0:
                    ds = group.create_dataset(f"d{d}", data=data)
                elif kind == 1:
                    ds = group.create_dataset(f"d{d}", data=data, chunks=(16, 7), compression="gzip", shuffle=True)
                elif kind == 2:
                    ds = group.create_dataset(f"d{d}", data=data.astype("i4"), chunks=(25, 4), fletcher32=True)
                elif kind == 3:
                    ds = group.create_dataset(f"d{d}", data=data, chunks=(32, 7), maxshape=(None, 7))
                else:
                    text = [f"station {i} of {d}" for i in range(n // 10)]
                    ds = group.create_dataset(f"d{d}", data=np.array(text, dtype=object), dtype=h5py.string_dtype())
                ds.attrs["units"] = "K"
                ds.attrs["offset"] = float(d)


def make_tables(path, seed):
    import tables

    with tables.open_file(path, "w") as f:
        group = f.create_group("/", "run")
        f.create_carray(group, "frames", obj=values(seed, (200, 8, 8), "f4"), filters=tables.Filters(5, "zlib"))
        f.create_array(group, "times", obj=values(seed + 1, (500,)))
        table = np.zeros(800, dtype=[("a", "i4"), ("b", "f8")])
        table["a"], table["b"] = values(3, (800,), "i4"), values(4, (800,))
        f.create_table(group, "events", obj=table)


def make_netcdf(path, seed):
    import netCDF4

    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("time", None)
        f.createDimension("lat", 20)
        for v in range(3):
            var = f.createVariable(f"v{v}", "f4", ("time", "lat"), zlib=v > 0, chunksizes=(10, 20))
            var.units = "K"
            var[:] = values(seed + v, (150, 20), "f4")


def pieces(ds):
    """The parts of a dataset that are saved or lost as a whole: the selection, and the offset and size in the file."""
    found = []
    try:
        if ds.shape is None or ds.size == 0:
            return found
        if ds.chunks:
            for i in range(ds.id.get_num_chunks()):
                info = ds.id.get_chunk_info(i)
                sel = tuple(slice(o, min(o + c, s)) for o, c, s in zip(info.chunk_offset, ds.chunks, ds.shape))
                found.append((sel, info.byte_offset, info.size))
        elif ds.id.get_offset() is not None:
            row = ds.dtype.itemsize * int(np.prod(ds.shape[1:]))
            step = max(1, 2048 // max(row, 1))
            for i in range(0, ds.shape[0], step):
                end = min(i + step, ds.shape[0])
                found.append(((slice(i, end),), ds.id.get_offset() + i * row, (end - i) * row))
    except Exception:
        pass
    return found


def datasets(f):
    found = {}

    def visit(name, obj):
        if isinstance(obj, h5py.Dataset):
            found[name] = obj

    f.visititems(visit)
    return found


def plain(value):
    """An array; texts as `str`, and an empty attribute as an empty text."""
    if isinstance(value, h5py.Empty):
        return np.array("", dtype=object)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    array = np.asarray(value)
    if array.dtype.kind in "SU":
        return np.array([plain_text(x) for x in array.ravel().tolist()], dtype=object).reshape(array.shape)
    if array.dtype.kind == "O":
        return np.array([plain_text(x) for x in array.ravel().tolist()] + [None], dtype=object)[:-1].reshape(array.shape)
    return array


def plain_text(x):
    return x.decode("utf-8", "replace") if isinstance(x, bytes) else x


def same(a, b):
    a, b = plain(a), plain(b)
    if a.shape != b.shape:
        return False
    if a.dtype.kind == "O" or b.dtype.kind == "O":
        return a.tolist() == b.tolist()
    if a.dtype.fields:
        return b.dtype.fields is not None and list(a.dtype.names) == list(b.dtype.names) and all(same(a[n], b[n]) for n in a.dtype.names)
    if a.dtype.kind == "V":
        return a.tobytes() == b.tobytes()
    return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def peer(damaged, original):
    good = 0
    try:
        with h5py.File(original) as o, h5py.File(damaged, "r", locking=False) as f:
            for name, ref in datasets(o).items():
                for sel, _, _ in pieces(ref):
                    try:
                        good += same(f[name][sel], ref[sel])
                    except Exception:
                        pass
    except Exception:
        pass
    print(good)


def ask(*args):
    try:
        run = subprocess.run(args, capture_output=True, text=True, timeout=20)
        return int(run.stdout.split()[-1]) if run.returncode == 0 else 0
    except Exception:
        return 0


def described(program, original):
    """The ranges of each object header of an undamaged file with its continuations, by the path of the object, without the first slash."""
    run = subprocess.run([program, "inspect", "--json", original], capture_output=True, text=True, timeout=60, check=True)
    found, own = {}, None
    for line in run.stdout.splitlines():
        one = json.loads(line)
        if one["structure"] == "object header":
            own = found.setdefault(one["fields"]["path"].lstrip("/"), [])
        if one["structure"] in ("object header", "object header continuation") and own is not None:
            own.append((one["offset"], one["size"]))
    return found


def named(data, addresses):
    """The places of a file at which each address is written as eight bytes, the lowest first."""
    wanted, found = np.unique(np.array(sorted(addresses), dtype="<u8")), {}
    for shift in range(8):
        words = np.frombuffer(data, "<u8", (len(data) - shift) // 8, shift)
        for i in np.flatnonzero(np.isin(words, wanted)):
            found.setdefault(int(words[i]), []).append(int(i) * 8 + shift)
    return found


MAPS = {}


def map_of(program, original):
    """What `described` and `named` say about an undamaged HDF5 file."""
    if original not in MAPS:
        with h5py.File(original) as f:
            addresses = {offset for ds in datasets(f).values() for _, offset, _ in pieces(ds) if ds.chunks}
        MAPS[original] = described(program, original), named(open(original, "rb").read(), addresses)
    return MAPS[original]


def stored_bytes(ref, before, offset, size):
    """The bytes of a chunk as they are stored, and without deflate, in which they stay shuffled if they were."""
    data = before[offset:offset + size]
    if ref.compression == "gzip":
        try:
            return {data, zlib.decompressobj().decompress(data)}
        except zlib.error:
            # A filter may be left out of a single chunk.
            pass
    return {data}


def loose_chunks(out, report):
    """The bytes of each chunk whose dataset is lost and which is not listed as missing, with the object that has them."""
    found = {}
    for obj in report["objects"]:
        if obj["kind"] != "chunks" or out is None or obj["path"] not in out:
            continue
        data = out[obj["path"]][()]
        for at in np.ndindex(data.shape[:-1]):
            sel = (*(slice(i, i + 1) for i in at), slice(0, data.shape[-1]))
            if not overlaps(sel, data.shape, obj["missing"]):
                found[data[at].tobytes()] = obj
    return found


def check(program, original, damaged, saved):
    """Returns the numbers of pieces, the false claims, and whether the program failed."""
    if os.path.exists(saved):
        os.remove(saved)
    before, after = open(original, "rb").read(), open(damaged, "rb").read()
    run = salvage(program, damaged, saved)
    if open(damaged, "rb").read() != after:
        return Tally(), [("whole", damaged, "the damaged file was changed")], 0
    report = None
    if run.returncode in (0, 1) and run.stdout.strip():
        report = json.loads(run.stdout)
    failed = report is None
    tally = Tally()
    wrong = []
    headers, leads = map_of(program, original)
    with h5py.File(original) as o:
        by_address, by_path = {}, {}
        for name, ref in datasets(o).items():
            by_address[h5py.h5o.get_info(ref.id).addr] = name
        out = h5py.File(saved) if not failed and os.path.exists(saved) else None
        loose = loose_chunks(out, report) if report else {}
        parts = [(ref, *part) for ref in datasets(o).values() if ref.chunks for _, *part in pieces(ref)]
        chunks = set().union(*(stored_bytes(ref, before, *part) for ref, *part in parts))
        for data, obj in loose.items():
            if data not in chunks:
                wrong.append(("partial, unchecked" if obj["unchecked"] else "partial", obj["path"], "bytes of a chunk"))
        places = {}
        for obj in (report or {}).get("objects", []):
            name = by_address.get(obj["address"]) or (obj["path"].lstrip("/") if obj["path"].lstrip("/") in by_address.values() else None)
            if name:
                places[name] = obj
        for name, ref in datasets(o).items():
            obj = places.get(name)
            ds = None
            if obj and out is not None:
                try:
                    ds = out[obj["path"]]
                except KeyError:
                    pass
            if obj and obj["state"] in ("whole", "unchecked"):
                if ds is None or not same(ds[()] if ds.shape is not None else 0, ref[()] if ref.shape is not None else 0):
                    wrong.append((obj["state"], name, "elements"))
                elif any(k not in ds.attrs or not same(ds.attrs[k], ref.attrs[k]) for k in ref.attrs if k not in ("CLASS", "REFERENCE_LIST", "DIMENSION_LIST", "NAME")):
                    wrong.append((obj["state"], name, "attributes"))
            is_described = is_kept(before, after, headers[name])
            for sel, offset, size in pieces(ref):
                intact = is_kept(before, after, [(offset, size)])
                # What leads to contiguous elements is in the description.
                is_led = not ref.chunks or any(is_kept(before, after, [(at, 8)]) for at in leads.get(offset, []))
                if ds is None or ds.shape != ref.shape:
                    is_bare = intact and bool(ref.chunks) and any(data in loose for data in stored_bytes(ref, before, offset, size))
                    tally.add(intact, is_described, is_led, False, False, is_bare)
                    continue
                try:
                    equal = same(ds[sel], ref[sel])
                except Exception:
                    equal = False
                listed = overlaps(sel, ref.shape, obj["missing"])
                # What is listed as missing is not saved, whether or not it is right.
                right = equal and intact
                tally.add(intact, is_described, is_led, right and not listed, right and listed)
                if not equal and not listed and obj["state"] == "partial":
                    wrong.append(("partial, unchecked" if obj["unchecked"] else "partial", name, str(sel)))
        if out is not None:
            out.close()
    return tally, wrong, failed


def writer(kind, path):
    """Writes until it is killed. Dataset number i holds values(i)."""
    if kind == "tables":
        import tables

        f = tables.open_file(path, "w")
        for i in range(100000):
            f.create_carray("/", f"d{i}", obj=values(i, (400, 7)), filters=tables.Filters(5, "zlib"), chunkshape=(16, 7))
            if i % 3 == 0:
                f.flush()
    elif kind == "netcdf":
        import netCDF4

        f = netCDF4.Dataset(path, "w")
        f.createDimension("x", 400)
        f.createDimension("y", 7)
        for i in range(100000):
            v = f.createVariable(f"d{i}", "f8", ("x", "y"), zlib=True, chunksizes=(16, 7))
            v[:] = values(i, (400, 7))
            if i % 3 == 0:
                f.sync()
    else:
        f = h5py.File(path, "w", libver=kind)
        for i in range(100000):
            chunks = None if i % 4 == 0 else (16, 7)
            zipped = "gzip" if i % 4 > 1 else None
            f.create_dataset(f"d{i}", data=values(i, (400, 7)), chunks=chunks, compression=zipped)
            if i % 3 == 0:
                f.flush()


def peer_killed(path):
    good = 0
    try:
        with h5py.File(path, "r", locking=False) as f:
            for name, ds in datasets(f).items():
                try:
                    good += same(ds[()], values(int(name[1:]), (400, 7)))
                except Exception:
                    pass
    except Exception:
        pass
    print(good)


def killed(program, kind, folder, rng, row):
    path, saved = f"{folder}/killed.h5", f"{folder}/killed-saved.h5"
    for p in (path, saved):
        if os.path.exists(p):
            os.remove(p)
    child = subprocess.Popen([sys.executable, __file__, "writer", kind, path], stderr=subprocess.DEVNULL)
    while not os.path.exists(path) and child.poll() is None:
        time.sleep(0.01)
    time.sleep(rng.uniform(0.02, 1.0))
    child.send_signal(signal.SIGKILL)
    child.wait()
    run = salvage(program, path, saved)
    row["files"] += 1
    row["h5py"] += ask(sys.executable, __file__, "peer_killed", path)
    row["h5dump"] += dumps(path)
    fixed = f"{folder}/killed-clear.h5"
    shutil.copy(path, fixed)
    row["h5clear"] += ask_clear(fixed, ["peer_killed", fixed])
    if run.returncode not in (0, 1) or not os.path.exists(saved):
        row["failed"] += 1
        print("failed", kind, run.stderr[-300:], file=sys.stderr)
        shutil.copy(path, f"{folder}/failed-killed-{kind}.h5")
        return
    report = json.loads(run.stdout)
    with h5py.File(saved) as out:
        for obj in report["objects"]:
            if obj["kind"] != "dataset" or obj["state"] in ("metadata", "lost"):
                continue
            ds = out.get(obj["path"])
            if ds is None or ds.shape != (400, 7):
                continue
            data = ds[()]
            number = int(obj["path"].rsplit("/d", 1)[1]) if "/d" in obj["path"] else None
            expected = values(number, (400, 7)) if number is not None else None
            equal = expected is not None and same(data, expected)
            if expected is None:
                # An orphan: its elements tell which number it had.
                equal = any(same(data, values(i, (400, 7))) for i in numbers_of(data))
            row["saved"] += bool(equal)
            # Chunks that the writer had not stored yet have the fill value.
            stored = expected is None or bool(np.all((data == expected) | (data == ds.fillvalue)))
            if obj["state"] in ("whole", "unchecked") and not equal and (ds.chunks is None or not stored):
                row["wrong"].append((obj["state"], kind, obj["path"]))


H5CLEAR = H5DUMP = None


def ask_clear(copy, then):
    env = dict(os.environ, LD_LIBRARY_PATH=H5CLEAR[1])
    for args in (["-s"], ["--increment=0"]):
        try:
            subprocess.run([H5CLEAR[0], *args, copy], capture_output=True, timeout=30, env=env)
        except subprocess.TimeoutExpired:
            pass
    return ask(sys.executable, __file__, *then)


def find_tools():
    """Finds h5clear and h5dump, and the libraries that they need."""
    global H5CLEAR, H5DUMP
    root = debian.unpacked("hdf5-tools")
    libraries = os.pathsep.join(map(str, debian.libraries(root)))
    H5CLEAR = (os.path.join(root, "usr/bin/h5clear"), libraries)
    H5DUMP = os.path.join(root, "usr/bin/h5dump")


def dumps(path):
    """Whether h5dump prints the file without an error."""
    env = dict(os.environ, LD_LIBRARY_PATH=H5CLEAR[1])
    try:
        done = subprocess.run([H5DUMP, path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20, env=env)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def run(program, folder, output, count, kills, minutes):
    find_tools()
    began = time.monotonic()
    cells = 24
    done = 0

    def late():
        """Whether this kind of damage has had its share of the time. The first file is always examined."""
        left = minutes * 60 - (share_began - began)
        return time.monotonic() - share_began > left / max(1, cells - done)

    os.makedirs(folder, exist_ok=True)
    samples = {}
    for libver in ("earliest", "latest"):
        for seed in range(4):
            path = f"{folder}/{libver}{seed}.h5"
            make(path, libver, seed, seed == 3)
            samples.setdefault(f"h5py {libver}", []).append(path)
    for name, maker in (("PyTables", make_tables), ("netCDF4", make_netcdf)):
        try:
            path = f"{folder}/{name}.h5"
            maker(path, 7)
            samples[name] = [path]
        except ImportError:
            print("skipped", name, file=sys.stderr)
    rows = []
    for label, paths in samples.items():
        for kind in KINDS:
            row = dict(writer=label, damage=kind, files=0, h5py=0, h5clear=0, h5dump=0, failed=0, wrong=[])
            share_began = time.monotonic()
            for i in range(count):
                if i > 0 and late():
                    print("out of time", label, kind, i, file=sys.stderr)
                    break
                rng = random.Random(f"{SEED} {label} {kind} {i}")
                original = paths[i % len(paths)]
                data = damage(kind, open(original, "rb").read(), rng)
                damaged = f"{folder}/damaged.h5"
                open(damaged, "wb").write(data)
                tally, wrong, failed = check(program, original, damaged, f"{folder}/saved.h5")
                row["files"] += 1
                tally.into(row)
                row["failed"] += failed
                row["wrong"] += wrong
                if failed or wrong or tally.good < 0.8 * tally.there:
                    tag = "failed" if failed else "wrong" if wrong else "low"
                    keep = f"{folder}/{tag}-{label.replace(' ', '_')}-{kind.replace(' ', '_')}-{i}.h5"
                    shutil.copy(damaged, keep)
                    print(tag, keep, original, tally.there, tally.good, wrong[:3], file=sys.stderr)
                row["h5py"] += ask(sys.executable, __file__, "peer", damaged, original)
                row["h5dump"] += dumps(damaged)
                copy = f"{folder}/clear.h5"
                shutil.copy(damaged, copy)
                row["h5clear"] += ask_clear(copy, ["peer", copy, original])
            rows.append(row)
            done += 1
            print(json.dumps(row), flush=True)
    for kind in ("earliest", "latest", "tables", "netcdf"):
        row = dict(writer=kind, damage="killed", files=0, there=0, saved=0, doubted=0, h5py=0, h5clear=0, h5dump=0, failed=0, wrong=[])
        share_began = time.monotonic()
        for i in range(kills):
            if i > 0 and late():
                print("out of time", kind, i, file=sys.stderr)
                break
            killed(program, kind, folder, random.Random(f"{SEED} {kind} {i}"), row)
        rows.append(row)
        done += 1
        print(json.dumps(row), flush=True)
    for row in salvage_formats.others(program, folder, count):
        rows.append(row)
        print(json.dumps(row), flush=True)
    json.dump(rows, open(output, "w"), indent=1)


if __name__ == "__main__":
    verb, *rest = sys.argv[1:]
    if verb == "run":
        run(rest[0], rest[1], rest[2], int(rest[3]), int(rest[4]), int(rest[5]))
    elif verb == "peer":
        peer(*rest)
    elif verb == "peer_killed":
        peer_killed(*rest)
    elif verb == "writer":
        writer(*rest)
