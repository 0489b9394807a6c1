"""rer.dask against rer.analyze: the same bits, on threads."""
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas
import pytest

import rer
import rer.dask
from dask_case import check_same, data, make_data


@pytest.mark.parametrize("joined", [0, 32 << 20])
@pytest.mark.parametrize("chunks", [(1024, 20), (3072, 20), (1000, 20), (777, 7), (3500, 20), (30, 20), (3000, 3),
                                    ((1, 2047, 0, 1000, 452), 20)])
def test_any_chunks(data, chunks, joined, monkeypatch):
    X, y, expected = data
    monkeypatch.setattr(rer.dask, "_JOINED", joined)  # 0: no two pieces are taken together
    check_same(rer.dask.analyze(da.from_array(X, chunks=chunks), y), expected)


@pytest.mark.parametrize("row_bytes", [4, 2048, 1 << 20])
def test_pieces_cover_every_row_once(row_bytes):
    random = np.random.default_rng(0)
    for _ in range(200):
        sizes = random.integers(0, random.choice([3, 50, 1500, 6000]), random.integers(1, 30)).tolist()
        sizes[-1] += 1
        starts = np.concatenate([[0], np.cumsum(sizes)])
        pieces = rer.dask._pieces(sizes, row_bytes)
        rows = [row for piece in pieces for chunk, a, b in piece.slices for row in range(starts[chunk] + a, starts[chunk] + b)]
        assert rows == list(range(sum(sizes)))
        for piece in pieces:
            assert piece.first % 1024 == 0 and sum(b - a for _, a, b in piece.slices) == piece.end - piece.first
            assert all(0 <= a < b <= sizes[chunk] for chunk, a, b in piece.slices)
            large = (piece.end - piece.first) * row_bytes > 32 << 20
            assert not large or len(piece.slices) == 1 or piece.end - piece.first <= 1024, "little is copied together"


def test_rows_beside_each_other(data):
    """What parts cannot have is done from a file, with the result of one machine."""
    X, y = data[0][:2000], data[1][:2000]
    chunked = da.from_array(X, chunks=(600, 7))
    groups = np.arange(2000) // 3
    probabilities = np.full((2000, 5), .1)
    probabilities[np.arange(2000), y] = .6
    for options in ({"groups": groups}, {"groups": "duplicates"}, {"duplicates": 5.}, {"reconstructor": "subspace"},
                    {"pred_probs": probabilities}, {"detector": "knn"}, {"subsets": np.arange(2000) % 2}):
        there = {name: da.from_array(value, chunks=(900, *value.shape[1:])) if isinstance(value, np.ndarray) else value
                 for name, value in options.items()}
        check_same(rer.dask.analyze(chunked, y, **there), rer.analyze(X, y, **options))
    result = rer.dask.analyze(chunked, y, duplicates=5.)
    np.testing.assert_array_equal(result.duplicate_group, rer.analyze(X, y, duplicates=5.).duplicate_group)


def test_frame_with_a_label_column(data):
    X, y, _ = data
    frame = pandas.DataFrame(X, columns=[f"f{i}" for i in range(20)], index=np.arange(3500) + 7)
    frame["kind"], frame["file"], frame["video"] = np.array(list("abcde "))[y], frame.index.map(str), frame.index // 3
    frame.loc[y < 0, "kind"] = None
    there = dd.from_pandas(frame, npartitions=4)
    expected = rer.analyze(frame, "kind", ids="file", groups="video")
    check_same(rer.dask.analyze(there, "kind", ids="file", groups="video"), expected)
    plain = rer.dask.analyze(there.drop(columns="video"), label_column="kind", ids="file")
    check_same(plain, rer.analyze(frame.drop(columns="video"), "kind", ids="file"))
    assert plain.to_frame().index.equals(frame.index) and plain.to_frame()["id"].iloc[3] == "10"
    with pytest.raises(ValueError, match="no column 'label'.*'f0'"):
        rer.dask.analyze(there, "label")
    with pytest.raises(TypeError, match="'file' is not numeric"):
        rer.dask.analyze(there, "kind")


def test_progress(data):
    X, y, expected = data
    calls = []
    check_same(rer.dask.analyze(da.from_array(X, chunks=(500, 20)), y, progress=lambda *said: calls.append(said)), expected)
    assert [stage for stage, _ in calls[:1]] == ["class sums"] and {stage for stage, _ in calls} == {
        "class sums", "scatter", "scores", "near rows"}
    shares = [share for _, share in calls]
    assert shares == sorted(shares) and shares[-1] == 1

    def stop(stage, share):
        raise RuntimeError("enough")
    with pytest.raises(RuntimeError, match="enough"):
        rer.dask.analyze(da.from_array(X, chunks=(500, 20)), y, progress=stop)


