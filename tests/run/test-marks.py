#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Samples that the work of a stage marks as invalid, on the host and on a device."""
import json
import os
import unittest

import numpy as np

os.environ["CORNERTURN_PLUGIN_PATH"] += ":" + os.environ["CORNERTURN_TEST_PLUGINS"] + "/mark"

import graphs  # noqa: E402
import pipeline  # noqa: E402
import tap  # noqa: E402

CHANNELS, STATIONS = 5, 3


def voltages(n, seed=1):
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, CHANNELS, STATIONS, 2)).astype(np.float32)
    return x.view(np.complex64)[..., 0]


def power(x):
    return x.real.astype(float) ** 2 + x.imag.astype(float) ** 2


def ways():
    """Command lines that run the stage `mark` in all its variants that this test is about."""
    if "CORNERTURN_TEST_BACKEND" in os.environ:
        return [["--backend", "cuda", "--in-flight", str(n)] for n in (1, 3, 8)]
    return [["--variant", f"m={variant}", "--workers", str(n)]
            for variant in ("reference", "cpu") for n in (1, 2)]


class Files(graphs.GraphTest):
    def run_marks(self, x, along, limit, more=None):
        """Runs the graph in all ways; yields the samples, their invalid ones by lane, and the
        statistics of the marking node."""
        np.save(self.folder / "x.npy", x)
        stages = {
            "x": {"stage": "file.source", "path": "x.npy", "layout": "[time channel station]",
                  "sample_rate": "1 kHz", "block": {"time": 16}},
            "m": {"stage": "mark", "from": "x", "limit": limit, "along": along},
            "y": {"stage": "file.sink", "from": "m", "path": "y.npy",
                  "layout": "[time channel station]"},
            **(more or {}),
        }
        for way in ways():
            with self.subTest(way=way):
                stats = self.run_graph(stages, "--poison", *way)
                y = np.load(self.folder / "y.npy")
                sidecar = json.loads((self.folder / "y.npy.json").read_text())
                node, = (node for node in stats["nodes"] if node["name"] == "m")
                yield y, sidecar["validity"], node

    def test_samples(self):
        """Marked samples are zero, and are counted by lane."""
        x = voltages(1000)
        good = power(x) <= 4
        for y, validity, node in self.run_marks(x, ["channel", "station"], 4):
            np.testing.assert_array_equal(y, np.where(good, x, 0))
            self.assertEqual(validity["axes"], ["channel", "station"])
            np.testing.assert_array_equal(validity["invalid_samples"], (~good).sum(0).ravel())
            self.assertEqual(node["invalid"], (~good).sum())

    def test_lanes(self):
        """A sample is invalid for all stations if it is marked for one."""
        x = voltages(999)
        good = (power(x) <= 5).all(2, keepdims=True)
        for y, validity, node in self.run_marks(x, ["channel"], 5):
            np.testing.assert_array_equal(y, np.where(good, x, 0))
            np.testing.assert_array_equal(validity["invalid_samples"], (~good).sum(0).ravel())
            self.assertEqual(node["invalid"], (~good).sum())

    def test_nothing_is_marked(self):
        x = voltages(500)
        for y, validity, node in self.run_marks(x, ["station"], 1e9):
            np.testing.assert_array_equal(y, x)
            self.assertEqual((validity["valid"], validity["invalid_samples"], node["invalid"]),
                             (1, [], 0))

    def test_weights(self):
        """Sums leave marked samples out; a channel with a tone has weight 0."""
        x = voltages(700)
        x[:, 2] += 100
        good = power(x) <= 50
        more = {
            "v": {"stage": "correlate", "from": "m", "integration": 64},
            "vd": {"stage": "file.sink", "from": "v", "path": "v.npy",
                       "layout": "[time channel baseline]"},
            "vc": {"stage": "file.sink", "from": "v.weights", "path": "v.weights.npy",
                        "layout": "[time channel baseline]"},
            "s": {"stage": "integrate", "from": "m", "length": 100},
            "sd": {"stage": "discard", "from": "s"},
            "sc": {"stage": "file.sink", "from": "s.weights", "path": "s.weights.npy",
                        "layout": "[time channel station]"},
        }
        pairs = [(i, j) for i in range(STATIONS) for j in range(i + 1)]
        both = np.stack([good[:, :, i] & good[:, :, j] for i, j in pairs], 2)
        z = np.where(good, x, 0).astype(complex)
        products = np.stack([z[:, :, i] * z[:, :, j].conj() for i, j in pairs], 2)
        for _ in self.run_marks(x, ["channel", "station"], 50, more):
            weights = np.load(self.folder / "v.weights.npy")
            np.testing.assert_array_equal(weights, np.add.reduceat(both, range(0, 700, 64), 0,
                                                                   np.uint32))
            self.assertFalse(weights[:, 2].any())
            np.testing.assert_allclose(np.load(self.folder / "v.npy"),
                                       np.add.reduceat(products, range(0, 700, 64), 0), atol=1e-3)
            np.testing.assert_array_equal(np.load(self.folder / "s.weights.npy"),
                                          np.add.reduceat(good, range(0, 700, 100), 0, np.uint32))


