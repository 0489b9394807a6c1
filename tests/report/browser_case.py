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

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

SKIPPED = 77
EVIL = "</script><img src=x onerror=\"window.evil=1\"><svg onload=window.evil=1>'\"`&amp;${7*7}{{7*7}}--><!--\u2028</style></title>"
SHOTS = pathlib.Path(os.environ.get("RER_SHOTS", "shots"))


def browser_path():
    """The one that never has a window takes a third of the others' time."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


class BrowserCase(unittest.TestCase):
    browser = None  # one for all tests, and a folder: main has them
    folder = None

    def setUp(self):
        self.complaints = []

    def tearDown(self):
        self.assertEqual(self.complaints, [])

    def context(self, **settings):
        """A browser profile of its own, closed after the test."""
        context = self.browser.new_context(accept_downloads=True, **settings)
        self.addCleanup(context.close)
        context.set_default_timeout(1800e3)
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

    def wait(self, page, expression, seconds=1800):
        """Until it is true; the page's policy forbids Playwright's own way of waiting for that."""
        end = time.monotonic() + seconds
        while not page.evaluate(expression):
            self.assertLess(time.monotonic(), end, expression)
            time.sleep(.01)

    def shoot(self, page, name, full_page=True, most=4000):
        """The page down to `most` pixels: pictures of long ones take longer than the tests."""
        size = page.evaluate("[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], most)} if full_page else None
        page.screenshot(path=str(SHOTS / f"{name}.png"), full_page=full_page, clip=clip)

    def assert_harmless(self, page):
        """Nothing that a user wrote became an element or ran."""
        self.assertIsNone(page.evaluate("window.evil ?? null"))
        self.assertEqual(page.evaluate("document.querySelectorAll('img[src=x], [onerror], [onload]').length"), 0)

    def assert_readable(self, page):
        """Every text stands out at least 4.5 : 1 from what is behind it, in charts and fields too."""
        self.assertEqual(page.evaluate(FAINT_TEXTS), [])

    def assert_accessible(self, page):
        """axe-core finds nothing; the dark theme changes colours alone."""
        page.emulate_media(color_scheme="light")
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        self.assertEqual([(each["id"], each["nodes"][0]["html"][:200]) for each in found], [])
        page.emulate_media(color_scheme="dark")
        self.assert_readable(page)

    def assert_fits(self, page, what=None):
        """Nothing is wider than the window."""
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, what)

    def shoot_all(self, page, name, looks=("light", "dark", "phone")):
        """Screenshots, each fit to read."""
        for look in looks:
            page.emulate_media(color_scheme="dark" if look == "dark" else "light")
            page.set_viewport_size({"width": 390, "height": 844} if look == "phone" else {"width": 1360, "height": 900})
            self.shoot(page, f"{name}-{look}")
            self.assert_fits(page, look)
            self.assert_readable(page)

    def assert_fits_paper(self, page):
        """Printed, nothing is wider than the sheet: A4 with margins of 12 mm."""
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 703, "height": 1000})
        self.assertEqual(page.evaluate("""() => Array.from(document.querySelectorAll('body *'))
            .filter(e => e.checkVisibility() && e.getBoundingClientRect().right > 704 && !e.closest('caption, .skip'))
            .map(e => `${e.tagName}.${e.className.baseVal ?? e.className}`).slice(0, 5)"""), [])


FAINT_TEXTS = """() => {
    const parse = (c) => (c.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
    const ratio = (front, back) => {
        const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
        return (a + .05) / (b + .05);
    };
    const behind = (e) => {
        for (; e; e = e.parentElement) {
            const c = parse(getComputedStyle(e).backgroundColor);
            if (c.length < 4 || c[3] > .99) return c;
        }
        return [255, 255, 255];
    };
    const mix = (front, back, share) => back.slice(0, 3).map((v, i) => v + share * (front[i] - v));
    const faint = [];
    const check = (what, front, back) => {
        if (ratio(front, back) < 4.5) faint.push(`${what}: ${front} on ${back}, ${ratio(front, back).toFixed(2)}`);
    };
    let texts = 0;
    for (const e of document.querySelectorAll('body *')) {
        const style = getComputedStyle(e);
        if (!e.checkVisibility() || e.closest('[disabled], option, canvas')) continue;
        if (e.placeholder) check('placeholder', parse(getComputedStyle(e, '::placeholder').color), behind(e));
        if (!Array.from(e.childNodes).some(n => n.nodeType === 3 && n.data.trim()) || e.localName === 'title') continue;
        texts++;
        const name = `${e.localName} ${e.textContent.slice(0, 40)}`;
        if (!e.closest('svg')) {
            check(name, parse(style.color), behind(e));
        } else if (!e.classList.contains('cell')) {
            check(name, parse(style.fill), behind(e.closest('svg')));
        } else {
            const box = e.getBoundingClientRect();
            const x = box.left + box.width / 2, y = box.top + box.height / 2;
            const under = Array.from(e.closest('svg').querySelectorAll('.heat')).find((heat) => {
                const r = heat.getBoundingClientRect();
                return r.left <= x && x <= r.right && r.top <= y && y <= r.bottom;
            });
            const back = behind(e.closest('svg'));
            const share = under ? Number(getComputedStyle(under).fillOpacity) * Number(getComputedStyle(under).opacity) : 0;
            check(name, parse(style.fill), under ? mix(parse(getComputedStyle(under).fill), back, share) : back);
        }
    }
    return texts > 0 ? faint.slice(0, 5) : ['no texts'];
}"""


def main():
    if browser_path() is None:
        print("Skipped: there is no Chromium (Debian's package chromium-headless-shell).")
        sys.exit(SKIPPED)
    SHOTS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rer-browser.") as folder, sync_playwright() as playwright:
        BrowserCase.folder = pathlib.Path(folder)
        BrowserCase.browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        done = unittest.main(exit=False)
        BrowserCase.browser.close()
    sys.exit(not done.result.wasSuccessful())
