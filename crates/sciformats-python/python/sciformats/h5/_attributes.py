"""Attributes of objects, by name."""

from __future__ import annotations

import math
from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sciformats.h5 import _convert, _create, _encode, _names, _types

if TYPE_CHECKING:
    from sciformats.h5._objects import HLObject


class AttributeManager(MutableMapping[str, Any]):
    """The attributes of an object: ``attrs`` of files, groups, datasets and types."""

    def __init__(self, parent: HLObject) -> None:
        self._parent = parent

    @property
    def _id(self) -> Any:
        # The identifier of the object, for the low-level calls of programs.
        return self._parent.id

    def _all(self) -> dict[str, tuple[Any, ...]]:
        return self._parent._attributes()

    def __getitem__(self, name: Any) -> Any:
        name = _names.inner(name)
        parent = self._parent
        parent._file_of.check_open()
        found = parent._node.attribute_named(name) if isinstance(name, str) else None
        if found is None:
            raise KeyError(f"Unable to synchronously open attribute (can't locate attribute: '{name}')")
        return self._value(*found)

    def _values(self) -> dict[str, Any]:
        """Return all attributes, which are read together. A damaged one is its exception."""
        return {name: found[3] if found[0] is None else self._value(*found[:4]) for name, found in self._all().items()}

    def _value(self, described: Any, shape: list[int] | None, direct: bool, data: Any) -> Any:
        if shape is None:
            return _types.Empty(_types.dtype_of(described))
        dtype = _types.dtype_of(described)
        if direct and not shape and dtype.subdtype is None and dtype.itemsize:
            return data.view(dtype)[0]
        value = _types.shaped(data, described, tuple(shape), self._parent._file_of.address)
        string = _types.check_string_dtype(dtype)
        if string is not None and string.length is None:
            # As in h5py, texts of attributes are str, and texts of datasets are bytes.
            for index in np.ndindex(value.shape):
                text: Any = value[index]
                value[index] = text.decode("utf-8", "surrogateescape")
        if value.ndim == 0:
            return value[()]
        return value

    def __setitem__(self, name: str, value: Any) -> None:
        self.create(name, data=value)

    def __delitem__(self, name: str) -> None:
        if name in ("", b""):
            raise ValueError("No attribute name (no attribute name)")
        if name not in self:
            raise KeyError(f"Unable to synchronously delete attribute (can't locate attribute: '{name}')")
        self._parent._file_of.change("remove_attribute", self._parent._linked_path(), _name_of(name))

    def create(self, name: str, data: Any, shape: Any = None, dtype: Any = None) -> None:
        """Set an attribute, with a shape and a type if they are given."""
        committed = None
        if hasattr(dtype, "_node"):
            committed, dtype = _create.shared(dtype, self._parent), dtype.dtype
        if isinstance(data, _types.Empty):
            self._set(name, data.dtype if dtype is None else np.dtype(dtype), None, None, committed)
            return
        wanted = None if dtype is None else np.dtype(dtype)
        array = _encode.array_of(data, wanted)
        chosen = array.dtype if wanted is None else wanted
        own = array.shape
        if wanted is not None and wanted.subdtype is not None:
            own = own[: array.ndim - len(wanted.subdtype[1])]
        if shape is not None:
            shape = (shape,) if isinstance(shape, int) else tuple(shape)
            if int(np.prod(shape)) != int(np.prod(own)):
                raise ValueError("Shape of new attribute conflicts with shape of data")
            own = shape
        if chosen.kind == "U":
            raise TypeError(f"No conversion path for dtype: {chosen!r}")
        self._set(name, chosen, own, array, committed)

    def _set(self, name: Any, dtype: np.dtype[Any], shape: Any, array: Any, committed: str | None) -> None:
        if name in ("", b""):
            raise RuntimeError("Can't synchronously determine if attribute exists by name (no attribute name)")
        described = _encode.describe(dtype)
        items = b"" if shape is None else _encode.elements(array, described, self._parent)
        parent = self._parent
        extent = None if shape is None else list(shape)
        with parent._file_of._lock:
            parent._file_of.change("attribute", parent._place, _name_of(name), (described, extent, items, committed))

    def _described(self, name: str, described: Any, shape: Any, array: Any, committed: str | None = None) -> None:
        """Set an attribute of a described type, which may have properties that no type of NumPy has."""
        parent = self._parent
        items = b"" if shape is None else _encode.elements(array, described, parent)
        extent = None if shape is None else list(shape)
        with parent._file_of._lock:
            parent._file_of.change("attribute", parent._place, name, (described, extent, items, committed))

    def _set_terminated(self, name: str, text: bytes) -> None:
        """Set a single text that ends in a NUL, as the C library expects it of scales."""
        parent, content = self._parent, text + b"\0"
        with parent._file_of._lock:
            parent._file_of.change("attribute", parent._place, name, (("terminated", len(content), False), [], content, None))

    def modify(self, name: str, value: Any) -> None:
        """Change the value of an attribute, whose type and shape stay."""
        if name not in self:
            self[name] = value
            return
        old = self.get_id(name)
        array = _encode.array_of(value)
        if old.shape is None:
            raise OSError("an attribute with a null dataspace has no elements to modify")
        if (array.shape != old.shape and not (array.size == 1 and old.shape in ((), (1,)))):
            raise TypeError(f"Shape of data is incompatible with existing attribute: {array.shape} and {old.shape}")
        if old.dtype.kind in "iu" and array.dtype.kind in "iuf" and not isinstance(value, np.ndarray):
            array = _convert.exactly(value, old.dtype)
        array = _encode.as_type(array.reshape(old.shape), old.dtype)
        self._described(_name_of(name), old._described, old.shape, array, old._shared_type())

    def rename(self, name: Any, to: Any) -> None:
        """Rename an attribute.

        Raises
        ------
        RuntimeError
            If there is no such attribute, or another one has the new name.
        """
        name, to = _name_of(name), _name_of(to)
        refused = None
        if not name or not to:
            refused = f"{'new' if name else 'old'} attribute name cannot be an empty string"
        elif name not in self:
            refused = "can't locate attribute with old name"
        elif name != to and to in self:
            refused = "attribute with new name already exists"
        elif self._parent._file_of.editor is None:
            refused = "no write intent on file"
        if refused is not None:
            raise RuntimeError(f"Can't synchronously rename attribute ({refused})")
        if name != to:
            self._parent._file_of.change("rename_attribute", self._parent._linked_path(), name, to)

    def get_id(self, name: Any) -> AttrID:
        """Return the type and the shape of an attribute."""
        name = _names.inner(name)
        if name not in self:
            raise KeyError(f"Unable to synchronously open attribute (can't locate attribute: '{name}')")
        described, shape, *_ = self._all()[name]
        place = self._parent._node.attribute_committed(name)
        found = AttrID(name, described, None if shape is None else tuple(shape), place is not None, self)
        found._type_place = place
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter([_names.outer(name) for name in self._all()])

    def __reversed__(self) -> Iterator[Any]:
        return reversed(list(self))

    def __len__(self) -> int:
        return len(self._all())

    def __contains__(self, name: object) -> bool:
        name = _names.inner(name)
        self._parent._file_of.check_open()
        return isinstance(name, str) and bool(self._parent._node.has_attribute(name))

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def __repr__(self) -> str:
        if self._parent._file_of.is_closed:
            return "<Attributes of closed HDF5 object>"
        return f"<Attributes of HDF5 object at {id(self._parent)}>"


