#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An installation by `meson install` works where it is: the command finds its plugins relative to
itself, and a plugin builds against the installed headers."""
import json
import os
import pathlib
import re
import shutil
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
            if name not in ("CORNERTURN_PLUGIN_PATH", "CORNERTURN", "LD_LIBRARY_PATH",
                            "PKG_CONFIG_PATH")}
        # This path must not find a library of Cornerturn, but others may be in folders of their
        # own.
        others = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":")
                  if folder and not folder.startswith(str(BUILD))]
        if others:
            cls.environment["LD_LIBRARY_PATH"] = ":".join(others)
        package = next(cls.root.rglob("pkgconfig/cornerturn.pc"))
        # The prefix is below DESTDIR.
        text = package.read_text()
        package.write_text(text.replace(text.splitlines()[0], f"prefix={cls.prefix}", 1))
        cls.packages = package.parent

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

    def test_no_search_paths(self):
        """The loader finds all by itself: programs and plugins have no RPATH and no RUNPATH."""
        for path in [self.command, *self.libraries.rglob("*.so")]:
            with self.subTest(path.name):
                self.assertNotRegex(self.output("readelf", "-d", str(path)), "R(UN)?PATH")

    def test_shipped_pipelines(self):
        shipped = {path.name for path in (SOURCE / "pipelines").glob("*.yaml")}
        installed = self.prefix / "share" / "cornerturn" / "pipelines"
        self.assertEqual({path.name for path in installed.iterdir()}, shipped)
        self.output(self.command, "check", str(installed / "fx-correlator.yaml"))

    def test_shipped_costs(self):
        folder = self.root / "costs"
        folder.mkdir()
        store = str(folder / "costs.db")
        machine = self.output(self.command, "costs", "--costs", store, "--measure-ceilings")
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

    def test_documents(self):
        """They, the pages of the stages and the examples have the places of the source tree, and
        links that hold."""
        installed = self.prefix / "share" / "doc" / "cornerturn"
        for folder in "*.md", "docs/*.md", "examples/*.c", "pipelines/*.yaml", "plugins/*/README.md":
            self.assertEqual({path.relative_to(installed) for path in installed.glob(folder)},
                             {path.relative_to(SOURCE) for path in SOURCE.glob(folder)})
        for document in installed.rglob("*.md"):
            for target in re.findall(r"\]\(([^)#:]+)[)#]", document.read_text(encoding="utf-8")):
                with self.subTest(f"{document.relative_to(installed)}: {target}"):
                    self.assertTrue((document.parent / target).exists())

    def test_headers_of_kernels(self):
        """All that kernels include can be read: with the two folders, every name leads to a file."""
        own = pathlib.Path(self.output("env", f"PKG_CONFIG_PATH={self.packages}", "pkg-config",
                                       "--variable=kerneldir", "cornerturn").strip())
        include = self.prefix / "include"
        paths = [path.relative_to(folder) for folder in (own, include)
                 for path in folder.glob("cornerturn/**/*.h")]
        self.assertEqual(len(paths), len(set(paths)))
        self.assertEqual({path.name for path in own.rglob("*.*")},
                         {path.name for path in (SOURCE / "core" / "kernel").glob("*.h")})
        listed = (SOURCE / "core" / "kernel" / "kernel.gresource.xml").read_text(encoding="utf-8")
        for prefix, files in re.findall(r'prefix="/cornerturn/(\w+)">(.*?)</gresource>', listed, re.S):
            for name in re.findall(r'(?:>|alias=")([\w-]+\.h)', files):
                place = pathlib.Path("cornerturn", name if prefix == "kernel" else f"kit/{name}")
                with self.subTest(name):
                    self.assertIn(place, paths)
        for path in own.rglob("*.h"):
            with self.subTest(path.name):
                self.output("g++", "-E", "-x", "c++", "-nostdinc", "-I", own, "-I", include, path)

    def test_manual(self):
        pages = {path.name for path in (SOURCE / "docs" / "man").glob("*.[15]")}
        installed = {path.name.removesuffix(".gz") for path in self.root.rglob("man[15]/*")}
        self.assertEqual(installed, pages)

    def test_completion(self):
        share = self.prefix / "share"
        for path, line in (("bash-completion/completions/cornerturn", "complete -F _cornerturn cornerturn"),
                           ("zsh/site-functions/_cornerturn", "#compdef cornerturn")):
            self.assertIn(line, (share / path).read_text(encoding="utf-8").splitlines())

    def test_plugin_against_it(self):
        """The command line that new-stage prints builds a plugin. Its name comes before those of
        all other plugins, so that only the command itself can have loaded the library."""
        sanitized = "__asan_init" in self.output("nm", "-D", str(self.command))
        with tempfile.TemporaryDirectory() as folder:
            line = self.output(self.command, "new-stage", "aaa", folder=folder).splitlines()[1]
            self.assertEqual(line.strip(), f"cd ./aaa && PKG_CONFIG_PATH={self.packages} meson setup "
                                           "build && meson test -C build")
            if sanitized:
                line = line.replace("meson setup", "meson setup -Db_sanitize=address,undefined "
                                                   "-Db_lundef=false")
            self.output("sh", "-c", line, folder=folder)
            self.output("meson", "install", "-C", "build", folder=f"{folder}/aaa")
        self.assertIn("samples times a factor", self.output(self.command, "inspect", "aaa"))

    def hidden(self):
        """The beginning of a command line that runs the rest where the source tree is empty; nothing
        where this machine does not allow that."""
        words = ["unshare", "--map-root-user", "--mount", "sh", "-c",
                 'mount -t tmpfs none "$0" && exec "$@"', str(SOURCE)]
        able = shutil.which("unshare") and subprocess.run(
            [*words, "test", "!", "-e", SOURCE / "meson.build"], capture_output=True).returncode == 0
        if not able:
            print("# the source tree is not hidden: this machine has no mount namespaces for users")
        return words if able else []

    def test_workshop(self):
        """With the installation alone, a new stage builds with -Werror, passes its own tests and
        test-stage, on the emulator too, and runs in a graph."""
        hidden = self.hidden()
        sanitized = "__asan_init" in self.output("nm", "-D", str(self.command))
        environment = {name: value for name, value in self.environment.items()
                       if not name.startswith(("CORNERTURN", "PYTHON"))}
        environment |= {"PKG_CONFIG_PATH": str(self.packages), "CORNERTURN_COSTS": "off"}

        def output(*words, folder="/", **variables):
            ran = subprocess.run([*hidden, *words], cwd=folder, capture_output=True, text=True,
                                 env={**environment, **variables}, check=False)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            return ran.stdout

        for name in "emulator", "docdir":
            self.assertTrue(pathlib.Path(output("pkg-config", f"--variable={name}",
                                                "cornerturn").strip()).exists())
        with tempfile.TemporaryDirectory() as folder:
            output(self.command, "new-stage", "often", folder=folder)
            often = f"{folder}/often"
            output("meson", "setup", "build", "-Dwerror=true",
                   *(["-Db_sanitize=address,undefined", "-Db_lundef=false"] if sanitized else []),
                   folder=often)
            output("meson", "test", "-C", "build", folder=often)
            report = pathlib.Path(often, "build/meson-logs/testlog.txt").read_text(encoding="utf-8")
            self.assertRegex(report, r"ok \d+ - cuda of often: \d+ cases, 0 wrong; ")
            self.assertRegex(report, r"(?m)^ok \d+ - cuda, blocks of 7$")
            graph = pathlib.Path(folder, "graph.yaml")
            graph.write_text(
                "stages:\n"
                "  sky: {stage: generate, type: ci8, sample_rate: 1 MHz, samples: 1000,\n"
                "        n_stations: 2, n_pols: 2}\n"
                "  wide: {stage: often, from: sky, factor: 2, backend: cuda}\n"
                "  end: {stage: discard, from: wide}\n", encoding="utf-8")
            self.assertIn("1000", output(self.command, "run", str(graph), CORNERTURN_CUDA="emulator",
                                         CORNERTURN_PLUGIN_PATH=f"{often}/build/kit"))

    def test_without_a_compiler(self):
        """Without the compiler of kernels, the message of a device names it."""
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run(
                [self.command, "test-stage", "power", "--variant", "cuda", "--seconds", "1"],
                capture_output=True, text=True, check=False,
                env={**self.environment, "PATH": folder, "CORNERTURN_CUDA": "emulator",
                     "XDG_CACHE_HOME": folder})
        self.assertEqual(ran.returncode, 1)
        self.assertRegex(ran.stdout, r"the emulator compiles kernels with (g|clang)\+\+, which is not "
                                     r"installed \(or not in PATH\)")

    @unittest.skipIf(os.getuid() != 0, "only root makes programs of others")
    def test_with_rights_that_its_user_lacks(self):
        """With more rights than the user's, the loader follows no search path relative to a
        file."""
        if os.statvfs(self.root).f_flag & os.ST_NOSUID or "LD_LIBRARY_PATH" in self.environment:
            self.skipTest("no program gets other rights here")
        if "__asan_init" in self.output("nm", "-D", str(self.libraries / "libcornerturn.so")):
            self.skipTest("a sanitizer can't look for leaks in such a program")
        self.root.chmod(0o755)
        command = self.command.with_name("setuid")
        shutil.copy(self.command, command)
        os.chown(command, 12345, 12345)
        command.chmod(0o4755)
        self.assertIn("polyphase", self.output(command, "inspect", "fir"))

    def test_no_variable_where_pkg_config_finds_it(self):
        environment = {**self.environment, "PKG_CONFIG_PATH": str(self.packages)}
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run([self.command, "new-stage", "other"], env=environment, cwd=folder,
                                 capture_output=True, text=True, check=True)
        self.assertIn("cd ./other && meson setup build && meson test -C build\n", ran.stdout)

    def test_example_against_it(self):
        """The command lines of the README build the example: as they are, and with the addition for
        other prefixes."""
        text = (SOURCE / "README.md").read_text()
        line = re.search(r"^    (cc .*)$", text, re.M).group(1)
        addition = re.search(r"`(-Wl,-rpath,.*?)`", text).group(1)
        if "__asan_init" in self.output("nm", "-D", str(self.libraries / "libcornerturn.so")):
            line = line.replace("cc ", "cc -fsanitize=address,undefined ")
        environment = {**self.environment, "PKG_CONFIG_PATH": str(self.packages)}
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(SOURCE / "examples", f"{folder}/examples")
            for command, libraries in (line, [str(self.libraries)]), (f"{line} {addition}", []):
                subprocess.run(["sh", "-c", command], env=environment, cwd=folder, check=True)
                others = self.environment.get("LD_LIBRARY_PATH")
                paths = ":".join(libraries + ([others] if others else []))
                ran = subprocess.run(["./spectrum"], cwd=folder, capture_output=True, text=True,
                                     env={**self.environment, "LD_LIBRARY_PATH": paths})
                self.assertEqual((ran.returncode, ran.stderr), (0, ""))
                self.assertIn("6 of 6 blocks came back", ran.stdout)


if __name__ == "__main__":
    tap.main()
