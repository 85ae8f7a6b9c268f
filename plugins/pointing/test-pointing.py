#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Weights against formulas, and the peak that they give at a source of the simulated sky."""
import itertools
import tempfile
import unittest

import numpy

import pipeline
import sky
import tap

VARIANTS = ["reference", "cpu"]
DIRECTIONS = [[0.1, 0.2], [-0.3, 0.4, 1.2], [0, 0]]
# rounded once to single precision
ROUNDING = 1e-7


def weights(more, variant="reference", layout="channel beam station", spectra=""):
    text = f"""
stages:
  {spectra}
  w:
    stage: pointing
    {more}
  y: {{ stage: output, from: w, layout: "cf32[{layout}]" }}
"""
    return pipeline.run(text, {}, {"y": (0, 1)}, {"w": variant})["y"].array


def expected(frequencies, directions, positions, modulus):
    late = numpy.stack([sky.lead(positions, d) for d in directions])
    return modulus * numpy.exp(-2j * numpy.pi * numpy.asarray(frequencies)[:, None, None] * late)


class Weights(unittest.TestCase):
    fixed = "first_frequency: 120 MHz\n    channel_width: 1 MHz\n    n_channels: 7"

    def test_positions(self):
        positions = [[0, 0, 0], [10.5, -3, 2], [400, 2000, -7], [1, 1, 1]]
        for variant in VARIANTS:
            for name, modulus in (("mean", 1 / 4), ("power", 1 / 2), ("sum", 1)):
                got = weights(f"{self.fixed}\n    positions: {positions}\n    directions: "
                              f"{[[float(x) for x in sky.unit(d)] for d in DIRECTIONS]}\n    "
                              f"normalisation: {name}", variant)
                want = expected(120e6 + 1e6 * numpy.arange(7), DIRECTIONS,
                                numpy.array(positions), modulus)
                self.assertEqual(got.shape, (7, 3, 4))
                self.assertLess(abs(got - want).max(), ROUNDING * modulus)

    def test_file(self):
        """Positions from a file give the same bits as those from a table."""
        positions = numpy.array([[0, 0, 0], [10.5, -3, 2.25]])
        more = f"{self.fixed}\n    directions: [[0.1, 0.3]]\n    "
        with tempfile.TemporaryDirectory() as folder:
            for name, array in (("double", positions), ("single", positions.astype("f4")),
                                ("wide", positions[:, [0, 1, 2, 2]])):
                numpy.save(f"{folder}/{name}.npy", array)
            want = weights(f"{more}positions: {positions.tolist()}")
            for name in ("double", "single"):
                got = weights(f"{more}positions_file: {folder}/{name}.npy")
                self.assertTrue((got == want).all(), name)
            with self.assertRaisesRegex(pipeline.Failure, r"\[station 3\], but is given \(2, 4\)"):
                weights(f"{more}positions_file: {folder}/wide.npy")
            with self.assertRaisesRegex(pipeline.Failure, "none.npy"):
                weights(f"{more}positions_file: {folder}/none.npy")

    def test_orders(self):
        more = f"{self.fixed}\n    spiral: 300 m\n    n_stations: 5\n    disk: 0.1\n    n_beams: 6"
        want = weights(more)
        axes = ["channel", "beam", "station"]
        for variant in VARIANTS:
            for order in itertools.permutations(axes):
                got = weights(more, variant, " ".join(order))
                self.assertTrue(
                    (got.transpose([order.index(axis) for axis in axes]) == want).all())

    def test_disk(self):
        b = numpy.arange(6)
        r, azimuth = 0.1 * numpy.sqrt((b + 0.5) / 6), b * sky.GOLDEN
        directions = numpy.stack([r * numpy.sin(azimuth), r * numpy.cos(azimuth)], 1)
        got = weights(f"{self.fixed}\n    spiral: 300 m\n    n_stations: 5\n    disk: 0.1\n    "
                      "n_beams: 6")
        want = expected(120e6 + 1e6 * numpy.arange(7), directions, sky.spiral(300, 5), 1 / 5)
        self.assertLess(abs(got - want).max(), ROUNDING)

    def test_channels_of_the_input(self):
        """The weights are for the frequencies of spectra, including subbands that are split
        again."""
        for subbands in (0, 3):
            spectra = ("x: { stage: generate, sample_rate: 2 MHz, centre_frequency: 80 MHz, "
                       f"n_stations: 4, samples: 64{', n_subbands: 3' if subbands else ''} }}\n"
                       "  f: { stage: fft, from: x, axis: time, to: channel, length: 8 }\n"
                       "  end: { stage: output, from: f }")
            text = f"""
stages:
  {spectra}
  w: {{ stage: pointing, from: f, spiral: 50 m, directions: [[0.5, 0.1]] }}
  y: {{ stage: output, from: w, layout: "[{'subband ' if subbands else ''}channel beam station]" }}
"""
            got = pipeline.run(text, {}, {"y": (0, 1), "end": (0, 1)})["y"].array
            for b in range(max(subbands, 1)):
                frequencies = 80e6 + 2e6 * b + numpy.fft.fftfreq(8, 1 / 2e6)
                want = expected(frequencies, [[0.5, 0.1]], sky.spiral(50, 4), 1 / 4)
                self.assertLess(abs((got[b] if subbands else got) - want).max(), ROUNDING)


