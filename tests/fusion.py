# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of stages attached to others on a device share: graphs of chains, run fused and
with --no-fusion."""
import json
import math
import os
import random

import numpy

import graphs

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
    [{"stage": "gains", "gains": "gains.npy"}],
    [{"stage": "gains", "gains": "gains.npy", "inverse": True}, {"stage": "power"},
     {"stage": "gains", "gain": 0.5}, {"stage": "quantise", "type": "i8", "scale": 0.01}],
    [{"stage": "gains", "gains": "channels.npy", "axes": ["channel"]},
     {"stage": "gains", "gains": "gains.npy"}, {"stage": "quantise", "type": "ci8", "scale": 0.5}],
]


class FusionTest(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        print(f"# CORNERTURN_SEED={SEED}")
        self.numbers = random.Random(SEED)

    def write_gains(self, name, *shape):
        numbers = numpy.random.default_rng(SEED)
        numpy.save(self.folder / name, (numbers.normal(size=shape)
                                        + 1j * numbers.normal(size=shape)).astype(numpy.complex64))

    def stages(self, chain, n_channels=16, n_taps=4, samples=5000,
               layout="[time station pol channel]", **sky):
        stages = {
            "sky": {"stage": "generate", "type": "ci8", "sample_rate": "1 MHz", "samples": samples,
                    "n_stations": 3, "n_pols": 2, "noise": 30, **sky},
            "filter": {"stage": "fir", "from": "sky", "n_channels": n_channels, "n_taps": n_taps},
            "spectra": {"stage": "fft", "from": "filter"},
        }
        self.write_gains("gains.npy", 3, 2, n_channels)
        self.write_gains("channels.npy", n_channels)
        for number, stage in enumerate(chain):
            stages[f"s{number}"] = {"from": list(stages)[-1], **stage}
        stages["out"] = {"stage": "file.sink", "from": list(stages)[-1], "path": "out.npy",
                         "layout": layout}
        return stages

    def run_one(self, stages, *arguments):
        """Runs the graph; returns its statistics, result and validity."""
        stats = self.run_graph(stages, *arguments)
        beside = json.loads((self.folder / "out.npy.json").read_text())
        return stats, numpy.load(self.folder / "out.npy"), beside["validity"]

    def run_both(self, stages, rounding=0):
        """Runs the graph fused and plain; returns the statistics of both, and compares their
        results, which may differ by this part of the largest."""
        fused, plain = self.run_one(stages, *DEVICE), self.run_one(stages, *PLAIN)
        self.assertEqual(fused[1].dtype, plain[1].dtype)
        self.assertEqual(fused[1].shape, plain[1].shape)
        if rounding:
            self.assertLessEqual(abs(fused[1] - plain[1]).max(), rounding * abs(plain[1]).max())
        else:
            self.assertEqual(fused[1].tobytes(), plain[1].tobytes())
        self.assertEqual(fused[2], plain[2])
        return fused[0], plain[0]

    @staticmethod
    def node(stats, name):
        return next((node for node in stats["nodes"] if node["name"] == name), None)

    # Sums of double precision, in two orders, each rounded once to single precision.
    ROUNDING = 2 ** -23 + 2 ** -50

    @staticmethod
    def bank_rounding(n_channels, n_taps):
        """The same of powers behind two filter banks, whose transforms may have other radices: of
        each spectrum (n_taps + 2) u and 7 log2(n) u of the largest element, twice that of the
        power, 8 u of the power itself, u of the sum."""
        return 2 * 2 ** -24 * (2 * (n_taps + 2 + 7 * math.log2(n_channels)) + 9)

    @staticmethod
    def fold(length, *before, **options):
        return [*before, {"stage": "integrate", "length": length, **options}]

    def random_gaps(self, samples):
        return [[self.numbers.choice([-1, 0, 1, 2]), self.numbers.randrange(samples),
                 self.numbers.randrange(1, samples // 6)] for _ in range(5)]
