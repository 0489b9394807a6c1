"""The noise channel of docs/methods.md once more, plainly and in double: what the labels seen say of
each label, given left-out squared errors d2 [N, C] of all rows and the labels y [N]."""
import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax, logsumexp, softmax

import prototype

SHARPNESS, GAIN, POWER, PSEUDO, ROUNDS, SEARCH_ROUNDS, BEYOND, ONE_WAY = 2, .02, .7, 10, 16, 36, 2, .5
WEIGHT_ROUNDS, LABELS_A_CLASS, FACTOR, STEADYING, UNCERTAIN = 30, 20, 1.0595, 50, .05


def golden(f, low, high, steps):
    r = (5 ** .5 - 1) / 2
    x = [high - r * (high - low), low + r * (high - low)]
    y = [f(x[0]), f(x[1])]
    for _ in range(steps):
        if y[0] > y[1]:
            high, x[1], y[1] = x[1], x[0], y[0]
            x[0] = high - r * (high - low)
            y[0] = f(x[0])
        else:
            low, x[0], y[0] = x[0], x[1], y[1]
            x[1] = low + r * (high - low)
            y[1] = f(x[1])
    return x[0] if y[0] > y[1] else x[1]


def posterior(d2, log_n, t):
    return softmax(log_n - t / 2 * d2, axis=1)


def robust_temperature(d2, y, log_n, near, inverse=None):
    """Where mean p_y^q is highest or, with T^-1, what it would be over the true labels."""
    i, weight = np.arange(len(y)), np.eye(d2.shape[1])[y] if inverse is None else inverse[y]
    f = lambda u: -np.mean((weight * posterior(d2, log_n, np.exp(u)) ** POWER).sum(1))
    grid = np.log(near) + np.linspace(-2, 4, 25)
    best = grid[np.argmin([f(u) for u in grid])]
    return np.exp(minimize_scalar(f, bounds=(best - .3, best + .3), method="bounded", options={"xatol": 1e-5}).x)


def fit_channel(d2, y, log_n, t, mutual=False, search=True, T=None, rounds=ROUNDS):
    """(t, w [N, C], T_kc of each row [N, C] left out, likelihood, counts [true, seen])"""
    (N, C), i = d2.shape, np.arange(len(y))
    if T is None:
        T = np.full((N, C), .1 / (C - 1))
        T[i, y] = .9
    p = posterior(d2, log_n, t)
    seen = np.eye(C)[y]
    for r in range(rounds):
        if search and r % 5 == 0:
            value = lambda u: np.mean(np.log((posterior(d2, log_n, np.exp(u)) * T).sum(1)))
            t = np.exp(golden(value, np.log(t) - 1, np.log(t) + 1, 6 if r <= 5 else 14))
            p = posterior(d2, log_n, t)
        w = p * T
        likelihood = np.mean(np.log(w.sum(1)))
        w /= w.sum(1, keepdims=True)
        counts, n = w.T @ seen, w.sum(0)
        noise = 1 - w[i, y].mean()
        prior = np.full((C, C), PSEUDO * noise / (C - 1))
        np.fill_diagonal(prior, PSEUDO * (1 - noise))
        if mutual:
            both = counts + counts.T + 2 * PSEUDO * noise / (C - 1)
            sizes = n[:, None] + n[None] + 2 * PSEUDO
            rates = both / sizes
            np.fill_diagonal(rates, 0)
            T = np.maximum(both[:, y].T - w, 1e-12) / sizes[:, y].T
            T[i, y] = np.maximum(1 - rates.sum(1), .05)[y]
        else:
            A = counts + prior
            T = np.maximum(A[:, y].T - w, 1e-12) / (n + PSEUDO - w)
    return t, w, T, likelihood, counts + prior


def share_wrong(odds, doubt, alike=0):
    return max(0, (odds - doubt) / (1 - doubt * (1 + alike)))


def fit_noise(d2, y, log_n, near):
    """(P(wrong) [N] and doubt of the robust fit, [(odds, doubt)] around the corrected temperature: -1, 0, 1)"""
    i, C = np.arange(len(y)), d2.shape[1]
    doubt = lambda t: 1 - posterior(d2, log_n, t).max(1).mean()
    t = robust_temperature(d2, y, log_n, near)
    _, w, T, _, A = fit_channel(d2, y, log_n, t, search=False)
    wrong, first = 1 - w[i, y], doubt(t)
    for _ in range(2):
        x = share_wrong(1 - w[i, y].mean(), doubt(t))
        A = A + STEADYING * (np.eye(C) * (1 - x) + (1 - np.eye(C)) * x / (C - 1))
        t = robust_temperature(d2, y, log_n, near, np.linalg.inv(A / A.sum(1, keepdims=True)))
        _, w, T, _, A = fit_channel(d2, y, log_n, t, search=False, T=T, rounds=8)
    around = {}
    for f in (1, -1, 0):
        _, w, T, _, _ = fit_channel(d2, y, log_n, t * FACTOR ** f, search=False, T=T, rounds=4)
        around[f] = 1 - w[i, y].mean(), doubt(t * FACTOR ** f)
    return wrong, first, around


def likeness_parts(p, y):
    """p_c, (1 - p_c) / (C - 1) and sum over k != c of p_k p_c / (1 - p_k): how likely the label c of each row is
    where it is right, any other one, and one drawn from the posterior without the true class."""
    i, rest = np.arange(len(y)), 1 - p
    top = p.argmax(1)
    below = p.copy()
    below[i, top] = 0
    rest[i, top] = below.sum(1)
    own, each = p[i, y], p / np.maximum(rest, 1e-300)
    each[i, y] = 0
    return own, (1 - own) / (p.shape[1] - 1), own * each.sum(1)


