# SPDX-License-Identifier: BSD-3-Clause
"""The includes of the source tree: which file includes which, and to which room a file belongs."""
import collections
import graphlib
import re


def includes(path):
    """What a file includes in quotes, and the public headers that it includes in angle brackets."""
    found = re.findall(r'^#include (?:"([^"]+)"|<(cornerturn/[^>]+)>)', path.read_text(), re.M)
    return [quoted or public for quoted, public in found]


def edges(root):
    """{file: [file that it includes, ...]} of the C files in core/ and plugins/, without tests."""
    files = {path.resolve() for folder in ("core", "plugins")
             for path in root.glob(f"{folder}/**/*.[ch]") if not path.name.startswith("test-")}

    def included_files(path):
        for name in includes(path):
            places = [path.parent, root / "core", root / "core" / "include"]
            found = [place for place in ((place / name).resolve() for place in places)
                     if place in files]
            yield from found[:1]

    return {path: list(included_files(path)) for path in sorted(files)}


def room(root, path):
    folders = path.relative_to(root.resolve()).parts
    if folders[:2] == ("core", "include"):
        return "public headers"
    return folders[1] if folders[0] == "core" else folders[0]


def between_rooms(root):
    """How often files of one room include files of another one: {(room, included room): number}."""
    pairs = ((room(root, path), room(root, other))
             for path, others in edges(root).items() for other in others)
    return collections.Counter((here, there) for here, there in pairs if here != there)


def deepest_chain(root):
    """The longest list of files of which each includes the next one."""
    graph = edges(root)
    chains = {}
    for path in graphlib.TopologicalSorter(graph).static_order():  # included files come first
        chains[path] = [path, *max((chains[other] for other in graph[path]), key=len, default=[])]
    return max(chains.values(), key=len)
