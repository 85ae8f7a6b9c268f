#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The library's symbols, headers and version."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

import tap

COMMAND = os.environ["CORNERTURN"]
BUILD = pathlib.Path(COMMAND).parent.parent
HEADERS = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"]) / "core" / "include"

FOR_PROGRAMS = ["costs", "error", "inspect", "pipeline", "send", "tensor", "text", "version"]
# Types that only stage.h and the headers of plugins declare.
FOR_PLUGINS = ["CtStage", "CtVariant", "CtPlugin", "CtPort", "CtNode", "CtFootprint", "CtPrepare",
               "CtAdvance", "CtWork", "CtParam", "CtParams", "CtLayout", "CtDevice", "CtQueue"]


def output(*arguments):
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def compiled(text):
    """The compiler's run on the text of a program that includes public headers."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    flags = shlex.split(output(os.environ.get("PKG_CONFIG", "pkg-config"), "--cflags", "glib-2.0"))
    return subprocess.run([*compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", *flags,
                           f"-I{HEADERS}", "-x", "c", "-fsyntax-only", "-"], input=text, text=True,
                          capture_output=True, check=False)


def exported(path):
    """The exported symbols, without those of a sanitizer."""
    lines = output("nm", "-D", "--defined-only", str(path)).splitlines()
    names = {line.split()[-1] for line in lines}
    return {name for name in names if not name.startswith(("__asan", "__odr_asan"))}


class Library(unittest.TestCase):
    def test_only_prefixed_symbols_leave(self):
        symbols = exported(BUILD / "core" / "libcornerturn.so")
        self.assertEqual({name for name in symbols if not name.startswith("ct_")}, set())

    def test_a_plugin_exports_one_symbol(self):
        for path in (BUILD / "plugins" / "kit").glob("ct-*.so"):
            with self.subTest(path.name):
                self.assertEqual(len(exported(path)), 1)

    def test_every_header_compiles_alone(self):
        for path in sorted(HEADERS.rglob("*.h")):
            with self.subTest(path.name):
                ran = compiled(f'#include "{path}"\n')
                self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_programs_do_not_see_the_interface_of_plugins(self):
        """A program may use the names of stage.h for things of its own."""
        includes = "".join(f"#include <cornerturn/{name}.h>\n" for name in FOR_PROGRAMS)
        own = "".join(f"typedef struct Own{name} {name};\n" for name in FOR_PLUGINS)
        ran = compiled(includes + own + "extern CtPipeline *pipeline; extern CtStream stream;\n"
                       "extern CtBlock block; extern CtError code;\n")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        for name in FOR_PLUGINS:
            with self.subTest(name):
                ran = compiled("#include <cornerturn/stage.h>\n"
                               f"typedef struct Own{name} {name};\n")
                self.assertRegex(ran.stderr, rf"error: .*{name}")

    def test_an_installed_copy_finds_its_plugins(self):
        """It finds them in any place, without the variables of the build."""
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
        first, *others = output(COMMAND, "--version").splitlines()
        self.assertRegex(first, r"^cornerturn \d+\.\d+\.\d+$")
        options = json.loads(output("meson", "introspect", "--buildoptions", str(BUILD)))
        libraries = {option["name"]: option["value"] for option in options
                     if option["section"] == "user" and "auto" in option.get("choices", [])}
        shown = {name: line.split(":")[0] for line in others for name in line.split()[1:]}
        self.assertEqual(set(shown), set(libraries) - {"python"})
        readme = (HEADERS.parent.parent / "README.md").read_text(encoding="utf-8")
        table = readme.partition("| option | library |")[2].partition("\n\n")[0]
        self.assertEqual(set(re.findall(r"^\| `(\w+)`", table, re.M)), set(shown))
        for name, word in shown.items():
            self.assertIn(word, {"enabled": ["with"], "disabled": ["without"]}.get(
                libraries[name], ["with", "without"]))


if __name__ == "__main__":
    tap.main()
