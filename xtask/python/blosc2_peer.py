"""The independent side of the Blosc2 conformance run: python-blosc2, with the C library in it.

    blosc2_peer.py write DIR    writes every case into DIR
    blosc2_peer.py check DIR    reads the files that the other side wrote, and edits copies of some

Both sides list the same cases and know their contents from the same formula.
"""

import json
import pathlib
import shutil
import sys
import tempfile

import blosc2
import blosc2_cases
import numpy

from blosc2_format import (
    ARRAYS, CODECS, DTYPES, FILTERS, cases, chunk_size, chunks, content, elements, vlmeta, words as text,
)

blosc2.set_nthreads(1)
CODEC = {name: getattr(blosc2.Codec, name.upper()) for name in CODECS}


def parameters(type_size, codec="lz4", filters="shuffle", split=3, **more):
    ids = [blosc2.Filter(i) for i in FILTERS[filters]]
    return dict(
        typesize=type_size, codec=CODEC[codec], clevel=5, filters=ids, filters_meta=[0] * len(ids), nthreads=1,
        splitmode=blosc2.SplitMode(split), **more,
    )


def schunk(path, size, contiguous=True, **cparams):
    return blosc2.SChunk(
        chunksize=size, urlpath=str(path), mode="w", contiguous=contiguous, cparams=parameters(**cparams),
        dparams=dict(nthreads=1),
    )


# --- write ---

def write(folder):
    for file, type_size, codec, filters, split in cases():
        out = schunk(
            folder / file, chunk_size(type_size), type_size=type_size, codec=codec, filters=filters, split=split,
            blocksize=2048 // type_size * type_size,
        )
        for chunk in chunks(type_size):
            out.append_data(chunk)
    for shape, chunk, block in ARRAYS:
        write_array(folder / f"arrays-{len(shape)}d-{'x'.join(map(str, shape))}.b2nd", "<i4", shape, chunk, block)
    for number, text in enumerate(DTYPES):
        write_array(folder / f"dtypes-{number}.b2nd", text, [10, 11], [4, 5], [3, 2])
    write_others(folder)
    blosc2_cases.write(folder)


def write_array(path, text, shape, chunk, block):
    array = elements(text, shape)
    kind = dict(urlpath=str(path), mode="w", cparams=dict(nthreads=1))
    if 0 in shape or not shape:
        out = blosc2.empty(shape, dtype=array.dtype, **kind)
        if not shape:
            out[()] = array
        return
    out = blosc2.empty(shape, dtype=array.dtype, chunks=chunk, blocks=block, **kind)
    out[...] = array


def write_others(folder):
    special = schunk(folder / "special-kinds.b2frame", 4000, type_size=8)
    for kind in (blosc2.SpecialValue.ZERO, blosc2.SpecialValue.NAN, blosc2.SpecialValue.UNINIT):
        one = schunk(folder / f"special-{kind.name.lower()}.b2frame", 4000, type_size=8)
        one.fill_special(1234, kind)
    one = schunk(folder / "special-value.b2frame", 4000, type_size=8)
    one.fill_special(1234, blosc2.SpecialValue.VALUE, value=content("random", 1, 8))
    special.append_data(bytes(4000))
    special.append_data(content("smooth", 1, 4000))
    special.append_data(numpy.full(500, numpy.nan).tobytes())
    for count in (0, 1, 5, 16):
        out = schunk(folder / f"vlmeta-{count}.b2frame", 1000, type_size=1)
        out.append_data(content("smooth", 0, 1000))
        for name, value in vlmeta(count).items():
            out.vlmeta.set_vlmeta(name, value)
    for codec in CODECS:
        out = schunk(folder / f"sparse-{codec}.b2frame", 4000, contiguous=False, type_size=4, codec=codec)
        for i in range(5):
            out.append_data(content("smooth" if i % 2 else "zeros", i, 4000))
        out.delete_chunk(1)
        out.vlmeta["note"] = "sparse"
    for size in (300, 70000):
        out = schunk(folder / f"wide-{size}.b2frame", 3 * size, type_size=size)
        for i in range(3):
            out.append_data(content("ramp", i, 3 * size))
    for codec in ("lz4", "lz4hc", "zstd"):
        out = schunk(folder / f"dictionary-{codec}.b2frame", 200_000, type_size=1, codec=codec, filters="none", blocksize=4000, use_dict=True)
        out.append_data(text(200_000))
    out = schunk(folder / "edited.b2frame", 4000, type_size=4)
    for i in range(6):
        out.append_data(content("random", i, 4000))
    out.update_data(2, content("smooth", 50, 4000), copy=True)
    out.insert_data(1, content("ramp", 51, 4000), copy=True)
    out.delete_chunk(4)
    for i in range(8):
        data = content(["smooth", "random"][i % 2], i, 10_000 + i)
        chunk = blosc2.compress2(data, typesize=[1, 4, 8, 3][i % 4], codec=CODEC[CODECS[i % 5]], nthreads=1)
        (folder / f"buffer-{i}.chunk").write_bytes(chunk)
    objects = blosc2.ObjectArray(urlpath=str(folder / "variable-objects.b2frame"), mode="w")
    for i in range(9):
        objects.append(content("smooth", i, 100 * i + 1))
    batches = blosc2.BatchArray(urlpath=str(folder / "variable-batches.b2b"), mode="w", items_per_block=2)
    batches.append([content("smooth", i, 50 * i + 1) for i in range(7)])
    batches.append([content("random", i, 50 * i + 1) for i in range(3)])