def _name_of(name: Any) -> str:
    name = _names.inner(name)
    if not isinstance(name, str):
        raise TypeError(f"an attribute is named by str or bytes, not {type(name)}")
    return name


class AttrID:
    """The type and shape of an attribute."""

    #: The path of its committed type, if it was created with one.
    _shared: str | None = None

    #: The address of its committed type, if it was found with one.
    _type_place: int | None = None

    def __init__(
        self, name: str, described: Any, shape: tuple[int, ...] | None, committed: bool, manager: AttributeManager
    ) -> None:
        dtype = _types.dtype_of(described)
        self._described = described
        self._committed = committed
        self._manager = manager
        self.name = _names.encoded(name)
        self.dtype = dtype
        self.shape = shape

    def _shared_type(self) -> str | None:
        """Return the path of its committed type; ``None`` if it has none, or one to which no link leads."""
        if self._type_place is None:
            return self._shared
        path: str | None = self._manager._parent._node.path_of(self._type_place)
        return path

    def get_name(self) -> bytes:
        """Return the name."""
        return self.name

    def get_storage_size(self) -> int:
        """Return the number of bytes of the elements."""
        return 0 if self.shape is None else self.get_type().get_size() * math.prod(self.shape)

    def close(self) -> None:
        """Do nothing: identifiers of attributes need not be closed."""

    def get_type(self) -> Any:
        """Return the type as it is stored."""
        from sciformats.h5 import h5t

        return h5t.of(self._described, self._committed)

    def get_space(self) -> Any:
        """Return the dataspace."""
        from sciformats.h5 import h5s

        if self.shape is None:
            return h5s.create(h5s.NULL)
        return h5s.create_simple(self.shape) if self.shape else h5s.create(h5s.SCALAR)

    def read(self, arr: NDArray[Any], mtype: Any = None) -> None:
        """Read the elements into an array, whose bytes become those of ``mtype``, by default of its type. Texts are bytes.

        Raises
        ------
        TypeError
            If the array has fewer elements than the attribute, is not contiguous, or cannot be written to.
        NotSupported
            If only one of ``mtype`` and the type of the array is that of objects.
        """
        if not (arr.flags.c_contiguous and arr.flags.writeable):
            raise TypeError("Array must be C-contiguous and writable")
        if self.shape is None:
            return
        found = np.empty((*self.shape, *self.dtype.shape), self.dtype.base)
        # Without dimensions, the element may be an array itself.
        found[... if found.shape else ()] = self._manager[self.name]
        # The array is contiguous, so that this is a view of it.
        flat, found = _convert.seen_as(arr, mtype).reshape(-1), found.reshape(-1)
        if flat.size < found.size:
            raise TypeError(f"an array of {flat.size} elements cannot receive the {found.size} of the attribute")
        if _types.check_string_dtype(self.dtype) is not None and flat.dtype.kind == "O":
            for index, item in enumerate(found):
                flat[index] = _names.encoded(item)
            return
        flat[: found.size] = _convert.read_as(found, flat.dtype)

    def write(self, arr: Any, mtype: Any = None) -> None:
        """Write the elements, whose number must be that of the attribute. Their bytes are those of ``mtype``, by default of their type.

        Raises
        ------
        NotSupported
            If only one of ``mtype`` and the type of the array is that of objects.
        """
        if self.shape is None:
            raise ValueError("an attribute with a null dataspace has no elements")
        array = np.asarray(arr)
        if mtype is not None:
            count = math.prod((*self.shape, *self.dtype.shape))
            array = _convert.seen_as(array, mtype).reshape(-1)[:count].reshape((*self.shape, *self.dtype.shape))
        if array.dtype != self.dtype:
            array = _encode.as_type(array, self.dtype)
        self._manager._described(_names.inner(self.name), self._described, self.shape, array.reshape((*self.shape, *self.dtype.shape)), self._shared_type())
