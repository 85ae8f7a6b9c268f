# SPDX-License-Identifier: BSD-3-Clause
"""An FX correlator in numpy: 16 stations with two polarisations, 8-bit samples, a polyphase filter
bank of 256 channels with 16 taps, all pairs.

Runs a slice for every line on the standard input, and answers with complex samples, seconds, and
processor seconds. Time in which threads waited for a processor is subtracted, divided by their
number."""
import os
import sys
import time

N_THREADS = int(sys.argv[1])
os.environ["OPENBLAS_NUM_THREADS"] = sys.argv[1]

import numpy as np  # noqa: E402
import scipy.fft  # noqa: E402

N_CHANNELS, N_TAPS, N_INPUTS, N_SPECTRA = 256, 16, 32, 256


def waited():
    """Seconds for which threads of this process were ready to run, but had no processor."""
    total = 0
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/schedstat") as file:
            total += int(file.read().split()[1])
    return total * 1e-9


def correlate(samples, taps):
    """samples [input][time] ci8 as two int8; taps [tap][phase]; visibilities [channel][i][j]."""
    x = samples.astype(np.float32).view(np.complex64)[..., 0]
    x = x.reshape(N_INPUTS, -1, N_CHANNELS)
    filtered = taps[0] * x[:, :N_SPECTRA]
    product = np.empty_like(filtered)
    for k in range(1, N_TAPS):
        np.multiply(taps[k], x[:, k : k + N_SPECTRA], out=product)
        filtered += product
    spectra = scipy.fft.fft(filtered, axis=-1, workers=N_THREADS, overwrite_x=True)
    spectra = np.ascontiguousarray(spectra.transpose(2, 0, 1))
    return spectra @ spectra.conj().transpose(0, 2, 1)


def main():
    random = np.random.default_rng(1)
    n_samples = (N_SPECTRA + N_TAPS - 1) * N_CHANNELS
    samples = random.integers(-127, 128, (N_INPUTS, n_samples, 2), dtype=np.int8)
    taps = random.standard_normal((N_TAPS, N_CHANNELS)).astype(np.float32)
    for _ in sys.stdin:
        before, from_time, from_processor = waited(), time.perf_counter(), time.process_time()
        correlate(samples, taps)
        seconds = time.perf_counter() - from_time
        processor = time.process_time() - from_processor
        seconds -= (waited() - before) / N_THREADS
        print(N_INPUTS * N_SPECTRA * N_CHANNELS, seconds, processor, flush=True)


main()
