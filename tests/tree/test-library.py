#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What leaves the library: its symbols, its headers, its version."""
import os
import pathlib
import shlex
import subprocess
import tempfile
import unittest

import tap

COMMAND = os.environ["CORNERTURN"]
BUILD = pathlib.Path(COMMAND).parent.parent
HEADERS = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"]) / "core" / "include"


def output(*arguments):
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def exported(path):
    """Symbols, those aside that a sanitizer adds."""
    lines = output("nm", "-D", "--defined-only", str(path)).splitlines()
    names = {line.split()[-1] for line in lines}
    return {name for name in names if not name.startswith(("__asan", "__odr_asan"))}


class Library(unittest.TestCase):
    def test_only_prefixed_symbols_leave(self):
        symbols = exported(BUILD / "core" / "libcornerturn.so")
        self.assertEqual({name for name in symbols if not name.startswith("ct_")}, set())

    def test_a_plugin_exports_one_symbol(self):
        for path in (BUILD / "plugins").glob("ct-*.so"):
            with self.subTest(path.name):
                self.assertEqual(len(exported(path)), 1)

    def test_every_header_compiles_alone(self):
        compiler = shlex.split(os.environ.get("CC", "cc"))
        tool = os.environ.get("PKG_CONFIG", "pkg-config")
        flags = shlex.split(output(tool, "--cflags", "glib-2.0"))
        for path in sorted(HEADERS.rglob("*.h")):
            with self.subTest(path.name):
                subprocess.run([*compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", *flags,
                                f"-I{HEADERS}", "-x", "c", "-fsyntax-only", "-"],
                               input=f'#include "{path}"\n', text=True, check=True)

    def test_an_installed_copy_finds_its_plugins(self):
        """Wherever it stands, and without the variables of the build."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["meson", "install", "-C", str(BUILD), "--no-rebuild", "--quiet",
                            "--destdir", folder], check=True, capture_output=True)
            command = next(pathlib.Path(folder).rglob("bin/cornerturn"))
            bare = {name: value for name, value in os.environ.items()
                    if name not in ("CORNERTURN_PLUGIN_PATH", "LD_LIBRARY_PATH")}
            bare["LD_LIBRARY_PATH"] = ":".join(
                entry for entry in os.environ.get("LD_LIBRARY_PATH", "").split(":")
                if entry and not entry.startswith(str(BUILD)))
            ran = subprocess.run([command, "inspect"], env=bare, capture_output=True, text=True)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            there = {line.split()[0] for line in ran.stdout.split("\n\n")[0].splitlines()}
            self.assertLessEqual({"fir", "fft", "correlate", "file.source"}, there)

    def test_version(self):
        self.assertRegex(output(COMMAND, "--version"), r"^cornerturn \d+\.\d+\.\d+$")


if __name__ == "__main__":
    tap.main()
