"""rer.check: what is wrong after rer's own suggestions were taken, against the truth."""
import numpy as np
import pandas
import pytest

import rer


def overlapping(noise, separation=.8, n=4000):
    """Classes that overlap, so that not every mistake can be seen."""
    random = np.random.default_rng(0)
    truth = np.arange(n) % 8
    X = (separation * random.normal(size=(8, 16))[truth] + random.normal(size=(n, 16))).astype("f4")
    return X, truth, rer.noise(truth, rate=noise, random_state=1).labels


@pytest.mark.parametrize("noise", [.1, .2])
@pytest.mark.parametrize("sure", [0, .9])
def test_what_is_left(noise, sure):
    """Within a quarter of the truth, where an analysis of the changed labels finds next to nothing."""
    X, truth, y = overlapping(noise)
    before = rer.analyze(X, y)
    taken = before.is_label_issue & (before.mistakenness > sure)
    fixed = np.where(taken, before.suggested_label, y)
    left = (fixed != truth).mean()
    assert left > .02 and rer.analyze(X, fixed).noise_rate < left / 5, "it confirms itself"
    check = rer.check(X, fixed, before=before)
    assert check.noise_rate == pytest.approx(left, rel=.25)
    assert check.by_rer.tolist() == taken.tolist() and check.changed.tolist() == taken.tolist()
    assert np.nanmean(check.mistakenness[taken]) == pytest.approx((fixed != truth)[taken].mean(), abs=.05)
    np.testing.assert_array_equal(check.mistakenness[~taken], before.mistakenness[~taken])
    assert f"{taken.sum():,} labels were changed: {taken.sum():,} to what rer suggested, 0 otherwise" in repr(check)
    assert check.suspects(5)[0]["mistakenness"] == np.nanmax(check.mistakenness) and "<table" in check._repr_html_()


def test_changes_by_hand_are_evidence():
    X, truth, y = overlapping(.2)
    before = rer.analyze(X, y, random_state=3)
    taken = before.is_label_issue & (before.mistakenness > .9)
    others = ~taken & (y != truth) & (truth != before.best_other_label)
    fixed = np.where(taken, before.suggested_label, np.where(others, truth, y))
    check = rer.check(X, fixed, before=before)
    assert check.changed.tolist() == (taken | others).tolist() and check.by_rer.tolist() == taken.tolist()
    expected = rer.analyze(X, np.where(others, truth, y), random_state=3)
    np.testing.assert_array_equal(check.mistakenness[~taken], expected.mistakenness[~taken])
    assert check.noise_rate == pytest.approx((fixed != truth).mean(), rel=.35)


def test_forms_and_refusals(tmp_path):
    X, truth, y = overlapping(.1, n=400)
    names = np.array(list("abcdefgh"))[y]
    names[5] = ""
    for labels, class_names in ((names, None), (pandas.Series(names).replace("", None), None), (y, list("ABCDEFGH")),
                                (y % 2 == 1, None)):
        before = rer.analyze(X, labels, class_names=class_names)
        check = rer.check(X, before.fixed_labels(), before=before)
        moved = before._column("given") != before._better
        assert check.by_rer.tolist() == moved.tolist() and np.isfinite(check.mistakenness).all()
        assert rer.check(X, labels, before=before).changed.sum() == 0
    np.save(tmp_path / "X.npy", X)
    before = rer.analyze(tmp_path / "X.npy", y)
    assert rer.check(tmp_path / "X.npy", before.fixed_labels(), before=before).by_rer.sum() == before.n_issues
    with pytest.raises(ValueError, match="9 labels for 400 rows"):
        rer.check(X, y[:9], before=before)
    with pytest.raises(ValueError, match="'17' was not there before"):
        rer.check(X, np.where(y == 3, 17, y), before=before)
