#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stages attached behind the kernel of another, on a device: the plan has them as one node, and the
results, their validity and their counts are those of the same graph with --no-fusion, to the bit."""
import json
import os
import random
import subprocess
import unittest

import numpy

import graphs
import pipeline
import tap

SEED = int(os.environ.get("CORNERTURN_SEED", random.SystemRandom().randrange(1 << 31)))
SANITIZED = os.environ.get("CORNERTURN_SANITIZER", "none") != "none"
DEVICE = ["--backend", "cuda"]
PLAIN = [*DEVICE, "--no-fusion"]

# Stages behind a filter bank, each a list of stages with their parameters.
CHAINS = [
    [{"stage": "quantise", "type": "ci8", "scale": 0.5}],
    [{"stage": "quantise", "type": "ci4", "scale": 0.05}],
    [{"stage": "quantise", "type": "ci16", "scale": 30}],
    [{"stage": "power"}],
    [{"stage": "convert", "type": "cf16"}],
    [{"stage": "convert", "type": "cf64"}],
    [{"stage": "power"}, {"stage": "level", "mean": 5}],
    [{"stage": "power"}, {"stage": "quantise", "type": "i8", "scale": 0.01}],
    [{"stage": "quantise", "type": "ci8", "scale": 0.5}, {"stage": "convert", "type": "cf32"},
     {"stage": "quantise", "type": "ci4", "scale": 0.1}],
]


@unittest.skipUnless(pipeline.has_device(), "there is no device")
class Fusion(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        print(f"# CORNERTURN_SEED={SEED}")
        self.numbers = random.Random(SEED)

    def stages(self, chain, n_channels=16, n_taps=4, samples=5000,
               layout="[time station pol channel]", **sky):
        stages = {
            "sky": {"stage": "generate", "type": "ci8", "sample_rate": "1 MHz",
                    "centre_frequency": "10 MHz", "samples": samples, "n_stations": 3, "n_pols": 2,
                    "noise": 30, **sky},
            "filter": {"stage": "fir", "from": "sky", "n_channels": n_channels, "n_taps": n_taps},
            "spectra": {"stage": "fft", "from": "filter"},
        }
        for number, stage in enumerate(chain):
            stages[f"s{number}"] = {"from": list(stages)[-1], **stage}
        stages["out"] = {"stage": "file.sink", "from": list(stages)[-1], "path": "out.npy",
                         "layout": layout}
        return stages

    def run_both(self, stages, *arguments):
        """Runs the graph fused and plain; returns the statistics of both, and compares their
        files."""
        found = []
        for options in DEVICE, PLAIN:
            stats = self.run_graph(stages, *options, *arguments)
            beside = json.loads((self.folder / "out.npy.json").read_text())
            found.append((stats, (self.folder / "out.npy").read_bytes(), beside["validity"]))
        self.assertEqual(found[0][1], found[1][1])
        self.assertEqual(found[0][2], found[1][2])
        return found[0][0], found[1][0]

    @staticmethod
    def node(stats, name):
        return next((node for node in stats["nodes"] if node["name"] == name), None)

    def check_chain(self, chain, **options):
        stages = self.stages(chain, **options)
        names = ["filter", "spectra"] + [f"s{i}" for i in range(len(chain))]
        fused, plain = self.run_both(stages)
        node = self.node(fused, "+".join(names))
        self.assertIsNotNone(node, [node["name"] for node in fused["nodes"]])
        self.assertEqual(node["variant"], "fused-cuda")
        counts = {f"{name}.{key}": count for name in names[2:]
                  for key, count in self.node(plain, name)["counters"].items()}
        self.assertEqual(node["counters"], counts)
        return counts

    def test_chains(self):
        for chain in CHAINS[::3] if SANITIZED else CHAINS:
            with self.subTest(chain=chain):
                self.check_chain(chain)

    def test_transforms(self):
        """Behind a transform by itself, which may also write another order of axes."""
        for n_channels, layout in ((2048, "[time station pol channel]"),
                                   (32, "[channel time station pol]")):
            for chain in CHAINS[0], CHAINS[6]:
                stages = self.stages(chain, n_channels=n_channels, samples=6 * n_channels,
                                     layout=layout)
                stages["spectra"]["variant"] = "radix-cuda"
                fused, plain = self.run_both(stages)
                self.assertIsNotNone(self.node(fused, "+".join(list(stages)[2:-1])),
                                     [node["name"] for node in fused["nodes"]])

    def test_gaps(self):
        """What is lost is zeroed and not counted: partly lost windows would clip otherwise."""
        gaps = [[self.numbers.choice([-1, 0, 1, 2]), self.numbers.randrange(5000),
                 self.numbers.randrange(1, 300)] for _ in range(6)]
        counts = self.check_chain(CHAINS[0], invalid=gaps, noise=100)
        self.assertGreater(counts["s0.clipped"], 1000)
        self.check_chain(CHAINS[8], invalid=gaps, noise=100, block={"time": 333})

    def test_layouts(self):
        for chain in CHAINS[0], CHAINS[3]:
            self.check_chain(chain, layout="[station pol time channel]")
            self.run_both(self.stages(chain, layout="[channel time station pol]"))

    def test_shapes(self):
        for _ in range(2 if SANITIZED else 8):
            n_channels = 1 << self.numbers.randrange(1, 9)
            self.check_chain(self.numbers.choice(CHAINS), n_channels=n_channels,
                             n_taps=self.numbers.randrange(1, 9),
                             samples=self.numbers.randrange(12 * n_channels, 12 * n_channels + 3000),
                             start=self.numbers.randrange(-1000, 1000),
                             block={"time": self.numbers.randrange(100, 3000)})

    def test_what_is_not_attached(self):
        """Stages that others read too, that are asked for by name, that have a table, or along whose
        output data are marked, stay by themselves."""
        quantise = CHAINS[0]
        stages = self.stages(quantise)
        stages["copy"] = {"stage": "file.sink", "from": "spectra", "path": "spectra.npy"}
        asked = self.stages(quantise)
        asked["s0"]["variant"] = "cuda"
        host = self.stages(quantise)
        host["s0"]["backend"] = "cpu"
        gains = self.stages([{"stage": "gains", "gain": 2}])
        for graph in stages, asked, host, gains:
            fused, plain = self.run_both(graph)
            for stats in fused, plain:
                self.assertIsNotNone(self.node(stats, "s0"))

    def test_beamformer(self):
        """Behind sums of integers and of half precision, whole tiles and parts, with gaps."""
        weights = (numpy.arange(80 * 6) % 19 - 9 + 1j * (numpy.arange(80 * 6) % 7 - 3)) / 9
        numpy.save(self.folder / "weights.npy", weights.reshape(80, 6).astype(numpy.complex64))
        for k, chain in enumerate(CHAINS[::3] if SANITIZED else CHAINS):
            with self.subTest(chain=chain):
                stages = self.stages(chain, n_stations=6, samples=300 + k,
                                     invalid=[[2, 100, 50], [-1, 200, 9]],
                                     layout=["[time beam pol]", "[beam time pol]"][k % 2])
                del stages["filter"], stages["spectra"]
                stages["beams"] = {"stage": "beamform", "from": "sky", "weights": "weights.npy",
                                   "weights_as": ["ci8", "cf16"][k // 2 % 2], "variant": "mma-cuda"}
                stages["s0"]["from"] = "beams"
                fused, _ = self.run_both(stages)
                node = self.node(fused, "+".join(["beams"] + [f"s{i}" for i in range(len(chain))]))
                self.assertIsNotNone(node, [node["name"] for node in fused["nodes"]])
                self.assertEqual(node["variant"], "mma-cuda")

    def test_warning(self):
        """The warning of what clips names the stage that clips."""
        done = subprocess.run(
            [graphs.COMMAND, "run", "--quiet", *DEVICE,
             self.write(self.stages([{"stage": "quantise", "type": "ci8", "scale": 50}]))],
            cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"node 's0': warning: clipped \d+ of \d+ elements")


if __name__ == "__main__":
    tap.main()
