#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The simulated sky against numpy, and against the visibilities that it must give."""
import itertools
import unittest

import numpy

import pipeline
import sky
import tap

VARIANTS = ["reference"] + ["cpu-" + isa for isa in pipeline.instruction_sets()]
RATE, CENTRE = 20e6, 150e6
SOURCES = [([0.3, -0.2], 2.0, 0.0), ([-0.5, 0.4, 0.6], 0.5, 0.7)]
TONES = [(145.1e6, 0.7, 0.3, [0.1, 0.6]), (157e6, 0.4, 0, [0, 0])]
# error of single precision: a sample sums tens of products of numbers below 10
SINGLE = 2e-5


def generate(more, variant, type_="cf32", n=700, start=0, block=None, workers=1, to=None,
             seed=1, lanes=1):
    """The stage's output, [time subband station pol] without those axes that are not asked for, or
    in the order `to`."""
    to = to or " ".join(["time"] + [axis for axis in ("subband", "station", "pol")
                                    if f"n_{axis}s:" in more])
    text = f"""
stages:
  x:
    stage: generate
    type: {type_}
    sample_rate: 20 MHz
    samples: {n}
    start: {start}
    seed: {seed}
    {more}
    {f'block: {{ time: {block} }}' if block else ''}
  y: {{ stage: output, from: x, layout: "[{to}]" }}
"""
    return pipeline.run(text, {}, {"y": (to.split().index("time"), lanes)},
                        {"x": variant}, workers=workers)["y"]


def text_of(rows):
    return "[" + ", ".join("[" + ", ".join(map(str, row)) + "]" for row in rows) + "]"


def sky_text(n_stations=5, radius="130 m", real=False, sources=SOURCES, tones=TONES, subbands=0):
    """The parameters of a sky with everything, as lines of YAML."""
    lines = [f"n_stations: {n_stations}", f"spiral: {radius}",
             f"{'first' if real else 'centre'}_frequency: {CENTRE}", "n_pols: 2"]
    if subbands:
        lines += [f"n_subbands: {subbands}"]
    if sources:
        lines += [f"source_directions: {text_of(sky.unit(d) for d, _, _ in sources)}",
                  f"source_powers: {[p for _, p, _ in sources]}",
                  f"source_correlations: {[r for _, _, r in sources]}"]
    if tones:
        lines += [f"tone_frequencies: {[f for f, _, _, _ in tones]}",
                  f"tone_amplitudes: {[a for _, a, _, _ in tones]}",
                  f"tone_phases: {[p for _, _, p, _ in tones]}",
                  f"tone_directions: {text_of(sky.unit(d) for _, _, _, d in tones)}"]
    return "\n    ".join(lines)


class Numbers(unittest.TestCase):
    def test_philox(self):
        # the known answer of the authors' code
        words = [int(word) for word in sky.philox([0, 0, 0, 0], (0, 0))]
        self.assertEqual(words, [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8])

    def test_noise(self):
        for variant in VARIANTS:
            for start in (0, -1001, 2**34 + 7):
                got = generate("n_stations: 3", variant, start=start, seed=2**40 + 5)
                want = sky.voltages(700, RATE, n_stations=3, start=start, seed=2**40 + 5)
                self.assertEqual(got.start, start)
                self.assertEqual(got.array.shape, (700, 3))
                self.assertLess(abs(got.array - want[:, 0, :, 0]).max(), SINGLE, variant)

    def test_power_of_each_station(self):
        for variant in VARIANTS:
            got = generate("n_stations: 3\n    n_pols: 2\n    noise: [1, 0, 6.25]", variant).array
            want = sky.voltages(700, RATE, n_stations=3, n_pols=2, receivers=[1, 0, 6.25])[:, 0]
            self.assertLess(abs(got - want).max(), 3 * SINGLE, variant)

    def test_moments(self):
        x = sky.noise(numpy.arange(1 << 20), 3, sky.RECEIVER)
        n = len(x)
        # standard errors of a circular Gaussian of power 1
        self.assertLess(abs(x.mean()), 5 / numpy.sqrt(n))
        self.assertLess(abs((abs(x)**2).mean() - 1), 5 / numpy.sqrt(n))
        self.assertLess(abs((x * x).mean()), 5 * numpy.sqrt(2 / n))
        self.assertLess(abs((abs(x)**4).mean() - 2), 5 * numpy.sqrt(20 / n))
        for lag in (1, 2, 3, 64):
            self.assertLess(abs((x[lag:] * x[:-lag].conj()).mean()), 5 / numpy.sqrt(n))


