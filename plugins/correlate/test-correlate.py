#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The correlator against numpy: exact integers, derived bounds in floating point."""
import itertools
import os
import platform
import subprocess
import tempfile
import unittest

import numpy

import pipeline
import tap

VARIANTS = pipeline.variants()
BYTES = ["cpu-avxvnni", "cpu-avx512vnni", "cpu-amx"]  # of ci4 and ci8 alone
CHUNK = 128
INTEGERS = ["ci4", "ci8", "ci16"]
LENGTHS = {"channel": 3, "subband": 2, "station": 5, "beam": 5, "pol": 2}
rng = numpy.random.default_rng(5)


def voltages(kind, shape, extreme=False):
    """Random samples, or all at the most negative value, as an array and as numbers."""
    if kind in ("cf32", "cf64"):
        x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
        x = x.astype(pipeline.DTYPES[kind])
        return x, x.astype(complex)
    if kind == "cf16":
        x = rng.standard_normal((*shape, 2)).astype("f2")
        return x, x[..., 0] + 1j * x[..., 1].astype(float)
    return pipeline.integers(rng, kind, shape, extreme)


def roundings(kind, output, precision, terms):
    """Those of sums in single or double precision."""
    if (kind, output) == ("cf16", "cf32"):
        return 5 * 64 + terms / 64
    if precision == "split":
        return 22 * 64 + terms / 64
    return 2 * CHUNK + terms / CHUNK


def complex_of(numbers):
    return numbers if numbers.dtype.kind == "c" else numbers[..., 0] + 1j * numbers[..., 1]


def products(numbers, integration):
    """Visibilities of [time item station pol] as [integration item baseline p q], and Σ|x||y|.
    Integers stay integers, with a last axis of real and imaginary."""
    n = numbers.shape[2]
    pairs = [(i, j) for i in range(n) for j in range(i + 1)]
    sums, norms = [], []
    for begin in range(0, len(numbers), integration):
        part = numbers[begin:begin + integration]
        size = abs(complex_of(part))
        row, norm = [], []
        for i, j in pairs:
            norm.append(numpy.einsum("tcp,tcq->cpq", size[:, :, i], size[:, :, j]))
            if part.dtype.kind == "c":
                row.append(numpy.einsum("tcp,tcq->cpq", part[:, :, i], part[:, :, j].conj()))
                continue
            (a, b), (c, d) = ((part[:, :, s, :, 0], part[:, :, s, :, 1]) for s in (i, j))
            re = numpy.einsum("tcp,tcq->cpq", a, c) + numpy.einsum("tcp,tcq->cpq", b, d)
            im = numpy.einsum("tcp,tcq->cpq", b, c) - numpy.einsum("tcp,tcq->cpq", a, d)
            row.append(numpy.stack([re, im], -1))
        sums.append(numpy.stack(row, 1))
        norms.append(numpy.stack(norm, 1))
    return numpy.stack(sums), numpy.stack(norms)


def graph(layout, shape, integration, more="", loses="", out="", weights=""):
    text = f"""
stages:
  x: {{ stage: input, layout: "{layout}", shape: [{', '.join(map(str, shape))}] {loses} }}
  v: {{ stage: correlate, from: x, integration: {integration} {more} }}
  y: {{ stage: output, from: v {out} }}
"""
    return text + (f"  w: {{ stage: output, from: v.weights {weights} }}\n" if weights else "")


def correlate(kind, axes, x, integration, variant, cuts=(1 << 16,), workers=1, output="cf32",
              to=None, over="station", precision="single"):
    """Runs the stage on x, whose axes are `axes`; returns the visibilities in the order `to`."""
    shape = [-1 if axis == "time" else x.shape[i] for i, axis in enumerate(axes)]
    text = graph(f"{kind}[{' '.join(axes)}]", shape, integration,
                 f", output: {output}, over: {over}, precision: {precision}", out=f', layout: "[{" ".join(to)}]"')
    feeds = {"x": pipeline.Feed(x, axes.index("time"), cuts)}
    result = pipeline.run(text, feeds, {"y": (to.index("time"), 1)}, {"v": variant},
                          workers=workers)
    return result["y"].array


def arranged(sums, to):
    """Transposes [time channel baseline pol pol'] to the order `to`, which may lack axes of length
    1."""
    order = ["time", "channel", "baseline", "pol", "pol'"]
    sums = numpy.moveaxis(sums, [order.index(axis) for axis in order if axis not in to] +
                          [order.index(axis) for axis in to],
                          list(range(5)))
    missing = 5 - len(to)
    return sums.reshape(sums.shape[missing:]) if missing else sums


