"""Files behind URLs: what is read, how they are opened, and what their pickles contain."""

from __future__ import annotations

import asyncio
import pathlib
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
import xarray as xr
from dask.base import tokenize
from server import Server, serving

import sciformats
import sciformats.asdf
from sciformats import _remote, errors, h5

SECRET = "open-sesame-4711"


@pytest.fixture
def server(hdf5_path: str, fixtures: pathlib.Path, tmp_path: pathlib.Path) -> Iterator[Server]:
    shutil.copy(hdf5_path, tmp_path / "run.h5")
    values = np.arange(60.0).reshape(3, 4, 5)
    data = xr.Dataset({"t": (("time", "y", "x"), values, {"units": "K"})}, {"time": [0, 1, 2]})
    data.to_netcdf(tmp_path / "weather.nc", engine="netcdf4", encoding={"t": {"chunksizes": (1, 4, 5)}})
    for kind in ("asdf", "gsd", "ra", "b2nd"):
        found = next(path for path in sorted(fixtures.rglob(f"*.{kind}")) if path.stat().st_size > 100)
        shutil.copy(found, tmp_path / f"one.{kind}")
    with serving(tmp_path) as server:
        yield server


@pytest.fixture
def guarded(server: Server) -> Iterator[Server]:
    with serving(server.folder, SECRET) as guarded:
        yield guarded


def test_a_url_is_read_in_parts(server: Server, numbers: np.ndarray) -> None:
    with sciformats.open(f"{server.url}/run.h5") as file:
        assert file.filename == f"{server.url}/run.h5" and file.format == "hdf5"
        np.testing.assert_array_equal(file["fields/u"][3:9, ::2], numbers[3:9, ::2])
        cost = file.statistics
    assert cost is not None and 0 < cost["requests"] < 10 and cost["bytes"] > 0
    assert sciformats.open(server.folder / "run.h5").statistics is None
    with h5.File(f"{server.url}/run.h5") as file:
        np.testing.assert_array_equal(file["fields/u"][5], numbers[5])
        assert file.attrs["title"] == "a run" and file.driver == "ros3"
    assert asyncio.run(sciformats.open(f"{server.url}/run.h5")["plain"].aread())[1, 2] == numbers[1, 2]


@pytest.mark.parametrize("kind", ["asdf", "gsd", "ra", "b2nd"])
def test_every_format_has_urls(server: Server, kind: str) -> None:
    def arrays(file: sciformats.File) -> list[np.ndarray]:
        root = file.root
        members = [root] if isinstance(root, sciformats.Array) else [member for _, member in file.walk()]
        return [member[...] for member in members if isinstance(member, sciformats.Array)]

    far, near = (arrays(sciformats.open(at)) for at in (f"{server.url}/one.{kind}", server.folder / f"one.{kind}"))
    assert len(far) == len(near)
    for a, b in zip(far, near):
        np.testing.assert_array_equal(a, b)
    if kind == "asdf":
        assert str(sciformats.asdf.open(f"{server.url}/one.asdf").keys())


def test_only_the_host_sees_headers(guarded: Server, numbers: np.ndarray) -> None:
    url = f"{guarded.url}/run.h5"
    with pytest.raises(OSError) as refused:
        sciformats.open(url)
    assert isinstance(refused.value, PermissionError) and "status 403" in str(refused.value)
    options = {"headers": {"X-Word": SECRET}, "timeout": 5.0, "connections": 2, "retries": 0}
    assert sciformats.open(url, storage_options=options)["plain"][0, 0] == numbers[0, 0]
    with pytest.raises(FileNotFoundError, match="the server has no such file"):
        sciformats.open(f"{guarded.url}/absent.h5", storage_options=options)
    with pytest.raises(ValueError, match="'headers'"):
        sciformats.open(url, storage_options={"header": {}})
    with pytest.raises(ValueError, match="URLs only"):
        sciformats.open("run.h5", storage_options=options)
    with pytest.raises(NotImplementedError):
        h5.File(url, "r+")


