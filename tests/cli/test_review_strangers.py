"""rer review: to whom it answers. RER_REVIEW_HOSTILE says how many hostile requests the long test takes."""
import os
import random
import socket
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from review_case import ReviewCase

HOSTILE = int(os.environ.get("RER_REVIEW_HOSTILE", "300"))


class Strangers(ReviewCase):
    """Nobody without the token, and no page from elsewhere, gets anything."""

    def setUp(self):
        super().setUp()
        self.analyze()
        self.server = self.serve()
        self.secret = self.load(self.path("out", "report.html"))[:200]

    def refused(self, method, path, body=None, codes=(400, 403, 404, 405, 413, 414, 415, 431), **headers):
        status, _, text = self.server.ask(method, path, body, **headers)
        self.assertIn(status, codes, (method, path, headers, text[:100]))
        self.assertLess(len(text), 2000)
        self.assertNotIn(b"rer_review", text)

    def test_no_other_address_is_listened_on(self):
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", self.server.port), timeout=10).close()

    def test_token_host_and_origin(self):
        root, host = self.server.root, self.server.host
        token = root.strip("/")
        for path in ("/", "/state", f"/{token}", f"/{token[:-1]}/", f"/{token[:-1]}0/" if token[-1] != "0" else f"/{token[:-1]}1/",
                     f"/{token.upper()}/" if token.upper() != token else "/A/", f"/{'0' * 32}/", f"//{token}/", f"/x/{token}/"):
            self.refused("GET", path, codes=(403,))
        for name in ("evil.example", f"evil.example:{self.server.port}", "127.0.0.1.evil.example", "127.0.0.1:80:80", "[::1]",
                     "localhost.evil", "127.0.0.1:", "127.0.0.1:12x", ""):
            self.refused("GET", root + "state", codes=(400, 403), Host=name)
        for origin in ("http://evil.example", f"https://{host}", "null", f"http://{host}.evil", "http://127.0.0.1:1"):
            self.refused("GET", root + "state", codes=(403,), Origin=origin)
            self.refused("POST", root + "decide", "{}", codes=(403,), Origin=origin, **{"Content-Type": "application/json"})
        self.refused("POST", root + "decide", "{}", codes=(403,), **{"Content-Type": "application/json"})
        self.refused("POST", root + "decide", "{}", codes=(415,), Origin=f"http://{host}", **{"Content-Type": "text/plain"})
        self.refused("GET", root + "state", codes=(403,), Origin=f"http://{host}", **{"Sec-Fetch-Site": "cross-site"})
        for tunnel in ("localhost:9999", "127.0.0.1:1"):  # another port at the other end of a tunnel
            self.assertEqual(self.server.ask("GET", root + "state", Host=tunnel)[0], 200)
        for method in ("PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH", "BREW"):
            status, _, text = self.server.ask(method, root)
            self.assertIn(status, (400, 405))
        self.assertEqual(self.server.ask("GET", root + "decide")[0], 404)
        self.assertEqual(self.server.ask("POST", root + "state", "{}", Origin=f"http://{host}",
                                         **{"Content-Type": "application/json"})[0], 404)

    def raw(self, text):
        """What comes back for bytes as they are, until there is silence: half a request waits for its other half."""
        got = b""
        try:
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=1) as connection:
                connection.sendall(text)
                connection.shutdown(socket.SHUT_WR)
                while piece := connection.recv(65536):
                    got += piece
        except OSError:
            pass
        return got

    def hostile(self, r):
        """One request that must not be served."""
        host, root = self.server.host.encode(), self.server.root.encode()
        junk = bytes(r.randrange(256) for _ in range(r.randrange(60)))
        paths = [b"/../../etc/passwd", b"/%2e%2e/%2e%2e/etc/passwd", root[:-1] + b"/../../../etc/passwd", root + b"picture?row=../../etc/passwd",
                 root + b"picture?row=%00", root + b"..%2f..%2fetc%2fpasswd", root + b"report.html", root + b"decisions.jsonl",
                 root + b"text?row=%s" % (b"9" * 30), b"/" + junk.hex().encode(), b"/" + b"a" * r.randrange(1, 60000), root[:20] + b"/",
                 root + junk.replace(b"\n", b"").replace(b" ", b"").replace(b"?", b"") + b"~", b"*", b"http://evil/" + root]
        kinds = [
            lambda: b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (r.choice(paths), host),
            lambda: b"GET %sstate HTTP/1.1\r\nHost: evil.example\r\n\r\n" % root,
            lambda: b"POST %sdecide HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{}" % (root, host, 10**r.randrange(12)),
            lambda: b"POST %sdecide HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Type: application/json\r\nContent-Length: 2097152\r\n\r\n" % (root, host, host) + b"x" * 2097152,
            lambda: b"POST %sdecide HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n" % (root, host, host),
            lambda: b"POST %sdecide HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % (root, host, host, len(junk)) + junk,
            lambda: b"GET %s HTTP/1.1\r\nHost: %s\r\n" % (root, host) + b"X: y\r\n" * r.randrange(6000) + b"X: " + b"z" * 40000 + b"\r\n\r\n",
            lambda: junk + b"\r\n\r\n",
            lambda: b"GET",
            lambda: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + junk,
            lambda: b"POST %sdecide HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 40000\r\n\r\n" % (root, host, host) + b"[" * 40000,
        ]
        return r.choice(kinds)()

    def test_hostile_requests(self):
        r = random.Random(17)
        with ThreadPoolExecutor(16) as pool:
            for request, got in pool.map(lambda text: (text, self.raw(text)), [self.hostile(r) for _ in range(HOSTILE)]):
                self.assertNotRegex(got[:20], rb"^HTTP/1.\d 2", request[:100])
                self.assertNotIn(b"root:", got)
        self.assertIsNone(self.server.process.poll())
        self.assertEqual(self.journal(), [])
        self.saved(self.server.decide(1, "keep"))
        self.assertEqual(self.server.end(), 130)
        self.assertEqual(self.server.err, "")

    def is_open(self, connection):
        connection.setblocking(False)
        try:
            return connection.recv(1) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def test_slow_ones_make_way(self):
        idle = [socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(200)]
        for connection in idle:
            self.addCleanup(connection.close)
            try:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: 127")
            except OSError:
                pass  # it was shown the door
        start = time.monotonic()
        while sum(map(self.is_open, idle)) > 60:  # sooner than idle ones are closed anyway
            self.assertLess(time.monotonic() - start, 10)
            time.sleep(.01)
        for i in range(20):
            self.saved(self.server.decide(i, "keep"))


if __name__ == "__main__":
    unittest.main()