class Chains(unittest.TestCase):
    GRAPH = """
stages:
  x: { stage: input, layout: 'cf32[time station]', shape: [-1, 3], loses: [station] }
  a: { stage: mark, from: x, limit: 6, along: [station] }
  b: { stage: fir, from: a, n_channels: 4, n_taps: 3 }
  c: { stage: mark, from: b, limit: 2, along: [station, phase] }
  y: { stage: output, from: c, layout: '[time station phase]' }
"""

    def test_chain(self):
        """Marks behind a gap, a window that reads marked samples, and marks of what it makes."""
        n, taps, phases = 3000, 3, 4
        random = np.random.default_rng(2)
        x = random.normal(size=(n, 3, 2)).astype(np.float32).view(np.complex64)[..., 0]
        received = np.ones((3, n), np.uint8)
        received[1, 300:340] = received[2, 1000:1001] = 0
        x[received.T == 0] = 0
        good = received & (power(x) <= 6).T
        m = (n - phases * taps) // phases + 1
        windows = np.stack([good[:, k * phases:(k + taps) * phases].all(1) for k in range(m)], 1)
        feed = {"x": pipeline.Feed(x, 0, (700, 1, 13, 250), received)}
        expected = self.run_chain(feed, {"a": "reference", "b": "reference", "c": "reference"})
        loud = power(expected.unmarked) > 2
        lanes = windows[None] & ~loud.transpose(2, 1, 0)
        np.testing.assert_array_equal(expected.validity, lanes.reshape(12, m))
        self.assertTrue(0.2 < lanes.mean() < 0.9 * windows.mean(), (windows.mean(), lanes.mean()))
        device = "CORNERTURN_TEST_BACKEND" in os.environ
        for in_flight in (1, 3, 8) if device else (1,):
            how = ({"backend": "cuda", "in_flight": in_flight, "device_block": 1000} if device
                   else {"workers": 2})
            with self.subTest(**how):
                given = self.run_chain(feed, {}, **how)
                np.testing.assert_array_equal(given.validity, expected.validity)
                np.testing.assert_allclose(given.array, expected.array, atol=1e-5)

    def run_chain(self, feed, variants, **settings):
        takes = {"y": (0, 12)}
        taken = pipeline.run(self.GRAPH, feed, takes, variants, **settings)["y"]
        taken.unmarked = pipeline.run(self.GRAPH.replace("limit: 2", "limit: 1e9"), feed, takes,
                                      variants, **settings)["y"].array
        return taken

    @unittest.skipUnless("CORNERTURN_TEST_BACKEND" in os.environ, "for devices")
    def test_stays_on_the_device(self):
        nodes = [(node["name"], node["place"]) for node in
                 pipeline.plan("backend: cuda\n" + self.GRAPH)["nodes"]]
        places = [place for name, place in nodes if name not in "xy"]
        self.assertEqual(set(places), {"cuda:0"}, nodes)


if __name__ == "__main__":
    tap.main()
