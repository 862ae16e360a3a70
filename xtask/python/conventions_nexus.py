"""NeXus: files of nexusformat, and the older forms of NXdata."""

import h5py
import numpy
from nexusformat.nexus import NXdata, NXentry, NXfield, NXroot, nxload

from conventions_peer import Expected


def now(folder):
    """As nexusformat writes it."""
    expected = Expected(folder, "NeXus", "scan.nxs", "NeXus")
    x = NXfield(numpy.linspace(0, 1, 4), name="x", units="mm")
    y = NXfield(numpy.arange(3.0), name="angle", units="degree")
    counts = NXfield(numpy.arange(12, dtype="i4").reshape(3, 4), name="counts", units="1", long_name="counts of the detector")
    root = NXroot(NXentry(NXdata(counts, (y, x), errors=NXfield(numpy.sqrt(numpy.arange(12.0)).reshape(3, 4), name="counts_errors"))))
    root["entry/title"] = "a scan"
    root.entry.data.set_default()
    root.save(expected.path, "w")
    read = nxload(expected.path).get_default()
    told = {"dims": ["angle", "x"], "units": "1", "long_name": "counts of the detector"}
    for path in ["/", "/entry", "/entry/data", "/entry/data/counts"]:
        expected.object(path, read.nxsignal.nxvalue, **told)
    expected.object("/entry/data/angle", read.nxaxes[0].nxvalue, units="degree")
    expected.told["highlights"] = ["/entry/data", "/entry/data/counts", "/entry/data/angle", "/entry/data/x"]
    with h5py.File(expected.path) as file:
        version = file.attrs.get("NeXus_version")
    expected.told["identity"] = f"NeXus {version}" if version else "NeXus"
    expected.done()


def before(folder):
    """With the signal and the axes marked on the fields."""
    for name, mark in [("named", "axes"), ("numbered", "axis")]:
        expected = Expected(folder, "NeXus", f"old_{name}.nxs", "NeXus 4.3.0")
        with h5py.File(expected.path, "w") as file:
            file.attrs["NeXus_version"], file.attrs["creator"] = "4.3.0", "a test"
            entry = file.create_group("run")
            entry.attrs["NX_class"] = numpy.bytes_("NXentry")
            data = entry.create_group("bank")
            data.attrs["NX_class"] = numpy.bytes_("NXdata")
            data["counts"] = numpy.arange(6).reshape(2, 3)
            data["counts"].attrs["signal"] = 1 if mark == "axis" else "1"
            data["time"], data["place"] = numpy.arange(2.0), numpy.arange(3.0)
            if mark == "axes":
                data["counts"].attrs["axes"] = "time:place"
            else:
                data["time"].attrs["axis"], data["place"].attrs["axis"] = 1, 2
        read = nxload(expected.path)["run/bank"]
        expected.object("/run/bank", read.nxsignal.nxvalue, dims=["time", "place"])
        expected.done()


def write(folder):
    """All of them."""
    now(folder)
    before(folder)


def written(path):
    """What our writer made, in nexusformat."""
    root = nxload(path)
    assert root["entry"].nxclass == "NXentry" and root["entry/data"].nxclass == "NXdata"
    read = root.get_default()
    assert read.nxname == "data" and read.nxsignal.nxname == "counts" and str(read["title"]) == "größer"
    counts = numpy.arange(12, dtype="i4").reshape(2, 3, 2)
    assert (read.nxsignal.nxvalue == counts).all() and read.nxsignal.nxvalue.dtype == "i4"
    assert read.nxsignal.attrs["long_name"] == "counts of the detector"
    assert (read.nxerrors.nxvalue == numpy.sqrt(counts)).all()
    assert list(read.attrs["axes"]) == ["angle", "energy", "."]
    assert read["angle"].nxvalue.tolist() == [10, 20] and read["angle"].attrs["units"] == "degree"
    assert read["energy"].nxvalue.tolist() == [1, 2, 4, 8] and read.attrs["energy_indices"] == 1
    total = root["entry/sum"]
    assert total.nxsignal.nxvalue.tolist() == [15, 51] and [axis.nxname for axis in total.nxaxes] == ["angle"]


def check(folder):
    """Ours, as nexusformat reads it."""
    import checks

    checks.check("written: NXdata of NeXus", lambda: written(folder / "written.nxs"))
