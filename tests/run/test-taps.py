#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Validity of windows of which each lane uses a few samples: a lost sample costs what it touches."""
import os
import unittest

import numpy as np

os.environ["CORNERTURN_PLUGIN_PATH"] += ":" + os.environ["CORNERTURN_TEST_PLUGINS"] + "/taps"

import pipeline  # noqa: E402
import tap  # noqa: E402

CHANNELS, TRIALS = 6, 4
GRAPH = """
stages:
  x: {{ stage: input, layout: 'f32[time channel]', shape: [-1, 6]{loses} }}
  y: {{ stage: taps, from: x, n_trials: 4, hop: {hop}{more} }}
  z: {{ stage: output, from: y, layout: '[time trial]' }}
"""


class Taps(unittest.TestCase):
    def check(self, hop, apart, rule):
        n = 1000
        random = np.random.default_rng(hop)
        x = random.integers(-9, 9, (n, CHANNELS)).astype(np.float32)
        received = random.random((CHANNELS if apart else 1, n)) > 0.03
        received[:, 400:480] = False
        x[~np.broadcast_to(received, (CHANNELS, n)).T] = 0
        m = (n - (TRIALS - 1) * (CHANNELS - 1) - 1) // hop + 1
        used = (np.arange(m)[:, None, None] * hop + np.arange(TRIALS)[:, None] * np.arange(CHANNELS))
        good = np.broadcast_to(received, (CHANNELS, n))[np.arange(CHANNELS), used]
        # Within one lane, every sample that is used must be valid.
        valid = good.any(2) if rule == "any" and apart else good.all(2)
        sums = np.where(valid, x[used, np.arange(CHANNELS)].sum(2), 0)
        graph = GRAPH.format(loses=", loses: [channel]" if apart else "", hop=hop,
                             more=f", lanes: {rule}")
        for workers, cuts in (1, (n,)), (2, (97, 31, 1)):
            got = pipeline.run(graph, {"x": pipeline.Feed(x, 0, cuts, received)},
                               {"z": (0, TRIALS)}, workers=workers)["z"]
            np.testing.assert_array_equal(got.validity, valid.T)
            np.testing.assert_array_equal(got.array, sums)

    def test_lanes(self):
        for hop in 1, 2, 5, 20:
            for apart in False, True:
                for rule in "all", "any":
                    with self.subTest(hop=hop, apart=apart, rule=rule):
                        self.check(hop, apart, rule)

    def test_beyond_the_window(self):
        x = np.zeros((100, CHANNELS), np.float32)
        graph = GRAPH.format(loses="", hop=1, more=", beyond: 1")
        with self.assertRaises(pipeline.Failure) as raised:
            pipeline.run(graph, {"x": pipeline.Feed(x, validity=np.zeros((1, 100)))},
                         {"z": (0, TRIALS)})
        self.assertIn("node 'y': variant 'reference' of 'taps' is at fault: it uses 2 samples from "
                      "15 on of windows of 16", str(raised.exception))


if __name__ == "__main__":
    tap.main()
