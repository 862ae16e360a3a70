"""What reading files far away costs, beside h5py, h5netcdf and pyfive over fsspec.

A server on the loopback counts requests and bytes, and waits before each answer. The same files are read by the program
of this project and by the others over fsspec with its block cache, as xarray uses it. Prints a table; fails when an answer is
wrong or the program takes more requests, batches or bytes than it may.

usage: remote_conform.py PROGRAM FOLDER [--delay MS] [--only REGEX]
"""

import argparse
import hashlib
import http.server
import json
import logging
import os
import re
import subprocess
import sys
import threading
import time

import asdf
import blosc2
import boto3
import fsspec
import gsd.hoomd
import h5netcdf
import h5py
import numpy as np
import pyfive
from moto.server import ThreadedMotoServer

MIB = 1 << 20

# No run of the program takes longer; the slowest row takes a third of this at 60 ms.
PATIENCE = 60


class Log:
    """The requests of one run: when they came and when they were answered."""

    def __init__(self):
        self.lock = threading.Lock()
        self.clear()

    def clear(self):
        self.spans, self.sent = [], 0

    def add(self, start, end, sent):
        with self.lock:
            self.spans.append((start, end))
            self.sent += sent

    def depth(self):
        """The most requests each of which came after the one before was answered."""
        depth, last = 0, 0.0
        for end, start in sorted((end, start) for start, end in self.spans):
            if start >= last:
                depth, last = depth + 1, end
        return depth


def serve(folder, delay, log):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_):
            pass

        def do_HEAD(self):
            self.answer(False)

        def do_GET(self):
            self.answer(True)

        def answer(self, body):
            start = time.monotonic()
            time.sleep(delay)
            path = os.path.join(folder, os.path.basename(self.path))
            size = os.path.getsize(path)
            first, last, status = 0, size - 1, 200
            found = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
            if found:
                status = 206
                if found[1]:
                    first = int(found[1])
                    last = min(int(found[2] or size - 1), size - 1)
                else:
                    first = max(size - int(found[2]), 0)
            length = last - first + 1
            self.send_response(status)
            self.send_header("Content-Length", str(length))
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("ETag", '"1"')
            if status == 206:
                self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
            self.end_headers()
            if body:
                with open(path, "rb") as file:
                    file.seek(first)
                    left = length
                    while left:
                        piece = file.read(min(left, MIB))
                        self.wfile.write(piece)
                        left -= len(piece)
            log.add(start, time.monotonic(), length if body else 0)

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 256
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def make(folder):
    """The files, if they are not there yet."""
    rng = np.random.default_rng(1)
    for name, options in [("earliest.h5", {}), ("latest.h5", {"libver": "latest"})]:
        with h5py.File(os.path.join(folder, name), "w", **options) as file:
            for group in range(20):
                for number in range(10):
                    data = rng.normal(size=(20, 1000)).astype("f4")
                    made = file.create_dataset(
                        f"group {group:02}/data {number}", data=data, chunks=(1, 1000), compression="gzip"
                    )
                    for attribute in range(6):
                        made.attrs[f"attribute {attribute}"] = attribute * 1.5
    # Chunks that have places and no bytes: the file is large and takes no room.
    with h5py.File(os.path.join(folder, "column.h5"), "w") as file:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((32, 64))
        creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        creation.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        space = h5py.h5s.create_simple((320_000, 1024))
        h5py.h5d.create(file.id, b"grid", h5py.h5t.NATIVE_DOUBLE, space, creation)
    with gsd.hoomd.open(os.path.join(folder, "run.gsd"), "w") as trajectory:
        for step in range(200):
            frame = gsd.hoomd.Frame()
            frame.configuration.step = step
            frame.particles.N = 2000
            frame.particles.position = rng.normal(size=(2000, 3))
            trajectory.append(frame)
    array = rng.normal(size=(3000, 1000))
    with open(os.path.join(folder, "array.ra"), "wb") as file:
        head = np.array([0x7961727261776172, 0, 3, 8, array.nbytes, 2, *array.shape[::-1]], "<u8")
        file.write(head.tobytes() + array.tobytes())
    tree = {"runs": {f"run {number:03}": rng.normal(size=(100, 100)) for number in range(200)}}
    asdf.AsdfFile(tree).write_to(os.path.join(folder, "runs.asdf"), all_array_compression="zlib")
    frame = os.path.join(folder, "array.b2nd")
    if os.path.exists(frame):
        os.remove(frame)
    blosc2.asarray(array, chunks=(100, 1000), blocks=(10, 1000), urlpath=frame)
    with open(os.path.join(folder, "large.ra"), "wb") as file:
        length = (1 << 40) // 8
        file.write(np.array([0x7961727261776172, 0, 3, 8, length * 8, 1, length], "<u8").tobytes())
        file.truncate(56 + length * 8)


