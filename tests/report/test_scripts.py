"""The form of the scripts inside the pages: they parse, hold no construct that could turn a text into markup or code,
and leave no function unused. RER_SOURCE names the folder of the project."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(os.environ["RER_SOURCE"]) / "src" / "report"
SCRIPTS = sorted(SOURCE.glob("*.js"))
BANNED = {
    r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|srcdoc)\b": "makes markup of a text",
    r"\bdocument\.write": "makes markup of a text",
    r"\beval\b|\bnew Function\b|\bsetTimeout\(\s*[\"'`]": "makes code of a text",
    r"\bvar\b": "let or const",
    r"[^=!]==[^=]|!=[^=]": "=== and !==",
    r"\bconsole\b|\bdebugger\b|\balert\(": "left from a search for a mistake",
    r"\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|importScripts|\bimport\(": "asks the network",
    r"[^\x00-\x7F\u03c7\u2013\u2192\u2190\u00d7\u2026\u25b8\u25be]": "an unexpected character",
    r"[ \t]+$": "spaces at the end of a line",
    r"\t": "a tab",
}


def without_strings(text):
    """Comments and the contents of texts and patterns made blank; templates stay, they hold code."""
    regex = r"(?<=[(=,:?] )/(?![*/])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n])+/|(?<=\()/(?![*/])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n])+/"
    pattern = rf"/\*.*?\*/|{regex}|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`"
    blank = lambda found: found.group(0) if found.group(0)[0] == "`" else re.sub(r"[^\n]", "_", found.group(0))
    return re.sub(pattern, blank, text, flags=re.S)


class Scripts(unittest.TestCase):
    def test_there_are_some(self):
        self.assertGreaterEqual({path.name for path in SCRIPTS}, {"frame.js", "report.js", "review.js"})

    def test_syntax(self):
        node = shutil.which("node")
        if node is None:
            self.skipTest("there is no node; the browser tests load the scripts anyway")
        for path in SCRIPTS:
            done = subprocess.run([node, "--check", path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_nothing_banned(self):
        for path in SCRIPTS:
            text = path.read_text(encoding="utf-8")
            bare = without_strings(text)
            self.assertIn('"use strict";', text, path.name)
            self.assertNotIn("</script", text.lower())
            for pattern, why in BANNED.items():
                where = text if "character" in why or "end of a line" in why else bare
                found = re.search(pattern, where, re.M)
                line = where[: found.start()].count("\n") + 1 if found else 0
                self.assertIsNone(found, f"{path.name}:{line}: {why}")
            self.assertLessEqual(max(map(len, text.splitlines())), 140, path.name)

    def test_every_function_and_constant_is_used(self):
        for path in SCRIPTS:
            bare = without_strings(path.read_text(encoding="utf-8"))
            for names in re.findall(r"const \{ ([^}]*) \} = rerReport", bare):
                for name in names.split(", "):
                    self.assertGreater(len(re.findall(rf"(?<![\w.]){re.escape(name)}(?![\w])", bare)), 1, f"{path.name}: {name}")
            for name in re.findall(r"\bfunction (\w+)\(|\b(?:const|let) (\w+) =", bare):
                name = name[0] or name[1]
                if name == "rerReport":
                    continue  # for the other scripts
                self.assertGreater(len(re.findall(rf"\b{re.escape(name)}\b", bare)), 1, f"{path.name}: {name}")

    def test_every_id_that_a_script_looks_for_is_in_the_page(self):
        script = "".join(path.read_text(encoding="utf-8") for path in SCRIPTS)
        pages = "".join(path.read_text(encoding="utf-8") for path in [*SOURCE.glob("*.html"), *SOURCE.glob("*.c")])
        made = set(re.findall(r'id: "([\w-]+)"', script))
        for name in set(re.findall(r'(?:\$|getElementById)\("([\w-]+)"\)', script)):
            self.assertTrue(name in made or re.search(rf'id=\\?"{name}\\?"', pages), name)


if __name__ == "__main__":
    if not SCRIPTS:
        sys.exit(1)
    unittest.main(verbosity=2)  # says what was left out
