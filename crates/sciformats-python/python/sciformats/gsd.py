"""Trajectories of HOOMD-blue: frames, and quantities over all frames.

A frame only stores what differs from the first frame, and the first frame only what differs from the defaults of the schema.
Here every quantity of every frame has its value, wherever that is stored. Nothing is read before it is requested.

Examples
--------
>>> import sciformats.gsd
>>> trajectory = sciformats.gsd.open("run.gsd")
>>> trajectory[-1].particles.position
array([[2., 2., 2.],
       [2., 2., 2.]], dtype=float32)
>>> trajectory.stack("particles/position")[::2, 0]
array([[0., 0., 0.],
       [2., 2., 2.]], dtype=float32)
>>> trajectory.log["md/energy"]
array([0. , 1.5, 3. ])
"""

from __future__ import annotations

import json
import math
import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sciformats import _index, _model, _open
from sciformats.errors import FileDamaged, LimitExceeded, NotThisFormat

#: The type, the shape of one element, and the default of each quantity of a particle, a bond, an angle and so on.
_OF_EACH: dict[str, dict[str, tuple[str, tuple[int, ...], Any]]] = {
    "particles": {
        "typeid": ("u4", (), 0),
        "mass": ("f4", (), 1),
        "charge": ("f4", (), 0),
        "diameter": ("f4", (), 1),
        "body": ("i4", (), -1),
        "moment_inertia": ("f4", (3,), 0),
        "position": ("f4", (3,), 0),
        "orientation": ("f4", (4,), (1, 0, 0, 0)),
        "velocity": ("f4", (3,), 0),
        "angmom": ("f4", (4,), 0),
        "image": ("i4", (3,), 0),
    },
    "constraints": {"value": ("f4", (), 0), "group": ("u4", (2,), 0)},
    **{
        name: {"typeid": ("u4", (), 0), "group": ("u4", (members,), 0)}
        for name, members in (("bonds", 2), ("angles", 3), ("dihedrals", 4), ("impropers", 4), ("pairs", 2))
    },
}

#: The quantities of the whole frame.
_OF_FRAME: dict[str, tuple[str, Any]] = {
    "step": ("u8", 0),
    "dimensions": ("u1", 3),
    "box": ("f4", (1, 1, 1, 0, 0, 0)),
}

#: The default of ``memory`` of :func:`sciformats.open`.
_MEMORY = 1 << 34

#: What this module opens, in words.
_TRAJECTORY = "a trajectory of HOOMD"


def open(path: str | os.PathLike[str] | bytes, **options: Any) -> Trajectory:
    """Open a trajectory.

    Parameters
    ----------
    path
        The path of the file, or its bytes.
    options
        Those of :func:`sciformats.open`.

    Raises
    ------
    NotThisFormat
        If the file is not a GSD file, or has another schema than HOOMD's.
    """
    file = _open.only(path, "gsd", _TRAJECTORY, options)
    schema = str(file.facts.get("schema", ""))
    if schema.split(" ")[0] != "hoomd":
        shown = file.filename
        file.close()
        raise NotThisFormat(f"this is a GSD file with the schema {schema!r}, and not {_TRAJECTORY}", shown)
    return Trajectory(file)


class Part:
    """The particles, bonds, angles, dihedrals, impropers, constraints or pairs of a frame.

    Each quantity of the schema is an attribute: ``N``, ``types``, ``typeid``, ``position`` and so on.
    """

    def __init__(self, frame: Frame, name: str) -> None:
        self._frame = frame
        self._name = name

    @property
    def N(self) -> int:
        """The number of particles, bonds and so on."""
        return self._frame._count(self._name)

    @property
    def types(self) -> list[str]:
        """The names of the types, by their numbers."""
        found = self._frame._find(f"{self._name}/types")
        if found is None:
            return ["A"] if self._name == "particles" else []
        return _rows(found)

    @property
    def type_shapes(self) -> list[dict[str, Any]]:
        """The shapes of the types, by their numbers, for drawing. Only particles have them."""
        if self._name != "particles":
            raise AttributeError(f"{self._name} have no shapes of types")
        found = self._frame._find("particles/type_shapes")
        if found is None:
            return [{}]
        try:
            return [json.loads(row) for row in _rows(found)]
        except ValueError as error:
            raise self._frame._damage(f"particles/type_shapes is no JSON: {error}") from error

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name not in _OF_EACH[self._name]:
            raise AttributeError(f"{self._name} have no quantity {name!r}; there are: N, types, {', '.join(_OF_EACH[self._name])}")
        found: NDArray[Any] = self._frame[f"{self._name}/{name}"]
        return found

    def __dir__(self) -> list[str]:
        shapes = ["type_shapes"] if self._name == "particles" else []
        return ["N", "types", *shapes, *_OF_EACH[self._name]]

    def __repr__(self) -> str:
        return f"<{self._name} of frame {self._frame.number}: {self.N}>"


