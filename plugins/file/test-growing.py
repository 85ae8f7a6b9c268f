#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""file.sink and streams that take long to end: interrupts, kills, and other processes."""
import json
import os
import signal
import subprocess
import time

import numpy as np

import graphs
import tap


def copy_stages(axes, source, sink, **options):
    return {
        "in": {"stage": "file.source", "path": source, "layout": f"i32[{axes}]", **options},
        "out": {"stage": "file.sink", "from": "in", "path": sink, "layout": f"[{axes}]"},
    }


class Growing(graphs.GraphTest):
    """Arrays of a stream that takes long, because its blocks are of one sample."""

    def setUp(self):
        super().setUp()
        self.array = np.arange(2 * 4000000, dtype=np.int32).reshape(-1, 2)

    def wanted(self, n, axes):
        return self.array[:n] if axes == "time pol" else self.array[:n].T

    def start_growing(self, axes, path="out.npy"):
        """Starts a run and returns it when some samples are written."""
        for partial in self.folder.glob("*.partial"):
            partial.unlink()
        np.save(self.folder / "in.npy", self.wanted(None, axes))
        process = self.start(copy_stages(axes, "in.npy", path, block={"time": 1}))
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        beside = self.folder / f"{path}.json.partial"
        for _ in range(1200):
            self.assertIsNone(process.poll())
            text = beside.read_text() if beside.exists() else ""
            if text and json.loads(text)["written"] > 0:
                return process
            time.sleep(0.05)
        self.fail("nothing was written in a minute")

    def read(self, path, shape):
        if path.name.startswith("out.npy"):
            return np.load(open(path, "rb"))
        return np.fromfile(path, np.int32, int(np.prod(shape))).reshape(shape)

    def test_interrupt(self):
        """After an interrupt, the samples that had arrived are complete and under the final
        name."""
        for axes, path in (("time pol", "out.npy"), ("pol time", "out.npy"),
                           ("pol time", "out.raw")):
            with self.subTest(axes=axes, path=path):
                process = self.start_growing(axes, path)
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate(timeout=60)
                self.assertNotIn("out.npy", errors)
                beside = json.loads((self.folder / f"{path}.json").read_text())
                self.assertIs(beside["interrupted"], True)
                self.assertFalse(list(self.folder.glob("*.partial")))
                shape = [axis["length"] for axis in beside["axes"]]
                n = shape[axes.split().index("time")]
                self.assertGreater(n, 0)
                self.assertLess(n, len(self.array))
                self.assertEqual(beside["bytes"], (self.folder / path).stat().st_size)
                np.testing.assert_array_equal(self.read(self.folder / path, shape),
                                              self.wanted(n, axes))

    def check_partial(self, axes, path):
        """Checks the partial files of a run that did not end by itself."""
        beside = json.loads((self.folder / f"{path}.json.partial").read_text())
        partial = self.folder / f"{path}.partial"
        array = self.read(partial, [axis["length"] for axis in beside["axes"]])
        time_axis = axes.split().index("time")
        written = beside["written"]
        self.assertGreater(written, 0)
        # The array's header is written before the text beside it, so it may be ahead.
        self.assertLessEqual(written, array.shape[time_axis])
        self.assertLessEqual(beside["bytes"], partial.stat().st_size)
        np.testing.assert_array_equal(array.take(range(written), time_axis),
                                      self.wanted(written, axes))

    def test_killed(self):
        for axes, path in (("time pol", "out.npy"), ("pol time", "out.npy"),
                           ("time pol", "out.raw"), ("pol time", "out.raw")):
            with self.subTest(axes=axes, path=path):
                process = self.start_growing(axes, path)
                process.kill()
                process.communicate(timeout=60)
                self.check_partial(axes, path)
                self.assertFalse((self.folder / path).exists())

    def test_second_run(self):
        """A second run is refused at once, and the first is not affected."""
        process = self.start_growing("time pol")
        np.save(self.folder / "few.npy", self.array[:5])
        stages = copy_stages("time pol", "few.npy", "out.npy")
        result = subprocess.run(
            [graphs.COMMAND, "run", self.write(stages, "second.yaml")], cwd=self.folder,
            capture_output=True, text=True)
        self.assertNotEqual(result.returncode, 0)
        self.assertTrue(result.stderr.strip().endswith(
            "out.npy.json.partial: is being written by another sink"), result.stderr)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        copy = np.load(self.folder / "out.npy")
        np.testing.assert_array_equal(copy, self.array[:len(copy)])

    def test_cut_by_others(self):
        """If another process cuts the file, the error names the file; no signal ends the run."""
        for axes in ("time pol", "pol time"):
            with self.subTest(axes):
                process = self.start_growing(axes)
                os.truncate(self.folder / "out.npy.partial", 200)
                _, errors = process.communicate(timeout=60)
                self.assertGreater(process.returncode, 0, errors)
                self.assertRegex(errors, r"node 'out': out.npy.partial: wants .* bytes that it was "
                                         r"left with, but is given \d+: another process has cut it")
                self.assertFalse((self.folder / "out.npy").exists())
                self.assertFalse((self.folder / "out.npy.json").exists())
                beside = json.loads((self.folder / "out.npy.json.partial").read_text())
                self.assertEqual(beside["written"], 0)


if __name__ == "__main__":
    tap.main()
