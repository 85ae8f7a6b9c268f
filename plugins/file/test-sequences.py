#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""file.source: several files as one array along time, and raw arrays behind other bytes."""
import json
import unittest

import pipeline  # this import comes first: with sanitizers it starts the program again

import numpy as np

import graphs
import tap

TICKS = 3  # of a sample


def stages(source, axes="time pol"):
    return {"in": {"stage": "file.source", **source},
            "out": {"stage": "file.sink", "from": "in", "path": "out.npy", "layout": f"[{axes}]"}}


class Sequences(graphs.GraphTest):
    def save(self, name, array, start=None, epoch=1000, axes="time pol", **more):
        """Writes an array and, with a `start` in ticks, PATH.json; ticks have a rate of 6 Hz."""
        np.save(self.folder / name, array)
        if start is None:
            return
        lengths = [{"name": axis, "length": n} for axis, n in zip(axes.split(), array.shape)]
        text = {"layout": f"f32[{axes}]", "type": "f32", "axes": lengths, "ticks_per_second": [6, 1],
                "ticks_per_sample": TICKS, "start": start, **({"epoch": epoch} if epoch else {}), **more}
        (self.folder / f"{name}.json").write_text(json.dumps(text))

    def arrays(self, *lengths):
        generator = np.random.default_rng(7)
        return [generator.standard_normal((n, 2)).astype(np.float32) for n in lengths]

    def output(self):
        return np.load(self.folder / "out.npy"), json.loads((self.folder / "out.npy.json").read_text())

    def test_times(self):
        """The files are in the order of their times; between them, samples are invalid."""
        a, b, c = self.arrays(5, 7, 4)
        wanted = np.concatenate([a, b, np.zeros((6, 2), np.float32), c])
        for block in (1, 7, 64):
            # b ends at tick 100 + 12 · 3; the epoch of c is two seconds later, which are 12 ticks.
            self.save("scan-2.npy", a, 100)
            self.save("scan-1.npy", b, 115)
            self.save("scan-3.npy", c, 154 - 12, 1002)
            for path in ("scan-*.npy", ["scan-3.npy", "scan-2.npy", "scan-1.npy"],
                         ["scan-[12].npy", "scan-3.npy"]):
                with self.subTest(path=path, block=block):
                    self.run_graph(stages({"path": path, "block": {"time": block}}))
                    array, beside = self.output()
                    np.testing.assert_array_equal(array, wanted)
                    self.assertEqual((beside["start"], beside["epoch"]), (100, 1000))
                    self.assertEqual(beside["validity"]["invalid_samples"], [6])
                    self.assertEqual(beside["validity"]["gaps"],
                                     [{"lanes": [0, 1], "samples": [12, 6]}])

    def test_validity(self):
        """Invalid samples of the files keep their lanes."""
        a, b = self.arrays(5, 7)
        gaps = {"axes": ["pol"], "gaps": [{"lanes": [1, 1], "samples": [3, 2]}]}
        none = {"axes": ["pol"], "gaps": []}
        self.save("1.npy", a, 0, validity=gaps)
        self.save("2.npy", b, TICKS * 6, validity=none)
        self.run_graph(stages({"path": ["2.npy", "1.npy"]}))
        array, beside = self.output()
        a[3:, 1] = 0
        np.testing.assert_array_equal(array, np.concatenate([a, np.zeros((1, 2)), b]))
        self.assertEqual(beside["validity"]["invalid_samples"], [1, 3])
        self.assertEqual(beside["validity"]["gaps"], [{"lanes": [0, 1], "samples": [5, 1]},
                                                      {"lanes": [1, 1], "samples": [3, 3]}])

    def test_without_times(self):
        """Files of which nothing tells when they begin follow one another as they are named, those
        of a pattern by their names."""
        a, b = self.arrays(5, 7)
        self.save("b.npy", a)
        self.save("a.npy", b)
        for path, wanted in ((["b.npy", "a.npy"], [a, b]), ("?.npy", [b, a])):
            self.run_graph(stages({"path": path, "layout": "f32[time pol]", "sample_rate": "2 Hz"}))
            np.testing.assert_array_equal(self.output()[0], np.concatenate(wanted))

    def test_name_of_a_pattern(self):
        """A file whose name has the characters of patterns is that file."""
        (a,) = self.arrays(5)
        self.save("a[1]*.npy", a, 0)
        self.run_graph(stages({"path": "a[1]*.npy"}))
        np.testing.assert_array_equal(self.output()[0], a)

    def test_offset(self):
        (a,) = self.arrays(5)
        for length in (5, -1):
            (self.folder / "in.raw").write_bytes(b"head" + a.tobytes())
            self.run_graph(stages({"path": "in.raw", "offset": 4, "layout": "f32[time pol]",
                                   "shape": [length, 2]}))
            np.testing.assert_array_equal(self.output()[0], a)

    def test_errors(self):
        a, b = self.arrays(5, 7)
        both = {"path": ["1.npy", "2.npy"]}
        self.save("1.npy", a, 0)
        for start, epoch, more, message in (
                (TICKS * 4, 1000, {}, "2.npy: wants to begin after 1.npy ends, but is given a start 1 "
                                      "samples before its end: they overlap"),
                (TICKS * 5 + 1, 1000, {}, "2.npy: wants to begin a whole number of samples after "
                                          "1.npy, but is given a start that is 0.166666667 s from "
                                          "one"),
                (TICKS * 6, 1000, {"ticks_per_second": [7, 1]},
                 "2.npy: wants axes, coordinates and clock as 1.npy has them: 2 samples per second, 3 ticks a "
                 "sample, but is given 2.33333333333333 samples per second, 3 ticks a sample"),
                (TICKS * 6, None, {}, "as 1.npy has them: a known UTC, but is given no UTC"),
                (TICKS * 6, 1000, {"validity": {"axes": ["pol"]}},
                 "2.npy: wants axes, coordinates and clock as 1.npy has them"),
                (2**62, 2**61, {"ticks_per_second": [6, 1]},
                 "2.npy: wants to begin near 1.npy, but is given a time far from it")):
            with self.subTest(start=start, more=more):
                self.save("2.npy", b, start, epoch, **more)
                self.assertIn(message, self.fail_graph(stages(both)))
        self.save("2.npy", b)
        (self.folder / "2.npy.json").unlink()
        self.assertIn("2.npy: wants axes, coordinates and clock as 1.npy has them",
                      self.fail_graph(stages({**both, "layout": "f32[time pol]"})))
        for name in ("1.npy", "2.npy"):
            self.save(name, np.ascontiguousarray(a.T), 0, axes="pol time")
        self.assertIn("1.npy: wants time as the slowest axis, for it is one of several files",
                      self.fail_graph(stages(both, "pol time")))
        self.assertIn("'path': wants files whose names match 'scan-*.npy', but there is none",
                      self.fail_graph(stages({"path": "scan-*.npy"})))
        self.assertIn("'offset': is for raw arrays, but 1.npy is an .npy file",
                      self.fail_graph(stages({"path": "1.npy", "offset": 4}, "pol time")))


if __name__ == "__main__":
    tap.main()
