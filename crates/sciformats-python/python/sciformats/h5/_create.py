"""The arguments of ``create_dataset`` as properties of a new dataset."""

from __future__ import annotations

import math
import os
import time
import warnings
from typing import Any

import numpy as np

from sciformats.h5 import _convert, _encode, _types
from sciformats.h5._config import get_config

_NAMES = {"gzip": 1, "szip": 4, "lzf": 32000}

#: A size without a limit: of a dimension, or of the elements in an external file.
UNLIMITED = (1 << 64) - 1


class Wanted:
    """The type, the shape and the elements of a new dataset."""

    def __init__(self, shape: Any, dtype: Any, data: Any) -> None:
        #: The path of the committed type in the file of the dataset, once that file is known.
        self.committed: str | None = None
        #: The committed type of any file.
        self._named: Any = None
        described: Any = None
        if hasattr(dtype, "described"):
            described, dtype = dtype.described, dtype.dtype
        elif hasattr(dtype, "_type") and dtype._type is not None:
            described, dtype = dtype._type.described, dtype.dtype
        elif hasattr(dtype, "_file_of"):
            self._named, dtype = dtype, dtype.dtype
        self._described = described
        if isinstance(dtype, str) and dtype.startswith("|h5"):
            raise TypeError(f"{dtype} is no type")
        self.data: Any = None
        self.null = isinstance(data, _types.Empty) or (shape is None and data is None and dtype is not None)
        if self.null:
            empty: Any = data
            self.dtype = np.dtype(dtype) if dtype is not None else empty.dtype
            self.shape: tuple[int, ...] = ()
            return
        if data is not None:
            if dtype is not None and np.dtype(dtype) == np.dtype(object) and not np.dtype(dtype).metadata:
                # Objects can be anything; what they are follows from the elements.
                dtype = None
            # NumPy would wrap numbers that an integer cannot hold; they become the nearest that it can when they are written.
            numbers = isinstance(data, np.ndarray) and data.dtype.kind in "iuf"
            integers = None if dtype is None else np.dtype(dtype)
            kept = numbers and integers is not None and integers.kind in "iu" and not _types.check_enum_dtype(integers)
            self.data = _encode.array_of(data, None if kept else dtype)
            self.dtype = np.dtype(dtype) if dtype is not None else self.data.dtype
            if self.dtype.kind in "UMm" and not _types.check_opaque_dtype(self.dtype):
                raise TypeError(f"No conversion path for dtype: {self.dtype!r}")
            own = self.data.shape
            if self.dtype.subdtype is not None:
                own = own[: self.data.ndim - len(self.dtype.subdtype[1])]
            self.shape = _shape_of(shape, own)
            if self.shape != own:
                self.data = self.data.reshape(self.shape + self.dtype.shape)
            return
        if shape is None:
            raise TypeError("One of data, shape or dtype must be specified")
        self.shape = sizes(shape, "shape")
        if dtype is None:
            warnings.warn("a dataset without dtype= and data= has elements of type f4", DeprecationWarning, stacklevel=4)
        self.dtype = np.dtype("=f4" if dtype is None else dtype)
        if self.dtype.kind in "UMm" and not _types.check_opaque_dtype(self.dtype):
            raise TypeError(f"No conversion path for dtype: {self.dtype!r}")

    def settings(self, options: dict[str, Any], of: Any) -> dict[str, Any]:
        """Return the settings for the Rust part."""
        described = self._described or _encode.describe(self.dtype)
        if self._named is not None:
            self.committed = shared(self._named, of)
            described = described if self.committed is not None else self._named._node.datatype()
        layout, chunks, maximum = self._layout(options)
        filters = self._filters(options)
        if filters and layout == "chosen":
            layout = "chunked"
        fill = options.pop("fillvalue", None)
        if fill is not None and self.dtype.names is not None and isinstance(fill, (int, float, str, bytes)):
            raise ValueError("the fill value of a compound must have a value for each field")
        return {
            "datatype": described,
            "shape": None if self.null or self.shape == () else list(self.shape),
            "null": self.null,
            "maximum": maximum,
            "layout": layout,
            "chunks": chunks,
            "filters": filters,
            "fill": None if fill is None else _encode.element(self._fill(fill), described, of),
            "undefined": False,
            "fill_time": self._fill_time(options.get("fill_time"), described, fill is not None),
            "external": _external(options.pop("external", None), self, maximum),
            "mappings": [],
            "committed": self.committed,
            "tracked": _tracked(options.get("track_order")),
            "time": moment(options.get("track_times")),
        }

    def _fill_time(self, asked: Any, described: Any, is_set: bool) -> int | None:
        """Return when fill values are written, in the numbers of the standard; ``None`` means as is usual for the type."""
        if asked not in (None, "alloc", "never", "ifset"):
            raise ValueError("fill_time must be one of 'alloc', 'never' and 'ifset'")
        if self.shape == ():
            return None  # as in h5py, it has no effect without dimensions
        if _is_variable(described):
            # What lies in a chunk before something is written must be no address.
            if asked == "never":
                reason = "Dataset doesn't support VL datatype when fill value is not defined"
                raise ValueError(f"Unable to synchronously create dataset ({reason})")
            if asked != "alloc":
                return 2 if is_set else None
        return {"alloc": 0, "never": 1, "ifset": 2, None: None}[asked]

    def _fill(self, fill: Any) -> Any:
        if _encode.is_direct(_encode.describe(self.dtype)):
            return _convert.exactly(fill, self.dtype)
        return fill[()] if isinstance(fill, np.ndarray) and fill.ndim == 0 else fill

    def _layout(self, options: dict[str, Any]) -> tuple[str, list[int] | None, list[int | None] | None]:
        chunks = options.pop("chunks", None)
        maxshape = options.pop("maxshape", None)
        # Zero asks for as many bits as are needed, and False for no filter.
        scaled = options.get("scaleoffset")
        wants = any(options.get(name) for name in ("compression", "shuffle", "fletcher32")) or (
            scaled is not None and scaled is not False
        )
        if self.shape == () or self.null:
            if wants or chunks not in (None, False) or options.get("compression_opts") is not None:
                raise TypeError(("Empty" if self.null else "Scalar") + " datasets don't support chunk/filter options")
            if maxshape not in (None, ()):
                raise TypeError(("Empty" if self.null else "Scalar") + " datasets cannot be extended")
            return ("external" if options.get("external") else "chosen"), None, None
        if maxshape is True:
            maxshape = (None,) * len(self.shape)
        if maxshape is not None:
            maxshape = sizes(maxshape, "maxshape")
            if len(maxshape) != len(self.shape):
                raise ValueError("maxshape must have the same number of dimensions as shape")
            if any(most is not None and most < n for most, n in zip(maxshape, self.shape)):
                raise ValueError("shape is larger than maxshape")
        if isinstance(chunks, bool) or chunks is None:
            grows = maxshape is not None and not options.get("external")
            if chunks is False and (wants or grows):
                raise ValueError("Chunked format required for given storage options")
            automatic = bool(chunks) or wants or grows
            if options.get("external") and automatic:
                raise ValueError("External files cannot be used with chunked storage")
            word = "external" if options.get("external") else "chunked" if automatic else "contiguous"
            most = None if maxshape is None else list(maxshape)
            return word, None, most
        if options.get("external"):
            raise ValueError("Unable to synchronously create dataset (external storage not supported with chunked layout)")
        chunks = sizes(chunks, "chunks")
        if len(chunks) != len(self.shape):
            raise ValueError("chunks must have the same number of dimensions as shape")
        if any(n < 1 for n in chunks):
            raise ValueError("All chunk dimensions must be positive")
        bounds = [n if most is None and maxshape is None else most for n, most in zip(self.shape, maxshape or self.shape)]
        if any(most is not None and n > most for n, most in zip(chunks, bounds)):
            raise ValueError(
                "Chunk shape must not be greater than data shape in any dimension. "
                f"{tuple(chunks)} is not compatible with {self.shape}"
            )
        return "chunked", list(chunks), None if maxshape is None else list(maxshape)

    def _filters(self, options: dict[str, Any]) -> list[tuple[int, list[int], bool | None]]:
        compression = options.pop("compression", None)
        opts = options.pop("compression_opts", None)
        shuffle, fletcher32 = options.pop("shuffle", None), options.pop("fletcher32", None)
        scale = options.pop("scaleoffset", None)
        unknown = options.pop("allow_unknown_filter", False)
        found: list[tuple[int, list[int]]] = []
        if scale is not None and scale is not False:
            found.append((6, [self._scale(scale)]))
            if fletcher32:
                raise ValueError("fletcher32 cannot be used with potentially lossy scale/offset filter")
        pressed = _compression(compression, opts, unknown)
        if shuffle:
            found.append((2, []))
        if pressed is not None:
            found.append(pressed)
        if fletcher32:
            check_suitable(_types.check_vlen_dtype(self.dtype) is not None)
            found.append((3, []))
        # Each is stored as optional or not as is usual for it.
        return [(number, values, None) for number, values in found]

    def _scale(self, scale: Any) -> int:
        if self.dtype.kind not in "iuf":
            raise TypeError("scale/offset filter only supported for integer and floating-point types")
        if isinstance(scale, bool):
            if self.dtype.kind == "f":
                raise ValueError("integer scaleoffset must be provided for floating point types")
            return 0
        if not isinstance(scale, (int, np.integer)):
            raise ValueError("scaleoffset must be an integer")
        if scale < 0:
            raise ValueError("scale factor must be >= 0")
        return int(scale)