class Bench:
    def __init__(self, program, url, log, only):
        self.program, self.url, self.log, self.only = program, url, log, only
        self.rows, self.failures = [], []

    def row(self, what, who, work, most=None, counted=True):
        self.log.clear()
        start = time.monotonic()
        try:
            answer = work()
        except Exception as error:  # the other program's faults are told, and are not ours
            self.rows.append((what, who, "-", "-", "-", f"{type(error).__name__}: {error}"))
            print(*self.rows[-1], sep=" | ", flush=True)
            return None
        taken = time.monotonic() - start
        requests, depth, sent = len(self.log.spans), self.log.depth(), self.log.sent
        counts = (requests, depth, f"{sent / MIB:.2f}") if counted else ("-", "-", "-")
        self.rows.append((what, who, *counts, f"{taken:.2f}"))
        print(*self.rows[-1], sep=" | ", flush=True)
        for name, found, bound in zip(("requests", "depth", "MiB", "s"), (requests, depth, sent / MIB, taken), most or ()):
            if bound is not None and found > bound:
                self.failures.append(f"{what}: {found:.2f} {name}, at most {bound} were expected")
        return answer

    def ours(self, *arguments):
        done = subprocess.run([self.program, "--quiet", *arguments], capture_output=True, timeout=PATIENCE)
        if done.returncode:
            raise RuntimeError(done.stderr.decode())
        return done.stdout

    def exactly(self, expected, *arguments):
        """The answer of the program, which must be these bytes."""
        found = self.ours(*arguments)
        if found != expected:
            raise RuntimeError(f"{len(found)} other bytes than the {len(expected)} that were written")
        return found

    def both(self, what, name, mine, theirs, most, others=()):
        """A row of the program, one for each size of the blocks of h5py, and one for each other reader."""
        if not re.search(self.only, what):
            return
        found = self.row(what, "sciformats", lambda: mine(self.url + name), most)
        readers = [(f"h5py + fsspec, blocks of {block // MIB} MiB", block, h5py.File, theirs)
                   for block in (4 * MIB, 16 * MIB) if theirs]
        readers += [(f"{who} + fsspec, blocks of 4 MiB", 4 * MIB, opens, reads) for who, opens, reads in others]
        for who, block, opens, reads in readers:
            def read():
                system = fsspec.filesystem("http", skip_instance_cache=True)
                with system.open(self.url + name, cache_type="blockcache", block_size=block) as remote:
                    with opens(remote) as file:
                        return reads(file)
            expected = self.row(what, who, read)
            if expected is not None and found is not None and not same(found, expected):
                self.failures.append(f"{what}: another answer than that of {who}")
        if found is None:
            self.failures.append(f"{what}: no answer")


def same(found, expected):
    if isinstance(expected, int):
        return found == expected
    return hashlib.sha256(found).digest() == hashlib.sha256(np.ascontiguousarray(expected).tobytes()).digest()


def listed(file):
    """How many attributes all objects have; shapes are looked at too."""
    count = 0

    def visit(_, item):
        nonlocal count
        if isinstance(item, h5py.Dataset):
            assert item.shape and item.dtype and item.chunks
        count += len(list(item.attrs.items()))

    file.visititems(visit)
    return count


