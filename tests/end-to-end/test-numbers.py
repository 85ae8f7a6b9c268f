#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Parameters with large values: a number that can't be represented is an error, never another
number. With sanitizers, an overflow of signed numbers ends the command."""
import json
import os
import struct
import subprocess
import unittest

import numpy as np

import graphs
import tap

SEED = int(os.environ.get("CORNERTURN_SEED", "1"))
N = int(os.environ.get("CORNERTURN_MUTATIONS", "60"))
INTEGERS = [0, 1, 2, 1000, 2 ** 31, 2 ** 40, 2 ** 53, 2 ** 61, 2 ** 62, 2 ** 63 - 1]
RATES = ["1 kHz", "1e15 Hz", "1e-9 Hz", "0.3 Hz", "1e12 Hz", "999999999999999 Hz"]


class Numbers(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        np.save(self.folder / "x.npy", np.ones((200, 2), np.complex64))
        np.save(self.folder / "w.npy", np.ones((5, 3, 2), np.complex64))

    def source(self, path, layout, **more):
        return {"stage": "file.source", "path": path, "layout": layout, **more}

    def command(self, *arguments):
        done = subprocess.run([graphs.COMMAND, *arguments], cwd=self.folder, text=True,
                              capture_output=True, timeout=120)
        self.assertIn(done.returncode, (0, 1, 2), f"{arguments}\n{done.stdout}\n{done.stderr}")
        self.assertNotIn("runtime error", done.stderr)
        return done

    def test_start(self):
        """Ticks must be within ±2^62."""
        for start, ticks, good in ((2 ** 62 - 200, 1, True), (2 ** 62 - 199, 1, False),
                                   (-2 ** 62, 1, True), (-2 ** 62 - 1, 1, False),
                                   (2 ** 63 - 1, 1, False), (-2 ** 63, 1, False),
                                   (2 ** 62 - 200 * 10 ** 12, 10 ** 12, True),
                                   (2 ** 62 - 200 * 10 ** 12 + 1, 10 ** 12, False)):
            with self.subTest(start=start, ticks=ticks):
                stages = {
                    "x": self.source("x.npy", "[time station]", sample_rate="1 Hz", start=start,
                                     ticks_per_sample=ticks),
                    "y": {"stage": "file.sink", "from": "x", "path": "y.npy"}}
                if good:
                    self.run_graph(stages)
                    beside = json.loads((self.folder / "y.npy.json").read_text())
                    self.assertEqual(beside["start"], start)
                else:
                    self.assertRegex(self.fail_graph(stages),
                                     "^graph.yaml:3:3: node 'x': output 'samples' wants ticks within "
                                     rf"±2\^62, but begins at {start} with cf32, time 200, station 2 "
                                     f"of {ticks} ticks")

    def test_epochs(self):
        """Inputs with the same clock but different epochs can't be aligned."""
        stages = {
            "a": self.source("x.npy", "[time station]", sample_rate="1 kHz", epoch="0"),
            "b": self.source("x.npy", "[time station]", sample_rate="1 kHz", epoch="1"),
            "y": {"stage": "stack", "from": ["a", "b"], "axis": "pol"},
            "out": {"stage": "discard", "from": "y"}}
        self.assertIn("count their ticks from different epochs", self.fail_graph(stages))

    def test_any(self):
        """Random graphs with such numbers are planned, or refused with one line."""
        n_good = 0
        for seed in range(SEED, SEED + N):
            generator = np.random.default_rng(seed)

            def any_of(values, but_seldom):
                return generator.choice(values) if generator.integers(3) == 0 else but_seldom

            def integer(usual):
                number = int(any_of(INTEGERS, usual))
                return -number if number != usual and generator.integers(6) == 0 else number

            def rate():
                return str(any_of(RATES, "1 kHz"))

            stages = {
                "x": self.source("x.npy", "[time station]", sample_rate=rate(), start=integer(0),
                                 ticks_per_sample=integer(1), epoch=str(integer(0)),
                                 centre_frequency="1 MHz", block={"time": max(integer(64), 1)}),
                "w": self.source("w.npy", "[time beam station]", sample_rate=rate(),
                                 start=integer(0), epoch="0"),
                "g": {"stage": "generate", "type": "ci8", "sample_rate": rate(), "noise": 1,
                      "start": integer(0), "samples": integer(100), "seed": integer(1)},
                "delayed": {"stage": "delay", "from": "x",
                            "constant": ["0 s", f"{integer(1)}e-3 s"]},
                "filter": {"stage": "fir", "from": "delayed", "n_channels": integer(4),
                           "n_taps": integer(4), "hop": integer(4)},
                "spectra": {"stage": "fft", "from": "filter"},
                "sum": {"stage": "integrate", "from": "spectra", "length": integer(10)},
                "beams": {"stage": "beamform", "from": {"voltages": "x", "weights": "w"}},
                "power": {"stage": "power", "from": "beams"},
            }
            ends = [str(end) for end in generator.permutation(["g", "sum", "power", "spectra"])[:2]]
            needed = set(ends)
            for name in ("power", "beams", "sum", "spectra", "filter", "delayed"):
                origin = stages[name]["from"]
                if name in needed:
                    needed |= set(origin.values()) if isinstance(origin, dict) else {origin}
            stages = {name: stage for name, stage in stages.items() if name in needed}
            for end in ends:
                stages["to-" + end] = {"stage": "discard", "from": end}
            name = self.write(stages)
            with self.subTest(seed=seed):
                for arguments in (["check", name], ["plan", name, "--missing", str(integer(16) or 1)],
                                  ["plan", name, "--capacity"]):
                    done = self.command(*arguments)
                    n_good += done.returncode == 0
                    if done.returncode:
                        self.assertRegex(done.stderr, r"^((graph.yaml:\d+:\d+: node '[^\n]+\n)+|"
                                                      r"cornerturn plan: --missing [^\n]+\n)$")
        self.assertGreater(n_good, 0)

    def test_vdif(self):
        """Seconds, epochs, frame numbers and rates in headers."""
        for seed in range(SEED, SEED + N):
            generator = np.random.default_rng(seed)
            edv = int(generator.choice([0, 1, 3]))
            payload = 5000 if edv == 3 else 32
            epoch, unit = int(generator.choice([0, 28, 63])), int(generator.integers(2)) << 23
            rate = int(generator.choice([1, 16, 2 ** 23 - 1])) | unit
            second = int(generator.choice([0, 1, 2 ** 29, 2 ** 30 - 10]))
            frames = b""
            for i in range(12):
                wild = [int(generator.integers(1 << 30)), int(generator.integers(64)),
                        int(generator.integers(1 << 24))] if generator.integers(4) == 0 else [
                            second + i // 4, epoch, i % 4]
                frames += struct.pack("<8I", wild[0], wild[1] << 24 | wild[2],
                                      1 << 29 | (payload + 32) // 8, 1 << 26, edv << 24 | rate,
                                      0xacabfeed if edv else 0, 0, 0) + bytes(payload)
            (self.folder / "a.vdif").write_bytes(frames)
            given = {} if generator.integers(2) else {"sample_rate": "1.024e12 Hz"}
            name = self.write({
                "x": {"stage": "vdif.source", "path": "a.vdif", "max_gap": "86400 s", **given},
                "y": {"stage": "discard", "from": "x"}})
            with self.subTest(seed=seed):
                done = self.command("check", name)
                if done.returncode:
                    self.assertRegex(done.stderr, "^graph.yaml:[^\n]+\n$")


if __name__ == "__main__":
    print(f"# CORNERTURN_SEED={SEED} CORNERTURN_MUTATIONS={N}", flush=True)
    tap.main()