def mix(parts, weights, rounds):
    parts = np.stack(parts, 1)
    for _ in range(rounds):
        shares = parts * weights
        weights = (shares / np.maximum(shares.sum(1, keepdims=True), 1e-300)).mean(0)
    return weights, np.mean(np.log(np.maximum((parts * weights).sum(1), 1e-300)))


def fit_likeness(d2, y, log_n, near):
    """(t, weights of the three parts, likelihood)"""
    start = np.array([.9, .05, .05])
    at = lambda u, w, rounds: mix(likeness_parts(posterior(d2, log_n, np.exp(u)), y), w, rounds)
    grid = np.log(near) + .5 * np.arange(-1, 5)
    tried = [at(u, start, WEIGHT_ROUNDS) for u in grid]
    best = int(np.argmax([likelihood for _, likelihood in tried]))
    weights = tried[best][0]
    u = golden(lambda u: at(u, weights, WEIGHT_ROUNDS)[1], grid[best] - .5, grid[best] + .5, 6)
    return np.exp(u), *at(u, weights, 2 * WEIGHT_ROUNDS)


def likeness_logit(d2, y, log_n, t, u, v):
    i, C = np.arange(len(y)), d2.shape[1]
    log_p = log_softmax(log_n - t / 2 * d2, axis=1)
    own, chance, alike = likeness_parts(np.exp(log_p), y)
    others = np.exp(log_p)
    others[i, y] = 0
    by_chance = np.log(np.maximum(u * others.sum(1), 1e-300) / (C - 1)) - log_p[i, y]
    return np.logaddexp(by_chance, np.log(np.maximum(v * alike / np.maximum(own, 1e-300), 1e-300))) - np.log(1 - u - v)


def detect(d2, y):
    """(mistakenness [N], noise rate, low, high, the channel)"""
    (N, C), i = d2.shape, np.arange(len(y))
    n = np.bincount(y, minlength=C).astype(float)
    log_n = np.log(n)
    L, t, eta = prototype.best_t(d2, y, n)
    tl, shares, alike = fit_likeness(d2, y, log_n, t)
    pairs, found_alike = C <= N // LABELS_A_CLASS, shares[1] + shares[2]
    if pairs:
        by_robust, doubt, around = fit_noise(d2, y, log_n, t)
        least = max(share_wrong(by_robust.mean(), doubt), found_alike)
        td, w, _, directed, A = fit_channel(d2, y, log_n, t, rounds=SEARCH_ROUNDS)
        _, _, _, mutual, M = fit_channel(d2, y, log_n, t, mutual=True, rounds=SEARCH_ROUNDS)
    else:
        at = {f: robust_temperature(d2, y, log_n, t) * FACTOR ** f for f in (-1, 0, 1)}
        around = {f: (prototype.likelihood(d2, y, n, at[f])[1], 1 - posterior(d2, log_n, at[f]).max(1).mean()) for f in at}
    x = {f: share_wrong(*around[f], shares[2] / found_alike if found_alike > 0 else 0) for f in around}
    noise = max(x[0], found_alike)
    use = "directed" if pairs and directed > max(L, alike, mutual + GAIN) else "likeness" if alike > L + GAIN else "uniform"
    found, eta = eta, max(eta, .5 / N)
    if use == "directed":
        t, any_kind = td, np.minimum(1, found * A.sum(1)[:, None] / (C - 1) / A)
        mistakes = np.where(M.T < ONE_WAY * M, np.maximum(1 - A.T / A, any_kind), any_kind)
        np.fill_diagonal(mistakes, 0)
        wrong = (w * mistakes[:, y].T).sum(1)
    elif pairs and least - found > max(BEYOND * doubt, found):
        wrong = by_robust
    elif use == "likeness":
        parts = shares * np.stack(likeness_parts(posterior(d2, log_n, tl), y), 1)
        wrong = 1 - parts[:, 0] / parts.sum(1)
    else:
        p = posterior(d2, log_n, t)[i, y]
        wrong = eta * (1 - p) / (C - 1) / ((1 - eta) * p + eta * (1 - p) / (C - 1))
    sharp = 1 if use == "directed" else SHARPNESS
    bias, expected = np.broadcast_to(log_n, (N, C)), 0
    if use == "directed":
        totals = A.sum(1)
        rate = A[:, y].T / totals
        own_w = softmax(log_n + np.log(rate) - t / 2 * d2, axis=1)   # the row's part in the counts
        left = np.maximum(A[:, y].T - own_w, 1e-12) / (totals - own_w)
        bias = log_n + np.log(left) - np.log(left[i, y])[:, None]
    if use == "likeness":
        score = likeness_logit(d2, y, log_n, SHARPNESS * tl, shares[1], shares[2])
    else:
        z = bias - sharp * t / 2 * d2
        z[i, y] = -np.inf
        score = logsumexp(z, axis=1) + sharp * t / 2 * d2[i, y] - log_n[y]
    if use == "uniform":
        expected = np.log(eta / ((1 - eta) * (C - 1)))
    loss = lambda v: (np.sum(np.logaddexp(0, v[0] * score + v[1]) - wrong * (v[0] * score + v[1]))
                      + ((sharp * v[0] - 1) ** 2 + (v[1] - expected) ** 2) / 2)
    best = minimize(loss, (1 / sharp, expected), method="Nelder-Mead",
                    options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 4000}).x
    low = (x[0] + noise) / 2 if x[0] < noise else min(x[-1], noise)
    beside = UNCERTAIN * noise + 1.645 * np.sqrt(noise * (1 - noise) / N)
    return (expit(best[0] * score + best[1]), noise, max(0, low - beside), min(1, max(x[1], noise) + beside), use)
