#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packets received by AF_XDP at one end of a pair of virtual interfaces, in network namespaces that have no name and
end with this program; what else comes to the interface; and errors."""
import contextlib
import ctypes
import importlib
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import threading
import time

import numpy as np

import graphs
import network
import tap

stations = importlib.import_module("test-network")

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
PR_CAPBSET_DROP = 24
CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_IPC_LOCK": 14, "CAP_SYS_ADMIN": 21, "CAP_BPF": 39}
AF_XDP = 44
HERE, THERE = "10.77.0.1", "10.77.0.2"
ALSO_HERE = "10.77.0.3"
HERE_6, THERE_6 = "fd77::1", "fd77::2"
BURST = 32  # packets that are sent before the interface must have had them; it holds 256
SLOTS = stations.SLOTS


def call(name, *arguments):
    if getattr(LIBC, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def in_thread(function):
    """What a function returns in a thread of its own, which may be in another namespace."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def new_namespace():
    """A file that keeps a new network namespace."""
    def make():
        call("unshare", CLONE_NEWNET)
        return os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    return in_thread(make)


def why_not():
    """Why these tests cannot run here, or None."""
    if not hasattr(why_not, "reason"):
        try:
            socket.socket(AF_XDP, socket.SOCK_RAW, 0).close()
            call("unshare", CLONE_NEWNET)
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True, capture_output=True)
            subprocess.run(["ip", "link", "add", "try0", "type", "veth"], check=True, capture_output=True)
            subprocess.run(["ip", "link", "del", "try0"], check=True, capture_output=True)
            why_not.reason = None
        except (OSError, subprocess.CalledProcessError) as error:
            why_not.reason = f"no AF_XDP or no virtual interfaces here: {error}"
    return why_not.reason


def read_table(name, key):
    """{column: number} of the row `key` of a file in /proc/net with pairs of lines."""
    with open(f"/proc/thread-self/net/{name}") as file:
        rows = [line.split() for line in file if line.startswith(key + ":")]
    return dict(zip(rows[0][1:], map(int, rows[1][1:])))


