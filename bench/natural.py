"""The natural part of docs/detection.md: labels as people left them, nothing planted, and what better judges say.

    python bench/natural.py [--rer PATH] [--data DIR] [--out DIR] [--only NAME,...] [--check]

The judges: for Fashion-MNIST (Debian's package dataset-fashion-mnist) a network that has not seen the picture
and gives its label less than .2; for 20 Newsgroups people who did not confirm the label; for CIFAR-10N, the
labels that people gave to CIFAR-10, its own labels. Beside them food10, flowers102 and dtd as they are, and
flowers102 and dtd cut down to 8 rows a class with planted mistakes, against plain class means. A run whose
result is in --out already and younger than the program is not repeated. Then the table in docs/detection.md is
replaced (once all runs are there). With --check nothing is run or written: it says which
bars hold. Needs numpy.

Exit status: 0 done, 1 a run failed (with --check: a bar is missed), 77 no data or no numpy.
"""
import argparse
import csv
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from detection_table import HUMAN, PAGE, PLANTED, ROOT, SETS as STEMS, compare, find_command, is_current, table

try:
    import numpy as np
except ImportError:
    np = None

FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")
PARTS = ("fashion", "news", "cifar10n", "clean", "cut")
OTHERS = ("confident", "simifeat", "knn")
RECONSTRUCTORS = ("subspace", "published", "autoencoder")
FIRST = (25, 50, 100, 250, 500)
FACTORS = (2, 3, 4, 5)  # of the odds, for the ends of the range; rer's is the last
NAMES = {"fashion": "Fashion-MNIST", "news": "20 Newsgroups", **{which: "CIFAR-10N " + which for which in HUMAN}}
DOUBTED = .2       # a network's probability for the label that a judge calls doubt
CLEAN = ("food10", "flowers102", "dtd")
CUT = ("flowers102", "dtd")
CUT_ROWS = 8
RATES = (.05, .1, .2, .3)
SEEDS = (0, 1, 2)


# ---- running -----------------------------------------------------------------------------------

class Run:
    """One analysis: the folder of its result, what it is called, and the arguments."""

    def __init__(self, part, labels, name, files, *options):
        self.part, self.labels, self.name = part, labels, name
        self.folder = "%s-%s" % (labels, name.replace("--", ""))
        self.arguments = [*map(str, files), *map(str, options)]


def runs(data):
    pictures = [FASHION / ("train-%s-ubyte.gz" % which) for which in ("images-idx3", "labels-idx1")]
    news = [data / "natural" / ("news20_minilm_%s.npy" % which) for which in "Xy"]
    yield Run("fashion", "fashion", "rer", pictures)
    for name in OTHERS:
        yield Run("fashion", "fashion", name, pictures, "--detector", name)
    yield Run("news", "news", "rer", news)
    for name in RECONSTRUCTORS:
        yield Run("news", "news", name, news, "--reconstructor", name)
    yield Run("news", "news", "--pred-probs", news, "--pred-probs", data / "natural" / "news20_model_probs.npy")
    for name in OTHERS:
        yield Run("news", "news", name, news, "--detector", name)
    for which in HUMAN:
        files = [data / "cifar10_effnet_X.npy", data / ("cifar10_effnet_human_%s.npy" % which)]
        yield Run("cifar10n", which, "rer", files)
        for name in OTHERS:
            yield Run("cifar10n", which, name, files, "--detector", name)
    for name in CLEAN:
        yield Run("clean", name, "rer", [data / ("%s_%s.npy" % (STEMS[name], which)) for which in "Xy"])


def call(*arguments):
    done = subprocess.run([*map(str, arguments), "--quiet"])
    if done.returncode:
        sys.exit("%s: ended with status %d" % (" ".join(map(str, arguments)), done.returncode))


def judged(folder):
    """Columns of samples.csv: log odds of a wrong label, mistakenness and chi; NaN where there is none."""
    with open(folder / "samples.csv", newline="") as file:
        rows = [[float(row[name] or "nan") for name in ("mistakenness", "label_score", "rer")]
                for row in csv.DictReader(file)]
    wrong, right, chi = np.array(rows).T
    with np.errstate(divide="ignore"):
        return np.log(wrong) - np.log(right), wrong, chi


