"""The noise channel of src/channel/channel.c as its head comment has it, plainly and in double, and the likeliest one
by scipy: nothing of how the C code searches.

Letters as there: evidence E_j [N, C], labels y [N], log_n [C]; t_j, lambda, e, v, u, kappa, beta [C],
A and S [C true, C seen]."""
import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

FEW, FEW_BLUR, LEAST_U, LEAST_RIGHT, UNSURE, SAMPLE = 10, 6, 1e-5, .01, 5, 5000
TO_CONFUSE, PAIRS_MOST, BEGIN_CONFUSION, FLOOR = 100, 1024, .3, .01


def softmax(z):
    p = np.exp(z - z.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def typical_rows(E, y, C, stands=None):
    """[kinds, C true, C seen]: mean evidence of the rows with each label."""
    own = np.eye(C)[y] * (np.ones(len(y)) if stands is None else stands)[:, None]
    return np.array([own.T @ e / np.maximum(own.sum(0), 1)[:, None] for e in E])


def confusion(t, beta, kappa, log_n, typical):
    """(z, s): scores of each label's typical row, and with which class a label that is wrong in any way is seen."""
    z = log_n + beta - np.tensordot(t, typical, 1)
    of_others = kappa * z
    np.fill_diagonal(of_others, -np.inf)
    return z, softmax(of_others)


def with_floor(s):
    """One in a hundred such labels is any other class."""
    return (1 - FLOOR) * s + FLOOR / (len(s) - 1) * (1 - np.eye(len(s)))


class Channel:
    """Numbers of a channel; flows: {(true, seen): rate}, what goes one way from class to class. kappa None: labels that
    are wrong in any way are any class; else alike is S, which confuse makes."""

    def __init__(self, t, lam, e, v, u, beta, flows=(), kappa=None, alike=None):
        self.t, self.lam, self.e, self.v, self.u = np.atleast_1d(np.asarray(t, float)), lam, e, v, u
        self.beta, self.flows, self.kappa, self.alike = np.asarray(beta, float), dict(flows), kappa, alike

    def confuse(self, log_n, typical):
        if self.kappa is not None and typical is not None:
            self.alike = with_floor(confusion(self.t, self.beta, self.kappa, log_n, typical)[1])
        return self

    def rates(self):
        C = len(self.beta)
        A = np.full((C, C), self.u / (C - 1)) if self.alike is None else self.u * self.alike
        for (k, c), rate in self.flows.items():
            A[k, c] += rate
        leaving = [self.u + sum(r for (k, _), r in self.flows.items() if k == true) for true in range(C)]
        A[np.diag_indices(C)] = np.maximum(LEAST_RIGHT, 1 - np.array(leaving))
        return A

    def scores(self, E, log_n, edge=None):
        """z; what a row shows beyond the edge of its kind is worth what it would be there."""
        z = np.tile(log_n + self.beta, (len(E[0]), 1))
        for j, evidence in enumerate(E):
            worth = np.ones(len(evidence))
            if edge is not None and edge[j] > 0:
                worth = np.minimum(1, edge[j] / np.maximum(evidence.min(1), 1e-300))
            z -= (self.t[j] * worth)[:, None] * evidence
        return z

    def parts(self, E, y, log_n, edge=None):
        """(z, p, b, 1 - p, G, sum_k p_k A_kc, A_kc [N, C], q)"""
        i, z = np.arange(len(y)), self.scores(E, log_n, edge)
        p, b = softmax(z), softmax(self.lam * z)
        without, top = 1 - p, p.argmax(1)
        others = p.copy()
        others[i, top] = 0
        without[i, top] = np.maximum(others.sum(1), 1e-100)  # where it has nearly everything, 1 - p cancels
        odds = p / without
        odds[i, y] = 0
        A = self.rates()[:, y].T
        G, S = odds.sum(1), (p * A).sum(1)
        q = self.e * b[i, y] + (1 - self.e) * (self.v * p[i, y] * G + (1 - self.v) * S)
        return z, p, b, without, G, S, A, np.maximum(q, 1e-300)

    def wrong(self, E, y, log_n, edge=None):
        """P(the label is wrong)"""
        i = np.arange(len(y))
        _, p, b, _, G, _, A, q = self.parts(E, y, log_n, edge)
        flow = p * A
        flow[i, y] = 0
        return (self.e * b[i, y] * (1 - p[i, y]) + (1 - self.e) * (self.v * p[i, y] * G + (1 - self.v) * flow.sum(1))) / q

    def wrong_new(self, E, y, log_n, edge, all_right):
        """The same of labels that had no say in P(all are right), which are seen with p_c then: Bayes' rule."""
        _, p, _, _, _, _, _, q = self.parts(E, y, log_n, edge)
        seen = all_right * p[np.arange(len(y)), y] + (1 - all_right) * q
        return (1 - all_right) * q * self.wrong(E, y, log_n, edge) / seen

    def draw(self, E, log_n, random):
        """(true classes, labels): each row's class from its posterior, its label in one of the ways."""
        z = self.scores(E, log_n)
        pick = lambda P: (P.cumsum(1) < random.random((len(P), 1)) * P.sum(1, keepdims=True)).sum(1)
        p = softmax(z)
        truth = pick(p)
        others = p.copy()
        others[np.arange(len(p)), truth] = 0
        ways = pick(softmax(self.lam * z)), pick(others), pick(self.rates()[truth])
        blurred, alike = random.random(len(p)) < self.e, random.random(len(p)) < self.v
        return truth, np.where(blurred, ways[0], np.where(alike, ways[1], ways[2]))


# ---- the objective of src/channel/fit.c and its slope ------------------------------------------

class Problem:
    """Variables: log t_j, logit 2 lambda, logit e, logit 2 v, beta [C], log u, log rates of the flows that are named,
    logit 2 kappa where classes are confused: None: where there are enough rows. stands [N]: rows that each is there for.
    alike: S that is known and stays."""

    def __init__(self, E, y, log_n, flows=(), confused=None, stands=None, alike=None):
        self.E, self.y, self.log_n = [np.asarray(e, float) for e in E], np.asarray(y), np.asarray(log_n, float)
        self.flows, self.C, self.kinds, self.alike = list(flows), len(log_n), len(E), alike
        self.stands = np.ones(len(self.y)) if stands is None else np.asarray(stands, float)
        if confused is None:
            confused = len(self.y) >= TO_CONFUSE * self.C and self.C <= PAIRS_MOST
        self.typical = typical_rows(self.E, self.y, self.C, self.stands) if confused and alike is None else None

    def pack(self, channel):
        rates = [np.log(max(channel.flows.get(pair, 0), 1e-6)) for pair in self.flows]
        kappa = BEGIN_CONFUSION if channel.kappa is None else channel.kappa
        return np.r_[np.log(channel.t), logit(2 * channel.lam), logit(channel.e), logit(2 * channel.v), channel.beta,
                     np.log(max(channel.u, LEAST_U)), rates, [] if self.typical is None else [logit(2 * kappa)]]

    def unpack(self, x):
        j, C = self.kinds, self.C
        rates = np.exp(x[j + 4 + C:j + 4 + C + len(self.flows)])
        channel = Channel(t=np.exp(x[:j]), lam=expit(x[j]) / 2, e=expit(x[j + 1]), v=expit(x[j + 2]) / 2,
                          u=np.exp(x[j + 3 + C]), beta=x[j + 3:j + 3 + C], flows=zip(self.flows, rates),
                          kappa=None if self.typical is None else expit(x[-1]) / 2, alike=self.alike)
        return channel.confuse(self.log_n, self.typical)

    def bounds(self):
        return [(None, None)] * self.kinds + [(-20, 20)] * 3 + [(None, None)] * self.C + \
            [(np.log(LEAST_U), np.log(.9))] + [(np.log(1e-6), np.log(.9))] * len(self.flows) + \
            [(-20, 20)] * (self.typical is not None)

    def __call__(self, x):
        """- log likelihood and log priors, and the slope"""
        c, y, C, j = self.unpack(x), self.y, self.C, self.kinds
        i = np.arange(len(y))
        z, p, b, without, G, S, A, q = c.parts(self.E, y, self.log_n)
        pc, bc = p[i, y], b[i, y]
        each = self.stands / q
        clear, alike = (1 - c.e) * (1 - c.v) * each, (1 - c.e) * c.v * each
        own = np.zeros_like(p)
        own[i, y] = 1
        by_p = np.where(own > 0, G[:, None], pc[:, None] / without ** 2)  # d (p_c G) / d p
        slope = clear[:, None] * p * (A - S[:, None]) + (c.e * bc * c.lam * each)[:, None] * (own - b) \
            + alike[:, None] * p * (by_p - (p * by_p).sum(1, keepdims=True))
        out = np.zeros(len(x))
        out[:j] = [-t * (slope * e).sum() for t, e in zip(c.t, self.E)]
        out[j] = (c.e * bc * each * (z[i, y] - (b * z).sum(1))).sum() * c.lam * (1 - 2 * c.lam)
        out[j + 1] = ((bc - (1 - c.v) * S - c.v * pc * G) * each).sum() * c.e * (1 - c.e)
        out[j + 2] = ((1 - c.e) * (pc * G - S) * each).sum() * c.v * (1 - 2 * c.v)
        out[j + 3:j + 3 + C] = slope.sum(0)
        by_A, free = (clear[:, None] * p).T @ own, c.rates().diagonal() > LEAST_RIGHT  # d log q / d A [true, seen]
        alike_with = c.alike if c.alike is not None else (1 - np.eye(C)) / (C - 1)
        of_right = free * by_A.diagonal()
        out[j + 3 + C] = c.u * ((alike_with * by_A).sum() - of_right.sum())
        for at, (k, seen) in enumerate(self.flows):
            out[j + 4 + C + at] = c.flows[k, seen] * (by_A[k, seen] - of_right[k])
        if self.typical is not None:
            of_typical, s = confusion(c.t, c.beta, c.kappa, self.log_n, self.typical)
            by_kz = c.u * (1 - FLOOR) * s * (by_A - (s * by_A).sum(1, keepdims=True))  # d / d (kappa z)
            out[-1] = (by_kz * of_typical).sum() * c.kappa * (1 - 2 * c.kappa)
            out[j + 3:j + 3 + C] += c.kappa * by_kz.sum(0)
            out[:j] -= c.t * c.kappa * (by_kz * self.typical).sum((1, 2))
        # priors: beta ~ N(0, 1), e ~ Beta(1, 6), v and u ~ Beta(1, 10), 2 lambda and 2 kappa ~ Beta(1, 1), in logits;
        # 2 log 2t ~ Cauchy(0, 1) of squared errors alone
        two = 2 * c.lam
        prior = np.log(two) + np.log1p(-two) - (c.beta ** 2).sum() / 2
        if self.kinds == 1:
            away = 2 * np.log(2 * c.t[0])
            prior -= np.log1p(away ** 2)
            out[0] -= 4 * away / (1 + away ** 2)
        out[j] += 1 - 2 * two
        if self.typical is not None:
            prior += np.log(2 * c.kappa) + np.log1p(-2 * c.kappa)
            out[-1] += 1 - 4 * c.kappa
        for at, share, few, step in ((j + 1, c.e, FEW_BLUR, 1 - c.e), (j + 2, c.v, FEW, 1 - 2 * c.v)):
            prior += np.log(share) + few * np.log1p(-share)
            out[at] += step * (1 - few * share / (1 - share))
        prior += np.log(c.u) + FEW * np.log1p(-c.u)
        out[j + 3 + C] += 1 - FEW * c.u / (1 - c.u)
        out[j + 3:j + 3 + C] -= c.beta
        return -(self.stands * np.log(q)).sum() - prior, -out

    def unit(self):
        """t at which the two nearest classes of a median row are a nat apart, for the first evidence."""
        near = np.sort(self.E[0], axis=1)
        gap = np.median(near[:, 1] - near[:, 0])
        return 1 / gap if gap > 0 else 1

    def search(self, starts):
        best = None
        for start in starts:
            found = minimize(self, self.pack(start), jac=True, method="L-BFGS-B", bounds=self.bounds(),
                             options={"maxiter": 2000, "maxfun": 4000, "ftol": 1e-12, "gtol": 1e-4, "maxcor": 30})
            if best is None or found.fun < best.fun:
                best = found
        return self.unpack(best.x), best.fun

    def spread(self, channel, step=1e-4):
        """Standard errors of the variables: the objective's curvature, turned over."""
        x = self.pack(channel)
        H = np.array([(self(x + d)[1] - self(x - d)[1]) / (2 * step) for d in step * np.eye(len(x))])
        return np.sqrt(np.diag(np.linalg.inv((H + H.T) / 2)))

    def starts(self):
        """Sharp and flat posteriors, and mistakes of each kind."""
        for nats in (1, 3, 8):
            for e, v, u in ((.1, .05, .05), (.02, .02, .2), (.02, .2, .02), (.3, .02, .02)):
                t = np.r_[nats * self.unit(), [.5 / max(e[np.arange(len(self.y)), self.y].mean(), 1e-9)
                                               for e in self.E[1:]]]
                yield Channel(t, .25, e, v, u, np.zeros(self.C), {pair: .1 for pair in self.flows})


def share_priors(channel):
    """- log of the priors of lambda, kappa, e, v and u, as in Problem"""
    beta = lambda share, few: -np.log(share) - few * np.log1p(-share)
    confused = beta(2 * channel.kappa, 1) if channel.kappa is not None else 0
    return beta(2 * channel.lam, 1) + beta(channel.e, FEW_BLUR) + beta(channel.v, FEW) + beta(channel.u, FEW) + confused


def all_right(E, y, log_n, channel):
    """P(all labels are right): both are as likely beforehand, each explains the labels as its likeliest numbers do."""
    E, C, i = [np.asarray(e, float) for e in E], len(log_n), np.arange(len(y))

    def nobody_errs(x):
        p = softmax(log_n + x[len(E):] - sum(np.exp(t) * e for t, e in zip(x, E)))
        gaussian = np.log1p((2 * (x[0] + np.log(2))) ** 2) if len(E) == 1 else 0
        return gaussian - np.log((1 - LEAST_U) * p[i, y] + LEAST_U / (C - 1) * (1 - p[i, y])).sum() + (x[len(E):] ** 2).sum() / 2

    problem = Problem(E, y, log_n, channel.flows)
    x = problem.pack(channel)
    with_mistakes = problem(x)[0] - share_priors(problem.unpack(x))
    without = min(minimize(nobody_errs, np.r_[np.log(scale * channel.t), np.zeros(C)]).fun for scale in (.3, 1))
    return expit(with_mistakes - without)


def cost_of_flow(N, C):
    return np.log(max(C - 1, 1)) + np.log(N) / 2


# ---- all of it, for tables of detection --------------------------------------------------------

def find_flows(E, y, log_n):
    """Pairs (true, seen) that may be flows: at a sharp posterior, rates far above those of the other classes."""
    C = len(log_n)
    z = log_n - 5 * Problem([E], y, log_n).unit() * E
    p = softmax(z)
    seen = np.array([p[y == c].sum(0) for c in range(C)]).T  # [true, seen]
    rate = seen / np.maximum(p.sum(0), 1)[:, None]
    np.fill_diagonal(rate, 0)
    best = rate.argmax(1)
    return [(k, c) for k, c in enumerate(best) if rate[k, c] > .03 and rate[k, c] > 4 * rate[k].sum() / C]


def fit(E, y, log_n):
    """The likelier of a channel without flows and one with those that pay for their names."""
    one, worth = Problem([E], y, log_n).search(list(Problem([E], y, log_n).starts())[4:6])
    flows = find_flows(E, y, log_n)
    if flows:
        problem = Problem([E], y, log_n, flows)
        other, value = problem.search(list(problem.starts())[5:6])
        if value + cost_of_flow(len(y), len(log_n)) * len(flows) < worth:
            return other
    return one


def detect(d2, y):
    """(mistakenness [N], noise rate, its lower and upper end, flows) of left-out squared errors [N, C]; NaN: the
    own error of a row alone in its class."""
    y = np.asarray(y)
    log_n = np.log(np.maximum(np.bincount(y, minlength=d2.shape[1]), 1e-9))
    judged = np.flatnonzero(~np.isnan(d2).any(1))
    some = np.random.default_rng(0).permutation(judged)[:SAMPLE]
    channel, wrong = fit(d2[some], y[some], log_n), np.full(len(y), np.nan)
    wrong[judged] = channel.wrong([d2[judged]], y[judged], log_n)
    low, rate, high = (expit(logit(np.clip(wrong[judged], 1e-300, 1 - 1e-16)) + shift)
                       for shift in (-np.log(UNSURE), 0, np.log(UNSURE)))
    return wrong, rate.mean(), np.mean(low * (low > .5)), high.mean(), sorted(channel.flows)
