"""Our ratios and thresholds of the released code's own error matrices against what it made of them.

    test_golden.py ratios_of_errors

Exit status 77 where reference/*.npz is not there."""
import glob
import os
import subprocess
import sys
import tempfile

import numpy as np

BAR = 1e-5


def ratios(program, errors, y):
    """{name: value} and chi [N] of the library."""
    with tempfile.TemporaryDirectory(prefix="rer-golden-") as folder:
        matrix, labels = os.path.join(folder, "errors"), os.path.join(folder, "labels")
        np.ascontiguousarray(errors.T, "<f4").tofile(matrix)
        y.astype("<i4").tofile(labels)
        text = subprocess.run([program, str(errors.shape[0]), str(len(y)), matrix, labels], check=True,
                              capture_output=True, text=True).stdout
    lines = [line.split() for line in text.splitlines()]
    named = {line[0]: float.fromhex(line[1]) for line in lines if len(line) == 2}
    return named, np.array([float.fromhex(line[0]) for line in lines if len(line) == 1])


def main():
    program, measured = sys.argv[1], os.environ.get("RER_DATA", "")
    runs = sorted(glob.glob(os.path.join(measured, "reference", "*.npz")))
    if not runs:
        print("SKIPPED: no error matrices; RER_DATA names the folder of reference/*.npz")
        return 77
    failed = 0
    print("largest relative difference from the released code, run by run:")
    for path in runs:
        run = np.load(path)
        named, chi = ratios(program, run["error"], run["y_noisy"])
        off = {"chi": np.max(np.abs(chi / run["chi"] - 1))}
        for name, value in named.items():
            # eta may be 0: then the difference itself
            off[name] = abs(value - float(run[name])) / (abs(float(run[name])) if name != "eta_est" else 1)
        missed = [name for name, value in off.items() if not value <= BAR]
        failed += bool(missed)
        print("  %-44s %s%s" % (os.path.basename(path), " ".join("%s %.0e" % item for item in off.items()),
                                "  MISSED: " + ", ".join(missed) if missed else ""))
    print("%d of %d runs within %g" % (len(runs) - failed, len(runs), BAR))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
