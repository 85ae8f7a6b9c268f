#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A run in a terminal: tmux is the terminal."""
import http.server
import re
import shlex
import shutil
import subprocess
import threading
import time

import controls
import graphs
import tap

COUNTED = {**controls.ENDLESS, "sky": {**controls.ENDLESS["sky"], "invalid": [[0, 0, 1000]]}}


class Top(controls.ControlTest):
    def setUp(self):
        super().setUp()
        if not shutil.which("tmux"):
            self.skipTest("there is no tmux")
        self.n_sessions = 0

    def tmux(self, *arguments, check=True):
        done = subprocess.run(["tmux", "-f", "/dev/null", "-S", str(self.folder / f"tmux{self.n_sessions}"),
                               *arguments],
                              capture_output=True, text=True, timeout=controls.SECONDS, check=check)
        return done.stdout

    def open_top(self, address):
        """The status is shown when it has ended."""
        self.n_sessions += 1
        self.addCleanup(self.tmux, "-S", str(self.folder / f"tmux{self.n_sessions}"), "kill-server", check=False)
        command = f"{shlex.quote(graphs.COMMAND)} top {address}; echo status $?; cat"
        self.tmux("new-session", "-d", "-x", "120", "-y", "30", "-c", str(self.folder), command)

    def screen_with(self, pattern):
        until = time.monotonic() + controls.SECONDS
        while not re.search(pattern, shown := self.tmux("capture-pane", "-p"), re.M):
            self.assertLess(time.monotonic(), until, shown)
            time.sleep(0.05)
        return shown

    def test_run(self):
        for address in "unix:control", "tcp:localhost:0", "tcp:[::1]:0":
            with self.subTest(address):
                port = self.launch(COUNTED, address=address)
                self.open_top(address.replace(":0", f":{port.port}") if port.path is None else address)
                # In the second statistics the rates are those of a second.
                shown = self.screen_with(r"^gains +\S+ +\d*[1-9]\d*\.\d+ ")
                self.assertRegex(shown, r"^graph\.yaml: running, [\d.]+ s of stream, \S+ × real time, \d+ workers")
                self.assertRegex(shown, r"(?m)^sky .*\] +invalid 1000( |$)")
                self.assertEqual(re.findall(r"(?m)^(\w+) .*\[[ #]{10}\]", shown), ["sky", "gains", "sums", "out"])
                self.tmux("send-keys", "q")
                self.screen_with(r"^status 0$")
                self.assertEqual(port.get("state")["state"], "running")
                self.end(port)

    def test_end_of_the_run(self):
        port = self.launch(controls.ENDLESS, address="unix:control")
        self.open_top("unix:control")
        self.screen_with("^gains ")
        self.end(port)
        self.assertIn("unix:control: the run has ended", self.screen_with(r"^status 0$"))

    def test_odd_statistics(self):
        """Of a program that is no run."""
        replies = [b"", b"[]", b"{}", b"\xff", b'{"nodes": 5}', b'{"nodes": [5, {"name": 7}, null, {"counters": [1]}]}',
                   b'{"state": {}, "nodes": [{"name": "a\\u001b[2Jb", "counters": {"x": "y", "z": {}}}]}']
        for text in replies:
            with self.subTest(text):
                self.serve(text)
                self.open_top(f"tcp:localhost:{self.server.server_port}")
                is_object = text[:1] == b"{"
                self.screen_with("^q ends" if is_object else "^status 1$")

    def serve(self, text):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        threading.Thread(target=self.server.serve_forever).start()

    def test_errors(self):
        for address, status, message in [("unix:missing", 1, "No such file"), ("tcp:localhost:1", 1, "refused"),
                                         ("tcp:example.org:80", 1, "ADDRESS wants unix:PATH"),
                                         ("", 2, "wants ADDRESS")]:
            self.open_top(address)
            self.assertIn(message, self.screen_with(rf"^status {status}$"))

    def test_no_terminal(self):
        done = subprocess.run([graphs.COMMAND, "top", "unix:control"], capture_output=True, text=True,
                              timeout=controls.SECONDS)
        self.assertEqual((done.returncode, done.stderr), (1, "top wants a terminal\n"))


if __name__ == "__main__":
    tap.main()
