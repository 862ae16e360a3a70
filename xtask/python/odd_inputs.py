"""Short inputs that compressors and filters get wrong: what both scripts `*_odd_conform.py` have in common.

All of them follow from the seed, which a check names when it fails.
"""

import json

# Lengths around which the formats of compressors change something: literals and matches of one more byte, blocks of 8 elements, groups.
BORDERS = sorted({max(n + d, 0) for n in (0, 8, 16, 32, 64, 128, 256, 512) for d in (-2, -1, 0, 1, 2)} | {13, 270, 271, 273, 284, 285})
WORDS = ("the ", "sea ", "of ", "wind ", "and ", "salt ", "is ", "warm, ", "cold. ")


def length(chance, most=300):
    """Mostly a few hundred bytes, often a few or at a border."""
    return min(chance.choice((chance.randint(0, 24), chance.choice(BORDERS), chance.randint(1, 300), chance.randint(20, 90))), most)


def noise(chance, size, letters):
    return bytes(chance.choices(letters, k=size))


def runs(chance, size):
    out = bytearray()
    while len(out) < size:
        out += bytes([chance.choice((0, 0, 7, 255))]) * chance.choice((1, 2, 5, 19, 70))
    return bytes(out)


def copies(chance, size):
    """Few literals, and matches of all lengths and distances."""
    out = bytearray(chance.randbytes(chance.randint(1, 9)))
    while len(out) < size:
        out += chance.randbytes(chance.choice((0, 1, 3, 14, 15, 16)))
        begin = chance.randrange(len(out))
        for at in range(begin, begin + chance.choice((4, 5, 11, 18, 19, 20, 60))):
            out.append(out[at])
    return bytes(out)


def content(chance, size, element):
    """Bytes of one of the kinds; `element` is the size of an element."""
    kind = chance.randrange(11)
    if kind == 0:
        return bytes(size)
    if kind == 1:
        return (chance.randbytes(element) * (size // element + 1))[:size]
    if kind == 2:
        return chance.randbytes(size)
    if kind in (3, 4, 5):
        return noise(chance, size, b"ab\0\0" if kind < 5 else chance.randbytes(chance.choice((2, 3, 5))))
    if kind == 6:
        return runs(chance, size)[:size]
    if kind == 7:
        step, first = chance.choice((1, 3, 255, 257)), chance.choice((0, 200, 65_500))
        numbers = ((first + step * k) % 256**element for k in range(size // element + 1))
        return b"".join(number.to_bytes(element, "little") for number in numbers)[:size]
    if kind == 8:
        return "".join(chance.choices(WORDS, k=size // 2 + 1)).encode()[:size]
    if kind == 9:
        end = chance.randint(0, min(size, 20))
        return (chance.randbytes(chance.randint(1, 40)) * (size + 1))[: size - end] + chance.randbytes(end)
    return copies(chance, size)[:size]


class Tally:
    """Many comparisons as one check, which tells the first that failed."""

    def __init__(self, case, seed):
        self.case, self.seed, self.count, self.failed = case, seed, 0, []

    def compare(self, about, read, expected):
        """`read` returns the bytes of the other library."""
        self.count += 1
        try:
            found = read()
        except Exception as error:  # what cannot be read at all is counted like what differs
            self.failed.append(f"{about}: {type(error).__name__}: {error}")
            return
        if found != expected:
            same = next((k for k, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]), min(len(found), len(expected)))
            self.failed.append(f"{about}: {len(found)} bytes of {len(expected)}, which differ from byte {same} on")

    def tell(self):
        line = {"case": self.case, "way": "they read ours", "ok": not self.failed and self.count > 0}
        if not line["ok"]:
            line["why"] = f"{len(self.failed)} of {self.count} inputs of seed {self.seed}; {'; '.join(self.failed[:3])}"
        print(json.dumps(line), flush=True)
