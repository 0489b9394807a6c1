"""The autoencoder beside what the paper's code runs: umap-learn's ParametricUMAP on TensorFlow.

    python bench/against_tensorflow.py [--rer PATH] [--data DIR] [--venv DIR] [--rounds N] [SET...]

Both train one network for each class of food10 and dtd (10 % of the labels wrong, as in the golden
runs), with the same settings, graph, batches and early stopping, and then take every sample's error
for every class: `rer analyze --reconstructor autoencoder --folds 1` with two threads, and two
processes of one thread each that share out the classes, as the paper's code does. They take turns.

The packages (tensorflow-cpu, umap-learn) go into an environment of their own, --venv (default
build/tensorflow). Bar: a whole run at least 3 times as fast, the import of TensorFlow not counted.
The floor is the flop of the training's matrix products at the rate of a large product.

Exit status: 0 bars met, 1 missed, 77 no data or the packages cannot be had.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SETS = {"food10": "food10_clip_b32.sym.intended", "dtd": "dtd_clip_b32.sym.intended"}
WORKERS, BAR = 2, 3.0
A, B = 7.4673e-7, 1.87817           # the curve of spread 25 and min-dist 24
HIDDEN, Z, BATCH = 256, 10, 64


def step_flop(D):
    """Matrix products of a step: forward, gradient of the weights, gradient of the input."""
    encoder = 2 * 2 * BATCH * (2 * D * HIDDEN + 3 * HIDDEN * Z)
    return encoder + 2 * BATCH * 3 * (Z * HIDDEN + HIDDEN * D)


# ---- in the other environment --------------------------------------------------------------

def worker(arguments):
    """Trains every WORKERS-th class and prints {seconds, steps, rate}."""
    features, labels, first = arguments[0], arguments[1], int(arguments[2])
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    import warnings
    warnings.filterwarnings("ignore")
    import numpy as np
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    import keras
    from umap.parametric_umap import ParametricUMAP

    start = time.time()
    X, y = np.load(features).astype("f4"), np.load(labels)
    low, high = X.min(0), X.max(0)
    X = (X - low) / np.where(high > low, high - low, 1)
    D, steps = X.shape[1], 0

    def dense(units, activation=None, l2=1e-6):
        return keras.layers.Dense(units, activation=activation, kernel_regularizer=keras.regularizers.L2(l2) if l2 else None)

    for c in range(first, int(y.max()) + 1, WORKERS):
        rows = X[y == c]
        encoder = keras.Sequential([keras.layers.Input((D,)), dense(HIDDEN, "relu"), keras.layers.Dropout(.01), dense(Z)])
        decoder = keras.Sequential([keras.layers.Input((Z,)), dense(HIDDEN, "relu"), keras.layers.Dropout(.01),
                                    dense(D, "sigmoid", 0)])
        stop = keras.callbacks.EarlyStopping(monitor="loss", min_delta=5e-3, patience=5)
        model = ParametricUMAP(n_neighbors=min(40, len(rows) - 1), n_components=Z, n_epochs=20, a=A, b=B, batch_size=BATCH,
                               encoder=encoder, decoder=decoder, parametric_reconstruction=True, autoencoder_loss=True,
                               parametric_reconstruction_loss_fcn=keras.losses.MeanSquaredError(),
                               parametric_reconstruction_loss_weight=20.0, verbose=False,
                               keras_fit_kwargs={"callbacks": [stop], "verbose": 0})
        model.fit(rows)
        errors = np.linalg.norm(X - decoder.predict(encoder.predict(X, batch_size=1024, verbose=0), batch_size=1024,
                                                    verbose=0), axis=1)
        assert np.isfinite(errors).all()
        steps += int(model.optimizer.iterations)
    seconds = time.time() - start
    square = tf.random.uniform((1024, 1024))
    rates = []
    for _ in range(8):
        began = time.time()
        tf.linalg.matmul(square, square).numpy()
        rates.append(2 * 1024 ** 3 / (time.time() - began))
    print(json.dumps({"seconds": seconds, "steps": steps, "rate": statistics.median(rates), "D": D}))


# ---- here ----------------------------------------------------------------------------------

def make_environment(path):
    """Its interpreter, or None where the packages cannot be had."""
    python = os.path.join(path, "bin", "python")
    try:
        if not os.path.exists(python):
            subprocess.run([sys.executable, "-m", "venv", path], check=True)
        has = subprocess.run([python, "-c", "import importlib.util as u; assert all(map(u.find_spec, ('tensorflow', 'umap', 'keras')))"],
                             capture_output=True, check=False).returncode == 0
        if not has:
            subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "tensorflow-cpu",
                            "umap-learn"], check=True)
        return python
    except (OSError, subprocess.CalledProcessError) as error:
        print("SKIPPED: no TensorFlow:", error)
        return None


def save_labels(python, measured, run, path):
    code = "import sys, numpy as np; np.save(sys.argv[2], np.load(sys.argv[1])['y_noisy'].astype('i4'))"
    subprocess.run([python, "-c", code, os.path.join(measured, "reference", run + ".npz"), path], check=True)


def run_tensorflow(python, features, labels):
    start = time.time()
    processes = [subprocess.Popen([python, os.path.abspath(__file__), "--worker", features, labels, str(first)],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for first in range(WORKERS)]
    outputs = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        sys.exit("a TensorFlow worker failed")
    told = [json.loads(output.splitlines()[-1]) for output in outputs]
    return {"whole": time.time() - start, "seconds": max(each["seconds"] for each in told),
            "steps": sum(each["steps"] for each in told), "rate": sum(each["rate"] for each in told), "D": told[0]["D"]}


def run_rer(rer, features, labels):
    start = time.time()
    subprocess.run([rer, "analyze", features, labels, "--reconstructor", "autoencoder", "--folds", "1", "--threads",
                    str(WORKERS), "--quiet"], check=True)
    return time.time() - start


def measure(name, python, rer, measured, rounds):
    run = SETS[name]
    features = os.path.join(measured, "data", run.split(".")[0] + "_X.npy")
    with tempfile.TemporaryDirectory(prefix="rer-tensorflow-") as folder:
        labels = os.path.join(folder, "y.npy")
        save_labels(python, measured, run, labels)
        pairs = [(run_rer(rer, features, labels), run_tensorflow(python, features, labels)) for _ in range(rounds)]
    ours = statistics.median(pair[0] for pair in pairs)
    theirs, whole = (statistics.median(pair[1][key] for pair in pairs) for key in ("seconds", "whole"))
    told = pairs[0][1]
    floor = told["steps"] * step_flop(told["D"]) / told["rate"]
    ratio = statistics.median(pair[1]["seconds"] / pair[0] for pair in pairs)
    print("%s: rer %.1f s, TensorFlow %.1f s (%.1f s with its import); %d steps, floor %.1f s at %.0f Gflop/s:"
          % (name, ours, theirs, whole, told["steps"], floor, told["rate"] / 1e9))
    print("  %.1f times as fast (bar %.0f); the floor allows %.1f" % (ratio, BAR, theirs / floor), flush=True)
    return ratio >= BAR


def main():
    if sys.argv[1:2] == ["--worker"]:
        return worker(sys.argv[2:])
    parser = argparse.ArgumentParser(description="Training speed beside ParametricUMAP on TensorFlow.")
    parser.add_argument("sets", nargs="*", metavar="SET", help="food10, dtd (default: both)")
    parser.add_argument("--rer", default=os.path.join(ROOT, "build", "cli", "rer"))
    parser.add_argument("--data", default=os.environ.get("RER_DATA", ""))
    parser.add_argument("--venv", default=os.path.join(ROOT, "build", "tensorflow"))
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if not os.path.isdir(os.path.join(given.data, "data")):
        print("SKIPPED: no data; RER_DATA or --data names its folder")
        return 77
    python = make_environment(given.venv)
    if python is None:
        return 77
    met = [measure(name, python, given.rer, given.data, given.rounds) for name in given.sets or SETS]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
