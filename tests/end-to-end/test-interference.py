#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A band with a tone, bursts and a known transmitter, flagged by kurtosis, by thresholds and by a
mask: which samples are invalid is that of NumPy to the sample, in the spectra and in the weights of
visibilities. On a device, nothing between source and sinks passes through the host."""
import json
import math
import subprocess
import unittest

import numpy as np

import graphs
import pipeline
import tap
from banks import Bank

BACKENDS = ["cpu", "cuda"] if pipeline.has_device() else ["cpu"]
N_CHANNELS, N_TAPS, N_STATIONS, N_POLS = 16, 4, 3, 2
LENGTH, HOLD, INTEGRATION = 64, 4, 200
N_SPECTRA = 9 * LENGTH + 38  # the last estimate has 38 spectra, the last sum of powers 2
TONE, BURST, LONG, KNOWN = 2, 9, 12, [5, 6]
SIGMA = 4
ULP = 2.0 ** -24


def make_voltages():
    """Integers [time station pol part]: noise; a tone in channel 2, which station 1 does not
    receive; bursts of some 40 samples in channel 9, and longer, weaker ones in channel 12."""
    rng = np.random.default_rng(5)
    n = (N_SPECTRA + N_TAPS - 1) * N_CHANNELS
    t = np.arange(n)[:, None, None]
    shape = (n, N_STATIONS, N_POLS)
    x = 12 * (rng.normal(size=shape) + 1j * rng.normal(size=shape))
    x += 12 * np.exp(2j * np.pi * TONE / N_CHANNELS * t) * [[1], [0], [1]]
    for channel, amplitude, length, n_bursts in ((BURST, 50, 40, 12), (LONG, 14, 350, 6)):
        on = np.zeros(n)
        for start in rng.integers(0, n - length, n_bursts):
            on[start:start + length] = amplitude
        x += on[:, None, None] * np.exp(2j * np.pi * channel / N_CHANNELS * t)
    return np.clip(np.rint(np.stack([x.real, x.imag], -1)), -127, 127).astype(np.int8)


def kurtosis_limits(m):
    """The thresholds of `sigma` for estimates of m spectra: of the log-normal distribution with the
    estimator's first three moments, which follow from those of the Dirichlet distribution."""
    def rising(a, n):
        return math.prod(a + i for i in range(n))
    first = m * 2 / rising(m, 2)
    second = (m * 24 + m * (m - 1) * 4) / rising(m, 4)
    third = (m * 720 + 3 * m * (m - 1) * 48 + m * (m - 1) * (m - 2) * 8) / rising(m, 6)
    variance = second - first ** 2
    skewness = (third - 3 * second * first + 2 * first ** 3) / variance ** 1.5
    scale = (m + 1) / (m - 1) * m * math.sqrt(variance)
    low, high = 0.0, 10.0
    for _ in range(100):
        middle = (low + high) / 2
        below = (math.exp(middle ** 2) + 2) * math.sqrt(math.expm1(middle ** 2)) < skewness
        low, high = (middle, high) if below else (low, middle)
    return [1 + scale * math.expm1(low * z - low ** 2 / 2) / math.sqrt(math.expm1(low ** 2))
            for z in (-SIGMA, SIGMA)]


def decide(values, errors, low, high):
    """Whether values are within limits; none may be nearer to one than its error."""
    for limit in (low, high):
        assert (abs(values - limit) > errors).all(), "choose another seed: a value is at a limit"
    return (values >= low) & (values <= high)


def sums(x, hop):
    return np.add.reduceat(x, range(0, len(x), hop))


def held(x, hop):
    return np.repeat(x, hop, 0)[:N_SPECTRA]


