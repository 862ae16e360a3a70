"""Smaller conventions: files of the programs that have one, and of the layouts that their documents prescribe."""

import contextlib
import datetime
import io

import gsd.hoomd
import h5py
import numpy
import pandas

from conventions_peer import Expected
from conventions_tables import column


def scales(folder):
    """Dimension scales, labels and a picture with a palette, as h5py has them."""
    expected = Expected(folder, "HDF5 scales and pictures", "scales.h5", None)
    with h5py.File(expected.path, "w") as file:
        file["temperature"] = numpy.arange(6.0).reshape(2, 3)
        file["hour"], file["depth"] = [0.0, 12.0], [1.0, 2.0, 5.0]
        file["hour"].make_scale("time of day"), file["depth"].make_scale()
        file["temperature"].dims[0].attach_scale(file["hour"]), file["temperature"].dims[1].attach_scale(file["depth"])
        file["labelled"] = numpy.arange(4).reshape(2, 2)
        file["labelled"].dims[0].label = "row"
        file["picture"], file["colours"] = numpy.arange(12, dtype="u1").reshape(3, 4), numpy.zeros((256, 3), "u1")
        marks = {"CLASS": "IMAGE", "IMAGE_SUBCLASS": "IMAGE_INDEXED", "IMAGE_VERSION": "1.2"}
        for name, text in marks.items():
            file["picture"].attrs[name] = numpy.bytes_(text)
        file["picture"].attrs.create("PALETTE", [file["colours"].ref], dtype=h5py.ref_dtype)
    expected.object("/temperature", numpy.arange(6.0).reshape(2, 3), dims=["hour", "depth"])
    expected.object("/labelled", numpy.arange(4).reshape(2, 2), dims=["row", None])
    expected.object("/picture", numpy.arange(12, dtype="u1").reshape(3, 4), dims=["height", "width"])
    expected.done()


def hoomd(folder):
    """A trajectory of gsd.hoomd."""
    expected = Expected(folder, "HOOMD", "run.gsd", None)
    frame = gsd.hoomd.Frame()
    frame.particles.N, frame.particles.types, frame.particles.typeid = 3, ["A", "water"], [0, 1, 0]
    frame.particles.position = numpy.arange(9, dtype="f4").reshape(3, 3)
    with gsd.hoomd.open(expected.path, "w") as file:
        file.append(frame)
    with gsd.hoomd.open(expected.path, "r") as file:
        read = file[0]
        expected.told["identity"] = "HOOMD " + ".".join(map(str, file.file.schema_version))
    expected.object("/frames/0/particles/position", read.particles.position, dims=["particle", "component"])
    expected.object("/frames/0/particles/types", read.particles.types, shape=[2])
    expected.done()


def h5md(folder):
    """The layout of the standard."""
    expected = Expected(folder, "H5MD", "run.h5", "H5MD 1.1")
    values = numpy.arange(24.0).reshape(2, 4, 3)
    with h5py.File(expected.path, "w") as file:
        group = file.create_group("h5md")
        group.attrs["version"] = [1, 1]
        group.create_group("creator").attrs.update({"name": "a test", "version": "2"})
        position = file.create_group("particles/all/position")
        position["value"], position["step"], position["time"] = values, [0, 10], [0.0, 0.5]
        position["value"].attrs["unit"] = "nm"
    expected.object("/particles/all/position", values, dims=["time", "particle", "component"], units="nm")
    expected.told["highlights"] = ["/particles/all/position"]
    expected.done()


