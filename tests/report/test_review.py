"""report.html in a browser: filters, the keyboard review of suspects, decisions that survive a reload, their export
and what rer apply makes of them; users' texts stay texts; large pages stay quick."""
import csv
import os
import pathlib
import re
import subprocess
import unittest
import urllib.parse

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
        path = self.analyze(self.X, self.y, *arguments)
        self.n = len(data_of(path)["suspects"])
        return path

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
        self.assertEqual(self.decided(page), f"5 of {self.n} decided")

        page.close()
        page = self.open(path, context)  # the decisions are still there
        self.assertEqual(self.decided(page), f"5 of {self.n} decided")
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
        self.assertEqual(self.decided(page), f"0 of {self.n} decided")
        page.keyboard.press("u")  # nothing left: nothing happens
        self.assertTrue(page.is_disabled("#undo"))
        self.assertTrue(page.is_disabled("#export"))

    def test_a_second_decision_replaces_the_first(self):
        page = self.open(self.small())
        page.locator("#list .card").first.scroll_into_view_if_needed()
        page.keyboard.press("f")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("k")
        self.assertEqual(self.decided(page), f"1 of {self.n} decided")
        self.assertEqual([r["decision"] for r in self.export(page)], ["keep"])

    def test_next_and_previous(self):
        path = self.small("--budget", 100)
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
        for key, place in (("ArrowDown", columns), ("ArrowUp", 0), ("End", self.n - 1), ("Home", 0)):
            page.keyboard.press(key)
            self.assertEqual(self.chosen_row(page), rows[place], key)
        for _ in range(10):
            page.keyboard.press("Tab")
            if at() == "fix":
                break
        page.keyboard.press("Enter")
        self.assertEqual(self.decided(page), f"1 of {self.n} decided")
        self.assertEqual(at(), "fix")
        page.keyboard.press("Enter")
        self.assertEqual(self.decided(page), f"2 of {self.n} decided")

    def test_keys_do_nothing_away_from_the_review_or_while_typing(self):
        page = self.open(self.small())
        page.locator("#repeat").scroll_into_view_if_needed()
        page.keyboard.press("f")
        self.assertEqual(self.decided(page), f"0 of {self.n} decided")
        page.fill("#find", "")
        page.focus("#find")
        page.keyboard.type("fdk")
        self.assertEqual(self.decided(page), f"0 of {self.n} decided")

    def test_filters(self):
        path = self.small("--budget", 100)
        data = data_of(path)
        suspects = data["suspects"]
        page = self.open(path)
        count = lambda: page.inner_text("#count")
        self.assertEqual(count(), f"{self.n} suspects")
        given = suspects[0][1]
        page.select_option("#class", str(given))
        self.assertEqual(count(), f"{sum(given in s[1:3] for s in suspects)} of {self.n} suspects")
        page.select_option("#class", "")
        pair = tuple(suspects[0][1:3])
        page.select_option("#pair", f"{pair[0]}-{pair[1]}")
        self.assertEqual(count(), f"{sum(tuple(s[1:3]) == pair for s in suspects)} of {self.n} suspects")
        page.select_option("#pair", "")
        page.locator("#over").fill("50")
        self.assertEqual(count(), f"{sum(s[3] >= .5 for s in suspects)} of {self.n} suspects")
        page.locator("#over").fill("0")
        page.fill("#find", str(suspects[3][0]))
        self.assertIn(suspects[3][0], [int(t) for t in re.findall(r"row (\d+)", " ".join(self.cards(page).all_inner_texts()))])
        page.fill("#find", "no such thing")
        self.assertEqual(self.cards(page).count(), 0)
        self.assertEqual(page.inner_text("#detail"), "")
        page.click("#all")
        self.assertEqual(count(), f"{self.n} suspects")
        page.select_option("#sort", "row")
        shown = [int(t) for t in re.findall(r"row (\d+)", " ".join(self.cards(page).all_inner_texts()))]
        self.assertEqual(shown, sorted(s[0] for s in suspects)[:60])
        page.select_option("#sort", "probability")
        page.locator("#list .card").first.scroll_into_view_if_needed()
        page.keyboard.press("k")
        page.select_option("#state", "done")
        self.assertEqual(count(), f"1 of {self.n} suspects")
        page.select_option("#state", "open")
        self.assertEqual(count(), f"{self.n - 1} of {self.n} suspects")

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
        self.assertEqual(self.decided(page), f"2 of {self.n} decided")
        text = (self.folder / "decisions.csv").read_text()
        (self.folder / "other.csv").write_text(re.sub(r"rer:[0-9a-f]+", "rer:0123456789abcdef", text))
        page.set_input_files("#file", self.folder / "other.csv")
        self.wait(page, "document.getElementById('message').textContent.includes('other labels')")
        self.assertEqual(self.decided(page), f"2 of {self.n} decided")
        page.click("#clear")
        self.assertEqual(self.decided(page), f"0 of {self.n} decided")
        page.click("#undo")  # one step back for all of them
        self.assertEqual(self.decided(page), f"2 of {self.n} decided")

    def test_decisions_are_kept_in_memory_where_there_is_no_storage(self):
        path = self.small()
        context = self.context()
        context.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw new Error('denied'); }})")
        page = self.open(path, context)
        self.assertTrue(page.is_visible("#storage"))
        page.locator("#list .card").first.scroll_into_view_if_needed()
        page.keyboard.press("f")
        self.assertEqual(self.decided(page), f"1 of {self.n} decided")
        self.assertEqual(len(self.export(page)), 1)

    def test_damaged_storage_is_no_obstacle(self):
        path = self.small()
        key = "rer-decisions-{checksum}-{features}".format(**data_of(path))
        for text in ("{", "null", "7", '[1, [2], ["x", "fix", "y"], {}]'):
            context = self.context()
            context.add_init_script(f"localStorage.setItem({key!r}, {text!r})")
            page = self.open(path, context)
            self.assertRegex(self.decided(page), rf"0 of {self.n} decided")

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
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0)
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

    def assert_titled(self, page):
        """Something is written along both axes of the matrix, and the page says what they are."""
        page.locator("#canvas").scroll_into_view_if_needed()
        above, beside = page.evaluate("""() => {
            const c = document.getElementById('canvas'), side = c.width, title = 20 * devicePixelRatio;
            const data = c.getContext('2d').getImageData(0, 0, side, side).data;
            let above = 0, beside = 0;
            for (let y = 0; y < side; y++)
                for (let x = 0; x < side; x++) {
                    const painted = data[4 * (y * side + x) + 3] > 128;
                    above += painted && y < title;
                    beside += painted && x < title;
                }
            return [above, beside];
        }""")
        self.assertGreater(min(above, beside), 50)
        self.assertIn("Rows: the given label. Columns: the nearest class.", page.inner_text("#confused-lead"))

    def test_matrix_by_keyboard(self):
        X, y = clusters(n=900, classes=60, planted=60, spread=2)
        path = self.analyze(X, y)
        data = data_of(path)
        a, b, ab, ba = max(data["pairs"], key=lambda pair: max(pair[2:]))
        page = self.open(path)
        self.assert_titled(page)
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
        page = self.open(self.analyze(X, y, "--images", "p.npy", "--budget", 60))
        self.wait(page, "Array.from(document.images).every(i => i.complete)")
        self.assertEqual(page.evaluate("Array.from(document.images).filter(i => i.naturalWidth !== 48).length"), 0)
        self.assertGreater(page.evaluate("document.images.length"), 60)
        self.assertEqual(page.evaluate("Array.from(document.images).filter(i => !i.alt).length"), 0)

    def process_time(self, page):
        """Seconds that the page's process has worked: other programs on the machine do not add to them."""
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        return {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}["ProcessTime"]

    def test_large_page_is_interactive_within_two_seconds(self):
        random = np.random.default_rng(0)
        X, y = clusters(n=12000, classes=1000, planted=5000)
        np.save(self.folder / "p.npy", random.integers(0, 255, (12000, 24, 24), "u1"))
        path = self.analyze(X, y, "--images", "p.npy", "--budget", 5000)
        many = len(data_of(path)["suspects"])
        self.assertGreaterEqual(many, 5000)
        self.assertLess(path.stat().st_size, 10e6)
        page = self.open(path)
        page.locator("#list .card").first.scroll_into_view_if_needed()
        page.keyboard.press("f")
        self.wait(page, "document.getElementById('done-shown').textContent.startsWith('1 of 5,')")
        opened = self.process_time(page)
        page.fill("#find", "37")
        self.wait(page, "document.getElementById('count').textContent.includes(' of 5,')")
        filtered = self.process_time(page) - opened
        print(f"5,000 suspects, {path.stat().st_size / 1e6:.1f} MB: {opened:.2f} s until the first decision, "
              f"{filtered:.2f} s to filter", flush=True)
        self.assertLess(opened, 2)
        self.assertLess(filtered, 1)
        page.fill("#find", "")
        page.focus("#list")
        before = self.process_time(page)
        page.keyboard.press("End")
        self.assertEqual(page.get_attribute(".card[aria-selected=true]", "id"), f"card-{many - 1}")
        ended = self.process_time(page) - before
        print(f"{ended:.2f} s to the end of the list", flush=True)
        self.assertLess(ended, .5)
        page.click("#earlier")
        page.focus("#list")
        page.keyboard.press("Home")
        self.assertEqual(page.get_attribute(".card[aria-selected=true]", "id"), "card-0")
        self.assertTrue(page.is_visible("#canvas"))
        page.locator("#canvas").scroll_into_view_if_needed()
        page.wait_for_timeout(200)
        self.assert_titled(page)
        self.shoot(page, "matrix-1000-classes", full_page=False)
        for _ in range(6):
            page.click("#zoom-in")
        page.locator("#canvas").press("ArrowRight")
        self.shoot(page, "matrix-1000-classes-near", full_page=False)


