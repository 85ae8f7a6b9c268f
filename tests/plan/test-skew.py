#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ways that part and meet again, one of them late: graphs end with all options, plans explain the
rings, and a graph that stands still says which node waits for which."""
import json
import os
import subprocess

import numpy

import graphs
import pipeline
import tap

DIAMOND = os.path.join(os.environ["CORNERTURN_TEST_PLUGINS"], "diamond")
OPTIONS = ((), ("--cache", "1"), ("--cache", "1 MiB"), ("--workers", "1"), ("--workers", "3"),
           ("--default-layouts",), ("--backend", "reference"))


def sky(rate, samples, stations=1, **more):
    return {"stage": "generate", "type": "cf32", "sample_rate": rate, "samples": samples,
            "centre_frequency": "150 MHz", "n_stations": stations, "n_pols": 1, "noise": 1, **more}


def joined(source, *delays):
    """A source, stacked with copies of it that have these delays."""
    return {"sky": source,
            "late": {"stage": "delay", "from": "sky", "constant": list(delays)},
            "both": {"stage": "stack", "from": ["sky", "late"], "axis": "station"},
            "out": {"stage": "discard", "from": "both"}}


class Skew(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        path = os.environ["CORNERTURN_PLUGIN_PATH"]
        self.environment = {**os.environ, "CORNERTURN_PLUGIN_PATH": f"{path}:{DIAMOND}"}

    def command(self, stages, *arguments):
        return subprocess.run([graphs.COMMAND, *arguments, self.write(stages)], cwd=self.folder,
                              capture_output=True, text=True, timeout=120, env=self.environment,
                              check=False)

    def run_all(self, stages, options=OPTIONS):
        for some in options:
            with self.subTest(options=some):
                done = self.command(stages, "run", "--quiet", *some)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def rings(self, stages, *arguments):
        done = self.command(stages, "plan", "--json", "--backend", "cpu", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        plan = json.loads(done.stdout)
        return {plan["nodes"][link["writer"]]["name"]: link for link in plan["links"]}

    def test_flagged_by_own_sums(self):
        """Samples wait for the sum of 1,000 of them; a firing takes many samples and few sums."""
        stages = {"sky": sky("1 MHz", 300000),
                  "powers": {"stage": "power", "from": "sky"},
                  "sums": {"stage": "integrate", "from": "powers", "length": 1000},
                  "clean": {"stage": "flag", "from": {"in": "sky", "statistic": "sums"},
                            "upper": 3000},
                  "out": {"stage": "discard", "from": "clean"}}
        self.run_all(stages)
        rings = self.rings(stages)
        self.assertEqual(rings["clean"]["max_samples"], rings["sky"]["max_samples"])
        self.assertGreater(rings["clean"]["max_samples"], 1000)
        self.assertLess(rings["sums"]["capacity"], 4 * rings["sums"]["max_samples"])
        rings = self.rings(stages, "--cache", "1")
        self.assertGreaterEqual(rings["sky"]["capacity"], 1000)

    def test_long_delay(self):
        self.run_all(joined(sky("1 MHz", 600000), "400 ms"), ((), ("--cache", "64 KiB")))

    def test_many_stations(self):
        self.run_all(joined(sky("200 MHz", 30000, 32), *32 * ["50 us"]), ((), ("--cache", "64 KiB")))

    def test_small_cache(self):
        self.run_all(joined(sky("1 MHz", 2000), "1 ms"))

    def test_windows(self):
        """One way has long windows of a filter bank's output."""
        stages = {"sky": sky("1 MHz", 5000)}
        for way, n_taps in ("short", 1), ("long", 60):
            stages |= {
                f"{way}1": {"stage": "fir", "from": "sky", "n_channels": 8, "n_taps": n_taps},
                f"{way}2": {"stage": "fft", "from": f"{way}1"},
                f"{way}3": {"stage": "fir", "from": f"{way}2", "n_channels": 1, "n_taps": n_taps}}
        stages |= {"both": {"stage": "stack", "from": ["short3", "long3"], "axis": "station"},
                   "out": {"stage": "discard", "from": "both"}}
        self.run_all(stages)

    def test_shared_memory(self):
        """Samples that wait in a device's ring do not share memory."""
        if not pipeline.has_device():
            self.skipTest("no device")
        stages = {"sky": {**sky("1 MHz", 3000, 2), "type": "ci8", "block": {"time": 1}},
                  "early": {"stage": "convert", "from": "sky", "type": "cf32"},
                  "late": {"stage": "delay", "from": "early", "constant": ["-614 us", "443 us"]},
                  "pair": {"stage": "stack", "from": ["early", "late"], "axis": "station"},
                  "other": {"stage": "convert", "from": "sky", "type": "cf32"},
                  "both": {"stage": "stack", "from": ["pair", "other"], "axis": "station"},
                  "bank": {"stage": "fir", "from": "other", "n_channels": 8, "n_taps": 7},
                  "out": {"stage": "discard", "from": "both"},
                  "channels": {"stage": "discard", "from": "bank"}}
        for name in stages:
            if stages[name]["stage"] != "discard":
                stages[name]["backend"] = "cuda"
        self.run_all(stages, ((), ("--device-block", "65536"), ("--in-flight", "1")))

    def test_sum(self):
        """A sum whose first output comes late, stacked with the same sum of the delayed stream."""
        stages = {"sky": sky("1 MHz", 9000),
                  "late": {"stage": "delay", "from": "sky", "constant": ["3 ms"]},
                  "a": {"stage": "integrate", "from": "sky", "length": 1000},
                  "b": {"stage": "integrate", "from": "late", "length": 1000},
                  "both": {"stage": "stack", "from": ["a", "b"], "axis": "station"},
                  "out": {"stage": "discard", "from": "both"}}
        self.run_all(stages)

    def test_plan_tells(self):
        stages = joined(sky("1 MHz", 600000), "400 ms")
        text = self.command(stages, "plan", "--backend", "cpu", "--cache", "64 KiB").stdout
        self.assertIn("400000 of skew around late > both < sky\n", text)
        link = self.rings(stages, "--cache", "64 KiB")["late"]
        self.assertEqual((link["skew"], link["circle"]), (400000, "late > both < sky"))
        self.assertGreaterEqual(link["capacity"], 400000 + 2 * link["max_samples"])

    def test_late_start(self):
        """A stream that begins late, or is another source's, needs no ring, because its source
        waits."""
        numpy.save(self.folder / "x.npy", numpy.zeros((50, 1), numpy.float32))
        source = {"stage": "file.source", "path": "x.npy", "layout": "[time station]",
                  "sample_rate": "1 MHz"}
        stages = {"a": source, "b": {**source, "start": 100000},
                  "late": {"stage": "delay", "from": "a", "constant": ["20 us"]},
                  "both": {"stage": "stack", "from": ["late", "b"], "axis": "station"},
                  "out": {"stage": "discard", "from": "both"}}
        for name, link in self.rings(stages, "--cache", "1").items():
            self.assertEqual((link["circle"], link["capacity"]), (None, 3), name)
        self.run_all(stages, ((), ("--cache", "1")))

    def test_fed(self):
        """Samples that the program feeds in short blocks wait for a way that reads later ones."""
        text = ("stages: {x: {stage: input, layout: 'f32[time station]', shape: [-1, 1], "
                "sample_rate: 1 kHz}, late: {stage: delay, from: x, constant: [-50 ms]}, "
                "both: {stage: stack, from: [x, late], axis: station}, "
                "y: {stage: output, from: both, layout: '[time station]'}}")
        numbers = numpy.arange(1, 1001, dtype=numpy.float32)[:, None]
        wanted = numpy.zeros((1050, 2), numpy.float32)
        wanted[50:, :1] = wanted[:1000, 1:] = numbers
        for cuts in (1,), (3, 2, 1), (60,):
            with self.subTest(cuts=cuts):
                taken = pipeline.run(text, {"x": pipeline.Feed(numbers, 0, cuts)}, {"y": (0, 2)})
                numpy.testing.assert_array_equal(taken["y"].array, wanted)

    def test_does_not_fit(self):
        stages = joined(sky("1 MHz", 300000000, 4096, spiral="1 km"), *4096 * ["250 s"])
        done = self.command(stages, "plan", "--backend", "cpu")
        self.assertEqual(done.returncode, 1)
        self.assertIn(" the largest is that behind 'late': ", done.stderr)
        self.assertIn("250000000 of skew around late > both < sky) of 32768 bytes are 7.5 TiB; "
                      "less skew needs less", done.stderr)

    def test_unread(self):
        """An output without readers drops its samples, and ends with the longest of its inputs."""
        for n in 20, 5000:
            numpy.save(self.folder / f"{n}.npy", numpy.zeros((n, 1), numpy.float32))
        source = {"stage": "file.source", "layout": "[time station]", "sample_rate": "1 MHz"}
        stages = {"a": {**source, "path": "20.npy"}, "b": {**source, "path": "5000.npy"},
                  "both": {"stage": "stack", "from": ["a", "b"], "axis": "station"},
                  "out": {"stage": "discard", "from": "b"}}
        done = self.command(stages, "run", "--stats", "json", "--cache", "64")
        self.assertEqual(done.returncode, 0, done.stderr)
        nodes = json.loads(done.stdout)["nodes"]
        self.assertEqual({node["name"]: node["samples"] for node in nodes if node["name"] in stages},
                         {"a": 20, "b": 5000, "both": 0, "out": 5000})

    def test_stands_still(self):
        numpy.save(self.folder / "x.npy", numpy.zeros((500, 1), numpy.float32))
        stages = {"sky": {"stage": "file.source", "path": "x.npy", "layout": "[time station]",
                          "sample_rate": "1 MHz"},
                  "stuck": {"stage": "diamond.stuck", "from": "sky"},
                  "both": {"stage": "stack", "from": ["sky", "stuck"], "axis": "station"},
                  "out": {"stage": "discard", "from": "both"}}
        done = self.command(stages, "run", "--quiet", "--backend", "cpu", "--cache", "256")
        self.assertEqual(done.returncode, 1)
        # The number of samples that it has taken, and where the ring began again, are random.
        self.assertRegex(done.stderr, r"^graph.yaml:\d+:\d+: node 'stuck': the graph stands still: "
                         "'sky' waits for room for 32 samples beside the 96 that 'stuck', 'both' "
                         "must take first; "
                         r"'stuck' has (64|96) samples of 'sky' and does nothing, though it has all that "
                         "it needs; "
                         r"'both' has (64|96) samples of 'sky', none of 'stuck' and waits for 1 sample "
                         "of 'stuck'; "
                         "'out' has none of 'both' and waits for 1 sample of 'both'\n$")


if __name__ == "__main__":
    tap.main()
