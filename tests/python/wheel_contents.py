"""What a wheel has to carry: its platform, and the licence of each library in it.

    wheel_contents.py WHEEL       with a Python that has auditwheel
"""
import re
import subprocess
import sys
import zipfile

wheel = sys.argv[1]
shown = subprocess.run([sys.executable, "-m", "auditwheel", "show", wheel], capture_output=True, text=True, check=True)
assert re.search(r'"manylinux_\d+_\d+_', shown.stdout), shown.stdout
with zipfile.ZipFile(wheel) as archive:
    names = archive.namelist()
    licences = {name.split("/third-party/")[1]: archive.read(name).decode()
                for name in names if "/licenses/third-party/" in name and not name.endswith("/")}
index = dict(line.split(" ") for line in licences["INDEX"].splitlines())
carried = {name.split("/")[1] for name in names if name.startswith("librer.libs/") and not name.endswith("/")}
assert len(carried) > 3, carried
assert set(index) == carried | {"OpenBLAS", "Random123"}, f"without a licence: {carried ^ set(index)}"
for library, name in index.items():
    assert re.search("copyright", licences[name], re.I) and len(licences[name]) > 1000, f"{library}: {licences[name]}"
    for common in re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", licences[name]):
        assert f"{common}.txt" in licences, f"{library} refers to {common}"
assert "LGPL-2.1.txt" in licences  # libcsv's
print(f"{len(index)} licences in {wheel}")
