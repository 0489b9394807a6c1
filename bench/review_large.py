"""A review of a million rows: start, page, decisions, search, memory, looking again.

    python bench/review_large.py [--rer PATH] [--rows 1000000]

Prints what each takes by the clock and, in brackets, of the processor (the server's; where it is about the page, the
page's), beside the memory that the analysis itself took. With playwright and Chromium there, also the first paint of the
page and decisions in it.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

from review_loop import Review


def make(folder, rows):
    random = np.random.default_rng(0)
    y = random.integers(0, 10, rows)
    X = (4 * random.normal(size=(10, 16))[y] + 2 * random.normal(size=(rows, 16))).astype("f4")
    wrong = random.random(rows) < .05
    y[wrong] = random.integers(0, 10, wrong.sum())
    np.save(os.path.join(folder, "X.npy"), X)
    np.save(os.path.join(folder, "y.npy"), y)
    with open(os.path.join(folder, "ids.txt"), "w", encoding="ascii") as file:
        file.writelines(f"id-{i}\n" for i in range(rows))


def memory(process):
    """MiB: the most so far, and now."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        lines = dict(line.split(":", 1) for line in file)
    return f"{int(lines['VmHWM'].split()[0]) >> 10} MiB at most, {int(lines['VmRSS'].split()[0]) >> 10} MiB now"


def processor(process):
    """Seconds that it has worked."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(act):
    start = time.monotonic()
    act()
    return time.monotonic() - start


def both(act, process):
    """Milliseconds by the clock, and of the processor."""
    before = processor(process)
    taken = timed(act)
    return f"{1e3 * taken:.0f} ms ({1e3 * (processor(process) - before):.0f})"


def in_the_page(review):
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return
    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("chromium-headless-shell")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page()
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        worked = lambda: {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}["ProcessTime"]
        before = worked()
        page.goto(f"http://{review.host}{review.root}")
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        print(f"first paint        {paint:.0f} ms ({1e3 * (worked() - before):.0f}, the whole page)")
        page.locator("#list .card").first.scroll_into_view_if_needed()
        before = worked()
        taken = timed(lambda: [page.keyboard.press("k") for _ in range(50)])
        print(f"one in the page    {20 * taken:.0f} ms ({20 * (worked() - before):.0f})")
        browser.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rer", default="build/cli/rer")
    parser.add_argument("--rows", type=int, default=1000000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        make(folder, arguments.rows)
        out = os.path.join(folder, "out")
        subprocess.run([arguments.rer, "analyze", *(os.path.join(folder, name) for name in ("X.npy", "y.npy")), "--ids",
                        os.path.join(folder, "ids.txt"), "--out", out, "--quiet"], check=True)
        with open(os.path.join(out, "summary.json"), encoding="utf-8") as file:
            print(f"the analysis       {json.load(file)['peak_memory_bytes'] >> 20} MiB at most")
        start = time.monotonic()
        review = Review(arguments.rer, out)
        print(f"start              {time.monotonic() - start:.2f} s ({processor(review.process):.2f}), {memory(review.process)}")
        print(f"page               {both(lambda: review.ask(''), review.process)}")
        in_the_page(review)
        y = np.zeros(arguments.rows)
        before = processor(review.process)
        times = [1e3 * timed(lambda row=row: review.decide([row], y, y, set())) for row in range(300)]
        each = 1e3 * (processor(review.process) - before) / len(times)
        print(f"a decision         {np.median(times):.1f} ms ({each:.2f}), 99 of 100 within {np.quantile(times, .99):.1f}, "
              f"at most {max(times):.1f}")
        print(f"search, all rows   {both(lambda: review.ask('rows?find=nothing'), review.process)}")
        print(f"what was taught    {both(lambda: review.ask('taught'), review.process)}, {memory(review.process)}")
        print(f"looking again      {both(review.look_again, review.process)}, {memory(review.process)}")
        review.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
