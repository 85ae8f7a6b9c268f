# SPDX-License-Identifier: BSD-3-Clause
"""Functions for tests of tuning: a graph in a folder, and the command on it with a cost
database."""
import os
import pathlib
import subprocess
import tempfile
import unittest

COMMAND = os.environ["CORNERTURN"]
HAS_DEVICE = "\ncuda:0 " in subprocess.run([COMMAND, "inspect"], capture_output=True, text=True,
                                           check=True).stdout
# If the environment names a backend, only that is tested.
FOR_DEVICE = "CORNERTURN_TEST_BACKEND" in os.environ

GRAPH = """
stages:
  sky: { stage: generate, type: cf32, sample_rate: 1 MHz, n_stations: 6, n_pols: 2,
         samples: 40000, layout: '[time station pol]' }
  powers: { stage: power, from: sky }
  sums: { stage: integrate, from: powers, length: 64 }
  out: { stage: file.sink, from: sums, path: %s }
"""


class TuneTest(unittest.TestCase):
    backend = "cpu"

    def setUp(self):
        # pylint: disable-next=consider-using-with
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.graph = self.path / "graph.yaml"
        self.output = self.path / "out.npy"
        self.graph.write_text(GRAPH % self.output, encoding="utf-8")
        self.environment = {**os.environ, "CORNERTURN_COSTS": str(self.path / "costs.db")}

    def add_plugin(self, name):
        os.symlink(pathlib.Path(os.environ["CORNERTURN_TEST_PLUGINS"]) / name, self.path / name)
        self.environment["CORNERTURN_PLUGIN_PATH"] += ":" + str(self.path)

    def run_command(self, *arguments, status=0):
        result = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True,
                                check=False, env=self.environment)
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def tune(self, *arguments):
        return self.run_command("tune", "--quick", "--quiet", "--workers", "2", "--backend",
                                self.backend, *arguments, self.graph).stdout

    def write_failing_graph(self):
        """Writes a graph in which one of two variants of `size` fails."""
        self.add_plugin("ct-fail.so")
        self.graph.write_text(
            "stages:\n"
            "  sky: { stage: generate, type: cf32, sample_rate: 1 MHz, samples: 4000,\n"
            "         n_stations: 2, n_pols: 2 }\n"
            "  size: { stage: fail.choice, from: sky }\n"
            "  end: { stage: discard, from: size }\n", encoding="utf-8")
