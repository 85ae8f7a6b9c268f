#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Coefficients over the port: each output sample is made with the block that is in effect at its
tick, also where its window began before."""
import os
import tempfile
import unittest

import numpy

import pipeline
import tap

VARIANTS = pipeline.variants()
SEED = int(os.environ.get("CORNERTURN_SEED", "5"))
rng = numpy.random.default_rng(SEED)


def filtered(x, h, hop):
    """y[t][(p + n) mod P] = Σ_k h[k][p] · x[t·H + k·P + p] of x[time series], and Σ|h||x|."""
    n_taps, n_phases = h.shape
    n = (len(x) - n_taps * n_phases) // hop + 1
    y = numpy.zeros((n, n_phases, x.shape[1]), x.dtype)
    norm = numpy.zeros(y.shape)
    for t in range(n):
        window = x[t * hop:t * hop + n_taps * n_phases].reshape(n_taps, n_phases, -1)
        turn = t * hop % n_phases
        y[t] = numpy.roll((h[:, :, None] * window).sum(0), turn, 0)
        norm[t] = numpy.roll(abs(h[:, :, None] * window).sum(0), turn, 0)
    return y, norm


class Port(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        print(f"# seed {SEED}")

    def source(self, name, array, layout, more):
        path = os.path.join(self.folder, name + ".npy")
        numpy.save(path, array)
        return f"  {name}: {{ stage: file.source, path: '{path}', layout: '{layout}', {more} }}\n"

    def graph(self, x, h, layout="time tap phase", rate=5000, node="", after="", block=64,
              start=0):
        return ("stages:\n" +
                self.source("x", x, "[time station]",
                            f"sample_rate: 1 MHz, block: {{ time: {block} }}") +
                self.source("h", h, f"[{layout}]",
                            f"sample_rate: {rate} Hz, start: {start}" if "time" in layout else "") +
                f"  f: {{ stage: fir, from: {{ in: x, coefficients: h }} {node} }}\n{after}"
                f"  y: {{ stage: output, from: {'a' if after else 'f'}, layout: '[time ...]' }}\n")

    def check(self, n_taps, n_phases, hop, rate, kind="c8", block=64, start=0):
        n, n_blocks = 2000 + n_taps * n_phases, 9
        x = rng.normal(size=(n, 3)) + 1j * rng.normal(size=(n, 3))
        x = (x.real * 50 if kind[0] != "c" else x).astype(kind)
        h = rng.normal(size=(n_blocks, n_taps, n_phases)).astype("f4" if block % 2 else "f8")
        text = self.graph(x, h, rate=rate, node=f", hop: {hop}", block=block, start=start)
        # Exact ticks: x has one per sample, at 1 MHz, and a block 1e6 / rate of them.
        ticks = [(start + k) * 1000000 // rate for k in range(n_blocks)]
        n_out = (n - n_taps * n_phases) // hop + 1
        held = [max(sum(tick <= t * hop for tick in ticks) - 1, 0) for t in range(n_out)]
        self.assertGreater(len(set(held)), 1)
        exact = x.astype(complex if kind[0] == "c" else float)
        parts = [filtered(exact, one.astype("f4").astype(float), hop) for one in h]
        wanted, norm = (numpy.array([parts[k][i][t] for t, k in enumerate(held)]) for i in (0, 1))
        bound = 2 * (n_taps + 2) * 2.0 ** -24 * norm
        for variant in VARIANTS:
            for workers in (1, 2):
                with self.subTest(variant=variant, workers=workers, hop=hop, kind=kind):
                    got = pipeline.run(text.replace("[time ...]", "[time phase station]"), {},
                                       {"y": (0, 1)}, {"f": variant}, workers=workers)["y"].array
                    self.assertEqual(got.shape, wanted.shape)
                    self.assertTrue((abs(got - wanted) <= bound).all())

    def test_blocks(self):
        self.check(3, 4, 4, 5000)
        self.check(3, 4, 4, 8000, "i2", 37, 1)
        self.check(5, 8, 6, 5000, "f4", 100)
        self.check(9, 1, 3, 10000, "c8", 333)
        self.check(1, 16, 16, 100000, "c8", 50, 3)

    def test_bank(self):
        """fir and fft in one: the same as from both with a file, to the last bit."""
        x = (rng.normal(size=(999, 3)) + 1j * rng.normal(size=(999, 3))).astype("c8")
        h = rng.normal(size=(4, 8)).astype("f4")
        path = os.path.join(self.folder, "h.npy")
        after = "  a: { stage: fft, from: f }\n"
        text = self.graph(x, h, "tap phase", after=after)
        alone = text.replace("from: { in: x, coefficients: h }",
                             f"from: x, coefficients: '{path}'")
        alone = "\n".join(line for line in alone.split("\n") if not line.startswith("  h:"))
        for variant in VARIANTS[1:]:
            variant = "fused-" + variant.removeprefix("cpu-")
            covered = [node["name"] for node in pipeline.plan(text, {"f": variant, "a": variant})
                       ["nodes"]]
            self.assertTrue(any("f+a" in name for name in covered), covered)
            runs = [pipeline.run(graph, {}, {"y": (0, 1)}, {"f": variant, "a": variant})["y"].array
                    for graph in (text, alone)]
            self.assertEqual(runs[0].tobytes(), runs[1].tobytes())

    def test_errors(self):
        x, h = numpy.ones((50, 2), "c8"), numpy.ones((3, 4), "f4")
        path = os.path.join(self.folder, "h.npy")
        for array, layout, node, wanted in (
                (h, "tap phase", f", coefficients: '{path}'",
                 r"^test:4:\d+: node 'f': parameter 'coefficients': wants to stand alone, but the "
                 "port 'coefficients' is connected too"),
                (h, "tap phase", ", n_taps: 5",
                 r"^test:4:3: node 'f': input 'coefficients' wants an array of shape \(5, channels\), "
                 "but is given tap 3, phase 4"),
                (h[None], "station tap phase", "",
                 "input 'coefficients' wants the axes tap and phase, and no others, but is given "
                 "tap 3, phase 4, station 1"),
                (numpy.ones((65, 1), "f4"), "tap phase", "",
                 "wants at most 64 taps and 16777216 channels, but is given tap 65, phase 1"),
        ):
            with self.subTest(wanted=wanted), self.assertRaisesRegex(pipeline.Failure, wanted):
                pipeline.run(self.graph(x, array, layout, node=node), {}, {"y": (0, 1)})


if __name__ == "__main__":
    tap.main()
