#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The language of graphs, from end to end: a graph with parameters, an included file and copies gives
what the same graph gives that is written out, and PATH.json has all of its text."""
import json
import subprocess
import unittest

import numpy

import graphs
import tap

BANK = """\
parameters:
  n_channels: 16
  taps: ${here}/taps-${n_channels}.npy
stages:
  filter: { stage: fir, from: sky, n_channels: "${n_channels}", n_taps: 4, coefficients: "${taps}" }
  spectra: { stage: fft, from: filter }
"""
GRAPH = """\
description: Powers of ${n} stations
parameters:
  n: 3
  rate: 1 MHz
  positions: [[0, 0, 0], [10 m, 0, 0], [0, 20 m, 0]]
include: { file: parts/bank.yaml, parameters: { n_channels: "${2 ** 3}" } }
stages:
  sky: &sky
    stage: generate
    sample_rate: ${rate}
    centre_frequency: ${rate * 100}
    samples: ${rate * 4.096 ms}
    noise: 1
    positions: ${positions}
  replicate:
    over: ${n}
    as: station
    stages:
      one: { stage: select, from: spectra, station: "${station}" }
      power: { stage: power, from: one }
      out: { stage: file.sink, from: power, path: "power-${station}.npy" }
  all: { stage: stack, from: power-*, axis: station }
  sum: { stage: file.sink, from: all, path: all.npy }
"""
PLAIN = """\
stages:
  sky: { stage: generate, sample_rate: 1 MHz, centre_frequency: 100 MHz, samples: 4096, noise: 1,
         positions: [[0, 0, 0], [10 m, 0, 0], [0, 20 m, 0]] }
  filter: { stage: fir, from: sky, n_channels: 8, n_taps: 4, coefficients: parts/taps-8.npy }
  spectra: { stage: fft, from: filter }
  power: { stage: power, from: spectra }
  out: { stage: file.sink, from: power, path: plain.npy }
"""


class Language(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        (self.folder / "parts").mkdir()
        (self.folder / "parts" / "bank.yaml").write_text(BANK, encoding="utf-8")
        (self.folder / "g.yaml").write_text(GRAPH, encoding="utf-8")
        numpy.save(self.folder / "parts" / "taps-8.npy",
                   numpy.random.default_rng(1).normal(size=(4, 8)).astype("f4"))

    def command(self, *arguments):
        return subprocess.run([graphs.COMMAND, *arguments], cwd=self.folder, capture_output=True, text=True,
                              timeout=60)

    def test_results(self):
        (self.folder / "plain.yaml").write_text(PLAIN, encoding="utf-8")
        for name in "g.yaml", "plain.yaml":
            done = self.command("run", name, "--quiet", "--strict")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        plain = numpy.load(self.folder / "plain.npy")
        self.assertGreater(plain.size, 0)
        numpy.testing.assert_array_equal(numpy.load(self.folder / "all.npy"), plain)
        axes = json.loads((self.folder / "plain.npy.json").read_text(encoding="utf-8"))["axes"]
        station = [axis["name"] for axis in axes].index("station")
        for s in range(3):
            one = numpy.load(self.folder / f"power-{s}.npy")
            numpy.testing.assert_array_equal(one, plain.take([s], axis=station))

    def test_text_beside_the_result(self):
        done = self.command("run", "g.yaml", "--quiet", "--set", "n=1", "--set", "out-*.path=x.npy")
        self.assertEqual(done.returncode, 0, done.stderr)
        beside = json.loads((self.folder / "x.npy.json").read_text(encoding="utf-8"))["origin"]
        self.assertEqual(beside["graph"], f"{GRAPH}\n--- # parts/bank.yaml\n{BANK}")
        self.assertEqual(beside["set"], ["n=1", "out-*.path=x.npy"])

    def test_check(self):
        done = self.command("check", "g.yaml")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("Powers of 3 stations\n\nsky: generate\n"))

    def test_files_of_the_graph_are_not_written(self):
        done = self.command("check", "g.yaml", "--set", "sum.path=parts/bank.yaml", "--set", "sum.format=npy")
        self.assertEqual(done.returncode, 1)
        self.assertIn("would write 'parts/bank.yaml', from which the graph is read", done.stderr)

    def test_a_parameter_without_a_value(self):
        text = GRAPH.replace("  n: 3\n", "  n:\n")
        (self.folder / "g.yaml").write_text(text, encoding="utf-8")
        done = self.command("check", "g.yaml")
        self.assertEqual(done.returncode, 1)
        self.assertIn("parameter 'n' has no value: --set n=… gives it one", done.stderr)
        done = self.command("check", "g.yaml", "--set", "n=2")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_an_error_says_where_its_value_came_from(self):
        done = self.command("check", "g.yaml", "--set", "rate=3 MHz")
        self.assertEqual((done.returncode, done.stdout), (0, done.stdout), done.stderr)
        done = self.command("check", "g.yaml", "--set", "rate=3.0001 MHz")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "g.yaml:12:14: node 'sky': parameter 'samples': wants an integer, 0 "
                         "or more, but is given '12288.4096' (from '${rate * 4.096 ms}')\n")


if __name__ == "__main__":
    tap.main()