def _is_variable(described: Any) -> bool:
    """Return whether elements of a described type have parts of variable length."""
    kind = described[0] if isinstance(described, tuple) else None
    if kind == "compound":
        return any(_is_variable(part) for _, _, part in described[2])
    return kind in ("text", "vlen") or (kind == "array" and _is_variable(described[1]))


def check_suitable(is_variable: bool) -> None:
    """Refuse the filter fletcher32 for elements of variable length.

    Raises
    ------
    ValueError
        If elements are. What is in a chunk are addresses then, and a checksum of them says nothing about the elements.
    """
    if is_variable:
        raise ValueError("Unable to synchronously create dataset (fletcher32 is not suitable for elements of variable length)")


def shared(named: Any, of: Any) -> str | None:
    """Return the path of a committed type in the file of an object; ``None`` if it is in another file or has no path."""
    if named is None or named._file_of.address != of._file_of.address:
        return None
    path: str | None = named._path_now()
    return path


def moment(track_times: Any) -> int | None:
    """Return the time that is stored with a new object, in seconds since 1970.

    Raises
    ------
    TypeError
        If ``track_times`` says neither that there is to be one nor that there is not.
    """
    if track_times not in (None, True, False):
        raise TypeError("track_times must be either True, False, or None")
    return int(time.time()) if track_times else None