class Sky(unittest.TestCase):
    def check(self, variant, real, subbands, n=1500, radius="130 m", start=0):
        tones = [tone for tone in TONES if not real or tone[0] > CENTRE]
        got = generate(sky_text(real=real, subbands=subbands, radius=radius, tones=tones), variant,
                       "f64" if real else "cf64", n, start)
        want = sky.voltages(n, RATE, CENTRE, max(subbands, 1), 5, 2, start=start,
                            positions=sky.spiral(float(radius.split()[0]), 5), sources=SOURCES,
                            tones=tones, real=real)
        # numpy's doubles limit the accuracy of the phase of a tone after long
        bound = 1e-9 if variant == "reference" else SINGLE
        self.assertLess(abs(got.array.reshape(want.shape) - want).max(), bound,
                        f"{variant}, real {real}, subbands {subbands}")

    def test_complex(self):
        for variant in VARIANTS:
            self.check(variant, False, 0)

    def test_real(self):
        for variant in VARIANTS:
            self.check(variant, True, 0)

    def test_subbands(self):
        for variant in VARIANTS:
            self.check(variant, False, 3)

    def test_wide_array(self):
        for variant in VARIANTS:
            self.check(variant, False, 0, radius="60000 m", n=900, start=-77)

    def test_zenith_is_not_filtered(self):
        more = "n_stations: 4\n    spiral: 50 m\n    centre_frequency: 1 GHz\n    noise: 0\n    " \
               "source_directions: [[0, 0]]"
        for variant in VARIANTS:
            x = generate(more, variant).array
            want = sky.noise(numpy.arange(700), 0, sky.SOURCE)
            self.assertLess(abs(x - want[:, None]).max(), SINGLE)

    def test_fringes(self):
        """⟨x_i conj(x_j)⟩ per channel is P exp(2πi f (r_i − r_j)·s/c)."""
        n, length = 1 << 16, 64
        direction, power = [0.4, 0.3], 3.0
        more = sky_text(6, sources=[(direction, power, 0.5)], tones=())
        x = generate(more, VARIANTS[1], n=n).array.reshape(-1, length, 6, 2)
        spectra = numpy.fft.fft(x * numpy.hanning(length)[None, :, None, None], axis=1)
        spectra /= numpy.linalg.norm(numpy.hanning(length))
        v = numpy.einsum("tcip,tcjq->cijpq", spectra, spectra.conj()) / len(x)
        offset = numpy.fft.fftfreq(length, 1 / RATE)
        late = sky.lead(sky.spiral(130, 6), direction)
        phase = (CENTRE + offset)[:, None] * late
        fringe = power * numpy.exp(2j * numpy.pi * (phase[:, :, None] - phase[:, None, :]))
        inner = abs(offset) < 0.38 * RATE
        i, j = numpy.tril_indices(6, -1)
        error = (power + 1) / numpy.sqrt(len(x))
        # each channel is spread over a few bins of the window, within which a delay turns the phase
        for p, q, rho in ((0, 0, 1), (1, 1, 1), (1, 0, 0.5), (0, 1, 0.5)):
            apart = (v[:, i, j, p, q] - rho * fringe[:, i, j])[inner]
            self.assertLess(abs(apart).max(), 6 * error)
            self.assertLess(abs(apart.mean()), 6 * error / numpy.sqrt(inner.sum()))


class Streams(unittest.TestCase):
    def test_blocks_and_workers(self):
        """The stream is the same to the bit for any blocks and workers."""
        more = sky_text(3) + "\n    invalid: [[1, 100, 30]]"
        for variant in VARIANTS:
            whole = generate(more, variant, "ci8", 3001, lanes=3)
            for block, workers in ((1, 1), (77, 2), (1024, 1), (2999, 2)):
                if block == 1 and variant != VARIANTS[1]:
                    continue
                cut = generate(more, variant, "ci8", 3001, block=block, workers=workers, lanes=3)
                self.assertTrue((cut.array == whole.array).all(), f"{variant}, {block}, {workers}")
                self.assertTrue((cut.validity == whole.validity).all())

    def test_start(self):
        more = sky_text(3)
        for variant in VARIANTS:
            early = generate(more, variant, "cf32", 600, start=1000)
            late = generate(more, variant, "cf32", 600, start=1250)
            self.assertTrue((early.array[250:] == late.array[:350]).all(), variant)

    def test_seeds(self):
        a, b = (generate("n_pols: 2", "reference", seed=seed).array for seed in (1, 2))
        self.assertLess(abs((a * b.conj()).mean()), 0.2)

    def test_orders(self):
        axes = ["time", "subband", "station", "pol"]
        more = sky_text(3, subbands=2)
        for variant in VARIANTS:
            want = generate(more, variant, "ci16", 200, to=" ".join(axes)).array
            for order in itertools.permutations(axes):
                got = generate(more + f'\n    layout: "[{" ".join(order)}]"', variant, "ci16", 200,
                               to=" ".join(order)).array
                place = [order.index(axis) for axis in axes] + [4]
                self.assertTrue((got.transpose(place) == want).all(), (variant, order))

    def test_invalid(self):
        more = "n_stations: 4\n    n_pols: 2\n    invalid: [[1, 10, 5], [3, 690, 100], [-1, 50, 2]]"
        want = numpy.ones((4, 700), bool)
        want[1, 10:15] = want[3, 690:] = want[:, 50:52] = False
        for variant in VARIANTS:
            got = generate(more, variant, lanes=4, block=33)
            self.assertTrue((got.validity == want).all(), variant)
            self.assertTrue(((got.array != 0).all(axis=2).T == want).all(), variant)

    def test_no_samples(self):
        for variant in VARIANTS:
            self.assertIsNone(generate("n_pols: 2", variant, n=0).array)


