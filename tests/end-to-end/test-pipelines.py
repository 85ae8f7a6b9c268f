#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The graphs of pipelines/ on the simulated sky, against numpy and formulas."""
import json
import os
import re
import subprocess
import sys
import unittest

import numpy

import graphs
import sky
import tap

# With sanitizers, graphs that other cases run for a shorter time are left out.
IF_NOT_SANITIZED = unittest.skipIf(os.environ["CORNERTURN_SANITIZER"] != "none",
                                   "sanitizers take long, and see the same in a short run")
PIPELINES = graphs.SOURCE_ROOT / "pipelines"
CENTRE, RATE = 150e6, 20e6
SOURCES = [([0.15, 0.25], 0.2, 0), ([-0.3, 0.1], 0.1, 0), ([0.05, -0.4], 0.05, 0)]


def prototype(n_channels, n_taps):
    """The filter that `fir` makes without coefficients, [tap phase]."""
    n = n_channels * n_taps
    h = numpy.sinc((numpy.arange(n) - (n - 1) / 2) / n_channels) * numpy.hamming(n)
    return h.reshape(n_taps, n_channels)


def channelise(x, n_channels, n_taps):
    """The polyphase filter bank of [time …] in double precision: [spectrum channel …]."""
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
    """Quantises as `generate` does."""
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
        """The largest difference is at most this share of the largest value."""
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
        # single precision, for sums of 64 products
        self.assertNear(self.load("visibilities.npy"), want, 2e-6)
        weights = self.load("weights.npy")
        self.assertEqual(weights.reshape(3, -1).min(axis=1).tolist(), [64, 64, 13])
        self.assertEqual(weights.reshape(3, -1).max(axis=1).tolist(), [64, 64, 13])

    def test_workers_and_blocks(self):
        """The result is the same to the bit, because each sum is made in one order."""
        settings = ("sky.duration='3 ms'", "visibilities.integration=50")
        self.run_pipeline("fx-correlator.yaml", *settings, more=("--workers", "1"))
        whole = self.load("visibilities.npy")
        for block, workers in ((1000, "2"), (37777, "1")):
            self.run_pipeline("fx-correlator.yaml", *settings, f"sky.block={{time: {block}}}",
                              more=("--workers", workers))
            self.assertNear(self.load("visibilities.npy"), whole, 1e-6, (block, workers))

    @IF_NOT_SANITIZED
    def test_fringes(self):
        """The demonstration prints every source in its place, with its power, and no other."""
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


class Interference(PipelineTest):
    def test_weights(self):
        """The tone's channel has weight 0. Of the others, at most 8 of 150 estimates are false alarms
        of one station: with a rate of 0.004, more have a probability of 1e-7."""
        self.run_pipeline("interference.yaml")
        weights = self.load("weights.npy").astype(int)
        self.assertEqual(weights.shape, (3, 16, 6, 2, 2))
        lost = 12800 * len(weights) - weights.sum(axis=0)
        self.assertEqual(weights[:, 2].max(), 0)
        lost[2] = 0
        self.assertGreater(lost.max(), 0)
        self.assertLessEqual(lost.max(), 2 * 8 * 256 + 64)  # the filter's first 3 spectra, and the last
        visibilities = self.load("visibilities.npy")
        self.assertEqual(abs(visibilities[:, 2]).max(), 0)
        self.assertGreater(abs(visibilities[:, 3]).min(), 0)


class Spectrometer(PipelineTest):
    def test_levels(self):
        self.run_pipeline("spectrometer.yaml")
        spectra = self.load("spectrometer.npy").astype(float)
        self.assertEqual(spectra.shape, (8, 1024, 1, 4))
        tones = {143e6: 0.1, 152.5e6: 0.03}
        power = 1 + 0.5 + sum(a * a for a in tones.values())
        level = 2 * (127 / 4) ** 2 / power * (prototype(1024, 8) ** 2).sum()  # the level of a signal of power 1 in a pol
        i, q, u, v = spectra[:7, :, 0].mean(axis=0).T  # seven complete averages of 256 spectra
        quiet = numpy.ones(1024, bool)
        for frequency in tones:
            channel = int(round((frequency - CENTRE) / RATE * 1024)) + 512
            self.assertEqual(numpy.argmax(numpy.where(quiet, i, 0)), channel)
            quiet[channel - 4:channel + 5] = False
        error = numpy.sqrt(2 / (7 * 256 * quiet.sum()))
        self.assertLess(abs(i[quiet].mean() / level / (2 * 1.5) - 1), 5 * error)
        self.assertLess(abs(u[quiet].mean() / level / (2 * 1.5) - 0.333 * 0.5 / 1.5), 5 * error)
        self.assertLess(abs(q[quiet].mean() / level / (2 * 1.5)), 5 * error)
        self.assertLess(abs(v[quiet].mean() / level / (2 * 1.5)), 5 * error)


