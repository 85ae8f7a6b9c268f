#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plugins of older and newer headers: kept headers (tests/abi/*) still describe the structs and
functions of this Cornerturn, and a plugin that is compiled with them runs."""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

import numpy
import tap

COMMAND = os.environ["CORNERTURN"]
BUILD = pathlib.Path(COMMAND).parent.parent
SOURCE = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"])
PRESENT = SOURCE / "core" / "include"
KEPT = sorted(path for path in (SOURCE / "tests" / "abi").iterdir() if path.is_dir())
PLUGIN = SOURCE / "tests" / "abi" / "plugin.c"
# The structs of tables: these alone may grow.
TABLES = {"CtPlugin", "CtStage", "CtVariant", "CtPort", "CtParam", "CtRow", "CtTunable", "CtSizes"}
# Structs whose last member a plugin can do without.
SHORTENED = ["CtStage", "CtVariant", "CtPort", "CtParam"]

GRAPH = """stages:
  numbers: { stage: abi.numbers, samples: 1000, lanes: 3, step: 0.5 }
  factors: { stage: file.source, path: factors.npy, layout: "f32[lane]" }
  scale: { stage: abi.scale, from: { in: numbers, factors: factors }, gain: 2, way: less }
  own: { stage: abi.own, from: scale }
  sum: { stage: abi.sink, from: own, path: sum.json }
  out: { stage: file.sink, from: own, path: out.npy, layout: "[time lane]" }
"""


def output(*arguments):
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def compile_c(source, made, headers, *flags):
    compiler = shlex.split(os.environ.get("CC", "cc"))
    wanted = ["--cflags"] if "-c" in flags else ["--cflags", "--libs"]
    glib = shlex.split(output(os.environ.get("PKG_CONFIG", "pkg-config"), *wanted, "glib-2.0"))
    ran = subprocess.run([*compiler, "-std=gnu11", "-Wall", "-Werror", f"-I{headers}", source,
                          *flags, "-o", made, *glib], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise AssertionError(ran.stderr)


# ---- reading headers ----

def texts(headers):
    """The text of every header, without comments."""
    return {path.name: re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
            for path in sorted((headers / "cornerturn").glob("*.h"))}


def structs(text):
    """(name, members) of each struct."""
    for match in re.finditer(r"^(?:typedef struct|struct (\w+)) \{\n(.*?)\n\} ?(\w*);", text,
                             re.M | re.S):
        members = []
        for declaration in match[2].split(";")[:-1]:
            function = re.search(r"\(\*(\w+)\)\(", declaration)
            members += [function[1]] if function else [
                re.search(r"(\w+)\s*(\[.*)?$", one.strip())[1] for one in declaration.split(",")]
        yield match[1] or match[3], members


def enumerators(text):
    for body in re.findall(r"^typedef enum \{(.*?)\} \w+;", text, re.M | re.S):
        yield from re.findall(r"\b(CT_\w+)\b(?=\s*(?:=|,|$))", re.sub(r"=[^,]*", "", body))


def functions(text):
    """(name, prototype) of each exported function."""
    for prototype in re.findall(r"^CT_EXPORT\s[^;]*\([^;]*;", text, re.M):
        yield re.search(r"\b(ct_\w+)\(", prototype)[1], prototype


def numbers(headers, names, folder):
    """The value of each C expression of these headers."""
    lines = "".join(f'    printf("%lld\\n", (long long)({name}));\n' for name in names)
    source, made = folder / "numbers.c", folder / "numbers"
    source.write_text("#include <stddef.h>\n#include <stdio.h>\n" + INCLUDES +
                      f"int main(void)\n{{\n{lines}    return 0;\n}}\n", encoding="utf-8")
    compile_c(source, made, headers)
    return dict(zip(names, map(int, output(made).split())))


INCLUDES = "".join(f"#include <cornerturn/{name}.h>\n"
                   for name in ("json", "npy", "packets", "stage", "text"))


# ---- other headers ----

def change_structs(headers, folder, change):
    """A copy of the headers in which `change` has replaced the members of each struct."""
    shutil.copytree(headers, folder)
    for path in (folder / "cornerturn").glob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
        text = re.sub(r"^(typedef struct|struct (\w+)) \{\n((?:(?!^\}).*\n)*?)\} ?(\w*);",
                      lambda match: "%s {\n%s} %s;" % (
                          match[1], change(match[2] or match[4], match[3]), match[4]),
                      text, flags=re.M)
        path.write_text(text, encoding="utf-8")
    return folder


def without_last(name, members):
    return "".join(f"{one};" for one in members.split(";")[:-2]) + "\n" \
        if name in SHORTENED else members


def with_later(name, members):
    kind = "guint32" if name == "CtSizes" else "const char *"
    return f"{members}    {kind} later;\n" if name in TABLES else members


class Headers(unittest.TestCase):
    """What the kept headers say still holds."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_there_are_headers_of_this_version(self):
        version = re.search(r"CT_ABI_VERSION (\d+)", texts(PRESENT)["stage.h"])[1]
        for kept in KEPT:
            with self.subTest(kept.name):
                self.assertIn(f"CT_ABI_VERSION {version}\n", texts(kept)["stage.h"])
        self.assertIn(version, [kept.name for kept in KEPT])

    def test_structs_and_enumerations(self):
        for kept in KEPT:
            text = "\n".join(texts(kept).values())
            found = dict(structs(text))
            self.assertLessEqual({*TABLES, "CtStream", "CtBlock", "CtWork", "CtLaunch"}, {*found})
            # New members take the place of `reserved`.
            members = [(name, member) for name, members in found.items() for member in members
                       if member != "reserved"]
            values = [name for name in enumerators(text) if not name.startswith("CT_N_")]
            self.assertGreater(len(values), 70)
            names = [*(f"sizeof({name})" for name in found),
                     *(f"offsetof({name}, {member})" for name, member in members),
                     *(f"sizeof(({name} *)0)->{member}" for name, member in members), *values]
            old = numbers(kept, names, self.folder)
            new = numbers(PRESENT, names, self.folder)
            for name in names:
                with self.subTest(headers=kept.name, value=name):
                    if name in {f"sizeof({table})" for table in TABLES}:
                        self.assertGreaterEqual(new[name], old[name])
                    else:
                        self.assertEqual(new[name], old[name])

    def test_functions(self):
        """The library has every function, with the same arguments."""
        symbols = {line.split()[-1] for line in output(
            "nm", "-D", "--defined-only", str(BUILD / "core" / "libcornerturn.so")).splitlines()}
        for kept in KEPT:
            found = [one for text in texts(kept).values() for one in functions(text)]
            self.assertGreater(len(found), 80)
            self.assertEqual({name for name, _ in found} - symbols, set())
            source = self.folder / "functions.c"
            source.write_text(INCLUDES + "\n".join(prototype for _, prototype in found),
                              encoding="utf-8")
            compile_c(source, self.folder / "functions.o", PRESENT, "-c", "-Wno-redundant-decls")


