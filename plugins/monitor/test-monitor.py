#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of monitor against NumPy: means, powers, validity, bins, levels."""
import base64
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy

import pipeline
import tap

SEED = 11
rng = numpy.random.default_rng(SEED)
print(f"# seed: {SEED}")
U = 2.0 ** -24  # of the numbers of a picture
AXES = ("time", "channel", "station", "pol")
LENGTHS = (61, 5, 7, 2)


def numbers(text):
    return numpy.frombuffer(base64.b64decode(text), "<f4").astype(float)


def values(picture):
    """Mean, power and share of valid samples, in the shape of the axes."""
    shape = [axis["length"] for axis in picture["axes"]]
    mean = numbers(picture["mean"])
    if picture["complex"]:
        mean = mean[::2] + 1j * mean[1::2]
    return (mean.reshape(shape), numbers(picture["power"]).reshape(shape),
            numbers(picture["valid"]).reshape(shape))


def samples(type_):
    """An array of a type in its form, and its values [time channel station pol]."""
    if type_ in pipeline.PAIRS | {"ci4"} and type_ != "cf16":
        x, parts = pipeline.integers(rng, type_, LENGTHS)
        return x, parts[..., 0] + 1j * parts[..., 1].astype(float)
    dtype = numpy.dtype(pipeline.DTYPES[type_])
    if dtype.kind in "iu":
        low, high = max(-1000, numpy.iinfo(dtype).min), min(1000, numpy.iinfo(dtype).max)
        x = rng.integers(low, high, LENGTHS, dtype, endpoint=True)
        return x, x.astype(float)
    if type_ == "cf16":
        x = rng.normal(size=LENGTHS + (2,)).astype(dtype)
        return x, x[..., 0].astype(float) + 1j * x[..., 1].astype(float)
    x = rng.normal(size=LENGTHS) + (1j * rng.normal(size=LENGTHS) if dtype.kind == "c" else 0)
    x = x.astype(dtype)
    return x, x.astype(complex if dtype.kind == "c" else float)


def show(layout, shape, feed, parameters="period: 0", backend="cpu", source=""):
    text = (f"stages:\n  x: {{ stage: input, layout: '{layout}', shape: {shape}{source} }}\n"
            f"  look: {{ stage: monitor, from: x, {parameters} }}\n")
    return pipeline.run(text, {"x": feed}, {}, backend=backend, pictures=["look"])["look"]


