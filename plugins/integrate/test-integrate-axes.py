#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sums along other axes than time against NumPy: orders, types, gaps, weights, coordinates, errors."""
import itertools
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy

import pipeline
import tap

VARIANTS = pipeline.variants()
AXES = ("time", "channel", "station", "pol")
LENGTHS = (47, 21, 5, 2)
rng = numpy.random.default_rng(9)


def values(type_, shape=LENGTHS):
    x = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape)
    if type_[0] == "c":
        x = x + 1j * rng.normal(size=shape)
    return x.astype(pipeline.DTYPES[type_])


def sums(x, axis, length):
    """Sums of `length` elements along an axis of AXES; the last may be short."""
    a = AXES.index(axis)
    return numpy.add.reduceat(x, range(0, x.shape[a], length), a)


def integrate(x, type_, axis, length, variant, order=AXES, cuts=(1 << 20,), workers=1, more="",
              validity=None, loses=(), n_lanes=1):
    """The sums, in the order of AXES, the weights [time, lost axes and the axis], and the Taken."""
    array = numpy.ascontiguousarray(x.transpose([AXES.index(one) for one in order]))
    shape = [-1 if one == "time" else x.shape[AXES.index(one)] for one in order]
    kept = [one for one in AXES if one in ("time", axis, *loses)]
    text = (f"stages:\n  x: {{ stage: input, layout: '{type_}[{' '.join(order)}]', shape: {shape}"
            + (f", loses: [{', '.join(loses)}]" if loses else "") + " }\n"
            f"  y: {{ stage: integrate, from: x, axis: {axis}, length: {length}{more} }}\n"
            f"  z: {{ stage: output, from: y, layout: '{type_}[{' '.join(order)}]' }}\n"
            f"  w: {{ stage: output, from: y.weights, layout: 'u32[{' '.join(kept)}]' }}\n")
    time = order.index("time")
    taken = pipeline.run(text, {"x": pipeline.Feed(array, time, cuts, validity)},
                         {"z": (time, n_lanes), "w": (0, n_lanes)}, {"y": variant}, workers=workers)
    return (taken["z"].array.transpose([order.index(one) for one in AXES]), taken["w"], taken["z"])


