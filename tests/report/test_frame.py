"""The frame of the reports, in a browser: escaping, sorting, navigation, no wide pages on a phone."""
import os
import subprocess

import browser_case
from browser_case import EVIL, BrowserCase


class Frame(BrowserCase):
    def page(self, text, **settings):
        path = self.folder / "page.html"
        subprocess.run([os.environ["RER_MAKE_PAGE"], path, text], check=True)
        return self.open(path, **settings)

    def test_users_texts_are_only_texts(self):
        page = self.page(EVIL)
        self.assertEqual(page.inner_text("h1"), EVIL.replace("\u2028", "\u2028"))
        self.assertEqual(page.title(), f"Test: {EVIL}".replace("\u2028", "\u2028"))
        self.assertEqual(page.inner_text("td:first-child >> nth=0"), EVIL)
        self.assertEqual(page.locator("svg.chart text.title").first.text_content()[:9], EVIL[:9])
        self.assert_harmless(page)

    def test_policy_blocks_what_gets_in(self):
        page = self.page("x")
        page.evaluate("""() => {
            document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="window.evil=1">');
            const script = document.createElement('script');
            script.textContent = 'window.evil = 2';
            document.body.append(script);
        }""")
        page.wait_for_timeout(200)
        self.assertIsNone(page.evaluate("window.evil ?? null"))
        self.assertTrue(any("policy" in line for line in self.complaints), self.complaints)
        self.complaints.clear()

    def test_tables_are_sorted_by_their_headings(self):
        page = self.page("x")
        values = lambda: page.locator("tbody td.n").all_text_contents()
        self.assertEqual(values(), ["20,000.0", "160,000.0", "80,000.0", "40,000.0"])
        page.get_by_role("button", name="value").click()
        self.assertEqual(values(), ["160,000.0", "80,000.0", "40,000.0", "20,000.0"])
        page.get_by_role("button", name="value").press("Enter")
        self.assertEqual(values(), ["20,000.0", "40,000.0", "80,000.0", "160,000.0"])
        self.assertEqual(page.locator("th.n").get_attribute("aria-sort"), "ascending")

    def test_navigation(self):
        page = self.page("x")
        self.assertEqual(page.locator("nav a").all_text_contents(), ["x", "Table"])
        page.locator("nav a").nth(1).click()
        self.assertTrue(page.url.endswith("#two"))

    def test_looks(self):
        for name, settings in (("light", {}), ("dark", {"color_scheme": "dark"}),
                               ("phone", {"viewport": {"width": 390, "height": 844}})):
            page = self.page("Difficulty against sample size", **settings)
            self.shoot(page, f"frame-{name}")
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, name)


if __name__ == "__main__":
    browser_case.main()
