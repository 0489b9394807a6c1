#!/usr/bin/env python3
"""Puts the licences of what a repaired wheel carries into it, from Debian's files of them.

    scripts/wheel_licences.py WHEEL         with a Python that has auditwheel

They go to *.dist-info/licenses/third-party: INDEX names for each library the file that holds its licence. A library
whose licence is not found is an error.
"""
import pathlib
import re
import subprocess
import sys

from auditwheel.wheeltools import InWheelCtx

BUILT_IN = {"OpenBLAS": "libopenblas-serial-dev", "Random123": "librandom123-dev"}  # inside the extension itself
COMMON = pathlib.Path("/usr/share/common-licenses")


def package_of(library):
    """The Debian package that a library was copied from; auditwheel has put a hash into its name."""
    name = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", library)
    done = subprocess.run(["dpkg-query", "--search", f"*/{name}"], stdout=subprocess.PIPE, text=True, check=False)
    owners = {line.split(":")[0] for line in done.stdout.splitlines() if line.endswith(f"/{name}")}
    if len(owners) != 1:
        sys.exit(f"{library}: the package of {name} is not known: {sorted(owners)}")
    return owners.pop()


def add_licence(folder, package):
    """Copies the licence, and the common ones that it refers to; returns the file's name."""
    text = pathlib.Path("/usr/share/doc", package, "copyright").read_text(encoding="utf-8")
    (folder / f"{package}.txt").write_text(text, encoding="utf-8")
    for name in re.findall(rf"(?:{COMMON}/|^License: )([\w.-]*\w)", text, re.M):
        if (COMMON / name).exists():
            (folder / f"{name}.txt").write_text((COMMON / name).read_text(encoding="utf-8"), encoding="utf-8")
    return f"{package}.txt"


def main(wheel):
    with InWheelCtx(pathlib.Path(wheel), pathlib.Path(wheel)) as context:
        root = pathlib.Path(context.path)
        folder = next(root.glob("*.dist-info")) / "licenses" / "third-party"
        folder.mkdir()
        parts = {path.name: package_of(path.name) for path in sorted(root.glob("*.libs/*"))}
        lines = [f"{part} {add_licence(folder, package)}\n" for part, package in {**BUILT_IN, **parts}.items()]
        (folder / "INDEX").write_text("".join(lines), encoding="utf-8")


main(*sys.argv[1:])