class Queue(ReviewCase):
    """Many at once, likely labels by number, doubts and notes, copies and odd ones in the same queue, taps."""

    def start(self, path, context=None, **settings):
        page = self.open(path, context, **settings)
        page.locator("#list .card").first.scroll_into_view_if_needed()
        return page

    def test_many_at_once_and_back(self):
        path = self.small("--budget", 100)
        suspects = data_of(path)["suspects"]
        page = self.start(path)
        page.keyboard.press("k")
        pair = tuple(suspects[1][1:3])
        page.select_option("#pair", f"{pair[0]}-{pair[1]}")
        self.assertEqual(page.evaluate("document.activeElement.id"), "list")  # the keys act again
        rows = {s[0] for s in suspects if tuple(s[1:3]) == pair} - {suspects[0][0]}
        page.click("[data-bulk=fix]")
        table = {int(r["index"]): r["decision"] for r in self.export(page)}
        self.assertEqual(table, {**dict.fromkeys(rows, "fix"), suspects[0][0]: "keep"})
        page.click("#undo")
        self.assertEqual(self.decided(page), "1 of 100 decided")
        page.select_option("#pair", "")
        self.cards(page).nth(3).click()
        self.cards(page).nth(7).click(modifiers=["Shift"])
        self.assertEqual(page.locator(".card[aria-selected=true]").count(), 5)
        page.focus("#list")
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("d")
        table = {int(r["index"]) for r in self.export(page) if r["decision"] == "drop"}
        self.assertEqual(table, {s[0] for s in suspects[3:9]})
        self.assertEqual(self.chosen_row(page), suspects[9][0])
        page.keyboard.press("u")
        self.assertEqual(self.decided(page), "1 of 100 decided")

    def test_likely_labels_by_number(self):
        path = self.small("--budget", 100)
        data = data_of(path)
        page = self.start(path)
        for place, key in enumerate("2134"):
            row, given, suggested, p, *_, nearest = data["suspects"][place][:13]
            order = [suggested, given] if p > .5 else [given, suggested]
            counts = {c: nearest.count(c) for c in dict.fromkeys(nearest)}
            order += sorted((c for c in counts if c not in order), key=lambda c: -counts[c])
            shown = page.locator(".likely bdi").all_inner_texts()
            self.assertEqual(shown[:len(order)], [data["classes"][c] for c in order][:5])
            self.assertIn(f"{100 * (1 - p):.2f}"[:3], page.inner_text(f".likely li:has-text('right')"))
            page.keyboard.press(key)
            made = self.export(page)[-1] if place == 0 else {int(r["index"]): r for r in self.export(page)}[row]
            self.assertEqual(made["new_label"], shown[int(key) - 1])
        page.keyboard.press("c")  # the others, the likeliest of this sample first
        page.wait_for_selector("#choices")
        row = data["suspects"][4]
        self.assertEqual(set(page.locator("#choices li").all_inner_texts()[:2]), {data["classes"][c] for c in row[1:3]})

    def test_unsure_and_a_note(self):
        path = self.small()
        rows = [s[0] for s in data_of(path)["suspects"]]
        context = self.context()
        page = self.start(path, context)
        page.keyboard.press("s")
        page.fill("#note", 'ask "Ann", then\u2026')
        page.keyboard.press("Tab")
        page.close()
        page = self.open(path, context)
        self.assertEqual(self.chosen_row(page), rows[1])  # the first that is open
        self.assertEqual(page.input_value("#note"), 'ask "Ann", then\u2026')
        table = self.export(page)
        self.assertEqual([(int(r["index"]), r["decision"], r["note"]) for r in table],
                         [(rows[0], "unsure", ""), (rows[1], "unsure", 'ask "Ann", then\u2026')])
        self.rer("apply", "y.npy", "decisions.csv", "--out", "z.npy", "--quiet")
        np.testing.assert_array_equal(np.load(self.folder / "z.npy"), self.y)

    def test_a_new_label_and_none(self):
        """Typed where no class fits; the command that is shown takes it."""
        path = self.small()
        rows = [s[0] for s in data_of(path)["suspects"]]
        page = self.start(path)
        self.assertEqual(page.inner_text("#apply").split()[-1], "y_clean.npy")
        page.keyboard.press("c")
        page.keyboard.type("2")  # a class that is there is no new one
        self.assertEqual(page.locator("#choices li").all_inner_texts(), ["2"])
        page.keyboard.press("Escape")
        page.keyboard.press("c")
        page.keyboard.type('jump "suit"')
        self.assertEqual(page.locator("#choices li").all_inner_texts(), ['a new label: jump "suit"'])
        page.keyboard.press("Enter")
        self.assertEqual(self.cards(page).nth(0).locator(".badge").inner_text(), '\u2192 jump "suit"')
        page.keyboard.press("x")
        self.assertEqual(self.cards(page).nth(1).locator(".badge").inner_text(), "none fits")
        table = self.export(page)
        self.assertEqual([(int(r["index"]), r["decision"], r["new_label"]) for r in table],
                         [(rows[0], "new", 'jump "suit"'), (rows[1], "none", "")])
        command = page.inner_text("#apply")
        subprocess.run(f'"$RER_COMMAND" {command.removeprefix("rer ")}', shell=True, check=True, cwd=self.folder,
                       stdout=subprocess.DEVNULL)
        with open(self.folder / command.split()[-1], newline="", encoding="utf-8") as file:
            made = ["".join(line) for line in csv.reader(file)]
        expected = self.y.astype(str).astype(object)
        expected[rows[0]], expected[rows[1]] = 'jump "suit"', ""
        self.assertEqual(made, expected.tolist())
        page.set_input_files("#file", self.folder / "decisions.csv")  # read back
        self.wait(page, "!document.getElementById('message').hidden")
        self.assertEqual(self.export(page), table)

    def test_clear_all_is_undone(self):
        page = self.start(self.small())
        for key in "kfd":
            page.keyboard.press(key)
        before = self.export(page)
        page.click("#clear")
        self.assertEqual(self.decided(page), f"0 of {self.n} decided")
        page.click("#undo")
        self.assertEqual(self.export(page), before)

    def test_one_queue(self):
        """Copies with different labels and rows that fit no class can be decided on as suspects can."""
        X, y = clusters(n=300, classes=3, planted=6)
        X[290:] = 30 * np.random.default_rng(3).normal(size=(10, 8))
        X[40], X[41] = X[100], X[100]
        y[40], y[41] = (y[100] + 1) % 3, y[100]
        path = self.analyze(X, y, "--duplicates", "auto")
        suspects = data_of(path)["suspects"]
        copies = {40, 41, 100}
        self.assertLessEqual(copies, {s[0] for s in suspects})
        self.assertEqual({s[0] for s in suspects if s[11] >= 0}, copies)
        page = self.start(path)
        page.select_option("#what", "outlier")
        odd = [s[0] for s in suspects if s[5] & 2]
        self.assertEqual(page.inner_text("#count"), f"{len(odd)} of {len(suspects)} suspects")
        self.assertTrue(odd)
        page.keyboard.press("d")
        page.select_option("#what", "copy")
        self.assertIn("Nearly the same", page.inner_text("#detail"))
        self.assertEqual(page.inner_text("#count"), f"3 of {len(suspects)} suspects")
        row = self.chosen_row(page)
        page.keyboard.press("k")
        self.assertEqual({int(r["index"]): r["decision"] for r in self.export(page)}, {odd[0]: "drop", row: "keep"})
        page.keyboard.press("u")
        for act, decisions in (("only", ["drop", "drop", "keep"]), (f"all-{suspects[0][1]}", None)):
            page.locator(f'#detail [data-act^="{act[:4]}"]').first.click()  # a decision on the whole group
            made = {int(r["index"]): r for r in self.export(page)}
            self.assertEqual(set(made) - {odd[0]}, copies)
            if decisions:
                self.assertEqual(sorted(made[r]["decision"] for r in copies), decisions)
            else:
                self.assertEqual(len({made[r]["new_label"] for r in copies}), 1)
            page.keyboard.press("u")
            self.assertEqual(len(self.export(page)), 1)
        page.select_option("#what", "outlier")
        page.keyboard.press("n")
        self.assertEqual(page.locator(".decide button").nth(1).get_attribute("data-act"), "none")
        self.shoot(page, "report-copies", full_page=False)
        self.assert_accessible(page)

    def test_the_list_ends_where_it_is_not_worth_it(self):
        path = self.small()
        suspects = data_of(path)["suspects"]
        self.assertLess(len(suspects), 60)
        page = self.open(path)
        self.assertIn("a good place to stop", page.inner_text("#suspects + .lead"))
        X, y = clusters(n=12000, classes=3, planted=5500)
        page = self.open(self.analyze(X, y, "--budget", 5400))
        self.assertIn("400 more are flagged", page.inner_text("#suspects + .lead"))

    def test_a_key_never_acts_on_what_is_not_in_view(self):
        path = self.small("--budget", 100)
        page = self.start(path, viewport={"width": 1000, "height": 700})
        for width in (1000, 390):
            page.set_viewport_size({"width": width, "height": 700})
            page.evaluate("document.getElementById('list').lastElementChild.scrollIntoView({block: 'end'})")
            if width == 1000:  # the chosen one stays beside the list: it is in view
                continue
            page.keyboard.press("k")
            self.assertEqual(self.decided(page), "0 of 100 decided")
            page.keyboard.press("k")  # it was brought into view
            self.assertEqual(self.decided(page), "1 of 100 decided")

    def test_four_taps_decide_four(self):
        names = "".join(f"{'long ' * (7 * c)}name {c}\n" for c in range(4))
        (self.folder / "names.txt").write_text(names)
        for settings in ({"viewport": {"width": 390, "height": 844}, "has_touch": True}, {"viewport": {"width": 1360, "height": 900}}):
            page = self.start(self.small("--budget", 100, "--class-names", "names.txt"), **settings)
            page.evaluate("document.querySelector('.split').scrollIntoView(); scrollBy(0, 60)")
            tap = page.touchscreen.tap if "has_touch" in settings else page.mouse.click
            box = page.locator('[data-act="keep"]').bounding_box()
            progress = page.locator("#undo").bounding_box()
            for _ in range(4):
                tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            self.wait(page, "document.getElementById('done-shown').textContent.startsWith('4 of 100')")
            self.assertEqual(page.locator('[data-act="keep"]').bounding_box(), box)
            self.assertEqual(page.locator("#undo").bounding_box(), progress)
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0)


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
