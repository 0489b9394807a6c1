"""scripts/count_tests.py: the counts, the exit status, and a line for all that was left out."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(os.environ["RER_SOURCE"]) / "scripts" / "count_tests.py"
PASSED, FAILED = 'status="run"', 'status="fail"'


class Count(unittest.TestCase):
    def count(self, *cases, unrun=(), left_out=None):
        """cases: (name, attributes, what is in it). Returns (exit status, lines)."""
        with tempfile.TemporaryDirectory(prefix="rer-count-") as folder:
            tests = "".join(f'<testcase name="{name}" {how}>{inside}</testcase>' for name, how, inside in cases)
            (pathlib.Path(folder) / "release.xml").write_text(f"<testsuite>{tests}</testsuite>")
            if left_out is not None:
                (pathlib.Path(folder) / "left-out").write_text(left_out)
            done = subprocess.run([sys.executable, SCRIPT, folder, *unrun], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout.splitlines()

    def test_counts(self):
        skipped = '<skipped message="SKIP_RETURN_CODE=77"/>'
        cases = [("a", PASSED, ""), ("b", FAILED, ""), ("c", 'status="notrun"', skipped), ("d", 'status="notrun"', "")]
        status, lines = self.count(*cases, unrun=["asan"], left_out="data.x data.y\n")
        self.assertEqual(status, 1)
        self.assertEqual(lines, ["failed: asan (did not run to its end)", "failed: release: b", "skipped: release: c",
                                 "failed: release: d", "1 passed, 3 failed, 3 skipped"])

    def test_all_passed(self):
        self.assertEqual(self.count(("a", PASSED, "<system-out>OK</system-out>")), (0, ["1 passed, 0 failed, 0 skipped"]))
        self.assertEqual(self.count()[0], 1, "nothing ran")

    def test_what_a_test_left_out_inside(self):
        said = {"u": "test_fish (Shells) ... skipped 'fish is not installed'\nOK (skipped=1)",
                "p": "SKIPPED [1] test_process.py:169: it has its lock\n23 passed, 1 skipped in 1 s",
                "n": "OK (skipped=2)"}
        status, lines = self.count(*((name, PASSED, f"<system-out>{text}</system-out>") for name, text in said.items()))
        self.assertEqual(status, 0)
        self.assertEqual(lines[:3], ["left out: release: u: fish is not installed", "left out: release: p: it has its lock",
                                     "left out: release: n: 2 cases"])


if __name__ == "__main__":
    unittest.main()
