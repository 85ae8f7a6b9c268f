#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tuning from outside: what is measured, kept, skipped, resumed and printed."""
import json
import os
import re
import signal
import subprocess
import time
import unittest

import tap
import tuning
from tuning import COMMAND, FOR_DEVICE, HAS_DEVICE

# There are hundreds of ways to run this graph.
LARGE_GRAPH = """
stages:
  sky: { stage: generate, type: ci8, sample_rate: 1 MHz, n_stations: 2, n_pols: 2, samples: 40000 }
  filter: { stage: fir, from: sky, n_channels: 8, n_taps: 4 }
  spectra: { stage: fft, from: filter }
  visibilities: { stage: correlate, from: spectra, integration: 16 }
  out: { stage: file.sink, from: visibilities, path: %s }
"""


class TuneTest(tuning.TuneTest):
    def measurements(self):
        text = self.run_command("costs", "--export", "-").stdout
        return [line for line in map(json.loads, text.splitlines()) if "stages" in line]

    def counts(self, text):
        found = re.match(r"(\d+) ways of running .* measured, (\d+) repetitions in .*; (\d+) were "
                         r"known", text)
        self.assertIsNotNone(found, text)
        return [int(count) for count in found.groups()]

    def check_measured(self, *arguments):
        measured, repetitions, known = self.counts(self.tune("--no-comparison", *arguments))
        self.assertGreater(measured, 0)
        self.assertGreaterEqual(repetitions, measured)
        self.assertEqual(known, 0)
        rows = self.measurements()
        self.assertEqual(len(rows), measured)
        for row in rows:
            self.assertGreater(row["seconds"], 0, row)
            self.assertGreater(row["spread"], 0, row)
        return rows

    def check_side_by_side(self, *arguments):
        text = self.tune(*arguments)
        table = text.split("\n\n")[2].splitlines()
        self.assertEqual(table[0].split(),
                         ["stage", "variant", "layouts", "default", "untuned", "tuned", "gain"])
        stages = [line.split()[0] for line in table[1:]]
        self.assertTrue({"sums", "powers+sums"} & set(stages), stages)
        self.assertIn("busiest", stages)
        self.assertRegex(text, r"default [\d.]+ ± [\d.]+ ms \(predicted [\d.]+\); untuned .*; tuned ")
        self.assertFalse(self.output.exists())


@unittest.skipUnless(HAS_DEVICE, "no device")
class OnDevice(TuneTest):
    backend = "cuda"

    def test_plan_goes_by_what_was_measured(self):
        # Kernels are compiled for each candidate.
        rows = self.check_measured("--budget", "15 s")
        self.assertTrue(any(row["n_workers"] == 0 for row in rows))

    def test_side_by_side(self):
        self.check_side_by_side("--budget", "5 s")

    @unittest.skipUnless("emulator" in os.environ.get("CORNERTURN_CUDA", ""),
                         "only a small device tells blocks of so few samples apart")
    def test_blocks(self):
        # Its blocks have 1 MiB: 32768 samples of 4 numbers in cf32.
        self.environment["CORNERTURN_EMULATOR_MEMORY"] = str(256 << 20)
        self.graph.write_text(
            "stages:\n"
            "  sky: { stage: generate, type: cf32, sample_rate: 1 MHz, n_stations: 2, n_pols: 2,\n"
            "         samples: 100000, layout: '[time station pol]' }\n"
            "  powers: { stage: power, from: sky, variant: cuda }\n"
            "  sums: { stage: integrate, from: powers, length: 64, variant: cuda }\n"
            "  out: { stage: discard, from: sums }\n", encoding="utf-8")
        plan = "plan", "--backend", "cuda", self.graph
        self.assertIn("\nthe largest block of a firing there: about 1.0 MiB\n",
                      self.run_command(*plan).stdout)
        found = re.search(r"\nblocks on devices of (.*); (\S+ \wiB) from now on\n",
                          self.tune("--no-comparison"))
        sizes = dict(size.split(": ") for size in found.group(1).split(", "))
        self.assertEqual(list(sizes), ["256 KiB", "512 KiB", "1.0 MiB", "2.0 MiB", "4.0 MiB"])
        times = {size: float(text.removesuffix(" ms")) for size, text in sizes.items()}
        near = [size for size in sizes if times[size] <= 1.01 * min(times.values())]
        self.assertEqual(found.group(2), near[0])
        self.assertIn(f"\nthe largest block of a firing there: about {near[0]}, tuned\n",
                      self.run_command(*plan).stdout)
        self.assertRegex(self.run_command("costs").stdout, rf"\n +block [0-9a-f]{{16}} {near[0]}\n")
        # There is no search if the block is known, if it is given, or for another graph.
        self.assertNotIn("blocks on devices", self.tune("--no-comparison"))
        self.assertIn("about 3.0 MiB\n",
                      self.run_command(*plan, "--device-block", "3 MiB").stdout)
        self.assertIn("about 1.0 MiB\n",
                      self.run_command(*plan, "--set", "sky.n_stations=4").stdout)

    @unittest.skipUnless("emulator" in os.environ.get("CORNERTURN_CUDA", ""),
                         "only a small device tells blocks of so few samples apart")
    def test_blocks_that_fail(self):
        self.environment["CORNERTURN_EMULATOR_MEMORY"] = str(256 << 20)
        self.add_plugin("ct-lame.so")
        self.graph.write_text(
            "stages:\n"
            "  sky: { stage: generate, type: cf32, sample_rate: 1 MHz, n_stations: 2, n_pols: 2,\n"
            "         samples: 100000, layout: '[time station pol]' }\n"
            "  x: { stage: lame, from: sky, how: modest }\n"
            "  out: { stage: discard, from: x }\n", encoding="utf-8")
        text = self.tune("--no-comparison")
        for n, size in (65536, "2.0 MiB"), (100000, "4.0 MiB"):
            self.assertRegex(text, rf"(?m)^passed over: blocks of {size}: .*node 'x': wants 40000 "
                                   rf"samples at most, but is given {n}$")
        self.assertIn("\nblocks on devices of 256 KiB: ", text)


