"""The package in a process: other threads run, Ctrl-C stops, nothing leaks, forks and copies work."""
import concurrent.futures
import functools
import gc
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import sysconfig
import textwrap
import threading
import time
import types

import numpy as np
import pytest

import rer
from rer import _rer
from rer._source import make_dataset
from conftest import clusters


def run_python(code, *arguments, **options):
    return subprocess.run([sys.executable, "-B", "-c", textwrap.dedent(code), *map(str, arguments)],
                          capture_output=True, text=True, timeout=1800, **options)


@functools.cache
def busy_data():
    """Takes half a second on one thread."""
    return clusters(n=20_000, d=256, classes=20)


# ---- the interpreter's lock, interrupts, progress ----


def test_other_threads_run():
    X, y = busy_data()
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    rer.analyze(X, y, n_jobs=1)
    took = time.perf_counter() - start
    done.set()
    thread.join()
    during = np.array([t for t in ticks if start <= t <= start + took])
    # With the lock held there would be one gap as long as the analysis.
    assert took > 0.1 and len(during) > 20 and np.diff(during).max() < took / 2


@pytest.mark.parametrize("call", ["analyze(X, y)", 'analyze(X, y, reconstructor="autoencoder")',
                                  'analyze(X, y, reconstructor="subspace")', "analyze(X, clusters=50)", "scale(X, y)",
                                  "bench(X, y)", 'noise(y, X, type="confidence")'])
def test_interrupt_stops_within_a_second(call):
    """A second of every processor: on a busy machine the clock says nothing."""
    code = """
        import sys, time, threading, os, signal
        import numpy as np
        import rer
        X = np.tile(np.random.default_rng(0).normal(size=(15_000, 384)).astype("f4"), (10, 1))
        y = np.arange(len(X)) % 50
        call = eval("lambda: rer." + sys.argv[2])
        sent = []
        def interrupt():
            time.sleep(float(sys.argv[1]))
            sent.append(time.process_time())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt, daemon=True).start()
        try:
            call()
            print("finished")
        except KeyboardInterrupt:
            print((time.process_time() - sent[0]) / len(os.sched_getaffinity(0)))
        r = rer.analyze(X[:500], y[:500])
        assert r.n_samples == 500
    """
    done = run_python(code, 0.3, call)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() != "finished"
    assert float(done.stdout) < 1


def test_progress_and_what_it_raises():
    X, y = busy_data()
    seen = []
    rer.analyze(X, y, n_jobs=1, progress=lambda stage, share: seen.append((stage, share)))
    shares = [share for _, share in seen]
    assert len(seen) > 1 and 0 <= min(shares) and max(shares) <= 1
    assert np.diff(shares).min() > -0.05 and shares[-1] > shares[0]  # rounds of one stage may start over
    assert {"reading", "fitting", "scoring", "looking again", "looking at the labels"} & {stage for stage, _ in seen}

    class Enough(Exception):
        pass

    def stop(stage, share):
        raise Enough

    with pytest.raises(Enough):
        rer.analyze(X, y, progress=stop)


def test_bar(capfd, monkeypatch):
    X, y = clusters(n=30000, d=64)  # long enough for a second report
    rer.analyze(X, y, n_jobs=1, progress=True)
    assert "%|" in capfd.readouterr().err  # tqdm's
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    rer.analyze(X, y, n_jobs=1, progress=True)
    text = capfd.readouterr().err
    assert re.search(r"[a-z ]+: \d+ %", text) and text.endswith("\r")  # a line that is cleared at the end
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    rer.analyze(X, y)
    assert capfd.readouterr().err == ""  # nobody watches, whatever is loaded
    shell = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel=1))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setattr("rer._progress._PATIENCE", 0)
    rer.analyze(X, y, n_jobs=1)
    assert re.search(r"[a-z ]+: \d+ %", capfd.readouterr().err)  # a notebook


# ---- several at once ----


def test_two_threads_at_once():
    sets = [clusters(n=1500, d=16, seed=seed, planted=50) for seed in range(4)]
    alone = [rer.analyze(X, y).mistakenness for X, y in sets]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(2):
            together = list(pool.map(lambda pair: rer.analyze(*pair).mistakenness, sets))
            for a, b in zip(alone, together):
                np.testing.assert_array_equal(a, b)
        shared = rer.analyze(*sets[0])  # one result read by many
        columns = list(pool.map(lambda name: getattr(shared, name), ["rer", "mistakenness", "given_label"] * 8))
        np.testing.assert_array_equal(columns[0], columns[3])


