"""The C library beside Blosc2: the one inside python-blosc2, called directly, so that the time is its own."""

import ctypes
import importlib.util
import sys
from functools import partial
from pathlib import Path

# This script has the package's name, and Python looks beside the script first.
here = sys.path.pop(0)
PACKAGE = importlib.util.find_spec("blosc2")
sys.path.insert(0, here)
from worker import serve

KINDS = {"smooth f4": 4, "ramp i8": 8, "incompressible": 4}
CODECS = ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]
FILTERS = {"shuffle": 1, "bitshuffle": 2}
LARGEST = 32 << 20
BLOCK = 64 << 10
TIMES = 400
CHUNK = 256
SHAPE = (6400, 16_384)
READS = 100

kept = {}
size_t, pointer, long = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int64


def library():
    # Importing the package would load much that is not measured.
    folder = Path(PACKAGE.origin).parent / "lib"
    (path,) = [path for path in sorted(folder.glob("libblosc2*")) if path.suffix in (".so", ".dylib", ".dll")]
    c = ctypes.CDLL(str(path))
    c.blosc1_compress.argtypes = [ctypes.c_int, ctypes.c_int, size_t, size_t, pointer, pointer, size_t]
    c.blosc1_decompress.argtypes = [pointer, pointer, size_t]
    c.blosc2_schunk_open.restype = pointer
    c.blosc2_schunk_free.argtypes = [pointer]
    c.blosc2_schunk_decompress_chunk.argtypes = [pointer, long, pointer, ctypes.c_int32]
    c.b2nd_open.argtypes = [ctypes.c_char_p, pointer]
    c.b2nd_get_slice_cbuffer.argtypes = [pointer, pointer, pointer, pointer, pointer, long]
    for name in ["shuffle", "unshuffle", "bitshuffle", "bitunshuffle"]:
        getattr(c, "blosc2_" + name).argtypes = [ctypes.c_int32, ctypes.c_int32, pointer, pointer]
    c.blosc2_init()
    return c


C = library()


def length(codec, level):
    if codec in ("blosclz", "lz4"):
        return LARGEST
    return LARGEST // 16 if (codec, level) == ("zstd", 9) else LARGEST // 8


def setup(folder, kind, codec, level, threads):
    """The data and a buffer for a chunk of it, both touched."""
    if "data" not in kept:
        C.blosc2_set_nthreads(threads)
        assert C.blosc1_set_compressor(codec.encode()) >= 0
        with open(folder / f"data {kind}", "rb") as file:
            data = file.read(length(codec, level))
        kept["data"] = ctypes.create_string_buffer(data, len(data))
        kept["chunk"] = ctypes.create_string_buffer(b"\1" * (len(data) + 4096))
    return kept["data"], kept["chunk"]


def run(data, chunk, kind, level, shuffle):
    made = C.blosc1_compress(level, shuffle, KINDS[kind], len(data), data, chunk, len(chunk))
    assert made > 0
    return made


def compress(kind, codec, level, filter_name, threads, folder, watch):
    data, chunk = setup(folder, kind, codec, level, threads)
    made = watch.each(run, data, chunk, kind, level, FILTERS[filter_name])
    (folder / f"size {kind} {codec} {level} {filter_name}").write_text(str(made))


def decompress(kind, codec, level, filter_name, threads, folder, watch):
    data, chunk = setup(folder, kind, codec, level, threads)
    if "made" not in kept:
        kept["made"] = run(data, chunk, kind, level, FILTERS[filter_name])
    made = watch.each(C.blosc1_decompress, chunk, data, len(data))
    assert made == len(data)


def kernel(name, size, folder, watch):
    function = getattr(C, "blosc2_" + name)
    count = BLOCK // size * size
    source = ctypes.create_string_buffer(bytes((i * 7 + i // 251) & 255 for i in range(count)), count)
    target = ctypes.create_string_buffer(b"\1" * count, count)

    def calls(length):
        for _ in range(TIMES):
            function(size, length, source, target)

    watch.each(calls, count)
    # Calls from Python take a third of the time of the fastest kernels, so the time of calls that do nothing is subtracted.
    whole, watch.seconds = watch.seconds, None
    watch.each(calls, 0)
    watch.seconds = whole - watch.seconds


def open_frame(folder, watch):
    path = str(folder / "many.b2frame").encode()
    out = ctypes.create_string_buffer(CHUNK)
    for at in range(READS):
        index = at * 977
        with watch:
            schunk = C.blosc2_schunk_open(path)
            made = C.blosc2_schunk_decompress_chunk(schunk, index, out, CHUNK)
            C.blosc2_schunk_free(schunk)
        assert made == CHUNK and out.raw[:4] == index.to_bytes(4, "little")


def slices(part, folder, watch):
    if "array" not in kept:
        kept["array"] = pointer()
        assert C.b2nd_open(str(folder / "array.b2nd").encode(), ctypes.byref(kept["array"])) == 0
    array = kept["array"]
    pair = long * 2
    for at in range(READS):
        start, count = part(at)
        size = 4 * count[0] * count[1]
        out = ctypes.create_string_buffer(size)
        begin, end = pair(*start), pair(*(s + n for s, n in zip(start, count)))
        shape = pair(*count)
        with watch:
            status = C.b2nd_get_slice_cbuffer(array, begin, end, out, shape, size)
        assert status == 0


def cases():
    found = {
        "open 100,000 chunks, read one": open_frame,
        "10 x 10 of a 400 MB array": partial(
            slices, lambda at: ((at * 61 % 6300, at * 157 % 16_000), (10, 10))
        ),
        "row of a 400 MB array": partial(slices, lambda at: ((at * 61 % 6300, 0), (1, SHAPE[1]))),
    }
    for kind in KINDS:
        for codec in CODECS:
            for name in FILTERS:
                for level, threads in [(1, 1), (5, 1), (9, 1), (5, 2)]:
                    suffix = "" if threads == 1 else f" {threads} threads"
                    what = f"{kind} {codec} {level} {name}{suffix}"
                    found["compress " + what] = partial(compress, kind, codec, level, name, threads)
                    found["decompress " + what] = partial(decompress, kind, codec, level, name, threads)
    for name in ["shuffle", "unshuffle", "bitshuffle", "bitunshuffle"]:
        for size in [2, 4, 8, 12, 16]:
            found[f"kernel {name} {size}"] = partial(kernel, name, size)
    return found


serve({"c-blosc2": cases()})
