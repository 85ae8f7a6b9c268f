#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of samples that a graph gives as times."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np

import tap

COMMAND = os.environ["CORNERTURN"]
SKY = """stages:
  sky: { stage: generate, sample_rate: 20 MHz, samples: 40960, n_stations: 2 }
  spectra: { stage: fft, from: sky, axis: time, length: 512 }
"""
INTEGRATE = ("integrate", "length")
CORRELATE = ("correlate", "integration")


class Times(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name).resolve()

    def command(self, *arguments):
        return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False,
                              timeout=60, cwd=self.root)

    def write(self, stage, param, value, more="", source="spectra"):
        (self.root / "g.yaml").write_text(
            SKY + f"  y: {{ stage: {stage}, from: {source}, {param}: {value}{more} }}\n"
            "  out: { stage: file.sink, from: y, path: out.npy }\n"
            "  rest: { stage: discard, from: spectra }\n")

    def array(self, *arguments):
        self.write(*arguments)
        result = self.command("run", "--strict", "--quiet", "g.yaml")
        self.assertEqual(result.returncode, 0, result.stderr)
        return np.load(self.root / "out.npy")

    def test_same(self):
        """A time is the number of samples at the rate of the stream that comes in."""
        for stage, param in (INTEGRATE, CORRELATE):
            for time, n in (("1.024 ms", 40), ("256 us", 10), ("0.0000256 s", 1)):
                with self.subTest(stage=stage, time=time):
                    got = self.array(stage, param, time)
                    self.assertEqual(len(got), -(-80 // n))
                    np.testing.assert_array_equal(got, self.array(stage, param, n))

    def test_other_rate(self):
        """The same time is another number of samples before the transform."""
        self.assertEqual(len(self.array(*CORRELATE, "1.024 ms", "", "sky")), 2)

    def test_errors(self):
        for (stage, param), value, more, message in (
                (INTEGRATE, "1 ms", "", "node 'y': parameter 'length': wants a whole number of samples "
                 "at 39.0625 kHz, but is given 1 ms, 39.0625 samples: the nearest are 39 (998.4 us) "
                 "and 40 (1.024 ms)"),
                (CORRELATE, "1 ms", "", "node 'y': parameter 'integration': wants a whole number"),
                (INTEGRATE, "1 MHz", "", "node 'y': parameter 'length': wants an integer from 1 to "
                 "4294967295, or a time such as '1 ms', but is given '1 MHz'"),
                (INTEGRATE, "25.6 us", ", axis: channel", "node 'y': parameter 'length': wants a "
                 "number of elements along 'channel', but is given a time")):
            with self.subTest(message):
                self.write(stage, param, value, more)
                result = self.command("check", "g.yaml")
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stderr, r"^g\.yaml:4:\d+: ")
                self.assertIn(message, result.stderr)

    def test_inspect(self):
        for stage, param in (INTEGRATE, CORRELATE):
            self.assertIn(f"  {param}  an integer from 1 to 4294967295, or a time such as '1 ms'; "
                          "required", self.command("inspect", stage).stdout)


if __name__ == "__main__":
    tap.main()
