"""What looking again is worth: CIFAR-10's human labels, with the true ones as the reviewer.

    python bench/review_loop.py [--rer PATH] [--data DIR] [--every 50]

For each set of human labels (CIFAR-10N) a review is served by `rer review`. The reviewer decides on the most
suspicious rows as the page shows them, looks again after every so many, and goes on. Printed: wrong labels found after
500 and 1,000 decisions, with looking again and without it (the first page's order to the end), their ratio,
and the most that it can be, since no more than every decision can find one; then what the review promised before the
last decisions, and what came.

Exit status: 0 done, 1 the command failed, 77 no data.
"""
import argparse
import csv
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

KINDS = ("aggre", "random1", "worse")
BUDGETS = (500, 1000)


class Review:
    """A server, asked as its page does."""

    def __init__(self, rer, folder):
        self.process = subprocess.Popen([rer, "review", folder], stdout=subprocess.PIPE, text=True)
        found = re.fullmatch(r"http://(127\.0\.0\.1:\d+)(/\w+/)", self.process.stdout.readline().strip())
        if found is None:
            sys.exit("rer review did not start")
        self.host, self.root = found.groups()

    def ask(self, path, body=None):
        connection = http.client.HTTPConnection(self.host)
        headers = {"Origin": f"http://{self.host}", "Content-Type": "application/json"} if body is not None else {}
        connection.request("GET" if body is None else "POST", self.root + path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        if answer.status != 200:
            sys.exit(f"{path}: {text}")
        return text

    def suspects(self):
        """Rows of the queue, the likeliest mistakes first."""
        text = self.ask("")
        data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
        return [suspect[0] for suspect in data["suspects"] if suspect[5] & 4]

    def decide(self, rows, y, truth, known):
        entries = [{"id": f"{row:032x}", "row": row, "decision": "keep" if truth[row] == y[row] else "fix",
                    "label": str(truth[row])} for row in rows]
        self.ask("decide", {"decisions": entries})
        known.update(rows)

    def look_again(self):
        state = json.loads(self.ask("again", {}))["again"]
        while state["state"] == "runs":
            state = json.loads(self.ask("again"))["again"]
        if state["state"] != "done":
            sys.exit(state["message"])

    def end(self):
        self.process.terminate()
        self.process.communicate()


def loop(rer, folder, y, truth, every):
    """Found after each budget, and (expected, low, high, rows) at the first one."""
    review, known, found, lesson = Review(rer, folder), set(), {}, None
    while len(known) < max(BUDGETS):
        queue = [row for row in review.suspects() if row not in known][:every]
        if not queue:
            break
        review.decide(queue, y, truth, known)
        if len(known) in BUDGETS:
            found[len(known)] = int((y != truth)[list(known)].sum())
        if len(known) == BUDGETS[0]:
            lesson = json.loads(review.ask("taught"))
        if len(known) < max(BUDGETS):
            review.look_again()
    review.end()
    return found, lesson


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rer", default="build/cli/rer")
    parser.add_argument("--data", default=os.environ.get("RER_DATA", ""))
    parser.add_argument("--every", type=int, default=50)
    arguments = parser.parse_args()
    data = os.path.join(arguments.data, "data")
    if not os.path.exists(os.path.join(data, "cifar10_effnet_X.npy")):
        print("skipped: no data; RER_DATA or --data names its folder")
        return 77
    truth = np.load(os.path.join(data, "cifar10_effnet_y.npy"))
    sys.stdout.reconfigure(line_buffering=True)
    print(f"{'labels':8} {'wrong':>6} {'decided':>8} {'again':>6} {'without':>8} {'ratio':>6} {'most':>6}")
    for kind in KINDS:
        labels = os.path.join(data, f"cifar10_effnet_human_{kind}.npy")
        y = np.load(labels)
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            subprocess.run([arguments.rer, "analyze", os.path.join(data, "cifar10_effnet_X.npy"), labels, "--out", out, "--quiet"],
                           check=True)
            with open(os.path.join(out, "samples.csv"), newline="", encoding="utf-8") as file:
                p = np.array([float(row["mistakenness"]) for row in csv.DictReader(file)])
            found, lesson = loop(arguments.rer, out, y, truth, arguments.every)
        order = np.argsort(-p, kind="stable")
        for budget, count in found.items():
            without = int((y != truth)[order[:budget]].sum())
            most = min(budget, int((y != truth).sum()))
            print(f"{kind:8} {(y != truth).mean():6.1%} {budget:8} {count:6} {without:8} {count / without:6.3f} {most / without:6.3f}")
        left = int((y != truth).sum()) - found[BUDGETS[0]]
        print(f"{'':8} after {BUDGETS[0]}: {lesson['expected']:.0f} ({lesson['low']:.0f} to {lesson['high']:.0f}) promised among the next "
              f"{lesson['next']}, {lesson['promised_next']:.0f} before correction; {left} were left in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
