"""The versions that programs ask for: those of h5py and of the C library whose behaviour this package has."""

#: The version of h5py.
version = "3.16.0"
#: The parts of its version.
version_tuple = (3, 16, 0, None, None, None)
#: The version of the C library. It is not used; files are written in the same formats.
hdf5_version = "2.0.0"
#: The parts of its version.
hdf5_version_tuple = (2, 0, 0)
#: What :data:`info` is printed for.
info = f"the interface of h5py {version}, by the package sciformats"
