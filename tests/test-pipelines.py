#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every graph of pipelines/, as it stands where it is small, against numpy and closed forms."""
import json
import re
import subprocess
import sys
import unittest

import numpy

import graphs
import sky
import tap

PIPELINES = graphs.SOURCE_ROOT / "pipelines"
CENTRE, RATE = 150e6, 20e6
SOURCES = [([0.15, 0.25], 0.2, 0), ([-0.3, 0.1], 0.1, 0), ([0.05, -0.4], 0.05, 0)]


def prototype(n_channels, n_taps):
    """The filter that `fir` takes without coefficients, [tap phase]."""
    n = n_channels * n_taps
    h = numpy.sinc((numpy.arange(n) - (n - 1) / 2) / n_channels) * numpy.hamming(n)
    return h.reshape(n_taps, n_channels)


def channelise(x, n_channels, n_taps):
    """The polyphase filter bank of [time …]: [spectrum channel …], in double precision."""
    h = prototype(n_channels, n_taps)
    n = len(x) // n_channels - n_taps + 1
    pieces = x[:(n + n_taps - 1) * n_channels].reshape(-1, n_channels, *x.shape[1:])
    y = sum(pieces[k:k + n] * h[k].reshape(-1, *[1] * (x.ndim - 1)) for k in range(n_taps))
    return numpy.fft.fft(y, axis=1)


def correlate(x, integration):
    """[time channel station pol] to [integration channel baseline pol pol']."""
    i, j = numpy.tril_indices(x.shape[2])
    return numpy.stack([numpy.einsum("tcbp,tcbq->cbpq", part[:, :, i], part[:, :, j].conj())
                        for part in (x[n:n + integration] for n in range(0, len(x), integration))])


def fills(x, limit=127):
    """Quantised as `generate` does it, and the scale: powers of the whole sky are known."""
    return numpy.clip(numpy.rint(x.real), -limit, limit) + 1j * numpy.clip(
        numpy.rint(x.imag), -limit, limit)


class PipelineTest(graphs.GraphTest):
    def run_pipeline(self, name, *assignments, more=()):
        settings = [word for assignment in assignments for word in ("--set", assignment)]
        done = subprocess.run([graphs.COMMAND, "run", PIPELINES / name, *settings, *more,
                               "--stats", "json"],
                              cwd=self.folder, capture_output=True, text=True, timeout=280)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def load(self, name):
        return numpy.load(self.folder / name)

    def assertNear(self, got, want, share, message=None):
        """To a share of the largest."""
        self.assertEqual(got.shape, want.shape)
        self.assertLess(abs(got - want).max(), share * abs(want).max(), message)


class FxCorrelator(PipelineTest):
    def test_against_numpy(self):
        self.run_pipeline("fx-correlator.yaml", "sky.duration='2 ms'", "visibilities.integration=64",
                          more=("--backend", "sky=reference"))
        tone = (153.125e6, 0.1, 0, [-0.6, -0.7])
        x = sky.voltages(40000, RATE, CENTRE, 1, 16, 2, positions=sky.spiral(120, 16),
                         sources=SOURCES, tones=[tone])[:, 0]
        power = 1 + sum(source[1] for source in SOURCES) + tone[1] ** 2
        x = fills(x * 127 / 4 / numpy.sqrt(power / 2))
        want = correlate(channelise(x, 256, 16), 64)
        self.assertEqual(want.shape, (3, 256, 136, 2, 2))
        # single precision, sums of 64 products
        self.assertNear(self.load("visibilities.npy"), want, 2e-6)
        weights = self.load("weights.npy")
        self.assertEqual(weights.reshape(3, -1).min(axis=1).tolist(), [64, 64, 13])
        self.assertEqual(weights.reshape(3, -1).max(axis=1).tolist(), [64, 64, 13])

    def test_workers_and_blocks(self):
        """One answer: bit for bit, since each sum is made in one order."""
        settings = ("sky.duration='3 ms'", "visibilities.integration=50")
        self.run_pipeline("fx-correlator.yaml", *settings, more=("--workers", "1"))
        whole = self.load("visibilities.npy")
        for block, workers in ((1000, "2"), (37777, "1")):
            self.run_pipeline("fx-correlator.yaml", *settings, f"sky.block={{time: {block}}}",
                              more=("--workers", workers))
            self.assertNear(self.load("visibilities.npy"), whole, 1e-6, (block, workers))

    def test_fringes(self):
        """What the demo prints: every source found where it is, with its power, and no other."""
        self.run_pipeline("fx-correlator.yaml")
        done = subprocess.run([sys.executable, graphs.SOURCE_ROOT / "scripts/fringes.py",
                               PIPELINES / "fx-correlator.yaml"],
                              cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = re.findall(r"^ +(noise|tone) \d+ +(.*)$", done.stdout, re.M)
        self.assertEqual([kind for kind, _ in rows], ["noise"] * 3 + ["tone"])
        for kind, row in rows:
            l, m, power, found_l, found_m, found_power = map(float, row.split())
            self.assertLess(numpy.hypot(l - found_l, m - found_m), 5e-4, row)
            self.assertLess(abs(power - found_power), 0.03 * power, row)


class Lofar(PipelineTest):
    def sky(self, n_stations, samples):
        x = sky.voltages(samples, 195312.5, CENTRE, 1, n_stations, 2,
                         positions=sky.spiral(150, n_stations), sources=[([0.01, 0.02], 0.1, 0)])
        return fills(x[:, 0] * 127 / 4 / numpy.sqrt(1.1 / 2))

    n, beams, samples = 7, 5, 256 * 27
    settings = (f"sky.n_stations={n}", f"sky.samples={samples}", f"pointing.n_beams={beams}")

    def beams_of_numpy(self):
        """[time channel beam pol]"""
        n, beams = self.n, self.beams
        x = channelise(self.sky(n, self.samples), 256, 8)
        b = numpy.arange(beams)
        r, azimuth = 0.05 * numpy.sqrt((b + 0.5) / beams), b * sky.GOLDEN
        directions = numpy.stack([r * numpy.sin(azimuth), r * numpy.cos(azimuth)], 1)
        late = numpy.stack([sky.lead(sky.spiral(150, n), d) for d in directions])
        frequencies = CENTRE + numpy.fft.fftfreq(256, 1 / 195312.5)
        weights = numpy.exp(-2j * numpy.pi * frequencies[:, None, None] * late) / n
        return numpy.einsum("cbs,tcsp->tcbp", weights, x)

    def test_1_against_numpy(self):
        self.run_pipeline("lofar-1.yaml", *self.settings, "out.stage=file.sink",
                          "out.path=beams.npy", "out.layout=[time channel beam pol]",
                          more=("--backend", "sky=reference"))
        self.assertNear(self.load("beams.npy"), self.beams_of_numpy(), 3e-6)

    def test_1_whole(self):
        nodes = self.run_pipeline("lofar-1.yaml")["nodes"]
        self.assertEqual([node["samples"] for node in nodes if node["name"] == "out"], [512])

    def test_2_against_numpy(self):
        self.run_pipeline("lofar-2.yaml", *self.settings, "visibilities.integration=16",
                          more=("--backend", "sky=reference"))
        got = self.load("lofar-2.npy")
        want = correlate(self.beams_of_numpy(), 16)
        self.assertEqual(want.shape, (2, 256, 15, 2, 2))
        self.assertNear(got, want, 3e-6)

    def test_2_whole(self):
        self.run_pipeline("lofar-2.yaml")
        self.assertEqual(self.load("lofar-2.npy").shape, (1, 256, 5050, 2, 2))


if __name__ == "__main__":
    tap.main()
