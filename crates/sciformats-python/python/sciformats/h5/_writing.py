"""What changes the contents of groups."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from sciformats.errors import Error, NotSupported
from sciformats.h5 import _create, _encode, _names
from sciformats.h5._config import get_config
from sciformats.h5._links import ExternalLink, HardLink, SoftLink
from sciformats.h5._opened import Guarded

if TYPE_CHECKING:
    from sciformats.h5._file import File
    from sciformats.h5._group import Group
    from sciformats.h5._objects import Datatype
    from sciformats.h5._dataset import Dataset

#: Keywords of h5py that are read in another place, and those of caches.
_KNOWN = frozenset(
    {"track_times", "track_order", "efile_prefix", "virtual_prefix", "rdcc_nbytes", "rdcc_nslots", "rdcc_w0", "fill_time"}
)

#: What h5py raises, and how it begins the message, if a name cannot be given to what is named here.
_REFUSALS: dict[str, tuple[type[Exception], str]] = {
    "group": (ValueError, "Unable to synchronously create group"),
    "dataset": (ValueError, "Unable to synchronously create dataset"),
    "datatype": (KeyError, "Unable to commit datatype synchronously"),
    "link": (OSError, "Unable to create link"),
    "soft link": (OSError, "Unable to synchronously create soft link"),
    "external link": (RuntimeError, "Unable to create external link"),
    "moved link": (ValueError, "Unable to move link"),
    "copy": (RuntimeError, "Unable to synchronously copy object"),
}


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Raise what h5py raises for ``what`` if its path leads through something that does not exist or is no group."""
    try:
        yield
    except (KeyError, ValueError) as error:
        kind, words = _REFUSALS[what]
        if isinstance(error, (Error, UnicodeError, kind)):
            raise
        raise kind(f"{words} ({error.args[0]})") from error


def _cache(options: dict[str, Any], opened: Any) -> tuple[int, int, float]:
    given = [options.get(word) for word in ("rdcc_nslots", "rdcc_nbytes", "rdcc_w0")]
    nslots, nbytes, w0 = (before if value is None else value for value, before in zip(given, opened.cache))
    return (nslots, nbytes, w0)


def _with_access(options: dict[str, Any], dapl: Any) -> None:
    """Add what a property list says to the keywords of ``create_dataset``, which come first."""
    if dapl is None:
        return
    if dapl.cache is not None:
        for word, value in zip(("rdcc_nslots", "rdcc_nbytes", "rdcc_w0"), dapl.cache):
            options.setdefault(word, value)
    for word, prefix in zip(("efile_prefix", "virtual_prefix"), dapl.prefixes):
        if prefix:
            options.setdefault(word, os.fsdecode(prefix))


def _prefixes(options: dict[str, Any], opened: Any, names: list[str]) -> tuple[str, str]:
    """Return the folders in which the caller looks for external files, and for those of virtual datasets.

    Names of external files are relative to the folder of the HDF5 file, so that no other folder can be chosen for them.
    """
    origin = os.path.dirname(opened.address.path or "")
    found = [str(options.get(name) or "").replace("${ORIGIN}", origin) for name in ("efile_prefix", "virtual_prefix")]
    relative = any(not os.path.isabs(name) for name in names)
    if relative and found[0] and os.path.realpath(found[0]) != os.path.realpath(origin):
        raise NotSupported(f"efile_prefix is {found[0]!r}: names of external files are relative to the folder of the HDF5 file")
    return found[0], found[1]


