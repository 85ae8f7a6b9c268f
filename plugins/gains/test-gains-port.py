#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Gains over the port against NumPy: each block takes effect at its tick."""
import fractions
import os
import tempfile
import unittest

import numpy

import pipeline
import tap

VARIANTS = pipeline.variants()
AXES = ("channel", "station", "pol")
LENGTHS = {"channel": 5, "station": 3, "pol": 2}
SEED = int(os.environ.get("CORNERTURN_SEED", "11"))
rng = numpy.random.default_rng(SEED)


def normal(*shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def clock(rate, ticks=1, start=0, epoch=None):
    text = f"sample_rate: {rate} Hz, ticks_per_sample: {ticks}, start: {start}"
    return text + (f", epoch: '{epoch}'" if epoch is not None else "")


def seconds(k, rate, ticks=1, start=0, epoch=None):
    """The time of sample k."""
    rate = fractions.Fraction(rate)
    return fractions.Fraction(start) / (rate * ticks) + k / rate + (epoch or 0)


def in_effect(n, data, n_blocks, blocks):
    """The block that holds at each of n samples; the arguments are those of two clocks."""
    begins = [seconds(k, *blocks) for k in range(n_blocks)]
    return [max(sum(begin <= seconds(t, *data) for begin in begins) - 1, 0) for t in range(n)]


class Port(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        print(f"# seed {SEED}")

    def source(self, name, array, layout, more):
        path = os.path.join(self.folder, name + ".npy")
        numpy.save(path, array)
        return f"  {name}: {{ stage: file.source, path: '{path}', layout: '{layout}', {more} }}\n"

    def graph(self, x, w, node="", out="[time channel station pol]"):
        """`x` and `w`: array, layout, and parameters of the source."""
        return ("stages:\n" + self.source("x", *x) + self.source("w", *w) +
                f"  g: {{ stage: gains, from: {{ in: x, gains: w }} {node} }}\n"
                f"  y: {{ stage: output, from: g, layout: '{out}' }}\n")

    def take(self, text, variant, workers=1):
        taken = pipeline.run(text, {}, {"y": (0, 1)}, {"g": variant}, workers=workers)["y"]
        return taken.array

    def close(self, got, wanted, *what):
        """Compares within four roundings of such products."""
        u = 2.0 ** (-24 if got.dtype == numpy.complex64 else -53)
        self.assertEqual(got.shape, wanted.shape, what)
        self.assertTrue(numpy.all(abs(got - wanted) <= 8 * u * abs(wanted)), what)

    def test_blocks(self):
        """Random clocks, axes, orders, types and blocks."""
        clocks = [
            ((1000, 1, 0), ("10", 1, 0)),
            ((7, 1, 0), ("0.3", 1, 0)),
            ((1000, 3, 1200), ("25", 7, 63)),
            ((48000, 1, 17, 1000), ("441", 1, 0, 1000)),
            ((1000, 1, 0), ("1000", 1, 50)),  # begins later, then as fast as the samples
            ((100, 1, 0), ("400", 1, 0)),  # faster than the samples
            ((200, 1024, 0, 2000000000), ("4", 1000, -3000, 2000000000)),
        ]
        n, n_blocks = 211, 30
        for i, (data, blocks) in enumerate(2 * clocks):
            axes = [axis for axis in rng.permutation(AXES) if rng.random() < 0.8]
            lengths = [LENGTHS[axis] if rng.random() < 0.8 else 1 for axis in axes]
            order = list(rng.permutation(("time", *AXES)))
            is_double = i % 3 == 2
            x = normal(n, *LENGTHS.values()).astype("c16" if is_double else "c8")
            kind = ["c8", "c16", "f4", "f8", "i2"][i % 5]
            w = normal(n_blocks, *lengths)
            w = (w.real * 100 if kind[0] != "c" else w).astype(kind)
            at = int(rng.integers(0, len(axes) + 1))
            layout = " ".join(axes[:at] + ["time"] + axes[at:])
            text = self.graph(
                (x.transpose([("time", *AXES).index(axis) for axis in order]),
                 f"[{' '.join(order)}]", clock(*data) + f", block: {{ time: {1 + i * 17 % 90} }}"),
                (numpy.moveaxis(w, 0, at), f"[{layout}]", clock(*blocks)))
            sorted_axes = sorted(axes, key=AXES.index)
            full = w.transpose([0] + [1 + axes.index(axis) for axis in sorted_axes])
            full = full.reshape([n_blocks] + [lengths[axes.index(axis)] if axis in axes else 1
                                              for axis in AXES])
            held = in_effect(n, data, n_blocks, blocks)
            self.assertGreater(len(set(held)), 1)
            wanted = x.astype(complex) * full[held]
            for variant in VARIANTS:
                for workers in (1, 3):
                    self.close(self.take(text, variant, workers), wanted, data, blocks, axes,
                               lengths, order, kind, variant, workers)

    def test_one_array(self):
        """An array without time holds for the whole stream."""
        x, w = normal(70, 5, 3, 2).astype("c8"), normal(3, 2, 5)
        text = self.graph((x, "[time channel station pol]", clock(1000)),
                          (w, "[station pol channel]", ""))
        for variant in VARIANTS:
            self.close(self.take(text, variant), x.astype(complex) * w.transpose(2, 0, 1), variant)

    def test_inverse(self):
        x, w = normal(70, 5, 3, 2).astype("c8"), normal(7, 3)
        w[2, 1] = 0
        text = self.graph((x, "[time channel station pol]", clock(1000)),
                          (w, "[time station]", clock(100)), ", inverse: true")
        held = w[in_effect(70, (1000,), 7, ("100",))]
        with numpy.errstate(all="ignore"):
            factors = numpy.where(held == 0, 0, 1 / held)
        for variant in VARIANTS:
            self.close(self.take(text, variant), x * factors[:, None, :, None], variant)

    def test_real_streams(self):
        """Each block holds from its tick; integers and doubles become factors of the stream."""
        held = in_effect(70, (1000,), 7, ("100",))
        for kind in "f4", "f8":
            x = rng.normal(size=(70, 5, 3, 2)).astype(kind)
            for of in "f4", "f8", "i2":
                w = (rng.normal(size=(7, 3)) * 100).astype(of)
                text = self.graph((x, "[time channel station pol]", clock(1000)),
                                  (w, "[time station]", clock(100)))
                wanted = x.astype(float) * w[held].astype(float)[:, None, :, None]
                u = 2.0 ** (-24 if kind == "f4" else -53)
                for variant in VARIANTS:
                    for workers in (1, 3):
                        got = self.take(text, variant, workers)
                        self.assertEqual(got.dtype, x.dtype)
                        # the factor and the product are rounded
                        self.assertTrue(numpy.all(abs(got - wanted) <= 4 * u * abs(wanted)),
                                        (kind, of, variant, workers))

    def test_like_a_file(self):
        """The same to the last bit as with the factors in a file."""
        x, w = normal(99, 5, 3, 2).astype("c8"), normal(3, 2, 5)
        layout = "[time channel station pol]"
        text = self.graph((x, layout, clock(1000)), (w, "[station pol channel]", ""))
        path = os.path.join(self.folder, "w.npy")
        alone = ("stages:\n" + self.source("x", x, layout, clock(1000)) +
                 f"  g: {{ stage: gains, from: x, gains: '{path}' }}\n"
                 f"  y: {{ stage: output, from: g, layout: '{layout}' }}\n")
        for variant in VARIANTS:
            self.assertEqual(self.take(text, variant).tobytes(),
                             self.take(alone, variant).tobytes())

    def test_errors(self):
        x = (normal(7, 5, 3, 2).astype("c8"), "[time channel station pol]", clock(1000))
        w = (normal(2, 3), "[time station]", clock(10))
        path = os.path.join(self.folder, "w.npy")
        for given, node, wanted in (
                (w, f", gains: '{path}'", r"^test:4:\d+: node 'g': parameter 'gains': wants to stand "
                 "alone, but the port 'gains' is connected too"),
                (w, ", gain: 2", r"^test:4:\d+: node 'g': parameter 'gain': wants to stand alone, "
                 "but the port 'gains' is connected too"),
                ((normal(2, 4), "[time station]", clock(10)), "",
                 r"^test:4:3: node 'g': input 'gains' wants axes of input 'in', of the same length or "
                 "of length 1, time 7, channel 5, station 3, pol 2, but is given time 2, station 4"),
                ((normal(2, 4), "[time beam]", clock(10)), "",
                 "but is given time 2, beam 4"),
                ((normal(2, 3), "[time station]", clock(10)), "real",
                 r"^test:4:3: node 'g': input 'gains' wants real factors, for input 'in' is real "
                 r"\(f32\), but is given cf64$"),
                ((normal(2, 3), "[time station]", "start: 0"), "",
                 "port 'gains' wants blocks whose ticks relate to those of port 'in'"),
        ):
            with self.subTest(wanted=wanted), self.assertRaisesRegex(pipeline.Failure, wanted):
                data = (x[0].real.copy(), *x[1:]) if node == "real" else x
                self.take(self.graph(data, given, "" if node == "real" else node), "reference")


if __name__ == "__main__":
    tap.main()
