# SPDX-License-Identifier: BSD-3-Clause
"""Polyphase filter banks in NumPy, in double precision, with the taps of the stage `fir`."""
import numpy as np


class Bank:
    def __init__(self, n_channels, n_taps):
        n = n_channels * n_taps
        self.window, self.n_channels = n, n_channels
        # A windowed sinc, [tap][channel].
        self.taps = (np.sinc((np.arange(n) - (n - 1) / 2) / n_channels) *
                     np.hamming(n)).reshape(n_taps, n_channels).astype(np.float32).astype(float)

    def n_spectra(self, samples):
        return (len(samples) - self.window) // self.n_channels + 1

    def filtered(self, samples, taps):
        """[time phase …] of samples [time …]."""
        n = self.n_spectra(samples)
        blocks = samples[:(n + len(taps) - 1) * self.n_channels]
        blocks = blocks.reshape(-1, self.n_channels, *samples.shape[1:])
        shape = (-1,) + (1,) * (samples.ndim - 1)
        return sum(h.reshape(shape) * blocks[k:k + n] for k, h in enumerate(taps))

    def spectra(self, samples):
        """Spectra [time channel …], of real samples up to the channel of half the rate."""
        transform = np.fft.fft if np.iscomplexobj(samples) else np.fft.rfft
        return transform(self.filtered(samples, self.taps), axis=1)

    def bound(self, samples):
        """An upper bound for all channels of a spectrum, [time …], from which rounding errors are
        derived."""
        return self.filtered(abs(samples), abs(self.taps)).sum(1)

    def valid(self, valid):
        """A spectrum is valid if every sample under its taps is: [time …]."""
        starts = self.n_channels * np.arange(self.n_spectra(valid))
        return np.array([valid[start:start + self.window].all(0) for start in starts])
