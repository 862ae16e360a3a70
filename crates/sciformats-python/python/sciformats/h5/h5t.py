"""The low-level datatypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from sciformats.h5 import _encode, _names, _types
from sciformats.h5._types import (
    check_dtype,
    check_enum_dtype,
    check_opaque_dtype,
    check_ref_dtype,
    check_string_dtype,
    check_vlen_dtype,
    enum_dtype,
    opaque_dtype,
    ref_dtype,
    regionref_dtype,
    special_dtype,
    string_dtype,
    string_info,
    vlen_dtype,
)

__all__ = [
    "CSET_ASCII",
    "CSET_UTF8",
    "C_S1",
    "STR_NULLPAD",
    "STR_NULLTERM",
    "STR_SPACEPAD",
    "TypeArrayID",
    "TypeBitfieldID",
    "TypeComplexID",
    "TypeCompoundID",
    "TypeEnumID",
    "TypeFloatID",
    "TypeID",
    "TypeIntegerID",
    "TypeOpaqueID",
    "TypeReferenceID",
    "TypeStringID",
    "TypeTimeID",
    "TypeVlenID",
    "check_dtype",
    "check_enum_dtype",
    "check_opaque_dtype",
    "check_ref_dtype",
    "check_string_dtype",
    "check_vlen_dtype",
    "enum_create",
    "enum_dtype",
    "opaque_dtype",
    "py_create",
    "ref_dtype",
    "regionref_dtype",
    "special_dtype",
    "string_dtype",
    "string_info",
    "vlen_dtype",
]

CSET_ASCII = 0
CSET_UTF8 = 1
STR_NULLTERM, STR_NULLPAD, STR_SPACEPAD = range(3)
INTEGER, FLOAT, TIME, STRING, BITFIELD, OPAQUE, COMPOUND, REFERENCE, ENUM, VLEN, ARRAY, COMPLEX = range(12)

_CLASSES = {
    "int": INTEGER,
    "float": FLOAT,
    "time": TIME,
    "string": STRING,
    "terminated": STRING,
    "spaced": STRING,
    "text": STRING,
    "bits": BITFIELD,
    "opaque": OPAQUE,
    "compound": COMPOUND,
    "reference": REFERENCE,
    "enum": ENUM,
    "vlen": VLEN,
    "array": ARRAY,
    "complex": COMPLEX,
}

_PADDINGS = {"terminated": STR_NULLTERM, "string": STR_NULLPAD, "spaced": STR_SPACEPAD}


class TypeID:
    """A datatype, as it is stored."""

    def __init__(self, described: _types.Described, committed: bool = False) -> None:
        self.described: Any = described
        self._committed = committed

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type."""
        return _types.dtype_of(self.described)

    def py_dtype(self) -> np.dtype[Any]:
        """Return NumPy's type."""
        return self.dtype

    def get_class(self) -> int:
        """Return the class, such as ``INTEGER``."""
        return _CLASSES[self.described[0]]

    def get_size(self) -> int:
        """Return the number of bytes of an element."""
        word, *rest = self.described
        if word in ("text", "vlen"):
            return 16
        if word == "reference":
            return 12 if rest[0] == "region" else 8
        if word in ("int", "float", "string", "terminated", "spaced", "opaque", "bits", "compound", "time"):
            return int(rest[0])
        return self.dtype.itemsize

    def set_size(self, size: int) -> None:
        """Set the length of strings."""
        if self.described[0] not in _PADDINGS:
            raise TypeError("only the size of strings can be set")
        self.described = (self.described[0], size, self.described[2])

    def get_strpad(self) -> int:
        """Return how strings of fixed length end."""
        return _PADDINGS.get(self.described[0], STR_NULLPAD)

    def set_strpad(self, pad: int) -> None:
        """Set how strings of fixed length end: in a NUL that is part of them, or filled with NULs or spaces."""
        words = {number: word for word, number in _PADDINGS.items()}
        if pad not in words:
            raise ValueError("strings end in a NUL, or are filled with NULs or spaces")
        if self.described[0] in _PADDINGS:
            self.described = (words[pad], *self.described[1:])

    def commit(self, loc: Any, name: bytes, lcpl: Any = None, tcpl: Any = None) -> None:
        """Make the type an object of a file.

        Raises
        ------
        KeyError
            If the name exists already.
        """
        group = loc._object
        if name in group:
            raise KeyError("Unable to commit datatype synchronously (name already exists)")
        group._file_of.change("datatype", group._target(name, "datatype"), self.described)
        self._committed = True

    def close(self) -> None:
        """Do nothing: types need not be closed."""

    def is_variable_str(self) -> bool:
        """Return whether the elements are strings of any length."""
        return bool(self.described[0] == "text")

    def get_cset(self) -> int:
        """Return the encoding of strings."""
        if self.described[0] not in (*_PADDINGS, "text"):
            raise TypeError("the type is no string")
        return CSET_UTF8 if self.described[-1] else CSET_ASCII

    def set_cset(self, cset: int) -> None:
        """Set the encoding of strings."""
        self.described = (*self.described[:-1], cset == CSET_UTF8)

    def get_tag(self) -> bytes:
        """Return the description of opaque bytes."""
        tag: str = self.described[2]
        return _names.encoded(tag)

    def committed(self) -> bool:
        """Return whether it is an object of the file."""
        return self._committed

    def copy(self) -> TypeID:
        """Return a copy, which can be changed."""
        return type(self)(self.described)

    def equal(self, other: TypeID) -> bool:
        """Return whether the types are the same."""
        return bool(self.described == other.described)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeID) and self.equal(other)

    def __hash__(self) -> int:
        return hash(repr(self.described))


