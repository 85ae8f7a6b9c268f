#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The energy of a run, by made counters of a processor and a device."""
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

import graphs
import tap

EMULATED = "CORNERTURN_TEST_BACKEND" in os.environ
NVML = os.path.join(os.environ["CORNERTURN_TEST_PLUGINS"], "nvml.so")
HOST = {"backend": "cpu"}


class EnergyTest(graphs.GraphTest):
    def setUp(self):
        super().setUp()
        self.tree = self.folder / "powercap"
        self.tree.mkdir()

    def zone(self, name, kind, energy, period=10**9):
        folder = self.tree / name
        folder.mkdir()
        (folder / "name").write_text(kind + "\n")
        (folder / "max_energy_range_uj").write_text(f"{period}\n")
        (folder / "energy_uj").write_text(f"{energy}\n")

    def count(self, name, energy):
        """In one step, as the kernel does."""
        new = self.tree / "new"
        new.write_text(f"{energy}\n")
        new.rename(self.tree / name / "energy_uj")

    def run_with(self, *steps, node=HOST, variables=None, form="json"):
        """Runs a graph; when it runs, the steps are called, and it is interrupted. Returns the
        statistics' energy, without the operations, which are as they must be."""
        stages = {"in": {"stage": "generate", "type": "cf32", "sample_rate": "1 MHz",
                         "n_stations": 1, "duration": "1e9 s", **HOST},
                  "power": {"stage": "power", "from": "in", **node},
                  "out": {"stage": "discard", "from": "power", "backend": "cpu"}}
        process = subprocess.Popen(
            [graphs.COMMAND, "run", self.write(stages), "--stats", form], cwd=self.folder,
            env={**os.environ, "CORNERTURN_POWERCAP": str(self.tree), **(variables or {})},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        end = time.monotonic() + 60
        while not self.works(process):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        for step in steps:
            step()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGINT, errors)
        return self.check_operations(json.loads(output)) if form == "json" else output

    def works(self, process):
        """Whether there are workers: the run counts before."""
        self.assertIsNone(process.poll(), "the run ended")
        names = pathlib.Path(f"/proc/{process.pid}/task").glob("*/comm")
        return any(name.read_text() == "worker\n" for name in names)

    def check_operations(self, said):
        energy = said["energy"]
        places = [energy["processor"], *energy["devices"]]
        operations = {node["name"]: node["operations"] for node in said["nodes"]}
        self.assertGreater(operations["power"], 0)
        self.assertEqual(sum(place.pop("operations") for place in places), sum(operations.values()))
        for place in places:
            rate = place.pop("operations_per_joule", None)
            if rate and len(places) == 1:
                self.assertAlmostEqual(rate * place["joules"] / sum(operations.values()), 1)
        return energy


