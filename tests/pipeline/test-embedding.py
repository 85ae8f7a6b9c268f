#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that run graphs on blocks of their own."""
import os
import random
import unittest

import numpy

import pipeline
import tap


class Embedding(unittest.TestCase):
    def test_blocks_of_any_length(self):
        """Windows find their samples across the program's blocks, in every layout."""
        seed = int(os.environ.get("CORNERTURN_SEED", random.SystemRandom().randrange(1 << 31)))
        print(f"# seed {seed}")
        numbers = numpy.random.default_rng(seed)
        for layout, shape, time in [("i16[time station]", (-1, 3), 0),
                                    ("i16[station time]", (3, -1), 1)]:
            data = numbers.integers(-32768, 32768, [700 if n < 0 else n for n in shape],
                                    numpy.int16)
            lost = numbers.random((3, 700)) < 0.01
            graph = f"""
                stages:
                  x: {{ stage: input, layout: "{layout}", shape: {list(shape)}, loses: [station] }}
                  f: {{ stage: fir, from: x, n_channels: 7, n_taps: 5, window: hamming }}
                  y: {{ stage: output, from: f, layout: "[time station phase]" }}
                """

            def result(cuts, workers):
                feed = pipeline.Feed(data, time, cuts, ~lost)
                return pipeline.run(graph, {"x": feed}, {"y": (0, 3)}, workers=workers)["y"]

            whole = result([700], 1)
            self.assertEqual(whole.array.shape, ((700 - 35) // 7 + 1, 3, 7))
            for trial in range(12):
                cuts = [int(n) for n in numbers.integers(1, 60 if trial else 4, 5)]
                with self.subTest(layout=layout, cuts=cuts):
                    cut = result(cuts, 1 + trial % 2)
                    self.assertTrue(numpy.array_equal(cut.validity, whole.validity))
                    self.assertTrue(numpy.array_equal(cut.array, whole.array))
            for lane in range(3):
                touched = [lost[lane, t * 7:t * 7 + 35].any() for t in range(96)]
                self.assertTrue(numpy.array_equal(whole.validity[lane], numpy.logical_not(touched)))
                self.assertFalse(whole.array[touched, lane].any())

    def test_invalid_samples_are_zero(self):
        """A sum of all samples has no part of those that are invalid, whatever the program fed."""
        data = numpy.arange(1, 25, dtype=numpy.float32).reshape(12, 2)
        lost = numpy.zeros((2, 12), bool)
        lost[0, 2:9] = lost[1, 11] = True
        graph = """
            stages:
              x: {{ stage: input, layout: "f32[time station]", shape: [-1, 2], loses: [station] }}
              i: {{ stage: integrate, from: x, length: 12, variant: {} }}
              y: {{ stage: output, from: i, layout: "[time station]" }}
            """
        for variant in pipeline.variants():
            with self.subTest(variant=variant):
                got = pipeline.run(graph.format(variant), {"x": pipeline.Feed(data, 0, [5, 7], ~lost)},
                                   {"y": (0, 2)})["y"]
                numpy.testing.assert_array_equal(got.array, [(data * ~lost.T).sum(0)])


if __name__ == "__main__":
    tap.main()
