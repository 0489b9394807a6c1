"""How long `rer scale` takes beside `rer analyze`, both with their defaults, at 50,000 x 512 and 100 classes.

    python bench/scale_ratio.py [--rer build/cli/rer] [--rounds 3]

They take turns; the ratio of the medians must not be over 20."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

N, D, C, BAR = 50000, 512, 100, 20


def seconds(command, name, folder):
    words = [command, name, folder / "X.npy", folder / "y.npy", "--json", "--quiet"]
    return json.loads(subprocess.run(words, capture_output=True, check=True).stdout)["seconds"]["total"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rer", default="build/cli/rer")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    random = np.random.default_rng(0)
    y = random.permutation(np.repeat(np.arange(C), N // C))
    X = .12 * random.normal(size=(C, D))[y] + random.normal(size=(N, D))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        np.save(folder / "X.npy", X.astype("f4"))
        np.save(folder / "y.npy", y)
        del X
        times = {"analyze": [], "scale": []}
        for _ in range(options.rounds):
            for command, list_of in times.items():
                list_of.append(seconds(options.rer, command, folder))
    analyze, scale = (statistics.median(list_of) for list_of in times.values())
    print(f"analyze {analyze:.2f} s, scale {scale:.2f} s: {scale / analyze:.1f} times (at most {BAR})")
    sys.exit(scale > BAR * analyze)


if __name__ == "__main__":
    main()
