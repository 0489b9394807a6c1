"""Makes reference.json, other people's numbers that the tests of the autoencoder compare with.

    make_reference.py [FILE]        needs tensorflow (or another backend of Keras) and umap-learn

graph: umap-learn's fuzzy_simplicial_set of small data sets, with exact neighbours: head, tail, weight
       and how often the edge is drawn (those never drawn are left out; head < tail).
steps: a few training steps of umap-learn's UMAPModel (its loss, Keras' gradients and Adam) on one
       batch, in double, with the shuffle of the negative samples given instead of drawn.
Data are whole numbers over 1024, which float holds exactly. The tests only read the file: neither
package is needed to run them."""
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy as np
import umap
from umap.parametric_umap import UMAPModel, get_graph_elements
from umap.umap_ import fuzzy_simplicial_set

SCALE, EPOCHS, NEGATIVES = 1024, 20, 5

# ---- graph ---------------------------------------------------------------------------------

GRAPHS = (  # name, n, D, k, metric, rows that repeat the first ones
    ("euclidean", 40, 6, 8, "euclidean", 0),
    ("cosine", 40, 6, 8, "cosine", 0),
    ("duplicates", 30, 5, 7, "euclidean", 12),
    ("many duplicates", 16, 4, 4, "euclidean", 8),
    ("duplicates, cosine", 30, 5, 7, "cosine", 12),
    ("more neighbours than rows", 12, 6, 40, "euclidean", 0),
    ("two rows", 2, 4, 40, "euclidean", 0),
    ("three rows", 3, 4, 40, "euclidean", 0),
    ("five rows", 5, 4, 40, "euclidean", 0),
    ("five equal rows", 5, 4, 40, "euclidean", 4),
    ("least sigma", 7, 1, 6, "euclidean", 0),
)


def make_rows(rng, n, D, repeated, name):
    if name == "least sigma":       # two neighbours, nearly as far as each other, behind three equal rows
        return np.array([[0], [0], [0], [0], [4000], [4001], [9000]])
    X = rng.integers(1, SCALE, (n, D))
    for i in range(repeated):       # of the first rows, a few times each
        X[n - 1 - i] = X[i % (1 if name == "five equal rows" else max(1, repeated // 3))]
    return X


def make_graph(rng, name, n, D, k, metric, repeated):
    whole = make_rows(rng, n, D, repeated, name)
    X = whole / SCALE
    if metric == "cosine":
        U = X / np.linalg.norm(X, axis=1, keepdims=True)
        d = np.abs(1 - U @ U.T)
    else:
        d = np.linalg.norm(X[:, None] - X[None], axis=2)
    d = np.round(d, 12)             # equal rows are equally far: the lower index comes first
    k_used = min(k, n - 1)
    edges = []
    if k_used > 1:
        np.fill_diagonal(d, -1)     # a row comes first among its own neighbours
        near = np.argsort(d, axis=1, kind="stable")[:, :k_used]
        np.fill_diagonal(d, 0)
        graph = fuzzy_simplicial_set(X, k_used, np.random.RandomState(0), metric, knn_indices=near,
                                     knn_dists=np.take_along_axis(d, near, 1).astype("f4"))[0]
        _, draws, head, tail, weight, _ = get_graph_elements(graph, EPOCHS)
        edges = [[int(i), int(j), float("%.6g" % w), int(times)]
                 for i, j, w, times in zip(head, tail, weight, draws) if i < j and int(times) > 0]
    return {"name": name, "n": n, "D": D, "k": k, "metric": metric, "x": whole.ravel().tolist(), "edges": edges}


# ---- steps ---------------------------------------------------------------------------------

STEPS = (  # name, hidden, a, b, weight
    ("as the paper has it", [5], 1.577, .8951, 20.),
    ("two hidden layers", [6, 4], .05, 1.3, 20.),
    ("gradients beyond the clip", [5], 1.577, .8951, 3000.),
    ("the layout alone", [5], .6, .45, 0.),
)
D, Z, B, TIMES, L2 = 7, 3, 6, 3, 1 / SCALE


def make_networks(hidden):
    def dense(units, **options):
        return keras.layers.Dense(units, kernel_regularizer=keras.regularizers.L2(L2), **options)
    encoder = keras.Sequential([keras.layers.Input((D,))] + [dense(h, activation="relu") for h in hidden] + [dense(Z)])
    decoder = keras.Sequential([keras.layers.Input((Z,))] + [dense(h, activation="relu") for h in hidden[::-1]]
                               + [keras.layers.Dense(D, activation="sigmoid")])
    return encoder, decoder


def parameters(encoder, decoder):
    return [float(v) for net in (encoder, decoder) for layer in net.get_weights() for v in np.ravel(layer)]


def set_parameters(network, rng):
    network.set_weights([np.round(SCALE * .6 * rng.standard_normal(w.shape)) / SCALE for w in network.get_weights()])


def make_steps(rng, name, hidden, a, b, weight):
    encoder, decoder = make_networks(hidden)
    for network in (encoder, decoder):
        set_parameters(network, rng)
    model = UMAPModel(a, b, NEGATIVES, encoder, decoder, parametric_reconstruction=True, autoencoder_loss=True,
                      parametric_reconstruction_loss_fn=keras.losses.MeanSquaredError(),
                      parametric_reconstruction_loss_weight=weight,
                      optimizer=keras.optimizers.Adam(1e-3, clipvalue=4.0))
    whole, order = rng.integers(0, SCALE, (2 * B, D)), rng.permutation(NEGATIVES * B)
    keras.random.shuffle = lambda values, seed: keras.ops.convert_to_tensor(order)
    x = whole / SCALE
    start, losses, weights = parameters(encoder, decoder), [], []
    for _ in range(TIMES):
        model.reset_metrics()
        losses.append(float(model.train_on_batch((x[:B], x[B:]), {"umap": np.zeros(B), "reconstruction": x[:B]})))
        weights.append([float("%.8g" % w) for w in parameters(encoder, decoder)])
    return {"name": name, "hidden": hidden, "a": a, "b": b, "weight": weight, "l2": L2, "D": D, "Z": Z, "B": B,
            "x": whole.ravel().tolist(), "order": order.tolist(), "start": [round(w * SCALE) for w in start],
            "losses": losses, "first": weights[0], "last": weights[-1]}


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference.json")
    keras.config.set_floatx("float64")
    made = {
        "made_by": "make_reference.py with umap-learn %s, Keras %s" % (umap.__version__, keras.__version__),
        "scale": SCALE,
        "graphs": [make_graph(np.random.default_rng(seed), *case) for seed, case in enumerate(GRAPHS)],
        "steps": [make_steps(np.random.default_rng(100 + seed), *case) for seed, case in enumerate(STEPS)],
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(made, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
