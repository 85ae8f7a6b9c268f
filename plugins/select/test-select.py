#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Selected elements against NumPy: orders, types, lanes, time, blocks; coordinates and labels; errors."""
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
AXES = ("time", "channel", "station", "pol")
LENGTHS = {"time": 103, "channel": 37, "station": 5, "pol": 2}
SCATTERED = [31, 2, 3, 4, 36, 0, 20, 22, 24, 7, 9, 13, 12, 11, 30, 17, 33, 28]
# Parameters, and the indices that they pick of each axis.
CASES = [
    ("channel: 4..11", {"channel": range(4, 12)}),
    ("channel: [0, 2..5, 36]", {"channel": [0, 2, 3, 4, 5, 36]}),
    (f"channel: {SCATTERED}", {"channel": SCATTERED}),
    ("pol: 1", {"pol": [1]}),
    ("station: [4, 0..2], pol: [1, 0]", {"station": [4, 0, 1, 2], "pol": [1, 0]}),
    (f"channel: {SCATTERED}, station: [3, 0, 1], pol: 0",
     {"channel": SCATTERED, "station": [3, 0, 1], "pol": [0]}),
    ("axis: station, elements: 2..3", {"station": [2, 3]}),
    ("", {}),
]
rng = numpy.random.default_rng(4)


def values(type_, lengths):
    """An array in the order of AXES, and the same with the parts of integers as a last axis."""
    shape = [lengths[axis] for axis in AXES]
    if type_.startswith("ci"):
        return pipeline.integers(rng, type_, shape)[0]
    if type_ == "cf16":
        shape.append(2)
    x = rng.integers(1, 120, shape)
    return (x - 1j * x[::-1] if type_ in ("cf32", "cf64") else x).astype(pipeline.DTYPES[type_])


def ordered(array, order):
    places = [AXES.index(axis) for axis in order]
    return numpy.ascontiguousarray(array.transpose(places + list(range(4, array.ndim))))


def pick(array, picked):
    for axis, indices in picked.items():
        array = array.take(list(indices), AXES.index(axis))
    return array


def select(array, type_, given, variant, order=AXES, cuts=(1 << 20,), workers=1, validity=None,
           loses=(), n_lanes=1, lengths=None, layout=None):
    lengths = lengths or LENGTHS
    text = (f"stages:\n  x: {{ stage: input, layout: '{type_}[{' '.join(order)}]', "
            f"shape: {[lengths[axis] if axis != 'time' else -1 for axis in order]}, "
            f"sample_rate: 1 kHz{', loses: [' + ', '.join(loses) + ']' if loses else ''} }}\n"
            f"  y: {{ stage: select, from: x{', ' if given else ''}{given} }}\n"
            f"  z: {{ stage: output, from: y, layout: '[{' '.join(layout or order)}]' }}\n")
    time = order.index("time")
    got = pipeline.run(text, {"x": pipeline.Feed(ordered(array, order), time, cuts, validity)},
                       {"z": ((layout or order).index("time"), n_lanes)}, {"y": variant},
                       workers=workers)["z"]
    return got


