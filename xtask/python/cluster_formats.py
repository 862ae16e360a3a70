"""References to files of the five formats on a cluster of worker processes: what the workers read through zarr-python and xarray is what
the usual library of each format reads, and what sciformats reads, also if a worker is killed on the way.
"""

import os
import signal
import struct
import subprocess
import time
from typing import Callable, NamedTuple

import asdf
import blosc2
import gsd.fl
import h5py
import numpy
import xarray

import cluster_store

PIECES = 48  # chunks of an array, or arrays of one chunk
NAMES = [f"a{number:02}" for number in range(PIECES)]


class Format(NamedTuple):
    """How a file is written, and how its usual library reads it: arrays by the names that references give them."""

    name: str
    ending: str
    write: Callable
    read: Callable


def write_hdf5(path, values):
    with h5py.File(path, "w") as file:
        file.create_dataset("gzip", data=values, chunks=(1, *values.shape[1:]), compression="gzip", shuffle=True)
        file.create_group("more").create_dataset("lzf", data=values, chunks=(2, *values.shape[1:]), compression="lzf")


def read_hdf5(path):
    with h5py.File(path) as file:
        return {name: file[name][...] for name in ["gzip", "more/lzf"]}


def write_asdf(path, values):
    asdf.AsdfFile({"deep": dict(zip(NAMES, values))}).write_to(path, all_array_compression="zlib", all_array_storage="internal")


def read_asdf(path):
    with asdf.open(path) as file:
        return {f"deep/{name}": numpy.array(value) for name, value in file["deep"].items()}


def write_blosc2(path, values):
    blosc2.asarray(values, urlpath=str(path), mode="w", chunks=(1, *values.shape[1:]), blocks=(1, 8, 16))


def read_blosc2(path):
    return {"data": blosc2.open(str(path))[...]}


def write_gsd(path, values):
    with gsd.fl.open(str(path), "w", application="sciformats", schema="none", schema_version=[1, 0]) as file:
        for value in values:
            file.write_chunk("v", value)
            file.end_frame()


def read_gsd(path):
    with gsd.fl.open(str(path), "r") as file:
        return {f"frames/{number}/v": file.read_chunk(number, "v") for number in range(file.nframes)}


def write_rawarray(path, values):
    """The header: magic, flags, kind of element (3 is floating-point), its bytes, all bytes, and the dimensions, the fastest first."""
    head = b"rawarray" + struct.pack("<5Q", 0, 3, values.itemsize, values.nbytes, values.ndim)
    path.write_bytes(head + struct.pack(f"<{values.ndim}Q", *values.shape[::-1]) + values.tobytes())


def read_rawarray(path):
    content = path.read_bytes()
    dimensions = struct.unpack_from("<Q", content, 40)[0]
    shape = struct.unpack_from(f"<{dimensions}Q", content, 48)[::-1]
    return {"data": numpy.frombuffer(content, "<f8", offset=48 + 8 * dimensions).reshape(shape)}


FORMATS = [
    Format("HDF5", "h5", write_hdf5, read_hdf5),
    Format("ASDF", "asdf", write_asdf, read_asdf),
    Format("Blosc2", "b2nd", write_blosc2, read_blosc2),
    Format("GSD", "gsd", write_gsd, read_gsd),
    Format("RawArray", "ra", write_rawarray, read_rawarray),
]


def lazy(references, names):
    """The arrays of references, of all groups in which there are some of these names, as arrays of Dask."""
    arrays = {}
    for group in {name.rpartition("/")[0] for name in names}:
        store = cluster_store.store(references, group=group or "/")
        with xarray.open_dataset(store, engine="zarr", zarr_format=2, consolidated=False, chunks={}) as data:
            arrays.update({f"{group}/{name}".strip("/"): array.data for name, array in data.items()})
    return arrays


def same(found, wanted, whose):
    """Every array is there, with equal values of the same type."""
    assert found.keys() == wanted.keys(), f"the arrays are {sorted(found)}, those of {whose} are {sorted(wanted)}"
    for name, value in wanted.items():
        assert found[name].dtype == value.dtype, f"{name}: the type is {found[name].dtype}, that of {whose} is {value.dtype}"
        numpy.testing.assert_array_equal(found[name], value, err_msg=f"{name}, beside {whose}")


def own(path, names):
    """What sciformats reads itself. References call an array without a name `data`."""
    import sciformats

    file = sciformats.open(path)
    return {name: numpy.asarray((file.root if name == "data" else file[name])[...]) for name in names}


def slowly(block):
    time.sleep(0.1)
    return block


def computed(client, arrays):
    """The values of arrays, each as one result. Every worker has a share in them, if there are enough chunks."""
    before = client.run(cluster_store.counts)
    found = dict(zip(arrays, client.gather(client.compute(list(arrays.values())))))
    readers = sum(count[0] > before[worker][0] for worker, count in client.run(cluster_store.counts).items())
    wanted = min(sum(array.npartitions for array in arrays.values()), len(before))
    assert readers >= wanted, f"{readers} of {len(before)} workers have read something"
    return found


def killed(client, arrays):
    """The values of arrays, if a worker is killed while they are computed."""
    before = set(client.run(os.getpid).values())
    whole = len(arrays) == 1  # an array of one chunk is divided among the workers
    parts = [array.rechunk({0: 1}) if whole else array for array in arrays.values()]
    futures = client.compute([part.map_blocks(slowly, dtype=part.dtype) for part in parts])
    time.sleep(0.5)
    assert not all(future.done() for future in futures), "everything was computed before the worker was killed"
    os.kill(min(before), signal.SIGKILL)
    found = dict(zip(arrays, client.gather(futures)))
    client.wait_for_workers(len(before), timeout=60)
    assert min(before) not in client.run(os.getpid).values(), "the worker is still there"
    return found


def checks(program, folder, client, check):
    """All checks of all formats: `check` is given a name and what has to hold."""
    values = numpy.random.default_rng(5).normal(size=(PIECES, 24, 32))
    for form in FORMATS:
        path, references = folder / f"piece.{form.ending}", folder / f"{form.ending}.json"
        form.write(path, values)
        words = [program, "--quiet", "references", path, "-o", references, "--force", "--codecs"]
        # The status is 1 if something is no array, such as the name of the library in a tree of ASDF; which arrays are there is compared.
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
        assert done.returncode in (0, 1) and references.exists(), done.stderr
        wanted, found = form.read(path), {}

        def read():
            found.update(computed(client, lazy(references, wanted)))
            same(found, wanted, "the library")

        check(f"{form.name}: the workers read what the usual library reads", read)
        check(f"{form.name}: sciformats reads the same", lambda: same(found, own(path, wanted), "sciformats"))
        check(f"{form.name}: a worker is killed on the way", lambda: same(killed(client, lazy(references, wanted)), wanted, "the library"))
