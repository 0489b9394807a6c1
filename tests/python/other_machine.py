"""A small analysis, kept in a file; with a second file, compared with what another machine has kept there.

    other_machine.py KEPT [OTHERS]
"""
import platform
import sys

import numpy as np

import rer

random = np.random.default_rng(0)
y = np.arange(1500) % 5
X = (random.normal(size=(5, 24))[y] + random.normal(size=(1500, 24))).astype("f4")
wrong = np.arange(0, 1500, 37)
y[wrong] = (y[wrong] + 2) % 5
r = rer.analyze(X, y)
subspace = rer.analyze(X, y, reconstructor="subspace")
far = rer.analyze(X + 4 * np.eye(5, 24, dtype="f4")[y], y)
scaling = rer.scale(X, y, sizes=[20, 40, 80, 160])
assert len(set(wrong) & set(r.issues)) > .9 * len(wrong), r
kept = {"X": X, "flagged": r.is_label_issue, "suggested": r.suggested_label, "mistakenness": r.mistakenness, "rer": r.rer,
        "numbers": np.array([r.noise_rate, r.difficulty, r.chi, scaling.chi_inf, far.chi]), "subspace": subspace.mistakenness}
np.savez(sys.argv[1], **kept)
if len(sys.argv) > 2:
    others = np.load(sys.argv[2])
    differences = {name: float(np.nanmax(np.abs(np.subtract(values, others[name], dtype="f8")))) for name, values in kept.items()}
    print(f"{platform.machine()}, Python {platform.python_version()}, rer {rer.__version__}: most that differs", differences)
    assert differences["flagged"] == differences["suggested"] == 0 and max(differences.values()) < 1e-3
