#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cornerturn plan --capacity`: the bandwidth per station, limited by the busiest resource; and
comparison with runs."""
import json
import subprocess
import unittest

import graphs
import tap

SKY = {"stage": "generate", "type": "ci8", "sample_rate": "20 MHz", "centre_frequency": "150 MHz",
       "samples": 200000, "n_stations": 4, "n_pols": 2, "spiral": "100 m", "noise": 1}
CHAIN = {"filter": {"stage": "fir", "from": "sky", "n_channels": 64, "n_taps": 8},
         "spectra": {"stage": "fft", "from": "filter"},
         "visibilities": {"stage": "correlate", "from": "spectra", "integration": 256},
         "out": {"stage": "discard", "from": "visibilities"}}


class Capacity(graphs.GraphTest):
    def plan(self, stages, *arguments, status=0):
        result = subprocess.run([graphs.COMMAND, "plan", *arguments, self.write(stages)],
                                cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stdout if status == 0 else result.stderr

    def capacity(self, stages, *arguments):
        return json.loads(self.plan(stages, "--capacity", "--json", *arguments))

    def test_the_busiest_decides(self):
        found = self.capacity({"sky": SKY, **CHAIN})
        seconds = max(load["seconds"] for load in found["resources"])
        self.assertEqual(found["seconds"], seconds)
        self.assertAlmostEqual(found["times"] * seconds, 1)
        self.assertEqual([load["name"] for load in found["resources"] if load["seconds"] == seconds],
                         [found["busiest"]])
        self.assertGreater(found["times_without_ends"], found["times"])
        source, = found["sources"]
        self.assertEqual((source["name"], source["stations"], source["megahertz"]), ("sky", 4, 20))
        self.assertAlmostEqual(source["sustained_megahertz"], 20 * found["times"])
        whole = json.loads(self.plan({"sky": SKY, **CHAIN}, "--json"))
        self.assertAlmostEqual(whole["seconds"], seconds)

    def test_stations(self):
        """The work of each station is proportional to its samples; that of correlation grows with
        the number of stations."""
        few, many = (self.capacity({"sky": {**SKY, "n_stations": n}, **CHAIN})
                     for n in (4, 64))
        self.assertLess(16 * many["times"], few["times"])
        self.assertEqual(many["sources"][0]["stations"], 64)

    def test_real_samples_have_half_the_bandwidth(self):
        sky = {**SKY, "type": "i8", "first_frequency": SKY["centre_frequency"]}
        del sky["centre_frequency"]
        source, = self.capacity({"sky": sky, **CHAIN})["sources"]
        self.assertEqual(source["megahertz"], 10)

    def test_subbands_add_up(self):
        stages = {"x": {"stage": "input", "layout": "ci8[time subband station]",
                        "shape": [-1, 5, 3], "sample_rate": "1 MHz"},
                  "y": {"stage": "output", "from": "x"}}
        source, = self.capacity(stages)["sources"]
        self.assertEqual((source["megahertz"], source["stations"]), (5, 3))

    def test_text(self):
        text = self.plan({"sky": SKY, **CHAIN}, "--capacity")
        self.assertRegex(text, r"(?m)^workers +\S+ +\S+$")
        self.assertRegex(text, r"(?m)^\S+ times real time at most, by: ")
        self.assertRegex(text, r"(?m)^'sky': 4 stations of 20 MHz; sustained: \S+ MHz per station")

    def test_no_clock(self):
        message = self.plan({"x": {"stage": "input", "layout": "f32[time]", "shape": [-1]},
                             "y": {"stage": "output", "from": "x"}}, "--capacity", status=1)
        self.assertIn("capacity wants a source with a sample rate, but the graph has none", message)

    def test_a_run_tells_its_rate(self):
        stages = {"sky": SKY, **CHAIN}
        stats = self.run_graph(stages)
        self.assertAlmostEqual(stats["stream_seconds"], 0.01)
        self.assertGreater(stats["running_seconds"], 0)
        text = subprocess.run([graphs.COMMAND, "run", self.write(stages)], cwd=self.folder,
                              capture_output=True, text=True, check=True).stdout
        self.assertRegex(text, r"(?m)^0\.01 s of stream in \S+ s, \S+ times real time; "
                               r"'sky': \S+ MHz per station$")


if __name__ == "__main__":
    tap.main()
