"""Writes the metadata by which Python and pip know the package: dist_info.py FOLDER VERSION"""
import pathlib
import sys
import tomllib

place, version = sys.argv[1:]
project = tomllib.loads(pathlib.Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
folder = pathlib.Path(place, f"{project['name']}-{version}.dist-info")
folder.mkdir()
lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version}", f"Summary: {project['description']}",
         f"License: {project['license']['text']}", f"Requires-Python: {project['requires-python']}",
         *(f"Requires-Dist: {name}" for name in project["dependencies"])]
(folder / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
