"""Each example beside the program that is usually taken for its task: that program reads what the example wrote, and the example
reads and changes what that program wrote.

    examples_conform.py PROGRAMS DIR

PROGRAMS is a folder with the built examples. There is one function for each of them, with its name; CHECKS lists them.
"""

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
import warnings
from importlib.metadata import version
from pathlib import Path

import anndata
import asdf
import blosc2
import gsd.hoomd
import h5py
import netCDF4
import numpy as np
import pandas
import scipy.sparse

from checks import check, program_in

warnings.simplefilter("ignore")
PROGRAMS, FOLDER = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
PEERS = ["h5py", "netCDF4", "anndata", "asdf", "blosc2", "gsd", "numpy"]
OURS, THEIRS, EDITED = "they read ours", "we read theirs", "edited here"
rng = np.random.default_rng(20)


def run(name, *args, status=0):
    """The lines that an example prints."""
    return program_in(PROGRAMS / name, FOLDER)(*args, status=status).stdout.splitlines()


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", text)]


def same(found, expected, tolerance=0.0):
    assert np.allclose(found, expected, rtol=0, atol=tolerance), f"{found} is not {expected}"


def climate():
    """netCDF4 unpacks and masks by the attributes; the example prints the mean of a slab with two decimals."""

    def mean(path):
        with netCDF4.Dataset(path) as file:
            assert file["t2m"].units == "K"
            return float(file["t2m"][-1, 30:60].mean())

    def ours():
        same(numbers(run("climate", "ours.nc")[0])[0], mean(FOLDER / "ours.nc"), 0.005)

    def theirs():
        with netCDF4.Dataset(FOLDER / "theirs.nc", "w") as file:
            for name, length in [("time", None), ("lat", 90), ("lon", 180)]:
                file.createDimension(name, length)
            field = file.createVariable("t2m", "i2", ("time", "lat", "lon"), zlib=True, shuffle=True)
            field.units, field.scale_factor, field.add_offset = "K", 0.01, 273.15
            field[:] = 273.15 + rng.integers(-2000, 2000, (5, 90, 180)) / 100
        same(numbers(run("climate", "theirs.nc")[0])[0], mean(FOLDER / "theirs.nc"), 0.005)

    return {OURS: ours, THEIRS: theirs}


def simulation():
    """The example goes on where h5py, or a run before, ended."""

    def rows(path, steps):
        with h5py.File(path) as file:
            time = np.arange(steps, dtype="f4") / np.float32(8)
            position = file["position"]
            assert position.dtype == "f4" and position.maxshape == (None, 3)
            same(position[()], np.stack([time, time * time, np.ones_like(time)], axis=1))

    def ours():
        for steps in [120, 30]:
            run("simulation", "ours-run.h5", steps)
        rows(FOLDER / "ours-run.h5", 150)

    def edited():
        with h5py.File(FOLDER / "theirs-run.h5", "w") as file:
            position = file.create_dataset("position", (0, 3), "f4", maxshape=(None, 3), chunks=(16, 3))
            for step in range(50):
                position.resize(step + 1, axis=0)
                position[step] = [step / 8, step * step / 64, 1]
        assert run("simulation", "theirs-run.h5", 70) == ["120 steps are in theirs-run.h5"]
        rows(FOLDER / "theirs-run.h5", 120)

    return {OURS: ours, EDITED: edited}


def particles():
    """h5py sees rows with the fields that the struct of the example has."""

    def ours():
        printed = run("particles", "ours-particles.h5")
        with h5py.File(FOLDER / "ours-particles.h5") as file:
            table = file["particles"][()]
        assert set(table.dtype.names) == {"id", "type", "mass", "position", "charged"}, table.dtype
        assert table["id"].tolist() == list(range(10)) and table["charged"].dtype == bool
        assert [kind.decode() for kind in table["type"]] == ["proton", "neutron"] * 5
        same(table["position"], [[i, 0, 0.5] for i in range(10)])
        same(numbers(printed[0]), [table["mass"].sum()])

    return {OURS: ours}


def errors():
    """The example says the same about a file of h5py, of which each dataset is wrong in another way."""

    def theirs():
        with h5py.File(FOLDER / "faults.h5", "w") as file:
            file["fine"] = np.arange(5, dtype="u1")
            file["wide"] = np.array([1, 2, 300])
            file.create_dataset("gzip", data=np.arange(1000, dtype="u1"), chunks=(1000,), compression="gzip")
            at = file["gzip"].id.get_chunk_info(0).byte_offset
        with open(FOLDER / "faults.h5", "r+b") as file:
            file.seek(at)
            file.write(bytes(8))
        told = {name: run("errors", "faults.h5", name)[0] for name in ["fine", "wide", "none", "gzip"]}
        assert told["fine"] == "5 bytes"
        assert told["wide"] == "read a wider type: element 2 is 300"
        assert told["none"] == "look for another name than none"
        assert told["gzip"].startswith("the file is damaged at byte"), told
        assert run("errors", "absent.h5", "fine") == ["ask the system: entity not found"]

    return {THEIRS: theirs}


