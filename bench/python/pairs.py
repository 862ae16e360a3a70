"""Lets two workers take turns: ours, the peer, ours, the peer. The first round is a warm-up, and the next five count.

Pairs that have taken PATIENCE seconds end after three rounds that count, as those of the harness do.
"""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS, FEWEST, PATIENCE = 5, 3, 5.0


class Side:
    """A worker that is asked to run cases."""

    def __init__(self, script, name, folder):
        command = [sys.executable, script, name, str(folder)]
        self._worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, case):
        self._worker.stdin.write(f"run {case}\n")
        self._worker.stdin.flush()
        answer = json.loads(self._worker.stdout.readline() or '{"error": "the worker ended"}')
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def end(self):
        self._worker.stdin.close()
        self._worker.wait()


def _row(script, folder, case, goal, ours, peer):
    row = {"case": case, "goal": goal, "peer": peer}
    sides = [Side(script, name, folder) for name in (ours, peer)]
    try:
        rounds, begin = [], time.monotonic()
        while len(rounds) <= FEWEST or (len(rounds) <= ROUNDS and time.monotonic() - begin < PATIENCE):
            rounds.append([side.run(case) for side in sides])
        del rounds[0]
    except (RuntimeError, OSError) as error:
        return {**row, "error": str(error)}
    finally:
        for side in sides:
            side.end()
    ratios = [our["seconds"] / their["seconds"] for our, their in rounds]
    row["ratio"] = [statistics.median(ratios), min(ratios), max(ratios)]
    for index, side in enumerate(("ours", "theirs")):
        peaks = [answers[index]["peak"] for answers in rounds]
        peak = None if None in peaks else max(peaks)
        row[side] = [statistics.median(answers[index]["seconds"] for answers in rounds), peak]
    return row


def measure(script, cases, files, arguments):
    """Write a row for each case and peer, and fail if one misses its goal or could not run."""
    folder, record = Path(arguments[0]), Path(arguments[1])
    part = arguments[2] if len(arguments) > 2 else ""
    folder.mkdir(parents=True, exist_ok=True)
    files(folder)
    good = True
    for case, goal, sides in cases:
        if part not in case:
            continue
        ours, *peers = sides
        for peer in peers:
            row = _row(script, folder, case, goal, ours, peer)
            with record.open("a") as out:
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
            if "error" in row:
                good, shown = False, row["error"]
            else:
                (ratio, low, high), theirs = row["ratio"], row["theirs"][0]
                good = good and ratio <= goal
                shown = f"{ratio:.3f} of {theirs * 1000:.1f} ms ({low:.3f}-{high:.3f}), goal {goal}"
            print(f"{case}, {peer}: {shown}", flush=True)
    for each in folder.iterdir():
        each.unlink()
    sys.exit(0 if good else 1)
