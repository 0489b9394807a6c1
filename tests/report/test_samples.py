"""How report.html shows samples: pictures, texts, columns of a table, files and neighbours; users' texts stay texts."""
import gzip
import pathlib
import unittest
import urllib.parse

import numpy as np

import browser_case
from browser_case import EVIL
from page_case import clusters, data_of
from report_case import ReportCase

DEMO = pathlib.Path("/usr/share/datasets/fashion-mnist")
NAMES = pathlib.Path(__file__).parents[2] / "examples" / "fashion-mnist-classes.txt"


class Samples(ReportCase):
    def test_every_users_text_stays_a_text(self):
        X, y = clusters(n=120, classes=3, planted=20)
        names = np.array([EVIL, EVIL[::-1] + "<b onmouseover=window.evil=1>", "=cmd()\t\"x\",y"])
        folder = self.folder / "evil<img src=x onerror=window.evil=1>'"
        folder.mkdir(exist_ok=True)
        line = EVIL.replace("\u2028", " ")
        np.save(folder / "X'\"<svg onload=window.evil=1>.npy", X)
        np.save(folder / "y&amp;.npy", names[y])
        (folder / "ids.txt").write_text("".join(f"{row} {line}\n" for row in range(120)))
        (folder / "t.txt").write_text("".join(f"{line} {row}\n" for row in range(120)))
        (folder / "n.txt").write_text("".join(f"{name}{line}\n" for name in "abc"))
        for row in range(120):  # none can be read: a note names one
            (folder / f"<img src=x onerror=window.evil=1>{row:03d}.png").write_bytes(b"GIF89a")
        (folder / "list.txt").write_text("".join(f"<img src=x onerror=window.evil=1>{row:03d}.png\n" for row in range(120)))
        (folder / "g.txt").write_text("".join(f"{line}{row % 2}\n" for row in range(120)))
        more = ["--images", folder / "list.txt", "--subsets", folder / "g.txt", "--details"]
        for extra in ([], ["--class-names", folder / "n.txt"], more):
            self.rer("analyze", folder / "X'\"<svg onload=window.evil=1>.npy", folder / "y&amp;.npy", "--ids",
                     folder / "ids.txt", "--texts", folder / "t.txt", "--out", folder / "out", "--quiet", *extra)
            page = self.open(folder / "out" / "report.html")
            self.assertIn(line, page.inner_text("#detail"))
            page.locator("#list .card").first.scroll_into_view_if_needed()
            for key in "fkdc":
                page.keyboard.press(key)
            page.keyboard.type("<")
            page.keyboard.press("Enter")
            page.fill("#find", EVIL[:12])
            page.locator("#class-rows button.open").first.click()
            page.select_option("#sort", "pair")
            page.select_option("#class", index=1)
            self.assert_harmless(page)
            if extra == more:
                self.assertIn("pictures could not be read; the first: ", " ".join(page.locator(".note").all_inner_texts()))
                self.assertIn("<img src=x onerror=window.evil=1>", " ".join(page.locator(".note").all_inner_texts()))
            self.assertIn("'\"<svg onload=window.evil=1>.npy", page.inner_text("header"))
            self.assertIn("y&amp;.npy", page.inner_text(".next"))
            self.assertIn("<svg onload=window.evil=1>", page.inner_text("#repeat ~ pre"))
            if not extra:
                table = self.export(page)
                self.assertEqual([r["given_label"] in names for r in table], [True] * len(table))
                self.rer("apply", folder / "y&amp;.npy", self.folder / "decisions.csv", "--out", folder / "z.npy")

    def test_looks_without_pictures(self):
        X, y = clusters(n=300, classes=15, planted=20, spread=2)
        (self.folder / "t.txt").write_text("".join(f"a text of row {row}, some words long\n" for row in range(300)))
        for name, arguments in (("texts", ["--texts", "t.txt"]), ("bars", [])):
            page = self.open(self.analyze(X, y, *arguments))
            self.assertEqual(page.is_visible("#bars-note"), name == "bars")
            page.locator("#class-rows button.open").first.click()
            self.shoot_all(page, f"report-{name}", looks=("light", "dark"))
        page.keyboard.press("c")
        self.assert_accessible(page)
        self.assert_fits_paper(page)

    def test_rows_of_a_table_by_the_names_of_their_columns(self):
        X, y = clusters(n=240, d=6, classes=3, planted=12)
        lines = [",".join([*(f"{v:.5g}" for v in row), "abc"[c]]) for row, c in zip(X, y)]
        (self.folder / "t.csv").write_text("\n".join([",".join([*(f"{EVIL[:8]} {j}" for j in range(6)), "kind"]), *lines]))
        self.rer("analyze", "t.csv", "--label-column", "kind", "--out", "table", "--quiet")
        path = self.folder / "table" / "report.html"
        data = data_of(path)
        page = self.open(path, viewport={"width": 390, "height": 844})
        self.assertEqual(page.locator("svg.bars").count(), 0)
        self.assertFalse(page.is_visible("#bars-note"))
        suspect = data["suspects"][0]
        self.assertEqual(page.locator(".telling thead th").all_inner_texts(),
                         ["column", data["classes"][suspect[1]], "this row", data["classes"][suspect[2]]])
        for shown, (j, own, given, suggested) in zip(page.locator(".telling tbody tr").all(), suspect[14], strict=True):
            name, *values = shown.locator("th, td").all_inner_texts()
            self.assertEqual(name, data["columns"][j])
            np.testing.assert_allclose([float(v) for v in values], [given, own, suggested], rtol=1e-3)
            near = shown.locator(".near").inner_text()
            self.assertEqual(near, values[0 if abs(own - given) <= abs(own - suggested) else 2])
        self.assert_fits(page)
        self.assert_harmless(page)
        self.shoot(page, "report-columns-phone")

    def test_files_and_neighbours(self):
        """The name of a picture's file, a link to it, and the nearest ones with their labels."""
        from PIL import Image
        X, y = clusters(n=60, planted=6)
        for place, out in (("the photos/a#1?", "deep/er"), (self.folder / "elsewhere", self.folder / "absolute")):
            folder = self.folder / place
            folder.mkdir(parents=True)
            for row in range(60):
                Image.fromarray(np.full((30, 40, 3), 4 * row, "u1")).save(folder / f"picture {row:02d} \u00e9%.png")
            (self.folder / "deep").mkdir(exist_ok=True)
            path = self.analyze(X, y, "--images", place, out=out)
            suspect = data_of(path)["suspects"][0]
            page = self.open(path)
            self.assertIn(f"picture {suspect[0]:02d} \u00e9%.png", page.inner_text("#detail h3"))
            address = page.evaluate("document.querySelector('.file a').href")
            found = pathlib.Path(urllib.parse.unquote(urllib.parse.urlparse(address).path))
            self.assertTrue(found.samefile(folder / f"picture {suspect[0]:02d} \u00e9%.png"), address)
            near = page.locator(".examples").first
            self.assertEqual(near.locator("bdi").all_inner_texts(), [data_of(path)["classes"][c] for c in suspect[12][:4]])
            self.assertEqual(near.locator("img").count(), len(suspect[13]))

    def test_pictures_are_drawn(self):
        X, y = clusters(n=60, planted=6)
        np.save(self.folder / "p.npy", np.random.default_rng(0).integers(0, 255, (60, 64, 48, 3), "u1"))
        page = self.open(self.analyze(X, y, "--images", "p.npy", "--budget", 60))
        self.wait(page, "Array.from(document.images).every(i => i.complete)")
        self.assertEqual(page.evaluate("Array.from(document.images).filter(i => i.naturalWidth !== 48).length"), 0)
        self.assertGreater(page.evaluate("document.images.length"), 60)
        self.assertEqual(page.evaluate("Array.from(document.images).filter(i => !i.alt).length"), 0)


@unittest.skipUnless(DEMO.exists(), "the package dataset-fashion-mnist is not there")
class Demo(ReportCase):
    def test_looks(self):
        pictures, labels = (np.frombuffer(gzip.decompress((DEMO / f"t10k-{name}-ubyte.gz").read_bytes()), "u1")
                            for name in ("images-idx3", "labels-idx1"))
        (self.folder / "ids.txt").write_text("".join(f"test-{row:05d}\n" for row in range(2000)))
        page = self.start(self.analyze(pictures[16:][:2000 * 784].reshape(2000, 28, 28), labels[8:][:2000], "--class-names", NAMES,
                                       "--ids", "ids.txt"))
        page.keyboard.press("f")
        page.keyboard.press("k")
        page.evaluate("scrollTo(0, 0)")
        self.shoot_all(page, "report")
        page.pdf(path=str(browser_case.SHOTS / "report-print.pdf"))
        self.assert_fits_paper(page)
        self.assert_named(page)


if __name__ == "__main__":
    browser_case.main()
