"""rer_channel_fit against scipy, and against the truth where labels are drawn from the model itself.
RER_FIT_CHANNEL names the program of fit_channel.c."""
import os
import subprocess
import sys
import tempfile
import unittest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np
from scipy.special import expit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
import channel as reference
from channel import Channel, Problem, confusion, typical_rows, with_floor

PROGRAM = os.environ["RER_FIT_CHANNEL"]
WORSE = 1.0  # nats of all labels together
APART = 3.5  # standard errors; some 60 numbers are looked at


NUMBERS = ("global", "local", "global_edge", "local_edge", "blur", "sharpness", "likeness", "uniform", "pairs", "surprise",
           "all_right", "confusion")


class Fitted:
    """What the program makes of evidence and labels. ask: "enough" or "thinned", as fit_channel.c has it."""

    def __init__(self, E, y, log_n, threads=1, ask=None, stands=None):
        (N, C), log_n = E[0].shape, np.asarray(log_n, "f4")
        with tempfile.TemporaryDirectory(prefix="rer-channel-") as folder:
            path = lambda name: os.path.join(folder, name)
            for name, array in zip(("global", "local"), E):
                np.ascontiguousarray(array, "<f4").tofile(path(name))
            if stands is not None:
                np.asarray(stands, "<f4").tofile(path("stands"))
            y.astype("<i4").tofile(path("code"))
            log_n.tofile(path("log_n"))
            subprocess.run([PROGRAM, str(N), str(C), folder, str(threads), *([ask] if ask else [])], check=True, timeout=1800)
            read = lambda name: dict(zip(NUMBERS, np.fromfile(path(name))))
            square = lambda name: np.fromfile(path(name), "<f4").reshape(C, C).T.astype(float) \
                if os.path.exists(path(name)) else None
            self.numbers = numbers = read("numbers")
            self.began = read("began") if ask == "thinned" else None
            self.bits = b"".join(np.fromfile(path(name), "u1").tobytes() for name in ("numbers", "bias", "right", "logit"))
            bias, right = np.fromfile(path("bias"), "<f4"), np.fromfile(path("right"), "<f4").astype(float)
            self.wrong = expit(np.fromfile(path("logit")))
            rates, alike = square("rates"), square("alike")
        self.edge = [numbers["global_edge"], numbers["local_edge"]][:len(E)]
        self.surprise, self.all_right = numbers["surprise"], numbers["all_right"]
        u, flows = numbers["uniform"], {}
        if rates is not None:
            even = u * alike if alike is not None else np.full((C, C), u / (C - 1))
            flows = {(k, c): rates[k, c] - even[k, c] for k in range(C) for c in range(C)
                     if k != c and rates[k, c] > even[k, c] * (1 + 1e-5) + 1e-9}
        self.channel = Channel([numbers["global"], numbers["local"]][:len(E)], numbers["sharpness"], numbers["blur"],
                               numbers["likeness"], u, bias.astype(float) - log_n, flows,
                               numbers["confusion"] if alike is not None else None, alike)
        assert np.abs(self.channel.rates().diagonal() - right).max() < 1e-5
        assert self.names_stay()
        if alike is not None and ask != "thinned" and np.isfinite(log_n).sum() > 1:
            typical = typical_rows([np.asarray(e, float) for e in E], y, C, stands)
            want = with_floor(confusion(self.channel.t, self.channel.beta, self.channel.kappa, log_n, typical)[1])
            assert np.abs(alike - want).max() < 1e-5


    def names_stay(self):
        """A clear label is as likely right as any one other class is true."""
        A, v = self.channel.rates(), self.channel.v
        return ((1 - v) * A.diagonal() + 1e-5 > v + (1 - v) * (A - np.diag(A.diagonal())).max(1)).all()


