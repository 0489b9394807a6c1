"""result.plot(), result.map(), and what a notebook shows of reports and pictures."""
import html
import re
import sys
import types

import matplotlib
import numpy as np
import pytest
from sklearn.decomposition import PCA

import rer
from conftest import clusters

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def result():
    X, y = clusters(n=900, d=12, planted=30)
    return X, y, rer.analyze(X, y)


def test_map_is_pca(result):
    X, _, r = result
    ours, theirs = r.map(method="pca"), PCA(2).fit_transform(X.astype("f8"))
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-8)
    np.testing.assert_array_equal(ours, r.map(X, method="pca"))
    many = clusters(n=12000, d=6)[0]
    spread = rer.analyze(many, np.arange(12000) % 3).map(method="pca").var(axis=0)
    np.testing.assert_allclose(spread, PCA(2).fit(many).explained_variance_, rtol=.02)  # found from 5,000 rows


def test_map_of_what_is_there(result, tmp_path, monkeypatch):
    X, y, r = result
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    read = rer.analyze(tmp_path / "X.npy", tmp_path / "y.npy")
    with pytest.raises(TypeError, match=r"give them: map\(X\)"):
        read.map()
    np.testing.assert_array_equal(read.map(X, method="pca"), r.map(method="pca"))
    with pytest.raises(ValueError, match="X: 5 rows where the result has 900"):
        r.map(X[:5])
    with pytest.raises(ValueError, match="method: 'tsne' is neither"):
        r.map(method="tsne")
    bad = X.copy()
    bad[3, 1] = np.nan
    placed = rer.analyze(bad, y, drop_invalid=True).map(method="pca")
    assert np.isnan(placed[3]).all() and np.isfinite(placed[np.arange(900) != 3]).all()
    pictures = np.random.default_rng(0).integers(0, 255, (60, 12, 12)).astype("u1")
    assert rer.analyze(pictures, np.arange(60) % 3).map(method="pca").shape == (60, 2)

    class UMAP:  # a stand-in for umap-learn
        def __init__(self, **settings):
            self.settings = settings

        def fit_transform(self, rows):
            assert self.settings == {"n_components": 2, "random_state": 7}
            return rows[:, :2]

    monkeypatch.setitem(sys.modules, "umap", types.SimpleNamespace(UMAP=UMAP))
    np.testing.assert_array_equal(r.map(random_state=7), X[:, :2])
    monkeypatch.setitem(sys.modules, "umap", None)
    np.testing.assert_array_equal(r.map(), r.map(method="pca"))
    with pytest.raises(ImportError, match="pip install umap-learn"):
        r.map(method="umap")


def test_charts_show_the_numbers(result):
    X, y, r = result
    axes = r.plot()
    assert len(axes) == 4
    by_class, expected, confusion, places = axes
    wrong = np.sort(r.classes["noise_rate"] * r.classes["n"])
    np.testing.assert_allclose([bar.get_width() for bar in by_class.patches], wrong)
    share = expected.lines[0].get_ydata()
    np.testing.assert_allclose(share[99] * 100, r.expected_wrong(100))
    given, suggested = r._column("given"), r._column("suggested")
    flagged = r.is_label_issue
    counts = np.array([[r.mistakenness[flagged & (given == a) & (suggested == b)].sum() for b in range(3)] for a in range(3)])
    np.testing.assert_allclose(confusion.images[0].get_array(), counts)
    drawn = [len(points.get_offsets()) for points in places.collections]
    assert drawn == [900 - r.n_issues, r.n_issues]
    axes[0].figure.canvas.draw()
    matplotlib.pyplot.close("all")


def test_reliability(result):
    X, y, r = result
    truth = clusters(n=900, d=12)[1]
    axes = r.plot("reliability", truth=truth)
    said, found = axes[0].lines[1].get_data()
    assert np.isclose(said[-1], r.mistakenness[r.mistakenness >= .9].mean())
    assert np.isclose(found[-1], (y != truth)[r.mistakenness >= .9].mean())
    again = r.plot(["reliability"], truth=truth, axes=axes[0])
    assert again[0] is axes[0]
    matplotlib.pyplot.close("all")
    for call, words in ((dict(charts="pie"), "charts: 'pie' is none of classes"), (dict(truth=[1, 2]), "truth: 2 labels"),
                        (dict(axes=axes), "axes: 1 for 4 charts")):
        with pytest.raises(ValueError, match=words):
            r.plot(**call)
    matplotlib.pyplot.close("all")


def test_without_matplotlib(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        result[2].plot()


def test_report_in_a_notebook(result, tmp_path):
    _, _, r = result
    page = r.report()
    assert r.report(tmp_path / "report.html") is None
    written = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert len(str(page)) == len(written) and str(page).startswith("<!DOCTYPE html>") == written.startswith("<!DOCTYPE html>")
    frame = page._repr_html_()
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1]) == str(page)
    assert "height: 90vh" in frame and "<iframe" not in repr(page)


def test_pictures_keep_their_height(result):
    """An inline style: Jupyter's own rule (height: auto) would win over an attribute."""
    pictures = np.random.default_rng(0).integers(0, 255, (60, 8, 8)).astype("u1")
    shown = rer.analyze(clusters(n=60)[0], clusters(n=60, planted=4)[1], images=pictures)._repr_html_()
    tags = re.findall("<img [^>]*>", shown)
    assert len(tags) == 10 and all("height: 64px" in re.search('style="([^"]*)"', tag)[1] for tag in tags)