def test_searches_that_are_cut(monkeypatch):
    """Where a worker has no room for all rows that ask, they ask some at a time."""
    X, y, expected = make_data(5500)
    asked = []
    monkeypatch.setattr(rer.dask._Threads, "room", 3_000_000)
    cut, answer = rer.dask.split_task, rer.dask._rer.part_answer
    monkeypatch.setattr(rer.dask, "split_task", lambda *said: asked.append(cut(*said)) or asked[-1])
    sizes = []

    def answered(*said):
        sizes.append((len(said[-1]), len(made := answer(*said)), rer.dask.stage_of(made)))
        return made

    monkeypatch.setattr(rer.dask._rer, "part_answer", answered)
    check_same(rer.dask.analyze(da.from_array(X, chunks=(1500, 20)), y), expected)
    assert len(asked) == 1 and len(asked[0]) > 5
    # What a worker has of one, answers that wait to be merged and all, is the third of its memory that it may have.
    held = [2 * task + 9 * made for task, made, stage in sizes if stage == "near rows"]
    assert len(held) > 20 and 700_000 < max(held) < 1_050_000


@pytest.mark.parametrize("options", [{"normalize": "minmax"}, {"normalize": "none"}, {"shrinkage": .2, "budget": 50},
                                     {"random_state": 3, "n_jobs": 2}])
def test_options(data, options):
    X, y, _ = data
    expected = rer.analyze(X, y, **options)
    expected.summary["options"]["threads"] = "0"
    check_same(rer.dask.analyze(da.from_array(X, chunks=(2000, 20)), y, **options), expected)


def test_dtypes_labels_and_frames(data):
    X, y, expected = data
    names = np.array(["a", "b", "c", "d", "e", ""])[y]
    for dtype in ("f2", "f8", "i4"):
        cast, named = (10 * X[:2000]).astype(dtype), names[:2000]
        check_same(rer.dask.analyze(da.from_array(cast, chunks=(1200, 20)), named), rer.analyze(cast, named))
    check_same(rer.dask.analyze(da.from_array(X, chunks=(3000, 20)), da.from_array(y, chunks=500)), expected)
    frame = dd.from_pandas(pandas.DataFrame(X, columns=map(str, range(20))), npartitions=4)
    check_same(rer.dask.analyze(frame, y), expected)
    unknown = da.concatenate([da.from_array(X, chunks=(3000, 20))])
    check_same(rer.dask.analyze(unknown[unknown[:, 0] > -np.inf], y), expected)
    named = rer.dask.analyze(da.from_array(X, chunks=(3000, 20)), y, class_names=list("vwxyz"), ids=range(3500))
    assert named.suspects(1)[0]["given_name"] in "vwxyz" and named.to_frame()["id"].iloc[17] == "17"


def test_invalid_rows_and_errors(data):
    X, y, _ = data
    broken = X.copy()
    broken[[5, 3000, 3499], 3] = np.nan
    chunked = da.from_array(broken, chunks=(1000, 20))
    check_same(rer.dask.analyze(chunked, y, drop_invalid=True), rer.analyze(broken, y, drop_invalid=True))
    with pytest.raises(ValueError, match=r"row (5|3000|3499), column 3 is NaN.*drop_invalid=True"):
        rer.dask.analyze(chunked, y)
    with pytest.raises(ValueError, match=r"^(X|features): row 5, column 3 is NaN"):  # no temporary path shows
        rer.dask.analyze(chunked, y, reconstructor="subspace")
    with pytest.raises(ValueError, match="labels but 3500 rows"):
        rer.dask.analyze(chunked, y[:-1])
    with pytest.raises(TypeError, match="not a dask.array"):
        rer.dask.analyze(X, y)
    with pytest.raises(ValueError, match="3 dimensions"):
        rer.dask.analyze(da.zeros((4, 4, 4)), y)
    with pytest.raises(ZeroDivisionError):
        rer.dask.analyze(chunked.map_blocks(lambda block: block / (1 // 0), dtype="f4", meta=np.empty((0, 0), "f4")), y)


def test_model_of_the_cluster_is_a_model(data, tmp_path):
    X, y, expected = data
    result = rer.dask.analyze(da.from_array(X, chunks=(2048, 20)), y)
    result.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(rer.load(tmp_path / "model.safetensors").score(X[:50]).rer,
                                  expected.model.score(X[:50]).rer)
    result.to_parquet(tmp_path / "samples.parquet")
    assert len(pandas.read_parquet(tmp_path / "samples.parquet")) == 3500
    result.write(tmp_path / "out")  # the report shows no bars: the rows are not here
    written = rer.load_result(tmp_path / "out")
    np.testing.assert_array_equal(written.mistakenness.astype("f4"), expected.mistakenness.astype("f4"))
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    expected.report(tmp_path / "here.html")
    assert '"bars":null' in page and '"bars":null' not in (tmp_path / "here.html").read_text(encoding="utf-8")
    texts = [f"this is text {row}" for row in range(3500)]
    told = rer.dask.analyze(da.from_array(X, chunks=(1000, 20)), y, texts=texts)
    told.report(tmp_path / "told.html")
    assert f"this is text {told.suspects(1)[0]['index']}" in (tmp_path / "told.html").read_text(encoding="utf-8")
