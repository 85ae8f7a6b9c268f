#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Delays of spectra and of voltages against numpy, and against the simulated sky."""
import itertools
import pathlib
import tempfile
import unittest

import numpy

import pipeline
import sky
import tap

VARIANTS = ["reference"] + ["cpu-" + isa for isa in pipeline.instruction_sets()]
RATE, CENTRE = 1e6, 150e6
LENGTH = {"station": 3, "pol": 2}
CHANNELS = 8
rng = numpy.random.default_rng(11)
folder = tempfile.TemporaryDirectory()


def noise(*shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(numpy.complex64)


def save(delays):
    path = pathlib.Path(folder.name) / f"{rng.integers(1 << 60)}.npy"
    numpy.save(path, delays)
    return path


def delay(x, more, variant, spectra=False, order=None, kind="cf32", cuts=(1 << 16,), workers=1,
          validity=None):
    """Runs x [time station pol] through the stage. If `spectra`, a Fourier transform of CHANNELS
    samples stands before it: the result is then [time channel station pol]."""
    frequency = f"{'centre' if kind == 'cf32' else 'first'}_frequency: {CENTRE}"
    axes = ["time"] + ["channel"] * spectra + ["station", "pol"]
    order = order or axes
    fed = ["time", "station", "pol"] if spectra else order
    shape = [-1 if axis == "time" else LENGTH[axis] for axis in fed]
    loses = "loses: [station]" if validity is not None else ""
    text = f"""
stages:
  x:
    stage: input
    layout: "{kind}[{' '.join(fed)}]"
    shape: {shape}
    sample_rate: {RATE}
    {frequency}
    {loses}
  f: {{ stage: fft, from: x, axis: time, to: channel, length: {CHANNELS} }}
  y:
    stage: delay
    from: {'f' if spectra else 'x'}
    {more}
  z: {{ stage: output, from: y, layout: "[{' '.join(order)}]" }}
"""
    if not spectra:
        text = "\n".join(line for line in text.splitlines() if "stage: fft" not in line)
    n_lanes = x.shape[1] if loses else 1
    x = x.transpose([["time", "station", "pol"].index(axis) for axis in fed])
    feed = pipeline.Feed(x, fed.index("time"), cuts, validity)
    got = pipeline.run(text, {"x": feed},
                       {"z": (order.index("time"), n_lanes)}, {"y": variant}, workers=workers)["z"]
    if got.array is not None:
        got.array = got.array.transpose([order.index(axis) for axis in axes])
    return got


def spectra_of(x):
    return numpy.fft.fft(x.astype(complex).reshape(-1, CHANNELS, *x.shape[1:]), axis=1)


def interpolate(delays, step, seconds):
    """Delays [time station …] at `seconds`; after the last row, its delays hold."""
    rows = numpy.arange(len(delays)) * step
    flat = delays.reshape(len(delays), -1)
    return numpy.stack([numpy.interp(seconds, rows, column) for column in flat.T],
                       1).reshape(len(seconds), *delays.shape[1:])


def turned(x, turns):
    return x * numpy.exp(-2j * numpy.pi * turns)


def shifted(x, tau, turn=True):
    """Delayed voltages by the README's rule; `tau` [tick station pol] has all the ticks that
    matter."""
    n = len(x)
    whole = numpy.rint(tau * RATE).astype(int)
    least, most = whole.min(), whole.max()
    ticks = numpy.arange(most, n + least)
    y = numpy.zeros((len(ticks), *x.shape[1:]), complex)
    for s, p in numpy.ndindex(*x.shape[1:]):
        d, t = whole[:, s, p], tau[:, s, p]
        # the delay is that of the tick; before the start of the stream and after the last row, the
        # nearest row's
        at = numpy.clip(ticks, 0, len(tau) - 1)
        y[:, s, p] = x[ticks - d[at], s, p]
        if turn:
            y[:, s, p] = turned(y[:, s, p], CENTRE * t[at])
    return y, most


class Spectra(unittest.TestCase):
    frequencies = CENTRE + numpy.fft.fftfreq(CHANNELS, 1 / RATE)

    def check(self, got, x, tau, where):
        want = turned(spectra_of(x), self.frequencies[:, None, None] * tau)
        # the transform and the rotation round in single precision
        self.assertEqual(got.array.shape, want.shape)
        self.assertLess(abs(got.array - want).max(), 2e-6 * abs(want).max(), where)

    def test_constant(self):
        x = noise(400, 3, 2)
        tau = numpy.array([0, 1.234567e-6, -3.3e-3])
        for variant in VARIANTS:
            got = delay(x, f"constant: {tau.tolist()}", variant, spectra=True)
            self.check(got, x, tau[:, None], variant)

    def test_each_pol(self):
        x = noise(400, 3, 2)
        tau = rng.uniform(-1e-5, 1e-5, (3, 2))
        for variant in VARIANTS:
            got = delay(x, f"constant: {tau.ravel().tolist()}", variant, spectra=True)
            self.check(got, x, tau, variant)

    def test_orders(self):
        x = noise(35 * CHANNELS, 3, 2)
        delays = rng.uniform(-1e-5, 1e-5, (5, 3, 2))
        path, step = save(delays), 71e-6
        seconds = numpy.arange(35) * CHANNELS / RATE
        tau = interpolate(delays, step, seconds)[:, None]
        constant = rng.uniform(-1e-5, 1e-5, 3)
        for order in itertools.permutations(["time", "channel", "station", "pol"]):
            for variant in VARIANTS:
                got = delay(x, f"delays: {path}\n    step: {step}", variant, True, list(order))
                self.check(got, x, tau, (variant, order))
                got = delay(x, f"constant: {constant.tolist()}", variant, True, list(order))
                self.check(got, x, constant[:, None], (variant, order))

    def test_changing(self):
        """Delays [time station] give the same bits for any blocks and for one and two workers."""
        x = noise(1009 * CHANNELS, 3, 2)
        delays = numpy.cumsum(rng.uniform(-1e-6, 1e-6, (11, 3)), axis=0)
        path, step = save(delays), 9e-4
        tau = interpolate(delays, step, numpy.arange(1009) * CHANNELS / RATE)[:, None, :, None]
        for variant in VARIANTS:
            more = f"delays: {path}\n    step: {step}"
            whole = delay(x, more, variant, True)
            self.check(whole, x, tau, variant)
            cut = delay(x, more, variant, True, cuts=(800, 8, 1600, 2407), workers=2)
            self.assertTrue((cut.array == whole.array).all(), variant)


class Voltages(unittest.TestCase):
    def check(self, got, want, start, where):
        self.assertEqual(got.start, start)
        self.assertEqual(got.array.shape, want.shape)
        self.assertLess(abs(got.array - want).max(), 2e-6 * abs(want).max(), where)

    def test_constant(self):
        x = noise(500, 3, 2)
        for tau in ([0, 0, 0], [1.4e-6, -3.7e-6, 20.2e-6], [5e-6, 6e-6, 7e-6], [-5e-6, -9e-6, -5e-6]):
            full = numpy.broadcast_to(numpy.array(tau)[:, None], (500, 3, 2))
            want, start = shifted(x, full)
            for variant in VARIANTS:
                for order in (["time", "station", "pol"], ["station", "pol", "time"],
                              ["station", "time", "pol"]):
                    got = delay(x, f"constant: {tau}", variant, order=order)
                    self.check(got, want, start, (variant, tau, order))

    def test_changing(self):
        x = noise(3000, 3, 2)
        delays = numpy.array([[0, 4e-6, 1e-6], [9.7e-6, 4e-6, -7e-6], [-3e-6, 5e-6, 2e-6],
                              [-3e-6, 5e-6, 2e-6]])
        path, step = save(delays), 1e-3
        tau = interpolate(delays, step, numpy.arange(3100) / RATE)[:, :, None]
        tau = numpy.broadcast_to(tau, (3100, 3, 2))
        # the window depends on the rows of delays, not on the values between them
        whole = numpy.rint(delays * RATE).astype(int)
        want, start = shifted(x, tau)
        self.assertEqual((start, start - whole.min()), (whole.max(), whole.max() - whole.min()))
        for variant in VARIANTS:
            more = f"delays: {path}\n    step: {step}"
            got = delay(x, more, variant)
            self.check(got, want, start, variant)
            cut = delay(x, more, variant, cuts=(100, 333, 64), workers=2)
            self.assertTrue((cut.array == got.array).all(), variant)

    def test_one_delay_for_many(self):
        """One delay that changes, of a stream without stations: neighbours that are enough for a row
        are shifted like one."""
        x = noise(3000, 24, 1)
        delays = numpy.array([[-28 / RATE], [-6 / RATE], [-35 / RATE], [-35 / RATE]])
        text = f"""
stages:
  x: {{ stage: input, layout: "cf32[time beam]", shape: [-1, 24], sample_rate: {RATE},
       centre_frequency: {CENTRE} }}
  y: {{ stage: delay, from: x, delays: {save(delays)}, step: {1000 / RATE} }}
  z: {{ stage: output, from: y, layout: "[time beam]" }}
"""
        got = {variant: pipeline.run(text, {"x": pipeline.Feed(x[:, :, 0], 0, (700,))},
                                     {"z": (0, 1)}, {"y": variant})["z"] for variant in VARIANTS}
        for variant in VARIANTS:
            self.check(got[variant], got["reference"].array, -6, variant)

    def test_real(self):
        x = rng.standard_normal((300, 3, 2)).astype(numpy.float32)
        tau = [3e-6, 0, -2e-6]
        want, start = shifted(x, numpy.broadcast_to(numpy.array(tau)[:, None], (300, 3, 2)), False)
        for variant in VARIANTS:
            for order in (["time", "station", "pol"], ["station", "pol", "time"]):
                got = delay(x, f"constant: {tau}", variant, kind="f32", order=order)
                self.assertEqual(got.start, start)
                self.assertTrue((got.array == want.real).all())

    def test_gaps_move_with_their_station(self):
        x = noise(300, 3, 2)
        valid = numpy.ones((3, 300), bool)
        valid[0, 100:110] = valid[2, 200] = False
        x[~valid.T] = 0
        tau = [7e-6, 0, -4e-6]
        for variant in VARIANTS:
            got = delay(x, f"constant: {tau}", variant, validity=valid, cuts=(97, 31))
            want = numpy.stack([valid[s, 7 - d:300 - 4 - d] for s, d in enumerate((7, 0, -4))])
            self.assertTrue((got.validity == want).all(), variant)
            self.assertTrue(((got.array != 0).all(axis=2).T == want).all(), variant)


class Sky(unittest.TestCase):
    def test_lines_up_a_source(self):
        """The delays of a direction align a source that `generate` puts there."""
        text = """
stages:
  x:
    stage: generate
    sample_rate: 20 MHz
    centre_frequency: 150 MHz
    samples: 32768
    n_stations: 5
    spiral: 90 m
    noise: 0
    source_directions: [[0.3, -0.4]]
  f: { stage: fft, from: x, axis: time, to: channel, length: 64 }
  y: { stage: delay, from: f, spiral: 90 m, direction: [[0.3, -0.4]] }
  z: { stage: output, from: y, layout: "[time channel station]" }
"""
        inner = abs(numpy.fft.fftfreq(64)) < 0.38
        for variant in VARIANTS:
            x = pipeline.run(text, {}, {"z": (0, 1)}, {"y": variant})["z"].array[:, inner]
            v = numpy.einsum("tci,tcj->ij", x, x.conj())
            v /= numpy.sqrt(numpy.outer(v.diagonal().real, v.diagonal().real))
            # windows that overlap only in part lose coherence: delays are up to 5 samples of 64
            self.assertGreater(abs(v).min(), 0.85)
            self.assertLess(abs(numpy.angle(v)).max(), 0.02)


class Errors(unittest.TestCase):
    def test_messages(self):
        x = noise(64, 3, 2)
        for more, message in [
                ("", "is given none"),
                ("constant: [0, 1]", "each of 3 stations"),
                ("constant: 0\n    direction: [[0, 0]]", "only one"),
                (f"delays: {save(numpy.zeros((4, 2)))}", r"\(4, 2\)"),
                (f"delays: {save(numpy.zeros((4, 3)))}", "wants the seconds"),
                (f"delays: {save(numpy.full((1, 3), numpy.nan))}", "finite"),
                ("direction: [[0, 0]]", "positions"),
                ("direction: [[0, 0], [0, 0]]\n    spiral: 4 m", "one row"),
                ("direction: [0.6, 0, 0.8]\n    spiral: 4 m",
                 r"wants one row, as \[\[0.1, 0.2\]\], but is given 3"),
                ("constant: [1000, 0, 0]", "at most"),
        ]:
            with self.assertRaisesRegex(pipeline.Failure, message):
                delay(x, more, "reference")


if __name__ == "__main__":
    tap.main()
