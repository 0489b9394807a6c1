"""The tables of docs/detection.md: every detector on five sets of image features.

    python bench/detection_table.py [--rer PATH] [--data DIR] [--out DIR] [--only NAME,...] [--check]

runs `rer bench` on each set of measured features (symmetric, asymmetric and confidence noise,
5 to 30 %, three seeds), and on the five files of CIFAR-10N labels, one run for each set and kind of
noise. A run whose bench.json is in --out already and younger than the program is not repeated. Then the tables in
docs/detection.md are replaced (once all runs are there); the text between them stays. With --check nothing is run or
written: it says which bars hold. Only the standard library is needed.

Exit status: 0 done, 1 a run failed (with --check: a bar is missed), 77 no data.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "detection.md"
SETS = {"dtd": "dtd_clip_b32", "flowers102": "flowers102_clip_b32", "aircraft": "aircraft_clip_b32",
        "food10": "food10_clip_b32", "cifar10_effnet": "cifar10_effnet"}
PLANTED = ("symmetric", "asymmetric", "confidence")
HUMAN = ("aggre", "random1", "random2", "random3", "worse")
OURS = "rer"
VARIANTS = ("chi",)  # of ours: shown, but no baseline
DENSITY = "chi"      # has the probabilities of the paper's density method


# ---- running -----------------------------------------------------------------------------------

def find_command(given):
    for path in (given, ROOT / "build" / "cli" / "rer", shutil.which("rer")):
        if path and os.path.isfile(path):
            return os.path.abspath(path)
    sys.exit("no command at %s: build it, or name it with --rer" % (given or "build/cli/rer or on the PATH"))


def runs(data, only):
    """(folder, arguments of rer bench) of each run."""
    for name, stem in SETS.items():
        if only and name not in only:
            continue
        files = [str(data / (stem + "_X.npy")), str(data / (stem + "_y.npy"))]
        for kind in PLANTED:
            yield "%s-%s" % (name, kind), [*files, "--noise", kind, "--seeds", "3"]
        if name == "cifar10_effnet":
            labels = [str(data / ("cifar10_effnet_human_%s.npy" % which)) for which in HUMAN]
            yield name + "-human", [*files, "--noise", "none", "--human", *labels]


def is_current(result, command):
    """It was made after the program."""
    program = pathlib.Path(shutil.which(command) or command)
    return result.exists() and result.stat().st_mtime > program.stat().st_mtime


def run_all(command, data, out, only):
    for name, arguments in runs(data, only):
        folder = out / name
        if is_current(folder / "bench.json", command):
            print("%s: there already" % name, flush=True)
            continue
        print("%s: running" % name, flush=True)
        done = subprocess.run([command, "bench", *arguments, "--detectors", "all", "--out", str(folder), "--quiet"])
        if done.returncode:
            sys.exit("%s: rer bench ended with status %d" % (name, done.returncode))


# ---- what was measured --------------------------------------------------------------------------

class Cell:
    """One set, kind of noise and rate: means over the seeds."""

    def __init__(self, data_set, cell):
        self.set, self.noise, self.rate, self.detectors = data_set, cell["noise"], cell["rate"], cell["detectors"]
        self.kind = self.noise.split(":")[0]

    def name(self):
        if self.kind == "human":
            return "%s, people (%s)" % (self.set, self.noise.rsplit("_", 1)[-1])
        return "%s, %s %.0f %%" % (self.set, self.noise, 100 * self.rate)

    def value(self, detector, metric):
        return self.detectors[detector].get(metric)

    def best(self, baselines):
        return max(baselines, key=lambda name: self.value(name, "auroc"))

    def gap(self, baseline):
        """AUROC of ours minus the baseline's: mean, and the ends of its 95 % interval."""
        behind = self.detectors[baseline]["auroc_behind"]
        return behind["mean"], behind["low"], behind["high"]