class Plugins(unittest.TestCase):
    """A plugin runs, whichever headers it is compiled with."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        numpy.save(self.folder / "factors.npy", numpy.array([1, -2, 3], "f4"))
        (self.folder / "g.yaml").write_text(GRAPH, encoding="utf-8")

    def run_command(self, *arguments):
        path = f"{self.folder}:{os.environ['CORNERTURN_PLUGIN_PATH']}"
        return subprocess.run([COMMAND, *arguments], cwd=self.folder, capture_output=True,
                              text=True, check=False, timeout=60,
                              env={**os.environ, "CORNERTURN_PLUGIN_PATH": path})

    def compile_plugin(self, headers, last="__VA_ARGS__,", later="", source=PLUGIN):
        """Compiles a plugin whose tables set the last member of some structs, and a later one of
        the struct `later`."""
        sets = {kind: "" for kind in ("STAGE", "VARIANT", "PORT", "PARAM", "ROW", "TUNABLE")}
        if later:
            sets[later] = '.later="new",'
        compile_c(source, self.folder / "ct-abi.so", headers, "-shared", "-fPIC", "-O2",
                  "-fvisibility=hidden", f"-DLAST(...)={last}",
                  *(f"-DOF_{kind}={text}" for kind, text in sets.items()),
                  f"-L{BUILD / 'core'}", "-lcornerturn")

    def check_run(self):
        ran = self.run_command("run", "g.yaml", "--set", "numbers.step=0.25")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        x = numpy.arange(1000)[:, None] + 0.25 * numpy.arange(3)
        wanted = 2 * numpy.array([1, -2, 3]) * x - 1
        numpy.testing.assert_array_equal(numpy.load(self.folder / "out.npy"), wanted)
        self.assertEqual(json.loads((self.folder / "sum.json").read_text()),
                         {"sum": wanted.sum(), "interrupted": False})
        shown = self.run_command("inspect", "abi.scale").stdout
        self.assertIn("version 3", shown)
        for name in ("factors", "way", "items", "unroll"):
            self.assertIn(name, shown)

    def test_kept_headers(self):
        for kept in KEPT:
            with self.subTest(kept.name):
                self.compile_plugin(kept)
                self.check_run()

    def test_older_headers(self):
        """Structs of tables are shorter than those of the core."""
        self.compile_plugin(change_structs(KEPT[0], self.folder / "older", without_last), last="")
        self.check_run()

    def test_newer_headers(self):
        """They are longer, and the plugin does not set what the core does not know."""
        self.compile_plugin(change_structs(KEPT[0], self.folder / "newer", with_later))
        self.check_run()

    def test_newer_members_are_refused(self):
        newer = change_structs(KEPT[0], self.folder / "newer", with_later)
        of_scale, of_variant = "stage 'abi.scale': ", "variant 'cpu' of 'abi.scale': "
        for struct, where in {"PLUGIN": "plugin: CtPlugin", "STAGE": of_scale + "CtStage",
                              "PORT": of_scale + "inputs 'in'",
                              "PARAM": of_scale + "params 'rate'",
                              "VARIANT": of_variant + "CtVariant",
                              "ROW": of_variant + "rows 'f32[time lane], f32[lane] -> "
                                                  "f32[time lane]'",
                              "TUNABLE": of_variant + "tunables 'tile'"}.items():
            with self.subTest(struct):
                self.compile_plugin(newer, later=struct)
                ran = self.run_command("run", "g.yaml")
                self.assertEqual(ran.returncode, 1, ran.stderr)
                self.assertIn(f"{self.folder}/ct-abi.so: {where}: sets a member that this Cornerturn "
                              "does not know: the plugin wants a newer one", ran.stderr)

    def test_newer_functions_are_refused(self):
        """A plugin that calls what the library lacks is left out, and does not end the process."""
        source = self.folder / "plugin.c"
        text = PLUGIN.read_text(encoding="utf-8")
        source.write_text("void ct_params_later(const void *params);\n" + text.replace(
            "    CtStream *stream =", "    ct_params_later(node->params);\n    CtStream *stream ="),
            encoding="utf-8")
        self.compile_plugin(KEPT[0], source=source)
        ran = self.run_command("run", "g.yaml")
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn(f"{self.folder}/ct-abi.so: undefined symbol: ct_params_later", ran.stderr)


if __name__ == "__main__":
    tap.main()
