# SPDX-License-Identifier: BSD-3-Clause
"""VDIF frames made in NumPy."""
import struct

import numpy as np

LEVELS = {
    1: np.array([-1, 1], np.float32),
    2: np.array([-3.316505, -1, 1, 3.316505], np.float32),
    4: (np.arange(16, dtype=np.float32) - 8) / np.float32(2.95),
    8: (np.arange(256, dtype=np.float32) - np.float32(127.5)) / np.float32(35.5),
}


def make_frame(payload, number, second=14363767, thread=0, bits=2, log2_channels=0,
               is_complex=False, invalid=False, legacy=False, edv=0, epoch=28, station=0x4142,
               rate=0):
    header_bytes = 16 if legacy else 32
    words = [invalid << 31 | legacy << 30 | second, epoch << 24 | number,
             1 << 29 | log2_channels << 24 | (header_bytes + len(payload)) // 8,
             is_complex << 31 | (bits - 1) << 26 | thread << 16 | station]
    if not legacy:
        words += [edv << 24 | (1 << 23 | rate if rate else 0),
                  0xacabfeed if edv in (1, 3) else 0, 0, 0]
    return struct.pack(f"<{len(words)}I", *words) + payload


def pack(codes, bits):
    """Packs codes, in the order of time, channel, part, into words of as many whole codes as
    fit."""
    per_word = 32 // bits
    words = np.zeros(len(codes) // per_word, np.uint32)
    for i in range(per_word):
        words |= codes[i::per_word].astype(np.uint32) << np.uint32(bits * i)
    return words.astype("<u4").tobytes()