class Beamformer(PipelineTest):
    def test_peaks(self):
        """Each beam has the power of its source, and of the rest of the sky by the array's
        pattern."""
        self.run_pipeline("beamformer.yaml")
        beams = self.load("beams.npy").astype(float)
        self.assertEqual(beams.shape, (10, 256, 4, 2))
        offset = numpy.fft.fftshift(numpy.fft.fftfreq(256, 1 / RATE))
        inner = abs(offset) < 0.4 * RATE
        positions, n = sky.spiral(120, 16), 16
        looks = [source[0] for source in SOURCES] + [[0, 0]]
        want = numpy.full((inner.sum(), 4), 1 / n)
        for direction, power, _ in SOURCES:
            for b, look in enumerate(looks):
                late = sky.lead(positions, direction) - sky.lead(positions, look)
                turns = (CENTRE + offset[inner])[:, None] * late
                want[:, b] += power * abs(numpy.exp(2j * numpy.pi * turns).mean(axis=1)) ** 2
        want = want.mean(axis=0)
        level = 2 * (127 / 4) ** 2 / 1.35 * (prototype(256, 16) ** 2).sum()
        got = beams[:9].mean(axis=(0, 3))[inner].mean(axis=0) / level
        error = want / numpy.sqrt(9 * 512 * 2 * inner.sum())
        # quantisation adds 2 · 1/12 of a level squared; clipping at 4 σ removes less
        self.assertTrue((abs(got - want) < 5 * error + 1e-3 * want).all(), (got, want))
        self.assertEqual(list(numpy.argsort(got)[::-1][:3]), [0, 1, 2])


class Imaging(PipelineTest):
    rate = 195312.5
    sources = [([0.2, 0.1], 0.2, 0), ([0.21, 0.1], 0.1, 0), ([0.195, 0.11], 0.05, 0)]

    def test_against_numpy(self):
        n, samples = 4, 256 * 35
        self.run_pipeline("lofar-imaging.yaml", f"sky.n_stations={n}", f"sky.samples={samples}",
                          "visibilities.integration=12", more=("--backend", "sky=reference"))
        positions = sky.spiral(1500, n)
        x = sky.voltages(samples, self.rate, CENTRE, 1, n, 2, positions=positions,
                         sources=self.sources)[:, 0]
        x = channelise(fills(x * 127 / 4 / numpy.sqrt(1.35 / 2)), 256, 16)
        turns = (CENTRE + numpy.fft.fftfreq(256, 1 / self.rate))[:, None] * \
            sky.lead(positions, [0.2, 0.1])
        x = x * numpy.exp(-2j * numpy.pi * turns)[:, :, None]
        self.assertNear(self.load("imaging.npy"), correlate(x, 12), 3e-6)

    @IF_NOT_SANITIZED
    def test_centre_of_the_field(self):
        """The whole pipeline gives one integration, in which a source in the field's centre has no
        phase."""
        self.run_pipeline("lofar-imaging.yaml")
        v = self.load("imaging.npy")[0]
        self.assertEqual(v.shape, (256, 2080, 2, 2))
        self.assertEqual(set(self.load("imaging-weights.npy").ravel()), {768})
        offset = numpy.fft.fftfreq(256, 1 / self.rate)
        inner = abs(offset) < 0.4 * self.rate
        both = (v[..., 0, 0] + v[..., 1, 1])[inner].mean(axis=0)
        i, j = numpy.tril_indices(64)
        total = both[i == j].real
        got = both / numpy.sqrt(total[i] * total[j])
        positions = sky.spiral(1500, 64)
        want = 0
        for direction, power, _ in self.sources:
            late = sky.lead(positions, direction) - sky.lead(positions, [0.2, 0.1])
            phase = numpy.exp(2j * numpy.pi * (CENTRE + offset[inner])[:, None] * late)
            want = want + power / 1.35 * (phase[:, i] * phase[:, j].conj()).mean(axis=0)
        error = 1 / numpy.sqrt(2 * 768 * inner.sum())
        cross = i != j
        self.assertLess(abs(got - want)[cross].max(), 6 * error)


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

    @IF_NOT_SANITIZED
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

    @IF_NOT_SANITIZED
    def test_2_whole(self):
        self.run_pipeline("lofar-2.yaml")
        self.assertEqual(self.load("lofar-2.npy").shape, (1, 256, 5050, 2, 2))


