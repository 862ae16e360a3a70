"""The worker side of the benches in Python.

A bench's script calls `serve({NAME: {CASE: function}})` once, after its imports. A function gets the folder with the
files and a watch, and puts what counts into `with watch: ...`:

    def read(folder, watch):
        with watch:
            data = numpy.fromfile(folder / "bytes", "u1")
        assert data.size == 8 << 20

The program starts it as `FORMAT.py NAME FOLDER`, writes lines `run CASE` and reads a line of JSON for each.
"""

import gc
import json
import os
import statistics
import sys
import time
from pathlib import Path

# The time of the processor, if the bench asks for it, or that of the clock.
_now = time.process_time if "SCIFORMATS_BENCH_BY_PROCESSOR" in os.environ else time.perf_counter

# For how many seconds short work is repeated in one round.
_LONG_ENOUGH = 0.02


class Watch:
    """Adds up the time spent in its `with` blocks."""

    def __init__(self):
        self.seconds = None

    def __enter__(self):
        self._begin = _now()
        return self

    def __exit__(self, *_):
        self.seconds = (self.seconds or 0.0) + _now() - self._begin

    def each(self, function, *arguments):
        """Repeat a short call, as the Rust side does, and add the median of the times. Return what the last call returned."""
        calls, total = [], 0.0
        while total < _LONG_ENOUGH:
            begin = _now()
            result = function(*arguments)
            calls.append(_now() - begin)
            total += calls[-1]
        self.seconds = (self.seconds or 0.0) + statistics.median(calls)
        return result


def _memory(key):
    """Bytes that the kernel tells of this process, or None where it tells nothing."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith(key):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def _run(function, folder, idle):
    watch = Watch()
    try:
        function(folder, watch)
    except Exception as error:  # whatever a peer raises is its answer
        return {"error": f"{type(error).__name__}: {error}"}
    if watch.seconds is None:
        return {"error": "nothing was timed"}
    highest = _memory("VmHWM:")
    peak = None if highest is None or idle is None else max(0, highest - idle)
    gc.collect()
    return {"seconds": watch.seconds, "peak": peak}


def serve(implementations):
    """Answers until told to quit."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    cases = implementations.get(name, {})
    idle = _memory("VmRSS:")
    for line in sys.stdin:
        verb, _, case = line.strip().partition(" ")
        if verb != "run":
            break
        if case in cases:
            answer = _run(cases[case], folder, idle)
        else:
            answer = {"error": f"{name} has no case `{case}`"}
        print(json.dumps(answer), flush=True)