class Wire(stations.Station):
    """This program is at one end of a wire, and `self.there` keeps the namespace of the other."""

    def setUp(self):
        super().setUp()
        if why_not():
            self.skipTest(why_not())
        if "wants libxdp" in self.refuse(["xdp://"]):
            self.skipTest("built without libxdp")
        self.wire()

    def ip(self, *words):
        subprocess.run(["ip", *words], check=True)

    def ip_there(self, *words):
        subprocess.run(["nsenter", f"--net=/proc/{os.getpid()}/fd/{self.there}", "ip", *words], check=True)

    def wire(self, rx_queues=1, tx_queues_there=1, mtu=1500):
        self.unwire()
        self.there = new_namespace()
        self.addCleanup(os.close, self.there)
        self.addCleanup(self.unwire)
        self.ip("link", "add", "here", "mtu", str(mtu), "numtxqueues", "1", "numrxqueues", str(rx_queues), "type",
                "veth", "peer", "name", "there", "mtu", str(mtu), "numtxqueues", str(tx_queues_there), "numrxqueues",
                "1")
        self.ip("link", "set", "there", "netns", f"/proc/{os.getpid()}/fd/{self.there}")
        for address in f"{HERE}/24", f"{ALSO_HERE}/24", f"{HERE_6}/64":
            self.ip("addr", "add", address, "dev", "here", *(["nodad"] if ":" in address else []))
        for address in f"{THERE}/24", f"{THERE_6}/64":
            self.ip_there("addr", "add", address, "dev", "there", *(["nodad"] if ":" in address else []))
        self.ip("link", "set", "here", "up")
        self.ip_there("link", "set", "there", "up")
        self.wait_until("no link", lambda: "LOWER_UP" in self.show())

    def unwire(self):
        subprocess.run(["ip", "link", "del", "here"], capture_output=True)

    def show(self):
        return subprocess.run(["ip", "link", "show", "here"], capture_output=True, text=True, check=True).stdout

    def wait_until(self, what, condition):
        end = time.monotonic() + network.PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.0005)

    def socket_there(self, *arguments):
        def make():
            call("setns", self.there, CLONE_NEWNET)
            return socket.socket(*arguments)
        made = in_thread(make)
        self.addCleanup(made.close)
        return made

    def socket_of(self, port, host):
        if port not in self.sockets:
            self.sockets[port] = self.socket_there(socket.AF_INET6 if ":" in host else socket.AF_INET,
                                                   socket.SOCK_DGRAM)
            if ":" in host and host.startswith("ff"):
                self.sockets[port].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF,
                                              in_thread(lambda: self.index_there()))
            elif host.startswith("239."):
                self.sockets[port].setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(THERE))
            self.sockets[port].connect((host, port))
        return self.sockets[port]

    def index_there(self):
        call("setns", self.there, CLONE_NEWNET)
        return socket.if_nametoindex("there")

    def count_frames(self):
        with open("/proc/thread-self/net/dev") as file:
            words = next(line for line in file if line.strip().startswith("here:")).split(":")[1].split()
        self.assertEqual(int(words[3]), 0, "the interface has dropped frames")
        return int(words[1])

    def send_all(self, packets):
        """Calls each of the functions, which send a frame; no more than the interface holds."""
        base = self.count_frames()
        for i, send in enumerate(packets):
            try:
                send()
            except ConnectionRefusedError:  # the run has ended
                return
            if i % BURST == BURST - 1:
                self.wait_until("frames that do not come", lambda: self.count_frames() >= base + i + 1)

    def send_events(self, process, events, host=HERE):
        self.send_all([lambda port=port, data=data: self.socket_of(port, host).send(data)
                                for _, port, data in events])

    def count_kernel(self):
        """The datagrams of IPv4 and IPv6 that the kernel has given to sockets of UDP here."""
        with open("/proc/thread-self/net/snmp6") as file:
            version_6 = next(int(line.split()[1]) for line in file if line.startswith("Udp6InDatagrams"))
        return read_table("snmp", "Udp")["InDatagrams"] + version_6

    def start(self, paths, n, **source):
        """A run that ends behind n packets of each path."""
        process = self.launch(self.stages(paths, **{"window": "20 ms", **source}), stop=stations.time_after(n * SLOTS))
        self.wait_bound(process, [int(path.split("?")[0].split("@")[0].split(":")[-1]) for path in paths])
        return process

    def receive(self, path, log, n, host=HERE, send=None, **source):
        """Sends the packets of a log; returns the array, the counters and what the kernel had."""
        process = self.start([path], n, **source)
        before = self.count_kernel()
        (send or self.send_events)(process, log.events, host)
        counts = self.end(process)
        return np.load(self.folder / "out.npy"), counts, self.count_kernel() - before

    def check(self, path, host=HERE, send=None, by_kernel=False, n=600, **source):
        port = int(path.split("?")[0].split("@")[0].split(":")[-1])
        log = stations.Log(self.random, [port], n + 500, False)
        array, counts, in_kernel = self.receive(path, log, n, host, send, **source)
        np.testing.assert_array_equal(array, log.wanted(n))
        self.assertEqual(counts, {"packets": n})
        if by_kernel:
            self.assertGreaterEqual(in_kernel, n)
        else:
            self.assertEqual(in_kernel, 0)

    def refuse(self, paths, before=None):
        (self.folder / "graph.yaml").write_text(json.dumps({"stages": self.stages(paths)}))
        done = subprocess.run([graphs.COMMAND, "run", "graph.yaml"], cwd=self.folder, capture_output=True,
                              text=True, timeout=network.PATIENCE, preexec_fn=before)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"^graph.yaml:1:\d+: node 'station': ")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr


