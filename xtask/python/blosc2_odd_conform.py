"""Short and odd inputs through every codec: we compress them, and C-Blosc2 and C-Blosc decompress the results.

    blosc2_odd_conform.py EXAMPLE DIR [SEED]

EXAMPLE is our side, the example `blosc2_conformance` of cframe. The inputs are the same in every run, unless another seed is given.
"""

import json
import random
import subprocess
import sys
from pathlib import Path

import blosc2
import numpy

from odd_inputs import Tally, content, length

try:
    import blosc
except ImportError:  # told by the checks that are skipped
    blosc = None

EXAMPLE, FOLDER = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
CODECS = ("blosclz", "lz4", "lz4hc", "zlib", "zstd")
FILTERS = ("none", "shuffle", "bitshuffle", "delta", "delta-shuffle", "shuffle-bytedelta")
TYPE_SIZES = (1, 1, 1, 2, 3, 4, 7, 8, 16)
SPLITS = (1, 2, 3, 4)
BLOCKS = (0, 0, 0, 33, 64, 100, 256, 333)
# How many inputs each codec gets. The streams of lz4 and lz4hc are the most delicate.
CHUNKS = {"blosclz": 4000, "lz4": 4000, "lz4hc": 12_000, "zlib": 1500, "zstd": 900}
FRAMES, SPECIAL = 150, 300


def described(chance, codec, form):
    filters = FILTERS[:3] if form == "blosc1" else FILTERS
    return {
        "codec": codec, "form": form, "level": chance.choice((1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 0)), "typesize": chance.choice(TYPE_SIZES),
        "filters": chance.choice(filters), "split": chance.choice(SPLITS), "blocksize": chance.choice(BLOCKS),
    }


def chunks(chance, codec, form, count):
    """Inputs of chunks, whose lengths need not be whole elements."""
    for _ in range(count):
        about = described(chance, codec, form)
        yield about, (data := content(chance, length(chance), about["typesize"])), data


def frames(chance, codec):
    """Inputs of frames of one or several chunks, the last of which may be short and end within an element."""
    for _ in range(FRAMES):
        about = described(chance, codec, "frame")
        size = about["typesize"]
        about["chunk"] = size * chance.randint(1, max(1, 300 // size))
        data = content(chance, max(1, length(chance)) * chance.randint(1, 4), size)
        yield about, data, data


def special(chance):
    """Frames whose chunks have no bytes."""
    for _ in range(SPECIAL):
        about = described(chance, chance.choice(CODECS), chance.choice(("zeros", "nan", "value")))
        if about["form"] == "nan":
            about["typesize"] = chance.choice((4, 8))
        size = about["typesize"]
        about["chunk"] = size * chance.randint(1, 80)
        about["last"] = size * chance.randint(1, about["chunk"] // size)
        value = {"zeros": bytes(size), "value": chance.randbytes(size)}.get(about["form"])
        if value is None:
            value = numpy.full(1, numpy.nan, f"<f{size}").tobytes()
        yield about, value, value * ((2 * about["chunk"] + about["last"]) // size)


def compressed(inputs):
    """Our results."""
    with open(FOLDER / "inputs", "wb") as file:
        for about, data, _ in inputs:
            file.write(json.dumps({**about, "length": len(data)}).encode() + b"\n" + data)
    subprocess.run([EXAMPLE, "compress", FOLDER / "inputs", FOLDER / "results"], check=True)
    results, at = (FOLDER / "results").read_bytes(), 0
    for _ in inputs:
        end = at + 4 + int.from_bytes(results[at:at + 4], "little")
        yield results[at + 4:end]
        at = end
    assert at == len(results)


def framed(frame):
    """The bytes of all chunks of a frame."""
    opened = blosc2.schunk_from_cframe(frame, copy=True)
    return b"".join(opened.decompress_chunk(k) for k in range(opened.nchunks))


def run(case, inputs, *readers):
    """Compares each input with what each of the readers decompresses."""
    inputs, tally = list(inputs), Tally(case, SEED)
    for (about, data, expected), result in zip(inputs, compressed(inputs), strict=True):
        for reader in readers:
            tally.compare(f"{about}, {data.hex()}", lambda: reader(result), expected)
    tally.tell()


def main():
    if blosc:
        print(json.dumps({"peer": f"python-blosc {blosc.__version__} with C-Blosc {blosc.blosclib_version.split()[0]}"}))
    blosc2.set_nthreads(1)
    for codec in CODECS:
        chance = random.Random(f"{SEED} {codec}")
        run(f"odd: {codec}, chunks", chunks(chance, codec, "chunk", CHUNKS[codec]), blosc2.decompress2)
        run(f"odd: {codec}, frames", frames(chance, codec), framed)
        inputs = list(chunks(chance, codec, "blosc1", CHUNKS[codec] // 3))
        # C-Blosc2 misreads bit-shuffled chunks of C-Blosc too, if they leave a part of eight elements.
        others = [given for given in inputs if given[0]["filters"] != "bitshuffle"]
        run(f"odd: {codec}, chunks of Blosc 1 in C-Blosc2", others, blosc2.decompress2)
        case = f"odd: {codec}, chunks of Blosc 1 in C-Blosc"
        if blosc:
            blosc.set_nthreads(1)
            run(case, inputs, blosc.decompress)
        else:
            print(json.dumps({"case": case, "way": "they read ours", "skipped": "python-blosc is not installed"}))
    run("odd: chunks without bytes", special(random.Random(f"{SEED} special")), framed)


main()
