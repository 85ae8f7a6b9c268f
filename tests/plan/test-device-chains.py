#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Maps and groups of the kit that are attached to one another, or to a fold, on a device: the plan has
them as one node, and the results, their validity and their counts are those of the same graph with --no-fusion, to
the bit."""
import json
import os
import random
import unittest

import numpy

import graphs
import pipeline
import tap

SEED = int(os.environ.get("CORNERTURN_SEED", random.SystemRandom().randrange(1 << 31)))
SANITIZED = os.environ.get("CORNERTURN_SANITIZER", "none") != "none"
DEVICE = ["--backend", "cuda"]

# What may follow a stream of each kind, and the kind that it makes.
STEPS = {
    "ci8": [({"stage": "convert", "type": "cf32"}, "cf32"), ({"stage": "power"}, "f32"),
            ({"stage": "convert", "type": "cf16"}, "cf16")],
    "cf16": [({"stage": "convert", "type": "cf32"}, "cf32"), ({"stage": "power"}, "f32")],
    "cf32": [({"stage": "power"}, "f32"), ({"stage": "convert", "type": "cf64"}, "cf64"),
             ({"stage": "quantise", "type": "ci8", "scale": 2}, "ci8"),
             ({"stage": "quantise", "type": "ci4", "scale": 0.3}, "ci4")],
    "ci4": [({"stage": "convert", "type": "ci8"}, "ci8"), ({"stage": "power"}, "f32")],
    "cf64": [({"stage": "power"}, "f64")],
    "f32": [({"stage": "level", "mean": 5}, "f32"), ({"stage": "convert", "type": "f64"}, "f64"),
            ({"stage": "quantise", "type": "i8", "scale": 0.1}, "i8")],
    "f64": [({"stage": "level", "mean": 2}, "f64")],
    "i8": [({"stage": "convert", "type": "f32"}, "f32")],
}
# Stages of groups along pol, which then is an axis of parameters.
GROUPS = [{"stage": "power", "stokes": "IQUV"}, {"stage": "power", "stokes": "I"},
          {"stage": "power", "stokes": "IQUV", "feed": "circular"}]
ORDERS = ["time station pol", "station pol time", "station time pol", "time pol station"]


@unittest.skipUnless(pipeline.has_device(), "there is no device")
class DeviceChains(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        print(f"# CORNERTURN_SEED={SEED}")
        self.numbers = random.Random(SEED)

    def draw_chain(self, kind, most):
        """A random chain behind a stream of this kind, and the kind that it makes."""
        chain = []
        while len(chain) < most:
            stage, kind = self.numbers.choice(STEPS[kind])
            chain.append(stage)
        return chain, kind

    def draw_group(self, kind, options, tables):
        """A random chain behind a stream of this kind, of two polarisations, with one stage of groups,
        and the kind that it makes."""
        before, kind = self.draw_chain(kind, self.numbers.randrange(3))
        if not kind.startswith("c"):
            before, kind = [], "cf32"
        gains = {"stage": "gains", "gains": "gains.npy", "axes": ["station", "pol"]}
        if tables and kind in ("cf32", "cf64"):
            axes = (options["n_stations"], 2)
            values = numpy.random.default_rng(self.numbers.randrange(1 << 30)).normal(size=(2, *axes))
            numpy.save(self.folder / "gains.npy", (values[0] + 1j * values[1]).astype("c8"))
            before.append(gains)
        made = "f64" if kind == "cf64" else "f32"
        behind, made = self.draw_chain(made, self.numbers.randrange(3))
        if tables and made == "f32":
            numpy.save(self.folder / "level.npy", numpy.arange(1, 5, dtype="f4"))
            behind.append({"stage": "gains", "gains": "level.npy", "axes": ["stokes"]})
        return before, behind, made

    def draw_options(self):
        samples = self.numbers.randrange(1, 3000)
        gaps = [[self.numbers.choice([-1, 0, 1]), self.numbers.randrange(samples),
                 self.numbers.randrange(1, 2 + samples // 6)] for _ in range(3)]
        return {
            "samples": samples, "n_stations": self.numbers.randrange(2, 9),
            "n_pols": self.numbers.randrange(1, 3), "noise": 30,
            **self.numbers.choice([{}, {"invalid": gaps}]),
            **self.numbers.choice([{}, {"block": {"time": self.numbers.randrange(1, 700)}}]),
        }

    def stages(self, chain, kind, layout=None, **options):
        stages = {"sky": {"stage": "generate", "type": kind, "sample_rate": "1 MHz", **options}}
        for number, stage in enumerate(chain):
            stages[f"s{number}"] = {"from": list(stages)[-1], **stage}
        stages["out"] = {"stage": "file.sink", "from": list(stages)[-1], "path": "out.npy",
                         **({"layout": layout} if layout else {})}
        return stages

    def run_one(self, stages, *arguments):
        stats = self.run_graph(stages, *DEVICE, *arguments)
        beside = json.loads((self.folder / "out.npy.json").read_text())
        counts = {}
        for node in stats["nodes"]:
            for key, count in node["counters"].items():
                counts[key if "." in key else f"{node['name']}.{key}"] = count
        return ([node["name"] for node in stats["nodes"]], (self.folder / "out.npy").read_bytes(),
                beside["validity"], counts)

    def check(self, stages, wanted):
        """Fused, the graph has the node `wanted`."""
        names, *fused = self.run_one(stages)
        _, *plain = self.run_one(stages, "--no-fusion")
        self.assertIn(wanted, names)
        self.assertEqual(fused, plain)

    def draw(self, make):
        for _ in range(2 if SANITIZED else 8):
            kind = self.numbers.choice(["ci8", "cf32"])
            chain, made = self.draw_chain(kind, self.numbers.randrange(2, 5))
            chain, wanted = make(chain, made)
            options = self.draw_options()
            layout = self.numbers.choice([None, *(f"[{order}]" for order in ORDERS)])
            with self.subTest(chain=chain, kind=kind, layout=layout, **options):
                self.check(self.stages(chain, kind, layout, **options), wanted)

    def test_maps(self):
        self.draw(lambda chain, made: (chain, "+".join(f"s{k}" for k in range(len(chain)))))

    def test_folds(self):
        """Sums that are longer than blocks and cells, end in a firing or go on; a stage that counts
        stays apart."""
        def with_fold(chain, made):
            chain = [stage for stage in chain if stage["stage"] != "quantise"]
            if made in ("ci8", "ci4", "i8", "cf16") or not chain:
                chain = [{"stage": "convert", "type": "cf32"}, {"stage": "power"}]
            length = self.numbers.choice([1, 2, 7, 64, 65, 300, 1000])
            average = bool(self.numbers.randrange(2))
            chain.append({"stage": "integrate", "length": length, "average": average})
            return chain, "+".join(f"s{k}" for k in range(len(chain)))
        self.draw(with_fold)

    def draw_groups(self, make, tables):
        for _ in range(2 if SANITIZED else 8):
            kind = self.numbers.choice(["ci8", "cf32"])
            options = self.draw_options() | {"n_pols": 2}
            before, behind, made = self.draw_group(kind, options, tables)
            group = self.numbers.choice(GROUPS)
            if group["stokes"] == "I":
                behind = [stage for stage in behind if stage["stage"] != "gains"]
            chain, wanted = make([*before, group, *behind], made)
            order = self.numbers.choice(ORDERS).replace("pol", "stokes")
            layout = self.numbers.choice([None, f"[{order}]"])
            with self.subTest(chain=chain, kind=kind, layout=layout, **options):
                self.check(self.stages(chain, kind, layout, **options), wanted)

    def test_groups(self):
        """Maps with and without tables, before and behind a stage of groups."""
        def whole(chain, made):
            if len(chain) < 2:
                chain.append({"stage": "level", "mean": 3})
            return chain, "+".join(f"s{k}" for k in range(len(chain)))
        self.draw_groups(whole, True)

    def test_folds_of_groups(self):
        def with_fold(chain, made):
            chain = [stage for stage in chain if stage["stage"] not in ("quantise", "convert", "level")]
            length = self.numbers.choice([1, 2, 7, 64, 65, 300, 1000])
            average = bool(self.numbers.randrange(2))
            chain.append({"stage": "integrate", "length": length, "average": average})
            return chain, "+".join(f"s{k}" for k in range(len(chain)))
        self.draw_groups(with_fold, False)

    def test_what_is_not_attached(self):
        """A stream that another reads, and what counts, before a sum."""
        fold = {"stage": "integrate", "length": 10}
        chain = [{"stage": "quantise", "type": "ci8", "scale": 3}, {"stage": "convert", "type": "cf32"},
                 fold]
        self.check(self.stages(chain, "cf32", samples=500, n_stations=2), "s1+s2")
        read = self.stages([{"stage": "power"}, fold], "cf32", samples=500, n_stations=2)
        read["copy"] = {"stage": "file.sink", "from": "s0", "path": "copy.npy"}
        self.check(read, "s1")


if __name__ == "__main__":
    tap.main()
