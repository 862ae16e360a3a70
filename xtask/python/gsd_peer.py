"""The independent side of the GSD conformance run: the reference library, and `struct` for files of layer 1.0.

    gsd_peer.py write DIR    writes every case into DIR, with its content manifest
    gsd_peer.py check DIR    reads the files that the other side wrote

Both sides list the same cases and know their contents from the same formula.
"""

import json
import pathlib
import shutil
import sys

import gsd.fl
import gsd.hoomd
import gsd.pygsd
import gsd.version
import numpy

from gsd_format import build, content, frames, manifest

DTYPES = {"u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8",
          "f32": "f4", "f64": "f8"}
LAYER = ["types", "empty", "names", "frames", "sparse", "grown", "layer-1.0", "upgraded", "appended"]
EDITED = ["upgraded", "appended"]
HOOMD = ["hoomd-single", "hoomd-double", "hoomd-defaults", "hoomd-partial", "hoomd-log"]
BONDS = [("bonds", 3, 2), ("angles", 2, 3), ("dihedrals", 4, 4), ("impropers", 1, 4), ("pairs", 5, 2)]
PARTICLES = ["N", "types", "type_shapes", "typeid", "mass", "charge", "diameter", "body", "moment_inertia", "position",
             "orientation", "velocity", "angmom", "image"]


def say(group, detail, check, way=None):
    """Runs a check, which gives nothing or why it fails, and prints its outcome and which way the file went."""
    try:
        why = check()
    except Exception as error:  # whatever it is, it is the file's fault, and the run goes on
        why = f"{type(error).__name__}: {error}"
    way = way or ("edited here" if group in EDITED else "they read ours")
    line = {"case": f"{group}: {detail}", "way": way, "ok": why is None}
    if why is not None:
        line["why"] = why
    print(json.dumps(line))


# --- the file layer ---

def write_chunk(file, name, element, rows, columns, data):
    if element == "character":
        file.write_chunk(name, data.decode())
        return
    array = numpy.frombuffer(data, "<" + DTYPES[element])
    file.write_chunk(name, array if columns == 1 else array.reshape(rows, columns))


def open_new(path, schema):
    return gsd.fl.open(str(path), "w", application="peer", schema=schema, schema_version=[1, 2])


def write_layer(folder):
    for case in LAYER:
        path = folder / f"{case}.gsd"
        all_frames = [content(case, i) for i in range(frames(case))]
        if case in ("layer-1.0", "upgraded"):
            path.write_bytes(build(all_frames, old=True, schema=case.encode()))
            if case == "upgraded":
                with gsd.fl.open(str(path), "r+") as file:
                    file.upgrade()
        else:
            file = open_new(path, case)
            for i, chunks in enumerate(all_frames):
                for chunk in chunks:
                    write_chunk(file, *chunk)
                file.end_frame()
                if i % 7 == 0 and case != "frames":
                    file.flush()
                if case == "appended" and i % 20 == 19:
                    file.close()
                    file = gsd.fl.open(str(path), "r+")
            file.close()
        if case != "frames":
            (folder / f"{case}.gsd.jsonl").write_text(manifest(all_frames))


def differs(file, i, chunks):
    """What is wrong with frame `i`, if anything."""
    for name, element, rows, columns, data in chunks:
        if not file.chunk_exists(frame=i, name=name):
            return f"no {name} in frame {i}"
        found = file.read_chunk(frame=i, name=name)
        if element == "character":
            found = found.encode() if isinstance(found, str) else bytes(found)
            if found != data:
                return f"{name} is {found!r}, expected {data!r}"
            continue
        dtype = numpy.dtype("<" + DTYPES[element])
        shape = (rows,) if columns == 1 else (rows, columns)
        if found.dtype != dtype or found.shape != shape:
            # The reader in Python has no shape for what is empty.
            if not (rows == 0 and isinstance(file, gsd.pygsd.GSDFile)):
                return f"{name} is {found.dtype} {found.shape}, expected {dtype} {shape}"
        if found.tobytes() != data:
            return f"{name} in frame {i} has other values"
    return None


def check_head(file, case):
    layer = (1, 0) if case == "layer-1.0" else (2, 1)
    found = (file.nframes, file.schema, tuple(file.schema_version), tuple(file.gsd_version))
    expected = (frames(case), case, (1, 2), layer)
    return None if found == expected else f"it is {found}, expected {expected}"


def check_frames(file, case, some):
    for i in some:
        why = differs(file, i, content(case, i))
        if why:
            return why
    return None


