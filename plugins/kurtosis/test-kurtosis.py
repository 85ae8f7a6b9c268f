#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Spectral kurtosis against NumPy: estimates, thresholds, marks, gaps; a tone in a filter bank."""
import math
import unittest

import numpy

import pipeline
import tap

VARIANTS = pipeline.variants()
AXES = ("time", "channel", "pol")
LENGTHS = {"time": -1, "channel": 5, "pol": 2}
rng = numpy.random.default_rng(11)


def samples(type_, n, n_channels=5):
    """Noise, exact in any type; channel 3 has a steady tone, channel 4 is mostly 0."""
    shape = (n, n_channels, 2)
    if type_[0] == "f":
        return rng.integers(1, 2000, shape).astype(pipeline.DTYPES[type_])
    limit = 7 if type_ == "ci4" else 60
    z = rng.integers(-limit, limit + 1, shape) + 1j * rng.integers(-limit, limit + 1, shape)
    z[:, 3] = limit
    z[:, 4] *= rng.random((n, 2)) < 0.1
    return z


def packed(z, type_):
    """Complex samples as the elements of a type."""
    if type_ == "ci4":
        return ((z.real.astype(int) & 15) << 4 | (z.imag.astype(int) & 15)).astype("u1")
    if type_ in pipeline.PAIRS:
        return numpy.stack([z.real, z.imag], -1).astype(pipeline.DTYPES[type_])
    return z.astype(pipeline.DTYPES[type_])


def estimates(x, length, shape=1, valid=None):
    """The estimator (Nita & Gary 2010) and the numbers of samples, of [time …]."""
    power = abs(x) ** 2 if numpy.iscomplexobj(x) else x.astype(float)
    valid = numpy.broadcast_to(True if valid is None else valid, x.shape)
    made, counts = [], []
    for i in range(0, len(x), length):
        m = valid[i:i + length].sum(0)
        p = numpy.where(valid[i:i + length], power[i:i + length], 0)
        with numpy.errstate(all="ignore"):
            made.append((m * shape + 1) / (m - 1) * (m * (p * p).sum(0) / p.sum(0) ** 2 - 1))
        counts.append(m)
    return numpy.stack(made), numpy.stack(counts)


def thresholds(m, k, sigma=3):
    """Those of the log-normal distribution that has the estimator's first three moments, which
    follow from the moments of the Dirichlet distribution: Σ p² / (Σ p)² of gamma variates."""
    def rising(a, n):
        return math.prod(a + i for i in range(n))
    first = m * rising(k, 2) / rising(m * k, 2)
    second = (m * rising(k, 4) + m * (m - 1) * rising(k, 2) ** 2) / rising(m * k, 4)
    third = (m * rising(k, 6) + 3 * m * (m - 1) * rising(k, 4) * rising(k, 2)
             + m * (m - 1) * (m - 2) * rising(k, 2) ** 3) / rising(m * k, 6)
    variance = second - first ** 2
    skewness = (third - 3 * second * first + 2 * first ** 3) / variance ** 1.5
    scale = (m * k + 1) / (m - 1) * m * math.sqrt(variance)
    low, high = 0.0, 10.0
    for _ in range(100):
        middle = (low + high) / 2  # (w + 2) √(w − 1) = skewness, w = exp(s²)
        below = (math.exp(middle ** 2) + 2) * math.sqrt(math.expm1(middle ** 2)) < skewness
        low, high = (middle, high) if below else (low, middle)
    return [1 + scale * math.expm1(low * z - low ** 2 / 2) / math.sqrt(math.expm1(low ** 2))
            for z in (-sigma, sigma)]


