#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Merged axes against NumPy: orders, types, lanes, blocks; frequencies of subbands; errors."""
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

# The host's variant is the same for all instruction sets.
VARIANTS = list(dict.fromkeys(variant.split("-")[0] for variant in pipeline.variants()))
AXES = ("time", "subband", "channel", "pol")
LENGTHS = (61, 5, 12, 2)
rng = numpy.random.default_rng(6)


def values(type_, shape):
    if type_.startswith("ci"):
        return pipeline.integers(rng, type_, shape)[0]
    x = rng.integers(1, 120, shape)
    return (x - 1j * x[::-1] if type_[0] == "c" else x).astype(pipeline.DTYPES[type_])


def run(x, type_, order, given, made, variant, cuts=(1 << 20,), workers=1, loses=(), validity=None,
        n_lanes=1):
    """The output in the order `made`."""
    array = numpy.ascontiguousarray(x.transpose([AXES.index(axis) for axis in order]
                                                + list(range(4, x.ndim))))
    shape = [-1 if axis == "time" else LENGTHS[AXES.index(axis)] for axis in order]
    text = (f"stages:\n  x: {{ stage: input, layout: '{type_}[{' '.join(order)}]', shape: {shape}"
            + (f", loses: [{', '.join(loses)}]" if loses else "") + " }\n"
            f"  y: {{ stage: merge, from: x{given} }}\n"
            f"  z: {{ stage: output, from: y, layout: '[{' '.join(made)}]' }}\n")
    return pipeline.run(text, {"x": pipeline.Feed(array, order.index("time"), cuts, validity)},
                        {"z": (made.index("time"), n_lanes)}, {"y": variant}, workers=workers)["z"]


class Merge(unittest.TestCase):
    def test_orders(self):
        x = values("cf32", LENGTHS)
        wanted = x.reshape(61, 60, 2)
        names = ("time", "channel", "pol")
        for order in pipeline.some(itertools.permutations(AXES)):
            made = tuple(axis for axis in order if axis != "subband")
            for variant in VARIANTS:
                got = run(x, "cf32", order, "", made, variant, (17, 1, 30), 2)
                self.assertTrue(numpy.array_equal(
                    got.array, wanted.transpose([names.index(axis) for axis in made])),
                    (order, variant))

    def test_types(self):
        for type_ in pipeline.DTYPES:
            if type_ == "cf16":
                continue
            x = values(type_, LENGTHS)
            for variant in VARIANTS:
                got = run(x, type_, AXES, ", axes: [subband, pol], to: beam",
                          ("time", "channel", "beam"), variant)
                wanted = x.swapaxes(1, 2).reshape(61, 12, 10, *x.shape[4:])
                self.assertEqual(got.array.tobytes(), wanted.tobytes(), (type_, variant))

    def test_other_axes(self):
        x = values("cf32", LENGTHS)
        for variant in VARIANTS:
            got = run(x, "cf32", AXES, ", axes: [pol, channel], to: pol", ("time", "subband", "pol"),
                      variant)
            wanted = x.transpose(0, 1, 3, 2).reshape(61, 5, 24)
            self.assertTrue(numpy.array_equal(got.array, wanted), variant)

    def test_validity(self):
        x = values("cf32", LENGTHS)
        valid = rng.random((5, 2, 61)) < 0.8
        x[~numpy.broadcast_to(valid.transpose(2, 0, 1)[:, :, None], x.shape)] = 0
        lanes = numpy.repeat(valid, 12, 0).reshape(120, 61)
        for variant in VARIANTS:
            for cuts, workers in (((61,), 1), ((7, 1, 30), 2)):
                got = run(x, "cf32", AXES, "", ("time", "channel", "pol"), variant, cuts, workers,
                          ("subband", "pol"), valid.reshape(10, 61), 120)
                self.assertTrue(numpy.array_equal(got.array, x.reshape(61, 60, 2)))
                self.assertTrue(numpy.array_equal(got.validity, lanes), (variant, cuts))

    def test_refuses(self):
        x = values("cf32", LENGTHS)
        for given, message in (
                (", axes: [subband]", "'axes': wants two axes, but is given 1"),
                (", axes: [subband, time]", "'axes': wants two different axes other than time, but "
                 "is given 'subband' and 'time'"),
                (", axes: [pol, pol]", "'axes': wants two different axes"),
                (", axes: [pol, beam]", "'axes': wants axes of the input, but is given 'beam', and "
                 "the input has time"),
                (", to: pol", "'to': wants a name that no other axis has, but is given 'pol'"),
                (", order: up", "'order': wants")):
            with self.assertRaisesRegex(pipeline.Failure, r"test:3:\d+: node 'y': .*" + message):
                run(x, "cf32", AXES, given, ("time", "channel", "pol"), "reference")


