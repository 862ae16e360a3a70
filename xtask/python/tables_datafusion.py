"""A thousand HDF5 files as one table of DataFusion: by two workers, by the package `datafusion`, and by pandas, with equal answers.

    tables_datafusion.py PROGRAM MODULE DIR

PROGRAM is `sciformats-datafusion`; MODULE is the folder of the module `sciformats_datafusion`.
"""

import io
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy
import pandas
import pyarrow

from checks import check

PROGRAM, MODULE, DIR = sys.argv[1:]
sys.path.insert(0, MODULE)
import datafusion  # noqa: E402
import sciformats_datafusion  # noqa: E402

FILES, ROWS = 1000, 200
FOLDER = Path(DIR) / "runs"
RANDOM = numpy.random.default_rng(11)
KINDS = numpy.array([b"quiet", b"storm", b"", b"calm"])


def figure(what, value):
    """A figure that the documents name."""
    print(json.dumps({"figure": what, "value": value}), flush=True)


def made():
    """The files, and all of their rows as a frame of pandas."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    fields = [("time", "i8"), ("station", "i4"), ("depth", "f8"), ("kind", "S5"), ("good", "?"), ("pad", "f4")]
    frames = []
    for at in range(FILES):
        rows = numpy.zeros(ROWS, fields)
        rows["time"] = numpy.arange(at * ROWS, (at + 1) * ROWS)
        rows["station"] = RANDOM.integers(0, 40, ROWS)
        # Quarters have exact sums, in whatever order they are added.
        rows["depth"] = RANDOM.integers(0, 4000, ROWS) / 4
        rows["depth"][:: 97] = numpy.nan
        rows["kind"] = KINDS[RANDOM.integers(0, 4, ROWS)]
        rows["good"] = RANDOM.integers(0, 2, ROWS) == 0
        path = FOLDER / f"run{at:04}.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("log", data=rows, chunks=(80,), compression="gzip", compression_opts=1)
        frame = pandas.DataFrame({name: rows[name] for name, _ in fields if name != "pad"})
        frame["kind"] = frame["kind"].str.decode("utf-8")
        frame["file"] = str(path)
        frames.append(frame)
    return pandas.concat(frames, ignore_index=True)


class Worker:
    """A process that runs parts of queries; it says what it reads."""

    def __init__(self, root):
        words = [PROGRAM, "worker", "--root", str(root)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().removeprefix("listening on ").strip()

    def part(self):
        """Waits for the next part of a query, and returns the number of pieces in it."""
        return int(self.process.stdout.readline().split()[1])

    def memory(self):
        """The largest memory so far in MiB, where the system tells it."""
        status = Path(f"/proc/{self.process.pid}/status")
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
        return found and round(int(found[1]) / 1024)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def words(statement, workers, *more):
    named = ["--table", f"runs={FOLDER}/*.h5:/log"]
    by = ["--workers", ",".join(worker.address for worker in workers)] if workers else []
    return [PROGRAM, "query", "--file-column", "file", *named, *by, "--format", "csv", *more, statement]


def asked(statement, workers=(), *more):
    begun = time.monotonic()
    done = subprocess.run(words(statement, workers, *more), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return pandas.read_csv(io.StringIO(done.stdout), keep_default_na=False), time.monotonic() - begun, done.stderr


ROWS_OF = made()
GROUPS = """SELECT station, kind, count(*) AS n, sum(time) AS times, max(time) AS latest, min(depth) AS low,
    sum(depth) AS depths, count(DISTINCT file) AS files
    FROM runs WHERE depth BETWEEN 10 AND 900 AND good GROUP BY station, kind ORDER BY station, kind"""


def groups():
    kept = ROWS_OF[ROWS_OF.depth.between(10, 900) & ROWS_OF.good]
    grouped = kept.groupby(["station", "kind"])
    found = grouped.agg(
        n=("time", "size"), times=("time", "sum"), latest=("time", "max"), low=("depth", "min"),
        depths=("depth", "sum"), files=("file", "nunique"),
    )
    return found.reset_index().sort_values(["station", "kind"], ignore_index=True)


def equal(found, wanted):
    pandas.testing.assert_frame_equal(found[list(wanted.columns)], wanted, check_dtype=False, check_exact=True)


FIRST, SECOND = Worker(FOLDER), Worker(FOLDER)


def by_one_process():
    found, seconds, _ = asked(GROUPS)
    equal(found, groups())
    figure("seconds of one process", round(seconds, 2))


def by_two_workers():
    found, seconds, _ = asked(GROUPS, [FIRST, SECOND])
    equal(found, groups())
    parts = FIRST.part(), SECOND.part()
    assert sum(parts) == FILES and min(parts) > FILES // 3, parts
    figure("seconds of two workers", round(seconds, 2))
    figure("files that each worker read", parts)
    figure("largest memory of a worker in MiB", [worker.memory() for worker in (FIRST, SECOND)])


def rows_of_two_workers():
    found, _, _ = asked("SELECT time, file, kind, depth FROM runs WHERE station = 7 AND kind <> 'calm' ORDER BY time", [FIRST, SECOND])
    kept = ROWS_OF[(ROWS_OF.station == 7) & (ROWS_OF.kind != "calm")]
    wanted = kept[["time", "file", "kind", "depth"]].reset_index(drop=True)
    found["depth"] = found["depth"].astype(float)
    equal(found, wanted)
    FIRST.part(), SECOND.part()


def joined():
    statement = """SELECT a.kind, count(*) AS n FROM runs a JOIN runs b ON a.time = b.time + 1
        WHERE a.station < b.station GROUP BY a.kind ORDER BY a.kind"""
    found, _, _ = asked(statement, [FIRST, SECOND])
    before = ROWS_OF.station.shift(1)
    wanted = ROWS_OF[ROWS_OF.station < before].groupby("kind").size().reset_index(name="n").sort_values("kind", ignore_index=True)
    equal(found, wanted)


def a_worker_is_killed():
    doomed = Worker(FOLDER)
    running = subprocess.Popen(words(GROUPS, [FIRST, SECOND, doomed]), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    doomed.part()
    doomed.end()
    out, told = running.communicate()
    assert running.returncode == 0, told
    assert "1 of 3 workers are lost" in told, told
    equal(pandas.read_csv(io.StringIO(out), keep_default_na=False), groups())


def few_files_are_opened():
    """A condition on the file leaves one; the plan says so."""
    name = FOLDER / "run0123.h5"
    statement = f"EXPLAIN ANALYZE SELECT count(time) FROM runs WHERE file = '{name}'"
    done = subprocess.run(words(statement, []), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(r"pieces=1\b", done.stdout) and re.search(r"files_opened=1\b", done.stdout), done.stdout


def context():
    """A session, which has to live as long as its queries."""
    session = datafusion.SessionContext()
    session.register_table("runs", sciformats_datafusion.Table(f"{FOLDER}/*.h5", "/log", file_column="file"))
    return session


def by_the_package():
    session = context()
    equal(session.sql(GROUPS).to_pandas(), groups())


def rows_of_the_package():
    names = ["time", "station", "depth", "kind", "good"]
    session = context()
    found = session.sql(f"SELECT {', '.join(names)} FROM runs ORDER BY time").to_pandas()
    equal(found, ROWS_OF[names])
    assert session.table("runs").schema().names == ["file", "time", "station", "depth", "kind", "good", "pad"]


def conditions_of_the_package():
    """What is pushed down to the files answers as pandas does on the rows."""
    session = context()
    cases = {
        "time >= 1000 AND time < 1200": (ROWS_OF.time >= 1000) & (ROWS_OF.time < 1200),
        "kind = ''": ROWS_OF.kind == "",
        "good": ROWS_OF.good,
        "NOT good AND station IN (1, 5)": ~ROWS_OF.good & ROWS_OF.station.isin([1, 5]),
        "depth = 2.25": ROWS_OF.depth == 2.25,
        # NaN is the largest number in DataFusion.
        "depth > 990": (ROWS_OF.depth > 990) | ROWS_OF.depth.isna(),
        "depth > 990 AND depth < 995.5": (ROWS_OF.depth > 990) & (ROWS_OF.depth < 995.5),
        f"file <= '{FOLDER}/run0001.h5'": ROWS_OF.file <= f"{FOLDER}/run0001.h5",
    }
    for condition, kept in cases.items():
        found = session.sql(f"SELECT time FROM runs WHERE {condition} ORDER BY time").to_pandas()
        assert found.time.tolist() == ROWS_OF.time[kept].tolist(), condition


def a_join_with_the_tables_of_others():
    session = context()
    names = pyarrow.table({"station": pyarrow.array(range(0, 40, 2), "int32"), "name": [f"s{at}" for at in range(0, 40, 2)]})
    session.from_arrow(names, name="stations")
    statement = "SELECT name, count(*) AS n FROM runs JOIN stations USING (station) GROUP BY name ORDER BY name"
    found = session.sql(statement).to_pandas()
    even = ROWS_OF[ROWS_OF.station % 2 == 0]
    wanted = ("s" + even.station.astype(str)).value_counts().sort_index()
    assert dict(zip(found.name, found.n)) == wanted.to_dict()


def a_table_of_pandas():
    path = Path(DIR) / "frame.h5"
    path.unlink(missing_ok=True)
    times = pandas.date_range("2026-01-01", periods=5000, freq="min", unit="ns")
    frame = pandas.DataFrame({"x": numpy.arange(5000) / 8, "name": pandas.Categorical(["a", "b"] * 2500), "when": times})
    frame.to_hdf(path, key="frame", format="table", data_columns=True)
    session = datafusion.SessionContext()
    session.register_table("frame", sciformats_datafusion.Table(str(path), "/frame", piece_rows=700))
    found = session.sql("SELECT name, sum(x) AS s FROM frame WHERE \"when\" >= '2026-01-02' GROUP BY name ORDER BY name").to_pandas()
    wanted = frame[frame.when >= "2026-01-02"].groupby("name", observed=True).x.sum()
    assert dict(zip(found.name, found.s)) == wanted.to_dict(), (found, wanted)


def errors_of_the_package():
    for call, problem in [
        (lambda: sciformats_datafusion.Table(f"{FOLDER}/none.h5"), "is not there"),
        (lambda: sciformats_datafusion.Table(f"{FOLDER}/*.h5", "/lag"), "/lag"),
    ]:
        try:
            call()
        except ValueError as error:
            assert problem in str(error), error
        else:
            raise AssertionError(f"no error: {problem}")
    session = context()
    damaged = FOLDER / "run0500.h5"
    bytes_of = damaged.read_bytes()
    damaged.write_bytes(b"no file of any format")
    try:
        session.sql("SELECT sum(time) FROM runs").collect()
    except Exception as error:
        assert "run0500.h5" in str(error), error
    else:
        raise AssertionError("no error")
    finally:
        damaged.write_bytes(bytes_of)


for work in [
    by_one_process, by_two_workers, rows_of_two_workers, joined, a_worker_is_killed, few_files_are_opened, by_the_package,
    rows_of_the_package, conditions_of_the_package, a_join_with_the_tables_of_others, a_table_of_pandas, errors_of_the_package,
]:
    check(work.__name__.replace("_", " "), work)
FIRST.end()
SECOND.end()
