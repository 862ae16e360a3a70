"""Cases of the Blosc2 conformance run beyond the matrix: lengths, levels, typed metalayers, arrays and folders that are
edited on both sides, arrays of one value."""

import shutil
import tempfile

import blosc2
import numpy

from blosc2_format import CODECS, FILTERS, VALUES, content, elements, grown, lengths, more_edits, words

ONE = dict(nthreads=1)


def parameters(type_size, codec, filters=("shuffle",), level=5):
    ids = [blosc2.Filter(i) for i in filters]
    return dict(
        typesize=type_size, codec=getattr(blosc2.Codec, codec.upper()), clevel=level, filters=ids,
        filters_meta=[0] * len(ids), nthreads=1,
    )


def write(folder):
    for name, codec, filters, type_size, data in lengths():
        (folder / name).write_bytes(blosc2.compress2(data, **parameters(type_size, codec, FILTERS[filters])))
    for codec in CODECS:
        for level in range(10):
            chunk = blosc2.compress2(words(70_000), **parameters(1, codec, [1], level))
            (folder / f"level-{codec}-{level}.chunk").write_bytes(chunk)
    frame = blosc2.SChunk(chunksize=1000, urlpath=str(folder / "values.b2frame"), mode="w", cparams=dict(typesize=1, nthreads=1))
    frame.append_data(content("smooth", 0, 1000))
    for name, value in VALUES.items():
        frame.vlmeta[name] = value
    write_cells(folder)
    array = create(folder / "grown.b2nd")
    array.resize((13, 10))
    array[11:13, 2:10] = 7
    array.resize((15, 14))
    array[13:15] = elements("<i4", [2, 14])
    sparse = blosc2.SChunk(
        chunksize=4000, urlpath=str(folder / "sparse-edited.b2frame"), mode="w", contiguous=False, cparams=parameters(4, "zlib", [1]),
    )
    edit_folder(sparse)
    kind = dict(chunks=(4, 5), blocks=(3, 2), mode="w", cparams=ONE)
    blosc2.full((10, 11), 7.5, dtype="<f8", urlpath=str(folder / "value-full.b2nd"), **kind)
    blosc2.zeros((10, 11), dtype="<i2", urlpath=str(folder / "value-zeros.b2nd"), **kind)
    blosc2.nans((10, 11), dtype="<f4", urlpath=str(folder / "value-nans.b2nd"), **kind)


# Name, element type, codec and parameter, filter and parameter.
CELLS = [
    ("ndlz-4", "|u1", "NDLZ", 4, None), ("ndlz-8", "|u1", "NDLZ", 8, None), ("ndcell", "<i4", "ZLIB", 0, ("NDCELL", 3)),
    ("ndmean-4", "<f4", "LZ4", 0, ("NDMEAN", 4)), ("ndmean-8", "<f8", "LZ4", 0, ("NDMEAN", 4)),
]


