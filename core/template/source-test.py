#!/usr/bin/env python3
"""@STAGE@: a recording in two files, with lost, late, doubled, invalid and stray packets."""
import json
import os
import struct
import subprocess
import tempfile

import numpy as np

GRAPH = """
stages:
  sky:  { stage: @STAGE@, path: [0.packets, 1.packets], n_stations: 3, sample_rate: 1 MHz, backend: %s, block: { time: %d } }
  sink: { stage: file.sink, from: sky, path: out.npy, layout: "[%s]" }
"""
N_PACKETS, N_STATIONS, N_SAMPLES, FIRST = 12, 3, 32, 2**32 - 5  # the counter passes 2³²

random = np.random.default_rng(1)
samples = random.integers(-128, 128, (N_PACKETS, N_SAMPLES, N_STATIONS, 2, 2)).astype("i1")


def packet(i, station, flag=0):
    return struct.pack("<4sIIHH", b"PKTS", 1000, (FIRST + i) % 2**32, station,
                       flag) + samples[i, :, station % 3].tobytes()


packets = [packet(i, station) for i in range(N_PACKETS) for station in range(N_STATIONS)]
packets[3 * 4 + 1] = packet(4, 1, flag=1)  # invalid
samples[4, :, 1] = 0
packets[3 * 6], packets[3 * 7] = packets[3 * 7], packets[3 * 6]  # one comes late
packets[3 * 9 + 2] = packets[3 * 8 + 2]  # lost, and the one before comes twice
samples[9, :, 2] = 0
packets.append(packet(0, 60000))  # of no station
wanted = samples.reshape(-1, N_STATIONS, 2, 2)
counts = {"packets": 37, "reordered": 1, "missing": 1, "duplicate": 1, "flagged": 1, "stray": 1}

cases = [(backend, block, order) for backend in ("cpu", "reference")
         for block, order in ((400, "time station pol"), (7, "pol station time"))]
print(f"1..{len(cases)}")
for i, (backend, block, order) in enumerate(cases):
    with tempfile.TemporaryDirectory() as folder:
        for part in range(2):
            with open(f"{folder}/{part}.packets", "wb") as file:
                file.write(b"".join(packets[20 * part:20 * (part + 1)]))
        with open(f"{folder}/graph.yaml", "w") as file:
            file.write(GRAPH % (backend, block, order))
        ran = subprocess.run([os.environ.get("CORNERTURN", "cornerturn"), "run", "--stats", "json",
                              "graph.yaml"], cwd=folder, check=True, capture_output=True)
        given = np.load(f"{folder}/out.npy")
        nodes = json.loads(ran.stdout)["nodes"]
    # The source itself writes this order: there is no other node than the sink.
    right = (np.array_equal(given if order[0] == "t" else given.swapaxes(0, 2), wanted) and len(nodes) == 2 and
             {name: n for name, n in nodes[0]["counters"].items() if n} == counts)
    print("ok" if right else "not ok", i + 1, f"- {backend}, blocks of {block}, {order}")