class Elements(unittest.TestCase):
    def check(self, got, array, picked, order, *what):
        wanted = ordered(pick(array, picked), order)
        self.assertEqual(got.array.shape, wanted.shape, what)
        self.assertEqual(got.array.tobytes(), wanted.tobytes(), what)

    def test_orders(self):
        x = values("cf32", LENGTHS)
        for order, (given, picked) in pipeline.some(itertools.product(
                itertools.permutations(AXES), CASES)):
            for variant in VARIANTS:
                got = select(x, "cf32", given, variant, order, (29, 1, 40), 2)
                self.check(got, x, picked, order, given, variant, order)

    def test_types(self):
        for type_ in ("ci4", "ci8", "ci16", "cf16", "cf64", "i8", "u8", "i16", "f32", "f64", "u32"):
            x = values(type_, LENGTHS)
            for order in (AXES, ("station", "time", "pol", "channel")):
                for given, picked in CASES[1:6:2]:
                    for variant in VARIANTS:
                        got = select(x, type_, given, variant, order, (64,))
                        self.check(got, x, picked, order, type_, given, variant, order)

    def test_long_axes(self):
        """Longer than a tile of the host, and runs of whole words of 16 bytes."""
        lengths = {"time": 50, "channel": 3000, "station": 4, "pol": 2}
        indices = sorted(rng.permutation(3000)[:700].tolist())
        for type_, order in itertools.product(("ci8", "cf32"),
                                              (AXES, ("time", "station", "pol", "channel"))):
            x = values(type_, lengths)
            for variant in VARIANTS:
                got = select(x, type_, f"channel: {indices}", variant, order, (17, 33), 2,
                             lengths=lengths)
                self.check(got, x, {"channel": indices}, order, type_, variant, order)

    def test_validity(self):
        x = values("cf32", LENGTHS)
        valid = rng.random((5, 2, 103)) < 0.8
        valid[3, 1] = False
        x[~numpy.broadcast_to(valid.transpose(2, 0, 1)[:, None], x.shape)] = 0
        for variant in VARIANTS:
            for given, picked in CASES:
                for cuts, workers in (((103,), 1), ((7, 1, 30), 2)):
                    lanes = valid
                    for a, axis in enumerate(("station", "pol")):
                        lanes = lanes.take(list(picked.get(axis, range(LENGTHS[axis]))), a)
                    lanes = lanes.reshape(-1, 103)
                    got = select(x, "cf32", given, variant, AXES, cuts, workers,
                                 valid.reshape(10, 103), ("station", "pol"), len(lanes))
                    self.check(got, x, picked, AXES, given, variant)
                    self.assertTrue(numpy.array_equal(got.validity, lanes), (given, variant))

    def test_time(self):
        x = values("cf32", LENGTHS)
        valid = rng.random((5, 103)) < 0.8
        x[~numpy.broadcast_to(valid.T[:, None, :, None], x.shape)] = 0
        for given, begin, end in (("ticks: [10, 20]", 10, 20), ("ticks: 40", 40, 103),
                                  ("time: [29.5 ms, 30.5 ms]", 30, 31),
                                  ("time: [0 s, 57 ms]", 0, 57), ("ticks: [-5, 500]", 0, 103),
                                  ("time: 102 ms", 102, 103)):
            for variant in VARIANTS:
                for cuts, workers in (((103,), 1), ((1,), 1), ((13, 5), 2)):
                    got = select(x, "cf32", f"{given}, station: [2, 0]", variant, AXES, cuts,
                                 workers, valid, ("station",), 2)
                    self.check(got, x[begin:end], {"station": [2, 0]}, AXES, given, variant)
                    self.assertEqual(got.start, begin, given)
                    self.assertTrue(numpy.array_equal(got.validity, valid[[2, 0], begin:end]),
                                    (given, variant, cuts))

    def test_without_time(self):
        """Weights of beams, of which each block is used as a whole."""
        x = (rng.normal(size=(20, 3, 4)) + 1j).astype("c8")
        w = rng.normal(size=(3, 2, 6)).astype("c8")
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "w.npy"
        numpy.save(path, w)
        text = f"""
stages:
  x: {{ stage: input, layout: "cf32[time channel station]", shape: [-1, 3, 4], sample_rate: 1 kHz }}
  w: {{ stage: file.source, path: {path}, layout: "[channel beam station]" }}
  part: {{ stage: select, from: w, station: [5, 1..3] }}
  y: {{ stage: beamform, from: {{ voltages: x, weights: part }} }}
  z: {{ stage: output, from: y, layout: "[time channel beam]" }}
"""
        wanted = numpy.einsum("tcs,cbs->tcb", x, w[..., [5, 1, 2, 3]])
        for variant in VARIANTS:
            got = pipeline.run(text, {"x": pipeline.Feed(x)}, {"z": (0, 1)},
                               {"part": variant})["z"].array
            self.assertLess(abs(got - wanted).max(), 1e-5, variant)