class Frequencies(unittest.TestCase):
    """Subbands in any order, split by a complex transform."""

    def described(self, first, more, given, variant=None):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        path, graph = pathlib.Path(folder) / "x.npy", pathlib.Path(folder) / "graph.yaml"
        x = (rng.normal(size=(64, len(first))) + 1j).astype("c8")
        numpy.save(path, x)
        pathlib.Path(f"{path}.json").write_text(json.dumps({
            "type": "cf32", "layout": "cf32[time subband]", "ticks_per_second": [1000, 1],
            "ticks_per_sample": 1, "start": 0,
            "axes": [{"name": "time", "length": 64},
                     {"name": "subband", "length": len(first), "unit": "Hz", "table": first}]}))
        graph.write_text(f"""
stages:
  x: {{ stage: file.source, path: {path} }}
  spectra: {{ stage: fft, from: x, axis: time, length: 8{more} }}
  y: {{ stage: merge, from: spectra{given} }}
  z: {{ stage: file.sink, from: y, path: {folder}/y.npy }}
  s: {{ stage: file.sink, from: spectra, path: {folder}/s.npy }}
""")
        done = subprocess.run([os.environ["CORNERTURN"], "run", graph] +
                              (["--variant", f"y={variant}"] if variant else []),
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        axis = json.loads(pathlib.Path(f"{folder}/y.npy.json").read_text())["axes"][1]
        self.assertEqual((axis["name"], axis["length"]), ("channel", 8 * len(first)))
        return axis, numpy.load(f"{folder}/y.npy"), numpy.load(f"{folder}/s.npy")

    def check(self, first, more=""):
        """The merged channels rise, and each has the data of its own channel."""
        offsets = numpy.arange(8) - 4.0 if more else numpy.fft.fftfreq(8, 1 / 8)
        frequencies = (numpy.array(first)[:, None] + 125 * offsets).ravel()
        order = numpy.argsort(frequencies, kind="stable")
        for variant in VARIANTS:
            axis, got, spectra = self.described(first, more, "", variant)
            self.assertTrue(numpy.array_equal(got, spectra.reshape(8, -1)[:, order]), variant)
            table = axis.get("table")
            if table is None:
                table = axis["first"] + axis["step"] * numpy.arange(axis["length"])
            self.assertTrue(numpy.allclose(table, frequencies[order], rtol=1e-14, atol=0))
        return axis

    def test_contiguous(self):
        for more in ("", ", shift: true"):
            axis = self.check([5000.0, 6000.0, 7000.0], more)
            self.assertEqual((axis["first"], axis["step"]), (4500, 125))

    def test_any_order(self):
        axis = self.check([9000.0, 5000.0, 6000.0])
        self.assertEqual(axis["table"][0], 4500)
        self.check([9000.0, 5000.0, 6000.0, 20e3, 12e3, 15e3, 30e3])  # many pieces

    def test_overlap(self):
        self.check([5000.0, 5437.5, 5000.0])

    def test_by_index(self):
        axis, got, spectra = self.described([5000.0, 6000.0], "", ", order: index")
        self.assertTrue(numpy.array_equal(got, spectra.reshape(8, -1)))
        self.assertEqual(axis["table"][:5], [5000, 5125, 5250, 5375, 4500])


if __name__ == "__main__":
    tap.main()