class Results:
    def __init__(self, out):
        self.cells, self.as_is, self.names, self.missing = [], {}, None, []
        for name, _ in runs(pathlib.Path("."), None):
            path = out / name / "bench.json"
            if not path.exists():
                self.missing.append(name)
                continue
            result = json.loads(path.read_text())
            data_set = name.rsplit("-", 1)[0]
            if self.names not in (None, result["detectors"]):
                sys.exit("%s: other detectors than in the runs before; remove %s" % (path, out))
            self.names = result["detectors"]
            self.as_is[data_set] = result["cells"][0]["detectors"]
            self.cells += [Cell(data_set, cell) for cell in result["cells"][1:]]
        if not self.cells:
            sys.exit("nothing was measured yet: %s has no run" % out)
        self.baselines = [name for name in self.names if name != OURS and name not in VARIANTS]
        self.confident = [name for name in self.baselines if name.startswith("confident")]

    def of_kind(self, *kinds):
        return [cell for cell in self.cells if cell.kind in kinds]

    def mean(self, detector, metric, cells=None):
        values = [cell.value(detector, metric) for cell in (self.cells if cells is None else cells)]
        values = [value for value in values if value is not None]
        return sum(values) / len(values) if values else None


# ---- bars --------------------------------------------------------------------------------------

def compare(value, bar, at_least=True):
    """None where there is nothing to compare."""
    return None if value is None or bar is None else value >= bar if at_least else value <= bar


def lowest(values):
    values = [value for value in values if value is not None]
    return min(values) if values else None


def auroc_bars(r):
    ours, best = r.mean(OURS, "auroc"), max(r.baselines, key=lambda name: r.mean(name, "auroc"))
    ahead = ours - r.mean(best, "auroc")
    yield "mean AUROC above the best single baseline's (%s)" % best, ">= .015", ahead, compare(ahead, .015)
    gaps = [cell.gap(cell.best(r.baselines)) for cell in r.cells]
    oracle = sum(cell.value(cell.best(r.baselines), "auroc") for cell in r.cells) / len(r.cells)
    yield "mean AUROC above an oracle that picks the best baseline of every cell", "> 0", ours - oracle, \
        ours - oracle > 0
    for text, which in (("", 0), (", even at the low end of its 95 % interval", 1), (", at the high end", 2)):
        share = sum(gap[which] is not None and gap[which] >= -.005 for gap in gaps) / len(gaps)
        yield "share of cells at most .005 below the best baseline of the cell" + text, ">= .95", share, \
            compare(share, .95)


def flag_bars(r):
    cells = r.of_kind("symmetric", "asymmetric")
    if cells:
        ratio = r.mean(OURS, "f1", cells) / r.mean(OURS, "best_f1", cells)
        yield "F1 of the flags over the best F1, symmetric and asymmetric", ">= .95", ratio, compare(ratio, .95)
    theirs = [r.mean(name, "f1") for name in r.confident]
    if theirs:
        ahead = r.mean(OURS, "f1") - max(theirs)
        yield "mean F1 of the flags above confident learning's (best variant)", "> 0", ahead, ahead > 0


def probability_bars(r):
    for kind, bar in (("symmetric", .02), ("asymmetric", .04), ("confidence", None), ("human", None)):
        cells = r.of_kind(kind)
        if not cells:
            continue
        ece = r.mean(OURS, "ece", cells)
        if bar is not None:
            yield "calibration error, %s" % kind, "<= %g" % bar, ece, compare(ece, bar, False)
        for text, others in (("confident learning", r.confident), ("the density method", [DENSITY])):
            theirs = lowest(r.mean(name, "ece", cells) for name in others if name in r.names)
            below = None if theirs is None else theirs - ece
            yield "calibration error below that of %s, %s" % (text, kind), "> 0", below, compare(below, 0)
        ncfd = r.mean(OURS, "ncfd", cells)
        yield "NCFD, %s" % kind, "> 0", ncfd, compare(ncfd, 0)