def check_layer(folder):
    for case in [*LAYER, "unclosed"]:
        path = folder / f"{case}.gsd"
        with gsd.fl.open(str(path), "r") as file:
            say(case, "header", lambda: check_head(file, case))
            step = -(-frames(case) // 60)
            for i in range(0, frames(case), step):
                some = range(i, min(i + step, frames(case)))
                say(case, f"frame {i}", lambda: check_frames(file, case, some))
            if case != "frames":
                names = sorted({name for i in range(frames(case)) for name, *_ in content(case, i)})
                say(case, "names", lambda: None if sorted(file.find_matching_chunk_names("")) == names else "others")
        if case not in ("frames", "sparse"):
            with open(path, "rb") as opened:
                python = gsd.pygsd.GSDFile(opened)
                say(case, "read by pygsd", lambda: check_frames(python, case, range(frames(case))))
    for case in ("grown", "layer-1.0", "unclosed"):
        say(case, "appended to by them", lambda: append(folder, case), "edited there")


def append(folder, case):
    path = folder / f"{case}-appended-by-them.gsd"
    shutil.copy(folder / f"{case}.gsd", path)
    with gsd.fl.open(str(path), "r+") as file:
        for i in range(60, 100):
            for chunk in content(case, i):
                write_chunk(file, *chunk)
            file.end_frame()
    with gsd.fl.open(str(path), "r") as file:
        return check_frames(file, case, range(100))


# --- HOOMD ---

def precise(values, double):
    if double:
        return numpy.array(values, dtype=numpy.float64) + 1e-12
    return numpy.array(values, dtype=numpy.float32)


def full(n, seed, double):
    """A frame in which everything differs from the defaults."""
    def reals(columns, offset):
        values = [(i * 7 + offset + seed * 100) % 1000 / 8 + 2 for i in range(n * columns)]
        array = precise(values, double)
        return array if columns == 1 else array.reshape(n, columns)

    frame = gsd.hoomd.Frame()
    frame.configuration.step = (1 << 40) + seed
    frame.configuration.dimensions = 2
    # Exact in single precision, through which the library passes the box.
    frame.configuration.box = numpy.array([1.5, 2.5, 3.5, 0.25, 0.5, seed], dtype=numpy.float32)
    p = frame.particles
    p.N = n
    p.types = ["A", "long type name", f"type {seed}"]
    p.type_shapes = [{"type": "Sphere", "diameter": 2.0}, {}, {}]
    p.typeid = numpy.array([(i + seed) % 3 for i in range(n)], dtype=numpy.uint32)
    p.mass, p.charge, p.diameter = reals(1, 1), reals(1, 2), reals(1, 3)
    p.moment_inertia, p.position, p.velocity = reals(3, 4), reals(3, 5), reals(3, 6)
    p.orientation, p.angmom = reals(4, 7), reals(4, 8)
    p.body = numpy.array([i + seed - 3 for i in range(n)], dtype=numpy.int32)
    p.image = numpy.array([i + seed - 9 for i in range(3 * n)], dtype=numpy.int32).reshape(n, 3)
    for name, rows, columns in BONDS:
        group = getattr(frame, name)
        group.N = rows
        group.types = ["x", "a longer name"]
        group.typeid = numpy.array([(i + seed) % 2 for i in range(rows)], dtype=numpy.uint32)
        members = [[(i + j + seed) % n for j in range(columns)] for i in range(rows)]
        group.group = numpy.array(members, dtype=numpy.uint32)
    frame.constraints.N = n
    frame.constraints.value = reals(1, 9)
    frame.constraints.group = numpy.array([[0, seed % n]] * n, dtype=numpy.uint32)
    return frame


def partial(expected):
    """What a frame sets; or what a reader must find then."""
    first = full(5, 1, False)
    second = full(5, 1, False) if expected else gsd.hoomd.Frame()
    second.configuration.step = 77
    second.particles.N = 5
    second.particles.position = full(5, 2, False).particles.position
    if not expected:
        for name, rows, _ in [*BONDS, ("constraints", 5, 2)]:
            getattr(second, name).N = rows
    third = gsd.hoomd.Frame()
    third.particles.N = 6
    if expected:
        third.configuration = first.configuration
        third.particles.types = first.particles.types
        third.particles.type_shapes = first.particles.type_shapes
        for name, *_ in BONDS:
            getattr(third, name).types = ["x", "a longer name"]
    return [first, second, third]


def logged(seed):
    frame = gsd.hoomd.Frame()
    frame.particles.N = 2
    frame.configuration.step = seed * 10
    frame.log["energy"] = numpy.array([seed / 8])
    frame.log["vector"] = numpy.array([(seed * 6 + k) / 4 for k in range(6)]).reshape(2, 3)
    frame.log["particles/count"] = numpy.array([seed, seed + 1], dtype=numpy.uint32)
    frame.log["note"] = f"frame {seed}"
    return frame


def plain(n):
    frame = gsd.hoomd.Frame()
    frame.particles.N = n
    frame.configuration.step = n
    return frame


def hoomd_frames(case, expected):
    sizes = [(5, 1), (5, 2), (7, 3), (5, 4)]
    if case in ("hoomd-single", "hoomd-double"):
        return [full(n, seed, case == "hoomd-double") for n, seed in sizes]
    if case == "hoomd-partial":
        return partial(expected)
    if case == "hoomd-log":
        return [logged(seed) for seed in range(10)]
    return [plain(n) for n in range(1, 4)]


def write_hoomd(folder):
    for case in HOOMD:
        precision = "double" if case == "hoomd-double" else "single"
        with gsd.hoomd.open(str(folder / f"{case}.gsd"), "w", precision=precision) as file:
            file.extend(hoomd_frames(case, False))


def same(what, found, expected):
    found = numpy.asarray(found)
    expected = numpy.asarray(expected, dtype=found.dtype if isinstance(expected, int) else None)
    if found.dtype.kind != expected.dtype.kind or found.shape != expected.shape:
        return f"{what} is {found.dtype} {found.shape}, expected {expected.dtype} {expected.shape}"
    if what != "configuration/box" and found.dtype != expected.dtype and found.size:
        return f"{what} has the precision {found.dtype}, expected {expected.dtype}"
    return None if numpy.array_equal(found, expected) else f"{what} is {found}, expected {expected}"


def compare(found, expected):
    defaults = gsd.hoomd.ParticleData._default_value
    groups = [("configuration", ["step", "dimensions", "box"]), ("particles", PARTICLES)]
    groups += [(name, ["N", "types", "typeid", "group"]) for name, *_ in BONDS]
    groups += [("constraints", ["N", "value", "group"])]
    for group, names in groups:
        for name in names:
            theirs, ours = getattr(getattr(found, group), name), getattr(getattr(expected, group), name)
            if ours is None:
                if group == "particles" and name not in ("types", "type_shapes"):
                    default = numpy.asarray(defaults[name])
                    ours = numpy.broadcast_to(default, (found.particles.N, *default.shape))
                else:
                    ours = getattr(found, group)._default_value[name]
                    if name in ("typeid", "group", "value"):
                        ours = theirs[:0]
            if isinstance(ours, list):
                why = None if list(theirs) == ours else f"{group}/{name} is {theirs}, expected {ours}"
            else:
                why = same(f"{group}/{name}", theirs, ours)
            if why:
                return why
    if set(found.log) != set(expected.log):
        return f"log has {sorted(found.log)}, expected {sorted(expected.log)}"
    for name, ours in expected.log.items():
        why = same(f"log/{name}", found.log[name], ours)
        if why:
            return why
    return None


def check_log(path):
    log = gsd.hoomd.read_log(str(path))
    return (same("energy", log["log/energy"], numpy.arange(10) / 8)
            or same("vector", log["log/vector"], numpy.arange(60).reshape(10, 2, 3) / 4)
            or same("steps", log["configuration/step"], numpy.arange(10, dtype=numpy.uint64) * 10)
            or (None if list(log["log/note"]) == [f"frame {i}" for i in range(10)] else "other notes"))


def check_hoomd(folder):
    for case in HOOMD:
        path = folder / f"{case}.gsd"
        expected = hoomd_frames(case, True)
        with gsd.hoomd.open(str(path), "r") as file:
            say(case, "number of frames", lambda: None if len(file) == len(expected) else f"it is {len(file)}")
            for i, frame in enumerate(expected):
                say(case, f"frame {i}", lambda: compare(file[i], frame))
        if case == "hoomd-log":
            say(case, "columns", lambda: check_log(path))


if __name__ == "__main__":
    verb, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if verb == "write":
        write_layer(folder)
        write_hoomd(folder)
    else:
        print(json.dumps({"peer": f"gsd {gsd.version.version} (gsd.fl, gsd.pygsd, gsd.hoomd)"}))
        check_layer(folder)
        check_hoomd(folder)
