"""What the research code released with the paper really does, measured again.

    python bench/released_code_evidence.py [--data DIR]

needs numpy and scipy, uses umap-learn where it is installed, and prints four
tables; it writes no file. DIR (default $RER_DATA) holds data/*.npy, the
features, and reference/*.neg.npz, what the released code returned on them.

1. The curve 1 / (1 + a d^2b) that umap-learn fits for spread 25, min_dist 24
   has negative a and b.
2. With such a pair the loss is NaN for latent points that are close, and the
   first batch has such points. From then on the encoder is NaN, the decoder
   sees zeros, and only its output bias learns.
3. So each class "autoencoder" is one constant vector, sigmoid(bias), on its
   way from 1/2 to the class mean. A few lines that compute only this constant
   give the error matrix of the released code.
4. How well its ratios and those of left-out centroids find wrong labels.
"""
import argparse
import glob
import os
import sys
import warnings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np
from scipy.optimize import curve_fit, least_squares
from scipy.stats import rankdata

# What umap-learn returned when the released code was run, two tries. The
# result of a fit this ill-posed depends on the version of scipy.
RELEASED_PAIRS = ((-0.0178, -21.7079), (-6.4706e-4, -27.64))
BATCH, REPORTS, PATIENCE = 64, 10, 6       # a NaN loss stops after 6 of 10 reports


# ---- 1. the curve ---------------------------------------------------------

def target_curve(spread, min_dist):
    x = np.linspace(0, 3 * spread, 300)
    return x, np.where(x < min_dist, 1, np.exp(-(x - min_dist) / spread))


def unconstrained_fit(spread, min_dist):
    """(a, b, who): umap-learn's answer, or the same least squares by scipy."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            import umap
            from umap.umap_ import find_ab_params
            return (*find_ab_params(spread, min_dist), "umap-learn " + umap.__version__)
        except ImportError:
            import scipy
            x, y = target_curve(spread, min_dist)
            (a, b), _ = curve_fit(lambda x, a, b: 1 / (1 + a * x ** (2 * b)), x, y)
            return a, b, f"scipy {scipy.__version__}, umap-learn is missing"


def well_posed_fit(spread, min_dist):
    """The same curve as 1 / (1 + (d / s)^2b), s > 0, b > 0: a = s^-2b."""
    x, y = target_curve(spread, min_dist)
    def residual(p):
        return 1 / (1 + (x / np.exp(p[0])) ** (2 * np.exp(p[1]))) - y
    s, b = np.exp(least_squares(residual, (np.log(spread), 0), xtol=1e-15, ftol=1e-15,
                             gtol=1e-15).x)
    return s ** (-2 * b), b


def show_curve():
    print("1. the curve 1 / (1 + a d^2b)")
    print("   %-18s %-34s %13s %10s" % ("spread, min_dist", "fitted by", "a", "b"))
    for pair in ((25., 24.), (1., .1)):
        a, b, who = unconstrained_fit(*pair)
        for who, a, b in ((who, a, b), ("s > 0, b > 0, a = s^-2b", *well_posed_fit(*pair))):
            print("   %-18s %-34s %13.5g %10.5f" % ("%g, %g" % pair, who, a, b))


# ---- 2. where the loss is NaN ---------------------------------------------

def first_latents(X, rng):
    """Codes of a fresh encoder D -> 256 ReLU -> 10 (Glorot uniform, no bias)."""
    for n_out, relu in ((256, True), (10, False)):
        bound = np.sqrt(6 / (X.shape[1] + n_out))
        X = X @ rng.uniform(-bound, bound, (X.shape[1], n_out))
        X = np.maximum(X, 0) if relu else X
    return X


def show_nan(measured, name="food10_clip_b32"):
    print("\n2. log1p(a d^2b), in single precision")
    d = np.arange(1, 3001, dtype=np.float32) / np.float32(1000)
    pairs = [unconstrained_fit(25., 24.)[:2], *RELEASED_PAIRS, well_posed_fit(25., 24.)]
    X, y = minmax(load(measured, name + "_X")), load(measured, name + "_y")
    rng = np.random.default_rng(0)
    X = X[y == 0]
    i, j = np.nonzero(edge_counts(X))
    batches = []
    for _ in range(200):                        # first batches, each from a fresh start
        Z, e = first_latents(X, rng), rng.integers(0, len(i), BATCH)
        batches.append(np.linalg.norm(Z[i[e]] - Z[j[e]], axis=1))
    batches = np.array(batches)
    print("   %12s %10s   %-22s %s" % ("a", "b", "NaN for d in", "first batches with a NaN"))
    for a, b in pairs:
        with np.errstate(all="ignore"):
            nan = np.isnan(np.log1p(np.float32(a) * d ** np.float32(2 * b)))
            hit = np.isnan(np.log1p(a * batches ** (2 * b))).any(1).mean()
        where = "%.3f .. %.3f" % (d[nan][0], d[nan][-1]) if nan.any() else "never (up to 3)"
        print("   %12.5g %10.4f   %-22s %3.0f %% of %d" % (a, b, where, 100 * hit, len(batches)))
    print("   (edges of class 0 of %s; latent distances %.2f to %.2f, median %.2f)"
          % (name, batches.min(), batches.max(), np.median(batches)))


# ---- 3. the constant ------------------------------------------------------

def load(measured, name):
    return np.load(os.path.join(measured, "data", name + ".npy"))


def minmax(X):
    X = X.astype(float)
    X -= X.min(0)
    top = X.max(0)
    return X / np.where(top > 0, top, 1)


def edge_counts(X):
    """How often edge (i, j) of the class's fuzzy neighbour graph is drawn, [n, n]."""
    n, k = len(X), min(40, len(X) - 1)                # k counts the sample itself
    q = (X * X).sum(1)
    d2 = q[:, None] + q - 2 * X @ X.T
    d2[d2 < 1e-12 * q.max()] = 0
    np.fill_diagonal(d2, -1)
    near = np.argsort(d2, 1, kind="stable")[:, :k]
    d = np.sqrt(np.maximum(np.take_along_axis(d2, near, 1), 0))
    rho = np.where(d > 0, d, np.inf).min(1, keepdims=True)
    over = np.maximum(d - rho, 0)
    lo, hi, sigma = np.zeros((n, 1)), np.full((n, 1), np.inf), np.ones((n, 1))
    for _ in range(64):
        total = np.exp(-over[:, 1:] / sigma).sum(1, keepdims=True)
        off = np.abs(total - np.log2(k)) >= 1e-5
        above = total > np.log2(k)
        hi, lo = np.where(off & above, sigma, hi), np.where(off & ~above, sigma, lo)
        middle = np.where(np.isinf(hi), 2 * sigma, (lo + np.where(np.isinf(hi), 0, hi)) / 2)
        sigma = np.where(off, middle, sigma)
    sigma = np.maximum(sigma, 1e-3 * d.mean(1, keepdims=True))
    W = np.zeros((n, n))
    np.put_along_axis(W, near, np.exp(-over / sigma), 1)
    np.fill_diagonal(W, 0)
    W = W + W.T - W * W.T
    W[W < W.max() / 20] = 0
    return np.floor(20 * W).astype(int)


