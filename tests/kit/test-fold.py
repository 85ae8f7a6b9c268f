#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A fold that leaves invalid samples out, against NumPy: the least of positive samples, which no zero
of an invalid one may be. All layouts, types that are converted, gaps in lanes, cuts, workers."""
import itertools
import os
import unittest

import numpy

os.environ["CORNERTURN_PLUGIN_PATH"] += ":" + os.environ["CORNERTURN_TEST_PLUGINS"] + "/fold"

import pipeline  # noqa: E402
import tap  # noqa: E402

VARIANTS = pipeline.variants()
AXES = ("time", "channel", "pol")
CUTS = (((1 << 20,), 1), ((1,), 1), ((17, 1, 40, 3), 2))
SEED = 5
rng = numpy.random.default_rng(SEED)
print(f"# seed: {SEED}")


def least(x, valid, length, needed):
    """The least valid samples [time channel pol], and whether they are valid [time channel]."""
    made, good = [], []
    for i in range(0, len(x), length):
        some = valid[i:i + length]
        made.append(numpy.where(some, x[i:i + length], numpy.inf).min(0))
        good.append((some.sum(0) >= max(needed, 1)).all(1))
    return numpy.stack(made), numpy.stack(good)


class Fold(unittest.TestCase):
    def check(self, type_, n, n_channels, n_pols, length, order, variants, loses=(), gaps=None,
              needed=1, all_cuts=CUTS):
        lengths = {"time": -1, "channel": n_channels, "pol": n_pols}
        shape = (n, n_channels, n_pols)
        x = rng.integers(1, 2000, shape).astype(pipeline.DTYPES[type_])
        lanes = [n_channels if "channel" in loses else 1, n_pols if "pol" in loses else 1]
        valid = numpy.ones((*lanes, n), bool)
        if gaps:
            valid = rng.random((*lanes, n)) >= gaps
            valid[0, 0, n // 3:n // 2] = False
        of_all = numpy.broadcast_to(valid.transpose(2, 0, 1), shape)
        x = numpy.where(of_all, x, 0).astype(x.dtype)
        wanted, good = least(x, of_all, length, needed)
        wanted = numpy.where(good[:, :, None], wanted, 0)
        out = "f16" if type_ == "f16" else "f32"
        text = (f"stages:\n  x: {{ stage: input, layout: '{type_}[{' '.join(order)}]', "
                f"shape: {[lengths[axis] for axis in order]}"
                + (f", loses: [{', '.join(loses)}]" if loses else "") + " }\n"
                f"  y: {{ stage: least, from: x, length: {length}, needed: {needed} }}\n"
                f"  z: {{ stage: output, from: y, layout: '{out}[{' '.join(order)}]' }}\n")
        array = numpy.ascontiguousarray(x.transpose([AXES.index(axis) for axis in order]))
        time = order.index("time")
        n_lanes = n_channels * lanes[1]
        for variant, (cuts, workers) in itertools.product(variants, all_cuts):
            feed = pipeline.Feed(array, time, cuts, valid.reshape(-1, n) if gaps else None)
            taken = pipeline.run(text, {"x": feed}, {"z": (time, n_lanes)}, {"y": variant},
                                 workers=workers)["z"]
            what = (type_, shape, length, order, variant, cuts, loses)
            got = taken.array.transpose([order.index(axis) for axis in AXES])
            # with a lane for each pol, an element is valid by itself
            if "pol" in loses:
                own = numpy.stack([least(x[:, :, p:p + 1], of_all[:, :, p:p + 1], length, needed)[1]
                                   for p in range(n_pols)], 2)
                by_itself = least(x, of_all, length, needed)[0]
                self.assertTrue(numpy.array_equal(got, numpy.where(own, by_itself, 0)), what)
                self.assertTrue(numpy.array_equal(
                    taken.validity.reshape(n_channels, n_pols, -1).transpose(2, 0, 1), own), what)
                continue
            self.assertTrue(numpy.array_equal(got, wanted), what)
            self.assertTrue(numpy.array_equal(taken.validity.T, good), what)

    def test_layouts(self):
        for i, order in enumerate(itertools.permutations(AXES)):
            self.check("f32", 203, 5, 3, (10, 64, 300)[i % 3], order, VARIANTS)

    def test_gaps(self):
        """Lanes in all positions: of groups, of fast elements, of runs of elements."""
        loses = ((), ("channel",), ("pol",), ("channel", "pol"))
        for i, order in enumerate(itertools.permutations(AXES)):
            for k in (0, 2) if i % 2 else (1, 3):
                self.check("f32", 150, 5, 3, (40, 150, 7)[i % 3], order, VARIANTS, loses[k], 0.4,
                           1 + i % 3 * 2)

    def test_converted(self):
        """Types for which the host has no kernel, in long and short rows."""
        for type_, n_channels, order in (("f16", 5, AXES), ("i16", 5, ("channel", "time", "pol")),
                                         ("i16", 700, AXES), ("f16", 1, ("channel", "pol", "time")),
                                         ("i16", 3, ("pol", "channel", "time"))):
            for gaps, loses in ((None, ()), (0.3, ("channel",))):
                self.check(type_, 90, n_channels, 2, 33, order, VARIANTS, loses, gaps, 5, CUTS[::2])

    def test_sizes(self):
        """Rows of 1 to 1,300 elements, hops of 1 to more than all samples."""
        for n_channels, n_pols, n, length in ((1, 1, 1000, 1), (1, 1, 5000, 4000), (8, 2, 257, 16),
                                              (1300, 1, 30, 8), (513, 1, 20, 50), (16, 1, 300, 99)):
            for order in (AXES, ("channel", "time", "pol"))[:1 if n > 2000 else 2]:
                self.check("f32", n, n_channels, n_pols, length, order, VARIANTS,
                           all_cuts=CUTS[::2])


if __name__ == "__main__":
    tap.main()
