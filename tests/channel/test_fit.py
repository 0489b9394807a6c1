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
from channel import Channel, Problem

PROGRAM = os.environ["RER_FIT_CHANNEL"]
WORSE = 1.0  # nats of all labels together
APART = 3.5  # standard errors; some 60 numbers are looked at


class Fitted:
    """What the program makes of evidence and labels."""

    def __init__(self, E, y, log_n, threads=1, enough=False):
        (N, C), log_n = E[0].shape, np.asarray(log_n, "f4")
        with tempfile.TemporaryDirectory(prefix="rer-channel-") as folder:
            path = lambda name: os.path.join(folder, name)
            for name, array in zip(("global", "local"), E):
                np.ascontiguousarray(array, "<f4").tofile(path(name))
            y.astype("<i4").tofile(path("code"))
            log_n.tofile(path("log_n"))
            subprocess.run([PROGRAM, str(N), str(C), folder, str(threads), *["enough"] * enough], check=True, timeout=1800)
            numbers = np.fromfile(path("numbers"))
            self.bits = b"".join(np.fromfile(path(name), "u1").tobytes() for name in ("numbers", "bias", "right", "logit"))
            bias, right = np.fromfile(path("bias"), "<f4"), np.fromfile(path("right"), "<f4").astype(float)
            self.wrong = expit(np.fromfile(path("logit")))
            rates = np.fromfile(path("rates"), "<f4").reshape(C, C).T.astype(float) if numbers[8] else None
        self.edge, self.surprise, self.all_right = numbers[2:4][:len(E)], numbers[9], numbers[10]
        u, flows = numbers[7], {}
        if rates is not None:
            flows = {(k, c): rates[k, c] - u / (C - 1) for k in range(C) for c in range(C)
                     if k != c and rates[k, c] > u / (C - 1) * (1 + 1e-5) + 1e-9}
        self.channel = Channel(numbers[:len(E)], numbers[5], numbers[4], numbers[6], u, bias.astype(float) - log_n, flows)
        assert np.abs(self.channel.rates().diagonal() - right).max() < 1e-5


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


class AgainstScipy(unittest.TestCase):
    """Labels drawn in many ways, some of them beyond the model."""

    def check(self, E, y, log_n, worse=WORSE):
        got = Fitted(E, y, log_n)
        log_n = np.asarray(log_n, "f4")
        problem = Problem(E, y, log_n, got.channel.flows)
        value = problem(problem.pack(got.channel))[0]
        self.assertLess(abs(value - got.surprise), WORSE, "it says what it has")
        _, best = problem.search([got.channel, *list(problem.starts())[::4]])
        self.assertLess(value - best, worse, "scipy explains the labels in fewer nats")
        wrong = got.channel.wrong([e.astype(float) for e in E], y, log_n, got.edge)
        self.assertLess(np.abs(wrong - got.wrong).max(), .001)
        return got

    def test_slope_of_the_reference(self):
        """The reference itself: its slope against differences."""
        E, log_n, random = draw_evidence(200, 5, 1, kinds=2)
        truth = Channel([.3, .2], .2, .1, .1, .1, .3 * random.normal(size=5), {(1, 2): .2, (0, 3): .1})
        y = truth.draw(E, log_n, random)[1]
        problem = Problem(E, y, log_n, truth.flows)
        x = problem.pack(truth) + .1
        slope = problem(x)[1]
        for j, d in enumerate(1e-5 * np.eye(len(x))):
            self.assertAlmostEqual((problem(x + d)[0] - problem(x - d)[0]) / 2e-5, slope[j], delta=1e-4 * (1 + abs(slope[j])))

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
        """Evidence that is worth nothing, rather than labels that are nearly all wrong."""
        E, log_n, random = draw_evidence(1000, 5, 7)
        got = self.check(E, random.integers(0, 5, 1000), log_n)
        self.assertLess(got.wrong.mean(), .2)

    def test_few_unrelated_labels(self):
        """However few they are, and where the row itself, which is left out, would have been all that spoke for them."""
        for seed in range(5):
            E, log_n, random = draw_evidence(60, 4, seed)
            self.assertLess(self.check(E, random.integers(0, 4, 60), np.full(4, 3.)).wrong.mean(), .25)
        E = np.where(np.arange(20)[:, None] % 2 == np.arange(2), 9, 6).astype("f4")
        self.assertLess(Fitted([E], np.arange(20) % 2, np.full(2, 3.)).wrong.mean(), .25)

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
        asked, not_asked = Fitted(E, y, log_n, enough=True), Fitted(E, y, log_n)
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

    def check(self, truth, N, C, seed, named):
        """named: what these labels say much about; the others trade with each other."""
        E, log_n, random = draw_evidence(N, C, seed, kinds=len(truth.t))
        true, y = truth.draw(E, log_n, random)
        got = Fitted(E, y, log_n)
        self.assertLessEqual(set(truth.flows), set(got.channel.flows))
        problem = Problem(E, y, np.asarray(log_n, "f4"), truth.flows)
        top = problem.search([truth])[0]
        x, wanted, spread = problem.pack(got.channel), problem.pack(truth), problem.spread(top)
        names = ["t"] * problem.kinds + ["lambda", "e", "v"] + ["beta"] * C + ["u"] + ["flow"] * len(truth.flows)
        for name, a, b, s in zip(names, x, wanted, spread):
            if name in named:
                self.assertLess(s, named[name], name)  # the test says something
                self.assertLess(abs(a - b), APART * s, "%s: %.3f instead of %.3f, give or take %.3f" % (name, a, b, s))
        self.assertLess(abs(got.wrong.mean() - (true != y).mean()), .016, "noise rate")
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

    def test_one_flow(self):
        self.check(Channel(.5, .25, .02, .02, .03, np.zeros(6), {(2, 4): .15}), 5000, 6, 4, {"t": .1, "flow": .2})

    def test_two_kinds_of_evidence(self):
        self.check(Channel([.25, .15], .25, .1, .02, .05, np.zeros(5)), 8000, 5, 5, {"t": .1})


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
