#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Captures and arrays with random faults, against the possible results of a correct reader.

A capture is a list of packets, each with known samples of one lane (thread, port). Faults lose,
double, swap, delay, cut and damage packets. Whatever the faults are:

- valid samples have the values that the instrument gave at that time, in that lane;
- a whole packet is valid, unless the rules of packets.h doubt it.

A reader finds packets by their headers only, and headers by the bits that all headers of a stream
have in common. So it can't notice lost bytes if the pieces add up to the length of packets, or if
the file ends within the first bytes of a possible header and none of those bits are among them.

CORNERTURN_MUTATIONS is the number of captures of each format, CORNERTURN_SEED the seed of the
first; the seeds of FIXED are added."""
import dataclasses
import json
import os
import struct
import unittest

import numpy as np

import graphs
import tap

N = int(os.environ.get("CORNERTURN_MUTATIONS", "120"))
SEED = int(os.environ.get("CORNERTURN_SEED", "1"))
AT_ONCE = 20
FIXED = {
    "vdif": [354, 42426,  # the next frame begins within the last one that fits into the file
             101478],     # the file ends within the first bytes of a possible header
    "lofar": [40959, 42482, 42505,  # the rest of the file has no header
              42114,                # fewer bytes follow than a header has, and they can't begin one
              100933,               # a copy is beside a packet with a wrong time
              65653501177,          # foreign bytes after the next packet make up for lost ones
              700583],              # two packets claim one time: one is out of order, one has a wrong time
}


@dataclasses.dataclass
class Packet:
    data: bytes
    lane: int
    place: int       # in packets from the beginning of the capture
    whole: bool = True
    flipped: bool = False


class Vdif:
    """A file with two threads of frames of 128 samples."""
    name, n_lanes, n_samples, header_bytes, rate = "vdif", 2, 128, 32, 1024000
    second, start = 14363767, 1402898167 * 1024000
    marks = struct.pack("<8I", 1 << 30, 0, 0xffffffff, 0xfc << 24, 0xff << 24, 0, 0, 0)

    def make(self, generator, n):
        self.codes = generator.integers(0, 4, (self.n_lanes, n * self.n_samples))
        levels = np.array([-3.316505, -1, 1, 3.316505], np.float32)
        self.values = levels[self.codes].T
        return [[Packet(self.packet(lane, i), lane, i) for i in range(n) for lane in range(2)]]

    def packet(self, lane, i):
        codes = self.codes[lane, i * self.n_samples:][:self.n_samples].astype(np.uint32)
        words = np.zeros(8, np.uint32)
        for k in range(16):
            words |= codes[k::16] << np.uint32(2 * k)
        return struct.pack("<8I", self.second, 28 << 24 | i, 1 << 29 | 8, 1 << 26 | lane << 16 | 7,
                           0, 0, 0, 0) + words.astype("<u4").tobytes()

    def claim(self, data):
        """Lane and place according to the header; None: it is not a header of these frames."""
        word = struct.unpack_from("<8I", data)
        good = (word[0] & 1 << 30, word[2], word[3] >> 26, word[4] >> 24) == (0, 1 << 29 | 8, 1, 0)
        place = word[1] & 0xffffff
        lane = word[3] >> 16 & 1023
        if not good or word[1] >> 24 & 63 != 28 or place >= 8000 or word[3] & 0xffff != 7 or lane > 1:
            return None
        return lane, place + ((word[0] & (1 << 30) - 1) - self.second) * 8000

    def is_flagged(self, data):
        return data[3] >> 7

    def stage(self, paths):
        return {"stage": "vdif.source", "path": paths[0], "sample_rate": "1.024 MHz"}


class Lofar:
    """Two ports with packets of 16 samples of 3 beamlets, in a file each."""
    name, n_lanes, n_samples, header_bytes, rate = "lofar", 2, 16, 16, 200000000
    second = 1656466200
    start = ((second * 200000000 + 512) // 1024 + 160) * 1024
    marks = struct.pack("<BHBHBBII", 255, 0x39f, 255, 0xffff, 255, 255, 0, 0)

    def make(self, generator, n):
        values = generator.integers(1, 128, (n * self.n_samples, 2 * 3 * 2 * 2), np.int8)
        self.values = values * generator.choice(np.array([-1, 1], np.int8), values.shape)
        return [[Packet(self.packet(lane, i), lane, i) for i in range(n)] for lane in range(2)]

    def packet(self, lane, i):
        part = self.values[i * 16:][:16, 12 * lane:][:, :12].reshape(16, 3, 4)
        return struct.pack("<BHBHBBII", 3, 1 << 7 | 1 << 8, 0, 214 * 32, 3, 16, self.second,
                           160 + 16 * i) + part.transpose(1, 0, 2).tobytes()

    def claim(self, data):
        version, source, configuration, station, n, slots, second, sequence = struct.unpack_from(
            "<BHBHBBII", data)
        if (version, source & 0x39f, configuration, station, n, slots) != (
                3, 1 << 7 | 1 << 8, 0, 214 * 32, 3, 16) or sequence > 195312:
            return None
        stamp = (second * 200000000 + 512) // 1024 + sequence - self.start // 1024
        return None, stamp / 16

    def is_flagged(self, data):
        return data[1] >> 6 & 1

    def stage(self, paths):
        return {"stage": "lofar.source", "paths": paths}


def near(packets, at, distance=5):
    return packets[max(at - distance, 0):at + distance + 1]


def mutate(generator, packets):
    """Makes some faults, in place. A header is only damaged if all packets near it are intact."""
    pristine = {id(packet) for packet in packets}
    for _ in range(generator.integers(1, 6)):
        at = int(generator.integers(len(packets)))
        packet = packets[at]
        kind = generator.integers(7)
        if kind == 0:
            pristine -= {id(other) for other in near(packets, at, 13)}
            del packets[at:at + int(generator.integers(1, 4))]
        elif kind == 1:
            copy = dataclasses.replace(packet)
            packets.insert(int(generator.choice([at + 1, generator.integers(len(packets))])), copy)
        elif kind == 2 and at + 1 < len(packets):
            packets[at:at + 2] = packets[at:at + 2][::-1]
        elif kind == 3:
            packets.insert(min(at + int(generator.integers(1, 12)), len(packets)), packets.pop(at))
        elif kind == 4:
            packets[at] = dataclasses.replace(
                packet, data=packet.data[:int(generator.integers(1, len(packet.data)))],
                whole=False)
        elif kind == 5:
            packets[at] = dataclasses.replace(
                packet, data=bytes(len(packet.data)), whole=False)
        elif kind == 6:
            packets.insert(at, Packet(generator.bytes(int(generator.integers(1, 300))), -1, -1, False))
        # Headers are damaged last, where packets are still intact.
        pristine -= {id(other) for other in near(packets, at, 13)}
    for _ in range(generator.integers(3)):
        good = [i for i, packet in enumerate(packets)
                if all(id(other) in pristine for other in near(packets, i))]
        if good:
            at = int(generator.choice(good))
            data = bytearray(packets[at].data)
            bit = int(generator.integers(8 * 16))
            data[bit // 8] ^= 1 << bit % 8
            pristine -= {id(other) for other in near(packets, at, 13)}
            packets[at] = dataclasses.replace(packets[at], data=bytes(data), flipped=True)
    if generator.integers(8) == 0:
        packets[-1] = dataclasses.replace(packets[-1], data=packets[-1].data[:20], whole=False)


def hidden_cuts(capture, packets):
    """The claims of packets that have lost bytes without any trace in the file."""
    pristine = capture.packet(0, 0)
    size, file = len(pristine), b"".join(packet.data for packet in packets)
    begins = np.cumsum([0] + [len(packet.data) for packet in packets])
    headers = [int(begin) for begin, packet in zip(begins, packets)
               if packet.whole and capture.claim(packet.data)]
    for begin, packet in zip(begins.tolist(), packets):
        claimed = capture.claim(file[begin:begin + size]) if begin + size <= len(file) else None
        if packet.whole or not claimed:
            continue
        following = min((at for at in headers if at > begin), default=len(file))
        left = file[begin + size:]
        unmarked = following == len(file) and len(left) < capture.header_bytes and not any(
            (a ^ b) & mark for a, b, mark in zip(left, pristine, capture.marks))
        if (following - begin) % size == 0 or unmarked:
            yield claimed


def judge(capture, packets, port):
    """The (lane, place) that must be valid, and those that may have any values: those of hidden
    cuts, and those that a damaged header claims at an end of the file, where little contradicts it.
    Packets near lost bytes need not be valid."""
    def read(packet):
        claimed = capture.claim(packet.data) if packet.whole else None
        return claimed and (port if claimed[0] is None else claimed[0], claimed[1])

    def claim(i):
        """The claim of packet i, if a packet of its length, or the end, follows."""
        is_cut = i + 1 < len(packets) and len(packets[i + 1].data) != len(packets[i].data)
        return None if is_cut else read(packets[i])

    damaged = {read(packet) for packet in packets if packet.flipped}
    found = [(packet, claim(i)) for i, packet in enumerate(packets)]
    must, claims = set(), {}
    free = {((port if lane is None else lane, place), True)
            for lane, place in hidden_cuts(capture, packets)}
    for packet, claimed in found:
        claims.setdefault(claimed, []).append(packet)
    for i, (packet, claimed) in enumerate(found):
        said = read(packet)
        if packet.flipped and said not in (None, (packet.lane, packet.place)):
            free.add((said, i < 4 or i >= len(found) - 4))
            continue
        if claimed is None:
            continue
        same = [(p, c) for p, c in found if c and c[0] == claimed[0]]
        at = [p for p, _ in same].index(packet)
        doubted = claimed in damaged
        doubted |= not all(other.whole for other in near(packets, i, 4))
        before, after = ([c[1] for _, c in same[max(at - 1, 0):at]],
                         [c[1] for _, c in same[at + 1:at + 2]])
        if before and after and after[0] - before[0] == 2 and claimed[1] != before[0] + 1:
            doubted |= (claimed[0], before[0] + 1) not in claims
        if not before or not after:
            others = [c[1] for p, c in same if p is not packet]
            doubted |= not others or min(abs(claimed[1] - o) for o in others) > 1
        if not doubted and not capture.is_flagged(packet.data):
            must.add(claimed)
    return must, {claimed for claimed, is_end in free if is_end}


class Captures(graphs.GraphTest):
    def check(self, capture, files, n, array, beside):
        """Compares the output with the original samples."""
        per = capture.n_samples
        width = capture.values.shape[1] // capture.n_lanes
        array = array.reshape(len(array), -1)
        begin = (beside["start"] - capture.start) // beside["ticks_per_sample"]
        for port, packets in enumerate(files):
            must, free = judge(capture, packets, port)
            for lane in range(capture.n_lanes) if len(files) == 1 else [port]:
                part = array[:, width * lane:width * (lane + 1)]
                true = capture.values[:, width * lane:width * (lane + 1)]
                valid = (part != 0).any(1)
                inside = np.arange(len(part)) + begin
                known = (inside >= 0) & (inside < len(true))
                same = np.zeros(len(part), bool)
                same[known] = (part[known] == true[inside[known]]).all(1)
                allowed = np.zeros(len(part), bool)
                for at_lane, place in free:
                    if at_lane == lane:
                        first = int(place * per) - begin
                        allowed[max(first, 0):max(first + per, 0)] = True
                wrong = np.flatnonzero(valid & ~same & ~allowed)
                self.assertEqual(wrong.tolist(), [], f"lane {lane}: valid, but wrong")
                for at_lane, place in must:
                    first = int(place * per) - begin
                    if at_lane == lane:
                        self.assertTrue(first >= 0 and valid[first:first + per].sum() == per,
                                        f"lane {lane}: packet {place} is whole, but invalid")

    def run_captures(self, capture, seeds):
        stages, made = {}, {}
        for seed in seeds:
            generator = np.random.default_rng(seed)
            n = int(generator.integers(24, 60))
            own = capture()
            files = own.make(generator, n)
            for i, packets in enumerate(files):
                mutate(generator, packets)
                (self.folder / f"{seed}.{i}").write_bytes(b"".join(p.data for p in packets))
            made[seed] = own, files, n
            stages[f"in{seed}"] = own.stage([f"{seed}.{i}" for i in range(len(files))])
            stages[f"out{seed}"] = {"stage": "file.sink", "from": f"in{seed}", "path": f"{seed}.npy",
                                    "layout": "[time pol]" if capture is Vdif else
                                              "[time subband station pol]"}
        self.run_graph(stages, "--workers", "1")
        for seed, (own, files, n) in made.items():
            with self.subTest(format=capture.name, seed=seed):
                beside = json.loads((self.folder / f"{seed}.npy.json").read_text())
                self.check(own, files, n, np.load(self.folder / f"{seed}.npy"), beside)

    def run_all(self, capture):
        seeds = FIXED[capture.name] + list(range(SEED, SEED + N))
        for begin in range(0, len(seeds), AT_ONCE):
            self.run_captures(capture, dict.fromkeys(seeds[begin:begin + AT_ONCE]))

    def test_vdif(self):
        self.run_all(Vdif)

    def test_lofar(self):
        self.run_all(Lofar)


class Arrays(graphs.GraphTest):
    def test_npy(self):
        """A damaged array is read as NumPy reads it, or it is an error."""
        n_read = 0
        for seed in range(SEED, SEED + N // 2):
            generator = np.random.default_rng(seed)
            array = generator.integers(-99, 99, (40, 3)).astype(generator.choice(["i1", "i2", "f4"]))
            np.save(self.folder / "in.npy", array)
            data = bytearray((self.folder / "in.npy").read_bytes())
            kind = generator.integers(3)
            if kind == 0:
                bit = int(generator.integers(8 * 100))
                data[bit // 8] ^= 1 << bit % 8
            elif kind == 1:
                del data[int(generator.integers(len(data))):]
            else:
                data += generator.bytes(int(generator.integers(1, 99)))
            (self.folder / "in.npy").write_bytes(data)
            name = {"i1": "i8", "i2": "i16", "f4": "f32"}[array.dtype.str[1:]]
            process = self.start({
                "x": {"stage": "file.source", "path": "in.npy", "layout": f"{name}[time pol]"},
                "y": {"stage": "file.sink", "from": "x", "path": "out.npy"}})
            _, errors = process.communicate(timeout=120)
            with self.subTest(seed=seed):
                self.assertIn(process.returncode, (0, 1), errors)
                if process.returncode == 0:
                    n_read += 1
                    wanted = np.load(self.folder / "in.npy")
                    given = np.load(self.folder / "out.npy")
                    np.testing.assert_array_equal(given.view(f"V{given.itemsize}"),
                                                  np.ascontiguousarray(wanted).astype(
                                                      given.dtype).view(f"V{given.itemsize}"))
                else:
                    self.assertEqual(len(errors.strip().splitlines()), 1, errors)
        self.assertGreater(n_read, 0)


if __name__ == "__main__":
    print(f"# CORNERTURN_SEED={SEED} CORNERTURN_MUTATIONS={N}", flush=True)
    tap.main()
