#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`cornerturn new-stage`: the plugin that it writes builds without a warning and passes its own
test."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import tap

COMMAND = pathlib.Path(os.environ["CORNERTURN"])
BUILD = COMMAND.parent.parent
SOURCE = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"])


class NewStage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # These are as `meson devenv` sets them.
        self.environment = {
            **os.environ,
            "PATH": f"{COMMAND.parent}:{os.environ['PATH']}",
            "PKG_CONFIG_PATH": str(BUILD / "meson-uninstalled"),
        }

    def run_in(self, folder, *command):
        result = subprocess.run(command, cwd=folder, env=self.environment, capture_output=True,
                                text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def refuse(self, message, *arguments):
        result = subprocess.run([COMMAND, "new-stage", *arguments], cwd=self.folder,
                                env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn(message, result.stderr)

    def run_briefly(self, made):
        """Runs the tests of a project as `meson test` does, but test-stage for two seconds only."""
        self.run_in(made, "meson", "compile", "-C", "build")
        tests = json.loads(self.run_in(made, "meson", "introspect", "--tests", "build"))
        self.assertTrue(tests)
        for test in tests:
            brief = ["--seconds", "2"] if "test-stage" in test["cmd"] else []
            environment = self.environment
            self.environment = {**environment, **test["env"]}
            self.run_in(made / "build", *test["cmd"], *brief)
            self.environment = environment

    def make_project(self, name, *options, whole=False):
        """Makes a project, builds it, and runs its tests; returns its folder."""
        said = self.run_in(self.folder, COMMAND, "new-stage", name, *options)
        plugin = name.partition(".")[0]
        self.assertIn(f"cd ./{plugin} && meson setup build && meson test -C build", said)
        made = self.folder / plugin
        sanitizer = "address" if "__asan_init" in self.run_in("/", "nm", "-D", str(COMMAND)) else ""
        self.run_in(made, "meson", "setup", "build", "-Dwerror=true",
                    *([f"-Db_sanitize={sanitizer},undefined", "-Db_lundef=false"] if sanitizer else []))
        if whole:
            self.run_in(made, "meson", "test", "-C", "build")
        else:
            self.run_briefly(made)
        # The next line shows the stage.
        setting, _, shows = said.splitlines()[-1].strip().partition(" ")
        self.assertEqual(setting, "CORNERTURN_PLUGIN_PATH=$PWD/build/kit")
        self.assertTrue(self.run_in(made, "sh", "-c", f"export {setting}; {shows}").startswith(f"{name}: "))
        self.environment["CORNERTURN_PLUGIN_PATH"] = str(made / "build" / "kit")
        return made

    def test_project_of_its_own(self):
        made = self.make_project("twice", whole=True)
        self.assertEqual({path.name for path in made.iterdir()},
                         {"README.md", "build", "kit", "meson.build", "test-twice.py", "twice.c",
                          "twice.kernel.h"})
        for path in (SOURCE / "plugins" / "kit").rglob("*.*"):
            copied = made / "kit" / path.relative_to(SOURCE / "plugins" / "kit")
            self.assertEqual(copied.read_text(), path.read_text())
        shown = self.run_in("/", COMMAND, "inspect", "twice")
        for words in ("samples times a factor", "cuda", "cpu-baseline", "reference"):
            self.assertIn(words, shown)

    def test_forms(self):
        for form, words in {"table": "a weight for each station", "group": "two polarisations",
                            "source": "recordings of packets",
                            "fold": "the mean power",
                            "window": "the mean of consecutive samples",
                            "join": "samples less those of a background",
                            "free": "samples times a factor"}.items():
            with self.subTest(form):
                self.make_project("own" + form, "--form", form)
                shown = self.run_in("/", COMMAND, "inspect", "own" + form)
                variants = [] if form == "source" else ["  cuda  ", "  cpu-baseline  ", "  reference  "]
                for part in [words, *variants]:
                    self.assertIn(part, shown)

    @unittest.skipUnless(shutil.which("g++"), "the emulator has no compiler here")
    def test_fold_merges_on_devices(self):
        """A fold's own tests find a merge that drops samples, which short hops on a device do not
        call."""
        made = self.folder / "sums"
        self.run_in(self.folder, COMMAND, "new-stage", "sums", "--form", "fold")
        kernel = made / "sums.kernel.h"
        kernel.write_text(kernel.read_text(encoding="utf-8").replace("CT_SUMS(", """
CT_KERNEL void
power_start(const CtNoSettings *none, Power *power)
{
    power->sum = 0;
}

CT_KERNEL void
power_merge(const CtNoSettings *none, Power *power, const Power *other)
{
}
CT_FOLD("""), encoding="utf-8")
        self.run_in(made, "meson", "setup", "build")
        self.run_in(made, "meson", "compile", "-C", "build")
        reports = ""
        for test in json.loads(self.run_in(made, "meson", "introspect", "--tests", "build")):
            if "test-stage" in test["cmd"]:
                environment = {**self.environment, **test["env"], "CORNERTURN_CUDA": "emulator"}
                ran = subprocess.run([*test["cmd"], "--variant", "cuda", "--seconds", "2"], env=environment,
                                     cwd=made, capture_output=True, text=True, check=False)
                reports += ran.stdout
        self.assertIn("\nnot ok 1 - cuda of sums: ", reports)

    def test_names_with_a_dot(self):
        """The part before the dot is the name of the plugin, its folder and its files."""
        for name, form in ("recorder.source", "source"), ("often.map", "map"):
            with self.subTest(name):
                made = self.make_project(name, "--form", form)
                plugin = made.name
                self.assertTrue((made / f"{plugin}.c").exists())
                self.assertTrue((made / "build" / "kit" / f"ct-{plugin}.so").exists())
                self.assertTrue((made / "README.md").read_text(encoding="utf-8").startswith(f"# {name}: "))
                self.assertIn(f"{plugin}/build/kit/ct-{plugin}.so", self.run_in("/", COMMAND, "inspect", name))

    def test_mistakes_end_the_build(self):
        """Not only the loading of the module; without -Werror, too."""
        undeclared = "implicit declaration of|undeclared function"
        for form, file, was, now, message in (
                ("fold", "made.kernel.h", "\npower_add(", "\npower_adds(", undeclared),
                ("free", "made.c", "return TRUE;", "return made_up();", undeclared),
                ("free", "made.c", ".finish = g_free", ".finish = infer", "incompatible"),
                ("free", "made.c", "CT_STAGE_PLUGIN(", "extern const CtVariant made_up;\n"
                 "const CtVariant *const more[] = {&made_up};\nCT_STAGE_PLUGIN(", "undefined .*made_up")):
            with self.subTest(now):
                made = self.folder / "made"
                shutil.rmtree(made, ignore_errors=True)
                self.run_in(self.folder, COMMAND, "new-stage", "made", "--form", form)
                text = (made / file).read_text(encoding="utf-8")
                self.assertIn(was, text)
                (made / file).write_text(text.replace(was, now), encoding="utf-8")
                self.run_in(made, "meson", "setup", "build")
                built = subprocess.run(["meson", "compile", "-C", "build"], cwd=made, env=self.environment,
                                       capture_output=True, text=True, check=False)
                self.assertRegex(built.stdout + built.stderr, message)
                self.assertNotEqual(built.returncode, 0)

    def test_in_the_source_tree(self):
        (self.folder / "core" / "include" / "cornerturn").mkdir(parents=True)
        (self.folder / "plugins").mkdir()
        shutil.copy(SOURCE / "plugins" / "meson.build", self.folder / "plugins")
        self.run_in(self.folder, COMMAND, "new-stage", "twice")
        made = self.folder / "plugins" / "twice"
        self.assertIn("plugins += {\n  'twice': {", (made / "meson.build").read_text())
        was = (SOURCE / "plugins" / "meson.build").read_text().splitlines()
        now = (self.folder / "plugins" / "meson.build").read_text().splitlines()
        self.assertEqual([line for line in now if line not in was], ["subdir('twice')"])
        at = now.index("subdir('twice')")
        self.assertEqual(now[:at] + now[at + 1:], was)
        self.assertTrue(now[at - 1].startswith("subdir('"))
        # Plugins behind the kit's line would not be built.
        self.assertLess(at, now.index("subdir('kit')"))
        (self.folder / "plugins" / "meson.build").write_text("plugins = {}\nsubdir('kit')\n", encoding="utf-8")
        self.refuse("plugins/meson.build: has no line subdir('…') before that of the kit to add to", "thrice")

    def test_refused(self):
        self.refuse("there is a stage 'fir' already, in ", "fir")
        self.refuse("there is a plugin 'lofar' already, ", "lofar.beams")
        for name in ("Twice", "2nd", "a-b", "a.", ".a", "a.B", "a.2", "a.b.c", "../a", ""):
            self.refuse(f"but is given '{name}'", name)
        self.refuse("--form wants map, table, group, fold, window, join, source or free, but is given 'tree'",
                    "twice", "--form", "tree")
        (self.folder / "twice").mkdir()
        self.refuse("./twice: cannot be made: File exists", "twice")


if __name__ == "__main__":
    tap.main()