def test_pickles_have_no_credentials_unless_told(guarded: Server, server: Server, numbers: np.ndarray) -> None:
    options = {"headers": {"X-Word": SECRET}, "retries": 0}
    url = f"{guarded.url}/run.h5"
    for opened in (sciformats.open, h5.File):
        array = opened(url, storage_options=options)["fields/u"]
        pickled = pickle.dumps(array)
        assert SECRET.encode() not in pickled
        with pytest.raises(OSError):  # This process has no word for it in its environment.
            pickle.loads(pickled)
        told = pickle.dumps(opened(url, storage_options={**options, "pickle_credentials": True})["fields/u"])
        assert SECRET.encode() in told
        code = "import pickle, sys; print(pickle.load(sys.stdin.buffer)[3, 4])"
        shown = subprocess.run([sys.executable, "-c", code], input=told, capture_output=True, check=True)
        assert float(shown.stdout) == pytest.approx(float(numbers[3, 4]))
        signed = opened(f"{server.url}/run.h5?X-Amz-Signature={SECRET}")["plain"]
        assert SECRET not in repr(signed) + repr(signed.file) + str(signed.file.filename)
        with pytest.raises(TypeError, match="pickle_credentials") as refused:
            pickle.dumps(signed)
        assert SECRET not in str(refused.value)
        free = pickle.dumps(opened(f"{server.url}/run.h5")["plain"])
        assert float(pickle.loads(free)[1, 1]) == float(numbers[1, 1])


@pytest.mark.parametrize("query", [f"key={SECRET}", f"part=1&x={SECRET}", f"{SECRET}"])
def test_no_part_of_a_query_is_shown(server: Server, query: str) -> None:
    url = f"{server.url}/run.h5"
    for opened in (sciformats.open, h5.File):
        array = opened(f"{url}?{query}")["plain"]
        address = array.file._address if isinstance(array, sciformats.Array) else array._file_of.address
        assert array.file.filename == url and address.shown == url
        seen = [array, array.file, address, address.storage, array.__dask_tokenize__()]
        assert SECRET not in "".join(map(repr, seen))
        # It may nevertheless be what tells one file from another.
        other = opened(f"{url}?other")["plain"]
        assert _remote.is_secret(f"{url}?{query}") or tokenize(other) != tokenize(array)
    with xr.open_dataset(f"{url}?{query}", engine="sciformats") as data:
        assert data["plain"].encoding["source"] == url


def test_another_version_of_the_file_is_a_conflict(server: Server) -> None:
    file = sciformats.open(f"{server.url}/run.h5")
    pickled = [pickle.dumps(file["plain"]), pickle.dumps(h5.File(f"{server.url}/run.h5")["plain"])]
    tokens = [tokenize(file["plain"]) for _ in range(2)]
    assert tokens[0] == tokens[1] == tokenize(sciformats.open(f"{server.url}/run.h5")["plain"])
    (server.folder / "run.h5").write_bytes((server.folder / "run.h5").read_bytes() + b"\0")
    for each in pickled:
        with pytest.raises(errors.Conflict):
            pickle.loads(each)
    assert tokenize(sciformats.open(f"{server.url}/run.h5")["plain"]) != tokens[0]


def test_the_engine_opens_urls(guarded: Server) -> None:
    options = {"headers": {"X-Word": SECRET}, "retries": 0}
    url = f"{guarded.url}/weather.nc"
    with xr.open_dataset(url, engine="sciformats", storage_options=options, chunks={}) as data:
        assert data["t"].attrs["units"] == "K" and data["t"].chunks == ((1, 1, 1), (4,), (5,))
        np.testing.assert_array_equal(data["t"].mean("time").compute(), np.arange(60.0).reshape(3, 4, 5).mean(0))
    tree = xr.open_datatree(url, engine="sciformats", storage_options=options)
    assert float(tree["t"][1, 2, 3]) == 33.0

    async def loaded() -> float:
        with xr.open_dataset(url, engine="sciformats", storage_options=options) as data:
            await data.load_async()
            return float(data["t"].sum())

    assert asyncio.run(loaded()) == np.arange(60.0).sum()


def test_a_bucket_behind_an_endpoint(server: Server, numbers: np.ndarray) -> None:
    (server.folder / "bucket").mkdir()
    shutil.copy(server.folder / "run.h5", server.folder / "bucket" / "key.h5")
    options = {"anon": True, "endpoint_url": server.url, "region": "us-east-1", "environment": False}
    with sciformats.open("s3://bucket/key.h5", storage_options=options) as file:
        np.testing.assert_array_equal(file["fields/u"][...], numbers)
        pickled = pickle.dumps(file["fields/u"])
    np.testing.assert_array_equal(pickle.loads(pickled)[2], numbers[2])
    with pytest.raises(FileNotFoundError):
        sciformats.open("s3://bucket/absent.h5", storage_options=options)


