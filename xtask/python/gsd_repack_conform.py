"""What `sciformats repack` and `convert` keep of GSD files, as the package gsd tells it.

    gsd_repack_conform.py EXAMPLE DIR

The program `sciformats` is beside the example. Files that gsd writes, and the fixtures, are written anew: application, schema and its
version, layer, the number of frames, the names in their order, and each chunk with its type and shape are the same.
"""

import sys
from pathlib import Path

import gsd.fl
import numpy as np

from checks import check, program_in

FOLDER = Path(sys.argv[2])
program = program_in(Path(sys.argv[1]).parent / "sciformats", FOLDER)
FIXTURES = Path(__file__).parent.parent.parent / "fixtures" / "gsd"


def told(path):
    with gsd.fl.open(path, "r") as file:
        names = file.find_matching_chunk_names("")
        chunks = []
        for frame in range(file.nframes):
            for name in names:
                if file.chunk_exists(frame, name):
                    found = file.read_chunk(frame, name)
                    if isinstance(found, str):
                        chunks.append((frame, name, found))
                    else:
                        chunks.append((frame, name, found.dtype.str, found.shape, found.tobytes()))
        layer = file.gsd_version
        about = file.application, file.schema, file.schema_version, file.nframes, names, chunks
    return about, layer


def same(path):
    new = path.parent / f"new-{path.name}"
    about, layer = told(path)
    for command in ["repack", "convert"]:
        said = program(command, "--force", path, new).stdout
        there, now = told(new)
        for one, other in zip(about, there):
            assert one == other, f"{command}: {str(one)[:200]} became {str(other)[:200]}"
        note = f"is of layer {layer[0]}.{layer[1]}, which becomes {now[0]}.{now[1]}"
        assert layer == now or note in said, f"{command} changes the layer {layer} to {now} in silence: {said}"


def written(path):
    with gsd.fl.open(path, "w", application="a program 3.1", schema="points", schema_version=[3, 7]) as file:
        for name in ["z", "a", "m"]:
            file.write_chunk(name, np.arange(5, dtype="u1"))
        file.write_chunk("text", "some words")
        file.end_frame()
        file.end_frame()
        file.write_chunk("b/later", np.arange(6.0).reshape(2, 3))
        file.write_chunk("a", np.arange(3, dtype="i1"))
        file.write_chunk("empty", np.zeros((0, 3), "f4"))
        file.end_frame()


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    made = FOLDER / "made.gsd"
    written(made)
    check("kept: names in another order than the alphabet's", lambda: same(made))
    for fixture in sorted(FIXTURES.glob("*.gsd")):
        # gsd itself refuses this one.
        if fixture.name == "frames-beyond-the-entries.gsd":
            continue
        path = FOLDER / fixture.name
        path.write_bytes(fixture.read_bytes())
        check(f"kept: {path.name}", lambda: same(path))


main()
