#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""--default-layouts: the stages of a plan have the layouts of published codes, and the results are
the same."""
import json
import subprocess
import unittest

import numpy

import graphs
import tap

# The files that each writes, and the overrides that make it small.
PIPELINES = {
    "fx-correlator": (["visibilities.npy", "weights.npy"],
                      ["sky.duration=5 ms", "visibilities.integration=100", "sky.n_stations=4"]),
    "interference": (["visibilities.npy", "weights.npy"],
                     ["sky.duration=30 ms", "visibilities.integration=500"]),
    "beamformer": (["beams.npy"], ["sky.duration=5 ms", "average.length=64", "sky.n_stations=4"]),
    "spectrometer": (["spectrometer.npy"], ["sky.duration=10 ms", "average.length=32"]),
    "lofar-1": (["beams.npy"], ["sky.samples=10000", "pointing.n_beams=5", "sky.n_stations=6",
                                "out.stage=file.sink", "out.path=beams.npy"]),
    "lofar-2": (["lofar-2.npy"], ["sky.samples=10000", "pointing.n_beams=5", "sky.n_stations=6",
                                  "visibilities.integration=10"]),
    "lofar-imaging": (["imaging.npy", "imaging-weights.npy"],
                      ["sky.samples=20000", "sky.n_stations=5", "visibilities.integration=30"]),
}


class DefaultLayouts(graphs.GraphTest):
    def command(self, *arguments):
        result = subprocess.run([graphs.COMMAND, *arguments], cwd=self.folder, capture_output=True,
                                text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_same_answer(self):
        for name, (files, settings) in PIPELINES.items():
            path = str(graphs.SOURCE_ROOT / "pipelines" / f"{name}.yaml")
            options = [option for setting in settings for option in ("--set", setting)]
            self.command("run", "--quiet", path, *options)
            planned = [numpy.load(self.folder / file) for file in files]
            self.command("run", "--quiet", "--default-layouts", path, *options)
            for file, wanted in zip(files, planned):
                with self.subTest(name, file=file):
                    got = numpy.load(self.folder / file)
                    self.assertEqual(got.shape, wanted.shape)
                    if wanted.dtype.kind == "u":
                        numpy.testing.assert_array_equal(got, wanted)
                    else:
                        self.assertLess(numpy.linalg.norm(got - wanted),
                                        1e-6 * numpy.linalg.norm(wanted))

    def layouts(self, name, *options):
        """For each node, the layouts of inputs and outputs, without types."""
        path = str(graphs.SOURCE_ROOT / "pipelines" / f"{name}.yaml")
        plan = json.loads(self.command("plan", "--json", "--backend", "cpu", *options, path))
        order = lambda layout: layout[layout.index("["):]
        return {node["name"]: (
            [order(layout) for layout in node["input_layouts"] if layout],
            [order(plan["links"][link]["layout"]) for link in node["outputs"] if link is not None])
            for node in plan["nodes"]}

    def test_layouts(self):
        found = self.layouts("lofar-2", "--default-layouts")
        self.assertEqual(found["filter"][1], ["[time pol station phase]"])
        self.assertEqual(found["spectra"], (["[time pol station phase]"],
                                            ["[time pol station channel]"]))
        self.assertEqual(found["beams"], (["[channel station time pol]", "[channel beam station]"],
                                          ["[channel time beam pol]"]))
        found = self.layouts("fx-correlator", "--default-layouts")
        # The variants for the processor need stations inside time.
        self.assertEqual(found["visibilities"][0], ["[channel time station pol]"])
        self.assertEqual(found["visibilities"][1][0], "[time baseline channel pol pol']")
        self.assertIn("spectra>transpose", found)
        self.assertNotIn("spectra>transpose", self.layouts("fx-correlator"))

    def test_fused_ones_go(self):
        self.assertIn("filter+spectra", self.layouts("spectrometer", "--variant",
                                                     "filter=" + fused(), "--variant",
                                                     "spectra=" + fused()))
        self.assertIn("filter", self.layouts("spectrometer", "--default-layouts"))

    def test_chains_go(self):
        graph = self.write({
            "sky": {"stage": "generate", "type": "ci8", "sample_rate": "1 MHz", "samples": 2000,
                    "n_stations": 2},
            "wide": {"stage": "quantise", "from": "sky", "type": "ci16", "scale": 3},
            "power": {"stage": "power", "from": "wide"},
            "out": {"stage": "discard", "from": "power"},
        })
        for options, is_chain in ([], True), (["--default-layouts"], False):
            plan = json.loads(self.command("plan", "--json", "--backend", "cpu", *options, graph))
            names = [node["name"] for node in plan["nodes"]]
            self.assertEqual("wide+power" in names, is_chain, names)

    def test_fused_ones_that_are_forced_stay(self):
        for nodes in (["filter", "spectra"], ["filter"], ["spectra"]):
            with self.subTest(nodes):
                options = [word for node in nodes for word in ("--variant", f"{node}={fused()}")]
                self.assertIn("filter+spectra",
                              self.layouts("spectrometer", "--default-layouts", *options))


def fused():
    """The best fused variant of filter and transform that can run here."""
    text = subprocess.run([graphs.COMMAND, "inspect", "fir"], capture_output=True, text=True,
                          check=True).stdout
    flags = open("/proc/cpuinfo").read()
    best = [isa for isa in ("avx512", "avx2") if isa in flags] + ["baseline"]
    return next(f"fused-{isa}" for isa in best if f"fused-{isa}" in text)


if __name__ == "__main__":
    tap.main()
