#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stages attached behind the kernels of the beamformer on matrix units; as test-fusion.py."""
import unittest

import numpy

import fusion
import pipeline
import tap
from fusion import CHAINS, DEVICE, SANITIZED

LAYOUTS = ("[time beam pol]", "[beam time pol]", "[pol time beam]", "[beam pol time]")


@unittest.skipUnless(pipeline.has_device(), "there is no device")
class FusionOfBeams(fusion.FusionTest):
    def beams(self, chain, n_beams=80, weights_as="ci8", pols=(), tuning="", **options):
        """A graph with the chain behind a beamformer of 6 stations."""
        numbers = numpy.arange(n_beams * 6 * (2 if pols else 1))
        weights = (numbers % 19 - 9 + 1j * (numbers % 7 - 3)) / 9
        numpy.save(self.folder / "weights.npy",
                   weights.reshape(n_beams, 6, *pols).astype(numpy.complex64))
        stages = self.stages(chain, n_stations=6, **{"layout": LAYOUTS[0], **options})
        self.write_gains("gains.npy", n_beams, 2)
        self.write_gains("beams.npy", n_beams)
        del stages["filter"], stages["spectra"]
        stages["beams"] = {"stage": "beamform", "from": "sky", "weights": "weights.npy",
                           "weights_as": weights_as, "variant": "mma-cuda" + tuning}
        stages["s0"]["from"] = "beams"
        return stages

    def check_beams(self, stages, chain, rounding=0):
        fused, _ = self.run_both(stages, rounding)
        node = self.node(fused, "+".join(["beams"] + [f"s{i}" for i in range(len(chain))]))
        self.assertIsNotNone(node, [node["name"] for node in fused["nodes"]])
        self.assertEqual(node["variant"], "mma-cuda")

    def test_beamformer(self):
        """Behind sums of integers and of half precision, whole tiles and parts, with gaps."""
        gains = {"stage": "gains", "gains": "gains.npy", "axes": ["beam", "pol"]}
        chains = CHAINS[:9] + [[gains], [gains, *CHAINS[0]]]
        for k, chain in enumerate(chains[::3] if SANITIZED else chains):
            with self.subTest(chain=chain):
                stages = self.beams(chain, weights_as=["ci8", "cf16"][k // 2 % 2], samples=300 + k,
                                    invalid=[[2, 100, 50], [-1, 200, 9]],
                                    layout=LAYOUTS[k % 2])
                self.check_beams(stages, chain)

    def test_deep_chains(self):
        """Candidates of the beamformer by itself leave room for those of the longest chain."""
        stages = self.stages(CHAINS[0], n_stations=8, n_channels=64, samples=12000)
        del stages["out"]
        stages |= {
            "pointing": {"stage": "pointing", "from": "s0", "spiral": "100 m", "disk": 0.2,
                         "n_beams": 20},
            "beams": {"stage": "beamform", "from": {"voltages": "s0", "weights": "pointing"},
                      "weights_as": "ci8"},
            "limited": {"stage": "gains", "from": "beams", "gain": 2},
            "power": {"stage": "power", "from": "limited"},
            "average": {"stage": "integrate", "from": "power", "length": 48},
            "out": {"stage": "file.sink", "from": "average", "path": "out.npy"},
        }
        stages["sky"] |= {"centre_frequency": "150 MHz", "spiral": "100 m"}
        fused, _ = self.run_both(stages, self.ROUNDING)
        self.assertIsNotNone(self.node(fused, "beams+limited+power+average"),
                             [node["name"] for node in fused["nodes"]])

    def test_folds_of_beams(self):
        """Hops of cells that are a part of a warp's times, all of them, or several of them; with few
        beams and many, with weights for each polarisation; whole tiles and parts, with gaps."""
        power = {"stage": "power"}
        gains = {"stage": "gains", "gains": "beams.npy", "axes": ["beam"]}
        cases = [(16, 80, "ci8", ()), (64, 80, "ci8", (2,)), (64, 12, "ci8", ()),
                 (128, 70, "ci8", ()), (96, 65, "cf16", (2,)), (48, 200, "ci8", ()),
                 (1008, 80, "ci8", ()), (32, 130, "cf16", ())]
        for k, (length, n_beams, weights_as, pols) in enumerate(
                cases[::3] if SANITIZED else cases):
            with self.subTest(length=length, n_beams=n_beams):
                chain = self.fold(length, power)
                stages = self.beams(chain, n_beams, weights_as, pols, samples=2 * length + 300,
                                    layout=LAYOUTS[k % 4])
                self.check_beams(stages, chain, self.ROUNDING)
                chain = self.fold(length, gains, power, average=True)
                stages = self.beams(chain, n_beams, weights_as, pols, samples=2 * length + 301,
                                    invalid=self.random_gaps(300), layout=LAYOUTS[k // 2 % 4],
                                    type=["ci8", "ci4"][k % 2], noise=2, n_pols=1 + k % 3 % 2)
                self.check_beams(stages, chain, self.ROUNDING)

    def test_folds_of_beams_of_any_cut(self):
        for length, columns in (64, ""), (48, ":warps=1"), (256, ":columns=64"):
            stages = self.beams(self.fold(length, {"stage": "power"}), tuning=columns, samples=3000)
            whole = self.run_one(stages, *DEVICE)[1]
            for _ in range(3):
                stages["sky"]["block"] = {"time": self.numbers.randrange(64, 1000)}
                cut = self.run_one(stages, *DEVICE)
                self.assertEqual(cut[1].tobytes(), whole.tobytes())

    def test_hops_that_beams_do_not_fold(self):
        stages = self.beams(self.fold(20, {"stage": "power"}), samples=300)
        fused, _ = self.run_both(stages)
        self.assertIsNotNone(self.node(fused, "beams+s0"))


if __name__ == "__main__":
    tap.main()
