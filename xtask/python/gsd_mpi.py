"""Checks the file that MPI ranks wrote together (crates/gsd-rs/mpi) with the reference library.

    gsd_mpi.py FILE RANKS

One line of JSON for each frame: every value of it is compared.
"""

import json
import sys

# This script begins with the library's name, and Python looks beside the script first.
here = sys.path.pop(0)
import gsd.fl
import numpy

FRAMES = 10
ROWS = 50_000


def expected(frame, ranks):
    number = numpy.arange(3 * ROWS, dtype=numpy.float32)
    parts = [number + numpy.float32(7 * rank + 1000 * frame) for rank in range(ranks)]
    return numpy.concatenate(parts).reshape(-1, 3)


def main(path, ranks):
    with gsd.fl.open(path, "r") as file:
        frames = file.nframes
        for frame in range(max(frames, FRAMES)):
            why = None
            if frame >= min(frames, FRAMES):
                why = f"the file has {frames} frames, not {FRAMES}"
            elif list(file.read_chunk(frame, "step")) != [frame]:
                why = "step"
            elif not numpy.array_equal(file.read_chunk(frame, "position"), expected(frame, ranks)):
                why = "position"
            verdict = {"case": f"mpi: frame {frame}", "ok": why is None}
            print(json.dumps(verdict if why is None else verdict | {"why": why}))


main(sys.argv[1], int(sys.argv[2]))