class Types(unittest.TestCase):
    def test_all(self):
        """Rounded half to even, clipped to ± the largest value."""
        for type_, dtype in pipeline.DTYPES.items():
            real = type_[0] != "c"
            x = sky.voltages(700, RATE, n_pols=2, real=real)[:, 0, 0, :]
            parts = x if real else numpy.stack([x.real, x.imag], -1)
            is_integer = numpy.dtype(dtype).kind in "iu" and type_ != "cf16"
            bits = int(type_.lstrip("cifu"))
            # the scale is such that all types but the widest are clipped
            scale = 1.0 if not is_integer else 0.4 * 2.0 ** min(bits - 1, 24)
            for variant in VARIANTS:
                got = generate(f"n_pols: 2\n    scale: {scale}", variant, type_).array
                where = f"{type_}, {variant}"
                if not is_integer:
                    got = numpy.stack([got.real, got.imag], -1) if got.dtype.kind == "c" else got
                    bound = 2e-3 if bits == 16 else SINGLE
                    self.assertLess(abs(got.astype(float) - parts).max(), bound, where)
                    continue
                limit = 2 ** (bits - 1) - 1
                want = numpy.clip(numpy.rint(parts * scale), -limit, limit)
                if type_ == "ci4":
                    got = numpy.stack([(got ^ 0x80) >> 4, (got & 15) ^ 8], -1).astype(int) - 8
                got = got.astype(numpy.int64) - (limit + 1 if type_[0] == "u" else 0)
                apart = abs(got - want)
                if variant == "reference":
                    self.assertEqual(apart.max(), 0, where)
                else:
                    self.assertLessEqual(apart.max(), 1 + scale * 4 * SINGLE, where)
                    self.assertLess((apart > 0).mean(), 0.01 + scale * SINGLE, where)

    def test_fills_to_a_quarter(self):
        for type_ in ("ci8", "ci4", "ci16"):
            for variant in VARIANTS:
                x = generate(sky_text(3, tones=()), variant, type_, 2000).array
                if type_ == "ci4":
                    x = numpy.stack([(x ^ 0x80) >> 4, (x & 15) ^ 8], -1).astype(int) - 8
                rms = numpy.sqrt((x.astype(float) ** 2).mean())
                limit = 2 ** (int(type_[2:]) - 1) - 1
                self.assertLess(abs(rms / (limit / 4) - 1), 0.1, (type_, variant))


class Errors(unittest.TestCase):
    def test_messages(self):
        for more, message in [
                ("centre_frequency: 1 MHz\n    type: i8", "complex"),
                ("n_stations: 3\n    positions: [[0, 0, 0], [1, 2, 3]]", "3 stations"),
                ("n_stations: 3\n    positions: [[0, 0], [1, 2], [3, 4]]", "rows of 3"),
                ("n_stations: 2\n    spiral: 5 m\n    source_directions: [[0, 0]]",
                 "centre_frequency"),
                ("source_directions: [[0, 0]]\n    centre_frequency: 1 MHz", "positions"),
                ("n_stations: 2\n    spiral: 5 m\n    centre_frequency: 1 MHz\n    "
                 "source_directions: [[0.9, 0.9]]", "at most 1"),
                ("n_stations: 2\n    spiral: 5 m\n    centre_frequency: 1 MHz\n    "
                 "source_directions: [[0, 0]]\n    source_powers: [1, 2]", "1 value or 1"),
                ("centre_frequency: 1 MHz\n    tone_frequencies: 15 MHz", "inside the band"),
                ("invalid: [[1, 0, 5]]", "station of 0 to 0"),
                ("n_stations: 2\n    invalid: [[0, 0.5, 5]]", "whole numbers"),
                ("n_stations: 2\n    noise: [1, 2, 3]", "1 value or 2"),
                ("noise: -1", "at least 0"),
                ("n_subbands: 3", "centre_frequency"),
                ("duration: 1 s", "samples is given"),
                ("n_stations: 1\n    spiral: 5 m\n    positions: [[0, 0, 0]]", "only one"),
        ]:
            lines = more.replace("type: i8", "").rstrip()
            with self.assertRaisesRegex(pipeline.Failure, message):
                generate(lines, "reference", "i8" if "type: i8" in more else "cf32")


if __name__ == "__main__":
    tap.main()
