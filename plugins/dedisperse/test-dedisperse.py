#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Dedispersion against numpy in double precision, and of a simulated pulse."""
import itertools
import json
import pathlib
import tempfile
import unittest

import numpy

import pipeline
import tap

VARIANTS = ["reference"] + ["cpu-" + isa for isa in pipeline.instruction_sets()]
RATE, SEED = 2000, 3
rng = numpy.random.default_rng(SEED)
print("# seed", SEED)


def shifts_of(dms, frequencies, reference=None):
    """[dm][channel] samples after the arrival at the reference frequency."""
    f = numpy.asarray(frequencies) / 1e6
    reference = f.max() if reference is None else reference / 1e6
    seconds = numpy.outer(dms, f ** -2.0 - reference ** -2.0) / 2.41e-4
    return numpy.rint(seconds * RATE).astype(int)


def wanted_of(x, shifts):
    """y[t][dm][…] of x[t][channel][…], and the tick of the first t."""
    least, most = shifts.min(), shifts.max()
    n = len(x) - (most - least)
    sums = [sum(x[s - least:s - least + n, c].astype(float) for c, s in enumerate(row))
            for row in shifts]
    return numpy.stack(sums, 1), -least


def run(x, more, frequencies, variant, order="time channel pol", out="time dm pol", kind="f32",
        cuts=(1 << 16,), workers=1, validity=None, loses="", lanes=1):
    names = "time channel pol".split()
    axes = order.split()
    lengths = dict(zip(names, x.shape))
    text = f"""
stages:
  x:
    stage: input
    layout: "{kind}[{order}]"
    shape: {[-1 if axis == "time" else lengths[axis] for axis in axes]}
    sample_rate: {RATE}
    frequencies: {list(map(float, frequencies))}
    {loses}
  y: {{ stage: dedisperse, from: x, {more} }}
  z: {{ stage: output, from: y, layout: "[{out}]" }}
"""
    array = numpy.ascontiguousarray(x.transpose([names.index(axis) for axis in axes]))
    got = pipeline.run(text, {"x": pipeline.Feed(array, axes.index("time"), cuts, validity)},
                       {"z": (out.split().index("time"), lanes)}, {"y": variant},
                       workers=workers)["z"]
    got.array = got.array.transpose([out.split().index(axis) for axis in "time dm pol".split()])
    return got


