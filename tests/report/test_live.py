"""rer review in a browser: decisions that last, whole pictures, any row, two reviewers, looking again."""
import os
import shutil
import subprocess

import numpy as np

import browser_case
from browser_case import EVIL, BrowserCase
from page_case import clusters

COMMAND = os.environ["RER_COMMAND"]


class Live(BrowserCase):
    made = {}  # runs, by the arguments that they were made with

    def analyze(self, *arguments, n=300):
        """A run of its own, which may be a copy."""
        out, key = f"out-{self._testMethodName}", (n, *arguments)
        if key in self.made:
            shutil.copytree(self.folder / self.made[key], self.folder / out, ignore=shutil.ignore_patterns("decisions*"))
            return out
        X, y = clusters(n=n, classes=4, planted=n // 10)
        np.save(self.folder / f"X{n}.npy", X)
        np.save(self.folder / f"y{n}.npy", y)
        subprocess.run([COMMAND, "analyze", f"X{n}.npy", f"y{n}.npy", "--out", out, "--quiet", *arguments], check=True,
                       cwd=self.folder)
        self.made[key] = out
        return out

    def serve(self, out):
        process = subprocess.Popen([COMMAND, "review", out, "--reviewer", "ann"], cwd=self.folder, stdout=subprocess.PIPE,
                                   text=True)
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        self.address = process.stdout.readline().strip()
        return process

    def on_request(self, url, address):
        if not url.startswith((self.address, "data:", "blob:")):
            self.complaints.append(f"request: {url}")

    def visit(self, context):
        page = context.new_page()
        page.on("console", lambda message: self.complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", lambda request: self.on_request(request.url, None))
        page.add_init_script("addEventListener('securitypolicyviolation', e => "
                             "console.error('policy', e.violatedDirective, e.blockedURI))")
        page.goto(self.address)
        page.evaluate("document.querySelector('#list .card').scrollIntoView({ block: 'center' })")
        return page

    def saved(self, page):
        self.wait(page, "document.getElementById('live-saved').textContent === 'all saved'", 60)

    def decided(self, page):
        return int(page.inner_text("#done-shown").split()[0])

    def test_decide_reload_undo(self):
        server = self.serve(self.analyze())
        page = self.visit(self.context())
        for key in "kfds":
            page.keyboard.press(key)
        self.saved(page)
        page.reload()
        self.assertEqual(self.decided(page), 4)
        self.assertEqual(page.locator("#list .badge").all_inner_texts()[0], "kept")
        page.evaluate("document.querySelector('#list .card').scrollIntoView({ block: 'center' })")
        page.keyboard.press("u")
        self.saved(page)
        page.close()
        server.kill()
        server.wait()
        self.serve(f"out-{self._testMethodName}")
        page = self.visit(self.context())  # another day, another browser
        self.assertEqual(self.decided(page), 3)
        page.fill("#note", EVIL[:200])
        page.keyboard.press("Tab")
        self.saved(page)
        page.reload()
        self.assert_harmless(page)
        with page.expect_download() as download:
            page.click("#export")
        path = self.folder / "live.csv"
        download.value.save_as(path)
        subprocess.run([COMMAND, "apply", "y300.npy", "live.csv", "--out", "clean.npy"], check=True, cwd=self.folder,
                       stdout=subprocess.DEVNULL)
        self.assertEqual((np.load(self.folder / "clean.npy") != np.load(self.folder / "y300.npy")).sum(), 2)
        self.shoot(page, "live")

    def test_many_at_once_are_all_saved(self):
        self.serve(self.analyze())
        page = self.visit(self.context())
        page.click('[data-bulk="keep"]')
        count = self.decided(page)
        self.saved(page)
        page.reload()
        self.assertEqual(self.decided(page), count)
        page.click("#clear")
        self.saved(page)
        page.reload()
        self.assertEqual(self.decided(page), 0)

    def test_two_browsers_disagree(self):
        self.serve(self.analyze())
        ann, bob = self.visit(self.context()), self.visit(self.context())
        with bob.expect_navigation():
            bob.fill("#live-name", "bob")
            bob.keyboard.press("Tab")
        bob.evaluate("document.querySelector('#list .card').scrollIntoView({ block: 'center' })")
        ann.keyboard.press("k")
        self.saved(ann)
        bob.keyboard.press("f")
        self.saved(bob)
        self.wait(bob, "!document.getElementById('live-differ').hidden", 60)
        self.assertIn("1 where reviewers disagree", bob.text_content("#live-differ"))
        ann.reload()
        self.assertEqual(self.decided(ann), 1)

    def test_any_row_and_its_text(self):
        long = "word " * 2000
        (self.folder / "texts.txt").write_text("".join(f"{EVIL.replace(chr(0x2028), '')} number{i} {long}\n" for i in range(300)))
        self.serve(self.analyze("--texts", "texts.txt"))
        page = self.visit(self.context())
        page.click(".live-all summary")
        page.fill("#live-find", "number299")
        page.keyboard.press("Enter")
        page.click("#live-rows button")
        self.assertIn("299", page.inner_text("#detail h3"))
        self.wait(page, "document.querySelector('#detail .excerpt').textContent.length > 9000", 60)
        page.click('#detail [data-act="keep"]')
        self.saved(page)
        self.assert_harmless(page)

    def test_whole_pictures_and_zoom(self):
        from PIL import Image
        folder = self.folder / "pictures"
        folder.mkdir()
        for i in range(60):
            Image.fromarray(np.full((600, 900, 3), 4 * i, "u1")).save(folder / f"{i:03d}.jpg")
        self.serve(self.analyze("--images", "pictures", n=60))
        page = self.visit(self.context())
        self.wait(page, "document.querySelector('#detail .big img').naturalWidth === 900", 60)
        page.keyboard.press("z")
        self.wait(page, "document.querySelector('dialog.zoom img').naturalWidth === 900", 60)
        self.assertRegex(page.inner_text("dialog.zoom"), r"pictures/\d+\.jpg")
        page.keyboard.press("k")  # decides on nothing that is hidden
        self.assertEqual(self.decided(page), 0)
        self.shoot(page, "live-zoom", full_page=False)
        page.keyboard.press("Escape")
        self.wait(page, "document.querySelector('dialog.zoom') === null", 60)
        page.evaluate("document.querySelector('#list .card').scrollIntoView({ block: 'center' })")
        page.keyboard.press("k")  # of a card out of view it would say where it is, and no more
        self.saved(page)
        self.assertEqual(self.decided(page), 1)

    def test_look_again(self):
        self.serve(self.analyze())
        page = self.visit(self.context())
        before = page.locator("#list .card").count()
        for _ in range(10):
            page.keyboard.press("f")
        self.saved(page)
        with page.expect_navigation():
            page.click("#live-again")
        text = page.locator("#live-taught")
        self.wait(page, "document.getElementById('live-taught').textContent !== ''", 60)
        self.assertRegex(text.inner_text(), r"^Of 10 looked at 10 were wrong \(promised \d+\)\.")
        self.assertEqual(self.decided(page), 0)  # what is decided has left the queue
        self.assertEqual(page.locator(".likely b").count(), 4)  # what each class's chances are now
        self.assertGreater(before, 0)
        self.assert_readable(page)
        self.assert_accessible(page)
        page.set_viewport_size({"width": 390, "height": 844})
        self.assert_fits(page)
        self.shoot(page, "live-again-phone")
        page.set_viewport_size({"width": 1280, "height": 900})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            self.shoot(page, f"live-again-{scheme}")

    def test_a_new_label_and_none_fits(self):
        self.serve(self.analyze())
        page = self.visit(self.context())
        page.keyboard.press("x")
        page.keyboard.press("c")
        page.keyboard.type("77")
        page.keyboard.press("Enter")
        self.saved(page)
        page.reload()
        self.assertEqual(page.locator("#list .badge").all_inner_texts(), ["none fits", "→ 77"])

    def test_server_that_ended_is_told(self):
        server = self.serve(self.analyze())
        page = self.visit(self.context())
        server.kill()
        server.wait()
        page.keyboard.press("k")
        self.wait(page, "document.getElementById('live-saved').textContent.includes('not saved yet')", 60)
        self.complaints = [text for text in self.complaints if "Failed to load resource" not in text]
        page.on("dialog", lambda dialog: dialog.accept())


if __name__ == "__main__":
    browser_case.main()
