#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Profiles against numpy in double precision, with turns as exact fractions."""
import fractions
import itertools
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy

import pipeline
import tap

VARIANTS = ["reference"] + ["cpu-" + isa for isa in pipeline.instruction_sets()]
AXES = ("time", "channel", "station", "pol")
Fraction = fractions.Fraction
RATE, EPOCH, SEED = 1000, 1795000000, 11
rng = numpy.random.default_rng(SEED)
print("# seed", SEED)


def bins_of(n, n_bins, frequency, derivative=0, since=0, rate=RATE):
    """The bins of n samples, of which the first begins `since` seconds after the epoch, and how far
    their turns are from the nearest end of a bin."""
    bins, far = numpy.empty(n, int), numpy.empty(n)
    for i in range(n):
        t = since + (i + Fraction(1, 2)) / rate
        turns = (frequency * t + derivative * t * t / 2) % 1
        bins[i] = turns * n_bins // 1
        far[i] = abs(turns - Fraction(round(turns * n_bins), n_bins))
    return bins, far


def profiles_of(x, bins, n_bins, length):
    """[subintegration][bin] … sums of the first axis of x."""
    sums = numpy.zeros((-(-len(x) // length), n_bins, *x.shape[1:]), x.dtype)
    for i, sample in enumerate(x):
        sums[i // length, bins[i]] += sample
    return sums


def run(x, more, variant, order=AXES, out=None, type_="f32", cuts=(1 << 20,), workers=1,
        validity=None, loses=(), rate=RATE):
    """The profiles, [time bin channel station pol], the counts [time bin …], and their stream."""
    lengths = dict(zip(AXES, (-1, *x.shape[1:])))
    out = out or (*order, "bin")
    counts = ("time", "bin", *loses)
    text = (f"observation: {{ start: {EPOCH} }}\n"
            f"stages:\n  x: {{ stage: input, layout: '{type_}[{' '.join(order)}]', "
            f"shape: {[lengths[axis] for axis in order]}, sample_rate: {rate}"
            + (f", loses: [{', '.join(loses)}]" if loses else "") + " }\n"
            f"  y: {{ stage: fold, from: x, {more} }}\n"
            f"  z: {{ stage: output, from: y, layout: '[{' '.join(out)}]' }}\n"
            f"  w: {{ stage: output, from: y.counts, layout: 'u32[{' '.join(counts)}]' }}\n")
    array = numpy.ascontiguousarray(x.transpose([AXES.index(axis) for axis in order]))
    n_lanes = int(numpy.prod([lengths[axis] for axis in loses], dtype=int))
    taken = pipeline.run(text, {"x": pipeline.Feed(array, order.index("time"), cuts, validity)},
                         {"z": (out.index("time"), n_lanes), "w": (0, n_lanes)}, {"y": variant},
                         workers=workers)
    wanted = ("time", "bin", *AXES[1:])
    return (taken["z"].array.transpose([out.index(axis) for axis in wanted]), taken["w"].array,
            taken["z"])


def values(type_, *shape):
    return (rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(
        pipeline.DTYPES[type_])


class Fold(unittest.TestCase):
    def close(self, got, wanted, absolute, n, *what):
        """n additions in double precision, here and in numpy, and a rounding to the output's type."""
        u = 2.0 ** -24 if got.dtype == numpy.float32 else 0
        self.assertEqual(got.shape, wanted.shape, what)
        self.assertTrue(numpy.all(abs(got - wanted) <= u * abs(wanted) +
                                  2 * n * 2.0 ** -53 * absolute), what)

    def check(self, type_, shape, length, n_bins, variants, orders, cuts, workers):
        x = values(type_, *shape)
        frequency = Fraction("12.345678")
        bins, far = bins_of(len(x), n_bins, frequency)
        self.assertGreater(far.min(), 0)
        wanted = profiles_of(x.astype(float), bins, n_bins, length)
        absolute = profiles_of(abs(x.astype(float)), bins, n_bins, length)
        counts = profiles_of(numpy.ones(len(x), int), bins, n_bins, length)
        more = f"frequency: 12.345678 Hz, n_bins: {n_bins}, subintegration: {length}"
        for variant, (order, out) in itertools.product(variants, orders):
            got, number, _ = run(x, more, variant, order, out, type_, cuts, workers)
            self.close(got, wanted, absolute, length, type_, shape, length, variant, order, out)
            numpy.testing.assert_array_equal(number, counts, str((variant, length)))

    def test_all_orders(self):
        orders = [(order, out) for order in pipeline.some(itertools.permutations(AXES))
                  for out in ((*order, "bin"), ("bin", *order[::-1]))]
        self.check("f32", (203, 5, 3, 2), 50, 13, VARIANTS, orders, (31, 1, 14), 2)

    def test_types_and_lengths(self):
        orders = [(AXES, None), (("channel", "station", "pol", "time"), None),
                  (("channel", "station", "time", "pol"), ("time", "bin", *AXES[1:]))]
        for type_, length, n_bins in pipeline.some(
                itertools.product(("f32", "f64"), (1, 7, 103, 1000), (1, 2, 64, 1000))):
            self.check(type_, (103, 5, 3, 2), length, n_bins, VARIANTS, orders, (40,), 1)

    def test_converted_types(self):
        """Sums of integers are exact."""
        bins, _ = bins_of(203, 5, Fraction("12.345678"))
        for type_ in ("i8", "u8", "i16", "f16"):
            x = rng.integers(0, 127, (203, 5, 3, 2)).astype(pipeline.DTYPES[type_])
            got, _, _ = run(x, "frequency: 12.345678, n_bins: 5, subintegration: 60", VARIANTS[-1],
                            type_=type_)
            self.assertEqual(got.dtype, "f4")
            numpy.testing.assert_array_equal(got, profiles_of(x.astype(float), bins, 5, 60))

    def test_many_channels(self):
        """Rows in several chunks, of which the last is short."""
        for n_channels, n_bins in ((1300, 3), (333, 700)):
            self.check("f32", (300, n_channels, 1, 2), 120, n_bins, VARIANTS,
                       [(AXES, None), (("pol", "time", "station", "channel"), None)], (77, 200), 2)

    def test_cuts_and_variants_do_not_matter(self):
        """The bits are the same: the order of additions is that of time."""
        x = values("f32", 411, 5, 3, 2)
        more = "period: 23.7 ms, n_bins: 9, subintegration: 100"
        first = run(x, more, "reference")[0]
        for variant in VARIANTS:
            for order in (AXES, ("channel", "station", "pol", "time"),
                          ("channel", "station", "time", "pol")):
                for cuts, workers in (((411,), 1), ((1,), 1), ((7, 30, 1, 64), 3), ((100,), 2)):
                    got = run(x, more, variant, order, cuts=cuts, workers=workers)[0]
                    self.assertEqual(got.tobytes(), first.tobytes(), (variant, order, cuts))

    def test_gaps(self):
        """Lost samples are not counted; a bin without samples is 0."""
        for loses, axis in (((), ()), (("station",), (3,)), (("channel", "pol"), (5, 2))):
            x = values("f32", 301, 5, 3, 2)
            valid = rng.random((int(numpy.prod(axis, dtype=int)), 301)) < 0.6
            valid[0, 100:200] = False  # a whole subintegration, in one lane
            each = valid.T.reshape(301, *axis)
            shape = [n if name in loses else 1 for name, n in zip(AXES[1:], (5, 3, 2))]
            x *= each.reshape(301, *shape)
            bins, _ = bins_of(301, 8, Fraction(1000, 21))
            counts = profiles_of(each.astype(int), bins, 8, 100)
            wanted = profiles_of(x.astype(float), bins, 8, 100)
            absolute = profiles_of(abs(x.astype(float)), bins, 8, 100)
            number = counts.reshape(*counts.shape[:2], *shape)
            self.assertTrue((counts == 0).any() and (counts > 0).any())
            for variant, (cuts, workers) in itertools.product(
                    VARIANTS, (((301,), 1), ((13, 1, 27), 2))):
                for more, result in (("", wanted),
                                     (", average: true", wanted / numpy.maximum(number, 1))):
                    got, given, taken = run(
                        x, "period: 21 ms, n_bins: 8, subintegration: 100" + more, variant,
                        cuts=cuts, workers=workers, validity=valid, loses=loses)
                    self.close(got, result, absolute, 102, variant, more, loses)
                    numpy.testing.assert_array_equal(given, counts, str((variant, loses)))
                    lanes = counts.sum(1).reshape(len(counts), -1).T > 0
                    numpy.testing.assert_array_equal(taken.validity, lanes)


class Turns(unittest.TestCase):
    """The bin of each sample: sample k of a subintegration has the value k + 1."""

    def find(self, n, n_bins, more, variant="reference", rate=RATE):
        """The bins of n samples that are in different ones."""
        x = numpy.arange(1, n + 1, dtype="f8").reshape(n, 1, 1, 1)
        got, counts, _ = run(x, f"n_bins: {n_bins}, subintegration: {n}, " + more, variant,
                             type_="f64", rate=rate)
        self.assertEqual(counts.max(), 1, "two samples are in one bin")
        bins = numpy.flatnonzero(counts[0])
        return bins[numpy.argsort(got[0, bins, 0, 0, 0])]

    def test_long_after_the_epoch(self):
        """Turns are right to 10⁻⁶ and better from a day to ten years after the epoch, near 1 kHz: each
        sample is in that of 2²⁰ bins in which exact fractions put it."""
        for more, frequency, derivative in (
                ("frequency: 997.123456789012345", Fraction("997.123456789012345"), 0),
                ("frequency: 997.123456789012345, frequency_derivative: -3.7e-10",
                 Fraction("997.123456789012345"), Fraction(-3.7e-10)),
                ("period: 1.0028763 ms", 1 / Fraction("0.0010028763"), 0),
                ("period: 1.0028763 ms, period_derivative: 2.5e-17", 1 / Fraction("0.0010028763"),
                 -Fraction(2.5e-17) / Fraction("0.0010028763") ** 2)):
            for since in (Fraction(86400), Fraction("86400.123456789012345678"),
                          Fraction(10 * 365 * 86400) + Fraction(1, 3), Fraction(-1000000)):
                since = Fraction(round(since * 10 ** 18), 10 ** 18)
                at = EPOCH - since
                whole = at.numerator // at.denominator
                epoch = f"{numpy.datetime64(whole, 's')}.{int((at - whole) * 10 ** 18):018d}Z"
                wanted, far = bins_of(40, 1 << 20, frequency, derivative, since)
                # The terms of the derivative: 2⁻⁴⁹ · ½ |ḟ| (t − t0)².
                error = float(abs(derivative) * since ** 2 / 2) * 2.0 ** -49 + 2.0 ** -70
                told = far > error
                self.assertGreater(told.sum(), 35)
                self.assertLess(error, 1e-7)
                found = self.find(40, 1 << 20, f"{more}, epoch: '{epoch}'")
                numpy.testing.assert_array_equal(found[told], wanted[told], f"{more} {epoch}")

    def test_ends_of_bins(self):
        """A sample whose middle is where a bin begins is in this bin."""
        for n_bins, period, n in ((6, "3 ms", 3), (2 * 7 * 1000, "7 ms", 7), (22, "11 ms", 11)):
            wanted, far = bins_of(n, n_bins, 1 / Fraction(period.split()[0]) * 1000)
            self.assertEqual(far.min(), 0)
            numpy.testing.assert_array_equal(self.find(n, n_bins, f"period: {period}"), wanted)
        x = numpy.ones((9001, 1, 1, 1), "f4")
        counts = run(x, "period: 3 ms, n_bins: 6, subintegration: 9001", "reference")[1]
        numpy.testing.assert_array_equal(counts[0], [0, 3001, 0, 3000, 0, 3000])

    def test_odd_rates(self):
        """Ticks per second that are a fraction, and an epoch between two of them."""
        rate = Fraction(781250, 3)
        wanted, _ = bins_of(30, 4096, Fraction("3333.3"), 0, Fraction("-0.25"), rate)
        found = self.find(30, 4096, f"frequency: 3.3333 kHz, epoch: "
                          f"'{numpy.datetime64(EPOCH, 's')}.25Z'", rate="781250 Hz/3")
        numpy.testing.assert_array_equal(found, wanted)

    def test_default_epoch(self):
        """Turns begin where the stream does, also if that is not tick 0."""
        x = rng.normal(size=(200, 1, 1, 1)).astype("f4")
        text = f"""
stages:
  x: {{ stage: input, layout: 'f32[time channel]', shape: [-1, 1], sample_rate: {RATE},
       frequencies: [1e8] }}
  d: {{ stage: dedisperse, from: x, dms: [30], reference_frequency: 2e8 }}
  y: {{ stage: fold, from: d, period: 20 ms, n_bins: 10, subintegration: 40 }}
  z: {{ stage: output, from: y, layout: '[time bin dm]' }}
"""
        got = pipeline.run(text, {"x": pipeline.Feed(x[:, :, 0, 0])}, {"z": (0, 1)})["z"]
        bins, _ = bins_of(200, 10, Fraction(50))
        numpy.testing.assert_allclose(got.array[..., 0],
                                      profiles_of(x[:, 0, 0, 0].astype(float), bins, 10, 40),
                                      rtol=0, atol=1e-6)
        self.assertLess(got.start, 0)

    def test_align(self):
        """Profiles that begin at full times; turns are counted from the epoch, not from them."""
        x = values("f32", 95, 2, 1, 1)
        first = EPOCH % 86400 % 10
        late = (10 - first) % 10
        bins, _ = bins_of(95, 4, Fraction("0.13"), rate=1)
        wanted = profiles_of(x[late:].astype(float), bins[late:], 4, 10)
        for variant in VARIANTS:
            got, _, taken = run(x, "frequency: 0.13, n_bins: 4, subintegration: 10 s, align: true",
                                variant, cuts=(7,), rate=1)
            self.assertEqual(taken.start, late)
            numpy.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-3)


class Description(unittest.TestCase):
    def test_coordinates(self):
        with tempfile.TemporaryDirectory() as folder:
            numpy.save(pathlib.Path(folder) / "x.npy", numpy.ones((100, 2), "f4"))
            text = (f"stages: {{ x: {{ stage: file.source, path: {folder}/x.npy, "
                    "layout: 'f32[time channel]', sample_rate: 100 }, "
                    "y: { stage: fold, from: x, period: 1, n_bins: 8, subintegration: 500 ms }, "
                    f"z: {{ stage: file.sink, from: y, path: {folder}/y.npy }} }}")
            pipeline.run(text, {}, {})
            beside = json.loads((pathlib.Path(folder) / "y.npy.json").read_text())
            axes = {axis["name"]: axis for axis in beside["axes"]}
            self.assertEqual([axes["bin"][key] for key in ("length", "unit", "first", "step")],
                             [8, "turn", 1 / 16, 1 / 8])
            self.assertEqual(beside["ticks_per_sample"], 50)

    def test_warning(self):
        for period, warns in (("1.99 ms", True), ("2 ms", False)):
            with tempfile.TemporaryDirectory() as folder:
                graph = pathlib.Path(folder) / "graph.yaml"
                graph.write_text(
                    "stages:\n  x: { stage: generate, type: f32, sample_rate: 1 kHz, samples: 10, "
                    f"first_frequency: 1 }}\n  y: {{ stage: fold, from: x, period: {period}, n_bins: 2, "
                    "subintegration: 10 }\n  z: { stage: discard, from: y }\n")
                done = subprocess.run([os.environ["CORNERTURN"], "check", "--quiet", graph],
                                      capture_output=True, text=True, check=True)
                self.assertEqual("node 'y': warning: parameter 'period': makes turns of 1.99 samples: "
                                 "no pulse is seen in fewer than 2" in done.stderr, warns, done.stderr)

    def refuse(self, message, more, length=10):
        with self.assertRaises(pipeline.Failure) as raised:
            run(numpy.zeros((100, 1, 1, 1), "f4"), f"n_bins: 4, subintegration: {length}{more}",
                "reference")
        self.assertIn(message, str(raised.exception))

    def test_errors(self):
        self.refuse("parameter 'period': wants 'period' or 'frequency', but is given neither", "")
        self.refuse("parameter 'period': wants 'period' or 'frequency', but is given both",
                    ", period: 1, frequency: 1")
        self.refuse("parameter 'frequency_derivative': wants 'frequency' beside it, but is given "
                    "'period'", ", period: 1, frequency_derivative: 0")
        self.refuse("parameter 'period_derivative': wants 'period' beside it, but is given "
                    "'frequency'", ", frequency: 1, period_derivative: 0")
        self.refuse("parameter 'frequency_derivative': wants turns that can be computed to 1e-06, but "
                    "0.001 Hz/s over 1.795e+09 s since the epoch makes an error of 2.9", ", frequency: 1, "
                    "frequency_derivative: 1e-3, epoch: 0")
        self.refuse("parameter 'period': wants turns that can be computed to 1e-06, but is given more "
                    "digits than 18, which are rounded to double precision: over 1.795e+09 s since the "
                    "epoch an error of 0.0002", ", period: 1.5578064688197943 ms, epoch: 0")
        self.refuse("parameter 'epoch': ", ", period: 1, epoch: yesterday")
        self.refuse("parameter 'period'", ", period: 0")
        self.refuse("parameter 'subintegration'", ", period: 1", "1.5 ms")
        with self.assertRaises(pipeline.Failure) as raised:
            pipeline.run("stages: { x: { stage: input, layout: 'f32[time bin]', shape: [-1, 2], "
                         "sample_rate: 1 }, y: { stage: fold, from: x, period: 5, n_bins: 2, "
                         "subintegration: 3 }, z: { stage: output, from: y } }",
                         {"x": pipeline.Feed(numpy.zeros((9, 2), "f4"))}, {"z": (0, 1)})
        self.assertIn("wants room for another axis, and none of the name bin, but is given time",
                      str(raised.exception))
        for more, message in (("", "input 'in' wants a sample rate, but is given none"),
                              (", sample_rate: 1", "parameter 'epoch': wants a stream whose UTC is "
                               "known")):
            with self.assertRaises(pipeline.Failure) as raised:
                pipeline.run(f"stages: {{ x: {{ stage: input, layout: 'f32[time]', shape: [-1]{more}"
                             " }, y: { stage: fold, from: x, period: 5, n_bins: 2, epoch: 7, "
                             "subintegration: 3 }, z: { stage: output, from: y } }",
                             {"x": pipeline.Feed(numpy.zeros(9, "f4"))}, {"z": (0, 1)})
            self.assertIn(message, str(raised.exception))


if __name__ == "__main__":
    tap.main()
