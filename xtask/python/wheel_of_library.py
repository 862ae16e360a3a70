"""Makes a wheel of the Python package from a library that cargo has built, without building anything.

    python wheel_of_library.py LIBRARY VERSION PACKAGE FOLDER

LIBRARY is the shared library, PACKAGE the folder of the crate with `pyproject.toml`, and FOLDER the place of the wheel, whose path is
printed. It has the same files as the wheel by maturin: the sources, the library, the entry points and the dependencies. Its tag is
that of the interpreter that runs this script, because the library was linked for this machine.
"""

from __future__ import annotations

import base64
import hashlib
import pathlib
import sys
import sysconfig
import tomllib
import zipfile


def metadata(project: dict, version: str) -> str:
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {version}", f"Summary: {project['description']}"]
    lines += [f"Requires-Python: {project['requires-python']}", f"License-Expression: {project['license']}"]
    lines += [f"Classifier: {line}" for line in project["classifiers"]]
    lines += [f"Requires-Dist: {line}" for line in project["dependencies"]]
    for extra, needed in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {line} ; extra == "{extra}"' for line in needed]
    return "\n".join(lines) + "\n"


def entry_points(project: dict) -> str:
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    return "\n".join(f"[{group}]\n" + "".join(f"{name}={target}\n" for name, target in of.items()) for group, of in groups.items())


def main() -> None:
    library, version, package, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    name = project["name"]
    tag = f"cp310-abi3-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    info = f"{name}-{version}.dist-info"
    files = {f"{name}/_sciformats.abi3.so": pathlib.Path(library).read_bytes()}
    sources = package / "python"
    for path in sorted((sources / name).rglob("*")):
        if path.suffix in {".py", ".pyi", ".typed"}:
            files[path.relative_to(sources).as_posix()] = path.read_bytes()
    files[f"{info}/METADATA"] = metadata(project, version).encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: sciformats\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files[f"{info}/entry_points.txt"] = entry_points(project).encode()
    record = ""
    for path, contents in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(contents)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{version}-{tag}.whl"
    # The library is large, and pip unpacks the wheel at once, so that compressing it would only take time.
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_STORED) as archive:
        for path, contents in files.items():
            archive.writestr(path, contents)
    print(wheel)


if __name__ == "__main__":
    main()
