#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The documents hold: their graphs are files that the tests run, their links lead somewhere, and
every plugin has its page."""
import os
import pathlib
import re
import unittest

import tap

SOURCE = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"])
DOCUMENTS = [*SOURCE.glob("*.md"), *SOURCE.glob("docs/**/*.md"), *SOURCE.glob("plugins/*/*.md")]


class Documents(unittest.TestCase):
    def test_graphs_are_files(self):
        files = [path.read_text(encoding="utf-8") for path in SOURCE.glob("pipelines/*.yaml")]
        for document in DOCUMENTS:
            text = document.read_text(encoding="utf-8")
            for block in re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.S):
                if re.search(r"^stages:", block, re.M):
                    with self.subTest(f"{document.name}: {block.splitlines()[0]}"):
                        self.assertTrue(any(block in file for file in files), block)

    def test_links_lead_somewhere(self):
        for document in DOCUMENTS:
            text = document.read_text(encoding="utf-8")
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
                with self.subTest(f"{document.name}: {target}"):
                    self.assertTrue((document.parent / target).exists())

    def test_files_that_are_named_exist(self):
        """`docs/…`, `scripts/…` and their like in code quotes."""
        for document in [*SOURCE.glob("*.md"), *SOURCE.glob("docs/**/*.md")]:
            text = document.read_text(encoding="utf-8")
            names = re.findall(r"`((?:core|docs|pipelines|plugins|scripts|tests)/[\w./-]*\w)`", text)
            for name in set(names):
                with self.subTest(f"{document.name}: {name}"):
                    self.assertTrue((SOURCE / name).exists())

    def test_every_plugin_has_a_page(self):
        for folder in SOURCE.glob("plugins/*/meson.build"):
            with self.subTest(folder.parent.name):
                page = folder.parent / "README.md"
                self.assertTrue(page.exists())
                text = page.read_text(encoding="utf-8")
                self.assertRegex(text, rf"^# {folder.parent.name}[.a-z, ]*: ")
                titles = re.findall(r"^## (.*)", text, re.M)
                wanted = ["Axes", "Parameters", "Cost"]
                self.assertEqual([title for title in titles if title in wanted], wanted)


if __name__ == "__main__":
    tap.main()
