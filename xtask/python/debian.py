"""Packages of Debian and its descendants, fetched with apt-get and unpacked below target/; nothing is installed."""

import contextlib
import pathlib
import re
import shutil
import subprocess

TARGET = pathlib.Path(__file__).resolve().parents[2] / "target"
# What every program has, in whatever system this is, and what only those who install a package need.
COMMON = re.compile(r"libc6|libgcc|gcc-|libstdc|libcrypt1|debconf|perl|dpkg|tar$|lsb|base-")


class Missing(Exception):
    """A package cannot be had, and why."""


def unpacked(package):
    """The folder that holds what the package and all that it needs would install in `/`; made once, whoever asks at the same time."""
    place = TARGET / package
    root, ready = place / "root", place / "ready"
    if ready.exists():
        return root
    for program in ("apt-get", "apt-cache", "dpkg-deb"):
        if not shutil.which(program):
            raise Missing(f"there is no {program} to fetch {package} with")
    with alone(package):
        if not ready.exists():
            unpack(package, place, root)
            ready.touch()
    return root


@contextlib.contextmanager
def alone(package):
    """What is done for a package inside of this is done by one process at a time."""
    import fcntl  # not on Windows, which has no packages of Debian either

    TARGET.mkdir(exist_ok=True)
    with open(TARGET / f"{package}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def unpack(package, place, root):
    """Fetches a package and all that it needs, and unpacks it anew."""
    shutil.rmtree(place, ignore_errors=True)
    for folder in ("root", "lists/partial", "cache/archives/partial"):
        (place / folder).mkdir(parents=True)
    try:
        download(package, place, [])
    except Missing:
        # The system has no lists, or old ones; those of its own need no rights.
        own = ["-o", f"Dir::State::lists={place / 'lists'}", "-o", f"Dir::Cache={place / 'cache'}"]
        updated = subprocess.run(["apt-get", "update", *own], capture_output=True, text=True)
        if updated.returncode:
            raise Missing(f"apt-get update: {updated.stderr.strip()[-300:]}") from None
        download(package, place, own)
    for archive in sorted(place.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", str(archive), str(root)], check=True)


def libraries(root):
    """The folders of libraries in an unpacked package."""
    return [str(path) for path in sorted(root.glob("usr/lib/*-linux-gnu*"))]


def download(package, place, options):
    """Fetches the package and what it needs beyond a bare system."""
    words = ["--recurse", "--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances"]
    tree = subprocess.run(["apt-cache", *options, "depends", *words, package], capture_output=True, text=True)
    names = {line.strip() for line in tree.stdout.splitlines() if re.match(r"[a-z]", line)}
    for name in [package, *sorted(name for name in names - {package} if not COMMON.match(name))]:
        done = subprocess.run(["apt-get", *options, "download", name], cwd=place, capture_output=True, text=True)
        # A library that the system has in another version than its lists is there; whether all is, the programs will tell.
        if done.returncode and name.startswith(("hdf5", "libhdf5")) or name == package and not names:
            raise Missing(f"apt-get download {name}: {done.stderr.strip()[-300:]}")