def auroc(score, truth):
    """Of the rows that have a score; ties count half."""
    known = ~np.isnan(score)
    score, truth = score[known], truth[known]
    bad, good = np.sort(score[truth]), np.sort(score[~truth])
    below = np.searchsorted(good, bad, "left") + np.searchsorted(good, bad, "right")
    return float(below.sum() / 2 / len(bad) / len(good))


def first_of(score, value, k):
    """Sum of value over the k highest scores; of rows with the same score, as many as are wanted in the mean."""
    score = np.where(np.isnan(score), -np.inf, score)
    edge = np.sort(score)[-k]
    above, at = score > edge, score == edge
    return float(np.nansum(value[above]) + np.nansum(value[at]) * (k - above.sum()) / at.sum())


def run_all(command, data, out, only):
    for run in runs(data):
        if run.part not in only:
            continue
        folder = out / run.folder
        if is_current(folder / "summary.json", command):
            print("%s: there already" % run.folder, flush=True)
            continue
        print("%s: running" % run.folder, flush=True)
        call(command, "analyze", *run.arguments, "--out", folder)
    if "cut" in only and not is_current(out / "cut.json", command):
        print("cut: running", flush=True)
        cells = cut_cells(command, data)
        (out / "cut.json").write_text(json.dumps(cells, indent=1))


def cut_cells(command, data, names=CUT, kinds=PLANTED, rates=RATES):
    """AUROC of planted mistakes where classes have few rows: mistakenness, chi, and chi of plain class means."""
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in names:
            X, y = (np.load(data / ("%s_%s.npy" % (STEMS[name], which))) for which in "Xy")
            keep = np.sort(np.concatenate([np.flatnonzero(y == label)[:CUT_ROWS] for label in np.unique(y)]))
            files = [folder / "X.npy", folder / "y.npy", folder / "noisy.npy"]
            np.save(files[0], X[keep])
            np.save(files[1], y[keep])
            for kind in kinds:
                for rate in rates:
                    scores = []
                    for seed in SEEDS:
                        features = ["--features", files[0]] if kind == "confidence" else []
                        call(command, "noise", files[1], "--type", kind, "--rate", rate, "--seed", seed, "--out",
                             files[2], *features)
                        truth = np.load(files[2]) != y[keep]
                        call(command, "analyze", files[0], files[2], "--out", folder / "ours")
                        call(command, "analyze", files[0], files[2], "--normalize", "unit", "--out", folder / "plain")
                        (wrong, _, chi), (_, _, plain) = judged(folder / "ours"), judged(folder / "plain")
                        scores.append([auroc(score, truth) for score in (wrong, chi, plain)])
                    cells.append([name, kind, rate, *np.mean(scores, axis=0)])
    return cells


# ---- what was measured --------------------------------------------------------------------------

def judges(data):
    """Labels that the judges call wrong, for each set."""
    natural, truth = data / "natural", np.load(data / "cifar10_effnet_y.npy")
    if FASHION.is_dir():
        with gzip.open(FASHION / "train-labels-idx1-ubyte.gz") as file:
            given = np.frombuffer(file.read()[8:], np.uint8)
        probability = np.load(natural / "fashion_mnist_network_probs.npy").astype(float)
        yield "fashion", probability[np.arange(len(given)), given] < DOUBTED
    confirmed = np.load(natural / "news20_confirmed_wrong.npy")
    rows = len(np.load(natural / "news20_minilm_y.npy", mmap_mode="r"))
    yield "news", confirmed.astype(bool) if len(confirmed) == rows else np.isin(np.arange(rows), confirmed)
    for which in HUMAN:
        yield which, np.load(data / ("cifar10_effnet_human_%s.npy" % which)) != truth