class TypeIntegerID(TypeID):
    """Integers."""


class TypeFloatID(TypeID):
    """Floating-point numbers."""


class TypeTimeID(TypeID):
    """Times."""


class TypeStringID(TypeID):
    """Strings."""


class TypeBitfieldID(TypeID):
    """Bit fields."""


class TypeOpaqueID(TypeID):
    """Opaque bytes."""


class TypeReferenceID(TypeID):
    """References."""


class TypeEnumID(TypeID):
    """Integers with names."""

    def enum_insert(self, name: bytes, value: int) -> None:
        """Add a name."""
        word, base, members = self.described
        self.described = (word, base, [*members, (_names.inner(name), int(value))])

    def get_nmembers(self) -> int:
        """Return the number of names."""
        return len(self.described[2])

    def get_member_name(self, index: int) -> bytes:
        """Return a name."""
        name: str = self.described[2][index][0]
        return _names.encoded(name)

    def get_member_value(self, index: int) -> int:
        """Return the value of a name."""
        return int(self.described[2][index][1])

    def get_super(self) -> TypeID:
        """Return the type of the integers."""
        return of(self.described[1])


class TypeVlenID(TypeID):
    """Sequences of any length."""


class TypeArrayID(TypeID):
    """Arrays of fixed shape."""


class TypeComplexID(TypeID):
    """Complex numbers."""


class TypeCompoundID(TypeID):
    """Compounds."""

    def get_nmembers(self) -> int:
        """Return the number of members."""
        return len(self.described[2])

    def get_member_name(self, index: int) -> bytes:
        """Return the name of a member."""
        name: str = self.described[2][index][0]
        return _names.encoded(name)

    def get_member_offset(self, index: int) -> int:
        """Return where a member begins in an element."""
        return int(self.described[2][index][1])

    def get_member_type(self, index: int) -> TypeID:
        """Return the type of a member."""
        return of(self.described[2][index][2])


def of(described: _types.Described, committed: bool = False) -> TypeID:
    """Return the type for a description."""
    kinds: dict[str, type[TypeID]] = {
        "int": TypeIntegerID,
        "float": TypeFloatID,
        "time": TypeTimeID,
        "string": TypeStringID,
        "terminated": TypeStringID,
        "spaced": TypeStringID,
        "text": TypeStringID,
        "bits": TypeBitfieldID,
        "opaque": TypeOpaqueID,
        "compound": TypeCompoundID,
        "reference": TypeReferenceID,
        "enum": TypeEnumID,
        "vlen": TypeVlenID,
        "array": TypeArrayID,
        "complex": TypeComplexID,
    }
    return kinds.get(described[0], TypeID)(described, committed)


def py_create(dt: Any, logical: bool = False, aligned: bool = False) -> TypeID:
    """Return the type for a NumPy type; ``logical`` asks for the layout in the file.

    Raises
    ------
    TypeError
        If HDF5 has no such type.
    """
    if logical and np.dtype(dt).isalignedstruct and np.dtype(dt).hasobject:
        raise TypeError("a compound with objects has other offsets in the file than in memory")
    return of(_encode.describe(np.dtype(dt)))


def enum_create(base: TypeID) -> TypeEnumID:
    """Return a type of integers without names, to which names can be added."""
    return TypeEnumID(("enum", base.described, []))


C_S1 = TypeStringID(("string", 1, False))
for _bits in (8, 16, 32, 64):
    for _letter, _signed in (("I", True), ("U", False)):
        for _end, _order in (("LE", "<"), ("BE", ">")):
            globals()[f"STD_{_letter}{_bits}{_end}"] = TypeIntegerID(("int", _bits // 8, _signed, _order))
    for _end, _order in (("LE", "<"), ("BE", ">")):
        globals()[f"STD_B{_bits}{_end}"] = TypeBitfieldID(("bits", _bits // 8, _order))
for _bits in (16, 32, 64):
    for _end, _order in (("LE", "<"), ("BE", ">")):
        globals()[f"IEEE_F{_bits}{_end}"] = TypeFloatID(("float", _bits // 8, _order))
