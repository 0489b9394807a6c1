"""Plain numpy (double) reference of spec 3.1, 4 and 5: exact leave-one-out
distances to class means in the pooled within-class metric, the ratios, and
the choice of shrinkage by the labels seen (channel.py: what else they say). Short and slow on purpose.

  prototype.py [check | bars | noise-rate]      (default: all three)
"""
import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np
from scipy.special import expit, logsumexp
from scipy.stats import rankdata

DATA = os.path.join(os.environ.get("RER_DATA", ""), "data")
GRID = (.02, .05, .1, .2, .3, .5, .7, .8, .9, .95)


# ---- 1. leave-one-out distances -------------------------------------------

def unit_rows(X):
    X = np.asarray(X, float)
    n = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(n > 0, n, 1)


def default_rows(X, labelled=slice(None)):
    """Those of `whiten`: where fewer than 64 features have a say, they are measurements, read in units of their own."""
    X = np.asarray(X, float)
    center, v = X[labelled].mean(0), X[labelled].var(0)
    if v.sum() ** 2 < 64 * (v ** 2).sum():
        X = np.column_stack([(X - center) / np.sqrt(np.where(v > 0, v, 1)), np.full(len(X), X.shape[1] ** .5)])
    return unit_rows(X)


class Fit:
    """Class means and pooled within-class scatter, W = V diag(s dof) V'.

    In the basis V every S_a is diagonal, so one decomposition serves all a.
    Rows are used as given: call default_rows first for `whiten`."""

    def __init__(self, X, y):
        X = np.asarray(X, float)
        self.y = np.asarray(y)
        self.n = np.bincount(self.y).astype(float)
        C, (N, D) = len(self.n), X.shape
        self.dof = N - C
        M = np.stack([X[self.y == c].mean(0) for c in range(C)])
        R = X - M[self.y]
        s, V = np.linalg.eigh(R.T @ R / self.dof)
        self.s = np.maximum(s, 0)
        self.tau = self.s.sum() / D
        self.R = R @ V
        # distances between means and h do not see a common shift of the
        # means; without the shift fewer digits are lost
        self.M = (M - M.mean(0)) @ V

    def d2(self, a, rows=slice(None)):
        """Left-out squared distances [rows, C]; NaN: own class of one."""
        s_a = (1 - a) * self.s + a * self.tau
        if s_a.min() <= 1e-12 * s_a.max():
            raise ValueError("S_a is singular: take a larger shrinkage")
        y, T, M = self.y[rows], self.R[rows] / np.sqrt(s_a), self.M / np.sqrt(s_a)
        n, i = self.n[y], np.arange(len(y))
        m = ((M[:, None] - M[None]) ** 2).sum(-1)
        own = (T * T).sum(1)
        h = T @ M.T
        dh = h[i, y][:, None] - h                      # h_c - h_k
        d2 = own[:, None] + 2 * dh + m[y]
        g = own[:, None] + dh
        f = np.where(n > 1, n / np.maximum(n - 1, 1), 0)
        beta = (1 - a) / self.dof * f                  # 0 for a class of one
        den = 1 - beta * own
        out = d2 + g * g * (beta / den)[:, None]
        out[i, y] = np.where(n > 1, f * f * own / den, np.nan)
        return out


def left_out_d2(X, y, a):
    return Fit(X, y).d2(a)


def left_out_d2_brute(X, y, a, i):
    """Row i of left_out_d2 by a refit without sample i; dof and tau are taken
    once from all data (the convention of spec 3.1)."""
    X, y = np.asarray(X, float), np.asarray(y)
    N, D, C = len(y), X.shape[1], y.max() + 1

    def means_and_scatter(X, y):
        M = np.full((C, D), np.nan)
        W = np.zeros((D, D))
        for c in np.unique(y):
            M[c] = X[y == c].mean(0)
            R = X[y == c] - M[c]
            W += R.T @ R
        return M, W

    dof = N - C
    tau = np.trace(means_and_scatter(X, y)[1]) / dof / D
    M, W = means_and_scatter(np.delete(X, i, 0), np.delete(y, i))
    S_a = (1 - a) * W / dof + a * tau * np.eye(D)
    out = np.full(C, np.nan)
    for k in range(C):
        if not np.isnan(M[k, 0]):
            out[k] = (X[i] - M[k]) @ np.linalg.solve(S_a, X[i] - M[k])
    return out


# ---- 2. ratios ------------------------------------------------------------

def own_and_other(E, y):
    """Own-class entry, smallest other entry and where it is."""
    i = np.arange(len(y))
    O = np.where(np.isnan(E), np.inf, E)
    O[i, y] = np.inf
    k = O.argmin(1)
    return E[i, y], O[i, k], k


