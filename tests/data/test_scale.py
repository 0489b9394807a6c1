"""The paper's law of sample size, from what its released code did.
    test_scale.py RER"""
import json
import os
import pathlib
import subprocess
import sys

command = sys.argv[1]
data = pathlib.Path(os.environ.get("RER_DATA", "")) / "data"
if not data.exists():
    print("SKIPPED: no measured data; RER_DATA names its folder")
    sys.exit(77)


def scale(*options):
    words = [command, "scale", data / "food10_clip_b32_X.npy", data / "food10_clip_b32_y.npy", "--json", *options]
    return json.loads(subprocess.run(words, capture_output=True, check=True).stdout)


published = scale("--reconstructor", "published")
tiny = scale("--reconstructor", "published", "--sizes", "3,5,10")
print({key: published[key] for key in ("chi_inf", "gamma0", "gamma1", "gamma2", "r2")})
assert published["gamma0"] == 1.808 and not published["gamma0_fitted"]
assert published["r2"] >= .99
assert all(abs(point["chi"] - 1) < .01 for point in tiny["points"][:3])  # hardly a step taken
# The emulation of the released code gave gamma1 10058 and gamma2 10127 for its own subsets.
assert 5e3 < published["gamma1"] < 2e4 and 5e3 < published["gamma2"] < 2e4
free = scale("--reconstructor", "published", "--exponent", "free")
low, high = free["intervals"]["gamma0"]
print("free", free["gamma0"], low, high)
assert free["r2"] >= published["r2"]

centroid = scale()
points = centroid["points"]
assert centroid["r2"] >= .95 and centroid["chi_inf"] < points[-1]["chi"] < points[0]["chi"]