def _tracked(wish: Any) -> bool | None:
    """Return whether the order of attributes is kept; ``None`` means as in the rest of the file."""
    if wish is None:
        return True if get_config().track_order else None
    return bool(wish)


def _compression(compression: Any, opts: Any, unknown: bool) -> tuple[int, list[int]] | None:
    if compression is None or compression is False:
        if opts is not None:
            raise TypeError("compression method must be specified")
        return None
    if isinstance(compression, bool):
        compression = "gzip"
    if hasattr(compression, "filter_id"):
        opts, compression = getattr(compression, "filter_options", opts), int(compression.filter_id)
    if isinstance(compression, (int, np.integer)):
        if opts is None and 0 <= compression < 10:
            return 1, [int(compression)]
        number = int(compression)
    else:
        if compression not in _NAMES:
            raise ValueError(f'Compression filter "{compression}" is unavailable')
        number = _NAMES[compression]
    if number == 1:
        level = 4 if opts is None else opts[0] if isinstance(opts, tuple) else opts
        if isinstance(level, bool) or level not in range(10):
            raise ValueError(f"GZIP setting must be an integer from 0-9, not {level!r}")
        return 1, [int(level)]
    if number == 32000:
        if opts not in (None, ()):
            raise ValueError("LZF compression filter accepts no options")
        return number, []
    if number == 4:
        mode, pixels = opts if opts is not None else ("nn", 8)
        if mode not in ("ec", "nn"):
            raise ValueError("Szip options must be one of ec, nn")
        if pixels % 2 or not 0 < pixels <= 32:
            raise ValueError("Szip pixels-per-block must be an even number of at most 32")
        return number, [32 if mode == "nn" else 4, int(pixels)]
    known = (305, 307, 32001, 32003, 32004, 32008, 32013, 32015, 32018, 32020, 32022, 32023, 32026)
    if number not in known and not unknown:
        word = "Invalid filter" if number < 0 else "Unknown compression filter"
        raise ValueError(f"{word} number: {number}")
    if number == 32013 and not opts:
        # The default of the plug-in: the expert mode with the bounds of zfp itself, the least exponent being -1074.
        opts = (4, 0, 1, 16658, 64, (1 << 32) - 1074)
    return number, [int(value) for value in (opts or ())]