GRAPH = """
observation: { start: "2026-11-23T12:00:00Z" }
stations: { A: {}, B: {}, C: {} }
stages:
  sky: { stage: generate, type: cf32, sample_rate: 1 MHz, centre_frequency: 100 MHz, samples: 4096,
         n_stations: 3, n_pols: 2, noise: 1 }
  spectra: { stage: fft, from: sky, axis: time, length: 16 }
  vis: { stage: correlate, from: spectra, integration: 16 }
  y: { stage: select, from: %s }
  z: { stage: file.sink, from: y, path: %s }
"""


class Descriptions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_graph(self, given):
        graph, path = self.folder / "graph.yaml", self.folder / "y.npy"
        graph.write_text(GRAPH % (given, path))
        done = subprocess.run([os.environ["CORNERTURN"], "run", graph], capture_output=True,
                              text=True)
        return done, path

    def described(self, given):
        done, path = self.run_graph(given)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(pathlib.Path(f"{path}.json").read_text())
        return {axis["name"]: axis for axis in found["axes"]}, found, numpy.load(path)

    def frequencies(self, given):
        axis = self.described(given)[0]["channel"]
        if "table" in axis:
            return numpy.array(axis["table"])
        return axis["first"] + axis["step"] * numpy.arange(axis["length"])

    def test_frequencies(self):
        whole = self.frequencies("spectra")
        self.assertEqual(whole[0], 100e6)
        for indices in ([0], [3], [2, 3, 4], [7, 1], [0, 2, 4, 6], [6, 7, 8, 9]):
            got = self.frequencies(f"spectra, channel: {indices}")
            self.assertTrue(numpy.array_equal(got, whole[indices]), (indices, got))

    def test_frequency_range(self):
        whole = self.frequencies("spectra")
        for low, high in ((100e6, 100.2e6), (99.8e6, 100.07e6), (99.9375e6, 99.9375e6)):
            got = self.frequencies(f"spectra, frequency: [{low}, {high}]")
            self.assertTrue(numpy.array_equal(got, whole[(whole >= low) & (whole <= high)]))

    def test_labels(self):
        axes, _, _ = self.described("spectra, station: [C, A]")
        self.assertEqual(axes["station"]["labels"], ["C", "A"])
        whole = self.described("vis")[2]
        for given, pairs, indices in (("[C A, B]", [2, 0, 1, 0, 1, 1, 2, 1], [3, 1, 2, 4]),
                                      ("[A C, 0]", [2, 0, 0, 0], [3, 0])):
            axes, _, got = self.described(f"vis, baseline: {given}")
            self.assertEqual(axes["baseline"]["labels"], ["A", "B", "C"])
            self.assertEqual(axes["baseline"]["pairs"], pairs)
            self.assertEqual(got.tobytes(), whole.take(indices, 2).tobytes())

    def test_utc(self):
        whole = self.described("vis")[2]
        _, found, got = self.described('vis, utc: ["2026-11-23T11:59:00Z", "2026-11-23T12:00:01Z"]')
        self.assertEqual(got.tobytes(), whole.tobytes())
        _, found, got = self.described("vis, time: [512 us, 1024 us]")
        self.assertEqual(found["start"], 512)
        self.assertEqual(got.tobytes(), whole[2:4].tobytes())

    def test_errors(self):
        for given, message in (
                ("spectra, channel: 16", "'channel': wants indices below the length of the axis "
                 "'channel', 16, but is given '16'"),
                ("spectra, channel: 5..2", "'channel': wants indices, ranges as 0..15, or labels of "
                 "the axis 'channel', but is given '5..2', and its elements have no labels"),
                ("spectra, channel: [1, 0..2]", "'channel': wants each element once, but is given "
                 "element 1 of the axis 'channel' twice"),
                ("spectra, channel: []", "'channel': wants"),
                ("spectra, station: [A, Bb]", "'station': wants indices, ranges as 0..15, or labels "
                 "of the axis 'station', but is given 'Bb'; "),
                ("vis, baseline: A D", "but is given 'A D'"),
                ("vis, baseline: ''", "but is given ''"),
                ("spectra, beam: 0", "'beam': wants an axis of the input other than time, but is "
                 "given 'beam', and the input has time"),
                ("spectra, axis: time, elements: 0", "'axis': wants an axis of the input other than"),
                ("spectra, axis: channel", "'axis': wants 'elements' beside it"),
                ("spectra, elements: 1", "'elements': wants 'axis' beside it"),
                ("spectra, channel: 1, axis: channel, elements: 2", "'elements': wants an axis that "
                 "no other parameter names, but is given 'channel'"),
                ("spectra, frequency: [1 MHz]", "'frequency': wants the lowest and the highest "
                 "frequency, as [120 MHz, 140 MHz], but is given 1 of them"),
                ("spectra, frequency: [100.2 MHz, 99.8 MHz]", "'frequency': wants the lowest "
                 "frequency before the highest, but is given 100200000 Hz before 99800000 Hz"),
                ("spectra, frequency: [1 MHz, 2 MHz]", "'frequency': wants a range with the centre "
                 "of a channel, which are from 99500000 to 100437500 Hz, but is given 1000000 to "
                 "2000000 Hz"),
                ("sky, frequency: [1 MHz, 2 MHz]", "'frequency': wants a stream whose channels or "
                 "subbands have frequencies"),
                ("spectra, time: [1 s, 2 s]", "wants a part of the stream, which has ticks 0 to 4080"),
                ("spectra, time: [2 ms, 1 ms]", "'time': wants an end after the beginning"),
                ("spectra, time: [1, 2, 3]", "'time': wants the beginning, or the beginning and the "
                 "end, but is given 3 values"),
                ("spectra, time: 1, ticks: 2", "'ticks': wants to be the only one of"),
                ("spectra, utc: noon", "'utc': wants")):
            done, _ = self.run_graph(given)
            self.assertNotEqual(done.returncode, 0, given)
            self.assertIn(message, done.stderr, given)
            self.assertRegex(done.stderr, r"graph.yaml:9:\d+: node 'y': ", given)

    def test_streams_without(self):
        """Streams without epoch or sample rate, and channels of several subbands."""
        text = """
stages:
  x: { stage: input, layout: "cf32[time subband]", shape: [-1, 2]%s }
  y: { stage: select, from: x, %s }
  z: { stage: output, from: y }
"""
        for clock, given, message in (
                (", sample_rate: 1 kHz", 'utc: "2026-11-23T12:00:00Z"',
                 "'utc': wants a stream whose UTC is known"),
                ("", "time: 1 s", "'time': wants a stream with a sample rate")):
            with self.assertRaisesRegex(pipeline.Failure, message):
                pipeline.plan(text % (clock, given))
        path = self.folder / "x.npy"
        numpy.save(path, numpy.zeros((64, 2), "c8"))
        pathlib.Path(f"{path}.json").write_text(json.dumps({
            "type": "cf32", "layout": "cf32[time subband]", "ticks_per_second": [1000, 1],
            "ticks_per_sample": 1, "start": 0, "axes": [{"name": "time", "length": 64},
                     {"name": "subband", "length": 2, "unit": "Hz", "table": [5000, 1000]}]}))
        text = f"""
stages:
  x: {{ stage: file.source, path: {path} }}
  spectra: {{ stage: fft, from: x, axis: time, length: 4 }}
  y: {{ stage: select, from: spectra, frequency: [0 Hz, 10 kHz] }}
  z: {{ stage: output, from: y }}
"""
        with self.assertRaisesRegex(pipeline.Failure, "'frequency': wants channels of one subband"):
            pipeline.plan(text)
        pipeline.plan(text.replace("from: spectra", "from: x"))  # its subbands have frequencies


if __name__ == "__main__":
    tap.main()