class GroupWriting:
    """The methods of a group that change the file."""

    _file_of: Any
    _name: str | None

    if TYPE_CHECKING:

        def _path(self, name: str) -> str: ...
        def _path_now(self) -> str | None: ...
        def _beyond(self, name: str) -> tuple[File, str, list[str]] | None: ...
        def __getitem__(self, name: Any) -> Any: ...
        def __contains__(self, name: object) -> bool: ...
        def get(self, name: Any, default: Any = None) -> Any: ...

    def _target(self, name: Any, what: str) -> str:
        """Return the path of a new member."""
        self._file_of.check_open()
        name = _names.inner(name)
        if not isinstance(name, str):
            raise TypeError(f"a name must be str or bytes, not {type(name)}")
        path = self._path(name)
        kind, words = _REFUSALS[what]
        if self._file_of.editor is None:
            raise kind(f"{words} (no write intent on file)")
        if name == "" and what == "dataset":
            raise TypeError(f"{words} (no name)")
        if not path.strip("/"):
            raise (ValueError if name == "" and what in ("link", "external link") else kind)(f"{words} (no name)")
        full = "/" + "/".join(part for part in path.split("/") if part not in ("", "."))
        if full == "/":
            raise kind(f"{words} (name already exists)")
        with refusing(what):
            found = self._file_of.has_link(full)
            exists = found if found is not None else name in self
        if exists:
            raise kind(f"{words} (name already exists)")
        return full

    def _elsewhere(self, name: Any) -> tuple[File, str] | None:
        """Return the file and the path there of a member that is beyond an external link; ``None`` if it is in this file.

        Raises
        ------
        OSError
            If the link leads nowhere.
        """
        self._file_of.check_open()
        name = _names.inner(name)
        if not isinstance(name, str) or self._file_of.editor is None:
            return None
        *before, last = [part for part in self._path(name).split("/") if part not in ("", ".")] or [""]
        if not before or self._file_of.has_link("/" + "/".join([*before, last])) is not None:
            return None
        try:
            found = self._beyond("/" + "/".join(before))
            if found is None:
                return None
            file, path, rest = found
            file[path]  # raises an exception if it does not exist
        except KeyError as error:
            raise OSError(f"Unable to create link ({error.args[0]})") from None
        return file, "/".join([path.rstrip("/"), *rest, last])

    def create_group(
        self, name: Any, track_order: bool | None = None, *, track_times: bool | None = False
    ) -> Group:
        """Create a group. Missing groups on the path are created.

        Parameters
        ----------
        name : str
            Its path.
        track_order : bool, optional
            Whether the order in which its members and attributes are created is kept. By default it is as in the rest of the file.
        track_times : bool, optional
            Whether it stores when it was created and changed. Groups on the way do not.

        Raises
        ------
        ValueError
            If the name exists.
        """
        time = _create.moment(track_times)
        there = self._elsewhere(name)
        if there is not None:
            return there[0].create_group(there[1], track_order, track_times=track_times)
        path = self._target(name, "group")
        from sciformats.h5._group import Group

        if track_order is None and get_config().track_order:
            track_order = True
        with refusing("group"):
            address = self._file_of.change("group", path, None if track_order is None else bool(track_order), time)
        return Group(self._file_of, Guarded(self._file_of, address, path), path)

    def require_group(self, name: Any) -> Group:
        """Return a group, which is created if it does not exist.

        Raises
        ------
        TypeError
            If the name belongs to another object.
        """
        from sciformats.h5._group import Group

        if name not in self and self.get(name) is None:
            return self.create_group(name)
        found = self[name]
        if not isinstance(found, Group):
            raise TypeError(f"Incompatible object ({type(found).__name__}) already exists")
        return found

    def create_dataset(
        self, name: Any, shape: Any = None, dtype: Any = None, data: Any = None, **options: Any
    ) -> Dataset:
        """Create a dataset.

        Parameters
        ----------
        name : str
            Its path. Missing groups are created.
        shape, dtype, data
            At least one of the shape, the type of the elements, and the elements.
        options
            The other keywords of h5py: ``chunks``, ``maxshape``, ``compression``, ``compression_opts``, ``shuffle``,
            ``fletcher32``, ``scaleoffset``, ``fillvalue``, ``fill_time``, ``external``, ``efile_prefix``, ``track_order``,
            ``track_times``, ``dapl``. ``virtual_prefix``, ``rdcc_nslots``, ``rdcc_nbytes`` and ``rdcc_w0`` are kept and have no effect.

        Raises
        ------
        TypeError
            If there is no such keyword.
        NotSupported
            If there is a property list ``dcpl``: :func:`sciformats.h5.h5d.create` takes it.
        """
        if name is None:
            raise NotImplementedError("datasets without a name are not supported")
        there = self._elsewhere(name)
        if there is not None:
            return there[0].create_dataset(there[1], shape, dtype, data, **options)
        if options.pop("dcpl", None) is not None:
            raise NotSupported("dcpl= is not supported: its settings are keywords here, and h5d.create takes the property list")
        _with_access(options, options.pop("dapl", None))
        wanted = _create.Wanted(shape, dtype, data)
        settings = wanted.settings(options, self)
        cache = _cache(options, self._file_of)
        prefixes = _prefixes(options, self._file_of, [name for name, _, _ in settings["external"]])
        left = set(options) - _KNOWN
        if left:
            raise TypeError(f"create_dataset() got an unexpected keyword argument '{sorted(left)[0]}'")
        path = self._target(name, "dataset")
        for external, _, _ in settings["external"]:
            # The files exist from now on, as they do once the C library has written the first element.
            with open(os.path.join(os.path.dirname(self._file_of.address.path or ""), external), "ab"):
                pass
        from sciformats.h5._dataset import Dataset

        # Other threads see the dataset with its elements, or not at all.
        with self._file_of._lock:
            try:
                address = self._file_of.change("dataset", path, settings)
            except (KeyError, ValueError) as error:
                self._check_groups(path, error)
                raise
            made = Dataset(self._file_of, Guarded(self._file_of, address, path), path)
            made._cache, made._prefixes, made._outside = cache, prefixes, bool(settings["external"])
            if wanted.data is not None and wanted.data.size:
                try:
                    if made._outside:
                        # Only elements of a dataset that is in the file are written into other files.
                        self._file_of.commit()
                    made._write_first(wanted, settings["datatype"])
                except BaseException:
                    # There is a dataset with its elements, or none. Nothing is looked up, which could write what cannot be written.
                    with suppress(Error, OSError, ValueError):
                        self._file_of.change("unlink", path)
                        self._file_of.removed(address, False)
                    raise
        return made

    def _check_groups(self, path: str, error: Exception) -> None:
        """Raise what h5py raises if something on the way to a new dataset is no group."""
        from sciformats.h5._group import Group

        if self._file_of.has_link(path) is not None:
            return
        parts = path.strip("/").split("/")
        for count in range(1, len(parts)):
            found = self.get("/" + "/".join(parts[:count]))
            if found is not None and not isinstance(found, Group):
                raise TypeError(f"Incompatible object ({type(found).__name__}) already exists") from error

    def create_dataset_like(self, name: Any, other: Dataset, **options: Any) -> Dataset:
        """Create a dataset with the shape, the type and the storage of another."""
        for keyword in ("shape", "dtype", "chunks", "shuffle", "fletcher32", "scaleoffset", "fillvalue"):
            options.setdefault(keyword, getattr(other, "fillvalue" if keyword == "fillvalue" else keyword))
        if "compression" not in options:
            options["compression"], options["compression_opts"] = other.compression, other.compression_opts
            if other.compression is None or other.compression == "lzf":
                options["compression_opts"] = None
        options.setdefault("track_times", other._node.modified() is not None)
        options.setdefault("track_order", bool(other._node.orders()[0]))
        options.setdefault("maxshape", other.maxshape if other.maxshape != other.shape else None)
        return self.create_dataset(name, **options)

    def require_dataset(self, name: Any, shape: Any, dtype: Any, exact: bool = False, **options: Any) -> Dataset:
        """Return a dataset, which is created if it does not exist.

        Raises
        ------
        TypeError
            If there is another object of this name, or a dataset with another shape or type.
        """
        from sciformats.h5._dataset import Dataset

        if name not in self:
            return self.create_dataset(name, shape, dtype, **options)
        if isinstance(shape, (int, np.integer)):
            shape = (shape,)
        found = self[name]
        if not isinstance(found, Dataset):
            raise TypeError(f"Incompatible object ({type(found).__name__}) already exists")
        found._cache = _cache(options, self._file_of)
        found._prefixes = _prefixes(options, self._file_of, [name for name, _, _ in found.external or ()])
        if found._prefixes[1] and found.is_virtual:
            raise NotSupported("virtual_prefix= is not supported: sources are found beside the file of the virtual dataset")
        if shape != found.shape:
            if "maxshape" not in options:
                raise TypeError(f"Shapes do not match (existing {found.shape} vs new {shape})")
            if options["maxshape"] != found.maxshape:
                raise TypeError(f"Max shapes do not match (existing {found.maxshape} vs new {options['maxshape']})")
        wanted = np.dtype(dtype)
        if exact and wanted != found.dtype:
            raise TypeError(f"Datatypes do not exactly match (existing {found.dtype} vs new {wanted})")
        if not np.can_cast(wanted, found.dtype):
            raise TypeError(f"Datatypes cannot be safely cast (existing {found.dtype} vs new {wanted})")
        return found

    def create_virtual_dataset(self, name: Any, layout: Any, fillvalue: Any = None) -> Dataset:
        """Create a dataset whose elements are those of others, as a ``VirtualLayout`` says."""
        if self._elsewhere(name) is not None:
            raise NotSupported("a virtual dataset beyond an external link; create it in the file to which the link leads")
        settings = _create.virtual(layout, fillvalue, self)
        path = self._target(name, "dataset")
        self._file_of.change("dataset", path, settings)
        found: Dataset = self[path]
        return found

    @contextmanager
    def build_virtual_dataset(
        self, name: Any, shape: Any, dtype: Any, maxshape: Any = None, fillvalue: Any = None
    ) -> Iterator[Any]:
        """Return a ``VirtualLayout`` in a ``with`` statement, at whose end the dataset is created."""
        from sciformats.h5._virtual import VirtualLayout

        layout = VirtualLayout(shape, dtype, maxshape, filename=self._file_of.shown)
        yield layout
        self.create_virtual_dataset(name, layout, fillvalue)

    def __setitem__(self, name: Any, value: Any) -> None:
        from sciformats.h5._objects import HLObject

        there = self._elsewhere(name)
        if there is not None:
            if not isinstance(value, (ExternalLink, HLObject, HardLink, SoftLink, np.dtype)):
                # As in h5py, whose datasets get their name after they have been created. The method `create_dataset` follows the link.
                raise OSError("Unable to create link (interfile hard links are not allowed)")
            there[0][there[1]] = value
        elif isinstance(value, HLObject):
            if value._file_of.address != self._file_of.address:
                raise OSError("Unable to synchronously create link (interfile hard links are not allowed)")
            path = self._target(name, "link")
            with refusing("link"):
                self._file_of.change("hard_link", path, value._place)
        elif isinstance(value, SoftLink):
            path = self._target(name, "soft link")
            with refusing("soft link"):
                self._file_of.change("soft_link", path, value._path)
        elif isinstance(value, ExternalLink):
            path = self._target(name, "external link")
            with refusing("external link"):
                self._file_of.change("external_link", path, value.filename, value._path)
        elif isinstance(value, HardLink):
            raise TypeError("a HardLink has no target; assign the object")
        elif isinstance(value, np.dtype):
            self._commit(name, value)
        else:
            if not isinstance(name, (str, bytes)) or self._file_of.editor is None:
                self.create_dataset(name, data=value)
                return
            # As in h5py, whose datasets get their name after they have been created.
            path = self._target(name, "link")
            try:
                self.create_dataset(name, data=value)
            except (KeyError, TypeError, ValueError) as error:
                if isinstance(error, KeyError) or self._file_of.has_link(path) is None:
                    raise OSError(f"Unable to create link ({error.args[0]})") from error
                raise

    def _commit(self, name: Any, dtype: np.dtype[Any]) -> Datatype:
        described = _encode.describe(dtype)
        path = self._target(name, "datatype")
        with refusing("datatype"):
            self._file_of.change("datatype", path, described)
        found: Datatype = self[path]
        return found

    def __delitem__(self, name: Any) -> None:
        self._file_of.check_open()
        name = _names.inner(name)
        there = self._elsewhere(name)
        if there is not None:
            del there[0][there[1]]
            return
        if name == "":
            raise ValueError("No name (no name)")
        if name not in self:
            raise KeyError(f"Couldn't delete link (component '{name}' not found)")
        if self._file_of.editor is None:
            raise KeyError("Couldn't delete link (no write intent on file)")
        *before, last = [part for part in self._path(name).split("/") if part not in ("", ".")] or [""]
        # What is removed is noted before another thread can write the removal to the file.
        with self._file_of._lock:
            group = self._file_of.root.object("/".join(before)) if before else self._file_of.root
            kind, target = group.link(last) or ("", None)
            gone = self._file_of.vanishing(target) if kind == "hard" else []
            self._file_of.change("unlink", self._path(name))
            for address, is_group in gone:
                self._file_of.removed(address, is_group)

    def move(self, source: Any, dest: Any) -> None:
        """Move or rename a link.

        Raises
        ------
        ValueError
            If the link does not exist, the new name does, or it is below what is moved.
        """
        source, dest = _names.inner(source), _names.inner(dest)
        if source == dest:
            return
        there, to = self._elsewhere(source), self._elsewhere(dest)
        if (there and there[0]) != (to and to[0]):
            raise ValueError("Unable to move link (moving a link across files is not allowed)")
        if there is not None and to is not None:
            there[0].move(there[1], to[1])
            return
        if source not in self:
            raise ValueError(f"Unable to move link (component '{source}' not found)")
        path = self._target(dest, "moved link")
        with refusing("moved link"):
            self._file_of.change("move_link", self._path(source), path)

    def copy(
        self,
        source: Any,
        dest: Any,
        name: Any = None,
        shallow: bool = False,
        expand_soft: bool = False,
        expand_external: bool = False,
        expand_refs: bool = False,
        without_attrs: bool = False,
    ) -> None:
        """Copy an object, with everything below, to another place or file.

        Raises
        ------
        RuntimeError
            If the object does not exist, or the new name does.
        """
        from sciformats.h5 import _copy
        from sciformats.h5._group import Group

        if isinstance(source, (str, bytes)):
            # As in h5py, which only opens the object to know its name.
            with refusing("copy") if name is not None or not isinstance(dest, Group) else nullcontext():
                source = self[source]
        if isinstance(dest, Group):
            base = name if name is not None else _names.last(source._path_now())
            to: Any = dest
        else:
            to, base = self, dest
        there = to._elsewhere(base) if base not in ("", "/") else None
        if there is not None:
            to, base = there
        options = _copy.Options(shallow, expand_soft, expand_external, expand_refs, without_attrs)
        _copy.copy(source, to, base, options)
