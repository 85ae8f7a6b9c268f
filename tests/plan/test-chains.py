#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stages of the kit that are attached to one another on the processor: the plan has them as one node,
and the results, their validity and their counts are those of the same graph with --no-fusion, to the
bit."""
import json
import os
import random
import subprocess
import unittest

import numpy

import graphs
import tap

SEED = int(os.environ.get("CORNERTURN_SEED", random.SystemRandom().randrange(1 << 31)))
SANITIZED = os.environ.get("CORNERTURN_SANITIZER", "none") != "none"
HOST = ["--backend", "cpu"]
PLAIN = [*HOST, "--no-fusion"]

# What may follow a stream of each kind, and the kind that it makes.
STEPS = {
    "ci8": [({"stage": "convert", "type": "cf32"}, "cf32"), ({"stage": "power"}, "f32"),
            ({"stage": "convert", "type": "cf16"}, "cf16")],
    "cf16": [({"stage": "convert", "type": "cf32"}, "cf32"), ({"stage": "power"}, "f32")],
    "cf32": [({"stage": "gains", "gain": [0.7, -0.4]}, "cf32"),
             ({"stage": "gains", "gains": "gains.npy", "axes": ["subband", "station"]}, "cf32"),
             ({"stage": "power"}, "f32"),
             ({"stage": "power", "stokes": "IQUV"}, "stokes"),
             ({"stage": "power", "stokes": "I"}, "stokes"),
             ({"stage": "quantise", "type": "ci8", "scale": 2}, "ci8"),
             ({"stage": "convert", "type": "cf64"}, "cf64")],
    "cf64": [({"stage": "gains", "gain": 3}, "cf64"), ({"stage": "power"}, "f64")],
    "f32": [({"stage": "level", "mean": 5}, "f32"), ({"stage": "gains", "gain": 2}, "f32"),
            ({"stage": "convert", "type": "f64"}, "f64"),
            ({"stage": "quantise", "type": "i8", "scale": 0.1}, "i8")],
    "stokes": [({"stage": "gains", "gain": 2}, "stokes"),
               ({"stage": "quantise", "type": "i16", "scale": 20}, "i8")],
    "f64": [({"stage": "gains", "gain": 0.5}, "f64"), ({"stage": "level", "mean": 2}, "f64")],
    "i8": [],
}
ORDERS = ["time subband station pol", "station time subband pol", "subband station pol time",
          "time pol station subband", "pol subband time station"]


class Chains(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        print(f"# CORNERTURN_SEED={SEED}")
        self.numbers = random.Random(SEED)

    def draw_chain(self, kind, most):
        """A random chain behind a stream of this kind, and the axis that it makes of pol."""
        chain, axis = [], "pol"
        while len(chain) < most and STEPS[kind]:
            stage, made = self.numbers.choice(STEPS[kind])
            if stage.get("stokes") and axis != "pol":
                continue
            axis = "stokes" if stage.get("stokes") else axis
            chain.append(stage)
            kind = made
        return chain, axis

    def stages(self, chain, kind="ci8", n_subbands=5, n_stations=3, samples=3000, layout=None,
               block=None, **sky):
        """The chain behind a simulated sky."""
        parts = numpy.random.default_rng(SEED).normal(size=(n_subbands, n_stations, 2))
        numpy.save(self.folder / "gains.npy", parts @ [1, 1j])
        stages = {"sky": {"stage": "generate", "type": kind, "sample_rate": "1 MHz",
                          "centre_frequency": "10 MHz", "subband_step": "2 MHz",
                          "n_subbands": n_subbands, "samples": samples, "n_stations": n_stations,
                          "n_pols": 2, "noise": 30, **sky}}
        if block:
            stages["sky"]["block"] = {"time": block}
        for number, stage in enumerate(chain):
            stages[f"s{number}"] = {"from": list(stages)[-1], **stage}
        stages["out"] = {"stage": "file.sink", "from": list(stages)[-1], "path": "out.npy"}
        if layout:
            stages["out"]["layout"] = layout
        return stages

    def run_both(self, stages, *arguments):
        """Runs the graph fused and plain; returns the statistics of both, and compares their
        files."""
        found = []
        for options in HOST, PLAIN:
            stats = self.run_graph(stages, *options, *arguments)
            beside = json.loads((self.folder / "out.npy.json").read_text())
            found.append((stats, (self.folder / "out.npy").read_bytes(), beside["validity"]))
        self.assertEqual(found[0][1], found[1][1])
        self.assertEqual(found[0][2], found[1][2])
        return found[0][0], found[1][0]

    @staticmethod
    def node(stats, name):
        return next((node for node in stats["nodes"] if node["name"] == name), None)

    def check_chain(self, chain, *arguments, **options):
        fused, plain = self.run_both(self.stages(chain, **options), *arguments)
        names = [f"s{number}" for number in range(len(chain))]
        node = self.node(fused, "+".join(names))
        self.assertIsNotNone(node, (chain, [node["name"] for node in fused["nodes"]]))
        self.assertRegex(node["variant"], "^cpu-")
        self.assertEqual(node["samples"], self.node(plain, names[-1])["samples"])
        counts = {f"{name}.{key}": count for name in names
                  for key, count in self.node(plain, name)["counters"].items()}
        self.assertEqual(node["counters"], counts)
        return counts

    def test_random_chains(self):
        for _ in range(6 if SANITIZED else 24):
            kind = self.numbers.choice(["ci8", "cf32"])
            chain, axis = self.draw_chain(kind, self.numbers.randrange(2, 6))
            if len(chain) < 2:
                continue
            order = self.numbers.choice(ORDERS).replace("pol", axis)
            options = {
                "kind": kind,
                "n_subbands": self.numbers.randrange(2, 40),
                "n_stations": self.numbers.randrange(1, 6),
                "samples": self.numbers.randrange(1, 3000),
                "layout": f"[{order}]" if self.numbers.random() < 0.7 else None,
                "block": self.numbers.choice([None, self.numbers.randrange(1, 700)]),
            }
            workers = str(self.numbers.randrange(1, 4))
            with self.subTest(chain=chain, workers=workers, **options):
                self.check_chain(chain, "--workers", workers, **options)

    def test_large_samples(self):
        """A sample that is larger than a chunk is cut along another axis, unevenly."""
        chain = [{"stage": "convert", "type": "cf32"}, STEPS["cf32"][1][0], {"stage": "power"},
                 {"stage": "quantise", "type": "i8", "scale": 0.03}]
        for workers in "1", "3":
            for order in ORDERS:
                self.check_chain(chain, "--workers", workers, n_subbands=3001, n_stations=5,
                                 samples=7, layout=f"[{order}]")

    def test_gaps(self):
        """What is lost is zeroed between the stages: 0 times an infinite gain would be counted."""
        chain = [{"stage": "convert", "type": "cf32"}, STEPS["cf32"][1][0],
                 {"stage": "quantise", "type": "ci8", "scale": 0.4}]
        gaps = [[station, self.numbers.randrange(3000), self.numbers.randrange(1, 300)]
                for station in (-1, 0, 1, 1, 2)]
        for order in ORDERS:
            stages = self.stages(chain, invalid=gaps, layout=f"[{order}]",
                                 block=self.numbers.choice([None, 333]))
            gains = numpy.load(self.folder / "gains.npy")
            gains[1] = numpy.inf
            numpy.save(self.folder / "gains.npy", gains)
            fused, plain = self.run_both(stages)
            counts = self.node(fused, "s0+s1+s2")["counters"]
            self.assertEqual(counts["s2.clipped"], self.node(plain, "s2")["counters"]["clipped"])
            self.assertGreater(counts["s2.clipped"], 1000)

    def test_lanes_that_a_group_merges(self):
        """A stage that counts stays by itself where the lanes of its input are others."""
        chain = [{"stage": "convert", "type": "cf32"}, {"stage": "power", "stokes": "IQUV"},
                 {"stage": "quantise", "type": "i16", "scale": 0.1}]
        self.check_chain(chain, invalid=[[1, 100, 50]])

    def test_one_stage_twice(self):
        self.check_chain([{"stage": "convert", "type": "cf32"}, {"stage": "convert", "type": "cf64"}])

    def test_what_is_not_attached(self):
        """Stages that others read too, or that are asked for by name or backend, stay by themselves."""
        chain = [{"stage": "convert", "type": "cf32"}, {"stage": "power"}]
        read = self.stages(chain)
        read["copy"] = {"stage": "file.sink", "from": "s0", "path": "copy.npy"}
        asked = self.stages(chain)
        asked["s1"]["variant"] = "reference"
        other = self.stages(chain)
        other["s0"]["variant"] = "reference"
        for graph in read, asked, other:
            fused, _ = self.run_both(graph)
            self.assertIsNotNone(self.node(fused, "s1"))

    def run_command(self, *arguments):
        done = subprocess.run([graphs.COMMAND, *arguments], cwd=self.folder, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_plan_and_verify(self):
        chain = [{"stage": "convert", "type": "cf32"}, {"stage": "gains", "gain": 2},
                 {"stage": "power"}]
        name = self.write(self.stages(chain))
        self.assertIn("s0+s1+s2", self.run_command("plan", *HOST, name).stdout)
        self.assertNotIn("s0+s1", self.run_command("plan", *PLAIN, name).stdout)
        explained = self.run_command("plan", "--explain", *HOST, name).stdout
        for way in "s0+s1, cpu-", "s0+s1+s2, cpu-":
            self.assertIn(way, explained)
        self.run_command("verify", *HOST, name)

    def test_tune(self):
        """Measurements of chains are kept, and found by the next plan."""
        chain = [{"stage": "convert", "type": "cf32"}, {"stage": "power"}]
        name = self.write(self.stages(chain))
        costs = ["--costs", "costs.db"]
        self.run_command("tune", *HOST, *costs, name)
        explained = self.run_command("plan", "--explain", *HOST, *costs, name).stdout
        self.assertRegex(explained, r"measured ±\S+ +s0\+s1, cpu-")

    def test_warning(self):
        """The warning of what clips names the stage that clips."""
        chain = [{"stage": "convert", "type": "cf32"},
                 {"stage": "quantise", "type": "ci8", "scale": 50}]
        done = self.run_command("run", "--quiet", *HOST, self.write(self.stages(chain)))
        self.assertRegex(done.stderr, r"node 's1': warning: clipped \d+ of \d+ elements")


if __name__ == "__main__":
    tap.main()
