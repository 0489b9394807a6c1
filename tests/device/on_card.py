"""What needs a CUDA card and Python: tensors of torch and CuPy where they lie, Ctrl-C, a fork.

RER_COMMAND is the command; rer must be importable, and RER_CUDA_PLUGIN name the plug-in. Status 77: torch is missing.
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings

import numpy as np

try:
    import torch
except ImportError:
    print("Left out, torch is missing: tensors on a card")
    sys.exit(77)
try:
    import cupy
except ImportError:
    cupy = None

import rer

COMMAND = os.environ["RER_COMMAND"]


def clusters(n, d, classes, seed=0, planted=.05):
    """Overlapping classes on the card, with labels on the host of which some are wrong."""
    generator = torch.Generator("cuda").manual_seed(seed)
    y = torch.randint(classes, (n,), generator=generator, device="cuda")
    means = torch.randn((classes, d), generator=generator, device="cuda")
    X = means[y] + torch.randn((n, d), generator=generator, device="cuda")
    wrong = torch.rand(n, generator=generator, device="cuda") < planted
    return X, torch.where(wrong, (y + 1) % classes, y).cpu().numpy()


def assert_alike(got, want, most=1e-3):
    """Flags but for those near the threshold, odds but where the channel's fit ends elsewhere."""
    np.testing.assert_allclose(got.chi, want.chi, rtol=1e-4)
    assert np.mean(got.is_label_issue != want.is_label_issue) < 2e-3
    assert abs(got.noise_rate - want.noise_rate) < most


