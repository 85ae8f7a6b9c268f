#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `meson install` puts in place works from there: the command finds its plugins relative to
itself, and a plugin builds against the installed headers."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import tap

COMMAND = pathlib.Path(os.environ["CORNERTURN"])
BUILD = COMMAND.parent.parent
SOURCE = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"])


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.temporary.name)
        subprocess.run(["meson", "install", "-C", str(BUILD), "--no-rebuild", "--quiet",
                        "--destdir", str(cls.root)], check=True, capture_output=True)
        cls.command = next(cls.root.rglob("bin/cornerturn"))
        cls.prefix = cls.command.parent.parent
        cls.libraries = next(cls.root.rglob("libcornerturn.so")).parent
        cls.environment = {
            name: value for name, value in os.environ.items()
            if name not in ("CORNERTURN_PLUGIN_PATH", "CORNERTURN", "LD_LIBRARY_PATH")}
        # The build's own library must not be found, but others may stand in folders of their own.
        others = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":")
                  if folder and not folder.startswith(str(BUILD))]
        cls.environment["LD_LIBRARY_PATH"] = ":".join([str(cls.libraries), *others])

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def output(self, *arguments, folder=None):
        result = subprocess.run(arguments, env=self.environment, cwd=folder, capture_output=True,
                                text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def test_own_plugins(self):
        for line in self.output(self.command, "inspect").split("\n\n")[0].splitlines():
            name = line.split()[0]
            text = self.output(self.command, "inspect", name)
            if name not in ("input", "output"):
                self.assertIn(f"{self.prefix}/", text.splitlines()[1])

    def test_shipped_pipelines(self):
        shipped = {path.name for path in (SOURCE / "pipelines").glob("*.yaml")}
        installed = self.prefix / "share" / "cornerturn" / "pipelines"
        self.assertEqual({path.name for path in installed.iterdir()}, shipped)
        self.output(self.command, "check", str(installed / "fx-correlator.yaml"))

    def test_shipped_costs(self):
        folder = self.root / "costs"
        folder.mkdir()
        store = str(folder / "costs.db")
        machine = self.output(self.command, "costs", "--costs", store, "--measure-roofs")
        line = {"stages": "discard", "variant": "cpu", "row": "any: [...] ->", "way": "",
                "layouts": "cf32[time station pol] -> ", "lengths": "0 2 2 -> ", "parameters": "",
                "machine": machine.splitlines()[0], "n_workers": 2, "aim": 1 << 20, "code": "another",
                "tuning": "", "operations": 0, "bytes": 32, "seconds": 1e-9, "spread": 0.01,
                "n_repetitions": 9, "time": 0}
        shipped = self.prefix / "share" / "cornerturn" / "costs"
        shipped.mkdir(parents=True, exist_ok=True)
        (shipped / "here.json").write_text(json.dumps(line) + "\n", encoding="utf-8")
        graph = folder / "graph.yaml"
        graph.write_text(
            "stages:\n"
            "  sky: {stage: generate, type: cf32, sample_rate: 1 MHz, duration: 1 ms,\n"
            "        n_stations: 2, n_pols: 2, layout: '[time station pol]'}\n"
            "  end: {stage: discard, from: sky}\n", encoding="utf-8")
        self.assertIn(" shipped ±1.0% ", self.output(
            self.command, "plan", "--explain", "--workers", "2", "--cache", "1 MiB", "--costs", store,
            str(graph)))
        self.assertNotIn("shipped", self.output(
            self.command, "plan", "--explain", "--no-tuning", str(graph)))

    def test_manual(self):
        pages = {path.name for path in (SOURCE / "docs" / "man").glob("*.1")}
        installed = {path.name.removesuffix(".gz") for path in self.root.rglob("man1/*")}
        self.assertEqual(installed, pages)

    def test_plugin_against_it(self):
        package = next(self.root.rglob("pkgconfig/cornerturn.pc"))
        # The prefix is where DESTDIR puts it.
        text = package.read_text()
        package.write_text(text.replace(text.splitlines()[0], f"prefix={self.prefix}", 1))
        self.environment["PKG_CONFIG_PATH"] = str(package.parent)
        self.environment["PATH"] = f"{self.command.parent}:{self.environment['PATH']}"
        with tempfile.TemporaryDirectory() as folder:
            self.output(self.command, "new-stage", "twice", folder=folder)
            self.output("meson", "setup", "build", "-Dwerror=true", f"--prefix={self.prefix}",
                        folder=f"{folder}/twice")
            self.output("meson", "test", "-C", "build", folder=f"{folder}/twice")
            self.output("meson", "install", "-C", "build", folder=f"{folder}/twice")
        self.assertIn("samples times a factor", self.output(self.command, "inspect", "twice"))


if __name__ == "__main__":
    tap.main()