def noise_rate_bars(r):
    for kind, bar in (("symmetric", .015), ("asymmetric", .03)):
        error = r.mean(OURS, "noise_rate_error", r.of_kind(kind))
        yield "noise rate, mean error, %s" % kind, "<= %g" % bar, error, compare(error, bar, False)
    for name, bar in (("food10", .015), ("flowers102", .02)):
        rate = r.as_is.get(name, {}).get(OURS, {}).get("noise_rate")
        yield "noise rate of %s as it is" % name, "<= %g" % bar, rate, compare(rate, bar, False)
    for cell in r.of_kind("human"):
        bar = .04 if cell.noise.endswith("aggre") else .03
        error = cell.value(OURS, "noise_rate_error")
        yield "noise rate, error, %s" % cell.name(), "<= %g" % bar, error, compare(error, bar, False)
    width, covers = r.mean(OURS, "interval_width"), r.mean(OURS, "interval_covers")
    yield "noise rate, mean width of the range", "<= .06", width, compare(width, .06, False)
    yield "noise rate, share of cells that the range covers", ">= .8", covers, compare(covers, .8)


def use_bars(r):
    for name in ("food10", "cifar10_effnet"):
        cells = [cell for cell in r.cells if cell.set == name and cell.kind in PLANTED]
        share = r.mean(OURS, "suggestion_accuracy", cells)
        yield "suggested label is the true one, flagged planted errors of %s" % name, ">= .9", share, compare(share, .9)
    for k in ("100", "500", "flagged"):
        pairs = [(cell.value(OURS, "expected_wrong@" + k), cell.value(OURS, "wrong@" + k))
                 for cell in r.of_kind("symmetric", "asymmetric")
                 if cell.value(OURS, "wrong@" + k) and cell.value(OURS, "expected_wrong@" + k) is not None]
        errors = [abs(expected / wrong - 1) for expected, wrong in pairs]
        first = "as many as are flagged" if k == "flagged" else k
        together = abs(sum(e for e, _ in pairs) / sum(w for _, w in pairs) - 1) if pairs else None
        yield "what a budget buys, first %s: error of the statement, all cells together" % first, "<= .1", together, \
            compare(together, .1, False)
        mean = sum(errors) / len(errors) if errors else None
        yield "what a budget buys, first %s: mean error of the statement" % first, "<= .1", mean, \
            compare(mean, .1, False)
        within = sum(error <= .1 for error in errors) / len(errors) if errors else None
        yield "what a budget buys, first %s: share of cells within 10 %%" % first, "1", within, compare(within, 1)


def bars(r):
    for group in (auroc_bars, flag_bars, probability_bars, noise_rate_bars, use_bars):
        yield from group(r)


# ---- tables ------------------------------------------------------------------------------------

def number(value, digits=4):
    return "-" if value is None else "%.*f" % (digits, value)


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| %s |" % " | ".join(map(str, line)) for line in lines)


def bars_table(r):
    return table(("what", "bar", "measured", "holds"),
                 [(what, bar, number(value), {True: "yes", False: "**no**", None: "not measured"}[holds])
                  for what, bar, value, holds in bars(r)])


MEANS = (("auroc", "AUROC"), ("average_precision", "AP"), ("f1", "F1"), ("best_f1", "best F1"), ("ece", "ECE"),
         ("ncfd", "NCFD"), ("fnr@budget", "FNR"), ("lift@100", "lift@100"), ("ndcg@100", "nDCG@100"),
         ("noise_rate_error", "noise rate error"), ("suggestion_accuracy", "suggestions right"), ("seconds", "seconds"))


def means_table(r):
    ranked = sorted(r.names, key=lambda name: -r.mean(name, "auroc"))
    return table(("detector", *(text for _, text in MEANS)),
                 [(name, *(number(r.mean(name, metric), 3) for metric, _ in MEANS)) for name in ranked])


def kinds_table(r):
    kinds = [kind for kind in (*PLANTED, "human") if r.of_kind(kind)]
    ranked = sorted(r.names, key=lambda name: -r.mean(name, "auroc"))
    head = ["detector"] + ["%s, %s" % (text, kind) for text in ("AUROC", "F1", "ECE") for kind in kinds]
    return table(head, [[name] + [number(r.mean(name, metric, r.of_kind(kind)), 3 + (metric == "auroc"))
                                  for metric in ("auroc", "f1", "ece") for kind in kinds] for name in ranked])


