#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sums along time against NumPy: short last sums, blocks, gaps, weights."""
import itertools
import unittest

import numpy

import pipeline
import tap

VARIANTS = pipeline.variants()
AXES = ("time", "channel", "station", "pol")
LENGTHS = {"time": -1, "channel": 5, "station": 3, "pol": 2}
rng = numpy.random.default_rng(8)


def sums(x, length):
    """Sums along the first axis; the last may be short."""
    return numpy.stack([x[i:i + length].sum(0) for i in range(0, len(x), length)])


def values(type_, *shape):
    x = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape)
    if type_[0] == "c":
        x = x + 1j * rng.normal(size=shape)
    return x.astype(pipeline.DTYPES[type_])


def integrate(x, type_, length, variant, order=AXES, cuts=(1 << 20,), workers=1, more="",
              validity=None, lengths=None, loses=()):
    """The sums, in the order of AXES, and the weights [time …] of the axes that lose data."""
    lengths = lengths or LENGTHS
    array = numpy.ascontiguousarray(x.transpose([AXES.index(axis) for axis in order]))
    text = (f"stages:\n  x: {{ stage: input, layout: '{type_}[{' '.join(order)}]', "
            f"shape: {[lengths[axis] for axis in order]}"
            + (f", loses: [{', '.join(loses)}]" if loses else "") + " }\n"
            f"  y: {{ stage: integrate, from: x, length: {length}{more} }}\n"
            f"  z: {{ stage: output, from: y, layout: '{type_}[{' '.join(order)}]' }}\n"
            f"  w: {{ stage: output, from: y.weights, layout: 'u32[{' '.join(('time',) + loses)}]' }}\n")
    time = order.index("time")
    n_lanes = int(numpy.prod([lengths[axis] for axis in loses], dtype=int))
    taken = pipeline.run(text, {"x": pipeline.Feed(array, time, cuts, validity)},
                         {"z": (time, n_lanes), "w": (0, n_lanes)}, {"y": variant}, workers=workers)
    return (taken["z"].array.transpose([order.index(axis) for axis in AXES]), taken["w"].array,
            taken["z"])


class Sums(unittest.TestCase):
    def close(self, got, wanted, absolute, n, *what):
        """Compares within n roundings of double precision and one of the output's."""
        u = 2.0 ** -24 if got.real.dtype == numpy.float32 else 0
        self.assertEqual(got.shape, wanted.shape, what)
        self.assertTrue(numpy.all(abs(got - wanted) <= 2 * u * abs(wanted) +
                                  2 * n * 2.0 ** -53 * absolute), what)

    def check(self, type_, n, length, variants, orders, cuts, workers):
        x = values(type_, n, 5, 3, 2)
        exact = x.astype(numpy.clongdouble if type_[0] == "c" else numpy.longdouble)
        wanted = sums(exact, length)
        absolute = sums(abs(exact), length).astype(float)
        counts = sums(numpy.ones(n), length)
        for variant in variants:
            for order in orders:
                got, weights, _ = integrate(x, type_, length, variant, order, cuts, workers)
                self.close(got, wanted, absolute, length, type_, length, variant, order)
                self.assertTrue(numpy.array_equal(weights, counts), (type_, length, variant))

    def test_all_orders(self):
        self.check("cf32", 103, 10, VARIANTS, pipeline.some(itertools.permutations(AXES)),
                   (31, 1, 14), 2)

    def test_types_and_lengths(self):
        for type_, length in pipeline.some(itertools.product(("f32", "f64", "cf32", "cf64"),
                                                             (1, 7, 64, 103, 1000))):
            self.check(type_, 103, length, VARIANTS,
                       [AXES, ("channel", "station", "pol", "time"),
                        ("channel", "station", "time", "pol")], (40,), 1)

    def test_many_channels(self):
        x = rng.normal(size=(40, 1300, 1, 1)).astype(numpy.float32)
        lengths = {"time": -1, "channel": 1300, "station": 1, "pol": 1}
        for variant in VARIANTS:
            got, _, _ = integrate(x, "f32", 16, variant, lengths=lengths, workers=2)
            self.close(got, sums(x.astype(float), 16), sums(abs(x.astype(float)), 16), 16, variant)

    def test_cuts_do_not_matter(self):
        x = values("f32", 211, 5, 3, 2)
        for variant in VARIANTS:
            for order in (AXES, ("channel", "station", "pol", "time"),
                          ("channel", "station", "time", "pol")):
                first = integrate(x, "f32", 50, variant, order)[0]
                for cuts, workers in (((1,), 1), ((7, 30, 1, 64), 2), ((50,), 2)):
                    got = integrate(x, "f32", 50, variant, order, cuts, workers)[0]
                    self.assertEqual(got.tobytes(), first.tobytes(), (variant, order, cuts))

    def test_gaps_lower_weights(self):
        x = values("cf32", 96, 5, 3, 2)
        valid = rng.random((3, 96)) < 0.7
        valid[1, 20:40] = False
        x *= valid.T[:, None, :, None]
        exact = x.astype(complex)
        counts = sums(valid.T.astype(int), 20)
        wanted = sums(exact, 20)
        with numpy.errstate(all="ignore"):
            mean = numpy.nan_to_num(wanted / counts[:, None, :, None])
        absolute = sums(abs(exact), 20)
        for variant in VARIANTS:
            for cuts, workers in (((96,), 1), ((13, 1, 27), 2)):
                for more, result in (("", wanted), (", average: true", mean)):
                    got, weights, taken = integrate(
                        x, "cf32", 20, variant, cuts=cuts, workers=workers, more=more,
                        validity=valid, loses=("station",))
                    self.close(got, result, absolute, 20, variant, more)
                    self.assertTrue(numpy.array_equal(weights, counts), variant)
                    self.assertTrue(numpy.array_equal(taken.validity, counts.T > 0), variant)

    def test_average(self):
        x = values("f64", 103, 5, 3, 2)
        wanted = numpy.stack([x[i:i + 10].mean(0) for i in range(0, 103, 10)])
        for variant in VARIANTS:
            got, _, _ = integrate(x, "f64", 10, variant, cuts=(9,), more=", average: true")
            self.close(got, wanted, abs(wanted) + 1e4, 10, variant)

    def test_nothing_gives_nothing(self):
        for variant in VARIANTS:
            got = pipeline.run(
                "stages:\n  x: { stage: input, layout: 'f32[time channel]', shape: [-1, 5] }\n"
                "  y: { stage: integrate, from: x, length: 3 }\n"
                "  z: { stage: output, from: y, layout: '[time channel]' }\n",
                {"x": pipeline.Feed(numpy.zeros((0, 5), "f4"))}, {"z": (0, 1)}, {"y": variant})["z"]
            self.assertTrue(got.array is None or got.array.size == 0)


if __name__ == "__main__":
    tap.main()