@unittest.skipIf(FOR_DEVICE, "needs no device")
class Tune(TuneTest):
    def test_plan_goes_by_what_was_measured(self):
        rows = self.check_measured()
        measured = len(rows)
        self.assertLessEqual({"generate", "power", "integrate"}, {row["stages"] for row in rows})
        # Tuning does not write the graph's files.
        self.assertFalse(self.output.exists())
        # Known costs are not measured again, but other candidates that could win may be.
        again, _, known = self.counts(self.tune("--no-comparison"))
        self.assertGreater(known, 0)
        self.assertEqual(len(self.measurements()), measured + again)

    def test_killed_and_gone_on(self):
        arguments = [COMMAND, "tune", "--no-comparison", "--quiet", "--workers", "2", "--backend",
                     self.backend, str(self.graph)]
        with subprocess.Popen(arguments, env=self.environment, stdout=subprocess.PIPE) as process:
            deadline = time.monotonic() + 60
            while not os.path.exists(self.environment["CORNERTURN_COSTS"]) or \
                    len(self.measurements()) < 5:
                self.assertLess(time.monotonic(), deadline)
                self.assertIsNone(process.poll())
                time.sleep(0.02)
            process.kill()
        kept = {json.dumps([row[key] for key in ("stages", "variant", "layouts", "tuning", "way")])
                for row in self.measurements()}
        measured, _, known = self.counts(self.tune("--no-comparison"))
        self.assertGreater(known, 0)
        everything = {json.dumps([row[key] for key in ("stages", "variant", "layouts", "tuning",
                                                       "way")])
                      for row in self.measurements()}
        self.assertLessEqual(kept, everything)
        # Costs that were kept do not count as measured again.
        self.assertEqual(len(everything), len(kept) + measured)

    def test_interrupt_ends_it_in_order(self):
        self.graph.write_text(LARGE_GRAPH % self.output, encoding="utf-8")
        arguments = [COMMAND, "tune", "--workers", "2", "--backend", self.backend, str(self.graph)]
        with subprocess.Popen(arguments, env=self.environment, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.PIPE) as process:
            deadline = time.monotonic() + 60
            while not os.path.exists(self.environment["CORNERTURN_COSTS"]) or \
                    not self.measurements():
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            text, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertTrue(errors.endswith("interrupted by SIGINT: what was measured is kept\n"), errors)
        self.assertIn("ended before all that decides the plan was measured", text)
        self.assertNotIn("by turns", text)

    def test_budget(self):
        started = time.monotonic()
        text = self.run_command("tune", "--budget", "100 ms", "--no-comparison", "--backend", self.backend,
                                self.graph).stdout
        self.assertLess(time.monotonic() - started, 30)
        self.assertIn("ended before all that decides the plan was measured", text)
        self.assertIn("wants more than nothing",
                      self.run_command("tune", "--budget", "0", self.graph, status=2).stderr)

    def test_failing_is_passed_over(self):
        self.write_failing_graph()
        text = self.tune("--no-comparison")
        self.assertIn("passed over: size refusing ", text)
        self.assertIn("wants to fail in prepare", text)
        failed = [row for row in self.measurements() if row.get("failure")]
        self.assertIn("refusing", {row["variant"] for row in failed})
        plan = self.run_command("plan", "--workers", "2", "--backend", "cpu", self.graph).stdout
        self.assertIn(" accepting ", plan)
        # A failed candidate is not tried again.
        self.assertEqual(self.counts(self.tune("--no-comparison"))[0], 0)

    def test_side_by_side(self):
        self.check_side_by_side()

    def test_costs_that_are_off(self):
        result = self.run_command("tune", "--no-tuning", self.graph, status=1)
        self.assertEqual(result.stderr,
                         "tuning wants a file for what it measures, but costs are off\n")


if __name__ == "__main__":
    tap.main()
