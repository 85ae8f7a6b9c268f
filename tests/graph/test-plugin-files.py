#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Only complete files that no one else can write are loaded as plugins; and a process with more
rights than its user does not trust the environment."""
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import unittest

import tap

COMMAND = os.environ["CORNERTURN"]
PLUGIN = pathlib.Path(os.environ["CORNERTURN_TEST_PLUGINS"]) / "ct-fail.so"
SOURCE = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"])
SOMEBODY = 12345


class PluginFiles(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name).resolve()
        self.folder = self.root / "plugins"
        self.folder.mkdir(mode=0o755)
        self.path = self.folder / "ct-fail.so"

    def inspect(self, folder=None):
        return subprocess.run([COMMAND, "inspect", "fail.work"], capture_output=True, text=True,
                              check=False, timeout=60, cwd=self.root, stdin=subprocess.DEVNULL,
                              env={**os.environ, "CORNERTURN_PLUGIN_PATH": str(folder or self.folder)})

    def accepted(self, folder=None):
        result = self.inspect(folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def refused(self, reason, folder=None):
        result = self.inspect(folder)
        path = (folder or self.folder) / "ct-fail.so"
        self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
        start = f"there is no stage 'fail.work' (left out: {path}: {reason}"
        self.assertEqual(result.stderr[:len(start)], start, result.stderr)

    def test_a_good_one(self):
        shutil.copy(PLUGIN, self.path)
        self.accepted()

    def test_cut_short(self):
        whole = PLUGIN.read_bytes()
        for length in (0, 10, 63, 64, 100, 1000, len(whole) // 2, len(whole) - 1):
            with self.subTest(length):
                self.path.write_bytes(whole[:length])
                self.refused("is no shared object of this machine" if length < 64 else "is cut short: ")

    def test_no_file(self):
        for name, make in {
                "FIFO": os.mkfifo,
                "folder": os.mkdir,
                "socket": lambda path: socket.socket(socket.AF_UNIX).bind(os.path.relpath(path)),
                "device": lambda path: os.symlink("/dev/zero", path)}.items():
            with self.subTest(name):
                shutil.rmtree(self.folder)
                self.folder.mkdir()
                make(self.path)
                self.refused("is no regular file")

    def test_a_link_that_leads_nowhere(self):
        for target in ("nothing.so", "ct-fail.so"):
            with self.subTest(target):
                self.path.symlink_to(target)
                self.refused("can't be opened: ")
                self.path.unlink()

    def test_links(self):
        """Links to the file and to its folder, relative and absolute."""
        store = self.root / "store"
        store.mkdir()
        shutil.copy(PLUGIN, store / "one.so")
        for target in ("../store/one.so", store / "one.so", ".././/plugins/../store/one.so"):
            self.path.symlink_to(target)
            self.accepted()
            self.path.unlink()
        (store / "one.so").rename(store / "ct-fail.so")
        for target in ("store", store, "./store/../store"):
            link = self.root / "link"
            link.symlink_to(target)
            self.accepted(link)
            link.unlink()

    def test_everybody_may_write(self):
        shutil.copy(PLUGIN, self.path)
        for path, usual in ((self.path, 0o755), (self.folder, 0o755), (self.root, 0o700)):
            with self.subTest(path):
                path.chmod(0o777)
                self.refused(f"is not loaded, for everybody may write {path}: chmod o-w {path}")
                path.chmod(usual)
        self.accepted()

    def test_a_link_in_a_folder_that_everybody_may_write(self):
        store = self.root / "store"
        store.mkdir()
        shutil.copy(PLUGIN, store / "ct-fail.so")
        self.path.symlink_to(store / "ct-fail.so")
        self.folder.chmod(0o777)
        self.refused(f"is not loaded, for everybody may write {self.folder}")
        self.folder.chmod(0o755)
        store.chmod(0o777)
        self.refused(f"is not loaded, for everybody may write {store}")

    @unittest.skipIf(os.getuid() != 0, "only root makes files of others")
    def test_of_a_group(self):
        shutil.copy(PLUGIN, self.path)
        for path in (self.path, self.folder):
            with self.subTest(path):
                os.chown(path, 0, SOMEBODY)
                path.chmod(0o775)
                self.refused(f"is not loaded, for group {SOMEBODY} may write {path}: chmod g-w {path}")
                # root's own group has no other members.
                os.chown(path, 0, 0)
                self.accepted()

    @unittest.skipIf(os.getuid() != 0, "only root makes files of others")
    def test_of_another_user(self):
        shutil.copy(PLUGIN, self.path)
        for path in (self.path, self.folder, self.root):
            with self.subTest(path):
                os.chown(path, SOMEBODY, SOMEBODY)
                self.refused(f"is not loaded, for {path} belongs to user {SOMEBODY}, neither to root "
                             "nor to user 0, who runs this")
                os.chown(path, 0, 0)
        self.accepted()
        self.path.rename(self.root / "one.so")
        self.path.symlink_to(self.root / "one.so")
        os.chown(self.path, SOMEBODY, SOMEBODY, follow_symlinks=False)
        self.refused(f"is not loaded, for {self.path} belongs to user {SOMEBODY}")

    @unittest.skipIf(os.getuid() != 0, "only root makes files of others")
    def test_a_sticky_folder_of_anothers(self):
        """Folders of root are allowed, such as the temporary folder around this one."""
        shutil.copy(PLUGIN, self.path)
        self.root.chmod(0o1777)
        self.accepted()
        os.chown(self.root, SOMEBODY, SOMEBODY)
        self.refused(f"is not loaded, for {self.root} belongs to user {SOMEBODY}")

    @unittest.skipIf(os.getuid() != 0, "only root makes files of others")
    def test_a_tree_of_anothers(self):
        """A build in another user's folders, such as a tree that is mounted into a container, is
        allowed, because the owner could as well change the program."""
        core, plugins = self.root / "core", self.root / "plugins" / "kit"
        core.mkdir()
        plugins.mkdir()
        (self.root / "meson-private").mkdir()
        shutil.copy(PLUGIN, plugins)
        shutil.copy(COMMAND, core / "cornerturn")
        bare = {name: value for name, value in os.environ.items() if name != "CORNERTURN_PLUGIN_PATH"}

        def inspect():
            return subprocess.run([core / "cornerturn", "inspect", "fail.work"], capture_output=True,
                                  text=True, check=False, env=bare)
        os.chown(self.root, SOMEBODY, SOMEBODY)
        self.root.chmod(0o777)
        self.assertEqual(inspect().returncode, 0)
        os.chown(plugins, SOMEBODY, SOMEBODY)
        self.assertIn("belongs to user", inspect().stderr)
        os.chown(core / "cornerturn", SOMEBODY, SOMEBODY)
        self.assertEqual(inspect().returncode, 0)

    def test_one_place_reads_the_environment(self):
        """Only environment.c reads the environment, including the folder of caches."""
        for path in (SOURCE / "core").rglob("*.c"):
            if path.name != "environment.c":
                text = path.read_text(encoding="utf-8")
                self.assertNotRegex(text, r"\bg?_?getenv\b|g_get_\w+_dir\b", path.name)

    @unittest.skipIf(os.getuid() != 0, "only root makes files of others")
    def test_setuid(self):
        """A setuid command takes neither plugins nor anything else from its user's environment."""
        if os.statvfs(self.root).f_flag & os.ST_NOSUID:
            self.skipTest("no program gets other rights here")
        shutil.copy(PLUGIN, self.path)
        self.root.chmod(0o755)
        command = self.root / "cornerturn"
        shutil.copy(COMMAND, command)
        environment = {**os.environ, "CORNERTURN_PLUGIN_PATH": str(self.folder),
                       "CORNERTURN_ISA": "sse9", "XDG_CACHE_HOME": str(self.root / "cache")}

        def run(*arguments):
            return subprocess.run([command, *arguments], capture_output=True, text=True, check=False,
                                  env=environment, cwd=self.root)
        self.assertIn("sse9", run("inspect").stderr)
        os.chown(command, SOMEBODY, SOMEBODY)
        command.chmod(0o4755)
        result = run("inspect", "fail.work")
        self.assertIn("there is no stage 'fail.work': there are no plugins in ", result.stderr)
        self.assertNotIn(str(self.folder), result.stderr)
        # The cost database is the account's, which has no home here, in spite of CORNERTURN_COSTS.
        environment["CORNERTURN_COSTS"] = str(self.root / "costs.db")
        self.assertIn("/.cache/cornerturn/costs.db", run("costs").stdout + run("costs").stderr)


if __name__ == "__main__":
    tap.main()