class Peak(unittest.TestCase):
    def test_beam_at_a_source(self):
        """A beam at a source of power P, among n stations of noise N, has P + N/n within the
        standard error; elsewhere it has less, by a known amount."""
        n, length, samples = 6, 32, 1 << 15
        directions = [[0.2, -0.3], [0.25, -0.3], [-0.6, 0.1]]
        text = f"""
stages:
  x:
    stage: generate
    sample_rate: 10 MHz
    centre_frequency: 100 MHz
    samples: {samples}
    n_stations: {n}
    spiral: 60 m
    noise: 2
    source_directions: [[0.2, -0.3]]
    source_powers: 3
  f: {{ stage: fft, from: x, axis: time, to: channel, length: {length} }}
  w: {{ stage: pointing, from: f, spiral: 60 m, directions: {directions} }}
  b: {{ stage: beamform, from: {{ voltages: f, weights: w }} }}
  y: {{ stage: output, from: b, layout: "[time channel beam]" }}
"""
        y = pipeline.run(text, {}, {"y": (0, 1)})["y"].array
        power = (abs(y) ** 2).mean(axis=0) / length
        offset = numpy.fft.fftfreq(length, 1 / 10e6)
        inner = abs(offset) < 0.35 * 10e6
        fringe = expected(100e6 + offset, directions, sky.spiral(60, n), 1 / n)
        late = sky.lead(sky.spiral(60, n), directions[0])
        source = numpy.exp(2j * numpy.pi * (100e6 + offset)[:, None] * late)
        gain = abs(numpy.einsum("cbs,cs->cb", fringe, source)) ** 2
        want = (3 * gain + 2 / n)[inner].mean(axis=0)
        got = power[inner].mean(axis=0)
        error = want / numpy.sqrt(len(y) * inner.sum())
        # the windows of a plain transform do not quite overlap between stations, which costs below
        # 1 %
        self.assertTrue((abs(got - want) < 5 * error + 0.01 * 3).all(), (got, want))
        self.assertEqual(numpy.argmax(got), 0)
        self.assertLess(abs(want[0] - (3 + 2 / n)), 1e-9)


class Errors(unittest.TestCase):
    def test_messages(self):
        for more, message in [
                ("spiral: 5 m\n    n_stations: 2\n    directions: [[0, 0]]", "frequencies"),
                ("first_frequency: 1 MHz\n    directions: [[0, 0]]", "positions"),
                ("first_frequency: 1 MHz\n    spiral: 3 m\n    directions: [[0, 0]]", "n_stations"),
                ("first_frequency: 1 MHz\n    spiral: 3 m\n    n_stations: 2", "neither"),
                ("first_frequency: 1 MHz\n    spiral: 3 m\n    n_stations: 2\n    disk: 0.1",
                 "n_beams"),
                ("first_frequency: 1 MHz\n    spiral: 3 m\n    n_stations: 2\n    disk: 0.1\n    "
                 "directions: [[0, 0]]", "both"),
                ("first_frequency: 1 MHz\n    spiral: 3 m\n    n_stations: 2\n    "
                 "directions: [[0, 0, 0]]", "a vector other than 0"),
                ("first_frequency: 1 MHz\n    spiral: 3 m\n    n_stations: 2\n    "
                 "directions: [[0]]", "rows of 2"),
        ]:
            with self.assertRaisesRegex(pipeline.Failure, message):
                weights(more)


if __name__ == "__main__":
    tap.main()
