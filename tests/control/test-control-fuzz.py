#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Requests at random, made from the description of the control port, and clients that stay too long.

CORNERTURN_REQUESTS gives the number of requests of each kind."""
import json
import os
import random
import subprocess
import sys

import controls
import graphs
import oracles
import tap

PATH = graphs.SOURCE_ROOT / "core" / "control" / "openapi.json"
API = json.loads(PATH.read_text())
SCHEMATHESIS = "schemathesis==4.32.5"
JSONSCHEMA = "jsonschema==4.23.0"
IS_SANITIZED = os.environ.get("CORNERTURN_SANITIZER", "none") != "none"
REQUESTS = int(os.environ.get("CORNERTURN_REQUESTS") or (1000 if IS_SANITIZED else 10000))
SEED = 20261128

# Prints the replies that are not as the description says.
CHECK = """
import json, sys
import jsonschema
api = json.load(open(sys.argv[1]))
validators = {}
for line in open(sys.argv[2]):
    schema, reply, asked = json.loads(line)
    key = json.dumps(schema)
    if key not in validators:
        validators[key] = jsonschema.Draft202012Validator(
            {**schema, "components": api["components"]})
    for error in validators[key].iter_errors(reply):
        print(asked, error.message)
"""

METHODS = ["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "x"]
WORDS = ["gains", "gain", "gains.gain", "gains.gain=2", "gains.gain=[1, 2]", "gains.gains=x.npy", "in.path=x",
         "gains.inverse=true", "gains.gain={a: [", "=", ".", "", "é\u0000\ud7ff", "2026-11-28T00:00:05Z", "noon",
         "1e400", "-0", "\\", "%", "x" * 3000]


def some_value(draw, depth=0):
    kinds = [lambda: draw.choice(WORDS), lambda: draw.choice([True, False, None]),
             lambda: draw.choice([0, 1, -1, 5000, 1 << 31, 1 << 53, (1 << 63) - 1, -(1 << 63), 1 << 70]),
             lambda: draw.uniform(-1e6, 1e6)]
    if depth < 3:
        kinds += [lambda: [some_value(draw, depth + 1) for _ in range(draw.randrange(3))],
                  lambda: {draw.choice(WORDS): some_value(draw, depth + 1) for _ in range(draw.randrange(3))}]
    return draw.choice(kinds)()


def some_body(draw):
    """A change, or something like one; now and then bytes."""
    body = {"assignment": draw.choice(WORDS)}
    if draw.random() < 0.5:
        body[draw.choice(["tick", "utc", "assignment", "more"])] = some_value(draw)
    text = json.dumps(body if draw.random() < 0.8 else some_value(draw)).encode()
    if draw.random() < 0.2:
        at = draw.randrange(len(text) + 1)
        text = text[:at] + draw.choice([b"", b"\xff", b"\x00", b"}", b"\""]) + text[at + draw.randrange(4):]
    return text


class Fuzz(controls.ControlTest):
    def described(self, path, method, status, kind):
        """The schema of a reply; None if the description does not have it."""
        found = API["paths"].get(path, {}).get(method.lower(), {}).get("responses", {}).get(str(status))
        if found and "$ref" in found:
            found = API["components"]["responses"][found["$ref"].rpartition("/")[2]]
        return found and found["content"].get(kind, {}).get("schema")

    def ask_once(self, port, draw):
        """Returns the schema of the reply, the reply, and what was asked."""
        path = draw.choice([one for one in API["paths"] if one != "/api/v1/end"])
        method = draw.choice(["GET", "POST", "POST", draw.choice(METHODS)])
        if draw.random() < 0.5:
            path, method = "/api/v1/parameters", "POST"
        given = path.replace("{name}", draw.choice(["gains", "in", "x", "%20", "%ff", "a/b", "..%2f"]))
        if draw.random() < 0.05:
            given += draw.choice(["/", "?", "?a=b&c", "#", "//", "%2e%2e", "/../.."])
        body = some_body(draw) if method != "GET" or draw.random() < 0.1 else None
        has_token = draw.random() < 0.9
        headers = {"Content_Type": draw.choice(["application/json", "text/plain", "x"])} if body else {}
        reply = port.ask(given, method, body, token=has_token, **headers)
        self.assertLess(reply.status, 500, (given, method, body))
        if method == "HEAD":
            return None
        if not reply.bytes:
            self.assertEqual(reply.status, 400)  # libsoup's, before the path is looked up
            return None
        kind = reply.headers["Content-Type"].partition(";")[0]
        schema = self.described(path, method, reply.status, kind) if given in API["paths"] else None
        if reply.status >= 400:
            schema = {"$ref": "#/components/schemas/Error"}
        elif given in API["paths"]:
            self.assertIsNotNone(schema, (path, method, reply.status, kind))
        if schema is None:
            return None
        return schema, reply.json if kind == "application/json" else reply.bytes.decode(), \
            f"{method} {given} {body}"

    def test_random_requests(self):
        draw = random.Random(SEED)
        port = self.launch(controls.FED, "--quiet")
        with open(self.folder / "replies", "w", encoding="utf-8") as replies:
            for _ in range(REQUESTS):
                asked = self.ask_once(port, draw)
                if asked:
                    print(json.dumps(asked), file=replies)
        self.assertEqual(port.get("state")["state"], "running")
        self.assertEqual(oracles.run(self, JSONSCHEMA, CHECK, PATH, self.folder / "replies"), "")

    def test_schemathesis(self):
        """A program of others makes requests from the description, and checks the replies. It may
        take valid JSON for a valid change, so it does not check that all are accepted."""
        folder = oracles.install(SCHEMATHESIS)
        if not folder:
            self.skipTest(f"{SCHEMATHESIS} can't be installed from a package registry here")
        port = self.launch(controls.FED, "--quiet")
        done = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "run",
             f"http://localhost:{port.port}/openapi.json", "--header",
             f"Authorization: Bearer {port.token}", "--exclude-operation-id", "end",
             "--max-examples", str(max(REQUESTS // 40, 10)), "--seed", str(SEED), "--phases",
             "coverage,fuzzing", "--exclude-checks", "positive_data_acceptance",
             "--suppress-health-check", "all", "--no-shrink", "--warnings", "off"],
            cwd=self.folder, env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True,
            timeout=500)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"\d{2,} generated, \d+ passed")
        self.assertEqual(port.get("state")["state"], "running")

    def test_long_stays(self):
        """Clients that ask too slowly are cut, in the middle of headers and of a body."""
        port = self.launch(controls.FED, "--quiet", address="unix:control")
        begun = [b"", b"GET /api/v1/state HT",
                 b"POST /api/v1/end HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n{}"]
        clients = [port.socket() for _ in begun]
        for one, data in zip(clients, begun):
            one.sendall(data)
        for one in clients:
            reply = one.recv(4096)
            self.assertIn(reply[:12], (b"", b"HTTP/1.1 400", b"HTTP/1.0 400"))
            one.close()
        self.assertEqual(port.get("state")["ending"], False)


if __name__ == "__main__":
    tap.main()
