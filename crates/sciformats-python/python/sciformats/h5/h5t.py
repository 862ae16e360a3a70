"""The low-level datatypes."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from sciformats.errors import NotSupported
from sciformats.h5 import _encode, _types
from sciformats.h5 import _names
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
#: The size of strings of any length.
VARIABLE = (1 << 64) - 1
NO_CLASS = -1
ORDER_LE, ORDER_BE, ORDER_VAX, ORDER_MIXED, ORDER_NONE = range(5)
ORDER_NATIVE = ORDER_LE if sys.byteorder == "little" else ORDER_BE
SGN_NONE, SGN_2 = range(2)
PAD_ZERO, PAD_ONE, PAD_BACKGROUND = range(3)
NORM_IMPLIED, NORM_MSBSET, NORM_NONE = range(3)
BKG_NO, BKG_TEMP, BKG_YES = range(3)
DIR_DEFAULT, DIR_ASCEND, DIR_DESCEND = range(3)
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

    #: The object of the file, if it was found as one.
    _named: Any = None

    def __init__(self, described: _types.Described, committed: bool = False) -> None:
        self.described: Any = described
        self._committed = committed

    @property
    def _object(self) -> Any:
        if self._named is None:
            raise TypeError("the type is no object of a file")
        return self._named

    @property
    def name(self) -> bytes | None:
        """The path of a type that is an object of a file."""
        path = None if self._named is None else self._named.name
        return None if path is None else _names.encoded(path)

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
            # The sizes in memory, as the C library has them.
            return 8 if word == "text" else 16
        if word == "reference":
            return 12 if rest[0] == "region" else 8
        if word in ("int", "float", "string", "terminated", "spaced", "opaque", "bits", "compound", "time"):
            return int(rest[0])
        return self.dtype.itemsize

    def set_size(self, size: int) -> None:
        """Set the length of strings, which can be ``VARIABLE``."""
        if self.described[0] not in (*_PADDINGS, "text"):
            raise TypeError("only the size of strings can be set")
        if size == VARIABLE:
            self.described = ("text", self.described[-1])
            return
        if self.described[0] == "text":
            raise TypeError("strings of any length have no size")
        self.described = (self.described[0], size, self.described[2])

    def get_strpad(self) -> int:
        """Return how strings end. Those of any length end in a NUL."""
        return _PADDINGS.get(self.described[0], STR_NULLTERM)

    def set_strpad(self, pad: int) -> None:
        """Set how strings of fixed length end: in a NUL that is part of them, or filled with NULs or spaces.

        Raises
        ------
        NotSupported
            If strings of any length shall end otherwise than in a NUL.
        """
        words = {number: word for word, number in _PADDINGS.items()}
        if pad not in words:
            raise ValueError("strings end in a NUL, or are filled with NULs or spaces")
        if self.described[0] == "text" and pad != STR_NULLTERM:
            raise NotSupported("strings of any length always end in a NUL")
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
        if _names.inner(name) in group:
            raise KeyError("Unable to commit datatype synchronously (name already exists)")
        group._file_of.change("datatype", group._target(_names.inner(name), "datatype"), self.described)
        self._committed = True

    def close(self) -> None:
        """Do nothing: types need not be closed."""

    def detect_class(self, tclass: int) -> bool:
        """Return whether the type, or one that it is made of, is of a class."""
        return _contains(self.described, tclass)

    def is_variable_str(self) -> bool:
        """Return whether the elements are strings of any length."""
        return bool(self.described[0] == "text")

    def get_cset(self) -> int:
        """Return the encoding of strings."""
        if self.described[0] not in (*_PADDINGS, "text"):
            raise TypeError("the type is no string")
        return CSET_UTF8 if self.described[-1] else CSET_ASCII

    def set_cset(self, cset: int) -> None:
        """Set the encoding of strings.

        Raises
        ------
        TypeError
            If the elements are no strings.
        """
        if self.described[0] not in (*_PADDINGS, "text"):
            raise TypeError("only the encoding of strings can be set")
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


class TypeAtomicID(TypeID):
    """Types that are not made of others."""

    def get_order(self) -> int:
        """Return the order of bytes: ``ORDER_LE``, ``ORDER_BE``, or ``ORDER_NONE``."""
        word, *rest = self.described
        order = {"int": 2, "float": 1, "bits": 1}.get(word)
        return ORDER_NONE if order is None else ORDER_BE if rest[order] == ">" else ORDER_LE

    def get_precision(self) -> int:
        """Return the number of bits that have a meaning."""
        return 8 * self.get_size()

    def get_offset(self) -> int:
        """Return the number of bits before those that have a meaning."""
        return 0

    def get_pad(self) -> tuple[int, int]:
        """Return what bits without a meaning are: those before, and those after the others."""
        return PAD_ZERO, PAD_ZERO


class TypeIntegerID(TypeAtomicID):
    """Integers."""

    def get_sign(self) -> int:
        """Return ``SGN_2`` if there are negative numbers, and ``SGN_NONE`` if not."""
        return SGN_2 if self.described[2] else SGN_NONE


class TypeFloatID(TypeAtomicID):
    """Floating-point numbers."""

    def get_fields(self) -> tuple[int, int, int, int, int]:
        """Return the bit of the sign, the first bit and the number of bits of the exponent, and those of the mantissa."""
        exponent, mantissa, _ = _FLOATS[self._usual()]
        return exponent + mantissa, mantissa, exponent, 0, mantissa

    def get_ebias(self) -> int:
        """Return what is added to the exponent."""
        return _FLOATS[self._usual()][2]

    def get_norm(self) -> int:
        """Return ``NORM_IMPLIED``: the first bit of the mantissa is not stored."""
        self._usual()
        return NORM_IMPLIED

    def get_inpad(self) -> int:
        """Return what bits between the fields are."""
        return PAD_ZERO

    def get_precision(self) -> int:
        """Return the number of bits that have a meaning."""
        return 8 * self._usual()

    def _usual(self) -> int:
        word, size, *rest = self.described
        if len(rest) > 1 or size not in _FLOATS:
            raise NotImplementedError("the fields are only known for the formats of IEEE 754")
        return int(size)


class TypeTimeID(TypeAtomicID):
    """Times."""


class TypeStringID(TypeAtomicID):
    """Strings."""


class TypeBitfieldID(TypeAtomicID):
    """Bit fields."""


class TypeOpaqueID(TypeID):
    """Opaque bytes."""


class TypeReferenceID(TypeAtomicID):
    """References."""


class TypeCompositeID(TypeID):
    """Types with members."""

    def _members(self) -> list[Any]:
        members: list[Any] = self.described[2]
        return members

    def _member(self, index: int) -> Any:
        if not 0 <= index < len(self._members()):
            raise ValueError(f"Member index must be non-negative and less than {len(self._members())}, and not {index}.")
        return self._members()[index]

    def get_nmembers(self) -> int:
        """Return the number of members."""
        return len(self._members())

    def get_member_name(self, index: int) -> bytes:
        """Return the name of a member."""
        return _names.encoded(self._member(index)[0])

    def get_member_index(self, name: bytes) -> int:
        """Return the place of a member.

        Raises
        ------
        RuntimeError
            If there is none of this name.
        """
        names = [each[0] for each in self._members()]
        if _names.inner(name) not in names:
            raise RuntimeError(f"there is no member {_names.inner(name)!r}")
        return names.index(_names.inner(name))


class TypeEnumID(TypeCompositeID):
    """Integers with names."""

    def enum_insert(self, name: bytes, value: int) -> None:
        """Add a name. A value that the integers cannot hold becomes the nearest that they can.

        Raises
        ------
        TypeError
            If there is this name or this value already.
        """
        word, base, members = self.described
        for place, (given, kind) in enumerate(((_names.inner(name), "name"), (int(value), "value"))):
            if any(each[place] == given for each in members):
                raise TypeError(f"Unable to insert new enumeration member ({kind} redefinition)")
        limits = np.iinfo(of(base).dtype)
        self.described = (word, base, [*members, (_names.inner(name), min(max(int(value), int(limits.min)), int(limits.max)))])

    def get_member_value(self, index: int) -> int:
        """Return the value of a name."""
        return int(self._member(index)[1])

    def enum_nameof(self, value: int) -> bytes:
        """Return the name of a value.

        Raises
        ------
        TypeError
            If it has none.
        """
        found = next((name for name, each in self._members() if each == value), None)
        if found is None:
            raise TypeError(f"the value {value} has no name")
        return _names.encoded(found)

    def enum_valueof(self, name: bytes) -> int:
        """Return the value of a name.

        Raises
        ------
        TypeError
            If there is no such name.
        """
        found = next((each for known, each in self._members() if known == _names.inner(name)), None)
        if found is None:
            raise TypeError("Valueof query failed (string doesn't exist in the enumeration type)")
        return int(found)

    def get_super(self) -> TypeID:
        """Return the type of the integers."""
        return of(self.described[1])


class TypeVlenID(TypeID):
    """Sequences of any length."""

    def get_super(self) -> TypeID:
        """Return the type of the elements."""
        return of(self.described[1])


class TypeArrayID(TypeID):
    """Arrays of fixed shape."""

    def get_super(self) -> TypeID:
        """Return the type of the elements."""
        return of(self.described[1])

    def get_array_dims(self) -> tuple[int, ...]:
        """Return the shape."""
        return tuple(self.described[2])

    def get_array_ndims(self) -> int:
        """Return the number of dimensions."""
        return len(self.described[2])


class TypeComplexID(TypeID):
    """Complex numbers."""


class TypeCompoundID(TypeCompositeID):
    """Compounds."""

    def insert(self, name: bytes, offset: int, field: TypeID) -> None:
        """Add a member.

        Raises
        ------
        ValueError
            If there is a member of this name, or it has no room.
        """
        word, size, members = self.described
        end = offset + field.get_size()
        if any(known == _names.inner(name) for known, *_ in members):
            raise ValueError(f"there is a member {_names.inner(name)!r} already")
        if offset < 0 or end > size or any(offset < at + of(each).get_size() and at < end for _, at, each in members):
            raise ValueError(f"the member {_names.inner(name)!r} has no room of its own in {size} bytes")
        self.described = (word, size, [*members, (_names.inner(name), int(offset), field.described)])

    def get_member_class(self, index: int) -> int:
        """Return the class of a member."""
        return self.get_member_type(index).get_class()

    def get_member_offset(self, index: int) -> int:
        """Return where a member begins in an element."""
        return int(self._member(index)[1])

    def get_member_type(self, index: int) -> TypeID:
        """Return the type of a member."""
        return of(self._member(index)[2])


#: The bits of the exponent and of the mantissa, and the bias, by the size in bytes.
_FLOATS = {2: (5, 10, 15), 4: (8, 23, 127), 8: (11, 52, 1023)}


def _contains(described: _types.Described, tclass: int) -> bool:
    word, *rest = described
    if _CLASSES[word] == tclass:
        return True
    parts = {"enum": rest[:1], "vlen": rest[:1], "array": rest[:1], "complex": rest[:1]}.get(word, [])
    if word == "compound":
        parts = [each for *_, each in rest[1]]
    return any(_contains(each, tclass) for each in parts)


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


def vlen_create(base: TypeID) -> TypeVlenID:
    """Return a type of sequences."""
    return TypeVlenID(("vlen", base.described))


def array_create(base: TypeID, dims_tpl: tuple[int, ...]) -> TypeArrayID:
    """Return a type of arrays with a shape."""
    return TypeArrayID(("array", base.described, [int(n) for n in dims_tpl]))


def create(classtype: int, size: int) -> TypeID:
    """Return a compound without members, to which members can be added, or a type of opaque bytes.

    Raises
    ------
    NotImplementedError
        If it is another class.
    """
    if classtype == COMPOUND:
        return TypeCompoundID(("compound", int(size), []))
    if classtype == OPAQUE:
        return TypeOpaqueID(("opaque", int(size), ""))
    raise NotImplementedError("only compounds and opaque bytes can be created by their class")


def open(group: Any, name: bytes, tapl: Any = None) -> TypeID:
    """Return the identifier of a type that is an object of a file.

    Raises
    ------
    TypeError
        If the object is something else.
    """
    found = group._object[_names.inner(name)].id
    if not isinstance(found, TypeID):
        raise TypeError(f"{_names.inner(name)} is not a datatype")
    return found


C_S1 = TypeStringID(("terminated", 1, False))
FORTRAN_S1 = TypeStringID(("spaced", 1, False))
STD_REF_OBJ = TypeReferenceID(("reference", "object"))
STD_REF_DSETREG = TypeReferenceID(("reference", "region"))
for _bits in (8, 16, 32, 64):
    for _letter, _signed in (("I", True), ("U", False)):
        for _end, _order in (("LE", "<"), ("BE", ">")):
            globals()[f"STD_{_letter}{_bits}{_end}"] = TypeIntegerID(("int", _bits // 8, _signed, _order))
    for _end, _order in (("LE", "<"), ("BE", ">")):
        globals()[f"STD_B{_bits}{_end}"] = TypeBitfieldID(("bits", _bits // 8, _order))
for _bits in (16, 32, 64):
    for _end, _order in (("LE", "<"), ("BE", ">")):
        globals()[f"IEEE_F{_bits}{_end}"] = TypeFloatID(("float", _bits // 8, _order))
_native = "LE" if sys.byteorder == "little" else "BE"
for _bits in (8, 16, 32, 64):
    for _name, _letter in (("INT", "I"), ("UINT", "U"), ("B", "B")):
        globals()[f"NATIVE_{_name}{_bits}"] = globals()[f"STD_{_letter}{_bits}{_native}"]
for _bits, _name in ((16, "FLOAT16"), (32, "FLOAT"), (64, "DOUBLE")):
    globals()[f"NATIVE_{_name}"] = globals()[f"IEEE_F{_bits}{_native}"]
for _bits in (32, 64):
    for _end in ("LE", "BE"):
        globals()[f"UNIX_D{_bits}{_end}"] = TypeTimeID(("time", _bits // 8))
