"""From embeddings and labels to what is written on samples or detections: no FiftyOne in here."""
import numpy as np

import rer

TAG = "label_issue"
# What is written, and the names of the fields where the user gives no others: FiftyOne's Brain has a mistakenness of its own.
FIELDS = {"mistakenness": "rer_mistakenness", "rer": "rer", "suggested_label": "rer_suggested_label"}


def usable(embeddings, labels):
    """Rows that have an embedding; a missing label is no obstacle, one is suggested then."""
    rows = [row for row, embedding in enumerate(embeddings) if embedding is not None]
    if not rows:
        raise ValueError("no sample has an embedding in that field; compute them first, as with compute_embeddings")
    X = np.stack([np.asarray(embeddings[row]) for row in rows])
    return rows, X, np.array([labels[row] for row in rows], dtype=object)


def flatten(nested):
    """Values of the detections of each sample, [samples] of lists or None -> those of all, and whose each is."""
    values = [value for of_sample in nested for value in of_sample or ()]
    return values, [sample for sample, of_sample in enumerate(nested) for _ in of_sample or ()]


def unflatten(values, nested):
    """Values of all detections -> lists as `nested` has them."""
    left = iter(values)
    return [None if of_sample is None else [next(left) for _ in of_sample] for of_sample in nested]


def label_mistakes(embeddings, labels, groups=None, **options):
    """The values of the fields for each row, the rows to tag, and what to say.

    embeddings: [N] vectors or None; labels: [N] texts or None; groups: [N] rows that are left out together."""
    rows, X, y = usable(embeddings, labels)
    together = None if groups is None else np.array([groups[row] for row in rows])
    if together is not None and len(set(together)) == len(rows):
        together = None  # one each
    result = rer.analyze(X, y, groups=together, progress=False, **options)
    n = len(embeddings)
    fields = {name: [None] * n for name in FIELDS}
    for name, values in (("mistakenness", result.mistakenness), ("rer", result.rer)):
        for row, value in zip(rows, values.tolist()):
            fields[name][row] = None if np.isnan(value) else value
    for row, given, value in zip(rows, result.given_label, result.suggested_label):
        fields["suggested_label"][row] = None if value == given else value
    return fields, [rows[i] for i in result.issues], summary(result)


def summary(result):
    """Plain values that the App can show."""
    classes = sorted(result.classes, key=lambda row: -np.nan_to_num(row["chi"]))
    return {
        "samples": result.n_samples,
        "flagged": result.n_issues,
        "noise_rate": round(result.noise_rate, 4),
        "difficulty": round(result.difficulty, 4),
        "hardest": "; ".join(f"{row['label']}: {row['chi']:.3f}" for row in classes[:5]),
        "confused": "; ".join(f"{row['a']} / {row['b']}: {row['a_as_b'] + row['b_as_a']}" for row in result.pairs(5)),
    }
