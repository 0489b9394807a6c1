"""The subspace reconstructor against numpy's SVD, fold by fold, on made data.

The whole matrix that --errors writes is worked out again in double: bases by SVD, the metric
without each row by a refit of the covariance, errors from the reconstructions themselves.
RER_COMMAND names the program, RER_LIST_ORDER the helper that tells the random order of the rows."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../reference"))
import prototype

COMMAND, LIST_ORDER = os.environ["RER_COMMAND"], os.environ["RER_LIST_ORDER"]


# ---- the errors once more ------------------------------------------------------------------

def normalize(X, y, kind):
    X = X.astype(float)
    if kind == "minmax":
        low, high = X[y >= 0].min(0), X[y >= 0].max(0)
        return np.clip((X - low) / np.where(high > low, high - low, np.inf), 0, 1)
    return X if kind == "none" else prototype.default_rows(X, y >= 0) if kind == "whiten" else prototype.unit_rows(X)


def covariance(X, y, a):
    """S_a of all rows; what row i would take out of it by itself: weight and its residual."""
    C = y.max() + 1
    dof = (y >= 0).sum() - C
    means = np.stack([X[y == c].mean(0) for c in range(C)])
    R = np.where((y >= 0)[:, None], X - means[y], 0)
    S = R.T @ R / dof
    return (1 - a) * S + a * np.trace(S) / X.shape[1] * np.eye(X.shape[1]), R, (1 - a) / dof


class Subspace:
    """Mean and at most `rank` principal directions of rows that are in the coordinates of the metric."""

    def __init__(self, Z, rank):
        self.mean = Z.mean(0)
        _, size, V = np.linalg.svd(Z - self.mean, full_matrices=False)
        rank = min(rank, len(Z) - 1)
        self.V = V[:rank][size[:rank] > max(1e-6 * size[0], 1e-9)]  # not what rounding makes of equal rows

    def residual(self, z):
        v = z - self.mean
        return v - self.V.T @ (self.V @ v)


def subset(rows, fraction):
    return rows[:min(len(rows), max(2, int(np.ceil(fraction * len(rows)))))]


def errors(X, y, order, kind, rank, folds, a=.1, fraction=1):
    """E [C, N]; order [N]: the place of each row in the random order of its class."""
    X, C = normalize(X, y, kind), y.max() + 1
    D = X.shape[1]
    S, R, weight = covariance(X, y, a) if kind == "whiten" else (np.eye(D), None, 0)
    root = np.linalg.cholesky(S)
    Z = np.linalg.solve(root, (X - X[y >= 0].mean(0)).T).T
    rows = [np.flatnonzero(y == c)[np.argsort(order[y == c])] for c in range(C)]
    models = [Subspace(Z[subset(r, fraction)], rank) for r in rows]
    without = {(c, f): Subspace(Z[subset(np.delete(rows[c], np.s_[f::folds]), fraction)], rank)
               for c in range(C) if folds > 1 and len(rows[c]) > 1 for f in range(min(folds, len(rows[c])))}
    E = np.empty((C, len(X)))
    for i, z in enumerate(Z):
        n = len(rows[y[i]]) if y[i] >= 0 else 0
        left_out = S
        if weight > 0 and folds > 1 and n > 1:
            left_out = S - weight * n / (n - 1) * np.outer(R[i], R[i])
        for k in range(C):
            model = models[k]
            if k == y[i] and folds > 1:
                model = without.get((k, order[i] % folds))
            e = root @ model.residual(z) if model else np.full(D, np.nan)
            E[k, i] = np.sqrt(e @ np.linalg.solve(left_out, e))
    return E


# ---- made data -----------------------------------------------------------------------------

def make_data(n=240, d=12, classes=5, seed=0, planted=.1, unlabelled=10, offset=1.0, small=True,
              apart=1.0):
    """Classes with directions of their own, some rows mislabelled, some without a label; with `small`
    classes of 1, 2 and 3 samples besides; `apart`: how far apart the means are."""
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, n)
    spread = random.normal(size=(classes, d, d)) * 2.0 ** -np.arange(d)
    X = apart * random.normal(size=(classes, d))[y] + np.einsum("nij,nj->ni", spread[y], random.normal(size=(n, d)))
    X += .3 * random.normal(size=(n, d)) + offset
    moved = random.random(n) < planted
    y[moved] = (y[moved] + random.integers(1, classes, moved.sum())) % classes
    y[n - unlabelled:] = -1
    if small:
        y[:6] = [classes, classes + 1, classes + 1, classes + 2, classes + 2, classes + 2]
    return X.astype("f4"), y


class AgainstSvd(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="rer-subspace-")
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_rer(self, *arguments, code=0):
        done = subprocess.run([COMMAND, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
                              timeout=1800)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def save(self, X, y):
        np.save(self.path("X.npy"), X)
        np.save(self.path("y.npy"), y)

    def analyze(self, *options):
        """Errors [C, N] and summary of the saved data."""
        self.run_rer("analyze", "X.npy", "y.npy", "--reconstructor", "subspace", "--out", "out", "--errors", "E.npy",
                     "--quiet", *options)
        with open(self.path("out/summary.json"), encoding="utf-8") as file:
            return np.load(self.path("E.npy")), json.load(file)

    def order(self, seed=0):
        done = subprocess.run([LIST_ORDER, "X.npy", "y.npy", str(seed)], cwd=self.folder, capture_output=True,
                              text=True, check=True)
        return np.array(done.stdout.split(), int)

    def near(self, got, want, what):
        """To 1e-4 of the error itself, or 1e-6 of the mean error: a perfect reconstruction is never quite 0."""
        self.assertEqual(got.shape, want.shape)
        self.assertTrue((np.isnan(got) == np.isnan(want)).all(), what)
        worst = np.nanmax(np.abs(got - want) / (want + 1e-2 * np.nanmean(want)))
        self.assertLess(worst, 1e-4, what)

    def compare(self, X, y, kind, rank, folds, fraction=1, a=.1, seed=0):
        self.save(X, y)
        shrinkage = ["--shrinkage", a] if kind == "whiten" else []
        E, summary = self.analyze("--normalize", kind, "--rank", rank, "--folds", folds, "--fit-fraction", fraction,
                                  "--seed", seed, *shrinkage)
        want = errors(X, y, self.order(seed), kind, rank, folds, a, fraction)
        self.near(E, want, f"{kind}, rank {rank}, {folds} folds, fraction {fraction}")
        self.assertEqual(summary["rank"], rank)

    def test_metrics_ranks_and_folds(self):
        X, y = make_data()
        for kind in ("whiten", "minmax", "unit", "none"):
            for rank in (0, 1, 4):
                for folds in (5, 1):
                    self.compare(X, y, kind, rank, folds)

    def test_other_folds_and_seeds(self):
        X, y = make_data(seed=1)
        self.compare(X, y, "whiten", 2, 2, seed=3)
        self.compare(X, y, "whiten", 2, 10, seed=4)

    def test_a_share_of_the_rows(self):
        X, y = make_data(seed=2)
        self.compare(X, y, "whiten", 2, 5, fraction=.5)
        self.compare(X, y, "minmax", 2, 1, fraction=.5)

    def test_more_features_than_rows(self):
        X, y = make_data(n=60, d=80, classes=3, seed=3, unlabelled=2)
        for folds in (5, 1):
            self.compare(X, y, "whiten", 4, folds)
        self.compare(X, y, "minmax", 4, 5)

    def test_fewer_rows_than_features_in_a_class(self):
        """The Gram matrix where all rows are still many enough for float."""
        self.compare(*make_data(n=700, d=40, classes=30, seed=4), "whiten", 3, 5)

    def test_more_rows_than_a_block(self):
        self.compare(*make_data(n=2600, d=10, classes=2, seed=5), "whiten", 3, 5)

    def test_an_offset_and_classes_far_apart(self):
        X, y = make_data(n=400, seed=6, offset=1000)
        self.compare(X, y, "whiten", 2, 5)
        self.compare(X + np.float32(300) * y[:, None] * (y[:, None] >= 0), y, "none", 2, 5)

    def test_one_direction_above_all(self):
        """Errors far below the distances that they are the rest of."""
        X, y = make_data(n=400, seed=7)
        X[:, 3] *= 1000
        for rank in (1, 3):
            self.compare(X, y, "none", rank, 5)

    def test_identical_rows(self):
        """A class without any variance has no direction."""
        X, y = make_data(seed=8)
        X[y == 2] = X[y == 2][0]
        self.compare(X, y, "whiten", 2, 5)
        self.compare(X, y, "none", 2, 1)

    def test_many_classes(self):
        """Past a tile of classes, and past what is kept of their pairs."""
        X, y = make_data(n=9000, d=6, classes=2500, seed=9, small=False)
        y = np.where(y >= 0, np.unique(y, return_inverse=True)[1] - 1, -1)
        self.save(X, y)
        E, _ = self.analyze("--rank", 5, "--shrinkage", .1, "--probability", "density")
        some = np.r_[0:40, len(y) - 12:len(y)]
        self.near(E[:, some], errors_of_some(X, y, self.order(), 5, some), "many classes")

    # ---- what must not change a result ----------------------------------------------------

    def test_threads_and_memory(self):
        self.save(*make_data(n=2100, d=20, seed=10))
        E, summary = self.analyze("--threads", 1)
        for more in (["--threads", 2], ["--threads", 3], ["--threads", 2, "--memory", "6M"]):
            again, same = self.analyze(*more)
            self.assertEqual(E.tobytes(), again.tobytes(), more)
            for name in ("rank", "shrinkage", "temperature", "chi", "noise_rate"):
                self.assertEqual(summary[name], same[name], name)

    def test_a_saved_model(self):
        """Scored from the file: the bits of the analysis for other classes where nothing is left out
        (--folds 1); own errors are there worked out in another order."""
        for n, kind in ((1500, "whiten"), (1500, "minmax"), (60, "whiten")):
            X, y = make_data(n=n, d=16, seed=11)
            self.assertEqual(len(np.unique(y)), y.max() + 2)
            self.save(X, y)
            for rank in (0, 3):
                E, summary = self.analyze("--normalize", kind, "--rank", rank, "--folds", 1, "--save-model", "m.rer")
                self.run_rer("score", "m.rer", "X.npy", "y.npy", "--out", "out", "--errors", "S.npy",
                             "--quiet")
                S = np.load(self.path("S.npy"))
                others = np.arange(len(E))[:, None] != y
                np.testing.assert_array_equal(E[others], S[others])
                mean = np.nanmean(E)
                self.assertLess(np.nanmax(np.abs(E - S)), 1e-5 * mean)
                with open(self.path("out/summary.json"), encoding="utf-8") as file:
                    scored = json.load(file)
                self.assertEqual((scored["rank"], scored["reconstructor"]), (rank, "subspace"))
                self.assertEqual(scored["temperature"], summary["temperature"])

    # ---- the rank --------------------------------------------------------------------------

    def test_the_rank_is_found(self):
        """Classes that share their mean and differ in a plane."""
        random = np.random.default_rng(12)
        y = np.arange(1200) % 4
        planes = np.stack([np.linalg.qr(random.normal(size=(16, 2)))[0] for _ in range(4)])
        X = 3 * np.einsum("nij,nj->ni", planes[y], random.normal(size=(1200, 2))) + .3 * random.normal(size=(1200, 16))
        self.save(X.astype("f4"), y)
        E, summary = self.analyze("--normalize", "none")
        self.assertEqual(summary["rank"], 2)
        given, _ = self.analyze("--normalize", "none", "--rank", 2)
        self.assertEqual(E.tobytes(), given.tobytes())

    def test_the_rank_is_the_smallest_good_one(self):
        """By numpy, from the errors of each rank: within one standard error of the best likelihood, and no
        smaller one is. Few enough rows that all of them are asked. Where the means alone tell the classes
        apart, every small rank is as likely to the 6th digit: the mean has to do. A search for the best
        temperature may end on another top, up to 5e-4 away in these data."""
        ranks, slack = (0, 1, 2, 4, 8, 16), 5e-4
        for apart, seeds, found_among in ((1, (14, 15, 16), {0}), (.3, (14, 15), {2, 4})):
            for seed in seeds:
                X, y = make_data(n=900, d=24, seed=seed, unlabelled=0, small=False, apart=apart)
                self.save(X, y)
                logs = [row_logs(self.analyze("--shrinkage", .1, "--rank", rank)[0].T.astype(float) ** 2, y)
                        for rank in ranks]
                best = max(logs, key=np.mean)
                behind = np.array([np.mean(best - l) for l in logs])
                error = np.array([np.std(best - l) / len(y) ** .5 for l in logs])
                found = ranks.index(self.analyze("--shrinkage", .1)[1]["rank"])
                with self.subTest(apart=apart, seed=seed, found=ranks[found], behind=behind, error=error):
                    self.assertLess(behind[found], 1.05 * error[found] + slack)
                    self.assertTrue((behind[:found] > .95 * error[:found] - slack).all())
                    self.assertIn(ranks[found], found_among)

    def test_other_reconstructors_have_none(self):
        self.save(*make_data())
        self.run_rer("analyze", "X.npy", "y.npy", "--out", "out", "--quiet")
        with open(self.path("out/summary.json"), encoding="utf-8") as file:
            self.assertIsNone(json.load(file)["rank"])

    def test_bad_ranks(self):
        self.save(*make_data())
        command = ["analyze", "X.npy", "y.npy", "--reconstructor", "subspace", "--out", "out", "--quiet"]
        for rank, says in (("12", "from 0 to 11"), ("1.5", "whole number"), ("65", "--rank"), ("-1", "--rank")):
            self.assertIn(says, self.run_rer(*command, "--rank", rank, code=2))
        self.assertIn("--folds", self.run_rer(*command, "--folds", "1", code=2))

    def test_small_classes_only(self):
        """Three classes of two: nothing but the mean can be fitted without a row."""
        random = np.random.default_rng(13)
        X, y = random.normal(size=(6, 5)).astype("f4") + 3, np.arange(6) % 3
        self.compare(X, y, "whiten", 0, 5)
        self.compare(X, y, "unit", 1, 5)
        self.save(X, y)
        self.assertIn(self.analyze()[1]["rank"], (0, 1))


def row_logs(d2, y):
    """Log likelihood of each label at the best temperature and noise rate."""
    n, C = np.bincount(y), d2.shape[1]
    _, t, eta = prototype.best_t(d2, y, n)
    z = np.log(n) - t / 2 * d2
    p = np.exp(z[np.arange(len(y)), y] - prototype.logsumexp(z, axis=1))
    return np.log((1 - eta) * p + eta * (1 - p) / (C - 1))


def errors_of_some(X, y, order, rank, some):
    """errors() of a few rows, whiten, 5 folds, where all of them would take too long."""
    Z, C = normalize(X, y, "whiten"), y.max() + 1
    S, R, weight = covariance(Z, y, .1)
    root = np.linalg.cholesky(S)
    Z = np.linalg.solve(root, (Z - Z[y >= 0].mean(0)).T).T
    members = [np.flatnonzero(y == c) for c in range(C)]
    models = [Subspace(Z[r], rank) for r in members]
    E = np.empty((C, len(some)))
    for at, i in enumerate(some):
        e = np.stack([m.residual(Z[i]) for m in models])
        left_out = S
        if y[i] >= 0:
            mine = members[y[i]]
            rest = mine[order[mine] % 5 != order[i] % 5]
            e[y[i]] = Subspace(Z[rest], rank).residual(Z[i]) if len(rest) else np.nan
            if len(mine) > 1:
                left_out = S - weight * len(mine) / (len(mine) - 1) * np.outer(R[i], R[i])
        e = e @ root.T
        E[:, at] = np.sqrt((e * np.linalg.solve(left_out, e.T).T).sum(1))
    return E


if __name__ == "__main__":
    unittest.main()
