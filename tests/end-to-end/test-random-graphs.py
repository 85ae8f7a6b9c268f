#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random graphs with random variants, places, blocks, caches and workers, against the same graph
with the reference variants on one worker. CORNERTURN_SEED makes other graphs, CORNERTURN_GRAPHS
more."""
import os
import pathlib
import random
import subprocess
import unittest

import numpy

import graphs
import pipeline
import tap

SEED = int(os.environ.get("CORNERTURN_SEED", random.SystemRandom().randrange(1 << 31)))
SANITIZED = os.environ.get("CORNERTURN_SANITIZER", "none") != "none"
N_GRAPHS = int(os.environ.get("CORNERTURN_GRAPHS", 10 if SANITIZED else 30))
MOST_NODES = 14
MOST_STATIONS = 6
MOST_JITTER = 10e6  # microseconds for all operations of a graph together
EMULATED = "CORNERTURN_TEST_BACKEND" in os.environ
HAS_DEVICE = pipeline.has_device()
BACKENDS = (["cpu"] + 3 * ["cuda:0"] + ["cuda:1"] * EMULATED if HAS_DEVICE
            else ["cpu", "cpu", "reference"])
# No sum has more terms. For noise, the sum of the absolute values is some ten times the sum; this
# is the bound for as many single-precision sums in a row as there are nodes.
MOST_TERMS = 100
TOLERANCE = MOST_NODES * MOST_TERMS * 10 * 2.0 ** -24


class Stream:
    """An output: its type, axes, channels, stations, and the ticks of its samples."""

    def __init__(self, node, kind, axes, n_channels=1, n_stations=2, ticks=1, start=0):
        self.node, self.kind, self.axes = node, kind, axes
        self.n_channels, self.n_stations, self.ticks = n_channels, n_stations, ticks
        self.start = start

    def goes_with(self, other):
        """Whether the two can be stacked; they may begin at different ticks."""
        return (other is not self and self.n_stations + other.n_stations <= MOST_STATIONS and
                (self.kind, self.axes, self.n_channels, self.ticks) ==
                (other.kind, other.axes, other.n_channels, other.ticks) and
                (self.start - other.start) % self.ticks == 0)


class Maker:
    """Makes a graph node by node, from a sky with gaps."""

    def __init__(self, numbers):
        self.numbers = numbers
        samples = numbers.choice([1, 7, 63, 500, 1999, 4096, numbers.randrange(1, 9000)])
        start = numbers.choice([0, 0, 1, -77, 1 << 50])
        gaps = [[numbers.choice([-1, 0, 1]), start + numbers.randrange(samples),
                 numbers.randrange(1, 200)]
                for _ in range(numbers.randrange(4))]
        self.stages = {"sky": {
            "stage": "generate", "sample_rate": "1 MHz", "centre_frequency": "10 MHz",
            "samples": samples, "start": start, "n_stations": 2, "n_pols": 2, "type": "ci8",
            "block": {"time": numbers.choice([1, 16, 64, 100, 333, 1024])},
            **({"invalid": gaps} if gaps else {})}}
        self.streams = [Stream("sky", "ci8", ("time", "station", "pol"), start=start)]
        self.read = set()
        if numbers.randrange(2):
            # These are two ways, one of which is late.
            self.convert(self.streams[0])
            self.delay(self.streams[1])
            self.stack(self.streams[numbers.choice([1, 1, 2])])
        n_nodes = numbers.randrange(3, MOST_NODES - 1)
        while len(self.stages) < n_nodes:
            stream = numbers.choice(self.streams)
            ways = self.ways(stream)
            if ways:
                numbers.choice(ways)(stream)
        for name in list(self.stages):
            if name not in self.read:
                self.stages["o" + name] = {"stage": "file.sink", "from": name,
                                           "path": f"{name}.npy"}

    def ways(self, stream):
        """The functions that can add a node to the stream."""
        has_channels = "channel" in stream.axes
        found = [self.transpose]
        if stream.kind == "ci8":
            found += [self.convert]
        if stream.kind in ("ci8", "cf32"):
            found += [self.power]
            found += [] if has_channels else 2 * [self.filter_bank]
        if stream.kind in ("cf32", "f32"):
            found += [self.integrate]
        if stream.kind == "cf32":
            found += 2 * [self.quantise]
            found += [] if has_channels else 2 * [self.spectrum]
            if has_channels:
                found += 3 * [self.correlate]
            elif stream.axes:
                found += 3 * [self.delay]
        if any(stream.goes_with(other) for other in self.streams):
            found += 3 * [self.stack]
        return found if stream.axes else []

    def add(self, stream, kind=None, axes=None, step=1, late=0, channels=None, n_stations=None,
            **stage):
        name = f"n{len(self.stages)}"
        self.stages[name] = {"from": stream.node, **stage}
        self.read.add(stream.node)
        made = Stream(name, kind or stream.kind, stream.axes if axes is None else axes,
                      channels or stream.n_channels, n_stations or stream.n_stations,
                      stream.ticks * step, stream.start + late)
        self.streams.append(made)
        return made

    def transpose(self, stream):
        axes = self.numbers.sample(stream.axes, len(stream.axes))
        self.add(stream, stage="transpose", layout=f"[{' '.join(axes)}]")

    def convert(self, stream):
        self.add(stream, "cf32", stage="convert", type="cf32")

    def power(self, stream):
        self.add(stream, "f32", stage="power")

    def quantise(self, stream):
        self.add(stream, "ci16", stage="quantise", type="ci16", scale=0.01)

    def integrate(self, stream):
        length = self.numbers.choice([1, 2, 3, 5, 16, 37])
        self.add(stream, step=length, stage="integrate", length=length)

    def filter_bank(self, stream):
        n_taps = self.numbers.choice([1, 4, 7])
        hop = self.numbers.choice([8, 8, 4, 6, 3, 11, 16])
        phases = self.add(stream, "cf32", (), hop, stage="fir", n_channels=8, n_taps=n_taps,
                          hop=hop)
        self.add(phases, axes=stream.axes + ("channel",), channels=8, stage="fft")

    def spectrum(self, stream):
        self.add(stream, axes=stream.axes + ("channel",), step=16, channels=16, stage="fft",
                 axis="time", length=16)

    def delay(self, stream):
        longest = self.numbers.choice([3, 40, 700])
        delays = [self.numbers.randrange(-longest, longest + 1) * stream.ticks
                  for _ in range(stream.n_stations)]
        self.add(stream, late=max(delays), stage="delay",
                 constant=[f"{delay} us" for delay in delays])

    def correlate(self, stream):
        integration = self.numbers.choice([1, 3, 8, MOST_TERMS])
        made = self.add(stream, axes=(), stage="correlate", integration=integration)
        self.stages["w" + made.node] = {"stage": "file.sink", "from": made.node + ".weights",
                                        "path": f"w{made.node}.npy"}
        self.read.add("w" + made.node)

    def stack(self, stream):
        other = self.numbers.choice([other for other in self.streams if stream.goes_with(other)])
        self.add(stream, late=min(other.start - stream.start, 0), stage="stack", axis="station",
                 n_stations=stream.n_stations + other.n_stations,
                 **{"from": [stream.node, other.node]})
        self.read.add(other.node)


class RandomGraphs(graphs.GraphTest):
    def run_in(self, folder, stages, *arguments, **environment):
        (self.folder / folder).mkdir()
        graph = pathlib.Path(folder) / self.write(stages, f"{folder}/graph.yaml")
        done = subprocess.run(
            [graphs.COMMAND, "run", "--quiet", "--poison", graph.name, *arguments],
            cwd=self.folder / folder, capture_output=True, text=True, timeout=120,
            env={**os.environ, **environment}, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def compare(self, name):
        wanted, given = (numpy.load(self.folder / folder / name) for folder in ("wanted", "given"))
        self.assertEqual((wanted.dtype, wanted.shape), (given.dtype, given.shape), name)
        if wanted.dtype.kind in "fc":
            most = TOLERANCE * abs(wanted).max(initial=0)
        else:
            # Weights are exact; a number that is quantised may have been half-way between two
            # levels.
            most = 0 if name.startswith("w") else 1
        apart = abs(wanted.astype(complex) - given.astype(complex))
        self.assertLessEqual(apart.max(initial=0), most * 2 ** 0.5, name)

    def one(self, seed):
        numbers = random.Random(seed)
        stages = Maker(numbers).stages
        inner = [name for name, stage in stages.items() if stage["stage"] != "file.sink"]
        both = [["--default-layouts"], []][numbers.randrange(2)]
        if numbers.randrange(4) == 0:
            both += ["--duration", f"{numbers.randrange(1, 700)} us"]
        self.run_in("wanted", stages, "--backend", "reference", "--workers", "1", *both)
        own = ["--workers", str(numbers.choice([1, 2]))]
        own += numbers.choice([[], ["--cache", "4096"], ["--cache", "1"]])
        if HAS_DEVICE:
            own += ["--in-flight", str(numbers.choice([1, 2, 3, 5]))]
            own += ["--device-block", str(numbers.choice([512, 4096, 65536]))]
        for name in inner:
            stages[name]["backend"] = numbers.choice(BACKENDS)
        sky = stages["sky"]
        n_firings = sky["samples"] // (1 if "--cache 1" in " ".join(own) else sky["block"]["time"]) + 1
        jitter = min(numbers.choice([0, 0, 300, 2000]), MOST_JITTER // (n_firings * MOST_NODES))
        emulator = {"CORNERTURN_EMULATOR_DEVICES": "2", "CORNERTURN_EMULATOR_SEED": str(seed),
                    "CORNERTURN_EMULATOR_JITTER": str(int(jitter))}
        self.run_in("given", stages, *own, *both, **(emulator if EMULATED else {}))
        for path in sorted((self.folder / "wanted").glob("*.npy")):
            self.compare(path.name)

    def test_agree(self):
        print(f"# seed {SEED}")
        for seed in range(SEED, SEED + N_GRAPHS):
            with self.subTest(seed=seed):
                self.one(seed)
            for folder in "wanted", "given":
                for path in (self.folder / folder).glob("*"):
                    path.unlink()
                (self.folder / folder).rmdir()


if __name__ == "__main__":
    tap.main()
