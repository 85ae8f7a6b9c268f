#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cornerturn verify`: correct variants agree, wrong ones are found, and the messages."""
import os
import pathlib
import re
import subprocess
import unittest
import unittest.mock

import numpy

import graphs
import tap

PLUGINS = pathlib.Path(os.environ["CORNERTURN_TEST_PLUGINS"])
# If the environment names a backend, only that is tested.
GIVEN = os.environ.get("CORNERTURN_TEST_BACKEND")
BACKEND = GIVEN or "cpu"
SKY = {"stage": "generate", "sample_rate": "1 MHz", "samples": 3000, "n_stations": 3, "n_pols": 2}


class Verify(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        (self.folder / "plugins").mkdir()
        for file in PLUGINS / "ct-wrong.so", PLUGINS / "fold" / "ct-unmerged.so":
            (self.folder / "plugins" / file.name).symlink_to(file)

    def verify(self, graph, *arguments):
        return subprocess.run([graphs.COMMAND, "verify", graph, *arguments], cwd=self.folder,
                              capture_output=True, text=True, timeout=120,
                              env={**os.environ, "CORNERTURN_PLUGIN_PATH": os.environ[
                                  "CORNERTURN_PLUGIN_PATH"] + f":{self.folder}/plugins"})

    def agree(self, graph, *arguments):
        done = self.verify(graph, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertNotIn("WRONG", done.stdout)
        return done.stdout

    def differ(self, stages, *arguments):
        done = self.verify(self.write(stages), *arguments)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(done.stderr.strip().splitlines()[-1],
                         "graph.yaml does not agree with 'reference'")
        return done.stdout

    def refuse(self, stages, *arguments):
        done = self.verify(self.write(stages), *arguments)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        return done.stderr.strip()

    def test_chain(self):
        """Each node is compared alone, then the whole graph; sinks write nothing."""
        report = self.agree(self.write({
            "sky": {**SKY, "invalid": [[1, 100, 30]]},
            "filter": {"stage": "fir", "from": "sky", "n_channels": 8, "n_taps": 4},
            "spectra": {"stage": "fft", "from": "filter"},
            "delayed": {"stage": "gains", "from": "spectra", "gain": [0.5, 2]},
            "bits": {"stage": "quantise", "from": "delayed", "type": "ci8", "scale": 4},
            "visibilities": {"stage": "correlate", "from": "bits", "integration": 50},
            "power": {"stage": "power", "from": "spectra", "stokes": "IQUV"},
            "out": {"stage": "file.sink", "from": "visibilities", "path": "v.npy"},
            "dropped": {"stage": "discard", "from": "power"},
        }), "--backend", BACKEND)
        self.assertFalse((self.folder / "v.npy").exists())
        alone, together = report.split("all nodes together")
        for node in ("sky", "filter", "spectra", "delayed", "bits", "visibilities",
                     "visibilities.weights", "power"):
            self.assertRegex(alone, rf"(?m)^{re.escape(node)} +c\S* +reference ")
        self.assertEqual(re.findall(rf"(?m)^(\S+) +{BACKEND}", together),
                         ["visibilities", "power"])
        self.assertIn("filter: (n_taps + 2) u Σ|h| |x|", report)
        self.assertIn("bits: nothing", report)

    def test_precision(self):
        """Larger errors that a parameter allows are in the bound."""
        split = {"variant": "split-cuda"} if BACKEND == "cuda" else {}
        report = self.agree(self.write({
            "sky": {**SKY, "type": "cf32"},
            "visibilities": {"stage": "correlate", "from": "sky", "integration": 300,
                             "precision": "split", **split},
        }), "--backend", BACKEND)
        self.assertIn("(22·64 + T/64) u Σ|x||y| with `precision: split`", report)

    def test_types(self):
        """Whole streams of every type, in different orders."""
        for type_ in ("ci4", "ci8", "ci16", "ci32", "ci64", "cf16", "cf64", "u8", "i16", "f32"):
            self.agree(self.write({
                "sky": {**SKY, "samples": 500, "type": type_},
                "turned": {"stage": "transpose", "from": "sky", "layout": "[pol station time]"},
            }), "--backend", BACKEND)

    def test_ranges(self):
        """Streams of different ranges are stacked, in all places of the joined axis; a delay
        changes; and samples are quantised to a few bits."""
        delays = numpy.array([[0, 3.4, -5, 0, 2, 7], [1, 2.7, -9, 0, 4, 4]]) * 1e-6
        numpy.save(self.folder / "delays.npy", delays)
        ranges = [(0, 4001, 3), (130, 3000, 1), (-60, 600, 2)]
        for layout in ("[time station pol]", "[time pol station]", "[station time pol]",
                       "[pol station time]"):
            sources = {f"s{i}": {**SKY, "type": "ci16", "centre_frequency": "50 MHz", "seed": i,
                                 "layout": layout, "start": start, "samples": n,
                                 "n_stations": stations}
                       for i, (start, n, stations) in enumerate(ranges)}
            self.agree(self.write({
                **sources,
                "all": {"stage": "stack", "from": list(sources), "axis": "station"},
                "beams": {"stage": "stack", "from": ["s0", "s0"], "axis": "beam"},
                "floats": {"stage": "convert", "from": "all", "type": "cf32"},
                "lined": {"stage": "delay", "from": "floats", "delays": "delays.npy",
                          "step": "5 ms"},
                "scaled": {"stage": "gains", "from": "lined", "gain": [0.1, 0.2], "inverse": True},
                "bits": {"stage": "quantise", "from": "scaled", "type": "ci4", "scale": 5e-5},
            }), "--backend", BACKEND)

    def test_few_levels(self):
        """Of 7224 samples, one may be rounded to another level, though fewer are expected."""
        self.agree(self.write({
            "sky": {**SKY, "type": "ci4", "noise": 1, "samples": 903, "n_stations": 4,
                    "start": 653, "seed": 396489391},
            "floats": {"stage": "convert", "from": "sky", "type": "cf32"},
            "bits": {"stage": "convert", "from": "floats", "type": "ci8"},
        }), "--backend", BACKEND)

    def test_node(self):
        stages = {"sky": SKY, "filter": {"stage": "fir", "from": "sky", "n_channels": 8, "n_taps": 4},
                  "power": {"stage": "power", "from": "filter"}}
        report = self.agree(self.write(stages), "--node", "filter")
        self.assertIn("filter ", report)
        self.assertNotIn("together", report)
        self.assertNotRegex(report, r"(?m)^(sky|power) ")

    @unittest.skipIf(GIVEN, f"for backends other than {GIVEN}")
    def test_one_variant(self):
        stages = {"sky": SKY, "filter": {"stage": "fir", "from": "sky", "n_channels": 8, "n_taps": 4}}
        report = self.verify(self.write(stages), "--backend", "reference", "--node", "filter").stdout
        self.assertRegex(report, r"(?m)^filter +reference +runs both ways$")
        self.agree(self.write(stages), "--against", "cpu", "--variant", "filter=cpu-baseline")

    @unittest.skipIf(GIVEN, f"for backends other than {GIVEN}")
    def test_wrong_elements(self):
        report = self.differ({"sky": {**SKY, "type": "ci8", "n_stations": 1},
                              "wrong": {"stage": "wrong.off", "from": "sky"}}, "--backend", "cpu")
        self.assertRegex(report, r"(?m)^wrong: off by 1, where 0 is allowed, at .*sample \d+$")
        self.assertNotRegex(report, r"(?m)^sky: off")

    @unittest.skipIf(GIVEN, f"for backends other than {GIVEN}")
    def test_wrong_validity(self):
        report = self.differ({"sky": {**SKY, "type": "ci8", "n_stations": 1},
                              "wrong": {"stage": "wrong.invalid", "from": "sky"}},
                             "--backend", "cpu")
        self.assertRegex(report, r"(?m)^wrong: \d+ samples are valid on one side alone$")

    @unittest.skipUnless(GIVEN == "cuda", "wants a device to whose kernels folds are attached")
    def test_attached(self):
        """All nodes together run by the plan of a run, with a fold in the kernel of the filter
        bank: its weights, which no node reads, do not keep it out."""
        stages = {
            "sky": {**SKY, "type": "ci8", "samples": 60000},
            "filter": {"stage": "fir", "from": "sky", "n_channels": 64, "n_taps": 4},
            "spectra": {"stage": "fft", "from": "filter"},
            "power": {"stage": "power", "from": "spectra"},
            "sums": {"stage": "integrate", "from": "power", "length": 256},
            "out": {"stage": "file.sink", "from": "sums", "path": "out.npy"},
        }
        attached = r"(?m)^sums +fused-cuda +reference .*{0}$"
        report = self.agree(self.write(stages), "--backend", "cuda")
        alone, together = report.split("all nodes together")
        self.assertRegex(alone, r"(?m)^sums\.weights +cuda +reference ")
        self.assertRegex(together, attached.format(r"\d"))
        self.assertNotRegex(together, r"(?m)^sums\.weights ")
        stages["sums"]["stage"] = "unmerged"
        report = self.differ(stages, "--backend", "cuda")
        self.assertRegex(report, attached.format("  WRONG"))
        self.assertRegex(report, r"(?m)^sums \(together\): off by ")
        stages["sums"]["stage"] = "integrate"
        # A node by itself cannot run as a variant of several stages that the graph asks for.
        stages["filter"]["variant"] = stages["spectra"]["variant"] = "fused-cuda"
        report = self.agree(self.write(stages), "--backend", "cuda")
        alone, together = report.split("all nodes together")
        self.assertRegex(alone, r"(?m)^filter +cuda +reference ")
        self.assertRegex(together, attached.format(r"\d"))
        del stages["filter"]["variant"], stages["spectra"]["variant"]
        # Where the weights are read, the fold is not attached, neither in a run nor here.
        stages["counts"] = {"stage": "discard", "from": "sums.weights"}
        report = self.agree(self.write(stages), "--backend", "cuda").split("all nodes together")[1]
        self.assertRegex(report, r"(?m)^sums +cuda +reference ")
        self.assertRegex(report, r"(?m)^sums\.weights +cuda +reference ")

    def check_nothing_compared(self, sky, warnings, *arguments):
        """Checks that each warning is on standard error, and is an error with --strict."""
        graph = self.write({"sky": {**SKY, **sky},
                            "filter": {"stage": "fir", "from": "sky", "n_channels": 8,
                                       "n_taps": 4}})
        done = self.verify(graph, *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        said = [re.sub(r"^graph.yaml:\d+:\d+: ", "", line) for line in done.stderr.splitlines()]
        for warning in warnings:
            self.assertEqual(said.count(warning), 1, done.stderr)
        strict = self.verify(graph, "--strict", *arguments)
        self.assertEqual((strict.returncode, strict.stdout), (1, ""))
        self.assertNotIn("''", strict.stderr)
        return done.stdout

    def test_no_samples(self):
        report = self.check_nothing_compared({"samples": 20}, [
            "node 'filter': warning: gives no samples: one is made of 32, but only 20 come in",
            "node 'filter': warning: nothing of 'filter' is compared: there are no samples",
        ], "--backend", BACKEND)
        self.assertRegex(report, r"(?m)^filter .* nothing is compared$")

    def test_all_invalid(self):
        report = self.check_nothing_compared({"invalid": [[-1, 0, 3000]]}, [
            "node 'sky': warning: all 3000 samples that it gave are invalid",
            "node 'sky': warning: nothing of 'sky' is compared: no sample is valid",
            "node 'filter': warning: nothing of 'filter' is compared: no sample is valid",
        ], "--backend", BACKEND)
        self.assertEqual(report.count("  nothing is compared\n"), 3)

    @unittest.skipIf(GIVEN, f"for backends other than {GIVEN}")
    def test_one_variant_each(self):
        nothing = "warning: nothing is compared: one variant runs each node both ways"
        for more in ((), ("--node", "filter")):
            self.check_nothing_compared({}, [nothing], "--backend", "reference", *more)

    def test_errors(self):
        endless = {key: value for key, value in SKY.items() if key != "samples"}
        fed = {"stage": "input", "layout": "cf32[time pol]", "shape": [-1, 2]}
        stages = {"sky": SKY, "out": {"stage": "discard", "from": "sky"}}
        self.assertIn("node 'sky': has no end: say with --duration", self.refuse({"sky": endless}))
        self.assertIn("node 'x': wants blocks of a program", self.refuse({"x": fed}))
        self.assertIn("the graph has no node 'nobody'", self.refuse(stages, "--node", "nobody"))
        self.assertIn("node 'out': has no output", self.refuse(stages, "--node", "out"))
        self.assertIn("wants auto, reference, cpu", self.refuse(stages, "--against", "gpu"))
        self.agree(self.write({"sky": endless}), "--duration", "1 ms", "--backend", "cpu")
        self.assertRegex(self.refuse(stages, "--against", "cuda:99", "--backend", "reference"),
                         "^graph.yaml:3:3: node 'sky': backend 'cuda(:99)?' is asked for, but")

    @unittest.skipUnless(GIVEN == "cuda", "wants an emulator of several devices")
    def test_devices(self):
        """A device is compared with another, and with itself."""
        graph = self.write({"sky": {**SKY, "backend": "cpu"},
                            "filter": {"stage": "fir", "from": "sky", "n_channels": 8,
                                       "n_taps": 4}})
        with unittest.mock.patch.dict(os.environ, {"CORNERTURN_EMULATOR_DEVICES": "2"}):
            for against, wanted in ("cuda:1", "cuda  "), ("cuda:0", "runs both ways"):
                report = self.agree(graph, "--backend", "cuda:0", "--against", against)
                alone = report.split("all nodes together")[0]
                self.assertRegex(alone, rf"(?m)^filter +cuda +{wanted}")

    def test_pipelines(self):
        """The graphs of pipelines/, made small."""
        spiral = ["sky.samples=4000", "sky.n_stations=5"]
        beams = spiral + ["pointing.n_beams=3"]
        for name, settings in {
                "spectrometer": ["sky.duration='1 ms'", "average.length=5"],
                "fx-correlator": ["sky.duration='0.4 ms'", "sky.n_stations=5",
                                  "visibilities.integration=4"],
                "interference": ["sky.duration='30 ms'", "visibilities.integration=500"],
                "beamformer": ["sky.duration='0.5 ms'", "sky.n_stations=5", "average.length=7"],
                "lofar-imaging": [*spiral, "sky.samples=6400", "visibilities.integration=4"],
                "lofar-1": beams,
                "lofar-2": [*beams, "visibilities.integration=3"]}.items():
            assignments = [word for setting in settings for word in ("--set", setting)]
            with self.subTest(name):
                self.agree(graphs.SOURCE_ROOT / "pipelines" / f"{name}.yaml", *assignments,
                           "--backend", BACKEND)


if __name__ == "__main__":
    tap.main()