def ratios(Delta, y):
    """A dict: chi per sample (NaN: own missing), and per dataset chi_mean,
    chi0, chi_rand, eta, error_rate. Means are over the samples with an own
    error. Errors below 1e-12 of the mean error count as that: 0 / 0 is 1."""
    y = np.asarray(y)
    D = np.where(np.isnan(Delta), np.nan,
                 np.maximum(Delta, 1e-12 * np.nanmean(Delta)))
    own, other, _ = own_and_other(D, y)
    chi = own / other
    ok = ~np.isnan(own)
    best = np.nanmin(D, 1)
    rest = (np.nansum(D, 1) - best) / ((~np.isnan(D)).sum(1) - 1)
    chi0, chi_rand = (own / rest)[ok].mean(), (best / rest)[ok].mean()
    eta = (chi0 - chi_rand) / (1 - chi_rand) if chi_rand < 1 else 0.
    return dict(chi=chi, chi_mean=chi[ok].mean(), chi0=chi0, chi_rand=chi_rand,
                eta=eta, error_rate=(np.nanargmin(D, 1) != y)[ok].mean())


# ---- 3. noise -------------------------------------------------------------

def noise(y, kind, rate, seed):
    """Labels with exactly round(rate * N) of them changed."""
    y = np.array(y)
    rng, C = np.random.default_rng(seed), y.max() + 1
    i = rng.choice(len(y), int(np.floor(rate * len(y) + .5)), replace=False)
    if kind == "symmetric":
        y[i] = (y[i] + rng.integers(1, C, len(i))) % C
    elif kind == "asymmetric":
        y[i] = (y[i] + 1) % C
    else:
        raise ValueError(kind)
    return y


# ---- 4. choice of a, t, eta -----------------------------------------------

def subsample(y, size, seed):
    """At most `size` rows, the same share of every class (largest remainder)."""
    y = np.asarray(y)
    if len(y) <= size:
        return np.arange(len(y))
    rng, n = np.random.default_rng(seed), np.bincount(y)
    want = n * (size / len(y))
    take = np.floor(want).astype(int)
    take[np.argsort(take - want, kind="stable")[:size - take.sum()]] += 1
    return np.sort(np.concatenate([
        rng.choice(np.flatnonzero(y == c), take[c], replace=False)
        for c in range(len(n))]))


def best_eta(p, C):
    """argmax over eta of mean log[(1 - eta) p + eta (1 - p) / (C - 1)].
    Concave: bisection on the slope. At most (C - 1) / C (labels at random)."""
    q = (1 - p) / (C - 1)
    slope = lambda e: np.mean((q - p) / ((1 - e) * p + e * q))
    lo, hi = 0., (C - 1) / C
    if slope(1e-12) <= 0:
        return 0.
    if slope(hi) >= 0:
        return hi
    for _ in range(40):
        mid = (lo + hi) / 2
        lo, hi = (mid, hi) if slope(mid) > 0 else (lo, mid)
    return (lo + hi) / 2


def likelihood(d2, y, n, t, eta=None):
    """(L, eta) at temperature t with the best eta, or the given one."""
    C = len(n)
    z = np.log(n) - t / 2 * d2
    p = np.exp(z[np.arange(len(y)), y] - logsumexp(z, axis=1))
    p = np.clip(p, 1e-300, 1)
    eta = best_eta(p, C) if eta is None else eta
    return np.mean(np.log((1 - eta) * p + eta * (1 - p) / (C - 1))), eta


def best_t(d2, y, n, eta=None):
    """(L, t, eta), eta found or given: a grid on log t, then golden section around its best.
    The grid is in units of the mean gap between own and best other error."""
    ok = ~np.isnan(d2[np.arange(len(y)), y])
    d2, y = d2[ok], y[ok]
    d2 = d2 - d2.min(1, keepdims=True)
    unit = np.log(1 / np.mean(np.partition(d2, 1, axis=1)[:, 1]))
    f = lambda u: likelihood(d2, y, n, np.exp(u), eta)
    us = unit + np.linspace(-3, 5, 9)
    k = int(np.argmax([f(u)[0] for u in us]))
    lo, hi, r = us[max(k - 1, 0)], us[min(k + 1, 8)], (5 ** .5 - 1) / 2
    u, v = hi - r * (hi - lo), lo + r * (hi - lo)
    fu, fv = f(u)[0], f(v)[0]
    for _ in range(14):
        if fu > fv:
            hi, v, fv = v, u, fu
            u = hi - r * (hi - lo); fu = f(u)[0]
        else:
            lo, u, fu = u, v, fv
            v = lo + r * (hi - lo); fv = f(v)[0]
    u = (lo + hi) / 2
    return (f(u)[0], np.exp(u), f(u)[1])


def choose(fit, size=5000, seed=0, grid=GRID, power=.7):
    """The shrinkage whose left-out posteriors explain the labels best: the
    mean of p_c^power, over t too. The model is the one fitted on all rows;
    only its leave-one-out scores are limited to the subsample."""
    rows = subsample(fit.y, size, seed)
    y, log_n = fit.y[rows], np.log(fit.n)

    def value(a):
        d2 = fit.d2(a, rows)
        ok = ~np.isnan(d2[np.arange(len(y)), y])
        z, own = d2[ok], (np.arange(ok.sum()), y[ok])
        unit = np.log(1 / np.mean(np.diff(np.partition(z, 1, axis=1)[:, :2])))
        def mean(u):
            w = log_n - np.exp(u) / 2 * z
            return np.mean(np.exp(power * (w[own] - logsumexp(w, axis=1))))
        return max(mean(u) for u in unit + np.linspace(-3, 6, 37))

    return max(grid, key=value)


