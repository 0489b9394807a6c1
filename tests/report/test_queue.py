"""The queue of report.html: many at once, likely labels by number, doubts and notes, new labels, copies and odd ones, where
it ends; taps."""
import csv
import subprocess

import numpy as np

import browser_case
from page_case import clusters, data_of
from report_case import ReportCase


class Queue(ReportCase):
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

    def test_the_reason_does_not_contradict_the_verdict(self):
        """Where the features do not speak against a label, the probabilities that were given are named."""
        random = np.random.default_rng(0)
        y = np.arange(300) % 3
        logits = 3 * (np.eye(3)[y] + .6 * random.normal(size=(300, 3)))
        y[:40] = (y[:40] + 1) % 3
        q = np.exp(logits)
        q /= q.sum(1, keepdims=True)
        np.save(self.folder / "q.npy", q)
        path = self.analyze(random.normal(size=(300, 8)).astype("f4"), y, "--pred-probs", "q.npy", out="opinion")
        data = data_of(path)
        page = self.start(path)
        named = 0
        for row, given, suggested, p, chi, *_ in data["suspects"][:12]:
            self.assertEqual(self.chosen_row(page), row)
            words = page.inner_text("#detail .why")
            self.assertGreater(p, .5)
            self.assertNotIn("Its own class is", words)
            if "Your probabilities favour" in words:
                self.assertIn(f"Your probabilities favour {q[row].argmax()}.", words)
                self.assertLess(chi, 1.005)
                named += 1
            page.keyboard.press("n")
        self.assertGreater(named, 0)

    def test_rows_that_speak_against_the_verdict_are_no_reason(self):
        """What is near is told where it is of the suggested class as often as of the given one; else what does speak."""
        told = 0
        for seed in range(3):
            random = np.random.default_rng(seed)
            truth = np.arange(100) % 5
            y = np.where(random.random(100) < .05, (truth + 1) % 5, truth)
            X = random.normal(size=(5, 16))[truth] + random.normal(size=(100, 16))
            path = self.analyze(X.astype("f4"), y, "--budget", "20", out="against")
            page = self.start(path)
            for row, given, suggested, p, chi, _, _, _, near, near_suggested, nearness, _, nearest, *_ in data_of(path)["suspects"]:
                self.assertEqual(self.chosen_row(page), row)
                words = page.inner_text("#detail .why")
                speaks = near_suggested >= max(1, nearest.count(given))
                self.assertEqual(f"of its {near} nearest" in words, speaks, words)
                self.assertFalse(p > .5 and "Its own class is" in words, words)
                told += not speaks
                page.keyboard.press("n")
        self.assertGreater(told, 0)

    def test_likely_labels_by_number(self):
        path = self.small("--budget", 100)
        data = data_of(path)
        page = self.start(path)
        percent = lambda p: "> 99.9 %" if p > .9995 else "< 0.01 %" if 0 < p < .00005 else f"{100 * p:.{2 if p < .0995 else 1}f} %"
        for place, key in enumerate("2134"):
            row, given, suggested, p = data["suspects"][place][:4]
            likely = data["suspects"][place][15]
            self.assertEqual(len(likely), 4)  # all classes
            self.assertEqual(page.locator(".likely bdi").all_inner_texts(), [data["classes"][c] for c, _ in likely])
            self.assertEqual(page.locator(".likely b").all_inner_texts(), [percent(chance) for _, chance in likely])
            page.keyboard.press(key)
            made = {int(r["index"]): r for r in self.export(page)}[row]
            self.assertEqual(made["new_label"], data["classes"][likely[int(key) - 1][0]])
        page.keyboard.press("c")  # the others, the likeliest of this sample first
        page.wait_for_selector("#choices")
        likely = data["suspects"][4][15]
        self.assertEqual(set(page.locator("#choices li").all_inner_texts()[:2]), {data["classes"][c] for c, _ in likely[:2]})

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
        offered = set()
        for _ in odd:
            offered.add(page.locator(".decide button").nth(1).get_attribute("data-act"))
            page.keyboard.press("n")
        self.assertIn("none", offered)  # first where no other class is likely
        self.shoot(page, "report-copies", full_page=False)
        self.assert_accessible(page)

    def test_the_list_ends_where_it_is_not_worth_it(self):
        path = self.small()
        suspects = data_of(path)["suspects"]
        self.assertLess(len(suspects), 60)
        page = self.open(path)
        self.assertIn("a good place to stop", page.inner_text("#suspects + .lead"))
        X, y = clusters(n=12000, classes=3, planted=5500)
        self.assertIn("400 more are flagged", self.analyze(X, y, "--budget", 5400).read_text())

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
        page = self.open(path, viewport={"width": 1000, "height": 300})  # as it opens: far above the list
        page.keyboard.press("d")
        self.assertEqual(self.decided(page), "0 of 100 decided")
        page.keyboard.press("d")
        self.assertEqual(self.decided(page), "1 of 100 decided")
        page.emulate_media(media="print")
        drawn = page.locator("#list .card").count()
        self.assertLess(drawn, 100)
        self.assertEqual(page.inner_text("#printed"), f"{drawn} of 100 are printed here.")

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
            self.assert_named(page)
            self.assert_fits(page)


if __name__ == "__main__":
    browser_case.main()
