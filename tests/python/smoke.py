"""The installed wheel with numpy alone: find a mistake, look, save, load, score; threads; messages."""
import importlib.metadata
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import threading

import numpy as np

import rer

assert {name.partition("==")[0] for name in importlib.metadata.requires("librer") if "extra" not in name} == {"numpy>=1.23"}
assert "site-packages" in rer.__file__, rer.__file__
random = np.random.default_rng(0)
y = np.array(["cat", "dog", "owl"])[np.arange(600) % 3]
X = (8 * np.eye(3, 16)[np.arange(600) % 3] + random.normal(size=(600, 16))).astype("f4")
y[7] = "cat"
r = rer.analyze(X, y)
assert r.issues.tolist() == [7] and r.suspects(1)[0]["suggested_label"] == "dog", r
assert "1 flagged" in repr(r) and "<svg" in r._repr_html_() and len(repr(r.classes).splitlines()) == 4
try:
    r.to_frame()
except ImportError as error:
    assert "pip install pandas" in str(error)
with tempfile.TemporaryDirectory() as folder:
    r.save(f"{folder}/model.safetensors")
    assert rer.load(f"{folder}/model.safetensors").score(X[:9]).suggested_label.tolist() == ["cat", "dog", "owl"] * 3
    r.write(f"{folder}/out")
    written = {path.name for path in pathlib.Path(folder, "out").iterdir()}
    assert written >= {"samples.csv", "classes.csv", "summary.json", "report.html"}, written
    np.savez_compressed(f"{folder}/both.npz", X=X, y=y)  # zip and deflate are the wheel's own
    assert rer.analyze(f"{folder}/both.npz:X", f"{folder}/both.npz:y").issues.tolist() == [7]
    pathlib.Path(folder, "t.csv").write_text("a,b,kind\n" + "".join(f"{i % 7},{i % 3},{'xy'[i % 3 > 0]}\n" for i in range(90)))
    assert rer.analyze(f"{folder}/t.csv", label_column="kind").n_classes == 2
noisy = rer.noise(y, rate=.05)
assert noisy.n_changed == 30 and set(noisy.rows) <= set(rer.analyze(X, noisy, groups=range(600)).issues)
assert "With unlimited data" in repr(rer.scale(X, y, sizes=[20, 40, 80])) and "<svg" in rer.scale(X, y)._repr_html_()
assert np.nanmax(rer.bench(X, y, noise="symmetric", rates=.1, seeds=1).scores["auroc"]) > .99
assert rer.compare([r, rer.analyze(X, noisy)]).relabellings["n_changed"].tolist() == [(noisy.labels != y).sum()]
threads = [threading.Thread(target=rer.analyze, args=(X, y)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for words in ([pathlib.Path(sys.executable).parent / "rer"], [sys.executable, "-m", "rer"]):  # the command comes along
    said = subprocess.run([*words, "--version"], capture_output=True, text=True, check=True).stdout
    assert said.split()[:2] == ["rer", rer.__version__], said
assert (rer.apply(y, r, auto=.9) != y).sum() == 1 and r.map(method="pca").shape == (600, 2) and "<iframe" in r.report()._repr_html_()
try:
    rer.analyze(X * np.nan, y)
except ValueError as error:
    assert "drop_invalid" in str(error)
else:
    raise AssertionError
assert not (sysconfig.get_config_var("Py_GIL_DISABLED") and sys._is_gil_enabled()), "a free-threaded build got its lock back"
print(f"Python {sys.version.split()[0]}, numpy {np.__version__}, rer {rer.__version__}: fine")
