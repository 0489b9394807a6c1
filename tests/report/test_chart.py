"""Charts as a reader sees them: the positions of marks, read off against the printed ticks, are the data."""
import json
import math
import os
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as tree

import numpy as np

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "</script><img src=x onerror=alert(1)>\"'&]]>"


def draw(**chart):
    """The chart as a file of its own, parsed."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "chart.svg")
        text = json.dumps(chart).replace("NaN", "null")
        subprocess.run([os.environ["RER_DRAW"], path], input=text.encode(), check=True)
        return tree.parse(path).getroot()


def draw_inline(**chart):
    """The same as it stands in a page."""
    run = subprocess.run([os.environ["RER_DRAW"], "-"], input=json.dumps(chart).encode(), check=True, capture_output=True)
    return run.stdout.decode()


def with_class(root, *names):
    return [e for e in root.iter() if set(names) <= set((e.get("class") or "").split())]


def place(element, name):
    """x or y of an element that is placed by attributes or by a translation."""
    if element.get(name) is not None:
        return float(element.get(name))
    x, y = re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", element.get("transform")).groups()
    return float(x if name == "x" else y)


def number(text):
    text = text.replace(",", "").replace("−", "-")
    if text.endswith(" %"):
        return number(text[:-2]) / 100
    for unit, factor in (("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)):
        if text.endswith(unit):
            return float(text[:-1]) * factor
    return float(text)


class Axis:
    """Pixel -> value, from the two outermost ticks as printed."""

    def __init__(self, root, name, log=False):
        ticks = [e for e in with_class(root, name, "tick") if "name" not in e.get("class")]
        shift = 0 if name == "x" else -4  # a label stands 4 pixels below its line
        self.values = [number(t.text) for t in ticks]
        self.pixels = [place(t, name) + shift for t in ticks]
        self.log = log
        assert len(ticks) >= 2, f"{len(ticks)} ticks"

    def __call__(self, pixel):
        values = np.log10(self.values) if self.log else np.array(self.values)
        order = np.argsort(values)
        low, high = order[0], order[-1]
        share = (pixel - self.pixels[low]) / (self.pixels[high] - self.pixels[low])
        value = values[low] + share * (values[high] - values[low])
        return 10**value if self.log else value

    def per_pixel(self):
        return abs(self(1.0) - self(0.0)) if not self.log else None


def points_of(path):
    """All x y of a path, one list for each M."""
    parts = re.findall(r"M([^MZ]*)", path.get("d"))
    return [np.array([[float(v) for v in p.split()] for p in part.split("L")]) for part in parts]


def dots(root, color):
    out = []
    for e in with_class(root, "dot", f"c{color}"):
        if e.find(SVG + "title") is None:
            continue  # in the legend
        out.append((float(e.get("cx")), float(e.get("cy"))) if e.get("cx") else (place(e, "x"), place(e, "y")))
    return np.array(out)


class Charts(unittest.TestCase):
    def close(self, axis, pixels, values):
        """Within a fiftieth of a pixel and the rounding of two decimals."""
        got = axis(np.asarray(pixels, float))
        if axis.log:
            np.testing.assert_allclose(np.log10(got), np.log10(values), atol=2e-4)
        else:
            np.testing.assert_allclose(got, values, atol=.03 * axis.per_pixel())

    def test_line_with_band(self):
        generator = np.random.default_rng(0)
        for log in (False, True):
            for scale in (1e-6, 1, 3e7):
                x = np.sort(generator.uniform(20, 2000, 12))
                y = generator.uniform(.2, .9, 12) * scale
                low, high = y * .9, y * 1.1
                root = draw(title="t", x={"log": log, "title": "x"}, y={"title": "y"}, series=[
                    {"kind": "line", "x": x.tolist(), "y": y.tolist(), "low": low.tolist(), "high": high.tolist()}])
                ax, ay = Axis(root, "x", log), Axis(root, "y")
                line = points_of(with_class(root, "line")[0])[0]
                self.close(ax, line[:, 0], x)
                self.close(ay, line[:, 1], y)
                band = points_of(with_class(root, "band")[0])[0]
                self.close(ay, band[:12, 1], high)
                self.close(ay, band[12:, 1], low[::-1])
                self.close(ax, dots(root, 1)[:, 0], x)
                self.close(ay, dots(root, 1)[:, 1], y)

    def test_gaps(self):
        nan = float("nan")
        root = draw(series=[{"kind": "line", "x": [0, 1, 2, 3, 4], "y": [1, 2, nan, 4, 5]}])
        self.assertEqual([len(part) for part in points_of(with_class(root, "line")[0])], [2, 2])
        self.assertEqual(len(dots(root, 1)), 4)
        root = draw(y={"log": True}, series=[{"kind": "line", "x": [0, 1, 2, 3], "y": [1, 0, -1, 100]}])
        self.assertEqual(len(dots(root, 1)), 2)
        for series in ([], [{"kind": "line", "x": [], "y": []}], [{"kind": "points", "x": [nan], "y": [nan]}],
                       [{"kind": "points", "x": [3], "y": [7]}]):
            draw(series=series)

    def test_points_with_whiskers(self):
        x, y = [1.5, 2.5, 40], [-3, 8, 11]
        low, high = [-4, 7, 10.5], [-1, 9, 12]
        series = [{"kind": "points", "x": x, "y": y, "low": low, "high": high, "name": "a", "labels": ["p", EVIL, "r"]},
                  {"kind": "points", "x": [10], "y": [5], "name": "b"}]
        root = draw(series=series)
        ax, ay = Axis(root, "x"), Axis(root, "y")
        self.close(ax, dots(root, 1)[:, 0], x)
        self.close(ay, dots(root, 1)[:, 1], y)
        self.close(ax, dots(root, 2)[:, 0], [10])
        self.close(ay, dots(root, 2)[:, 1], [5])
        for i, whisker in enumerate(with_class(root, "whisker")):
            stem = points_of(whisker)[0]
            self.close(ay, stem[:, 1], [low[i], high[i]])
            self.close(ax, stem[:, 0], [x[i], x[i]])
        self.assertEqual([e.text for e in with_class(root, "legend")], ["a", "b"])

    def test_bars_stand_side_by_side(self):
        names, a, b = ["one", "two", "three"], [.1, .5, -.2], [.3, .25, .05]
        root = draw(x={"names": names}, y={"percent": True}, series=[
            {"kind": "bars", "y": a, "name": "a"}, {"kind": "bars", "y": b, "name": "b", "low": b, "high": [.4, .3, .1]}])
        ay = Axis(root, "y")
        labels = [place(e, "x") for e in with_class(root, "x", "tick", "name")]
        edges = []
        for color, values in ((1, a), (2, b)):
            bars = [e for e in with_class(root, "bar", f"c{color}") if e.find(SVG + "title") is not None]
            for i, (bar, value) in enumerate(zip(bars, values)):
                top, height = float(bar.get("y")), float(bar.get("height"))
                self.close(ay, [top, top + height], [max(value, 0), min(value, 0)])
                left, width = float(bar.get("x")), float(bar.get("width"))
                edges.append((left, left + width))
                self.assertLess(abs(left + width / 2 - labels[i]), abs(labels[1] - labels[0]) / 2)
        edges.sort()
        for (_, right), (left, _) in zip(edges, edges[1:]):
            self.assertLessEqual(right, left + .02)
        self.assertEqual(len(with_class(root, "whisker")), 3)

    def test_bars_across(self):
        names, values = ["a long name", "b", "c"], [3, 1, 2]
        root = draw(y={"names": names}, series=[
            {"kind": "bars", "x": values, "low": [2.5, .5, 1.5], "high": [3.5, 1.5, 2.5]}])
        ax = Axis(root, "x")
        bars = with_class(root, "bar")
        for bar, value in zip(bars, values):
            left, width = float(bar.get("x")), float(bar.get("width"))
            self.close(ax, [left, left + width], [0, value])
        self.close(ax, points_of(with_class(root, "whisker")[0])[0][:, 0], [2.5, 3.5])
        middles = [float(b.get("y")) + float(b.get("height")) / 2 for b in bars]
        labels = [place(e, "y") - 4 for e in with_class(root, "y", "tick", "name")]
        np.testing.assert_allclose(middles, labels, atol=.02)
        self.assertEqual(labels, sorted(labels))  # from the top

    def test_histogram(self):
        values = np.random.default_rng(1).normal(1, .2, 5000)
        text = json.dumps({"count": values.tolist(), "low": .5, "high": 1.5, "bins": 20})
        printed = subprocess.run([os.environ["RER_DRAW"], "-"], input=text.encode(), capture_output=True, check=True)
        counts = [int(line) for line in printed.stdout.split()]
        expected, edges = np.histogram(np.clip(values, .5, 1.5), bins=20, range=(.5, 1.5))
        self.assertEqual(counts, expected.tolist())
        root = draw(series=[{"kind": "histogram", "x": edges.tolist(), "y": counts}],
                       references=[{"value": 1, "is_vertical": True, "label": "threshold"}])
        ax, ay = Axis(root, "x"), Axis(root, "y")
        bars = with_class(root, "bar")
        self.assertEqual(len(bars), np.count_nonzero(expected))
        for bar, low, high, count in zip(bars, edges, edges[1:], counts):
            left, width = float(bar.get("x")), float(bar.get("width"))
            self.close(ax, [left + width / 2], [(low + high) / 2])
            self.close(ay, [float(bar.get("y"))], [count])
        line = with_class(root, "reference")[0]
        self.close(ax, [float(line.get("x1")), float(line.get("x2"))], [1, 1])

    def test_heat_map(self):
        generator = np.random.default_rng(2)
        values = generator.uniform(.1, 1, (4, 6))
        values[1, 2] = 0
        root = draw(rows=4, columns=6, values=values.ravel().tolist(), x={"names": list("abcdef")},
                       y={"names": list("ghij")}, percent=True)
        cells = with_class(root, "heat")
        self.assertEqual(len(cells), 23)
        lefts = sorted({float(c.get("x")) for c in cells})
        tops = sorted({float(c.get("y")) for c in cells})
        for cell in cells:
            row, column = tops.index(float(cell.get("y"))), lefts.index(float(cell.get("x")))
            self.assertAlmostEqual(float(cell.get("fill-opacity")), values[row, column] / values.max(), delta=.0051)
            self.assertTrue(cell.find(SVG + "title").text.startswith(f"{'ghij'[row]} → {'abcdef'[column]}: "))
        shown = with_class(root, "cell")
        self.assertAlmostEqual(number(shown[0].text), values[0, 0], delta=.0051)

    def test_ticks_are_round(self):
        generator = np.random.default_rng(3)
        for _ in range(60):
            size = 10**generator.uniform(-8, 11)
            low, span = generator.normal(0, size), 10**generator.uniform(-2, 1) * size
            root = draw(series=[{"kind": "points", "x": [0, 1], "y": [low, low + span]}])
            values = Axis(root, "y").values
            self.assertTrue(3 <= len(values) <= 12, values)
            steps = np.diff(values)
            np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
            digits = steps[0] / 10**math.floor(math.log10(steps[0]) + 1e-9)
            self.assertTrue(min(abs(digits - d) for d in (1, 2, 5)) < 1e-6, (low, span, steps[0]))
            self.assertLessEqual(values[0], low + 1e-6 * span)
            self.assertGreaterEqual(values[-1], low + span - 1e-6 * span)

    def test_log_ticks(self):
        generator = np.random.default_rng(4)
        for _ in range(40):
            low = 10**generator.uniform(-4, 6)
            high = low * 10**generator.uniform(.3, 6)
            root = draw(x={"log": True}, series=[{"kind": "points", "x": [low, high], "y": [0, 1]}])
            axis = Axis(root, "x", True)
            self.assertTrue(2 <= len(axis.values) <= 16)
            self.close(axis, axis.pixels, axis.values)
            self.close(axis, dots(root, 1)[:, 0], [low, high])

    def test_texts_are_escaped(self):
        bad = EVIL + "\x01\x7f￿"
        chart = dict(title=bad, x={"title": bad, "names": [bad, "b"]}, y={"title": bad},
                     series=[{"kind": "bars", "y": [1, 2], "name": bad}, {"kind": "bars", "y": [2, 1], "name": "b"}],
                     references=[{"value": 1, "label": bad}])
        root, inline = draw(**chart), draw_inline(**chart)
        seen = "".join(root.itertext()) + root.get("aria-label")
        self.assertIn("</script><img src=x onerror=alert(1)>\"'&]]>��", seen)
        self.assertEqual({e.tag for e in root.iter()} - {SVG + t for t in (
            "svg", "style", "title", "text", "rect", "line", "path", "circle", "polygon")}, set())
        self.assertFalse(any(a.startswith("on") or a in ("href", "style") for e in root.iter() for a in e.keys()))
        self.assertNotIn("<img", inline)
        self.assertNotIn("</script", inline)
        self.assertNotIn("http", inline)
        heat = draw(rows=1, columns=1, values=[1], title=bad, x={"names": [bad], "title": bad},
                       y={"names": [bad], "title": bad})
        self.assertIn("</script><img src=x", "".join(heat.itertext()))


class Coinciding(unittest.TestCase):
    def test_lines_on_each_other_share_their_way(self):
        """Dash by dash: at every place one of them is drawn, and each is drawn somewhere."""
        x, y = [0, 1, 2], [.3, .5, .4]
        line = lambda name, values: {"kind": "line", "name": name, "x": x, "y": values}
        root = draw(title="t", x={"title": "x"}, y={"title": "y"},
                    series=[line("a", y), line("alone", [.1, .2, .3]), line("b", y), line("c", [v + 1e-4 for v in y])])
        lines = with_class(root, "line")
        drawn = [line for line in lines if line.get("d")]
        dashes = [(line.get("stroke-dasharray"), line.get("stroke-dashoffset")) for line in drawn]
        self.assertEqual(dashes[1], (None, None))
        seen = []
        for pattern, offset in (dashes[0], dashes[2], dashes[3]):
            length, gap = map(float, pattern.split())
            seen.append({s for s in range(270) if (s + float(offset)) % (length + gap) < length})
        self.assertEqual(set().union(*seen), set(range(270)))
        self.assertEqual(sum(map(len, seen)), 270)

    def test_long_names_keep_both_ends(self):
        names = [f"a rather long name of a run, the {i}th" for i in range(3)]
        root = draw(title="t", x={"title": "x", "names": names}, y={"title": "y"},
                    series=[{"kind": "bars", "name": "a", "y": [1, 2, 3]}])
        shown = [e.text for e in with_class(root, "x", "tick") if "…" in (e.text or "")]
        self.assertEqual([text.split("…")[1][-7:] for text in shown], [name[-7:] for name in names])
        self.assertTrue(all(names[0].startswith(text.split("…")[0]) for text in shown))

    def test_one_value_but_for_rounding(self):
        """It is one line in the middle, not a jagged one."""
        root = draw(title="t", x={"title": "x"}, y={"title": "y"},
                    series=[{"kind": "line", "name": "a", "x": [0, 1, 2], "y": [.02, .02 * (1 + 1e-15), .02]}])
        path = next(line for line in with_class(root, "line") if line.get("d"))
        heights = {float(place.split()[1]) for place in re.findall(r"[ML]([-\d.]+ [-\d.]+)", path.get("d"))}
        self.assertEqual(len(heights), 1)


if __name__ == "__main__":
    unittest.main()