def openpmd(folder):
    """As openPMD-api writes it."""
    import openpmd_api

    expected = Expected(folder, "openPMD", "fields.h5", "openPMD 1.1.0")
    values = numpy.arange(12.0).reshape(3, 4)
    series = openpmd_api.Series(expected.path, openpmd_api.Access.create)
    series.set_openPMD("1.1.0")
    step = series.iterations[5]
    field = step.meshes["E"]
    field.axis_labels, field.unit_dimension = ["y", "x"], {openpmd_api.Unit_Dimension.L: 1, openpmd_api.Unit_Dimension.I: -1}
    component = field["x"]
    component.reset_dataset(openpmd_api.Dataset(values.dtype, values.shape))
    component[:, :] = values
    series.flush()
    series.close()
    read = openpmd_api.Series(expected.path, openpmd_api.Access.read_only)
    found = read.iterations[5].meshes["E"]["x"][:, :]
    read.flush()
    expected.object("/data/5/fields/E/x" if "/data/5/fields" in paths(expected.path) else "/data/5/meshes/E/x", found, dims=["y", "x"], units="m A^-1")
    expected.done()


def paths(path):
    """The paths of all objects."""
    found = []
    with h5py.File(path) as file:
        file.visit(lambda name: found.append("/" + name))
    return found


def ligo(folder):
    """The layout of the Gravitational Wave Open Science Center."""
    expected = Expected(folder, "GWOSC", "strain.hdf5", "GWOSC strain")
    with h5py.File(expected.path, "w") as file:
        file["strain/Strain"] = numpy.arange(16) * 1e-21
        marks = {"Npoints": 16, "Xlabel": "GPS time", "Xspacing": 1 / 4096, "Xstart": 1126259446, "Xunits": "second", "Ylabel": "Strain", "Yunits": ""}
        file["strain/Strain"].attrs.update(marks)
        file["quality/simple/DQmask"] = numpy.array([127], "u4")
    expected.object("/strain/Strain", numpy.arange(16) * 1e-21, dims=["GPS time"], long_name="Strain")
    expected.told["highlights"] = ["/strain/Strain", "/quality/simple/DQmask"]
    expected.done()


def fast5(folder):
    """Many reads in a file, with the calibration that ont_fast5_api applies."""
    expected = Expected(folder, "Fast5", "reads.fast5", "Fast5 2.2")
    raw = numpy.arange(400, 420, dtype="i2")
    with h5py.File(expected.path, "w") as file:
        file.attrs["file_version"] = "2.2"
        read = file.create_group("read_0001")
        read["Raw/Signal"] = raw
        channel = read.create_group("channel_id")
        channel.attrs.update({"digitisation": 8192.0, "offset": 6.0, "range": 1024.0, "sampling_rate": 4000.0})
    # Powers of two, so that the order of the operations does not count.
    expected.object("/read_0001/Raw/Signal", (raw + 6.0) * (1024.0 / 8192.0), dims=["time"], units="pA")
    expected.told["highlights"] = ["/read_0001/Raw/Signal"]
    expected.done()


def nwb(folder):
    """As pynwb writes it."""
    import pynwb

    expected = Expected(folder, "NWB", "session.nwb", None)
    moment = datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)
    file = pynwb.NWBFile("a session", "one", moment)
    file.add_acquisition(pynwb.TimeSeries("voltage", data=numpy.arange(5, dtype="i2"), unit="V", conversion=0.5, offset=0.25, rate=10.0, description="of a cell"))
    file.add_acquisition(pynwb.TimeSeries("plain", data=numpy.arange(3.0), unit="m", timestamps=[0.0, 0.5, 2.0]))
    file.add_trial_column("side", "left or right")
    for start in range(3):
        file.add_trial(start_time=float(start), stop_time=start + 0.5, side="left" if start else "right")
    with pynwb.NWBHDF5IO(expected.path, "w") as output:
        output.write(file)
    with pynwb.NWBHDF5IO(expected.path, "r") as source:
        read = source.read()
        voltage = read.acquisition["voltage"]
        expected.object("/acquisition/voltage", voltage.get_data_in_units().astype("f8"), dims=["time"], units="V")
        expected.object("/acquisition/plain/data", read.acquisition["plain"].data[:], dims=["time"], units="m")
        trials = read.trials.to_dataframe()
        expected.table("/intervals/trials", trials, {str(name): column(trials[name]) for name in trials.columns} | {"id": trials.index.to_numpy()})
    with h5py.File(expected.path) as source:
        version = source.attrs["nwb_version"]
    expected.told["identity"] = f"NWB {version}"
    expected.done()


