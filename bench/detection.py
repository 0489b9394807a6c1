"""Does `rer analyze` find wrong labels as well as it should? A test with bars.

    python bench/detection.py [--rer PATH] [--data DIR] [--quick]

plants 10 % wrong labels (symmetric and asymmetric, seeds 0 1 2) in four sets
of image features, takes the human labels of CIFAR-10N as they are, and prints
the AUROC of what the command writes, that of chi beside the slow numpy
reference's (tests/reference/prototype.py), which has no bar and is left out
with --quick. Then the estimated noise rate on food10, as it
is and with symmetric noise planted. Bars hold for the mean over the seeds
(AUROC) and for every seed (noise rate).

Exit status: 0 all bars met, 1 a bar missed or the command failed, 77 no data.
"""
import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SEEDS = (0, 1, 2)
KINDS = ("symmetric", "asymmetric")
PLANTED_BARS = {"dtd": (.976, .970), "aircraft": (.962, .860),
                "flowers102": (.998, .990), "food10": (.998, .996)}
HUMAN_BARS = {"aggre": .962, "random1": .975, "random2": None, "random3": None, "worse": .973}
RATE_BAR = .02                      # food10 as it is, and how far planted rates may be off


def import_prototype():
    sys.path.insert(0, os.path.join(ROOT, "tests", "reference"))
    import prototype
    return prototype


def find_command(given):
    for path in (given, os.path.join(ROOT, "build", "rer"),
                 os.path.join(ROOT, "build", "cli", "rer"), shutil.which("rer")):
        if path and os.path.isfile(path):
            return os.path.abspath(path)
        if path and path == given:
            break
    sys.exit("no command at %s: build it, or name it with --rer"
             % (given or "build/rer, build/cli/rer or on the PATH"))


class Failed(Exception):
    pass


# ---- two ways to judge labels -----------------------------------------------

def by_command(command, features, y):
    """(mistakenness [N], chi [N], noise rate) that the command writes for a feature file and labels."""
    with tempfile.TemporaryDirectory() as folder:
        labels, out = os.path.join(folder, "y.npy"), os.path.join(folder, "out")
        np.save(labels, y.astype(np.int32))
        done = subprocess.run([command, "analyze", features, labels, "--out", out, "--quiet"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise Failed("status %d: %s" % (done.returncode, done.stderr.strip()))
        with open(os.path.join(out, "samples.csv"), newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        with open(os.path.join(out, "summary.json"), encoding="utf-8") as file:
            summary = json.load(file)
    if [int(r["given_label"]) for r in rows] != y.tolist():
        raise Failed("samples.csv does not hold the given labels in input order")
    column = {k: np.array([float(r[k] or "nan") for r in rows])
              for k in ("rer", "mistakenness", "own_error", "best_other_error")}
    for name, values in column.items():
        if not np.isfinite(values).all():      # every class here has two samples or more
            raise Failed("samples.csv: %s is missing in %d rows"
                         % (name, (~np.isfinite(values)).sum()))
    wrong = np.abs(column["own_error"] / column["best_other_error"] / column["rer"] - 1).max()
    if wrong > 1e-4:
        raise Failed("samples.csv: rer differs from own_error / best_other_error by %.1e" % wrong)
    return column["mistakenness"], column["rer"], float(summary["noise_rate"])


def by_prototype(P, X, y):
    """chi [N]"""
    fit = P.Fit(X, y)
    return P.ratios(np.sqrt(fit.d2(P.choose(fit))), y)["chi"]


def f1(flagged, bad):
    return 2 * (flagged & bad).sum() / max(flagged.sum() + bad.sum(), 1)


# ---- the table --------------------------------------------------------------

class Bench:
    def __init__(self, P, command, data, quick):
        self.P, self.command, self.data, self.quick, self.missed = P, command, data, quick, 0

    def load(self, name):
        return np.load(os.path.join(self.data, name + ".npy"))

    def judge(self, name, y):
        return by_command(self.command, os.path.join(self.data, name + "_X.npy"), y)

    def verdict(self, met):
        self.missed += not met
        return "met" if met else "MISSED"

    def auroc_row(self, label, name, X, y, noisy, bar):
        """One row: means over the label sets in `noisy`."""
        values = []
        for z in noisy:
            m, chi, rate = self.judge(name, z)
            bad = z != y
            reference = np.nan if self.quick else self.P.auroc(by_prototype(self.P, X, z), bad)
            values.append((self.P.auroc(m, bad), self.P.auroc(chi, bad), reference,
                           f1(m > .5, bad), rate, bad.mean()))
        mean = np.mean(values, 0)
        text = "%-24s  %6.4f  %6.4f  %6.4f  %5.3f  %5.3f  %5.3f" % (label, *mean)
        print(text + ("  %5.3f %s" % (bar, self.verdict(mean[0] >= bar)) if bar else "      -"), flush=True)

    def detection(self):
        print("mistak, chi, numpy: AUROC of mistakenness, of the ratio, and of the reference's; F1: of "
              "mistakenness > .5; rate: estimated noise rate")
        print("%-24s  %6s  %6s  %6s  %5s  %5s  %5s  %5s" % ("", "mistak", "chi", "numpy", "F1", "rate", "true", "bar"))
        for short, bars in PLANTED_BARS.items():
            name = short + "_clip_b32"
            X, y = self.P.unit_rows(self.load(name + "_X")), self.load(name + "_y")
            for kind, bar in zip(KINDS, bars):
                noisy = [self.P.noise(y, kind, .1, seed) for seed in SEEDS]
                self.auroc_row(short + " " + kind, name, X, y, noisy, bar)
        name = "cifar10_effnet"
        X, y = self.P.unit_rows(self.load(name + "_X")), self.load(name + "_y")
        for kind, bar in HUMAN_BARS.items():
            noisy = [self.load(name + "_human_" + kind)]
            self.auroc_row("cifar10 human " + kind, name, X, y, noisy, bar)

    def noise_rates(self):
        name = "food10_clip_b32"
        y = self.load(name + "_y")
        base = self.judge(name, y)[2]
        print("\nnoise rate of food10, as it is (at most %g): %.4f" % (RATE_BAR, base),
              self.verdict(base <= RATE_BAR), flush=True)
        for planted in (.05, .1, .2, .3):
            off = [self.judge(name, self.P.noise(y, "symmetric", planted, seed))[2] - (planted + (1 - planted) * base)
                   for seed in SEEDS]
            print("  symmetric %2.0f %%, estimate minus expected (within %g):" % (100 * planted, RATE_BAR),
                  *("%+.4f" % o for o in off), self.verdict(np.abs(off).max() <= RATE_BAR), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rer", metavar="PATH", help="the command (default: build/rer, "
                        "build/cli/rer, or rer on the PATH)")
    parser.add_argument("--data", metavar="DIR", default=os.environ.get("RER_DATA", ""),
                        help="folder with data/*.npy (default: $RER_DATA)")
    parser.add_argument("--quick", action="store_true", help="without the numpy reference")
    args = parser.parse_args()
    data = os.path.join(os.path.abspath(args.data), "data")
    if not os.path.isdir(data):
        print("skipped: no data; RER_DATA or --data names its folder")
        return 77
    bench = Bench(import_prototype(), find_command(args.rer), data, args.quick)
    try:
        bench.detection()
        bench.noise_rates()
    except Failed as failure:
        print("\nFAILED:", failure)
        return 1
    print("\n%s" % ("all bars met" if not bench.missed else "%d bars missed" % bench.missed))
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
