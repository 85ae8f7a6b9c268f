#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stages attached behind the kernel of another, on a device: the plan has them as one node, and the
results, their validity and their counts are those of the same graph with --no-fusion, to the bit;
sums of floats agree to rounding."""
import json
import re
import subprocess
import unittest

import numpy

import fusion
import graphs
import pipeline
import tap
from fusion import CHAINS, DEVICE, PLAIN, SANITIZED, SEED

# Numbers of channels that are no powers of two.
OTHER_SIZES = [3, 6, 20, 75, 96, 100, 192]


@unittest.skipUnless(pipeline.has_device(), "there is no device")
class Fusion(fusion.FusionTest):
    def check_chain(self, chain, rounding=0, variant=None, **options):
        """`variant`: of the filter bank; None: that which the planner chooses."""
        stages = self.stages(chain, **options)
        if variant:
            stages["filter"]["variant"] = stages["spectra"]["variant"] = variant
        names = ["filter", "spectra"] + [f"s{i}" for i in range(len(chain))]
        fused, plain = self.run_both(stages, rounding)
        node = self.node(fused, "+".join(names))
        self.assertIsNotNone(node, [node["name"] for node in fused["nodes"]])
        self.assertEqual(node["variant"], variant or "fused-cuda")
        counts = {f"{name}.{key}": count for name in names[2:]
                  for key, count in self.node(plain, name)["counters"].items()}
        self.assertEqual(node["counters"], counts)
        return counts

    def test_chains(self):
        for chain in CHAINS[::3] if SANITIZED else CHAINS:
            with self.subTest(chain=chain):
                self.check_chain(chain)

    def test_transforms(self):
        """Behind a transform by itself, which may also write another order of axes."""
        for n_channels, layout in ((2048, "[time station pol channel]"),
                                   (32, "[channel time station pol]")):
            for chain in CHAINS[0], CHAINS[6], CHAINS[11]:
                stages = self.stages(chain, n_channels=n_channels, samples=6 * n_channels,
                                     layout=layout)
                stages["spectra"]["variant"] = "radix-cuda"
                fused, plain = self.run_both(stages)
                self.assertIsNotNone(self.node(fused, "+".join(list(stages)[2:-1])),
                                     [node["name"] for node in fused["nodes"]])

    def test_gaps(self):
        """What is lost is zeroed and not counted: partly lost windows would clip otherwise."""
        gaps = [[self.numbers.choice([-1, 0, 1, 2]), self.numbers.randrange(5000),
                 self.numbers.randrange(1, 300)] for _ in range(6)]
        counts = self.check_chain(CHAINS[0], invalid=gaps, noise=100)
        self.assertGreater(counts["s0.clipped"], 1000)
        self.check_chain(CHAINS[8], invalid=gaps, noise=100, block={"time": 333})
        self.check_chain(CHAINS[11], invalid=gaps, noise=100, block={"time": 333})

    def test_layouts(self):
        for chain in CHAINS[0], CHAINS[3], CHAINS[10]:
            self.check_chain(chain, layout="[station pol time channel]")
            self.run_both(self.stages(chain, layout="[channel time station pol]"))

    def test_blocks(self):
        """Time in blocks, innermost, of streams that are cut and end anywhere in a block."""
        for chain in CHAINS[::3] if SANITIZED else CHAINS:
            n_channels = 1 << self.numbers.randrange(1, 9)
            samples = self.numbers.randrange(12 * n_channels, 60 * n_channels + 500)
            gaps = self.numbers.choice([{}, {"invalid": self.random_gaps(samples)}])
            with self.subTest(chain=chain, n_channels=n_channels, samples=samples, **gaps):
                self.check_chain(chain, variant="fused-blocks-cuda", n_channels=n_channels,
                                 n_taps=self.numbers.randrange(1, 9), samples=samples, **gaps,
                                 noise=60, start=self.numbers.randrange(-1000, 1000),
                                 block={"time": self.numbers.randrange(100, 3000)})

    def test_shapes(self):
        for _ in range(2 if SANITIZED else 8):
            n_channels = self.numbers.choice([1 << self.numbers.randrange(1, 9), *OTHER_SIZES])
            self.check_chain(self.numbers.choice(CHAINS), n_channels=n_channels,
                             n_taps=self.numbers.randrange(1, 9),
                             samples=self.numbers.randrange(12 * n_channels, 12 * n_channels + 3000),
                             start=self.numbers.randrange(-1000, 1000),
                             block={"time": self.numbers.randrange(100, 3000)})

    def test_folds(self):
        """Hops of cells that divide the spectra that are transformed together, or do not; of several
        cells; that are short at the end; longer than the stream."""
        power = {"stage": "power"}
        cases = [(16, 4, 1), (32, 8, 2), (2, 5, 3), (64, 8, 63), (256, 8, 64), (128, 3, 65),
                 (16, 7, 1000), (8, 16, 1013), (1024, 8, 7), (64, 4, 500), (100, 8, 64), (96, 8, 65),
                 (75, 4, 7), (768, 8, 16)]
        for n_channels, n_taps, length in cases[::3] if SANITIZED else cases:
            with self.subTest(n_channels=n_channels, length=length):
                samples = n_channels * (n_taps + min(2 * length, 1200 // n_channels + length) + 3)
                rounding = self.bank_rounding(n_channels, n_taps)
                self.check_chain(self.fold(length, power), rounding, n_channels=n_channels,
                                 n_taps=n_taps, samples=samples)
                self.check_chain(self.fold(length, power, average=True), rounding,
                                 n_channels=n_channels, n_taps=n_taps, samples=samples,
                                 invalid=self.random_gaps(samples),
                                 block={"time": self.numbers.randrange(100, 3000)})

    def test_what_is_folded(self):
        """Complex spectra; what is counted on the way; other types of samples; other orders of
        axes; a shifted transform."""
        quantised = [{"stage": "quantise", "type": "ci8", "scale": 0.5},
                     {"stage": "convert", "type": "cf32"}, {"stage": "power"}]
        gaps = self.random_gaps(5000)
        rounding = self.bank_rounding(16, 4)
        # One element may be rounded to another level: of 254 + 1 in a sum of 100,000 and more.
        counts = self.check_chain(self.fold(10, *quantised), 2 ** -8, invalid=gaps, noise=100)
        self.assertGreater(counts["s0.clipped"], 0)
        self.check_chain(self.fold(10, *CHAINS[10][:2]), 2 * rounding, invalid=gaps)
        for kind, noise in ("ci4", 2), ("ci16", 3000), ("cf32", 1), ("i8", 30), ("f32", 1):
            self.check_chain(self.fold(12, {"stage": "power"}), rounding, type=kind,
                             noise=noise, invalid=gaps)
        for layout in "[station pol time channel]", "[channel time station pol]":
            stages = self.stages(self.fold(20, {"stage": "power"}), layout=layout, invalid=gaps)
            stages["spectra"]["shift"] = True
            self.run_both(stages, rounding)
        # A complex sum may be small where its terms are not.
        stages = self.stages(self.fold(16), n_channels=32)
        fused, plain = self.run_one(stages, *DEVICE), self.run_one(stages, *PLAIN)
        self.assertIsNotNone(self.node(fused[0], "filter+spectra+s0"))
        self.assertLess(abs(fused[1] - plain[1]).max(),
                        16 * self.bank_rounding(32, 4) * abs(plain[1]).max())

    def test_folds_of_any_cut(self):
        """The order of additions does not depend on the firings."""
        for length in 24, 65, 1000:
            stages = self.stages(self.fold(length, {"stage": "power"}), samples=40000)
            whole = self.run_one(stages, *DEVICE)[1]
            for _ in range(3):
                stages["sky"]["block"] = {"time": self.numbers.randrange(64, 5000)}
                cut = self.run_one(stages, *DEVICE)
                self.assertEqual(cut[1].tobytes(), whole.tobytes())

    def test_reference(self):
        """Against a power of spectra in double precision, summed."""
        stages = self.stages(self.fold(30, {"stage": "power"}), n_channels=64,
                             invalid=self.random_gaps(5000), samples=5000)
        fused = self.run_one(stages, *DEVICE)
        wanted = self.run_one(stages, "--backend", "reference", "--backend", "sky=cuda",
                              "--backend", "out=cpu")
        self.assertEqual(fused[2], wanted[2])
        # Of each spectrum (n_taps + 2) u and 7 log2(n) u of the largest element, twice that of the
        # power, 8 u of the power itself.
        bound = 2 ** -24 * (2 * (4 + 2 + 7 * 6) + 9) * wanted[1].max()
        self.assertLess(abs(fused[1] - wanted[1]).max(), bound)

    def test_what_is_not_folded(self):
        """Folds whose counts are read, that begin within the stream, along another axis, of windows
        that overlap, or of hops that no firing has."""
        power = {"stage": "power"}
        read = self.stages(self.fold(8, power))
        read["copy"] = {"stage": "file.sink", "from": "s1.weights", "path": "weights.npy"}
        across = self.stages(self.fold(2, power, axis="station"))
        dense = self.stages(self.fold(8, power))
        dense["filter"]["hop"] = 8
        long = self.stages(self.fold(8000000, power))
        for graph in read, across, dense, long:
            fused, plain = self.run_both(graph)
            for stats in fused, plain:
                self.assertIsNotNone(self.node(stats, "s1"))

    def test_coefficients(self):
        """Coefficients over a port: one block for the stream is in effect in all sums; if there are
        more, these take effect within a sum, and the fold stays by itself."""
        numbers = numpy.random.default_rng(SEED)
        for n_times, layout in (0, "[tap phase]"), (1, "[time tap phase]"), (9, "[time tap phase]"):
            taps = numbers.normal(size=(*[n_times][:n_times], 4, 16)).astype(numpy.float32)
            numpy.save(self.folder / "taps.npy", taps)
            graph = self.stages(self.fold(13, {"stage": "power"}))
            # In front of the others: names in the order of the graph are those of what is fused.
            graph = {"taps": {"stage": "file.source", "path": "taps.npy", "layout": layout,
                              **({"sample_rate": "2 kHz"} if n_times else {})}, **graph}
            graph["filter"]["from"] = {"in": "sky", "coefficients": "taps"}
            with self.subTest(n_times=n_times):
                fused, _ = self.run_both(graph, self.bank_rounding(16, 4))
                folds = self.node(fused, "filter+spectra+s0+s1") is not None
                self.assertEqual(folds, n_times < 2, [node["name"] for node in fused["nodes"]])

    def test_explanation(self):
        """An explanation compares the plan with that without fusion, if anything is fused."""
        for chain in CHAINS[0], []:
            done = subprocess.run(
                [graphs.COMMAND, "plan", "--explain", "--json", *DEVICE,
                 self.write(self.stages(chain))],
                cwd=self.folder, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            explanation = json.loads(done.stdout)
            self.assertEqual("without_fusion" in explanation, chain != [])
        done = subprocess.run([graphs.COMMAND, "plan", "--explain", *DEVICE,
                               self.write(self.stages(CHAINS[0]))],
                              cwd=self.folder, capture_output=True, text=True, timeout=120)
        gain = re.search(r"cuda:0 kernels +[\d.e-]+ +[\d.e-]+ +([\d.]+)\n", done.stdout)
        self.assertGreater(float(gain[1]), 1, done.stdout)

    def test_short_sums(self):
        """The warning of sums that are all short names the stage that sums."""
        chain = self.fold(1000, {"stage": "power"})
        done = subprocess.run(
            [graphs.COMMAND, "run", "--quiet", *DEVICE, self.write(self.stages(chain))],
            cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"node 's1': warning: sums 1000 samples, but only 309 come in")

    def test_what_is_not_attached(self):
        """Stages that others read too, that are asked for by name, that have a table from a port, or along
        whose output data are marked, stay by themselves."""
        quantise = CHAINS[0]
        stages = self.stages(quantise)
        stages["copy"] = {"stage": "file.sink", "from": "spectra", "path": "spectra.npy"}
        asked = self.stages(quantise)
        asked["s0"]["variant"] = "cuda"
        host = self.stages(quantise)
        host["s0"]["backend"] = "cpu"
        gains = self.stages([{"stage": "gains"}])
        gains["table"] = {"stage": "file.source", "path": "channels.npy", "layout": "[channel]"}
        gains["s0"]["from"] = {"in": "spectra", "gains": "table"}
        for graph in stages, asked, host, gains:
            fused, plain = self.run_both(graph)
            for stats in fused, plain:
                self.assertIsNotNone(self.node(stats, "s0"))

    def test_tunings(self):
        """Nodes of one kernel may ask for tunables of their own, but not for two values of one."""
        stages = self.stages([])
        stages["filter"]["variant"] = "fused-cuda:threads=64"

        def plan(variant):
            stages["spectra"]["variant"] = variant
            return subprocess.run([graphs.COMMAND, "plan", self.write(stages)], cwd=self.folder,
                                  capture_output=True, text=True, timeout=120)
        self.assertRegex(plan("fused-cuda:threads=64,ahead=2").stdout,
                         r"(?m)^filter\+spectra +fused-cuda:threads=64,ahead=2 ")
        done = plan("fused-cuda:threads=256")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^graph\.yaml:\d+:\d+: node 'filter': no variant of 'fir' can "
                                      r"run here \(fused-cuda: threads=64 and threads=256 are asked "
                                      r"for\)$")

    def test_second_reader(self):
        """Who asks for a kernel of two stages learns why it cannot run here."""
        stages = self.stages([])
        stages["filter"]["variant"] = "fused-cuda"
        stages["copy"] = {"stage": "discard", "from": "filter"}
        done = subprocess.run([graphs.COMMAND, "plan", self.write(stages)], cwd=self.folder,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"node 'filter': no variant of 'fir' can run here \(fused-cuda: "
                                      r"it runs a row of nodes, each of which alone reads the one "
                                      r"before it: fir, fft\)$")

    def test_warning(self):
        """The warning of what clips names the stage that clips."""
        done = subprocess.run(
            [graphs.COMMAND, "run", "--quiet", *DEVICE,
             self.write(self.stages([{"stage": "quantise", "type": "ci8", "scale": 50}]))],
            cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"node 's0': warning: clipped \d+ of \d+ elements")


if __name__ == "__main__":
    tap.main()