def draw_evidence(N, C, seed, kinds=1, home=15, unit=1.0):
    """Like squared errors: each row has a class that it is nearest to by far, by little or not at all."""
    random = np.random.default_rng(seed)
    near = np.arange(N) % C
    E = [unit * (40 + 4 * random.normal(size=(N, C))).astype("f4") for _ in range(kinds)]
    for evidence in E:
        evidence[np.arange(N), near] -= unit * home * random.random(N).astype("f4") * 2
    for evidence in E:
        np.maximum(evidence, 0, out=evidence)
    return E, np.log(100 + 10 * np.arange(C)), random


def draw_unequal(N, C, seed, kinds=1):
    """Squared errors of rows around C places in the plane: some classes lie close to others, some far from all."""
    random = np.random.default_rng(seed)
    places = 5.5 * np.sqrt(np.arange(C)[:, None] + .5) * np.c_[np.cos(2.1 * np.arange(C)), np.sin(2.1 * np.arange(C))]
    near = np.arange(N) % C
    E = []
    for _ in range(kinds):
        rows = places[near] + 1.5 * random.normal(size=(N, 2))
        E.append((((rows[:, None] - places) ** 2).sum(2) / 4 + random.random((N, C))).astype("f4"))
    return E, np.log(100 + 10 * np.arange(C)), random


def draw_confused(truth, N, C, seed, kinds=1):
    """(E, y, true classes, log_n) of labels that are confused as their own rows are alike, which labels decide again:
    drawn until they agree."""
    E, log_n, _ = draw_unequal(N, C, seed, kinds)
    true = y = np.arange(N) % C
    for _ in range(6):
        truth.confuse(log_n, typical_rows([e.astype(float) for e in E], y, C))
        true, y = truth.draw(E, log_n, np.random.default_rng(seed + 1000))
    return E, y, true, log_n