class Result:
    def __init__(self, run, folder, wrong):
        self.run = run
        self.summary = json.loads((folder / "summary.json").read_text())
        self.rows = self.summary["n_labelled"]
        self.wrong = None if wrong is None else int(wrong.sum())
        if wrong is not None:
            score, promise, _ = judged(folder)
            self.auroc = auroc(score, wrong)
            self.found = {k: first_of(score, wrong.astype(float), k) for k in FIRST}
            self.promised = {k: first_of(score, promise, k) for k in FIRST}
            odds = np.log(FACTORS)[:, None]
            low, high = (1 / (1 + np.exp(-np.add(score[~np.isnan(score)], side * odds))) for side in (-1, 1))
            self.ends = (low * (low > .5)).sum(axis=1), high.sum(axis=1)

    def total(self, which):
        rate = self.summary.get(which)
        return None if rate is None else rate * self.rows


class Results:
    def __init__(self, data, out):
        self.results, self.missing, truth = {}, [], dict(judges(data))
        for run in runs(data):
            if not (out / run.folder / "summary.json").exists():
                self.missing.append(run.folder)
            else:
                self.results[run.folder] = Result(run, out / run.folder, truth.get(run.labels))
        self.cells = json.loads((out / "cut.json").read_text()) if (out / "cut.json").exists() else None
        if self.cells is None:
            self.missing.append("cut")
        if not self.results and self.cells is None:
            sys.exit("nothing was measured yet: %s has no run" % out)

    def get(self, labels, name="rer"):
        return self.results.get("%s-%s" % (labels, name))


# ---- bars --------------------------------------------------------------------------------------

def promise_bars(result, name, times, plus):
    for k in FIRST:
        most = times * result.found[k] + plus
        text = "%g x found" % times + (" + %g" % plus if plus else "")
        yield "%s: promise of the first %d, at most %s" % (name, k, text), "<= %.1f" % most, result.promised[k], \
            compare(result.promised[k], most, False)


def range_bar(result, name):
    low, high = result.total("noise_low"), result.total("noise_high")
    holds = None if low is None or high is None else low <= result.wrong <= high
    text = "-" if low is None or high is None else "%.0f to %.0f" % (low, high)
    return "%s: the range contains the judges' count" % name, text, float(result.wrong), holds


def bars(r):
    fashion, news, pooled = r.get("fashion"), r.get("news"), r.get("news", "pred-probs")
    if fashion:
        for k, bar in ((100, 80), (250, 170)):
            yield "Fashion-MNIST: doubted by the network, of the first %d" % k, ">= %d" % bar, fashion.found[k], \
                compare(fashion.found[k], bar)
        yield from promise_bars(fashion, "Fashion-MNIST", 1.15, 3)
        yield range_bar(fashion, "Fashion-MNIST")
    if news:
        yield "20 Newsgroups: AUROC of the confirmed", ">= .935", news.auroc, compare(news.auroc, .935)
        yield "20 Newsgroups: confirmed, of the first 100", ">= 28", news.found[100], compare(news.found[100], 28)
        yield from promise_bars(news, "20 Newsgroups", 2, 0)
        yield range_bar(news, "20 Newsgroups")
    if pooled:
        yield "20 Newsgroups with --pred-probs: AUROC of the confirmed", ">= .993", pooled.auroc, \
            compare(pooled.auroc, .993)
    for which in HUMAN:
        if r.get(which):
            yield range_bar(r.get(which), NAMES[which])
    for name in CLEAN:
        if r.get(name):
            low = r.get(name).summary["noise_low"]
            yield "%s as it is: lower end of the range" % name, "<= .01", low, compare(low, .01, False)
    if r.cells:
        below = [plain - ours for _, _, _, ours, _, plain in r.cells]
        yield "%d rows a class: furthest below plain class means, of %d cells" % (CUT_ROWS, len(below)), "<= .005", \
            max(below), compare(max(below), .005, False)


# ---- tables ------------------------------------------------------------------------------------

def show(value):
    return "%.0f" % value if abs(value) >= 1.5 else "%.4f" % value


