#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A simulated train of dispersed pulses: among trials, that with the pulsar's dispersion measure and
period has the profile with the largest signal-to-noise ratio, which is the expected one."""
import unittest

import numpy

import pipeline
import tap

VARIANTS = ["reference"] + ["cpu-" + isa for isa in pipeline.instruction_sets()]
RATE, N_CHANNELS, N_BINS, SEED = 2000, 32, 20, 8
FREQUENCIES = numpy.linspace(150e6, 130e6, N_CHANNELS)
PERIOD, DM, BIN, AMPLITUDE = 0.020857, 6.0, 13, 0.3
DMS = numpy.arange(13.0)
PERIODS = [0.0208, 0.02085, PERIOD, 0.02087, 0.0217]
rng = numpy.random.default_rng(SEED)
print("# seed", SEED)


def make_train(n):
    """Noise of variance 1, and pulses of a sample at the middles of a bin at the highest frequency,
    later at others."""
    x = rng.normal(size=(n, N_CHANNELS)).astype("f4")
    f = FREQUENCIES / 1e6
    late = DM / 2.41e-4 * (f ** -2.0 - f.max() ** -2.0)
    pulses = PERIOD * (numpy.arange(int(n / RATE / PERIOD)) + (BIN + 0.5) / N_BINS)
    at = numpy.rint((pulses[:, None] + late) * RATE - 0.5).astype(int)
    inside = at < n
    numpy.add.at(x, (at[inside], numpy.broadcast_to(numpy.arange(N_CHANNELS), at.shape)[inside]),
                 AMPLITUDE)
    return x


def run(x, variant, workers=1):
    """The mean profile [bin dm] and the counts [bin] of each period."""
    nodes = "".join(
        f"  y{i}: {{ stage: fold, from: d, period: {period}, n_bins: {N_BINS}, average: true, "
        f"subintegration: {len(x)} }}\n"
        f"  z{i}: {{ stage: output, from: y{i}, layout: '[time bin dm]' }}\n"
        f"  w{i}: {{ stage: output, from: y{i}.counts, layout: '[time bin dm]' }}\n"
        for i, period in enumerate(PERIODS))
    text = (f"stages:\n  x: {{ stage: input, layout: 'f32[time channel]', shape: [-1, {N_CHANNELS}], "
            f"sample_rate: {RATE}, frequencies: {FREQUENCIES.tolist()} }}\n"
            f"  d: {{ stage: dedisperse, from: x, dms: {DMS.tolist()} }}\n" + nodes)
    takes = {name + str(i): (0, len(DMS)) for i in range(len(PERIODS)) for name in "zw"}
    taken = pipeline.run(text, {"x": pipeline.Feed(x, cuts=(4096,))}, takes,
                         {f"y{i}": variant for i in range(len(PERIODS))}, workers=workers)
    return [(taken[f"z{i}"].array[0], taken[f"w{i}"].array[0, :, 0]) for i in range(len(PERIODS))]


class Pulsar(unittest.TestCase):
    def test_trials(self):
        """The ratio at the pulsar's own trial. A bin has 2.09 samples. Rounding the arrival and the
        delay moves a sample by 1 at most from the middle of the bin, so all of a pulse is in it. So
        the mean of the bin's c samples is higher by AMPLITUDE times channels and pulses / c."""
        x = make_train(60000)
        for variant in VARIANTS:
            found = numpy.empty((len(PERIODS), len(DMS)))
            for i, (profile, counts) in enumerate(run(x, variant, workers=2)):
                ratios = (profile - numpy.median(profile, 0)) * numpy.sqrt(
                    counts / N_CHANNELS)[:, None]
                found[i] = ratios.max(0)
                if PERIODS[i] == PERIOD:
                    n_pulses = counts.sum() / RATE / PERIOD
                    expected = n_pulses * AMPLITUDE * numpy.sqrt(N_CHANNELS / counts[BIN])
                    self.assertEqual(ratios[:, DMS == DM].argmax(), BIN, variant)
                    # The ratio has a standard deviation of 1, its median's one of a third.
                    self.assertLess(abs(ratios[BIN, DMS == DM][0] - expected), 5, variant)
                    self.assertGreater(expected, 20)
            best = numpy.unravel_index(found.argmax(), found.shape)
            self.assertEqual((PERIODS[best[0]], DMS[best[1]]), (PERIOD, DM), f"{variant} {found}")
            print("#", variant, "ratios at the pulsar's period:", found[2].round(1).tolist())
            print("#", variant, "ratios at its dispersion measure:",
                  found[:, DMS == DM].ravel().round(1).tolist())


if __name__ == "__main__":
    tap.main()