def test_a_key_of_the_caller_is_not_mixed_with_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    (server.folder / "bucket").mkdir()
    shutil.copy(server.folder / "run.h5", server.folder / "bucket" / "key.h5")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", SECRET)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    options = {"endpoint_url": server.url, "region": "us-east-1"}
    sciformats.open("s3://bucket/key.h5", storage_options={**options, "key": "mine", "secret": "s"}).close()
    assert "Credential=mine/" in server.said["authorization"] and "x-amz-security-token" not in server.said
    # Without a key, it is that of the environment.
    sciformats.open("s3://bucket/key.h5", storage_options=options).close()
    assert "Credential=environment/" in server.said["authorization"] and server.said["x-amz-security-token"] == SECRET


def test_options_are_divided_into_secrets_and_others() -> None:
    given = {"key": "k", "secret": "s", "client_kwargs": {"endpoint_url": "http://localhost:1"}, "timeout": 3}
    made = _remote.storage_of("s3://bucket/key", given)
    assert dict(made.secret) == {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}
    assert dict(made.shown) == {"AWS_ENDPOINT_URL": "http://localhost:1", "AWS_ALLOW_HTTP": "true", "timeout": 3.0}
    assert not made.without_secrets().secret
    assert dict(_remote.storage_of("az://c/k", {"sas_token": "x"}).secret) == {"AZURE_STORAGE_SAS_KEY": "x"}
    assert _remote.is_secret("https://me:word@host/x") and _remote.is_secret("https://host/x?sig=1")
    assert _remote.is_secret("https://host/x?key=1") and _remote.is_secret("https://host/x?a=1&auth=2")
    assert not _remote.is_secret("https://host/x?file=run.h5") and not _remote.is_secret("s3://bucket/x?key=1")
    assert _remote.bare("https://me:word@host:81/x?sig=1") == "https://host:81/x"
    assert _remote.bare("s3://bucket/x?y#z") == "s3://bucket/x?y#z"
    with pytest.raises(ValueError, match="'key'"):
        _remote.storage_of("s3://bucket/key", {"keyy": "k"})


def test_a_forked_process_opens_its_own_connections(server: Server) -> None:
    code = (
        "import os, sys, numpy, sciformats\n"
        "from sciformats import h5\n"
        f"arrays = [of({server.url + '/run.h5'!r})['fields/u'] for of in (sciformats.open, h5.File)]\n"
        "whole = arrays[0][...]\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if all(numpy.array_equal(array[...], whole) for array in arrays) else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_a_forked_process_does_not_mix_versions(server: Server) -> None:
    path = server.folder / "run.h5"
    code = (
        "import os, sys, sciformats\n"
        "from sciformats import h5\n"
        f"arrays = [of(at)['fields/u'] for of in (sciformats.open, h5.File) for at in ({str(path)!r}, {server.url + '/run.h5'!r})]\n"
        "print(flush=True)\n"
        "sys.stdin.readline()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    refused = 0\n"
        "    for array in arrays:\n"
        "        try:\n"
        "            array[...]\n"
        "        except sciformats.errors.Conflict:\n"
        "            refused += 1\n"
        "    os._exit(0 if refused == len(arrays) else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        # Another file takes the place of this one, with other objects at its addresses.
        with h5.File(server.folder / "other.h5", "w") as file:
            file["something"], file["fields/u"] = np.arange(5), np.arange(12.0).reshape(3, 4)
        (server.folder / "other.h5").replace(path)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.wait(60) == 0


def test_tables_have_urls(server: Server, guarded: Server) -> None:
    import pandas
    import pyarrow
    import sciformats.pandas
    import sciformats.polars

    data = pandas.DataFrame({"x": np.arange(1000) * 0.5, "n": np.arange(1000)})
    data.to_hdf(server.folder / "frame.h5", key="frame", format="table")
    url = f"{server.url}/frame.h5"
    found = pyarrow.table(sciformats.table(url, "/frame"))
    assert found["n"].to_pylist() == list(range(1000))
    assert sciformats.polars.scan(url, "/frame").select("x").head(3).collect()["x"].to_list() == [0.0, 0.5, 1.0]
    options = {"headers": {"X-Word": SECRET}}
    private = sciformats.table(f"{guarded.url}/frame.h5", "/frame", storage_options=options)
    assert private.rows == 1000 and SECRET not in repr(private)
    frame = sciformats.pandas.read(url, "/frame")
    pandas.testing.assert_frame_equal(frame, data)
    with pytest.raises(OSError):
        sciformats.table(f"{guarded.url}/frame.h5", "/frame")
    with pytest.raises(ValueError, match="URLs only"):
        sciformats.table(server.folder / "frame.h5", "/frame", storage_options=options)
