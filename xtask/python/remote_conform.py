"""What reading files far away costs, beside h5py, h5netcdf and pyfive over fsspec.

A server on the loopback, which `cargo xtask remote` starts, counts requests and bytes, and waits before each answer. The same
files are read by the program of this project and by the others over fsspec with its block cache, as xarray uses it, and by the
tools of HDF5 with the driver ROS3, which h5py's wheel does not contain. Then the program reads from servers that others wrote, and
writes into them: nginx, moto's server of S3, and those of `remote_emulators.py`. Prints a table; fails when an answer is wrong or the
program takes more requests, batches, bytes or time than it may.

usage: remote_conform.py PROGRAM FOLDER URL [--only REGEX]
"""

import argparse
import hashlib
import json
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

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

import debian
import remote_emulators

MIB = 1 << 20

# No run of the program takes longer; the slowest row takes a third of this at 60 ms.
PATIENCE = 60


# Paths of datasets in old-style groups of one, two and three levels.
LEVELS = ("data {0}", "group {1}/data {0}", "part {2}/group {1}/data {0}")

# The requests of which the task draws a picture, by the program that makes them.
KEPT = {"sciformats": "ours", "h5py + fsspec, blocks of 4 MiB": "theirs"}


def level(name, number):
    return name.format(f"{number:03}", f"{number // 10:02}", number // 100)


class Log:
    """The counts of the server."""

    def __init__(self, url):
        self.url = url

    def clear(self):
        urllib.request.urlopen(self.url + "_clear").close()

    def keep(self, name):
        urllib.request.urlopen(f"{self.url}_keep?{name}").close()

    def read(self):
        """The numbers of requests, of requests each of which came after the one before was answered, and of bytes."""
        with urllib.request.urlopen(self.url + "_log") as answer:
            return tuple(int(word) for word in answer.read().split())


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
    with h5py.File(os.path.join(folder, "groups.h5"), "w") as file:
        for group in range(1500):
            data = rng.normal(size=2000)
            made = file.create_dataset(f"group {group:04}/data", data=data, chunks=(1000,), compression="gzip")
            made.attrs["units"] = "K"
    for depth, name in enumerate(LEVELS, 1):
        with h5py.File(os.path.join(folder, f"groups-{depth}.h5"), "w") as file:
            for number in range(200):
                data = rng.normal(size=(20, 1000)).astype("f4")
                made = file.create_dataset(level(name, number), data=data, chunks=(1, 1000), compression="gzip")
                made.attrs["units"] = "K"
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
        self.rows, self.failures, self.times, self.answers = [], [], {}, {}

    def row(self, what, who, work, most=None, counted=True):
        if counted:
            self.log.clear()
        start = time.monotonic()
        try:
            answer = work()
        except Exception as error:  # the other program's faults are told, and are not ours
            self.rows.append((what, who, "-", "-", "-", f"{type(error).__name__}: {error}"))
            print(*self.rows[-1], sep=" | ", flush=True)
            return None
        taken = time.monotonic() - start
        if what == "latest.h5: open, one dataset of 200" and who in KEPT:
            self.log.keep(KEPT[who])
        requests, depth, sent = self.log.read() if counted else (0, 0, 0)
        counts = (requests, depth, f"{sent / MIB:.2f}") if counted else ("-", "-", "-")
        self.rows.append((what, who, *counts, f"{taken:.2f}"))
        self.times.setdefault(what, {})[who] = taken
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
        found = self.answers[what] = self.row(what, "sciformats", lambda: mine(self.url + name), most)
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


    def faster(self, what, times):
        """The program must be this many times faster than each reader over fsspec."""
        taken = self.times.get(what, {})
        for who, other in taken.items():
            if "fsspec" in who and other < times * taken.get("sciformats", 0):
                self.failures.append(f"{what}: {other / taken['sciformats']:.1f} times faster than {who}, {times} were expected")


class Ros3:
    """h5dump with the driver that reads from S3 by ranges, or nothing where the tools cannot be had."""

    def __init__(self):
        self.environment, self.h5dump = dict(os.environ), shutil.which("h5dump")
        try:
            if not self.h5dump:
                root = debian.unpacked("hdf5-tools")
                self.h5dump = str(root / "usr/bin/h5dump")
                self.environment["LD_LIBRARY_PATH"] = os.pathsep.join(debian.libraries(root))
            version = re.search(r"\d+\.\d+\.\d+", self.run("--version").decode()).group()
            self.who = f"h5dump of HDF5 {version}, driver ROS3"
            if b"ros3" not in self.run("--help"):
                raise debian.Missing("this h5dump has no driver ROS3")
        except (debian.Missing, OSError) as why:
            print(f"ROS3 is left out: {why}", file=sys.stderr)
            self.h5dump = None

    def run(self, *arguments):
        done = subprocess.run([self.h5dump, *arguments], env=self.environment, capture_output=True, timeout=PATIENCE)
        if done.returncode:
            raise RuntimeError(done.stderr.decode(errors="replace")[:200])
        return done.stdout

    def elements(self, address, path):
        """The bytes of a dataset."""
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            self.run("--filedriver=ros3", "-d", path, "-b", "LE", "-o", out, address)
            with open(out, "rb") as file:
                return file.read()

    def attributes(self, address):
        """How many attributes all objects have."""
        return self.run("--filedriver=ros3", "-A", address).decode(errors="replace").count("ATTRIBUTE \"")

    def row(self, bench, what, name, work):
        if not self.h5dump or not re.search(bench.only, what):
            return
        found = bench.row(what, self.who, lambda: work(bench.url + name))
        ours = bench.answers.get(what)
        if found is not None and ours is not None and found != ours:
            bench.failures.append(f"{what}: another answer than that of {self.who}")


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


NGINX = """
daemon off;
master_process off;
worker_processes 1;
pid {place}/pid;
error_log {place}/error.log;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {place}/body;
    proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi;
    uwsgi_temp_path {place}/uwsgi;
    scgi_temp_path {place}/scgi;
    gzip on;
    gzip_types *;
    limit_req_zone $binary_remote_addr zone=few:1m rate=20r/s;
    limit_conn_zone $binary_remote_addr zone=narrow:1m;
    server {{
        listen 127.0.0.1:{port};
        root {folder};
        location /moved/ {{ rewrite ^/moved/(.*)$ /$1?signature=secret redirect; }}
        location /limited/ {{ limit_req zone=few burst=2 nodelay; alias {folder}/; }}
        location /narrow/ {{ limit_conn narrow 4; alias {folder}/; }}
        location /whole/ {{ max_ranges 0; alias {folder}/; }}
        location /login/ {{ auth_basic "data"; auth_basic_user_file {place}/passwords; alias {folder}/; }}
    }}
}}
"""


def from_nginx(bench, folder):
    """The program reads from nginx: plainly, over redirects, with limits of requests and connections, without ranges, with a login."""
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if not nginx:
        try:
            nginx = str(debian.unpacked("nginx-light") / "usr/sbin/nginx")
        except debian.Missing as why:
            print(f"nginx is left out: {why}", file=sys.stderr)
            return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = tempfile.mkdtemp(prefix="nginx")
    with open(os.path.join(place, "conf"), "w") as file:
        file.write(NGINX.format(place=place, port=port, folder=os.path.abspath(folder)))
    with open(os.path.join(place, "passwords"), "w") as file:
        file.write("me:{PLAIN}secret\n")
    with open(os.path.join(place, "netrc"), "w") as file:
        file.write("machine 127.0.0.1 login me password secret\n")
    # The workers are the user of the process, who can read the files.
    server = subprocess.Popen([nginx, "-p", place, "-c", os.path.join(place, "conf")], stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/"
    try:
        for _ in range(100):
            try:
                urllib.request.urlopen(url + "run.gsd").close()
                break
            except OSError:
                time.sleep(0.05)
        path = "/group 11/data 4"
        with h5py.File(os.path.join(folder, "latest.h5")) as file:
            expected = file[path][()].tobytes()

        def program(*arguments, **changed):
            return subprocess.run([bench.program, "--quiet", *arguments], capture_output=True, timeout=PATIENCE,
                                  env={**os.environ, **changed})

        def read(place, **changed):
            def work():
                done = program("cat", "--format", "raw", url + place + "latest.h5", path, **changed)
                if done.stdout != expected:
                    raise RuntimeError(f"another answer than that of h5py: {done.stderr.decode()}")
                return expected
            return work

        def described():
            address = url + "latest.h5"
            near_by = os.path.join(folder, "latest.h5")
            for arguments in (("info",), ("--json", "ls", "-r", "--attrs"), ("manifest",)):
                far, near = program(*arguments, address), program(*arguments, near_by)
                if far.returncode or far.stdout.replace(address.encode(), near_by.encode()) != near.stdout:
                    raise RuntimeError(f"{arguments} differs from the local file: {far.stderr.decode()}")
            return len(near.stdout)

        def all_frames(place):
            def work():
                made = os.path.join(folder, "from-nginx.h5")
                if os.path.exists(made):
                    os.remove(made)
                done = program("convert", url + place + "run.gsd", made, "--check")
                if done.returncode:
                    raise RuntimeError(done.stderr.decode())
                return 1
            return work

        def anew(name, *options):
            def work():
                made = os.path.join(folder, "anew-" + name)
                for command in ("repack", "convert"):
                    done = program(command, url + name, made, "--force", *options)
                    if done.returncode:
                        raise RuntimeError(f"{command}: {done.stderr.decode()}")
                    stored = [] if options else ["--storage"]
                    same = program("diff", *stored, os.path.join(folder, name), made)
                    if same.returncode:
                        raise RuntimeError(f"{command}: {same.stdout.decode()}")
                return os.path.getsize(made)
            return work

        def refused():
            done = program("info", url + "login/latest.h5", NETRC=os.devnull)
            if not done.returncode or b"login" not in done.stderr:
                raise RuntimeError(f"a missing login is told by: {done.stderr.decode()}")
            return 1

        def replaced():
            changing = os.path.join(folder, "changing.gsd")
            shutil.copyfile(os.path.join(folder, "run.gsd"), changing)
            index = os.path.join(folder, "nginx.sfi")
            made = program("index", url + "changing.gsd", "-o", index, "--force")
            with open(changing, "r+b") as file:
                file.seek(-1, os.SEEK_END)
                file.write(b"x")
            os.utime(changing, (1, 1))
            done = program("cat", "--format", "raw", "--index", index, url + "changing.gsd", "/frames/77/particles/position")
            if made.returncode or not done.returncode or b"replaced" not in done.stderr:
                raise RuntimeError(f"a replaced file is told by: {made.stderr.decode()} {done.stderr.decode()}")
            return 1

        for what, work in (
            ("one dataset of latest.h5", read("")),
            ("one dataset over a redirect", read("moved/")),
            ("one dataset with 20 requests a second", read("limited/")),
            ("one dataset over 4 connections", read("narrow/")),
            ("one dataset without ranges", read("whole/")),
            ("one dataset with a login of a netrc file", read("login/", NETRC=os.path.join(place, "netrc"))),
            ("a login that is missing", refused),
            ("info, ls and manifest of latest.h5", described),
            ("run.gsd converted into an HDF5 file", all_frames("")),
            ("run.gsd converted with 20 requests a second", all_frames("limited/")),
            ("earliest.h5 written anew", anew("earliest.h5")),
            ("earliest.h5 written anew with another filter", anew("earliest.h5", "--filter", "zstd")),
            ("runs.asdf written anew", anew("runs.asdf")),
            ("run.gsd written anew", anew("run.gsd")),
            ("array.b2nd written anew", anew("array.b2nd")),
            ("array.ra written anew", anew("array.ra")),
            ("a file that was replaced", replaced),
        ):
            what = f"nginx: {what}"
            if bench.row(what, "sciformats", work, counted=False) is None:
                bench.failures.append(f"{what}: no answer")
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(place, ignore_errors=True)


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

        def written():
            """A file of several parts, packed anew into the store by the program; whole or not at all."""
            address = "s3://measured/made/latest.h5"
            done = program("repack", os.path.join(folder, "latest.h5"), address)
            if done.returncode:
                raise RuntimeError(done.stderr.decode())
            size = client.head_object(Bucket="measured", Key="made/latest.h5")["ContentLength"]
            made = os.path.join(folder, "from-s3.h5")
            client.download_file("measured", "made/latest.h5", made)
            with h5py.File(made) as file:
                found = file[path][()].tobytes()
            for arguments in (("cat", "--format", "raw", address, path), ("diff", os.path.join(folder, "latest.h5"), address)):
                done = program(*arguments)
                if done.returncode or arguments[0] == "cat" and done.stdout != expected or found != expected:
                    raise RuntimeError(f"{arguments} of what was written: {done.stderr.decode()}")
            done = program("repack", os.path.join(folder, "earliest.h5"), address)
            if done.returncode != 2 or b"exists already" not in done.stderr:
                raise RuntimeError(f"an existing object is told by: {done.stderr.decode()}")
            if client.list_multipart_uploads(Bucket="measured").get("Uploads"):
                raise RuntimeError("an upload was left unfinished")
            return size

        what = "s3://: latest.h5 packed anew into the store"
        if bench.row(what, "sciformats", written, counted=False) is None:
            bench.failures.append(f"{what}: no answer")

        def from_store_to_store():
            address = "s3://measured/made/run.h5"
            done = program("convert", "s3://measured/a folder/run.gsd", address, "--check")
            if done.returncode:
                raise RuntimeError(done.stderr.decode())
            made = os.path.join(folder, "from-s3.h5")
            client.download_file("measured", "made/run.h5", made)
            with gsd.hoomd.open(os.path.join(folder, "run.gsd"), "r") as frames, h5py.File(made) as file:
                if not np.array_equal(file["frames/77/particles/position"][()], frames[77].particles.position):
                    raise RuntimeError("the positions of frame 77 differ")
            done = program("convert", "s3://measured/a folder/run.gsd", "s3://measured/made/no.asdf", "--dry-run")
            missing = client.list_objects_v2(Bucket="measured", Prefix="made/no")["KeyCount"] == 0
            if done.returncode > 1 or not missing:
                raise RuntimeError(f"--dry-run: {done.stderr.decode()}")
            return 1

        what = "s3://: run.gsd converted from store to store"
        if bench.row(what, "sciformats", from_store_to_store, counted=False) is None:
            bench.failures.append(f"{what}: no answer")

        def presigned():
            url = client.generate_presigned_url("get_object", Params={"Bucket": "measured", "Key": "a folder/latest.h5"})
            done = subprocess.run([bench.program, "--quiet", "cat", "--format", "raw", url, path], capture_output=True, timeout=PATIENCE)
            if done.stdout != expected:
                raise RuntimeError(f"another answer than that of h5py: {done.stderr.decode()}")
            return expected

        what = "s3://: one dataset by a presigned URL"
        if bench.row(what, "sciformats", presigned, counted=False) is None:
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


def from_store(bench, folder, service, store):
    """The program reads from another store what a client put there, and writes into it what the client reads: a file of one request
    and one of several parts; an existing object stays what it is."""
    def program(*arguments):
        done = subprocess.run([bench.program, "--quiet", *arguments], capture_output=True, timeout=PATIENCE,
                              env={**os.environ, **store.environment})
        return done.returncode, done.stdout, done.stderr.decode()

    def good(*arguments):
        status, text, error = program(*arguments)
        if status:
            raise RuntimeError(f"{arguments}: {error}")
        return text

    root, path = f"{store.scheme}://{remote_emulators.BUCKET}", "/group 11/data 4"
    near, small = os.path.join(folder, "latest.h5"), os.path.join(folder, "array.b2nd")
    with h5py.File(near) as file:
        expected = file[path][()].tobytes()

    def read():
        with open(near, "rb") as file:
            store.put("a folder/latest.h5", file.read())
        if good("cat", "--format", "raw", f"{root}/a folder/latest.h5", path) != expected:
            raise RuntimeError("another answer than that of h5py")
        status, _, error = program("info", f"{root}/missing.h5")
        if not status or "no such file" not in error:
            raise RuntimeError(f"a missing object is told by: {error}")
        return expected

    def written():
        for name in (near, small):
            address = f"{root}/made/{os.path.basename(name)}"
            good("repack", name, address)
            good("diff", name, address)
            if os.path.getsize(name) < 9 * MIB and name == near:
                raise RuntimeError("the file is too small for several parts")
        made = os.path.join(folder, "from-store.h5")
        with open(made, "wb") as file:
            file.write(store.get("made/latest.h5"))
        with h5py.File(made) as file:
            if file[path][()].tobytes() != expected:
                raise RuntimeError("h5py reads other elements")
        before = store.get("made/array.b2nd")
        status, _, error = program("repack", near, f"{root}/made/array.b2nd")
        if status != 2 or "exists already" not in error or store.get("made/array.b2nd") != before:
            raise RuntimeError(f"an existing object is told by: {error}")
        if sorted(store.names()) != ["a folder/latest.h5", "made/array.b2nd", "made/latest.h5"]:
            raise RuntimeError(f"the store has {store.names()}")
        return before

    for what, work in ((f"{service}: one dataset of latest.h5", read), (f"{service}: latest.h5 packed anew into the store", written)):
        if bench.row(what, "sciformats", work, counted=False) is None:
            bench.failures.append(f"{what}: no answer")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("url")
    parser.add_argument("--only", default="", help="rows whose name matches this expression")
    arguments = parser.parse_args()
    print("what", "who", "requests", "depth", "MiB", "s", sep=" | ")
    os.makedirs(arguments.folder, exist_ok=True)
    url = arguments.url
    make(arguments.folder)
    log = Log(url)
    bench = Bench(arguments.program, url, log, arguments.only)

    def ls(address):
        lines = bench.ours("--json", "ls", "-r", "--attrs", address).splitlines()
        return sum(json.loads(line)["kind"] == "attribute" for line in lines)

    ros3 = Ros3()
    for name in ("earliest.h5", "latest.h5"):
        path = "/group 11/data 4"
        bench.both(
            f"{name}: open, one dataset of 200", name,
            lambda address: bench.ours("cat", "--format", "raw", address, path), lambda file: file[path][()],
            (4, 3),
            [("h5netcdf", lambda remote: h5netcdf.File(remote, "r", phony_dims="sort"), lambda file: file[path][...]),
             ("pyfive", pyfive.File, lambda file: file[path][()])],
        )
        ros3.row(bench, f"{name}: open, one dataset of 200", name, lambda address: ros3.elements(address, path))
        size = os.path.getsize(os.path.join(arguments.folder, name))
        blocks = -(-size // MIB)
        bench.both(f"{name}: list all with attributes", name, ls, listed, (1.3 * blocks, 8))
        ros3.row(bench, f"{name}: list all with attributes", name, ros3.attributes)
        index = os.path.join(arguments.folder, name + ".sfi")
        if re.search(arguments.only, "index"):
            bench.ours("index", url + name, "-o", index, "--force")
        bench.both(
            f"{name}: one dataset of 200, by the index", name,
            lambda address: bench.ours("cat", "--format", "raw", "--index", index, address, path), None, (1, 1),
        )
    for depth, name in enumerate(LEVELS, 1):
        path = "/" + level(name, 117)
        bench.both(f"groups-{depth}.h5: open, one dataset of 200, {depth} deep", f"groups-{depth}.h5",
                   lambda address, path=path: bench.ours("cat", "--format", "raw", address, path),
                   lambda file, path=path: file[path][()], (4, 3))
    path = "/group 0700/data"
    bench.both("groups.h5: one dataset in 1,500 groups", "groups.h5",
               lambda address: bench.ours("cat", "--format", "raw", address, path), lambda file: file[path][()], (5, 4))
    for command in ("head", "stats"):
        bench.both(f"groups.h5: {command} of one dataset", "groups.h5",
                   lambda address, command=command: bench.ours(command, address, path), None, (5, 4))
    bench.both(
        "column.h5: a column through 10,000 chunks", "column.h5",
        lambda address: bench.ours("cat", "--format", "raw", address, "/grid", "--slice", ":, 100"),
        lambda file: file["grid"][:, 100],
        (None, None, 1.1 * 10_000 * 32 * 64 * 8 / MIB),
    )
    bench.faster("column.h5: a column through 10,000 chunks", 10)
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

    if re.search(arguments.only, "nginx"):
        from_nginx(bench, arguments.folder)
    if re.search(arguments.only, "s3://"):
        from_s3(bench, arguments.folder)
    if re.search(arguments.only, "gs://"):
        with remote_emulators.google() as store:
            from_store(bench, arguments.folder, "gs://", store)
    if re.search(arguments.only, "az://"):
        if remote_emulators.azurite():
            with remote_emulators.azure() as store:
                from_store(bench, arguments.folder, "az://", store)
        else:
            print("az:// is left out: Azurite needs node and npm", file=sys.stderr)

    for failure in bench.failures:
        print("FAILED", failure)
    sys.exit(bool(bench.failures))


if __name__ == "__main__":
    main()