def anndata_example():
    """anndata and pandas group by the type of cell, and average over the sparse counts."""

    def means(path):
        data = anndata.read_h5ad(path)
        frame = pandas.DataFrame(data.X.toarray(), columns=data.var_names)
        return frame.groupby(data.obs["cell_type"].values, observed=False).mean()

    def compare(name):
        expected = means(FOLDER / name)
        found = dict(line.split(": ", 1) for line in run("anndata", name))
        assert set(found) == set(expected.index), found
        for kind, row in expected.iterrows():
            same(json.loads(found[kind]), row.to_numpy(), 1e-5)

    def ours():
        run("anndata", "ours.h5ad")
        compare("ours.h5ad")
        data = anndata.read_h5ad(FOLDER / "ours.h5ad")
        assert data.shape == (6, 4) and list(data.var_names) == ["CD3E", "MS4A1", "NKG7", "ACTB"]

    def theirs():
        counts = scipy.sparse.random(300, 40, 0.1, format="csr", random_state=3, dtype="f4")
        kinds = pandas.Categorical(rng.choice(["B", "NK", "T"], 300), categories=["T", "NK", "B"])
        obs = pandas.DataFrame({"depth": counts.sum(axis=1).A1, "cell_type": kinds}, index=[f"c{i}" for i in range(300)])
        anndata.AnnData(counts, obs=obs).write_h5ad(FOLDER / "theirs.h5ad", compression="gzip")
        compare("theirs.h5ad")

    return {OURS: ours, THEIRS: theirs}


