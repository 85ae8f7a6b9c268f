#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Includes point one way: a room of core/ includes the rooms below it, a plugin public headers."""
import os
import pathlib
import re
import tempfile
import unittest

import tap

ROOT = pathlib.Path(os.environ["CORNERTURN_SOURCE_ROOT"])

# What each room may include beside itself and the public headers.
ROOMS = {
    "model": "",
    "kit": "",
    "device": "model",
    "graph": "model",
    "cost": "model device graph",
    "plan": "model graph cost",
    "run": "model device graph cost plan",
    "measure": "model graph cost plan run",
    "pipeline": "model graph plan run measure",
    "command": "model device graph cost measure pipeline",
}


def includes(path):
    return re.findall(r'^#include "([^"]+)"', path.read_text(), re.M)


def drawn_rooms(text):
    """What the drawing in the document marks for each room."""
    head, *lines = re.search(r"^    room .*\n\n(?:    .*\n)+", text, re.M).group(0).splitlines()
    columns = [match for match in re.finditer(r"\w+", head) if match.group(0) in ROOMS]
    return {line.split()[0]: {column.group(0) for column in columns
                              if "x" in line[column.start():column.end()]}
            for line in lines if line and "only public" not in line}


def wrong_includes(root):
    """Those that point back, each as FILE: INCLUDED."""
    for path in sorted(root.glob("core/*/*.[ch]")):
        room = path.parent.name
        for included in includes(path):
            other = included.rpartition("/")[0] or room
            if room in ROOMS and other not in (room, "cornerturn", *ROOMS[room].split()):
                yield f"{path.relative_to(root)}: {included}"
    private = {path.name for room in ROOMS for path in root.glob(f"core/{room}/*.h")}
    for path in sorted(root.glob("plugins/*/*.[ch]*")):
        for included in [] if path.name.startswith("test-") else includes(path):
            if included.partition("/")[0] in ROOMS or "core/" in included or (
                    included in private and not (path.parent / included).exists()):
                yield f"{path.relative_to(root)}: {included}"


class Rooms(unittest.TestCase):
    def test_includes(self):
        self.assertEqual(list(wrong_includes(ROOT)), [])

    def test_every_file_has_a_room(self):
        self.assertEqual([path.name for path in ROOT.glob("core/*.[ch]")], [])
        folders = {path.parent.name for path in ROOT.glob("core/*/*.c")} - {"template"}
        self.assertEqual(folders, set(ROOMS))

    def test_rooms_have_an_order(self):
        below = set()
        for room, others in ROOMS.items():
            self.assertLessEqual(set(others.split()), below)
            below.add(room)

    def test_drawing(self):
        """The architecture's page draws what may be included."""
        text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
        self.assertEqual(drawn_rooms(text), {room: set(others.split())
                                             for room, others in ROOMS.items() if others})

    def test_violations(self):
        """Planted ones are found."""
        planted = {"core/graph/graph.c": "plan/plan.h", "core/model/tensor.h": "run/ring.h",
                   "core/kit/npy.c": "model/error.h", "plugins/fir/fir.c": "graph/graph.h",
                   "plugins/fft/fft.h": "../../core/plan/plan.h"}
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, included in planted.items():
                path = root / name
                path.parent.mkdir(parents=True)
                path.write_text(f'#include "cornerturn/stage.h"\n#include "{included}"\n')
            self.assertEqual(sorted(wrong_includes(root)),
                             sorted(f"{name}: {included}" for name, included in planted.items()))


if __name__ == "__main__":
    tap.main()
