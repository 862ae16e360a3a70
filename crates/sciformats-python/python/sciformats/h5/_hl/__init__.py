"""Modules of h5py that are private, and whose public names programs use nevertheless."""

from sciformats.h5._hl import attrs, base, dataset, datatype, files, group, vds

__all__ = ["attrs", "base", "dataset", "datatype", "files", "group", "vds"]
