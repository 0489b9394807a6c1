"""The classes of report.html, few and a thousand: their table, the matrix, and how quick a large page is."""
import numpy as np

import browser_case
from page_case import clusters, data_of
from report_case import ReportCase


class Classes(ReportCase):
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

    def test_clusters(self):
        """What --clusters has made are clusters wherever they are named, and nobody's wrong labels."""
        X, _ = clusters(n=400, classes=4, spread=2)
        np.save(self.folder / "X.npy", X)
        self.rer("analyze", "X.npy", "--clusters", "4", "--out", "out", "--quiet")
        page = self.open(self.folder / "out" / "report.html")
        shown = page.inner_text("main") if page.query_selector("main") else page.inner_text("body")
        self.assertIn("Find a cluster", shown)
        self.assertNotRegex(shown.split("How to repeat this")[0], r"(?i)find a class|wrong label|label report")

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
        page = self.start(path)
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
        self.assert_titled(page)
        self.shoot(page, "matrix-1000-classes", full_page=False)
        for _ in range(6):
            page.click("#zoom-in")
        page.locator("#canvas").press("ArrowRight")
        self.shoot(page, "matrix-1000-classes-near", full_page=False)


if __name__ == "__main__":
    browser_case.main()
