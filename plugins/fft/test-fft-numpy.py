#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The transform in graphs, against numpy in double precision: lengths, axes, directions, names."""
import itertools
import json
import unittest

import numpy

import graphs
import pipeline
import tap

VARIANTS = pipeline.variants()
rng = numpy.random.default_rng(4)


def samples(kind, shape):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if kind[0] == "c" else x).astype(
        pipeline.DTYPES[kind])


def transform(kind, axes, x, parameters, variant, to=None, cuts=(1 << 20,), workers=1):
    shape = [-1 if axis == "time" else x.shape[i] for i, axis in enumerate(axes)]
    to = to or ["channel" if axis == "phase" else axis for axis in axes]
    text = f"""
stages:
  x: {{ stage: input, layout: "{kind}[{' '.join(axes)}]", shape: {shape} }}
  f: {{ stage: fft, from: x, {parameters} }}
  y: {{ stage: output, from: f, layout: "[{' '.join(to)}]" }}
"""
    return pipeline.run(text, {"x": pipeline.Feed(x, axes.index("time"), cuts)},
                        {"y": (to.index("time"), 1)}, {"f": variant}, workers=workers)["y"].array


class FftTest(graphs.GraphTest):
    def close(self, got, wanted, kind, n, variant):
        """Compares within the bound: each of log2 n levels has an error of a few ulps of the norm;
        a prime length takes two longer transforms; the reference rounds once, after a sum in double
        precision."""
        ulp = 2.0 ** (-53 if kind in ("cf64", "f64") else -24)
        single = variant == "reference" and ulp > 1e-10
        bound = (1.5 if single else 4 * (2 + 2 * numpy.log2(n)) + n / 16) * ulp
        largest = abs(wanted).max()
        self.assertEqual(got.shape, wanted.shape)
        self.assertLessEqual(abs(got - wanted).max(), bound * largest)

    def test_lengths(self):
        for variant, kind, n in pipeline.some(itertools.product(
                VARIANTS, ["cf32", "cf64", "f32", "f64"],
                [1, 2, 3, 5, 8, 13, 16, 30, 64, 97, 100, 256, 1000])):
            for axes in ["time", "phase", "station"], ["time", "station", "phase"]:
                with self.subTest(variant=variant, kind=kind, n=n, axes=axes):
                    shape = (5, n, 6) if axes[1] == "phase" else (5, 6, n)
                    x = samples(kind, shape)
                    y = transform(kind, axes, x, "direction: forward", variant)
                    oracle = numpy.fft.fft if kind[0] == "c" else numpy.fft.rfft
                    wanted = oracle(x.astype(complex if kind[0] == "c" else float),
                                    axis=axes.index("phase"))
                    self.assertEqual(y.dtype.name, "complex128" if "64" in kind else "complex64")
                    self.close(y, wanted, kind, n, variant)

    def test_orders(self):
        """All 24 orders of the input, and all orders of the output that a reader may ask for."""
        names = ["time", "phase", "station", "pol"]
        x = samples("cf32", (5, 12, 3, 2))
        wanted = numpy.fft.fft(x.astype(complex), axis=1)
        outputs = list(itertools.permutations(range(4)))
        for k, order in pipeline.some(enumerate(outputs)):
            axes = [names[i] for i in order]
            for to in outputs[k // 3 % 3::3]:
                out = ["channel" if names[i] == "phase" else names[i] for i in to]
                for variant in VARIANTS[:2]:
                    with self.subTest(variant=variant, axes=axes, out=out):
                        y = transform("cf32", axes, x.transpose(order), "shift: false", variant,
                                      out)
                        self.close(y, wanted.transpose(to), "cf32", 12, variant)

    def test_inverse_and_shift(self):
        for variant, n, layout in itertools.product(VARIANTS, [7, 8, 60, 64],
                                                    ["channel station", "station channel"]):
            axes = ["time", *layout.split()]
            x = samples("cf32", (4, n, 5) if axes[1] == "channel" else (4, 5, n))
            axis = axes.index("channel")
            phases = [name.replace("channel", "phase") for name in axes]
            with self.subTest(variant=variant, n=n, layout=layout):
                y = transform("cf32", axes, x, "direction: inverse", variant, phases)
                self.close(y, numpy.fft.ifft(x.astype(complex), axis=axis), "cf32", n, variant)
                y = transform("cf32", axes, x, "direction: inverse, shift: true", variant, phases)
                wanted = numpy.fft.ifft(numpy.fft.ifftshift(x.astype(complex), axis), axis=axis)
                self.close(y, wanted, "cf32", n, variant)
                y = transform("cf32", phases, x, "shift: true", variant, axes)
                wanted = numpy.fft.fftshift(numpy.fft.fft(x.astype(complex), axis=axis), axis)
                self.close(y, wanted, "cf32", n, variant)

    def test_along_time(self):
        """`length` samples make a transform; time counts transforms, and a short rest is
        dropped."""
        for variant, kind, axes in itertools.product(
                VARIANTS, ["cf32", "f32"], [["time", "station"], ["station", "time"]]):
            x = samples(kind, (107, 3))
            oracle = numpy.fft.fft if kind[0] == "c" else numpy.fft.rfft
            wanted = oracle(x[:100].reshape(10, 10, 3).astype(complex if kind[0] == "c" else float),
                            axis=1)
            source = x if axes[0] == "time" else x.T
            for cuts, to in itertools.product([[107], [3, 25]],
                                              itertools.permutations(range(3))):
                out = [["time", "channel", "station"][i] for i in to]
                with self.subTest(variant=variant, kind=kind, axes=axes, out=out, cuts=cuts):
                    y = transform(kind, axes, source, "axis: time, length: 10", variant, out, cuts)
                    self.close(y, wanted.transpose(to), kind, 10, variant)

    def test_real_series_along_time(self):
        """The transforms of one series begin at odd samples in memory."""
        for variant, kind, length in itertools.product(VARIANTS, ["f32", "f64"], [2, 9, 64]):
            x = samples(kind, (1000,))
            wanted = numpy.fft.rfft(x[:1000 // length * length].reshape(-1, length), axis=1)
            with self.subTest(variant=variant, kind=kind, length=length):
                y = transform(kind, ["time"], x, f"axis: time, length: {length}", variant,
                              ["time", "channel"], [33, 107])
                self.close(y, wanted, "c" + kind, length, variant)

    def test_any_axis(self):
        x = samples("cf32", (9, 6, 4))
        for variant in VARIANTS:
            with self.subTest(variant=variant):
                y = transform("cf32", ["time", "station", "pol"], x, "axis: station, to: beam",
                              variant, ["time", "beam", "pol"])
                self.close(y, numpy.fft.fft(x.astype(complex), axis=1), "cf32", 6, variant)

    def test_cuts(self):
        """The result is the same to the last bit for any blocks and for one and two workers, except
        with cuFFT."""
        exact = [variant for variant in VARIANTS if variant != "cuda"]
        for variant, axes, n in itertools.product(
                exact, [["time", "phase", "station"], ["time", "station", "phase"],
                        ["station", "phase", "time"]], [12, 17]):
            lengths = {"time": 150, "phase": n, "station": 7}
            x = samples("cf32", [lengths[axis] for axis in axes])
            whole = transform("cf32", axes, x, "shift: true", variant)
            for cuts, workers in ([1], 2), ([7, 60, 2], 1), ([64], 2):
                with self.subTest(variant=variant, axes=axes, n=n, cuts=cuts):
                    y = transform("cf32", axes, x, "shift: true", variant, None, cuts, workers)
                    self.assertEqual(y.tobytes(), whole.tobytes())

    def test_filter_bank(self):
        """A tone in the middle of a channel comes out in that channel alone, n times as strong; in
        other channels it is 60 dB weaker."""
        n, channel = 16, 5
        t = numpy.arange(16 * n)
        tone = numpy.exp(2j * numpy.pi * channel / n * t).astype("c8")[:, None]
        text = f"""
stages:
  x: {{ stage: input, layout: "cf32[time pol]", shape: [-1, 1] }}
  f: {{ stage: fir, from: x, n_channels: {n}, n_taps: 8, window: kaiser }}
  s: {{ stage: fft, from: f }}
  y: {{ stage: output, from: s }}
"""
        for backend in "reference", "cpu":
            y = pipeline.run(text, {"x": pipeline.Feed(tone)}, {"y": (0, 1)},
                             backend=backend)["y"].array[..., 0]
            self.assertEqual(y.shape, (9, n))
            numpy.testing.assert_allclose(abs(y[:, channel]), n, rtol=0.01)
            self.assertLess(abs(numpy.delete(y, channel, 1)).max(), 1e-3 * n)

    def channels(self, source, shift=False, n=4):
        stages = {
            "x": {"stage": "generate", "sample_rate": "1 MHz", "samples": 64, **source},
            "f": {"stage": "fir", "from": "x", "n_channels": n, "n_taps": 1},
            "s": {"stage": "fft", "from": "f", "shift": shift},
            "y": {"stage": "file.sink", "from": "s", "path": "y.npy"},
        }
        self.run_graph(stages)
        told = json.loads((self.folder / "y.npy.json").read_text())
        axis = next(axis for axis in told["axes"] if axis["name"] == "channel")
        self.assertEqual(axis["unit"], "Hz")
        if "table" in axis:
            return axis["table"], axis.get("parent")
        return [axis["first"] + i * axis["step"] for i in range(axis["length"])], \
            axis.get("parent")

    def test_frequencies(self):
        centre = {"type": "cf32", "centre_frequency": "100 MHz"}
        self.assertEqual(self.channels(centre), ([100e6, 100.25e6, 99.5e6, 99.75e6], None))
        self.assertEqual(self.channels(centre, True), ([99.5e6, 99.75e6, 100e6, 100.25e6], None))
        self.assertEqual(self.channels(centre, True, 5)[0], [99.6e6, 99.8e6, 100e6, 100.2e6,
                                                             100.4e6])
        self.assertEqual(self.channels(centre, False, 5)[0], [100e6, 100.2e6, 100.4e6, 99.6e6,
                                                              99.8e6])
        real = {"type": "f32", "first_frequency": "10 MHz"}
        self.assertEqual(self.channels(real), ([10e6, 10.25e6, 10.5e6], None))
        subbands = {**centre, "n_subbands": 2}
        self.assertEqual(self.channels(subbands, True), ([-5e5, -2.5e5, 0, 2.5e5], "subband"))
        self.assertEqual(self.channels(subbands),
                         ([100e6, 100.25e6, 99.5e6, 99.75e6, 101e6, 101.25e6, 100.5e6, 100.75e6],
                          "subband"))

    def test_split_axis_goes(self):
        """Channels of subbands have no frequencies once the subbands are gone, and a source can
        read what a sink writes."""
        self.run_graph({
            "sky": {"stage": "generate", "sample_rate": "1 MHz", "centre_frequency": "100 MHz",
                    "n_subbands": 2, "samples": 64},
            "fine": {"stage": "fft", "from": "sky", "axis": "time", "length": 4},
            "other": {"stage": "fft", "from": "fine", "axis": "subband", "to": "lag"},
            "out": {"stage": "file.sink", "from": "other", "path": "out.npy"}})
        axes = json.loads((self.folder / "out.npy.json").read_text())["axes"]
        self.assertEqual(axes[1:], [{"name": "channel", "length": 4}, {"name": "lag", "length": 2}])
        self.run_graph({
            "in": {"stage": "file.source", "path": "out.npy"},
            "out": {"stage": "file.sink", "from": "in", "path": "again.npy"}})

    def test_errors(self):
        for kind, axes, parameters, message in [
                ("cf32", "time station", "shift: true",
                 "wants the axis phase \\(as fir makes it, or 'axis' names another one\\)"),
                ("cf32", "time station", "direction: inverse",
                 "wants the axis channel \\('axis' names another one\\)"),
                ("cf32", "time station", "axis: beam", "axis.*wants an axis of the input"),
                ("cf32", "time phase channel", "shift: true", "wants to make the axis channel"),
                ("cf32", "time phase", "length: 4", "length.*the transform is along phase"),
                ("cf32", "time phase", "axis: time", "length.*wants the samples of a transform"),
                ("cf32", "time phase", "axis: time, to: time, length: 4", "to.*other than time"),
                ("f32", "time channel", "direction: inverse", "inverse wants complex input"),
                ("f32", "time phase", "shift: true", "wants complex input"),
                ("cf32", "time phase", "direction: back", "forward"),
                ("cf32", "time phase", "axis: time, length: 0", "length")]:
            with self.subTest(parameters=parameters):
                lengths = ", ".join("-1" if axis == "time" else "4" for axis in axes.split())
                text = (f"stages:\n  x: {{ stage: input, layout: '{kind}[{axes}]', "
                        f"shape: [{lengths}] }}\n  f: {{ stage: fft, from: x, {parameters} }}\n"
                        "  y: { stage: output, from: f }\n")
                with self.assertRaisesRegex(pipeline.Failure, message) as caught:
                    pipeline.run(text, {}, {})
                self.assertRegex(str(caught.exception), r"^test:3:\d+: node 'f': ")


if __name__ == "__main__":
    tap.main()