def roman():
    """asdf keeps the tags that it does not know, as the example does."""

    def compare(path, tag):
        with asdf.open(path) as file:
            image = file["roman"]
            level = float(np.sort(image["data"][image["dq"] == 0])[(image["dq"] == 0).sum() // 2])
            expected = {"level": level, "method": "median", "subtracted": False}
            assert dict(image["meta"]["background"]) == expected, image["meta"]["background"]
            assert file["history"]["entries"][-1]["description"] == "the background was measured"
            assert image._tag == tag, image._tag
            return np.array(image["data"])

    tag = "asdf://stsci.edu/datamodels/roman/tags/wfi_image-1.2.0"

    def ours():
        printed = run("roman", "ours.asdf")
        compare(FOLDER / "ours.asdf", tag)
        assert printed == ["the background of WFI01 is 3"], printed

    def edited():
        pixels = rng.normal(10, 2, (64, 48)).astype("f4")
        image = {
            "meta": {"instrument": {"name": "WFI", "detector": "WFI07"}, "exposure": {"exposure_time": 3.5}},
            "data": pixels,
            "dq": (rng.random((64, 48)) < 0.2).astype("u4"),
        }
        tree = {"roman": asdf.tagged.TaggedDict(image, tag)}
        asdf.AsdfFile(tree).write_to(FOLDER / "theirs.asdf", all_array_compression="zlib")
        told, level = run("roman", "theirs.asdf")[0].split(" is ")
        same(compare(FOLDER / "theirs.asdf", tag), pixels)
        assert told == "the background of WFI07"
        same(float(level), np.median(pixels[image["dq"] == 0]), 0.05)

    return {OURS: ours, EDITED: edited}


def hoomd():
    """gsd.hoomd gives the positions, and NumPy the mean squared displacement."""

    def compare(name):
        with gsd.hoomd.open(FOLDER / name) as file:
            steps = [frame.configuration.step for frame in file]
            position = np.array([frame.particles.position for frame in file], "f8")
        expected = ((position - position[0]) ** 2).sum(axis=2).mean(axis=1)
        found = [numbers(line) for line in run("hoomd", name)]
        assert [row[0] for row in found] == steps, found
        same([row[1] for row in found], expected, 0.0006)

    def ours():
        run("hoomd", "ours.gsd")
        compare("ours.gsd")
        with gsd.hoomd.open(FOLDER / "ours.gsd") as file:
            assert file[3].particles.types == ["A", "B"] and file[3].particles.typeid[:4].tolist() == [0, 1, 0, 1]

    def theirs():
        with gsd.hoomd.open(FOLDER / "theirs.gsd", "w") as file:
            position = rng.normal(size=(50, 3))
            for step in range(20):
                frame = gsd.hoomd.Frame()
                frame.configuration.step, frame.configuration.box = step * 7, [9, 9, 9, 0, 0, 0]
                frame.particles.N, frame.particles.position = 50, position
                file.append(frame)
                position = position + rng.normal(size=(50, 3)) / 10
        compare("theirs.gsd")

    return {OURS: ours, THEIRS: theirs}


def heights():
    """blosc2 slices the window."""

    def compare(name):
        window = blosc2.open(str(FOLDER / name))[450:550, 450:550]
        same(numbers(run("heights", name)[0])[0], window.mean(dtype="f8"), 0.0006)

    def ours():
        run("heights", "ours.b2nd")
        compare("ours.b2nd")
        array = blosc2.open(str(FOLDER / "ours.b2nd"))
        y, x = np.mgrid[:1000, :1000]
        assert array.dtype == "f4" and array.chunks == (200, 200) and array.blocks == (50, 50)
        same(array[:], (x * y).astype("f4") / 256)

    def theirs():
        heights = rng.integers(0, 4000, (1000, 1000)).astype("u2")
        blosc2.asarray(heights, urlpath=str(FOLDER / "theirs.b2nd"), mode="w", cparams={"codec": blosc2.Codec.ZSTD})
        compare("theirs.b2nd")

    return {OURS: ours, THEIRS: theirs}


def usage():
    """NumPy takes the elements from behind the header, whose fields it also gives: magic, flags, kind, size, bytes, dimensions."""

    def frames(path):
        head = np.fromfile(path, "<u8", 9)
        assert head[0] == 0x7961727261776172 and head[2:4].tolist() == [2, 2] and head[5] == 3, head
        shape = head[6:9][::-1]
        return np.fromfile(path, "<u2", int(shape.prod()), offset=72).reshape(shape.astype(int))

    def ours():
        printed = run("usage", "ours.ra")
        found = frames(FOLDER / "ours.ra")
        assert found.tolist() == [[[0] * 3] * 2, [[100, 110, 120], [200, 210, 220]]]
        assert json.loads(printed[0]) == found[-1].mean(axis=1).tolist()
        assert (FOLDER / "ours.ra").read_bytes().endswith(b"camera 3")

    def edited():
        before = rng.integers(0, 60000, (4, 2, 3)).astype("<u2")
        head = np.array([0x7961727261776172, 0, 2, 2, before.nbytes, 3, 3, 2, 4], "<u8")
        (FOLDER / "theirs.ra").write_bytes(head.tobytes() + before.tobytes())
        run("usage", "theirs.ra")
        found = frames(FOLDER / "theirs.ra")
        assert (found[:4] == before).all() and found[4].tolist() == [[100, 110, 120], [200, 210, 220]]

    return {OURS: ours, EDITED: edited}


def doubled():
    """NumPy writes arrays of each type, order and version of the header, and reads them after the example has changed them."""
    types = "? i1 <i2 >i4 <i8 u1 >u2 <u4 >u8 <f2 >f4 <f8 <c8 >c16 S5 <U3 >U3 V3 <M8[s] >m8[ms]".split()
    types += [[("a", "<f4"), ("b", ">i2", (2,)), ("c", "S3")]]

    def one(name, values, version=None):
        with open(FOLDER / name, "wb") as file:
            np.lib.format.write_array(file, values, version=version)
        run("doubled", name)
        found = np.load(FOLDER / name)
        fortran = values.flags.f_contiguous and not values.flags.c_contiguous
        axis = values.ndim - 1 if fortran else 0
        expected = np.concatenate([values, values], axis).astype(values.dtype)
        place = (slice(None),) * axis
        expected[place + (0,)] = values[place + (-1,)]
        assert found.dtype == values.dtype and found.shape == expected.shape
        assert found.flags.f_contiguous == expected.flags.f_contiguous or not fortran
        assert found.tobytes() == expected.tobytes(), f"{name}: {found} is not {expected}"

    def values(dtype, shape):
        count = int(np.prod(shape))
        size = np.dtype(dtype).itemsize
        numbers = rng.integers(0, 2 if dtype == "?" else 100, count * size, dtype="u1")
        return np.frombuffer(numbers.tobytes(), dtype).reshape(shape).copy()

    def edited():
        for number, dtype in enumerate(types):
            for order in "CF":
                one(f"{number}{order}.npy", np.array(values(dtype, (4, 3)), order=order))
            one(f"{number}-1d.npy", values(dtype, (5,)))
            one(f"{number}-3d.npy", np.asfortranarray(values(dtype, (2, 3, 4))))

    def versions():
        for version in [(1, 0), (2, 0), (3, 0)]:
            one(f"version{version[0]}.npy", values("<f8", (3, 2)), version)

    return {EDITED: edited, THEIRS: versions}


def every_format():
    """A file of each format with the numbers 0 to 11, where they are in it, and its name."""
    values = np.arange(12.0).reshape(4, 3)
    with h5py.File(FOLDER / "walk.h5", "w") as file:
        file["fields/u"] = values
        file["latest"] = h5py.SoftLink("/fields/u")
    asdf.AsdfFile({"fields": {"u": values}}).write_to(FOLDER / "walk.asdf")
    blosc2.asarray(values, urlpath=str(FOLDER / "walk.b2nd"), mode="w")
    with gsd.fl.open(FOLDER / "walk.gsd", "w", "a test", "walk", [1, 0]) as file:
        file.write_chunk("fields/u", values)
        file.end_frame()
    head = np.array([0x7961727261776172, 0, 3, 8, values.nbytes, 2, 3, 4], "<u8")
    (FOLDER / "walk.ra").write_bytes(head.tobytes() + values.tobytes())
    np.save(FOLDER / "walk.npy", values)
    paths = {"h5": "/fields/u", "asdf": "/fields/u", "gsd": "/frames/0/fields/u", "b2nd": "/", "ra": "/", "npy": "/"}
    return [(f"walk.{suffix}", path) for suffix, path in paths.items()]


def contents():
    """The walker finds the same array in the files of six programs."""

    def theirs():
        for name, path in every_format():
            arrays = [line for line in run("contents", name) if "float64 [4, 3]" in line]
            assert len(arrays) == 1 and path in arrays[0].split(), f"{name}: {arrays}"
        with h5py.File(FOLDER / "walk.h5") as file:
            kinds = {"/": "group"}
            file.visititems(lambda name, it: kinds.update({f"/{name}": "group" if isinstance(it, h5py.Group) else "float64 [4, 3]"}))
            kinds["/latest"] = f"leads to {file.get('latest', getlink=True).path}"
        assert dict(line.split(" ", 1) for line in run("contents", "walk.h5")) == kinds

    return {THEIRS: theirs}


def maximum():
    def theirs():
        for name, path in every_format():
            assert f"{path} 11" in run("maximum", name), f"{name}: {run('maximum', name)}"

    return {THEIRS: theirs}


def tokio_sums():
    def theirs():
        files = every_format()
        found = run("tokio_sums", *[name for name, _ in files])
        for name, path in files:
            assert f"{name} {path} 66" in found, f"{name}: {found}"

    return {THEIRS: theirs}


def server():
    """What a client gets is what h5py slices."""

    def theirs():
        values = rng.normal(size=(50, 20))
        with h5py.File(FOLDER / "served.h5", "w") as file:
            file.create_dataset("fields/u", data=values, chunks=(7, 7), compression="gzip")
        process = subprocess.Popen([PROGRAMS / "server", "served.h5", "127.0.0.1:0"], cwd=FOLDER, stdout=subprocess.PIPE, text=True)
        try:
            address = process.stdout.readline().strip()
            get = lambda target: json.load(urllib.request.urlopen(f"{address}{target}", timeout=60))
            assert get("/fields/u") == values.ravel().tolist()
            assert get("/fields/u?:10,-1") == values[:10, -1].tolist()
            assert get("/fields/u?5,::-3") == values[5, ::-3].tolist()
            for target, code in [("/fields/w", 404), ("/fields/u?50", 400)]:
                try:
                    get(target)
                    raise AssertionError(f"{target} is answered")
                except urllib.error.HTTPError as error:
                    assert error.code == code, f"{target}: {error.code}"
        finally:
            process.kill()
            process.wait()

    return {THEIRS: theirs}


CHECKS = {
    "climate": climate,
    "simulation": simulation,
    "particles": particles,
    "anndata": anndata_example,
    "server": server,
    "tokio_sums": tokio_sums,
    "roman": roman,
    "hoomd": hoomd,
    "heights": heights,
    "usage": usage,
    "doubled": doubled,
    "contents": contents,
    "maximum": maximum,
    "errors": errors,
}

if __name__ == "__main__":
    for name in PEERS:
        print(json.dumps({"peer": f"{name} {version(name)}"}))
    for name, sides in CHECKS.items():
        for way, work in sides().items():
            check(f"{name}: {work.__name__}", work, way)
