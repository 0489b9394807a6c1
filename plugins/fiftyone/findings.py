"""From embeddings and labels to what is written on the samples: no FiftyOne in here."""
import numpy as np

import rer

TAG = "label_issue"


def usable(embeddings, labels):
    """Rows that have an embedding; a missing label is no obstacle, one is suggested then."""
    rows = [row for row, embedding in enumerate(embeddings) if embedding is not None]
    if not rows:
        raise ValueError("no sample has an embedding in that field; compute them first, as with compute_embeddings")
    X = np.stack([np.asarray(embeddings[row]) for row in rows])
    return rows, X, np.array([labels[row] for row in rows], dtype=object)


def label_mistakes(embeddings, labels, **options):
    """The values of the fields for each sample, the rows to tag, and what to say.

    embeddings: [N] vectors or None; labels: [N] texts or None."""
    rows, X, y = usable(embeddings, labels)
    result = rer.analyze(X, y, progress=False, **options)
    n = len(embeddings)
    fields = {name: [None] * n for name in ("mistakenness", "rer", "suggested_label")}
    for name, values in (("mistakenness", result.mistakenness), ("rer", result.rer)):
        for row, value in zip(rows, values.tolist()):
            fields[name][row] = None if np.isnan(value) else value
    for row, given, value in zip(rows, result.given_label, result.suggested_label):
        fields["suggested_label"][row] = None if value == given else value
    return fields, [rows[i] for i in result.issues], summary(result)


def difficulty(embeddings, labels, **options):
    """The values of `rer` for each sample, and what to say."""
    fields, _, text = label_mistakes(embeddings, labels, **options)
    return {"rer": fields["rer"]}, text


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
