#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pipelines/pulsar.yaml on a filterbank of SIGPROC's tutorial: a pulsar with a period of 250 ms and
a dispersion measure of 30, in 64 channels of 2 bits."""
import json
import subprocess

import numpy as np

import graphs
import tap

NAME = "sigproc/tutorial.fil"
FREQUENCIES = 1510 - 1.09 * np.arange(64)  # MHz
INTERVAL_US, N_BINS = 320, 256
DMS = [0, 30, 100, 300]
SIGMAS = 6


def read_powers():
    data = (graphs.DATA / NAME).read_bytes()
    bytes_ = np.frombuffer(data[data.index(b"HEADER_END") + 10:], np.uint8)
    return (bytes_[:, None] >> (0, 2, 4, 6) & 3).reshape(-1, 64).astype(int)


def dedisperse(powers, dm):
    """Sums over the channels for the times for which all of the largest delay's samples are there."""
    def late(dm):
        seconds = dm / 2.41e-4 * (FREQUENCIES ** -2.0 - FREQUENCIES[0] ** -2.0)
        return np.rint(seconds * 1e6 / INTERVAL_US).astype(int)
    n = len(powers) - late(max(DMS)).max()
    return sum(powers[s:s + n, c] for c, s in enumerate(late(dm)))


def significance(sums, counts, variance):
    """χ² of a profile against a constant one, and the value that noise exceeds as seldom as a normal
    variate exceeds SIGMAS standard deviations (Wilson and Hilferty)."""
    k = len(sums) - 1
    mean = sums.sum() / counts.sum()
    limit = k * (1 - 2 / (9 * k) + SIGMAS * np.sqrt(2 / (9 * k))) ** 3
    return (counts * (sums / counts - mean) ** 2).sum() / variance, limit


@graphs.needs_data(NAME)
class Pulsar(graphs.GraphTest):
    def fold(self, *settings):
        """Profiles [time dm bin], of all subintegrations, and their counts."""
        done = subprocess.run(
            [graphs.COMMAND, "run", graphs.SOURCE_ROOT / "pipelines" / "pulsar.yaml", "--quiet",
             "--strict", *(word for setting in (f"recording.path={graphs.DATA / NAME}", *settings)
                           for word in ("--set", setting))],
            cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.folder / "profiles.npy"), np.load(self.folder / "counts.npy")

    def test_profiles(self):
        """Sums of integers below 2²⁴ are exact. A sample is 320 µs of 250 ms long; twice its middle
        is a whole number of 160 µs."""
        powers = read_powers()
        given, counts = self.fold()
        limits = []
        for i, dm in enumerate(DMS):
            series = dedisperse(powers, dm)
            t = np.arange(len(series))
            bins = (2 * t + 1) * 160 * N_BINS // 250000 % N_BINS
            at = t * INTERVAL_US // 1000000 * N_BINS + bins
            size = given.shape[0] * N_BINS
            np.testing.assert_array_equal(given[:, i].ravel(), np.bincount(at, series, size))
            np.testing.assert_array_equal(counts[:, i].ravel(), np.bincount(at, minlength=size))
            limits.append(significance(given[:, i].sum(0), counts[:, i].sum(0), series.var()))
        found = [value for value, _ in limits]
        print("# χ² by dispersion measure:", dict(zip(DMS, np.round(found))), "limit",
              round(limits[0][1]))
        self.assertGreater(found[1], 10 * limits[1][1])
        # Of profiles with k degrees of freedom that are not constant, χ² has a variance of 4 χ² − 2 k.
        for i in 0, 2, 3:
            variance = 4 * (found[1] + found[i]) - 4 * (N_BINS - 1)
            self.assertLess(found[i], found[1] - SIGMAS * np.sqrt(variance), DMS[i])
        beside = json.loads((self.folder / "profiles.npy.json").read_text())
        self.assertEqual([axis["name"] for axis in beside["axes"]], ["time", "dm", "bin"])

    def test_other_periods(self):
        """At another period the pulses are spread over all bins, and the profile is that of noise."""
        variance = dedisperse(read_powers(), 30).var()
        for period, is_found in (("250 ms", True), ("247 ms", False), ("261.8 ms", False)):
            given, counts = self.fold(f"profiles.period={period}")
            found, limit = significance(given[:, 1].sum(0), counts[:, 1].sum(0), variance)
            print(f"# χ² at {period}: {found:.0f}, limit {limit:.0f}")
            self.assertEqual(found > limit, is_found, period)


if __name__ == "__main__":
    tap.main()
