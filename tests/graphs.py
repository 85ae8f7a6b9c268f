# SPDX-License-Identifier: BSD-3-Clause
"""Runs graphs with the command, each test in a folder of its own."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

COMMAND = os.environ["CORNERTURN"]
SOURCE_ROOT = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"])

# Recordings of real instruments, which are not part of the project.
DATA = pathlib.Path(os.environ.get("CORNERTURN_DATA", SOURCE_ROOT.parent / "shared" / "data"))


def needs_data(*names):
    missing = [name for name in names if not (DATA / name).exists()]
    return unittest.skipIf(missing, f"no {', '.join(missing)} in {DATA} (CORNERTURN_DATA)")


class GraphTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cornerturn-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, stages, name="graph.yaml"):
        """Writes the graph as JSON, which is YAML."""
        text = json.dumps({"stages": stages}, indent=1)
        (self.folder / name).write_text(text)
        return name

    def start(self, stages, *arguments, **options):
        return subprocess.Popen(
            [COMMAND, "run", self.write(stages), "--stats", "json", *arguments],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)

    def run_graph(self, stages, *arguments):
        """Runs the graph, which must end in order; returns the statistics."""
        process = self.start(stages, *arguments)
        output, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, errors)
        return json.loads(output)

    def check_no_effect(self, stages, node, parameter):
        """Checks that the graph's only warning is about this parameter, and is an error with
        --strict."""
        for strict, status, severity, mark in ([], 0, "warning: ", ""), (["--strict"], 1, "", " (strict)"):
            done = subprocess.run([COMMAND, "check", "--quiet", self.write(stages), *strict],
                                  cwd=self.folder, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertRegex(done.stderr, rf"^graph.yaml:\d+:\d+: node '{node}': {severity}parameter "
                                          rf"'{parameter}' has no effect here{re.escape(mark)}\n$")

    def fail_graph(self, stages, *arguments, **options):
        """Runs the graph, which must fail; returns its only message."""
        process = self.start(stages, *arguments, **options)
        output, errors = process.communicate(timeout=120)
        self.assertNotEqual(process.returncode, 0, output)
        self.assertEqual(len(errors.strip().splitlines()), 1, errors)
        return errors.strip()