class Received(Wire):
    def test_as_by_others(self):
        """A stream with lost, late, doubled and alien packets is the same as by UDP, and as of a file."""
        log = stations.Log(self.random, [5000], 3500, True)
        found = {path: self.receive(path, log, 3200, window="10 ms")
                 for path in (f"xdp://{HERE}:5000@here", f"udp://{HERE}:5000")}
        by_xdp, by_udp = found.values()
        np.testing.assert_array_equal(by_xdp[0], log.wanted(3200))
        np.testing.assert_array_equal(by_udp[0], log.wanted(3200))
        self.assertEqual(by_xdp[1], by_udp[1])
        for name in "late", "duplicate", "stray", "corrupt", "truncated", "reordered", "flagged", "missing":
            self.assertGreater(by_xdp[1][name], 0, name)
        self.assertEqual(by_xdp[2], 0)
        self.assertGreater(by_udp[2], 3200)
        (self.folder / "file").write_bytes(b"".join(
            log.packet(0, i) for i in range(3200) if log.valid[0, i] or i in (0, 3199)))
        self.end(self.launch(self.stages(["file"], {"path": "file.npy"})))
        np.testing.assert_array_equal(np.load(self.folder / "file.npy"), by_xdp[0])

    def test_ports(self):
        """Two sources of several ports, each with a thread, have one program and its memory together."""
        ports = [[5000, 5001, 5002], [6000, 6001]]
        logs = [stations.Log(self.random, of, 1500, False) for of in ports]
        stages = {}
        for name, of in zip(("station", "other"), ports):
            stages[name] = {"stage": "lofar.source", "paths": [f"xdp://{HERE}:{port}@here" for port in of],
                            "window": "20 ms"}
            stages["out-" + name] = {"stage": "file.sink", "from": name, "path": name + ".npy"}
        process = self.launch(stages, stop=stations.time_after(1000 * SLOTS))
        self.wait_bound(process, ports[0])
        begin = 2 * len(ports[0])
        self.send_events(process, logs[0].events[:begin])
        self.wait_bound(process, ports[1])
        self.send_events(process, sorted(logs[0].events[begin:] + logs[1].events, key=lambda event: event[0]))
        self.assertEqual(self.end(process), {"packets": 3000})
        for name, log in zip(("station", "other"), logs):
            np.testing.assert_array_equal(np.load(self.folder / f"{name}.npy"), log.wanted(1000))

    def test_version_6(self):
        self.check(f"xdp://[{HERE_6}]:5000@here", HERE_6)

    def test_groups(self):
        """The kernel joins the group, so that switches deliver it, and AF_XDP receives it."""
        seen = []

        def send(process, events, host):
            for name in "igmp", "igmp6":
                with open(f"/proc/thread-self/net/{name}") as file:
                    seen.append(file.read().lower())
            self.send_events(process, events, host)
        self.check("xdp://239.1.2.3:5000@here", "239.1.2.3", send)
        self.assertIn("030201ef", seen[0])
        self.check("xdp://[ff15::42]:5001@here", "ff15::42", send)
        self.assertIn("ff150000000000000000000000000042", seen[3])

    def frames(self, kind, tag):
        """Sends frames that are written byte by byte, with a tag or what else belongs before the type."""
        raw = self.socket_there(socket.AF_PACKET, socket.SOCK_RAW)
        in_thread(lambda: (call("setns", self.there, CLONE_NEWNET), raw.bind(("there", 0))))
        with open("/proc/thread-self/net/if_inet6"):
            words = self.show().split()
        mac = bytes.fromhex(words[words.index("link/ether") + 1].replace(":", ""))

        def send(process, events, host):
            def frame(data):
                udp = struct.pack(">HHHH", 7777, 5000, 8 + len(data), 0) + data
                if kind == socket.AF_INET:
                    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0,
                                     socket.inet_aton(THERE), socket.inet_aton(HERE))
                    kind_bytes = b"\x08\x00"
                else:
                    ip = struct.pack(">IHBB16s16s", 6 << 28, len(udp), 17, 64, socket.inet_pton(kind, THERE_6),
                                     socket.inet_pton(kind, HERE_6))
                    kind_bytes = b"\x86\xdd"
                return mac + bytes(6) + tag + kind_bytes + ip + udp
            self.send_all([lambda data=data: raw.send(frame(data)) for _, _, data in events])
        return send

    def test_tags(self):
        """Frames of a VLAN, by either type of tag. Their datagrams have no checksum, which nobody looks at."""
        for tag in b"\x81\x00\x00\x05", b"\x88\xa8\x20\x07", b"":
            with self.subTest(tag):
                self.check(f"xdp://{HERE}:5000@here", send=self.frames(socket.AF_INET, tag))
        self.check(f"xdp://[{HERE_6}]:5000@here", send=self.frames(socket.AF_INET6, b"\x81\x00\x00\x05"))

    def test_fragments(self):
        """The kernel joins fragments, and what it makes is received, too."""
        self.ip_there("link", "set", "there", "mtu", "200")
        self.check(f"xdp://{HERE}:5000@here", by_kernel=True)

    def test_long_frames(self):
        """Packets as stations send them are longer than a buffer."""
        self.wire(mtu=9000)
        n, n_beamlets = 500, 122
        payloads = self.random.integers(-128, 128, (n + 500, n_beamlets, SLOTS, 2, 2), "i1")
        process = self.start([f"xdp://{HERE}:5000@here"], n)
        before = self.count_kernel()
        self.send_events(process, [(i, 5000, stations.make_packet(payloads[i].tobytes(), i, 0, n_beamlets))
                                   for i in range(n + 500)])
        self.assertEqual(self.end(process), {"packets": n})
        np.testing.assert_array_equal(np.load(self.folder / "out.npy"),
                                      payloads[:n].transpose(0, 2, 1, 3, 4).reshape(n * SLOTS, n_beamlets, 1, 2, 2))
        print(f"# {self.count_kernel() - before} of {n + 500} long packets came by the kernel")

    def test_queues(self):
        """A queue must be named if there are several; what comes by others has the way of the kernel."""
        self.wire(rx_queues=2, tx_queues_there=1)
        self.assertIn("wants one of the 2 queues of here, as in ?queue=1, but is given 'none'",
                      self.refuse([f"xdp://{HERE}:5000@here"]))
        self.assertIn("wants one of the 2 queues of here, as in ?queue=1, but is given 'queue=2'",
                      self.refuse([f"xdp://{HERE}:5000@here?queue=2"]))
        self.check(f"xdp://{HERE}:5000@here?queue=0")
        self.check(f"xdp://{HERE}:5001@here?queue=1", by_kernel=True)


