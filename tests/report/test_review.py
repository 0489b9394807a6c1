"""report.html in a browser: filters, the keyboard review of suspects, decisions that survive a reload, their export
and what rer apply makes of them; users' texts stay texts; large pages stay quick."""
import csv
import os
import pathlib
import re
import subprocess
import unittest

import numpy as np

import browser_case
from browser_case import EVIL, BrowserCase
from page_case import clusters, data_of

COMMAND = os.environ["RER_COMMAND"]
DEMO = pathlib.Path("/usr/share/datasets/fashion-mnist")
NAMES = pathlib.Path(__file__).parents[2] / "examples" / "fashion-mnist-classes.txt"


class ReviewCase(BrowserCase):
    def rer(self, *arguments):
        subprocess.run([COMMAND, *map(str, arguments)], check=True, cwd=self.folder, stdout=subprocess.DEVNULL)

    def analyze(self, X, y, *arguments, out="out"):
        np.save(self.folder / "X.npy", X)
        np.save(self.folder / "y.npy", y)
        self.rer("analyze", "X.npy", "y.npy", "--out", out, "--quiet", *arguments)
        return self.folder / out / "report.html"

    def small(self, *arguments):
        self.X, self.y = clusters(n=300, classes=4, planted=30)
        return self.analyze(self.X, self.y, *arguments)

    def cards(self, page):
        return page.locator("#list .card")

    def chosen_row(self, page):
        return int(re.search(r"row (\d+)", page.inner_text("#detail h3"), re.I).group(1))

    def decided(self, page):
        return page.inner_text("#done-shown")

    def export(self, page):
        with page.expect_download() as download:
            page.click("#export")
        path = self.folder / "decisions.csv"
        download.value.save_as(path)
        self.assertEqual(download.value.suggested_filename, "decisions.csv")
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


