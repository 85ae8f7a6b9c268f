#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Static inputs beside streams of data: when nodes end, and what statistics count."""
import unittest

import numpy as np

import graphs
import tap


class Static(graphs.GraphTest):
    def make(self, n=1000, n_blocks=100000, start=0):
        """Voltages at 1 kHz, and weights of k in block k, at 1 Hz."""
        np.save(self.folder / "x.npy", np.ones((n, 2), np.complex64))
        w = np.arange(n_blocks, dtype=np.complex64)[:, None, None] * np.ones((1, 1, 2), np.complex64)
        np.save(self.folder / "w.npy", w)
        return {
            "x": {"stage": "file.source", "path": "x.npy", "layout": "[time station]",
                  "sample_rate": "1 kHz", "start": start},
            "w": {"stage": "file.source", "path": "w.npy", "layout": "[time beam station]",
                  "sample_rate": "1 Hz", "block": {"time": 16}},
            "b": {"stage": "beamform", "from": {"voltages": "x", "weights": "w"}},
            "y": {"stage": "file.sink", "from": "b", "path": "y.npy"},
        }

    def run_both(self, stages, *arguments):
        """Runs the graph: the samples that each node made, the seconds of stream, and the
        output."""
        statistics = self.run_graph(stages, *arguments)
        samples = {node["name"]: node["samples"] for node in statistics["nodes"]}
        return samples, statistics["stream_seconds"], np.load(self.folder / "y.npy")

    def test_outlives_its_reader(self):
        samples, seconds, y = self.run_both(self.make())
        self.assertEqual((samples["x"], seconds), (1000, 1))
        self.assertLess(samples["w"], 50000)
        self.assertFalse(y.any())

    def test_through_other_nodes(self):
        """All nodes that feed the static port end, too."""
        stages = self.make(n_blocks=1000000)
        stages["more"] = {"stage": "copy", "from": "w"}
        stages["b"]["from"]["weights"] = "more"
        samples, seconds, _ = self.run_both(stages)
        self.assertEqual((samples["x"], seconds), (1000, 1))
        self.assertLess(samples["w"], 1000000)

    def test_that_a_sink_reads_too(self):
        """If a sink reads the weights as well, they are data, and their source goes on to its
        end."""
        stages = self.make(n_blocks=5000)
        stages["weights"] = {"stage": "discard", "from": "w"}
        samples, seconds, _ = self.run_both(stages)
        self.assertEqual((samples["x"], samples["w"], seconds), (1000, 5000, 5000))

    def test_duration(self):
        """The duration counts from the data's beginning, wherever the weights begin."""
        stages = self.make(n=5000, n_blocks=20, start=10000)
        samples, seconds, y = self.run_both(stages, "--duration", "2 s")
        self.assertEqual((samples["x"], seconds), (2000, 2))
        np.testing.assert_array_equal(y[:, 0], np.repeat([20, 22], 1000))

    def test_data_before_the_first_block(self):
        """Data before the first block use that block, and the run warns."""
        stages = self.make(n=5000, n_blocks=20, start=10000)
        stages["w"]["start"] = 12
        stats = self.run_graph(stages)
        self.assertEqual([(w["kind"], w["node"], w["message"]) for w in stats["warnings"]], [
            ("early", "b", "the first block of port 'weights' stands at tick 12000 of port 'voltages', "
             "whose data begin at tick 10000: the data before the block use it too")])
        y = np.load(self.folder / "y.npy")
        np.testing.assert_array_equal(y[:, 0], np.repeat([0, 2, 4], [3000, 1000, 1000]))
        self.assertIn("node 'b': the first block of port 'weights' stands at tick 12000",
                      self.fail_graph(stages, "--strict"))

    def test_one_block(self):
        """A single block holds throughout, wherever it begins."""
        stages = self.make(n_blocks=1)
        stages["w"]["start"] = 12
        self.assertEqual(self.run_graph(stages)["warnings"], [])

    def test_data_of_the_first_block(self):
        """A first block at or before the beginning of the data is not late."""
        for start in 12000, 12001:
            with self.subTest(start):
                stages = self.make(n_blocks=20, start=start)
                stages["w"]["start"] = 12
                self.assertEqual(self.run_graph(stages)["warnings"], [])

    def test_duration_that_ends_before_the_first_block(self):
        """The error explains why no sample is left, if that is known."""
        stages = self.make(n=5000, n_blocks=20)
        stages["w"]["centre_frequency"] = 0
        stages["more"] = {"stage": "delay", "from": "w", "constant": ["0 s", "5 s"]}
        stages["weights"] = {"stage": "discard", "from": "w"}
        stages["b"]["from"]["weights"] = "more"
        errors = self.fail_graph(stages, "--duration", "2 s")
        self.assertTrue(errors.endswith(
            "node 'b': what feeds it ended without the one block that it waits for: the duration of 2 s "
            "ends before it comes"), errors)

    def test_words(self):
        """The rate that is printed is the data's."""
        name = self.write(self.make())
        done = graphs.subprocess.run([graphs.COMMAND, "run", name], cwd=self.folder, text=True,
                                     capture_output=True, check=True, timeout=120)
        self.assertIn("\n1 s of stream in ", done.stdout)
        self.assertNotIn("'w': ", done.stdout)
        done = graphs.subprocess.run([graphs.COMMAND, "plan", name, "--capacity"], cwd=self.folder,
                                     text=True, capture_output=True, check=True, timeout=120)
        self.assertIn("'x'", done.stdout)
        self.assertNotIn("'w': ", done.stdout)


if __name__ == "__main__":
    tap.main()
