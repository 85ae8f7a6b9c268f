#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Factors against NumPy; samples that are levelled and quantised, with gaps, blocks and workers."""
import unittest

import numpy

import pipeline
import tap

VARIANTS = pipeline.variants()
rng = numpy.random.default_rng(5)


class Level(unittest.TestCase):
    def test_factors(self):
        for type_, u in (("f32", 2.0 ** -24), ("f64", 2.0 ** -53)):
            x = (rng.random((101, 7)) * 10.0 ** rng.integers(-9, 9, (101, 7))).astype(
                pipeline.DTYPES[type_])
            x[5, :4] = 0, -1, numpy.nan, numpy.inf
            text = (f"stages:\n  x: {{ stage: input, layout: '{type_}[time channel]', "
                    "shape: [-1, 7] }\n  y: { stage: level, from: x, power: 18 }\n"
                    "  z: { stage: output, from: y, layout: '[time channel]' }\n")
            with numpy.errstate(all="ignore"):
                wanted = numpy.where(x > 0, numpy.sqrt(18 / x.astype(numpy.longdouble)), 0)
            for variant in VARIANTS:
                got = pipeline.run(text, {"x": pipeline.Feed(x, 0, (13, 40))}, {"z": (0, 1)},
                                   {"y": variant})["z"].array
                self.assertTrue(numpy.all(abs(got - wanted) <= 4 * u * wanted), (type_, variant))

    def test_factors_of_powers(self):
        """y = mean / x, in place of the root."""
        for type_, u in (("f32", 2.0 ** -24), ("f64", 2.0 ** -53)):
            x = (rng.random((101, 7)) * 10.0 ** rng.integers(-9, 9, (101, 7))).astype(
                pipeline.DTYPES[type_])
            x[5, :4] = 0, -1, numpy.nan, numpy.inf
            text = (f"stages:\n  x: {{ stage: input, layout: '{type_}[time channel]', "
                    "shape: [-1, 7] }\n  y: { stage: level, from: x, mean: 64 }\n"
                    "  z: { stage: output, from: y, layout: '[time channel]' }\n")
            with numpy.errstate(all="ignore"):
                wanted = numpy.where(x > 0, 64 / x.astype(numpy.longdouble), 0)
            for variant in VARIANTS:
                got = pipeline.run(text, {"x": pipeline.Feed(x, 0, (13, 40))}, {"z": (0, 1)},
                                   {"y": variant})["z"].array
                self.assertTrue(numpy.all(abs(got - wanted) <= 4 * u * wanted), (type_, variant))

    def test_powers_for_few_bits(self):
        """Integrated powers of any level, in channels that differ, all come to the mean, and the
        levels of 8 bits have them."""
        n = 40 * 25 * 6
        x = rng.normal(size=(n, 3)) + 1j * rng.normal(size=(n, 3))
        x = (x * 10.0 ** numpy.linspace(-3, 3, n)[:, None] * [1, 40, 3]).astype("c8")
        text = """
stages:
  x: { stage: input, layout: "cf32[time channel]", shape: [-1, 3] }
  powers: { stage: power, from: x }
  spectra: { stage: integrate, from: powers, length: 40 }
  mean: { stage: integrate, from: spectra, length: 25, average: true }
  factors: { stage: level, from: mean, mean: 64 }
  levelled: { stage: gains, from: { in: spectra, gains: factors } }
  y: { stage: quantise, from: levelled, type: i8 }
  z: { stage: output, from: y, layout: "[time channel]" }
  l: { stage: output, from: levelled, layout: "[time channel]" }
"""
        spectra = (abs(x.astype(complex)) ** 2).reshape(-1, 40, 3).sum(1)
        factors = 64 / spectra.reshape(6, 25, 3).mean(1)
        wanted = spectra * factors.repeat(25, 0)
        results = set()
        for cuts, workers in (((n,), 1), ((1,), 1), ((13, 60), 2)):
            taken = pipeline.run(text, {"x": pipeline.Feed(x, 0, cuts)}, {"z": (0, 1), "l": (0, 1)},
                                 workers=workers)
            got = taken["l"].array
            # sums of 40 and of 25, a quotient and a product, all of positive numbers
            self.assertTrue(numpy.allclose(got, wanted, rtol=80 * 2.0 ** -24, atol=0))
            self.assertTrue(numpy.allclose(got.reshape(6, 25, 3).mean(1), 64, rtol=1e-5))
            levels = numpy.clip(numpy.rint(got), -127, 127)
            self.assertTrue(numpy.array_equal(taken["z"].array, levels))
            results.add((got.tobytes(), taken["z"].array.tobytes()))
        self.assertEqual(len(results), 1)

    GRAPH = """
stages:
  x: { stage: input, layout: "cf32[time channel pol]", shape: [-1, 3, 2], loses: [pol] }
  powers: { stage: power, from: x }
  mean: { stage: integrate, from: powers, length: 50, average: true }
  %s
  factors: { stage: level, from: %s, power: 2048 }
  levelled: { stage: gains, from: { in: x, gains: factors } }
  y: { stage: quantise, from: levelled, type: ci8 }
  z: { stage: output, from: y, layout: "[time channel pol]" }
  f: { stage: output, from: factors, layout: "[time channel pol]" }
"""

    def run_graph(self, x, valid, more, source, cuts, workers):
        return pipeline.run(self.GRAPH % (more, source), {"x": pipeline.Feed(x, 0, cuts, valid)},
                            {"z": (0, 2), "f": (0, 2)}, workers=workers)

    def test_levels(self):
        """Followed every 50 samples, or those of the first 50, for each element or all channels."""
        n = 350
        x = rng.normal(size=(n, 3, 2)) + 1j * rng.normal(size=(n, 3, 2))
        x = (x * 10.0 ** numpy.linspace(-3, 3, n)[:, None, None] * [[[1], [40], [3]]]).astype("c8")
        valid = rng.random((2, n)) < 0.8
        x[~numpy.broadcast_to(valid.T[:, None], x.shape)] = 0
        power = (abs(x.astype(complex)) ** 2).reshape(7, 50, 3, 2).sum(1) \
            / valid.T.reshape(7, 50, 1, 2).sum(1)
        across = "across: { stage: integrate, from: mean, axis: channel, length: 3, average: true }"
        first = "first: { stage: select, from: mean, ticks: [0, 1] }"
        for more, source, mean in (("", "mean", power), (first, "first", power[:1]),
                                   (across, "across", power.mean(1, keepdims=True))):
            wanted = numpy.sqrt(2048 / mean)
            parts = x.view("f4").reshape(n, 3, 2, 2).astype(float)
            each = numpy.broadcast_to(wanted, (len(mean), 3, 2))[
                numpy.minimum(numpy.arange(n) // 50, len(mean) - 1)]
            scaled = parts * each[..., None]
            results = []
            for cuts, workers in (((n,), 1), ((1,), 1), ((13, 60), 2)):
                taken = self.run_graph(x, valid, more, source, cuts, workers)
                factors, got = taken["f"].array, taken["z"].array.astype(float)
                self.assertTrue(numpy.allclose(factors, wanted, rtol=1e-5), source)
                # rounded, of samples whose factors differ by 10⁻⁶ at most
                error = abs(got - numpy.clip(scaled, -127, 127))
                self.assertLess(error.max(), 0.5 + 127 * 3e-6, source)
                self.assertTrue(numpy.array_equal(taken["z"].validity, valid), source)
                results.append((got.tobytes(), factors.tobytes()))
            self.assertEqual(len(set(results)), 1, source)
        level = got[got != 0].std()
        self.assertTrue(1 < level < 127, level)

    def test_refuses(self):
        for given, wanted in (
                (", power: 0", "'power': wants"), (", mean: 0", "'mean': wants"),
                ("", "'power': wants 'power', for samples, or 'mean', for powers, but is given "
                 "neither$"),
                (", power: 2, mean: 3", "'mean': wants 'power', for samples, or 'mean', for powers, "
                 "but is given both$"),
        ):
            text = ("stages:\n  x: { stage: input, layout: 'f32[time]', shape: [-1] }\n"
                    f"  y: {{ stage: level, from: x{given} }}\n  z: {{ stage: output, from: y }}\n")
            with self.assertRaisesRegex(pipeline.Failure,
                                        rf"^test:3:\d+: node 'y': parameter {wanted}"):
                pipeline.plan(text)


if __name__ == "__main__":
    tap.main()