class Checked(unittest.TestCase):
    def check(self, kind, n, shape, integration, variant, output="cf32", axes=None, to=None,
              extreme=False, **how):
        """`shape` is channels, stations, polarisations; with 0 polarisations, there is no such
        axis."""
        n_channels, n_stations, n_pols = shape
        order = ["time", "channel", "station", "pol"]
        x, numbers = voltages(kind, (n, n_channels, n_stations, max(n_pols, 1)), extreme)
        sums, norms = products(numbers, integration)
        axes = axes or ["time", "channel", "station", "pol"]
        to = to or ["time", "channel", "baseline", "pol", "pol'"]
        if n_pols == 0:
            axes = [axis for axis in axes if axis != "pol"]
            to = [axis for axis in to if "pol" not in axis]
            x = x.reshape(n, n_channels, n_stations, *x.shape[4:])
        source = numpy.moveaxis(x, [order.index(axis) for axis in axes], list(range(len(axes))))
        got = correlate(kind, axes, source, integration, variant, output=output, to=to, **how)
        if kind in INTEGERS:
            wanted = numpy.stack([arranged(sums[..., part], to) for part in (0, 1)], -1)
            if output == "ci64":
                numpy.testing.assert_array_equal(got, wanted)
            else:  # exact sums, rounded once
                part = {"cf32": "f4", "cf64": "f8"}[output]
                numpy.testing.assert_array_equal(got.real, wanted[..., 0].astype(part))
                numpy.testing.assert_array_equal(got.imag, wanted[..., 1].astype(part))
            return
        wanted, norm = arranged(sums, to), arranged(norms, to)
        # The errors of the sums, of rounding to the output, and of the expected values.
        terms = min(integration, n)
        is_single = kind != "cf64" and output == "cf32"
        growth = (roundings(kind, output, how.get("precision"), terms) + 1) * \
            2.0 ** (-24 if is_single else -53)
        rounding = 2.0 ** -24 if output == "cf32" else 0
        bound = (growth + rounding + 2 * terms * 2.0 ** -53) * norm
        error = numpy.maximum(abs(got.real - wanted.real), abs(got.imag - wanted.imag))
        self.assertTrue((error <= bound).all(), f"{(error / bound).max()} of the bound")


