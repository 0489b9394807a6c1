"""rer.dask on clusters: the same bits as rer.analyze, through lost workers and with more data than a worker has memory.
Apart from test_dask.py, since every worker imports this file."""
import contextlib
import os
import signal
import threading
import time

import dask
import dask.array as da
import distributed
import numpy as np
import pytest

import rer.dask
from dask_case import check_same, data


@pytest.fixture(scope="module")
def cluster():
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
                                       memory_limit=0)
    yield cluster
    with contextlib.suppress(KeyError):  # distributed looks up workers that were killed before it knew their names
        cluster.close()


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=1800)
        yield client


def test_processes(data, client):
    X, y, expected = data
    check_same(rer.dask.analyze(da.from_array(X, chunks=(1500, 20)), y), expected)


def slow_block(block):
    time.sleep(0.05)
    return block


def test_a_worker_is_killed_in_the_middle(data, client):
    X, y, expected = data
    chunked = da.from_array(X, chunks=(1024, 20)).map_blocks(slow_block, dtype=X.dtype)
    killed = []

    def kill():
        time.sleep(0.4)
        pid = client.run(os.getpid)
        victim = next(iter(pid.values()))
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)

    thread = threading.Thread(target=kill)
    thread.start()
    result = rer.dask.analyze(chunked, y)
    thread.join()
    assert killed
    check_same(result, expected)


def wait_for_nannies(cluster):
    """A nanny whose worker dies before it has started gives up."""
    while not all(nanny.process is not None and nanny.process.status == distributed.Status.running
                  for nanny in cluster.workers.values()):
        time.sleep(0.05)


def test_every_worker_is_killed(data, cluster, client):
    """What was sent to them is gone with them, and is sent again."""
    X, y, expected = data
    chunked = da.from_array(X, chunks=(500, 20)).map_blocks(slow_block, dtype=X.dtype)
    stages = []

    def kill(stage, share):
        if stage not in stages:
            stages.append(stage)
            wait_for_nannies(cluster)
            for victim in client.run(os.getpid).values():
                os.kill(victim, signal.SIGKILL)

    check_same(rer.dask.analyze(chunked, y, progress=kill), expected)
    assert len(stages) == 4


def make_rows(start, rows, features):
    """Rows that nobody holds: made from their place, by whoever needs them."""
    random = np.random.default_rng(start)
    labels = np.arange(start, start + rows) % 10
    return 8 * np.eye(10, features, dtype="f4")[labels] + random.standard_normal((rows, features), dtype="f4")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_more_data_than_memory():
    """512 MiB through workers that are killed at 475; answers of the second look wait there until they are taken."""
    N, D, each = 1 << 19, 256, 16384
    assert N * D * 4 == 512 << 20
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
                                  memory_limit="500MiB") as cluster, distributed.Client(cluster) as client:
        blocks = [da.from_delayed(dask.delayed(make_rows, pure=True)(start, each, D), (each, D), "f4")
                  for start in range(0, N, each)]
        X, y = da.concatenate(blocks), np.arange(N) % 10
        y[::1000] = (y[::1000] + 1) % 10
        before = set(client.run(os.getpid).values())
        result = rer.dask.analyze(X, y, normalize="none")
        assert set(client.run(os.getpid).values()) == before, "no worker was lost"
    assert result.n_samples == N
    found = set(np.flatnonzero(result.is_label_issue))
    assert len(found & set(range(0, N, 1000))) > 0.9 * N / 1000
