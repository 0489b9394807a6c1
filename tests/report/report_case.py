"""What the tests of report.html in a browser share: a page of made data, its cards, its export."""
import csv
import os
import re
import subprocess

import numpy as np

from browser_case import BrowserCase
from page_case import clusters, data_of

COMMAND = os.environ["RER_COMMAND"]


class ReportCase(BrowserCase):
    def rer(self, *arguments):
        subprocess.run([COMMAND, *map(str, arguments)], check=True, cwd=self.folder, stdout=subprocess.DEVNULL)

    def analyze(self, X, y, *arguments, out="out"):
        np.save(self.folder / "X.npy", X)
        np.save(self.folder / "y.npy", y)
        self.rer("analyze", "X.npy", "y.npy", "--out", out, "--quiet", *arguments)
        return self.folder / out / "report.html"

    made = {}  # pages of small data, by the arguments that they were made with

    def small(self, *arguments):
        self.X, self.y = clusters(n=300, classes=4, planted=30)
        np.save(self.folder / "y.npy", self.y)
        if arguments not in self.made:
            self.made[arguments] = self.analyze(self.X, self.y, *arguments, out=f"small-{len(self.made)}")
        self.n = len(data_of(self.made[arguments])["suspects"])
        return self.made[arguments]

    def start(self, path, context=None, **settings):
        """Opened where the suspects are."""
        page = self.open(path, context, **settings)
        page.locator("#list .card").first.scroll_into_view_if_needed()
        return page

    def cards(self, page):
        return page.locator("#list .card")

    def assert_named(self, page):
        """No row's number or name below its card is cut."""
        cut = "Array.from(document.querySelectorAll('.foot span')).filter(e => e.scrollWidth > e.clientWidth + 1).length"
        self.assertEqual(page.evaluate(cut), 0)

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
