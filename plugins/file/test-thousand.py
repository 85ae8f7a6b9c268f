#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A stream with gaps as a thousand files of a tenth of a second each, which file.source and
sigproc.source join again, while all processors are busy."""
import json
import os
import subprocess
import sys

import numpy as np

import graphs
import tap

N_FILES, RATE = 1000, 10240
N = N_FILES * RATE // 10
CHANNELS = 3

OBSERVATION = {"telescope": "Parkes", "source": "a source", "start": "2026-11-24T23:59:00Z",
               "phase_centre": ["05:34:31.97", "22:00:52.1"]}


class Thousand(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        spin = [sys.executable, "-c", "while True: pass"]
        for _ in range(os.cpu_count()):
            process = subprocess.Popen(spin)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)

    def run_text(self, graph, name):
        (self.folder / name).write_text(json.dumps(graph))
        done = subprocess.run([graphs.COMMAND, "run", "--quiet", "--strict", name], cwd=self.folder,
                              capture_output=True, text=True, timeout=400)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def make(self):
        """An array with gaps of any length, of each channel by itself and of all; whether each sample
        is valid."""
        seed = 1000
        print(f"# seed {seed}")
        generator = np.random.default_rng(seed)
        array = generator.standard_normal((N, CHANNELS)).astype(np.float32)
        valid = np.ones((N, CHANNELS), bool)
        for first in generator.integers(0, N, 3000):
            n = int(generator.integers(1, 8))
            valid[first:first + n, generator.integers(CHANNELS)] = False
        valid[5 * RATE:6 * RATE] = valid[-1] = False
        array[~valid] = 0
        gaps = []
        for lane in range(CHANNELS):
            runs = np.flatnonzero(np.diff(np.r_[0, ~valid[:, lane], 0])).reshape(-1, 2)
            gaps.append({"lanes": [lane, 1],
                         "samples": [int(number) for a, b in runs for number in (a, b - a)]})
        np.save(self.folder / "in.npy", array)
        invalid = [int(n) for n in (~valid).sum(0)]
        (self.folder / "in.npy.json").write_text(json.dumps({
            "layout": "f32[time channel]", "type": "f32", "ticks_per_second": [2 * RATE, 1],
            "ticks_per_sample": 2, "start": 2, "axes": [
                {"name": "time", "length": N},
                {"name": "channel", "length": CHANNELS, "unit": "Hz", "first": 1.4e9, "step": -1e6}],
            "validity": {"axes": ["channel"], "valid": 0, "invalid_samples": invalid,
                         "gaps": gaps}}))
        return array

    def check(self, ending, joined):
        array = self.make()
        source = {"stage": "file.source", "path": "in.npy"}
        self.run_text({"observation": OBSERVATION, "stages": {
            "in": source,
            "whole": {"stage": "file.sink", "from": "in", "path": "whole.npy",
                      "layout": "[time channel]"},
            "parts": {"stage": "file.sink", "from": "in", "path": f"x-%Y%m%dT%H%M%S.%f.{ending}",
                      "rotate_time": "100 ms"}}}, "cut.yaml")
        names = sorted(path.name for path in self.folder.glob(f"x-*.{ending}"))
        self.assertEqual(len(names), N_FILES)
        self.assertEqual(names[0], f"x-20261124T235900.000097.{ending}")
        self.assertFalse(list(self.folder.glob("*.partial")))
        self.run_text({"stages": {
            "in": {"stage": "file.source", "path": f"x-*.{ending}"},
            "out": {"stage": "file.sink", "from": "in", "path": "joined.npy",
                    "layout": "[time channel]"}}}, "join.yaml")
        np.testing.assert_array_equal(np.load(self.folder / "joined.npy"), array)
        whole, again = (json.loads((self.folder / f"{name}.npy.json").read_text())
                        for name in ("whole", "joined"))
        for text in whole, again:
            for key in ("generation", "origin", *joined):
                text.pop(key, None)
        self.assertEqual(whole, again)
        self.assertIn("observation", again)

    def test_arrays(self):
        self.check("npy", ())

    def test_filterbanks(self):
        self.check("fil", ())


if __name__ == "__main__":
    tap.main()
