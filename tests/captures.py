# SPDX-License-Identifier: BSD-3-Clause
"""The captures of a LOFAR station in NumPy: three ports of 122 beamlets with 8-bit samples."""
import numpy as np

import graphs

NAMES = [f"lofar/udp_1613{i}.ucc1.2022-06-29T01-30-00.000" for i in range(3)]
FILES = [graphs.DATA / name for name in NAMES]
PACKET, HEADER, SLOTS, BEAMLETS = 7824, 16, 16, 122


def read_port(path):
    """Complex samples [time beamlet pol], and the number of the first sample."""
    data = np.fromfile(path, np.uint8).reshape(-1, PACKET)
    parts = data[:, HEADER:].view(np.int8).reshape(-1, BEAMLETS, SLOTS, 2, 2).astype(float)
    samples = (parts[..., 0] + 1j * parts[..., 1]).transpose(0, 2, 1, 3)
    return samples.reshape(-1, BEAMLETS, 2), int(data[0, 12:16].view("<u4")[0])


def read():
    """The ports joined over all their time, [time subband pol], and their validity [time subband]."""
    ports = [read_port(path) for path in FILES]
    first = min(begin for _, begin in ports)
    end = max(begin + len(samples) for samples, begin in ports)
    samples = np.zeros((end - first, BEAMLETS * len(ports), 2), complex)
    valid = np.zeros(samples.shape[:2], bool)
    for i, (port, begin) in enumerate(ports):
        where = np.s_[begin - first:begin - first + len(port),
                      BEAMLETS * i:BEAMLETS * (i + 1)]
        samples[where] = port
        valid[where] = True
    return samples, valid