def natural_table(r):
    rows = []
    for result in r.results.values():
        run, summary = result.run, result.summary
        if result.wrong is None:
            continue
        low, total, high = (result.total(which) for which in ("noise_low", "noise_rate", "noise_high"))
        own = summary["detector"] == "rer"
        rows.append((NAMES[run.labels], run.name,
                     "%.3f" % summary["error_rate"] if own else "-", "%.3f" % result.auroc,
                     *("%.0f / %.0f" % (result.found[k], result.promised[k]) for k in FIRST),
                     "-" if total is None else "%.0f" % total,
                     "-" if not own or low is None else "%.0f to %.0f" % (low, high), result.wrong))
    return table(("labels", "detector", "left-out error", "AUROC", *("first %d" % k for k in FIRST), "total", "range",
                  "judges"), rows)


def factors_table(r):
    """Ranges by how many times lower or higher the odds of every label may be: for docs/methods.md."""
    rows = []
    for labels, name in NAMES.items():
        result = r.get(labels)
        if result:
            rows.append((name, "{:,}".format(result.wrong),
                         *("{:,.0f} to {:,.0f}".format(low, high) + ("" if low <= result.wrong <= high else ", misses")
                           for low, high in zip(*result.ends))))
    return table(("labels", "judge", *("factor %g" % factor for factor in FACTORS)), rows)


def bars_table(r):
    return table(("what", "bar", "measured", "holds"),
                 [(what, bar, show(value), {True: "yes", False: "**no**", None: "not measured"}[holds])
                  for what, bar, value, holds in bars(r)])


def cut_table(r):
    return table(("set, mistakes", "mistakenness", "chi", "plain class means", "difference"),
                 [("%s, %s %.0f %%" % (name, kind, 100 * rate), "%.4f" % ours, "%.4f" % chi, "%.4f" % plain,
                   "%+.4f" % (ours - plain)) for name, kind, rate, ours, chi, plain in r.cells])


def fill(text, r):
    pattern = re.compile(r"(<!-- natural -->\n).*?(<!-- end -->)", re.S)
    if not pattern.search(text):
        sys.exit("%s: the place of the table 'natural' is missing" % PAGE)
    block = "\n\n".join((natural_table(r), "Which bars hold:", bars_table(r),
                         "Few rows a class, mistakes planted, AUROC (mean of %d seeds):" % len(SEEDS), cut_table(r)))
    return pattern.sub(lambda match: match.group(1) + block + "\n" + match.group(2), text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rer", metavar="PATH", help="the command (default: build/cli/rer, or rer on the PATH)")
    parser.add_argument("--data", metavar="DIR", default=os.environ.get("RER_DATA", ""), type=pathlib.Path,
                        help="folder with data/natural (default: $RER_DATA)")
    parser.add_argument("--out", metavar="DIR", default=ROOT / "out" / "natural", type=pathlib.Path,
                        help="folder for the results of rer analyze (default: out/natural)")
    parser.add_argument("--only", metavar="NAME,...", help="run these parts alone: " + ",".join(PARTS))
    parser.add_argument("--check", action="store_true", help="say which bars hold; run and write nothing")
    arguments = parser.parse_args()
    data = arguments.data.resolve() / "data"
    only = set(arguments.only.split(",") if arguments.only else PARTS)
    if not only <= set(PARTS):
        sys.exit("--only: there are %s" % ", ".join(PARTS))
    if np is None or not (data / "natural").is_dir():
        print("skipped: no numpy" if np is None else "skipped: no data; RER_DATA or --data names its folder")
        return 77
    if not FASHION.is_dir():
        print("without Fashion-MNIST: no data at", FASHION)
        only.discard("fashion")
    if not arguments.check:
        arguments.out.mkdir(parents=True, exist_ok=True)
        run_all(find_command(arguments.rer), data, arguments.out, only)
    results = Results(data, arguments.out)
    print(natural_table(results), factors_table(results), sep="\n\n")
    for what, bar, value, holds in bars(results):
        print("%-82s %12s %8s  %s" % (what, bar, show(value), {True: "holds", False: "MISSED", None: "-"}[holds]))
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