class Tensors(unittest.TestCase):
    def test_torch(self):
        X, y = clusters(20000, 40, 7)
        want = rer.analyze(X.cpu().numpy(), y, device="cuda", shrinkage=.2)
        for turn in range(2):
            got = rer.analyze(X, y, shrinkage=.2)
            self.assertEqual(got.summary["options"]["device"], "cuda:0")
            self.assertFalse(any("copied" in note for note in got.notes))
            assert_alike(got, want)
            if turn:
                self.assertTrue((got.mistakenness == before).all())  # noqa: F821
            before = got.mistakenness  # noqa: F841

    def test_detectors(self):
        X, y = clusters(6000, 24, 5)
        for detector in ("knn", "simifeat", "confident"):
            assert_alike(rer.analyze(X, y, detector=detector), rer.analyze(X.cpu().numpy(), y, detector=detector, device="cuda"))

    def test_copied(self):
        X, y = clusters(5000, 16, 4)
        as_they_are = {"normalize": "unit"}  # few features: else each is standardised, and copied for that on any device
        got, want = rer.analyze(X, y, device="cpu", **as_they_are), rer.analyze(X.cpu().numpy(), y, **as_they_are)
        self.assertTrue((got.mistakenness == want.mistakenness).all())
        self.assertTrue(any("lie on card 0" in note for note in got.notes))

    def test_kinds(self):
        X, y = clusters(5000, 16, 4)
        wide = torch.cat([X, X], 1)
        odd = torch.cat([X.flatten()[:1], X.flatten()])[1:].view(X.shape)  # not aligned to more than a float
        for made in (X.half(), X.bfloat16(), X.double(), X.t().contiguous().t(), wide[:, 3:19], odd, X[1:]):
            labels = y[len(y) - len(made) :]
            want = rer.analyze(made.float().cpu().contiguous().numpy(), labels, device="cuda")
            assert_alike(rer.analyze(made, torch.as_tensor(labels, device="cuda")), want)

    @unittest.skipIf(cupy is None, "CuPy is missing")
    def test_cupy(self):
        X, y = clusters(5000, 16, 4)
        want = rer.analyze(X, y)
        on_card = cupy.from_dlpack(X)
        for made in (on_card, cupy.asfortranarray(on_card), on_card.astype("float64")):
            got = rer.analyze(made, cupy.asarray(y))
            self.assertTrue((got.mistakenness == want.mistakenness).all())

    def test_gradients_and_map(self):
        X, y = clusters(3000, 16, 4)
        r = rer.analyze(X.requires_grad_(), y)
        self.assertEqual(r.map(method="pca").shape, (3000, 2))

    def test_a_row_that_is_none(self):
        X, y = clusters(5000, 16, 4)
        X[4321, 5] = float("nan")
        with self.assertRaisesRegex(ValueError, "row 4321, column 5 is NaN"):
            rer.analyze(X, y)
        got, want = rer.analyze(X, y, drop_invalid=True), rer.analyze(X.cpu().numpy(), y, drop_invalid=True, device="cuda")
        assert_alike(got, want)

    def test_another_stream(self):
        """What is still being made on a stream of its own is waited for."""
        X, y = clusters(100000, 64, 7)
        want, side = rer.analyze(X, y, shrinkage=.2), torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            late = torch.zeros_like(X)
            torch.cuda._sleep(2_000_000_000)  # about a second
            late.copy_(X)
            got = rer.analyze(late, y, shrinkage=.2)
        self.assertTrue((got.mistakenness == want.mistakenness).all())

    def test_no_copy(self):
        """All rows stay on the card within much less memory than they take; they are given back."""
        X, y = clusters(2_000_000, 128, 20)
        size = X.numel() * 4
        started = time.perf_counter()
        got = rer.analyze(X, y, shrinkage=.2, device_memory=size * 3 // 5)
        seconds = time.perf_counter() - started
        print(f"\n2,000,000 x 128 x 20 where it lies: {seconds:.2f} s of it fit {got.summary['seconds']['fit']:.2f}, "
              f"score {got.summary['seconds']['score']:.2f}")
        self.assertFalse(any("copied" in note for note in got.notes))
        host = X.cpu().numpy()
        started = time.perf_counter()
        want = rer.analyze(host, y, shrinkage=.2, device="cuda")
        print(f"from the host's memory {time.perf_counter() - started:.2f} s")
        assert_alike(got, want)
        del X, got
        torch.cuda.empty_cache()
        self.assertLess(torch.cuda.memory_allocated(), size)


class Processes(unittest.TestCase):
    def test_fork_after_use(self):
        X, y = clusters(3000, 16, 4)
        host = X.cpu().numpy()
        rer.analyze(host, y, device="cuda")
        out, into = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:
            for rows in (host, X):
                try:
                    rer.analyze(rows, y, device="cuda")
                    os.write(into, b"no error\n")
                except Exception as error:
                    os.write(into, f"{type(error).__name__}: {error}\n".encode())
            os._exit(0)
        os.waitpid(child, 0)
        said = os.read(out, 10000).decode().splitlines()
        self.assertRegex(said[0], "^OSError.*before it forked this one.*spawn")
        self.assertEqual(len(said), 2)
        self.assertNotIn("no error", said[1])

    def test_interrupted(self):
        """Within a second, wherever it is; what takes the driver to start is the driver's."""
        X, y = clusters(400_000, 256, 50)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            np.save(folder / "X.npy", X.cpu().numpy())
            np.save(folder / "y.npy", y)
            del X
            for detector in ("rer", "knn"):
                command = [COMMAND, "analyze", folder / "X.npy", folder / "y.npy", "--device", "cuda", "--detector", detector]
                started = time.perf_counter()
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                whole = time.perf_counter() - started
                took = []
                for share in (.1, .3, .5, .7, .9):
                    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                        time.sleep(whole * share)
                        process.send_signal(signal.SIGINT)
                        asked = time.perf_counter()
                        process.wait(60)
                        took.append(time.perf_counter() - asked)
                        self.assertIn(process.returncode, (130, 0))
                print(f"\n{detector}: {whole:.2f} s; interrupted, it ends within " + ", ".join(f"{t:.2f}" for t in took) + " s")
                self.assertLess(max(took), 1)


if __name__ == "__main__":
    unittest.main()