def _rows(found: NDArray[Any]) -> list[str]:
    """Return the texts in the rows of an array of characters."""
    return [row.astype("u1").tobytes().split(b"\0")[0].decode("utf-8", "replace") for row in found]


class Frame:
    """A frame of a trajectory."""

    def __init__(self, trajectory: Trajectory, number: int) -> None:
        self._trajectory = trajectory
        self.number = number
        self.particles = Part(self, "particles")
        self.bonds = Part(self, "bonds")
        self.angles = Part(self, "angles")
        self.dihedrals = Part(self, "dihedrals")
        self.impropers = Part(self, "impropers")
        self.constraints = Part(self, "constraints")
        self.pairs = Part(self, "pairs")

    @property
    def step(self) -> int:
        """The step of the simulation."""
        return int(self["configuration/step"])

    @property
    def dimensions(self) -> int:
        """The number of dimensions, 2 or 3."""
        return int(self["configuration/dimensions"])

    @property
    def box(self) -> NDArray[Any]:
        """The box: its lengths and tilt factors."""
        found: NDArray[Any] = self["configuration/box"]
        return found

    @property
    def log(self) -> dict[str, Any]:
        """The logged quantities of this frame, as arrays and texts. Those that it does not store are those of the first frame."""
        first, own = (self._trajectory._names(number) for number in (0, self.number))
        names = sorted(name for name in first | own if name.startswith("log/"))
        return {name[len("log/") :]: self[name] for name in names}

    @property
    def names(self) -> list[str]:
        """The names of the quantities that the file stores for this frame."""
        return sorted(self._trajectory._names(self.number))

    def _find(self, name: str) -> Any:
        """Return what this frame stores, or else what the first one does."""
        for number in (self.number, 0):
            found = self._trajectory._stored(number, name)
            if found is not None:
                return found
        return None

    def _count(self, part: str) -> int:
        found = self._find(f"{part}/N")
        if found is None:
            return 0
        count = int(self._single(f"{part}/N", found))
        if count < 0:
            raise self._damage(f"{part}/N is {count}")
        return count

    def _single(self, name: str, found: Any) -> Any:
        """Return the number that is stored as a quantity.

        Raises
        ------
        FileDamaged
            If none is stored.
        """
        if isinstance(found, str) or not found.size or not np.isfinite(found.flat[0]):
            raise self._damage(f"{name} has no number")
        return found.flat[0]

    def _damage(self, text: str) -> FileDamaged:
        return FileDamaged(f"frame {self.number}: {text}", self._trajectory._file.filename)

    def __getitem__(self, name: str) -> Any:
        """Return a quantity by its name in the file, such as ``"particles/position"`` or ``"log/energy"``.

        Raises
        ------
        KeyError
            If it is neither stored nor a quantity of the schema.
        """
        part, _, quantity = name.partition("/")
        if part == "configuration" and quantity in _OF_FRAME:
            kind, default = _OF_FRAME[quantity]
            found = self._find(name)
            if found is None:
                return np.array(default, kind)
            return found if quantity == "box" else self._single(name, found)
        if quantity == "N" and part in _OF_EACH:
            return np.asarray(self._count(part), "u4")
        if part not in _OF_EACH or quantity not in _OF_EACH[part]:
            found = self._find(name)
            if found is None:
                raise KeyError(f"neither frame {self.number} nor the first one has a quantity named {name!r}")
            return found
        own = self._trajectory._stored(self.number, name)
        if own is not None:
            return own
        kind, shape, default = _OF_EACH[part][quantity]
        count = self._count(part)
        first = self._trajectory._stored(0, name)
        # The values of the first frame only hold for as many particles.
        if first is not None and len(first) == count:
            return first
        size, most = count * math.prod(shape) * np.dtype(kind).itemsize, self._trajectory._memory
        if size > most:
            text = f"frame {self.number}: {name} of {count} {part} has {size} bytes, but the limit memory= is {most}"
            raise LimitExceeded(text, self._trajectory._file.filename)
        filled = np.empty((count, *shape), kind)
        filled[...] = default
        return filled

    def __repr__(self) -> str:
        return f"<Frame {self.number}: step {self.step}, {self.particles.N} particles>"