@unittest.skipIf(EMULATED, "for the processor")
class Processor(EnergyTest):
    def test_packages(self):
        """Parts of packages, and what has other names, are not counted again."""
        self.zone("intel-rapl:0", "package-0", 100)
        self.zone("intel-rapl:1", "package-1", 7_000_000)
        self.zone("intel-rapl:0:0", "dram", 0)
        self.zone("intel-rapl:2", "psys", 0)
        (self.tree / "intel-rapl").mkdir()
        energy = self.run_with(lambda: self.count("intel-rapl:0", 2_000_100),
                               lambda: self.count("intel-rapl:1", 7_500_000),
                               lambda: self.count("intel-rapl:0:0", 5_000_000),
                               lambda: self.count("intel-rapl:2", 5_000_000))
        self.assertEqual(energy, {"processor": {
            "missing": None, "packages": 2, "joules": 2.5}, "devices": []})

    def test_text(self):
        self.zone("intel-rapl:0", "package-0", 0)
        text = self.run_with(lambda: self.count("intel-rapl:0", 3_000_000), form="text")
        self.assertRegex(text, r"(?m)^energy of the processor: 3 J in 1 package, [\d.e+-]+ Gop/J$")

    def test_wraps(self):
        """Counters that begin again, more than once in a run."""
        self.zone("intel-rapl:0", "package-0", 150_000_000, period=200_000_000)

        def pass_by():
            for energy in 20_000_000, 190_000_000, 30_000_000, 29_000_000:
                self.count("intel-rapl:0", energy)
                time.sleep(0.5)  # it looks ten times a second
        energy = self.run_with(pass_by)
        self.assertAlmostEqual(energy["processor"]["joules"], 70 + 170 + 40 + 199, delta=1e-6)

    def test_two_ways(self):
        """A package that has two zones, for two ways to its counter, is counted once."""
        self.zone("intel-rapl-mmio:0", "package-0", 100)
        self.zone("intel-rapl:0", "package-0", 100)
        energy = self.run_with(lambda: self.count("intel-rapl-mmio:0", 2_000_100),
                               lambda: self.count("intel-rapl:0", 2_000_100))
        self.assertEqual(energy["processor"], {"missing": None, "packages": 1, "joules": 2})

    def test_jumps(self):
        """What no package uses in the time is no energy: a counter that was set back, or has left its range."""
        path = self.tree / "intel-rapl:0" / "energy_uj"
        self.zone("intel-rapl:0", "package-0", 5_000_000, period=2 * 10**14)
        for energy, reason in ((4_999_999, "jumps from 5000000 to 4999999, more than a package uses"),
                               (10**14, "jumps from 4999999 to 100000000000000, more than a package uses"),
                               (3 * 10**14, "wants at most 200000000000000, its range, but has 300000000000000")):
            with self.subTest(reason):
                energy = self.run_with(lambda energy=energy: self.count("intel-rapl:0", energy))
                self.assertEqual(energy["processor"], {"missing": f"{path}: {reason}"})

    def test_range(self):
        """Without its range, a counter that begins again cannot be followed."""
        path = self.tree / "intel-rapl:0" / "max_energy_range_uj"
        self.zone("intel-rapl:0", "package-0", 0, period=0)
        self.assertEqual(self.run_with()["processor"], {"missing": f"{path}: wants 1000000 or more"})

    def test_no_counters(self):
        for make, reason in (
                (lambda: None, f"{self.tree} has no counters of a processor"),
                (lambda: self.zone("intel-rapl:0", "package-0", "much"),
                 f"{self.tree}/intel-rapl:0/energy_uj: wants a number, but has 'much'")):
            make()
            with self.subTest(reason):
                self.assertEqual(self.run_with()["processor"], {"missing": reason})
        text = self.run_with(form="text")
        self.assertIn(f"energy of the processor: not known: {reason}\n", text)

    def test_of_root_alone(self):
        self.zone("intel-rapl:0", "package-0", 0)
        (self.tree / "intel-rapl:0" / "energy_uj").chmod(0)
        if os.access(self.tree / "intel-rapl:0" / "energy_uj", os.R_OK):
            self.skipTest("this user may read all files")
        self.assertRegex(self.run_with()["processor"]["missing"],
                         r"energy_uj.*Permission denied; for others, root may change its mode$")

    def test_lost(self):
        """A counter that can't be read any more."""
        self.zone("intel-rapl:0", "package-0", 0)
        energy = self.run_with((self.tree / "intel-rapl:0" / "energy_uj").unlink)
        self.assertRegex(energy["processor"]["missing"], "energy_uj.*No such file")


@unittest.skipIf(EMULATED, "once is enough")
class Operations(graphs.GraphTest):
    def test_sums(self):
        """A last sum counts as far as it goes: 8 operations for each of the 36 pairs of 8 inputs."""
        for samples in 10, 1000, 1100:
            stages = {"in": {"stage": "generate", "type": "ci8", "sample_rate": "1 MHz", "n_stations": 4, "n_pols": 2,
                             "samples": samples, **HOST},
                      "sums": {"stage": "correlate", "from": "in", "integration": 1000, **HOST},
                      "out": {"stage": "discard", "from": "sums", **HOST}}
            done = subprocess.run([graphs.COMMAND, "run", self.write(stages), "--stats", "json"], cwd=self.folder,
                                  capture_output=True, text=True, check=True)
            said = json.loads(done.stdout)
            nodes = {node["name"]: node["operations"] for node in said["nodes"]}
            self.assertEqual(nodes["sums"], samples * 36 * 8)
            self.assertEqual(said["energy"]["processor"].get("operations", sum(nodes.values())), sum(nodes.values()))


class Device(EnergyTest):
    @unittest.skipUnless(EMULATED, "for the emulator")
    def test_made(self):
        counter = self.folder / "nvml"
        node = {"backend": "cuda"}
        variables = {"CORNERTURN_NVML": NVML, "CORNERTURN_TEST_NVML": str(counter)}
        counter.write_text("1000")
        energy = self.run_with(lambda: counter.write_text("3500"), node=node, variables=variables)
        self.assertEqual(energy["devices"], [{
            "device": 0, "missing": None, "joules": 2.5}])
        counter.write_text("none")
        energy = self.run_with(node=node, variables=variables)
        self.assertEqual(energy["devices"], [{
            "device": 0,
            "missing": "NVML does not tell the device's energy: Not Supported"}])
        energy = self.run_with(node=node, variables={"CORNERTURN_NVML": "missing.so"})
        self.assertRegex(energy["devices"][0]["missing"], "missing.so: cannot open")

    @unittest.skipIf(EMULATED, "for a device")
    def test_real(self):
        """Some energy, if there is a device that counts it: an idle one uses more than a watt."""
        if "\ncuda:0 " not in subprocess.run([graphs.COMMAND, "inspect"], capture_output=True, text=True,
                                              check=True).stdout:
            self.skipTest("no device")
        energy = self.run_with(lambda: time.sleep(1), node={"backend": "cuda"})["devices"][0]
        if energy["missing"] and "Not Supported" in energy["missing"]:
            self.skipTest(energy["missing"])
        self.assertIsNone(energy["missing"])
        self.assertGreater(energy["joules"], 1)


if __name__ == "__main__":
    tap.main()