class Prediction:
    """The chain in double precision. `error` bounds that of a spectrum in single precision: the
    filter rounds 5 times, the transform 3 times in each of 4 steps, and both may round the sum of
    moduli under the taps."""

    def __init__(self, parts):
        x = parts[..., 0] + 1j * parts[..., 1].astype(float)
        bank = Bank(N_CHANNELS, N_TAPS)
        self.spectra = bank.spectra(x)
        self.error = (17 * ULP * bank.bound(x))[:, None]
        self.power = abs(self.spectra) ** 2
        self.power_error = 2 * abs(self.spectra) * self.error + self.error ** 2 + 4 * ULP * self.power
        self.counts = {hop: sums(np.ones(N_SPECTRA), hop)[:, None, None, None]
                       for hop in (LENGTH, HOLD)}

    def kurtosis(self):
        """Whether the estimate that holds for each spectrum is that of noise. The error is of first
        order, doubled."""
        p, e, m = self.power, self.power_error, self.counts[LENGTH]
        s1, s2 = sums(p, LENGTH), sums(p * p, LENGTH)
        e1, e2 = sums(e, LENGTH), sums(2 * p * e + e * e, LENGTH)
        scale = (m + 1) / (m - 1)
        sk = scale * (m * s2 / s1 ** 2 - 1)
        error = 2 * scale * m * (e2 / s1 ** 2 + 2 * s2 * e1 / s1 ** 3) + ULP * sk
        low, high = kurtosis_limits(LENGTH)
        stretch = np.sqrt(LENGTH / m)
        return held(decide((sk - 1) / stretch, error / stretch, low - 1, high - 1), LENGTH)

    def threshold(self, limit):
        return decide(self.power, self.power_error, -1, limit)

    def mean_threshold(self, limit):
        mean, error = (sums(x, HOLD) / self.counts[HOLD] for x in (self.power, self.power_error))
        return held(decide(mean, error + HOLD * ULP * mean, -1, limit), HOLD)