def squares(dtype):
    """Squares of four by four elements of one value, so that nothing is lost with their means."""
    return (numpy.arange(60)[:, None] // 4 * 3 + numpy.arange(44)[None, :] // 4).astype(dtype)


def write_cells(folder):
    for name, dtype, codec, meta, cells in CELLS:
        filters = [getattr(blosc2.Filter, cells[0] if cells else "NOFILTER")]
        cparams = dict(
            codec=getattr(blosc2.Codec, codec), codec_meta=meta, filters=filters,
            filters_meta=[cells[1] if cells else 0], nthreads=1,
        )
        array = blosc2.empty(
            (60, 44), dtype=dtype, chunks=(32, 24), blocks=(16, 12), urlpath=str(folder / f"cells-{name}.b2nd"), mode="w",
            cparams=cparams,
        )
        array[...] = squares(dtype)


def create(path):
    array = blosc2.empty((10, 11), dtype="<i4", chunks=(4, 5), blocks=(3, 2), urlpath=str(path), mode="w", cparams=ONE)
    array[...] = elements("<i4", [10, 11])
    return array


def edit_folder(frame):
    for i in range(5):
        frame.append_data(content("random", i, 4000))
    frame.update_data(1, content("ramp", 20, 4000), copy=True)
    frame.insert_data(0, content("smooth", 21, 4000), copy=True)
    frame.delete_chunk(3)
    frame.append_data(bytes(4000))


def folder_chunks():
    out = [content("random", i, 4000) for i in range(5)]
    out[1] = content("ramp", 20, 4000)
    out.insert(0, content("smooth", 21, 4000))
    del out[3]
    return [*out, bytes(4000)]


def read(path):
    return blosc2.open(str(path), mode="r", dparams=ONE)


def check(folder, checked, compare):
    def single(name, data):
        return compare(blosc2.decompress2((folder / name).read_bytes()), data)

    for name, codec, filters, type_size, data in lengths():
        checked(f"lengths: {codec} {filters} {type_size}, {len(data)} bytes", single, name, data)
    for codec in CODECS:
        for level in range(10):
            checked(f"levels: {codec} {level}", single, f"level-{codec}-{level}.chunk", words(70_000))
    for name, dtype, *_ in CELLS:
        checked(f"cells: {name}", lambda: compare(read(folder / f"cells-{name}.b2nd")[...].tobytes(), squares(dtype).tobytes()))
    checked("vlmeta: values", check_values, folder / "values.b2frame")
    checked("vlmeta: 40", check_many, folder / "vlmeta-40.b2frame")
    edits = folder / "grown.b2nd", folder / "sparse-edited.b2frame"
    checked("array edits: once", check_grown, edits[0], grown(), compare, way="edited here")
    checked("array edits: again by Python", check_grown_again, edits[0], compare, way="edited there")
    checked("sparse: edited once", check_folder, edits[1], folder_chunks(), compare, way="edited here")
    checked("sparse: edited again by Python", check_folder_again, edits[1], compare, way="edited there")


def check_values(path):
    frame = read(path)
    wrong = [name for name, value in VALUES.items() if frame.vlmeta[name] != value]
    return f"{wrong} differ" if wrong else None


def check_many(path):
    frame = read(path)
    found = {name: frame.vlmeta[name] for name in frame.vlmeta}
    return None if found == {f"n{i}": i for i in range(40)} else f"{found}"


def check_grown(path, expected, compare):
    array = read(path)
    if array.shape != expected.shape:
        return f"shape {array.shape}, expected {expected.shape}"
    return compare(numpy.asarray(array[...]).tobytes(), expected.tobytes())


def check_grown_again(path, compare):
    with tempfile.TemporaryDirectory() as folder:
        copy = f"{folder}/copy.b2nd"
        shutil.copy(path, copy)
        array = blosc2.open(copy, mode="a")
        array.resize((6, 14))
        array.resize((6, 20))
        array[1:3, 12:20] = -5
        return check_grown(copy, more_edits(grown()), compare)


def check_folder(path, expected, compare):
    frame = read(path)
    if frame.nchunks != len(expected):
        return f"{frame.nchunks} chunks, expected {len(expected)}"
    problems = (compare(frame.decompress_chunk(i), chunk) for i, chunk in enumerate(expected))
    return next((f"chunk {i}: {problem}" for i, problem in enumerate(problems) if problem), None)


def check_folder_again(path, compare):
    with tempfile.TemporaryDirectory() as folder:
        copy = f"{folder}/copy.b2frame"
        shutil.copytree(path, copy)
        frame = blosc2.open(copy, mode="a")
        frame.append_data(content("smooth", 30, 4000))
        frame.delete_chunk(0)
        frame.update_data(2, content("ramp", 31, 4000), copy=True)
        expected = [*folder_chunks()[1:], content("smooth", 30, 4000)]
        expected[2] = content("ramp", 31, 4000)
        return check_folder(copy, expected, compare)
