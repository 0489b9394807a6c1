"""rer.embed, and a function as the model of rer.analyze. What needs OpenVINO is in tests/embed/."""
import numpy as np
import pytest

import rer
from conftest import clusters
from rer._picture import png


def draw(n=12, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (n, 20, 30, 3), dtype=np.uint8)


def test_pictures_in_memory_and_files_agree(tmp_path):
    pictures = draw()
    for i, picture in enumerate(pictures):
        (tmp_path / f"{i:02}.png").write_bytes(png(picture))
    expected = rer.embed(pictures)
    assert expected.dtype == np.float16 and expected.shape == (12, 1956)
    names = sorted(tmp_path.glob("*.png"))
    backwards = [str(name) for name in names[::-1]]
    for made, rows in ((rer.embed(list(pictures)), expected), (rer.embed(names), expected),
                       (rer.embed(backwards), expected[::-1]), (rer.embed(tmp_path), expected),
                       (rer.embed(pictures, n_jobs=1), expected)):
        np.testing.assert_array_equal(made, rows)
    np.testing.assert_array_equal(rer.embed(pictures, dtype="float32").astype(np.float16), expected)


def test_out(tmp_path):
    (tmp_path / "photos" / "a").mkdir(parents=True)
    for i, picture in enumerate(draw(5)):
        (tmp_path / "photos" / "a" / f"{i}.png").write_bytes(png(picture))
    (tmp_path / "photos" / "a" / "bad.jpg").write_text("no picture")
    seen = []
    made = rer.embed(tmp_path / "photos", out=tmp_path / "X.npy", progress=lambda stage, share: seen.append((stage, share)))
    assert made.shape[0] == 5 and seen[-1][0] == "writing" and sorted(seen, key=lambda at: at[1]) == seen
    np.testing.assert_array_equal(made, np.load(tmp_path / "X.npy"))
    assert (tmp_path / "X_ids.csv").read_text().split()[1:] == [f"a/{i}.png" for i in range(5)]
    with pytest.raises(ValueError, match="bad.jpg"):
        rer.embed(tmp_path / "photos", strict=True)


def test_functions():
    """Batches as they come, in order; what they return may be anything that holds numbers."""
    X, y = clusters(planted=3)
    sizes = []

    def model(batch):
        sizes.append(len(batch))
        assert isinstance(batch, np.ndarray)
        return batch.astype("f4")[:, 0]

    images = np.repeat(np.clip(128 + 9 * X, 0, 255).astype(np.uint8)[:, None], 4, 1)  # [N, 4, D]: pictures, too
    made = rer.embed(images, model, batch_size=128)
    assert sizes == [128, 128, 44]
    by_function = rer.analyze(images=images, y=y, model=model)
    by_features = rer.analyze(made, y)
    np.testing.assert_array_equal(by_function.mistakenness, by_features.mistakenness)
    assert sorted(by_function.issues) == [0, 1, 2]
    words = [str(row) for row in range(len(X))]
    by_text = rer.analyze(texts=words, y=y, model=lambda batch: X[[int(word) for word in batch]])
    assert sorted(by_text.issues) == [0, 1, 2]


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: rer.embed([]), ValueError, "nothing to embed"),
    (lambda: rer.embed(["good", "bad"]), ValueError, "texts need a model"),
    (lambda: rer.embed(["a.png"]), FileNotFoundError, "^a.png"),
    (lambda: rer.embed(["a.png", "text"]), ValueError, "text: is no .jpg"),
    (lambda: rer.embed([np.zeros((3, 3))]), ValueError, "picture 0: .*uint8"),
    (lambda: rer.embed("photos/", len), TypeError, "path"),
    (lambda: rer.embed(draw(), lambda batch: np.zeros(len(batch))), ValueError, r"returned shape \(12,\)"),
    (lambda: rer.embed(draw(), "my-clip"), ValueError, "optimum-cli export openvino --model openai/clip-vit-base-patch32 my-clip"),
    (lambda: rer.embed(draw(), budget=5), TypeError, "there is no keyword"),
    (lambda: rer.analyze(y=[1, 2]), TypeError, "X is missing"),
    (lambda: rer.analyze(draw(), [1] * 12, model=len), TypeError, "drop X"),
    (lambda: rer.analyze(y=[1] * 12, model=len, images="photos/"), TypeError, "array or a list"),
])
def test_what_is_wrong(call, kind, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=message):
        call()
