"""What all checks of salvage share: values that are known, damage, the program, and the count of what was saved."""

import subprocess

import numpy as np

SEED = 20261124
PRIME = 100003
KINDS = ["cut at a structure", "cut anywhere", "zeroed sectors", "flipped bits", "overwritten head"]


def values(number, shape, dtype="f8"):
    size = int(np.prod(shape))
    x = (np.arange(size, dtype="i8") * 2654435761 + number * 40503) % PRIME + 1
    return x.reshape(shape).astype(dtype)


def damage(kind, data, rng):
    data = bytearray(data)
    size = len(data)
    if kind == "cut at a structure":
        marks = []
        for four in (b"OHDR", b"TREE", b"SNOD", b"HEAP", b"GCOL", b"FRHP", b"BTHD", b"FADB", b"EADB"):
            at = data.find(four)
            while at >= 0:
                marks.append(at)
                at = data.find(four, at + 1)
        return data[: rng.choice(marks) if marks else size // 2]
    if kind == "cut anywhere":
        return data[: rng.randrange(size // 10, size)]
    if kind == "zeroed sectors":
        for _ in range(rng.choice([1, 2, 4])):
            unit = rng.choice([512, 4096])
            at = rng.randrange(0, size // unit) * unit
            data[at:at + unit] = bytes(min(unit, size - at))
        return data
    if kind == "flipped bits":
        for _ in range(rng.choice([1, 3, 8])):
            data[rng.randrange(size)] ^= 1 << rng.randrange(8)
        return data
    if kind == "overwritten head":
        n = rng.choice([64, 512, 4096])
        data[:n] = rng.choice([bytes(n), rng.randbytes(n)])
        return data
    raise ValueError(kind)


def salvage(program, damaged, saved):
    """Lets the program salvage a file. A program that takes longer than a minute has failed."""
    command = [program, "salvage", "--json", damaged, saved]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", "took longer than a minute")


def overlaps(sel, shape, missing):
    for part in missing:
        hit = True
        for axis, (start, count) in enumerate(zip(part["start"], part["count"])):
            s = sel[axis] if axis < len(sel) else slice(0, shape[axis])
            if s.stop <= start or s.start >= start + count:
                hit = False
        if hit:
            return True
    return False


def is_kept(before, after, ranges):
    return all(before[at:at + size] == after[at:at + size] for at, size in ranges)


class Tally:
    """Counts pieces: those in the damaged file; of these those whose description is there as well; and of these those whose address is
    still written somewhere. Each with how many of them were saved."""

    def __init__(self):
        self.there = self.good = self.doubted = self.bare = 0
        self.described = self.described_good = self.led = self.led_good = 0

    def add(self, is_there, is_described, is_led, is_good, is_doubted=False, is_bare=False):
        self.there += is_there
        self.good += is_good
        self.doubted += is_doubted
        self.bare += is_bare
        self.described += is_there and is_described
        self.described_good += is_good and is_described
        self.led += is_there and is_described and is_led
        self.led_good += is_good and is_described and is_led

    def into(self, row):
        for key, count in vars(self).items():
            key = {"good": "saved"}.get(key, key)
            row[key] = row.get(key, 0) + int(count)
