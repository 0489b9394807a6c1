"""--pred-probs on real features, with cross-validated logistic regression as the user's model: not below the better
of the two by more than .005 AUROC."""
import csv
import os
import subprocess
import sys
import tempfile

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

command, measured = sys.argv[1], os.environ.get("RER_DATA", "")
features, labels = (os.path.join(measured, "data", f"food10_clip_b32_{name}.npy") for name in "Xy")
if not os.path.exists(features):
    print("SKIPPED: no measured data; RER_DATA names its folder")
    sys.exit(77)

X, truth = np.load(features).astype("f4"), np.load(labels)
X /= np.linalg.norm(X, axis=1, keepdims=True)
with tempfile.TemporaryDirectory(prefix="rer-opinion-") as folder:
    path = lambda name: os.path.join(folder, name)

    def mistakenness(*options):
        subprocess.run([command, "analyze", features, path("y.npy"), "--out", path("out"), "--quiet", *options], check=True)
        with open(path("out/samples.csv"), newline="", encoding="utf-8") as file:
            return np.array([float(row["mistakenness"]) for row in csv.DictReader(file)])

    for kind in ("symmetric", "asymmetric", "confidence"):
        more = ("--features", features) if kind == "confidence" else ()
        subprocess.run([command, "noise", labels, "--type", kind, "--rate", ".1", "--seed", "1", "--out", path("y.npy"),
                        "--quiet", *more], check=True)
        y = np.load(path("y.npy"))
        q = cross_val_predict(LogisticRegression(C=10, max_iter=300), X, y, method="predict_proba",
                              cv=StratifiedKFold(3, shuffle=True, random_state=0))
        np.save(path("q.npy"), q)
        own = np.take_along_axis(q, y[:, None], 1)[:, 0]
        others = np.where(np.arange(q.shape[1]) == y[:, None], 0, q).max(1)
        score = {"ours": mistakenness(), "theirs": others - own, "pooled": mistakenness("--pred-probs", path("q.npy"))}
        auroc = {name: roc_auc_score(y != truth, values) for name, values in score.items()}
        print(kind, {name: round(value, 4) for name, value in auroc.items()})
        assert auroc["pooled"] >= max(auroc["ours"], auroc["theirs"]) - .005, kind
