"""The Python peers of the ASDF bench: Python's asdf, and NumPy. The library has the name of the format, so this has not."""

import warnings

import asdf
import numpy

from worker import serve

warnings.simplefilter("ignore")
COUNT = 1 << 28
RECORDS = 9_000
kept = {}


def read_into(folder, watch):
    array = kept.setdefault("buffer", numpy.ones(COUNT, "<f4"))
    with watch:
        with open(folder / "large.raw", "rb", buffering=0) as file:
            view, at = memoryview(array).cast("B"), 0
            while at < len(view):
                at += file.readinto(view[at:])
    assert array[12345] == 12345.0


def write(folder, watch):
    array = numpy.asarray(numpy.memmap(folder / "large.raw", "<f4", "r"))
    parts = dict(zip("abcd", numpy.split(array, 4)))
    with watch:
        asdf.AsdfFile(parts).write_to(folder / "theirs-large.asdf")
    (folder / "theirs-large.asdf").unlink()


def parse(folder, watch):
    with watch:
        file = asdf.open(folder / "tree.asdf")
    assert len(file["records"]) == RECORDS


def emit(folder, watch):
    records = [
        {"flag": i % 3 == 0, "id": i, "name": f"record number {i}", "position": [i * 7 + 0.5, -i - 0.25], "word": f"w{i}"}
        for i in range(RECORDS)
    ]
    with watch:
        asdf.AsdfFile({"records": records}).write_to(folder / "theirs-tree.asdf")


def open_blocks(name):
    def work(folder, watch):
        with watch:
            file = asdf.open(folder / name)
            last = numpy.array(file["arrays"][9999])
        assert last[0] == 9999
        file.close()
    return work


def change(folder, watch):
    if "changed" not in kept:
        # A file as this library writes it.
        with asdf.open(folder / "theirs.asdf") as file:
            asdf.AsdfFile({"a": numpy.array(file["a"]), "key": "before"}).write_to(folder / "theirs-own.asdf")
        kept["changed"] = 0
    kept["changed"] += 1
    with watch:
        with asdf.open(folder / "theirs-own.asdf", mode="rw") as file:
            file["key"] = f"before and longer {kept['changed']}"
            file.update()


def number(count):
    i = numpy.arange(count, dtype="u8")
    return (1000 + i // 1000 % 50 + ((i * 2654435761) >> numpy.uint64(7) & numpy.uint64(15))).astype("<f4")


def read_compressed(name, count):
    def work(folder, watch):
        with watch:
            with asdf.open(folder / name, memmap=False) as file:
                array = numpy.array(file["a"])
        assert array.size == count and array[12345] == number(12346)[-1]
    return work


def write_compressed(label, count):
    def work(folder, watch):
        array = kept.setdefault(f"numbers {count}", number(count))
        with watch:
            asdf.AsdfFile({"a": array}).write_to(folder / "theirs-c.asdf", all_array_compression=label)
        (folder / "theirs-c.asdf").unlink()
    return work


cases = {
    "write 1 GiB with its MD5": write,
    "parse 100,000 nodes": parse,
    "write 100,000 nodes": emit,
    "open 10,000 blocks": open_blocks("blocks.asdf"),
    "open 10,000 blocks without an index": open_blocks("no-index.asdf"),
    "change one key of 256 MiB": change,
}
for label, size, count in [("zlib", "256 MiB", 1 << 26), ("bzp2", "32 MiB", 1 << 23), ("lz4", "256 MiB", 1 << 26)]:
    for threads in ["two threads", "one thread"]:
        cases[f"read {size} of {label}, {threads}"] = read_compressed(f"{label}.asdf", count)
        cases[f"write {size} of {label}, {threads}"] = write_compressed(label, count)

serve({"numpy": {"read 1 GiB into a used buffer": read_into}, "asdf": cases})