class Pictures(unittest.TestCase):
    def compare(self, picture, x, valid=None):
        """Against x[time channel station pol] and validity of its form, of the whole stream."""
        begin, n = picture["tick"], picture["samples"]
        self.assertGreater(n, 0)
        x = x[begin:begin + n]
        valid = numpy.ones(x.shape, bool) if valid is None else valid[begin:begin + n]
        counts = valid.sum(0)
        with numpy.errstate(invalid="ignore", divide="ignore"):
            wanted = (x * valid).sum(0) / counts, (abs(x * valid) ** 2).sum(0) / counts
        mean, power, share = values(picture)
        self.assertEqual([axis["name"] for axis in picture["axes"]], list(AXES[1:]))
        numpy.testing.assert_allclose(share, counts / n, rtol=U)
        for got, want, size in ((mean, wanted[0], abs(x).max()),
                                (power, wanted[1], (abs(x) ** 2).max())):
            numpy.testing.assert_array_equal(numpy.isnan(got), numpy.isnan(want))
            # a rounding to single precision of each part, and n in double precision
            numpy.testing.assert_array_less(abs(numpy.nan_to_num(got - want)), 2 * U * size + 1e-300)

    def test_types(self):
        for type_ in pipeline.TYPES[1:]:
            for backend in ("cpu", "reference"):
                x, wanted = samples(type_)
                picture, n_pictures = show(f"{type_}[{' '.join(AXES)}]", [-1, *LENGTHS[1:]],
                                           pipeline.Feed(x, 0, (17, 1)), backend=backend)
                self.assertEqual(picture["type"], type_)
                self.assertEqual(picture["number"], n_pictures)
                self.assertGreater(n_pictures, 1)
                self.compare(picture, wanted)

    def test_orders(self):
        x, wanted = samples("ci8")
        for order in ((3, 2, 1, 0), (1, 0, 2, 3), (2, 0, 3, 1)):
            names = [AXES[a] for a in order]
            shape = [-1 if a == 0 else LENGTHS[a] for a in order]
            picture, _ = show(f"ci8[{' '.join(names)}]", shape,
                              pipeline.Feed(x.transpose(*order, 4), order.index(0), (23,)))
            self.compare(picture, wanted)

    def test_layouts(self):
        x, wanted = samples("ci8")
        for layout in ("ci8[channel time station pol time:16]", "i8[time channel station pol complex]",
                       "i8[channel time station pol complex time:4]"):
            text = (f"stages:\n  x: {{ stage: input, layout: 'ci8[{' '.join(AXES)}]', "
                    f"shape: {[-1, *LENGTHS[1:]]} }}\n"
                    f"  y: {{ stage: transpose, from: x, layout: '{layout}' }}\n"
                    "  look: { stage: monitor, from: y, period: 0 }\n")
            picture, _ = pipeline.run(text, {"x": pipeline.Feed(x, 0)}, {},
                                      pictures=["look"])["look"]
            self.compare(picture, wanted)

    def test_validity(self):
        x, wanted = samples("cf32")
        lanes = rng.random((LENGTHS[2], LENGTHS[0])) < 0.7
        lanes[3] = False
        valid = numpy.broadcast_to(lanes.T[:, None, :, None], LENGTHS)
        picture, _ = show(f"cf32[{' '.join(AXES)}]", [-1, *LENGTHS[1:]],
                          pipeline.Feed(x, 0, (29,), lanes), source=", loses: [station]")
        self.compare(picture, wanted, valid)
        self.assertTrue(numpy.isnan(values(picture)[1][:, 3]).all())

    def test_levels(self):
        x, wanted = samples("ci8")
        picture, _ = show(f"ci8[{' '.join(AXES)}]", [-1, *LENGTHS[1:]], pipeline.Feed(x, 0, (61,)))
        part = x[picture["tick"]:picture["tick"] + picture["samples"]]
        levels = picture["levels"]
        self.assertEqual((levels["first"], levels["step"], len(levels["counts"])), (-128, 1, 256))
        self.assertEqual(levels["counts"],
                         numpy.bincount(part.ravel().astype(int) + 128, minlength=256).tolist())
        x, wanted = samples("f32")
        picture, _ = show(f"f32[{' '.join(AXES)}]", [-1, *LENGTHS[1:]], pipeline.Feed(x, 0, (61,)))
        part = x[picture["tick"]:picture["tick"] + picture["samples"]]
        levels = picture["levels"]
        self.assertEqual(sum(levels["counts"]), part.size)
        self.assertAlmostEqual(-levels["first"], abs(part).max(), 5)
        self.assertGreater(max(levels["counts"][0], levels["counts"][-1]), 0)

    def test_levels_of_extremes(self):
        for largest in 1.7e308, 5e-324, 0:
            x = numpy.full(30, largest)
            picture, _ = show("f64[time]", [-1], pipeline.Feed(x, 0, (30,)))
            levels = picture["levels"]
            self.assertEqual(sum(levels["counts"]), picture["samples"], largest)
            at = next(i for i, count in enumerate(levels["counts"]) if count)
            first, step = levels["first"], levels["step"]
            self.assertLessEqual(abs(first / step + at - largest / step), 1)

    def test_bins(self):
        """Channels are averaged, stations are left out."""
        n_channels, n_stations, n = 64, 40, 6
        x = (rng.normal(size=(n * n_channels, n_stations)) +
             1j * rng.normal(size=(n * n_channels, n_stations))).astype(numpy.complex64)
        text = (f"stages:\n  x: {{ stage: input, layout: 'cf32[time station]', shape: [-1, 40], "
                "sample_rate: 64 MHz, centre_frequency: 100 MHz }\n"
                "  y: { stage: fft, from: x, axis: time, length: 64, to: channel }\n"
                "  look: { stage: monitor, from: y, period: 0, elements: 160 }\n")
        picture, _ = pipeline.run(text, {"x": pipeline.Feed(x, 0)}, {}, pictures=["look"])["look"]
        channel, station = picture["axes"]
        self.assertEqual((channel["name"], channel["length"], channel["of"], channel["step"]),
                         ("channel", 16, 64, 4))
        self.assertTrue(channel["averaged"] and not station["averaged"])
        self.assertEqual((station["length"], station["of"], station["step"]), (10, 40, 4))
        spectra = numpy.fft.fft(x.reshape(n, n_channels, n_stations).astype(complex), axis=1)
        begin = picture["tick"] // n_channels
        part = spectra[begin:begin + picture["samples"], :, ::4]
        power = (abs(part) ** 2).mean(0).reshape(16, 4, 10).mean(1)
        numpy.testing.assert_allclose(values(picture)[1], power, rtol=1e-5)
        self.assertEqual(channel["unit"], "Hz")
        frequency = 100e6 + numpy.fft.fftfreq(64, 1 / 64e6)
        numpy.testing.assert_allclose(channel["coordinates"],
                                      (frequency[::4] + frequency[3::4]) / 2)

    def test_period(self):
        """A long period gives one picture, however many firings there are."""
        x, _ = samples("ci8")
        _, n_pictures = show(f"ci8[{' '.join(AXES)}]", [-1, *LENGTHS[1:]],
                             pipeline.Feed(x, 0, (1,)), "period: 1e6 s")
        self.assertEqual(n_pictures, 1)

    def test_statistics(self):
        with tempfile.TemporaryDirectory() as folder:
            graph = pathlib.Path(folder) / "graph.yaml"
            graph.write_text("stages:\n  sky: { stage: generate, type: ci8, sample_rate: 1 MHz, "
                             "duration: 10 ms }\n  look: { stage: monitor, from: sky }\n")
            done = subprocess.run([os.environ["CORNERTURN"], "run", "--stats", "json", graph],
                                  capture_output=True, text=True, check=True)
        look = {node["name"]: node for node in json.loads(done.stdout)["nodes"]}["look"]
        self.assertEqual(look["pictures"], 1)
        self.assertEqual(look["counters"], {"pictures": 1})

    def test_no_picture(self):
        text = ("stages:\n  x: { stage: input, layout: 'cf32[time]', shape: [-1] }\n"
                "  y: { stage: discard, from: x }\n")
        with self.assertRaisesRegex(pipeline.Failure, "test has no node 'look'"):
            pipeline.run(text, {"x": pipeline.Feed(numpy.zeros(9, numpy.complex64))}, {},
                         pictures=["look"])


tap.main()
