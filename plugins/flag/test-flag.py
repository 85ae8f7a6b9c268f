#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Samples flagged by statistics of other rates, starts and ends, against NumPy."""
import os
import pathlib
import shutil
import tempfile
import unittest

import numpy

import pipeline
import tap

VARIANTS = pipeline.variants()
CLOCK = 504000  # ticks per second, a multiple of the ticks of all samples
SEED = int(os.environ.get("CORNERTURN_SEED", "1"))
print(f"# CORNERTURN_SEED={SEED}")
rng = numpy.random.default_rng(SEED)


def random_of(type_, shape):
    """Any bytes of a type; but no NaN, whose payload may change."""
    dtype = numpy.dtype(pipeline.DTYPES[type_])
    shape += (2,) if type_ in pipeline.PAIRS else ()
    if dtype.kind in "fc":
        return (100 * rng.normal(size=shape)).astype(dtype)
    return numpy.frombuffer(rng.bytes(int(numpy.prod(shape)) * dtype.itemsize), dtype).reshape(shape)


def expected(x, w, starts=(0, 0), ticks=(1, 1), limits=(-numpy.inf, numpy.inf), valid=None):
    """The samples of x [time channel …] and their validity [time channel], by the rule of the page:
    w [time channel] is the sample that holds at the tick of x. `valid`: that of x and that of w,
    [time channel]."""
    of = (starts[0] + ticks[0] * numpy.arange(len(x)) - starts[1]) // ticks[1]
    there = (of >= 0) & (of < len(w))
    of = numpy.clip(of, 0, len(w) - 1)
    with numpy.errstate(invalid="ignore"):
        good = there[:, None] & (w >= limits[0])[of] & (w <= limits[1])[of]
    if valid is not None:
        good = good & valid[0] & valid[1][of]
    return numpy.where(good.reshape(good.shape + (1,) * (x.ndim - 2)), x, 0), good