def run(x, type_, variant, parameters, order=AXES, cuts=(1 << 20,), workers=1, valid=None,
        loses=(), n_channels=5):
    """Estimates [time channel pol], their validity, and the weights [time …] of `loses`."""
    lengths = {**LENGTHS, "channel": n_channels}
    array = packed(x, type_)
    order_of = [AXES.index(axis) for axis in order] + list(range(3, array.ndim))
    array = numpy.ascontiguousarray(array.transpose(order_of))
    text = (f"stages:\n  x: {{ stage: input, layout: '{type_}[{' '.join(order)}]', "
            f"shape: {[lengths[axis] for axis in order]}"
            + (f", loses: [{', '.join(loses)}]" if loses else "") + " }\n"
            f"  y: {{ stage: kurtosis, from: x, {parameters} }}\n"
            f"  z: {{ stage: output, from: y, layout: 'f32[{' '.join(order)}]' }}\n"
            f"  w: {{ stage: output, from: y.weights, "
            f"layout: 'u32[{' '.join(('time',) + loses)}]' }}\n")
    time = order.index("time")
    n_lanes = math.prod(lengths[axis] for axis in loses)
    taken = pipeline.run(text, {"x": pipeline.Feed(array, time, cuts, valid)},
                         {"z": (time, n_channels * 2), "w": (0, n_lanes)}, {"y": variant},
                         workers=workers)
    # lanes are in the order of the stream, whatever its layout
    lanes = taken["z"].validity.reshape(n_channels, 2, -1).transpose(2, 0, 1)
    return (taken["z"].array.transpose([order.index(axis) for axis in AXES]), lanes,
            taken["w"].array)


