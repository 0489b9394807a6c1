"""Tensors that lie on a card: read there through DLPack. The card is one of plain loops, whose memory is the host's."""
import os
import sys

import numpy as np
import pytest

import rer
from conftest import clusters
from rer._arrays import card_tensor, feature_array, label_array

CUDA = (2, 0)


class Tensor:
    """All that is known of it is DLPack and a shape."""

    def __init__(self, values, device=CUDA):
        self.values, self.device, self.streams = values, device, []
        self.shape, self.dtype, self.nbytes = values.shape, values.dtype, values.nbytes

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return self.values.__dlpack__()

    def __dlpack_device__(self):
        return self.device


class Torch(Tensor):
    def detach(self):
        return self

    def float(self):
        return Torch(self.values.astype("f4", copy=False))

    def contiguous(self):
        return Torch(np.ascontiguousarray(self.values))

    def cpu(self):
        return self.values


class Cupy(Tensor):
    @property
    def flags(self):
        return self.values.flags

    def astype(self, dtype, order="K", copy=True):
        return Cupy(self.values.astype(dtype, order=order, copy=copy))

    def get(self):
        return self.values


@pytest.fixture(autouse=True)
def plugin(monkeypatch):
    monkeypatch.setenv("RER_CUDA_PLUGIN", os.environ["RER_PLAIN_PLUGIN"])


def assert_alike(got, want):
    assert (got.is_label_issue == want.is_label_issue).all()
    np.testing.assert_allclose(got.mistakenness, want.mistakenness, atol=1e-5)


def test_where_it_lies():
    X, y = clusters(900, 200, planted=20)
    want = rer.analyze(X, y, device="cuda")
    tensor, held = Tensor(X), sys.getrefcount(X)
    r = rer.analyze(tensor, y)
    assert tensor.streams == [1]
    assert r.summary["options"]["device"] == "cuda:0"
    assert not any("card" in note for note in r.notes)
    assert_alike(r, want)
    assert sys.getrefcount(X) == held + 1  # it stays as long as the result may read it
    del r
    assert sys.getrefcount(X) == held


def test_copied_in_blocks():
    X, y = clusters(900, 200, planted=20)
    want, r = rer.analyze(X, y), rer.analyze(Tensor(X), y, device="cpu")
    assert (r.mistakenness == want.mistakenness).all()
    assert any("lie on card 0" in note for note in r.notes)
    assert rer.scale(Tensor(X), y).summary["points"] == rer.scale(X, y).summary["points"]
    model = want.model
    assert (model.score(Tensor(X), y).mistakenness == model.score(X, y).mistakenness).all()


@pytest.mark.parametrize("kind", [Torch, Cupy])
@pytest.mark.parametrize("make", [lambda X: X.astype("f2"), lambda X: X.astype("f8"), np.asfortranarray, lambda X: X[:, :6]])
def test_made_float_on_the_card(kind, make):
    X, y = clusters(600, 8, planted=10)
    X = make(X)
    assert_alike(rer.analyze(kind(X), y), rer.analyze(np.ascontiguousarray(X, dtype="f4"), y, device="cuda"))


@pytest.mark.parametrize("kind", [Torch, Cupy])
def test_the_rest_is_copied(kind):
    X, y = clusters(600, 8)
    assert (label_array(kind(y))[0] == y).all()
    assert (feature_array(kind(X)) == X).all()
    r = rer.analyze(kind(X), kind(y))
    assert r.map(method="pca").shape == (600, 2)
    assert card_tensor(kind(np.zeros((4, 8, 8), "u1"))) is None  # pictures are the CPU's
    assert card_tensor(kind(X, device=(1, 0))) is None


def test_kept_for_a_review(tmp_path):
    X, y = clusters(600, 8, planted=10)
    r = rer.analyze(Torch(X), y)
    with r.review(tmp_path / "review"):
        assert (np.load(tmp_path / "review" / "rows" / "features.npy") == X).all()


def test_order_is_checked():
    X, y = clusters(600, 8)
    with pytest.raises(TypeError, match="C order"):
        rer.analyze(Tensor(np.asfortranarray(X)), y)
    with pytest.raises(TypeError, match="float32"):
        rer.analyze(Tensor(X.astype("f8")), y)
    with pytest.raises(TypeError, match="complex"):
        rer.analyze(Torch(X.astype("c8")), y)


def test_no_plugin(monkeypatch):
    X, y = clusters(600, 8)
    monkeypatch.setenv("RER_CUDA_PLUGIN", "/nowhere/librer_cuda.so")
    held = sys.getrefcount(X)
    with pytest.raises(OSError, match="/nowhere/librer_cuda.so.*copy it to the host"):
        rer.analyze(Tensor(X), y)
    assert sys.getrefcount(X) == held


def test_lies_nowhere(monkeypatch):
    X, y = clusters(600, 8)
    monkeypatch.setenv("RER_PLAIN_DEVICE", "elsewhere")
    with pytest.raises(OSError, match="on no card"):
        rer.analyze(Tensor(X), y)
