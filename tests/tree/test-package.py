#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The folder debian/: its version is that of the project, and each file that is installed is in one package."""
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import unittest

import tap

BUILD = pathlib.Path(os.environ["CORNERTURN"]).parent.parent
DEBIAN = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"]) / "debian"


def introspect(what):
    return json.loads(subprocess.run(["meson", "introspect", f"--{what}", BUILD], check=True,
                                     capture_output=True, text=True).stdout)


def contents():
    """The patterns of files of each package, by its name."""
    return {path.stem: [line.split()[0] for line in path.read_text(encoding="utf-8").splitlines()]
            for path in DEBIAN.glob("*.install")}


class Package(unittest.TestCase):
    def test_version(self):
        first = (DEBIAN / "changelog").read_text(encoding="utf-8").split("\n")[0]
        self.assertEqual(re.match(r"cornerturn \((.*)-\d+\) ", first)[1],
                         introspect("projectinfo")["version"])

    def test_each_file_is_in_one_package(self):
        prefix = next(option["value"] for option in introspect("buildoptions")
                      if option["name"] == "prefix")
        installed = [str(pathlib.Path("usr", pathlib.Path(path).relative_to(prefix)))
                     for path in introspect("installed").values()]
        patterns = [pattern for each in contents().values() for pattern in each]
        for path in installed:
            with self.subTest(path):
                self.assertEqual(len([pattern for pattern in patterns if fnmatch.fnmatch(path, pattern)
                                      or fnmatch.fnmatch(path, f"{pattern}/*")]), 1)

    def test_packages_have_contents(self):
        names = re.findall(r"^Package: (.*)", (DEBIAN / "control").read_text(encoding="utf-8"), re.M)
        self.assertEqual(sorted(contents()), sorted(names))


if __name__ == "__main__":
    tap.main()
