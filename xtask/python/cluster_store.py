"""A file system of fsspec that counts requests and waits before each answer, as an object store does; its files are local ones.

It is a module of its own because the processes of a cluster import it by its name.
"""

import asyncio
import io
import os

import fsspec
from fsspec.asyn import AsyncFileSystem


def place(path):
    """The path of a local file without its protocol, which is `counted`, `file` or none."""
    return fsspec.core.split_protocol(path)[1]


class Counted(AsyncFileSystem):
    """Local files, each read of which is one request that takes `wait` seconds. The counts are those of the process."""

    protocol = "counted"
    requests = sent = 0

    def __init__(self, wait=0.0, **options):
        super().__init__(**options)
        self.wait = wait

    async def _cat_file(self, path, start=None, end=None, **options):
        await asyncio.sleep(self.wait)
        path = place(path)
        with open(path, "rb") as file:
            file.seek(start or 0)
            content = file.read(-1 if end is None else end - (start or 0))
        Counted.requests += 1
        Counted.sent += len(content)
        return content

    def _open(self, path, mode="rb", **options):
        return io.BytesIO(self.cat_file(path))

    async def _info(self, path, **options):
        path = place(path)
        return {"name": path, "size": os.path.getsize(path), "type": "directory" if os.path.isdir(path) else "file"}


fsspec.register_implementation("counted", Counted, clobber=True)


def store(references, wait=0.0, group="/"):
    """A store of zarr-python whose references and chunks are read through the counting file system. A group is a store of its own, because
    zarr-python does not list groups within references."""
    import zarr
    from fsspec.implementations.reference import LazyReferenceMapper

    target, found = Counted(wait=wait, asynchronous=True), str(references)
    if found.endswith(".parquet"):
        # Without this, fsspec asks for fastparquet.
        found = LazyReferenceMapper(found, fs=Counted(wait=wait), engine="pyarrow")
    options = {"target_protocol": "counted", "target_options": {"wait": wait}, "fs": {"file": target, None: target}, "asynchronous": True}
    return zarr.storage.FsspecStore(fsspec.filesystem("reference", fo=found, **options), read_only=True, path=group)


def memory():
    """The resident memory of this process, and the largest one so far, in MiB."""
    with open("/proc/self/status") as file:
        sizes = {line.split(":")[0]: line.split()[1] for line in file if line.startswith(("VmRSS", "VmHWM"))}
    return int(sizes["VmRSS"]) / 1024, int(sizes["VmHWM"]) / 1024


def counts():
    """The requests and the bytes of this process, and its largest resident memory in MiB."""
    return Counted.requests, Counted.sent, memory()[1]
