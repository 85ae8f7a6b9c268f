#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Split axes against NumPy: orders, lanes, blocks, coordinates, back by merge; errors."""
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
AXES = ("time", "channel", "pol")
LENGTHS = (61, 30, 2)
rng = numpy.random.default_rng(7)


def run(x, type_, order, given, made, variant, cuts=(1 << 20,), workers=1, loses=(), validity=None,
        n_lanes=1, again=""):
    array = numpy.ascontiguousarray(x.transpose([AXES.index(axis) for axis in order]
                                                + list(range(3, x.ndim))))
    shape = [-1 if axis == "time" else LENGTHS[AXES.index(axis)] for axis in order]
    text = (f"stages:\n  x: {{ stage: input, layout: '{type_}[{' '.join(order)}]', shape: {shape}"
            + (f", loses: [{', '.join(loses)}]" if loses else "") + " }\n"
            f"  y: {{ stage: split, from: x{given} }}\n{again}"
            f"  z: {{ stage: output, from: {'again' if again else 'y'}, "
            f"layout: '[{' '.join(made)}]' }}\n")
    return pipeline.run(text, {"x": pipeline.Feed(array, order.index("time"), cuts, validity)},
                        {"z": (made.index("time"), n_lanes)}, {"y": variant}, workers=workers)["z"]


class Split(unittest.TestCase):
    def test_orders(self):
        """Every order of the input, and of the output: the planner may insert transposes."""
        x = (rng.normal(size=LENGTHS) + 1j).astype("c8")
        wanted = x.reshape(61, 5, 6, 2)
        names = ("time", "subband", "channel", "pol")
        for order, made in pipeline.some(itertools.product(itertools.permutations(AXES),
                                                           list(itertools.permutations(names))[::5])):
            for variant in VARIANTS:
                got = run(x, "cf32", order, ", length: 6", made, variant, (17, 1, 30), 2)
                self.assertTrue(numpy.array_equal(
                    got.array, wanted.transpose([names.index(axis) for axis in made])),
                    (order, made, variant))

    def test_types_and_names(self):
        for type_ in ("ci4", "ci8", "ci16", "u8", "f32", "cf64"):
            x = (pipeline.integers(rng, type_, LENGTHS)[0] if type_.startswith("ci")
                 else rng.integers(0, 99, LENGTHS).astype(pipeline.DTYPES[type_]))
            for variant in VARIANTS:
                got = run(x, type_, AXES, ", axis: pol, to: [beam, part], length: 1",
                          ("time", "channel", "beam", "part"), variant)
                self.assertEqual(got.array.tobytes(), x.tobytes(), (type_, variant))

    def test_validity_and_back(self):
        x = (rng.normal(size=LENGTHS) + 1j).astype("c8")
        valid = rng.random((30, 61)) < 0.8
        x[~numpy.broadcast_to(valid.T[:, :, None], x.shape)] = 0
        again = "  again: { stage: merge, from: y, axes: [coarse, fine], to: channel }\n"
        for variant in VARIANTS:
            for more, made in (("", ("time", "coarse", "fine", "pol")), (again, AXES)):
                got = run(x, "cf32", AXES, ", to: [coarse, fine], length: 10", made, variant, (7, 30),
                          2, ("channel",), valid, 30, more)
                self.assertEqual(got.array.tobytes(), x.tobytes(), variant)
                self.assertTrue(numpy.array_equal(got.validity, valid), variant)

    def test_refuses(self):
        x = numpy.zeros(LENGTHS, "f4")
        for given, message in (
                (", length: 7", "'length': wants a divisor of the length of 'channel', which is 30, "
                 "but is given 7"),
                (", length: 5, axis: time", "'axis': wants an axis of the input other than time, but "
                 "is given 'time'"),
                (", length: 5, axis: beam", "'axis': wants an axis of the input other than time"),
                (", length: 5, to: [beam]", "'to': wants two axes, but is given 1"),
                (", length: 5, to: [beam, beam]", "'to': wants two names that no other axis has"),
                (", length: 5, to: [pol, beam]", "'to': wants two names that no other axis has, but "
                 "is given 'pol' and 'beam', and the input has time")):
            with self.assertRaisesRegex(pipeline.Failure, r"test:3:\d+: node 'y': .*" + message):
                run(x, "f32", AXES, given, ("time", "subband", "channel", "pol"), "reference")

    def test_coordinates(self):
        """Affine and tabled: the subbands have the mean frequency of their channels."""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        for given in ({"first": 1000.0, "step": 10.0}, {"table": [float(i * i) for i in range(30)]}):
            path, graph = pathlib.Path(folder) / "x.npy", pathlib.Path(folder) / "graph.yaml"
            numpy.save(path, numpy.zeros((4, 30), "f4"))
            pathlib.Path(f"{path}.json").write_text(json.dumps({
                "type": "f32", "layout": "f32[time channel]",
                "axes": [{"name": "time", "length": 4},
                         {"name": "channel", "length": 30, "unit": "Hz", **given}]}))
            graph.write_text(f"""
stages:
  x: {{ stage: file.source, path: {path} }}
  y: {{ stage: split, from: x, length: 6 }}
  z: {{ stage: file.sink, from: y, path: {folder}/y.npy }}
  again: {{ stage: merge, from: y }}
  s: {{ stage: file.sink, from: again, path: {folder}/s.npy }}
""")
            done = subprocess.run([os.environ["CORNERTURN"], "run", graph], capture_output=True,
                                  text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            wanted = numpy.array(given.get("table", 1000 + 10.0 * numpy.arange(30))).reshape(5, 6)
            axes = {axis["name"]: axis for axis in
                    json.loads(pathlib.Path(f"{folder}/y.npy.json").read_text())["axes"]}
            subband, channel = axes["subband"], axes["channel"]
            self.assertEqual(channel["parent"], "subband")
            means = (numpy.array(subband["table"]) if "table" in subband
                     else subband["first"] + subband["step"] * numpy.arange(5))
            self.assertTrue(numpy.allclose(means, wanted.mean(1), rtol=1e-14))
            got = (numpy.array(channel["table"]).reshape(5, 6) if "table" in channel
                   else means[:, None] + channel["first"] + channel["step"] * numpy.arange(6))
            self.assertTrue(numpy.allclose(got, wanted, rtol=1e-14))
            merged = json.loads(pathlib.Path(f"{folder}/s.npy.json").read_text())["axes"][1]
            back = (numpy.array(merged["table"]) if "table" in merged
                    else merged["first"] + merged["step"] * numpy.arange(30))
            self.assertTrue(numpy.allclose(back, wanted.ravel(), rtol=1e-14))


if __name__ == "__main__":
    tap.main()