class Sums(unittest.TestCase):
    def close(self, got, wanted, absolute, n, *what):
        """Compares within n roundings of double precision and one of the output's."""
        u = 2.0 ** -24 if got.real.dtype == numpy.float32 else 0
        self.assertEqual(got.shape, wanted.shape, what)
        self.assertTrue(numpy.all(abs(got - wanted) <= 2 * u * abs(wanted) +
                                  2 * n * 2.0 ** -53 * absolute), what)

    def check(self, x, type_, axis, length, *arguments, **more):
        exact = x.astype(numpy.clongdouble if type_[0] == "c" else numpy.longdouble)
        got, weights, taken = integrate(x, type_, axis, length, *arguments, **more)
        self.close(got, sums(exact, axis, length), sums(abs(exact), axis, length).astype(float),
                   length, type_, axis, length, *arguments)
        return weights, taken

    def test_orders(self):
        x = values("cf32")
        for order, (axis, length) in pipeline.some(itertools.product(
                itertools.permutations(AXES),
                (("channel", 4), ("channel", 7), ("station", 5), ("pol", 2)))):
            for variant in VARIANTS:
                weights, _ = self.check(x, "cf32", axis, length, variant, order, (13, 1, 30), 2)
                n = x.shape[AXES.index(axis)]
                wanted = numpy.add.reduceat(numpy.ones(n, int), range(0, n, length))
                self.assertTrue((weights.array == wanted).all(), (order, axis, variant))

    def test_types_and_lengths(self):
        for type_, length in itertools.product(("f32", "f64", "cf32", "cf64"), (1, 2, 16, 20, 21)):
            x = values(type_)
            for variant in VARIANTS:
                for order in (AXES, ("time", "station", "pol", "channel")):
                    self.check(x, type_, "channel", length, variant, order, (40,))

    def test_long_axes(self):
        x = values("f32", (9, 700, 5, 2))
        for variant in VARIANTS:
            for length in (16, 300, 700):
                for order in (AXES, ("time", "station", "pol", "channel"),
                              ("channel", "time", "station", "pol")):
                    self.check(x, "f32", "channel", length, variant, order, (4, 3), 2)

    def test_cuts_do_not_matter(self):
        x = values("f32")
        for variant in VARIANTS:
            for order in (AXES, ("channel", "station", "pol", "time"),
                          ("time", "station", "pol", "channel")):
                first = integrate(x, "f32", "channel", 6, variant, order)[0]
                for cuts, workers in (((1,), 1), ((7, 30, 1), 2)):
                    got = integrate(x, "f32", "channel", 6, variant, order, cuts, workers)[0]
                    self.assertEqual(got.tobytes(), first.tobytes(), (variant, order, cuts))

    def test_gaps(self):
        """Along an axis that loses data, elements are left out; elsewhere whole samples are lost."""
        x = values("cf32")
        valid = rng.random((5, 2, 47)) < 0.6
        valid[2, 1] = valid[:, :, 20] = False
        x[~numpy.broadcast_to(valid.transpose(2, 0, 1)[:, None], x.shape)] = 0
        counts = valid.transpose(2, 0, 1)[:, None].astype(int)  # [time 1 station pol]
        for axis, length in (("station", 2), ("station", 5), ("pol", 2), ("channel", 6)):
            exact = sums(x.astype(complex), axis, length)
            n = sums(numpy.broadcast_to(counts, x.shape), axis, length)
            weights = n if axis == "channel" else n[:, 0]
            with numpy.errstate(all="ignore"):
                mean = numpy.nan_to_num(exact / n)
            lanes = (n[:, 0] > 0).transpose(1, 2, 0).reshape(-1, 47)
            absolute = sums(abs(x.astype(complex)), axis, length)
            for variant in VARIANTS:
                for cuts, workers in (((47,), 1), ((13, 1, 27), 2)):
                    for more, wanted in (("", exact), (", average: true", mean)):
                        got, counted, taken = integrate(
                            x, "cf32", axis, length, variant, AXES, cuts, workers, more,
                            valid.reshape(10, 47), ("station", "pol"), len(lanes))
                        self.close(got, wanted, absolute, length, axis, variant, more)
                        self.assertTrue(numpy.array_equal(counted.array, weights), (axis, variant))
                        self.assertTrue(numpy.array_equal(taken.validity, lanes), (axis, variant))
                        self.assertTrue(numpy.array_equal(counted.validity, lanes))

    def test_one_output(self):
        """Either output may have no reader."""
        x = values("f32")
        valid = rng.random((5, 47)) < 0.6
        x[~numpy.broadcast_to(valid.T[:, None, :, None], x.shape)] = 0
        counts = sums(numpy.broadcast_to(valid.T[:, None, :, None], x.shape).astype(int), "station",
                      3)[:, 0, :, 0]
        text = ("stages:\n  x: { stage: input, layout: 'f32[time channel station pol]', "
                "shape: [-1, 21, 5, 2], loses: [station] }\n"
                "  y: { stage: integrate, from: x, axis: station, length: 3 }\n"
                "  z: { stage: output, from: %s, layout: '[%s]' }\n")
        for variant in VARIANTS:
            feed = pipeline.Feed(x, 0, (11, 30), valid)
            got = pipeline.run(text % ("y", " ".join(AXES)), {"x": feed}, {"z": (0, 2)},
                               {"y": variant}, workers=2)["z"]
            self.close(got.array, sums(x.astype(float), "station", 3), abs(x).max() * 3.0, 3)
            self.assertTrue(numpy.array_equal(got.validity, counts.T > 0), variant)
            got = pipeline.run(text % ("y.weights", "time station"), {"x": feed}, {"z": (0, 2)},
                               {"y": variant}, workers=2)["z"]
            self.assertTrue(numpy.array_equal(got.array, counts), variant)
            self.assertTrue(numpy.array_equal(got.validity, counts.T > 0), variant)

    def test_refuses(self):
        x = values("f32")
        for axis, length, message in (
                ("beam", 2, "'axis': wants an axis of the input, but is given 'beam', and the input "
                 "has time"),
                ("channel", 22, "'length': wants at most the length of the axis 'channel', 21, but "
                 "is given 22")):
            with self.assertRaisesRegex(pipeline.Failure, r"test:3:\d+: node 'y': .*" + message):
                integrate(x, "f32", axis, length, "reference")

    def test_coordinates(self):
        """Sums are at the mean frequency of their channels."""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        path, graph = pathlib.Path(folder) / "x.npy", pathlib.Path(folder) / "graph.yaml"
        for given, length in (({"first": 1000.0, "step": 10.0}, 6), ({"first": 0.0, "step": 3.0}, 7),
                              ({"table": [float(i * i) for i in range(30)]}, 5)):
            numpy.save(path, numpy.ones((4, 30), "f4"))
            pathlib.Path(f"{path}.json").write_text(json.dumps({
                "type": "f32", "layout": "f32[time channel]",
                "axes": [{"name": "time", "length": 4},
                         {"name": "channel", "length": 30, "unit": "Hz", **given}]}))
            graph.write_text(f"""
stages:
  x: {{ stage: file.source, path: {path} }}
  y: {{ stage: integrate, from: x, axis: channel, length: {length} }}
  z: {{ stage: file.sink, from: y, path: {folder}/y.npy }}
""")
            done = subprocess.run([os.environ["CORNERTURN"], "run", graph], capture_output=True,
                                  text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            f = numpy.array(given.get("table", given.get("first", 0)
                                      + given.get("step", 0) * numpy.arange(30)))
            wanted = [f[i:i + length].mean() for i in range(0, 30, length)]
            axis = json.loads(pathlib.Path(f"{folder}/y.npy.json").read_text())["axes"][1]
            got = (axis["table"] if "table" in axis
                   else axis["first"] + axis["step"] * numpy.arange(axis["length"]))
            self.assertTrue(numpy.allclose(got, wanted, rtol=1e-14))


if __name__ == "__main__":
    tap.main()
