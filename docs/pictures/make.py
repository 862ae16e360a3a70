"""Draws the pictures of the README with the program: make.py PROGRAM

The data are made here: a field on the globe, a year of two stations, a walk in space, a distribution, and a photo.
"""

import pathlib
import subprocess
import sys
import tempfile

import h5py
import netCDF4
import numpy

PROGRAM, HERE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(__file__).parent
RANDOM = numpy.random.default_rng(7)


def climate(path):
    """Packed temperatures on a map, with land where nothing was measured, and a year at two places."""
    lat, lon = numpy.linspace(-88, 88, 89), numpy.linspace(0, 357, 120)
    x, y = numpy.meshgrid(numpy.radians(lon), numpy.radians(lat))
    field = 273.15 + 30 * numpy.cos(y) ** 2 - 5 + 3 * numpy.sin(3 * x) * numpy.cos(2 * y) + 2 * numpy.cos(5 * x + 3 * y)
    land = numpy.sin(2 * x + 1) * numpy.cos(1.5 * y) + 0.4 * numpy.sin(5 * x - 2 * y) > 0.85
    days = numpy.arange(365)
    with netCDF4.Dataset(path, "w") as file:
        file.Conventions = "CF-1.11"
        for name, values, units in [("time", days, "days since 2001-01-01"), ("lat", lat, "degrees_north"), ("lon", lon, "degrees_east")]:
            file.createDimension(name, len(values))
            axis = file.createVariable(name, "f8", (name,))
            axis.units, axis[:] = units, values
        sst = file.createVariable("sst", "i2", ("lat", "lon"), fill_value=-32767, zlib=True)
        sst.scale_factor, sst.add_offset, sst.units, sst.long_name = 0.01, 273.15, "K", "sea surface temperature"
        sst[:] = numpy.ma.masked_array(field, land)
        for name, mean, range_ in [("valley", 9, 12), ("summit", -2, 8)]:
            station = file.createVariable(name, "f4", ("time",))
            station.units, station.long_name = "degC", "air temperature"
            station[:] = mean - range_ * numpy.cos(2 * numpy.pi * (days - 20) / 365) + RANDOM.normal(0, 2.2, 365)


def others(path):
    """A walk in space, the sizes of grains, and a photo in red, green and blue."""
    with h5py.File(path, "w") as file:
        walk = numpy.cumsum(RANDOM.normal(0, 1, (1500, 3)), 0).astype("f4")
        file["walk"] = walk
        file["walk"].attrs["units"] = "nm"
        grains = numpy.concatenate([RANDOM.normal(3, 0.5, 6000), RANDOM.normal(5.2, 0.8, 4000)])
        file["grains"] = grains.astype("f4")
        file["grains"].attrs.update({"units": "mm", "long_name": "diameter"})
        y, x = numpy.mgrid[0:180, 0:270]
        far = numpy.hypot(x - 90, y - 90) / 90
        glow = numpy.exp(-(far**2) * 2)
        photo = numpy.stack([255 * glow + 40 * (y / 180), 160 * glow + 60 * (y / 180), 90 * glow + 140 * (1 - y / 180)], 2)
        picture = file.create_dataset("photo", data=photo.clip(0, 255).astype("u1"))
        for name, value in [("CLASS", "IMAGE"), ("IMAGE_SUBCLASS", "IMAGE_TRUECOLOR"), ("INTERLACE_MODE", "INTERLACE_PIXEL")]:
            picture.attrs[name] = numpy.bytes_(value)


def main():
    """Writes the data and draws them."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        climate(folder / "climate.nc")
        others(folder / "others.h5")
        for name, arguments in [
            ("map", ["climate.nc", "/sst"]),
            ("lines", ["climate.nc", "/valley", "/summit"]),
            ("points", ["others.h5", "/walk"]),
            ("histogram", ["others.h5", "/grains", "-k", "histogram"]),
            ("photo", ["others.h5", "/photo"]),
        ]:
            output = HERE.resolve() / f"{name}.png"
            subprocess.run([PROGRAM, "plot", *arguments, "-o", output, "--size", "800x560", "--force"], cwd=folder, check=True)


main()
