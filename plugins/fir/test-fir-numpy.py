#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The filter in graphs, against numpy in double precision: types, orders, hops, tails, windows."""
import itertools
import json
import unittest

import numpy

import graphs
import pipeline
import tap

VARIANTS = ["reference"] + ["cpu-" + isa for isa in pipeline.instruction_sets()]
CPU_TYPES = ["ci4", "ci8", "ci16", "cf16", "cf32", "i8", "i16", "u8", "f16", "f32"]
WIDE_TYPES = ["ci32", "ci64", "cf64", "i32", "i64", "u32", "f64"]
AXES = ["time", "station", "pol"]
rng = numpy.random.default_rng(3)


def samples(kind, shape, extreme=False):
    """Random samples, or all at the most negative value, as an array and as numbers."""
    dtype = numpy.dtype(pipeline.DTYPES[kind])
    shape = tuple(shape)
    if kind in ("cf32", "cf64"):
        x = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
        return x, x.astype(complex)
    if kind == "ci4":
        x, parts = pipeline.integers(rng, kind, shape, extreme)
        return x, parts[..., 0] + 1j * parts[..., 1]
    if kind in pipeline.PAIRS:
        shape = (*shape, 2)
    if dtype.kind == "f":
        x = rng.standard_normal(shape).astype(dtype)
    else:
        info = numpy.iinfo(dtype)
        x = numpy.full(shape, info.min, dtype) if extreme else \
            rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    numbers = x.astype(float)
    return x, numbers[..., 0] + 1j * numbers[..., 1] if kind in pipeline.PAIRS else numbers


