#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Samples that the parameters of flag name, against NumPy: elements, frequencies, times."""
import json
import unittest

import numpy

import graphs
import pipeline
import tap

VARIANTS = pipeline.variants()
rng = numpy.random.default_rng(17)


def random_of(type_, shape):
    """Any bytes of a type; but no NaN, whose payload may change."""
    dtype = numpy.dtype(pipeline.DTYPES[type_])
    shape += (2,) if type_ in pipeline.PAIRS else ()
    if dtype.kind in "fc":
        return (100 * rng.normal(size=shape)).astype(dtype)
    return numpy.frombuffer(rng.bytes(int(numpy.prod(shape)) * dtype.itemsize), dtype).reshape(shape)


class Masks(graphs.GraphTest):
    def check(self, got, x, good, *what):
        """`good` has the axes of x, which are [time] and those along which data are lost first."""
        wanted = numpy.where(good.reshape(good.shape + (1,) * (x.ndim - good.ndim)), x, 0)
        self.assertEqual(got.array.shape, x.shape, what)
        numpy.testing.assert_array_equal(got.validity, good.reshape(len(good), -1).T, repr(what))
        self.assertEqual(got.array.tobytes(), wanted.astype(x.dtype).tobytes(), what)

    def test_types(self):
        """Elements of two axes, of every type; what is in no mask passes bit for bit."""
        good = numpy.ones((403, 7, 3), bool)
        good[:, [0, 2, 3, 4]] = False
        good[:, :, 1] = False
        for i, type_ in enumerate(pipeline.DTYPES):
            x = random_of(type_, (403, 7, 3))
            text = (f"stages: {{ x: {{ stage: input, layout: '{type_}[time channel pol]', shape: "
                    "[-1, 7, 3] }, y: { stage: flag, from: x, channel: [2..4, 0], pol: 1 }, "
                    f"z: {{ stage: output, from: y, layout: '{type_}[time channel pol]' }} }}")
            for variant in VARIANTS:
                got = pipeline.run(text, {"x": pipeline.Feed(x, 0, (100, 1, 37))}, {"z": (0, 21)},
                                   {"y": variant}, workers=1 + i % 3)["z"]
                self.check(got, x, good, type_, variant)

    def test_orders_and_gaps(self):
        """All orders of the axes; samples that are lost before stay lost, in lanes of their own."""
        x = random_of("cf32", (301, 5, 3))
        valid = rng.random((301, 3)) > 0.3
        good = numpy.repeat(valid[:, None], 5, 1)
        good[:, [1, 4]] = False
        x = numpy.where(valid[:, None], x, 0)
        for order in ("time channel station", "channel time station", "channel station time",
                      "station time channel", "time station channel", "station channel time"):
            place = [("time", "channel", "station").index(axis) for axis in order.split()]
            text = ("stages: { x: { stage: input, layout: 'cf32[time channel station]', "
                    "shape: [-1, 5, 3], loses: [station] }, y: { stage: flag, from: x, "
                    f"channel: [1, 4] }}, z: {{ stage: output, from: y, layout: 'cf32[{order}]' }} }}")
            for variant in VARIANTS:
                got = pipeline.run(text, {"x": pipeline.Feed(x, 0, (50, 1, 33), valid.T)},
                                   {"z": (order.split().index("time"), 15)}, {"y": variant},
                                   workers=2)["z"]
                numpy.testing.assert_array_equal(got.validity, good.reshape(301, -1).T)
                self.assertEqual(
                    got.array.tobytes(),
                    numpy.where(good, x, 0).astype("c8").transpose(place).tobytes(),
                    (order, variant))

    def test_with_a_statistic(self):
        """A sample must be good by the mask and by the statistic."""
        x, w = random_of("i16", (300, 6)), random_of("f32", (30, 6))
        good = numpy.repeat(w <= 50, 10, 0)
        good[:, 5] = False
        numpy.save(self.folder / "x.npy", x)
        numpy.save(self.folder / "w.npy", w)
        text = (f"stages: {{ x: {{ stage: file.source, path: '{self.folder}/x.npy', layout: "
                "'i16[time channel]', sample_rate: 10 Hz, block: { time: 64 } }, "
                f"w: {{ stage: file.source, path: '{self.folder}/w.npy', layout: "
                "'f32[time channel]', sample_rate: 1 Hz, ticks_per_sample: 10 }, "
                "y: { stage: flag, from: { in: x, statistic: w }, upper: 50, channel: 5 }, "
                "z: { stage: output, from: y, layout: 'i16[time channel]' } }")
        for variant in VARIANTS:
            got = pipeline.run(text, {}, {"z": (0, 6)}, {"y": variant}, workers=2)["z"]
            self.check(got, x, good, variant)

    def bank(self, n_subbands, shift=False, **flag):
        """A graph from a simulated sky to spectra as they are (raw.npy) and flagged (out.npy)."""
        subbands = {"n_subbands": n_subbands} if n_subbands else {}
        return {
            "sky": {"stage": "generate", "sample_rate": "1 MHz", "centre_frequency": "100 MHz",
                    "samples": 8000, "n_stations": 2, "labels": {"station": ["CS001", "RS210"]},
                    **subbands},
            "filter": {"stage": "fir", "from": "sky", "n_channels": 8, "n_taps": 2},
            "spectra": {"stage": "fft", "from": "filter", "shift": shift},
            "clean": {"stage": "flag", "from": "spectra", **flag},
            "raw": {"stage": "file.sink", "from": "spectra", "path": "raw.npy"},
            "out": {"stage": "file.sink", "from": "clean", "path": "out.npy"},
        }

    def run_bank(self, stages, *arguments):
        """The flagged spectra, the spectra, and the good samples of the PATH.json, which has lanes
        [lane][time]."""
        self.run_graph(stages, *arguments)
        out, raw = (numpy.load(self.folder / name) for name in ("out.npy", "raw.npy"))
        told = json.loads((self.folder / "out.npy.json").read_text())
        lengths = {axis["name"]: axis["length"] for axis in told["axes"]}
        axes = told["validity"]["axes"]
        good = numpy.ones((int(numpy.prod([lengths[axis] for axis in axes])), len(out)), bool)
        for gap in told["validity"].get("gaps", []):
            for first, n in zip(gap["lanes"][::2], gap["lanes"][1::2]):
                for begin, length in zip(gap["samples"][::2], gap["samples"][1::2]):
                    good[first:first + n, begin:begin + length] = False
        return out, raw, axes, good.reshape([lengths[axis] for axis in axes] + [len(out)])

    def test_frequencies(self):
        """Channels that a range touches: whole, partly, at an edge (which does not count), or by one
        frequency; of one subband, of three, and in the order of the transform or shifted."""
        step = 125e3
        ranges = [[100.2e6, 100.33e6], [99.5e6, 99.5e6], [101.4375e6, 101.5625e6], [102.1e6, 102.1e6]]
        for n_subbands, shift in ((0, True), (0, False), (3, False), (3, True)):
            centres = 100e6 + 1e6 * numpy.arange(max(1, n_subbands))[:, None]
            offsets = numpy.fft.fftfreq(8, 1e-6)
            f = centres + (numpy.fft.fftshift(offsets) if shift else offsets)
            bad = numpy.zeros(f.shape, bool)
            for low, high in ranges:
                bad |= (f + step / 2 > low) & (f - step / 2 < high)
            self.assertTrue(bad.any() and not bad.all())
            out, raw, axes, good = self.run_bank(
                self.bank(n_subbands, shift, frequency=[[f"{low} Hz", f"{high} Hz"]
                                                        for low, high in ranges]))
            self.assertEqual(axes, ["subband", "channel"] if n_subbands else ["channel"])
            bad = bad if n_subbands else bad[0]
            numpy.testing.assert_array_equal(
                good, numpy.broadcast_to(~bad[..., None], good.shape))
            wanted = numpy.where(bad[..., None], 0, raw)
            numpy.testing.assert_array_equal(out, wanted)
            self.assertGreater(abs(raw).min(), 0)

    def test_labels(self):
        out, raw, axes, good = self.run_bank(self.bank(0, station=["RS210"]))
        self.assertEqual(axes, ["station"])
        numpy.testing.assert_array_equal(good, numpy.repeat([[True], [False]], len(raw), 1))
        numpy.testing.assert_array_equal(out, raw * [1, 0])

    def test_subbands_before_the_filter(self):
        """A subband that is masked before the filter is lost behind it."""
        stages = self.bank(3)
        stages["early"] = {"stage": "flag", "from": "sky", "frequency": [["101.6 MHz", "1 GHz"]]}
        stages["filter"]["from"] = "early"
        stages["clean"]["channel"] = [0]
        out, raw, axes, good = self.run_bank(stages)
        self.assertEqual(axes, ["subband", "channel"])
        wanted = numpy.ones((3, 8), bool)
        wanted[2] = wanted[:, 0] = False
        numpy.testing.assert_array_equal(good, numpy.broadcast_to(wanted[..., None], good.shape))
        self.assertEqual(abs(raw[:, 2]).max(), 0)
        numpy.testing.assert_array_equal(out, numpy.where(wanted[..., None], raw, 0))

    def test_times(self):
        """A spectrum begins every 8 µs. Begins and ends are those of ticks: from the first spectrum
        that is not before the begin, to the last before the end."""
        starts = 8e-6 * numpy.arange(999)
        for ranges in ([[0, 1e-3]], [[20e-6, 24e-6]], [[17e-6, 23e-6]],
                       [[1e-3, 1.004e-3], [2e-3, 2.4e-3], [7.9e-3, 1]], [[3, 4]]):
            bad = numpy.zeros(999, bool)
            for begin, end in ranges:
                bad |= (starts >= begin - 1e-9) & (starts < end - 1e-9)
            for block in (8000, 97):
                stages = self.bank(0, time=[[f"{begin} s", f"{end} s"] for begin, end in ranges])
                stages["sky"]["block"] = {"time": block}
                out, raw, axes, good = self.run_bank(stages, "--workers", "2")
                self.assertEqual((axes, len(raw)), ([], 999))
                numpy.testing.assert_array_equal(good, ~bad)
                numpy.testing.assert_array_equal(out, numpy.where(bad[:, None, None], 0, raw))

    def test_errors(self):
        for flag, wanted in (
                ({}, "port 'statistic' wants an input, or the node a parameter that names bad "
                     "samples, but is given neither"),
                ({"channel": [8]}, "'channel': wants indices below the length of the axis 'channel',"
                                   " 8, but is given '8'"),
                ({"channel": []}, "'channel': wants a list, each item a text, but is given a list of 0"),
                ({"station": ["CS002"]}, "'station': wants indices, ranges as 0..15, or labels of "
                                         "the axis 'station', but is given 'CS002'; did you mean "
                                         "'CS001'?"),
                ({"pol": [0]}, "'pol': wants an axis of the input, but is given 'pol', and the "
                               "input has"),
                ({"frequency": [["1 MHz"]]}, "'frequency': wants rows of 2 values, but is given 1"),
                ({"frequency": [["2 MHz", "1 MHz"]]}, "'frequency': wants the lower value of a range "
                                                      "first, but is given 2000000 before 1000000"),
                ({"time": [["2 s", "1 s"]]}, "'time': wants the lower value of a range first"),
        ):
            message = self.fail_graph(self.bank(0, **flag))
            self.assertIn(wanted, message)
            self.assertRegex(message, r"graph.yaml:\d+:\d+: node 'clean': ")
        stages = self.bank(0, frequency=[["1 MHz", "2 MHz"]])
        del stages["sky"]["centre_frequency"]
        stages["filter"]["from"] = "clean"
        stages["clean"]["from"] = "sky"
        stages["out"]["from"] = "filter"
        self.assertIn("'frequency': wants a stream whose channels or subbands have frequencies",
                      self.fail_graph(stages))
        text = ("stages: { x: { stage: input, layout: 'f32[time]', shape: [-1] }, "
                "y: { stage: flag, from: x, time: [[0, 1]] }, z: { stage: output, from: y } }")
        with self.assertRaisesRegex(pipeline.Failure, "'time': wants a stream with a sample rate"):
            pipeline.run(text, {}, {"z": (0, 1)})

    def test_warnings(self):
        """A range without a channel, and limits without a statistic, have no effect."""
        process = self.start(self.bank(0, frequency=[["1 MHz", "2 MHz"], ["100 MHz", "100 MHz"]]))
        errors = process.communicate(timeout=120)[1]
        self.assertEqual(process.returncode, 0)
        self.assertRegex(errors, r"^graph.yaml:\d+:\d+: node 'clean': warning: parameter 'frequency': "
                                 r"no channel is between 1000000 and 2000000 Hz: the centres are from "
                                 r"99500000 to 100375000 Hz\n$")
        self.check_no_effect(self.bank(0, channel=[0], upper=1), "clean", "upper")


if __name__ == "__main__":
    tap.main()
