#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The extension of a file's name chooses its format: the stage that reads or writes it."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import tap

COMMAND = os.environ["CORNERTURN"]
PLUGINS = os.environ["CORNERTURN_PLUGIN_PATH"] + ":" + os.environ["CORNERTURN_TEST_PLUGINS"] + "/named"
GRAPH = """stages:
  sky: {{ stage: generate, type: ci8, sample_rate: 1 MHz, samples: 8, n_stations: 1, n_pols: 2 }}
  x: {{ stage: {stage}, from: sky, {more} }}
  end: {{ stage: discard, from: x }}
"""


class Formats(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name).resolve()

    def command(self, *arguments):
        return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=60,
                              cwd=self.root, env={**os.environ, "CORNERTURN_PLUGIN_PATH": PLUGINS})

    def plan(self, more, stage, *arguments):
        (self.root / "g.yaml").write_text(GRAPH.format(stage=stage, more=more))
        return self.command("plan", "--json", "g.yaml", *arguments)

    def stage_of(self, more, stage="named.family", *arguments):
        done = self.plan(more, stage, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return re.search(r"named\.\w+", done.stdout).group()

    def refuse(self, more, *wanted, stage="named.family"):
        done = self.plan(more, stage)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        for text in wanted:
            self.assertIn(text, done.stderr)

    def test_choice(self):
        for more, stage in (("path: a.one", "family"), ("path: a.uno", "family"), ("path: a.two", "second"),
                            ("path: a.more.two", "longer"), ("path: [a.two, b.one]", "second"),
                            ("path: a.two, format: x", "family"), ("path: a, format: x", "family")):
            self.assertEqual(self.stage_of(more), "named." + stage, more)
        self.assertEqual(self.stage_of("path: a.two", "named.family", "--set", "x.path=a.one"), "named.family")
        self.assertEqual(self.stage_of("path: a.one", "named.second"), "named.second")

    def test_errors(self):
        self.refuse("path: a.xyz", "g.yaml:3:46: node 'x': parameter 'path': wants a name that ends in "
                                   ".gone, .more.two, .one, .twin, .two or .uno, or 'format' beside it, but is "
                                   "given 'a.xyz'")
        self.refuse("path: a.twin", "g.yaml:3:46: node 'x': parameter 'path': wants the name of one format, but "
                                    "'a.twin' is one of named.longer and of named.twin: give the node's "
                                    "stage one of these names")
        self.assertEqual(self.stage_of("path: a.twin", "named.twin"), "named.twin")
        self.refuse("path: .hidden/a", "but is given '.hidden/a'")
        self.refuse("path: [[a]]", "parameter 'path'")
        self.refuse("format: x", "parameter 'path' is missing")
        gone = "g.yaml:3:15: node 'x': stage 'named.absent' is not in this build, which lacks LIBGONE " \
               "(libgone-dev)"
        self.refuse("path: a.gone", gone)
        self.refuse("path: a", gone, stage="named.absent")

    def test_inspect(self):
        said = self.command("inspect").stdout
        self.assertRegex(said, r"named.absent +Lacks its library; not in this build, which lacks LIBGONE "
                               r"\(libgone-dev\)")
        said = self.command("inspect", "named.family").stdout
        self.assertIn("\nFormats\n  .gone: named.absent, which lacks LIBGONE (libgone-dev)\n"
                      "  .one, .uno: named.family\n  .more.two, .twin: named.longer\n"
                      "  .two: named.second\n  .twin: named.twin\n", said)
        self.assertIn("\nnot in this build, which lacks LIBGONE", self.command("inspect", "named.absent").stdout)


if __name__ == "__main__":
    tap.main()
