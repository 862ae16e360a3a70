"""The Python peer of the harness's own test."""

from worker import serve


def read(folder, watch):
    with watch:
        data = (folder / "bytes").read_bytes()
    assert len(data) == 8 << 20


serve({"python": {"read 8 MiB": read}})