def s3_store(folder):
    """A server of S3 on the loopback with the files of `folder` in a private bucket, and the environment for the program."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    secrets = {
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret/example", "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ALLOW_HTTP": "true",
    }
    client = boto3.client(
        "s3", endpoint_url=secrets["AWS_ENDPOINT_URL"], region_name="us-east-1",
        aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key="secret/example",
    )
    client.create_bucket(Bucket="measured")
    for name in ("latest.h5", "run.gsd"):
        client.upload_file(os.path.join(folder, name), "measured", f"a folder/{name}")
    return server, client, secrets


def from_s3(bench, folder):
    """The program reads from a server of S3: the same elements, signed requests, and errors without secrets."""
    server, client, secrets = s3_store(folder)
    try:
        def program(*arguments, **changed):
            return subprocess.run([bench.program, "--quiet", *arguments], capture_output=True, timeout=PATIENCE,
                                  env={**os.environ, **secrets, **changed})

        path = "/group 11/data 4"
        with h5py.File(os.path.join(folder, "latest.h5")) as file:
            expected = file[path][()].tobytes()

        def read():
            done = program("cat", "--format", "raw", "s3://measured/a folder/latest.h5", path)
            if done.stdout != expected:
                raise RuntimeError(f"another answer than that of h5py: {done.stderr.decode()}")
            return expected

        what = "s3://: one dataset of latest.h5"
        if bench.row(what, "sciformats", read, counted=False) is None:
            bench.failures.append(f"{what}: no answer")

        def described():
            address = "s3://measured/a folder/latest.h5"
            for arguments in (("info",), ("--json", "ls", "-r", "--attrs"), ("manifest",)):
                far = program(*arguments, address)
                near = program(*arguments, os.path.join(folder, "latest.h5"))
                name = os.path.join(folder, "latest.h5").encode()
                if far.returncode or far.stdout.replace(address.encode(), name) != near.stdout:
                    raise RuntimeError(f"{arguments} differs from the local file: {far.stderr.decode()}")
            return len(near.stdout)

        what = "s3://: info, ls and manifest of latest.h5"
        if bench.row(what, "sciformats", described, counted=False) is None:
            bench.failures.append(f"{what}: no answer")

        def converted():
            made = os.path.join(folder, "from-s3.h5")
            if os.path.exists(made):
                os.remove(made)
            done = program("convert", "s3://measured/a folder/run.gsd", made, "--check")
            if done.returncode:
                raise RuntimeError(done.stderr.decode())
            with gsd.hoomd.open(os.path.join(folder, "run.gsd"), "r") as frames, h5py.File(made) as file:
                for number, frame in enumerate(frames):
                    found = file[f"frames/{number}/particles/position"][()]
                    if not np.array_equal(found, frame.particles.position):
                        raise RuntimeError(f"the positions of frame {number} differ")
            return number

        what = "s3://: run.gsd converted into an HDF5 file"
        if bench.row(what, "sciformats", converted, counted=False) is None:
            bench.failures.append(f"{what}: no answer")

        def refused():
            done = program("info", "s3://measured/missing.h5")
            text = done.stderr.decode()
            if not done.returncode or "no such file" not in text or secrets["AWS_SECRET_ACCESS_KEY"] in text:
                raise RuntimeError(f"a missing object is told by: {text}")
            return text

        what = "s3://: an object that is missing"
        if bench.row(what, "sciformats", refused, counted=False) is None:
            bench.failures.append(f"{what}: no answer")

        def replaced():
            index = os.path.join(folder, "s3.sfi")
            address = "s3://measured/a folder/run.gsd"
            made = program("index", address, "-o", index, "--force")
            with open(os.path.join(folder, "run.gsd"), "rb") as file:
                changed = bytearray(file.read())
            changed[-1] ^= 1
            client.put_object(Bucket="measured", Key="a folder/run.gsd", Body=bytes(changed))
            done = program("cat", "--format", "raw", "--index", index, address, "/frames/77/particles/position")
            if made.returncode or not done.returncode or b"replaced" not in done.stderr:
                raise RuntimeError(f"a replaced object is told by: {made.stderr.decode()} {done.stderr.decode()}")
            return done.returncode

        what = "s3://: an object that was replaced"
        if bench.row(what, "sciformats", replaced, counted=False) is None:
            bench.failures.append(f"{what}: no answer")
    finally:
        server.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--delay", type=float, default=60)
    parser.add_argument("--only", default="", help="rows whose name matches this expression")
    arguments = parser.parse_args()
    print("what", "who", "requests", "depth", "MiB", "s", sep=" | ")
    log = Log()
    os.makedirs(arguments.folder, exist_ok=True)
    make(arguments.folder)
    url = serve(arguments.folder, arguments.delay / 1000, log)
    bench = Bench(arguments.program, url, log, arguments.only)

    def ls(address):
        lines = bench.ours("--json", "ls", "-r", "--attrs", address).splitlines()
        return sum(json.loads(line)["kind"] == "attribute" for line in lines)

    for name in ("earliest.h5", "latest.h5"):
        path = "/group 11/data 4"
        bench.both(
            f"{name}: open, one dataset of 200", name,
            lambda address: bench.ours("cat", "--format", "raw", address, path), lambda file: file[path][()],
            (4, 3),
            [("h5netcdf", lambda remote: h5netcdf.File(remote, "r", phony_dims="sort"), lambda file: file[path][...]),
             ("pyfive", pyfive.File, lambda file: file[path][()])],
        )
        size = os.path.getsize(os.path.join(arguments.folder, name))
        blocks = -(-size // MIB)
        bench.both(f"{name}: list all with attributes", name, ls, listed, (1.3 * blocks, 8))
        index = os.path.join(arguments.folder, name + ".sfi")
        if re.search(arguments.only, "index"):
            bench.ours("index", url + name, "-o", index, "--force")
        bench.both(
            f"{name}: one dataset of 200, by the index", name,
            lambda address: bench.ours("cat", "--format", "raw", "--index", index, address, path), None, (1, 1),
        )
    bench.both(
        "column.h5: a column through 10,000 chunks", "column.h5",
        lambda address: bench.ours("cat", "--format", "raw", address, "/grid", "--slice", ":, 100"),
        lambda file: file["grid"][:, 100],
        (None, None, 1.1 * 10_000 * 32 * 64 * 8 / MIB + 20),
    )
    bench.both("run.gsd: a frame of 200", "run.gsd",
               lambda address: bench.ours("cat", "--format", "raw", address, "/frames/77/particles/position"), None, (4, 3))
    bench.both("array.ra: a row of 3000", "array.ra",
               lambda address: bench.ours("cat", "--format", "raw", address, "--slice", "1500"), None, (3, 2))
    with asdf.open(os.path.join(arguments.folder, "runs.asdf")) as file:
        expected = file["runs"]["run 077"][...].tobytes()
    bench.both("runs.asdf: one array of 200", "runs.asdf",
               lambda address: bench.exactly(expected, "cat", "--format", "raw", address, "/runs/run 077"), None, (4, 3))
    expected = blosc2.open(os.path.join(arguments.folder, "array.b2nd"), "r")[1500].tobytes()
    bench.both("array.b2nd: a row of 3000", "array.b2nd",
               lambda address: bench.exactly(expected, "cat", "--format", "raw", address, "--slice", "1500"), None, (4, 3))
    bench.both("large.ra: info of 1 TiB", "large.ra", lambda address: bench.ours("info", address), None, (2, 2, None, 0.5))

    if re.search(arguments.only, "s3://"):
        from_s3(bench, arguments.folder)

    for failure in bench.failures:
        print("FAILED", failure)
    sys.exit(bool(bench.failures))


if __name__ == "__main__":
    main()