class Correlate(Checked):
    def test_types(self):
        for variant, output, kind in pipeline.some(itertools.product(
                VARIANTS, ["cf32", "cf64", "ci64"], [*INTEGERS, "cf16", "cf32", "cf64"])):
            if kind not in INTEGERS and output == "ci64":
                continue
            with self.subTest(variant=variant, kind=kind, output=output):
                self.check(kind, 150, (3, 5, 2), 64, variant, output)

    @unittest.skipUnless("cuda" in VARIANTS, "there is no device")
    def test_split(self):
        for shape, n, integration in ((3, 5, 2), 150, 64), ((1, 17, 0), 70, 200), ((2, 9, 2), 5, 1):
            for variant in VARIANTS[0], "split-cuda":
                with self.subTest(variant=variant, shape=shape):
                    self.check("cf32", n, shape, integration, variant, precision="split")

    def test_tunings(self):
        """Every combination of tunables of every host variant, each with a type and a size;
        test-correlate-cuda.c has those of devices."""
        kinds = ["ci8", "cf32", "cf64", "ci4", "ci16"]
        sizes = [(2, 17, 2), (1, 1, 2), (2, 5, 2), (1, 9, 0), (1, 37, 2), (1, 13, 3), (1, 2, 2)]
        for variant in VARIANTS:
            if variant == "cuda":
                continue
            for k, tuned in enumerate(pipeline.tunings("correlate", variant)):
                kind, shape = kinds[k % 5], sizes[(k + k // 5) % 7]
                with self.subTest(variant=tuned, kind=kind, shape=shape):
                    self.check(kind, 330, shape, int(rng.integers(100, 400)), tuned,
                               cuts=[50, 200, 1])

    def test_sizes(self):
        sizes = [(1, 1, 1), (1, 1, 2), (2, 1, 0), (1, 2, 0), (1, 3, 3), (1, 7, 2), (2, 8, 1),
                 (1, 9, 1), (1, 13, 3), (1, 16, 1), (1, 17, 0), (1, 17, 2), (1, 37, 2)]
        for variant, kind, shape in pipeline.some(itertools.product(
                VARIANTS, ["ci8", "cf16", "cf32", "cf64", "ci16"], sizes)):
            # test-correlate-cuda.c tests more sizes on devices.
            if variant == "cuda" and shape not in sizes[::4]:
                continue
            with self.subTest(variant=variant, kind=kind, shape=shape):
                n = int(rng.integers(1, 200))
                self.check(kind, n, shape, int(rng.integers(1, 150)), variant)

    def test_layouts_in(self):
        """All orders that variants declare; the reference declares every order."""
        names = ["time", "channel", "station", "pol"]
        for variant in VARIANTS:
            for axes in itertools.permutations(names):
                axes = list(axes)
                if variant != "reference" and axes[2:] != ["station", "pol"]:
                    continue
                with self.subTest(variant=variant, axes=axes):
                    self.check("cf32", 40, (3, 5, 2), 16, variant, axes=axes)

    def test_layouts_out(self):
        names = ["time", "channel", "baseline", "pol", "pol'"]
        for variant in VARIANTS[:2]:
            for k, to in pipeline.some(enumerate(itertools.permutations(names))):
                with self.subTest(variant=variant, to=to):
                    self.check(["ci8", "cf32"][k % 2], 20, (2, 9, 2), 9, variant, to=list(to))

    def test_extreme_integers(self):
        for variant, kind in itertools.product(VARIANTS, ["ci4", "ci8", "ci16"]):
            with self.subTest(variant=variant, kind=kind):
                self.check(kind, 300, (1, 9, 2), 300, variant, "ci64", extreme=True)

    def test_a_million_full_scale_samples(self):
        n, n_stations = 1000000, 3
        for kind, low in ("ci8", -128), ("ci16", -32768):
            x = numpy.full((n, n_stations, 2, 2), low, pipeline.DTYPES[kind])
            for variant in VARIANTS[1:]:
                with self.subTest(variant=variant, kind=kind):
                    got = correlate(kind, ["time", "station", "pol"], x, n, variant,
                                    cuts=[100003, 65536], output="ci64",
                                    to=["time", "baseline", "pol", "pol'"])
                    self.assertTrue((got[..., 0] == 2 * n * low * low).all())
                    self.assertTrue((got[..., 1] == 0).all())

    def test_cuts(self):
        """The result is the same to the last bit for any blocks and for one and two workers."""
        axes, to = ["time", "channel", "station", "pol"], ["time", "channel", "baseline", "pol",
                                                           "pol'"]
        for variant, kind, n_stations in itertools.product(
                VARIANTS, ["cf16", "cf32", "cf64", "ci8"], [1, 9]):
            x, _ = voltages(kind, (700, 3, n_stations, 2))
            for integration in pipeline.some([50, 128, 300, 1000, 1]):
                whole = correlate(kind, axes, x, integration, variant, to=to)
                self.assertEqual(len(whole), -(-700 // integration))
                for cuts in [1, 13], [700], [128], [127, 129, 1], [301, 33]:
                    if cuts == [1, 13] and integration != 50:
                        continue
                    with self.subTest(variant=variant, kind=kind, integration=integration,
                                      cuts=cuts):
                        got = correlate(kind, axes, x, integration, variant, cuts, to=to,
                                        workers=1 + len(cuts) % 2)
                        self.assertEqual(got.tobytes(), whole.tobytes())

    def test_mathematics(self):
        """Autocorrelations are real; cross-correlated polarisations are conjugate; a plane wave has
        the expected phases."""
        x, _ = voltages("cf32", (200, 1, 4, 2))
        phase = numpy.exp(1j * numpy.array([0.0, 0.5, 1.5, 3.0]))
        x[...] = (x[:, :, :1, :] * phase[:, None]).astype(numpy.complex64)
        for variant in VARIANTS:
            with self.subTest(variant=variant):
                v = correlate("cf32", ["time", "channel", "station", "pol"], x, 200, variant,
                              to=["time", "channel", "baseline", "pol", "pol'"])[0, 0]
                b = 0
                for i in range(4):
                    for j in range(i + 1):
                        turn = numpy.angle(v[b, 0, 0] * numpy.conj(phase[i] / phase[j]))
                        self.assertLess(abs(turn), 1e-5)
                        b += 1
                for auto in v[[0, 2, 5, 9]]:
                    self.assertEqual(auto[0, 0].imag, 0)
                    self.assertLess(abs(auto[0, 1] - auto[1, 0].conj()), 1e-4 * abs(auto[0, 0]))

    def test_over_beam(self):
        x, numbers = voltages("cf32", (64, 1, 5, 2))
        sums, norms = products(numbers, 32)
        for variant in VARIANTS:
            with self.subTest(variant=variant):
                got = correlate("cf32", ["time", "channel", "beam", "pol"], x, 32, variant,
                                over="beam", to=["time", "channel", "baseline", "pol", "pol'"])
                self.assertTrue((abs(got - sums) <= 300 * 2.0 ** -24 * norms).all())


class Bytes(Checked):
    """Variants that multiply bytes, exact for all values."""

    def variants(self):
        found = [variant for variant in pipeline.further_variants("correlate") if variant in BYTES]
        if not found:
            self.skipTest("this machine multiplies no bytes")
        return found

    def test_sizes(self):
        """Numbers of inputs on both sides of a block's, and of spectra on both sides of a pair's,
        of a matrix's and of a pass's; polarisations that are contiguous and those that are not."""
        sizes = [(2, stations, pols) for stations in range(1, 21) for pols in (0, 1, 2)]
        lengths = [1, 2, 3, 31, 32, 33, 63, 65, 127, 128, 129, 255, 257, 300, 511, 513]
        orders = [["time", "channel", "station", "pol"], ["channel", "time", "station", "pol"],
                  ["pol", "channel", "time", "station"]]
        outputs = ["cf32", "cf64", "ci64"]
        for v, variant in enumerate(self.variants()):
            for k, shape in enumerate(pipeline.some(sizes + [(1, 33, 2), (1, 37, 2), (1, 9, 3), (1, 16, 2)])):
                n, kind = lengths[k % len(lengths)], ["ci8", "ci4"][(k // 3 + v) % 2]
                with self.subTest(variant=variant, kind=kind, shape=shape, n=n):
                    self.check(kind, n, shape, int(rng.integers(1, 2 * n + 1)),
                               f"{variant}:few={[0, 8][k % 3 == 2]}", outputs[k % 3],
                               axes=orders[k % (3 if shape[2] else 2)], cuts=[n] if k % 2 else [1, 40, 7],
                               workers=1 + k % 2)

    def test_tunings(self):
        sizes = [(2, 17, 2), (1, 1, 2), (2, 5, 2), (1, 9, 0), (1, 37, 2), (1, 13, 3), (1, 2, 2)]
        for variant in self.variants():
            for k, tuned in enumerate(pipeline.tunings("correlate", variant)[::5]):
                kind, shape = ["ci8", "ci4"][k % 2], sizes[k % 7]
                with self.subTest(variant=tuned, kind=kind, shape=shape):
                    self.check(kind, 330, shape, int(rng.integers(100, 400)), tuned,
                               cuts=[50, 200, 1])

    def test_extremes(self):
        """Sums of 32 bits are added to those of 64 after 2^15 spectra: on both sides of it, from
        the least and the largest numbers alone."""
        to = ["time", "channel", "baseline", "pol", "pol'"]
        for variant, (kind, low), n_stations in itertools.product(
                self.variants(), [("ci4", -8), ("ci8", -128)], [2, 9]):
            parts = numpy.where(rng.random((70000, 1, n_stations, 2, 2)) < 0.5, low, -low - 1)
            parts[:40000, :, 0] = low
            x = parts.astype("i1")
            if kind == "ci4":
                x = ((parts[..., 0] & 15) << 4 | parts[..., 1] & 15).astype("u1")
            for integration in pipeline.some([32768, 32767, 32769, 65536, 70000]):
                with self.subTest(variant=variant, kind=kind, integration=integration):
                    got = correlate(kind, ["time", "channel", "station", "pol"], x, integration,
                                    f"{variant}:few=0", cuts=[30011, 1, 5000], output="ci64", to=to)
                    numpy.testing.assert_array_equal(got, products(parts, integration)[0])

    @unittest.skipUnless(platform.machine() == "x86_64", "other processors have other sets")
    def test_missing(self):
        """A set that the machine, or CORNERTURN_ISA, does not have."""
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(graph("ci8[time station]", [-1, 4], 10))
            file.flush()
            command = [os.environ["CORNERTURN"], "plan", file.name, "--variant", "v=cpu-amx"]
            done = subprocess.run(command, env={**os.environ, "CORNERTURN_ISA": "avx512"},
                                  capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("wants amx, but CORNERTURN_ISA forbids it", done.stderr)


@unittest.skipUnless("cuda" in VARIANTS, "no device reads blocks of time")
class Blocks(unittest.TestCase):
    def test_blocks(self):
        """Time in blocks of 16, which a transpose makes: integrations end inside of blocks, the
        stream does, too, and samples are lost."""
        n, shape = 333, (2, 5, 2)
        sizes = itertools.product(["ci4", "ci8"], [100, 7, 1000], [[333], [33, 100]],
                                  [(2, 5, 2), (1, 17, 2)])
        for kind, integration, cuts, shape in sizes:
            x, numbers = voltages(kind, (n, *shape))
            valid = rng.random((1, n)) > 0.1
            sums, _ = products(numbers * valid.reshape(n, 1, 1, 1, 1), integration)
            text = f"""
stages:
  x: {{ stage: input, layout: "{kind}[time channel station pol]", shape: [-1, {shape[0]}, {shape[1]}, {shape[2]}] }}
  t: {{ stage: transpose, from: x, layout: "[channel time station pol time:16]" }}
  v: {{ stage: correlate, from: t, integration: {integration}, output: ci64 }}
  y: {{ stage: output, from: v, layout: "[time channel baseline pol pol']" }}
  w: {{ stage: output, from: v.weights, layout: "[time channel baseline]" }}
"""
            with self.subTest(kind=kind, integration=integration, cuts=cuts, shape=shape):
                result = pipeline.run(text, {"x": pipeline.Feed(x, 0, cuts, valid)},
                                      {"y": (0, 1), "w": (0, 1)}, {"v": "cuda"})
                numpy.testing.assert_array_equal(result["y"].array, sums)
                counts = numpy.add.reduceat(valid[0].astype(int), range(0, n, integration))
                numpy.testing.assert_array_equal(
                    result["w"].array,
                    numpy.broadcast_to(counts[:, None, None], result["w"].array.shape))


class Weights(unittest.TestCase):
    def weights(self, loses, shape, valid, full, integration, variant, cuts, workers=1):
        """Checks the weights of cf32[time channel station pol] voltages whose validity is
        [lane][time]. `full`, of the voltages' shape, is TRUE where they are valid; there they are
        1."""
        x = full.astype(numpy.complex64)
        pols = " pol pol'"
        text = graph("cf32[time channel station pol]", [-1, *shape], integration,
                     loses=f", loses: [{', '.join(loses)}]" if loses else "",
                     out=f', layout: "[time channel baseline{pols}]"',
                     weights=f', layout: "[time channel baseline{pols if "pol" in loses else ""}]"')
        feeds = {"x": pipeline.Feed(x, 0, cuts, valid)}
        return pipeline.run(text, feeds, {"y": (0, 1), "w": (0, 1)}, {"v": variant},
                            workers=workers)

    def test_weights(self):
        n, shape = 500, (2, 5, 2)
        cases = {(): [], ("station",): [5], ("channel", "station"): [2, 5],
                 ("station", "pol"): [5, 2], ("pol",): [2], ("channel",): [2]}
        for variant, (loses, lengths) in itertools.product(VARIANTS, cases.items()):
            n_lanes = int(numpy.prod(lengths))
            valid = rng.random((n_lanes, n)) > 0.1
            valid[:, 100:180] &= rng.random((n_lanes, 1)) > 0.5
            if n_lanes > 1:
                valid[0] = True
            full = valid.T.reshape([n] + [length if name in loses else 1 for name, length in
                                          zip(("channel", "station", "pol"), shape)])
            full = numpy.broadcast_to(full, (n, *shape)).astype(int)
            for integration, cuts in itertools.product([7, 64, 1000], [[500], [33, 100]]):
                with self.subTest(variant=variant, loses=loses, integration=integration, cuts=cuts):
                    result = self.weights(loses, shape, valid, full, integration, variant,
                                          cuts, len(cuts))
                    sums, _ = products(full.astype(complex), integration)
                    got = result["w"].array
                    if "pol" in loses:
                        numpy.testing.assert_array_equal(got, sums.real.astype(int))
                    else:
                        numpy.testing.assert_array_equal(got, sums.real.astype(int)[..., 0, 0])
                    # The voltages are 1 if valid and 0 otherwise, so V is the weight.
                    numpy.testing.assert_array_equal(result["y"].array, sums)


class Errors(unittest.TestCase):
    def fails(self, layout, shape, more, message):
        with self.assertRaisesRegex(pipeline.Failure, message):
            pipeline.run(graph(layout, shape, 10, more), {}, {})

    def test_errors(self):
        self.fails("cf32[time channel pol]", [-1, 4, 2], "", "wants a stream with the axis station")
        self.fails("cf32[time baseline station]", [-1, 4, 2], "", "wants a stream of voltages")
        self.fails("cf32[time station]", [-1, 4], ", output: ci64", "ci64 wants voltages of type")
        self.fails("f32[time station]", [-1, 4], "", "f32")

    @unittest.skipUnless("cuda" in VARIANTS, "there is no device")
    def test_precision(self):
        with self.assertRaisesRegex(pipeline.Failure, "`precision` is single"):
            pipeline.run(graph("cf32[time station]", [-1, 4], 10), {}, {}, {"v": "split-cuda"})


if __name__ == "__main__":
    tap.main()
