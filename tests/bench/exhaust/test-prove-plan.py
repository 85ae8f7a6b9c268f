#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of prove-plan on small graphs: whether tuned plans are the best, and whether the costs of
reading and of writing are independent."""
import math
import os
import re
import subprocess
import unittest

import tap
import tuning
from tuning import FOR_DEVICE, HAS_DEVICE

PROGRAM = os.environ["CORNERTURN_PROVE_PLAN"]

# The layouts are free, and no node runs with another in one.
FREE_GRAPH = """
stages:
  sky: { stage: generate, type: ci8, sample_rate: 1 MHz, n_stations: 2, n_pols: 2, samples: 40000 }
  filter: { stage: fir, from: sky, n_channels: 8, n_taps: 4 }
  powers: { stage: power, from: filter }
  out: { stage: file.sink, from: powers, path: %s }
"""


class ProveTest(tuning.TuneTest):
    def prove(self, *arguments):
        result = subprocess.run([PROGRAM, "--quick", "--workers", "2", "--backend", self.backend,
                                 *arguments, str(self.graph)],
                                capture_output=True, text=True, check=False, env=self.environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def exhaust(self, budget=None):
        """The numbers of combinations, and the last table, the fastest first. `budget`: seconds for
        tuning, and again for the proof."""
        self.tune("--no-comparison", *(["--budget", f"{budget} s"] if budget else []))
        text = self.prove(*(["--budget", str(budget)] if budget else []))
        head = re.search(r"combinations: ([\d,]+) of layouts and places, ([\d,]+) with each "
                         r"variant, ([\d,]+) that differ", text)
        self.assertIsNotNone(head, text)
        table = [line.split()[:5] for line in text.split("\n\n")[-2].splitlines()[1:]]
        return text, [int(count.replace(",", "")) for count in head.groups()], table

    @staticmethod
    def n_run(text):
        return int(re.search(r"([\d,]+) ran in", text).group(1).replace(",", ""))

    def n_explained(self):
        """The number of combinations with each variant, according to the explained plan."""
        text = self.run_command("plan", "--explain", "--workers", "2", "--backend", self.backend,
                                self.graph).stdout
        number = int(re.search(r"([\d,]+) with each variant", text).group(1).replace(",", ""))
        # Ways over several nodes are printed at each of them, if they are printed at all.
        if "stage: fir" not in self.graph.read_text(encoding="utf-8"):
            ways = re.findall(r"(?m)^[\w]+: (\d+) ways?$", text)
            self.assertEqual(number, math.prod(map(int, ways)))
        return number

    def check_exhaustion(self, budget=None):
        text, counts, table = self.exhaust(budget)
        self.assertEqual(counts[1], self.n_explained())
        self.assertLessEqual(counts[0], counts[1])
        self.assertLessEqual(counts[2], counts[1])
        names = [row[0] for row in table]
        milliseconds = [float(row[1]) for row in table]
        self.assertIn("tuned", names)
        self.assertGreater(len(names), 2)
        self.assertEqual(milliseconds, sorted(milliseconds))
        self.assertEqual(table[names.index("tuned")][4], "1.000")
        self.assertRegex(text, r"\ntuned takes [\d.]+ ± [\d.]+ of the fastest of the others, in 6 ")
        self.assertLessEqual(self.n_run(text), counts[2])
        return text


@unittest.skipUnless(HAS_DEVICE, "no device")
class OnDevice(ProveTest):
    backend = "cuda"

    def test_exhaustive(self):
        # On the emulator, most of the time goes to compilers.
        self.graph.write_text(
            "stages:\n"
            "  sky: { stage: generate, type: ci8, sample_rate: 1 MHz, n_stations: 2, n_pols: 2,\n"
            "         samples: 20000, backend: reference }\n"
            "  filter: { stage: fir, from: sky, n_channels: 8, n_taps: 2 }\n"
            "  spectra: { stage: fft, from: filter }\n"
            "  powers: { stage: power, from: spectra }\n", encoding="utf-8")
        text = self.check_exhaustion(15)
        self.assertRegex(text, r"tuned is sky reference -> .*, (filter|filter\+spectra(?:\+powers)?) \S*cuda ")


@unittest.skipIf(FOR_DEVICE, "needs no device")
class OnHost(ProveTest):
    def test_exhaustive(self):
        self.graph.write_text(FREE_GRAPH % self.output, encoding="utf-8")
        text = self.check_exhaustion()
        self.assertRegex(text, r"take less than [\d.]+ ms: all of these\.")
        self.assertNotIn("their estimates stand for them", text)
        self.assertFalse(self.output.exists())

    def test_exhaustive_runs_everything(self):
        # There are so few combinations that none is left.
        self.graph.write_text(
            "stages:\n"
            "  sky: { stage: generate, type: cf32, sample_rate: 1 MHz, n_stations: 2, n_pols: 1,\n"
            "         samples: 40000, backend: cpu }\n"
            "  powers: { stage: power, from: sky, backend: reference }\n"
            "  end: { stage: discard, from: powers, backend: reference }\n", encoding="utf-8")
        text, counts, table = self.exhaust()
        self.assertEqual(counts[1], self.n_explained())
        self.assertEqual(self.n_run(text), counts[2])
        self.assertIn("Nothing is left that did not run.", text)
        self.assertEqual(len(table), min(counts[2], 5))

    def test_exhaustive_over_its_budget(self):
        self.graph.write_text(FREE_GRAPH % self.output, encoding="utf-8")
        text, _, _ = self.exhaust(0.02)
        self.assertRegex(text, r"\d+ of the ways to run a stage did not run: their estimates stand")
        self.assertRegex(text, r"The parts of all that did not run take [\d.]+ ms or more")

    def test_exhaustive_passes_over_what_fails(self):
        self.write_failing_graph()
        text, counts, _ = self.exhaust()
        self.assertIn("passed over: size refusing: ", text)
        self.assertIn("wants to fail in prepare", text)
        failing = re.search(r"([\d,]+) combinations have one of these", text).group(1)
        self.assertEqual(int(failing.replace(",", "")) * 2, counts[2])

    def test_independence(self):
        self.graph.write_text(
            "stages:\n"
            "  sky: { stage: generate, type: cf32, sample_rate: 1 MHz, centre_frequency: 150 MHz,\n"
            "         n_stations: 4, n_pols: 2, spiral: 100 m, samples: 20000 }\n"
            "  spectra: { stage: fft, from: sky, axis: time, length: 16 }\n"
            "  weights: { stage: pointing, from: spectra, spiral: 100 m, disk: 0.1, n_beams: 3 }\n"
            "  beams: { stage: beamform, from: { voltages: spectra, weights: weights } }\n"
            "  end: { stage: discard, from: beams }\n", encoding="utf-8")
        text = self.prove("--independence")
        self.assertRegex(text, r"beams cpu\S*: \d+ pairs of \d+ ways to read and \d+ to write; "
                               r"a\(in\) \+ b\(out\) is off by [\d.]+% in the mean square, by "
                               r"[-+][\d.]+% at most .*: (fails for \d+ pairs|holds)\n")


if __name__ == "__main__":
    tap.main()