def constant(mean, variance, steps):
    """sigmoid(bias) after Adam (1e-3) on 20 * mean squared error.

    `mean` is that of the samples the batches are drawn from. `variance` / 64
    is that of a batch's mean: it has no part in the expected step, but Adam
    divides by the root of the mean squared gradient, which it enlarges."""
    D = len(mean)
    bias, m, v = np.zeros(D), np.zeros(D), np.zeros(D)
    for t in range(1, steps + 1):
        s = 1 / (1 + np.exp(-bias))
        slope = 20 * 2 / D * s * (1 - s)
        g = slope * (s - mean)
        m += .1 * (g - m)
        v += .001 * (g * g + slope ** 2 * variance / BATCH - v)
        bias -= 1e-3 * np.sqrt(1 - .999 ** t) / (1 - .9 ** t) * m / (np.sqrt(v) + 1e-7)
    return 1 / (1 + np.exp(-bias))


def emulate(X, counts, y, how, reports=PATIENCE):
    """Errors [C, N]. `plain`: gradient at the class mean. `edges`: every sample
    counts as often as it heads an edge, and batches vary."""
    out = []
    for c, r in enumerate(counts):
        Xc = X[y == c]
        w = r.sum(1) / r.sum() if how == "edges" else np.full(len(Xc), 1 / len(Xc))
        mean = w @ Xc
        variance = w @ (Xc - mean) ** 2 if how == "edges" else 0
        steps = reports * max(1, int(r.sum() / BATCH / REPORTS))
        out.append(np.linalg.norm(X - constant(mean, variance, steps), axis=1))
    return np.array(out)


def ratio(E, y):
    """chi from errors [C, N]."""
    E, i = np.array(E, float), np.arange(len(y))
    own = E[y, i].copy()
    E[y, i] = np.inf
    return own / E.min(0)


