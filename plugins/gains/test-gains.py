#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Gains in all orders of the axes against NumPy in double precision."""
import itertools
import pathlib
import shutil
import tempfile
import unittest

import numpy

import pipeline
import tap

VARIANTS = ["reference"] + ["cpu-" + name for name in pipeline.instruction_sets()]
AXES = ("time", "channel", "station", "pol")
LENGTHS = {"time": -1, "channel": 5, "station": 3, "pol": 2}
rng = numpy.random.default_rng(4)


def normal(*shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


class Gains(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cornerturn-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_gains(self, x, parameters, variant, order=AXES, type_="cf32", cuts=(150, 7, 64),
                  workers=2):
        array = numpy.ascontiguousarray(x.transpose([AXES.index(axis) for axis in order]))
        text = (f"stages:\n  x: {{ stage: input, layout: '{type_}[{' '.join(order)}]', "
                f"shape: {[LENGTHS[axis] for axis in order]} }}\n"
                f"  y: {{ stage: gains, from: x, {parameters} }}\n"
                f"  z: {{ stage: output, from: y, layout: '{type_}[{' '.join(order)}]' }}\n")
        time = order.index("time")
        got = pipeline.run(text, {"x": pipeline.Feed(array, time, cuts)}, {"z": (time, 1)},
                           {"y": variant}, workers=workers)["z"].array
        return got.transpose([order.index(axis) for axis in AXES])

    def close(self, got, wanted, *what):
        """Compares within four roundings of such products."""
        u = 2.0 ** (-24 if got.dtype == numpy.complex64 else -53)
        self.assertTrue(numpy.all(abs(got - wanted) <= 8 * u * abs(wanted)), what)

    def save(self, gains):
        numpy.save(self.folder / "g.npy", gains)
        return f"gains: '{self.folder}/g.npy'"

    def test_all_orders(self):
        x = normal(301, 5, 3, 2).astype(numpy.complex64)
        gains = normal(3, 2, 5)
        given = self.save(gains)
        wanted = x.astype(complex) * gains.transpose(2, 0, 1)
        for variant in VARIANTS:
            for order in itertools.permutations(AXES):
                self.close(self.run_gains(x, given, variant, order), wanted, variant, order)

    def test_double_precision(self):
        x = normal(130, 5, 3, 2)
        gains = normal(3, 2, 5)
        given = self.save(gains)
        for variant in VARIANTS:
            self.close(self.run_gains(x, given, variant, type_="cf64"),
                       x * gains.transpose(2, 0, 1), variant)

    def test_missing_axes_share_a_factor(self):
        x = normal(70, 5, 3, 2).astype(numpy.complex64)
        for gains, more, full in (
                (normal(3, 1, 1), "", lambda g: g[None, :, :, 0]),
                (normal(1, 2, 5), "", lambda g: g[0].T[:, None, :]),
                (normal(5), ", axes: channel", lambda g: g[:, None, None]),
                (normal(2, 3), ", axes: [pol, station]", lambda g: g.T[None]),
        ):
            given = self.save(gains) + more
            for variant in VARIANTS:
                self.close(self.run_gains(x, given, variant), x.astype(complex) * full(gains),
                           variant, more)

    def test_constants(self):
        x = normal(70, 5, 3, 2).astype(numpy.complex64)
        for variant in VARIANTS:
            for order in (AXES, ("channel", "station", "pol", "time")):
                self.close(self.run_gains(x, "gain: [0.5, -2]", variant, order),
                           x.astype(complex) * (0.5 - 2j), variant)
                self.close(self.run_gains(x, "gain: 3", variant, order), x.astype(complex) * 3,
                           variant)

    def test_real_gains_from_a_file(self):
        x = normal(70, 5, 3, 2).astype(numpy.complex64)
        gains = rng.normal(size=(3, 2, 5)).astype(numpy.float32)
        given = self.save(gains)
        for variant in VARIANTS:
            self.close(self.run_gains(x, given, variant),
                       x.astype(complex) * gains.transpose(2, 0, 1), variant)

    def test_real_streams(self):
        """Powers have real factors: from a file, one for all, or their inverse."""
        factors = rng.normal(size=(3, 2, 5))
        factors[2, 1, 3] = 0
        given = self.save(factors)
        full = factors.transpose(2, 0, 1)
        for type_ in "f32", "f64":
            x = rng.normal(size=(301, 5, 3, 2)).astype(pipeline.DTYPES[type_])
            with numpy.errstate(all="ignore"):
                inverted = numpy.where(full == 0, 0, x / full)
            for variant in VARIANTS:
                for order in itertools.permutations(AXES):
                    self.close_real(self.run_gains(x, given, variant, order, type_), x * full,
                                    type_, variant, order)
                self.close_real(self.run_gains(x, given + ", inverse: true", variant, type_=type_),
                                inverted, type_, variant)
                self.close_real(self.run_gains(x, "gain: -3", variant, type_=type_),
                                x * numpy.float64(-3), type_, variant)

    def close_real(self, got, wanted, *what):
        """Compares with the roundings of the factor and of the product."""
        u = 2.0 ** (-24 if got.dtype == numpy.float32 else -53)
        self.assertTrue(numpy.all(abs(got - wanted) <= 4 * u * abs(wanted)), what)

    def test_real_streams_refuse_complex_factors(self):
        x = rng.normal(size=(7, 5, 3, 2)).astype("f4")
        for parameters, wanted in (
                ("gain: [1, 0]", r"^test:3:\d+: node 'y': parameter 'gain': wants a real factor, for "
                 r"the stream is real \(f32\), but is given a real and an imaginary part$"),
                (self.save(normal(3, 2, 5)), r"^test:3:\d+: node 'y': parameter 'gains': .*/g.npy: "
                 "wants real elements, but is given complex ones$"),
        ):
            with self.assertRaisesRegex(pipeline.Failure, wanted):
                self.run_gains(x, parameters, "reference", type_="f32")

    def test_inverse(self):
        x = normal(70, 5, 3, 2).astype(numpy.complex64)
        gains = normal(3, 2, 5)
        gains[1, 0, 2] = 0
        given = self.save(gains) + ", inverse: true"
        with numpy.errstate(all="ignore"):
            wanted = x / gains.transpose(2, 0, 1)
        wanted[:, 2, 1, 0] = 0
        for variant in VARIANTS:
            self.close(self.run_gains(x, given, variant), wanted, variant)

    def test_errors(self):
        x = normal(7, 5, 3, 2).astype(numpy.complex64)
        for parameters, wanted in (
                ("inverse: true", "wants a file 'gains', a constant 'gain' or the port 'gains', but "
                 "is given neither"),
                (self.save(normal(3, 2, 5)) + ", gain: 2", "but is given both"),
                ("gain: [1, 2, 3]", "but is given 3 numbers"),
                (self.save(normal(3, 2, 5)) + ", axes: [station, time, channel]",
                 "wants different axes of the stream other than time, time (length unknown), "
                 "channel 5, station 3, pol 2, but is given 'time'"),
        ):
            self.save(normal(3, 2, 5))
            with self.assertRaises(pipeline.Failure) as raised:
                self.run_gains(x, parameters, "reference")
            self.assertIn(wanted, str(raised.exception))
        given = self.save(normal(3, 5))
        with self.assertRaises(pipeline.Failure) as raised:
            self.run_gains(x, given, "reference")
        self.assertIn("parameter 'gains': wants an array of [station pol channel]",
                      str(raised.exception))
        self.assertIn("has shape (3, 5)", str(raised.exception))
        with self.assertRaises(pipeline.Failure) as raised:
            self.run_gains(x, "gains: /nowhere/g.npy", "reference")
        self.assertIn("/nowhere/g.npy: can't be opened: No such file", str(raised.exception))
        for variant in VARIANTS:
            if variant == "reference":
                continue
            with self.assertRaises(pipeline.Failure) as raised:
                self.run_gains(x, "gain: 1e308", variant)
            self.assertIn("wants numbers of at most 3.40282e+38 for c", str(raised.exception))


if __name__ == "__main__":
    tap.main()