def filtered(numbers, taps, hop, number=0):
    """y[time phase …] and Σ|h||x| of numbers[time …] in double precision; `number` is that of the
    first sample."""
    n_taps, n_channels = taps.shape
    n = max(0, (len(numbers) - n_taps * n_channels) // hop + 1)
    y = numpy.zeros((n, n_channels, *numbers.shape[1:]), numbers.dtype)
    norm = numpy.zeros(y.shape)
    for t, k in itertools.product(range(n), range(n_taps)):
        begin = t * hop + k * n_channels
        window = numbers[begin:begin + n_channels]
        h = taps[k].reshape(-1, *[1] * (numbers.ndim - 1))
        y[t] += h * window
        norm[t] += abs(h) * numpy.maximum(abs(window.real), abs(window.imag))
    if hop % n_channels != 0:
        # Sample n has phase n mod P.
        for t in range(n):
            y[t], norm[t] = (numpy.roll(sums, (number + t * hop) % n_channels, 0)
                             for sums in (y[t], norm[t]))
    return y, norm


def graph(kind, axes, shape, parameters, to=None, loses="", tail=""):
    out = f', layout: "[{" ".join(to)}]"' if to else ""
    return f"""
stages:
  x: {{ stage: input, layout: "{kind}[{' '.join(axes)}]", shape: {list(shape)} {loses} }}
  f: {{ stage: fir, from: x, {parameters} }}
{tail}  y: {{ stage: output, from: f {out} }}
"""


class FirTest(graphs.GraphTest):
    def coefficients(self, n_taps, n_channels, name="taps.npy"):
        taps = rng.standard_normal((n_taps, n_channels)).astype("f4")
        numpy.save(self.folder / name, taps)
        return taps, f"coefficients: {self.folder / name}"

    def check(self, kind, variant, n, n_channels, n_taps, hop, others=(2, 2), axes=None, to=None,
              extreme=False, cuts=(1 << 20,), workers=1):
        """`axes` is the order of time, station and pol in the input; `to` that of these and phase
        in the output."""
        axes, to = list(axes or AXES), list(to or ["time", "phase", "station", "pol"])
        x, numbers = samples(kind, (n, *others), extreme)
        taps, parameters = self.coefficients(n_taps, n_channels)
        wanted, norm = filtered(numbers, taps.astype(float), hop)
        source = numpy.moveaxis(x, [AXES.index(axis) for axis in axes], [0, 1, 2])
        shape = [-1 if axis == "time" else others[AXES.index(axis) - 1] for axis in axes]
        feeds = {"x": pipeline.Feed(source, axes.index("time"), cuts)}
        result = pipeline.run(graph(kind, axes, shape, f"{parameters}, hop: {hop}", to), feeds,
                              {"y": (to.index("time"), 1)}, {"f": variant}, workers=workers)
        got = result["y"].array
        if len(wanted) == 0:
            self.assertIsNone(got)
            return None
        order = ["time", "phase", "station", "pol"]
        back = [to.index(axis) for axis in order]
        self.assertEqual(got.dtype, numpy.dtype("c8" if kind[0] == "c" else "f4"))
        y = numpy.transpose(got, back)
        self.assertEqual(y.shape, wanted.shape)
        # n_taps products and sums are rounded; the reference rounds once, from double precision.
        steps = 1 if variant == "reference" else 2 * n_taps
        error = numpy.maximum(abs(y.real - wanted.real), abs(y.imag - wanted.imag))
        self.assertTrue((error <= (steps * 2.0 ** -24 + 1e-15 * n_taps) * norm).all(),
                        f"{(error / norm).max() / 2.0 ** -24} ulps")
        return got

    def test_types(self):
        for kind in CPU_TYPES + WIDE_TYPES:
            for variant in VARIANTS if kind in CPU_TYPES else VARIANTS[:1]:
                for extreme in False, True:
                    with self.subTest(variant=variant, kind=kind, extreme=extreme):
                        self.check(kind, variant, 200, 8, 5, 8, extreme=extreme)

    def test_sizes(self):
        shapes = [(1, 1, 1, (1, 1)), (1, 16, 1, (1, 1)), (1, 7, 4, (1, 1)), (1, 5, 3, (3, 2)),
                  (2, 64, 2, (1, 2)), (3, 3, 3, (5, 1)), (13, 1, 13, (3, 2)), (16, 8, 16, (1, 2)),
                  (64, 4, 64, (7, 2)), (17, 4, 8, (1, 1)), (32, 3, 27, (1, 1)), (8, 4, 4, (2, 2)),
                  (12, 2, 9, (1, 2)), (6, 3, 100, (1, 2)), (5, 33, 5, (1, 1)), (4, 9, 1, (2, 1))]
        for variant, (n_channels, n_taps, hop, others) in itertools.product(VARIANTS, shapes):
            for kind in "ci8", "f32":
                with self.subTest(variant=variant, n_channels=n_channels, n_taps=n_taps, hop=hop,
                                  others=others, kind=kind):
                    n = n_channels * n_taps + int(rng.integers(0, 40)) * hop
                    self.check(kind, variant, n, n_channels, n_taps, hop, others)

    def test_rows(self):
        """Rows of a tap that are longer than a tile: the last tile is shorter than others, or a
        sample of many series takes several."""
        kinds = ["ci8", "i8", "ci16", "ci4", "cf32"]
        sizes = [(101, 17, 101, (23, 2)), (150, 16, 50, (15, 2)), (3, 5, 3, (1601, 2))]
        for variant, kind, (n_channels, n_taps, hop, others) in itertools.product(
                VARIANTS[1:], kinds, sizes):
            with self.subTest(variant=variant, kind=kind, n_channels=n_channels):
                n = n_channels * n_taps + 20 * hop
                self.check(kind, variant, n, n_channels, n_taps, hop, others, cuts=(n // 2, 97),
                           workers=2)

    def test_tails(self):
        """A stream gives ⌊(N − P·n_taps)/H⌋ + 1 outputs, or none if it is too short."""
        for variant in VARIANTS[:2]:
            for n in 23, 24, 25, 29, 30, 31, 47, 48:
                with self.subTest(variant=variant, n=n):
                    self.check("cf32", variant, n, 8, 3, 6)

    def test_orders(self):
        """All orders of the input, and all that the reference declares (every one) of the output;
        for others, many of them."""
        outputs = list(itertools.permutations(["time", "phase", "station", "pol"]))
        for k, (axes, to) in enumerate(itertools.product(itertools.permutations(AXES), outputs)):
            variants = VARIANTS[:2] if k % 3 == 0 else VARIANTS[1:2]
            for variant in variants:
                with self.subTest(variant=variant, axes=axes, to=to):
                    self.check(["ci8", "cf32"][k % 2], variant, 90, 4, 3, 4, (3, 2), axes, to)

    def test_cuts(self):
        """The result is the same to the last bit for any blocks and for one and two workers."""
        for variant, kind, (n_channels, n_taps, hop) in itertools.product(
                VARIANTS, ["ci8", "cf32"], [(16, 5, 16), (8, 3, 5), (1, 9, 1), (4, 16, 8)]):
            x, _ = samples(kind, (1500, 3, 2))
            taps, parameters = self.coefficients(n_taps, n_channels)
            text = graph(kind, AXES, [-1, 3, 2], f"{parameters}, hop: {hop}")
            whole = None
            for cuts, workers in ([1500], 1), ([1], 2), ([7, 300, 2], 1), ([64], 2), ([333], 2):
                result = pipeline.run(text, {"x": pipeline.Feed(x, 0, cuts)}, {"y": (0, 1)},
                                      {"f": variant}, workers=workers)["y"]
                whole = result.array if whole is None else whole
                with self.subTest(variant=variant, kind=kind, n_channels=n_channels, cuts=cuts):
                    self.assertEqual(result.array.tobytes(), whole.tobytes())
                    self.assertEqual(result.start, 0)

    def test_starts(self):
        """Phases count from tick 0, rounded down between samples, wherever a stream begins; without
        a clock, from its start; if P divides the hop, from each window's first sample."""
        taps, parameters = self.coefficients(5, 8)
        x, numbers = samples("ci8", (700, 3))
        numpy.save(self.folder / "x.npy", x)
        for variant, hop, (start, ticks) in itertools.product(
                VARIANTS, (6, 5, 4, 8, 11, 16),
                [(0, 1), (5, 1), (-3, 1), (48, 48), (47, 48), (-1, 48), ((1 << 60) + 7, 1),
                 (-(1 << 60) - 7, 3), (5, None)]):
            clock = f"sample_rate: 1 MHz, ticks_per_sample: {ticks}," if ticks else ""
            with self.subTest(variant=variant, hop=hop, start=start, ticks=ticks):
                text = f"""
stages:
  x: {{ stage: file.source, path: {self.folder}/x.npy, layout: "ci8[time station]",
       {clock} start: {start}, block: {{ time: 100 }} }}
  f: {{ stage: fir, from: x, {parameters}, hop: {hop} }}
  y: {{ stage: output, from: f, layout: "[time phase station]" }}
"""
                result = pipeline.run(text, {}, {"y": (0, 1)}, {"f": variant}, workers=2)["y"]
                wanted, norm = filtered(numbers, taps.astype(float), hop,
                                        start // ticks if ticks else 0)
                self.assertEqual(result.start, start)
                self.assertEqual(result.array.shape, wanted.shape)
                self.assertTrue((abs(result.array - wanted) <= 20 * 2.0 ** -24 * norm).all())

    def test_impulse(self):
        """An impulse gives the taps."""
        taps, parameters = self.coefficients(6, 8)
        x = numpy.zeros((200, 1), "c8")
        x[64 + 5] = 1j
        for variant in VARIANTS:
            with self.subTest(variant=variant):
                y = pipeline.run(graph("cf32", ["time", "pol"], [-1, 1], parameters),
                                 {"x": pipeline.Feed(x)}, {"y": (0, 1)},
                                 {"f": variant})["y"].array[..., 0]
                wanted = numpy.zeros_like(y)
                for k in range(6):
                    wanted[8 - k, 5] = 1j * taps[k, 5]
                numpy.testing.assert_array_equal(y, wanted)

    def test_validity(self):
        """An output is valid if every sample under its taps is, in each lane separately."""
        taps, parameters = self.coefficients(3, 4)
        n = 203
        valid = rng.random((3, n)) > 0.02
        x, numbers = samples("ci8", (n, 3))
        x[~valid.T] = 0
        numbers = numpy.where(valid.T, numbers, 0)
        for variant, hop, cuts in itertools.product(VARIANTS, (3, 4), ([n], [1, 50])):
            with self.subTest(variant=variant, hop=hop, cuts=cuts):
                text = graph("ci8", ["time", "station"], [-1, 3], f"{parameters}, hop: {hop}",
                             loses=", loses: [station]")
                feeds = {"x": pipeline.Feed(x, 0, cuts, valid)}
                result = pipeline.run(text, feeds, {"y": (0, 3)}, {"f": variant})["y"]
                wanted, norm = filtered(numbers, taps.astype(float), hop)
                good = numpy.stack([valid[:, t * hop:t * hop + 12].all(1)
                                    for t in range(len(wanted))], 1)
                numpy.testing.assert_array_equal(result.validity, good)
                wanted = numpy.where(good.T[:, None], wanted, 0)
                self.assertTrue((abs(result.array - wanted) <= 1e-6 * norm).all())
                self.assertTrue((result.array.transpose(2, 0, 1)[~good] == 0).all())

    def test_windows(self):
        """Without coefficients, the taps are a windowed sinc of cutoff 1/P with peak 1."""
        x = numpy.eye(32, dtype="f4")  # one impulse for each station: they show all taps
        for n_taps, n_channels in (4, 8), (8, 4), (32, 1), (1, 32):
            n = n_taps * n_channels
            sinc = numpy.sinc((numpy.arange(n) - (n - 1) / 2) / n_channels)
            for window, w in [("rectangular", numpy.ones(n)), ("hanning", numpy.hanning(n)),
                              ("hamming", numpy.hamming(n)), ("blackman", numpy.blackman(n)),
                              ("kaiser, beta: 5.5", numpy.kaiser(n, 5.5)),
                              ("kaiser", numpy.kaiser(n, 8)), (None, numpy.hamming(n))]:
                with self.subTest(n_taps=n_taps, window=window):
                    more = f", window: {window}" if window else ""
                    text = graph("f32", ["time", "station"], [-1, 32],
                                 f"n_channels: {n_channels}, n_taps: {n_taps}{more}")
                    y = pipeline.run(text, {"x": pipeline.Feed(x)}, {"y": (0, 1)},
                                     {"f": "reference"})["y"].array[0]
                    taps = numpy.array([y[i % n_channels, i] for i in range(n)])
                    numpy.testing.assert_allclose(taps, sinc * w, atol=2.0 ** -23)

    def test_coefficients(self):
        """Coefficients may also be all on one axis, doubles or integers."""
        x, numbers = samples("cf32", (80, 1))
        taps = numpy.arange(12) - 5
        for name, array, more in [("f8", taps.astype("f8"), "n_channels: 4"),
                                  ("i2", taps.astype("i2"), "n_taps: 3"),
                                  ("2d", taps.reshape(3, 4).astype("f4"), "n_taps: 3"),
                                  ("F", numpy.asfortranarray(taps.reshape(3, 4), "f4"),
                                   "n_channels: 4")]:
            with self.subTest(name=name):
                numpy.save(self.folder / name, array)
                text = graph("cf32", ["time", "pol"], [-1, 1],
                             f"coefficients: {self.folder / name}.npy, {more}")
                y = pipeline.run(text, {"x": pipeline.Feed(x)}, {"y": (0, 1)})["y"].array
                wanted, norm = filtered(numbers, taps.reshape(3, 4), 4)
                self.assertTrue((abs(y - wanted) <= 6 * 2.0 ** -24 * norm).all())

    def test_description(self):
        stages = {
            "x": {"stage": "generate", "sample_rate": "8 kHz", "samples": 1000, "n_pols": 2,
                  "start": 40},
            "f": {"stage": "fir", "from": "x", "n_channels": 4, "n_taps": 3, "hop": 2},
            "y": {"stage": "file.sink", "from": "f", "path": "y.npy"},
        }
        self.run_graph(stages)
        told = json.loads((self.folder / "y.npy.json").read_text())
        phase = next(axis for axis in told["axes"] if axis["name"] == "phase")
        self.assertEqual((phase["length"], phase["unit"], phase["first"]), (4, "s", 0))
        self.assertAlmostEqual(phase["step"], 1 / 8000, 18)
        self.assertEqual(told["start"], 40)
        self.assertEqual(told["ticks_per_sample"], 2)
        self.assertEqual(told["sample_rate"], 4000)
        self.assertEqual(numpy.load(self.folder / "y.npy").shape, (495, 4, 2))

    def test_errors(self):
        numpy.save(self.folder / "taps.npy", numpy.ones((3, 4), "f4"))
        numpy.save(self.folder / "complex.npy", numpy.ones((3, 4), "c8"))
        numpy.save(self.folder / "many.npy", numpy.ones((65, 4), "f4"))
        numpy.save(self.folder / "deep.npy", numpy.ones((2, 2, 4), "f4"))
        (self.folder / "no.npy").write_text("no array")
        taps = f"coefficients: {self.folder}/taps.npy"
        for parameters, message in [
                ("n_taps: 3", r"parameter 'n_channels': wants a value where there are no coeff"),
                ("n_channels: 3", r"parameter 'n_taps': wants a value where there are no coeff"),
                ("n_channels: 4, n_taps: 65", r"test:4:.*n_taps.*64"),
                ("n_channels: 0, n_taps: 4", r"test:4:.*n_channels"),
                ("n_channels: 4, n_taps: 4, window: hanming", r"test:4:.*hamming"),
                ("n_channels: 4, n_taps: 4, hop: 0", r"test:4:.*hop"),
                (taps + ", n_channels: 5", r"wants an array of shape \(taps, 5\), but .*/taps.npy "
                                           r"has shape \(3, 4\)"),
                (taps + ", n_taps: 2", r"wants an array of shape \(2, channels\), but "),
                (f"coefficients: {self.folder}/deep.npy, n_channels: 4, n_taps: 4",
                 r"wants an array of shape \(4, 4\), but .* has shape \(2, 2, 4\)"),
                (f"coefficients: {self.folder}/many.npy", "wants at most 64 taps"),
                (f"coefficients: {self.folder}/complex.npy", "complex.npy"),
                (f"coefficients: {self.folder}/no.npy", "not an .npy file"),
                (f"coefficients: {self.folder}/missing.npy", "missing.npy")]:
            with self.subTest(parameters=parameters):
                with self.assertRaisesRegex(pipeline.Failure, message) as caught:
                    pipeline.run(graph("cf32", ["time", "pol"], [-1, 2], parameters), {}, {})
                self.assertRegex(str(caught.exception), r"^test:4:\d+: node 'f': ")
        again = "  g: { stage: fir, from: f, n_channels: 4, n_taps: 1 }\n"
        with self.assertRaisesRegex(pipeline.Failure, "axis phase"):
            pipeline.run(graph("cf32", ["time", "pol"], [-1, 2], taps, tail=again), {}, {})
        with self.assertRaisesRegex(pipeline.Failure, "time"):
            pipeline.run(graph("cf32", ["station", "pol"], [3, 2], taps), {}, {})


if __name__ == "__main__":
    tap.main()