def bigdataviewer(folder):
    """As npy2bdv writes it."""
    import npy2bdv

    expected = Expected(folder, "BigDataViewer", "stack.h5", "BigDataViewer")
    values = numpy.arange(4 * 5 * 6, dtype="u2").reshape(4, 5, 6) + 40000
    with contextlib.redirect_stdout(io.StringIO()):
        writer = npy2bdv.BdvWriter(expected.path, overwrite=True)
        writer.append_view(values)
        writer.write_xml()
        writer.close()
    expected.object("/t00000/s00/0/cells", values, dims=["z", "y", "x"])
    expected.told["highlights"] = ["/t00000/s00/0/cells"]
    expected.done()


def imaris(folder):
    """The layout of its specification: attributes are lists of characters."""
    expected = Expected(folder, "Imaris", "stack.ims", "Imaris 5.5")
    values = numpy.arange(24, dtype="u1").reshape(2, 3, 4)
    with h5py.File(expected.path, "w") as file:
        for name, text in {"ImarisDataSet": "ImarisDataSet", "ImarisVersion": "5.5", "DataSetDirectoryName": "DataSet"}.items():
            file.attrs[name] = numpy.array([character.encode() for character in text], "S1")
        file["DataSet/ResolutionLevel 0/TimePoint 0/Channel 0/Data"] = values
    path = "/DataSet/ResolutionLevel 0/TimePoint 0/Channel 0/Data"
    expected.object(path, values, dims=["z", "y", "x"])
    expected.told["highlights"] = [path]
    expected.done()


def emd(folder):
    """The layout of the Berkeley laboratory, and that of emdfile."""
    import emdfile

    expected = Expected(folder, "EMD", "berkeley.emd", "EMD 0.2")
    values = numpy.arange(6.0).reshape(2, 3)
    with h5py.File(expected.path, "w") as file:
        file.attrs["version_major"], file.attrs["version_minor"] = 0, 2
        group = file.create_group("data/image")
        group.attrs["emd_group_type"] = 1
        group["data"], group["dim1"], group["dim2"] = values, [0.0, 1.0], [0.0, 0.5, 1.0]
        group["dim1"].attrs["name"], group["dim2"].attrs["name"] = "y", "x"
    expected.object("/data/image", values, dims=["y", "x"])
    expected.done()
    expected = Expected(folder, "EMD", "emdfile.h5", None)
    with contextlib.redirect_stdout(io.StringIO()):
        array = emdfile.Array(values, name="image", units="counts", dims=[2.0, 3.0], dim_names=["y", "x"], dim_units=["nm", "nm"])
        emdfile.save(expected.path, array, mode="o")
    found = [path.removesuffix("/data") for path in paths(expected.path) if path.endswith("image/data")]
    with h5py.File(expected.path) as file:
        version = f"EMD {file.attrs['version_major']}.{file.attrs['version_minor']}"
    expected.told["identity"] = version
    expected.object(found[0], values, dims=["y", "x"], units="counts")
    expected.done()


def dream3d(folder):
    """The layout of DREAM.3D 6."""
    expected = Expected(folder, "DREAM.3D", "grains.dream3d", "DREAM.3D 7.0")
    values = numpy.arange(24, dtype="i4").reshape(2, 3, 4, 1)
    with h5py.File(expected.path, "w") as file:
        file.attrs["FileVersion"], file.attrs["DREAM3D Version"] = numpy.bytes_("7.0"), numpy.bytes_("6.5.138")
        file["DataContainers/Volume/CellData/FeatureIds"] = values
        file["DataContainers/Volume/CellData/FeatureIds"].attrs["TupleDimensions"] = numpy.array([4, 3, 2], "u8")
    expected.object("/DataContainers/Volume/CellData/FeatureIds", values, dims=["z", "y", "x", "component"])
    expected.told["highlights"] = ["/DataContainers/Volume"]
    expected.done()


