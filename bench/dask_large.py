"""rer.dask on more rows than the workers have memory: time, memory, and the bits of one machine.

    python bench/dask_large.py [--gigabytes 20] [--memory 1GB] [--chunk 100000]

Two workers make the rows from their place whenever they need them: three classes of 512 features, one label in a hundred
wrong. First a cut of the same rows that one machine holds is analysed both ways, and must agree in every bit; then all of
them. Exits 1 where it does not, where a worker was lost, or where one took more than --memory.
"""
import argparse
import os
import sys
import time

import dask.array as da
import dask.utils
import distributed
import numpy as np

import rer
import rer.dask

CLASSES, FEATURES, WRONG = 3, 512, 0.01
COLUMNS = ("rer", "mistakenness", "own_error", "best_other_error", "suggestion_probability", "suggested_label")


def make_rows(block_info=None):
    """Rows that nobody holds, from where they lie: classes in turn, noise of a byte each, which is quickly made."""
    (first, end), _ = block_info[None]["array-location"]
    noise = np.random.default_rng(first).bytes((end - first) * FEATURES)
    rows = np.frombuffer(noise, np.uint8).reshape(-1, FEATURES).astype("f4")
    means = np.random.default_rng(0).integers(0, 120, (CLASSES, FEATURES)).astype("f4")
    for k in range(CLASSES):
        rows[k::CLASSES] += means[(first + k) % CLASSES]
    return rows


def data(rows, chunk):
    """The rows, their labels, and which of these are wrong."""
    random = np.random.default_rng(1)
    wrong = np.flatnonzero(random.random(rows) < WRONG)
    y = np.arange(rows, dtype=np.int32) % CLASSES
    y[wrong] = (y[wrong] + random.integers(1, CLASSES, len(wrong))) % CLASSES
    sizes = [chunk] * (rows // chunk) + ([rows % chunk] if rows % chunk else [])
    X = da.map_blocks(make_rows, chunks=(tuple(sizes), (FEATURES,)), dtype="f4", meta=np.empty((0, 0), "f4"))
    return X, y, wrong


def most_memory():
    """Of the process that asks, in bytes."""
    with open("/proc/self/status", encoding="ascii") as file:
        return int(dict(line.split(":", 1) for line in file)["VmHWM"].split()[0]) << 10


def check_cut(rows, chunk):
    X, y, _ = data(rows, chunk)
    there, here = rer.dask.analyze(X, y), rer.analyze(X.compute(scheduler="sync"), y)
    same = all(getattr(there, name).tobytes() == getattr(here, name).tobytes() for name in COLUMNS)
    print(f"{rows:,} rows, on the cluster and on one machine: {'the same bits' if same else 'DIFFERENT'}", flush=True)
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=20)
    parser.add_argument("--memory", default="1GB", help="of each of the two workers")
    parser.add_argument("--chunk", type=int, default=100_000, help="rows of a chunk")
    parser.add_argument("--cut", type=int, default=300_000, help="rows that one machine holds too")
    arguments = parser.parse_args()
    rows, limit = int(arguments.gigabytes * 1e9 / (4 * FEATURES)), dask.utils.parse_bytes(arguments.memory)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
                                  memory_limit=limit) as cluster, distributed.Client(cluster) as client:
        before = set(client.run(os.getpid).values())
        right = check_cut(arguments.cut, arguments.chunk)
        X, y, wrong = data(rows, arguments.chunk)
        marks = {}
        start = time.monotonic()
        result = rer.dask.analyze(X, y, progress=lambda stage, _: marks.__setitem__(stage, time.monotonic() - start))
        seconds = time.monotonic() - start
        kept = set(client.run(os.getpid).values()) == before
        peaks = sorted(client.run(most_memory).values())
    found = np.flatnonzero(result.is_label_issue)
    print(f"{rows:,} x {FEATURES} ({X.nbytes / 1e9:.1f} GB) in chunks of {arguments.chunk:,} rows: {seconds:.0f} s; "
          + ", ".join(f"{stage} done after {mark:.0f} s" for stage, mark in marks.items()))
    print(f"workers of {arguments.memory}: at most {' and '.join(f'{peak / 1e6:.0f}' for peak in peaks)} MB, "
          f"{'none lost' if kept else 'SOME LOST'}; this process: {most_memory() / 1e6:.0f} MB")
    print(f"{np.mean(result.is_label_issue[wrong]):.1%} of the wrong labels are flagged, "
          f"{np.mean(np.isin(found, wrong)):.1%} of those flagged are wrong")
    return 0 if right and kept and max(peaks) <= limit else 1


if __name__ == "__main__":
    sys.exit(main())
