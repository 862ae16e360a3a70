"""The public names of h5py's private module ``_hl.dataset``."""

from sciformats.h5._dataset import Dataset
from sciformats.h5._views import AsStrView, AstypeView as AsTypeView, FieldsView

__all__ = ["AsStrView", "AsTypeView", "Dataset", "FieldsView"]
