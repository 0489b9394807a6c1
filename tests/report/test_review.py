"""report.html in a browser: the review by keyboard, filters, decisions that survive a reload, their export and what rer
apply makes of them."""
import re

import numpy as np

import browser_case
from page_case import data_of
from report_case import ReportCase


class Review(ReportCase):
    def test_keyboard_review_reload_export_apply(self):
        path = self.small()
        data = data_of(path)
        context = self.context()
        page = self.start(path, context)
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
        page = self.start(self.small())
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
        page = self.start(self.small())
        page.keyboard.press("f")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("k")
        self.assertEqual(self.decided(page), f"1 of {self.n} decided")
        self.assertEqual([r["decision"] for r in self.export(page)], ["keep"])

    def test_next_and_previous(self):
        path = self.small("--budget", 100)
        rows = [s[0] for s in data_of(path)["suspects"]]
        page = self.start(path)
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

    def test_keys_decide_nothing_away_from_the_review_or_while_typing(self):
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
        page = self.start(path)
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
        page = self.open(path)
        for text in ("{", "null", "7", '[1, [2], ["x", "fix", "y"], {}]'):
            page.evaluate("([key, text]) => localStorage.setItem(key, text)", [key, text])
            page.reload()
            self.assertEqual(self.decided(page), f"0 of {self.n} decided")


if __name__ == "__main__":
    browser_case.main()
