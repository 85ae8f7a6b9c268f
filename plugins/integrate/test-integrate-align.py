#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sums that begin at multiples of their length from midnight: of integrate, and of correlate."""
import datetime
import unittest

import numpy

import pipeline
import tap

VARIANTS = pipeline.variants()
rng = numpy.random.default_rng(5)
MIDNIGHT = int(datetime.datetime(2026, 11, 23, tzinfo=datetime.timezone.utc).timestamp())


def stream(type_, axes, shape, epoch, rate="1 Hz", loses=""):
    return (f"observation: {{ start: {epoch} }}\nstages:\n  x: {{ stage: input, layout: "
            f"'{type_}[{axes}]', shape: {shape}, sample_rate: {rate}{loses} }}\n")


def boundaries(n, first, length):
    """Where sums begin in n samples, of which the first is number `first` of the day. Python divides
    downwards, as is wanted for numbers below 0."""
    return [t for t in range(n) if (first + t) % length == 0]


class Align(unittest.TestCase):
    def integrate(self, n, epoch, length, variant, rate="1 Hz", cuts=(1 << 20,), more="",
                  lost=()):
        x = rng.normal(size=(n, 3, 2)).astype("f4")
        validity = numpy.ones((2, n), "u1")
        validity[:, list(lost)] = 0
        text = (stream("f32", "time channel station", [-1, 3, 2], epoch, rate,
                       ", loses: [station]") +
                f"  y: {{ stage: integrate, from: x, length: {length}, align: true{more} }}\n"
                "  z: { stage: output, from: y, layout: 'f32[time channel station]' }\n"
                "  w: { stage: output, from: y.weights, layout: 'u32[time station]' }\n")
        taken = pipeline.run(text, {"x": pipeline.Feed(x, 0, cuts, validity)},
                             {"z": (0, 2), "w": (0, 2)}, {"y": variant})
        x[list(lost)] = 0
        return x.astype(float), validity, taken

    def check(self, n, epoch, length, *arguments, a_second=1, **more):
        first = (epoch - MIDNIGHT) * a_second
        x, validity, taken = self.integrate(n, epoch, length, *arguments, **more)
        at = boundaries(n, first, length)
        wanted, weights = numpy.add.reduceat(x, at), numpy.add.reduceat(validity.T, at, dtype="u4")
        what = (n, epoch, length, *arguments)
        # A rounding to single precision; those of double precision are far below a half of one.
        numpy.testing.assert_array_less(
            abs(taken["z"].array - wanted), 2.0 ** -23 * abs(wanted) + 1e-12, str(what))
        numpy.testing.assert_array_equal(taken["w"].array, weights, str(what))
        self.assertEqual(taken["z"].start, at[0], what)
        self.assertEqual(taken["w"].start, at[0], what)
        lanes = numpy.add.reduceat(validity, at, 1, dtype=int) > 0
        numpy.testing.assert_array_equal(taken["z"].validity != 0, lanes, str(what))

    def test_sums(self):
        for variant in VARIANTS:
            for n, late, length in ((100, 0, 10), (100, 7, 10), (101, 9, 10), (8, 4, 10), (2, 9, 10),
                                    (1, 0, 10), (17, 4, 10), (16, 4, 10), (100, -3, 16), (500, 1, 128),
                                    (50, 12, 1), (40, -1000001, 32), (20, 86395, 43200)):
                for cuts in ((1 << 20,), (1, 5, 2)):
                    self.check(n, MIDNIGHT + late, length, variant, cuts=cuts)

    def test_before_1970(self):
        for variant in VARIANTS[-2:]:
            self.check(90, -5, 40, variant)

    def test_lost_samples(self):
        for variant in VARIANTS:
            self.check(75, MIDNIGHT + 13, 10, variant, lost=(*range(0, 9), 20, *range(40, 70)))

    def test_rates(self):
        """Samples of a day, not of a second, are whole: 86400 · 5/4 kHz."""
        self.check(75, MIDNIGHT + 4, 27, VARIANTS[0], rate="5 kHz/4", a_second=1250)

    def test_average(self):
        x, _, taken = self.integrate(25, MIDNIGHT + 3, 10, VARIANTS[-1], more=", average: true")
        for i, (begin, end) in enumerate(((7, 17), (17, 25))):
            numpy.testing.assert_allclose(taken["z"].array[i], x[begin:end].mean(0), rtol=1e-6,
                                          atol=1e-7)

    def test_correlate(self):
        for variant in VARIANTS:
            for n, late, length in ((70, 13, 16), (130, 1, 128), (300, 130, 128), (130, -1, 25)):
                for cuts in ((1 << 20,), (3, 1, 7)):
                    parts = rng.integers(-100, 100, (n, 1, 4, 2, 2), "i1")
                    text = (stream("ci8", "time channel station pol", [-1, 1, 4, 2],
                                   MIDNIGHT + late) +
                            f"  y: {{ stage: correlate, from: x, integration: {length}, "
                            "align: true, output: ci64 }\n"
                            "  z: { stage: output, from: y, "
                            "layout: \"ci64[time channel baseline pol pol']\" }\n"
                            "  w: { stage: output, from: y.weights, "
                            "layout: 'u32[time channel baseline]' }\n")
                    taken = pipeline.run(text, {"x": pipeline.Feed(parts, 0, cuts)},
                                         {"z": (0, 1), "w": (0, 1)}, {"y": variant})
                    x = parts[..., 0] + 1j * parts[..., 1]
                    at = boundaries(n, late, length)
                    pairs = [(i, j) for i in range(4) for j in range(i + 1)]
                    wanted = numpy.stack([numpy.add.reduceat(
                        x[:, :, i, :, None] * x[:, :, j, None, :].conj(), at) for i, j in pairs], 2)
                    got = taken["z"].array
                    numpy.testing.assert_array_equal(got[..., 0] + 1j * got[..., 1], wanted,
                                                     str((variant, n, late, length, cuts)))
                    self.assertEqual(taken["z"].start, at[0])
                    weights = numpy.diff([*at, n])
                    numpy.testing.assert_array_equal(taken["w"].array[:, 0, 0], weights)

    def test_too_short(self):
        """A stream that ends before the first multiple gives nothing."""
        for variant in VARIANTS:
            for n in (1, 6):
                _, _, taken = self.integrate(n, MIDNIGHT + 4, 10, variant)
                self.assertIsNone(taken["z"].array)

    def test_errors(self):
        def refused(message, **changes):
            with self.assertRaisesRegex(pipeline.Failure, message):
                self.integrate(**{"n": 1, "epoch": MIDNIGHT, "length": 10,
                                  "variant": "reference", **changes})
        refused(r"test:\d+:\d+: node 'y': parameter 'length': wants sums of which a day has a whole "
                "number, for 'align', but is given 7000 samples, 7000 s: the nearest lengths that fit "
                "are 5760 and 7200", length=7000)
        refused("parameter 'align': wants a stream of which a day has a whole number of samples, but "
                r"it has 65917968.75: no sums", rate="200 MHz/262144")
        refused("parameter 'align': wants sums along time", more=", axis: channel", length=3)
        with self.assertRaisesRegex(pipeline.Failure, "wants a stream whose UTC is known"):
            pipeline.run("stages: { x: { stage: input, layout: 'f32[time]', shape: [-1], "
                         "sample_rate: 1 kHz }, y: { stage: integrate, from: x, length: 10, "
                         "align: true }, z: { stage: output, from: y } }",
                         {"x": pipeline.Feed(numpy.zeros(3, "f4"))}, {"z": (0, 1)})
        with self.assertRaisesRegex(pipeline.Failure, "parameter 'align': wants a stream with a "
                                    "sample at midnight UTC, but the nearest one begins 2 s later"):
            self.integrate(1, MIDNIGHT + 2, 5, "reference", rate="1 Hz/4")


if __name__ == "__main__":
    tap.main()