class Review(ReviewCase):
    def test_keyboard_review_reload_export_apply(self):
        path = self.small()
        data = data_of(path)
        context = self.context()
        page = self.open(path, context)
        page.locator("#list .card").first.scroll_into_view_if_needed()
        rows = []
        for key in "kfdf":
            rows.append(self.chosen_row(page))
            page.keyboard.press(key)
        rows.append(self.chosen_row(page))
        page.keyboard.press("c")
        other = next(c for c in data["classes"]
                     if c not in (data["classes"][data["suspects"][4][1]], data["classes"][data["suspects"][4][2]]))
        page.keyboard.type(other)
        page.keyboard.press("Enter")
        self.assertEqual(rows, [s[0] for s in data["suspects"][:5]])
        self.assertEqual(self.decided(page), "5 of 100 decided")

        page.close()
        page = self.open(path, context)  # the decisions are still there
        self.assertEqual(self.decided(page), "5 of 100 decided")
        self.assertEqual(self.cards(page).nth(0).locator(".badge").inner_text(), "kept")
        table = self.export(page)
        self.assertEqual([int(r["index"]) for r in table], rows)
        self.assertEqual([r["decision"] for r in table], ["keep", "fix", "drop", "fix", "choose"])
        self.assertEqual(table[4]["new_label"], other)

        z = self.y.copy()
        label = lambda c: int(data["classes"][c])
        z[rows[1]], z[rows[2]], z[rows[3]], z[rows[4]] = (label(data["suspects"][1][2]), -1,
                                                          label(data["suspects"][3][2]), int(other))
        self.rer("apply", "y.npy", "decisions.csv", "--out", "z.npy", "--quiet")
        np.testing.assert_array_equal(np.load(self.folder / "z.npy"), z)

    def test_undo_goes_back(self):
        page = self.open(self.small())
        page.locator("#list .card").first.scroll_into_view_if_needed()
        first = self.chosen_row(page)
        page.keyboard.press("f")
        page.keyboard.press("d")
        page.keyboard.press("u")
        page.keyboard.press("u")
        self.assertEqual(self.chosen_row(page), first)
        self.assertEqual(self.decided(page), "0 of 100 decided")
        page.keyboard.press("u")  # nothing left: nothing happens
        self.assertTrue(page.is_disabled("#undo"))
        self.assertTrue(page.is_disabled("#export"))

    def test_a_second_decision_replaces_the_first(self):
        page = self.open(self.small())
        page.locator("#list .card").first.scroll_into_view_if_needed()
        page.keyboard.press("f")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("k")
        self.assertEqual(self.decided(page), "1 of 100 decided")
        self.assertEqual([r["decision"] for r in self.export(page)], ["keep"])

    def test_next_and_previous(self):
        path = self.small()
        rows = [s[0] for s in data_of(path)["suspects"]]
        page = self.open(path)
        page.locator("#list .card").first.scroll_into_view_if_needed()
        for key, place in (("ArrowRight", 1), ("n", 2), ("p", 1), ("ArrowLeft", 0), ("ArrowLeft", 0)):
            page.keyboard.press(key)
            self.assertEqual(self.chosen_row(page), rows[place])
        for _ in range(75):  # past the cards that are drawn
            page.keyboard.press("n")
        self.assertEqual(self.chosen_row(page), rows[75])
        self.assertEqual(page.locator('.card[aria-selected="true"]').count(), 1)

    def test_by_keyboard_alone(self):
        """Tab reaches the list and the buttons, the focus is seen and stays where it was."""
        path = self.small()
        rows = [s[0] for s in data_of(path)["suspects"]]
        page = self.open(path)
        at = lambda: page.evaluate("document.activeElement.id || document.activeElement.dataset.act || ''")
        for _ in range(40):
            page.keyboard.press("Tab")
            if at() == "list":
                break
        self.assertEqual(at(), "list")
        self.assertNotEqual(page.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "none")
        columns = page.evaluate("getComputedStyle(document.activeElement).gridTemplateColumns.split(' ').length")
        for key, place in (("ArrowDown", columns), ("ArrowUp", 0), ("End", 99), ("Home", 0)):
            page.keyboard.press(key)
            self.assertEqual(self.chosen_row(page), rows[place], key)
        for _ in range(10):
            page.keyboard.press("Tab")
            if at() == "fix":
                break
        page.keyboard.press("Enter")
        self.assertEqual(self.decided(page), "1 of 100 decided")
        self.assertEqual(at(), "fix")
        page.keyboard.press("Enter")
        self.assertEqual(self.decided(page), "2 of 100 decided")

    def test_keys_do_nothing_away_from_the_review_or_while_typing(self):
        page = self.open(self.small())
        page.locator("#repeat").scroll_into_view_if_needed()
        page.keyboard.press("f")
        self.assertEqual(self.decided(page), "0 of 100 decided")
        page.fill("#find", "")
        page.focus("#find")
        page.keyboard.type("fdk")
        self.assertEqual(self.decided(page), "0 of 100 decided")

    def test_filters(self):
        path = self.small()
        data = data_of(path)
        suspects = data["suspects"]
        page = self.open(path)
        count = lambda: page.inner_text("#count")
        self.assertEqual(count(), "100 suspects")
        given = suspects[0][1]
        page.select_option("#class", str(given))
        self.assertEqual(count(), f"{sum(given in s[1:3] for s in suspects)} of 100 suspects")
        page.select_option("#class", "")
        pair = tuple(suspects[0][1:3])
        page.select_option("#pair", f"{pair[0]}-{pair[1]}")
        self.assertEqual(count(), f"{sum(tuple(s[1:3]) == pair for s in suspects)} of 100 suspects")
        page.select_option("#pair", "")
        page.locator("#over").fill("50")
        self.assertEqual(count(), f"{sum(s[3] >= .5 for s in suspects)} of 100 suspects")
        page.locator("#over").fill("0")
        page.fill("#find", str(suspects[3][0]))
        self.assertIn(suspects[3][0], [int(t) for t in re.findall(r"row (\d+)", " ".join(self.cards(page).all_inner_texts()))])
        page.fill("#find", "no such thing")
        self.assertEqual(self.cards(page).count(), 0)
        self.assertEqual(page.inner_text("#detail"), "")
        page.click("#all")
        self.assertEqual(count(), "100 suspects")
        page.select_option("#sort", "row")
        shown = [int(t) for t in re.findall(r"row (\d+)", " ".join(self.cards(page).all_inner_texts()))]
        self.assertEqual(shown, sorted(s[0] for s in suspects)[:60])
        page.select_option("#sort", "probability")
        page.locator("#list .card").first.scroll_into_view_if_needed()
        page.keyboard.press("k")
        page.select_option("#state", "done")
        self.assertEqual(count(), "1 of 100 suspects")
        page.select_option("#state", "open")
        self.assertEqual(count(), "99 of 100 suspects")

    def test_load_decisions(self):
        path = self.small()
        page = self.open(path)
        page.locator("#list .card").first.scroll_into_view_if_needed()
        page.keyboard.press("f")
        page.keyboard.press("d")
        self.export(page)
        page = self.open(path)  # another browser, which has seen nothing
        page.set_input_files("#file", self.folder / "decisions.csv")
        page.wait_for_selector("#message:not([hidden])")
        self.assertEqual(page.inner_text("#message"), "2 of 2 decisions loaded.")
        self.assertEqual(self.decided(page), "2 of 100 decided")
        text = (self.folder / "decisions.csv").read_text()
        (self.folder / "other.csv").write_text(re.sub(r"rer:[0-9a-f]+", "rer:0123456789abcdef", text))
        page.set_input_files("#file", self.folder / "other.csv")
        self.wait(page, "document.getElementById('message').textContent.includes('other labels')")
        self.assertEqual(self.decided(page), "2 of 100 decided")
        page.click("#clear")
        page.click("#clear")
        self.assertEqual(self.decided(page), "0 of 100 decided")

    def test_decisions_are_kept_in_memory_where_there_is_no_storage(self):
        path = self.small()
        context = self.context()
        context.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw new Error('denied'); }})")
        page = self.open(path, context)
        self.assertTrue(page.is_visible("#storage"))
        page.locator("#list .card").first.scroll_into_view_if_needed()
        page.keyboard.press("f")
        self.assertEqual(self.decided(page), "1 of 100 decided")
        self.assertEqual(len(self.export(page)), 1)

    def test_damaged_storage_is_no_obstacle(self):
        path = self.small()
        key = "rer-decisions-{checksum}-{features}".format(**data_of(path))
        for text in ("{", "null", "7", '[1, [2], ["x", "fix", "y"], {}]'):
            context = self.context()
            context.add_init_script(f"localStorage.setItem({key!r}, {text!r})")
            page = self.open(path, context)
            self.assertRegex(self.decided(page), r"0 of 100 decided")

    def test_classes(self):
        path = self.small()
        page = self.open(path)
        rows = page.locator("#class-rows > tr")
        self.assertEqual(rows.count(), 4)
        page.locator('#class-table th[data-key="name"] button').click()
        self.assertEqual(page.locator("#class-rows button.open").all_inner_texts(), ["0", "1", "2", "3"])
        page.locator("#class-rows button.open").first.click()
        self.assertEqual(page.locator(".unfolded .shown").count(), 12)
        page.fill("#find-class", "2")
        self.assertEqual(rows.count(), 1)

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
            page.wait_for_timeout(100)
            self.assert_harmless(page)
            if extra == more:
                self.assertIn("pictures could not be read; the first: ", page.inner_text(".note"))
                self.assertIn("<img src=x onerror=window.evil=1>", page.inner_text(".note"))
            self.assertIn("'\"<svg onload=window.evil=1>.npy", page.inner_text("header"))
            self.assertIn("y&amp;.npy", page.inner_text(".next"))
            self.assertIn("<svg onload=window.evil=1>", page.inner_text("#repeat ~ pre"))
            if not extra:
                table = self.export(page)
                self.assertEqual([r["given_label"] in names for r in table], [True] * len(table))
                self.rer("apply", folder / "y&amp;.npy", self.folder / "decisions.csv", "--out", folder / "z.npy")

    def test_looks_without_pictures(self):
        X, y = clusters(n=600, classes=45, planted=40, spread=2)
        (self.folder / "t.txt").write_text("".join(f"a text of row {row}, some words long\n" for row in range(600)))
        for name, arguments in (("texts", ["--texts", "t.txt"]), ("bars", [])):
            path = self.analyze(X, y, *arguments)
            for scheme in ("light", "dark"):
                page = self.open(path, viewport={"width": 1360, "height": 900}, color_scheme=scheme)
                self.assertEqual(page.is_visible("#bars-note"), name == "bars")
                page.locator("#class-rows button.open").first.click()
                self.assert_readable(page)
                self.shoot(page, f"report-{name}-{scheme}")
        self.assert_fits_paper(page)

    def test_matrix_by_keyboard(self):
        X, y = clusters(n=900, classes=60, planted=60, spread=2)
        path = self.analyze(X, y)
        data = data_of(path)
        a, b, ab, ba = max(data["pairs"], key=lambda pair: max(pair[2:]))
        page = self.open(path)
        page.focus("#canvas")
        page.keyboard.press("ArrowRight")  # the whole is in sight: nothing moves
        self.assertRegex(page.inner_text("#cell"), rf": {max(ab, ba)} samples, ")
        page.keyboard.press("Enter")
        given, nearest = page.inner_text("#cell").split(":")[0].split(" → ")
        places = [data["classes"].index(name) for name in (given, nearest)]
        pairs = [f"{p}-{q}" for p, q in (places, places[::-1])]
        if any(f"{s[1]}-{s[2]}" in pairs for s in data["suspects"]):
            self.assertIn(page.input_value("#pair"), pairs)
        else:
            self.assertIn("None of them is a suspect", page.inner_text("#cell"))
        for _ in range(4):
            page.locator("#canvas").press("+")
        self.assertRegex(page.inner_text("#cell"), "samples, |No samples here")
        found = {tuple(sorted(s[1:3])) for s in data["suspects"]}
        for place, (p, q, *_) in enumerate(data["pairs"][:12]):  # a pair can be pressed where there is something to see
            tag = page.locator("#pairs .pair").nth(place).evaluate("e => e.tagName")
            self.assertEqual(tag == "BUTTON", tuple(sorted((p, q))) in found)

    def test_pictures_are_drawn(self):
        X, y = clusters(n=60, planted=6)
        np.save(self.folder / "p.npy", np.random.default_rng(0).integers(0, 255, (60, 64, 48, 3), "u1"))
        page = self.open(self.analyze(X, y, "--images", "p.npy"))
        self.wait(page, "Array.from(document.images).every(i => i.complete)")
        self.assertEqual(page.evaluate("Array.from(document.images).filter(i => i.naturalWidth !== 48).length"), 0)
        self.assertGreater(page.evaluate("document.images.length"), 60)
        self.assertEqual(page.evaluate("Array.from(document.images).filter(i => !i.alt).length"), 0)

    def thread_time(self, page):
        """Seconds that the page's thread has worked: other programs on the machine do not add to them."""
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        return {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}["ThreadTime"]

    def test_large_page_is_interactive_within_two_seconds(self):
        random = np.random.default_rng(0)
        X, y = clusters(n=12000, classes=1000, planted=5000)
        np.save(self.folder / "p.npy", random.integers(0, 255, (12000, 24, 24), "u1"))
        path = self.analyze(X, y, "--images", "p.npy", "--budget", 5000)
        self.assertEqual(len(data_of(path)["suspects"]), 5000)
        self.assertLess(path.stat().st_size, 10e6)
        page = self.open(path)
        page.locator("#list .card").first.scroll_into_view_if_needed()
        page.keyboard.press("f")
        self.wait(page, "document.getElementById('done-shown').textContent.startsWith('1 of 5,000')")
        opened = self.thread_time(page)
        page.fill("#find", "37")
        self.wait(page, "document.getElementById('count').textContent.includes(' of 5,000 suspects')")
        filtered = self.thread_time(page) - opened
        print(f"5,000 suspects, {path.stat().st_size / 1e6:.1f} MB: {opened:.2f} s until the first decision, "
              f"{filtered:.2f} s to filter", flush=True)
        self.assertLess(opened, 2)
        self.assertLess(filtered, 1)
        self.assertTrue(page.is_visible("#canvas"))
        page.locator("#canvas").scroll_into_view_if_needed()
        page.wait_for_timeout(200)
        self.shoot(page, "matrix-1000-classes", full_page=False)
        for _ in range(6):
            page.click("#zoom-in")
        page.locator("#canvas").press("ArrowRight")
        self.shoot(page, "matrix-1000-classes-near", full_page=False)


@unittest.skipUnless(DEMO.exists(), "the package dataset-fashion-mnist is not there")
class Demo(ReviewCase):
    def test_looks(self):
        self.rer("analyze", DEMO / "t10k-images-idx3-ubyte.gz", DEMO / "t10k-labels-idx1-ubyte.gz", "--class-names", NAMES,
                 "--out", "demo", "--quiet")
        for name, settings in (("light", {"viewport": {"width": 1360, "height": 900}}),
                               ("dark", {"viewport": {"width": 1360, "height": 900}, "color_scheme": "dark"}),
                               ("phone", {"viewport": {"width": 390, "height": 844}})):
            page = self.open(self.folder / "demo" / "report.html", **settings)
            page.locator("#list .card").first.scroll_into_view_if_needed()
            page.keyboard.press("f")
            page.keyboard.press("k")
            page.evaluate("scrollTo(0, 0)")
            self.shoot(page, f"report-{name}")
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, name)
            self.assert_readable(page)
        page.pdf(path=str(browser_case.SHOTS / "report-print.pdf"))
        self.assert_fits_paper(page)


if __name__ == "__main__":
    browser_case.main()
