#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the documents: their graphs are files that tests run, their links lead somewhere, and
every plugin has its page."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

import tap

COMMAND = os.environ["CORNERTURN"]
SOURCE = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"])
sys.path.insert(0, str(SOURCE / "scripts"))
import headers  # pylint: disable=wrong-import-position

DOCUMENTS = [*SOURCE.glob("*.md"), *SOURCE.glob("docs/**/*.md"), *SOURCE.glob("plugins/*/*.md")]


def inspect(*stage):
    return subprocess.run([COMMAND, "inspect", *stage], capture_output=True, text=True,
                          check=True).stdout


def listed_stages():
    """The lines of `inspect` with a stage's name and summary; devices follow them."""
    return inspect().split("\n\n")[0].splitlines()


def parameters(stage):
    table = inspect(stage).partition("\nParameters\n")[2].partition("\n\n")[0]
    return re.findall(r"^  (\w+)  ", table, re.M)


def plugin_of(stage):
    return re.search(r"/ct-(\w+)\.so$", inspect(stage), re.M)[1]


def tunables(stage):
    """Pairs of plugin and tunable; a variant names the plugin's file if that is not the stage's."""
    plugin = None
    for line in inspect(stage).partition("\nVariants\n")[2].splitlines():
        variant = re.match(r"  \S.*?(?:/ct-(\w+)\.so\))?$", line)
        tunable = re.match(r"      (\w+): .*; default ", line)
        if variant:
            plugin = variant[1] or plugin_of(stage)
        elif tunable:
            yield plugin, tunable[1]


def page(plugin):
    return (SOURCE / "plugins" / plugin / "README.md").read_text(encoding="utf-8")


