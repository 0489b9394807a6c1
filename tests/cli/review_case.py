"""A server of rer review for tests: started, asked over plain sockets, killed."""
import http.client
import json
import re
import secrets
import subprocess

from cli_case import COMMAND, CliCase

LIMIT = 60  # seconds of one request: for hangs


class Server:
    """rer review of a folder. Requests are a page's own unless told otherwise."""

    def __init__(self, folder, *arguments, cwd=None):
        self.process = subprocess.Popen([COMMAND, "review", str(folder), *map(str, arguments)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, cwd=cwd)
        line = self.process.stdout.readline().decode().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/[0-9a-f]{32}/)", line)
        if found is None:
            raise AssertionError(f"{line}{self.process.communicate()[1].decode()}")
        self.address, self.port, self.root = line, int(found[1]), found[2]
        self.host = f"127.0.0.1:{self.port}"

    def ask(self, method, path, body=None, **headers):
        """Status, headers and bytes; path as it stands."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        try:
            connection.request(method, path, body, {"Host": self.host, **headers})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def get(self, path):
        return self.ask("GET", self.root + path)

    def json(self, path):
        status, _, text = self.get(path)
        assert status == 200, (path, status, text)
        return json.loads(text)

    def post(self, path, content, **headers):
        return self.ask("POST", self.root + path, json.dumps(content),
                        **{"Content-Type": "application/json", "Origin": f"http://{self.host}", **headers})

    def decide(self, row, decision, label="", reviewer="ann", given="", note="", identity=None):
        entry = {"id": identity or secrets.token_hex(16), "row": row, "decision": decision, "label": label, "given": given,
                 "note": note}
        return self.post("decide", {"reviewer": reviewer, "decisions": [entry]})

    def look_again(self):
        answer = json.loads(self.post("again", {})[2])
        while answer["again"]["state"] == "runs":
            answer = self.json("again")
        return answer["again"]

    def end(self, signal=2):
        if self.process.poll() is None:
            self.process.send_signal(signal)
        self.out, self.err = (text.decode() for text in self.process.communicate(timeout=LIMIT))
        return self.process.returncode


class ReviewCase(CliCase):
    def analyze(self, *arguments, **options):
        """A run in out/ of clusters, some of whose labels are wrong."""
        X, y = self.save_clusters(**{"n": 200, "classes": 4, "planted": 20, **options})
        self.rer("analyze", X, y, "--out", "out", "--quiet", *arguments)

    def serve(self, *arguments, folder="out"):
        server = Server(folder, *arguments, cwd=self.folder)
        self.addCleanup(lambda: server.end(9))
        return server

    def journal(self):
        """The decisions in the journal, line by line."""
        with open(self.path("out", "decisions.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file][1:]

    def saved(self, answer):
        self.assertEqual((answer[0], answer[2]), (200, b'{"saved":true}'))