class Kurtosis(unittest.TestCase):
    def close(self, got, lanes, wanted, length, shape, limits, counts, *what):
        """Valid estimates are within their error, others 0; validity is as the limits say, but for
        estimates that rounding may put on either side."""
        bound = (2.0 ** -24 * abs(wanted) + 4 * length * 2.0 ** -53 * (abs(wanted) + shape + 2))
        with numpy.errstate(all="ignore"):
            scaled = 1 + (wanted - 1) * numpy.sqrt(counts / length)
            inside = (counts > 1) & (scaled >= limits[0]) & (scaled <= limits[1])
            edge = numpy.minimum(abs(scaled - limits[0]), abs(scaled - limits[1])) < 1e-9
        self.assertTrue(numpy.all((lanes == inside) | edge), what)
        self.assertTrue(numpy.all(abs(got - wanted)[lanes] <= bound[lanes]), what)
        self.assertTrue(numpy.all(got[~lanes] == 0), what)

    def test_types_and_orders(self):
        orders = (AXES, ("channel", "pol", "time"), ("channel", "time", "pol"))
        types = ("ci4", "ci8", "ci16", "cf16", "cf32", "cf64", "f16", "f32", "f64")
        for i, type_ in enumerate(types):
            x = samples(type_, 200)
            for j, (length, averaged) in enumerate(((64, 4), (7, 1.5), (200, 1))):
                shape = averaged if type_[0] == "f" else 1
                more = f", averaged: {averaged}" if type_[0] == "f" else ""
                wanted, counts = estimates(x, length, shape)
                limits = thresholds(length, shape)
                for variant in VARIANTS:
                    order = orders[(i + j) % 3]
                    got, lanes, weights = run(x, type_, variant, f"length: {length}{more}",
                                              order, (90, 1, 33), 2)
                    self.close(got, lanes, wanted, length, shape, limits, counts,
                               type_, length, variant, order)
                    self.assertTrue(numpy.array_equal(weights, counts[:, 0, 0]))

    def test_given_thresholds(self):
        x = samples("cf32", 128)
        wanted, counts = estimates(x, 32)
        for parameters, limits in (("lower: 0.4, upper: 1.4", (0.4, 1.4)),
                                   ("upper: 1.05", (thresholds(32, 1)[0], 1.05)),
                                   ("lower: 0.45, sigma: 2", (0.45, thresholds(32, 1, 2)[1]))):
            for variant in VARIANTS:
                got, lanes, _ = run(x, "cf32", variant, "length: 32, " + parameters)
                self.close(got, lanes, wanted, 32, 1, limits, counts, variant, parameters)
                self.assertTrue(lanes.any() and not lanes.all())

    def test_gaps(self):
        """Invalid samples are left out: n is the number of valid ones."""
        x = samples("cf32", 150)
        valid = rng.random((5, 150)) < 0.6
        valid[2, 40:85] = False  # in the hop from 40 on, no sample, and in the next all but few
        valid[1, 80:120] = False
        valid[1, 99] = True  # one sample is not enough
        x = x * valid.T[:, :, None]
        wanted, counts = estimates(x, 40, valid=valid.T[:, :, None])
        for variant in VARIANTS:
            for order in (AXES, ("channel", "time", "pol"), ("pol", "time", "channel")):
                for cuts, workers in (((150,), 1), ((13, 1, 27), 2)):
                    got, lanes, weights = run(x, "cf32", variant, "length: 40", order, cuts,
                                              workers, valid, ("channel",))
                    self.assertTrue(numpy.array_equal(weights, counts[:, :, 0]), variant)
                    self.close(got, lanes, wanted, 40, 1, thresholds(40, 1), counts, variant, order)

    def test_cuts_do_not_matter(self):
        x = samples("cf64", 211) * 1.1
        for variant in VARIANTS:
            for order in (AXES, ("channel", "pol", "time"), ("channel", "time", "pol")):
                first = run(x, "cf64", variant, "length: 50", order)
                for cuts, workers in (((1,), 1), ((7, 30, 1, 64), 2)):
                    got = run(x, "cf64", variant, "length: 50", order, cuts, workers)
                    for a, b in zip(first, got):
                        self.assertEqual(a.tobytes(), b.tobytes(), (variant, order, cuts))

    def test_noise(self):
        """Thresholds of sigma pass normal noise: of 40,000 estimates, 99.5 % to 99.8 %.

        The nominal rate beyond 3 sigma is 0.0027, and that of the estimator with M = 256 0.0038
        (README.md), with a standard deviation of 0.0003 here."""
        n = 256 * 100
        x = (rng.normal(size=(n, 200, 2)) + 1j * rng.normal(size=(n, 200, 2))).astype("c8")
        _, lanes, _ = run(x, "cf32", VARIANTS[0], "length: 256",
                          n_channels=200)
        rate = 1 - lanes.mean()
        self.assertTrue(0.002 < rate < 0.005, rate)

    def test_a_tone(self):
        """Of noise and a tone through a filter bank, the tone's channel has weight 0, and no other
        loses more than the false alarms: 150 estimates with a rate of 0.004 lose more than 8 with a
        probability of 1e-7."""
        text = """
stages:
  sky: { stage: generate, type: cf32, sample_rate: 1 MHz, centre_frequency: 100 MHz, duration: 614.4 ms,
         n_stations: 1, n_pols: 1, noise: 1, tone_frequencies: [100.125 MHz], tone_amplitudes: [1] }
  filter: { stage: fir, from: sky, n_channels: 16, n_taps: 4 }
  spectra: { stage: fft, from: filter }
  estimate: { stage: kurtosis, from: spectra, length: 256 }
  mean: { stage: integrate, from: estimate, length: 150, average: true }
  w: { stage: output, from: mean.weights, layout: 'u32[time channel station pol]' }
  z: { stage: output, from: mean, layout: 'f32[time channel station pol]' }
"""
        for variant in VARIANTS:
            taken = pipeline.run(text, {}, {"w": (0, 16), "z": (0, 16)}, {"estimate": variant})
            weights, means = taken["w"].array[0, :, 0, 0], taken["z"].array[0, :, 0, 0]
            tone, = numpy.flatnonzero(weights == 0)
            self.assertEqual(tone, 2)  # of 62.5 kHz; channel 0 is the centre
            others = numpy.delete(numpy.arange(16), tone)
            self.assertTrue(numpy.all(weights[others] >= 142), (variant, weights))
            # of 150 estimates with a standard deviation of 2/16: 5 standard deviations of the mean
            self.assertTrue(numpy.all(abs(means[others] - 1) < 5 * 2 / 16 / 142 ** 0.5), means)
            self.assertEqual(means[tone], 0)

    def test_errors(self):
        for parameters, message in (
                ("length: 3", "length"),
                ("length: 8, lower: 1.5", "lower"),
                ("length: 8, upper: 0.5", "upper")):
            with self.assertRaisesRegex(pipeline.Failure, message):
                run(samples("cf32", 8), "cf32", "reference", parameters)


if __name__ == "__main__":
    tap.main()