class AgainstScipy(unittest.TestCase):
    """Labels drawn in many ways, some of them beyond the model."""

    def check(self, E, y, log_n, worse=WORSE, stands=None):
        got = Fitted(E, y, log_n, stands=stands)
        log_n = np.asarray(log_n, "f4")
        problem = Problem(E, y, log_n, got.channel.flows, stands=stands)
        self.assertEqual(got.channel.kappa is not None, len(y) >= 100 * len(log_n))
        value = problem(problem.pack(got.channel))[0]
        self.assertLess(abs(value - got.surprise), WORSE, "it says what it has")
        _, best = problem.search([got.channel, *list(problem.starts())[::4]])
        self.assertLess(value - best, worse, "scipy explains the labels in fewer nats")
        wrong = got.channel.wrong([e.astype(float) for e in E], y, log_n, got.edge)
        self.assertLess(np.abs(wrong - got.wrong).max(), .001)
        return got

    def test_slope_of_the_reference(self):
        """The reference itself: its slope against differences."""
        for confused in (False, True):
            for make in (draw_evidence, draw_unequal):
                E, log_n, random = make(200, 5, 1, kinds=2)
                truth = Channel([.3, .2], .2, .1, .1, .1, .3 * random.normal(size=5), {(1, 2): .2, (0, 3): .1}, .2)
                y = truth.draw(E, log_n, random)[1]
                problem = Problem(E, y, log_n, truth.flows, confused, .5 + random.random(200))
                x = problem.pack(truth) + .1
                self.assertEqual(len(x), 2 + 3 + 5 + 1 + 2 + confused)
                slope = problem(x)[1]
                for j, d in enumerate(1e-5 * np.eye(len(x))):
                    self.assertAlmostEqual((problem(x + d)[0] - problem(x - d)[0]) / 2e-5, slope[j],
                                           delta=1e-4 * (1 + abs(slope[j])))
                self.assertGreater(np.abs(slope).min(), .01)

    def test_confused(self):
        for seed, kinds in enumerate((1, 2)):
            truth = Channel([.4, .3][:kinds], .25, .05, .03, .15, .2 * np.arange(-2.5, 3), (), .2)
            E, y, _, log_n = draw_confused(truth, 3000, 6, seed, kinds)
            self.check(E, y, log_n)

    def test_confused_and_one_way(self):
        truth = Channel(.5, .25, .01, .01, .1, np.zeros(6), {(2, 5): .25, (0, 4): .2}, .25)
        E, y, _, log_n = draw_confused(truth, 3000, 6, 2)
        got = self.check(E, y, log_n)
        self.assertLessEqual(set(truth.flows), set(got.channel.flows))

    def test_names_stay_where_classes_are_confused(self):
        """Six of ten labels are those of the other class of two: more than half cannot be."""
        random, N, C = np.random.default_rng(3), 3000, 6
        true = np.arange(N) % C
        E = (60 + 5 * random.normal(size=(N, C))).astype("f4")
        E[np.arange(N), true ^ 1] = 40 + 5 * random.normal(size=N)
        E[np.arange(N), true] = 15 + 3 * random.normal(size=N)
        got = Fitted([E], np.where(random.random(N) < .6, true ^ 1, true), np.full(C, np.log(N / C)))
        self.assertGreater(got.channel.u, .3)

    def test_labels_in_turns(self):
        """Every second of rows whose labels come in turns is of half the classes."""
        random, N, C = np.random.default_rng(5), 10000, 10
        true = np.arange(N) % C
        E = (60 + 5 * random.normal(size=(N, C))).astype("f4")
        E[np.arange(N), true] = 15 + 3 * random.normal(size=N)
        y = np.where((true == 1) & (random.random(N) < 1 / 3), 3, true)
        got = Fitted([E], y, np.log(np.bincount(y)))
        self.assertEqual(set(got.channel.flows), {(1, 3)})
        self.assertGreater(got.wrong[y != true].min(), .9)

    def test_one_class_with_rows(self):
        E, _, _ = draw_evidence(300, 2, 1)
        got = Fitted(E, np.zeros(300, int), np.array([np.log(300), -np.inf]))
        self.assertTrue(np.isfinite(got.surprise))
        self.assertLess(got.wrong.max(), .5)

    def test_more_rows_than_are_searched(self):
        """What some of the rows lead to is sought anew with all."""
        for seed, flows in ((3, {}), (4, {(0, 4): .2})):
            truth = Channel(.5, .25, .02, .02, .1, np.zeros(6), flows, .25)
            E, y, _, log_n = draw_confused(truth, 8000, 6, seed)
            self.assertLessEqual(set(flows), set(self.check(E, y, log_n).channel.flows))

    def test_too_few_rows_to_be_confused(self):
        """Any class is as likely as any other, and u is sought with flows and without."""
        for flows in ({}, {(k, (k + 1) % 20): .3 for k in range(0, 20, 4)}):
            E, log_n, random = draw_evidence(1800, 20, 3)
            truth = Channel(.5, .25, .01, .01, .1, np.zeros(20), flows)
            got = self.check(E, truth.draw(E, log_n, random)[1], log_n)
            self.assertEqual(len(got.channel.flows) > 0, len(flows) > 0)

    def test_rows_that_stand_for_others(self):
        truth = Channel([.4, .3], .25, .05, .03, .15, np.zeros(6), (), .2)
        E, y, _, log_n = draw_confused(truth, 1500, 6, 4, kinds=2)
        random = np.random.default_rng(4)
        for stands in (np.full(1500, 2), random.integers(1, 4, 1500)):
            once = self.check(E, y, log_n, stands=stands)
            again = [np.repeat(array, stands, axis=0) for array in (*E, y)]
            for ones in (None, np.ones(stands.sum())):
                often = Fitted(again[:2], again[2], log_n, stands=ones)
                self.same(once, often)
                self.assertLess(np.abs(np.repeat(once.wrong, stands) - often.wrong).max(), .01)

    def test_flows_of_rows_that_stand_for_others(self):
        E, log_n, random = draw_evidence(2000, 6, 4)
        y = Channel(.5, .25, .02, .02, .03, np.zeros(6), {(2, 4): .15, (1, 0): .3}).draw(E, log_n, random)[1]
        stands = random.integers(1, 4, 2000)
        once = self.check(E, y, log_n, stands=stands)
        often = Fitted([np.repeat(E[0], stands, axis=0)], np.repeat(y, stands), log_n)
        self.same(once, often)
        self.assertLessEqual({(2, 4), (1, 0)}, set(once.channel.flows))
        self.assertEqual(set(once.channel.flows), set(often.channel.flows))

    def same(self, one, other):
        self.assertLess(abs(one.surprise - other.surprise), .2)
        np.testing.assert_allclose(one.edge, other.edge, rtol=1e-6)
        for name in ("t", "e", "v", "u", "beta"):
            np.testing.assert_allclose(getattr(one.channel, name), getattr(other.channel, name), rtol=.02, atol=.004,
                                       err_msg=name)
        np.testing.assert_allclose(one.channel.rates(), other.channel.rates(), atol=.004)

    def test_uniform(self):
        for C, N in ((2, 800), (3, 1000), (10, 1500), (40, 1500)):
            E, log_n, random = draw_evidence(N, C, C)
            truth = Channel(.4, .25, .001, .001, .15, np.zeros(C))
            self.check(E, truth.draw(E, log_n, random)[1], log_n)

    def test_every_kind_of_mistake(self):
        for seed in range(3):
            E, log_n, random = draw_evidence(2000, 8, seed)
            truth = Channel(.4, .1 + .1 * seed, .1, .05, .05, .3 * random.normal(size=8))
            self.check(E, truth.draw(E, log_n, random)[1], log_n)

    def test_labels_all_right(self):
        E, log_n, random = draw_evidence(2000, 6, 5)
        self.check(E, np.arange(2000) % 6, log_n)

    def test_one_way(self):
        E, log_n, random = draw_evidence(3000, 6, 6)
        truth = Channel(.5, .25, .001, .001, .02, np.zeros(6), {(k, (k + 1) % 6): .25 for k in range(6)})
        self.check_flows(E, truth, log_n, random)

    def test_one_way_between_two_classes(self):
        E, log_n, random = draw_evidence(3000, 2, 6)
        self.check_flows(E, Channel(.5, .25, .001, .001, .001, np.zeros(2), {(0, 1): .15}), log_n, random)

    def test_one_way_from_one_class(self):
        E, log_n, random = draw_evidence(2000, 6, 4)  # Recovery has more
        truth = Channel(.5, .25, .02, .02, .03, np.zeros(6), {(2, 4): .15})
        self.check_flows(E, truth, log_n, random)

    def test_one_way_far_apart(self):
        """A tenth of a class that was given to another pulls that one near: no row lies between the two, and it is no
        overlap."""
        random, N, C = np.random.default_rng(12), 5000, 10
        true = np.arange(N) % C
        E = (3000 + 200 * random.normal(size=(N, C))).astype("f4")
        for k, other in ((0, 1), (1, 0)):
            E[true == k, other] = 170 + 20 * random.normal(size=(true == k).sum())
        E[np.arange(N), true] = 60 + 11 * random.normal(size=N)
        y = np.where((true == 0) & (random.random(N) < .1), 1, true)
        got = Fitted([E], y, np.log(np.bincount(y)))
        self.assertEqual(set(got.channel.flows), {(0, 1)})
        self.assertTrue((got.wrong[y != true] > .9).all())
        self.assertLess(got.wrong[y == true].max(), .1)

    def check_flows(self, E, truth, log_n, random):
        """All that are there are found, and few names are spent on what is none."""
        y = truth.draw(E, log_n, random)[1]
        got = self.check(E, y, log_n)
        self.assertLessEqual(set(truth.flows), set(got.channel.flows))
        for pair, rate in got.channel.flows.items():
            self.assertLess(abs(rate - truth.flows.get(pair, 0)), .06, pair)
        problem, cost = Problem(E, y, np.asarray(log_n, "f4"), truth.flows), reference.cost_of_flow(len(y), len(log_n))
        best = problem.search([truth])[1] + cost * len(truth.flows)
        self.assertLess(got.surprise + cost * len(got.channel.flows) - best, 2 * cost, "flows are not worth their names")

    def test_unrelated_labels(self):
        """Evidence that is worth nothing, rather than labels that are nearly all wrong: no more are than the priors have,
        1/11 + 1/11 + 1/7."""
        E, log_n, random = draw_evidence(1000, 5, 7)
        got = self.check(E, random.integers(0, 5, 1000), log_n)
        self.assertLess(got.wrong.mean(), .3)

    def test_few_unrelated_labels(self):
        """However few they are, and where the row itself, which is left out, would have been all that spoke for them."""
        for seed in range(5):
            E, log_n, random = draw_evidence(60, 4, seed)
            self.assertLess(self.check(E, random.integers(0, 4, 60), np.full(4, 3.)).wrong.mean(), .3)
        E = np.where(np.arange(20)[:, None] % 2 == np.arange(2), 9, 6).astype("f4")
        self.assertLess(Fitted([E], np.arange(20) % 2, np.full(2, 3.)).wrong.mean(), .3)

    def test_any_unit(self):
        for unit in (1e-4, 1e5):
            E, log_n, random = draw_evidence(2000, 5, 8, unit=unit)
            truth = Channel(.4 / unit, .25, .1, .02, .05, np.zeros(5))
            self.check(E, truth.draw(E, log_n, random)[1], log_n)

    def test_two_kinds_of_evidence(self):
        E, log_n, random = draw_evidence(3000, 8, 9, kinds=2)
        E[1] /= 40
        truth = Channel([.2, 12], .25, .05, .05, .05, np.zeros(8))
        got = self.check(E, truth.draw(E, log_n, random)[1], log_n)
        self.assertLess(np.abs(np.log(got.channel.t / truth.t)).max(), .3)

    def test_steps_that_lead_far_beyond(self):
        """Errors that tell little, rows beside that tell much, labels moved at random: where a step leads nowhere the search
        must begin anew; else it ends 640 nats too high, with 78 % of the labels wrong."""
        for seed in (7, 8):
            random = np.random.default_rng(seed)
            means, near = random.normal(size=(100, 4)) * 1.5, np.arange(800) % 100
            d2 = (((means[near] + random.normal(size=(800, 4)))[:, None] - means) ** 2).sum(2)
            E = [np.maximum(d2 + 9 * random.normal(size=d2.shape), 0), (d2 + 2 * random.random(d2.shape)) / 8]
            y = np.where(random.random(800) < .3, random.integers(0, 100, 800), near)
            got = Fitted([e.astype("f4") for e in E], y, np.log(np.full(100, 8.)))
            self.assertLess(abs(got.wrong.mean() - (y != near).mean()), .06)

    def test_threads(self):
        E, log_n, random = draw_evidence(3000, 8, 10)
        y = Channel(.4, .25, .1, .05, .05, np.zeros(8), {(1, 2): .3}).draw(E, log_n, random)[1]
        bits = {Fitted(E, y, log_n, threads).bits for threads in (1, 2, 3)}
        self.assertEqual(len(bits), 1)

    def test_a_worse_fit_is_seen(self):
        """The bar tells: a channel a little off is more than it behind."""
        E, log_n, random = draw_evidence(3000, 8, 0)
        y = Channel(.4, .1, .1, .05, .05, np.zeros(8)).draw(E, log_n, random)[1]
        got = Fitted(E, y, log_n).channel
        problem = Problem(E, y, np.asarray(log_n, "f4"), got.flows)
        best = problem(problem.pack(got))[0]
        got.t = got.t * 1.2
        self.assertGreater(problem(problem.pack(got))[0] - best, WORSE)