def anchors(document):
    """Those that a reader of Markdown gives the headings."""
    titles = re.findall(r"^#+ (.*)", document.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


class Documents(unittest.TestCase):
    def test_graphs_are_files(self):
        files = [path.read_text(encoding="utf-8") for path in SOURCE.glob("pipelines/*.yaml")]
        for document in DOCUMENTS:
            text = document.read_text(encoding="utf-8")
            for block in re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.S):
                if re.search(r"^stages:", block, re.M):
                    with self.subTest(f"{document.name}: {block.splitlines()[0]}"):
                        self.assertTrue(any(block in file for file in files), block)

    def test_entries_of_graphs_are_understood(self):
        """A line `node: { stage: …, … }` names an existing stage, with parameters that it has."""
        keys = {} if "\nfft " in inspect() else {"fft": {"from"}}  # built without FFTW
        for document in DOCUMENTS:
            text = document.read_text(encoding="utf-8")
            for stage, rest in re.findall(r"\w+: *\{ *stage: *([\w.]+)(.*?)\}(?:$|`)", text, re.M):
                if stage not in keys:
                    keys[stage] = {"from", "backend", "variant", "block", "numa", *parameters(stage)}
                given = re.sub(r"\"[^\"]*\"|\{.*?\}|\[.*?\]", "", rest)
                with self.subTest(f"{document.parent.name}/{document.name}: {stage}{rest}"):
                    self.assertLessEqual(set(re.findall(r"(\w+):", given)), keys[stage])

    def test_code_is_of_the_tree(self):
        """Every block of code is, literally, in a file of the tree or in what new-stage writes."""
        made = [path.read_text(encoding="utf-8").replace("@PLUGIN@", "twice").replace("@STAGE@", "twice")
                for path in (SOURCE / "core" / "template").iterdir()]
        files = [path.read_text(encoding="utf-8") for pattern in
                 ("core/include/**/*.h", "plugins/**/*.[ch]", "plugins/**/*.py",
                  "plugins/**/meson.build", "examples/*.c", "examples/*.py", "tests/**/*.[ch]", "tests/**/*.py")
                 for path in SOURCE.glob(pattern)]
        for document in DOCUMENTS:
            text = document.read_text(encoding="utf-8")
            for block in re.findall(r"^```(?:c|python|meson)\n(.*?)^```", text, re.M | re.S):
                with self.subTest(f"{document.name}: {block.splitlines()[0]}"):
                    self.assertTrue(any(block in file for file in [*made, *files]), block)

    def test_every_line_of_a_new_stage_is_explained(self):
        text = (SOURCE / "docs" / "writing-a-stage.md").read_text(encoding="utf-8")
        walk = text.split("\n## A stage, line by line\n")[1].split("\n## ")[0]
        blocks = re.findall(r"^```c\n(.*?)^```", walk, re.M | re.S)
        self.assertEqual("".join(blocks).replace("\n\n", "\n"),
                         self.made_stage().replace("\n\n", "\n"))

    def made_stage(self):
        template = SOURCE / "core" / "template" / "free.c"
        return template.read_text(encoding="utf-8").replace("@PLUGIN@", "twice").replace("@STAGE@", "twice")

    def test_forms_are_described(self):
        command = (SOURCE / "core" / "command" / "command-new-stage.c").read_text(encoding="utf-8")
        forms = re.findall(r'"(\w+)"', re.search(r"forms\[\] = \{(.*?)\}", command, re.S).group(1))
        manual = (SOURCE / "docs" / "man" / "cornerturn-new-stage.1").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"(?m)^\.B (\w+)\n\(", manual), forms)
        table = (SOURCE / "docs" / "forms.md").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"(?m)^\| `(\w+)`", table), forms)

    def test_links_lead_somewhere(self):
        for document in DOCUMENTS:
            text = document.read_text(encoding="utf-8")
            for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", text):
                with self.subTest(f"{document.name}: {target}#{anchor}"):
                    path = document.parent / target if target else document
                    self.assertTrue(path.exists())
                    self.assertTrue(not anchor or anchor in anchors(path))

    def test_files_that_are_named_exist(self):
        """Paths such as `docs/…` and `scripts/…` in code quotes exist."""
        for document in [*SOURCE.glob("*.md"), *SOURCE.glob("docs/**/*.md")]:
            text = document.read_text(encoding="utf-8")
            names = re.findall(r"`((?:core|docs|pipelines|plugins|scripts|tests)/[\w./-]*\w)`", text)
            for name in set(names):
                with self.subTest(f"{document.name}: {name}"):
                    self.assertTrue((SOURCE / name).exists())

    def test_rooms_of_the_core_have_a_row(self):
        text = (SOURCE / "docs" / "architecture.md").read_text(encoding="utf-8")
        table = text.partition("| room in `core/` | subject |")[2].partition("\n\n")[0]
        rooms = re.findall(r"`([a-z]+)/(?:cornerturn/)?`", "".join(re.findall(r"^\|(.*?)\|", table, re.M)))
        self.assertEqual(sorted(rooms), sorted(path.name for path in (SOURCE / "core").iterdir()
                                               if path.is_dir()))

    def test_stages_and_pipelines_are_listed(self):
        readme = (SOURCE / "README.md").read_text(encoding="utf-8")
        listed = dict(re.findall(r"^\| \[`([a-z0-9.]+)`\]\((?:plugins/|docs/conventions\.md#).*?\) \| (.*) \|$",
                                 readme, re.M))
        stages = dict(line.split(maxsplit=1) for line in listed_stages())
        if "fft" not in stages:  # built without FFTW
            del listed["fft"]
        self.assertEqual(listed, stages)
        self.assertEqual(set(re.findall(r"^\| \[`[a-z0-9-]+\.yaml`\]\((.*?)\)", readme, re.M)),
                         {f"pipelines/{path.name}" for path in SOURCE.glob("pipelines/*.yaml")})

    def test_pages_name_all_parameters_and_tunables(self):
        for stage in (line.split()[0] for line in listed_stages()):
            if stage not in ("input", "output"):
                own = plugin_of(stage)
                names = [*((own, name) for name in parameters(stage)), *tunables(stage)]
                with self.subTest(stage):
                    self.assertEqual([(plugin, name) for plugin, name in names
                                      if f"`{name}`" not in page(plugin)], [])

    def test_endpoints_name_all_parameters(self):
        text = (SOURCE / "docs" / "conventions.md").read_text(encoding="utf-8")
        section = text.partition("\n### `input` and `output`\n")[2].partition("\n## ")[0]
        named = set(re.findall(r"`(\w+)`", section))
        self.assertLessEqual({*parameters("input"), *parameters("output")}, named)

    def test_pages_of_headers_are_complete(self):
        """Every line of code stands in the page, in order; every exported name heads a piece."""
        for path in SOURCE.glob("core/include/cornerturn/*.h"):
            text = path.read_text(encoding="utf-8")
            page = headers.page(path.name, text)
            code = re.sub(r"^/\*.*?\*/$|^#(?:pragma|include) [^\n]*$|^G_(?:BEGIN|END)_DECLS$", "", text,
                          flags=re.M | re.S)
            blocks = "\n".join(re.findall(r"^```c\n(.*?)^```", page, re.M | re.S))
            with self.subTest(path.name):
                self.assertEqual(blocks.split(), code.split())
            heads = set(re.findall(r"\w+", " ".join(re.findall(r"^### (.*)", page, re.M))))
            for name in re.findall(r"\b(ct_\w+)\(|^\} (Ct\w+);", code, re.M):
                with self.subTest(f"{path.name}: {name}"):
                    self.assertIn("".join(name), heads)

    def test_page_of_a_header(self):
        header = """/* SPDX-License-Identifier: X */
/* Counts.
 *
 *     count = 1 */
#pragma once

#include <glib.h>

/* ---- things ----
 *
 * They are counted. */

/* A thing. */
typedef struct {
    gint n; /* how many */

    /* Counts. */
    void (*count)(gint n);
} CtThing;
#define CT_THINGS_(n) n
#define CT_THINGS CT_THINGS_(2)
/* Counts
 * things. */
CT_EXPORT gint ct_count(CtThing *thing,
                        gint n);
CT_EXPORT void ct_thing_free(CtThing *thing);
"""
        self.assertEqual(headers.page("counts.h", header), """# counts.h

Counts.

    count = 1

## Things

They are counted.

### CtThing, CT_THINGS

A thing.

```c
typedef struct {
    gint n; /* how many */

    /* Counts. */
    void (*count)(gint n);
} CtThing;
#define CT_THINGS_(n) n
#define CT_THINGS CT_THINGS_(2)
```

### ct_count

Counts
things.

```c
CT_EXPORT gint ct_count(CtThing *thing,
                        gint n);
```

### ct_thing_free

```c
CT_EXPORT void ct_thing_free(CtThing *thing);
```
""")

    def test_every_plugin_has_a_page(self):
        for folder in SOURCE.glob("plugins/*/*.c"):
            with self.subTest(folder.parent.name):
                page = folder.parent / "README.md"
                self.assertTrue(page.exists())
                text = page.read_text(encoding="utf-8")
                self.assertRegex(text, rf"^# {folder.parent.name}[.a-z0-9, ]*: ")
                titles = re.findall(r"^## (.*)", text, re.M)
                wanted = ["Axes", "Parameters", "Cost"]
                self.assertEqual([title for title in titles if title in wanted], wanted)


if __name__ == "__main__":
    tap.main()