def cells_table(r):
    rows = []
    for cell in r.cells:
        best = cell.best(r.baselines)
        mean, low, high = cell.gap(best)
        interval = "-" if low is None else "%+.4f to %+.4f" % (low, high)
        rows.append((cell.name(), number(cell.value(OURS, "auroc")), best, number(cell.value(best, "auroc")),
                     "%+.4f" % mean, interval, number(cell.value(OURS, "f1"), 3), number(cell.value(OURS, "best_f1"), 3),
                     number(cell.value(OURS, "noise_rate"), 3), number(cell.value(OURS, "true_noise_rate"), 3)))
    return table(("cell", "rer", "best baseline", "its AUROC", "difference", "95 % interval", "F1", "best F1",
                  "noise rate", "true"), rows)


def summary(r):
    gaps = [(cell.gap(cell.best(r.baselines)), cell) for cell in r.cells]
    won = sum(gap[1] is not None and gap[1] > 0 for gap, _ in gaps)
    lost = [(gap, cell) for gap, cell in gaps if gap[2] is not None and gap[2] < 0]
    lost.sort(key=lambda pair: pair[0][0])
    lines = ["Against the best baseline of each cell, picked afterwards: ahead in %d of %d cells, behind in %d, no "
             "difference beyond the 95 %% interval in the rest." % (won, len(gaps), len(lost), )]
    if lost:
        lines.append("Furthest behind: " + "; ".join("%s by %.4f (%s)" % (cell.name(), -gap[0], cell.best(r.baselines))
                                                     for gap, cell in lost[:5]) + ".")
    return "\n\n".join(lines)


TABLES = {"bars": bars_table, "summary": summary, "means": means_table, "kinds": kinds_table, "cells": cells_table}


def fill(text, r):
    for name, make in TABLES.items():
        pattern = re.compile(r"(<!-- %s -->\n).*?(\n<!-- end -->)" % name, re.S)
        if not pattern.search(text):
            sys.exit("%s: the place of the table '%s' is missing" % (PAGE, name))
        text = pattern.sub(lambda match, make=make: match.group(1) + make(r) + match.group(2), text)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rer", metavar="PATH", help="the command (default: build/cli/rer, or rer on the PATH)")
    parser.add_argument("--data", metavar="DIR", default=os.environ.get("RER_DATA", ""), type=pathlib.Path,
                        help="folder with data/*.npy (default: $RER_DATA)")
    parser.add_argument("--out", metavar="DIR", default=ROOT / "out" / "detection", type=pathlib.Path,
                        help="folder for the results of rer bench (default: out/detection)")
    parser.add_argument("--only", metavar="NAME,...", help="run these sets alone: " + ",".join(SETS))
    parser.add_argument("--check", action="store_true", help="say which bars hold; run and write nothing")
    arguments = parser.parse_args()
    data = arguments.data.resolve() / "data"
    only = arguments.only.split(",") if arguments.only else None
    if only and not set(only) <= set(SETS):
        sys.exit("--only: there are %s" % ", ".join(SETS))
    if not arguments.check:
        if not data.is_dir():
            print("skipped: no data; RER_DATA or --data names its folder")
            return 77
        run_all(find_command(arguments.rer), data, arguments.out, only)
    results = Results(arguments.out)
    for what, bar, value, holds in bars(results):
        print("%-90s %8s %9s  %s" % (what, bar, number(value), {True: "holds", False: "MISSED", None: "-"}[holds]))
    for name in results.missing:
        print("not measured: %s" % name)
    if arguments.check:
        return 0 if all(holds is not False for _, _, _, holds in bars(results)) else 1
    if results.missing:
        print("docs/detection.md stays as it is until all runs are there")
        return 0
    PAGE.write_text(fill(PAGE.read_text(), results))
    print("written: %s" % PAGE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
