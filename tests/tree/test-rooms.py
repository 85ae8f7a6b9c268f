#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Includes point one way: a room of core/ includes the rooms below it, a plugin public headers."""
import contextlib
import os
import pathlib
import re
import sys
import tempfile
import unittest

import tap

ROOT = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"])
sys.path.insert(0, str(ROOT / "scripts"))
from includes import between_rooms, deepest_chain, includes  # pylint: disable=wrong-import-position

# The rooms that each room may include, besides itself and the public headers.
ROOMS = {
    "model": "",
    "kit": "",
    "device": "model",
    "graph": "model",
    "cost": "model device graph",
    "plan": "model graph cost",
    "run": "model device graph cost plan",
    "measure": "model device graph cost plan run",
    "pipeline": "model device graph cost plan run measure kit",
    "control": "",
    "show": "",
    "command": "control show",
}


def drawn_rooms(text):
    """The rooms that the drawing in the document marks for each room."""
    head, *lines = re.search(r"^    room .*\n\n(?:    .*\n)+", text, re.M).group(0).splitlines()
    columns = [match for match in re.finditer(r"\w+", head) if match.group(0) in ROOMS]
    return {line.split()[0]: {column.group(0) for column in columns
                              if "x" in line[column.start():column.end()]}
            for line in lines if line and "only public" not in line}


def wrong_includes(root):
    """The includes in the wrong direction, each as FILE: INCLUDED."""
    for path in sorted(root.glob("core/*/*.[ch]")):
        room = path.parent.name
        for included in includes(path):
            other = included.rpartition("/")[0].partition("/")[0] or room
            if room in ROOMS and other not in (room, "cornerturn", *ROOMS[room].split()):
                yield f"{path.relative_to(root)}: {included}"
    private = {path.name for room in ROOMS for path in root.glob(f"core/{room}/*.h")}
    for path in sorted(root.glob("plugins/*/*.[ch]*")):
        for included in [] if path.name.startswith("test-") else includes(path):
            if included.partition("/")[0] in ROOMS or "core/" in included or (
                    included in private and not (path.parent / included).exists()):
                yield f"{path.relative_to(root)}: {included}"


def bare_pragmas(text):
    """The lines that lack braces: `if` or `else` whose statement begins with a pragma. NVRTC of CUDA
    13.0 leaves out the statement behind such an `if constexpr`."""
    lines = text.splitlines()
    return [number for number, line in enumerate(lines[:-1], 1)
            if re.search(r"^\s*(}? ?else\b|if\b).*$", line) and not re.search(r"[{};]\s*$", line)
            and lines[number].startswith("#pragma")]


@contextlib.contextmanager
def planted_files(files):
    """A folder with these files, each with its includes."""
    with tempfile.TemporaryDirectory() as folder:
        for name, included in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f'#include "{other}"\n' for other in included))
        yield pathlib.Path(folder)


class Rooms(unittest.TestCase):
    def test_includes(self):
        self.assertEqual(list(wrong_includes(ROOT)), [])

    def test_pragmas(self):
        self.assertEqual(bare_pragmas("if (a)\n#pragma unroll\n  f();\nelse\n#pragma unroll\n  g();\n"
                                      "if (b) {\n#pragma unroll\n"), [1, 4])
        sources = [*ROOT.glob("core/kernel/*"), *ROOT.glob("plugins/*/*.cu"),
                   *ROOT.glob("plugins/*/*.h")]
        self.assertEqual([f"{path.name}:{line}" for path in sources
                          for line in bare_pragmas(path.read_text())], [])

    def test_every_file_has_a_room(self):
        self.assertEqual([path.name for path in ROOT.glob("core/*.[ch]")], [])
        folders = {path.parent.name for path in ROOT.glob("core/*/*.c")} - {"template"}
        self.assertEqual(folders, set(ROOMS))

    def test_command_uses_headers_for_programs(self):
        """It does nothing that a program could not do."""
        found = {name for path in (ROOT / "core" / "command").glob("*.[ch]")
                 for name in re.findall(r"^#include <cornerturn/(.+)>", path.read_text(), re.M)}
        self.assertEqual(found, {"bench.h", "costs.h", "error.h", "inspect.h", "pipeline.h", "send.h",
                                 "test.h", "text.h"})

    def test_control_uses_headers_for_programs(self):
        """Another program could serve a run in the same way."""
        found = {name for path in (ROOT / "core" / "control").glob("*.[ch]")
                 for name in re.findall(r"^#include <cornerturn/(.+)>", path.read_text(), re.M)}
        self.assertEqual(found, {"json.h", "pipeline.h"})

    def test_rooms_have_an_order(self):
        below = set()
        for room, others in ROOMS.items():
            self.assertLessEqual(set(others.split()), below)
            below.add(room)

    def test_drawing(self):
        """The drawing on the architecture's page agrees with ROOMS."""
        text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
        self.assertEqual(drawn_rooms(text), {room: set(others.split())
                                             for room, others in ROOMS.items() if others})

    def test_violations(self):
        """Wrong includes in a made-up tree are found."""
        planted = {"core/graph/graph.c": "plan/plan.h", "core/model/tensor.h": "run/ring.h",
                   "core/kit/npy.c": "model/error.h", "plugins/fir/fir.c": "graph/graph.h",
                   "plugins/fft/fft.h": "../../core/plan/plan.h"}
        with planted_files({name: ["cornerturn/stage.h", included]
                            for name, included in planted.items()}) as root:
            self.assertEqual(sorted(wrong_includes(root)),
                             sorted(f"{name}: {included}" for name, included in planted.items()))

    def test_picture(self):
        """The numbers and the chain of scripts/draw-includes."""
        with planted_files({"core/plan/plan.c": ["plan.h", "graph/graph.h"],
                            "core/plan/plan.h": ["graph/graph.h", "cornerturn/stage.h"],
                            "core/graph/graph.h": ["cornerturn/stage.h", "missing.h"],
                            "core/include/cornerturn/stage.h": [],
                            "plugins/fir/fir.c": ["cornerturn/stage.h", "../half.h"],
                            "plugins/half.h": []}) as root:
            self.assertEqual(between_rooms(root), {("plan", "graph"): 2,
                                                   ("plan", "public headers"): 1,
                                                   ("graph", "public headers"): 1,
                                                   ("plugins", "public headers"): 1})
            self.assertEqual([path.name for path in deepest_chain(root)],
                             ["plan.c", "plan.h", "graph.h", "stage.h"])


if __name__ == "__main__":
    tap.main()