class Backends(PipelineTest):
    """Small forms of the pipelines with `reference` and `cpu`, on samples that rounding does not
    change."""
    SMALL = {
        "spectrometer.yaml": (["sky.duration='2 ms'", "average.length=5"], "spectrometer.npy"),
        "fx-correlator.yaml": (["sky.duration='0.5 ms'", "sky.n_stations=5",
                                "visibilities.integration=7"], "visibilities.npy"),
        "interference.yaml": (["sky.duration='30 ms'", "visibilities.integration=500"],
                              "weights.npy"),
        "beamformer.yaml": (["sky.duration='0.5 ms'", "sky.n_stations=5", "average.length=7"],
                            "beams.npy"),
        "lofar-imaging.yaml": (["sky.samples=6400", "sky.n_stations=3",
                                "visibilities.integration=4"], "imaging.npy"),
        "lofar-1.yaml": (["sky.samples=4000", "sky.n_stations=5", "pointing.n_beams=3",
                          "out.stage=file.sink", "out.path=beams.npy",
                          "out.layout=[time channel beam pol]"], "beams.npy"),
        "lofar-2.yaml": (["sky.samples=4000", "sky.n_stations=5", "pointing.n_beams=3",
                          "visibilities.integration=3"], "lofar-2.npy"),
    }

    def test_reference(self):
        for name, (settings, output) in self.SMALL.items():
            results = []
            for backend in ("reference", "cpu"):
                self.run_pipeline(name, "sky.type=cf32", *settings, more=("--backend", backend))
                results.append(self.load(output))
            # single precision on both sides, including the sky
            self.assertNear(results[1], results[0], 1e-5, name)


class Unread(graphs.GraphTest):
    """A node without readers makes nothing, and the graph runs to its end."""
    SKY = {"stage": "generate", "sample_rate": 1e6, "samples": 5000, "n_stations": 2, "n_pols": 2,
           "block": {"time": 512}}

    def test_every_stage(self):
        for parameters in [{"stage": "fir", "n_channels": 4, "n_taps": 4},
                           {"stage": "fft", "axis": "station"},
                           {"stage": "correlate", "integration": 16},
                           {"stage": "power", "stokes": "IQUV"},
                           {"stage": "integrate", "length": 4},
                           {"stage": "quantise", "type": "ci8", "scale": 1},
                           {"stage": "convert", "type": "cf64"},
                           {"stage": "transpose", "layout": "[station time pol]"},
                           {"stage": "copy"},
                           {"stage": "stack", "from": ["sky", "sky"], "axis": "station"}]:
            for backend in ("cpu", "reference"):
                with self.subTest(f"{parameters['stage']} on {backend}"):
                    done = self.run_graph({"sky": self.SKY, "x": {"from": "sky", **parameters}},
                                          "--backend", backend, "--poison")
                    samples = {node["name"]: node["samples"] for node in done["nodes"]}
                    self.assertEqual(samples, {"sky": 5000, "x": 0})

    def test_sources(self):
        numpy.save(self.folder / "in.npy", numpy.zeros(100, numpy.float32))
        for source in [self.SKY, {"stage": "file.source", "path": "in.npy", "layout": "[time]"}]:
            done = self.run_graph({"sky": source}, "--poison")
            self.assertEqual(done["nodes"][0]["samples"], 0)


class Duration(graphs.GraphTest):
    def test_longer_than_can_be_counted(self):
        done = self.run_graph({"sky": Unread.SKY, "out": {"stage": "discard", "from": "sky"}},
                              "--duration", "1e300 s")
        self.assertEqual(done["nodes"][0]["samples"], 5000)


if __name__ == "__main__":
    tap.main()
