#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Windows of the kit in whole runs: validity, blocks shorter than the window, and what is refused."""
import os
import unittest

import numpy as np

os.environ["CORNERTURN_PLUGIN_PATH"] += ":" + os.environ["CORNERTURN_TEST_PLUGINS"] + "/window"

import pipeline  # noqa: E402
import tap  # noqa: E402

CHANNELS, STATIONS, SEED = 4, 3, 5
GRAPH = """
stages:
  x: {{ stage: input, layout: 'f32[time channel station]', shape: [-1, 4, 3]{loses} }}
  y: {{ stage: window.{stage}, from: x, {more} }}
  z: {{ stage: output, from: y, layout: '[time {axes}]' }}
"""
VARIANTS = ["reference"] + ["cpu-" + isa for isa in pipeline.instruction_sets()]
random = np.random.default_rng(SEED)
print("# seed", SEED)


def run(stage, x, more, axes="channel station", loses=(), received=None, lanes=1, **options):
    cuts = options.pop("cuts", (len(x),))
    text = GRAPH.format(stage=stage, more=more, axes=axes,
                        loses=f", loses: [{', '.join(loses)}]" if loses else "")
    variant = options.pop("variant", "reference")
    return pipeline.run(text, {"x": pipeline.Feed(x, 0, cuts, received)}, {"z": (0, lanes)},
                        {"y": variant}, **options)["z"]


class Windows(unittest.TestCase):
    def test_median(self):
        """Also where the window is longer than blocks, and with samples before the first."""
        x = random.normal(size=(500, CHANNELS, STATIONS)).astype("f4")
        received = random.random((1, 500)) > 0.01
        x[~received[0]] = 0
        for n, before in (5, 0), (11, 5), (101, 0):
            windows = np.lib.stride_tricks.sliding_window_view(x, n, 0)
            good = np.lib.stride_tricks.sliding_window_view(received[0], n).all(1)
            wanted = np.where(good[:, None, None], np.median(windows, -1), 0)
            for variant in VARIANTS:
                for cuts, workers in ((500,), 1), ((40, 3), 3):
                    got = run("median", x, f"length: {n}, before: {before}", variant=variant,
                              cuts=cuts, workers=workers, received=received)
                    np.testing.assert_array_equal(got.array, wanted)
                    np.testing.assert_array_equal(got.validity[0], good)
                    self.assertEqual(got.start, before)

    def test_validity_of_lanes(self):
        """A lost sample costs what it touches, whichever axes have lanes."""
        n, trials = 400, 3
        shift = (np.arange(trials)[:, None, None] * np.arange(CHANNELS)[:, None]
                 - np.arange(STATIONS)) - (1 - STATIONS)
        m = n - shift.max()
        for loses in (), ("channel",), ("station",), ("channel", "station"):
            lengths = [CHANNELS if "channel" in loses else 1, STATIONS if "station" in loses else 1]
            received = random.random((lengths[0] * lengths[1], n)) > 0.01
            full = np.broadcast_to(received.reshape(*lengths, n), (CHANNELS, STATIONS, n))
            x = random.integers(-9, 9, (n, CHANNELS, STATIONS)).astype("f4")
            x[~full.transpose(2, 0, 1)] = 0
            c, s = np.arange(CHANNELS)[:, None], np.arange(STATIONS)
            used = np.arange(m)[:, None, None, None] + shift  # [time trial channel station]
            weights = 1 + c + 2 * s
            sums = (weights * x[used, c, s]).sum(2)
            good = full[c, s, used].all(2)  # [time trial station]
            if "station" not in loses:
                good = np.broadcast_to(good.all(2, keepdims=True), good.shape)
            self.assertTrue(0 < good.sum() < good.size)
            # Lanes are in the order of the stream: trial, then station.
            valid = good.transpose(1, 2, 0) if "station" in loses else good[..., 0].T
            for variant in VARIANTS:
                for cuts, workers in ((n,), 1), ((57, 1), 2):
                    got = run("weigh", x, f"sums: true, n_trials: {trials}", "trial station",
                              loses, received, valid.size // m, variant=variant, cuts=cuts,
                              workers=workers)
                    np.testing.assert_array_equal(got.validity, valid.reshape(-1, m))
                    np.testing.assert_array_equal(got.array, np.where(good, sums, 0))

    def refuse(self, message, stage, more, axes="channel station"):
        with self.assertRaises(pipeline.Failure) as raised:
            run(stage, np.zeros((50, CHANNELS, STATIONS), "f4"), more, axes, variant="cpu-baseline")
        self.assertIn(message, str(raised.exception))

    def test_windows_that_do_not_fit(self):
        self.refuse("node 'y': parameter 'length': wants windows of at most 536870912 samples, but is "
                    "given one of 600000000", "median", "length: 600000000")
        self.refuse("wants windows of at least 1 sample, but is given one of 0", "median", "length: 0")

    def test_window_longer_than_the_stream(self):
        with self.assertRaises(pipeline.Failure) as raised:
            pipeline.run("stages: { x: { stage: generate, type: f32, sample_rate: 1 kHz, "
                         "samples: 99 }, y: { stage: window.median, from: x, length: 100 }, "
                         "z: { stage: discard, from: y } }", {}, {})
        self.assertIn("wants windows of at most the 99 samples of the stream, but is given one of 100",
                      str(raised.exception))

    def test_faults_of_plugins(self):
        for fault, stage, message in (
                ("beyond", "weigh", "plugin 'window' gives a shift of 1 samples in a window of 3 "
                                    "from -2 on"),
                ("axis", "weigh", "plugin 'window' gives a table with 2 entries along axis channel "
                                  "of length 4"),
                ("kernel", "weigh", "plugin 'window' has no kernel 'mean' for f32 -> f32"),
                ("taps", "weigh", "wants a number of taps for a kernel of windows, and only for "
                                  "these"),
                ("taps", "median", "wants a number of taps for a kernel of windows, and only for "
                                   "these"),
                ("table", "weigh", "wants a table if and only if the kernel has one"),
                ("settings", "median", "kernel 'median' wants 4 bytes of settings, but is given 8"),
        ):
            self.refuse(message, stage, f"fault: {fault}")


if __name__ == "__main__":
    tap.main()
