#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The line on a terminal that shows how far a run is."""
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios

import graphs
import tap

ENDLESS = {
    "sky": {"stage": "generate", "sample_rate": "1 MHz", "block": {"time": 4096}},
    "sums": {"stage": "integrate", "from": "sky", "length": 4096},
    "out": {"stage": "file.sink", "from": "sums", "path": "out.npy"},
}
YEAR = 365 * 86400 * 10**6  # samples


class Progress(graphs.GraphTest):
    def lines(self, stages, *arguments, width=200, n=5):
        """The first lines of a run on a terminal of this width, as far as they are complete."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        process = subprocess.Popen(
            [graphs.COMMAND, "run", self.write(stages), "--stats", "none", *arguments],
            cwd=self.folder, stderr=theirs)
        os.close(theirs)
        text = ""
        while text.count("\r") <= n:
            text += os.read(ours, 4096).decode(errors="replace")
        process.send_signal(signal.SIGTERM)
        try:
            while os.read(ours, 4096):
                pass
        except OSError:
            pass  # the terminal has no other end any more
        os.close(ours)
        self.assertEqual(process.wait(100), 143)
        return [line.removeprefix("\033[K") for line in text.split("\r")[1:-1]]

    def check(self, pattern, *arguments, **options):
        for line in self.lines(*arguments, **options):
            self.assertRegex(line, rf"^{pattern}$")

    rate = r"[\d.]+ s of stream, [\d.e+]+ × real time(, queues .*)?"
    bar = r"\[#*-+\] \d+%, (.* left, )?"

    def test_length_is_known(self):
        """By the stream's length, or a duration."""
        finite = {**ENDLESS, "sky": {**ENDLESS["sky"], "samples": YEAR}}
        self.check(self.bar + self.rate, finite)
        self.check(self.bar + self.rate, ENDLESS, "--duration", "1000000 min")

    def test_share(self):
        """The duration counts if it is shorter, otherwise the length."""
        finite = {**ENDLESS, "sky": {**ENDLESS["sky"], "samples": YEAR}}
        for duration in "1000000 s", "1000000000 s":
            line = self.lines(finite, "--duration", duration)[-1]
            shown = int(re.search(r" (\d+)%", line)[1])
            stream = float(re.search(r"([\d.]+) s of stream", line)[1])
            wanted = 100 * stream / min(YEAR / 10**6, float(duration.split()[0]))
            self.assertLess(abs(shown - wanted), 0.6)

    def test_length_is_not_known(self):
        self.check(self.rate, ENDLESS)

    def test_losses(self):
        lossy = {**ENDLESS, "sky": {**ENDLESS["sky"], "invalid": [[0, 0, 1000]]}}
        lines = self.lines(lossy, n=8)
        self.assertRegex(lines[-1], r" × real time, lost sky [\d.e-]+%")

    def test_narrow_terminal(self):
        """A longer line would not be overwritten."""
        for line in self.lines(ENDLESS, "--duration", "1000000 min", width=40):
            self.assertLess(len(line), 40)

    def test_quiet(self):
        done = subprocess.run([graphs.COMMAND, "run", self.write(
            {**ENDLESS, "sky": {**ENDLESS["sky"], "samples": 10000}}), "--quiet"], cwd=self.folder,
            capture_output=True, timeout=100)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))


if __name__ == "__main__":
    tap.main()