# ---- 5. figures -----------------------------------------------------------

def auroc(score, bad):
    ok = ~np.isnan(score)
    r, bad = rankdata(score[ok]), np.asarray(bad)[ok]
    k = bad.sum()
    return (r[bad].sum() - k * (k + 1) / 2) / (k * (len(bad) - k))


def load(name):
    return np.load(f"{DATA}/{name}.npy")


def evaluate(X, y, bad, **how):
    import channel
    fit = Fit(X, y)
    a = choose(fit, **how)
    d2 = fit.d2(a)
    r = ratios(np.sqrt(d2), y)
    m, rate, low, high, directed = channel.detect(d2, y)
    return dict(auroc_chi=auroc(r["chi"], bad) if bad.any() else np.nan,
                auroc=auroc(m, bad) if bad.any() else np.nan, a=a, noise_rate=rate,
                eta_paper=r["eta"], rate=bad.mean(), flagged=(m > .5).mean(), directed=directed)


def check():
    rng = np.random.default_rng(0)
    y = np.r_[np.repeat(np.arange(4), 15), np.repeat(4, 2), 5]     # 5: alone
    X = rng.normal(size=(len(y), 12)) + rng.normal(size=(6, 12))[y] + 3
    worst = 0
    for Z in (X, unit_rows(X)):
        for a in (0., .05, .5, .95):
            d2 = left_out_d2(Z, y, a)
            for i in range(len(y)):
                b = left_out_d2_brute(Z, y, a, i)
                assert (np.isnan(b) == np.isnan(d2[i])).all()
                worst = max(worst, np.nanmax(np.abs(d2[i] - b) / b))
    print(f"leave-one-out against refits: largest relative difference {worst:.1e}")
    assert worst < 1e-10


BARS = {"dtd": (.976, .970), "aircraft": (.962, .860), "flowers102": (.998, .990),
        "food10": (.998, .996), "aggre": .962, "random1": .975, "worse": .973}


def bars():
    row = "%-22s %7s %7s %6s %17s %19s %19s %6s"
    print(row % ("set", "chi", "mistak", "bar", "a", "noise rate", "eta paper", "true"))

    def show(name, rs, bar):
        lst = lambda k, f: "/".join(f % r[k] for r in rs)
        m = np.mean([r["auroc"] for r in rs])
        print(row % (name, "%.4f" % np.mean([r["auroc_chi"] for r in rs]),
                     "%.4f" % m, "%.3f" % bar if bar else "-", lst("a", "%g"),
                     lst("noise_rate", "%.3f"), lst("eta_paper", "%.3f"),
                     "%.3f" % rs[0]["rate"]),
              "" if not bar or m >= bar else "MISSED", flush=True)

    for name in ("dtd", "aircraft", "flowers102", "food10"):
        X, y = unit_rows(load(name + "_clip_b32_X")), load(name + "_clip_b32_y")
        for kind, bar in zip(("symmetric", "asymmetric"), BARS[name]):
            z = [noise(y, kind, .1, s) for s in range(3)]
            show(name + " " + kind, [evaluate(X, s, s != y) for s in z], bar)
    X, y = unit_rows(load("cifar10_effnet_X")), load("cifar10_effnet_y")
    for name in ("aggre", "random1", "random2", "random3", "worse"):
        z = load("cifar10_effnet_human_" + name)
        show("cifar10n " + name, [evaluate(X, z, z != y)], BARS.get(name))


def noise_rate():
    X, y = unit_rows(load("food10_clip_b32_X")), load("food10_clip_b32_y")
    base = evaluate(X, y, np.zeros(len(y), bool))
    print("food10 as it is: eta paper %.4f, noise rate %.4f (bar: at most .02)"
          % (base["eta_paper"], base["noise_rate"]))
    for rate in (.05, .1, .2, .3):
        rs = [evaluate(X, z, z != y) for z in
              (noise(y, "symmetric", rate, s) for s in range(3))]
        for k in ("eta_paper", "noise_rate"):
            want = rate + (1 - rate) * base[k]
            off = [r[k] - want for r in rs]
            print("  planted %.2f %-10s wanted %.4f, off by %s%s" % (
                rate, k, want, " ".join("%+.4f" % o for o in off),
                "" if max(map(abs, off)) <= .02 else "  MISSED"), flush=True)


if __name__ == "__main__":
    t0 = time.time()
    for what in sys.argv[1:] or ("check", "bars", "noise-rate"):
        {"check": check, "bars": bars, "noise-rate": noise_rate}[what]()
    print("%.0f s" % (time.time() - t0))
