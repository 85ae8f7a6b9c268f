#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The keys `start` and `stop` of a graph: every source gives the samples of this part of the time."""
import fractions
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy

import tap

COMMAND = os.environ["CORNERTURN"]
NOON = "2026-11-23T12:00:00"
HEAD = f'observation: {{ start: "{NOON}Z" }}\n'
# 0.3 samples per microsecond: ticks are no round decimal fractions of a second.
SKY = """stages:
  sky: {{ stage: generate, type: ci8, sample_rate: 300 kHz, samples: 3000, start: 30, n_stations: 2{more} }}
  out: {{ stage: file.sink, from: sky, path: {path} }}
"""


class Part(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name).resolve()

    def command(self, *arguments, graph):
        (self.root / "g.yaml").write_text(graph)
        return subprocess.run([COMMAND, *arguments, "g.yaml"], capture_output=True, text=True,
                              check=False, timeout=60, cwd=self.root)

    def run_graph(self, graph, *options):
        result = self.command("run", *options, graph=graph)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr

    def result(self, name):
        array = numpy.load(self.root / name)
        return array, json.loads((self.root / f"{name}.json").read_text())

    def refused(self, message, graph):
        result = self.command("check", graph=graph)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn(message, result.stderr)
        self.assertRegex(result.stderr, r"^\S*g\.yaml:\d+:\d+: ")

    @staticmethod
    def keys(start=None, stop=None):
        return "".join(f'{key}: "{NOON}.{digits}Z"\n' for key, digits in
                       (("start", start), ("stop", stop)) if digits)

    def first_at(self, digits, rate=300000):
        """The first tick that is not before the fraction of a second after noon."""
        exact = fractions.Fraction(int(digits), 10 ** len(digits)) * rate
        return -(-exact.numerator // exact.denominator)

    def test_samples(self):
        """Generated samples depend on their ticks alone; those of a file on their places."""
        self.run_graph(HEAD + SKY.format(path="all.npy", more=", invalid: [[1, 600, 100]]"))
        everything, whole = self.result("all.npy")
        self.assertEqual(whole["start"], 30)
        read = "stages:\n  x: { stage: file.source, path: all.npy }\n" \
               "  out: { stage: file.sink, from: x, path: part.npy }\n"
        made = SKY.format(path="part.npy", more=", invalid: [[1, 600, 100]]")
        cases = (("0005", None), (None, "005"), ("00099999999999999", "0078"), ("001", "001000001"),
                 ("001000000000000001", "0013333333"), ("0020001", "0099"))
        for start, stop in cases:
            begin = max(self.first_at(start), 30) if start else 30
            end = min(self.first_at(stop), 3030) if stop else 3030
            for name, graph, options in (
                    ("read", read, ()), ("made", made, ()),
                    ("cut", read, ("--set", "x.block={time: 7}")),
                    ("plain", made, ("--backend", "reference")),
                    ("plainly read", read, ("--backend", "reference"))):
                with self.subTest(start=start, stop=stop, source=name):
                    head = self.keys(start, stop) + (HEAD if name in ("made", "plain") else "")
                    self.run_graph(head + graph, *options)
                    array, about = self.result("part.npy")
                    numpy.testing.assert_array_equal(array, everything[begin - 30:end - 30])
                    self.assertEqual(about["start"], begin)
                    self.assertEqual(about["epoch"], whole["epoch"])
                    lost = max(0, min(end, 700) - max(begin, 600))
                    self.assertEqual(about["validity"]["invalid_samples"] or [0, 0], [0, lost])

    def test_rates(self):
        """Ticks that are no whole fractions of a second, and samples of several ticks."""
        graph = HEAD + """stages:
  sky: { stage: generate, type: cf32, sample_rate: 1 MHz/3, samples: 6000 }
  sums: { stage: integrate, from: sky, length: 7 }
  out: { stage: file.sink, from: %s, path: %s.npy }
"""
        self.run_graph(graph % ("sums", "sums"))
        self.run_graph(graph % ("sky", "sky"))
        for name, ticks in (("sky", 1), ("sums", 7)):
            everything = self.result(f"{name}.npy")[0]
            for digits in ("001", "0060000000001", "015", "01500299999999999"):
                begin = -(-self.first_at(digits, fractions.Fraction(10 ** 6, 3)) // ticks)
                self.run_graph(self.keys(digits) + "stages:\n  x: { stage: file.source, path: "
                               f"{name}.npy }}\n  out: {{ stage: file.sink, from: x, path: part.npy }}\n")
                array, about = self.result("part.npy")
                numpy.testing.assert_array_equal(array, everything[begin:])
                self.assertEqual(about["start"], begin * ticks)

    def test_several_files(self):
        """A part goes over the boundary of two files, or misses one of them."""
        for name, first in (("a", 30), ("b", 1230)):
            self.run_graph(HEAD + SKY.format(path=f"{name}.npy", more="").replace(
                "samples: 3000, start: 30", f"samples: 1000, start: {first}"))
        both = [self.result(f"{name}.npy")[0] for name in "ab"]
        graph = "stages:\n  x: { stage: file.source, path: [a.npy, b.npy] }\n" \
                "  out: { stage: file.sink, from: x, path: part.npy }\n"
        self.run_graph(self.keys("003", "005") + graph)
        array, about = self.result("part.npy")
        self.assertEqual((about["start"], about["validity"]["invalid_samples"]), (900, [200]))
        numpy.testing.assert_array_equal(array[:130], both[0][870:])
        numpy.testing.assert_array_equal(array[330:], both[1][:270])
        self.run_graph(self.keys("0042") + graph)
        numpy.testing.assert_array_equal(self.result("part.npy")[0], both[1][30:])

    def test_endless(self):
        """A stream of unknown length ends at `stop`."""
        graph = SKY.format(path="part.npy", more="").replace("samples: 3000, ", "")
        self.run_graph(HEAD + self.keys("001", "0015") + graph)
        array, about = self.result("part.npy")
        self.assertEqual((len(array), about["start"]), (150, 300))

    def test_static(self):
        """What feeds only static inputs is in effect from its own ticks on: it is not cut."""
        numpy.save(self.root / "gains.npy", numpy.array([[2], [3], [5]], "c8"))
        graph = HEAD + SKY.format(path="part.npy", more="").replace("from: sky", "from: gained").replace(
            "type: ci8", "type: cf32") + """
  table: { stage: file.source, path: gains.npy, layout: "cf32[time station]", sample_rate: 300 Hz }
  gained: { stage: gains, from: { in: sky, gains: table } }
"""
        numpy.save(self.root / "gains.npy", numpy.array([[2, 2], [3, 3], [5, 5]], "c8"))
        self.run_graph(graph.replace("part.npy", "all.npy"))
        self.run_graph(self.keys("005", "009") + graph)
        everything = self.result("all.npy")[0]
        numpy.testing.assert_array_equal(self.result("part.npy")[0], everything[1470:2670])

    def test_check(self):
        """`check` tells of both ends of every stream."""
        result = self.command("check", graph=HEAD + self.keys("001", "002") + SKY.format(path="o.npy", more=""))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn(f"    300 kHz samples, 1 ms from {NOON}.001000000Z to {NOON}.002000000Z",
                      result.stdout)

    def test_beyond(self):
        """A stream that is shorter than the part keeps its ends, and a warning says so."""
        sky = SKY.format(path="o.npy", more="")
        result = self.command("check", graph=HEAD + f'start: "{NOON}Z"\nstop: "{NOON}.1Z"\n' + sky)
        self.assertEqual(result.returncode, 0)
        self.assertIn("g.yaml:2:8: node 'sky': warning: 'start' has no effect on its stream, which "
                      f"begins later, at {NOON}.000100000Z", result.stderr)
        self.assertIn("g.yaml:3:7: node 'sky': warning: 'stop' has no effect on its stream, which "
                      f"ends earlier, at {NOON}.010100000Z", result.stderr)
        # No sample is missing between `start` and the first one.
        result = self.command("check", graph=HEAD + f'start: "{NOON}.000099Z"\n' + sky)
        self.assertEqual(result.stderr, "")

    def test_errors(self):
        sky = SKY.format(path="o.npy", more="")
        self.refused("'start' wants a stream whose UTC is known, but that of 'sky' is not",
                     self.keys("1") + sky)
        for text in ("yesterday", "2026-11-23T12:00:00.1234567890123456789Z", "-1.5", ".5",
                     "2026-13-01T00:00:00.5Z"):
            self.refused("key 'start': wants a time as 2022-06-29T01:30:00.5Z, of 18 decimals at "
                         f"most, but is given '{text}'", HEAD + f'start: "{text}"\n' + sky)
        self.refused("key 'stop': wants a second from 00 to 59, for clocks count Unix time, which "
                     "has no leap seconds, but is given '2016-12-31T23:59:60.5Z'",
                     HEAD + 'stop: "2016-12-31T23:59:60.5Z"\n' + sky)
        self.refused(f"key 'stop': wants a time after 'start', {NOON}.002Z, but is given "
                     f"'{NOON}.002Z'", HEAD + self.keys("002", "002") + sky)
        self.refused("g.yaml:2:8: node 'sky': 'start' wants a time before the end of the stream of "
                     f"'sky', at {NOON}.010100000Z, but is given '{NOON}.0101Z'",
                     HEAD + self.keys("0101") + sky)
        self.refused("node 'sky': 'stop' wants a time after the beginning of the stream of 'sky', at "
                     f"{NOON}.000100000Z, but is given '{NOON}.0001Z'", HEAD + self.keys(None, "0001") + sky)
        self.refused("and no sample is between them", HEAD + self.keys("0050001", "0050002") + sky)
        self.refused("'start' wants a time as \"2026-11-23T12:00:00Z\", but is given a list",
                     HEAD + "start: [1]\n" + sky)
        self.refused("'start' wants sources that can begin and end at any sample, but 'input' can't",
                     HEAD + self.keys("1") + "stages:\n  x: { stage: input, layout: \"cf32[time]\", "
                     "shape: [-1], sample_rate: 1 MHz }\n  y: { stage: output, from: x }\n")

    def test_unix_seconds(self):
        """A number is Unix seconds, with a fraction too."""
        self.run_graph(HEAD + "start: 1795435200.002\n" + SKY.format(path="o.npy", more=""))
        self.assertEqual(self.result("o.npy")[1]["start"], 600)


if __name__ == "__main__":
    tap.main()
