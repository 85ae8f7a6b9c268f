#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packets with headers that the graph describes, and pieces of SPEAD heaps, from the network: sent by sockets, and
by `cornerturn send` with losses."""
import itertools
import json
import struct
import subprocess

import numpy as np

import graphs
import network
import tap
from network import PATIENCE
from ports import free_port

UNIX = 1656466200
STATIONS, CHANNELS = (3, 7), (8, 12)


def time_after(ticks, rate):
    """UTC just before a tick."""
    at = ticks * 10 ** 9 // rate - 1
    return f"{UNIX + at // 10 ** 9}.{at % 10 ** 9:09}"


def item(number, value, immediate=True):
    return struct.pack(">Q", immediate << 63 | number << 48 | value)


class Headers(network.Network):
    def stages(self, source, ports):
        return {"station": {**source, "paths": [f"udp://127.0.0.1:{port}" for port in ports],
                            "epoch": UNIX},
                "out": {"stage": "file.sink", "from": "station", "path": "out.npy",
                        "layout": "[time channel station pol]"}}

    def make(self, n, n_channels, n_times):
        """Samples [packet station block time channel pol part], and whether each packet is sent."""
        shape = (n, len(STATIONS), len(CHANNELS))
        return (self.random.integers(-128, 128, (*shape, n_times, n_channels, 2, 2), np.int8),
                np.ones(shape, bool))

    def check(self, samples, sent, used):
        """The array of the first packets of each lane."""
        wanted = (samples * sent[..., None, None, None, None])[:used]
        n_times, n_channels = wanted.shape[3:5]
        wanted = wanted.transpose(0, 3, 2, 4, 1, 5, 6).reshape(
            used * n_times, len(CHANNELS) * n_channels, len(STATIONS), 2, 2)
        np.testing.assert_array_equal(np.load(self.folder / "out.npy"), wanted)

    def test_described(self):
        """Each of two addresses has a station; a packet is lost, one comes twice, one is alien."""
        samples, sent = self.make(400, 4, 16)
        sent[50, 1, 0] = False
        ports, events = [free_port(), free_port()], []
        for i, s, c in itertools.product(range(400), range(2), range(2)):
            data = struct.pack(">IBBIHH", 0xfeedbeef, 0, 0, 1000 + 16 * i, STATIONS[s], CHANNELS[c])
            data += samples[i, s, c].tobytes()
            if sent[i, s, c]:
                events += [(i, ports[s], data)] * (1 + ((i, s, c) == (60, 0, 1)))
            if (i, s, c) == (70, 1, 1):
                events.append((i, ports[s], b"\0" + data[1:]))
        source = {"stage": "packet.source", "header_bytes": 14, "counter": "u40 at 5",
                  "constants": ["u32 at 0 = 0xfeedbeef"], "station": "u16 at 10",
                  "channel": "u16 at 12", "payload": ["time 16", "channel 4", "pol 2"],
                  "type": "ci8", "sample_rate": "1 MHz", "window": "1 ms"}
        process = self.launch(self.stages(source, ports), stop=time_after(1000 + 16 * 300, 10 ** 6))
        self.wait_bound(process, ports)
        self.send(process, ports, events)
        self.assertEqual(self.end(process), {"packets": 300 * 4, "duplicate": 1, "corrupt": 1,
                                             "missing": 1})
        self.check(samples, sent, 300)
        missing = {f"channel {4 * c}, station {s}": int((~sent[:300, s, c]).sum())
                   for s in range(2) for c in range(2)}
        self.assertEqual({name: account["missing"] for name, account in self.accounts.items()
                          if name in missing}, missing)
        self.assertEqual(sum(missing.values()), 1)

    def test_heaps(self):
        """A capture of heaps in pieces of two channels is sent with losses, by the log of the sender."""
        samples, sent = self.make(60, 4, 32)
        packets = []
        for i, piece, s, c in itertools.product(range(60), (0, 2), range(2), range(2)):
            data = samples[i, s, c, :, piece:piece + 2].transpose(1, 0, 2, 3).tobytes()
            size = samples[i, s, c].nbytes
            items = [(1, i), (2, size), (3, piece * size // 4), (4, len(data)),
                     (0x1600, 8192 * (100 + 32 * i)), (0x4101, STATIONS[s]), (0x4103, CHANNELS[c])]
            packets.append(((i, s, c, piece), struct.pack(">BBBBHH", 0x53, 4, 2, 6, 0, 8) + b"".join(
                item(*each) for each in items) + item(0x4300, 0, False) + data))
        (self.folder / "heaps").write_bytes(b"".join(data for _, data in packets))
        payload = ["channel", "time 32", "pol 2"]
        source = {"stage": "spead.source", "payload": payload, "window": "500 us"}
        port = free_port()
        process = self.launch(self.stages(source, [port]),
                              stop=time_after(8192 * (100 + 32 * 40), 1712 * 10 ** 6))
        self.wait_bound(process, [port])
        done = subprocess.run(
            [graphs.COMMAND, "send", "--stage", "spead.source", "--set", f"payload={json.dumps(payload)}",
             "heaps", "--to", f"udp://127.0.0.1:{port}", "--rate", "20000", "--loss", "0.05",
             "--seed", "7", "--log-packets", "log"],
            cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [json.loads(line) for line in (self.folder / "log").read_text().splitlines()]
        lost = [packets[line["packet"]][0] for line in lines if line["fate"] == "lost"]
        self.assertGreater(len(lost), 10)
        counts = self.end(process)
        for i, s, c, piece in lost:
            samples[i, s, c, :, piece:piece + 2] = 0
        n_lost = sum(i < 40 for i, *_ in lost)
        self.assertEqual(counts, {"packets": 40 * 8 - n_lost, "missing": n_lost})
        self.check(samples, sent, 40)


if __name__ == "__main__":
    tap.main()