class AllRight(unittest.TestCase):
    """Whether overlap alone explains the labels, against scipy."""

    def ask(self, E, y, log_n):
        asked, not_asked = Fitted(E, y, log_n, ask="enough"), Fitted(E, y, log_n)
        self.assertEqual(not_asked.all_right, 0)
        want = reference.all_right(E, y, np.asarray(log_n, "f4").astype(float), asked.channel)
        self.assertAlmostEqual(asked.all_right, want, delta=.01)
        self.assertLess(np.abs(asked.wrong - (1 - asked.all_right) * not_asked.wrong).max(), 1e-6)
        return asked.all_right

    def overlap(self, seed, kinds=2):
        E, log_n, random = draw_evidence(1500, 5, seed, kinds=kinds, home=8)
        nobody_errs = Channel([.5, .3][:kinds], .25, 0, 0, 0, np.zeros(5))
        return E, nobody_errs.draw(E, log_n, random)[1], log_n, random

    def test_overlap_alone(self):
        for seed in range(4):
            self.assertGreater(self.ask(*self.overlap(seed)[:3]), .6)

    def test_a_few_mistakes(self):
        """One label in fifty is enough."""
        for seed in range(4):
            E, y, log_n, random = self.overlap(seed)
            clear = np.flatnonzero(np.sort(E[0] + E[1])[:, :2] @ [-1, 1] > 20)[:30]
            y[clear] = (y[clear] + random.integers(1, 5, len(clear))) % 5
            self.assertLess(self.ask(E, y, log_n), .001)


