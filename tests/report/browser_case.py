"""A real browser for the tests of the pages: Debian's Chromium, without a window.

Every page must stay silent: a message on the console, an error in a script, a dialog, a violation of the page's own
policy or a request for anything but the file itself fails the test that opened it."""
import os
import pathlib
import shutil
import sys
import tempfile
import time
import unittest

from playwright.sync_api import sync_playwright

SKIPPED = 77
EVIL = "</script><img src=x onerror=\"window.evil=1\"><svg onload=window.evil=1>'\"`&amp;${7*7}{{7*7}}--><!--\u2028</style></title>"
SHOTS = pathlib.Path(os.environ.get("RER_SHOTS", "shots"))


def browser_path():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class BrowserCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="rer-browser."))
        SHOTS.mkdir(parents=True, exist_ok=True)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()
        shutil.rmtree(cls.folder)

    def setUp(self):
        self.complaints = []
        self.allowed = None

    def tearDown(self):
        self.assertEqual(self.complaints, [])

    def context(self, **settings):
        """A browser profile of its own, closed after the test."""
        context = self.browser.new_context(accept_downloads=True, **settings)
        self.addCleanup(context.close)
        return context

    def open(self, path, context=None, **settings):
        context = context or self.context(**settings)
        page = context.new_page()
        address = pathlib.Path(path).resolve().as_uri()
        page.on("console", lambda message: self.complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self.on_request(request.url, address))
        page.add_init_script("addEventListener('securitypolicyviolation', e => "
                             "console.error('policy', e.violatedDirective, e.blockedURI))")
        page.goto(address)
        return page

    def on_request(self, url, address):
        if url.split("#")[0] != address and not url.startswith(("data:", "blob:")):
            self.complaints.append(f"request: {url}")

    def wait(self, page, expression, seconds=10):
        """Until it is true; the page's policy forbids Playwright's own way of waiting for that."""
        end = time.monotonic() + seconds
        while not page.evaluate(expression):
            self.assertLess(time.monotonic(), end, expression)
            time.sleep(.01)

    def shoot(self, page, name, full_page=True):
        page.screenshot(path=str(SHOTS / f"{name}.png"), full_page=full_page)

    def assert_harmless(self, page):
        """Nothing that a user wrote became an element or ran."""
        self.assertIsNone(page.evaluate("window.evil ?? null"))
        self.assertEqual(page.evaluate("document.querySelectorAll('img[src=x], [onerror], [onload]').length"), 0)


def main():
    if browser_path() is None:
        print("Skipped: there is no Chromium (Debian's package chromium).")
        sys.exit(SKIPPED)
    unittest.main()
