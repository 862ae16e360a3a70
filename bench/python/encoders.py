"""zlib-ng beside our encoder of deflate. Its streams are as large as ours; how is said in src/bin/encoders/main.rs."""

from functools import partial

from worker import serve
from zlib_ng import zlib_ng

KINDS = [
    "counts f4 shuffled",
    "waves f8 shuffled",
    "noisy f4 shuffled",
    "walk i4 shuffled",
    "counts f4",
    "noisy f4",
    "walk i4",
    "records",
    "text",
]
LEVELS = [1, 4, 6, 9]
CHUNK = 256 << 10
TIMES = 2
TOLERANCE = 1.01

kept = []


def equal(chunks, target):
    """The level of each chunk with which all meet our size."""
    weaker = None
    smallest = None
    for level in range(1, 10):
        stronger = [len(zlib_ng.compress(chunk, level)) for chunk in chunks]
        size = total = sum(stronger)
        smallest = min(total, smallest or total)
        if total > TOLERANCE * target:
            weaker = level, stronger
            continue
        levels = [level] * len(chunks)
        for index, change in enumerate(a - b for a, b in zip(weaker[1], stronger)) if weaker else ():
            if size + change > max(target, total):
                break
            size += change
            levels[index] = weaker[0]
        return levels
    raise ValueError(f"its smallest size is {smallest / target:.3f} of ours")


def encode(kind, case, folder, watch):
    if not kept:
        data = (folder / f"data {kind}").read_bytes()
        chunks = [data[at : at + CHUNK] for at in range(0, len(data), CHUNK)]
        target = int((folder / f"size of {case.replace(',', '')}").read_text())
        kept.extend(zip(chunks, equal(chunks, target)))
    with watch:
        for _ in range(TIMES):
            for chunk, level in kept:
                zlib_ng.compress(chunk, level)


names = {f"deflate {level}, {kind}": kind for kind in KINDS for level in LEVELS}
serve({"zlib-ng": {name: partial(encode, kind, name) for name, kind in names.items()}})