class Recovery(unittest.TestCase):
    """Labels drawn from a known channel: found again, as well as so many labels can say."""

    def check(self, truth, N, C, seed, named, rate=.016):
        """named: what these labels say much about; the others trade with each other. rate: bar of the noise rate."""
        if truth.kappa is not None:
            E, y, true, log_n = draw_confused(truth, N, C, seed, len(truth.t))
        else:
            E, log_n, random = draw_evidence(N, C, seed, kinds=len(truth.t))
            true, y = truth.draw(E, log_n, random)
        got = Fitted(E, y, log_n)
        self.assertLessEqual(set(truth.flows), set(got.channel.flows))
        problem = Problem(E, y, np.asarray(log_n, "f4"), truth.flows)
        top = problem.search([truth])[0]
        x, wanted, spread = problem.pack(got.channel), problem.pack(truth), problem.spread(top)
        names = ["t"] * problem.kinds + ["lambda", "e", "v"] + ["beta"] * C + ["u"] + ["flow"] * len(truth.flows) + ["kappa"]
        for name, a, b, s in zip(names, x, wanted, spread):
            if name in named:
                self.assertLess(s, named[name], name)  # the test says something
                self.assertLess(abs(a - b), APART * s, "%s: %.3f instead of %.3f, give or take %.3f" % (name, a, b, s))
        self.assertLess(abs(got.wrong.mean() - (true != y).mean()), rate, "noise rate")
        order = np.argsort(got.wrong)
        for tenth in np.array_split(order, 10):  # and every probability is what it says
            expected, bad = got.wrong[tenth].mean(), (true != y)[tenth].mean()
            self.assertLess(abs(expected - bad), .03 + APART * np.sqrt(expected * (1 - expected) / len(tenth)))

    def test_people(self):
        self.check(Channel(.4, .3, .2, .03, .03, np.zeros(6)), 20000, 6, 1, {"t": .1, "e": .4, "lambda": .6})

    def test_likeness(self):
        self.check(Channel(.4, .25, .01, .2, .01, np.zeros(6)), 20000, 6, 2, {"t": .1, "v": .2})

    def test_uniform(self):
        self.check(Channel(.6, .25, .01, .01, .2, .2 * np.arange(-3, 4)), 8000, 7, 3, {"t": .1})  # labels read so blurred that all classes look alike are as good as u

    def test_confused(self):
        for seed in range(6, 9):
            truth = Channel(.4, .25, .02, .02, .25, np.zeros(6), (), .3)
            self.check(truth, 3000, 6, seed, {"u": .15, "kappa": .5}, .02)
            self.check(truth, 20000, 6, seed, {"t": .1, "u": .06, "kappa": .25})

    def test_one_flow(self):
        self.check(Channel(.5, .25, .02, .02, .03, np.zeros(6), {(2, 4): .15}), 5000, 6, 4, {"t": .1, "flow": .2})

    def test_two_kinds_of_evidence(self):
        self.check(Channel([.25, .15], .25, .1, .02, .05, np.zeros(5)), 8000, 5, 5, {"t": .1})


