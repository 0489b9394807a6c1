"""The noise channel of docs/methods.md once more, plainly and in double: what the labels seen say of
each label, given left-out squared errors d2 [N, C] of all rows and the labels y [N]."""
import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logsumexp, softmax

import prototype

SHARPNESS, GAIN, POWER, PSEUDO, ROUNDS, BEYOND = 2, .02, .7, 10, 16, 3


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


def fit_channel(d2, y, log_n, t, mutual=False, search=True):
    """(t, w [N, C], T_kc of each row [N, C] left out, likelihood, counts [true, seen])"""
    (N, C), i = d2.shape, np.arange(len(y))
    T = np.full((N, C), .1 / (C - 1))
    T[i, y] = .9
    p = posterior(d2, log_n, t)
    seen = np.eye(C)[y]
    for r in range(ROUNDS):
        if search and r in (0, 3, 8):
            value = lambda u: np.mean(np.log((posterior(d2, log_n, np.exp(u)) * T).sum(1)))
            t = np.exp(golden(value, np.log(t) - 1, np.log(t) + 1, 9))
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


def detect(d2, y):
    """(mistakenness [N], noise rate, low, high, directed)"""
    (N, C), i = d2.shape, np.arange(len(y))
    n = np.bincount(y, minlength=C).astype(float)
    log_n = np.log(n)
    L, t, eta = prototype.best_t(d2, y, n)
    robust = robust_temperature(d2, y, log_n, t)
    odds, doubt = np.array([(1 - fit_channel(d2, y, log_n, robust * f, search=False)[1][i, y].mean(),
                             1 - posterior(d2, log_n, robust * f).max(1).mean()) for f in (.5 ** .25, 1, 2 ** .25)]).T
    noise = np.maximum(0, (odds - doubt) / (1 - doubt))
    td, w, T, directed, A = fit_channel(d2, y, log_n, t)
    mutual = fit_channel(d2, y, log_n, t, mutual=True)[3]
    use = directed > max(L, mutual + GAIN)
    bias = np.broadcast_to(log_n, (N, C))
    found, eta = eta, max(eta, .5 / N)
    if use:
        t, wrong = td, 1 - w[i, y]
        totals = A.sum(1)
        rate = A[:, y].T / totals
        own_w = softmax(log_n + np.log(rate) - t / 2 * d2, axis=1)   # the row's part in the counts
        left = np.maximum(A[:, y].T - own_w, 1e-12) / (totals - own_w)
        bias = log_n + np.log(left) - np.log(left[i, y])[:, None]
    elif odds[1] > BEYOND * doubt[1] and 2 * found < noise[1]:
        wrong = 1 - fit_channel(d2, y, log_n, robust, search=False)[1][i, y]
    else:
        p = posterior(d2, log_n, t)[i, y]
        wrong = eta * (1 - p) / (C - 1) / ((1 - eta) * p + eta * (1 - p) / (C - 1))
    z = bias - SHARPNESS * t / 2 * d2
    z[i, y] = -np.inf
    score = logsumexp(z, axis=1) + SHARPNESS * t / 2 * d2[i, y] - log_n[y]
    expected = 0 if use else np.log(eta / ((1 - eta) * (C - 1)))
    loss = lambda v: (np.sum(np.logaddexp(0, v[0] * score + v[1]) - wrong * (v[0] * score + v[1]))
                      + ((SHARPNESS * v[0] - 1) ** 2 + (v[1] - expected) ** 2) / 2)
    best = minimize(loss, (1 / SHARPNESS, expected), method="Nelder-Mead",
                    options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 4000}).x
    sampling = 1.645 * np.sqrt(noise[1] * (1 - noise[1]) / N)
    return (expit(best[0] * score + best[1]), noise[1], max(0, min(noise[:2]) - sampling),
            min(1, max(noise[1:]) + sampling), use)