class Log(Mapping[str, NDArray[Any]]):
    """The logged quantities of all frames, by name; the first axis is that of the frames.

    A frame that does not store a quantity has the value of the first frame.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self._trajectory = trajectory

    def __getitem__(self, name: str) -> NDArray[Any]:
        if f"log/{name}" not in self._trajectory._names(0):
            raise KeyError(f"the first frame has no logged quantity named {name!r}")
        if isinstance(self._trajectory._stored(0, f"log/{name}"), str):
            return np.array([frame[f"log/{name}"] for frame in self._trajectory])
        found: NDArray[Any] = self._trajectory.stack(f"log/{name}")[...]
        return found[:, 0] if found.ndim > 1 and found.shape[1] == 1 else found

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(name[len("log/") :] for name in self._trajectory._names(0) if name.startswith("log/")))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<Log {list(self)}>"


class Trajectory(_model.Holder, Sequence[Frame]):
    """A trajectory: its frames by number."""

    def __init__(self, file: _model.File) -> None:
        self._file = file
        self._length = int(file.facts["frames"])
        self._first: dict[str, Any] = {}
        #: The number of bytes that one quantity may have because of the file.
        self._memory = int(dict(file._address.options).get("memory", _MEMORY))

    @property
    def file(self) -> _model.File:
        """The file in the model that all formats share."""
        return self._file

    @property
    def log(self) -> Log:
        """The logged quantities of all frames."""
        return Log(self)

    def _names(self, number: int) -> set[str]:
        return set(self._file[f"frames/{number}"]) if self._length else set()

    def _stored(self, number: int, name: str) -> Any:
        """Return what a frame stores, an array or a text; what the first one does is read once."""
        if number == 0 and name in self._first:
            return self._first[name]
        try:
            array = self._file[f"frames/{number}/{name}"]
            found: Any = array[...]
            if array.facts.get("holds") == "text":
                found = found.tobytes().decode("utf-8", "replace")
        except KeyError:
            found = None
        if number == 0 and isinstance(found, np.ndarray):
            found.flags.writeable = False
        if number == 0:
            self._first[name] = found
        return found

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, key: int) -> Frame: ...
    @overload
    def __getitem__(self, key: slice) -> list[Frame]: ...
    def __getitem__(self, key: int | slice) -> Frame | list[Frame]:
        if isinstance(key, slice):
            return [Frame(self, number) for number in range(*key.indices(self._length))]
        number = operator.index(key)
        if not -self._length <= number < self._length:
            raise IndexError(f"frame {number} of a trajectory of {self._length} frames")
        return Frame(self, number % self._length)

    def stack(self, name: str) -> Stacked:
        """Return a quantity of all frames as a lazy array, whose first axis is that of the frames.

        The shape is that of the first frame; a frame with another shape is an error when it is read. Dask takes the result:
        ``dask.array.from_array(trajectory.stack("particles/position"), chunks=(1, -1, -1))``.
        """
        return Stacked(self, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Trajectory, (self._file,)

    def __repr__(self) -> str:
        return f"<Trajectory {self._file._shown()}: {self._length} frames>"


class Stacked:
    """A quantity of all frames of a trajectory, which is read frame by frame when it is indexed."""

    def __init__(self, trajectory: Trajectory, name: str) -> None:
        if not len(trajectory):
            raise ValueError("a trajectory without frames has no quantities")
        first = trajectory[0][name]
        if isinstance(first, str):
            raise TypeError(f"{name} is a text; the log of the trajectory has those of all frames")
        self._trajectory = trajectory
        self.name = name
        self.dtype: np.dtype[Any] = first.dtype
        self.shape: tuple[int, ...] = (len(trajectory), *first.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        if not _index.is_basic(key):
            raise IndexError("integers, slices, ... and None select from frames; index the result by lists and masks")
        parts = key if isinstance(key, tuple) else (key,)
        chosen = _index.basic(parts, self.shape)
        start, count, step = chosen.ranges[0]
        inner = tuple(slice(first, first + (n - 1) * by + 1 if n else first, by) for first, n, by in chosen.ranges[1:])
        found = np.empty(tuple(n for _, n, _ in chosen.ranges), self.dtype)
        for at in range(count):
            number = start + at * step
            whole = self._trajectory[number][self.name]
            if whole.shape != self.shape[1:]:
                raise ValueError(f"{self.name} has the shape {whole.shape} in frame {number}, and {self.shape[1:]} in the first")
            found[at] = whole[inner]
        found = found[chosen.after]
        return found if isinstance(found, np.ndarray) and found.ndim else found[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("elements of a file are always copied")
        found: NDArray[Any] = np.asarray(self[...], dtype)
        return found

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return ("sciformats.gsd", *self._trajectory._file._address.token(), self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Stacked, (self._trajectory, self.name)

    def __repr__(self) -> str:
        return f"<Stacked {self.name!r}: {self.shape} {self.dtype}>"
