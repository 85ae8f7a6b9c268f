#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The beamformer against numpy, with derived bounds."""
import fractions
import itertools
import os
import tempfile
import unittest

import numpy

import pipeline
import tap

VARIANTS = pipeline.variants()
# Those that have weights quantised.
BYTES = pipeline.further_variants("beamform")
HALVES = VARIANTS + (["mma-cuda"] if "cuda" in VARIANTS else [])
QUANTISED = HALVES + BYTES
WEIGHTED = [(variant, "ci8") for variant in QUANTISED] + [(variant, "cf16") for variant in HALVES]
ORDER = ["time", "channel", "station", "pol"]
rng = numpy.random.default_rng(7)


def voltages(kind, shape, extreme=False):
    """Random samples, or all at the most negative value, as an array and as complex numbers."""
    if kind == "cf32":
        x = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(numpy.complex64)
        return x, x.astype(complex)
    x, parts = pipeline.integers(rng, kind, shape, extreme)
    return x, parts[..., 0] + 1j * parts[..., 1]


def random_weights(shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(numpy.complex64)


BEAMS = ', layout: "[time channel beam pol]"'


def quantise(w, weights_as):
    """Levels and scales of weights [channel beam station pol]; the scales of beams with a weight
    that is not finite are NaN."""
    parts = w.view(numpy.float32).reshape(*w.shape, 2)
    finite = numpy.isfinite(parts).all(axis=(2, 4), keepdims=True)
    parts = numpy.where(finite, parts, numpy.float32(0))
    largest = abs(parts).max(axis=(2, 4), keepdims=True)
    if weights_as == "ci8":
        scale = largest / numpy.float32(127)
        scale[scale < 2.0 ** -126] = 0
        levels = numpy.rint(parts / numpy.where(scale > 0, scale, numpy.float32(numpy.inf)))
    else:
        exponent = numpy.maximum(numpy.frexp(largest)[1] - 15, -112)
        scale = numpy.ldexp(numpy.float32(1), exponent)
        levels = (parts / scale).astype(numpy.float16)
    levels = levels.astype(float)
    return levels[..., 0] + 1j * levels[..., 1], numpy.where(finite, scale, numpy.nan)[..., 0]


def graph(layout, shape, out=BEAMS, port=None, file=None, loses="", weights_as="given",
          rates=("", "")):
    source = "from: x" if port is None else "from: { voltages: x, weights: w }"
    weights = "" if port is None else f"""
  w: {{ stage: input, layout: "cf32[time {port[0]}]", shape: [-1, {port[1]}] {rates[1]} }}"""
    more = f", weights_as: {weights_as}" + ("" if file is None else f', weights: "{file}"')
    return f"""
stages:
  x: {{ stage: input, layout: "{layout}", shape: [{', '.join(map(str, shape))}] {loses} {rates[0]} }}{weights}
  b: {{ stage: beamform, {source} {more} }}
  y: {{ stage: output, from: b {out} }}
"""


class Beamform(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "weights.npy")

    def check(self, kind, n, shape, n_beams, variant, axes=None, to=None, per_pol=False,
              extreme=False, port=False, cuts=(1 << 16,), workers=1, weights_as="given"):
        """`shape`: channels, stations, polarisations; 0 channels or polarisations: no such axis."""
        n_channels, n_stations, n_pols = (max(length, 1) for length in shape)
        missing = [axis for axis, length in zip(ORDER[1:], shape) if length == 0]
        axes = [axis for axis in axes or ORDER if axis not in missing]
        to = [axis for axis in to or ["time", "channel", "beam", "pol"] if axis not in missing]
        x, numbers = voltages(kind, (n, n_channels, n_stations, n_pols), extreme)
        w = random_weights((n_channels, n_beams, n_stations, n_pols if per_pol else 1))
        used = w
        if weights_as != "given":
            levels, scale = quantise(w, weights_as)
            used = levels * scale.astype(float)
        full = numpy.broadcast_to(used, (n_channels, n_beams, n_stations, n_pols))
        wanted = numpy.einsum("cbsp,tcsp->tcbp", full, numbers)
        norm = numpy.einsum("cbsp,tcsp->tcbp", abs(full), abs(numbers))

        # The axes that the sources have.
        keep = [axis for axis in ORDER if axis not in missing]
        tail = x.shape[4:]
        x = x.reshape([length for axis, length in zip(ORDER, x.shape) if axis in keep] + [*tail])
        x = numpy.moveaxis(x, [keep.index(axis) for axis in axes], list(range(len(axes))))
        w = w.reshape(([] if "channel" in missing else [n_channels]) + [n_beams, n_stations] +
                      ([n_pols] if per_pol else []))
        feeds = {"x": pipeline.Feed(x, axes.index("time"), cuts)}
        names = (["channel"] if "channel" in keep else []) + ["beam", "station"]
        given = None
        if port:
            given = " ".join(names + (["pol"] if per_pol else [])), ", ".join(map(str, w.shape))
            feeds["w"] = pipeline.Feed(w[None], 0, [1])
        else:
            numpy.save(self.path, w)
        lengths = [-1 if axis == "time" else x.shape[i] for i, axis in enumerate(axes)]
        text = graph(f"{kind}[{' '.join(axes)}]", lengths, f', layout: "[{" ".join(to)}]"', given,
                     None if port else self.path, weights_as=weights_as)
        got = pipeline.run(text, feeds, {"y": (to.index("time"), 1)}, {"b": variant},
                           workers=workers)["y"].array

        made = ["time", "channel", "beam", "pol"]
        kept = [axis for axis in made if axis not in missing]

        def arrange(y):
            y = y.reshape([length for axis, length in zip(made, y.shape) if axis in kept])
            return numpy.moveaxis(y, [kept.index(axis) for axis in to], list(range(len(to))))

        bound = ((5 if weights_as == "cf16" else 2) * n_stations + 1) * 2.0 ** -24 * arrange(norm)
        error = numpy.maximum(abs(got.real - arrange(wanted).real),
                              abs(got.imag - arrange(wanted).imag))
        self.assertTrue((error <= bound).all(), f"{(error / bound).max()} of the bound")
        return got

    def test_types(self):
        for variant, kind, per_pol in itertools.product(
                VARIANTS, ["ci4", "ci8", "ci16", "cf32"], [False, True]):
            with self.subTest(variant=variant, kind=kind, per_pol=per_pol):
                self.check(kind, 37, (3, 7, 2), 11, variant, per_pol=per_pol)
                self.check(kind, 19, (2, 5, 2), 3, variant, extreme=True)

    def test_sizes(self):
        shapes = [(1, 1, 1), (0, 1, 0), (1, 1, 2), (3, 2, 0), (0, 5, 2), (2, 13, 3), (1, 64, 2)]
        for variant, shape, n_beams in itertools.product(VARIANTS, shapes, [1, 3, 16, 17, 37]):
            with self.subTest(variant=variant, shape=shape, n_beams=n_beams):
                self.check("cf32", int(rng.integers(1, 70)), shape, n_beams, variant,
                           per_pol=bool(n_beams % 2) and shape[2] > 0, workers=1 + n_beams % 2)

    def test_layouts(self):
        outs = list(itertools.permutations(["time", "channel", "beam", "pol"]))
        for variant in VARIANTS:
            for k, axes in enumerate(itertools.permutations(ORDER)):
                to = outs[(7 * k) % len(outs)]
                with self.subTest(variant=variant, axes=axes, to=to):
                    self.check(["cf32", "ci8"][k % 2], 21, (3, 5, 2), 18, variant, list(axes),
                               list(to), per_pol=k % 3 == 0)

    def test_weights_over_the_port(self):
        for variant, per_pol in itertools.product(VARIANTS, [False, True]):
            with self.subTest(variant=variant, per_pol=per_pol):
                self.check("ci8", 37, (3, 7, 2), 11, variant, per_pol=per_pol, port=True)
                self.check("cf32", 37, (0, 7, 2), 11, variant, per_pol=per_pol, port=True)

    def test_quantised_weights(self):
        """All types, sizes around those of tiles, weights of each polarisation, and of the port."""
        cases = [(37, (3, 7, 2), 11), (70, (2, 33, 2), 65), (19, (0, 5, 0), 3), (150, (1, 16, 2), 16),
                 (20, (2, 4, 3), 5), (33, (1, 1, 1), 1)]
        for (k, (n, shape, n_beams)), weights_as in itertools.product(
                enumerate(cases), ["ci8", "cf16"]):
            for variant, kind in itertools.product(QUANTISED, ["ci4", "ci8", "ci16", "cf32"]):
                if variant == "mma-cuda" and kind in ("ci16", "cf32"):
                    continue
                if variant in BYTES and (kind == "cf32" or weights_as == "cf16"):
                    continue
                with self.subTest(variant=variant, kind=kind, shape=shape, weights_as=weights_as):
                    self.check(kind, n, shape, n_beams, variant, per_pol=shape[2] > 1 and k % 2 == 0,
                               extreme=k == 0, port=k % 3 == 1, weights_as=weights_as)

    def check_values(self, w, kind, n, variant, weights_as, cuts=(1 << 16,)):
        """Beams of weights [channel beam station pol], and the sums that they are made of: of
        levels, times scales."""
        n_channels, _, n_stations, n_pols = w.shape
        x, numbers = voltages(kind, (n, n_channels, n_stations, n_pols), extreme=n == 1)
        numpy.save(self.path, w)
        text = graph(f"{kind}[time channel station pol]", [-1, *x.shape[1:4]], file=self.path,
                     weights_as=weights_as)
        got = pipeline.run(text, {"x": pipeline.Feed(x, 0, cuts)}, {"y": (0, 1)}, {"b": variant})
        levels, scale = quantise(w, weights_as)
        return (got["y"].array, numpy.einsum("cbsp,tcsp->tcbp", levels, numbers),
                scale[:, :, 0].astype(numpy.float32))

    def test_wide_integers_are_exact(self):
        """Sums of voltages of 16 bits, whose bytes are multiplied by themselves, up to 31 bits."""
        for variant, n, n_stations in itertools.product(BYTES, [1, 70], [1, 90, 258]):
            with self.subTest(variant=variant, n=n, n_stations=n_stations):
                w = rng.integers(-127, 128, (1, 20, n_stations, 2, 2)).astype(numpy.float32)
                w[:, 0] = -127
                w[:, :, 0] = -127
                got, sums, _ = self.check_values(w.view(numpy.complex64)[..., 0], "ci16", n,
                                                 variant, "ci8")
                numpy.testing.assert_array_equal(got, sums.astype(numpy.complex64))

    def test_integers_are_exact(self):
        """Sums of products of integers are exact, and rounded once before the scale, and by it."""
        for variant, kind, n in itertools.product(QUANTISED, ["ci4", "ci8"], [1, 29]):
            with self.subTest(variant=variant, kind=kind, n=n):
                w = rng.integers(-127, 128, (2, 20, 90, 2, 2)).astype(numpy.float32) / 128
                w[:, :, 0] = -127 / 128
                w = w.view(numpy.complex64)[..., 0]
                got, sums, scale = self.check_values(w, kind, n, variant, "ci8")
                self.assertTrue((scale == 1 / 128).all())
                numpy.testing.assert_array_equal(got, sums / 128)
                if variant not in BYTES + ["mma-cuda"]:
                    continue
                # More than 24 bits, and scales that are no powers of two.
                w = (-1 - 1j + 0.01 * random_weights((1, 9, 700, 2))).astype(numpy.complex64)
                got, sums, scale = self.check_values(w, kind, n, variant, "ci8")
                parts = numpy.stack([sums.real, sums.imag], -1).astype(numpy.float32)
                wanted = (parts * scale[..., None]).view(numpy.complex64)[..., 0]
                numpy.testing.assert_array_equal(got, wanted)

    def test_weights_that_are_no_numbers(self):
        """A weight that is not finite makes its beam NaN, and no other; zeros and the least numbers
        make zeros; the largest do not overflow."""
        w = random_weights((1, 9, 6, 2))
        w[0, 1, 2, 0] = numpy.nan
        w[0, 2, 3, 1] = 1j * numpy.inf
        w[0, 3] = 0
        w[0, 4] = 1e-42
        w[0, 5] *= 1e-36
        w[0, 6] *= 1e34
        w[0, 7, 1:] *= 1e-6
        for variant, weights_as in WEIGHTED:
            with self.subTest(variant=variant, weights_as=weights_as):
                got, sums, scale = self.check_values(w, "ci8", 11, variant, weights_as)
                self.assertTrue(numpy.isnan([got.real[:, 0, 1, 0], got.imag[:, 0, 1, 0]]).all())
                self.assertTrue(numpy.isnan([got.real[:, 0, 2, 1], got.imag[:, 0, 2, 1]]).all())
                self.assertTrue((got[:, 0, 3:5] == 0).all())
                norm = 6 * 128 * scale * (127 if weights_as == "ci8" else 2.0 ** 15)
                good = numpy.isfinite(norm)
                error = abs(got - sums * scale)
                self.assertEqual(good.sum(), 16)
                self.assertTrue((error <= 36 * 2.0 ** -24 * norm)[:, good].all())

    def test_new_quantised_weights(self):
        """Each block of weights is quantised, and applies from its tick on."""
        x, numbers = voltages("ci8", (45, 2, 6, 2))
        w = random_weights((4, 2, 5, 6)) * numpy.array([1, 1e3, 1e-3, 7])[:, None, None, None]
        w = w.astype(numpy.complex64)
        rates = ", sample_rate: 1 kHz", ", sample_rate: 100 Hz"
        for (variant, weights_as), cuts in itertools.product(WEIGHTED, [(1 << 16,), (7, 1)]):
            with self.subTest(variant=variant, weights_as=weights_as, cuts=cuts):
                text = graph("ci8[time channel station pol]", [-1, 2, 6, 2],
                             port=("channel beam station", "2, 5, 6"), weights_as=weights_as,
                             rates=rates)
                feeds = {"x": pipeline.Feed(x, 0, cuts), "w": pipeline.Feed(w, 0, [1])}
                got = pipeline.run(text, feeds, {"y": (0, 1)}, {"b": variant})["y"].array
                for t in range(45):
                    levels, scale = quantise(w[min(t // 10, 3)][..., None], weights_as)
                    used = (levels * scale)[..., 0]
                    wanted = numpy.einsum("cbs,csp->cbp", used, numbers[t])
                    norm = numpy.einsum("cbs,csp->cbp", abs(used), abs(numbers[t]))
                    self.assertTrue((abs(got[t] - wanted) <= 45 * 2.0 ** -24 * norm).all(), t)

    def test_cuts(self):
        """The result is the same to the last bit for any blocks and for one and two workers."""
        n, shape, n_beams = 300, (-1, 3, 6, 2), 20
        x, _ = voltages("cf32", (n, *shape[1:]))
        numpy.save(self.path, random_weights((3, n_beams, 6)))
        text = graph("cf32[time channel station pol]", shape, file=self.path)
        for variant in VARIANTS:
            whole = None
            for cuts in [300], [1, 13], [8], [64, 7, 100]:
                for workers in 1, 2:
                    with self.subTest(variant=variant, cuts=cuts, workers=workers):
                        got = pipeline.run(text, {"x": pipeline.Feed(x, 0, cuts)}, {"y": (0, 1)},
                                           {"b": variant}, workers=workers)["y"].array
                        whole = got if whole is None else whole
                        self.assertEqual(got.tobytes(), whole.tobytes())

    def test_unit_weights_sum(self):
        x, numbers = voltages("ci8", (16, 1, 9, 2))
        numpy.save(self.path, numpy.ones((1, 2, 9), numpy.complex64))
        text = graph("ci8[time channel station pol]", [-1, 1, 9, 2], file=self.path)
        for variant in VARIANTS:
            with self.subTest(variant=variant):
                got = pipeline.run(text, {"x": pipeline.Feed(x)}, {"y": (0, 1)}, {"b": variant})
                wanted = numpy.repeat(numbers.sum(2)[:, :, None], 2, 2)
                numpy.testing.assert_array_equal(got["y"].array, wanted)

    def test_validity(self):
        """A beam is valid if any station is; invalid stations add nothing."""
        n, n_stations = 100, 4
        valid = rng.random((n_stations, n)) > 0.3
        valid[:, 50:60] = False
        w = random_weights((2, 4, n_stations))
        numpy.save(self.path, w)
        cases = [(variant, "cf32", "given") for variant in VARIANTS]
        cases += [(variant, kind, weights_as) for variant, weights_as in WEIGHTED
                  for kind in ("ci4", "ci8")]
        for variant, kind, weights_as in cases:
            with self.subTest(variant=variant, kind=kind, weights_as=weights_as):
                x, numbers = voltages(kind, (n, 2, n_stations, 2))
                numbers = numpy.where(valid.T[:, None, :, None], numbers, 0)
                used = w.astype(complex)
                if weights_as != "given":
                    levels, scale = quantise(w[..., None], weights_as)
                    used = (levels * scale)[..., 0]
                text = graph(f"{kind}[time channel station pol]", [-1, 2, n_stations, 2],
                             file=self.path, loses=", loses: [station]", weights_as=weights_as)
                got = pipeline.run(text, {"x": pipeline.Feed(x, 0, [64, 31], valid)},
                                   {"y": (0, 1)}, {"b": variant})["y"]
                numpy.testing.assert_array_equal(got.validity[0], valid.any(0))
                wanted = numpy.einsum("cbs,tcsp->tcbp", used, numbers)
                bound = 24 * 2.0 ** -24 * numpy.einsum("cbs,tcsp->tcbp", abs(used), abs(numbers))
                self.assertTrue((abs(got.array - wanted) <= bound).all())

    def clocked(self, voltages, weights, n=400, n_blocks=9):
        """A graph of arrays whose sources have these parameters: voltages are 1, weights are k in
        block k."""
        numpy.save(self.path, numpy.ones((n, 2), numpy.complex64))
        beside = self.path + ".weights.npy"
        w = numpy.arange(n_blocks)[:, None, None] * numpy.ones((1, 3, 2))
        numpy.save(beside, w.astype(numpy.complex64))
        return f"""
stages:
  x: {{ stage: file.source, path: "{self.path}", layout: "[time station]", {voltages} }}
  w: {{ stage: file.source, path: "{beside}", layout: "[time beam station]", {weights} }}
  b: {{ stage: beamform, from: {{ voltages: x, weights: w }} }}
  y: {{ stage: output, from: b, layout: "[time beam]" }}
"""

    def test_clock_of_weights(self):
        """A block of weights applies from its tick on, on the clock of the voltages."""
        # Samples per second, ticks per sample, first tick, and epoch, of voltages and weights.
        clocks = [
            ((1000, 1, 0, None), ("10", 1, 0, None)),
            ((7, 1, 0, None), ("0.3", 1, 0, None)),
            ((1000, 3, 1200, None), ("25", 7, 63, None)),
            ((48000, 1, 17, 1000), ("441", 1, 0, 1000)),
            ((100, 1, 0, 2000000000), ("2", 1, 50 * 2000000000 // 25 - 1, 0)),
            ((200, 1024, 0, 2000000000), ("4", 1000, -3000, 2000000000)),
            ((10 ** 9, 1, 4 * 10 ** 18, -3), ("25000000", 1, 10 ** 17 + 5, -3)),
        ]
        for voltages, weights in clocks:
            given = [f"sample_rate: {rate} Hz, ticks_per_sample: {ticks}, start: {start}" +
                     (f", epoch: '{epoch}'" if epoch is not None else "")
                     for rate, ticks, start, epoch in (voltages, weights)]
            text = self.clocked(*given)
            rate, _, start, epoch = voltages
            seconds = [fractions.Fraction(start, rate * voltages[1]) +
                       fractions.Fraction(t, rate) + (epoch or 0) for t in range(400)]
            rate, ticks, start, epoch = (fractions.Fraction(weights[0]), *weights[1:])
            blocks = [(start + k * ticks) / (rate * ticks) + (epoch or 0) for k in range(9)]
            wanted = [2 * max(sum(block <= second for block in blocks) - 1, 0)
                      for second in seconds]
            self.assertGreater(len(set(wanted)), 1)
            for variant in VARIANTS:
                with self.subTest(given=given, variant=variant):
                    got = pipeline.run(text, {}, {"y": (0, 1)}, {"b": variant})["y"].array
                    numpy.testing.assert_array_equal(got, numpy.tile(wanted, (3, 1)).T)

    def test_clocks_that_do_not_relate(self):
        clock, epoch = "sample_rate: 1 kHz", "sample_rate: 1 kHz, epoch: '0'"
        for voltages, weights, cause in (
                (clock, "start: 0", "only one has a sample rate"),
                ("start: 0", clock, "only one has a sample rate"),
                (clock, epoch, "only one has an epoch"),
                (epoch, clock, "only one has an epoch")):
            with self.subTest(voltages=voltages, weights=weights):
                text = self.clocked(voltages, weights)
                with self.assertRaisesRegex(
                        pipeline.Failure, "^test:5:.*: node 'b': port 'weights' wants blocks whose "
                        f"ticks relate to those of port 'voltages', but 'w' and 'x' don't: {cause}"):
                    pipeline.run(text, {}, {"y": (0, 1)})
                # A single block applies to the whole stream.
                text = self.clocked(voltages, weights, n_blocks=1)
                got = pipeline.run(text, {}, {"y": (0, 1)})["y"].array
                self.assertFalse(got.any())

    def fails(self, message, *arguments, **named):
        with self.assertRaisesRegex(pipeline.Failure, message):
            pipeline.run(graph(*arguments, **named), {}, {})

    def test_errors(self):
        layout, shape = "cf32[time channel station pol]", [-1, 3, 4, 2]
        self.fails("wants weights: a file, or the port", layout, shape)
        self.fails("nowhere.npy", layout, shape, file="nowhere.npy")
        numpy.save(self.path, random_weights((3, 5, 6)))
        self.fails(r"has shape \(3, 5, 6\)", layout, shape, file=self.path)
        self.fails("wants to stand alone", layout, shape, port=("beam station", "5, 4"),
                   file=self.path)
        self.fails("wants the axis station", layout, shape, port=("beam station", "5, 6"))
        numpy.save(self.path, random_weights((3, 2, 2)))
        self.fails(r"has one meaning, but .* may be cf32\[subband beam station\] or "
                   r"cf32\[beam station pol\]: a file.source at the port 'weights' says which",
                   "cf32[time subband station pol]", [-1, 3, 2, 2], "", file=self.path)
        self.fails("without the axis beam", "cf32[time beam station]", [-1, 4, 4], "", file=self.path)


if __name__ == "__main__":
    tap.main()