class Flag(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cornerturn-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def source(self, name, array, layout, start, ticks, block):
        """The line of a source that reads an array [time channel …] with any clock."""
        array.tofile(self.folder / f"{name}.raw")
        shape = list(array.shape[:len(layout.split())])
        return (f"  {name}: {{ stage: file.source, path: '{self.folder}/{name}.raw', "
                f"layout: '{layout}', shape: {shape}, sample_rate: {CLOCK // ticks} Hz, "
                f"ticks_per_sample: {ticks}, start: {start}, block: {{ time: {block} }} }}\n")

    def check(self, got, wanted, good, *what):
        self.assertEqual(got.array.shape, wanted.shape, what)
        self.assertTrue((got.validity == good.T).all(), what)
        self.assertEqual(got.array.tobytes(), wanted.astype(got.array.dtype).tobytes(), what)

    def test_types(self):
        """Every type, with a statistic of every type of its own, held for 10 samples, which lacks
        the polarisations."""
        types = list(pipeline.DTYPES)
        of = ["i8", "i16", "i32", "u8", "u32", "f16", "f32", "f64"]
        for i, type_ in enumerate(types):
            x = random_of(type_, (403, 5, 2))
            w = random_of(of[i % len(of)], (41, 5))
            limits = (float(numpy.quantile(w, 0.3)), float(numpy.quantile(w, 0.8)))
            wanted, good = expected(x, w, ticks=(1, 10), limits=limits)
            text = ("stages:\n" + self.source("x", x, f"{type_}[time channel pol]", 0, 1, 100) +
                    self.source("w", w, f"{of[i % len(of)]}[time channel]", 0, 10, 7) +
                    f"  y: {{ stage: flag, from: {{ in: x, statistic: w }}, lower: {limits[0]!r}, "
                    f"upper: {limits[1]!r} }}\n"
                    f"  z: {{ stage: output, from: y, layout: '{type_}[time channel pol]' }}\n")
            for variant in VARIANTS:
                got = pipeline.run(text, {}, {"z": (0, 5)}, {"y": variant}, workers=1 + i % 3)["z"]
                self.check(got, wanted, good, type_, variant)

    def test_orders(self):
        """All orders of the axes, statistics with and without time's neighbours."""
        x = random_of("cf32", (301, 5, 2))
        for order in ("time channel pol", "channel time pol", "channel pol time",
                      "pol time channel", "time pol channel", "pol channel time"):
            for hold in (1, 36):
                w = random_of("f32", (-(-301 // hold), 5))
                wanted, good = expected(x, w, ticks=(1, hold), limits=(-50, 80))
                place = [("time", "channel", "pol").index(axis) for axis in order.split()]
                text = ("stages:\n" + self.source("x", x, "cf32[time channel pol]", 0, 1, 64) +
                        self.source("w", w, "f32[time channel]", 0, hold, 5) +
                        "  y: { stage: flag, from: { in: x, statistic: w }, lower: -50, upper: 80 }"
                        f"\n  z: {{ stage: output, from: y, layout: 'cf32[{order}]' }}\n")
                for variant in VARIANTS:
                    got = pipeline.run(text, {}, {"z": (order.split().index("time"), 5)},
                                       {"y": variant}, workers=2)["z"]
                    self.check(got, wanted.transpose(place), good, order, hold, variant)

    def test_one_value_for_all(self):
        """A statistic of time alone loses nothing separately."""
        x = random_of("ci8", (300, 3, 2))
        w = random_of("f32", (30, 1))
        wanted, good = expected(x, w, ticks=(1, 10), limits=(-60, 60))
        text = ("stages:\n" + self.source("x", x, "ci8[time channel pol]", 0, 1, 50) +
                self.source("w", w[:, 0], "f32[time]", 0, 10, 4) +
                "  y: { stage: flag, from: { in: x, statistic: w }, lower: -60, upper: 60 }\n"
                "  z: { stage: output, from: y, layout: 'ci8[time channel pol]' }\n")
        for variant in VARIANTS:
            got = pipeline.run(text, {}, {"z": (0, 1)}, {"y": variant})["z"]
            self.check(got, wanted, good, variant)

    def test_clocks(self):
        """Random rates, starts, lengths and blocks: w begins and ends before x, or after it."""
        for turn in range(40):
            ticks = int(rng.choice([1, 1, 2, 3, 6, 10])), 0
            others = [k for k in (1, 2, 3, 5, 6, 7, 10, 16, 100, 1000) if k >= ticks[0]]
            ticks = ticks[0], int(rng.choice([ticks[0]] + others))
            n = int(rng.integers(1, 2000)), 0
            starts = int(rng.integers(0, 3000)), int(rng.integers(0, 3000))
            n = n[0], int(rng.integers(1, max(2, 2 * n[0] * ticks[0] // ticks[1])))
            blocks = [int(rng.choice([1, 7, 64, 1000])) for _ in range(2)]
            x, w = random_of("i16", (n[0], 3)), random_of("f32", (n[1], 3))
            what = (turn, ticks, starts, n, blocks)
            wanted, good = expected(x, w, starts, ticks, (-80, 120))
            text = ("stages:\n" +
                    self.source("x", x, "i16[time channel]", starts[0], ticks[0], blocks[0]) +
                    self.source("w", w, "f32[time channel]", starts[1], ticks[1], blocks[1]) +
                    "  y: { stage: flag, from: { in: x, statistic: w }, lower: -80, upper: 120 }\n"
                    "  z: { stage: output, from: y, layout: 'i16[time channel]' }\n")
            got = pipeline.run(text, {}, {"z": (0, 3)}, {"y": VARIANTS[turn % len(VARIANTS)]},
                               workers=1 + turn % 2)["z"]
            self.assertEqual(got.start, starts[0], what)
            self.check(got, wanted, good, *what)

    def test_gaps(self):
        """Invalid samples of x and of w, each in lanes of its own; w of another length than x, which
        nobody knows beforehand."""
        for n_w in (310, 77, 310):
            x, w = random_of("f32", (310, 4)), random_of("f64", (n_w, 4))
            valid = [rng.random((len(a), k)) > 0.2 for a, k in ((x, 1), (w, 4))]
            zeroed = w * valid[1]
            wanted, good = expected(x, zeroed, limits=(-200, 90),
                                    valid=[numpy.broadcast_to(valid[0], x.shape), valid[1]])
            text = ("stages:\n"
                    "  x: { stage: input, layout: 'f32[time channel]', shape: [-1, 4] }\n"
                    "  w: { stage: input, layout: 'f64[time channel]', shape: [-1, 4], "
                    "loses: [channel] }\n"
                    "  y: { stage: flag, from: { in: x, statistic: w }, lower: -200, upper: 90 }\n"
                    "  z: { stage: output, from: y, layout: 'f32[time channel]' }\n")
            for variant in VARIANTS:
                feeds = {"x": pipeline.Feed(x, 0, (50, 1, 33), valid[0].T),
                         "w": pipeline.Feed(zeroed, 0, (13, 90), valid[1].T)}
                got = pipeline.run(text, feeds, {"z": (0, 4)}, {"y": variant}, workers=2)["z"]
                self.check(got, wanted, good, n_w, variant)

    def test_limits(self):
        x = numpy.ones((8, 1), numpy.float32)
        w = numpy.array([[0.5], [1], [1.5], [2], [2.5], [numpy.nan], [numpy.inf], [-numpy.inf]],
                        numpy.float32)
        for given, limits in ((", lower: 1", (1, numpy.inf)), (", upper: 2", (-numpy.inf, 2)),
                              (", lower: 1, upper: 2", (1, 2)), (", lower: 2, upper: 2", (2, 2)),
                              ("", (-numpy.inf, numpy.inf))):
            wanted, good = expected(x, w, limits=limits)
            text = ("stages:\n" + self.source("x", x, "f32[time channel]", 0, 1, 8) +
                    self.source("w", w, "f32[time channel]", 0, 1, 8) +
                    f"  y: {{ stage: flag, from: {{ in: x, statistic: w }}{given} }}\n"
                    "  z: { stage: output, from: y }\n")
            for variant in VARIANTS:
                got = pipeline.run(text, {}, {"z": (0, 1)}, {"y": variant})["z"]
                self.check(got, wanted, good, given, variant)

    def test_own_samples(self):
        """A stream that waits for a sum of 1,000 of its own samples, which comes only with the last
        of them, in blocks and caches of any size."""
        x = random_of("f32", (12345, 2)).round()
        sums = numpy.add.reduceat(x.astype(float), range(0, len(x), 1000))
        wanted, good = expected(x, sums, ticks=(1, 1000), limits=(-1000, 2000))
        self.assertTrue(good.any() and not good.all())
        for block in (1, 64, 5000):
            text = ("stages:\n" + self.source("x", x, "f32[time channel]", 0, 1, block) +
                    "  w: { stage: integrate, from: x, length: 1000 }\n"
                    "  y: { stage: flag, from: { in: x, statistic: w }, lower: -1000, upper: 2000 }"
                    "\n  z: { stage: output, from: y, layout: 'f32[time channel]' }\n")
            for variant in VARIANTS:
                got = pipeline.run(text, {}, {"z": (0, 2)}, {"y": variant}, workers=2)["z"]
                self.check(got, wanted, good, block, variant)

    def test_errors(self):
        x, w = random_of("f32", (20, 3)), random_of("f32", (20, 3))
        for of_w, more, wanted in (
                (("f32[time channel]", 0, 1), ", lower: 3, upper: 2",
                 "wants at least the lower limit, 3, but is given 2"),
                (("f32[time beam]", 0, 2), "", "'x' and 'w' differ: only the second has an axis "
                 "'beam'"),
                (("f32[time channel]", 0, 1), "", "'x' and 'w' have samples of 2 and 1 ticks: those "
                 "of the second must be as long or longer"),
        ):
            text = ("stages:\n" + self.source("x", x, "f32[time channel]", 0, 2, 8) +
                    self.source("w", w, *of_w, 8) +
                    f"  y: {{ stage: flag, from: {{ in: x, statistic: w }}{more} }}\n"
                    "  z: { stage: output, from: y }\n")
            with self.assertRaises(pipeline.Failure) as raised:
                pipeline.run(text, {}, {"z": (0, 1)})
            self.assertIn(wanted, str(raised.exception))
            self.assertRegex(str(raised.exception), r"test:4:\d+")
        for rate, channels, wanted in ((7, 3, "have clocks of"), (1, 2, "have 3 and 2 along")):
            text = ("stages:\n"
                    "  x: { stage: input, layout: 'f32[time channel]', shape: [-1, 3], "
                    "sample_rate: 1 Hz }\n"
                    f"  w: {{ stage: input, layout: 'f32[time channel]', shape: [-1, {channels}], "
                    f"sample_rate: {rate} Hz }}\n"
                    "  y: { stage: flag, from: { in: x, statistic: w } }\n"
                    "  z: { stage: output, from: y }\n")
            with self.assertRaisesRegex(pipeline.Failure, wanted):
                pipeline.run(text, {}, {"z": (0, 1)})


if __name__ == "__main__":
    tap.main()