class Thinned(unittest.TestCase):
    """Fewer rows than the channel is from that the fit starts from: how labels go wrong is known, and stays."""

    SHARES = ("blur", "likeness", "uniform", "confusion")

    def held(self, E, y, log_n, stands):
        got, half = Fitted(E, y, log_n, ask="thinned", stands=stands), len(y) // 2
        for name in self.SHARES:
            self.assertAlmostEqual(got.numbers[name], got.began[name], delta=1e-9 * got.began[name], msg=name)
        for name in ("global", "sharpness"):
            self.assertGreater(abs(got.numbers[name] / got.began[name] - 1), 1e-4, name)
        # t, lambda and beta are the likeliest with all else as it is
        some = [e[:half] for e in E], y[:half], np.asarray(log_n, "f4")
        problem = Problem(*some, got.channel.flows, False, stands[:half], got.channel.alike)
        x, free = problem.pack(got.channel), np.arange(problem.kinds + 1)
        free = np.r_[free, problem.kinds + 3 + np.arange(problem.C)]
        problem.bounds = lambda: [(None, None) if j in free else (at, at) for j, at in enumerate(x)]
        self.assertLess(problem(x)[0] - problem.search([got.channel])[1], .2)
        return got

    def test_held(self):
        truth = Channel([.4, .3], .25, .08, .04, .15, np.zeros(6), (), .2)
        E, y, _, log_n = draw_confused(truth, 3000, 6, 5, kinds=2)
        stands = .5 + np.random.default_rng(5).random(3000).astype("f4")
        self.assertIsNotNone(self.held(E, y, log_n, stands).channel.alike)
        self.held(E[:1], y, log_n, stands)

    def test_few_rows_are_held_to_what_many_say(self):
        """Also where they are too few to say which classes are alike; and flows stay as they are."""
        truth = Channel(.5, .25, .02, .02, .1, np.zeros(6), {(0, 4): .3}, .25)
        E, y, _, log_n = draw_confused(truth, 1000, 6, 4)
        got, all_of_them = self.held(E, y, log_n, np.ones(1000)), Fitted(E, y, log_n)
        self.assertEqual(all_of_them.numbers["uniform"], got.began["uniform"])
        np.testing.assert_allclose(got.channel.alike, all_of_them.channel.alike, atol=1e-6)
        np.testing.assert_allclose(got.channel.rates(), all_of_them.channel.rates(), atol=1e-6)
        self.assertIn((0, 4), got.channel.flows)

    def test_found_anew(self):
        """Where the labels say so by far."""
        E, log_n, random = draw_evidence(3000, 6, 5)
        near = np.arange(3000) % 6
        wrong = (np.arange(3000) < 1500) & (random.random(3000) < .6)
        y = np.where(wrong, (near + 1) % 6, near)
        got, alone = Fitted(E, y, log_n, ask="thinned"), Fitted([E[0][:1500]], y[:1500], log_n)
        self.assertLess(abs(got.surprise - alone.surprise), 1)
        self.assertGreater(abs(got.numbers["blur"] / got.began["blur"] - 1), .01)
        for k in range(6):
            self.assertGreater(got.channel.flows[k, (k + 1) % 6], .45)


class Reference(unittest.TestCase):
    def test_detect(self):
        """What the tables of detection print for comparison."""
        E, log_n, random = draw_evidence(3000, 6, 11)
        truth = Channel(.5, .25, .05, .02, .02, np.zeros(6), {(2, 4): .4})
        true, y = truth.draw(E, log_n, random)
        wrong, rate, low, high, flows = reference.detect(E[0].astype(float), y)
        self.assertLess(abs(rate - (true != y).mean()), .03)
        self.assertTrue(low < rate < high)
        self.assertEqual(flows, [(2, 4)])


if __name__ == "__main__":
    unittest.main()
