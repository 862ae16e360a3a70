"""zfp in Blosc2: the program reads the arrays of python-blosc2, and python-blosc2 reads those that the program wrote.

    blosc2_plugins_conform.py EXAMPLE DIR

The program `sciformats` is beside the example.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import blosc2
import numpy as np

from checks import check, program_in

FOLDER = Path(sys.argv[2]).resolve()
program = program_in(Path(sys.argv[1]).resolve().parent / "sciformats", FOLDER)
THEIRS, OURS = "we read theirs", "they read ours"
# An accuracy is a power of ten, and a rate is in percent. The plug-in needs blocks of at least four elements in each dimension.
CODECS = {"accuracy": (blosc2.Codec.ZFP_ACC, -3 & 255), "precision": (blosc2.Codec.ZFP_PREC, 20), "rate": (blosc2.Codec.ZFP_RATE, 40)}
SHAPES = [
    ((1000,), (500,), (128,)), ((64, 64), (32, 64), (16, 20)), ((20, 20, 20), (10, 20, 20), (5, 8, 8)),
    ((6, 6, 6, 6), (4, 6, 6, 6), (4, 4, 4, 4)),
]


# For the way back: what is finer than whole numbers, and blocks without edges.
WHOLE = {"accuracy": (blosc2.Codec.ZFP_ACC, -3 & 255), "precision": (blosc2.Codec.ZFP_PREC, 24), "rate": (blosc2.Codec.ZFP_RATE, 75)}
BLOCKS = [(256,), (16, 20), (8, 8, 8), (4, 4, 4, 4)]


def array(data, chunks, blocks, codec, path, level=1):
    params = dict(codec=codec[0], codec_meta=codec[1], clevel=level, filters=[blosc2.Filter.NOFILTER])
    params["splitmode"] = blosc2.SplitMode.NEVER_SPLIT
    return blosc2.asarray(data, chunks=chunks, blocks=blocks, cparams=params, urlpath=str(FOLDER / path), mode="w")


def theirs(mode, kind, shape, chunks, blocks):
    name = f"{mode}-{kind}-{len(shape)}"
    data = np.sin(np.arange(np.prod(shape)) / 9).reshape(shape).astype(kind)
    found = array(data, chunks, blocks, CODECS[mode], f"{name}.b2nd")[...]
    case = f"zfp: {mode}, {kind}, {len(shape)} dimensions"

    def work():
        program("verify", f"{name}.b2nd")
        program("convert", f"{name}.b2nd", f"{name}.npy")
        read = np.load(FOLDER / f"{name}.npy")
        assert read.dtype == found.dtype and read.tobytes() == found.tobytes()

    check(case, work, THEIRS)


def ours(mode, kind, block):
    """With another level all blocks are encoded again. Small whole numbers survive this exactly, so both must agree."""
    name = f"{mode}-{kind}-{len(block)}-whole"
    shape = tuple(3 * length for length in block)
    data = np.round(4 * np.sin(np.arange(np.prod(shape)) / 9)).reshape(shape).astype(kind)
    chunks = (2 * block[0], *block[1:])
    array(data, chunks, block, WHOLE[mode], f"{name}.b2nd")

    def work():
        again = array(data, chunks, block, WHOLE[mode], f"{name}-again.b2nd", level=2)
        program("repack", "--level", "2", f"{name}.b2nd", f"{name}-ours.b2nd")
        written = blosc2.open(str(FOLDER / f"{name}-ours.b2nd"))
        assert written.schunk.cparams.codec == WHOLE[mode][0] and written.schunk.cparams.clevel == 2
        assert written[...].tobytes() == again[...].tobytes()
        for i in range(again.schunk.nchunks):
            mine, other = (schunk.get_chunk(i) for schunk in (written.schunk, again.schunk))
            assert abs(len(mine) - len(other)) <= 64 and len(mine) < written.schunk.chunksize, (len(mine), len(other))

    check(f"zfp: {mode}, {kind}, {len(block)} dimensions", work, OURS)


print(json.dumps({"peer": f"blosc2 {version('blosc2')}"}))
for mode in CODECS:
    for kind in ("f4", "f8"):
        for shapes in SHAPES:
            theirs(mode, kind, *shapes)
        for block in BLOCKS:
            ours(mode, kind, block)
