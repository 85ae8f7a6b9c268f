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
KEPT = sorted((SOURCE / "tests" / "abi").glob("[0-9]*"))
PLUGIN = SOURCE / "tests" / "abi" / "plugin.c"
# The structs of tables: these alone may grow.
TABLES = {"CtPlugin", "CtStage", "CtVariant", "CtPort", "CtParam", "CtRow", "CtTunable", "CtSizes"}
# Headers of the kit whose structs a plugin does not share with the library: they are compiled into
# the plugin alone, or are for kernels, which are compiled with the library's own headers. Plugins
# pass one of them to their kernels.
OWN = ("-host.h", "-struct.h", "walk.h")
PASSED = "CtDeviceDivisor"
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
    """The text of every header, by its path, without comments."""
    folder = headers / "cornerturn"
    return {str(path.relative_to(folder)): re.sub(r"/\*.*?\*/", "",
                                                  path.read_text(encoding="utf-8"), flags=re.S)
            for path in sorted(folder.rglob("*.h"))}


def includes(headers):
    return "".join(f"#include <cornerturn/{path}>\n" for path in texts(headers)
                   if not path.endswith(OWN))


def shared(headers):
    """The text of the headers whose structs and constants plugin and library share."""
    return "\n".join(text for path, text in texts(headers).items() if not path.endswith(OWN))


def bodies(text):
    """(name, body) of each struct."""
    for match in re.finditer(r"^(?:typedef struct|struct (\w+)) \{\n(.*?)\n\} ?(\w*);", text,
                             re.M | re.S):
        yield match[1] or match[3], match[2]


def structs(headers):
    """{name: (body, members)} of each struct that plugin and library share."""
    found = dict(bodies(shared(headers)))
    found[PASSED] = dict(bodies(texts(headers)["kit/device-map-struct.h"]))[PASSED]
    return {name: (body, list(members(body))) for name, body in found.items()}


def members(body):
    for declaration in body.split(";")[:-1]:
        function = re.search(r"\(\*(\w+)\)\(", declaration)
        for one in [function[1]] if function else declaration.split(","):
            name = re.search(r"(\w+)\s*(\[.*)?$", one.strip())[1]
            if name != "reserved":  # new members take the place of `reserved`
                yield name


def enumerators(text):
    for body in re.findall(r"^(?:typedef )?enum \{(.*?)\} ?\w*;", text, re.M | re.S):
        for name in re.findall(r"\b(CT_\w+)\b(?=\s*(?:=|,|$))", re.sub(r"=[^,]*", "", body)):
            if not name.startswith("CT_N_"):
                yield name


def constants(text):
    """Each macro that is a number, or that makes one of a number: plugins contain them."""
    for name, argument, value in re.findall(
            r"^#define (CT_\w+)(\(\w+\))?[ \t]+([(\d][^{}\\\n]*)$", text, re.M):
        if "ct_" not in value:
            yield name + ("(5)" if argument else "")


def functions(text):
    """(name, prototype) of each exported function."""
    for prototype in re.findall(r"^CT_EXPORT\s[^;]*\([^;]*;", text, re.M):
        yield re.search(r"\b(ct_\w+)\(", prototype)[1], prototype


def callbacks(text):
    """The type of each pointer to a function."""
    return re.findall(r"^typedef [^;{}]*\(\*\w+\)\([^;]*;", text, re.M)


def numbers(headers, included, names, folder):
    """The value of each C expression of these headers."""
    lines = "".join(f'    printf("%lld\\n", (long long)({name}));\n' for name in names)
    source, made = folder / "numbers.c", folder / "numbers"
    source.write_text("#include <stddef.h>\n#include <stdio.h>\n" + included +
                      f"int main(void)\n{{\n{lines}    return 0;\n}}\n", encoding="utf-8")
    compile_c(source, made, headers)
    return dict(zip(names, map(int, output(made).split())))


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

    def test_structs_and_numbers(self):
        for kept in KEPT:
            text = shared(kept)
            found = structs(kept)
            self.assertLessEqual({*TABLES, "CtStream", "CtBlock", "CtWork", "CtLaunch", "CtFormRun",
                                  "CtFormKernel", "CtFoldKernel", "CtWindow", "CtBox", "CtJoin",
                                  "CtSource", PASSED}, {*found})
            values = list(enumerators(text))
            self.assertGreater(len(values), 80)
            sizes = list(constants(text))
            self.assertLessEqual({"CT_FORM_SETTINGS", "CT_FOLD_FEW", "CT_BOXES_CHUNK",
                                  "CT_CONVERT_SCRATCH(5)"}, {*sizes})
            names = [*(f"sizeof({name})" for name in found),
                     *(f"offsetof({name}, {member})" for name, (_, members) in found.items()
                       for member in members), *values, *sizes]
            old = numbers(kept, includes(kept), names, self.folder)
            new = numbers(PRESENT, includes(kept), names, self.folder)
            for name in names:
                with self.subTest(headers=kept.name, value=name):
                    if name in {f"sizeof({table})" for table in TABLES}:
                        self.assertGreaterEqual(new[name], old[name])
                    else:
                        self.assertEqual(new[name], old[name])

    def test_types(self):
        """Members have the types that they had, also where these have the same size."""
        for kept in KEPT:
            source = self.folder / "types.c"
            text = includes(kept)
            for name, (body, members) in structs(kept).items():
                text += f"typedef struct {{\n{body}\n}} Kept{name};\n" + "".join(
                    "_Static_assert(__builtin_types_compatible_p("
                    f"__typeof__((({name} *)0)->{member}), "
                    f'__typeof__(((Kept{name} *)0)->{member})), "the type of {name}.{member}");\n'
                    for member in members)
            source.write_text(text, encoding="utf-8")
            compile_c(source, self.folder / "types.o", PRESENT, "-c")

    def test_functions(self):
        """The library has every function, with the same arguments."""
        symbols = {line.split()[-1] for line in output(
            "nm", "-D", "--defined-only", str(BUILD / "core" / "libcornerturn.so")).splitlines()}
        for kept in KEPT:
            found = [one for text in texts(kept).values() for one in functions(text)]
            self.assertGreater(len(found), 150)
            self.assertEqual({name for name, _ in found} - symbols, set())
            source = self.folder / "functions.c"
            prototypes = [prototype for _, prototype in found] + callbacks(shared(kept))
            source.write_text(includes(kept) + "\n".join(prototypes), encoding="utf-8")
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
        newer = change_structs(PRESENT, self.folder / "newer", with_later)
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
