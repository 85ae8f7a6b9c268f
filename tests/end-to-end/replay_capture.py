# SPDX-License-Identifier: BSD-3-Clause
"""Captures of a LOFAR station in NumPy: two ports, 8-bit samples of which none is zero."""
import shutil

import numpy as np

PORTS, BEAMLETS, SLOTS, POLS = 2, 2, 16, 2
PACKETS_A_SECOND = 200e6 / 1024 / SLOTS
SECOND = 1656466200  # even: the first sample of the second is at its beginning
FIRST = 64  # the first sample of the captures, in this second
TICKS_PER_SAMPLE, CLOCK = 1024, 200000000
AT_ONCE = 1 << 16  # packets

PACKET = np.dtype([("version", "u1"), ("source", "<u2"), ("configuration", "u1"), ("station", "<u2"),
                   ("n_beamlets", "u1"), ("n_slots", "u1"), ("second", "<u4"), ("sequence", "<u4"),
                   ("samples", "i1", (BEAMLETS, SLOTS, POLS, 2))])


class Capture:
    """`n` packets of each port. Odd seconds begin within a sample, which has the number of the second
    before: so sequences have 195313 samples in even seconds, and 195312 in odd ones."""

    def __init__(self, folder, n, seed):
        self.folder, self.n, self.n_bytes = folder, n, n * PORTS * SLOTS * BEAMLETS * POLS * 2
        random = np.random.default_rng(seed)
        self.names = [f"port{port}" for port in range(PORTS)]
        for port, name in enumerate(self.names):
            with open(f"{folder}/{name}", "wb") as file:
                for first in range(0, n, AT_ONCE):
                    self.make(random, port, first, min(AT_ONCE, n - first)).tofile(file)
        self.packets = [np.memmap(f"{folder}/{name}", PACKET, "r") for name in self.names]

    def make(self, random, port, first, n):
        packets = np.zeros(n, PACKET)
        second, half = np.divmod(2 * (FIRST + SLOTS * np.arange(first, first + n)), 390625)
        packets["version"], packets["source"] = 3, port | 1 << 7 | 1 << 8
        packets["station"], packets["n_beamlets"], packets["n_slots"] = 214 * 32, BEAMLETS, SLOTS
        packets["second"], packets["sequence"] = SECOND + second, half // 2
        samples = random.integers(1, 256, packets["samples"].shape, np.uint8)
        packets["samples"] = samples.view(np.int8)
        return packets

    def tail(self, first):
        """Files with the packets from `first` on."""
        if first == 0:
            return self.names
        for name in self.names:
            with open(f"{self.folder}/{name}", "rb") as whole, \
                    open(f"{self.folder}/{name}-{first}", "wb") as part:
                whole.seek(first * PACKET.itemsize)
                shutil.copyfileobj(whole, part)
        return [f"{name}-{first}" for name in self.names]

    def number(self, start):
        """The number of the packet that begins at this tick of the stream's clock."""
        packet, rest = divmod(start // TICKS_PER_SAMPLE - SECOND * CLOCK // TICKS_PER_SAMPLE - FIRST,
                              SLOTS)
        assert rest == 0 and start % TICKS_PER_SAMPLE == 0, start
        return packet

    def samples(self, first, end):
        """[packet slot port beamlet pol part]"""
        parts = np.stack([port["samples"][first:end] for port in self.packets])
        return parts.transpose(1, 3, 0, 2, 4, 5)