def cgns(folder):
    """The layout of the file mapping: arrays called ` data`, columns first."""
    expected = Expected(folder, "CGNS", "wing.cgns", "CGNS 4.20")
    values = numpy.arange(6.0).reshape(2, 3)
    with h5py.File(expected.path, "w") as file:
        def node(path, label, data):
            group = file.require_group(path)
            group.attrs["label"], group.attrs["type"] = numpy.bytes_(label), numpy.bytes_("R8")
            if data is not None:
                group[" data"] = data
        node("CGNSLibraryVersion", "CGNSLibraryVersion_t", numpy.array([4.2], "f4"))
        node("Base", "CGNSBase_t", numpy.array([3, 3], "i4"))
        node("Base/Zone", "Zone_t", None)
        node("Base/Zone/GridCoordinates", "GridCoordinates_t", None)
        node("Base/Zone/GridCoordinates/CoordinateX", "DataArray_t", values)
    expected.object("/Base/Zone/GridCoordinates/CoordinateX", values.T)
    expected.told["highlights"] = ["/Base/Zone/GridCoordinates/CoordinateX"]
    expected.done()


def keras(folder):
    """The layouts of Keras 2 and 3; Keras itself needs a backend of gigabytes."""
    kernel, bias = numpy.arange(6, dtype="f4").reshape(3, 2), numpy.zeros(2, "f4")
    expected = Expected(folder, "Keras", "model.h5", "Keras 2.15.0")
    with h5py.File(expected.path, "w") as file:
        file.attrs["keras_version"], file.attrs["backend"] = "2.15.0", "tensorflow"
        weights = file.create_group("model_weights")
        weights.attrs["layer_names"] = numpy.array([b"first"])
        layer = weights.create_group("first")
        layer.attrs["weight_names"] = numpy.array([b"first/kernel:0", b"first/bias:0"])
        layer["first/kernel:0"], layer["first/bias:0"] = kernel, bias
    expected.object("/model_weights/first/first/kernel:0", kernel)
    expected.told["highlights"] = ["/model_weights/first/first/bias:0", "/model_weights/first/first/kernel:0"]
    expected.done()
    expected = Expected(folder, "Keras", "model.weights.h5", "Keras")
    with h5py.File(expected.path, "w") as file:
        file["layers/first/vars/0"], file["layers/first/vars/1"] = kernel, bias
        file.create_group("optimizer/vars")
    expected.object("/layers/first/vars/0", kernel)
    expected.told["highlights"] = ["/layers/first/vars/0", "/layers/first/vars/1"]
    expected.done()


def asdf(folder):
    """Quantities and tables of astropy."""
    import asdf as program
    import astropy.table
    import astropy.units

    expected = Expected(folder, "ASDF", "astropy.asdf", None)
    quantity = numpy.arange(6.0).reshape(2, 3) * astropy.units.Jy
    table = astropy.table.QTable({"flux": numpy.arange(3.0) * astropy.units.mJy, "count": numpy.arange(3)})
    program.AsdfFile({"flux": quantity, "stars": table}).write_to(expected.path)
    with program.open(expected.path) as file:
        standard = str(file.version_string)
        expected.object("/flux", file["flux"].value, units="Jy")
        frame = pandas.DataFrame({"flux": file["stars"]["flux"].value, "count": file["stars"]["count"]})
    expected.table("/stars", frame, {name: frame[name].to_numpy() for name in frame.columns})
    expected.told["identity"] = f"ASDF {standard}"
    expected.told["highlights"] = ["/flux", "/stars"]
    expected.done()


def write(folder):
    """All of them."""
    for make in [scales, hoomd, h5md, openpmd, ligo, fast5, nwb, bigdataviewer, imaris, emd, dream3d, cgns, keras, asdf]:
        make(folder)
