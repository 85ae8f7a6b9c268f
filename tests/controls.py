# SPDX-License-Identifier: BSD-3-Clause
"""Runs graphs with a control port, and asks it."""
import contextlib
import http.client
import json
import re
import socket
import subprocess
import threading
import time

import numpy as np

import graphs

SECONDS = 100  # the longest wait of a test
# A graph without an end, which writes few bytes.
ENDLESS = {
    "sky": {"stage": "generate", "type": "cf32", "sample_rate": "1 MHz", "n_stations": 3, "n_pols": 2,
            "noise": 1, "block": {"time": 4096}},
    "gains": {"stage": "gains", "from": "sky", "gain": 1},
    "sums": {"stage": "integrate", "from": "gains", "length": 4096},
    "out": {"stage": "file.sink", "from": "sums", "path": "sums.npy"},
}
WIDTH = 6  # samples of time step of what FED reads
# A graph that the test feeds, so that it goes no further than the test wants.
FED = {
    "in": {"stage": "file.source", "path": "-", "format": "raw", "layout": "f32[time station]",
           "shape": [-1, WIDTH], "sample_rate": 1000, "epoch": "2026-11-28T00:00:00Z",
           "block": {"time": 100}},
    "gains": {"stage": "gains", "from": "in", "gain": 1},
    "out": {"stage": "file.sink", "from": "gains", "path": "out.raw"},
}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=SECONDS)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(str(self.path))  # waits where the queue of clients is full
        self.sock.settimeout(SECONDS)


class Reply:
    def __init__(self, reply):
        self.status = reply.status
        self.headers = reply.headers
        self.bytes = reply.read()

    @property
    def json(self):
        return json.loads(self.bytes)


class Port:
    """The port of a run; `token` is what changes need."""

    def __init__(self, process, line):
        self.process = process
        where, token = re.fullmatch(r"control port: (\S+?)(?:, token in (.*))?\n", line).groups()
        self.path = where.removeprefix("unix:") if where.startswith("unix:") else None
        self.host, _, self.port = where.removeprefix("http://").rpartition(":")
        self.token_path = token
        self.token = None

    def connect(self):
        if self.path:
            return UnixConnection(self.folder / self.path)
        return http.client.HTTPConnection(self.host.strip("[]"), int(self.port), timeout=SECONDS)

    def socket(self):
        connection = self.connect()
        connection.connect()
        return connection.sock

    def ask(self, path, method="GET", body=None, token=True, **headers):
        """`headers` have _ in place of -."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if token and self.token and method == "POST":
            given["Authorization"] = f"Bearer {self.token if token is True else token}"
        with contextlib.closing(self.connect()) as one:
            one.request(method, path, body if body is None or isinstance(body, (bytes, str))
                        else json.dumps(body), given)
            return Reply(one.getresponse())

    def get(self, name):
        reply = self.ask(f"/api/v1/{name}")
        assert reply.status == 200, reply.bytes
        return reply.json

    def set(self, assignment, **when):
        return self.ask("/api/v1/parameters", "POST", {"assignment": assignment, **when})


class ControlTest(graphs.GraphTest):
    def launch(self, stages, *arguments, address="tcp:localhost:0", **options):
        """Starts a run with a control port; returns it once it is open."""
        process = subprocess.Popen(
            [graphs.COMMAND, "run", self.write(stages), "--stats", "json", "--control", address,
             *arguments], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, **options)
        self.addCleanup(self.stop, process)
        line = process.stderr.readline().decode()
        self.assertRegex(line, "^control port: ")
        port = Port(process, line)
        port.folder = self.folder
        if port.token_path:
            port.token = (self.folder / port.token_path).read_text().strip()
        return port

    def stop(self, process):
        process.kill()
        process.wait()
        for pipe in process.stdin, process.stdout, process.stderr:
            pipe.close()

    def finish(self, port):
        """Waits for the end of the run; returns its status, statistics and messages."""
        output, errors = port.process.communicate(timeout=SECONDS)
        return port.process.returncode, json.loads(output), errors.decode()

    def end(self, port):
        self.assertEqual(port.ask("/api/v1/end", "POST").status, 202)
        status, stats, errors = self.finish(port)
        self.assertEqual(status, 143, errors)
        self.assertEqual(stats["state"], "interrupted")

    def wait_until(self, port, condition):
        """Waits until the statistics fulfil a condition; returns them."""
        until = time.monotonic() + SECONDS
        while True:
            stats = port.get("statistics")
            if condition(stats):
                return stats
            self.assertLess(time.monotonic(), until, stats)
            time.sleep(0.02)


def node(stats, name):
    return next(one for one in stats["nodes"] if one["name"] == name)


def samples(n, begin=0):
    """Rows of time for FED, all different."""
    return (np.arange(begin * WIDTH, (begin + n) * WIDTH) % 1021 + 1).astype(np.float32)


def in_threads(n, function):
    """Calls it n times at once with the numbers from 0; returns the results in order."""
    results = [None] * n

    def call(i):
        results[i] = function(i)
    threads = [threading.Thread(target=call, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