class Others(Wire):
    def answers(self, kind, send, receive):
        kind.settimeout(network.PATIENCE)
        send()
        return receive()

    def test_other_traffic(self):
        """Other ports, other addresses, ICMP and TCP have the interface as without the run."""
        with contextlib.ExitStack() as stack:
            process = self.start([f"xdp://{HERE}:5000@here"], 600)
            log = stations.Log(self.random, [5000], 1100, False)
            self.send_events(process, log.events[:300])
            self.assertIn("prog/xdp", self.show())
            for address in (HERE, 5001), (ALSO_HERE, 5000), (HERE_6, 5000):
                family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
                here = stack.enter_context(socket.socket(family, socket.SOCK_DGRAM))
                here.bind(address)
                here.settimeout(network.PATIENCE)
                there = self.socket_there(family, socket.SOCK_DGRAM)
                there.settimeout(network.PATIENCE)
                there.sendto(b"question", address)
                data, sender = here.recvfrom(100)
                self.assertEqual(data, b"question")
                here.sendto(b"answer", sender)
                self.assertEqual(there.recv(100), b"answer")
            self.check_ping()
            self.check_stream(stack)
            self.send_events(process, log.events[300:])
            self.assertEqual(self.end(process), {"packets": 600})
            np.testing.assert_array_equal(np.load(self.folder / "out.npy"), log.wanted(600))

    def check_ping(self):
        ping = self.socket_there(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        ping.settimeout(network.PATIENCE)
        body = struct.pack(">BBHHH", 8, 0, 0, 77, 1) + b"cornerturn"
        total = sum(struct.unpack(f">{len(body) // 2}H", body))
        total = ~((total & 0xffff) + (total >> 16)) & 0xffff
        ping.sendto(body[:2] + struct.pack(">H", total) + body[4:], (HERE, 0))
        answer = ping.recv(100)
        self.assertEqual((answer[20], answer[24:]), (0, body[4:]))

    def check_stream(self, stack):
        server = stack.enter_context(socket.create_server((HERE, 5000)))
        server.settimeout(network.PATIENCE)
        client = self.socket_there(socket.AF_INET, socket.SOCK_STREAM)
        client.settimeout(network.PATIENCE)
        client.connect((HERE, 5000))
        connection = stack.enter_context(server.accept()[0])
        data = self.random.bytes(1 << 17)
        sender = threading.Thread(target=client.sendall, args=(data,))
        sender.start()
        received = b""
        while len(received) < len(data):
            received += connection.recv(1 << 16)
        sender.join()
        self.assertEqual(received, data)


class Ends(Wire):
    def test_nothing_left(self):
        """The kernel takes the program away with the process, however that ends."""
        for number in signal.SIGINT, signal.SIGKILL:
            with self.subTest(number):
                process = self.start([f"xdp://{HERE}:5000@here"], 600)
                self.assertIn("prog/xdp", self.show())
                process.send_signal(number)
                process.wait(network.PATIENCE)
                self.wait_until("a program that stays", lambda: "prog/xdp" not in self.show())

    def test_second_process(self):
        self.wire(rx_queues=2, tx_queues_there=1)
        first = self.start([f"xdp://{HERE}:5000@here?queue=0"], 600)
        self.assertIn("another process receives from this queue of the interface by AF_XDP: Device or resource busy",
                      self.refuse([f"xdp://{HERE}:5001@here?queue=0"]))
        self.assertIn("the interface has a program of XDP already, of another process: Device or resource busy",
                      self.refuse([f"xdp://{HERE}:5001@here?queue=1"]))
        log = stations.Log(self.random, [5000], 1100, False)
        self.send_events(first, log.events)
        self.assertEqual(self.end(first), {"packets": 600})
        np.testing.assert_array_equal(np.load(self.folder / "out.npy"), log.wanted(600))

    def test_interface_removed(self):
        """Nothing comes any more, as by UDP, and an interrupt ends the run."""
        process = self.start([f"xdp://{HERE}:5000@here"], 8000)
        log = stations.Log(self.random, [5000], 2000, False)
        self.send_events(process, log.events)
        self.wait_until("no samples", lambda: self.counters(process)["packets"] >= 1000)
        self.unwire()
        process.send_signal(signal.SIGINT)
        self.assertIn("interrupted by SIGINT", self.end(process, 130))
        array = np.load(self.folder / "out.npy")
        np.testing.assert_array_equal(array, log.wanted(2000)[:len(array)])


class Errors(Wire):
    def test_paths(self):
        for path, message in (
                (f"xdp://{HERE}:5000", "wants xdp://ADDRESS:PORT@INTERFACE, but is given"),
                ("xdp://here", "wants xdp://ADDRESS:PORT@INTERFACE, but is given"),
                ("xdp://station:5000@here", "wants an address as 10.0.0.1 or [fd00::1], but is given 'station'"),
                (f"xdp://{HERE}:0@here", "wants a port from 1 to 65535, but is given '0'"),
                (f"xdp://{HERE}:5000@none0", "wants the name of an interface of this machine, but is given 'none0'"),
                ("xdp://0.0.0.0:5000@here", "wants the address to which datagrams are sent, but is given"),
                ("xdp://[::]:5000@here", "wants the address to which datagrams are sent, but is given"),
                (f"xdp://{HERE}:5000@here?queue=1", "wants one of the 1 queues of here, as in ?queue=0, but is given "
                                                    "'queue=1'"),
                (f"xdp://{HERE}:5000@here?queue=", "but is given 'queue='"),
                (f"xdp://{HERE}:5000@here?line=0", "but is given 'line=0'"),
                (f"xdp://{THERE}:5000@here", "can't be received from: Cannot assign requested address")):
            with self.subTest(path):
                error = self.refuse([path])
                self.assertIn(f"{path}: ", error)
                self.assertIn(message, error)
                self.assertNotIn("prog/xdp", self.show())

    def test_same_group_twice(self):
        self.assertIn("the process receives from this address already: File exists",
                      self.refuse(["xdp://239.1.2.3:5000@here", "xdp://239.1.2.3:5000@here?queue=0"]))

    def test_port_in_use(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind((HERE, 5000))
            self.assertIn("can't be received from: Address already in use",
                          self.refuse([f"xdp://{HERE}:5000@here"]))

    def drop(self, *names):
        def before():
            for name in names:
                call("prctl", PR_CAPBSET_DROP, CAPABILITIES[name], 0, 0, 0)
        return before

    def test_privileges(self):
        for names in (("CAP_NET_RAW",), ("CAP_NET_ADMIN", "CAP_SYS_ADMIN"), ("CAP_BPF", "CAP_SYS_ADMIN")):
            with self.subTest(names):
                self.assertIn("wants the privileges CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF, but the process lacks "
                              "some of them", self.refuse([f"xdp://{HERE}:5000@here"], self.drop(*names)))

    def test_enough_privileges(self):
        """With those that the message names, all but the address is right."""
        def before():
            for number in range(41):
                if number not in (CAPABILITIES[name] for name in ("CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_BPF",
                                                                  "CAP_IPC_LOCK")):
                    call("prctl", PR_CAPBSET_DROP, number, 0, 0, 0)
        self.assertIn("Cannot assign requested address", self.refuse([f"xdp://{THERE}:5000@here"], before))

    def test_locked_memory(self):
        def before():
            self.drop("CAP_IPC_LOCK")()
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (1 << 20, 1 << 20))
        self.assertIn("wants 65536 KiB of locked memory, but the limit of the process is 1024 KiB (ulimit -l)",
                      self.refuse([f"xdp://{HERE}:5000@here"], before))

    def test_interface_without(self):
        """A virtual interface takes no program if its queues are fewer than the other's."""
        self.wire(rx_queues=1, tx_queues_there=2)
        self.assertIn("the interface does not take a program of XDP: No space left on device",
                      self.refuse([f"xdp://{HERE}:5000@here"]))


class Missing(stations.Station):
    def test_library(self):
        """A build without the library says so; one with it has no such interface."""
        error = self.end(self.launch(self.stages(["xdp://10.0.0.1:5000@none0"])), 1)
        self.assertRegex(error, r"xdp://10.0.0.1:5000@none0: wants (libxdp \(libxdp-dev\), without which Cornerturn has "
                                r"been built|the name of an interface of this machine, but is given 'none0')\n")


if __name__ == "__main__":
    tap.main()