def test_one_result_and_one_model_for_many_threads(tmp_path):
    """Without the interpreter's lock too, where nothing else keeps them apart."""
    X, y = clusters(n=2000, d=16, classes=4, planted=20)
    result = rer.analyze(X, y)
    result.save(tmp_path / "model.safetensors")
    model = rer.load(tmp_path / "model.safetensors")
    expected = result.mistakenness.tobytes(), model.score(X).rer.tobytes(), repr(rer.analyze(X, y))
    together = threading.Barrier(8)
    calls = []

    def work(place):
        together.wait()
        fresh = rer.analyze(X, y, n_jobs=1 + place % 2, progress=lambda *said: calls.append(said))
        assert fresh.mistakenness.tobytes() == expected[0]
        result.write(tmp_path / f"out{place}")
        assert len(result.suspects(20)) == 20 and result.classes["n"].sum() == 2000
        return result.mistakenness.tobytes(), model.score(X).rer.tobytes(), repr(result)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [expected] * 8
    assert len(calls) >= 8


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this interpreter has its lock")
def test_the_lock_stays_off():
    done = run_python("import sys, rer; sys.exit(sys._is_gil_enabled())")
    assert done.returncode == 0, done.stderr


def chi_of(seed):
    return rer.analyze(*clusters(n=2000, seed=seed)).chi


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_processes(method):
    expected = [chi_of(seed) for seed in range(3)]  # used before the fork, too
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(chi_of, range(3)) == expected


def test_fork_while_another_thread_works():
    code = """
        import os, threading, sys
        import numpy as np
        import rer
        X = np.random.default_rng(0).normal(size=(30_000, 256)).astype("f4")
        y = np.arange(len(X)) % 10
        works, seen = threading.Event(), threading.Event()
        def work():
            def progress(stage, share):
                works.set()
                if seen.is_set():
                    raise InterruptedError
            try:
                rer.analyze(X, y, n_jobs=1, progress=progress)
            except InterruptedError:
                pass
        thread = threading.Thread(target=work)
        thread.start()
        works.wait()
        for _ in range(3):
            child = os.fork()
            if child == 0:
                os._exit(0 if rer.analyze(X[:500], y[:500]).n_samples == 500 else 1)
            assert os.waitpid(child, 0)[1] == 0
        seen.set()
        thread.join()
    """
    done = run_python(code)
    assert done.returncode == 0, done.stderr


# ---- memory and time ----


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("calls", [80, pytest.param(1000, marks=pytest.mark.slow)])
def test_many_calls_do_not_grow(tmp_path, calls):
    X, y = clusters(n=1000, d=16, planted=10)
    names = np.array(["cat", "dog", "owl"])[y]
    bad = X.copy()
    bad[3, 3] = np.nan
    path = tmp_path / "model.safetensors"

    def once(i):
        result = rer.analyze(X, names, ids=map(str, range(1000)), class_names=["a", "b", "c"])
        result.to_dict(), result.classes, result.issues
        if i % 10 == 0:
            repr(result)
            result.save(path)
            rer.load(path).score(X).suggested_label
            result._repr_html_()
        for wrong in (lambda: rer.analyze(bad, y), lambda: rer.analyze(X, y, shrinkage=7), lambda: rer.load("no")):
            with pytest.raises((ValueError, OSError)):
                wrong()

    for i in range(30):
        once(i)
    grown, most = [], calls * 4096
    while len(grown) < 4 and not (grown and grown[-1] < most):  # a heap in pieces fills up once, a leak again
        gc.collect()
        before = resident()
        for i in range(calls):
            once(i)
        gc.collect()
        grown.append(resident() - before)
    # A leaked column of 1000 doubles would be 8 KB a call, a result 40.
    assert grown[-1] < most


def test_studies_do_not_grow(tmp_path):
    X, y = clusters(n=600, d=8, planted=10)
    probabilities = np.eye(3)[y] * .7 + .1
    pictures = np.zeros((600, 32, 32), np.uint8)
    rer.analyze(X, y).write(tmp_path / "run")

    def once():
        result = rer.analyze(X, y, groups=np.arange(600) // 2, pred_probs=probabilities.copy(), subsets=y,
                             images=pictures.copy(), texts=["text"] * 600, n_jobs=1)
        result.report(tmp_path / "report.html", images=pictures.copy())
        for study in (rer.scale(X, y, sizes=[20, 40, 80], repeats=1, n_jobs=1),
                      rer.bench(X, y, noise="none", bootstrap=0, detectors="rer,knn", human=[y], n_jobs=1),
                      rer.compare([tmp_path / "run", tmp_path / "run"])):
            for _ in range(20):
                study._study.json()
        rer.noise(y).labels
        rer.analyze(X, clusters=3, n_jobs=1)
        for wrong in (lambda: rer.analyze(X, y, pred_probs=probabilities[1:]), lambda: rer.scale(X, y, sizes=[1]),
                      lambda: rer.bench(X, y, human=[y, y[1:]]), lambda: rer.compare([tmp_path, tmp_path]),
                      lambda: rer.noise(y, rate=2), lambda: rer.analyze(X, y, images=pictures[1:])):
            with pytest.raises((ValueError, OSError)):
                wrong()

    for _ in range(5):
        once()
    gc.collect()
    before = resident()
    for _ in range(25):
        once()
    gc.collect()
    # Kept pictures would be 15 MB, texts of summaries 2.5.
    assert resident() - before < 2 << 20