def _external(external: Any, wanted: Wanted, maximum: list[int | None] | None) -> list[tuple[str, int, int | None]]:
    if not external:
        return []
    if isinstance(external, (str, bytes, os.PathLike)):
        external = [(external, 0, UNLIMITED)]
    found: list[tuple[str, int, int | None]] = []
    for entry in external:
        if not isinstance(entry, (tuple, list)):
            raise TypeError("external must be a list of tuples: (name, offset, size)")
        if len(entry) != 3:
            raise ValueError("an external file is given as (name, offset, size)")
        name, offset, size = entry
        if not isinstance(offset, (int, np.integer)) or not isinstance(size, (int, np.integer)):
            raise TypeError("the offset and the size of an external file must be integers")
        if offset < 0 or size < 0:
            raise ValueError("Negative external file offset (the offset and the size of an external file must be positive)")
        if found and found[-1][2] is None:
            raise ValueError("Previous file size is unlimited (only the last external file can have no size)")
        found.append((os.fsdecode(name), int(offset), None if size == UNLIMITED else int(size)))
    most, sizes = wanted.shape if maximum is None else maximum, [size for _, _, size in found]
    if None not in sizes and not wanted.dtype.hasobject:
        if None in most:
            raise ValueError("Unable to synchronously create dataset (unlimited dataspace but finite storage)")
        if math.prod(n or 0 for n in most) * wanted.dtype.itemsize > sum(size or 0 for size in sizes):
            raise ValueError("Unable to synchronously create dataset (dataspace size exceeds external storage size)")
    return found


def sizes(given: Any, keyword: str) -> tuple[Any, ...]:
    """Return the sizes of dimensions; ``None`` stands for one without a limit, which only ``maxshape`` has.

    Raises
    ------
    OverflowError
        If a size is negative, or does not fit into 64 bits.
    TypeError
        If it is no integer.
    """
    found: list[int | None] = []
    for size in (given,) if isinstance(given, (int, float, np.number)) else tuple(given):
        if keyword == "maxshape" and (size is None or (isinstance(size, (int, np.integer)) and size == UNLIMITED)):
            found.append(None)
            continue
        if not isinstance(size, (int, float, np.number, np.bool_)) or size != int(size):
            raise TypeError(f"{keyword} is {given!r}, and {size!r} is no integer")
        if not 0 <= size <= UNLIMITED:
            raise OverflowError(f"{keyword} is {given!r}, and {size!r} is no size from 0 to 2^64 - 1")
        found.append(int(size))
    return tuple(found)


def _shape_of(shape: Any, own: tuple[int, ...]) -> tuple[int, ...]:
    if shape is None:
        return own
    wanted = sizes(shape, "shape")
    if math.prod(wanted) != math.prod(own):
        raise ValueError("Shape tuple is incompatible with data")
    return wanted


def virtual(layout: Any, fillvalue: Any, of: Any) -> dict[str, Any]:
    """Return the settings of a virtual dataset."""
    wanted = Wanted(layout.shape, layout.dtype, None)
    settings = wanted.settings({"fillvalue": fillvalue}, of)
    settings["layout"] = "virtual"
    settings["maximum"] = None if layout.maxshape is None else list(layout.maxshape)
    settings["mappings"] = layout.mappings(of)
    return settings