# --- check ---

def report(case, way=None, problem=None):
    line = {"case": case, "ok": problem is None}
    if way is not None:
        line["way"] = way
    if problem is not None:
        line["why"] = problem
    print(json.dumps(line), flush=True)


def checked(case, function, *args, way=None):
    try:
        report(case, way, function(*args))
    except Exception as error:  # noqa: BLE001 - what the library raises is the finding
        report(case, way, f"{type(error).__name__}: {error}")


def read(path, offset=0):
    return blosc2.open(str(path), mode="r", offset=offset, dparams=dict(nthreads=1))


def compare(found, expected):
    if found == expected:
        return None
    if len(found) != len(expected):
        return f"{len(found)} bytes, expected {len(expected)}"
    at = next(i for i, (a, b) in enumerate(zip(found, expected)) if a != b)
    return f"differs from byte {at} on"


def check_chunks(path, expected, offset=0):
    frame = read(path, offset)
    if frame.nchunks != len(expected):
        return f"{frame.nchunks} chunks, expected {len(expected)}"
    for i, chunk in enumerate(expected):
        problem = compare(frame.decompress_chunk(i), chunk)
        if problem:
            return f"chunk {i}: {problem}"
    return None


def check_array(path, text, shape):
    array = read(path)
    expected = elements(text, shape)
    if array.shape != tuple(shape) or array.dtype != expected.dtype:
        return f"{array.dtype} {array.shape}, expected {expected.dtype} {tuple(shape)}"
    problem = compare(numpy.asarray(array[...]).tobytes(), expected.tobytes())
    if problem or 0 in shape or not shape:
        return problem
    part = tuple(slice(n // 3, n // 3 + (n + 1) // 2) for n in shape)
    return compare(numpy.asarray(array[part]).tobytes(), expected[part].tobytes())


def check_edit(path):
    """Edits a copy of a file of ours, and reads it again."""
    expected = edited()
    with tempfile.TemporaryDirectory() as folder:
        copy = f"{folder}/copy.b2frame"
        shutil.copy(path, copy)
        frame = blosc2.open(copy, mode="a")
        frame.append_data(content("smooth", 70, 4000))
        frame.insert_data(0, content("ramp", 71, 4000), copy=True)
        frame.update_data(3, content("random", 72, 4000), copy=True)
        frame.delete_chunk(2)
        frame.vlmeta["added"] = b"by the peer"
        expected = [content("ramp", 71, 4000), *expected, content("smooth", 70, 4000)]
        expected[3] = content("random", 72, 4000)
        del expected[2]
        problem = check_chunks(copy, expected)
        again = read(copy)
        if problem is None and again.vlmeta["added"] != b"by the peer":
            problem = "the metalayer is lost"
        return problem


def edited():
    """What both sides' files of the name edited hold."""
    out = [content("random", i, 4000) for i in range(6)]
    out[2] = content("smooth", 50, 4000)
    out.insert(1, content("ramp", 51, 4000))
    del out[4]
    return out


def check_vlmeta(path, expected):
    frame = read(path)
    found = {name: bytes(frame.vlmeta.get_vlmeta(name)) for name in frame.vlmeta}
    return None if found == expected else f"{sorted(found)}, expected {sorted(expected)}"


def check(folder):
    print(json.dumps({"peer": f"python-blosc2 {blosc2.__version__} with C-Blosc2 {blosc2.blosclib_version.split()[0]}"}))
    for file, type_size, codec, filters, split in cases():
        checked(f"{codec}: {filters} {type_size} split {split}", check_chunks, folder / file, chunks(type_size))
    for shape, _, _ in ARRAYS:
        name = f"arrays-{len(shape)}d-{'x'.join(map(str, shape))}.b2nd"
        checked(f"arrays: {shape}", check_array, folder / name, "<i4", shape)
    for number, text_ in enumerate(DTYPES):
        checked(f"dtypes: {text_}", check_array, folder / f"dtypes-{number}.b2nd", text_, [10, 11])
    check_others(folder)


def check_others(folder):
    nan = numpy.full(500, numpy.nan).tobytes()
    value = content("random", 1, 8) * 500
    kinds = [bytes(4000), content("smooth", 1, 4000), nan]
    checked("special: among others", check_chunks, folder / "special-kinds.b2frame", kinds)
    for name, chunk in {"zero": bytes(4000), "nan": nan, "value": value}.items():
        whole = [chunk, chunk, chunk[: (1234 - 1000) * 8]]
        checked(f"special: {name}", check_chunks, folder / f"special-{name}.b2frame", whole)
    for count in (0, 1, 5, 16):
        checked(f"vlmeta: {count}", check_vlmeta, folder / f"vlmeta-{count}.b2frame", vlmeta(count))
    for codec in CODECS:
        whole = [content("smooth" if i % 2 else "zeros", i, 4000) for i in (0, 2, 3, 4)]
        checked(f"sparse: {codec}", check_chunks, folder / f"sparse-{codec}.b2frame", whole)
    for size in (300, 70000):
        whole = [content("ramp", i, 3 * size) for i in range(3)]
        checked(f"wide types: {size}", check_chunks, folder / f"wide-{size}.b2frame", whole)
    for codec in ("lz4", "lz4hc", "zstd"):
        checked(f"dictionary: {codec}", check_chunks, folder / f"dictionary-{codec}.b2frame", [text(200_000)])
    checked("edited: once", check_chunks, folder / "edited.b2frame", edited(), way="edited here")
    checked("edited: again by Python", check_edit, folder / "edited.b2frame", way="edited there")
    checked("offset: a frame behind 1001 bytes", check_chunks, folder / "offset.b2frame", edited(), 1001)
    for i in range(8):
        data = content(["smooth", "random"][i % 2], i, 10_000 + i)
        checked(f"buffer: {i}", lambda i=i, data=data: compare(blosc2.decompress2((folder / f"buffer-{i}.chunk").read_bytes()), data))
        checked(f"buffer: blosc1 {i}", lambda i=i, data=data: compare(blosc2.decompress((folder / f"blosc1-{i}.chunk").read_bytes()), data))
    blosc2_cases.check(folder, checked, compare)
    variable = [content("smooth", i, 100 * i + 1) for i in range(9)]
    checked("variable: chunks", check_chunks, folder / "variable-chunks.b2frame", variable)
    blocks = [b"".join(content(kind, i, 50 * i + 1) for i in range(n)) for kind, n in (("smooth", 7), ("random", 3))]
    checked("variable: blocks", check_chunks, folder / "variable-blocks.b2frame", blocks)


if __name__ == "__main__":
    verb, where = sys.argv[1:]
    {"write": write, "check": check}[verb](pathlib.Path(where))