def spearman(a, b):
    return np.corrcoef(rankdata(a), rankdata(b))[0, 1]


def auroc(score, bad):
    if not bad.any():
        return np.nan
    k = bad.sum()
    return (rankdata(score)[bad].sum() - k * (k + 1) / 2) / (k * (len(bad) - k))


# ---- 4. the left-out centroid ---------------------------------------------

def left_out_errors(X, y, a=.1):
    """Squared errors [C, N]: distance to class means in the pooled
    within-class metric with shrinkage a, sample i left out of both."""
    X = X.astype(float)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    n = np.bincount(y).astype(float)
    N, D, C, i = len(X), X.shape[1], len(n), np.arange(len(X))
    mu = np.stack([X[y == c].mean(0) for c in range(C)])
    r = X - mu[y]
    S = r.T @ r / (N - C)
    tau = np.trace(S) / D
    L = np.linalg.inv(np.linalg.cholesky((1 - a) * S + a * tau * np.eye(D))).T
    T, M = r @ L, (mu - mu.mean(0)) @ L
    own, h = (T * T).sum(1)[:, None], T @ M.T
    dh = h[i, y][:, None] - h
    between = ((M[:, None] - M[None]) ** 2).sum(-1)
    f = (n / (n - 1))[y][:, None]
    beta = (1 - a) / (N - C) * f
    den = 1 - beta * own
    d2 = own + 2 * dh + between[y] + (own + dh) ** 2 * beta / den
    d2[i, y] = (f * f * own / den)[:, 0]
    return d2.T


def show_runs(measured):
    paths = sorted(glob.glob(os.path.join(measured, "reference", "*.neg.npz")))
    print("\n3. the released code's errors against the constant alone, and "
          "4. AUROC for wrong labels")
    print("   %-30s %5s  %-17s  %-17s  %s" % ("", "", "class mean", "edge-weighted",
                                            "AUROC of chi"))
    print("   %-30s %5s  %8s %8s  %8s %8s  %8s %8s %8s" % (
        "run", "steps", "rel.dev.", "Spearman", "rel.dev.", "Spearman",
        "released", "constant", "left-out"))
    rows, stops = [], {}
    for path in paths:
        run = os.path.basename(path)[:-len(".neg.npz")]
        name = run.split(".")[0]
        golden = np.load(path)
        y, E, X = golden["y_noisy"], golden["error"], load(measured, name + "_X")
        bad = y != load(measured, name + "_y")
        U = minmax(X)
        counts = [edge_counts(U[y == c]) for c in range(len(E))]
        row = []
        for how in ("plain", "edges"):
            e = emulate(U, counts, y, how)
            row += [np.abs(e / E - 1).mean(), spearman(ratio(e, y), golden["chi"])]
        released, emulated = auroc(golden["chi"], bad), auroc(ratio(e, y), bad)
        left_out = auroc(ratio(left_out_errors(X, y), y), bad) if bad.any() else np.nan
        steps = np.median([PATIENCE * int(r.sum() / BATCH / REPORTS) for r in counts])
        print(("   %-30s %5.0f  %8.5f %8.5f  %8.5f %8.5f  %8.4f %8.4f %8.4f" % (
            run, steps, *row, released, emulated, left_out)).replace(" nan", "   -"), flush=True)
        rows.append(row)
        for reports in (4, 5, 6, 7, 10):
            e = emulate(U, counts, y, "edges", reports)
            stops.setdefault(reports, []).append(np.abs(e / E - 1).mean())
    print("   %-30s %5s  %8.5f %8.5f  %8.5f %8.5f" % ("mean", "", *np.mean(rows, 0)))
    print("   rel.dev.: mean |Delta / released - 1|; steps: median over classes; left-out: "
          "shrinkage .1\n   rel.dev. (edge-weighted, mean of the runs) had training stopped "
          "after another number of reports:\n     "
          + ", ".join("%d: %.4f" % (k, np.mean(v)) for k, v in stops.items()))


def main():
    parser = argparse.ArgumentParser(description="Repeats the measurements behind docs/methods.md, "
                                                 "'What the released research code does'.")
    parser.add_argument("--data", default=os.environ.get("RER_DATA", ""),
                        help="folder with data/ and reference/ (default: $RER_DATA)")
    measured = parser.parse_args().data
    show_curve()
    if not glob.glob(os.path.join(measured, "reference", "*.neg.npz")):
        print("skipped: no data; RER_DATA or --data names its folder")
        return 77
    show_nan(measured)
    show_runs(measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())