def test_references_are_given_back():
    X, y = clusters()
    probabilities, pictures = np.eye(3)[y] * .7 + .1, np.zeros((300, 8, 8), np.uint8)
    for _ in range(3):
        for thing in (probabilities, pictures, y):
            before = sys.getrefcount(thing)
            result = rer.analyze(X, y, pred_probs=probabilities, images=pictures)
            result.report(os.devnull, images=pictures)
            rer.bench(X, y, noise="none", human=[y], detectors="rer,knn", bootstrap=0)
            with pytest.raises(ValueError):
                rer.bench(X, y, noise="none", human=[y, y[1:]], detectors="rer,knn", bootstrap=0)
            del result
            gc.collect()
            assert sys.getrefcount(thing) == before
    codes, data = y.astype(np.int32), make_dataset(X, y, {}).data
    before = sys.getrefcount(codes)
    for _ in range(3):
        _rer.bench(data, "rer,knn", [("a", codes)], {"noise": "none", "bootstrap": "0"}, None)
        with pytest.raises(ValueError, match="not one label for each of 300 rows"):
            _rer.bench(data, "rer,knn", [("a", codes), ("b", codes[1:])], {"noise": "none"}, None)
    assert sys.getrefcount(codes) == before
    names = ["a", "b", "c"]
    callback = lambda stage, share: None  # noqa: E731
    for thing in (X, y, names, callback):
        before = sys.getrefcount(thing)
        for _ in range(5):
            rer.analyze(X, y, class_names=names, progress=callback)
            with pytest.raises(ValueError):
                rer.analyze(X, y[:-1], class_names=names, progress=callback)
        gc.collect()
        assert sys.getrefcount(thing) == before


def test_large_memmap_needs_little_memory(tmp_path):
    """A matrix of 320 MiB within 200 MiB."""
    code = """
        import sys, threading
        import numpy as np
        import rer
        N, D = 5 << 15, 512  # the fewer columns, the sooner their scatter is summed
        X = np.lib.format.open_memmap(sys.argv[1], mode="w+", dtype="f4", shape=(N, D))
        y = np.arange(N) % 4
        some = np.random.default_rng(0).normal(size=(4096, D)) + 3 * np.eye(4, D)[y[:4096]]
        for first in range(0, N, 4096):
            X[first:first + 4096] = some
        del X
        X = np.load(sys.argv[1], mmap_mode="r")
        assert X.nbytes == 320 << 20
        rer.analyze(X[:4096], y[:4096]) # what is needed once

        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # forget the highest mark

        def status(name):
            with open("/proc/self/status") as file:
                return next(int(line.split()[1]) for line in file if line.startswith(name)) / 1024

        before = status("VmRSS")
        r = rer.analyze(X, y, normalize="none")
        assert r.n_samples == N
        print(status("VmHWM") - before)
    """
    done = run_python(code, tmp_path / "X.npy")
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 200
    os.remove(tmp_path / "X.npy")


def test_overhead_of_a_small_call():
    """What Python adds to the library's own time at 1,000 x 64."""
    X, y = clusters(n=1000, d=64)
    overhead = []
    for _ in range(30):
        start = time.perf_counter()
        result = rer.analyze(X, y)
        overhead.append(time.perf_counter() - start - result.summary["seconds"]["total"])
    assert sorted(overhead)[len(overhead) // 4] < 0.002


def test_memory_error(monkeypatch):
    code = """
        import resource
        import numpy as np
        import rer
        X = np.zeros((10, 20_000), "f4") + np.arange(10, dtype="f4")[:, None]
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        try:
            rer.analyze(X, np.arange(10) % 2, reconstructor="subspace", normalize="whiten")
        except MemoryError as error:
            print(error)
    """
    done = run_python(code, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    assert "out of memory" in done.stdout, done.stderr


def test_exit_while_a_thread_works():
    code = """
        import threading
        import numpy as np
        import rer
        X = np.random.default_rng(0).normal(size=(60_000, 256)).astype("f4")
        threading.Thread(target=rer.analyze, args=(X, np.arange(len(X)) % 10), daemon=True).start()
    """
    done = run_python(code)
    assert done.returncode in (0, -signal.SIGABRT) and "Segmentation" not in done.stderr
