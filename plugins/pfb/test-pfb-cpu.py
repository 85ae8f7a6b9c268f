#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""fir and fft fused, against the two in a row: types, orders, hops, gaps, blocks and workers."""
import unittest

import numpy

import graphs
import pipeline
import tap

SETS = pipeline.instruction_sets()
rng = numpy.random.default_rng(8)

# Orders of input and output.
ORDERS = [("time station pol", "time channel station pol"),
          ("station pol time", "station pol time channel"),
          ("time station pol", "time station pol channel"),
          ("time station pol", "station pol time channel")]


def samples(kind, shape):
    if kind in pipeline.PAIRS and kind != "cf16" or kind == "ci4":
        return pipeline.integers(rng, kind, shape)[0]
    dtype = pipeline.DTYPES[kind]
    if dtype[0] in "iu":
        return rng.integers(numpy.iinfo(dtype).min, numpy.iinfo(dtype).max, shape, dtype)
    if kind == "cf16":
        return rng.standard_normal((*shape, 2)).astype(dtype)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if kind[0] == "c" else x).astype(dtype)


def bank(kind, order, x, fir, fft, variant, cuts=(1 << 20,), workers=1, validity=None):
    axes, to = order[0].split(), order[1].split()
    shape = [-1 if axis == "time" else x.shape[i] for i, axis in enumerate(axes)]
    text = f"""
stages:
  x: {{ stage: input, layout: "{kind}[{order[0]}]", shape: {shape}, loses: [station] }}
  f: {{ stage: fir, from: x, {fir} }}
  s: {{ stage: fft, from: f, {fft} }}
  y: {{ stage: output, from: s, layout: "[{order[1]}]" }}
"""
    lanes = x.shape[axes.index("station")]
    return pipeline.run(text, {"x": pipeline.Feed(x, axes.index("time"), cuts, validity)},
                        {"y": (to.index("time"), lanes)}, {"f": variant, "s": variant},
                        workers=workers)["y"]


class PfbTest(graphs.GraphTest):
    def near(self, got, wanted, n_channels, n_taps):
        """Compares within the bound: sums over taps, and log2 n levels, each with an error of a few
        ulps of the norm."""
        bound = 2.0 ** -24 * (2 * n_taps + 4 * (2 + 2 * numpy.log2(n_channels)))
        self.assertEqual(got.shape, wanted.shape)
        self.assertLessEqual(abs(got - wanted).max(), bound * abs(wanted).max())

    def test_chain(self):
        kinds = ["ci4", "ci8", "ci16", "cf16", "cf32", "i8", "i16", "u8", "f16", "f32"]
        for i, kind in enumerate(kinds * 4):
            order = ORDERS[(i + i // len(kinds)) % len(ORDERS)]
            n_channels = int(rng.choice([1, 2, 5, 12, 16, 64, 97]))
            n_taps = int(rng.choice([1, 2, 3, 8, 17]))
            hop = int(rng.choice([n_channels, n_channels, 2 * n_channels, max(1, n_channels // 2),
                                  7, n_channels + 3]))
            n_outputs = int(rng.choice([1, 2, 15, 40, 131]))
            length = {"time": (n_outputs - 1) * hop + n_channels * n_taps,
                      "station": int(rng.choice([1, 3, 5])), "pol": 2}
            shift = kind[0] == "c" and bool(rng.integers(2))
            fir = f"n_channels: {n_channels}, n_taps: {n_taps}, hop: {hop}"
            fft = f"shift: {'true' if shift else 'false'}"
            x = samples(kind, [length[axis] for axis in order[0].split()])
            with self.subTest(kind=kind, order=order, fir=fir, length=length):
                wanted = bank(kind, order, x, fir, fft, "reference").array
                for isa in SETS[:1] if i < 2 * len(kinds) else SETS:
                    got = bank(kind, order, x, fir, fft, "fused-" + isa).array
                    self.near(got, wanted, n_channels, n_taps)
                    cuts = rng.integers(1, 3 * n_channels + 2, 5).tolist()
                    cut = bank(kind, order, x, fir, fft, "fused-" + isa, cuts,
                               int(rng.integers(1, 4))).array
                    numpy.testing.assert_array_equal(cut, got)

    def test_large(self):
        """The largest spectra, of which few are filtered together, and others near them."""
        for n_channels, n_stations in (256, 16), (256, 15), (243, 13), (512, 8):
            fir, fft = f"n_channels: {n_channels}, n_taps: 16", "shift: false"
            x = samples("ci8", (n_channels * (16 + 42) + 5, n_stations, 2))
            wanted = bank("ci8", ORDERS[0], x, fir, fft, "reference").array
            for isa in SETS:
                with self.subTest(n_channels=n_channels, n_stations=n_stations, isa=isa):
                    whole = bank("ci8", ORDERS[0], x, fir, fft, "fused-" + isa).array
                    self.near(whole, wanted, n_channels, 16)
                    cut = bank("ci8", ORDERS[0], x, fir, fft, "fused-" + isa, (1001, 17), 2).array
                    numpy.testing.assert_array_equal(cut, whole)

    def test_tunings(self):
        """Many combinations of the tunables' values, including the filter's."""
        fir, fft = "n_channels: 64, n_taps: 8", "shift: false"
        x = samples("ci8", (64 * 150, 3, 2))
        wanted = bank("ci8", ORDERS[0], x, fir, fft, "reference").array
        for isa in SETS:
            for tuned in pipeline.tunings("fir", "fused-" + isa)[::29]:
                with self.subTest(variant=tuned):
                    got = bank("ci8", ORDERS[0], x, fir, fft, tuned, (1000, 17), 2).array
                    self.near(got, wanted, 64, 8)

    def test_inverse(self):
        """Inverse transforms are fused, too."""
        x = samples("ci8", (400, 3, 2))
        fir, fft = "n_channels: 16, n_taps: 4", "direction: inverse, axis: phase, to: channel"
        wanted = bank("ci8", ORDERS[0], x, fir, fft, "reference").array
        self.near(bank("ci8", ORDERS[0], x, fir, fft, "fused-" + SETS[0]).array, wanted, 16, 4)

    def test_gaps(self):
        """A lost sample invalidates those spectra of its station whose windows contain it."""
        x = samples("ci8", (40 * 16, 3, 2))
        validity = numpy.ones((3, 640), bool)
        validity[1, 163] = False
        x[163, 1] = 0
        fir = "n_channels: 16, n_taps: 4"
        for variant in "cpu-" + SETS[0], "fused-" + SETS[0]:
            with self.subTest(variant=variant):
                y = bank("ci8", ORDERS[0], x, fir, "shift: false", variant, (100,), 2, validity)
                lost = numpy.argwhere(~y.validity).tolist()
                self.assertEqual(lost, [[1, t] for t in range(7, 11)])
                self.assertEqual(abs(y.array[7:11, :, 1]).max(), 0)

    def refused(self, words, shape, fir, fft, out):
        with self.assertRaises(pipeline.Failure) as context:
            bank("ci8", ("time station pol", out), samples("ci8", shape), fir, fft,
                 "fused-" + SETS[0])
        self.assertIn(words, str(context.exception))

    def test_refusals(self):
        self.refused("it wants spectra of at most 65536 bytes, of which a cache holds enough, but "
                     "is given 81920", (4096, 5, 2), "n_channels: 1024, n_taps: 2", "shift: false",
                     "time channel station pol")
        self.refused("it transforms the axis phase alone", (64, 5, 2), "n_channels: 8, n_taps: 2",
                     "axis: station, to: beam", "time phase beam pol")


if __name__ == "__main__":
    tap.main()
