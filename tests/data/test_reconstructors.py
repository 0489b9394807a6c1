"""The paper's reconstructors against what the released code returned (reference/ in the folder of measured data).

    test_reconstructors.py PART rer

PART is one of
    published     `published` against every run with the negative a, b pairs
    in-sample     `autoencoder --folds 1` against two runs on food10: statistics, not single values,
                  for another random start gives other networks
    in-sample-all the same for the other runs, and food10 without dropout
    cross-fitted  `autoencoder` as it is by default: it must find wrong labels

The released code's dropout never took part: its training step does not tell the layers that they are
being trained. Runs compared here use dropout as the paper has it, or --dropout 0 where they say so.

Exit status 77 where reference/*.npz is not there."""
import csv
import glob
import json
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

POS = ("--a", "1.577", "--b", ".8951")
RUN_TO_RUN = .9     # share of the released code's own rank correlation from run to run
CHI_BAR, AUROC_BAR = .02, .02


class Check:
    """Counts what is off, and says it."""
    failed = 0

    def __call__(self, what, value, low, high):
        missed = not low <= value <= high
        self.failed += missed
        return "%s %.4g%s" % (what, value, "  MISSED: not in %.4g..%.4g;" % (low, high) if missed else "")


def ranks(values):
    """1..n, equal values sharing the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return (last - (count - 1) / 2)[place]


def spearman(a, b):
    return np.corrcoef(ranks(a), ranks(b))[0, 1]


def auroc(score, bad):
    k = bad.sum()
    return (ranks(score)[bad].sum() - k * (k + 1) / 2) / (k * (len(bad) - k))


def golden(measured, run):
    return np.load(os.path.join(measured, "reference", run + ".npz"))


def is_wrong(measured, run, y):
    return y != np.load(os.path.join(measured, "data", run.split(".")[0] + "_y.npy"))


def analyze(rer, measured, run, y, *options):
    """summary, chi [N], errors [C, N]"""
    with tempfile.TemporaryDirectory(prefix="rer-reconstructors-") as folder:
        labels, out, errors = (os.path.join(folder, name) for name in ("y.npy", "out", "errors.npy"))
        np.save(labels, y.astype("<i4"))
        features = os.path.join(measured, "data", run.split(".")[0] + "_X.npy")
        subprocess.run([rer, "analyze", features, labels, "--quiet", "--out", out, "--errors", errors, *options],
                       check=True)
        with open(os.path.join(out, "summary.json"), encoding="utf-8") as file:
            summary = json.load(file)
        with open(os.path.join(out, "samples.csv"), newline="", encoding="utf-8") as file:
            chi = np.array([float(row["rer"]) for row in csv.DictReader(file)])
        return summary, chi, np.load(errors)


def test_published(rer, measured, check):
    for path in sorted(glob.glob(os.path.join(measured, "reference", "*.neg.npz"))):
        run = os.path.basename(path)[:-len(".npz")]
        known = golden(measured, run)
        y = known["y_noisy"]
        rounds = [analyze(rer, measured, run, y, "--reconstructor", "published", "--threshold", "paper")
                  for _ in range(3 if run == "dtd_clip_b32.sym.neg" else 1)]
        summary, chi, errors = rounds[0]
        line = [check("rel.dev.", np.abs(errors / known["error"] - 1).mean(), 0, .001),
                check("Spearman", spearman(chi, known["chi"]), .995, 1)]
        for name, theirs, bar in (("chi", "chi_avg", .001), ("eta", "eta_est", .003),
                                  ("threshold", "threshold", .002)):
            line.append(check(name + " off by", summary[name] - float(known[theirs]), -bar, bar))
        if len(rounds) > 1:
            line.append(check("seconds", min(each[0]["seconds"]["total"] for each in rounds), 0, 3))  # on a busy machine
        print("  %-36s %s" % (run, ", ".join(line)), flush=True)


def compare(rer, measured, check, run, *options):
    known = golden(measured, run)
    y, data = known["y_noisy"], run.split(".")[0]
    bad = is_wrong(measured, run, y)
    summary, chi, _ = analyze(rer, measured, run, y, "--reconstructor", "autoencoder", "--folds", "1", *options)
    kind = run.rsplit(".", 1)[1]
    once, twice = (golden(measured, "food10_clip_b32.sym." + each)["chi"] for each in (kind, kind + "2"))
    line = []
    for name, theirs in (("chi", "chi_avg"), ("chi0", "chi0"), ("chi_rand", "chi_rand"), ("eta", "eta_est")):
        line.append(check(name + " off by", summary[name] - float(known[theirs]), -CHI_BAR, CHI_BAR))
    if bad.any():
        line.append(check("AUROC %.4f, more by" % float(known["auroc"]), auroc(chi, bad) - float(known["auroc"]),
                          -AUROC_BAR, 1))
    if data == "food10_clip_b32":
        line.append(check("Spearman", spearman(chi, known["chi"]), RUN_TO_RUN * spearman(once, twice), 1))
    else:
        line.append("Spearman %.3f" % spearman(chi, known["chi"]))
    print("  %-36s %s  (%.1f s)" % (" ".join((run, *options)), ", ".join(line), summary["seconds"]["total"]), flush=True)


def test_in_sample(rer, measured, check):
    compare(rer, measured, check, "food10_clip_b32.sym.pos", *POS)
    compare(rer, measured, check, "food10_clip_b32.sym.intended")


def test_in_sample_all(rer, measured, check):
    compare(rer, measured, check, "food10_clip_b32.sym.pos", *POS, "--dropout", "0")
    compare(rer, measured, check, "food10_clip_b32.sym.intended", "--dropout", "0")
    compare(rer, measured, check, "food10_clip_b32.none.intended")
    compare(rer, measured, check, "dtd_clip_b32.sym.pos", *POS)
    compare(rer, measured, check, "dtd_clip_b32.sym.intended")
    compare(rer, measured, check, "cifar10_effnet.human_random1.pos", *POS)


def test_cross_fitted(rer, measured, check):
    for run, bar in (("food10_clip_b32.sym.intended", .99), ("dtd_clip_b32.sym.intended", .96)):
        y = golden(measured, run)["y_noisy"]
        summary, chi, _ = analyze(rer, measured, run, y, "--reconstructor", "autoencoder")
        print("  %-36s %s  (%.1f s)" % (run, check("AUROC", auroc(chi, is_wrong(measured, run, y)), bar, 1),
                                      summary["seconds"]["total"]), flush=True)


PARTS = {"published": test_published, "in-sample": test_in_sample, "in-sample-all": test_in_sample_all,
         "cross-fitted": test_cross_fitted}


def main():
    part, rer = sys.argv[1:]
    measured = os.environ.get("RER_DATA", "")
    if not glob.glob(os.path.join(measured, "reference", "*.npz")):
        print("SKIPPED: no error matrices; RER_DATA names the folder of reference/*.npz")
        return 77
    check = Check()
    PARTS[part](rer, measured, check)
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
