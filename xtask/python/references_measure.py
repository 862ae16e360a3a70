"""What a process costs, for the measurements of references."""

import subprocess
import sys

# A process begins with the memory of the one that starts it, which counts as its own, so a small one has to start it.
SMALL = """
import os, sys, time
start = time.perf_counter()
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(child, 0)
clock, processor = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
print(processor, clock, usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status))
"""


def run(words):
    """The seconds of the processor and on the clock, and the peak memory in MiB, of a process. Memory below 10 MiB is not told apart."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", SMALL, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{words[:2]} cannot be started: {done.stderr[-500:]}")
    processor, clock, memory, code = map(float, done.stdout.split())
    if code != 0:
        raise SystemExit(f"{words[:2]} ended with {code:.0f}: {done.stderr[-500:]}")
    return processor, clock, memory
