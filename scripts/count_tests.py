"""Adds up what CTest wrote: the last line is 'N passed, N failed, N skipped', the exit status 1
unless every test that should have run passed. What a test that passed left out inside has a line of its own.

    count_tests.py FOLDER [SUITE...]     FOLDER holds NAME.xml for each suite that ran, and in
                                         `left-out` the names of tests that could not be asked to;
                                         each SUITE named did not run to its end: a failure
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree


def outcome(case):
    """passed, failed or skipped; a test that could not be started is a failure."""
    if case.get("status") == "run":
        return "passed"
    skipped = case.find("skipped")
    if skipped is not None and skipped.get("message", "").startswith("SKIP_"):
        return "skipped"
    return "skipped" if case.get("status") == "disabled" else "failed"


def left_out_inside(case):
    """Why unittest or pytest left cases out, in the words of the test, or how many they were."""
    said = case.findtext("system-out", "")
    count = re.search(r"\bskipped=(\d+)|\b(\d+) skipped", said)
    reasons = re.findall(r"\.\.\. skipped ['\"](.+)['\"]|^SKIPPED \[\d+\] \S+ (.+)", said, re.M)
    if count is None:
        return None
    return "; ".join(dict.fromkeys("".join(reason) for reason in reasons)) or f"{count[1] or count[2]} cases"


def main(folder, *unrun):
    folder = pathlib.Path(folder)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for suite in unrun:
        print(f"failed: {suite} (did not run to its end)")
        counts["failed"] += 1
    for path in sorted(folder.glob("*.xml")):
        cases = ElementTree.parse(path).getroot().findall("testcase")
        outcomes = [outcome(case) for case in cases]
        for case, result in zip(cases, outcomes):
            if result != "passed":
                print(f"{result}: {path.stem}: {case.get('name')}")
            elif (reason := left_out_inside(case)) is not None:
                print(f"left out: {path.stem}: {case.get('name')}: {reason}")
        if not cases:
            print(f"failed: {path.stem} (has no tests)")
            counts["failed"] += 1
        for result in outcomes:
            counts[result] += 1
    left_out = folder / "left-out"
    counts["skipped"] += len(left_out.read_text().split()) if left_out.exists() else 0
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return counts["failed"] > 0 or counts["passed"] == 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
