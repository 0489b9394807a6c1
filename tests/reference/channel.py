"""The noise channel of docs/methods.md once more, plainly and in double: what the labels seen say of
each label, given left-out squared errors d2 [N, C] of all rows and the labels y [N]."""
import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax, logsumexp, softmax

import prototype

SHARPNESS, GAIN, POWER, PSEUDO, ROUNDS, BEYOND = 2, .02, .7, 10, 16, 2
WEIGHT_ROUNDS, FURTHER, LABELS_A_CLASS, FACTOR, UNSEEN, OVERSEEN = 30, 6, 20, 1.0595, .08, .035


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


def robust_temperature(d2, y, log_n, near):
    i = np.arange(len(y))
    f = lambda u: -np.mean(posterior(d2, log_n, np.exp(u))[i, y] ** POWER)
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
        if search and r in (0, 5):
            value = lambda u: np.mean(np.log((posterior(d2, log_n, np.exp(u)) * T).sum(1)))
            t = np.exp(golden(value, np.log(t) - 1, np.log(t) + 1, 6))
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
    robust = robust_temperature(d2, y, log_n, t)
    pairs = C <= N // LABELS_A_CLASS
    odds, doubt, T, rounds = {}, {}, None, ROUNDS
    for f in (1, -1, 0):
        at = robust * FACTOR ** f
        if pairs:
            _, w_robust, T, _, _ = fit_channel(d2, y, log_n, at, search=False, T=T, rounds=rounds)
            rounds = FURTHER
            odds[f] = 1 - w_robust[i, y].mean()
        else:
            odds[f] = prototype.likelihood(d2, y, n, at)[1]
        doubt[f] = 1 - posterior(d2, log_n, at).max(1).mean()
    x = {f: max(0, (odds[f] - doubt[f]) / (1 - doubt[f])) for f in odds}
    noise = max(x[0], shares[1] + shares[2])
    if pairs:
        td, w, _, directed, A = fit_channel(d2, y, log_n, t)
        mutual = fit_channel(d2, y, log_n, t, mutual=True)[3]
    use = "directed" if pairs and directed > max(L, alike, mutual + GAIN) else "likeness" if alike > L + GAIN else "uniform"
    found, eta = eta, max(eta, .5 / N)
    if use == "directed":
        t, both_ways = td, np.maximum(1 - A.T / A, np.minimum(1, found * A.sum(1)[:, None] / (C - 1) / A))
        np.fill_diagonal(both_ways, 0)
        wrong = (w * both_ways[:, y].T).sum(1)
    elif pairs and noise - found > max(BEYOND * doubt[0], found):
        wrong = 1 - w_robust[i, y]
    elif use == "likeness":
        parts = shares * np.stack(likeness_parts(posterior(d2, log_n, tl), y), 1)
        wrong = 1 - parts[:, 0] / parts.sum(1)
    else:
        p = posterior(d2, log_n, t)[i, y]
        wrong = eta * (1 - p) / (C - 1) / ((1 - eta) * p + eta * (1 - p) / (C - 1))
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
        z = bias - SHARPNESS * t / 2 * d2
        z[i, y] = -np.inf
        score = logsumexp(z, axis=1) + SHARPNESS * t / 2 * d2[i, y] - log_n[y]
    if use == "uniform":
        expected = np.log(eta / ((1 - eta) * (C - 1)))
    loss = lambda v: (np.sum(np.logaddexp(0, v[0] * score + v[1]) - wrong * (v[0] * score + v[1]))
                      + ((SHARPNESS * v[0] - 1) ** 2 + (v[1] - expected) ** 2) / 2)
    best = minimize(loss, (1 / SHARPNESS, expected), method="Nelder-Mead",
                    options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 4000}).x
    least = (x[0] + noise) / 2 if x[0] < noise else min(x[-1], noise)
    sampling = 1.645 * np.sqrt(noise * (1 - noise) / N)
    return (expit(best[0] * score + best[1]), noise, max(0, least - OVERSEEN * noise - sampling),
            min(1, max(x[1], noise) + UNSEEN * noise + sampling), use)
