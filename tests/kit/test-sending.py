#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sinks send to the network, with that of VDIF: the datagrams of a stream, their times, groups of
multicast, and addresses that are wrong."""
import socket
import struct
import time
import unittest

import recordings
import tap
from ports import free_port

PATIENCE = 60  # seconds, which nothing should take
GROUP = "239.255.77.3"
IP_RECVTTL = 12  # as Linux numbers it
FRAME = 232  # bytes: 100 samples of two channels with 8 bits


class Sending(recordings.RecordingTest):
    def bind(self, host="127.0.0.1", port=0, family=socket.AF_INET):
        """A socket that holds more than any of these tests sends."""
        one = socket.socket(family, socket.SOCK_DGRAM)
        self.addCleanup(one.close)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        one.settimeout(PATIENCE)
        one.bind((host, port))
        return one, one.getsockname()[1]

    def received(self, one):
        """All that has come, after the sender has ended."""
        datagrams = []
        one.setblocking(False)
        while True:
            try:
                datagrams.append(one.recv(65536))
            except BlockingIOError:
                return datagrams

    def put_stream(self, n, axes=(("subband", 2), ("pol", 2)), rate=16000000):
        self.put("i8", [("time", n), *axes], {"ticks_per_second": [rate, 1]}, 320e6,
                 observation=None)

    def stages(self, path, block=None, **sink):
        return {"in": self.source(**({"block": {"time": block}} if block else {})),
                "out": {"stage": "vdif.sink", "from": "in", "path": path, "frame_samples": 100,
                        **sink}}

    def frames(self):
        """The frames that the sink writes to a file, in their order."""
        self.run_graph(self.stages("out.vdif"))
        data = (self.folder / "out.vdif").read_bytes()
        return [data[i:i + FRAME] for i in range(0, len(data), FRAME)]

    def test_datagrams(self):
        """Each frame is one datagram, however blocks are cut; nothing is left beside them."""
        self.put_stream(4000)
        wanted = self.frames()
        self.assertEqual(len(wanted), 80)
        for block, speed in ((None, 1), (77, 0), (1, 0), (1000, 3.5)):
            with self.subTest(block=block):
                one, port = self.bind()
                path = f"udp://127.0.0.1:{port}"
                self.run_graph(self.stages(path, block, speed=speed))
                self.assertEqual(self.received(one), wanted)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()),
                         ["graph.yaml", "in.npy", "in.npy.json", "out.vdif", "out.vdif.json"])

    def test_last_frame(self):
        """A frame that the stream does not fill is sent, too."""
        self.put_stream(450)
        wanted = self.frames()
        one, port = self.bind()
        self.run_graph(self.stages(f"udp://127.0.0.1:{port}"))
        self.assertEqual(self.received(one), wanted)
        self.assertEqual(len(wanted), 10)

    def test_times(self):
        """No datagram is sent before its time, which is that of its samples times the speed."""
        self.put_stream(1000, rate=1000)
        for speed in 2, 5:
            one, port = self.bind()
            begin = time.monotonic()
            process = self.start(self.stages(f"udp://127.0.0.1:{port}", speed=speed))
            for _ in range(20):
                one.recv(65536)
            output, errors = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 0, errors)
            self.assertEqual(self.received(one), [])
            # The first and the last one are 9.5 frames of 100 ms apart.
            self.assertGreater(time.monotonic() - begin, 0.9 / speed, output)

    def join(self, group, interface):
        one, port = self.bind(group)
        one.setsockopt(socket.IPPROTO_IP, IP_RECVTTL, 1)
        index = socket.if_nametoindex(interface)
        try:
            one.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                           socket.inet_aton(group) + bytes(4) + struct.pack("i", index))
        except OSError as error:
            raise unittest.SkipTest(f"no multicast at {interface}: {error}")
        return one, port

    def test_multicast(self):
        """A group at the interface of the loop, by its name and by its address."""
        self.put_stream(1000)
        wanted = self.frames()
        one, port = self.join(GROUP, "lo")
        for at in "127.0.0.1", "lo":
            self.run_graph(self.stages(f"udp://{GROUP}:{port}@{at}", ttl=7))
            data, further, _, _ = one.recvmsg(65536, 1024)
            self.assertEqual([data, *self.received(one)], wanted)
            self.assertEqual([struct.unpack("i", value)[0] for _, _, value in further], [7])

    def test_loop(self):
        """At another interface, programs of this machine receive what is sent only with `loop`."""
        others = [name for _, name in socket.if_nameindex() if name != "lo"]
        if not others:
            raise unittest.SkipTest("no interface but lo")
        self.put_stream(1000)
        wanted = self.frames()
        one, port = self.join(GROUP, others[0])
        for loop in False, True:
            path = f"udp://{GROUP}:{port}@{others[0]}"
            process = self.start(self.stages(path, ttl=0, loop=loop))
            _, errors = process.communicate(timeout=PATIENCE)
            if process.returncode:
                raise unittest.SkipTest(errors)
            self.assertEqual(self.received(one), wanted if loop else [])

    def test_ipv6(self):
        if not socket.has_ipv6:
            raise unittest.SkipTest("no IPv6")
        try:
            one, port = self.bind("::1", 0, socket.AF_INET6)
        except OSError as error:
            raise unittest.SkipTest(f"no IPv6: {error}")
        self.put_stream(1000)
        wanted = self.frames()
        self.run_graph(self.stages(f"udp://[::1]:{port}"))
        self.assertEqual(self.received(one), wanted)

    def test_nobody(self):
        """That nobody receives is no failure; two sinks may send to one address."""
        self.put_stream(4000)
        path = f"udp://127.0.0.1:{free_port()}"
        stages = self.stages(path)
        self.run_graph({**stages, "too": stages["out"]})

    def test_no_effect(self):
        self.put_stream(1000)
        for parameter, value in ("speed", 2), ("ttl", 3), ("loop", False):
            stages = self.stages("out.vdif", **{parameter: value})
            process = self.start(stages)
            _, errors = process.communicate(timeout=PATIENCE)
            self.assertRegex(errors, rf"node 'out': warning: parameter '{parameter}' has no effect here")
        process = self.start(self.stages(f"udp://127.0.0.1:{free_port()}", ttl=3))
        _, errors = process.communicate(timeout=PATIENCE)
        self.assertRegex(errors, "node 'out': warning: parameter 'ttl' has no effect here")

    def test_errors(self):
        self.put_stream(40000)
        path = "udp://127.0.0.1:5000"
        for given, sink, message in (
                ("udp://127.0.0.1", {}, "parameter 'path': udp://127.0.0.1: wants udp://ADDRESS:PORT, "
                                        "but is given 'udp://127.0.0.1'"),
                ("udp://here:5", {}, "parameter 'path': udp://here:5: wants an address as 10.0.0.1 or "
                                     "[fd00::1], but is given 'here'"),
                ("udp://127.0.0.1:0", {}, "wants a port from 1 to 65535, but is given '0'"),
                ("udp://127.0.0.1:5@lo", {}, "wants an interface only for a group of multicast"),
                ("udp://239.1.1.1:5@nosuch", {}, "wants the name of an interface of this machine"),
                (path, {"rotate_samples": 100}, "parameter 'rotate_samples': wants files, but 'path' is "
                                                "an address"),
                (path, {"digest": "sha256"}, "parameter 'digest': wants a file, but 'path' is an "
                                             "address"),
                (path, {"frame_samples": 40000},
                 "parameter 'frame_samples': wants frames of at most 65507 bytes, which datagrams can "
                 "have, but is given 40000 samples in 80032 bytes"),
                ("udp://255.255.255.255:5000", {},
                 "udp://255.255.255.255:5000: can't be sent to: Permission denied")):
            with self.subTest(message):
                self.assertRegex(self.fail_graph(self.stages(given, **sink)), r"^graph.yaml:\d+:\d+: node 'out': ")
                self.assertIn(message, self.fail_graph(self.stages(given, **sink)))
        for stage, more, name in (("file.sink", {"format": "npy"}, "arrays"),
                                  ("sigproc.sink", {}, "SIGPROC files")):
            stages = {"in": self.source(), "out": {"stage": stage, "from": "in", "path": path, **more}}
            self.assertIn(f"parameter 'path': wants a file: {name} can't be sent to the network, but is given "
                          f"'{path}'", self.fail_graph(stages))


if __name__ == "__main__":
    tap.main()