class Interference(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        parts = make_voltages()
        np.save(self.folder / "voltages.npy", parts)
        self.predicted = Prediction(parts)
        noise = np.median(self.predicted.power) / math.log(2)  # the mean of noise
        self.limit, self.mean_limit = round(13 * noise), round(6 * noise)

    def graph(self):
        return {
            "sky": {"stage": "file.source", "path": "voltages.npy", "layout": "ci8[time station pol]",
                    "sample_rate": "1 MHz", "centre_frequency": "100 MHz"},
            "filter": {"stage": "fir", "from": "sky", "n_channels": N_CHANNELS, "n_taps": N_TAPS},
            "spectra": {"stage": "fft", "from": "filter"},
            "kurtosis": {"stage": "kurtosis", "from": "spectra", "length": LENGTH, "sigma": SIGMA},
            "power": {"stage": "power", "from": "spectra"},
            "means": {"stage": "integrate", "from": "power", "length": HOLD, "average": True},
            "steady": {"stage": "flag", "from": {"in": "spectra", "statistic": "kurtosis"}},
            "bursts": {"stage": "flag", "from": {"in": "steady", "statistic": "power"},
                       "upper": self.limit},
            "long": {"stage": "flag", "from": {"in": "bursts", "statistic": "means"},
                     "upper": self.mean_limit},
            # Channels are 62.5 kHz wide: the range touches parts of channels 5 and 6.
            "clean": {"stage": "flag", "from": "long", "frequency": [["100.3 MHz", "100.36 MHz"]]},
            "visibilities": {"stage": "correlate", "from": "clean", "integration": INTEGRATION},
            "kept": {"stage": "file.sink", "from": "clean", "path": "spectra.npy",
                     "layout": "[time channel station pol]"},
            "out": {"stage": "file.sink", "from": "visibilities", "path": "visibilities.npy"},
            "counts": {"stage": "file.sink", "from": "visibilities.weights", "path": "weights.npy"},
        }

    def good(self):
        """The good samples [time channel station pol], and those of each rule."""
        p = self.predicted
        rules = {"kurtosis": p.kurtosis(), "threshold": p.threshold(self.limit),
                 "means": p.mean_threshold(self.mean_limit)}
        mask = np.ones((1, N_CHANNELS, 1, 1), bool)
        mask[:, KNOWN] = False
        return np.logical_and.reduce(list(rules.values())) & mask, rules

    def told(self, name):
        """The good samples by PATH.json."""
        validity = json.loads((self.folder / f"{name}.json").read_text())["validity"]
        self.assertEqual(validity["axes"], ["channel", "station", "pol"])
        good = np.ones((N_CHANNELS * N_STATIONS * N_POLS, N_SPECTRA), bool)
        for gap in validity["gaps"]:
            for first, n in zip(gap["lanes"][::2], gap["lanes"][1::2]):
                for begin, length in zip(gap["samples"][::2], gap["samples"][1::2]):
                    good[first:first + n, begin:begin + length] = False
        np.testing.assert_array_equal(validity["invalid_samples"], (~good).sum(1))
        return good.T.reshape(N_SPECTRA, N_CHANNELS, N_STATIONS, N_POLS)

    def check(self, *arguments):
        good, rules = self.good()
        self.run_graph(self.graph(), *arguments)
        np.testing.assert_array_equal(self.told("spectra.npy"), good)
        given = np.load(self.folder / "spectra.npy")
        self.assertEqual(abs(given[~good]).max(), 0)
        x = np.where(good, self.predicted.spectra, 0)
        e = np.broadcast_to(self.predicted.error, x.shape)
        self.assertTrue((abs(given - x) <= e).all())
        # Weights are the spectra in which both stations are good; visibilities are sums of these.
        i, j = np.tril_indices(N_STATIONS)

        def pairs(of, other):
            return of[:, :, i][..., :, None] * other[:, :, j][..., None, :]
        products, most = pairs(x, x.conj()), pairs(abs(x) + e, abs(x) + e)
        np.testing.assert_array_equal(np.load(self.folder / "weights.npy"),
                                      sums(pairs(good, good).astype(int), INTEGRATION))
        error = most - abs(products) + (INTEGRATION + 2) * 2 * ULP * most
        off = abs(np.load(self.folder / "visibilities.npy") - sums(products, INTEGRATION))
        self.assertTrue((off <= sums(error, INTEGRATION)).all())
        return good, rules

    def test_flags(self):
        """Each rule finds its own interference, and of the other channels few samples."""
        for backend in BACKENDS:
            good, rules = self.check("--backend", backend)
        lost = {name: (~rule).mean((0, 3)) for name, rule in rules.items()}  # [channel station]
        for name, share in lost.items():
            print(f"# lost by {name}, channels of station 0:", np.round(share[:, 0], 3).tolist())
        print(f"# good: {good.sum()} of {good.size} samples")
        self.assertEqual(lost["kurtosis"][TONE, [0, 2]].tolist(), [1, 1])
        self.assertLess(lost["kurtosis"][TONE, 1], 0.2)
        self.assertGreater(lost["threshold"][BURST].min(), 0.02)
        self.assertGreater(lost["means"][LONG].min(), 0.02)
        quiet = [c for c in range(N_CHANNELS) if not {c - 1, c, c + 1} & {TONE, BURST, LONG}]
        for name, share in lost.items():
            self.assertLess(share[quiet].mean(), 0.05, name)

    def test_blocks(self):
        """The same, wherever the stream is cut."""
        for block, workers in ((333, 1), (4096, 2)):
            for backend in BACKENDS:
                self.check("--backend", backend, "--set", f"sky.block={{time: {block}}}",
                           "--workers", str(workers))

    @unittest.skipIf("cuda" not in BACKENDS, "there is no device")
    def test_places(self):
        """One copy to the device behind the source, and one to the host before each sink; all that
        is between them is on the device."""
        done = subprocess.run([graphs.COMMAND, "plan", self.write(self.graph()), "--backend", "cuda",
                               "--json"], cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        nodes = json.loads(done.stdout)["nodes"]
        self.assertEqual({node["name"] for node in nodes if node["place"] == "host"},
                         {"sky", "kept", "out", "counts"})
        copies = [node["name"] for node in nodes if node["stages"] == ["copy"]]
        print("# copies:", copies)
        self.assertEqual(len(copies), 4)


if __name__ == "__main__":
    tap.main()
