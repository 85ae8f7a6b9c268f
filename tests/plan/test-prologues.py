#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stages attached in front of the kernel of another, on a device: the plan has them as one node, and the
results, their validity and their counts are those of the same graph with --no-fusion, to the bit."""
import json
import re
import subprocess
import unittest

import numpy

import fusion
import graphs
import pipeline
import tap
from fusion import DEVICE, SANITIZED

N_STATIONS, N_POLS = 3, 2
# Lengths with two and three passes, and with other radices.
LENGTHS = [4, 16, 20, 64, 96, 100, 256, 1024]
ORDERS = ["time station pol {}", "station pol time {}", "time {} station pol", "{} time station pol"]
GAIN = {"stage": "gains", "gain": [0.5, -2]}
TABLES = [{"stage": "gains", "gains": "gains.npy", "axes": ["station", "pol"]},
          {"stage": "gains", "gains": "gains.npy", "axes": ["station", "pol"], "inverse": True}]
# What makes a stream of cf32 of each type.
CHAINS = {
    "ci8": [[{"stage": "convert", "type": "cf32"}],
            [{"stage": "convert", "type": "cf32"}, TABLES[0]],
            [{"stage": "convert", "type": "cf16"}, {"stage": "convert", "type": "cf32"}, GAIN]],
    "ci16": [[{"stage": "convert", "type": "cf32"}, TABLES[1], GAIN]],
    "cf16": [[{"stage": "convert", "type": "cf32"}]],
    "cf32": [[GAIN], [TABLES[0]], [TABLES[0], {"stage": "convert", "type": "cf16"},
                                   {"stage": "convert", "type": "cf32"}]],
    "cf64": [[{"stage": "convert", "type": "cf32"}]],
}
BEHIND = [[], [{"stage": "power"}], [{"stage": "quantise", "type": "ci8", "scale": 0.3}], [TABLES[1]]]


@unittest.skipUnless(pipeline.has_device(), "there is no device")
class Prologues(fusion.FusionTest):
    def write_input(self, kind, shape):
        values = numpy.random.default_rng(fusion.SEED).normal(scale=20, size=(*shape, 2))
        if kind.startswith("ci"):
            array = values.astype(f"i{int(kind[2:]) // 8}")
        elif kind == "cf16":
            array = values.astype("f2")
        else:
            array = (values[..., 0] + 1j * values[..., 1]).astype(f"c{int(kind[2:]) // 4}")
        numpy.save(self.folder / "in.npy", array)

    def graph(self, kind, chain, behind=(), length=64, inverse=False, order=ORDERS[0], out=None,
              n_times=37, **options):
        """Maps, a transform and stages behind it, of an array of this type and order."""
        axis, made = ("channel", "phase") if inverse else ("phase", "channel")
        lengths = {"time": n_times, "station": N_STATIONS, "pol": N_POLS, axis: length}
        order = order.format(axis)
        self.write_input(kind, [lengths[name] for name in order.split()])
        self.write_gains("gains.npy", N_STATIONS, N_POLS)
        stages = {"sky": {"stage": "file.source", "path": "in.npy", "layout": f"{kind}[{order}]",
                          "sample_rate": "1 kHz"}}
        for number, stage in enumerate(chain):
            stages[f"s{number}"] = {"from": list(stages)[-1], **stage}
        stages["spectra"] = {"stage": "fft", "from": list(stages)[-1], "variant": "radix-cuda",
                             "direction": "inverse" if inverse else "forward", **options}
        for number, stage in enumerate(behind):
            stages[f"b{number}"] = {"from": list(stages)[-1], **stage}
        stages["out"] = {"stage": "file.sink", "from": list(stages)[-1], "path": "out.npy",
                         "layout": f"[{(out or ORDERS[0]).format(made)}]"}
        return stages

    def check(self, stages, wanted):
        """Fused, the graph has a node with `wanted` in its name; returns the statistics."""
        fused, plain = self.run_both(stages)
        self.assertRegex(" ".join(node["name"] for node in fused["nodes"]), re.escape(wanted))
        self.assertNotIn("+", "".join(node["name"] for node in plain["nodes"]))
        return fused, plain

    def test_chains(self):
        for kind, chains in CHAINS.items():
            for chain in chains:
                with self.subTest(kind=kind, chain=chain):
                    names = "+".join([f"s{k}" for k in range(len(chain))] + ["spectra"])
                    self.check(self.graph(kind, chain), names)

    def test_transforms(self):
        """Every length and order, forward and back, with stages behind the transform, too. The plan
        may have a transpose on the way."""
        for _ in range(3 if SANITIZED else 16):
            kind = self.numbers.choice(list(CHAINS))
            chain = self.numbers.choice(CHAINS[kind])
            behind = self.numbers.choice(BEHIND)
            options = {
                "length": self.numbers.choice(LENGTHS), "inverse": bool(self.numbers.randrange(2)),
                "shift": bool(self.numbers.randrange(2)), "n_times": self.numbers.randrange(1, 60),
                "order": self.numbers.choice(ORDERS), "out": self.numbers.choice(ORDERS),
            }
            with self.subTest(kind=kind, chain=chain, behind=behind, **options):
                name = f"s{len(chain) - 1}+spectra"
                fused, plain = self.check(self.graph(kind, chain, behind, **options), name)
                if behind == BEHIND[2]:
                    counts = [node["counters"] for node in fused["nodes"] if node["counters"]]
                    clipped = self.node(plain, "b0")["counters"]["clipped"]
                    self.assertEqual([count for each in counts for count in each.values()], [clipped])

    def test_gaps(self):
        """Lost samples behind a filter, which are zeroed and not counted behind the transform."""
        for chain in [GAIN], [TABLES[0], GAIN]:
            stages = self.stages([{"stage": "quantise", "type": "ci8", "scale": 0.5}], noise=100,
                                 invalid=self.random_gaps(5000), block={"time": 333})
            self.write_gains("gains.npy", N_STATIONS, N_POLS)
            stages["filter"]["variant"], stages["spectra"]["variant"] = "cuda", "radix-cuda"
            names = [f"g{number}" for number in range(len(chain))]
            graph = {name: stages[name] for name in ("sky", "filter")}
            for name, stage in zip(names, chain):
                graph[name] = {"from": list(graph)[-1], **stage}
            graph |= {"spectra": {**stages["spectra"], "from": names[-1]},
                      "s0": stages["s0"], "out": stages["out"]}
            name = "+".join([*names, "spectra", "s0"])
            fused, plain = self.check(graph, name)
            clipped = self.node(plain, "s0")["counters"]["clipped"]
            self.assertEqual(self.node(fused, name)["counters"], {"s0.clipped": clipped})
            self.assertGreater(clipped, 0)

    def test_what_is_not_attached(self):
        """A stage that counts, that another reads, too, that is asked for by name, that has a table
        from a port; transforms of another precision and by another variant."""
        convert = {"stage": "convert", "type": "cf32"}
        counts = self.graph("cf32", [{"stage": "quantise", "type": "ci8", "scale": 0.5}, convert])
        fused, _ = self.check(counts, "s1+spectra")
        self.assertIsNotNone(self.node(fused, "s0"))
        copy = {"stage": "file.sink", "from": "s0", "path": "copy.npy"}
        table = {"stage": "file.source", "path": "gains.npy", "layout": "[station pol]"}
        cases = [
            ("ci8", convert, {"copy": copy}, {}),
            ("ci8", {**convert, "variant": "cuda"}, {}, {}),
            ("cf32", {"stage": "gains", "from": {"in": "sky", "gains": "table"}}, {"table": table}, {}),
            ("ci8", {"stage": "convert", "type": "cf64"}, {}, {"variant": "cuda"}),
            ("ci8", convert, {}, {"variant": "cuda"}),
        ]
        for kind, stage, others, options in cases:
            with self.subTest(stage=stage, others=others, **options):
                fused, _ = self.run_both(self.graph(kind, [stage], **options) | others)
                self.assertIsNotNone(self.node(fused, "s0"))

    def explain(self, path, *options):
        done = subprocess.run([graphs.COMMAND, "plan", *DEVICE, "--explain", *options, path],
                              cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_explain(self):
        """The plan says what is in front of the transform, and what it takes without."""
        path = self.write(self.graph("ci8", CHAINS["ci8"][1]))
        text = self.explain(path)
        self.assertRegex(text, r"(?m)^\* .* s0\+s1\+spectra, radix-cuda ")
        self.assertRegex(text, r"(?m)^   .* s0\+s1, cuda ")
        self.assertNotIn("s0+", self.explain(path, "--no-fusion"))

    def test_long_chain(self):
        """Of a long chain, which has thousands of candidates, a plan is found that is near the best."""
        stages = {"sky": {"stage": "generate", "type": "ci8", "sample_rate": "1 MHz",
                          "centre_frequency": "10 MHz", "samples": 3610, "n_stations": 17,
                          "n_pols": 2},
                  "filter": {"stage": "fir", "n_channels": 15, "n_taps": 11, "hop": 3}}
        for number in range(6):
            stages[f"s{number}"] = {"stage": "convert", "type": "cf32" if number % 2 else "cf64"}
        stages |= {"spectra": {"stage": "fft", "variant": "radix-cuda"},
                   "narrow": {"stage": "quantise", "type": "ci4"},
                   "pairs": {"stage": "correlate", "integration": 100},
                   "out": {"stage": "file.sink", "path": "out.npy",
                           "layout": "[time channel baseline pol pol']"}}
        for before, name in zip(list(stages), list(stages)[1:]):
            stages[name]["from"] = before
        path = self.write(stages)
        done = subprocess.run([graphs.COMMAND, "plan", "--json", "--no-tuning", "--backend", "cuda",
                               path], cwd=self.folder, capture_output=True, text=True, timeout=100,
                              check=False)
        self.assertEqual(done.stderr, "")
        plan = json.loads(done.stdout)
        self.assertLess(plan["seconds"], 1.05 * plan["least"])
        self.assertIn("s0+s1+s2+s3+s4+s5+spectra+narrow", [node["name"] for node in plan["nodes"]])


if __name__ == "__main__":
    tap.main()