class Dedisperse(unittest.TestCase):
    def close(self, got, wanted, x, *what):
        """n − 1 additions of n numbers, each rounded to 2⁻²⁴ of a partial sum."""
        n = x.shape[1]
        self.assertEqual(got.shape, wanted.shape, what)
        self.assertLessEqual(abs(got - wanted).max(), n * 2.0 ** -24 * n * abs(x).max(), what)

    def test_all_orders(self):
        frequencies = numpy.linspace(140e6, 160e6, 11)
        dms = [0, 0.4, 2.5]
        x = rng.normal(size=(900, 11, 2)).astype("f4")
        wanted, _ = wanted_of(x, shifts_of(dms, frequencies))
        for variant in VARIANTS:
            for order in itertools.permutations("time channel pol".split()):
                out = " ".join(order).replace("channel", "dm")
                for made in (out, "dm pol time"):
                    got = run(x, f"dms: {dms}", frequencies, variant, " ".join(order), made,
                              cuts=(333, 1, 70), workers=2)
                    self.close(got.array, wanted, x, variant, order, made)

    def test_blocks_and_workers(self):
        """The same bits, also where the window is longer than blocks."""
        frequencies = numpy.linspace(160e6, 120e6, 30)  # falling
        x = rng.normal(size=(1500, 30, 1)).astype("f4")
        more = "first: 0.1, step: 0.15, n_dms: 21"
        wanted, _ = wanted_of(x, shifts_of(0.1 + 0.15 * numpy.arange(21), frequencies))
        for variant in VARIANTS:
            whole = run(x, more, frequencies, variant).array
            self.close(whole, wanted, x, variant)
            for cuts, workers in (((7, 30, 1), 3), ((100,), 2), ((1, 1, 500), 4)):
                cut = run(x, more, frequencies, variant, cuts=cuts, workers=workers).array
                numpy.testing.assert_array_equal(cut, whole)

    def test_types(self):
        frequencies = numpy.linspace(140e6, 160e6, 9)
        for kind, dtype in (("i8", "i1"), ("u8", "u1"), ("i16", "i2"), ("f16", "f2"), ("f64", "f8")):
            x = rng.integers(0, 100, (400, 9, 1)).astype(dtype)
            wanted, _ = wanted_of(x, shifts_of([1.5], frequencies))
            for variant in VARIANTS:
                got = run(x, "dms: 1.5", frequencies, variant, kind=kind).array
                self.assertEqual(got.dtype, "f8" if kind == "f64" else "f4")
                numpy.testing.assert_array_equal(got, wanted)

    def test_pulse(self):
        """A pulse is found at its dispersion measure, and at the tick of its arrival at the
        reference frequency."""
        frequencies = numpy.linspace(150e6, 130e6, 64)
        dm, arrival = 6.0, 900
        x = rng.normal(size=(4000, 64, 1)).astype("f4")
        for reference in (150e6, 140e6, 200e6):
            pulse = x.copy()
            late = shifts_of([dm], frequencies, reference)[0] + arrival
            pulse[late, numpy.arange(64)] += 6
            more = f"first: 0, step: 0.5, n_dms: 21, reference_frequency: {reference}"
            shifts = shifts_of(numpy.arange(21) * 0.5, frequencies, reference)
            wanted, _ = wanted_of(pulse, shifts)
            for variant in VARIANTS:
                got = run(pulse, more, frequencies, variant)
                self.close(got.array, wanted, pulse, variant, reference)
                at, found = numpy.unravel_index(got.array[..., 0].argmax(), wanted.shape[:2])
                self.assertEqual((got.start + at, found * 0.5), (arrival, dm))

    def test_validity(self):
        """A lost sample makes the sums invalid that it is a term of, and no others."""
        frequencies = numpy.linspace(140e6, 160e6, 6)
        dms = [0, 1, 3]
        shifts = shifts_of(dms, frequencies)
        n = 1200
        for apart in False, True:
            x = rng.normal(size=(n, 6, 1)).astype("f4")
            received = rng.random((6 if apart else 1, n)) > 0.01
            received[:, 700:730] = False
            full = numpy.broadcast_to(received, (6, n))
            x[~full.T] = 0
            wanted, _ = wanted_of(x, shifts)
            m = len(wanted)
            good = full[numpy.arange(6), numpy.arange(m)[:, None, None] + shifts].all(2)
            self.assertTrue(0 < good.sum() < good.size)
            for variant, (cuts, workers) in itertools.product(VARIANTS, (((n,), 1), ((97, 3), 2))):
                got = run(x, f"dms: {dms}", frequencies, variant, cuts=cuts, workers=workers,
                          validity=received, loses="loses: [channel]" if apart else "", lanes=3)
                numpy.testing.assert_array_equal(got.validity, good.T)
                self.close(got.array[..., 0], numpy.where(good, wanted[..., 0], 0), x, variant)

    def test_subbands_of_channels(self):
        """Spectra of each subband; the frequencies of channels are relative to those of subbands."""
        subbands = numpy.array([140e6, 141e6])
        x = (rng.normal(size=(8 * 500, 2)) + 1j * rng.normal(size=(8 * 500, 2))).astype("c8")
        rate = 8 * RATE
        power = abs(numpy.fft.fft(x.astype(complex).reshape(500, 8, 2), axis=1)) ** 2
        offsets = numpy.fft.fftfreq(8, 1 / rate)
        frequencies = (subbands + offsets[:, None]).ravel()
        wanted, _ = wanted_of(power.reshape(500, 16), shifts_of([0, 8], frequencies))
        for variant in VARIANTS:
            text = f"""
stages:
  x: {{ stage: input, layout: 'cf32[time subband]', shape: [-1, 2], sample_rate: {rate},
       frequencies: {list(map(float, subbands))} }}
  f: {{ stage: fft, from: x, axis: time, to: channel, length: 8 }}
  p: {{ stage: power, from: f }}
  y: {{ stage: dedisperse, from: p, dms: [0, 8] }}
  z: {{ stage: output, from: y, layout: '[time dm]' }}
"""
            got = pipeline.run(text, {"x": pipeline.Feed(x)}, {"z": (0, 2)}, {"y": variant})["z"]
            numpy.testing.assert_allclose(got.array, wanted, rtol=3e-6)

    def test_coordinates(self):
        with tempfile.TemporaryDirectory() as folder:
            frequencies = [140e6, 150e6]
            numpy.save(pathlib.Path(folder) / "x.npy", numpy.ones((100, 2), "f4"))
            for more, table in (("dms: [0, 2, 3]", [0, 2, 3]),
                                ("first: 1, step: 0.25, n_dms: 3", [1, 1.25, 1.5])):
                path = pathlib.Path(folder) / "y.npy"
                text = (f"stages: {{ x: {{ stage: file.source, path: {folder}/x.npy, "
                        f"layout: 'f32[time channel]', sample_rate: 100, frequencies: {frequencies}}}, "
                        f"y: {{ stage: dedisperse, from: x, {more} }}, "
                        f"z: {{ stage: file.sink, from: y, path: {path} }} }}")
                pipeline.run(text, {}, {})
                axes = {axis["name"]: axis for axis in json.loads(
                    path.with_suffix(".npy.json").read_text())["axes"]}
                got = axes["dm"]
                self.assertEqual(got["unit"], "pc/cm3")
                self.assertEqual(got.get("table") or
                                 [got["first"] + i * got["step"] for i in range(3)], table)

    def refuse(self, message, more, frequencies=(140e6, 150e6)):
        with self.assertRaises(pipeline.Failure) as raised:
            run(numpy.zeros((100, 2, 1), "f4"), more, frequencies, "reference")
        self.assertIn(message, str(raised.exception))

    def test_errors(self):
        self.refuse("parameter 'dms': wants a list 'dms', or 'first', 'step' and 'n_dms', but "
                    "'step' is not given", "first: 2")
        self.refuse("parameter 'n_dms': wants a list 'dms', or 'first', 'step' and 'n_dms', but "
                    "'n_dms' is given too", "dms: 3, n_dms: 2")
        self.refuse("wants windows of at most 536870912 samples, but is given one of", "dms: 100",
                    (1e6, 150e6))
        # A forgotten unit: 107 Hz.
        delays = "wants delays of at most 1.09951e+12 samples, but "
        self.refuse("parameter 'reference_frequency': " + delays, "dms: 5, reference_frequency: 107",
                    (100e6, 150e6))
        self.refuse("parameter 'dms': " + delays, "dms: 1e6", (1e4, 150e6))
        self.refuse("parameter 'step': " + delays, "first: 0, step: 1e6, n_dms: 2", (1e4, 150e6))
        self.refuse("input 'in' wants frequencies above 0, but is given 0 Hz", "dms: 3", (0, 150e6))


if __name__ == "__main__":
    tap.main()
