"""What references to very many chunks, and to very many files behind URLs, cost, as two tables of Markdown.

    references_scale_bench.py PROGRAM DIR [CHUNKS [FILES]]

The first table is about one HDF5 file with CHUNKS chunks, 10,000,000 by default, whose references become a folder of Parquet files.
The second is about FILES files of 10 MB, 10,000 by default, behind a server on the loopback interface that waits for 60 ms before each
answer: `combine` joins them along the time that each of them has. The files differ in their time only, and most of their bytes are zeros
that nobody asks for. Memory is the largest resident set of the program.
"""

import asyncio
import json
import re
import sys
import threading
from pathlib import Path

import h5py
import numpy

from references_measure import run

LATENCY = 0.06


def many_chunks(program, folder, chunks):
    """A file with so many chunks of one byte, and its references."""
    path = folder / f"chunks-{chunks}.h5"
    if not path.exists():
        with h5py.File(path, "w", libver="latest") as file:
            data = file.create_dataset("v", (chunks,), "i1", chunks=(1,))
            for start in range(0, chunks, 100_000):
                data[start : start + 100_000] = numpy.arange(start, min(chunks, start + 100_000)) % 100
    out = folder / "chunks.parquet"
    _, seconds, memory = run([program, "--quiet", "references", str(path), "-o", str(out), "--force"])
    tables = len(list((out / "v").iterdir()))
    print("| chunks | tables of Parquet | time | memory |")
    print("|--:|--:|--:|--:|")
    print(f"| {chunks:,} | {tables:,} | {seconds:.1f} s | {memory:.0f} MiB |", flush=True)


class Server(threading.Thread):
    """Answers requests for `/N.nc` with the bytes of a file whose time is N."""

    def __init__(self, content, place):
        super().__init__(daemon=True)
        self.content, self.place = content, place
        self.requests = self.sent = self.port = 0
        self.ready = threading.Event()

    def run(self):
        asyncio.run(self.serve())

    async def serve(self):
        server = await asyncio.start_server(self.talk, "127.0.0.1", 0, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        async with server:
            await server.serve_forever()

    async def talk(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                await asyncio.sleep(LATENCY)
                number = int(re.search(r"/(\d+)\.nc", head)[1])
                size = len(self.content)
                found = re.search(r"(?i)range: bytes=(\d*)-(\d*)", head)
                start, end = 0, size
                if found and found[1]:
                    start, end = int(found[1]), min(size, int(found[2]) + 1 if found[2] else size)
                elif found:
                    start = size - min(size, int(found[2]))
                status = "206 Partial Content" if found else "200 OK"
                lines = [f"HTTP/1.1 {status}", f"Content-Length: {end - start}", "Accept-Ranges: bytes", f'ETag: "{number}"']
                lines += [f"Content-Range: bytes {start}-{end - 1}/{size}"] if found else []
                writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
                if not head.startswith("HEAD"):
                    value, place = numpy.float64(number).tobytes(), self.place
                    if start <= place and place + 8 <= end:
                        writer.write(self.content[start:place])
                        writer.write(value)
                        writer.write(self.content[place + 8 : end])
                    else:
                        writer.write(self.content[start:end])
                await writer.drain()
                self.requests += 1
                self.sent += end - start
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


def server_of_days(folder):
    """A server with a file of 10 MB for each number, which is its time."""
    path = folder / "day.nc"
    with h5py.File(path, "w", libver="latest") as file:
        file["time"], file["lat"], file["lon"] = numpy.array([0.0]), numpy.linspace(-90, 90, 500), numpy.linspace(0, 359, 1000)
        file["time"].attrs["units"] = "days since 2000-01-01"
        for name in ["tas", "pr", "ps", "hurs", "rsds"]:
            data = file.create_dataset(name, data=numpy.zeros((1, 500, 1000), "f4"), chunks=(1, 250, 500))
            for axis, scale in enumerate(["time", "lat", "lon"]):
                file[scale].make_scale(scale)
                data.dims[axis].attach_scale(file[scale])
        place = file["time"].id.get_offset()
    server = Server(memoryview(path.read_bytes()), place)
    server.start()
    server.ready.wait()
    return server


def combined(program, server, files, out):
    """References to so many files behind URLs: the seconds, the memory in MiB, the requests, and the bytes that were sent."""
    urls = [f"http://127.0.0.1:{server.port}/{number}.nc" for number in range(files)]
    before = server.requests, server.sent
    _, seconds, memory = run([program, "--quiet", "combine", *urls, "-o", str(out), "--force"])
    if out.suffix == ".json":
        refs = json.loads(out.read_text())["refs"]
        found = json.loads(refs["tas/.zarray"])["shape"]
        assert found == [files, 500, 1000] and sum(key.startswith("tas/") for key in refs) == 2 + 4 * files, found
    return seconds, memory, server.requests - before[0], server.sent - before[1]


def many_files(program, folder, files):
    """References to files behind URLs."""
    server = server_of_days(folder)
    seconds, memory, requests, sent = combined(program, server, files, folder / "days.json")
    print("\n| files | bytes of each | requests | received | time | memory |")
    print("|--:|--:|--:|--:|--:|--:|")
    size = len(server.content) / 1e6
    print(f"| {files:,} | {size:.1f} MB | {requests:,} | {sent / 1e6:.0f} MB | {seconds:.1f} s | {memory:.0f} MiB |")


def main():
    program, folder = sys.argv[1], Path(sys.argv[2]).absolute()
    folder.mkdir(exist_ok=True)
    many_files(program, folder, int(sys.argv[4]) if len(sys.argv) > 4 else 10_000)
    many_chunks(program, folder, int(sys.argv[3]) if len(sys.argv) > 3 else 10_000_000)


if __name__ == "__main__":
    main()
