"""The public names of h5py's private module ``_hl.dataset``."""

from sciformats.h5._dataset import AsStrView, AstypeView as AsTypeView, Dataset, FieldsView

__all__ = ["AsStrView", "AsTypeView", "Dataset", "FieldsView"]
